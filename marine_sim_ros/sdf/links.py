# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links and joints in SDF: groups of links that move as one, inertia, drives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from marine_sim_ros.model.added_mass import Inertia
from marine_sim_ros.model.arm import BANDWIDTH, Manipulator
from marine_sim_ros.model.arm_reader import MOVING_JOINT_TYPES
from marine_sim_ros.model.kinematics import IDENTITY, Pose, read_origin_pose
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.xml_writer import add_element, add_pose

__all__ = [
    'DRIVES',
    'LinkGroup',
    'add_drives',
    'add_inertial',
    'add_joint',
    'effort_of',
    'frame_poses',
    'joint_inertia',
    'link_groups',
]


# Groups of links that move as one: the links of the SDF model.


@dataclass(frozen=True, eq=False)
class GroupJoint:
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
class LinkGroup:
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
    joint: GroupJoint | None = None


def frame_poses(vehicle: Vehicle) -> dict[str, Pose]:
    """Return the pose of every link in the body's, joints at zero."""
    poses = {f.name: Pose(f.translation, f.quaternion) for f in vehicle.frames}
    return {vehicle.base_link: IDENTITY, **poses}


def link_groups(vehicle: Vehicle, root: Reader) -> list[LinkGroup]:
    """Return the bodies of a vehicle, its base first, parents before children."""
    above = {}
    for element in root.element.findall('joint'):
        joint = Reader(element, root.source)
        above[_joint_end(joint, 'child')] = joint
    poses = frame_poses(vehicle)
    members: dict[str, list[str]] = {}
    for name in poses:
        first = name
        while first in above and above[first].attribute('type') not in MOVING_JOINT_TYPES:
            first = _joint_end(above[first], 'parent')
        members.setdefault(first, []).append(name)
    arm = vehicle.manipulator
    inertia = vehicle.inertia if arm is None else arm.body
    base = vehicle.base_link
    result = [LinkGroup(base, _root_first(base, members), IDENTITY, inertia)]
    child_of = {joint.attribute('name'): child for child, joint in above.items()}
    for i, name in enumerate(() if arm is None else arm.names):
        assert arm is not None
        child = child_of[name]
        parent = result[arm.parent[i] + 1].name
        result.append(
            LinkGroup(
                child,
                _root_first(child, members),
                poses[child],
                Inertia(float(arm.mass[i]), arm.center_of_mass[i], arm.tensor[i]),
                GroupJoint(above[child], i, parent),
            )
        )
    return result


def _joint_end(joint: Reader, which: str) -> str:
    end = joint.child(which)
    if end is None:
        raise joint.error(f'has no <{which}>')
    return end.attribute('link')


def _root_first(name: str, members: dict[str, list[str]]) -> tuple[str, ...]:
    return (name, *(m for m in members[name] if m != name))


# Mass, inertia and added mass of a body.

_LEAST_MASS = 1e-3
"""kg, of bodies that weigh nothing: Gazebo refuses a link without mass."""
_LEAST_RADIUS = 0.1
"""m, of gyration, of such bodies."""


def _is_impossible(tensor: np.ndarray) -> bool:
    """Return whether principal moments are those of no body: one exceeds the others' sum."""
    low, middle, high = np.linalg.eigvalsh(tensor)
    return bool(low <= 0 or low + middle < high * (1 - 1e-9))


def _make_possible(name: str, inertia: Inertia, warnings: list[str]) -> Inertia:
    if inertia.mass <= 0:
        warnings.append(
            f'link {name!r} weighs nothing, which Gazebo refuses; {_LEAST_MASS:g} kg are written'
        )
        tensor = _LEAST_MASS * _LEAST_RADIUS**2 * np.eye(3)
        return replace(inertia, mass=_LEAST_MASS, tensor=tensor)
    if _is_impossible(inertia.tensor):
        moments = ', '.join(f'{m:g}' for m in np.linalg.eigvalsh(inertia.tensor))
        warnings.append(
            f'link {name!r} has principal moments of inertia {moments} kg·m²; Gazebo refuses '
            'them: expected positive ones, none larger than the other two together'
        )
    return inertia


def add_inertial(
    link: Element, name: str, inertia: Inertia, added_mass: np.ndarray | None, warnings: list[str]
) -> None:
    """Add an <inertial>.

    The inertia tensor is about the centre of mass, in axes parallel to the link's. The added mass
    is about the link's origin in the link's axes, in the order x y z p q r (SDF 1.10,
    <fluid_added_mass>): the M_A of the equation of motion about ``base_link`` as it is. As it
    is symmetric, 21 of its numbers are written.

    Args:
        link: SDF link to which the element is added.
        inertia: inertia in the link's frame.
        added_mass: (6, 6), kg, kg·m, kg·m², or None.
        warnings: list to which warnings are appended.
    """
    inertia = _make_possible(name, inertia, warnings)
    element = add_element(link, 'inertial')
    add_pose(element, replace(IDENTITY, translation=inertia.center_of_mass))
    add_element(element, 'mass', inertia.mass)
    moments = add_element(element, 'inertia')
    for (i, a), (j, b) in combinations_with_replacement(enumerate('xyz'), 2):
        add_element(moments, f'i{a}{b}', (inertia.tensor[i, j] + inertia.tensor[j, i]) / 2)
    if added_mass is None or not np.any(added_mass):
        return
    fluid = add_element(element, 'fluid_added_mass')
    for (i, a), (j, b) in combinations_with_replacement(enumerate('xyzpqr'), 2):
        add_element(fluid, a + b, added_mass[i, j])


# Joints of an arm.


def effort_of(joint: GroupJoint) -> float:
    """Return the greatest effort of a joint, N·m or N; inf where it is not given."""
    limit = joint.reader.child('limit')
    if limit is None or not limit.element.get('effort'):
        return float('inf')
    return limit.attribute_number('effort', 0.0, 0.0)


def add_joint(
    model: Element,
    name: str,
    ends: tuple[str, str],
    joint: GroupJoint,
    frame: str,
    arm: Manipulator,
    warnings: list[str],
    *,
    fixed: bool,
) -> None:
    """Add a joint of the arm: its frame is that of the body it moves, at joint position 0.

    Args:
        model: SDF model to which the joint is added.
        ends: the link that carries it and the link that it moves.
        frame: name of the URDF link of its <origin>.
        arm: whose axes and limits are written.
        warnings: list to which warnings are appended.
        fixed: write a joint that stays at 0.
    """
    i, reader = joint.number, joint.reader
    kind = 'fixed' if fixed else 'prismatic' if arm.sliding[i] else 'revolute'
    element = add_element(model, 'joint', name=name, type=kind)
    add_pose(element, read_origin_pose(reader), frame)
    add_element(element, 'parent', ends[0])
    add_element(element, 'child', ends[1])
    if fixed:
        return
    axis = add_element(element, 'axis')
    add_element(axis, 'xyz', arm.axis[i])
    limit = add_element(axis, 'limit')
    add_element(limit, 'lower', arm.lower[i])
    add_element(limit, 'upper', arm.upper[i])
    if np.isfinite(effort := effort_of(joint)):
        add_element(limit, 'effort', effort)
    add_element(limit, 'velocity', arm.max_rate[i])
    dynamics = reader.child('dynamics')
    if dynamics is not None:
        losses = add_element(axis, 'dynamics')
        add_element(losses, 'damping', dynamics.attribute_number('damping', 0.0, 0.0))
        add_element(losses, 'friction', dynamics.attribute_number('friction', 0.0, 0.0))
    for tag in ('mimic', 'calibration', 'safety_controller'):
        if reader.child(tag) is not None:
            warnings.append(reader.warning(f'<{tag}> is not written'))


# Gazebo's own systems for buoyancy engines.


def add_buoyancy_engines(model: Element, engines: Any, link: str, density: float) -> list[str]:
    """Add a system for each buoyancy engine; return warnings of what it does not have.

    Volumes are relative to the description, so that the neutral volume is 0. With one engine the
    command is on /model/NAME/buoyancy_engine, else on /model/NAME/ENGINE/buoyancy_engine.

    Args:
        model: SDF model to which the systems are added.
        engines: :class:`~marine_sim_ros.physics.buoyancy_engines.BuoyancyEngineSet`.
        link: name of the vehicle's link in the model.
        density: of the water that the vehicle is trimmed for, kg/m³.
    """
    warnings = []
    for i, name in enumerate(engines.names):
        space = model.get('name', '') + ('' if len(engines) == 1 else f'/{name}')
        plugin = add_element(
            model,
            'plugin',
            filename='gz-sim-buoyancy-engine-system',
            name='gz::sim::systems::BuoyancyEngine',
        )
        values: dict[str, float | str] = {
            'link_name': link,
            'namespace': space,
            'min_volume': float(engines.lower[i]),
            'neutral_volume': 0.0,
            'default_volume': 0.0,
            'max_volume': float(engines.upper[i]),
            'max_inflation_rate': float(engines.rate[i]),
            'fluid_density': density,
        }
        for tag, value in values.items():
            add_element(plugin, tag, value)
        missing = {
            'position: it pushes at the origin of its link': np.any(engines.position[i]),
            'rates by depth': np.any(engines.rate_slope[i]),
            'rate of decrease': engines.return_rate[i] != engines.rate[i],
            'energy': True,
        }
        texts = '; '.join(text for text, present in missing.items() if present)
        warnings.append(f'buoyancy engine {name}: not in Gazebo: {texts}')
    return warnings


# Gazebo's own systems that move the joints of an arm, by positions or efforts.

DRIVES = ('position', 'effort')
"""Commands that joints can take; their topics are gz-sim's own."""
_SYSTEMS = {
    'position': ('joint-position-controller', 'JointPositionController'),
    'effort': ('apply-joint-force', 'ApplyJointForce'),
}


def joint_inertia(arm: Manipulator) -> np.ndarray:
    """Return the inertia (n,) at each joint, with the others at zero and the vehicle fixed.

    I_j = Σ_i aᵀ R_i I_i R_iᵀ a + m_i |a × (c_i − p_j)|² over the links i that hang on joint j, in
    kg·m², or Σ m_i, in kg, where it slides.
    """
    positions, rotations = arm.translation.copy(), arm.rotation.copy()
    for i, parent in enumerate(arm.parent):
        if parent >= 0:
            positions[i] = positions[parent] + rotations[parent] @ positions[i]
            rotations[i] = rotations[parent] @ rotations[i]
    axes = (rotations @ arm.axis[..., None])[..., 0]
    centers = positions + (rotations @ arm.center_of_mass[..., None])[..., 0]
    tensors = rotations @ arm.tensor @ np.swapaxes(rotations, -1, -2)
    result = np.zeros(len(arm))
    for i in range(len(arm)):
        j = i
        while j >= 0:
            lever = np.cross(axes[j], centers[i] - positions[j])
            turning = axes[j] @ tensors[i] @ axes[j] + arm.mass[i] * (lever @ lever)
            result[j] += arm.mass[i] if arm.sliding[j] else turning
            j = arm.parent[j]
    return result


def add_drives(
    model: Element, arm: Manipulator, named: Callable[[str], str], efforts: np.ndarray, kind: str
) -> None:
    """Add a system for each joint.

    ``position``: τ = I ω² (q_c − q) − 2 I ω q̇ within the joint's effort, with I of
    :func:`joint_inertia` and the bandwidth ω of the drives of this package.

    Args:
        model: SDF model to which the systems are added.
        named: returns the name of a joint in the model.
        efforts: (n,) greatest effort of each joint, N·m or N.
        kind: of ``DRIVES``.
    """
    library, system = _SYSTEMS[kind]
    for name, inertia, max_effort in zip(arm.names, joint_inertia(arm), efforts, strict=True):
        plugin = add_element(
            model,
            'plugin',
            filename=f'gz-sim-{library}-system',
            name=f'gz::sim::systems::{system}',
        )
        add_element(plugin, 'joint_name', named(name))
        if kind == 'effort':
            continue
        gains = {
            'p_gain': inertia * BANDWIDTH**2,
            'i_gain': 0.0,
            'd_gain': 2 * inertia * BANDWIDTH,
            'i_max': 0.0,
            'i_min': 0.0,
            'cmd_max': max_effort,
            'cmd_min': -max_effort,
        }
        for tag, value in gains.items():
            add_element(plugin, tag, value)
