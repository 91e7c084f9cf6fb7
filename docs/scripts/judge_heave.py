# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Tells why the fitted set turns over in heave, and what it costs to keep tank2025 upright.

``.venv/bin/python docs/scripts/judge_heave.py FOLDER``, FOLDER as judge_tank.py has it.

Of the fitted half only: an ascent at 50 %, an ascent and a dive at 75 %, measured and predicted
from their measured start. Then moments in pure heave, and variants of the fitted set: with a share
of the difference of the drag of heave fore and aft, and of what the lifts fore and aft do not
cancel; and tank2025.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from judge_tank import (
    DEEP,
    FITTED,
    HORIZONS,
    LATE,
    SETS,
    STEP,
    angles,
    as_fitted,
    ended,
    every_error,
    followed,
    recordings,
    rms,
)

from marine_sim_ros import load_vehicle
from marine_sim_ros.control.stick_mixing import ardusub_manual_pwm
from marine_sim_ros.core.spatial import quaternion_from_rpy, up_in_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.devices import Propulsion
from marine_sim_ros.identification.prediction import BEFORE, Stretches, stretches_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import damping
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.sim.step import StepCommands, Stepping, advance, begin
from marine_sim_ros.validation.rest import find_equilibrium

HEAVES = (('50 % up', 66.9, 2.6), ('75 % up', 18.5, 3.0), ('75 % down', 21.5, 2.3))
"""In the second fitted recording: name, beginning and seconds."""
EFFORTS = (0.5, 0.75, 1.0, -0.5, -0.75, -1.0)
SHARES = ((1.0, 1.0), (0.6, 1.0), (0.0, 1.0), (1.0, 0.0), (0.8, 0.0))
"""Of the difference of drags, and of what lifts do not cancel: what was fitted is 1, 1."""
LONG = 60.0
"""s, of the run; the bow is told in the second in which the tank's steps told it."""


def measured(vehicle: Vehicle, folder: Path) -> None:
    """Print how sticks in heave of the fitted half were measured and are predicted."""
    known = recordings(folder, FITTED[1:2], vehicle)
    for name, begins, seconds in HEAVES:
        print(f'| {name}, s | w | predicted | bow up | predicted |\n|--:|' + '--:|' * 4)
        stretches = stretches_of(known, seconds, every=1)
        first = int(np.argmin(np.abs(known[0].time[stretches.start] - begins)))
        parts = (part[first : first + 1] for part in stretches[:-1])
        one = Stretches._make((*parts, stretches.held))
        moved = followed(vehicle, one, LATE[SETS[0]])
        pitch = [-angles(q)[..., 1] for q in (one.orientation[0], moved.orientation[:, 0])]
        rows = zip(
            one.time[0, BEFORE:],
            one.velocity[0, :, 2],
            moved.velocity[:, 0, 2],
            *pitch,
            strict=True,
        )
        for row in rows:
            print('| {:.2f} | {:.2f} | {:.2f} | {:.0f} | {:.0f} |'.format(*row))


def moments(vehicle: Vehicle) -> None:
    """Print moments of drag and of lift in pure heave, and the largest that rights."""
    still, plain = (Environment(), replace(vehicle, damping=replace(vehicle.damping, lift=None)))
    for w in (1.0, -1.0):
        state = State(DEEP, quaternion_from_rpy(0.0, 0.0, 0.0), w * np.eye(6)[2])
        total, rest = (-damping(each, state, still)[4] for each in (vehicle, plain))
        print(f'w = {w:g} m/s: {total:.2f} N m bow up, {total - rest:.2f} of them lift')
    on_end = State(DEEP, quaternion_from_rpy(0.0, -np.pi / 2, 0.0), np.zeros(6))
    rights = (weight(vehicle, on_end, still) + buoyancy(vehicle, on_end, still))[4]
    munk = vehicle.mass_matrix[2, 2] - vehicle.mass_matrix[0, 0]
    print(f'bow straight up, {rights:.2f} N m right it; Munk moment {munk:.1f} u w')


def variant(vehicle: Vehicle, drag: float, lift: float) -> Vehicle:
    """Return a vehicle with a share of two asymmetries: drag of heave, and lift fore and aft."""
    elements, lifts = vehicle.damping.elements, vehicle.damping.lift
    assert elements is not None
    assert lifts is not None
    mixed, force, place = elements.mixed.copy(), lifts.coefficients.copy(), lifts.center.copy()
    mixed[4:] = mixed[4:].mean() + drag * (mixed[4:] - mixed[4:].mean())
    force[:2, 1, 2] -= (1 - lift) * force[:2, 1, 2].mean()
    place[:2, 2] = place[:2, 2].mean() + lift * (place[:2, 2] - place[:2, 2].mean())
    changed = replace(
        vehicle.damping,
        elements=replace(elements, mixed=mixed),
        lift=replace(lifts, coefficients=force, center=place),
    )
    return replace(vehicle, damping=changed)


def heaves(vehicle: Vehicle) -> tuple[np.ndarray, np.ndarray]:
    """Return, by effort, the mean bow up in the tank's second and the largest tilt, degrees."""
    environment, count = Environment(), len(EFFORTS)
    rest = find_equilibrium(vehicle)
    assert rest is not None
    attitude = rest.state().orientation
    start = State(
        np.tile([0.0, 0.0, -2000.0], (count, 1)),
        np.tile(attitude, (count, 1)),
        np.zeros((count, 6)),
    )
    memory = begin(vehicle, environment, start)
    memory = memory._replace(propulsion=Propulsion(np.zeros((count, len(vehicle.thrusters)))))
    pwm = np.stack([ardusub_manual_pwm(vehicle.thrusters, e * np.eye(6)[2]) for e in EFFORTS])
    pitch, up = [], []
    for _ in range(round(LONG / STEP)):
        _, memory = advance(
            vehicle, environment, memory, StepCommands(pwm), Stepping(STEP), since=STEP
        )
        pitch.append(-angles(memory.state.orientation)[:, 1])
        up.append(up_in_body(memory.state.orientation)[:, 2])
    tilt = np.degrees(np.arccos(np.clip(np.min(up, axis=0), -1, 1)))
    last = [round(ended('heave', effort) / STEP) for effort in EFFORTS]
    second = round(1 / STEP)
    return np.array(
        [np.mean([p[i] for p in pitch[n - second : n]]) for i, n in enumerate(last)]
    ), tilt


def main() -> None:
    """Print all of it."""
    folder = Path(sys.argv[1])
    shipped = load_vehicle('bluerov2_heavy', coefficients=SETS[0])
    vehicle = as_fitted(shipped)
    measured(vehicle, folder)
    moments(vehicle)
    known = recordings(folder, FITTED, vehicle)
    heads = ''.join(f' {e:+.0%} |' for e in EFFORTS)
    print(f'| drag, lift |{heads}' + ''.join(f' q, pitch {s:g} s |' for s in HORIZONS))
    print('|---|' + '--:|' * (len(EFFORTS) + len(HORIZONS)))
    rows = {f'{drag:g}, {lift:g}': variant(vehicle, drag, lift) for drag, lift in SHARES}
    for name, other in (rows | {SETS[0]: shipped}).items():
        pitch, tilt = heaves(other)
        found = [rms(every_error(other, known, s, LATE[SETS[0]])[0]) for s in HORIZONS]
        print(
            f'| {name} |'
            + ''.join(f' {p:.0f} ({t:.0f}) |' for p, t in zip(pitch, tilt, strict=True))
            + ''.join(f' {e[4]:.3f}, {e[7]:.2f} |' for e in found)
        )


if __name__ == '__main__':
    main()
