# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The hash of a vehicle tells every file that its run depends on."""

import hashlib

import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.description import vehicle_digest

TETRAHEDRON = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""
PARTS = """parts:
  - {name: wedge, shape: mesh, file: wedge.obj, density: 1000}
"""
URDF = """<robot name="r">
  <link name="base_link">
    <collision><geometry><mesh filename="frame.obj"/></geometry></collision>
    <visual><geometry><mesh filename="paint.obj"/></geometry></visual>
  </link>
  <mass_from_parts file="parts.yaml" voxel_size="0.2"/>
</robot>
"""
FILES = {
    'r.urdf': URDF,
    'parts.yaml': PARTS,
    'wedge.obj': TETRAHEDRON,
    'frame.obj': TETRAHEDRON,
    'paint.obj': TETRAHEDRON,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def digest(folder):
    return vehicle_digest(load_vehicle(folder / 'r.urdf'))


@pytest.mark.parametrize('name', [n for n in FILES if n != 'paint.obj'])
def test_any_file_that_matters_changes_the_hash(folder, name):
    before = digest(folder)
    assert before == digest(folder)
    path = folder / name
    comment = '<!-- more -->' if name.endswith('.urdf') else '\n# more\n'
    path.write_text(path.read_text() + comment)
    assert digest(folder) != before


def test_paint_does_not_change_the_hash(folder):
    before = digest(folder)
    (folder / 'paint.obj').unlink()
    assert digest(folder) == before


def test_parts_of_a_shipped_vehicle_count():
    vehicle = load_vehicle('investigator90', mass='voxels')
    assert [p.name for p in vehicle.files] == ['investigator90_parts.yaml']
    parts = hashlib.sha256(vehicle.files[0].read_bytes()).digest()
    expected = hashlib.sha256(vehicle.urdf.encode() + parts).hexdigest()
    assert vehicle_digest(vehicle) == expected


def test_a_vehicle_of_one_file_has_the_hash_of_its_urdf():
    vehicle = load_vehicle('bluerov2')
    assert vehicle_digest(vehicle) == hashlib.sha256(vehicle.urdf.encode()).hexdigest()
