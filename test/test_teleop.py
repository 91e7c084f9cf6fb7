# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Keys, sticks, targets and gamepad files; and the screen the pilot sees."""

import io
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.gamepad import (
    StickMemory,
    gamepad_names,
    load_gamepad,
    parse_gamepad,
    read_sticks,
)
from marine_sim_ros.control.pilot import (
    AXIS_KEYS,
    FUNCTION_KEYS,
    KEY_HELP,
    OUTPUT_MODES,
    PILOT_FUNCTION_NAMES,
    QUIT_KEY,
    SWITCHES,
    Pilot,
    PoseTarget,
    follow_sticks,
    moved_target,
    perform_function,
    press_axis_key,
    remaining_motion,
    split_keys,
    stop_vehicle,
    target_at_vehicle,
)
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rpy_from_quaternion
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.ros.launching import installation

ANGLES = st.floats(-10.0, 10.0)
METRES = st.floats(-50.0, 50.0)


def facing(yaw, position=(0.0, 0.0, -5.0), roll=0.0):
    return State(np.array(position), quaternion_from_rpy(roll, 0.0, yaw), np.zeros(6))


# Keys.


def test_every_key_moves_its_axis_and_steps_add_up_to_full_effort():
    for key, (axis, sense) in AXIS_KEYS.items():
        pilot = press_axis_key(Pilot(gain=0.5), *AXIS_KEYS[key], None)
        expected = np.zeros(6)
        expected[BODY_AXES.index(axis)] = 0.125 * sense
        assert list(pilot.efforts()) == list(expected)
        for _ in range(10):
            pilot = press_axis_key(pilot, axis, sense, None)
        assert pilot.efforts()[BODY_AXES.index(axis)] == 0.5 * sense
        assert not stop_vehicle(pilot, None).efforts().any()


def test_every_function_has_a_key_and_no_key_does_two_things():
    assert set(FUNCTION_KEYS.values()) == set(PILOT_FUNCTION_NAMES)
    assert not set(FUNCTION_KEYS) & set(AXIS_KEYS)
    assert QUIT_KEY not in FUNCTION_KEYS
    assert QUIT_KEY not in AXIS_KEYS
    told = {k for keys, _ in KEY_HELP for k in ([' '] if keys == 'space' else keys.split())}
    assert told >= (set(AXIS_KEYS) | set(FUNCTION_KEYS) | {QUIT_KEY}) - {'=', '_'}


@pytest.mark.parametrize(
    ('text', 'keys'),
    [
        ('wW +', 'ww +'),
        ('\x1b[A\x1b[Dw', 'w'),  # arrow up, arrow left
        ('\x1b[1;5Cs\x1bOP\x1b[15~d', 'sd'),  # ctrl-right, F1, F5
        ('\x1ba', ''),  # alt-a
        ('\x1b ', '\x1b '),  # escape and space: stop
    ],
)
def test_arrow_and_function_keys_are_no_letters(text, keys):
    assert split_keys(text) == (list(keys), '')


@given(st.lists(st.sampled_from(['w', ' ', '1', '\x1b[A', '\x1bOB', '\x1b[1;2D', '\x1b[24~'])),
       st.data())  # fmt: skip
def test_keys_are_the_same_however_the_terminal_cuts_them(parts, data):
    text = ''.join(parts)
    cut = data.draw(st.integers(0, len(text)))
    first, rest = split_keys(text[:cut])
    second, _ = split_keys(rest + text[cut:])
    assert first + second == [p for p in parts if len(p) == 1]


@given(st.text(max_size=25) | st.text('\x1b[O12;wA ', max_size=25))
def test_any_input_gives_keys_and_a_short_rest(text):
    keys, rest = split_keys(text)
    assert all(len(k) <= 3 for k in keys)  # lower() can make more of one character
    assert len(rest) < 32
    assert split_keys(rest)[0] == []


# The pilot.


def test_outputs_take_turns_and_let_go_of_what_was_held():
    pilot, state = press_axis_key(Pilot(), 'surge', 1.0, None), facing(1.0)
    seen = []
    for _ in range(4):
        pilot = perform_function(pilot, 'output', state)
        seen.append(pilot.output)
        assert not pilot.efforts().any()
        assert (pilot.target == target_at_vehicle(state)) == (pilot.output == 'pose')
        pilot = replace(pilot, key_efforts=(1.0, 0, 0, 0, 0, 0))
    assert seen == ['velocity', 'pose', 'pwm', 'velocity']


@given(
    st.lists(st.sampled_from(sorted(PILOT_FUNCTION_NAMES) + sorted(AXIS_KEYS)), max_size=40),
    ANGLES,
)
def test_whatever_is_pressed_efforts_stay_within_the_gain(presses, yaw):
    pilot, state = Pilot(), facing(yaw)
    for press in presses:
        if press in AXIS_KEYS:
            pilot = press_axis_key(pilot, *AXIS_KEYS[press], state)
        else:
            pilot = perform_function(pilot, press, state)
        assert 0.1 <= pilot.gain <= 1.0
        assert np.all(np.abs(pilot.efforts()) <= pilot.gain)
        assert pilot.output in OUTPUT_MODES
        assert (pilot.target is not None) == (pilot.output == 'pose')


def test_pitch_and_roll_move_a_pair_of_joints_instead_of_the_vehicle():
    """Three joints are two pairs; the third press gives the vehicle its axes back."""
    pilot, seen = Pilot(gain=0.5, pairs=2), []
    for _ in range(4):
        pilot = perform_function(pilot, 'joints', None)
        moved_target = press_axis_key(
            press_axis_key(pilot, 'pitch', 1.0, None), 'surge', 1.0, None
        )
        seen.append(
            (pilot.pair, moved_target.joint_efforts().tolist(), moved_target.efforts().tolist())
        )
    to_arm, ahead = [0.125, 0.0], [0.125, 0.0, 0.0, 0.0, 0.0, 0.0]
    tilted = [0.125, 0.0, 0.0, 0.0, 0.125, 0.0]
    assert seen == [
        (1, to_arm, ahead),
        (2, to_arm, ahead),
        (0, [0, 0], tilted),
        (1, to_arm, ahead),
    ]
    assert perform_function(Pilot(), 'joints', None) == Pilot()  # without an arm


def test_switches_of_the_controller_change_nothing_in_the_pilot():
    for function in SWITCHES:
        assert perform_function(Pilot(), function, None) == Pilot()


def test_keys_move_the_target_by_a_quarter_metre_and_ten_degrees():
    # Facing north, ahead is +y and to port is -x in ENU.
    state = facing(math.pi / 2)
    pilot = stop_vehicle(Pilot('pose'), state)
    for key, (dx, dy, dz, turn) in {
        'w': (0, 0.25, 0, 0), 's': (0, -0.25, 0, 0), 'a': (-0.25, 0, 0, 0), 'd': (0.25, 0, 0, 0),
        'r': (0, 0, 0.25, 0), 'f': (0, 0, -0.25, 0), 'q': (0, 0, 0, 10), 'e': (0, 0, 0, -10),
        'l': (0, 0, 0, 0), 'i': (0, 0, 0, 0),
    }.items():  # fmt: skip
        target = press_axis_key(pilot, *AXIS_KEYS[key], state).target
        assert target.position == pytest.approx((dx, dy, -5.0 + dz), abs=1e-12)
        assert math.degrees(target.yaw) == pytest.approx(90 + turn)


def test_sticks_move_the_target_at_their_rate():
    state = facing(0.0)
    pilot = Pilot('pose', gain=0.5, sticks=(1.0, 0.0, -1.0, 0.0, 0.0, 1.0))
    for _ in range(20):
        pilot = follow_sticks(pilot, [1.0, 0.5, 0.4, 0.5, 0.5, 0.8], 0.05, state)
    assert pilot.target.position == pytest.approx((0.5, 0.0, -5.2))
    assert pilot.target.yaw == pytest.approx(0.4)


def test_without_odometry_there_is_no_target_and_with_it_there_is():
    pilot = Pilot('pose', sticks=(1.0,) * 6)
    assert (
        press_axis_key(follow_sticks(pilot, [1.0] * 6, 0.1, None), 'surge', 1.0, None).target
        is None
    )
    assert follow_sticks(
        replace(pilot, sticks=(0.0,) * 6), [1.0] * 6, 0.1, facing(0.3)
    ).target == target_at_vehicle(facing(0.3))


# Targets.


@given(ANGLES, st.tuples(METRES, METRES), ANGLES)
def test_a_move_and_its_opposite_cancel_and_keep_the_length(yaw, step, turn):
    state = facing(yaw)
    start = target_at_vehicle(state)
    u, v = step
    there = moved_target(start, state, surge=u, sway=v, heave=-1.0, yaw=turn)
    assert remaining_motion(there, state)[0] == pytest.approx(math.sqrt(u * u + v * v + 1))
    assert abs(there.yaw) <= math.pi
    back = moved_target(there, state, surge=-u, sway=-v, heave=1.0, yaw=-turn)
    assert back.position == pytest.approx(start.position, abs=1e-9)
    assert math.cos(back.yaw - start.yaw) == pytest.approx(1.0)


@given(ANGLES, st.floats(-1.5, 1.5))
def test_a_target_is_level_and_faces_as_the_vehicle_does(yaw, roll):
    target = target_at_vehicle(facing(yaw, roll=roll))
    roll, pitch, yaw_again = rpy_from_quaternion(target.orientation())
    assert (roll, pitch) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert math.cos(yaw_again - yaw) == pytest.approx(1.0)


def test_a_target_stays_in_the_water():
    below, afloat = facing(0.0, (0.0, 0.0, -0.1)), facing(0.0, (0.0, 0.0, 0.08))
    up = {'surge': 0.0, 'sway': 0.0, 'yaw': 0.0}
    assert moved_target(target_at_vehicle(below), below, heave=0.25, **up).position[2] == 0.0
    assert moved_target(target_at_vehicle(afloat), afloat, heave=0.25, **up).position[2] == 0.08
    assert moved_target(
        target_at_vehicle(afloat), afloat, heave=-0.25, **up
    ).depth == pytest.approx(0.17)


def test_to_go_turns_the_short_way():
    state = facing(math.radians(170))
    distance, turn = remaining_motion(PoseTarget((3.0, 4.0, -5.0), math.radians(-170)), state)
    assert distance == pytest.approx(5.0)
    assert math.degrees(turn) == pytest.approx(20.0)


# Gamepads.


def joy(gamepad, *, axes=(), buttons=()):
    """Return the efforts of axes and buttons given as number: value."""
    values, pressed = [0.0] * 8, [0] * 21
    for number, value in dict(axes).items():
        values[number] = value
    for number in buttons:
        pressed[number] = 1
    efforts, functions, _ = read_sticks(gamepad, StickMemory(frozenset()), values, pressed, 0.08)
    return dict(zip(BODY_AXES, efforts.tolist(), strict=True)), functions


def only(**wanted):
    return {axis: wanted.get(axis, 0.0) for axis in BODY_AXES}


@pytest.mark.parametrize('name', ['xbox', 'playstation'])
def test_game_controllers_do_as_the_joy_package_numbers_them(name):
    # README of the package joy: LEFTX 0, LEFTY 1, RIGHTX 2, RIGHTY 3; A 0, B 1, ..., d-pad 11-14.
    # The node makes ahead and left positive, as FLU has it.
    pad = load_gamepad(name)
    assert pad.driver == 'game_controller_node'
    assert joy(pad, axes={1: 1.0})[0] == only(surge=1.0)
    assert joy(pad, axes={0: 1.0})[0] == only(sway=1.0)
    assert joy(pad, axes={3: 1.0})[0] == only(heave=1.0)
    assert joy(pad, axes={2: 1.0})[0] == only(yaw=1.0)
    assert joy(pad, axes={4: -1.0, 5: -1.0})[0] == only()  # triggers
    assert joy(pad, buttons=[13])[0] == only(roll=-1.0)
    assert joy(pad, buttons=[11])[0] == only(pitch=-1.0)
    assert joy(pad, buttons=[1])[1] == ('stop',)
    assert joy(pad, buttons=[6])[1] == ('arm',)


def test_the_flight_stick_does_as_its_driver_numbers_it():
    stick = load_gamepad('thrustmaster_t16000m')
    assert stick.driver == 'joy_node'
    for number, axis in ((1, 'surge'), (0, 'sway'), (2, 'yaw')):
        assert joy(stick, axes={number: 1.0})[0] == only(**{axis: 1.0})
    assert joy(stick, axes={5: 1.0})[0] == only(pitch=-1.0)  # hat ahead: bow up
    assert joy(stick, buttons=[2])[1] == ('auto_depth',)
    assert joy(stick, buttons=[3])[1] == ('auto_heading',)


@pytest.mark.parametrize('name', gamepad_names())
def test_every_shipped_gamepad_has_every_axis_and_function(name):
    pad = load_gamepad(name)
    assert set(pad.axes) == set(BODY_AXES)
    assert set(pad.buttons) == set(PILOT_FUNCTION_NAMES)
    if pad.driver == 'game_controller_node':
        assert max(pad.buttons.values()) <= 20


def slide(values, grip=None):
    pad = load_gamepad('thrustmaster_t16000m')
    grip, result = grip or StickMemory(), []
    for value in values:
        efforts, _, grip = read_sticks(pad, grip, [0, 0, 0, value], [], 0.0)
        result.append(efforts[2])
    return result


def test_a_slider_counts_only_after_the_middle():
    assert slide([-1.0, -0.9, -0.2, 0.0, -0.2, 1.0]) == [0, 0, 0, 0, -0.2, 1.0]
    assert slide([-1.0, -0.5, 0.4, 1.0]) == [0, 0, 0.4, 1.0]  # past it in one message


def test_a_button_is_one_press_and_none_when_it_was_down_before():
    pad, grip, seen = load_gamepad('xbox'), StickMemory(), []
    for down in (1, 1, 0, 1, 1, 0):
        _, functions, grip = read_sticks(pad, grip, [], [0, down], 0.1)
        seen.append(functions)
    assert seen == [(), (), (), ('stop',), (), ()]


NUMBERS = st.floats(width=32)


@given(st.lists(NUMBERS, max_size=9), st.lists(st.integers(0, 1), max_size=24),
       st.floats(0.0, 0.9), st.sampled_from(gamepad_names()))  # fmt: skip
def test_any_joy_message_gives_efforts_within_one(axes, buttons, dead_band, name):
    efforts, functions, grip = read_sticks(
        load_gamepad(name), StickMemory(), axes, buttons, dead_band
    )
    assert np.all(np.abs(efforts) <= 1.0)
    assert functions == ()
    again, _, _ = read_sticks(load_gamepad(name), grip, axes, buttons, dead_band)
    assert np.all(np.isfinite(again))


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.0, 0.9))
def test_the_dead_band_is_smooth_odd_and_keeps_full_stick(a, b, dead_band):
    pad = load_gamepad('xbox')

    def surge(value):
        return read_sticks(pad, StickMemory(), [0.0, value], [], dead_band)[0][0]

    assert surge(a) == -surge(-a)
    assert surge(dead_band) == 0.0
    assert surge(1.0) == 1.0
    slope = 1 / (1 - dead_band)
    assert abs(surge(a) - surge(b)) <= slope * abs(a - b) + 1e-12
    assert (surge(a) - surge(b)) * (a - b) >= 0


BAD = {
    'axes: {}': "'driver' is missing",
    'driver: joy\naxes: {}': 'expected one of: game_controller_node, joy_node',
    'driver: joy_node\naxes: {throttle: {axis: 1}}': "unknown key 'throttle'",
    'driver: joy_node\naxes: {surge: 1}': 'axes.surge: expected a mapping',
    'driver: joy_node\naxes: {surge: {axis: -1}}': 'expected a number from 0 to 63',
    'driver: joy_node\naxes: {surge: {axis: 1, scale: 2}}': 'from -1 to 1',
    'driver: joy_node\naxes: {surge: {axis: 1, button: 2}}': 'expected either axis or button',
    'driver: joy_node\naxes: {surge: [{scale: 1}]}': 'expected either axis or button',
    'driver: joy_node\naxes: {surge: {axis: 1, slider: 1}}': 'expected true or false',
    'driver: joy_node\naxes: {surge: {button: 1, slider: true}}': 'a button is no slider',
    'driver: joy_node\naxes: {}\nbuttons: {fire: 0}': "unknown key 'fire'",
    'driver: joy_node\naxes: {}\nbuttons: {stop: 1.5}': 'expected a whole number',
    'driver: joy_node\naxes: {}\nbuttons: {stop: 1, arm: 1}': 'button 1 is both stop and arm',
    'driver: joy_node\naxes: {roll: {button: 1}}\nbuttons: {arm: 1}': 'both arm and roll',
    '[1': 'not valid YAML',
    '- 1': 'expected a mapping',
}


@pytest.mark.parametrize('text', BAD)
def test_bad_gamepads_give_one_line(text):
    with pytest.raises(ParameterError, match=re.escape(BAD[text])) as caught:
        parse_gamepad(text, 'bad.yaml')
    assert '\n' not in str(caught.value)
    assert 'bad.yaml' in str(caught.value)


def test_an_unknown_gamepad_tells_the_known_ones():
    with pytest.raises(ParameterError, match='playstation, thrustmaster_t16000m, xbox'):
        load_gamepad('snes')


@given(st.text(max_size=80))
def test_any_text_is_a_gamepad_or_an_error(text):
    with pytest.raises(ParameterError):
        parse_gamepad(text, 'any.yaml')


YAML = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 70) | st.floats() | st.text(max_size=5),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(
        st.sampled_from(['driver', 'axes', 'buttons', 'axis', 'button', 'scale', 'slider', 'stop',
                         *BODY_AXES]), v, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(['axes', 'buttons', 'driver']), YAML))
def test_any_content_is_a_gamepad_or_one_line(content):
    import yaml

    content.setdefault('driver', 'joy_node')
    complaint = ''
    try:
        parse_gamepad(yaml.safe_dump(content), 'any.yaml')
    except ParameterError as error:
        complaint = str(error)
    assert '\n' not in complaint


# The screen.


def rendered(output='pwm', *, vehicle='bluerov2', state=None, notice='', pilot=None, states=None):
    rich_console = pytest.importorskip('rich.console')
    from marine_sim_ros.tools.teleop import screen

    heavy = {'arm': 'true'} if vehicle == 'bluerov2_heavy' else {}
    model = load_vehicle(vehicle, **heavy)
    node = SimpleNamespace(
        vehicle=model, pilot=pilot or Pilot(output), state=state, gamepad=load_gamepad('xbox'),
        joy_alive=False, reads_gamepad=False, top=np.array([1.0, 0.5, 0.5, 0.5, 0.5, 0.8]),
        notice=(notice, 10**9),
        trouble='no controller listens', arm=SimpleNamespace(pairs=len(heavy), holds=True),
        get_namespace=lambda: f'/{model.name}',
        command_publisher=SimpleNamespace(pwm=np.full(len(model.thrusters), 1500.0)),
        switches=SimpleNamespace(
            states=states or dict.fromkeys(['arm', 'auto_depth']), unanswered=frozenset({'arm'})
        ),
        wall_clock=SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=10**9)),
        environment=Environment(),
    )  # fmt: skip
    console = rich_console.Console(width=80, height=24, record=True, file=io.StringIO())
    console.print(screen(node))
    return console.export_text()


@pytest.mark.parametrize('vehicle', ['bluerov2', 'bluerov2_heavy', 'investigator90'])
@pytest.mark.parametrize('output', OUTPUT_MODES)
def test_the_screen_fits_a_terminal_of_80_by_24(output, vehicle):
    for state in (None, facing(1.0)):
        for notice in ('', 'x' * 200):
            text = rendered(output, vehicle=vehicle, state=state, notice=notice)
            assert text.count('\n') <= 24 - 1
            assert max(map(len, text.splitlines())) <= 80
            for keys, meaning in KEY_HELP:
                assert re.search(rf'{re.escape(keys)} +{meaning}', text), keys


def test_without_the_package_joy_screen_and_launch_say_who_reads_a_gamepad(monkeypatch):
    monkeypatch.setenv('AMENT_PREFIX_PATH', '/nowhere')
    installation.has_joy.cache_clear()
    try:
        for there, remedy in ((None, 'pip install pygame-ce'), (object(), 'try --gamepad')):
            monkeypatch.setattr(
                'marine_sim_ros.tools.teleop.find_spec', lambda _, there=there: there
            )
            assert f'gamepad none: {remedy}' in rendered()
        with pytest.raises(ParameterError, match=r'^joy:=true: .*PyPI.* browser reads it'):
            installation.check_joy()
    finally:
        installation.has_joy.cache_clear()


def test_the_screen_shows_setpoints():
    assert 'no odom yet' in rendered()
    assert 'no controller listens' not in rendered(notice='joy: silent')
    assert 'no controller listens' in rendered()
    text = rendered('velocity', state=state_at_rest((1.0, 2.0, -3.0)), pilot=Pilot(
        'velocity', gain=1.0, key_efforts=(0.5, 0, 0, 0, 0, -1.0)))  # fmt: skip
    for part in ('velocity', 'depth 3.00 m', 'heading 090°', 'set-point +0.50', 'set-point -0.80'):
        assert part in text
    assert 'heading 000°' in rendered(state=facing(math.radians(90.4)))
    target = PoseTarget((4.0, 6.0, -3.0), math.pi / 2)
    text = rendered(
        'pose', state=state_at_rest((1.0, 2.0, -3.0)), pilot=Pilot('pose', target=target)
    )
    for part in ('east 4.00 m, north 6.00 m', 'heading 000°', '5.00 m', '90° to port'):
        assert part in text
    text = rendered(notice='auto_depth: no controller answers',
                    states={'arm': None, 'auto_depth': True})  # fmt: skip
    for part in ('arm ...', 'auto depth on', 'no controller answers'):
        assert part in text
    assert 'not reported' not in rendered(states={'auto_depth': True})
    names = ['arm', 'auto_depth', 'auto_heading', 'station_keeping']
    lines = rendered(states=dict.fromkeys(names)).splitlines()
    unknown = 'arm ...   not reported: auto depth, auto heading, station keeping'
    assert any(unknown in line for line in lines)
    assert len(lines) <= 24 - 1
