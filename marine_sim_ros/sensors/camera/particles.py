# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Suspended particles in a picture: specks in daylight and in the beam of lamps, clouds of silt.

Each cell of a lattice that drifts with the current has one particle, at a position that is a
function of the cell's indices: the same for every camera and in every picture.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from marine_sim_ros.core.numerics import linear_between
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.sensors.camera.lenses import PLUMB_BOB, Lens, View, height_above_water

__all__ = ['optical_depths', 'with_particles', 'with_silt']

_REACH = 2.5
"""m; farther ones are part of the turbidity."""
_NEAREST = 0.2
"""m; nearer ones are out of focus."""
_DIAMETER = 1.5e-3
"""m, on average: marine snow."""
_WHITE = 0.6
"""Share of the light that a particle sends back."""
_STAMP = 2
"""Pixels that a speck goes beyond its middle."""
_SILT_COLOUR = np.array([0.62, 0.52, 0.36])
"""Share of red, green and blue that a thick cloud of silt sends back (assumed)."""
_SILT_CELL = 8
"""Pixels along each side of a cell in which clouds are computed; between them it is linear."""


def with_particles(
    image: np.ndarray, depth: np.ndarray, lens: Lens, environment: Environment, view: View
) -> np.ndarray:
    """Return an image (h, w, 3) uint8 with the particles before what it shows.

    A particle covers π d²/4 (f/r)² pixels at the range r; that share of the light of a pixel is
    the particle's: ρ (E + lamps) exp(−c r).

    Args:
        image: sRGB.
        depth: (h, w) along the axis, m.
        environment: water; ``optics.particles`` in a cubic metre.
    """
    optics = environment.optics
    positions, sizes = _nearby_particles(
        view.eye, optics.particles, environment.current * view.time
    )
    in_camera = positions @ view.turn  # in the camera's frame
    far = np.linalg.norm(in_camera, axis=-1)
    pixels = _pixels(lens, in_camera)
    height, width = depth.shape
    column, row = np.floor(pixels + 0.5).astype(int).T
    inside = (in_camera[:, 2] > 0.02) & (far > _NEAREST) & (far < _REACH)
    inside &= (column >= 0) & (column < width) & (row >= 0) & (row < height)
    inside &= height_above_water(environment, view.eye) + positions[:, 2] < 0  # in the water
    chosen = np.flatnonzero(inside)
    chosen = chosen[in_camera[chosen, 2] < depth[row[chosen], column[chosen]]]
    if not len(chosen):
        return image
    far, positions = far[chosen], positions[chosen]
    light = _light(environment, view, positions, far)
    across = sizes[chosen] * lens.focal_length / far
    cover = np.minimum(np.pi / 4 * across**2, 1e3)
    spread = np.clip(across / 2, 0.6, _STAMP / 2)
    linear = _decode_srgb(image)
    offsets = range(-_STAMP, _STAMP + 1)
    for dy in offsets:
        for dx in offsets:
            x, y = column[chosen] + dx, row[chosen] + dy
            apart = np.sum((np.stack([x, y], axis=-1) - pixels[chosen]) ** 2, axis=-1)
            share = cover * np.exp(-0.5 * apart / spread**2) / (2 * np.pi * spread**2)
            there = (x >= 0) & (x < width) & (y >= 0) & (y < height) & (share > 1e-3)
            share = np.minimum(share, 1.0)[there, None]
            at = (y[there], x[there])
            np.add.at(linear, at, share * (view.gain * light[there] - linear[at]))
    return _encode_srgb(linear)


def _nearby_particles(
    eye: np.ndarray, density: float, drift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return places (n, 3) of particles from the eye, and their diameters (n,), m."""
    side = density ** (-1 / 3)
    eye_in_water = eye - drift
    first, last = (np.floor((eye_in_water + s * _REACH) / side).astype(np.int64) for s in (-1, 1))
    cells = np.stack(
        np.meshgrid(
            *(np.arange(a, b + 1) for a, b in zip(first, last, strict=True)), indexing='ij'
        ),
        axis=-1,
    ).reshape(-1, 3)
    drawn = np.stack([_hash(cells, i) for i in range(4)], axis=-1)
    return side * (cells + drawn[:, :3]) - eye_in_water, _DIAMETER * (0.4 + 1.2 * drawn[:, 3])


def _hash(cells: np.ndarray, number: int) -> np.ndarray:
    """Return numbers (n,) from 0 to 1 that follow from cells (n, 3)."""
    h = (cells.astype(np.uint32) * np.array([73856093, 19349663, 83492791], np.uint32)).sum(
        axis=-1, dtype=np.uint32
    ) + np.uint32(2654435769 * (number + 1) % 2**32)
    for shift, factor in ((15, 2246822519), (13, 3266489917), (16, 668265263)):
        h = (h ^ (h >> np.uint32(shift))) * np.uint32(factor)
    return (h ^ (h >> np.uint32(15))) / 2.0**32


def _pixels(lens: Lens, in_camera: np.ndarray) -> np.ndarray:
    """Return the pixels (n, 2) of points (n, 3) in the camera's frame."""
    ahead = np.maximum(in_camera[:, 2:], 0.02)
    points = in_camera[:, :2] / ahead
    if lens.model != PLUMB_BOB:
        radius = np.maximum(np.linalg.norm(points, axis=-1, keepdims=True), 1e-9)
        points = points * np.arctan(radius) / radius
    return lens.distort(points) * lens.focal_length + lens.matrix[:2, 2]


def _light(
    environment: Environment, view: View, positions: np.ndarray, far: np.ndarray
) -> np.ndarray:
    """Return the light (n, 3) that comes to the eye from particles that cover all of a pixel."""
    optics, lamp = environment.optics, view.lamp
    depth = np.maximum(-(height_above_water(environment, view.eye) + positions[:, 2:]), 0.0)
    light = np.exp(-optics.diffuse * depth)
    if lamp.light:
        from_lamp = positions - view.turn @ lamp.place
        range_ = np.maximum(np.linalg.norm(from_lamp, axis=-1), 0.05)
        beam = (from_lamp @ view.turn[:, 2] / range_ - lamp.cosine) / (1.0 - lamp.cosine)
        lit = lamp.light * np.maximum(beam, 0.0) / range_**2
        light = light + lit[:, None] * np.exp(-optics.attenuation * range_[:, None])
    return np.asarray(_WHITE * light * np.exp(-optics.attenuation * far[:, None]))


_LINEAR = np.arange(256) / 255
_LINEAR = np.where(_LINEAR <= 0.04045, _LINEAR / 12.92, ((_LINEAR + 0.055) / 1.055) ** 2.4)
_LINEAR = _LINEAR.astype(np.float32)


def _decode_srgb(image: np.ndarray) -> np.ndarray:
    """Return the linear light of an sRGB image (IEC 61966-2-1)."""
    return np.asarray(_LINEAR[image])


def _encode_srgb(linear: np.ndarray) -> np.ndarray:
    """Return the sRGB image of linear light: the level whose light is nearest."""
    edges = (_LINEAR[1:] + _LINEAR[:-1]) / 2
    return np.searchsorted(edges, np.clip(linear, 0.0, 1.0)).astype(np.uint8)


# Clouds of silt.


def with_silt(
    image: np.ndarray, depth: np.ndarray, lens: Lens, environment: Environment, view: View
) -> np.ndarray:
    """Return an image (h, w, 3) uint8 with the clouds of silt before what it shows.

    Light I becomes I e^(−τ) + Σ B (1 − e^(−τ)) τᵢ/τ with the optical depth τ = Σ τᵢ up to what a
    pixel shows, and the light B that a thick cloud sends off: that of daylight and lamps at its
    middle, less what the water takes on the way.

    Args:
        image: sRGB.
        depth: (h, w) along the axis, m; infinite where nothing is.
        environment: its ``silt``, and the attenuation of its ``sediment``.
    """
    assert environment.sediment is not None
    assert environment.silt is not None
    clouds = environment.silt[environment.silt[:, 4] > 0]
    if not len(clouds):
        return image
    height, width = depth.shape
    rows, columns = (_cell_edges(n) for n in (height, width))
    rays = _cell_rays(lens)
    reach = np.minimum(depth[np.ix_(rows, columns)], 1e3) / np.maximum(rays[..., 2], 1e-3)
    relative = clouds.copy()
    relative[:, :3] -= view.eye
    depths = environment.sediment.attenuation * optical_depths(relative, rays @ view.turn.T, reach)
    total = depths.sum(axis=-1)
    if total.max() < 1e-3:
        return image
    positions = relative[:, :3]
    far = np.maximum(np.linalg.norm(positions, axis=-1) - relative[:, 3], 0.1)
    light = view.gain * _light(environment, view, positions, far) / _WHITE * _SILT_COLOUR
    weight = depths / np.maximum(total, 1e-12)[..., None]
    shown = (weight @ light) * (1.0 - np.exp(-total))[..., None]
    passed = np.exp(-total)[..., None]
    grid = np.concatenate([passed, shown], axis=-1)
    full = linear_between(linear_between(grid, rows, height), columns, width, axis=1)
    linear = _decode_srgb(image) * full[..., :1] + full[..., 1:]
    return _encode_srgb(linear)


def _cell_edges(count: int) -> np.ndarray:
    """Return the pixels at which clouds are computed."""
    return np.minimum(np.arange(0, count - 1 + _SILT_CELL, _SILT_CELL), count - 1)


@lru_cache(maxsize=8)
def _cell_rays(lens: Lens) -> np.ndarray:
    """Return the unit vectors of these pixels, row by row."""
    across, down = np.meshgrid(_cell_edges(lens.width), _cell_edges(lens.height))
    return lens.directions(np.stack([across, down], axis=-1).astype(float))


def optical_depths(clouds: np.ndarray, rays: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Return the mass per area (..., k), kg/m², of Gaussian clouds along rays.

    m/(2 π σ²) exp(−b²/(2 σ²)) (Φ((L − a)/σ) − Φ(−a/σ)), with the distance b of the middle from the
    ray, and a along it.

    Args:
        clouds: (k, 5) middle from the begin of the rays, m; σ, m; mass m, kg.
        rays: (..., 3) unit vectors.
        reach: (...) their lengths L, m.
    """
    from scipy.special import ndtr

    along = rays @ clouds[:, :3].T
    aside = np.maximum(np.sum(clouds[:, :3] ** 2, axis=1) - along**2, 0.0)
    size = clouds[:, 3]
    within = ndtr((reach[..., None] - along) / size) - ndtr(-along / size)
    return np.asarray(
        clouds[:, 4] / (2 * np.pi * size**2) * np.exp(-0.5 * aside / size**2) * within
    )
