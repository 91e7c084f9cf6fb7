# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Speed of a whole tick with NumPy."""

from __future__ import annotations

import time

import numpy as np

from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.simulation import Simulation

__all__ = ['PWM', 'step_microseconds']

PWM = 1600.0
"""µs, for every thruster."""


def step_microseconds(vehicle: Vehicle, steps: int) -> float:
    """Return the cost of a tick with NumPy: all forces and the integration."""
    simulation = Simulation(vehicle)
    pwm = np.full(len(vehicle.thrusters), PWM)
    for _ in range(max(steps // 20, 1)):
        simulation.tick(pwm)
    start = time.perf_counter()
    for _ in range(steps):
        simulation.tick(pwm)
    return (time.perf_counter() - start) / steps * 1e6
