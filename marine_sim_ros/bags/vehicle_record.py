# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Record of one vehicle: its channels, and which topics they come from (``--map``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from marine_sim_ros.bags.roles import (
    DRIVER_TOPICS,
    FALLBACK_DRIVER_TOPICS,
    accepted_types,
    known_topics,
    role_of,
    row_converter,
    row_labels,
)
from marine_sim_ros.bags.series import MAX_HOLD, MessageTiming, Series
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.core.spatial import level_velocity, rpy_from_quaternion
from marine_sim_ros.core.state import NANOSECONDS, stamp_ns
from marine_sim_ros.model.free_bodies import BODIES
from marine_sim_ros.physics import FORCES

__all__ = [
    'Channel',
    'Clock',
    'ODOM_QUANTITIES',
    'RowConsumer',
    'VehicleRecord',
    'check_maps',
    'is_body',
    'parse_maps',
    'suggest_topics',
    'vehicles_of',
]


# Channels of one vehicle in a bag, one for each topic.

BLOCK = 1024
MAX_ROW_LENGTH = 1000
"""Numbers of a row; a longer array is no quantity of a vehicle."""
NUMBER_BOUND = 1e100
"""Size of a number beyond which it is no measurement, in any unit; its square is finite."""
ODOM_QUANTITIES = (
    *('x', 'y', 'z', 'roll', 'pitch', 'yaw'),
    *('surge', 'sway', 'heave', 'roll_rate', 'pitch_rate', 'yaw_rate'),
    *('ahead', 'port', 'up', 'speed'),
)
"""Columns of an odometry's series: pose, m and rad (unwrapped); velocity in the body frame, m/s,
rad/s; then the velocity in the level frame, that of set-points, and its size, m/s."""


class RowConsumer(Protocol):
    """Takes every row as it comes, before anything is thinned."""

    def __call__(
        self, channel: Channel, stamps: np.ndarray, receipts: np.ndarray, rows: np.ndarray
    ) -> None:
        """Take stamps and receipts (n,) in ns, and rows (n, k)."""


class Clock:
    """Tells messages without a stamp what the stamps of their vehicle were at the time.

    Between two odometries the stamps go on at the rate of the two before, and never past the next.
    """

    def __init__(self) -> None:
        self._newest: tuple[int, int] | None = None
        self._rate = 1.0
        self._step = 0

    def tick(self, receipt: int, stamp: int) -> None:
        """Note an odometry."""
        if self._newest is not None:
            span = receipt - self._newest[0]
            self._step = max(0, stamp - self._newest[1])
            self._rate = self._step / span if span > 0 else 1.0
        self._newest = receipt, stamp

    def stamp(self, receipt: int) -> int | None:
        """Return the stamp at a time of receipt (ns); None before the first odometry."""
        if self._newest is None:
            return None
        since, stamp = self._newest
        return stamp + int(min((receipt - since) * self._rate, self._step))


class Channel:
    """A topic of a vehicle.

    Attributes:
        name: relative to the vehicle, as ours are called.
        topic: topic name in the bag.
        type: type of its messages.
        role: role of the topic, one of ``roles``.
        labels: labels of the columns of its rows.
        stamped: whether its messages have stamps of their own.
        distance: length of the path of an odometry, m; None: no place is known.
        odd: rows of another width than the first, or too wide, left out.
    """

    def __init__(self, name: str, topic: str, message_type: str, role: str) -> None:
        self.name, self.topic, self.type, self.role = name, topic, message_type, role
        self.labels: tuple[str, ...] = ()
        self.count = self.odd = 0
        self.stamped = True
        self.timing = MessageTiming()
        self.series = Series(1)
        self.distance: float | None = None
        self._numbers = row_converter(role, message_type)
        self._stamps: list[int] = []
        self._receipts: list[int] = []
        self._rows: list[tuple[float, ...]] = []
        self._yaw: np.ndarray | None = None
        self._place: np.ndarray | None = None
        self._energy = 0.0
        self._power: tuple[float, float] | None = None

    def take(self, message: Any, receipt: int, clock: Clock | None) -> None:
        """Take a message; without a stamp of its own it gets the clock's, else its receipt."""
        self.count += 1
        row = self._numbers(message)
        if not self.labels and len(row) <= MAX_ROW_LENGTH:
            self.labels = row_labels(self.role, message, row)
        if len(row) != len(self.labels) or not row:
            self.odd += 1
            return
        stamp = self._stamp(message)
        if self.role == 'odom':
            stamp = receipt if stamp is None else stamp
            if clock is not None:
                clock.tick(receipt, stamp)
        elif stamp is None:
            known = clock.stamp(receipt) if clock is not None else receipt
            stamp = -1 if known is None else known  # known when the first odometry has come
        self._stamps.append(stamp)
        self._receipts.append(receipt)
        self._rows.append(row)

    def _stamp(self, message: Any) -> int | None:
        header = getattr(message, 'header', None)
        if header is None:
            self.stamped = False
        if not self.stamped:
            return None
        stamp = stamp_ns(header.stamp)  # type: ignore[union-attr]
        if stamp == 0 and self._stamps and self._stamps[-1] == 0:
            # A run may start at 0, but two zeros mean that nobody filled the header in.
            self.stamped = False
            known = zip(self._stamps, self._receipts, strict=True)
            self._stamps = [receipt if old == 0 else old for old, receipt in known]
            return None
        return stamp

    @property
    def first(self) -> int | None:
        """The first stamp, ns; None so far."""
        if self.timing.count:
            return self.timing.first
        return self._stamps[0] if self._stamps else None

    @property
    def full(self) -> bool:
        """Whether there is a block to be worked off."""
        return len(self._rows) >= BLOCK

    def flush(self, start: int | None, rows: RowConsumer | None) -> None:
        """Work off what has been taken; ``start`` (ns) is the stamp of what came before it."""
        if not self._rows:
            return
        stamps, receipts = np.array(self._stamps), np.array(self._receipts)
        values = np.array(self._rows, float)
        self._stamps, self._receipts, self._rows = [], [], []
        early = stamps < 0
        # Without any odometry the receipt is all there is.
        stamps = np.where(early, receipts if start is None else start, stamps)
        values = np.where(np.abs(values) <= NUMBER_BOUND, values, np.nan)  # NaN where NaN
        if rows is not None:
            rows(self, stamps, receipts, values)
        self.timing.add(stamps, receipts)
        time = stamps / NANOSECONDS
        shaped = self._shape(time, values)
        if self.series.count == 0:
            self.series = Series(shaped.shape[1])
        self.series.add(time, shaped)

    def _shape(self, time: np.ndarray, values: np.ndarray) -> np.ndarray:
        if self.role == 'odom':
            return self._odometry(values)
        if self.role == 'wrench':
            sizes = [np.linalg.norm(values[:, s], axis=1) for s in (slice(3), slice(3, 6))]
            return np.column_stack([values, *sizes])
        if self.role == 'power':
            return self._energies(time, values)
        return values

    def _odometry(self, values: np.ndarray) -> np.ndarray:
        position, quaternion, velocity = np.split(values, [3, 7], axis=1)
        length = np.linalg.norm(quaternion, axis=1, keepdims=True)
        turned = np.abs(length - 1) < 0.1  # also false for NaN: no attitude in the message
        unit = np.where(turned, quaternion / np.where(turned, length, 1.0), [0.0, 0.0, 0.0, 1.0])
        rpy = np.array(rpy_from_quaternion(unit))
        there = turned[:, 0]  # an attitude that is not known adds no turn
        if there.any():
            known = rpy[there]
            before = known[:1] if self._yaw is None else self._yaw[None]
            rpy[there] = np.unwrap(np.concatenate([before, known]), axis=0)[1:]
            self._yaw = rpy[there][-1]
        level = level_velocity(unit, velocity)
        speed = np.linalg.norm(velocity[:, :3], axis=1)
        self._travel(position)
        rpy = np.where(turned, rpy, np.nan)
        return np.column_stack([position, rpy, velocity, level, speed])

    def _travel(self, position: np.ndarray) -> None:
        known = position[np.isfinite(position).all(axis=1)]
        if self._place is not None:
            known = np.concatenate([self._place[None], known])
        if len(known):
            moved = float(np.linalg.norm(np.diff(known, axis=0), axis=1).sum())
            self.distance = (self.distance or 0.0) + moved
            self._place = known[-1]

    def _energies(self, time: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return powers (n, k), their sum, and the energy so far, J."""
        total = np.nansum(values, axis=1)
        last = (time[0], 0.0) if self._power is None else self._power
        step = np.diff(np.append(last[0], time))
        step = np.where((step > 0) & (step <= MAX_HOLD), step, 0.0)
        energy = self._energy + np.cumsum(np.append(last[1], total[:-1]) * step)
        self._energy, self._power = float(energy[-1]), (float(time[-1]), float(total[-1]))
        return np.column_stack([values, total, energy])


class VehicleRecord:
    """Everything a bag has of one vehicle.

    Attributes:
        name: namespace without the leading slash; may be empty.
        channels: channels by this package's topic names.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.channels: dict[str, Channel] = {}
        self._clock: Clock | None = None

    def add(self, channel: Channel) -> None:
        """Add a topic."""
        self.channels[channel.name] = channel
        if channel.role == 'odom':
            self._clock = Clock()

    def take(self, channel: Channel, message: Any, receipt: int, rows: RowConsumer | None) -> None:
        """Take a message of one of the channels."""
        channel.take(message, receipt, self._clock)
        if channel.full:
            channel.flush(self._start(), rows)

    def finish(self, rows: RowConsumer | None) -> None:
        """Work off what is left; channels that never had a message are dropped."""
        for name in sorted(self.channels, key=lambda n: n != 'odom'):
            self.channels[name].flush(self._start(), rows)
        self.channels = {n: c for n, c in self.channels.items() if c.series.count}

    def _start(self) -> int | None:
        odom = self.channels.get('odom')
        return None if odom is None else odom.first

    def get(self, name: str) -> Series | None:
        """Return the series of a topic; None where it was not recorded."""
        channel = self.channels.get(name)
        return None if channel is None else channel.series

    @property
    def start(self) -> float:
        """First stamp, of the odometry if there is one, s."""
        odom = self.channels.get('odom')
        firsts = [odom] if odom is not None else list(self.channels.values())
        return min(c.timing.first for c in firsts) / NANOSECONDS

    @property
    def wrenches(self) -> dict[str, Series]:
        """Sources below ``wrench/``, without the total, the known ones first."""
        names = [n for n in self.channels if n.startswith('wrench/') and n != 'wrench/total']
        known = [*FORCES, 'external']
        rank = {f'wrench/{n}': i for i, n in enumerate(known)}
        names.sort(key=lambda n: (rank.get(n, len(rank)), n))
        return {n.split('/', 1)[1]: self.channels[n].series for n in names}


# Role and vehicle of each topic of a bag: by this package's names, or by ``--map``.

_SHOWN = 4
"""Topics that are suggested for one of ours."""


def parse_maps(texts: Sequence[str]) -> dict[str, str]:
    """Return the topics of ``OURS:=THEIRS`` texts: theirs -> ours.

    Raises:
        ParameterError: not of that form, one of theirs twice, or a name that is not ours.
    """
    result: dict[str, str] = {}
    for text in texts:
        ours, sign, theirs = (part.strip() for part in text.partition(':='))
        if not (ours and sign and theirs):
            raise ParameterError(f'--map {text}: expected OURS:=THEIRS, as in odom:=/rov/odometry')
        if _split(ours)[1] is None:
            known = ', '.join(known_topics())
            raise ParameterError(
                f'--map {text}: {ours} is not a topic of this package; expected {known}'
            )
        theirs = '/' + theirs.lstrip('/')
        if theirs in result:
            raise ParameterError(f'--map {text}: {theirs} is mapped twice; expected it once')
        result[theirs] = ours
    return result


def check_maps(maps: Mapping[str, str], there: Collection[str]) -> None:
    """Raise ParameterError where a mapped topic (theirs -> ours) is not among those there are."""
    for theirs, ours in maps.items():
        if theirs not in there:
            raise ParameterError(
                f'--map {ours}:={theirs}: no bag has {theirs}; expected one of '
                + ', '.join(sorted(there))
            )


def suggest_topics(topics: Mapping[str, str]) -> str:
    """Return the topics (name -> type) that --map could name, by our names; empty for none."""
    words = []
    for ours in ('odom', 'thrusters/pwm', 'barometer/pressure'):
        kinds = accepted_types(role_of(ours) or '')
        could = [topic for topic, kind in sorted(topics.items()) if kind in kinds]
        words += [f'--map {ours}:={topic}' for topic in could[:_SHOWN]]
        if len(could) > _SHOWN:
            words.append(f'({len(could) - _SHOWN} more of {ours})')
    return ' '.join(words)


def _split(topic: str) -> tuple[str, str | None]:
    """Return namespace and our name in it; None: it is none of ours."""
    parts = topic.strip('/').split('/')
    for i in range(max(0, len(parts) - 2), len(parts)):
        name = '/'.join(parts[i:])
        if role_of(name) is not None:
            return '/'.join(parts[:i]), name
    return '', None


def is_body(namespace: str) -> bool:
    """Return whether what a bag has in a namespace is a free body, and no vehicle."""
    return f'/{namespace}'.startswith(BODIES)


def vehicles_of(
    topics: Mapping[str, str], maps: Mapping[str, str], where: str
) -> dict[str, VehicleRecord]:
    """Return the vehicles of a bag, still empty, from its topics (name -> type).

    A topic counts when both name and type fit. Names in ``maps`` without a namespace belong to
    the only vehicle there is, else to one named by the namespace of the mapped topics.

    Raises:
        RecordingError: a mapped topic whose type cannot be what it is said to be.
    """
    found: dict[str, dict[str, str]] = {}
    mapped: dict[str, str] = {}
    for topic, message_type in topics.items():
        ours = maps.get(topic)
        if ours is not None:
            namespace, name = _split(ours)
            role = role_of(name or '') or ''
            if message_type not in accepted_types(role):
                raise RecordingError(
                    f'{where}: {topic} is {message_type}; expected of {ours}: '
                    + ', '.join(accepted_types(role))
                )
            if ours.startswith('/') or namespace:
                found.setdefault(namespace, {})[name or ''] = topic
            else:
                mapped[name or ''] = topic
            continue
        namespace, name = ('', None) if _driver(topic)[1] else _split(topic)
        if name is not None and message_type in accepted_types(role_of(name) or ''):
            found.setdefault(namespace, {}).setdefault(name, topic)
    _add_drivers(found, topics, maps, DRIVER_TOPICS)
    known = {name for names in found.values() for name in names} | set(mapped)
    if 'odom' not in known:
        _add_drivers(found, topics, maps, FALLBACK_DRIVER_TOPICS)
    # Any robot has joints: alone they make no vehicle.
    found = {n: names for n, names in found.items() if set(names) != {'joint_states'}}
    if mapped:
        own = _owner(found, mapped)
        found.setdefault(own, {}).update(mapped)
    result = {}
    for namespace, names in found.items():
        record = VehicleRecord(namespace)
        for name, topic in names.items():
            record.add(Channel(name, topic, topics[topic], role_of(name) or ''))
        result[namespace] = record
    # Vehicles first: who asks for none gets the first.
    return dict(sorted(result.items(), key=lambda one: (is_body(one[0]), one[0])))


def _driver(topic: str) -> tuple[str, str]:
    """Return namespace and name of a topic of a common driver; empty where it is none."""
    for name in (*DRIVER_TOPICS, *FALLBACK_DRIVER_TOPICS):
        if f'/{topic.strip("/")}'.endswith(f'/{name}'):
            return topic.strip('/').removesuffix(name).strip('/'), name
    return '', ''


def _add_drivers(
    found: dict[str, dict[str, str]],
    topics: Mapping[str, str],
    maps: Mapping[str, str],
    drivers: Mapping[str, str],
) -> None:
    """Add the topics of common drivers, as of MAVROS, where a vehicle has none of ours."""
    for driver, ours in drivers.items():
        for topic, message_type in topics.items():
            namespace, name = _driver(topic)
            known = name == driver and topic not in maps
            if known and message_type in accepted_types(role_of(ours) or ''):
                found.setdefault(namespace, {}).setdefault(ours, topic)


def _owner(found: Mapping[str, Mapping[str, str]], mapped: Mapping[str, str]) -> str:
    if len(found) == 1:
        return next(iter(found))
    topic = mapped.get('odom') or next(iter(mapped.values()))
    return topic.strip('/').split('/')[0] if topic.count('/') > 1 else ''
