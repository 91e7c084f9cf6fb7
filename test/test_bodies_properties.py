# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Properties of free bodies with drawn examples: passivity, frames and order."""

from __future__ import annotations

import numpy as np
from bodies import environment, momentum, run
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix

SHAPES = (
    'shape: box, size: [0.4, 0.3, 0.2]',
    'shape: cylinder, radius: 0.15, length: 0.4',
    'shape: sphere, radius: 0.2',
)
MATERIALS = 'steel', 'rubber', 'HDPE', 'foam'
FLOOR = 'seabed: {depth: 5.0, material: rock}\n'


def drawn_bodies(seed, count=3):
    """Return shape, position, attitude, velocity and material of bodies above each other."""
    rng = np.random.default_rng(seed)
    return [
        (
            SHAPES[rng.integers(3)],
            np.array([*rng.uniform(-0.15, 0.15, 2), -4.7 + 0.5 * i]),
            rng.uniform(-1, 1, 3).tolist(),
            rng.uniform(-1, 1, 6),
            MATERIALS[rng.integers(4)],
        )
        for i in range(count)
    ]


def line_of(name, body, turn=0.0, offset=(0.0, 0.0, 0.0)):
    """Return the line of a body that is turned about the vertical and moved."""
    shape, position, (roll, pitch, yaw), velocity, material = body
    place = rotation_matrix(quaternion_from_rpy(0, 0, turn)) @ position + offset
    return (
        f'  - {{name: {name}, {shape}, position: {place.tolist()}, density: 2000, volume: 0, '
        f'drag_coefficient: 0, rpy: {[roll, pitch, yaw + turn]}, velocity: {velocity.tolist()}, '
        f'material: {material}}}\n'
    )


def text_of(bodies, names='abc', **placed):
    lines = (line_of(name, bodies['abc'.index(name)], **placed) for name in names)
    return FLOOR + 'bodies:\n' + ''.join(lines)


@settings(max_examples=examples(50) // 5, deadline=None)
@given(st.integers(0, 2**31))
def test_bodies_that_fall_upon_each_other_gain_no_energy(seed):
    """Kinetic and potential; a semi-implicit step errs by m g v dt/2 of the height."""
    env = environment(text_of(drawn_bodies(seed)))
    states = run(env, 0.6)
    mass = {body.name: body.vehicle.inertia.mass for body in env.free_bodies}
    height = sum(m * env.gravity * states[n].position[:, 2] for n, m in mass.items())
    kinetic = np.array([momentum(env, states, tick)[1] for tick in range(len(height))])
    fall = sum(
        m * env.gravity * 0.005 / 2 * np.abs(states[n].velocity[:, :3]).max()
        for n, m in mass.items()
    )
    energy = height + kinetic
    assert energy.max() <= energy[0] + fall + 1e-3 * kinetic.max()


@settings(max_examples=examples(25) // 5, deadline=None)
@given(st.integers(0, 2**31), st.floats(-3, 3))
def test_a_turned_and_moved_world_moves_alike(seed, turn):
    bodies, offset = drawn_bodies(seed, 3), np.array([40.0, -7.0, 0.0])
    usual = run(environment(text_of(bodies)), 0.15)
    other = run(environment(text_of(bodies, turn=turn, offset=offset)), 0.15)
    rotation = rotation_matrix(quaternion_from_rpy(0, 0, turn))
    for name, own in usual.items():
        expected = own.position @ rotation.T + offset
        np.testing.assert_allclose(other[name].position, expected, atol=1e-4)


@settings(max_examples=examples(25) // 5, deadline=None)
@given(st.integers(0, 2**31), st.permutations('abc'))
def test_the_order_of_drawn_bodies_changes_nothing(seed, order):
    bodies = drawn_bodies(seed)
    usual, other = (run(environment(text_of(bodies, names)), 0.15) for names in ('abc', order))
    for name in 'abc':
        np.testing.assert_array_equal(usual[name].position, other[name].position)
