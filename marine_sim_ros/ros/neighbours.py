# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The other vehicles of a fleet around a sensor: where each is at a tick, and who is silent."""

from __future__ import annotations

import json
import time as wall
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from nav_msgs.msg import Odometry

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import stamp_ns, state_from
from marine_sim_ros.ros.followers import SILENCE, Followers
from marine_sim_ros.ros.gathering import Gathering
from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.ros.owner import START_TIMEOUT
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.sensors.neighbours import among, body_of

__all__ = ['Neighbours']

PERIOD = 0.1
"""s of wall time between looks for who is silent."""


class Neighbours:
    """Listens to the odom of every other vehicle, and puts their bodies into an environment.

    Attributes:
        last: the last known state by namespace; None before the first.
    """

    def __init__(self, node: SuiteNode, text: str) -> None:
        """Load the vehicles.

        Args:
            node: node of the sensors.
            text: value of the parameter ``neighbours``.

        Raises:
            MarineSimError: not JSON, or a vehicle that cannot be used.
        """
        self._node = node
        self._bodies = _bodies(text)
        self.last: dict[str, State | None] = dict.fromkeys(self._bodies)
        self._heard = Followers(self._bodies)

    def listen(self, gathering: Gathering) -> None:
        """Give what is heard to a gathering, which waits for it."""
        for name in self._bodies:
            odom = replace(topics.ODOM, name=f'{name}/{topics.ODOM.name}')
            self._node.listen(odom, partial(self._on_odom, gathering, name))
        if self._bodies:
            clock = self._node.wall_clock
            self._node.create_timer(PERIOD, partial(self._watch, gathering), clock=clock)

    def _on_odom(self, gathering: Gathering, name: str, message: Odometry) -> None:
        stamp, state = stamp_ns(message.header.stamp), state_from(message)
        if state is None:
            self._node.warn_throttled(f'{name}/odom: not finite; its last place holds')
            state = self.last[name]
        if self._heard.take(name, stamp, wall.monotonic()):
            gathering.absent.discard(name)
            self._node.get_logger().info(f'{name} is back')
        self.last[name] = state
        gathering.other(name, stamp, state)

    def _watch(self, gathering: Gathering) -> None:
        """Wait no longer for who is silent."""
        stamp = gathering.waiting
        silent = self._heard.give_up(stamp, wall.monotonic(), SILENCE, START_TIMEOUT)
        for name in silent:
            self._node.get_logger().warning(
                f'{name} is silent: sensors see it where it was last until it is back'
            )
        if silent:
            gathering.leave(silent)

    def around(self, environment: Environment, states: Mapping[str, Any]) -> Environment:
        """Return an environment with the bodies of those whose states are known."""
        return among(environment, self._bodies, states)


def _bodies(text: str) -> dict[str, Body]:
    if not text:
        return {}
    try:
        told = json.loads(text)
        known = {
            name: {
                'vehicle': str(one['vehicle']),
                'vehicle_arguments': [str(text) for text in one['vehicle_arguments']],
            }
            for name, one in told.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ParameterError(
            f'neighbours is {text[:80]!r}; expected a JSON object with vehicle and '
            'vehicle_arguments by namespace'
        ) from None
    return {name: body_of(vehicle_of(parameters), name) for name, parameters in known.items()}
