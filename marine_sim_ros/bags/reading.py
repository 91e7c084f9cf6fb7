# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of recorded bags and logs into vehicle records; recordings may have several parts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from marine_sim_ros.bags.ardupilot_events import LogEvent
from marine_sim_ros.bags.ardupilot_logs import LOG_SUFFIXES, open_log
from marine_sim_ros.bags.csv_logs import CSV_SUFFIX, open_csv_log
from marine_sim_ros.bags.roles import EXTRA_TYPES
from marine_sim_ros.bags.storage import STORAGES, BagReader, BagStorage, storage
from marine_sim_ros.bags.vehicle_record import (
    Channel,
    RowConsumer,
    VehicleRecord,
    suggest_topics,
    vehicles_of,
)
from marine_sim_ros.core.errors import MarineSimError, RecordingError, path_fault
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import MAX_TEXT_BYTES, check_file
from marine_sim_ros.core.state import stamp_ns

__all__ = ['Bag', 'Parts', 'bag_path', 'damage_as_error', 'open_bag', 'read_bag']


# Parts of a recording, split where its clock starts again (reset, loop).

MIN_RESTART = 500_000_000
"""ns by which stamps of the odometry go back at a new part; smaller steps are disorder."""


class Parts:
    """Parts of a vehicle's recording between restarts of its clock; messages come in order.

    Attributes:
        part: number of the present part, from 0.
        count: number of parts so far; 1 where all stamps go back, as in a bag that is reversed.
    """

    def __init__(self) -> None:
        """Begin with the first part."""
        self.part = 0
        self._newest: int | None = None
        self._forward = self._backward = 0

    @property
    def count(self) -> int:
        """Number of parts of the recording."""
        return self.part + 1 if self._forward > self._backward else 1

    def tick(self, stamp: int) -> int:
        """Return the part of an odometry with a stamp in ns, which may begin a new one."""
        if self._newest is not None:
            if stamp < self._newest - MIN_RESTART:
                self.part += 1
            if stamp < self._newest:
                self._backward += 1
            else:
                self._forward += 1
        self._newest = stamp
        return self.part

    def part_of(self, stamp: int | None) -> int:
        """Return the part of another message with a stamp in ns; None: it has none.

        A message far ahead of the odometry is late, from the part before.
        """
        late = (
            stamp is not None
            and self.part > 0
            and self._newest is not None
            and stamp > self._newest + MIN_RESTART
        )
        return self.part - late


# One pass over a bag from its first message to its last; needs no ROS.

_FILES = ('.mcap', '.db3', '.bag', *LOG_SUFFIXES)
_TABLES = ('.npz', '.parquet', '.txt')
_PROGRESS_PERIOD = 2000
"""Messages between two reports of progress."""


@dataclass(frozen=True)
class Bag:
    """Contents of a bag.

    Attributes:
        path: path as the caller gave it.
        label: short name, for display.
        size: total size of its files, bytes.
        messages: number of messages of all topics.
        start: time of receipt of the first message, ns.
        end: time of receipt of the last message, ns.
        topics: name, type, messages of every topic.
        vehicles: vehicles by namespace.
        notes: assumed and missing data of an autopilot's log, a line each.
        events: modes, messages and errors of an autopilot's log.
        parts: largest number of parts of a vehicle's recording.
        part: part that was read, from 0; None: all.
    """

    path: str
    label: str
    size: int
    messages: int
    start: int
    end: int
    topics: tuple[tuple[str, str, int], ...]
    vehicles: dict[str, VehicleRecord]
    notes: tuple[str, ...] = ()
    events: tuple[LogEvent, ...] = ()
    parts: int = 1
    part: int | None = None


def bag_path(text: str) -> Path:
    """Return the path to open: the bag's folder, one in a recording's folder, or a file.

    Raises:
        RecordingError: there is no bag.
    """
    path = Path(text)
    if not path.exists():
        hint = path_fault(path, _FILES)[1]
        raise RecordingError(
            f'{text}: does not exist; {hint}{" " if hint else ""}expected a rosbag2 folder or file'
        )
    if path.is_file():
        if path.suffix.lower() not in (*_FILES, CSV_SUFFIX):
            hint = f'did you mean {path.parent}? ' if _has_bag(path.parent) else ''
            if path.suffix.lower() in _TABLES:
                hint = 'write a table as .csv (docs/reference/bags.md); '
            raise RecordingError(
                f'{text}: is not a bag; {hint}expected a folder, .mcap, .db3, .bag, .BIN, .tlog '
                'or .csv'
            )
        return path
    if (path / 'metadata.yaml').exists():
        return path
    if (path / 'bag').is_dir():
        return bag_path(str(path / 'bag'))
    # A recorder that was killed has written no metadata.
    files = sorted(p for p in path.iterdir() if p.suffix in _FILES)
    if len(files) == 1:
        return files[0]
    if files:
        raise RecordingError(
            f'{text}: has {len(files)} files and no metadata.yaml; '
            'expected one file, or a bag repaired by `ros2 bag reindex`'
        )
    inner = sorted(p for p in path.iterdir() if _has_bag(p))
    count = f'({len(inner)} recordings) ' if len(inner) > 1 else ''
    hint = f'did you mean {inner[-1]}? {count}' if inner else ''
    raise RecordingError(
        f'{text}: is not a bag; {hint}expected metadata.yaml, .mcap or .db3 in it'
    )


def _has_bag(folder: Path) -> bool:
    return any((folder / name).exists() for name in ('metadata.yaml', 'bag/metadata.yaml'))


def read_bag(
    text: str,
    *,
    maps: Mapping[str, str] | None = None,
    label: str = '',
    rows: Callable[[VehicleRecord], RowConsumer | None] = lambda _: None,
    progress: Callable[[float], None] = lambda _: None,
    part: int | None = None,
) -> Bag:
    """Read a bag.

    Args:
        text: path of a bag, of a recording's folder, or of a file.
        maps: topic in the bag -> topic of this package, from ``parse_maps``.
        label: short name, for display; default: from the path.
        rows: returns the consumer of every row of a vehicle.
        progress: called with the completed fraction.
        part: part of it to read, from 0, where its clock started again (``Bag.parts``); None: all.

    Raises:
        RecordingError: not a bag, cut off, damaged or empty, or without topics of a vehicle.
    """
    path = bag_path(text)
    with open_bag(path, text) as reader:
        topics = {c.topic: c.msgtype for c in reader.connections}
        if not reader.message_count:
            raise RecordingError(f'{text}: has no messages; expected a recorded run')
        vehicles = vehicles_of(topics, maps or {}, text)
        if not vehicles:
            raise RecordingError(f'{text}: {_no_vehicle_text(topics)}')
        counts: dict[str, int] = {}
        for c in reader.connections:
            counts[c.topic] = counts.get(c.topic, 0) + c.msgcount
        result = Bag(
            path=text,
            label=label or _label(path),
            size=_size(path),
            messages=reader.message_count,
            start=reader.start_time,
            end=reader.end_time,
            topics=tuple((t, topics[t], counts[t]) for t in sorted(topics)),
            vehicles=vehicles,
            notes=getattr(reader, 'notes', ()),
            events=getattr(reader, 'events', ()),
            part=part,
        )
        result = replace(result, parts=_stream(reader, result, rows, progress))
    for name in [n for n, v in vehicles.items() if not v.channels]:
        del vehicles[name]
    if not vehicles:
        raise RecordingError(f'{text}: its topics of a vehicle have no messages; expected a run')
    return result


def _stream(
    reader: BagReader,
    bag: Bag,
    rows: Callable[[VehicleRecord], RowConsumer | None],
    progress: Callable[[float], None],
) -> int:
    """Pass the messages to the vehicles' channels; return the number of parts of the bag."""
    sinks = {name: rows(record) for name, record in bag.vehicles.items()}
    receivers: dict[str, list[tuple[VehicleRecord, Channel]]] = {}
    for record in bag.vehicles.values():
        for channel in record.channels.values():
            receivers.setdefault(channel.topic, []).append((record, channel))
    connections = [c for c in reader.connections if c.topic in receivers]
    total = max(1, sum(c.msgcount for c in connections))
    parts = {name: Parts() for name in bag.vehicles}
    for i, (connection, receipt, data) in enumerate(reader.messages(connections)):
        message = reader.deserialize(data, connection.msgtype)
        for record, channel in receivers[connection.topic]:
            # If all parts are read, only odometries, which count the parts, need this.
            counts = bag.part is not None or channel.role == 'odom'
            part = _part(parts[record.name], channel, message) if counts else None
            if bag.part in (None, part):
                record.take(channel, message, receipt, sinks[record.name])
        if i % _PROGRESS_PERIOD == 0:
            progress(min(1.0, i / total))
    for name, record in bag.vehicles.items():
        record.finish(sinks[name])
    return max(p.count for p in parts.values())


def _part(parts: Parts, channel: Channel, message: Any) -> int:
    """Return the part of a message of a vehicle."""
    header = getattr(message, 'header', None)
    stamp = None if header is None else stamp_ns(header.stamp)
    if channel.role == 'odom' and stamp is not None:
        return parts.tick(stamp)
    return parts.part_of(stamp)


@contextmanager
def open_bag(path: Path, text: str) -> Iterator[BagReader]:
    """Open a bag; any error of its reader becomes an error of one line.

    Raises:
        RecordingError: it is damaged, or one of its files is a device or a pipe.
    """
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if not file.is_dir():
            limit = MAX_TEXT_BYTES if file.name == 'metadata.yaml' else sys.maxsize
            check_file(file, limit, RecordingError)
    with damage_as_error(text), _reader(path, text) as reader:
        yield reader


@contextmanager
def damage_as_error(text: str) -> Iterator[None]:
    """Turn any error of the reader of a damaged bag into an error of one line.

    Raises:
        RecordingError: it is damaged.
    """
    try:
        yield
    except MarineSimError:
        raise
    except Exception as error:
        # Truncated and damaged files fail in the storage, the decompressor or the deserialiser,
        # each with exceptions of its own.
        reason = ' '.join(str(error).split()).rstrip('.') or type(error).__name__
        hint = ''
        if 'magic' in reason or 'footer' in reason:
            hint = '; it is cut off or no MCAP: `mcap recover` saves what is in it'
        raise RecordingError(f'{text}: cannot be read: {reason}{hint}') from None


def _reader(path: Path, text: str) -> AbstractContextManager[BagReader]:
    if path.suffix.lower() in LOG_SUFFIXES:
        return open_log(path, text)
    if path.suffix.lower() == CSV_SUFFIX:
        return open_csv_log(path, text)
    store = storage('reading a bag') if path.suffix != '.bag' else _ros1(text)
    return store.reader(path, EXTRA_TYPES)


def _ros1(text: str) -> BagStorage:
    """Return a reader of a ROS 1 bag, which needs rosbags."""
    require('rosbags', f'{text}: a bag of ROS 1')
    return cast(BagStorage, import_module(STORAGES['rosbags']).STORAGE)


def _no_vehicle_text(topics: Mapping[str, str]) -> str:
    if suggestion := suggest_topics(topics):
        return f'has no topic of this package; expected --map OURS:=THEIRS, of: {suggestion}'
    present = ', '.join(sorted(topics)[:5]) + (', ...' if len(topics) > 5 else '')
    return f'has nothing of a vehicle; expected odom, thrusters/pwm, ...; it has {present}'


def _label(path: Path) -> str:
    source = path.parent if path.name == 'bag' else path
    return source.stem if source.is_file() else source.resolve().name


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [p for p in path.iterdir() if p.is_file()]
    return sum(p.stat().st_size for p in files)
