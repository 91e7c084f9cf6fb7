# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Floating, sinking, rolling and slamming bodies against closed forms."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hulls import WATER, body, box
from scipy.integrate import quad

from marine_sim_ros import Environment
from marine_sim_ros.core.spatial import (
    quaternion_from_rpy,
    rotation_matrix,
    rpy_from_quaternion,
    to_body,
    up_in_body,
)
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag, drag_components
from marine_sim_ros.physics.hull_drag import hull_forces, wet_hull
from marine_sim_ros.sim.simulation import Simulation

G = 9.81
SEA = Environment(gravity=G)
GEOMETRY = '<buoyancy_mode>geometry</buoyancy_mode>'
QUIET = '<forces></forces>'
NONE = np.zeros(0)

TILTS = [(0.0, 0.0), (0.3, 0.0), (0.0, 0.7), (0.5, -0.4), (np.pi / 2, 0.1), (2.8, 0.2)]
LEVELS = (-0.9, -0.5, -0.2, 0.0, 0.15, 0.6)


def at(z, roll=0.0, pitch=0.0, velocity=(0, 0, 0, 0, 0, 0)):
    q = quaternion_from_rpy(roll, pitch, 0.3)
    return State(np.array([0.3, -0.2, z]), q, np.array(velocity, float))


def box_below(size, up, level):
    """Volume of a box (centred) where up·r < level: inclusion and exclusion of its corners."""
    n = np.abs(np.asarray(up)) + 1e-4  # the formula needs every component
    half = n @ np.asarray(size) / 2
    total = 0.0
    for corner in itertools.product((0, 1), repeat=3):
        rest_of = level + half - np.dot(corner, n * size)
        total += (-1) ** sum(corner) * max(0.0, rest_of) ** 3
    return total / (6 * np.prod(n))


def sphere_below(radius, level):
    h = np.clip(level + radius, 0, 2 * radius)
    return np.pi * h**2 * (3 * radius - h) / 3


def cylinder_below(radius, length, up, level):
    """By integration of circular segments along the axis."""
    axial, radial = up[2], np.hypot(up[0], up[1])

    def segment(s):
        distance = level - axial * s
        if radial < 1e-9:
            return np.pi * radius**2 * (distance > 0)
        x = np.clip(distance / radial / radius, -1, 1)
        return radius**2 * (np.pi - np.arccos(x) + x * np.sqrt(1 - x * x))

    breaks = []
    if abs(axial) > 1e-9:
        ends = ((level + k * radial * radius) / axial for k in (-1, 0, 1))
        breaks = [s for s in ends if abs(s) < length / 2]
    return quad(segment, -length / 2, length / 2, points=breaks or None, limit=200)[0]


SIZE = np.array([0.5, 0.4, 0.3])
BODIES = {
    'box': ('<box size="0.5 0.4 0.3"/>', lambda up, level: box_below(SIZE, up, level)),
    'cylinder': (
        '<cylinder radius="0.2" length="0.6"/>',
        lambda up, level: cylinder_below(0.2, 0.6, up, level),
    ),
    'sphere': ('<sphere radius="0.25"/>', lambda up, level: sphere_below(0.25, level)),
}


def voxel_errors(kind, size):
    geometry, below = BODIES[kind]
    vehicle = body(geometry, 20.0, tags=GEOMETRY + f'<voxel_size>{size}</voxel_size>')
    volume = vehicle.buoyancy.volume
    errors = []
    for (roll, pitch), level in itertools.product(TILTS, LEVELS):
        z = 0.35 * level
        state = at(z, roll, pitch)
        found = buoyancy(vehicle, state, SEA)[:3] @ up_in_body(state.orientation)
        errors.append(found / (WATER * G) - below(up_in_body(state.orientation), -z))
    return np.array(errors) / volume


@pytest.mark.long
@pytest.mark.parametrize('kind', BODIES)
def test_archimedes_at_every_draught_and_tilt(kind):
    coarse, fine = voxel_errors(kind, 0.1), voxel_errors(kind, 0.025)
    assert np.max(np.abs(fine)) < 0.004
    if kind == 'box':  # cells of a box are cut exactly; the closed form is good to 1e-4
        assert np.max(np.abs(coarse)) < 1e-4
        return
    assert np.max(np.abs(coarse)) < 0.04
    # Second order: a quarter of the size leaves a sixteenth of the error, less what facets
    # leave over.
    assert np.sqrt(np.mean(fine**2)) < np.sqrt(np.mean(coarse**2)) / 8


@pytest.mark.long
@pytest.mark.parametrize('kind', BODIES)
def test_pressure_on_cut_triangles_agrees_with_voxels(kind):
    geometry, below = BODIES[kind]
    vehicle = body(geometry, 20.0, tags=GEOMETRY + '<voxel_size>0.03</voxel_size>')
    panels = vehicle.hull.panels
    for (roll, pitch), level in itertools.product(TILTS, LEVELS):
        z = 0.35 * level
        state = at(z, roll, pitch)
        wet = wet_hull(panels, state, SEA)
        up = up_in_body(state.orientation)
        depth = -(z + up @ wet.center)
        pushes = -(WATER * G * depth * panels.area * wet.wet_fraction)[:, None] * panels.normal
        exact = WATER * G * below(up, -z)
        whole = WATER * G * vehicle.buoyancy.volume
        # Facets of round bodies: their volume is exact, their parts are not quite.
        assert pushes.sum(axis=0) @ up == pytest.approx(exact, abs=6e-3 * whole)
        assert np.linalg.norm(np.cross(pushes.sum(axis=0), up)) < 1e-9 * whole
        assert buoyancy(vehicle, state, SEA)[:3] @ up == pytest.approx(
            pushes.sum(axis=0) @ up, abs=1.2e-2 * whole
        )


def test_half_a_cube():
    cube = box((0.5, 0.5, 0.5), 1.0, tags=GEOMETRY)
    assert buoyancy(cube, state_at_rest((0, 0, 0)), SEA)[2] == pytest.approx(629.679, abs=5e-4)


def test_volume_from_mass_or_from_geometry():
    big, small = (0.4, 0.3, 0.2), (0.4, 0.3, 0.05)
    deep = state_at_rest((0, 0, -5))
    for size, mass, density, by_mass, by_size in (
        (big, 10.0, 1.1, 89.1818, 241.797),
        (small, 0.5, 0.2, 24.5250, 60.4492),
    ):
        floating = box(size, mass, density=density)
        assert buoyancy(floating, deep, SEA)[2] == pytest.approx(by_mass, abs=5e-5)
        filled = box(size, mass, density=density, tags=GEOMETRY)
        assert buoyancy(filled, deep, SEA)[2] == pytest.approx(by_size, abs=5e-4)


def settle(vehicle, start, seconds, *, dt=0.005, environment=SEA):
    simulation = Simulation(vehicle, environment=environment, initial=start, dt=dt)
    states = []
    for _ in range(round(seconds / dt)):
        states.append(simulation.state)
        simulation.tick(NONE)
    return states


CD = '<coefficient_unit>cd</coefficient_unit>'
STRONG = (
    CD
    + """<pressure_drag><C_PD1>1</C_PD1><C_PD2>1.2</C_PD2></pressure_drag>
    <suction_drag><C_SD1>1</C_SD1><C_SD2>1.2</C_SD2></suction_drag>"""
)


@pytest.mark.long
@pytest.mark.parametrize('mass', [11.0, 14.8, 20.0])
def test_a_light_box_floats_at_its_density_whatever_its_size_says(mass):
    size = (0.5, 0.4, 0.2)
    vehicle = box(size, mass, density=0.6, tags=STRONG, com='0 0 -0.03')
    end = settle(vehicle, state_at_rest((0, 0, 0.02)), 25.0, dt=0.02)[-1]
    draught = size[2] / 2 - end.position[2]
    assert draught == pytest.approx(0.6 * size[2], rel=2e-3)
    assert np.abs(end.velocity).max() < 2e-3


def zero_crossings(values, dt):
    values = np.array(values)
    i = np.flatnonzero((values[:-1] < 0) & (values[1:] >= 0))
    return (i + values[i] / (values[i] - values[i + 1])) * dt


@pytest.mark.long
def test_a_box_rights_itself_as_its_metacentric_height_says():
    length, beam, depth, density = 0.8, 0.4, 0.2, 0.6
    mass = density * WATER * length * beam * depth
    size, com_z = (length, beam, depth), -0.03
    inertia = np.array([1.0, 1.5, 1.6]) * np.mean([*map(float, [mass * (beam**2) / 12])])
    vehicle = box(size, mass, density=density, tags=QUIET, com=f'0 0 {com_z}', inertia=inertia)
    draught = density * depth
    keel_to_buoyancy, metacentric_radius = draught / 2, beam**2 / (12 * draught)
    height = keel_to_buoyancy + metacentric_radius - (com_z + depth / 2)
    expected = 2 * np.pi * np.sqrt(inertia[0] / (mass * G * height))
    start = State(
        np.array([0, 0, depth / 2 - draught]), quaternion_from_rpy(0.03, 0, 0), np.zeros(6)
    )
    rolls = [rpy_from_quaternion(s.orientation)[0] for s in settle(vehicle, start, 12.0, dt=0.005)]
    period = np.mean(np.diff(zero_crossings(rolls, 0.005)))
    assert period == pytest.approx(expected, rel=0.05)


@pytest.mark.long
def test_terminal_velocity():
    both = GEOMETRY + '<forces>pressure suction</forces>'
    heavy = box((0.4, 0.3, 0.2), 30.0, tags=both)
    # At 4.2 m/s drag across the fall is stable for steps below 0.011 s (λ = 180 1/s, λ T < 2).
    end = settle(heavy, state_at_rest((0, 0, -50)), 30.0, dt=0.01)[-1]
    assert end.velocity[2] == pytest.approx(-4.20386, rel=2e-5)
    # With Cd 1.05, half of it on each face.
    half = (
        CD + '<pressure_drag><C_PD1>0</C_PD1><C_PD2>0.525</C_PD2></pressure_drag>'
        '<suction_drag><C_SD1>0</C_SD1><C_SD2>0.525</C_SD2></suction_drag>'
    )
    blunt = box((0.4, 0.3, 0.2), 30.0, tags=both + half)
    end = settle(blunt, state_at_rest((0, 0, -50)), 20.0, dt=0.05)[-1]
    assert end.velocity[2] == pytest.approx(-0.900818, rel=2e-5)


@pytest.mark.long
def test_a_box_at_1_1_sinks():
    vehicle = box((0.4, 0.3, 0.2), 10.0, density=1.1, tags='<forces>pressure suction</forces>')
    net = 10.0 * G * (1 - 1 / 1.1)
    speed = (-1 + np.sqrt(1 + 4 * net / (2 * 10 * 0.12))) / 2  # 2·10·0.12 (s + s²) = net
    end = settle(vehicle, state_at_rest((0, 0, -50)), 60.0, dt=0.05)[-1]
    assert end.velocity[2] == pytest.approx(-speed, rel=2e-5)


def test_a_moving_body_is_slowed_by_every_force_that_acts():
    vehicle = box((0.5, 0.4, 0.3), 30.0)
    state = at(0.0, 0.1, 0.2, (1.5, 0.4, -0.7, 0.2, -0.3, 0.5))
    kinds, memory = drag_components(vehicle, at(0.0, velocity=(1, 0, 0, 0, 0, 0)), SEA)
    kinds, _ = drag_components(vehicle, state, SEA, memory, dt=0.005)
    assert set(kinds) == {'damping', 'viscous', 'pressure', 'suction', 'slamming', 'air'}
    for kind in set(kinds) - {'damping'}:
        assert kinds[kind] @ state.velocity < 0, kind


def test_terms_are_switched_in_the_description_and_at_loading():
    state = at(0.0, 0.1, 0.2, (1.5, 0.4, -0.7, 0.2, -0.3, 0.5))
    everything, _ = hull_forces(box((0.5, 0.4, 0.3), 30.0), state, SEA)
    only, _ = hull_forces(
        box((0.5, 0.4, 0.3), 30.0, tags='<forces>pressure air</forces>'), state, SEA
    )
    for kind, wrench in only.items():
        wanted = everything[kind] if kind in ('pressure', 'air') else np.zeros(6)
        assert wrench == pytest.approx(wanted), kind


def test_a_body_that_drifts_with_the_water_feels_no_drag():
    current = np.array([0.4, -0.3, 0.0])
    vehicle = box((0.5, 0.4, 0.3), 30.0)
    q = quaternion_from_rpy(0.2, -0.1, 1.0)
    state = State(np.array([0, 0, -3.0]), q, np.r_[to_body(q, current), np.zeros(3)])
    assert drag(vehicle, state, Environment(current=current)) == pytest.approx(0, abs=1e-12)


def test_mirror_image_gives_the_mirrored_force():
    vehicle = box((0.5, 0.4, 0.3), 30.0)
    state = at(0.0, 0.3, 0.0, (1.0, 0.4, -0.2, 0.3, 0.2, -0.1))._replace(
        orientation=quaternion_from_rpy(0.3, 0.2, 0)
    )
    flip = np.array([1, -1, 1, -1, 1, -1])
    mirrored = State(
        state.position * [1, -1, 1], state.orientation * [-1, 1, -1, 1], state.velocity * flip
    )
    for force in (buoyancy, drag):  # the panels' diagonals are not mirrored
        here = force(vehicle, state, SEA)
        assert force(vehicle, mirrored, SEA) == pytest.approx(here * flip, rel=1e-2)


def test_slamming_never_reverses_a_motion():
    wild = '<slamming><max_acceleration>0.01</max_acceleration><multiplier>1e5</multiplier>'
    vehicle = box((0.5, 0.4, 0.1), 5.0, tags=wild + '</slamming><forces>slamming</forces>')
    rng = np.random.default_rng(0)
    inverse = vehicle.inverse_mass_matrix
    for _ in range(50):
        start = at(rng.uniform(-0.1, 0.1), *rng.uniform(-1, 1, 2), rng.normal(0, 3, 6))
        before = start._replace(velocity=rng.normal(0, 3, 6))
        memory = hull_forces(vehicle, before, SEA)[1]
        for dt in (1e-4, 5e-3, 0.1):
            force = hull_forces(vehicle, start, SEA, memory, dt=dt)[0]['slamming']
            after = start.velocity + dt * inverse @ force
            m = vehicle.mass_matrix
            assert start.velocity @ m @ after >= -1e-9  # not turned round
            assert after @ m @ after <= start.velocity @ m @ start.velocity + 1e-9


DROP_STEP = 0.002


def drop(tags, speed=(0.0, 0.0), pitch=0.0, height=1.0, seconds=1.5, **options):
    vehicle = box((0.8, 0.5, 0.12), 12.0, density=0.4, tags=tags, **options)
    q = quaternion_from_rpy(0, pitch, 0)
    velocity = np.r_[to_body(q, np.array([speed[0], 0, speed[1]])), np.zeros(3)]
    simulation = Simulation(
        vehicle,
        environment=SEA,
        dt=DROP_STEP,
        initial=State(np.array([0, 0, height]), q, velocity),
    )
    heights, slams, memory = [], [], None
    for _ in range(round(seconds / DROP_STEP)):
        state = simulation.state
        kinds, memory = drag_components(vehicle, state, SEA, memory, dt=DROP_STEP)
        heights.append(state.position[2])
        slams.append(rotation_matrix(state.orientation)[2] @ kinds['slamming'][:3])
        simulation.tick(NONE)
    return np.array(heights), np.array(slams)


HARD = STRONG + '<slamming><power>2</power><multiplier>5</multiplier></slamming>'


@pytest.mark.long
def test_a_dropped_box_slams_when_it_hits_the_water():
    heights, slams = drop(HARD)
    touches = np.flatnonzero(heights < 0.06)[0]
    assert np.all(slams[: touches - 1] == 0)  # nothing in the air
    impact = slams[touches : touches + 20].max()
    assert impact > 5 * np.median(np.abs(slams[touches + 150 :]))
    assert np.argmax(slams) < touches + 20
    softer, _ = drop(STRONG + '<forces>viscous pressure suction air</forces>')
    assert heights.min() > softer.min()  # without it the box dives deeper


def test_a_thrown_board_skips():
    # Much inertia keeps its attitude, as the spin of a skipping stone does.
    heights, slams = drop(
        HARD, speed=(20.0, -3.0), pitch=-0.2, height=0.3, seconds=1.0, inertia=(50, 50, 50)
    )
    stern = heights - 0.4 * np.sin(0.2) - 0.06 * np.cos(0.2)
    first = np.flatnonzero(stern < 0)[0]
    assert slams[:first].max() == 0
    assert slams.max() > 1
    up = first + np.argmax(stern[first:])
    assert stern[up] > 0.1  # all of it leaves the water
    assert stern[up:].min() < 0  # and comes back


def test_drag_never_drives_a_light_board():
    vehicle = box(
        (0.4, 0.3, 0.05),
        0.5,
        tags=CD
        + """
        <pressure_drag><C_PD1>0</C_PD1><C_PD2>1</C_PD2></pressure_drag>
        <suction_drag><C_SD1>0</C_SD1><C_SD2>1</C_SD2></suction_drag>""",
    )
    inverse = vehicle.inverse_mass_matrix
    for speed in (-3.0, -8.0):
        state = at(-5.0, velocity=(0, 0, speed, 0, 0, 0))
        kinds, _ = drag_components(vehicle, state, SEA, None, dt=0.005)
        after = state.velocity + 0.005 * inverse @ sum(kinds.values())
        assert speed <= after[2] <= 1e-9
    fall = settle(vehicle, at(3.0), 4.0)
    touched = next(i for i, s in enumerate(fall) if s.position[2] < 0.03)
    assert max(s.position[2] for s in fall[touched:]) < 0.5


def test_batches_of_states_equal_single_ones():
    vehicle = box((0.5, 0.4, 0.3), 30.0)
    states = [at(-1, 0, 0.3, (2, 0, 0, 0, 0, 0)), at(0, 1, 0.2), at(0.1, 2, 0.1, np.ones(6))]
    stacked = State(*(np.stack(parts) for parts in zip(*states, strict=True)))
    for force in (buoyancy, drag):
        together = force(vehicle, stacked, SEA)
        for i, state in enumerate(states):
            assert together[i] == pytest.approx(force(vehicle, state, SEA), abs=1e-9)


def test_the_array_api_standard_is_enough():
    xp = pytest.importorskip('array_api_strict')
    vehicle = box((0.5, 0.4, 0.3), 30.0)
    state = at(0.0, 0.3, 0.2, (1.0, 0.4, -0.2, 0.3, 0.2, -0.1))
    strict = State(*(xp.asarray(part) for part in state))
    memory = hull_forces(vehicle, strict, SEA)[1]
    plain = hull_forces(vehicle, state, SEA)[1]
    for environment in (SEA, replace(SEA, current=np.array([0.3, 0, 0]))):
        found, _ = hull_forces(vehicle, strict, environment, memory, dt=0.01)
        wanted, _ = hull_forces(vehicle, state, environment, plain, dt=0.01)
        for kind, wrench in wanted.items():
            assert np.asarray(found[kind]) == pytest.approx(wrench, abs=1e-9), kind
        assert np.asarray(buoyancy(vehicle, strict, environment)) == pytest.approx(
            buoyancy(vehicle, state, environment)
        )
