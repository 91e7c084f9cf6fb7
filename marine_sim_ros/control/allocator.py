# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control allocation: thrusts within limits, and their pulse widths, for a commanded wrench."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np

from marine_sim_ros.control.controllability import (
    AXIS_PRIORITY,
    BODY_AXES,
    WEAK_AUTHORITY,
    controllability,
    independent_axes,
    thrust_matrix,
)
from marine_sim_ros.control.effectors import (
    ExtendedThrust,
    PulseWidths,
    effector_limits,
    effector_mask,
    extended_thrust,
    fixed_equivalent_thrusters,
    scale_groups,
    scale_together,
)
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.registry import import_attribute
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle
from marine_sim_ros.physics import Actuator, actuators_of
from marine_sim_ros.physics.actuator import NO_COMMANDS
from marine_sim_ros.physics.force import guard_function

__all__ = [
    'Allocation',
    'AllocationStage',
    'Allocator',
    'AllocationPlan',
    'allocate_in_stages',
    'allocation_stages',
    'group_demands',
    'complete_allocation',
    'unreachable_axes',
]

ALLOCATION_METHODS = ('bounded', 'pseudo_inverse')
CONCESSION = 0.05
"""Fraction of what a group could get that it leaves to lower groups; see ``scale_groups``."""
DEMAND_LIMIT = 1e9
"""Largest component of a demand, N or N·m; larger demands are scaled down before the search."""
MAX_PLANS = 64
"""Plans that are cached, one for each set of failed thrusters."""
SHORTFALL_FRACTION = 0.01
SHORTFALL_TOLERANCE = 1e-6
"""An axis is unachieved if it falls short by this fraction of the command plus this many N or
N·m."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """Thrusts before they become pulse widths.

    Attributes:
        thrust: (n,) N of the fixed equivalents, within the limits; see
            :mod:`~marine_sim_ros.control.effectors`.
        scale: (g,) achieved fraction of each priority group; (1,) of all axes with
            'pseudo_inverse'.
    """

    thrust: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True, eq=False)
class Allocation:
    """Commands of the thrusters, and the wrench that they achieve.

    Attributes:
        thrust: (n,) N of the pulse widths, within the limits and outside the dead zone.
        pwm: (n,) whole µs.
        achieved: (6,) wrench of those thrusts about the allocator's point, body frame.
        residual: (n,) N, thrust before rounding and dead zone minus thrust after.
        unachieved: (6,) 1.0 for axes whose wrench falls short of the command by more than 1 %
            because of limits or unreachable axes; rounding to pulse widths does not count.
        saturated: whether limits reduced the demand.
        reached: (6,) wrench before the rounding to pulse widths.
        actuators: commands (k,) of the actuators that a controller steers, by name.
    """

    thrust: np.ndarray
    pwm: np.ndarray
    achieved: np.ndarray
    residual: np.ndarray
    unachieved: np.ndarray
    saturated: bool
    reached: np.ndarray
    actuators: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def shortfall(self) -> tuple[str, ...]:
        """Names of the axes whose commanded wrench is not achieved."""
        return tuple(
            axis
            for axis, unachieved in zip(BODY_AXES, self.unachieved.tolist(), strict=True)
            if unachieved
        )


@dataclass(frozen=True, eq=False)
class AllocationPlan:
    """Matrices of the allocation for one set of working thrusters, independent of the wrench.

    n is the number of fixed equivalents: of thrusters if none of them turns, otherwise see
    :mod:`~marine_sim_ros.control.effectors`.

    Attributes:
        matrix: (6, n) of the working thrusters.
        gain: (n, 6) thrust of a wrench, N per N and per N·m.
        groups: (6, g) with 1 where an axis is in a group and commandable.
        working: (m,) indices of thrusters that work and have a thrust.
        unit: (m,) larger limit of each of them, N, the unit of normalised thrusts.
        lower: (m,) limits, normalised.
        upper: (m,) limits, normalised.
        free: (m, d) orthonormal basis of normalised thrusts without resulting wrench.
    """

    matrix: np.ndarray
    gain: np.ndarray
    groups: np.ndarray
    working: np.ndarray
    unit: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    free: np.ndarray


def _group_table(priority: tuple[tuple[str, ...], ...]) -> np.ndarray:
    """Return (6, g) with 1 where an axis is in a group."""
    axes = [axis for group in priority for axis in group]
    for axis in axes:
        if axis not in BODY_AXES:
            raise ParameterError(f'priority: no axis {axis!r}; expected {", ".join(BODY_AXES)}')
        if axes.count(axis) > 1:
            raise ParameterError(f'priority: {axis} is named twice; expected each axis once')
    rows = [[float(axis in group) for group in priority] for axis in BODY_AXES]
    return np.array(rows).reshape(6, len(priority))


class Allocator:
    """Distributes a wrench among thrusters.

    'bounded': the thrusts f with B f = τ and smallest Σ(fᵢ/limitᵢ)², if they are within their
    limits. If not, groups of axes are scaled back, the lowest priority first, each keeping its
    direction: B f = Σ_g s_g τ_g with lower ≤ f ≤ upper, s₁ as large as possible except for a small
    concession, then s₂, and so on (see
    :func:`~marine_sim_ros.control.effectors.scale_groups`). Limits are those of each thruster
    at 1100 and 1900 µs, forward and reverse. B has the rows of the commandable axes (see
    :func:`~marine_sim_ros.control.controllability.independent_axes`): the command of another axis
    is ignored, and it gets the side effect of the other axes' thrusts. So an unreachable axis
    neither takes thrust nor disturbs another one, at the price of an uncommanded moment (an
    Investigator-90 pitches by 0.035 N·m per N of heave).

    'pseudo_inverse': damped least squares, f = Bᵀ(B Bᵀ + λ²E)⁻¹ τ with all six axes, N and N·m
    weighted equally; if a thrust exceeds its limit, all are scaled back together. For λ → 0 this
    is the Moore-Penrose inverse, which distributes the error of unreachable axes over the axes
    that depend on them.

    An azimuth counts as two thrusters, see :mod:`~marine_sim_ros.control.effectors`.

    Priorities apply to 'bounded' only. An axis in no group is not commanded.
    Source: Fossen (2011), section 12.3, for the unbounded forms.
    """

    def __init__(
        self,
        thrusters: ThrusterSet,
        about: np.ndarray,
        *,
        method: str = 'bounded',
        damping: float = WEAK_AUTHORITY,
        priority: tuple[tuple[str, ...], ...] = AXIS_PRIORITY,
        concession: float = CONCESSION,
    ) -> None:
        """Prepare for thrusters in order of the URDF.

        Args:
            thrusters: thrusters of the vehicle.
            about: (3,) point of the wrenches, usually the centre of mass, m.
            method: 'bounded' or 'pseudo_inverse'.
            damping: λ, N or N·m per N of thrust; with 'bounded' an axis with no more authority
                than this is unreachable.
            priority: groups of axes, highest first.
            concession: c, fraction of its maximum that a saturated group leaves to lower groups,
                0.01 to 1.

        Raises:
            ParameterError: an argument out of its range.
        """
        if method not in ALLOCATION_METHODS:
            raise ParameterError(
                f'method is {method!r}; {expected_one_of(method, ALLOCATION_METHODS)}'
            )
        if not (np.isfinite(damping) and damping >= 0):
            raise ParameterError(f'damping is {damping!r}; expected a number from 0')
        if not 0.01 <= concession <= 1:
            raise ParameterError(f'concession is {concession!r}; expected 0.01 to 1')
        self.concession = float(concession)
        self._about = np.array(about, float)
        if self._about.shape != (3,) or not np.isfinite(self._about).all():
            raise ParameterError(f'about is {about!r}; expected three finite numbers')
        groups = _group_table(priority)
        self._groups = groups if method == 'bounded' else np.ones((6, 1))
        self._thrusters, self._method = thrusters, method
        self._damping = float(damping)
        self._priority = priority
        self.pulses = PulseWidths(thrusters)
        self._effectors = fixed_equivalent_thrusters(thrusters)
        self.lower, self.upper = effector_limits(thrusters, self.pulses.lower, self.pulses.upper)
        self.extended = extended_thrust(thrusters, self.pulses.lower, self.pulses.upper)
        self._limit = np.maximum(self.upper, -self.lower)
        self._plans: dict[bytes, AllocationPlan] = {}

    def allocate(
        self,
        wrench: np.ndarray,
        *,
        failed: np.ndarray | None = None,
        residual: np.ndarray | None = None,
        previous: Mapping[str, np.ndarray] = NO_COMMANDS,
        dt: float = np.inf,
    ) -> Allocation:
        """Return the commands for a wrench (6,) in the body frame about the allocator's point.

        Args:
            wrench: N and N·m.
            failed: (n,) True for thrusters to leave out: they get 1500 µs and count as 0 N.
            residual: (n,) ``residual`` of the previous call, N. Passed from call to call, it makes
                the mean thrust the commanded one, which no single pulse width produces (error
                diffusion).
            previous: ``actuators`` of the previous call; missing: 0.
            dt: time since the previous call, s.

        Raises:
            ParameterError: the wrench is not six finite numbers, or the mask is not (n,).
        """
        wrench = _check_wrench(wrench)
        mask = self._mask(failed)
        plan = self._plan(mask)
        distribution = self._distribution(wrench, plan)
        return complete_allocation(
            wrench,
            distribution.thrust,
            saturated=bool((distribution.scale < 1.0).any()),
            matrix=plan.matrix,
            pulses=self.pulses,
            left_out=None if failed is None else mask,
            residual=residual,
            extended=self.extended,
            previous=previous,
            dt=dt,
        )

    def distribute(self, wrench: np.ndarray, *, failed: np.ndarray | None = None) -> Distribution:
        """Return the thrusts for a wrench (6,) before the dead zone and the rounding.

        Arguments and errors are those of :meth:`allocate`.
        """
        return self._distribution(_check_wrench(wrench), self._plan(self._mask(failed)))

    def _distribution(self, wrench: np.ndarray, plan: AllocationPlan) -> Distribution:
        lower, upper = self.lower, self.upper
        with np.errstate(over='ignore', invalid='ignore'):
            thrust = plan.gain @ wrench
        if (lower <= thrust).all() and (thrust <= upper).all():
            return Distribution(thrust, np.ones(plan.groups.shape[1]))
        demand, cut = group_demands(wrench, plan.groups)
        working = plan.working
        patterns = (plan.gain @ demand)[working] / plan.unit[:, None]
        if self._method == 'bounded':
            with np.errstate(over='ignore', invalid='ignore'):
                fractions, scale = scale_groups(
                    patterns, plan.free, plan.lower, plan.upper, self.concession
                )
        else:
            fractions, scale = scale_together(patterns, plan.lower, plan.upper)
        thrusts = np.zeros(len(thrust))
        thrusts[working] = fractions * plan.unit
        return Distribution(np.minimum(np.maximum(thrusts, lower), upper), scale * cut)

    def _mask(self, failed: np.ndarray | None) -> np.ndarray:
        count = len(self._thrusters)
        if failed is None:
            return np.zeros(count, bool)
        mask = np.asarray(failed, bool)
        if mask.shape != (count,):
            raise ParameterError(f'failed has shape {mask.shape}; expected ({count},)')
        return mask

    def plan(self, failed: np.ndarray | None = None) -> AllocationPlan:
        """Return the part that does not depend on the wrench, without failed (n,) thrusters."""
        return self._plan(self._mask(failed))

    def _plan(self, mask: np.ndarray) -> AllocationPlan:
        key = mask.tobytes()
        if key not in self._plans:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            self._plans[key] = self._new_plan(mask)
        return self._plans[key]

    def _new_plan(self, mask: np.ndarray) -> AllocationPlan:
        mask = np.asarray(effector_mask(self._thrusters, mask))
        unusable = mask | (self._limit <= 0)
        working = np.flatnonzero(~unusable)
        unit = self._limit[working]
        matrix = thrust_matrix(self._effectors, self._about, mask)
        gain, free = np.zeros((len(mask), 6)), np.zeros((len(working), 0))
        groups = self._groups
        if self._method == 'pseudo_inverse':
            gain[working] = _damped_inverse(matrix[:, working], self._damping)
        else:
            commanded = independent_axes(
                self._effectors,
                self._about,
                unusable,
                priority=self._priority,
                weakest=self._damping,
            )
            groups = groups * commanded[:, None]
            normalised = matrix[np.ix_(commanded, working)] * unit
            if normalised.size:
                # Full row rank: independent_axes() has left out the dependent axes.
                gain[np.ix_(working, commanded)] = unit[:, None] * np.linalg.pinv(normalised)
                free = np.linalg.svd(normalised)[2][len(normalised) :].T.copy()
        lower, upper = self.lower[working] / unit, self.upper[working] / unit
        return AllocationPlan(matrix, gain, groups, working, unit, lower, upper, free)


class NearestPulses(Protocol):
    """A table of pulse widths, searched by NumPy or by a compiled program."""

    def quantize(self, thrust: Array) -> tuple[Array, Array]:
        """Return pulse widths (n,) in µs and the thrusts (n,) in N that they produce."""


def complete_allocation(
    wrench: Array,
    thrust: Array,
    *,
    saturated: Any,
    matrix: Array,
    pulses: NearestPulses,
    left_out: Array | None,
    residual: Array | None,
    extended: ExtendedThrust | None,
    previous: Mapping[str, Array],
    dt: Any,
) -> Allocation:
    """Return the pulse widths for thrusts within their limits, and the achieved wrench.

    Args:
        wrench: commanded (6,), N and N·m.
        thrust: (n,) N of the fixed equivalents.
        saturated: () whether limits reduced the demand.
        matrix: (6, n) of the fixed equivalents.
        pulses: pulse widths of the thrusters.
        left_out: (n,) thrusters that get 1500 µs; None: none.
        residual: (n,) residual of the previous call, N, or None.
        extended: extended thrust of thrusters that turn; None: all are fixed.
        previous: commands (k,) of actuators at the previous call, by name; missing: 0.
        dt: s.
    """
    xp, angles, equivalent = namespace(wrench), None, thrust
    actuators: dict[str, Array] = {}
    if extended is not None:
        previous_angles = previous.get(extended.name)
        if previous_angles is None:
            previous_angles = constant(xp, np.zeros(len(extended.min_thrust)))
        thrust, angles = extended.resolve(equivalent, previous_angles, dt)
        actuators = {extended.name: angles}
        equivalent = extended.spread(thrust, angles)
    commanded = thrust if residual is None else _add_residual(thrust, residual)
    pwm, produced = pulses.quantize(commanded)
    new_residual = commanded - produced
    if left_out is not None:
        none = xp.zeros_like(thrust)
        pwm, produced = (
            xp.where(left_out, none + PWM_NEUTRAL, pwm),
            xp.where(left_out, none, produced),
        )
        new_residual = xp.where(left_out, none, new_residual)
    reached = matrix @ equivalent
    return Allocation(
        thrust=produced,
        pwm=pwm,
        achieved=matrix @ (produced if extended is None else extended.spread(produced, angles)),
        residual=new_residual,
        unachieved=unachieved_axes(wrench, reached),
        saturated=saturated,
        reached=reached,
        actuators=actuators,
    )


def group_demands(wrench: Array, groups: Array) -> tuple[Array, Array]:
    """Return the part (6, g) of a wrench (6,) in each group, and its reduction factors (g,).

    A part with a component beyond ``DEMAND_LIMIT`` is scaled down to it, so that the search does
    not overflow.
    """
    xp = namespace(wrench)
    demand = wrench[:, None] * groups
    peak = xp.max(xp.abs(demand), axis=0)
    reduction = DEMAND_LIMIT / xp.maximum(peak, DEMAND_LIMIT + xp.zeros_like(peak))
    return demand * reduction, reduction


def _add_residual(thrust: Array, residual: Array) -> Array:
    """Return thrusts (n,) plus residuals (n,), but 0 where no thrust is commanded."""
    xp = namespace(thrust)
    return thrust + xp.where(thrust == 0, xp.zeros_like(residual), residual)


def unachieved_axes(wrench: Array, achieved: Array) -> Array:
    """Return 1.0 for the axes (6,) of a wrench that fall short of it, else 0.0."""
    xp = namespace(wrench)
    required = (1 - SHORTFALL_FRACTION) * xp.abs(wrench) - SHORTFALL_TOLERANCE
    none = xp.zeros_like(wrench)
    return xp.where(xp.sign(wrench) * achieved < required, none + 1.0, none)


def _damped_inverse(matrix: np.ndarray, damping: float) -> np.ndarray:
    """Return Bᵀ(B Bᵀ + λ²E)⁻¹ by singular values, σ/(σ² + λ²), which is exact for λ = 0 too."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    usable = values > 1e-9 * np.max(values, initial=0.0)
    values = np.where(usable, values, 1.0)
    inverse = np.where(usable, values / (values**2 + damping**2), 0.0)
    return np.asarray(right.T @ (inverse[:, None] * left.T))


def _check_wrench(wrench: np.ndarray) -> np.ndarray:
    values = np.asarray(wrench, float)
    if values.shape != (6,) or not np.isfinite(values).all():
        raise ParameterError(f'wrench is {values.tolist()}; expected six finite numbers')
    return values


# Stages: actuators that produce part of a wrench; thrusters get the remainder (daisy chaining).


class AllocationStage(Protocol):
    """Allocation to an actuator that precedes the thrusters."""

    @property
    def axes(self) -> np.ndarray:
        """(6,) axes of the wrench that it can command, possibly only at speed."""

    def guide(self, setpoint: Array, height: Array) -> Array:
        """Return the set-points (12,) by which a controller attains the commanded ones.

        Args:
            setpoint: set-points (12,), NaN where free.
            height: z of the vehicle in map, m.
        """

    def allocate(self, wrench: Array, speed: Array) -> tuple[Array, Array]:
        """Return commands (k,) for a wrench (6,) at a surge speed, m/s, and their wrench (6,).

        Args:
            wrench: about the allocation's point, body frame.
            speed: () ahead, m/s.
        """


def allocation_stages(vehicle: Vehicle) -> dict[str, AllocationStage]:
    """Return the stages of a vehicle's actuators by name, in the order of their list."""
    return {a.name: _make_stage(a, vehicle) for a in actuators_of(vehicle) if a.stage}


def _make_stage(actuator: Actuator, vehicle: Vehicle) -> AllocationStage:
    label = f'actuator {actuator.name!r}: stage {actuator.stage!r}'
    make = guard_function(lambda: import_attribute(actuator.stage)(vehicle), label)
    return cast(AllocationStage, make())


def unreachable_axes(vehicle: Vehicle) -> tuple[str, ...]:
    """Return the axes that neither thrusters nor stages can command."""
    unreachable = controllability(vehicle.thrusters, vehicle.inertia.center_of_mass).unreachable
    commanded = np.zeros(6, bool)
    for stage in allocation_stages(vehicle).values():
        commanded |= stage.axes
    return tuple(axis for axis in unreachable if not commanded[BODY_AXES.index(axis)])


def allocate_in_stages(
    stages: Mapping[str, AllocationStage],
    allocate: Callable[[Array], Allocation],
    wrench: Array,
    speed: Array,
) -> Allocation:
    """Return the allocation of a wrench (6,) to the stages first, then to the thrusters.

    Args:
        stages: stages of the vehicle, by name of the actuator.
        allocate: allocation of a wrench among thrusters.
        wrench: body frame, about the allocation's point.
        speed: () ahead, m/s.
    """
    commands, contributions, remaining = {}, [], wrench
    for name, stage in stages.items():
        commands[name], contribution = stage.allocate(remaining, speed)
        contributions.append(contribution)
        remaining = remaining - contribution
    allocation = allocate(remaining)
    if not stages:
        return allocation
    achieved, reached = allocation.achieved, allocation.reached
    for contribution in contributions:
        achieved, reached = achieved + contribution, reached + contribution
    return replace(
        allocation,
        achieved=achieved,
        reached=reached,
        unachieved=unachieved_axes(wrench, reached),
        actuators={**allocation.actuators, **commands},
    )
