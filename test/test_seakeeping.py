# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies in waves against linear theory."""

from dataclasses import replace

import numpy as np
import pytest
from hulls import WATER, box

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.currents_and_waves import CurrentProfile, regular_waves
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.sensors.barometer import barometer
from marine_sim_ros.sim.simulation import Simulation

pytestmark = pytest.mark.long

G = 9.81
HEIGHT, PERIOD = 0.4, 7.0
LONG = Environment(gravity=G, waves=regular_waves(HEIGHT, PERIOD, gravity=G))
DAMPED = """<coefficient_unit>cd</coefficient_unit>
    <pressure_drag><C_PD1>1</C_PD1><C_PD2>1.2</C_PD2></pressure_drag>
    <suction_drag><C_SD1>1</C_SD1><C_SD2>1.2</C_SD2></suction_drag>"""


def run(vehicle, environment, start, seconds, dt=0.01):
    simulation = Simulation(vehicle, environment=environment, initial=start, dt=dt)
    states = []
    for _ in range(round(seconds / dt)):
        states.append(simulation.state)
        simulation.tick(np.full(len(vehicle.thrusters), 1500.0))
    return State(*(np.stack(p) for p in zip(*states, strict=True)))


def amplitude(values, dt, period):
    """Of the harmonic of a period, over whole periods."""
    count = int(len(values) * dt / period) * round(period / dt)
    t = np.arange(count) * dt
    tail = values[-count:] - np.mean(values[-count:])
    return 2 * abs(np.mean(tail * np.exp(-2j * np.pi * t / period)))


def floating_box(**options):
    size, density = (0.8, 0.4, 0.2), 0.6
    mass = density * WATER * np.prod(size)
    return box(size, mass, density=density, tags=DAMPED, com='0 0 -0.03', **options)


def test_a_free_vessel_follows_a_long_wave():
    vehicle = floating_box()
    motion = run(vehicle, LONG, state_at_rest((0, 0, -0.02)), 12 * PERIOD)
    last = slice(-round(6 * PERIOD / 0.01), None)
    heave = amplitude(motion.position[last, 2], 0.01, PERIOD)
    assert heave == pytest.approx(HEIGHT / 2, rel=0.05)
    # And rides with the water: as far to and fro as up and down, turning with the slope.
    surge = motion.position[last, 0]
    surge = surge - np.linspace(surge[0], surge[-1], len(surge))
    assert amplitude(surge, 0.01, PERIOD) == pytest.approx(HEIGHT / 2, rel=0.1)
    pitch = rpy_from_quaternion(motion.orientation[last])[:, 1]
    slope = LONG.waves.wavenumber[0] * HEIGHT / 2
    assert amplitude(pitch, 0.01, PERIOD) == pytest.approx(slope, rel=0.1)


def test_a_submerged_body_of_the_waters_density_moves_with_the_water():
    vehicle = load_vehicle(
        box(
            (0.3, 0.3, 0.3), 1.0 * WATER * 0.027, density=1.0, tags='<forces></forces>'
        ).urdf.replace('<hydrodynamics>', '<hydrodynamics added_mass="estimate">')
    )
    start = State(np.array([0, 0, -3.0]), quaternion_from_rpy(0, 0, 0), np.zeros(6))
    velocity = LONG.velocity(start.position)
    start = start._replace(velocity=np.r_[velocity, np.zeros(3)])
    motion = run(vehicle, LONG, start, 2 * PERIOD)
    there = [LONG.at(0.01 * i).velocity(p) for i, p in enumerate(motion.position)]
    speed = HEIGHT / 2 * 2 * np.pi / PERIOD
    pairs = zip(motion.orientation, motion.velocity, strict=True)
    inertial = np.stack([rotation_matrix(q) @ v[:3] for q, v in pairs])
    apart = np.abs(inertial - np.stack(there)).max(axis=1)
    # Linear theory leaves out u·∇u, of the order of k u²; nothing else parts them.
    time = 0.01 * np.arange(len(apart))
    assert np.all(apart <= LONG.waves.wavenumber[0] * speed**2 * time + 1e-4)


def test_buoyancy_stands_normal_to_the_surface_and_fades_with_depth():
    vehicle = box((0.2, 0.2, 0.2), WATER * 0.008, density=1.0)
    k, a = LONG.waves.wavenumber[0], HEIGHT / 2
    quarter = np.pi / (2 * k)  # where the surface falls most steeply, θ = π/2
    weight = WATER * G * 0.008
    for depth in (0.5, 5.0, 20.0):
        force = buoyancy(vehicle, state_at_rest((quarter, 0, -depth)), LONG)
        assert force[2] == pytest.approx(weight, rel=1e-3)
        assert force[0] == pytest.approx(weight * k * a * np.exp(-k * depth), rel=5e-3)


def test_lumped_and_voxel_buoyancy_agree_under_water():
    voxels = box((0.2, 0.2, 0.2), WATER * 0.008, density=1.0)
    lump = load_vehicle(
        voxels.urdf.replace('<link', '<buoyancy><volume>0.008</volume></buoyancy><link', 1)
    )
    state = State(np.array([3.0, 1, -2]), quaternion_from_rpy(0.3, 0.2, 1), np.zeros(6))
    for time in (0.0, 1.0, 2.5):
        sea = LONG.at(time)
        assert buoyancy(lump, state, sea)[:3] == pytest.approx(
            buoyancy(voxels, state, sea)[:3], rel=1e-3, abs=0.02
        )


def test_a_hull_is_wet_where_the_wave_is():
    vehicle = box((0.4, 0.4, 0.4), 30.0)
    k = LONG.waves.wavenumber[0]
    still = drag(vehicle, state_at_rest((0, 0, 1.0)), replace(LONG, waves=None))
    assert still == pytest.approx(0)
    crest, trough = state_at_rest((0, 0, 0.3)), state_at_rest((np.pi / k, 0, 0.05))
    assert abs(drag(vehicle, crest, LONG)[0]) > 0  # the crest reaches it
    assert drag(vehicle, trough, LONG)[:3] == pytest.approx(0, abs=1e-3)  # out of the water: air
    assert buoyancy(vehicle, crest, LONG)[2] > 0.3 * WATER * G * 0.064 * 0.2
    assert buoyancy(vehicle, state_at_rest((np.pi / k, 0, 0.01)), LONG)[2] == pytest.approx(
        0, abs=1e-6
    )


def test_the_barometer_feels_the_wave_less_with_depth():
    sensor = load_vehicle('bluerov2').barometer
    sensor = replace(sensor, position=np.zeros(3), fluid_density=1000.0)
    k, a = LONG.waves.wavenumber[0], HEIGHT / 2
    for depth in (1.0, 10.0):
        head = a * np.exp(-k * depth)
        reading = barometer(sensor, state_at_rest((0, 0, -depth)), LONG)
        assert reading.pressure == pytest.approx(101300 + 1000 * G * (depth + head))
    at_crest = barometer(sensor, state_at_rest((0, 0, a)), LONG).pressure
    assert at_crest == pytest.approx(101300)


def test_batches_and_other_array_libraries_in_a_sea():
    xp = pytest.importorskip('array_api_strict')
    vehicle = load_vehicle('simple_rov')
    sea = replace(load_environment('moderate_sea'), current=np.array([0.3, 0.1, 0.0])).at(7.3)
    rng = np.random.default_rng(1)
    q = rng.normal(size=(4, 4))
    states = State(
        rng.normal(0, 0.3, (4, 3)),
        q / np.linalg.norm(q, axis=1, keepdims=True),
        rng.normal(size=(4, 6)),
    )
    strict = State(*(xp.asarray(part) for part in states))
    for force in (buoyancy, drag):
        together = force(vehicle, states, sea)
        assert np.asarray(force(vehicle, strict, sea)) == pytest.approx(together, abs=1e-9)
        for i in range(4):
            single = force(vehicle, State(*(part[i] for part in states)), sea)
            assert together[i] == pytest.approx(single, abs=1e-9)


@pytest.mark.parametrize('z', [-5000.0, 5000.0])
def test_far_from_the_surface_everything_is_finite(z):
    vehicle = load_vehicle('surface_vessel')
    state = state_at_rest((1e4, -1e4, z))._replace(velocity=np.ones(6))
    for name in ('moderate_sea', 'tidal_channel', 'regular_waves'):
        sea = load_environment(name).at(1e6)
        assert np.all(np.isfinite(drag(vehicle, state, sea)))
        lift = buoyancy(vehicle, state, sea)
        assert np.all(np.isfinite(lift))
        if z > 0:
            assert not lift.any()


def test_a_current_that_changes_with_depth_turns_a_tall_body():
    profile = Environment(
        profile=CurrentProfile(np.array([0.0, 4.0]), np.array([[1.0, 0, 0], [0, 0, 0]]))
    )
    tall = box((0.2, 0.2, 4.0), WATER * 0.16, density=1.0, tags='<panel_size>0.2</panel_size>')
    wrench = drag(tall, state_at_rest((0, 0, -2.0)), profile)
    assert wrench[0] > 0
    assert wrench[4] > 0.3 * wrench[0]  # pushed at its upper end
