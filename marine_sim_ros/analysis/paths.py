# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Circles, helices and straight lines fitted to a path, and turn kinematics."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.numerics import check_rows, check_time

__all__ = [
    'FittedCircle',
    'SteadyTurn',
    'fit_circle',
    'fit_steady_turn',
    'helix_pitch',
    'track_error',
    'turning_radius',
]

LEAST_ARC = math.pi / 2
"""rad; of less than a quarter of a turn, noise and drift decide the radius."""


@dataclass(frozen=True)
class FittedCircle:
    """A circle in a plane; m.

    Attributes:
        center: x, y.
        radius: positive.
        residual: root mean square of the distances from the points to the circle.
    """

    center: tuple[float, float]
    radius: float
    residual: float


def fit_circle(points: np.ndarray) -> FittedCircle:
    """Return the circle with the least sum of squared distances to points (n, 2), in m.

    The algebraic fit of Taubin (1991), as the singular vector of the centred, scaled points
    (Chernov 2010, Circular and Linear Regression, section 5.9), starts the geometric one
    (Levenberg-Marquardt on √((x − a)² + (y − b)²) − r).

    Raises:
        ParameterError: fewer than three points, not finite, or all on one line.
    """
    least_squares = require('scipy.optimize', 'fit of a path').least_squares

    points = np.asarray(points, float)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
        raise ParameterError(f'circle: points of shape {points.shape}; expected (n, 2), n >= 3')
    points = check_rows('points', points, len(points), 2)
    middle = points.mean(axis=0)
    scale = float(np.sqrt(np.mean(np.sum((points - middle) ** 2, axis=1))))
    if scale == 0:
        raise ParameterError('circle: all points are the same; expected some of a circle')
    q = (points - middle) / scale
    start = _taubin(q)

    def misses(p: np.ndarray) -> np.ndarray:
        return np.asarray(np.hypot(q[:, 0] - p[0], q[:, 1] - p[1]) - p[2])

    found = least_squares(misses, start, method='lm', x_scale='jac').x
    a, b, r = (float(v) for v in found)
    if not r < 1e4:
        raise ParameterError('circle: the points are on one line; expected some of a circle')
    residual = float(np.sqrt(np.mean(misses(found) ** 2)))
    x, y = (float(v) for v in middle + scale * np.array([a, b]))
    return FittedCircle((x, y), r * scale, residual * scale)


def _taubin(q: np.ndarray) -> np.ndarray:
    """Return a, b, r of points (n, 2) with mean 0 and mean square 1."""
    square = np.sum(q**2, axis=1)
    # A (x² + y² − m) / (2 √m) + B x + C y = 0 with A² + B² + C² = 1 and m = 1
    design = np.stack([(square - 1) / 2, q[:, 0], q[:, 1]], axis=1)
    _, values, rows = np.linalg.svd(design, full_matrices=False)
    big_a, big_b, big_c = rows[2]
    if values[1] < 1e-12 or abs(big_a) < 1e-9:
        raise ParameterError('circle: the points are on one line; expected some of a circle')
    # x² + y² + 2 (B/A) x + 2 (C/A) y − 1 = 0
    a, b = -big_b / big_a, -big_c / big_a
    return np.array([a, b, math.sqrt(a * a + b * b + 1)])


def turning_radius(speed: float, turn_rate: float) -> float:
    """Return R = U / |r| in m of a horizontal speed (m/s) and a turn rate (rad/s), not 0."""
    return speed / abs(turn_rate)


def helix_pitch(climb_rate: float, turn_rate: float) -> float:
    """Return the rise per turn 2 π w / |r| in m of a climb rate (m/s) and a turn rate (rad/s)."""
    return 2 * math.pi * climb_rate / abs(turn_rate)


@dataclass(frozen=True)
class SteadyTurn:
    """A steady turn: what the path shows, and what its speeds say it should be.

    Attributes:
        circle: circle fitted to the path seen from above.
        turn_rate: turn rate of the path about the circle's centre, rad/s, positive to port.
        turns: turned about it, in turns.
        pitch: rise per turn along the path, m; negative: down.
        speed: mean horizontal speed over ground, m/s.
        climb_rate: mean, m/s.
        yaw_rate: mean rate of the heading, rad/s.
        kinematic_radius: U / |r| of the mean speed and yaw rate, m.
        kinematic_pitch: 2 π w / |r| of the mean climb and yaw rates, m.
    """

    circle: FittedCircle
    turn_rate: float
    turns: float
    pitch: float
    speed: float
    climb_rate: float
    yaw_rate: float
    kinematic_radius: float
    kinematic_pitch: float

    def to_dict(self) -> dict[str, Any]:
        """Return the entries of metrics.json."""
        values = asdict(self)
        circle = values.pop('circle')
        units = {
            'turn_rate': 'rad_s',
            'yaw_rate': 'rad_s',
            'speed': 'm_s',
            'climb_rate': 'm_s',
            'pitch': 'm',
            'kinematic_radius': 'm',
            'kinematic_pitch': 'm',
        }
        return {
            'radius_m': circle['radius'],
            'center_m': list(circle['center']),
            'circle_residual_m': circle['residual'],
            **{f'{k}_{units[k]}' if k in units else k: v for k, v in values.items()},
            'radius_difference_percent': _per_cent(self.circle.radius, self.kinematic_radius),
            'pitch_difference_percent': _per_cent(self.pitch, self.kinematic_pitch),
        }


def _per_cent(found: float, expected: float) -> float | None:
    return 100 * abs(found - expected) / abs(expected) if abs(expected) > 1e-6 else None


def fit_steady_turn(
    time: np.ndarray, position: np.ndarray, velocity: np.ndarray, yaw: np.ndarray
) -> SteadyTurn:
    """Return the steady turn in a stretch of a run; cut off how it began before.

    The path gives radius, turn rate and pitch (the slopes of polar angle over time, and of height
    over polar angle, by least squares); speeds and heading independently give R = U / |r| and
    2 π w / |r|. In a steady turn both agree, whatever the drift angle.

    Args:
        time: (n,) s.
        position: (n, 3) m, map.
        velocity: (n, 3) m/s over ground, map.
        yaw: (n,) rad; wrapped or not.

    Raises:
        ParameterError: wrong shapes, not finite, no circle, or less than a quarter of a turn.
    """
    t = check_time(time)
    n = len(t)
    p = check_rows('position', position, n, 3)
    v = check_rows('velocity', velocity, n, 3)
    heading = np.unwrap(check_rows('yaw', np.reshape(yaw, (-1, 1)), n, 1)[:, 0])
    circle = fit_circle(p[:, :2])
    angle = np.unwrap(np.arctan2(p[:, 1] - circle.center[1], p[:, 0] - circle.center[0]))
    arc = abs(float(angle[-1] - angle[0]))
    yaw_rate = _slope(t, heading)
    if arc < LEAST_ARC or abs(heading[-1] - heading[0]) < LEAST_ARC:
        raise ParameterError(
            f'turn: the path covers {math.degrees(arc):.0f}° of a circle and the heading changes '
            f'by {math.degrees(abs(heading[-1] - heading[0])):.0f}°; expected 90° or more of both'
        )
    speed = float(np.hypot(v[:, 0], v[:, 1]).mean())
    climb_rate = float(v[:, 2].mean())
    return SteadyTurn(
        circle=circle,
        turn_rate=_slope(t, angle),
        turns=arc / (2 * math.pi),
        pitch=2 * math.pi * _slope(angle, p[:, 2]) * math.copysign(1.0, angle[-1] - angle[0]),
        speed=speed,
        climb_rate=climb_rate,
        yaw_rate=yaw_rate,
        kinematic_radius=turning_radius(speed, yaw_rate),
        kinematic_pitch=helix_pitch(climb_rate, yaw_rate),
    )


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of the least-squares line through points (n,), (n,)."""
    dx = x - x.mean()
    return float(dx @ (y - y.mean()) / (dx @ dx))


def track_error(position: np.ndarray, start: np.ndarray, end: np.ndarray) -> dict[str, float]:
    """Return the largest distance of a path (n, 3) from the line from start to end (3,), m.

    The keys are ``cross_track_m``, the largest horizontal distance from the line's vertical
    plane, and ``vertical_track_m``, the largest vertical distance from the line at that progress.

    Raises:
        ParameterError: start and end are above one another.
    """
    a, b = np.asarray(start, float), np.asarray(end, float)
    p = check_rows('position', position, len(position), 3)
    along = b[:2] - a[:2]
    length = float(np.hypot(*along))
    if length < 1e-9:
        raise ParameterError('track: start and end are above one another; expected a way between')
    unit = along / length
    away = p[:, :2] - a[:2]
    progress = np.clip(away @ unit / length, 0.0, 1.0)
    height = a[2] + progress * (b[2] - a[2])
    return {
        'cross_track_m': float(np.abs(away[:, 0] * unit[1] - away[:, 1] * unit[0]).max()),
        'vertical_track_m': float(np.abs(p[:, 2] - height).max()),
    }
