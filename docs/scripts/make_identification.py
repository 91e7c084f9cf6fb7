# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables and the picture of identification.md.

``.venv/bin/python docs/scripts/make_identification.py``
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from marks import between

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis.run_figures import fit_figure
from marine_sim_ros.identification.fit import Identification, identify_vehicle
from marine_sim_ros.identification.recording import noisy_odometry
from marine_sim_ros.identification.samples import make_samples
from marine_sim_ros.identification.thrust import commands_of_pwm
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

DOCS = Path(__file__).resolve().parent.parent
PAGE = DOCS / 'explanation' / 'identification.md'
SETS = (('bluerov2', 'wu2018'), ('bluerov2', 'bluerov2_gz'), ('bluerov2_heavy', 'von_benzon2022'))
SEEDS = (1, 2, 3, 4, 5)
SHOWN = SETS[2]


def fits(name: str, coefficients: str) -> list[Identification]:
    """Return the fit of one run of a vehicle for each seed of its sensors' noise."""
    vehicle = load_vehicle(name, coefficients=coefficients)
    run = simulate(vehicle, load_scenario('excitation'), dt=0.001)
    commands = commands_of_pwm(run.time, run.pwm, vehicle.thrusters)
    few = slice(None, None, 5)
    return [
        identify_vehicle(
            vehicle, make_samples(vehicle, run.time[few], noisy_odometry(run, seed)[few], commands)
        )
        for seed in SEEDS
    ]


def table(found: list[Identification]) -> str:
    """Return true and found values, and the error of the worst seed, in Markdown."""
    lines = [
        '| parameter | axis | unit | true | found | error of five seeds |',
        '|---|---|---|--:|--:|--:|',
    ]
    for i, first in enumerate(found[0].estimates):
        p = first.parameter
        errors = np.array([f.estimates[i].value for f in found]) - p.described
        worst = float(errors[np.argmax(np.abs(errors))])
        share = f'{100 * worst / p.described:+.1f} %' if p.described else f'{worst:+.2g}'
        value = ' ± '.join(first.texts()) if first.observable else 'not observable'
        name = p.kind.replace('_', ' ')
        lines.append(f'| {name} | {p.axis} | {p.unit} | {p.described:.4g} | {value} | {share} |')
    return '\n'.join(lines)


def main() -> None:
    """Make everything."""
    page = PAGE.read_text(encoding='utf-8')
    for name, coefficients in SETS:
        found = fits(name, coefficients)
        page = between(page, coefficients, table(found))
        if (name, coefficients) == SHOWN:
            fit_figure(
                DOCS / 'pictures' / 'identification.png',
                found[0].time,
                found[0].measured,
                found[0].fitted,
                title=f'{name} ({coefficients}): velocity, measured and fitted',
            )
    PAGE.write_text(page, encoding='utf-8')


if __name__ == '__main__':
    main()
