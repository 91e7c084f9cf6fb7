# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The work-class ROV against the allocation matrix of its source and closed forms."""

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.sim.scenario import parse_scenario
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


@pytest.mark.ros
def test_a_run_has_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    run_everywhere(
        processes, tmp_path, 'work_class', '--scenario', 'position_hold', '--duration', 2,
        '--dt', 0.02,
    )  # fmt: skip
