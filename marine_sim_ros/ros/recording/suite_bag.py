# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A bag into which the recorder itself writes every message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rclpy.node import Node

from marine_sim_ros.bags.storage import QoS, storage
from marine_sim_ros.ros.messages.topics import Topic
from marine_sim_ros.ros.recording.fleet_recording import FleetRecording

__all__ = ['SuiteBag']


class SuiteBag:
    """Messages of all topics, at times of the simulation.

    Attributes:
        heard: full names of the topics that the recorder has to subscribe to.
        ended: whether nothing can be written any more.
        settling: s from when it listens to when all publishers know.
    """

    ended = False
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
        self.heard = tuple(topics)
        for name, topic in topics.items():
            self._writer.add(name, topic.type_name, QoS(topic.qos.depth, topic.transient_local))

    def deaf(self, names: Iterable[str]) -> list[str]:
        """Return which of some topics it cannot take yet: none."""
        del names
        return []

    def write(self, name: str, stamp: int, data: bytes) -> None:
        """Write a serialised message of a topic at a time in ns.

        Raises:
            RecordingError: it cannot be written.
        """
        self._writer.write(name, stamp, data)

    def close(self, expected: Mapping[str, int]) -> dict[str, Any]:
        """Finish the bag; return what the manifest says of it.

        Raises:
            RecordingError: what was buffered cannot be written.
        """
        del expected
        self._writer.close()
        return {}
