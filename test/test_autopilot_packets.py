# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ArduPilot's packets, axes and frames, against the protocol and rotation matrices."""

import json
import math
import struct
from itertools import pairwise

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import assume, given
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.autopilot.channels import ON, channel_map
from marine_sim_ros.autopilot.companion import DeltaOdometry
from marine_sim_ros.autopilot.conventions import (
    PacketError,
    ReportedMotion,
    angles_quaternion,
    frd,
    geographic_state,
    motion_reply,
    ned,
    ned_quaternion,
    parse_servos,
    reported_motion,
)
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.autopilot.lockstep import Frames, frames_per_tick, interpolate_state
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.spatial import normalize, quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment

WIDTH = st.integers(0, 65535)
FINITE = st.floats(-1e6, 1e6)
THREE = st.tuples(FINITE, FINITE, FINITE)
ENU_TO_NED = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1.0]])
FLU_TO_FRD = np.diag([1.0, -1, -1])


def packet(pwm, rate=400, frame=7, magic=None):
    magic = {16: 18458, 32: 29569}[len(pwm)] if magic is None else magic
    return struct.pack(f'<HHI{len(pwm)}H', magic, rate, frame, *pwm)


ANGLE = st.floats(-10.0, 10.0)


@given(ANGLE, ANGLE, ANGLE)
def test_a_quaternion_of_angles_is_that_of_the_rotations_one_by_one(roll, pitch, yaw):
    def about(axis, angle):
        k = np.cross(np.eye(3)[axis], -np.eye(3))  # its product with a vector is that of the axis
        return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k  # Rodrigues

    w, *xyz = angles_quaternion(roll, pitch, yaw)
    wanted = about(2, yaw) @ about(1, pitch) @ about(0, roll)
    assert rotation_matrix(np.array([*xyz, w])) == pytest.approx(wanted, abs=1e-12)


@given(
    st.sampled_from([16, 32]).flatmap(lambda n: st.lists(WIDTH, min_size=n, max_size=n)),
    WIDTH,
    st.integers(0, 2**32 - 1),
)
def test_a_servo_packet_is_read_back(pwm, rate, frame):
    found = parse_servos(packet(pwm, rate, frame))
    assert (found.frame_rate, found.frame_count, list(found.pwm)) == (rate, frame, pwm)


@given(st.binary(max_size=200))
def test_any_other_datagram_is_refused_in_one_line(data):
    assume(data[:2] not in (struct.pack('<H', 18458), struct.pack('<H', 29569)))
    with pytest.raises(PacketError, match='expected') as caught:
        parse_servos(data)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('data', 'reason'),
    [
        (b'', '0 bytes'),
        (packet([1500] * 16)[:-1], '39 bytes; expected 40'),
        (packet([1500] * 32)[:-2], '70 bytes; expected 72'),
        (packet([1500] * 16) + b'x', '41 bytes; expected 40'),
        (packet([1500] * 16, magic=1), 'magic number 1; expected 18458 or 29569'),
        (packet([1500] * 16, magic=29569), '40 bytes; expected 72'),
    ],
)
def test_what_is_wrong_is_said(data, reason):
    with pytest.raises(PacketError, match=reason):
        parse_servos(data)


@given(
    THREE,
    THREE,
    THREE,
    THREE,
    st.tuples(*[FINITE] * 4),
    st.lists(st.floats(0, 100), max_size=6),
    st.integers(0, 10**13),
)
def test_a_reply_is_one_line_of_json_without_spaces(
    gyro, accel, position, velocity, quaternion, ranges, stamp
):
    data = motion_reply(ReportedMotion(stamp, gyro, accel, position, velocity, quaternion, ranges))
    assert data.startswith(b'\n{')
    assert data.endswith(b'}\n')
    assert data.count(b'\n') == 2
    assert b' ' not in data
    read = json.loads(data)
    assert read['imu'] == {'gyro': list(gyro), 'accel_body': list(accel)}
    assert read['position'] == list(position)
    assert read['quaternion'] == list(quaternion)
    assert [read[f'rng_{k + 1}'] for k in range(len(ranges))] == ranges
    assert read['timestamp'] == pytest.approx(stamp * 1e-9 + 10, rel=2e-8)
    assert read['no_time_sync'] == 1


@pytest.mark.parametrize('period', [2_500_000, 1_250_000, 5_000_000, 10_000_000])
@pytest.mark.parametrize('start', [0, 3600 * 10**9])
def test_no_step_loses_a_microsecond_where_the_firmware_cuts(period, start):
    rest_of_it = [*[[0] * 3] * 4, [1, 0, 0, 0]]
    replies = [motion_reply(ReportedMotion(start + k * period, *rest_of_it)) for k in range(2000)]
    stamps = [json.loads(reply)['timestamp'] for reply in replies]
    clock = start // 1000 + 10_000_000
    for before, after in pairwise(stamps):
        clock = int(clock + (after - before) * 1e6)  # SIM_JSON.cpp: uint64 += double
    assert clock == start // 1000 + 10_000_000 + 1999 * period // 1000


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_no_number_that_is_not_finite_is_sent(bad):
    with pytest.raises(ValueError, match='JSON'):
        motion_reply(ReportedMotion(0, [bad, 0, 0], *[[0] * 3] * 3, [1, 0, 0, 0]))


QUATERNION = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


@given(QUATERNION, THREE)
def test_attitude_and_vectors_agree_after_the_change_of_axes(quaternion, vector):
    q, v = normalize(np.array(quaternion)), np.array(vector)
    w, x, y, z = ned_quaternion(q)
    matrix = rotation_matrix(np.array([x, y, z, w]))
    np.testing.assert_allclose(matrix, ENU_TO_NED @ rotation_matrix(q) @ FLU_TO_FRD, atol=1e-12)
    np.testing.assert_array_equal(ned(v), ENU_TO_NED @ v)
    np.testing.assert_array_equal(frd(v), FLU_TO_FRD @ v)


def test_level_and_at_rest_the_accelerometer_reads_minus_g_down():
    state = state_at_rest((3.0, 4.0, -5.0), tuple(quaternion_from_rpy(0, 0, 0.7)))
    instruments, environment = Instruments(load_vehicle('bluerov2'), noise=False), Environment()
    force, rates = instruments.inertial(0, state, np.zeros(6), environment)
    motion = reported_motion(0, state, force, rates)
    np.testing.assert_allclose(motion.accel_body, [0, 0, -environment.gravity], atol=1e-12)
    assert motion.position == (4.0, 3.0, 5.0)


def test_a_map_that_is_turned_is_turned_back():
    # The y axis of map points east; a body that looks along it looks east.
    state = state_at_rest((0.0, 2.0, 0.0), tuple(quaternion_from_rpy(0, 0, np.pi / 2)))
    turned = geographic_state(state, Origin(heading=90.0))
    np.testing.assert_allclose(turned.position, [2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(rotation_matrix(turned.orientation)[:, 0], [1, 0, 0], atol=1e-12)


@pytest.mark.parametrize('noise', [False, True])
def test_the_autopilot_reads_the_simulated_imu(noise):
    vehicle, state = load_vehicle('bluerov2'), state_at_rest((3.0, 4.0, -5.0))
    instruments = Instruments(vehicle, noise=noise)
    read = [
        instruments.inertial(k * 2_500_000, state, np.zeros(6), Environment()) for k in range(400)
    ]
    force, rates = np.array([f for f, _ in read]), np.array([r for _, r in read])
    np.testing.assert_allclose(force.mean(0), [0, 0, 9.80665], atol=0.1)
    assert (force.std(0).max() > 1e-3) == noise
    assert (rates.std(0).max() > 1e-6) == noise


@pytest.mark.parametrize(
    ('rate', 'dt', 'count'),
    [
        (400, 0.005, 2),
        (800, 0.005, 4),
        (1200, 0.005, 6),
        (400, 0.0025, 1),
        (400, 0.001, 1),
        (400, 0.02, 8),
        (1, 0.2, 3),
    ],
)
def test_frames_subdivide_or_equal_ticks(rate, dt, count):
    assert frames_per_tick(rate, dt) == count


@given(QUATERNION, QUATERNION, st.integers(1, 12))
def test_frames_lie_between_two_ticks_and_end_at_the_later_one(first, second, count):
    a = State(np.zeros(3), normalize(np.array(first)), np.zeros(6))
    b = State(np.ones(3), normalize(np.array(second)), np.full(6, 0.5))
    frames = Frames(rate=count * 100)
    assert [t for t, *_ in frames.frames_until(0, a)] == [0]
    found = list(frames.frames_until(10_000_000, b))
    assert len(found) == count
    assert found[-1][:2] == (10_000_000, b)
    for k, (stamp, state, acceleration) in enumerate(found, 1):
        assert stamp == 10_000_000 * k // count
        np.testing.assert_allclose(state.position, k / count)
        np.testing.assert_allclose(acceleration, 50.0)
        assert np.linalg.norm(state.orientation) == pytest.approx(1)
    assert len(list(frames.frames_until(5_000_000, a))) == 1  # the run was reset


def test_a_dvl_tells_how_far_it_went_in_the_axes_at_the_start():
    # A quarter of a circle of 1 m to the left in 0.1 s, 0.001 s a tick: to (1, 1) in FLU.
    odometry, rate = DeltaOdometry(), np.pi / 2 / 0.1
    for k in range(101):
        angle = rate * k * 1e-3
        place = np.array([np.sin(angle), 1 - np.cos(angle), -2.0])
        state = State(place, quaternion_from_rpy(0, 0, angle), np.array([rate, 0, 0, 0, 0, rate]))
        middle = np.array([np.cos(rate * 5e-4), -np.sin(rate * 5e-4), 0]) * rate
        delta = odometry.add(k * 1_000_000, state, middle)
        assert (delta is None) == (k < 100)
    np.testing.assert_allclose(delta.position, [1, -1, 0], atol=1e-3)
    np.testing.assert_allclose(delta.angle, [0, 0, -np.pi / 2], atol=1e-9)
    assert odometry.add(101_000_000, state, None) is None  # no bottom
    assert odometry.add(300_000_000, state, middle) is not None


def test_each_reading_of_a_dvl_is_told_once_and_as_it_comes():
    """0.5 m/s ahead and 0.1 m/s down, read every 0.2 s; half a second without bottom between."""
    odometry, state = DeltaOdometry(), state_at_rest()
    velocity, period, told = np.array([0.5, 0.0, -0.1]), 200_000_000, []
    for stamp in range(0, 3_000_000_000, 5_000_000):
        seen = velocity if not 1_000_000_000 < stamp < 1_500_000_000 else None
        delta = odometry.add(stamp, state, seen, stamp // period * period)
        if delta is not None:
            told.append(delta)
    assert [d.stamp % period for d in told] == [0] * len(told)
    after = next(d for d in told if d.stamp > 1_500_000_000)
    assert after.stamp == 1_600_000_000
    assert len(told) == 5 + 7
    for delta in told:
        speed = np.array(delta.position) / delta.duration * 1e9
        np.testing.assert_allclose(speed, [0.5, 0.0, 0.1])  # FRD


def test_between_turns_the_short_way_at_a_constant_rate():
    a, b = (State(np.zeros(3), quaternion_from_rpy(0, 0, yaw), np.zeros(6)) for yaw in (3.0, -3.0))
    q = interpolate_state(a, b, 0.5).orientation
    assert abs(q @ quaternion_from_rpy(0, 0, np.pi)) == pytest.approx(1)


@given(st.lists(WIDTH, min_size=16, max_size=16))
def test_a_channel_that_is_off_leaves_its_thruster_neutral(pwm):
    channels = channel_map(vehicle_of('bluerov2'))
    for width, told in zip(channels.pulse_widths(pwm), pwm, strict=False):
        assert width == (told if told in ON else 1500)
    for value in channels.values(pwm).values():
        assert -0.8 < value <= 1.0


@pytest.mark.parametrize(
    ('name', 'frame', 'tilt'),
    [('bluerov2', 'vectored', 8), ('bluerov2_heavy', 'vectored_6dof', 10)],
)
def test_the_shipped_vehicles_need_no_mapping(name, frame, tilt):
    channels = channel_map(load_vehicle(name))
    assert channels.frame == frame
    assert {d.name: d.channel for d in channels.devices}['camera_tilt'] == tilt
    pwm = [0] * 16
    pwm[8] = 1900
    assert channels.values(pwm) == {'lights': 1.0}
    assert channels.pulse_widths([1000] * 16) == [1500] * len(channels.thrusters)


def urdf(tmp_path, element):
    text = load_vehicle('bluerov2').urdf.replace('</robot>', f'{element}</robot>')
    path = tmp_path / 'mapped.urdf'
    path.write_text(text)
    return path


def test_a_mapping_in_the_urdf(tmp_path):
    first, second = load_vehicle('bluerov2').thrusters.names[:2]
    element = f"""
      <ardusub frame="custom">
        <channel number="1" thruster="{second}"/><channel number="2" thruster="{first}"/>
        <channel number="8" device="lights"/>
        <channel number="12" device="winch" low="-2" high="2"/>
      </ardusub>"""
    channels = channel_map(load_vehicle(str(urdf(tmp_path, element))))
    assert channels.frame == 'custom'
    assert channels.thrusters == (2, 1, 3, 4, 5, 6)
    # Camera tilt lost its channel to the lights, which moved.
    found = {d.name: d.channel for d in channels.devices}
    assert found == {'lights': 8, 'winch': 12, 'gripper': 11}
    pwm = [1500] * 16
    pwm[11] = 1100
    assert channels.values(pwm)['winch'] == -2


@pytest.mark.parametrize(
    ('element', 'reason'),
    [
        ('<ardusub frame="cube"/>', "frame is 'cube'; expected one of: bluerov1, vectored"),
        ('<ardusub><channel number="33" device="lights"/></ardusub>', 'expected 1 to 32'),
        ('<ardusub><channel number="3"/></ardusub>', 'one of the attributes thruster and device'),
        (
            '<ardusub><channel number="9" device="a"/><channel number="9" device="b"/></ardusub>',
            'channel 9 is given twice',
        ),
        ('<ardusub><channel number="9" thruster="nobody"/></ardusub>', "thruster 'nobody'"),
        ('<ardusub><motor/></ardusub>', 'unknown element <motor>'),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(tmp_path, element, reason):
    with pytest.raises(ModelError, match=reason):
        channel_map(load_vehicle(str(urdf(tmp_path, element))))
