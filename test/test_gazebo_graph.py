# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""gazebo_bridge as a real node, with a mock in place of Gazebo and ros_gz_bridge."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT, has
from graph import recorded
from readings import check_recording, everything
from stand_in_autopilot import free_instance, make_firmware

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.gazebo.exchange import stepped_velocity
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario

pytestmark = pytest.mark.ros

TICKS = 400
STEP = 0.005
OPTIONS = RunOptions(
    scenario='dive',
    namespace='rov',
    real_time_factor=0.0,
    duration=60.0,
    gazebo={'delivery': 'in_server', 'gazebo_timeout': 0.2},
)


def start(processes, options=OPTIONS):
    """Start the suite in one process, which is quick."""
    return processes.start(
        sys.executable,
        '-m',
        'marine_sim_ros.nodes.composed',
        options.to_json(),
        '--ros-args',
        '-r',
        '__ns:=/rov',
    )


def against_mock(processes, options=OPTIONS, **more):
    scenario = load_scenario('dive')
    settings = {'vehicle': 'bluerov2', 'position': list(scenario.position), 'ticks': TICKS, **more}
    suite = start(processes, options)
    mock = processes.start(sys.executable, ROOT / 'test' / 'mock_gazebo.py', json.dumps(settings))
    output, _ = mock.communicate()
    assert mock.returncode == 0, output
    suite.terminate()
    told, _ = suite.communicate()
    assert 'Traceback' not in told
    return json.loads(output.splitlines()[-1]), told


@pytest.fixture(scope='module')
def embedded():
    return simulate(load_vehicle('bluerov2'), load_scenario('dive'), duration=TICKS * STEP)


@pytest.fixture(scope='module')
def wanted(embedded):
    return embedded.position[-1], embedded.velocity[-1]


def test_a_body_elsewhere_dives_as_the_embedded_one(processes, wanted):
    result, _ = against_mock(processes)
    assert result['answered'] == TICKS
    np.testing.assert_allclose(result['position'], wanted[0], atol=1e-9)
    velocity = stepped_velocity(np.array(result['velocity']), STEP)
    np.testing.assert_allclose(velocity, wanted[1], atol=1e-9)


def test_a_recorded_run_has_the_readings_of_the_embedded_one(processes, embedded, tmp_path):
    against_mock(processes, replace(OPTIONS, record=str(tmp_path / 'run')))
    messages = recorded(tmp_path / 'run')
    expected = embedded.sensors['imu']
    compared, forces = 0, expected['linear_acceleration']
    for stamp, wanted in zip(expected.stamp.tolist(), forces, strict=True):
        if (message := messages['imu/data_raw'].get(stamp)) is not None:
            force = message.linear_acceleration
            # The states agree to rounding, which may tip a reading over to the next of its steps.
            np.testing.assert_allclose([force.x, force.y, force.z], wanted, atol=0.005)
            compared += 1
    assert compared > 0.9 * len(expected.stamp)


def test_readings_are_those_of_the_recorded_states_to_the_bit(processes, tmp_path):
    """Whoever moves the body, its sensors read what its states give in one process."""
    options = replace(OPTIONS, **everything(tmp_path))
    against_mock(processes, options, ticks=600)
    counts = check_recording(options)
    assert counts['imu/data_raw'] > 250
    assert counts['barometer/pressure'] > 500


def test_free_bodies_elsewhere_are_published_where_they_are_embedded(processes, tmp_path):
    water = tmp_path / 'water.yaml'
    water.write_text(
        'bodies:\n'
        '  - {name: crate, shape: box, size: [0.5, 0.3, 0.2], position: [3, 0, -3], mass: 33.0,'
        ' material: steel, velocity: [0.5, 0.2, 0.1, 0.3, 0.2, 1.0]}\n'
        '  - {name: door, shape: box, size: [0.1, 1, 1], position: [6, 0, -3], mass: 120.0,'
        ' material: wood}\n'
        'joints:\n'
        '  - {name: hinge, type: revolute, child: door}\n'
    )
    options = replace(OPTIONS, environment=str(water), record=str(tmp_path / 'run'))
    _, told = against_mock(processes, options, environment=str(water), ticks=200, every=7)
    environment = run_environment(str(water))
    wanted = simulate(
        load_vehicle('bluerov2'), load_scenario('dive'), duration=1.0, environment=environment
    ).bodies['/bodies/crate']
    messages = recorded(tmp_path / 'run')
    odometry = messages['crate/odom']
    assert len(odometry) >= 195
    for stamp, message in odometry.items():
        tick, p = stamp // 5_000_000, message.pose.pose.position
        if tick < 200:
            np.testing.assert_allclose([p.x, p.y, p.z], wanted.position[tick], atol=1e-9)
    assert {*messages['door/joint_states'][0].name} == {'hinge'}
    assert 'a new run' not in told


def test_an_autopilot_steers_a_body_elsewhere(processes, tmp_path):
    options = replace(
        OPTIONS,
        scenario='',
        autopilot='ardusub',
        ardusub=str(make_firmware(tmp_path / 'ardusub', '--depth', 1.0)),
        autopilot_instance=free_instance(),
    )
    result, told = against_mock(processes, options, ticks=1600)
    assert ' connected' in told
    assert result['answered'] == 1600
    assert -result['position'][2] == pytest.approx(1.0, abs=0.05)


def test_a_world_that_is_reset_starts_a_new_run_and_repeated_states_change_nothing(
    processes, wanted
):
    result, told = against_mock(processes, reset=50, every=7)
    assert 'Gazebo went back to 0.000 s: a new run' in told
    np.testing.assert_allclose(result['position'], wanted[0], atol=1e-9)


def test_a_silent_gazebo_and_lost_ticks_are_told_and_survived(processes):
    result, told = against_mock(processes, rest=[30, 1.5], skip=60)
    assert 'nothing from Gazebo' in told
    assert '1 ticks of Gazebo never came' in told
    assert result['answered'] >= TICKS - 1


def test_a_gazebo_that_never_speaks_ends_the_run_with_one_line(processes):
    gazebo = {'delivery': 'in_server', 'world': 'pool', 'start_timeout': 0.5}
    process = start(processes, replace(OPTIONS, gazebo=gazebo))
    output, _ = process.communicate()
    assert process.returncode == 1
    assert output.count("expected gz sim with the world 'pool' and ros_gz_bridge") == 1


@pytest.mark.skipif(has('ros_gz_interfaces'), reason='ros_gz_interfaces is here')
def test_the_stock_way_says_what_it_lacks(processes):
    process = start(processes, replace(OPTIONS, gazebo={'delivery': 'stock'}))
    output, _ = process.communicate()
    assert process.returncode == 2
    assert 'ros_gz_interfaces' in output
    assert 'expected the package ros-jazzy-ros-gz' in output
