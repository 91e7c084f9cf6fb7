# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The Investigator-90 against the thesis's printed numbers, corrected where they slip."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import Environment
from marine_sim_ros.control.allocator import Allocator
from marine_sim_ros.control.controllability import controllability, thrust_matrix
from marine_sim_ros.core.spatial import (
    projected_yaw,
    quaternion_from_rpy,
    quaternion_product,
    rotation_matrix,
    rpy_from_quaternion,
)
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.sim.simulation import Simulation

ROV = vehicle_of('investigator90', arm='false')
STILL = Environment()
DEEP = state_at_rest((0, 0, -20))
CENTERED = np.array([0.0, 0.0, -0.085])  # where table 4-1 holds
MIDDLE = {  # FLU wrench about that point of the rows of table 4-1
    'heave': ((1, 1, 0, 0, 0, 0), 2, -1.932),
    'surge': ((0, 0, 1, 1, 1, 1), 0, 3.464),
    'sway': ((0, 0, -1, 1, 1, -1), 1, 2.0),
    'yaw': ((0, 0, 1, -1, 1, -1), 5, -0.0572),
    'roll': ((1, -1, 0, 0, 0, 0), 3, 0.260),
}
PSEUDO_INVERSE = {  # table 7-1, about the printed centre of mass
    0: (-0.00008, -0.00007, 0.24148, 0.33588, 0.24148, 0.33588),
    1: (0.01577, -0.01577, 0.11771, -0.11771, 1.10957, -1.10957),
    2: (-0.52733, -0.50659, -0.00264, 0.00272, 0.00271, -0.00263),
    3: (3.84645, -3.84645, 0.99238, -0.99238, -0.99238, 0.99238),
    5: (0, 0, -17.4825, 17.4825, -17.4825, 17.4825),
}


def printed_matrix(about):
    """With the directions as they are printed, which are a little off unit length."""
    directions = np.array(
        [
            (0, 0.258, -0.966),
            (0, -0.258, -0.966),
            (0.866, -0.5, 0),
            (0.866, 0.5, 0),
            (0.866, 0.5, 0),
            (0.866, -0.5, 0),
        ]
    )
    lengths = np.linalg.norm(directions, axis=1)
    return thrust_matrix(ROV.thrusters, about) * lengths


def test_mass_and_buoyancy_are_the_printed_ones():
    body = ROV.inertia
    assert body.mass == 114.46
    assert body.center_of_mass == pytest.approx([-0.0351, -0.0027, -0.0891])
    assert np.linalg.eigvalsh(body.tensor) == pytest.approx([1.972, 14.536, 15.472], abs=1e-3)
    offset = ROV.buoyancy.center_of_volume - body.center_of_mass
    assert offset == pytest.approx([0.0125, -0.0042, 0.1093])
    net = buoyancy(ROV, DEEP, STILL)[2] - 114.46 * 9.8
    assert net == pytest.approx(214.277, abs=5e-4)
    fresh = buoyancy(ROV, DEEP, Environment(water_density=1000))[2] - 114.46 * 9.8
    assert fresh == pytest.approx(181.692, abs=5e-4)
    diagonal = vehicle_of('investigator90', arm='false', inertia='diagonal').inertia
    assert np.linalg.eigvalsh(diagonal.tensor) == pytest.approx([6.46, 12.04, 13.48])


def test_ballast_makes_it_neutral():
    trimmed = vehicle_of('investigator90', arm='false', ballast='21.865')
    net = buoyancy(trimmed, DEEP, STILL)[2] - trimmed.inertia.mass * 9.8
    assert net == pytest.approx(0, abs=0.01)


def test_drag_is_the_thesis_law():
    rng = np.random.default_rng(0)
    areas = np.array([0.3332, 0.5390, 0.7480])
    body = ROV.damping.center
    for _ in range(10):
        v = rng.normal(0, 1, 3)
        force = drag(ROV, DEEP._replace(velocity=np.r_[v, 0, 0, 0]), STILL)
        expected = -0.5 * 1025 * 1.05 * (areas @ np.abs(v)) * v
        assert force[:3] == pytest.approx(expected)
        assert force[3:] == pytest.approx(np.cross(body, expected))
    for axis, coefficient in enumerate((40.172, 139.211, 110.609)):
        turn = np.zeros(6)
        turn[3 + axis] = 0.7
        still_center = turn.copy()
        still_center[:3] = -np.cross(turn[3:], body)
        torque = drag(ROV, DEEP._replace(velocity=still_center), STILL)[3 + axis]
        assert torque == pytest.approx(-coefficient * 0.49, rel=1e-6)


def test_six_faces_give_the_rotational_coefficients():
    points = np.array([[0.55, 0, 0], [0, 0.34, 0], [0, 0, 0.245]])
    k = 0.5 * 1025 * 1.05 * np.array([0.3332, 0.5390, 0.7480])
    for axis, coefficient in enumerate((40.172, 139.211, 110.609)):
        omega = np.eye(3)[axis]
        torque = 0
        for p in (*points, *-points):
            v = np.cross(omega, p)
            torque = torque + np.cross(p, -(k @ np.abs(v)) * v)
        assert -torque[axis] == pytest.approx(coefficient, abs=5e-3)


@pytest.mark.parametrize('name', MIDDLE)
def test_table_4_1(name):
    thrusts, axis, size = MIDDLE[name]
    wrench = printed_matrix(CENTERED) @ np.array(thrusts)
    assert wrench[axis] == pytest.approx(size, abs=6e-5)


def test_table_7_1():
    inverse = np.linalg.pinv(printed_matrix(ROV.inertia.center_of_mass), rcond=1e-9)
    for axis, expected in PSEUDO_INVERSE.items():
        assert inverse[:, axis] == pytest.approx(expected, abs=6e-4 * max(map(abs, expected)))


def test_the_allocator_s_pseudo_inverse_is_table_7_1():
    allocator = Allocator(
        ROV.thrusters, ROV.inertia.center_of_mass, method='pseudo_inverse', damping=1e-7
    )
    for axis, expected in PSEUDO_INVERSE.items():
        thrust = allocator.distribute(np.eye(6)[axis]).thrust
        assert thrust == pytest.approx(expected, abs=6e-4 * max(map(abs, expected)))


@given(st.tuples(*[st.floats(-0.5, 0.5)] * 3))
def test_pitch_cannot_be_commanded_wherever_the_centre_of_mass_is(center):
    found = controllability(ROV.thrusters, np.array(center))
    assert found.rank == 5


@pytest.mark.long
def test_what_the_thrusters_controllability():
    found = controllability(ROV.thrusters, ROV.inertia.center_of_mass)
    assert found.unreachable == ('pitch',)
    heavy = vehicle_of('bluerov2_heavy')
    assert controllability(heavy.thrusters, heavy.inertia.center_of_mass).unreachable == ()
    assert controllability(heavy.thrusters, heavy.inertia.center_of_mass).rank == 6
    assert 'pitch' in controllability(vehicle_of('bluerov2').thrusters, np.zeros(3)).unreachable
    assert controllability(vehicle_of('simple_rov').thrusters, np.zeros(3)).rank == 5


def test_free_trim():
    neutral = Environment(water_density=114.46 / 0.133)
    calm = replace(ROV, damping=replace(ROV.damping, linear=30 * np.eye(6)))  # to settle sooner
    simulation = Simulation(calm, initial=DEEP, environment=neutral, dt=0.01)
    for _ in range(8_000):
        simulation.tick(np.full(6, 1500.0))
    roll, pitch, _ = np.degrees(rpy_from_quaternion(simulation.state.orientation))
    assert pitch == pytest.approx(-6.52, abs=5e-3)
    assert roll == pytest.approx(-2.20, abs=5e-3)


def test_compass_yaw_is_the_last_angle():
    def about(axis, angle):
        return quaternion_from_rpy(*(angle * np.eye(3)[axis]))

    q = quaternion_product(quaternion_product(about(1, 0.3), about(0, 0.2)), about(2, 0.7))
    assert float(projected_yaw(q)) == pytest.approx(0.7)
    assert float(projected_yaw(quaternion_from_rpy(0.2, 0.3, 0.7))) == pytest.approx(
        0.663419, abs=5e-7
    )
    level = quaternion_from_rpy(0, 0, -2.5)
    assert float(projected_yaw(level)) == pytest.approx(-2.5)
    many = np.stack([q, level])
    assert projected_yaw(many) == pytest.approx([0.7, -2.5])
    assert rotation_matrix(q).shape == (3, 3)


def test_it_dives_with_its_verticals():
    simulation = Simulation(
        ROV, initial=State(np.array([0, 0, -1.0]), DEEP.orientation, np.zeros(6))
    )
    for _ in range(1000):
        simulation.tick(np.array([1900.0, 1900, 1500, 1500, 1500, 1500]))
    assert simulation.state.position[2] < -1.5
