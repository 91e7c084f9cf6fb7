# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One effect per file, pure functions: (vehicle, state, environment) -> wrench.

``FORCES`` holds the memoryless ones by the name of their topic (``wrench/<name>``). Thrusters
carry a memory and take a command, so they have a signature of their own.
"""

from __future__ import annotations

from collections.abc import Callable

from marine_sim_ros.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.state import State, Wrench

__all__ = ['FORCES', 'WRENCH_SOURCES', 'Force']

Force = Callable[[Vehicle, State, Environment], Wrench]

FORCES: dict[str, Force] = {
    'buoyancy': buoyancy,
    'drag': drag,
}

WRENCH_SOURCES = ('thrusters', *FORCES)
"""What moves a vehicle by default, in the order in which it is summed."""
