# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Depth by the barometer against the depth of the odometry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.analysis.bags.sampling import interpolated
from marine_sim_ros.analysis.bags.vehicle import ODOM, VehicleRecord
from marine_sim_ros.environment.environment import STANDARD_GRAVITY
from marine_sim_ros.model.vehicle import Barometer

__all__ = ['DepthCheck', 'depth_check']

_LEAST_SPAN = 0.5


@dataclass(frozen=True, eq=False)
class DepthCheck:
    """Depths of the same moments.

    Attributes:
        time: (n,) s.
        measured: (n,) by pressure, m.
        true: (n,) of the sensor by odometry, m.
        atmospheric_pressure: atmospheric pressure in the conversion, Pa.
        fluid_density: density in the conversion, kg/m³.
    """

    time: np.ndarray
    measured: np.ndarray
    true: np.ndarray
    atmospheric_pressure: float
    fluid_density: float

    def metrics(self) -> dict[str, Any]:
        """Return bias, scatter and RMS of the difference, and the line that fits best."""
        error = self.measured - self.true
        density = surface = None
        if np.ptp(self.true) > _LEAST_SPAN and len(error) > 2:
            slope, offset = np.polyfit(self.true, self.measured, 1)
            weight = self.fluid_density * STANDARD_GRAVITY
            density = float(slope * self.fluid_density)
            surface = float(self.atmospheric_pressure + offset * weight)
        return {
            'used_atmospheric_pressure_Pa': self.atmospheric_pressure,
            'used_density_kg_m3': self.fluid_density,
            'bias_m': float(error.mean()),
            'standard_deviation_m': float(error.std()),
            'rms_m': float(np.sqrt(np.mean(error**2))),
            'fitted_density_kg_m3': density,
            'fitted_atmospheric_pressure_Pa': surface,
        }


def depth_check(record: VehicleRecord, sensor: Barometer | None) -> DepthCheck | None:
    """Return depth (p − p₀)/(ρ g) beside −z of the sensor; None where either is missing.

    Without a description the sensor sits at the vehicle's origin, with p₀ = 101300 Pa and
    ρ = 997 kg/m³ (Orca3 plugin documentation, OrcaBarometerPlugin).
    """
    pressure, odom = record.get('barometer/pressure'), record.get('odom')
    if pressure is None or odom is None:
        return None
    surface = 101300.0 if sensor is None else sensor.atmospheric_pressure
    density = 997.0 if sensor is None else sensor.fluid_density
    time = pressure.time
    pose = interpolated(odom, time)
    height = pose[:, ODOM.index('z')]
    if sensor is not None:
        x, y, z = sensor.position
        roll, pitch = pose[:, ODOM.index('roll')], pose[:, ODOM.index('pitch')]
        # Third row of R = Rz Ry Rx.
        turned = (
            -np.sin(pitch) * x
            + np.cos(pitch) * np.sin(roll) * y
            + np.cos(pitch) * np.cos(roll) * z
        )
        height = height + turned + sensor.reference_offset
    measured = (pressure.rows[:, 0] - surface) / (density * STANDARD_GRAVITY)
    known = np.isfinite(height) & np.isfinite(measured)
    if not known.any():
        return None
    return DepthCheck(time[known], measured[known], -height[known], surface, density)
