# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads added_mass="panels": source panels on the collisions of a vehicle, kept between runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.user_cache import cache_folder, keep
from marine_sim_ros.model.collisions import Collision
from marine_sim_ros.model.geometry import panel_mesh, source_panels
from marine_sim_ros.model.geometry.shapes import Shape, moved
from marine_sim_ros.model.xml import Reader

__all__ = ['KIND', 'PanelReading', 'read_panels']

KIND = 'added_mass'
"""Name of the folder of kept results."""
_ROUNDING = 1e-3
"""Share of the largest number by which an eigenvalue may be negative."""


class PanelReading(NamedTuple):
    """Added mass by source panels.

    Attributes:
        added_mass: (6, 6) about the origin of the body frame; kg, kg·m, kg·m².
        note: what was computed, in one line.
        warnings: what was made simpler.
    """

    added_mass: np.ndarray
    note: str
    warnings: tuple[str, ...]


class _Result(NamedTuple):
    solution: source_panels.PanelSolution
    tolerance: float


def read_panels(
    parts: Sequence[Collision], density: float, root: Reader, progress: Callable[[float], None]
) -> PanelReading:
    """Return the added mass of all collisions together, in unbounded water.

    Args:
        parts: collisions of the vehicle.
        density: of the water, kg/m³.
        root: the <robot> element, for messages.
        progress: function that is called with the completed share, 0 to 1, if there is work.

    Raises:
        ModelError: no collision, a surface that encloses nothing, or too many triangles.
    """
    if not parts:
        raise root.error('added_mass="panels" needs a <collision> to put panels on')
    shapes = [moved(c.shape, c.rotation, c.translation) for c in parts]
    try:
        result = _cached(_key(shapes), lambda: _solve(shapes, progress))
    except ModelError as error:
        place = parts[0].reader if len(parts) == 1 else root
        raise place.error(f'added_mass="panels": {error}') from None
    found, tolerance = result
    matrix = density * found.matrix
    numbers = ' '.join(f'{x:.3g}' for x in np.diag(matrix))
    note = (
        f'added mass of {found.panels} source panels in unbounded water: {numbers} kg and kg·m² '
        f'(surge to yaw), and couplings; A and Aᵀ differ by {found.asymmetry:.2g} of the largest'
    )
    warnings: tuple[str, ...] = ()
    if tolerance:
        warnings = (
            root.warning(
                f'has collisions of too many triangles for added_mass="panels"; for it they were '
                f'simplified within {1000 * tolerance:.2g} mm'
            ),
        )
    return PanelReading(matrix, note, warnings)


def _key(shapes: Sequence[Shape]) -> str:
    """Return the SHA-256 of all that the result follows from."""
    digest = hashlib.sha256(
        f'{source_panels.METHOD} {panel_mesh.TARGET} {panel_mesh.MAX_PANELS}'.encode()
    )
    for shape in shapes:
        faces = np.ascontiguousarray(shape.faces, np.int64)
        digest.update(np.ascontiguousarray(shape.vertices, float).tobytes() + faces.tobytes())
    return digest.hexdigest()


def _solve(shapes: Sequence[Shape], progress: Callable[[float], None]) -> _Result:
    corners, tolerance = panel_mesh.panel_mesh(shapes)
    solution = source_panels.solve_panels(corners, progress)
    if not solution.least > -_ROUNDING:
        raise ModelError(
            'the equations have no physical solution: some motion would gain energy from '
            'nothing; expected a closed surface without walls that are nearly in one place'
        )
    return _Result(solution, tolerance)


def _cached(key: str, compute: Callable[[], _Result]) -> _Result:
    """Return what is kept under a key, or else what is computed, which is then kept."""
    folder = cache_folder(KIND)
    if folder is None:
        return compute()
    path = folder / f'{key}.json'
    try:
        return _read(json.loads(path.read_text(encoding='utf-8')))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        result = compute()
    keep(path, lambda file: file.write(json.dumps(_written(result)).encode()))
    return result


def _written(result: _Result) -> dict[str, Any]:
    found, tolerance = result
    return {
        'matrix': found.matrix.tolist(),
        'asymmetry': found.asymmetry,
        'least': found.least,
        'panels': found.panels,
        'tolerance': tolerance,
    }


def _read(content: Mapping[str, Any]) -> _Result:
    """Return the result of a file's content; whatever is odd about it raises."""
    matrix = np.array(content['matrix'], float)
    numbers = [float(content[name]) for name in ('asymmetry', 'least', 'panels', 'tolerance')]
    asymmetry, least, panels, tolerance = numbers
    sound = matrix.shape == (6, 6) and np.array_equal(matrix, matrix.T)
    if not (sound and np.all(np.isfinite([*matrix.flat, *numbers]))):
        raise ValueError
    if min(asymmetry, panels, tolerance) < 0:
        raise ValueError
    solution = source_panels.PanelSolution(matrix, asymmetry, least, int(panels))
    return _Result(solution, tolerance)
