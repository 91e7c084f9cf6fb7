# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Our MAVLink vehicle as a composed run, in water, seen by a ground station over UDP.

Time is the simulation's, read from the messages, so that no value depends on the machine's load.
The right values follow from MAVLink's specification, ArduSub 4.5's sources (gain, time of
overrides) and the speeds of the same sticks sent otherwise.
"""

import math
import time

import pytest
from mavlink_rows import (
    ALT_HOLD,
    GUIDED,
    MANUAL,
    MOTION_ROWS,
    POSITION,
    RATE_AND_VELOCITY,
    VELOCITY,
    Ground,
    channel,
    ned_speed,
    turn_rate,
    wrap,
)
from processor import PATIENCE
from test_mavlink_rows import of_ours, play_motion

mavlink = pytest.importorskip('test_mavlink', reason='pymavlink: not installed (extra ardusub)')
pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]
GLOBAL_INT, RELATIVE_ALT_INT = 5, 6


class GraphVehicle(Ground):
    """A composed run; the ground station beats by wall time, as a real one."""

    def __init__(self, processes, *options, name='bluerov2_heavy'):
        self.link = mavlink.Ground()
        self.mav = self.link.mav
        self.process = processes.marine_sim(
            *('run', name, '--autopilot', 'mavlink', '--composed', '--dt', '0.02'),
            *('--real-time-factor', '4', '--ground-station', f'127.0.0.1:{self.link.port}'),
            *options,
        )
        self.link.until('HEARTBEAT')
        self._time, self._came, self._beaten = 0.0, time.monotonic(), 0.0
        super().__init__()
        self.beats = False
        assert self.run(60, lambda: {'HEARTBEAT', 'LOCAL_POSITION_NED', 'ATTITUDE'} <= self.kinds)

    @property
    def now(self):
        return self._time

    @property
    def kinds(self):
        return {message.get_type() for _, message in self.heard}

    def step(self):
        time.sleep(0.01)
        wall = time.monotonic()
        if wall - self._beaten > 0.5:
            self._beaten = wall
            self.mav.heartbeat_send(6, 8, 0, 0, 4)
        for message in self.link.read():
            milliseconds = getattr(message, 'time_boot_ms', None)
            if milliseconds is not None:
                self._time, self._came = milliseconds * 1e-3, wall
            self.heard.append((self._time, message))
        assert wall - self._came < PATIENCE, 'the run stands still'

    def ready(self, mode):
        """Arm, and be in a mode."""
        assert self.command(400, 1) == 0
        assert self.run(20, lambda: self.armed)
        assert self.mode(mode)

    def texts(self):
        return [m.text for _, m in self.heard if m.get_type() == 'STATUSTEXT']

    def speeds(self):
        """Speed over ground, m/s, and yaw rate, rad/s, over the last second."""
        found = self.since(self.now - 1.0, 'LOCAL_POSITION_NED')
        return sum(math.hypot(m.vx, m.vy) for m in found) / len(found), turn_rate(self)


@pytest.fixture
def vehicle(processes):
    made = []

    def make(*options, **more):
        made.append(GraphVehicle(processes, *options, **more))
        return made[-1]

    yield make
    for one in made:
        one.link.socket.close()


def test_channels_one_by_one_and_once_a_second_are_as_all_at_once(vehicle):
    """Value 65535 leaves a channel, an override lasts 3 s, x 1000 has the gain of 0.5."""
    sub = vehicle('--initial-position', '0', '0', '-3')
    sub.ready(MANUAL)

    def steer(seconds, *periodic):
        for period, widths in periodic:
            sub.repeat(period, lambda widths=widths: sub.override(**widths))
        sub.run(seconds)
        found = sub.speeds()
        sub.quiet()
        sub.run(8)
        return found

    together = steer(8, (0.1, {'c4': 1600, 'c5': 1700}))
    assert together == pytest.approx((0.57, 1.56), abs=0.04)
    assert steer(8, (0.1, {'c4': 1600}), (0.1, {'c5': 1700})) == pytest.approx(together, abs=0.04)
    assert steer(10, (0.1, {'c5': 1700}))[0] == pytest.approx(0.70, abs=0.03)
    assert steer(10, (1.0, {'c5': 1700}))[0] == pytest.approx(0.70, abs=0.03)
    sub.repeat(0.1, lambda: sub.sticks(x=1000))
    sub.run(8)
    assert channel(5)(sub) == 1700
    assert sub.speeds()[0] == pytest.approx(0.70, abs=0.03)


def test_a_depth_and_an_attitude_are_taken_in_alt_hold(vehicle):
    """3 m, and the bow to the north; the place is kept."""
    sub = vehicle()
    sub.ready(ALT_HOLD)
    only_z = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7, 8, 10, 11))
    sub.repeat(1.0, lambda: sub.world(GLOBAL_INT, only_z, 0, 0, -3.0))
    sub.run(20)
    sub.quiet()
    assert sub.place == pytest.approx((0, 0, 3), abs=0.15)
    sub.repeat(1.0, lambda: sub.attitude(64))
    sub.run(15)
    assert wrap(sub.yaw) == pytest.approx(0, abs=math.radians(3))
    assert sub.place == pytest.approx((0, 0, 3), abs=0.15)


def test_an_upload_is_answered_and_a_place_on_the_globe_is_gone_to(vehicle):
    """The first item is asked for; 10 m north; an answer to COMMAND_INT."""
    sub = vehicle('--initial-position', '0', '0', '-2')
    sub.mav.mission_count_send(1, 1, 4, 0)
    assert sub.answer('MISSION_REQUEST', 20.0).seq == 0
    sub.ready(GUIDED)
    start = sub.last('GLOBAL_POSITION_INT')
    sub.repeat(1.0, lambda: sub.world(
        RELATIVE_ALT_INT, POSITION, start.lat + 900, start.lon, -2.0))  # fmt: skip
    sub.run(25)
    sub.quiet()
    end = sub.last('GLOBAL_POSITION_INT')
    assert (end.lat - start.lat) * 0.0111 == pytest.approx(10.0, abs=0.3)
    assert sub.command(192, -1, 0, 0, math.nan, start.lat, start.lon, -2.0, integer=True,
                       frame=RELATIVE_ALT_INT) == 0  # fmt: skip
    assert sub.run(30, lambda: abs(sub.place[0]) < 0.5)


def test_offsets_yaw_rates_and_velocities_are_taken_in_guided(vehicle):
    """N 5 E 1 D 2 by an offset of 3 m; 0.3 rad/s beside a velocity; 0.3 m/s north."""
    sub = vehicle()
    sub.ready(GUIDED)
    sub.repeat(0.5, lambda: sub.local(1, 0x9F8, 2, 1, 2))
    sub.run(20)
    sub.quiet()
    assert sub.place == pytest.approx((2, 1, 2), abs=0.2)
    sub.local(7, POSITION, 3, 0, 0)
    sub.run(25)
    assert sub.place == pytest.approx((5, 1, 2), abs=0.2)
    sub.repeat(0.2, lambda: sub.local(8, RATE_AND_VELOCITY, vx=0.3, rate=0.3))
    sub.run(8)
    sub.quiet()
    assert sub.speeds() == pytest.approx((0.3, 0.3), abs=0.06)
    sub.repeat(0.2, lambda: sub.local(1, VELOCITY, vx=0.3))
    sub.run(8)
    assert ned_speed(sub, (), 0) == pytest.approx((0.3, 0, 0), abs=0.06)


def test_the_rows_that_need_water_are_as_ardusub_s(vehicle):
    sub = vehicle('--initial-position', '0', '0', '-5')
    rows = [row for row in MOTION_ROWS if row.physical]
    assert not (wrong := play_motion(sub, rows, of_ours)), '\n'.join(wrong)


@pytest.mark.parametrize('odometry', ['true', 'estimated'])
def test_a_learned_policy_has_the_place_of_the_autopilot(vehicle, odometry):
    """A ground station arms it and sends a target; it holds it by the vehicle's own sensors."""
    sensors = [word for name in ('dvl', 'imu_orientation', 'barometer_pose')
               for word in ('--set', f'{name}:=true')]  # fmt: skip
    sub = vehicle(
        *sensors, '--environment', 'test_grid', '--initial-position', '0', '0', '-5',
        '--controller', 'policy', '--odometry', odometry, name='bluerov2',
    )  # fmt: skip
    sub.ready(GUIDED)
    sub.repeat(0.5, lambda: sub.local(1, POSITION, 1, -1, 4))
    sub.run(20)
    since = sub.now
    assert sub.run(200, lambda: len(sub.since(since, 'LOCAL_POSITION_NED')) > 10)
    found = [(m.x, m.y, m.z) for m in sub.since(since, 'LOCAL_POSITION_NED')]
    distances = [math.dist(place, (1, -1, 4)) for place in found]
    assert sum(distances) / len(distances) < (0.1 if odometry == 'true' else 0.4)
    assert sub.run(200, lambda: 'SERVO_OUTPUT_RAW' in sub.kinds)
    pulses = sub.last('SERVO_OUTPUT_RAW')
    assert all(1100 <= getattr(pulses, f'servo{i}_raw') <= 1900 for i in range(1, 7))
