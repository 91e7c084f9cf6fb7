# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One effect per file, pure functions: (vehicle, state, environment) -> wrench.

``FORCES`` holds them by the name of their topic (``wrench/<name>``). Where the whole force also
depends on the tick before, ``WITH_MEMORY`` has it: (..., memory, dt) -> (wrench, memory).
Thrusters take a command too, and the boundary force their thrust, so they have signatures of their
own; it and contact act only where the environment has a scene.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.contact import contact
from marine_sim_ros.physics.drag import drag, drag_with_memory

__all__ = [
    'FORCES',
    'IMPULSIVE_SOURCES',
    'WITH_JOINTS',
    'WITH_MEMORY',
    'WRENCH_SOURCES',
    'Force',
    'wrench_sources',
]

Force = Callable[[Vehicle, State, Environment], Wrench]

FORCES: dict[str, Force] = {
    'buoyancy': buoyancy,
    'drag': drag,
}

WITH_MEMORY: dict[str, Callable[..., tuple[Wrench, Any]]] = {
    'drag': drag_with_memory,
    'contact': contact,
}
"""(vehicle, state, environment, memory, dt=) -> (wrench, memory); the first memory is None."""

WITH_JOINTS = ('buoyancy',)
"""Forces that depend on where the arm is: they take the vehicle as it is posed then."""

WRENCH_SOURCES = ('thrusters', *FORCES)
"""What moves a vehicle by default, in the order in which it is summed."""


IMPULSIVE_SOURCES = ('manipulator', 'contact')
"""Sources whose wrench is an impulse over one step: a last one must not hold any longer."""


def wrench_sources(vehicle: Vehicle, environment: Environment) -> tuple[str, ...]:
    """Return what moves a vehicle in an environment, in the order in which it is summed."""
    arm = () if vehicle.manipulator is None else ('manipulator',)
    solid = () if environment.scene is None else ('boundary', 'contact')
    return (*WRENCH_SOURCES, *arm, *solid)
