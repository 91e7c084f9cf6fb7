# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reading and writing of bags with ``rosbag2_py``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import rosbag2_py
from rclpy.serialization import deserialize_message, serialize_message
from rosbag2_py._storage import QoS as OfferedQoS

from marine_sim_ros.bags.storage import Connection, QoS, write_error
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import ros_packages
from marine_sim_ros.ros.message_fields import set_fields

__all__ = ['STORAGE']

MCAP_END = b'\x89MCAP0\r\n'
"""Last bytes of a complete MCAP file; rosbag2 reports nothing when the disk is full."""
CDR_LENGTH = 4
"""Bytes of a sequence's length."""
STORAGE_IDS = {'.mcap': 'mcap', '.db3': 'sqlite3'}


@lru_cache(maxsize=64)
def _message_class(message_type: str) -> Any:
    package, _, name = message_type.split('/')
    return getattr(import_module(f'{package}.msg'), name)


class Rosbag2Writer:
    """A :class:`~marine_sim_ros.bags.storage.BagWriter`."""

    def __init__(self, path: Path) -> None:
        """Create the bag's folder."""
        if 'mcap' not in rosbag2_py.get_registered_writers():
            raise RecordingError(
                'rosbag2 cannot write MCAP here; expected `apt install '
                f'{ros_packages("rosbag2_storage_mcap")}` (rosdep key rosbag2_storage_mcap)'
            )
        self.path = path
        self._broken = False
        self._writer = rosbag2_py.SequentialWriter()
        options = rosbag2_py.StorageOptions(uri=str(path), storage_id='mcap')
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer.open(options, rosbag2_py.ConverterOptions('cdr', 'cdr'))
        except (RuntimeError, OSError) as error:
            raise write_error(path, error) from None
        self._topics = 0

    def add(self, topic: str, message_type: str, qos: QoS) -> None:
        """Announce a topic."""
        self._topics += 1
        offered = OfferedQoS(qos.depth).reliable()
        offered = offered.transient_local() if qos.transient_local else offered
        self._writer.create_topic(
            rosbag2_py.TopicMetadata(
                id=self._topics,
                name=topic,
                type=message_type,
                serialization_format='cdr',
                offered_qos_profiles=[offered],
            )
        )

    def write(self, topic: str, stamp: int, data: bytes) -> None:
        """Write a message; do nothing after a failure."""
        if self._broken:
            return
        try:
            self._writer.write(topic, bytes(data), stamp)
        except RuntimeError as error:
            self._broken = True
            raise write_error(self.path, error) from None

    def close(self) -> None:
        """Finish the bag, and check that it is complete."""
        try:
            self._writer.close()
        except RuntimeError as error:
            raise write_error(self.path, error) from None
        for file in self.path.glob('*.mcap'):
            with file.open('rb') as stream:
                stream.seek(-min(len(MCAP_END), file.stat().st_size), 2)
                if stream.read() != MCAP_END:
                    raise write_error(file, OSError('its end is missing; the disk may be full'))


class Rosbag2Reader:
    """A :class:`~marine_sim_ros.bags.storage.BagReader`."""

    def __init__(self, path: Path) -> None:
        """Open a bag's folder or file."""
        kind = STORAGE_IDS.get(path.suffix, '') if path.is_file() else ''
        self._options = rosbag2_py.StorageOptions(uri=str(path), storage_id=kind)
        info = rosbag2_py.Info().read_metadata(str(path), kind)
        self._compressed = bool(info.compression_mode) and info.compression_mode != 'NONE'
        metadata = self._open().get_metadata()
        self.connections = [
            Connection(t.topic_metadata.name, t.topic_metadata.type, t.message_count)
            for t in metadata.topics_with_message_count
        ]
        self.message_count = int(metadata.message_count)
        self.start_time = int(metadata.starting_time.nanoseconds)
        self.end_time = self.start_time + int(metadata.duration.nanoseconds) + 1

    def _open(self) -> Any:
        kind = 'SequentialCompressionReader' if self._compressed else 'SequentialReader'
        reader = getattr(rosbag2_py, kind)()
        reader.open(self._options, rosbag2_py.ConverterOptions('', ''))
        return reader

    def messages(
        self, connections: Iterable[Any] = (), start: int | None = None, stop: int | None = None
    ) -> Iterator[tuple[Any, int, bytes]]:
        """Yield connection, time (ns) and CDR from start up to stop; by default of all topics."""
        by_topic = {c.topic: c for c in connections or self.connections}
        reader = self._open()
        reader.set_filter(rosbag2_py.StorageFilter(topics=list(by_topic)))
        if start is not None:
            reader.seek(start)
        # Lyrical adds the time of sending and deprecates the other (ros2/rosbag2#2061).
        read_next = getattr(reader, 'read_next_ext', reader.read_next)
        while reader.has_next():
            topic, data, time, *_ = read_next()
            if stop is not None and time >= stop:
                return
            yield by_topic[topic], time, data

    def deserialize(self, data: bytes, message_type: str) -> Any:
        """Return a message."""
        return deserialize_message(data, _message_class(message_type))


class Rosbag2Storage:
    """A :class:`~marine_sim_ros.bags.storage.BagStorage`."""

    def writer(self, path: Path) -> Rosbag2Writer:
        """Create a bag."""
        return Rosbag2Writer(path)

    @contextmanager
    def reader(self, path: Path, definitions: dict[str, str]) -> Iterator[Rosbag2Reader]:
        """Open a bag; types that are not installed cannot be read, whatever their definition."""
        del definitions
        yield Rosbag2Reader(path)

    def knows(self, message_type: str) -> bool:
        """Return whether there are messages of a type."""
        return find_spec(message_type.partition('/')[0]) is not None

    def message(self, message_type: str, /, **fields: Any) -> Any:
        """Return a new message."""
        return _message_class(message_type)(
            **{k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fields.items()}
        )

    def fill(self, message_type: str, values: Mapping[str, Any]) -> Any:
        """Return a new message of values by name."""
        message = _message_class(message_type)()
        set_fields(message, values)
        return message

    def serialize(self, message: Any, message_type: str) -> bytes:
        """Return a message as CDR."""
        del message_type
        data = bytes(serialize_message(message))
        kinds = message.get_fields_and_field_types()
        lists = (getattr(message, name) for name, kind in kinds.items() if 'sequence' in kind)
        return data if all(map(len, lists)) else _trim_padding(data, type(message))


def _trim_padding(data: bytes, message_class: Any) -> bytes:
    """Return CDR without the bytes at its end that ``serialize_message`` only counts.

    It counts padding before the elements of empty sequences, where there is none; strict readers
    do not take what follows.
    """
    while True:
        try:
            deserialize_message(data[:-CDR_LENGTH], message_class)
        except Exception:  # of the middleware: what was cut off is needed
            return data
        data = data[:-CDR_LENGTH]


STORAGE = Rosbag2Storage()
