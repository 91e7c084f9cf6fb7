# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reel of a tether: division of the cable into segments, drum and clutch.

A node is fixed to a point of the cable. With the unwound length L and pieces of length p, the
first k = ⌊L/p − ½⌋ segments are whole, the next one reaches the drum and has the remaining ½ p to
1½ p, and the nodes beyond it are on the drum, where they move with the anchor and have no weight.
So arrays keep their shapes, resting nodes stay at rest, and the division depends on L only.

The clutch slips where the tension at the drum would exceed the limit T_m. The tension within the
step is that of :func:`~marine_sim_ros.physics.cable_forces.cable_segments`; afterwards the
segment's unstretched length becomes d/(1 + T_m/E A), d the distance of its ends, at most the one
with the whole cable unwound (:func:`slip_clutch`). So the clutch dissipates T_m Δl.

After the drum has turned, nodes are wound or unwound (:func:`redistribute_nodes`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.model.tether import CableState, Tether

__all__ = [
    'CableDivision',
    'count_whole_segments',
    'divide_cable',
    'redistribute_nodes',
    'resample_nodes',
    'slip_clutch',
    'turn_drum',
]


# A reel at the anchor: division of the cable, rotation of the drum, clutch.


class CableDivision(NamedTuple):
    """Division of a cable into n segments.

    Attributes:
        rest_length: (..., n) unstretched lengths of the segments, m; 0 on the drum.
        divisor_length: (..., n) the same, but ``piece`` on the drum: never 0.
        is_whole: (..., n) 1 for segments that do not reach the drum, else 0.
        at_drum: (..., n) 1 for the segment that does; None without a reel.
        free: (..., n + 1) whether a node is off the drum; None without a reel.
        max_rest_length: (...) of the segment at the drum with the whole cable unwound, m.
    """

    rest_length: Array
    divisor_length: Array
    is_whole: Array
    at_drum: Array | None = None
    free: Array | None = None
    max_rest_length: Array | None = None


def count_whole_segments(tether: Tether, length: Array) -> Array:
    """Return the number (...) of segments that do not reach the drum."""
    xp = namespace(length)
    count = xp.floor(length / tether.piece - 0.5)
    return xp.clip(count, 0.0, tether.segments - 1.0)


def divide_cable(tether: Tether, state: CableState) -> CableDivision:
    """Return the division of a cable into segments."""
    xp = namespace(state.position)
    ones = xp.ones_like(state.position[..., 1:, 0])
    if state.length is None:
        rest_length = tether.piece * ones
        return CableDivision(rest_length, rest_length, ones)
    assert tether.reel is not None
    assert state.whole_count is not None
    number = constant(xp, np.arange(tether.segments + 1.0))
    count = state.whole_count
    at_drum_length = state.length - count * tether.piece
    is_whole = ones * (number[:-1] < count[..., None])
    at_drum = ones * (number[:-1] == count[..., None])
    divisor_length = tether.piece * (1.0 - at_drum) + at_drum_length[..., None] * at_drum
    max_rest_length = tether.reel.maximum - count * tether.piece
    free = number <= count[..., None]
    rest_length = divisor_length * (is_whole + at_drum)
    return CableDivision(rest_length, divisor_length, is_whole, at_drum, free, max_rest_length)


def turn_drum(tether: Tether, length: Array, rate: Array | None, dt: Any) -> Array:
    """Return the unwound length (...) after the drum has turned for a time, m.

    Args:
        tether: a tether with a reel.
        length: (...) before, m.
        rate: (...) commanded rate, m/s, positive to pay out; None: the drum stands still.
        dt: time, s.
    """
    reel, xp = tether.reel, namespace(length)
    assert reel is not None
    if rate is None:
        return length
    max_rate = reel.rate * xp.ones_like(length)
    new_length = length + dt * xp.minimum(xp.maximum(rate + 0.0 * length, -max_rate), max_rate)
    # A length that slipped beyond a limit by rounding is not pulled back.
    upper = xp.maximum(reel.maximum * xp.ones_like(length), length)
    lower = xp.minimum(reel.minimum * xp.ones_like(length), length)
    return xp.minimum(xp.maximum(new_length, lower), upper)


def slip_clutch(
    tether: Tether, length: Array, division: CableDivision, distance: Array, intact: Array
) -> Array:
    """Return the unwound length (...) after a slip of the clutch, m.

    Args:
        tether: a tether with a reel.
        length: (...) before, m.
        division: the cable's at that length.
        distance: (..., n) between the nodes of each segment now, m.
        intact: (..., n) 0 for a segment that has parted, else 1.
    """
    reel, xp = tether.reel, namespace(length)
    assert reel is not None
    assert division.max_rest_length is not None
    assert division.at_drum is not None
    stretched_length = distance / (1.0 + reel.tension / tether.cable.axial_stiffness)
    slip = (
        xp.minimum(stretched_length, division.max_rest_length[..., None] + 0.0 * stretched_length)
        - division.divisor_length
    )
    is_slipping = (division.at_drum > 0) & (intact > 0) & (slip > 0)
    return length + xp.sum(xp.where(is_slipping, slip, xp.zeros_like(slip)), axis=-1)


def redistribute_nodes(tether: Tether, state: CableState, length: Array) -> CableState:
    """Return a cable after its drum has turned, with nodes wound or unwound.

    A wound node passes its momentum to the node before it as in an inelastic collision: a fifth of
    the velocity difference, by their masses. An unwound node lies on the line from that node to
    the anchor, with an interpolated velocity.

    Args:
        tether: a tether with a reel.
        state: the cable before.
        length: (...) off the drum now, m.
    """
    xp = namespace(state.position)
    assert state.whole_count is not None
    assert state.rate is not None
    number = constant(xp, np.arange(tether.segments + 1.0))
    count = count_whole_segments(tether, length)
    old, new = state.whole_count[..., None], count[..., None]
    position, velocity = state.position, state.velocity

    def value_at(count: Array, values: Array) -> Array:
        """Return the value at the node of a number (..., 1), (..., 1, 3)."""
        chosen = xp.where(number == count, xp.ones_like(number), xp.zeros_like(number))
        return xp.sum(chosen[..., None] * values, axis=-2, keepdims=True)

    fraction = (number - old) * tether.piece / (length[..., None] - old * tether.piece)
    is_unwound = ((number > old) & (number <= new))[..., None]
    is_wound = ((number > new) & (number <= old))[..., None]
    is_last_free = ((number == new) & (new < old))[..., None]

    def shift_nodes(values: Array, drum: Array) -> Array:
        """Return values (..., n + 1, 3) of the nodes from those of the cable at the drum."""
        value_at_old = value_at(old, values)
        values = xp.where(
            is_unwound, value_at_old + fraction[..., None] * (drum - value_at_old), values
        )
        return xp.where(is_wound, values[..., -1:, :] + xp.zeros_like(values), values)

    anchor = position[..., -1:, :]
    direction = value_at(old, position) - anchor
    direction = direction / xp.sqrt(xp.sum(direction * direction, axis=-1, keepdims=True) + 1e-24)
    drum_velocity = velocity[..., -1:, :] + state.rate[..., None, None] * direction
    last_velocity = value_at(new, velocity) + 0.2 * (
        value_at(new + 1.0, velocity) - value_at(new, velocity)
    )
    velocity = xp.where(
        is_last_free, last_velocity + xp.zeros_like(velocity), shift_nodes(velocity, drum_velocity)
    )
    position = shift_nodes(position, anchor)
    return state._replace(position=position, velocity=velocity, length=length, whole_count=count)


def resample_nodes(tether: Tether, position: Array, length: Array) -> Array:
    """Return the nodes (..., n + 1, 3) of a cable of a length along a polyline of n equal pieces.

    Args:
        tether: a tether with a reel.
        position: (..., n + 1, 3) ends of the pieces, m.
        length: (...) of the cable off the drum, m.
    """
    xp = namespace(position)
    number = constant(xp, np.arange(tether.segments + 1.0))
    count = count_whole_segments(tether, length)[..., None]
    # Arc positions in units of the polyline's pieces; nodes on the drum are at its end.
    arc_position = number * tether.piece / length[..., None] * tether.segments
    arc_position = xp.where(
        number <= count, arc_position, tether.segments * xp.ones_like(arc_position)
    )
    piece_fraction = xp.clip(arc_position[..., :, None] - number[:-1], 0.0, 1.0)
    return position[..., :1, :] + piece_fraction @ (position[..., 1:, :] - position[..., :-1, :])
