# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Panel of faults that the operator can inject: thrusters, commands, battery, sensors."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.layout import lamp
from marine_sim_ros.console.page.more_panels import Slider
from marine_sim_ros.console.page.panels import Ask, Frame, Panel, changes, press
from marine_sim_ros.console.page.sensor_faults import Known, SensorFaults, Show

__all__ = ['fault_panel']


def fault_panel(panel: Panel, ask: Ask, look: dict[str, Any]) -> None:
    """Add the controls of a vehicle's faults, and the state of each."""
    if look['thrusters']:
        ui.label('Remaining thrust of each thruster').classes('what')
    shows = [_thruster(panel, ask, one['name']) for one in look['thrusters']]
    if look['thrusters']:
        ui.separator()
        names = [one['name'] for one in look['thrusters']]
        shows += [_late(panel, ask, names), _share(panel, ask, 'Commands lost', 'lost_commands')]
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
    with ui.element('div').classes('group'):
        panel.add(lamp('Clear all faults', lambda: ask('mend'))).mark('mend')
        told = ui.label().classes('what')

    def sync(frame: Frame) -> None:
        faults = frame['mode']['faults']
        known = {(f['kind'], f.get('thruster') or f.get('sensor', '')): f for f in faults}
        for show in shows:
            show(known)
        told.text = f'active faults: {len(faults)}' if faults else 'no faults'

    panel.show(changes(sync, 'faults'))


def _thruster(panel: Panel, ask: Ask, name: str) -> Show:
    """Add the row of a thruster: remaining thrust, reversed, stuck."""

    def left(share: float) -> None:
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

    slider = Slider(panel, name.replace('_', ' '), 0.0, 100.0, '%', left, step=5.0, kind='short')
    with slider.end:
        lamps = {
            kind: panel.add(lamp(label, partial(flip, kind), hint)).classes('fault')
            for kind, label, hint in (
                ('reversed', 'Rev.', 'the propeller turns the other way'),
                ('stuck', 'Stuck', 'the thruster keeps its present pulse width'),
            )
        }
    for kind, button in lamps.items():
        button.props['aria-label'] = f'{name} {kind}'

    def show(known: Known) -> None:
        weak = known.get(('weak', name), {}).get('share', 1.0)
        slider.put(0.0 if ('dead', name) in known else 100.0 * weak)
        for kind, button in lamps.items():
            press(button, (kind, name) in known)

    return show


def _put(ask: Ask, wanted: Any, fault: dict[str, str], **values: float) -> None:
    """Ask for a fault with its values, or for its end."""
    ask('fault' if wanted else 'mend', {**fault, **values} if wanted else fault)


def _late(panel: Panel, ask: Ask, names: list[str]) -> Show:
    def late(delay: float) -> None:
        for name in names:
            _put(ask, delay, {'kind': 'delayed', 'thruster': name}, delay=delay)

    slider = Slider(panel, 'Command delay', 0.0, 2.0, 's', late, step=0.05)
    return lambda known: slider.put(known.get(('delayed', names[0]), {}).get('delay', 0.0))


def _share(panel: Panel, ask: Ask, label: str, kind: str) -> Show:
    """Add a slider for the share of lost or wrong messages of a fault."""

    def use(share: float) -> None:
        _put(ask, share, {'kind': kind}, share=share / 100.0)

    slider = Slider(panel, label, 0.0, 100.0, '%', use, step=1.0)
    return lambda known: slider.put(100.0 * known.get((kind, ''), {}).get('share', 0.0))


def _drift(panel: Panel, ask: Ask) -> Show:
    def use(rate: float) -> None:
        _put(ask, rate, {'kind': 'barometer_drift'}, rate=rate)

    slider = Slider(panel, 'Barometer drift', -500.0, 500.0, 'Pa/s', use, step=10.0)
    return lambda known: slider.put(known.get(('barometer_drift', ''), {}).get('rate', 0.0))


def _battery(panel: Panel, ask: Ask) -> Show:
    """Add a battery whose voltage sags: on or off, charge, internal resistance."""
    values = {'charge': 100.0, 'resistance': 0.05}

    def switch(on: bool) -> None:
        charge, resistance = values['charge'] / 100.0, values['resistance']
        _put(ask, on, {'kind': 'battery'}, charge=charge, resistance=resistance)

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
    resistance = Slider(
        panel, 'Internal resistance', 0.0, 0.5, 'Ω', partial(put, 'resistance'), step=0.01
    )
    charge.put(values['charge'])
    resistance.put(values['resistance'])

    def tell(frame: Frame) -> None:
        volts = frame.get('health', {}).get('voltage')
        voltage.text = f'{volts} V' if volts and lit() else 'constant supply voltage'

    panel.show(tell)

    def show(known: Known) -> None:
        battery = known.get(('battery', ''))
        press(button, battery)
        if battery is not None:
            values.update(charge=100.0 * battery['charge'], resistance=battery['resistance'])
            charge.put(values['charge'])
            resistance.put(values['resistance'])

    return show
