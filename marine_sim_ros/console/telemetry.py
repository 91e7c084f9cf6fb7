# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Telemetry of a run for a page: frames from rows of its topics, sensor rows, force colours."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.bags.roles import actuator_of, role_of, state_columns
from marine_sim_ros.console.sensor_readings import (
    DRAWINGS,
    NAMED,
    READINGS,
    Drawing,
    plain_reading,
    quantity_text,
)
from marine_sim_ros.core.spatial import level_velocity, rpy_from_quaternion
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.environment import STANDARD_GRAVITY
from marine_sim_ros.faults.fault_types import Fault, SensorFault, fault_type_name
from marine_sim_ros.model.free_bodies import BODIES
from marine_sim_ros.model.propulsion import propeller_angles
from marine_sim_ros.model.vehicle import Sensor, ThrusterSet, Vehicle
from marine_sim_ros.physics import FORCES, actuators_of
from marine_sim_ros.sensors import SENSORS, SensorTopic

__all__ = [
    'Energy',
    'SensorRow',
    'SensorRows',
    'actuator_readings',
    'force_colour',
    'force_colours',
    'telemetry_frame',
    'wrench_names',
]


# Colours of forces, the same in RViz and in the browser.

_FORCE_COLOURS = {
    'weight': '#666666',
    'total': '#1a1a1a',
    'external': '#cc4dcc',
    'damping': '#f2991a',
    'viscous': '#33b34d',
    'pressure': '#e64d1a',
    'suction': '#8033cc',
    'slamming': '#e61a80',
    'air': '#80ccf2',
}
"""Of wrenches that are no forces of the list, and of the kinds of drag."""
_UNKNOWN = '#999933'


def force_colour(name: str) -> tuple[float, float, float]:
    """Return red, green and blue (0 to 1) of a wrench."""
    text = FORCES[name].colour if name in FORCES else _FORCE_COLOURS.get(name, _UNKNOWN)
    r, g, b = (int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return r, g, b


def force_colours() -> dict[str, tuple[float, float, float]]:
    """Return the colours of all wrenches that are known by name."""
    return {name: force_colour(name) for name in (*FORCES, *_FORCE_COLOURS)}


# Telemetry frame of a run from rows of its topics, the same live and from a bag.

Row = Sequence[float]
RPM = 30 / math.pi
MAX_TETHER_POINTS = 64
"""Places of a tether that a page draws."""


def wrench_names(rows: Iterable[str]) -> list[str]:
    """Return the sources among names of topics that have a wrench; the total is none."""
    return [
        n.removeprefix('wrench/') for n in rows if n.startswith('wrench/') and n[7:] != 'total'
    ]


def _clean(values: Iterable[float]) -> list[float | None]:
    """Return numbers for JSON, which has no NaN."""
    return [float(x) if math.isfinite(x) else None for x in values]


def _motion(row: Row) -> dict[str, Any]:
    numbers = np.array(row, float)
    position, orientation, velocity = numbers[:3], numbers[3:7], numbers[7:]
    known = np.isfinite(orientation).all()
    return {
        'position': _clean(position),
        'turn': _clean(orientation),
        'rpy': _clean(rpy_from_quaternion(orientation)) if known else [None] * 3,
        'velocity': _clean(level_velocity(orientation, velocity)) if known else [None] * 3,
        'rates': _clean(velocity[3:]),
    }


def _thrusters(time: float, rows: Mapping[str, Row], known: ThrusterSet | None) -> dict[str, Any]:
    state = rows.get('thrusters/state', ())
    half = len(state) // 2
    speeds = np.array(state[half:], float)
    angles = np.zeros(0)
    if known is not None and len(speeds) == len(known):
        angles = propeller_angles(known, speeds, time)
    return {
        'pwm': _clean(rows.get('thrusters/pwm', ())),
        'thrust': _clean(state[:half]),
        'rpm': _clean([x * RPM for x in state[half:]]),
        'power': _clean(rows.get('thrusters/power', ())),
        'propellers': angles.round(4).tolist(),
    }


def _forces(rows: Mapping[str, Row], weight: float) -> dict[str, Any]:
    """Return wrenches by source, and each one's share of the sum of all |F| at this time."""
    names = wrench_names(rows)
    sizes = {name: math.hypot(*rows[f'wrench/{name}'][:3]) for name in names}
    total = math.fsum(sizes.values())
    wrenches = {
        name: _clean(rows[f'wrench/{name}'])
        for name in (*names, 'total')
        if f'wrench/{name}' in rows
    }
    return {
        'wrenches': wrenches,
        'weight': weight,
        'shares': {n: size / total if total > 0 else 0.0 for n, size in sizes.items()},
    }


def _tether(rows: Mapping[str, Row]) -> dict[str, Any]:
    """Return at most MAX_TETHER_POINTS places along a tether in map, m; tension at its ends, N."""
    places = np.reshape(np.array(rows.get('tether/shape', ()), float), (-1, 3))
    if not np.isfinite(places).all():
        places = places[:0]
    chosen = (
        np.linspace(0, len(places) - 1, min(len(places), MAX_TETHER_POINTS)).round().astype(int)
    )
    return {
        'shape': places[chosen].round(3).tolist(),
        'tension': _clean(rows.get('tether/tension', ())),
    }


def _bodies(rows: Mapping[str, Row]) -> dict[str, list[float | None]]:
    """Return position, m, and quaternion of the free bodies by name."""
    ends = len(BODIES), -len('/odom')
    return {
        topic[slice(*ends)]: _clean(row[:7])
        for topic, row in rows.items()
        if topic.startswith(BODIES)
    }


def actuator_readings(rows: Mapping[str, Row], vehicle: Vehicle) -> list[dict[str, str]]:
    """Return key, label and state in words of each part of a vehicle's actuators; JSON.

    Joints of an arm are left out: they have a panel of their own.
    """
    result = []
    for actuator in actuators_of(vehicle):
        if actuator_of(role_of(actuator.state_topic) or '') is not actuator:
            continue
        row, names = rows.get(actuator.state_topic, ()), actuator.names(vehicle)
        texts: list[list[str]] = [[] for _ in names]
        if len(row) == len(actuator.zero_state(vehicle)):
            for value, (part, unit) in zip(row, state_columns(actuator, len(row)), strict=True):
                texts[part].append(quantity_text(value, unit))
        result += [
            {
                'key': f'{actuator.name}-{i}',
                'label': name.replace('_', ' '),
                'text': ', '.join(text) or '–',
            }
            for i, (name, text) in enumerate(zip(names, texts, strict=True))
        ]
    return result


def telemetry_frame(
    time: float, rows: Mapping[str, Row], *, weight: float, vehicle: Vehicle | None = None
) -> dict[str, Any]:
    """Return the telemetry frame of a time (s) as JSON; unknown values are None or empty.

    Depth by the barometer is (p − p₀)/(ρ g), of its sensor.

    Args:
        time: s.
        rows: rows by topic name, as :mod:`marine_sim_ros.bags.roles` makes them.
        weight: weight of the vehicle, N.
        vehicle: the vehicle; None: it is unknown, and so are the angles of its propellers.
    """
    result: dict[str, Any] = {'time': time}
    if 'odom' in rows:
        result |= _motion(rows['odom'])
    thrusters = None if vehicle is None else vehicle.thrusters
    barometer = None if vehicle is None else vehicle.barometer
    result |= _thrusters(time, rows, thrusters) | _forces(rows, weight)
    result['setpoints'] = _clean(rows.get('controller/setpoints', ())) or [None] * 12
    result['joints'] = _clean(rows.get('joint_states', ()))
    result['tether'] = _tether(rows)
    result['bodies'] = _bodies(rows)
    result['actuators'] = [] if vehicle is None else actuator_readings(rows, vehicle)
    pressure = rows.get('barometer/pressure')
    result['pressure'] = None if pressure is None else float(pressure[0])
    if pressure is not None:
        surface = 101300.0 if barometer is None else barometer.atmospheric_pressure
        density = 997.0 if barometer is None else barometer.fluid_density
        depth = (float(pressure[0]) - surface) / (density * STANDARD_GRAVITY)
        result['barometer_depth'] = depth
    temperature = rows.get('barometer/temperature')
    result['temperature'] = None if temperature is None else float(temperature[0])
    return result


class Energy:
    """Electrical energy of a run, from samples: Σ P Δt, nothing over gaps longer than 2 s."""

    HOLD = 2.0

    def __init__(self) -> None:
        """Start at nothing."""
        self.joules = 0.0
        self._last: tuple[float, float] | None = None

    def add(self, time: float, power: Row) -> float:
        """Take the power (W) of the thrusters at a time (s); return the energy so far, J."""
        if self._last is not None:
            step = time - self._last[0]
            if step < 0:  # the run was reset
                self.joules = 0.0
            elif step <= self.HOLD:
                self.joules += self._last[1] * step
        self._last = time, math.fsum(x for x in power if math.isfinite(x))
        return self.joules


# Sensor rows of a page: reading, age, rate and health of each sensor.

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
