# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Set-point response of a closed loop: steady-state error, overshoot, settling time.

Definitions (Ogata, Modern Control Engineering, 5th ed., section 5-3), per axis, with the error
e = value − set-point, angles the shortest way round:

- *Start*: when the set-point took the value that it keeps to the end of the run.
- *Step*: set-point − value at the start. An axis whose step is smaller than its kind's smallest
  step (0.05 m, 1°, 0.02 m/s, 1°/s) has none: it holds.
- *Steady-state error*: the mean of |e| over the last ``window`` seconds; its maximum, and the
  mean of e with its sign (bias), are given beside it.
- *Overshoot*: the furthest the value went beyond the set-point in the direction of the step, 0
  when it never did; in per cent of the step.
- *Settling time*: from the start until |e| is within the band for the rest of the run. The band
  is 2 % of the step around the set-point, not around the final value, so that a loop that settles
  beside its set-point has not settled; without a step it is the smallest step of the kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.numerics import check_rows, check_time
from marine_sim_ros.core.spatial import wrap_angle

__all__ = ['compute_step_response']

_DEGREE = math.pi / 180
_GROUPS = ((0, 'm', 1.0), (3, 'deg', _DEGREE), (6, 'm_s', 1.0), (9, 'deg_s', _DEGREE))
_MIN_STEPS = np.repeat([0.05, _DEGREE, 0.02, _DEGREE], 3)
SETTLING_BAND = 0.02
"""Half the width of the band, as a fraction of the step."""


@dataclass(frozen=True)
class AxisResponse:
    """StepResponse of one axis, in the unit of its group (m, deg, m/s, deg/s) and s.

    Attributes:
        target: set-point at the end of the run.
        start: time at which it took that value.
        step: set-point − value at the start; None: it holds.
        steady_mean: mean of |e| in the window; None: held for less than the window.
        steady_max: maximum of |e| in the window.
        bias: mean of e in the window.
        overshoot: overshoot beyond the set-point; None without a step.
        overshoot_percent: overshoot in % of the step.
        settling_band: half its width.
        settling_time: settling time from the start; None: not settled when the run ended.
    """

    target: float
    start: float
    step: float | None
    steady_mean: float | None
    steady_max: float | None
    bias: float | None
    overshoot: float | None
    overshoot_percent: float | None
    settling_band: float
    settling_time: float | None


@dataclass(frozen=True)
class StepResponse:
    """StepResponse of a run to its set-points.

    Attributes:
        duration: duration of the run, s.
        window: over which the steady state is taken, s.
        axes: response by axis of SETPOINT_QUANTITIES; None: free at the end of the run.
        horizontal: mean and maximum in the window of the distance to (x, y) of the set-point, m;
            None unless both are held.
        uncontrollable: axes the thrusters cannot command.
    """

    duration: float
    window: float
    axes: dict[str, AxisResponse | None]
    horizontal: tuple[float, float] | None
    uncontrollable: tuple[str, ...]

    @property
    def largest_step_axis(self) -> str | None:
        """The axis of position or attitude with the largest step, in smallest steps; or None."""
        sizes = {}
        for i, name in enumerate(SETPOINT_QUANTITIES[:6]):
            axis = self.axes[name]
            if axis is not None and axis.step is not None:
                sizes[name] = abs(axis.step) / (_MIN_STEPS[i] / _GROUPS[i // 3][2])
        return max(sizes, key=lambda name: sizes[name]) if sizes else None

    @property
    def settling_time(self) -> float | None:
        """Settling time of the largest step, s; without one, of the slowest position or attitude.

        Axes that the thrusters cannot command are left out.
        """
        if self.largest_step_axis is not None:
            return self.axes[self.largest_step_axis].settling_time  # type: ignore[union-attr]
        commandable = [name for name in SETPOINT_QUANTITIES[:6] if name not in self.uncontrollable]
        responses = [a for a in map(self.axes.get, commandable) if a is not None]
        times = [a.settling_time for a in responses if a.settling_time is not None]
        return max(times) if responses and len(times) == len(responses) else None

    def to_dict(self) -> dict[str, Any]:
        """Return the entries of metrics.json; None where an axis is free or a value unknown."""
        result: dict[str, Any] = {
            'duration_s': self.duration,
            'steady_state_window_s': self.window,
        }
        for first, unit, _ in _GROUPS:
            names = SETPOINT_QUANTITIES[first : first + 3]
            for key, value in (('', 'steady_mean'), ('_max', 'steady_max')):
                result[f'steady_state_error{key}_{unit}'] = {
                    n: getattr(self.axes[n], value, None) for n in names
                }
        mean, largest = self.horizontal or (None, None)
        result['horizontal_error_m'] = {'mean': mean, 'max': largest}
        step = self.axes[self.largest_step_axis] if self.largest_step_axis else None
        linear = self.largest_step_axis in SETPOINT_QUANTITIES[:3]
        result |= {
            'step_axis': self.largest_step_axis,
            'overshoot_percent': step and step.overshoot_percent,
            'overshoot_m': step.overshoot if step and linear else None,
            'overshoot_deg': step.overshoot if step and not linear else None,
            'settling_time_s': self.settling_time,
            'uncontrollable': list(self.uncontrollable),
            'axes': {n: None if a is None else asdict(a) for n, a in self.axes.items()},
        }
        return result


def compute_step_response(
    time: np.ndarray,
    position: np.ndarray,
    rpy: np.ndarray,
    targets: np.ndarray,
    *,
    velocity: np.ndarray | None = None,
    window: float = 5.0,
    uncontrollable: Sequence[str] = (),
) -> StepResponse:
    """Return steady-state error, overshoot and settling time of a run by its set-points.

    The definitions are at the top of this module. Angles turn by less than half a turn between
    two samples.

    Args:
        time: (n,) s.
        position: (n, 3) m, map.
        rpy: (n, 3) roll, pitch, yaw, rad; wrapped or not.
        targets: (n, 12) set-points in the order of SETPOINT_QUANTITIES; NaN: free.
        velocity: (n, 6) as in SETPOINT_QUANTITIES (level frame, m/s; body frame, rad/s);
            without it these axes are taken as free.
        window: over which the steady state is taken, s.
        uncontrollable: axes the thrusters cannot command, as they are to be reported.

    Raises:
        ParameterError: wrong shapes, numbers that are not finite, times that do not rise, or a
            run shorter than the window.
    """
    if not window > 0:
        raise ParameterError(f'window is {window} s; expected more than 0')
    t = check_time(time, min_duration=window)
    n = len(t)
    setpoints = check_rows('targets', targets, n, 12, holes=True).copy()
    if velocity is None:
        velocity = np.zeros((n, 6))
        setpoints[:, 6:] = np.nan
    values = np.concatenate(
        [
            check_rows('position', position, n, 3),
            check_rows('rpy', rpy, n, 3),
            check_rows('velocity', velocity, n, 6),
        ],
        axis=1,
    )
    axes = {
        name: _axis(t, values[:, i], setpoints[:, i], i, window)
        for i, name in enumerate(SETPOINT_QUANTITIES)
    }
    x, y = axes['x'], axes['y']
    horizontal = None
    if x is not None and y is not None and x.steady_mean is not None and y.steady_mean is not None:
        in_window = _window_mask(t, window)
        distance = np.linalg.norm(position[in_window, :2] - setpoints[in_window, :2], axis=1)
        horizontal = float(distance.mean()), float(distance.max())
    return StepResponse(float(t[-1] - t[0]), window, axes, horizontal, tuple(uncontrollable))


def _window_mask(time: np.ndarray, window: float) -> np.ndarray:
    return time >= time[-1] - window - 1e-9


def _axis(
    time: np.ndarray, value: np.ndarray, target: np.ndarray, index: int, window: float
) -> AxisResponse | None:
    goal = target[-1]
    if np.isnan(goal):
        return None
    angular, unit = 3 <= index < 6, _GROUPS[index // 3][2]
    difference = target - goal
    if angular:
        difference = wrap_angle(difference)
    different = np.flatnonzero(~(np.abs(difference) <= 1e-9))  # NaN counts as another set-point
    start = int(different[-1]) + 1 if len(different) else 0
    t = time[start:] - time[start]
    error = _unwrap_angles(value[start:] - goal) if angular else value[start:] - goal
    shortest = wrap_angle(error) if angular else error
    step = -float(error[0])
    has_step = abs(step) > _MIN_STEPS[index]
    band = SETTLING_BAND * abs(step) if has_step else float(_MIN_STEPS[index])
    overshoot = max(0.0, float(np.max(math.copysign(1.0, step) * error))) if has_step else None
    mean = largest = bias = None
    if t[-1] >= window * (1 - 1e-9):
        window_error = shortest[_window_mask(t, window)]
        mean, largest = (
            float(np.abs(window_error).mean()) / unit,
            float(np.abs(window_error).max()) / unit,
        )
        bias = float(window_error.mean()) / unit
    return AxisResponse(
        target=float(goal) / unit,
        start=float(time[start]),
        step=step / unit if has_step else None,
        steady_mean=mean,
        steady_max=largest,
        bias=bias,
        overshoot=None if overshoot is None else overshoot / unit,
        overshoot_percent=None if overshoot is None else 100 * overshoot / abs(step),
        settling_band=band / unit,
        settling_time=_settling_time(t, shortest, band),
    )


def _unwrap_angles(error: np.ndarray) -> np.ndarray:
    """Return angular errors (n,) without jumps, starting with the shortest rotation.

    If a vehicle turned the long way round, its step was in that direction.
    """
    unwrapped = np.unwrap(error)
    unwrapped = unwrapped + (wrap_angle(unwrapped[:1]) - unwrapped[0])
    revolutions = round(float(unwrapped[-1]) / (2 * np.pi))
    return unwrapped - 2 * np.pi * revolutions if revolutions * unwrapped[0] > 0 else unwrapped


def _settling_time(time: np.ndarray, error: np.ndarray, band: float) -> float | None:
    outside = np.flatnonzero(np.abs(error) > band)
    if not len(outside):
        return 0.0
    return float(time[outside[-1] + 1]) if outside[-1] + 1 < len(time) else None
