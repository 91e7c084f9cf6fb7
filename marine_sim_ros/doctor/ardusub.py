# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Order and direction of thrusters against ArduSub's motor numbers.

Source: ArduPilot, libraries/AP_Motors/AP_Motors6DOF.cpp, SUB_FRAME_VECTORED and
SUB_FRAME_VECTORED_6DOF; https://ardupilot.org/sub/docs/sub-frames.html.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marine_sim_ros.control.allocation import thrust_matrix
from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic

__all__ = ['FRAMES', 'PLACES', 'motor_order', 'motor_signs']

FRAMES: dict[str, np.ndarray] = {
    'vectored': np.array(
        [
            (-1, -1, 0, 0, 0, -1),
            (-1, 1, 0, 0, 0, 1),
            (1, -1, 0, 0, 0, 1),
            (1, 1, 0, 0, 0, -1),
            (0, 0, -1, 1, 0, 0),
            (0, 0, -1, -1, 0, 0),
        ]
    ),
    'vectored_6dof': np.array(
        [
            (-1, -1, 0, 0, 0, -1),
            (-1, 1, 0, 0, 0, 1),
            (1, -1, 0, 0, 0, 1),
            (1, 1, 0, 0, 0, -1),
            (0, 0, -1, 1, 1, 0),
            (0, 0, -1, -1, 1, 0),
            (0, 0, -1, 1, -1, 0),
            (0, 0, -1, -1, -1, 0),
        ]
    ),
}
"""(n, 6) signs of surge, sway, heave, roll, pitch, yaw (FLU) of positive PWM, motor 1 first.

ArduSub's lateral, pitch and yaw are to starboard, bow up and to starboard: the signs of sway,
pitch and yaw are turned here.
"""


PLACES: dict[str, np.ndarray] = {
    'vectored': np.array([(1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1)]),
    'vectored_6dof': np.array(
        [(1, -1), (1, 1), (-1, -1), (-1, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)]
    ),
}
"""(n, 2) signs of x and y (FLU) of the motors: ahead or aft, to port or to starboard."""
AMIDSHIPS = 0.03
"""m."""


def motor_signs(matrix: np.ndarray) -> np.ndarray:
    """Return the signs (n, 6) of what thrusters do, from their matrix B (6, n).

    Level thrusters count for surge, sway and yaw, upright ones for heave, roll and pitch; what is
    below a fifth of the largest of its kind counts as nothing.
    """
    columns = matrix.T
    upright = np.abs(columns[:, 2]) > 0.5
    mask = np.where(upright[:, None], [0, 0, 1, 1, 1, 0], [1, 1, 0, 0, 0, 1])
    parts = columns * mask
    peak = np.maximum(np.max(np.abs(parts[:, :3]), axis=1), 1e-9)[:, None] * np.ones(3)
    turn = np.maximum(np.max(np.abs(parts[:, 3:]), axis=1), 1e-9)[:, None] * np.ones(3)
    signs = np.where(np.abs(parts) > 0.2 * np.concatenate([peak, turn], axis=1), parts, 0.0)
    return np.sign(signs).astype(int)


def _matching(
    signs: np.ndarray, places: np.ndarray, frame: np.ndarray, wanted: np.ndarray
) -> list[tuple[int, int]] | None:
    """Return for every motor its thruster and the sense (±1), or None for another layout."""
    result: list[tuple[int, int]] = []
    left = list(range(len(signs)))
    for motor in range(len(frame)):
        options = [
            (k, s)
            for k in left
            for s in (1, -1)
            if np.array_equal(s * signs[k], frame[motor])
            and np.array_equal(places[k], wanted[motor])
        ]
        if not options:
            return None
        best = min(options, key=lambda o: (o[0] != motor, o[1] < 0, o[0]))
        result.append(best)
        left.remove(best[0])
    return result


def motor_order(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Thrusters of a BlueROV2 come in ArduSub's order and push in its sense."""
    vehicle = context.vehicle
    count = len(vehicle.thrusters)
    frames = {n: f for n, f in FRAMES.items() if len(f) == count}
    if not frames or 'bluerov' not in vehicle.name.lower():
        return
    ((name, frame),) = frames.items()
    com = vehicle.inertia.center_of_mass
    signs = motor_signs(thrust_matrix(vehicle.thrusters, com))
    level = (vehicle.thrusters.position - com)[:, :2]
    places = np.where(np.abs(level) > AMIDSHIPS, np.sign(level), 0.0).astype(int)
    matching = _matching(signs, places, frame, PLACES[name])
    elements = context.thruster_elements()
    plugin = context.root.find('thrusters') is None
    tell = context.hint if plugin else context.warning
    if matching is None:
        yield tell(
            context.root.find('thrusters'),
            f'its thrusters make no {name} frame of ArduSub, though it is named a BlueROV2',
            f'compare positions and rpy with the {name} frame',
        )
        return
    for motor, (thruster, sense) in enumerate(matching):
        if thruster != motor:
            yield tell(
                elements[motor],
                f'is thruster {motor + 1}, but what ArduSub calls motor '
                f'{motor + 1} of its {name} frame is {vehicle.thrusters.names[thruster]!r}',
                "put the thrusters in the order of ArduSub's motor numbers, or map the pulse "
                'widths where they come in',
            )
        elif sense < 0:
            yield tell(
                elements[motor],
                f"pushes against what ArduSub's motor {motor + 1} of the "
                f'{name} frame does with positive PWM',
                'turn its rpy by 180 degrees, or set MOT_n_DIRECTION of the autopilot',
            )
