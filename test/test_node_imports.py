# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a node must not import: each costs every process of a graph its time and its memory."""

import subprocess
import sys

import numpy as np
import pytest

HEAVY = (
    'coacd', 'cv2', 'em', 'fastapi', 'gymnasium', 'importlib.metadata', 'jax', 'lark',
    'manifold3d', 'matplotlib', 'moderngl', 'networkx', 'nicegui', 'numpy.testing', 'pandas',
    'PIL', 'plotly', 'pymavlink', 'pytest', 'rich', 'rosbags', 'scipy', 'shapely', 'statistics',
    'sympy', 'trimesh', 'xarray',
)  # fmt: skip
if np.__version__ >= '2':  # before, NumPy itself imports it
    HEAVY = (*HEAVY, 'numpy.polynomial', 'numpy.random')
OWN = (
    'bench', 'engine.compiled_controller', 'engine.compiled_vehicle', 'gym', 'identification',
    'importers', 'sensors.camera.rendering', 'sweep', 'validation',
)  # fmt: skip
"""Rooms and modules that no node of a plain run has a use for."""
TOLD = f"""
import sys
names = {HEAVY!r} + tuple('marine_sim_ros.' + room for room in {OWN!r})
print('found', *(name for name in names if sys.modules.get(name)))
"""


def heavy(code, environment=None):
    """Return what of the heavy modules a process has that ran some code."""
    done = subprocess.run(
        [sys.executable, '-c', code + TOLD], capture_output=True, text=True,
        env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split('found')[1].split()


def test_it_sees_what_is_imported():
    assert heavy('import rich, marine_sim_ros.importers') == ['rich', 'marine_sim_ros.importers']


@pytest.mark.ros
def test_no_node_imports_what_it_does_not_use(ros_environment):
    everything = """
from importlib import import_module
from pathlib import Path
import marine_sim_ros.nodes
for path in sorted(Path(marine_sim_ros.nodes.__file__).parent.glob('[a-z]*.py')):
    import_module('marine_sim_ros.nodes.' + path.stem)
"""
    assert heavy(everything, ros_environment) == []


@pytest.mark.ros
@pytest.mark.parametrize(
    'options',
    [
        "vehicle='bluerov2', scenario='dive'",
        "vehicle='bluerov2_heavy', controller='modern', markers=True",
        "vehicle='torpedo_auv', scenario='lawn_mower'",
    ],
)
def test_no_node_imports_it_when_it_starts(options, ros_environment):
    made = f"""
import rclpy
from marine_sim_ros.nodes.composed import _make
from marine_sim_ros.ros.base.bus import Bus
from marine_sim_ros.ros.base.internals import import_type_support
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions
import_type_support()
rclpy.init()
bus = Bus()
nodes = [_make(spec, bus, None, None, None) for spec in node_specs(RunOptions({options}))]
assert len(nodes) > 5
"""
    assert heavy(made, ros_environment) == []


@pytest.mark.parametrize('verb', ['', 'run', 'simulate', 'list'])
def test_neither_does_the_help_of_the_command(verb):
    code = f"""
from marine_sim_ros.tools.main import main
try: main({[*filter(None, [verb])]!r} + ['--help'])
except SystemExit: pass
"""
    assert heavy(code) == []
