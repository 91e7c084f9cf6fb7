# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensor: one sensor of the vehicle in its own process, for a slow one such as a camera.

Takes the name of the sensor, which is the node's too: ``sensor barometer --ros-args ...``.
Subscribes: odom; acceleration, thrusters/supply, and of a camera joint_states,
tether/nodes and thrusters/state, where the sensor needs them; of the neighbours that it detects
odom, and the same three.
Publishes: <name>/<topic> of each topic of its kind, stamped with the time of the measurement;
<node>/tick (Header) when all of a tick are read, for the recorder, which waits for it.
Sends, of a camera with ``video``: H.264 over RTP to that UDP address.
Serves, with ``protocol``: the wire protocol of a real instrument. Publishes and subscribes, with
``topics``: the topics of its ROS driver.
Parameters: the common ones, neighbours, protocol, topics and video.
Failure: an odom that is not finite is left out with a warning; while acceleration or
thrusters/supply is silent its last message holds; a neighbour that is silent for 10 s stays
where it was last. A vehicle without the sensor ends the node with exit code 2.
"""

from __future__ import annotations

from marine_sim_ros.ros.base.process import run_named
from marine_sim_ros.ros.sensors import SENSOR_PARAMETERS as PARAMETERS
from marine_sim_ros.ros.sensors import SensorNode

__all__ = ['PARAMETERS', 'main']


def main() -> None:
    """Run the executable: ``sensor NAME [--ros-args ...]``."""
    run_named('sensor', SensorNode)


if __name__ == '__main__':
    main()
