# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states and pulse widths in bytes are those of rclpy's own serialisation, both ways."""

import struct
from contextlib import suppress

import pytest

rclpy_serialization = pytest.importorskip('rclpy.serialization')

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import MultiArrayDimension, UInt16MultiArray  # noqa: E402

from marine_sim_ros.ros.cdr import STAMP_LABEL, JointTemplate, PwmTemplate, read_joints, read_pwm  # noqa: E402
from marine_sim_ros.ros.message_fields import set_stamp  # noqa: E402

pytestmark = pytest.mark.ros
serialize, deserialize = (
    rclpy_serialization.serialize_message,
    rclpy_serialization.deserialize_message,
)
NAME = st.text(st.characters(exclude_characters='\0', exclude_categories=('Cs',)), max_size=12)
NAMES = st.lists(NAME, max_size=5)
STAMPS = st.integers(0, 2**31 * 10**9 - 1)
FLOATS = st.lists(st.floats(allow_nan=False), max_size=5)
WIDTHS = st.lists(st.integers(0, 2**16 - 1), max_size=9)
DIMENSIONS = st.lists(st.tuples(NAME, *[st.integers(0, 2**32 - 1)] * 2), max_size=3)


def joints(stamp, frame, names, numbers):
    position, velocity, effort = numbers
    message = JointState(name=names, position=position, velocity=velocity, effort=effort)
    message.header.frame_id = frame
    set_stamp(message.header.stamp, stamp)
    return message


def other_order(data, codes):
    """Return bytes in the other byte order; codes: what is where, as struct has it."""
    other, at = bytearray(data), 4
    other[1] = 0
    for code in codes:
        size = struct.calcsize('<' + code)
        at += (4 - at) % (size if code in 'dIiH' else 1)
        struct.pack_into('>' + code, other, at, *struct.unpack_from('<' + code, data, at))
        at += size
    return bytes(other)


@settings(deadline=None, max_examples=300)
@given(STAMPS, NAME, NAMES, st.tuples(FLOATS, FLOATS, FLOATS))
def test_a_joint_state_of_rclpy_is_read(stamp, frame, names, numbers):
    data = serialize(joints(stamp, frame, names, numbers))
    wanted = stamp, tuple(map(tuple, numbers))
    assert read_joints(data) == wanted
    texts = [
        ('I', f'{len(text.encode()) + 1}s') for text in (frame, *names)
    ]  # a length, the characters and a zero
    codes = ['i', 'I', *texts[0], 'I', *sum(texts[1:], ())]
    for part in numbers:
        codes += ['I', *'d' * len(part)]
    assert read_joints(other_order(data, codes)) == wanted


@settings(deadline=None, max_examples=300)
@given(STAMPS, NAMES, st.tuples(FLOATS, FLOATS, FLOATS))
def test_rclpy_reads_a_joint_state_that_is_written(stamp, names, numbers):
    template = JointTemplate(names, tuple([0.0] * len(part) for part in numbers))
    written = template.write(stamp, numbers)
    assert deserialize(written, JointState) == joints(stamp, '', names, numbers)
    assert read_joints(written) == (stamp, tuple(map(tuple, numbers)))
    with pytest.raises(struct.error):
        template.write(stamp, ([*numbers[0], 1.0], *numbers[1:]))


@settings(deadline=None, max_examples=300)
@given(DIMENSIONS, WIDTHS)
def test_pulse_widths_of_rclpy_are_read(dimensions, widths):
    message = UInt16MultiArray(data=widths)
    message.layout.dim = [
        MultiArrayDimension(label=label, size=size, stride=stride)
        for label, size, stride in dimensions
    ]
    data = serialize(message)
    stamps = [size * 10**9 + stride for label, size, stride in dimensions if label == STAMP_LABEL]
    wanted = next(iter(stamps), None), tuple(widths)
    assert read_pwm(data) == wanted
    codes = ['I']
    for label, *_ in dimensions:
        codes += ['I', f'{len(label.encode()) + 1}s', 'I', 'I']
    assert read_pwm(other_order(data, [*codes, 'I', 'I', *'H' * len(widths)])) == wanted


@settings(deadline=None)
@given(st.integers(0, 2**32 * 10**9 - 1), WIDTHS)
def test_rclpy_reads_pulse_widths_that_are_written(stamp, widths):
    written = PwmTemplate(len(widths)).write(stamp, widths)
    message = deserialize(written, UInt16MultiArray)
    (dimension,) = message.layout.dim
    assert (dimension.label, dimension.size, dimension.stride) == (
        STAMP_LABEL,
        *divmod(stamp, 10**9),
    )
    assert message.data.tolist() == widths
    assert read_pwm(written) == read_pwm(serialize(message)) == (stamp, tuple(widths))


@settings(deadline=None)
@given(st.data(), st.binary(max_size=40))
def test_other_bytes_are_refused_by_one_line(data, other):
    for read, template, name in (
        (read_joints, JointTemplate(['a', 'b'], ([1.0, 2.0], (), [3.0])), 'JointState'),
        (read_pwm, PwmTemplate(6), 'UInt16MultiArray'),
    ):
        whole = (
            template.write(1, ([1.0, 2.0], (), [3.0]))
            if read is read_joints
            else template.write(1, [1500] * 6)
        )
        short = whole[: data.draw(st.integers(0, len(whole) - 1))]
        for wrong in (short, whole[:1] + b'\x07' + whole[2:]):
            with pytest.raises(ValueError, match=f'are no {name}') as told:
                read(wrong)
            assert '\n' not in str(told.value)
        with suppress(ValueError):  # any bytes may look like a message
            read(other)


@pytest.mark.parametrize('read', [read_joints, read_pwm])
def test_lengths_beyond_the_message_end_at_its_end(read):
    whole = {read_joints: JointTemplate(['a'], ([1.0], (), ())).write(1, ([1.0], (), ())),
             read_pwm: PwmTemplate(2).write(1, [1500, 1500])}[read]  # fmt: skip
    for at in range(4, len(whole) - 3, 4):
        broken = bytearray(whole)
        struct.pack_into('<I', broken, at, 2**32 - 1)
        with suppress(ValueError):  # no other error, and no more work than there are bytes
            read(bytes(broken))
