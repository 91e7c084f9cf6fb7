# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed forms and conservation laws."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import MODELS, model_name, vehicle_of
from energy import kinetic_energy

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.control.stick_mixing import PilotMixer
from marine_sim_ros.core.spatial import momentum_rate, quaternion_from_rpy, skew, transport
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.model.vehicle import Barometer
from marine_sim_ros.physics import FORCES, acting_forces
from marine_sim_ros.physics.buoyancy import buoyancy, near_surface_fraction
from marine_sim_ros.physics.drag import damping_matrix, drag
from marine_sim_ros.physics.rigid_body import (
    implicit_velocity_change,
    net_wrench,
    rigid_body_step,
    rk4,
    weight,
)
from marine_sim_ros.sensors.barometer import barometer
from marine_sim_ros.sim.scenario import Scenario, Segment
from marine_sim_ros.sim.simulation import Simulation

STILL = Environment()
RHO, G = 1000.0, 9.8


def sphere(radius=0.1, mass=8.0, cd=0.47):
    """A sphere with its theoretical added mass, half that of the water it displaces."""
    volume = 4 / 3 * np.pi * radius**3
    area = np.pi * radius**2
    inertia = 0.4 * mass * radius**2
    return load_vehicle(f"""
    <robot name="sphere">
      <link name="base_link"><inertial><mass value="{mass}"/>
        <inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/>
      </inertial></link>
      <buoyancy><volume>{volume}</volume><height>{2 * radius}</height></buoyancy>
      <hydrodynamics><water_density>{RHO}</water_density>
        <added_mass>{' '.join([str(0.5 * RHO * volume)] * 3)} 0 0 0</added_mass>
        <quadratic_damping>{' '.join([str(0.5 * RHO * area * cd)] * 3)} 0 0 0</quadratic_damping>
      </hydrodynamics>
    </robot>""")


def no_thrust(vehicle):
    return np.full(len(vehicle.thrusters), 1500.0)


@pytest.mark.long
def test_sphere_starts_and_ends_as_theory_says():
    vehicle = sphere()
    volume = vehicle.buoyancy.volume
    net = (RHO * volume - 8.0) * G
    simulation = Simulation(vehicle, initial=state_at_rest((0, 0, -1000)), dt=0.001)
    simulation.tick(no_thrust(vehicle))
    expected = net / (8.0 + 0.5 * RHO * volume)
    assert simulation.state.velocity[2] / 0.001 == pytest.approx(expected, rel=1e-9)
    for _ in range(20000):
        simulation.tick(no_thrust(vehicle))
    terminal = -np.sqrt(abs(net) / vehicle.damping.quadratic[2, 2])
    assert simulation.state.velocity[2] == pytest.approx(terminal, rel=1e-6)


@pytest.mark.long
def test_free_roll_period():
    vehicle = vehicle_of('bluerov2', coefficients='wu2018')
    quiet = replace(
        vehicle,
        damping=replace(vehicle.damping, linear=np.zeros((6, 6)), quadratic=np.zeros((6, 6))),
    )
    displaced = quiet.inertia.mass / quiet.buoyancy.fluid_density
    quiet = replace(quiet, buoyancy=replace(quiet.buoyancy, volume=displaced))
    angle = 0.01
    start = State(np.array([0, 0, -5.0]), quaternion_from_rpy(angle, 0, 0), np.zeros(6))
    simulation = Simulation(quiet, initial=start, dt=0.001)
    rolls, previous = [], angle
    for i in range(30000):
        simulation.tick(no_thrust(quiet))
        roll = 2 * simulation.state.orientation[0]
        if previous < 0 <= roll:
            rolls.append((i + roll / (previous - roll)) * 0.001)
        previous = roll
    period = np.mean(np.diff(rolls))
    # Small roll couples to sway through the centre of mass below: eliminate sway and yaw.
    m = quiet.mass_matrix
    effective = m[3, 3] - m[3, 1] * m[1, 3] / m[1, 1]
    restoring = quiet.inertia.mass * G * 0.02
    assert period == pytest.approx(2 * np.pi * np.sqrt(effective / restoring), rel=1e-3)


@pytest.mark.long
def test_energy_never_rises_without_thrust(vehicle):
    rng = np.random.default_rng(0)
    start = State(np.array([0, 0, -999.0]), quaternion_from_rpy(0.5, -0.4, 1), rng.normal(0, 1, 6))
    simulation = Simulation(vehicle, initial=start)
    hull, body = vehicle.buoyancy, vehicle.inertia

    def energy(state):
        from marine_sim_ros.core.spatial import rotation_matrix

        r = rotation_matrix(state.orientation)
        up = G * body.mass * (state.position + r @ body.center_of_mass)[2]
        lift = (
            G * hull.fluid_density * hull.volume * (state.position + r @ hull.center_of_volume)[2]
        )
        return kinetic_energy(vehicle, state) + up - lift

    values = []
    for _ in range(2000):
        values.append(energy(simulation.state))
        simulation.tick(no_thrust(vehicle))
    values = np.array(values)
    # Symplectic Euler lets the sum waver by O(dt); it never gains beyond that.
    assert values[-1] < values[0]
    assert np.all(values <= np.minimum.accumulate(values) + 2e-3 * (values[0] - values[-1]))


def test_kinetic_energy_is_kept_by_coriolis_forces(vehicle):
    rng = np.random.default_rng(2)
    for _ in range(20):
        nu = rng.normal(0, 2, 6)
        assert nu @ momentum_rate(nu, vehicle.mass_matrix @ nu) == pytest.approx(0, abs=1e-9)


def test_coriolis_is_fossens_matrix(vehicle):
    rng = np.random.default_rng(3)
    for matrix in (vehicle.rigid_body_mass, vehicle.added_mass):
        nu = rng.normal(0, 1, 6)
        a = matrix @ nu
        c = np.block([[np.zeros((3, 3)), -skew(a[:3])], [-skew(a[:3]), -skew(a[3:])]])
        assert momentum_rate(nu, a) == pytest.approx(c @ nu, abs=1e-12)


def test_rigid_body_mass_matrix_moves_with_h(vehicle):
    body = vehicle.inertia
    h = transport(body.center_of_mass)
    at_com = np.diag([body.mass] * 3 + [0.0] * 3)
    at_com[3:, 3:] = body.tensor
    assert body.matrix == pytest.approx(h.T @ at_com @ h)


def test_a_body_that_drifts_and_turns_with_the_water_feels_nothing():
    vehicle = vehicle_of('bluerov2', coefficients='wu2018')
    current = np.array([0.7, -0.4, 0.1])
    moving = Environment(current=current)
    q = quaternion_from_rpy(0.2, 0.3, 0.4)
    omega = np.array([0.1, -0.2, 0.3])
    from marine_sim_ros.core.spatial import to_body

    nu_c = np.concatenate([to_body(q, current), np.zeros(3)])
    spin = np.concatenate([np.zeros(3), omega])
    still = State(np.zeros(3), q, spin)
    drifting = State(np.zeros(3), q, spin + nu_c)
    assert drag(vehicle, drifting, moving) == pytest.approx(drag(vehicle, still, STILL))
    # The same change of velocity relative to the water in both frames.
    inverse = vehicle.inverse_mass_matrix
    a_still = inverse @ net_wrench(vehicle, still, STILL, np.zeros(6))
    a_drift = inverse @ net_wrench(vehicle, drifting, moving, np.zeros(6))
    nu_c_rate = np.concatenate([-np.cross(omega, nu_c[:3]), np.zeros(3)])
    assert a_drift - nu_c_rate == pytest.approx(a_still, abs=1e-12)


def test_implicit_and_explicit_step_of_heave():
    d = 5.18 + 36.99 * 1.5
    change = implicit_velocity_change(
        np.array([[26.07]]), np.array([[d]]), np.array([-d * 1.5]), 0.01
    )
    assert 1.5 + change[0] == pytest.approx(1.465889, abs=5e-7)
    assert 1.5 - 0.01 * d * 1.5 / 26.07 == pytest.approx(1.465095, abs=5e-7)


def test_rk4_converges_with_the_fourth_order():
    vehicle = vehicle_of('bluerov2', coefficients='wu2018')
    velocity = np.array([1, 0.2, -0.3, 0.4, -0.5, 0.6])
    start = State(np.array([0, 0, -5.0]), quaternion_from_rpy(0.3, 0.2, 0), velocity)

    def acceleration(state):
        total = weight(vehicle, state, STILL)
        for force in (FORCES['buoyancy'].wrench, FORCES['drag'].wrench):
            total = total + force(vehicle, state, STILL)
        return vehicle.inverse_mass_matrix @ net_wrench(vehicle, state, STILL, total)

    def end(n):
        state = start
        for _ in range(n):
            state = rk4(state, acceleration, 1.0 / n)
        return np.concatenate(state)

    exact = end(800)
    # Over a factor of four: |v|v has a kink where a velocity changes its sign.
    errors = [np.abs(end(n) - exact).max() for n in (25, 100)]
    assert 3.5 < np.log(errors[0] / errors[1]) / np.log(4) < 4.6


@pytest.mark.long
@pytest.mark.parametrize('integrator', ['semi_implicit', 'rk4', 'conserving'])
def test_all_integrators_converge_to_the_same_motion(integrator):
    vehicle = vehicle_of('bluerov2', coefficients='wu2018', rotor_time_constant='0')

    def end(dt):
        simulation = Simulation(
            vehicle, initial=state_at_rest((0, 0, -5)), dt=dt, integrator=integrator
        )
        for _ in range(round(1 / dt)):
            simulation.tick(np.array([1500, 1500, 1600, 1600, 1550, 1560.0]))
        return simulation.state.position

    coarse, fine, finest = end(0.008), end(0.004), end(0.0005)
    ratio = np.linalg.norm(coarse - finest) / np.linalg.norm(fine - finest)
    assert 1.6 < ratio < 2.7  # first order: the forces are those of the start of a step


def test_orca_buoyancy_numbers():
    assert near_surface_fraction(-0.2, height=0.25) == 1
    assert near_surface_fraction(0.2, height=0.25) == 0
    assert near_surface_fraction(0.0, height=0.25) == 0.5
    assert near_surface_fraction(0.0625, height=0.25) * 997 * 0.01 * 9.8 == pytest.approx(24.4265)
    assert near_surface_fraction(np.array([-1, 0, 1.0]), height=1) == pytest.approx([1, 0.5, 0])
    vehicle = vehicle_of('bluerov2', coefficients='orca3')
    state = state_at_rest((0, 0, -1))
    net = buoyancy(vehicle, state, STILL) + weight(vehicle, state, STILL)
    assert net[2] == pytest.approx(0.686, abs=5e-4)


def test_net_buoyancy_of_the_published_sets():
    def net(name):
        vehicle = vehicle_of('bluerov2', coefficients=name)
        state = state_at_rest((0, 0, -1))
        return (buoyancy(vehicle, state, STILL) + weight(vehicle, state, STILL))[2]

    assert net('bluerov2_gz') == pytest.approx(0.277, abs=5e-4)
    assert net('wu2018') == pytest.approx(2.0, abs=5e-3)
    assert net('von_benzon2022') == pytest.approx(-0.98, abs=1e-9)


def test_top_speeds_of_the_sets_disagree_as_published():
    force = 4 * 51.485 * np.sqrt(0.5)

    def top(name):
        d = vehicle_of('bluerov2', coefficients=name).damping
        c1, c2 = d.linear[0, 0], d.quadratic[0, 0]
        return (-c1 + np.sqrt(c1**2 + 4 * c2 * force)) / (2 * c2)

    assert top('wu2018') == pytest.approx(2.72, abs=0.01)
    assert top('von_benzon2022') == pytest.approx(0.97, abs=0.01)
    gz = vehicle_of('bluerov2', coefficients='bluerov2_gz').damping.quadratic[0, 0]
    assert np.sqrt(50 / gz) == pytest.approx(1.2175, abs=5e-5)


@pytest.mark.parametrize(
    ('name', 'axis', 'speed', 'rate'),
    [
        ('wu2018', 3, 3.0, 33.46),
        ('wu2018', 2, 1.5, 4.455),
        ('von_benzon2022', 1, 1.5, 31.57),
        ('bluerov2_gz', 3, 3.0, 241.9),
        ('orca3', 3, 3.0, 164.6),
    ],
)
def test_damping_rates_and_step_limits(name, axis, speed, rate):
    vehicle = vehicle_of('bluerov2', coefficients=name)
    c1, c2 = vehicle.damping.linear[axis, axis], vehicle.damping.quadratic[axis, axis]
    mass = vehicle.added_mass[axis, axis]
    mass += vehicle.inertia.mass if axis < 3 else vehicle.inertia.tensor[axis - 3, axis - 3]
    found = (c1 + 2 * c2 * speed) / mass
    assert found == pytest.approx(rate, rel=1e-3)
    # Without delay, which lockstep guarantees, an explicit step is stable below 2/rate.
    assert 2 / found > 0.005


def test_added_mass_over_a_topic_would_diverge_for_wu():
    vehicle = vehicle_of('bluerov2', coefficients='wu2018')
    ratio = np.diag(vehicle.added_mass)[:3] / vehicle.inertia.mass
    assert ratio[1:] == pytest.approx([1.104, 1.267], abs=5e-4)


def test_drag_coefficients_of_orca3_come_from_its_box():
    box, cd = (0.457, 0.338, 0.254), (0.8, 0.95, 0.95)
    areas = (box[1] * box[2], box[0] * box[2], box[0] * box[1])
    d = vehicle_of('bluerov2', coefficients='orca3').damping.quadratic
    for i in range(3):
        assert d[i, i] == pytest.approx(0.5 * 997 * areas[i] * cd[i], abs=5e-5)


def test_drag_opposes_and_is_linear_plus_quadratic(shipped):
    rng = np.random.default_rng(4)
    for _ in range(20):
        state = State(np.zeros(3), np.array([0, 0, 0, 1.0]), rng.normal(0, 1, 6))
        assert state.velocity @ drag(shipped, state, STILL) <= 0
    plain = replace(shipped, damping=replace(shipped.damping, center=np.zeros(3)))
    state = State(np.zeros(3), np.array([0, 0, 0, 1.0]), np.array([0.5, -1, 2, 0.1, -0.2, 0.3]))
    d = plain.damping
    expected = -np.diag(d.linear) * state.velocity
    expected -= np.diag(d.quadratic) * np.abs(state.velocity) * state.velocity
    assert drag(plain, state, STILL) == pytest.approx(expected)


def test_drag_takes_full_matrices():
    # Not symmetric, and as large beside the diagonal as energy allows.
    numbers = np.arange(36.0).reshape(6, 6) + 140 * np.eye(6)
    rows = ' '.join(map(str, numbers.ravel()))
    vehicle = load_vehicle(f"""
    <robot name="r">
      <link name="base_link"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <hydrodynamics><linear_damping>{rows}</linear_damping>
        <quadratic_damping>{rows}</quadratic_damping></hydrodynamics>
    </robot>""")
    nu = np.array([1, -2, 3, -0.4, 0.5, -0.6])
    state = State(np.zeros(3), np.array([0, 0, 0, 1.0]), nu)
    expected = -(numbers @ nu) - numbers @ (np.abs(nu) * nu)
    assert drag(vehicle, state, STILL) == pytest.approx(expected)


def test_pressure_at_ten_metres_and_above():
    sensor = Barometer('barometer', np.zeros(3), fluid_density=997.0)
    heights = np.array([-10.0, 0.0, 3.0])
    places = np.stack([0 * heights, 0 * heights, heights], axis=-1)
    told = barometer(
        sensor, State(places, np.tile([0, 0, 0, 1.0], (3, 1)), np.zeros((3, 6))), STILL
    )
    assert told.pressure == pytest.approx([199006, 101300, 101300])
    assert list(told.temperature) == [10, 20, 20]


@pytest.mark.parametrize('offset', [-0.3, 0.0, 0.3])
def test_the_barometer_reads_where_it_sits(offset):
    sensor = vehicle_of('bluerov2').barometer
    sensor = replace(sensor, reference_offset=offset, fluid_density=997.0)
    reading = barometer(sensor, state_at_rest((0, 0, -10)), STILL)
    assert reading.pressure == pytest.approx(199006 - 997 * 9.8 * offset)
    bow_up = State(np.array([0, 0, -10.0]), quaternion_from_rpy(0, -np.pi / 2, 0), np.zeros(6))
    stern_low = barometer(replace(sensor, position=np.array([-0.19, 0, 0])), bow_up, STILL)
    assert stern_low.pressure == pytest.approx(199006 + 997 * 9.8 * (0.19 - offset))


@pytest.mark.long
@pytest.mark.parametrize('vehicle', MODELS, ids=model_name, indirect=True)
def test_stable_at_the_default_step(vehicle):
    """At top speed, spinning, and afloat: three vehicles as one batch, 600 s (hulls: 60 s)."""
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.batch import simulate_batch

    pwm = np.full((3, len(vehicle.thrusters)), 1500.0)
    pwm[0] = PilotMixer(vehicle.thrusters).pwm(np.array([1.0, 0, 0, 0, 0, 0]))
    level, tilted = quaternion_from_rpy(0, 0, 0), quaternion_from_rpy(0.2, 0.2, 0)
    state = State(
        np.array([[0, 0, -1000.0], [0, 0, -1000.0], [0, 0, 0.05]]),
        np.stack([level, level, tilted]),
        np.array([[0.0] * 6, [1.5, 1.5, 1.5, 3.0, 3.0, 3.0], [0.0] * 6]),
    )
    duration = 600.0 if vehicle.hull is None else 60.0
    still = [Segment(0.0, (0.0,) * 6, None, tuple(p)) for p in pwm]
    scenarios = [Scenario('', '', duration, (0, 0, 0), (0, 0, 0), (s,), ()) for s in still]
    batch = simulate_batch(vehicle, scenarios, initial=state, every=200)
    speeds = np.abs(batch.velocity).max(axis=-1)
    assert batch.time[-1] == duration
    assert np.all(np.isfinite(speeds))
    assert np.all(speeds < 12)
    if vehicle.hull is None:
        # Left alone it comes to rest, or to its terminal rise or fall.
        lift = vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density - vehicle.inertia.mass
        damping = damping_matrix(vehicle, np.ones(6))[2, 2]
        assert np.all(speeds[-1, 1:] < 0.3 + np.sqrt(abs(lift) * G / damping))


def test_a_batch_of_vehicles_is_one_call(vehicle):
    rng = np.random.default_rng(5)
    q = rng.standard_normal((7, 4))
    states = State(
        rng.normal(0, 1, (7, 3)), q / np.linalg.norm(q, axis=1)[:, None], rng.normal(0, 1, (7, 6))
    )
    moving = Environment(current=(0.1, 0.2, 0.0))
    for force in (*(f.wrench for f in acting_forces(vehicle, Environment())), weight):
        batch = force(vehicle, states, moving)
        for i in range(7):
            single = force(vehicle, State(*(x[i] for x in states)), moving)
            assert batch[i] == pytest.approx(single, abs=1e-9)
    wrench = rng.normal(0, 5, (7, 6))
    batch = rigid_body_step(vehicle, states, moving, wrench, 0.005)
    for i in range(7):
        single = rigid_body_step(vehicle, State(*(x[i] for x in states)), moving, wrench[i], 0.005)
        for a, b in zip(batch, single, strict=True):
            assert a[i] == pytest.approx(b, abs=1e-9)


def test_the_core_runs_on_the_array_api_standard_alone():
    xp = pytest.importorskip('array_api_strict')
    vehicle = vehicle_of('bluerov2', coefficients='wu2018')
    state = State(np.array([0.1, 0.2, -0.05]), quaternion_from_rpy(0.1, 0.2, 0.3), np.ones(6))
    strict = State(*(xp.asarray(x) for x in state))
    from marine_sim_ros.physics.thrusters import thrusters

    moving = Environment(current=(0.1, 0.2, 0.0))
    for environment in (STILL, moving):
        for force in (*(f.wrench for f in acting_forces(vehicle, Environment())), weight):
            expected = force(vehicle, state, environment)
            assert np.asarray(force(vehicle, strict, environment)) == pytest.approx(expected)
        for integrator in ('semi_implicit', 'rk4', 'conserving'):
            there = rigid_body_step(
                vehicle, strict, environment, xp.ones(6), 0.005, integrator=integrator
            )
            here = rigid_body_step(
                vehicle, state, environment, np.ones(6), 0.005, integrator=integrator
            )
            for a, b in zip(there, here, strict=True):
                assert np.asarray(a) == pytest.approx(b, abs=1e-12)
    there, _ = thrusters(
        vehicle, strict, STILL, xp.zeros(6), pwm=xp.asarray(np.full(6, 1700.0)), dt=0.1
    )
    here, _ = thrusters(vehicle, state, STILL, np.zeros(6), pwm=np.full(6, 1700.0), dt=0.1)
    assert np.asarray(there.wrench) == pytest.approx(here.wrench, abs=1e-12)
