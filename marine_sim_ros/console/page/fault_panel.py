# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What an operator lets go wrong: thrusters, commands, battery, barometer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.layout import lamp
from marine_sim_ros.console.page.more_panels import Slider
from marine_sim_ros.console.page.panels import Ask, Frame, Panel, changes, press

__all__ = ['fault_panel']

Known = dict[tuple[str, str], dict[str, Any]]
"""Faults by kind and thruster."""
Show = Callable[[Known], None]


def fault_panel(panel: Panel, ask: Ask, look: dict[str, Any]) -> None:
    """Add what can go wrong with a vehicle, and what is wrong with it."""
    if look['thrusters']:
        ui.label('Share of its thrust that a thruster has left').classes('what')
    shows = [_thruster(panel, ask, one['name']) for one in look['thrusters']]
    if look['thrusters']:
        ui.separator()
        names = [one['name'] for one in look['thrusters']]
        shows += [_late(panel, ask, names), _share(panel, ask, 'Commands lost', 'lost_commands')]
        shows += [_battery(panel, ask)]
    if look['barometer']:
        ui.separator()
        shows += [
            _share(panel, ask, 'Barometer out', 'barometer_dropout'),
            _drift(panel, ask), _share(panel, ask, 'It spikes', 'barometer_spikes'),
        ]  # fmt: skip
    with ui.element('div').classes('group'):
        panel.add(lamp('Mend everything', lambda: ask('mend'))).mark('mend')
        told = ui.label().classes('what')

    def sync(frame: Frame) -> None:
        faults = frame['mode']['faults']
        known = {(f['kind'], f.get('thruster', '')): f for f in faults}
        for show in shows:
            show(known)
        told.text = f'{len(faults)} at work' if faults else 'nothing is wrong'

    panel.show(changes(sync, 'faults'))


def _thruster(panel: Panel, ask: Ask, name: str) -> Show:
    """Add a row of a thruster: how much of its thrust is left, reversed, stuck."""

    def left(share: float) -> None:
        if share >= 100.0:
            ask('mend', {'kind': 'weak', 'thruster': name})
        elif share <= 0.0:
            ask('fault', {'kind': 'dead', 'thruster': name})
        else:
            ask('fault', {'kind': 'weak', 'thruster': name, 'share': share / 100.0})

    def flip(kind: str) -> None:
        on = any((f['kind'], f.get('thruster')) == (kind, name)
                 for f in panel.frame.get('mode', {}).get('faults', ()))  # fmt: skip
        ask('mend' if on else 'fault', {'kind': kind, 'thruster': name})

    slider = Slider(panel, name.replace('_', ' '), 0.0, 100.0, '%', left, step=5.0, kind='short')
    with slider.end:
        lamps = {
            kind: panel.add(lamp(label, partial(flip, kind), hint)).classes('fault')
            for kind, label, hint in (
                ('reversed', 'Rev.', 'it turns the other way'),
                ('stuck', 'Stuck', 'it goes on with the pulse width it has'),
            )
        }
    for kind, button in lamps.items():
        button.props(f'aria-label="{name} {kind}"')

    def show(known: Known) -> None:
        weak = known.get(('weak', name), {}).get('share', 1.0)
        slider.put(0.0 if ('dead', name) in known else 100.0 * weak)
        for kind, button in lamps.items():
            press(button, (kind, name) in known)

    return show


def _late(panel: Panel, ask: Ask, names: list[str]) -> Show:
    def late(delay: float) -> None:
        for name in names:
            if delay:
                ask('fault', {'kind': 'delayed', 'thruster': name, 'delay': delay})
            else:
                ask('mend', {'kind': 'delayed', 'thruster': name})

    slider = Slider(panel, 'Commands late', 0.0, 2.0, 's', late, step=0.05)
    return lambda known: slider.put(known.get(('delayed', names[0]), {}).get('delay', 0.0))


def _share(panel: Panel, ask: Ask, label: str, kind: str) -> Show:
    """Add a slider of how often something goes wrong."""

    def use(share: float) -> None:
        if share:
            ask('fault', {'kind': kind, 'share': share / 100.0})
        else:
            ask('mend', {'kind': kind})

    slider = Slider(panel, label, 0.0, 100.0, '%', use, step=1.0)
    return lambda known: slider.put(100.0 * known.get((kind, ''), {}).get('share', 0.0))


def _drift(panel: Panel, ask: Ask) -> Show:
    def use(rate: float) -> None:
        if rate:
            ask('fault', {'kind': 'barometer_drift', 'rate': rate})
        else:
            ask('mend', {'kind': 'barometer_drift'})

    slider = Slider(panel, 'It drifts', -500.0, 500.0, 'Pa/s', use, step=10.0)
    return lambda known: slider.put(known.get(('barometer_drift', ''), {}).get('rate', 0.0))


def _battery(panel: Panel, ask: Ask) -> Show:
    """Add a battery that sags: on or off, its charge and what is inside."""
    values = {'charge': 100.0, 'resistance': 0.05}

    def switch(on: bool) -> None:
        if on:
            ask('fault', {'kind': 'battery', 'charge': values['charge'] / 100.0,
                          'resistance': values['resistance']})  # fmt: skip
        else:
            ask('mend', {'kind': 'battery'})

    def put(name: str, value: float) -> None:
        values[name] = value
        if lit():
            switch(True)

    def lit() -> bool:
        return any(f['kind'] == 'battery' for f in panel.frame.get('mode', {}).get('faults', ()))

    with ui.element('div').classes('group'):
        button = panel.add(lamp('Battery sags', lambda: switch(not lit()))).classes('fault')
        voltage = ui.label().classes('what')
    charge = Slider(panel, 'Charge', 0.0, 100.0, '%', partial(put, 'charge'), step=1.0)
    inside = Slider(panel, 'Inside', 0.0, 0.5, 'Ω', partial(put, 'resistance'), step=0.01)
    charge.put(values['charge'])
    inside.put(values['resistance'])

    def tell(frame: Frame) -> None:
        volts = frame.get('health', {}).get('voltage')
        voltage.text = f'{volts} V' if volts and lit() else 'the supply is constant'

    panel.show(tell)

    def show(known: Known) -> None:
        battery = known.get(('battery', ''))
        press(button, battery)
        if battery is not None:
            values.update(charge=100.0 * battery['charge'], resistance=battery['resistance'])
            charge.put(values['charge'])
            inside.put(values['resistance'])

    return show
