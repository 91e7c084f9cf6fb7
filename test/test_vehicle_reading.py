# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles that a fork reads: plain data, without what reads descriptions; errors are told."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from arm_vehicles import two_links

from marine_sim_ros import load_scenario, load_vehicle
from marine_sim_ros.model.library import vehicle_names
from marine_sim_ros.sim.simulation import simulate

READERS = ('lxml', 'marine_sim_ros.model.urdf', 'urdf_parser_py', 'xacro')
HEAD = f"""
import sys
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.progress import no_progress
from marine_sim_ros.model.library import known_vehicles, vehicle_of
from marine_sim_ros.ros.launching.fork import read_vehicles
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

def readers():
    return [name for name in {READERS!r} if name in sys.modules]
"""


def printed(script, *arguments):
    command = [sys.executable, '-c', HEAD + script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_a_process_has_the_vehicle_and_nothing_that_reads_descriptions():
    script = """
read_vehicles([{'vehicle': 'bluerov2'}, {'vehicle': 'bluerov2', 'voltage': 14.0}], no_progress)
full, low = (vehicle_of({'vehicle': 'bluerov2', **more}) for more in ({}, {'voltage': 14.0}))
print(full.name, low.name, *readers())
node_specs(RunOptions(vehicle='bluerov2', scenario='dive'))
print('described', *readers())
full.contact
print('touched', *readers())
"""
    # What touches reads the collisions again, and nothing else of the description.
    expected = ['bluerov2', 'bluerov2', 'described', 'touched', 'lxml', 'urdf_parser_py']
    assert printed(script) == expected


def test_one_that_cannot_be_read_says_so_where_it_is_asked_for(tmp_path):
    (tmp_path / 'bad.urdf').write_text('<robot name="bad"><link name="base_link"/></robot')
    script = """
named = {'vehicle': sys.argv[1]}
read_vehicles([named], no_progress)
try:
    vehicle_of(named)
except ModelError as error:
    print(len(known_vehicles), str(error).count('bad.urdf'))
"""
    assert printed(script, tmp_path / 'bad.urdf') == ['0', '1']


def test_long_work_tells_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))  # with nothing kept of a work before
    script = """
told = []
parts = ['arm:=false', 'mass:=voxels', 'voxel_size:=0.01']
read_vehicles([{'vehicle': 'investigator90', 'vehicle_arguments': parts}], told.append)
print(len(told) > 1, told == sorted(told), told[-1], *readers())
"""
    assert printed(script) == ['True', 'True', '1.0']


@pytest.mark.parametrize('name', vehicle_names())
def test_a_vehicle_is_plain_data(name):
    vehicle = load_vehicle(name)
    handed = pickle.loads(pickle.dumps(vehicle))
    touch_alike(handed.contact, vehicle.contact)
    assert np.array_equal(handed.mass_matrix, vehicle.mass_matrix)


def test_it_moves_as_the_one_that_was_read():
    vehicle, dive = load_vehicle('bluerov2'), load_scenario('dive')
    handed = pickle.loads(pickle.dumps(vehicle))
    assert len({simulate(v, dive, duration=2.0).sha256 for v in (vehicle, handed)}) == 1


def test_links_of_an_arm_touch_where_they_did():
    arm = two_links()
    touch_alike(pickle.loads(pickle.dumps(arm)).contact, arm.contact)


def touch_alike(one, other):
    assert len(one) == len(other)
    for name in ('position', 'radius', 'edge', 'shape', 'joint', 'local'):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
