# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Differentiable simulation: gradients of a vehicle's motion by its parameters and commands."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.loop import LoopSetting, rollout, states
from marine_sim_ros.engine.script import Script
from marine_sim_ros.engine.thrust_tables import with_thruster_curves
from marine_sim_ros.engine.trees import compute_cached_properties
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.manipulator import has_articulated_arm
from marine_sim_ros.sim.simulation import DEFAULT_STEP
from marine_sim_ros.sim.step import Stepping

__all__ = ['motion']


def motion(
    vehicle: Vehicle,
    script: Script,
    initial: State,
    *,
    ticks: int,
    environment: Environment | None = None,
    dt: float = DEFAULT_STEP,
    every: int = 1,
) -> State:
    """Return the states (t, 3), (t, 4), (t, 6) of every so many ticks, traceable by JAX.

    Any number of the vehicle, the environment, the script and the initial state may be traced: set
    it with ``dataclasses.replace``, and ``jax.grad`` differentiates any function of the motion.
    Pulse widths of sticks are rounded and have no gradient; those of segments with ``pwm`` have
    one. Call it within :func:`~marine_sim_ros.engine.availability.precision`.

    Args:
        vehicle: the vehicle to simulate.
        script: scenario tables, from :func:`~marine_sim_ros.engine.script.make_script`.
        initial: state at the first tick.
        ticks: number of ticks; one more than a multiple of ``every``.
        environment: None for still water.
        dt: step, s.
        every: one tick in so many is returned.

    Raises:
        ParameterError: a vehicle with an articulated arm; the solver of its drives' limits has no
            gradient.
    """
    if has_articulated_arm(vehicle):
        raise ParameterError(
            f'{vehicle.name} has an articulated arm, whose motion has no gradient; expected '
            '<manipulator dynamics="kinematic">'
        )
    setting = compute_cached_properties(
        LoopSetting(with_thruster_curves(vehicle), environment or Environment(), script)
    )
    start = State(*(jnp.asarray(x) for x in initial))
    times = jnp.asarray(np.arange(ticks) * dt)
    # As arrays: scalarised, the reverse pass of a tick takes minutes to compile.
    recorded = rollout(
        setting,
        [],
        start,
        times,
        stepping=Stepping(dt),
        every=every,
        keep=states,
        written_out=False,
    )
    return State(*(recorded[name] for name in State._fields))
