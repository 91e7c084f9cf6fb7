# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Finds the quadratic drag of a vehicle from a bag by its slopes.

    marine_sim simulate bluerov2 --set coefficients:=maker --scenario excitation \
        --duration 12 --record out/excited
    python docs/examples/identify_drag.py out/excited bluerov2 coefficients:=maker

The bag's pulse widths move a compiled vehicle, and its drag goes down the slope of the squared
difference from the bag's velocities, with steps as long as the slopes of the velocities tell
(Gauss-Newton). `marine_sim identify` fits more, with intervals; this shows how little a fit of
one's own takes.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.availability import precision
from marine_sim_ros.engine.motion import motion
from marine_sim_ros.engine.script import Script, make_script
from marine_sim_ros.identification.recording import MotionCollector
from marine_sim_ros.model.library import parse_xacro_arguments
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import Scenario, Segment

STEPS = 6
LONGEST = 0.2
"""Of a step: farther away slopes tell little."""
STILL = 0.02
"""m/s or rad/s; an axis that moves less tells nothing of its drag."""


class Seen(NamedTuple):
    """What a bag tells, on its own ticks: commands, start, step in s, and velocities (t, 6)."""

    plan: Script
    start: State
    dt: float
    velocity: np.ndarray


def seen_in(bag: str, vehicle: Vehicle) -> Seen:
    """Return what the first vehicle of a bag did."""
    collectors: list[MotionCollector] = []

    def rows(record: Any) -> MotionCollector:
        collectors.append(MotionCollector(record))
        return collectors[-1]

    read_bag(bag, rows=rows)
    moved, sent = (collectors[0].get(name) for name in ('odom', 'thrusters/pwm'))
    if moved is None or sent is None:
        sys.exit(f'{bag}: expected odom and thrusters/pwm')
    time, pwm = (sent[0] - moved[0][0]) / 1e9, sent[1]
    # A segment for each time that the pulse widths change.
    first = [0, *(np.flatnonzero((pwm[1:] != pwm[:-1]).any(axis=1)) + 1).tolist()]
    segments = [Segment(max(time[i], 0.0), (0.0,) * 6, None, tuple(pwm[i])) for i in first]
    scenario = Scenario('bag', '', time[-1], (0.0,) * 3, (0.0,) * 3, tuple(segments), ())
    state = moved[1]
    start = State(state[0, :3], state[0, 3:7], state[0, 7:13])
    dt = float(np.median(np.diff(moved[0]))) / 1e9
    return Seen(make_script(scenario, vehicle), start, dt, state[:, 7:13])


def with_drag(vehicle: Vehicle, factors: Any) -> Vehicle:
    """Return a vehicle with its quadratic drag multiplied, axis by axis."""
    damping = vehicle.damping
    return replace(vehicle, damping=replace(damping, quadratic=damping.quadratic * factors))


def identified(vehicle: Vehicle, seen: Seen) -> tuple[np.ndarray, list[float]]:
    """Return the factors (6,) of the drag, NaN where nothing moved, and the errors on the way."""
    moves = np.abs(seen.velocity).max(axis=0) > STILL

    def error(factors: jax.Array) -> jax.Array:
        moved = motion(
            with_drag(vehicle, factors),
            seen.plan,
            seen.start,
            ticks=len(seen.velocity),
            dt=seen.dt,
        )
        return (moved.velocity - seen.velocity).reshape(-1)

    slopes = jax.jit(lambda x: (error(x), jax.jacfwd(error)(x)))
    factors, errors = np.ones(6), []
    for _ in range(STEPS):
        off, slope = (np.asarray(x) for x in slopes(factors))
        errors.append(float(np.sqrt(np.mean(off**2))))
        step = np.linalg.lstsq(slope[:, moves], off, rcond=1e-9)[0]
        factors[moves] -= step * min(1.0, LONGEST / np.abs(step).max())
    return np.where(moves, factors, np.nan), errors


def main() -> None:
    """Print what the bag tells."""
    if len(sys.argv) < 3:
        sys.exit('expected: identify_drag.py BAG VEHICLE [NAME:=VALUE ...]')
    vehicle = load_vehicle(sys.argv[2], **parse_xacro_arguments(sys.argv[3:]))
    with precision('float64'):
        factors, errors = identified(vehicle, seen_in(sys.argv[1], vehicle))
    print('rms error:', ' '.join(f'{e:.2g}' for e in errors))
    axes = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
    for axis, factor, drag in zip(axes, factors, np.diag(vehicle.damping.quadratic), strict=True):
        print(f'{axis:6} {factor * drag:10.3f}, which is {factor:.4f} of the description')


if __name__ == '__main__':
    main()
