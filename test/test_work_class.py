# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The work-class ROV against the allocation matrix of its source, closed forms, and its arm."""

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.validation.propulsion import held_speed

ALLOCATION = [
    [0.15974269, 0.15974269, -0.15974243, -0.15974243, 0.70710686, 0.70710686, -0.70710654,
     -0.70710654],
    [-0.21361012, 0.21361012, -0.21360977, 0.21360977, 0.7071067, -0.7071067, 0.70710702,
     -0.70710702],
    [0.9637702, 0.9637702, 0.96377032, 0.96377032, 0, 0, 0, 0],
    [0.43523203, -0.43523203, 0.43523188, -0.43523188, -0.09121676, 0.09121676, -0.09121681,
     0.09121681],
    [0.9430935, 0.9430935, -0.94309347, -0.94309347, 0.09121679, 0.09121679, -0.09121674,
     -0.09121674],
    [0.13688862, -0.13688862, -0.1368884, 0.1368884, -0.64879876, 0.64879876, 0.64879873,
     -0.64879873],
]  # fmt: skip
"""TAM.yaml of RexROV, uuv_thruster_manager of uuvsimulator/uuv_simulator bfb40cb1."""


def test_the_thrusters_act_as_the_source_says():
    found = vehicle_of('work_class').thrusters.effectiveness
    np.testing.assert_allclose(found, ALLOCATION, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ('axis', 'linear', 'quadratic'),
    [('surge', 74.82, 748.22), ('sway', 69.48, 992.53), ('yaw', 105.0, 523.27)],
)
def test_top_speeds_are_those_of_thrust_and_drag(axis, linear, quadratic):
    vehicle = vehicle_of('work_class')
    row = {'surge': 0, 'sway': 1, 'yaw': 5}[axis]
    inverse = np.linalg.pinv(np.array(ALLOCATION))[:, row]
    thrust = 2000 * (np.array(ALLOCATION) @ (inverse / np.abs(inverse).max()))[row]
    wanted = (-linear + np.sqrt(linear**2 + 4 * quadratic * thrust)) / (2 * quadratic)
    assert held_speed(vehicle, axis, 1.0) == pytest.approx(wanted, rel=5e-3)  # whole µs


def test_the_controller_takes_it_to_a_pose():
    play = parse_scenario(
        'duration: 40\ninitial: {position: [0, 0, -20]}\nsegments: [{at: 0, control: '
        '{x: 5.0, y: -3.0, z: -22.0, roll: 0.0, pitch: 0.0, yaw: 1.0}}]',
        'pose',
    )
    run = simulate(vehicle_of('work_class'), play, dt=0.04)
    np.testing.assert_allclose(run.position[-1], [5, -3, -22], atol=0.02)
    np.testing.assert_allclose(rpy_from_quaternion(run.orientation[-1]), [0, 0, 1], atol=0.01)


ARM = {'arm': 'true'}
G, SEA = 9.80665, 1028.0
BASE = np.array([1.30, -0.35, -0.55])
"""Of the arm, in the body frame, m."""


def loads_at_full_extension(arm, payload):
    """Return the torque (n,) that weights ahead need at level joints, payload in kg, N m."""
    forces = G * (arm.mass - SEA * arm.volume)
    x = np.cumsum(arm.translation[:, 0]) - arm.translation[0, 0]  # of the joints
    jaws = x[-1] + 0.068
    at = x + arm.center_of_mass[:, 0]
    own = [np.sum((forces * (at - lever))[i:]) for i, lever in enumerate(x)]
    return np.array(own) + G * payload * (jaws - x)


def test_the_arm_reaches_and_lifts_what_its_source_prints():
    vehicle = vehicle_of('work_class', **ARM)
    arm = vehicle.manipulator
    assert arm.names == ('azimuth', 'shoulder', 'elbow', 'roll', 'pitch', 'wrist')
    np.testing.assert_allclose(arm.translation[0], BASE)
    gripper = vehicle.extensions['gripper']
    reach = np.sum(arm.translation[1:, 0]) + gripper.position[0]
    assert reach == pytest.approx(1.532, abs=1e-9)
    assert arm.joint_dynamics.effort[-1] == pytest.approx(205, rel=0.01)
    free = arm.joint_dynamics.effort - arm.joint_dynamics.friction
    level = arm.axis[:, 1] == 1  # joints that bear the weight
    spare = (free - loads_at_full_extension(arm, 0.0))[level]
    lever = loads_at_full_extension(arm, 1.0)[level] - loads_at_full_extension(arm, 0.0)[level]
    assert (spare / lever).min() == pytest.approx(68, rel=0.01)
    assert arm.mass.sum() + 9.67 == pytest.approx(58.6, abs=0.1)


@pytest.mark.long
@pytest.mark.parametrize(
    ('payload', 'pressure', 'rises'), [(60, '', True), (76, '', False), (60, '10e6', False)]
)
def test_a_payload_rises_if_the_pressure_suffices(payload, pressure, rises):
    """The vehicle is held, and the shoulder commanded up by 0.2 rad, the arm stretched out."""
    more = {'supply_pressure': pressure} if pressure else {}
    text = vehicle_of('work_class', **ARM, **more).urdf
    vehicle = load_vehicle(text.replace('"articulated"', '"articulated" base="fixed"'))
    water = parse_environment(
        'water: {kind: sea}\npayloads: [{name: load, shape: box, size: [0.05, 0.05, 0.05], '
        f'position: [2.832, -0.35, -50.55], mass: {payload}}}]',
        'load',
    )
    play = parse_scenario(
        'duration: 4\ninitial: {position: [0, 0, -50]}\nsegments: [{at: 0, gripper: close, '
        'joints: {shoulder: -0.2}}]',
        'rise',
    )
    run = simulate(vehicle, play, environment=water, dt=0.01)
    assert run.actuators['gripper'][-1] == 1
    shoulder = run.actuators['joints'][:, 1]
    assert (shoulder[-1] < -0.1) == rises  # negative is up
    rates = np.abs(np.diff(run.actuators['joints'], axis=0)) / 0.01
    assert (rates.max(axis=0) < vehicle.manipulator.max_rate + 0.02).all() or not rises


@pytest.mark.long
def test_it_lifts_a_block_from_the_sand():
    play, water = load_scenario('lift_block'), load_environment('block_on_sand')
    run = simulate(vehicle_of('work_class', **ARM), play, environment=water, dt=0.02)
    assert all(ok for ok, _ in play.verdicts(run.time, run.z))
    held = run.actuators['gripper'][:, 0]
    assert held[run.time < 31.9].max() == 0
    assert held[run.time > 32.1].min() == 1


@pytest.mark.long
def test_the_compiled_arm_moves_alike():
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.compiled import simulate_compiled

    play = parse_scenario(
        'duration: 1\ninitial: {position: [0, 0, -20]}\nsegments: [{at: 0, axes: {surge: 0.3}, '
        'joints: {azimuth: 0.1, shoulder: -0.3, elbow: 0.5, wrist: 0.4}}]',
        'move',
    )
    vehicle = vehicle_of('work_class', **ARM)
    expected = simulate(vehicle, play, dt=0.01)
    found, _ = simulate_compiled(vehicle, play, dt=0.01)
    for name in ('position', 'orientation', 'velocity'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=1e-9
        )
    joints = found.actuators['joints'] - expected.actuators['joints']
    assert np.abs(joints).max() < 1e-9
    with pytest.raises(ScenarioError, match='compiled engine has no gripper'):
        simulate_compiled(vehicle, load_scenario('lift_block'), dt=0.02)


@pytest.mark.ros
def test_a_run_with_the_arm_has_one_hash(processes, tmp_path):
    run_everywhere(
        processes, tmp_path, 'work_class', '--set', 'arm:=true', '--environment',
        'block_on_sand', '--scenario', 'lift_block', '--duration', 2, '--dt', 0.02,
    )  # fmt: skip


@pytest.mark.ros
def test_a_run_has_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    run_everywhere(
        processes, tmp_path, 'work_class', '--scenario', 'position_hold', '--duration', 2,
        '--dt', 0.02,
    )  # fmt: skip
