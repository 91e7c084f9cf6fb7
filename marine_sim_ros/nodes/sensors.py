# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors: all sensors of the vehicle that have no node of their own.

Subscribes: odom, and where a sensor sees them that of the neighbours; acceleration (AccelStamped)
and thrusters/supply where a sensor needs them.
Publishes: <name>/<topic> of each topic of each sensor, stamped with the time of the measurement,
at the sensor's rate and after its latency; /tf_static of sensors with an <origin>;
<node>/tick (Header) when all of a tick are read, for the recorder, which waits for it.
Serves, where ``protocol`` says so: the wire protocols of real instruments. Publishes and
subscribes, where ``topics`` says so: the topics of their ROS drivers.
Parameters: the common ones, neighbours, protocol and topics.
Failure: an odom that is not finite is left out with a warning; while acceleration or
thrusters/supply is silent its last message holds; a neighbour that is silent for 10 s stays
where it was last. A sensor that fails is reported; the others go on.
"""

from __future__ import annotations

from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.sensors import SENSORS_PARAMETERS as PARAMETERS
from marine_sim_ros.ros.sensors import SensorsNode

__all__ = ['PARAMETERS', 'main']


def main() -> None:
    """Run the executable."""
    run(SensorsNode)


if __name__ == '__main__':
    main()
