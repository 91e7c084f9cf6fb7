# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which array library a computation runs on: the Python array API standard's one question."""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from marine_sim_ros.core.numpy_standard import NUMPY

__all__ = ['NUMPY', 'Array', 'constant', 'matvec', 'namespace', 'rows']

Array: TypeAlias = Any
"""An array of any library that follows the Python array API standard."""


def namespace(array: Array, *others: Array) -> ModuleType:
    """Return the array API namespace of an array: NUMPY, or what JAX and others name.

    A Python number has that of the first of the others that is an array, or NUMPY.
    """
    if type(array) is np.ndarray:
        return NUMPY  # the common case, and the cheapest test for it
    if isinstance(array, np.ndarray | np.generic):
        return NUMPY
    if isinstance(array, int | float):
        return namespace(*others) if others else NUMPY
    return array.__array_namespace__()  # type: ignore[no-any-return]


def constant(xp: ModuleType, value: np.ndarray) -> Array:
    """Return a constant NumPy array as an array of namespace ``xp``."""
    return value if xp is NUMPY else xp.asarray(value)


def rows(xp: ModuleType, value: Array) -> Array:
    """Return a constant array (..., n) of something a vehicle has many of, as one of ``xp``."""
    if xp is NUMPY:
        return value
    return getattr(xp, 'rows', xp.asarray)(value)


def matvec(matrix: Array, vector: Array) -> Array:
    """Multiply matrices (..., m, n) by vectors (..., n); returns (..., m)."""
    if vector.ndim == 1:
        return matrix @ vector
    return (matrix @ vector[..., None])[..., 0]
