# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints between free bodies, or a body and the world, and jaws of grippers as free bodies.

Jaws are two pads on sliders of the gripper's link. Both pads move alike, as by a gear, and each is
driven with the same effort, so that they press on what is between them with that force from both
sides; friction holds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.yaml_file import YamlReader, short_text
from marine_sim_ros.model.arm import Gripper, Jaws
from marine_sim_ros.model.free_bodies import BODIES, FreeBody, body_description, is_absent
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.bodies import solid_volume
from marine_sim_ros.scene.drawing import material_colour
from marine_sim_ros.scene.obstacles import Obstacle

__all__ = [
    'BodyJoint',
    'JointDrive',
    'SOLE_VEHICLE',
    'has_jaws',
    'jaw_bodies',
    'joint_topic',
    'read_body_joints',
    'reported_joints',
]

_MOVING_TYPES = ('revolute', 'prismatic')
_TYPES = (*_MOVING_TYPES, 'ball', 'fixed')
_MOVES = frozenset({'axis', 'limits', 'friction', 'damping', 'stiffness', 'rest', 'detents'})
_KEYS = frozenset(
    {
        'name',
        'type',
        'child',
        'parent',
        'position',
        'break_force',
        'break_torque',
        'break_time',
        'mate',
    }
)
_NUMBER_BOUND = 1e9
"""N, N·m and their rates: more is no number of a joint."""


@dataclass(frozen=True, eq=False)
class Detents:
    """Notches of a joint: τ = −T sin(π x/w) at a distance x < w from the nearest one.

    Attributes:
        positions: (k,) angles, rad, or distances, m, from the start.
        effort: T, N·m or N, the most that a notch holds.
        width: w, rad or m, to each side.
    """

    positions: np.ndarray
    effort: float
    width: float

    def torque(self, position: float) -> tuple[float, float]:
        """Return τ, N·m or N, at a position, and the stiffness −dτ/dq there."""
        offset = position - self.positions
        x = float(offset[np.argmin(np.abs(offset))])
        if abs(x) >= self.width:
            return 0.0, 0.0
        rate = math.pi / self.width
        return -self.effort * math.sin(rate * x), self.effort * rate * math.cos(rate * x)


@dataclass(frozen=True, eq=False)
class Mate:
    """Condition at which a joint closes: its two ends meet, aligned, and press on each other.

    Attributes:
        position: (3,) end of the parent at the start, map, m; that of the child is the joint's.
        axis: (3,) unit vector of the parent's end, map at the start.
        distance: largest distance between the ends, m.
        angle: largest angle between their axes, rad.
        force: least force of contact between the bodies along the parent's axis, N.
    """

    position: np.ndarray
    axis: np.ndarray
    distance: float
    angle: float
    force: float


class JointDrive(NamedTuple):
    """Drive of a joint: it moves at a speed, rad/s or m/s, by at most an effort, N·m or N."""

    speed: float
    effort: float


@dataclass(frozen=True, eq=False)
class BodyJoint:
    """A joint between a body and another one, or the world.

    Attributes:
        name: name of the joint.
        type: ``revolute``, ``prismatic``, ``ball`` or ``fixed``.
        child: name of the body.
        parent: name of the other body; empty: the world.
        position: (3,) of its point at the start, map, m.
        axis: (3,) unit vector about or along which it moves, map at the start.
        limits: least and greatest angle, rad, or way, m, from the start; None: no stops.
        friction: N·m or N that it takes to move it.
        damping: N·m·s/rad or N·s/m.
        stiffness: N·m/rad or N/m of a spring.
        rest: angle or way at which the spring rests.
        break_force: mean force at which it breaks, N.
        break_torque: mean torque at which it breaks, N·m.
        break_time: time constant of that mean, s; 0: the load of each step counts.
        detents: notches that hold it, or None.
        mate: condition at which it closes; None: it is closed at the start.
        link: number of the joint of the parent's arm in whose link's frame ``position`` and
            ``axis`` are; −1: they are in map.
        drive: its drive, which moves it forth while the parent's gripper closes and back while it
            opens; or None.
        gear: name of another joint that has the same position; empty: none.
    """

    name: str
    type: str
    child: str
    parent: str
    position: np.ndarray
    axis: np.ndarray
    limits: tuple[float, float] | None = None
    friction: float = 0.0
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    break_force: float = math.inf
    break_torque: float = math.inf
    break_time: float = 0.05
    detents: Detents | None = None
    mate: Mate | None = None
    link: int = -1
    drive: JointDrive | None = None
    gear: str = ''

    @property
    def is_movable(self) -> bool:
        """Whether it moves about or along an axis."""
        return self.type in _MOVING_TYPES

    @property
    def is_reported(self) -> bool:
        """Whether its position is published: it moves about an axis, or it mates."""
        return self.is_movable or self.mate is not None

    @property
    def is_breakable(self) -> bool:
        """Whether a load breaks it."""
        return math.isfinite(min(self.break_force, self.break_torque))


def body_topic(body: str) -> str:
    """Return the topic of the odometry of a free body."""
    return f'{BODIES}{body}/odom'


def joint_topic(body: str) -> str:
    """Return the topic of the joints of a free body."""
    return f'{BODIES}{body}/joint_states'


def reported_joints(joints: Sequence[BodyJoint]) -> dict[str, list[str]]:
    """Return the names of joints with published positions, by their child body."""
    result: dict[str, list[str]] = {}
    for joint in joints:
        if joint.is_reported:
            result.setdefault(joint.child, []).append(joint.name)
    return result


def read_body_joints(reader: YamlReader, bodies: Sequence[FreeBody]) -> tuple[BodyJoint, ...]:
    """Return the joints of an environment's list.

    Args:
        bodies: the bodies that they may join.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    result: list[BodyJoint] = []
    for index, item in enumerate(reader.items()):
        joint = _read_joint(item, index, {body.name: body for body in bodies})
        if joint.name in {other.name for other in result}:
            raise item.error(f': two joints are named {joint.name!r}; expected names of their own')
        result.append(joint)
    return tuple(result)


def _read_joint(reader: YamlReader, index: int, bodies: dict[str, FreeBody]) -> BodyJoint:
    reader.mapping(_KEYS | _MOVES, {'type', 'child'})
    kind = reader.child('type').choice(_TYPES)
    mates = reader.child('mate').value is not None
    unused = sorted((_MOVES - {'axis'} if mates else _MOVES) & set(reader.value))
    if kind not in _MOVING_TYPES and unused:
        raise reader.error(
            f'.{unused[0]}: a {kind} joint has none; expected revolute or prismatic'
        )
    child = reader.child('child').choice(tuple(bodies))
    parent = reader.child('parent', 'world').choice(('world', *bodies))
    for name in (child, parent):
        if name in bodies and is_absent(bodies[name].start):
            raise reader.error(f': {name!r} is absent; expected a body that is there at the start')
    if child == parent:
        raise reader.error(f': joins {child!r} to itself; expected two bodies, or the world')
    position = reader.child('position')
    at = bodies[child].position if position.value is None else position.vector()
    axis = _direction(reader.child('axis', [0.0, 0.0, 1.0]))
    read = YamlReader.angle if kind == 'revolute' else _read_distance
    return BodyJoint(
        reader.child('name', f'joint_{index}').word(),
        kind,
        child,
        '' if parent == 'world' else parent,
        at,
        axis,
        _limits(reader.child('limits'), read),
        friction=reader.child('friction', 0.0).number(0.0, _NUMBER_BOUND),
        damping=reader.child('damping', 0.0).number(0.0, _NUMBER_BOUND),
        stiffness=reader.child('stiffness', 0.0).number(0.0, _NUMBER_BOUND),
        rest=read(reader.child('rest', 0.0)),
        break_force=_load(reader.child('break_force')),
        break_torque=_load(reader.child('break_torque')),
        break_time=reader.child('break_time', BodyJoint.break_time).number(0.0, 1e3, 's'),
        detents=_detents(reader.child('detents'), read),
        mate=_mate(reader.child('mate'), axis),
    )


def _direction(reader: YamlReader) -> np.ndarray:
    """Return a unit vector of the direction of three numbers."""
    axis = reader.vector()
    length = float(np.linalg.norm(axis))
    if not length > 1e-9:
        raise reader.error(' is 0 long; expected a direction')
    return np.asarray(axis / length)


def _mate(reader: YamlReader, axis: np.ndarray) -> Mate | None:
    if reader.value is None:
        return None
    keys = frozenset({'position', 'axis', 'distance', 'angle', 'force'})
    reader.mapping(keys, {'position', 'distance'})
    other = reader.child('axis')
    return Mate(
        reader.child('position').vector(),
        axis if other.value is None else _direction(other),
        reader.child('distance').number(1e-6, 1e3, 'm'),
        reader.child('angle', math.pi).angle(),
        reader.child('force', 0.0).number(0.0, _NUMBER_BOUND, 'N'),
    )


def _detents(reader: YamlReader, read: Callable[[YamlReader], float]) -> Detents | None:
    if reader.value is None:
        return None
    keys = frozenset({'positions', 'effort', 'width'})
    reader.mapping(keys, keys)
    positions = np.array([read(item) for item in reader.child('positions').items()])
    width = read(reader.child('width'))
    if not len(positions):
        raise reader.child('positions').error(' is []; expected at least one position')
    if not width > 0:
        raise reader.child('width').error(f' is {width:g}; expected more than 0')
    if len(positions) > 1 and np.diff(np.sort(positions)).min() < 2 * width * (1 - 1e-9):
        raise reader.error(': two detents overlap; expected at least twice the width between them')
    return Detents(positions, reader.child('effort').number(0.0, _NUMBER_BOUND), width)


def _read_distance(reader: YamlReader) -> float:
    return reader.number(-1e6, 1e6)


def _limits(reader: YamlReader, read: Callable[[YamlReader], float]) -> tuple[float, float] | None:
    """Return the stops, of which null is none on a side."""
    if reader.value is None:
        return None
    ends = reader.items() if isinstance(reader.value, list) else []
    if len(ends) != 2:
        raise reader.error(f' is {short_text(reader.value)}; expected two numbers or nulls')
    none = (-math.inf, math.inf)
    low, high = (
        end if item.value is None else read(item) for item, end in zip(ends, none, strict=True)
    )
    if not low <= 0.0 <= high:
        raise reader.error(f' is {short_text(reader.value)}; expected 0, the start, between them')
    return low, high


def _load(reader: YamlReader) -> float:
    """Return a load at which something breaks; none: it does not."""
    return math.inf if reader.value is None else reader.number(1e-6, _NUMBER_BOUND)


SOLE_VEHICLE = '/vehicle'
"""Name, among the bodies of a world, of the vehicle of a run with one; no body has it."""
_DRAG_COEFFICIENT = 1.1


def has_jaws(vehicle: Vehicle) -> bool:
    """Whether a vehicle's gripper has jaws."""
    gripper: Gripper | None = vehicle.extensions.get('gripper')
    return gripper is not None and gripper.jaws is not None


def jaw_bodies(
    vehicle: Vehicle, density: float, parent: str = SOLE_VEHICLE
) -> tuple[tuple[FreeBody, ...], tuple[BodyJoint, ...]]:
    """Return the jaws of a vehicle and the joints that carry them; empty: it has none.

    The world places them at the vehicle's gripper, open, in its first tick.

    Args:
        density: of the water, kg/m³.
        parent: name of the vehicle among the bodies of the world.

    Raises:
        ParameterError: jaws that close along no axis.
    """
    gripper: Gripper | None = vehicle.extensions.get('gripper')
    arm = vehicle.manipulator
    if gripper is None or gripper.jaws is None or arm is None or gripper.joint not in arm.names:
        return (), ()
    jaws, link = gripper.jaws, arm.names.index(gripper.joint)
    length = float(np.linalg.norm(jaws.axis))
    if length < 1e-9:
        raise ParameterError('jaws: axis is 0 long; expected a direction')
    axis = jaws.axis / length
    prefix = '' if parent == SOLE_VEHICLE else parent.strip('/').replace('/', '_') + '_'
    names = [f'{prefix}jaw_{side}' for side in ('port', 'starboard')]
    away = (jaws.opening + float(np.abs(axis) @ jaws.size)) / 2
    bodies, joints = [], []
    for name, gear, direction in zip(names, ('', names[0]), (axis, -axis), strict=True):
        middle = gripper.position + away * direction
        description = _pad_description(name, jaws, density)
        level = np.array([0.0, 0.0, 0.0, 1.0])
        bodies.append(FreeBody(name, description, middle, level, np.zeros(6)))
        joints.append(
            BodyJoint(
                name,
                'prismatic',
                name,
                parent,
                middle,
                -direction,
                limits=(0.0, jaws.opening / 2),
                link=link,
                drive=JointDrive(jaws.speed, jaws.force),
                gear=gear,
            )
        )
    return tuple(bodies), tuple(joints)


def _pad_description(name: str, jaws: Jaws, density: float) -> str:
    """Return the URDF of a pad."""
    pad = Obstacle(name, 'box', jaws.size, np.zeros(3), material=jaws.material)
    return body_description(
        pad, jaws.mass, solid_volume(pad), _DRAG_COEFFICIENT, density, material_colour('black')
    )
