# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Missions of ArduSub: items, and how they are flown.

Semantics: ArduSub 4.5, ArduSub/commands_logic.cpp and libraries/AP_Mission. Item 0 is home. A
navigation item is flown to its end. The items before it, since the previous navigation item, are
done meanwhile, in their order; the rest of them is dropped at its end.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from marine_sim_ros.autopilot.mavlink.guidance import (
    CirclePath,
    Course,
    Guide,
    HeadingTurn,
    NedFrame,
    Speeds,
    wrap_heading,
)
from marine_sim_ros.autopilot.mavlink.parameters import ParameterTable
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import State

__all__ = [
    'CAMERA_ITEMS',
    'ITEMS',
    'MAX_ITEMS',
    'MissionItem',
    'MissionRun',
    'item_fault',
    'speeds_of',
    'turn_of',
]

WAYPOINT, LOITER, LOITER_TURNS, LOITER_TIME, RETURN, LAND, DELAY = 16, 17, 18, 19, 20, 21, 93
CONDITION_DELAY, CONDITION_DISTANCE, CONDITION_YAW, JUMP, CHANGE_SPEED = 112, 114, 115, 177, 178
CAMERA_CONTROL, CAMERA_DISTANCE = CAMERA_ITEMS = (203, 206)
NAVIGATION = (WAYPOINT, LOITER, LOITER_TURNS, LOITER_TIME, RETURN, LAND, DELAY)
PLACED = (WAYPOINT, LOITER, LOITER_TURNS, LOITER_TIME, LAND)
ITEMS = {
    WAYPOINT: 'NAV_WAYPOINT',
    LOITER: 'NAV_LOITER_UNLIM',
    LOITER_TURNS: 'NAV_LOITER_TURNS',
    LOITER_TIME: 'NAV_LOITER_TIME',
    RETURN: 'NAV_RETURN_TO_LAUNCH',
    LAND: 'NAV_LAND',
    DELAY: 'NAV_DELAY',
    CONDITION_DELAY: 'CONDITION_DELAY',
    CONDITION_DISTANCE: 'CONDITION_DISTANCE',
    CONDITION_YAW: 'CONDITION_YAW',
    JUMP: 'DO_JUMP',
    CHANGE_SPEED: 'DO_CHANGE_SPEED',
    CAMERA_CONTROL: 'DO_DIGICAM_CONTROL',
    CAMERA_DISTANCE: 'DO_SET_CAM_TRIGG_DIST',
}
"""Commands that are flown, by number; those of cameras are passed, so that a survey is flown."""
FRAMES = (0, 2, 3, 5, 6)
"""MAV_FRAME_GLOBAL, MISSION, GLOBAL_RELATIVE_ALT and their _INT: home is at altitude 0."""
MAX_ITEMS = 1000
NEAR_HEADING = math.radians(2.0)
MAX_HOPS = 2000
"""Items that are passed without one to fly until a mission is given up."""
ACCEPTED, ERROR, BAD_FRAME, UNSUPPORTED = range(4)
INVALID_PARAM1 = 6
"""MAV_MISSION_RESULT; those of the parameters 2 to 7 follow."""


@dataclass(frozen=True)
class MissionItem:
    """An item.

    Attributes:
        command: number of the MAV_CMD.
        frame: number of the MAV_FRAME.
        params: parameters 1 to 4.
        latitude: degrees; 0 with the longitude: where the vehicle is.
        longitude: degrees.
        altitude: m, negative under water; 0: the depth that the vehicle has.
    """

    command: int
    frame: int = 3
    params: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    latitude: float = 0.0
    longitude: float = 0.0
    altitude: float = 0.0


def item_fault(index: int, count: int, item: MissionItem) -> tuple[int, str]:
    """Return the MAV_MISSION_RESULT of an item, and the reason unless it is accepted.

    Args:
        index: number of the item, from 0, which is home.
        count: number of items of the mission.
    """
    if index and item.command not in ITEMS:
        return UNSUPPORTED, f'command {item.command} is not simulated'
    place = (item.latitude, item.longitude, item.altitude)
    numbers = (*item.params, *place)
    for k, number in enumerate(numbers):
        unset = item.command in (WAYPOINT, LAND) and k == 3  # a heading
        if not (math.isfinite(number) or (unset and math.isnan(number))):
            return INVALID_PARAM1 + k, f'parameter {k + 1} is {number:g}'
    if abs(item.latitude) > 90 or abs(item.longitude) > 180:
        k = 4 if abs(item.latitude) > 90 else 5
        return INVALID_PARAM1 + k, f'no place: {item.latitude:g}, {item.longitude:g}'
    if index == 0:
        return ACCEPTED, ''
    if item.command in PLACED and item.frame not in FRAMES:
        return BAD_FRAME, f'frame {item.frame} is not simulated; expected 0, 3, 5 or 6'
    return _command_fault(count, item)


def _command_fault(count: int, item: MissionItem) -> tuple[int, str]:
    first, second = item.params[:2]
    if item.command in PLACED and item.altitude > 0:
        return INVALID_PARAM1 + 6, f'altitude is {item.altitude:g} m; expected 0 or less'
    if item.command == JUMP and not (first == int(first) and 1 <= first < count):
        return INVALID_PARAM1, f'DO_JUMP to {first:g}; expected 1 to {count - 1}'
    if item.command == JUMP and not (second == int(second) and second >= -1):
        return INVALID_PARAM1 + 1, f'DO_JUMP {second:g} times; expected -1 or more'
    timed = (WAYPOINT, LOITER_TIME, DELAY, CONDITION_DELAY, CONDITION_DISTANCE, LOITER_TURNS)
    if item.command in timed and first < 0:
        return INVALID_PARAM1, f'parameter 1 is {first:g}; expected 0 or more'
    if item.command == CONDITION_YAW and not 0 <= first <= 360:
        return INVALID_PARAM1, f'angle is {first:g}; expected 0 to 360 degrees'
    return ACCEPTED, ''


_STORED = {
    DELAY: 'fBBB', CONDITION_DELAY: 'f', CONDITION_DISTANCE: 'f', CONDITION_YAW: 'ff',
    CHANGE_SPEED: 'Bff',
}  # fmt: skip
"""Types of the parameters of an item without a place, in the order of AP_Mission.h."""


class _LocationOptions(IntFlag):
    """First byte of a Location of ArduPilot: the reference of its altitude."""

    ABOVE_HOME = 1
    ABOVE_TERRAIN = 4
    ABOVE_ORIGIN = 8


def _stored_bytes(item: MissionItem) -> bytes:
    """Return the first 8 bytes that ArduSub stores of an item without a place."""
    stored = zip(_STORED.get(item.command, ''), item.params, strict=False)
    with np.errstate(over='ignore'):
        raw = b''.join(
            np.array(value, '<f4').tobytes() if kind == 'f' else bytes([int(value) % 256])
            for kind, value in stored
        )
    return raw.ljust(8, b'\0')[:8]


def is_skipped_by_ardusub(item: MissionItem) -> bool:
    """Whether ArduSub 4.5 skips an item, "Bad alt frame" or "Alt above home must be negative".

    Its start_command reads an altitude and its frame from every item, also from the bits of
    numbers that are none (ArduSub/commands_logic.cpp; layout of AP_Mission.h and Location.h).
    """
    if item.command in (JUMP, *CAMERA_ITEMS):
        return False
    if item.command in PLACED:
        return item.frame not in (3, 6)
    options, altitude = struct.unpack('<B3xi', _stored_bytes(item))
    if options & _LocationOptions.ABOVE_TERRAIN:
        return bool(altitude < 0)
    above_home = options & _LocationOptions.ABOVE_HOME
    return bool(options & _LocationOptions.ABOVE_ORIGIN or not above_home or altitude > 0)


def speeds_of(parameters: ParameterTable, level: float = math.nan) -> Speeds:
    """Return the speeds between waypoints, m/s, with a level one that was commanded."""
    usual = parameters['WPNAV_SPEED'] / 100
    return Speeds(
        usual if math.isnan(level) else level,
        parameters['WPNAV_SPEED_UP'] / 100,
        parameters['WPNAV_SPEED_DN'] / 100,
    )


def turn_of(params: Sequence[float], frame: NedFrame, state: State) -> HeadingTurn:
    """Return the turn of a CONDITION_YAW: angle and rate in degrees, direction, relative."""
    angle, rate, direction, relative = params
    compass = math.radians(-angle if relative and direction < 0 else angle)
    if relative:
        compass += frame.heading(state)
    return HeadingTurn(frame.yaw(compass), math.radians(rate) if rate > 0 else math.nan)


class MissionRun:
    """A mission, and how far it is flown."""

    def __init__(
        self,
        guide: Guide,
        frame: NedFrame,
        parameters: ParameterTable,
        say: Callable[[str], None],
        reached: Callable[[int], None],
    ) -> None:
        """Have none.

        Args:
            parameters: speeds and radii.
            say: called with a text for the pilot.
            reached: called with the number of an item that is done.
        """
        self._guide, self._frame, self._parameters = guide, frame, parameters
        self._say, self._reached = say, reached
        self.items: list[MissionItem] = []
        self.current = 0
        """Number of the item that is flown, or is next."""
        self.complete = False
        self.begun = False
        """Whether it was started and has not ended, also after AUTO was left."""
        self.level_speed = math.nan
        """m/s, of DO_CHANGE_SPEED; NaN: that of WPNAV_SPEED."""
        self._started = False
        self._next = 1
        self._queue: list[int] = []
        self._jumps: dict[int, int] = {}
        self._since = math.nan
        self._condition_since = math.nan
        self._surfacing = self._looking = self._circling = False

    @property
    def has_items(self) -> bool:
        """Whether there is something to fly."""
        return any(item.command in NAVIGATION for item in self.items[1:])

    def replace(self, items: Sequence[MissionItem]) -> None:
        """Take another mission; it starts at its beginning."""
        self.items = list(items)
        for text, holds in (
            ('flown here, skipped by ArduSub 4.5 (Bad alt frame)', is_skipped_by_ardusub),
            ('no camera is triggered here', lambda item: item.command in CAMERA_ITEMS),
        ):
            found = [k for k, item in enumerate(items) if k and holds(item)]
            if found:
                numbers = ', '.join(map(str, found[:8])) + (', ...' if len(found) > 8 else '')
                self._say(f'{text}: items {numbers}')
        self.rewind()

    def rewind(self) -> None:
        """Begin at the first item."""
        self._jumps.clear()
        self.level_speed = math.nan
        self.select(1)
        self.current = min(1, max(len(self.items) - 1, 0))

    def select(self, index: int) -> None:
        """Go on with an item."""
        self.current = self._next = max(index, 1)
        self._started, self.complete, self._queue = False, False, []

    def abandon(self) -> None:
        """End it where it is, as ArduSub does with disarming; it starts at its beginning again."""
        self.complete, self.begun = True, False
        self._queue.clear()

    def resume(self) -> None:
        """Fly on from the item that was flown last, from where the vehicle is."""
        if self.complete:
            self.rewind()
        elif self._started:
            queue = self._queue
            self.select(self.current)
            self._queue = queue

    def step(self, time: float, state: State) -> None:
        """Steer the guide at a time (s)."""
        if self.complete:
            return
        if not self._started:
            self._advance(time, state)
        elif self._is_done(time, state):
            self._reached(self.current)
            self._queue = []
            self._advance(time, state)
        if not self.complete:
            self._work_off(time, state)
            yaw = self._guide.track_yaw
            if not self._looking and not math.isnan(yaw):
                self._guide.turn(HeadingTurn(yaw))

    def _advance(self, time: float, state: State) -> None:
        """Start the next navigation item; queue what stands before it."""
        index, hops = self._next, 0
        while index < len(self.items) and hops < MAX_HOPS:
            hops += 1
            item = self.items[index]
            if item.command == JUMP:
                index = self._jump(index, item)
            elif item.command in NAVIGATION:
                self._start(index, time, state)
                return
            else:
                self._queue.append(index)
                index += 1
        self.complete, self.begun = True, False
        for queued in self._queue:
            self._do(self.items[queued], state)
        self._queue.clear()
        self._say('mission complete' if hops < MAX_HOPS else 'mission: jumps without a way on')

    def _jump(self, index: int, item: MissionItem) -> int:
        target, times = int(item.params[0]), int(item.params[1])
        done = self._jumps.get(index, 0)
        if times >= 0 and done >= times:
            return index + 1
        self._jumps[index] = done + 1
        return target

    def _start(self, index: int, time: float, state: State) -> None:
        self.current, self._started, self.begun = index, True, True
        self._next = index + 1
        self._since = self._condition_since = math.nan
        self._looking = self._surfacing = self._circling = False
        item = self.items[index]
        if item.command == DELAY:
            self._since = time
        elif item.command == LOITER_TURNS:
            self._go(self._circle(item, state).at(0.0), state)
        elif item.command == RETURN:
            self._go(np.zeros(3), state)
        elif item.command == LAND:
            self._surfacing = not (item.latitude or item.longitude)
            place = self._place(item, state)
            place[2] = 0.0 if self._surfacing else float(state.position[2])
            self._go(place, state)
        else:
            self._go(self._place(item, state), state)

    def _go(self, place: np.ndarray, state: State) -> None:
        x, y, z = place.tolist()
        self._guide.go(Course((x, y, z)), state)

    def _place(self, item: MissionItem, state: State) -> np.ndarray:
        """Return the position (3,) in map of an item; what it leaves out is the vehicle's."""
        here = np.array(state.position, float)
        if not (item.latitude or item.longitude):
            place = here
        else:
            place = self._frame.position(item.latitude, item.longitude, item.altitude)
        place[2] = item.altitude if item.altitude else here[2]
        return place

    def _circle(self, item: MissionItem, state: State) -> CirclePath:
        centre = self._place(item, state)
        radius = abs(item.params[2]) or self._parameters['CIRCLE_RADIUS'] / 100
        x, y, _ = (np.asarray(state.position) - centre).tolist()
        # At the centre, the circle begins ahead.
        near = math.hypot(x, y) < 1e-3
        angle = float(rpy_from_quaternion(state.orientation)[2]) if near else math.atan2(y, x)
        sense = 1 if item.params[2] < 0 else -1
        return CirclePath(centre, radius, angle, max(item.params[0], 1e-6), sense)

    def _is_done(self, time: float, state: State) -> bool:
        item = self.items[self.current]
        if item.command == DELAY:
            return time - self._since >= item.params[0]
        if not self._guide.has_arrived(state, self._parameters['WPNAV_RADIUS'] / 100):
            return False
        if item.command in (WAYPOINT, LOITER_TIME):
            if math.isnan(self._since):
                self._since = time
            return time - self._since >= item.params[0]
        if item.command == LAND and not self._surfacing:
            self._surfacing = True
            end = self._guide.end
            assert end is not None
            self._go(np.array([end[0], end[1], 0.0]), state)
            return False
        if item.command == LOITER_TURNS and not self._circling:
            self._circling = True
            self._guide.follow(self._circle(item, state), HeadingTurn())
            return False
        return item.command != LOITER

    def _work_off(self, time: float, state: State) -> None:
        """Do what is queued, up to a condition that is not met."""
        while self._queue:
            index = self._queue[0]
            item = self.items[index]
            if math.isnan(self._condition_since):
                self._condition_since = time
                self._do(item, state)
            if not self._is_met(item, time, state):
                return
            self._condition_since = math.nan
            self._queue.pop(0)
            self._reached(index)

    def _do(self, item: MissionItem, state: State) -> None:
        if item.command == CHANGE_SPEED and item.params[1] > 0:
            self.level_speed = item.params[1]
        elif item.command == CONDITION_YAW:
            self._looking = True
            self._guide.turn(turn_of(item.params, self._frame, state))

    def _is_met(self, item: MissionItem, time: float, state: State) -> bool:
        if item.command == CONDITION_DELAY:
            return time - self._condition_since >= item.params[0]
        if item.command == CONDITION_DISTANCE:
            end = self._guide.end
            away = 0.0 if end is None else float(np.linalg.norm(end - state.position))
            return away <= item.params[0]
        if item.command == CONDITION_YAW:
            target = self._guide.target
            assert isinstance(target, Course)
            yaw = float(rpy_from_quaternion(state.orientation)[2])
            return abs(wrap_heading(target.turn.yaw - yaw)) <= NEAR_HEADING
        return True
