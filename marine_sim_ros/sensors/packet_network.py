# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Packets between modems of a fleet, of any medium: travel, collisions, acknowledgements.

Packets that overlap at a receiver are lost, unless one exceeds the sum of the others by the
capture ratio; a modem that sends hears nothing.

Every node of a fleet that has a modem computes the whole network. It is a function of the poses of
all vehicles at the ticks and of what they are asked to send, so that all compute the same.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from marine_sim_ros.core.random import uniform
from marine_sim_ros.environment.environment import Environment

__all__ = [
    'Delivery',
    'Link',
    'Medium',
    'ModemNetwork',
    'ModemSettings',
    'OutgoingData',
    'Participant',
]

OutgoingData: TypeAlias = tuple[tuple[str, bytes], ...]
"""Destinations and bytes; an empty destination is all."""

BROADCAST = ''
"""Destination of what all may read."""
_MAX_FLIGHT_TIME = 200.0
"""s; what has not arrived then is forgotten."""


class ModemSettings(Protocol):
    """Parameters that modems of all media have."""

    bit_rate: float
    header: float
    packet_size: float
    capture: float
    acknowledge: float
    turnaround: float
    report: float

    def duration(self, size: int) -> float:
        """Return the time that a packet of so many bytes takes, s."""


class Participant(NamedTuple):
    """A modem at a tick.

    Attributes:
        modem: its parameters, :class:`ModemSettings` and those of its medium.
        key: name of its sensor, for random numbers.
        seed: of its vehicle.
        position: (3,) of its transducer, map, m.
        axis: (3,) unit vector of its beam, map.
        is_wet: whether it is under water.
        outbox: destinations and bytes that it was asked to send at the tick.
    """

    modem: Any
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


class Medium(NamedTuple):
    """How packets travel.

    Attributes:
        link: function of a sender, a receiver and the environment that returns their link.
        speed: function of a sender, both places (3,), m, and the environment that returns the mean
            speed between them, m/s; NaN: nothing arrives.
        probability: function of the modem, the ratio of its link, dB, and the duration of a
            packet, s, that returns the probability that all of its bits arrive.
        fastest: speed that nothing exceeds, m/s.
    """

    link: Callable[[Participant, Participant, Environment], Link]
    speed: Callable[[Participant, np.ndarray, np.ndarray, Environment], float]
    probability: Callable[[Any, float, float], float]
    fastest: float


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


class ModemNetwork:
    """All modems of a run, from tick to tick.

    Attributes:
        lost: numbers of packets that a receiver they were meant for did not get, by reason.
    """

    def __init__(self, medium: Medium) -> None:
        """Start in silence."""
        self._medium = medium
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
        if away > self._medium.fastest * late:
            return False
        speed = self._medium.speed(packet.sender, start, receiver.position, environment)
        if not speed > 0:
            return True
        begin = packet.start + away / speed
        for _ in range(4):  # the receiver moves by far less than the sound
            begin = packet.start + math.dist(start, self._at(name, begin)) / speed
        if begin > self._time:
            return False
        if receiver.is_wet:
            receiver_then = receiver._replace(position=self._at(name, begin))
            link = self._medium.link(packet.sender, receiver_then, environment)
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
        length = packet.end - packet.start
        chance = self._medium.probability(packet.sender.modem, ratio, length)
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
            known = getattr(modem, 'assumed_sound_speed', math.nan)
            distance = 0.5 * known * (begin - question.start - wait)
            yield name, Delivery(packet.source, None, distance, ratio, end)

    def _forget(self) -> None:
        """Drop what cannot matter any more."""
        first = min([self._time, *(r.begin for _, _, r in self._ends)])
        for name, receptions in self._receptions.items():
            self._receptions[name] = [r for r in receptions if r.end > first]
        for name, sent in self._sent.items():
            self._sent[name] = [p for p in sent if p.end > self._time - 2 * _MAX_FLIGHT_TIME]
