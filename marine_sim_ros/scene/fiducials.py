# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fiducial markers: AprilTags on boxes, for cameras to find."""

from __future__ import annotations

from dataclasses import dataclass

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.errors import ParameterError

__all__ = ['FAMILIES', 'Fiducial']

FAMILIES = {'tag16h5': 30, 'tag25h9': 35, 'tag36h10': 2320, 'tag36h11': 587}
"""Number of markers of each family (Olson 2011, doi 10.1109/ICRA.2011.5979561)."""


@dataclass(frozen=True)
class Fiducial:
    """An AprilTag in the middle of a box's face towards its x axis, z up.

    Attributes:
        family: family of AprilTags.
        id: number within the family.
        size: side of the black square, m.
    """

    family: str
    id: int
    size: float

    def __post_init__(self) -> None:
        """Raise ParameterError for a marker that does not exist."""
        if self.family not in FAMILIES:
            raise ParameterError(
                f'marker family is {self.family!r}; {expected_one_of(self.family, FAMILIES)}'
            )
        if not 0 <= self.id < FAMILIES[self.family]:
            raise ParameterError(
                f'marker id is {self.id}; {self.family} has 0 to {FAMILIES[self.family] - 1}'
            )
        if not self.size > 0:
            raise ParameterError(f'marker size is {self.size}; expected a length above 0, m')
