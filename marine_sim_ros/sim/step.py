# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One tick of a vehicle in water as a pure function: memory and commands in, memory out.

Every engine runs this function: the nodes' twin :mod:`marine_sim_ros.sim.simulation` with NumPy,
the compiled engine with JAX.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.tables import ActiveFaults
from marine_sim_ros.faults.thrust import (
    COMMAND_TIMEOUT,
    Propulsion,
    faulty_thrusters,
    propulsion_at_rest,
)
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.physics.arm.manipulator import (
    ArmMemory,
    JointMotion,
    arm_step,
    inner_of,
    joints_at_rest,
)
from marine_sim_ros.physics.arm.payload import Load
from marine_sim_ros.physics.force import ForceInputs
from marine_sim_ros.physics.rigid_body import step, weight
from marine_sim_ros.physics.tether.tether import reel_state
from marine_sim_ros.physics.thrusters import ThrusterOutput

__all__ = ['Commands', 'Memory', 'StepOutput', 'Stepping', 'advance', 'begin', 'supply_of']


class Memory(NamedTuple):
    """What a vehicle carries from tick to tick.

    Attributes:
        state: state at this tick.
        propulsion: state of the thrusters and their faults.
        forces: memory of each active force, by name.
        joints: joint motion of the manipulator at the previous tick, or None.
        arm: what the arm remembers of the tick before, or None.
    """

    state: State
    propulsion: Propulsion
    forces: dict[str, Any]
    joints: JointMotion | None = None
    arm: ArmMemory | None = None


class Commands(NamedTuple):
    """Commands of a vehicle at a tick.

    Attributes:
        pwm: pulse widths (..., n), µs.
        joints: positions (..., k) that the arm's joints go to; None: 0.
        faults: active faults at this tick; None: none.
        fins: deflections (..., m) that the fins go to, rad; None: 0.
        azimuths: angles (..., k) that the azimuths go to, rad; None: 0.
        load: payload that the gripper holds, or None.
        external: wrench (..., 6) from outside of the model, or None.
        reel: rate (..., 1) at which the tether is paid out, m/s; None: 0.
        anchor: state of the vehicle at the other end of the tether, or None.
        towing: wrench (..., 6) of the tethers that end at this vehicle, or None.
        joint_efforts: efforts (k,) that drives of an articulated arm give instead of going to
            ``joints``, N·m or N, NaN: they go there; None: all do.
    """

    pwm: Array
    joints: Array | None = None
    faults: ActiveFaults | None = None
    fins: Array | None = None
    azimuths: Array | None = None
    load: Load | None = None
    external: Wrench | None = None
    reel: Array | None = None
    anchor: State | None = None
    towing: Wrench | None = None
    joint_efforts: Array | None = None


class StepOutput(NamedTuple):
    """The state of a vehicle at a tick, what was commanded, and what acted on it.

    Attributes:
        state: state at the tick.
        pwm: pulse widths (..., n) that were commanded, µs.
        thrusters: output of the thrusters.
        sources: wrenches (..., 6) by name.
        total: their sum (..., 6), weight included.
        acceleration: (..., 6) rate of change of ``state.velocity`` over the step that follows,
            m/s² and rad/s²: of components in the body frame, without ω × v.
        joints: joint motion of the manipulator, or None.
        stamp: stamp of the tick, ns, where it is known.
        fins: deflections (..., m) of the fins, rad, or None.
        held: number of the payload that the gripper holds, counted from 1; 0: none.
        reel: (..., 3) length of the tether off its reel, m, its rate, m/s, and the pull there, N;
            None: no reel.
        cable: (..., n, 3) places along the tether, map, m, where a sensor needs them.
        payloads: (p, 7) places, m, and orientations of the payloads, map, likewise.
    """

    state: State
    pwm: Array
    thrusters: ThrusterOutput
    sources: dict[str, Wrench]
    total: Wrench
    acceleration: Array
    joints: JointMotion | None
    stamp: int = 0
    fins: Array | None = None
    held: int = 0
    reel: Array | None = None
    cable: Array | None = None
    payloads: Array | None = None


def supply_of(power: Array, voltage: Array | None, used: Array | None) -> Array:
    """Return what sensors know of the thrusters' supply (..., 3), NumPy; see SensorInputs."""
    if power.ndim == 1:  # of one tick; the same sum
        known = (math.nan if x is None else float(x) for x in (voltage, used))
        return np.array([power.sum(), *known])
    total = np.sum(power, axis=-1)
    unknown = np.full_like(total, np.nan)
    parts = [total, unknown if voltage is None else voltage, unknown if used is None else used]
    return np.stack(parts, axis=-1)


class Stepping(NamedTuple):
    """How time goes on.

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
    """Return the memory of a start: rotors and joints at rest."""
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
    commands: Commands,
    stepping: Stepping,
    since: float,
) -> tuple[Vehicle, dict[str, Wrench], JointMotion | None, ArmMemory | None]:
    """Bring the joints to this tick; return the vehicle then, what it feels, and the memory."""
    if vehicle.manipulator is None or memory.joints is None:
        return vehicle, {}, None, None
    target = commands.joints
    wanted = memory.joints.position * 0 if target is None else target
    joints, body, wrench, arm = arm_step(
        vehicle,
        memory.state,
        memory.joints,
        memory.arm,
        target=wanted,
        dt=since,
        load=commands.load,
        environment=environment,
        effort=commands.joint_efforts,
        conserving=stepping.dt if stepping.integrator == 'conserving' else None,
    )
    return body, {'manipulator': wrench}, joints, arm


def advance(
    vehicle: Vehicle,
    environment: Environment,
    memory: Memory,
    commands: Commands,
    stepping: Stepping,
    *,
    since: float,
) -> tuple[StepOutput, Memory]:
    """Return what acts on a vehicle at this tick, and its memory at the next.

    Args:
        vehicle: the vehicle to simulate.
        environment: environment at this tick's time.
        memory: memory, from :func:`begin` or the previous tick.
        commands: commands of this tick.
        stepping: step size and method of the integration.
        since: time since the tick before, s; 0 in the first.
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
        azimuths=commands.azimuths,
    )
    body, reaction, joints, arm = _move_arm(
        vehicle, environment, memory, commands, stepping, since
    )
    actuated = {'thrusters': output.wrench, **reaction}
    if commands.towing is not None:
        actuated['towing'] = commands.towing
    inputs = ForceInputs(
        output.thrust, body, actuated, commands.fins, commands.reel, commands.anchor
    )
    sources = {}
    for force in acting_forces(vehicle, environment):
        sources[force.name], forces[force.name] = force.step(
            vehicle, state, environment, inputs, forces[force.name], dt=since
        )
    total = weight(body, state, environment)
    for wrench in sources.values():
        total = total + wrench
    if commands.external is not None:
        total = total + commands.external
    after = step(
        body,
        state,
        environment,
        total,
        stepping.dt,
        integrator=stepping.integrator,
        implicit_drag=stepping.implicit_drag,
        inner=inner_of(vehicle, sources),
    )
    acceleration = (after.velocity - state.velocity) / stepping.dt
    happened = StepOutput(
        state,
        commands.pwm,
        output,
        sources,
        total,
        acceleration,
        joints,
        fins=forces.get('fins'),
        reel=reel_state(forces.get('tether')),
    )
    return happened, Memory(after, propulsion, forces, joints, arm)
