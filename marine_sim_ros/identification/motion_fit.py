# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fit of a vehicle's numbers to whole motions: multiple shooting with the engine's gradients.

Recordings are cut into stretches. Each is simulated, attitude and rotors too, from an initial
state of its own; the squared difference from attitude and velocity, over the deviation of each
channel, and the squared distance from the priors are minimised by Levenberg-Marquardt steps within
bounds, with the initial states eliminated (variable projection; Golub & Pereyra 1973, Kaufman
1975). Each stretch scales the step of its initial state so that its own error is least, so a
stretch that capsizes does not stop the others. Huber's weights bound outliers (Huber 1964). The
deviations are those of the residuals, estimated in between; the three of the upward direction,
whose length is 1, share one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import cross, up_in_body
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.identification.parameters import (
    DELAY,
    NORMAL_95,
    ORIGIN,
    FitParameter,
    covariance,
    with_values,
)
from marine_sim_ros.identification.prediction import (
    Stretches,
    integration_steps,
    predict_motion,
    tilt_attitudes,
)
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['MotionFit', 'fit_motion']

CHANNELS = ('up x', 'up y', 'up z', 'u', 'v', 'w', 'p', 'q', 'r')
_DEVIATION = np.array([0.03, 0.03, 0.03, 0.04, 0.04, 0.04, 0.1, 0.1, 0.1])
"""Of the channels before anything is known."""
_HUBER, _NO_LIMIT = 2.5, 1e6
_LITTLE = 0.5
"""Of the prior's deviation: where more is left, the recordings tell little of a parameter."""
_ALIKE = 0.95
_FREE = 8
"""Of an initial state: two angles and six velocities."""
_MIN_WINDOWS = 4
_SHARES = (1.0, 0.3, 0.1, 0.0)
"""Of the step of an initial state that a stretch may take."""


@dataclass(frozen=True, eq=False)
class MotionFit:
    """A fit of k parameters.

    Attributes:
        parameters: k of them.
        values: (k,).
        covariance: (k, k).
        deviation: (9,) of the residuals, by channel.
        seconds: of all stretches together.
        stretches: number of them.
        settled: whether the last step made no difference.
    """

    parameters: tuple[FitParameter, ...]
    values: np.ndarray
    covariance: np.ndarray
    deviation: np.ndarray
    seconds: float
    stretches: int
    settled: bool

    @cached_property
    def half(self) -> np.ndarray:
        """(k,) half of each 95 % interval."""
        return np.asarray(NORMAL_95 * np.sqrt(np.diag(self.covariance)))

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Reason why each parameter is not observable; empty where it is."""
        deviation = np.sqrt(np.diag(self.covariance))
        correlation = np.abs(self.covariance) / np.outer(deviation, deviation)
        correlation = correlation - 2 * np.eye(len(deviation))
        result = []
        for i, parameter in enumerate(self.parameters):
            other = int(np.argmax(correlation[i]))
            text = ''
            if self.values[i] <= parameter.low or self.values[i] >= parameter.high:
                text = 'at its limit'
            elif deviation[i] > _LITTLE * parameter.deviation:
                text = 'the recordings tell little more than was known'
                if correlation[i, other] > _ALIKE:
                    text = f'cannot be distinguished from {self.parameters[other].name}'
            result.append(text)
        return tuple(result)

    @property
    def contradictions(self) -> list[str]:
        """Observable values far from their priors.

        They differ by more than twice their own 95 % interval, and by more than the prior's.
        """
        return [
            f'{p.name}: {v:.4g} ± {h:.2g} {p.unit}'.rstrip()
            + f' contradicts what was known before, {p.prior:.4g} ± {NORMAL_95 * p.deviation:.2g}'
            for p, v, h, reason in zip(
                self.parameters, self.values, self.half, self.reasons, strict=True
            )
            if not reason and abs(v - p.prior) > max(2 * h, NORMAL_95 * p.deviation)
        ]

    def vehicle(self, described: Vehicle) -> Vehicle:
        """Return a described vehicle with the values of the fit."""
        return with_values(described, self.parameters, self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            'seconds': self.seconds,
            'stretches': self.stretches,
            'settled': self.settled,
            'parameters': [
                {
                    'name': p.name,
                    'paths': list(p.paths),
                    'unit': p.unit,
                    'value': float(v),
                    'half_interval_95': float(h),
                    'observable': not reason,
                    'reason': reason or None,
                    'prior': p.prior,
                    'prior_deviation': p.deviation,
                }
                for p, v, h, reason in zip(
                    self.parameters, self.values, self.half, self.reasons, strict=True
                )
            ],
            'doubts': self.contradictions,
            'deviation': dict(zip(CHANNELS, self.deviation.tolist(), strict=True)),
        }


class _Linear(NamedTuple):
    """A fit at one point: residuals and derivatives, weighted, initial states eliminated.

    Attributes:
        cost: of residuals and priors.
        residual: (s, m) weighted.
        slope: (s, m, k) of it by the parameters.
        basis: (s, m, 8) orthonormal, of the derivative by the initial states.
        triangle: (s, 8, 8).
    """

    cost: float
    residual: np.ndarray
    slope: np.ndarray
    basis: np.ndarray
    triangle: np.ndarray

    def project(self, values: np.ndarray) -> np.ndarray:
        """Return values (s, m, c) without what initial states make up for."""
        return np.asarray(values - self.basis @ (np.swapaxes(self.basis, 1, 2) @ values))


class Problem:
    """Compiled once for a vehicle, its parameters and a shape of stretches."""

    def __init__(
        self,
        vehicle: Vehicle,
        parameters: Sequence[FitParameter],
        parts: int,
        holds_commands: bool,
        environment: Environment | None = None,
    ) -> None:
        """Prepare the simulation of stretches and its derivatives."""
        jax = require('jax', 'identify --fit')
        jnp = jax.numpy
        delays = [i for i, p in enumerate(parameters) if DELAY in p.paths]
        rows_of_origin = [
            [i for i, p in enumerate(parameters) if path in p.paths] for path in ORIGIN
        ]
        self.parameters = tuple(parameters)

        def predict(
            theta: Any, first: Any, orientation: Any, time: Any, sent: Any, pwm: Any
        ) -> Any:
            body = with_values(vehicle, self.parameters, theta, jnp)
            delay = sum((theta[i] for i in delays), 0.0)
            origin = jnp.stack(
                [sum((theta[i] for i in rows), jnp.zeros(())) for rows in rows_of_origin]
            )
            state = predict_motion(
                body,
                tilt_attitudes(orientation, first[:, :2]),
                first[:, 2:],
                time,
                sent,
                pwm,
                delay,
                parts,
                holds_commands,
                environment,
            )
            turning = state.velocity[..., 3:]
            tracked = state.velocity[..., :3] + cross(
                turning, jnp.broadcast_to(origin, turning.shape)
            )
            return jnp.concatenate([up_in_body(state.orientation), tracked, turning], axis=-1)

        count = len(self.parameters)

        def slopes(theta: Any, first: Any, *data: Any) -> Any:
            """Return the derivatives (..., k + 8): all in one pass."""

            def directional_derivative(direction: Any) -> Any:
                step = jnp.broadcast_to(direction[count:], first.shape)
                return jax.jvp(
                    lambda x, y: predict(x, y, *data), (theta, first), (direction[:count], step)
                )[1]

            return jnp.moveaxis(jax.vmap(directional_derivative)(jnp.eye(count + _FREE)), 0, -1)

        self._simulated = jax.jit(predict)
        self._slopes = jax.jit(slopes)

    def fit(
        self,
        stretches: Stretches,
        start: np.ndarray | None = None,
        *,
        rounds: int = 30,
        progress: Callable[[float], None] | None = None,
    ) -> MotionFit:
        """Return the fit of stretches; see :func:`fit_motion`."""
        return _Search(self, stretches, start).run(rounds, progress)

    def simulated(self, theta: np.ndarray, first: np.ndarray, data: tuple[Any, ...]) -> np.ndarray:
        """Return (s, l + 1, 9): upward direction and velocity."""
        return np.asarray(self._simulated(theta, first, *data))

    def slopes(
        self, theta: np.ndarray, first: np.ndarray, data: tuple[Any, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return its derivatives by parameters (..., k) and by initial states (..., 8)."""
        gradients = np.asarray(self._slopes(theta, first, *data))
        return gradients[..., : len(theta)], gradients[..., len(theta) :]


class _Search:
    def __init__(self, problem: Problem, stretches: Stretches, start: np.ndarray | None) -> None:
        self.problem, self.stretches = problem, stretches
        parameters = problem.parameters
        self.prior = np.array([p.prior for p in parameters])
        self.weight = 1 / np.array([p.deviation for p in parameters])
        self.low = np.array([p.low for p in parameters])
        self.high = np.array([p.high for p in parameters])
        self.theta = np.clip(self.prior if start is None else start, self.low, self.high)
        self.data = (stretches.orientation[:, 0], stretches.time, stretches.sent, stretches.pwm)
        self.measured = np.concatenate([stretches.up, stretches.velocity], axis=-1)
        trusted = np.asarray(stretches.trusted, float)
        trusted = trusted if trusted.ndim == 3 else trusted[..., None]
        self.trusted = np.broadcast_to(trusted, self.measured.shape)
        self.limit = np.where(stretches.source < 0, _NO_LIMIT, _HUBER)[:, None, None]
        # What is measured at the beginning counts as any other sample; here the search begins.
        begin = np.zeros((len(self.measured), 2))
        self.first = np.concatenate([begin, self.measured[:, 0, 3:]], axis=1)
        self.deviation = _DEVIATION.copy()
        self.damping = 1e-3

    def run(self, rounds: int, progress: Callable[[float], None] | None) -> MotionFit:
        settled = False
        for i in range(rounds):
            if progress is not None:
                progress(i / rounds)
            change = self._step()
            if i in (3, 6, 9):
                self._estimate_deviation()
            elif i > 9 and change < 1e-4:
                settled = True
                break
        self._estimate_deviation()
        point = self._linear()
        slope = point.project(point.slope).reshape(-1, len(self.theta))
        residual = point.project(point.residual[..., None])[..., 0].reshape(-1)
        parameter_covariance = covariance(
            slope, residual, len(self.measured), self.weight**2, len(CHANNELS), point.basis
        )
        return MotionFit(
            self.problem.parameters,
            self.theta,
            parameter_covariance,
            self.deviation,
            float(np.sum(self.stretches.time[:, -1])),
            len(self.measured),
            settled,
        )

    def _error(self, theta: np.ndarray, first: np.ndarray) -> np.ndarray:
        error = self.problem.simulated(theta, first, self.data) - self.measured
        error = np.where(np.isfinite(error), error, 1e3)
        return np.asarray(error / self.deviation * self.trusted)

    def _costs(self, theta: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return the cost of each stretch (s,)."""
        size = np.abs(self._error(theta, first))
        limit = self.limit
        return np.asarray(np.where(size < limit, size**2, 2 * limit * size - limit**2).sum((1, 2)))

    def _surprise(self, theta: np.ndarray) -> float:
        """Return the cost of values that are not those known beforehand."""
        return float(np.sum(((theta - self.prior) * self.weight) ** 2))

    def _cost(self, theta: np.ndarray, first: np.ndarray) -> float:
        return float(self._costs(theta, first).sum()) + self._surprise(theta)

    def _estimate_deviation(self) -> None:
        error = self._error(self.theta, self.first) * self.deviation
        measured_rows = self.stretches.source >= 0
        clipped = np.minimum(np.abs(error[measured_rows]), _HUBER * self.deviation)
        free = _FREE / self.measured[0].size
        total = np.maximum(np.sum(self.trusted[measured_rows] ** 2, axis=(0, 1)), 1.0)
        square = np.sum(clipped**2, axis=(0, 1)) / total / (1 - free)
        square[:3] = square[:3].sum() / 2
        self.deviation = np.maximum(np.sqrt(square), 1e-4)

    def _linear(self) -> _Linear:
        error = self._error(self.theta, self.first)
        scale = np.sqrt(np.minimum(1.0, self.limit / np.maximum(np.abs(error), 1e-9)))
        gradient, begin = self.problem.slopes(self.theta, self.first, self.data)
        weight = (scale * self.trusted / self.deviation)[..., None]
        count = len(error)
        slope = np.nan_to_num(gradient * weight).reshape(count, -1, len(self.theta))
        begin = np.nan_to_num(begin * weight).reshape(count, -1, _FREE)
        # A little of its own keeps an initial state that nothing tells where it is.
        regularisation = np.broadcast_to(1e-3 * np.eye(_FREE), (count, _FREE, _FREE))
        basis, triangle = np.linalg.qr(np.concatenate([begin, regularisation], axis=1))
        residual = (error * scale).reshape(count, -1)
        return _Linear(
            self._cost(self.theta, self.first),
            residual,
            slope,
            basis[:, : residual.shape[1]],
            triangle,
        )

    def _step(self) -> float:
        """Take one step; return by what share the cost fell."""
        point, count = self._linear(), len(self.theta)
        slope = point.project(point.slope).reshape(-1, count)
        residual = point.project(point.residual[..., None]).reshape(-1)
        normal = slope.T @ slope + np.diag(self.weight**2)
        gradient = slope.T @ residual + (self.theta - self.prior) * self.weight**2
        for _ in range(8):
            move = self._bounded_step(normal + self.damping * np.diag(np.diag(normal)), gradient)
            theta = np.clip(self.theta + move, self.low, self.high)
            new_residual = point.residual + point.slope @ (theta - self.theta)
            back = np.swapaxes(point.basis, 1, 2) @ new_residual[..., None]
            begin = np.clip(np.linalg.solve(point.triangle, back)[..., 0], -0.5, 0.5)
            first, costs = self._best(theta, begin)
            cost = float(costs.sum()) + self._surprise(theta)
            if cost < point.cost:
                self.theta, self.first = theta, first
                self.damping = max(self.damping / 5, 1e-9)
                return 1 - cost / point.cost
            self.damping *= 6
        self.damping = min(self.damping, 1e2)
        return 0.0

    def _best(self, theta: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return initial states (s, 8) and costs (s,), each stretch with its best share."""
        trials = [self.first - fraction * step for fraction in _SHARES]
        costs = np.stack([self._costs(theta, first) for first in trials])
        best, row = np.argmin(costs, axis=0), np.arange(len(step))
        return np.stack(trials)[best, row], costs[best, row]

    def _bounded_step(self, normal: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return −N⁻¹ g with what stands at a limit, and would go beyond, left there."""
        free = np.ones(len(gradient), bool)
        for _ in range(len(gradient)):
            move = np.zeros(len(gradient))
            move[free] = -np.linalg.solve(normal[np.ix_(free, free)], gradient[free])
            stuck = ((self.theta <= self.low) & (move < 0)) | (
                (self.theta >= self.high) & (move > 0)
            )
            if not stuck.any():
                break
            free &= ~stuck
        return move


def fit_motion(
    vehicle: Vehicle,
    parameters: Sequence[FitParameter],
    stretches: Stretches,
    *,
    start: np.ndarray | None = None,
    progress: Callable[[float], None] | None = None,
    environment: Environment | None = None,
) -> MotionFit:
    """Fit parameters of a vehicle to stretches of recordings.

    Call it within :func:`~marine_sim_ros.engine.availability.precision`, in float64.

    Args:
        vehicle: the vehicle; what is not a parameter stays as it is.
        parameters: parameters with priors and limits.
        stretches: from :func:`~marine_sim_ros.identification.prediction.stretches_of`.
        start: (k,) values to begin the search with; None: the priors.
        progress: function that is called with the completed share, 0 to 1.
        environment: still water of the recordings; None: of the vehicle's density.

    Raises:
        ParameterError: too few stretches.
    """
    if len(stretches.source) < _MIN_WINDOWS:
        raise ParameterError(
            f'the recordings have {len(stretches.source)} stretches without a gap; expected '
            f'{_MIN_WINDOWS} or more: longer recordings, or a shorter --stretch'
        )
    parts = integration_steps(stretches)
    problem = Problem(vehicle, parameters, parts, stretches.held, environment)
    return problem.fit(stretches, start, progress=progress)
