# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sheet of a PNG figure: style, colours, scales and limits of axes.

Matplotlib is imported when one is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require

__all__ = [
    'BLACK',
    'BLUE',
    'GREY',
    'LIGHT',
    'ORANGE',
    'THREE',
    'VERMILION',
    'box_corners',
    'figure_sheet',
    'thinning_slice',
]


# Style of all pictures: a palette for colour-blind readers, and one font size.

# Okabe and Ito (2008), Color Universal Design.
BLACK, ORANGE, SKY, GREEN = '#000000', '#E69F00', '#56B4E9', '#009E73'
BLUE, VERMILION = '#0072B2', '#D55E00'
GREY, LIGHT = '#5f6b76', '#e9edf1'
THREE = (BLUE, VERMILION, GREEN)
"""Of x, y, z and of roll, pitch, yaw."""

WIDTH = 12.0
DPI = 100
MAX_POINTS = 4000
_STYLE: dict[Any, Any] = {
    'font.size': 12,
    'axes.titlesize': 13,
    'axes.titlelocation': 'left',
    'axes.labelsize': 12,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.edgecolor': GREY,
    'axes.grid': True,
    'axes.axisbelow': True,
    'axes.formatter.useoffset': False,
    'grid.color': '#d5dbe1',
    'grid.linewidth': 0.8,
    'legend.fontsize': 11,
    'legend.frameon': False,
    'lines.linewidth': 1.8,
    'xtick.color': GREY,
    'ytick.color': GREY,
    'xtick.labelcolor': BLACK,
    'ytick.labelcolor': BLACK,
}


@contextmanager
def figure_sheet(path: Path, title: str, height: float) -> Iterator[Any]:
    """Give a Matplotlib figure 12 inches wide; write it to a PNG file when all went well.

    No global state of Matplotlib is touched, and no display is needed.

    Raises:
        RecordingError: the file cannot be written.
    """
    matplotlib = require('matplotlib', 'figures')
    Figure = require('matplotlib.figure', 'figures').Figure
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout='constrained')
        figure.suptitle(title, x=0.01, ha='left', fontsize=15, weight='bold')
        yield figure
        try:
            figure.savefig(path, format='png')
        except OSError as error:
            raise RecordingError(f'{path}: cannot be written: {error.strerror or error}') from None


def thinning_slice(count: int) -> slice:
    """Return the slice that leaves no more rows of a long run than a picture can show."""
    return slice(None, None, max(1, math.ceil(count / MAX_POINTS)))


def padded_limits(low: float, high: float, least: float) -> tuple[float, float]:
    """Return limits around values, at least ``least`` apart, so that noise does not look large."""
    middle, half = (low + high) / 2, max((high - low) * 0.54, least / 2)
    return middle - half, middle + half


def box_corners(size: tuple[float, float, float]) -> np.ndarray:
    """Return the corners (8, 3) of a box of a size (m) around the origin."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return signs * np.asarray(size) / 2
