# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Optical modem: bytes to other vehicles of the fleet by light, over short and clear ways.

A Lambertian source of the power P sends the intensity P (m + 1)/(2π) cosᵐ φ at the angle φ from
its axis, with m = −ln 2/ln cos(w/2) of the width w at half intensity. A receiver of the area A at
the distance r, seen at the angle ψ from its own axis, gets

    P_r = P (m + 1)/(2π r²) cosᵐ φ A cos ψ exp(−c r)

within its field of view. c is the attenuation of the environment's water at the wavelength, as
cameras have it. Bits are on or off: with the mean power P_r the two levels are 2 P_r apart, and a
threshold between them errs by Gaussian noise of the deviation σ with ½ erfc(P_r/(√2 σ)). σ is the
noise-equivalent power in the band, in darkness and by daylight: σ² = σ₀² + σ_d² E, as shot noise
grows with the root of the light E.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.sensors.modem import exchange_packets, packet_fields, packet_readings
from marine_sim_ros.sensors.packet_network import Link, Medium, Participant
from marine_sim_ros.sensors.sensor_model import Readings, SensorInputs, SensorModel, SensorTopic

__all__ = [
    'OPTICAL_MODEM',
    'OpticalModem',
    'light_attenuation',
    'optical_link',
    'optical_probability',
]

_WAVELENGTHS = (475.0, 525.0, 600.0)
"""nm, of the attenuations of the water (blue, green, red)."""
_LIGHT_SPEED = 299_792_458.0 / 1.34
"""m/s, in water."""


@declaration(frozen=True)
class OpticalModem:
    """Parameters of an optical modem."""

    wavelength: float = number(475.0, 475.0, 600.0, 'nm', 'of the light')
    power: float = number(1.0, 1e-6, 1e4, 'W', 'mean power of the light that it sends')
    beam_width: float = number(
        60.0, 0.1, 179.0, 'deg', 'width of its beam about the x axis, at half intensity'
    )
    field_of_view: float = number(
        120.0, 0.1, 180.0, 'deg', 'width of the field of its receiver about the x axis'
    )
    area: float = number(1.0, 1e-4, 1e4, 'cm²', 'area of its receiver')
    noise: float = number(1.0, 1e-6, 1e9, 'nW', 'noise-equivalent power in its band, in darkness')
    daylight_noise: float = number(
        0.0, 0.0, 1e9, 'nW', 'the same by the daylight just below the surface'
    )
    bit_rate: float = number(1e6, 1.0, 1e10, 'bit/s', 'rate of the bits of a packet')
    header: float = number(0.001, 0.0, 60.0, 's', 'time before the first byte of a packet')
    packet_size: float = number(
        1024.0, 1.0, 4096.0, '', 'greatest number of bytes of a packet', whole=True
    )
    capture: float = number(
        3.0, 0.0, 100.0, 'dB', 'by which a packet exceeds those that overlap it to be received'
    )
    acknowledge: float = number(
        0.0, 0.0, 1.0, '', '1: it acknowledges packets for it alone', whole=True
    )
    turnaround: float = number(
        0.001, 0.0, 60.0, 's', 'time from the end of a packet to its acknowledgement'
    )
    report: float = number(
        0.0, 0.0, 1e5, 's', 'period of reports of its position to all; 0: it sends none'
    )

    def duration(self, size: int) -> float:
        """Return the time that a packet of so many bytes takes, s: header + 8 n/R."""
        return self.header + 8 * size / self.bit_rate


def _at_wavelength(colours: np.ndarray, wavelength: float) -> float:
    """Return a quantity (3,) of red, green and blue at a wavelength, nm, between them."""
    return float(np.interp(wavelength, _WAVELENGTHS, np.asarray(colours)[::-1]))


def light_attenuation(environment: Environment, point: np.ndarray, wavelength: float) -> float:
    """Return c at a point (3,) of map and a wavelength, nm, 1/m."""
    return _at_wavelength(environment.seen_at(point).optics.attenuation, wavelength)


def optical_link(sender: Participant, receiver: Participant, environment: Environment) -> Link:
    """Return the power and the noise at a receiver, dB re 1 mW."""
    modem, own = sender.modem, receiver.modem
    away = receiver.position - sender.position
    distance = max(float(np.linalg.norm(away)), 1e-3)
    direction = away / distance
    depth = -float(receiver.position[2])
    daylight = _at_wavelength(environment.optics.daylight(depth), own.wavelength)
    noise = math.sqrt(own.noise**2 + own.daylight_noise**2 * daylight)
    noise_level = 10 * math.log10(1e-6 * noise)
    out = float(sender.axis @ direction)
    incidence = float(-receiver.axis @ direction)
    edge = math.cos(math.radians(own.field_of_view) / 2)
    if min(out, incidence) <= 0 or incidence < edge - 1e-12:
        return Link(-math.inf, noise_level)
    if _is_blocked(environment, sender, direction, distance):
        return Link(-math.inf, noise_level)
    order = -math.log(2) / math.log(math.cos(math.radians(modem.beam_width) / 2))
    middle = 0.5 * (sender.position + receiver.position)
    loss = light_attenuation(environment, middle, modem.wavelength) * distance
    intensity = 1e3 * modem.power * (order + 1) / (2 * math.pi) * out**order
    received = intensity * 1e-4 * own.area * incidence / distance**2
    return Link(10 * math.log10(max(received, 1e-300)) - 10 * loss / math.log(10), noise_level)


def _is_blocked(
    environment: Environment, sender: Participant, direction: np.ndarray, distance: float
) -> bool:
    """Return whether something of the scene is on the way."""
    if environment.scene is None:
        return False
    hits = cast_rays(environment.scene, sender.position, direction, distance)
    return float(hits.distance) < distance - 1e-6


def optical_probability(modem: OpticalModem, ratio: float, duration: float) -> float:
    """Return the probability that all bits of a packet arrive.

    Args:
        modem: its bit rate counts.
        ratio: of the power to the noise-equivalent power, dB.
        duration: of the packet, s; it has as many bits as fit into it.
    """
    wrong = 0.5 * math.erfc(min(10 ** (ratio / 10), 1e6) / math.sqrt(2))
    return math.exp(duration * modem.bit_rate * math.log1p(-wrong))


def _light_speed(
    sender: Participant, begin: np.ndarray, end: np.ndarray, environment: Environment
) -> float:
    del sender, begin, end, environment
    return _LIGHT_SPEED


OPTICAL = Medium(optical_link, _light_speed, optical_probability, math.inf)


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return no reading: what a modem has depends on the ticks before."""
    del state, environment, inputs
    return packet_readings(sensor.spec, None)


OPTICAL_MODEM = SensorModel(
    'optical_modem',
    _measure,
    exchange=partial(exchange_packets, OPTICAL),
    spec=OpticalModem,
    topics=(SensorTopic('received', 'std_msgs/msg/UInt8MultiArray', packet_fields),),
    needs=('outbox',),
    sees=True,
    rate=20.0,
    slowest=20.0,
    label='Optical modem',
    exact='its errors are lost packets',
    quiet='no light',
)
