# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Seabeds made from a seed: rippled sand, ridged rock.

Only sums, products, floors and quotients of IEEE doubles, no library functions, and whole numbers
at the end: the same seed gives the same terrain to the bit in every process, on every machine and
with every NumPy. Made on request, in milliseconds, and kept: nothing is to be stored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from marine_sim_ros.core.random import uniform
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['GENERATORS', 'generate']

_STEPS = 1 << 20
"""Into which a relief is divided, so that its mean is a sum of whole numbers."""


def _fade(share: np.ndarray) -> np.ndarray:
    """Return 6t⁵ − 15t⁴ + 10t³: from 0 to 1 with no slope or curvature at the ends."""
    return share * share * share * (share * (share * 6 - 15) + 10)


def _gradient_noise(x: np.ndarray, y: np.ndarray, seed: int, name: str) -> np.ndarray:
    """Return noise of about −0.5 to 0.5 at places in lattice units (Perlin 2002), x, y ≥ 0."""
    i, j = np.floor(x).astype(int), np.floor(y).astype(int)
    u, v = x - i, y - j
    columns = int(i.max()) + 2
    draws = 2 * uniform(seed, f'terrain/{name}', 2 * columns * (int(j.max()) + 2)) - 1
    gradient = draws.reshape(-1, columns, 2)

    def pull(di: int, dj: int) -> np.ndarray:
        g = gradient[j + dj, i + di]
        return g[..., 0] * (u - di) + g[..., 1] * (v - dj)

    across, along = _fade(u), _fade(v)
    south = pull(0, 0) + across * (pull(1, 0) - pull(0, 0))
    north = pull(0, 1) + across * (pull(1, 1) - pull(0, 1))
    return south + along * (north - south)


def _octaves(
    x: np.ndarray, y: np.ndarray, seed: int, name: str, wavelength: float, count: int
) -> list[np.ndarray]:
    """Return noises of a wavelength, half of it, a quarter, ... in m."""
    return [
        _gradient_noise(x * (2**n / wavelength), y * (2**n / wavelength), seed, f'{name}/{n}')
        for n in range(count)
    ]


def _ripple(phase: np.ndarray) -> np.ndarray:
    """Return sand waves from 0 to 1: a long rise, a short fall, by turns of the phase."""
    turn = phase - np.floor(phase)
    crest = 0.65
    return np.where(turn < crest, _fade(turn / crest), _fade((1 - turn) / (1 - crest)))


def _sand(x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Return soft swells with sand waves of about 4 m across them, in no unit."""
    swells = _octaves(x, y, seed, 'swells', 45.0, 3)
    broad = swells[0] + 0.4 * swells[1] + 0.15 * swells[2]
    bend = _octaves(x, y, seed, 'bend', 24.0, 2)
    phase = x / 4.0 + y / 17.0 + 1.6 * bend[0] + 0.5 * bend[1]
    strength = 0.6 + _octaves(x, y, seed, 'strength', 30.0, 1)[0]
    return broad + 0.16 * strength * _ripple(phase)


def _rock(x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Return ridges of all sizes, the smaller ones on the larger (Musgrave 1994), in no unit."""
    total, weight, share = np.zeros_like(x), np.ones_like(x), 1.0
    for noise in _octaves(x, y, seed, 'ridges', 36.0, 5):
        ridge = 1 - np.minimum(2.2 * np.abs(noise), 1.0)
        ridge = ridge * ridge * weight
        total = total + share * ridge
        weight = np.clip(1.6 * ridge, 0.3, 1.0)
        share = 0.5 * share
    return total + 0.9 * _octaves(x, y, seed, 'hills', 60.0, 1)[0]


GENERATORS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    'sand': _sand,
    'rock': _rock,
}


@lru_cache(maxsize=8)
def generate(
    generator: str,
    *,
    depth: float,
    relief: float,
    size: tuple[float, float],
    spacing: float,
    seed: int,
    material: str,
) -> HeightMap:
    """Return a terrain about the origin of map; a second call gives the same object.

    Args:
        generator: one of :data:`GENERATORS`.
        depth: depth of the mean seabed below the mean surface, m.
        relief: height of its highest above its lowest place, m.
        size: along x and y, m; rounded to the grid.
        spacing: spacing of the grid, m.
        seed: random seed of the terrain.
        material: name of the material.
    """
    columns, rows = (max(round(length / spacing), 1) + 1 for length in size)
    x, y = np.meshgrid(np.arange(columns) * spacing, np.arange(rows) * spacing)
    shape = GENERATORS[generator](x, y, seed)
    low, high = float(shape.min()), float(shape.max())
    steps = np.floor((shape - low) / ((high - low) or 1.0) * _STEPS).astype(np.int64)
    above_mean = steps - int(steps.sum()) // steps.size
    origin = np.array([-(columns - 1) * spacing / 2, -(rows - 1) * spacing / 2])
    return HeightMap(origin, spacing, above_mean * (relief / _STEPS) - depth, material)
