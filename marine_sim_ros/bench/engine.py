# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Speed of the compiled engine beside NumPy: one vehicle, many, large hulls, contact."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from marine_sim_ros.bench.engine_solid import least_cpu_seconds, solid_engine_rows
from marine_sim_ros.bench.learning import learning_rows
from marine_sim_ros.bench.steps import PWM, step_microseconds
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.batch import BLOCK, run_in_blocks
from marine_sim_ros.engine.compiled import Program, setting_of, trajectory_of
from marine_sim_ros.engine.loop import states
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import Scenario, Segment, load_scenario

__all__ = ['engine_rows']

SIZES = {1: 20_000, 10: 10_000, 1000: 1_000, 10_000: 200}
"""Steps of a batch of so many vehicles."""


def _thrust_ahead(vehicle: Vehicle) -> Scenario:
    pwm = tuple([PWM] * len(vehicle.thrusters))
    segment = Segment(0.0, (0.0,) * 6, None, pwm)
    return Scenario('bench', '', 1.0, (0.0, 0.0, -5.0), (0.1, 0.2, 0.3), (segment,), ())


def compiled(
    vehicle: Vehicle, scenario: Scenario, steps: int, count: int | None
) -> tuple[float, float]:
    """Return µs a step of all vehicles takes, and s of compiling.

    Args:
        vehicle: the vehicle to simulate.
        scenario: the scenario to follow.
        steps: number of steps of the measurement.
        count: number of vehicles in the batch; None for a single vehicle without a batch.
    """
    setting = setting_of(vehicle, scenario, None)
    start = State(*(np.array(x) for x in scenario.initial_state()))
    program = Program(
        [setting],
        ticks=steps + 1,
        every=steps // 20,
        keep=states,
        size=None if count is None else min(count, BLOCK),
    )
    if count is None:
        work: Callable[[], object] = lambda: program.run(start)  # noqa: E731
    else:
        many = State(*(np.repeat(x[:, None], count, axis=1) for x in start))
        work = lambda: run_in_blocks(program, many, count)  # noqa: E731
    work()
    best = min(_seconds(work) for _ in range(3))
    return best / steps * 1e6, program.compile_time


def in_batch(vehicle: Vehicle, scenario: Scenario, steps: int) -> float:
    """Return µs of processor time that a step of one vehicle takes in a batch of ``BLOCK``."""
    setting = setting_of(vehicle, scenario, None)
    program = Program([setting], ticks=steps + 1, every=steps // 20, keep=states, size=BLOCK)
    starts = State(*(np.repeat(np.array(x)[:, None], BLOCK, 1) for x in scenario.initial_state()))
    return least_cpu_seconds(lambda: program.run(starts)) / steps / BLOCK * 1e6


def whole_run(vehicle: Vehicle, scenario: Scenario, steps: int) -> float:
    """Return µs a step takes of which everything is kept: the barometer's noisy reading too.

    Nothing of it can be left out: set-points, law, allocation, thrusters, forces, integration and
    pressure of every tick are in the trajectory, or lead to what is.
    """
    setting = setting_of(vehicle, scenario, None)
    program = Program([setting], ticks=steps + 1)
    start = scenario.initial_state()

    def work() -> None:
        done = trajectory_of(setting, program.run(start), program.kept, seed=0)
        assert np.ptp(done.pressure) > 0

    work()
    return min(_seconds(work) for _ in range(3)) / steps * 1e6


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def engine_rows(
    hulled: Callable[[int], str], triangles: tuple[int, ...]
) -> Iterator[tuple[str, str, float]]:
    """Yield name, format and value of every measurement.

    Args:
        hulled: makes a URDF with so many triangles.
        triangles: numbers of them.
    """
    for name in ('bluerov2', 'bluerov2_heavy'):
        vehicle = load_vehicle(name)
        one, seconds = compiled(vehicle, _thrust_ahead(vehicle), 20_000, None)
        yield f'JAX, {name}: µs/step', '.2f', one
        yield f'JAX, {name}: compiling, s', '.2f', seconds
        yield f'JAX over NumPy, {name}: times', '.0f', step_microseconds(vehicle, 2000) / one
    vehicle = load_vehicle('bluerov2')
    dive = replace(load_scenario('dive'), expectations=())
    loop, _ = compiled(vehicle, dive, 20_000, None)
    yield 'JAX, bluerov2 holding a depth: µs/step', '.2f', loop
    hold = load_scenario('position_hold')
    for name in ('bluerov2', 'bluerov2_heavy'):
        loop, seconds = compiled(load_vehicle(name), hold, 20_000, None)
        yield f'JAX, {name} with its controller: µs/step', '.2f', loop
        yield f'JAX, {name} with its controller: compiling, s', '.1f', seconds
        sensed = whole_run(load_vehicle(name), hold, 20_000)
        yield f'JAX, {name} with controller and barometer, all kept: µs/step', '.2f', sensed
    heavy = load_vehicle('bluerov2_heavy')
    alone, held = in_batch(heavy, _thrust_ahead(heavy), 1000), in_batch(heavy, hold, 1000)
    yield f'JAX, each of {BLOCK:,} bluerov2_heavy: CPU µs/step', '.2f', alone
    name = f'JAX, each of {BLOCK:,} bluerov2_heavy with its controller: CPU µs/step (goal 1)'
    yield name, '.2f', held
    for count, steps in SIZES.items():
        cost, _ = compiled(vehicle, _thrust_ahead(vehicle), steps, count)
        yield f'JAX, {count:,} bluerov2: million vehicle-steps/s', '.2f', count / cost
    for wanted in triangles:
        vehicle = load_vehicle(hulled(wanted))
        assert vehicle.hull is not None
        assert vehicle.hull.panels is not None
        number = len(vehicle.hull.panels)
        one, _ = compiled(vehicle, _thrust_ahead(vehicle), 200, None)
        slow = step_microseconds(vehicle, 100)
        yield f'NumPy, {number:,} triangles, 1,000 voxels: µs/step', '.0f', slow
        yield f'JAX, {number:,} triangles, 1,000 voxels: µs/step', '.0f', one
        yield f'JAX over NumPy, {number:,} triangles: times', '.1f', slow / one
    yield from solid_engine_rows()
    yield from learning_rows()
