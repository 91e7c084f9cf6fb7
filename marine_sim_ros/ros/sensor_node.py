# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node of a sensor: each ``odom`` is answered with the sensor's readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import (
    acceleration_from,
    finite,
    set_fields,
    set_stamp,
    stamp_ns,
    state_from,
)
from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.ros.pairing import Pairing
from marine_sim_ros.ros.parameters import Parameter
from marine_sim_ros.sensors import SENSORS

__all__ = ['SensorNode']


class SensorNode(SuiteNode):
    """Publishes what a sensor of the vehicle reads at every tick."""

    def __init__(self, name: str, parameters: Sequence[Parameter] = (), **options: Any) -> None:
        """Create the node of a sensor by the sensor's name.

        Raises:
            ParameterError: the vehicle has no sensor of that name.
        """
        super().__init__(name, parameters, **options)
        self.sensor = self._find(name)
        kind = SENSORS[self.sensor.kind]
        self._measure, self._disturb = kind.measure, kind.disturb
        frame = self.values['frame_prefix'] + self.sensor.spec.frame
        self._outputs = []
        for topic in kind.topics:
            own = topics.sensor_topic(self.sensor, topic)
            message = own.type()
            message.header.frame_id = frame
            self._outputs.append((topic.fields, message, self.publisher(own)))
        self._pairing: Pairing[State, np.ndarray] | None = None
        if 'acceleration' in kind.needs:
            self._pairing = Pairing(self._on_motion, np.zeros(6))
            self.listen(topics.ACCELERATION, self._on_acceleration)
        self.follow_current()
        self.listen(topics.ODOM, self._on_odom)

    def _find(self, name: str) -> Sensor:
        for sensor in self.vehicle.sensors:
            if sensor.name == name:
                return sensor
        known = ', '.join(s.name for s in self.vehicle.sensors) or 'none'
        raise ParameterError(f'{self.vehicle.name} has no sensor {name!r}; it has: {known}')

    def describe_sensor(self, **changes: Any) -> None:
        """Replace parts of what describes the sensor."""
        self.sensor = replace(self.sensor, spec=replace(self.sensor.spec, **changes))

    def _on_odom(self, message: Odometry) -> None:
        stamp, state = stamp_ns(message.header.stamp), state_from(message)
        if state is None:
            self.warn_throttled('odom: not finite; no reading')
        elif self._pairing is None:
            self._on_motion(stamp, state, np.zeros(6))
        else:
            self._pairing.first(stamp, state)

    def _on_acceleration(self, message: AccelStamped) -> None:
        assert self._pairing is not None
        acceleration = acceleration_from(message)
        if not finite(acceleration):
            self.warn_throttled('acceleration: not finite; the last one holds')
            acceleration = self._pairing.last
        self._pairing.second(stamp_ns(message.header.stamp), acceleration)

    def _on_motion(self, stamp: int, state: State, acceleration: np.ndarray) -> None:
        environment = self.environment_at(stamp)
        ideal = self._measure(self.sensor, state, acceleration, environment)
        readings = self._disturb(self.sensor, ideal, stamp, self.values['seed'], self.faults)
        for fields, message, publisher in self._outputs:
            values = fields(self.sensor, readings)
            if values is None:
                continue
            set_stamp(message.header.stamp, stamp)
            set_fields(message, values)
            publisher.publish(message)
