# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Propellers turn in RViz: the description has joints for them, and tf follows the rotors."""

import math
import signal
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from conftest import vehicle_of
from graph import Watcher, manifest, recorded, simulated, stamp_of
from urdf_parser_py.urdf import URDF

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model.appearance import Appearance
from marine_sim_ros.model.propulsion import propeller_turns, with_turning_propellers
from marine_sim_ros.ros.node_graph import NodeSpec

PERIOD = 40_000_000
"""ns; of the default rate."""
STEADY = """
duration: 60.0
initial: {position: [0, 0, -5], rpy: [0, 0, 0]}
segments:
  - {at: 0.0, pwm: [1500, 1500, 1500, 1500, 1500, 1500]}
  - {at: 0.2, pwm: [1640, 1370, 1580, 1450, 1550, 1420]}
"""


def turning(name):
    vehicle = vehicle_of(name)
    return with_turning_propellers(vehicle.urdf, vehicle.thrusters.names)


@pytest.mark.parametrize('name', ['bluerov2', 'bluerov2_heavy'])
def test_the_description_has_a_joint_for_each_propeller(name):
    vehicle = vehicle_of(name)
    robot, before = URDF.from_xml_string(turning(name)), URDF.from_xml_string(vehicle.urdf)
    joints = {joint.child: joint for joint in robot.joints}
    links = [f'{thruster}_propeller_link' for thruster in vehicle.thrusters.names]
    assert {link for link, j in joints.items() if j.type == 'continuous'} == set(links)
    assert all(joints[link].axis == [0, 0, 1] for link in links)
    assert robot.parent_map == before.parent_map
    assert not any(joint.type == 'continuous' for joint in before.joints)
    assert turning('simple_rov') == vehicle_of('simple_rov').urdf
    with pytest.raises(ModelError, match='robot_description'):
        with_turning_propellers('<robot', ['a'])


def test_the_vehicle_of_that_description_is_the_same():
    before, after = vehicle_of('bluerov2'), load_vehicle(turning('bluerov2'))
    for name in ('mass', 'center_of_mass', 'tensor'):
        assert np.array_equal(getattr(before.inertia, name), getattr(after.inertia, name))
    assert after.manipulator is None
    for one, other in zip(Appearance(before).parts(), Appearance(after).parts(), strict=True):
        assert np.array_equal(one.position, other.position)
        assert np.array_equal(one.rotation, other.rotation)


def turned(transforms):
    """Return the angles (n,) of propellers about their z axes by stamp and link."""
    found = defaultdict(dict)
    for t in transforms:
        if 'propeller' not in t.child_frame_id:
            continue
        q = t.transform.rotation
        assert (q.x, q.y) == (0.0, 0.0)
        assert t.header.frame_id == t.child_frame_id.replace('_propeller', '')
        found[stamp_of(t)][t.child_frame_id] = 2 * math.atan2(q.z, q.w)
    return found


def apart(a, b):
    return abs((a - b + math.pi) % (2 * math.pi) - math.pi)


class Describing(Watcher):
    """Publishes a robot_description, as robot_state_publisher does, and listens to tf."""

    def __init__(self, text):
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from std_msgs.msg import String

        super().__init__()
        tf2 = pytest.importorskip('tf2_msgs.msg')
        qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.described = self.node.create_publisher(String, 'robot_description', qos)
        self.described.publish(String(data=text))
        self.listen('/tf', tf2.TFMessage)

    def angles(self):
        return turned(t for m in self.seen['/tf'] for t in m.transforms)

    def propellers(self):
        return [m for m in self.seen['/tf'] if 'propeller' in m.transforms[0].child_frame_id]


@pytest.mark.ros
def test_tf_turns_propellers_with_the_rotors_of_a_run(processes, tmp_path):
    path = tmp_path / 'steady.yaml'
    path.write_text(STEADY)
    watcher = Describing(turning('bluerov2'))
    common = ['bluerov2', '--scenario', path, '--dt', 0.01]
    process = processes.marine_sim(
        'run', *common, '--composed', '--markers', '--record', tmp_path / 'run'
    )
    watcher.until(lambda: len(steady(watcher.angles())) > 25)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    watcher.close()
    assert 'Traceback' not in output
    told = manifest(tmp_path / 'run')
    duration = (told['ticks'] - 1) * 0.01
    assert told['trajectory_sha256'] == simulated(*common, '--duration', duration)
    check_turns(tmp_path / 'run')


def steady(stamps):
    """Return the stamps by which rotors of a time constant of 0.1 s keep their speed."""
    return [s for s in sorted(stamps) if s > 3 * 10**9]


def check_turns(folder):
    """Angles are those of the closed form, and turn by the integral of the rotors' speed."""
    from rosbags.highlevel import AnyReader

    with AnyReader([folder / 'bag']) as reader:
        own = [c for c in reader.connections if c.topic == '/tf']
        messages = [reader.deserialize(d, c.msgtype) for c, _, d in reader.messages(own)]
    found = turned(t for m in messages for t in m.transforms)
    thrusters = vehicle_of('bluerov2').thrusters
    states = recorded(folder)['thrusters/state'].values()
    speeds = {stamp_of(m): np.array(m.velocity) for m in states}
    stamps = sorted(found)
    # The first is about now; all others are a period ahead, with the speed of then.
    for stamp in stamps:
        known = speeds[max(stamp - PERIOD, stamps[0])]
        expected = propeller_turns(thrusters, known, stamp * 1e-9)
        assert set(found[stamp]) == set(expected)
        assert max(apart(found[stamp][link], a) for link, a in expected.items()) < 1e-6
    turning_on = [s for s in steady(stamps) if s <= max(speeds)]
    assert len(turning_on) > 20
    assert set(np.diff(turning_on)) == {PERIOD}
    for before, after in pairwise(turning_on):
        ticks = [s for s in speeds if before <= s < after]
        passed = sum(speeds[s] for s in ticks) * 0.01
        assert np.abs(passed).min() > 1.5  # rad: they do turn
        for i, name in enumerate(thrusters.names):
            link = f'{name}_propeller_link'
            turn = found[after][link] - found[before][link]
            assert apart(turn, -thrusters.handedness[i] * passed[i]) < 1e-4


@pytest.mark.ros
def test_nothing_is_published_where_the_description_keeps_them_fixed_or_nobody_looks(processes):
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String

    from marine_sim_ros.ros.topics import THRUSTER_STATE as TOPIC

    vehicle = vehicle_of('bluerov2')
    watcher = Describing(vehicle.urdf)
    spec = NodeSpec('markers', '/bluerov2', {'vehicle': 'bluerov2', 'frame_prefix': 'a/'})
    process = processes.node(spec)
    state = watcher.node.create_publisher(TOPIC.type, TOPIC.name, TOPIC.qos)
    watcher.until(lambda: watcher.described.get_subscription_count() == 1)
    watcher.spin(1.0)
    # It has heard the description, and has no use for rotors.
    assert state.get_subscription_count() == 0
    watcher.described.publish(String(data='<robot'))
    watcher.described.publish(String(data=turning('bluerov2')))
    watcher.until(lambda: state.get_subscription_count() == 1)
    watcher.until(lambda: watcher.node.count_publishers('/tf') == 1)

    def tell(milliseconds, *speeds):
        message = JointState(velocity=speeds)
        message.header.stamp.sec, rest = divmod(milliseconds, 1000)
        message.header.stamp.nanosec = rest * 10**6
        state.publish(message)

    def told():
        """Return the stamps of all messages about propellers, ms."""
        return [sorted({stamp_of(t) // 10**6 for t in m.transforms}) for m in watcher.propellers()]

    tell(3000, 1.0, 2.0)  # too few
    tell(3000, *[math.nan] * 6)
    tell(3000, *range(10, 70, 10))
    watcher.until(lambda: told() == [[3000, 3040]])
    (message,) = watcher.propellers()
    first = message.transforms[0]
    assert first.header.frame_id.startswith('a/')
    assert first.child_frame_id == first.header.frame_id.replace('_link', '_propeller_link')
    for milliseconds in (3005, 3035, 3040, 3085, 3500, 100):  # the last: the run was reset
        tell(milliseconds, *range(10, 70, 10))
        watcher.spin(0.05)
    watcher.until(lambda: len(told()) == 5)
    assert told()[1:] == [[3080], [3125], [3500, 3540], [100, 140]]
    assert process.poll() is None
    watcher.close()
