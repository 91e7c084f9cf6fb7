# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults of the sensor that the operator chooses: dropout, freeze, delay, bias and spikes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.layout import lamp
from marine_sim_ros.console.page.more_panels import Slider
from marine_sim_ros.console.page.panels import Ask, Panel, press

__all__ = ['Known', 'SensorFaults', 'Show']

Known = dict[tuple[str, str], dict[str, Any]]
"""Faults by kind, and thruster or sensor."""
Show = Callable[[Known], None]


class SensorFaults:
    """Controls of the faults of one sensor at a time: one fault of each kind."""

    def __init__(self, panel: Panel, ask: Ask, sensors: list[dict[str, Any]]) -> None:
        """Add the controls; each sensor has ``name`` and ``quantities`` that may be wrong."""
        self._ask = ask
        self._quantities = {one['name']: one['quantities'] for one in sensors}
        self._known = Known()
        names = list(self._quantities)
        with ui.element('div').classes('group'):
            choice = ui.select(names, value=names[0], label='Sensor', on_change=self._choose)
            self._sensor = panel.add(choice).props('dense options-dense outlined').classes('eye')
            button = lamp('Frozen', self._freeze, 'it sends its last reading again and again')
            self._frozen = panel.add(button).classes('fault')
        self._dropout = Slider(panel, 'Dropout', 0.0, 100.0, '%', self._drop, step=1.0)
        self._delay = Slider(panel, 'Added delay', 0.0, 5.0, 's', self._hold_up, step=0.05)
        with ui.element('div').classes('errors') as self._errors:
            with ui.element('div').classes('group'):
                which = ui.select([], label='Quantity').on('update:model-value', self._bias)
                self._quantity = panel.add(which).props('dense options-dense outlined')
                self._quantity.classes('eye')
                self._offset = _number(panel, 'Bias, SI', self._bias)
                self._scatter = _number(panel, 'Spikes, SI', self._spike)
            self._share = Slider(panel, 'Spiked share', 0.0, 100.0, '%', self._spike, step=1.0)
            self._share.put(1.0)
        self._choose()

    def _now(self, kind: str) -> dict[str, Any]:
        """Return the fault of a kind that the chosen sensor has, or nothing."""
        return self._known.get((f'sensor_{kind}', self._sensor.value), {})

    def _put(self, kind: str, wanted: bool, **values: Any) -> None:
        own = {'kind': f'sensor_{kind}', 'sensor': self._sensor.value}
        if wanted:
            self._ask('fault', {**own, **values})
        elif self._now(kind):
            self._ask('mend', own)

    def _freeze(self) -> None:
        self._put('freeze', not self._now('freeze'))

    def _drop(self, share: float) -> None:
        self._put('dropout', share > 0, share=share / 100.0)

    def _hold_up(self, delay: float) -> None:
        self._put('delay', delay > 0, delay=delay)

    def _bias(self, _: Any) -> None:
        size, quantity, now = (
            float(self._offset.value or 0.0),
            self._quantity.value,
            self._now('bias'),
        )
        if (size, quantity) != (now.get('size', 0.0), now.get('quantity')):
            self._put('bias', bool(size), size=size, quantity=quantity)

    def _spike(self, _: Any) -> None:
        size, share = float(self._scatter.value or 0.0), self._share.slider.value / 100.0
        wanted = bool(size and share)
        self._put('spikes', wanted, size=size, share=share, quantity=self._quantity.value)

    def _choose(self) -> None:
        own = self._quantities[self._sensor.value]
        self._quantity.set_options(own, value=own[0] if own else None)
        self._errors.set_visibility(bool(own))
        self.show(self._known)

    def show(self, known: Known) -> None:
        """Show the faults that are there."""
        self._known = known
        press(self._frozen, self._now('freeze'))
        self._dropout.put(100.0 * self._now('dropout').get('share', 0.0))
        self._delay.put(self._now('delay').get('delay', 0.0))
        bias, spikes = self._now('bias'), self._now('spikes')
        self._offset.value, self._scatter.value = bias.get('size', 0.0), spikes.get('size', 0.0)
        if spikes:
            self._share.put(100.0 * spikes['share'])
        if quantity := bias.get('quantity') or spikes.get('quantity'):
            self._quantity.value = quantity


def _number(panel: Panel, label: str, use: Callable[[Any], None]) -> ui.number:
    """Add a number that is used when the operator leaves it or presses enter."""
    field: ui.number = panel.add(ui.number(label, value=0.0)).style('width: 86px')
    field.props('dense outlined').props['aria-label'] = label
    return field.on('blur', use).on('keydown.enter', use)
