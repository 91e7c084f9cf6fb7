# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A vehicle in named quantities: SI units, body frame FLU, about the ``base_link`` origin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import constant, is_numeric, namespace
from marine_sim_ros.core.numerics import InterpolationTable, matrix_inverse
from marine_sim_ros.core.schema import number
from marine_sim_ros.core.spatial import cross, rotation_matrix, skew, transport
from marine_sim_ros.model.added_mass import Buoyancy, Inertia
from marine_sim_ros.model.arm import Manipulator
from marine_sim_ros.model.contact import ContactPoints, no_contact
from marine_sim_ros.model.hull import Hull, lever_mobility
from marine_sim_ros.model.propellers import PropellerSet
from marine_sim_ros.model.servos import AzimuthSet, turned_columns

__all__ = [
    'Barometer',
    'Damping',
    'DragElements',
    'Frame',
    'Lift',
    'Sensor',
    'ThrusterSet',
    'Vehicle',
]


@dataclass(frozen=True, eq=False)
class DragElements:
    """Drag elements: parts that resist motion along one direction, each at its position.

    F_k = −(l + c |w| + e |v|) w n, with the velocity v of the place and its part w = n·v.

    Attributes:
        position: (k, 3) where the force acts, m.
        direction: (k, 3) unit vectors n.
        linear: (k,) l, N·s/m.
        quadratic: (k,) c of the cross-flow principle, N·s²/m².
        mixed: (k,) e, by the whole speed as of a fin in a stream, N·s²/m².
    """

    position: np.ndarray
    direction: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray
    mixed: np.ndarray


@dataclass(frozen=True, eq=False)
class Lift:
    """Forces across the flow: F = (B v) × v at a centre, with the velocity v of the centre.

    Attributes:
        coefficients: (k, 3, 3) B, N·s²/m².
        center: (k, 3) m.
    """

    coefficients: np.ndarray
    center: np.ndarray


@dataclass(frozen=True, eq=False)
class Damping:
    """Damping coefficients, positive, at a centre; drag elements and lift at other points.

    Attributes:
        linear: (6, 6) N·s/m and N·m·s/rad.
        quadratic: (6, 6) N·s²/m² and N·m·s²/rad².
        center: (3,) m.
        modulus: (6, 6) K of F_i = −(Σ_j K_ij |ν_j|) ν_i: motion along one axis slows the others;
            None for none.
        elements: drag at places of their own; None for none.
        lift: force across the flow; None for none.
    """

    linear: np.ndarray
    quadratic: np.ndarray
    center: np.ndarray
    modulus: np.ndarray | None = None
    elements: DragElements | None = None
    lift: Lift | None = None

    @cached_property
    def lever_arm(self) -> np.ndarray:
        """(6, 6): velocity of ``base_link`` -> velocity of the centre."""
        return transport(self.center)

    @cached_property
    def lift_arms(self) -> tuple[np.ndarray, ...]:
        """(3, 6) each: velocity of the centre -> that of a centre of lift, m/s."""
        centers = () if self.lift is None else self.lift.center
        return tuple(transport(center - self.center)[:3] for center in centers)

    @cached_property
    def element_arms(self) -> np.ndarray:
        """(k, 3) from the centre to the drag elements, m."""
        return np.zeros((0, 3)) if self.elements is None else self.elements.position - self.center

    @cached_property
    def element_rows(self) -> np.ndarray:
        """(k, 6) [n; r × n]: velocity of the centre -> that of each element along its n."""
        if self.elements is None:
            return np.zeros((0, 6))
        # A fit may trace the positions.
        arms = self.element_arms
        xp = namespace(arms)
        direction = constant(xp, self.elements.direction)
        return xp.concat([direction, cross(arms, direction)], axis=-1)

    @property
    def by_axis(self) -> tuple[np.ndarray, np.ndarray]:
        """(6,) d₁ and (6,) d₂ of the drag d₁ |v| + d₂ v² against motion along one axis alone."""
        linear, square = np.diag(self.linear), np.diag(self.quadratic)
        if self.modulus is not None:
            square = square + np.diag(self.modulus)
        if self.elements is None:
            return linear, square
        parts, arms, rows = self.elements, self.element_arms, self.element_rows
        # Speed of each element where the vehicle rotates at 1 rad/s about each axis.
        turning = [np.linalg.norm(np.cross(axis, arms), axis=1) for axis in np.eye(3)]
        speeds = np.stack([*np.ones((3, len(arms))), *turning], axis=1)
        coefficients = parts.quadratic[:, None] * np.abs(rows) + parts.mixed[:, None] * speeds
        return linear + parts.linear @ rows**2, square + np.sum(coefficients * rows**2, axis=0)


FULL_IMMERSION = 1 / 0.769
"""h/R from which thrust is whole (``ventilation_factor`` of physics/thrusters.py)."""


def _any_positive(values: Any) -> bool:
    """Return whether any of an array's values is above 0; of traced ones, any may be."""
    return not is_numeric(values) or bool(np.any(values > 0))


@dataclass(frozen=True, eq=False)
class ThrusterSet:
    """All thrusters, in the order of the URDF; n of them.

    Attributes:
        names: n names.
        position: (n, 3) m.
        axis: (n, 3) unit vectors along which positive thrust acts.
        handedness: (n,) +1 where the reaction torque of a positive thrust is along the axis.
        reaction_torque: (n,) N·m per N of thrust.
        time_constant: (n,) of the rotor, s.
        zero_thrust_pitch: (n,) advance per radian at which thrust vanishes, m; 0 is never.
        thrust_of_pwm: N of µs.
        speed_of_thrust: rad/s of N.
        power_of_thrust: W of N.
        rotor_radius: (n,) m.
        ventilates: (n,) 1.0 where thrust is lost near the surface, else 0.0.
        thrust_deduction: (n,) share t of the thrust that the hull takes away again; None: 0.
        azimuths: servos that turn some of them, or None; the rest is at angles of 0.
        voltage: of the supply that the tables are for, V; None: that of the description's curves.
        propellers: coefficients of those that are given in open water, or None.
        cross_flow: fraction of the thrust by u/U_jet of flow across the axis, or None.
    """

    names: tuple[str, ...]
    position: np.ndarray
    axis: np.ndarray
    handedness: np.ndarray
    reaction_torque: np.ndarray
    time_constant: np.ndarray
    zero_thrust_pitch: np.ndarray
    thrust_of_pwm: InterpolationTable
    speed_of_thrust: InterpolationTable
    power_of_thrust: InterpolationTable
    rotor_radius: np.ndarray
    ventilates: np.ndarray
    thrust_deduction: np.ndarray | None = None
    azimuths: AzimuthSet | None = None
    voltage: float | None = None
    propellers: PropellerSet | None = None
    cross_flow: InterpolationTable | None = None

    def __len__(self) -> int:
        """Return the number of thrusters."""
        return len(self.names)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the azimuths' joints."""
        return () if self.azimuths is None else self.azimuths.joints

    @cached_property
    def effectiveness(self) -> np.ndarray:
        """(6, n) thrust configuration matrix: wrench = B thrust (Fossen 2011, eq. 9.7).

        A force of (1 − t) T along each axis, t the thrust deduction (Carlton 2018, section 12.3),
        and the reaction torque of T.
        """
        twist = self.reaction_torque * self.handedness
        turning = twist[:, None] * self.axis
        if self.thrust_deduction is None:
            torque = np.cross(self.position, self.axis) + turning
            return np.concatenate([self.axis, torque], axis=1).T.copy()
        thrust_columns = self.inflow * (1 - self.thrust_deduction)[:, None]
        return (thrust_columns + np.concatenate([0 * turning, turning], axis=1)).T

    @cached_property
    def inflow(self) -> np.ndarray:
        """(n, 6) body velocity -> speed of each thruster along its axis."""
        return np.concatenate([self.axis, np.cross(self.position, self.axis)], axis=1)

    @cached_property
    def twist(self) -> np.ndarray:
        """(6, n) wrench of a torque of 1 N m that the water puts on each rotor."""
        torque = self.handedness[:, None] * self.axis
        return np.concatenate([0 * torque, torque], axis=1).T

    @cached_property
    def turned_twist(self) -> np.ndarray:
        """(2, 6, n) coefficients of cos θ − 1 and sin θ of the azimuths in the twist."""
        if self.azimuths is None:
            return np.zeros((2, 6, len(self)))
        return turned_columns(self.twist, self.azimuths)

    @cached_property
    def turned_effectiveness(self) -> np.ndarray:
        """(2, 6, n) coefficients of cos θ − 1 and sin θ of the azimuths in the effectiveness."""
        if self.azimuths is None:
            return np.zeros((2, 6, len(self)))
        return turned_columns(self.effectiveness, self.azimuths)

    @cached_property
    def turned_inflow(self) -> np.ndarray:
        """(2, n, 6) coefficients of cos θ − 1 and sin θ of the azimuths in the inflow."""
        if self.azimuths is None:
            return np.zeros((2, len(self), 6))
        return np.swapaxes(turned_columns(self.inflow.T, self.azimuths), 1, 2)

    @cached_property
    def levers(self) -> np.ndarray:
        """(6, 3n): the forces at all thrusters, one after the other -> wrench."""
        levers = [np.concatenate([np.eye(3), skew(p)]) for p in self.position]
        return np.concatenate(levers or [np.zeros((6, 0))], axis=1)

    @cached_property
    def lever_arm(self) -> float:
        """Distance of the farthest thruster from the ``base_link`` origin, m."""
        return float(np.linalg.norm(self.position, axis=1).max(initial=0.0))

    @cached_property
    def jet_radius(self) -> float:
        """Radius of the largest rotor, m."""
        return float(self.rotor_radius.max(initial=0.0))

    @cached_property
    def ventilation_reach(self) -> Any:
        """Depth of the ``base_link`` origin from which no thruster ventilates at any tilt, m."""
        if len(self) == 0:
            return 0.0
        xp = namespace(self.position)
        lever = xp.sqrt(xp.sum(self.position * self.position, axis=-1))
        return xp.max(lever + FULL_IMMERSION * self.rotor_radius)

    @cached_property
    def any_lag(self) -> bool:
        """Whether any rotor takes time to follow."""
        return _any_positive(self.time_constant)

    @cached_property
    def any_inflow_loss(self) -> bool:
        """Whether any thruster loses thrust with the speed of advance."""
        return _any_positive(self.zero_thrust_pitch)

    @cached_property
    def any_ventilation(self) -> bool:
        """Whether any thruster loses thrust near the surface."""
        return _any_positive(self.ventilates)


@dataclass(frozen=True, eq=False)
class Barometer:
    """A pressure sensor on the body.

    Attributes:
        frame: frame of its link.
        position: (3,) m.
        atmospheric_pressure: Pa.
        fluid_density: kg/m³.
        variance: variance of the pressure noise, Pa².
        bias: standard deviation of the constant bias, Pa.
        scale_error: standard deviation of the error of scale.
        drift: standard deviation of the drift, Pa/h.
        reference_offset: added to the sensor's height before the pressure is taken, m.
        pose: whether it sends its height as a pose too.
    """

    frame: str
    position: np.ndarray
    atmospheric_pressure: float = number(101300.0, 0.0, 1e9, 'Pa', 'pressure at the surface')
    fluid_density: float = number(math.nan, 0.0, 2e4, 'kg/m³', "density; default: the vehicle's")
    variance: float = number(40000.0, 0.0, 1e12, 'Pa²', 'variance of the pressure noise')
    bias: float = number(0.0, 0.0, 1e7, 'Pa', 'standard deviation of the constant bias')
    scale_error: float = number(0.0, 0.0, 1.0, '', 'standard deviation of the error of scale')
    drift: float = number(0.0, 0.0, 1e7, 'Pa/h', 'standard deviation of the drift')
    reference_offset: float = 0.0
    pose: float = number(0.0, 0.0, 1.0, '', '1: it sends its height as a pose too')


@dataclass(frozen=True, eq=False)
class Frame:
    """A link fixed to the body: translation (3,) m and quaternion (4,) to ``base_link``."""

    name: str
    parent: str
    translation: np.ndarray
    quaternion: np.ndarray


@dataclass(frozen=True, eq=False)
class Sensor:
    """A sensor on the vehicle.

    Attributes:
        kind: name of its :class:`~marine_sim_ros.sensors.SensorModel`.
        name: unique name; the prefix of its topics.
        spec: parameters of its kind.
        place: its frame: its link, or a frame of its own where it has an origin.
        period: time between readings, ns; 0: one in every tick.
        latency: time from measurement to message, ns.
        own_frame: whether its frame is no link of the URDF.
    """

    kind: str
    name: str
    spec: Any
    place: Frame
    period: int = 0
    latency: int = 0
    own_frame: bool = False

    @property
    def frame(self) -> str:
        """Name of its frame."""
        return self.place.name

    @property
    def position(self) -> np.ndarray:
        """(3,) m, in the body frame."""
        return self.place.translation

    @cached_property
    def rotation(self) -> np.ndarray:
        """(3, 3) v_body = R v_sensor."""
        return np.asarray(rotation_matrix(self.place.quaternion))


@dataclass(frozen=True, eq=False)
class Vehicle:
    """Everything the physics needs to know of a vehicle.

    Attributes:
        name: name of the robot.
        inertia: total inertia of all links.
        added_mass: (6, 6), kg, kg·m, kg·m².
        buoyancy: displaced volume.
        damping: drag coefficients.
        thrusters: all of them.
        sensors: all of them, in the order of the URDF.
        hull: panels and voxels, or None where all is lumped.
        manipulator: the arm, or None; inertia and buoyancy have it with its joints at zero.
        frames: links fixed to ``base_link``.
        warnings: warnings about the description.
        notes: what was computed while it was read.
        urdf: the URDF as it was read, xacro expanded.
        folder: folder that relative file names in ``urdf`` start from.
        files: beside it that its masses and shapes are read from: parts, meshes.
        extensions: what the elements of forces and controllers say, by element.
        base_link: name of the body's link, the frame of its state and forces.
        find_contact: makes ``contact``; called where a scene has something to touch, so that
            meshes nobody needs are not read.
    """

    name: str
    inertia: Inertia
    added_mass: np.ndarray
    buoyancy: Buoyancy
    damping: Damping
    thrusters: ThrusterSet
    sensors: tuple[Sensor, ...] = ()
    hull: Hull | None = None
    manipulator: Manipulator | None = None
    frames: tuple[Frame, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    urdf: str = field(default='', repr=False)
    folder: Path = Path()
    files: tuple[Path, ...] = ()
    extensions: Mapping[str, Any] = field(default_factory=dict)
    base_link: str = 'base_link'
    find_contact: Callable[[], ContactPoints] = field(default=no_contact, repr=False)

    @cached_property
    def contact(self) -> ContactPoints:
        """Contact geometry; raises ModelError for a mesh that cannot be used."""
        return self.find_contact()

    @property
    def barometer(self) -> Barometer | None:
        """The first barometer, or None."""
        specs = (sensor.spec for sensor in self.sensors if isinstance(sensor.spec, Barometer))
        return next(specs, None)

    @property
    def rigid_body_mass(self) -> np.ndarray:
        """(6, 6) mass matrix without added mass."""
        return self.inertia.matrix

    @cached_property
    def mass_matrix(self) -> np.ndarray:
        """(6, 6) M_RB + M_A."""
        return self.inertia.matrix + self.added_mass

    @cached_property
    def inverse_mass_matrix(self) -> np.ndarray:
        """(6, 6) inverse of the mass matrix."""
        return matrix_inverse(self.mass_matrix)

    @cached_property
    def panel_mobility(self) -> np.ndarray:
        """(n,) 1/kg; upper bound of the decay rate of any motion by unit damping on a panel.

        tr(H M⁻¹ Hᵀ) is convex in the point, so its maximum is at a corner.
        """
        assert self.hull is not None
        assert self.hull.panels is not None
        corners = lever_mobility(self.hull.panels.corners, self.inverse_mass_matrix)
        return np.asarray(corners.max(axis=1))
