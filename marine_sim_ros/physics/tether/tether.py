# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tether: the pull of a cable from the vehicle to a fixed point, a ship, or another vehicle."""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import cross, in_map, to_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.tether.tether import Tether, read_tether
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import ForceInputs, ForceModel
from marine_sim_ros.physics.tether.cable import cable_step, hung_between
from marine_sim_ros.physics.tether.cable_state import CableState
from marine_sim_ros.physics.tether.ship import on_ship

__all__ = ['TETHER', 'check_reach', 'reel_state', 'tether_ends']


def tether_ends(
    tether: Tether, state: State, environment: Environment, other: State | None = None
) -> Array:
    """Return the points (..., 2, 3) on the vehicle and of the anchor, map, m.

    Args:
        tether: cable and anchor.
        state: of the vehicle.
        environment: environment at the state's time.
        other: of the vehicle that carries the anchor, at the same time; None: none does.

    Raises:
        ParameterError: a vehicle carries the anchor, and its state is not known.
    """
    xp = namespace(state.position)
    start = in_map(state.position, state.orientation, constant(xp, tether.position[None, :]))
    if tether.vehicle:
        if other is None:
            raise ParameterError(
                f'tether: its anchor is vehicle {tether.vehicle!r}, which is not in this run; '
                'expected a fleet with it (--fleet)'
            )
        end = in_map(other.position, other.orientation, constant(xp, tether.anchor[None, :]))
        return xp.concat([start, end], axis=-2)
    if tether.ship is not None:
        fixed = on_ship(tether.ship, tether.anchor, environment)
    else:
        fixed = constant(xp, tether.anchor)
    anchor = fixed + xp.zeros_like(state.position)
    if tether.afloat:
        up = constant(xp, np.array([0.0, 0.0, 1.0]))
        anchor = anchor + environment.elevation(anchor)[..., None] * up
    return xp.concat([start, anchor[..., None, :]], axis=-2)


def _has_tether(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return 'tether' in vehicle.extensions


def check_reach(
    vehicle: Vehicle, state: State, environment: Environment, other: State | None = None
) -> None:
    """Check that a vehicle's tether, if it has one, reaches from its start to the anchor.

    Raises:
        ParameterError: it would break at once, or ends at a vehicle that is not there.
    """
    tether: Tether | None = vehicle.extensions.get('tether')
    if tether is None:
        return
    longest = tether.length * (1 + tether.cable.breaking_load / tether.cable.axial_stiffness)
    start, anchor = tether_ends(tether, state, environment, other)
    distance = float(np.linalg.norm(anchor - start))
    if distance > longest:
        raise ParameterError(
            f'tether: the vehicle starts {distance:.1f} m from the anchor; expected at most '
            f'{longest:.1f} m, at which the tether of {tether.length:g} m breaks'
        )


def reel_state(cable: Any) -> Array | None:
    """Return length, rate and pull at the drum (..., 3) of a cable: m, m/s, N; None: no reel."""
    if not isinstance(cable, CableState) or cable.length is None or cable.rate is None:
        return None
    xp = namespace(cable.length)
    pull = cable.pull[..., 1, :]
    return xp.stack([cable.length, cable.rate, xp.sqrt(xp.sum(pull * pull, axis=-1))], axis=-1)


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: CableState | None,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, CableState]:
    """Return the pull of the cable at the tick (..., 6), and the cable then.

    The inertia of the half segment at the vehicle is left out of its pull.
    """
    tether: Tether = vehicle.extensions['tether']
    rate = None if inputs.reel is None else inputs.reel[..., 0]
    xp = namespace(state.position)
    ends = tether_ends(tether, state, environment, inputs.anchor)
    cable = hung_between(tether, ends) if memory is None else memory
    density = environment.density_for(vehicle.buoyancy.fluid_density)
    cable = cable_step(tether, environment, cable, ends, dt, density=density, rate=rate)
    force = to_body(state.orientation, cable.pull[..., 0, :])
    lever_arm = constant(xp, tether.position) + xp.zeros_like(force)
    return xp.concat([force, cross(lever_arm, force)], axis=-1), cable


TETHER = ForceModel(
    'tether',
    _step,
    applies=_has_tether,
    check=check_reach,
    label='Tether',
    colour='#b8860b',
    element='tether',
    read=read_tether,
    executable='tether',
)
