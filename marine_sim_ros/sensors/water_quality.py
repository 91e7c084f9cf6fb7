# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Optode, fluorometer and transmissometer: oxygen, chlorophyll and particles of the water."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.random import gaussian
from marine_sim_ros.core.schema import number, schema_of
from marine_sim_ros.core.spatial import in_map
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.sensors import Mounting
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sensors.noise import add_lasting_errors, quantize
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
)

__all__ = ['FLUOROMETER', 'OPTODE', 'TRANSMISSOMETER']


@dataclass(frozen=True)
class Optode:
    """Parameters of an oxygen optode."""

    noise: float = number(0.0, 0.0, 1000.0, 'µmol/kg', 'standard deviation of a reading')
    bias: float = number(0.0, 0.0, 1000.0, 'µmol/kg', 'standard deviation of the constant bias')
    scale_error: float = number(0.0, 0.0, 1.0, '', 'standard deviation of the error of scale')
    drift: float = number(0.0, 0.0, 1000.0, 'µmol/kg/h', 'standard deviation of the drift')
    resolution: float = number(0.0, 0.0, 1000.0, 'µmol/kg', 'step of the readings; 0: none')
    maximum: float = number(math.inf, 0.0, 1e4, 'µmol/kg', 'greatest reading')


@dataclass(frozen=True)
class Fluorometer:
    """Parameters of a chlorophyll fluorometer."""

    noise: float = number(0.0, 0.0, 1000.0, 'mg/m³', 'standard deviation of a reading')
    bias: float = number(0.0, 0.0, 1000.0, 'mg/m³', 'standard deviation of the constant bias')
    scale_error: float = number(0.0, 0.0, 1.0, '', 'standard deviation of the error of scale')
    drift: float = number(0.0, 0.0, 1000.0, 'mg/m³/h', 'standard deviation of the drift')
    resolution: float = number(0.0, 0.0, 1000.0, 'mg/m³', 'step of the readings; 0: none')
    maximum: float = number(math.inf, 0.0, 1e4, 'mg/m³', 'greatest reading')


@dataclass(frozen=True)
class Transmissometer:
    """Parameters of a transmissometer."""

    noise: float = number(0.0, 0.0, 100.0, '1/m', 'standard deviation of a reading')
    bias: float = number(0.0, 0.0, 100.0, '1/m', 'standard deviation of the constant bias')
    scale_error: float = number(0.0, 0.0, 1.0, '', 'standard deviation of the error of scale')
    drift: float = number(0.0, 0.0, 100.0, '1/m/h', 'standard deviation of the drift')
    resolution: float = number(0.0, 0.0, 100.0, '1/m', 'step of the readings; 0: none')
    maximum: float = number(math.inf, 0.0, 1e4, '1/m', 'greatest reading')


def _read_optode(reader: Reader, mounting: Mounting) -> Optode:
    """Return the parameters of an optode.

    Raises:
        MissingPackageError: gsw is not installed.
    """
    require('gsw', 'an optode')
    reader.children(schema_of(Optode).children)
    return Optode(**reader.values(Optode, **mounting.preset))


def _oxygen(environment: Environment, points: np.ndarray) -> np.ndarray:
    """Return dissolved oxygen (...), µmol/kg; without a field that of water saturated with air.

    Source: Garcia and Gordon (1992), Limnology and Oceanography 37, 1307-1312, by gsw.
    """
    if environment.has_field('oxygen'):
        return np.asarray(environment.water_field('oxygen', points))
    gsw = require('gsw', 'an optode')
    salinity = environment.water_salinity(points)
    return np.asarray(gsw.O2sol_SP_pt(salinity, environment.water_temperature(points)))


def _chlorophyll(environment: Environment, points: np.ndarray) -> np.ndarray:
    """Return chlorophyll (...), mg/m³; 0 without a field."""
    if environment.has_field('chlorophyll'):
        return np.asarray(environment.water_field('chlorophyll', points))
    return np.zeros(points.shape[:-1])


def _attenuation(environment: Environment, points: np.ndarray) -> np.ndarray:
    """Return the attenuation (...) that particles add to clear water, 1/m."""
    if environment.has_field('turbidity'):
        return np.asarray(environment.water_field('turbidity', points))
    return np.full(points.shape[:-1], environment.optics.turbidity)


def _sensor_model(
    kind: str,
    label: str,
    quantity: str,
    unit: str,
    spec: type,
    value: Callable[[Environment, np.ndarray], np.ndarray],
    **options: Any,
) -> SensorModel:
    """Return the model of an instrument that measures one constituent of the water."""

    def measure(
        sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
    ) -> Readings:
        """Return the quantity (...) where the sensor sits; NaN above the water."""
        del inputs
        place = in_map(state.position, state.orientation, sensor.position[None, :])[..., 0, :]
        is_wet = place[..., 2] < environment.elevation(place)
        return {quantity: np.where(is_wet, value(environment, place), np.nan)}

    def disturb(
        sensor: Sensor,
        readings: Readings,
        stamps: int | np.ndarray,
        seed: int,
        faults: Sequence[Fault],
    ) -> Readings:
        """Add noise and the errors of the run, up to the greatest reading."""
        del faults
        measured = add_lasting_errors(sensor, '', readings[quantity], stamps, seed)
        measured = measured + sensor.spec.noise * gaussian(seed, sensor.name, stamps)
        measured = np.minimum(measured, sensor.spec.maximum)
        return {quantity: quantize(measured, 0.0, sensor.spec.resolution)}

    def fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
        del sensor
        return {'data': float(readings[quantity])}

    message = 'std_msgs/msg/Float64'
    chart = SensorChart(
        quantity, quantity, unit, message_numbers(message, 'data'), against_ideal(quantity)
    )
    return SensorModel(
        kind,
        measure,
        disturb=disturb,
        spec=spec,
        label=label,
        topics=(SensorTopic(quantity, message, fields, unit=unit),),
        charts=(chart,),
        **options,
    )


OPTODE = _sensor_model(
    'optode', 'Optode', 'oxygen', 'µmol/kg', Optode, _oxygen, read=_read_optode, rate=0.5
)
FLUOROMETER = _sensor_model(
    'fluorometer', 'Fluorometer', 'chlorophyll', 'mg/m³', Fluorometer, _chlorophyll, rate=1.0
)
TRANSMISSOMETER = _sensor_model(
    'transmissometer', 'Transmissometer', 'attenuation', '1/m', Transmissometer, _attenuation,
    rate=4.0,
)  # fmt: skip
