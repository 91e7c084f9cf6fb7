# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces and actuators as pure functions, one effect per file; ``FORCES`` lists the forces.

A force is a :class:`ForceModel`. The engines, the node graph, recordings, analysis, markers and
console iterate over this list. An :class:`Actuator` of ``ACTUATORS`` follows commands.
"""

from __future__ import annotations

from collections.abc import Mapping

from marine_sim_ros.core import registry
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.physics.force import ForceInputs, ForceModel

__all__ = [
    'ACTUATORS',
    'Actuator',
    'FORCES',
    'ForceInputs',
    'ForceModel',
    'acting_forces',
    'actuators_of',
    'wrench_sources',
]

ACTUATORS: Mapping[str, Actuator] = registry.ACTUATORS
FORCES: Mapping[str, ForceModel] = registry.FORCES


def acting_forces(vehicle: Vehicle, environment: Environment) -> tuple[ForceModel, ...]:
    """Return the forces that act on a vehicle in an environment, in the order of their sum."""
    return tuple(
        force
        for force in registry.FORCES.of_extensions(vehicle.extensions)
        if force.applies is None or force.applies(vehicle, environment)
    )


def wrench_sources(vehicle: Vehicle, environment: Environment) -> tuple[str, ...]:
    """Return the names of :func:`acting_forces`."""
    return tuple(force.name for force in acting_forces(vehicle, environment))


def actuators_of(vehicle: Vehicle) -> tuple[Actuator, ...]:
    """Return the actuators that a vehicle has, in the order of their list."""
    possible = registry.ACTUATORS.of_extensions(vehicle.extensions)
    return tuple(actuator for actuator in possible if actuator.names(vehicle))
