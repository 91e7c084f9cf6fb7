# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sound in water: absorption, reflectivity, hits of beams, speckle, and the sonar equation.

The active sonar equation EL = SL − 2 TL + S_b + 10 log₁₀ A, in dB re 1 µPa (Urick 1983,
"Principles of underwater sound", sections 2.1 and 8.2), is summed over rays: a ray with the solid
angle dΩ meets the area r² dΩ/cos α.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, is_traced, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.random import stamp_generator
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.environment.rays import (
    WATER_SURFACE,
    bends_sound,
    bent_hits,
    first_hits,
    hit_materials,
)
from marine_sim_ros.environment.sediment import Sediment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.rays import Hits
from marine_sim_ros.sensors.seabed_backscatter import SEABEDS, seabed_backscatter

__all__ = [
    'absorption',
    'add_speckle',
    'backscatter',
    'beam_hits',
    'beam_pattern',
    'decibels',
    'echo_intensity',
    'echo_strength',
    'equivalent_width',
    'exponential_draws',
    'local_absorption',
    'normal_draws',
    'reflectivity',
    'silt_backscatter',
    'sounding_deviation',
    'transmission_loss',
    'two_way_beam_pattern',
]


# Sound in water: absorption and reflectivity.

_WATER_IMPEDANCE = 1.5
_IMPEDANCE = {
    **{name: _WATER_IMPEDANCE * bed.density * bed.speed for name, bed in SEABEDS.items()},
    'concrete': 8.0,
    'steel': 47.0,
    'rust': 47.0,
    'aluminium': 17.0,
    'HDPE': 2.3,
    'rubber': 1.8,
    'foam': 1.1,
    'white': 2.3,
    'black': 2.3,
    WATER_SURFACE: 4e-4,
}
"""MRayl. Sea beds: APL-UW (1994), TR 9407, table 2; solids: Kinsler et al. (2000), table A10;
HDPE and foam from their densities and speeds of sound; white and black are panels of HDPE."""
_SOUND_SALINITY, _SOUND_TEMPERATURE, _PH = 35.0, 10.0, 8.0
_PURE_COLD = (4.937e-4, -2.59e-5, 9.11e-7, -1.50e-8)
_PURE_WARM = (3.964e-4, -1.146e-5, 1.45e-7, -6.5e-10)
"""Absorption of pure water over temperature in °C, below and above 20 °C, dB/(km kHz²)."""


def absorption(
    frequency: float,
    temperature: Array = _SOUND_TEMPERATURE,
    salinity: Array = _SOUND_SALINITY,
    depth: Array = 0.0,
) -> Any:
    """Return the absorption of sound in water of pH 8 (...), dB/m.

    α = A₁ P₁ f₁ f²/(f² + f₁²) + A₂ P₂ f₂ f²/(f² + f₂²) + A₃ P₃ f²: boric acid, magnesium
    sulphate, and pure water. Source: Francois and Garrison (1982), "Sound absorption based on
    ocean measurements", part II, J. Acoust. Soc. Am. 72(6), 1879-1890.

    Args:
        frequency: f, kHz.
        temperature: (...) °C.
        salinity: (...) practical.
        depth: (...) m.
    """
    t, s, d, square = temperature, salinity, depth, frequency * frequency
    speed = 1412.0 + 3.21 * t + 1.19 * s + 0.0167 * d
    kelvin = 273.0 + t
    boron = 2.8 * (s / 35.0) ** 0.5 * 10.0 ** (4.0 - 1245.0 / kelvin)
    magnesium = 8.17 * 10.0 ** (8.0 - 1990.0 / kelvin) / (1.0 + 0.0018 * (s - 35.0))
    acid = 8.86 / speed * 10.0 ** (0.78 * _PH - 5.0) * boron / (square + boron**2)
    salt = 21.44 * s / speed * (1.0 + 0.025 * t) * magnesium / (square + magnesium**2)
    salt = salt * (1.0 - 1.37e-4 * d + 6.2e-9 * d * d)
    cold, warm = (a + t * (b + t * (c + t * e)) for a, b, c, e in (_PURE_COLD, _PURE_WARM))
    pure = cold + (t > 20.0) * (warm - cold)
    pure = pure * (1.0 - 3.83e-5 * d + 4.9e-10 * d * d)
    return square * (acid + salt + pure) / 1000.0


def local_absorption(environment: Environment, state: State, frequency: float) -> Any:
    """Return the absorption where a vehicle is, dB/m: a number in uniform water, else (..., 1)."""
    if environment.fields is None:
        return absorption(frequency, environment.temperature, environment.salinity)
    position, xp = state.position, namespace(state.position)
    return absorption(
        frequency,
        environment.water_temperature(position)[..., None],
        environment.water_salinity(position)[..., None],
        xp.maximum(-position[..., 2:3], 0.0 * position[..., 2:3]),
    )


def silt_backscatter(sediment: Sediment, frequency: float) -> float:
    """Return the backscattering cross section of grains per mass at a frequency, kHz; m²/(kg sr).

    3 f²/(16 π ρ_s a) with the form function of rough grains of radius a, x = k a,
    f = x² (1 − 0.35 e^(−((x − 1.5)/0.7)²)) (1 + 0.5 e^(−((x − 1.8)/2.2)²))/(1 + 0.9 x²).
    Attenuation by grains is left out. Source: Thorne and Meral (2008), Continental Shelf
    Research 28, 309, as programs for such sonars quote it.
    """
    radius = sediment.diameter / 2
    x = 2 * math.pi * 1e3 * frequency / SOUND_SPEED * radius
    form = x**2 * (1 - 0.35 * math.exp(-(((x - 1.5) / 0.7) ** 2)))
    form *= (1 + 0.5 * math.exp(-(((x - 1.8) / 2.2) ** 2))) / (1 + 0.9 * x**2)
    return 3 * form**2 / (16 * math.pi * sediment.density * radius)


def reflectivity(material: str) -> float:
    """Return the fraction of the intensity that a material reflects: ((Z − Z_w)/(Z + Z_w))².

    Unknown materials are taken as sand; nothing, the empty name, reflects nothing.
    """
    if not material:
        return 0.0
    impedance = _IMPEDANCE.get(material, _IMPEDANCE['sand'])
    return ((impedance - _WATER_IMPEDANCE) / (impedance + _WATER_IMPEDANCE)) ** 2


def beam_hits(
    sensor: Sensor, state: State, environment: Environment, directions: Array, maximum: float
) -> tuple[Hits, Array]:
    """Return the hits of a sensor's rays (..., n), and their directions (..., n, 3) in map.

    Distances are the instrument's: half the time of travel times :data:`SOUND_SPEED`, to which it
    is set. In stratified water sound goes straight, at the speed of each layer; with
    ``environment.refraction`` on the paths that the layers bend. The directions are those at the
    hits.

    Args:
        sensor: where the rays begin.
        state: (...) of the vehicle.
        directions: (n, 3) unit vectors, frame of the sensor.
        maximum: how far they go, m.
    """
    xp = namespace(state.position)
    rotation = rotation_matrix(state.orientation)
    position = constant(xp, sensor.position)
    origin = state.position + (rotation @ position[:, None])[..., 0]
    rays = constant(xp, directions @ sensor.rotation.T) @ xp.matrix_transpose(rotation)
    if bends_sound(environment):
        return _bent_beam_hits(environment, origin, rays, maximum)
    hits = first_hits(environment, origin[..., None, :], rays, maximum)
    if environment.fields is not None:
        is_hit = xp.isfinite(hits.distance)
        distance = xp.where(is_hit, hits.distance, xp.zeros_like(hits.distance))
        begin = origin[..., None, :] + 0.0 * rays
        speed = environment.mean_sound_speed(begin, begin + distance[..., None] * rays)
        apparent = distance * (SOUND_SPEED / speed)
        hits = hits._replace(distance=xp.where(is_hit, apparent, hits.distance))
    return hits, rays


def _bent_beam_hits(
    environment: Environment, origin: Array, rays: Array, maximum: float
) -> tuple[Hits, Array]:
    """Return the hits of rays (..., n, 3) that layered water bends, and their directions there."""
    if is_traced(namespace(rays)):
        raise ParameterError(
            'water.refraction: compiled sensors send sound straight; expected engine numpy, or no '
            'refraction'
        )
    origins, shape = np.reshape(origin, (-1, 3)), rays.shape[:-1]
    found = [
        bent_hits(environment, one, along, maximum)
        for one, along in zip(origins, np.reshape(rays, (len(origins), -1, 3)), strict=True)
    ]

    def stacked(arrays: Sequence[np.ndarray], *last: int) -> np.ndarray:
        return np.stack(arrays).reshape(*shape, *last)

    hits = Hits(
        SOUND_SPEED * stacked([bent.delay for bent in found]),
        stacked([bent.hits.normal for bent in found], 3),
        stacked([bent.hits.surface for bent in found]),
    )
    return hits, stacked([bent.direction for bent in found], 3)


def echo_strength(
    environment: Environment, hits: Hits, rays: Array, frequency: float, loss: float
) -> Array:
    """Return the intensity (...) that comes back per solid angle, 1 from a perfect reflector.

    π σ/cos α 10^(−2 a r/10): the cross section σ of :func:`backscatter` per area, of r²/cos α m²
    per steradian, with the spherical spreading r⁻⁴ made up for by the receiver's gain, but for
    r⁻²·r² that cancel; the absorption a is not. A perfect reflector has σ = cos² α/π.

    Args:
        hits: what the rays meet.
        rays: (..., 3) their directions, map.
        frequency: kHz.
        loss: absorption, dB/m.
    """
    xp = namespace(rays)
    echo = math.pi * _echo_per_angle(environment, hits, rays, frequency)
    distance = xp.where(hits.surface < 0, xp.zeros_like(echo), hits.distance)
    return echo * 10.0 ** (-0.2 * loss * distance)


def two_way_beam_pattern(angle: np.ndarray, width: float) -> np.ndarray:
    """Return a Gaussian beam's sensitivity, sent and received, at angles from its axis.

    Args:
        angle: (...) rad.
        width: between the points of half power, one way, rad.
    """
    return 4.0 ** -((2 * np.asarray(angle) / width) ** 2)


def exponential_draws(seed: int, name: str, stamp: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return exponential numbers of mean 1: intensities of speckle of Rayleigh amplitudes."""
    return np.asarray(-np.log1p(-stamp_generator(seed, name, stamp).random(shape)))


def add_speckle(energy: np.ndarray, noise: float, seed: int, name: str, stamp: int) -> np.ndarray:
    """Return energies with speckle and noise: exponential, as of Rayleigh amplitudes.

    Args:
        energy: (..., bins).
        noise: mean energy of the noise.
        name: name of what is drawn.
        stamp: ns.
    """
    return np.asarray(exponential_draws(seed, name, stamp, energy.shape) * (energy + noise))


def decibels(energy: np.ndarray, gain: float, dynamic_range: float) -> np.ndarray:
    """Return energies with a gain in dB as numbers 0 to 255: from −dynamic_range to 0 dB."""
    level = 10 * np.log10(np.maximum(energy, 1e-30)) + gain
    return np.clip(np.round(255 * (1 + level / dynamic_range)), 0, 255).astype(np.uint8)


# Sonar equation: levels of echoes, noise and bottom detections.


def transmission_loss(distance: np.ndarray, loss: float) -> np.ndarray:
    """Return TL = 20 log₁₀ r + a r (...) of one way, dB re 1 m: spherical spreading, absorption.

    Args:
        distance: r (...), m.
        loss: a, dB/m.
    """
    return np.asarray(20 * np.log10(distance) + loss * distance)


_WATER_SURFACE = 1e-3
"""1/sr, −30 dB: an assumption. The surface reflects nearly all, hardly any of it back."""


def backscatter(material: str, grazing: np.ndarray, frequency: float) -> np.ndarray:
    """Return the cross section σ (...) of backscatter per area and solid angle, 1/sr.

    The strength is S_b = 10 log₁₀ σ. Sediments, rock and unknown materials have that of
    :func:`.seabed_backscatter`, others Lambert's law σ = μ sin² θ with μ = R²/π: a surface that
    scatters all that it reflects, R² of its intensity (Urick 1983, section 8.5), with R of the
    impedances. The water's surface has μ = −30 dB.

    Args:
        grazing: θ (...) between the sound and the surface, 0 to π/2 rad.
        frequency: kHz.
    """
    if not material or (material in _IMPEDANCE and material not in SEABEDS):
        lit = reflectivity(material) / math.pi
        return np.asarray(
            (_WATER_SURFACE if material == WATER_SURFACE else lit) * np.sin(grazing) ** 2
        )
    return seabed_backscatter(SEABEDS.get(material, SEABEDS['sand']), grazing, frequency)


_ANGLES = 361
"""Grazing angles of a table, 0 to π/2."""


@lru_cache(maxsize=64)
def _echo_row(material: str, frequency: float) -> np.ndarray:
    """Return σ/sin θ at evenly spaced grazing angles (_ANGLES,), 1/sr."""
    grazing = np.linspace(0.0, math.pi / 2, _ANGLES)[1:]
    return np.append(0.0, backscatter(material, grazing, frequency) / np.sin(grazing))


def _echo_per_angle(environment: Environment, hits: Hits, rays: Array, frequency: float) -> Array:
    """Return σ/cos α (...) of hits, 1/sr: the echo of r²/cos α m² per steradian, over r²."""
    xp = namespace(rays)
    table = np.stack([_echo_row(name, frequency) for name in hit_materials(environment)])
    cosine = -xp.sum(hits.normal * rays, axis=-1)
    zero = xp.zeros_like(cosine)
    # Just below 1, where the inverse sine still has a derivative.
    cosine = xp.minimum(xp.maximum(cosine, zero), zero + (1.0 - 1e-12))
    place = xp.asin(cosine) * ((_ANGLES - 1) / (math.pi / 2))
    lower = xp.astype(xp.floor(place), xp.int32)
    values, row = constant(xp, table), xp.astype(hits.surface, xp.int32)
    left, right = values[row, lower], values[row, lower + 1]
    return left + (place - lower) * (right - left)


def echo_intensity(
    environment: Environment, hits: Hits, rays: Array, frequency: float, loss: float
) -> Array:
    """Return echoes (...) per solid angle, over the intensity of the source at 1 m, 1/sr.

    10^((S_b − 2 TL)/10) r²/cos α = σ/cos α r⁻² 10^(−0.2 a r), with the angle of incidence α and
    the cross section σ of :func:`backscatter`.

    Args:
        hits: what the rays meet.
        rays: (..., 3) their directions, map.
        frequency: kHz.
        loss: a, dB/m.
    """
    xp = namespace(rays)
    echo = _echo_per_angle(environment, hits, rays, frequency)
    zero = xp.zeros_like(echo)
    is_hit = (hits.surface >= 0) & (hits.distance > 0)
    distance = xp.where(is_hit, hits.distance, zero + 1.0)
    return xp.where(is_hit, echo * 10.0 ** (-0.2 * loss * distance) / (distance * distance), zero)


def beam_pattern(angle: np.ndarray, width: float) -> np.ndarray:
    """Return the sensitivity (...) of a Gaussian beam in intensity, one way: 2^(−(2 φ/w)²).

    Args:
        angle: φ (...) from the axis, rad.
        width: w between the points of half power (−3 dB), rad.
    """
    return np.asarray(2.0 ** -((2 * np.asarray(angle) / width) ** 2))


def equivalent_width(width: float) -> float:
    """Return the integral of :func:`beam_pattern` over the angle, rad: w/2 √(π/ln 2)."""
    return 0.5 * width * math.sqrt(math.pi / math.log(2))


_AMPLITUDE, _PHASE = 1 / 12, 0.2


def sounding_deviation(
    extent: np.ndarray, ratio: np.ndarray, resolution: float, sample: float
) -> np.ndarray:
    """Return the standard deviation (...) of the range of a bottom detection, m.

    σ² = (Δ/2)² + (δ/2)² + (k L)² + (L/π)² (1 − γ²)/(2 n γ²), with the sampling distance Δ, the
    length of the pulse in range δ = c τ/2, and the extent L of the echo in range: L = r ψ tan α
    for a beam of the width ψ. k is 1/12 for a detection by amplitude, and 0.2/√n by phase with
    n = L/δ samples; the better of both is taken. Source: Hare (1995), "Depth and position error
    budgets for multibeam echosounding", Int. Hydrographic Review 72(2). The last term is the
    Cramér-Rao bound of the phase of two half arrays in noise, of coherence γ = q/(1 + q) at the
    signal-to-noise ratio q: Seymour and Cumming (1994), "Maximum likelihood estimation for SAR
    interferometry".

    Args:
        extent: L (...), m.
        ratio: q (...), in intensity.
        resolution: δ, m.
        sample: Δ, m.
    """
    count = np.maximum(extent / resolution, 1.0)
    angle = np.minimum(_AMPLITUDE, _PHASE / np.sqrt(count)) * extent
    coherence = np.maximum(ratio, 1e-12) / (1 + np.maximum(ratio, 1e-12))
    phase = (1 - coherence**2) / (2 * count * coherence**2)
    square = (sample / 2) ** 2 + (resolution / 2) ** 2 + angle**2 + (extent / math.pi) ** 2 * phase
    return np.asarray(np.sqrt(square))


def normal_draws(seed: int, name: str, stamp: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return standard normal numbers √(−2 ln u) cos 2πv (Box and Muller 1958) of a stamp, ns."""
    drawn = stamp_generator(seed, name, stamp).random((2, *shape))
    return np.asarray(np.sqrt(-2 * np.log1p(-drawn[0])) * np.cos(2 * math.pi * drawn[1]))
