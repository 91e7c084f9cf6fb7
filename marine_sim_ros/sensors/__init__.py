# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One sensor per file: its URDF element, what it measures, its noise, its topics.

``SENSORS`` lists the kinds; ``vehicle.sensors`` are the ones that a vehicle carries.
"""

from __future__ import annotations

from collections.abc import Mapping

from marine_sim_ros.core import registry
from marine_sim_ros.sensors.sensor_model import Readings, SensorModel, SensorTopic

__all__ = ['SENSORS', 'Readings', 'SensorModel', 'SensorTopic']

SENSORS: Mapping[str, SensorModel] = registry.SENSORS
