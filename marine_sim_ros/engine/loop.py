# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The closed loop over time, traced: the core's functions in one ``lax.scan``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from marine_sim_ros.arrays import Array, namespace
from marine_sim_ros.engine.components import Components, components, joined, mixture
from marine_sim_ros.engine.control import Remembered, answer
from marine_sim_ros.engine.records import Slot, filled
from marine_sim_ros.engine.script import Script, open_loop
from marine_sim_ros.engine.tables import held
from marine_sim_ros.environment import Environment
from marine_sim_ros.faults.kinds import Fault
from marine_sim_ros.faults.tables import Tables
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.barometer import barometer
from marine_sim_ros.state import State
from marine_sim_ros.tick import Commands, Happened, Memory, Stepping, advance, begin

__all__ = ['Recorder', 'Setting', 'everything', 'rollout', 'states']

Recorder = Callable[['Setting', State, Array, Happened, Array], dict[str, Array]]
"""(setting, state, time, what happened, pwm) -> what to keep of a tick, by name."""


@dataclass(frozen=True, eq=False)
class Setting:
    """Who moves where, what is commanded, and what goes wrong.

    Attributes:
        vehicle: that moves.
        environment: around it, with gusts.
        script: that commands it.
        faults: of its thrusters, or None.
        readings: faults of its sensors, which no program computes.
    """

    vehicle: Vehicle
    environment: Environment
    script: Script
    faults: Tables | None = None
    readings: tuple[Fault, ...] = ()


class _Carry(NamedTuple):
    memory: Memory
    control: Remembered | None = None


class _Moment(NamedTuple):
    """A time () in s, and the words (2,) of its stamp, or None."""

    time: Array
    stamp: Array | None


def states(
    setting: Setting, state: State, time: Array, happened: Happened, pwm: Array
) -> dict[str, Array]:
    """Keep the state."""
    del setting, time, happened, pwm
    return {**state._asdict()}


def everything(
    setting: Setting, state: State, time: Array, happened: Happened, pwm: Array
) -> dict[str, Array]:
    """Keep what a :class:`~marine_sim_ros.trajectory.Trajectory` has."""
    kept = {
        **state._asdict(),
        'pwm': pwm,
        'thrust': happened.thrusters.thrust,
        'wrench': happened.total,
        **{f'wrench/{name}': wrench for name, wrench in happened.sources.items()},
    }
    if happened.joints is not None:
        kept['joints'] = happened.joints.position
    if setting.vehicle.barometer is not None:
        environment = setting.environment.at(time)
        kept['pressure'] = barometer(setting.vehicle.barometer, state, environment).pressure
    return kept


def _tick(
    setting: Setting, carry: _Carry, moment: _Moment, stepping: Stepping, since: float,
    keep: Recorder,
) -> tuple[_Carry, dict[str, Array]]:  # fmt: skip
    """Return the next carry, and what is kept of this tick."""
    time = moment.time
    vehicle, plan, state = setting.vehicle, setting.script, carry.memory.state
    pwm, control = open_loop(plan, time, state), None
    if plan.control is not None:
        wanted = held(plan.start, plan.setpoints, time)
        pwm, control = answer(
            plan.control, plan.start, wanted, time, state, carry.control, dt=stepping.dt, pwm=pwm
        )
    joints = None if vehicle.manipulator is None else held(plan.start, plan.joints, time)
    xp, faults = namespace(state.position), setting.faults
    acting = None if faults is None else faults.at(xp, time, moment.stamp)
    environment = setting.environment.at(time)
    happened, memory = advance(
        vehicle, environment, carry.memory, Commands(pwm, joints, acting), stepping, since=since
    )
    return _Carry(memory, control), keep(setting, state, time, happened, pwm)


def _like(value: Any, batch: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return a number of a carry as an array of the batch's shape and one type."""
    array = jnp.asarray(value)
    array = array if array.dtype == bool else array.astype(dtype)
    return jnp.broadcast_to(array, batch) if array.ndim < len(batch) else array


def rollout(
    setting: Setting,
    arguments: list[jax.Array],
    initial: State,
    times: jax.Array,
    stamps: jax.Array | None = None,
    *,
    stepping: Stepping,
    every: int = 1,
    keep: Recorder = everything,
    written_out: bool = True,
) -> dict[str, jax.Array]:
    """Return what is kept of every so many ticks: (ticks, ..., *batch) by name.

    Args:
        setting: numbers that differ within a batch are slots.
        arguments: for the slots, the batch's axis last.
        initial: state, the batch's axis last.
        times: (1 + m ``every``,) of the ticks, s.
        stamps: their words (1 + m ``every``, 2), for commands that get lost.
        stepping: how far the next tick is.
        every: one tick in so many is kept, beginning with the first.
        keep: what of it.
        written_out: compute with numbers of :mod:`~marine_sim_ros.engine.components` instead of
            arrays; a batch of arrays comes with ``jax.vmap`` instead of here.
    """
    dtype, batch = times.dtype, initial.position.shape[1:]

    def inside(value: Any) -> Any:
        if not isinstance(value, Slot):
            return components(value, jnp.ndim(value)) if written_out else value
        given = arguments[value.index]
        if value.many or not written_out:
            return jnp.asarray(value.base).at[value.varying].set(given)
        return mixture(value.base, value.varying, given)

    def clock(moment: _Moment) -> _Moment:
        time = components(moment.time, 0) if written_out else moment.time
        return moment._replace(time=time)

    setting = filled(setting, inside)
    start = State(*(components(x, 1) for x in initial)) if written_out else initial

    def settled(tree: Any) -> Any:
        return jax.tree.map(lambda x: _like(x, batch, dtype), tree)

    moments = _Moment(times, stamps)
    now, later = (jax.tree.map(itemgetter(i), moments) for i in (0, slice(1, None)))
    carry, first = _tick(
        setting, _Carry(begin(setting.vehicle, start)), clock(now), stepping, 0.0, keep
    )
    carry, first = settled((carry, first))

    def one(carry: Any, moment: _Moment) -> tuple[Any, None]:
        following, kept = _tick(setting, carry[0], clock(moment), stepping, stepping.dt, keep)
        return settled((following, kept)), None

    def block(carry: Any, some: _Moment) -> tuple[Any, Any]:
        if every == 1:
            carry, _ = one(carry, jax.tree.map(itemgetter(0), some))
        else:
            carry, _ = jax.lax.scan(one, carry, some)
        return carry, _packed(carry[1], batch, dtype)

    blocks = jax.tree.map(lambda x: x.reshape(-1, every, *x.shape[1:]), later)
    _, rest = jax.lax.scan(block, (carry, first), blocks)
    return _unpacked(first, _packed(first, batch, dtype), rest)


def _packed(kept: Mapping[str, Any], batch: tuple[int, ...], dtype: Any) -> Any:
    """Return all that is kept as one array (k, *batch): one copy instead of many."""
    flat = [
        joined(v, batch, dtype).reshape(-1, *batch) if isinstance(v, Components)
        else v.reshape(-1, *batch)
        for v in kept.values()
    ]  # fmt: skip
    return jnp.concatenate(flat)


def _unpacked(kept: Mapping[str, Any], first: jax.Array, rest: jax.Array) -> dict[str, jax.Array]:
    """Return arrays (ticks, ..., *batch) by name, of the first tick and the others."""
    rows = jnp.concatenate([first[None], rest])
    result, at = {}, 0
    for name, value in kept.items():
        shape = value.shape if isinstance(value, Components) else value.shape[:1]
        size = 1
        for n in shape:
            size *= n
        result[name] = rows[:, at : at + size].reshape(-1, *shape, *rows.shape[2:])
        at += size
    return result
