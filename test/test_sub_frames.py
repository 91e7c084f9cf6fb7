# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles for every frame of ArduPilot, and the same with one thing wrong."""

import re
import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processor import PATIENCE

from marine_sim_ros import load_vehicle
from marine_sim_ros.autopilot.channels import (
    FRAME_CONFIG,
    MOTORS,
    channel_map,
    frame_fault,
    motor_mismatches,
    thruster_signs,
)
from marine_sim_ros.autopilot.companion import Companion
from marine_sim_ros.autopilot.firmware import (
    FirmwareSettings,
    command_by_hand,
    firmware_fault,
    parameter_files,
)
from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.doctor.checks import examine
from marine_sim_ros.doctor.context import load_context
from marine_sim_ros.model.urdf import vehicle_from_urdf

BODY = """<robot name="lander"><link name="base_link"><inertial><mass value="12"/>
<inertia ixx="0.13" ixy="0" ixz="0" iyy="0.24" iyz="0" izz="0.29"/></inertial></link>
<buoyancy><volume>0.012</volume><center_of_volume>0 0 0.03</center_of_volume><height>0.2</height>
</buoyancy><hydrodynamics><added_mass>6 12 15 0.1 0.15 0.15</added_mass>
<linear_damping>4 6 6 0.1 0.1 0.1</linear_damping></hydrodynamics><thrusters>{}
</thrusters>{}</robot>"""
THRUSTER = (
    '<thruster name="t{}" direction="cw"><origin xyz="{} {} {}" rpy="{} {} {}"/>'
    '<linear pos_force="40" neg_force="35" dead_zone="35"/></thruster>'
)
frames = pytest.mark.parametrize('frame', MOTORS)


def thruster(number, motor, arm=0.2):
    """Return the element of a thruster that does what a motor (6,) does at positive PWM."""
    surge, sway, heave, roll, pitch, yaw = motor
    if heave:
        x, y = -pitch * heave * arm, roll * heave * arm
        return THRUSTER.format(number, x, y, 0.0, 0.0 if heave > 0 else np.pi, 0.0, 0.0)
    corners = list(product((arm, 0.0, -arm), repeat=2))
    x, y = max(corners, key=lambda c: yaw * (c[0] * sway - c[1] * surge) - 0.01 * np.hypot(*c))
    return THRUSTER.format(number, x, y, 0.0, 0.0, np.pi / 2, np.arctan2(sway, surge))


def description(motors, element=''):
    return BODY.format(''.join(thruster(k, m) for k, m in enumerate(motors, 1)), element)


def lander(motors, element=''):
    return vehicle_from_urdf(description(motors, element))


@frames
def test_a_vehicle_with_the_motors_of_a_frame_has_it(frame):
    vehicle = lander(MOTORS[frame])
    channels = channel_map(vehicle)
    assert channels.frame == frame
    assert frame_fault(vehicle, channels) == ''
    assert np.array_equal(thruster_signs(vehicle), MOTORS[frame])


@frames
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_one_motor_turned_round_is_named(frame, data):
    motors = MOTORS[frame].copy()
    wrong = data.draw(st.integers(0, len(motors) - 1))
    motors[wrong, :3] *= -1  # it stays where it is: what it turns changes too
    motors[wrong, 3:] *= -1
    vehicle = lander(motors, f'<ardusub frame="{frame}"/>')
    found = motor_mismatches(vehicle, channel_map(vehicle).thrusters, frame)
    assert {f.motor for f in found} == {wrong + 1}
    assert all(f.found == -f.wanted for f in found)
    fault = frame_fault(vehicle, channel_map(vehicle))
    assert f'motor {wrong + 1} pushes' in fault
    assert found[0].axis in fault
    assert '\n' not in fault


@frames
def test_channels_put_thrusters_in_order(frame):
    order = list(reversed(range(len(MOTORS[frame]))))
    mapping = ''.join(
        f'<channel number="{k + 1}" thruster="t{n}"/>' for n, k in enumerate(order, 1)
    )
    element = f'<ardusub frame="{frame}">{mapping}</ardusub>'
    mixed = MOTORS[frame][order]
    vehicle = lander(mixed, element)
    assert frame_fault(vehicle, channel_map(vehicle)) == ''
    if not np.array_equal(mixed, MOTORS[frame]):
        bare = lander(mixed, f'<ardusub frame="{frame}"/>')
        assert 'motor 1 pushes' in frame_fault(bare, channel_map(bare))


@pytest.mark.parametrize(
    ('frame', 'count', 'expected'),
    [
        (
            'vectored',
            3,
            'has 6 motors, and the vehicle 3 thrusters; expected one of: simplerov_3, c',
        ),
        (
            'vectored',
            8,
            'has 6 motors, and the vehicle 8 thrusters; expected one of: vectored_6dof',
        ),
        (
            'vectored_6dof',
            6,
            'has 8 motors, and the vehicle 6 thrusters; expected one of: vectored',
        ),
        (
            'simplerov_4',
            5,
            'has 4 motors, and the vehicle 5 thrusters; expected one of: simplerov_5',
        ),
        (
            'simplerov_5',
            2,
            'has 5 motors, and the vehicle 2 thrusters; expected one of: skid_steering',
        ),
        ('bluerov1', 4, 'has 6 motors, and the vehicle 4 thrusters'),
    ],
)
def test_another_number_of_thrusters_is_refused(frame, count, expected, tmp_path):
    motors = MOTORS['vectored_6dof'][:count]
    text = description(motors, f'<ardusub frame="{frame}"/>')
    with pytest.raises(ModelError, match=expected):
        channel_map(vehicle_from_urdf(text))
    path = tmp_path / 'lander.urdf'
    path.write_text(text)
    (finding,) = (f for f in examine(load_context(str(path), {})) if f.check == 'ardusub-order')
    assert finding.severity.value == 'error'
    assert expected[:20] in finding.message
    assert finding.place.element == '<ardusub>'


def test_a_frame_of_ones_own_is_not_judged():
    vehicle = lander(MOTORS['vectored_6dof'][:7], '<ardusub frame="custom"/>')
    assert frame_fault(vehicle, channel_map(vehicle)) == ''


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('bluerov2', ''),
        ('bluerov2_heavy', ''),
        ('simple_rov', "motor 1 pushes \\+yaw at positive PWM, and 'port' pushes -yaw"),
        ('investigator90', "motor 1 pushes -surge at positive PWM, and 'sv' makes no surge"),
        ('torpedo_auv', 'torpedo_auv: no frame of ArduPilot has 1 motors'),
        ('wamv', ''),
        ('surface_vessel', ''),
    ],
)
def test_the_shipped_vehicles(name, expected):
    vehicle = load_vehicle(name)
    fault = frame_fault(vehicle, channel_map(vehicle))
    assert re.search(expected, fault) if expected else fault == ''


def test_a_thruster_of_a_foreign_channel_leaves_its_motor_without_one():
    vehicle = lander(
        MOTORS['simplerov_3'],
        '<ardusub frame="simplerov_3"><channel number="12" thruster="t2"/></ardusub>',
    )
    assert 'no thruster is on the channel of motor 2' in frame_fault(vehicle, channel_map(vehicle))


@pytest.mark.parametrize('element', ['<ardusub frame="vectored"/>', '<ardusub/>'])
def test_doctor_examines_every_vehicle_for_ardusub(tmp_path, element):
    """A vehicle of any name; and none that says nothing of ArduSub."""
    motors = MOTORS['vectored'].copy()
    motors[4] = (1, 0, 0, 0, 0, 0)  # ahead in place of up
    path = tmp_path / 'lander.urdf'
    path.write_text(description(motors, element))
    found = [f for f in examine(load_context(str(path), {})) if f.check == 'ardusub-order']
    assert len(found) == 1
    assert "motor 5 pushes -heave at positive PWM, and 't5' makes no heave" in found[0].message
    path.write_text(description(motors))
    assert not [f for f in examine(load_context(str(path), {})) if f.check == 'ardusub-order']


def settings_of(frame):
    return FirmwareSettings(frame, '127.0.0.1', 9002, 0, (0.0, 0.0), 'a:1', 'b:2', 400.0)


@pytest.mark.parametrize('frame', [frame for frame in MOTORS if frame in FRAME_CONFIG])
def test_each_frame_has_parameters_of_its_number(frame):
    values = {}
    for path in parameter_files(frame, 'gps'):
        for line in path.read_text().splitlines():
            if line and not line.startswith('#'):
                name, value = line.split()
                values[name] = float(value)
    assert values['FRAME_CONFIG'] == FRAME_CONFIG[frame]
    assert values['SIM_BARO_RND'] == 0.01
    for k in range(1, len(MOTORS[frame]) + 1):  # no servo takes a motor's channel
        assert f'SERVO{k}_FUNCTION' not in values or len(MOTORS[frame]) < k
    assert f'{parameter_files(frame, "gps")[-1]}' in command_by_hand(settings_of(frame))


def test_a_boat_has_ardurover_its_parameters_and_no_lights():
    channels = channel_map(load_vehicle('wamv'))
    assert channels.thrusters == (1, 2)
    assert channels.devices == ()
    command = command_by_hand(settings_of(channels.frame))
    assert command.startswith('ardurover ')
    assert command.endswith('config/ardusub/skid_steering.param')


@pytest.mark.parametrize(
    ('frame', 'mav_type', 'expected'),
    [
        ('vectored', 12, ''),
        ('skid_steering', 11, ''),
        ('skid_steering', 10, ''),
        ('custom', 11, ''),
        ('', 2, ''),
        ('skid_steering', 12, 'skid_steering of ArduRover, and the firmware is ArduSub'),
        ('vectored', 11, 'vectored of ArduSub, and the firmware is ArduRover (MAV_TYPE 11)'),
        ('vectored', 2, 'is another one (MAV_TYPE 2); expected the path of ardusub'),
    ],
)
def test_a_firmware_of_other_vehicles_is_one_line(frame, mav_type, expected):
    fault = firmware_fault('boat', frame, mav_type)
    assert (expected in fault) if expected else fault == ''
    assert '\n' not in fault


def test_the_companion_hears_what_the_firmware_steers():
    mavutil = pytest.importorskip('pymavlink.mavutil')
    companion = Companion(1, (0.0, 0.0))
    firmware = mavutil.mavlink_connection(
        f'udpout:{companion.address}', source_system=1, source_component=1
    )
    try:
        assert companion.status.mav_type == 0
        firmware.mav.heartbeat_send(11, 3, 0, 0, 4)
        deadline = time.monotonic() + PATIENCE
        while not companion.is_connected and time.monotonic() < deadline:
            companion.listen()
        assert (companion.status.mav_type, companion.status.mode) == (11, 'MANUAL')
    finally:
        firmware.close()
        companion.close()


@pytest.mark.parametrize('frame', ['custom', ''])
def test_other_frames_are_started_by_hand(frame):
    with pytest.raises(ParameterError, match='or --ardusub none and a firmware that you start'):
        parameter_files(frame, 'gps')
    assert '--defaults YOUR.param' in command_by_hand(settings_of(frame))
