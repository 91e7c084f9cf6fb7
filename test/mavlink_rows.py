# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a vehicle answers to each message of a ground station: rows for ArduSub and for ours.

A row says what is sent and what is seen. ``test_mavlink_rows.py`` plays all rows to the real
firmware and to our controller as a MAVLink vehicle. The expected values were measured with
ArduSub 4.5.0 on a BlueROV2 Heavy, steps of 0.02 s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

MANUAL, STABILIZE, ALT_HOLD, AUTO, GUIDED, SURFACE, POSHOLD = 19, 0, 2, 3, 4, 9, 16
ACCEPTED, DENIED, UNSUPPORTED, FAILED = 0, 2, 3, 4
SAME = object()
LEAVE = 65535


class Ground:
    """A ground station of system 255: sends, hears, and looks back at what it heard.

    A subclass has ``mav`` (sends), ``now`` (s) and ``step()``, which lets a short time pass and
    appends what came to ``heard``.
    """

    mav: Any
    system = 1
    settle_time = 4.0

    def __init__(self) -> None:
        self.heard: list[tuple[float, Any]] = []
        self._every: list[list[Any]] = []
        self.beats = True
        self.repeat(1.0, self._beat)

    @property
    def now(self) -> float:
        raise NotImplementedError

    def step(self) -> None:
        raise NotImplementedError

    def _beat(self) -> None:
        if self.beats:
            self.mav.heartbeat_send(6, 8, 0, 0, 4)

    def repeat(self, period: float, speak: Callable[[], Any]) -> None:
        """Speak now and then until ``quiet``."""
        self._every.append([period, -math.inf, speak])

    def quiet(self) -> None:
        """End what is repeated, but for the heartbeat."""
        del self._every[1:]

    def run(self, seconds: float, until: Callable[[], Any] = lambda: False) -> bool:
        """Let time pass, until something holds; return whether it does."""
        end = self.now + seconds
        while True:
            for one in self._every:
                if self.now >= one[1] + one[0]:
                    one[1] = self.now
                    one[2]()
            self.step()
            if until():
                return True
            if self.now >= end:
                return False

    def since(self, time: float, kind: str, **fields: Any) -> list[Any]:
        """Return the messages of a kind, with some fields, that came since a time."""
        found = []
        for when, message in reversed(self.heard):
            if when <= time:
                break
            if message.get_type() == kind and all(
                getattr(message, name) == value for name, value in fields.items()
            ):
                found.append(message)
        return found[::-1]

    def last(self, kind: str) -> Any:
        """Return the newest message of a kind."""
        return next(m for _, m in reversed(self.heard) if m.get_type() == kind)

    def answer(self, kind: str, seconds: float = 2.0, **fields: Any) -> Any:
        """Return the first message of a kind from now on, or None."""
        start = len(self.heard)

        def came() -> list[Any]:
            return [
                m
                for _, m in self.heard[start:]
                if m.get_type() == kind
                and all(getattr(m, name) == value for name, value in fields.items())
            ]

        self.run(seconds, came)
        return next(iter(came()), None)

    def command(self, number: int, *params: float, integer: bool = False, frame: int = 0) -> Any:
        """Send a command; return the result of its acknowledgement, or None."""
        params = (*params, *[0] * (7 - len(params)))
        if integer:
            x, y = (int(p) for p in params[4:6])
            self.mav.command_int_send(
                self.system, 1, frame, number, 0, 0, *params[:4], x, y, params[6]
            )
        else:
            self.mav.command_long_send(self.system, 1, number, 0, *params)
        start = len(self.heard)

        def came() -> list[Any]:
            return [
                m.result
                for _, m in self.heard[start:]
                if m.get_type() == 'COMMAND_ACK' and m.command == number and m.result != 5
            ]

        self.run(2.0, came)
        return next(iter(came()), None)

    def mode(self, number: int) -> bool:
        self.mav.set_mode_send(self.system, 1, number)
        return self.run(5.0, lambda: self.last('HEARTBEAT').custom_mode == number)

    @property
    def armed(self) -> bool:
        return bool(self.last('HEARTBEAT').base_mode & 128)

    @property
    def place(self) -> tuple[float, float, float]:
        p = self.last('LOCAL_POSITION_NED')
        return p.x, p.y, p.z

    @property
    def yaw(self) -> float:
        return self.last('ATTITUDE').yaw

    def sticks(self, *, x=0, y=0, z=500, r=0, system=None, **more) -> None:
        self.mav.manual_control_send(system or self.system, x, y, z, r, 0, **more)

    def press(self, buttons: int, buttons2: int = 0, *, x=0, y=0, z=500, r=0) -> None:
        self.mav.manual_control_send(self.system, x, y, z, r, buttons, buttons2=buttons2)

    def override(self, **channels: int) -> None:
        """Override channels c1 to c18; the others are left."""
        widths = [channels.get(f'c{k}', LEAVE) for k in range(1, 19)]
        self.mav.rc_channels_override_send(self.system, 1, *widths)

    def local(self, frame, mask, x=0, y=0, z=0, vx=0, vy=0, vz=0, a=0, yaw=0, rate=0) -> None:
        self.mav.set_position_target_local_ned_send(
            0, self.system, 1, frame, mask, x, y, z, vx, vy, vz, a, a, a, yaw, rate
        )

    def world(self, frame, mask, lat, lon, alt, vx=0, vy=0, vz=0, yaw=0) -> None:
        self.mav.set_position_target_global_int_send(
            0, self.system, 1, frame, mask, lat, lon, alt, vx, vy, vz, 0, 0, 0, yaw, 0
        )

    def attitude(self, mask, roll=0.0, pitch=0.0, yaw=0.0, thrust=0.5) -> None:
        from pymavlink.quaternion import Quaternion

        self.mav.set_attitude_target_send(
            0, self.system, 1, mask, list(Quaternion([roll, pitch, yaw]).q), 0, 0, 0, thrust
        )

    def settle(self) -> None:
        """Come to rest in ALT_HOLD with centred sticks."""
        self.quiet()
        self.mode(ALT_HOLD)
        self.repeat(0.2, self.sticks)
        self.run(self.settle_time)
        self.quiet()


@dataclass(frozen=True)
class Row:
    """A row: ``play`` sends and returns what it saw.

    Attributes:
        name: message and field.
        play: sends, and returns a value.
        expected: ArduSub's, measured.
        ours: our vehicle's, where it differs on purpose.
        why: reason of the difference.
        physical: whether it needs thrusters and water, and not only commands.
    """

    name: str
    play: Callable[[Ground], Any]
    expected: Any = None
    ours: Any = SAME
    why: str = ''
    physical: bool = False


def near(value, tolerance):
    return pytest.approx(value, abs=tolerance)


# Motion ----------------------------------------------------------------------------------------


def body_speed(g: Ground, seconds: float = 1.0) -> tuple[float, float, float]:
    """Return speed forward, right and down, averaged over the last while, m/s."""
    found = g.since(g.now - seconds, 'LOCAL_POSITION_NED')
    n, e, d = (sum(getattr(m, k) for m in found) / len(found) for k in ('vx', 'vy', 'vz'))
    c, s = math.cos(g.yaw), math.sin(g.yaw)
    return c * n + s * e, c * e - s * n, d


def turn_rate(g: Ground, seconds: float = 1.0) -> float:
    found = g.since(g.now - seconds, 'ATTITUDE')
    return sum(m.yawspeed for m in found) / len(found)


def sticks_row(mode, seconds, see, **sticks):
    def play(g):
        g.mode(mode)
        g.repeat(0.1, lambda: g.sticks(**sticks))
        g.run(seconds)
        return see(g)

    return play


def channel(number):
    return lambda g: getattr(g.last('RC_CHANNELS'), f'chan{number}_raw')


def override_in_turn(g):
    """Two channels, each in a message of its own, in turn at 20 Hz."""
    g.mode(MANUAL)
    g.repeat(0.1, lambda: g.override(c5=1600))
    g.run(0.05)
    g.repeat(0.1, lambda: g.override(c4=1600))
    g.run(5)
    return body_speed(g)[0], channel(4)(g), channel(5)(g)


def override_once(seconds, **channels):
    """One message, then silence: a channel's width after some seconds."""

    def play(g):
        g.mode(MANUAL)
        g.override(**channels)
        g.run(seconds)
        return channel(5)(g)

    return play


def override_released(g):
    g.mode(MANUAL)
    g.override(c5=1700)
    g.run(0.5)
    g.override(c5=0)
    g.run(0.5)
    return channel(5)(g)


def override_from(source):
    def play(g):
        g.mode(MANUAL)
        g.mav.srcSystem, before = source, g.mav.srcSystem
        g.repeat(0.1, lambda: g.override(c5=1700))
        g.run(2)
        g.quiet()
        g.mav.srcSystem = before
        return abs(body_speed(g)[0]) > 0.1

    return play


def sticks_then_silence(seconds):
    def play(g):
        g.mode(MANUAL)
        g.sticks(x=1000)
        g.run(seconds)
        return channel(5)(g)

    return play


ONLY_Z = 0b110111111011


def depth_by_global_int(frame, once=True):
    def play(g):
        depth = g.place[2] + 1.0
        alt = g.last('GLOBAL_POSITION_INT').relative_alt / 1000
        g.mode(ALT_HOLD)
        g.repeat(10.0 if once else 0.5, lambda: g.world(frame, ONLY_Z, 0, 0, alt - 1.0))
        g.run(9.5)
        return g.place[2] - depth

    return play


def wrap(angle: float) -> float:
    return (angle + math.pi) % (2 * math.pi) - math.pi


def attitude_row(
    mode, mask, seconds, see, *, turn=1.0, roll=0.0, pitch=0.0, thrust=0.5, once=False
):
    def play(g):
        yaw, depth = g.yaw + turn, g.place[2]
        g.mode(mode)
        if once:
            g.attitude(mask, roll, pitch, wrap(yaw), thrust)
        else:
            g.repeat(0.1, lambda: g.attitude(mask, roll, pitch, wrap(yaw), thrust))
        g.run(seconds)
        return see(g, yaw, depth)

    return play


def yaw_error(g, yaw, depth):
    return wrap(g.yaw - yaw)


def local_row(frame, mask, seconds, see, repeat=0.5, mode=GUIDED, relative=False, **fields):
    """Send a local target; ``see`` gets place and yaw at the start."""

    def play(g):
        g.mode(mode)
        g.run(1)
        start, yaw = g.place, g.yaw
        wanted = dict(fields)
        if relative:
            for name, base in zip('xyz', start, strict=True):
                wanted[name] = wanted.get(name, 0) + base
        if repeat:
            g.repeat(repeat, lambda: g.local(frame, mask, **wanted))
        else:
            g.local(frame, mask, **wanted)
        g.run(seconds)
        return see(g, start, yaw)

    return play


def moved(g, start, yaw):
    """Return how far it went north, east, down."""
    return tuple(b - a for a, b in zip(start, g.place, strict=True))


def moved_body(g, start, yaw):
    """Return how far it went forward, right (of the yaw at the start), down."""
    n, e, d = moved(g, start, yaw)
    c, s = math.cos(yaw), math.sin(yaw)
    return c * n + s * e, c * e - s * n, d


def ned_speed(g, start, yaw):
    found = g.since(g.now - 1.0, 'LOCAL_POSITION_NED')
    return tuple(sum(getattr(m, k) for m in found) / len(found) for k in ('vx', 'vy', 'vz'))


def mean_yaw(g, *_):
    """Return the yaw, averaged over three swings of ArduSub's."""
    found = g.since(g.now - 4.05, 'ATTITUDE')
    return g.yaw + sum(wrap(m.yaw - g.yaw) for m in found) / len(found)


def turned(g, start, yaw):
    return wrap(g.yaw - yaw)


POSITION, VELOCITY, ALL_BUT_YAW = 0b110111111000, 0b110111000111, 0b101111111111
RATE_AND_VELOCITY, YAW_AND_VELOCITY = 0b010111000111, 0b100111000111


def global_row(frame, north, east, down, seconds, see):
    def play(g):
        g.mode(GUIDED)
        g.run(1)
        start, yaw = g.place, g.yaw
        at = g.last('GLOBAL_POSITION_INT')
        lat = at.lat + round(math.degrees(north / 6378137.0) * 1e7)
        scale = math.cos(math.radians(at.lat * 1e-7))
        lon = at.lon + round(math.degrees(east / 6378137.0 / scale) * 1e7)
        alt = (at.relative_alt if frame in (3, 6) else at.alt) / 1000 - down
        g.repeat(1.0, lambda: g.world(frame, POSITION, lat, lon, alt))
        g.run(seconds)
        return see(g, start, yaw)

    return play


def velocity_that_ends(g):
    """A velocity once: the speed after 2 s, and after 6 s."""
    g.mode(GUIDED)
    g.run(1)
    g.local(1, VELOCITY, vx=0.3)
    g.run(2.5)
    early = ned_speed(g, (), 0)[0]
    g.run(5.0)
    return early, ned_speed(g, (), 0)[0]


def yaw_command(mode, absolute):
    def play(g):
        g.mode(mode)
        g.run(1)
        yaw = g.yaw
        target = math.degrees(yaw + 1.0) % 360 if absolute else math.degrees(1.0)
        result = g.command(115, target, 30, 1, 0 if absolute else 1)
        g.run(8)
        return result, wrap(mean_yaw(g) - yaw)

    return play


SLOW = 'the velocity controller of ArduSub leaves an error'
FAR = 'ArduSub takes a target at most 0.56 m away: repeat it'
BY_AXIS = 'bits of the mask count axis by axis'
MOTION_ROWS = [
    Row('MANUAL_CONTROL x 1000: channel 5', sticks_row(MANUAL, 1, channel(5), x=1000), 1700),
    Row('MANUAL_CONTROL y -500: channel 6', sticks_row(MANUAL, 1, channel(6), y=-500), 1400),
    Row('MANUAL_CONTROL z 250: channel 3', sticks_row(MANUAL, 1, channel(3), z=250), 1400),
    Row('MANUAL_CONTROL r 500: channel 4', sticks_row(MANUAL, 1, channel(4), r=500), 1600),
    Row('MANUAL_CONTROL s 100 with its extension: channel 1',
        sticks_row(MANUAL, 1, channel(1), enabled_extensions=1, s=100), 1600),
    Row('MANUAL_CONTROL s 100 without its extension: channel 1',
        sticks_row(MANUAL, 1, channel(1), s=100), 1600, 1500, 'MAVLink: only with its extension'),
    Row('MANUAL_CONTROL to another system: channel 5',
        sticks_row(MANUAL, 5, channel(5), x=1000, system=77), 1500),
    Row('MANUAL_CONTROL x 1000: m/s ahead',
        sticks_row(MANUAL, 6, lambda g: body_speed(g)[0], x=1000), near(0.68, 0.05),
        physical=True),
    Row('MANUAL_CONTROL x 32767: channel 5', sticks_row(MANUAL, 1, channel(5), x=32767), 1900,
        1500, 'MAVLink: 32767 is no value'),
    Row('MANUAL_CONTROL, then 2 s of silence: channel 5', sticks_then_silence(2.0), 1700),
    Row('MANUAL_CONTROL, then 4 s of silence: channel 5', sticks_then_silence(4.0), 1500),
    Row('RC_CHANNELS_OVERRIDE in turn: m/s ahead, channels 4 and 5', override_in_turn,
        (near(0.1, 0.05), 1600, 1600), physical=True),
    Row('RC_CHANNELS_OVERRIDE, after 2 s: channel 5', override_once(2.0, c5=1700), 1700),
    Row('RC_CHANNELS_OVERRIDE, after 4 s: channel 5', override_once(4.0, c5=1700), 1500),
    Row('RC_CHANNELS_OVERRIDE 0: channel 5', override_released, 1500),
    Row('RC_CHANNELS_OVERRIDE 700: channel 5', override_once(0.5, c5=700), 700, 1500,
        'a width outside 800 to 2200 is refused'),
    Row('RC_CHANNELS_OVERRIDE 2500: channel 5', override_once(0.5, c5=2500), 2500, 1500,
        'a width outside 800 to 2200 is refused'),
    Row('RC_CHANNELS_OVERRIDE of system 254: moves', override_from(254), False),
    Row('GLOBAL_INT alt in ALT_HOLD once, frame 6: m off', depth_by_global_int(6),
        near(-0.44, 0.1), near(0, 0.15), FAR),
    Row('GLOBAL_INT alt in ALT_HOLD once, frame 5: m off', depth_by_global_int(5),
        near(-0.44, 0.1), near(0, 0.15), FAR),
    Row('GLOBAL_INT alt in ALT_HOLD, repeated: m off', depth_by_global_int(6, once=False),
        near(0, 0.15)),
    Row('SET_ATTITUDE_TARGET in ALT_HOLD: yaw off',
        attitude_row(ALT_HOLD, 64, 6, yaw_error), near(0, 0.1)),
    Row('SET_ATTITUDE_TARGET in ALT_HOLD, roll 0.2: roll',
        attitude_row(ALT_HOLD, 64, 6, lambda g, y, d: g.last('ATTITUDE').roll, roll=0.2, turn=0),
        near(0.2, 0.06)),
    Row('SET_ATTITUDE_TARGET in ALT_HOLD once, after 9 s: roll',
        attitude_row(ALT_HOLD, 64, 9, lambda g, y, d: g.last('ATTITUDE').roll, roll=0.2, turn=0,
                     once=True), near(0, 0.06)),
    Row('SET_ATTITUDE_TARGET in ALT_HOLD without bit 6: yaw off',
        attitude_row(ALT_HOLD, 0, 4, yaw_error), near(-1.0, 0.1)),
    Row('SET_ATTITUDE_TARGET in STABILIZE: yaw off',
        attitude_row(STABILIZE, 64, 4, yaw_error), near(-1.0, 0.1)),
    Row('SET_ATTITUDE_TARGET in GUIDED: yaw off', attitude_row(GUIDED, 7, 6, yaw_error),
        near(0, 0.1)),
    Row('SET_ATTITUDE_TARGET in GUIDED, thrust 0.6: m down',
        attitude_row(GUIDED, 7, 5, lambda g, y, d: g.place[2] - d, thrust=0.6, turn=0),
        near(-2.3, 0.4)),
    Row('LOCAL_NED position in ALT_HOLD: moved',
        local_row(1, POSITION, 5, moved, mode=ALT_HOLD, relative=True, x=3),
        (near(0, 0.4), near(0, 0.4), near(0, 0.2))),
    Row('LOCAL_NED position: moved',
        local_row(1, POSITION, 20, moved, relative=True, x=3, y=1, z=1),
        (near(3, 0.4), near(1, 0.4), near(1, 0.3))),
    Row('LOCAL_OFFSET_NED position: moved', local_row(7, POSITION, 20, moved, 0, x=3),
        (near(3, 0.4), near(0, 0.4), near(0, 0.3))),
    Row('BODY_NED position: moved ahead', local_row(8, POSITION, 20, moved_body, 0, x=3),
        (near(3, 0.4), near(0, 0.4), near(0, 0.3))),
    Row('BODY_OFFSET_NED position: moved ahead', local_row(9, POSITION, 20, moved_body, 0, x=3),
        (near(3, 0.4), near(0, 0.4), near(0, 0.3))),
    Row('BODY_FRD position: moved ahead', local_row(12, POSITION, 20, moved_body, 0, y=2),
        (near(0, 0.4), near(2, 0.4), near(0, 0.3))),
    Row('frame MISSION (2): moved', local_row(2, POSITION, 5, moved, relative=True, x=3),
        (near(0, 0.4), near(0, 0.4), near(0, 0.3))),
    Row('LOCAL_NED velocity: m/s', local_row(1, VELOCITY, 8, ned_speed, vx=0.3),
        (near(0.18, 0.05), near(0, 0.05), near(0, 0.05)),
        (near(0.3, 0.06), near(0, 0.06), near(0, 0.06)), SLOW),
    Row('LOCAL_OFFSET_NED velocity: m/s', local_row(7, VELOCITY, 8, ned_speed, vx=0.3),
        (near(0.18, 0.05), near(0, 0.05), near(0, 0.05)),
        (near(0.3, 0.06), near(0, 0.06), near(0, 0.06)), SLOW),
    Row('BODY_NED velocity: m/s ahead',
        local_row(8, VELOCITY, 8, lambda g, *_: body_speed(g), vx=0.3),
        (near(0.18, 0.05), near(0, 0.05), near(0, 0.05)),
        (near(0.3, 0.06), near(0, 0.06), near(0, 0.06)), SLOW),
    Row('BODY_NED velocity down: m/s',
        local_row(8, VELOCITY, 8, lambda g, *_: body_speed(g), vz=0.1),
        (near(0, 0.06), near(0, 0.06), near(0.1, 0.04))),
    Row('BODY_NED velocity and yaw rate: m/s ahead, rad/s',
        local_row(8, RATE_AND_VELOCITY, 8, lambda g, *_: (body_speed(g)[0], turn_rate(g)), vx=0.2,
                  rate=0.3), (near(0.08, 0.05), near(0.3, 0.05)),
        (near(0.2, 0.08), near(0.3, 0.05)), SLOW),
    # ArduSub swings by 0.23 rad about it, once in 1.35 s.
    Row('LOCAL_NED velocity and yaw: yaw, averaged',
        local_row(1, YAW_AND_VELOCITY, 8, mean_yaw, vx=0.2, yaw=1.0), near(1.0, 0.1)),
    Row('LOCAL_NED velocity once: m/s after 2.5 s and 7.5 s', velocity_that_ends,
        (near(0.14, 0.06), near(0, 0.06)),
        (near(0.3, 0.08), near(0, 0.06)), SLOW),
    Row('LOCAL_NED position, x ignored: moved',
        local_row(1, POSITION | 1, 8, moved, relative=True, y=2),
        (near(0, 0.4), near(0, 0.4), near(0, 0.3)),
        (near(0, 0.4), near(2, 0.4), near(0, 0.3)), BY_AXIS),
    Row('LOCAL_NED velocity, vx ignored: m/s',
        local_row(1, VELOCITY | 8, 6, ned_speed, vy=0.3),
        (near(0, 0.06), near(0, 0.06), near(0, 0.06)),
        (near(0, 0.06), near(0.3, 0.06), near(0, 0.06)), BY_AXIS),
    Row('LOCAL_NED velocity with acceleration: m/s',
        local_row(1, 0b110000000111, 6, ned_speed, vx=0.3, a=0.1),
        (near(0, 0.06), near(0, 0.06), near(0, 0.06))),
    Row('LOCAL_NED position and velocity: moved',
        local_row(1, 0b110111000000, 10, moved, relative=True, x=2),
        (near(2, 0.5), near(0, 0.4), near(0, 0.3))),
    Row('LOCAL_NED yaw alone: turned', local_row(1, ALL_BUT_YAW, 5, turned, yaw=1.0),
        near(0, 0.1)),
    Row('GLOBAL_INT position, frame 6: moved', global_row(6, 3, 1, 1, 20, moved),
        (near(3, 0.5), near(1, 0.5), near(1, 0.3))),
    Row('GLOBAL_INT position, frame 5: moved', global_row(5, 3, 1, 1, 20, moved),
        (near(3, 0.5), near(1, 0.5), near(1, 0.3))),
    Row('GLOBAL_INT position, frame 11 (terrain): moved', global_row(11, 3, 0, 0, 8, moved),
        (near(0, 0.4), near(0, 0.4), near(0, 0.3))),
    Row('CONDITION_YAW absolute in GUIDED: result, turned', yaw_command(GUIDED, True),
        (ACCEPTED, near(1.0, 0.15))),
    Row('CONDITION_YAW relative in GUIDED: result, turned', yaw_command(GUIDED, False),
        (ACCEPTED, near(1.0, 0.2))),
    Row('CONDITION_YAW in ALT_HOLD: result, turned', yaw_command(ALT_HOLD, True),
        (ACCEPTED, near(0, 0.1)), (FAILED, near(0, 0.1)), 'ArduSub accepts, and does nothing'),
]  # fmt: skip
"""Motion, from rest in ALT_HOLD, armed, some metres deep."""


# Answers ---------------------------------------------------------------------------------------


def result_of(number, *params, integer=False, frame=0, settle=0.0):
    def play(g):
        result = g.command(number, *params, integer=integer, frame=frame)
        g.run(settle)
        return result

    return play


def set_mode(number, by_command):
    """Return the result, and whether the mode is on."""

    def play(g):
        g.mode(MANUAL)
        if by_command:
            result = g.command(176, 1, number)
        else:
            g.mav.set_mode_send(g.system, 1, number)
            ack = g.answer('COMMAND_ACK', 1.0, command=11)
            result = None if ack is None else ack.result
        g.run(1.2)
        return result, g.last('HEARTBEAT').custom_mode == number

    return play


def interval(message, rate):
    """Ask for a message at a rate; return the result, and how many come in 4 s."""

    def play(g):
        result = g.command(511, message, 1e6 / rate if rate > 0 else rate)
        g.run(1.0)
        start = g.now
        g.run(4.0)
        name = NAMES_OF[message]
        return result, len(g.since(start, name)) if name else 0

    return play


NAMES_OF = {30: 'ATTITUDE', 36: 'SERVO_OUTPUT_RAW', 32: 'LOCAL_POSITION_NED', 9999: '', 231: ''}


def request_message(message, name):
    def play(g):
        start = g.now
        result = g.command(512, message)
        g.run(0.5)
        return result, bool(g.since(start, name)) if name else False

    return play


def get_interval(message):
    def play(g):
        start = g.now
        result = g.command(510, message)
        g.run(0.5)
        found = g.since(start, 'MESSAGE_INTERVAL')
        return result, found[-1].interval_us if found else None

    return play


def streams(number, name):
    """Ask for a stream at 5 Hz; return how many of a message come in 4 s, and after its end."""

    def play(g):
        g.mav.request_data_stream_send(g.system, 1, number, 5, 1)
        g.run(1.0)
        start = g.now
        g.run(4.0)
        while_on = len(g.since(start, name))
        g.mav.request_data_stream_send(g.system, 1, number, 0, 0)
        g.run(1.0)
        start = g.now
        g.run(2.0)
        off = len(g.since(start, name))
        g.mav.request_data_stream_send(g.system, 1, number, 10, 1)
        return while_on, off

    return play


def known(value: float) -> float | str:
    return 'NaN' if math.isnan(value) else round(value, 5)


def read_parameter(name, index=-1):
    def play(g):
        g.mav.param_request_read_send(g.system, 1, name.encode(), index)
        found = g.answer('PARAM_VALUE', 1.5)
        return None if found is None else known(found.param_value)

    return play


def set_parameter(name, value, restore=None):
    def play(g):
        g.mav.param_set_send(g.system, 1, name.encode(), value, 9)
        found = g.answer('PARAM_VALUE', 1.5, param_id=name)
        if restore is not None:
            g.mav.param_set_send(g.system, 1, name.encode(), restore, 9)
            g.run(0.5)
        return None if found is None else known(found.param_value)

    return play


def list_parameters(g):
    """Return whether as many come as they are said to be."""
    start = g.now
    g.mav.param_request_list_send(g.system, 1)
    first = g.answer('PARAM_VALUE', 3.0)
    if first is None:
        return None
    g.run(90.0, lambda: len({m.param_index for m in g.since(start, 'PARAM_VALUE')}
                           - {65535}) >= first.param_count)  # fmt: skip
    return len({m.param_index for m in g.since(start, 'PARAM_VALUE')} - {65535}) == (
        first.param_count
    )


def item(g, seq, command=16, x=0, y=0, z=-3.0, frame=3, current=0, kind=0, params=(0, 0, 0, 0)):
    g.mav.mission_item_int_send(
        g.system, 1, seq, frame, command, current, 1, *params, x, y, z, kind
    )


def upload(items, kind=0, count=None):
    """Upload items; return the type of MISSION_ACK, or None."""

    def play(g):
        start, given = g.now, items(g) if callable(items) else items
        g.mav.mission_count_send(g.system, 1, len(given) if count is None else count, kind)
        done = {-1}

        def asked():
            for name in ('MISSION_REQUEST', 'MISSION_REQUEST_INT'):
                for m in g.since(start, name):
                    if m.seq not in done and m.seq < len(given):
                        done.add(m.seq)
                        item(g, m.seq, **given[m.seq], kind=kind)
            return g.since(start, 'MISSION_ACK')

        g.run(6.0, asked)
        found = g.since(start, 'MISSION_ACK')
        return found[0].type if found else None

    return play


def download(g):
    """Return how many items come back by MISSION_REQUEST_LIST."""
    g.mav.mission_request_list_send(g.system, 1, 0)
    count = g.answer('MISSION_COUNT')
    if count is None:
        return None
    found = 0
    for k in range(count.count):
        g.mav.mission_request_int_send(g.system, 1, k, 0)
        found += g.answer('MISSION_ITEM_INT', 1.0, seq=k) is not None
    g.mav.mission_ack_send(g.system, 1, 0, 0)
    return found


def request_item(seq):
    """Return the kind of the answer to the request of an item, and the type of an ACK."""

    def play(g):
        start = g.now
        g.mav.mission_request_int_send(g.system, 1, seq, 0)
        g.run(1.5, lambda: g.since(start, 'MISSION_ACK') or g.since(start, 'MISSION_ITEM_INT'))
        ack = g.since(start, 'MISSION_ACK')
        return ack[0].type if ack else bool(g.since(start, 'MISSION_ITEM_INT'))

    return play


def clear(g):
    g.mav.mission_clear_all_send(g.system, 1, 0)
    found = g.answer('MISSION_ACK')
    return None if found is None else found.type


def mission_here(*points, command=16, **more):
    """Return a function of g: a home item, and waypoints (north, east, m) of where it is."""

    def items(g):
        at = g.last('GLOBAL_POSITION_INT')
        degree = 1e7 * 180 / math.pi / 6378137.0
        scale = math.cos(math.radians(at.lat * 1e-7))
        found = [{'x': at.lat, 'y': at.lon, 'z': 0.0, 'frame': 0}]
        for north, east in points:
            found.append(
                {
                    'x': at.lat + round(north * degree),
                    'y': at.lon + round(east * degree / scale),
                    'z': at.relative_alt / 1000,
                    'command': command,
                    **more,
                }
            )
        return found

    return items


def fly_auto(g):
    """Fly two waypoints by MISSION_START; return its result, and what was reached."""
    if upload(mission_here((2, 0), (2, 2)))(g) != 0:
        return 'refused'
    start = g.now
    result = g.command(300)
    g.run(60, lambda: len(g.since(start, 'MISSION_ITEM_REACHED')) >= 2)
    reached = [m.seq for m in g.since(start, 'MISSION_ITEM_REACHED')]
    g.mode(ALT_HOLD)
    return result, reached


def start_mission(g, items):
    """Upload a mission in place of the last one, and fly it from its beginning."""
    # Else ArduSub begins at the number of the item that was flown last.
    g.command(400, 0)
    assert clear(g) == 0
    g.command(400, 1)
    assert upload(items)(g) == 0
    assert g.command(300) == 0
    return g.now


def reaches(g, seq, since, seconds=60):
    return g.run(seconds, lambda: g.since(since, 'MISSION_ITEM_REACHED', seq=seq))


def current_item(g):
    return g.last('MISSION_CURRENT').seq


def disarm_in_auto(g):
    """Disarm on the way to item 2, and arm: its item, and whether item 1 is flown again."""
    assert reaches(g, 1, start_mission(g, mission_here((1, 0), (8, 0))))
    g.run(2)
    before = current_item(g)
    g.command(400, 0)
    g.run(2)
    start, result = g.now, g.command(400, 1)
    again = reaches(g, 1, start, 20)
    g.mode(ALT_HOLD)
    return before, result, again


def another_mission(g):
    """Upload another mission on the way to item 2, and start it: the item that is flown."""
    assert reaches(g, 1, start_mission(g, mission_here((1, 0), (8, 0))))
    g.run(1)
    g.mode(ALT_HOLD)
    assert upload(mission_here((4, 4), (4, 8), (4, 0)))(g) == 0
    g.command(300)
    g.run(0.5)
    found = current_item(g)
    g.mode(ALT_HOLD)
    return found


def level_speed(g):
    return math.hypot(*ned_speed(g, (), 0)[:2])


def auto_again(g):
    """Leave AUTO on the way and come back: items, and whether DO_CHANGE_SPEED is forgotten."""

    def items(g):
        home, *points = mission_here((1, 0), (20, 0))(g)
        return [home, points[0], {'command': 178, 'params': (1, 0.2, -1, 0)}, points[1]]

    # ArduSub queues one number for MISSION_ITEM_REACHED: that of item 2, done at once, is left.
    assert reaches(g, 2, start_mission(g, items))
    g.run(12)
    before, slow = current_item(g), level_speed(g)
    g.mode(ALT_HOLD)
    g.run(3)
    g.mode(AUTO)
    g.run(6)
    after, fast = current_item(g), level_speed(g)
    g.mode(ALT_HOLD)
    return before, slow < 0.25, after, fast > 2 * slow


def complete_and_again(g):
    """Fly a mission to its end; AUTO again: the item that is current, and whether it is flown."""
    assert reaches(g, 1, start_mission(g, mission_here((2, 0))))
    g.run(3)
    before, mode = current_item(g), in_mode(g)
    g.mode(ALT_HOLD)
    start = g.now
    g.mode(AUTO)
    again = reaches(g, 1, start, 30)
    g.mode(ALT_HOLD)
    return before, mode, again


def while_flown(act):
    """Do something on the way to item 1: its value, and the mode and item after it."""

    def play(g):
        start_mission(g, mission_here((8, 0), (8, 2)))
        g.run(2)
        value = act(g)
        g.run(2)
        found = value, in_mode(g), current_item(g)
        g.mode(ALT_HOLD)
        clear(g)
        return found

    return play


def clear_when_left(g):
    """Types of the ACK of MISSION_CLEAR_ALL: after AUTO was left, and when disarmed."""
    start_mission(g, mission_here((8, 0), (8, 2)))
    g.run(2)
    g.mode(ALT_HOLD)
    g.run(1)
    left = clear(g)
    g.command(400, 0)
    found = left, clear(g)
    g.command(400, 1)
    return found


def clear_at_the_end(g):
    """Type of the ACK of MISSION_CLEAR_ALL at the end of a mission, in AUTO."""
    assert reaches(g, 1, start_mission(g, mission_here((1, 0))))
    g.run(3)
    found = clear(g)
    g.mode(ALT_HOLD)
    return found


def select_item(seq):
    def play(g):
        g.mav.mission_set_current_send(g.system, 1, seq)

    return play


SKIPS = {
    2: (178, (1, 0.2, -1, 0)), 3: (178, (1, 0.2, 0, 0)), 4: (178, (0, 0.2, -1, 0)),
    5: (112, (0.1, 0, 0, 0)), 6: (112, (0.3, 0, 0, 0)), 7: (115, (90, 20, 1, 1)),
    8: (114, (0.5, 0, 0, 0)), 9: (114, (5.1, 0, 0, 0)), 10: (115, (33.3, 0, 1, 1)),
}  # fmt: skip
"""Command and parameters of items between two waypoints, of which ArduSub skips some."""


def skipped_items(g):
    """Numbers of the items that ArduSub skips: of its own texts, or of ours on the upload."""

    def items(g):
        home, *points = mission_here((1, 0), (30, 0))(g)
        between = [{'command': number, 'params': params} for number, params in SKIPS.values()]
        return [home, points[0], *between, points[1]]

    start = g.now
    since = start_mission(g, items)
    reaches(g, 1, since)
    g.run(20)
    g.mode(ALT_HOLD)
    texts = [m.text for m in g.since(start, 'STATUSTEXT')]
    ours = re.search(r'Bad alt frame\): items ([\d, ]*)', ''.join(texts))
    if ours:
        return [int(number) for number in ours[1].split(',')]
    found, at = [], 0
    for text in texts:
        if item := re.match(r'Mission: (\d+) ', text):
            at = int(item[1])
        elif re.match('Bad alt|Alt above', text):
            found.append(at)
    return found


def rise(g):
    """Surface: the mode in the end, and the depth that is held, m."""
    g.mode(SURFACE)
    g.run(60, lambda: in_mode(g) != SURFACE)
    g.run(10)
    return in_mode(g), g.place[2]


def go_to(current):
    """MISSION_ITEM with current 2 (guided) in GUIDED: type of the ACK, and metres moved north."""

    def play(g):
        g.mode(GUIDED)
        g.run(1)
        start = g.place
        at = g.last('GLOBAL_POSITION_INT')
        lat = at.lat * 1e-7 + math.degrees(2 / 6378137.0)
        g.mav.mission_item_send(
            g.system, 1, 0, 3, 16, current, 1, 0, 0, 0, 0, lat, at.lon * 1e-7,
            at.relative_alt / 1000, 0,
        )  # fmt: skip
        ack = g.answer('MISSION_ACK')
        g.run(20)
        return None if ack is None else ack.type, g.place[0] - start[0]

    return play


def reposition(g):
    g.mode(GUIDED)
    g.run(1)
    start = g.place
    at = g.last('GLOBAL_POSITION_INT')
    lat = at.lat + round(math.degrees(2 / 6378137.0) * 1e7)
    result = g.command(
        192, -1, 0, 0, 0, lat, at.lon, at.relative_alt / 1000, integer=True, frame=6
    )
    g.run(12)
    return result, g.place[0] - start[0]


def timesync(g):
    g.mav.timesync_send(0, 123456789)
    found = g.answer('TIMESYNC', 2.0, ts1=123456789)
    return found is not None and found.tc1 != 0


def ping(g):
    g.mav.ping_send(1, 7, 0, 0)
    found = g.answer('PING', 1.5)
    return found is not None


def set_origin(g):
    g.mav.set_gps_global_origin_send(g.system, int(50e7), int(8e7), 0)
    found = g.answer('GPS_GLOBAL_ORIGIN', 1.5)
    return None if found is None else found.latitude


def arm_by(*params):
    def play(g):
        result = g.command(400, *params)
        g.run(1.2)
        return result, g.armed

    return play


def set_current(number):
    def play(g):
        start = g.now
        g.mav.mission_set_current_send(g.system, 1, number)
        g.run(1.0)
        found = g.since(start, 'MISSION_CURRENT')
        return found[-1].seq if found else None

    return play


def wrong_sequence(g):
    """Answer the request of item 0 with item 1: type of the ACK."""
    start = g.now
    g.mav.mission_count_send(g.system, 1, 2, 0)
    g.run(0.5)
    item(g, 1, **mission_here((2, 0))(g)[1])
    g.run(1.0)
    found = g.since(start, 'MISSION_ACK')
    g.run(10.0)  # the upload times out
    return found[-1].type if found else None


def item_alone(g):
    """Send an item outside an upload: type of the ACK."""
    item(g, 0, **mission_here()(g)[0])
    found = g.answer('MISSION_ACK', 1.5)
    return None if found is None else found.type


def answers(kind, send):
    """Return whether a message of a kind comes."""

    def play(g):
        send(g)
        return g.answer(kind, 1.5) is not None

    return play


def commands_of(number, name, *params):
    return Row(f'{name}: result', result_of(number, *params))


def item_of(number, name):
    return Row(
        f'mission item {name}: type of the ACK', upload(mission_here((2, 0), command=number))
    )


def request_old(g):
    """Request item 0 of no mission by MISSION_REQUEST: type of the ACK, or True for an item."""
    start = g.now
    g.mav.mission_request_send(g.system, 1, 0, 0)
    g.run(1.5, lambda: g.since(start, 'MISSION_ACK') or g.since(start, 'MISSION_ITEM'))
    ack = g.since(start, 'MISSION_ACK')
    return ack[0].type if ack else bool(g.since(start, 'MISSION_ITEM'))


ANSWERS = [
    Row('PARAM_REQUEST_READ SYSID_MYGCS', read_parameter('SYSID_MYGCS')),
    Row('PARAM_REQUEST_READ unknown', read_parameter('NO_SUCH')),
    Row('PARAM_REQUEST_READ index 30000', read_parameter('', 30000)),
    Row('PARAM_SET JS_GAIN_DEFAULT 0.6', set_parameter('JS_GAIN_DEFAULT', 0.6, 0.5)),
    Row('PARAM_SET unknown', set_parameter('NO_SUCH', 1)),
    Row('PARAM_SET NaN', set_parameter('JS_GAIN_DEFAULT', math.nan)),
    Row('PARAM_REQUEST_LIST: complete', list_parameters),
    Row('COMPONENT_ARM_DISARM 0 while disarmed: result, armed', arm_by(0)),
    Row('COMPONENT_ARM_DISARM 2: result, armed', arm_by(2)),
    Row('COMPONENT_ARM_DISARM 1: result, armed', arm_by(1)),
    Row('COMPONENT_ARM_DISARM 1 again: result, armed', arm_by(1)),
    Row('COMPONENT_ARM_DISARM 0: result, armed', arm_by(0)),
    Row('COMPONENT_ARM_DISARM 1, forced: result, armed', arm_by(1, 21196)),
    Row('COMPONENT_ARM_DISARM 0 again: result, armed', arm_by(0)),
    *(Row(f'DO_SET_MODE {n}: result, in it', set_mode(n, True))
      for n in (0, 1, 2, 3, 4, 5, 7, 9, 16, 19, 20, 21, 99)),
    Row('SET_MODE 2: result, in it', set_mode(2, False)),
    Row('SET_MODE 5: result, in it', set_mode(5, False)),
    *(commands_of(*row) for row in (
        (16, 'NAV_WAYPOINT'), (17, 'NAV_LOITER_UNLIM'), (20, 'NAV_RETURN_TO_LAUNCH'),
        (21, 'NAV_LAND'), (22, 'NAV_TAKEOFF'), (115, 'CONDITION_YAW 400', 400.0),
        (115, 'CONDITION_YAW 90', 90.0), (178, 'DO_CHANGE_SPEED 0', 0, 0),
        (178, 'DO_CHANGE_SPEED 0.5', 0, 0.5), (181, 'DO_SET_RELAY', 0, 1),
        (183, 'DO_SET_SERVO 9', 9, 1500), (183, 'DO_SET_SERVO 1', 1, 1500),
        (183, 'DO_SET_SERVO 14', 14, 1500), (184, 'DO_REPEAT_SERVO', 14, 1500, 1, 1),
        (185, 'DO_FLIGHTTERMINATION 0', 0), (192, 'DO_REPOSITION'),
        (195, 'DO_SET_ROI_LOCATION'), (197, 'DO_SET_ROI_NONE'), (201, 'DO_SET_ROI'),
        (203, 'DO_DIGICAM_CONTROL'), (205, 'DO_MOUNT_CONTROL'), (206, 'DO_SET_CAM_TRIGG_DIST'),
        (207, 'DO_FENCE_ENABLE', 0), (209, 'DO_MOTOR_TEST', 1, 0, 50, 1),
        (211, 'DO_GRIPPER', 1, 1), (216, 'DO_SPRAYER'), (218, 'DO_AUX_FUNCTION', 9, 1),
        (224, 'DO_SET_MISSION_CURRENT 99', 99), (241, 'PREFLIGHT_CALIBRATION'),
        (245, 'PREFLIGHT_STORAGE'), (300, 'MISSION_START'), (401, 'RUN_PREARM_CHECKS'),
        (410, 'GET_HOME_POSITION'), (520, 'REQUEST_AUTOPILOT_CAPABILITIES'),
        (601, 'DO_JUMP_TAG', 1), (2000, 'IMAGE_START_CAPTURE'), (2500, 'VIDEO_START_CAPTURE'),
        (31010, 'USER_1'), (42428, 'DO_SEND_BANNER'), (42007, 'SET_EKF_SOURCE_SET', 1),
        (42651, 'BATTERY_RESET', 1, 100), (511, 'SET_MESSAGE_INTERVAL -5', 30, -5),
    )),
    *(Row(f'COMMAND_INT {n}: result', result_of(n, *params, integer=True))
      for n, *params in ((115, 400.0), (178, 0, 0.5), (176, 1, 19), (31010,), (410,))),
    *(commands_of(*row) for row in (
        (182, 'DO_REPEAT_RELAY', 0, 1, 1), (198, 'DO_SET_ROI_SYSID', 1),
        (202, 'DO_DIGICAM_CONFIGURE'), (204, 'DO_MOUNT_CONFIGURE'),
    )),
    *(Row(f'COMMAND_INT {name}: result', result_of(n, *params, integer=True))
      for n, name, *params in (
          (16, 'NAV_WAYPOINT'), (17, 'NAV_LOITER_UNLIM'), (20, 'NAV_RETURN_TO_LAUNCH'),
          (21, 'NAV_LAND'), (181, 'DO_SET_RELAY', 0, 1), (183, 'DO_SET_SERVO', 9, 1500),
          (185, 'DO_FLIGHTTERMINATION 0', 0), (192, 'DO_REPOSITION'),
          (195, 'DO_SET_ROI_LOCATION'), (197, 'DO_SET_ROI_NONE'), (201, 'DO_SET_ROI'),
          (203, 'DO_DIGICAM_CONTROL'), (205, 'DO_MOUNT_CONTROL'), (207, 'DO_FENCE_ENABLE'),
          (209, 'DO_MOTOR_TEST', 1, 0, 50, 1), (211, 'DO_GRIPPER', 1, 1),
          (218, 'DO_AUX_FUNCTION', 9, 1), (224, 'DO_SET_MISSION_CURRENT 99', 99),
          (241, 'PREFLIGHT_CALIBRATION'), (245, 'PREFLIGHT_STORAGE'), (300, 'MISSION_START'),
          (400, 'COMPONENT_ARM_DISARM 1', 1), (400, 'COMPONENT_ARM_DISARM 0', 0),
          (401, 'RUN_PREARM_CHECKS'), (510, 'GET_MESSAGE_INTERVAL', 30),
          (511, 'SET_MESSAGE_INTERVAL -5', 30, -5), (512, 'REQUEST_MESSAGE', 148),
          (520, 'REQUEST_AUTOPILOT_CAPABILITIES', 1), (601, 'DO_JUMP_TAG', 1),
          (42428, 'DO_SEND_BANNER'), (42007, 'SET_EKF_SOURCE_SET', 1),
          (42651, 'BATTERY_RESET', 1, 100))),
    Row('DO_SET_HOME here: result', result_of(179, 1)),
    Row('DO_SET_HOME 0, 0: result', result_of(179, 0)),
    Row('SET_MESSAGE_INTERVAL SERVO_OUTPUT_RAW 20 Hz', interval(36, 20)),
    Row('SET_MESSAGE_INTERVAL ATTITUDE 5 Hz', interval(30, 5)),
    Row('SET_MESSAGE_INTERVAL LOCAL_POSITION_NED off', interval(32, -1)),
    Row('SET_MESSAGE_INTERVAL LOCAL_POSITION_NED default', interval(32, 0)),
    Row('SET_MESSAGE_INTERVAL 9999', interval(9999, 10)),
    Row('SET_MESSAGE_INTERVAL WIND_COV', interval(231, 10)),
    Row('GET_MESSAGE_INTERVAL ATTITUDE', get_interval(30)),
    Row('GET_MESSAGE_INTERVAL 9999', get_interval(9999)),
    *(Row(f'REQUEST_MESSAGE {name}', request_message(n, name))
      for n, name in ((148, 'AUTOPILOT_VERSION'), (242, 'HOME_POSITION'), (30, 'ATTITUDE'),
                      (49, 'GPS_GLOBAL_ORIGIN'), (1, 'SYS_STATUS'), (42, 'MISSION_CURRENT'),
                      (22, 'PARAM_VALUE'), (231, 'WIND_COV'), (300, 'PROTOCOL_VERSION'))),
    Row('REQUEST_MESSAGE 9999', request_message(9999, '')),
    *(Row(f'REQUEST_DATA_STREAM {n}: {name} in 4 s, and after', streams(n, name))
      for n, name in ((1, 'RAW_IMU'), (2, 'SYS_STATUS'), (3, 'RC_CHANNELS'),
                      (6, 'LOCAL_POSITION_NED'), (10, 'ATTITUDE'), (11, 'VFR_HUD'))),
    Row('TIMESYNC: answered', timesync),
    Row('PING: answered', ping),
    Row('SET_GPS_GLOBAL_ORIGIN: latitude that is told', set_origin),
    Row('AUTOPILOT_VERSION_REQUEST: answered',
        answers('AUTOPILOT_VERSION', lambda g: g.mav.autopilot_version_request_send(g.system, 1))),
    Row('LOG_REQUEST_LIST: answered',
        answers('LOG_ENTRY', lambda g: g.mav.log_request_list_send(g.system, 1, 0, 65535))),
    Row('MISSION_CLEAR_ALL: type of the ACK', clear),
    Row('MISSION_REQUEST_LIST of none: items', download),
    Row('MISSION_REQUEST_INT 0 of none', request_item(0)),
    Row('MISSION_REQUEST 0 of none: type of the ACK', request_old),
    Row('DO_SET_MODE 3 without a mission', set_mode(3, True)),
    Row('MISSION_COUNT 3: type of the ACK', upload(mission_here((2, 0), (2, 2)))),
    Row('MISSION_REQUEST_LIST of 3: items', download),
    Row('MISSION_REQUEST_INT 9 of 3', request_item(9)),
    Row('MISSION_SET_CURRENT 2: MISSION_CURRENT', set_current(2)),
    Row('MISSION_SET_CURRENT 77: MISSION_CURRENT', set_current(77)),
    Row('DO_SET_MISSION_CURRENT 1: result', result_of(224, 1)),
    Row('MISSION_COUNT 0: type of the ACK', upload([])),
    Row('MISSION_COUNT 5000: type of the ACK', upload([], count=5000)),
    Row('MISSION_ITEM out of order: type of the ACK', wrong_sequence),
    Row('MISSION_ITEM outside an upload: type of the ACK', item_alone),
    *(item_of(*row) for row in (
        (16, 'NAV_WAYPOINT'), (17, 'NAV_LOITER_UNLIM'), (18, 'NAV_LOITER_TURNS'),
        (19, 'NAV_LOITER_TIME'), (20, 'NAV_RETURN_TO_LAUNCH'), (21, 'NAV_LAND'),
        (22, 'NAV_TAKEOFF'), (30, 'NAV_CONTINUE_AND_CHANGE_ALT'), (31, 'NAV_LOITER_TO_ALT'),
        (82, 'NAV_SPLINE_WAYPOINT'), (92, 'NAV_GUIDED_ENABLE'), (93, 'NAV_DELAY'),
        (112, 'CONDITION_DELAY'), (114, 'CONDITION_DISTANCE'), (115, 'CONDITION_YAW'),
        (177, 'DO_JUMP'), (178, 'DO_CHANGE_SPEED'), (179, 'DO_SET_HOME'), (181, 'DO_SET_RELAY'),
        (183, 'DO_SET_SERVO'), (189, 'DO_LAND_START'), (201, 'DO_SET_ROI'),
        (203, 'DO_DIGICAM_CONTROL'), (205, 'DO_MOUNT_CONTROL'), (206, 'DO_SET_CAM_TRIGG_DIST'),
        (211, 'DO_GRIPPER'), (222, 'DO_GUIDED_LIMITS'), (600, 'JUMP_TAG'), (601, 'DO_JUMP_TAG'),
        (31010, 'USER_1'),
    )),
    Row('mission item in frame LOCAL_NED: type of the ACK',
        upload(mission_here((2, 0), frame=1))),
    Row('mission item in frame TERRAIN_ALT: type of the ACK',
        upload(mission_here((2, 0), frame=10))),
    *(Row(f'mission item {name} with NaN as parameter 4: type of the ACK',
          upload(mission_here((2, 0), command=number, params=(0, 0, 0, math.nan))))
      for number, name in ((16, 'NAV_WAYPOINT'), (19, 'NAV_LOITER_TIME'), (21, 'NAV_LAND'))),
    Row('mission item at latitude 200: type of the ACK',
        upload(lambda g: [{}, {'x': 2_000_000_000}])),
    Row('fence of 1 item: type of the ACK', upload([], kind=1, count=1)),
    Row('rally of 1 item: type of the ACK', upload([], kind=2, count=1)),
    Row('MISSION_CLEAR_ALL at the end: type of the ACK', clear),
]  # fmt: skip
"""Questions to a disarmed vehicle without a mission."""

MEASURED: dict[str, Any] = {
    'PARAM_REQUEST_READ SYSID_MYGCS': 255.0,
    'PARAM_REQUEST_READ unknown': None,
    'PARAM_REQUEST_READ index 30000': None,
    'PARAM_SET JS_GAIN_DEFAULT 0.6': 0.6,
    'PARAM_SET unknown': None,
    'PARAM_SET NaN': None,
    'PARAM_REQUEST_LIST: complete': True,
    'COMPONENT_ARM_DISARM 0 while disarmed: result, armed': (0, False),
    'COMPONENT_ARM_DISARM 2: result, armed': (3, False),
    'COMPONENT_ARM_DISARM 1: result, armed': (0, True),
    'COMPONENT_ARM_DISARM 1 again: result, armed': (0, True),
    'COMPONENT_ARM_DISARM 0: result, armed': (0, False),
    'COMPONENT_ARM_DISARM 1, forced: result, armed': (0, True),
    'COMPONENT_ARM_DISARM 0 again: result, armed': (0, False),
    'DO_SET_MODE 0: result, in it': (0, True),
    'DO_SET_MODE 1: result, in it': (0, True),
    'DO_SET_MODE 2: result, in it': (0, True),
    'DO_SET_MODE 3: result, in it': (4, False),
    'DO_SET_MODE 4: result, in it': (0, True),
    'DO_SET_MODE 5: result, in it': (4, False),
    'DO_SET_MODE 7: result, in it': (0, True),
    'DO_SET_MODE 9: result, in it': (0, True),
    'DO_SET_MODE 16: result, in it': (0, True),
    'DO_SET_MODE 19: result, in it': (0, True),
    'DO_SET_MODE 20: result, in it': (0, True),
    'DO_SET_MODE 21: result, in it': (0, True),
    'DO_SET_MODE 99: result, in it': (4, False),
    'SET_MODE 2: result, in it': (0, True),
    'SET_MODE 5: result, in it': (4, False),
    'NAV_WAYPOINT: result': 3,
    'NAV_LOITER_UNLIM: result': 0,
    'NAV_RETURN_TO_LAUNCH: result': 3,
    'NAV_LAND: result': 0,
    'NAV_TAKEOFF: result': 3,
    'CONDITION_YAW 400: result': 2,
    'CONDITION_YAW 90: result': 0,
    'DO_CHANGE_SPEED 0: result': 4,
    'DO_CHANGE_SPEED 0.5: result': 0,
    'DO_SET_RELAY: result': 0,
    'DO_SET_SERVO 9: result': 0,
    'DO_SET_SERVO 1: result': 4,
    'DO_SET_SERVO 14: result': 0,
    'DO_REPEAT_SERVO: result': 0,
    'DO_FLIGHTTERMINATION 0: result': 4,
    'DO_REPOSITION: result': 3,
    'DO_SET_ROI_LOCATION: result': 0,
    'DO_SET_ROI_NONE: result': 0,
    'DO_SET_ROI: result': 0,
    'DO_DIGICAM_CONTROL: result': 0,
    'DO_MOUNT_CONTROL: result': 4,
    'DO_SET_CAM_TRIGG_DIST: result': 0,
    'DO_FENCE_ENABLE: result': 0,
    'DO_MOTOR_TEST: result': 4,
    'DO_GRIPPER: result': 4,
    'DO_SPRAYER: result': 4,
    'DO_AUX_FUNCTION: result': 0,
    'DO_SET_MISSION_CURRENT 99: result': 2,
    'PREFLIGHT_CALIBRATION: result': 3,
    'PREFLIGHT_STORAGE: result': 2,
    'MISSION_START: result': 4,
    'RUN_PREARM_CHECKS: result': 0,
    'GET_HOME_POSITION: result': 0,
    'REQUEST_AUTOPILOT_CAPABILITIES: result': 4,
    'DO_JUMP_TAG: result': 4,
    'IMAGE_START_CAPTURE: result': 4,
    'VIDEO_START_CAPTURE: result': 4,
    'USER_1: result': 3,
    'DO_SEND_BANNER: result': 0,
    'SET_EKF_SOURCE_SET: result': 0,
    'BATTERY_RESET: result': 0,
    'SET_MESSAGE_INTERVAL -5: result': 0,
    'COMMAND_INT 115: result': 2,
    'COMMAND_INT 178: result': 0,
    'COMMAND_INT 176: result': 0,
    'COMMAND_INT 31010: result': 3,
    'COMMAND_INT 410: result': 0,
    'DO_SET_HOME here: result': 0,
    'DO_SET_HOME 0, 0: result': 0,
    'SET_MESSAGE_INTERVAL SERVO_OUTPUT_RAW 20 Hz': (0, near(80, 10)),
    'SET_MESSAGE_INTERVAL ATTITUDE 5 Hz': (0, near(20, 3)),
    'SET_MESSAGE_INTERVAL LOCAL_POSITION_NED off': (0, 0),
    'SET_MESSAGE_INTERVAL LOCAL_POSITION_NED default': (0, near(40, 5)),
    'SET_MESSAGE_INTERVAL 9999': (2, 0),
    'SET_MESSAGE_INTERVAL WIND_COV': (2, 0),
    'GET_MESSAGE_INTERVAL ATTITUDE': (0, 200000),
    'GET_MESSAGE_INTERVAL 9999': (4, 0),
    'REQUEST_MESSAGE AUTOPILOT_VERSION': (0, True),
    'REQUEST_MESSAGE HOME_POSITION': (0, True),
    'REQUEST_MESSAGE ATTITUDE': (0, True),
    'REQUEST_MESSAGE GPS_GLOBAL_ORIGIN': (0, True),
    'REQUEST_MESSAGE SYS_STATUS': (0, True),
    'REQUEST_MESSAGE MISSION_CURRENT': (0, True),
    'REQUEST_MESSAGE PARAM_VALUE': (0, False),
    'REQUEST_MESSAGE WIND_COV': (4, False),
    'REQUEST_MESSAGE PROTOCOL_VERSION': (4, False),
    'REQUEST_MESSAGE 9999': (4, False),
    'REQUEST_DATA_STREAM 1: RAW_IMU in 4 s, and after': (near(20, 3), 0),
    'REQUEST_DATA_STREAM 2: SYS_STATUS in 4 s, and after': (near(20, 3), 0),
    'REQUEST_DATA_STREAM 3: RC_CHANNELS in 4 s, and after': (near(20, 3), 0),
    'REQUEST_DATA_STREAM 6: LOCAL_POSITION_NED in 4 s, and after': (near(20, 3), 0),
    'REQUEST_DATA_STREAM 10: ATTITUDE in 4 s, and after': (near(20, 3), 0),
    'REQUEST_DATA_STREAM 11: VFR_HUD in 4 s, and after': (near(20, 3), 0),
    'TIMESYNC: answered': True,
    'PING: answered': False,
    'SET_GPS_GLOBAL_ORIGIN: latitude that is told': None,
    'AUTOPILOT_VERSION_REQUEST: answered': True,
    'LOG_REQUEST_LIST: answered': True,
    'MISSION_CLEAR_ALL: type of the ACK': 0,
    'MISSION_REQUEST_LIST of none: items': 0,
    'MISSION_REQUEST_INT 0 of none': True,
    'DO_SET_MODE 3 without a mission': (4, False),
    'MISSION_COUNT 3: type of the ACK': 0,
    'MISSION_REQUEST_LIST of 3: items': 3,
    'MISSION_REQUEST_INT 9 of 3': 1,
    'MISSION_SET_CURRENT 2: MISSION_CURRENT': 2,
    'MISSION_SET_CURRENT 77: MISSION_CURRENT': 2,
    'DO_SET_MISSION_CURRENT 1: result': 0,
    'MISSION_COUNT 0: type of the ACK': 0,
    'MISSION_COUNT 5000: type of the ACK': 4,
    'MISSION_ITEM out of order: type of the ACK': 13,
    'MISSION_ITEM outside an upload: type of the ACK': 1,
    'mission item NAV_WAYPOINT: type of the ACK': 0,
    'mission item NAV_LOITER_UNLIM: type of the ACK': 0,
    'mission item NAV_LOITER_TURNS: type of the ACK': 0,
    'mission item NAV_LOITER_TIME: type of the ACK': 0,
    'mission item NAV_RETURN_TO_LAUNCH: type of the ACK': 0,
    'mission item NAV_LAND: type of the ACK': 0,
    'mission item NAV_TAKEOFF: type of the ACK': 0,
    'mission item NAV_CONTINUE_AND_CHANGE_ALT: type of the ACK': 0,
    'mission item NAV_LOITER_TO_ALT: type of the ACK': 0,
    'mission item NAV_SPLINE_WAYPOINT: type of the ACK': 0,
    'mission item NAV_GUIDED_ENABLE: type of the ACK': 0,
    'mission item NAV_DELAY: type of the ACK': 0,
    'mission item CONDITION_DELAY: type of the ACK': 0,
    'mission item CONDITION_DISTANCE: type of the ACK': 0,
    'mission item CONDITION_YAW: type of the ACK': 0,
    'mission item DO_JUMP: type of the ACK': 1,
    'mission item DO_CHANGE_SPEED: type of the ACK': 0,
    'mission item DO_SET_HOME: type of the ACK': 0,
    'mission item DO_SET_RELAY: type of the ACK': 0,
    'mission item DO_SET_SERVO: type of the ACK': 0,
    'mission item DO_LAND_START: type of the ACK': 0,
    'mission item DO_SET_ROI: type of the ACK': 0,
    'mission item DO_DIGICAM_CONTROL: type of the ACK': 0,
    'mission item DO_MOUNT_CONTROL: type of the ACK': 0,
    'mission item DO_SET_CAM_TRIGG_DIST: type of the ACK': 0,
    'mission item DO_GRIPPER: type of the ACK': 0,
    'mission item DO_GUIDED_LIMITS: type of the ACK': 0,
    'mission item JUMP_TAG: type of the ACK': 0,
    'mission item DO_JUMP_TAG: type of the ACK': 0,
    'mission item USER_1: type of the ACK': 3,
    'mission item in frame LOCAL_NED: type of the ACK': 2,
    'mission item in frame TERRAIN_ALT: type of the ACK': 0,
    'mission item NAV_WAYPOINT with NaN as parameter 4: type of the ACK': 0,
    'mission item NAV_LOITER_TIME with NaN as parameter 4: type of the ACK': 9,
    'mission item NAV_LAND with NaN as parameter 4: type of the ACK': 0,
    'mission item at latitude 200: type of the ACK': 10,
    'fence of 1 item: type of the ACK': None,
    'rally of 1 item: type of the ACK': 15,
    'MISSION_CLEAR_ALL at the end: type of the ACK': 0,
    'DO_REPEAT_RELAY: result': 0,
    'DO_SET_ROI_SYSID: result': 0,
    'DO_DIGICAM_CONFIGURE: result': 0,
    'DO_MOUNT_CONFIGURE: result': 4,
    'COMMAND_INT NAV_WAYPOINT: result': 3,
    'COMMAND_INT NAV_LOITER_UNLIM: result': 0,
    'COMMAND_INT NAV_RETURN_TO_LAUNCH: result': 3,
    'COMMAND_INT NAV_LAND: result': 0,
    'COMMAND_INT DO_SET_RELAY: result': 0,
    'COMMAND_INT DO_SET_SERVO: result': 0,
    'COMMAND_INT DO_FLIGHTTERMINATION 0: result': 4,
    'COMMAND_INT DO_REPOSITION: result': 3,
    'COMMAND_INT DO_SET_ROI_LOCATION: result': 0,
    'COMMAND_INT DO_SET_ROI_NONE: result': 0,
    'COMMAND_INT DO_SET_ROI: result': 0,
    'COMMAND_INT DO_DIGICAM_CONTROL: result': 0,
    'COMMAND_INT DO_MOUNT_CONTROL: result': 4,
    'COMMAND_INT DO_FENCE_ENABLE: result': 0,
    'COMMAND_INT DO_MOTOR_TEST: result': 4,
    'COMMAND_INT DO_GRIPPER: result': 4,
    'COMMAND_INT DO_AUX_FUNCTION: result': 0,
    'COMMAND_INT DO_SET_MISSION_CURRENT 99: result': 2,
    'COMMAND_INT PREFLIGHT_CALIBRATION: result': 3,
    'COMMAND_INT PREFLIGHT_STORAGE: result': 2,
    'COMMAND_INT MISSION_START: result': 4,
    'COMMAND_INT COMPONENT_ARM_DISARM 0: result': 0,
    'COMMAND_INT RUN_PREARM_CHECKS: result': 0,
    'COMMAND_INT GET_MESSAGE_INTERVAL: result': 0,
    'COMMAND_INT SET_MESSAGE_INTERVAL -5: result': 0,
    'COMMAND_INT REQUEST_MESSAGE: result': 0,
    'COMMAND_INT REQUEST_AUTOPILOT_CAPABILITIES: result': 0,
    'COMMAND_INT DO_JUMP_TAG: result': 4,
    'COMMAND_INT DO_SEND_BANNER: result': 0,
    'COMMAND_INT SET_EKF_SOURCE_SET: result': 0,
    'COMMAND_INT BATTERY_RESET: result': 0,
    'MISSION_REQUEST 0 of none: type of the ACK': True,
    'COMMAND_INT COMPONENT_ARM_DISARM 1: result': 0,
}
"""Answers of ArduSub 4.5.0 to ``ANSWERS``; numbers are of MAV_RESULT and MAV_MISSION_RESULT."""

_NO = 'it is not simulated, and says so'
_MODE = 'there is no such mode here'
OURS: dict[str, tuple[Any, str]] = {
    'PARAM_REQUEST_READ unknown': ('NaN', 'a reader that waits is told'),
    'PARAM_SET unknown': ('NaN', 'a reader that waits is told'),
    **{f'DO_SET_MODE {n}: result, in it': ((FAILED, False), _MODE) for n in (1, 7, 20, 21)},
    'CONDITION_YAW 90: result': (FAILED, 'not in GUIDED or AUTO, where it would do nothing'),
    'DO_REPOSITION: result': (DENIED, 'COMMAND_LONG is taken too; not in GUIDED'),
    **{
        f'{name}: result': (UNSUPPORTED, _NO)
        for name in (
            *('DO_SET_RELAY', 'DO_SET_SERVO 9', 'DO_SET_SERVO 1', 'DO_SET_SERVO 14'),
            *('DO_REPEAT_SERVO', 'DO_SET_ROI_LOCATION', 'DO_SET_ROI_NONE', 'DO_SET_ROI'),
            *('DO_DIGICAM_CONTROL', 'DO_MOUNT_CONTROL', 'DO_SET_CAM_TRIGG_DIST'),
            *('DO_FENCE_ENABLE', 'DO_MOTOR_TEST', 'DO_GRIPPER', 'DO_SPRAYER', 'DO_AUX_FUNCTION'),
            *('PREFLIGHT_STORAGE', 'RUN_PREARM_CHECKS', 'DO_JUMP_TAG', 'IMAGE_START_CAPTURE'),
            *('VIDEO_START_CAPTURE', 'SET_EKF_SOURCE_SET', 'BATTERY_RESET', 'DO_SET_HOME here'),
            'DO_REPEAT_RELAY',
            'DO_SET_ROI_SYSID',
            'DO_DIGICAM_CONFIGURE',
            'DO_MOUNT_CONFIGURE',
            'COMMAND_INT DO_SET_RELAY',
            'COMMAND_INT DO_SET_SERVO',
            'COMMAND_INT DO_SET_ROI_LOCATION',
            'COMMAND_INT DO_SET_ROI_NONE',
            'COMMAND_INT DO_SET_ROI',
            'COMMAND_INT DO_DIGICAM_CONTROL',
            'COMMAND_INT DO_MOUNT_CONTROL',
            'COMMAND_INT DO_FENCE_ENABLE',
            'COMMAND_INT DO_MOTOR_TEST',
            'COMMAND_INT DO_GRIPPER',
            'COMMAND_INT DO_AUX_FUNCTION',
            'COMMAND_INT PREFLIGHT_STORAGE',
            'COMMAND_INT RUN_PREARM_CHECKS',
            'COMMAND_INT DO_JUMP_TAG',
            'COMMAND_INT SET_EKF_SOURCE_SET',
            'COMMAND_INT BATTERY_RESET',
            'DO_SET_HOME 0, 0',
        )
    },
    'COMMAND_INT DO_REPOSITION: result': (DENIED, 'not in GUIDED; ArduSub has no such command'),
    'MISSION_REQUEST 0 of none: type of the ACK': (
        13,
        'ArduSub sends home, of which MISSION_COUNT has none',
    ),
    'REQUEST_AUTOPILOT_CAPABILITIES: result': (ACCEPTED, 'whatever parameter 1 is'),
    'SET_MESSAGE_INTERVAL WIND_COV': ((UNSUPPORTED, 0), 'a message of the dialect'),
    'REQUEST_MESSAGE PARAM_VALUE': ((FAILED, False), 'ArduSub accepts, and sends nothing'),
    'REQUEST_DATA_STREAM 1: RAW_IMU in 4 s, and after': ((0, 0), _NO),
    'SET_GPS_GLOBAL_ORIGIN: latitude that is told': (338103130, 'the origin that holds is told'),
    'LOG_REQUEST_LIST: answered': (False, _NO),
    'MISSION_REQUEST_INT 0 of none': (13, 'ArduSub sends home, of which MISSION_COUNT has none'),
    'MISSION_REQUEST_INT 9 of 3': (13, 'the code for it; ArduSub sends ERROR'),
    'mission item DO_JUMP: type of the ACK': (6, 'names the parameter; ArduSub sends ERROR'),
    **{
        f'mission item {name}: type of the ACK': (3, _NO)
        for name in (
            *('NAV_TAKEOFF', 'NAV_CONTINUE_AND_CHANGE_ALT', 'NAV_LOITER_TO_ALT'),
            *('NAV_SPLINE_WAYPOINT', 'NAV_GUIDED_ENABLE', 'DO_SET_HOME', 'DO_SET_RELAY'),
            *('DO_SET_SERVO', 'DO_LAND_START', 'DO_SET_ROI'),
            *('DO_MOUNT_CONTROL', 'DO_GRIPPER', 'DO_GUIDED_LIMITS'),
            *('JUMP_TAG', 'DO_JUMP_TAG'),
        )
    },
    'mission item in frame TERRAIN_ALT: type of the ACK': (2, 'no terrain'),
    'fence of 1 item: type of the ACK': (3, 'ArduSub asks for the item'),
    'rally of 1 item: type of the ACK': (3, 'ArduSub asks for the item'),
}
"""Answers of our vehicle where they differ, and why."""
ANSWER_ROWS = [
    Row(row.name, row.play, MEASURED[row.name], *OURS.get(row.name, ())) for row in ANSWERS
]


def silence(g):
    """Fall silent: whether it is disarmed then, and after how many seconds."""
    g.beats, start = False, g.now
    found = g.run(12, lambda: not g.armed)
    g.beats = True
    return found, g.now - start


def change_speed(g):
    """Greatest speed towards a target 4 m away after DO_CHANGE_SPEED 0.2."""
    g.mode(GUIDED)
    g.run(1)
    result = g.command(178, 0, 0.2)
    start = g.now
    g.local(7, POSITION, x=4)
    g.run(10)
    found = [math.hypot(m.vx, m.vy) for m in g.since(start, 'LOCAL_POSITION_NED')]
    g.command(178, 0, 0.5)
    return result, sorted(found)[-len(found) // 10]


def button(*pressed, then=0.5, see=None, **sticks):
    """Press buttons, one message after the other, release them; then move the sticks."""

    def play(g):
        g.mode(MANUAL)
        g.repeat(0.1, lambda: g.sticks(**sticks))
        g.run(0.5)
        for number in pressed:
            g.quiet()
            bits = 1 << number
            g.repeat(0.1, lambda bits=bits: g.press(bits & 0xFFFF, bits >> 16, **sticks))
            g.run(0.5)
            g.quiet()
            g.repeat(0.1, lambda: g.sticks(**sticks))
            g.run(then)
        return (see or channel(5))(g)

    return play


def in_mode(g):
    return g.last('HEARTBEAT').custom_mode


def is_armed(g):
    return g.armed


def override_high(number, width):
    """Override a channel above 8 once; return its width, and that after it was released."""

    def play(g):
        g.mode(MANUAL)
        g.override(**{f'c{number}': width})
        g.run(0.5)
        held = channel(number)(g)
        g.override(**{f'c{number}': 65534})
        g.run(0.5)
        return held, channel(number)(g)

    return play


def silence_with(enable):
    """Fall silent with FS_GCS_ENABLE: armed and in which mode after 4 s, still below water."""

    def play(g):
        g.mode(MANUAL)
        set_parameter('FS_GCS_ENABLE', enable)(g)
        g.beats = False
        g.run(4)
        found = g.armed, in_mode(g)
        g.beats = True
        g.run(2)
        set_parameter('FS_GCS_ENABLE', 2)(g)
        if not g.armed:
            g.command(400, 1)
        return found

    return play


MOTION_ROWS += [
    Row('MANUAL_CONTROL button 12 (gain down), then x 1000: channel 5', button(12, x=1000), 1600),
    Row('MANUAL_CONTROL button 11 (gain up), then x 1000: channel 5', button(11, x=1000), 1700),
    Row('MANUAL_CONTROL button 2 (ALT_HOLD): mode', button(2, see=in_mode), ALT_HOLD),
    Row('MANUAL_CONTROL button 3 (STABILIZE): mode', button(3, see=in_mode), STABILIZE),
    Row('MANUAL_CONTROL button 4 (disarm): armed', button(4, see=is_armed, then=1.5), False),
    Row('MANUAL_CONTROL button 6 (arm): armed', button(6, see=is_armed, then=1.5), True),
    Row('MANUAL_CONTROL button 10 (tilt up): channel 8', button(10, see=channel(8)), 1500),
    Row('MANUAL_CONTROL button 14 (lights up) twice: channel 9',
        button(14, 14, see=channel(9)), 1300),
    Row('MANUAL_CONTROL button 13 (lights down): channel 9', button(13, see=channel(9)), 1200),
    Row('MANUAL_CONTROL buttons2, bit 20, which has no function: channel 5', button(20), 1500),
    *(Row(f'RC_CHANNELS_OVERRIDE {n} 1700: while it holds, and released',
          override_high(n, 1700), (1700, 0)) for n in range(9, 17)),
    *(Row(f'RC_CHANNELS_OVERRIDE {n} 1700: while it holds, and released',
          override_high(n, 1700), (0, 0), (1700, 0), 'ArduSub has 16 channels, MAVLink 18')
      for n in (17, 18)),
    *(Row(f'silence with FS_GCS_ENABLE {n}: armed, mode', silence_with(n), (True, ends_in))
      for n, ends_in in ((0, MANUAL), (1, MANUAL), (3, ALT_HOLD), (4, SURFACE))),
]  # fmt: skip
MOTION_ROWS += [
    Row('DO_CHANGE_SPEED 0.2, then a position: result, m/s', change_speed,
        (ACCEPTED, near(0.14, 0.05)), (ACCEPTED, near(0.2, 0.06)), SLOW),
    Row('DO_REPOSITION in GUIDED: result, m north', reposition, (UNSUPPORTED, near(0, 0.4)),
        (ACCEPTED, near(2, 0.4)), 'QGroundControl goes to a place by it'),
    Row('MISSION_ITEM current 2 in GUIDED: type of the ACK, m north', go_to(2),
        (0, near(2, 0.4)), (3, near(0, 0.4)), 'DO_REPOSITION and GLOBAL_INT do it'),
    Row('MISSION_ITEM current 3 in GUIDED: type of the ACK, m north', go_to(3),
        (0, near(0, 0.4)), (3, near(0, 0.4)), 'DO_REPOSITION and GLOBAL_INT do it'),
    Row('MISSION_START of two waypoints: result, reached', fly_auto, (ACCEPTED, [1, 2])),
    Row('MISSION_START, then disarmed and armed: item, result, item 1 again', disarm_in_auto,
        (2, ACCEPTED, False)),
    Row('MISSION_START, then ALT_HOLD and AUTO: item, slow, item, faster', auto_again,
        (3, True, 3, True)),
    Row('MISSION_START to the end, then AUTO again: item, mode, flown', complete_and_again,
        (1, AUTO, True)),
    Row('MISSION_START of another mission: item', another_mission, 2, 1,
        'a new mission starts at its beginning'),
    Row('MISSION_CLEAR_ALL in AUTO: type, mode, item', while_flown(clear), (1, AUTO, 1)),
    Row('MISSION_CLEAR_ALL after AUTO was left, and disarmed: types', clear_when_left, (1, 0)),
    Row('MISSION_CLEAR_ALL at the end of a mission: type', clear_at_the_end, 0),
    Row('MISSION_COUNT 2 in AUTO: type, mode, item',
        while_flown(upload(mission_here((3, 0)))), (0, AUTO, 1)),
    Row('MISSION_SET_CURRENT 2 in AUTO: mode, item', while_flown(select_item(2)),
        (None, AUTO, 2)),
    Row('MISSION_START with items that are skipped', skipped_items, [3, 4, 6, 7, 8]),
    Row('SURFACE: mode in the end, m of depth', rise, (ALT_HOLD, near(0.15, 0.06))),
    Row('silence of the ground station: disarmed, after s', silence, (True, near(3, 0.7))),
]  # fmt: skip

_CARRIES = 'it carries what other rows are about'
_CALIBRATES = 'it keeps the firmware from arming until it is booted anew; measured by hand: '
_TURNS = 'the vehicles of the rows have no camera that turns; test_mavlink.py has one'
WITHOUT_ROWS = {
    'HEARTBEAT': 'every row sends it; the rows of silence leave it out',
    'COMMAND_LONG': _CARRIES,
    'SET_POSITION_TARGET_LOCAL_NED': 'the rows named by its frames: LOCAL_NED, BODY_NED, ...',
    'SET_POSITION_TARGET_GLOBAL_INT': 'the rows of GLOBAL_INT',
    'MISSION_ITEM_INT': _CARRIES,
    'SETUP_SIGNING': 'the rig would no longer be heard; test_mavlink.py has signing',
    'PREFLIGHT_REBOOT_SHUTDOWN': 'it would end the firmware under test',
    'FIXED_MAG_CAL_YAW': _CALIBRATES + 'ACCEPTED',
    'DO_START_MAG_CAL': _CALIBRATES + 'ACCEPTED',
    'DO_ACCEPT_MAG_CAL': _CALIBRATES + 'FAILED',
    'DO_CANCEL_MAG_CAL': _CALIBRATES + 'ACCEPTED',
    'DO_GIMBAL_MANAGER_PITCHYAW': _TURNS,
    'GIMBAL_MANAGER_SET_PITCHYAW': _TURNS,
}
"""Messages and commands of coverage.py that no row sends, and why. Those that are refused with a
status text alone, and those that are ignored, have no answer that a row could compare."""
