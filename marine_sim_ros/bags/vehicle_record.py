# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Record of one vehicle: time series of its topics, and mapping of topic names (``--map``)."""

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
"""Messages of a topic that are processed together."""
MAX_ROW_LENGTH = 1000
"""Bound of the numbers of a row; a longer array is not a quantity of a vehicle."""
NUMBER_BOUND = 1e100
"""Magnitude above which a number is not a measurement, in any unit; its square is finite."""
ODOM_QUANTITIES = (
    *('x', 'y', 'z', 'roll', 'pitch', 'yaw'),
    *('surge', 'sway', 'heave', 'roll_rate', 'pitch_rate', 'yaw_rate'),
    *('ahead', 'port', 'up', 'speed'),
)
"""Columns of an odometry's series: pose, m and rad (unwrapped); velocity in the body frame, m/s,
rad/s; then the velocity in the level frame (yaw only), as of set-points, and speed, m/s."""


class RowConsumer(Protocol):
    """Consumer of every row, before thinning."""

    def __call__(
        self, channel: Channel, stamps: np.ndarray, receipts: np.ndarray, rows: np.ndarray
    ) -> None:
        """Take stamps and receipts (n,) in ns, and rows (n, k)."""


class Clock:
    """Estimated stamps of messages without one, from their times of receipt.

    Between two odometries the stamp advances at the rate of the two before, by one step at most.
    """

    def __init__(self) -> None:
        self._newest: tuple[int, int] | None = None
        self._rate = 1.0
        self._step = 0

    def tick(self, receipt: int, stamp: int) -> None:
        """Take receipt and stamp (ns) of an odometry."""
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
    """Topic of a vehicle, and the time series of its messages.

    Attributes:
        name: name of this package, relative to the vehicle.
        topic: topic name in the bag.
        type: type of its messages.
        role: role of the topic, one of ``roles``.
        labels: labels of the columns of its rows.
        stamped: whether its messages have stamps of their own.
        distance: length of the path of an odometry, m; None: no position.
        odd: number of rows that were dropped, because their width differs or is too large.
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
        self._last_rpy: np.ndarray | None = None
        self._position: np.ndarray | None = None
        self._energy = 0.0
        self._power: tuple[float, float] | None = None

    def take(self, message: Any, receipt: int, clock: Clock | None) -> None:
        """Take a message; without a stamp it gets the clock's, or else its time of receipt."""
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
            estimate = clock.stamp(receipt) if clock is not None else receipt
            stamp = -1 if estimate is None else estimate  # −1: set after the first odometry
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
            # A run may start at 0, but two zeros mean that the header is not used.
            self.stamped = False
            pairs = zip(self._stamps, self._receipts, strict=True)
            self._stamps = [receipt if old == 0 else old for old, receipt in pairs]
            return None
        return stamp

    @property
    def first(self) -> int | None:
        """First stamp, ns; None without messages."""
        if self.timing.count:
            return self.timing.first
        return self._stamps[0] if self._stamps else None

    @property
    def full(self) -> bool:
        """Whether a block is complete."""
        return len(self._rows) >= BLOCK

    def flush(self, start: int | None, rows: RowConsumer | None) -> None:
        """Add the block to the series; ``start`` (ns): stamp of messages before the odometry."""
        if not self._rows:
            return
        stamps, receipts = np.array(self._stamps), np.array(self._receipts)
        values = np.array(self._rows, float)
        self._stamps, self._receipts, self._rows = [], [], []
        early = stamps < 0
        # Without any odometry, use the time of receipt.
        stamps = np.where(early, receipts if start is None else start, stamps)
        values = np.where(np.abs(values) <= NUMBER_BOUND, values, np.nan)  # NaN where NaN
        if rows is not None:
            rows(self, stamps, receipts, values)
        self.timing.add(stamps, receipts)
        time = stamps / NANOSECONDS
        columns = self._columns(time, values)
        if self.series.count == 0:
            self.series = Series(columns.shape[1])
        self.series.add(time, columns)

    def _columns(self, time: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return values with derived columns: angles and speeds, |F| and |M|, total and energy."""
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
        has_attitude = np.abs(length - 1) < 0.1  # false for NaN: no attitude in the message
        unit = np.where(
            has_attitude, quaternion / np.where(has_attitude, length, 1.0), [0.0, 0.0, 0.0, 1.0]
        )
        rpy = np.array(rpy_from_quaternion(unit))
        valid = has_attitude[:, 0]
        if valid.any():  # unwrap the angles, across blocks
            angles = rpy[valid]
            before = angles[:1] if self._last_rpy is None else self._last_rpy[None]
            rpy[valid] = np.unwrap(np.concatenate([before, angles]), axis=0)[1:]
            self._last_rpy = rpy[valid][-1]
        level = level_velocity(unit, velocity)
        speed = np.linalg.norm(velocity[:, :3], axis=1)
        self._add_distance(position)
        rpy = np.where(has_attitude, rpy, np.nan)
        return np.column_stack([position, rpy, velocity, level, speed])

    def _add_distance(self, position: np.ndarray) -> None:
        points = position[np.isfinite(position).all(axis=1)]
        if self._position is not None:
            points = np.concatenate([self._position[None], points])
        if len(points):
            length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
            self.distance = (self.distance or 0.0) + length
            self._position = points[-1]

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
    """Topics of one vehicle in a bag.

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
        """Add the last blocks, and drop channels without messages."""
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
        """Sources below ``wrench/``, without the total, those of this package first."""
        names = [n for n in self.channels if n.startswith('wrench/') and n != 'wrench/total']
        order = [*FORCES, 'external']
        rank = {f'wrench/{n}': i for i, n in enumerate(order)}
        names.sort(key=lambda n: (rank.get(n, len(rank)), n))
        return {n.split('/', 1)[1]: self.channels[n].series for n in names}


# Role and vehicle of each topic of a bag: by this package's names, or by ``--map``.

_MAX_SUGGESTIONS = 4
"""Topics of a bag that are suggested for one of this package."""


def parse_maps(texts: Sequence[str]) -> dict[str, str]:
    """Return topics of the bag -> topics of this package, of texts ``OURS:=THEIRS``.

    Raises:
        ParameterError: not of that form, a topic of the bag twice, or an unknown name.
    """
    result: dict[str, str] = {}
    for text in texts:
        ours, sign, theirs = (part.strip() for part in text.partition(':='))
        if not (ours and sign and theirs):
            raise ParameterError(f'--map {text}: expected OURS:=THEIRS, as in odom:=/rov/odometry')
        if _split(ours)[1] is None:
            names = ', '.join(known_topics())
            raise ParameterError(
                f'--map {text}: {ours} is not a topic of this package; expected {names}'
            )
        theirs = '/' + theirs.lstrip('/')
        if theirs in result:
            raise ParameterError(f'--map {text}: {theirs} is mapped twice; expected it once')
        result[theirs] = ours
    return result


def check_maps(maps: Mapping[str, str], topics: Collection[str]) -> None:
    """Raise ParameterError where a mapped topic is not among the topics of the bags."""
    for theirs, ours in maps.items():
        if theirs not in topics:
            raise ParameterError(
                f'--map {ours}:={theirs}: no bag has {theirs}; expected one of '
                + ', '.join(sorted(topics))
            )


def suggest_topics(topics: Mapping[str, str]) -> str:
    """Return suggestions of --map for topics (name -> type) of a bag; empty: none."""
    suggestions = []
    for ours in ('odom', 'thrusters/pwm', 'barometer/pressure'):
        kinds = accepted_types(role_of(ours) or '')
        candidates = [topic for topic, kind in sorted(topics.items()) if kind in kinds]
        suggestions += [f'--map {ours}:={topic}' for topic in candidates[:_MAX_SUGGESTIONS]]
        if len(candidates) > _MAX_SUGGESTIONS:
            suggestions.append(f'({len(candidates) - _MAX_SUGGESTIONS} more of {ours})')
    return ' '.join(suggestions)


def _split(topic: str) -> tuple[str, str | None]:
    """Return namespace, and name of this package or None."""
    parts = topic.strip('/').split('/')
    for i in range(max(0, len(parts) - 2), len(parts)):
        name = '/'.join(parts[i:])
        if role_of(name) is not None:
            return '/'.join(parts[:i]), name
    return '', None


def is_body(namespace: str) -> bool:
    """Return whether a namespace of a bag is that of a free body, not of a vehicle."""
    return f'/{namespace}'.startswith(BODIES)


def vehicles_of(
    topics: Mapping[str, str], maps: Mapping[str, str], where: str
) -> dict[str, VehicleRecord]:
    """Return the vehicles of a bag, still empty, from its topics (name -> type).

    A topic counts when both name and type fit. Names in ``maps`` without a namespace belong to
    the only vehicle there is, else to one named by the namespace of the mapped topics.

    Raises:
        RecordingError: a mapped topic has a type that does not fit.
    """
    by_namespace: dict[str, dict[str, str]] = {}
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
                by_namespace.setdefault(namespace, {})[name or ''] = topic
            else:
                mapped[name or ''] = topic
            continue
        namespace, name = ('', None) if _driver(topic)[1] else _split(topic)
        if name is not None and message_type in accepted_types(role_of(name) or ''):
            by_namespace.setdefault(namespace, {}).setdefault(name, topic)
    _add_drivers(by_namespace, topics, maps, DRIVER_TOPICS)
    all_names = {name for names in by_namespace.values() for name in names} | set(mapped)
    if 'odom' not in all_names:
        _add_drivers(by_namespace, topics, maps, FALLBACK_DRIVER_TOPICS)
    # Any robot has joint_states: a namespace with nothing else is not a vehicle.
    by_namespace = {
        n: names for n, names in by_namespace.items() if set(names) != {'joint_states'}
    }
    if mapped:
        namespace = _default_namespace(by_namespace, mapped)
        by_namespace.setdefault(namespace, {}).update(mapped)
    result = {}
    for namespace, names in by_namespace.items():
        record = VehicleRecord(namespace)
        for name, topic in names.items():
            record.add(Channel(name, topic, topics[topic], role_of(name) or ''))
        result[namespace] = record
    # Vehicles before bodies: the first one is the default.
    return dict(sorted(result.items(), key=lambda item: (is_body(item[0]), item[0])))


def _driver(topic: str) -> tuple[str, str]:
    """Return namespace and name of a topic of a common driver; empty where it is none."""
    for name in (*DRIVER_TOPICS, *FALLBACK_DRIVER_TOPICS):
        if f'/{topic.strip("/")}'.endswith(f'/{name}'):
            return topic.strip('/').removesuffix(name).strip('/'), name
    return '', ''


def _add_drivers(
    by_namespace: dict[str, dict[str, str]],
    topics: Mapping[str, str],
    maps: Mapping[str, str],
    drivers: Mapping[str, str],
) -> None:
    """Add topics of common drivers, such as MAVROS, for missing ones of this package."""
    for driver, ours in drivers.items():
        for topic, message_type in topics.items():
            namespace, name = _driver(topic)
            matches = name == driver and topic not in maps
            if matches and message_type in accepted_types(role_of(ours) or ''):
                by_namespace.setdefault(namespace, {}).setdefault(ours, topic)


def _default_namespace(
    by_namespace: Mapping[str, Mapping[str, str]], mapped: Mapping[str, str]
) -> str:
    if len(by_namespace) == 1:
        return next(iter(by_namespace))
    topic = mapped.get('odom') or next(iter(mapped.values()))
    return topic.strip('/').split('/')[0] if topic.count('/') > 1 else ''
