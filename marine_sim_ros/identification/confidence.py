# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How well a fit knows its parameters, and which it does not know at all."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.identification.parameters import ParameterSet

__all__ = ['DOUBTFUL', 'NORMAL_95', 'covariance', 'reasons']

NORMAL_95 = 1.96
"""Standard deviations to either side that hold 95 % of a normal distribution."""
WIDEST = 0.25
"""Half an interval over what the parameter is compared with, beyond which it is not observable."""
DOUBTFUL = 0.7
"""Of the variance of a motion; what is explained less casts doubt on what was found."""
_STILL = 3.0
"""How far an axis's motion must stand out of the noise not to count as one that hardly moved."""
_BLOCK = 20
"""Samples over which noise is averaged out to see that."""
_ALIKE = 0.9
"""Correlation of two estimates above which they count as indistinguishable."""


def covariance(
    jacobian: np.ndarray,
    residuals: np.ndarray,
    stretches: int,
    prior: np.ndarray,
    channels: int = 6,
    basis: np.ndarray | None = None,
) -> np.ndarray:
    """Return the covariance (k, k) of a fit whose residuals may be coloured.

    (JᵀJ + P)⁻¹ [Σ_ij J_iᵀ R(i − j) J_j + P] (JᵀJ + P)⁻¹ with the autocorrelation R of each axis's
    residuals within stretches, tapered to zero over half of one (Bartlett), so that an
    error that lasts is not counted as many that agree. Source: Morelli & Klein (1997), "Accuracy
    of aerodynamic model parameters estimated from flight test data", eq. 15. Where the stretches
    contradict each other by more than that, as they do when the model lacks what moved the
    vehicle, the variances are those of Σ_s g_s g_sᵀ s/(s − 1), g_s = J_sᵀ e_s, in place of the
    bracket's sum, with the correlations of before. Source: Liang & Zeger (1986), "Longitudinal
    data analysis using generalized linear models", eq. 8.

    Args:
        jacobian: J (s · l · c, k) of weighted residuals.
        residuals: (s · l · c,), weighted.
        stretches: s.
        prior: P (k,), weights of what was known before.
        channels: c, numbers that are compared at each time.
        basis: Q (s, l · c, r), orthonormal in each stretch, of what was eliminated from J and
            residuals. White noise then leaves −σ² (Q Qᵀ) in R, which is given back: J, being
            across it, does not see it, but its mean along a stretch made intervals too narrow.
    """
    count = jacobian.shape[1]
    slopes = jacobian.reshape(stretches, -1, channels, count)
    errors = residuals.reshape(stretches, -1, channels)
    length = slopes.shape[1]
    inverse = np.linalg.inv(jacobian.T @ jacobian + np.diag(prior))
    middle = np.diag(prior).astype(float)
    last = max(1, length // 2)
    taken = None if basis is None else basis.reshape(stretches, length, channels, -1)
    for lag in range(last):
        taper = 1 - lag / last
        share = np.sum(errors[:, lag:] * errors[:, : length - lag], axis=(0, 1))
        if taken is not None:
            lost = np.sum(taken[:, lag:] * taken[:, : length - lag], axis=(0, 1, 3))
            if lag == 0:
                white = share / (stretches * length - lost)
            share = share + white * lost
        share = taper * share / (stretches * length)
        later, earlier = slopes[:, lag:], slopes[:, : length - lag]
        part = (later * share[:, None]).reshape(-1, count).T @ earlier.reshape(-1, count)
        middle += part if lag == 0 else part + part.T
    found = inverse @ middle @ inverse
    each = np.einsum('slck,slc->sk', slopes, errors)
    between = each.T @ each * (stretches / max(1, stretches - 1)) + np.diag(prior)
    ratio = np.diag(inverse @ between @ inverse) / np.diag(found)
    wider = np.sqrt(np.maximum(ratio, 1.0))
    return np.asarray(found * np.outer(wider, wider))


def comparable(
    parameters: ParameterSet, theta: np.ndarray, speed: np.ndarray, kept: np.ndarray
) -> np.ndarray:
    """Return what each interval is held against (k,): what would make a difference.

    An added mass beside the rigid body's, a coefficient of drag beside what all drag of its axis
    is at the run's typical speed u (6,), kept drag included, the volume beside a hundredth of
    itself; each value beside itself where that is more.
    """
    u = np.maximum(speed, 1e-9)
    linear, quadratic = theta[6:12], theta[12:18]
    drag = linear + quadratic * u + parameters.kept_damping(u) + kept
    own = np.diag(parameters.vehicle.rigid_body_mass)
    rest = [theta[18]] * parameters.lag
    rest += [0.01 * parameters.vehicle.buoyancy.volume] * parameters.volume
    result = np.concatenate([own, drag, drag / u, rest])
    return np.where(np.arange(len(theta)) < 18, np.maximum(result, theta), result)


def reasons(
    parameters: ParameterSet,
    theta: np.ndarray,
    found: np.ndarray,
    measured: np.ndarray,
    noise: np.ndarray,
    explained: np.ndarray,
    kept: np.ndarray,
) -> list[str]:
    """Return why each parameter is not observable in the run; empty where it is.

    An axis that moves no more than its noise carries no information, whatever the fit gives.

    Args:
        parameters: k of them.
        theta: (k,) their values.
        found: (k, k) their covariance.
        measured: (s, l, 6) velocity.
        noise: (6,) its noise.
        explained: (6,) share of the motion within stretches that the fit explains, or NaN.
        kept: (6,) damping of the kept forces, N·s/m and N·m·s.
    """
    speed = np.sqrt(np.mean(measured**2, axis=(0, 1)))
    deviation = np.sqrt(np.diag(found))
    wide = NORMAL_95 * deviation > WIDEST * comparable(parameters, theta, speed, kept)
    alike = np.abs(found) / np.outer(deviation, deviation) - 2 * np.eye(len(theta))
    still = _still(measured, noise)
    result = []
    for i, parameter in enumerate(parameters.parameters):
        text, axis = '', i % 6
        other = int(np.argmax(alike[i]))
        if parameter.axis and still[axis]:
            unit = 'm/s' if axis < 3 else 'rad/s'
            text = f'{parameter.axis} hardly moves ({speed[axis]:.2g} {unit} rms, noise included)'
        elif parameter.axis and explained[axis] < DOUBTFUL:
            share = max(0.0, 100 * float(explained[axis]))
            text = f'the model explains {share:.0f} % of how {parameter.axis} changes'
        elif wide[i] and alike[i, other] > _ALIKE:
            text = f'cannot be distinguished from {parameters.parameters[other].name}'
        elif wide[i]:
            text = 'too little excitation'
        result.append(text)
    return result


def _still(measured: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return which axes (6,) show no more motion in means over blocks than noise would."""
    size = min(_BLOCK, measured.shape[1])
    whole = measured.shape[1] // size * size
    blocks = measured[:, :whole].reshape(len(measured), -1, size, 6).mean(axis=2)
    return np.asarray(np.sqrt(np.mean(blocks**2, axis=(0, 1))) < _STILL * noise / np.sqrt(size))
