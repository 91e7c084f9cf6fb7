# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steering by heading of vehicles without sway: the law in closed form, and legs in a current."""

import math

import numpy as np
import pytest
from graph import run_everywhere

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.control.line_of_sight import LineOfSight, make_line_of_sight
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.sim.scenario import parse_scenario

CURRENT = parse_environment('current: {velocity: [0.0, 0.3, 0.0]}', 'current')


def setpoints(**numbers):
    names = ('x', 'y', 'z', 'roll', 'pitch', 'yaw', 'surge')
    return np.array([*(numbers.get(name, math.nan) for name in names), *[math.nan] * 5])


def sailing(position, yaw, velocity):
    return State(
        np.array(position, float),
        quaternion_from_rpy(0.0, 0.0, yaw),
        np.array([*velocity, 0, 0, 0], float),
    )


@pytest.mark.parametrize('yaw', [0.0, 0.7, -2.9])
@pytest.mark.parametrize('slip', [0.0, 0.25])
def test_the_course_leads_to_the_point(yaw, slip):
    state = sailing([2.0, -1.0, -5.0], yaw, [1.0, slip, 0.0])
    found = LineOfSight().guide(setpoints(x=8.0, y=7.0, z=-6.0), state)
    # Heading and slip add up to the direction of the point.
    course = found[5] + math.atan2(slip, 1.0)
    assert math.sin(course - math.atan2(8.0, 6.0)) == pytest.approx(0.0, abs=1e-12)
    assert math.cos(course - math.atan2(8.0, 6.0)) > 0
    assert np.isnan(found[[0, 1]]).all()
    assert found[2] == -6.0
    # 10 m ahead: 1 m/s, and less while it turns.
    assert found[6] == pytest.approx(max(math.cos(found[5] - yaw), 0.0))


def test_speed_falls_with_the_distance_and_a_set_point_of_it_is_kept():
    state = sailing([0.0, 0.0, 0.0], 0.0, [0.0, 0.0, 0.0])
    assert LineOfSight().guide(setpoints(x=2.0, y=0.0), state)[6] == pytest.approx(0.4)
    assert LineOfSight().guide(setpoints(x=2.0, y=0.0, surge=1.7), state)[6] == 1.7


@pytest.mark.parametrize(
    'given', [{'x': 0.5, 'y': -0.5, 'yaw': 1.0}, {'x': 9.0}, {'yaw': 1.0, 'surge': 1.0, 'z': -3.0}]
)
def test_near_the_point_and_without_one_set_points_pass(given):
    state = sailing([0.0, 0.0, 0.0], 0.3, [1.0, 0.2, 0.0])
    np.testing.assert_array_equal(
        LineOfSight().guide(setpoints(**given), state), setpoints(**given)
    )


@pytest.mark.parametrize(
    ('name', 'steers'),
    [('otter', True), ('remus100', True), ('bluerov2', False), ('glider', False)],
)
def test_only_vehicles_with_yaw_and_without_sway_are_steered(name, steers):
    assert (make_line_of_sight(load_vehicle(name)) is not None) == steers


LEGS = """
duration: {end}
initial: {{position: [0, 0, {z}]}}
segments:
  - {{at: 0.0, control: {{x: {x}, y: 0{more}}}}}
  - {{at: {turn}, control: {{x: {x}, y: {y}{more}}}}}
"""


def test_a_boat_passes_its_waypoints_in_a_current_across_its_way():
    text = LEGS.format(x=12, y=10, end=48, turn=22, z=0, more='')
    legs = parse_scenario(text, 'legs')
    run = simulate(load_vehicle('otter'), legs, environment=CURRENT, dt=0.1)
    place, time = run.states.position[:, :2], run.time
    assert np.hypot(*(place[time <= 22] - [12, 0]).T).min() < 1.0
    assert np.abs(place[(time > 10) & (time < 22), 1]).max() < 0.7  # the current drifts it 3.6 m
    assert np.hypot(*(place[-1] - [12, 10])) < 1.5


def test_an_auv_with_fins_passes_its_waypoints_at_its_depth():
    text = LEGS.format(x=30, y=25, end=42, turn=20, z=-10, more=', z: -10, surge: 1.5')
    run = simulate(
        load_vehicle('torpedo_auv'), parse_scenario(text, 'legs'), environment=CURRENT, dt=0.05
    )
    place, time = run.states.position, run.time
    for goal, window in (((30, 0), time < 25), ((30, 25), time > 20)):
        assert np.hypot(*(place[window, :2] - goal).T).min() < 1.0
    assert np.abs(place[:, 2] + 10).max() < 0.6  # the turn of 90° at its full rudder


@pytest.mark.long
def test_the_compiled_engine_has_the_same_run():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    scenario, vehicle = (
        parse_scenario(LEGS.format(x=30, y=25, end=6, turn=3, z=0, more=''), 'legs'),
        load_vehicle('otter'),
    )
    run = simulate(vehicle, scenario, environment=CURRENT, dt=0.02)
    found, _ = simulate_compiled(vehicle, scenario, environment=CURRENT, dt=0.02)
    np.testing.assert_allclose(found.position, run.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.velocity, run.velocity, rtol=0, atol=1e-9)


@pytest.mark.ros
def test_legs_have_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    (tmp_path / 'legs.yaml').write_text(LEGS.format(x=30, y=25, end=3, turn=1.5, z=0, more=''))
    run_everywhere(processes, tmp_path, 'otter', '--scenario', tmp_path / 'legs.yaml')


@pytest.mark.parametrize('name', ['lrauv', 'remus100'])
def test_a_vehicle_that_turns_by_fins_alone_turns_to_a_point_astern(name):
    """It would stop, and have no rudder, while the point is astern."""
    law = make_line_of_sight(load_vehicle(name))
    state = sailing([30.0, 0.0, -12.0], 0.0, [0.3, 0.0, 0.0])
    assert law.guide(setpoints(x=0.0, y=1.0, z=-12.0), state)[6] == 0.5
    assert make_line_of_sight(load_vehicle('otter')).guide(
        setpoints(x=0.0, y=1.0), state)[6] == 0.0  # fmt: skip


def test_an_lrauv_flies_to_a_point_behind_it():
    legs = parse_scenario(
        'duration: 120\ninitial: {position: [0, 0, -12]}\nsegments:\n'
        '  - {at: 0, control: {x: -30.0, y: 0.0, z: -12.0}}', 'legs',
    )  # fmt: skip
    run = simulate(load_vehicle('lrauv'), legs, dt=0.1)
    assert np.linalg.norm(run.position[:, :2] - [-30.0, 0.0], axis=1).min() < 1.0
