# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Step of a vehicle: one tick as a pure function, and ticks recorded as columns.

Every engine runs this function: :mod:`marine_sim_ros.sim.simulation` with NumPy, the compiled
engine with JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core import registry
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.devices import (
    COMMAND_TIMEOUT,
    Propulsion,
    faulty_thrusters,
    propulsion_at_rest,
)
from marine_sim_ros.faults.tables import ActiveFaults
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import Actuator, acting_forces, actuators_of
from marine_sim_ros.physics.actuator import NO_COMMANDS
from marine_sim_ros.physics.arm.links import HeldPayload
from marine_sim_ros.physics.arm.manipulator import (
    ArmMemory,
    JointMotion,
    arm_step,
    internal_wrench,
    joints_at_rest,
    trimmed_targets,
)
from marine_sim_ros.physics.force import ForceInputs, ForceModel
from marine_sim_ros.physics.rigid_body import rigid_body_step, weight
from marine_sim_ros.physics.thrusters import ThrusterOutput

__all__ = [
    'ACTUATED',
    'COMMANDED',
    'EvaluateForce',
    'Memory',
    'PreparedStep',
    'StepCommands',
    'StepOutput',
    'Stepping',
    'TICK_BYTES',
    'TickRecord',
    'WRENCHES',
    'actuator_states',
    'advance',
    'begin',
    'changed_body',
    'columns_below',
    'evaluate_force',
    'finish_step',
    'prepare_step',
    'state_blocks',
    'supply_readings',
    'tick_blocks',
]


# One tick of a vehicle as a pure function of memory and commands.


class Memory(NamedTuple):
    """State of a vehicle between two ticks.

    Attributes:
        state: state at this tick.
        propulsion: state of the thrusters and their faults.
        forces: memory of each active force, by name.
        joints: joint motion of the manipulator at the previous tick, or None.
        arm: memory of the arm from the previous tick, or None.
    """

    state: State
    propulsion: Propulsion
    forces: dict[str, Any]
    joints: JointMotion | None = None
    arm: ArmMemory | None = None


class StepCommands(NamedTuple):
    """Commands of a vehicle at a tick.

    Attributes:
        pwm: pulse widths (..., n), µs.
        actuators: commands (..., k) by the name of the actuator; missing: at rest.
        faults: active faults at this tick; None: none.
        load: free body that the arm holds, or None.
        external: wrench (..., 6) from outside of the model, or None.
        anchor: state of the vehicle at the other end of the tether, or None.
        precomputed: wrenches (..., 6) of forces that are computed for several bodies at once, by
            name.
    """

    pwm: Array
    actuators: Mapping[str, Array] = NO_COMMANDS
    faults: ActiveFaults | None = None
    load: HeldPayload | None = None
    external: Wrench | None = None
    anchor: State | None = None
    precomputed: Mapping[str, Wrench] = NO_COMMANDS


class StepOutput(NamedTuple):
    """State of a vehicle at a tick, its commands, and the forces on it.

    Attributes:
        state: state at the tick.
        pwm: commanded pulse widths (..., n), µs.
        sources: wrenches (..., 6) by name.
        total: their sum (..., 6), weight included.
        acceleration: (..., 6) rate of change of ``state.velocity`` over the step that follows,
            m/s² and rad/s²: of components in the body frame, without ω × v.
        joints: joint motion of the manipulator, or None.
        stamp: stamp of the tick, ns; 0 in compiled programs, whose caller sets it.
        actuators: state (..., k) of each actuator that has one, by name.
        cable: (..., n, 3) points along the tether, map, m, if there is one.
        tension: (..., 2) its pull on the vehicle and on the anchor, N.
        bodies: (b, 13) position, orientation and velocity of the free bodies, if any.
        body_joints: (j,) angles, rad, and displacements, m, of their joints, if any.
        body_cables: (c, 3) points along the tethers of bodies, one after the other, map, m.
        silt: (k, 5) clouds of sediment, if there is a soft bed and a sensor needs them.
        commands: commands (..., k) of steered actuators by name.
    """

    state: State
    pwm: Array
    thrusters: ThrusterOutput
    sources: dict[str, Wrench]
    total: Wrench
    acceleration: Array
    joints: JointMotion | None
    actuators: dict[str, Array]
    stamp: int = 0
    cable: Array | None = None
    tension: Array | None = None
    bodies: Array | None = None
    body_joints: Array | None = None
    body_cables: Array | None = None
    silt: Array | None = None
    commands: Mapping[str, Array] = NO_COMMANDS


def supply_readings(power: Array, voltage: Array | None, used: Array | None) -> Array:
    """Return the readings of the thrusters' supply (..., 3), NumPy; see SensorInputs."""
    if power.ndim == 1:  # a single tick; the same sum
        values = (math.nan if x is None else float(x) for x in (voltage, used))
        return np.array([power.sum(), *values])
    total = np.sum(power, axis=-1)
    missing = np.full_like(total, np.nan)
    parts = [total, missing if voltage is None else voltage, missing if used is None else used]
    return np.stack(parts, axis=-1)


class Stepping(NamedTuple):
    """Step size and method of the time integration.

    Attributes:
        dt: step, s.
        integrator: ``auto``, ``semi_implicit``, ``rk4`` or ``conserving``.
        implicit_drag: treat the drag as linearly implicit (``semi_implicit`` only).
        timeout: time without a command after which the thrusters stop, s.
    """

    dt: float
    integrator: str = 'auto'
    implicit_drag: bool = True
    timeout: float = COMMAND_TIMEOUT


def begin(vehicle: Vehicle, environment: Environment, state: State) -> Memory:
    """Return the initial memory, with rotors and joints at rest."""
    xp = namespace(state.velocity)
    joints = None
    if vehicle.manipulator is not None:
        joints = JointMotion(*(constant(xp, x) for x in joints_at_rest(vehicle.manipulator)))
    forces = {
        force.name: None if force.begin is None else force.begin(vehicle, state)
        for force in acting_forces(vehicle, environment)
    }
    return Memory(state, propulsion_at_rest(vehicle, state.velocity), forces, joints)


def _move_arm(
    vehicle: Vehicle,
    environment: Environment,
    memory: Memory,
    commands: StepCommands,
    stepping: Stepping,
    since: float,
) -> tuple[Vehicle, dict[str, Wrench], JointMotion | None, ArmMemory | None]:
    """Advance the joints to this tick; return the posed vehicle, the reaction, and the memory."""
    if vehicle.manipulator is None or memory.joints is None:
        return vehicle, {}, None, None
    target = commands.actuators.get('joints')
    joint_target = memory.joints.position * 0 if target is None else target
    joints, body, wrench, arm = arm_step(
        vehicle,
        memory.state,
        memory.joints,
        memory.arm,
        target=trimmed_targets(vehicle, joint_target, commands.actuators),
        dt=since,
        load=commands.load,
        environment=environment,
        effort=commands.actuators.get('joint_efforts'),
        rate=commands.actuators.get('joint_rates'),
        conserving=stepping.dt if stepping.integrator == 'conserving' else None,
    )
    return body, {'manipulator': wrench}, joints, arm


EvaluateForce = Callable[..., tuple[Wrench, Any]]
"""Function of a :class:`ForceModel` and the arguments of its step."""


def evaluate_force(force: ForceModel, *arguments: Any, dt: Any) -> tuple[Wrench, Any]:
    """Return the wrench of a force and its next memory."""
    return force.step(*arguments, dt=dt)


class PreparedStep(NamedTuple):
    """Forces on a vehicle at a tick, before those that are computed for several bodies at once.

    Attributes:
        body: the vehicle with its arm's pose and present mass.
        environment: environment at the tick's time.
        commands: commands of the tick.
        stepping: step size and method of the integration.
        acting: the forces that act, in the order of their sum.
        actuators: the actuators that the vehicle has.
        sources: wrenches (..., 6) by name.
        memory: memory at the next tick, with the state of this one.
    """

    vehicle: Vehicle
    body: Vehicle
    environment: Environment
    commands: StepCommands
    stepping: Stepping
    thrusters: ThrusterOutput
    acting: tuple[ForceModel, ...]
    actuators: tuple[Actuator, ...]
    sources: dict[str, Wrench]
    memory: Memory


def prepare_step(
    vehicle: Vehicle,
    environment: Environment,
    memory: Memory,
    commands: StepCommands,
    stepping: Stepping,
    *,
    since: float,
    evaluate: EvaluateForce = evaluate_force,
    deferred: Collection[str] = (),
) -> PreparedStep:
    """Return the forces on a vehicle at this tick but for deferred ones.

    Args:
        vehicle: the vehicle to simulate.
        environment: environment at this tick's time.
        memory: memory, from :func:`begin` or the previous tick.
        commands: commands of this tick.
        stepping: step size and method of the integration.
        since: time since the tick before, s; 0 in the first.
        evaluate: function that calls the step of a force.
        deferred: names of forces that :func:`finish_step` gets.
    """
    state, forces = memory.state, dict(memory.forces)
    output, propulsion = faulty_thrusters(
        vehicle,
        state,
        environment,
        memory.propulsion,
        commands.faults,
        pwm=commands.pwm,
        dt=since,
        period=stepping.dt,
        timeout=stepping.timeout,
        commands=commands.actuators,
    )
    body, reaction, joints, arm = _move_arm(
        vehicle, environment, memory, commands, stepping, since
    )
    actuated = {'thrusters': output.wrench, **reaction}
    inputs = ForceInputs(output.thrust, body, actuated, commands.actuators, commands.anchor)
    possible = registry.FORCES.of_extensions(vehicle.extensions)
    acting = tuple(force for force in possible if force.name in memory.forces)
    actuators = actuators_of(vehicle)
    sources = dict(commands.precomputed)
    for force in sorted(acting, key=lambda force: 'mass' in force.needs):
        if force.name in deferred or force.name in sources:
            continue
        if 'mass' in force.needs:
            states = actuator_states(actuators, Memory(state, propulsion, forces, joints, arm))
            inputs = inputs._replace(body=changed_body(body, actuators, states))
        sources[force.name], forces[force.name] = evaluate(
            force, vehicle, state, environment, inputs, forces[force.name], dt=since
        )
    next_memory = Memory(state, propulsion, forces, joints, arm)
    body = changed_body(body, actuators, actuator_states(actuators, next_memory))
    return PreparedStep(
        vehicle,
        body,
        environment,
        commands,
        stepping,
        output,
        acting,
        actuators,
        sources,
        next_memory,
    )


def finish_step(
    prepared: PreparedStep, deferred: Mapping[str, Wrench] = NO_COMMANDS
) -> tuple[StepOutput, Memory]:
    """Return the forces on a vehicle at a tick, and its memory at the next.

    Args:
        prepared: from :func:`prepare_step`.
        deferred: wrenches (..., 6) of the deferred forces by name.
    """
    body, environment, memory = prepared.body, prepared.environment, prepared.memory
    commands, stepping = prepared.commands, prepared.stepping
    state, known = memory.state, {**prepared.sources, **deferred}
    sources = {force.name: known[force.name] for force in prepared.acting}
    total = weight(body, state, environment)
    for wrench in sources.values():
        total = total + wrench
    if commands.external is not None:
        total = total + commands.external
    next_state = rigid_body_step(
        body,
        state,
        environment,
        total,
        stepping.dt,
        integrator=stepping.integrator,
        implicit_drag=stepping.implicit_drag,
        inner=internal_wrench(prepared.vehicle, sources),
    )
    acceleration = (next_state.velocity - state.velocity) / stepping.dt
    step_output = StepOutput(
        state,
        commands.pwm,
        prepared.thrusters,
        sources,
        total,
        acceleration,
        memory.joints,
        actuator_states(prepared.actuators, memory),
        commands={
            a.name: commands.actuators[a.name]
            for a in prepared.actuators
            if a.steered and a.name in commands.actuators
        },
    )
    return step_output, memory._replace(state=next_state)


def advance(
    vehicle: Vehicle,
    environment: Environment,
    memory: Memory,
    commands: StepCommands,
    stepping: Stepping,
    *,
    since: float,
    evaluate: EvaluateForce = evaluate_force,
) -> tuple[StepOutput, Memory]:
    """Return the forces on a vehicle at this tick, and its memory at the next.

    Arguments as of :func:`prepare_step`.
    """
    return finish_step(
        prepare_step(
            vehicle, environment, memory, commands, stepping, since=since, evaluate=evaluate
        )
    )


def actuator_states(actuators: Iterable[Actuator], memory: Memory) -> dict[str, Array]:
    """Return the state (..., k) of each actuator that has one, by name."""
    states = {a.name: a.state(memory) for a in actuators if a.state is not None}
    return {name: state for name, state in states.items() if state is not None}


def changed_body(
    vehicle: Vehicle, actuators: Iterable[Actuator], states: Mapping[str, Array]
) -> Vehicle:
    """Return a vehicle with the mass that it has at the states of its actuators, by name."""
    for actuator in actuators:
        if actuator.body is not None and actuator.name in states:
            vehicle = actuator.body(vehicle, states[actuator.name])
    return vehicle


# Ticks as columns: blocks of arrays, which take a fifth of the memory of the ticks.

TICK_BYTES = 1000
"""Approximate bytes of a tick in a trajectory, with six thrusters and a BlueROV2's sensors."""
_BLOCK = 512
"""Ticks per block of arrays, and per part of a run."""
WRENCHES, ACTUATED, COMMANDED = 'wrench/', 'actuator/', 'command/'
"""Prefixes of columns: wrenches by source, states and commands by actuator."""


class TickRecord:
    """Collects ticks one by one, and returns a column for each quantity."""

    def __init__(self) -> None:
        """Start with no ticks."""
        self._pending: list[StepOutput] = []
        self._blocks: list[dict[str, np.ndarray]] = []

    def add(self, tick: StepOutput) -> None:
        """Add a tick."""
        self._pending.append(tick)
        if len(self._pending) == _BLOCK:
            self._pack()

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns (n, ...) by quantity, and empty the record.

        Quantities that the run does not have are missing. Wrenches are ``wrench/SOURCE``,
        states of actuators ``actuator/NAME``, and commands of steered ones ``command/NAME``.
        """
        self._pack()
        blocks, self._blocks = self._blocks, []
        # Column by column, removed from the blocks, so that memory never holds everything twice.
        return {name: np.concatenate([b.pop(name) for b in blocks]) for name in [*blocks[0]]}

    def _pack(self) -> None:
        if self._pending:
            self._blocks.append(_make_columns(self._pending))
            self._pending = []


def tick_blocks(ticks: Iterable[StepOutput]) -> Iterator[dict[str, np.ndarray]]:
    """Yield the columns of ticks part by part, as in :meth:`TickRecord.columns`.

    Raises:
        RunError: an error of the ticks, after the columns of the ticks before it.
    """
    return map(_make_columns, _split_ticks(ticks))


def state_blocks(ticks: Iterable[StepOutput]) -> Iterator[tuple[np.ndarray, State]]:
    """Yield the stamps (n,), ns, and states (n, ...) of ticks part by part.

    Raises:
        RunError: an error of the ticks, after the states before it.
    """
    for part in _split_ticks(ticks):
        states = State(*map(np.stack, zip(*(tick.state for tick in part), strict=True)))
        yield np.array([tick.stamp for tick in part]), states


def _split_ticks(ticks: Iterable[StepOutput]) -> Iterator[list[StepOutput]]:
    pending: list[StepOutput] = []
    try:
        for tick in ticks:
            pending.append(tick)
            if len(pending) == _BLOCK:
                yield pending
                pending = []
    except RunError:
        if pending:
            yield pending
        raise
    if pending:
        yield pending


def columns_below(prefix: str, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns (n, ...) below a prefix such as ``WRENCHES``, by name."""
    return {n.removeprefix(prefix): c for n, c in columns.items() if n.startswith(prefix)}


def _make_columns(ticks: Sequence[StepOutput]) -> dict[str, np.ndarray]:
    outputs = [t.thrusters for t in ticks]
    rows: dict[str, list[Any]] = {
        'position': [t.state.position for t in ticks],
        'orientation': [t.state.orientation for t in ticks],
        'velocity': [t.state.velocity for t in ticks],
        'pwm': [t.pwm for t in ticks],
        'thrust': [o.thrust for o in outputs],
        'power': [o.power for o in outputs],
        'total': [t.total for t in ticks],
        'acceleration': [t.acceleration for t in ticks],
        'bodies': [t.bodies for t in ticks],
        'body_joints': [t.body_joints for t in ticks],
        'body_cables': [t.body_cables for t in ticks],
        'cable': [t.cable for t in ticks],
        'tension': [t.tension for t in ticks],
        'silt': [t.silt for t in ticks],
        'rotors': [o.rotor_speed for o in outputs],
        **{WRENCHES + name: [t.sources[name] for t in ticks] for name in ticks[0].sources},
        **{ACTUATED + name: [t.actuators[name] for t in ticks] for name in ticks[0].actuators},
        **{COMMANDED + name: [t.commands[name] for t in ticks] for name in ticks[0].commands},
    }
    voltage = None if outputs[0].voltage is None else np.array([o.voltage for o in outputs])
    used = None if outputs[0].used is None else np.array([o.used for o in outputs])
    return {
        'stamp': np.array([t.stamp for t in ticks]),
        'supply': supply_readings(np.stack([o.power for o in outputs]), voltage, used),
        **{name: np.stack(values) for name, values in rows.items() if values[0] is not None},
    }
