# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors, one per file: URDF element, measurement, noise, topics.

``SENSORS`` lists the types; ``vehicle.sensors`` are the sensors of a vehicle.
"""

from __future__ import annotations

from collections.abc import Mapping

from marine_sim_ros.core import registry
from marine_sim_ros.model.propulsion import has_propellers
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors.sensor_model import Readings, SensorInputs, SensorModel, SensorTopic

__all__ = [
    'SENSORS',
    'SHARED',
    'Readings',
    'SensorInputs',
    'SensorModel',
    'SensorTopic',
    'has_packets',
    'moving_parts',
    'needs_of',
    'sensor_nodes',
]

SHARED = 'sensors'
"""The node that has all sensors without an executable of their own."""
SENSORS: Mapping[str, SensorModel] = registry.SENSORS
SEEN = frozenset({'joints', 'tether', 'rotors'})
"""Needs of sensors that see what moves of a vehicle, its own or another one."""


def has_packets(sensor: Sensor) -> bool:
    """Return whether each message of a sensor is a packet of its own, and none a reading."""
    return SENSORS[sensor.kind].exchange is not None


def needs_of(vehicle: Vehicle) -> set[str]:
    """Return the inputs beside the state that a vehicle's sensors need (``SensorModel.needs``)."""
    needs = {need for sensor in vehicle.sensors for need in SENSORS[sensor.kind].needs}
    return needs - (SEEN - moving_parts(vehicle))


def moving_parts(vehicle: Vehicle) -> set[str]:
    """Return the moving parts of a vehicle that cameras see, of ``SEEN``."""
    has = {
        'joints': vehicle.manipulator is not None,
        'tether': 'tether' in vehicle.extensions,
        'rotors': has_propellers(vehicle),
    }
    return {need for need, is_present in has.items() if is_present}


def sensor_nodes(vehicle: Vehicle) -> dict[str, str]:
    """Return the executables of a vehicle's sensors by the name of the node."""
    programs = [(sensor.name, SENSORS[sensor.kind].executable) for sensor in vehicle.sensors]
    return {SHARED if program == SHARED else name: program for name, program in programs}
