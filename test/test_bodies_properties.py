# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Properties of free bodies with drawn examples: passivity, frames, order, and any mesh."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import environment, momentum, run
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros.core.errors import ParameterError
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


def drawn_mesh(seed):
    """Return vertices and faces, and whether the surface is closed.

    Kinds: a convex body, an open one, one with degenerate triangles, nested ones, a huge one, and
    triangles that have nothing to do with each other.
    """
    spatial = pytest.importorskip('scipy.spatial')
    rng = np.random.default_rng(seed)
    kind = seed % 6
    hull = spatial.ConvexHull(rng.normal(size=(rng.integers(5, 40), 3)))
    vertices, faces = hull.points, hull.simplices.copy()
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    inward = np.sum(np.cross(b - a, c - a) * hull.equations[:, :3], axis=1) < 0
    faces[inward] = faces[inward][:, ::-1]
    if kind == 1:
        faces = faces[rng.uniform(size=len(faces)) < 0.7]
    elif kind == 2:
        pair = rng.integers(0, len(vertices), (6, 2))
        faces = np.concatenate([faces, np.column_stack([pair, pair[:, :1]]), faces[:3]])
    elif kind == 3:
        inner = faces + len(vertices) if rng.uniform() < 0.5 else faces[:, ::-1] + len(vertices)
        faces = np.concatenate([faces, inner])
        vertices = np.concatenate([vertices, 0.4 * vertices])
    elif kind == 4:
        vertices = vertices * rng.choice([1e-3, 30.0, 500.0])
    elif kind == 5:
        faces = rng.integers(0, len(vertices), (rng.integers(1, 30), 3))
    return vertices, faces, kind in (0, 4)


def written_mesh(path, vertices, faces):
    rows = [f'v {x!r} {y!r} {z!r}' for x, y, z in vertices.tolist()]
    rows += [f'f {a} {b} {c}' for a, b, c in (faces + 1).tolist()]
    path.write_text('\n'.join(rows) + '\n')
    return path


def drop(path, vertices, faces):
    """Return the environment of a mesh, and of a ball that falls fast on its widest face."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    area = np.cross(b - a, c - a)
    widest = area[:, 2].argmax()
    normal = area[widest] / max(np.linalg.norm(area[widest]), 1e-12)
    x, y, z = (a + b + c)[widest] / 3 + 0.25 * normal
    return environment(
        f'obstacles:\n  - {{name: part, shape: mesh, file: {path}, position: [0, 0, -20]}}\n'
        'bodies:\n  - {name: ball, shape: sphere, radius: 0.2, mass: 60, drag_coefficient: 0, '
        f'position: [{x}, {y}, {z - 20}], velocity: [1, 0, -3]}}\n'
    )


MANY = [pytest.param(range(a, a + 200), 1.0, id=f'many-{a}') for a in range(6, 2006, 200)]


@pytest.mark.parametrize(('seeds', 'duration'), [(range(6), 0.4), *MANY])
def test_a_ball_that_falls_on_any_mesh_stays_out_of_it(tmp_path, seeds, duration):
    """One mesh of each kind, or 200 of 2,000: refused in one line, or it keeps the ball out."""
    pytest.importorskip('trimesh')
    fallen, touched, refused = 0, 0, []
    for seed in seeds:
        vertices, faces, closed = drawn_mesh(seed)
        if not len(faces):
            continue
        path = written_mesh(tmp_path / f'{seed}.obj', vertices, faces)
        try:
            env = drop(path, vertices, faces)
        except ParameterError as error:
            refused.append(str(error))
            continue
        centers = run(env, duration, 0.02)['ball'].position
        assert np.isfinite(centers).all()
        distance, _ = env.scene.surfaces(centers)
        if closed:  # an impact at 3 m/s sinks in by up to 11 mm
            assert distance.min() > 0.18, seed
            assert distance[0, -1] > 0.195, seed
        fallen += 1
        touched += distance.min() < 0.21
    assert touched >= fallen / 2
    assert fallen >= 4
    assert not any('\n' in line for line in refused)
