# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Full ahead without anybody who steers: whether the vehicle stays upright."""

from __future__ import annotations

import math

from marine_sim_ros.core.spatial import up_in_body
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.simulation import Simulation
from marine_sim_ros.validation.balance import balance
from marine_sim_ros.validation.decay import natural_period
from marine_sim_ros.validation.held import reachable, stick
from marine_sim_ros.validation.measurement import Measurement

__all__ = ['largest_tilt']

_DURATION = 10.0
_OVER = 90.0


def largest_tilt(vehicle: Vehicle) -> Measurement:
    """Return the largest angle from upright in ten seconds of full ahead, free in six axes.

    From rest, with the stick of surge full over and the others let go. Drag, thrust and buoyancy
    do not act on one line, and added mass turns a vehicle across its way (the Munk moment).
    """
    title = 'largest tilt, full ahead and free'
    start = balance(vehicle)
    if start is None:
        return Measurement(title, 'deg', None, 'has no attitude of rest')
    if not reachable(vehicle, 'surge'):
        return Measurement(title, 'deg', None, 'out of reach of the thrusters')
    periods = [p for p in (natural_period(vehicle, a) for a in ('roll', 'pitch')) if p]
    dt = min([0.02, *(p / 40 for p in periods)])
    simulation = Simulation(vehicle, initial=start.state(), dt=dt)
    pwm, upright = stick(vehicle, 'surge', 1.0), 1.0
    for _ in range(math.ceil(_DURATION / dt)):
        simulation.tick(pwm)
        upright = min(upright, float(up_in_body(simulation.state.orientation)[2]))
    tilt = math.degrees(math.acos(max(upright, -1.0)))
    return Measurement(title, 'deg', tilt, 'turns over' if tilt > _OVER else '')
