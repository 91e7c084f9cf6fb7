# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How a ship follows the waves: the plane that fits the surface best over its waterplane.

A wall-sided hull with a rectangular waterplane L × B that follows without delay lies where the
surface's mean lift and moments vanish,

    ∫ (η − z) dA = 0,    ∫ x (η − s_x x) dA = 0,    ∫ y (η − s_y y) dA = 0,

which for a wave a cos(k·x − ω t + φ) with q_x = k_x L/2, q_y = k_y B/2 are

    z = a cos θ j₀(q_x) j₀(q_y),   s_x = −a sin θ (6/L) j₁(q_x) j₀(q_y),   s_y alike,

with the spherical Bessel functions j₀(q) = sin q/q and j₁(q) = sin q/q² − cos q/q: k a slope for
waves much longer than the ship, and nothing for much shorter ones. In head waves these are the
closed forms of Jensen, Mansour and Olsen (2004), Ocean Engineering 31, 61-85, of a box, in the
limit of a small draught and without resonance.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.tether.ship import Ship

__all__ = ['on_ship', 'waterplane']


def _j0(q: np.ndarray) -> np.ndarray:
    return np.sinc(q / np.pi)


def _j1(q: np.ndarray) -> np.ndarray:
    """Return j₁ (...); its series where the closed form cancels."""
    small = np.abs(q) < 1e-2
    safe = np.where(small, 1.0, q)
    return np.where(small, q / 3 - q**3 / 30, (np.sin(safe) / safe - np.cos(safe)) / safe)


def waterplane(ship: Ship, environment: Environment) -> tuple[Array, Array]:
    """Return the centre (3,) of a ship's waterplane in map, m, and its slopes ahead and to port.

    The slopes (2,) are dz/dx along the ship and dz/dy across it.
    """
    waves, time = environment.waves, environment.time
    xp = namespace(time)
    centre = constant(xp, ship.position) + constant(xp, ship.velocity) * time
    if waves is None:
        return xp.concat([centre, xp.zeros_like(centre[:1])]), xp.zeros_like(centre)
    toward = waves.direction - ship.course
    q_x = waves.wavenumber * np.cos(toward) * ship.length / 2
    q_y = waves.wavenumber * np.sin(toward) * ship.beam / 2
    heave = waves.amplitude * _j0(q_x) * _j0(q_y)
    ahead = -waves.amplitude * 6 / ship.length * _j1(q_x) * _j0(q_y)
    aport = -waves.amplitude * 6 / ship.beam * _j1(q_y) * _j0(q_x)
    along = np.stack([np.cos(waves.direction), np.sin(waves.direction)]) * waves.wavenumber
    theta = centre @ constant(xp, along)
    theta = theta + constant(xp, waves.phase) - constant(xp, waves.frequency) * time
    height = xp.cos(theta) @ constant(xp, heave)
    slopes = xp.sin(theta) @ constant(xp, np.ascontiguousarray(np.stack([ahead, aport], axis=-1)))
    return xp.concat([centre, height[None]]), slopes


def on_ship(ship: Ship, point: np.ndarray, environment: Environment) -> Array:
    """Return where a point (3,) of a ship is in map, (3,), m, at the environment's time.

    The ship is turned by R_z(course) R_y(−atan s_x) R_x(atan s_y).

    Args:
        ship: the ship.
        point: ahead, to port, and up from its waterplane's centre, m.
        environment: environment with its waves.
    """
    centre, slopes = waterplane(ship, environment)
    xp = namespace(centre)
    scale = 1.0 / xp.sqrt(1.0 + slopes * slopes)
    cosine, sine = scale, slopes * scale
    x, y, z = point.tolist()
    port = y * cosine[1] - z * sine[1]
    up = y * sine[1] + z * cosine[1]
    ahead = x * cosine[0] - up * sine[0]
    up = x * sine[0] + up * cosine[0]
    cos, sin = np.cos(ship.course), np.sin(ship.course)
    turned = xp.stack([cos * ahead - sin * port, sin * ahead + cos * port, up])
    return centre + turned
