# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Writes recordings: an MCAP rosbag2 of serialised messages, and a manifest beside it."""

from __future__ import annotations

import hashlib
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.trajectory import TrajectoryHash

__all__ = ['BagWriter', 'Manifest', 'vehicle_digest']


def _failed(path: Path, error: Exception) -> RecordingError:
    reason = getattr(error, 'strerror', None) or str(error)
    return RecordingError(f'{path}: cannot be written: {reason}; the recording ends here')


class BagWriter:
    """An MCAP rosbag2; topics are added first, then messages are written as they come."""

    def __init__(self, path: Path) -> None:
        """Create the bag's folder.

        Raises:
            RecordingError: it exists already or cannot be made.
        """
        require('rosbags', 'recording')
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore

        self.path = path
        self._typestore = get_typestore(Stores.ROS2_JAZZY)
        self._connections: dict[str, Any] = {}
        self._broken = False
        try:
            self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
        except Exception as error:
            raise _failed(path, error) from None

    def add(self, topic: str, message_type: Any, qos: Any) -> None:
        """Announce a topic, its ROS message class and its quality of service."""
        package, _, name = message_type.__module__.split('.')[0], '', message_type.__name__
        self._connections[topic] = self._writer.add_connection(
            topic, f'{package}/msg/{name}', typestore=self._typestore,
            offered_qos_profiles=[_rosbag_qos(qos)],
        )  # fmt: skip

    def write(self, topic: str, stamp: int, data: bytes) -> None:
        """Write a serialised message at a time in ns.

        Raises:
            RecordingError: the disk is full, or the file cannot be written for another reason.
        """
        if self._broken:
            return
        try:
            self._writer.write(self._connections[topic], stamp, bytes(data))
        except OSError as error:
            self._broken = True
            raise _failed(self.path, error) from None

    def close(self) -> None:
        """Finish the bag.

        Raises:
            RecordingError: what was buffered cannot be written.
        """
        try:
            self._writer.close()
        except OSError as error:
            raise _failed(self.path, error) from None


def _rosbag_qos(profile: Any) -> Any:
    from rosbags.interfaces import (
        Qos,
        QosDurability,
        QosHistory,
        QosLiveliness,
        QosReliability,
        QosTime,
    )

    unlimited = QosTime(sec=2147483647, nsec=4294967295)
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=profile.depth,
        reliability=QosReliability.RELIABLE,
        durability=QosDurability(int(profile.durability)),
        deadline=unlimited,
        lifespan=unlimited,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=unlimited,
        avoid_ros_namespace_conventions=False,
    )


class Manifest:
    """What a run was: versions, parameters, vehicle hash, ticks, trajectory hash."""

    def __init__(self, settings: dict[str, Any], vehicle: Vehicle) -> None:
        """Start with the settings of the run."""
        self._settings = settings
        self._vehicle = vehicle
        self._hash = TrajectoryHash()

    @property
    def ticks(self) -> int:
        """Ticks so far."""
        return self._hash.ticks

    def add(self, stamp: int, pose: tuple[float, ...], velocity: tuple[float, ...]) -> None:
        """Count a tick: stamp in ns, pose (7), body velocity (6)."""
        self._hash.add(stamp, pose, velocity)

    def write(self, path: Path) -> None:
        """Write the JSON file.

        Raises:
            RecordingError: it cannot be written.
        """
        content = {
            'versions': versions(),
            'parameters': self._settings,
            'seed': self._settings.get('seed', 0),
            'vehicle': self._vehicle.name,
            'vehicle_sha256': vehicle_digest(self._vehicle),
            'ticks': self.ticks,
            'trajectory_sha256': self._hash.hexdigest(),
        }
        try:
            path.write_text(json.dumps(content, indent=2) + '\n', encoding='utf-8')
        except OSError as error:
            raise _failed(path, error) from None


def vehicle_digest(vehicle: Vehicle) -> str:
    """Return the SHA-256 of the URDF and of the SHA-256 of every file beside it, in their order.

    A file that cannot be read counts as an empty one: nothing of the run can have come from it.
    """
    digest = hashlib.sha256(vehicle.urdf.encode())
    for path in vehicle.files:
        try:
            content = path.read_bytes()
        except (OSError, ValueError):
            content = b''
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions that can change a result."""
    result = {'python': platform.python_version(), 'machine': platform.machine()}
    for name in ('marine_sim_ros', 'numpy', 'rosbags', 'rclpy'):
        try:
            result[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            result[name] = 'not installed as a distribution'
    return result
