# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One world of Gazebo as ros_gz_bridge shows it: its control service and its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rosgraph_msgs.msg import Clock

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.ros_distribution import ros_packages
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import stamp_ns

__all__ = ['ControlledWorld']


class ControlledWorld:
    """Requests steps, pauses and resets of a world; reports its time to a subscriber."""

    def __init__(self, node: SuiteNode, name: str) -> None:
        """Open the control service.

        Raises:
            MarineSimError: ros_gz_interfaces is not installed.
        """
        try:
            from ros_gz_interfaces.srv import ControlWorld
        except ImportError as error:
            raise MarineSimError(
                f'gazebo_bridge: {error}; expected the package {ros_packages("ros_gz")}'
            ) from None

        self._node = node
        self._kind = ControlWorld
        self._client = node.create_client(ControlWorld, f'/world/{name}/control')
        self._watched: Any = None

    @property
    def ready(self) -> bool:
        """Whether ros_gz_bridge offers the service; it does so without Gazebo too."""
        return bool(self._client.service_is_ready())

    def ask(self, *, pause: bool = False, steps: int = 0, reset: bool = False) -> None:
        """Ask for something; the answer comes before it is done, so nobody waits for that."""
        request = self._kind.Request()
        request.world_control.pause = pause
        request.world_control.multi_step = steps
        request.world_control.reset.all = reset
        self._client.call_async(request)

    def watch(self, told: Callable[[int], None]) -> None:
        """Call ``told`` with the world's time in ns, about 1,000 times a second.

        ros_gz_bridge takes up to a second to begin: that bridge is lazy, so that nothing is spent
        while nobody watches.
        """
        if self._watched is None:
            self._watched = self._node.listen(
                topics.GAZEBO_CLOCK, lambda message: told(_time(message))
            )

    def look_away(self) -> None:
        """Watch no longer; not to be called while it tells."""
        if self._watched is not None:
            self._node.destroy_subscription(self._watched)
            self._watched = None


def _time(message: Clock) -> int:
    return stamp_ns(message.clock)
