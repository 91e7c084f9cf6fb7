# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Panels of modes, sticks, targets, waypoints, arm, lights, water and health."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.languages import tr
from marine_sim_ros.console.page.layout import BrowserPart, lamp, number_display
from marine_sim_ros.core.geodesy import Origin

__all__ = [
    'ANSWER_TIME',
    'ControlPanel',
    'Slider',
    'TAKE_FIRST',
    'arm_panel',
    'command_panel',
    'drive_panel',
    'figure',
    'health_panel',
    'light_lamp',
    'lights_panel',
    'on_change',
    'water_panel',
]


# Panels of modes, switches, sticks, targets and waypoints.

Ask = Callable[..., None]
Frame = dict[str, Any]

OUTPUTS = {
    'pwm': ('Thrusters', 'the sticks command the thrusters directly'),
    'velocity': ('Joystick mode', 'the sticks command the speeds of a controller'),
    'pose': ('Command mode', 'a controller holds a target pose; the sticks move the target'),
}
SWITCHES = {
    'arm': 'Armed',
    'auto_depth': 'Auto depth',
    'auto_heading': 'Auto heading',
    'station_keeping': 'Station keeping',
}
TAKE_FIRST = 'Take control first'
TILTS = (
    ('J', 'roll', -1, 'roll left'),
    ('L', 'roll', 1, 'roll right'),
    ('I', 'pitch', -1, 'bow up'),
    ('K', 'pitch', 1, 'bow down'),
)
"""Buttons that act while they are held: key, axis, sign (FLU), label."""
STICKS = (
    ('left', ('surge', 'sway'),
     (('ahead', 'W'), ('astern', 'S'), ('port', 'A'), ('stbd', 'D'))),
    ('right', ('heave', 'yaw'), (('up', 'R'), ('down', 'F'), ('turn', 'Q'), ('turn', 'E'))),
)  # fmt: skip
"""Sticks: name, axes along and across, labels and keys above, below, left and right."""
TARGETS = {
    'x': ('East', 'm'),
    'y': ('North', 'm'),
    'z': ('Depth', 'm'),
    'roll': ('Roll', '°'),
    'pitch': ('Pitch, bow up', '°'),
    'yaw': ('Heading', '°'),
}


def figure(value: float, decimals: int) -> str:
    """Return a number with a minus as wide as a plus, and none before a zero."""
    text = f'{value:.{decimals}f}'
    return text.lstrip('-') if float(text) == 0 else text.replace('-', '−')


def on_change(sync: Callable[[Frame], None], key: str) -> Callable[[Frame], None]:
    """Return a function that calls ``sync`` when a key of the frame or of its mode changes.

    So no slider moves while the operator drags it.
    """
    last: list[Any] = [None]

    def call(frame: Frame) -> None:
        value = frame.get(key, frame.get('mode', {}).get(key))
        if value is not None and value != last[0]:
            last[0] = value
            sync(frame)

    return call


class ControlPanel:
    """Controls that only the operator can use, and the functions that show their state.

    Attributes:
        frame: newest telemetry frame.
    """

    def __init__(self) -> None:
        """Start without controls."""
        self.frame: Frame = {}
        self._controls: list[tuple[Any, str, str]] = []
        self._syncs: list[Callable[[Frame], None]] = []

    def add(self, control: Any, name: str = '') -> Any:
        """Add a control; ``name``: what the run may be unable to do (``mode.unavailable``)."""
        self._controls.append((control, name, control.props.get('title', '')))
        return control

    def show(self, sync: Callable[[Frame], None]) -> None:
        """Add a function that shows a telemetry frame."""
        self._syncs.append(sync)

    def sync(self, frame: Frame, mine: bool, otherwise: str = TAKE_FIRST) -> None:
        """Show a telemetry frame; enable what works, for the operator only, else say why not."""
        self.frame = frame
        unavailable = frame.get('mode', {}).get('unavailable', {})
        for control, name, hint in self._controls:
            reason = unavailable.get(name, '') if mine else tr(otherwise)
            if control.props.get('title', '') != (reason or hint):
                control.props['title'] = reason or hint
            if control.enabled != (not reason):
                control.set_enabled(not reason)
        for sync in self._syncs:
            sync(frame)


def light_lamp(button: ui.button, on: Any) -> None:
    """Light a lamp, or put it out."""
    state = 'true' if on else 'false'
    if button.props.get('aria-pressed') != state:
        button.props['aria-pressed'] = state


def drive_panel(panel: ControlPanel, ask: Ask, unreachable: Collection[str] = ()) -> None:
    """Add modes, switches and sticks; axes that the vehicle cannot command are grey."""

    def flip(name: str) -> None:
        on = panel.frame.get('mode', {}).get('switches', {}).get(name)
        ask('switch', {'name': name, 'on': not on})

    with ui.element('div').classes('group').props('role=group aria-label="Control mode"'):
        modes = {
            name: panel.add(lamp(label, partial(ask, 'output', name), hint), name).mark(name)
            for name, (label, hint) in OUTPUTS.items()
        }
    with ui.element('div').classes('group').props('role=group aria-label="Controller"'):
        switches = {
            name: panel.add(lamp(label, partial(flip, name)), name).mark(name)
            for name, label in SWITCHES.items()
        }
    with ui.element('div').classes('group').style('flex-wrap: nowrap'):
        ui.label(tr('Gain')).classes('what')
        gain = panel.add(_OwnSlider(min=0.1, max=1.0, step=0.05, value=0.5))
        gain.props('aria-label="Gain of sticks"')
        gain.on('change', lambda e: ask('gain', float(e.args)))
        told = ui.label().style('width: 44px')
    with BrowserPart('hands').classes('sticks'):
        for name, (along, across), sides in STICKS:
            _stick(name, along in unreachable, across in unreachable, *sides)
        with ui.element('div').classes('keys'):
            for key, axis, sign, label in TILTS:
                hold = panel.add(ui.button(color=None), axis).props('dense no-caps unelevated')
                hold.classes('lamp').props.update({'data-hold': axis, 'data-sign': sign})
                with hold:
                    _key(key)
                    _words(tr(label))
        with ui.element('div').classes('what keys'):
            with ui.element('span').classes('keyboard'):
                _key('space')
                _words(f' {tr("stops")}')
            _words(tr('Gamepad:'))
            ui.element('span').props('data-gamepad')
    with ui.expansion(tr('Gamepad')).props('dense').classes('w-full'):
        BrowserPart('gamepad')

    def sync(frame: Frame) -> None:
        mode = frame.get('mode', {})
        for name, button in modes.items():
            light_lamp(button, mode.get('output') == name)
        for name, button in switches.items():
            light_lamp(button, mode.get('switches', {}).get(name))
        told.text = f'{100 * mode.get("gain", 0.5):.0f} %'

    panel.show(sync)


def _words(text: str) -> None:
    with ui.element('span'):
        ui.label(text).style('display: inline')


def _key(name: str) -> None:
    with ui.element('kbd'):
        ui.label(name).style('display: inline')


def _stick(name: str, no_along: bool, no_across: bool, *sides: tuple[str, str]) -> None:
    with ui.element('div').classes('stick') as stick:
        stick.props['data-stick'] = name
        for side, (label, key) in zip('nswe', sides, strict=True):
            unable = no_along if side in 'ns' else no_across
            with ui.element('span').classes(side).classes('unable' if unable else ''):
                _key(key)
                _words(tr(label))


class _Axis:
    """Target of an axis, held or free, beside the present value and the set-point."""

    def __init__(self, panel: ControlPanel, name: str, origin: Origin) -> None:
        self.name, self._origin = name, origin
        self.label, self.unit = TARGETS[name]
        if origin.heading and name in 'xy':
            self.label = f'Map {name}'
        ui.label(tr(self.label))
        self.field = panel.add(ui.number(placeholder=tr('free'), format='%.2f'))
        self.field.props('dense outlined clearable')
        self.field.props.update({'aria-label': f'Target {self.label}', 'suffix': self.unit})
        self.field.mark(f'target-{name}')
        self.present = ui.label('–').classes('value')
        self.setpoint = ui.label(tr('free')).classes('what')

    def value(self) -> float | None:
        """Return the target in SI units, ENU; None where it is free."""
        if self.field.value is None or self.field.value == '':
            return None
        return self.to_map(float(self.field.value))

    def to_map(self, shown: float) -> float:
        """Return a displayed number (depth down, bow up, compass) in map axes, SI units."""
        if self.name == 'z':
            return -shown
        if self.name == 'pitch':
            return -math.radians(shown)
        if self.name == 'yaw':
            return self._origin.yaw(shown)
        return math.radians(shown) if self.unit == '°' else shown

    def displayed_value(self, value: float | None) -> float | None:
        """Return a number in map axes as it is displayed."""
        if value is None:
            return None
        if self.name == 'z':
            return -value
        if self.name == 'pitch':
            return -math.degrees(value)
        if self.name == 'yaw':
            return self._origin.compass(value)
        return math.degrees(value) if self.unit == '°' else value

    def sync(self, now: float | None, goal: float | None) -> None:
        """Show the present value and the set-point."""
        here, there = self.displayed_value(now), self.displayed_value(goal)
        decimals = 1 if self.unit == '°' else 2
        unit = self.unit if self.unit == '°' else f' {self.unit}'
        self.present.text = '–' if here is None else f'{figure(here, decimals)}{unit}'
        self.setpoint.text = tr('free') if there is None else f'→ {figure(there, decimals)}{unit}'


def command_panel(
    panel: ControlPanel, ask: Ask, view: BrowserPart, eye: ui.select, origin: Origin
) -> None:
    """Add targets for each axis, and waypoints by clicking in the view from above."""
    ui.label(
        tr('An empty axis is free. Set sends all six axes; arm the controller first.')
    ).classes('what')
    with ui.element('div').classes('target'):
        for title in ('Axis', 'Target', 'Now', 'Set-point'):
            ui.label(tr(title)).classes('what')
        axes = [_Axis(panel, name, origin) for name in TARGETS]

    def fill_present_pose() -> None:
        now = [*panel.frame.get('position', []), *panel.frame.get('rpy', [])]
        for axis, value in zip(axes, now, strict=False):
            shown = axis.displayed_value(value)
            axis.field.value = None if shown is None else round(shown, 2)

    def clear() -> None:
        for axis in axes:
            axis.field.value = None
        ask('clear')

    with ui.element('div').classes('group'):
        put = panel.add(lamp('Set', lambda: ask('target', {a.name: a.value() for a in axes})))
        put.classes('calls').mark('set')
        panel.add(lamp('Clear', clear, 'free all axes; the vehicle holds its position')).mark(
            'clear'
        )
        panel.add(lamp('Use current pose', fill_present_pose))
    _waypoints(panel, ask, view, eye)

    def sync(frame: Frame) -> None:
        now = [*frame.get('position', [None] * 3), *frame.get('rpy', [None] * 3)]
        goals = frame.get('setpoints', [None] * 12)
        for axis, is_, goal in zip(axes, now, goals, strict=False):
            axis.sync(is_, goal)

    panel.show(sync)


def _waypoints(panel: ControlPanel, ask: Ask, view: BrowserPart, eye: ui.select) -> None:
    points: list[list[float]] = []

    def tell() -> None:
        view.call('route', points)
        count.text = tr('{count} waypoints', count=len(points))

    def place(event: Any) -> None:
        if len(points) < 100:
            points.append(
                [*(round(float(x), 2) for x in event.args[:2]), -float(depth.value or 0)]
            )
            tell()

    def toggle() -> None:
        light_lamp(placing, on := placing.props.get('aria-pressed') != 'true')
        if on:
            eye.value = 'above'
        view.call('place', on)

    def drop() -> None:
        points.clear()
        tell()

    ui.separator()
    with ui.element('div').classes('group'):
        placing = panel.add(
            lamp('Place waypoints', toggle, 'click waypoints in the view from above')
        )
        depth = panel.add(ui.number(tr('Depth, m'), value=2.0, min=0.0, step=0.5)).props('dense')
        depth.style('width: 90px')
        count = ui.label(tr('{count} waypoints', count=0)).classes('what')
    with ui.element('div').classes('group'):
        panel.add(lamp('Follow waypoints', lambda: ask('path', points)))
        panel.add(lamp('Clear waypoints', drop))
    view.on('place', place)


# Panels of the arm, the lights, the water current and gusts, and of the run's health.


ANSWER_TIME = 3.0
"""s of wall time after an operator's input in which older reports of the run do not count."""


class _OwnSlider(ui.slider):
    """Slider whose browser keeps what the operator does, and does not wait for the server.

    A late answer would set it back, and the next step of a key would begin there.
    """

    LOOPBACK = False


class Slider:
    """A slider with its label, its number and the measured value.

    Attributes:
        value: number that was released or reported last.
    """

    def __init__(
        self,
        panel: ControlPanel,
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
        self._unit, self._use = unit, use
        self._digits = 0 if step >= 1 else 2 if high - low < 10 else 1
        self.value, self._input_time = 0.0, -math.inf
        self._reported: float | None = None
        with ui.element('div').classes('slide').classes(kind):
            ui.label(tr(label)).classes('what')
            self.slider = panel.add(
                _OwnSlider(min=low, max=high, step=step or (high - low) / 200, value=0.0)
            )
            self.slider.props['aria-label'] = f'{label}, {unit}' if unit else label
            self.slider.on('update:model-value', self._note_input, throttle=0.2)
            self.slider.on('change', self.release)
            ui.label().classes('told').bind_text_from(self.slider, 'value', self._text)
            self.end = ui.element('div')
        with self.end:
            self._now = ui.label().classes('what')
        panel.show(self._show_report)

    def _text(self, value: float) -> str:
        space = '' if self._unit == '°' else ' '
        return f'{figure(value, self._digits)}{space}{self._unit}'

    def show_measured(self, value: float | None) -> None:
        """Show the measured value."""
        self._now.text = '' if value is None else tr('now {value}', value=self._text(value))

    def _note_input(self, _: object = None) -> None:
        self._input_time = time.monotonic()

    def release(self, event: Any) -> None:
        """Use the number that the operator has chosen."""
        self._note_input()
        self.value = float(event.args)
        self._use(self.value)

    def put(self, value: float) -> None:
        """Move the slider to a value set elsewhere.

        Not while the operator moves it, nor before the run has answered: what it reports then is
        older than what the operator wants.
        """
        self._reported = value
        self._show_report()

    def _show_report(self, _: object = None) -> None:
        if (reported := self._reported) is None:
            return
        if time.monotonic() - self._input_time > ANSWER_TIME:
            self._reported = None
            self.value = self.slider.value = reported
        elif math.isclose(reported, self.value, abs_tol=1e-9):  # the answer
            self._reported = None


def arm_panel(panel: ControlPanel, ask: Ask, look: dict[str, Any]) -> None:
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
        ui.label(tr('Gripper')).classes('what')
        with ui.element('div').classes('group'):
            jaws = panel.add(lamp('Close', lambda: ask('gripper', True)))
            panel.add(lamp('Open', lambda: ask('gripper', False)))
        held = ui.label().classes('what')
    lights_panel(panel, ask, look['lights'])

    def sync(frame: Frame) -> None:
        for (slider, scale), q in zip(sliders, frame.get('joints', []), strict=False):
            slider.show_measured(None if q is None else q / scale)
        if jaws is not None:
            number = next(iter(frame.get('joints', [])[len(sliders) :]), 0)
            light_lamp(jaws, number)
            held.text = (
                tr('holds body {number}', number=f'{number:.0f}')
                if number
                else tr('holds nothing')
            )

    panel.show(sync)


def lights_panel(panel: ControlPanel, ask: Ask, names: Sequence[str]) -> None:
    """Add a slider for each light."""
    lamps = {}
    for name in names:
        label = name.removesuffix('_link').replace('_', ' ').capitalize()
        lamps[name] = Slider(panel, label, 0.0, 100.0, '%', partial(_dim, ask, name), step=1.0)
    if lamps:
        with ui.element('span').classes('what keyboard'):
            _key(',')
            _key('.')
            _words(f' {tr("darker, brighter")}')

    def dim(frame: Frame) -> None:
        for name, slider in lamps.items():
            slider.put(round(100 * frame.get('lights', {}).get(name, 0.0)))

    panel.show(on_change(dim, 'lights'))


def _dim(ask: Ask, name: str, percent: float) -> None:
    ask('lights', {name: percent / 100})


def water_panel(panel: ControlPanel, ask: Ask, scenery: dict[str, Any]) -> None:
    """Add the water current and gusts."""
    name = scenery['around']['name']
    ui.label(tr('Water current. Environment: {name}.', name=name)).classes('what')

    def flow(axis: int, value: float) -> None:
        current = list(panel.frame.get('mode', {}).get('current', (0.0, 0.0, 0.0)))
        current[axis] = value
        ask('current', current)

    flows = [
        Slider(panel, label, -2.0, 2.0, 'm/s', partial(flow, i))
        for i, label in enumerate(('East', 'North', 'Up'))
    ]
    ui.separator()
    sync_weather = _weather(panel, ask, has_wind=scenery['around']['wind'])
    if scenery['around']['layers']:
        _layers(panel, ask, scenery['around']['layers'])
    ui.separator()
    ui.label(
        tr('A gust adds to the current: it rises to its speed and falls back to zero.')
    ).classes('what')
    gust = {'speed': 0.5, 'heading': 0.0, 'duration': 5.0}
    for name, label, low, high, unit in (
        ('speed', tr('Speed'), 0.0, 3.0, 'm/s'),
        ('heading', tr('Towards'), 0.0, 360.0, '°'),
        ('duration', tr('Duration'), 1.0, 30.0, 's'),
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

    panel.show(on_change(sync, 'current'))
    panel.show(on_change(sync_weather, 'water'))


def _layers(panel: ControlPanel, ask: Ask, uniform: dict[str, float]) -> None:
    """Add two layers of water, with a transition between them.

    Args:
        uniform: temperature, °C, and salinity of the water at the start.
    """
    ui.separator()
    ui.label(tr('Two layers of water, and a transition that is linear.')).classes('what')
    temperature, salinity = uniform['temperature'], uniform['salinity']
    values = {'depth': 10.0, 'transition': 2.0}
    values |= {f'{where}_temperature': temperature for where in ('upper', 'lower')}
    values |= {f'{where}_salinity': salinity for where in ('upper', 'lower')}
    for name, label, low, high, unit in (
        ('depth', tr('Upper layer'), 0.5, 100.0, 'm'),
        ('transition', tr('Transition'), 0.5, 50.0, 'm'),
        ('upper_temperature', tr('Temp. above'), -2.0, 35.0, '°C'),
        ('lower_temperature', tr('Temp. below'), -2.0, 35.0, '°C'),
        ('upper_salinity', tr('Salinity above'), 0.0, 42.0, ''),
        ('lower_salinity', tr('Salinity below'), 0.0, 42.0, ''),
    ):
        Slider(panel, label, low, high, unit, partial(values.__setitem__, name)).put(values[name])

    def change() -> None:
        upper, lower = (
            {key: values[f'{where}_{key}'] for key in ('temperature', 'salinity')}
            for where in ('upper', 'lower')
        )
        depth = values['depth']
        profile = [
            {'depth': 0.0, **upper},
            {'depth': depth, **upper},
            {'depth': depth + values['transition'], **lower},
        ]
        ask('environment', {'water': {'profile': profile}})

    with ui.element('div').classes('group'):
        panel.add(lamp('Set layers', change)).mark('layers')


def _weather(panel: ControlPanel, ask: Ask, *, has_wind: bool) -> Callable[[Frame], None]:
    """Add wind, level and turbidity; return the function that shows those of a frame."""
    ui.label(
        tr('From the next tick on, for all nodes; recorded, and repeated by --changes.')
    ).classes('what')
    entries = [
        (tr('Level'), -3.0, 3.0, 'm', 'tide', 'offset'),
        (tr('Turbidity'), 0.0, 3.0, '1/m', 'water', 'turbidity'),
    ]
    if has_wind:
        entries = [
            (tr('Wind'), 0.0, 25.0, 'm/s', 'wind', 'speed'),
            (tr('Wind from'), 0.0, 360.0, '°', 'wind', 'from_direction'),
            *entries,
        ]

    def change(part: str, name: str, value: float) -> None:
        ask('environment', {part: {name: value}})

    sliders = {
        name: Slider(panel, label, low, high, unit, partial(change, part, name))
        for label, low, high, unit, part, name in entries
    }

    def sync(frame: Frame) -> None:
        water = frame.get('mode', {}).get('water')
        if not water:
            return
        values = {'offset': water['offset'], 'turbidity': water['turbidity']}
        if water['wind'] is not None:
            values |= dict(zip(('speed', 'from_direction'), water['wind'], strict=True))
        for name, slider in sliders.items():
            slider.put(values[name])

    return sync


def health_panel(panel: ControlPanel) -> None:
    """Add the state of the run: speed, ticks, outages, and the diagnostics of the nodes."""
    with ui.element('div').classes('meters'):
        number_display('factor', 'Real-time factor')
        number_display('ticks', 'Ticks')
        number_display('outages', 'Outages')
        number_display('time', 'Time')
    columns = [
        {'name': name, 'label': label, 'field': name, 'align': 'left'}
        for name, label in (
            ('node', tr('Node')),
            ('state', tr('State')),
            ('message', tr('Message')),
        )
    ]
    table = ui.table(columns=columns, rows=[], row_key='node').props('dense flat wrap-cells')
    table.classes('w-full')
    table.add_slot(
        'body-cell-state',
        """
        <q-td :props="props"><span :class="'is-' + props.value">{{ props.value }}</span></q-td>""",
    )

    def sync(frame: Frame) -> None:
        rows = [
            row | {'message': '' if row['message'] == row['state'] else row['message']}
            for row in frame.get('health', {}).get('nodes', [])
        ]
        if rows != table.rows:
            table.rows = rows

    panel.show(sync)
