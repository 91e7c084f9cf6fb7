# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces of other packages: each failure of theirs is one RunError with their name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, namespace
from marine_sim_ros.core.control_flow import traced
from marine_sim_ros.core.errors import MarineSimError, RunError
from marine_sim_ros.physics.force import ForceModel, ForceStep

__all__ = ['guarded_force']

_FUNCTIONS = ('begin', 'applies', 'check')


def guarded_force(force: ForceModel, owner: str) -> ForceModel:
    """Return a force whose functions raise RunError where they fail.

    Args:
        force: force of another package.
        owner: name of the entry and of its package, for the message.
    """
    functions: dict[str, Any] = {
        name: _guarded(function, f'{owner}: {name}')
        for name in _FUNCTIONS
        if (function := getattr(force, name)) is not None
    }
    return replace(force, step=_checked(force.step, owner), **functions)


def _guarded(function: Callable[..., Any], label: str) -> Callable[..., Any]:
    """Return a function whose exceptions, but those for the user, are RunError."""

    @wraps(function)
    def guarded(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except (MarineSimError, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit too, which would end the run as if done
            said = ' '.join(f'{type(error).__name__}: {error}'.split())
            raise RunError(f'{label} failed: {said}; expected its package to be mended') from error

    return guarded


def _checked(step: ForceStep, owner: str) -> ForceStep:
    """Return a guarded step whose result is a finite wrench and a memory."""
    inner = _guarded(step, f'{owner}: step')

    @wraps(step)
    def checked(vehicle: Any, state: Any, *others: Any, dt: Any) -> tuple[Array, Any]:
        result = inner(vehicle, state, *others, dt=dt)
        if not isinstance(result, tuple) or len(result) != 2:
            raise RunError(
                f'{owner}: step returned {type(result).__name__}; expected (wrench, memory)'
            )
        wrench, memory = result
        return _wrench(wrench, state.velocity, owner), memory

    return checked


def _wrench(wrench: Any, velocity: Array, owner: str) -> Array:
    """Return a wrench of the shape of the velocity, finite where its numbers are known."""
    xp = namespace(velocity)
    if xp is not NUMPY and not traced(xp):
        return wrench
    try:
        numbers = np.asarray(wrench, float) if xp is NUMPY else wrench
        fits = np.shape(numbers)[-1:] == (6,)
        fits = fits and np.broadcast_shapes(np.shape(numbers), velocity.shape) == velocity.shape
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise RunError(
            f'{owner}: step returned a wrench {_described(wrench)}; expected {velocity.shape}, '
            'N and N·m'
        )
    if xp is NUMPY and not np.isfinite(numbers).all():
        raise RunError(f'{owner}: step returned the wrench {numbers}; expected finite numbers')
    return numbers


def _described(wrench: Any) -> str:
    shape = getattr(wrench, 'shape', None)
    return f'of type {type(wrench).__name__}' if shape is None else f'of shape {shape}'
