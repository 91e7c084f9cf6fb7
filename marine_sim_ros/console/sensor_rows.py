# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensor rows of a page: reading, age, rate and health of each sensor."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from marine_sim_ros.console.sensor_readings import (
    DRAWINGS,
    NAMED,
    READINGS,
    Drawing,
    plain_reading,
)
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.faults.fault_types import Fault, SensorFault, fault_type_name
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors import SENSORS, SensorTopic

__all__ = ['SensorRow', 'SensorRows']

SLACK = 0.3
"""s that a message may be older than its rate and latency allow."""
MISSED = 2.5
"""Periods without a message after which a sensor is late."""
SILENT = (3.0, 6.0)
"""s, and periods, without a message after which it is silent: whichever is longer."""
SLOW = 0.7
"""Share of its nominal rate below which a sensor is late."""
KEPT = 512
"""Stamps from which the rate is computed."""
MIN_SPAN = 0.5
"""s that they must span."""


class _Feed:
    """One topic of a sensor: its newest message, and when messages came."""

    def __init__(self, topic: SensorTopic) -> None:
        self.topic = topic
        self.message: Any = None
        self.stamps: deque[float] = deque(maxlen=KEPT)

    def take(self, stamps: Sequence[float], message: Any, *, gap: bool) -> None:
        """Take stamps (s) of messages and the newest of them; a gap: some before were lost."""
        if gap or (self.stamps and stamps and stamps[0] < self.stamps[-1]):  # or a reset
            self.stamps.clear()
        self.stamps.extend(stamps)
        self.message = message

    def rate(self, window: float) -> float | None:
        """Return the mean rate of the last window (s), 1/s; None while too little is known."""
        if not self.stamps:
            return None
        last = self.stamps[-1]
        recent = [s for s in self.stamps if s >= last - window]
        if len(recent) < 3 or recent[-1] - recent[0] < MIN_SPAN:
            return None
        return (len(recent) - 1) / (recent[-1] - recent[0])


class SensorRow:
    """The row of one sensor.

    Attributes:
        sensor: the sensor.
        wanted: topics to listen to; true: all messages are taken, else the newest.
        drawing: its drawing, or None.
    """

    def __init__(self, sensor: Sensor, topics: Iterable[SensorTopic]) -> None:
        """Show a sensor by topics of its own, which are published."""
        self.sensor = sensor
        made = DRAWINGS.get(sensor.kind)
        self.drawing: Drawing | None = None if made is None else made(sensor)
        topics = tuple(topics)
        drawn = {} if self.drawing is None else self.drawing.topics
        in_words = {t.name for t in topics if t.type in READINGS}
        # A sensor with nothing but types that nobody put into words: its numbers as they stand.
        shown = {*in_words, *drawn} or {t.name for t in topics[:1]}
        self._feeds = {t.name: _Feed(t) for t in topics if t.name in shown}
        self.wanted = {name: drawn.get(name, False) for name in self._feeds}

    @property
    def nominal(self) -> float:
        """Readings per second; 0: one in every tick."""
        return NANOSECONDS / self.sensor.period if self.sensor.period else 0.0

    def scenery(self) -> dict[str, Any]:
        """Return the constant parts; JSON."""
        return {
            'name': self.sensor.name,
            'label': SENSORS[self.sensor.kind].label or self.sensor.kind,
            'nominal': self.nominal,
            'quiet': SENSORS[self.sensor.kind].quiet,
            'drawing': None if self.drawing is None else self.drawing.scenery(),
        }

    def take(
        self, topic: str, stamps: Sequence[float], messages: Sequence[Any], *, gap: bool = False
    ) -> None:
        """Take what came on a topic since the last call.

        Args:
            topic: name of one of the wanted topics.
            stamps: stamps of all messages, s; of one without a header when it came.
            messages: the messages, or the newest alone.
            gap: messages before these were lost on their way.
        """
        self._feeds[topic].take(stamps, messages[-1], gap=gap)
        if self.drawing is not None and topic in self.drawing.topics:
            for message in messages:
                self.drawing.take(topic, message)

    def row(
        self, now: float, *, since: float, faults: Iterable[Fault] = (), ticks: float = 0.0
    ) -> dict[str, Any]:
        """Return the row; JSON.

        Args:
            now: time of the run, s.
            since: time since which somebody listens, s.
            ticks: ticks per second of the run's time, for no sensor is faster; 0: unknown, and no
                sensor is late for its rate.
        """
        heard = [f.stamps[-1] for f in self._feeds.values() if f.stamps]
        age = max(now - max(heard), 0.0) if heard else None
        period = max(self.sensor.period / NANOSECONDS, 1.0 / ticks if ticks else 0.0)
        window = max(3.0, 5 * period)
        rate = self._rate(window) if self.sensor.period else None
        slow = ticks > 0 and rate is not None and rate * period < SLOW
        state = self._state(now, since, age, period, slow=slow)
        if state == 'silent':
            rate = None
        if any(self._acts(fault, now) for fault in faults):
            state = 'faulty'
        return {
            'name': self.sensor.name,
            'state': state,
            'reading': self._reading(max(heard, default=0.0), period),
            'age': age,
            'rate': rate,
            'drawing': None if self.drawing is None else self.drawing.frame(),
        }

    def _rate(self, window: float) -> float | None:
        """Return the highest rate of a topic; those with stamps of their own know better."""
        feeds = self._feeds.values()
        stamped = [f for f in feeds if not f.topic.type.startswith('std_msgs/')]
        rates = [r for f in stamped or feeds if (r := f.rate(window)) is not None]
        return max(rates, default=None)

    def _state(
        self, now: float, since: float, age: float | None, period: float, *, slow: bool
    ) -> str:
        latency = self.sensor.latency / NANOSECONDS
        quiet = now - since if age is None else age - latency
        if quiet > max(SILENT[0], SILENT[1] * period):
            return 'silent'
        if age is None:
            return 'waiting'
        return 'late' if slow or quiet > MISSED * period + SLACK else 'ok'

    def _acts(self, fault: Fault, now: float) -> bool:
        """Return whether a fault of this sensor is there; the barometer has some of its own."""
        mine = (
            fault.sensor == self.sensor.name
            if isinstance(fault, SensorFault)
            else fault_type_name(fault).startswith(f'{self.sensor.kind}_')
        )
        return mine and fault.acts(now)

    def _reading(self, newest: float, period: float) -> str:
        """Return the readings of the topics that came with the newest one, in words."""
        texts: dict[str, str] = {}
        for feed in self._feeds.values():
            topic = feed.topic
            if not feed.stamps or feed.stamps[-1] < newest - MISSED * period - SLACK:
                continue
            if topic.type in READINGS:
                text = READINGS[topic.type](feed.message)
                named = topic.type in NAMED and not topic.type.lower().endswith(f'/{topic.name}')
                unit = f' {topic.unit}' if topic.unit else ''
                # Of topics of one type the last says most: an IMU's data_raw and data.
                key = topic.name if named else topic.type
                colon = ':' if topic.type == 'std_msgs/msg/Bool' else ''
                name = topic.name.replace('_', ' ')
                texts[key] = f'{name}{colon} {text}{unit}' if named else text
            elif self.drawing is None:
                texts[topic.type] = plain_reading(feed.message)
        drawn = '' if self.drawing is None else self.drawing.reading()
        return ', '.join(text for text in (*texts.values(), drawn) if text)


class SensorRows:
    """The rows of all sensors of a vehicle, in the order of its description."""

    def __init__(self, sensors: Iterable[tuple[Sensor, Iterable[SensorTopic]]]) -> None:
        """Show sensors by those of their topics that are published."""
        self.rows = [SensorRow(sensor, topics) for sensor, topics in sensors]

    def scenery(self) -> list[dict[str, Any]]:
        """Return the constant parts of each; JSON."""
        return [row.scenery() for row in self.rows]

    def frame(
        self, now: float, *, since: float, faults: Sequence[Fault] = (), ticks: float = 0.0
    ) -> list[dict[str, Any]]:
        """Return all rows, as :meth:`SensorRow.row` does; JSON."""
        return [row.row(now, since=since, faults=faults, ticks=ticks) for row in self.rows]

    def pictures(self) -> dict[str, bytes]:
        """Return the newest pictures by the sensor's name."""
        drawn = {row.sensor.name: row.drawing for row in self.rows}
        return {n: d.picture for n, d in drawn.items() if d is not None and d.picture is not None}
