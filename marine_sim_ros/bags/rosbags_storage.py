# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Storage of bags with the ``rosbags`` library, which needs no ROS."""

from __future__ import annotations

import os
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

from marine_sim_ros.bags.storage import BagReader, QoS, write_error

__all__ = ['STORAGE']

METADATA_VERSION: Final = 9
"""Version of metadata.yaml of rosbag2 in ROS 2 Jazzy."""


@lru_cache(maxsize=1)
def _type_store() -> Any:
    return get_typestore(Stores.ROS2_JAZZY)


def _is_defined(message_type: str) -> bool:
    """Return whether a type is defined: by the library, or by a package that is installed."""
    store = _type_store()
    if message_type in store.fielddefs:
        return True
    package, _, name = message_type.split('/')
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        file = Path(prefix) / 'share' / package / 'msg' / f'{name}.msg'
        if prefix and file.is_file():
            types = get_types_from_msg(file.read_text(encoding='utf-8'), message_type)
            used = (_names(kind) for _, kind in types[message_type][1])
            if all(_is_defined(other) for names in used for other in names):
                store.register(types)
                return True
    return False


def _names(kind: Any) -> list[str]:
    """Return the message types within a field's type."""
    node, details = kind
    if node is Nodetype.NAME:
        return [details]
    return [] if node is Nodetype.BASE else _names(details[0])


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
            raise write_error(path, error) from None

    def add(self, topic: str, message_type: str, qos: QoS) -> None:
        """Announce a topic."""
        _is_defined(message_type)
        self._connections[topic] = self._writer.add_connection(
            topic, message_type, typestore=_type_store(), offered_qos_profiles=[_profile(qos)]
        )

    def write(self, topic: str, stamp: int, data: bytes) -> None:
        """Write a message; do nothing after a failure."""
        if self._broken:
            return
        try:
            self._writer.write(self._connections[topic], stamp, bytes(data))
        except OSError as error:
            self._broken = True
            raise write_error(self.path, error) from None

    def close(self) -> None:
        """Finish the bag."""
        try:
            self._writer.close()
        except OSError as error:
            raise write_error(self.path, error) from None


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

    def knows(self, message_type: str) -> bool:
        """Return whether there are messages of a type."""
        return _is_defined(message_type)

    def message(self, message_type: str, /, **fields: Any) -> Any:
        """Return a new message."""
        return _type_store().types[message_type](**fields)

    def fill(self, message_type: str, values: Mapping[str, Any]) -> Any:
        """Return a new message of values by name."""
        fields = {}
        for name, (node, kind) in _type_store().fielddefs[message_type][1]:
            value = values.get(name)
            if node is Nodetype.NAME and (value is None or isinstance(value, Mapping)):
                value = self.fill(kind, value or {})
            elif isinstance(value, list) and value and isinstance(value[0], Mapping):
                value = [self.fill(kind[0][1], item) for item in value]
            elif value is None and node is Nodetype.ARRAY:
                value = np.zeros(kind[1])
            elif value is None and node is Nodetype.SEQUENCE and kind[0][0] is Nodetype.BASE:
                value = [] if kind[0][1][0] == 'string' else np.zeros(0)
            elif value is None and node is Nodetype.BASE:
                value = '' if kind[0] == 'string' else 0
            fields[name] = [] if value is None else value
        return self.message(message_type, **fields)

    def serialize(self, message: Any, message_type: str) -> bytes:
        """Return a message as CDR."""
        return bytes(_type_store().serialize_cdr(message, message_type))


STORAGE = RosbagsStorage()
