# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Panels of faults that an operator injects: thrusters, commands, battery, sensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.languages import tr
from marine_sim_ros.console.page.layout import lamp
from marine_sim_ros.console.page.panels import (
    Ask,
    ControlPanel,
    Frame,
    Slider,
    light_lamp,
    on_change,
)

__all__ = ['SensorFaults', 'Show', 'fault_panel']


# Faults of the chosen sensor: dropout, freeze, delay, bias and spikes.

Known = dict[tuple[str, str], dict[str, Any]]
"""Faults by kind, and thruster or sensor."""
Show = Callable[[Known], None]


class SensorFaults:
    """Controls of the faults of one sensor at a time: one fault of each kind."""

    def __init__(self, panel: ControlPanel, ask: Ask, sensors: list[dict[str, Any]]) -> None:
        """Add the controls; each sensor has ``name`` and ``quantities`` that may be wrong."""
        self._ask = ask
        self._quantities = {one['name']: one['quantities'] for one in sensors}
        self._known = Known()
        names = list(self._quantities)
        with ui.element('div').classes('group'):
            choice = ui.select(names, value=names[0], label=tr('Sensor'), on_change=self._choose)
            self._sensor = panel.add(choice).props('dense options-dense outlined').classes('eye')
            button = lamp('Frozen', self._freeze, 'it sends its last reading again and again')
            self._frozen = panel.add(button).classes('fault')
        self._dropout = Slider(panel, 'Dropout', 0.0, 100.0, '%', self._drop, step=1.0)
        self._delay = Slider(panel, 'Added delay', 0.0, 5.0, 's', self._hold_up, step=0.05)
        with ui.element('div').classes('errors') as self._errors:
            with ui.element('div').classes('group'):
                which = ui.select([], label=tr('Quantity')).on('update:model-value', self._bias)
                self._quantity = panel.add(which).props('dense options-dense outlined')
                self._quantity.classes('eye')
                self._offset = _number(panel, 'Bias, SI', self._bias)
                self._scatter = _number(panel, 'Spikes, SI', self._spike)
            self._share = Slider(panel, 'Spiked share', 0.0, 100.0, '%', self._spike, step=1.0)
            self._share.put(1.0)
        self._choose()

    def _active_fault(self, kind: str) -> dict[str, Any]:
        """Return the fault of a kind that the chosen sensor has, or nothing."""
        return self._known.get((f'sensor_{kind}', self._sensor.value), {})

    def _put(self, kind: str, wanted: bool, **values: Any) -> None:
        own = {'kind': f'sensor_{kind}', 'sensor': self._sensor.value}
        if wanted:
            self._ask('fault', {**own, **values})
        elif self._active_fault(kind):
            self._ask('mend', own)

    def _freeze(self) -> None:
        self._put('freeze', not self._active_fault('freeze'))

    def _drop(self, share: float) -> None:
        self._put('dropout', share > 0, share=share / 100.0)

    def _hold_up(self, delay: float) -> None:
        self._put('delay', delay > 0, delay=delay)

    def _bias(self, _: Any) -> None:
        size, quantity, now = (
            float(self._offset.value or 0.0),
            self._quantity.value,
            self._active_fault('bias'),
        )
        if (size, quantity) != (now.get('size', 0.0), now.get('quantity')):
            self._put('bias', bool(size), size=size, quantity=quantity)

    def _spike(self, _: Any) -> None:
        size, share = float(self._scatter.value or 0.0), self._share.value / 100.0
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
        light_lamp(self._frozen, self._active_fault('freeze'))
        self._dropout.put(100.0 * self._active_fault('dropout').get('share', 0.0))
        self._delay.put(self._active_fault('delay').get('delay', 0.0))
        bias, spikes = self._active_fault('bias'), self._active_fault('spikes')
        self._offset.value, self._scatter.value = bias.get('size', 0.0), spikes.get('size', 0.0)
        if spikes:
            self._share.put(100.0 * spikes['share'])
        if quantity := bias.get('quantity') or spikes.get('quantity'):
            self._quantity.value = quantity


def _number(panel: ControlPanel, label: str, use: Callable[[Any], None]) -> ui.number:
    """Add a number that is used when the operator leaves it or presses enter."""
    field: ui.number = panel.add(ui.number(tr(label), value=0.0)).style('width: 86px')
    field.props('dense outlined').props['aria-label'] = label
    return field.on('blur', use).on('keydown.enter', use)


# Panel of faults: thrusters, commands, battery, sensors.


def fault_panel(panel: ControlPanel, ask: Ask, look: dict[str, Any]) -> None:
    """Add the controls of a vehicle's faults, and the state of each."""
    if look['thrusters']:
        ui.label(tr('Remaining thrust of each thruster')).classes('what')
    shows = [_thruster(panel, ask, one['name']) for one in look['thrusters']]
    if look['thrusters']:
        ui.separator()
        names = [one['name'] for one in look['thrusters']]
        shows += [_delays(panel, ask, names), _share(panel, ask, 'Commands lost', 'lost_commands')]
        shows += [_battery(panel, ask)]
    if look['barometer']:
        ui.separator()
        shows += [
            _share(panel, ask, 'Barometer dropout', 'barometer_dropout'),
            _drift(panel, ask),
            _share(panel, ask, 'Barometer spikes', 'barometer_spikes'),
        ]
    if look['sensors']:
        ui.separator()
        shows.append(SensorFaults(panel, ask, look['sensors']).show)
    ui.separator()
    shows.append(_cameras(panel, ask))
    with ui.element('div').classes('group'):
        panel.add(lamp('Clear all faults', lambda: ask('mend'))).mark('mend')
        told = ui.label().classes('what')

    def sync(frame: Frame) -> None:
        faults = frame['mode']['faults']
        known = {(f['kind'], f.get('thruster') or f.get('sensor', '')): f for f in faults}
        for show in shows:
            show(known)
        told.text = tr('active faults: {count}', count=len(faults)) if faults else tr('no faults')

    panel.show(on_change(sync, 'faults'))


def _thruster(panel: ControlPanel, ask: Ask, name: str) -> Show:
    """Add the row of a thruster: remaining thrust, reversed, stuck."""

    def weaken(share: float) -> None:
        if share >= 100.0:
            ask('mend', {'kind': 'weak', 'thruster': name})
        elif share <= 0.0:
            ask('fault', {'kind': 'dead', 'thruster': name})
        else:
            ask('fault', {'kind': 'weak', 'thruster': name, 'share': share / 100.0})

    def flip(kind: str) -> None:
        on = any(
            (f['kind'], f.get('thruster')) == (kind, name)
            for f in panel.frame.get('mode', {}).get('faults', ())
        )
        ask('mend' if on else 'fault', {'kind': kind, 'thruster': name})

    slider = Slider(panel, name.replace('_', ' '), 0.0, 100.0, '%', weaken, step=5.0, kind='short')
    with slider.end:
        lamps = {
            kind: panel.add(lamp(label, partial(flip, kind), hint)).classes('fault')
            for kind, label, hint in (
                ('reversed', tr('Back'), tr('the propeller turns the other way')),
                ('stuck', tr('Stuck'), tr('the thruster keeps its present pulse width')),
            )
        }
    for kind, button in lamps.items():
        button.props['aria-label'] = f'{name} {kind}'

    def show(known: Known) -> None:
        weak = known.get(('weak', name), {}).get('share', 1.0)
        slider.put(0.0 if ('dead', name) in known else 100.0 * weak)
        for kind, button in lamps.items():
            light_lamp(button, (kind, name) in known)

    return show


def _put(ask: Ask, wanted: Any, fault: dict[str, str], **values: float) -> None:
    """Ask for a fault with its values, or for its end."""
    ask('fault' if wanted else 'mend', {**fault, **values} if wanted else fault)


def _delays(panel: ControlPanel, ask: Ask, names: list[str]) -> Show:
    def set_delay(delay: float) -> None:
        for name in names:
            _put(ask, delay, {'kind': 'delayed', 'thruster': name}, delay=delay)

    slider = Slider(panel, 'Command delay', 0.0, 2.0, 's', set_delay, step=0.05)
    return lambda known: slider.put(known.get(('delayed', names[0]), {}).get('delay', 0.0))


def _share(panel: ControlPanel, ask: Ask, label: str, kind: str) -> Show:
    """Add a slider for the share of lost or wrong messages of a fault."""

    def use(share: float) -> None:
        _put(ask, share, {'kind': kind}, share=share / 100.0)

    slider = Slider(panel, label, 0.0, 100.0, '%', use, step=1.0)
    return lambda known: slider.put(100.0 * known.get((kind, ''), {}).get('share', 0.0))


def _drift(panel: ControlPanel, ask: Ask) -> Show:
    def use(rate: float) -> None:
        _put(ask, rate, {'kind': 'barometer_drift'}, rate=rate)

    slider = Slider(panel, 'Barometer drift', -500.0, 500.0, 'Pa/s', use, step=10.0)
    return lambda known: slider.put(known.get(('barometer_drift', ''), {}).get('rate', 0.0))


def _cameras(panel: ControlPanel, ask: Ask) -> Show:
    """Add the lamp that darkens the cameras."""
    dark: list[Any] = [None]
    button = panel.add(
        lamp('Cameras dark', lambda: _put(ask, not dark[0], {'kind': 'cameras_dark'}))
    ).classes('fault')

    def show(known: Known) -> None:
        dark[0] = known.get(('cameras_dark', ''))
        light_lamp(button, dark[0])

    return show


def _battery(panel: ControlPanel, ask: Ask) -> Show:
    """Add a battery whose voltage sags: on or off, charge, internal resistance."""
    values = {'charge': 100.0, 'resistance': 0.05}

    def switch(on: bool) -> None:
        charge, resistance = values['charge'] / 100.0, values['resistance']
        _put(ask, on, {'kind': 'battery'}, charge=charge, resistance=resistance)

    def put(name: str, value: float) -> None:
        values[name] = value
        if sags():
            switch(True)

    def sags() -> bool:
        return any(f['kind'] == 'battery' for f in panel.frame.get('mode', {}).get('faults', ()))

    with ui.element('div').classes('group'):
        button = panel.add(lamp('Battery sags', lambda: switch(not sags()))).classes('fault')
        voltage = ui.label().classes('what')
    charge = Slider(panel, 'Charge', 0.0, 100.0, '%', partial(put, 'charge'), step=1.0)
    resistance = Slider(
        panel, 'Internal resistance', 0.0, 0.5, 'Ω', partial(put, 'resistance'), step=0.01
    )
    charge.put(values['charge'])
    resistance.put(values['resistance'])

    def tell(frame: Frame) -> None:
        volts = frame.get('health', {}).get('voltage')
        voltage.text = f'{volts} V' if volts and sags() else tr('constant supply voltage')

    panel.show(tell)

    def show(known: Known) -> None:
        battery = known.get(('battery', ''))
        light_lamp(button, battery)
        if battery is not None:
            values.update(charge=100.0 * battery['charge'], resistance=battery['resistance'])
            charge.put(values['charge'])
            resistance.put(values['resistance'])

    return show
