# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled rotations, twists, and equations: what the kernels of contact share.

Numba compiles the kernels where it is installed; without it the same functions run as they stand.
All arrays are of float64 but for numbers of bodies.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np

from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.core.extras import require

__all__ = [
    'add_cross',
    'add_matrix_product',
    'add_product',
    'add_skew',
    'add_transposed_product',
    'dot',
    'exponentiate',
    'factor',
    'inner_kernel',
    'inner_product',
    'kernel',
    'lever',
    'move_momentum',
    'multiply_quaternions',
    'report_kernels',
    'set_rotation',
    'set_transport_gradient',
    'solve',
    'turn',
    'turn_back',
]

_LOG = logging.getLogger(__name__)

try:
    require('numba', 'bodies in contact')
    from marine_sim_ros.geometry.bvh_kernels import compile_inner_kernel as inner_kernel
    from marine_sim_ros.geometry.bvh_kernels import compile_kernel as kernel
    from marine_sim_ros.geometry.bvh_kernels import report_compilation as report_kernels
except MissingPackageError as error:
    _unreported = [f'{error}; until then bodies move 20 to 90 times slower']

    def kernel(function):  # type: ignore[misc]
        """Return the function itself."""
        return function

    inner_kernel = kernel

    def report_kernels(report: Callable[[str], object] | None) -> None:
        """Report once by this function that Numba is missing; None: as a warning."""
        while _unreported:
            (report or _LOG.warning)(_unreported.pop())


# Rotations and twists.


@inner_kernel
def turn(matrix, vector, result):
    """Write R x."""
    for i in range(3):
        result[i] = matrix[i, 0] * vector[0] + matrix[i, 1] * vector[1] + matrix[i, 2] * vector[2]


@inner_kernel
def turn_back(matrix, vector, result):
    """Write Rᵀ x."""
    for i in range(3):
        result[i] = matrix[0, i] * vector[0] + matrix[1, i] * vector[1] + matrix[2, i] * vector[2]


@inner_kernel
def dot(a, b):
    """Return the product of two vectors (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inner_kernel
def lever(direction, point, result):
    """Write [d, r × d] (6,)."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        result[i] = direction[i]
        result[3 + i] = point[j] * direction[k] - point[k] * direction[j]


@inner_kernel
def set_rotation(quaternion, result):
    """Write R (3, 3) of a unit quaternion."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    result[0, 0], result[1, 1] = x * x - y * y - z * z + w * w, y * y - z * z - x * x + w * w
    result[2, 2] = z * z - x * x - y * y + w * w
    result[0, 1], result[1, 0] = 2 * x * y - 2 * z * w, 2 * x * y + 2 * z * w
    result[1, 2], result[2, 1] = 2 * y * z - 2 * x * w, 2 * y * z + 2 * x * w
    result[2, 0], result[0, 2] = 2 * z * x - 2 * y * w, 2 * z * x + 2 * y * w


@inner_kernel
def add_cross(factor, a, b, result):
    """Add a multiple of a x b to a vector (3,)."""
    result[0] += factor * (a[1] * b[2] - a[2] * b[1])
    result[1] += factor * (a[2] * b[0] - a[0] * b[2])
    result[2] += factor * (a[0] * b[1] - a[1] * b[0])


@inner_kernel
def add_product(factor, matrix, vector, result):
    """Add a multiple of A x to a vector."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        result[i] += factor * total


@inner_kernel
def add_transposed_product(factor, matrix, vector, result):
    """Add a multiple of Aᵀ x to a vector."""
    for i in range(matrix.shape[1]):
        total = 0.0
        for j in range(matrix.shape[0]):
            total += matrix[j, i] * vector[j]
        result[i] += factor * total


@inner_kernel
def inner_product(a, b):
    """Return the product of two vectors of one length."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@inner_kernel
def multiply_quaternions(a, b, result):
    """Write a ⊗ b; the result is another array than both."""
    for i in range(3):
        result[i] = a[3] * b[i] + b[3] * a[i]
    add_cross(1.0, a, b, result)
    result[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]


@inner_kernel
def exponentiate(twist, quaternion, rotation, translation):
    """Write exp(twist), as ``rotation_vector_quaternion`` and ``twist_translation`` say."""
    v, phi = twist[:3], twist[3:]
    square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    half = np.sqrt(square / 4 + 1e-30)
    sine = np.sin(half) / (2 * half)
    for i in range(3):
        quaternion[i] = phi[i] * sine
    quaternion[3] = np.cos(half)
    set_rotation(quaternion, rotation)
    if square < 1e-2:
        a = 1 / 2 - square / 24 * (1 - square / 30 * (1 - square / 56))
        b = 1 / 6 - square / 120 * (1 - square / 42 * (1 - square / 72))
    else:
        angle = np.sqrt(square)
        a = (np.sin(angle / 2) / (angle / 2)) ** 2 / 2
        b = (angle - np.sin(angle)) / angle**3
    x, y, z = (
        phi[1] * v[2] - phi[2] * v[1],
        phi[2] * v[0] - phi[0] * v[2],
        phi[0] * v[1] - phi[1] * v[0],
    )
    translation[0] = v[0] + a * x + b * (phi[1] * z - phi[2] * y)
    translation[1] = v[1] + a * y + b * (phi[2] * x - phi[0] * z)
    translation[2] = v[2] + a * z + b * (phi[0] * y - phi[1] * x)


@inner_kernel
def move_momentum(momentum, rotation, translation, result):
    """Write a momentum (6,) in the axes after a displacement."""
    p, about = momentum[:3], momentum[3:]
    x = about[0] - (translation[1] * p[2] - translation[2] * p[1])
    y = about[1] - (translation[2] * p[0] - translation[0] * p[2])
    z = about[2] - (translation[0] * p[1] - translation[1] * p[0])
    for i in range(3):
        a, b, c = rotation[0, i], rotation[1, i], rotation[2, i]
        result[i], result[3 + i] = a * p[0] + b * p[1] + c * p[2], a * x + b * y + c * z


@inner_kernel
def add_skew(factor, vector, result):
    """Add a multiple of S(a) to a matrix (3, 3)."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        result[i, j] -= factor * vector[k]
        result[j, i] += factor * vector[k]


@inner_kernel
def set_transport_gradient(moved, twist, rate, adjoint):
    """Write the factors (6, 6) of ∂P⁺/∂ξ, as ``transport_gradient`` of physics/rigid_body.py.

    Args:
        moved: P⁺ (6,), the momentum in the axes after a displacement.
        twist: ξ (6,) of the displacement.
        rate: first factor.
        adjoint: second factor.
    """
    for i in range(6):
        for j in range(6):
            rate[i, j], adjoint[i, j] = 0.0, 1.0 if i == j else 0.0
    add_skew(1.0, moved[:3], rate[:3, 3:])
    add_skew(1.0, moved[:3], rate[3:, :3])
    add_skew(1.0, moved[3:], rate[3:, 3:])
    add_skew(-0.5, twist[3:], adjoint[:3, :3])
    add_skew(-0.5, twist[:3], adjoint[:3, 3:])
    add_skew(-0.5, twist[3:], adjoint[3:, 3:])


@inner_kernel
def add_matrix_product(factor, a, b, result):
    """Add a multiple of A B to a matrix."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for p in range(a.shape[1]):
                total += a[i, p] * b[p, j]
            result[i, j] += factor * total


# Linear equations within a profile.


@inner_kernel
def factor(matrix):
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


@inner_kernel
def solve(factors, first, right):
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
