# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Small systems of linear equations, and few of many numbers, for every array library."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.control_flow import traced

__all__ = ['inverse', 'least', 'linear_solve']


def _eliminated(work: Array) -> Array:
    """Return what Gauss-Jordan elimination leaves right of [A | B] (..., n, n + k), A⁻¹ B.

    Without pivoting: for matrices near symmetric positive ones. Compiled, n = 6, it is a tenth
    of a call of LAPACK with its exchange of rows.
    """
    xp, n = namespace(work), work.shape[-2]
    for k in range(n):
        own = constant(xp, np.arange(n)[:, None] == k)
        row = work[..., k : k + 1, :] / work[..., k : k + 1, k : k + 1]
        work = xp.where(own, row, work - work[..., :, k : k + 1] * row)
    return work[..., n:]


def linear_solve(matrix: Array, vector: Array) -> Array:
    """Return A⁻¹ b (..., n) of matrices (..., n, n) and vectors (..., n)."""
    xp = namespace(vector)
    if not traced(xp):
        return xp.linalg.solve(matrix, vector[..., None])[..., 0]
    column = vector[..., None] + xp.zeros_like(matrix[..., :1])
    return _eliminated(xp.concat([matrix + 0 * column, column], axis=-1))[..., 0]


def inverse(matrix: Array) -> Array:
    """Return A⁻¹ (..., n, n)."""
    xp = namespace(matrix)
    if not traced(xp):
        return xp.linalg.inv(matrix)
    eye = constant(xp, np.eye(matrix.shape[-1])) + xp.zeros_like(matrix)
    return _eliminated(xp.concat([matrix, eye], axis=-1))


def least(values: Array, count: int) -> Array:
    """Return the places (..., count) of the least values (..., n), in their order.

    They are compared in single precision; of equal ones the first counts. XLA's sort would take
    70 µs, its search for the largest takes 2.
    """
    xp = namespace(values)
    single = xp.astype(values, xp.float32)
    if not traced(xp):
        return xp.argsort(single, axis=-1, stable=True)[..., :count]
    from jax import lax

    return lax.top_k(-single, count)[1]
