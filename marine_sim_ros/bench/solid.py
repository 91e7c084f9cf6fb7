# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measure what contact and boundary cost, off the ground and on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.state import rest
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.physics.boundary import boundary
from marine_sim_ros.physics.contact.contact import contact
from marine_sim_ros.sim.simulation import DEFAULT_STEP, Simulation

__all__ = ['SolidCosts', 'mujoco_microseconds', 'solid_milliseconds']

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


def solid_milliseconds(name: str, *, height: float, still: bool = False) -> SolidCosts:
    """Return what a vehicle costs that falls on deep rock.

    Args:
        name: name of a shipped vehicle.
        height: initial height of its lowest point above the ground, m.
        still: whether its thrusters rest, and what counts is the end, when it has come to rest;
            else they are commanded at random.
    """
    vehicle, around = load_vehicle(name), load_environment('deep_rock')
    assert around.scene is not None
    low = float(np.min(vehicle.contact.position[:, 2]))
    ground = around.scene.ground(0.0, 0.0)
    around = replace(around, water_density=THIN_WATER)
    simulation = Simulation(
        vehicle, environment=around, initial=rest((0.0, 0.0, ground - low + height))
    )
    rng, memory, count = np.random.default_rng(0), None, TICKS * (1 + 2 * still)
    free: list[Callable[[], object]] = []
    touching: list[Callable[[], object]] = []
    jets: list[Callable[[], object]] = []
    for i in range(count):
        if i % 100 == 0:
            drawn = rng.uniform(1300, 1700, len(vehicle.thrusters))
            pwm = np.full(len(drawn), 1500.0) if still else drawn
        tick = simulation.tick(pwm)
        work = partial(contact, vehicle, tick.state, around, memory, dt=DEFAULT_STEP if i else 0.0)
        wrench, memory = work()
        if i >= (count - TICKS // 2 if still else 20):
            (touching if np.any(wrench) else free).append(work)
            jets.append(partial(boundary, vehicle, tick.state, around, tick.thrusters.thrust))
    return SolidCosts(*map(_mean, (free, touching, jets)))


def _mean(calls: list[Callable[[], object]]) -> float:
    """Return the mean CPU time of calls, ms: of all at once, for a clock may cost as much."""
    start = time.thread_time()
    for work in calls:
        work()
    return 1e3 * (time.thread_time() - start) / len(calls) if calls else float('nan')


_MUJOCO = """<mujoco><option timestep="0.005"/><asset>
<hfield name="ground" nrow="{rows}" ncol="{rows}" size="{half} {half} {top} 1"/></asset>
<worldbody><geom type="hfield" hfield="ground"/><body pos="0 0 {start}"><freejoint/>
<geom type="box" size="{x} {y} {z}" mass="{mass}"/></body></worldbody></mujoco>"""


def mujoco_microseconds() -> float:
    """Return the CPU time of MuJoCo's step of a BlueROV2's box at rest on the same rock, µs."""
    import mujoco

    vehicle, around = load_vehicle('bluerov2'), load_environment('deep_rock')
    assert around.scene is not None
    assert around.scene.terrain is not None
    terrain = around.scene.terrain
    heights = terrain.heights - terrain.heights.min()
    top, points = float(heights.max()), vehicle.contact.position
    x, y, z = np.ptp(points, axis=0) / 2
    ground = around.scene.ground(0.0, 0.0) - float(terrain.heights.min())
    model = mujoco.MjModel.from_xml_string(
        _MUJOCO.format(
            rows=len(heights),
            half=terrain.spacing * (len(heights) - 1) / 2,
            top=top,
            start=ground + z + 0.2,
            x=x,
            y=y,
            z=z,
            mass=vehicle.inertia.mass,
        )
    )
    model.hfield_data[:] = (heights / top).reshape(-1)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=5 * TICKS)
    start = time.thread_time()
    mujoco.mj_step(model, data, nstep=10 * TICKS)
    return 1e6 * (time.thread_time() - start) / (10 * TICKS)
