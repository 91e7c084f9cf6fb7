# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ArduSub's frames: which axes each motor pushes, and whether the thrusters of a vehicle do so.

Source: ArduPilot 4.5, libraries/AP_Motors/AP_Motors6DOF.cpp;
https://ardupilot.org/sub/docs/sub-frames.html.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.control.allocation import AXES, thrust_matrix
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'CUSTOM',
    'FRAME_CONFIG',
    'MOTORS',
    'MotorMismatch',
    'frames_of',
    'motor_mismatches',
    'motor_signs',
    'pushes_alike',
    'thruster_signs',
]

CUSTOM = 'custom'
"""Frame whose motors are compiled into a firmware of one's own; the stock firmware has those of
simplerov_3."""
FRAME_CONFIG = {
    'bluerov1': 0,
    'vectored': 1,
    'vectored_6dof': 2,
    'vectored_6dof_90deg': 3,
    'simplerov_3': 4,
    'simplerov_4': 5,
    'simplerov_5': 6,
    CUSTOM: 7,
}
"""ArduSub's parameter of that name, by the name of the frame."""

_VECTORED = ((-1, -1, 0, 0, 0, -1), (-1, 1, 0, 0, 0, 1), (1, -1, 0, 0, 0, 1), (1, 1, 0, 0, 0, -1))
_SIMPLE = ((1, 0, 0, 0, 0, 1), (1, 0, 0, 0, 0, -1))
_SIMPLE_4 = (*_SIMPLE, (0, 0, -1, 1, 0, 0), (0, 0, -1, -1, 0, 0))
MOTORS: dict[str, np.ndarray] = {
    name: np.array(rows)
    for name, rows in {
        'vectored': (*_VECTORED, (0, 0, -1, 1, 0, 0), (0, 0, -1, -1, 0, 0)),
        'vectored_6dof': (
            *_VECTORED,
            *((0, 0, -1, 1, 1, 0), (0, 0, -1, -1, 1, 0)),
            *((0, 0, -1, 1, -1, 0), (0, 0, -1, -1, -1, 0)),
        ),
        'vectored_6dof_90deg': (
            *((0, 0, 1, 1, -1, 0), (1, 0, 0, 0, 0, -1), (0, 0, 1, 1, 1, 0)),
            *((0, -1, 0, 0, 0, 0), (0, -1, 0, 0, 0, 0)),
            *((0, 0, 1, -1, -1, 0), (1, 0, 0, 0, 0, 1), (0, 0, 1, -1, 1, 0)),
        ),
        'bluerov1': (
            *_SIMPLE,
            *((0, 0, 1, -1, -1, 0), (0, 0, 1, 1, -1, 0), (0, 0, 1, 0, 1, 0)),
            (0, -1, 0, 0, 0, 0),
        ),
        'simplerov_3': (*_SIMPLE, (0, 0, -1, 0, 0, 0)),
        'simplerov_4': _SIMPLE_4,
        'simplerov_5': (*_SIMPLE_4, (0, -1, 0, 0, 0, 0)),
    }.items()
}
"""(n, 6) signs of surge, sway, heave, roll, pitch, yaw (FLU) of positive PWM, motor 1 first.

ArduSub's lateral, pitch and yaw are to starboard, bow up and to starboard: the signs of sway,
pitch and yaw are turned here. Left out is roll of a level motor (BlueROV1, motor 6).
"""
NEGLIGIBLE = 0.2
"""Fraction of a thruster's largest force, or moment, below which a part counts as none."""
SHORTEST_ARM = 0.01
"""m; with a shorter one a thruster turns nothing."""


@dataclass(frozen=True)
class MotorMismatch:
    """A motor of a frame and its thruster that push differently.

    Attributes:
        motor: number of the motor, from 1.
        thruster: name of the thruster on its channel; empty: there is none.
        axis: one of AXES; empty where there is no thruster.
        wanted: sign about that axis (FLU) of positive PWM on the motor.
        found: the thruster's; 0: it does not push there.
    """

    motor: int
    thruster: str
    axis: str = ''
    wanted: int = 0
    found: int = 0

    def __str__(self) -> str:
        """Return what disagrees, in words."""
        if not self.thruster:
            return f'no thruster is on the channel of motor {self.motor}'
        does = f'pushes {_sign(self.found)}{self.axis}' if self.found else f'makes no {self.axis}'
        return (
            f'motor {self.motor} pushes {_sign(self.wanted)}{self.axis} at positive PWM, '
            f'and {self.thruster!r} {does} (axes forward, left, up)'
        )


def _sign(value: int) -> str:
    return '+' if value > 0 else '-'


def motor_signs(matrix: np.ndarray) -> np.ndarray:
    """Return the signs (n, 6) of what thrusters do, from their matrix B (6, n).

    Level thrusters count for surge, sway and yaw, upright ones for heave, roll and pitch.
    """
    columns = matrix.T
    upright = np.abs(columns[:, 2]) > 0.5
    mask = np.where(upright[:, None], [0, 0, 1, 1, 1, 0], [1, 1, 0, 0, 0, 1])
    parts = columns * mask
    least = np.repeat(
        np.stack(
            [
                NEGLIGIBLE * np.max(np.abs(parts[:, :3]), axis=1, initial=1e-9),
                np.maximum(NEGLIGIBLE * np.max(np.abs(parts[:, 3:]), axis=1), SHORTEST_ARM),
            ],
            axis=1,
        ),
        3,
        axis=1,
    )
    return np.sign(np.where(np.abs(parts) > least, parts, 0.0)).astype(int)


def thruster_signs(vehicle: Vehicle) -> np.ndarray:
    """Return the signs (n, 6) of what the thrusters of a vehicle do about its centre of mass."""
    return motor_signs(thrust_matrix(vehicle.thrusters, vehicle.inertia.center_of_mass))


def pushes_alike(signs: np.ndarray, motor: np.ndarray) -> bool:
    """Return whether a thruster (6,) pushes about all axes of a motor (6,), in its sense.

    What it pushes besides is left to the pair that it belongs to: two lateral motors ahead and aft
    have no yaw in ArduSub's matrix, and each of them turns the vehicle.
    """
    return bool(np.all((motor == 0) | (signs == motor)))


def motor_mismatches(vehicle: Vehicle, channels: Sequence[int], frame: str) -> list[MotorMismatch]:
    """Return where the thrusters of a vehicle push otherwise than the motors of a frame.

    Args:
        vehicle: the vehicle.
        channels: channel of each thruster, from 1; motor k is on channel k.
        frame: a frame of ``MOTORS``; of another one nothing is known.
    """
    signs, names = thruster_signs(vehicle), vehicle.thrusters.names
    found: list[MotorMismatch] = []
    for number, motor in enumerate(MOTORS.get(frame, ()), 1):
        if number not in channels:
            found.append(MotorMismatch(number, ''))
            continue
        k = list(channels).index(number)
        found += [
            MotorMismatch(number, names[k], AXES[axis], int(motor[axis]), int(signs[k, axis]))
            for axis in np.flatnonzero((motor != 0) & (signs[k] != motor))
        ]
    return found


def frames_of(count: int) -> list[str]:
    """Return the frames with as many motors, the common one first."""
    return [name for name, motors in MOTORS.items() if len(motors) == count]
