# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rollout: all ticks of a scenario in one traced ``lax.scan``, for one vehicle or a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from marine_sim_ros.core.arrays import Array, is_numeric, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.array_forces import evaluate_on_arrays
from marine_sim_ros.engine.components import (
    Components,
    components,
    join_components,
    mix_components,
)
from marine_sim_ros.engine.program import trace_once
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
from marine_sim_ros.engine.xla_rewrites import reuse_common_values
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.devices import fault_free_memory
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.faults.tables import FaultTables
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.physics.arm.manipulator import arm_step
from marine_sim_ros.sensors import needs_of
from marine_sim_ros.sim.step import (
    ACTUATED,
    WRENCHES,
    EvaluateForce,
    Memory,
    StepCommands,
    StepOutput,
    Stepping,
    advance,
    begin,
    evaluate_force,
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
    'slot_value',
    'starts_without_memory',
    'states',
]


Recorder = Callable[['LoopSetting', Array, StepOutput], dict[str, Array]]
"""(setting, time, output of the step) -> recorded quantities of a tick, by name."""


@dataclass(frozen=True, eq=False)
class LoopSetting:
    """Vehicle, environment, commands and faults of a run.

    Attributes:
        vehicle: the vehicle to simulate.
        environment: the environment, with gusts.
        script: tables of the commands.
        faults: faults of the thrusters, or None.
        readings: faults of the sensors, which are applied after the compiled program.
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
    """Time () in s, the words (2,) of its stamp or None, and the s () since the previous tick."""

    time: Array
    stamp: Array | None
    since: Any = None


def states(setting: LoopSetting, time: Array, output: StepOutput) -> dict[str, Array]:
    """Record the state."""
    del setting, time
    return {**output.state._asdict()}


def record_everything(setting: LoopSetting, time: Array, output: StepOutput) -> dict[str, Array]:
    """Record all quantities of a trajectory, and those that the vehicle's sensors need.

    See :class:`~marine_sim_ros.sim.trajectory.Trajectory`.
    """
    del time
    state = output.state
    recorded = {
        **state._asdict(),
        'pwm': output.pwm,
        'thrust': output.thrusters.thrust,
        'wrench': output.total,
        **{WRENCHES + name: wrench for name, wrench in output.sources.items()},
        **{ACTUATED + name: values for name, values in output.actuators.items()},
    }
    needs = needs_of(setting.vehicle)
    if 'acceleration' in needs:
        recorded['acceleration'] = output.acceleration
    if 'supply' in needs:
        supply = output.thrusters
        optional = {'power': supply.power, 'voltage': supply.voltage, 'used': supply.used}
        recorded |= {name: value for name, value in optional.items() if value is not None}
    if output.cable is not None:
        recorded |= {'cable': output.cable, 'tension': output.tension}
    if 'rotors' in needs:
        recorded['rotors'] = output.thrusters.rotor_speed
    bodies = {n: getattr(output, n) for n in ('bodies', 'body_joints', 'body_cables')}
    recorded |= {name: values for name, values in bodies.items() if values is not None}
    return recorded


def _tick(
    setting: LoopSetting,
    carry: _Carry,
    tick_time: _TickTime,
    stepping: Stepping,
    keep: Recorder,
    evaluate: EvaluateForce,
    advance: Callable[..., tuple[StepOutput, Memory]],
) -> tuple[_Carry, dict[str, Array]]:
    """Return the next carry, and the recorded quantities of this tick."""
    time = tick_time.time
    script, state = setting.script, carry.memory.state
    pwm, control = open_loop_pulses(script, time, state), None
    actuators = {
        n: row_at_time(script.start, table, time) for n, table in script.actuators.items()
    }
    if script.control is not None:
        setpoint = row_at_time(script.start, script.setpoints, time)
        pwm, actuators, control = control_command(
            script.control,
            script.start,
            setpoint,
            time,
            state,
            carry.control,
            dt=stepping.dt,
            pwm=pwm,
            actuators=actuators,
        )
    xp, faults = namespace(state.position), setting.faults
    active_faults = None if faults is None else faults.at(xp, time, tick_time.stamp)
    environment = setting.environment.at(time)
    output, memory = advance(
        setting.vehicle,
        environment,
        carry.memory,
        StepCommands(pwm, actuators, active_faults),
        stepping,
        since=tick_time.since,
        evaluate=evaluate,
    )
    if (cable := memory.forces.get('tether')) is not None:
        output = output._replace(cable=cable.position, tension=cable.tension)
    return _Carry(memory, control), keep(setting, time, output)


def _as_batch(value: Any, batch: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return a value of a carry as an array of the batch's shape and of one type."""
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
    advance: Callable[..., tuple[StepOutput, Memory]] = advance,
) -> dict[str, jax.Array]:
    """Return the recorded arrays (ticks, ..., *batch) of a run, by name.

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
        advance: step of the vehicle, see engine/bodies.py.
    """
    dtype, batch = times.dtype, initial.position.shape[1:]

    def to_components(value: Any) -> Any:
        if not isinstance(value, Slot):
            return components(value, jnp.ndim(value)) if written_out else value
        return slot_value(value, arguments, written_out=written_out)

    template, setting = setting, fill_slots(setting, to_components)
    start = State(*(components(x, 1) for x in initial)) if written_out else initial

    def tick(carry: _Carry, tick_time: _TickTime) -> tuple[_Carry, dict[str, Any]]:
        evaluate = evaluate_force
        if written_out:
            model = partial(_model_at, template, tick_time.time)
            evaluate = evaluate_on_arrays(model, arguments, stepping.dt, batch, dtype)
            tick_time = tick_time._replace(time=components(tick_time.time, 0))
            if not is_numeric(tick_time.since):
                tick_time = tick_time._replace(since=components(tick_time.since, 0))
        carry_and_record = _tick(setting, carry, tick_time, stepping, keep, evaluate, advance)
        return broadcast_carry(carry_and_record, batch, dtype)

    tick = reuse_common_values(tick, 1.0 + 0.0 * times[0], batch)

    def pack(recorded: Mapping[str, Any]) -> jax.Array:
        return _pack_outputs(recorded, batch, dtype)

    tick_times = _TickTime(times, stamps)
    forces = acting_forces(setting.vehicle, setting.environment)
    has_memory = not starts_without_memory(setting.vehicle) or not all(f.scalar for f in forces)
    if written_out and not has_memory:
        carry = broadcast_carry(_previous_tick(setting, start, stepping.dt), batch, dtype)
        return _scan_all_ticks(tick, pack, carry, tick_times, stepping.dt, every)
    carry = _Carry(begin(setting.vehicle, setting.environment, start))
    return _scan_after_first(tick, pack, carry, tick_times, stepping.dt, every)


def slot_value(slot: Slot, arguments: Sequence[jax.Array], *, written_out: bool) -> Any:
    """Return the content of a slot: an array, or Components where the program is written out."""
    values = arguments[slot.index]
    if slot.over_hull or not written_out:
        return jnp.asarray(slot.base).at[slot.varying].set(values)
    return mix_components(slot.base, slot.varying, values)


def _model_at(
    template: LoopSetting, time: Any, arguments: Sequence[jax.Array]
) -> tuple[Vehicle, Environment]:
    """Return vehicle and environment at a time (s) for the arguments of one vehicle."""

    def to_array(value: Any) -> Any:
        is_slot = isinstance(value, Slot)
        return slot_value(value, arguments, written_out=False) if is_slot else value

    setting = fill_slots(template, to_array)
    return setting.vehicle, setting.environment.at(time)


def broadcast_carry(tree: Any, batch: tuple[int, ...], dtype: Any) -> Any:
    """Return a carry whose leaves are arrays of the batch's shape and of one type."""
    return jax.tree.map(lambda x: _as_batch(x, batch, dtype), tree)


def report_arrays(tree: Any, dtype: Any) -> Any:
    """Return the outputs of one vehicle's program as arrays, without Components and numbers."""
    return jax.tree.map(
        lambda x: join_components(x, (), dtype) if isinstance(x, Components) else x,
        broadcast_carry(tree, (), dtype),
        is_leaf=lambda x: isinstance(x, Components),
    )


def starts_without_memory(vehicle: Vehicle) -> bool:
    """Return whether no force needs memory, so that the first tick runs like all others.

    Panels remember the immersion of the tick before.
    """
    return vehicle.hull is None or vehicle.hull.panels is None


def _previous_tick(setting: LoopSetting, start: State, dt: float) -> _Carry:
    """Return the carry of an imaginary tick before the first."""
    script = setting.script
    memory = initial_loop_memory(setting.vehicle, setting.environment, start, setting.faults)
    control = (
        None if script.control is None else initial_controller_memory(script.control, start, dt)
    )
    return _Carry(memory, control)


def initial_loop_memory(
    vehicle: Vehicle, environment: Environment, start: State, faults: FaultTables | None
) -> Memory:
    """Return the memory of a vehicle at the first tick, with the structure of later ticks."""
    memory = begin(vehicle, environment, start)
    if faults is not None:
        propulsion = memory.propulsion._replace(faults=fault_free_memory(memory.propulsion.rotors))
        memory = memory._replace(propulsion=propulsion)
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


def _tick_time(tick_times: _TickTime, i: Any) -> _TickTime:
    return jax.tree.map(lambda x: x[i], tick_times)  # type: ignore[no-any-return]


def _scan_all_ticks(
    tick: Tick, pack: Pack, carry: _Carry, tick_times: _TickTime, dt: float, every: int
) -> dict[str, jax.Array]:
    """Run all ticks in one loop, so that a tick is compiled once."""
    tick_times = tick_times._replace(since=jnp.full_like(tick_times.time, dt).at[0].set(0.0))
    traced_tick = trace_once(tick)
    _, shapes = jax.eval_shape(traced_tick, carry, _tick_time(tick_times, 0))
    initial_output = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    def block(carry: Any, last: jax.Array) -> tuple[Any, jax.Array]:
        first = jnp.maximum(last - every + 1, 0)
        carry = jax.lax.fori_loop(
            first,
            last + 1,
            lambda i, previous_carry: traced_tick(previous_carry[0], _tick_time(tick_times, i)),
            carry,
        )
        return carry, pack(carry[1])

    _, rows = jax.lax.scan(
        block, (carry, initial_output), jnp.arange(0, len(tick_times.time), every)
    )
    return _unpack_outputs(initial_output, rows)


def _scan_after_first(
    tick: Tick, pack: Pack, carry: _Carry, tick_times: _TickTime, dt: float, every: int
) -> dict[str, jax.Array]:
    """Run the first tick, which has no memory, and all others in a loop."""
    first = tick(carry, _tick_time(tick_times, 0)._replace(since=0.0))
    blocks = (len(tick_times.time) - 1) // every
    later_times = jax.tree.map(lambda x: x[1:].reshape(blocks, every, *x.shape[1:]), tick_times)

    def tick_in_scan(previous_carry: Any, tick_time: _TickTime) -> tuple[Any, None]:
        return tick(previous_carry[0], tick_time._replace(since=dt)), None

    def block(carry: Any, block_times: _TickTime) -> tuple[Any, jax.Array]:
        if every == 1:
            carry, _ = tick_in_scan(carry, _tick_time(block_times, 0))
        else:
            carry, _ = jax.lax.scan(tick_in_scan, carry, block_times)
        return carry, pack(carry[1])

    _, later_rows = jax.lax.scan(block, first, later_times)
    return _unpack_outputs(first[1], jnp.concatenate([pack(first[1])[None], later_rows]))


def _pack_outputs(recorded: Mapping[str, Any], batch: tuple[int, ...], dtype: Any) -> Any:
    """Return the recorded quantities as one array (k, *batch): one copy instead of many."""
    flat = [
        join_components(v, batch, dtype).reshape(-1, *batch)
        if isinstance(v, Components)
        else v.reshape(-1, *batch)
        for v in recorded.values()
    ]
    return jnp.concatenate(flat)


def _unpack_outputs(template: Mapping[str, Any], rows: jax.Array) -> dict[str, jax.Array]:
    """Return packed rows (ticks, k, *batch) as arrays (ticks, ..., *batch) by name."""
    arrays, offset, batch = {}, 0, rows.shape[2:]
    for name, value in template.items():
        shape = value.shape
        if not isinstance(value, Components):
            shape = shape[: len(shape) - len(batch)]
        size = math.prod(shape)
        arrays[name] = rows[:, offset : offset + size].reshape(len(rows), *shape, *batch)
        offset += size
    return arrays


# Vehicles of a batch must share one scene and the same contact points.


def _check_contact_points(vehicle: Vehicle, first: Vehicle) -> None:
    """Check that a vehicle's contact points are those of the first one.

    The first vehicle's cached contact points are computed here, before tracing.

    Raises:
        ParameterError: they are not.
        ModelError: a collision mesh that cannot be used.
    """
    reference, points = compute_cached_properties(first.contact), vehicle.contact
    if not have_same_values(compute_cached_properties(points), reference):
        raise ParameterError(
            'batch: the collisions of its vehicles differ; expected the same in all, where there '
            'is something to touch'
        )


def _solids(environment: Environment) -> tuple[Any, ...]:
    """Return what there is to touch in an environment."""
    bodies = environment.free_bodies, environment.body_joints, environment.body_changes
    return environment.scene, environment.materials, *bodies


def share_scene(settings: Sequence[LoopSetting]) -> list[LoopSetting]:
    """Return the settings of a batch with one scene and one table of materials.

    A program has these as constants, so equal ones are replaced by the first.

    Raises:
        ParameterError: they differ.
        ModelError: a collision mesh that cannot be used.
    """
    first = settings[0]
    shared = _solids(first.environment)
    result = []
    for setting in settings:
        environment = setting.environment
        if not have_same_values(_solids(environment), shared):
            raise ParameterError(
                f'batch: what is solid in {first.environment.name or "the first environment"} and '
                f'in {environment.name or "another"} differs; expected one scene for all'
            )
        if (shared[0] is not None and len(shared[0])) or first.environment.free_bodies:
            _check_contact_points(setting.vehicle, first.vehicle)
        if environment.scene is not shared[0] or environment.materials is not shared[1]:
            environment = compute_cached_properties(
                replace(environment, scene=shared[0], materials=shared[1])
            )
            setting = replace(setting, environment=environment)
        result.append(setting)
    return result
