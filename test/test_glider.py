# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The glider beside the equations of its source, solved here, and the spiral that it prints.

Source: Zhang, Yu, Zhang and Zhang (2013), Spiraling motion of underwater gliders, Ocean
Engineering 60: equations 18 to 22, tables 1 to 3. Axes there are forward, right, down.
"""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros import load_vehicle
from marine_sim_ros.control.controller_model import load_controller, make_law, make_setpoints
from marine_sim_ros.control.glide import make_moving_mass_allocation, make_volume_allocation
from marine_sim_ros.core.errors import MarineSimError, ScenarioError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rpy_from_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate

HULL, BATTERY = (54.28, np.array([-0.0814, 0.0, 0.0032])), 11.0  # kg, m
ADDED, GRAVITY, DENSITY = np.array([1.48, 49.58, 65.92]), 9.8, 1025.0
NOMINAL, OFFSET = 0.4016, 0.014  # m, of the battery
DEGREE = np.pi / 180


def balance(x, slide, turn, heaviness):
    """Return force and moment (6,) that are left over at a steady spiral.

    x: speed, angles of attack and drift, pitch, roll, turning rate about the vertical.
    """
    speed, attack, drift, pitch, roll, rate = x
    ca, sa, cb, sb = np.cos(attack), np.sin(attack), np.cos(drift), np.sin(drift)
    flow = np.array([[ca * cb, -ca * sb, -sa], [sb, cb, 0], [sa * cb, -sa * sb, ca]])
    v = speed * flow[:, 0]
    down = np.array([-np.sin(pitch), np.sin(roll) * np.cos(pitch), np.cos(roll) * np.cos(pitch)])
    omega = rate * down
    battery = np.array([NOMINAL + slide, -OFFSET * np.sin(turn), OFFSET * np.cos(turn)])
    first = HULL[0] * HULL[1] + BATTERY * battery  # Σ m r
    momentum = (HULL[0] + BATTERY) * v + np.cross(omega, first) + ADDED * v
    # Angular momentum is along the small turning rate: its own turning is of second order.
    force = [-(7.19 + 386.29 * attack**2), -115.65 * drift, -(-0.36 + 440.99 * attack)]
    moment = [
        -58.27 * drift - 19.83 * omega[0],
        0.28 - 65.84 * attack - 205.64 * omega[1],
        34.10 * drift - 389.30 * omega[2],
    ]
    return np.concatenate(
        [
            np.cross(momentum, omega)
            + GRAVITY * heaviness * down
            + speed**2 * flow @ np.array(force),
            np.cross(momentum, v)
            + np.cross(first, GRAVITY * down)
            + speed**2 * flow @ np.array(moment),
        ]
    )


def solve(guess, *conditions):
    """Return the root of the balance by Newton's method with differences."""
    x = np.array(guess)
    for _ in range(60):
        left = balance(x, *conditions)
        slope = np.array([(balance(x + 1e-7 * e, *conditions) - left) / 1e-7 for e in np.eye(6)])
        x = x - np.linalg.lstsq(slope.T, left, rcond=None)[0]
    assert np.max(np.abs(balance(x, *conditions))) < 1e-9
    return x


def glide(slide, turn, heaviness, start, duration=120):
    """Return speed, attack, drift, pitch, roll and turning rate at the end of a run."""
    scenario = parse_scenario(
        f'duration: {duration}\n'
        f'initial: {{position: [0, 0, -200], rpy: [{start[4]:.6f}, {-start[3]:.6f}, 0]}}\n'
        f'segments: [{{at: 0, joints: {{battery_slide: {slide}, battery_turn: {turn:.6f}}}, '
        f'buoyancy_engines: {{bladder: {-heaviness / DENSITY:.8f}}}}}]',
        'glide',
    )
    scenario = replace(scenario, velocity=(float(start[0]), 0.0, 0.0, 0.0, 0.0, 0.0))
    run = simulate(vehicle_of('glider'), scenario, dt=0.1)
    u, v, heave = run.velocity[-1, :3]
    roll, pitch, yaw = (float(a) for a in rpy_from_quaternion(run.orientation[-1]))
    before = float(rpy_from_quaternion(run.orientation[-201])[2])  # 20 s
    speed = np.sqrt(u * u + v * v + heave * heave)
    angles = np.arctan2(-heave, u), np.arcsin(-v / speed), -pitch, roll
    turned = np.remainder(yaw - before + np.pi, 2 * np.pi) - np.pi
    return np.array([speed, *angles, -turned / 20.0])


PRINTED = np.array([0.490, *(np.array([1.267, -1.283, -35.641, -13.703]) * DEGREE), 0.0039])
"""Spiral of the source: battery at 0.4216 m and 45°, 0.3 kg heavy."""


def test_the_printed_spiral_is_where_a_run_ends():
    """The printed turning rate has two digits; the lift of the tail turns it by 2 % more."""
    found = glide(0.02, 45 * DEGREE, 0.3, PRINTED, duration=200)
    assert found[0] == pytest.approx(PRINTED[0], rel=0.005)
    np.testing.assert_allclose(found[1:5], PRINTED[1:5], rtol=0, atol=0.3 * DEGREE)
    assert found[5] == pytest.approx(PRINTED[5], rel=0.05)


CONDITIONS = {  # slide, turn, kg that it is too heavy, and where it nearly ends
    'steep': (0.03, 0.0, 0.5, (0.7, 0.01, 0.0, -0.8, 0.0, 0.0)),
    'flat': (0.013, 0.0, 0.3, (0.4, 0.03, 0.0, -0.4, 0.0, 0.0)),
    'up': (-0.018, 0.0, -0.3, (0.45, -0.02, 0.0, 0.6, 0.0, 0.0)),
    'turning': (0.02, 20 * DEGREE, 0.3, (0.48, 0.025, -0.011, -0.58, -0.11, 0.002)),
    'other side': (0.02, -30 * DEGREE, 0.3, (0.48, 0.025, 0.011, -0.58, 0.15, -0.002)),
}


@pytest.mark.parametrize('name', CONDITIONS)
def test_a_glide_is_that_of_the_equations_of_its_source(name):
    *conditions, guess = CONDITIONS[name]
    wanted = solve(guess, *conditions)
    found = glide(*conditions, wanted)
    assert found[0] == pytest.approx(wanted[0], rel=0.01)
    np.testing.assert_allclose(found[1:5], wanted[1:5], rtol=0, atol=0.2 * DEGREE)
    # Glide angle: the way down over the way ahead.
    assert found[3] - found[1] == pytest.approx(wanted[3] - wanted[1], rel=0.01)
    assert found[5] == pytest.approx(wanted[5], rel=0.1, abs=1e-5)


def test_the_battery_moves_the_centre_of_mass_and_nothing_else():
    """In trim, at rest, a battery that slid by s pitches to tan θ = m s/(M h)."""
    found = glide(0.0005, 0.0, 0.0, (0.0,) * 6, duration=60)
    assert abs(found[0]) < 2e-3
    low = (54.28 * 0.0032 + BATTERY * OFFSET) / 65.28
    first = (54.28 * -0.0814 + BATTERY * (NOMINAL + 0.0005)) / 65.28
    assert found[3] == pytest.approx(-np.arctan2(first, low), abs=0.01)


@pytest.fixture(scope='module')
def cycle():
    """The shipped cycle, long enough for a glide down and one up."""
    play = replace(load_scenario('glide_cycle'), duration=372.0)
    return simulate(vehicle_of('glider'), play, dt=0.05)


@pytest.mark.ros
def test_a_glide_has_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    run_everywhere(
        processes, tmp_path, 'glider', '--scenario', 'glide', '--duration', 2, '--dt', 0.02
    )


@pytest.mark.parametrize(
    ('start', 'end', 'direction'), [(150, 165, 1), (330, 345, -1)], ids=['down', 'up']
)
def test_glide_angle_and_sink_rate_of_the_cycle_are_those_of_the_equations(
    cycle, start, end, direction
):
    """The controller's glide, 0.3 kg too heavy or too light, beside the source's balance."""
    time = cycle.stamp / 1e9
    part = (time > start) & (time < end)
    slide = float(np.mean(cycle.actuators['joints'][part, 0]))
    guess = (0.48, direction * 0.02, 0.0, -0.6 * direction, 0.0, 0.0)
    speed, attack, _, pitch, _, _ = solve(guess, slide, 0.0, direction * 0.3)
    steps = np.diff(cycle.position[part], axis=0)
    ahead = float(np.sum(np.hypot(steps[:, 0], steps[:, 1])))
    down = -float(np.sum(steps[:, 2]))
    seconds = len(steps) * 0.05
    assert down / ahead == pytest.approx(np.tan(attack - pitch), rel=0.03)
    assert down / seconds == pytest.approx(speed * np.sin(attack - pitch), rel=0.03)
    assert ahead / seconds == pytest.approx(speed * np.cos(attack - pitch), rel=0.03)


def test_the_cycle_turns_at_its_depths_and_keeps_its_pitch(cycle):
    time, depth = cycle.stamp / 1e9, -cycle.position[:, 2]
    pitch = np.array([float(rpy_from_quaternion(q)[1]) for q in cycle.orientation[::20]])
    assert 40.0 < depth.max() < 44.0
    assert 0.0 < depth[time > 300].min() < 5.0
    for at, wanted in ((160, 0.6), (340, -0.6)):
        assert pitch[at] == pytest.approx(wanted, abs=0.02)


def test_without_a_depth_it_stays_neutral_and_level():
    play = parse_scenario(
        'duration: 40\ncontroller: glide\ninitial: {position: [0, 0, -20]}\n'
        'segments: [{at: 0, control: {yaw: 0.0}}]',
        'wait',
    )
    run = simulate(vehicle_of('glider'), play, dt=0.1)
    assert np.abs(run.velocity[:, :3]).max() < 1e-3
    assert np.abs(run.actuators['buoyancy_engines'][:, 0]).max() == 0


def test_the_stages_command_volume_and_moments_in_closed_form():
    glider = vehicle_of('glider')
    wrench = np.array([0, 0, -2.0, 0.1, 1.0, 0])
    volume, reached = make_volume_allocation(glider).allocate(wrench, np.zeros(()))
    assert volume == pytest.approx([-2.0 / (DENSITY * GRAVITY)])
    assert reached == pytest.approx([0, 0, -2, 0, 0, 0])
    masses, reached = make_moving_mass_allocation(glider).allocate(wrench, np.zeros(()))
    turn = -0.1 / (BATTERY * OFFSET * GRAVITY)
    assert masses == pytest.approx([1.0 / (BATTERY * GRAVITY), turn], rel=1e-6)
    assert reached == pytest.approx([0, 0, 0, 0.1, 1.0, 0], abs=1e-6)
    # A thruster for heave keeps the engines still.
    thruster = '<thrusters><thruster name="up"><origin xyz="0 0 0"/>'
    thruster += '<linear pos_force="40" neg_force="40" dead_zone="0"/></thruster></thrusters>'
    rov = load_vehicle(glider.urdf.replace('</robot>', f'{thruster}</robot>'))
    assert not make_volume_allocation(rov).axes.any()


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        (
            '<moving_mass joint="battery_turn"/>',
            '<moving_mass joint="battery_slide"/>',
            'different',
        ),
        ('<moving_mass joint="battery_slide"/>', '<moving_mass joint="keel"/>', 'keel'),
    ],
)
def test_moving_masses_on_joints_that_are_not_there_are_refused(old, new, message):
    text = vehicle_of('glider').urdf
    assert old in text
    with pytest.raises(MarineSimError, match=message):
        simulate(load_vehicle(text.replace(old, new)), load_scenario('glide'), dt=0.1)


def test_a_segment_with_set_points_commands_neither_volume_nor_masses():
    for key in ('buoyancy_engines: {bladder: 0.0001}', 'moving_masses: {battery_slide: 0.01}'):
        with pytest.raises(ScenarioError, match='which the controller commands'):
            parse_scenario(f'duration: 1\nsegments: [{{at: 0, control: {{z: -9}}, {key}}}]', 'x')


def test_the_compiled_engine_refuses_the_controller_in_one_line():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    with pytest.raises(MarineSimError, match='no thrusters, and compiles no controller'):
        simulate_compiled(vehicle_of('glider'), load_scenario('glide_cycle'), dt=0.05)


@pytest.mark.ros
def test_a_controlled_cycle_has_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    run_everywhere(
        processes, tmp_path, 'glider', '--scenario', 'glide_cycle', '--duration', 2, '--dt', 0.02
    )


def state_of(yaw, position=(0.0, 0.0, -20.0), speed=0.4):
    orientation = quaternion_from_rpy(0.0, 0.5, yaw)
    return State(np.array(position), orientation, np.array([speed, 0, 0, 0, 0, 0.0]))


@pytest.mark.parametrize(
    ('name', 'axis', 'moment'),
    [
        ('glider', 3, {0.1: 0.2, -0.1: -0.2, 3.0: 1.2, -3.0: 1.2, -2.8: -1.2, np.pi: 1.2}),
        ('slocum', 5, {0.1: 0.2, -0.1: -0.2, 3.0: 1.2, -3.0: 1.2, -2.8: -1.2, np.pi: 1.2}),
    ],
)
def test_a_glide_is_steered_by_roll_or_by_a_rudder(name, axis, moment):
    law = make_law(load_controller('glide'), vehicle_of(name))
    for error, expected in moment.items():
        for yaw in (-2.0, 0.0, 2.5):
            state, other = state_of(yaw), ({3, 5} - {axis}).pop()
            at = state.position + 50.0 * np.array([np.cos(yaw + error), np.sin(yaw + error), 0.0])
            for target in ({'yaw': yaw + error}, {'x': at[0], 'y': at[1]}):
                setpoint = make_setpoints({'z': -40.0, **target})
                wrench, _ = law.wrench(
                    setpoint, state, law.begin(state), unachieved=np.zeros(6), dt=0.1
                )
                assert wrench[axis] == pytest.approx(expected, abs=1e-9)
                assert wrench[other] == 0.0


def test_without_a_depth_or_a_heading_there_is_no_steering():
    law, state = make_law(load_controller('glide'), vehicle_of('glider')), state_of(1.0)
    for target in ({'x': 50.0, 'y': 0.0}, {'z': -40.0}):
        wrench, _ = law.wrench(
            make_setpoints(target), state, law.begin(state), unachieved=np.zeros(6), dt=0.1
        )
        assert wrench[3] == wrench[5] == 0.0


@pytest.mark.long
@pytest.mark.parametrize('name', ['glider', 'slocum'])
def test_a_mission_flies_to_its_waypoints_by_the_cycle(name):
    """300 m ahead, then 300 m to port, between 5 m and 60 m."""
    run = simulate(vehicle_of(name), load_scenario('glide_mission'), dt=0.1)
    time, track, depth = run.stamp / 1e9, run.position[:, :2], -run.position[:, 2]
    first, second = (
        np.linalg.norm(track[part] - point, axis=1)
        for part, point in ((time < 900, [300.0, 0.0]), (time >= 900, [300.0, 300.0]))
    )
    assert first.min() < 2.0
    assert second.min() < 10.0
    assert np.abs(track[time < 600, 1]).max() < 1.0
    # The second leg leads straight to its point once the glider has turned.
    near = int(np.argmin(second))
    leg = track[time >= 900][near - 3000 : near]
    along = leg[-1] - leg[0]
    across = leg - leg[0]
    off = np.abs(along[0] * across[:, 1] - along[1] * across[:, 0]) / np.linalg.norm(along)
    assert off.max() < 12.0
    assert 60.0 < depth[time > 100].max() < 66.0
    assert np.sum(np.diff(np.sign(np.diff(depth[::50]))) != 0) >= 6
