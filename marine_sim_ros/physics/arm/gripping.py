# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gripper: grasp and release of free bodies.

A held body is a part of the link that carries it. It goes to the point between the jaws and takes
the axes of the link at once; its momentum, and that of a released one, is conserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.spatial import in_map
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.free_bodies import tethered_bodies
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.links import (
    HeldPayload,
    gripper_joint,
    link_poses,
    make_held_payload,
)
from marine_sim_ros.physics.arm.manipulator import JointMotion

__all__ = ['Gripping', 'loose_bodies']

_NO_HOLDERS: Mapping[str, str] = MappingProxyType({})


def loose_bodies(environment: Environment) -> list[str]:
    """Return the names of the bodies that a gripper can take: without joints and tether."""
    held = {name for joint in environment.body_joints for name in (joint.child, joint.parent)}
    held |= tethered_bodies(environment.free_bodies).keys()
    return [body.name for body in environment.free_bodies if body.name not in held]


class Gripping:
    """State of a vehicle's gripper; it changes at ticks only.

    Attributes:
        closed: whether the gripper is commanded to be closed.
        load: body that it holds; None: none.
    """

    def __init__(self, vehicle: Vehicle, environment: Environment) -> None:
        """Start without a held body.

        Raises:
            ParameterError: the gripper is on a joint that does not exist.
        """
        self._vehicle, self._environment = vehicle, environment
        self._gripper = gripper_joint(vehicle)
        self._loose = [] if self._gripper is None else loose_bodies(environment)
        self.closed = False
        self.load: HeldPayload | None = None

    @property
    def has_jaws(self) -> bool:
        """Whether the gripper holds by the friction of its jaws, and attaches nothing."""
        return self._gripper is not None and self._gripper[0].jaws is not None

    @property
    def is_possible(self) -> bool:
        """Whether there are a gripper and something to command: jaws or a loose body."""
        return self._gripper is not None and (self.has_jaws or bool(self._loose))

    @property
    def reachable(self) -> list[str]:
        """Names of the bodies whose states :meth:`attach` needs."""
        return self._loose if self.is_possible and not self.has_jaws else []

    @property
    def number(self) -> float:
        """Number of the held body from 1, 0: none; of jaws 1 while they close."""
        if self.has_jaws:
            return float(self.closed)
        names = [body.name for body in self._environment.free_bodies]
        return 0.0 if self.load is None else names.index(self.load.name) + 1.0

    def place(self, state: State, joints: JointMotion) -> np.ndarray:
        """Return the point between the jaws (3,), map, m."""
        assert self._gripper is not None
        gripper, arm, joint = self._gripper
        poses = link_poses(arm, joints.position)
        point = poses.translation[joint] + matvec(poses.rotation[joint], gripper.position)
        return np.asarray(in_map(state.position, state.orientation, point[None, :])[0])

    def hold(self, index: int) -> None:
        """Restore the held body by its number; −1: none. Jaws close where it is not."""
        self.closed = index >= 0
        if not self.has_jaws:
            bodies = self._environment.free_bodies
            self.load = make_held_payload(self._vehicle, bodies[index]) if index >= 0 else None

    def attach(
        self,
        state: State,
        joints: JointMotion,
        time: float,
        bodies: Mapping[str, State],
        holders: Mapping[str, str] = _NO_HOLDERS,
    ) -> tuple[bool, str]:
        """Grasp the nearest loose body within reach; return success and a message.

        Args:
            state: state of the vehicle.
            joints: its joints at the last tick.
            time: s.
            bodies: states of the bodies at the last tick, by name.
            holders: other vehicles whose grippers held bodies then, by the name of the body.
        """
        if self._gripper is None:
            return False, f'attach: {self._vehicle.name} has no <gripper>'
        if self.has_jaws:
            self.closed = True
            return True, f'the jaws close from {time:g} s on'
        if self.load is not None:
            return False, f'attach: the gripper holds {self.load.name} already'
        if not self._loose:
            return False, 'attach: the environment has no bodies without joints and tether'
        if not bodies.keys() >= {*self._loose}:
            return False, 'attach: the states of the bodies are not known yet'
        gripper, point = self._gripper[0], self.place(state, joints)
        distances = [float(np.linalg.norm(bodies[n].position - point)) for n in self._loose]
        name = self._loose[int(np.argmin(distances))]
        index = [body.name for body in self._environment.free_bodies].index(name)
        body = self._environment.free_bodies[index]
        mass = float(body.vehicle.inertia.mass)
        if min(distances) > gripper.reach:
            return False, (
                f'attach: {name}, the nearest body, is {min(distances):.2f} m from the '
                f'gripper; expected at most {gripper.reach:g} m'
            )
        if name in holders:
            return False, (
                f'attach: the gripper of {holders[name]} holds {name}; expected a body that no '
                'gripper holds'
            )
        if mass > gripper.capacity:
            return False, (
                f'attach: {name} has {mass:g} kg; expected at most {gripper.capacity:g} kg'
            )
        self.load = make_held_payload(self._vehicle, body)
        return True, f'holds {name} ({mass:g} kg) at {time:g} s'

    def yield_to(self, holders: Mapping[str, str], time: float) -> str:
        """Let go of a body that another gripper took in the same tick; return a message, or ''.

        Args:
            holders: as of :meth:`attach`.
            time: s.
        """
        if self.load is None or self.load.name not in holders:
            return ''
        name, self.load = self.load.name, None
        return (
            f'attach: the gripper of {holders[name]} took {name} in the same tick, and has it at '
            f'{time:g} s'
        )

    def detach(self, time: float) -> tuple[bool, str]:
        """Release the body; return success and a message."""
        if self.has_jaws:
            self.closed = False
            return True, f'the jaws open from {time:g} s on'
        if self.load is None:
            return False, 'detach: the gripper holds nothing'
        name, self.load = self.load.name, None
        return True, f'released {name} at {time:g} s'

    def follow(
        self,
        closed: bool,
        state: State,
        joints: JointMotion,
        time: float,
        bodies: Mapping[str, State],
        holders: Mapping[str, str] = _NO_HOLDERS,
    ) -> tuple[bool, str]:
        """Follow a scenario's command; return success, and a message if something happened."""
        if closed == self.closed:
            return True, ''
        self.closed = closed
        if closed:
            return self.attach(state, joints, time, bodies, holders)
        if self.load is None and not self.has_jaws:  # it opens after a failed grasp
            return True, ''
        return self.detach(time)
