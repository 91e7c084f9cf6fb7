# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tether: the pull of a cable from the vehicle to an anchor.

Subscribes: odom; with a reel tether/command (JointState: ``velocity`` in m/s at which ``reel``
pays out, below 0 hauls in); of a vehicle that carries the anchor <namespace>/odom.
Publishes, one per odom, same stamp: wrench/tether; with a reel tether/state (JointState of
``reel``: position is the length off it in m, velocity its rate in m/s, effort the pull there in
N); for a vehicle that carries the anchor tether/anchor_wrench, on it, in its body frame; for a
camera tether/nodes (PointCloud2 in map, from the vehicle to the anchor). ``rate``
times per second of simulated time: tether/tension (JointState: effort is the cable's pull in N at
``vehicle`` and at ``anchor``) and tether/shape (Path in map, from the vehicle to the anchor).
Parameters: the common ones, and those below; the cable is the vehicle's <tether>.
Failure: an odom that is not finite is answered with a zero wrench and a warning. A vehicle
without a tether, and one that starts farther from the anchor than its tether reaches, end the node
with one line. A tether that parts is reported once; it does not pull until time goes back. A
command that is not one finite number for ``reel`` is ignored, with a warning; beyond the reel's
limits it is clamped. The latest one holds, and ``command_timeout`` after it the reel stops. After
10 s without odom of the vehicle at the anchor, its last pose holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench
from marine_sim_ros.model.tether import CableState
from marine_sim_ros.physics.force import ForceInputs
from marine_sim_ros.physics.tether import REEL_ACTUATOR, check_tether_reach, reel_state
from marine_sim_ros.ros.base.parameters import COMMAND_HOLD, SEEN, NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.fleet import TetherAnchor
from marine_sim_ros.ros.force_node import ForceTick, ModelNode
from marine_sim_ros.ros.moving_parts import TetherPublisher
from marine_sim_ros.ros.servos import ServoCommands, ServoPublisher

__all__ = ['main']

PARAMETERS = (
    option_parameter('scenario', empty='the reel follows tether/command'),
    COMMAND_HOLD,
    NodeParameter(
        'rate',
        10.0,
        'tether/tension and tether/shape per second of simulated time',
        0.0,
        1e3,
        unit='Hz',
        empty='none',
    ),
    SEEN,
)


class TetherNode(ModelNode):
    """Node of the tether's pull, and of its reel."""

    commanded = True

    def __init__(self, **options: Any) -> None:
        """Create it as ``tether``.

        Raises:
            ParameterError: the vehicle has no tether.
        """
        super().__init__('tether', PARAMETERS, **options)
        tether = self.vehicle.extensions.get('tether')
        if tether is None:
            raise ParameterError(
                f'{self.vehicle.name} has no <tether>; expected one, as of bluerov2 tether:=fathom'
            )
        self._shape = TetherPublisher(self, self.values['rate'])
        self._anchor = TetherAnchor(self, tether, self._on_anchor)
        self._reel: ServoCommands | None = None
        if tether.reel is None:
            return
        self._start = np.array([tether.length, 0.0, 0.0])
        self._states = ServoPublisher(self, REEL_ACTUATOR)
        self._reel = ServoCommands(
            self, REEL_ACTUATOR, answer=super().on_state, timeout=self.values['command_timeout']
        )

    def inputs(self, stamp: int) -> ForceInputs:
        """Return the reel's commanded rate at a stamp in ns, and the state at the anchor."""
        force_inputs = super().inputs(stamp)
        return force_inputs._replace(anchor=self._anchor.state, commands=self.commands(stamp))

    def commands(self, stamp: int) -> dict[str, Any]:
        """Return the commanded rate of the reel at a stamp in ns, for a compiled graph."""
        return {} if self._reel is None else {'reel': self._reel.commanded_values(stamp)}

    def on_state(self, stamp: int, state: State) -> None:
        """Answer when the anchor's state has arrived; with ``compute`` off, at once."""
        if self.values['compute']:
            self._anchor.wait(stamp, state)
            return
        self._anchor.publish(stamp, None)
        self._shape.publish_nodes(stamp, np.zeros((0, 3)))
        if self._reel is not None:
            self._states.publish(stamp, self._start)
        self._on_anchor(stamp, state)

    def _on_anchor(self, stamp: int, state: State) -> None:
        (super().on_state if self._reel is None else self._reel.wait)(stamp, state)

    def wrench(self, stamp: int, state: State) -> Wrench:
        """Return the pull (6,); end the node if the tether cannot reach the anchor."""
        try:
            if self._stamp is None:
                check_tether_reach(
                    self.vehicle, state, self.environment_at(stamp), self._anchor.state
                )
            return super().wrench(stamp, state)
        except ParameterError as error:
            if not self.finished:
                self.get_logger().error(str(error))
            self.end(2)
            return self._zero

    def on_wrench(self, tick: ForceTick) -> None:
        """Publish the reel, tension and shape, and report a tether that parts."""
        cable: CableState = tick.after
        self._anchor.publish(tick.stamp, cable.pull[1])
        if (reel := reel_state(cable)) is not None:
            self._states.publish(tick.stamp, reel)
        if cable.attached == 0 and (tick.before is None or tick.before.attached > 0):
            self.get_logger().warning(f'the tether has parted at {tick.stamp / NANOSECONDS:g} s')
        self._shape.publish(tick.stamp, cable)


def main() -> None:
    """Run the executable."""
    run(TetherNode)


if __name__ == '__main__':
    main()
