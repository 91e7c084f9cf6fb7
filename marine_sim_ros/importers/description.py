# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Values of an imported vehicle, each with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from marine_sim_ros.model.kinematics import IDENTITY, Pose

__all__ = [
    'Fin',
    'GRAVITY',
    'Hydrodynamics',
    'ImportedJoint',
    'ImportedLink',
    'ImportedSensor',
    'ImportedShape',
    'Inertial',
    'PanelDrag',
    'Sourced',
    'Thruster',
    'Volume',
]

T = TypeVar('T')


GRAVITY = 9.80665
"""m/s², standard."""


@dataclass(frozen=True, eq=False)
class Sourced(Generic[T]):
    """A value and where it is from.

    Attributes:
        value: the value, in our units and frames.
        origin: ``file:line <element>``, or the rule by which it was found.
        assumed: whether no source gives it.
    """

    value: T
    origin: str
    assumed: bool = False


@dataclass(frozen=True, eq=False)
class ImportedShape:
    """A visual or a collision.

    Attributes:
        kind: ``box``, ``cylinder``, ``sphere`` or ``mesh``.
        size: edges (3) of a box, radius and length of a cylinder, radius of a sphere, scale (3)
            of a mesh; m.
        pose: pose in its link.
        origin: where it is from.
        uri: file of a mesh.
        colour: red, green, blue, alpha from 0 to 1, or None.
        material: name of a material of :attr:`.VehicleBuilder.materials`, or empty.
        displaces: whether a collision displaces water.
    """

    kind: str
    size: tuple[float, ...]
    pose: Pose
    origin: str
    uri: str = ''
    colour: tuple[float, float, float, float] | None = None
    material: str = ''
    displaces: bool = True


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass in kg, pose of the centre of mass, and tensor (3, 3) in kg·m² in the axes of it."""

    mass: Sourced[float]
    pose: Pose
    tensor: Sourced[np.ndarray]


@dataclass(frozen=True, eq=False)
class ImportedLink:
    """A link: what it weighs and looks like."""

    name: str
    inertial: Inertial | None = None
    visuals: tuple[ImportedShape, ...] = ()
    collisions: tuple[ImportedShape, ...] = ()

    @property
    def mass(self) -> float:
        """Its mass, kg; 0 without <inertial>."""
        return 0.0 if self.inertial is None else self.inertial.mass.value


@dataclass(frozen=True, eq=False)
class ImportedJoint:
    """A joint; its frame is that of the child.

    Attributes:
        name: unique name.
        kind: ``fixed``, ``revolute``, ``continuous`` or ``prismatic``.
        parent: name of a link.
        child: name of a link.
        pose: pose of the child in the parent, at zero.
        axis: (3,) in the child.
        lower: rad or m.
        upper: rad or m.
        velocity: largest rate, rad/s or m/s.
        origin: where it is from.
    """

    name: str
    kind: str
    parent: str
    child: str
    pose: Pose = IDENTITY
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    lower: float = 0.0
    upper: float = 0.0
    velocity: float = 1.0
    origin: str = ''


@dataclass(frozen=True, eq=False)
class Volume:
    """Displaced volume of a link: m³, centre (3,) m in the link, height in m at the surface."""

    link: str
    volume: Sourced[float]
    center: Sourced[np.ndarray]
    height: Sourced[float]


@dataclass(frozen=True, eq=False)
class Hydrodynamics:
    """Lumped hydrodynamics about the origin of the base, in its axes (FLU).

    Attributes:
        water_density: kg/m³.
        added_mass: (6, 6), positive.
        linear: (6, 6) of F = −D ν.
        quadratic: (6, 6) of F_i = −Σ D_q,ij |ν_j| ν_j.
        modulus: (6, 6) of F_i = −(Σ K_ij |ν_j|) ν_i, or None.
        center: (3,) m, the point that the damping acts on.
        lift: places (3,) in m, and B (3, 3) of F = (B v) x v there, in N·s²/m².
    """

    water_density: Sourced[float]
    added_mass: Sourced[np.ndarray]
    linear: Sourced[np.ndarray]
    quadratic: Sourced[np.ndarray]
    modulus: Sourced[np.ndarray] | None = None
    center: Sourced[np.ndarray] | None = None
    lift: tuple[tuple[np.ndarray, Sourced[np.ndarray]], ...] = ()


@dataclass(frozen=True)
class PanelDrag:
    """Drag of the panels of all collisions.

    Attributes:
        velocity_reference: m/s.
        pressure: linear and quadratic pressure in Pa, and the exponent of the angle.
        suction: the same of suction.
        forces: those that act: viscous, pressure, suction.
        origin: where it is from.
    """

    velocity_reference: float
    pressure: tuple[float, float, float]
    suction: tuple[float, float, float]
    forces: tuple[str, ...]
    origin: str


@dataclass(frozen=True, eq=False)
class Thruster:
    """A thruster in the frame of the base.

    Attributes:
        name: unique name.
        pose: its thrust acts along the z axis of this pose.
        curve: rows (k, 4) of pulse width in µs, thrust in N, power in W and speed in rpm.
        direction: ``cw`` or ``ccw``.
        time_constant: s, or None.
        diameter: m, or None.
        link: name of the link that it sits on, or empty.
        shaft: name of the joint that its propeller spins with, or empty.
        azimuth: name of the joint that turns it, or empty.
    """

    name: str
    pose: Pose
    curve: Sourced[np.ndarray]
    direction: str = 'ccw'
    time_constant: Sourced[float] | None = None
    diameter: Sourced[float] | None = None
    zero_thrust_advance_ratio: Sourced[float] | None = None
    link: str = ''
    shaft: str = ''
    azimuth: str = ''


@dataclass(frozen=True, eq=False)
class Fin:
    """A fin in the frame of the base.

    Attributes:
        name: unique name.
        pose: its chord, towards the leading edge, is the x axis, its hinge the z axis.
        values: its numbers by the names of our elements.
        limits: least and greatest deflection, rad.
        joint: name of the joint that it turns with, or empty.
    """

    name: str
    pose: Pose
    values: Mapping[str, Sourced[float]]
    limits: Sourced[tuple[float, float]]
    joint: str = ''


@dataclass(frozen=True, eq=False)
class Bladder:
    """A buoyancy engine; its link displaces the volume at which it starts.

    Attributes:
        name: unique name.
        link: name of its link.
        center: (3,) in the link, m.
        start: mass of water that it displaces beyond its own at the start, kg.
        lower: least such mass, kg.
        upper: greatest such mass, kg.
        rate: of the pump, kg/s of water.
        origin: where it is from.
    """

    name: str
    link: str
    center: np.ndarray
    start: float
    lower: float
    upper: float
    rate: Sourced[float]
    origin: str


@dataclass(frozen=True, eq=False)
class ImportedSensor:
    """A sensor, by the names of our elements.

    Attributes:
        name: unique name.
        link: name of the link that carries it.
        pose: pose of our sensor's frame in the link.
        rate: Hz, 0: one reading in every tick; None: the rate of the kind.
        values: its parameters.
        origin: where it is from.
    """

    kind: str
    name: str
    link: str
    pose: Pose
    rate: Sourced[float] | None
    values: Mapping[str, Sourced[Any]]
    origin: str
