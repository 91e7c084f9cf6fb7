# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies: momentum, friction, stacks, floating, a vehicle that pushes, and what sees them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from bodies import environment, momentum, run
from conftest import examples, marine_sim
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.description import recorded_neighbours, recorded_vehicle
from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.model import free_bodies
from marine_sim_ros.model.appearance import Appearance
from marine_sim_ros.physics.buoyancy import voxel_buoyancy
from marine_sim_ros.physics.contact.group_motion import (
    BodyStates,
    ContactBody,
    GroupMotion,
    PassiveBodies,
)
from marine_sim_ros.physics.contact.world import ContactWorld
from marine_sim_ros.physics.swimming import SWIMMING
from marine_sim_ros.physics.wrench_observer import StepPrediction, state_terms
from marine_sim_ros.scene.bodies import body_hits
from marine_sim_ros.scene.drawing import material_colour
from marine_sim_ros.sensors.seen_bodies import body_of
from marine_sim_ros.sim import body_simulation
from marine_sim_ros.sim.body_simulation import BodySimulation
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import Simulation, simulate

DT = 0.005
SHAPES = {
    'box': 'shape: box, size: [0.4, 0.3, 0.2]',
    'cylinder': 'shape: cylinder, radius: 0.15, length: 0.5',
    'sphere': 'shape: sphere, radius: 0.2',
}


def line_of(name, shape, x, velocity, material='steel', **more):
    others = ''.join(f', {key}: {value}' for key, value in more.items())
    return (
        f'  - {{name: {name}, {SHAPES[shape]}, position: [{x}, 0.03, -5], density: 2000, '
        f'drag_coefficient: 0, velocity: {velocity}, material: {material}{others}}}\n'
    )


@settings(max_examples=examples(25) // 5, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(SHAPES)), min_size=2, max_size=2),
    st.lists(st.floats(-1.5, 1.5), min_size=6, max_size=6),
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
    st.sampled_from(['steel', 'rubber', 'HDPE']),
)
def test_bodies_that_collide_keep_momentum_and_gain_no_energy(shapes, velocity, rpy, material):
    velocity = [1.0 + abs(velocity[0]), *np.round(velocity[1:], 4).tolist()]
    text = 'bodies:\n' + line_of('a', shapes[0], 0.0, velocity, material)
    text += line_of('b', shapes[1], 0.62, [0, 0, 0], material, rpy=np.round(rpy, 4).tolist())
    env = environment(text, gravity=0.0)
    states = run(env, 0.4)
    before, energy = momentum(env, states, 0)
    for tick in range(0, 81, 10):
        now, left = momentum(env, states, tick)
        np.testing.assert_allclose(now, before, atol=1e-9 * max(1.0, np.abs(before).max()))
        assert left <= energy * (1 + 1e-6)
        energy = max(left, 1e-12)


def test_a_sphere_that_hits_an_equal_one_head_on_passes_its_speed_on():
    """Of restitution e: v₁' = (1 − e) v/2, v₂' = (1 + e) v/2."""
    text = 'bodies:\n' + line_of('a', 'sphere', 0.0, [1, 0, 0]).replace('0.03', '0.0')
    text += line_of('b', 'sphere', 0.6, [0, 0, 0]).replace('0.03', '0.0')
    env = environment(text, gravity=0.0)
    states = run(env, 0.3)
    material = 1 - 0.4  # viscosity of steel in config/materials.yaml: e = 1 − v
    speeds = [states[name].velocity[-1, 0] for name in 'ab']
    assert speeds == pytest.approx([(1 - material) / 2, (1 + material) / 2], abs=2e-3)


def test_the_order_of_bodies_changes_nothing():
    lines = {
        'a': line_of('a', 'box', 0.0, [1.0, 0.0, 0.1, 0.2, 0.3, 0.4]),
        'b': line_of('b', 'cylinder', 0.42, [0, 0, 0], rpy=[0.4, 1.2, 0.3]),
        'c': line_of('c', 'sphere', 0.9, [-0.5, 0, 0]),
    }
    usual, other = (
        run(environment('bodies:\n' + ''.join(lines[n] for n in names), gravity=0.0), 0.3)
        for names in ('abc', 'cba')
    )
    for name in 'abc':
        np.testing.assert_array_equal(usual[name].position, other[name].position)
    assert abs(usual['b'].velocity[-1, 0]) > 0.01


MU = math.sqrt(0.57 * 0.65)  # steel on sand: roughness of config/materials.yaml
SLOPE = """
seabed: {{depth: 5.0, material: sand, slope: {{angle: {angle}}}}}
bodies:
  - {{name: box, shape: box, size: [0.4, 0.4, 0.2], position: [0, 0, {z}], on_seabed: true,
     rpy: [0, {pitch}, 0], mass: 40, volume: 0, drag_coefficient: 0, material: steel}}
"""


@pytest.mark.parametrize(('share', 'slides'), [(0.99, False), (1.01, True)])
def test_a_box_slides_at_the_angle_of_its_friction(share, slides):
    angle = math.atan(share * MU)
    text = SLOPE.format(angle=math.degrees(angle), z=0.1 / math.cos(angle), pitch=-angle)
    # The first tick has no contact: the box gains some speed, which friction takes half a second
    # to brake where it is hardly more than the pull.
    states = run(environment(text), 2.4, 0.01)['box']
    path = np.linalg.norm(states.position - states.position[180], axis=1)
    assert (path[-1] > 5e-3) == slides
    if not slides:
        assert path[-1] < 1e-5


STACK = """
seabed: {depth: 5.0, material: sand}
bodies:
"""


def box_line(i):
    return (
        f'  - {{name: box_{i}, shape: box, size: [0.4, 0.4, 0.2], '
        f'position: [{0.02 * (-1) ** i}, 0, {0.1 + 0.2 * i}], on_seabed: true, density: 2500, '
        'material: steel}\n'
    )


@pytest.mark.parametrize(
    ('count', 'duration', 'sleeps'),
    [
        (3, 0.75, True),
        pytest.param(5, 600.0, True, marks=(pytest.mark.long, pytest.mark.slow)),
        pytest.param(5, 60.0, False, marks=(pytest.mark.long, pytest.mark.slow)),
    ],
)
def test_boxes_rest_on_each_other(count, duration, sleeps, monkeypatch):
    if not sleeps:
        monkeypatch.setattr(body_simulation, '_REST_TIME', 10**12)
    states = run(
        environment(STACK + ''.join(map(box_line, range(count)))),
        duration,
        0.005 if duration < 1 else 0.02,
    )
    for i in range(count):
        path = states[f'box_{i}'].position
        assert np.abs(path[-1] - path[100]).max() < 1e-4
        assert path[-1, 2] == pytest.approx(-4.9 + 0.2 * i, abs=1e-3)
        assert np.abs(states[f'box_{i}'].velocity[-1]).max() < 1e-6


CRATE = 'shape: box, size: [0.4, 0.4, 0.3], on_seabed: true, mass: 60'
CRATES = f"""seabed: {{depth: 5.0, material: hard_sand}}
bodies:
  - {{name: lower, {CRATE}, position: [0, 0, 0.15]}}
  - {{name: upper, {CRATE}, position: [0, 0, 0.45]}}
  - {{name: far, {CRATE}, position: [5, 0, 0.15]}}
"""
BALL = '  - {name: ball, shape: sphere, radius: 0.1, position: [0.1, 0, -2.4], mass: 8}\n'


def test_bodies_at_rest_wake_when_one_comes_near_and_move_as_if_never_at_rest(monkeypatch):
    moved, wrenches = [], ContactWorld.wrenches

    def note_and_move(contact, movers, *arguments):
        moved.extend(movers)
        return wrenches(contact, movers, *arguments)

    monkeypatch.setattr(ContactWorld, 'wrenches', note_and_move)
    env = environment(CRATES + BALL)
    states = run(env, 1.9)
    counts = {name: moved.count(name) for name in states}
    assert counts['ball'] == 381
    assert counts['far'] < 150  # it rests from 0.5 s on
    assert counts['far'] < counts['lower'] == counts['upper'] < 381
    still = slice(round(1.1 / DT), round(1.2 / DT))
    assert not states['upper'].velocity[still].any()
    assert np.abs(states['upper'].velocity[round(1.2 / DT) :]).max() > 3e-4
    monkeypatch.setattr(body_simulation, '_REST_TIME', 10**12)
    awake = run(env, 1.9)
    for name, own in states.items():
        np.testing.assert_allclose(own.position, awake[name].position, atol=1e-6)


LOWER = {
    'body': 'bodies:\n  - {{name: lower, {}, position: [0, 0, -4.85], mass: 600}}\n',
    'obstacle': 'obstacles:\n  - {{name: lower, {}, position: [0, 0, -4.85]}}\nbodies:\n',
}
LOAD = 'shape: box, size: [0.1, 0.1, 0.1], position: [0.12, 0, -4.55], mass: 60'


@pytest.mark.parametrize('kind', LOWER)
@pytest.mark.parametrize(
    'shape', ['box, size: [0.4, 0.4, {}]', 'cylinder, radius: 0.2, length: {}']
)
def test_a_load_near_the_rim_does_not_tilt_a_body_flush_with_what_it_stands_on(kind, shape):
    """No point of the rim may press sideways in place of upwards."""
    shape = f'shape: {shape}'
    text = 'seabed: {depth: 5.0, material: hard_sand}\n' + LOWER[kind].format(shape.format(0.3))
    text += f'  - {{name: upper, {shape.format(0.1)}, position: [0, 0, -4.65], mass: 30}}\n'
    states = run(environment(text + f'  - {{name: load, {LOAD}}}\n'), 0.6)
    for own in states.values():
        np.testing.assert_allclose(own.position[-1], own.position[0], atol=1e-4)
    assert np.abs(states['upper'].orientation[-1, :2]).max() < 1e-4


def test_bodies_at_rest_wake_when_the_current_changes():
    world = BodySimulation(env := environment(CRATES), DT)
    stream = env.with_current(np.array([3.0, 0.0, 0.0]))
    for k in range(400):
        world.tick(k * 5_000_000, env if k < 200 else stream, {})
    assert all(state.velocity[0] > 0.05 for state in world.states.values())


def test_a_body_that_nothing_supports_does_not_come_to_rest():
    world = BodySimulation(
        env := environment(
            'bodies:\n' + line_of('a', 'box', 0.0, '[0.000001, 0, 0]'), gravity=0.0
        ),
        DT,
    )
    for k in range(300):
        world.tick(k * 5_000_000, env, {})
    assert world.states['a'].position[0] == pytest.approx(299 * DT * 1e-6, rel=1e-3)


def test_a_sphere_floats_by_archimedes():
    """A sphere of half the density of the water floats with its middle at the surface."""
    text = 'bodies:\n  - {name: float, shape: sphere, radius: 0.3, position: [0, 0, 0.02], '
    states = run(environment(text + 'density: 513.5, drag_coefficient: 3}\n'), 12.0, 0.02)
    assert states['float'].position[-1, 2] == pytest.approx(0.0, abs=2e-3)


SEA = """
seabed: {depth: 8.0, material: sand}
current: {velocity: [0.3, 0.1, 0.0]}
waves: {type: jonswap, significant_height: 0.8, peak_period: 4.0, gamma: 3.3, direction: 30.0,
  spreading: 10.0, components: 8, seed: 2}
bodies:
  - {name: crate, shape: box, size: [0.6, 0.4, 0.3], position: [0, 0, 0], density: 600,
     rpy: [0.2, 0.1, 1]}
  - {name: buoy, shape: sphere, radius: 0.25, position: [2, 0, 0], density: 300,
     velocity: [1, 0, 0, 0, 2, 3]}
  - {name: drum, shape: cylinder, radius: 0.2, length: 0.7, position: [4, 0, -2], density: 1100}
  - {name: anchor, shape: box, size: [0.3, 0.3, 0.3], position: [6, 0, -7.7], mass: 900,
     volume: 0.02}
"""


def test_bodies_that_are_moved_together_move_as_each_alone(monkeypatch):
    """As the integrator of a vehicle moves each by its forces, but for the axes of these.

    Free bodies are displaced by forces in the axes before the step, vehicles in the mean ones:
    both are of second order in the step.
    """
    env, differences = environment(SEA), {}
    for step in (0.02, 0.01):
        together = run(env, 0.4, step)
        with monkeypatch.context() as patch:
            patch.setattr(body_simulation, '_is_passive', lambda *_: False)
            alone = run(env, 0.4, step)
        assert np.abs(together['buoy'].velocity[-1]).max() > 0.1
        differences[step] = {
            name: max(np.abs(x - y).max() for x, y in zip(own, alone[name], strict=True))
            for name, own in together.items()
        }
    for name, difference in differences[0.01].items():
        assert difference < 3e-3
        assert difference < 0.3 * differences[0.02][name]


@pytest.mark.parametrize('shape', SHAPES)
def test_voxels_of_a_body_float_it_as_those_of_a_hull_do(shape, monkeypatch):
    line = f'bodies:\n  - {{name: a, {SHAPES[shape]}, position: [0, 0, 0], density: 500}}\n'

    def wrenches():
        (body,), result = environment(line).free_bodies, []
        for rpy in ((0.1, 0, 0), (0, 0.3, 0), (0.4, 0.6, 0)):
            for z in (-0.05, 0.0, 0.08):
                state = State(np.array([0, 0, z]), quaternion_from_rpy(*rpy), np.zeros(6))
                result.append(
                    voxel_buoyancy(body.vehicle.hull.voxels, state, Environment(), 1027.0)
                )
        return np.array(result), len(body.vehicle.hull.voxels)

    found, count = wrenches()
    monkeypatch.setattr(free_bodies, '_VOXELS', 1000)
    expected, more = wrenches()
    assert count < 0.3 * more
    size = np.abs(expected[:, :3]).max()
    np.testing.assert_allclose(found[:, :3], expected[:, :3], atol=3e-3 * size)
    np.testing.assert_allclose(found[:, 3:], expected[:, 3:], atol=2e-3 * size * 0.4)


def test_a_fast_slender_body_needs_no_smaller_step():
    """Motion along a line does not make the integrator diverge."""
    text = (
        'bodies:\n  - {name: rod, shape: box, size: [0.2, 0.04, 0.04], position: [0, 0, -5], '
        'density: 7800, volume: 0, drag_coefficient: 0, velocity: [11, 5, 0, 0, 8, 3]}\n'
    )
    env = environment(text, gravity=0.0)
    (rod,) = env.free_bodies
    dry = rod.description.replace('<added_mass>estimate', '<added_mass>0 0 0 0 0 0')
    env = replace(env, free_bodies=(replace(rod, description=dry),))
    states = run(env, 0.4)
    (before, energy), (after, left) = (momentum(env, states, tick) for tick in (0, 80))
    np.testing.assert_allclose(after, before, atol=1e-9 * np.abs(before).max())
    assert left == pytest.approx(energy, rel=1e-9)


@pytest.mark.parametrize('dt', [0.005, 0.02])
@pytest.mark.parametrize('spin', [3.0, 12.0, 30.0])
def test_a_ball_that_rolls_does_not_sink_in(spin, dt):
    """Contact finds its velocity in the axes of its directions, however far the ball turns."""
    env = environment(
        'seabed: {depth: 5.0, material: steel}\nbodies:\n  - {name: ball, shape: sphere, '
        'radius: 0.2, mass: 260, drag_coefficient: 0, position: [0, 0, -4.8], '
        f'velocity: [{0.2 * spin}, 0, 0, 0, {spin}, 0]}}\n'
    )
    states = run(env, 1.0, dt)['ball']
    np.testing.assert_allclose(states.position[:, 2], -4.8, atol=1.5e-3)
    np.testing.assert_allclose(states.velocity[:, 4], spin, rtol=1e-3)


def test_joined_rods_move_alike_at_any_speed():
    """Galileo's invariance, with 0.1 m a step: more than a rod's radius of gyration."""
    rods = ''.join(
        f'  - {{name: {name}, shape: box, size: [0.2, 0.04, 0.04], position: [{x}, 0, -5], '
        f'mass: 2, volume: 0, drag_coefficient: 0, velocity: [%s, {v}, 0, 0, 0, {w}]}}\n'
        for name, x, v, w in (('a', 0.0, 0.2, 2.0), ('b', 0.2, 0.0, -4.0))
    )
    text = 'bodies:\n' + rods + 'joints:\n  - {type: ball, child: a, parent: b, position: '
    poses = []
    for speed in (0.0, 20.0):
        env = environment(text % (speed, speed) + '[0.1, 0, -5]}\n', gravity=0.0)
        env = replace(env, free_bodies=tuple(
            replace(b, description=b.description.replace('mass>estimate', 'mass>0 0 0 0 0 0'))
            for b in env.free_bodies
        ))  # fmt: skip
        states = run(env, 0.5)
        poses.append([states[n].position - [speed * 0.5, 0, 0] for n in 'ab'])
        poses[-1] += [states[n].orientation for n in 'ab']
    for slow, fast in zip(*poses, strict=True):
        np.testing.assert_allclose(fast[-1], slow[-1], atol=2e-3)


def test_a_body_drifts_with_the_current():
    text = 'current: {velocity: [0.5, 0.2, 0.0]}\nbodies:\n'
    for name, x, velocity in (('raft', 0, [0.5, 0.2, 0.0]), ('late', 5, [0, 0, 0])):
        text += f'  - {{name: {name}, shape: box, size: [1, 1, 0.5], position: [{x}, 0, -3], '
        text += f'density: 1027, velocity: {velocity}}}\n'
    states = run(environment(text), 10.0, 0.1)
    along = states['raft'].velocity[:, :2]
    np.testing.assert_allclose(along, np.broadcast_to([0.5, 0.2], along.shape), atol=1e-9)
    late = np.linalg.norm(states['late'].velocity[:, :2] - [0.5, 0.2], axis=1)
    assert np.all(np.diff(late) < 0)
    assert late[-1] < 0.2


@pytest.mark.parametrize(
    ('start', 'current'),
    [
        ((15.0, 0.0, -2.0), (0.0, 0.0, 0.0)),
        ((0.0, 0.0, -6.0), (0.0, 0.0, 0.0)),
        ((-1.0, 7.0, -9.0), (0.2, -0.1, 0.0)),
    ],
)
def test_a_seal_swims_round_its_circle_from_wherever_it_is_put(start, current):
    seal = load_environment('debris').free_bodies[-1]
    at_rest = replace(seal, position=np.array(start), velocity=np.zeros(6))
    water = environment(f'current: {{velocity: {list(current)}}}', free_bodies=(at_rest,))
    states = run(water, 75.0, 0.1)['seal']
    late = slice(500, None)
    x, y, z = states.position[late].T
    assert np.all(np.abs(np.hypot(x, y) - 4.0) < (1.2 if any(current) else 0.6))
    assert np.all(np.abs(z + 6.0) < 0.15)
    assert np.all(np.diff(np.unwrap(np.arctan2(y, x))) > 0)  # counter-clockwise
    axis = rotation_matrix(states.orientation[late])[:, :, 0]
    ahead = states.velocity[late, 0] - axis @ np.array(current)
    np.testing.assert_allclose(ahead, 0.8, rtol=0.2)
    assert axis[:, 2].min() > -0.1
    assert axis[:, 2].max() < 0.1


@pytest.mark.parametrize(
    ('position', 'yaw', 'speed', 'signs'),
    [
        ((4.0, 0.0, -6.0), 90.0, 0.8, (0, 0, 0)),  # on its circle and on its way
        ((4.0, 0.0, -6.0), 90.0, 0.5, (1, 0, 0)),  # slow
        ((4.0, 0.0, -6.0), 60.0, 0.8, (0, 0, 1)),  # its circle is to port
        ((12.0, 0.0, -6.0), 90.0, 0.8, (0, 0, 1)),  # and so it is from outside
        ((4.0, 0.0, -8.0), 90.0, 0.8, (0, -1, 0)),  # too deep: bow up
    ],
)
def test_a_seal_turns_to_where_it_swims(position, yaw, speed, signs):
    seal = load_environment('debris').free_bodies[-1].vehicle
    orientation = quaternion_from_rpy(0.0, 0.0, math.radians(yaw))
    state = State(np.array(position), orientation, np.array([speed, 0, 0, 0, 0, 0]))
    wrench = SWIMMING.wrench(seal, state, Environment())
    acceleration = np.linalg.solve(seal.mass_matrix, wrench)
    np.testing.assert_allclose(acceleration[[1, 2, 3]], 0.0, atol=1e-12)
    assert tuple(np.sign(np.round(acceleration[[0, 4, 5]], 9))) == signs


CRATE = """
seabed: {depth: 3.0, material: sand}
bodies:
  - {name: crate, shape: box, size: [0.4, 0.4, 0.4], position: [1.0, 0, 0.2], on_seabed: true,
     mass: 70, material: HDPE}
"""


def test_a_vehicle_pushes_a_crate_and_feels_what_the_crate_does():
    vehicle = load_vehicle('bluerov2')
    start = state_at_rest((0.35, 0.0, -2.75))._replace(velocity=np.array([0.5, 0, 0, 0, 0, 0]))
    simulation = Simulation(vehicle, environment=environment(CRATE), initial=start, dt=DT)
    assert simulation.body_simulation is not None
    ahead, contact = 1500 + 250 * np.sign(vehicle.thrusters.axis[:, 0].round(3)), []
    for _ in range(300):
        contact.append(simulation.tick(ahead).sources['contact'][0])
    crate = simulation.body_simulation.states['crate'].position
    assert crate[0] > 1.01  # it was pushed along
    assert min(contact) < -10.0
    gap = crate[0] - 0.2 - simulation.state.position[0]
    assert 0.15 < gap < 0.45  # the vehicle is behind it, not in it


def test_a_vehicle_pushes_a_trolley_along_its_rails_and_lets_go():
    run = simulate(
        load_vehicle('bluerov2'),
        load_scenario('push_trolley'),
        environment=load_environment('rails'),
        dt=0.02,
    )
    way = run.body_joints['/bodies/trolley'][1][:, 0]
    assert way[100] < 1e-3  # friction holds it
    assert 2.0 < way[-1] < 3.7
    assert np.ptp(way[-100:]) < 1e-3
    assert run.position[-1, 0] < way[-1]


def test_a_boat_berths_against_a_floating_pontoon():
    """Its bows are 1.186 m ahead of its origin, the pontoon's face is at 7.4 m."""
    run = simulate(
        load_vehicle('otter'),
        load_scenario('berth'),
        environment=load_environment('harbour'),
        dt=0.02,
    )
    at_rest = run.position[-500:]
    np.testing.assert_allclose(at_rest[:, 0], 7.4 - 1.186, atol=5e-3)
    assert np.ptp(at_rest, axis=0).max() < 1e-3
    assert np.abs(run.body_joints['/bodies/pontoon'][1]).max() < 5e-3  # it floats


@pytest.mark.parametrize(
    ('line', 'told'),
    [
        ('{shape: box, size: [1, 1, 1], position: [0, 0, -1]}', 'expected either mass'),
        ('{shape: box, size: [1, 1, 1], position: [0, 0, -1], mass: 1, density: 2}', 'either'),
        ('{shape: cone, position: [0, 0, -1], mass: 1}', "'cone'"),
        ('{shape: box, size: [1, 1, 1], position: [0, 0, -1], mass: 1, velocity: 3}', 'three'),
        ('{file: missing.urdf, position: [0, 0, -1]}', 'missing.urdf'),
        ('{shape: box, size: [1, 1, 1], position: [0, 0, -1], mass: 0}', 'mass'),
        ('{shape: box, size: [1, 1, 1], position: [0, 0, -1], mass: 1, mas: 1}', "'mas'"),
    ],
)
def test_a_body_that_cannot_be_is_refused_in_one_line(line, told):
    with pytest.raises(ParameterError, match=r'bodies\[0\]') as error:
        environment(f'bodies: [{line}]')
    assert told in str(error.value)
    assert '\n' not in str(error.value)


def test_a_body_has_its_own_colour_or_that_of_its_material():
    line = '  - {name: a, shape: box, size: [1, 1, 1], position: [0, 0, -5], density: 500%s}'
    for more, expected in (('', material_colour('steel')), (', color: [1, 0.5, 0]', (1, 0.5, 0))):
        env = environment('bodies:\n' + line % (', material: steel' + more))
        (part,) = Appearance(env.free_bodies[0].vehicle).parts()
        np.testing.assert_allclose(part.colour, expected)


def test_two_bodies_of_one_name_are_refused():
    body = '{name: x, shape: sphere, radius: 1, position: [0, 0, -1], mass: 1}'
    with pytest.raises(ParameterError, match="two bodies are named 'x'"):
        environment(f'bodies: [{body}, {body}]')


def test_a_recording_among_bodies_is_one_of_the_vehicle(tmp_path):
    """Bodies are beside the vehicle in a bag; tools that need a vehicle take the vehicle."""
    world, scenario = tmp_path / 'world.yaml', tmp_path / 'rest.yaml'
    world.write_text(CRATE.replace('crate', 'a_crate'))
    scenario.write_text(
        'duration: 0.1\ninitial: {position: [0, 0, -2]}\nsegments: [{at: 0, pwm: '
        '[1500, 1500, 1500, 1500, 1500, 1500]}]\n'
    )
    run_of = 'bluerov2', '--environment', world, '--scenario', scenario
    code, output = marine_sim('simulate', *run_of, '--record', tmp_path / 'run')
    assert code == 0, output
    bag = read_bag(str(tmp_path / 'run'))
    assert list(bag.vehicles) == ['bluerov2', 'bodies/a_crate']
    around = load_environment(world)
    assert list(recorded_neighbours(bag, 'bluerov2', around)) == ['bodies/a_crate']
    vehicle = recorded_vehicle(bag, 'bluerov2')
    assert vehicle is not None
    assert vehicle.name == 'bluerov2'
    odom = bag.vehicles['bodies/a_crate'].get('odom')
    assert odom is not None
    assert odom.rows[0, :3] == pytest.approx([1.0, 0.0, -2.8])
    code, output = marine_sim('identify', tmp_path / 'run')
    assert code == 2
    assert '--namespace' not in output  # it is too short, and of one vehicle


def test_a_sonar_sees_a_crate():
    """A ray from straight above meets its top."""
    env = environment(CRATE)
    crate = env.free_bodies[0]
    body = replace(
        body_of(crate.vehicle, 'crate'), position=crate.position, orientation=crate.orientation
    )
    ray = np.array([[1.0, 0.0, -1.0]]), np.array([[0.0, 0.0, -1.0]])
    distance, normal = body_hits(body, *ray)
    assert distance == pytest.approx([1.6])  # the top is at -2.6 m
    np.testing.assert_allclose(normal, [[0.0, 0.0, 1.0]], atol=1e-12)


def test_compiled_predictions_are_those_of_the_array_libraries():
    """Free velocity, mass and inverse of bodies that spin in a current, beside ``state_terms``."""
    water = parse_environment(
        'current: {velocity: [0.4, -0.2, 0.1]}\nbodies:\n'
        '  - {name: a, shape: box, size: [0.9, 0.3, 0.2], position: [0, 0, -5], mass: 40}\n'
        '  - {name: b, shape: cylinder, radius: 0.2, length: 1, position: [3, 0, -5], mass: 99}\n'
        '  - {name: c, shape: sphere, radius: 0.3, position: [6, 0, -5], mass: 120}\n',
        'bodies.yaml',
    )
    rng, dt = np.random.default_rng(91), 0.01
    vehicles = {body.name: body.vehicle for body in water.free_bodies}
    (batch,) = PassiveBodies.groups(vehicles)
    for _ in range(20):
        attitude = rng.normal(size=(3, 4))
        attitude /= np.linalg.norm(attitude, axis=1, keepdims=True)
        bodies = {
            name: ContactBody(vehicle, State(rng.normal(size=3), q, 2 * rng.normal(size=6)))
            for (name, vehicle), q in zip(vehicles.items(), attitude, strict=True)
        }
        states = BodyStates.of((*bodies,), bodies)
        motion = batch.motion(bodies, states, water, dt)
        for i, (name, body) in enumerate(bodies.items()):
            terms = state_terms(vehicles[name], body.state, water, dt)
            mass = vehicles[name].mass_matrix + dt * terms.damping
            free = terms.free + dt * np.linalg.solve(mass, terms.known)
            found = GroupMotion.of(
                [body._replace(loose=True)],
                [terms],
                [StepPrediction(mass, np.linalg.inv(mass), free, dt)],
            )
            np.testing.assert_allclose(motion.vectors[:, i], found.vectors[:, 0], atol=1e-10)
            np.testing.assert_allclose(motion.matrices[:, i], found.matrices[:, 0], rtol=1e-10)
