# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The commander: who has the vehicle, what silence means, what is held."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from marine_sim_ros.control.commander import CLOSED_LOOPS, TIMEOUT, Commander
from marine_sim_ros.control.controller_model import RATES, SETPOINT_QUANTITIES, SPEEDS
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State

HERE = State(np.array([1.0, 2.0, -3.0]), quaternion_from_rpy(0, 0, 0.4), np.zeros(6))
POSE = np.array([4.0, 5.0, -6.0, 0.0, 0.1, 0.2])


def at(position=(1, 2, -3), yaw=0.4, velocity=(0, 0, 0, 0, 0, 0)):
    orientation = quaternion_from_rpy(0, 0, yaw)
    return State(np.array(position, float), orientation, np.array(velocity, float))


def place(*names):
    return [SETPOINT_QUANTITIES.index(name) for name in names]


def test_disarmed_wants_nothing():
    commander = Commander()
    commander.go(POSE)
    assert np.isnan(commander.active_setpoints(0, HERE)).all()
    commander.arm(True)  # arming forgets what was said before
    wanted = commander.active_setpoints(0, HERE)
    assert np.isnan(wanted[:3]).all()
    assert wanted[SPEEDS] == pytest.approx([0, 0, 0])


def test_armed_without_a_word_holds_still_and_level():
    wanted = Commander(armed=True).active_setpoints(5, HERE)
    assert wanted[place('roll', 'pitch', 'surge', 'sway', 'heave', 'yaw_rate')] == pytest.approx(0)
    assert np.isnan(wanted[place('x', 'y', 'z', 'yaw', 'roll_rate', 'pitch_rate')]).all()
    unable = Commander(armed=True, level=('roll',)).active_setpoints(5, HERE)
    assert np.isnan(unable[place('pitch')]).all()
    assert unable[place('pitch_rate')] == 0


def test_a_pose_with_a_hole_frees_that_axis():
    commander = Commander(armed=True)
    hole = POSE.copy()
    hole[1] = np.nan
    commander.go(hole)
    wanted = commander.active_setpoints(0, HERE)
    assert np.isnan(wanted[[1, *range(6, 12)]]).all()
    assert wanted[[0, 2, 3, 4, 5]] == pytest.approx(POSE[[0, 2, 3, 4, 5]])
    commander.free = ('x', 'yaw')
    assert np.isnan(commander.active_setpoints(0, HERE)[[0, 5]]).all()


def test_a_velocity_lasts_half_a_second():
    commander = Commander(armed=True)
    speeds = np.array([0.5, 0, 0.1, 0, 0, 0.2])
    commander.drive(speeds, 10.0)
    wanted = commander.active_setpoints(10.0 + TIMEOUT, HERE)
    assert wanted[SPEEDS] == pytest.approx(speeds[:3])
    assert wanted[RATES][2] == 0.2
    assert not commander.stale(10.0 + TIMEOUT)
    after = commander.active_setpoints(10.0 + TIMEOUT + 0.005, HERE)
    assert after[SPEEDS] == pytest.approx([0, 0, 0])
    assert commander.stale(10.6)


def test_holds_take_over_where_the_stick_is_centred():
    commander = Commander(armed=True)
    for name in CLOSED_LOOPS:
        commander.hold(name, True)
    moving = at(velocity=(0.4, 0, 0, 0, 0, 0.2))
    commander.drive(np.array([0.4, 0, 0, 0, 0, 0.2]), 0.0)
    wanted = commander.active_setpoints(0.1, moving)
    assert wanted[place('z')] == pytest.approx(-3)  # auto depth: the heave stick is centred
    assert np.isnan(wanted[place('x', 'y', 'yaw')]).all()
    stopped = commander.active_setpoints(1.0, moving)  # silence: all sticks count as centred
    ahead = 0.4 * 1.5
    assert stopped[:2] == pytest.approx([1 + ahead * np.cos(0.4), 2 + ahead * np.sin(0.4)])
    assert stopped[5] == pytest.approx(0.4 + 0.75 * 0.2)
    assert np.isnan(stopped[place('surge', 'sway', 'heave', 'yaw_rate')]).all()
    later = commander.active_setpoints(2.0, at(position=(9, 9, -9)))
    assert later[:3] == pytest.approx(stopped[:3])  # where it was set, not where it is
    commander.hold('auto_depth', False)
    assert np.isnan(commander.active_setpoints(2.1, HERE)[2])
    commander.hold('auto_depth', True)
    assert commander.active_setpoints(2.2, at(position=(1, 2, -7)))[2] == pytest.approx(-7)


def test_waypoints_one_after_the_other():
    commander = Commander(armed=True)
    way = [np.array([x, 0.0, -3, 0, 0, 0]) for x in (2.0, 4.0, 6.0)]
    commander.follow(way)
    assert commander.active_setpoints(0, at((0, 0, -3)))[0] == 2
    assert commander.active_setpoints(0, at((1.8, 0, -3)))[0] == 4
    assert commander.active_setpoints(0, at((3.8, 0, -3)))[0] == 6
    assert commander.active_setpoints(0, at((6, 0, -3)))[0] == 6  # the last one is held
    commander.follow([])
    assert commander.mode == 'velocity'
    assert commander.active_setpoints(9, HERE)[SPEEDS] == pytest.approx([0, 0, 0])


def test_a_wrench_goes_past_the_loop_until_it_is_stale():
    commander = Commander(armed=True)
    commander.push(np.arange(6.0), 3.0)
    assert np.isnan(commander.active_setpoints(3.2, HERE)).all()
    assert commander.active_setpoints(3.6, HERE)[SPEEDS] == pytest.approx([0, 0, 0])


def test_time_that_goes_back_is_no_reason_to_go_on():
    commander = Commander(armed=True, holds=('auto_depth',))
    commander.drive(np.full(6, 0.5), 600.0)
    commander.forget()  # what the controller does after a reset
    assert commander.stale(0.0)
    assert commander.active_setpoints(0.0, HERE)[SPEEDS][:2] == pytest.approx([0, 0])


def test_a_hold_is_set_anew_after_another_command():
    commander = Commander(armed=True, holds=('auto_depth', 'station_keeping'))
    assert commander.active_setpoints(0, at((0, 0, -3)))[:3] == pytest.approx([0, 0, -3])
    commander.go(POSE)
    commander.active_setpoints(1, at((10, 0, -9)))
    commander.drive(np.array([0, 0, 0, 0, 0, 0.2]), 2.0)
    assert commander.active_setpoints(2.1, at((20, 0, -10)))[:3] == pytest.approx([20, 0, -10])
    commander.push(np.array([0, 0, -9, 0, 0, 0.0]), 3.0)
    commander.active_setpoints(3.1, at((20, 0, -12)))
    assert commander.active_setpoints(4.0, at((20, 0, -15)))[2] == pytest.approx(-15)


def test_nothing_is_held_in_the_air():
    commander = Commander(armed=True, holds=('auto_depth',))
    rising = at((0, 0, -0.2), velocity=(0, 0, 0.4, 0, 0, 0))
    assert commander.active_setpoints(0, rising)[2] == 0
    with pytest.raises(ParameterError, match='auto_deph'):
        Commander(holds=('auto_deph',))


def test_a_free_axis_gets_no_wrench():
    commander = Commander(armed=True)
    commander.push(np.arange(1.0, 7.0), 0.0)
    commander.free = ('z', 'yaw_rate')
    assert commander.wrench == pytest.approx([1, 2, 0, 4, 5, 0])


number = st.floats(-5, 5)


class Anything(RuleBasedStateMachine):
    """Whatever is said in whatever order, set-points stay usable."""

    def __init__(self):
        super().__init__()
        self.commander = Commander()
        self.time = 0.0
        self.state = HERE

    @rule(on=st.booleans())
    def arm(self, on):
        self.commander.arm(on)

    @rule(name=st.sampled_from(sorted(CLOSED_LOOPS)), on=st.booleans())
    def hold(self, name, on):
        self.commander.hold(name, on)

    @rule(values=st.lists(number | st.just(float('nan')), min_size=6, max_size=6))
    def go(self, values):
        self.commander.go(np.array(values))

    @rule(count=st.integers(0, 4))
    def follow(self, count):
        self.commander.follow([POSE + k for k in range(count)])

    @rule(values=st.lists(number, min_size=6, max_size=6))
    def drive(self, values):
        self.commander.drive(np.array(values), self.time)

    @rule(values=st.lists(number, min_size=6, max_size=6))
    def push(self, values):
        self.commander.push(np.array(values), self.time)

    @rule(dt=st.floats(0, 2), x=number, yaw=number, u=number)
    def pass_time(self, dt, x, yaw, u):
        self.time += dt
        self.state = at((x, 0, -3), yaw, (u, 0, 0, 0, 0, 0.1))

    @invariant()
    def usable(self):
        wanted = self.commander.active_setpoints(self.time, self.state)
        assert wanted.shape == (12,)
        assert not np.isinf(wanted).any()
        # No quantity is controlled twice: a held angle or height has no speed beside it.
        for held, driven in (('z', 'heave'), ('yaw', 'yaw_rate'), ('roll', 'roll_rate')):
            assert np.isnan(wanted[place(held, driven)]).any()
        if not self.commander.armed:
            assert np.isnan(wanted).all()


TestAnything = Anything.TestCase


@given(st.lists(number, min_size=6, max_size=6), st.floats(0, 100))
def test_what_was_said_last_counts(values, time):
    commander = Commander(armed=True)
    commander.go(POSE)
    commander.drive(np.array(values), time)
    commander.go(POSE)
    assert commander.active_setpoints(time, HERE)[:6] == pytest.approx(POSE)
