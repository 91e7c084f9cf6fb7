# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measure what contact and boundary cost, off the ground and on it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.state import rest
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.physics.boundary import boundary
from marine_sim_ros.physics.contact import contact
from marine_sim_ros.sim.simulation import DEFAULT_STEP, Simulation

__all__ = ['SolidCosts', 'solid_milliseconds']

TICKS = 400
THIN_WATER = 100.0
"""kg/m³, in which everything sinks."""


class SolidCosts(NamedTuple):
    """Mean CPU time of one evaluation, ms; NaN where there was none.

    Attributes:
        contact: cost of the contact force in ticks without contact.
        touching: cost of the contact force in ticks with contact.
        boundary: cost of the jets' force, over all ticks.
    """

    contact: float
    touching: float
    boundary: float


def solid_milliseconds(name: str, *, height: float) -> SolidCosts:
    """Return what a vehicle costs that falls on deep rock, its thrusters at random.

    Args:
        name: name of a shipped vehicle.
        height: initial height of its lowest point above the ground, m.
    """
    vehicle, around = load_vehicle(name), load_environment('deep_rock')
    assert around.scene is not None
    low = float(np.min(vehicle.contact.position[:, 2]))
    ground = around.scene.ground(0.0, 0.0)
    around = replace(around, water_density=THIN_WATER)
    simulation = Simulation(
        vehicle, environment=around, initial=rest((0.0, 0.0, ground - low + height))
    )
    rng, memory, spent = np.random.default_rng(0), None, []
    for i in range(TICKS):
        if i % 100 == 0:
            pwm = rng.uniform(1300, 1700, len(vehicle.thrusters))
        tick = simulation.tick(pwm)
        start = time.thread_time()
        wrench, memory = contact(
            vehicle, tick.state, around, memory, dt=DEFAULT_STEP if i else 0.0
        )
        middle = time.thread_time()
        boundary(vehicle, tick.state, around, tick.thrusters.thrust)
        end = time.thread_time()
        spent.append((bool(np.any(wrench)), middle - start, end - middle))
    touched, of_contact, of_boundary = (np.array(v) for v in zip(*spent[20:], strict=True))

    def mean(values: np.ndarray) -> float:
        return 1e3 * float(np.mean(values)) if len(values) else float('nan')

    return SolidCosts(mean(of_contact[~touched]), mean(of_contact[touched]), mean(of_boundary))
