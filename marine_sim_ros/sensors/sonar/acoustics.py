# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sound in water: how much of it is absorbed, and how much comes back from what it meets."""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.rays import WATER_SURFACE, first_hits, hit_materials
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.rays import Hits

__all__ = ['SOUND_SPEED', 'absorption', 'beam_hits', 'echo_strength', 'reflectivity', 'two_way']

SOUND_SPEED = 1500.0
"""m/s, with which the instruments compute."""
_WATER = 1.5
_IMPEDANCE = {
    'sand': 1.5 * 1.845 * 1.1782,
    'rock': 1.5 * 2.5 * 2.5,
    'concrete': 8.0,
    'steel': 47.0,
    'aluminium': 17.0,
    'HDPE': 2.3,
    'rubber': 1.8,
    'foam': 1.1,
    'white': 2.3,
    'black': 2.3,
    WATER_SURFACE: 4e-4,
}
"""MRayl. Sand and rock: APL-UW (1994), TR 9407, table 2; solids: Kinsler et al. (2000), table A10;
HDPE and foam from their densities and speeds of sound; white and black are panels of HDPE."""


def absorption(frequency: float) -> float:
    """Return the absorption of sound in sea water (10 °C, salinity 35, pH 8, 0 m), dB/m.

    Source: Ainslie and McColm (1998), J. Acoust. Soc. Am. 103(3), equations 1 to 3.

    Args:
        frequency: kHz.
    """
    temperature, square = 10.0, frequency * frequency
    boron = 0.78 * math.exp(temperature / 26)
    magnesium = 42.0 * math.exp(temperature / 17)
    per_km = (
        0.106 * boron * square / (square + boron**2)
        + 0.52 * (1 + temperature / 43) * magnesium * square / (square + magnesium**2)
        + 0.00049 * square * math.exp(-temperature / 27)
    )
    return per_km / 1000.0


def reflectivity(material: str) -> float:
    """Return the share of the intensity that a material does not let in: ((Z − Z_w)/(Z + Z_w))².

    Unknown materials are taken as sand; nothing, the empty name, reflects nothing.
    """
    if not material:
        return 0.0
    impedance = _IMPEDANCE.get(material, _IMPEDANCE['sand'])
    return ((impedance - _WATER) / (impedance + _WATER)) ** 2


def beam_hits(
    sensor: Sensor, state: State, environment: Environment, directions: Array, maximum: float
) -> tuple[Hits, Array]:
    """Return what rays of a sensor meet (..., n), and their directions (..., n, 3) in map.

    Args:
        sensor: where the rays begin.
        state: (...) of the vehicle.
        environment: around it.
        directions: (n, 3) unit vectors, frame of the sensor.
        maximum: how far they go, m.
    """
    xp = namespace(state.position)
    turn = rotation_matrix(state.orientation)
    position = constant(xp, sensor.position)
    origin = state.position + (turn @ position[:, None])[..., 0]
    rays = constant(xp, directions @ sensor.rotation.T) @ xp.matrix_transpose(turn)
    return first_hits(environment, origin[..., None, :], rays, maximum), rays


def echo_strength(environment: Environment, hits: Hits, rays: Array, loss: float) -> Array:
    """Return the intensity (...) that comes back per solid angle, 1 from a perfect reflector.

    μ cos α 10^(−2 a r/10): Lambert's law, μ cos² α per area, of r²/cos α m² per steradian, with
    the spherical spreading r⁻⁴ made up for by the receiver's gain, but for r⁻²·r² that cancel;
    the absorption a is not.

    Args:
        environment: of the hits.
        hits: what the rays meet.
        rays: (..., 3) their directions, map.
        loss: absorption, dB/m.
    """
    xp = namespace(rays)
    shares = np.array([reflectivity(name) for name in hit_materials(environment)])
    share = constant(xp, shares)[xp.astype(hits.surface, xp.int32)]
    cosine = xp.maximum(-xp.sum(hits.normal * rays, axis=-1), xp.zeros_like(share))
    way = xp.where(hits.surface < 0, xp.zeros_like(share), hits.distance)
    return share * cosine * 10.0 ** (-0.2 * loss * way)


def two_way(angle: np.ndarray, width: float) -> np.ndarray:
    """Return a Gaussian beam's sensitivity, sent and received, at angles from its axis.

    Args:
        angle: (...) rad.
        width: between the points of half power, one way, rad.
    """
    return 4.0 ** -((2 * np.asarray(angle) / width) ** 2)
