# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Servos of a vehicle, and azimuth thrusters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from marine_sim_ros.core.schema import REQUIRED, declaration, nested, number, text
from marine_sim_ros.core.spatial import skew
from marine_sim_ros.model.xml import Reader

__all__ = [
    'AzimuthElement',
    'AzimuthSet',
    'AzimuthSpec',
    'COMMANDS_TOPIC',
    'DEFAULT_MAX_RATE',
    'HardwareJoint',
    'HardwareSystem',
    'Hinge',
    'STATES_TOPIC',
    'ServoElement',
    'Servos',
    'azimuth_set',
    'read_azimuth',
    'read_systems',
    'turned_columns',
]

# Servos of any kind: common parameters and reader.

DEFAULT_MAX_RATE = 1e3
"""rad/s; default maximum rate."""


class Servos(Protocol):
    """Servos: (m,) limits ``lower`` and ``upper`` in rad, ``max_rate`` rad/s, lag in s."""

    @property
    def names(self) -> tuple[str, ...]:
        """Hinge of a servo: axis, centre and limits."""

    @property
    def lower(self) -> Any:
        """(m,) rad."""

    @property
    def upper(self) -> Any:
        """(m,) rad."""

    @property
    def max_rate(self) -> Any:
        """(m,) rad/s."""

    @property
    def time_constant(self) -> Any:
        """(m,) s."""


@declaration(frozen=True, kw_only=True)
class LimitElement:
    """<limit> of a servo."""

    lower: float = number(0.0, -math.pi, 0.0, 'rad', 'least angle', place='attribute')
    upper: float = number(0.0, 0.0, math.pi, 'rad', 'greatest angle', place='attribute')
    velocity: float = number(
        DEFAULT_MAX_RATE, 1e-6, DEFAULT_MAX_RATE, 'rad/s', 'greatest rate', place='attribute'
    )


@declaration(frozen=True, kw_only=True)
class ServoElement:
    """What <fin> and <azimuth> have in common."""

    reader: Reader
    limit: LimitElement | None = nested(LimitElement, 'limits of the servo')
    time_constant: float = number(0.0, 0.0, 60.0, 's', "servo's lag")

    @property
    def limits(self) -> dict[str, float]:
        """``lower`` and ``upper`` in rad and ``max_rate`` in rad/s."""
        limit = self.limit
        if limit is None:
            text = 'has no <limit>; expected <limit lower= upper= velocity=> in rad'
            raise self.reader.error(text)
        return {'lower': limit.lower, 'upper': limit.upper, 'max_rate': limit.velocity}


# Azimuths: servos of thrusters, and their reader.

UP = np.array([0.0, 0.0, 1.0])
MAX_AXIAL_FRACTION = 0.5
"""Upper bound of the thrust component along the azimuth axis, as a fraction."""


@dataclass(frozen=True, eq=False)
class Hinge:
    """A joint of the description at zero: point (3,) m and unit axis (3,), limits rad, rad/s."""

    center: np.ndarray
    axis: np.ndarray
    limits: dict[str, float]


@declaration(frozen=True, kw_only=True)
class AxisElement:
    """<axis> of a hinge."""

    xyz: str = text('direction', REQUIRED, place='attribute')


@declaration(frozen=True, kw_only=True)
class AzimuthElement(ServoElement):
    """<azimuth> of a thruster."""

    joint: str = text('joint that it turns with', place='attribute')
    axis: np.ndarray | None = nested(
        AxisElement, 'axis through the thruster', read=lambda r: r.direction(r.attribute('xyz'))
    )


@dataclass(frozen=True, eq=False)
class AzimuthSpec:
    """The azimuth of one thruster: a hinge, its servo's lag in s, and the joint's name or ''."""

    hinge: Hinge
    time_constant: float
    joint: str


@dataclass(frozen=True, eq=False)
class AzimuthSet:
    """All azimuths of a vehicle, in the order of their thrusters; k of them of n thrusters.

    Attributes:
        names: k names: of the joint, as joint_states have it, or else of the thruster.
        joints: k names of the joints that they turn with; '' for none.
        turns: (n, k) 1.0 where an azimuth turns a thruster, else 0.0.
        center: (k, 3) a point of the axis, m.
        axis: (k, 3) unit vectors about which a positive angle turns (right-hand rule).
        lower: (k,) least angle, rad.
        upper: (k,) greatest angle, rad.
        max_rate: (k,) of the servo, rad/s.
        time_constant: (k,) of the servo, s.
    """

    names: tuple[str, ...]
    joints: tuple[str, ...]
    turns: np.ndarray
    center: np.ndarray
    axis: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    max_rate: np.ndarray
    time_constant: np.ndarray

    def __len__(self) -> int:
        """Return the number of azimuths."""
        return len(self.names)

    @cached_property
    def index(self) -> np.ndarray:
        """(k,) indices of the azimuth thrusters."""
        return np.argmax(self.turns, axis=0)


def turned_columns(columns: np.ndarray, azimuths: AzimuthSet) -> np.ndarray:
    """Return the coefficients (2, 6, n) of cos θ − 1 and sin θ in wrenches (6, n) of azimuths.

    With R(θ) = 1 + sin θ K + (1 − cos θ) K², K = [a]× (Rodrigues), about a point c of the axis.
    Columns of thrusters that do not turn are 0.
    """
    result = np.zeros((2, *columns.shape))
    for j, i in enumerate(azimuths.index):
        force, torque = columns[:3, i], columns[3:, i]
        center, cross = azimuths.center[j], skew(azimuths.axis[j])
        about = torque - np.cross(center, force)
        for part, matrix in enumerate((-cross @ cross, cross)):
            turned_force = matrix @ force
            result[part, :, i] = [
                *turned_force,
                *(matrix @ about + np.cross(center, turned_force)),
            ]
    return result


def azimuth_set(names: list[str], specs: list[AzimuthSpec | None]) -> AzimuthSet | None:
    """Stack the azimuths of thrusters; None without any."""
    servos = [(i, spec) for i, spec in enumerate(specs) if spec is not None]
    if not servos:
        return None
    selection = np.zeros((len(specs), len(servos)))
    selection[[i for i, _ in servos], range(len(servos))] = 1.0
    limits = [spec.hinge.limits for _, spec in servos]
    return AzimuthSet(
        names=tuple(spec.joint or names[i] for i, spec in servos),
        joints=tuple(spec.joint for _, spec in servos),
        turns=selection,
        center=np.stack([spec.hinge.center for _, spec in servos]),
        axis=np.stack([spec.hinge.axis for _, spec in servos]),
        time_constant=np.array([spec.time_constant for _, spec in servos]),
        **{key: np.array([limit[key] for limit in limits]) for key in limits[0]},
    )


def read_azimuth(
    element: AzimuthElement | None,
    position: np.ndarray,
    thrust: np.ndarray,
    hinges: Callable[[str], Any],
) -> AzimuthSpec | None:
    """Return the <azimuth> of a thruster; None without.

    Args:
        element: the element, or None.
        position: (3,) of the thruster, m; the axis goes through it where no joint is named.
        thrust: (3,) its unit axis, across that of the azimuth.
        hinges: the :class:`Hinge` of a joint by name; raises ValueError with a reason.

    Raises:
        ModelError: anything in it that is unknown, missing or out of range.
    """
    if element is None:
        return None
    if element.joint:
        hinge = _hinge_of_joint(element, hinges)
    else:
        hinge = Hinge(position, UP if element.axis is None else element.axis, element.limits)
    if abs(hinge.axis @ thrust) > MAX_AXIAL_FRACTION:
        raise element.reader.error(
            f'turns about {hinge.axis.round(3).tolist()}, and the thrust is along '
            f'{thrust.round(3).tolist()}; expected a thrust across the axis'
        )
    return AzimuthSpec(hinge, element.time_constant, element.joint)


def _hinge_of_joint(element: AzimuthElement, hinges: Callable[[str], Any]) -> Hinge:
    if element.axis is not None:
        text = f'has an <axis> and the joint {element.joint!r}; expected one of the two'
        raise element.reader.error(text)
    try:
        hinge: Hinge = hinges(element.joint)
    except ValueError as error:
        raise element.reader.error(f'joint {element.joint!r} {error}') from None
    return hinge if element.limit is None else Hinge(hinge.center, hinge.axis, element.limits)


COMMANDS_TOPIC, STATES_TOPIC = '/robot_joint_commands', '/robot_joint_states'
"""Topics of a system that names none."""


@dataclass(frozen=True)
class HardwareJoint:
    """A joint, and the names of its command and state interfaces."""

    name: str
    commands: tuple[str, ...]
    states: tuple[str, ...]


@dataclass(frozen=True)
class HardwareSystem:
    """One element ``<ros2_control>``: its plugin, topics and joints."""

    name: str
    plugin: str
    commands_topic: str
    states_topic: str
    joints: tuple[HardwareJoint, ...]


def read_systems(root: Reader) -> tuple[HardwareSystem, ...]:
    """Return the systems and actuators below a robot; elements of other hardware are no error."""
    elements = root.element.findall('ros2_control')
    readers = (Reader(element, root.source) for element in elements)
    return tuple(_read_system(r) for r in readers if r.attribute('type', 'system') != 'sensor')


def _read_system(reader: Reader) -> HardwareSystem:
    parameters = {
        parameter.get('name', ''): (parameter.text or '').strip()
        for parameter in reader.element.findall('hardware/param')
    }
    return HardwareSystem(
        reader.attribute('name', ''),
        (reader.element.findtext('hardware/plugin') or '').strip(),
        parameters.get('joint_commands_topic', COMMANDS_TOPIC),
        parameters.get('joint_states_topic', STATES_TOPIC),
        tuple(
            HardwareJoint(
                joint.get('name', ''),
                *(
                    tuple(i.get('name', '') for i in joint.findall(f'{side}_interface'))
                    for side in ('command', 'state')
                ),
            )
            for joint in reader.element.findall('joint')
        ),
    )
