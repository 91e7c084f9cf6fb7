# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the Heavy's answers to single sticks over what a tank measured: pictures/tank.png.

``.venv/bin/python docs/scripts/make_tank.py``
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use('Agg')
import matplotlib.pyplot as plt

from marine_sim_ros import load_vehicle
from marine_sim_ros.validation.cards import load_published
from marine_sim_ros.validation.propulsion import EFFORTS, QUANTITIES, stick_answer
from marine_sim_ros.validation.rest import DIRECTIONS

PICTURE = Path(__file__).resolve().parent.parent / 'pictures' / 'tank.png'
SETS = {'tank2025': '#d62728', 'von_benzon2022': '#1f77b4', 'bluerov2_gz': '#2ca02c'}
GRID = np.linspace(-0.75, 0.75, 13)
PANELS = (
    ('surge', 'speed', 'm/s'),
    ('surge', 'pitch', 'bow up, deg'),
    ('heave', 'speed', 'm/s'),
    ('heave', 'pitch', 'bow up, deg'),
    ('sway', 'speed', 'm/s'),
    ('sway', 'yaw_rate', 'rad/s'),
)


def measured(axis: str, quantity: str) -> list[tuple[float, float]]:
    """Return pairs of stick and measured mean."""
    pairs = []
    for reference in load_published('bluerov2_heavy').references:
        for sense, way in zip((1, -1), DIRECTIONS[axis], strict=True):
            for name, effort in EFFORTS.items():
                if reference.quantity == f'stick_{axis}_{way}_{name}_{quantity}':
                    pairs.append((sense * effort, (reference.low + reference.high) / 2))
    return pairs


def main() -> None:
    """Draw and save."""
    figure, axes = plt.subplots(3, 2, figsize=(9, 8.5), sharex=True, layout='constrained')
    for panel, (axis, quantity, unit) in zip(axes.flat, PANELS, strict=True):
        for name, colour in SETS.items():
            vehicle = load_vehicle('bluerov2_heavy', coefficients=name)
            number = QUANTITIES[quantity][2]
            values = [
                0.0 if effort == 0 else number(found, axis)
                for effort in GRID.tolist()
                if (found := stick_answer(vehicle, axis, effort)) is not None
            ]
            panel.plot(GRID, values, color=colour, label=name)
        points = measured(axis, quantity)
        panel.plot(*zip(*points, strict=True), 'ko', label='measured')
        panel.set_title(f'{axis} stick: {quantity.replace("_", " ")}', fontsize=10)
        panel.set_ylabel(unit)
        panel.grid(alpha=0.3)
        if quantity == 'pitch':
            panel.set_ylim(-45, 45)
    for panel in axes[-1]:
        panel.set_xlabel('stick')
    axes[0, 0].legend(fontsize=8)
    figure.savefig(PICTURE, dpi=110)


if __name__ == '__main__':
    main()
