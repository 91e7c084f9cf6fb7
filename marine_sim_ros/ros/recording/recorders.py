# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bags that the recorder node writes: folder, manifest, one vehicle or a fleet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rclpy.node import Node

from marine_sim_ros.bags.description import Manifest, versions, write_json
from marine_sim_ros.bags.storage import BagWriter, QoS, storage, write_error
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.recording.ros2_bag import Ros2Bag
from marine_sim_ros.ros.topics import Topic

__all__ = ['FleetRecording', 'RecorderFiles']


# One bag and one manifest for the recorders of several vehicles in a process.


class FleetRecording:
    """Shared output of recorders; the last one that closes finishes it."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._writer: BagWriter | None = None
        self._topics: set[str] = set()
        self._open = 0
        self._vehicles: dict[str, dict[str, Any]] = {}

    def writer(self, bag: Path) -> BagWriter:
        """Return the writer for one more recorder; the first one creates the bag.

        Raises:
            RecordingError: it cannot be made, or nothing that writes bags is installed.
        """
        self._open += 1
        if self._writer is None:
            self._writer = storage('the recorder').writer(bag)
        return _VehicleWriter(self, self._writer)

    def register_topic(self, topic: str) -> bool:
        """Return whether no other recorder writes a topic yet, and register it."""
        first = topic not in self._topics
        self._topics.add(topic)
        return first

    def close_recorder(self) -> bool:
        """Close one recorder; return whether it was the last."""
        self._open -= 1
        return not self._open

    def write_manifest(self, path: Path, namespace: str, content: dict[str, Any]) -> None:
        """Write the manifest of all vehicles whose recorders have closed: by namespace.

        Raises:
            RecordingError: it cannot be written.
        """
        self._vehicles[namespace] = content
        write_json(path, {'versions': versions(), 'vehicles': self._vehicles})


class _VehicleWriter:
    """Writer of one recorder of a fleet, without the topics that another one writes."""

    def __init__(self, fleet: FleetRecording, writer: BagWriter) -> None:
        self._fleet, self._writer = fleet, writer
        self._topics: set[str] = set()

    def add(self, topic: str, message_type: str, qos: QoS) -> None:
        if self._fleet.register_topic(topic):
            self._topics.add(topic)
            self._writer.add(topic, message_type, qos)

    def write(self, topic: str, stamp: int, data: bytes) -> None:
        if topic in self._topics:
            self._writer.write(topic, stamp, data)

    def close(self) -> None:
        if self._fleet.close_recorder():
            self._writer.close()


# Bag that the recorder itself writes.


class SuiteBag:
    """Messages of all topics, at times of the simulation.

    Attributes:
        topics: full names of the topics that the recorder has to subscribe to.
        has_failed: whether writing is no longer possible.
        settling: s of wall time between subscription and discovery by all publishers.
    """

    has_failed = False
    settling = 0.0

    def __init__(
        self,
        node: Node,
        bag: Path,
        topics: Mapping[str, Topic],
        fleet: FleetRecording | None = None,
    ) -> None:
        """Create the bag for topics, by full name, or join that of a fleet.

        Raises:
            RecordingError: it cannot be made, or nothing that writes bags is installed.
        """
        del node
        self._writer = (fleet or storage('the recorder')).writer(bag)
        self.topics = tuple(topics)
        for name, topic in topics.items():
            self._writer.add(name, topic.type_name, QoS(topic.qos.depth, topic.transient_local))

    def unsubscribed_topics(self, names: Iterable[str]) -> list[str]:
        """Return the topics that are not subscribed yet: none."""
        del names
        return []

    def write(self, name: str, stamp: int, data: bytes) -> None:
        """Write a serialised message of a topic at a time in ns.

        Raises:
            RecordingError: it cannot be written.
        """
        self._writer.write(name, stamp, data)

    def close(self, expected: Mapping[str, int]) -> dict[str, Any]:
        """Finish the bag; return its entries of the manifest.

        Raises:
            RecordingError: what was buffered cannot be written.
        """
        del expected
        self._writer.close()
        return {}


# Output of recorders: a folder of their own, or a fleet's.

RECORDERS = {'suite': SuiteBag, 'ros2_bag': Ros2Bag}


class RecorderFiles:
    """The bag and the manifest of one recorder, in a folder."""

    def __init__(self, node: VehicleNode, folder: Path, fleet: FleetRecording | None) -> None:
        """Open nothing yet."""
        self._node, self._first, self._fleet = node, folder, fleet
        self._part = 0

    @property
    def folder(self) -> Path:
        """The folder of the part that is written: the first's, or ``reset_1`` and so on in it."""
        return self._first / f'reset_{self._part}' if self._part else self._first

    @property
    def splits(self) -> bool:
        """Whether a run that is reset gets a recording for each part.

        The bag of a fleet has several clocks, and that of `ros2 bag record` has times of receipt.
        """
        return self._fleet is None and self._node.values['recorder'] == 'suite'

    def begin_part(self) -> None:
        """Begin a new recording in a subfolder, after a reset.

        Raises:
            RecordingError: it cannot be made.
        """
        self._part += 1
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self.folder, error) from None

    def bag(self, named: Mapping[str, Topic]) -> SuiteBag | Ros2Bag:
        """Return the bag for topics, by full name.

        Raises:
            RecordingError: it cannot be made, or nothing that writes bags is installed.
        """
        path = self.folder / 'bag'
        if self._fleet is not None:
            return SuiteBag(self._node, path, named, self._fleet)
        return RECORDERS[self._node.values['recorder']](self._node, path, named)

    def write_manifest(self, manifest: Manifest, entries: Mapping[str, Any]) -> None:
        """Write the manifest, or a vehicle's part of that of a fleet, with further entries.

        Raises:
            RecordingError: it cannot be written.
        """
        path = self.folder / 'manifest.json'
        if self._fleet is None:
            manifest.write(path, **entries)
        else:
            content = manifest.content(**entries)
            self._fleet.write_manifest(path, self._node.get_namespace(), content)
