# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Barometer: absolute pressure and water temperature at the sensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.random import gaussian
from marine_sim_ros.core.schema import schema_of
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.devices import pressure_error
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.sensors import Mounting
from marine_sim_ros.model.vehicle import Barometer, Sensor
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sensors.noise import add_lasting_errors
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
)

__all__ = ['BAROMETER', 'barometer']

UNKNOWN = 1e6
"""m² or rad²: variance of what a pose does not tell; 0 would mean that it is exact."""
LEAST_VARIANCE = 1e-8
"""m²: estimators cannot use 0."""


class BarometerReading(NamedTuple):
    """A reading without noise: pressure (...) in Pa and temperature (...) in °C."""

    pressure: Array
    temperature: Array


def barometer(sensor: Barometer, state: State, environment: Environment) -> BarometerReading:
    """Return the reading of an ideal barometer at its position on the body: p₀ + g ∫ρ dz.

    In waves the dynamic pressure of Airy's theory is added: the depth is less the wave's head.
    z_sensor = z + (R r_sensor)_z + reference_offset: the sensor's own height, moved by what its
    description says (0 for most; −z_link − ``baro_link_to_base_link_z`` for Orca3's plugin).
    Source: Orca3 plugin documentation, OrcaBarometerPlugin.
    """
    xp = namespace(state.position)
    offset = matvec(rotation_matrix(state.orientation), constant(xp, sensor.position))
    z = state.position[..., 2] + offset[..., 2] + sensor.reference_offset
    if not environment.is_flat:
        z = z - environment.dynamic_head(state.position + offset)
    point = xp.concat([(state.position + offset)[..., :2], z[..., None]], axis=-1)
    head = environment.hydrostatic_pressure(point, sensor.fluid_density)
    return BarometerReading(
        sensor.atmospheric_pressure + head,
        environment.temperature_around(state.position + offset, z),
    )


def read_barometer(reader: Reader, mounting: Mounting) -> Barometer:
    """Return the barometer that a <barometer> element describes.

    Raises:
        ModelError: a link that is unknown, or a number that cannot be used.
    """
    reader.children(schema_of(Barometer).children)
    defaults = {'fluid_density': mounting.fluid_density, **mounting.preset}
    values = reader.values(Barometer, **defaults)
    return Barometer(mounting.place.name, mounting.place.translation, **values)


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    del inputs
    readings = barometer(sensor.spec, state, environment)._asdict()
    if sensor.spec.pose:
        density = environment.density(state.position, sensor.spec.fluid_density)
        readings['weight'] = (
            np.ravel(density)[0] * environment.gravity + 0.0 * readings['pressure']
        )
    return readings


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Add Gaussian noise, the errors of the run, and what the faults of barometers do."""
    noise = sensor.spec.variance**0.5 * gaussian(seed, sensor.name, stamps)
    error = pressure_error(faults, seed, stamps) if faults else 0.0
    pressure = add_lasting_errors(sensor, '', readings['pressure'], stamps, seed)
    return {**readings, 'pressure': pressure + noise + error}


def _pressure(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    return {'fluid_pressure': float(readings['pressure']), 'variance': float(sensor.spec.variance)}


def _temperature(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    del sensor
    return {'temperature': float(readings['temperature'])}


def _pose(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    """Return the height of ``base_link`` while the vehicle is level: z = (p₀ − p)/(ρ g) − r_z.

    The other five numbers are unknown: their variance is ``UNKNOWN``.
    """
    spec, weight = sensor.spec, float(readings['weight'])
    head = (spec.atmospheric_pressure - float(readings['pressure'])) / weight
    variances = np.full(6, UNKNOWN)
    variances[2] = max(spec.variance / weight**2, LEAST_VARIANCE)
    position = {'z': head - float(sensor.position[2]) - spec.reference_offset}
    return {'pose': {'pose': {'position': position}, 'covariance': np.diag(variances).ravel()}}


BAROMETER = SensorModel(
    'barometer',
    _measure,
    disturb=_disturb,
    spec=Barometer,
    read=read_barometer,
    element='barometer',
    topics=(
        SensorTopic('pressure', 'sensor_msgs/msg/FluidPressure', _pressure),
        SensorTopic('temperature', 'sensor_msgs/msg/Temperature', _temperature),
        SensorTopic(
            'pose',
            'geometry_msgs/msg/PoseWithCovarianceStamped',
            _pose,
            when=lambda sensor: bool(sensor.spec.pose),
            frame='map',
        ),
    ),
    charts=(
        SensorChart(
            'pressure',
            'pressure',
            'kPa',
            message_numbers('sensor_msgs/msg/FluidPressure', 'pressure', 'variance'),
            against_ideal('pressure', 1e-3),
        ),
    ),
    label='Barometer',
    executable='barometer',
)
