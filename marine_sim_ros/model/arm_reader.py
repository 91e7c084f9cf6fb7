# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Readers of arms: joints that move, dynamics, gears, water at the links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.schema import REQUIRED, choice, declaration, nested, number, text
from marine_sim_ros.core.spatial import rotation_matrix, transport
from marine_sim_ros.model.added_mass import Buoyancy, Inertia, combined_buoyancy, combined_inertia
from marine_sim_ros.model.arm import JointDynamics, Manipulator
from marine_sim_ros.model.kinematics import OriginElement, base_name
from marine_sim_ros.model.servos import DEFAULT_MAX_RATE, Hinge
from marine_sim_ros.model.vehicle import Frame
from marine_sim_ros.model.xml import Reader, direction_along

__all__ = [
    'MOVING_JOINT_TYPES',
    'ManipulatorElement',
    'hinge_finder',
    'read_articulation',
    'read_manipulator',
]


# Reads the joints that move into a manipulator.

MOVING_JOINT_TYPES = ('revolute', 'prismatic')
"""Joint types that move. Continuous joints are taken for propeller shafts, which carry no arm."""


def _carriers(robot: Any, joints: list[Any]) -> dict[str, int]:
    """Return for every link the number of the nearest joint that moves it, −1 for none."""
    above = {joint.child: joint for joint in robot.joints}
    number = {joint.name: i for i, joint in enumerate(joints)}
    result: dict[str, int] = {}
    for link in robot.links:
        name = link.name
        while name in above and above[name].name not in number:
            name = above[name].parent
        result[link.name] = number[above[name].name] if name in above else -1
    return result


def _sort_joints(robot: Any, base: str) -> list[Any]:
    """Return the joints that move, parents before children."""
    children: dict[str, list[Any]] = {}
    for joint in robot.joints:
        children.setdefault(joint.parent, []).append(joint)
    result, queue = [], [base]
    while queue:
        for joint in children.get(queue.pop(0), ()):
            queue.append(joint.child)
            if joint.type in MOVING_JOINT_TYPES:
                result.append(joint)
    return result


def _joint_limits(joint: Any, source: str) -> tuple[float, float, float]:
    limit = joint.limit
    if limit is None:
        raise ModelError(
            f'{source}: joint {joint.name!r} is {joint.type} and has no <limit>; '
            'expected <limit lower= upper= velocity= effort=>'
        )
    lower, upper = float(limit.lower or 0.0), float(limit.upper or 0.0)
    rate = float(limit.velocity or 0.0)
    if not (np.isfinite([lower, upper]).all() and lower <= 0 <= upper and 0 < rate < np.inf):
        raise ModelError(
            f'{source}: joint {joint.name!r} has limits {lower:g} to {upper:g} at {rate:g}; '
            'expected lower <= 0 <= upper (it starts at 0) and a positive velocity'
        )
    return lower, upper, rate


def _joint_axis(joint: Any, source: str) -> np.ndarray:
    axis = np.array(joint.axis if joint.axis is not None else (1, 0, 0), float)
    direction = direction_along(axis)
    if direction is None:
        raise ModelError(
            f'{source}: joint {joint.name!r} has the axis {axis.tolist()}; expected a direction'
        )
    return direction


def hinge_finder(robot: Any, frames: Mapping[str, Frame], source: str) -> Callable[[str], Hinge]:
    """Return a function that finds the hinge of a joint by name, at zero.

    A continuous joint turns from −π to π. The function raises ValueError with a reason.
    """
    joints = {joint.name: joint for joint in robot.joints}

    def find(name: str) -> Hinge:
        joint = joints.get(name)
        if joint is None:
            raise ValueError(f'is unknown; expected one of: {", ".join(joints) or "none"}')
        if joint.type not in ('revolute', 'continuous'):
            raise ValueError(f'is {joint.type}; expected a revolute or continuous joint')
        lower, upper, rate = -np.pi, np.pi, DEFAULT_MAX_RATE
        if joint.type == 'revolute':
            lower, upper, rate = _joint_limits(joint, source)
        elif joint.limit is not None and joint.limit.velocity:
            rate = float(joint.limit.velocity)
        limits = {'lower': max(lower, -np.pi), 'upper': min(upper, np.pi), 'max_rate': rate}
        frame = frames[joint.child]
        axis = np.asarray(rotation_matrix(frame.quaternion)) @ _joint_axis(joint, source)
        return Hinge(frame.translation, axis, limits)

    return find


def read_manipulator(
    robot: Any,
    frames: Mapping[str, Frame],
    inertias: Mapping[str, Inertia],
    volumes: Mapping[str, Buoyancy],
    water: Buoyancy,
    source: str,
) -> Manipulator | None:
    """Return the arm of a description, or None where no joint moves.

    Args:
        frames: frames of all links, joints at zero.
        inertias: inertias by link, in the body frame, joints at zero.
        volumes: displaced volumes by link, in the body frame, joints at zero.
        water: buoyancy of the vehicle; height and density where the body itself displaces nothing.
        source: source of the description, for messages.

    Raises:
        ModelError: a moving joint without usable limits or axis.
    """
    joints = _sort_joints(robot, base_name(frames))
    if not joints:
        return None
    carriers = _carriers(robot, joints)
    base = frames[base_name(frames)]
    at = [frames[joint.child] for joint in joints]
    rotations = [rotation_matrix(frame.quaternion) for frame in at]
    parent = [carriers[joint.parent] for joint in joints]
    translation, rotation = [], []
    for i, p in enumerate(parent):
        origin = at[p].translation if p >= 0 else base.translation
        back = rotations[p].T if p >= 0 else np.eye(3)
        translation.append(back @ (at[i].translation - origin))
        rotation.append(back @ rotations[i])

    def parts(table: Mapping[str, Any], i: int) -> list[Any]:
        return [part for link, part in table.items() if carriers[link] == i]

    bodies = [combined_inertia(parts(inertias, i)) for i in range(len(joints))]
    nothing = Buoyancy(0.0, np.zeros(3), water.height, water.fluid_density)
    floats = [combined_buoyancy(parts(volumes, i) or [nothing]) for i in range(len(joints))]
    limits = np.array([_joint_limits(joint, source) for joint in joints])
    return Manipulator(
        names=tuple(joint.name for joint in joints),
        parent=tuple(parent),
        translation=np.array(translation),
        rotation=np.array(rotation),
        axis=np.array([_joint_axis(joint, source) for joint in joints]),
        sliding=np.array([float(joint.type == 'prismatic') for joint in joints]),
        lower=limits[:, 0],
        upper=limits[:, 1],
        max_rate=limits[:, 2],
        mass=np.array([b.mass for b in bodies]),
        center_of_mass=np.array(
            [
                r.T @ (b.center_of_mass - f.translation) * (b.mass > 0)
                for b, f, r in zip(bodies, at, rotations, strict=True)
            ]
        ),
        tensor=np.array([r.T @ b.tensor @ r for b, r in zip(bodies, rotations, strict=True)]),
        volume=np.array([b.volume for b in floats]),
        center_of_volume=np.array(
            [
                r.T @ (b.center_of_volume - f.translation) * (b.volume > 0)
                for b, f, r in zip(floats, at, rotations, strict=True)
            ]
        ),
        body=combined_inertia(parts(inertias, -1)),
        body_buoyancy=combined_buoyancy(parts(volumes, -1) or [nothing]),
        buoyancies=tuple(floats),
        carrier={link: i for link, i in carriers.items() if i >= 0},
    )


# What an arm needs to be a chain of bodies: its drives, its gears, and the water at its links.

MODES = ('kinematic', 'articulated')
BASES = ('free', 'fixed')


@dataclass(frozen=True, eq=False)
class _Water:
    joint: int
    arm: np.ndarray
    added: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray


@declaration(frozen=True, kw_only=True)
class LinkElement(OriginElement):
    """<link> of a <manipulator>: diagonals of the matrices of its water."""

    reader: Reader
    name: str = text('link that moves', REQUIRED, place='attribute')
    added_mass: np.ndarray = number(
        np.zeros(6), 0.0, 1e9, 'kg and kg·m²', 'added mass', place='attribute'
    )
    linear_damping: np.ndarray = number(
        np.zeros(6),
        0.0,
        1e9,
        'N·s/m and N·m·s/rad',
        'diagonal of the linear damping',
        place='attribute',
    )
    quadratic_damping: np.ndarray = number(
        np.zeros(6),
        0.0,
        1e9,
        'N·s²/m² and N·m·s²/rad²',
        'of the quadratic damping',
        place='attribute',
    )


@declaration(frozen=True, kw_only=True)
class ManipulatorElement:
    """<manipulator>."""

    dynamics: str = choice(MODES, 'whether drives or efforts move it', place='attribute')
    base: str = choice(BASES, 'whether the vehicle moves', place='attribute')
    bandwidth: float = number(
        10.0, 0.1, 1e3, 'rad/s', 'bandwidth of the drives to a position', place='attribute'
    )
    link: tuple[LinkElement, ...] = nested(LinkElement, 'water of the links', many=True)


def _link_water(
    element: LinkElement, arm: Manipulator, frames: Mapping[str, Frame], at: list[Frame]
) -> _Water:
    name = element.name
    if name not in arm.carrier:
        raise element.reader.error(
            f'{name!r} does not move; expected one of: {", ".join(sorted(arm.carrier))}'
        )
    joint = arm.carrier[name]
    link, moving = frames[name], at[joint]
    translation, quaternion = element.reader.pose()
    of_link, of_joint = rotation_matrix(link.quaternion), rotation_matrix(moving.quaternion)
    offset = of_joint.T @ (link.translation + of_link @ translation - moving.translation)
    back = (of_joint.T @ of_link @ rotation_matrix(quaternion)).T
    return _Water(
        joint,
        np.kron(np.eye(2), back) @ transport(offset),
        element.added_mass,
        element.linear_damping,
        element.quadratic_damping,
    )


def read_articulation(
    root: Reader, robot: Any, frames: Mapping[str, Frame], arm: Manipulator | None
) -> Manipulator | None:
    """Return an arm with the joint dynamics of <manipulator dynamics="">; default: kinematic.

    Args:
        frames: frames of all links, joints at zero.
        arm: the arm; None: no joint moves.

    Raises:
        ModelError: no arm, an unknown mode or link, or a number that cannot be used.
    """
    reader = root.child('manipulator')
    if reader is None:
        return arm
    manipulator = reader.read(ManipulatorElement)
    if arm is None:
        raise reader.error('no joint moves; expected a revolute or prismatic one')
    joints = {joint.name: joint for joint in robot.joints}
    ordered = [joints[name] for name in arm.names]
    at = [frames[joint.child] for joint in ordered]
    parts = [_link_water(child, arm, frames, at) for child in manipulator.link]
    if manipulator.dynamics == 'kinematic':
        return arm
    if len(light := np.flatnonzero(arm.mass @ arm.support_matrix <= 0)):
        raise reader.error(f'joint {arm.names[light[0]]!r} moves no mass; expected an <inertial>')
    added = np.zeros((len(arm), 6, 6))
    for part in parts:
        added[part.joint] += part.arm.T @ np.diag(part.added) @ part.arm

    def of_joints(element: str, name: str) -> np.ndarray:
        values = [getattr(getattr(joint, element), name, None) or 0.0 for joint in ordered]
        if not (np.isfinite(values).all() and min(values) >= 0):
            raise reader.error(f'a joint has a <{element} {name}=""> below 0 or not finite')
        return np.array(values, float)

    chain = JointDynamics(
        effort=of_joints('limit', 'effort'),
        damping=of_joints('dynamics', 'damping'),
        friction=of_joints('dynamics', 'friction'),
        bandwidth=manipulator.bandwidth,
        fixed=manipulator.base == 'fixed',
        added_mass=added,
        drag_joint=np.array([part.joint for part in parts], int),
        drag_arm=np.array([part.arm for part in parts]).reshape(-1, 6, 6),
        linear=np.array([part.linear for part in parts]).reshape(-1, 6),
        quadratic=np.array([part.quadratic for part in parts]).reshape(-1, 6),
    )
    return replace(arm, joint_dynamics=chain)
