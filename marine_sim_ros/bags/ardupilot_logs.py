# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Logs of ArduPilot as bags: dataflash (.BIN) and telemetry (.tlog).

They become the topics ``ardusub/odom``, ``thrusters/pwm``, ``barometer/pressure`` and
``barometer/temperature``, with the time since the autopilot started as stamps.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from marine_sim_ros.bags.autopilot_rows import AutopilotRows, Row, Timed, parameters_beside
from marine_sim_ros.bags.storage import BagReader, Connection
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.stamps import NANOSECONDS

__all__ = ['SUFFIXES', 'opened_log']

SUFFIXES = ('.bin', '.tlog')
_VEHICLE = 'ardusub'
_TYPES = {
    'odom': 'nav_msgs/msg/Odometry',
    'thrusters/pwm': 'std_msgs/msg/UInt16MultiArray',
    'barometer/pressure': 'sensor_msgs/msg/FluidPressure',
    'barometer/temperature': 'sensor_msgs/msg/Temperature',
}
_ESTIMATORS = {'XKF': 3, 'NKF': 2}
"""Beginning of an estimator's messages -> its number in the logs."""


class _Dataflash:
    """Takes the messages of a dataflash log; times are those since the autopilot started."""

    KINDS = ('PARM', 'IMU', 'BARO', 'RCOU', 'ATT', 'CTUN', 'XKF1', 'NKF1', 'XKF4', 'NKF4')

    def __init__(self) -> None:
        self.rows = AutopilotRows()
        self._height = math.nan
        self._attitudes: list[Timed] = []
        self._active: Counter[int] = Counter()
        self._primary: Counter[tuple[str, int]] = Counter()
        self._cores: dict[tuple[str, int], AutopilotRows] = defaultdict(AutopilotRows)

    def take(self, m: Any) -> None:
        """Take a message of one of the kinds."""
        kind = m.get_type()
        if kind == 'PARM':
            self.rows.parameters[m.Name] = float(m.Value)
            return
        stamp = int(m.TimeUS) * 1000
        if kind.endswith(('1', '4')):
            core = kind[:3], int(getattr(m, 'C', 0))
            self._estimate(m, stamp, self._cores[core])
            if kind.endswith('4'):
                self._primary[core[0], int(getattr(m, 'PI', 0))] += 1
        elif kind in ('ATT', 'CTUN'):
            self._plain(m, stamp)
        else:
            self._measured(m, stamp)

    def _measured(self, m: Any, stamp: int) -> None:
        kind, number = m.get_type(), int(getattr(m, 'I', 0))
        if kind == 'RCOU':
            outputs = tuple(float(getattr(m, f'C{i}', 0)) for i in range(1, 15))
            self.rows.outputs.append((stamp, stamp, outputs))
        elif kind == 'BARO':
            barometer = self.rows.barometers.setdefault(number, [])
            barometer.append((stamp, stamp, (float(m.Press), float(m.Temp))))
        elif not number:
            self.rows.rates.append((stamp, stamp, (m.GyrX, m.GyrY, m.GyrZ)))

    def _plain(self, m: Any, stamp: int) -> None:
        """Take attitude and height of a log in which no estimator is."""
        if m.get_type() == 'CTUN':
            self._height = float(m.Alt)
            return
        self._active[int(getattr(m, 'AEKF', 0))] += 1
        row = (*_radians(m.Roll, m.Pitch, m.Yaw), self._height)
        self._attitudes.append((stamp, stamp, row))

    @staticmethod
    def _estimate(m: Any, stamp: int, core: AutopilotRows) -> None:
        if m.get_type().endswith('4'):
            core.status.append((stamp, stamp, (float(int(m.SS) & 0xFFFF),)))
            return
        bias = _radians(*(getattr(m, f'G{axis}', 0.0) for axis in 'XYZ'))
        numbers = (m.PN, m.PE, m.PD, m.VN, m.VE, m.VD, *bias)
        core.estimates.append((stamp, stamp, numbers))
        core.attitudes.append((stamp, stamp, (*_radians(m.Roll, m.Pitch, m.Yaw), -m.PD)))

    def finished(self) -> AutopilotRows:
        """Return the rows: those of the estimator that flew the vehicle and its primary core."""
        cores = [core for core, found in self._cores.items() if found.estimates]
        if not cores:
            self.rows.attitudes = self._attitudes
            return self.rows
        best = max(cores, key=lambda c: (self._active[_ESTIMATORS[c[0]]], self._primary[c]))
        found = self._cores[best]
        self.rows.source = f'{best[0]}1, core {best[1]}'
        self.rows.estimates, self.rows.attitudes = found.estimates, found.attitudes
        self.rows.status = found.status
        return self.rows


def _dataflash(path: Path) -> AutopilotRows:
    reader = require('pymavlink.DFReader', f'{path}: a log of ArduPilot')
    log = reader.DFReader_binary(str(path), zero_time_base=True)
    found = _Dataflash()
    while (m := log.recv_match(type=set(found.KINDS))) is not None:
        found.take(m)
    return found.finished()


def _radians(*degrees: float) -> Row:
    return tuple(math.radians(x) for x in degrees)


_PRESSURES = ('SCALED_PRESSURE', 'SCALED_PRESSURE2', 'SCALED_PRESSURE3')
_OTHERS = (
    'ATTITUDE',
    'LOCAL_POSITION_NED',
    'GLOBAL_POSITION_INT',
    'SERVO_OUTPUT_RAW',
    'EKF_STATUS_REPORT',
    'PARAM_VALUE',
)


class _Telemetry:
    """Takes the MAVLink messages of one vehicle, as they were received."""

    def __init__(self) -> None:
        self.rows = AutopilotRows()
        self.rows.source = 'LOCAL_POSITION_NED, ATTITUDE'
        self._height = math.nan
        self._stamp = 0

    def take(self, m: Any, receipt: int) -> None:
        """Take a message, received at a time in ns."""
        kind, rows = m.get_type(), self.rows
        if boot := int(getattr(m, 'time_boot_ms', 0)):
            self._stamp = boot * 1_000_000
        stamp = self._stamp
        if kind == 'PARAM_VALUE':
            rows.parameters[m.param_id] = float(m.param_value)
        elif kind == 'GLOBAL_POSITION_INT':
            self._height = m.relative_alt / 1000
        elif kind == 'SERVO_OUTPUT_RAW' and not m.port:
            # Its own time starts again after 71 minutes: that of receipt counts.
            outputs = tuple(float(getattr(m, f'servo{i}_raw', 0)) for i in range(1, 17))
            rows.outputs.append((receipt, receipt, outputs))
        elif kind in _PRESSURES:
            row: Row = (100.0 * m.press_abs, 0.01 * m.temperature)
            barometer = rows.barometers.setdefault(_PRESSURES.index(kind), [])
            barometer.append((receipt, stamp, row))
        elif kind == 'EKF_STATUS_REPORT':  # it has no time: that of the message before
            rows.status.append((receipt, stamp, (float(m.flags),)))
        elif kind == 'ATTITUDE':
            row = (m.roll, m.pitch, m.yaw, self._height)
            rows.attitudes.append((receipt, stamp, row))
            rows.rates.append((receipt, stamp, (m.rollspeed, m.pitchspeed, m.yawspeed)))
        elif kind == 'LOCAL_POSITION_NED':
            row = (m.x, m.y, m.z, m.vx, m.vy, m.vz, 0.0, 0.0, 0.0)
            rows.estimates.append((receipt, stamp, row))


def _telemetry(path: Path) -> AutopilotRows:
    """Return what a telemetry log has of the first vehicle in it."""
    mavutil = require('pymavlink.mavutil', f'{path}: a log of ArduPilot')
    log = mavutil.mavlogfile(str(path))
    found = _Telemetry()
    system: int | None = None
    while (m := log.recv_match(type=[*_OTHERS, *_PRESSURES])) is not None:
        system = m.get_srcSystem() if system is None else system
        if m.get_srcSystem() == system:
            found.take(m, round(m._timestamp * 1e6) * 1000)  # its name in pymavlink
    return found.rows


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
    notes: tuple[str, ...]

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
    read.beside, more = parameters_beside(path)
    if read.parameters.keys() >= more.keys():
        read.beside = ''
    read.parameters = {**more, **read.parameters}
    found, notes = read.topics()
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
    yield _Log(list(connections.values()), len(rows), *ends, rows, notes)
