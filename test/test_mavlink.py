# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Our controller as a MAVLink vehicle, seen by pymavlink as a ground station."""

import math
import socket
import subprocess
import time

import numpy as np
import pytest
from processor import PATIENCE

from marine_sim_ros.autopilot.mavlink_vehicle import Arm, MavlinkVehicle, Mode, SetPoint, Sticks
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State

mavutil = pytest.importorskip('pymavlink.mavutil')
POSITION_AND_YAW = 0b100111111000


class Ground:
    """A ground station in a few lines."""

    def __init__(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(('127.0.0.1', 0))
            self.port = probe.getsockname()[1]
        self.link = mavutil.mavlink_connection(
            f'udpin:127.0.0.1:{self.port}', source_system=255, dialect='ardupilotmega'
        )
        self.link.target_system = self.link.target_component = 1

    def until(self, kind, condition=lambda m: True, timeout=PATIENCE):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.link.mav.heartbeat_send(6, 8, 0, 0, 0)
            message = self.link.recv_match(type=kind, blocking=True, timeout=0.2)
            if message is not None and condition(message):
                return message
        raise AssertionError(f'no {kind} in {timeout} s')

    def close(self):
        self.link.close()


@pytest.fixture
def ground():
    result = Ground()
    yield result
    result.close()


@pytest.fixture
def vehicle(ground):
    said = []
    result = MavlinkVehicle(f'127.0.0.1:{ground.port}', 1, (33.8, -118.4), said.append)
    result.said = said
    result.send_heartbeat('manual', armed=False)
    ground.until('HEARTBEAT')
    list(result.requests())
    yield result
    result.close()


def asked(vehicle, timeout=PATIENCE):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if found := list(vehicle.requests()):
            return found
        time.sleep(0.01)
    return []


def test_motion_is_told_in_ned_and_frd(ground, vehicle):
    q = quaternion_from_rpy(0.1, -0.2, 0.3)
    state = State(np.array([3.0, 4.0, -5.0]), q, np.array([1.0, 0, 0, 0.4, 0.5, 0.6]))
    vehicle.send_motion(1234, state, 151325.0)
    attitude = ground.link.recv_match(type='ATTITUDE', blocking=True, timeout=PATIENCE)
    assert attitude.time_boot_ms == 1234
    np.testing.assert_allclose(
        [attitude.roll, attitude.pitch, attitude.yaw], [0.1, 0.2, math.pi / 2 - 0.3], atol=1e-6
    )
    np.testing.assert_allclose(
        [attitude.rollspeed, attitude.pitchspeed, attitude.yawspeed], [0.4, -0.5, -0.6], atol=1e-6
    )
    place = ground.link.recv_match(type='LOCAL_POSITION_NED', blocking=True, timeout=PATIENCE)
    assert (place.x, place.y, place.z) == (4.0, 3.0, 5.0)
    globe = ground.link.recv_match(type='GLOBAL_POSITION_INT', blocking=True, timeout=PATIENCE)
    assert globe.lat * 1e-7 == pytest.approx(33.8 + 4 / 111_319.5, abs=1e-6)
    assert globe.relative_alt == -5000
    pressure = ground.link.recv_match(type='SCALED_PRESSURE2', blocking=True, timeout=PATIENCE)
    assert pressure.press_abs == pytest.approx(1513.25)


@pytest.mark.parametrize('address', ['here', ':14550', '127.0.0.1:', '127.0.0.1:70000', 'a:²'])
def test_what_is_no_address_is_one_line(address):
    with pytest.raises(ParameterError, match='expected host:port'):
        MavlinkVehicle(address, 1, (0.0, 0.0), print)


def test_what_a_ground_station_asks_for(ground, vehicle):
    mav = ground.link.mav
    mav.command_long_send(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)
    assert asked(vehicle) == [Arm(True)]
    assert ground.until('COMMAND_ACK').result == 0
    list(vehicle.requests())
    mav.set_mode_send(1, 1, 2)
    assert asked(vehicle) == [Mode('alt_hold')]
    mav.manual_control_send(1, 1000, 500, 250, -1000, 0)
    assert asked(vehicle) == [Sticks((1.0, -0.5, -0.5, 0.0, 0.0, 1.0))]
    mav.rc_channels_override_send(1, 1, 1500, 1500, 1900, 1300, 65535, 0, 0, 0)
    assert asked(vehicle) == [Sticks((0.0, -0.0, 1.0, 0.0, -0.0, 0.5))]
    mav.set_position_target_local_ned_send(
        0, 1, 1, 1, POSITION_AND_YAW, 1, 2, 3, 0, 0, 0, 0, 0, 0, math.pi / 2, 0
    )
    (target,) = asked(vehicle)
    assert isinstance(target, SetPoint)
    assert target.position == (2, 1, -3)
    assert target.yaw == pytest.approx(0, abs=1e-6)


def test_what_it_cannot_do_is_refused(ground, vehicle):
    mav = ground.link.mav
    mav.command_long_send(1, 1, 22, 0, 0, 0, 0, 0, 0, 0, 0)  # take off
    mav.set_mode_send(1, 1, 3)  # auto
    mav.set_position_target_local_ned_send(
        0, 1, 1, 1, POSITION_AND_YAW, math.nan, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0
    )
    mav.manual_control_send(2, 1000, 0, 0, 0, 0)  # to another vehicle
    ground.link.write(b'\xfd' + bytes(40))  # no message
    assert not asked(vehicle, 0.5)
    assert ground.until('COMMAND_ACK').result == 3
    assert 'mode 3' in ground.until('STATUSTEXT').text
    assert 'not finite' in vehicle.said[0]


def test_parameters_and_missions_are_answered_so_that_ground_stations_go_on(ground, vehicle):
    ground.link.mav.param_request_list_send(1, 1)
    ground.link.mav.mission_request_list_send(1, 1)
    assert not asked(vehicle, 0.3)
    assert ground.until('PARAM_VALUE').param_count == 2
    assert ground.until('MISSION_COUNT').count == 0


@pytest.mark.ros
def test_a_pymavlink_script_dives_and_holds(processes, ground):
    processes.marine_sim(
        'run',
        'bluerov2_heavy',
        '--autopilot',
        'mavlink',
        '--composed',
        '--ground-station',
        f'127.0.0.1:{ground.port}',
        stdout=subprocess.DEVNULL,
    )
    ground.until('HEARTBEAT')
    mav = ground.link.mav
    mav.set_mode_send(1, 1, 2)
    ground.until('HEARTBEAT', lambda m: m.custom_mode == 2)
    mav.command_long_send(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)
    ground.until('HEARTBEAT', lambda m: m.base_mode & 128)

    def deep(message):
        mav.manual_control_send(1, 0, 0, 0, 0, 0)  # full stick down
        return message.z > 2.0

    ground.until('LOCAL_POSITION_NED', deep)
    ground.until('LOCAL_POSITION_NED', lambda m: abs(m.vz) < 0.01)
    held = ground.until('LOCAL_POSITION_NED').z
    end = time.monotonic() + 3
    while time.monotonic() < end:
        assert ground.until('LOCAL_POSITION_NED').z == pytest.approx(held, abs=0.1)
    # Once the ground station is silent, it disarms.
    time.sleep(7)
    while ground.link.recv_match():
        pass
    ground.until('HEARTBEAT', lambda m: not m.base_mode & 128)
