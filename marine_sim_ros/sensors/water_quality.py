# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of the water: CTD, optode, fluorometer and transmissometer.

They read conductivity, temperature and pressure, with salinity, density and sound speed of these;
oxygen, chlorophyll and particles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.random import gaussian
from marine_sim_ros.core.schema import declaration, number, schema_of
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

__all__ = ['CTD', 'FLUOROMETER', 'OPTODE', 'TRANSMISSOMETER']

_PASCAL_PER_DECIBAR = 1e4
_SIEMENS_PER_M = 0.1
"""S/m in 1 mS/cm."""


@declaration(frozen=True)
class Ctd:
    """Parameters of a CTD; standard deviations are of white noise."""

    temperature_noise: float = number(0.0, 0.0, 10.0, '°C', 'standard deviation of temperature')
    temperature_bias: float = number(
        0.0, 0.0, 10.0, '°C', 'standard deviation of the constant bias of temperature'
    )
    temperature_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of temperature'
    )
    temperature_drift: float = number(
        0.0, 0.0, 10.0, '°C/h', 'standard deviation of the drift of temperature'
    )
    conductivity_noise: float = number(0.0, 0.0, 10.0, 'S/m', 'standard deviation of conductivity')
    conductivity_bias: float = number(
        0.0, 0.0, 10.0, 'S/m', 'standard deviation of the constant bias of conductivity'
    )
    conductivity_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of conductivity'
    )
    conductivity_drift: float = number(
        0.0, 0.0, 10.0, 'S/m/h', 'standard deviation of the drift of conductivity'
    )
    pressure_noise: float = number(0.0, 0.0, 1e6, 'Pa', 'standard deviation of pressure')
    pressure_bias: float = number(
        0.0, 0.0, 1e6, 'Pa', 'standard deviation of the constant bias of pressure'
    )
    pressure_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of pressure'
    )
    pressure_drift: float = number(
        0.0, 0.0, 1e6, 'Pa/h', 'standard deviation of the drift of pressure'
    )
    atmospheric_pressure: float = number(101_300.0, 0.0, 2e5, 'Pa', 'pressure of the air')
    fluid_density: float = number(
        math.nan, 0.0, 2e4, 'kg/m³', "density of other water; default: the vehicle's"
    )


def _read(reader: Reader, mounting: Mounting) -> Ctd:
    """Return the parameters of a CTD.

    Raises:
        MissingPackageError: gsw is not installed.
    """
    require('gsw', 'a CTD')
    reader.children(schema_of(Ctd).children)
    defaults = {'fluid_density': mounting.fluid_density, **mounting.preset}
    return Ctd(**reader.values(Ctd, **defaults))


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return temperature (°C), absolute pressure (Pa) and conductivity (S/m), and what follows.

    Conductivity is that of the practical salinity scale PSS-78; in air it is 0.
    """
    del inputs
    gsw = require('gsw', 'a CTD')
    position = in_map(state.position, state.orientation, sensor.position[None, :])[..., 0, :]
    height = position[..., 2] - environment.elevation(position)
    submerged = position[..., 2:3] - environment.dynamic_head(position)[..., None]
    head = environment.hydrostatic_pressure(
        np.concatenate([position[..., :2], submerged], axis=-1), sensor.spec.fluid_density
    )
    temperature = environment.temperature_around(position, height)
    conductivity = gsw.C_from_SP(
        environment.water_salinity(position), temperature, head / _PASCAL_PER_DECIBAR
    )
    wet = height < 0
    return _with_derived(
        sensor.spec,
        {
            'temperature': np.asarray(temperature),
            'pressure': np.asarray(sensor.spec.atmospheric_pressure + head),
            'conductivity': np.where(wet, _SIEMENS_PER_M * conductivity, 0.0),
        },
    )


def _with_derived(spec: Ctd, readings: Readings) -> Readings:
    """Return readings with salinity, density (kg/m³) and speed of sound (m/s) that they give.

    TEOS-10 with salt of the reference composition; NaN where there is no water.
    """
    gsw = require('gsw', 'a CTD')
    temperature = readings['temperature']
    pressure = (readings['pressure'] - spec.atmospheric_pressure) / _PASCAL_PER_DECIBAR
    conductivity = readings['conductivity'] / _SIEMENS_PER_M
    wet = conductivity > 0
    salinity = gsw.SP_from_C(np.where(wet, conductivity, np.nan), temperature, pressure)
    absolute = gsw.SR_from_SP(salinity)
    return {
        **readings,
        'salinity': np.asarray(salinity),
        'density': np.asarray(gsw.rho_t_exact(absolute, temperature, pressure)),
        'sound_speed': np.asarray(gsw.sound_speed_t_exact(absolute, temperature, pressure)),
    }


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Add noise and the errors of the run to what is measured, and so to what follows."""
    del faults
    spec = sensor.spec
    wet = readings['conductivity'] > 0

    measured = {}
    for name in ('temperature', 'pressure', 'conductivity'):
        noise = getattr(spec, f'{name}_noise') * gaussian(seed, f'{sensor.name}/{name}', stamps)
        measured[name] = add_lasting_errors(sensor, name, readings[name], stamps, seed) + noise
    conductivity = np.maximum(measured['conductivity'], 1e-6)
    return _with_derived(spec, {**measured, 'conductivity': np.where(wet, conductivity, 0.0)})


def _temperature(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    variance = sensor.spec.temperature_noise**2
    return {'temperature': float(readings['temperature']), 'variance': variance}


def _pressure(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    variance = sensor.spec.pressure_noise**2
    return {'fluid_pressure': float(readings['pressure']), 'variance': variance}


def _number(quantity: str) -> Callable[[Sensor, Readings], Mapping[str, Any]]:
    """Return the fields of a message that is one number."""

    def fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
        del sensor
        return {'data': float(readings[quantity])}

    return fields


_FLOAT = 'std_msgs/msg/Float64'
_UNITS = {
    'conductivity': 'S/m', 'salinity': '', 'density': 'kg/m³', 'sound_speed': 'm/s',
}  # fmt: skip

CTD = SensorModel(
    'ctd',
    _measure,
    disturb=_disturb,
    spec=Ctd,
    read=_read,
    rate=4.0,
    label='CTD',
    topics=(
        SensorTopic('temperature', 'sensor_msgs/msg/Temperature', _temperature),
        SensorTopic('pressure', 'sensor_msgs/msg/FluidPressure', _pressure),
        *(SensorTopic(name, _FLOAT, _number(name), unit=unit) for name, unit in _UNITS.items()),
    ),
    charts=(
        SensorChart(
            'temperature',
            'temperature',
            '°C',
            message_numbers('sensor_msgs/msg/Temperature', 'temperature', 'variance'),
            against_ideal('temperature'),
        ),
        *(
            SensorChart(
                name, name.replace('_', ' '), unit, message_numbers(_FLOAT, 'data'),
                against_ideal(name),
            )
            for name, unit in _UNITS.items()
        ),
    ),
)  # fmt: skip


@declaration(frozen=True)
class Optode:
    """Parameters of an oxygen optode."""

    noise: float = number(0.0, 0.0, 1000.0, 'µmol/kg', 'standard deviation of a reading')
    bias: float = number(0.0, 0.0, 1000.0, 'µmol/kg', 'standard deviation of the constant bias')
    scale_error: float = number(0.0, 0.0, 1.0, '', 'standard deviation of the error of scale')
    drift: float = number(0.0, 0.0, 1000.0, 'µmol/kg/h', 'standard deviation of the drift')
    resolution: float = number(0.0, 0.0, 1000.0, 'µmol/kg', 'step of the readings; 0: none')
    maximum: float = number(math.inf, 0.0, 1e4, 'µmol/kg', 'greatest reading')


@declaration(frozen=True)
class Fluorometer:
    """Parameters of a chlorophyll fluorometer."""

    noise: float = number(0.0, 0.0, 1000.0, 'mg/m³', 'standard deviation of a reading')
    bias: float = number(0.0, 0.0, 1000.0, 'mg/m³', 'standard deviation of the constant bias')
    scale_error: float = number(0.0, 0.0, 1.0, '', 'standard deviation of the error of scale')
    drift: float = number(0.0, 0.0, 1000.0, 'mg/m³/h', 'standard deviation of the drift')
    resolution: float = number(0.0, 0.0, 1000.0, 'mg/m³', 'step of the readings; 0: none')
    maximum: float = number(math.inf, 0.0, 1e4, 'mg/m³', 'greatest reading')


@declaration(frozen=True)
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
