# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints of free bodies, with each other and with the world: valves, levers, doors, chains."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.yaml_file import YamlReader, short_text
from marine_sim_ros.model.free_bodies import FreeBody

__all__ = ['BodyJoint', 'moving_joints', 'read_body_joints']

_MOVING_TYPES = ('revolute', 'prismatic')
_TYPES = (*_MOVING_TYPES, 'ball', 'fixed')
_MOVES = frozenset({'axis', 'limits', 'friction', 'damping', 'stiffness', 'rest'})
_KEYS = frozenset({'name', 'type', 'child', 'parent', 'position', 'break_force', 'break_torque'})
_MOST = 1e9
"""N, N·m and their rates: more is no number of a joint."""


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
        break_force: N at which it breaks.
        break_torque: N·m at which it breaks.
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

    @property
    def moves(self) -> bool:
        """Whether it moves about or along an axis."""
        return self.type in _MOVING_TYPES


def moving_joints(joints: Sequence[BodyJoint]) -> dict[str, list[str]]:
    """Return the names of the joints that move about or along an axis, by their child."""
    result: dict[str, list[str]] = {}
    for joint in joints:
        if joint.moves:
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
    if kind not in _MOVING_TYPES and (given := sorted(_MOVES & set(reader.value))):
        raise reader.error(f'.{given[0]}: a {kind} joint has none; expected revolute or prismatic')
    child = reader.child('child').choice(tuple(bodies))
    parent = reader.child('parent', 'world').choice(('world', *bodies))
    if child == parent:
        raise reader.error(f': joins {child!r} to itself; expected two bodies, or the world')
    position = reader.child('position')
    at = bodies[child].position if position.value is None else position.vector()
    axis = reader.child('axis', [0.0, 0.0, 1.0]).vector()
    length = float(np.linalg.norm(axis))
    if not length > 1e-9:
        raise reader.child('axis').error(' is 0 long; expected a direction')
    read = YamlReader.angle if kind == 'revolute' else _way
    return BodyJoint(
        reader.child('name', f'joint_{index}').word(),
        kind,
        child,
        '' if parent == 'world' else parent,
        at,
        axis / length,
        _limits(reader.child('limits'), read),
        friction=reader.child('friction', 0.0).number(0.0, _MOST),
        damping=reader.child('damping', 0.0).number(0.0, _MOST),
        stiffness=reader.child('stiffness', 0.0).number(0.0, _MOST),
        rest=read(reader.child('rest', 0.0)),
        break_force=_load(reader.child('break_force')),
        break_torque=_load(reader.child('break_torque')),
    )


def _way(reader: YamlReader) -> float:
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
    return math.inf if reader.value is None else reader.number(1e-6, _MOST)
