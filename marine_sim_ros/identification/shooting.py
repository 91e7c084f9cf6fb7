# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals of the velocity fit: weak-form first guess and multiple shooting.

Multiplied by a bell φ(t) that is zero at both ends of a window and integrated by parts,
M ν̇ becomes −∫ φ̇ M ν dt: noise is never differentiated (Shinbrot 1957, "On the analysis of linear
and nonlinear systems", the method of modulating functions).

M ν̇ = τ(t) + g(t) + w(t) + G(t) (ν − ν₀(t)) − C(ν) ν − D(ν) ν with attitude and thrust as they
were and the kept forces w with their gradient G about the measured ν₀, from an initial velocity
of its own for each stretch, which is found with each set of coefficients (variable projection:
Golub & Pereyra 1973; the derivative is Kaufman's). All stretches and all derivatives are
integrated together, by the classical Runge-Kutta method.
"""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.progress import ReportProgress, no_progress
from marine_sim_ros.core.spatial import momentum_rate
from marine_sim_ros.identification.parameters import COEFFICIENTS, ParameterSet
from marine_sim_ros.identification.samples import Samples

__all__ = ['Shooting', 'first_guess', 'stretch_starts']


# First guess: the weak form of the equations of motion, linear in the coefficients.

_HALF = 0.25
"""Of a window, s."""
_LAGS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.25, 0.4, 0.7)
"""Time constants to try, s."""
_RIDGE = 1e-4
"""Keeps at 0 what the run does not show; small against whatever it shows."""
_HELD = 1e-9
"""Room of a parameter that keeps its value, over its size."""


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

    def measured(self, samples: Samples) -> np.ndarray:
        """Return 1 (w, 6) where an axis is measured throughout a window, and else 0."""
        result = np.ones((len(self._used), 6))
        unmeasured = self._convolve(
            (~samples.measured).astype(float), np.ones(len(self._bell)), mode='valid'
        )
        result[:, :2] = unmeasured[self._used, None] < 0.5
        return result

    def _with(self, values: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        shape = (len(kernel),) + (1,) * (values.ndim - 1)
        # A convolution turns its kernel round.
        folded = self._convolve(values, kernel[::-1].reshape(shape), mode='valid', axes=0)
        return np.asarray(folded[self._used])


def first_guess(
    parameters: ParameterSet, samples: Samples, fixed: np.ndarray | None = None
) -> np.ndarray:
    """Return θ (k,) that fits the weak equations best, with the best of a few time constants.

    Args:
        fixed: (k,) mask of the parameters that keep their described values; None: none does.
    """
    fixed = np.zeros(len(parameters), bool) if fixed is None else fixed
    windows = _Windows(samples)
    # The noise of a window's momentum: axes weigh as much as is known of them.
    scale = np.diag(parameters.vehicle.rigid_body_mass) * samples.noise
    linear = [i for i, p in enumerate(parameters.parameters) if p.kind != 'time_constant']
    size = parameters.size[linear]
    centre = parameters.prior_values[linear]
    weight = windows.measured(samples) / scale
    columns = _columns(parameters, samples, windows) * weight[..., None]
    matrix = columns.reshape(-1, len(linear)) * size
    ridge = _RIDGE * np.sqrt(len(matrix)) * np.eye(len(linear))
    bounds = [(b[linear] - centre) / size for b in (parameters.low, parameters.high)]
    scaled = (parameters.described[linear] - centre) / size
    for bound, sign in zip(bounds, (-1, 1), strict=True):
        bound[fixed[linear]] = (scaled + sign * _HELD)[fixed[linear]]
    unfitted = _unfitted_terms(parameters, samples, windows)
    best, result = np.inf, parameters.described.copy()
    for lag in _LAGS if parameters.lag else (None,):
        wrench = samples.commands.wrenches(samples.start, samples.step, len(samples), lag)
        left = (windows.mean(wrench[::2]) - unfitted) * weight
        solution = require('scipy.optimize', 'identify').lsq_linear(
            np.concatenate([matrix, ridge]),
            np.concatenate([left.ravel(), np.zeros(len(linear))]),
            bounds=bounds,
        )
        if solution.cost < best:
            best = solution.cost
            result[linear] = np.where(fixed[linear], result[linear], centre + solution.x * size)
            if lag is not None:
                result[COEFFICIENTS] = lag
    return result


def _unfitted_terms(parameters: ParameterSet, samples: Samples, windows: _Windows) -> np.ndarray:
    """Return the weak M_0 ν̇ + C_0 ν − g (w, 6) of all that is not fitted."""
    nu = samples.velocity
    zero = np.zeros(len(parameters))
    momentum = nu @ parameters.mass(zero).T
    speed = nu @ parameters.vehicle.damping.lever_arm.T
    drag = speed @ parameters.linear(zero).T
    drag = drag + (np.abs(speed) * speed) @ parameters.quadratic(zero).T
    drag = drag + parameters.kept_drag(speed)
    forces = (
        momentum_rate(nu, momentum)
        + drag @ parameters.vehicle.damping.lever_arm
        - samples.restoring
        - samples.kept.wrench
    )
    return windows.rate(momentum) + windows.mean(forces)


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


# Simulated and measured velocity over many short stretches: multiple shooting.

_MAX_WINDOWS = 400
"""Stretches; of a longer run evenly spread ones count."""
_STIFF = 1.5
"""Largest product of decay rate and step; Runge-Kutta's limit is 2.78."""
_MAX_PARTS = 20
_DIFFERENCE = 1e-4
"""Of derivatives, as a share of a parameter's value or size."""
_LAG_DIFFERENCE = 0.002
"""Of the derivative by the time constant, s."""
_Known = tuple[np.ndarray, np.ndarray | None]
"""A wrench that does not depend on the velocity, and the transposed gradient of one that does."""


def stretch_starts(samples: Samples, length: float) -> np.ndarray:
    """Return the starts (s,) of adjacent stretches of a length (s) without gaps."""
    count = max(2, round(length / samples.step))
    result = [
        start
        for first, last in samples.covered_rows().tolist()
        for start in range(first, last + 1 - count, count)
    ]
    if len(result) > _MAX_WINDOWS:
        result = [result[i] for i in np.linspace(0, len(result) - 1, _MAX_WINDOWS).astype(int)]
    return np.array(result, int)


class Shooting:
    """Residuals of all stretches and their derivatives, for a least-squares solver.

    Attributes:
        progress: function that is called with the number of simulations done, at each step.
    """

    def __init__(
        self, parameters: ParameterSet, samples: Samples, starts: np.ndarray, length: float
    ) -> None:
        """Set up s stretches of l steps.

        Args:
            starts: (s,) of :func:`stretch_starts`.
            length: s, as there.
        """
        self.parameters, self.samples = parameters, samples
        self.progress: ReportProgress = no_progress
        self.runs_done = 0.0
        self.steps = max(2, round(length / samples.step))
        self.rows = starts[:, None] + np.arange(self.steps + 1)
        motion = samples.velocity[self.rows]
        is_unmeasured = ~samples.measured[self.rows].all(axis=1)
        self.measured = motion.copy()
        self.measured[is_unmeasured, :, :2] = np.nan
        self._blind = np.zeros((len(starts), 6), bool)
        self._blind[is_unmeasured, :2] = True
        self.deviation = samples.noise.copy()
        self._half = 2 * starts[:, None] + np.arange(2 * self.steps + 1)
        steady, self._gradient = samples.restoring + samples.kept.wrench, None
        if samples.kept.gradient is not None:
            # w + G (ν − ν₀) is a steady part and one by ν.
            steady = steady - matvec(samples.kept.gradient, samples.velocity)
            transposed = np.swapaxes(samples.kept.gradient, 1, 2)
            self._gradient = self._half_steps(transposed.reshape(-1, 36)).reshape(
                -1, len(starts), 6, 6
            )
        self._restoring = self._half_steps(steady)
        self._lift = self._half_steps(samples.lift)
        first_samples = min(self.steps, max(4, round(0.2 / samples.step)))
        self._first = _line_start(motion[:, : first_samples + 1])
        self._fastest = np.max(np.abs(samples.velocity[samples.known]), axis=0)
        size = parameters.size
        self._delta = _DIFFERENCE * np.where(parameters.described > 0, parameters.described, size)
        if parameters.lag:
            self._delta[COEFFICIENTS] = _LAG_DIFFERENCE
        self._nudge = _DIFFERENCE * (self._fastest + 1e-3)

    def _half_steps(self, values: np.ndarray) -> np.ndarray:
        """Return values (2l + 1, s, 6) at every half step of every stretch."""
        at = values[self.rows]
        result = np.empty((2 * self.steps + 1, len(at), values.shape[1]))
        result[::2] = np.moveaxis(at, 1, 0)
        result[1::2] = 0.5 * (result[:-1:2] + result[2::2])
        return result

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        """Return weighted simulated − measured (s · (l + 1) · 6,), initial velocities free.

        It is 0 of surge and sway in a stretch that has no measurement of them.
        """
        run = self._run(theta, derivatives=False)
        basis, _ = self._initial(run)
        error = self._error(run)
        return (error - _project(basis, error)).ravel()

    def jacobian(self, theta: np.ndarray) -> np.ndarray:
        """Return the derivative (s · (l + 1) · 6, k); better initial velocities are kept."""
        run = self._run(theta, derivatives=True)
        basis, triangle = self._initial(run)
        error = self._error(run)
        steps = np.linalg.solve(triangle, (np.swapaxes(basis, 1, 2) @ error[..., None]))[..., 0]
        self._first = self._first - steps * self._nudge
        count = len(self.parameters)
        columns = [self._changes(run, 7 + i) for i in range(count)]
        matrix = np.stack(columns, axis=-1) / self._delta
        matrix = matrix - basis @ (np.swapaxes(basis, 1, 2) @ matrix)
        return matrix.reshape(-1, count)

    def simulated(self, theta: np.ndarray) -> np.ndarray:
        """Return velocities (s, l + 1, 6) with the best initial ones."""
        for _ in range(2):
            run = self._run(theta, derivatives=False)
            basis, triangle = self._initial(run)
            error = self._error(run)
            steps = np.linalg.solve(triangle, np.swapaxes(basis, 1, 2) @ error[..., None])
            self._first = self._first - steps[..., 0] * self._nudge
        return self._run(theta, derivatives=False)[0]

    def weigh(self, residuals: np.ndarray) -> None:
        """Take each axis's deviation from residuals as they are weighted now."""
        each = residuals.reshape(-1, 6)
        part = np.maximum(np.mean(~self._blind, axis=0), 1 / len(self._blind))
        size = np.sqrt(np.mean(each**2, axis=0) / part)
        self.deviation = self.deviation * np.maximum(size, 1e-3)

    def _error(self, run: np.ndarray) -> np.ndarray:
        """Return the weighted error (s, m); 0 of what is not measured."""
        return self._weigh(np.where(self._blind[:, None], 0.0, run[0] - self.measured))

    def _changes(self, run: np.ndarray, which: int) -> np.ndarray:
        """Return a weighted change (s, m) of what is measured."""
        return self._weigh(np.where(self._blind[:, None], 0.0, run[which] - run[0]))

    def _weigh(self, error: np.ndarray) -> np.ndarray:
        return (error / self.deviation).reshape(len(error), -1)

    def _initial(self, run: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Q (s, m, 6) and R (s, 6, 6) of the derivative by the initial velocities."""
        columns = [self._changes(run, 1 + i) for i in range(6)]
        slope = np.stack(columns, axis=-1)
        if not self._blind.any():
            basis, triangle = np.linalg.qr(slope)
            return basis, triangle
        # An initial velocity that is not measured stays as it was simulated.
        slope = np.where(self._blind[:, None], 0.0, slope)
        unobserved = np.eye(6) * self._blind[:, None]
        basis, triangle = np.linalg.qr(np.concatenate([slope, unobserved], axis=1))
        return basis[:, : -len(unobserved[0])], triangle

    def _run(self, theta: np.ndarray, *, derivatives: bool) -> np.ndarray:
        """Return velocities (p, s, l + 1, 6): as they are, and a little beside it.

        First θ itself, then each initial velocity nudged, then each parameter.
        """
        samples, parameters = self.samples, self.parameters
        count = len(parameters) if derivatives else 0
        changes = np.concatenate([np.zeros((7, len(theta))), np.diag(self._delta)[:count]])
        thetas = theta + changes
        first = np.broadcast_to(self._first, (7 + count, *self._first.shape)).copy()
        first[1:7] += self._nudge * np.eye(6)[:, None, :]
        lag = parameters.time_constant(theta)
        thrust = samples.commands.wrenches(samples.start, samples.step, len(samples), lag)
        force = np.moveaxis(thrust[self._half], 1, 0) + self._restoring
        slower = None
        if lag is not None and derivatives:
            slower = samples.commands.wrenches(
                samples.start, samples.step, len(samples), lag + self._delta[COEFFICIENTS]
            )
            slower = np.moveaxis(slower[self._half] - thrust[self._half], 1, 0)
        integrator = _Integrator(
            parameters, thetas, self._fastest, samples.kept.damping, samples.step
        )
        extra = parameters.extra_volume(thetas)[:, None, None]

        def push(i: int) -> np.ndarray:
            result = force[i] + extra * self._lift[i]
            if slower is not None:
                result[7 + COEFFICIENTS] += slower[i]
            return result

        def pull(i: int) -> np.ndarray | None:
            return None if self._gradient is None else self._gradient[i]

        result = np.empty((7 + count, len(self.rows), self.steps + 1, 6))
        result[:, :, 0] = nu = first
        for i in range(self.steps):
            loads = [(push(j), pull(j)) for j in (2 * i, 2 * i + 1, 2 * i + 2)]
            nu = integrator.step(nu, *loads)
            result[:, :, i + 1] = nu
            self.runs_done += 1 / self.steps
            self.progress(self.runs_done)
        return result


class _Integrator:
    """Steps of velocities (p, s, 6), each p with coefficients of its own."""

    def __init__(
        self,
        parameters: ParameterSet,
        thetas: np.ndarray,
        fastest: np.ndarray,
        kept: np.ndarray,
        step: float,
    ) -> None:
        mass = parameters.mass(thetas)
        linear, quadratic = parameters.linear(thetas), parameters.quadratic(thetas)
        self._mass = np.swapaxes(mass, -1, -2)
        self._inverse = np.swapaxes(np.linalg.inv(mass), -1, -2)
        self._linear = np.swapaxes(linear, -1, -2)
        self._quadratic = np.swapaxes(quadratic, -1, -2)
        damping = parameters.vehicle.damping
        self._arm = None if np.array_equal(damping.lever_arm, np.eye(6)) else damping.lever_arm
        self._kept_drag = parameters.kept_drag
        diagonal = np.diagonal(linear + 2 * quadratic * fastest, axis1=-2, axis2=-1)
        diagonal = diagonal + kept + 2 * parameters.kept_damping(fastest)
        decay = np.max(diagonal / np.diagonal(mass, axis1=-2, axis2=-1))
        self._parts = min(_MAX_PARTS, max(1, math.ceil(float(decay) * step / _STIFF)))
        self._dt = step / self._parts
        # A guess that runs away must stay a number that the solver can turn back from.
        self._limit = 10 * fastest + 1

    def _rate(self, nu: np.ndarray, load: _Known) -> np.ndarray:
        u = nu if self._arm is None else nu @ self._arm.T
        drag = u @ self._linear + (np.abs(u) * u) @ self._quadratic + self._kept_drag(u)
        if self._arm is not None:
            drag = drag @ self._arm
        push, gradient = load
        if gradient is not None:
            push = push + (nu[..., None, :] @ gradient)[..., 0, :]
        return (push - drag - momentum_rate(nu, nu @ self._mass)) @ self._inverse

    def step(self, nu: np.ndarray, start: _Known, middle: _Known, end: _Known) -> np.ndarray:
        """Return ν after a step with the known forces at its start, middle and end."""
        dt = self._dt
        for part in range(self._parts):
            a, b, c = start, middle, end
            if self._parts > 1:
                a, b, c = (
                    _interpolate(start, middle, end, (part + fraction) / self._parts)
                    for fraction in (0.0, 0.5, 1.0)
                )
            k1 = self._rate(nu, a)
            k2 = self._rate(nu + 0.5 * dt * k1, b)
            k3 = self._rate(nu + 0.5 * dt * k2, b)
            k4 = self._rate(nu + dt * k3, c)
            nu = nu + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            nu = np.clip(nu, -self._limit, self._limit)
        return nu


def _interpolate(start: _Known, middle: _Known, end: _Known, fraction: float) -> _Known:
    """Return values interpolated at a fraction of a step; the gradient is the midpoint's."""
    if fraction <= 0.5:
        return start[0] + 2 * fraction * (middle[0] - start[0]), middle[1]
    return middle[0] + (2 * fraction - 1) * (end[0] - middle[0]), middle[1]


def _line_start(values: np.ndarray) -> np.ndarray:
    """Return the initial values (s, 6) of straight lines fitted to values (s, m, 6)."""
    x = np.arange(values.shape[1]) - 0.5 * (values.shape[1] - 1)
    slope = np.einsum('m,smk->sk', x, values) / np.sum(x**2)
    return np.asarray(values.mean(axis=1) + slope * x[0])


def _project(basis: np.ndarray, error: np.ndarray) -> np.ndarray:
    return np.asarray((basis @ (np.swapaxes(basis, 1, 2) @ error[..., None]))[..., 0])
