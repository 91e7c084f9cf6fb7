# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies of a run: they float, drift, and touch vehicles and each other.

In a tick the bodies and vehicles get the wrenches of the same contacts over the next step, so that
momentum is conserved. The bodies are integrated here, the vehicles by their simulations.

A group of bodies that the scene or a joint to the world supports comes to rest when no point of it
was faster than 1e-5 m/s for half a second, in water that does not change. It stays where it is and
costs nothing until another body comes near enough to touch it, or the current changes.

A body that a gripper holds is a part of that vehicle, whose simulation computes its forces and
contacts. Here it is placed at the gripper's link. When it is gripped the vehicle gets its momentum
as an impulse; when it is let go it moves on with the velocity of the link.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.spatial import cross, quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import (
    LIMITS,
    NANOSECONDS,
    State,
    Wrench,
    is_physical,
    state_at_rest,
)
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.body_joints import SOLE_VEHICLE, BodyJoint, reported_joints
from marine_sim_ros.model.contact import no_contact
from marine_sim_ros.model.free_bodies import ABSENT_POSITION, BODIES, is_absent, tethered_bodies
from marine_sim_ros.model.tether import REEL, CableState
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.physics.actuator import NO_COMMANDS
from marine_sim_ros.physics.arm.links import LinkPoses, held_payload_state
from marine_sim_ros.physics.contact.body_touches import find_overlaps
from marine_sim_ros.physics.contact.group_motion import ContactBody
from marine_sim_ros.physics.contact.joints import HeldJoint
from marine_sim_ros.physics.contact.world import ContactWorld, may_touch
from marine_sim_ros.sensors.sensor_model import SensorInputs
from marine_sim_ros.sensors.series import SensorRecord
from marine_sim_ros.sim.step import Memory, StepCommands, Stepping, advance, begin

if TYPE_CHECKING:
    from marine_sim_ros.environment.changes import BodyChange, EnvironmentChange

__all__ = [
    'BodySimulation',
    'body_records',
    'body_rows',
    'cable_columns',
    'check_body_states',
    'compile_contact',
    'joint_columns',
    'seen_bodies',
]

_LOG = logging.getLogger(__name__)

_REST_SPEED = 1e-5
"""m/s of any point of a body; less is rest."""
_REST_TIME = NANOSECONDS // 2
"""Time of rest after which a body is not moved, ns."""
_MAX_OVERLAP = 0.02
"""Overlap of bodies that is resolved within about 0.1 s, m; a deeper one is reported."""
_MAX_STEPS = 1.5
"""Time between two ticks, in steps; after a longer one ticks were missed."""
_MAX_NAMED = 5
"""Overlaps that a warning names."""


class _RestingBodies:
    """The bodies at rest, each with the group that wakes with it."""

    def __init__(self, environment: Environment) -> None:
        """Start with all bodies awake."""
        tethered = tethered_bodies(environment.free_bodies)
        self._bodies = {
            body.name: body.vehicle
            for body in environment.free_bodies
            if body.name not in tethered
        }
        self._mates = {frozenset((j.child, j.parent)) for j in environment.body_joints if j.mate}
        self._slow_since: dict[str, int] = {}
        self._groups: dict[str, list[str]] = {}
        self._current = environment.current

    def __contains__(self, name: str) -> bool:
        return name in self._groups

    def snapshot(self) -> tuple[Any, ...]:
        """Return all that changes."""
        return dict(self._slow_since), dict(self._groups), self._current

    def resume(self, snapshot: tuple[Any, ...]) -> None:
        """Continue from a snapshot."""
        self._slow_since, self._groups, self._current = snapshot

    def wake(self, bodies: Mapping[str, ContactBody], environment: Environment, dt: float) -> None:
        """Wake the bodies that another one may touch in a step, dt in s, and their groups."""
        if not environment.is_steady or not np.array_equal(environment.current, self._current):
            self._current = environment.current
            self._groups.clear()
            self._slow_since.clear()
        if not self._groups:
            return
        awake = [name for name in bodies if name not in self._groups]
        reach = {name: body.reach(dt) for name, body in bodies.items()}
        while awake and self._groups:
            name = awake.pop()
            for other in sorted(self._groups):
                if other in self._groups and (
                    frozenset((name, other)) in self._mates
                    or may_touch(bodies[name], bodies[other], reach[name] + reach[other])
                ):
                    group = self._groups[other]
                    awake += group
                    for member in group:
                        del self._groups[member]

    def settle(
        self,
        stamp: int,
        groups: Iterable[tuple[list[str], bool]],
        states: Mapping[str, State],
        environment: Environment,
    ) -> set[str]:
        """Return the bodies that come to rest.

        Args:
            stamp: of the tick, ns.
            groups: bodies that move together, and whether they are supported.
            states: of the bodies after the step.
        """
        slow: dict[str, int] = {}
        new: set[str] = set()
        for members, is_supported in groups:
            if not (environment.is_steady and is_supported and self._bodies.keys() >= {*members}):
                continue
            if any(self._speed(name, states[name]) > _REST_SPEED for name in members):
                continue
            since = {name: self._slow_since.get(name, stamp) for name in members}
            if stamp - max(since.values()) >= _REST_TIME:
                self._groups |= dict.fromkeys(members, members)
                new |= {*members}
            else:
                slow |= since
        self._slow_since = slow
        return new

    def _speed(self, name: str, state: State) -> float:
        """Return a bound of the speed of the points of a body, m/s."""
        u, v, w, p, q, r = state.velocity.tolist()
        return math.hypot(u, v, w) + self._bodies[name].contact.reach * math.hypot(p, q, r)


_PASSIVE_FORCES = {'buoyancy', 'drag', 'contact', 'boundary'}
"""Forces of passive bodies; that of a boundary acts on thrusters."""


def _is_passive(vehicle: Vehicle, environment: Environment) -> bool:
    """Return whether weight, buoyancy, lumped drag and contact are all that acts on a body."""
    drag, hull = vehicle.damping, vehicle.hull
    is_lumped = drag.modulus is None and drag.elements is None and drag.lift is None
    return (
        is_lumped
        and not len(vehicle.thrusters)
        and vehicle.manipulator is None
        and (hull is None or hull.panels is None)
        and {force.name for force in acting_forces(vehicle, environment)} <= _PASSIVE_FORCES
    )


def _momentum_about(holder: State, body: State, momentum: np.ndarray) -> np.ndarray:
    """Return the momentum (6,) of a body, about its origin, about that of a vehicle, its axes."""
    back = rotation_matrix(holder.orientation).T
    linear, angular = np.split(momentum, 2) @ (back @ rotation_matrix(body.orientation)).T
    offset = back @ (body.position - holder.position)
    return np.concatenate([linear, angular + cross(offset, linear)])


def _released_links(holder: ContactBody, before: LinkPoses) -> LinkPoses:
    """Return the links of a vehicle's arm with whose motion it lets a body go.

    A kinematic arm reacts a step late, so that momentum is that of the joints of the tick before.

    Args:
        holder: the vehicle now.
        before: its links in the tick before, with the body.
    """
    arm = holder.vehicle.manipulator
    if holder.links is None or arm is None or arm.joint_dynamics is None:
        return before
    return holder.links._replace(load=before.load)


def _placed_state(change: BodyChange) -> State:
    velocity = np.array([*change.velocity, 0.0, 0.0, 0.0])
    return State(np.array(change.position), quaternion_from_rpy(*change.rpy), velocity)


def check_body_states(states: Mapping[str, State], stamp: int) -> None:
    """Check the states of bodies, by name, at a stamp, ns.

    Raises:
        RunError: one is not physical.
    """
    if len(states) > 4:
        position, _, velocity = map(np.array, zip(*states.values(), strict=True))
        if is_physical(position, velocity).all():
            return
    for name, state in states.items():
        if is_physical(state.position, state.velocity):
            continue
        raise RunError(
            f'the state of body {name!r} is not physical after {stamp / NANOSECONDS:.3f} s: '
            f'expected {LIMITS}; try a smaller dt'
        )


class BodySimulation:
    """Free bodies, their joints and contacts.

    Attributes:
        states: states of the bodies at the last tick, by name; before the first tick those at the
            start.
        missed_time: time of missed ticks before the last one, s, in which the bodies stood still.
    """

    def __init__(self, environment: Environment, dt: float, *, has_contact: bool = True) -> None:
        """Place the bodies at their start.

        Args:
            environment: environment with its free bodies.
            dt: step, s.
            has_contact: whether they touch and are joined here, and by no other program.
        """
        self._environment, self._stepping = environment, Stepping(dt, 'conserving')
        self._has_contact = has_contact
        self._joined = {
            frozenset((joint.child, other))
            for joint in environment.body_joints
            for other in (joint.parent, joint.gear)
        }
        self._movers: Mapping[str, ContactBody] = {}
        self._warned_of = ''
        if has_contact and environment.free_bodies:
            from marine_sim_ros.physics.contact.kernels.algebra import report_kernels  # Numba

            report_kernels(None)
        self.reset()

    def reset(self) -> None:
        """Restart at time 0."""
        self._stamp = self._restored = -1
        self._changes = 0
        self.missed_time = 0.0
        self._place_bodies()

    def _place_bodies(self) -> None:
        """Place all bodies and joints as at the start."""
        bodies, joints = self._environment.free_bodies, self._environment.body_joints
        self._vehicles = {body.name: body.vehicle for body in bodies}
        if not self._has_contact:
            joints = ()
            self._vehicles = {
                name: replace(vehicle, find_contact=no_contact)
                for name, vehicle in self._vehicles.items()
            }
        self._passive = {
            name
            for name, vehicle in self._vehicles.items()
            if _is_passive(vehicle, self._environment)
        }
        self._memories: dict[str, Memory] = {
            body.name: begin(body.vehicle, self._environment, body.start) for body in bodies
        }
        self.states = {name: memory.state for name, memory in self._memories.items()}
        self._contact = ContactWorld(joints, self.states)
        self._resting = _RestingBodies(self._environment)
        self._winch_rates: dict[str, np.ndarray] = {}
        self._held: dict[str, tuple[str, LinkPoses]] = {}
        self._is_placed = False

    @property
    def is_new(self) -> bool:
        """Whether it has not moved the bodies yet."""
        return self._stamp < 0

    def restore(
        self, stamp: int, states: Mapping[str, State], positions: Mapping[str, float]
    ) -> None:
        """Continue from the states of all bodies and the positions of joints, by name.

        Args:
            stamp: of the states, ns.
            states: states of the bodies.
            positions: as of :attr:`joint_positions`.
        """
        for name, state in states.items():
            self._memories[name] = begin(self._vehicles[name], self._environment, state)
        self._contact.restore(states, positions)
        self._stamp = self._restored = stamp
        self._changes = 0

    @property
    def next_states(self) -> dict[str, State]:
        """States of the bodies at the next tick, by name."""
        return {name: memory.state for name, memory in self._memories.items()}

    def place(self, states: Mapping[str, State]) -> None:
        """Continue from other states of some bodies, by name."""
        for name, state in states.items():
            self._memories[name] = self._memories[name]._replace(state=state)

    def snapshot(self) -> tuple[Any, ...]:
        """Return all that the next tick needs, in values that can be pickled."""
        memories = {n: m.state if n in self._passive else m for n, m in self._memories.items()}
        scalars = self._stamp, self._changes, self._is_placed
        return (
            scalars, memories, self._winch_rates,
            self._contact.snapshot(), self._resting.snapshot(),
        )  # fmt: skip

    def resume(self, snapshot: tuple[Any, ...]) -> None:
        """Continue from the snapshot of a simulation of the same environment."""
        scalars, memories, self._winch_rates, contact, resting = snapshot
        self._stamp, self._changes, self._is_placed = scalars
        for name, memory in memories.items():
            if name in self._passive:
                memory = self._memories[name]._replace(state=memory)
            self._memories[name] = memory
        self._contact.resume(contact)
        self._resting.resume(resting)

    def tick(
        self, stamp: int, environment: Environment, vehicles: Mapping[str, ContactBody]
    ) -> dict[str, Wrench]:
        """Advance the bodies by a step; return the contact wrench (6,) on each vehicle, body axes.

        Args:
            stamp: stamp of the tick, ns; an earlier one than the last restarts the bodies.
            environment: environment at that time.
            vehicles: the vehicles by name; names differ from those of bodies.

        Raises:
            RunError: the state of a body is no longer finite.
        """
        if stamp <= self._stamp:
            self.reset()
        is_restored = 0 <= self._stamp == self._restored
        placed = self._apply_changes(environment.body_changes)
        first, self._movers = self.is_new, vehicles
        since = 0.0 if first else (stamp - self._stamp) / NANOSECONDS
        if self._is_placed and since > _MAX_STEPS * self._stepping.dt:
            self.missed_time = since - self._stepping.dt
            self._is_placed = False
            self._contact.lose_track(vehicles)
        else:
            self.missed_time = 0.0
        if not self._is_placed:  # while no node moved them, the bodies stood still
            since = min(since, self._stepping.dt)
        self._stamp = stamp
        dt = self._stepping.dt if first else since
        if not self._is_placed:
            self._place_jaws(vehicles)
            self._is_placed = True
        impulses = self._follow_grippers(vehicles, is_restored=is_restored)
        self.states = {name: memory.state for name, memory in self._memories.items()}
        if first or placed:
            self._warn_of_overlaps({*self.states} if first else placed, environment)
        bodies = {
            n: ContactBody(v, self.states[n], 'conserving', loose=True, passive=n in self._passive)
            for n, v in self._vehicles.items()
            if not (n in self._held or is_absent(self.states[n]))
        }
        self._resting.wake({**vehicles, **bodies}, environment, dt)
        moving = {n: body for n, body in bodies.items() if n not in self._resting}
        wrenches = self._contact.wrenches({**vehicles, **moving}, environment, dt)
        for name in moving:
            body, memory = self._vehicles[name], self._memories[name]
            if name in self._passive:
                memory = memory._replace(state=self._contact.next_states[name])
            else:
                commands = StepCommands(
                    np.zeros(len(body.thrusters)),
                    {REEL: self._winch_rates[name]} if name in self._winch_rates else NO_COMMANDS,
                    precomputed={'contact': wrenches[name]},
                )
                _, memory = advance(
                    body, environment, memory, commands, self._stepping, since=since
                )
            self._memories[name] = memory
        states = {name: self._memories[name].state for name in moving}
        check_body_states(states, stamp)
        for name in self._resting.settle(stamp, self._contact.groups, states, environment):
            rest = states[name]._replace(velocity=np.zeros(6))
            self._memories[name] = self._memories[name]._replace(state=rest)
        result = {name: wrenches[name] for name in vehicles}
        for name, impulse in impulses.items():
            result[name] = result[name] + impulse / dt
        return result

    def _follow_grippers(
        self, vehicles: Mapping[str, ContactBody], *, is_restored: bool
    ) -> dict[str, np.ndarray]:
        """Place the bodies that grippers hold or have let go.

        Of grippers that take a body in the same tick the first has it; the others let it go in
        the next tick.

        Args:
            vehicles: the vehicles by name, with what they hold.
            is_restored: whether this is the first tick after a restart; then what is held was
                held before.

        Returns:
            Momenta (6,) of the bodies that were gripped, by the vehicle that gets them, its axes.
        """
        before, impulses = self._held, dict[str, np.ndarray]()
        self._held = {}
        for name, vehicle in sorted(vehicles.items()):
            links = vehicle.links
            if links is None or links.load is None:
                continue
            body = links.load.name
            if body not in self._held or self._holder(body, before) == name:
                self._held[body] = name, links
        for body, (name, links) in before.items():
            if name in vehicles and self._holder(body, self._held) != name:
                holder = vehicles[name]
                self._place(body, _released_links(holder, links), holder)
                self._contact.part(body, name)
        for body, (name, links) in self._held.items():
            holder = vehicles[name]
            if not is_restored and self._holder(body, before) != name:
                state = self._memories[body].state
                momentum = self._vehicles[body].mass_matrix @ state.velocity
                impulses[name] = _momentum_about(holder.state, state, momentum)
            self._place(body, links, holder)
        if before.keys() != self._held.keys():
            self._resting = _RestingBodies(self._environment)
        return impulses

    @staticmethod
    def _holder(body: str, held: Mapping[str, tuple[str, LinkPoses]]) -> str:
        """Return the name of the vehicle that holds a body; empty: none does."""
        return held[body][0] if body in held else ''

    def _place(self, body: str, links: LinkPoses, holder: ContactBody) -> None:
        """Put a body where the links of a vehicle's arm hold it."""
        assert links.load is not None
        state = held_payload_state(links.load, links, holder.state)
        self._memories[body] = self._memories[body]._replace(state=state)

    def refusal(self, changes: Sequence[EnvironmentChange], environment: Environment) -> str:
        """Return the reason to refuse the last of the changes at the next tick, or an empty text.

        Args:
            changes: changes until then; those after the last tick are not applied yet.
            environment: environment with the scene.
        """
        last, placed = changes[-1], dict[str, State]()
        if last.start * NANOSECONDS <= self._stamp:  # a node that restarts learns of it
            return ''
        moved = [('bodies', change.name) for change in last.bodies]
        moved += [('remove', name) for name in last.remove]
        if last.reset_bodies:
            moved += [('reset_bodies', name) for name in sorted(self._held)]
        for key, name in moved:
            if text := self._held_text(key, name):
                return f'{text}; expected a body that no gripper holds'
        for change in changes:
            if change.start * NANOSECONDS > self._stamp:
                if change.reset_bodies:
                    placed |= {b.name: b.start for b in self._environment.free_bodies}
                placed |= {body.name: _placed_state(body) for body in change.bodies}
                placed |= dict.fromkeys(change.remove, state_at_rest(ABSENT_POSITION))
        names = {change.name for change in last.bodies}
        if overlaps := self._overlaps(names, {**self.next_states, **placed}, environment):
            return f'bodies: {", ".join(overlaps[:_MAX_NAMED])}; expected a place beside it'
        return ''

    def _overlaps(
        self, names: Iterable[str], states: Mapping[str, State], environment: Environment
    ) -> list[str]:
        """Return a text for each overlap of some bodies at the states of all, deepest first."""
        present = {name: (body.vehicle, body.state) for name, body in self._movers.items()}
        present |= {
            name: (self._vehicles[name], state)
            for name, state in states.items()
            if not (name in self._held or is_absent(state))
        }
        placed = {*names} & self._vehicles.keys() & present.keys()
        return [
            f'{name} is {depth:.2g} m deep in {"the vehicle" if other == SOLE_VEHICLE else other}'
            for depth, name, other in find_overlaps(placed, present, self._joined, environment)
            if depth > _MAX_OVERLAP
        ]

    def _warn_of_overlaps(self, names: Iterable[str], environment: Environment) -> None:
        """Warn of bodies that were put into others, once for each series of warnings."""
        if not self._has_contact:
            return
        overlaps = self._overlaps(names, self.states, environment)
        text = ', '.join(overlaps[:_MAX_NAMED])
        if len(overlaps) > _MAX_NAMED:
            text += f' and {len(overlaps) - _MAX_NAMED} more'
        if text and text != self._warned_of:
            _LOG.warning('bodies: %s; expected places apart: contact pushes them out', text)
        self._warned_of = text

    def _apply_changes(self, changes: Sequence[EnvironmentChange]) -> set[str]:
        """Apply the changes of bodies since the last tick; return the bodies that were placed."""
        placed: set[str] = set()
        if len(changes) == self._changes:
            return placed
        for change in changes[self._changes :]:
            if change.start * NANOSECONDS <= self._restored:  # a restored world has those before
                self._set_winches(change)
                continue
            if change.reset_bodies:
                self._reset_bodies()
                placed |= self._memories.keys()
            for body in change.bodies:
                self._put('bodies', body.name, _placed_state(body))
                placed.add(body.name)
            for name in change.remove:
                self._put('remove', name, state_at_rest(ABSENT_POSITION))
            for joint in change.release:
                self._contact.release(joint)
            self._set_winches(change)
        self._changes = len(changes)
        self._resting = _RestingBodies(self._environment)
        return placed

    def _reset_bodies(self) -> None:
        """Place all bodies and joints as at the start, but those in grippers."""
        held = self._held
        for body in sorted(held):
            self._warn_if_held('reset_bodies', body)
        self._place_bodies()
        self._held = held

    def _put(self, key: str, body: str, state: State) -> None:
        """Put a body elsewhere by its name, unless a gripper holds it."""
        if not self._warn_if_held(key, body):
            self._memories[body] = begin(self._vehicles[body], self._environment, state)
            self._contact.forget(body)

    def _warn_if_held(self, key: str, body: str) -> bool:
        """Warn of a body that a change would place while a gripper holds it; return whether."""
        if text := self._held_text(key, body):
            _LOG.warning(f'{text}, which stays there; expected a body that no gripper holds')
        return bool(text)

    def _held_text(self, key: str, body: str) -> str:
        """Return that a gripper holds a body, for a message with a key; empty: none does."""
        holder = self._holder(body, self._held)
        return f'{key}: the gripper of {holder} holds {body}' if holder else ''

    def _set_winches(self, change: EnvironmentChange) -> None:
        if change.reset_bodies:
            self._winch_rates = {}
        self._winch_rates |= {winch.name: np.array([winch.rate]) for winch in change.winches}

    def _place_jaws(self, vehicles: Mapping[str, ContactBody]) -> None:
        """Place the bodies on links of the vehicles' arms, with which they move."""
        for joint in self._environment.body_joints:
            if joint.link >= 0:
                parent = vehicles[joint.parent]
                position = self._contact.joint_positions[joint.name]
                held = HeldJoint.on_link(joint, parent.links)
                state = held.placed_child(parent.state, position)
                self._memories[joint.child] = self._memories[joint.child]._replace(state=state)

    @property
    def joint_positions(self) -> dict[str, float]:
        """Angle, rad, or displacement, m, of each joint that moves or mates, at the last tick.

        0: a closed joint without motion; NaN: an open or broken joint.
        """
        positions = self._contact.joint_positions
        return {
            joint.name: positions.get(joint.name, math.nan)
            for joint in self._environment.body_joints
            if joint.is_reported
        }

    @property
    def cables(self) -> dict[str, CableState]:
        """Cables of the tethers of bodies at the last tick, by the name of the body."""
        forces = {name: memory.forces.get('tether') for name, memory in self._memories.items()}
        return {name: cable for name, cable in forces.items() if isinstance(cable, CableState)}

    def output(self) -> dict[str, Any]:
        """Return the ``bodies``, ``body_joints`` and ``body_cables`` of the last tick's output."""
        positions, cables = self.joint_positions, [*self.cables.values()]
        result: dict[str, Any] = {'bodies': body_rows(self.states)}
        if positions:
            result['body_joints'] = np.array([*positions.values()])
        if cables:
            result['body_cables'] = np.concatenate([cable.position for cable in cables])
        return result

    @property
    def broken_joints(self) -> dict[str, tuple[float, float]]:
        """Force, N, and torque, N·m, at which joints broke, by name."""
        return self._contact.broken

    @property
    def holders(self) -> dict[str, str]:
        """Vehicles whose grippers held bodies at the last tick, by the name of the body."""
        return {body: name for body, (name, _) in self._held.items()}

    def points_on(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the points (c, 3) of a vehicle's pairs at the last tick, and which press."""
        return self._contact.points_on(name)


_SMALL_WORLD = """
bodies:
  - {name: low, shape: box, size: [1, 1, 1], position: [0, 0, -5], mass: 2000}
  - {name: top, shape: box, size: [1, 1, 1], position: [0, 0, -4.02], rpy: [0, 0, 0.5], mass: 2000}
  - {name: ball, shape: sphere, radius: 0.3, position: [0, 0, -3.21], mass: 500}
  - {name: lid, shape: box, size: [1, 1, 0.1], position: [0, 3, -5], mass: 500}
joints:
  - {name: hinge, type: revolute, child: lid, axis: [0, 1, 0], limits: [-1, 1], friction: 1}
"""
"""Bodies that touch at faces, edges and points, and one with a joint."""


@cache
def compile_contact() -> None:
    """Compile what moves bodies, or read it from the cache.

    The first step with bodies of an installation takes half a minute: nodes wait for no answer so
    long, so the node that moves bodies compiles before it is ready, and ``make test`` before its
    workers.
    """
    from marine_sim_ros.environment.reader import parse_environment

    environment = parse_environment(_SMALL_WORLD, 'compile_contact')
    world = BodySimulation(environment, 0.005)
    for stamp in (0, NANOSECONDS // 200):
        world.tick(stamp, environment, {})


def seen_bodies(environment: Environment) -> dict[str, dict[str, Any]]:
    """Return the descriptions of the free bodies by namespace, in the form of other vehicles."""
    return {
        BODIES + body.name: {'vehicle': body.description, 'vehicle_arguments': []}
        for body in environment.free_bodies
    }


def body_records(
    environment: Environment, stamps: np.ndarray, rows: np.ndarray | None
) -> dict[str, SensorRecord]:
    """Return the records of the free bodies for a vehicle's sensors, by namespace.

    Args:
        environment: environment with the bodies.
        stamps: (n,) of the ticks, ns.
        rows: (n, b, 13) of :func:`body_rows`; None: there are none.
    """
    if rows is None:
        return {}
    empty = SensorInputs.none()
    rows_of = (np.tile(x, (len(stamps), 1)) for x in (empty.acceleration, empty.supply))
    inputs = SensorInputs(stamps / NANOSECONDS, *rows_of)
    result = {}
    for i, body in enumerate(environment.free_bodies):
        states = State(rows[:, i, :3], rows[:, i, 3:7], rows[:, i, 7:])
        result[BODIES + body.name] = SensorRecord(
            body.vehicle, environment, stamps, states, inputs
        )
    return result


def body_rows(states: Mapping[str, State]) -> np.ndarray:
    """Return the states of bodies as rows (b, 13): position, orientation, velocity."""
    return np.array([np.concatenate(state) for state in states.values()])


def joint_columns(
    joints: Sequence[BodyJoint], rows: np.ndarray | None
) -> dict[str, tuple[list[str], np.ndarray]]:
    """Return names and positions (n, k) of the joints of each body, by its namespace.

    Args:
        joints: the joints of an environment.
        rows: (n, j) positions of the reported joints, in order; None: none.
    """
    if rows is None:
        return {}
    order = [joint.name for joint in joints if joint.is_reported]
    return {
        BODIES + child: (names, rows[:, [order.index(name) for name in names]])
        for child, names in reported_joints(joints).items()
    }


def cable_columns(environment: Environment, rows: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the points (n, m, 3) of the tethers of bodies, by the namespace of the body.

    Args:
        environment: environment with the bodies.
        rows: (n, c, 3) points of all, one after the other; None: none.
    """
    if rows is None:
        return {}
    tethered = tethered_bodies(environment.free_bodies)
    counts = [tether.segments + 1 for tether in tethered.values()]
    parts = np.split(rows, np.cumsum(counts)[:-1], axis=1)
    return {BODIES + name: part for name, part in zip(tethered, parts, strict=True)}
