# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints of free bodies: pendulum, chain, stops, friction, springs, loads, momentum, recording."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from bodies import environment, momentum, run
from conftest import ROOT, examples, marine_sim
from hypothesis import given, settings
from hypothesis import strategies as st
from missing import python_without
from scipy.optimize import brentq

from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.model.materials import shipped_materials
from marine_sim_ros.sim.body_simulation import BodySimulation

DT = 0.005
G = 9.8
BARE = 'volume: 0, drag_coefficient: 0'


def rod(angle=0.0, more=BARE, mass=10.0):
    """A rod of 0.5 m that is held at the origin of its joint, 5 m deep, at an angle from level."""
    x, z = 0.25 * math.cos(angle), -5 - 0.25 * math.sin(angle)
    return (
        'bodies:\n  - {name: rod, shape: box, size: [0.5, 0.05, 0.05], '
        f'position: [{x}, 0, {z}], rpy: [0, {angle}, 0], mass: {mass}, {more}}}\n'
    )


def joint(kind='revolute', axis='[0, 1, 0]', more=''):
    about = f', axis: {axis}' if kind in ('revolute', 'prismatic') else ''
    return (
        f'joints:\n  - {{name: q, type: {kind}, child: rod, position: [0, 0, -5]{about}{more}}}\n'
    )


def angles(text, duration, dt=DT):
    """Return where the joint q is at every tick, and the world at the end."""
    env = environment(text)
    world, result = BodySimulation(env, dt), []
    for k in range(round(duration / dt) + 1):
        world.tick(round(k * dt * 1e9), env, {})
        result.append(world.joint_positions['q'])
    return np.array(result), world


@pytest.mark.parametrize(('kind', 'dt'), [('revolute', 0.01), ('ball', 0.02)])
def test_a_pendulum_has_its_period_and_keeps_its_amplitude(kind, dt):
    """T = 2π √(I/(m g l)) (1 + θ₀²/16), I about the joint with the added mass."""
    amplitude, duration = 0.1, 6.0
    env = environment(rod(math.pi / 2 - amplitude) + joint(kind))
    states = run(env, duration, dt)['rod']
    matrix = env.free_bodies[0].vehicle.mass_matrix
    inertia = matrix[4, 4] + matrix[2, 2] * 0.25**2
    period = 2 * math.pi * math.sqrt(inertia / (10 * G * 0.25)) * (1 + amplitude**2 / 16)
    x, t = states.position[:, 0], np.arange(len(states.position)) * dt
    up = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    crossings = t[up] - x[up] / (x[up + 1] - x[up]) * dt
    step = 2 * math.pi * dt / period  # a symplectic step runs fast by its square
    assert np.diff(crossings).mean() == pytest.approx(period, rel=step**2 / 24 + 1e-4)
    swings = [x[a:b].max() for a, b in itertools.pairwise(up)]
    assert len(swings) >= 3
    assert swings[-1] == pytest.approx(0.25 * math.sin(amplitude), rel=3e-3)
    turn = rotation_matrix(states.orientation)
    held = states.position + turn @ np.array([-0.25, 0, 0])
    np.testing.assert_allclose(held, np.broadcast_to([0, 0, -5.0], held.shape), atol=1e-7)


@settings(max_examples=examples(25) // 5, deadline=None)
@given(
    st.sampled_from(['revolute', 'prismatic', 'ball', 'fixed']),
    st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6),
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
)
def test_two_bodies_that_are_joined_keep_momentum_and_what_the_joint_holds(
    kind, velocity, rpy, axis
):
    velocity, rpy = np.round(velocity, 3).tolist(), np.round(rpy, 3).tolist()
    axis = [1.0, *np.round(axis[1:], 3).tolist()]
    about = f', axis: {axis}' if kind in ('revolute', 'prismatic') else ''
    text = (
        'bodies:\n'
        f'  - {{name: a, shape: box, size: [0.4, 0.3, 0.2], position: [0, 0, -5], density: 2000, '
        f'drag_coefficient: 0, velocity: {velocity}}}\n'
        '  - {name: b, shape: cylinder, radius: 0.1, length: 0.4, position: [0.6, 0.1, -5], '
        f'density: 3000, drag_coefficient: 0, rpy: {rpy}}}\n'
        f'joints:\n  - {{type: {kind}, child: b, parent: a, position: [0.3, 0, -5]{about}}}\n'
    )
    env = environment(text, gravity=0.0)
    states = run(env, 0.4)
    before, energy = momentum(env, states, 1)
    after, left = momentum(env, states, 80)
    np.testing.assert_allclose(after, before, atol=1e-9 * max(1.0, np.abs(before).max()))
    assert left <= energy * (1 + 1e-3) + 1e-12
    turns = {n: rotation_matrix(states[n].orientation[80]) for n in 'ab'}
    start = rotation_matrix(states['b'].orientation[0])
    ends = (
        states['a'].position[80] + turns['a'] @ [0.3, 0, 0],
        states['b'].position[80] + turns['b'] @ start.T @ [-0.3, -0.1, 0],
    )
    relative = turns['a'].T @ turns['b'] @ start.T
    gap, along = turns['a'].T @ (ends[1] - ends[0]), np.array(axis) / np.linalg.norm(axis)
    if kind == 'prismatic':
        gap -= along * (along @ gap)
    np.testing.assert_allclose(gap, 0, atol=1e-6)
    if kind == 'revolute':
        np.testing.assert_allclose(relative @ along, along, atol=1e-6)
    elif kind != 'ball':
        np.testing.assert_allclose(relative, np.eye(3), atol=1e-6)


def test_a_chain_hangs_as_its_forces_balance():
    """Of link k from the middle tan θ = (k + 1/2) w/H, with H by the span."""
    span, count, length = 1.2, 10, 0.2
    k = np.arange(count // 2) + 0.5
    pull = brentq(lambda h: length * np.cos(np.arctan(k / h)).sum() - span / 2, 1e-3, 1e3)
    sag = length * np.sin(np.arctan(k / pull)).sum()
    # Begins as a V of two straight lines.
    drop = math.sqrt(1.0 - (span / 2) ** 2)
    pitch = math.atan2(drop, span / 2)
    text, joints = 'bodies:\n', 'joints:\n'
    for i in range(count):
        down = i < count // 2
        steps = i + 0.5 if down else count - i - 0.5
        x, z = (i + 0.5) * length * math.cos(pitch), -5 - steps * length * math.sin(pitch)
        text += (
            f'  - {{name: link_{i:02d}, shape: box, size: [0.2, 0.04, 0.04], rpy: [0, '
            f'{pitch if down else -pitch}, 0], position: [{x}, 0, {z}], density: 4000, '
            'drag_coefficient: 8}\n'
        )
        start = [i * length * math.cos(pitch), 0, -5 - (i if down else count - i) * length * drop]
        parent = 'world' if i == 0 else f'link_{i - 1:02d}'
        joints += (
            f'  - {{type: ball, child: link_{i:02d}, parent: {parent}, '
            f'position: {[float(v) for v in start]}}}\n'
        )
    joints += f'  - {{type: ball, child: link_{count - 1:02d}, position: [{span}, 0, -5]}}\n'
    states = run(environment(text + joints), 8.0, 0.02)
    middle = states[f'link_{count // 2 - 1:02d}']
    turn = rotation_matrix(middle.orientation[-1])
    lowest = middle.position[-1] + turn @ np.array([length / 2, 0, 0])
    speed = max(np.abs(states[f'link_{i:02d}'].velocity[-1]).max() for i in range(count))
    assert speed < 0.02
    np.testing.assert_allclose(lowest, [span / 2, 0, -5 - sag], atol=1e-3)


def test_a_stop_holds_and_a_turn_is_counted_on():
    found, _ = angles(rod() + joint(more=", limits: ['-30 deg', '30 deg']"), 2.0)
    assert found.max() == pytest.approx(math.radians(30), abs=1e-3)
    assert found[-1] == pytest.approx(math.radians(30), abs=1e-5)
    spun = rod(more=f'{BARE}, velocity: [0, 0, 0, 9, 0, 0]')
    found, _ = angles(spun + joint(axis='[1, 0, 0]'), 2.0)
    assert found[-1] == pytest.approx(18.0, rel=1e-3)


@pytest.mark.parametrize(('share', 'moves'), [(0.99, True), (1.01, False)])
def test_a_lever_moves_where_its_friction_is_overcome(share, moves):
    found, _ = angles(rod() + joint(more=f', friction: {share * 10 * G * 0.25}'), 1.0)
    assert (abs(found[-1]) > 0.01) == moves


@pytest.mark.parametrize(('share', 'moves'), [(0.99, True), (1.01, False)])
def test_a_slider_moves_where_its_friction_is_overcome(share, moves):
    found, _ = angles(
        rod() + joint('prismatic', '[0, 0, 1]', f', friction: {share * 10 * G}'), 1.0
    )
    assert (abs(found[-1]) > 0.01) == moves


def test_a_spring_rests_where_its_moment_is_the_weights():
    found, _ = angles(rod() + joint(more=', stiffness: 200, damping: 40'), 2.0)
    assert 200 * found[-1] == pytest.approx(10 * G * 0.25 * math.cos(found[-1]), rel=2e-3)
    found, _ = angles(
        rod() + joint('prismatic', '[0, 0, 1]', ', stiffness: 500, damping: 100, rest: 0.1'), 2.0
    )
    assert found[-1] == pytest.approx(0.1 - 10 * G / 500, abs=1e-4)


@pytest.mark.parametrize(('share', 'moves'), [(0.99, True), (1.01, False)])
def test_a_lever_leaves_a_detent_at_its_effort(share, moves):
    notch = f'{{positions: [0, 1.2], effort: {share * 10 * G * 0.25}, width: 0.05}}'
    found, _ = angles(rod() + joint(more=f', damping: 30, detents: {notch}'), 4.0)
    if moves:  # the weight takes it to the next notch, where less of it is across the rod
        assert found[-1] > 1.2
        assert found[-1] - 1.2 == pytest.approx(
            0.05 / math.pi * math.asin(math.cos(found[-1]) / share), rel=0.02
        )
    else:
        assert 0 < found[-1] < 0.025


def test_a_detent_takes_its_work_where_it_is_left_and_none_where_it_is_passed():
    """½ I (ω₀² − ω²) = 2 T w/π from the bottom of a notch to its edge."""
    speed, effort, width = 2.0, 3.0, 0.1
    spun = rod(more=f'{BARE}, velocity: [0, 0, {-0.25 * speed}, 0, {speed}, 0]')
    notches = f', detents: {{positions: [0, 0.6], effort: {effort}, width: {width}}}'
    env = environment(spun + joint(more=notches), gravity=0.0)
    matrix = env.free_bodies[0].vehicle.mass_matrix
    inertia = matrix[4, 4] + matrix[2, 2] * 0.25**2
    left = math.sqrt(speed**2 - 4 * effort * width / math.pi / inertia)
    states = run(env, 1.0, 0.001)['rod']
    turned = np.cumsum(states.velocity[:, 4]) * 0.001
    for low, high in ((0.15, 0.45), (0.75, 1.0)):
        own = states.velocity[(turned > low) & (turned < high), 4]
        assert len(own) > 50
        np.testing.assert_allclose(own, left, rtol=2e-3)
    assert left < 0.95 * speed
    at_notch = states.velocity[np.argmin(np.abs(turned - 0.6)), 4]
    assert at_notch == pytest.approx(speed, rel=5e-3)


@pytest.mark.parametrize(('load', 'breaks'), [(0.99, True), (1.01, False)])
def test_a_joint_breaks_at_its_load(load, breaks):
    """A rod at rest hangs on its joint with its weight."""
    hanging = rod(math.pi / 2) + joint(more=f', break_force: {load * 10 * G}, break_time: 0')
    found, world = angles(hanging, 0.2)
    assert np.isnan(found[-1]) == breaks
    assert list(world.broken_joints) == (['q'] if breaks else [])
    if breaks:
        assert world.broken_joints['q'][0] == pytest.approx(10 * G, rel=1e-6)
        assert world.states['rod'].velocity[0] > 0.5  # it falls, along its own axis


def test_a_cantilever_breaks_by_its_moment():
    text = rod() + joint('fixed', more=f', break_torque: {0.99 * 10 * G * 0.25}, break_time: 0')
    world = BodySimulation(environment(text), DT)
    for k in range(10):
        world.tick(round(k * DT * 1e9), environment(text), {})
    force, torque = world.broken_joints['q']
    assert force == pytest.approx(10 * G, rel=1e-6)
    assert torque == pytest.approx(10 * G * 0.25, rel=1e-6)


@pytest.mark.parametrize('dt', [0.005, 0.001])
def test_the_load_of_a_joint_is_a_mean_over_its_time(dt):
    """A weight that sets in at once reaches its half after T ln 2."""
    period = 0.2
    hanging = joint(more=f', break_force: {0.5 * 10 * G}, break_time: {period}')
    found, _ = angles(rod(math.pi / 2) + hanging, 0.2, dt)
    assert np.isnan(found).argmax() * dt == pytest.approx(period * math.log(2), abs=2 * dt)


@pytest.mark.parametrize('dt', [0.01, 0.002])
@pytest.mark.parametrize(('share', 'breaks'), [(0.9, True), (1.01, False)])
def test_an_impact_loads_a_mate_with_its_impulse_over_its_time(dt, share, breaks):
    """m v/T, whatever the step."""
    speed, period = 0.8, 0.1
    text = (
        'bodies:\n  - {name: rod, shape: sphere, radius: 0.1, position: [0, 0, -5], mass: 10, '
        f'{BARE}, velocity: [{speed}, 0, 0]}}\n'
    )
    env = environment(text)
    momentum = env.free_bodies[0].vehicle.mass_matrix[0, 0] * speed
    text += (
        f'joints:\n  - {{name: q, type: ball, child: rod, break_time: {period}, break_force: '
        f'{share * momentum / period}, mate: {{position: [0.1, 0, -5], distance: 0.02}}}}\n'
    )
    env = environment(text, gravity=0.0)
    world = BodySimulation(env, dt)
    for k in range(round(0.5 / dt)):
        world.tick(round(k * dt * 1e9), env, {})
    assert math.isnan(world.joint_positions['q']) == breaks
    assert (world.states['rod'].velocity[0] < 1e-6) != breaks


@pytest.mark.parametrize(('share', 'breaks'), [(0.49, True), (0.51, False)])
def test_two_hinges_share_a_weight(share, breaks):
    """Nothing but the weight loads them, although five of their ten constraints are redundant."""
    text, hinges = rod(math.pi / 2), 'joints:\n'
    for name, y in (('q', -0.1), ('p', 0.1)):
        hinges += (
            f'  - {{name: {name}, type: revolute, child: rod, position: [0, {y}, -5], '
            f'axis: [0, 1, 0], break_force: {share * 10 * G}}}\n'
        )
    found, world = angles(text + hinges, 0.4)
    assert np.isnan(found[-1]) == breaks
    assert (abs(world.states['rod'].position[2] + 5.25) < 1e-3) != breaks


@pytest.mark.parametrize('lean', [0.05, -0.2])
@pytest.mark.parametrize(('share', 'breaks'), [(0.95, True), (1.05, False)])
def test_a_mate_in_a_guide_bears_what_goes_along_it(lean, share, breaks):
    """A stab slides down a leaning guide and mates as it hits the bottom.

    The guide bears what goes across it. Guide and mate do not press against each other, although
    the blow bends the guide by some 1e-10 m.
    """
    load = share * 3.0 * G / math.hypot(1, lean)
    text = (
        'seabed: {depth: 5.25, material: steel}\n'
        'bodies:\n  - {name: rod, shape: cylinder, radius: 0.025, length: 0.3, mass: 3, '
        f'position: [0, 0, -5], material: steel, {BARE}}}\n'
        'joints:\n  - {name: guide, type: prismatic, child: rod, damping: 100, friction: 0.1, '
        f'axis: [{lean}, 0, 1]}}\n'
        '  - {name: q, type: fixed, child: rod, position: [0, 0, -5.15], '
        f'break_force: {load}, mate: {{position: [0, 0, -5.25], distance: 0.03, force: 1}}}}\n'
    )
    found, world = angles(text, 1.5, 0.01)
    assert np.isfinite(found).any()
    assert math.isnan(found[-1]) == breaks
    assert list(world.broken_joints) == (['q'] if breaks else [])


@pytest.mark.parametrize(('share', 'slips'), [(0.98, False), (1.02, True)])
def test_jaws_that_springs_press_hold_a_body_by_their_friction(share, slips):
    """It slips where its weight is more than 2 μ N."""
    force, friction = 60.0, shipped_materials().contact('steel', 'steel').friction
    mass = share * 2 * friction * force / G
    text = (
        'bodies:\n  - {name: held, shape: box, size: [0.1, 0.1, 0.1], position: [0, 0, -5], '
        f'mass: {mass}, {BARE}, material: steel}}\n'
    )
    joints = 'joints:\n'
    for name, side in (('left', -1), ('right', 1)):
        text += (
            f'  - {{name: {name}, shape: box, size: [0.05, 0.2, 0.3], mass: 5, material: steel, '
            f'position: [{side * 0.075}, 0, -5]}}\n'
        )
        joints += (
            f'  - {{type: prismatic, child: {name}, axis: [{-side}, 0, 0], damping: 30, '
            f'stiffness: 200, rest: {force / 200}}}\n'
        )
    states = run(environment(text + joints), 0.4)['held']
    fallen = -5 - states.position[:, 2]
    if slips:
        # From the tick at which the jaws have closed.
        speed = -states.velocity[:, 2]
        total = environment(text).free_bodies[0].vehicle.mass_matrix[2, 2]
        assert np.diff(speed)[20:].mean() / DT == pytest.approx(
            mass * G * (1 - 1 / share) / total, rel=0.1
        )
    else:
        assert fallen[-1] < 1e-4
        assert np.abs(states.velocity[-1]).max() < 1e-6


STAB = """bodies:
  - {{name: stab, shape: box, size: [0.3, 0.1, 0.1], position: [0, 0, -5], rpy: [{angle}, 0, 0],
     density: 3000, drag_coefficient: 0, velocity: [1, 0, 0]}}
  - {{name: block, shape: box, size: [0.4, 0.4, 0.4], position: [0.65, 0, -5], density: 1500,
     drag_coefficient: 0}}
joints:
  - {{name: q, type: fixed, child: stab, parent: block, position: [0.15, 0, -5], axis: {axis},
     mate: {{position: [0.45, 0, -5], axis: [0, 0, 1], distance: 0.02, angle: 10 deg}}}}
"""


@pytest.mark.parametrize(('angle', 'mates'), [(8.0, True), (12.0, False)])
def test_two_bodies_mate_where_their_ends_meet_aligned(angle, mates):
    """Both go on with M₁ v/(M₁ + M₂) along the line between them, and keep their momentum."""
    turned = math.radians(angle)
    axis = [0.0, -math.sin(turned), math.cos(turned)]  # of what rolled with the stab
    env = environment(STAB.format(angle=turned, axis=axis), gravity=0.0)
    world, positions, ticks = BodySimulation(env, DT), [], []
    for k in range(90):
        world.tick(round(k * DT * 1e9), env, {})
        positions.append(world.joint_positions['q'])
        ticks.append(world.states)
    assert math.isnan(positions[0])
    assert (positions[-1] == 0.0) == mates
    # 0.3 m apart at 1 m/s, and it closes 0.02 m before.
    closed = np.flatnonzero(np.array(positions) == 0.0)
    assert not mates or closed[0] == pytest.approx(0.28 / DT, abs=2)
    masses = [body.vehicle.mass_matrix[0, 0] for body in env.free_bodies]
    speeds = [ticks[-1][name].velocity[0] for name in ('stab', 'block')]
    common = masses[0] / sum(masses)
    if mates:
        np.testing.assert_allclose(speeds, common, rtol=1e-6)
    else:
        assert np.dot(masses, speeds) == pytest.approx(masses[0], rel=1e-6)
    states = {n: State(*map(np.stack, zip(*(t[n] for t in ticks), strict=True))) for n in ticks[0]}
    before, after = (momentum(env, states, tick)[0] for tick in (0, -1))
    np.testing.assert_allclose(after, before, atol=1e-9 * np.abs(before).max())


@pytest.mark.parametrize(('share', 'mates'), [(0.98, True), (1.02, False)])
def test_a_mate_closes_at_its_force(share, mates):
    """A box that lies on another presses on it with its weight."""
    text = (
        'bodies:\n  - {name: rod, shape: box, size: [0.3, 0.3, 0.2], position: [0, 0, -4.8], '
        'mass: 20, volume: 0}\n'
        '  - {name: base, shape: box, size: [0.5, 0.5, 0.2], position: [0, 0, -5], mass: 90}\n'
        'joints:\n  - {type: fixed, child: base}\n'
        '  - {name: q, type: ball, child: rod, parent: base, position: [0, 0, -4.9], mate: '
        f'{{position: [0, 0, -4.9], distance: 0.01, force: {share * 20 * G}}}}}\n'
    )
    found, _ = angles(text, 0.5)
    assert math.isnan(found[0])
    assert (found[-1] == 0.0) == mates


def test_a_mate_that_broke_closes_again_once_its_ends_were_apart():
    """A pendulum that is caught at its lowest point until its load there lets it go."""
    load = 1.2 * 10 * G
    caught = joint(more=', damping: 2') + (
        '  - {name: catch, type: ball, child: rod, position: [0.25, 0, -5.4330127], '
        f'break_force: {load}, break_time: 0, '
        'mate: {position: [0, 0, -5.5], distance: 0.01}}\n'
    )
    env = environment(rod(math.pi / 3) + caught)
    world, held = BodySimulation(env, DT), []
    for k in range(800):
        world.tick(round(k * DT * 1e9), env, {})
        held.append(not math.isnan(world.joint_positions['catch']))
    assert np.count_nonzero(np.diff(held)) >= 3  # it closed, broke, and closed again
    assert held[-1]
    assert 'catch' not in world.broken_joints
    assert abs(world.joint_positions['q'] - math.pi / 6) < 0.01 / 0.5
    assert np.abs(world.states['rod'].velocity).max() < 1e-3


@pytest.mark.parametrize(
    ('line', 'told'),
    [
        ('{type: hinge, child: rod}', 'revolute'),
        ('{type: ball, child: rud}', "'rud'"),
        ('{type: ball, child: rod, parent: rod}', 'itself'),
        ('{type: ball, child: rod, friction: 1}', 'a ball joint has none'),
        ('{type: revolute, child: rod, axis: [0, 0, 0]}', 'expected a direction'),
        ('{type: revolute, child: rod, limits: [1, 2]}', 'expected 0, the start'),
        ('{type: revolute, child: rod, limits: 3}', 'expected two numbers'),
        ('{type: revolute, child: rod, limits: [-90, 90]}', 'deg'),
        ('{type: prismatic, child: rod, friction: -1}', 'friction'),
        ('{type: fixed, child: rod, break_force: 0}', 'break_force'),
        ('{type: fixed}', "'child'"),
        ('{type: ball, child: rod, detents: 1}', 'a ball joint has none'),
        ('{type: ball, child: rod, mate: {distance: 1}}', "'position' is missing"),
        ('{type: ball, child: rod, mate: {position: [0, 0, 0], distance: 0}}', 'distance is 0'),
        (
            '{type: fixed, child: rod, mate: {position: [0, 0, 0], distance: 1, axis: [0, 0, 0]}}',
            'expected a direction',
        ),
        ('{type: prismatic, child: rod, detents: {positions: [0]}}', "'effort' is missing"),
        (
            '{type: prismatic, child: rod, detents: {positions: [0, 1], effort: 1, width: 0.6}}',
            'overlap',
        ),
        (
            '{type: prismatic, child: rod, detents: {positions: [], effort: 1, width: 0.6}}',
            'at least one',
        ),
        (
            '{type: prismatic, child: rod, detents: {positions: [0], effort: 1, width: 0}}',
            'more than 0',
        ),
    ],
)
def test_a_joint_that_cannot_be_is_refused_in_one_line(line, told):
    with pytest.raises(ParameterError, match=r'joints\[0\]') as error:
        environment(rod() + f'joints: [{line}]')
    assert told in str(error.value)
    assert '\n' not in str(error.value)


def test_two_joints_of_one_name_are_refused():
    one = '{name: q, type: ball, child: rod}'
    with pytest.raises(ParameterError, match="two joints are named 'q'"):
        environment(rod() + f'joints: [{one}, {one}]')


def test_a_recording_has_the_angle_of_a_lever_that_a_vehicle_pushes(tmp_path):
    """A BlueROV2 drives ahead against a lever across its way."""
    world, scenario = tmp_path / 'world.yaml', tmp_path / 'ahead.yaml'
    world.write_text(
        'bodies:\n  - {name: lever, shape: box, size: [0.05, 0.6, 0.3], position: [0.4, 0, -2], '
        'mass: 12, volume: 0.012}\n'
        'joints:\n  - {name: hinge, type: revolute, child: lever, position: [0.4, -0.3, -2]}\n'
    )
    scenario.write_text(
        'duration: 3\ninitial: {position: [0, 0, -2]}\nsegments: [{at: 0, pwm: '
        '[1300, 1300, 1700, 1700, 1500, 1500]}]\n'
    )
    code, output = marine_sim(
        *('simulate', 'bluerov2', '--environment', world, '--scenario', scenario),
        *('--record', tmp_path / 'run'),
    )
    assert code == 0, output
    bag = read_bag(str(tmp_path / 'run'))
    states = bag.vehicles['bodies/lever'].get('joint_states')
    assert states is not None
    assert abs(states.rows[-1, 0]) > 0.05
    assert states.rows[0, 0] == 0


SAME = """
import numpy as np
from bodies import environment, run
text = {text!r}
states = run(environment(text), 0.05)
print([value.hex() for state in states.values() for row in state for value in row[-1].tolist()])
"""


def test_kernels_give_the_same_numbers_where_numba_is_not_installed():
    text = (
        'seabed: {depth: 5.0, material: sand}\nbodies:\n'
        '  - {name: a, shape: box, size: [0.4, 0.2, 0.2], position: [0.2, 0, -4.905], mass: 30}\n'
        '  - {name: b, shape: box, size: [0.4, 0.2, 0.2], position: [0.6, 0, -4.905], mass: 30}\n'
        'joints:\n  - {name: q, type: revolute, child: b, parent: a, position: [0.4, 0, -4.9], '
        'axis: [0, 1, 0], friction: 0.2, stiffness: 5.0}\n'
    )
    code = f'import sys; sys.path.insert(0, {str(ROOT / "test")!r})' + SAME.format(text=text)
    found = [python_without(names, code) for names in ((), ('numba',))]
    assert found[1].stderr.count('\n') == 1, found[1].stderr
    assert 'numba is not installed; expected: pip install numba' in found[1].stderr
    assert 'the extra [hulls]' in found[1].stderr
    assert found[0].stdout == found[1].stdout != ''
