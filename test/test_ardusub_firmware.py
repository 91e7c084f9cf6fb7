# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The real ArduSub on simulated vehicles: modes, missions, failsafes, the same bits twice.

It needs the firmware, built for software in the loop, as ``ardusub`` on PATH or named by
$ARDUSUB, and pymavlink. The firmware listens on all interfaces: run these in a network namespace,
``unshare --net sh -c 'ip link set lo up; pytest -m ardusub'``.
"""

import subprocess
import sys

import numpy as np
import pytest
from ardusub_rig import (
    ALT_HOLD,
    AUTO,
    GUIDED,
    MANUAL,
    POSHOLD,
    ROVER,
    STABILIZE,
    SURFACE,
    SURFTRAK,
    Rig,
)
from bags import analyze
from dataflash import check_drag, identified

from marine_sim_ros.autopilot.conventions import ned
from marine_sim_ros.autopilot.mavlink.mission import MissionItem
from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.scene.rays import cast_rays

pytestmark = [pytest.mark.ardusub, pytest.mark.slow, pytest.mark.timeout(1200)]
CENTRED, DOWN = (0, 0, 500, 0), (0, 0, 0, 0)
CENTRED_BOAT = (0, 0, 0, 0)
EARTH = 6378137.0


@pytest.fixture
def rig():
    open_rigs = []

    def make(*arguments, **options):
        open_rigs.append(Rig(*arguments, **options))
        open_rigs[-1].boot()
        assert open_rigs[-1].arm(), open_rigs[-1].texts
        return open_rigs[-1]

    yield make
    for one in open_rigs:
        one.close()


def dive(rig, depth):
    assert rig.mode(ALT_HOLD)
    rig.sticks = DOWN
    assert rig.run(200, lambda: rig.depths[-1] > depth)
    rig.sticks = CENTRED
    rig.run(8)


def positioned(rig):
    """Wait until it knows where it is."""
    assert rig.run(60, lambda: rig.last['EKF_STATUS_REPORT'].flags & 0x18), rig.texts
    rig.run(2)


def rms(values):
    return float(np.std(values))


@pytest.mark.parametrize('vehicle', ['bluerov2', 'bluerov2_heavy'])
def test_manual_stabilize_and_alt_hold(rig, vehicle):
    sub = rig(vehicle)
    assert sub.mode(MANUAL)
    sub.run(2)
    start = sub.states[-1]
    sub.sticks = (500, 0, 500, 0)
    sub.run(4)
    ahead = sub.states[-1].velocity[0]
    assert ahead > 0.2
    sub.sticks = (0, 500, 500, 0)
    sub.run(4)
    assert sub.states[-1].velocity[1] < -0.1  # to starboard
    assert sub.mode(STABILIZE)
    sub.sticks = (0, 0, 500, 500)
    sub.run(3)
    assert sub.states[-1].velocity[5] < -0.1  # to starboard
    sub.sticks = CENTRED
    sub.run(8)
    roll, pitch, _ = rpy_from_quaternion(sub.states[-1].orientation)
    assert abs(roll) < 0.05
    assert abs(pitch) < 0.05
    assert not np.allclose(start.position, sub.states[-1].position)
    dive(sub, 4.0)
    first = len(sub.depths)
    sub.run(300)
    assert rms(sub.depths[first:]) < 0.05
    vertical = np.array([sub.channels.pulse_widths(pwm)[-1] for pwm in sub.pwm[first:]])
    assert rms(vertical) < 50  # µs; gains that are too high shake it by 280
    told = -sub.last['VFR_HUD'].alt
    assert told == pytest.approx(sub.depths[-1], abs=0.1)


@pytest.mark.parametrize(
    ('vehicle', 'arguments'),
    [('bluerov2', {}), ('bluerov2', {'coefficients': 'maker'}), ('bluerov2_heavy', {})],
)
def test_alt_hold_in_a_moderate_sea(rig, vehicle, arguments):
    """Two vertical thrusters hold it too, of the default and of `maker`: both lift 80 N."""
    sub = rig(vehicle, 'moderate_sea', depth=2.0, arguments=arguments)
    dive(sub, 5.0)
    first = len(sub.depths)
    sub.run(300)
    assert rms(sub.depths[first:]) < 0.15


def test_surftrak_follows_the_seabed(rig):
    def seabed(state):  # a slope of 10 % towards the north, 12 m deep at the start
        return 12.0 - 0.1 * state.position[1]

    sub = rig(ranges=lambda state: (max(seabed(state) + state.position[2], 0.0),))
    dive(sub, 8.0)
    positioned(sub)
    assert sub.mode(SURFTRAK), sub.texts[-3:]
    sub.run(5)
    height = seabed(sub.states[-1]) - sub.depths[-1]
    north = sub.states[-1].position[1]
    sub.sticks = (0, 0, 500, 0)
    heading = rpy_from_quaternion(sub.states[-1].orientation)[2]
    ahead = int(400 * np.sin(heading)), int(400 * np.cos(heading))  # towards the north
    sub.sticks = (*ahead, 500, 0)
    sub.run(30)
    sub.sticks = CENTRED
    sub.run(10)
    assert abs(sub.states[-1].position[1] - north) > 3
    assert seabed(sub.states[-1]) - sub.depths[-1] == pytest.approx(height, abs=0.3)


def test_surftrak_over_rock_by_the_altimeter(rig):
    sub = rig('bluerov2_heavy', 'deep_rock', arguments={'altimeter': 'true'})
    dive(sub, 38.0)
    positioned(sub)
    assert sub.mode(SURFTRAK), sub.texts[-3:]
    sub.run(10)
    scene, first = sub.environment.scene, len(sub.states)
    sub.sticks = (350, 0, 500, 0)
    sub.run(60)
    path = np.array([state.position for state in sub.states[first:]])
    rays = np.broadcast_to([0.0, 0.0, -1.0], path.shape)
    height = cast_rays(scene, path, rays, 60.0).distance
    assert np.hypot(*(path[-1] - path[0])[:2]) > 10
    assert np.ptp(path[:, 2] - height) > 1.0  # the ground has its ups and downs
    assert rms(height) < 0.5


def test_poshold_in_a_current(rig):
    sub = rig(current=(0.3, 0.0, 0.0))
    dive(sub, 3.0)
    positioned(sub)
    assert sub.mode(POSHOLD)
    sub.run(15)
    first = len(sub.states)
    sub.run(60)
    path = np.array([state.position for state in sub.states[first:]])
    assert np.ptp(path, axis=0).max() < 0.3


def test_poshold_on_a_dvl_without_gps_in_a_current(rig):
    sub = rig(navigation='dvl', current=(0.3, 0.0, 0.0))
    dive(sub, 3.0)
    assert sub.run(60, lambda: sub.last['EKF_STATUS_REPORT'].flags & 0x8), sub.texts
    assert sub.mode(POSHOLD)
    sub.run(20)
    first = len(sub.states)
    sub.run(60)
    path = np.array([state.position for state in sub.states[first:]])
    assert np.ptp(path, axis=0).max() < 0.3
    told = sub.companion.status.position
    assert told == pytest.approx(ned(sub.states[-1].position), abs=2.0)


NAVIGATIONS = {
    'gps': {},
    'dvl': {'navigation': 'dvl', 'arguments': {'dvl': 'true'}},
    'usbl': {'navigation': 'usbl', 'arguments': {'dvl': 'true', 'usbl': 'true'}},
}
"""By GPS as the firmware makes it, by the simulated DVL, and by USBL and DVL."""
navigations = pytest.mark.parametrize('navigation', NAVIGATIONS)


def submerged(rig, navigation):
    """Return a vehicle that is 3 m deep and knows where it is."""
    if navigation == 'usbl':
        pytest.importorskip('pymap3d', reason='pymap3d: not installed (extra sensors)')
    sub = rig(environment='shallow_sand', **NAVIGATIONS[navigation])
    dive(sub, 3.0)
    positioned(sub)
    return sub


@navigations
def test_a_guided_square(rig, navigation):
    sub = submerged(rig, navigation)
    north0, east0 = offset(sub)
    assert sub.mode(GUIDED)
    for north, east in ((5, 0), (5, 5), (0, 5), (0, 0)):
        sub.mavlink.mav.set_position_target_local_ned_send(
            0, 1, 1, 1, 0b110111111000, north, east, 3, 0, 0, 0, 0, 0, 0, 0, 0
        )
        sub.run(25)
        assert np.hypot(*(sub.states[-1].position[:2] - [east + east0, north + north0])) < 0.6


def test_depth_is_held_on_a_dvl(rig):
    """Its vertical velocity is fused too: told late, depth swings by 0.2 m."""
    sub = rig(environment='shallow_sand', **NAVIGATIONS['dvl'])
    dive(sub, 3.0)
    sub.run(15)
    first = len(sub.depths)
    sub.run(20)
    assert np.std(sub.depths[first:]) < 0.02


def offset(sub):
    """Return north and east (m) of the estimator's origin, from which GUIDED counts."""
    return (sub.companion.status.origin or (0.0, 0.0, 0.0))[:2]


def waypoints(sub, points, altitude):
    """Return home and waypoints at north, east (m) of it."""
    latitude, longitude = sub.settings.home
    places = [
        (
            latitude + np.degrees(n / EARTH),
            longitude + np.degrees(e / EARTH / np.cos(np.radians(latitude))),
        )
        for n, e in points
    ]
    four = (0.0, 0.5, 0.0, 0.0)
    return [
        MissionItem(16, 3, four, latitude, longitude),
        *(MissionItem(16, 3, four, *place, altitude) for place in places),
    ]


@navigations
def test_an_auto_mission_of_five_waypoints_and_surface(rig, navigation):
    sub = submerged(rig, navigation)
    points = [(5, 0), (5, 5), (0, 5), (-3, 2), (0, 0)]
    assert sub.upload(waypoints(sub, points, -3.0)) == 0
    assert sub.mode(AUTO)
    first = len(sub.states)
    sub.run(
        150,
        lambda: (
            sub.last['MISSION_CURRENT'].seq == len(points)
            and np.hypot(*sub.states[-1].position[:2]) < 0.5
        ),
    )
    path = np.array([state.position for state in sub.states[first:]])
    for north, east in points:
        assert np.hypot(path[:, 0] - east, path[:, 1] - north).min() < 0.6
    assert sub.mode(SURFACE)
    assert sub.run(60, lambda: sub.depths[-1] < 0.4)


def test_a_silent_ground_station_disarms(rig):
    sub = rig()
    dive(sub, 2.0)
    sub.set_parameter('FS_GCS_ENABLE', 2)  # disarm
    sub.run(2)
    sub.silent = True
    assert sub.run(20, lambda: not sub.armed)
    assert max(abs(w - 1500) for w in sub.channels.pulse_widths(sub.pwm[-1])) == 0


def test_a_low_battery_disarms(rig):
    sub = rig()
    dive(sub, 2.0)
    sub.set_parameter('BATT_LOW_VOLT', 13.0)
    sub.set_parameter('BATT_FS_LOW_ACT', 2)  # disarm
    sub.set_parameter('SIM_BATT_VOLTAGE', 11.0)
    assert sub.run(30, lambda: not sub.armed), sub.texts[-3:]


def test_a_leak_surfaces(rig):
    sub = rig()
    sub.set_parameter('FS_LEAK_ENABLE', 2)  # surface
    dive(sub, 2.0)
    positioned(sub)  # SURFACE needs a position
    sub.set_parameter('SIM_PIN_MASK', 1 << 5)
    assert sub.run(30, lambda: any('eak' in text for _, text in sub.texts)), sub.texts[-3:]
    assert sub.run(60, lambda: sub.depths[-1] < 0.4)


def test_a_dead_thruster_is_flown_around(rig):
    sub = rig('bluerov2_heavy')
    dive(sub, 3.0)
    sub.dead = 4  # one of four vertical ones
    sub.run(10)
    first = len(sub.depths)
    sub.run(60)
    assert rms(sub.depths[first:]) < 0.1


def test_what_mavros_says_and_hears(rig):
    """Its plugins sys_status, sys_time, command, imu and rc_io, as a ground station of system 255.

    Streams are asked for at once, TIMESYNC is answered, overrides steer (65535: left alone).
    """
    sub = rig()
    sub.sticks, mav = None, sub.mavlink.mav
    assert sub.mode(MANUAL)
    mav.request_data_stream_send(1, 1, 0, 10, 1)
    mav.timesync_send(0, 123_456_789)
    assert sub.run(5, lambda: getattr(sub.last.get('TIMESYNC'), 'ts1', 0) == 123_456_789)
    override = [65535] * 18

    def steer():
        mav.rc_channels_override_send(1, 1, *override)

    sub.every.append((0.1, 'override', steer))
    override[4] = 1700  # ahead
    sub.run(5)
    state, width = sub.states[-1], sub.channels.pulse_widths(sub.pwm[-1])
    assert state.velocity[0] > 0.2
    assert abs(state.velocity[1]) < 0.1
    roll, pitch, _ = rpy_from_quaternion(state.orientation)
    told = sub.last['ATTITUDE']
    assert (told.roll, told.pitch) == pytest.approx((roll, -pitch), abs=0.05)
    assert sub.last['RAW_IMU'].zacc == pytest.approx(-1000 * np.cos(pitch), abs=60)  # mg
    assert sub.last['SCALED_PRESSURE'].press_abs == pytest.approx(
        1013.25 - 1024 * 9.80665e-2 * state.position[2], abs=10
    )
    servos = [getattr(sub.last['SERVO_OUTPUT_RAW'], f'servo{i}_raw') for i in range(1, 7)]
    assert np.abs(np.array(servos) - width).max() < 40  # it is up to 0.1 s old
    assert sub.last['RC_CHANNELS'].chan5_raw == 1700
    for name in ('SYS_STATUS', 'BATTERY_STATUS', 'SYSTEM_TIME', 'GLOBAL_POSITION_INT', 'VFR_HUD'):
        assert name in sub.last, name
    override[4] = 1500
    sub.run(8)
    assert np.linalg.norm(sub.states[-1].velocity[:2]) < 0.1
    assert sub.command(400, 0) == 0  # accepted: disarm
    assert sub.run(3, lambda: not sub.armed)


def test_the_same_mission_twice_is_the_same_to_the_bit(rig):
    """Once with two processes that keep the cores busy."""
    found = []
    for busy in (False, True):
        load = [sys.executable, '-c', 'while True: pass']
        others = [subprocess.Popen(load) for _ in range(2 * busy)]
        try:
            sub = rig()
            dive(sub, 1.5)
            sub.sticks = (300, 0, 500, 200)
            sub.run(10)
        finally:
            for other in others:
                other.kill()
        found.append((sub.pwm, [s.velocity.tolist() for s in sub.states]))
    (pwm, states), (other_pwm, other_states) = found
    assert pwm == other_pwm
    assert states == other_states


def test_the_log_of_the_firmware_gives_the_drag_of_the_vehicle(rig, tmp_path, capsys):
    """Sticks at random in MANUAL; only the log that the firmware wrote is read."""
    sub = rig(arguments={'coefficients': 'maker'})
    assert sub.mode(MANUAL)
    sub.sticks = (0, 0, 100, 0)
    sub.run(15)
    first, rng = len(sub.states), np.random.default_rng(3)
    while sub.time < 100:
        ahead, port, up, turn = rng.choice([-600, -300, 0, 300, 600], 4).tolist()
        sub.sticks = (ahead, port, 440 + up // 2, turn // 2)
        sub.run(float(rng.choice([0.6, 1.0, 1.6])))
    (log,) = (sub.firmware.folder / 'logs').glob('*.BIN')
    path = tmp_path / log.name
    path.write_bytes(log.read_bytes())
    velocity = np.stack([state.velocity for state in sub.states[first:]])
    values, said = identified(capsys, path, 'coefficients:=maker')
    check_drag(sub.vehicle, velocity, values, 0.1)
    assert 'XKF1, core 0' in said
    assert analyze(path, '-o', tmp_path / 'report') == 0
    page = (tmp_path / 'report' / 'report.html').read_text()
    assert 'no measurement' in page
    told = read_bag(str(path)).vehicles['ardusub'].channels['odom'].series.rows
    truth = np.array([state.position[2] for state in sub.states[first:]])
    assert np.nanmin(told[:, 2]) == pytest.approx(truth.min(), abs=0.3)


@pytest.mark.skipif(ROVER is None, reason='ardurover: neither on PATH nor in $ARDUROVER')
def test_ardurover_steers_a_wamv_by_hand_and_by_waypoints(rig):
    boat = rig('wamv', program=ROVER, depth=0.0, dt=0.02)
    positioned(boat)
    assert boat.mode(0)  # MANUAL
    boat.sticks = (0, 0, 500, 0)
    boat.run(6)
    assert boat.states[-1].velocity[0] > 1.0
    boat.sticks = (0, 400, 500, 0)
    boat.run(6)
    assert boat.states[-1].velocity[5] < -0.3  # to starboard
    boat.sticks = CENTRED_BOAT
    points = [(20, 0), (20, 20), (0, 20), (0, 0)]
    assert boat.upload(waypoints(boat, points, 0.0)) == 0
    assert boat.mode(10)  # AUTO
    first = len(boat.states)
    assert boat.run(200, lambda: len(boat.reached) == len(points)), boat.texts[-5:]
    assert boat.reached == [1, 2, 3, 4]
    path = np.array([state.position for state in boat.states[first:]])
    for north, east in points:
        assert np.hypot(path[:, 0] - east, path[:, 1] - north).min() < 1.0
