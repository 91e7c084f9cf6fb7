# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Computes the added mass of a closed surface in unbounded water with source panels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ['METHOD', 'PanelSolution', 'solve_panels']

METHOD = 'source panels 1'
"""Names the numbers that come out; another name where they change."""
_NEAR = 2.5
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
    least: float
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
    alike = matrix / np.outer(scale, scale)
    largest = float(np.max(np.abs(alike)))
    asymmetry = float(np.max(np.abs(alike - alike.T))) / largest
    values, axes = np.linalg.eigh((alike + alike.T) / 2)
    alike = (axes * np.maximum(values, 0.0)) @ axes.T
    alike = (alike + alike.T) / 2 * np.outer(scale, scale)
    return PanelSolution(alike, asymmetry, float(values[0]) / largest, len(corners))


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
        near = distance < _NEAR * np.maximum(edges[rows, None], edges)
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
        here, there = arms[:, k], arms[:, (k + 1) % 3]
        edge = there - here
        length = np.linalg.norm(edge, axis=1)
        inward = _dot(np.cross(edge, normals), here) / length
        both = far[:, k] + far[:, (k + 1) % 3]
        gap = np.maximum(both - length, np.finfo(float).tiny)
        total = total + inward * np.log((both + length) / gap)
    return total, angle


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum('pi,pi->p', a, b)
