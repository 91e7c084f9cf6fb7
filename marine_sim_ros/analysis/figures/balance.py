# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where weight and buoyancy act in a vehicle that has come to rest, seen from two sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.figures.style import (
    BLACK,
    GREY,
    LIGHT,
    ORANGE,
    SKY,
    box_corners,
    sheet,
)
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix

__all__ = ['Balance', 'balance_figure']


@dataclass(frozen=True)
class Balance:
    """A vehicle at rest; points in the body frame (FLU), m.

    Attributes:
        name: name of the case, such as "without arm".
        center_of_gravity: (3,).
        center_of_buoyancy: (3,).
        roll: rad.
        pitch: rad.
        size: length, width, height of its outline, m.
    """

    name: str
    center_of_gravity: tuple[float, float, float]
    center_of_buoyancy: tuple[float, float, float]
    roll: float
    pitch: float
    size: tuple[float, float, float]

    @property
    def rotation(self) -> np.ndarray:
        """R (3, 3) with v_map = R v_body, heading along x."""
        return np.asarray(rotation_matrix(quaternion_from_rpy(self.roll, self.pitch, 0.0)))

    @property
    def lever(self) -> np.ndarray:
        """(3,) from the centre of gravity to that of buoyancy, m, map; upright when balanced."""
        offset = np.subtract(self.center_of_buoyancy, self.center_of_gravity)
        return np.asarray(self.rotation @ offset)


# Seen from starboard the bow is right; from astern, starboard is.
_VIEWS = (('from starboard', 0, 1.0), ('from astern', 1, -1.0))


def balance_figure(path: Path, cases: Sequence[Balance], *, title: str) -> None:
    """Draw one row per case, from starboard and from astern, to one scale.

    Raises:
        RecordingError: the file cannot be written.
    """
    reach = 0.62 * max(max(c.size) for c in cases)
    with sheet(path, title, 0.7 + 4.1 * len(cases)) as figure:
        grid = figure.subplots(len(cases), 2, squeeze=False, sharex=True, sharey=True)
        for row, case in zip(grid, cases, strict=True):
            for axes, (view, axis, sign) in zip(row, _VIEWS, strict=True):
                _side(axes, case, axis, sign)
                axes.set_title(f'{case.name}, {view}\n{_tilt(case, axis)}')
                axes.set(xlim=(-reach, reach), ylim=(-0.62 * reach, 0.62 * reach), aspect='equal')
                axes.set_xlabel(f'{"forward" if axis == 0 else "to starboard"} [m]')
                axes.tick_params(labelbottom=True)
            row[0].set_ylabel('up [m]')
        _legend(figure)


def _tilt(case: Balance, axis: int) -> str:
    name, value = ('pitch', case.pitch) if axis == 0 else ('roll', case.roll)
    ways = ('bow down', 'bow up') if axis == 0 else ('starboard down', 'port down')
    way = '' if abs(value) < 1e-4 else f', {ways[value < 0]}'
    return f'{name} {math.degrees(value):+.2f}°{way}'.replace('-', '−')


def _side(axes: Any, case: Balance, axis: int, sign: float) -> None:
    from matplotlib.patches import Polygon

    ConvexHull = require('scipy.spatial', 'figures').ConvexHull

    def seen(points: Any) -> np.ndarray:
        turned = np.asarray(points) @ case.rotation.T
        return np.stack([sign * turned[..., axis], turned[..., 2]], axis=-1)

    corners = seen(box_corners(case.size))
    axes.add_patch(
        Polygon(corners[ConvexHull(corners).vertices], facecolor=LIGHT, edgecolor=GREY, lw=1.5)
    )
    gravity, buoyancy = seen(case.center_of_gravity), seen(case.center_of_buoyancy)
    length = 0.2 * max(case.size)
    for point, way, colour in ((gravity, -1, ORANGE), (buoyancy, 1, SKY)):
        axes.annotate(
            '',
            (point[0], point[1] + way * length),
            point,
            arrowprops={'arrowstyle': '-|>', 'color': colour, 'lw': 2.5, 'shrinkA': 0},
        )
        axes.axvline(point[0], color=colour, linestyle=(0, (2, 3)), linewidth=1.3)
        axes.plot(*point, 'o', color=colour, markeredgecolor=BLACK, markersize=11, zorder=5)
    offset = abs(float(buoyancy[0] - gravity[0]))
    axes.text(
        0.99,
        0.02,
        f'verticals {1000 * offset:.1f} mm apart',
        ha='right',
        transform=axes.transAxes,
        color=BLACK,
        fontsize=11,
    )


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {
        'marker': 'o',
        'markeredgecolor': BLACK,
        'markersize': 11,
        'linestyle': '',
    }
    figure.legend(
        handles=[
            Line2D([], [], color=SKY, label='centre of buoyancy', **dot),
            Line2D([], [], color=ORANGE, label='centre of gravity', **dot),
        ],
        loc='upper right',
        ncols=2,
        bbox_to_anchor=(0.995, 1.0),
    )
