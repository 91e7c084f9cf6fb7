# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wind: force and moment of the air on the part of a vehicle above the water.

(u, v) is the apparent wind, the air's velocity relative to the vehicle in body axes, with speed
V = √(u² + v²); γ is the angle off the bow that it comes from, q = ½ ρ V² (Fossen 2011, 8.1):

- table: X = q A_F C_X(γ), Y = ∓q A_L C_Y(γ), N = ∓q A_L L C_N(γ), from port and starboard;
- Isherwood: the same with a table computed from a merchant ship's dimensions;
- sinusoidal: C_X = −c_x cos γ, C_Y = c_y sin γ, C_N = c_n sin 2γ (Fossen 2011, 8.1);
- quadratic: X = c_x u|u|, Y = c_y v|v|, N = −2 c_n u v, VRX's form (Bingham et al. 2019);
- a hull of panels without <wind>: air drag of each panel (physics/panels.py);
- neither: sinusoidal, for the box around the collisions.

The force acts at a point whose height is the lever arm of roll and pitch. It decreases linearly
with the height of the vehicle's top above the water, to zero when the top submerges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, is_numeric, matvec, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import REQUIRED, declaration, nested, number
from marine_sim_ros.core.spatial import cross, in_map, to_body, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.kinematics import PlacedElement
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.physics.force import ForceInputs, ForceModel
from marine_sim_ros.physics.hull_drag import panel_air_wrench

__all__ = ['WIND', 'IsherwoodElement', 'apparent_wind', 'isherwood_coefficients']

NAME = 'wind'
SINUSOIDAL = (0.7, 0.825, 0.125)
"""c_x, c_y and c_n: means of the ranges 0.50-0.90, 0.70-0.95 and 0.05-0.20 (Fossen 2011)."""
_MIN_EXTENT = 1e-3
"""Smallest extent of an estimated box, m."""


@dataclass(frozen=True, eq=False)
class AngleTable:
    """Piecewise linear A_F C_X, A_L C_Y and A_L L C_N by the angle γ off the bow.

    Attributes:
        angles: (g,) first angle of each interval, ascending from 0, rad.
        widths: (g,) widths of the intervals, rad.
        first: (3,) values at γ = 0, m² and m³.
        slopes: (3, g) slopes in each interval, m²/rad and m³/rad.
    """

    angles: np.ndarray
    widths: np.ndarray
    first: np.ndarray
    slopes: np.ndarray


@dataclass(frozen=True, eq=False)
class Windage:
    """Wind model of a vehicle; exactly one of the last three attributes is set.

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


@declaration(frozen=True, kw_only=True)
class CoefficientElement:
    """<coefficient> of a table by angle."""

    angle: float = number(
        REQUIRED, 0.0, 180.0, '°', 'γ off the bow that the wind comes from', place='attribute'
    )
    x: float = number(0.0, -10.0, 10.0, '', 'C_X, ahead; negative in head wind', place='attribute')
    y: float = number(0.0, -10.0, 10.0, '', 'C_Y, to leeward', place='attribute')
    n: float = number(0.0, -10.0, 10.0, '', 'C_N, bow to leeward', place='attribute')


@declaration(frozen=True, kw_only=True)
class IsherwoodElement:
    """<isherwood>: dimensions of a merchant ship, besides those of <wind>."""

    beam: float = number(REQUIRED, 0.01, 200.0, 'm', 'B', place='attribute')
    perimeter: float = number(
        REQUIRED, 0.01, 2e3, 'm', 'S, of the lateral projection, without waterline and masts',
        place='attribute',
    )  # fmt: skip
    centroid: float = number(
        REQUIRED, 0.0, 1e3, 'm', 'C, from the bow to the centroid of A_L', place='attribute'
    )
    superstructure: float = number(
        0.0, 0.0, 1e5, 'm²', 'A_SS, lateral area of the superstructure', place='attribute'
    )
    masts: float = number(0.0, 0.0, 20.0, '', 'M, groups of masts', place='attribute')


@declaration(frozen=True, kw_only=True)
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
    element = root.read(WindElement)
    specified = [
        name
        for name in ('sinusoidal', 'quadratic', 'coefficient', 'isherwood')
        if root.element.find(name) is not None
    ]
    if len(specified) > 1:
        raise root.error(
            f'has <{specified[0]}> and <{specified[1]}>; expected coefficients of one kind'
        )
    if element.top <= element.waterline:
        raise root.error(
            f'top is {element.top:g}; expected more than the waterline, {element.waterline:g}'
        )
    extent = element.top - element.waterline
    geometry = element.origin.translation, element.top, extent, element.reference_height
    if element.quadratic is not None:
        return Windage(*geometry, quadratic=np.array(element.quadratic))
    for name in ('frontal_area', 'lateral_area', 'length'):
        if math.isnan(getattr(element, name)):
            raise root.error(f'has no <{name}>; expected one, or <quadratic> coefficients')
    scale = np.array(
        [element.frontal_area, element.lateral_area, element.lateral_area * element.length]
    )
    if element.isherwood is not None:
        rows = isherwood_coefficients(
            element.isherwood, element.frontal_area, element.lateral_area, element.length
        )
        return Windage(*geometry, table=_angle_table(_ISHERWOOD_ANGLES, scale[:, None] * rows))
    if element.coefficient:
        angles, rows = _coefficients(root, element.coefficient)
        return Windage(*geometry, table=_angle_table(angles, scale[:, None] * rows))
    return Windage(*geometry, sinusoidal=scale * np.array(element.sinusoidal))


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


# Coefficients of merchant ships by regression (Isherwood 1972).

_ISHERWOOD_ANGLES = np.radians(np.arange(0.0, 181.0, 10.0))
"""(19,) angles γ of the rows, rad."""

_ISHERWOOD_X = np.array([
    [2.152, -5.00, 0.243, -0.164, 0, 0, 0],
    [1.714, -3.33, 0.145, -0.121, 0, 0, 0],
    [1.818, -3.97, 0.211, -0.143, 0, 0, 0.033],
    [1.965, -4.81, 0.243, -0.154, 0, 0, 0.041],
    [2.333, -5.99, 0.247, -0.190, 0, 0, 0.042],
    [1.726, -6.54, 0.189, -0.173, 0.348, 0, 0.048],
    [0.913, -4.68, 0, -0.104, 0.482, 0, 0.052],
    [0.457, -2.88, 0, -0.068, 0.346, 0, 0.043],
    [0.341, -0.91, 0, -0.031, 0, 0, 0.032],
    [0.355, 0, 0, 0, -0.247, 0, 0.018],
    [0.601, 0, 0, 0, -0.372, 0, -0.020],
    [0.651, 1.29, 0, 0, -0.582, 0, -0.031],
    [0.564, 2.54, 0, 0, -0.748, 0, -0.024],
    [-0.142, 3.58, 0, 0.047, -0.700, 0, -0.028],
    [-0.677, 3.64, 0, 0.069, -0.529, 0, -0.032],
    [-0.723, 3.14, 0, 0.064, -0.475, 0, -0.032],
    [-2.148, 2.56, 0, 0.081, 0, 1.27, -0.027],
    [-2.707, 3.97, -0.175, 0.126, 0, 1.81, 0],
    [-2.529, 3.76, -0.174, 0.128, 0, 1.55, 0],
])  # fmt: skip
_ISHERWOOD_Y = np.array([
    [0, 0, 0, 0, 0, 0, 0],
    [0.096, 0.22, 0, 0, 0, 0, 0],
    [0.176, 0.71, 0, 0, 0, 0, 0],
    [0.225, 1.38, 0, 0.023, 0, -0.29, 0],
    [0.329, 1.82, 0, 0.043, 0, -0.59, 0],
    [1.164, 1.26, 0.121, 0, -0.242, -0.95, 0],
    [1.163, 0.96, 0.101, 0, -0.177, -0.88, 0],
    [0.916, 0.53, 0.069, 0, 0, -0.65, 0],
    [0.844, 0.55, 0.082, 0, 0, -0.54, 0],
    [0.889, 0, 0.138, 0, 0, -0.66, 0],
    [0.799, 0, 0.155, 0, 0, -0.55, 0],
    [0.797, 0, 0.151, 0, 0, -0.55, 0],
    [0.996, 0, 0.184, 0, -0.212, -0.66, 0.34],
    [1.014, 0, 0.191, 0, -0.280, -0.69, 0.44],
    [0.784, 0, 0.166, 0, -0.209, -0.53, 0.38],
    [0.536, 0, 0.176, -0.029, -0.163, 0, 0.27],
    [0.251, 0, 0.106, -0.022, 0, 0, 0],
    [0.125, 0, 0.046, -0.012, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
])  # fmt: skip
_ISHERWOOD_N = np.array([
    [0, 0, 0, 0, 0, 0],
    [0.0596, 0.061, 0, 0, 0, -0.074],
    [0.1106, 0.204, 0, 0, 0, -0.170],
    [0.2258, 0.245, 0, 0, 0, -0.380],
    [0.2017, 0.457, 0, 0.0067, 0, -0.472],
    [0.1759, 0.573, 0, 0.0118, 0, -0.523],
    [0.1925, 0.480, 0, 0.0115, 0, -0.546],
    [0.2133, 0.315, 0, 0.0081, 0, -0.526],
    [0.1827, 0.254, 0, 0.0053, 0, -0.443],
    [0.2627, 0, 0, 0, 0, -0.508],
    [0.2102, 0, -0.0195, 0, 0.0335, -0.492],
    [0.1567, 0, -0.0258, 0, 0.0497, -0.457],
    [0.0801, 0, -0.0311, 0, 0.0740, -0.396],
    [-0.0189, 0, -0.0488, 0.0101, 0.1128, -0.420],
    [0.0256, 0, -0.0422, 0.0100, 0.0889, -0.463],
    [0.0552, 0, -0.0381, 0.0109, 0.0689, -0.476],
    [0.0881, 0, -0.0306, 0.0091, 0.0366, -0.415],
    [0.0851, 0, -0.0122, 0.0025, 0, -0.220],
    [0, 0, 0, 0, 0, 0],
])  # fmt: skip


def isherwood_coefficients(
    ship: IsherwoodElement, frontal_area: float, lateral_area: float, length: float
) -> np.ndarray:
    """Return wind coefficients C_X, C_Y, C_N (3, 19) of a ship at 0° to 180° off the bow.

    C_X = −(A₀ + A₁ 2A_L/L² + A₂ 2A_F/B² + A₃ L/B + A₄ S/L + A₅ C/L + A₆ M), C_Y and C_N likewise
    with B₀ to B₅ and C₀ to C₅; C_Y also has B₆ A_SS/A_L. Numbers as in Fossen's MSS toolbox.

    Source: R. M. Isherwood (1972), Wind resistance of merchant ships, RINA Transactions 115,
    327-338.

    Args:
        ship: dimensions of the ship.
        frontal_area: A_F, m².
        lateral_area: A_L, m².
        length: L over all, m.
    """
    common = np.array([
        1.0,
        2 * lateral_area / length**2,
        2 * frontal_area / ship.beam**2,
        length / ship.beam,
        ship.perimeter / length,
        ship.centroid / length,
    ])  # fmt: skip
    x = -_ISHERWOOD_X @ np.append(common, ship.masts)
    y = _ISHERWOOD_Y @ np.append(common, ship.superstructure / lateral_area)
    return np.stack([x, y, _ISHERWOOD_N @ common])


# Windage of a vehicle without <wind>.


def estimate_windage(points: ContactPoints) -> Windage:
    """Return the windage of the box around the collisions, from its bottom to its top."""
    xp = namespace(points.position)
    radius = points.radius[:, None]
    lower = xp.min(points.position - radius, axis=0)
    upper = xp.max(points.position + radius, axis=0)
    length, width, depth = xp.maximum(upper - lower, 0.0 * upper + _MIN_EXTENT)
    areas = xp.stack([width * depth, length * depth, length * depth * length])
    load = constant(xp, np.array(SINUSOIDAL)) * areas
    return Windage((lower + upper) / 2, upper[2], depth, 0.0, sinusoidal=load)


def _estimate_windage(points: ContactPoints) -> Windage:
    known = is_numeric(points.position)
    return _cached_estimate(points) if known else estimate_windage(points)


_cached_estimate = lru_cache(maxsize=64)(estimate_windage)


# Force of the apparent wind.


def apparent_wind(state: State, environment: Environment, point: Array, height: Array) -> Array:
    """Velocity (..., 3) of the air relative to a point of the body (3,), body axes, m/s.

    The wind is taken at a height (...) above the mean surface, m.
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
    # atan2(0, 0) has no gradient; without wind any angle gives zero load.
    angle = xp.abs(xp.atan2(v, xp.where(speed > 0, -u, xp.ones_like(u))))
    table = windage.table
    excess = angle[..., None] - constant(xp, table.angles)
    excess = xp.minimum(xp.maximum(excess, 0.0 * excess), constant(xp, table.widths))
    slopes = constant(xp, table.slopes) * excess[..., None, :]
    loads = constant(xp, table.first) + xp.sum(slopes, axis=-1)
    side = xp.stack([xp.ones_like(v), xp.sign(v), xp.sign(v)], axis=-1)
    return pressure * (speed * speed)[..., None] * side * loads


def wind_wrench(windage: Windage, state: State, environment: Environment) -> Wrench:
    """Wrench (..., 6) of the wind in the body frame about ``base_link``, N and N·m."""
    assert environment.wind is not None
    xp = namespace(state.velocity)
    point = constant(xp, windage.point)
    top = xp.stack([point[0], point[1], 0.0 * point[2] + windage.top])
    points = in_map(state.position, state.orientation, xp.stack([point, top]))
    heights = points[..., 2] - environment.elevation(points)
    exposed = xp.minimum(heights[..., 1] / windage.extent, xp.ones_like(heights[..., 1]))
    exposed = xp.maximum(exposed, 0.0 * exposed)
    height = heights[..., 0]
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
    height = state.position[..., 2] + top - environment.elevation(state.position)
    air = to_body(state.orientation, environment.wind_velocity(height / 2))
    return panel_air_wrench(vehicle, state, environment, air)


def _applies(vehicle: Vehicle, environment: Environment) -> bool:
    del vehicle
    return environment.wind is not None


def _has_panels(vehicle: Vehicle) -> bool:
    return vehicle.hull is not None and vehicle.hull.panels is not None


def _check(vehicle: Vehicle, state: State, environment: Environment) -> None:
    """Raise ParameterError for a vehicle in a wind whose windage cannot be determined."""
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
