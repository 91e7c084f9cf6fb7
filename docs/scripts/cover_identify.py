# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Counts how often the 95 % intervals of ``identify --fit`` hold the truth.

``.venv/bin/python docs/scripts/cover_identify.py [SEEDS]``

A BlueROV2 Heavy with the set tank2025 is simulated, and measured five times a second with the
noise of a motion capture in a tank; each seed of the noise is fitted from the priors of
config/identification/bluerov2_heavy.yaml.
"""

from __future__ import annotations

import sys

import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.schema import number_at
from marine_sim_ros.engine.availability import precision
from marine_sim_ros.identification.motion_fit import MotionFit, Problem
from marine_sim_ros.identification.parameters import DELAY, FITS, OF_RECORDINGS, FitParameter
from marine_sim_ros.identification.prediction import integration_steps, stretches_of
from marine_sim_ros.identification.recording import MotionRecording, OdometryNoise, noisy_odometry
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.sim.trajectory import Trajectory

TANK = OdometryNoise(position=0.01, attitude=0.02, linear=0.03, angular=0.08)
"""As large as what a fit of the tank's recordings leaves, model error included."""
RATE = 5.0
STEP = 0.001
"""s, of the truth. A tick takes the thrust at its end, so commands come early by half of it."""


def measured(run: Trajectory, seed: int) -> MotionRecording:
    """Return a run as a tank tells it."""
    rows = slice(None, None, round(1 / RATE / STEP))
    seen = noisy_odometry(run, seed, TANK)[rows]
    return MotionRecording(
        f'seed {seed}', run.time[rows], seen[:, 3:7], seen[:, 7:13], run.pwm[rows]
    )


def truth(vehicle: Vehicle, parameters: tuple[FitParameter, ...]) -> np.ndarray:
    """Return the values (k,) of a vehicle."""
    of_recordings = {**dict.fromkeys(OF_RECORDINGS, 0.0), DELAY: -STEP / 2}
    return np.array(
        [
            of_recordings[p.paths[0]]
            if p.paths[0] in of_recordings
            else number_at(vehicle, p.paths[0])
            for p in parameters
        ]
    )


def fits(seeds: range) -> tuple[np.ndarray, list[MotionFit]]:
    """Return the truth (k,) and a fit for each seed."""
    vehicle = load_vehicle('bluerov2_heavy', coefficients='tank2025')
    parameters = FITS.load('bluerov2_heavy')
    run = simulate(vehicle, load_scenario('excitation'), dt=STEP)
    found = []
    with precision('float64'):
        problem = Problem(vehicle, parameters, 3, True)
        for seed in seeds:
            stretches = stretches_of([measured(run, seed)], 3.0)
            assert integration_steps(stretches) == 3
            found.append(problem.fit(stretches))
            print(f'seed {seed}', file=sys.stderr, flush=True)
    return truth(vehicle, parameters), found


def main() -> None:
    """Print, for each parameter, in how many fits it was told, and held by its interval."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    true, found = fits(range(count))
    told = np.array([[not reason for reason in f.reasons] for f in found])
    held = np.array([np.abs(f.values - true) <= f.half for f in found])
    print('| parameter | true | told | of these held | median 95 % |')
    print('|---|--:|--:|--:|--:|')
    for i, p in enumerate(found[0].parameters):
        half = np.median([f.half[i] for f in found])
        print(
            f'| {p.name} | {true[i]:.4g} | {told[:, i].sum()} | {(held & told)[:, i].sum()} '
            f'| ± {half:.2g} |'
        )
    print()
    print(f'{100 * (held & told).sum() / told.sum():.1f} % of {told.sum()} told values are held')


if __name__ == '__main__':
    main()
