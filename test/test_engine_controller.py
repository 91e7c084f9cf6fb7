# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A compiled controller answers states as NumPy's does, whatever fails or is reset."""

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros.control.closed_loop import ClosedLoop
from marine_sim_ros.control.controller_model import load_controller
from marine_sim_ros.core.state import State

pytest.importorskip('jax')
from marine_sim_ros.engine.compiled_controller import CompiledLoop, select_closed_loop

pytestmark = pytest.mark.long
STEP = 0.005
MODERN = load_controller('modern')


def motion(k):
    """Return a state that sways and turns smoothly."""
    angles = np.array([0.0, 0.0, 0.0, 1.0]) + 0.1 * np.sin(1.3 * np.arange(4) + 0.005 * k)
    position = np.array([0.1 * np.sin(0.01 * k), 0.0, 0.001 * k - 5.0])
    velocity = 0.3 * np.sin(np.arange(6) + 0.01 * k)
    return State(position, angles / np.linalg.norm(angles), velocity)


def setpoints(k):
    """Return a depth and a heading, then a place, then a speed."""
    wanted = np.full(12, np.nan)
    wanted[2] = -4.9
    if k < 100:
        wanted[5] = 0.2
    elif k < 200:
        wanted[:2], wanted[5] = (0.3, -0.1), 0.2
    else:
        wanted[6] = 0.1
    return wanted


def answers(loop, times, failed):
    """Return what a loop answers to states at some times, s, with some thrusters left out."""
    memory, found = None, []
    for k, time in enumerate(times):
        output, memory = loop.step(setpoints(k), time, motion(k), memory, failed=failed(k))
        found.append(output)
    return found


@pytest.mark.parametrize(
    ('name', 'fits'),  # in how many ticks the thrusters have enough, at least
    [('bluerov2', 200), ('bluerov2_heavy', 200), ('torpedo_auv', 50), ('wamv', 0)],
)
def test_its_answers_are_those_of_numpy(name, fits):
    vehicle = vehicle_of(name)
    count = len(vehicle.thrusters)
    times = STEP * np.arange(300)
    times[150:] -= times[150]  # the run is reset
    times[250:] += 0.3  # a gap
    lost = np.arange(count) == 1

    def failed(k):
        return lost if 50 <= k < 150 and count > 2 else None

    pairs = zip(
        answers(ClosedLoop(vehicle, MODERN), times, failed),
        answers(CompiledLoop(vehicle, MODERN, dt=STEP), times, failed),
        strict=True,
    )
    within = 0
    for one, other in pairs:
        np.testing.assert_allclose(other.wrench, one.wrench, atol=1e-8, rtol=1e-9)
        a, b = one.allocation, other.allocation
        assert a.shortfall == b.shortfall
        if b.saturated:
            np.testing.assert_allclose(b.reached, a.reached, atol=0.05 * np.abs(one.wrench).max())
            continue
        within += 1
        assert np.abs(other.pwm - one.pwm).max() <= 1  # whole µs, rounded to either side
        assert a.actuators.keys() == b.actuators.keys()
        for name, wanted in a.actuators.items():
            np.testing.assert_allclose(b.actuators[name], wanted, atol=1e-8)
    assert within >= fits


def test_more_than_the_thrusters_have_is_shared_as_numpy_shares_it():
    vehicle = vehicle_of('bluerov2')
    loops = ClosedLoop(vehicle, MODERN), CompiledLoop(vehicle, MODERN, dt=STEP)
    for k in range(0, 600, 100):
        state = motion(k)._replace(velocity=np.zeros(6))
        wanted = np.full(12, np.nan)
        wanted[:3] = 300.0 * np.sin(k), 300.0 * np.cos(k), -200.0
        memories = [loop.step(wanted, 0.0, state, None)[1] for loop in loops]
        for tick in range(1, 800):  # the reference speeds up until the thrusters have no more
            (one, memories[0]), (other, memories[1]) = (
                loop.step(wanted, tick * STEP, state, memory)
                for loop, memory in zip(loops, memories, strict=True)
            )
            if one.allocation.saturated and other.allocation.saturated:
                break
        assert other.allocation.saturated
        np.testing.assert_allclose(other.wrench, one.wrench, rtol=1e-9, atol=1e-8)
        # Each solver leaves up to the concession to the axes after those that go first.
        most = 0.05 * np.abs(one.wrench).max()
        np.testing.assert_allclose(other.allocation.reached, one.allocation.reached, atol=most)


def test_it_pushes_without_a_loop_as_ever():
    vehicle = vehicle_of('bluerov2')
    wrench = np.array([10.0, 0.0, 5.0, 0.0, 0.0, 1.0])
    one, other = (
        loop.push(wrench, motion(0))
        for loop in (ClosedLoop(vehicle, MODERN), CompiledLoop(vehicle, MODERN, dt=STEP))
    )
    np.testing.assert_array_equal(other.pwm, one.pwm)


def test_vehicles_of_a_kind_share_a_program():
    vehicle = vehicle_of('bluerov2')
    first, second = (CompiledLoop(vehicle, load_controller('modern'), dt=STEP) for _ in range(2))
    assert first._program is second._program
    assert CompiledLoop(vehicle, MODERN, dt=0.01)._program is not first._program


def test_a_law_with_a_window_stays_with_numpy():
    rov = vehicle_of('investigator90')
    assert type(select_closed_loop(rov, load_controller('thesis'), dt=STEP)) is ClosedLoop
    assert type(select_closed_loop(rov, MODERN, dt=STEP)) is CompiledLoop
