# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Magnetometer: the Earth's magnetic field in the sensor's axes, distorted by the vehicle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import to_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.battery import supply_current
from marine_sim_ros.sensors.noise import constant_bias, mounting_error, quantize, white_noise
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
    diagonal,
    vector_fields,
)

__all__ = ['MAGNETOMETER']

MAX_FIELD = 1e-2
"""T; no reading is larger."""


@declaration(frozen=True)
class MagnetometerSpec:
    """Parameters of a magnetometer: B = S B_Earth + h + I k, in the sensor's axes."""

    noise: float = number(0.0, 0.0, MAX_FIELD, 'T', 'standard deviation of a reading, per axis')
    bias: float = number(
        0.0, 0.0, MAX_FIELD, 'T', 'standard deviation of the constant bias, per axis'
    )
    misalignment: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of the mounting angles, per axis'
    )
    range: float = number(0.0, 0.0, MAX_FIELD, 'T', 'greatest reading; 0: no limit')
    resolution: float = number(0.0, 0.0, MAX_FIELD, 'T', 'step of the readings; 0: none')
    hard_iron: tuple[float, ...] = number(
        (0.0, 0.0, 0.0), -MAX_FIELD, MAX_FIELD, 'T', "h: field of the vehicle's magnets"
    )
    soft_iron: tuple[float, ...] = number(
        (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        -10.0,
        10.0,
        '',
        'S: what iron makes of the field, row by row',
    )
    current_field: tuple[float, ...] = number(
        (0.0, 0.0, 0.0), -1e-3, 1e-3, 'T/A', "k: field of the thrusters' current"
    )


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the magnetic flux density (..., 3) in the sensor's axes, T."""
    spec = sensor.spec
    earth = to_body(state.orientation, environment.origin.magnetic_field)
    field = matvec(np.reshape(spec.soft_iron, (3, 3)) @ sensor.rotation.T, earth)
    field = field + np.array(spec.hard_iron)
    if any(spec.current_field):
        field = field + supply_current(inputs.supply)[..., None] * np.array(spec.current_field)
    return {'magnetic_field': field}


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    del faults
    spec = sensor.spec
    field = readings['magnetic_field']
    if spec.misalignment:
        field = field @ mounting_error(seed, sensor.name, spec.misalignment)
    field = field + white_noise(seed, sensor.name, stamps, spec.noise)
    field = field + constant_bias(seed, sensor.name, spec.bias)
    return {'magnetic_field': quantize(field, spec.range, spec.resolution)}


def _fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    variance = sensor.spec.noise**2 + sensor.spec.resolution**2 / 12
    return {
        'magnetic_field': vector_fields(readings['magnetic_field']),
        'magnetic_field_covariance': diagonal(variance),
    }


MAGNETOMETER = SensorModel(
    'magnetometer',
    _measure,
    disturb=_disturb,
    spec=MagnetometerSpec,
    topics=(SensorTopic('field', 'sensor_msgs/msg/MagneticField', _fields),),
    charts=(
        SensorChart(
            'field',
            'magnetic field',
            'µT',
            message_numbers('sensor_msgs/msg/MagneticField', 'field', 'variance'),
            against_ideal('magnetic_field', 1e6),
            parts=('x', 'y', 'z'),
        ),
    ),
    needs=('supply',),
    rate=50.0,
    label='Magnetometer',
)
