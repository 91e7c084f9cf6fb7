# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Acoustic modems in water: travel time, levels and loss of their packets.

An acoustic packet travels on the straight line with the mean speed of sound. A receiver gets

    SNR = SL + G_s + G_r − TL − (N₀ + 10 log₁₀ B),   TL = 10 k log₁₀ r + a r,

with the two beams' gains G, the spreading k, the absorption a of the middle of the line and the
spectral level N₀ of the noise. Its bits arrive by non-coherent FSK, p = ½ exp(−E_b/(2 N₀)) with
E_b/N₀ = SNR B/R (Proakis, "Digital communications"), and the packet if all of them do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.schema import number
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.sensors.acoustics import absorption, beam_pattern
from marine_sim_ros.sensors.packet_network import Link, Medium, Participant
from marine_sim_ros.sensors.partners import sound_way

__all__ = ['ACOUSTIC', 'Modem', 'arrival_probability', 'link_between', 'noise_density']


@dataclass(frozen=True)
class Modem:
    """Parameters of an acoustic modem."""

    frequency: float = number(25.0, 0.1, 1e3, 'kHz', 'middle of its band')
    bandwidth: float = number(4.0, 1e-3, 1e3, 'kHz', 'width of its band')
    bit_rate: float = number(100.0, 1.0, 1e6, 'bit/s', 'rate of the bits of a packet')
    header: float = number(0.1, 0.0, 60.0, 's', 'time before the first byte of a packet')
    packet_size: float = number(
        32.0, 1.0, 4096.0, '', 'greatest number of bytes of a packet', whole=True
    )
    source_level: float = number(185.0, 100.0, 260.0, 'dB', 're 1 µPa at 1 m, on the axis')
    beam_width: float = number(
        0.0, 0.0, 360.0, 'deg', 'width of the beam about its x axis at half power; 0: all around'
    )
    spreading: float = number(
        2.0, 1.0, 2.0, '', 'k of the loss 10 k log₁₀ r: 2 spherical, 1 cylindrical'
    )
    shipping: float = number(0.5, 0.0, 1.0, '', 'noise of ships, from none to heavy traffic')
    noise_density: float = number(
        0.0, 0.0, 200.0, 'dB', 're 1 µPa²/Hz, of the noise; 0: of ships, wind and water'
    )
    capture: float = number(
        10.0, 0.0, 100.0, 'dB', 'by which a packet exceeds those that overlap it to be received'
    )
    acknowledge: float = number(
        1.0, 0.0, 1.0, '', '1: it acknowledges packets for it alone', whole=True
    )
    turnaround: float = number(
        0.2, 0.0, 60.0, 's', 'time from the end of a packet to its acknowledgement'
    )
    range_step: float = number(0.0, 0.0, 1e3, 'm', 'step of the ranges; 0: none')
    range_bias: float = number(0.0, 0.0, 1e3, 'm', 'standard deviation of their constant bias')
    range_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of their error of scale'
    )
    report: float = number(
        0.0, 0.0, 1e5, 's', 'period of reports of its position to all; 0: it sends none'
    )
    sound_speed: float = number(1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound in uniform water')
    assumed_sound_speed: float = number(
        1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound that it takes for true'
    )

    def duration(self, size: int) -> float:
        """Return the time that a packet of so many bytes takes, s: header + 8 n/R."""
        return self.header + 8 * size / self.bit_rate


# Levels: noise, loss and gain between two modems.


def noise_density(frequency: float, wind: float, shipping: float) -> float:
    """Return the spectral level N₀ of the ambient noise, dB re 1 µPa²/Hz.

    Sum of turbulence, ships, waves and thermal noise: Coates (1989), "Underwater acoustic
    systems", as Stojanovic (2007) gives it, ACM Mobile Computing 11(4).

    Args:
        frequency: kHz.
        wind: speed, m/s.
        shipping: from 0, none, to 1.
    """
    log = math.log10(frequency)
    levels = (
        17 - 30 * log,
        40 + 20 * (shipping - 0.5) + 26 * log - 60 * math.log10(frequency + 0.03),
        50 + 7.5 * math.sqrt(wind) + 20 * log - 40 * math.log10(frequency + 0.4),
        -15 + 20 * log,
    )
    return 10 * math.log10(sum(10 ** (level / 10) for level in levels))


def _gain(modem: Modem, axis: np.ndarray, direction: np.ndarray) -> float:
    """Return the gain of a beam in a direction (3,), dB; 0 on its axis."""
    if not modem.beam_width:
        return 0.0
    angle = math.acos(min(1.0, max(-1.0, float(axis @ direction))))
    return 10 * math.log10(
        max(float(beam_pattern(np.array(angle), math.radians(modem.beam_width))), 1e-30)
    )


def link_between(sender: Participant, receiver: Participant, environment: Environment) -> Link:
    """Return level and noise at the receiver of a packet of the sender."""
    modem, receiver_modem = sender.modem, receiver.modem
    away = receiver.position - sender.position
    distance = max(math.sqrt(float(away @ away)), 1e-3)
    direction = away / distance
    wind = 0.0 if environment.wind is None else float(environment.wind.speed)
    density = receiver_modem.noise_density or noise_density(
        receiver_modem.frequency, wind, receiver_modem.shipping
    )
    noise = density + 10 * math.log10(1e3 * receiver_modem.bandwidth)
    if environment.scene is not None:
        hits = cast_rays(environment.scene, sender.position, direction, distance)
        if float(hits.distance) < distance - 1e-6:
            return Link(-math.inf, noise)
    middle = 0.5 * (sender.position + receiver.position)
    loss = absorption(
        modem.frequency,
        environment.water_temperature(middle),
        environment.water_salinity(middle),
        max(-float(middle[2]), 0.0),
    )
    spread = 10 * modem.spreading * math.log10(max(distance, 1.0))
    gain = _gain(modem, sender.axis, direction) + _gain(receiver_modem, receiver.axis, -direction)
    return Link(modem.source_level + gain - spread - float(loss) * distance, noise)


def arrival_probability(modem: Modem, ratio: float, duration: float) -> float:
    """Return the probability that all bits of a packet arrive.

    Args:
        ratio: SNR in the band, dB.
        duration: of the packet, s; it has as many bits as fit into it.
    """
    energy = 10 ** (ratio / 10) * 1e3 * modem.bandwidth / modem.bit_rate
    wrong = 0.5 * math.exp(-min(0.5 * energy, 700.0))
    return math.exp(duration * modem.bit_rate * math.log1p(-wrong))


def _sound_speed(
    sender: Participant, begin: np.ndarray, end: np.ndarray, environment: Environment
) -> float:
    """Return the mean speed of sound between two places (3,), m/s; NaN: no sound arrives."""
    _, speed = sound_way(environment, begin, end, sender.modem.sound_speed)
    return float(speed)


ACOUSTIC = Medium(link_between, _sound_speed, arrival_probability, 2000.0)
