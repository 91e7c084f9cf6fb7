# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the waterfall and the mosaic of a torpedo AUV's side-scan sonar: a pipe, blocks, a pole.

``.venv/bin/python docs/scripts/make_side_scan.py``
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.analysis.bathymetry import true_heights
from marine_sim_ros.analysis.survey_files import SideScanPings, make_mosaic
from marine_sim_ros.core.spatial import in_map, quaternion_from_rpy, rotation_matrix
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import generate
from marine_sim_ros.sensors.side_scan import scan_line

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / 'pictures' / 'side_scan.png'
MOSAIC = ROOT / 'pictures' / 'side_scan_mosaic.png'
DEPTH = 20.0
SAND = generate(
    'sand', depth=DEPTH, relief=0.8, size=(192.0, 192.0), spacing=0.5, seed=1, material='sand'
)


def on_ground(name: str, shape: str, size: list[float], x: float, y: float, yaw: float = 0.0,
              *, lying: bool = False, material: str = 'concrete') -> Obstacle:  # fmt: skip
    """Return an obstacle that rests on the sand."""
    height = size[0] if lying else size[2]
    turn = quaternion_from_rpy(0.0, math.pi / 2 if lying else 0.0, yaw)
    ground = float(SAND.height(np.array(x), np.array(y)))
    place = np.array([x, y, ground + height / 2])
    return Obstacle(name, shape, np.array(size), place, turn, material=material)


def main() -> None:
    """Run the first leg of the lawn mower, 8 m above the sand."""
    text = (ROOT.parent / 'urdf' / 'torpedo_auv.urdf').read_text(encoding='utf-8')
    sonar = (
        '<sensor type="side_scan" preset="starfish_450f">'
        '<origin rpy="3.14159265358979 0 0"/><max_range>35</max_range></sensor></robot>'
    )
    vehicle = load_vehicle(text.replace('</robot>', sonar))
    things = (
        on_ground('block_1', 'box', [1.5, 1.5, 1.5], 8.0, 12.0, 0.4),
        on_ground('block_2', 'box', [2.0, 1.0, 1.0], 18.0, -10.0, 0.1),
        on_ground('block_3', 'box', [1.0, 4.0, 0.8], 28.0, 20.0, -0.6),
        on_ground('pole', 'cylinder', [0.5, 0.5, 3.0], 33.0, -18.0, material='steel'),
        on_ground('pipe', 'cylinder', [0.8, 0.8, 60.0], 20.0, -16.0, 0.25, lying=True,
                  material='steel'),
    )  # fmt: skip
    around = Environment(scene=Scene((), SAND, things))
    run = simulate(vehicle, load_scenario('lawn_mower'), environment=around, duration=29.0)
    sensor = next(s for s in vehicle.sensors if s.kind == 'side_scan')
    lines = scan_line(sensor.spec, run.sensors['side_scan']['intensity'])
    time = run.sensors['side_scan'].stamp / 1e9
    figure, axes = plt.subplots(figsize=(9.0, 6.5), layout='constrained')
    reach = sensor.spec.max_range
    axes.imshow(
        lines, cmap='copper', vmin=0, vmax=255, aspect='auto', origin='lower',
        extent=(-reach, reach, time[0], time[-1]),
    )  # fmt: skip
    axes.set(xlabel='slant range, m: to port (−), to starboard (+)', ylabel='time, s')
    figure.savefig(PICTURE, dpi=100)
    draw_mosaic(run, sensor, lines, Scene((), SAND, things))


def draw_mosaic(run: Any, sensor: Any, lines: np.ndarray, scene: Scene) -> None:
    """Draw the lines where they lie on the bottom."""
    stamps = run.sensors['side_scan'].stamp
    rows = np.searchsorted(np.round(1e9 * run.time).astype(np.int64), stamps)
    orientation = run.orientation[rows]
    position = in_map(run.position[rows], orientation, sensor.position[None, :])[:, 0]
    altitude = position[:, 2] - true_heights(scene, position[:, :2])
    turn = rotation_matrix(orientation) @ sensor.rotation
    pings = SideScanPings(stamps, lines, position, orientation, turn, altitude)
    mosaic = make_mosaic(sensor, pings, 0.15)
    west, south = mosaic.origin - 0.5 * mosaic.spacing
    height, width = mosaic.spacing * np.array(mosaic.pixels.shape)
    figure, axes = plt.subplots(figsize=(6.0, 7.5), layout='constrained')
    axes.imshow(
        np.ma.masked_equal(mosaic.pixels, 0), cmap='copper', vmin=0, vmax=255, origin='lower',
        extent=(west, west + width, south, south + height),
    )  # fmt: skip
    axes.set(xlabel='x east, m', ylabel='y north, m')
    figure.savefig(MOSAIC, dpi=80)


if __name__ == '__main__':
    main()
