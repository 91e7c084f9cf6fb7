# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A wrench that somebody adds from outside, on the topic wrench/external."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import Wrench
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import wrench_from
from marine_sim_ros.ros.owners.state_owner import StateOwner
from marine_sim_ros.ros.owners.wrench_bounds import largest_wrench, wrench_fault

__all__ = ['ExternalWrench']

HOLD = 1.0
"""s that a message holds."""


class ExternalWrench:
    """The latest message, for as long as it holds; one that cannot act is ignored."""

    def __init__(self, owner: StateOwner) -> None:
        """Listen for the owner of the state."""
        self._owner = owner
        self._wrench = np.zeros(6)
        self._until = -1
        self._largest = largest_wrench(owner.vehicle.inertia.mass, owner.dt)
        owner.listen(topics.EXTERNAL_WRENCH, self._on_wrench)

    def _on_wrench(self, message: WrenchStamped) -> None:
        wrench = wrench_from(message)
        if fault := self._fault(wrench, message.header.frame_id):
            self._owner.warn_throttled(f'wrench/external: {fault}; ignored')
            return
        self._wrench = wrench
        self._until = self._owner.stamp + round(HOLD * NANOSECONDS)

    def _fault(self, wrench: Wrench, frame: str) -> str:
        """Return why a wrench cannot act, or an empty text."""
        body = self._owner.body_frame
        if frame not in ('', self._owner.vehicle.base_link, body):
            return f'frame_id is {frame!r}, expected {body!r}'
        return wrench_fault(wrench.tolist(), self._largest)

    def at(self, stamp: int) -> Wrench | None:
        """Return the wrench (6,) that acts at a stamp in ns, or None."""
        return self._wrench if stamp < self._until else None

    def restart(self) -> None:
        """Forget it, since the run starts anew."""
        self._until = -1
