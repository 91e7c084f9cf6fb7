# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What an arm needs to be a chain of bodies: its drives, its gears, and the water at its links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix, transport
from marine_sim_ros.model.arm.manipulator import Articulation, Manipulator
from marine_sim_ros.model.vehicle import Frame
from marine_sim_ros.model.xml import Reader

__all__ = ['read_articulation']

MODES = ('kinematic', 'articulated')
BASES = ('free', 'fixed')


@dataclass(frozen=True, eq=False)
class _Water:
    joint: int
    arm: np.ndarray
    added: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray


def _six(reader: Reader, name: str) -> np.ndarray:
    values = reader.numbers({6}, reader.attribute(name, '0 0 0 0 0 0'))
    if np.min(values) < 0:
        raise reader.error(f'{name} has a number below 0; expected six that are not')
    return values


def _water(
    reader: Reader, arm: Manipulator, frames: Mapping[str, Frame], at: list[Frame]
) -> _Water:
    name = reader.attribute('name')
    if name not in arm.carrier:
        raise reader.error(
            f'{name!r} does not move; expected one of: {", ".join(sorted(arm.carrier))}'
        )
    joint = arm.carrier[name]
    own, moving = frames[name], at[joint]
    place, turn = reader.pose()
    of_link, of_joint = rotation_matrix(own.quaternion), rotation_matrix(moving.quaternion)
    offset = of_joint.T @ (own.translation + of_link @ place - moving.translation)
    back = (of_joint.T @ of_link @ rotation_matrix(turn)).T
    return _Water(
        joint,
        np.kron(np.eye(2), back) @ transport(offset),
        _six(reader, 'added_mass'),
        _six(reader, 'linear_damping'),
        _six(reader, 'quadratic_damping'),
    )


def _choice(reader: Reader, name: str, known: tuple[str, ...]) -> str:
    """Return one of some words given as an attribute; the first where it is not."""
    word = reader.attribute(name, known[0])
    if word not in known:
        raise reader.error(f'{name} is {word!r}; expected one of: {", ".join(known)}')
    return word


def read_articulation(
    root: Reader, robot: Any, frames: Mapping[str, Frame], arm: Manipulator | None
) -> Manipulator | None:
    """Return an arm as <manipulator dynamics=""> says; without that it is kinematic.

    Args:
        root: reader of <robot>.
        robot: robot of urdf_parser_py.
        frames: frames of all links, joints at zero.
        arm: the arm; None: no joint moves.

    Raises:
        ModelError: no arm, an unknown mode or link, or a number that cannot be used.
    """
    reader = root.child('manipulator')
    if reader is None:
        return arm
    mode, base = _choice(reader, 'dynamics', MODES), _choice(reader, 'base', BASES)
    if arm is None:
        raise reader.error('no joint moves; expected a revolute or prismatic one')
    joints = {joint.name: joint for joint in robot.joints}
    ordered = [joints[name] for name in arm.names]
    at = [frames[joint.child] for joint in ordered]
    parts = [_water(child, arm, frames, at) for child in reader.children({'link'})]
    if mode == 'kinematic':
        return arm
    if len(light := np.flatnonzero(arm.mass @ arm.carries <= 0)):
        raise reader.error(f'joint {arm.names[light[0]]!r} moves no mass; expected an <inertial>')
    added = np.zeros((len(arm), 6, 6))
    for part in parts:
        added[part.joint] += part.arm.T @ np.diag(part.added) @ part.arm

    def of_joints(element: str, name: str) -> np.ndarray:
        found = [getattr(getattr(joint, element), name, None) or 0.0 for joint in ordered]
        if not (np.isfinite(found).all() and min(found) >= 0):
            raise reader.error(f'a joint has a <{element} {name}=""> below 0 or not finite')
        return np.array(found, float)

    chain = Articulation(
        effort=of_joints('limit', 'effort'),
        damping=of_joints('dynamics', 'damping'),
        friction=of_joints('dynamics', 'friction'),
        bandwidth=reader.attribute_number('bandwidth', 10.0, 0.1, 1e3),
        fixed=base == 'fixed',
        added_mass=added,
        drag_joint=np.array([part.joint for part in parts], int),
        drag_arm=np.array([part.arm for part in parts]).reshape(-1, 6, 6),
        linear=np.array([part.linear for part in parts]).reshape(-1, 6),
        quadratic=np.array([part.quadratic for part in parts]).reshape(-1, 6),
    )
    return replace(arm, articulation=chain)
