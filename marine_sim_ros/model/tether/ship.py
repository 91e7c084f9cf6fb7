# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The ship at the far end of a tether: its size in the water, and its course."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.model.xml import Reader

__all__ = ['Ship', 'read_ship']


@dataclass(frozen=True, eq=False)
class Ship:
    """A ship that follows the waves on a steady course; nothing pulls it off.

    Attributes:
        length: L of its waterplane, m.
        beam: B of its waterplane, m.
        position: (2,) of the waterplane's centre at time 0, map, m.
        course: towards which it points and moves, rad from east to north.
        speed: over ground, m/s.
    """

    length: float
    beam: float
    position: np.ndarray
    course: float = 0.0
    speed: float = 0.0

    @property
    def velocity(self) -> np.ndarray:
        """(2,) of the waterplane's centre, map, m/s."""
        return self.speed * np.array([math.cos(self.course), math.sin(self.course)])


def read_ship(reader: Reader) -> Ship:
    """Return the ship of an element.

    ``<ship length="20" beam="6" position="0 0" course="0" speed="0"/>``; ``beam`` is a third of
    the length unless it is given.

    Raises:
        MarineSimError: a value that cannot be used.
    """
    length = reader.number(0.1, 1e3, reader.attribute('length'))
    return Ship(
        length,
        reader.attribute_number('beam', length / 3, 0.1, 1e3),
        reader.numbers({2}, reader.attribute('position', '0 0')),
        reader.attribute_number('course', 0.0, -100.0, 100.0),
        reader.attribute_number('speed', 0.0, -20.0, 20.0),
    )
