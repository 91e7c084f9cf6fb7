# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is known of a cable from one tick to the next."""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.core.arrays import Array

__all__ = ['CableState']


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
