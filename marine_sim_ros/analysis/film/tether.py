# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded tether: its shapes, and between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.analysis.bags.reading import Bag
from marine_sim_ros.analysis.bags.roles import SHOWN, numbers_of
from marine_sim_ros.analysis.film.messages import messages_of
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['RecordedTether', 'recorded_tether']

_SHAPE = 'tether/shape'


@dataclass(frozen=True)
class RecordedTether:
    """Shapes of a tether.

    Attributes:
        stamps: (n,) s, n > 0, in order.
        shapes: n arrays (m, 3) of places along it in map, m.
        diameter: m.
    """

    stamps: np.ndarray
    shapes: tuple[np.ndarray, ...]
    diameter: float

    def at(self, time: float) -> np.ndarray:
        """Return the places (m, 3) at a stamp in s, between the two shapes next to it, map, m."""
        last = len(self.stamps) - 1
        i = int(np.clip(np.searchsorted(self.stamps, time, side='right') - 1, 0, last))
        a, b = self.shapes[i], self.shapes[min(i + 1, last)]
        span = self.stamps[min(i + 1, last)] - self.stamps[i]
        if span <= 0 or a.shape != b.shape:
            return a
        return np.asarray(a + np.clip((time - self.stamps[i]) / span, 0.0, 1.0) * (b - a))


def recorded_tether(bag: Bag, namespace: str, vehicle: Vehicle) -> RecordedTether | None:
    """Return the tether of a vehicle as a bag has it, or None.

    Args:
        bag: the bag.
        namespace: of the vehicle.
        vehicle: its description, which has the diameter.

    Raises:
        RecordingError: the bag cannot be read.
    """
    tether = vehicle.extensions.get('tether')
    topic = f'{namespace}/{_SHAPE}'
    there = [name for name, _, count in bag.topics if name.lstrip('/') == topic and count]
    if tether is None or not there:
        return None
    places = numbers_of(SHOWN[_SHAPE], 'nav_msgs/msg/Path')
    found = [(stamp, places(path())) for stamp, path in messages_of(bag.path, there[0])]
    found.sort(key=lambda one: one[0])
    stamps, shapes = zip(*found, strict=True)
    shapes = tuple(np.array(shape, float).reshape(-1, 3) for shape in shapes)
    return RecordedTether(np.array(stamps), shapes, tether.cable.diameter)
