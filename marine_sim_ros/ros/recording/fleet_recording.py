# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One bag and one manifest that the recorders of several vehicles write in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marine_sim_ros.bags.storage import BagWriter, QoS, storage
from marine_sim_ros.bags.writer import versions, write_json

__all__ = ['FleetRecording']


class FleetRecording:
    """What the recorders share; the last that closes finishes it."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._writer: BagWriter | None = None
        self._topics: set[str] = set()
        self._open = 0
        self._vehicles: dict[str, dict[str, Any]] = {}

    def writer(self, bag: Path) -> BagWriter:
        """Return the writer for one more recorder; the first makes the bag.

        Raises:
            RecordingError: it cannot be made, or nothing that writes bags is installed.
        """
        self._open += 1
        if self._writer is None:
            self._writer = storage('the recorder').writer(bag)
        return _Part(self, self._writer)

    def claim(self, topic: str) -> bool:
        """Return whether a recorder is the first that has a topic, and writes it."""
        first = topic not in self._topics
        self._topics.add(topic)
        return first

    def leave(self) -> bool:
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


class _Part:
    """A writer of one recorder, which leaves out the topics that another one writes."""

    def __init__(self, fleet: FleetRecording, writer: BagWriter) -> None:
        self._fleet, self._writer = fleet, writer
        self._own: set[str] = set()

    def add(self, topic: str, message_type: str, qos: QoS) -> None:
        if self._fleet.claim(topic):
            self._own.add(topic)
            self._writer.add(topic, message_type, qos)

    def write(self, topic: str, stamp: int, data: bytes) -> None:
        if topic in self._own:
            self._writer.write(topic, stamp, data)

    def close(self) -> None:
        if self._fleet.leave():
            self._writer.close()
