# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tether: the pull of a cable from the vehicle to an anchor.

Subscribes: odom. Publishes: wrench/tether, one per odom, same stamp; ``rate`` times per second of
simulated time tether/tension (JointState: effort is the cable's pull in N at ``vehicle`` and at
``anchor``) and tether/shape (Path in map, from the vehicle to the anchor).
Parameters: the common ones, and those below; the cable is the vehicle's <tether>.
Failure: an odom that is not finite is answered with a zero wrench and a warning. A vehicle
without a tether, and one that starts farther from the anchor than its tether reaches, end the node
with one line. A tether that parts is reported once; it pulls no more until time goes back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.physics.cable import CableState
from marine_sim_ros.physics.tether import check_reach
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import set_stamp
from marine_sim_ros.ros.force_node import ForceTick, ModelNode
from marine_sim_ros.ros.parameters import Parameter
from marine_sim_ros.ros.process import run

__all__ = ['TetherNode', 'main']

PARAMETERS = (
    Parameter(
        'rate',
        10.0,
        'tether/tension and tether/shape per second of simulated time',
        0.0,
        1e3,
        unit='Hz',
        empty='none',
    ),
)


class TetherNode(ModelNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``tether``.

        Raises:
            ParameterError: the vehicle has no tether.
        """
        super().__init__('tether', PARAMETERS, **options)
        if 'tether' not in self.vehicle.extensions:
            raise ParameterError(
                f'{self.vehicle.name} has no <tether>; expected a vehicle with one, such as '
                'bluerov2 with tether:=fathom'
            )
        self._shown = -(10**18)
        self._tension = self.publisher(topics.TETHER_TENSION)
        self._shape = self.publisher(topics.TETHER_SHAPE)

    def wrench(self, stamp: int, state: State) -> Wrench:
        """Return the pull; a tether that cannot reach ends the node."""
        try:
            if self._stamp is None:
                check_reach(self.vehicle, state, self.environment_at(stamp))
            return super().wrench(stamp, state)
        except ParameterError as error:
            if not self.finished:
                self.get_logger().error(str(error))
            self.end(2)
            return self._zero

    def on_wrench(self, tick: ForceTick) -> None:
        """Publish tension and shape, and report a tether that parts."""
        cable: CableState = tick.after
        if cable.attached == 0 and (tick.before is None or tick.before.attached > 0):
            self.get_logger().warning(f'the tether has parted at {tick.stamp / NANOSECONDS:g} s')
        rate = self.values['rate']
        if rate <= 0 or 0 <= tick.stamp - self._shown < NANOSECONDS / rate:
            return
        self._shown = tick.stamp
        tension = JointState(name=['vehicle', 'anchor'])
        set_stamp(tension.header.stamp, tick.stamp)
        tension.effort = np.linalg.norm(cable.pull, axis=-1).tolist()
        self._tension.publish(tension)
        self._shape.publish(_path(tick.stamp, cable.position))


def _path(stamp: int, points: np.ndarray) -> Path:
    """Return points (n, 3) of map, m, as a Path with a stamp in ns."""
    path = Path()
    path.header.frame_id = 'map'
    set_stamp(path.header.stamp, stamp)
    for x, y, z in points.tolist():
        pose = PoseStamped(header=path.header)
        position = pose.pose.position
        position.x, position.y, position.z = x, y, z
        pose.pose.orientation.w = 1.0
        path.poses.append(pose)
    return path


def main() -> None:
    """Run the executable."""
    run(TetherNode)


if __name__ == '__main__':
    main()
