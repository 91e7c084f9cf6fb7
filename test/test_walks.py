# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What newcomers type, in their order, and what they see: a hull from CAD, a bag from sea.

The pilot's walk, in a browser, is in test_console_page.py.
"""

import json
import re

import numpy as np
import pytest
from conftest import marine_sim

from marine_sim_ros import load_vehicle
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.tools.list import CATALOGUE

pytestmark = pytest.mark.long

HULL = """<robot name="my_hull">
  <link name="base_link">
    <inertial><mass value="11"/>
      <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.3"/></inertial>
    <collision><geometry><mesh filename="hull.stl"/></geometry></collision>
  </link>
  {more}
</robot>
"""
WATER = """<buoyancy><volume>0.011</volume><center_of_volume>0 0 0.02</center_of_volume>
    <height>0.25</height></buoyancy>
  <hydrodynamics>
    <linear_damping>4 6 6 0.1 0.1 0.1</linear_damping>
    <quadratic_damping>40 80 120 1.5 1.5 1.5</quadratic_damping>
  </hydrodynamics>"""
THRUSTERS = """<thrusters>
    <thruster name="port"><origin xyz="-0.2 0.12 0" rpy="0 1.5707963267948966 0"/>
      <linear pos_force="20" neg_force="20"/></thruster>
    <thruster name="starboard"><origin xyz="-0.2 -0.12 0" rpy="0 1.5707963267948966 0"/>
      <linear pos_force="20" neg_force="20"/></thruster>
  </thrusters>"""
DVL = '<sensor name="dvl" type="dvl" link="base_link"><origin xyz="0 0 -0.1"/></sensor>'


@pytest.fixture
def hull(tmp_path, monkeypatch):
    trimesh = pytest.importorskip('trimesh')
    trimesh.creation.box((0.5, 0.35, 0.25)).export(tmp_path / 'hull.stl')
    monkeypatch.chdir(tmp_path)
    return tmp_path / 'my_hull.urdf'


def test_a_student_with_a_hull_is_led_to_a_vehicle_that_sinks_no_further(hull):
    hull.write_text(HULL.format(more=''))
    code, output = marine_sim('doctor', hull)
    assert code in (1, 2), output
    assert 'add <hydrodynamics><buoyancy_mode>geometry</buoyancy_mode></hydrodynamics>' in output
    assert 'Traceback' not in output
    # Her thrusters push, and she has not thought of drag: one error says so, not four.
    hull.write_text(HULL.format(more=WATER.partition('<hydrodynamics>')[0] + THRUSTERS))
    code, output = marine_sim('doctor', hull)
    assert code == 1, output
    findings = [line for line in output.splitlines() if ' give ' in line and 'N ahead' in line]
    assert len(findings) == 1, output
    hull.write_text(
        HULL.format(more=WATER.replace('>4 6 6 0.1 0.1 0.1', '>-4 -6 -6 -0.1 -0.1 -0.1'))
    )
    code, output = marine_sim('doctor', hull, '--fix', 'fixed.urdf')
    assert code == 1
    assert 'linear_damping' in output
    fixed = hull.parent / 'fixed.urdf'
    code, output = marine_sim('doctor', fixed)
    assert code == 0, output
    # A DVL without angles looks up: the doctor says so before a run measures nothing.
    hull.write_text(HULL.format(more=WATER + DVL))
    code, output = marine_sim('doctor', hull)
    assert 'sensor-view' in output, output
    (hull.parent / 'float.yaml').write_text(
        'duration: 5\ninitial: {position: [0, 0, -1], rpy: [0, 0, 90 deg]}\n'
        'segments: [{at: 0, axes: {}}]\n'
    )
    code, output = marine_sim('simulate', fixed, '--scenario', 'float.yaml', '--record', 'run')
    assert code == 0, output
    code, output = marine_sim('analyze', 'run', '-o', 'report')
    assert code == 0, output
    told = json.loads((hull.parent / 'report' / 'metrics.json').read_text())
    (metrics,) = told['bags'][0]['vehicles'].values()
    # 11 kg in 11 litres of water of 997 kg/m³ or more: it stays where it is, to a few centimetres.
    assert metrics['motion']['max_depth_m'] == pytest.approx(1.0, abs=0.1)


def test_lists_break_between_words_in_every_window(monkeypatch):
    """Wrapped text is the same words; `list lessons` is what a pilot types."""
    for columns in (80, 100):
        monkeypatch.setattr('marine_sim_ros.tools.list.terminal_width', lambda n=columns: n)
        for kind in CATALOGUE:
            code, output = marine_sim('list', kind)
            assert code == 0
            assert max(map(len, output.splitlines()), default=0) <= columns, output
            words = ' '.join(f'{k} {v}' for k, v in CATALOGUE[kind]().items()).split()
            assert output.split() == words
    assert 'first_flight' in marine_sim('list', 'lessons')[1]
    listed = marine_sim('train', '--list')[1].splitlines()[2:-1]
    in_order = [line.split()[1] for line in listed if re.match(r'\d', line)]
    assert [*CATALOGUE['lessons']()] == in_order  # by lesson, in both lists
    # A mistyped name is named before a package that is missing too.
    for module in ('marine_sim_ros.tools.train', 'marine_sim_ros.tools.run'):
        monkeypatch.setattr(f'{module}.require_ros', lambda _: 1 / 0)
    code, output = marine_sim('train', 'first_fligt')
    assert code == 2
    assert output.startswith("ERROR: lesson 'first_fligt' is neither a file nor a shipped lesson")
    code, output = marine_sim('run', 'bluerovv2', '--console')
    assert code == 2
    assert output.startswith("ERROR: vehicle 'bluerovv2' is neither"), output


def test_an_engineer_with_a_bag_from_sea_has_it_beside_the_model(tmp_path, monkeypatch):
    pytest.importorskip('rosbags')
    from test_analyze import foreign

    monkeypatch.chdir(tmp_path)
    scenario = parse_scenario(
        'duration: 4\ninitial: {position: [0, 0, -2]}\n'
        'segments: [{at: 0, axes: {surge: 0.4}}, {at: 2, axes: {yaw: 0.3, heave: -0.2}}]\n',
        'sea',
    )
    truth = simulate(load_vehicle('bluerov2'), scenario, dt=0.01)
    foreign(tmp_path / 'sea', truth, offset=1_700_000_000_000_000_000)
    replay = ('simulate', 'bluerov2', '--replay', 'sea', '--dt', 0.01, '--record', 'model')
    code, output = marine_sim(*replay)
    assert code == 0, output
    assert 'sea: there is no odom: the model begins at rest at the surface' in output
    maps = re.findall(r'--map (\S+:=\S+)', output)
    assert maps == ['odom:=/rov/odometry', 'thrusters/pwm:=/mavros/rc/out'], output
    typed = [
        '--map',
        'odom:=/rov/odometry',
        '--map',
        'thrusters/pwm:=/mavros/rc/out',
        '--overwrite',
    ]
    code, output = marine_sim(*replay, *typed)
    assert code == 0, output
    side_by_side = output.partition('side by side: marine_sim ')[2].split()
    code, output = marine_sim(*side_by_side, *typed)
    assert code == 0, output
    told = json.loads((tmp_path / 'model_report' / 'metrics.json').read_text())
    (comparison,) = told['comparisons']
    # The vehicle at sea was the model: each pulse width holds from its stamp on in both.
    assert comparison['differences']['z']['rms'] < 1e-3
    assert comparison['differences']['surge']['rms'] < 1e-3
    assert np.isfinite(comparison['offset_s'])
