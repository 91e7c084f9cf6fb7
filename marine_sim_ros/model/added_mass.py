# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Added mass of a shape: equivalent ellipsoid, or source panels on its surface."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import skew, transport
from marine_sim_ros.geometry.meshes import solid_of
from marine_sim_ros.geometry.shapes import Shape, split_long_edges

__all__ = [
    'Buoyancy',
    'Inertia',
    'MAX_PANELS',
    'PANEL_METHOD',
    'PanelSolution',
    'TARGET_PANELS',
    'added_mass_bounds',
    'combined_buoyancy',
    'combined_inertia',
    'ellipsoid_added_mass',
    'estimate_added_mass',
    'panel_mesh',
    'parallel_axis_tensor',
    'solve_panels',
]


# Estimates added mass from the shape of a hull: the equivalent ellipsoid.


def ellipsoid_added_mass(semi_axes: np.ndarray, water_density: float) -> np.ndarray:
    """Return the added mass (6,) of an ellipsoid along and about its axes, kg and kg·m².

    A₁₁ = ρV α₀/(2−α₀), A₄₄ = ρV/5 (b²−c²)²(γ₀−β₀)/(2(b²−c²) + (b²+c²)(β₀−γ₀)), and in turn, with
    α₀ = (2/3) abc R_D(b², c², a²). Source: Lamb, Hydrodynamics (1932), art. 114 and 115;
    Carlson's R_D for the integral.

    Args:
        semi_axes: a, b, c in m.
        water_density: ρ, kg/m³.
    """
    elliprd = require('scipy.special', 'added mass of a hull').elliprd

    a2, b2, c2 = (float(s) ** 2 for s in semi_axes)
    product = float(np.prod(semi_axes))
    mass = water_density * 4 / 3 * np.pi * product
    alpha, beta, gamma = (
        2 / 3 * product * float(elliprd(*other_squares, squared))
        for squared, other_squares in ((a2, (b2, c2)), (b2, (c2, a2)), (c2, (a2, b2)))
    )

    def rotation_term(p: float, q: float, first: float, second: float) -> float:
        difference = p - q
        if abs(difference) < 1e-9 * (p + q):
            return 0.0  # a body of revolution about this axis moves no water
        below = 2 * difference + (p + q) * (first - second)
        return float(mass / 5 * difference**2 * (second - first) / below)

    straight = [mass * k / (2 - k) for k in (alpha, beta, gamma)]
    return np.array(
        [
            *straight,
            rotation_term(b2, c2, beta, gamma),
            rotation_term(c2, a2, gamma, alpha),
            rotation_term(a2, b2, alpha, beta),
        ]
    )


def estimate_added_mass(
    volume: float, center: np.ndarray, second_moment: np.ndarray, water_density: float
) -> np.ndarray:
    """Return the added mass (6, 6) about the origin of the ellipsoid equivalent to a body.

    The ellipsoid has the body's volume, centre and principal axes, and semi-axes in the ratio of
    its radii of gyration. Deeply submerged, no free surface.

    Args:
        volume: m³.
        center: (3,) of the volume, m.
        second_moment: (3, 3) ∫ (r − c)(r − c)ᵀ dV, m⁵.
        water_density: kg/m³.
    """
    spread, axes = np.linalg.eigh(second_moment)
    radii = np.sqrt(np.maximum(spread, 1e-12 * spread.max()))
    scale = (volume / (4 / 3 * np.pi * np.prod(radii))) ** (1 / 3)
    ellipsoid = ellipsoid_added_mass(radii * scale, water_density)
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = axes @ np.diag(ellipsoid[:3]) @ axes.T
    matrix[3:, 3:] = axes @ np.diag(ellipsoid[3:]) @ axes.T
    arm = transport(center)
    result = arm.T @ matrix @ arm
    return (result + result.T) / 2


def added_mass_bounds(low: np.ndarray, high: np.ndarray, water_density: float) -> np.ndarray:
    """Return upper bounds (6,) of the diagonal of the added mass of any body within a box.

    Of all flows around a body the potential flow has the least kinetic energy (Kelvin), so a body
    with the water inside a larger one that moves along with it has no less: A ≤ A_K + M_K, with
    the added mass A_K and the mass M_K of water of the ellipsoid K around the box, whose semi-axes
    are √3 times those of the box. Deeply submerged, about the origin.

    Args:
        low: (3,) corner of the box, m.
        high: (3,) opposite corner, m.
        water_density: kg/m³.
    """
    semi_axes = np.maximum(np.sqrt(3.0) * (high - low) / 2, 1e-6)
    mass = water_density * 4 / 3 * np.pi * float(np.prod(semi_axes))
    squares = semi_axes**2
    rigid = np.concatenate([np.full(3, mass), mass / 5 * (np.sum(squares) - squares)])
    arm = transport((low + high) / 2)
    bound = arm.T @ np.diag(ellipsoid_added_mass(semi_axes, water_density) + rigid) @ arm
    return np.asarray(np.diag(bound))


# Makes one closed surface of a few thousand triangles from shapes, for source panels.

MAX_PANELS = 3000
"""More take minutes, and gigabytes."""
TARGET_PANELS = 2000
"""Panels into which a surface of fewer is split."""
_TOLERANCES = tuple(0.001 * 2 ** (k / 2) for k in range(9))
"""Tolerances of the simplified surface, as fractions of the body's length."""
_MAX_VOLUME_CHANGE = 0.1
"""Upper bound of the relative change of volume by simplification."""
_FINER = 0.9
_SLIVER = 1e-10
"""Triangles below this area, as a fraction of the body's squared length, are dropped."""


def panel_mesh(shapes: Sequence[Shape]) -> tuple[np.ndarray, float]:
    """Return the corners (n, 3, 3) of the outside of all shapes together, in m.

    Shapes that overlap or touch become one; cavities, whose water moves with the body, are left
    out. More than MAX_PANELS triangles are simplified, and the largest distance in m by which that
    may move the surface is returned too (0: it was not). Of fewer, long edges are split until
    there are about TARGET.

    Args:
        shapes: closed shapes in one frame.

    Raises:
        ModelError: a surface that encloses no solid, or too many triangles to be made fewer.
    """
    if len(shapes) == 1 and len(shapes[0].faces) <= MAX_PANELS and _is_one_piece(shapes[0]):
        return _split_to_target(shapes[0].vertices, shapes[0].faces), 0.0
    solid, tolerance = _simplify_outside(shapes)
    mesh = solid.to_mesh64()
    vertices = np.array(mesh.vert_properties)[:, :3]
    return _split_to_target(vertices, np.array(mesh.tri_verts, np.int64)), tolerance


def _is_one_piece(shape: Shape) -> bool:
    """Return whether the surface is connected, so that there is no cavity."""
    label, before = np.arange(len(shape.vertices)), None
    while before is None or not np.array_equal(label, before):
        before = label.copy()
        np.minimum.at(label, shape.faces, before[shape.faces].min(axis=1)[:, None])
    return bool(np.ptp(label[shape.faces]) == 0)


def _simplify_outside(shapes: Sequence[Shape]) -> tuple[Any, float]:
    """Return the outer surface with at most MAX_PANELS triangles, and the tolerance used."""
    manifold3d = require('manifold3d', 'added mass of several shapes')
    solids = [solid_of(shape) for shape in shapes]
    if None in solids:
        raise ModelError(
            'the hull is not a manifold surface and encloses no solid; '
            'expected a closed surface without edges that more than two triangles share'
        )

    def outside(tolerance: float) -> Any:
        parts = [_simplify_solid(s, tolerance) for s in solids] if tolerance else solids
        union = manifold3d.Manifold.batch_boolean(parts, manifold3d.OpType.Add)
        bodies = [body for body in union.decompose() if body.volume() > 0]
        surface = manifold3d.Manifold.compose(bodies)
        return surface.simplify(tolerance) if tolerance else surface

    exact = outside(0.0)
    if exact.num_tri() <= MAX_PANELS:
        return exact, 0.0
    low, high = np.reshape(exact.bounding_box(), (2, 3))
    for fraction in _TOLERANCES:
        tolerance = fraction * float(np.max(high - low))
        simplified = outside(tolerance)
        if abs(simplified.volume() - exact.volume()) > _MAX_VOLUME_CHANGE * exact.volume():
            break
        if simplified.num_tri() <= MAX_PANELS:
            return simplified, tolerance
    raise ModelError(
        f'the surface has {exact.num_tri()} triangles, and fewer would change its volume by more '
        f'than {_MAX_VOLUME_CHANGE:.0%}; expected at most {MAX_PANELS}: simplify it'
    )


def _simplify_solid(solid: Any, tolerance: float) -> Any:
    """Return a solid of fewer triangles, grown about its middle to the volume that it had."""
    simplified = solid.simplify(tolerance)
    if simplified.volume() <= 0:
        return solid
    middle = np.reshape(solid.bounding_box(), (2, 3)).mean(axis=0)
    factor = (solid.volume() / simplified.volume()) ** (1 / 3)
    return simplified.translate(-middle).scale([factor] * 3).translate(middle)


def _split_to_target(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return corners (n, 3, 3) with the longest edges split, up to TARGET triangles."""
    length = limit = float(np.max(np.ptp(vertices, axis=0)))
    corners = vertices[faces]
    while len(faces) <= TARGET_PANELS:
        corners = vertices[faces]
        limit *= _FINER
        vertices, faces = split_long_edges(vertices, faces, limit)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return corners[np.linalg.norm(across, axis=1) > _SLIVER * length**2]


# Computes the added mass of a closed surface in unbounded water with source panels.

PANEL_METHOD = 'source panels 1'
"""Names the numbers that come out; another name where they change."""
_NEAR_RATIO = 2.5
"""Times the longest edges: nearer pairs of panels are integrated, farther ones are points."""
_POINTS = np.array([[4.0, 1.0, 1.0], [1.0, 4.0, 1.0], [1.0, 1.0, 4.0]]) / 6.0
"""Barycentric points of the triangle rule of degree 2, with equal weights."""
_ROWS = 256


class PanelSolution(NamedTuple):
    """Added mass by panels.

    Attributes:
        matrix: (6, 6) per unit density about the frame's origin, symmetric and positive
            semi-definite; m³, m⁴, m⁵.
        asymmetry: largest |A − Aᵀ| before (A + Aᵀ)/2 was taken, rotations divided by the length
            of the body, as a share of the largest number.
        least: smallest eigenvalue, likewise; not negative but by rounding where the equations
            are sound.
        panels: number of panels.
    """

    matrix: np.ndarray
    asymmetry: float
    min_eigenvalue: float
    panels: int


def solve_panels(
    corners: np.ndarray, progress: Callable[[float], None] | None = None
) -> PanelSolution:
    """Return the added mass of a closed surface that moves in unbounded ideal water.

    Panels have sources of constant strength σ (Hess and Smith 1967): φ = −1/4π Σ σ_j ∫ dS_j/r. The
    flow through each panel, not only at one point of it, is that of the surface: ∫ ∂φ/∂n dS =
    ∫ n_k dS for the six unit motions n_k = n, r × n. The flow of a source through a flat panel is
    the solid angle that the panel fills (van Oosterom and Strackee 1983), and a closed surface
    takes all of it: the panel's own share is what the others leave. A_kl = −∫ φ_k n_l dS, with n
    into the water. Near pairs are integrated in closed form over one panel and by three points
    over the other; of far ones each is a point.

    Args:
        corners: (n, 3, 3) of triangles, counter-clockwise seen from outside, m.
        progress: function that is called with the completed share, 0 to 1.
    """
    normals, areas = _normals(corners)
    centres = corners.mean(axis=1)
    flux, potential = _influence(corners, normals, areas, centres, progress)
    motions = np.concatenate([normals, np.cross(centres, normals)], axis=1) * areas[:, None]
    strength = np.linalg.solve(flux, motions)
    matrix = -motions.T @ potential @ strength
    length = float(np.max(np.ptp(corners.reshape(-1, 3), axis=0)))
    scale = np.repeat([1.0, length], 3)
    scaled = matrix / np.outer(scale, scale)
    largest = float(np.max(np.abs(scaled)))
    asymmetry = float(np.max(np.abs(scaled - scaled.T))) / largest
    values, axes = np.linalg.eigh((scaled + scaled.T) / 2)
    scaled = (axes * np.maximum(values, 0.0)) @ axes.T
    scaled = (scaled + scaled.T) / 2 * np.outer(scale, scale)
    return PanelSolution(scaled, asymmetry, float(values[0]) / largest, len(corners))


def _normals(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return unit normals (n, 3) and areas (n,)."""
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    double = np.linalg.norm(across, axis=1)
    return across / double[:, None], double / 2


def _influence(
    corners: np.ndarray,
    normals: np.ndarray,
    areas: np.ndarray,
    centres: np.ndarray,
    progress: Callable[[float], None] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the flux (n, n) through panel i, and its mean potential, of unit sources on j."""
    count = len(corners)
    flux, potential = np.empty((count, count)), np.empty((count, count))
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    for start in range(0, count, _ROWS):
        rows = slice(start, start + _ROWS)
        away = centres[rows, None] - centres
        distance = np.linalg.norm(away, axis=2)
        near = distance < _NEAR_RATIO * np.maximum(edges[rows, None], edges)
        i, j = np.nonzero(near)
        distance[near] = 1.0
        potential[rows] = -1 / distance
        facing = np.einsum('ijk,ik->ij', away, normals[rows])
        flux[rows] = facing * areas[rows, None] / distance**3
        i += start
        parts = [_panel_integrals(w @ corners[j], corners[i], normals[i]) for w in _POINTS]
        inverse, angle = np.mean(parts, axis=0)
        flux[i, j] = angle
        potential[i, j] = -inverse / areas[i]
        if progress is not None:
            progress(min(start + _ROWS, count) / count)
    flux /= 4 * np.pi
    np.fill_diagonal(flux, 0.0)
    np.fill_diagonal(flux, 1.0 - flux.sum(axis=0))
    return flux, (potential + potential.T) / (8 * np.pi)


def _panel_integrals(
    points: np.ndarray, corners: np.ndarray, normals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ∫ dS/r (p,) over a triangle from a point, and its solid angle, positive from behind.

    ∫ dS/r = Σ d_k ln((r_k + r_k+1 + l_k)/(r_k + r_k+1 − l_k)) − h Ω over the edges l_k, with the
    point's height h above the plane, and its distances d_k from the edges, inwards, in the plane.

    Args:
        points: (p, 3) m.
        corners: (p, 3, 3) m.
        normals: (p, 3).
    """
    arms = corners - points[:, None]
    far = np.linalg.norm(arms, axis=2)
    a, b, c = np.moveaxis(arms, 1, 0)
    ra, rb, rc = far.T
    triple = np.einsum('pi,pi->p', a, np.cross(b, c))
    below = ra * rb * rc + rc * _dot(a, b) + ra * _dot(b, c) + rb * _dot(c, a)
    angle = 2 * np.arctan2(triple, below)
    total = -_dot(a, normals) * angle
    for k in range(3):
        start, end = arms[:, k], arms[:, (k + 1) % 3]
        edge = end - start
        length = np.linalg.norm(edge, axis=1)
        inward = _dot(np.cross(edge, normals), start) / length
        both = far[:, k] + far[:, (k + 1) % 3]
        gap = np.maximum(both - length, np.finfo(float).tiny)
        total = total + inward * np.log((both + length) / gap)
    return total, angle


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum('pi,pi->p', a, b)


_IDENTITY = np.eye(3)


def _lever(offset: Array) -> Array:
    """Return the matrix (6, 3) from a force at an offset to its wrench: [E; S(r)]."""
    xp = namespace(offset)
    return xp.concat([constant(xp, _IDENTITY), skew(offset)])


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass of the whole vehicle.

    Attributes:
        mass: kg.
        center_of_mass: (3,) m.
        tensor: (3, 3) about the centre of mass, body axes, kg·m².
    """

    mass: float
    center_of_mass: np.ndarray
    tensor: np.ndarray

    @cached_property
    def lever(self) -> np.ndarray:
        """(6, 3): force at the centre of mass -> wrench."""
        return _lever(self.center_of_mass)

    @cached_property
    def matrix(self) -> np.ndarray:
        """(6, 6) rigid-body mass matrix about ``base_link`` (Fossen 2011, eq. 3.44)."""
        mass = self.mass * _IDENTITY
        xp = namespace(mass + self.tensor)
        tensor = constant(xp, self.tensor)
        none = xp.zeros_like(tensor)
        at_com = xp.concat([xp.concat([mass, none], axis=1), xp.concat([none, tensor], axis=1)])
        h = transport(self.center_of_mass)
        return h.T @ at_com @ h


@dataclass(frozen=True, eq=False)
class Buoyancy:
    """A displaced volume.

    Attributes:
        volume: m³.
        center_of_volume: (3,) m.
        height: over which buoyancy is lost at the surface, m.
        fluid_density: water density for which the vehicle is trimmed, kg/m³.
    """

    volume: float
    center_of_volume: np.ndarray
    height: float
    fluid_density: float

    @cached_property
    def lever(self) -> np.ndarray:
        """(6, 3): force at the centre of volume -> wrench."""
        return _lever(self.center_of_volume)


def parallel_axis_tensor(offset: Array) -> Array:
    """Return |d|² E − d dᵀ (..., 3, 3), the inertia of a unit mass at an offset."""
    xp = namespace(offset)
    square = xp.vecdot(offset, offset)[..., None, None]
    return square * constant(xp, _IDENTITY) - offset[..., :, None] * offset[..., None, :]


def combined_inertia(parts: Collection[Inertia]) -> Inertia:
    """Return mass, centre of mass and inertia of several bodies together (parallel axes)."""
    total = float(sum(part.mass for part in parts))
    if total <= 0:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    com = sum(part.mass * part.center_of_mass for part in parts) / total
    tensor = sum(
        part.tensor
        + part.mass * skew(part.center_of_mass - com).T @ skew(part.center_of_mass - com)
        for part in parts
    )
    return Inertia(total, np.asarray(com), np.asarray(tensor))


def combined_buoyancy(parts: Sequence[Buoyancy]) -> Buoyancy:
    """Return the volume of several parts together; height and water are the first one's."""
    volume = float(sum(part.volume for part in parts))
    if volume <= 0:
        return parts[0]
    center = sum(part.volume * part.center_of_volume for part in parts) / volume
    return Buoyancy(volume, np.asarray(center), parts[0].height, parts[0].fluid_density)
