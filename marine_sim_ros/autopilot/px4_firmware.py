# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""PX4 as software in the loop: its parameters for a vehicle, and its start.

Source: PX4 main of 2026-03-02 (02e73e3), ROMFS/px4fmu_common/init.d-posix and
src/modules/control_allocator/module.yaml.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from marine_sim_ros.autopilot.channels import SKID_STEERING, channel_map
from marine_sim_ros.autopilot.conventions import frd
from marine_sim_ros.control.controller_model import ControllerModel
from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.model.propellers import PWM_MAX, PWM_NEUTRAL
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['PX4', 'Px4Settings', 'pulse_widths', 'px4_settings']

MAX_MOTORS = 12
SUBMARINE, BOAT = 1022, 50000
"""Airframes: the BlueROV2 Heavy, whose motors are those of the vehicle here, and the rover with
two motors, right and left, which steers by their difference."""
FRAME_RATES = {SUBMARINE: 250.0, BOAT: 100.0}
"""Hz, at which each frame is answered: the attitude controller of submarines runs at each reading
of the IMU, that of rovers a hundred times a second."""
MOTOR_1 = 101
"""Function of an output; those of further motors are one more each."""
COMMON = {'SIM_GZ_EN': 0, 'SENS_EN_GPSSIM': 0, 'SENS_EN_BAROSIM': 0, 'SENS_EN_MAGSIM': 0}
"""The sensors are those of this package, not PX4's own."""
BOAT_CONTROL = {
    'MAV_TYPE': 11,
    'CA_R_REV': 3,
    'NAV_ACC_RAD': 3.0,
    'PP_LOOKAHD_MIN': 8.0,
    'RD_TRANS_DRV_TRN': 1.5,
    'RD_TRANS_TRN_DRV': 0.5,
    'RO_MAX_THR_SPEED': 2.5,
    'RO_SPEED_LIM': 2.0,
    'RO_YAW_P': 0.5,
    'RO_YAW_RATE_P': 1.5,
    'RO_YAW_RATE_LIM': 30.0,
    'RO_YAW_ACCEL_LIM': 30.0,
    'RO_YAW_DECEL_LIM': 30.0,
}
"""Both motors reverse; limits of a boat of a WAM-V's size, which glides where a wheel holds, in m,
m/s, 1/s, deg/s and deg/s²: assumed."""
NAVIGATION = {
    'gps': {'EKF2_GPS_CTRL': 7, 'EKF2_EV_CTRL': 0, 'EKF2_HGT_REF': 0},
    'dvl': {'EKF2_GPS_CTRL': 0, 'EKF2_EV_CTRL': 4, 'EKF2_HGT_REF': 0},
}
"""Positions and velocities of a GPS receiver, or velocities of external odometry, and the height
of the barometer. PX4's airframe of submarines uses no GPS."""


@dataclass(frozen=True)
class Px4Settings:
    """Settings of PX4's start.

    Attributes:
        airframe: number of the airframe (SYS_AUTOSTART).
        address: address at which it finds the simulator.
        instance: number of the vehicle, from 0; the system of MAVLink is one more.
        parameters: its parameters, by name.
    """

    airframe: int
    address: str
    instance: int
    parameters: dict[str, float] = field(default_factory=dict)

    @property
    def program(self) -> str:
        """Name of the program."""
        return 'px4'

    @property
    def frame_rate(self) -> float:
        """Frames per second that the airframe answers, Hz."""
        return FRAME_RATES[self.airframe]

    def prepare(self, program: str, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Return the command line, and variables of its environment.

        Args:
            program: path of the executable bin/px4 of a build, beside whose folder is etc.
            folder: where it runs.

        Raises:
            ParameterError: its start script is missing.
        """
        del folder
        etc = Path(program).parent.parent / 'etc'
        if not (etc / 'init.d-posix' / 'rcS').is_file():
            raise ParameterError(
                f'px4 is {program!r}, and {etc} has no start script; expected bin/px4 in the '
                'folder of a build, as build/px4_sitl_default/bin/px4'
            )
        return [program, '-d', '-i', str(self.instance), str(etc)], self.variables()

    def variables(self) -> dict[str, str]:
        """Return the variables of the environment that its start scripts read."""
        return {
            'PX4_SYS_AUTOSTART': str(self.airframe),
            'PX4_SIMULATOR': 'mavlink',
            'PX4_SIM_MODEL': 'marine_sim_ros',
            'PX4_SIM_HOST_ADDR': self.address,
            **{f'PX4_PARAM_{name}': f'{value:g}' for name, value in self.parameters.items()},
        }

    def script(self) -> str:
        """Return a shell script that starts PX4 in the folder of its build."""
        variables = ''.join(f'export {k}={shlex.quote(v)}\n' for k, v in self.variables().items())
        return f'#!/bin/sh\n{variables}exec bin/px4 -d -i {self.instance} etc\n'


def px4_settings(
    vehicle: Vehicle,
    *,
    instance: int,
    address: str = '127.0.0.1',
    navigation: str = 'gps',
    declination: float = 0.0,
) -> Px4Settings:
    """Return how PX4 is started for a vehicle.

    Args:
        instance: number among several, from 0.
        address: address at which PX4 finds the simulator.
        navigation: ``gps``, or ``dvl``.
        declination: of the magnetic field, degrees to the east; PX4 knows it by itself from a
            position.

    Raises:
        ModelError: it has no thrusters, or more than PX4 has motors.
        ParameterError: another navigation.
    """
    count = len(vehicle.thrusters.names)
    if not 0 < count <= MAX_MOTORS:
        raise ModelError(
            f'{vehicle.name} has {count} thrusters; PX4 expects 1 to {MAX_MOTORS} motors'
        )
    if navigation not in NAVIGATION:
        raise ParameterError(f'navigation is {navigation!r}; expected gps or dvl with px4')
    boat = channel_map(vehicle).frame == SKID_STEERING
    parameters = {
        **COMMON,
        **(_boat_parameters(vehicle) if boat else _motor_parameters(vehicle)),
        **NAVIGATION[navigation],
        'EKF2_MAG_DECL': round(declination, 2),
    }
    return Px4Settings(BOAT if boat else SUBMARINE, address, instance, parameters)


def _boat_parameters(vehicle: Vehicle) -> dict[str, float]:
    starboard = vehicle.thrusters.position[:, 1] < 0
    functions = {
        f'PWM_MAIN_FUNC{k}': MOTOR_1 if right else MOTOR_1 + 1
        for k, right in enumerate(starboard.tolist(), 1)
    }
    track = float(np.ptp(vehicle.thrusters.position[:, 1]))
    return {**BOAT_CONTROL, 'RD_WHEEL_TRACK': round(track, 3), **functions}


def _motor_parameters(vehicle: Vehicle) -> dict[str, float]:
    """Return the geometry of the motors: places from the centre of mass, and axes, in FRD."""
    thrusters, count = vehicle.thrusters, len(vehicle.thrusters.names)
    parameters: dict[str, float] = {
        'MAV_TYPE': 12,
        'CA_AIRFRAME': 7,
        'CA_ROTOR_COUNT': count,
        'CA_R_REV': 2**count - 1,
    }
    arms = thrusters.position - vehicle.inertia.center_of_mass
    for k in range(count):
        for letter, vector in (('P', arms[k]), ('A', thrusters.axis[k])):
            for axis, value in zip('XYZ', frd(vector), strict=True):
                parameters[f'CA_ROTOR{k}_{letter}{axis}'] = round(value, 4) + 0.0
        parameters |= {f'CA_ROTOR{k}_KM': 0.0, f'PWM_MAIN_FUNC{k + 1}': MOTOR_1 + k}
    return parameters


def pulse_widths(controls: Sequence[float], count: int) -> list[int]:
    """Return pulse widths (µs) of the first outputs, −1 to 1; the neutral one for 0."""
    return [round(PWM_NEUTRAL + (PWM_MAX - PWM_NEUTRAL) * value) for value in controls[:count]]


PX4 = ControllerModel(
    'px4',
    label='PX4',
    executable='px4',
    options=('px4', 'autopilot_instance', 'autopilot_address', 'navigation'),
)
"""PX4, as software in the loop."""
