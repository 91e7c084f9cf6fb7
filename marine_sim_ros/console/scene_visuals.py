# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is around a vehicle: seabed, walls, obstacles, and the sea of the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.console.vehicle_visuals import floats
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.colours import colour
from marine_sim_ros.scene.outline import coarse, plane_lines, plane_outline
from marine_sim_ros.scene.scene import Scene

__all__ = ['scene_visuals']


def _planes(scene: Scene) -> list[dict[str, Any]]:
    found = []
    for plane in scene.planes:
        corners = plane_outline(scene, plane)
        if len(corners) >= 3:
            lines = plane_lines(scene, plane).reshape(-1, 3) + 0.005 * plane.normal
            found.append(
                {
                    'name': plane.name,
                    'corners': floats(corners),
                    'lines': floats(lines),
                    'ground': bool(plane.normal[2] > 0.5),
                    'colour': colour(plane.material, 1.0),
                }
            )
    return found


def _terrain(scene: Scene) -> dict[str, Any] | None:
    if scene.terrain is None:
        return None
    seen = coarse(scene.terrain)
    rows, columns = seen.heights.shape
    return {
        'origin': [float(x) for x in seen.origin],
        'spacing': float(seen.spacing),
        'rows': rows,
        'columns': columns,
        'heights': floats(seen.heights),
        'colour': colour(seen.material, 1.0),
    }


def _waves(environment: Environment) -> list[list[float]]:
    """Return k_x, k_y, ω, φ, a of every component, the highest first."""
    waves = environment.waves
    if waves is None:
        return []
    k = waves.wavenumber
    east, north = k * np.cos(waves.direction), k * np.sin(waves.direction)
    table = np.column_stack([east, north, waves.frequency, waves.phase, waves.amplitude])
    return [[float(x) for x in row] for row in table[np.argsort(-waves.amplitude)]]


def scene_visuals(environment: Environment) -> dict[str, Any]:
    """Return the scene and the water as a page draws them; JSON."""
    scene = environment.scene
    obstacles = () if scene is None else scene.obstacles
    return {
        'name': environment.name or 'still water',
        'gravity': environment.gravity,
        'planes': [] if scene is None else _planes(scene),
        'terrain': None if scene is None else _terrain(scene),
        'obstacles': [
            {
                'name': o.name,
                'kind': o.kind,
                'size': o.size.tolist(),
                'at': o.position.tolist(),
                'turn': o.orientation.tolist(),
                'colour': colour(o.material, 1.0),
            }
            for o in obstacles
        ],
        'waves': _waves(environment),
        'current': environment.current.tolist(),
        'heading': environment.origin.heading,
    }
