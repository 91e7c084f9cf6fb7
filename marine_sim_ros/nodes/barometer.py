# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Barometer: absolute pressure and temperature at the sensor, with seeded noise.

Subscribes: odom. Publishes, one per odom, same stamp: barometer/pressure (FluidPressure, Pa, with
its variance), barometer/temperature (Temperature, °C), in the frame of the sensor's link.
Parameters: the common ones, and ``variance`` (Pa²; -1: the vehicle's own).
Failure: an odom that is not finite is left out with a warning. Of faults, a reading that drops out
is not sent. A vehicle without a barometer ends
the node with exit code 2.
"""

from __future__ import annotations

import math

from nav_msgs.msg import Odometry
from sensor_msgs.msg import FluidPressure, Temperature

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.physics.barometer import BarometerReading, barometer
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import set_stamp, stamp_ns, state_from
from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.ros.parameters import Parameter
from marine_sim_ros.ros.process import run
from marine_sim_ros.sim.simulation import noisy_pressure

__all__ = ['BarometerNode', 'main']

PARAMETERS = (
    Parameter('variance', -1.0, "variance of the pressure; -1: the vehicle's", -1.0, 1e12,
              unit='Pa²'),
)  # fmt: skip
NULL = BarometerReading(0.0, 0.0)


class BarometerNode(SuiteNode):
    """The node."""

    def __init__(self, **options: object) -> None:
        """Create it as ``barometer``."""
        super().__init__('barometer', PARAMETERS, **options)
        sensor = self.vehicle.barometer
        if sensor is None:
            raise ModelError(f'{self.vehicle.name}: has no <barometer>; do not start its node')
        self._sensor = sensor
        asked = self.values['variance']
        self._variance = sensor.variance if asked < 0 else asked
        frame = self.values['frame_prefix'] + sensor.frame
        self._pressure = FluidPressure(variance=self._variance)
        self._temperature = Temperature()
        for message in (self._pressure, self._temperature):
            message.header.frame_id = frame
        self._outputs = (
            self.publisher(topics.BAROMETER_PRESSURE),
            self.publisher(topics.BAROMETER_TEMPERATURE),
        )
        self.listen(topics.ODOM, self._on_odom)

    def _on_odom(self, message: Odometry) -> None:
        stamp = stamp_ns(message.header.stamp)
        state = state_from(message)
        if state is None:
            self.warn_throttled('odom: not finite; no reading')
            return
        compute = self.values['compute']
        reading = barometer(self._sensor, state, self.environment_at(stamp)) if compute else NULL
        noise = self._variance if compute else 0.0
        seed = self.values['seed']
        pressure = float(noisy_pressure(reading.pressure, noise, seed, stamp, self.faults))
        if math.isnan(pressure):
            return
        self._pressure.fluid_pressure = pressure
        self._temperature.temperature = float(reading.temperature)
        outgoing = (self._pressure, self._temperature)
        for publisher, message in zip(self._outputs, outgoing, strict=True):
            set_stamp(message.header.stamp, stamp)
            publisher.publish(message)


def main() -> None:
    """Run the executable."""
    run(BarometerNode)


if __name__ == '__main__':
    main()
