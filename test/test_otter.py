# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The Otter beside a foreign program, run outside the repository.

PythonVehicleSimulator c717e073 (Fossen, MIT): ``otter.dynamics`` from rest, steps of 0.005 s, with
the payload in trim (``mp = 0`` after the constructor). As it stands the program adds the part of
the payload's weight along the trimmed hull, 6.5 N ahead, and nothing against it.
"""

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros.core.spatial import quaternion_from_rpy, rpy_from_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

FORCE_RATE, FULL_FORCE = 0.02216 / 2, 0.5 * 24.4 * 9.81
"""N s²/rad² of one propeller ahead, and N at full speed."""
FOREIGN_MASS = (85.5, 162.5, 135.0, 24.89048, 45.48162, 42.65145)
FOREIGN_SPEEDS = {30: 0.25716, 60: 1.02865}
"""Shaft speed of both propellers, rad/s -> speed after 60 s, m/s."""
FOREIGN_TURNS = {
    (60, 50): (0.86804, 11.5167),
    (80, 60): (1.40484, 8.9361),
    (80, 40): (1.11794, 5.9718),
}
"""Shaft speeds, port and starboard, rad/s -> speed, m/s, and radius, m, of a steady turn."""


def drive(port, starboard):
    """Return 40 s from rest with constant shaft speeds, rad/s."""
    pulses = [1500 + 400 * FORCE_RATE * n * n / FULL_FORCE for n in (port, starboard)]
    scenario = parse_scenario(
        f'duration: 40\nsegments: [{{at: 0, pwm: [{pulses[0]:.6f}, {pulses[1]:.6f}]}}]', 'drive'
    )
    return simulate(vehicle_of('otter'), scenario, dt=0.04)


def test_the_mass_matrix_is_that_of_the_foreign_program():
    mass = vehicle_of('otter').mass_matrix
    np.testing.assert_allclose(np.diag(mass), FOREIGN_MASS, rtol=1e-5)
    # Its coupling by the centre of mass, z downwards there: m z_g, m x_g, I_xz − m x_g z_g.
    found = mass[0, 4], mass[1, 5], mass[3, 5]
    np.testing.assert_allclose(found, [19.75, 12.25, -5.54086], rtol=1e-4)


@pytest.mark.parametrize('speed', FOREIGN_SPEEDS)
def test_speed_ahead_is_that_of_the_foreign_program(speed):
    run = drive(speed, speed)
    assert run.velocity[-1, 0] == pytest.approx(FOREIGN_SPEEDS[speed], rel=0.002)
    assert abs(run.velocity[-1, 5]) < 1e-6


@pytest.mark.parametrize('speeds', FOREIGN_TURNS)
def test_a_turn_is_that_of_the_foreign_program(speeds):
    speed, radius = FOREIGN_TURNS[speeds]
    run = drive(*speeds)
    later = slice(500, None)
    yaw = np.unwrap([float(rpy_from_quaternion(q)[2]) for q in run.orientation[later]])
    rate = (yaw[-1] - yaw[0]) / 20
    found = float(np.mean(np.linalg.norm(run.velocity[later, :2], axis=1)))
    assert rate < 0  # more to port: to starboard
    assert found == pytest.approx(speed, rel=0.005)
    assert found / -rate == pytest.approx(radius, rel=0.005)


def test_it_rights_itself_as_in_the_foreign_program():
    vehicle, environment = vehicle_of('otter'), Environment(gravity=9.81, water_density=1025.0)

    def righting(height=0.0, roll=0.0, pitch=0.0):
        turn = quaternion_from_rpy(roll, pitch, 0.0)
        state = State(np.array([0.0, 0.0, height]), turn, np.zeros(6))
        return buoyancy(vehicle, state, environment)

    np.testing.assert_allclose(righting()[[2, 3]], [80 * 9.81, 0.0], rtol=1e-3, atol=1e-9)
    # G of the program, in pitch about its centre of flotation; here that lies 0.153 m ahead.
    heave, roll, pitch = 7541.44, 967.266, 2743.37 - 0.2**2 * 7541.44
    assert righting(height=-0.01)[2] - righting()[2] == pytest.approx(0.01 * heave, rel=0.01)
    assert -righting(roll=0.01)[3] - _weight_moment(0.01) == pytest.approx(0.01 * roll, rel=0.02)
    ahead = righting()[4] - righting(pitch=0.01)[4] - 0.01 * 0.153125**2 * heave
    assert ahead - _weight_moment(0.01) == pytest.approx(0.01 * pitch, rel=0.02)


def _weight_moment(angle):
    """Return the moment by which a weight above the waterline heels the boat on, N m."""
    return 80 * 9.81 * 0.246875 * np.sin(angle)


@pytest.mark.ros
def test_a_run_has_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    run_everywhere(
        processes,
        tmp_path,
        'otter',
        '--scenario',
        'figure_of_eight',
        '--duration',
        2,
        '--dt',
        0.02,
    )
