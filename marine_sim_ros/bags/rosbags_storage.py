# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bags by the ``rosbags`` library, which needs no ROS."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.interfaces import (
    Nodetype,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from marine_sim_ros.bags.storage import BagReader, QoS, unwritable

__all__ = ['STORAGE', 'RosbagsStorage']

METADATA_VERSION: Final = 9
"""Of rosbag2 in ROS 2 Jazzy."""


@lru_cache(maxsize=1)
def _jazzy() -> Any:
    return get_typestore(Stores.ROS2_JAZZY)


class RosbagsWriter:
    """A :class:`~marine_sim_ros.bags.storage.BagWriter`."""

    def __init__(self, path: Path) -> None:
        """Create the bag's folder."""
        self.path = path
        self._connections: dict[str, Any] = {}
        self._broken = False
        try:
            self._writer = Writer(
                path, version=METADATA_VERSION, storage_plugin=StoragePlugin.MCAP
            )
            self._writer.open()
        except Exception as error:
            raise unwritable(path, error) from None

    def add(self, topic: str, message_type: str, qos: QoS) -> None:
        """Announce a topic."""
        self._connections[topic] = self._writer.add_connection(
            topic, message_type, typestore=_jazzy(), offered_qos_profiles=[_profile(qos)]
        )

    def write(self, topic: str, stamp: int, data: bytes) -> None:
        """Write a message; nothing once that has failed."""
        if self._broken:
            return
        try:
            self._writer.write(self._connections[topic], stamp, bytes(data))
        except OSError as error:
            self._broken = True
            raise unwritable(self.path, error) from None

    def close(self) -> None:
        """Finish the bag."""
        try:
            self._writer.close()
        except OSError as error:
            raise unwritable(self.path, error) from None


def _profile(qos: QoS) -> Qos:
    unlimited = QosTime(sec=2147483647, nsec=4294967295)
    durability = QosDurability.TRANSIENT_LOCAL if qos.transient_local else QosDurability.VOLATILE
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=qos.depth,
        reliability=QosReliability.RELIABLE,
        durability=durability,
        deadline=unlimited,
        lifespan=unlimited,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=unlimited,
        avoid_ros_namespace_conventions=False,
    )


class RosbagsStorage:
    """A :class:`~marine_sim_ros.bags.storage.BagStorage`."""

    def writer(self, path: Path) -> RosbagsWriter:
        """Create a bag."""
        return RosbagsWriter(path)

    def reader(self, path: Path, definitions: dict[str, str]) -> AbstractContextManager[BagReader]:
        """Open a bag."""
        store = get_typestore(Stores.ROS2_JAZZY)
        for name, definition in definitions.items():
            store.register(get_types_from_msg(definition, name))
        return AnyReader([path], default_typestore=store)  # type: ignore[return-value]

    def message(self, message_type: str, /, **fields: Any) -> Any:
        """Return a new message."""
        return _jazzy().types[message_type](**fields)

    def fill(self, message_type: str, values: Mapping[str, Any]) -> Any:
        """Return a new message of values by name."""
        made = {}
        for name, (node, kind) in _jazzy().fielddefs[message_type][1]:
            value = values.get(name)
            if node is Nodetype.NAME and (value is None or isinstance(value, Mapping)):
                value = self.fill(kind, value or {})
            elif value is None and node is Nodetype.ARRAY:
                value = np.zeros(kind[1])
            elif value is None and node is Nodetype.SEQUENCE and kind[0][0] is Nodetype.BASE:
                value = [] if kind[0][1][0] == 'string' else np.zeros(0)
            elif value is None and node is Nodetype.BASE:
                value = '' if kind[0] == 'string' else 0
            made[name] = [] if value is None else value
        return self.message(message_type, **made)

    def serialize(self, message: Any, message_type: str) -> bytes:
        """Return a message as CDR."""
        return bytes(_jazzy().serialize_cdr(message, message_type))


STORAGE = RosbagsStorage()
