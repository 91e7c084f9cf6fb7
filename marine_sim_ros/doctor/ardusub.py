# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Number, order, place and sense of thrusters against the motors of ArduSub's frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from marine_sim_ros.autopilot.channels import ELEMENT, channel_map
from marine_sim_ros.autopilot.sub_frames import (
    MOTORS,
    motor_mismatches,
    pushes_alike,
    thruster_signs,
)
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic

__all__ = ['motor_order']

PLACES: dict[str, np.ndarray] = {
    'vectored': np.array([(1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1)]),
    'vectored_6dof': np.array(
        [(1, -1), (1, 1), (-1, -1), (-1, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)]
    ),
}
"""(n, 2) signs of x and y (FLU) of the motors: ahead or aft, to port or to starboard."""
AMIDSHIPS = 0.03
"""m."""


def _matching(
    signs: np.ndarray,
    places: np.ndarray,
    frame: np.ndarray,
    wanted: np.ndarray | None,
    first: Sequence[int],
) -> list[tuple[int, int]] | None:
    """Return for every motor its thruster and the sense (±1), or None for another layout.

    ``first`` is the thruster on each motor's channel, which is taken where it fits.
    """
    result: list[tuple[int, int]] = []
    left = list(range(len(signs)))
    for motor in range(len(frame)):
        options = [
            (k, s)
            for k in left
            for s in (1, -1)
            if pushes_alike(s * signs[k], frame[motor])
            and (wanted is None or np.array_equal(places[k], wanted[motor]))
        ]
        if not options:
            return None
        best = min(options, key=lambda o: (o[0] != first[motor], o[1] < 0, o[0]))
        result.append(best)
        left.remove(best[0])
    return result


def motor_order(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Thrusters of a vehicle for ArduSub come in its order and push in its sense.

    These are the vehicles with an element <ardusub>, and those named as a BlueROV.
    """
    vehicle = context.vehicle
    element = context.root.find(ELEMENT)
    if element is None and 'bluerov' not in vehicle.name.lower():
        return
    try:
        channels = channel_map(vehicle)
    except ModelError as error:
        yield context.error(element, str(error), 'correct <ardusub>')
        return
    name = channels.frame
    if name not in MOTORS:
        return
    com = vehicle.inertia.center_of_mass
    level = (vehicle.thrusters.position - com)[:, :2]
    places = np.where(np.abs(level) > AMIDSHIPS, np.sign(level), 0.0).astype(int)
    on_channel = [
        channels.thrusters.index(motor) if motor in channels.thrusters else -1
        for motor in range(1, len(MOTORS[name]) + 1)
    ]
    matching = _matching(
        thruster_signs(vehicle), places, MOTORS[name], PLACES.get(name), on_channel
    )
    elements = context.thruster_elements()
    plugin = context.root.find('thrusters') is None
    tell = context.hint if plugin and element is None else context.warning
    if matching is None:
        faults = motor_mismatches(vehicle, channels.thrusters, name)
        which = '; '.join(map(str, faults)) or 'a thruster is on another side than its motor'
        why = 'as <ardusub> names it' if element is not None else 'though it is named a BlueROV'
        yield tell(
            context.root.find('thrusters'),
            f'its thrusters make no {name} frame of ArduSub, {why}: {which}',
            f'compare positions and rpy with the {name} frame, or name another frame in <ardusub>',
        )
        return
    for motor, (thruster, sense) in enumerate(matching):
        there = elements[on_channel[motor]] if on_channel[motor] >= 0 else element
        if thruster != on_channel[motor]:
            yield tell(
                there,
                f'is on channel {motor + 1}, but what ArduSub calls motor '
                f'{motor + 1} of its {name} frame is {vehicle.thrusters.names[thruster]!r}',
                "put the thrusters in the order of ArduSub's motor numbers, or give their "
                'channels in <ardusub>',
            )
        elif sense < 0:
            yield tell(
                there,
                f"pushes against what ArduSub's motor {motor + 1} of the "
                f'{name} frame does with positive PWM',
                'turn its rpy by 180 degrees, or set MOT_n_DIRECTION of the autopilot',
            )
