# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tether force: pull of a cable from the vehicle to a fixed point, a ship, or another vehicle.

Ship that follows the waves: a wall-sided hull with a rectangular waterplane L × B and negligible
inertia takes the plane in which the buoyancy of the surface elevation η has no mean lift or
moment,

    ∫ (η − z) dA = 0,    ∫ x (η − s_x x) dA = 0,    ∫ y (η − s_y y) dA = 0,

which for a wave a cos(k·x − ω t + φ) with q_x = k_x L/2, q_y = k_y B/2 are

    z = a cos θ j₀(q_x) j₀(q_y),   s_x = −a sin θ (6/L) j₁(q_x) j₀(q_y),   s_y alike,

with the spherical Bessel functions j₀(q) = sin q/q and j₁(q) = sin q/q² − cos q/q. For waves much
longer than the ship the slope is k a, that of the wave; for much shorter waves it is 0. In head
waves these are the closed forms of a box by Jensen, Mansour and Olsen (2004), Ocean Engineering
31, 61-85, in the limit of a small draught and without resonance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import cross, in_map, to_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.tether import (
    REEL,
    CableState,
    Ship,
    Tether,
    TetherElement,
    read_tether,
    reel_of,
)
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.physics.cable import cable_step, hang_cable
from marine_sim_ros.physics.force import ForceInputs, ForceModel

__all__ = [
    'REEL_ACTUATOR',
    'TETHER',
    'check_tether_reach',
    'fit_waterplane',
    'reel_state',
    'ship_point',
    'tether_ends',
]


# Motion of a ship in waves: the plane that fits the surface over its waterplane.


def _j0(q: np.ndarray) -> np.ndarray:
    return np.sinc(q / np.pi)


def _j1(q: np.ndarray) -> np.ndarray:
    """Return j₁ (...), by its series near 0, where the closed form loses digits."""
    small = np.abs(q) < 1e-2
    safe = np.where(small, 1.0, q)
    return np.where(small, q / 3 - q**3 / 30, (np.sin(safe) / safe - np.cos(safe)) / safe)


def fit_waterplane(ship: Ship, environment: Environment) -> tuple[Array, Array]:
    """Return the centre (3,) of a ship's waterplane in map, m, and its slopes ahead and to port.

    The slopes (2,) are dz/dx along the ship and dz/dy across it.
    """
    waves, time = environment.waves, environment.time
    xp = namespace(time)
    centre = constant(xp, ship.position) + constant(xp, ship.velocity) * time
    if waves is None:
        height = xp.zeros_like(centre[:1]) + environment.level
        return xp.concat([centre, height]), xp.zeros_like(centre)
    relative_course = waves.direction - ship.course
    q_x = waves.wavenumber * np.cos(relative_course) * ship.length / 2
    q_y = waves.wavenumber * np.sin(relative_course) * ship.beam / 2
    heave = waves.amplitude * _j0(q_x) * _j0(q_y)
    slope_ahead = -waves.amplitude * 6 / ship.length * _j1(q_x) * _j0(q_y)
    slope_to_port = -waves.amplitude * 6 / ship.beam * _j1(q_y) * _j0(q_x)
    wave_vectors = np.stack([np.cos(waves.direction), np.sin(waves.direction)]) * waves.wavenumber
    phase = centre @ constant(xp, wave_vectors)
    phase = phase + constant(xp, waves.phase) - constant(xp, waves.frequency) * time
    height = xp.cos(phase) @ constant(xp, heave) + environment.level
    slopes = xp.sin(phase) @ constant(
        xp, np.ascontiguousarray(np.stack([slope_ahead, slope_to_port], axis=-1))
    )
    return xp.concat([centre, height[None]]), slopes


def ship_point(ship: Ship, point: np.ndarray, environment: Environment) -> Array:
    """Return the position (3,) in map of a point (3,) of a ship, m, at the environment's time.

    The ship's rotation is R_z(course) R_y(−atan s_x) R_x(atan s_y).

    Args:
        point: ahead, to port, and up from its waterplane's centre, m.
        environment: environment with its waves.
    """
    centre, slopes = fit_waterplane(ship, environment)
    xp = namespace(centre)
    scale = 1.0 / xp.sqrt(1.0 + slopes * slopes)
    cosine, sine = scale, slopes * scale
    x, y, z = point.tolist()
    port = y * cosine[1] - z * sine[1]
    up = y * sine[1] + z * cosine[1]
    ahead = x * cosine[0] - up * sine[0]
    up = x * sine[0] + up * cosine[0]
    cos, sin = np.cos(ship.course), np.sin(ship.course)
    rotated = xp.stack([cos * ahead - sin * port, sin * ahead + cos * port, up])
    return centre + rotated


# Tether: the pull of a cable from the vehicle to a fixed point, a ship, or another vehicle.


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
        fixed = ship_point(tether.ship, tether.anchor, environment)
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


def check_tether_reach(
    vehicle: Vehicle, state: State, environment: Environment, other: State | None = None
) -> None:
    """Check that a vehicle's tether, if it has one, reaches from its start to the anchor.

    Raises:
        ParameterError: the tether would break at the start, or its anchor's vehicle is missing.
    """
    tether: Tether | None = vehicle.extensions.get('tether')
    if tether is None:
        return
    max_distance = tether.length * (1 + tether.cable.breaking_load / tether.cable.axial_stiffness)
    start, anchor = tether_ends(tether, state, environment, other)
    distance = float(np.linalg.norm(anchor - start))
    if distance > max_distance:
        raise ParameterError(
            f'tether: the vehicle starts {distance:.1f} m from the anchor; expected at most '
            f'{max_distance:.1f} m, at which the tether of {tether.length:g} m breaks'
        )


def reel_state(cable: Any) -> Array | None:
    """Return unwound length, rate and tension at the reel (..., 3): m, m/s, N; None: no reel."""
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
    """Return the pull of the cable on the vehicle (..., 6), and the state of the cable.

    The pull does not include the inertia of the half segment at the vehicle.
    """
    tether: Tether = vehicle.extensions['tether']
    command = inputs.commands.get('reel')
    rate = None if command is None else command[..., 0]
    xp = namespace(state.position)
    ends = tether_ends(tether, state, environment, inputs.anchor)
    cable = hang_cable(tether, ends) if memory is None else memory
    density = vehicle.buoyancy.fluid_density
    cable = cable_step(tether, environment, cable, ends, dt, fluid_density=density, rate=rate)
    force = to_body(state.orientation, cable.pull[..., 0, :])
    lever_arm = constant(xp, tether.position) + xp.zeros_like(force)
    return xp.concat([force, cross(lever_arm, force)], axis=-1), cable


TETHER = ForceModel(
    'tether',
    _step,
    applies=_has_tether,
    check=check_tether_reach,
    label='Tether',
    colour='#b8860b',
    element='tether',
    read=read_tether,
    parts=TetherElement,
    executable='tether',
)


def _reel_names(vehicle: Vehicle) -> tuple[str, ...]:
    reel = reel_of(vehicle)
    return () if reel is None else reel.names


def _read_rate(item: YamlReader) -> dict[str, float]:
    item.mapping({'rate'}, {'rate'})
    return {REEL: item.child('rate').number(-100.0, 100.0)}


REEL_ACTUATOR = Actuator(
    'reel',
    _reel_names,
    text='rate at which the tether is paid out, m/s',
    unit='m/s',
    key='tether',
    read=_read_rate,
    missing='{vehicle} has no reel; expected a vehicle with a <reel> in its <tether>, such as '
    'bluerov2 with tether:=fathom and tether_reel_rate:=0.5',
    source='tether',
    state=lambda memory: reel_state(memory.forces.get('tether')),
    fields=('position', 'velocity', 'effort'),
    units=('m', 'm/s', 'N'),
    state_topic='tether/state',
    command_topic='tether/command',
    command_field='velocity',
)
