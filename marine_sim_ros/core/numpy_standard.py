# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""NumPy as the Python array API standard has it: NumPy 1.26 lacks names that NumPy 2 has."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

__all__ = ['NUMPY']


def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return Σ x₁ᵢ x₂ᵢ along an axis, added up by the same routine as NumPy 2's."""
    if axis != -1:
        x1, x2 = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    return (np.conj(x1)[..., None, :] @ x2[..., None])[..., 0, 0]


def _cumulative_sum(x: Any, /, *, axis: int = -1) -> Any:
    return np.cumsum(x, axis)


_LACKING = {
    'acos': np.arccos,
    'asin': np.arcsin,
    'argsort': lambda x, /, *, axis=-1, stable=True: np.argsort(x, axis, kind='stable'),
    'atan': np.arctan,
    'atan2': np.arctan2,
    'bool': np.bool_,
    'concat': np.concatenate,
    'cumulative_sum': _cumulative_sum,
    'permute_dims': np.transpose,
    'pow': np.power,
    'vecdot': _vecdot,
}


def _reduction(function: Any) -> Any:
    def reduce(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
        return function.reduce(x, axis=axis, keepdims=keepdims)

    return reduce


_SHORTER = {
    'all': _reduction(np.logical_and),
    'any': _reduction(np.logical_or),
    'astype': lambda x, dtype, /, *, copy=True: x.astype(dtype, copy=copy),
    'matrix_transpose': lambda x, /: x.swapaxes(-1, -2),
    'max': _reduction(np.maximum),
    'min': _reduction(np.minimum),
    'reshape': lambda x, shape, /: x.reshape(shape),
    'sum': _reduction(np.add),
    'take': lambda x, indices, /, *, axis=None: x.take(indices, axis),
}
"""What NumPy's own functions do after a microsecond of looking at their arguments; 1.26 lacks
two of them."""


def _standard() -> ModuleType:
    module = ModuleType('numpy')
    module.__dict__.update(vars(np) | ({} if hasattr(np, 'vecdot') else _LACKING) | _SHORTER)
    return module


NUMPY = _standard()
"""NumPy with all names of the standard that the package uses, frequent ones without detours."""
