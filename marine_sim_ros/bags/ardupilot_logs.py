# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Logs of ArduPilot as bags: dataflash (.BIN) and telemetry (.tlog).

Sources: ArduPilot, libraries/AP_NavEKF3/LogStructure.h, AP_NavEKF/AP_Nav_Common.h, AP_Motors6DOF;
MAVLink common messages.

A log becomes the topics ``ardusub/odom``, ``thrusters/pwm``, ``barometer/pressure``,
``barometer/temperature``, ``autopilot/battery`` and ``autopilot/sticks``, with the time since the
autopilot started as stamps, and events: modes, messages, errors.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from marine_sim_ros.autopilot.conventions import enu, flu, flu_quaternion
from marine_sim_ros.bags.ardupilot_events import LogEvent, dataflash_event, mode_names, status_text
from marine_sim_ros.bags.storage import BagReader, Connection
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import MAX_TEXT_BYTES, read_file
from marine_sim_ros.core.spatial import continuous_quaternions, normalize, to_body, up_in_body
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.core.yaml_file import short_text
from marine_sim_ros.model.propellers import PWM_NEUTRAL

__all__ = [
    'LOG_SUFFIXES',
    'TimedRow',
    'body_velocity',
    'interpolate_samples',
    'open_log',
    'reader_of_rows',
]


# Contents of an ArduPilot log as rows of topics, in our axes and units.

LogRow = tuple[float, ...]
TimedRow = tuple[int, int, LogRow]
"""Times of receipt and of measurement, ns, and the numbers."""
_THROTTLES = {70: 1, 73: 1, 74: 2}
"""SERVOn_FUNCTION -> number of the thruster of a boat: only one, or port and starboard."""
_MOTORS = {
    **{f: f - 32 for f in range(33, 41)},
    **{f: f - 73 for f in range(82, 86)},
    **_THROTTLES,
}
"""SERVOn_FUNCTION -> number of the motor."""
_PULSES = (800.0, 2200.0)
"""µs; an output with another pulse width is off."""
_RESTART_OFFSET = 10**15
"""ns added to the stamps after a restart of the autopilot."""
_MAX_INTERPOLATION = 0.5 * NANOSECONDS
"""Maximum distance in time of interpolated samples, ns."""
_MIN_TILT_COSINE = 0.5
"""Cosine of the tilt below which heave cannot be derived from vertical speed."""
_VELOCITY, _RELATIVE, _ABSOLUTE, _CONSTANT = 1 << 1, 1 << 3, 1 << 4, 1 << 7
"""Bits of the estimator's status: horizontal velocity, position; the position is held constant."""


class AutopilotRows:
    """Numbers of a log's messages by quantity; rows with their times.

    Attributes:
        source: name of the estimator's message.
        estimates: position (m) and velocity (m/s), north east down, and the gyroscopes' bias
        (rad/s).
        attitudes: roll, pitch, yaw of the body (FRD) in north-east-down, rad, and height, m.
        rates: angular velocity, forward right down, rad/s.
        status: bits of the estimator's status.
        outputs: pulse widths of all outputs, µs.
        barometers: pressure (Pa) and temperature (°C) by the number of the barometer.
        battery: voltage (V) and current (A) of the first battery.
        sticks: pulse widths of the pilot's channels, µs.
        events: modes, messages and errors.
        parameters: values by name.
        parameter_file: name of the file with parameters that the log lacks; empty: none.
    """

    def __init__(self) -> None:
        """Start without rows."""
        self.source = self.parameter_file = ''
        self.estimates: list[TimedRow] = []
        self.attitudes: list[TimedRow] = []
        self.rates: list[TimedRow] = []
        self.status: list[TimedRow] = []
        self.outputs: list[TimedRow] = []
        self.barometers: dict[int, list[TimedRow]] = {}
        self.battery: list[TimedRow] = []
        self.sticks: list[TimedRow] = []
        self.events: list[LogEvent] = []
        self.parameters: dict[str, float] = {}

    def topics(self) -> tuple[dict[str, list[TimedRow]], tuple[str, ...]]:
        """Return the rows of every topic, and notes on assumed and missing data."""
        notes: list[str] = []
        topics: dict[str, list[TimedRow]] = {}
        if self.attitudes:
            topics['odom'] = self._odometry(notes)
        if self.outputs:
            topics['thrusters/pwm'] = self._thrusters(notes)
        if self.barometers:
            # Of several barometers the one in the water changes most.
            span = {i: np.ptp([r[0] for *_, r in rows]) for i, rows in self.barometers.items()}
            rows = self.barometers[max(span, key=lambda i: span[i])]
            for i, name in enumerate(('pressure', 'temperature')):
                topics[f'barometer/{name}'] = [(t, s, (row[i],)) for t, s, row in rows]
        for name, part in (('battery', self.battery), ('sticks', self.sticks)):
            if part:
                topics[f'autopilot/{name}'] = part
        return topics, (*notes, *self._missing_data_lines(topics))

    def _missing_data_lines(self, topics: Mapping[str, Any]) -> list[str]:
        """Return a line for everything that the log does not have."""
        kinds = {event.kind for event in self.events}
        present = {
            'motion (XKF1, NKF1 or ATT; ATTITUDE)': 'odom' in topics,
            'outputs to thrusters (RCOU; SERVO_OUTPUT_RAW)': 'thrusters/pwm' in topics,
            'pressure (BARO; SCALED_PRESSURE)': 'barometer/pressure' in topics,
            'battery (BAT; SYS_STATUS)': 'autopilot/battery' in topics,
            'sticks of the pilot (RCIN; RC_CHANNELS)': 'autopilot/sticks' in topics,
            'flight modes (MODE; HEARTBEAT)': 'mode' in kinds,
            'messages (MSG; STATUSTEXT)': 'message' in kinds,
        }
        return [f'the log has no {what}' for what, is_present in present.items() if not is_present]

    def _odometry(self, notes: list[str]) -> list[TimedRow]:
        """Return pose (ENU, FLU) and body velocity, at the times of the estimates."""
        rows = self.estimates or self.attitudes
        clock = _clock(rows)
        attitude = np.array([row for *_, row in self.attitudes])
        quaternions = continuous_quaternions(flu_quaternion(attitude[:, :3]))
        orientation = np.asarray(
            normalize(interpolate_samples(clock, _clock(self.attitudes), quaternions))
        )
        bias: np.ndarray | float = 0.0
        if self.estimates:
            estimate = np.array([row for *_, row in rows])
            position, velocity, bias = (
                enu(estimate[:, :3]),
                enu(estimate[:, 3:6]),
                estimate[:, 6:9],
            )
            notes.append(f'odom is what the estimator says ({self.source}), no measurement')
            self._mask_unobserved(clock, position, velocity, notes)
        else:
            up = attitude[:, 3:4]
            position = np.column_stack([np.full((len(up), 2), math.nan), up])
            velocity = np.full_like(position, math.nan)
            notes.append('odom has attitude and height alone: the log has no velocity')
        rates = np.full((len(rows), 3), math.nan)
        if self.rates:
            gyroscope = np.array([row for *_, row in self.rates])
            rates = flu(interpolate_samples(clock, _clock(self.rates), gyroscope) - bias)
        else:
            notes.append('odom has no turn rates: the log has no gyroscope')
        body = body_velocity(orientation, velocity)
        motion = np.column_stack([position, orientation, body, rates]).tolist()
        return [(r, s, tuple(row)) for (r, s, _), row in zip(rows, motion, strict=True)]

    def _mask_unobserved(
        self, clock: np.ndarray, position: np.ndarray, velocity: np.ndarray, notes: list[str]
    ) -> None:
        """Set horizontal positions and velocities to NaN where the estimator has no source."""
        if not self.status:
            notes.append(
                'no status of the estimator (XKF4, EKF_STATUS_REPORT): its horizontal velocity is '
                'taken as it is, also where it has nothing to tell it from'
            )
            return
        index = np.searchsorted(_clock(self.status), clock, side='right') - 1
        bits = np.array([int(row[0]) for *_, row in self.status])[np.maximum(index, 0)]
        is_constant = bits & _CONSTANT > 0
        no_velocity = (bits & _VELOCITY == 0) | is_constant
        velocity[no_velocity, :2] = math.nan
        position[(bits & (_RELATIVE | _ABSOLUTE) == 0) | is_constant, :2] = math.nan
        if no_velocity.any():
            percentage = f'{100 * no_velocity.mean():.0f} %'
            notes.append(
                f'the estimator does not know its horizontal velocity in {percentage} of the log '
                '(without GPS, DVL or another source): surge and sway are left out there, and '
                'heave is the vertical speed over the cosine of the tilt'
            )

    def _thrusters(self, notes: list[str]) -> list[TimedRow]:
        """Return the pulses of the thrusters, in the order of the motors.

        The autopilot mirrors the pulse of a motor with the direction −1 and of a reversed throttle
        about 1500 µs; this mirrors it back, to the pulse width of direction 1.
        """
        functions = {
            int(name[5:-9]): int(value)
            for name, value in self.parameters.items()
            if re.fullmatch(r'SERVO\d+_FUNCTION', name) and math.isfinite(value)
        }
        motors = sorted((_MOTORS[f], n - 1) for n, f in functions.items() if f in _MOTORS)
        if not motors:
            first = self.outputs[0][2][:8]
            count = next((i for i, pulse in enumerate(first) if pulse <= 0), len(first))
            motors = [(i + 1, i) for i in range(count)]
            notes.append(
                f'no SERVOn_FUNCTION of a motor: outputs 1 to {count} are taken for the motors'
            )
        columns = [column for _, column in motors]
        directions = [self._direction(motor, functions, column) for motor, column in motors]
        if not any(directions):
            notes.append(
                'no MOT_n_DIRECTION: all motors are taken to turn as the description has them'
            )
        elif min(directions) < 0:
            reversed_motors = [m for (m, _), d in zip(motors, directions, strict=True) if d < 0]
            notes.append(f'motors {", ".join(map(str, reversed_motors))} have the direction -1')
        if {functions.get(column + 1) for column in columns} <= _THROTTLES.keys():
            notes.append(
                'the outputs are the throttle of a boat (ArduRover): the port thruster is the '
                "first, as wamv's is"
            )
        if self.parameter_file:
            notes.append(
                f'parameters that the log does not have are those of {self.parameter_file}'
            )
        pulses = np.array([row for *_, row in self.outputs])[:, columns]
        mirrored = (np.array(directions) < 0) & (pulses >= _PULSES[0]) & (pulses <= _PULSES[1])
        widths = np.where(mirrored, 2 * PWM_NEUTRAL - pulses, pulses).tolist()
        return [(r, s, tuple(row)) for (r, s, _), row in zip(self.outputs, widths, strict=True)]

    def _direction(self, motor: int, functions: Mapping[int, int], column: int) -> float:
        """Return the direction 1 or −1 of a motor; 0: the log has none."""
        if functions.get(column + 1) in _THROTTLES:
            return -1.0 if self.parameters.get(f'SERVO{column + 1}_REVERSED', 0.0) else 1.0
        return self.parameters.get(f'MOT_{motor}_DIRECTION', 0.0)


def _clock(rows: list[TimedRow]) -> np.ndarray:
    """Return times (n,) in ns that increase across restarts of the autopilot."""
    stamps = np.array([stamp for _, stamp, _ in rows], float)
    restarts = np.diff(stamps, prepend=stamps[:1]) < -NANOSECONDS
    return np.asarray(stamps + _RESTART_OFFSET * np.cumsum(restarts))


def body_velocity(orientation: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return surge, sway and heave (n, 3) of velocities (n, 3) in map, m/s.

    Without a horizontal velocity, heave is the vertical speed over the cosine of the tilt, and
    the others are NaN.
    """
    body = np.array(to_body(orientation, velocity))
    vertical_only = np.isnan(velocity[:, 0])
    up = np.asarray(up_in_body(orientation))[vertical_only, 2]
    body[vertical_only, 2] = velocity[vertical_only, 2] / np.where(
        np.abs(up) < _MIN_TILT_COSINE, math.nan, up
    )
    return body


def interpolate_samples(at: np.ndarray, time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values (n, k) at times (n,); NaN farther than ``_MAX_INTERPOLATION`` from samples."""
    order = np.argsort(time, kind='stable')
    time, values = time[order], values[order]
    after = np.minimum(np.searchsorted(time, at), len(time) - 1)
    distance = np.minimum(np.abs(time[after] - at), np.abs(at - time[np.maximum(after - 1, 0)]))
    result = np.stack([np.interp(at, time, column) for column in values.T], axis=1)
    result[distance > _MAX_INTERPOLATION] = math.nan
    return result


_NAMED = re.compile(r'\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)[\s,;=]+([-+]?[0-9.][0-9.eE+-]*)')


def parameters_beside(path: Path) -> tuple[str, dict[str, float]]:
    """Return name and values of the parameter file beside a log; empty where there is none.

    It has the log's name and ends with .param, .params or .parm, as ground stations write it.

    Raises:
        RecordingError: one line with file, line and parameter: a value is no number.
    """
    for suffix in ('.param', '.params', '.parm'):
        file = path.with_suffix(suffix)
        if file.is_file():
            text = read_file(file, MAX_TEXT_BYTES, RecordingError).decode(errors='replace')
            return file.name, dict(_parameters(file, text))
    return '', {}


def _parameters(file: Path, text: str) -> Iterator[tuple[str, float]]:
    for number, line in enumerate(text.splitlines(), 1):
        match = _NAMED.search(line.partition('#')[0])
        if match is None:
            continue
        try:
            yield match[1], float(match[2])
        except ValueError:
            raise RecordingError(
                f'{file}:{number}: {match[1]} is {short_text(match[2])}; expected a number: '
                'correct it, or move the file away from the log'
            ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress pymavlink's messages about damaged bytes, also those of its indexer in C."""
    sys.stderr.flush()
    stderr, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(null)


# Logs of ArduPilot as bags: dataflash (.BIN) and telemetry (.tlog).

LOG_SUFFIXES = ('.bin', '.tlog')
_VEHICLE = 'ardusub'
_TYPES = {
    'odom': 'nav_msgs/msg/Odometry',
    'thrusters/pwm': 'std_msgs/msg/UInt16MultiArray',
    'barometer/pressure': 'sensor_msgs/msg/FluidPressure',
    'barometer/temperature': 'sensor_msgs/msg/Temperature',
    'autopilot/battery': 'sensor_msgs/msg/BatteryState',
    'autopilot/sticks': 'mavros_msgs/msg/RCIn',
}
_ESTIMATORS = {'XKF': 3, 'NKF': 2}
"""Beginning of an estimator's messages -> its number in the logs."""


class _Dataflash:
    """Converter of the messages of a dataflash log; stamps: time since its start."""

    KINDS = ('PARM', 'IMU', 'BARO', 'RCOU', 'ATT', 'CTUN', 'XKF1', 'NKF1', 'XKF4', 'NKF4')
    PILOT_KINDS = ('BAT', 'RCIN', 'MODE', 'MSG', 'ERR', 'EV')

    def __init__(self, mode_name: Callable[[int], str]) -> None:
        """Start without messages; ``mode_name`` names a flight mode by its number."""
        self.rows = AutopilotRows()
        self._mode_name = mode_name
        self._height = math.nan
        self._attitudes: list[TimedRow] = []
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
            self._add_attitude(m, stamp)
        elif kind in self.PILOT_KINDS:
            self._add_pilot(m, stamp)
        else:
            self._add_measurement(m, stamp)

    def _add_pilot(self, m: Any, stamp: int) -> None:
        """Take battery, sticks, modes, messages and errors."""
        kind = m.get_type()
        if kind == 'BAT':
            if not int(getattr(m, 'Inst', getattr(m, 'Instance', 0))):
                row = (float(m.Volt), float(getattr(m, 'Curr', math.nan)))
                self.rows.battery.append((stamp, stamp, row))
        elif kind == 'RCIN':
            sticks = tuple(float(getattr(m, f'C{i}', 0)) for i in range(1, 15))
            self.rows.sticks.append((stamp, stamp, sticks))
        else:
            self.rows.events.append(dataflash_event(m, stamp, self._mode_name))

    def _add_measurement(self, m: Any, stamp: int) -> None:
        kind, number = m.get_type(), int(getattr(m, 'I', 0))
        if kind == 'RCOU':
            outputs = tuple(float(getattr(m, f'C{i}', 0)) for i in range(1, 15))
            self.rows.outputs.append((stamp, stamp, outputs))
        elif kind == 'BARO':
            barometer = self.rows.barometers.setdefault(number, [])
            barometer.append((stamp, stamp, (float(m.Press), float(m.Temp))))
        elif not number:
            self.rows.rates.append((stamp, stamp, (m.GyrX, m.GyrY, m.GyrZ)))

    def _add_attitude(self, m: Any, stamp: int) -> None:
        """Take attitude and height, for logs without messages of an estimator."""
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

    def rows_of_primary(self) -> AutopilotRows:
        """Return the rows: those of the estimator that flew the vehicle and its primary core."""
        cores = [core for core, core_rows in self._cores.items() if core_rows.estimates]
        if not cores:
            self.rows.attitudes = self._attitudes
            return self.rows
        best = max(cores, key=lambda c: (self._active[_ESTIMATORS[c[0]]], self._primary[c]))
        core_rows = self._cores[best]
        self.rows.source = f'{best[0]}1, core {best[1]}'
        self.rows.estimates, self.rows.attitudes = core_rows.estimates, core_rows.attitudes
        self.rows.status = core_rows.status
        return self.rows


def _dataflash(path: Path) -> AutopilotRows:
    reader = require('pymavlink.DFReader', f'{path}: a log of ArduPilot')
    log = reader.DFReader_binary(str(path), zero_time_base=True)
    names = mode_names(path)
    converter = _Dataflash(lambda number: names(log.mav_type, number))
    kinds = {*converter.KINDS, *converter.PILOT_KINDS}
    while (m := log.recv_match(type=kinds)) is not None:
        converter.take(m)
    return converter.rows_of_primary()


def _radians(*degrees: float) -> LogRow:
    return tuple(math.radians(x) for x in degrees)


_PRESSURES = ('SCALED_PRESSURE', 'SCALED_PRESSURE2', 'SCALED_PRESSURE3')
_MAVLINK_MESSAGES = (
    'ATTITUDE',
    'LOCAL_POSITION_NED',
    'GLOBAL_POSITION_INT',
    'SERVO_OUTPUT_RAW',
    'EKF_STATUS_REPORT',
    'PARAM_VALUE',
    'SYS_STATUS',
    'RC_CHANNELS',
    'HEARTBEAT',
    'STATUSTEXT',
)
_NO_AUTOPILOT = 8
"""HEARTBEAT.autopilot of ground stations and cameras."""
_ARMED = 128
"""Bit of HEARTBEAT.base_mode."""
_NO_CURRENT = -1
"""SYS_STATUS.current_battery that is not measured."""


class _Telemetry:
    """Converter of the MAVLink messages of one vehicle."""

    def __init__(self, mode_name: Callable[[int, int], str]) -> None:
        """Start without messages; ``mode_name`` names a flight mode by MAV_TYPE and number."""
        self._mode_name = mode_name
        self._mode: tuple[int, int] | None = None
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
            # Its own time wraps after 71 minutes: use the time of receipt.
            outputs = tuple(float(getattr(m, f'servo{i}_raw', 0)) for i in range(1, 17))
            rows.outputs.append((receipt, receipt, outputs))
        elif kind in _PRESSURES:
            row: LogRow = (100.0 * m.press_abs, 0.01 * m.temperature)
            barometer = rows.barometers.setdefault(_PRESSURES.index(kind), [])
            barometer.append((receipt, stamp, row))
        elif kind == 'EKF_STATUS_REPORT':  # it has no time: use that of the message before
            rows.status.append((receipt, stamp, (float(m.flags),)))
        elif kind == 'ATTITUDE':
            row = (m.roll, m.pitch, m.yaw, self._height)
            rows.attitudes.append((receipt, stamp, row))
            rows.rates.append((receipt, stamp, (m.rollspeed, m.pitchspeed, m.yawspeed)))
        elif kind == 'LOCAL_POSITION_NED':
            row = (m.x, m.y, m.z, m.vx, m.vy, m.vz, 0.0, 0.0, 0.0)
            rows.estimates.append((receipt, stamp, row))
        else:
            self._add_pilot(m, receipt, stamp)

    def _add_pilot(self, m: Any, receipt: int, stamp: int) -> None:
        """Take battery, sticks, modes and messages."""
        kind, rows = m.get_type(), self.rows
        if kind == 'SYS_STATUS':
            unmeasured = m.current_battery == _NO_CURRENT
            current = math.nan if unmeasured else 0.01 * m.current_battery
            rows.battery.append((receipt, stamp, (0.001 * m.voltage_battery, current)))
        elif kind == 'RC_CHANNELS':
            sticks = tuple(float(getattr(m, f'chan{i}_raw')) for i in range(1, 15))
            rows.sticks.append((receipt, stamp, sticks))
        elif kind == 'STATUSTEXT':
            rows.events.append(status_text(m.severity, m.text, stamp))
        elif kind == 'HEARTBEAT':
            self._add_mode(m.type, m.custom_mode, m.base_mode & _ARMED, stamp)

    def _add_mode(self, vehicle: int, mode: int, armed: int, stamp: int) -> None:
        """Add events of changes of mode and arming."""
        before, self._mode = self._mode, (mode, armed)
        if before is None or before[0] != mode:
            self.rows.events.append(LogEvent(stamp, 'mode', self._mode_name(vehicle, mode)))
        if before is not None and before[1] != armed:
            text = 'armed' if armed else 'disarmed'
            self.rows.events.append(LogEvent(stamp, 'event', text))


def _telemetry(path: Path) -> AutopilotRows:
    """Return the rows of the first vehicle in a telemetry log."""
    mavutil = require('pymavlink.mavutil', f'{path}: a log of ArduPilot')
    log = mavutil.mavlogfile(str(path))
    converter = _Telemetry(mode_names(path))
    system: int | None = None
    while (m := log.recv_match(type=[*_MAVLINK_MESSAGES, *_PRESSURES])) is not None:
        if m.get_type() == 'HEARTBEAT' and m.autopilot == _NO_AUTOPILOT:
            continue
        system = m.get_srcSystem() if system is None else system
        if m.get_srcSystem() == system:
            # pymavlink stores the time of receipt as _timestamp, s.
            converter.take(m, round(m._timestamp * 1e6) * 1000)
    return converter.rows


def _stamp(stamp: int) -> Any:
    time = SimpleNamespace(sec=stamp // NANOSECONDS, nanosec=stamp % NANOSECONDS)
    return SimpleNamespace(stamp=time, frame_id='map')


def _xyz(values: Iterable[float]) -> Any:
    return SimpleNamespace(**dict(zip('xyzw', values, strict=False)))


def _odom(stamp: int, row: LogRow) -> Any:
    pose = SimpleNamespace(position=_xyz(row[:3]), orientation=_xyz(row[3:7]))
    twist = SimpleNamespace(linear=_xyz(row[7:10]), angular=_xyz(row[10:13]))
    return SimpleNamespace(
        header=_stamp(stamp),
        child_frame_id='base_link',
        pose=SimpleNamespace(pose=pose),
        twist=SimpleNamespace(twist=twist),
    )


def _battery(stamp: int, row: LogRow) -> Any:
    return SimpleNamespace(header=_stamp(stamp), voltage=row[0], current=row[1])


_MESSAGES: dict[str, Callable[[int, LogRow], Any]] = {
    'odom': _odom,
    'thrusters/pwm': lambda stamp, row: SimpleNamespace(data=row),
    'barometer/pressure': lambda stamp, row: SimpleNamespace(
        header=_stamp(stamp), fluid_pressure=row[0], variance=0.0
    ),
    'barometer/temperature': lambda stamp, row: SimpleNamespace(
        header=_stamp(stamp), temperature=row[0], variance=0.0
    ),
    'autopilot/battery': _battery,
    'autopilot/sticks': lambda stamp, row: SimpleNamespace(header=_stamp(stamp), channels=row),
}


@dataclass
class _Log:
    """A :class:`~marine_sim_ros.bags.storage.BagReader` of rows."""

    vehicle: str
    connections: Any
    message_count: int
    start_time: int
    end_time: int
    rows: list[tuple[Connection, TimedRow]]
    notes: tuple[str, ...]
    events: tuple[LogEvent, ...]

    def messages(
        self, connections: Iterable[Any] = (), start: int | None = None, stop: int | None = None
    ) -> Iterator[tuple[Any, int, Any]]:
        """Yield connection, time (ns) and message."""
        names = {c.topic for c in connections or self.connections}
        for connection, (receipt, stamp, row) in self.rows:
            inside = (start is None or receipt >= start) and (stop is None or receipt < stop)
            if inside and connection.topic in names:
                name = connection.topic.removeprefix(f'/{self.vehicle}/')
                yield connection, receipt, _MESSAGES[name](stamp, row)

    @staticmethod
    def deserialize(data: Any, message_type: str) -> Any:
        """Return the message."""
        del message_type
        return data


@contextmanager
def open_log(path: Path, text: str) -> Iterator[BagReader]:
    """Open a log; its rows are in memory.

    Raises:
        RecordingError: it has no message of a vehicle.
    """
    with _quiet():
        rows_of_log = _telemetry(path) if path.suffix.lower() == '.tlog' else _dataflash(path)
    rows_of_log.parameter_file, file_parameters = parameters_beside(path)
    if rows_of_log.parameters.keys() >= file_parameters.keys():
        rows_of_log.parameter_file = ''
    rows_of_log.parameters = {**file_parameters, **rows_of_log.parameters}
    topics, notes = rows_of_log.topics()
    if not topics:
        raise RecordingError(
            f'{text}: has no message of a vehicle; expected XKF1, RCOU or BARO of a .BIN, '
            'ATTITUDE, LOCAL_POSITION_NED or SERVO_OUTPUT_RAW of a .tlog'
        )
    yield reader_of_rows(_VEHICLE, topics, notes, tuple(rows_of_log.events))


def reader_of_rows(
    vehicle: str,
    topics: Mapping[str, list[TimedRow]],
    notes: tuple[str, ...],
    events: tuple[LogEvent, ...] = (),
) -> BagReader:
    """Return a reader of the rows of a vehicle's topics."""
    connections = {
        name: Connection(f'/{vehicle}/{name}', _TYPES[name], len(rows))
        for name, rows in topics.items()
    }
    rows = [(connections[name], row) for name, part in topics.items() for row in part]
    rows.sort(key=lambda row: row[1][0])
    ends = rows[0][1][0], rows[-1][1][0]
    return _Log(vehicle, list(connections.values()), len(rows), *ends, rows, notes, events)
