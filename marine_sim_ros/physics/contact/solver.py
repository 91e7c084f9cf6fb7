# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact solver: impulses of all contacts over one step, by Newton's method on velocities.

The velocity ν after a step is where

    M (ν − ν*) = Jᵀ γ(J ν),

ν* being the velocity without contact and γ the impulses of the contacts at their velocities:
γ_n = max(0, (b_n − v_n)/r_n) along the normal, and along the tangents (b_t − v_t)/r_t, bounded by
Coulomb's law μ γ_n. A body has six unknowns for any number of contacts; bodies that touch each
other are solved together, stacked in ν, M and the columns of J. γ is piecewise smooth. Newton's
method starts from the impulses of the step before, and takes one or two iterations for steady
contact. If it has not converged after six, as in impacts, the problem is solved with compliances r
of about the body's own mobility, where γ is nearly linear, and then with ever stiffer ones, each
from the previous solution (continuation). Source: Castro et al. (2022), "An unconstrained convex
formulation of compliant contact", for compliant contacts over a body's velocities; here with
Coulomb's bound itself instead of their convex cone, so that a sliding body is not lifted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace, while_loop
from marine_sim_ros.core.numerics import matrix_inverse
from marine_sim_ros.core.spatial import cross, normalize
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.physics.contact.detection import FAR_DISTANCE, SKIN, lever_rows
from marine_sim_ros.physics.contact.edges import ContactGeometry
from marine_sim_ros.physics.contact.pair_coefficients import MIN_INDENTATION, PairCoefficients
from marine_sim_ros.physics.wrench_observer import StepPrediction

__all__ = [
    'ContactArrays',
    'ContactRows',
    'adhesion_force',
    'contact_axes',
    'solve_contacts',
    'solve_contact_arrays',
]


# Impulses at the contacts of rigid bodies, found by Newton's method over their n velocities.

_DESCENTS = (4.0, 6), (2.0, 14), (1.4, 28), (4.0, 6)
_SOFTNESS = np.concatenate(
    [np.ones(7)] + [r ** np.maximum(np.arange(n, -6, -1), 0.0) for r, n in _DESCENTS]
)
"""Factors of the compliances by iteration: three descents, each slower, and a last one without
contact friction, which always converges; about 1 of 1,000 problems at steps of 0.1 s needs it."""
_FRICTION_SCALES = np.where(np.arange(len(_SOFTNESS)) < len(_SOFTNESS) - 12, 1.0, 0.0)
_PRECISION = np.full(len(_SOFTNESS), 3e-4)
_PRECISION[-13] = 0.1
"""Convergence tolerance of impulses before the last correction, relative to the largest; the
correction reduces the error to about its square. Before friction is dropped, 0.1 is accepted:
single precision may get no further."""
_DAMPED = np.where(np.arange(len(_SOFTNESS)) < 3, 0.0, 1.0)
"""1 in iterations in which contacts do not reverse their sliding at once, beside drives, stops
and friction of joints: what a drive presses may alternate between sliding forth and back."""
_SCHEDULE = np.stack([_SOFTNESS, _FRICTION_SCALES, _PRECISION, np.roll(_DAMPED, 1)])
_REFINED = 1e-10
"""Convergence tolerance for groups of bodies, which iterate on as long as the error decreases."""
_MIN_IMPULSE = 1e-12
"""Impulse that counts as zero, N·s; also added to divisors."""


class ContactRows(NamedTuple):
    """Linearised problem of c contacts.

    The first of three components is along the normal, the others along the surface.

    Attributes:
        jacobian: J (3, c, n).
        target: b − J ν* (3, c) m/s; the normal velocity is kept from falling below b, friction
            works towards it.
        compliance: r (3, c), 1/kg.
        friction: μ (2, c).
        joint: (c,) 1: the bound applies to the length of the tangential impulse, 0: to each
            component.
        fixed_bound: (2, c) added to the bound μ γ_n, N·s; None: 0.
    """

    jacobian: Array
    target: Array
    compliance: Array
    friction: Array
    joint: Array
    fixed_bound: Array | None


class _ContactResponse(NamedTuple):
    """Impulses of contacts at given velocities, and their derivatives.

    Attributes:
        impulse: γ (3, c).
        kept_fraction: (2, c) fraction of the unbounded friction within the bound, at most 1.
        sliding: (2, c) direction of sliding contacts, else 0.
        normal_gradient: (2, c) ∂γ_t/∂γ_n of sliding contacts.
    """

    impulse: Array
    kept_fraction: Array
    sliding: Array
    normal_gradient: Array


class _NewtonIterate(NamedTuple):
    """Iterate of Newton's method.

    Attributes:
        steps: number.
        compliance: r (3, c) of the answer, 1/kg.
        change: ν − ν* (n,).
        mismatch: (3, c) velocity, m/s, by which the initial impulses are inconsistent with ν.
        response: impulses and derivatives at ν.
        impulses: corrected γ (3, c).
        done: () whether it has converged.
    """

    steps: Array
    compliance: Array
    change: Array
    mismatch: Array
    response: _ContactResponse
    impulses: Array
    done: Array


def _contact_response(
    rows: ContactRows, demanded: Array, friction_scale: Array | float = 1.0
) -> _ContactResponse:
    """Return the impulses of contacts with unbounded values (b − v)/r (3, c)."""
    xp, tangential = namespace(demanded), demanded[1:, :]
    normal = xp.maximum(demanded[:1, :], 0.0)
    friction = friction_scale * rows.friction
    bound = friction * normal
    if rows.fixed_bound is not None:
        bound = bound + rows.fixed_bound
    square = tangential * tangential
    magnitude = xp.sqrt(square + rows.joint * square[::-1, :])
    largest = xp.maximum(magnitude, bound) + _MIN_IMPULSE
    kept_fraction = bound / largest
    sliding = xp.where(magnitude > bound, tangential / largest, 0.0)
    impulse = xp.concat([normal, kept_fraction * tangential])
    return _ContactResponse(impulse, kept_fraction, sliding, friction * sliding)


def _response_gradient(rows: ContactRows, response: _ContactResponse, lines: Array) -> Array:
    """Return −∂γ/∂v (n + 1, 3 c) applied to velocities by 1/r (n + 1, 3, c)."""
    xp, tangential = namespace(lines), lines[:, 1:, :]
    normal = xp.where(response.impulse[:1, :] > 0, lines[:, :1, :], 0.0)
    sliding_part = response.sliding * tangential
    sliding_part = sliding_part + rows.joint * sliding_part[:, ::-1, :]
    tangential = (
        response.kept_fraction * (tangential - response.sliding * sliding_part)
        + response.normal_gradient * normal
    )
    return xp.reshape(xp.concat([normal, tangential], axis=1), (lines.shape[0], -1))


def _reversed_sliding(rows: ContactRows, before: _ContactResponse, demanded: Array) -> Array:
    """Return a mask (3, c): 1 of the tangents whose sliding has turned round in an iteration."""
    xp = namespace(demanded)
    along = before.sliding * demanded[1:, :]
    along = along + rows.joint * along[::-1, :]
    turned = xp.astype(along < 0, demanded.dtype)
    return xp.concat([xp.zeros_like(turned[:1, :]), turned])


def solve_impulses(rows: ContactRows, mass: Array, guess: Array) -> tuple[Array, Array]:
    """Return the impulses γ (3, c) of all contacts in a step, and Jᵀ γ (n,), N·s.

    Momentum is conserved to rounding; friction and stiffness are met to about 1e-6.

    Args:
        mass: M (n, n), symmetric, positive.
        guess: (3, c) impulses to start from, N·s.
    """
    xp, shape, n = namespace(mass), guess.shape, mass.shape[0]
    lines = xp.reshape(rows.jacobian, (-1, n))
    columns = xp.matrix_transpose(lines)
    shaped = xp.reshape(columns, (n, *shape))
    softness, friction_scale, precision, damped = (
        constant(xp, t) for t in (_SOFTNESS, _FRICTION_SCALES, _PRECISION, _DAMPED)
    )

    def newton_step(iterate: _NewtonIterate) -> _NewtonIterate:
        weighted = xp.concat([shaped, iterate.mismatch[None, ...]]) / iterate.compliance
        gradient = _response_gradient(rows, iterate.response, weighted)
        stiffness_columns = xp.matrix_transpose(gradient[:n, :])
        constant_impulse = xp.reshape(iterate.response.impulse, (-1,)) + gradient[n, :]
        mobility = matrix_inverse(mass + columns @ stiffness_columns)
        step = mobility @ (columns @ constant_impulse - mass @ iterate.change)
        change = iterate.change + step
        compliance = softness[iterate.steps + 1] * rows.compliance
        demanded = (rows.target - xp.reshape(lines @ change, shape)) / compliance
        turned = None
        if rows.fixed_bound is not None:  # between the two it sticks: the next step starts there
            turned = damped[iterate.steps] * _reversed_sliding(rows, iterate.response, demanded)
        response = _contact_response(
            rows,
            demanded if turned is None else (1 - turned) * demanded,
            friction_scale[iterate.steps + 1],
        )
        impulse = xp.reshape(response.impulse, (-1,))
        mismatch = impulse - (constant_impulse - stiffness_columns @ step)
        # One more correction with the same derivatives is almost free.
        corrected = impulse - stiffness_columns @ (mobility @ (columns @ mismatch))
        largest = precision[iterate.steps + 1] * xp.max(xp.abs(impulse)) + _MIN_IMPULSE
        converged = xp.max(xp.abs(mismatch)) <= largest
        return _NewtonIterate(
            iterate.steps + 1,
            compliance,
            change,
            xp.zeros_like(demanded) if turned is None else turned * demanded * compliance,
            response,
            xp.reshape(corrected, shape),
            converged if turned is None else converged & ~xp.any(turned > 0),
        )

    start, initial_mismatch = _contact_response(rows, guess), rows.target - rows.compliance * guess
    zero = xp.zeros_like(mass[0, :])
    impulses = while_loop(
        xp,
        lambda now: (now.steps < len(_SOFTNESS) - 1) & ~now.done,
        newton_step,
        _NewtonIterate(
            0, rows.compliance, zero, initial_mismatch, start, start.impulse, zero[0] != 0
        ),
    ).impulses
    return impulses, columns @ xp.reshape(impulses, (-1,))


# Targets and compliances of contacts; the method is described in contact.py.

_RIGID_COMPLIANCE = 1e-4
"""Compliance of rigid contacts, as a fraction of the inverse mass at the point."""
_BRISTLE = 1e-3
"""Compliance of friction, as a fraction of the inverse mass at the point."""
_MIN_BOUNCE_SPEED = 0.01
"""Speed below which impacts do not rebound, m/s."""
_MAX_EXIT_SPEED = 0.2
"""Largest speed at which a deep penetration is resolved, m/s."""
_GUESS = np.array([[1.0], [1 + 1e-6], [1 + 1e-6]])
"""Initial impulses relative to the step before: friction slightly larger, so that a sliding
contact starts as sliding."""


def adhesion_force(pairs: PairCoefficients, gap: Array) -> Array:
    """Return the adhesion (c,) in N: that of a shape, divided among its pairs in contact."""
    xp = namespace(gap)
    touching = xp.astype(-gap > pairs.adhesive_overlap - SKIN, gap.dtype)
    same_group = xp.astype(pairs.group[:, None] == pairs.group[None, :], gap.dtype)
    return pairs.adhesion_force * touching / xp.maximum(same_group @ touching, 1.0)


_AXES, _UP = np.eye(3)[:2, None, :], np.eye(3)[2]


def contact_axes(normal: Array, primary: Array | None) -> Array:
    """Return (3, c, 3): normals n and two unit tangents, the first along a primary direction.

    Where that is normal to the surface, zero or None, they are x and y reflected by the reflection
    of z to ±n: x − n_x w, y − n_y w with w = (n ± z)/(1 + |n_z|).
    """
    xp, up = namespace(normal), normal[:, 2:]
    mirror = (normal + xp.where(up < 0, constant(xp, -_UP), constant(xp, _UP))) / (1 + xp.abs(up))
    components = xp.matrix_transpose(normal[:, :2])
    across = constant(xp, _AXES) - components[..., None] * mirror
    if primary is not None:
        tangent = primary - xp.vecdot(primary, normal)[:, None] * normal
        has_direction = xp.vecdot(tangent, tangent)[:, None] > 1e-8
        first = normalize(xp.where(has_direction, tangent, across[0, :, :]))
        across = xp.stack([first, cross(normal, first)])
    return xp.concat([normal[None, :, :], across])


def _target_velocities(
    pairs: PairCoefficients,
    gap: Array,
    incoming: Array,
    free: Array,
    dt: float,
    held_impulse: Array,
) -> tuple[Array, Array, Array]:
    """Return the target normal velocity (c,), m/s, compliance, and exit speed, m/s, of contacts.

    Args:
        gap: (c,) m.
        incoming: normal velocity (c,) before the step, m/s.
        free: (c,) after it, without contact.
        dt: step, s.
        held_impulse: (c,) normal impulse of the step before, N·s.
    """
    xp = namespace(gap)
    penetrating, effective_step = gap <= 0, dt + pairs.spook_damping
    compliance = 1 / (pairs.stiffness(gap) * dt * effective_step)
    # The cap applies to the speed above that which the held impulse accounts for.
    target = xp.minimum(
        -gap / xp.where(penetrating, effective_step, dt),
        _MAX_EXIT_SPEED + compliance * held_impulse,
    )
    # Velocity changes by other forces within a step do not count as an impact.
    threshold = _MIN_BOUNCE_SPEED + 2 * xp.maximum(incoming - free, 0.0)
    rebounds = (gap + dt * free < 0) & (incoming < -threshold) & (pairs.restitution > 0)
    exit_speed = xp.where(rebounds, 0.0, xp.maximum(target, 0.0))
    bounce = xp.maximum(-pairs.restitution * incoming, target)
    target = xp.where(rebounds, bounce, target)
    return target, xp.where(penetrating & ~rebounds, compliance, 0.0), exit_speed


def solve_contacts(
    pairs: PairCoefficients,
    touch: ContactGeometry,
    state: State,
    step: StepPrediction,
    previous: Array,
    adhesion: Array | None,
    drift: Array | None = None,
) -> tuple[Wrench, Array]:
    """Return the wrench (6,) of contacts over a step, and their impulses (c, 3).

    Args:
        pairs: coefficients of c pairs.
        touch: gaps, normals and points of the contacts.
        state: state of the body.
        step: motion under the other wrenches.
        previous: impulses (c, 3) of the step before, body frame, N·s.
        adhesion: (c,) of :func:`adhesion_force`, N; None: no adhesion.
        drift: (c, 3) velocity of a vehicle's points relative to it, m/s; None: 0.
    """
    directions = contact_axes(touch.normal, pairs.primary_in_body(state.orientation))
    jacobian = lever_rows(directions, touch.point[None, :, :])
    xp, dt = namespace(touch.gap), step.dt
    normal, adhesion_wrench = jacobian[0, :, :], 0.0
    if adhesion is not None:
        adhesion_wrench = -(adhesion @ normal)
        step = step._replace(free=step.free + dt * (step.inverse @ adhesion_wrench))
    incoming, free = normal @ state.velocity, jacobian @ step.free
    if drift is not None:
        point_speed = xp.vecdot(directions, drift[None, :, :])
        incoming, free = incoming + point_speed[0, :], free + point_speed
    previous_components = xp.vecdot(directions, previous[None, :, :])
    previous_normal, previous_tangential = (
        xp.maximum(previous_components[0, :], 0.0),
        previous_components[1:, :],
    )
    target, normal_compliance, exit_speed = _target_velocities(
        pairs, touch.gap, incoming, free[0, :], dt, previous_normal
    )
    mobility = xp.vecdot(jacobian @ step.inverse, jacobian)
    normal_regularised = xp.maximum(_RIGID_COMPLIANCE * mobility[:1, :], normal_compliance)
    # Equal in both tangents, so that sliding friction opposes the direction of sliding.
    bristle = _BRISTLE / 2 * (mobility[1:2, :] + mobility[2:, :])
    stretch = bristle * previous_tangential
    friction, fixed = pairs.friction, None
    if pairs.lagged is not None:
        is_lagged = pairs.lagged * xp.astype(previous_normal > 0, previous_normal.dtype)
        friction, fixed = friction * (1 - is_lagged), friction * is_lagged * previous_normal
    rows = ContactRows(
        jacobian,
        xp.concat([target[None, :], stretch]) - free,
        xp.concat([normal_regularised, bristle + pairs.viscosity / dt]),
        friction,
        pairs.joint,
        fixed,
    )
    guess = constant(xp, _GUESS) * previous_components
    impulses, impulse = solve_impulses(rows, step.mass, guess)
    physical = xp.concat([xp.maximum(impulses[:1, :], 0.0), impulses[1:, :]])
    allowed = physical[0, :] @ exit_speed + xp.sum(stretch * previous_tangential) / 2
    if drift is not None:  # work of the joints' drives
        allowed = allowed + xp.sum(xp.abs(impulses * point_speed))
    wrench = _limit_energy(step, impulse, allowed) / dt + adhesion_wrench
    return wrench, xp.sum(physical[..., None] * directions, axis=0)


def _limit_energy(step: StepPrediction, impulse: Array, allowed: Array) -> Array:
    """Return an impulse p (n,) scaled so that it adds no more than the allowed energy, J.

    The scale s solves pᵀν* s + pᵀM⁻¹p s²/2 = allowed, at most 1. Rebounds of several points with
    friction can add energy (Kane's paradox), and so can a search that has not converged.
    """
    xp = namespace(impulse)
    a = impulse @ (step.inverse @ impulse) + 1e-30
    b = impulse @ step.free
    scale = (xp.sqrt(b * b + 2 * a * allowed) - b) / a
    return xp.minimum(scale * (1 + 1e-9), 1.0) * impulse


# The same by compiled kernels, for groups of bodies and scenes with meshes.

_HELD_MOBILITY = 1e-5
"""Fraction of a contact's mobility below which joints hold its bodies apart or together."""
_CONSTANTS = (
    _RIGID_COMPLIANCE,
    _BRISTLE,
    _MIN_BOUNCE_SPEED,
    _MAX_EXIT_SPEED,
    MIN_INDENTATION,
    SKIN,
    _HELD_MOBILITY,
    FAR_DISTANCE,
    float(_GUESS[1, 0]),
    _MIN_IMPULSE,
)
_NO_MATRIX, _NO_DRIFT, _NO_POSE = np.zeros((0, 0)), np.zeros((0, 3)), np.zeros((1, 4, 3))
_SCENE_COLUMNS = np.array([[0, -1]])


class ContactArrays(NamedTuple):
    """Contacts of bodies that touch the scene or each other, as the kernels take them.

    Attributes:
        ends: (p,) ends of the contacts of each pair of bodies.
        columns: (p, 2) of the first body and of the second in ν; −1: the scene.
        attitudes: (p, 4) quaternion of the first body in map.
        poses: (p, 4, 3) R of the first body in the frame of the second, and its place.
        values: (c, 7) gap, normal and point in the frame of the first body.
        coefficients: (18, c) of ``PairTable``.
        previous: impulses (c, 3) of the step before, N·s.
        drift: velocities (c, 3) of points relative to their body, m/s; or (0, 3).
    """

    ends: np.ndarray
    columns: np.ndarray
    attitudes: np.ndarray
    poses: np.ndarray
    values: np.ndarray
    coefficients: np.ndarray
    previous: np.ndarray
    drift: np.ndarray = _NO_DRIFT

    @classmethod
    def with_scene(
        cls,
        state: State,
        values: np.ndarray,
        coefficients: np.ndarray,
        previous: np.ndarray,
        drift: np.ndarray | None,
    ) -> ContactArrays:
        """Return the contacts of one body with the scene."""
        return cls(
            np.array([len(values)]),
            _SCENE_COLUMNS,
            state.orientation[None],
            _NO_POSE,
            values,
            coefficients,
            previous,
            _NO_DRIFT if drift is None else drift,
        )


@lru_cache(maxsize=64)
def _no_rows(n: int) -> tuple[np.ndarray, ...]:
    shapes = (3, 0, n), (3, 0), (3, 0), (2, 0), (0,), (2, 0)
    return tuple(map(np.zeros, shapes))


def solve_contact_arrays(
    contacts: ContactArrays,
    velocity: np.ndarray,
    step: StepPrediction,
    others: ContactRows | None = None,
    unjoined: StepPrediction | None = None,
    *,
    refined: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the wrenches (n,) of bodies, and the impulses of contacts (c, 3) and rows (3, o).

    Args:
        contacts: c contacts.
        velocity: ν (n,) of all bodies.
        step: their motion under the other wrenches, with joints.
        others: o further rows, such as joint limits, with b as their target; None: none.
        unjoined: their motion without joints; None: they have none.
        refined: whether to iterate on as long as the error decreases; for groups of bodies.
    """
    from marine_sim_ros.physics.contact.kernels import touches

    mass, inverse, free, dt = step
    return touches.solve_touches(  # type: ignore[no-any-return]
        contacts,
        (velocity, mass, inverse, free, dt, _NO_MATRIX if unjoined is None else unjoined.inverse),
        _no_rows(len(free)) if others is None else tuple(others),
        (*_CONSTANTS, _REFINED if refined else np.inf),
        _SCHEDULE,
    )
