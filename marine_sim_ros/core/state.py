# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""State and wrench of a simulation, and stamps in whole nanoseconds."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.errors import ParameterError

__all__ = [
    'LIMITS',
    'NANOSECONDS',
    'State',
    'Wrench',
    'header_stamp',
    'is_physical',
    'state_at_rest',
    'stamp_ns',
    'step_nanoseconds',
    'ticks_of',
]


# Stamps in whole nanoseconds, and steps between them.

NANOSECONDS = 1_000_000_000
"""Nanoseconds per second."""


def header_stamp(data: bytes) -> int:
    """Return the stamp (ns) of a serialised message (CDR) that begins with a header."""
    sec, nanosec = struct.unpack_from('<iI' if data[1] & 1 else '>iI', data, 4)
    return int(sec) * NANOSECONDS + int(nanosec)


def stamp_ns(stamp: Any) -> int:
    """Return the stamp (ns) of a message's header."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def step_nanoseconds(dt: float) -> int:
    """Return a step in whole nanoseconds, at least one microsecond.

    Raises:
        ParameterError: not between 1 µs and 1 s.
    """
    if not 1e-6 <= dt <= 1.0:
        raise ParameterError(f'step is {dt} s; expected 0.000001 to 1')
    return round(dt * NANOSECONDS)


def ticks_of(duration: float, dt: float) -> int:
    """Number of ticks of a step in a duration (s), both ends included.

    Raises:
        ParameterError: not a step (1 µs to 1 s), or a duration shorter than one.
    """
    ticks = round(duration * NANOSECONDS) // step_nanoseconds(dt)
    if ticks < 1:
        raise ParameterError(
            f'the duration of {duration:g} s is shorter than one step; '
            f'expected at least {dt:g} s, or a smaller step (--dt)'
        )
    return ticks + 1


# State of the simulation, and wrench of a force.

FARTHEST = 1e8
"""Largest physical distance from the origin of ``map``, m: more than twice around the Earth."""
FASTEST = 1e3
"""Largest physical speed, m/s: two thirds of the speed of sound in water."""
FASTEST_TURN = 1e4
"""Largest physical turn rate, rad/s."""
LIMITS = f'up to {FARTHEST:g} m from the origin, {FASTEST:g} m/s and {FASTEST_TURN:g} rad/s'

_LARGEST = (FARTHEST,) * 3 + (FASTEST,) * 3 + (FASTEST_TURN,) * 3

Wrench: TypeAlias = Array
"""Generalised force (..., 6) [X, Y, Z, K, M, N] in N and N·m: body frame (FLU), about the
``base_link`` origin (SNAME 1950; Fossen 2011, table 2.1)."""


class State(NamedTuple):
    """Rigid-body state; a batch of vehicles has leading axes.

    Attributes:
        position: (..., 3) of the ``base_link`` origin in ``map`` (ENU), m.
        orientation: (..., 4) unit quaternion x, y, z, w that turns body (FLU) into map vectors.
        velocity: (..., 6) [u, v, w, p, q, r] of the ``base_link`` origin in the body frame,
            m/s and rad/s.
    """

    position: Array
    orientation: Array
    velocity: Array


def is_physical(position: Array, velocity: Array) -> Array:
    """Return whether states are finite and within ``LIMITS``, (...).

    Args:
        position: (..., 3) m.
        velocity: (..., 6) m/s and rad/s.
    """
    if position.ndim == 1:  # a tenth of the time
        pairs = zip((*position.tolist(), *velocity.tolist()), _LARGEST, strict=True)
        return np.bool_(all(-bound <= value <= bound for value, bound in pairs))
    largest = np.array(_LARGEST[3:])
    near = np.all(np.abs(position) <= FARTHEST, axis=-1)  # false for NaN
    return near & np.all(np.abs(velocity) <= largest, axis=-1)


def state_at_rest(
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0),
) -> State:
    """Return a NumPy state at rest at a position (m, map) with an attitude (x, y, z, w)."""
    return State(np.array(position, float), np.array(orientation, float), np.zeros(6))
