# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Added mass by source panels: closed forms, tables, rules of the 6 x 6, and the URDF's reader."""

import json

import numpy as np
import pytest
import trimesh
from cache_files import read_cached, write_cached
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, transport
from marine_sim_ros.doctor.checks import examine
from marine_sim_ros.doctor.context import load_context
from marine_sim_ros.geometry.shapes import box_shape, move_shape, shape_of, sphere_shape
from marine_sim_ros.model import added_mass as meshes
from marine_sim_ros.model import hull_reader
from marine_sim_ros.model.added_mass import (
    _panel_integrals,
    ellipsoid_added_mass,
    panel_mesh,
    solve_panels,
)

pytestmark = pytest.mark.long


def added_mass(*shapes):
    return solve_panels(panel_mesh(shapes)[0]).matrix


def round_body(subdivisions, semi_axes):
    """Return a triangulated ellipsoid of the exact volume."""
    mesh = trimesh.creation.icosphere(subdivisions=subdivisions)
    factor = (4 / 3 * np.pi / mesh.volume) ** (1 / 3)
    return shape_of(factor * mesh.vertices * np.array(semi_axes, float), mesh.faces)


def tube(radius, length, sides=20):
    """Return a cylinder along z of flat sides and the exact volume."""
    mesh = trimesh.creation.cylinder(radius=radius, height=length, sections=sides)
    across = np.sqrt(np.pi * radius**2 * length / mesh.volume)
    return shape_of(mesh.vertices * [across, across, 1], mesh.faces)


def panelled_cube(count):
    """Return the corners of a unit cube with count squares, halved, along each edge."""
    ticks = np.linspace(-0.5, 0.5, count + 1)
    u, v = (x.ravel() for x in np.meshgrid(ticks[:-1], ticks[:-1]))
    step = ticks[1] - ticks[0]
    at = np.stack([u, v, np.full_like(u, 0.5)], axis=-1)
    a, b, c, d = (at + step * np.array(s) for s in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)))
    face = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    turns = [(0, 0, 0), (np.pi / 2, 0, 0), (np.pi, 0, 0), (-np.pi / 2, 0, 0), (0, np.pi / 2, 0)]
    turns.append((0, -np.pi / 2, 0))
    return np.concatenate([face @ rotation_matrix(quaternion_from_rpy(*t)).T for t in turns])


# The integrals


@pytest.mark.parametrize('point', [(0.2, 0.1, 0.5), (1.4, -0.3, -0.2), (0.3, 0.2, 0.0)])
def test_integrals_over_a_triangle_against_quadrature(point):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0.2, 0.9, 0]], float)
    area = 0.45

    def place(u, v):
        return corners[0] + u * corners[1] + v * corners[2] - point

    def over(density):
        inner = dblquad(
            lambda v, u: density(place(u, v)), 0, 1, 0, lambda u: 1 - u, epsabs=1e-5, epsrel=1e-5
        )
        return 2 * area * inner[0]

    inverse, angle = (
        float(x[0])
        for x in _panel_integrals(np.array([point]), corners[None], np.array([[0, 0, 1.0]]))
    )
    assert inverse == pytest.approx(over(lambda r: 1 / np.linalg.norm(r)), rel=1e-4)
    if point[2]:
        expected = over(lambda r: r[2] / np.linalg.norm(r) ** 3)
        assert angle == pytest.approx(expected, rel=1e-6)


def test_a_closed_surface_fills_the_sphere_from_inside_and_nothing_from_outside():
    corners = panelled_cube(3)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = across / np.linalg.norm(across, axis=1)[:, None]
    for point, expected in (((0.1, -0.2, 0.3), 4 * np.pi), ((0.9, 0.2, 0.1), 0.0)):
        points = np.tile(np.array(point), (len(corners), 1))
        total = _panel_integrals(points, corners, normals)[1].sum()
        assert total == pytest.approx(expected, abs=1e-12)


# Closed forms


def test_a_sphere_carries_half_its_water():
    radius = 0.3
    found = added_mass(sphere_shape(radius))
    expected = 2 / 3 * np.pi * radius**3
    assert np.diag(found)[:3] == pytest.approx([expected] * 3, rel=2e-3)
    assert np.abs(found - np.diag(np.diag(found))).max() < 1e-9
    assert np.all(np.diag(found)[3:] < 1e-4 * expected * radius**2)


@pytest.mark.parametrize('ratio', [1.5, 3.0, 6.0])
def test_prolate_spheroids_have_lambs_factors_in_all_six(ratio):
    """Lamb (1932), art. 114 and 115; test_added_mass.py compares these with Lamb's table."""
    found = added_mass(round_body(3, (ratio, 1, 1)))
    expected = ellipsoid_added_mass(np.array([ratio, 1, 1]), 1.0)
    assert np.diag(found)[:3] == pytest.approx(expected[:3], rel=0.01)
    assert np.diag(found)[4:] == pytest.approx(expected[4:], rel=0.03)
    assert found[3, 3] < 1e-3 * found[4, 4]
    assert np.abs(found - np.diag(np.diag(found))).max() < 1e-5 * found[1, 1]


def test_a_long_cylinder_is_two_dimensional_amid():
    """Two of 8 and 10 diameters differ by two diameters of ρ π a² (Lamb, art. 68)."""
    radius = 0.05
    longer, shorter = (added_mass(tube(radius, 2 * n * radius))[0, 0] for n in (10, 8))
    assert longer - shorter == pytest.approx(np.pi * radius**2 * 4 * radius, rel=0.02)
    assert longer < np.pi * radius**2 * 20 * radius


@pytest.mark.parametrize(('ratio', 'coefficient'), [(1.2, 0.62), (2.5, 0.78), (5.0, 0.90)])
def test_finite_cylinders_across_their_axes(ratio, coefficient):
    """DNV-RP-C205, table D-2: right circular cylinder, C_A of π a² b by b/2a, two decimals."""
    found = added_mass(tube(0.5, ratio))[0, 0]
    assert found == pytest.approx(coefficient * np.pi * 0.25 * ratio, rel=0.025)


def test_a_cube():
    """0.638 ρ a³, less than the 0.68 of DNV-RP-C205, table D-2, and the 0.67 of older tables.

    Its 1.638 with the cube's own water is the polarizability of a cube that no field enters:
    A. Sihvola et al., IEEE Transactions on Antennas and Propagation 52 (2004).
    """
    found = added_mass(box_shape(np.ones(3)))
    assert np.diag(found)[:3] == pytest.approx([0.638] * 3, rel=0.02)


def axial_pair(distance, terms=12):
    """Return the added mass of two unit spheres along the line of their centres, per density.

    Hicks's images (Lamb 1932, art. 138): that of a dipole μ at a distance f from the centre of a
    unit sphere, along the line, is −μ/f³ at 1/f. A + V = 4π Σ μ over both, by symmetry.
    """
    strength, place, total = 0.5, 0.0, 0.0
    for _ in range(terms):
        total += strength
        f = distance - place  # from the other centre; its image is mirrored into this one
        strength, place = -strength / f**3, 1.0 / f
    return 2 * (4 * np.pi * total - 4 / 3 * np.pi)


def two_spheres(distance):
    apart = np.array([distance / 2, 0, 0])
    one = round_body(3, (1, 1, 1))
    return added_mass(move_shape(one, np.eye(3), apart), move_shape(one, np.eye(3), -apart))


def test_two_spheres_side_by_side():
    far = two_spheres(3.0)
    # Across the line of centres each dipole stands in the other's flow: μ = (1 + μ/d³)/2.
    across = 2 * (4 * np.pi * 0.5 / (1 - 0.5 / 27) - 4 / 3 * np.pi)
    assert far[1, 1] == pytest.approx(across, rel=4e-3)
    assert far[2, 2] == pytest.approx(far[1, 1], rel=1e-3)
    assert far[0, 0] == pytest.approx(axial_pair(3.0), rel=4e-3)
    near = two_spheres(2.2)
    assert near[0, 0] == pytest.approx(axial_pair(2.2), rel=6e-3)
    assert near[0, 0] < far[0, 0] < 4 / 3 * np.pi < far[1, 1]
    # Turning about z: each sphere goes sideways at an arm of half the distance.
    assert far[5, 5] == pytest.approx(1.5**2 * 2 * _opposed_across(3.0), rel=0.01)


def _opposed_across(distance):
    """Return the added mass of one of two unit spheres that move across, in opposite senses."""
    return 4 * np.pi * 0.5 / (1 + 0.5 / distance**3) - 4 / 3 * np.pi


# Rules


def test_moving_and_turning_the_body():
    shape = round_body(2, (0.5, 0.2, 0.3))
    rotation = rotation_matrix(quaternion_from_rpy(0.4, -1.1, 2.0))
    arm = np.array([0.3, -0.2, 0.5])
    turn = np.kron(np.eye(2), rotation)
    own = solve_panels(shape.vertices[shape.faces]).matrix
    there = move_shape(shape, rotation, arm)
    found = solve_panels(there.vertices[there.faces]).matrix
    expected = transport(arm).T @ turn @ own @ turn.T @ transport(arm)
    assert found == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())
    assert np.abs(found[:3, 3:]).max() > 0.1 * np.abs(found).max()


def test_a_body_twice_as_large():
    shape = round_body(2, (0.5, 0.2, 0.3))
    small, large = (solve_panels(k * shape.vertices[shape.faces]).matrix for k in (1.0, 2.0))
    powers = np.array([1.0] * 3 + [2.0] * 3)
    assert large == pytest.approx(8 * np.outer(powers, powers) * small, rel=1e-9, abs=1e-12)


def test_errors_fall_with_the_number_of_panels():
    rounds = [
        abs(solve_panels(b.vertices[b.faces]).matrix[0, 0] / (2 / 3 * np.pi) - 1)
        for b in (round_body(n, (1, 1, 1)) for n in (1, 2, 3))
    ]
    assert rounds[0] > 3 * rounds[1] > 9 * rounds[2]
    assert rounds[2] < 2e-3
    cubes = [solve_panels(panelled_cube(n)).matrix[0, 0] - 0.638 for n in (2, 4, 8)]
    assert cubes[0] > 1.8 * cubes[1] > 1.8**2 * cubes[2] > 0


@given(
    st.tuples(*[st.floats(0.3, 1.5)] * 3),
    st.tuples(*[st.floats(-3.1, 3.1)] * 3),
    st.tuples(*[st.floats(-2, 2)] * 3),
)
@settings(max_examples=12, deadline=None)
def test_random_ellipsoids(semi_axes, angles, arm):
    rotation = rotation_matrix(quaternion_from_rpy(*angles))
    shape = move_shape(round_body(2, semi_axes), rotation, np.array(arm))
    found = solve_panels(shape.vertices[shape.faces])
    assert np.array_equal(found.matrix, found.matrix.T)
    assert found.asymmetry < 0.02
    about = transport(-np.array(arm))
    turn = np.kron(np.eye(2), rotation)
    own = turn.T @ about.T @ found.matrix @ about @ turn
    assert np.linalg.eigvalsh(found.matrix)[0] > -1e-12
    expected = ellipsoid_added_mass(np.array(semi_axes), 1.0)
    assert np.diag(own)[:3] == pytest.approx(expected[:3], rel=0.05)
    assert np.all(np.linalg.eigvalsh(own[:3, :3]) > 0)
    assert own[3:, 3:] == pytest.approx(np.diag(expected[3:]), abs=0.05 * expected.max())


# The surface


def test_shapes_that_touch_overlap_or_lie_within_are_one():
    whole = added_mass(box_shape(np.array([2.0, 1.0, 1.0])))
    half = box_shape(np.ones(3))
    left, right = (move_shape(half, np.eye(3), np.array([x, 0, 0])) for x in (-0.5, 0.5))
    over = move_shape(box_shape(np.array([1.2, 1, 1])), np.eye(3), np.array([0.4, 0, 0]))
    for shapes in ((left, right), (left, over), (left, right, box_shape(np.full(3, 0.3)))):
        found = added_mass(*shapes)
        assert found == pytest.approx(whole, abs=0.02 * np.max(whole))


def test_a_cavity_is_left_out():
    outer, inner = box_shape(np.ones(3)), box_shape(np.full(3, 0.4))
    faces = np.concatenate([outer.faces, inner.faces[:, ::-1] + len(outer.vertices)])
    hollow = shape_of(np.concatenate([outer.vertices, inner.vertices]), faces)
    assert added_mass(hollow) == pytest.approx(added_mass(outer), abs=5e-3)


def test_too_many_triangles_are_made_fewer():
    fine = round_body(5, (1, 0.5, 0.5))
    assert len(fine.faces) > 6 * meshes.MAX_PANELS
    corners, tolerance = panel_mesh([fine])
    assert len(corners) <= meshes.MAX_PANELS
    assert 0 < tolerance < 0.02
    expected = ellipsoid_added_mass(np.array([1, 0.5, 0.5]), 1.0)
    assert np.diag(solve_panels(corners).matrix)[:3] == pytest.approx(expected[:3], rel=0.03)


def test_what_cannot_be_made_fewer_is_refused(monkeypatch):
    monkeypatch.setattr(meshes, 'MAX_PANELS', 8)
    with pytest.raises(ModelError, match=r'has 12 triangles.* expected at most 8: simplify it'):
        panel_mesh([box_shape(np.ones(3))])


# The reader

ROBOT = """<robot name="body">
  <link name="base_link">
    <inertial><mass value="40"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision><origin xyz="0.1 0 0.2"/><geometry><sphere radius="0.2"/></geometry></collision>
  </link>
  <buoyancy><volume>0.04</volume></buoyancy>
  <hydrodynamics added_mass="panels">
    <water_density>1010</water_density>
    <linear_damping>4 6 6 1 1 1</linear_damping>
  </hydrodynamics>
</robot>"""


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    return tmp_path / 'cache' / 'marine_sim_ros' / hull_reader.CACHE_KIND


def test_a_vehicle_with_panels(cache_of_its_own, monkeypatch):
    told = []
    vehicle = load_vehicle(ROBOT, progress=told.append)
    assert told[-1] == 1
    water = 1010 * 2 / 3 * np.pi * 0.2**3
    arm = transport(np.array([0.1, 0, 0.2]))
    expected = arm.T @ np.diag([water] * 3 + [0.0] * 3) @ arm
    assert vehicle.added_mass == pytest.approx(expected, abs=3e-3 * water)
    assert vehicle.added_mass[0, 4] == pytest.approx(0.2 * water, rel=5e-3)
    assert vehicle.warnings == ()
    # Kept: by content, not by the density of the water.
    monkeypatch.setattr(hull_reader, 'solve_panels', None)
    assert np.array_equal(load_vehicle(ROBOT).added_mass, vehicle.added_mass)
    other = load_vehicle(ROBOT.replace('1010', '505')).added_mass
    assert 2 * other == pytest.approx(vehicle.added_mass, rel=1e-12)
    element = ROBOT.replace(' added_mass="panels"', '').replace(
        '</hydrodynamics>', '<added_mass> panels </added_mass></hydrodynamics>'
    )
    assert np.array_equal(load_vehicle(element).added_mass, vehicle.added_mass)
    assert len(list(cache_of_its_own.iterdir())) == 1


@pytest.mark.parametrize(
    'damage',
    [
        {'matrix': [[1.0]]},
        {'asymmetry': -1},
        {'panels': 'many'},
        {'tolerance': float('nan')},
        {'matrix': np.arange(36.0).reshape(6, 6).tolist()},
    ],
)
def test_a_damaged_file_is_computed_anew(cache_of_its_own, damage):
    expected = load_vehicle(ROBOT).added_mass
    (path,) = cache_of_its_own.iterdir()
    content = {**json.loads(read_cached(path)), **damage}
    write_cached(path, json.dumps(content).encode())
    assert np.array_equal(load_vehicle(ROBOT).added_mass, expected)


def test_another_place_is_another_content(cache_of_its_own):
    load_vehicle(ROBOT)
    load_vehicle(ROBOT.replace('0.1 0 0.2', '0.1 0 0.3'))
    assert len(list(cache_of_its_own.iterdir())) == 2


@pytest.mark.parametrize(
    ('edit', 'message'),
    [
        (
            lambda t: t.replace('"panels"', '"panel"'),
            r"robot_description:8: <hydrodynamics>: added_mass is 'panel'; "
            r"expected 'estimate', 'panels', or an <added_mass>",
        ),
        (
            lambda t: t.replace('</hydrodynamics>', '<added_mass>1</added_mass></hydrodynamics>'),
            'robot_description:8: <hydrodynamics>: has both an attribute and an '
            'element added_mass',
        ),
        (
            lambda t: t[: t.index('<collision>')] + t[t.index('</link>') :],
            r'robot_description:1: <robot.*>: added_mass="panels" needs a <collision>',
        ),
    ],
)
def test_mistakes_are_told_in_one_line(edit, message):
    with pytest.raises(ModelError, match=message) as caught:
        load_vehicle(edit(ROBOT))
    assert '\n' not in str(caught.value)


def test_an_unsound_surface_is_refused_where_it_stands(tmp_path, monkeypatch):
    monkeypatch.setattr(meshes, 'MAX_PANELS', 100)
    with pytest.raises(ModelError, match=r':5: <collision>: added_mass="panels": the surface has'):
        load_vehicle(ROBOT)


def test_a_simplified_hull_is_a_warning(monkeypatch):
    monkeypatch.setattr(meshes, 'MAX_PANELS', 1000)
    vehicle = load_vehicle(ROBOT)
    (warning,) = vehicle.warnings
    assert 'simplified within' in warning
    assert vehicle.added_mass[0, 0] == pytest.approx(1010 * 2 / 3 * np.pi * 0.008, rel=0.05)


def test_doctor_says_what_was_computed(tmp_path):
    path = tmp_path / 'body.urdf'
    path.write_text(ROBOT)
    (found,) = [d for d in examine(load_context(str(path), {})) if d.check == 'computed']
    assert found.place.line == 8
    assert '1280 source panels' in found.message
    assert '16.9 16.9 16.9' in found.message
