# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Packets of acoustic modems in water: travel time, levels, loss, collisions, acknowledgements.

A packet travels on the straight line with the mean speed of sound. A receiver gets

    SNR = SL + G_s + G_r − TL − (N₀ + 10 log₁₀ B),   TL = 10 k log₁₀ r + a r,

with the two beams' gains G, the spreading k, the absorption a of the middle of the line and the
spectral level N₀ of the noise. Its bits arrive by non-coherent FSK, p = ½ exp(−E_b/(2 N₀)) with
E_b/N₀ = SNR B/R (Proakis, "Digital communications"), and the packet if all of them do. Packets
that overlap at a receiver are lost, unless one exceeds the sum of the others by the capture ratio;
a modem that sends hears nothing.

Every node of a fleet that has a modem computes the whole network. It is a function of the poses of
all vehicles at the ticks and of what they are asked to send, so that all compute the same.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np

from marine_sim_ros.core.random import uniform
from marine_sim_ros.core.schema import number
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.sensors.acoustics import absorption, beam_pattern
from marine_sim_ros.sensors.partners import sound_way

__all__ = [
    'AcousticNetwork',
    'Delivery',
    'Link',
    'Modem',
    'OutgoingData',
    'Participant',
    'arrival_probability',
    'link_between',
    'noise_density',
]

OutgoingData: TypeAlias = tuple[tuple[str, bytes], ...]
"""Destinations and bytes; an empty destination is all."""

BROADCAST = ''
"""Destination of what all may read."""
_FASTEST = 2000.0
"""m/s; sound is nowhere faster."""
_MAX_FLIGHT_TIME = 200.0
"""s; what has not arrived then is forgotten."""


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


class Participant(NamedTuple):
    """A modem at a tick.

    Attributes:
        modem: its parameters.
        key: name of its sensor, for random numbers.
        seed: of its vehicle.
        position: (3,) of its transducer, map, m.
        axis: (3,) unit vector of its beam, map.
        is_wet: whether it is under water.
        outbox: destinations and bytes that it was asked to send at the tick.
    """

    modem: Modem
    key: str
    seed: int
    position: np.ndarray
    axis: np.ndarray
    is_wet: bool
    outbox: OutgoingData = ()


class Link(NamedTuple):
    """What one modem hears of another.

    Attributes:
        level: at the receiver, dB re 1 µPa; −inf: something solid is between them.
        noise: in the receiver's band, dB re 1 µPa.
    """

    level: float
    noise: float


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


# Packets on their way.


class Packet(NamedTuple):
    """A packet that is sent.

    Attributes:
        source: name of the vehicle.
        destination: name of the vehicle that it is for; empty: all.
        data: bytes; None: it acknowledges one.
        number: of the packet, by source; of an acknowledgement that of what it answers.
        serial: of all that the source has sent.
        start: time, s.
        end: time when its last bit is sent, s.
        sender: the modem then.
    """

    source: str
    destination: str
    data: bytes | None
    number: int
    serial: int
    start: float
    end: float
    sender: Participant


class Reception(NamedTuple):
    """A packet at a receiver, from the arrival of its first bit to that of its last, s."""

    packet: Packet
    receiver: str
    begin: float
    end: float
    link: Link


class Delivery(NamedTuple):
    """What a modem hands over.

    Attributes:
        source: name of the other vehicle.
        data: bytes; None: an acknowledgement.
        range: of an acknowledgement, m; else NaN.
        ratio: SNR, dB.
        time: when it had arrived, s.
    """

    source: str
    data: bytes | None
    range: float
    ratio: float
    time: float


class AcousticNetwork:
    """All modems of a run, from tick to tick.

    Attributes:
        lost: numbers of packets that a receiver they were meant for did not get, by reason.
    """

    def __init__(self) -> None:
        """Start in silence."""
        self.lost = {'blocked': 0, 'sending': 0, 'collision': 0, 'noise': 0}
        self._from = self._time = -1.0  # before the first tick
        self._now: Mapping[str, Participant] = {}
        self._before: Mapping[str, Participant] = {}
        self._order = count()
        self._starts: list[tuple[float, int, str, str, bytes | None, int]] = []
        self._ends: list[tuple[float, int, Reception]] = []
        self._flying: list[tuple[Packet, str]] = []
        self._receptions: dict[str, list[Reception]] = {}
        self._sent: dict[str, list[Packet]] = {}
        self._numbers: dict[str, int] = {}
        self._serials: dict[str, int] = {}

    def advance(
        self, time: float, participants: Mapping[str, Participant], environment: Environment
    ) -> list[tuple[str, Delivery]]:
        """Go on to a tick, and return what is handed over until then, by the receiver's name.

        Args:
            time: s.
            participants: all modems, by the names of their vehicles.
            environment: water and scene.
        """
        names = sorted(participants)
        self._before, self._now = self._now or participants, {n: participants[n] for n in names}
        self._from, self._time = self._time, time
        for index, name in enumerate(names):
            for destination, data in self._requests(name, index / len(names)):
                self._numbers[name] = self._numbers.get(name, 0) + 1
                self._schedule(time, name, destination, data, self._numbers[name])
        self._flying = [pair for pair in self._flying if not self._arrives(*pair, environment)]
        deliveries: list[tuple[str, Delivery]] = []
        while True:
            start = self._starts[0][0] if self._starts else math.inf
            end = self._ends[0][0] if self._ends else math.inf
            if min(start, end) > time:
                break
            if start <= end:
                self._send(environment)
            else:
                deliveries += self._receive(heapq.heappop(self._ends)[-1])
        self._forget()
        return deliveries

    def _requests(self, name: str, slot: float) -> Iterator[tuple[str, bytes]]:
        """Yield what a modem is to send at this tick: its report, and what is in its outbox."""
        participant = self._now[name]
        if period := participant.modem.report:
            begin = slot * period
            reports = math.floor((self._time - begin) / period + 1e-9)
            if reports >= 0 and reports > math.floor((self._from - begin) / period + 1e-9):
                yield BROADCAST, participant.position.astype('<f4').tobytes()
        yield from participant.outbox

    def _schedule(
        self, time: float, source: str, destination: str, data: bytes | None, number: int
    ) -> None:
        row = (time, next(self._order), source, destination, data, number)
        heapq.heappush(self._starts, row)

    def _at(self, name: str, time: float) -> np.ndarray:
        """Return the position (3,) of a modem between the last tick and this one, m."""
        now = self._now[name].position
        before = self._before.get(name, self._now[name]).position
        span = self._time - self._from
        return before + min(max((time - self._from) / span, 0.0), 1.0) * (now - before)

    def _send(self, environment: Environment) -> None:
        """Send the first packet that waits, or wait on while its modem sends another."""
        time, _, source, destination, data, number = heapq.heappop(self._starts)
        if source not in self._now:
            return
        sent = self._sent.setdefault(source, [])
        if sent and sent[-1].end > time:
            self._schedule(sent[-1].end, source, destination, data, number)
            return
        sender = self._now[source]._replace(position=self._at(source, time))
        end = time + sender.modem.duration(0 if data is None else len(data))
        self._serials[source] = serial = self._serials.get(source, 0) + 1
        packet = Packet(source, destination, data, number, serial, time, end, sender)
        sent.append(packet)
        if sender.is_wet:
            pairs = [(packet, name) for name in self._now if name != source]
            self._flying += [p for p in pairs if not self._arrives(*p, environment)]

    def _arrives(self, packet: Packet, name: str, environment: Environment) -> bool:
        """Return whether a packet is no longer on its way to a receiver: it is there, or lost."""
        receiver = self._now.get(name)
        late = self._time - packet.start
        if receiver is None or late > _MAX_FLIGHT_TIME:
            return True
        start = packet.sender.position
        away = math.dist(start, receiver.position)
        if away > _FASTEST * late:
            return False
        sound = packet.sender.modem.sound_speed
        _, speed = sound_way(environment, start, receiver.position, sound)
        if not speed > 0:
            return True
        begin = packet.start + away / speed
        for _ in range(4):  # the receiver moves by far less than the sound
            begin = packet.start + math.dist(start, self._at(name, begin)) / speed
        if begin > self._time:
            return False
        if receiver.is_wet:
            receiver_then = receiver._replace(position=self._at(name, begin))
            link = link_between(packet.sender, receiver_then, environment)
            reception = Reception(packet, name, begin, begin + packet.end - packet.start, link)
            self._receptions.setdefault(name, []).append(reception)
            heapq.heappush(self._ends, (reception.end, next(self._order), reception))
        return True

    def _reason(self, reception: Reception) -> str:
        """Return the reason of a packet's loss at a receiver; empty: it is not lost."""
        packet, name, begin, end, link = reception
        receiver = self._now[name]
        if link.level == -math.inf:
            return 'blocked'
        if any(sent.start < end and sent.end > begin for sent in self._sent.get(name, ())):
            return 'sending'
        # Packets that a modem sends without a gap touch, and overlap by the Doppler effect's µs.
        interference = sum(
            10 ** (other.link.level / 10)
            for other in self._receptions[name]
            if other.packet.source != packet.source and other.begin < end and other.end > begin
        )
        # What is below the noise disturbs no more than the noise does.
        strength = 10 ** ((link.level - receiver.modem.capture) / 10)
        if interference > 10 ** (link.noise / 10) and strength < interference:
            return 'collision'
        ratio = link.level - link.noise
        chance = arrival_probability(packet.sender.modem, ratio, packet.end - packet.start)
        key = f'{receiver.key}/{packet.source}/{packet.serial}'
        return '' if uniform(receiver.seed, key, 1)[0] < chance else 'noise'

    def _receive(self, reception: Reception) -> Iterator[tuple[str, Delivery]]:
        """Yield what a packet whose last bit has arrived gives its receiver."""
        packet, name, begin, end, link = reception
        if name not in self._now or packet.destination not in (BROADCAST, name):
            return
        if reason := self._reason(reception):
            self.lost[reason] += 1
            return
        modem, ratio = self._now[name].modem, link.level - link.noise
        if packet.data is not None:
            yield name, Delivery(packet.source, packet.data, math.nan, ratio, end)
            if packet.destination and modem.acknowledge:
                self._schedule(end + modem.turnaround, name, packet.source, None, packet.number)
            return
        sent_data = (p for p in self._sent.get(name, ()) if p.data is not None)
        question = next((p for p in sent_data if p.number == packet.number), None)
        if question is not None:
            wait = question.end - question.start + packet.sender.modem.turnaround
            distance = 0.5 * modem.assumed_sound_speed * (begin - question.start - wait)
            yield name, Delivery(packet.source, None, distance, ratio, end)

    def _forget(self) -> None:
        """Drop what cannot matter any more."""
        first = min([self._time, *(r.begin for _, _, r in self._ends)])
        for name, receptions in self._receptions.items():
            self._receptions[name] = [r for r in receptions if r.end > first]
        for name, sent in self._sent.items():
            self._sent[name] = [p for p in sent if p.end > self._time - 2 * _MAX_FLIGHT_TIME]
