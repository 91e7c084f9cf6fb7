# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensor: one sensor of the vehicle in a process of its own: for one that takes long.

Takes the name of the sensor, which is the node's too: ``sensor barometer --ros-args ...``.
Subscribes: odom, and where the sensor sees them that of the neighbours; acceleration
(AccelStamped) and thrusters/supply where the sensor needs them.
Publishes: <name>/<topic> of each topic of its kind, stamped with the time of the measurement;
<node>/tick (Header) when all of a tick are read, for the recorder, which waits for it.
Sends, where a camera is told to: H.264 over RTP to the UDP address ``video``.
Parameters: the common ones, neighbours and video.
Failure: an odom that is not finite is left out with a warning; while acceleration or
thrusters/supply is silent its last message holds; a neighbour that is silent for 10 s stays
where it was last. A vehicle without the sensor ends the node with exit code 2.
"""

from __future__ import annotations

from marine_sim_ros.ros.process import run_named
from marine_sim_ros.ros.sensor_node import PARAMETERS, SensorNode

__all__ = ['PARAMETERS', 'SensorNode', 'main']


def main() -> None:
    """Run the executable: ``sensor NAME [--ros-args ...]``."""
    run_named('sensor', SensorNode)


if __name__ == '__main__':
    main()
