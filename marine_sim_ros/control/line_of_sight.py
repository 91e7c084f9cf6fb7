# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Line-of-sight steering: positions of vehicles without sway become a heading and a speed.

A torpedo-shaped AUV or a boat with fixed propellers cannot move sideways. Beyond ARRIVAL of a
position set-point its heading is that to the point, less the angle β between course and heading,
so that its course, in a current too, leads to the point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from marine_sim_ros.control.allocator import unreachable_axes
from marine_sim_ros.control.controllability import controllability
from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.spatial import rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['LineOfSight', 'make_line_of_sight']

ARRIVAL = 1.0
"""Distance within which set-points pass through, so that a boat stops, m."""
CRUISING_SPEED = 1.0
"""Speed without a set-point of surge, m/s."""
BRAKING_TIME = 5.0
"""Distance over speed at which a vehicle without a set-point of surge slows down, s."""
MIN_COURSE_SPEED = 0.3
"""Speed below which the course is uncertain, m/s."""
FIN_TURNING_SPEED = 0.5
"""Fraction of the speed that vehicles keep while they turn by control surfaces alone."""
MAX_CRAB_ANGLE = 0.8
"""Upper bound of |β|, rad."""


@dataclass(frozen=True)
class LineOfSight:
    """Steering of a vehicle that has surge and yaw, and no sway.

    Attributes:
        min_turning_speed: fraction of the speed that it keeps while it turns, since control
            surfaces need the flow.
    """

    min_turning_speed: float = 0.0

    def guide(self, setpoint: Array, state: State) -> Array:
        """Return set-points (12,) with yaw and surge in place of x and y, where both are set.

        ψ_d = atan2(y_d − y, x_d − x) − β, and the surge is the set-point's, or the distance over
        BRAKING_TIME, at most CRUISING_SPEED, times cos(ψ_d − ψ), so that a boat turns first; a
        vehicle that turns by control surfaces alone keeps ``min_turning_speed`` of it.

        Args:
            setpoint: set-points, NaN where free.
            state: state of the vehicle.
        """
        xp = namespace(setpoint)
        yaw = rpy_from_quaternion(state.orientation)[2:3]
        east, north = setpoint[:1] - state.position[:1], setpoint[1:2] - state.position[1:2]
        free = xp.isnan(east) | xp.isnan(north)
        square = xp.where(free, 0.0 * yaw, east * east + north * north)
        far = square > ARRIVAL**2
        distance = xp.sqrt(xp.where(far, square, 1.0 + 0.0 * yaw))
        velocity = rotation_matrix(state.orientation) @ state.velocity[:3]
        ahead = xp.cos(yaw) * velocity[:1] + xp.sin(yaw) * velocity[1:2]
        aside = xp.cos(yaw) * velocity[1:2] - xp.sin(yaw) * velocity[:1]
        crab = xp.atan2(aside, xp.maximum(ahead, MIN_COURSE_SPEED + 0.0 * ahead))
        crab = xp.clip(crab, -MAX_CRAB_ANGLE, MAX_CRAB_ANGLE)
        bearing = xp.atan2(xp.where(far, north, 0.0 * yaw), xp.where(far, east, 1.0 + 0.0 * yaw))
        surge = setpoint[6:7]
        heading = bearing - crab
        cruise = xp.minimum(distance / BRAKING_TIME, CRUISING_SPEED + 0.0 * distance)
        slowest = self.min_turning_speed + 0.0 * yaw
        cruise = cruise * xp.maximum(xp.cos(heading - yaw), slowest)
        speed = xp.where(xp.isnan(surge), cruise, surge)
        none = 0.0 * yaw + math.nan
        return xp.concat(
            [
                xp.where(far, none, setpoint[:1]),
                xp.where(far, none, setpoint[1:2]),
                setpoint[2:5],
                xp.where(far, heading, setpoint[5:6]),
                xp.where(far, speed, surge),
                setpoint[7:11],
                xp.where(far, none, setpoint[11:12]),
            ]
        )


def make_line_of_sight(vehicle: Vehicle) -> LineOfSight | None:
    """Return the steering of a vehicle with surge and yaw, and without sway; None of others."""
    unreachable = unreachable_axes(vehicle)
    if 'sway' in unreachable and not {'surge', 'yaw'} & set(unreachable):
        by_thrusters = controllability(vehicle.thrusters, vehicle.inertia.center_of_mass)
        return LineOfSight(FIN_TURNING_SPEED if 'yaw' in by_thrusters.unreachable else 0.0)
    return None
