# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Panels of the arm, the lights, the water current and gusts, and of the run's health."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.layout import lamp, show
from marine_sim_ros.console.page.panels import Ask, Frame, Panel, changes, figure, press

__all__ = ['Slider', 'arm_panel', 'health_panel', 'water_panel']


class Slider:
    """A slider with its label, its number and the measured value."""

    def __init__(
        self,
        panel: Panel,
        label: str,
        low: float,
        high: float,
        unit: str,
        use: Callable[[float], Any],
        *,
        step: float = 0.0,
        kind: str = '',
    ) -> None:
        """Add the slider; ``use`` is called with its number when the operator releases it.

        The kind is ``really`` (the measured value is shown too), ``short`` (other controls follow
        in ``end``), or empty.
        """
        self._unit = unit
        self._digits = 0 if step >= 1 else 2 if high - low < 10 else 1
        with ui.element('div').classes('slide').classes(kind):
            ui.label(label).classes('what')
            self.slider = panel.add(
                ui.slider(min=low, max=high, step=step or (high - low) / 200, value=0.0)
            )
            self.slider.props['aria-label'] = f'{label}, {unit}' if unit else label
            self.slider.on('change', lambda e: use(float(e.args)))
            ui.label().classes('told').bind_text_from(self.slider, 'value', self._text)
            self.end = ui.element('div')
        with self.end:
            self._now = ui.label().classes('what')

    def _text(self, value: float) -> str:
        space = '' if self._unit == '°' else ' '
        return f'{figure(value, self._digits)}{space}{self._unit}'

    def now(self, value: float | None) -> None:
        """Show the measured value."""
        self._now.text = '' if value is None else f'now {self._text(value)}'

    def put(self, value: float) -> None:
        """Move the slider to a value set elsewhere."""
        if self.slider.value != value:
            self.slider.value = value


def arm_panel(panel: Panel, ask: Ask, look: dict[str, Any]) -> None:
    """Add the joints of the arm, its gripper, and the lights."""

    def move(name: str, scale: float, value: float) -> None:
        ask('joints', {name: value * scale})

    sliders = []
    for joint in look['joints']:
        scale, unit = (1.0, 'm') if joint['slides'] else (math.pi / 180, '°')
        name = joint['name']
        slider = Slider(
            panel,
            name.removesuffix('_joint').replace('_', ' '),
            joint['lower'] / scale,
            joint['upper'] / scale,
            unit,
            partial(move, name, scale),
            kind='really',
        )
        sliders.append((slider, scale))
    jaws = None
    if look['gripper']:
        ui.label('Gripper').classes('what')
        with ui.element('div').classes('group'):
            jaws = panel.add(lamp('Close', lambda: ask('gripper', True)))
            panel.add(lamp('Open', lambda: ask('gripper', False)))
        held = ui.label().classes('what')
    lamps = {}
    if look['lights']:
        ui.label('Lights').classes('what')
        with ui.element('div').classes('group'):
            for name in look['lights']:
                label = name.removesuffix('_link').replace('_', ' ')
                lamps[name] = panel.add(lamp(label, partial(_light, panel, ask, name)))

    def sync(frame: Frame) -> None:
        for (slider, scale), q in zip(sliders, frame.get('joints', []), strict=False):
            slider.now(None if q is None else q / scale)
        if jaws is not None:
            number = next(iter(frame.get('joints', [])[len(sliders) :]), 0)
            press(jaws, number)
            held.text = f'holds payload {number:.0f}' if number else 'holds nothing'
        for name, button in lamps.items():
            press(button, frame.get('lights', {}).get(name))

    panel.show(sync)


def _light(panel: Panel, ask: Ask, name: str) -> None:
    now = panel.frame.get('lights', {}).get(name, 0.0)
    ask('lights', {name: 0.0 if now else 1.0})


def water_panel(panel: Panel, ask: Ask, scenery: dict[str, Any]) -> None:
    """Add the water current and gusts."""
    ui.label(f'Water current. Environment: {scenery["around"]["name"]}.').classes('what')

    def flow(axis: int, value: float) -> None:
        current = list(panel.frame.get('mode', {}).get('current', (0.0, 0.0, 0.0)))
        current[axis] = value
        ask('current', current)

    flows = [
        Slider(panel, label, -2.0, 2.0, 'm/s', partial(flow, i))
        for i, label in enumerate(('East', 'North', 'Up'))
    ]
    ui.separator()
    ui.label('A gust adds to the current: it rises to its speed and falls back to zero.').classes(
        'what'
    )
    gust = {'speed': 0.5, 'heading': 0.0, 'duration': 5.0}
    for name, label, low, high, unit in (
        ('speed', 'Speed', 0.0, 3.0, 'm/s'),
        ('heading', 'Towards', 0.0, 360.0, '°'),
        ('duration', 'Duration', 1.0, 30.0, 's'),
    ):
        slider = Slider(panel, label, low, high, unit, partial(gust.__setitem__, name))
        slider.put(gust[name])

    def blow() -> None:
        ask(
            'fault',
            {
                'kind': 'gust',
                'speed': gust['speed'],
                'duration': gust['duration'],
                'direction': 90.0 - gust['heading'],
            },
        )

    with ui.element('div').classes('group'):
        panel.add(lamp('Start gust', blow)).mark('gust')

    def sync(frame: Frame) -> None:
        for slider, value in zip(flows, frame.get('mode', {}).get('current', ()), strict=False):
            slider.put(value)

    panel.show(changes(sync, 'current'))


def health_panel(panel: Panel) -> None:
    """Add the state of the run: speed, ticks, outages, and the diagnostics of the nodes."""
    with ui.element('div').classes('meters'):
        show('factor', 'Real-time factor')
        show('ticks', 'Ticks')
        show('outages', 'Outages')
        show('time', 'Time')
    columns = [
        {'name': n, 'label': n.capitalize(), 'field': n, 'align': 'left'}
        for n in ('node', 'state', 'message')
    ]
    table = ui.table(columns=columns, rows=[], row_key='node').props('dense flat wrap-cells')
    table.classes('w-full')
    table.add_slot(
        'body-cell-state',
        """
        <q-td :props="props"><span :class="'is-' + props.value">{{ props.value }}</span></q-td>""",
    )

    def sync(frame: Frame) -> None:
        rows = frame.get('health', {}).get('nodes', [])
        if rows != table.rows:
            table.rows = rows

    panel.show(sync)
