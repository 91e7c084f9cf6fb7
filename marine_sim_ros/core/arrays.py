# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which array library a computation runs on: the Python array API standard's one question."""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

__all__ = ['Array', 'constant', 'matvec', 'namespace', 'rows']

Array: TypeAlias = Any
"""An array of any library that follows the Python array API standard."""


_STANDARD_NUMPY = hasattr(np, 'vecdot')
"""Whether NumPy itself follows the standard (2.0 and later)."""


def namespace(array: Array) -> ModuleType:
    """Return the array API namespace of an array.

    NumPy 2, JAX and array-api-strict arrays name it themselves; older NumPy (1.26 of Ubuntu
    24.04) is served by array-api-compat.
    """
    if _STANDARD_NUMPY and type(array) is np.ndarray:
        return np  # the common case, and the cheapest test for it
    try:
        return array.__array_namespace__()  # type: ignore[no-any-return]
    except AttributeError:
        from array_api_compat import array_namespace

        return array_namespace(array)  # type: ignore[no-any-return]


def constant(xp: ModuleType, value: np.ndarray) -> Array:
    """Return a constant NumPy array as an array of namespace ``xp``."""
    return value if xp is np else xp.asarray(value)


def rows(xp: ModuleType, value: Array) -> Array:
    """Return a constant array (..., n) of something a vehicle has many of, as one of ``xp``."""
    if xp is np:
        return value
    return getattr(xp, 'rows', xp.asarray)(value)


def matvec(matrix: Array, vector: Array) -> Array:
    """Multiply matrices (..., m, n) by vectors (..., n); returns (..., m)."""
    if vector.ndim == 1:
        return matrix @ vector
    return (matrix @ vector[..., None])[..., 0]
