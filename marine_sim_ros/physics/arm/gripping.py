# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gripper: grasp and release of payloads, and the positions of loose ones.

A released payload keeps its momentum, so that the vehicle's velocity does not change. It sinks (or
rises) vertically at its terminal speed until it lies on the seabed (or floats); the current does
not move it. Loose payloads have no contact except with the ground.
"""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.spatial import in_map, matrix_quaternion, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.links import (
    HeldPayload,
    gripper_joint,
    link_poses,
    make_held_payload,
    water_density_at_payload,
)
from marine_sim_ros.physics.arm.manipulator import ArmMemory, JointMotion, release_payload
from marine_sim_ros.scene.bodies import Payload

__all__ = ['Gripping', 'loose_payload_position', 'sinking_speed']


def sinking_speed(payload: Payload, density: float, gravity: float) -> float:
    """Return the speed in m/s at which a loose payload sinks; below 0 it rises.

    (m − ρ V) g = ½ ρ C_d A_z w²; infinite without drag.
    """
    excess_mass = payload.mass - density * payload.volume
    drag = 0.5 * density * payload.drag_coefficient * payload.areas[2]
    if excess_mass == 0:
        return 0.0
    return math.copysign(
        math.sqrt(abs(excess_mass) * gravity / drag) if drag else math.inf, excess_mass
    )


def loose_payload_position(
    payload: Payload, start: np.ndarray, elapsed: float, environment: Environment, density: float
) -> np.ndarray:
    """Return the position (3,) of a payload a time (s) after its release at (3,), map, m."""
    if elapsed <= 0:
        return start
    speed = sinking_speed(payload, density, environment.gravity)
    x, y, z = start.tolist()
    half = payload.body.size[2] / 2
    scene = environment.scene
    floor = -math.inf if scene is None else scene.ground(x, y) + half
    if speed < 0:
        return np.array([x, y, min(z - speed * elapsed, max(z, 0.0))])
    return np.array([x, y, max(z - speed * elapsed, min(floor, max(z, floor)))])


class Gripping:
    """State of a vehicle's gripper and payloads; it changes at ticks only."""

    def __init__(self, vehicle: Vehicle, environment: Environment) -> None:
        """Start without a held payload.

        Raises:
            ParameterError: the gripper is on a joint that does not exist.
        """
        self._vehicle, self._environment = vehicle, environment
        self._gripper = gripper_joint(vehicle)
        self._released: dict[int, tuple[np.ndarray, float]] = {}
        self.closed = False
        self.held = -1
        self.load: HeldPayload | None = None

    @property
    def has_jaws(self) -> bool:
        """Whether the gripper holds by the friction of its jaws, and takes no payloads."""
        return self._gripper is not None and self._gripper[0].jaws is not None

    @property
    def is_possible(self) -> bool:
        """Whether there are a gripper and something to command: jaws or a payload."""
        return self._gripper is not None and (self.has_jaws or bool(self._environment.payloads))

    @property
    def number(self) -> float:
        """Number of the held payload from 1, 0: none; of jaws 1 while they close."""
        return float(self.closed) if self.has_jaws else self.held + 1.0

    def place(self, state: State, joints: JointMotion) -> np.ndarray:
        """Return the point between the jaws (3,), map, m."""
        assert self._gripper is not None
        gripper, arm, joint = self._gripper
        poses = link_poses(arm, joints.position)
        point = poses.translation[joint] + matvec(poses.rotation[joint], gripper.position)
        return np.asarray(in_map(state.position, state.orientation, point[None, :])[0])

    def payload_place(self, index: int, time: float) -> np.ndarray:
        """Return the centre (3,) of a loose payload at a time in s, map, m."""
        payload = self._environment.payloads[index]
        if index not in self._released:
            return np.asarray(payload.body.position)
        start, since = self._released[index]
        density = water_density_at_payload(payload, self._vehicle, self._environment)
        return loose_payload_position(payload, start, time - since, self._environment, density)

    def places(self, state: State, joints: JointMotion, time: float) -> np.ndarray:
        """Return positions, m, and orientations x, y, z, w of all payloads (p, 7) at a time, map.

        A held payload has the axes of the gripper's joint, a loose one those of its description.
        """
        payloads = self._environment.payloads
        result = np.zeros((len(payloads), 7))
        for i, (row, payload) in enumerate(zip(result, payloads, strict=True)):
            row[:3], row[3:] = self.payload_place(i, time), payload.body.orientation
        if self._gripper is not None and self.held >= 0:
            _, arm, joint = self._gripper
            rotation = link_poses(arm, joints.position).rotation[joint]
            orientation = matrix_quaternion(
                np.asarray(rotation_matrix(state.orientation) @ rotation)
            )
            result[self.held] = *self.place(state, joints), *orientation
        return result

    def replay(self, index: int, state: State, joints: JointMotion, time: float) -> None:
        """Set the number of the held payload from a time in s on, −1: none; release any other."""
        if self.has_jaws:
            return
        if self.held >= 0 and index != self.held:
            self._released[self.held] = (self.place(state, joints), time)
        self.held = index

    def hold(self, index: int) -> None:
        """Restore the held payload by its number; −1: none. Jaws close where it is not."""
        self.closed = index >= 0
        if self.has_jaws:
            return
        self.held = index
        self.load = (
            make_held_payload(self._vehicle, self._environment, index) if index >= 0 else None
        )

    def attach(self, state: State, joints: JointMotion, time: float) -> tuple[bool, str]:
        """Grasp the nearest payload within reach; return success and a message."""
        if self._gripper is None:
            return False, f'attach: {self._vehicle.name} has no <gripper>'
        if self.has_jaws:
            self.closed = True
            return True, f'the jaws close from {time:g} s on'
        if self.load is not None:
            return False, f'attach: the gripper holds {self.load.payload.name} already'
        gripper, payloads = self._gripper[0], self._environment.payloads
        if not payloads:
            return False, 'attach: the environment has no payloads'
        position = self.place(state, joints)
        distances = [
            np.linalg.norm(self.payload_place(i, time) - position) for i in range(len(payloads))
        ]
        index = int(np.argmin(distances))
        payload = payloads[index]
        if distances[index] > gripper.reach:
            return False, (
                f'attach: {payload.name}, the nearest payload, is '
                f'{distances[index]:.2f} m from the '
                f'gripper; expected at most {gripper.reach:g} m'
            )
        if payload.mass > gripper.capacity:
            return False, (
                f'attach: {payload.name} has {payload.mass:g} kg; expected at most '
                f'{gripper.capacity:g} kg'
            )
        self.held, self.load = index, make_held_payload(self._vehicle, self._environment, index)
        return True, f'holds {payload.name} ({payload.mass:g} kg) at {time:g} s'

    def detach(
        self, state: State, joints: JointMotion, memory: ArmMemory | None, time: float
    ) -> tuple[bool, str, ArmMemory | None]:
        """Release the payload; return success, a message, and the arm's memory without it.

        The payload keeps its momentum, so the vehicle's velocity does not change.
        """
        if self.has_jaws:
            self.closed = False
            return True, f'the jaws open from {time:g} s on', memory
        if self.load is None:
            return False, 'detach: the gripper holds nothing', memory
        name = self.load.payload.name
        self.replay(-1, state, joints, time)
        self.load = None
        memory = release_payload(self._vehicle, joints, memory)
        return True, f'released {name} at {time:g} s', memory

    def follow(
        self,
        closed: bool,
        state: State,
        joints: JointMotion,
        memory: ArmMemory | None,
        time: float,
    ) -> tuple[str, bool, ArmMemory | None]:
        """Follow a scenario's command; return a message if something happened, and success."""
        if closed == self.closed:
            return '', True, memory
        self.closed = closed
        if closed:
            succeeded, text = self.attach(state, joints, time)
            return text, succeeded, memory
        if self.load is None and not self.has_jaws:  # it opens after a failed grasp
            return '', True, memory
        succeeded, text, memory = self.detach(state, joints, memory, time)
        return text, succeeded, memory
