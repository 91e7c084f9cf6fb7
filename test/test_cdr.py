# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers in serialised bytes are those that rclpy's own serialisation has there, both ways."""

import struct
from functools import partial
from operator import attrgetter

import numpy as np
import pytest
from filled import acceleration_from, set_acceleration, set_odometry, set_wrench
from graph import Watcher, statuses

rclpy_serialization = pytest.importorskip('rclpy.serialization')

from builtin_interfaces.msg import Time  # noqa: E402
from geometry_msgs.msg import (  # noqa: E402
    AccelStamped,
    PoseStamped,
    TransformStamped,
    TwistStamped,
    WrenchStamped,
)
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import FluidPressure, Imu  # noqa: E402
from std_msgs.msg import Header  # noqa: E402

from marine_sim_ros.core.state import State, stamp_ns  # noqa: E402
from marine_sim_ros.ros.cdr import MESSAGE_LAYOUTS, MessageTemplate, read_numbers  # noqa: E402
from marine_sim_ros.ros.message_fields import (  # noqa: E402
    odometry_numbers,
    set_stamp,
    set_transform,
    wrench_from,
)

pytestmark = pytest.mark.ros
serialize, deserialize = (
    rclpy_serialization.serialize_message,
    rclpy_serialization.deserialize_message,
)
PATHS = {
    PoseStamped: 'pose.position.xyz pose.orientation.xyzw',
    TwistStamped: 'twist.linear.xyz twist.angular.xyz',
    Imu: 'orientation.xyzw angular_velocity.xyz linear_acceleration.xyz',
}
"""Fields of numbers, in the order of the layout."""


def fields_of(kind, message):
    """Return the messages that hold the numbers, each with the name of its number."""
    for path in PATHS.get(kind, '').split():
        *parts, letters = path.split('.')
        part = attrgetter('.'.join(parts))(message)
        yield from ((part, letter) for letter in letters)
    if kind is FluidPressure:
        yield message, 'fluid_pressure'


def taken(kind, message):
    numbers = [getattr(*field) for field in fields_of(kind, message)]
    return (*numbers, message.linear_acceleration_covariance[0]) if kind is Imu else tuple(numbers)


COUNTS = {
    Odometry: 13, WrenchStamped: 6, AccelStamped: 6, PoseStamped: 7, TwistStamped: 6, Imu: 11,
    FluidPressure: 1,
}  # fmt: skip
TAKEN = {
    Odometry: lambda message: sum(odometry_numbers(message), ()),
    WrenchStamped: lambda message: tuple(wrench_from(message)),
    AccelStamped: lambda message: tuple(acceleration_from(message)),
} | {kind: partial(taken, kind) for kind in (*PATHS, FluidPressure)}
KINDS = st.sampled_from(list(COUNTS))
NAMES = st.text(st.characters(exclude_characters='\0', exclude_categories=('Cs',)), max_size=20)
STAMPS = st.integers(0, 2**31 * 10**9 - 1)
FLOATS = st.floats(allow_nan=False)


def numbers_of(kind):
    return st.lists(FLOATS, min_size=COUNTS[kind], max_size=COUNTS[kind])


def state(numbers):
    return State(np.array(numbers[:3]), np.array(numbers[3:7]), np.array(numbers[7:]))


def message_of(kind, stamp, names, numbers, covariance=0.0):
    message = kind()
    message.header.frame_id = names[0]
    set_stamp(message.header.stamp, stamp)
    if kind is Odometry:
        message.child_frame_id = names[1]
        message.pose.covariance = message.twist.covariance = [covariance] * 36
        set_odometry(message, state(numbers))
    elif kind in (*PATHS, FluidPressure):
        for field, number in zip(fields_of(kind, message), numbers, strict=False):
            setattr(*field, number)
        if kind is Imu:
            message.linear_acceleration_covariance[0] = numbers[-1]
    else:
        fill = set_wrench if kind is WrenchStamped else set_acceleration
        fill(message, np.array(numbers))
    return message


def swapped(kind, data):
    """Return a message in the other byte order, written field by field."""
    other = bytearray(data)
    other[1] = 0
    layout, at = MESSAGE_LAYOUTS[kind], 4
    other[at : at + 8] = struct.pack('>iI', *struct.unpack_from('<iI', data, at))
    at += 8
    for _ in range(layout.strings):
        at += -at % 4
        (length,) = struct.unpack_from('<I', data, at)
        struct.pack_into('>I', other, at, length)
        at += 4 + length
    at += (4 - at) % 8
    count = (len(data) - at) // 8
    struct.pack_into(f'>{count}d', other, at, *struct.unpack_from(f'<{count}d', data, at))
    return bytes(other)


@settings(deadline=None, max_examples=300)
@given(st.data(), KINDS, STAMPS, NAMES, NAMES, FLOATS)
def test_what_rclpy_wrote_is_read(data, kind, stamp, frame, child, covariance):
    numbers = data.draw(numbers_of(kind))
    message = message_of(kind, stamp, (frame, child), numbers, covariance)
    sent = serialize(message)
    assert read_numbers(kind, sent) == (stamp, tuple(numbers))
    assert read_numbers(kind, swapped(kind, sent)) == (stamp, tuple(numbers))
    assert stamp_ns(message.header.stamp) == stamp
    assert TAKEN[kind](message) == tuple(numbers)


@settings(deadline=None, max_examples=300)
@given(st.data(), KINDS, STAMPS, NAMES, NAMES)
def test_rclpy_reads_what_is_written(data, kind, stamp, frame, child):
    first, second = (data.draw(numbers_of(kind)) for _ in range(2))
    template = MessageTemplate(message_of(kind, 0, (frame, child), first))
    for numbers in (first, second):
        written = template.write(stamp, numbers)
        wanted = message_of(kind, stamp, (frame, child), numbers)
        assert deserialize(written, kind) == wanted
        assert len(written) == len(serialize(wanted))


@settings(deadline=None)
@given(STAMPS, NAMES, NAMES, st.lists(FLOATS, min_size=7, max_size=7))
def test_a_transform(stamp, frame, child, pose):
    tf2 = pytest.importorskip('tf2_msgs.msg')
    transform = TransformStamped(child_frame_id=child)
    transform.header.frame_id = frame
    message = tf2.TFMessage(transforms=[transform])
    template = MessageTemplate(message)
    set_stamp(transform.header.stamp, stamp)
    set_transform(transform, state([*pose, *[0.0] * 6]))
    written = template.write(stamp, pose)
    assert deserialize(written, tf2.TFMessage) == message
    assert read_numbers(tf2.TFMessage, written) == (stamp, tuple(pose))


@settings(deadline=None)
@given(STAMPS, NAMES)
def test_messages_that_are_a_stamp(stamp, frame):
    for message in (Clock(), Time(), Header(frame_id=frame)):
        kind = type(message)
        written = MessageTemplate(message).write(stamp, ())
        own = {Clock: lambda m: m.clock, Time: lambda m: m, Header: lambda m: m.stamp}[kind]
        set_stamp(own(message), stamp)
        assert deserialize(written, kind) == message
        assert read_numbers(kind, written) == read_numbers(kind, serialize(message)) == (stamp, ())
    assert read_numbers(Time, MessageTemplate(Time()).write(-(10**9), ())) == (-(10**9), ())


@settings(deadline=None)
@given(st.data(), KINDS, st.binary(max_size=40))
def test_other_bytes_are_refused_by_one_line(data, kind, other):
    message = message_of(kind, 1, ('map', 'base_link'), [1.0] * COUNTS[kind])
    sent = serialize(message)
    short = sent[: data.draw(st.integers(0, len(sent) - 1))]
    for wrong in (short, other, sent[:1] + b'\x07' + sent[2:]):
        with pytest.raises(ValueError, match=f'are no {kind.__name__}') as told:
            read_numbers(kind, wrong)
        assert '\n' not in str(told.value)


@pytest.mark.parametrize('kind', COUNTS)
def test_a_string_longer_than_its_message_is_refused(kind):
    sent = bytearray(serialize(message_of(kind, 1, ('map', ''), [0.0] * COUNTS[kind])))
    struct.pack_into('<I', sent, 12, 2**32 - 1)
    with pytest.raises(ValueError, match='dropped'):
        read_numbers(kind, bytes(sent))


def test_a_node_drops_broken_bytes_and_answers_other_senders(processes, ros_environment):
    from diagnostic_msgs.msg import DiagnosticArray

    from marine_sim_ros.ros.node_graph import node_specs
    from marine_sim_ros.ros.topics import LOCKSTEP
    from marine_sim_ros.sim.options import RunOptions

    watcher = Watcher()
    try:
        watcher.listen('/diagnostics', DiagnosticArray)
        watcher.listen('wrench/buoyancy', WrenchStamped)
        publisher = watcher.node.create_publisher(Odometry, 'odom', LOCKSTEP)
        spec = next(s for s in node_specs(RunOptions()) if s.executable == 'buoyancy')
        node = processes.node(spec)
        watcher.until(publisher.get_subscription_count)
        for stamp, names in ((1, ('a', 'bcdefg')), (2, ('longer/than/map', ''))):
            publisher.publish(b'\0\1\0\0' + b'\xff' * 20)
            pose = [0.0, 0.0, -5.0, 0.0, 0.0, 0.0, 1.0, *[0.0] * 6]
            publisher.publish(message_of(Odometry, stamp * 10**9, names, pose, 0.25))
            wanted = partial(answered, watcher, stamp)
            watcher.until(wanted)
        force = watcher.seen['wrench/buoyancy'][-1].wrench.force
        assert force.z > 50.0  # an upright vehicle below the surface
        assert (force.x, force.y) == (0.0, 0.0)
        watcher.until(
            lambda: any('are no Odometry' in s.message for s in statuses(watcher, 'buoyancy'))
        )
        # Its clock is that of the ticks, though it does not hear /clock.
        watcher.until(
            lambda: any(
                a.header.stamp.sec == 2 and a.status[0].name.endswith('/buoyancy')
                for a in watcher.seen['/diagnostics']
            )
        )
        heard = watcher.node.get_subscriptions_info_by_topic('/clock')
        assert 'buoyancy' not in {end.node_name for end in heard}
        assert node.poll() is None
    finally:
        watcher.close()


def answered(watcher, stamp):
    return watcher.seen['wrench/buoyancy'][-1].header.stamp.sec == stamp
