# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Acoustic modem: bytes to other vehicles of the fleet, and ranges by acknowledgement.

An acoustic packet travels on the straight line with the mean speed of sound. A receiver gets

    SNR = SL + G_s + G_r − TL − (N₀ + 10 log₁₀ B),   TL = 10 k log₁₀ r + a r,

with the two beams' gains G, the spreading k, the absorption a of the middle of the line and the
spectral level N₀ of the noise. Its bits arrive by non-coherent FSK, p = ½ exp(−E_b/(2 N₀)) with
E_b/N₀ = SNR B/R (Proakis, "Digital communications"), and the packet if all of them do.

The network (:mod:`~marine_sim_ros.sensors.packet_network`) has the propagation: delays, losses,
and ranges from travel times. The modem puts its vehicle's packets in and hands over one received
packet or range at each tick.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import in_map, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.sensors.acoustics import absorption, beam_pattern
from marine_sim_ros.sensors.noise import add_lasting_errors
from marine_sim_ros.sensors.packet_network import (
    Delivery,
    Link,
    Medium,
    ModemNetwork,
    ModemSettings,
    OutgoingData,
    Participant,
)
from marine_sim_ros.sensors.partners import sound_way
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorInputs,
    SensorModel,
    SensorTopic,
    unknown_rates,
)

__all__ = [
    'ACOUSTIC',
    'MODEM',
    'Modem',
    'arrival_probability',
    'exchange_packets',
    'link_between',
    'noise_density',
    'packet_fields',
    'packet_readings',
]


@declaration(frozen=True)
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


_MAX_NAME_LENGTH = 64
"""Characters of the name of a vehicle."""


@dataclass
class _Memory:
    """The network, and the deliveries to a modem that it has not published yet."""

    network: ModemNetwork
    waiting: deque[Delivery]


def modem_participant(
    sensor: Sensor,
    seed: int,
    position: np.ndarray,
    orientation: np.ndarray,
    environment: Environment,
    outbox: OutgoingData = (),
) -> Participant:
    """Return the participant of the network that stands for the modem of a vehicle.

    Args:
        seed: of its vehicle.
        position: (3,) of its vehicle, map, m.
        orientation: (4,) of its vehicle.
        outbox: destinations and bytes that it was asked to send at this tick.
    """
    point = in_map(position, orientation, sensor.position[None, :])[0]
    axis = rotation_matrix(orientation) @ sensor.rotation[:, 0]
    wet = bool(point[2] < environment.elevation(point))
    return Participant(sensor.spec, sensor.name, seed, point, axis, wet, outbox)


def exchange_packets(
    medium: Medium,
    sensor: Sensor,
    memory: _Memory | None,
    stamp: int,
    state: State,
    environment: Environment,
    inputs: SensorInputs,
    seed: int,
) -> tuple[Readings, _Memory]:
    """Return one packet or range that the modem hands over at a tick, and its memory.

    Args:
        medium: in which its packets travel.

    The other arguments are those of ``exchange`` of a :class:`.SensorModel`.
    """
    memory = memory or _Memory(ModemNetwork(medium), deque())
    own_name = environment.own.strip('/')
    outbox = inputs.outbox or ()
    modems = {
        own_name: modem_participant(
            sensor, seed, state.position, state.orientation, environment, outbox
        )
    }
    for body in environment.bodies:
        for other in (s for s in body.sensors if s.kind == sensor.kind):
            name = body.name.strip('/')
            modems[name] = modem_participant(
                other, body.seed, body.position, body.orientation, environment, body.outbox
            )
    for name, delivery in memory.network.advance(stamp / NANOSECONDS, modems, environment):
        if name == own_name:
            memory.waiting.append(delivery)
    received = memory.waiting.popleft() if memory.waiting else None
    if received is not None and math.isfinite(received.range):
        distance = float(
            add_lasting_errors(sensor, 'range', np.array(received.range), stamp, seed)
        )
        step = sensor.spec.range_step
        received = received._replace(range=round(distance / step) * step if step else distance)
    return packet_readings(sensor.spec, received), memory


def packet_readings(modem: ModemSettings, delivery: Delivery | None) -> Readings:
    """Return a delivery as numbers: characters and bytes one by one, then NaN."""
    source = np.full(_MAX_NAME_LENGTH, np.nan)
    data = np.full(int(modem.packet_size), np.nan)
    size = distance = ratio = time = math.nan
    if delivery is not None:
        letters = delivery.source.encode()[:_MAX_NAME_LENGTH]
        source[: len(letters)] = list(letters)
        ratio, distance, time = delivery.ratio, delivery.range, delivery.time
        if delivery.data is not None:
            size = min(len(delivery.data), len(data))
            data[: int(size)] = list(delivery.data[: int(size)])
    return {
        'source': source,
        'size': np.array(size),
        'data': data,
        'range': np.array(distance),
        'snr': np.array(ratio),
        'time': np.array(time),
    }


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return no reading: what a modem has depends on the ticks before."""
    del state, environment, inputs
    return packet_readings(sensor.spec, None)


def _bytes(values: np.ndarray) -> bytes:
    return bytes(values[np.isfinite(values)].astype(np.uint8))


def packet_fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    """Return the bytes of a packet; its layout has who sent it, and when its last bit came."""
    del sensor
    if not np.isfinite(readings['size']):
        return None
    size = int(readings['size'])
    source = _bytes(readings['source']).decode(errors='replace')
    second, nanosecond = divmod(round(float(readings['time']) * NANOSECONDS), NANOSECONDS)
    sender = {'label': source, 'size': size, 'stride': size}
    return {
        'layout': {'dim': [sender, {'label': 'stamp', 'size': second, 'stride': nanosecond}]},
        'data': np.frombuffer(_bytes(readings['data']), np.uint8),
    }


def _range_fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    """Return the range of the vehicle that has acknowledged a packet."""
    del sensor
    if not np.isfinite(readings['range']):
        return None
    source = _bytes(readings['source']).decode(errors='replace')
    distance = np.array([float(readings['range'])])
    return {'name': [source], 'position': distance, **unknown_rates(1)}


MODEM = SensorModel(
    'modem',
    _measure,
    exchange=partial(exchange_packets, ACOUSTIC),
    spec=Modem,
    topics=(
        SensorTopic('received', 'std_msgs/msg/UInt8MultiArray', packet_fields),
        SensorTopic('range', 'sensor_msgs/msg/JointState', _range_fields),
    ),
    needs=('outbox',),
    sees=True,
    rate=20.0,
    slowest=20.0,
    label='Acoustic modem',
    quiet='silence',
)
