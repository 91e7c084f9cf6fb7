# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact against closed forms: bounces, slides, slopes, glue, and hard driving into rock."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import OTHERS, VEHICLES, vehicle_of
from energy import kinetic_energy
from hulls import box_inertia

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, to_body
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.materials import Materials, parse_materials, shipped_materials
from marine_sim_ros.physics import FORCES, wrench_sources
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import arm_step, joints_at_rest, pose_vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.contact.contact import contact_wrench
from marine_sim_ros.physics.contact.detection import contact_geometry, contacts_within, pair_layout
from marine_sim_ros.physics.contact.edges import ContactGeometry
from marine_sim_ros.physics.contact.pair_coefficients import (
    PairTable,
    hertz_force,
    linear_stiffness,
    pair_table,
)
from marine_sim_ros.physics.contact.solver import (
    ContactArrays,
    adhesion_force,
    solve_contact_arrays,
    solve_contacts,
)
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.rigid_body import rigid_body_step, weight
from marine_sim_ros.physics.thrusters import thrusters
from marine_sim_ros.physics.wrench_observer import StepPrediction
from marine_sim_ros.scene.obstacles import Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sim.simulation import Simulation

DT = 0.005
G = 9.8
BOX = ('<box size="0.4 0.4 0.2"/>', box_inertia(10.0, (0.4, 0.4, 0.2)))
BALL = ('<sphere radius="0.5"/>', (1.0, 1.0, 1.0))  # 2/5 m r²
PAIRS = [('aluminium', 'steel'), ('HDPE', 'sand'), ('rubber', 'concrete')]


def dry(shape, material='thing', mass=10.0):
    """Return a body that feels neither buoyancy nor drag."""
    geometry, (ixx, iyy, izz) = shape
    return load_vehicle(f"""
    <robot name="body"><contact_material name="{material}"/>
      <hydrodynamics><linear_damping>0 0 0 0 0 0</linear_damping></hydrodynamics>
      <link name="base_link">
        <inertial><mass value="{mass}"/>
          <inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>
        <collision><geometry>{geometry}</geometry></collision>
      </link></robot>""")


def ground(slope=0.0, material='ground', **pair):
    """Return a plane through the origin that falls towards x, and what it is to a thing."""
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    materials = None
    if pair:
        entry = {'materials': ['thing', material], **pair}
        materials = parse_materials(f'contactMaterials: [{entry}]', 'test')
    scene = Scene((Plane('ground', np.zeros(3), normal, material),))
    return Environment(scene=scene, materials=materials)


def on_slope(slope, height):
    """Return a body at rest a height above a slope, level with it."""
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    return State(height * normal, quaternion_from_rpy(0.0, slope, 0.0), np.zeros(6))


def run(vehicle, environment, state, seconds, push=None, dt=DT):
    """Return all states under contact, weight and buoyancy alone, and the wrenches of contact."""
    states, wrenches, memory, since = [state], [], None, 0.0
    for i in range(round(seconds / dt)):
        wrench, memory = contact_wrench(vehicle, state, environment, memory, dt=since)
        total = wrench + weight(vehicle, state, environment)
        total = total + buoyancy(vehicle, state, environment)
        if push is not None:
            total = total + push(i * dt, state)
        state, since = rigid_body_step(vehicle, state, environment, total, dt), dt
        states.append(state)
        wrenches.append(wrench)
    return states, wrenches


def in_map(state):
    return rotation_matrix(state.orientation) @ state.velocity[:3]


# ---- stiffness ------------------------------------------------------------------------------


def test_stiffness_of_sphere_and_column():
    modulus = 2e8 / 0.91
    assert hertz_force(np.array(1e-3), modulus=modulus, radius=0.05) == pytest.approx(
        2072.11, rel=2e-6
    )
    at_rest = 0.143649e-3
    force = hertz_force(np.array(at_rest), modulus=modulus, radius=0.05)
    assert force == pytest.approx(112.815, rel=1e-4)
    assert linear_stiffness(2e8, 25e-4, 0.1) == pytest.approx(5e6)
    assert hertz_force(np.array(-1.0), modulus=modulus, radius=0.05) == 0.0


def test_a_sphere_sinks_in_as_far_as_hertz_says():
    sphere = ('<sphere radius="0.05"/>', (0.01,) * 3)
    vehicle = dry(sphere, mass=112.815 / G)
    environment = replace(ground(), materials=Materials())
    states, _ = run(vehicle, environment, state_at_rest((0.0, 0.0, 0.05)), 3.0)
    gap = contact_geometry(vehicle, states[-1], environment).gap
    assert -gap.min() == pytest.approx(0.143649e-3, rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    ('mass', 'modulus', 'tau'),
    # The last three sink in farther than the speed of exit would lift in a spook time.
    [(10, 1e6, 0.02), (100, 1e5, 0.075), (150, 1e5, 0.075), (10, 1e5, 0.0), (10, 3e4, 0.005)],
)
def test_a_box_sinks_in_as_its_columns_yield(mass, modulus, tau):
    vehicle = dry(BOX, mass=mass)
    environment = ground(youngsModulus=modulus, spookDamping=tau)
    states, _ = run(vehicle, environment, state_at_rest((0.0, 0.0, 0.1)), 3.0)
    k = 9 * modulus * 0.032 ** (1 / 3) / 4
    assert 0.1 - states[-1].position[2] == pytest.approx(mass * G / k, rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize('tau', [0.02, 0.075, 0.5])
def test_a_penetration_relaxes_in_the_spook_time(tau):
    vehicle = dry(BOX)
    environment = ground(spookDamping=tau, youngsModulus=1e12)
    states, _ = run(vehicle, environment, state_at_rest((0.0, 0.0, 0.099)), 1.0, dt=0.001)
    depth = np.array([0.1 - s.position[2] for s in states])
    e_fold = np.argmax(depth < depth[0] / np.e)
    # The first tick has no contact.
    assert (e_fold - 1) * 0.001 == pytest.approx(tau, abs=0.0021 + 0.02 * tau)


# ---- bounces --------------------------------------------------------------------------------


@pytest.mark.parametrize('shape', [BALL, BOX], ids=['ball', 'box'])
@pytest.mark.parametrize('pair', PAIRS, ids='-'.join)
def test_restitution_of_material_pairs(shape, pair):
    vehicle = dry(shape, pair[0])
    environment = ground(material=pair[1])
    height = 0.5 if shape is BALL else 0.1
    states, _ = run(vehicle, environment, state_at_rest((0.0, 0.0, height + 0.2)), 0.35)
    speed = np.array([s.velocity[2] for s in states])
    e = shipped_materials().contact(*pair).restitution
    hit = int(np.argmax(np.diff(speed) > 0.3))
    if e > 0:
        assert speed[hit] == pytest.approx(-((2 * G * 0.2) ** 0.5), abs=2 * G * DT)
        assert speed[hit + 1] / -speed[hit] == pytest.approx(e, rel=0.03)
    else:
        assert np.abs(speed[hit + 3 :]).max() < 0.06  # pushed out


def test_full_restitution_bounces_to_the_height_it_fell_from_and_no_higher():
    vehicle, environment = dry(BALL), ground(restitution=1.0)
    states, _ = run(vehicle, environment, state_at_rest((0.0, 0.0, 1.0)), 3.0)
    heights = np.array([s.position[2] for s in states])
    peaks = heights[1:-1][(heights[1:-1] > heights[:-2]) & (heights[1:-1] >= heights[2:])]
    assert len(peaks) >= 3
    assert peaks == pytest.approx(1.0, abs=0.02)
    # What semi-implicit steps keep in free fall is z + v²/(2g) + v dt/2.
    speed = np.array([s.velocity[2] for s in states])
    kept = heights + speed**2 / (2 * G) + speed * DT / 2
    assert kept == pytest.approx(1.0, abs=0.02)
    assert kept.max() < 1.0 + 4 * 4.5 * DT


def test_bounces_end_in_rest():
    states, _ = run(dry(BALL), ground(restitution=0.5), state_at_rest((0.0, 0.0, 0.6)), 3.0)
    assert np.abs(states[-1].velocity).max() < 1e-6
    assert states[-1].position[2] == pytest.approx(0.5, abs=1e-3)


# ---- friction -------------------------------------------------------------------------------


@pytest.mark.parametrize('pair', PAIRS, ids='-'.join)
def test_sliding_distance_of_material_pairs(pair):
    mu = shipped_materials().contact(*pair).friction
    start = State(
        np.array([0, 0, 0.1]), state_at_rest().orientation, np.array([2.0, 1.0, 0, 0, 0, 0])
    )
    states, _ = run(dry(BOX, pair[0]), ground(material=pair[1]), start, 1.8)
    distance = np.linalg.norm(states[-1].position[:2])
    assert distance == pytest.approx(5.0 / (2 * mu * G), rel=0.03)
    assert np.abs(states[-1].velocity).max() < 1e-5
    assert abs(states[-1].position[2] - 0.1) < 1e-3  # never lifted


@pytest.mark.long
@pytest.mark.parametrize('pair', PAIRS, ids='-'.join)
def test_slopes_hold_up_to_the_friction_angle_of_material_pairs(pair):
    mu = shipped_materials().contact(*pair).friction
    vehicle = dry(BOX, pair[0])
    for share in (0.985, 1.015):
        slope = share * np.arctan(mu)
        environment = ground(slope, material=pair[1])
        states, _ = run(vehicle, environment, on_slope(slope, 0.1), 1.0)
        slid = np.linalg.norm(states[-1].position - states[0].position)
        pull = 0.5 * G * (np.sin(slope) - mu * np.cos(slope))
        if share < 1:
            assert slid < 3e-4
        else:
            assert slid == pytest.approx(pull, rel=0.05)


@pytest.mark.long
@pytest.mark.parametrize(('seconds', 'dt'), [(600.0, 0.1), (8.0, DT)])
def test_rest_on_a_slope_creeps_less_than_a_millimetre_in_ten_minutes(seconds, dt):
    slope = 0.9 * np.arctan(0.5)
    vehicle, environment = dry(BOX), ground(slope, friction=0.5)
    states, _ = run(vehicle, environment, on_slope(slope, 0.1), seconds, dt=dt)
    settled = states[round(1.0 / dt)].position
    assert np.linalg.norm(states[-1].position - settled) < 1e-3 * (seconds - 1) / 599
    assert np.linalg.norm(states[-1].velocity) < 1e-3 / 600


def test_a_ball_rolls_off_with_five_sevenths_of_its_speed():
    start = State(
        np.array([0, 0, 0.5]), state_at_rest().orientation, np.array([1.0, 0, 0, 0, 0, 0])
    )
    states, _ = run(dry(BALL), ground(friction=0.3), start, 0.6)
    velocity = in_map(states[-1])
    assert velocity[0] == pytest.approx(5 / 7, rel=0.01)
    assert states[-1].velocity[4] * 0.5 == pytest.approx(velocity[0], rel=0.01)


def pushed(model, direction, **pair):
    """Return the friction force, N, on a box of 98 N that is dragged along a direction."""
    vehicle = dry(BOX)
    environment = ground(friction=0.3, frictionModel=[model, 'split'], **pair)
    unit = np.array([np.cos(direction), np.sin(direction), 0.0])
    start = State(
        np.array([0, 0, 0.1]), state_at_rest().orientation, np.concatenate([unit, np.zeros(3)])
    )
    _, wrenches = run(vehicle, environment, start, 0.05)
    return wrenches[-1][:2] / (10 * G)


def test_friction_models():
    along, corner = 0.0, np.pi / 4
    for model in ('cone', 'box', 'scaledBox', 'orientedBox', 'default'):
        assert pushed(model, along) == pytest.approx([-0.3, 0.0], abs=2e-3)
    # A cone's limit is on the length, a box's on each component.
    assert pushed('cone', corner) == pytest.approx([-0.3 / 2**0.5] * 2, abs=2e-3)
    for model in ('box', 'scaledBox', 'orientedBox'):
        assert pushed(model, corner) == pytest.approx([-0.3, -0.3], abs=2e-3)


def test_oriented_box_has_two_coefficients():
    tied = {'secondaryFriction': 0.1, 'primaryDirection': [0, 1, 0]}
    assert pushed('orientedBox', 0.0, **tied) == pytest.approx([-0.1, 0.0], abs=2e-3)
    assert pushed('orientedBox', np.pi / 2, **tied) == pytest.approx([0.0, -0.3], abs=2e-3)
    # Other models know no secondary friction.
    assert pushed('scaledBox', 0.0, **tied) == pytest.approx([-0.3, 0.0], abs=2e-3)


def test_reference_frame_of_the_oriented_box():
    turned = State(np.zeros(3), quaternion_from_rpy(0, 0, np.pi / 2), np.zeros(6))
    vehicle = dry(BOX)
    for name, expected in (('', [0, -1, 0]), ('body', [1, 0, 0])):
        environment = ground(
            frictionModel='orientedBox', primaryDirection=[1, 0, 0], referenceBodyName=name
        )
        pairs = pair_table(vehicle, environment).select(np.arange(26))
        direction = pairs.primary_in_body(turned.orientation)
        assert direction[0] == pytest.approx(expected, abs=1e-12)


def test_surface_viscosity_lets_a_body_creep():
    sv = 1e-3  # m/(s N) at each of nine points
    slope = 0.2
    states, _ = run(
        dry(BOX), ground(slope, friction=0.9, surfaceViscosity=sv), on_slope(slope, 0.1), 2.0
    )
    speed = np.linalg.norm(states[-1].velocity[:3])
    assert speed == pytest.approx(sv * 10 * G * np.sin(slope) / 9, rel=1e-3)


# ---- adhesion -------------------------------------------------------------------------------


@pytest.mark.parametrize(('share', 'holds'), [(0.99, True), (1.01, False)])
def test_adhesion_holds_up_to_its_force(share, holds):
    vehicle, environment = dry(BOX), ground(adhesionForce=50.0, friction=0.5)
    lift = 10 * G + share * 50.0

    def push(time, state):
        return np.array([0, 0, min(time, 1.0) * lift, 0, 0, 0])

    states, _ = run(vehicle, environment, state_at_rest((0.0, 0.0, 0.1)), 2.0, push)
    assert (states[-1].position[2] < 0.101) == holds


def test_adhesion_needs_its_overlap():
    environment = ground(adhesionForce=50.0, adhesivOverlap=0.01)
    states, _ = run(
        dry(BOX),
        environment,
        state_at_rest((0.0, 0.0, 0.1)),
        1.0,
        lambda time, state: np.array([0, 0, (10 * G + 5) * (time > 0.3), 0, 0, 0]),
    )
    assert states[-1].position[2] > 0.102


def test_adhesion_presses_friction_up():
    _, wrenches = run(
        dry(BOX),
        ground(adhesionForce=40.0, friction=0.3),
        State(np.array([0, 0, 0.1]), state_at_rest().orientation, np.array([1.0, 0, 0, 0, 0, 0])),
        0.05,
    )
    assert -wrenches[-1][0] == pytest.approx(0.3 * (10 * G + 40), rel=3e-3)
    assert wrenches[-1][2] == pytest.approx(10 * G, rel=3e-3)


# ---- vehicles -------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize('name', [*VEHICLES, *OTHERS, 'torpedo_auv', 'wamv'])
def test_vehicles_rest_on_sand(name):
    vehicle = vehicle_of(name)
    seabed = Plane('seabed', np.array([0, 0, -5.0]), np.array([0, 0, 1.0]), 'sand')
    environment = Environment(scene=Scene((seabed,)))
    low = vehicle.contact.position[:, 2].min()
    here = state_at_rest((0.0, 0.0, -5.0 - low + 0.002))
    afloat = float((weight(vehicle, here, environment) + buoyancy(vehicle, here, environment))[2])
    ballast = np.array([0, 0, -max(afloat, 0.0) - 0.2 * vehicle.inertia.mass * G])
    com = vehicle.inertia.center_of_mass

    def push(time, state):
        down = to_body(state.orientation, ballast)
        return np.concatenate([down, np.cross(com, down)]) + drag(vehicle, state, environment)

    states, _ = run(vehicle, environment, here, 3.0, push)
    gaps = np.array([contact_geometry(vehicle, s, environment).gap.min() for s in states])
    assert gaps.min() > -1e-3
    if name != 'surface_vessel':  # it falls over its keel
        assert gaps[-1] <= 1e-6
        assert np.abs(states[-1].velocity).max() < 1e-4


def test_bluerov2_rests_on_the_bottom_of_a_pool():
    vehicle = vehicle_of('bluerov2', coefficients='von_benzon2022')
    environment = replace(load_environment('pool'), water_density=1000.0)
    simulation = Simulation(
        vehicle, environment=environment, initial=state_at_rest((1.0, 2.0, -4.0 + 0.127 + 0.05))
    )
    pwm = np.full(6, 1500.0)
    *_, last = simulation.ticks(lambda time, state: pwm, 6.0)
    assert tuple(last.sources) == wrench_sources(vehicle, environment)
    assert last.sources['contact'][2] == pytest.approx(0.98, rel=1e-3)
    assert np.abs(last.state.velocity).max() < 1e-6
    gap = contact_geometry(vehicle, last.state, environment).gap.min()
    assert -1e-3 < gap < 1e-6


def test_so_many_points_can_lie_in_a_plane():
    rim = dry(('<cylinder radius="0.2" length="0.3"/>', (0.2, 0.2, 0.2))).contact
    assert [dry(BOX).contact.level, dry(BALL).contact.level, rim.level] == [9, 1, 24]
    assert crane(2, '0 0 1').contact.level == 10


def test_eight_pairs_of_many_bear_a_vehicle(monkeypatch):
    monkeypatch.setattr('marine_sim_ros.physics.contact.contact.MAX_PAIRS', 8)
    vehicle, environment = dry(BOX), ground(friction=0.5)
    start = State(np.array([0, 0, 0.15]), quaternion_from_rpy(0.2, 0.1, 0), np.zeros(6))
    states, _ = run(vehicle, environment, start, 2.0)
    assert len(contacts_within(vehicle, states[-1], environment, 0.01)[1]) == 9
    assert np.abs(states[-1].velocity).max() < 1e-3
    assert abs(contact_geometry(vehicle, states[-1], environment).gap.min()) < 1e-3


def driven(name, environment, seed, seconds):
    """Drive a vehicle at random, much harder than it can, near the ground; yield every tick.

    Yields:
        state before, state after, wrench of contact, its memory.
    """
    vehicle, rng = vehicle_of(name), np.random.default_rng(seed)
    size = vehicle.inertia.mass / 11
    start = environment.scene.ground(0.0, 0.0) + 1.2 * vehicle.contact.reach
    state, memory, since = state_at_rest((0.0, 0.0, start)), None, 0.0
    rotors = np.zeros(len(vehicle.thrusters))
    for i in range(round(seconds / DT)):
        if i % 100 == 0:
            pwm = rng.uniform(1100, 1900, len(rotors))
            kick = size * np.concatenate([rng.normal(0, 150, 3), rng.normal(0, 5, 3)])
            down = size * 80 * rng.uniform()
        wrench, memory = contact_wrench(vehicle, state, environment, memory, dt=since)
        output, rotors = thrusters(vehicle, state, environment, rotors, pwm=pwm, dt=since)
        home = -8 * size * state.position * np.array([1.0, 1.0, 0.0]) - np.array([0, 0, down])
        pull = np.concatenate([to_body(state.orientation, home), np.zeros(3)])
        total = wrench + output.wrench + pull + kick * (i % 100 < 20)
        total = total + drag(vehicle, state, environment)
        total = total + weight(vehicle, state, environment)
        total = total + buoyancy(vehicle, state, environment)
        after, since = rigid_body_step(vehicle, state, environment, total, DT), DT
        yield vehicle, state, after, wrench
        state = after


@pytest.mark.long
@pytest.mark.parametrize('scene', ['deep_rock', 'shallow_sand'])
@pytest.mark.parametrize('name', ['bluerov2', 'investigator90'])
def test_driven_hard_into_the_ground(name, scene):
    environment = load_environment(scene)
    hits, total = 0, 0.0
    for vehicle, before, after, wrench in driven(name, environment, 7, 2.0):
        assert np.all(np.isfinite(np.concatenate(after)))
        if not np.any(wrench):
            continue
        hits += 1
        work = DT * float(wrench @ (before.velocity + after.velocity)) / 2
        # What pushing out of a penetration takes, and forces that changed within the step.
        assert work < 0.02 * vehicle.inertia.mass
        total += work
        assert contact_geometry(vehicle, after, environment).gap.min() > -0.02
    assert hits > 20
    assert total < 0


def at_full_thrust(seconds, dt):
    """Drive a BlueROV2 at full thrust at random about deep rock, mostly downwards.

    Yields:
        the tick, the state after it, and the sum of normal impulses in N·s.
    """
    vehicle, environment = vehicle_of('bluerov2'), load_environment('deep_rock')
    rng = np.random.default_rng(7)
    axes, places = vehicle.thrusters.axis, vehicle.thrusters.position
    mixer = np.concatenate([axes, np.cross(places, axes)], axis=1)
    start = state_at_rest((0.0, 0.0, environment.scene.ground(0.0, 0.0) + 0.5))
    simulation = Simulation(vehicle, environment=environment, initial=start, dt=dt)
    for i in range(round(seconds / dt)):
        if i % round(1.0 / dt) == 0:
            goal = rng.normal(0, [1.0, 1.0, 1.5, 0.3, 0.3, 0.3]) - [0, 0, 0.7, 0, 0, 0]
        at = simulation.state
        home = to_body(at.orientation, goal[:3] - at.position * [0.1, 0.1, 0.0])
        wanted = mixer @ np.concatenate([home, goal[3:]])
        tick = simulation.tick(1500 + 400 * wanted / np.abs(wanted).max())
        yield vehicle, environment, tick, simulation.state


@pytest.mark.long
@pytest.mark.parametrize(
    ('seconds', 'dt', 'deepest', 'excess'), [(300.0, 0.1, 0.06, 1.0), (5.0, DT, 1e-3, 1e-6)]
)
def test_full_thrust_into_rock_gains_no_energy(seconds, dt, deepest, excess):
    """What contact adds in a step is the kinetic energy after it, less that without contact.

    Impulses p are for the forces of the step before: forces that changed by ΔF since bring p·M⁻¹
    ΔF dt of their own; what is δ deep is pushed out at δ/dt and 0.2 m/s at most. Beyond that
    nothing may come out of rock, but for what rounding and, in steps of 0.1 s, drag that changes
    within a step make of it: 1 J of some 40 J.
    """
    hits, gained, before, depth = 0, 0.0, np.zeros(6), 0.0
    for vehicle, environment, tick, after in at_full_thrust(seconds, dt):
        push, state = tick.sources['contact'], tick.state
        assert np.all(np.isfinite(np.concatenate(after)))
        assert np.linalg.norm(after.velocity[:3]) < 2.5
        assert after.position[2] - environment.scene.ground(*after.position[:2]) > 0.05
        others = tick.total - push
        if np.any(push):
            hits += 1
            free = rigid_body_step(vehicle, state, environment, others, dt)
            work = float(kinetic_energy(vehicle, after) - kinetic_energy(vehicle, free))
            late = dt * dt * push @ vehicle.inverse_mass_matrix @ (others - before)
            gap = contacts_within(vehicle, state, environment, 0.01)[0].gap
            depth = max(depth, -gap.min(initial=0.0))
            out = min(0.2 * dt, depth) * 2 * np.linalg.norm(push)
            assert work < max(late, 0.0) + out + excess
            gained += work
        before = others
    assert depth < deepest
    assert hits > 0.2 * seconds / dt
    assert gained < -2 * seconds  # J, that the thrusters brought and rock took


@pytest.mark.parametrize('speed', [1.0, 10.0, 100.0])
def test_nothing_passes_a_surface(speed):
    environment = ground(friction=0.3, restitution=0.4)
    tilted = quaternion_from_rpy(0.4, 0.3, 0.2)
    start = State(np.array([0, 0, 1.0]), tilted, np.zeros(6))
    fall = to_body(tilted, np.array([0.3 * speed, 0.0, -speed]))
    start = start._replace(velocity=np.concatenate([fall, [1.0, 2.0, 3.0]]))
    vehicle = dry(BOX)
    energy = kinetic_energy(vehicle, start)
    states, _ = run(vehicle, environment, start, 1.0)
    gaps = [contact_geometry(vehicle, s, environment).gap.min() for s in states]
    # Corners turn within a step, as far as ω² r dt²/2 off their tangents.
    fastest = max(np.linalg.norm(s.velocity[3:]) for s in states)
    assert min(gaps) > -1e-3 - (fastest * DT) ** 2
    for state in states:
        potential = 10 * G * (state.position[2] - 1.0)
        # The integrator itself gains ½ (ω dt)² a step by its explicit Coriolis terms.
        growth = np.exp(fastest**2 * DT * 1.0)
        assert kinetic_energy(vehicle, state) + potential < energy * growth


def test_no_wrench_without_a_scene_far_away_and_in_the_first_tick():
    vehicle = vehicle_of('bluerov2')
    state = state_at_rest((0.0, 0.0, -1.0))
    wrench, memory = contact_wrench(vehicle, state, Environment(), None, dt=0.0)
    assert memory is None
    assert not np.any(wrench)
    environment = load_environment('pool')
    wrench, memory = contact_wrench(vehicle, state, environment, None, dt=DT)
    assert not np.any(wrench)
    wrench, memory = contact_wrench(vehicle, state, environment, memory, dt=DT)
    assert not np.any(wrench)
    inside = state_at_rest((0.0, 0.0, -4.0))
    assert not np.any(contact_wrench(vehicle, inside, environment, memory, dt=0.0)[0])
    assert contact_wrench(vehicle, inside, environment, memory, dt=DT)[0][2] > 0
    assert FORCES['contact'].impulsive


def test_other_array_libraries_give_the_same():
    xp = pytest.importorskip('array_api_strict')
    vehicle = vehicle_of('bluerov2', coefficients='wu2018')
    environment = ground(0.1, material='rock')
    rng = np.random.default_rng(3)
    touched = 0
    for _ in range(3):
        tilt = quaternion_from_rpy(*rng.normal(0, 0.2, 3))
        before = State(np.array([0, 0, 0.14]), tilt, rng.normal(0, 0.3, 6) - 0.5 * np.eye(6)[2])
        after = before._replace(velocity=before.velocity + rng.normal(0, 0.01, 6))
        wrenches = []
        for library in (np, xp):
            states = [State(*map(library.asarray, state)) for state in (before, after)]
            _, memory = contact_wrench(vehicle, states[0], environment, None, dt=0.0)
            wrench, memory = contact_wrench(vehicle, states[1], environment, memory, dt=DT)
            again, _ = contact_wrench(vehicle, states[1], environment, memory, dt=DT)
            wrenches.append([np.asarray(wrench), np.asarray(again)])
        expected, found = wrenches
        assert found == pytest.approx(np.array(expected), abs=1e-9 * np.abs(expected).max())
        touched += np.any(expected)
    assert touched


def crane(boom, axis, at=0.0, radius=0.05):
    """Return a box and a boom, 10 kg in all, that turns at x = ``at``, a ball at its end."""
    return load_vehicle(f"""
    <robot name="crane"><contact_material name="thing"/>
      <hydrodynamics><linear_damping>0 0 0 0 0 0</linear_damping></hydrodynamics>
      <link name="base_link">
        <inertial><mass value="{10 - boom}"/>
          <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial>
        <collision><geometry><box size="0.4 0.4 0.2"/></geometry></collision></link>
      <link name="boom">
        <inertial><origin xyz="0.3 0 0"/><mass value="{boom}"/>
          <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
        <collision><origin xyz="0.3 0 0"/><geometry><sphere radius="{radius}"/></geometry>
        </collision></link>
      <joint name="turn" type="revolute"><parent link="base_link"/><child link="boom"/>
        <origin xyz="{at} 0 0"/><axis xyz="{axis}"/>
        <limit lower="-3.2" upper="3.2" effort="1" velocity="1"/></joint>
    </robot>""")


def test_a_link_that_pushes_into_the_ground_lifts_the_vehicle():
    """At 0.6 rad its end would be 0.3 sin 0.6 + 0.02 = 0.19 m below, the ground is 0.1 m below."""
    vehicle = crane(0.1, '0 1 0', at=0.2, radius=0.02)
    environment = ground(friction=0.5)
    target, seconds = np.array([0.6]), 5.0
    joints, arm, memory, since = joints_at_rest(vehicle.manipulator), None, None, 0.0
    state = state_at_rest((0.0, 0.0, 0.1))
    for _ in range(round(seconds / DT)):
        joints, body, reaction, arm = arm_step(
            vehicle, state, joints, arm, target=target, dt=since
        )
        push, memory = contact_wrench(vehicle, state, environment, memory, dt=since, body=body)
        total = push + reaction + weight(body, state, environment)
        state, since = rigid_body_step(body, state, environment, total, DT), DT
    assert joints.position[0] == pytest.approx(0.6, abs=1e-3)
    assert np.abs(state.velocity).max() < 1e-4
    turn = rotation_matrix(state.orientation)
    points = body.contact.position @ turn.T + state.position
    heights = points[:, 2] - body.contact.radius
    end = int(np.argmax(body.contact.radius))
    assert abs(heights[end]) < 1e-3
    # It stands on its rear edge and on the ball: both are at z = 0.
    rear = points[(body.contact.position[:, 0] < -0.19) & (body.contact.position[:, 2] < -0.09)]
    assert np.abs(rear[:, 2]).max() < 1e-3
    assert points[~np.isin(np.arange(len(points)), [end]), 2].max() > 0.2
    front = (body.contact.position[:-1, 0] > 0.19) & (body.contact.position[:-1, 2] < -0.09)
    assert heights[:-1][front].min() > 0.05
    # Force balance: the ball bears W (c − r)/(e − r), moments about the rear edge.
    center = turn @ body.inertia.center_of_mass + state.position
    lever = points[end, 0] - rear[0, 0]
    share = 10 * G * (center[0] - rear[0, 0]) / lever
    pairs = pair_layout(body.contact, environment.scene)
    of_end = pairs.point[memory.pair.astype(int)] == end
    lift = (memory.impulse @ turn.T)[:, 2] / DT
    assert lift[of_end].sum() == pytest.approx(share, rel=0.01)
    assert lift[~of_end].sum() == pytest.approx(10 * G - share, rel=0.01)
    assert (turn @ push[:3])[2] == pytest.approx(10 * G, rel=1e-3)


def test_the_weight_of_an_arm_counts_where_it_is():
    vehicle = crane(2, '0 0 1')
    assert vehicle.contact.radius.max() == 0.05
    environment = ground(friction=0.5)
    turned = pose_vehicle(vehicle, link_poses(vehicle.manipulator, np.array([np.pi / 2])))
    assert turned.inertia.center_of_mass == pytest.approx([0.0, 0.06, 0.0], abs=1e-12)
    assert turned.contact.position[-1] == pytest.approx([0.0, 0.3, 0.0], abs=1e-12)
    state, memory, since = state_at_rest((0.0, 0.0, 0.1)), None, 0.0
    for _ in range(300):
        wrench, memory = contact_wrench(vehicle, state, environment, memory, dt=since, body=turned)
        total = wrench + weight(turned, state, environment) + buoyancy(turned, state, environment)
        state, since = rigid_body_step(turned, state, environment, total, DT), DT
    # It carries 10 kg where they hang: 98 N at y = 0.06, and so the moment about x.
    assert wrench[2] == pytest.approx(10 * G, rel=1e-3)
    assert wrench[3] == pytest.approx(10 * G * 0.06, rel=1e-2)
    assert abs(wrench[4]) < 1e-2
    assert np.abs(state.velocity).max() < 1e-4


def test_hertz_of_numbers():
    """Johnson (1985), eq. 4.23; nothing pulls."""
    given = {'modulus': 3e6, 'radius': 0.04}
    assert hertz_force(0.01, **given) == pytest.approx(4 / 3 * 3e6 * 0.2 * 1e-3)
    assert hertz_force(-0.01, **given) == 0


@pytest.mark.parametrize('seed', range(60))
def test_the_kernel_solves_what_numpy_solves(seed):
    """Adhesion, drift, lagged and oriented friction, spheres, rebounds: one method twice."""
    rng, count, speed = np.random.default_rng(seed), 5, (0.0, 0.02, 1.0)[seed % 3]
    normal = rng.normal(size=(count, 3)) * [0.3, 0.3, 0.1] + [0, 0, 1]
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    gap, point = rng.uniform(-2e-3, 1e-3, count), rng.normal(size=(count, 3))
    columns = np.array(
        [
            *rng.uniform(1e5, 1e7, (2, count)),
            rng.choice([0.0, 0.5], count),
            rng.uniform(0.01, 0.1, count),
            rng.choice([0.0, 5.0], count),
            np.full(count, 1e-4),
            *rng.integers(0, 2, (4, count)),
            rng.choice([0.0, 0.1], count),
            *rng.uniform(0.1, 0.8, (2, count)),
            *rng.uniform(0.0, 1e-3, (2, count)),
            *rng.normal(size=(3, count)) * rng.integers(0, 2, count),
        ]
    )
    turned = rng.normal(size=4)
    state = State(np.zeros(3), turned / np.linalg.norm(turned), speed * rng.normal(size=6))
    inertia = rng.normal(size=(6, 6))
    mass = inertia @ inertia.T + 10 * np.eye(6)
    step = StepPrediction(mass, np.linalg.inv(mass), state.velocity - [0, 0, 0.05, 0, 0, 0], 0.005)
    previous, drift = rng.normal(size=(2, count, 3)) * [[[0.1]], [[0.01]]]
    pairs = PairTable(columns, True, ()).select(np.arange(count))
    touch = ContactGeometry(gap, normal, point)
    adhesion = adhesion_force(pairs, gap)
    expected = solve_contacts(pairs, touch, state, step, previous, adhesion, drift)
    values = np.column_stack(touch)
    contacts = ContactArrays.with_scene(state, values, columns, previous, drift)
    found = solve_contact_arrays(contacts, state.velocity, step, refined=False)
    for one, other in zip(found, expected, strict=False):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7 * (1 + np.abs(other).max()))
