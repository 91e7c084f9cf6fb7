# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Our controller as a MAVLink vehicle, seen by pymavlink as a ground station."""

import hashlib
import importlib
import math
import signal
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processor import PATIENCE

from marine_sim_ros.autopilot.channels import Device
from marine_sim_ros.autopilot.mavlink.autopilot import Efforts, SetPoints
from marine_sim_ros.autopilot.mavlink.camera_component import CameraServer
from marine_sim_ros.autopilot.mavlink.camera_manager import CameraStream
from marine_sim_ros.autopilot.mavlink.coverage import (
    COMMANDS,
    DONE,
    MAVLINK_MESSAGES,
    MISSION_ITEMS,
    REFUSED,
)
from marine_sim_ros.autopilot.mavlink.mission import MissionItem, item_fault
from marine_sim_ros.autopilot.mavlink.parameters import VEHICLE_PARAMETERS
from marine_sim_ros.autopilot.mavlink.sticks import Overrides
from marine_sim_ros.autopilot.mavlink.streams import STREAMS
from marine_sim_ros.autopilot.mavlink.vehicle import MavlinkVehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.state import State, state_at_rest

M = pytest.importorskip('pymavlink.dialects.v20.ardupilotmega')
FULL_STICK = np.array([1.0, 0.5, 0.5, 0.5, 0.5, 0.8])
NORTH = state_at_rest((0.0, 0.0, -2.0), tuple(quaternion_from_rpy(0, 0, math.pi / 2)))
"""At rest, 2 m down, the bow to the north."""
NOTHING = [65535] * 18
ONLY_POSITION, POSITION_AND_YAW, ONLY_VELOCITY, VELOCITY_AND_RATE = 0xDF8, 0x9F8, 0xDC7, 0x5C7
ACCEPTED, DENIED, UNSUPPORTED, FAILED, IN_PROGRESS = 0, 2, 3, 4, 5


class Ground:
    """A ground station in a few lines: a socket, and MAVLink 2 of system 255."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]
        self.vehicle = None
        self.mav = M.MAVLink(self, srcSystem=255, srcComponent=190)
        self.mav.robust_parsing = True

    def write(self, data):
        self.socket.sendto(data, self.vehicle)

    def read(self):
        """Return the messages that have come."""
        found = []
        while True:
            try:
                data, self.vehicle = self.socket.recvfrom(4096)
            except BlockingIOError:
                return found
            found += self.mav.parse_buffer(data) or []

    def until(self, kind, condition=lambda m: True, timeout=PATIENCE):
        """Beat, and return the first message of a kind that meets a condition."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            for message in self.read():
                if message.get_type() == kind and condition(message):
                    return message
            if self.vehicle is not None:
                self.mav.heartbeat_send(6, 8, 0, 0, 0)
            time.sleep(0.05)
        raise AssertionError(f'no {kind} in {timeout} s')


class Rig:
    """A vehicle, a ground station on a socket of its own, and clocks that stand still."""

    def __init__(self, origin=None, **options):
        self.link = Ground()
        self.mav = self.link.mav
        self.warnings, self.arms, self.answers_at_once = [], [], True
        self.vehicle = MavlinkVehicle(
            f'127.0.0.1:{self.link.port}', origin or Origin(), FULL_STICK, self._arm,
            self.warnings.append, **options,
        )  # fmt: skip
        self.pilot = self.vehicle.autopilot
        self.now = self.time = 0.0
        self.state = NORTH
        self.seen = []
        self.link.vehicle = self.vehicle.link.address

    def _arm(self, on, answered):
        self.arms.append((on, answered))
        if self.answers_at_once:
            answered(True, '')

    def arm(self):
        self.vehicle.set_armed(True)

    def step(self, seconds=0.05, state=None):
        """Let simulated time pass, and return the command."""
        self.time += seconds
        self.state = self.state if state is None else state
        return self.pilot.step(self.time, self.state)

    def targets(self, **options):
        command = self.step(**options)
        assert isinstance(command, SetPoints), command
        return command.targets

    def exchange(self, seconds=0.0):
        """Let the vehicle take what was sent; return what it answers."""
        self.now += seconds
        self.vehicle.receive(self.now)
        return self.read()

    def read(self):
        found = self.link.read()
        self.seen += found
        return found

    def ask(self, number, *params, result=None):
        """Send a COMMAND_LONG, and return the result of its answer."""
        params = [*params, *[0] * (7 - len(params))]
        self.mav.command_long_send(1, 1, number, 0, *params)
        acks = [m for m in self.exchange() if m.get_type() == 'COMMAND_ACK']
        assert all(m.command == number for m in acks)
        return [m.result for m in acks]

    def texts(self):
        """Return the status texts, those in several messages put together."""
        found = (m for m in self.seen if m.get_type() == 'STATUSTEXT')
        return ''.join(('' if m.chunk_seq else ' / ') + m.text for m in found)

    def close(self):
        self.vehicle.close()
        self.link.socket.close()


@pytest.fixture
def rig():
    made = Rig(devices=(Device('camera_tilt', 10, -0.7854, 0.7854), Device('lights', 9)))
    made.step()
    yield made
    made.close()


@pytest.fixture
def rigs():
    made = []

    def make(**options):
        made.append(Rig(**options))
        return made[-1]

    yield make
    for each in made:
        each.close()


# --- the connection


@pytest.mark.parametrize(
    'address', ['here', ':14550', '127.0.0.1:', '127.0.0.1:70000', 'a:²', 'no.such.host.:1']
)
def test_what_is_no_address_is_one_line(address):
    with pytest.raises(ParameterError, match=r'ground_station is .*') as error:
        MavlinkVehicle(address, Origin(), FULL_STICK, print, print)
    assert '\n' not in str(error.value)


def test_the_socket_is_on_loopback_and_others_are_named_and_ignored(rig):
    assert rig.vehicle.link.address[0] == '127.0.0.1'
    for host in ('127.0.0.1', '127.0.0.9'):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind((host, 0))
            arming = rig.mav.command_long_encode(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)
            for _ in range(3):
                other.sendto(arming.pack(rig.mav), rig.vehicle.link.address)
            assert rig.exchange() == []
            where = f'{host}:{other.getsockname()[1]} is not the ground station'
            assert [where in w for w in rig.warnings].count(True) == 1
    assert not rig.arms
    assert rig.vehicle.link.refused['foreign'] == 6


@given(data=st.binary(max_size=300))
def test_bytes_of_any_kind_leave_the_vehicle_alone(data):
    link = _link()
    parsed = link._parse_datagram(data)
    assert all(m.get_type() == 'BAD_DATA' or m.get_type().startswith('UNKNOWN') for m in parsed)


_LINKS = []


def _link():
    if not _LINKS:
        _LINKS.append(Rig())
    return _LINKS[0].vehicle.link


def test_what_follows_garbage_is_understood(rig):
    rig.link.write(b'\xfd\xff' + bytes(40))
    rig.link.write(b'\xfe')
    assert rig.ask(410) == [ACCEPTED]


KINDS = sorted(
    (m for m in M.mavlink_map.values() if m.msgname in {row.name for row in MAVLINK_MESSAGES}),
    key=lambda m: m.id,
)


@pytest.mark.parametrize('kind', KINDS, ids=lambda k: k.msgname)
@pytest.mark.parametrize('mode', ['guided', 'alt_hold'])
def test_no_number_of_any_message_ends_it_or_steers_it(rigs, kind, mode):
    rig = rigs()
    rig.step()
    rig.pilot.set_mode(mode)
    rig.arm()
    rig.step()
    for value in (math.nan, math.inf, -math.inf, 3e38, -3e38, 0.0):
        for integer in (0, 1, 255):
            rig.link.write(_filled(kind, value, integer).pack(rig.mav))
    rig.exchange()
    command = rig.step()
    numbers = command.efforts if isinstance(command, Efforts) else command.targets
    assert np.all(np.isnan(numbers) | (np.abs(numbers) < 1e4)), numbers
    for name in STREAMS:
        rig.vehicle._telemetry.send(name)


def _filled(kind, number, integer):
    """Return a message with one number in all of its fields of floats, and one in the others."""
    values = []
    for name, of_type in zip(kind.fieldnames, kind.fieldtypes, strict=True):
        count = kind.array_lengths[kind.ordered_fieldnames.index(name)]
        if of_type == 'char':
            values.append(b'\xff\xfe\x80')
        elif of_type in ('float', 'double'):
            values.append([number] * count if count else number)
        else:
            low, high = (-128, 127) if of_type.startswith('int') else (0, 255)
            one = 1 if name.startswith('target') else min(max(integer, low), high)
            values.append([one] * count if count else one)
    return kind(*values)


@pytest.mark.parametrize('param', [1, 2])
@pytest.mark.parametrize('number', [11, 16, 115, 176, 178, 192, 224, 400, 510, 511, 512])
@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_a_command_with_what_is_no_number_is_denied(rig, number, param, value):
    params = [1.0] * 7
    params[param - 1] = value
    (result,) = rig.ask(number, *params)
    used = number not in COMMANDS or param in COMMANDS[number].uses
    if used or math.isinf(value):
        assert result in (DENIED, UNSUPPORTED, FAILED)


def test_signed_messages_alone_count_where_there_is_a_key(rigs, tmp_path):
    key = tmp_path / 'key'
    key.write_text('over the deep\n')
    rig = rigs(key=str(key))
    rig.step()
    assert rig.ask(410) == []
    assert 'without the right signature' in rig.warnings[0]
    rig.mav.signing.sign_outgoing = True
    rig.mav.signing.timestamp = int((time.time() - 1420070400) * 1e5)
    rig.mav.signing.secret_key = hashlib.sha256(b'the wrong one').digest()
    assert rig.ask(410) == []
    rig.mav.signing.secret_key = hashlib.sha256(b'over the deep').digest()
    assert rig.ask(410) == [ACCEPTED]
    packed = rig.mav.command_long_encode(1, 1, 410, 0, 0, 0, 0, 0, 0, 0, 0).pack(rig.mav)
    rig.link.write(packed)
    rig.link.write(packed)  # recorded, and sent again
    assert [m.get_type() for m in rig.exchange()].count('COMMAND_ACK') == 1


@pytest.mark.parametrize('text', ['', '\n'])
def test_a_key_file_that_is_none_is_one_line(tmp_path, text):
    key = tmp_path / 'key'
    key.write_text(text)
    for path in (key, tmp_path / 'none', tmp_path, '/dev/zero'):
        with pytest.raises(ParameterError, match=f'{path}: [^\n]*$'):
            MavlinkVehicle('127.0.0.1:9', Origin(), FULL_STICK, print, print, key=str(path))


# --- the table


def test_every_message_of_the_table_is_what_the_table_says(rig):
    names = {m.msgname for m in M.mavlink_map.values()}
    for row in MAVLINK_MESSAGES:
        assert row.name in names, row
        assert (row.name in rig.vehicle.handled_messages) == (row.result in (DONE, REFUSED)) or (
            row.name == 'MISSION_ACK'
        ), row
    assert rig.vehicle.handled_messages <= {row.name for row in MAVLINK_MESSAGES}
    assert len({row.name for row in MAVLINK_MESSAGES}) == len(MAVLINK_MESSAGES)


@pytest.mark.parametrize(
    'row', [r for r in MAVLINK_MESSAGES if r.result == REFUSED], ids=lambda r: r.name
)
def test_a_message_that_is_not_simulated_is_refused_with_a_text(rig, row):
    (kind,) = (m for m in M.mavlink_map.values() if m.msgname == row.name)
    rig.link.write(_filled(kind, 0.0, 0).pack(rig.mav))
    answers = rig.exchange()
    if row.name == 'MISSION_WRITE_PARTIAL_LIST':
        assert any(m.get_type() == 'MISSION_ACK' and m.type == 3 for m in answers)
    assert row.name in rig.texts() or 'not simulated' in rig.texts()
    rig.seen.clear()
    rig.link.write(_filled(kind, 0.0, 0).pack(rig.mav))
    rig.exchange()
    assert not rig.texts()  # once is enough


@pytest.mark.parametrize('number', COMMANDS, ids=lambda n: COMMANDS[n].name)
def test_every_command_of_the_table_is_what_the_table_says(rig, number):
    row = COMMANDS[number]
    assert M.enums['MAV_CMD'][number].name == f'MAV_CMD_{row.name}'
    assert (row.name in rig.vehicle._commands._actions) == (row.result == DONE)
    (long,) = rig.ask(number, *[0.0] * 7)
    rig.mav.command_int_send(1, 1, 3, number, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    (of_int,) = (m.result for m in rig.exchange() if m.get_type() == 'COMMAND_ACK')
    assert (long == UNSUPPORTED) == (of_int == UNSUPPORTED) == (row.result == REFUSED)


def test_every_item_of_the_table_is_what_the_table_says():
    for number, row in MISSION_ITEMS.items():
        assert M.enums['MAV_CMD'][number].name == f'MAV_CMD_{row.name}'
        result, text = item_fault(1, 3, MissionItem(number, params=(1.0, 1.0, 0.0, 0.0)))
        assert result == (0 if row.result == DONE else 3), (row, text)


def test_the_page_is_that_of_the_tables(monkeypatch):
    docs = Path(__file__).parent.parent / 'docs'
    monkeypatch.syspath_prepend(docs / 'scripts')
    make = importlib.import_module('make_mavlink')
    text = (docs / 'reference' / 'mavlink.md').read_text(encoding='utf-8')
    assert make.page() == text, 'run docs/scripts/make_mavlink.py'


# --- sticks


def override(**widths):
    values = list(NOTHING)
    for name, width in widths.items():
        values[int(name[1:]) - 1] = width
    return values


def test_channels_are_overridden_one_by_one(rig):
    rig.arm()
    rig.mav.rc_channels_override_send(1, 1, *override(c4=1600))
    rig.exchange()
    rig.mav.rc_channels_override_send(1, 1, *override(c5=1700))
    rig.exchange()
    np.testing.assert_allclose(rig.step().efforts, [0.5, 0, 0, 0, 0, -0.25])
    rig.mav.rc_channels_override_send(1, 1, *override(c5=0))
    rig.exchange()
    np.testing.assert_allclose(rig.step().efforts, [0, 0, 0, 0, 0, -0.25])


def test_an_override_lasts_three_seconds_each(rig):
    rig.arm()
    rig.mav.rc_channels_override_send(1, 1, *override(c5=1700))
    rig.exchange()
    rig.step(1.5)
    rig.mav.rc_channels_override_send(1, 1, *override(c3=1900))
    rig.exchange()
    np.testing.assert_allclose(rig.step(1.4).efforts, [0.5, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(rig.step(0.2).efforts, [0, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(rig.step(1.5).efforts, np.zeros(6))


WIDTHS = st.one_of(st.integers(0, 65535), st.sampled_from([0, 65534, 65535, 1100, 1500, 1900]))


@given(rounds=st.lists(st.lists(WIDTHS, min_size=18, max_size=18), max_size=5))
def test_overrides_are_those_of_the_specification(rounds):
    overrides, expected = Overrides(), [0] * 18
    for widths in rounds:
        overrides.take(widths, 0.0)
        for k, width in enumerate(widths):
            released = width == 0 if k < 8 else width == 65534
            if released:
                expected[k] = 0
            elif 800 <= width <= 2200:
                expected[k] = width
    assert [overrides.width(k, 0.0, 3.0) for k in range(18)] == expected
    assert np.all(np.abs(overrides.efforts(0.0, 3.0)) <= 1)


@pytest.mark.parametrize(
    ('sticks', 'efforts'),
    [
        ((1000, 0, 500, 0), (0.5, 0, 0, 0, 0, 0)),  # 1700 µs
        ((0, 1000, 500, 0), (0, -0.5, 0, 0, 0, 0)),
        ((0, 0, 1000, 0), (0, 0, 0.5, 0, 0, 0)),
        ((0, 0, 0, 0), (0, 0, -0.5, 0, 0, 0)),
        ((0, 0, 500, -1000), (0, 0, 0, 0, 0, 0.5)),
        ((-500, 0, 750, 0), (-0.25, 0, 0.25, 0, 0, 0)),
        ((32767, 32767, 32767, 32767), (0, 0, 0, 0, 0, 0)),
    ],
)
def test_a_joystick_has_the_gain_of_ardusub(rig, sticks, efforts):
    rig.arm()
    rig.mav.manual_control_send(1, *sticks, 0)
    rig.exchange()
    np.testing.assert_allclose(rig.step().efforts, efforts, atol=1e-9)


def test_pitch_and_roll_of_a_joystick_count_where_they_are_enabled(rig):
    rig.arm()
    for enabled, pitch, roll in ((0, 0, 0), (1, -0.25, 0), (3, -0.25, 0.5)):
        rig.mav.manual_control_send(1, 0, 0, 500, 0, 0, 0, enabled, 100, 200)
        rig.exchange()
        np.testing.assert_allclose(rig.step().efforts, [0, 0, 0, roll, pitch, 0])


def test_sticks_of_another_system_do_not_count(rig):
    rig.arm()
    rig.mav.srcSystem = 250
    rig.mav.manual_control_send(1, 1000, 0, 500, 0, 0)
    rig.mav.rc_channels_override_send(1, 1, *override(c5=1900))
    rig.exchange()
    np.testing.assert_allclose(rig.step().efforts, np.zeros(6))
    assert 'of 250; not 255' in rig.texts()


def press(rig, button):
    for buttons in (1 << button, 0):
        rig.mav.manual_control_send(1, 0, 0, 500, 0, buttons)
        rig.exchange()


def test_buttons_do_what_ardusub_s_do(rig):
    press(rig, 6)
    assert rig.arms[-1][0] is True
    press(rig, 2)
    assert rig.pilot.mode == 'alt_hold'
    press(rig, 4)
    assert rig.arms[-1][0] is False
    for button, gain in ((11, 0.75), (11, 1.0), (11, 1.0), (12, 0.75)):
        press(rig, button)
        assert rig.pilot.joystick.gain == pytest.approx(gain)
    press(rig, 14)
    rig.step()
    assert rig.pilot.values['lights'] == pytest.approx(1 / 8)
    rig.mav.manual_control_send(1, 0, 0, 500, 0, 1 << 10)
    rig.exchange()
    rig.step(0.5)
    assert rig.pilot.values['camera_tilt'] == pytest.approx(math.radians(15))
    press(rig, 8)
    assert 'input_hold_set is not simulated' in rig.texts()
    press(rig, 15)
    assert 'button 15 has no function' in rig.texts()


# --- commands


def test_arming_is_acknowledged_when_the_controller_has_answered(rig):
    rig.answers_at_once = False
    assert rig.ask(400, 1) == []
    assert [m.result for m in rig.exchange(1.5) if m.get_type() == 'COMMAND_ACK'] == [IN_PROGRESS]
    rig.arms[-1][1](True, '')
    assert [m.result for m in rig.exchange() if m.get_type() == 'COMMAND_ACK'] == [ACCEPTED]
    assert rig.ask(400, 1) == []
    rig.arms[-1][1](False, 'arm: no controller answers')
    assert [m.result for m in rig.exchange() if m.get_type() == 'COMMAND_ACK'] == [FAILED]
    assert 'no controller answers' in rig.texts()
    assert rig.ask(400, 3) == [UNSUPPORTED]


def test_a_ground_station_that_falls_silent_disarms(rig):
    rig.arm()
    assert rig.vehicle.look_after(100.0, 5.0)['ground station'] == 'none'
    assert not rig.arms  # none was ever heard
    rig.mav.heartbeat_send(6, 8, 0, 0, 0)
    rig.exchange(100.0)
    assert rig.vehicle.look_after(104.9, 5.0)['ground station'] == 'heard'
    assert not rig.arms
    rig.answers_at_once = False
    rig.vehicle.look_after(105.1, 5.0)
    rig.vehicle.look_after(106.0, 5.0)
    assert [on for on, _ in rig.arms] == [False]
    rig.arms[0][1](True, '')
    assert not rig.pilot.armed


@pytest.mark.parametrize(
    ('enable', 'mode', 'told'),
    [(0, 'manual', False), (1, 'manual', True), (3, 'alt_hold', True), (4, 'surface', True)],
)
def test_a_silence_of_the_ground_station_does_what_its_parameter_says(rig, enable, mode, told):
    rig.arm()
    rig.mav.param_set_send(1, 1, b'FS_GCS_ENABLE', enable, 9)
    rig.mav.heartbeat_send(6, 8, 0, 0, 0)
    rig.exchange(10.0)
    for silent in (2.4, 2.6, 9.0):
        rig.vehicle.look_after(10.0 + silent, 2.5)
        assert rig.pilot.mode == ('manual' if silent < 2.5 else mode)
    rig.read()
    assert (rig.pilot.armed, 'ground station silent' in rig.texts()) == (True, told)
    rig.pilot.set_mode('stabilize')  # once for a silence
    rig.vehicle.look_after(20.0, 2.5)
    assert rig.pilot.mode == 'stabilize'


def test_modes_are_changed_or_refused(rig):
    rig.mav.set_mode_send(1, 1, 2)
    assert [(m.command, m.result) for m in rig.exchange() if m.get_type() == 'COMMAND_ACK'] == [
        (11, ACCEPTED)
    ]
    assert rig.pilot.mode == 'alt_hold'
    assert rig.ask(176, 1, 4) == [ACCEPTED]
    assert rig.pilot.mode == 'guided'
    assert 'mode guided' in rig.texts()
    assert not rig.warnings
    assert rig.ask(176, 1, 1) == [FAILED]  # ACRO
    assert rig.ask(176, 1, 3) == [FAILED]  # AUTO without a mission
    assert 'no mission' in rig.texts()
    assert rig.ask(176, 0, 2) == [DENIED]
    assert rig.pilot.mode == 'guided'


def test_intervals_are_really_set(rig):
    rig.vehicle.send(0.0)
    rig.read()
    assert rig.ask(511, M.MAVLINK_MSG_ID_ATTITUDE, 1e6) == [ACCEPTED]
    assert rig.ask(511, M.MAVLINK_MSG_ID_SERVO_OUTPUT_RAW, 1e5) == [ACCEPTED]
    assert rig.ask(511, M.MAVLINK_MSG_ID_VFR_HUD, -1) == [ACCEPTED]
    assert rig.ask(511, M.MAVLINK_MSG_ID_WIND, 1e5) == [UNSUPPORTED]
    assert rig.ask(511, 16_000_000, 1e5) == [DENIED]
    rig.seen.clear()
    for k in range(200):
        rig.vehicle.send(1 + k * 0.05)
        rig.read()
    rig.read()
    kinds = [m.get_type() for m in rig.seen]
    assert kinds.count('ATTITUDE') == 10
    assert kinds.count('SERVO_OUTPUT_RAW') == pytest.approx(100, abs=1)
    assert kinds.count('VFR_HUD') == 0
    assert rig.ask(510, M.MAVLINK_MSG_ID_ATTITUDE) == [ACCEPTED]
    (interval,) = (m for m in rig.seen if m.get_type() == 'MESSAGE_INTERVAL')
    assert interval.interval_us == 1_000_000
    rig.seen.clear()
    assert rig.ask(512, M.MAVLINK_MSG_ID_HOME_POSITION) == [ACCEPTED]
    assert 'HOME_POSITION' in [m.get_type() for m in rig.seen]
    assert rig.ask(512, M.MAVLINK_MSG_ID_WIND) == [FAILED]


def test_channels_that_are_not_overridden_are_shown_neutral(rig):
    rig.mav.rc_channels_override_send(1, 1, *override(c5=1700))
    rig.exchange()
    assert rig.ask(512, M.MAVLINK_MSG_ID_RC_CHANNELS) == [ACCEPTED]
    shown = next(m for m in rig.seen if m.get_type() == 'RC_CHANNELS')
    assert [getattr(shown, f'chan{k}_raw') for k in range(1, 10)] == [
        *[1500] * 4,
        1700,
        *[1500] * 3,
        0,
    ]


def test_streams_are_really_set(rig):
    rig.mav.request_data_stream_send(1, 1, 0, 0, 0)  # all off
    rig.mav.request_data_stream_send(1, 1, 10, 4, 1)
    rig.exchange()
    rig.seen.clear()
    for k in range(200):
        rig.vehicle.send(k * 0.05)
        rig.read()
    rig.read()
    kinds = [m.get_type() for m in rig.seen]
    assert kinds.count('ATTITUDE') == 40
    assert set(kinds) == {'ATTITUDE', 'AHRS2', 'HEARTBEAT'}


def test_all_that_is_streamed_can_be_sent(rig):
    rig.vehicle.readings.pressure = 151325.0
    for name in STREAMS:
        rig.seen.clear()
        rig.vehicle._telemetry.send(name)
        rig.read()
        assert name in [m.get_type() for m in rig.seen]


# --- camera


def test_a_gimbal_s_pitch_tilts_the_camera_and_the_stick_takes_over(rig):
    assert rig.ask(1000, 20.0, math.nan, math.nan, math.nan) == [ACCEPTED]
    rig.step()
    assert rig.pilot.values['camera_tilt'] == pytest.approx(math.radians(20.0))
    rig.vehicle._telemetry.send('GIMBAL_DEVICE_ATTITUDE_STATUS')
    (status,) = rig.read()
    assert 2 * math.atan2(status.q[2], status.q[0]) == pytest.approx(math.radians(20.0))
    assert rig.ask(1000, math.nan, 0.0, -10.0, 0.0) == [ACCEPTED]
    for _ in range(20):
        rig.step(0.1)
    assert rig.pilot.values['camera_tilt'] == pytest.approx(0.0, abs=1e-9)
    assert rig.ask(1000, 0.0, 30.0, 0.0, 0.0) == [DENIED]
    nan = math.nan
    rig.mav.gimbal_manager_set_pitchyaw_send(1, 1, 0, 0, 9.0, nan, nan, nan)
    rig.exchange()
    rig.step()
    assert rig.pilot.values['camera_tilt'] == pytest.approx(0.7854)  # its bound
    rig.mav.gimbal_manager_set_pitchyaw_send(1, 1, 0, 0, nan, nan, -0.1, nan)
    rig.mav.rc_channels_override_send(1, 1, *override(c8=1900))
    rig.exchange()
    for _ in range(5):
        rig.step(0.1)
    assert rig.pilot.values['camera_tilt'] == pytest.approx(0.7854)


def test_cameras_beside_a_firmware_have_an_address_of_their_own():
    from pymavlink import mavutil

    ground = mavutil.mavlink_connection('udpin:127.0.0.1:0', source_system=255)
    port = ground.port.getsockname()[1]
    camera = CameraStream('camera', 640, 360, 15.0, 80.0, 'rtsp://127.0.0.1:8554')
    said = []
    server = CameraServer(f'127.0.0.1:{port}', 3, [camera], said.append, lambda: 1.5)
    try:
        server.serve()
        beat = ground.recv_match(blocking=True, timeout=PATIENCE)
        found = (beat.get_srcSystem(), beat.get_srcComponent(), beat.type)
        assert found == (3, 100, M.MAV_TYPE_CAMERA)
        for component, command, number in ((1, 400, 1), (100, 512, 259), (100, 512, 269)):
            ground.mav.command_long_send(3, component, command, 0, number, *[0] * 6)
        heard = []
        deadline = time.monotonic() + PATIENCE
        while len(heard) < 4 and time.monotonic() < deadline:
            server.serve()
            message = ground.recv_match(blocking=True, timeout=0.1)
            heard += [message] if message and message.get_type() != 'HEARTBEAT' else []
        assert [m.get_type() for m in heard] == [
            *('COMMAND_ACK', 'CAMERA_INFORMATION', 'COMMAND_ACK', 'VIDEO_STREAM_INFORMATION')
        ]
        assert heard[1].time_boot_ms == 1500
        assert heard[3].type == M.VIDEO_STREAM_TYPE_RTSP
        assert heard[3].uri == 'rtsp://127.0.0.1:8554'
        assert not said
    finally:
        server.close()
        ground.close()


def test_a_camera_is_a_component_with_its_stream(rigs):
    rig = rigs(
        cameras=(
            CameraStream('camera', 640, 360, 15.0, 80.0, 'udp://127.0.0.1:5600'),
            CameraStream('down', 64, 48, 5.0, 60.0),
        )
    )
    rig.step()
    rig.vehicle.send(0.0)
    beats = {m.get_srcComponent(): m.type for m in rig.read() if m.get_type() == 'HEARTBEAT'}
    assert beats == {1: M.MAV_TYPE_SUBMARINE, 100: M.MAV_TYPE_CAMERA, 101: M.MAV_TYPE_CAMERA}

    def request(component, command, *params):
        params = [*params, *[0] * (7 - len(params))]
        rig.mav.command_long_send(1, component, command, 0, *params)
        return [m for m in rig.exchange() if m.get_type() != 'STATUSTEXT']

    ack, information = request(100, 512, 259)
    assert (ack.result, ack.get_srcComponent()) == (ACCEPTED, 100)
    assert bytes(information.model_name).rstrip(b'\0') == b'camera'
    assert (information.resolution_h, information.resolution_v) == (640, 360)
    assert information.flags == M.CAMERA_CAP_FLAGS_HAS_VIDEO_STREAM
    _, stream = request(100, 2504, 1)
    assert (stream.type, stream.uri, stream.hfov) == (M.VIDEO_STREAM_TYPE_RTPUDP, '5600', 80)
    assert (stream.framerate, stream.encoding) == (15.0, M.VIDEO_STREAM_ENCODING_H264)
    _, without = request(101, 521, 1)
    assert without.flags == 0
    of_all = [m for m in request(0, 521, 1) if m.get_type() == 'CAMERA_INFORMATION']
    assert [m.get_srcComponent() for m in of_all] == [100, 101]
    for name in (
        'CAMERA_SETTINGS',
        'STORAGE_INFORMATION',
        'CAMERA_CAPTURE_STATUS',
        'VIDEO_STREAM_STATUS',
    ):
        _, answer = request(100, 512, getattr(M, f'MAVLINK_MSG_ID_{name}'))
        assert answer.get_type() == name
    (ack,) = request(100, 400, 1)
    assert (ack.result, rig.arms) == (UNSUPPORTED, [])
    (ack,) = request(100, 512, math.nan)
    assert ack.result == UNSUPPORTED
    assert not request(102, 512, 259)


# --- parameters


def test_parameters_are_read_and_set(rig):
    rig.mav.param_request_list_send(1, 1)
    names = [m.param_id for m in rig.exchange() if m.get_type() == 'PARAM_VALUE']
    assert names == [p.name for p in VEHICLE_PARAMETERS]

    def value(name):
        return [m.param_value for m in rig.exchange() if m.get_type() == 'PARAM_VALUE']

    rig.mav.param_set_send(1, 1, b'JS_GAIN_DEFAULT', 1.0, 9)
    assert value('JS_GAIN_DEFAULT') == [1.0]
    assert rig.pilot.joystick.gain == 1.0
    rig.mav.param_set_send(1, 1, b'JS_GAIN_DEFAULT', 7.0, 9)
    assert value('JS_GAIN_DEFAULT') == [1.0]
    assert 'expected 0.1 to 1' in rig.texts()
    rig.mav.param_set_send(1, 1, b'FS_PILOT_INPUT', 2.0, 9)
    assert value('FS_PILOT_INPUT') == [0.0]
    rig.mav.param_set_send(1, 1, b'JS_GAIN_DEFAULT', math.nan, 9)
    assert value('JS_GAIN_DEFAULT') == []
    assert 'param_value is nan' in rig.texts()
    rig.mav.param_request_read_send(1, 1, b'SURFACE_DEPTH', -1)
    assert value('SURFACE_DEPTH') == [-10.0]
    rig.mav.param_request_read_send(1, 1, b'', 2)
    assert value('JS_GAIN_DEFAULT') == [1.0]
    rig.mav.param_request_read_send(1, 1, b'ATC_ANG_PIT_P', -1)
    assert math.isnan(value('ATC_ANG_PIT_P')[0])
    assert 'ATC_ANG_PIT_P is not simulated' in rig.texts()
    rig.mav.param_request_read_send(1, 1, b'\xff\xfe\x80abc', -1)
    assert math.isnan(value('')[0])


# --- targets


def local(rig, frame, mask, position=(0, 0, 0), velocity=(0, 0, 0), yaw=0.0, rate=0.0, acc=0.0):
    rig.mav.set_position_target_local_ned_send(
        0, 1, 1, frame, mask, *position, *velocity, acc, acc, acc, yaw, rate
    )
    rig.exchange()


def guided(rig, position=(0.0, 0.0, -2.0), yaw=math.pi / 2):
    rig.pilot.set_mode('guided')
    rig.arm()
    state = state_at_rest(position, tuple(quaternion_from_rpy(0, 0, yaw)))
    rig.targets(state=state)


def goal(rig):
    """Return where the vehicle is sent: north, east, down."""
    return rig.pilot.frame.ned(np.array(rig.pilot.guide.target.position))


HERE = (1.0, 2.0, -2.0)
"""In map: north 2, east 1, down 2."""


@pytest.mark.parametrize(
    ('frame', 'goal_ned'),
    [
        (M.MAV_FRAME_LOCAL_NED, (3, 1, 0.5)),
        (M.MAV_FRAME_LOCAL_OFFSET_NED, (5, 2, 2.5)),
        (M.MAV_FRAME_BODY_NED, (1, 4, 2.5)),  # the bow to the east
        (M.MAV_FRAME_BODY_OFFSET_NED, (1, 4, 2.5)),
        (M.MAV_FRAME_BODY_FRD, (1, 4, 2.5)),
    ],
)
def test_positions_in_all_frames(rig, frame, goal_ned):
    guided(rig, HERE, yaw=0.0)
    local(rig, frame, ONLY_POSITION, (3, 1, 0.5))
    np.testing.assert_allclose(goal(rig), goal_ned, atol=1e-9)


@pytest.mark.parametrize(
    ('frame', 'surge', 'sway'),
    [
        (M.MAV_FRAME_LOCAL_NED, 0.0, 0.3),  # north is to port of a bow to the east
        (M.MAV_FRAME_LOCAL_OFFSET_NED, 0.0, 0.3),
        (M.MAV_FRAME_BODY_NED, 0.3, 0.0),
        (M.MAV_FRAME_BODY_OFFSET_NED, 0.3, 0.0),
    ],
)
def test_velocities_in_all_frames_last_three_seconds(rig, frame, surge, sway):
    guided(rig, HERE, yaw=0.0)
    local(rig, frame, VELOCITY_AND_RATE, velocity=(0.3, 0, 0), rate=0.25)
    wanted = rig.targets()
    np.testing.assert_allclose(wanted[6:8], [surge, sway], atol=1e-7)
    assert wanted[11] == pytest.approx(-0.25)
    assert wanted[2] == pytest.approx(-2)  # the depth is held
    rig.step(2.9)
    wanted = rig.targets(seconds=0.2)
    np.testing.assert_allclose(wanted[:3], HERE, atol=1e-9)  # it stops and holds
    assert np.all(np.isnan(wanted[6:9]))


def test_partial_masks_count_axis_by_axis(rig):
    guided(rig, HERE)
    local(rig, 1, 0xFFF & ~0b100, (0, 0, 3))  # z alone
    np.testing.assert_allclose(rig.pilot.guide.end, [1, 2, -3])
    local(rig, 1, 0xFFF & ~0b001, (7, 0, 0))  # x alone: east and depth stay
    np.testing.assert_allclose(goal(rig)[:2], [7, 1])
    local(rig, 1, 0xFFF & ~0b011100, (0, 0, 3), velocity=(0.2, 0.1, 0))  # z, with vx and vy
    wanted = rig.targets()
    assert wanted[2] == pytest.approx(-3)
    np.testing.assert_allclose(wanted[6:8], [0.2, -0.1], atol=1e-7)


def test_yaw_beside_a_position_and_yaw_alone(rig):
    guided(rig, HERE)
    local(rig, 1, POSITION_AND_YAW, (2, 1, 2), yaw=math.pi / 2)
    assert rig.targets()[5] == pytest.approx(0, abs=1e-7)
    local(rig, 9, 0xFFF & ~(1 << 10), yaw=0.5)  # BODY_OFFSET_NED: from the heading, which is 0
    assert rig.targets()[5] == pytest.approx(math.pi / 2 - 0.5, abs=1e-6)
    local(rig, 1, 0xFFF & ~(1 << 11), rate=0.3)
    assert rig.targets()[11] == pytest.approx(-0.3)
    # A yaw with a rate is turned to at that rate.
    local(rig, 1, 0xFFF & ~(3 << 10), yaw=1.0, rate=0.2)
    rig.targets(seconds=0.5)
    assert rig.targets(seconds=0.5)[5] == pytest.approx(math.pi / 2 - 0.2, abs=0.11)


def test_targets_that_cannot_be_taken_say_so(rig):
    local(rig, 1, ONLY_POSITION)
    assert 'taken in GUIDED only' in rig.texts()
    guided(rig)
    before = rig.pilot.guide.target
    for text, send in {
        'frame 10': lambda: local(rig, 10, ONLY_POSITION),
        'accelerations': lambda: local(rig, 1, 0xFFF & ~(7 << 6), acc=1.0),
        'x is nan': lambda: local(rig, 1, ONLY_POSITION, (math.nan, 0, 0)),
        'more than 100000 m': lambda: local(rig, 1, ONLY_POSITION, (2e5, 0, 0)),
        'velocity is above': lambda: local(rig, 1, ONLY_VELOCITY, velocity=(0, 1e3, 0)),
        'leaves everything out': lambda: local(rig, 1, 0xFFF),
    }.items():
        rig.exchange(10.0)
        send()
        assert text in rig.texts(), (text, rig.texts())
        assert rig.pilot.guide.target == before
    local(rig, 1, ONLY_VELOCITY, (math.nan,) * 3, velocity=(0.1, 0, 0))  # NaN that is masked out
    assert rig.pilot.guide.target != before


def globe(rig, frame, mask, latitude, longitude, altitude):
    place = (round(latitude * 1e7), round(longitude * 1e7), altitude)
    rig.mav.set_position_target_global_int_send(0, 1, 1, frame, mask, *place, *[0] * 8)
    rig.exchange()


@pytest.mark.parametrize('frame', [0, 3, 5, 6])
def test_places_on_the_globe(rig, frame):
    guided(rig)
    o = Origin()
    globe(rig, frame, ONLY_POSITION, o.latitude + 1e-4, o.longitude, -3.0)
    north, east, down = goal(rig)
    # Length of 1e-4 degrees of latitude at 33.8 degrees, WGS84: 110.92 km a degree.
    assert (north, east, down) == (
        pytest.approx(11.092, abs=0.01), pytest.approx(0, abs=0.01), pytest.approx(3.0)
    )  # fmt: skip
    globe(rig, 10, ONLY_POSITION, 1.0, 1.0, -3.0)
    assert 'frame 10' in rig.texts()
    globe(rig, 6, ONLY_POSITION, 95.0, 1.0, -3.0)
    assert 'no place' in rig.texts()


def test_alt_hold_takes_a_depth_and_an_attitude(rig):
    rig.pilot.set_mode('alt_hold')
    rig.arm()
    rig.targets()
    globe(rig, 5, 0xFFF & ~0b100, 0, 0, -3.0)
    rig.mav.set_attitude_target_send(0, 1, 1, 64, [1, 0, 0, 0], 0, 0, 0, 0)
    rig.exchange()
    wanted = rig.targets()
    assert wanted[2] == pytest.approx(-3)
    np.testing.assert_allclose(wanted[3:6], [0, 0, math.pi / 2], atol=1e-9)  # north
    q = [math.cos(0.2), 0, math.sin(0.2), 0]  # bow up by 0.4
    rig.mav.set_attitude_target_send(0, 1, 1, 64, q, 0, 0, 0, 0)
    rig.exchange()
    assert rig.targets()[4] == pytest.approx(-0.4, abs=1e-6)
    rig.step(4.9)
    assert np.isnan(rig.targets(seconds=0.2)[10])
    assert rig.targets()[4] == 0
    rig.mav.rc_channels_override_send(1, 1, *override(c3=1700))  # the pilot takes the depth
    rig.exchange()
    assert np.isnan(rig.targets()[2])
    # Half of the stick, without a dead zone of a fifth, of 0.5 m/s.
    assert rig.targets()[8] == pytest.approx(0.5 * (0.5 - 0.2) / 0.8)


def test_guided_takes_attitude_and_thrust_for_a_second(rig):
    guided(rig)
    rig.mav.set_attitude_target_send(0, 1, 1, 0b111, [1, 0, 0, 0], 0, 0, 0, 0.75)
    rig.exchange()
    wanted = rig.targets()
    assert wanted[8] == pytest.approx(1.25)  # half of WPNAV_SPEED_UP
    assert np.all(np.isnan(wanted[[0, 1, 6, 7]]))
    wanted = rig.targets(seconds=1.1)
    assert np.isnan(wanted[8])
    assert wanted[2] == pytest.approx(-2)
    rig.mav.set_attitude_target_send(0, 1, 1, 64, [1, 0, 0, 0], 0, 0, 0, 0)
    rig.exchange()
    assert 'needs the thrust' in rig.texts()


# --- what it says of itself


def test_motion_is_told_in_ned_and_frd(rig):
    q = quaternion_from_rpy(0.1, -0.2, 0.3)
    state = State(np.array([3.0, 4.0, -5.0]), q, np.array([1.0, 0, 0, 0.4, 0.5, 0.6]))
    rig.vehicle.readings.pressure = 151325.0
    rig.step(1.184, state)
    rig.seen.clear()
    rig.vehicle.send(1.0)
    told = {m.get_type(): m for m in rig.read()}
    attitude = told['ATTITUDE']
    assert attitude.time_boot_ms == 1234
    np.testing.assert_allclose(
        [attitude.roll, attitude.pitch, attitude.yaw], [0.1, 0.2, math.pi / 2 - 0.3], atol=1e-6
    )
    np.testing.assert_allclose(
        [attitude.rollspeed, attitude.pitchspeed, attitude.yawspeed], [0.4, -0.5, -0.6], atol=1e-6
    )
    place = told['LOCAL_POSITION_NED']
    assert (place.x, place.y, place.z) == (4.0, 3.0, 5.0)
    whole = told['GLOBAL_POSITION_INT']
    assert whole.lat * 1e-7 == pytest.approx(Origin().latitude + 4 / 110_920, abs=1e-6)
    assert whole.relative_alt == -5000
    assert told['SCALED_PRESSURE2'].press_abs == pytest.approx(1513.25)


def moved(state, targets, dt):
    """Return a state that follows set-points as a vehicle of first order."""
    yaw = float(rpy_from_quaternion(state.orientation)[2])
    away = np.nan_to_num(targets[:3] - state.position)
    speed = away * min(1.0, 0.8 / max(float(np.linalg.norm(away)), 1e-9))
    level = rotation_matrix(quaternion_from_rpy(0, 0, yaw))
    speed += level @ np.nan_to_num(targets[6:9])
    turn = math.remainder(targets[5] - yaw, 2 * math.pi) if np.isfinite(targets[5]) else 0.0
    yaw += dt * (2 * turn + np.nan_to_num(targets[11]))
    q = np.array(quaternion_from_rpy(0, 0, yaw))
    velocity = np.concatenate([rotation_matrix(q).T @ speed, np.zeros(3)])
    return State(state.position + dt * speed, q, velocity)


def fly(rig, seconds, until=lambda: False, dt=0.1):
    """Let the vehicle follow its commands; return its track, north, east, down."""
    track = []
    for _ in range(round(seconds / dt)):
        state = moved(rig.state, rig.targets(seconds=dt, state=rig.state), dt)
        rig.state = state
        track.append(rig.pilot.frame.ned(state.position))
        if until():
            break
    return np.array(track)


@pytest.mark.parametrize('heading', [0.0, 90.0, -37.0])
def test_a_guided_vehicle_goes_where_it_is_sent_whatever_the_map_s_heading(rigs, heading):
    rig = rigs(origin=Origin(heading=heading))
    guided(rig, (0.0, 0.0, -2.0))
    local(rig, 1, POSITION_AND_YAW, (6, -3, 4), yaw=1.0)
    track = fly(rig, 40)
    np.testing.assert_allclose(track[-1], [6, -3, 4], atol=0.05)
    assert rig.pilot.frame.heading(rig.state) == pytest.approx(1.0, abs=0.02)
    local(rig, 7, ONLY_POSITION, (0, 2, 0))
    np.testing.assert_allclose(fly(rig, 20)[-1], [6, -1, 4], atol=0.05)
    local(rig, 1, ONLY_VELOCITY, velocity=(0.0, 0.3, 0.0))
    track = fly(rig, 2)
    np.testing.assert_allclose(track[-1] - track[0], [0, 0.3 * 1.9, 0], atol=0.02)
    o = rig.pilot.frame.origin
    globe(rig, 6, ONLY_POSITION, o.latitude + 1e-4, o.longitude, -1.0)
    np.testing.assert_allclose(fly(rig, 40)[-1], [11.092, 0, 1], atol=0.1)


@pytest.mark.ros
def test_a_pymavlink_script_dives_and_holds(processes):
    ground = Ground()
    until, mav = ground.until, ground.mav
    processes.marine_sim(
        'run', 'bluerov2_heavy', '--autopilot', 'mavlink', '--composed', '--ground-station',
        f'127.0.0.1:{ground.port}', stdout=subprocess.DEVNULL,
    )  # fmt: skip
    until('HEARTBEAT')
    mav.set_mode_send(1, 1, 2)
    until('HEARTBEAT', lambda m: m.custom_mode == 2)
    mav.command_long_send(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)
    assert until('COMMAND_ACK', lambda m: m.command == 400 and m.result != 5).result == 0
    assert until('HEARTBEAT').base_mode & 128

    def deep(message):
        mav.manual_control_send(1, 0, 0, 0, 0, 0)  # full stick down
        return message.z > 2.0

    until('LOCAL_POSITION_NED', deep)
    mav.manual_control_send(1, 0, 0, 500, 0, 0)
    until('LOCAL_POSITION_NED', lambda m: abs(m.vz) < 0.01)
    held = until('LOCAL_POSITION_NED').z
    end = time.monotonic() + 3
    while time.monotonic() < end:
        assert until('LOCAL_POSITION_NED').z == pytest.approx(held, abs=0.1)
    # Once the ground station is silent, it disarms.
    time.sleep(7)
    ground.read()
    until('HEARTBEAT', lambda m: not m.base_mode & 128)
    ground.socket.close()


@pytest.mark.ros
def test_arming_waits_for_a_controller_that_starts_late_or_stands_still(processes):
    from marine_sim_ros.ros.node_graph import node_specs
    from marine_sim_ros.sim.options import RunOptions

    ground = Ground()
    options = RunOptions(
        vehicle='bluerov2', autopilot='mavlink', ground_station=f'127.0.0.1:{ground.port}'
    )
    specs = {spec.name: spec for spec in node_specs(options)}
    processes.node(specs['mavlink'])
    ground.until('HEARTBEAT')

    def ask_for_8_s(on):
        """Return the results that come."""
        ground.mav.command_long_send(1, 1, 400, 0, on, 0, 0, 0, 0, 0, 0)
        end, results = time.monotonic() + 8.0, []
        while time.monotonic() < end:
            ground.mav.heartbeat_send(6, 8, 0, 0, 0)
            results += [m.result for m in ground.read() if m.get_type() == 'COMMAND_ACK']
            time.sleep(0.1)
        return results

    def answered():
        return ground.until('COMMAND_ACK', lambda m: m.command == 400).result

    assert ask_for_8_s(1) == [IN_PROGRESS]  # there is no controller yet, and the run stands still
    assert not ground.until('HEARTBEAT').base_mode & 128
    controller = processes.node(specs['controller'])
    assert answered() == ACCEPTED
    assert ground.until('HEARTBEAT').base_mode & 128
    controller.send_signal(signal.SIGSTOP)
    try:
        assert ask_for_8_s(0) == [IN_PROGRESS]
        assert ground.until('HEARTBEAT').base_mode & 128
    finally:
        controller.send_signal(signal.SIGCONT)
    assert answered() == ACCEPTED
    assert not ground.until('HEARTBEAT').base_mode & 128
    ground.socket.close()
