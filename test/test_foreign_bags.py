# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bags of ROS 1 and of MAVROS are read as they are."""

import numpy as np
import pytest
from bags import analyze, header, odometry
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.bags.vehicle_record import vehicles_of
from marine_sim_ros.core.errors import MarineSimError

RC_OUT = 'std_msgs/Header header\nuint16[] channels\n'
OVERRIDE = 'uint16[18] channels\n'


def written(path, store, writer, serialize, name='mavros'):
    for kind, text in (('RCOut', RC_OUT), ('OverrideRCIn', OVERRIDE)):
        store.register(get_types_from_msg(text, f'mavros_msgs/msg/{kind}'))
    types = store.types
    with writer as bag:
        kinds = {
            f'/{name}/local_position/odom': 'nav_msgs/msg/Odometry',
            f'/{name}/rc/out': 'mavros_msgs/msg/RCOut',
            '/sticks': 'mavros_msgs/msg/OverrideRCIn',
        }
        connections = {
            topic: bag.add_connection(topic, kind, typestore=store)
            for topic, kind in kinds.items()
        }
        for i in range(50):
            stamp = 10**9 + i * 10**7
            messages = [
                odometry(types, stamp, [0.1 * i, 0, -1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]),
                types['mavros_msgs/msg/RCOut'](header(types, stamp), np.full(8, 1600, np.uint16)),
                types['mavros_msgs/msg/OverrideRCIn'](np.array([1550, *[65535] * 17], np.uint16)),
            ]
            for (topic, kind), message in zip(kinds.items(), messages, strict=True):
                bag.write(connections[topic], stamp, serialize(message, kind))
    return path


@pytest.fixture
def ros1(tmp_path, monkeypatch):
    store = get_typestore(Stores.ROS1_NOETIC)
    path = tmp_path / 'dive.bag'

    def with_sequence(types, stamp):
        time = types['builtin_interfaces/msg/Time'](sec=stamp // 10**9, nanosec=stamp % 10**9)
        return types['std_msgs/msg/Header'](seq=0, stamp=time, frame_id='map')

    import bags

    monkeypatch.setattr(bags, 'header', with_sequence)
    monkeypatch.setitem(globals(), 'header', with_sequence)
    return written(path, store, Writer1(path), store.serialize_ros1)


@pytest.fixture
def ros2(tmp_path):
    store = get_typestore(Stores.ROS2_JAZZY)
    path = tmp_path / 'dive'
    return written(path, store, Writer2(path, version=9), store.serialize_cdr)


@pytest.mark.parametrize('kind', ['ros1', 'ros2'])
def test_a_dive_with_mavros_is_read_without_maps(request, kind, tmp_path):
    path = request.getfixturevalue(kind)
    found = read_bag(str(path))
    assert list(found.vehicles) == ['mavros']
    channels = found.vehicles['mavros'].channels
    assert channels['odom'].topic == '/mavros/local_position/odom'
    assert channels['thrusters/pwm'].topic == '/mavros/rc/out'
    assert analyze(path, '-o', tmp_path / 'report') == 0


def test_a_channel_that_is_left_alone_is_no_pulse(ros2):
    found = read_bag(str(ros2), maps={'/sticks': 'thrusters/pwm'})
    series = found.vehicles['mavros'].channels['thrusters/pwm'].series
    assert series.maximum[0] == 1550
    assert np.all(np.isnan(series.maximum[1:]))


def test_ours_goes_before_that_of_a_driver():
    topics = {
        '/rov/odom': 'nav_msgs/msg/Odometry',
        '/rov/local_position/odom': 'nav_msgs/msg/Odometry',
        '/rov/odometry/filtered': 'nav_msgs/msg/Odometry',
    }
    (record,) = vehicles_of(topics, {}, 'bag').values()
    assert record.channels['odom'].topic == '/rov/odom'
    del topics['/rov/odom']
    (record,) = vehicles_of(topics, {}, 'bag').values()
    assert record.channels['odom'].topic == '/rov/local_position/odom'


@pytest.mark.parametrize('name', ['dvl/odometry', 'usbl/position'])
def test_a_dvl_or_usbl_counts_where_there_is_no_other_odometry(name):
    kind = {
        'dvl/odometry': 'nav_msgs/msg/Odometry',
        'usbl/position': 'geometry_msgs/msg/PoseWithCovarianceStamped',
    }[name]
    topics = {f'/rov/{name}': kind, '/rov/rc/out': 'mavros_msgs/msg/RCOut'}
    (record,) = vehicles_of(topics, {}, 'bag').values()
    assert record.channels['odom'].topic == f'/rov/{name}'
    topics['/mavros/local_position/odom'] = 'nav_msgs/msg/Odometry'
    found = vehicles_of(topics, {}, 'bag')
    assert 'odom' not in found['rov'].channels
    assert found['mavros'].channels['odom'].topic == '/mavros/local_position/odom'


def test_a_bag_of_unknown_names_lists_what_could_be_mapped(tmp_path):
    store = get_typestore(Stores.ROS2_JAZZY)
    path = tmp_path / 'odd'
    kinds = {
        '/a/motion': 'nav_msgs/msg/Odometry',
        '/b/pose': 'geometry_msgs/msg/PoseStamped',
        '/esc': 'std_msgs/msg/UInt16MultiArray',
        '/talk': 'std_msgs/msg/String',
    }
    with Writer2(path, version=9) as bag:
        for topic, kind in kinds.items():
            connection = bag.add_connection(topic, kind, typestore=store)
            if kind == 'std_msgs/msg/String':
                message = store.types[kind]('hello')
                bag.write(connection, 1, store.serialize_cdr(message, kind))
    with pytest.raises(MarineSimError) as found:
        read_bag(str(path))
    assert str(found.value).endswith(
        'of: --map odom:=/a/motion --map odom:=/b/pose --map thrusters/pwm:=/esc'
    )
