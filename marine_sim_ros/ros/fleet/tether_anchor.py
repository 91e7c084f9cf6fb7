# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The far end of a tether on another vehicle: its state of each tick, and what it feels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.model.tether.tether import Tether
from marine_sim_ros.physics.tether.towing import towing_wrench
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.publishers import SpatialPublisher
from marine_sim_ros.ros.fleet.others import OtherVehicles
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import state_from
from marine_sim_ros.ros.ticks.gathering import Gathering

__all__ = ['TetherAnchor']


class TetherAnchor:
    """Waits for the other vehicle's state of the same tick, and publishes the pull on it.

    Attributes:
        state: state of the other vehicle at the tick that is answered; None: nothing is known of
            it, or no vehicle carries the anchor.
    """

    def __init__(
        self, node: SuiteNode, tether: Tether, answer: Callable[[int, State], None]
    ) -> None:
        """Listen to the other vehicle, if one carries the anchor.

        Args:
            node: the node of the tether.
            tether: the tether.
            answer: called with stamp (ns) and state of the own vehicle when the other's is there.
        """
        self._tether, self._answer = tether, answer
        self.state: State | None = None
        if not tether.vehicle:
            return
        name = '/' + tether.vehicle
        others = OtherVehicles(
            node,
            [name],
            topics.ODOM,
            state_from,
            first=None,
            meanwhile='the tether ends where it was last',
        )
        self._name, self._node = name, node
        self._gathering = Gathering(self._on_both, others.last, [name])
        others.listen(self._gathering)
        self._publisher = SpatialPublisher(node, topics.TETHER_ANCHOR)

    def wait(self, stamp: int, state: State) -> None:
        """Answer a state at a stamp (ns) when the other vehicle's is there."""
        if not self._tether.vehicle:
            self._answer(stamp, state)
            return
        self._gathering.main(stamp, state)

    def _on_both(self, stamp: int, state: State, given: Mapping[str, Any]) -> None:
        self.state = given[self._name]
        self._answer(stamp, state)

    def tell(self, stamp: int, pull: np.ndarray | None) -> None:
        """Publish the pull (3,) of the cable on the anchor, map, N; None: nothing is computed."""
        if not self._tether.vehicle:
            return
        wrench = np.zeros(6)
        if pull is not None and self.state is not None:
            wrench = towing_wrench(self._tether, self.state, pull)
        self._publisher.publish(stamp, wrench)
