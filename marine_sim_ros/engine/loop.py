# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loop over time in one traced scan, and what its vehicles share of the scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.components import (
    Components,
    components,
    join_components,
    mix_components,
)
from marine_sim_ros.engine.program import reuse_common_values, trace_once
from marine_sim_ros.engine.script import (
    ControllerMemory,
    Script,
    control_command,
    initial_controller_memory,
    open_loop_pulses,
    row_at_time,
)
from marine_sim_ros.engine.trees import (
    Slot,
    compute_cached_properties,
    fill_slots,
    have_same_values,
)
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.faults.tables import FaultTables
from marine_sim_ros.faults.thrusters import fault_free_memory
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.manipulator import arm_step
from marine_sim_ros.sensors import needs_of
from marine_sim_ros.sim.step import (
    ACTUATED,
    WRENCHES,
    Memory,
    StepCommands,
    StepOutput,
    Stepping,
    advance,
    begin,
)

__all__ = [
    'LoopSetting',
    'Recorder',
    'broadcast_carry',
    'initial_loop_memory',
    'record_everything',
    'report_arrays',
    'rollout',
    'share_scene',
    'starts_without_memory',
    'states',
]


# The closed loop over time, traced: the core's functions in one ``lax.scan``.

Recorder = Callable[['LoopSetting', Array, StepOutput], dict[str, Array]]
"""(setting, time, output of the step) -> what to keep of a tick, by name."""


@dataclass(frozen=True, eq=False)
class LoopSetting:
    """Who moves where, what is commanded, and what goes wrong.

    Attributes:
        vehicle: the vehicle to simulate.
        environment: around it, with gusts.
        script: tables of its commands.
        faults: faults of its thrusters, or None.
        readings: faults of its sensors, which no program computes.
    """

    vehicle: Vehicle
    environment: Environment
    script: Script
    faults: FaultTables | None = None
    readings: tuple[Fault, ...] = ()


class _Carry(NamedTuple):
    memory: Memory
    control: ControllerMemory | None = None


class _TickTime(NamedTuple):
    """A time () in s, the words (2,) of its stamp, or None, and the s () since the tick before."""

    time: Array
    stamp: Array | None
    since: Any = None


def states(setting: LoopSetting, time: Array, happened: StepOutput) -> dict[str, Array]:
    """Keep the state."""
    del setting, time
    return {**happened.state._asdict()}


def record_everything(setting: LoopSetting, time: Array, happened: StepOutput) -> dict[str, Array]:
    """Keep what a :class:`~marine_sim_ros.sim.trajectory.Trajectory` has, and sensors need."""
    del time
    state = happened.state
    kept = {
        **state._asdict(),
        'pwm': happened.pwm,
        'thrust': happened.thrusters.thrust,
        'wrench': happened.total,
        **{WRENCHES + name: wrench for name, wrench in happened.sources.items()},
        **{ACTUATED + name: values for name, values in happened.actuators.items()},
    }
    needs = needs_of(setting.vehicle)
    if 'acceleration' in needs:
        kept['acceleration'] = happened.acceleration
    if 'supply' in needs:
        supply = happened.thrusters
        parts = {'power': supply.power, 'voltage': supply.voltage, 'used': supply.used}
        kept |= {name: part for name, part in parts.items() if part is not None}
    if 'tether' in needs and happened.cable is not None:
        kept['cable'] = happened.cable
    if 'rotors' in needs:
        kept['rotors'] = happened.thrusters.rotor_speed
    return kept


def _tick(
    setting: LoopSetting, carry: _Carry, moment: _TickTime, stepping: Stepping, keep: Recorder
) -> tuple[_Carry, dict[str, Array]]:
    """Return the next carry, and what is kept of this tick."""
    time = moment.time
    plan, state = setting.script, carry.memory.state
    pwm, control = open_loop_pulses(plan, time, state), None
    actuators = {n: row_at_time(plan.start, table, time) for n, table in plan.actuators.items()}
    if plan.control is not None:
        wanted = row_at_time(plan.start, plan.setpoints, time)
        pwm, actuators, control = control_command(
            plan.control,
            plan.start,
            wanted,
            time,
            state,
            carry.control,
            dt=stepping.dt,
            pwm=pwm,
            actuators=actuators,
        )
    xp, faults = namespace(state.position), setting.faults
    acting = None if faults is None else faults.at(xp, time, moment.stamp)
    environment = setting.environment.at(time)
    happened, memory = advance(
        setting.vehicle,
        environment,
        carry.memory,
        StepCommands(pwm, actuators, acting),
        stepping,
        since=moment.since,
    )
    if (cable := memory.forces.get('tether')) is not None:
        happened = happened._replace(cable=cable.position)
    return _Carry(memory, control), keep(setting, time, happened)


def _as_batch(value: Any, batch: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return a number of a carry as an array of the batch's shape and one type."""
    array = jnp.asarray(value)
    array = array if array.dtype == bool else array.astype(dtype)
    return jnp.broadcast_to(array, batch) if array.ndim < len(batch) else array


def rollout(
    setting: LoopSetting,
    arguments: list[jax.Array],
    initial: State,
    times: jax.Array,
    stamps: jax.Array | None = None,
    *,
    stepping: Stepping,
    every: int = 1,
    keep: Recorder = record_everything,
    written_out: bool = True,
) -> dict[str, jax.Array]:
    """Return the kept arrays of every so many ticks: (ticks, ..., *batch) by name.

    Args:
        setting: numbers that differ within a batch are slots.
        arguments: arguments for the slots, batch axis last.
        initial: state, the batch's axis last.
        times: (1 + m ``every``,) of the ticks, s.
        stamps: their words (1 + m ``every``, 2), for commands that get lost.
        stepping: step size and method of the integration.
        every: one tick in so many is kept, beginning with the first.
        keep: function that selects the kept quantities.
        written_out: compute with numbers of :mod:`~marine_sim_ros.engine.components` instead of
            arrays; a batch of arrays comes with ``jax.vmap`` instead of here.
    """
    dtype, batch = times.dtype, initial.position.shape[1:]

    def to_components(value: Any) -> Any:
        if not isinstance(value, Slot):
            return components(value, jnp.ndim(value)) if written_out else value
        given = arguments[value.index]
        if value.many or not written_out:
            return jnp.asarray(value.base).at[value.varying].set(given)
        return mix_components(value.base, value.varying, given)

    setting = fill_slots(setting, to_components)
    start = State(*(components(x, 1) for x in initial)) if written_out else initial

    def tick(carry: _Carry, moment: _TickTime) -> tuple[_Carry, dict[str, Any]]:
        if written_out:
            moment = moment._replace(time=components(moment.time, 0))
            if isinstance(moment.since, jax.Array):
                moment = moment._replace(since=components(moment.since, 0))
        return broadcast_carry(_tick(setting, carry, moment, stepping, keep), batch, dtype)

    tick = reuse_common_values(tick, 1.0 + 0.0 * times[0], batch)

    def pack(kept: Mapping[str, Any]) -> jax.Array:
        return _pack_outputs(kept, batch, dtype)

    moments = _TickTime(times, stamps)
    if written_out and starts_without_memory(setting.vehicle):
        carry = broadcast_carry(_previous_tick(setting, start, stepping.dt), batch, dtype)
        return _scan_all_ticks(tick, pack, carry, moments, stepping.dt, every)
    carry = _Carry(begin(setting.vehicle, setting.environment, start))
    return _scan_after_first(tick, pack, carry, moments, stepping.dt, every)


def broadcast_carry(tree: Any, batch: tuple[int, ...], dtype: Any) -> Any:
    """Return a carry with arrays of the batch's shape and one type in place of numbers."""
    return jax.tree.map(lambda x: _as_batch(x, batch, dtype), tree)


def report_arrays(tree: Any, dtype: Any) -> Any:
    """Return a program's outputs of one vehicle: arrays in place of Components and numbers."""
    return jax.tree.map(
        lambda x: join_components(x, (), dtype) if isinstance(x, Components) else x,
        broadcast_carry(tree, (), dtype),
        is_leaf=lambda x: isinstance(x, Components),
    )


def starts_without_memory(vehicle: Vehicle) -> bool:
    """Return whether the first tick is one like the others: what forces remember is nothing."""
    return vehicle.hull is None or vehicle.hull.panels is None


def _previous_tick(setting: LoopSetting, start: State, dt: float) -> _Carry:
    """Return the memory that a tick before the first would have left behind."""
    plan = setting.script
    memory = initial_loop_memory(setting.vehicle, setting.environment, start, setting.faults)
    control = None if plan.control is None else initial_controller_memory(plan.control, start, dt)
    return _Carry(memory, control)


def initial_loop_memory(
    vehicle: Vehicle, environment: Environment, start: State, faults: FaultTables | None
) -> Memory:
    """Return the memory of a vehicle at the first tick, of the structure of all others."""
    memory = begin(vehicle, environment, start)
    if faults is not None:
        calm = memory.propulsion._replace(faults=fault_free_memory(memory.propulsion.rotors))
        memory = memory._replace(propulsion=calm)
    if vehicle.manipulator is not None and memory.joints is not None:
        *_, arm = arm_step(
            vehicle,
            start,
            memory.joints,
            None,
            target=memory.joints.position,
            dt=0.0,
            environment=environment,
        )
        memory = memory._replace(arm=arm)
    return memory


Tick = Callable[[_Carry, _TickTime], tuple[_Carry, dict[str, Any]]]
Pack = Callable[[Mapping[str, Any]], jax.Array]


def _tick_time(moments: _TickTime, i: Any) -> _TickTime:
    return jax.tree.map(lambda x: x[i], moments)  # type: ignore[no-any-return]


def _scan_all_ticks(
    tick: Tick, pack: Pack, carry: _Carry, moments: _TickTime, dt: float, every: int
) -> dict[str, jax.Array]:
    """Run all ticks by one loop, so that a tick is compiled once."""
    moments = moments._replace(since=jnp.full_like(moments.time, dt).at[0].set(0.0))
    once = trace_once(tick)
    _, shapes = jax.eval_shape(once, carry, _tick_time(moments, 0))
    kept = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    def block(carry: Any, last: jax.Array) -> tuple[Any, jax.Array]:
        first = jnp.maximum(last - every + 1, 0)
        carry = jax.lax.fori_loop(
            first, last + 1, lambda i, before: once(before[0], _tick_time(moments, i)), carry
        )
        return carry, pack(carry[1])

    _, rows = jax.lax.scan(block, (carry, kept), jnp.arange(0, len(moments.time), every))
    return _unpack_outputs(kept, rows)


def _scan_after_first(
    tick: Tick, pack: Pack, carry: _Carry, moments: _TickTime, dt: float, every: int
) -> dict[str, jax.Array]:
    """Run the first tick, in which nothing is remembered, and the others by a loop."""
    first = tick(carry, _tick_time(moments, 0)._replace(since=0.0))
    blocks = (len(moments.time) - 1) // every
    later = jax.tree.map(lambda x: x[1:].reshape(blocks, every, *x.shape[1:]), moments)

    def one(before: Any, moment: _TickTime) -> tuple[Any, None]:
        return tick(before[0], moment._replace(since=dt)), None

    def block(carry: Any, some: _TickTime) -> tuple[Any, jax.Array]:
        if every == 1:
            carry, _ = one(carry, _tick_time(some, 0))
        else:
            carry, _ = jax.lax.scan(one, carry, some)
        return carry, pack(carry[1])

    _, rest = jax.lax.scan(block, first, later)
    return _unpack_outputs(first[1], jnp.concatenate([pack(first[1])[None], rest]))


def _pack_outputs(kept: Mapping[str, Any], batch: tuple[int, ...], dtype: Any) -> Any:
    """Return all that is kept as one array (k, *batch): one copy instead of many."""
    flat = [
        join_components(v, batch, dtype).reshape(-1, *batch)
        if isinstance(v, Components)
        else v.reshape(-1, *batch)
        for v in kept.values()
    ]
    return jnp.concatenate(flat)


def _unpack_outputs(kept: Mapping[str, Any], rows: jax.Array) -> dict[str, jax.Array]:
    """Return arrays (ticks, ..., *batch) by name of rows (ticks, k, *batch)."""
    result, at = {}, 0
    for name, value in kept.items():
        shape = value.shape if isinstance(value, Components) else value.shape[:1]
        size = math.prod(shape)
        result[name] = rows[:, at : at + size].reshape(len(rows), *shape, *rows.shape[2:])
        at += size
    return result


# What is solid around the vehicles of a batch, and what they touch it with: one for all.


def _check_contact_points(vehicle: Vehicle, first: Vehicle) -> None:
    """Have a vehicle compute its contact points, which must be those of the first one.

    Raises:
        ParameterError: they are not.
        ModelError: a collision mesh that cannot be used.
    """
    own, points = compute_cached_properties(first.contact), vehicle.contact
    if not have_same_values(compute_cached_properties(points), own):
        raise ParameterError(
            'batch: the collisions of its vehicles differ; expected the same in all, where there '
            'is something to touch'
        )


def share_scene(settings: Sequence[LoopSetting]) -> list[LoopSetting]:
    """Return the settings of a batch with one scene, one table of materials, one set of points.

    A program is made for these; equal ones become one.

    Raises:
        ParameterError: they differ.
        ModelError: a collision mesh that cannot be used.
    """
    first = settings[0]
    solid = first.environment.scene, first.environment.materials
    result = []
    for setting in settings:
        around = setting.environment
        if not have_same_values((around.scene, around.materials), solid):
            raise ParameterError(
                f'batch: what is solid in {first.environment.name or "the first environment"} and '
                f'in {around.name or "another"} differs; expected one scene for all'
            )
        if solid[0] is not None and len(solid[0]):
            _check_contact_points(setting.vehicle, first.vehicle)
        if around.scene is not solid[0] or around.materials is not solid[1]:
            around = compute_cached_properties(replace(around, scene=solid[0], materials=solid[1]))
            setting = replace(setting, environment=around)
        result.append(setting)
    return result
