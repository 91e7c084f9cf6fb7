# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contents of a bag at any time, sensors included, for a page with a time slider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.bags.description import (
    described_environment,
    described_vehicle,
    recorded_parameters,
)
from marine_sim_ros.bags.metrics import bag_metrics, vehicle_metrics
from marine_sim_ros.bags.reading import Bag, bag_path, damage_as_error, open_bag, read_bag
from marine_sim_ros.bags.roles import DISPLAY_TOPICS, accepted_types, row_converter
from marine_sim_ros.bags.series import MAX_HOLD
from marine_sim_ros.bags.vehicle_record import (
    ODOM_QUANTITIES,
    Channel,
    VehicleRecord,
    check_maps,
    is_body,
    vehicles_of,
)
from marine_sim_ros.console.lesson_record import LessonRecord, read_compared_run
from marine_sim_ros.console.pilot_readings import pilot_readings, pilot_topics
from marine_sim_ros.console.telemetry import (
    SensorRow,
    SensorRows,
    force_colours,
    telemetry_frame,
    wrench_names,
)
from marine_sim_ros.console.visuals import (
    base64_floats,
    chart_visuals,
    scenario_waypoints,
    scene_visuals,
    vehicle_visuals,
)
from marine_sim_ros.core.errors import MarineSimError, RecordingError
from marine_sim_ros.core.state import NANOSECONDS, header_stamp
from marine_sim_ros.environment.environment import STANDARD_GRAVITY, Environment
from marine_sim_ros.model.free_bodies import BODIES
from marine_sim_ros.model.library import load_vehicle, vehicle_names
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors import SENSORS, SensorTopic
from marine_sim_ros.sim.scenario import SCENARIOS, load_scenario

__all__ = ['Replay']


# Sensors of a bag at any time, as a page of a running graph would show them.

WINDOW = (4.0, 7.0)
"""s, and periods of the sensor, before a time in which its messages count: whichever is longer.
Older ones are those of a silent sensor."""


class ReplayedSensors:
    """The sensors of a vehicle of which a bag has a topic."""

    def __init__(self, reader: Any, vehicle: Vehicle, namespace: str) -> None:
        """Find the topics.

        Args:
            reader: opened bag (rosbags AnyReader); only one thread may read it at a time.
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

    def _new_rows(self) -> SensorRows:
        return SensorRows((sensor, topics.values()) for sensor, topics in self._known)

    def scenery(self) -> list[dict[str, Any]]:
        """Return the constant parts of each sensor's drawing; JSON."""
        return self._new_rows().scenery()

    def look(self, stop: int, now: float) -> tuple[list[dict[str, Any]], Mapping[str, bytes]]:
        """Return rows (JSON) and pictures of the sensors at a time.

        Args:
            stop: receipt of the last message that counts, ns.
            now: stamp of the run then, s.
        """
        rows = self._new_rows()
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


# Contents of a bag at any time, without reading the whole bag.

REACH = (0.1, 1.0, 10.0)
"""Search windows for the newest message of a topic, tried in this order, s."""
POINTS = 400
"""Points of a curve."""
EVERY = 0.1
"""Initial interval of the stored energies, s."""
ENERGIES = 40_000
"""Maximum number of stored energies; beyond it every second one is dropped."""


class _Energies:
    """Takes every row of a bag's power and keeps the sum up to it, a few a second."""

    def __init__(self) -> None:
        self.time: list[float] = [-np.inf]
        self.joules: list[float] = [0.0]
        self._sum = 0.0
        self._every = EVERY
        self._last: tuple[float, float] | None = None

    def __call__(
        self, channel: Channel, stamps: np.ndarray, receipts: np.ndarray, rows: np.ndarray
    ) -> None:
        """Add Σ P Δt of a block of rows, as ``analyze`` does."""
        del receipts
        if channel.role != 'power':
            return
        for time, power in zip(stamps / NANOSECONDS, np.nansum(rows, axis=1), strict=True):
            if self._last is not None and 0 < time - self._last[0] <= MAX_HOLD:
                self._sum += self._last[1] * (time - self._last[0])
            self._last = float(time), float(power)
            if time - self.time[-1] >= self._every:
                self.time.append(float(time))
                self.joules.append(self._sum)
        if len(self.time) > ENERGIES:
            self.time, self.joules, self._every = self.time[::2], self.joules[::2], 2 * self._every

    def at(self, time: float) -> float | None:
        """Return the energy up to a stamp (s), J; None where no power was recorded."""
        if self._last is None:
            return None
        if time >= self._last[0]:
            return self._sum
        return float(np.interp(time, self.time[1:], self.joules[1:]))


class Replay:
    """A vehicle of a bag.

    Attributes:
        scenery: constant data: vehicle visuals, scene visuals.
        duration: time from the receipt of the first odometry to that of the last message, s.
        progress: share of the bag that has been read once, for curves and sums.
        bag: what was read of it, or None so far.
        lesson: its score, marks and sticks.
    """

    def __init__(
        self,
        text: str,
        *,
        vehicle: str = '',
        environment: str = '',
        namespace: str = '',
        maps: Mapping[str, str] | None = None,
        compare: Sequence[str] = (),
    ) -> None:
        """Open a bag.

        Args:
            text: path of a bag, of a recording's folder, or of a file.
            vehicle: shipped name or file; default: the recorded one, or the namespace's.
            environment: shipped name or file; default: the recorded one.
            namespace: namespace of the vehicle; default: the only one, or the first.
            maps: topics under other names, as ``parse_maps`` gives them.
            compare: other recordings of the same lesson.

        Raises:
            MarineSimError: the bag, the vehicle or the environment cannot be used.
        """
        self._text, self._maps = text, maps or {}
        compared = tuple(map(read_compared_run, compare))
        path = bag_path(text)
        self._stack = ExitStack()
        self._reader = self._stack.enter_context(open_bag(path, text))
        self._lock = threading.Lock()
        with damage_as_error(text):
            self._open(text, path, vehicle, environment, namespace)
        self.lesson = LessonRecord(text, self.name, self._zero, compared)
        self.scenery['mission'] = self.lesson.scenery()
        self.scenery['compared'] = [
            {'name': run.label, 'line': base64_floats(run.path)} for run in compared
        ]

    def _open(self, text: str, path: Path, vehicle: str, environment: str, namespace: str) -> None:
        """Read the constant data."""
        self._first, self._end = int(self._reader.start_time), int(self._reader.end_time)
        self.name, vehicles = self._vehicles(namespace)
        record = vehicles[self.name]
        alone = sum(not is_body(name) for name in vehicles) == 1
        settings = recorded_parameters(path, self.name, alone=alone)
        self.vehicle = _vehicle(vehicle, text, self.name, settings)
        around = described_environment(settings, environment)
        self._weight = self.vehicle.inertia.mass * (around.gravity or STANDARD_GRAVITY)
        self._topics = (
            {c.topic: (c.name, row_converter(c.role, c.type)) for c in record.channels.values()}
            | self._shown_topics()
            | self._body_topics(around)
            | self._overlay_topics()
        )
        self._connections = [c for c in self._reader.connections if c.topic in self._topics]
        self._start, self._zero = self._first_odom()
        self.duration = (self._end - self._start) / NANOSECONDS
        heard = {c.topic for c in self._connections if c.msgcount}
        self.scenery: dict[str, Any] = {
            'look': vehicle_visuals(self.vehicle),
            'around': scene_visuals(around),
            'chart': chart_visuals(around, _waypoints(settings, around)),
            'colours': force_colours(),
            'start': 0.0,
            'end': self.duration,
            'recorded': sorted(self._topics[topic][0] for topic in heard),
            'sources': wrench_names(c.name for c in record.channels.values() if c.topic in heard),
        }
        self._sensors = ReplayedSensors(self._reader, self.vehicle, self.name)
        self.scenery['sensors'] = self._sensors.scenery()
        self._pictures: tuple[float, Mapping[str, bytes]] = (-1.0, {})
        self.progress = 0.0
        self.bag: Bag | None = None
        self.failed = ''
        self._energies = _Energies()

    def _vehicles(self, namespace: str) -> tuple[str, dict[str, VehicleRecord]]:
        """Return the namespace of the shown vehicle, and all vehicles by theirs."""
        topics = {c.topic: c.msgtype for c in self._reader.connections}
        check_maps(self._maps, topics)
        vehicles = vehicles_of(topics, self._maps, self._text)
        wanted = namespace.strip('/')
        known = ', '.join(vehicles) or 'none'
        if not vehicles or (wanted and wanted not in vehicles):
            raise RecordingError(f'{self._text}: has no vehicle {wanted!r}; it has {known}')
        return wanted or next(iter(vehicles)), vehicles

    def _shown_topics(self) -> dict[str, tuple[str, Callable[[Any], Any]]]:
        """Return name and reader by topic of what a page shows beside the channels."""
        ours = {f'{self.name}/{name}': name for name in DISPLAY_TOPICS}
        return {
            c.topic: (name, row_converter(DISPLAY_TOPICS[name], c.msgtype))
            for c in self._reader.connections
            if (name := ours.get(c.topic.lstrip('/')))
            and c.msgtype in accepted_types(DISPLAY_TOPICS[name])
        }

    def _body_topics(self, around: Environment) -> dict[str, tuple[str, Callable[[Any], Any]]]:
        """Return name and reader by topic of the odometry of free bodies."""
        known = {f'{BODIES}{body.name}/odom' for body in around.free_bodies}
        return {
            c.topic: (c.topic, row_converter('odom', c.msgtype))
            for c in self._reader.connections
            if c.topic in known and c.msgtype in accepted_types('odom')
        }

    def _overlay_topics(self) -> dict[str, tuple[str, Callable[[Any], Any]]]:
        """Return name and reader by topic of what the overlay shows of the sensors."""
        types = {c.topic: c.msgtype for c in self._reader.connections}
        return {
            full: (f'{sensor.name}/{topic}', numbers)
            for sensor, topic, kind, numbers in pilot_topics(self.vehicle)
            if types.get(full := f'/{self.name}/{sensor.name}/{topic}') == kind
        }

    def _first_odom(self) -> tuple[int, float]:
        """Return receipt (ns) and stamp (s) of the first odometry: times are shown since then.

        A recording that begins under way has older messages, such as a description.
        """
        for receipt, name, data in self._messages(self._first, self._end):
            if name == 'odom':
                return receipt, _header(data()) or 0.0
        return self._first, 0.0

    def _messages(self, start: int, stop: int) -> Iterator[tuple[int, str, Any]]:
        """Yield receipt, our name and a reader of each message from start up to stop (ns)."""
        for connection, receipt, data in self._reader.messages(
            self._connections, start=start, stop=stop + 1
        ):
            yield receipt, self._topics[connection.topic][0], self._lazy(connection, data)

    def _lazy(self, connection: Any, data: bytes) -> Callable[[], Any]:
        return lambda: self._reader.deserialize(data, connection.msgtype)

    def read_once(self) -> None:
        """Read the whole bag for curves and sums, in memory that its length does not change."""

        def report(share: float) -> None:
            self.progress = share

        try:
            self.lesson.read_events()
            self.bag = read_bag(self._text, maps=self._maps, rows=self._sink, progress=report)
        except MarineSimError as error:
            self.failed = str(error)
        self.progress = 1.0

    def _sink(self, record: VehicleRecord) -> _Energies | None:
        return self._energies if record.name == self.name else None

    def _receipt(self, time: float) -> int:
        """Return the receipt of the last message up to a time since the start (s), ns."""
        return self._start + round(min(max(time, 0.0), self.duration) * NANOSECONDS)

    def sensors(self, time: float) -> list[dict[str, Any]]:
        """Return the rows of the sensors at a time since the start (s).

        Raises:
            RecordingError: the bag is damaged there.
        """
        now = self.telemetry_frame(time)['time'] + self._zero
        with self._lock, damage_as_error(self._text):
            rows, pictures = self._sensors.look(self._receipt(time), now)
        self._pictures = (time, pictures)
        return rows

    def picture(self, name: str, time: float) -> bytes | None:
        """Return the picture of a sonar at a time since the start (s): one byte for each pixel."""
        shown, pictures = self._pictures
        if shown != time:  # another page looks at another time
            self.sensors(time)
            _, pictures = self._pictures
        return pictures.get(name)

    def telemetry_frame(self, time: float) -> dict[str, Any]:
        """Return the frame of a page at a time since the start (s): the newest of every topic.

        Raises:
            RecordingError: the bag is damaged there.
        """
        with damage_as_error(self._text):
            return self._frame(time)

    def _frame(self, time: float) -> dict[str, Any]:
        stop = self._receipt(time)
        newest: dict[str, Callable[[], Any]] = {}
        with self._lock:
            late = stop
            for reach in REACH:
                early = max(self._first, stop - round(reach * NANOSECONDS))
                older: dict[str, Callable[[], Any]] = {}
                for _, name, data in self._messages(early, late):
                    older[name] = data
                newest = {**older, **newest}
                late = early - 1
                if len(newest) == len(self._topics) or early == self._first:
                    break
            messages = {name: data() for name, data in newest.items()}
        rows = {
            name: numbers(messages[name])
            for name, numbers in self._topics.values()
            if name in messages
        }
        odom = messages.get('odom')
        stamp = None if odom is None else _header(odom)
        now = time if stamp is None else stamp
        found = telemetry_frame(now - self._zero, rows, weight=self._weight, vehicle=self.vehicle)
        found |= pilot_readings(rows, self.vehicle, now)
        found['mission'] = {'tasks': self.lesson.states(found['time'])}
        found['energy'] = self._energies.at(now) if self.bag is not None else None
        return found

    def history(self, until: float, window: float) -> list[dict[str, Any]]:
        """Return telemetry frames for curves, of a window (s) up to a shown time (s)."""
        record = None if self.bag is None else self.bag.vehicles.get(self.name)
        if record is None or (odom := record.get('odom')) is None:
            return []
        start = until + self._zero - window
        rows, time = odom.rows, odom.time
        first, last = np.searchsorted(time, (start, until + self._zero + 1e-6))
        chosen = np.arange(first, last, max(1, (last - first) // POINTS))
        goals = record.get('controller/setpoints')
        return [
            _past_frame(float(time[i]) - self._zero, rows[i], _newest_row(goals, float(time[i])))
            for i in chosen
        ]

    def overview(self) -> dict[str, Any]:
        """Return the progress of reading the bag, and then the results of ``analyze``."""
        if self.bag is None:
            return {'progress': self.progress, 'failed': self.failed}
        record = self.bag.vehicles[self.name]
        return {
            'progress': 1.0,
            'failed': '',
            'bag': bag_metrics(self.bag),
            'vehicle': vehicle_metrics(record, self.vehicle),
        }

    def close(self) -> None:
        """Close the bag."""
        self._stack.close()


def _vehicle(wanted: str, text: str, namespace: str, settings: dict[str, Any]) -> Vehicle:
    """Return the wanted vehicle, else the recorded one."""
    last = namespace.rsplit('/', 1)[-1]
    found = None if wanted else described_vehicle(text, namespace, settings)
    if found is not None:
        return found
    source = wanted or (last if last in vehicle_names() else '')
    if not source:
        raise RecordingError(
            f'the bag does not say which vehicle {namespace!r} is; expected --vehicle, one of: '
            + ', '.join(vehicle_names())
        )
    return load_vehicle(source)


def _waypoints(
    settings: Mapping[str, Any], environment: Environment
) -> list[tuple[str, list[float]]]:
    """Return the waypoints of a recorded scenario that ships: no path of a recording is read."""
    name = settings.get('scenario')
    if name not in SCENARIOS.names():
        return []
    try:
        return scenario_waypoints(load_scenario(name).located(environment))
    except MarineSimError:
        return []


def _header(message: Any) -> float | None:
    header = getattr(message, 'header', None)
    if header is None:
        return None
    return float(header.stamp.sec + header.stamp.nanosec / NANOSECONDS)


def _newest_row(series: Any, time: float) -> list[float | None]:
    if series is None:
        return [None] * 12
    i = int(np.searchsorted(series.time, time + 1e-6)) - 1
    if i < 0:
        return [None] * 12
    return [float(x) if np.isfinite(x) else None for x in series.rows[i]]


def _past_frame(time: float, row: np.ndarray, goals: list[float | None]) -> dict[str, Any]:
    values = {
        n: float(v) if np.isfinite(v) else None for n, v in zip(ODOM_QUANTITIES, row, strict=True)
    }

    def values_of(*names: str) -> list[float | None]:
        return [values[n] for n in names]

    angles = [
        None if a is None else float(np.remainder(a + np.pi, 2 * np.pi) - np.pi)
        for a in values_of('roll', 'pitch', 'yaw')
    ]
    return {
        'time': time,
        'position': values_of('x', 'y', 'z'),
        'rpy': angles,
        'velocity': values_of('ahead', 'port', 'up'),
        'rates': values_of('roll_rate', 'pitch_rate', 'yaw_rate'),
        'setpoints': goals,
    }
