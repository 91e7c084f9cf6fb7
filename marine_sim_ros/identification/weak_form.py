# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A first guess: the equations of motion, linear in their coefficients, in their weak form.

Multiplied by a bell φ(t) that is zero at both ends of a window and integrated by parts,
M ν̇ becomes −∫ φ̇ M ν dt: noise is never differentiated (Shinbrot 1957, "On the analysis of linear
and nonlinear systems", the method of modulating functions).
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import momentum_rate
from marine_sim_ros.identification.parameters import ParameterSet
from marine_sim_ros.identification.samples import Samples

__all__ = ['first_guess']

_HALF = 0.25
"""Of a window, s."""
_LAGS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.25, 0.4, 0.7)
"""Time constants to try, s."""
_RIDGE = 1e-4
"""Keeps at 0 what the run does not show; small against whatever it shows."""


class _Windows:
    """Bells over a run, half a window apart; those with holes in them are left out."""

    def __init__(self, samples: Samples) -> None:
        self._half = max(4, round(_HALF / samples.step))
        x = np.arange(-self._half, self._half + 1) / self._half
        self._bell = (1 - x**2) ** 2
        area = float(self._bell.sum())
        self._bell /= area
        self._slope = -4 * x * (1 - x**2) / (self._half * samples.step * area)
        self._convolve = require('scipy.signal', 'identify').fftconvolve
        holes = self._convolve((~samples.known).astype(float), np.ones(len(x)), mode='valid')
        self._used = np.flatnonzero(holes < 0.5)[:: max(1, self._half // 2)]

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Return ∫ φ x dt (w, ...) of values (n, ...)."""
        return self._with(values, self._bell)

    def rate(self, values: np.ndarray) -> np.ndarray:
        """Return ∫ φ ẋ dt (w, ...), as −∫ φ̇ x dt."""
        return -self._with(values, self._slope)

    def _with(self, values: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        shape = (len(kernel),) + (1,) * (values.ndim - 1)
        # A convolution turns its kernel round.
        folded = self._convolve(values, kernel[::-1].reshape(shape), mode='valid', axes=0)
        return np.asarray(folded[self._used])


def first_guess(parameters: ParameterSet, samples: Samples) -> np.ndarray:
    """Return θ (k,) that fits the weak equations best, with the best of a few time constants."""
    windows = _Windows(samples)
    # The noise of a window's momentum: axes weigh as much as is known of them.
    scale = np.diag(parameters.vehicle.rigid_body_mass) * samples.noise
    linear = [i for i, p in enumerate(parameters.parameters) if p.kind != 'time_constant']
    size = parameters.size[linear]
    centre = np.where(np.arange(len(parameters)) < 18, 0.0, parameters.described)[linear]
    columns = _columns(parameters, samples, windows) / scale[:, None]
    matrix = columns.reshape(-1, len(linear)) * size
    ridge = _RIDGE * np.sqrt(len(matrix)) * np.eye(len(linear))
    bounds = [(b[linear] - centre) / size for b in (parameters.low, parameters.high)]
    own = _own(parameters, samples, windows)
    best, result = np.inf, parameters.described.copy()
    for lag in _LAGS if parameters.lag else (None,):
        wrench = samples.commands.wrenches(samples.start, samples.step, len(samples), lag)
        left = (windows.mean(wrench[::2]) - own) / scale
        found = require('scipy.optimize', 'identify').lsq_linear(
            np.concatenate([matrix, ridge]),
            np.concatenate([left.ravel(), np.zeros(len(linear))]),
            bounds=bounds,
        )
        if found.cost < best:
            best = found.cost
            result[linear] = centre + found.x * size
            if lag is not None:
                result[18] = lag
    return result


def _own(parameters: ParameterSet, samples: Samples, windows: _Windows) -> np.ndarray:
    """Return the weak M_0 ν̇ + C_0 ν − g (w, 6) of all that is not fitted."""
    nu = samples.velocity
    zero = np.zeros(len(parameters))
    momentum = nu @ parameters.mass(zero).T
    speed = nu @ parameters.vehicle.damping.lever_arm.T
    drag = speed @ parameters.linear(zero).T
    drag = drag + (np.abs(speed) * speed) @ parameters.quadratic(zero).T
    drag = drag + parameters.kept_drag(speed)
    rest = (
        momentum_rate(nu, momentum)
        + drag @ parameters.vehicle.damping.lever_arm
        - samples.restoring
        - samples.kept.wrench
    )
    return windows.rate(momentum) + windows.mean(rest)


def _columns(parameters: ParameterSet, samples: Samples, windows: _Windows) -> np.ndarray:
    """Return (w, 6, k) weak wrench per unit of each parameter but the time constant."""
    nu = samples.velocity
    arm = parameters.vehicle.damping.lever_arm
    speed = nu @ arm.T
    columns = []
    for i in range(6):
        momentum = nu * (np.arange(6) == i)
        columns.append(windows.rate(momentum) + windows.mean(momentum_rate(nu, momentum)))
    for values in (speed, np.abs(speed) * speed):
        columns += [windows.mean(values[:, i, None] * arm[i]) for i in range(6)]
    if parameters.volume:
        columns.append(-windows.mean(samples.lift))
    return np.stack(columns, axis=-1)
