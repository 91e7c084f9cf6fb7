# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which links of a vehicle move as one: the links of its SDF model."""

from __future__ import annotations

from dataclasses import dataclass

from marine_sim_ros.model.arm.joints import MOVING
from marine_sim_ros.model.inertia import Inertia
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['Body', 'Joint', 'bodies', 'frame_poses']


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint that moves.

    Attributes:
        reader: reader of its element.
        number: index of the joint in the manipulator.
        parent: name of the body that carries it.
    """

    reader: Reader
    number: int
    parent: str


@dataclass(frozen=True, eq=False)
class Body:
    """Links that fixed joints make one.

    Attributes:
        name: name of its root link, which is the frame of the body.
        links: names of all its links, the root first.
        pose: pose in ``base_link``, joints at zero.
        inertia: inertia in its own frame.
        joint: joint that moves the body, or None for ``base_link``.
    """

    name: str
    links: tuple[str, ...]
    pose: Pose
    inertia: Inertia
    joint: Joint | None = None


def frame_poses(vehicle: Vehicle) -> dict[str, Pose]:
    """Return the pose of every link in the body's, joints at zero."""
    poses = {f.name: Pose(f.translation, f.quaternion) for f in vehicle.frames}
    return {vehicle.base_link: IDENTITY, **poses}


def bodies(vehicle: Vehicle, root: Reader) -> list[Body]:
    """Return the bodies of a vehicle, its base first, parents before children."""
    above = {}
    for element in root.element.findall('joint'):
        joint = Reader(element, root.source)
        above[_end(joint, 'child')] = joint
    poses = frame_poses(vehicle)
    members: dict[str, list[str]] = {}
    for name in poses:
        first = name
        while first in above and above[first].attribute('type') not in MOVING:
            first = _end(above[first], 'parent')
        members.setdefault(first, []).append(name)
    arm = vehicle.manipulator
    inertia = vehicle.inertia if arm is None else arm.body
    base = vehicle.base_link
    result = [Body(base, _rooted(base, members), IDENTITY, inertia)]
    child_of = {joint.attribute('name'): child for child, joint in above.items()}
    for i, name in enumerate(() if arm is None else arm.names):
        assert arm is not None
        child = child_of[name]
        parent = result[arm.parent[i] + 1].name
        result.append(
            Body(
                child,
                _rooted(child, members),
                poses[child],
                Inertia(float(arm.mass[i]), arm.center_of_mass[i], arm.tensor[i]),
                Joint(above[child], i, parent),
            )
        )
    return result


def _end(joint: Reader, which: str) -> str:
    end = joint.child(which)
    if end is None:
        raise joint.error(f'has no <{which}>')
    return end.attribute('link')


def _rooted(name: str, members: dict[str, list[str]]) -> tuple[str, ...]:
    return (name, *(m for m in members[name] if m != name))
