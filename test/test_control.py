# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws: closed forms of their parts, and what the closed loop achieves."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from marine_sim_ros import Environment
from marine_sim_ros.control.closed_loop import ClosedLoop
from marine_sim_ros.control.controllability import axis_accelerations, axis_speeds, axis_thrusts
from marine_sim_ros.control.controller_model import (
    CONTROLLER_FILES,
    empty_setpoints,
    load_controller,
    make_setpoints,
    parse_controller,
)
from marine_sim_ros.control.windowed_pid import WindowMemory, windowed_pid
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.numerics import approach
from marine_sim_ros.core.spatial import (
    attitude_error,
    body_rates,
    level_frame,
    quaternion_from_rpy,
    rpy_from_quaternion,
    wrap_angle,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.faults.fault_types import Dead
from marine_sim_ros.sim.simulation import Simulation

CROSS = Environment(current=np.array([0.0, 0.3, 0.0]))
HOLD = {'x': 0, 'y': 0, 'z': -5, 'roll': 0, 'pitch': 0, 'yaw': 0}
STEP = 0.02
"""s; a run with the default step has four times as many."""
FAILURE = 5.0
"""s, when thrusters fail."""
small = st.floats(-1.2, 1.2)


class Run:
    """A closed loop over set-points: what happened in every tick."""

    def __init__(
        self,
        vehicle,
        wanted,
        *,
        law='modern',
        environment=None,
        start=(0, 0, -5),
        duration=25.0,
        later=None,
        failed=(),
        method='bounded',
    ):
        loop = ClosedLoop(vehicle, load_controller(law), method=method)
        state = State(np.array(start, float), quaternion_from_rpy(0, 0, 0), np.zeros(6))
        dead = [Dead(start=FAILURE, thruster=name) for name in failed]
        simulation = Simulation(
            vehicle, environment=environment, initial=state, faults=dead, dt=STEP
        )
        memory, ticks, self.outputs = None, [], []
        for k in range(round(duration / STEP) + 1):
            time = k * STEP
            targets = make_setpoints(wanted if later is None or time < later[0] else later[1])
            gone = np.isin(vehicle.thrusters.names, failed) & (time >= FAILURE)
            output, memory = loop.step(targets, time, simulation.state, memory, failed=gone)
            ticks.append(simulation.tick(output.pwm))
            self.outputs.append(output)
        self.ticks = ticks
        self.position = np.stack([t.state.position for t in ticks])
        self.rpy = np.degrees(rpy_from_quaternion(np.stack([t.state.orientation for t in ticks])))
        self.velocity = np.stack([t.state.velocity for t in ticks])

    def last(self, values, seconds=5.0):
        return values[-round(seconds / STEP) :]


# The parts.


def test_the_windowed_integral_forgets():
    rng = np.random.default_rng(0)
    errors = rng.normal(0, 1, (250, 6))
    gains = tuple(rng.uniform(0, 9, (3, 6)))
    memory = WindowMemory(np.zeros((0, 6)), np.full(6, np.nan))
    for k, error in enumerate(errors):
        u, memory = windowed_pid(error, memory, gains, window=1.0, dt=0.01)
        recent = errors[max(0, k - 99) : k + 1]
        slope = (error - errors[k - 1]) / 0.01 if k else 0
        expected = gains[0] * error + gains[1] * recent.sum(axis=0) * 0.01 + gains[2] * slope
        assert u == pytest.approx(expected)
    assert len(memory.errors) == 100


@settings(max_examples=60)
@given(st.floats(-8, 8), st.floats(0.5, 4), st.floats(0.3, 2), st.floats(0.02, 0.3))
def test_an_approach_never_overshoots_nor_hurries(target, bandwidth, fastest, share):
    x, rate, dt = np.zeros(1), np.zeros(1), share / bandwidth
    for _ in range(round((abs(target) / fastest + 12 / bandwidth) / dt)):
        before = rate
        rate, acceleration = approach(
            target - x, rate, bandwidth=bandwidth, max_rate=fastest, dt=dt
        )
        assert acceleration == pytest.approx((rate - before) / dt)
        assert abs(rate[0]) <= fastest + 1e-12
        assert abs(acceleration[0]) <= bandwidth * fastest / 2 + 1e-9
        x = x + dt * rate
        assert abs(x[0]) <= abs(target) + 0.02 * fastest / bandwidth + fastest * dt
    assert x[0] == pytest.approx(target, abs=2e-3 + 2e-3 * abs(target))


def test_an_approach_is_critically_damped():
    x, rate, dt = np.zeros(1), np.zeros(1), 1e-4
    for _ in range(20_000):
        rate, _ = approach(1e-3 - x, rate, bandwidth=1.5, max_rate=1.0, dt=dt)
        x = x + dt * rate
    assert x[0] == pytest.approx(1e-3 * (1 - (1 + 1.5 * 2) * np.exp(-1.5 * 2)), rel=1e-3)


@pytest.mark.long
@given(st.tuples(*[st.floats(-9, 9)] * 3))
def test_together_it_goes_straight(target):
    target = np.array(target)
    x, rate = np.zeros(3), np.zeros(3)
    for _ in range(300):
        rate, _ = approach(target - x, rate, bandwidth=1.2, max_rate=0.5, dt=0.02, together=True)
        assert np.linalg.norm(rate) <= 0.5 + 1e-9
        x = x + 0.02 * rate
        assert np.linalg.norm(np.cross(x, target)) <= 1e-9 * (1 + np.linalg.norm(target) ** 2)


@given(small, small, st.floats(-3, 3), small, small, st.floats(-3, 3))
def test_attitude_errors_are_rotation_vectors(r0, p0, y0, r1, p1, y1):
    now, wanted = (
        Rotation.from_euler('ZYX', [y0, p0, r0]),
        Rotation.from_euler('ZYX', [y1, p1, r1]),
    )
    expected = (now.inv() * wanted).as_rotvec()
    found = attitude_error(quaternion_from_rpy(r0, p0, y0), np.array([r1, p1, y1]))
    if np.linalg.norm(expected) < 3.1:
        assert found == pytest.approx(expected, abs=1e-7)
    else:
        assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(expected), abs=1e-6)


@given(small, st.floats(-1.58, 1.58), st.floats(-3, 3), small, small, small)
def test_body_rates_are_those_of_the_turning_body(roll, pitch, yaw, dr, dp, dy):
    h = 1e-6
    at = [
        Rotation.from_euler('ZYX', [yaw + s * dy, pitch + s * dp, roll + s * dr]) for s in (-h, h)
    ]
    expected = (at[0].inv() * at[1]).as_rotvec() / (2 * h)
    found = body_rates(np.array([roll, pitch, yaw]), np.array([dr, dp, dy]))
    assert found == pytest.approx(expected, abs=1e-6)


def test_angles_wrap_and_the_level_frame_has_the_heading():
    expected = [3.5 - 2 * np.pi, 2 * np.pi - 3.5, 0.1]
    assert wrap_angle(np.array([3.5, -3.5, 0.1])) == pytest.approx(expected)
    assert level_frame(0.7) == pytest.approx(Rotation.from_euler('z', 0.7).as_matrix())


def test_what_a_vehicle_can_do():
    rov = vehicle_of('investigator90', arm='false')
    thrust = axis_thrusts(rov)
    # The weakest way: four thrusters of 200 N at 30 degrees, kept straight about the printed
    # centre of mass, which is off the middle: the starboard ones are at 0.2415/0.3359.
    assert thrust[0] == pytest.approx(200 / 0.33588, rel=1e-3)
    assert thrust[4] == 0
    assert thrust[5] == pytest.approx(200 / 17.4825, rel=1e-3)
    assert axis_accelerations(rov)[5] == pytest.approx(thrust[5] / rov.mass_matrix[5, 5], rel=1e-9)
    speed = axis_speeds(rov, 0.5)
    assert 179.303 * speed[0] ** 2 == pytest.approx(thrust[0] / 2, rel=1e-4)
    assert 110.609 * speed[5] ** 2 == pytest.approx(thrust[5] / 2, rel=1e-4)
    slow = replace(rov, damping=replace(rov.damping, linear=50 * np.eye(6)))
    v = axis_speeds(slow)[0]
    assert 50 * v + 179.303 * v**2 == pytest.approx(thrust[0], rel=1e-4)


# The loop, against the thesis and better.


def test_the_thesis_law_leaves_the_printed_error_in_depth():
    rov = vehicle_of('investigator90', arm='false')
    run = Run(rov, {'z': -5, 'roll': 0, 'yaw': 0}, law='thesis', duration=30)
    rise = run.last(run.position[:, 2]).mean() + 5
    assert rise == pytest.approx(214.277 / 1948, abs=2e-3)  # e = F / (K_p + K_i 1 s)
    assert rise == pytest.approx(0.11, abs=0.01)  # as printed


def pitch_by_statics(run, vehicle):
    """Where buoyancy and thrust leave no pitch moment about the centre of mass, degrees."""
    tick = run.ticks[-1]
    center = vehicle.inertia.center_of_mass
    push = tick.sources['thrusters']
    moment = push[4] - np.cross(center, push[:3])[1]
    lift = 1025 * 9.8 * vehicle.buoyancy.volume
    x, _, z = vehicle.buoyancy.center_of_volume - center
    # lift (z sin(-pitch)... ) balances: -x cos p - z sin p + moment / lift = 0, p bow down.
    guesses = np.radians(np.linspace(-20, 20, 40_001))
    rest = -lift * (x * np.cos(guesses) + z * np.sin(guesses)) + moment
    return np.degrees(guesses[np.argmin(np.abs(rest))])


@pytest.mark.long
def test_pitch_settles_where_statics_say_and_is_told():
    bare = vehicle_of('investigator90', arm='false')
    thick = replace(bare, damping=replace(bare.damping, linear=np.diag([0, 0, 0, 0, 60, 0])))
    run = Run(thick, HOLD, duration=60)
    found = run.last(run.rpy[:, 1]).mean()
    assert found == pytest.approx(pitch_by_statics(run, bare), abs=0.1)
    assert found == pytest.approx(-3.62, abs=0.1)  # the thesis: 3 to 4 degrees
    assert run.outputs[-1].allocation.shortfall == ('pitch',)


VARIANTS = [
    ('investigator90', {}),
    ('investigator90', {'arm': 'false', 'ballast': '21.865'}),
    ('bluerov2_heavy', {}),
    ('bluerov2', {}),
]


@pytest.mark.long
@pytest.mark.parametrize('environment', [None, CROSS], ids=['still', 'cross current'])
@pytest.mark.parametrize(('name', 'arguments'), VARIANTS)
def test_position_hold_below_a_centimetre(name, arguments, environment):
    run = Run(vehicle_of(name, **arguments), HOLD, environment=environment)
    assert np.max(np.abs(run.last(run.position) - [0, 0, -5])) < 0.01
    assert np.max(np.abs(run.last(run.rpy[:, 2]))) < 0.2
    assert np.max(np.abs(run.position - [0, 0, -5])) < 0.5


SWIMMERS = ('investigator90', 'bluerov2_heavy', 'bluerov2')
DEAR_SWIMMERS = ('investigator90', 'bluerov2_heavy', 'bluerov2')


# Six thrusters hold no pitch: what rides bow up by p turns by its yaw rate over cos p.
LEVEL = {'bluerov2': {'coefficients': 'bluerov2_gz'}}


@pytest.mark.long
@pytest.mark.parametrize('environment', [None, CROSS], ids=['still', 'cross current'])
@pytest.mark.parametrize('name', DEAR_SWIMMERS)
def test_heading_step(name, environment):
    turned = {**HOLD, 'yaw': np.pi / 2}
    run = Run(vehicle_of(name), HOLD, environment=environment, later=(10, turned), duration=35)
    assert np.max(np.abs(run.last(run.rpy[:, 2]) - 90)) < 0.2
    # The BlueROV2s' stern has three times the drag of their bow: on the way the moment of a
    # current across leaves faster than the integral, and the turn ends 11 % too far.
    swung = name != 'investigator90' and environment is CROSS
    assert run.rpy[:, 2].max() < 90 * (1.12 if swung else 1.05)
    assert np.max(np.abs(run.last(run.position) - [0, 0, -5])) < 0.01


@pytest.mark.long
@pytest.mark.parametrize('environment', [None, CROSS], ids=['still', 'cross current'])
@pytest.mark.parametrize('name', DEAR_SWIMMERS)
def test_transit(name, environment):
    start, end = {**HOLD, 'x': -4}, {**HOLD, 'x': 4}
    run = Run(
        vehicle_of(name),
        start,
        environment=environment,
        start=(-4, 0, -5),
        later=(5, end),
        duration=40,
    )
    assert run.position[:, 0].max() < 4.1
    assert np.max(np.abs(run.last(run.position) - [4, 0, -5])) < 0.01
    after = run.position[round(5 / STEP) :]
    # Straight; across, the thesis's drag grows with the speed ahead.
    assert np.max(np.abs(after[:, 1:] - [0, -5])) < (0.1 if environment is None else 0.15)


@pytest.mark.long
@pytest.mark.parametrize(
    ('name', 'environment'),
    [
        ('investigator90', None),
        ('investigator90', CROSS),
        ('bluerov2_heavy', None),
        ('bluerov2', None),
        ('bluerov2', CROSS),
    ],
)
def test_circle_and_helix(name, environment):
    speeds = {'surge': 0.4, 'sway': 0, 'heave': -0.08, 'yaw_rate': 0.16, 'roll': 0, 'pitch': 0}
    vehicle = vehicle_of(name, **LEVEL.get(name, {}))
    run = Run(vehicle, speeds, duration=55, environment=environment)
    late = run.position[round(15 / STEP) :]  # one turn
    a = np.c_[2 * late[:, :2], np.ones(len(late))]
    x, y, c = np.linalg.lstsq(a, (late[:, :2] ** 2).sum(axis=1), rcond=None)[0]
    assert np.sqrt(c + x**2 + y**2) == pytest.approx(0.4 / 0.16, rel=0.02)
    rise = (late[-1, 2] - late[0, 2]) / 40 * 2 * np.pi / 0.16
    assert rise == pytest.approx(-0.08 * 2 * np.pi / 0.16, rel=0.02)


@pytest.mark.long
@pytest.mark.parametrize('environment', [None, CROSS], ids=['still', 'cross current'])
def test_the_heavy_holds_its_place_without_a_horizontal_thruster(environment):
    heavy = vehicle_of('bluerov2_heavy')
    names = heavy.thrusters.names
    horizontal = [
        n for n, axis in zip(names, heavy.thrusters.axis, strict=True) if abs(axis[2]) < 0.5
    ]
    assert len(horizontal) == 4
    for name in horizontal[::3]:
        run = Run(heavy, HOLD, environment=environment, failed=(name,))
        after = run.position[round(FAILURE / STEP) :]
        assert np.max(np.abs(after - [0, 0, -5])) < 0.1
        assert np.max(np.abs(run.last(run.position) - [0, 0, -5])) < 0.01
        assert all(t.thrusters.thrust[names.index(name)] < 1e-6 for t in run.ticks[-10:])


@pytest.mark.long
@pytest.mark.parametrize('failed', [0, 1, 2, 3])
def test_the_bluerov2_holds_depth_and_heading_without_a_horizontal_thruster(failed):
    rov = vehicle_of('bluerov2')
    run = Run(rov, {'z': -5, 'yaw': 0.5}, environment=CROSS, failed=(rov.thrusters.names[failed],))
    assert np.max(np.abs(run.last(run.position[:, 2]) + 5)) < 0.01
    assert np.max(np.abs(run.last(run.rpy[:, 2]) - np.degrees(0.5))) < 0.2


def test_free_means_free():
    rov = vehicle_of('bluerov2_heavy')
    run = Run(rov, {'z': -5}, environment=CROSS, duration=20)
    assert np.max(np.abs(run.last(run.position[:, 2]) + 5)) < 0.01
    drift = (run.position[-1] - run.position[-2]) / STEP
    assert drift == pytest.approx([0.0, 0.3, 0.0], abs=0.02)  # with the water
    # One driven axis does not bring its free neighbours along: it may float up.
    light = ClosedLoop(vehicle_of('investigator90', arm='false'), load_controller('modern'))
    state = State(np.array([0.0, 0, -5]), quaternion_from_rpy(0, 0, 0.7), np.zeros(6))
    output, _ = light.step(make_setpoints({'surge': 0.4}), 0.0, state, None)
    assert output.wrench[0] > 10
    assert output.wrench[1:] == pytest.approx(np.zeros(5), abs=1e-9)
    nothing = Run(rov, {}, duration=0.1)
    assert all(np.all(o.pwm == 1500) for o in nothing.outputs)


@pytest.mark.long
@pytest.mark.parametrize('method', ['bounded', 'pseudo_inverse'])
def test_either_allocation_holds(method):
    run = Run(vehicle_of('bluerov2_heavy'), HOLD, environment=CROSS, method=method, duration=30)
    assert np.max(np.abs(run.last(run.position) - [0, 0, -5])) < 0.01


def test_a_start_and_a_new_target_do_not_kick():
    rov = vehicle_of('bluerov2_heavy')
    run = Run(rov, HOLD, start=(3, -2, -8), duration=5)
    pwm = np.stack([o.pwm for o in run.outputs])
    assert np.max(np.abs(np.diff(pwm, axis=0))) < 70


# What cannot be used.


@pytest.mark.parametrize('name', CONTROLLER_FILES.names())
def test_shipped_controllers_load(name):
    load_controller(name)


MODERN = CONTROLLER_FILES.path('modern').read_text(encoding='utf-8')


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('', 'law: modern or thesis or glide'),
        ('[1]', 'law: modern or thesis or glide'),
        ('law: fuzzy', "law is 'fuzzy'"),
        ('law: modern', "'bandwidth' is missing"),
        (
            'law: thesis\nwindow: -1\npose: {kp: [1], ki: [1], kd: [1]}\nvelocity: {}',
            'pose.kp is [1]; expected a list of 6 numbers: K_p, surge to yaw',
        ),
        ('law: modern\nspeed: 1', "unknown key 'speed'"),
        (MODERN.replace('damping: 1.0', 'damping: 9'), 'from 0.1 to 5'),
        (MODERN.replace('max_speed: 0.6', 'max_speed: -1'), 'from 0.001 to 10 m/s'),
        (
            MODERN.replace('[2.0, 2.5]', '2.0'),
            'bandwidth.station is 2.0; expected a list of 2 numbers',
        ),
        (MODERN.replace('n: true', 'n: 1'), 'error_diffusion is 1; expected true or false'),
    ],
)
def test_bad_controllers_get_one_line(text, expected):
    with pytest.raises(ParameterError, match=r'my\.yaml') as caught:
        parse_controller(text, 'my.yaml')
    assert expected in str(caught.value)
    assert '\n' not in str(caught.value)


def test_setpoints_are_named():
    assert np.isnan(empty_setpoints()).all()
    assert make_setpoints({'z': -3.0, 'yaw_rate': 0.1})[[2, 11]] == pytest.approx([-3, 0.1])
    with pytest.raises(ParameterError, match="'depth' is unknown"):
        make_setpoints({'depth': 3.0})
    with pytest.raises(ParameterError, match='set-point z is nan'):
        make_setpoints({'z': np.nan})


def test_an_unknown_law_says_how_a_law_of_your_own_becomes_known(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text('law: depth_pd\n')
    with pytest.raises(ParameterError, match=r"law is 'depth_pd'; .*pip install -e \."):
        load_controller(str(path))
