# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tunes three gains of the controller by gradient descent, through the whole closed loop.

    python docs/examples/tune_gains.py

A BlueROV2 Heavy holds its place while a current of 0.4 m/s sets in from the side; the gains it
starts with are far too weak. The cost is the mean squared error of the position, a share of the
turn rates, and what a centimetre of noise in the position would do to the thrust. The slope is
that of the compiled motion: law, allocation, thrusters and water. The allocation's pulse widths
are not rounded on the way, because steps have no slope; what is found is tried with whole ones at
the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.control.cascade import CascadeLaw, CascadeSettings
from marine_sim_ros.control.controller_model import load_controller
from marine_sim_ros.core.arrays import Array
from marine_sim_ros.engine.availability import precision
from marine_sim_ros.engine.motion import motion
from marine_sim_ros.engine.script import Script, make_script
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

SECONDS, DT = 4.0, 0.02
CURRENT = Environment(current=np.array([0.1, 0.4, 0.0]))
START = np.array([0.6, 0.4, 0.1])
"""Bandwidth at the target, rad/s; damping ratio; integral."""


def cost_of(gains: Array, position: Array, velocity: Array, target: np.ndarray) -> Array:
    """Return the cost of a motion (t, 3), (t, 6) with gains (3,)."""
    error = ((position - target) ** 2).sum(axis=1) + 0.01 * (velocity[:, 3:] ** 2).sum(axis=1)
    noise = 0.01 * gains[0] ** 2  # m/s² of a centimetre
    return error.mean() + 0.1 * noise**2


def with_gains(plan: Script, gains: jax.Array) -> Script:
    """Return a script whose controller has gains (3,)."""
    assert plan.control is not None
    law = plan.control.law
    assert isinstance(law, CascadeLaw)
    bandwidth = jnp.stack([gains[0] * jnp.ones(2), *jnp.asarray(law.bandwidth)[1:]])
    law = replace(law, bandwidth=bandwidth, damping=gains[1], integral=gains[2])
    return replace(plan, control=replace(plan.control, law=law))


def settings_with(gains: np.ndarray) -> CascadeSettings:
    """Return the shipped controller with gains (3,)."""
    settings = load_controller('modern')
    bandwidth = replace(settings.bandwidth, station=(float(gains[0]),) * 2)
    return replace(
        settings, bandwidth=bandwidth, damping=float(gains[1]), integral=float(gains[2])
    )


def costs() -> tuple[Callable[[jax.Array], jax.Array], Callable[[np.ndarray], float]]:
    """Return the cost of gains (3,) to differentiate, and with NumPy and whole pulse widths."""
    vehicle, scenario = load_vehicle('bluerov2_heavy'), load_scenario('position_hold')
    target = np.array(scenario.position)
    plan = make_script(scenario, vehicle, whole_microseconds=False)

    def smooth(gains: jax.Array) -> jax.Array:
        moved = motion(
            vehicle,
            with_gains(plan, gains),
            scenario.initial_state(),
            ticks=round(SECONDS / DT) + 1,
            environment=CURRENT,
            dt=DT,
        )
        return cost_of(gains, moved.position, moved.velocity, target)

    def whole(gains: np.ndarray) -> float:
        run = simulate(
            vehicle,
            scenario,
            environment=CURRENT,
            dt=DT,
            duration=SECONDS,
            controller=settings_with(gains),
        )
        return float(cost_of(gains, run.position, run.velocity, target))

    return smooth, whole


def compiled(
    cost: Callable[[jax.Array], jax.Array],
) -> tuple[Callable[[np.ndarray], jax.Array], Callable[[np.ndarray], jax.Array]]:
    """Return the cost of log gains (3,), and its slope (3,)."""

    def of_logs(logs: jax.Array) -> jax.Array:
        return cost(jnp.exp(logs))

    return jax.jit(of_logs), jax.jit(jax.jacfwd(of_logs))


def tuned(
    value: Callable[[np.ndarray], jax.Array],
    slope: Callable[[np.ndarray], jax.Array],
    steps: int = 12,
) -> list[tuple[np.ndarray, float]]:
    """Return gains and costs of a descent; it goes down the slope of log gains.

    A step that brings nothing is halved, one that does is followed by a longer one.
    """
    at, length = np.log(START), 0.5
    path = [(np.exp(at), float(value(at)))]
    for _ in range(steps):
        down = np.asarray(slope(at))
        trial = at - length * down / np.linalg.norm(down)
        now = float(value(trial))
        if now < path[-1][1]:
            at, length = trial, 1.5 * length
            path.append((np.exp(at), now))
        else:
            length /= 2
    return path


def main() -> None:
    """Print the way down."""
    with precision('float64'):
        smooth, whole = costs()
        path = tuned(*compiled(smooth))
        print('bandwidth  damping  integral   cost')
        for gains, cost in path:
            print(f'{gains[0]:9.3f}{gains[1]:9.3f}{gains[2]:10.3f}{cost:11.6f}')
        print(f'with whole pulse widths: {whole(path[0][0]):.6f} -> {whole(path[-1][0]):.6f}')


if __name__ == '__main__':
    main()
