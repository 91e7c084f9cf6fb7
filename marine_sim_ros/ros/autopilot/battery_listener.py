# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The battery of a vehicle with a battery monitor, as its autopilot is told of it."""

from __future__ import annotations

import math

from marine_sim_ros.autopilot.supply import SlowSupply
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.sequences import JointNumbers, read_joints

__all__ = ['BatteryListener']


class BatteryListener:
    """Hears thrusters/supply, where the vehicle has a battery monitor."""

    def __init__(self, node: SuiteNode) -> None:
        """Listen."""
        self._supply = SlowSupply()
        if 'supply' in topics.sensor_needs(node.vehicle):
            node.listen_numbers(topics.THRUSTER_SUPPLY, self._on_supply, read_joints)

    def _on_supply(self, stamp: int, numbers: JointNumbers) -> None:
        known = dict(zip(topics.SUPPLY, numbers[0], strict=False))
        self._supply.take(stamp, known.get('power', 0.0), known.get('voltage', math.nan))

    def due(self, stamp: int) -> tuple[float, float] | None:
        """Return voltage (V) and current (A) told at a tick (ns); None: they are as before."""
        return self._supply.due(stamp)
