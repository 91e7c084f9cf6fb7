# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins and rudders of a vehicle: places, hinges, coefficients and servos."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ['FinSet']


@dataclass(frozen=True, eq=False)
class FinSet:
    """All fins of a vehicle, in the order of the URDF; m of them.

    Attributes:
        names: m names.
        position: (m, 3) where the force acts, m.
        forward: (m, 3) unit vectors from the trailing to the leading edge at deflection 0.
        hinge: (m, 3) unit vectors about which a positive deflection turns (right-hand rule).
        area: (m,) A, m².
        lift_slope: (m,) a = dC_L/dα, 1/rad.
        zero_lift_drag: (m,) C_D0.
        drag_slope: (m,) dC_D/d|α|, 1/rad.
        induced_drag: (m,) k of k C_L².
        stall_angle: (m,) α_s, rad.
        stall_lift_slope: (m,) dC_L/d|α| beyond it, 1/rad.
        stall_drag_slope: (m,) dC_D/d|α| beyond it, 1/rad.
        lower: (m,) least deflection, rad.
        upper: (m,) greatest deflection, rad.
        max_rate: (m,) of the servo, rad/s.
        time_constant: (m,) of the servo, s.
        wash: (m, n) 1.0 where the wash of a thruster meets a fin, else 0.0.
        disc_area: (m,) of that thruster's propeller, m²; 1 where there is none.
    """

    names: tuple[str, ...]
    position: np.ndarray
    forward: np.ndarray
    hinge: np.ndarray
    area: np.ndarray
    lift_slope: np.ndarray
    zero_lift_drag: np.ndarray
    drag_slope: np.ndarray
    induced_drag: np.ndarray
    stall_angle: np.ndarray
    stall_lift_slope: np.ndarray
    stall_drag_slope: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    max_rate: np.ndarray
    time_constant: np.ndarray
    wash: np.ndarray
    disc_area: np.ndarray

    def __len__(self) -> int:
        """Return the number of fins."""
        return len(self.names)

    @cached_property
    def along(self) -> np.ndarray:
        """(m, 6) body velocity -> speed of each fin along its undeflected chord."""
        return np.concatenate([self.forward, np.cross(self.position, self.forward)], axis=1)

    @cached_property
    def across(self) -> np.ndarray:
        """(m, 6) body velocity -> speed of each fin across its undeflected chord."""
        normal = np.cross(self.hinge, self.forward)
        return np.concatenate([normal, np.cross(self.position, normal)], axis=1)

    @cached_property
    def any_wash(self) -> bool:
        """Whether a propeller's wash meets any fin."""
        return not isinstance(self.wash, np.ndarray) or bool(np.any(self.wash))
