# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measures a learned station keeper on unseen vehicles, with true and with estimated odometry.

    .venv/bin/python docs/scripts/measure_policies.py

Each row is a vehicle of ``config/randomizations/bluerov2.yaml`` (its current and its delay of
commands with it) in the scenario ``hold_learned``; seeds are those that no training has seen. The
numbers are mean distances from the station after 20 s, m.
"""

from __future__ import annotations

import argparse
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.gym.randomization import Randomization, Variation, load_randomization
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors.estimated_odometry import EstimatedOdometry
from marine_sim_ros.sim.player import ScriptedPilot
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import Simulation

SENSORS: dict[str, Any] = {'dvl': 'true', 'imu_orientation': 'true', 'barometer_pose': 'true'}
FIRST_SEED, STEP, SETTLED = 10_000, 0.02, 20.0
STATION = np.array([0.0, 0.0, -5.0])


def mean_distance(variation: Variation, controller: str, seed: int, *, estimated: bool) -> float:
    """Return the mean distance from the station after 20 s, m."""
    vehicle, water = variation.setting.vehicle, variation.setting.environment
    if variation.current is not None:
        water = replace(water, current=variation.current)
    scenario = replace(load_scenario('hold_learned'), controller=controller)
    odometry = EstimatedOdometry(vehicle, seed) if estimated else None
    pilot = ScriptedPilot(scenario, vehicle, odometry=odometry, environment=water)
    simulation = Simulation(
        vehicle, environment=water, initial=scenario.initial_state(), dt=STEP, seed=seed
    )
    rest = np.full(len(vehicle.thrusters), float(PWM_NEUTRAL))
    coming = deque([rest] * round(variation.delay / STEP))
    distances = []
    for tick in range(round(scenario.duration / STEP)):
        time = tick * STEP
        coming.append(pilot.command(time, simulation.state))
        simulation.tick(coming.popleft())
        if time >= SETTLED:
            distances.append(np.linalg.norm(simulation.state.position - STATION))
    return float(np.mean(distances))


def variations(vehicle: Vehicle, water: Environment, count: int) -> list[Variation]:
    """Return vehicles that are drawn with unseen seeds."""
    randomization = Randomization(load_randomization('bluerov2'), vehicle, water)
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    return [randomization.variation(randomization.draw(np.random.default_rng(s))) for s in seeds]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description='Measure a policy on unseen vehicles.')
    parser.add_argument('--count', type=int, default=20, help='vehicles (default 20)')
    parser.add_argument('--controllers', nargs='+', default=['policy', 'modern'])
    options = parser.parse_args()
    vehicle = load_vehicle('bluerov2', **SENSORS)
    water = load_environment('test_grid')
    drawn = variations(vehicle, water, options.count)
    for controller in options.controllers:
        print(f'{controller}: true odometry, estimated odometry', flush=True)
        measured = []
        for seed, variation in enumerate(drawn):
            true, estimated = (
                mean_distance(variation, controller, seed, estimated=kind)
                for kind in (False, True)
            )
            print(f'  {FIRST_SEED + seed}: {true:.3f} {estimated:.3f}', flush=True)
            measured.append((true, estimated))
        rows = np.array(measured)
        below = {limit: (rows < limit).sum(axis=0).tolist() for limit in (0.5, 0.2)}
        print(f'  median {np.median(rows, axis=0).round(3)}, below {below}')
        print(f'  loss {np.median(rows[:, 1] - rows[:, 0]):.3f} m (median of the differences)')


if __name__ == '__main__':
    main()
