# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks that odometry is in SI units, its pose ENU and its twist in the body's axes (REP 103)."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix

__all__ = ['check_frames', 'check_stamps']

_TICKS = (1e-4, 2.0)
"""Plausible times between odometries, s."""
_UNITS = {
    1e6: 'milliseconds in the place of nanoseconds',
    1e3: 'microseconds in the place of nanoseconds',
    1e-3: 'milliseconds in the place of seconds',
    1e-6: 'microseconds in the place of seconds',
}
"""By the factor from the time as read to the true one."""
_USUAL = 0.05
"""s between odometries, of which the likely unit is nearest."""
_FEWEST = 100
_SPAN = 1.0
"""s over which displacements are compared."""
_MOVED = 0.5
"""m of root sum of squared displacements, below which the vehicle counts as still."""
_WRONG, _RIGHT = 0.5, 0.1
"""Fractions of the squared displacement that are left unexplained: as read, and otherwise."""
_IN_AIR = 2.0
"""Height of most of a run, m, at which no vehicle of water stays."""
_PRESSURE_SLOPE = 9.81e3
"""Pa/m of depth in fresh water; sea water has 3 % more."""
_FLIP = np.array([1.0, -1.0, -1.0])
_EXPECTED = 'expected a pose in ENU (z up, 0 at the surface) and a twist in FLU body axes'


def check_stamps(time: np.ndarray) -> None:
    """Check that odometries come as often as those of a motion.

    Args:
        time: (m,) s.

    Raises:
        ParameterError: not so; with the unit in which they would.
    """
    steps = np.diff(np.unique(time))
    if len(steps) < _FEWEST:
        return
    tick = float(np.median(steps))
    if _TICKS[0] <= tick <= _TICKS[1]:
        return
    fits = [f for f in _UNITS if _TICKS[0] <= tick * f <= _TICKS[1]]
    best = min(fits, key=lambda f: abs(np.log(tick * f / _USUAL)), default=None)
    likely = '' if best is None else f': its stamps are likely {_UNITS[best]}'
    raise ParameterError(
        f'odom has messages {tick:.3g} s apart; expected {_TICKS[0]:g} to {_TICKS[1]:g} s{likely}'
    )


def check_frames(
    time: np.ndarray, odometry: np.ndarray, pressure: tuple[np.ndarray, np.ndarray] | None = None
) -> None:
    """Check the axes of odometry against its own motion, the surface and the pressure.

    Args:
        time: (m,) s.
        odometry: (m, 13) position m, quaternion x y z w, body velocity m/s and rad/s.
        pressure: times (k,), s, and pressures (k,), Pa; None: not recorded.

    Raises:
        ParameterError: other axes explain it, and these do not.
    """
    usable = np.isfinite(odometry).all(axis=1)
    usable &= np.abs(np.linalg.norm(odometry[:, 3:7], axis=1) - 1) < 0.1
    time, first = np.unique(time[usable], return_index=True)
    if len(time) < _FEWEST:
        return
    odometry = odometry[usable][first]
    if pressure is not None:
        _check_pressure(time, odometry[:, 2], *pressure)
    height = float(np.median(odometry[:, 2]))
    if height > _IN_AIR:
        raise ParameterError(
            f'odom is {height:.3g} m above the surface in half of the run, where a vehicle would '
            f'fall; its z is likely depth (NED), or not from the surface: {_EXPECTED}'
        )
    _check_twist(time, odometry)


def _check_pressure(
    time: np.ndarray, height: np.ndarray, at: np.ndarray, pressure: np.ndarray
) -> None:
    """Raise where the pressure rises with z, as fast as it does with depth."""
    good = np.isfinite(at) & np.isfinite(pressure)
    if good.sum() < _FEWEST or np.ptp(height) < 0.2:
        return
    at, order = np.unique(at[good], return_index=True)
    told = np.interp(time, at, pressure[good][order])
    slope, _ = np.polyfit(height - height.mean(), told - told.mean(), 1)
    if 0.7 < slope / _PRESSURE_SLOPE < 1.4:
        raise ParameterError(
            f'odom rises where the pressure does, by {slope / 1e3:.3g} kPa/m; its z is likely '
            f'depth (NED): {_EXPECTED}'
        )


def _check_twist(time: np.ndarray, odometry: np.ndarray) -> None:
    """Raise where the displacement is the integral of the twist in other axes only."""
    velocity, turn = odometry[:, 7:10], np.asarray(rotation_matrix(odometry[:, 3:7]))

    def in_map(body: np.ndarray) -> np.ndarray:
        return np.asarray((turn @ body[..., None])[..., 0])

    def exchanged(vector: np.ndarray) -> np.ndarray:
        """Return NED components as ENU, or the reverse."""
        return vector[:, [1, 0, 2]] * np.array([1.0, 1.0, -1.0])

    flipped = velocity * _FLIP
    mixed = 'its position and its attitude are likely in different frames, one NED and one ENU'
    others = {
        "its twist is likely in map's axes": velocity,
        'its twist is likely in FRD body axes (z down)': in_map(flipped),
        mixed: exchanged(in_map(velocity)),
        f'{mixed}, its twist in others again': exchanged(in_map(flipped)),
    }
    lag = max(1, round(_SPAN / float(np.median(np.diff(time)))))
    if len(time) <= lag:
        return
    moved = odometry[lag:, :3] - odometry[:-lag, :3]
    total = float(np.sum(moved**2))
    if total < _MOVED**2:
        return

    def left(rate: np.ndarray) -> float:
        steps = 0.5 * (rate[1:] + rate[:-1]) * np.diff(time)[:, None]
        path = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
        return float(np.sum((moved - (path[lag:] - path[:-lag])) ** 2)) / total

    own = left(in_map(velocity))
    if own < _WRONG:
        return
    found = {said: left(rate) for said, rate in others.items()}
    likely = min(found, key=lambda said: found[said])
    if found[likely] < _RIGHT:
        raise ParameterError(
            f'odom: its twist leaves {100 * min(own, 9.99):.0f} % of its squared displacement '
            f'unexplained; {likely}: {_EXPECTED}'
        )
