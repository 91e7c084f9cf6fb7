# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All manoeuvres by name; a new one is one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.validation import balance, bollard, decay, free_run, speed
from marine_sim_ros.validation.measurement import DIRECTIONS, Measurement
from marine_sim_ros.validation.sticks import STICKS

__all__ = ['MANOEUVRES', 'WHERE_MEASURED', 'Manoeuvre']

Manoeuvre = Callable[[Vehicle], Measurement]


def _both_ways(
    name: str, function: Callable[..., Measurement], axes: tuple[str, ...]
) -> Iterator[tuple[str, Manoeuvre]]:
    for axis in axes:
        for sense, way in zip((1.0, -1.0), DIRECTIONS[axis], strict=True):
            yield f'{name}_{axis}_{way}', partial(function, axis=axis, sense=sense)


MANOEUVRES: dict[str, Manoeuvre] = {
    'mass': balance.mass,
    'net_buoyancy': balance.net_buoyancy,
    'trim_roll': partial(balance.trim_angle, axis='roll'),
    'trim_pitch': partial(balance.trim_angle, axis='pitch'),
    'draught': balance.draught,
    'thruster_forward': partial(bollard.single_thrust, sense=1.0),
    'thruster_reverse': partial(bollard.single_thrust, sense=-1.0),
    **dict(_both_ways('bollard', bollard.bollard_thrust, AXES)),
    **dict(_both_ways('speed', speed.steady_speed, ('surge', 'sway', 'heave'))),
    'largest_tilt': free_run.largest_tilt,
    'terminal_speed': speed.terminal_speed,
    'roll_period': partial(decay.period, axis='roll'),
    'roll_decrement': partial(decay.decrement, axis='roll'),
    'pitch_period': partial(decay.period, axis='pitch'),
    'pitch_decrement': partial(decay.decrement, axis='pitch'),
    **dict(_both_ways('turning_rate', speed.steady_speed, ('yaw',))),
    **dict(_both_ways('power', bollard.power, ('surge', 'heave'))),
}
"""Name -> measurement of a vehicle; names are those of config/validation."""

WHERE_MEASURED: dict[str, Manoeuvre] = {
    'pitch_period_from_48': partial(decay.period_from, axis='pitch', degrees=48.0),
    'pitch_undershoot_from_48': partial(decay.undershoot, axis='pitch', degrees=48.0),
    **STICKS,
}
"""The same, of manoeuvres that are run only for a vehicle with a measured value of them."""
