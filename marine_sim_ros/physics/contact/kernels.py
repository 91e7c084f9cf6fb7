# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kernels of contact: edges in convex bodies, and groups of bodies in a step.

Numba compiles them where it is installed; without it the same functions run as they stand. All
arrays are of float64 but for numbers of bodies.

*Edges.* The search and every rounding are those of physics/contact/edges.py, which serves all
array libraries: some 150 operations of NumPy on small arrays, 250 µs.

*Groups.* k bodies have n = 6 k velocities. Matrices (n, n) are factored within their profile, the
first element of each row and column, so that a chain or a stack costs in proportion to its bodies.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.core.extras import require

__all__ = [
    'advance_bodies',
    'constraint_rows',
    'contact_points',
    'couple_bodies',
    'find_deepest_points',
    'find_impulses',
    'start_motion',
]

try:
    require('numba', 'kernels of contact')
    from marine_sim_ros.geometry.bvh_kernels import compile_kernel
except MissingPackageError:

    def compile_kernel(function):  # type: ignore[misc]
        """Return the function itself."""
        return function


# Edges.


@compile_kernel
def _largest(c, d, t):
    """Return the first of the lines c + t d that are largest at t, and its value there."""
    best, value = 0, c[0] + t * d[0]
    for h in range(1, len(c)):
        other = c[h] + t * d[h]
        if other > value:
            best, value = h, other
    return best, value


@compile_kernel
def _intersection(c, d, low, high):
    """Return t where a descending and an ascending line meet, or an end; and whether they do."""
    if d[low] < 0.0 and d[high] >= 0.0:
        return min(max((c[high] - c[low]) / (d[low] - d[high]), 0.0), 1.0), True
    return (0.0 if d[low] >= 0.0 else 1.0), False


@compile_kernel
def _interval_below(c, d, level):
    """Return the interval in 0 to 1 in which all lines are below a level."""
    low, high = 0.0, 1.0
    for h in range(len(c)):
        if d[h] < 0.0:
            low = max(low, (level - c[h]) / d[h])
        elif d[h] > 0.0:
            high = min(high, (level - c[h]) / d[h])
    return min(low, 1.0), max(high, 0.0)


@compile_kernel
def _cut(c, d, low, high, line):
    """Find the lines (r,) that cut off the minima so far; return whether a minimum changes.

    A line is −1 where the minimum is at an end of the edge.
    """
    changes = False
    for r in range(len(c)):
        t, between = _intersection(c[r], d[r], low[r], high[r])
        k, h = _largest(c[r], d[r], t)[0], high[r]
        line[r] = k if between else -1
        excess = c[r, k] - c[r, h] + t * (d[r, k] - d[r, h])
        changes |= between and excess > 1e-12
    return changes


@compile_kernel
def _combine(weight, first, second, result):
    """Write the weighted mean of two normals; return the square of its length."""
    square = 0.0
    for i in range(3):
        result[i] = weight * first[i] + (1.0 - weight) * second[i]
        square += result[i] * result[i]
    return square


@compile_kernel
def find_deepest_points(c, d, normals, max_cuts, band, min_normal):
    """Return (f, n, 7) of f edges and n bodies: the deepest point of each edge in each body.

    The seven numbers are c and d of the combination of two lines, its normal, and the ends of the
    interval of t in which all lines are within ``band`` of their minimum.

    Args:
        c: (f, n, h) distances of the edges' starts beyond the faces of the bodies.
        d: (f, n, h) changes of these distances along the edges.
        normals: (n, h, 3) of the faces.
        max_cuts: largest number of steps.
        band: m.
        min_normal: length of a combined normal below which one of its two lines is used.
    """
    edges, bodies, faces = c.shape
    rows = edges * bodies
    c, d = c.reshape(rows, faces), d.reshape(rows, faces)
    low, high, line = np.empty((3, rows), np.int64)
    for r in range(rows):
        low[r], high[r] = _largest(c[r], d[r], 0.0)[0], _largest(c[r], d[r], 1.0)[0]
    for _ in range(max_cuts):
        if not _cut(c, d, low, high, line):
            break
        for r in range(rows):
            if line[r] >= 0 and d[r, line[r]] < 0.0:
                low[r] = line[r]
            elif line[r] >= 0:
                high[r] = line[r]
    found = np.empty((rows, 7))
    for r in range(rows):
        first, second, lines = low[r], high[r], normals[r % bodies]
        t, between = _intersection(c[r], d[r], first, second)
        level = _largest(c[r], d[r], t)[1] + band
        weight = 1.0 if d[r, first] >= 0.0 else 0.0
        if between:
            weight = d[r, second] / (d[r, second] - d[r, first])
        if _combine(weight, lines[first], lines[second], found[r, 2:5]) < min_normal * min_normal:
            weight = np.rint(weight)
            _combine(weight, lines[first], lines[second], found[r, 2:5])
        found[r, 0] = weight * c[r, first] + (1.0 - weight) * c[r, second]
        found[r, 1] = weight * d[r, first] + (1.0 - weight) * d[r, second]
        found[r, 5], found[r, 6] = _interval_below(c[r], d[r], level)
    return found.reshape(edges, bodies, 7)


@compile_kernel
def contact_points(start, along, deepest, length):
    """Return gaps (2 f n,), normals and points (2 f n, 3) at both ends of the intervals.

    Args:
        start: (f, 3) of the edges.
        along: (f, 3) from start to end.
        deepest: (f, n, 7) of :func:`find_deepest_points`.
        length: (f, n) of the normals in it.
    """
    edges, bodies, _ = deepest.shape
    gaps = np.empty(2 * edges * bodies)
    normals, points = np.empty((len(gaps), 3)), np.empty((len(gaps), 3))
    for i in range(len(gaps)):
        e, n = i // (2 * bodies), i // 2 % bodies
        line, t = deepest[e, n], deepest[e, n, 5 + i % 2]
        gaps[i] = (line[0] + t * line[1]) / length[e, n]
        for k in range(3):
            outward = line[2 + k] / length[e, n]
            normals[i, k] = -outward
            points[i, k] = start[e, k] + t * along[e, k] - gaps[i] * outward
    return gaps, normals, points


# Rotations and twists.


@compile_kernel
def _set_rotation(quaternion, result):
    """Write R (3, 3) of a unit quaternion."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    result[0, 0], result[1, 1] = x * x - y * y - z * z + w * w, y * y - z * z - x * x + w * w
    result[2, 2] = z * z - x * x - y * y + w * w
    result[0, 1], result[1, 0] = 2 * x * y - 2 * z * w, 2 * x * y + 2 * z * w
    result[1, 2], result[2, 1] = 2 * y * z - 2 * x * w, 2 * y * z + 2 * x * w
    result[2, 0], result[0, 2] = 2 * z * x - 2 * y * w, 2 * z * x + 2 * y * w


@compile_kernel
def _add_cross(factor, a, b, result):
    """Add a multiple of a x b to a vector (3,)."""
    result[0] += factor * (a[1] * b[2] - a[2] * b[1])
    result[1] += factor * (a[2] * b[0] - a[0] * b[2])
    result[2] += factor * (a[0] * b[1] - a[1] * b[0])


@compile_kernel
def _add_product(factor, matrix, vector, result):
    """Add a multiple of A x to a vector."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        result[i] += factor * total


@compile_kernel
def _multiply_quaternions(a, b, result):
    """Write a ⊗ b; the result is another array than both."""
    result[:3] = a[3] * b[:3] + b[3] * a[:3]
    _add_cross(1.0, a, b, result)
    result[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]


@compile_kernel
def _exponentiate(twist, quaternion, rotation, translation):
    """Write exp(twist), as ``rotation_vector_quaternion`` and ``twist_translation`` say."""
    v, phi = twist[:3], twist[3:]
    square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    half = np.sqrt(square / 4 + 1e-30)
    quaternion[:3], quaternion[3] = phi * (np.sin(half) / (2 * half)), np.cos(half)
    _set_rotation(quaternion, rotation)
    if square < 1e-2:
        a = 1 / 2 - square / 24 * (1 - square / 30 * (1 - square / 56))
        b = 1 / 6 - square / 120 * (1 - square / 42 * (1 - square / 72))
    else:
        angle = np.sqrt(square)
        a = (np.sin(angle / 2) / (angle / 2)) ** 2 / 2
        b = (angle - np.sin(angle)) / angle**3
    across = np.zeros(3)
    _add_cross(1.0, phi, v, across)
    translation[:] = v + a * across
    _add_cross(b, phi, across, translation)


@compile_kernel
def _transport(momentum, rotation, translation, result):
    """Write a momentum (6,) in the axes after a displacement."""
    about = momentum[3:].copy()
    _add_cross(-1.0, translation, momentum[:3], about)
    result[:] = 0.0
    _add_product(1.0, rotation.T, momentum[:3], result[:3])
    _add_product(1.0, rotation.T, about, result[3:])


@compile_kernel
def _add_skew(factor, vector, result):
    """Add a multiple of S(a) to a matrix (3, 3)."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        result[i, j] -= factor * vector[k]
        result[j, i] += factor * vector[k]


# Motion of a group.


@compile_kernel
def start_motion(vectors, matrices, conserving, dt):
    """Write what a step of k bodies needs besides its wrenches.

    Args:
        vectors: (8, k, 6): ν, ν* of the step and ν after it without any wrench, weight and
            buoyancy; written: the twist without ``space_wrench`` and contacts, momentum before the
            step, in the axes after that twist, and ν* in the axes before the step.
        matrices: (5, k, 6, 6): M, M + dt D and its inverse; written: these two in the axes before
            the step.
        conserving: (k,) whether a body's integrator is the conserving one.
        dt: step, s.
    """
    rotation, translation, quaternion = np.empty((3, 3)), np.empty(3), np.empty(4)
    for i in range(vectors.shape[1]):
        velocity, free, unforced, space = (
            vectors[0, i],
            vectors[1, i],
            vectors[2, i],
            vectors[3, i],
        )
        base, momentum, start = vectors[4, i], vectors[5, i], vectors[7, i]
        start[:], momentum[:] = free, 0.0
        _add_product(-dt, matrices[2, i], space, start)
        _add_product(1.0, matrices[0, i], velocity, momentum)
        base[:] = dt * start
        if conserving[i]:
            base += dt / 2 * (velocity - unforced)
        _exponentiate(base, quaternion, rotation, translation)
        _transport(momentum, rotation, translation, vectors[6, i])
        if not conserving[i]:
            rotation[:] = np.eye(3)
        for source in range(1, 3):
            _turn_blocks(rotation, matrices[source, i], matrices[source + 2, i])
        turned = np.zeros(6)
        _add_product(1.0, rotation, start[:3], turned[:3])
        _add_product(1.0, rotation, start[3:], turned[3:])
        start[:] = turned
        _add_product(dt, matrices[4, i], space, start)


@compile_kernel
def _turn_blocks(rotation, matrix, result):
    """Write T A Tᵀ of a matrix (6, 6), with T of one rotation in both blocks."""
    for row in range(0, 6, 3):
        for column in range(0, 6, 3):
            for i in range(3):
                for j in range(3):
                    total = 0.0
                    for p in range(3):
                        for q in range(3):
                            element = matrix[row + p, column + q]
                            total += rotation[i, p] * element * rotation[j, q]
                    result[row + i, column + j] = total


@compile_kernel
def advance_bodies(poses, passive, vectors, matrices, wrench, dt, max_iterations):
    """Return the integrators' wrenches (k, 6), poses and velocities after a step, and changes.

    The changes (k,) of the last iteration are relative to the momentum over the step; 0: the
    iteration of a body has converged.

    Args:
        poses: (k, 7) position and quaternion.
        passive: (k,) whether a body moves by this prediction.
        vectors: of :func:`start_motion`, like the matrices.
        wrench: (k, 6) of contacts and joints, in the axes before the step.
        dt: step, s.
        max_iterations: largest number of iterations.
    """
    count = len(poses)
    wrenches, velocities, changes = np.empty((count, 6)), np.empty((count, 6)), np.zeros(count)
    ends, total = poses.copy(), vectors[3] + wrench
    for i in range(count):
        changes[i] = _advance_body(
            ends[i], passive[i], vectors[:, i], matrices[:, i], total[i], wrenches[i],
            velocities[i], dt, max_iterations,
        )  # fmt: skip
    return wrenches, ends, velocities, changes


@compile_kernel
def _advance_body(
    pose, passive, vectors, matrices, wrench, reported, velocity, dt, max_iterations
):
    """Move one body; return the relative change of its last iteration, or 0."""
    momentum = vectors[5] + dt * wrench
    magnitude = np.max(np.abs(momentum)) / dt
    base, response = vectors[4].copy(), dt * dt * matrices[2]
    displacement, moved, twist = np.zeros(3), np.empty(6), np.empty(6)
    rotation, translation, turn = np.empty((3, 3)), np.empty(3), np.empty(4)
    if passive:
        _exponentiate(base, turn, rotation, displacement)
        _add_product(dt * dt, matrices[4, :3], wrench, displacement)
        _add_cross(-1.0, displacement, momentum[:3], momentum[3:])
        base[:3], response[:3] = 0.0, 0.0
    reported[:] = wrench
    change = 0.0
    for _ in range(max_iterations):
        twist[:] = base
        _add_product(1.0, response, reported, twist)
        _exponentiate(twist, turn, rotation, translation)
        _transport(momentum, rotation, translation, moved)
        correction = (moved - vectors[6]) / dt - reported
        _solve_transport(moved, twist, response, correction, dt)
        reported += correction
        change = np.max(np.abs(correction))
        if change <= 1e-15 * magnitude:
            change = 0.0
            break
    twist[:] = base
    _add_product(1.0, response, reported, twist)
    _exponentiate(twist, turn, rotation, translation)
    reported -= vectors[3]
    velocity[:] = vectors[1]
    _add_product(dt, matrices[2], reported, velocity)
    _set_rotation(pose[3:], rotation)
    _add_product(1.0, rotation, translation + displacement, pose[:3])
    quaternion = np.empty(4)
    _multiply_quaternions(pose[3:], turn, quaternion)
    pose[3:] = quaternion / np.sqrt(np.sum(quaternion * quaternion))
    return change / magnitude if change > 0.0 else 0.0


@compile_kernel
def _solve_transport(moved, twist, response, residual, dt):
    """Replace a residual (6,) by the solution of (1 − ∂P⁺/∂ξ response / dt) x = residual."""
    rate, adjoint = np.zeros((6, 6)), np.eye(6)
    _add_skew(1.0, moved[:3], rate[:3, 3:])
    _add_skew(1.0, moved[:3], rate[3:, :3])
    _add_skew(1.0, moved[3:], rate[3:, 3:])
    _add_skew(-0.5, twist[3:], adjoint[:3, :3])
    _add_skew(-0.5, twist[:3], adjoint[:3, 3:])
    _add_skew(-0.5, twist[3:], adjoint[3:, 3:])
    product, matrix = np.zeros((6, 6)), np.eye(6)
    for i in range(6):
        _add_product(1.0, adjoint, response[:, i].copy(), product[:, i])
    for i in range(6):
        _add_product(-1.0 / dt, rate, product[:, i].copy(), matrix[:, i])
    for k in range(6):  # by elimination with exchange of rows
        pivot = k + np.argmax(np.abs(matrix[k:, k]))
        for j in range(6):
            matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        residual[k], residual[pivot] = residual[pivot], residual[k]
        for i in range(k + 1, 6):
            factor = matrix[i, k] / matrix[k, k]
            matrix[i, k:] -= factor * matrix[k, k:]
            residual[i] -= factor * residual[k]
    for k in range(5, -1, -1):
        for j in range(k + 1, 6):
            residual[k] -= matrix[k, j] * residual[j]
        residual[k] /= matrix[k, k]


# Linear equations within a profile.


@compile_kernel
def _factor(matrix):
    """Factor a matrix of a symmetric profile into L U in its place; return the profile (n,).

    Without exchange of rows: for matrices near symmetric positive ones.
    """
    n = len(matrix)
    first = np.empty(n, np.int64)
    for i in range(n):
        first[i] = i
        for j in range(i):
            if matrix[i, j] != 0.0 or matrix[j, i] != 0.0:
                first[i] = j
                break
        for j in range(first[i], i):
            for p in range(max(first[i], first[j]), j):
                matrix[i, j] -= matrix[i, p] * matrix[p, j]
                matrix[j, i] -= matrix[j, p] * matrix[p, i]
            matrix[i, j] /= matrix[j, j]
        for p in range(first[i], i):
            matrix[i, i] -= matrix[i, p] * matrix[p, i]
    return first


@compile_kernel
def _solve(factors, first, right):
    """Return x (n,) of L U x = b."""
    x = right.copy()
    for i in range(len(x)):
        for p in range(first[i], i):
            x[i] -= factors[i, p] * x[p]
    for i in range(len(x) - 1, -1, -1):
        x[i] /= factors[i, i]
        for p in range(first[i], i):
            x[p] -= factors[p, i] * x[i]
    return x


# Joints.


@compile_kernel
def _joint_errors(joint, child, parent, error, direction):
    """Write errors (6,) and directions (6, 3) of a joint's constraints; return their two numbers.

    Args:
        joint: (20,) number of the type as in :func:`constraint_rows`, points of child and parent,
            axis, two vectors across it, and attitude at zero.
        child: (7,) pose of the child.
        parent: (7,) of the parent.
    """
    kind, own = int(joint[0]), np.empty((3, 3))
    frame, at_zero, gap = np.empty((3, 3)), np.empty((3, 3)), child[:3] - parent[:3]
    _set_rotation(child[3:], own)
    _set_rotation(parent[3:], frame)
    _add_product(1.0, own, joint[1:4], gap)
    _add_product(-1.0, frame, joint[4:7], gap)
    linear, angular = (2 if kind == 2 else 3), (0, 2, 3, 3)[kind]
    direction[:] = 0.0
    for i in range(linear):
        if kind == 2:
            _add_product(1.0, frame, joint[10 + 3 * i : 13 + 3 * i], direction[i])
        else:
            direction[i, i] = 1.0
        error[i] = np.sum(direction[i] * gap)
    if kind == 1:
        axis, along, child_axis = np.zeros(3), np.zeros(3), np.zeros(3)
        _set_rotation(joint[16:], at_zero)
        _add_product(1.0, at_zero.T, joint[7:10], along)
        _add_product(1.0, own, along, child_axis)
        _add_product(1.0, frame, joint[7:10], axis)
        turned = np.zeros(3)
        _add_cross(1.0, axis, child_axis, turned)
        for i in range(2):
            _add_product(1.0, frame, joint[10 + 3 * i : 13 + 3 * i], direction[linear + i])
            error[linear + i] = np.sum(direction[linear + i] * turned)
    elif angular:
        target, difference = np.empty(4), np.empty(4)
        _multiply_quaternions(parent[3:], joint[16:], target)
        target[:3] *= -1.0
        _multiply_quaternions(target, child[3:], difference)
        if difference[3] < 0.0:
            difference *= -1.0
        sine = np.sqrt(np.sum(difference[:3] * difference[:3]))
        scale = 2.0 if sine < 1e-12 else 2.0 * np.arctan2(sine, difference[3]) / sine
        error[linear : linear + 3] = 0.0
        _add_product(scale, own, difference[:3], error[linear : linear + 3])
        for i in range(3):
            direction[linear + i, i] = 1.0
    return linear, angular


@compile_kernel
def _joint_gaps(joints, ends, poses):
    """Return the errors (h,) of all constraints."""
    result, error, direction = np.empty(6 * len(joints)), np.empty(6), np.empty((6, 3))
    count, world = 0, np.zeros(7)
    world[6] = 1.0
    for k in range(len(joints)):
        parent = poses[ends[k, 1]] if ends[k, 1] >= 0 else world
        linear, angular = _joint_errors(joints[k], poses[ends[k, 0]], parent, error, direction)
        result[count : count + linear + angular] = error[: linear + angular]
        count += linear + angular
    return result[:count]


@compile_kernel
def constraint_rows(joints, ends, poses, inverses):
    """Return rows (h, n) of constraints, errors, directions (h, 3), joints, kinds, mobilities.

    A kind is 1 of a row about an axis, 0 of one along a direction; a mobility is e M⁻¹ eᵀ.

    Args:
        joints: (j, 20) types (0 ball, 1 revolute, 2 prismatic, 3 fixed) and geometry.
        ends: (j, 2) numbers of child and parent; −1: the world.
        poses: (k, 7) position and quaternion of the bodies.
        inverses: (k, 6, 6) of M.
    """
    size = 6 * len(joints)
    rows, errors, directions = (
        np.zeros((size, 6 * len(poses))),
        np.empty(size),
        np.empty((size, 3)),
    )
    owner, kinds = np.empty(size, np.int64), np.zeros(size, np.bool_)
    mobility, product = np.zeros(size), np.empty(6)
    world, rotation, local = np.zeros(7), np.empty((3, 3)), np.empty(3)
    world[6] = 1.0
    count = 0
    for k in range(len(joints)):
        child = poses[ends[k, 0]]
        parent = poses[ends[k, 1]] if ends[k, 1] >= 0 else world
        linear, angular = _joint_errors(
            joints[k], child, parent, errors[count : count + 6], directions[count : count + 6]
        )
        point = child[:3].copy()
        _set_rotation(child[3:], rotation)
        _add_product(1.0, rotation, joints[k, 1:4], point)
        for side in range(2):
            body = ends[k, side]
            if body < 0:
                continue
            sign, lever = (1.0, -1.0)[side], np.zeros(3)
            _set_rotation(poses[body, 3:], rotation)
            _add_product(1.0, rotation.T, point - poses[body, :3], lever)
            for i in range(count, count + linear + angular):
                local[:] = 0.0
                _add_product(sign, rotation.T, directions[i], local)
                row = rows[i, 6 * body : 6 * body + 6]
                if i < count + linear:
                    row[:3] = local
                    _add_cross(1.0, lever, local, row[3:])
                else:
                    row[3:] = local
                product[:] = 0.0
                _add_product(1.0, inverses[body], row, product)
                mobility[i] += np.sum(row * product)
        owner[count : count + linear + angular] = k
        kinds[count + linear : count + linear + angular] = True
        count += linear + angular
    return (
        rows[:count], errors[:count], directions[:count], owner[:count], kinds[:count],
        mobility[:count],
    )  # fmt: skip


@compile_kernel
def couple_bodies(
    inverses, free, rows, target, compliance, self_stress, joints, ends, poses, passive, vectors,
    matrices, dt, max_iterations, rounds,
):  # fmt: skip
    """Return λ (m,) of joints, ν̃* (n,), E M⁻¹ (m, n), and S (m, m) of S λ = b − E ν*.

    S = E M⁻¹ Eᵀ + r is as well-conditioned as the joints are, M + Eᵀ r⁻¹ E only as their stiffness
    allows. b of the constraints is found as in SHAKE.

    Args:
        inverses: (k, 6, 6) of M in the axes before the step.
        free: ν* (n,) in these axes.
        rows: E (m, n), the h constraints first.
        target: b (m,).
        compliance: r (m,).
        self_stress: (h, s) of :class:`~marine_sim_ros.physics.contact.joints.JointRows`.
        joints: of :func:`constraint_rows`, like ``ends`` and ``poses``.
        passive: of :func:`advance_bodies`, like the others.
        rounds: number of iterations for b.
    """
    bodies, count, constraints = len(poses), len(rows), len(self_stress)
    target, response, coupling = target.copy(), np.zeros(rows.shape), np.zeros((count, count))
    lines, responses = rows.reshape(count, bodies, 6), response.reshape(count, bodies, 6)
    moves = np.zeros((count, bodies), np.bool_)
    for i in range(count):
        for body in range(bodies):
            moves[i, body] = np.any(lines[i, body] != 0.0)
            if moves[i, body]:
                _add_product(1.0, inverses[body], lines[i, body], responses[i, body])
                for j in range(i + 1):
                    if moves[j, body]:
                        coupling[i, j] += np.sum(lines[i, body] * responses[j, body])
        coupling[i, i] += compliance[i]
        coupling[:i, i] = coupling[i, :i]
    factors = coupling.copy()
    first, wrench, speeds = _factor(factors), np.empty(rows.shape[1]), np.zeros(count)
    impulse = speeds
    _add_product(1.0, rows, free, speeds)
    for iteration in range(rounds + 1):
        impulse = _solve(factors, first, target - speeds)
        if iteration == rounds:
            break
        wrench[:] = 0.0
        _add_product(1.0 / dt, rows.T, impulse, wrench)
        moved = advance_bodies(
            poses, passive, vectors, matrices, wrench.reshape(bodies, 6), dt, max_iterations
        )[1]
        for i in range(constraints):  # E ν = b − r λ
            target[i] -= compliance[i] * impulse[i]
        target[:constraints] -= _joint_gaps(joints, ends, moved) / dt
        scale = np.sqrt(compliance[:constraints])
        for s in range(self_stress.shape[1]):
            stress = np.sum(self_stress[:, s] * target[:constraints] / scale)
            target[:constraints] -= stress * scale * self_stress[:, s]
    joined = free.copy()
    _add_product(1.0, response.T, impulse, joined)
    return impulse, joined, response, coupling


# Impulses of contacts.


@compile_kernel
def _respond(rows, compliance, friction_scale, demanded, impulse, sliding, gradient):
    """Write γ (3, c), directions of sliding (2, c) and −∂γ/∂v (c, 3, 3) at unbounded impulses.

    The same as ``_contact_response`` and ``_response_gradient`` of physics/contact/solver.py.
    """
    _, _, _, friction, joint, fixed, tiny, _ = rows
    bound, kept, magnitude = np.empty(2), np.empty(2), np.empty(2)
    for c in range(demanded.shape[1]):
        normal = max(demanded[0, c], 0.0)
        impulse[0, c] = normal
        stiffness = 1.0 / compliance[0, c] if normal > 0.0 else 0.0
        gradient[c] = 0.0
        gradient[c, 0, 0] = stiffness
        for i in range(2):
            own, other = demanded[1 + i, c], demanded[2 - i, c]
            magnitude[i] = np.sqrt(own * own + joint[c] * (other * other))
            bound[i] = friction_scale * friction[i, c] * normal + fixed[i, c]
            largest = max(magnitude[i], bound[i]) + tiny
            kept[i] = bound[i] / largest
            sliding[i, c] = own / largest if magnitude[i] > bound[i] else 0.0
            impulse[1 + i, c] = kept[i] * own
        for i in range(2):
            own, other = sliding[i, c], sliding[1 - i, c]
            gradient[c, 1 + i, 0] = friction_scale * friction[i, c] * own * stiffness
            gradient[c, 1 + i, 1 + i] = kept[i] * (1.0 - own * own) / compliance[1 + i, c]
            across = kept[i] * own * joint[c] * other / compliance[2 - i, c]
            gradient[c, 1 + i, 2 - i] = -across


@compile_kernel
def _speeds(jacobian, columns, sizes, velocity, result):
    """Write J ν (3, c) from the columns (c, w) of each contact, of which some count."""
    for c in range(len(columns)):
        for r in range(3):
            total = 0.0
            for column in columns[c, : sizes[c]]:
                total += jacobian[r, c, column] * velocity[column]
            result[r, c] = total


@compile_kernel
def _add_impulses(jacobian, columns, sizes, impulse, result):
    """Add Jᵀ γ to a vector (n,)."""
    for c in range(len(columns)):
        for column in columns[c, : sizes[c]]:
            for r in range(3):
                result[column] += jacobian[r, c, column] * impulse[r, c]


@compile_kernel
def _multiply_each(gradient, values, result):
    """Write the product of each contact's matrix (c, 3, 3) with its column of (3, c)."""
    for c in range(len(gradient)):
        for i in range(3):
            total = 0.0
            for j in range(3):
                total += gradient[c, i, j] * values[j, c]
            result[i, c] = total


@compile_kernel
def _used_columns(jacobian):
    """Return the columns (c, w) in which each contact has a speed, and how many those are (c,)."""
    result, sizes = np.zeros(jacobian.shape[1:], np.int64), np.zeros(jacobian.shape[1], np.int64)
    for c in range(len(result)):
        for column in range(jacobian.shape[2]):
            if np.any(jacobian[:, c, column] != 0.0):
                result[c, sizes[c]] = column
                sizes[c] += 1
    return result, sizes


@compile_kernel
def _add_stiffness(jacobian, columns, sizes, gradient, result):
    """Add Jᵀ (−∂γ/∂v) J to a matrix (n, n)."""
    line = np.empty((3, result.shape[1]))
    for c in range(len(columns)):
        for column in columns[c, : sizes[c]]:
            for i in range(3):
                line[i, column] = 0.0
                for j in range(3):
                    line[i, column] += gradient[c, i, j] * jacobian[j, c, column]
        for a in columns[c, : sizes[c]]:
            for b in columns[c, : sizes[c]]:
                for i in range(3):
                    result[a, b] += jacobian[i, c, a] * line[i, b]


@compile_kernel
def find_impulses(rows, damps, mass, guess, schedule):
    """Return the impulses γ (3, c), and Jᵀ γ (n,), of :func:`..solver.solve_impulses`.

    Args:
        rows: J (3, c, n), target (3, c), compliance (3, c), friction (2, c), joint (c,) and fixed
            bound (2, c) of ``ContactRows``, the impulse that counts as zero, and the precision
            until which what has converged is refined.
        damps: whether contacts that reverse their sliding stick between.
        mass: M (n, n), symmetric, positive.
        guess: (3, c) impulses to start from, N·s.
        schedule: (4, s) factors of the compliances and of friction, precision, and damping, by
            iteration.
    """
    jacobian, target, softest, _, joint, _, tiny, refined = rows
    (columns, sizes), count, shape = _used_columns(jacobian), guess.shape[1], guess.shape
    impulse, constant, corrected = np.empty(shape), np.empty(shape), np.empty(shape)
    mismatch, speeds, demanded = target - softest * guess, np.empty(shape), guess.copy()
    sliding, gradient, before = np.empty((2, count)), np.empty((count, 3, 3)), np.empty((2, count))
    change, right = np.zeros(len(mass)), np.empty(len(mass))
    _respond(rows, softest, 1.0, demanded, impulse, sliding, gradient)
    result, smallest, step = impulse.copy(), np.inf, 0
    while step < schedule.shape[1] - 1:
        step += 1 if smallest == np.inf else 0  # what has converged is refined
        _multiply_each(gradient, mismatch, constant)
        constant += impulse
        factors = mass.copy()
        _add_stiffness(jacobian, columns, sizes, gradient, factors)
        first = _factor(factors)
        right[:] = 0.0
        _add_product(-1.0, mass, change, right)
        _add_impulses(jacobian, columns, sizes, constant, right)
        moved = _solve(factors, first, right)
        change += moved
        _speeds(jacobian, columns, sizes, change, speeds)
        compliance = schedule[0, step] * softest
        demanded[:] = (target - speeds) / compliance
        mismatch[:] = 0.0
        turns, before[:] = False, sliding
        for c in range(count):
            for i in range(2):
                along = before[i, c] * demanded[1 + i, c]
                along += joint[c] * (before[1 - i, c] * demanded[2 - i, c])
                if damps and schedule[3, step] > 0.0 and along < 0.0:
                    turns = True
                    mismatch[1 + i, c] = demanded[1 + i, c] * compliance[1 + i, c]
            for i in range(1, 3):
                if mismatch[i, c] != 0.0:
                    demanded[i, c] = 0.0
        _speeds(jacobian, columns, sizes, moved, speeds)
        _multiply_each(gradient, speeds, corrected)
        stiffness = gradient.copy()
        _respond(rows, compliance, schedule[1, step], demanded, impulse, sliding, gradient)
        error = impulse - constant + corrected
        right[:] = 0.0
        _add_impulses(jacobian, columns, sizes, error, right)
        _speeds(jacobian, columns, sizes, _solve(factors, first, right), speeds)
        _multiply_each(stiffness, speeds, corrected)
        corrected[:] = impulse - corrected
        size, largest = np.max(np.abs(error)), np.max(np.abs(impulse))
        converged = size <= schedule[2, step] * largest + tiny and not turns
        if smallest < np.inf and not (converged and size < smallest / 4):
            break
        result[:] = corrected
        if converged:
            smallest = size
            if size <= refined * largest:
                break
    right[:] = 0.0
    _add_impulses(jacobian, columns, sizes, result, right)
    return result, right
