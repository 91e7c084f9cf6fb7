# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What works with the core's packages alone, and the one line that a missing one ends in."""

import configparser
import os
import re
import shlex
import sys
from types import ModuleType

import numpy as np
import pytest
from conftest import ROOT
from missing import ROS, command_without, core_alone, python_without

from marine_sim_ros.core.arrays import _LACKING, NUMPY
from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.core.extras import PACKAGE_SOURCES, require, require_all
from marine_sim_ros.sweep.plan import latin_hypercube

pytestmark = pytest.mark.versions
VEHICLES = ('bluerov2', 'bluerov2_heavy', 'investigator90', 'simple_rov', 'surface_vessel')
SIMULATE = """
from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.sim.scenario import load_scenario
for name in ('dive', 'transit'):
    simulate(load_vehicle({vehicle!r}), load_scenario(name), duration=0.1)
"""
NODES = """
from importlib import import_module
for name in ('thrusters', 'buoyancy', 'drag', 'barometer', 'dynamics', 'scenario', 'teleop',
             'markers', 'manipulator', 'controller', 'boundary', 'contact', 'composed',
             'recorder', 'tether', 'fins'):
    import_module('marine_sim_ros.nodes.' + name)
"""


@pytest.mark.long
@pytest.mark.parametrize('vehicle', VEHICLES)
def test_every_shipped_vehicle_runs_with_the_core_alone(vehicle, tmp_path):
    done = core_alone(
        SIMULATE.format(vehicle=vehicle), env=os.environ | {'XDG_CACHE_HOME': str(tmp_path)}
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.ros
def test_every_node_can_be_imported_with_the_core_alone():
    done = core_alone(NODES)
    assert done.returncode == 0, done.stderr


VERBS = (
    'run',
    'simulate',
    'teleop',
    'experiment',
    'doctor',
    'validate',
    'analyze',
    'identify',
    'sweep',
    'export-sdf',
    'console',
    'render',
    'demo',
    'list',
    'bench',
)
EACH_HELP = """
from marine_sim_ros.tools.main import main
for verb in {verbs!r}:
    try:
        main([verb, '--help'])
    except SystemExit as ended:
        assert not ended.code, verb
"""


def test_help_needs_the_core_alone():
    done = python_without((*PACKAGE_SOURCES, *ROS), EACH_HELP.format(verbs=VERBS))
    assert (done.returncode, done.stderr) == (0, '')
    assert [verb for verb in VERBS if f'marine_sim {verb} ' in done.stdout] == list(VERBS)


BOX = """<robot name="box">
  <hydrodynamics/>
  <link name="base_link">
    <inertial>
      <mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
    </inertial>
    <collision><geometry>{shape}</geometry></collision>
  </link>
</robot>"""
MESH = '<mesh filename="hull.stl"/>'


@pytest.mark.long
@pytest.mark.parametrize(
    ('name', 'arguments'),
    [
        ('trimesh', ['doctor', 'mesh.urdf']),
        ('manifold3d', ['doctor', 'cylinder.urdf']),
        (
            'rosbags',
            ['simulate', 'bluerov2', '--scenario', 'dive', '--duration', '0.1', '--record', 'bag'],
        ),
        ('rosbags', ['analyze', 'bag', '--output', 'out']),
        ('jax', ['simulate', 'bluerov2', '--scenario', 'dive', '--engine', 'jax']),
        ('scipy', ['validate', 'bluerov2']),
        ('av', ['render', 'bag', '-o', 'film.mp4']),
        ('distributed', ['sweep', 'dive', '--out', 'out', '--scheduler', 'tls://127.0.0.1:1']),
    ],
)
def test_a_missing_package_is_one_line(name, arguments, tmp_path):
    (tmp_path / 'hull.stl').write_text('solid x\nendsolid x\n')
    if arguments[0] == 'analyze':
        (tmp_path / 'bag').mkdir()
        (tmp_path / 'bag' / 'metadata.yaml').write_text('{}')
    (tmp_path / 'mesh.urdf').write_text(BOX.format(shape=MESH))
    (tmp_path / 'cylinder.urdf').write_text(BOX.format(shape='<cylinder radius="1" length="2"/>'))
    done = command_without(
        [name],
        *arguments,
        cwd=tmp_path,
        env=os.environ | {'PYTHONPATH': str(ROOT), 'XDG_CACHE_HOME': str(tmp_path / 'cache')},
    )
    assert 'Traceback' not in done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    said = [s for s in lines if re.search('(is|are) not installed|neither is installed', s)]
    assert said, done.stdout + done.stderr
    assert f'pip install {shlex.quote(PACKAGE_SOURCES[name].pip)}' in said[0]
    assert done.returncode != 0


def test_the_line_names_feature_package_and_every_way_to_get_it():
    with pytest.raises(MissingPackageError) as told:
        require('rosbags_of_another_world.x', 'tea')
    assert str(told.value) == (
        'tea: the Python package rosbags_of_another_world is not installed; '
        'expected: pip install rosbags_of_another_world'
    )


def test_all_missing_packages_of_a_verb_are_one_line(monkeypatch):
    for name in ('pyarrow', 'distributed'):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackageError) as told:
        require_all(('distributed', 'pyarrow', 'numpy'), 'sweep', 'sweep')
    assert str(told.value) == (
        'sweep: the Python packages distributed, pyarrow are not installed; expected: '
        'pip install distributed pyarrow; the extra [sweep] brings all of them'
    )


def test_a_missing_package_is_asked_for_as_the_extra_that_brings_it_asks():
    setup = configparser.ConfigParser()
    setup.read(ROOT / 'setup.cfg')
    listed = setup['options.extras_require'].items()
    extras = {name: [s.split(';')[0] for s in text.splitlines()] for name, text in listed}
    for name, source in PACKAGE_SOURCES.items():
        if source.extra:
            assert source.pip in extras[source.extra], name


def test_a_version_that_does_not_work_is_refused_in_one_line(monkeypatch):
    older = ModuleType('jax')
    older.__version__ = '0.5.3.dev20250310'
    monkeypatch.setitem(sys.modules, 'jax', older)
    with pytest.raises(MissingPackageError) as told:
        require('jax', 'tea')
    assert str(told.value) == (
        'tea: the Python package jax is of version 0.5.3.dev20250310; '
        "expected: pip install 'jax>=0.6.2'"
    )


def test_optional_packages_are_imported_where_they_are_used():
    top = re.compile(rf'^(?:import|from) ({"|".join(PACKAGE_SOURCES)})\b', re.MULTILINE)
    below = {
        'jax': 'engine',
        'nicegui': 'page',
        'gymnasium': 'gym',
        'rosbags': 'bags',
        'numba': 'bvh_kernels.py',
    }  # whole rooms or modules of an extra
    for path in (ROOT / 'marine_sim_ros').rglob('*.py'):
        for name in top.findall(path.read_text()):
            assert below.get(name) in path.parts, f'{path}: import {name}'


# What NumPy 1.26 lacks, and what other libraries did before.


def test_names_of_numpy_are_those_that_numpy_1_26_has_or_the_shim_adds():
    own, standard = (
        {
            name
            for path in (ROOT / 'marine_sim_ros').rglob('*.py')
            if path.parent.name != 'engine'
            for name in re.findall(rf'\b{space}\.([a-zA-Z_]\w*)', path.read_text())
        }
        for space in ('np', 'xp')
    )
    assert all(hasattr(NUMPY, name) for name in standard)
    newer = {*_LACKING, 'trapezoid', 'vecmat', 'matvec', 'unstack', 'isdtype', 'unique_values'}
    assert not own & (newer - {'bool', 'argsort'})  # which it has, in another form


@pytest.mark.skipif(not hasattr(np, 'vecdot'), reason='NumPy before 2.0 has nothing to compare')
def test_the_shim_has_the_bits_of_numpy_2():
    rng = np.random.default_rng(0)
    for shape in ((3,), (6, 3), (5, 2, 40), (1000,)):
        a, b = rng.normal(size=(2, *shape))
        for name in ('vecdot', 'atan2', 'pow'):
            a = np.abs(a) if name == 'pow' else a
            np.testing.assert_array_equal(_LACKING[name](a, b), getattr(np, name)(a, b))
        np.testing.assert_array_equal(_LACKING['vecdot'](a, b, axis=0), np.vecdot(a, b, axis=0))
        np.testing.assert_array_equal(_LACKING['cumulative_sum'](a), np.cumulative_sum(a, axis=-1))
        if len(shape) > 1:
            turned = NUMPY.matrix_transpose(a)
            np.testing.assert_array_equal(turned, np.matrix_transpose(a))


def test_shorter_functions_have_the_bits_of_numpy():
    values = np.random.default_rng(0).normal(size=(5, 2, 40))
    for name in ('all', 'any', 'max', 'min', 'sum'):
        for options in ({}, {'axis': -1}, {'axis': (0, 2), 'keepdims': True}):
            found = getattr(NUMPY, name)(
                values > 0 if name in ('all', 'any') else values, **options
            )
            expected = getattr(np, name)(
                values > 0 if name in ('all', 'any') else values, **options
            )
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(NUMPY.take(values, [3, 1], axis=2), np.take(values, [3, 1], 2))
    assert NUMPY.reshape(values, (10, -1)).shape == (10, 40)
    assert NUMPY.astype(values, np.float32).dtype == np.float32


def test_the_latin_hypercube_is_that_of_scipy():
    qmc = pytest.importorskip('scipy.stats').qmc
    try:
        theirs = qmc.LatinHypercube(3, rng=7)
    except TypeError:  # SciPy before 1.15
        theirs = qmc.LatinHypercube(3, seed=np.random.default_rng(7))
    np.testing.assert_array_equal(latin_hypercube(7, 50, 3), theirs.random(50))


def test_what_is_kept_beside_a_shipped_mesh_is_what_follows_from_it(tmp_path, monkeypatch):
    pytest.importorskip('trimesh')
    pytest.importorskip('manifold3d')
    from marine_sim_ros.geometry import mesh_files
    from marine_sim_ros.geometry.meshes import Voxels, cell_counts, load_mesh, voxelise

    shipped = ROOT / 'urdf' / 'meshes' / 'surface_vessel_hull.dae'
    copy = tmp_path / shipped.name
    copy.write_bytes(shipped.read_bytes())
    kept, anew = load_mesh(str(shipped), np.ones(3)), load_mesh(str(copy), np.ones(3))
    assert kept.cells is not None
    assert anew.cells is None
    np.testing.assert_array_equal(kept.faces, anew.faces)
    np.testing.assert_allclose(kept.vertices, anew.vertices, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(kept.cells[0], cell_counts(anew, 0.0516))
    cells = voxelise(anew, 0.0516)
    for name, mine in zip(Voxels.__annotations__, kept.cells[1:], strict=True):
        np.testing.assert_allclose(mine, getattr(cells, name), rtol=0, atol=1e-12)
    # Beside the mesh of somebody else, or of another content, it is nothing.
    copy.with_suffix('.hull.npz').write_bytes(shipped.with_suffix('.hull.npz').read_bytes())
    assert load_mesh(str(copy), np.ones(3)).cells is None
    monkeypatch.setattr(mesh_files, 'resource_folder', lambda name: tmp_path)
    assert load_mesh(str(copy), np.ones(3)).cells is not None
    copy.write_bytes(shipped.read_bytes().replace(b'</COLLADA>', b'<!-- new --></COLLADA>'))
    assert load_mesh(str(copy), np.ones(3)).cells is None


@pytest.mark.ros
def test_a_console_without_nicegui_is_refused_before_anything_starts(ros_environment):
    done = command_without(
        ('nicegui',), 'run', 'bluerov2', '--console', '--composed', env=ros_environment
    )
    assert done.returncode == 2
    assert done.stderr.startswith('ERROR: console: the Python package nicegui is not installed')
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout
