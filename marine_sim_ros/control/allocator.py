# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Allocates a commanded wrench to thrusts within the thrusters' limits, and their pulse widths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np

from marine_sim_ros.control.controllability import (
    AXIS_PRIORITY,
    BODY_AXES,
    WEAK_AUTHORITY,
    ExtendedThrust,
    controllability,
    effector_limits,
    effector_mask,
    extended_thrust,
    fixed_equivalent_thrusters,
    independent_axes,
    thrust_matrix,
)
from marine_sim_ros.control.thrust_limits import PulseWidths, scale_groups, scale_together
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.registry import import_attribute
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle
from marine_sim_ros.physics import Actuator, actuators_of
from marine_sim_ros.physics.actuator import NO_COMMANDS
from marine_sim_ros.physics.force import guard_function
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL

__all__ = [
    'Allocation',
    'AllocationStage',
    'Allocator',
    'AllocationPlan',
    'allocate_in_stages',
    'allocation_stages',
    'group_demands',
    'complete_allocation',
    'unachieved_axes',
    'unreachable_axes',
]

ALLOCATION_METHODS = ('bounded', 'pseudo_inverse')
CONCESSION = 0.05
FAR_BEYOND = 1e9
MAX_PLANS = 64
SHORT_SHARE, SHORT_LEAST = 0.01, 1e-6


@dataclass(frozen=True, eq=False)
class Distribution:
    """Thrusts before they become pulse widths.

    Attributes:
        thrust: (n,) N, within the limits; (n + k) where k turn, see
            :mod:`~marine_sim_ros.control.controllability`.
        scale: (g,) of each priority group, 1 where achieved in full; (1,) of all together with
            'pseudo_inverse'.
    """

    thrust: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True, eq=False)
class Allocation:
    """What to send to the thrusters, and what comes of it.

    Attributes:
        thrust: (n,) N that the pulse widths make, within the limits and out of the dead zone.
        pwm: (n,) whole µs.
        achieved: (6,) wrench of those thrusts about the allocator's point, body frame.
        residual: (n,) N that rounding and dead zone took from the thrusts.
        unachieved: (6,) 1.0 for axes whose wrench falls short of the command by more than 1 %
            because of limits or unreachable axes; rounding to pulse widths does not count.
        saturated: whether limits took something from the demand.
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
            axis for axis, less in zip(BODY_AXES, self.unachieved.tolist(), strict=True) if less
        )


@dataclass(frozen=True, eq=False)
class AllocationPlan:
    """All that does not depend on the wrench, for one set of working thrusters.

    With k thrusters that turn n counts the fixed_equivalent_thrusters of
    :mod:`~marine_sim_ros.control.controllability`.

    Attributes:
        matrix: (6, n) of the working thrusters.
        gain: (n, 6) thrust of a wrench, N per N and per N·m.
        groups: (6, g) with 1 where an axis is in a group and can be held.
        working: (m,) indices of thrusters that can do something.
        unit: (m,) larger limit of each of them, N; shares are of this.
        lower: (m,) shares.
        upper: (m,) shares.
        free: (m, d) orthonormal, shares that do nothing together.
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
    named = [axis for group in priority for axis in group]
    for axis in named:
        if axis not in BODY_AXES:
            raise ParameterError(f'priority: no axis {axis!r}; expected {", ".join(BODY_AXES)}')
        if named.count(axis) > 1:
            raise ParameterError(f'priority: {axis} is named twice; expected each axis once')
    rows = [[float(axis in group) for group in priority] for axis in BODY_AXES]
    return np.array(rows).reshape(6, len(priority))


class Allocator:
    """Shares a wrench out among thrusters.

    'bounded': the thrusts f of least Σ(fᵢ/limitᵢ)² with B f = τ, where those are within their
    limits. Where not, groups of axes are scaled back, the lowest priority first, each keeping its
    direction: B f = Σ_g s_g τ_g with lower ≤ f ≤ upper, s₁ as large as there is but for a small
    concession, then s₂, and so on (see
    :func:`~marine_sim_ros.control.thrust_limits.scale_groups`). Limits are those of each
    thruster at 1100 and 1900 µs, forward and reverse. B has the rows of the axes that can be held
    (see :func:`~marine_sim_ros.control.controllability.independent_axes`): the command of another
    axis is ignored, and what it gets is whatever the thrusts for the rest bring along. So an axis
    out of reach neither takes thrust nor spoils another one, at the price of an unasked moment (an
    Investigator-90 pitches by 0.035 N·m per N of heave).

    'pseudo_inverse': damped least squares, f = Bᵀ(B Bᵀ + λ²E)⁻¹ τ with all six axes, N and N·m
    alike; where a thrust is beyond its limit, all are scaled back together. For λ → 0 that is
    the Moore-Penrose inverse, which spreads what is out of reach over the axes that it depends on.

    Thrusters that turn are two each, see :mod:`~marine_sim_ros.control.controllability`.

    Priorities act in 'bounded' only. An axis that no group names is left to itself.
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
            damping: λ, N or N·m per N of thrust; for 'bounded' an axis of which the thrusters
                make no more than that is out of reach.
            priority: groups of axes, highest first.
            concession: c, share of the most that a group can have that it leaves to lower groups
                when not all fits, 0.01 to 1.

        Raises:
            ParameterError: any of these is not what is expected.
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
        before: Mapping[str, np.ndarray] = NO_COMMANDS,
        dt: float = np.inf,
    ) -> Allocation:
        """Return the commands for a wrench (6,) in the body frame about the allocator's point.

        Args:
            wrench: N and N·m.
            failed: (n,) True for thrusters to leave alone: they get 1500 µs and count as 0 N.
            residual: (n,) thrust that rounding and the dead zone took from earlier calls. With
                each call's ``residual`` given to the next, the mean thrust is the commanded
                one, though no single pulse width makes it (error diffusion).
            before: the call's ``actuators`` before; missing: 0.
            dt: time since it, s.

        Raises:
            ParameterError: the wrench is not six finite numbers, or the mask is not (n,).
        """
        wrench = _check_method(wrench)
        mask = self._mask(failed)
        plan = self._plan(mask)
        found = self._distribution(wrench, plan)
        return complete_allocation(
            wrench,
            found.thrust,
            saturated=bool((found.scale < 1.0).any()),
            matrix=plan.matrix,
            pulses=self.pulses,
            left_out=None if failed is None else mask,
            residual=residual,
            extended=self.extended,
            before=before,
            dt=dt,
        )

    def distribute(self, wrench: np.ndarray, *, failed: np.ndarray | None = None) -> Distribution:
        """Return the thrusts for a wrench (6,) before the dead zone and the rounding.

        Arguments and errors are those of :meth:`allocate`.
        """
        return self._distribution(_check_method(wrench), self._plan(self._mask(failed)))

    def _distribution(self, wrench: np.ndarray, plan: AllocationPlan) -> Distribution:
        lower, upper = self.lower, self.upper
        with np.errstate(over='ignore', invalid='ignore'):
            thrust = plan.gain @ wrench
        if (lower <= thrust).all() and (thrust <= upper).all():
            return Distribution(thrust, np.ones(plan.groups.shape[1]))
        demand, cut = group_demands(wrench, plan.groups)
        i = plan.working
        patterns = (plan.gain @ demand)[i] / plan.unit[:, None]
        if self._method == 'bounded':
            with np.errstate(over='ignore', invalid='ignore'):
                shares, scale = scale_groups(
                    patterns, plan.free, plan.lower, plan.upper, self.concession
                )
        else:
            shares, scale = scale_together(patterns, plan.lower, plan.upper)
        found = np.zeros(len(thrust))
        found[i] = shares * plan.unit
        return Distribution(np.minimum(np.maximum(found, lower), upper), scale * cut)

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
        dead = mask | (self._limit <= 0)
        i = np.flatnonzero(~dead)
        unit = self._limit[i]
        matrix = thrust_matrix(self._effectors, self._about, mask)
        gain, free = np.zeros((len(mask), 6)), np.zeros((len(i), 0))
        groups = self._groups
        if self._method == 'pseudo_inverse':
            gain[i] = _damped_inverse(matrix[:, i], self._damping)
        else:
            held = independent_axes(
                self._effectors, self._about, dead, priority=self._priority, weakest=self._damping
            )
            groups = groups * held[:, None]
            of_shares = matrix[np.ix_(held, i)] * unit
            if of_shares.size:
                # Full row rank: held_axes() gave up the rest.
                gain[np.ix_(i, held)] = unit[:, None] * np.linalg.pinv(of_shares)
                free = np.linalg.svd(of_shares)[2][len(of_shares) :].T.copy()
        lower, upper = self.lower[i] / unit, self.upper[i] / unit
        return AllocationPlan(matrix, gain, groups, i, unit, lower, upper, free)


class NearestPulses(Protocol):
    """A table of pulse widths, searched by NumPy or by a compiled program."""

    def quantize(self, thrust: Array) -> tuple[Array, Array]:
        """Return pulse widths (n,) in µs and the thrusts (n,) in N that they make."""


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
    before: Mapping[str, Array],
    dt: Any,
) -> Allocation:
    """Return the pulse widths for thrusts within their limits, and the wrench that they make.

    Args:
        wrench: commanded (6,), N and N·m.
        thrust: (n,) N of the fixed_equivalent_thrusters.
        saturated: () whether limits took something from the demand.
        matrix: (6, n) of the fixed_equivalent_thrusters.
        pulses: pulse widths of the thrusters.
        left_out: (n,) thrusters that get 1500 µs; None: none.
        residual: (n,) thrusts that are owed, N, or None.
        extended: of the thrusters that turn, or None.
        before: commands (k,) of actuators dt before, by name; missing: 0.
        dt: s.
    """
    xp, angles, shares = namespace(wrench), None, thrust
    actuators: dict[str, Array] = {}
    if extended is not None:
        turned = before.get(extended.name)
        if turned is None:
            turned = constant(xp, np.zeros(len(extended.least)))
        thrust, angles = extended.resolve(shares, turned, dt)
        actuators = {extended.name: angles}
        shares = extended.spread(thrust, angles)
    commanded = thrust if residual is None else _add_residual(thrust, residual)
    pwm, made = pulses.quantize(commanded)
    owed = commanded - made
    if left_out is not None:
        none = xp.zeros_like(thrust)
        pwm, made = xp.where(left_out, none + PWM_NEUTRAL, pwm), xp.where(left_out, none, made)
        owed = xp.where(left_out, none, owed)
    reached = matrix @ shares
    return Allocation(
        thrust=made,
        pwm=pwm,
        achieved=matrix @ (made if extended is None else extended.spread(made, angles)),
        residual=owed,
        unachieved=unachieved_axes(wrench, reached),
        saturated=saturated,
        reached=reached,
        actuators=actuators,
    )


def group_demands(wrench: Array, groups: Array) -> tuple[Array, Array]:
    """Return the share (6, g) of a wrench (6,) that each group asks for, and by what it was cut.

    What is far beyond any limit is cut, in its direction, to what can be computed with.
    """
    xp = namespace(wrench)
    demand = wrench[:, None] * groups
    most = xp.max(xp.abs(demand), axis=0)
    cut = FAR_BEYOND / xp.maximum(most, FAR_BEYOND + xp.zeros_like(most))
    return demand * cut, cut


def _add_residual(thrust: Array, residual: Array) -> Array:
    """Return thrusts (n,) with what is owed (n,) added to those that are wanted at all."""
    xp = namespace(thrust)
    return thrust + xp.where(thrust == 0, xp.zeros_like(residual), residual)


def unachieved_axes(wrench: Array, achieved: Array) -> Array:
    """Return 1.0 for the axes (6,) of a wrench that are clearly not achieved, else 0.0."""
    xp = namespace(wrench)
    least = (1 - SHORT_SHARE) * xp.abs(wrench) - SHORT_LEAST
    none = xp.zeros_like(wrench)
    return xp.where(xp.sign(wrench) * achieved < least, none + 1.0, none)


def _damped_inverse(matrix: np.ndarray, damping: float) -> np.ndarray:
    """Return Bᵀ(B Bᵀ + λ²E)⁻¹ by singular values, σ/(σ² + λ²), which is exact for λ = 0 too."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    usable = values > 1e-9 * np.max(values, initial=0.0)
    values = np.where(usable, values, 1.0)
    inverse = np.where(usable, values / (values**2 + damping**2), 0.0)
    return np.asarray(right.T @ (inverse[:, None] * left.T))


def _check_method(wrench: np.ndarray) -> np.ndarray:
    values = np.asarray(wrench, float)
    if values.shape != (6,) or not np.isfinite(values).all():
        raise ParameterError(f'wrench is {values.tolist()}; expected six finite numbers')
    return values


# Stages: actuators that take part of a wrench before the thrusters get the rest (daisy chaining).


class AllocationStage(Protocol):
    """An actuator that takes part of a wrench."""

    @property
    def axes(self) -> np.ndarray:
        """(6,) axes of the wrench that it can command, at speed at least."""

    def guide(self, wanted: Array, height: Array) -> Array:
        """Return the set-points (12,) with which a controller reaches given ones, NaN where free.

        Args:
            wanted: set-points (12,), NaN where free.
            height: z of the vehicle in map, m.
        """

    def share(self, wrench: Array, speed: Array) -> tuple[Array, Array]:
        """Return commands (k,) for a wrench (6,) at a surge speed, m/s, and the wrench (6,) made.

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
    lost = controllability(vehicle.thrusters, vehicle.inertia.center_of_mass).unreachable
    steered = np.zeros(6, bool)
    for stage in allocation_stages(vehicle).values():
        steered |= stage.axes
    return tuple(axis for axis in lost if not steered[BODY_AXES.index(axis)])


def allocate_in_stages(
    stages: Mapping[str, AllocationStage],
    allocate: Callable[[Array], Allocation],
    wrench: Array,
    speed: Array,
) -> Allocation:
    """Return the allocation of a wrench (6,) among stages first, then thrusters.

    Args:
        stages: of the vehicle, by name of the actuator.
        allocate: allocation of a wrench among thrusters.
        wrench: body frame, about the allocation's point.
        speed: () ahead, m/s.
    """
    commands, made, rest = {}, [], wrench
    for name, stage in stages.items():
        commands[name], part = stage.share(rest, speed)
        made.append(part)
        rest = rest - part
    found = allocate(rest)
    if not stages:
        return found
    achieved, reached = found.achieved, found.reached
    for part in made:
        achieved, reached = achieved + part, reached + part
    return replace(
        found,
        achieved=achieved,
        reached=reached,
        unachieved=unachieved_axes(wrench, reached),
        actuators={**found.actuators, **commands},
    )
