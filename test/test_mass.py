# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mass from parts: closed forms, sums cell by cell, overlaps, meshes, bad lists, the cache."""

import importlib
import io
import json
import math
import os
import re
import sys
import time
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from cache_files import read_cached, write_cached
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from processor import limited
from test_fuzz_urdf import NUMBER, STRANGE, UNITS, replaced

from marine_sim_ros import MarineSimError, load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import cache_folder
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.model import mass as grid
from marine_sim_ros.model import mass as reader
from marine_sim_ros.model.mass import GRID_METHOD, assemble, grid_of_parts, properties_of_grid
from marine_sim_ros.model.parts import SolidPart, content_key, load_parts, mesh_spans, parse_parts
from marine_sim_ros.tools.command_line import progress_bar

trimesh = pytest.importorskip('trimesh')

FILE = ROOT / 'urdf' / 'investigator90_parts.yaml'
PRINTED = {
    'mass': 114.46,
    'volume': 0.133,
    'center_of_mass': (-0.0351, -0.0027, -0.0891),
    'center_of_volume': (-0.0226, -0.0069, 0.0202),
}
SIZE = np.array([1.10, 0.68, 0.49])
ZERO = (0.0, 0.0, 0.0)
TWO = """
description: a float and a weight
parts:
  - {name: float, shape: box, size: [0.4, 0.3, 0.1], xyz: [0, 0, 0.1], density: 300}
  - {name: weight, shape: cylinder, radius: 0.1, length: 0.2, xyz: [0, 0.02, -0.1],
     rpy: [0, 1.57, 0], density: 2700, material: 'aluminium'}
  - {name: hole, shape: sphere, radius: 0.04, xyz: [0, 0, -0.1], density: 0, flooded: true}
"""


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    return tmp_path / 'cache' / 'marine_sim_ros' / 'mass'


@pytest.fixture(scope='module')
def investigator():
    return assemble(load_parts(str(FILE)), 0.002)


def part(shape='box', dimensions=(0.2, 0.2, 0.2), xyz=ZERO, rpy=ZERO, density=1000.0, **more):
    return SolidPart('part', shape, dimensions, tuple(xyz), tuple(rpy), density, **more)


def closed_form(p):
    """Volume and inertia per density about the centre, in body axes."""
    d = np.array(p.dimensions)
    if p.shape == 'box':
        volume = np.prod(d)
        inertia = volume / 12 * np.diag(np.sum(d**2) - d**2)
    elif p.shape == 'cylinder':
        volume = np.pi * d[0] ** 2 * d[1]
        across = d[0] ** 2 / 4 + d[1] ** 2 / 12
        inertia = volume * np.diag([across, across, d[0] ** 2 / 2])
    else:
        volume = 4 / 3 * np.pi * d[0] ** 3
        inertia = volume * 0.4 * d[0] ** 2 * np.eye(3)
    turned = rotation_matrix(quaternion_from_rpy(*p.rpy))
    return volume, turned @ inertia @ turned.T


SHAPES = {'box': (0.3, 0.2, 0.11), 'cylinder': (0.1, 0.3), 'sphere': (0.12,)}


@pytest.mark.parametrize('shape', SHAPES)
def test_convergence_to_the_closed_forms(shape):
    """Bodies that lie anyhow: mass, centre and inertia at second order of the voxel size."""
    sizes = np.array([0.04, 0.02, 0.01, 0.005])
    errors = []
    for size in sizes:
        rng = np.random.default_rng(0)
        squares = []
        for _ in range(24):
            p = part(shape, SHAPES[shape], rng.uniform(-0.5, 0.5, 3), rng.uniform(-3, 3, 3))
            found, (volume, inertia) = assemble([p], size), closed_form(p)
            assert found.volume == pytest.approx(found.mass / 1000)
            squares.append(
                [
                    (found.mass / (1000 * volume) - 1) ** 2,
                    np.sum((found.center_of_mass - p.xyz) ** 2) / p.dimensions[0] ** 2,
                    np.sum((found.inertia / 1000 - inertia) ** 2) / np.sum(inertia**2),
                ]
            )
        errors.append(np.sqrt(np.mean(squares, axis=0)))
    order = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert np.all(order > 1.7), order
    assert np.all(errors[-1] < 2e-3), errors


def test_whole_cells_are_exact_but_for_their_own_inertia():
    size = 0.02
    p = part(dimensions=(0.3, 0.2, 0.12), xyz=(0.01, -0.04, 0.06), density=800.0)
    found, (volume, inertia) = assemble([p], size), closed_form(p)
    assert found.mass == pytest.approx(800 * volume, rel=1e-12)
    assert found.center_of_mass == pytest.approx(p.xyz, abs=1e-14)
    assert found.height == pytest.approx(0.12)
    own = found.mass * size**2 / 6 * np.eye(3)
    assert found.inertia + own == pytest.approx(800 * inertia, rel=1e-12, abs=1e-12)


@pytest.mark.long
def test_points_meet_a_body_that_lies_anyhow_without_bias():
    rng = np.random.default_rng(1)
    radius, size = 0.12, 0.06
    found = [
        assemble([part('sphere', (radius,), rng.uniform(-1, 1, 3))], size) for _ in range(3000)
    ]
    # Second moment about the true centre; taken about the found one it would be smaller.
    rng = np.random.default_rng(1)
    centers = [rng.uniform(-1, 1, 3) for _ in range(3000)]
    moments = [
        np.trace(f.inertia) / 2 + f.mass * np.sum((f.center_of_mass - c) ** 2)
        for f, c in zip(found, centers, strict=True)
    ]
    volume = 4 / 3 * np.pi * radius**3
    expected = 1000 * volume * 0.6 * radius**2
    error = np.mean(moments) - expected
    assert abs(error) < 3 * np.std(moments) / math.sqrt(len(moments))
    own = 1000 * volume * size**2 / 4  # half the trace of M h²/6 E
    assert abs(error) < 0.2 * own


def inside(p, points):
    local = (points - p.xyz) @ rotation_matrix(quaternion_from_rpy(*p.rpy))
    if p.shape == 'box':
        return np.all(abs(local) <= np.array(p.dimensions) / 2, axis=1)
    if p.shape == 'cylinder':
        radius, length = p.dimensions
        return (np.hypot(*local.T[:2]) <= radius) & (abs(local[:, 2]) <= length / 2)
    return np.linalg.norm(local, axis=1) <= p.dimensions[0]


anywhere = st.tuples(*[st.floats(-0.1, 0.1)] * 3)
bodies = st.builds(
    lambda kind, xyz, rpy, density, flooded: part(
        kind[0], kind[1], xyz, rpy, density, flooded=flooded
    ),
    st.sampled_from([('box', (0.15, 0.1, 0.2)), ('cylinder', (0.06, 0.2)), ('sphere', (0.08,))]),
    anywhere,
    st.tuples(*[st.floats(-3, 3)] * 3),
    st.floats(1, 9000),
    st.booleans(),
)


@settings(max_examples=30)
@given(st.lists(bodies, min_size=1, max_size=3))
def test_the_equations_cell_by_cell(parts):
    """Equations 3-1 to 3-5 as they stand, with a loop over cells; the last part wins."""
    size = 0.03
    found = assemble(parts, size)
    cells = (np.array(list(product(range(-12, 12), repeat=3))) + 0.5) * size
    last = np.zeros(len(cells), int)
    for i, p in enumerate(parts):
        last[inside(p, cells + grid._NUDGE * size)] = i + 1
    mass, volume, first, first_volume, points = 0.0, 0.0, np.zeros(3), np.zeros(3), []
    for r, i in zip(cells[last > 0], last[last > 0], strict=True):
        m = parts[i - 1].density * size**3
        mass, first = mass + m, first + m * r
        points.append((m, r))
        if not parts[i - 1].flooded:
            volume, first_volume = volume + size**3, first_volume + size**3 * r
    assert found.mass == pytest.approx(mass)
    assert found.volume == pytest.approx(volume)
    center = first / mass
    assert found.center_of_mass == pytest.approx(center, abs=1e-7)
    if volume:
        assert found.center_of_volume == pytest.approx(first_volume / volume, abs=1e-7)
    tensor = np.zeros((3, 3))
    for m, r in points:
        x, y, z = r - center
        tensor += m * np.array(
            [
                [y * y + z * z, -x * y, -x * z],
                [-x * y, x * x + z * z, -y * z],
                [-x * z, -y * z, x * x + y * y],
            ]
        )
    assert found.inertia == pytest.approx(tensor, abs=1e-7 * max(1, np.trace(tensor)))


def test_later_parts_take_the_place_of_earlier_ones():
    steel = part(dimensions=(0.4, 0.4, 0.4), density=8000.0)
    foam = part(dimensions=(0.2, 0.4, 0.4), xyz=(0.2, 0, 0), density=100.0)
    found = assemble([steel, foam], 0.02)
    assert found.part_volumes == pytest.approx([0.3 * 0.16, 0.2 * 0.16])
    assert found.mass == pytest.approx(8000 * 0.048 + 100 * 0.032)
    other = assemble([foam, steel], 0.02)
    assert other.part_volumes == pytest.approx([0.1 * 0.16, 0.4 * 0.16])
    assert other.volume == pytest.approx(found.volume)
    opening = replace(foam, density=0.0, flooded=True)
    assert assemble([steel, opening], 0.02).volume == pytest.approx(0.3 * 0.16)
    (warning,) = assemble([foam, replace(steel, xyz=(0.1, 0, 0))], 0.02).warnings
    assert "part 'part' has no voxel of 0.02 m" in warning


def test_neighbours_neither_share_nor_lose_cells():
    # Faces through the very centres of cells.
    boxes = [
        part(dimensions=(0.05, 0.05, 0.05), xyz=xyz)
        for xyz in product((-0.05, 0.0, 0.05), repeat=3)
    ]
    found = assemble(boxes, 0.02)
    assert len(boxes) == 27
    assert sum(found.part_volumes) == pytest.approx(found.volume)
    whole = assemble([part(dimensions=(0.15, 0.15, 0.15))], 0.02)
    assert found.volume == pytest.approx(whole.volume)
    assert found.center_of_mass == pytest.approx(whole.center_of_mass)


def test_parallel_axes():
    port, starboard = part(xyz=(0.1, 0.3, 0), density=500.0), part('sphere', (0.1,), (0, -0.3, 0))
    one, two, both = (assemble(p, 0.01) for p in ([port], [starboard], [port, starboard]))
    assert both.mass == pytest.approx(one.mass + two.mass)
    tensor = np.zeros((3, 3))
    for single in (one, two):
        d = single.center_of_mass - both.center_of_mass
        tensor = tensor + single.inertia + single.mass * (d @ d * np.eye(3) - np.outer(d, d))
    assert both.inertia == pytest.approx(tensor)
    far = assemble([replace(port, xyz=(50.1, -29.7, 8.0))], 0.01)
    assert far.inertia == pytest.approx(one.inertia, rel=1e-9)


@pytest.mark.parametrize('rpy', [ZERO, (0.3, -0.4, 0.9)])
def test_a_mesh_is_the_body_it_shows(tmp_path, rpy):
    trimesh.creation.box((0.2, 0.1, 0.3)).export(tmp_path / 'box.stl')
    size, xyz = 0.01, (0.013, 0.005, -0.02)
    solid = part(dimensions=(0.4, 0.1, 0.3), xyz=xyz, rpy=rpy)
    mesh = part('mesh', (2.0, 1.0, 1.0), xyz, rpy, file=tmp_path / 'box.stl')
    grids = [grid_of_parts([p], size)[0] for p in (solid, mesh)]
    found = [properties_of_grid(g, [solid]) for g in grids]
    # An edge's rounding in the file (single precision) may move a cell or two.
    assert found[1].mass == pytest.approx(found[0].mass, abs=0.005)
    assert found[1].center_of_mass == pytest.approx(found[0].center_of_mass, abs=1e-5)


def test_rays_through_a_ring_and_a_cavity(tmp_path):
    torus = trimesh.creation.torus(0.2, 0.06, major_sections=64, minor_sections=32)
    torus.export(tmp_path / 'ring.stl')
    shell = trimesh.creation.icosphere(4, 0.2)
    hollow = trimesh.creation.icosphere(4, 0.15)
    hollow.invert()
    (shell + hollow).export(tmp_path / 'shell.stl')
    for name, mesh in (('ring', torus), ('shell', shell + hollow)):
        for rpy in (ZERO, (0.0, np.pi / 2, 0.0), (0.5, 0.6, 0.7)):
            p = part('mesh', (1.0, 1.0, 1.0), (0.1, 0, 0), rpy, file=tmp_path / f'{name}.stl')
            found = assemble([p], 0.005)
            assert found.volume == pytest.approx(mesh.volume, rel=4e-3)
            assert found.center_of_mass == pytest.approx([0.1, 0, 0], abs=5e-4)
            turned = rotation_matrix(quaternion_from_rpy(*rpy))
            expected = 1000 * turned @ mesh.moment_inertia @ turned.T
            assert found.inertia == pytest.approx(expected, abs=8e-3 * np.trace(expected))


def test_rays_through_vertices_and_edges_cross_once():
    mesh = trimesh.creation.box((0.4, 0.4, 0.4)).subdivide().subdivide().subdivide()
    inner = np.arange(-3, 4) * 0.05  # where its vertices are
    enters, leaves = mesh_spans(mesh.vertices, mesh.faces, inner[None, :], inner[:, None])
    assert enters.shape == leaves.shape == (1, 7, 7)
    assert enters == pytest.approx(-0.2)
    assert leaves == pytest.approx(0.2)
    ball = trimesh.creation.icosphere(3, 0.2)
    y, z = np.unique(ball.vertices[:, 1]), np.unique(ball.vertices[:, 2])
    enters, leaves = mesh_spans(ball.vertices, ball.faces, y[None, :], z[:, None])
    deep = np.hypot(y[None, :], z[:, None]) < 0.19
    assert enters.shape[0] == 1
    # Facets lie within the sphere, by its sagitta.
    expected = np.sqrt(0.04 - (y[None, :] ** 2 + z[:, None] ** 2)[deep].clip(max=0.04))
    assert leaves[0][deep] == pytest.approx(expected, abs=5e-3)
    assert enters[0][deep] == pytest.approx(-expected, abs=5e-3)


def test_faces_of_a_mesh_through_centres_have_one_side(tmp_path):
    # In single precision 0.205 is a little less.
    mesh = trimesh.creation.box((0.4, 0.4, 0.4))
    mesh.vertices += 0.005
    mesh.export(tmp_path / 'box.stl')
    found = assemble([part('mesh', (1.0, 1.0, 1.0), file=tmp_path / 'box.stl')], 0.01)
    assert found.volume == pytest.approx(0.064, rel=1e-9)


def test_progress_is_told_from_nothing_to_all():
    told = []
    assemble([part(), part('sphere', (0.1,))], 0.02, told.append)
    assert told == sorted(told)
    assert told[-1] == 1
    assert len(told) > 4


# The Investigator-90


def relative(found, printed):
    return np.linalg.norm(np.subtract(found, printed)) / np.linalg.norm(printed)


def test_the_assembled_vehicle_has_the_printed_totals(investigator):
    for name, printed in PRINTED.items():
        assert relative(getattr(investigator, name), printed) < 0.02, name
    for name in ('center_of_mass', 'center_of_volume'):
        error = np.abs(getattr(investigator, name) - PRINTED[name])
        assert np.all(error < 0.02 * SIZE / 10), name  # ten times better than 2 % of the size
    assert investigator.warnings == ()
    moments = np.linalg.eigvalsh(investigator.inertia)
    assert moments[0] > 0
    assert moments[2] < moments[0] + moments[1]
    # A uniform box of that size and mass has 6.70, 13.83, 15.95.
    assert moments == pytest.approx([6.70, 13.83, 15.95], rel=0.25)


def test_a_coarse_grid_comes_close(investigator):
    coarse = assemble(load_parts(str(FILE)), 0.005)
    for name in ('mass', 'volume'):
        assert relative(getattr(coarse, name), PRINTED[name]) < 0.02, name
    for name in ('center_of_mass', 'center_of_volume'):
        error = getattr(coarse, name) - getattr(investigator, name)
        assert np.max(np.abs(error)) < 0.005, name


def test_the_parts_lie_within_the_printed_size():
    parts = load_parts(str(FILE))
    cells, _ = grid_of_parts(parts, 0.01)
    solid = np.array([False, *(p.density > 0 for p in parts)])[cells.labels]
    for axis in range(3):
        filled = cells.middles(axis)[np.any(solid, axis=tuple({0, 1, 2} - {2 - axis}))]
        assert np.max(np.abs(filled)) < SIZE[axis] / 2, axis


def test_thrusters_are_where_the_vehicle_has_them():
    thrusters = load_vehicle('investigator90', arm='false').thrusters
    motors = [p for p in load_parts(str(FILE)) if p.name.startswith('motor')]
    assert [p.name[-2:].lower() for p in motors] == list(thrusters.names)
    for p, position, axis in zip(motors, thrusters.position, thrusters.axis, strict=True):
        assert p.xyz == pytest.approx(position)
        along = rotation_matrix(quaternion_from_rpy(*p.rpy))[:, 2]
        assert abs(along @ axis) == pytest.approx(1, abs=1e-4)  # 0.258 is not quite sin 15°


def test_the_vehicle_in_voxels_mode(investigator):
    vehicle = load_vehicle('investigator90', arm='false', mass='voxels')
    assert vehicle.inertia.mass == pytest.approx(investigator.mass)
    assert vehicle.inertia.tensor == pytest.approx(investigator.inertia)
    assert vehicle.buoyancy.volume == pytest.approx(investigator.volume)
    assert vehicle.buoyancy.center_of_volume == pytest.approx(investigator.center_of_volume)
    assert vehicle.buoyancy.height == pytest.approx(0.49, abs=0.005)
    assert vehicle.buoyancy.fluid_density == 1025
    printed = load_vehicle('investigator90', arm='false')
    assert printed.inertia.mass == 114.46
    trimmed = load_vehicle('investigator90', arm='false', mass='voxels', ballast='20')
    assert trimmed.inertia.mass == pytest.approx(investigator.mass + 20)
    with pytest.raises(ModelError, match="'guessed' is not in list"):
        load_vehicle('investigator90', mass='guessed')


def test_the_documented_tables_are_the_code(investigator, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / 'docs' / 'scripts')
    make = importlib.import_module('make_investigator90')
    page = make.PAGE.read_text(encoding='utf-8')
    parts = load_parts(str(FILE))
    for mark, table in (
        ('totals', make.totals_table(investigator)),
        ('parts', make.parts_table(parts, investigator)),
    ):
        assert make.between(page, mark, table) == page, 'run docs/scripts/make_investigator90.py'
    for row in make.sizes_table(parts, (0.01, 0.005)).splitlines():
        assert row in page
    guide = (ROOT / 'docs' / 'how-to' / 'mass-from-parts.md').read_text(encoding='utf-8')
    examples = re.findall('```yaml\n(.*?)```', guide, re.DOTALL)
    shapes = [part.shape for text in examples for part in parse_parts(text, 'example.yaml')]
    assert shapes == ['box', 'cylinder', 'cylinder', 'sphere', 'mesh']


# <mass_from_parts>


@pytest.fixture
def described(tmp_path):
    (tmp_path / 'parts.yaml').write_text(TWO)

    def load(element='file="parts.yaml" voxel_size="0.02"', base='', robot=''):
        path = tmp_path / 'vehicle.urdf'
        path.write_text(f"""<robot name="built"><mass_from_parts {element}/>{robot}
            <link name="base_link">{base}</link></robot>""")
        return load_vehicle(path)

    return load


def test_a_description_with_parts(described):
    found = assemble(parse_parts(TWO, 'parts.yaml'), 0.02)
    vehicle = described()
    assert vehicle.inertia.mass == pytest.approx(found.mass)
    assert vehicle.buoyancy.volume == pytest.approx(found.volume)
    # With drag by panels the collision's voxels would float it too; the parts stand instead.
    shape = '<collision><geometry><box size="1 1 1"/></geometry></collision>'
    hull = '<hydrodynamics><pressure_drag><C_PD2>500</C_PD2></pressure_drag></hydrodynamics>'
    dragged = described(base=shape, robot=hull)
    assert dragged.hull.panels is not None
    assert dragged.hull.voxels is None
    assert dragged.buoyancy.volume == pytest.approx(found.volume)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'element': 'voxel_size="0.02"'}, "attribute 'file' is missing"),
        ({'element': 'file="parts.yaml"'}, "attribute 'voxel_size' is missing"),
        ({'element': 'file="parts.yaml" voxel_size="2 mm"'}, 'expected numbers'),
        ({'element': 'file="parts.yaml" voxel_size="2e-9"'}, 'expected 0.0001 to 10'),
        ({'element': 'file="parts.yaml" voxel_size="0.0001"'}, 'voxels in .* expected at most'),
        ({'element': 'file="other.yaml" voxel_size="0.02"'}, 'No such file'),
        ({'element': 'file="" voxel_size="0.02"'}, 'expected package://'),
        ({'base': '<inertial><mass value="1"/></inertial>'}, 'so does its <inertial>'),
        ({'robot': '<buoyancy><volume>1</volume></buoyancy>'}, 'so does <buoyancy>'),
        ({'robot': '<mass_from_parts file="a" voxel_size="1"/>'}, 'given twice'),
    ],
)
def test_descriptions_that_cannot_be(described, change, message):
    with pytest.raises(ModelError, match=message) as raised:
        described(**change)
    assert '\n' not in str(raised.value)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('size: [0.4, 0.3, 0.1]', 'size: [0.4, 0.3]', r'parts\[0\]\.size is .* three numbers'),
        ('size: [0.4, 0.3, 0.1]', 'radius: 0.4', 'expected one of'),
        ('size: [0.4, 0.3, 0.1], ', '', "'size' is missing"),
        ('radius: 0.1', 'radius: -0.1', 'expected a number from 1e-06'),
        ('density: 2700', 'density: 2.7e6', 'expected a number from 0 to 25000'),
        ('density: 2700', 'density: .nan', 'expected a number from 0 to 25000'),
        ('shape: sphere', 'shape: cone', 'expected one of: box, cylinder, sphere, mesh'),
        ('flooded: true', 'flooded: 1', 'expected true or false'),
        ('name: weight', 'name: float', "'float' is used twice"),
        ('name: weight', 'name: 7', 'expected words'),
        ('parts:', 'part:', 'unknown key'),
        ('parts:', 'parts: [] #', 'not valid YAML'),
        ("'aluminium'", '"a\\nb"', 'expected one line of words'),
        ('shape: sphere, radius: 0.04', 'shape: mesh, file: ftp://x', "scheme 'ftp'"),
    ],
)
def test_lists_that_cannot_be_used(old, new, message):
    assert old in TWO
    with pytest.raises(ModelError, match=message) as raised:
        parse_parts(TWO.replace(old, new), 'parts.yaml')
    assert str(raised.value).startswith('parts.yaml')


def test_parts_that_come_to_nothing(described, tmp_path):
    path = tmp_path / 'parts.yaml'
    path.write_text('parts: []')
    with pytest.raises(ModelError, match='expected 1 to 1000'):
        described()
    path.write_text('parts: [{name: a, shape: sphere, radius: 0.1, density: 0}]')
    with pytest.raises(ModelError, match='weigh nothing'):
        described()
    path.write_bytes(b'parts: \xff')
    with pytest.raises(ModelError, match='not UTF-8'):
        described()
    mesh = 'parts: [{name: a, shape: mesh, file: a.stl, density: 1}]'
    path.write_text(mesh)
    with pytest.raises(ModelError, match=r'a\.stl'):
        described()
    (tmp_path / 'a.stl').write_text('solid a\nendsolid a\n')
    with pytest.raises(ModelError, match=r'a\.stl'):
        described()


@limited(10)
@settings(max_examples=250)
@given(st.data())
def test_mutated_lists(data):
    text = TWO
    for _ in range(data.draw(st.integers(1, 3))):
        which, strange = data.draw(st.integers(0, 500)), data.draw(STRANGE)
        kind = data.draw(st.sampled_from(['number', 'unit', 'cut', 'insert']))
        if kind == 'unit' and NUMBER.search(text):
            factor = data.draw(UNITS)
            text = replaced(text, NUMBER, which, lambda n, f=factor: str(float(n) * f))
        elif kind == 'number' and NUMBER.search(text):
            text = replaced(text, NUMBER, which, lambda _, s=strange: s)
        else:
            start = which % max(1, len(text))
            length = data.draw(st.integers(1, 60)) if kind == 'cut' else 0
            text = text[:start] + ('' if kind == 'cut' else strange) + text[start + length :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, 'MAX_CELLS', 300_000)
        message = None
        try:
            found = assemble(parse_parts(text, 'parts.yaml'), 0.02)
        except MarineSimError as error:
            message = str(error)
    if message is not None:
        assert message.strip()
        assert '\n' not in message
        return
    for value in (found.mass, found.volume, found.center_of_mass, found.inertia):
        assert np.all(np.isfinite(value))
    assert np.min(np.linalg.eigvalsh(found.inertia)) >= -1e-9 * np.trace(found.inertia)


# The cache


def refuse(*_):
    raise AssertionError('computed although it is kept')


def test_a_second_time_nothing_is_computed(monkeypatch, cache_of_its_own):
    told = []
    first = load_vehicle(
        'investigator90', arm='false', mass='voxels', voxel_size='0.005', progress=told.append
    )
    assert told[-1] == 1
    assert len(list(cache_of_its_own.iterdir())) == 1
    monkeypatch.setattr(reader, 'assemble', refuse)
    told.clear()
    start = time.process_time()
    second = load_vehicle(
        'investigator90', arm='false', mass='voxels', voxel_size='0.005', progress=told.append
    )
    assert time.process_time() - start < 1
    assert told == []
    assert second.inertia.tensor.tobytes() == first.inertia.tensor.tobytes()
    assert second.buoyancy.center_of_volume.tobytes() == first.buoyancy.center_of_volume.tobytes()


def test_the_key_is_the_content(tmp_path):
    mesh = tmp_path / 'a.stl'
    mesh.write_bytes(b'one')
    parts = (part(), part('mesh', (1.0, 1.0, 1.0), file=mesh))
    key = content_key(parts, 0.01, GRID_METHOD)
    assert content_key(parts, 0.01, GRID_METHOD) == key
    renamed = (replace(parts[0], name='other', material='steel'), parts[1])
    assert content_key(renamed, 0.01, GRID_METHOD) == key
    mesh.rename(tmp_path / 'b.stl')
    assert (
        content_key((parts[0], replace(parts[1], file=tmp_path / 'b.stl')), 0.01, GRID_METHOD)
        == key
    )
    (tmp_path / 'a.stl').write_bytes(b'two')
    others = [
        content_key(parts, 0.01, GRID_METHOD),
        content_key(parts, 0.02, GRID_METHOD),
        content_key(parts, 0.01, 'another'),
        content_key(parts[::-1], 0.01, GRID_METHOD),
        *(
            content_key((replace(parts[0], **change), parts[1]), 0.01, GRID_METHOD)
            for change in (
                {'density': 1000.5},
                {'flooded': True},
                {'xyz': (0, 0, 1e-9)},
                {'rpy': (0, 0, 1)},
                {'dimensions': (0.2, 0.2, 0.3)},
            )
        ),
    ]
    assert len({key, *others}) == 1 + len(others)


def test_a_changed_density_gives_a_new_result(described, tmp_path):
    first = described().inertia.mass
    (tmp_path / 'parts.yaml').write_text(TWO.replace('density: 300', 'density: 400'))
    assert described().inertia.mass == pytest.approx(first + 100 * 0.4 * 0.3 * 0.1)


@pytest.mark.parametrize(
    'damage',
    [
        lambda text: '',
        lambda text: text[:-20],
        lambda text: text.replace('"mass"', '"mess"'),
        lambda text: text.replace('{', '[', 1),
        lambda text: '[1, 2]',
        lambda text: '\x00\xff',
        lambda text: '[' * 100_000,
        lambda text: json.dumps({**json.loads(text), 'mass': float('nan')}),
        lambda text: json.dumps({**json.loads(text), 'mass': [1.0]}),
        lambda text: json.dumps({**json.loads(text), 'volume': -1}),
        lambda text: json.dumps({**json.loads(text), 'inertia': [[1, 2], [3]]}),
        lambda text: json.dumps({**json.loads(text), 'part_volumes': [1.0]}),
        lambda text: json.dumps({**json.loads(text), 'warnings': 3}),
        lambda text: json.dumps({**json.loads(text), 'key': 'other'}),
    ],
)
def test_damaged_files_are_written_anew(described, cache_of_its_own, damage):
    expected = described().inertia.mass
    (path,) = cache_of_its_own.iterdir()
    kept = path.read_bytes()
    write_cached(path, damage(read_cached(path).decode()).encode('latin-1'))
    assert described().inertia.mass == expected
    assert path.read_bytes() == kept
    assert list(cache_of_its_own.iterdir()) == [path]  # nothing temporary stays


def test_where_nothing_can_be_kept(described, monkeypatch, tmp_path):
    expected = described().inertia.mass
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'file'))  # no folder can be below it
    assert described().inertia.mass == expected
    monkeypatch.setenv('XDG_CACHE_HOME', 'relative')
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    assert cache_folder('mass') == tmp_path / 'home' / '.cache' / 'marine_sim_ros' / 'mass'
    assert described().inertia.mass == expected
    assert len(os.listdir(cache_folder('mass'))) == 1
    assert not (tmp_path / 'relative').exists()


@pytest.mark.parametrize('terminal', [True, False])
def test_a_bar_on_a_terminal_and_none_in_a_pipe(monkeypatch, terminal):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, 'stderr', stream)
    monkeypatch.setenv('TERM', 'xterm')
    with progress_bar('building'):
        pass
    assert stream.getvalue() == ''  # nothing to do, nothing to show
    with progress_bar('building', quiet=0.0) as tell:
        tell(0.5)
        tell(1.0)
    assert ('building' in stream.getvalue()) is terminal
