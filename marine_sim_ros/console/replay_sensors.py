# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The sensors of a bag at any time: what a page of a running graph would show of them then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marine_sim_ros.console.sensor_rows import SensorRow, SensorRows
from marine_sim_ros.core.stamps import NANOSECONDS, header_stamp
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors import SENSORS, SensorTopic

__all__ = ['ReplayedSensors']

WINDOW = (4.0, 7.0)
"""s, and periods of the sensor, before a time in which its messages count: whichever is longer.
Older ones are those of a silent sensor."""


class ReplayedSensors:
    """The sensors of a vehicle of which a bag has a topic."""

    def __init__(self, reader: Any, vehicle: Vehicle, namespace: str) -> None:
        """Find the topics.

        Args:
            reader: opened bag (rosbags AnyReader); who calls sees to it that one thread reads.
            vehicle: the vehicle.
            namespace: of its topics, without slashes around it.
        """
        self._reader = reader
        types = {c.topic: c.msgtype for c in reader.connections}
        self._known: list[tuple[Sensor, dict[str, SensorTopic]]] = []
        for sensor in vehicle.sensors:
            told = {
                f'/{namespace}/{sensor.name}/{topic.name}': topic
                for topic in SENSORS[sensor.kind].topics_of(sensor)
            }
            here = {full: topic for full, topic in told.items() if types.get(full) == topic.type}
            if here:
                self._known.append((sensor, here))

    def _fresh(self) -> SensorRows:
        return SensorRows((sensor, topics.values()) for sensor, topics in self._known)

    def scenery(self) -> list[dict[str, Any]]:
        """Return what stays the same of each sensor; JSON."""
        return self._fresh().scenery()

    def look(self, stop: int, now: float) -> tuple[list[dict[str, Any]], Mapping[str, bytes]]:
        """Return rows (JSON) and pictures of the sensors at a time.

        Args:
            stop: receipt of the last message that counts, ns.
            now: stamp of the run then, s.
        """
        rows = self._fresh()
        for row, (sensor, topics) in zip(rows.rows, self._known, strict=True):
            window = max(WINDOW[0], WINDOW[1] * sensor.period / NANOSECONDS)
            window += sensor.latency / NANOSECONDS
            self._take(row, topics, stop, round(window * NANOSECONDS), now)
        frame = rows.frame(now, since=now - 2 * WINDOW[0])
        for drawing in (told['drawing'] for told in frame):
            if drawing and 'serial' in drawing:  # of a picture at no other time
                drawing['serial'] *= stop // 1_000_000
        return frame, rows.pictures()

    def _take(
        self, row: SensorRow, topics: Mapping[str, SensorTopic], stop: int, window: int, now: float
    ) -> None:
        wanted = {full: t.name for full, t in topics.items() if t.name in row.wanted}
        connections = [c for c in self._reader.connections if c.topic in wanted]
        found: dict[str, list[tuple[Any, int, bytes]]] = {}
        for connection, receipt, data in self._reader.messages(
            connections, start=stop - window, stop=stop + 1
        ):
            found.setdefault(connection.topic, []).append((connection, receipt, data))
        for full, messages in found.items():
            stamped = not topics[full].type.startswith('std_msgs/')
            stamps = [
                header_stamp(data) / NANOSECONDS
                if stamped
                else now - (stop - receipt) / NANOSECONDS
                for _, receipt, data in messages
            ]
            name = wanted[full]
            shown = messages if row.wanted[name] else messages[-1:]
            row.take(name, stamps, [self._reader.deserialize(d, c.msgtype) for c, _, d in shown])
