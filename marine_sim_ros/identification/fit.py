# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fit of added mass, drag, rotor lag and volume to a run, and its URDF elements."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.progress import ReportProgress, no_progress
from marine_sim_ros.identification.parameters import (
    DOUBTFUL,
    NORMAL_95,
    PARAMETER_KINDS,
    HydrodynamicParameter,
    ParameterSet,
    covariance,
    unobservable_reasons,
)
from marine_sim_ros.identification.samples import Samples
from marine_sim_ros.identification.shooting import Shooting, first_guess, stretch_starts
from marine_sim_ros.identification.thrust import kept_terms, omitted_terms
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Element, parse

__all__ = [
    'Estimate',
    'Identification',
    'DEFAULT_STRETCH',
    'fitted_tags',
    'fitted_urdf',
    'identify_vehicle',
    'explain_too_few_stretches',
]


# Fit of coefficients so that the simulated motion matches the recorded one.

DEFAULT_STRETCH = 4.0
"""Default length of a stretch (a shooting interval), s."""
_FEWEST = 4
_SHORTER = (3.0, 2.0, 1.5, 1.0, 0.7, 0.5)
"""Lengths of a stretch that are proposed, s."""
_VAGUE = 100.0
"""Standard deviation of the weak prior, as a multiple of a parameter's size."""
_ROUNDS = 2
"""Fits; each weighs the axes by the residuals of the one before."""
_EVALUATIONS = 25
_CONTRADICTION = {'volume': 0.01}
"""Relative deviation from the described value that counts as a contradiction, by kind ..."""
_OTHER_CONTRADICTION = 0.1
"""... and of every other kind."""
_CAUSES = {
    'volume': 'the density of the water (--water-density), the mass or the volume of the run was '
    'another',
    'time_constant': 'commands came late, or rotors were slower',
}
_STILL = 2.0
"""Motions below so many deviations of their noise are not checked for explained variance."""


@dataclass(frozen=True)
class Estimate:
    """Estimate of a parameter from a run.

    Attributes:
        parameter: the estimated parameter.
        value: best-fit value.
        half: half of the 95 % interval.
        reason: reason why it is not observable; empty where it is.
    """

    parameter: HydrodynamicParameter
    value: float
    half: float
    reason: str

    @property
    def observable(self) -> bool:
        """Whether the run determines it."""
        return not self.reason

    def texts(self) -> tuple[str, str]:
        """Return the value and half its interval, with two significant digits of the half."""
        if not math.isfinite(self.half):
            return f'{self.value:.6g}', 'unknown'
        decimals = max(0, 1 - math.floor(math.log10(self.half))) if self.half > 0 else 6
        return f'{self.value:.{decimals}f}', f'{self.half:.{decimals}f}'

    @property
    def contradiction(self) -> str:
        """Warning that the estimate contradicts the description; empty: it does not."""
        p = self.parameter
        fraction = _CONTRADICTION.get(p.kind, _OTHER_CONTRADICTION)
        far = abs(self.value - p.described) > max(2 * self.half, fraction * abs(p.described))
        if not (far and self.observable):
            return ''
        cause = _CAUSES.get(p.kind, 'thrust, mass or water of the run were others')
        return (
            f'{p.name}: {" ± ".join(self.texts())} {p.unit} contradicts the description, which '
            f'has {p.described:.4g}: the vehicle differs, or {cause}'
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON; a value that the run does not determine is None."""
        return {
            'parameter': self.parameter.kind,
            'axis': self.parameter.axis or None,
            'unit': self.parameter.unit,
            'observable': self.observable,
            'value': self.value if self.observable else None,
            'half_interval_95': self.half if self.observable else None,
            'described': self.parameter.described,
            'contradicts_description': bool(self.contradiction),
            'reason': self.reason or None,
        }


@dataclass(frozen=True, eq=False)
class Identification:
    """A fit.

    Attributes:
        estimates: estimates of all parameters.
        time: (s, l + 1) of each stretch, s.
        measured: (s, l + 1, 6) velocity, m/s and rad/s.
        fitted: (s, l + 1, 6) simulated with the estimates.
        noise: (6,) deviation of the measured velocity from a smooth one.
        kept: terms of the model that are taken from the description.
        omitted: forces on the vehicle that are not in the model.
        notes: quantities that were computed because the run lacks them.
        converged: whether the solver met a tolerance within its limit of evaluations.
    """

    estimates: tuple[Estimate, ...]
    time: np.ndarray
    measured: np.ndarray
    fitted: np.ndarray
    noise: np.ndarray
    kept: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    converged: bool = True

    @property
    def explained_variance(self) -> np.ndarray:
        """(6,) see :func:`_explained_variance`."""
        return _explained_variance(self.measured, self.fitted, self.noise)

    @property
    def doubts(self) -> list[str]:
        """Missing convergence, axes that the fit does not explain, contradicted descriptions."""
        unfinished = (
            f'the fit did not converge in {_EVALUATIONS} evaluations, so that its values are not '
            'the best ones; expected a run that moves all axes, or a shorter --stretch'
        )
        stopped = [] if self.converged else [unfinished]
        return [*stopped, *self._unexplained_warnings(), *self.contradictions]

    @property
    def contradictions(self) -> list[str]:
        """Estimates farther from the description than their 95 % interval is wide, and than 10 %.

        Of the volume it is 1 %.
        """
        return [e.contradiction for e in self.estimates if e.contradiction]

    def _unexplained_warnings(self) -> list[str]:
        """Return one line for all axes, or none."""
        by_axis = zip(BODY_AXES, self.explained_variance.tolist(), strict=True)
        low = [
            f'{axis} {max(100 * fraction, 0.0):.0f} %'
            for axis, fraction in by_axis
            if fraction < DOUBTFUL
        ]
        if not low:
            return []
        return [
            f'of the motion only this is explained: {", ".join(low)}; expected masses, thrust, '
            'current and water of the run, nothing else that pushed, and a --stretch that is '
            'shorter where the vehicle tumbles'
        ]

    def estimates_of(self, kind: str) -> list[Estimate]:
        """Return the estimates of a kind, in the order of the axes."""
        return [e for e in self.estimates if e.parameter.kind == kind]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        error = self.fitted - self.measured
        rms_measured, rms_residual = (
            np.sqrt(_mean_of_known(np.mean(channel**2, axis=1))).tolist()
            for channel in (self.measured, error)
        )
        explained = self.explained_variance.tolist()
        return {
            'seconds': float(self.time[:, -1].sum() - self.time[:, 0].sum()),
            'stretches': len(self.time),
            'converged': self.converged,
            'estimates': [e.to_dict() for e in self.estimates],
            'kept': list(self.kept),
            'omitted': list(self.omitted),
            'notes': list(self.notes),
            'axes': {
                axis: {
                    'rms_measured': rms_measured[i],
                    'rms_residual': rms_residual[i],
                    'noise': float(self.noise[i]),
                    'explained': None if math.isnan(explained[i]) else explained[i],
                }
                for i, axis in enumerate(BODY_AXES)
            },
            'doubts': self.doubts,
        }


def _explained_variance(measured: np.ndarray, fitted: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the share (6,) of each axis's variance that a fit explains; NaN where it is still.

    The variance is that within stretches, (s, l + 1, 6): each has an initial velocity of its own,
    so that a fit of a slow motion hits the means of the stretches, whatever its coefficients.
    """
    spread = np.sqrt(_mean_of_known(np.var(measured, axis=1)))
    error = _mean_of_known(np.mean((fitted - measured) ** 2, axis=1))
    return 1 - error / np.where(spread < _STILL * noise, np.nan, spread) ** 2


def _mean_of_known(values: np.ndarray) -> np.ndarray:
    """Return means (6,) of values (s, 6) over the stretches that have them; NaN where none has."""
    finite = np.isfinite(values)
    if finite.all():
        return np.asarray(np.mean(values, axis=0))
    count = finite.sum(axis=0)
    return np.where(finite, values, 0.0).sum(axis=0) / np.where(count, count, np.nan)


def explain_too_few_stretches(samples: Samples, length: float) -> str:
    """Return the reason why a run has few stretches of a length (s), and the remedy."""
    parts = samples.covered_rows() * samples.step
    spans = np.diff(parts, axis=1).ravel()
    shorter = [s for s in _SHORTER if s < length and len(stretch_starts(samples, s)) >= _FEWEST]
    remedy = f'give --stretch {shorter[0]:g}' if shorter else 'record a longer run'
    if len(parts) < 2:
        return f'{spans.sum():.3g} s are covered; {remedy}'
    return (
        f'{len(parts) - 1} gap{"s" * (len(parts) > 2)} of odometry or commands (the first at '
        f'{samples.start + parts[0, 1]:.3g} s) leave parts of {spans.max():.2g} s at most; '
        f'{remedy}, or record on a machine with less to do'
    )


def identify_vehicle(
    vehicle: Vehicle,
    samples: Samples,
    *,
    length: float = DEFAULT_STRETCH,
    progress: ReportProgress = no_progress,
) -> Identification:
    """Fit added mass, drag, rotor lag and volume to a run.

    The weak form of the equations of motion gives a first guess; from there the squared
    difference of simulated and measured velocity over stretches of a few seconds is minimised
    (output error with multiple shooting; scipy's trust-region reflective solver within bounds),
    the axes weighed by their residuals. Rigid-body mass, centres, thrusters and what is not on a
    diagonal are taken from the description, and so are drag elements, lift, drag of panels and
    wrenches of actuators: the model contains them, and the fitted terms are added.

    Args:
        vehicle: the vehicle that made the run.
        samples: samples, from :func:`marine_sim_ros.identification.samples.make_samples`.
        length: length of a stretch, s.
        progress: function that is called with the completed share, 0 to 1.

    Raises:
        ParameterError: a run that is too short or has too many holes.
    """
    starts = stretch_starts(samples, length)
    if len(starts) < _FEWEST:
        raise ParameterError(
            f'the run has {len(starts)} stretches of {length:g} s with odometry and thrust '
            f'throughout; expected {_FEWEST} or more: {explain_too_few_stretches(samples, length)}'
        )
    lumped = vehicle.hull is None or vehicle.hull.voxels is None
    parameters = ParameterSet(
        vehicle, lag=samples.commands.lagging, volume=lumped and vehicle.buoyancy.volume > 0
    )
    shooting = Shooting(parameters, samples, starts, length)
    free = _measured_parameters(parameters, shooting.measured)
    theta = first_guess(parameters, samples, ~free)
    prior = _Prior(parameters)
    for fit in range(_ROUNDS):
        shooting.progress = _fit_progress(progress, fit, shooting.runs_done)
        theta, converged = _solve(shooting, prior, theta, free)
        if fit < _ROUNDS - 1:
            shooting.weigh(shooting.residuals(theta))
    shooting.progress = no_progress
    jacobian = shooting.jacobian(theta)[:, free]
    residuals = shooting.residuals(theta)
    parameter_covariance = np.diag(parameters.size**2)
    parameter_covariance[np.ix_(free, free)] = covariance(
        jacobian, residuals, len(starts), prior.weight[free] ** 2
    )
    measured = shooting.measured
    fitted = shooting.simulated(theta)
    explained = _explained_variance(measured, fitted, samples.noise)
    reasons = unobservable_reasons(
        parameters,
        theta,
        parameter_covariance,
        measured,
        samples.noise,
        explained,
        samples.kept.damping,
    )
    reasons = [
        text if is_free else f'{p.axis} is not measured; kept as described'
        for text, is_free, p in zip(reasons, free.tolist(), parameters.parameters, strict=True)
    ]
    half = NORMAL_95 * np.sqrt(np.diag(parameter_covariance))
    progress(1.0)
    return Identification(
        estimates=tuple(
            Estimate(p, float(v), float(h), text)
            for p, v, h, text in zip(parameters.parameters, theta, half, reasons, strict=True)
        ),
        time=samples.time[shooting.rows],
        measured=measured,
        fitted=fitted,
        noise=samples.noise,
        kept=kept_terms(vehicle),
        omitted=omitted_terms(vehicle),
        notes=samples.notes,
        converged=converged,
    )


def _measured_parameters(parameters: ParameterSet, measured: np.ndarray) -> np.ndarray:
    """Return a mask (k,) of parameters whose axes are measured in enough stretches."""
    enough = np.isfinite(measured).all(axis=1).sum(axis=0) >= _FEWEST
    return np.array([not p.axis or enough[BODY_AXES.index(p.axis)] for p in parameters.parameters])


def _fit_progress(progress: ReportProgress, fit: int, before: float) -> ReportProgress:
    """Return a function that estimates the progress of a fit from the number of simulations.

    Each evaluation is one, and each derivative; those before the fit do not count.
    """

    def tell(runs: float) -> None:
        progress((fit + 1 - math.exp((before - runs) / 16)) / _ROUNDS)

    return tell


class _Prior:
    """Weak prior that keeps parameters bounded that the run does not determine."""

    def __init__(self, parameters: ParameterSet) -> None:
        self.weight = 1 / (_VAGUE * parameters.size)
        self.prior_values = parameters.prior_values

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        return self.weight * (theta - self.prior_values)


def _solve(
    shooting: Shooting, prior: _Prior, start: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Return θ (k,) by least squares over the free ones (a mask (k,)), and if it converged."""
    low, high = shooting.parameters.low, shooting.parameters.high

    def full_vector(free_values: np.ndarray) -> np.ndarray:
        result = start.copy()
        result[free] = free_values
        return result

    def residuals(some: np.ndarray) -> np.ndarray:
        theta = full_vector(some)
        return np.concatenate([shooting.residuals(theta), prior.residuals(theta)[free]])

    def jacobian(some: np.ndarray) -> np.ndarray:
        slope = shooting.jacobian(full_vector(some))[:, free]
        return np.concatenate([slope, np.diag(prior.weight[free])])

    margin = 1e-6 * shooting.parameters.size
    inside = np.clip(start, low + margin, high - margin)[free]
    solved = require('scipy.optimize', 'identify').least_squares(
        residuals,
        inside,
        jacobian,
        bounds=(low[free], high[free]),
        x_scale='jac',
        xtol=1e-6,
        ftol=1e-8,
        max_nfev=_EVALUATIONS,
    )
    return full_vector(np.asarray(solved.x)), bool(solved.success)


# Fitted values written into a description, in the elements of the URDF reader.


def fitted_urdf(vehicle: Vehicle, result: Identification) -> str:
    """Return the vehicle's URDF, xacro expanded, with the estimates.

    Parameters that are not observable in the run keep their values.

    Raises:
        ParameterError: a description whose drag is that of an Orca3 plugin.
    """
    root = parse(vehicle.urdf, vehicle.name)
    if any('libOrcaDrag' in p.get('filename', '') for p in root.iter('plugin')):
        raise ParameterError(
            f'{vehicle.name}: its drag is that of an Orca3 plugin; '
            'expected <hydrodynamics>, where the values that were found can stand'
        )
    if result.kept:
        _comment(root, f'identify kept as described: {", ".join(result.kept)}')
    for text in result.contradictions:
        _comment(root, f'identify: {text}')
    _put_hydrodynamics(root, vehicle, result)
    for lag in _observable_estimates(result, 'time_constant'):
        for thruster in root.findall('thrusters/thruster'):
            _put(thruster, 'time_constant', lag.texts()[0])
    floats = root.findall('buoyancy')
    for volume in _observable_estimates(result, 'volume'):
        if len(floats) == 1:
            _put(floats[0], 'volume', volume.texts()[0])
        else:  # a run does not determine which of several parts displaces more
            _comment(
                root, f'identify: the whole volume is {volume.texts()[0]} m³; it was not put in'
            )
    return etree.tostring(root, encoding='unicode') + '\n'


def _comment(root: Element, text: str) -> None:
    """Insert a comment at the start of an element; XML forbids ``--`` in it."""
    root.insert(0, etree.Comment(f' {text.replace("--", "")} '))


def fitted_tags(vehicle: Vehicle, result: Identification) -> str:
    """Return the elements that hold the values, to be put into a description by hand."""
    robot = etree.Element('robot')
    old = parse(vehicle.urdf, vehicle.name).find('hydrodynamics')
    if old is not None:
        robot.append(deepcopy(old))
    _put_hydrodynamics(robot, vehicle, result)
    element = robot.find('hydrodynamics')
    assert element is not None
    etree.indent(element)
    element.tail = None
    lines = [etree.tostring(element, encoding='unicode')]
    for lag in _observable_estimates(result, 'time_constant'):
        lines.append(f'<time_constant>{lag.texts()[0]}</time_constant>   in each <thruster>')
    for volume in _observable_estimates(result, 'volume'):
        lines.append(f'<volume>{volume.texts()[0]}</volume>   in <buoyancy>')
    return '\n'.join(lines)


def _put_hydrodynamics(root: Element, vehicle: Vehicle, result: Identification) -> None:
    element = root.find('hydrodynamics')
    if element is None:
        element = etree.SubElement(root, 'hydrodynamics')
    element.attrib.pop('added_mass', '')  # an estimated added mass is replaced by the fitted one
    damping = vehicle.damping
    described = (vehicle.added_mass, damping.linear, damping.quadratic)
    for kind, matrix in zip(PARAMETER_KINDS, described, strict=True):
        _put(element, kind, _matrix(matrix, result.estimates_of(kind)))


def _matrix(described: np.ndarray, estimates: list[Estimate]) -> str:
    """Return six numbers, or 36 where anything stands beside the diagonal."""
    own = np.diag(described)
    diagonal = [e.texts()[0] if e.observable else repr(e.parameter.described) for e in estimates]
    if np.array_equal(described, np.diag(own)):
        return ' '.join(diagonal)
    rows = [list(map(repr, row)) for row in described.tolist()]
    for i, text in enumerate(diagonal):
        rows[i][i] = text
    return '  '.join(' '.join(row) for row in rows)


def _observable_estimates(result: Identification, kind: str) -> list[Estimate]:
    return [e for e in result.estimates_of(kind) if e.observable]


def _put(parent: Element, name: str, text: str) -> None:
    child = parent.find(name)
    if child is None:
        child = etree.SubElement(parent, name)
    child.text = text
