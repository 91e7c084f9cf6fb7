# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Speed of the compiled engine beside NumPy over solid ground, far from it and on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marine_sim_ros.bench.solid import THIN_WATER
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.compiled import Program, setting_of
from marine_sim_ros.engine.loop import states
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import Scenario, Segment
from marine_sim_ros.sim.simulation import Simulation

__all__ = ['least_cpu_seconds', 'solid_engine_rows', 'solid_step_costs']

STEPS = 400
"""Of a fall, which ends before 20 m are over."""
LONG = 2000
"""Steps at rest: the start of a program's run, about 1 ms, is nothing among them."""
MANY = 100
"""Vehicles of the batch."""


class StepCosts(NamedTuple):
    """CPU µs of a vehicle's step: with NumPy, compiled, as one of many; s of compiling."""

    numpy: float
    compiled: float
    in_batch: float
    compiling: float


def _falling(vehicle: Vehicle, environment: Environment, height: float) -> Scenario:
    """Return a scenario of a vehicle left at a height (m) above the ground, its rotors still."""
    assert environment.scene is not None
    z = environment.scene.ground(0.0, 0.0) - float(np.min(vehicle.contact.position[:, 2])) + height
    still = Segment(0.0, (0.0,) * 6, None, (1500.0,) * len(vehicle.thrusters))
    return Scenario('bench', '', 1.0, (0.0, 0.0, z), (0.0, 0.0, 0.3), (still,), ())


def _cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def solid_step_costs(name: str, scene: str, *, height: float, settled: bool) -> StepCosts:
    """Return what steps of a vehicle cost that falls on the ground in thin water.

    Args:
        name: name of a shipped vehicle.
        scene: a shipped environment.
        height: above the ground at the start, m.
        settled: whether only steps count after it has come to rest.
    """
    vehicle = load_vehicle(name)
    environment = replace(load_environment(scene), water_density=THIN_WATER)
    scenario = _falling(vehicle, environment, height)
    simulation = Simulation(vehicle, environment=environment, initial=scenario.initial_state())
    pwm = np.full(len(vehicle.thrusters), 1500.0)
    steps = LONG if settled else STEPS
    for _ in range(2 * STEPS if settled else 0):
        simulation.tick(pwm)
    start = simulation.state
    slow = _cpu_seconds(lambda: [simulation.tick(pwm) for _ in range(STEPS)]) / STEPS
    setting = setting_of(vehicle, scenario, environment)
    alone = Program([setting], ticks=steps + 1, every=steps // 20, keep=states)
    batch = Program([setting], ticks=steps + 1, every=steps // 20, keep=states, size=MANY)
    starts = State(*(np.repeat(values[:, None], MANY, axis=1) for values in start))
    return StepCosts(
        1e6 * slow,
        1e6 * least_cpu_seconds(lambda: alone.run(start)) / steps,
        1e6 * least_cpu_seconds(lambda: batch.run(starts)) / steps / MANY,
        alone.compile_time,
    )


def least_cpu_seconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of three rounds after a first one, s."""
    return min([_cpu_seconds(work) for _ in range(4)][1:])


def solid_engine_rows() -> Iterator[tuple[str, str, float]]:
    """Yield name, format and value of every measurement."""
    for height, settled, where in (
        (20.0, False, '20 m over rock'),
        (0.05, False, 'falling on rock'),
        (0.05, True, 'at rest on rock'),
    ):
        costs = solid_step_costs('bluerov2', 'deep_rock', height=height, settled=settled)
        yield f'NumPy, bluerov2 {where}: CPU µs/step', '.0f', costs.numpy
        yield f'JAX, bluerov2 {where}: CPU µs/step', '.1f', costs.compiled
        yield f'JAX, each of {MANY} bluerov2 {where}: CPU µs/step', '.1f', costs.in_batch
        yield f'JAX, bluerov2 {where}: compiling, s', '.1f', costs.compiling
