# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Speed of the compiled engine and of learning environments beside NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import NamedTuple, TypeAlias

import numpy as np

from marine_sim_ros.bench.numpy_steps import BENCH_PWM, ON_THE_DECK, THIN_WATER, step_microseconds
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.batch import BLOCK, run_in_blocks
from marine_sim_ros.engine.compiled import ScenarioProgram, make_setting, make_trajectory
from marine_sim_ros.engine.loop import states
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import Scenario, Segment, load_scenario
from marine_sim_ros.sim.simulation import Simulation

__all__ = ['engine_rows']


# Compiled engine and NumPy over solid ground: far from it, and on it.

STEPS = 400
"""Of a fall, which ends before 20 m are over."""
LONG = 2000
"""Steps at rest: the start of a program's run, about 1 ms, is nothing among them."""
BATCH_SIZE = 100
"""Vehicles of the batch."""


Place: TypeAlias = tuple[float, float, float]


class StepCosts(NamedTuple):
    """CPU µs of a vehicle's step: with NumPy, compiled, as one of many; s of compiling."""

    numpy: float
    compiled: float
    in_batch: float
    compiling: float


def _fall_scenario(
    vehicle: Vehicle, environment: Environment, height: float, place: Place | None
) -> Scenario:
    """Return a scenario of a vehicle left at a height (m) above a place, its rotors still."""
    assert environment.scene is not None
    x, y, ground = place or (0.0, 0.0, environment.scene.ground(0.0, 0.0))
    z = ground - float(np.min(vehicle.contact.position[:, 2])) + height
    still = Segment(0.0, (0.0,) * 6, None, (1500.0,) * len(vehicle.thrusters))
    return Scenario('bench', '', 1.0, (x, y, z), (0.0, 0.0, 0.3), (still,), ())


def _cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def solid_step_costs(
    name: str, scene: str, *, height: float, settled: bool, place: Place | None = None
) -> StepCosts:
    """Return the cost of steps of a vehicle that falls on something solid in thin water.

    Args:
        name: name of a shipped vehicle.
        scene: a shipped environment.
        height: above the place at the start, m.
        settled: whether only steps count after it has come to rest.
        place: in map, m; None: on the ground at the origin.
    """
    vehicle = load_vehicle(name)
    environment = replace(load_environment(scene), water_density=THIN_WATER)
    scenario = _fall_scenario(vehicle, environment, height, place)
    simulation = Simulation(vehicle, environment=environment, initial=scenario.initial_state())
    pwm = np.full(len(vehicle.thrusters), 1500.0)
    steps = LONG if settled else STEPS
    for _ in range(2 * STEPS if settled else 0):
        simulation.tick(pwm)
    start = simulation.state
    slow = _cpu_seconds(lambda: [simulation.tick(pwm) for _ in range(STEPS)]) / STEPS
    setting = make_setting(vehicle, scenario, environment)
    alone = ScenarioProgram([setting], ticks=steps + 1, every=steps // 20, keep=states)
    batch = ScenarioProgram(
        [setting], ticks=steps + 1, every=steps // 20, keep=states, size=BATCH_SIZE
    )
    starts = State(*(np.repeat(values[:, None], BATCH_SIZE, axis=1) for values in start))
    return StepCosts(
        1e6 * slow,
        1e6 * least_cpu_seconds(lambda: alone.run(start)) / steps,
        1e6 * least_cpu_seconds(lambda: batch.run(starts)) / steps / BATCH_SIZE,
        alone.compile_time,
    )


def least_cpu_seconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of three rounds after a first one, s."""
    return min([_cpu_seconds(work) for _ in range(4)][1:])


def solid_engine_rows() -> Iterator[tuple[str, str, float]]:
    """Yield name, format and value of every measurement."""
    cases: list[tuple[float, bool, str, str, Place | None]] = [
        (20.0, False, '20 m over rock', 'deep_rock', None),
        (0.05, False, 'falling on rock', 'deep_rock', None),
        (0.05, True, 'at rest on rock', 'deep_rock', None),
    ]
    if find_spec('numba'):
        cases.append((0.05, True, 'at rest on the wreck', 'wreck', ON_THE_DECK))
    for height, settled, where, scene, place in cases:
        costs = solid_step_costs('bluerov2', scene, height=height, settled=settled, place=place)
        yield f'NumPy, bluerov2 {where}: CPU µs/step', '.0f', costs.numpy
        yield f'JAX, bluerov2 {where}: CPU µs/step', '.1f', costs.compiled
        yield f'JAX, each of {BATCH_SIZE} bluerov2 {where}: CPU µs/step', '.1f', costs.in_batch
        yield f'JAX, bluerov2 {where}: compiling, s', '.1f', costs.compiling


# Cost of a step of learning environments.

TASK = 'marine_sim_ros/StationKeeping-v0'
LEARNING_COPIES = 1000
LEARNING_STEPS = 10
"""Of each measurement; an environment's step is ten ticks."""


def learning_rows() -> Iterator[tuple[str, str, float]]:
    """Yield name, format and value of every measurement; none without Gymnasium."""
    if find_spec('gymnasium') is None:
        return
    from marine_sim_ros.gym import gymnasium

    many = gymnasium.make_vec(TASK, num_envs=LEARNING_COPIES, vehicle='bluerov2_heavy')
    many.action_space.seed(0)
    many.reset(seed=0)
    actions = [many.action_space.sample() for _ in range(LEARNING_STEPS)]
    cost = (
        least_cpu_seconds(lambda: [many.step(action) for action in actions])
        / LEARNING_STEPS
        / LEARNING_COPIES
    )
    many.close()
    yield (
        f'each of {LEARNING_COPIES:,} station keepers: CPU µs of a step of ten ticks',
        '.2f',
        1e6 * cost,
    )


# Compiled engine and NumPy: one vehicle, many, large hulls, contact.

SIZES = {1: 20_000, 10: 10_000, 1000: 1_000, 10_000: 200}
"""Steps of a batch of so many vehicles."""


def _thrust_ahead(vehicle: Vehicle) -> Scenario:
    pwm = tuple([BENCH_PWM] * len(vehicle.thrusters))
    segment = Segment(0.0, (0.0,) * 6, None, pwm)
    return Scenario('bench', '', 1.0, (0.0, 0.0, -5.0), (0.1, 0.2, 0.3), (segment,), ())


def compiled_step_cost(
    vehicle: Vehicle, scenario: Scenario, steps: int, count: int | None
) -> tuple[float, float]:
    """Return µs a step of all vehicles takes, and s of compiling.

    Args:
        steps: number of steps of the measurement.
        count: number of vehicles in the batch; None for a single vehicle without a batch.
    """
    setting = make_setting(vehicle, scenario, None)
    start = State(*(np.array(x) for x in scenario.initial_state()))
    program = ScenarioProgram(
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


def batch_step_cost(vehicle: Vehicle, scenario: Scenario, steps: int) -> float:
    """Return µs of processor time that a step of one vehicle takes in a batch of ``BLOCK``."""
    setting = make_setting(vehicle, scenario, None)
    program = ScenarioProgram(
        [setting], ticks=steps + 1, every=steps // 20, keep=states, size=BLOCK
    )
    starts = State(*(np.repeat(np.array(x)[:, None], BLOCK, 1) for x in scenario.initial_state()))
    return least_cpu_seconds(lambda: program.run(starts)) / steps / BLOCK * 1e6


def recorded_step_cost(vehicle: Vehicle, scenario: Scenario, steps: int) -> float:
    """Return µs a step takes of which everything is kept: the barometer's noisy reading too.

    Nothing of it can be left out: set-points, law, allocation, thrusters, forces, integration and
    pressure of every tick are in the trajectory, or lead to what is.
    """
    setting = make_setting(vehicle, scenario, None)
    program = ScenarioProgram([setting], ticks=steps + 1)
    start = scenario.initial_state()

    def work() -> None:
        done = make_trajectory(setting, program.run(start), program.kept, seed=0)
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
        one, seconds = compiled_step_cost(vehicle, _thrust_ahead(vehicle), 20_000, None)
        yield f'JAX, {name}: µs/step', '.2f', one
        yield f'JAX, {name}: compiling, s', '.2f', seconds
        yield f'JAX over NumPy, {name}: times', '.0f', step_microseconds(vehicle, 2000) / one
    vehicle = load_vehicle('bluerov2')
    dive = replace(load_scenario('dive'), expectations=())
    loop, _ = compiled_step_cost(vehicle, dive, 20_000, None)
    yield 'JAX, bluerov2 holding a depth: µs/step', '.2f', loop
    hold = load_scenario('position_hold')
    for name in ('bluerov2', 'bluerov2_heavy'):
        loop, seconds = compiled_step_cost(load_vehicle(name), hold, 20_000, None)
        yield f'JAX, {name} with its controller: µs/step', '.2f', loop
        yield f'JAX, {name} with its controller: compiling, s', '.1f', seconds
        sensed = recorded_step_cost(load_vehicle(name), hold, 20_000)
        yield f'JAX, {name} with controller and barometer, all kept: µs/step', '.2f', sensed
    heavy = load_vehicle('bluerov2_heavy')
    alone, held = (
        batch_step_cost(heavy, _thrust_ahead(heavy), 1000),
        batch_step_cost(heavy, hold, 1000),
    )
    yield f'JAX, each of {BLOCK:,} bluerov2_heavy: CPU µs/step', '.2f', alone
    name = f'JAX, each of {BLOCK:,} bluerov2_heavy with its controller: CPU µs/step (goal 1)'
    yield name, '.2f', held
    for count, steps in SIZES.items():
        cost, _ = compiled_step_cost(vehicle, _thrust_ahead(vehicle), steps, count)
        yield f'JAX, {count:,} bluerov2: million vehicle-steps/s', '.2f', count / cost
    for wanted in triangles:
        vehicle = load_vehicle(hulled(wanted))
        assert vehicle.hull is not None
        assert vehicle.hull.panels is not None
        number = len(vehicle.hull.panels)
        one, _ = compiled_step_cost(vehicle, _thrust_ahead(vehicle), 200, None)
        slow = step_microseconds(vehicle, 100)
        yield f'NumPy, {number:,} triangles, 1,000 voxels: µs/step', '.0f', slow
        yield f'JAX, {number:,} triangles, 1,000 voxels: µs/step', '.0f', one
        yield f'JAX over NumPy, {number:,} triangles: times', '.1f', slow / one
    yield from solid_engine_rows()
    yield from learning_rows()
