# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Logs of ArduPilot as bags: dataflash (.BIN) and telemetry (.tlog).

They become the topics ``ardusub/odom``, ``thrusters/pwm``, ``barometer/pressure`` and
``barometer/temperature``, with the time since the autopilot started as stamps. The odometry is
what its estimator says, turned from north-east-down into our axes.

Source: ArduPilot, libraries/AP_NavEKF3/LogStructure.h, AP_Logger; MAVLink common messages.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from marine_sim_ros.bags.storage import BagReader, Connection
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.stamps import NANOSECONDS

__all__ = ['SUFFIXES', 'opened_log']

SUFFIXES = ('.bin', '.tlog')
_VEHICLE = 'ardusub'
_MOTORS = range(33, 41)
"""SERVOn_FUNCTION of motors 1 to 8."""
_TYPES = {
    'odom': 'nav_msgs/msg/Odometry',
    'thrusters/pwm': 'std_msgs/msg/UInt16MultiArray',
    'barometer/pressure': 'sensor_msgs/msg/FluidPressure',
    'barometer/temperature': 'sensor_msgs/msg/Temperature',
}
_NAN = math.nan
Row = tuple[float, ...]
Timed = tuple[int, int, Row]
"""Times of receipt and of measurement, ns, and the numbers."""


class _Rows:
    """Rows by topic, each with its times of receipt and of measurement, ns."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Timed]] = {}
        self.baro: dict[int, list[Timed]] = {}
        self.functions: dict[int, int] = {}
        self.rates: Row = (_NAN,) * 3

    def add(self, topic: str, receipt: int, stamp: int, row: Row) -> None:
        """Take a row of a topic."""
        self.rows.setdefault(topic, []).append((receipt, stamp, row))

    def parameter(self, name: str, value: float) -> None:
        """Take a parameter."""
        if name.startswith('SERVO') and name.endswith('_FUNCTION') and math.isfinite(value):
            with contextlib.suppress(ValueError):
                self.functions[int(name[5:-9])] = int(value)

    def odometry(self, receipt: int, stamp: int, place: Row, velocity: Row, rpy: Row) -> None:
        """Take place (m), velocity (m/s) in north-east-down, and roll, pitch, yaw (rad) of it."""
        turn = np.asarray(quaternion_from_rpy(rpy[0], -rpy[1], math.pi / 2 - rpy[2]))
        over_ground = np.array([velocity[1], velocity[0], -velocity[2]])
        body = rotation_matrix(turn).T @ over_ground
        p, q, r = self.rates
        row = (place[1], place[0], -place[2], *turn, *body, p, -q, -r)
        self.add('odom', receipt, stamp, tuple(float(x) for x in row))

    def finished(self) -> dict[str, list[Timed]]:
        """Return the rows of every topic; of several barometers that which moves most."""
        result = dict(self.rows)
        if 'thrusters/pwm' in result:
            result['thrusters/pwm'] = self._motors(result['thrusters/pwm'])
        if self.baro:
            span = {i: np.ptp([row[0] for *_, row in rows]) for i, rows in self.baro.items()}
            rows = self.baro[max(span, key=lambda i: span[i])]
            for i, name in enumerate(('pressure', 'temperature')):
                result[f'barometer/{name}'] = [(r, s, (row[i],)) for r, s, row in rows]
        return result

    def _motors(self, rows: list[Timed]) -> list[Timed]:
        """Return the pulses of the thrusters: by SERVOn_FUNCTION, else the first with a pulse."""
        known = sorted((f, n - 1) for n, f in self.functions.items() if f in _MOTORS)
        columns = [column for _, column in known]
        if not columns:
            first = rows[0][2][:8]
            columns = [i for i in range(len(first)) if all(pulse > 0 for pulse in first[: i + 1])]
        return [(r, s, tuple(row[i] for i in columns if i < len(row))) for r, s, row in rows]


def _dataflash(path: Path) -> _Rows:
    """Return what a dataflash log has; its times are those since the autopilot started."""
    reader = require('pymavlink.DFReader', f'{path}: a log of ArduPilot')
    log = reader.DFReader_binary(str(path), zero_time_base=True)
    rows = _Rows()
    estimators = ('XKF1', 'NKF1')
    kinds = {'PARM', 'IMU', 'BARO', 'RCOU', *estimators}
    used: tuple[str, int] | None = None
    while (m := log.recv_match(type=kinds)) is not None:
        kind, stamp = m.get_type(), int(m.TimeUS) * 1000
        if kind == 'PARM':
            rows.parameter(m.Name, float(m.Value))
        elif kind == 'IMU':
            if not getattr(m, 'I', 0):
                rows.rates = (m.GyrX, m.GyrY, m.GyrZ)
        elif kind == 'BARO':
            row = (float(m.Press), float(m.Temp))
            rows.baro.setdefault(getattr(m, 'I', 0), []).append((stamp, stamp, row))
        elif kind == 'RCOU':
            outputs = tuple(float(getattr(m, f'C{i}', 0)) for i in range(1, 15))
            rows.add('thrusters/pwm', stamp, stamp, outputs)
        else:
            core = (kind, getattr(m, 'C', 0))
            used = used or core  # the first estimator and core of the log
            if core == used:
                angles = tuple(math.radians(x) for x in (m.Roll, m.Pitch, m.Yaw))
                rows.odometry(stamp, stamp, (m.PN, m.PE, m.PD), (m.VN, m.VE, m.VD), angles)
    return rows


_PRESSURES = ('SCALED_PRESSURE', 'SCALED_PRESSURE2', 'SCALED_PRESSURE3')
_OTHERS = ('ATTITUDE', 'LOCAL_POSITION_NED', 'GLOBAL_POSITION_INT', 'SERVO_OUTPUT_RAW',
           'PARAM_VALUE')  # fmt: skip


class _Telemetry:
    """Takes the MAVLink messages of one vehicle, as they were received."""

    def __init__(self) -> None:
        self.rows = _Rows()
        self._height = _NAN
        self._attitudes: list[tuple[int, int, Row, Row, float]] = []

    def take(self, m: Any, receipt: int) -> None:
        """Take a message, received at a time in ns."""
        kind = m.get_type()
        stamp = int(getattr(m, 'time_boot_ms', 0)) * 1_000_000
        if kind == 'PARAM_VALUE':
            self.rows.parameter(m.param_id, float(m.param_value))
        elif kind == 'GLOBAL_POSITION_INT':
            self._height = m.relative_alt / 1000
        elif kind == 'SERVO_OUTPUT_RAW' and not m.port:
            # Its own time starts again after 71 minutes: that of receipt counts.
            outputs = tuple(float(getattr(m, f'servo{i}_raw', 0)) for i in range(1, 17))
            self.rows.add('thrusters/pwm', receipt, receipt, outputs)
        elif kind in _PRESSURES:
            row = (100.0 * m.press_abs, 0.01 * m.temperature)
            rows = self.rows.baro.setdefault(_PRESSURES.index(kind), [])
            rows.append((receipt, stamp, row))
        elif kind == 'ATTITUDE':
            self.rows.rates = (m.rollspeed, m.pitchspeed, m.yawspeed)
            angles = (m.roll, m.pitch, m.yaw)
            self._attitudes.append((receipt, stamp, angles, self.rows.rates, self._height))
        elif kind == 'LOCAL_POSITION_NED' and self._attitudes:
            place, velocity = (m.x, m.y, m.z), (m.vx, m.vy, m.vz)
            self.rows.odometry(receipt, stamp, place, velocity, self._attitudes[-1][2])

    def finished(self) -> _Rows:
        """Return the rows; without a position: attitude, and height where it is known."""
        if 'odom' not in self.rows.rows:
            for receipt, stamp, angles, rates, up in self._attitudes:
                self.rows.rates = rates
                self.rows.odometry(receipt, stamp, (_NAN, _NAN, -up), (_NAN,) * 3, angles)
        return self.rows


def _telemetry(path: Path) -> _Rows:
    """Return what a telemetry log has of the first vehicle in it."""
    mavutil = require('pymavlink.mavutil', f'{path}: a log of ArduPilot')
    log = mavutil.mavlogfile(str(path))
    found = _Telemetry()
    system: int | None = None
    while (m := log.recv_match(type=[*_OTHERS, *_PRESSURES])) is not None:
        system = m.get_srcSystem() if system is None else system
        if m.get_srcSystem() == system:
            found.take(m, round(m._timestamp * 1e6) * 1000)  # its name in pymavlink
    return found.finished()


def _stamp(stamp: int) -> Any:
    time = SimpleNamespace(sec=stamp // NANOSECONDS, nanosec=stamp % NANOSECONDS)
    return SimpleNamespace(stamp=time, frame_id='map')


def _xyz(values: Iterable[float]) -> Any:
    return SimpleNamespace(**dict(zip('xyzw', values, strict=False)))


def _odom(stamp: int, row: Row) -> Any:
    pose = SimpleNamespace(position=_xyz(row[:3]), orientation=_xyz(row[3:7]))
    twist = SimpleNamespace(linear=_xyz(row[7:10]), angular=_xyz(row[10:13]))
    return SimpleNamespace(
        header=_stamp(stamp),
        child_frame_id='base_link',
        pose=SimpleNamespace(pose=pose),
        twist=SimpleNamespace(twist=twist),
    )


_MESSAGES: dict[str, Callable[[int, Row], Any]] = {
    'odom': _odom,
    'thrusters/pwm': lambda stamp, row: SimpleNamespace(data=row),
    'barometer/pressure': lambda stamp, row: SimpleNamespace(
        header=_stamp(stamp), fluid_pressure=row[0], variance=0.0
    ),
    'barometer/temperature': lambda stamp, row: SimpleNamespace(
        header=_stamp(stamp), temperature=row[0], variance=0.0
    ),
}


@dataclass
class _Log:
    """A :class:`~marine_sim_ros.bags.storage.BagReader` of rows."""

    connections: Any
    message_count: int
    start_time: int
    end_time: int
    rows: list[tuple[Connection, Timed]]

    def messages(
        self, connections: Iterable[Any] = (), start: int | None = None, stop: int | None = None
    ) -> Iterator[tuple[Any, int, Any]]:
        """Yield connection, time and what :meth:`deserialize` takes."""
        wanted = {c.topic for c in connections or self.connections}
        for connection, (receipt, stamp, row) in self.rows:
            inside = (start is None or receipt >= start) and (stop is None or receipt < stop)
            if inside and connection.topic in wanted:
                name = connection.topic.removeprefix(f'/{_VEHICLE}/')
                yield connection, receipt, _MESSAGES[name](stamp, row)

    @staticmethod
    def deserialize(data: Any, message_type: str) -> Any:
        """Return the message."""
        del message_type
        return data


@contextmanager
def opened_log(path: Path, text: str) -> Iterator[BagReader]:
    """Open a log; its rows are in memory.

    Raises:
        RecordingError: nothing of it is a vehicle's.
    """
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        read = _telemetry(path) if path.suffix.lower() == '.tlog' else _dataflash(path)
    found = read.finished()
    if not found:
        raise RecordingError(
            f'{text}: has no message of a vehicle; expected XKF1, RCOU or BARO of a .BIN, '
            'ATTITUDE, LOCAL_POSITION_NED or SERVO_OUTPUT_RAW of a .tlog'
        )
    connections = {
        name: Connection(f'/{_VEHICLE}/{name}', _TYPES[name], len(rows))
        for name, rows in found.items()
    }
    rows = [(connections[name], row) for name, part in found.items() for row in part]
    rows.sort(key=lambda row: row[1][0])
    ends = rows[0][1][0], rows[-1][1][0]
    yield _Log(list(connections.values()), len(rows), *ends, rows)
