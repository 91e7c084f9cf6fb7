# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Barometer: absolute pressure and temperature at the sensor, with seeded noise.

Takes the sensor's name as an argument; default: barometer.
Subscribes: odom. Publishes, one per odom, same stamp: barometer/pressure (FluidPressure, Pa, with
its variance), barometer/temperature (Temperature, °C), in the frame of the sensor's link.
Parameters: the common ones, and ``variance`` (Pa²; -1: the vehicle's own).
Failure: an odom that is not finite is left out with a warning. A reading that a fault
drops is not published. A vehicle without the sensor ends the node with exit code 2.
"""

from __future__ import annotations

import sys
from functools import partial

from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.sensors import SensorNode

__all__ = ['main']

PARAMETERS = (
    NodeParameter(
        'variance', -1.0, "variance of the pressure; -1: the vehicle's", -1.0, 1e12, unit='Pa²'
    ),
)


class BarometerNode(SensorNode):
    """Node of a barometer."""

    def __init__(self, name: str = 'barometer', **options: object) -> None:
        """Create the node of a barometer by its name."""
        super().__init__(name, PARAMETERS, **options)
        if self.values['variance'] >= 0:
            self.describe_sensor(variance=self.values['variance'])


def main() -> None:
    """Run the executable: ``barometer [NAME] [--ros-args ...]``."""
    names = [argument for argument in sys.argv[1:2] if not argument.startswith('-')]
    run(partial(BarometerNode, *names))


if __name__ == '__main__':
    main()
