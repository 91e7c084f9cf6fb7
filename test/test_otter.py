# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The Otter beside two foreign programs, run outside the repository, 60 s from rest.

PythonVehicleSimulator c717e073 (Fossen, MIT): ``otter.dynamics``, steps of 0.005 s, with
the payload in trim (``mp = 0`` after the constructor). As it stands the program adds the part of
the payload's weight along the trimmed hull, 6.5 N ahead, and nothing against it.

MSS 736a3d12 (Fossen, MIT) in GNU Octave 7.3: ``otter(x, n, 25, [0.05 0 -0.35]', 0, 0)`` in Euler
steps of 0.005 s, with the propellers' lag of 0.1 s of PythonVehicleSimulator. Since April 2026 it
takes the inertia about the common centre of mass, PythonVehicleSimulator about the origin.
"""

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros import load_vehicle
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
MSS_MASS = (85.282, 162.5, 135.0, 17.657, 32.894, 40.045)
MSS_TURNS = {
    (60, 50): (0.86775, 11.0067),
    (80, 60): (1.40315, 8.5752),
    (80, 40): (1.11642, 5.7546),
}
MSS_COEFFICIENTS = {
    'ixx="16.67892" ixy="0" ixz="-2.51665" iyy="21.5167" iyz="0" izz="15.1021"': (
        'ixx="10.65104" ixy="0" ixz="0.38672" iyy="14.52344" iyz="0" izz="14.13672"'
    ),
    '5.5 82.5 55 3.33578 17.21336 25.67357': '5.282 82.5 55 2.13021 11.61875 24.03242',
    '605.4039 62.06542 266.597 42.65145': '605.4039 52.274 226.72 40.04492',
    '0 0 0 0 0 426.5145': '0 0 0 0 0 400.4492',
}
"""Numbers of urdf/otter.urdf -> those of MSS, whose speeds ahead are the same."""


@pytest.fixture(scope='module')
def as_in_mss():
    """Return the Otter with the coefficients of MSS."""
    text = vehicle_of('otter').urdf
    for ours, theirs in MSS_COEFFICIENTS.items():
        assert ours in text
        text = text.replace(ours, theirs)
    return load_vehicle(text)


def drive(port, starboard, vehicle=None):
    """Return 40 s from rest with constant shaft speeds, rad/s."""
    pulses = [1500 + 400 * FORCE_RATE * n * n / FULL_FORCE for n in (port, starboard)]
    scenario = parse_scenario(
        f'duration: 40\nsegments: [{{at: 0, pwm: [{pulses[0]:.6f}, {pulses[1]:.6f}]}}]', 'drive'
    )
    return simulate(vehicle or vehicle_of('otter'), scenario, dt=0.04)


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
    assert steady_turn(drive(*speeds)) == pytest.approx(FOREIGN_TURNS[speeds], rel=0.005)


@pytest.mark.parametrize('speeds', MSS_TURNS)
def test_a_turn_with_the_coefficients_of_mss_is_that_of_mss(as_in_mss, speeds):
    np.testing.assert_allclose(np.diag(as_in_mss.mass_matrix), MSS_MASS, rtol=1e-4)
    assert steady_turn(drive(*speeds, as_in_mss)) == pytest.approx(MSS_TURNS[speeds], rel=0.005)


def steady_turn(run):
    """Return speed, m/s, and radius, m, of the last 20 s of a turn to starboard."""
    later = slice(500, None)
    yaw = np.unwrap([float(rpy_from_quaternion(q)[2]) for q in run.orientation[later]])
    rate = (yaw[-1] - yaw[0]) / 20
    speed = float(np.mean(np.linalg.norm(run.velocity[later, :2], axis=1)))
    return speed, -speed / rate


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
