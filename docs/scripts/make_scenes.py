# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of boundary.md: ``.venv/bin/python docs/scripts/make_scenes.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LightSource, ListedColormap

from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics.boundary import boundary_disturbance
from marine_sim_ros.physics.thrusters import ventilation_factor
from marine_sim_ros.scene.scene import Scene

HERE = Path(__file__).resolve().parent.parent / 'pictures'
BLUE, GREY, ORANGE = '#1f6fb2', '#5f6b76', '#d9822b'
RADIUS = 0.038


def _ramp(low: str, high: str) -> ListedColormap:
    ends = np.array([mpl.colors.to_rgb(low), mpl.colors.to_rgb(high)])
    return ListedColormap(ends[0] + np.linspace(0, 1, 256)[:, None] * (ends[1] - ends[0]))


COLOURS = {'shallow_sand': _ramp('#b0905a', '#f5e6bf'), 'deep_rock': _ramp('#2e3440', '#b8b3aa')}


def _relief(axes: Axes, scene: Scene, name: str, half: float) -> None:
    """Draw the ground in the light from the north-west, heights taken off a fine grid."""
    side = np.linspace(-half, half, 700)
    x, y = np.meshgrid(side, side)
    assert scene.terrain is not None
    height = scene.terrain.height(x, y)
    step = side[1] - side[0]
    light = LightSource(azdeg=315, altdeg=40)
    stretch = 3.0 if name == 'shallow_sand' else 1.0
    # imshow turns rows over for the light: give north first.
    shaded = light.shade(
        height[::-1], COLOURS[name], blend_mode='soft', vert_exag=stretch, dx=step, dy=step
    )
    axes.imshow(shaded, extent=(-half, half, -half, half))
    ink = '#4d3b1f' if name == 'shallow_sand' else 'white'
    levels = np.linspace(height.min(), height.max(), 5)[1:-1]
    lines = axes.contour(x, y, height, levels, colors=ink, linewidths=0.5, linestyles='solid')
    axes.clabel(lines, fmt=lambda z: f'{-z:.1f} m' if half > 40 else f'{-z:.2f} m', fontsize=7)
    points = np.stack([x, y, height + 0.05], axis=-1).reshape(-1, 3)
    distance, _ = Scene(obstacles=scene.obstacles).surfaces(points)
    inside = distance.min(axis=0).reshape(x.shape) < 0
    axes.contourf(x, y, inside, [0.5, 1.5], colors=[ORANGE], alpha=0.9)
    axes.set(xlabel='east, m', ylabel='north, m')


def seabed(name: str, path: Path) -> None:
    """Draw a shipped seabed from above: the whole of it, and where vehicles start."""
    scene = load_environment(name).scene
    assert scene is not None
    figure, (whole, near) = plt.subplots(1, 2, figsize=(11, 5.4))
    _relief(whole, scene, name, 64.0)
    _relief(near, scene, name, 16.0)
    whole.set_title(f'{name}: depth, light from the north-west')
    near.set_title('about the origin; obstacles near the ground in orange')
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _pushes(gaps: np.ndarray, rotation: np.ndarray, normal: np.ndarray, mode: str) -> np.ndarray:
    """Return the force (n, 3) per newton of thrust at distances (n,) from a plane."""
    return boundary_disturbance(
        gaps[:, None] * normal,
        rotation + np.zeros((len(gaps), 1, 1)),
        np.zeros(3),
        normal + np.zeros((len(gaps), 1)),
        np.ones(len(gaps)),
        np.array(RADIUS),
        mode=mode,
    )


def laws(path: Path) -> None:
    """Draw both laws over the ground and beside a wall, and the loss of thrust at the surface."""
    figure, (ground, wall, surface) = plt.subplots(1, 3, figsize=(12, 3.8))
    gaps = np.linspace(0, 1.0, 500)
    up, level = np.array([0.0, 0.0, 1.0]), np.eye(3)
    for mode, style in (
        ('documented', {'color': GREY, 'linestyle': '--'}),
        ('normal_only', {'color': BLUE}),
    ):
        ground.plot(gaps, _pushes(gaps, level, up, mode)[:, 2], label=mode, **style)
        beside = _pushes(gaps, level, np.array([1.0, 0.0, 0.0]), mode)
        wall.plot(gaps, beside[:, 2], label=mode, **style)
    ground.set(title='upward thrust over the ground', ylabel='upward force / thrust')
    wall.set(title='upward thrust beside a wall', ylabel='upward force / thrust')
    for axes in (ground, wall):
        axes.set(xlabel=f'distance, m (R = {RADIUS} m)')
        axes.legend()
    immersion = np.linspace(-1, 2, 400)
    surface.plot(immersion, ventilation_factor(immersion), color=ORANGE)
    surface.set(title='near the surface', xlabel='depth of the hub / R', ylabel='thrust left')
    for axes in (ground, wall, surface):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == '__main__':
    HERE.mkdir(exist_ok=True)
    for shipped in COLOURS:
        seabed(shipped, HERE / f'{shipped}.png')
    laws(HERE / 'boundary.png')
