# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Towing force: pull of the tethers of other vehicles that are anchored at this one.

The vehicle that owns the tether computes the cable; the pull at its anchor acts on this vehicle in
the same tick, so that momentum is conserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import cross, to_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.tether import Tether
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import ForceModel, actuator_step

__all__ = ['TOWING', 'towing_wrench', 'with_tow_tethers']


def towing_wrench(tether: Tether, other: State, pull: Array) -> Wrench:
    """Return the wrench (..., 6) of a tether on the vehicle that carries its anchor, body frame.

    Args:
        tether: the tether, of another vehicle.
        other: state of the vehicle that carries its anchor.
        pull: (..., 3) of the cable on the anchor, map, N.
    """
    xp = namespace(other.position)
    force = to_body(other.orientation, pull)
    lever_arm = constant(xp, tether.anchor) + xp.zeros_like(force)
    return xp.concat([force, cross(lever_arm, force)], axis=-1)


def with_tow_tethers(vehicle: Vehicle, tether_owners: Sequence[str]) -> Vehicle:
    """Return a vehicle with the anchors of other vehicles' tethers, by their namespaces."""
    if not tether_owners:
        return vehicle
    return replace(vehicle, extensions={**vehicle.extensions, TOWING.name: tuple(tether_owners)})


def _is_towed(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return TOWING.name in vehicle.extensions


TOWING = ForceModel(
    'towing',
    actuator_step('towing', __name__),
    applies=_is_towed,
    label='Towing',
    colour='#8a6d3b',
    executable='towing',
)
