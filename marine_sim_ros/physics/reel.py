# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""State of a cable, and the reel that takes its nodes in and gives them out.

A node stays where it is in the cable. With the length L off the drum and pieces of p, the first
k = ⌊L/p − ½⌋ segments are whole, the next one reaches the drum and has the rest, ½ p to 1½ p, and
the nodes beyond it are on the drum, where they move with the anchor and weigh nothing. So arrays
keep their shapes, what lies still on the ground stays there, and the division follows from L.

The clutch slips where the segment at the drum would pull more than the limit T_m. Within the
implicit step its tension is that of a convex energy,

    T = max(min(E A (d/l − 1), T_m), E A (d/l_m − 1)),

d its distance, l_m its rest length with all of the cable off the drum; afterwards l becomes
d/(1 + T_m/E A). So the limit holds in the step itself, and the clutch takes T_m Δl.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.model.tether import Tether

__all__ = [
    'CableDivision',
    'CableState',
    'count_whole_segments',
    'divide_cable',
    'redistribute_nodes',
    'resample_nodes',
    'slip_clutch',
    'turn_drum',
]


# What is known of a cable from one tick to the next.


class CableState(NamedTuple):
    """A cable at a tick.

    Attributes:
        position: (..., n + 1, 3) of the nodes, from the vehicle's end, map, m.
        velocity: (..., n + 1, 3) of the nodes, m/s.
        pull: (..., 2, 3) force of the cable on the vehicle and on the anchor, map, N.
        attached: (...) 1 until the breaking load was exceeded, then 0.
        length: (...) unstretched length off the drum of a reel, m; None without one.
        rate: (...) at which that grew since the tick before, m/s; None without a reel.
        whole: (...) number of segments that do not reach the drum; None without a reel.
    """

    position: Array
    velocity: Array
    pull: Array
    attached: Array
    length: Array | None = None
    rate: Array | None = None
    whole: Array | None = None


# A reel at the anchor: how a cable of a length is divided, and what its drum takes and gives.


class CableDivision(NamedTuple):
    """How a cable is divided at a length.

    Attributes:
        rest: (..., n) unstretched lengths of the segments off the drum, m; 0 on it.
        span: (..., n) the same, and never 0.
        whole: (..., n) 1 for segments that do not reach the drum, else 0.
        at_drum: (..., n) 1 for the segment that does; None without a reel.
        free: (..., n + 1) whether a node is off the drum; None without a reel.
        longest: (...) rest length of the segment at the drum with all of the cable off it, m.
    """

    rest: Array
    span: Array
    whole: Array
    at_drum: Array | None = None
    free: Array | None = None
    longest: Array | None = None


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
        rest = tether.piece * ones
        return CableDivision(rest, rest, ones)
    assert tether.reel is not None
    assert state.whole is not None
    number = constant(xp, np.arange(tether.segments + 1.0))
    count = state.whole
    left = state.length - count * tether.piece
    whole = ones * (number[:-1] < count[..., None])
    at_drum = ones * (number[:-1] == count[..., None])
    span = tether.piece * (1.0 - at_drum) + left[..., None] * at_drum
    longest = tether.reel.maximum - count * tether.piece
    free = number <= count[..., None]
    return CableDivision(span * (whole + at_drum), span, whole, at_drum, free, longest)


def turn_drum(tether: Tether, length: Array, rate: Array | None, dt: Any) -> Array:
    """Return the length (...) off a drum that turns for a time, m.

    Args:
        tether: a tether with a reel.
        length: (...) before, m.
        rate: (...) asked speed of paying out, below 0 of hauling in, m/s; None: it stands.
        dt: time, s.
    """
    reel, xp = tether.reel, namespace(length)
    assert reel is not None
    if rate is None:
        return length
    most = reel.rate * xp.ones_like(length)
    wanted = length + dt * xp.minimum(xp.maximum(rate + 0.0 * length, -most), most)
    # A clutch that slipped by a rounding beyond an end does not turn back for it.
    longest = xp.maximum(reel.maximum * xp.ones_like(length), length)
    shortest = xp.minimum(reel.minimum * xp.ones_like(length), length)
    return xp.minimum(xp.maximum(wanted, shortest), longest)


def slip_clutch(
    tether: Tether, length: Array, division: CableDivision, distance: Array, held: Array
) -> Array:
    """Return the length (...) off the drum when its clutch has slipped, m.

    Args:
        tether: a tether with a reel.
        length: (...) before, m.
        division: the cable's at that length.
        distance: (..., n) between the nodes of each segment now, m.
        held: (..., n) 0 for a segment that has parted, else 1.
    """
    reel, xp = tether.reel, namespace(length)
    assert reel is not None
    assert division.longest is not None
    assert division.at_drum is not None
    wanted = distance / (1.0 + reel.tension / tether.cable.axial_stiffness)
    given = xp.minimum(wanted, division.longest[..., None] + 0.0 * wanted) - division.span
    slips = (division.at_drum > 0) & (held > 0) & (given > 0)
    return length + xp.sum(xp.where(slips, given, xp.zeros_like(given)), axis=-1)


def redistribute_nodes(tether: Tether, state: CableState, length: Array) -> CableState:
    """Return a cable when its drum has turned: nodes taken onto it, and given from it.

    A node that goes leaves its momentum: a fifth of its velocity, which is its share of the mass,
    to the node before it, as in an inelastic collision. One that comes is on the line from that
    node to the anchor, with a velocity between that node's and that of the cable at the drum.

    Args:
        tether: a tether with a reel.
        state: the cable before.
        length: (...) off the drum now, m.
    """
    xp = namespace(state.position)
    assert state.whole is not None
    assert state.rate is not None
    number = constant(xp, np.arange(tether.segments + 1.0))
    count = count_whole_segments(tether, length)
    old, new = state.whole[..., None], count[..., None]
    position, velocity = state.position, state.velocity

    def at(count: Array, values: Array) -> Array:
        """Return the value at the node of a number (..., 1), (..., 1, 3)."""
        chosen = xp.where(number == count, xp.ones_like(number), xp.zeros_like(number))
        return xp.sum(chosen[..., None] * values, axis=-2, keepdims=True)

    share = (number - old) * tether.piece / (length[..., None] - old * tether.piece)
    comes = ((number > old) & (number <= new))[..., None]
    goes = ((number > new) & (number <= old))[..., None]
    last = ((number == new) & (new < old))[..., None]

    def shift_nodes(values: Array, drum: Array) -> Array:
        """Return values (..., n + 1, 3) of the nodes; the cable has some (..., 1, 3) at a drum."""
        first = at(old, values)
        values = xp.where(comes, first + share[..., None] * (drum - first), values)
        return xp.where(goes, values[..., -1:, :] + xp.zeros_like(values), values)

    anchor = position[..., -1:, :]
    line = at(old, position) - anchor
    line = line / xp.sqrt(xp.sum(line * line, axis=-1, keepdims=True) + 1e-24)
    fed = velocity[..., -1:, :] + state.rate[..., None, None] * line
    passed = at(new, velocity) + 0.2 * (at(new + 1.0, velocity) - at(new, velocity))
    velocity = xp.where(last, passed + xp.zeros_like(velocity), shift_nodes(velocity, fed))
    position = shift_nodes(position, anchor)
    return state._replace(position=position, velocity=velocity, length=length, whole=count)


def resample_nodes(tether: Tether, position: Array, length: Array) -> Array:
    """Return the nodes (..., n + 1, 3) of a cable that lies along n equal pieces.

    Args:
        tether: a tether with a reel.
        position: (..., n + 1, 3) ends of the pieces, m.
        length: (...) of the cable off the drum, m.
    """
    xp = namespace(position)
    number = constant(xp, np.arange(tether.segments + 1.0))
    count = count_whole_segments(tether, length)[..., None]
    # Places along the cable in equal pieces of it; those on the drum are at its end.
    place = number * tether.piece / length[..., None] * tether.segments
    place = xp.where(number <= count, place, tether.segments * xp.ones_like(place))
    passed = xp.clip(place[..., :, None] - number[:-1], 0.0, 1.0)
    return position[..., :1, :] + passed @ (position[..., 1:, :] - position[..., :-1, :])
