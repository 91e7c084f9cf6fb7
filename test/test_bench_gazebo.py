# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The measurement of Gazebo's own plugins: what it needs, and the world that it makes."""

import shutil
import subprocess

import numpy as np
import pytest
from lxml import etree
from sdf_reader import spatial_inertia

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.bench import gazebo as bench_gazebo
from marine_sim_ros.bench.gazebo import command_topics, plugin_world
from marine_sim_ros.sdf.world import sdf_world
from marine_sim_ros.tools.main import main


@pytest.fixture(params=['bluerov2', 'bluerov2_heavy'])
def vehicle(request):
    return load_vehicle(request.param)


def world_of(vehicle):
    return plugin_world(sdf_world('bench', Environment(), step=0.001).text, vehicle, step=0.001)


def test_gazebo_s_plugins_get_the_vehicle_s_masses_drag_and_thrusters(vehicle):
    made = world_of(vehicle)
    assert made.physics_step == 1_000_000
    model = etree.fromstring(made.text.encode()).find(f'world/model[@name="{made.model}"]')
    rigid, added = spatial_inertia(model.find('link[@name="base_link"]/inertial'))
    np.testing.assert_allclose(rigid + added, vehicle.mass_matrix, atol=1e-9)
    plugins = {}
    for plugin in model.findall('plugin'):
        plugins.setdefault(plugin.get('name').split('::')[-1], []).append(plugin)
    (drag,) = plugins['Hydrodynamics']
    assert float(drag.findtext('xUabsU')) == -vehicle.damping.quadratic[0, 0]
    assert float(drag.findtext('nRabsR')) == -vehicle.damping.quadratic[5, 5]
    joints = [p.findtext('joint_name') for p in plugins['Thruster']]
    assert [f'/model/{made.model}/joint/{j}/cmd_thrust' for j in joints] == command_topics(
        made, vehicle
    )
    for axis, name in zip(vehicle.thrusters.axis, joints, strict=True):
        joint = model.find(f'joint[@name="{name}"]')
        found = [float(v) for v in joint.findtext('axis/xyz').split()]
        np.testing.assert_allclose(found, axis)


@pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine')
def test_libsdformat_reads_the_world(vehicle, tmp_path):
    file = tmp_path / 'world.sdf'
    file.write_text(world_of(vehicle).text)
    done = subprocess.run(['gz', 'sdf', '--check', str(file)], capture_output=True, text=True)
    assert done.stdout.strip() == 'Valid.', done.stderr


@pytest.mark.ros
def test_without_gazebo_one_line_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(shutil, 'which', lambda _: None)
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    with pytest.raises(SystemExit) as ended:
        main(['bench', '--gazebo'])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.count('\n') == 1
    assert told.startswith('ERROR: bench --gazebo: the command gz, ')
    assert ', ros_gz_bridge' in told
    assert ': not found; expected Gazebo and' in told


@pytest.mark.gazebo
@pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine')
@pytest.mark.parametrize('forces', ['plugins', 'process'])
def test_a_way_is_measured(gazebo_partition, forces):
    case = bench_gazebo.GazeboCase('', forces, 0.005, 0.005)
    speed = bench_gazebo.measure_case(case, 1.0)
    assert speed.steps > 10
    assert 0 < speed.cpu < 0.1
