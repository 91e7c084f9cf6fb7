# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wind: force and moment of the air on the part of a vehicle above the water.

With the apparent wind (u, v), the air's velocity relative to the vehicle in body axes, its speed
V = √(u² + v²), the angle γ off the bow that it comes from, and q = ½ ρ V² (Fossen 2011, 8.1):

- table: X = q A_F C_X(γ), Y = ∓q A_L C_Y(γ), N = ∓q A_L L C_N(γ), from port and starboard;
- Isherwood: that table of a merchant ship's dimensions;
- sinusoidal: C_X = −c_x cos γ, C_Y = c_y sin γ, C_N = c_n sin 2γ (Fossen 2011, 8.1);
- quadratic: X = c_x u|u|, Y = c_y v|v|, N = −2 c_n u v, VRX's form (Bingham et al. 2019);
- a hull of panels without <wind>: the air's drag of each panel (physics/panels.py);
- nothing: sinusoidal, of the box around the collisions.

The force acts at a point, so that its height is the lever of roll and pitch, and falls with the
height above the water to nothing as the top submerges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import REQUIRED, nested, number
from marine_sim_ros.core.spatial import cross, in_map, to_body, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.kinematics import PlacedElement
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.physics.force import ForceInputs, ForceModel
from marine_sim_ros.physics.hull_drag import panel_air_wrench
from marine_sim_ros.physics.isherwood import ANGLES, IsherwoodElement, isherwood_coefficients

__all__ = ['WIND', 'Windage', 'apparent_wind', 'wind_wrench']

NAME = 'wind'
SINUSOIDAL = (0.7, 0.825, 0.125)
"""c_x, c_y and c_n: middles of the ranges 0.50-0.90, 0.70-0.95 and 0.05-0.20 (Fossen 2011)."""
_THINNEST = 1e-3
"""m, of an estimated box."""


@dataclass(frozen=True, eq=False)
class AngleTable:
    """A_F C_X, A_L C_Y, A_L L C_N over the angle γ off the bow, linear between its g + 1 rows.

    Attributes:
        angles: (g,) at which pieces begin, ascending from 0, rad.
        widths: (g,) of the pieces, rad.
        first: (3,) at γ = 0, m² and m³.
        slopes: (3, g) in each piece, 1/rad.
    """

    angles: np.ndarray
    widths: np.ndarray
    first: np.ndarray
    slopes: np.ndarray


@dataclass(frozen=True, eq=False)
class Windage:
    """Where and how the wind acts on a vehicle; one of the last three is there.

    Attributes:
        point: (3,) where the force acts, m.
        top: () height of the highest point in the body frame, m.
        extent: () height of the top above the waterline at which the coefficients hold, m.
        height: above the surface at which the wind is taken, m; 0: that of the point.
        sinusoidal: (3,) c_x A_F, c_y A_L, c_n A_L L, m² and m³.
        quadratic: (3,) c_x, c_y in N·s²/m², c_n in N·m·s²/m².
        table: loads by angle.
    """

    point: np.ndarray
    top: Any
    extent: Any
    height: float
    sinusoidal: Any = None
    quadratic: np.ndarray | None = None
    table: AngleTable | None = None


# Reads <wind>.


@dataclass(frozen=True, kw_only=True)
class CoefficientElement:
    """<coefficient> of a table by angle."""

    angle: float = number(
        REQUIRED, 0.0, 180.0, '°', 'γ off the bow that the wind comes from', place='attribute'
    )
    x: float = number(0.0, -10.0, 10.0, '', 'C_X, ahead; negative in head wind', place='attribute')
    y: float = number(0.0, -10.0, 10.0, '', 'C_Y, to leeward', place='attribute')
    n: float = number(0.0, -10.0, 10.0, '', 'C_N, bow to leeward', place='attribute')


@dataclass(frozen=True, kw_only=True)
class WindElement(PlacedElement):
    """<wind>."""

    reader: Reader
    top: float = number(
        REQUIRED, -100.0, 100.0, 'm', 'height of the highest point, frame of the body'
    )
    waterline: float = number(
        0.0, -100.0, 100.0, 'm', 'height of the design waterline, frame of the body'
    )
    reference_height: float = number(
        10.0, 0.0, 100.0, 'm', 'height of the wind that the coefficients refer to; 0: of <origin>'
    )
    frontal_area: float = number(math.nan, 0.0, 1e5, 'm²', 'A_F, area seen from ahead')
    lateral_area: float = number(math.nan, 0.0, 1e5, 'm²', 'A_L, area seen from the side')
    length: float = number(math.nan, 0.01, 1e3, 'm', 'L, length over all')
    sinusoidal: tuple[float, ...] = number(
        SINUSOIDAL, 0.0, 10.0, '', 'c_x c_y c_n, where no other coefficients are given'
    )
    quadratic: tuple[float, ...] | None = number(
        None, 0.0, 1e7, 'N·s²/m²', 'c_x c_y c_n of X = c_x u|u|, Y = c_y v|v|, N = −2 c_n u v',
        size=3,
    )  # fmt: skip
    coefficient: tuple[CoefficientElement, ...] = nested(
        CoefficientElement, 'coefficients by angle, linear between', many=True
    )
    isherwood: IsherwoodElement | None = nested(
        IsherwoodElement, 'coefficients of merchant ships (Isherwood 1972)'
    )


def read_wind(root: Reader) -> Windage:
    """Read ``<wind>``.

    Raises:
        ModelError: anything in it that is unknown, missing, doubled or out of range.
    """
    own = root.read(WindElement)
    given = [
        name
        for name in ('sinusoidal', 'quadratic', 'coefficient', 'isherwood')
        if root.element.find(name) is not None
    ]
    if len(given) > 1:
        raise root.error(f'has <{given[0]}> and <{given[1]}>; expected coefficients of one kind')
    if own.top <= own.waterline:
        raise root.error(
            f'top is {own.top:g}; expected more than the waterline, {own.waterline:g}'
        )
    extent = own.top - own.waterline
    place = own.origin.translation, own.top, extent, own.reference_height
    if own.quadratic is not None:
        return Windage(*place, quadratic=np.array(own.quadratic))
    for name in ('frontal_area', 'lateral_area', 'length'):
        if math.isnan(getattr(own, name)):
            raise root.error(f'has no <{name}>; expected one, or <quadratic> coefficients')
    scale = np.array([own.frontal_area, own.lateral_area, own.lateral_area * own.length])
    if own.isherwood is not None:
        rows = isherwood_coefficients(
            own.isherwood, own.frontal_area, own.lateral_area, own.length
        )
        return Windage(*place, table=_angle_table(ANGLES, scale[:, None] * rows))
    if own.coefficient:
        angles, rows = _coefficients(root, own.coefficient)
        return Windage(*place, table=_angle_table(angles, scale[:, None] * rows))
    return Windage(*place, sinusoidal=scale * np.array(own.sinusoidal))


def _angle_table(angles: np.ndarray, rows: np.ndarray) -> AngleTable:
    """Return the table of loads (3, g + 1) at angles (g + 1,)."""
    widths = np.diff(angles)
    return AngleTable(angles[:-1], widths, rows[:, 0], np.diff(rows, axis=1) / widths)


def _coefficients(
    root: Reader, rows: tuple[CoefficientElement, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return angles (g,) in rad and C_X, C_Y, C_N (3, g)."""
    angles = [row.angle for row in rows]
    if angles[0] != 0 or angles[-1] != 180 or any(b <= a for a, b in pairwise(angles)):
        raise root.error(
            'has <coefficient> at other angles; expected them from 0 to 180, ascending'
        )
    return np.radians(angles), np.array([[row.x, row.y, row.n] for row in rows]).T


def estimate_windage(points: ContactPoints) -> Windage:
    """Return the loads on the box around the collisions, as if all of it could emerge."""
    xp = namespace(points.position)
    radius = points.radius[:, None]
    lower = xp.min(points.position - radius, axis=0)
    upper = xp.max(points.position + radius, axis=0)
    length, width, depth = xp.maximum(upper - lower, 0.0 * upper + _THINNEST)
    areas = xp.stack([width * depth, length * depth, length * depth * length])
    load = constant(xp, np.array(SINUSOIDAL)) * areas
    return Windage((lower + upper) / 2, upper[2], depth, 0.0, sinusoidal=load)


def _estimate_windage(points: ContactPoints) -> Windage:
    known = isinstance(points.position, np.ndarray)
    return _remembered_estimate(points) if known else estimate_windage(points)


_remembered_estimate = lru_cache(maxsize=64)(estimate_windage)


# Force of the apparent wind.


def apparent_wind(state: State, environment: Environment, point: Array, height: Array) -> Array:
    """Velocity (..., 3) of the air relative to a point of the body (3,), body axes, m/s.

    The wind is that of a height (...) above the mean surface, m.
    """
    xp = namespace(state.velocity)
    air = to_body(state.orientation, environment.wind_velocity(height))
    nu = state.velocity
    lever = constant(xp, point) + 0.0 * nu[..., :3]
    return air - nu[..., :3] - cross(nu[..., 3:], lever)


def wind_loads(windage: Windage, wind: Array, air_density: Any) -> Array:
    """Surge force, sway force and yaw moment (..., 3) of an apparent wind (..., 3), N and N·m."""
    xp = namespace(wind)
    u, v = wind[..., 0], wind[..., 1]
    if windage.quadratic is not None:
        squared = xp.stack([u * xp.abs(u), v * xp.abs(v), -2 * u * v], axis=-1)
        return constant(xp, windage.quadratic) * squared
    speed = xp.sqrt(u * u + v * v)
    pressure = 0.5 * air_density
    if windage.table is None:
        linear = xp.stack([speed * u, speed * v, -2 * u * v], axis=-1)
        return pressure * windage.sinusoidal * linear
    # atan2(0, 0) has no gradient, and in a calm the angle does not matter.
    angle = xp.abs(xp.atan2(v, xp.where(speed > 0, -u, xp.ones_like(u))))
    table = windage.table
    within = angle[..., None] - constant(xp, table.angles)
    within = xp.minimum(xp.maximum(within, 0.0 * within), constant(xp, table.widths))
    slopes = constant(xp, table.slopes) * within[..., None, :]
    loads = constant(xp, table.first) + xp.sum(slopes, axis=-1)
    side = xp.stack([xp.ones_like(v), xp.sign(v), xp.sign(v)], axis=-1)
    return pressure * (speed * speed)[..., None] * side * loads


def wind_wrench(windage: Windage, state: State, environment: Environment) -> Wrench:
    """Wrench (..., 6) of the wind in the body frame about ``base_link``, N and N·m."""
    assert environment.wind is not None
    xp = namespace(state.velocity)
    point = constant(xp, windage.point)
    top = xp.stack([point[0], point[1], 0.0 * point[2] + windage.top])
    places = in_map(state.position, state.orientation, xp.stack([point, top]))
    above = places[..., 2] - environment.elevation(places)
    exposed = xp.minimum(above[..., 1] / windage.extent, xp.ones_like(above[..., 1]))
    exposed = xp.maximum(exposed, 0.0 * exposed)
    height = above[..., 0]
    if windage.height:
        height = windage.height + 0.0 * height
    wind = apparent_wind(state, environment, point, height)
    loads = exposed[..., None] * wind_loads(windage, wind, environment.wind.air_density)
    force = xp.concat([loads[..., :2], 0.0 * loads[..., :1]], axis=-1)
    moment = cross(point + 0.0 * force, force)
    yaw = moment[..., 2:] + loads[..., 2:]
    return xp.concat([force, moment[..., :2], yaw], axis=-1)


def _panel_wrench(vehicle: Vehicle, state: State, environment: Environment) -> Wrench:
    """Wrench (..., 6) of the wind at half the height of a hull of panels."""
    assert vehicle.hull is not None
    assert vehicle.hull.panels is not None
    xp = namespace(state.position)
    vertices = constant(xp, vehicle.hull.panels.vertices)
    top = xp.max(matvec(vertices, up_in_body(state.orientation)), axis=-1)
    above = state.position[..., 2] + top - environment.elevation(state.position)
    air = to_body(state.orientation, environment.wind_velocity(above / 2))
    return panel_air_wrench(vehicle, state, environment, air)


def _applies(vehicle: Vehicle, environment: Environment) -> bool:
    del vehicle
    return environment.wind is not None


def _has_panels(vehicle: Vehicle) -> bool:
    return vehicle.hull is not None and vehicle.hull.panels is not None


def _check(vehicle: Vehicle, state: State, environment: Environment) -> None:
    """Raise ParameterError for a vehicle whose loads nobody can tell."""
    del state
    if environment.wind is None:
        return
    if NAME not in vehicle.extensions and not _has_panels(vehicle) and not len(vehicle.contact):
        raise ParameterError(
            f'{vehicle.name}: has neither <wind> nor <collision>, so that its loads in a wind are '
            'unknown; expected one of them'
        )


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: Any,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, Any]:
    """Return the wrench (..., 6), and no memory."""
    del inputs, dt
    windage: Windage | None = vehicle.extensions.get(NAME)
    if windage is None and _has_panels(vehicle):
        return _panel_wrench(vehicle, state, environment), memory
    if windage is None:
        windage = _estimate_windage(vehicle.contact)
    return wind_wrench(windage, state, environment), memory


WIND = ForceModel(
    NAME,
    _step,
    applies=_applies,
    check=_check,
    element=NAME,
    read=read_wind,
    parts=WindElement,
    label='Wind',
    colour='#8fb4d9',
)
