# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fitted parameters of the velocity fit: names, units, bounds and confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.schema import replace_number
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.model.added_mass import added_mass_bounds
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.drag import coupled_drag

__all__ = [
    'COEFFICIENTS',
    'DELAY',
    'DOUBTFUL',
    'FITS',
    'FitParameter',
    'HydrodynamicParameter',
    'NORMAL_95',
    'OF_RECORDINGS',
    'ORIGIN',
    'PARAMETER_KINDS',
    'ParameterSet',
    'covariance',
    'required_text',
    'unobservable_reasons',
    'with_values',
]


# Fitted parameters: names, units, bounds, and the matrices that they form.

PARAMETER_KINDS = ('added_mass', 'linear_damping', 'quadratic_damping')
"""Those with a value for each axis, called as in <hydrodynamics>."""
COEFFICIENTS = len(PARAMETER_KINDS) * len(BODY_AXES)
"""Number of those, which a vector of parameters begins with; the time constant may follow."""
_UNITS = {
    'added_mass': ('kg', 'kg·m²'),
    'linear_damping': ('N·s/m', 'N·m·s'),
    'quadratic_damping': ('N·s²/m²', 'N·m·s²'),
}
_SLOWEST = 5.0
"""Of rotors, s."""
_TRIM = 0.2
"""Bound of the volume's change, as a fraction of the description's volume."""


@dataclass(frozen=True)
class HydrodynamicParameter:
    """One number to be fitted.

    Attributes:
        kind: element of the URDF that holds it.
        axis: one of ``AXES``; empty where it has none.
        unit: SI.
        low: least value that is possible.
        high: largest.
        described: value in the description.
    """

    kind: str
    axis: str
    unit: str
    low: float
    high: float
    described: float

    @property
    def name(self) -> str:
        """As a person would call it."""
        return f'{self.kind} {self.axis}'.strip()


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """Fitted parameters of a vehicle; all others keep the description's values.

    A vector θ (k,) has the diagonals of added mass, linear and quadratic damping, then the
    rotors' common time constant and the displaced volume where those are fitted.

    Attributes:
        vehicle: gives rigid-body mass, thrusters, centres, and all that is not on a diagonal.
        lag: whether the time constant is fitted.
        volume: whether the volume is.
    """

    vehicle: Vehicle
    lag: bool
    volume: bool

    @cached_property
    def parameters(self) -> tuple[HydrodynamicParameter, ...]:
        """All of them, in the order of θ."""
        vehicle = self.vehicle
        matrices = (vehicle.added_mass, vehicle.damping.linear, vehicle.damping.quadratic)
        result = [
            HydrodynamicParameter(
                kind, axis, _UNITS[kind][i > 2], 0.0, np.inf, float(matrix[i, i])
            )
            for kind, matrix in zip(PARAMETER_KINDS, matrices, strict=True)
            for i, axis in enumerate(BODY_AXES)
        ]
        if self.lag:
            mean = float(np.mean(vehicle.thrusters.time_constant))
            result.append(HydrodynamicParameter('time_constant', '', 's', 0.0, _SLOWEST, mean))
        if self.volume:
            v = vehicle.buoyancy.volume
            result.append(
                HydrodynamicParameter('volume', '', 'm³', (1 - _TRIM) * v, (1 + _TRIM) * v, v)
            )
        return tuple(result)

    @cached_property
    def added_mass_bounds(self) -> np.ndarray:
        """(6,) most that a body of the size of the collisions can have; inf without collisions."""
        points = self.vehicle.contact
        if not len(points):
            return np.full(6, np.inf)
        reach = points.radius[:, None]
        low = np.min(points.position - reach, axis=0)
        high = np.max(points.position + reach, axis=0)
        return added_mass_bounds(low, high, float(self.vehicle.buoyancy.fluid_density))

    def __len__(self) -> int:
        """Return k."""
        return len(self.parameters)

    @cached_property
    def low(self) -> np.ndarray:
        """(k,) lower bounds."""
        return np.array([p.low for p in self.parameters])

    @cached_property
    def high(self) -> np.ndarray:
        """(k,) upper bounds."""
        return np.array([p.high for p in self.parameters])

    @cached_property
    def described(self) -> np.ndarray:
        """(k,) values of the description."""
        return np.array([p.described for p in self.parameters])

    @cached_property
    def prior_values(self) -> np.ndarray:
        """(k,) values before anything is known: coefficients 0, lag and volume as described."""
        return np.where(np.arange(len(self)) < COEFFICIENTS, 0.0, self.described)

    @cached_property
    def size(self) -> np.ndarray:
        """(k,) what each is small or large against before anything is known of it.

        The rigid body's own inertia M_ii; what brakes it within a second, M_ii/s, and within a
        metre or a radian; a second; the volume.
        """
        inertias = np.diag(self.vehicle.rigid_body_mass)
        other_sizes = [1.0] * self.lag + [self.vehicle.buoyancy.volume] * self.volume
        return np.concatenate([inertias, inertias, inertias, other_sizes])

    def mass(self, theta: np.ndarray) -> np.ndarray:
        """Return M_RB + M_A (..., 6, 6) of θ (..., k)."""
        described = self.vehicle.added_mass
        return self.vehicle.rigid_body_mass + _with_diagonal(described, theta[..., :6])

    def linear(self, theta: np.ndarray) -> np.ndarray:
        """Return D_l (..., 6, 6) of θ (..., k)."""
        return _with_diagonal(self.vehicle.damping.linear, theta[..., 6:12])

    def quadratic(self, theta: np.ndarray) -> np.ndarray:
        """Return D_q (..., 6, 6) of θ (..., k)."""
        return _with_diagonal(self.vehicle.damping.quadratic, theta[..., 12:18])

    def kept_drag(self, velocity: np.ndarray) -> np.ndarray:
        """Return the wrench (..., 6) of modulus damping, drag elements and lift at a velocity."""
        return np.asarray(coupled_drag(self.vehicle.damping, velocity))

    def kept_damping(self, speed: np.ndarray) -> np.ndarray:
        """Return their drag over the speed (..., 6) of each axis alone, N·s/m and N·m·s."""
        none = np.zeros((6, 6))
        damping = replace(self.vehicle.damping, linear=none, quadratic=none)
        linear, quadratic = damping.by_axis
        return linear + quadratic * np.abs(speed)

    def time_constant(self, theta: np.ndarray) -> float | None:
        """Return the rotors' common time constant, s; None where it is not fitted."""
        return float(theta[COEFFICIENTS]) if self.lag else None

    def extra_volume(self, theta: np.ndarray) -> np.ndarray:
        """Return the volume (...) beyond the described one of θ (..., k), m³."""
        if not self.volume:
            return np.zeros(theta.shape[:-1])
        return np.asarray(theta[..., -1] - self.vehicle.buoyancy.volume)


def _with_diagonal(matrix: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    off_diagonal = matrix - np.diag(np.diag(matrix))
    return off_diagonal + diagonal[..., None, :] * np.eye(6)


# Confidence of fitted parameters, and parameters that are not observable.

NORMAL_95 = 1.96
"""Standard deviations to either side that hold 95 % of a normal distribution."""
MAX_INTERVAL_RATIO = 0.25
"""Half an interval over what the parameter is compared with, beyond which it is not observable."""
DOUBTFUL = 0.7
"""Of the variance of a motion; what is explained less casts doubt on what was found."""
_MIN_SIGNAL_TO_NOISE = 3.0
"""Minimum ratio of an axis's motion to the noise; below it the axis counts as unmoved."""
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
        autocovariance = np.sum(errors[:, lag:] * errors[:, : length - lag], axis=(0, 1))
        if taken is not None:
            leverage = np.sum(taken[:, lag:] * taken[:, : length - lag], axis=(0, 1, 3))
            if lag == 0:
                white = autocovariance / (stretches * length - leverage)
            autocovariance = autocovariance + white * leverage
        autocovariance = taper * autocovariance / (stretches * length)
        later, earlier = slopes[:, lag:], slopes[:, : length - lag]
        part = (later * autocovariance[:, None]).reshape(-1, count).T @ earlier.reshape(-1, count)
        middle += part if lag == 0 else part + part.T
    result = inverse @ middle @ inverse
    each = np.einsum('slck,slc->sk', slopes, errors)
    between = each.T @ each * (stretches / max(1, stretches - 1)) + np.diag(prior)
    ratio = np.diag(inverse @ between @ inverse) / np.diag(result)
    wider = np.sqrt(np.maximum(ratio, 1.0))
    return np.asarray(result * np.outer(wider, wider))


def interval_scales(
    parameters: ParameterSet, theta: np.ndarray, speed: np.ndarray, kept: np.ndarray
) -> np.ndarray:
    """Return the scale (k,) that each interval is compared with: a significant change.

    An added mass beside the rigid body's, a coefficient of drag beside what all drag of its axis
    is at the run's typical speed u (6,), kept drag included, the volume beside a hundredth of
    itself; each value beside itself where that is more.
    """
    u = np.maximum(speed, 1e-9)
    linear, quadratic = theta[6:12], theta[12:18]
    drag = linear + quadratic * u + parameters.kept_damping(u) + kept
    inertias = np.diag(parameters.vehicle.rigid_body_mass)
    other_scales = [theta[COEFFICIENTS]] if parameters.lag else []
    other_scales += [0.01 * parameters.vehicle.buoyancy.volume] * parameters.volume
    result = np.concatenate([inertias, drag, drag / u, other_scales])
    return np.where(np.arange(len(theta)) < COEFFICIENTS, np.maximum(result, theta), result)


def unobservable_reasons(
    parameters: ParameterSet,
    theta: np.ndarray,
    found: np.ndarray,
    measured: np.ndarray,
    noise: np.ndarray,
    explained: np.ndarray,
    kept: np.ndarray,
) -> list[str]:
    """Return the reason why each parameter is not observable; empty where it is.

    An axis that moves no more than its noise carries no information, whatever the fit gives, and
    no body has more added mass than :func:`~marine_sim_ros.model.added_mass.added_mass_bounds`.

    Args:
        parameters: k of them.
        theta: (k,) their values.
        found: (k, k) their covariance.
        measured: (s, l, 6) velocity; NaN in stretches without one of an axis.
        noise: (6,) its noise.
        explained: (6,) share of the motion within stretches that the fit explains, or NaN.
        kept: (6,) damping of the kept forces, N·s/m and N·m·s.
    """
    speed = _rms(measured)
    deviation = np.sqrt(np.diag(found))
    wide = NORMAL_95 * deviation > MAX_INTERVAL_RATIO * interval_scales(
        parameters, theta, speed, kept
    )
    correlation = np.abs(found) / np.outer(deviation, deviation) - 2 * np.eye(len(theta))
    is_still = _still_axes(measured, noise)
    result = []
    for i, parameter in enumerate(parameters.parameters):
        text, axis = '', i % 6
        other = int(np.argmax(correlation[i]))
        if parameter.kind == 'added_mass' and theta[i] > parameters.added_mass_bounds[axis]:
            most = parameters.added_mass_bounds[axis]
            text = f'impossible: {theta[i]:.3g} {parameter.unit}, and a body of this size has at '
            text += f'most {most:.3g}; accelerate and brake in {parameter.axis}'
        elif parameter.axis and is_still[axis]:
            unit = 'm/s' if axis < 3 else 'rad/s'
            text = f'{parameter.axis} hardly moves ({speed[axis]:.2g} {unit} rms, noise included)'
        elif parameter.axis and explained[axis] < DOUBTFUL:
            percentage = max(0.0, 100 * float(explained[axis]))
            text = f'the model explains {percentage:.0f} % of how {parameter.axis} changes'
        elif wide[i] and correlation[i, other] > _ALIKE:
            text = f'cannot be distinguished from {parameters.parameters[other].name}'
        elif wide[i]:
            text = 'too little excitation'
        result.append(text)
    return result


def _still_axes(measured: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return a mask (6,) of axes whose block means vary no more than noise."""
    size = min(_BLOCK, measured.shape[1])
    used = measured.shape[1] // size * size
    blocks = measured[:, :used].reshape(len(measured), -1, size, 6).mean(axis=2)
    return np.asarray(_rms(blocks) < _MIN_SIGNAL_TO_NOISE * noise / np.sqrt(size))


def _rms(values: np.ndarray) -> np.ndarray:
    """Return root mean squares (6,) of the known ones of values (s, l, 6), or 0."""
    finite = np.isfinite(values)
    count = np.maximum(finite.sum(axis=(0, 1)), 1)
    return np.asarray(np.sqrt((np.where(finite, values, 0.0) ** 2).sum(axis=(0, 1)) / count))


DELAY = 'delay'
"""Path of what belongs to the recordings: seconds by which their commands come late."""
ORIGIN = ('origin[0]', 'origin[1]', 'origin[2]')
"""Paths of what belongs to the recordings, too: where the tracked point is in the body, m."""
OF_RECORDINGS = (DELAY, *ORIGIN)
"""Paths that are of no vehicle."""
_KEYS = {'name', 'path', 'unit', 'prior', 'deviation', 'limits'}


@dataclass(frozen=True)
class FitParameter:
    """One number to be fitted, with a normal prior.

    Attributes:
        name: display name.
        paths: attributes of the vehicle that have this value, such as ``added_mass[0,0]`` or
            ``thrusters.thrust_deduction[0:4]``; or ``delay``, ``origin[0]``.
        unit: SI.
        prior: most likely value beforehand.
        deviation: its standard deviation.
        low: least value.
        high: largest.
    """

    name: str
    paths: tuple[str, ...]
    unit: str
    prior: float
    deviation: float
    low: float
    high: float


def _parameters(root: YamlReader) -> tuple[FitParameter, ...]:
    """Return the parameters of a file."""
    root.mapping({'parameters'}, {'parameters'})
    parameters = tuple(_parameter(item) for item in root.child('parameters').items())
    names = [p.name for p in parameters]
    for each in names:
        if names.count(each) > 1:
            raise root.error(f': two parameters are named {each!r}; expected one')
    return parameters


def required_text(reader: YamlReader) -> str:
    """Return a value that must be a text."""
    if not isinstance(reader.value, str) or not reader.value.strip():
        raise reader.error(f' is {reader.value!r}; expected a text')
    return reader.value


def _parameter(item: YamlReader) -> FitParameter:
    fields = item.mapping(_KEYS, {'name', 'path', 'prior', 'deviation'})
    path = item.child('path')
    paths = (
        (path.value,)
        if isinstance(path.value, str)
        else tuple(required_text(each) for each in path.items())
    )
    low, high = -np.inf, np.inf
    if 'limits' in fields:
        limits = [each.number() for each in item.child('limits').items()]
        if len(limits) != 2 or limits[0] >= limits[1]:
            raise item.child('limits').error(f' is {limits}; expected [lowest, highest]')
        low, high = limits
    prior = item.child('prior').number()
    if not low <= prior <= high:
        raise item.child('prior').error(f' is {prior:g}; expected a number within its limits')
    return FitParameter(
        required_text(item.child('name')),
        paths,
        str(item.child('unit', '').value),
        prior,
        item.child('deviation').number(1e-12),
        low,
        high,
    )


FITS = ConfigFiles('identification', _parameters)
"""Files of parameters with their priors: config/identification."""


def _select_parameters(value: Any, old: Any) -> Any:
    del old
    return value


def with_values(
    vehicle: Vehicle, parameters: Sequence[FitParameter], theta: Any, xp: Any = np
) -> Vehicle:
    """Return a vehicle with values (k,) in the places of k parameters.

    Args:
        parameters: k of them; those of recordings are passed over.
        theta: (k,) values; traced ones where ``xp`` is ``jax.numpy``.
        xp: ``numpy`` or ``jax.numpy``.
    """
    for i, parameter in enumerate(parameters):
        for path in parameter.paths:
            if path not in OF_RECORDINGS:
                vehicle = replace_number(
                    vehicle, path, partial(_select_parameters, theta[i]), xp=xp
                )
    return vehicle
