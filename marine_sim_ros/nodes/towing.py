# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Towing: the pull of the tethers of other vehicles that end at this one.

Subscribes: odom; of each vehicle in ``towed_by`` <namespace>/tether/anchor_wrench.
Publishes, one per odom, same stamp: wrench/towing.
Parameters: the common ones, and those below.
Failure: an odom that is not finite is answered with a zero wrench and a warning, and the last pull
holds where one is not finite. After 10 s without a message of a vehicle, its last pull holds
until its next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.fleet import OtherVehicles
from marine_sim_ros.ros.force_node import WrenchNode
from marine_sim_ros.ros.message_fields import is_finite, wrench_from
from marine_sim_ros.ros.ticks import TickSynchronizer

__all__ = ['main']

PARAMETERS = (
    NodeParameter('towed_by', [''], 'namespaces of the vehicles whose tethers end at this one'),
)


def _read_wrench(message: Any) -> np.ndarray | None:
    wrench = wrench_from(message)
    return wrench if is_finite(wrench) else None


class TowingNode(WrenchNode):
    """Node of the pull of tethers that end at this vehicle."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``towing``."""
        super().__init__('towing', PARAMETERS, **options)
        names = [name for name in self.values['towed_by'] if name]
        vehicles = OtherVehicles(
            self,
            names,
            topics.TETHER_ANCHOR,
            _read_wrench,
            first=np.zeros(6),
            fallback='its last pull holds',
        )
        self._synchronizer = TickSynchronizer(self._on_all, vehicles.last, names)
        vehicles.listen(self._synchronizer)

    def on_state(self, stamp: int, state: State) -> None:
        """Answer when the pulls of this tick have arrived."""
        if self.values['compute']:
            self._synchronizer.main(stamp, state)
        else:
            self.publish_wrench(stamp, self._zero)

    def _on_all(self, stamp: int, state: State, pulls: Mapping[str, np.ndarray]) -> None:
        del state
        self.publish_wrench(stamp, sum(pulls.values(), start=self._zero))


def main() -> None:
    """Run the executable."""
    run(TowingNode)


if __name__ == '__main__':
    main()
