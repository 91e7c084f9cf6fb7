# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces on arrays within a step that is computed number by number.

Contact searches, sorts and iterates, which cannot be written out (engine/components.py). But it is
zero away from surfaces, and compiled programs skip it there. So a batch computes everything else
number by number, and calls such a force with arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from marine_sim_ros.core.state import State
from marine_sim_ros.engine.components import Components, components, join_components
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import ForceInputs, ForceModel
from marine_sim_ros.sim.step import EvaluateForce, evaluate_force

__all__ = ['evaluate_on_arrays']


def _as_arrays(tree: Any, batch: tuple[int, ...], dtype: Any) -> Any:
    """Return a tree with arrays in place of Components, the batch's axis last."""
    return jax.tree.map(
        lambda x: join_components(x, batch, dtype) if isinstance(x, Components) else x,
        tree,
        is_leaf=lambda x: isinstance(x, Components),
    )


def _has_memory(full: Callable[[], tuple[Any, Any]]) -> bool:
    return bool(jax.tree.leaves(jax.eval_shape(full)[1]))


def evaluate_on_arrays(
    model: Callable[[Sequence[jax.Array]], tuple[Vehicle, Environment]],
    arguments: Sequence[jax.Array],
    step: float,
    batch: tuple[int, ...],
    dtype: Any,
) -> EvaluateForce:
    """Return a function that evaluates the forces of a tick; local ones get arrays.

    Args:
        model: function of the arguments of one vehicle that returns it and its environment.
        arguments: numbers (k, *batch) that differ within the batch.
        step: time between ticks, s; a force without memory is in its first.
        batch: shape of a batch: () or (N,).
        dtype: type of the numbers.
    """

    def evaluate(
        force: ForceModel,
        vehicle: Vehicle,
        state: State,
        environment: Environment,
        inputs: ForceInputs,
        memory: Any,
        *,
        dt: Any,
    ) -> tuple[Any, Any]:
        if force.scalar or force.may_act is None:
            return evaluate_force(force, vehicle, state, environment, inputs, memory, dt=dt)

        def call(
            arguments: Sequence[jax.Array], state: State, thrust: jax.Array, memory: Any
        ) -> tuple[Any, Any]:
            body, water = model(arguments)
            inputs, since = ForceInputs(thrust, body, {}), 0.0 if memory is None else step
            return force.step(body, state, water, inputs, memory, dt=since)

        mapped = jax.vmap(call, in_axes=-1, out_axes=-1) if batch else call
        arrays = _as_arrays((state, inputs.thrust, memory), batch, dtype)
        full = partial(mapped, list(arguments), *arrays)
        needed = _as_arrays(force.may_act(vehicle, state, environment, step), batch, bool)
        if memory is None and _has_memory(full):
            wrench, after = full()  # the first tick
        else:
            zero = jnp.zeros((6, *batch), dtype)
            wrench, after = jax.lax.cond(jnp.any(needed), full, lambda: (zero, memory))
        return components(wrench, 1), after

    return evaluate
