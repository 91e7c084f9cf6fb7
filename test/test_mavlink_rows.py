# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every row of mavlink_rows.py: the real ArduSub in lockstep, and our vehicle without ROS."""

import re

import numpy as np
import pytest
from ardusub_rig import Rig
from mavlink_rows import ANSWER_ROWS, MOTION_ROWS, SAME, WITHOUT_ROWS, Ground

from marine_sim_ros.autopilot.mavlink.autopilot import SetPoints
from marine_sim_ros.autopilot.mavlink.coverage import (
    COMMANDS,
    DONE,
    MAVLINK_MESSAGES,
    MISSION_ITEMS,
)
from marine_sim_ros.core.spatial import quaternion_from_rpy, rpy_from_quaternion
from marine_sim_ros.core.state import State

SILENCE = 2.5
"""s, FS_GCS_TIMEOUT_MS of ArduSub and the default of our node."""
DEPTH = 5.0
"""m at which the rows of motion begin."""


class Firmware(Ground):
    """The real firmware, in lockstep: time is the simulation's."""

    def __init__(self, rig):
        self.rig, self.mav = rig, rig.mavlink.mav
        rig.silent = True
        super().__init__()
        rig.hear, remember = self._hear, rig.hear
        self._remember = remember

    def _hear(self, message):
        self._remember(message)
        self.heard.append((self.rig.time, message))

    @property
    def now(self):
        return self.rig.time

    def step(self):
        self.rig.step()


class OurVehicle(Ground):
    """Our MAVLink vehicle over real UDP, without ROS; it follows its set-points at once."""

    STEP, settle_time = 0.05, 0.5

    def __init__(self):
        mavlink = pytest.importorskip('test_mavlink')
        self.rig = mavlink.Rig(rate=10.0)
        self._moved, self.mav = mavlink.moved, self.rig.mav
        self.rig.state = State(
            np.array([0.0, 0.0, -DEPTH]), self.rig.state.orientation, self.rig.state.velocity
        )
        self._beaten = -1.0
        super().__init__()

    @property
    def now(self):
        return self.rig.time

    def step(self):
        rig = self.rig
        command = rig.step(self.STEP)
        if isinstance(command, SetPoints):
            rig.state = self._follow(command.targets)
        else:
            rig.state = State(rig.state.position, rig.state.orientation, np.zeros(6))
        rig.vehicle.receive(rig.time)
        rig.vehicle.look_after(rig.time, SILENCE)
        rig.vehicle.send(rig.time)
        self.heard += [(rig.time, message) for message in rig.link.read()]

    def _follow(self, targets):
        state = self._moved(self.rig.state, targets, self.STEP)
        yaw = rpy_from_quaternion(state.orientation)[2]
        roll, pitch = np.nan_to_num(targets[3:5])
        turn = np.nan_to_num(targets[9:12])
        return State(
            state.position,
            np.array(quaternion_from_rpy(roll, pitch, yaw)),
            np.concatenate([state.velocity[:3], turn]),
        )


def play(ground, rows, expected):
    """Return a line for each row whose value is another one than expected."""
    wrong = []
    for row in rows:
        wanted = expected(row)
        try:
            found = row.play(ground)
        except (IndexError, StopIteration, ZeroDivisionError) as error:
            found = repr(error)
        ground.quiet()
        if found != wanted:
            wrong.append(f'{row.name}: {found}; expected {wanted}')
        del ground.heard[:-2000]
    return wrong


def play_motion(ground, rows, expected):
    wrong = []
    for row in rows:
        submerge(ground)
        wrong += play(ground, [row], expected)
    return wrong


def submerge(ground):
    """Come to rest at the depth, armed."""
    ground.quiet()
    if not ground.armed:
        assert ground.command(400, 1) == 0
    ground.settle()
    if abs(ground.place[2] - DEPTH) > 1.5:
        down = ground.place[2] < DEPTH
        ground.repeat(0.1, lambda: ground.sticks(z=0 if down else 1000))
        ground.run(60, lambda: abs(ground.place[2] - DEPTH) < 0.3)
        ground.settle()


def measured(row):
    return row.expected


def of_ours(row):
    return row.expected if row.ours is SAME else row.ours


@pytest.mark.ardusub
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_rows_are_what_ardusub_does():
    rig = Rig('bluerov2_heavy', dt=0.02)
    try:
        rig.boot()
        ground = Firmware(rig)
        ground.mav.request_data_stream_send(1, 1, 0, 10, 1)
        using = 'is using GPS'  # modes with a position are refused before
        assert ground.run(90, lambda: any(using in text for _, text in rig.texts)), rig.texts
        wrong = play(ground, ANSWER_ROWS, measured)
        wrong += play_motion(ground, MOTION_ROWS, measured)
    finally:
        rig.close()
    assert not wrong, '\n'.join(wrong)


@pytest.mark.slow
def test_our_vehicle_does_the_same_but_for_what_the_rows_say():
    pytest.importorskip('pymavlink', reason='pymavlink: not installed (extra ardusub)')
    ground = OurVehicle()
    try:
        ground.mav.request_data_stream_send(1, 1, 0, 10, 1)
        ground.run(2)
        wrong = play(ground, ANSWER_ROWS, of_ours)
        ground.STEP = 0.1
        wrong += play_motion(ground, [r for r in MOTION_ROWS if not r.physical], of_ours)
    finally:
        ground.rig.close()
    assert not wrong, '\n'.join(wrong)


def test_every_key_of_the_coverage_has_a_row_or_a_reason():
    rows = ' '.join(row.name for row in [*ANSWER_ROWS, *MOTION_ROWS])
    played = set(re.findall(r'[A-Z][A-Z0-9_]+', rows))
    known = {row.name for row in MAVLINK_MESSAGES if row.result == DONE}
    known |= {row.name for table in (COMMANDS, MISSION_ITEMS) for row in table.values()}
    assert sorted(known - played - WITHOUT_ROWS.keys()) == []
    assert sorted(WITHOUT_ROWS.keys() & played) == []
    assert WITHOUT_ROWS.keys() <= known | {row.name for row in MAVLINK_MESSAGES}
    assert len({row.name for row in [*ANSWER_ROWS, *MOTION_ROWS]}) == len(ANSWER_ROWS) + len(
        MOTION_ROWS
    )
