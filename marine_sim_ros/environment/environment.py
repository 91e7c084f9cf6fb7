# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Environment of a run: water, light, currents, waves, scene, gravity."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.geodesy import DefaultOrigin, Origin
from marine_sim_ros.core.schema import check_ranges, choice, declaration, number
from marine_sim_ros.environment.beacons import Beacon
from marine_sim_ros.environment.currents_and_waves import CurrentProfile, GaussMarkov, Gusts, Waves
from marine_sim_ros.environment.sediment import Sediment
from marine_sim_ros.environment.wind import Wind
from marine_sim_ros.model.body_joints import SOLE_VEHICLE, BodyJoint, jaw_bodies
from marine_sim_ros.model.free_bodies import DEFAULT_WATER_DENSITY, FreeBody
from marine_sim_ros.model.materials import Materials
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.bodies import Body, VisiblePart
from marine_sim_ros.scene.scene import Scene

if TYPE_CHECKING:
    from marine_sim_ros.environment.changes import EnvironmentChange
    from marine_sim_ros.environment.tide import Tide
    from marine_sim_ros.environment.water_fields import WaterFields

__all__ = [
    'Environment',
    'OCEAN_SALINITY',
    'SOUND_SPEED',
    'PURE',
    'STANDARD_GRAVITY',
    'WATER_TYPES',
    'WaterOptics',
    'water_properties',
]


# Density and viscosity of fresh and sea water over temperature, at atmospheric pressure.

OCEAN_SALINITY = 35.0
"""Practical salinity of the standard ocean; 35.165 g/kg of salt."""
SOUND_SPEED = 1500.0
"""Speed of sound in uniform water, m/s, to which acoustic instruments are set."""
AIR_TEMPERATURE = 20.0
"""°C above the surface (Orca3 plugin documentation, OrcaBarometerPlugin)."""


class WaterProperties(NamedTuple):
    """Density in kg/m³ and kinematic viscosity in m²/s."""

    density: float
    kinematic_viscosity: float


def _polynomial(x: float, *coefficients: float) -> float:
    result = 0.0
    for c in reversed(coefficients):
        result = result * x + c
    return result


def density(temperature: float, salinity: float) -> float:
    """Return ρ in kg/m³ at °C and practical salinity: EOS-80 at one atmosphere.

    Source: Millero and Poisson (1981), Deep-Sea Research 28A, 625-629.
    """
    t = temperature
    pure = _polynomial(
        t, 999.842594, 6.793952e-2, -9.095290e-3, 1.001685e-4, -1.120083e-6, 6.536332e-9
    )
    a = _polynomial(t, 8.24493e-1, -4.0899e-3, 7.6438e-5, -8.2467e-7, 5.3875e-9)
    b = _polynomial(t, -5.72466e-3, 1.0227e-4, -1.6546e-6)
    return pure + a * salinity + b * salinity**1.5 + 4.8314e-4 * salinity**2


def viscosity(temperature: float, salinity: float) -> float:
    """Return μ in Pa·s at °C and practical salinity.

    The formula takes g/kg, 0.5 % more than practical salinity, which changes μ by 0.04 %.

    Source: Sharqawy, Lienhard and Zubair (2010), Desalination and Water Treatment 16, 354-380,
    equations 22 and 23.
    """
    t, s = temperature, salinity / 1000
    pure = 4.2844e-5 + 1 / (0.157 * (t + 64.993) ** 2 - 91.296)
    a = _polynomial(t, 1.541, 1.998e-2, -9.52e-5)
    b = _polynomial(t, 7.974, -7.561e-2, 4.724e-4)
    return pure * (1 + a * s + b * s**2)


def water_properties(temperature: float, salinity: float) -> WaterProperties:
    """Return density and kinematic viscosity ν = μ/ρ of water at °C and practical salinity.

    Raises:
        ParameterError: outside 0 to 40 °C or 0 to 42.
    """
    if not 0 <= temperature <= 40:
        raise ParameterError(f'water temperature is {temperature}; expected 0 to 40 °C')
    if not 0 <= salinity <= 42:
        raise ParameterError(f'salinity is {salinity}; expected 0 to 42 (practical salinity)')
    rho = density(temperature, salinity)
    return WaterProperties(rho, viscosity(temperature, salinity) / rho)


# Light in water: attenuation of red, green and blue by water type, veiling light, daylight.

PURE = 'pure'
WATER_TYPES: dict[str, tuple[float, float, float]] = {
    PURE: (0.2224, 0.0417, 0.0114),
    'I': (0.235, 0.043, 0.018),
    'IA': (0.24, 0.048, 0.025),
    'IB': (0.245, 0.054, 0.033),
    'II': (0.26, 0.076, 0.062),
    'III': (0.295, 0.116, 0.116),
    '1C': (0.30, 0.13, 0.17),
    '3C': (0.33, 0.20, 0.29),
    '5C': (0.40, 0.31, 0.43),
    '7C': (0.48, 0.49, 0.71),
    '9C': (0.60, 0.78, 1.23),
}
"""Diffuse attenuation K of downward irradiance at 600, 525 and 475 nm (red, green, blue), 1/m.

Jerlov (1976), Marine Optics, table XXVII; of pure water its absorption, Pope and Fry (1997),
Applied Optics 36, 8710-8723, table 3. The wavelengths are those of Berman, Treibitz and Avidan
(2017), "Diving into haze-lines", section 3.
"""
_SCATTERING_RATIO = 0.2
"""Scattering b over K at 525 nm, without turbidity: an assumption."""


@declaration(frozen=True)
class WaterOptics:
    """Optical properties of water.

    An image is I = J exp(−c z) + B (1 − exp(−c z)) over the range z, for each of red, green and
    blue, with c = K + turbidity. J is the light that a surface sends off, B = E b/(K + b) the
    veiling light, E = exp(−K d) the daylight at the depth d, relative to that below the surface,
    and b = 0.2 K(525 nm) + turbidity.
    """

    water_type: str = choice(tuple(WATER_TYPES), 'Jerlov water type', 'II')
    turbidity: float = number(
        0.0, 0.0, 100.0, '1/m', 'attenuation that particles add, the same for all colours'
    )
    sun: float = number(
        0.0, 0.0, 1.0, '', 'fraction of daylight straight from the sun, through ripples: caustics'
    )
    particles: float = number(
        0.0, 0.0, 1e4, '1/m³', 'suspended particles that a camera sees one by one'
    )

    def __post_init__(self) -> None:
        """Raise ParameterError for values no water has."""
        check_ranges(self)

    @property
    def diffuse(self) -> np.ndarray:
        """(3,) K, 1/m: the attenuation of daylight with depth."""
        return np.array(WATER_TYPES[self.water_type])

    @property
    def attenuation(self) -> np.ndarray:
        """(3,) c, 1/m: the attenuation along a ray of sight."""
        return self.diffuse + self.turbidity

    def daylight(self, depth: float) -> np.ndarray:
        """Return E (3,) at a depth in m, relative to that below the surface; above it 1."""
        return np.exp(-self.diffuse * max(depth, 0.0))

    def veil(self, depth: float) -> np.ndarray:
        """Return B (3,): what is seen at a depth in m where there is nothing but water."""
        scattering = _SCATTERING_RATIO * self.diffuse[1] + self.turbidity
        return np.asarray(self.daylight(depth) * scattering / (self.diffuse + scattering))


# Environment of a run: water, scene and gravity, the same for every node.

STANDARD_GRAVITY = 9.8
"""m/s²; Gazebo's default, so that the embedded and the Gazebo body weigh the same."""


@dataclass(frozen=True, eq=False)
class Environment:
    """Water with waves and currents, mean surface at z = 0 of ``map`` without a tide, at a time.

    Everything is a function of place and time: two nodes that ask for the same stamp get the
    same water, whatever they requested before. Points are (..., 3) in map, m.

    Attributes:
        gravity: m/s².
        water_density: kg/m³; ``None`` takes the density the vehicle was trimmed for.
        kinematic_viscosity: m²/s; the hydrodynamics guide's by default (water of 20 °C).
        current: (3,) steady velocity of the water in ``map``, m/s.
        profile: current profile over depth, added to ``current``, or None.
        fluctuation: fluctuation of the current over time, added to ``current``, or None.
        waves: or None.
        wind: or None; waves do not depend on it.
        tide: or None; level and velocity of the water change with it, the same everywhere.
        level: height of the mean surface at the time, m.
        tidal_current: (3,) of the tide at the time, m/s.
        scene: seabed, walls and obstacles, or None.
        materials: materials of shapes and surfaces; None takes the shipped ones.
        time: s.
        name: name of its file, or empty.
        gusts: gusts, added to ``current``, or None.
        origin: where map is on the Earth.
        optics: how the water colours what cameras see.
        free_bodies: bodies that move when they are pushed, where they start.
        body_joints: joints of these with each other and with the world.
        collisions: whether the vehicles of a fleet touch each other and the same bodies.
        bodies: other vehicles at the time, which rays meet and nothing else feels.
        looks: returns the visible parts of the vehicle itself, in its frame; cameras alone ask.
        own: name of the vehicle itself in a fleet, or empty.
        temperature: of the water, °C; 10 by default (Orca3 documentation, OrcaBarometerPlugin).
        salinity: practical, of the water.
        fields: stratified water, which replaces density, temperature and salinity; or None.
        refraction: whether stratified water bends the paths of sound.
        beacons: pingers and transponders that are fixed in map.
        changes: what is different from given times on, in their order.
        sediment: of a soft seabed, which jets and contacts stir up; or None.
        silt: (k, 5) clouds of it at the time (physics/silt.py), which cameras and sonars see; or
            None.
        body_changes: changes of free bodies until the time.
    """

    gravity: float = STANDARD_GRAVITY
    water_density: float | None = None
    current: np.ndarray = field(default_factory=lambda: np.zeros(3))
    kinematic_viscosity: float = 1e-6
    profile: CurrentProfile | None = None
    fluctuation: GaussMarkov | None = None
    waves: Waves | None = None
    scene: Scene | None = None
    materials: Materials | None = None
    time: float = 0.0
    name: str = ''
    gusts: Gusts | None = None
    origin: Origin = field(default_factory=DefaultOrigin)
    optics: WaterOptics = field(default_factory=WaterOptics)
    free_bodies: tuple[FreeBody, ...] = ()
    body_joints: tuple[BodyJoint, ...] = ()
    collisions: bool = False
    bodies: tuple[Body, ...] = ()
    looks: Callable[[], tuple[VisiblePart, ...]] = tuple
    own: str = ''
    wind: Wind | None = None
    tide: Tide | None = None
    level: Any = field(default=0.0, init=False)
    tidal_current: Array = field(default_factory=lambda: np.zeros(3), init=False)
    temperature: float = 10.0
    salinity: float = OCEAN_SALINITY
    fields: WaterFields | None = None
    refraction: bool = False
    beacons: tuple[Beacon, ...] = ()
    changes: tuple[EnvironmentChange, ...] = ()
    sediment: Sediment | None = None
    silt: np.ndarray | None = None
    body_changes: tuple[EnvironmentChange, ...] = ()

    def __post_init__(self) -> None:
        """Raise ParameterError for values no water has."""
        if not 0.0 <= self.gravity < 100.0:
            raise ParameterError(f'gravity is {self.gravity}; expected 0 to 100 m/s²')
        density = self.water_density
        if density is not None and not 0.0 <= density < 2e4:
            raise ParameterError(f'water_density is {density}; expected 0 to 20000 kg/m³')
        if density is not None and self.fields is not None:
            raise ParameterError(
                f'water_density is {density}; expected none, as the water is stratified'
            )
        if not 0.0 < self.kinematic_viscosity < 1.0:
            raise ParameterError(
                f'kinematic_viscosity is {self.kinematic_viscosity}; expected more than 0 and '
                'less than 1 m²/s'
            )
        current = np.asarray(self.current, float)
        if current.shape != (3,) or not np.all(np.isfinite(current)):
            raise ParameterError(f'current is {self.current}; expected three finite numbers, m/s')
        object.__setattr__(self, 'current', current)
        self.__dict__.update(self._tide_at(self.time))

    def with_jaws(self, vehicle: Vehicle, parent: str = SOLE_VEHICLE) -> Environment:
        """Return the environment with the jaws of a vehicle's gripper among its free bodies.

        Args:
            parent: its name among the bodies.

        Raises:
            ParameterError: a body of the environment has the name of a jaw.
        """
        density = self.water_density or DEFAULT_WATER_DENSITY
        bodies, joints = jaw_bodies(vehicle, density, parent)
        if not bodies or parent in {joint.parent for joint in self.body_joints}:
            return self
        if taken := {body.name for body in bodies} & {body.name for body in self.free_bodies}:
            raise ParameterError(
                f'environment {self.name}: body {min(taken)!r} has the name of a jaw of '
                f'{vehicle.name}; expected another one'
            )
        return replace(
            self,
            free_bodies=(*self.free_bodies, *bodies),
            body_joints=(*self.body_joints, *joints),
        )

    def at(self, time: float) -> Environment:
        """Return the environment at a time in s; later times are those of this environment."""
        around = self.changed_at(time)
        _ = around.is_still  # computed once, for the environments of all ticks
        return around._with(time=time, **around._tide_at(time))

    def changed_at(self, time: float) -> Environment:
        """Return the environment after the latest change at a time in s, without changes."""
        if not self.changes:
            return self
        count = bisect_right(self.changes, time, key=lambda change: change.start)
        return self._after_changes[count]

    @cached_property
    def _after_changes(self) -> tuple[Environment, ...]:
        """The environment before the first change, and after each.

        Raises:
            ParameterError: the environment cannot change so.
        """
        result = [replace(self, changes=())]
        for change in self.changes:
            result.append(replace(result[-1], **change.fields(result[0], result[-1])))
        return tuple(result)

    def with_changes(self, changes: tuple[EnvironmentChange, ...]) -> Environment:
        """Return the environment with changes, instead of those it has.

        Raises:
            ParameterError: it cannot change so.
        """
        result = replace(self, changes=changes)
        _ = result._after_changes
        return result

    def with_body_changes(self, changes: tuple[EnvironmentChange, ...]) -> Environment:
        """Return the environment with other changes of free bodies until the time."""
        return self._with(body_changes=changes)

    def _tide_at(self, time: Any) -> dict[str, Any]:
        if self.tide is None:
            return {}
        level, current = self.tide.at(time)
        return {'level': level, 'tidal_current': current}

    def with_current(self, current: Array) -> Environment:
        """Return the environment with another steady current (3,), m/s, not still water.

        The current may be traced: it is not checked.
        """
        return self._with(current=current, is_still=False)

    def _with(self, **values: Any) -> Environment:
        """Return a copy with other fields and cached properties, unchecked.

        Every step has an environment of its own. replace() takes twenty times as long, for it
        checks all fields again, and it cannot check traced numbers.
        """
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__, **values)
        return result

    @property
    def has_origin(self) -> bool:
        """Whether a place on the Earth was given for map."""
        return not isinstance(self.origin, DefaultOrigin)

    @property
    def is_steady(self) -> bool:
        """Whether water and air are the same at all times."""
        changes = (self.waves, self.fluctuation, self.gusts, self.wind, self.tide)
        fields = self.fields is None or self.fields.is_steady
        return not self.changes and fields and all(c is None for c in changes)

    @cached_property
    def is_still(self) -> bool:
        """Whether the water does not move."""
        flows = np.any(self.current) or (self.tide is not None and self.tide.moves)
        moves = (self.fluctuation, self.gusts, self.waves)
        return self.has_even_current and not flows and all(m is None for m in moves)

    @property
    def has_even_current(self) -> bool:
        """Whether the current is the same everywhere."""
        return self.profile is None and (self.fields is None or not self.fields.has_current)

    @property
    def is_flat(self) -> bool:
        """Whether the surface is at z = 0 everywhere and at all times."""
        return self.waves is None and self.tide is None

    def density(self, points: Array, fluid_density: float) -> Any:
        """Return ρ at points (..., 3), kg/m³: a number in uniform water, else (..., 1).

        It is a number for one known point too.

        Args:
            points: map, m.
            fluid_density: kg/m³, where the environment has no density.
        """
        if self.fields is not None:
            density = self.fields.density(self._below_level(points), self.time)
            return float(density) if isinstance(density, float) else density[..., None]
        return fluid_density if self.water_density is None else self.water_density

    def hydrostatic_pressure(self, points: Array, fluid_density: float) -> Array:
        """Return g ∫ρ dz (...) from the surface down to points (..., 3), Pa; 0 above it.

        The height of these points is that above the surface.
        """
        if self.fields is not None:
            return self.gravity * self.fields.mass_above(points, self.time)
        z, xp = points[..., 2], namespace(points)
        weight = self.density(points, fluid_density) * self.gravity
        return weight * xp.maximum(-z, xp.zeros_like(z))

    def water_temperature(self, points: Array) -> Array:
        """Return the temperature (...) of the water at points (..., 3), °C."""
        if self.fields is not None:
            return self.water_field('temperature', points)
        return 0.0 * points[..., 2] + self.temperature

    def temperature_around(self, points: Array, height: Array) -> Array:
        """Return the temperature (...) of the water at points (..., 3), or of the air, °C.

        Args:
            points: map, m.
            height: (...) of the points above the surface, m.
        """
        xp = namespace(height)
        return xp.where(height < 0, self.water_temperature(points), 0.0 * height + AIR_TEMPERATURE)

    def water_salinity(self, points: Array) -> Array:
        """Return the practical salinity (...) of the water at points (..., 3)."""
        if self.fields is not None:
            return self.water_field('salinity', points)
        return 0.0 * points[..., 2] + self.salinity

    def sound_speed(self, points: Array) -> Any:
        """Return the speed of sound at points (..., 3), m/s: (...), or one for all points."""
        if self.fields is None:
            return SOUND_SPEED
        return self.fields.sound_speed(self._below_level(points), self.time)

    def mean_sound_speed(self, points: Array, others: Array, default: float = SOUND_SPEED) -> Any:
        """Return the mean speed of sound on straight lines between points, m/s.

        Args:
            points: (..., 3) in map, m.
            others: (..., 3) likewise.
            default: of uniform water.
        """
        if self.fields is None:
            return default
        ends = self._below_level(points), self._below_level(others)
        return 1.0 / self.fields.slowness_between(*ends, self.time)

    def beyond_data(self, points: np.ndarray, times: np.ndarray) -> str:
        """Return a warning of the first point beyond the data of the water; empty: there is none.

        Args:
            points: (n, 3) in map, m.
            times: (n,) s.
        """
        if self.fields is None:
            return ''
        is_outside, is_late = self.fields.beyond(points, times)
        rows = np.flatnonzero(is_outside | is_late)
        if not len(rows):
            return ''
        row = rows[0]
        what = 'area' if is_outside[row] else 'times'
        x, y = points[row, :2].tolist()
        return (
            f'the vehicle is beyond the {what} of the data of {self.name or "the water"} at '
            f'{times[row]:.6g} s, x {x:.6g}, y {y:.6g} m: there the water is that of their edge'
        )

    def seen_at(self, point: np.ndarray) -> Environment:
        """Return the environment with the turbidity at a point (3,) of map for all optics."""
        if not self.has_field('turbidity'):
            return self
        turbidity = float(self.water_field('turbidity', np.asarray(point)))
        return self._with(optics=replace(self.optics, turbidity=turbidity))

    def has_field(self, name: str) -> bool:
        """Whether the water is stratified and has a field beside temperature and salinity."""
        return self.fields is not None and name in self.fields.others

    def water_field(self, name: str, points: Array) -> Array:
        """Return a field (...) of stratified water at points (..., 3) of map.

        Raises:
            KeyError: there is no such field.
        """
        assert self.fields is not None
        return self.fields.value(name, self._below_level(points), self.time)

    @property
    def crest(self) -> Any:
        """Bound of the elevation of the surface, m."""
        waves = 0.0 if self.waves is None else self.waves.crest
        return waves if self.tide is None else waves + abs(self.level)

    def elevation(self, points: Array) -> Array:
        """Return the height η (...) of the surface above or below points (..., 2 or 3), m."""
        xp = namespace(points)
        if self.waves is None:
            return self._above_datum(xp.zeros_like(points[..., 0]))
        return self._above_datum(self.waves.elevation(points, self.time))

    def _above_datum(self, heights: Array) -> Array:
        """Return heights (...) above the mean surface of the time as heights in map."""
        return heights if self.tide is None else heights + self.level

    def _below_level(self, points: Array) -> Array:
        """Return points (..., 3) whose height is that above the mean surface of the time."""
        if self.tide is None:
            return points
        xp = namespace(points)
        return xp.concat([points[..., :2], points[..., 2:] - self.level], axis=-1)

    def velocity(self, points: Array) -> Array:
        """Return the velocity (..., 3) of the water: currents and orbital motion, m/s."""
        xp = namespace(points)
        result = xp.zeros_like(points) + constant(xp, self.current)
        if self.profile is not None:
            result = result + self.profile.velocity(self._below_level(points))
        if self.fields is not None and self.fields.has_current:
            result = result + self.fields.velocity(self._below_level(points), self.time)
        if self.fluctuation is not None:
            result = result + self.fluctuation.velocity(xp, self.time)
        if self.gusts is not None:
            result = result + self.gusts.at(xp, self.time)
        if self.waves is not None:
            result = result + self.waves.velocity(self._below_level(points), self.time)
        if self.tide is not None:
            result = result + constant(xp, self.tidal_current)
        return result

    def wind_velocity(self, height: Array) -> Array:
        """Return the velocity (..., 3) of the air at heights (...) above the surface, m/s."""
        if self.wind is None:
            xp = namespace(height)
            return xp.zeros_like(height)[..., None] * constant(xp, np.zeros(3))
        return self.wind.velocity(height, self.time)

    def acceleration(self, points: Array) -> Array:
        """Return ∂u/∂t (..., 3) of the waves' orbital motion, m/s²; that of currents is left out.

        It is what linear wave theory has for −∇p/ρ − g ẑ.
        """
        if self.waves is None:
            return namespace(points).zeros_like(points)
        return self.waves.acceleration(self._below_level(points), self.time)

    def elevation_and_acceleration(self, points: Array) -> tuple[Array, Array]:
        """Return :meth:`elevation` (...) and :meth:`acceleration` (..., 3), computed at once."""
        if self.waves is None:
            return self.elevation(points), self.acceleration(points)
        points = self._below_level(points)
        elevation, acceleration = self.waves.elevation_and_acceleration(points, self.time)
        return self._above_datum(elevation), acceleration

    def dynamic_head(self, points: Array) -> Array:
        """Return the pressure of waves and tide over ρ g at points (..., 3), m: (...)."""
        if self.waves is None:
            return self._above_datum(namespace(points).zeros_like(points[..., 0]))
        return self._above_datum(self.waves.dynamic_head(self._below_level(points), self.time))
