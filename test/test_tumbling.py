# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies without forces: what has to stay stays, for ten minutes."""

import numpy as np
import pytest
from energy import kinetic_energy

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.physics.rigid_body import displace_state, rigid_body_step, transport_momentum

pytestmark = pytest.mark.long

STILL = Environment()
SPIN = np.array([0.3, -0.2, 0.1, 0.05, 3.0, 0.05])  # about the middle axis: it tumbles over


def body(added='0 0 0 0 0 0'):
    """Return an asymmetric body, its centre of mass off the origin, with an added mass."""
    return load_vehicle(f"""
    <robot name="body"><hydrodynamics><added_mass>{added}</added_mass></hydrodynamics>
      <link name="base_link"><inertial><origin xyz="0.05 0.02 -0.03"/><mass value="10"/>
        <inertia ixx="0.2" ixy="0.01" ixz="0" iyy="0.4" iyz="0.02" izz="0.5"/></inertial>
      </link></robot>""")


DRY, KIRCHHOFF = body(), body('5 12 15 0.1 0.15 0.1')


def momentum_in_space(vehicle, state):
    """Return momentum (3,) and angular momentum (3,) about the origin of map."""
    linear, angular = np.split(vehicle.mass_matrix @ state.velocity, 2)
    turn = rotation_matrix(state.orientation)
    return turn @ linear, turn @ angular + np.cross(state.position, turn @ linear)


def tumbled(vehicle, seconds, dt, integrator='conserving', velocity=SPIN):
    state = State(np.zeros(3), quaternion_from_rpy(0.3, 0.2, 0.1), velocity)
    while True:
        yield state
        if seconds <= 0:
            return
        state = rigid_body_step(
            vehicle, state, STILL, np.zeros(6), dt, integrator=integrator, implicit_drag=False
        )
        seconds -= dt


@pytest.mark.parametrize('vehicle', [DRY, KIRCHHOFF], ids=['dry', 'added mass'])
def test_ten_minutes_keep_energy_and_momentum(vehicle):
    first, *_, last = tumbled(vehicle, 600.0, 0.15, velocity=SPIN / 2)
    assert kinetic_energy(vehicle, last) == pytest.approx(kinetic_energy(vehicle, first), rel=1e-9)
    for before, after in zip(
        momentum_in_space(vehicle, first), momentum_in_space(vehicle, last), strict=True
    ):
        size = np.linalg.norm(before) * (1 + np.linalg.norm(last.position))
        assert after == pytest.approx(before, abs=1e-9 * size)


def test_the_explicit_term_gains_energy_where_the_other_keeps_it():
    kept, gained = (
        kinetic_energy(DRY, list(tumbled(DRY, 10.0, 0.005, integrator))[-1])
        / kinetic_energy(DRY, next(tumbled(DRY, 0.0, 0.005)))
        for integrator in ('conserving', 'semi_implicit')
    )
    assert kept == pytest.approx(1.0, rel=1e-11)
    assert gained > 1.01


@pytest.mark.parametrize('vehicle', [DRY, KIRCHHOFF], ids=['dry', 'added mass'])
def test_it_is_of_second_order_without_forces(vehicle):
    def end(dt, integrator='conserving'):
        *_, last = tumbled(vehicle, 2.0 - dt / 2, dt, integrator)
        return np.concatenate(last)

    exact = end(0.0025, 'rk4')
    coarse, fine = (np.abs(end(dt) - exact).max() for dt in (0.02, 0.01))
    assert 3.5 < coarse / fine < 4.5


def test_a_body_that_drifts_with_the_water_feels_nothing():
    moving = Environment(current=(0.3, -0.2, 0.1))
    velocity = np.array([0.3, -0.2, 0.1, 0.0, 0.0, 0.0])
    state = state_at_rest()._replace(velocity=velocity)
    after = rigid_body_step(KIRCHHOFF, state, moving, np.zeros(6), 0.1, integrator='conserving')
    assert after.velocity == pytest.approx(velocity, abs=1e-14)


def test_carried_momentum_stays_in_space():
    twist, momentum = np.array([0.3, -0.2, 0.5, 0.4, 1.1, -0.7]), np.arange(1.0, 7.0)
    there = displace_state(state_at_rest(), twist, np.zeros(6))
    turn = rotation_matrix(there.orientation)
    p, h = np.split(transport_momentum(momentum, twist), 2)
    assert turn @ p == pytest.approx(momentum[:3], abs=1e-14)
    assert turn @ h + np.cross(there.position, turn @ p) == pytest.approx(momentum[3:], abs=1e-14)
    assert twist @ (transport_momentum(momentum, twist) - momentum) == pytest.approx(
        0.0, abs=1e-14
    )
    # A screw displaces as many small ones do, near the series' end as well.
    for size in (1e-9, 1e-3, 0.099, 0.101, 1.0, 6.0):
        whole = displace_state(state_at_rest(), size * twist, np.zeros(6))
        parts = state_at_rest()
        for _ in range(64):
            parts = displace_state(parts, size * twist / 64, np.zeros(6))
        assert parts.position == pytest.approx(whole.position, abs=1e-13 * max(size, 1.0))


def test_forces_and_drag_act_as_in_the_semi_implicit_step():
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    wrench = np.array([30.0, 10.0, -20.0, 1.0, 2.0, -1.0])
    for implicit in (True, False):
        ends = [
            rigid_body_step(
                vehicle,
                state_at_rest(),
                STILL,
                wrench,
                0.005,
                integrator=i,
                implicit_drag=implicit,
            )
            for i in ('semi_implicit', 'conserving')
        ]
        assert ends[1].velocity == pytest.approx(ends[0].velocity, rel=1e-12)
        assert ends[1].position == pytest.approx(ends[0].position, abs=1e-8)
