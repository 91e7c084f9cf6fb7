# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of rays as nodes: the same messages to the bit however a run is computed."""

import importlib.util
import signal
import time
from collections import defaultdict

import numpy as np
import pytest
from conftest import ROOT
from graph import (
    ONE_PROCESS,
    STEP,
    WAYS,
    Watcher,
    by_stamp,
    recorded,
    run_everywhere,
    stamp_of,
    start_graph,
)
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 2.0
initial: {position: [3, 1, -4], rpy: [0.1, -0.2, 0.7]}
segments:
  - {at: 0.0, pwm: [1600, 1400, 1550, 1480, 1620, 1590]}
faults:
  - {kind: sensor_dropout, sensor: altimeter, share: 0.3}
  - {kind: sensor_bias, sensor: dvl, quantity: velocity, size: 0.1, at: 0.8}
  - {kind: sensor_freeze, sensor: scanning_sonar, at: 1.0, until: 1.2}
"""
BEACONS = """
current: {velocity: [0.2, 0.1, 0.0]}
beacons:
- {name: pinger, position: [10, 4, -8], period: 0.5}
- {name: station, position: [0, 20, -8]}
"""
TOPICS = {
    'dvl/twist': 9,
    'dvl/figure_of_merit': 9,
    'dvl/altitude': 9,
    'dvl/odometry': 9,
    'altimeter/range': 8,
    'adcp/profile': 2,
    'adcp/beams': 2,
    'adcp/water_track': 1,
    'hydrophone/direction': 3,
    'hydrophone/delays': 3,
    'hydrophone/level': 3,
    'lbl/ranges': 1,
    'ins/odometry': 17,
    'scanning_sonar/scan': 35,
    'scanning_sonar/echo': 35,
    'imaging_sonar/fan': 17,
    'multibeam/points': 17,
    'side_scan/scan': 17,
    'sonar_3d/points': 8,
}
"""And how many messages there are at least: those of the last moments are on their way."""
ACOUSTIC = {
    'dvl/beams': 9,
    'imaging_sonar/image': 17,
    'multibeam/detections': 17,
    'side_scan/image': 17,
}
SENSORS = tuple(dict.fromkeys(topic.partition('/')[0] for topic in TOPICS))
TYPES = {
    'dvl/beams': 'Dvl',
    'imaging_sonar/image': 'ProjectedSonarImage',
    'multibeam/detections': 'SonarDetections',
    'side_scan/image': 'RawSonarImage',
}
"""Of marine_acoustic_msgs, whose older builds have not all of them."""


def flat(value):
    """Return the numbers and texts of a message, in order."""
    if hasattr(value, '__dataclass_fields__'):
        return [x for name in value.__dataclass_fields__ for x in flat(getattr(value, name))]
    if isinstance(value, list) and value and hasattr(value[0], '__dataclass_fields__'):
        return [x for one in value for x in flat(one)]
    return [np.asarray(value)]


def messages(directory):
    from rosbags.highlevel import AnyReader

    result = defaultdict(dict)
    with AnyReader([directory / 'bag']) as reader:
        for connection, _, data in reader.messages():
            name = connection.topic.split('/', 2)[-1]
            if name in TOPICS | ACOUSTIC:
                message = reader.deserialize(data, connection.msgtype)
                # Without a stamp, a message is known by its number.
                stamped = hasattr(message, 'header')
                result[name][stamp_of(message) if stamped else len(result[name])] = flat(message)
    return result


@pytest.mark.timeout(900)
def test_separate_composed_and_simulate_agree_to_the_bit(processes, tmp_path):
    scenario = tmp_path / 'seen.yaml'
    scenario.write_text(SCENARIO)
    water = tmp_path / 'beacons.yaml'
    sand = (ROOT / 'config' / 'environments' / 'shallow_sand.yaml').read_text(encoding='utf-8')
    water.write_text(sand + BEACONS, encoding='utf-8')
    given = ['bluerov2', '--scenario', scenario, '--seed', '5', '--environment', water]
    for name in (
        'dvl',
        'altimeter',
        'adcp',
        'hydrophone',
        'lbl',
        'ins',
        'scanning_sonar',
        'imaging_sonar',
        'multibeam',
        'side_scan',
        'sonar_3d',
    ):
        given += ['--set', f'{name}:=true']
    # No reading is lost where a process waits for its turn.
    run_everywhere(processes, tmp_path, *given, busy=True)
    bags = {way: messages(tmp_path / way) for way in WAYS}
    there = dir(importlib.import_module('marine_acoustic_msgs.msg')) if installed() else []
    sent = {topic: least for topic, least in ACOUSTIC.items() if TYPES[topic] in there}
    for topic, least in (TOPICS | sent).items():
        expected = bags['simulate'][topic]
        assert len(expected) >= least or topic == 'altimeter/range', topic
        for way in ('separate', 'composed'):
            found = bags[way][topic]
            assert set(found) == set(expected), (topic, way)
            for stamp, values in found.items():
                for a, b in zip(values, expected[stamp], strict=True):
                    same = np.array_equal(a, b, equal_nan=a.dtype.kind == 'f')
                    assert same, (topic, way, stamp)
    assert not any(bags[way].get(topic) for way in WAYS for topic in ACOUSTIC.keys() - sent)


def installed():
    return importlib.util.find_spec('marine_acoustic_msgs') is not None


def placed(transform):
    """Return place and turn of a transform or a pose."""
    position = getattr(transform, 'translation', None) or transform.position
    turn = getattr(transform, 'rotation', None) or transform.orientation
    return (
        np.array([position.x, position.y, position.z]),
        Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]),
    )


def test_dead_reckoning_has_a_place_in_map(processes, tmp_path):
    """The frame of dvl/odometry hangs on map; seen from there, the DVL is where it truly is."""
    scenario = tmp_path / 'way.yaml'
    scenario.write_text(SCENARIO.partition('faults')[0])
    run = processes.marine_sim(
        'run',
        'bluerov2',
        *ONE_PROCESS,
        '--scenario',
        scenario,
        '--environment',
        'shallow_sand',
        '--frame-prefix',
        'rov/',
        '--set',
        'dvl:=true',
        '--real-time-factor',
        0,
        '--record',
        tmp_path / 'run',
    )
    said, _ = run.communicate()
    assert run.returncode == 0, said
    bag = recorded(tmp_path / 'run')
    frames = {
        t.child_frame_id: (t.header.frame_id, *placed(t.transform))
        for message in bag['tf_static'].values()
        for t in message.transforms
    }
    parent, start, turn = frames['rov/dvl_odom']
    assert parent == 'map'
    body, arm, _ = frames['rov/dvl_frame']
    assert body == 'rov/base_link'
    odom = by_stamp(bag['odom'].values())
    assert len(bag['dvl/odometry']) > 8
    for message in bag['dvl/odometry'].values():
        assert message.header.frame_id == 'rov/dvl_odom'
        assert message.child_frame_id == 'rov/dvl_frame'
        place, attitude = placed(odom[stamp_of(message)].pose.pose)
        found, own = placed(message.pose.pose)
        np.testing.assert_allclose(
            start + turn.apply(found), place + attitude.apply(arm), atol=0.02
        )
        down = Rotation.from_euler('x', 180, degrees=True)
        assert ((turn * own).inv() * (attitude * down)).magnitude() < 1e-3


@pytest.mark.parametrize('options', [{'record': 'run'}, {'synchronous': True}], ids='-'.join)
@pytest.mark.timeout(600)
def test_the_run_waits_for_a_sensor_that_is_held_up(processes, tmp_path, options):
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import Header

    if 'record' in options:
        options = {'record': str(tmp_path / options['record'])}
    watcher = Watcher()
    late = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    watcher.listen('imaging_sonar/tick', Header, late)
    nodes, _ = start_graph(
        processes,
        vehicle='bluerov2',
        vehicle_arguments=('imaging_sonar:=true',),
        environment='shallow_sand',
        scenario='dive',
        real_time_factor=0.0,
        duration=1.0,
        **options,
    )
    ticks = watcher.seen['imaging_sonar/tick']
    watcher.until(lambda: len(ticks) > 20)
    nodes['imaging_sonar'].send_signal(signal.SIGSTOP)
    time.sleep(5)
    nodes['imaging_sonar'].send_signal(signal.SIGCONT)
    watcher.until(lambda: nodes['dynamics'].poll() is not None)
    watcher.spin(1.0)
    watcher.close()
    assert [t.stamp.sec * 10**9 + t.stamp.nanosec for t in ticks] == list(
        range(0, 10**9 + 1, round(STEP * 1e9))
    )
