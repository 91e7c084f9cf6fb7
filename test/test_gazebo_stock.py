# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The stock way to Gazebo at its seam, with a mock of the world and of ros_gz_interfaces."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros import simulate
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.gazebo.exchange import exerted_wrench, stepped_velocity
from marine_sim_ros.sim import step as sim_step
from marine_sim_ros.sim.scenario import load_scenario

pytestmark = pytest.mark.ros

MS = 10**6
PERIOD = 5 * MS
ROV = vehicle_of('bluerov2')
DIVE = load_scenario('dive')
UP = np.array([0.0, 0.0, 100.0, 0.0, 0.0, 0.0])
"""N; less than the weight, so that the body moves."""


class Run:
    """A way in a world, and what it told; ``seconds`` is the wall clock."""

    def __init__(self, monkeypatch, *, lockstep=True, step=PERIOD, position=(0.0, 0.0, -3.0)):
        from stock_gazebo import StockGazebo, interfaces

        for name, module in interfaces().items():
            monkeypatch.setitem(sys.modules, name, module)
        from marine_sim_ros.ros.dynamics import gazebo_node as gazebo_stock_transport
        from marine_sim_ros.ros.dynamics import gazebo_node as gazebo_transport

        self.seconds = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.seconds)
        monkeypatch.setattr(gazebo_stock_transport, 'wall', clock)
        initial = state_at_rest(position)
        self.gazebo = StockGazebo(ROV, initial, step=step, period=PERIOD)
        self.place = gazebo_transport.TransportSettings(
            'pool', 'rov::base_link', initial, PERIOD, lockstep, PERIOD / step
        )
        self.kind = gazebo_stock_transport.StockTransport
        self.open()

    def open(self):
        """Be a gazebo_bridge that has just started."""
        self.told = []
        self.transport = self.kind(self.gazebo, self.place, lambda *told: self.told.append(told))

    def until(self, condition, passes=1000):
        for _ in range(passes):
            if condition():
                return
            self.seconds += 0.001
            self.gazebo.turn()
            if round(self.seconds * 1000) % 500 == 0:
                self.transport.check()
        raise AssertionError(f'not after {passes} passes; told {self.told[-1:]}')

    def next(self, passes=5000):
        count = len(self.told)
        self.until(lambda: len(self.told) > count, passes)
        return self.told[-1]

    def answer(self, wrench=UP):
        """Answer the newest state and return the next one."""
        self.transport.send(*self.told[-1], wrench)
        return self.next()

    def step(self, vehicle, state, environment, wrench, dt, *, inner, **options):
        """Do in the mock what ``marine_sim_ros.physics.rigid_body.rigid_body_step`` does."""
        assert inner is None  # no arm moves by efforts
        state = self.told[-1][1]
        return self.answer(exerted_wrench(vehicle, state, environment, wrench, dt, **options))[1]


@pytest.fixture
def run(monkeypatch):
    run = Run(monkeypatch)
    run.next()
    return run


def stamps(run):
    return [stamp for stamp, _ in run.told]


def check_state(run, state):
    """Check that a state that was told is the body's, with the velocity that moved it."""
    body = run.gazebo.state
    moved = stepped_velocity(body.velocity, run.gazebo.step / 1e9)
    for ours, theirs in zip(state, body._replace(velocity=moved), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_a_body_dives_as_the_embedded_one_with_one_wrench_in_each_step(monkeypatch):
    wanted = simulate(ROV, DIVE, duration=2.0)
    run = Run(monkeypatch, position=DIVE.position)
    assert run.next()[0] == 0
    monkeypatch.setattr(sim_step, 'rigid_body_step', run.step)
    result = simulate(ROV, DIVE, duration=2.0)
    assert run.gazebo.exerted == [1] * 401
    assert stamps(run) == [i * PERIOD for i in range(402)]
    np.testing.assert_allclose(result.position, wanted.position, atol=1e-9)
    np.testing.assert_allclose(result.velocity, wanted.velocity, atol=1e-8)


def test_nothing_is_told_before_the_control_service_is_there(monkeypatch):
    run = Run(monkeypatch)
    run.gazebo.service = False
    for _ in range(10):
        run.gazebo.turn()
    assert run.told == []
    assert run.transport.restart() is False
    run.gazebo.service = True
    assert run.next()[0] == 0


def test_the_time_of_the_world_is_watched_no_longer_than_needed(run):
    run.until(lambda: 'gazebo/clock' not in run.gazebo.listeners)
    assert run.answer()[0] == PERIOD


def test_velocities_are_those_of_the_body(run):
    for _ in range(20):
        _, state = run.answer(np.array([5.0, 3.0, 100.0, 1.0, -2.0, 1.5]))
        check_state(run, state)


@pytest.mark.parametrize('ticks', [0, 3])
def test_a_step_that_was_not_heard_is_asked_for_again_without_a_second_wrench(run, ticks):
    for _ in range(ticks):
        run.answer()
    run.gazebo.lose_requests = 1
    assert run.answer()[0] == (ticks + 1) * PERIOD
    assert run.gazebo.exerted == [1] * (ticks + 1)


def test_a_pose_that_was_lost_costs_two_steps(run):
    run.answer()
    run.gazebo.lose_poses = 1
    stamp, state = run.answer()
    assert stamp == 4 * PERIOD
    check_state(run, state)
    assert run.gazebo.exerted == [1, 1, 0, 0]


@pytest.mark.parametrize('late', [1, 3])
def test_a_wrench_after_its_step_acts_in_the_next_one(monkeypatch, late):
    """Each leaves the body behind by dt² M⁻¹ τ; the impulse is right and no tick is lost."""
    ends = []
    for count in (0, late):
        run = Run(monkeypatch)
        run.next()
        run.gazebo.late_wrenches = count
        for _ in range(10):
            run.answer()
        assert stamps(run) == [i * PERIOD for i in range(11)]
        assert sum(run.gazebo.exerted) == 10
        assert run.gazebo.exerted.count(0) == min(count, 1)
        ends.append(run.gazebo.state)
    behind = 0.005**2 * np.linalg.solve(ROV.mass_matrix, UP)[:3] * late
    apart = ends[0].position - ends[1].position
    np.testing.assert_allclose(apart, behind, rtol=0.01, atol=1e-8)
    np.testing.assert_allclose(ends[1].velocity, ends[0].velocity, atol=1e-5)


def test_a_bridge_that_is_started_again_finds_the_body_where_it_is(run):
    for _ in range(10):
        run.answer()
    run.open()
    stamp, state = run.next()
    assert stamp == 12 * PERIOD
    check_state(run, state)
    assert run.answer()[0] == 13 * PERIOD


def test_a_server_that_is_started_again_is_a_new_run(run):
    for _ in range(10):
        run.answer()
    run.gazebo.start()
    run.gazebo.lose_requests = 1  # of the old server
    assert run.answer() == (0, run.place.initial)
    run.gazebo.wrenches.clear()  # of the old server too
    run.answer()
    assert run.gazebo.exerted == [1]


@pytest.mark.parametrize('under_way', [True, False])
def test_a_reset_starts_anew(run, under_way):
    for _ in range(5):
        run.answer()
    if under_way:
        run.transport.send(*run.told[-1], UP)
    assert run.transport.restart()
    run.transport.send(*run.told[-1], np.zeros(6))  # what is under way in the node is dropped
    assert run.next() == (0, run.place.initial)
    assert run.answer()[0] == PERIOD
    assert run.gazebo.exerted[-1] == 1
    assert 0 not in run.gazebo.exerted


def test_a_reset_that_gazebo_forgot_is_asked_for_again(run):
    run.answer()
    run.gazebo.lose_requests = 1
    run.transport.restart()
    assert run.next() == (0, run.place.initial)


def test_a_world_that_somebody_else_resets_is_a_new_run(run):
    for _ in range(5):
        run.answer()
    run.gazebo.state, run.gazebo.stamp = run.gazebo.initial, 0
    stamp, state = run.answer()
    assert stamp == PERIOD
    check_state(run, state)


def test_a_world_that_somebody_lets_run_is_caught_and_stepped_on(run):
    run.answer()
    run.gazebo.paused = False
    run.until(lambda: len(run.told) == 5)
    assert stamps(run)[-1] == 4 * PERIOD
    assert run.answer()[0] >= 5 * PERIOD
    run.until(lambda: run.gazebo.paused)
    count = len(run.told)
    for _ in range(5):
        run.gazebo.turn()
    assert len(run.told) == count
    assert run.answer()[0] == run.gazebo.stamp


# --- without lockstep


@pytest.mark.parametrize('step', [PERIOD, MS])
def test_without_lockstep_the_impulse_is_that_of_the_wrench(monkeypatch, step):
    run = Run(monkeypatch, lockstep=False, step=step)
    assert run.next() == (0, run.place.initial)
    for _ in range(20):
        run.gazebo.turn()
    assert run.gazebo.stamp == 0  # it starts with the first wrench
    for i in range(100):
        run.gazebo.lose_poses = i % 3
        run.answer()
    seconds = run.told[-1][0] / 1e9
    assert seconds == pytest.approx(0.995, abs=0.01)
    # The last one is still in the queue.
    np.testing.assert_allclose(run.gazebo.impulse[2], 100 * seconds, rtol=0.02)
    assert max(run.gazebo.exerted) == 1


def test_no_wrench_makes_up_for_more_than_it_may(monkeypatch):
    run = Run(monkeypatch, lockstep=False)
    run.next()
    run.answer()
    run.gazebo.lose_poses = 200
    run.answer()
    before = run.gazebo.impulse.copy()
    run.answer()
    np.testing.assert_allclose((run.gazebo.impulse - before)[2], 100 * 0.2, rtol=1e-6)


def test_without_lockstep_a_pause_is_gazebo_s_and_a_reset_waits_for_the_first_wrench(monkeypatch):
    run = Run(monkeypatch, lockstep=False)
    run.next()
    run.answer()
    run.transport.pause(paused=True)
    run.gazebo.turn()
    stamp = run.gazebo.stamp
    run.until(lambda: run.seconds > 6.0, 10**4)
    assert run.gazebo.stamp == stamp
    run.transport.pause(paused=False)
    run.next()
    assert run.transport.restart()
    assert run.next() == (0, run.place.initial)
    for _ in range(20):
        run.gazebo.turn()
    assert run.gazebo.stamp == 0
    assert run.answer()[0] == PERIOD


def test_without_lockstep_a_bridge_started_again_finds_a_world_that_runs(monkeypatch):
    run = Run(monkeypatch, lockstep=False)
    run.next()
    for _ in range(5):
        run.answer()
    run.open()
    _, state = run.next()
    check_state(run, state)
    run.answer()
    assert run.gazebo.exerted[-1] == 1
