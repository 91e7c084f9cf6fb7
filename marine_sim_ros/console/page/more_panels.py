# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What else an operator may change: arm, lights, current, thrusters that fail; and health."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.layout import lamp, show
from marine_sim_ros.console.page.panels import Ask, Frame, Panel, press

__all__ = ['arm_panel', 'health_panel', 'water_panel']


def _slider(panel: Panel, label: str, low: float, high: float, unit: str, use: Any) -> ui.label:
    """Add a slider with label and number; ``use`` is called when it was let go.

    Returns what can show where it really is.
    """
    with ui.element('div').classes('group').style('flex-wrap: nowrap'):
        ui.label(label).classes('what').style('width: 86px')
        slider = panel.add(ui.slider(min=low, max=high, step=(high - low) / 200, value=0.0))
        slider.props(f'aria-label="{label}, {unit}"').on('change', lambda e: use(float(e.args)))
        told = ui.label().style('width: 74px; text-align: right; white-space: nowrap')
        digits = 2 if high - low < 10 else 1
        told.bind_text_from(slider, 'value', lambda value: f'{value:.{digits}f} {unit}')
        return ui.label().classes('what').style('width: 84px')


def arm_panel(panel: Panel, ask: Ask, look: dict[str, Any]) -> None:
    """Add the joints of the arm, and the lights."""
    sliders = []
    for joint in look['joints']:
        scale, unit = (1.0, 'm') if joint['slides'] else (math.pi / 180, '°')
        name = joint['name']
        now = _slider(
            panel, name.removesuffix('_joint').replace('_', ' '), joint['lower'] / scale,
            joint['upper'] / scale, unit,
            lambda value, n=name, s=scale: ask('joints', {n: value * s}),
)  # fmt: skip
        sliders.append((now, scale, unit))
    lamps = {}
    if look['lights']:
        ui.label('Lights').classes('what')
        with ui.element('div').classes('group'):
            for name in look['lights']:
                label = name.removesuffix('_link').replace('_', ' ')
                lamps[name] = panel.add(lamp(label, partial(_light, panel, ask, name)))

    def sync(frame: Frame) -> None:
        for (now, scale, unit), q in zip(sliders, frame.get('joints', []), strict=False):
            now.text = '' if q is None else f'now {q / scale:.1f} {unit}'
        for name, button in lamps.items():
            press(button, frame.get('lights', {}).get(name))

    panel.show(sync)


def _light(panel: Panel, ask: Ask, name: str) -> None:
    now = panel.frame.get('lights', {}).get(name, 0.0)
    ask('lights', {name: 0.0 if now else 1.0})


def water_panel(panel: Panel, ask: Ask, scenery: dict[str, Any]) -> None:
    """Add the current, and thrusters that can be made to fail."""
    ui.label(f'Current in the map; {scenery["around"]["name"]}.').classes('what')
    current = [0.0, 0.0, 0.0]

    def flow(axis: int, value: float) -> None:
        current[axis] = value
        ask('current', current)

    for i, label in enumerate(('To the east', 'To the north', 'Up')):
        _slider(panel, label, -2.0, 2.0, 'm/s', partial(flow, i))
    ui.label('Thrusters that have failed').classes('what')
    failed: set[str] = set()

    def fail(name: str) -> None:
        failed.symmetric_difference_update({name})
        ask('faults', sorted(failed))

    with ui.element('div').classes('group'):
        names = [t['name'] for t in scenery['look']['thrusters']]
        lamps = {n: panel.add(lamp(n.replace('_', ' '), partial(fail, n))).classes('fault')
                 for n in names}  # fmt: skip

    def sync(frame: Frame) -> None:
        wanted = set(frame.get('mode', {}).get('faults', ()))
        if frame.get('mode'):
            failed.clear()
            failed.update(wanted)
        for name, button in lamps.items():
            press(button, name in wanted)

    panel.show(sync)


def health_panel(panel: Panel) -> None:
    """Add how the run goes: its speed, ticks, outages, and what the nodes say."""
    with ui.element('div').classes('meters'):
        show('factor', 'real time')
        show('ticks')
        show('time', 'at')
    columns = [
        {'name': n, 'label': n.capitalize(), 'field': n, 'align': 'left'}
        for n in ('node', 'state', 'message')
    ]
    table = ui.table(columns=columns, rows=[], row_key='node').props('dense flat wrap-cells')
    table.classes('w-full')

    def sync(frame: Frame) -> None:
        rows = frame.get('health', {}).get('nodes', [])
        if rows != table.rows:
            table.rows = rows

    panel.show(sync)
