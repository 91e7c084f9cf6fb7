# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Storage of rosbag2: the ``rosbags`` library, or else the ``rosbag2_py`` of ROS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import ros_packages
from marine_sim_ros.core.state import NANOSECONDS

__all__ = [
    'STORAGES',
    'Thinning',
    'BagReader',
    'BagStorage',
    'BagWriter',
    'Connection',
    'QoS',
    'is_recording',
    'recording_parts',
    'storage',
    'write_error',
]

STORAGES = {
    'rosbags': 'marine_sim_ros.bags.rosbags_storage',
    'rosbag2_py': 'marine_sim_ros.ros.recording.rosbag2_storage',
}
"""Python package -> the module with ``STORAGE`` that works with it; the first installed is used.

The second one needs ROS, so it is in a room above this one, and imported by name like a plug-in.
"""


@dataclass(frozen=True)
class QoS:
    """Quality of service of a topic's publishers: all are reliable and keep the last messages.

    Attributes:
        depth: messages that are kept.
        transient_local: whether a late subscriber gets them.
    """

    depth: int
    transient_local: bool


@dataclass(frozen=True)
class Connection:
    """Topic of a bag, with the attribute names of rosbags.

    Attributes:
        msgtype: type of its messages, ``package/msg/Name``.
        msgcount: number of its messages.
    """

    topic: str
    msgtype: str
    msgcount: int


class Thinning:
    """Choice of the messages of a recording with a period: the first of a topic in each period."""

    def __init__(self, period: float) -> None:
        """Start without a message.

        Args:
            period: s; 0 keeps all messages.
        """
        self._period = round(period * NANOSECONDS)
        self._newest: dict[str, int] = {}

    def keeps(self, topic: str, stamp: int) -> bool:
        """Return whether a message of a topic, measured at a time in ns, is kept."""
        if not self._period:
            return True
        number = stamp // self._period
        is_first = number > self._newest.get(topic, -1)
        if is_first:
            self._newest[topic] = number
        return is_first


class BagWriter(Protocol):
    """An MCAP rosbag2; topics are added first, then messages are written as they come."""

    def add(self, topic: str, message_type: str, qos: QoS) -> None:
        """Announce a topic, its type ``package/msg/Name`` and its quality of service."""

    def write(self, topic: str, stamp: int, data: bytes) -> None:
        """Write a message, serialised as CDR, at a time in ns.

        Raises:
            RecordingError: the disk is full, or the file cannot be written for another reason.
        """

    def close(self) -> None:
        """Finish the bag.

        Raises:
            RecordingError: what was buffered cannot be written.
        """


class BagReader(Protocol):
    """A bag that is open for reading; times are those of receipt, ns."""

    connections: Any
    """Sequence of objects with the attributes of :class:`Connection`."""
    message_count: int
    start_time: int
    end_time: int

    def messages(
        self, connections: Iterable[Any] = (), start: int | None = None, stop: int | None = None
    ) -> Iterator[tuple[Any, int, bytes]]:
        """Yield connection, time and CDR from start up to stop, ns; by default of all topics."""

    def deserialize(self, data: bytes, message_type: str) -> Any:
        """Return a message, whose fields are attributes."""


class BagStorage(Protocol):
    """A library that reads and writes bags."""

    def writer(self, path: Path) -> BagWriter:
        """Create a bag in a new folder.

        Raises:
            RecordingError: it exists already or cannot be made.
        """

    def reader(self, path: Path, definitions: dict[str, str]) -> AbstractContextManager[BagReader]:
        """Open a bag's folder or file; a damaged one raises any exception of the library.

        Args:
            definitions: message definitions by type, for bags and libraries without them.
        """

    def knows(self, message_type: str) -> bool:
        """Return whether the library has a message type ``package/msg/Name``."""

    def message(self, message_type: str, /, **fields: Any) -> Any:
        """Return a new message of a type ``package/msg/Name``."""

    def fill(self, message_type: str, values: Mapping[str, Any]) -> Any:
        """Return a new message of values by name: mappings for messages in it, 0 if absent."""

    def serialize(self, message: Any, message_type: str) -> bytes:
        """Return a message as CDR."""


def storage(purpose: str) -> BagStorage:
    """Return the first library that is installed.

    Args:
        purpose: use of the library, subject of the error message.

    Raises:
        RecordingError: none is installed.
    """
    for package, module in STORAGES.items():
        try:
            library: BagStorage = import_module(module).STORAGE
        except ModuleNotFoundError as error:
            if (error.name or '').split('.')[0] not in (package, 'rclpy'):
                raise  # the package is there, and broken
        else:
            return library
    raise RecordingError(
        f'{purpose} needs the Python package rosbags or rosbag2_py, and neither is installed; '
        'expected `pip install rosbags`, or '
        f'`apt install {ros_packages("rosbag2_py", "rosbag2_storage_mcap")}` '
        '(rosdep keys rosbag2_py, rosbag2_storage_mcap)'
    )


def is_recording(folder: Path) -> bool:
    """Return whether a folder holds a bag or a manifest."""
    return any((folder / name).exists() for name in ('bag', 'manifest.json'))


def recording_parts(folder: Path) -> list[Path]:
    """Return the recordings after each reset, folders ``reset_1`` and so on, by number."""
    numbers = {p: p.name.removeprefix('reset_') for p in folder.glob('reset_*') if is_recording(p)}
    return sorted(
        (p for p, text in numbers.items() if text.isdecimal()), key=lambda p: int(numbers[p])
    )


def write_error(path: Path, error: Exception) -> RecordingError:
    """Return the error for a file of a recording that cannot be written."""
    reason = getattr(error, 'strerror', None) or str(error)
    return RecordingError(f'{path}: cannot be written: {reason}; the recording ends here')
