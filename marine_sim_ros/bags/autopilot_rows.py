# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a log of ArduPilot says of a vehicle, as rows of topics in our axes and units.

Source: ArduPilot, libraries/AP_NavEKF3/LogStructure.h, AP_NavEKF/AP_Nav_Common.h, AP_Motors6DOF;
MAVLink common messages.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from marine_sim_ros.autopilot.conventions import enu, flu, flu_quaternion
from marine_sim_ros.core.spatial import continuous_quaternions, normalized, to_body
from marine_sim_ros.core.stamps import NANOSECONDS

__all__ = ['AutopilotRows', 'Row', 'Timed', 'parameters_beside']

Row = tuple[float, ...]
Timed = tuple[int, int, Row]
"""Times of receipt and of measurement, ns, and the numbers."""
_MOTORS = {33 + n: n + 1 for n in range(8)}
"""SERVOn_FUNCTION -> number of the motor."""
_PULSES = (800.0, 2200.0)
"""µs; anything else is an output that is off."""
_BOOT = 10**15
"""ns; so far apart lie the clocks of an autopilot that started again."""
_NEAR = 0.5 * NANOSECONDS
"""A value is interpolated from others that are not farther than this, ns."""
_VELOCITY, _RELATIVE, _ABSOLUTE, _CONSTANT = 1 << 1, 1 << 3, 1 << 4, 1 << 7
"""Bits of the estimator's status: horizontal velocity, position; the position is held constant."""


class AutopilotRows:
    """Collects the messages of a log; every list has rows with their times.

    Attributes:
        source: name of the estimator's message.
        estimates: place (m) and velocity (m/s), north east down, and the gyroscopes' bias (rad/s).
        attitudes: roll, pitch, yaw of the body (FRD) in north-east-down, rad, and height, m.
        rates: angular velocity, forward right down, rad/s.
        status: bits of the estimator's status.
        outputs: pulse widths of all outputs, µs.
        barometers: pressure (Pa) and temperature (°C) by the number of the barometer.
        parameters: values by name.
        beside: name of the file from which parameters are that the log does not have.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.source = self.beside = ''
        self.estimates: list[Timed] = []
        self.attitudes: list[Timed] = []
        self.rates: list[Timed] = []
        self.status: list[Timed] = []
        self.outputs: list[Timed] = []
        self.barometers: dict[int, list[Timed]] = {}
        self.parameters: dict[str, float] = {}

    def topics(self) -> tuple[dict[str, list[Timed]], tuple[str, ...]]:
        """Return the rows of every topic, and what of them is assumed or missing."""
        notes: list[str] = []
        found: dict[str, list[Timed]] = {}
        if self.attitudes:
            found['odom'] = self._odometry(notes)
        if self.outputs:
            found['thrusters/pwm'] = self._thrusters(notes)
        if self.barometers:
            # Of several barometers the one in the water changes most.
            span = {i: np.ptp([r[0] for *_, r in rows]) for i, rows in self.barometers.items()}
            rows = self.barometers[max(span, key=lambda i: span[i])]
            for i, name in enumerate(('pressure', 'temperature')):
                found[f'barometer/{name}'] = [(t, s, (row[i],)) for t, s, row in rows]
        return found, tuple(notes)

    def _odometry(self, notes: list[str]) -> list[Timed]:
        """Return pose and body velocity in our axes, at the times of the estimates."""
        rows = self.estimates or self.attitudes
        clock = _clock(rows)
        attitude = np.array([row for *_, row in self.attitudes])
        known = continuous_quaternions(flu_quaternion(attitude[:, :3]))
        turn = np.asarray(normalized(_interpolated(clock, _clock(self.attitudes), known)))
        bias: np.ndarray | float = 0.0
        if self.estimates:
            estimate = np.array([row for *_, row in rows])
            place, velocity, bias = enu(estimate[:, :3]), enu(estimate[:, 3:6]), estimate[:, 6:9]
            notes.append(f'odom is what the estimator says ({self.source}), no measurement')
            self._leave_unknown_out(clock, place, velocity, notes)
        else:
            up = attitude[:, 3:4]
            place = np.column_stack([np.full((len(up), 2), math.nan), up])
            velocity = np.full_like(place, math.nan)
            notes.append('odom has attitude and height alone: the log has no velocity')
        rates = np.full((len(rows), 3), math.nan)
        if self.rates:
            told = np.array([row for *_, row in self.rates])
            rates = flu(_interpolated(clock, _clock(self.rates), told) - bias)
        else:
            notes.append('odom has no turn rates: the log has no gyroscope')
        body = np.asarray(to_body(turn, velocity))
        moved = np.column_stack([place, turn, body, rates]).tolist()
        return [(r, s, tuple(row)) for (r, s, _), row in zip(rows, moved, strict=True)]

    def _leave_unknown_out(
        self, clock: np.ndarray, place: np.ndarray, velocity: np.ndarray, notes: list[str]
    ) -> None:
        """Make NaN of horizontal places and velocities that the estimator does not know."""
        if not self.status:
            notes.append(
                'no status of the estimator (XKF4, EKF_STATUS_REPORT): its horizontal velocity is '
                'taken as it is, also where it has nothing to tell it from'
            )
            return
        known = np.searchsorted(_clock(self.status), clock, side='right') - 1
        bits = np.array([int(row[0]) for *_, row in self.status])[np.maximum(known, 0)]
        held = bits & _CONSTANT > 0
        lost = (bits & _VELOCITY == 0) | held
        velocity[lost] = math.nan
        place[(bits & (_RELATIVE | _ABSOLUTE) == 0) | held, :2] = math.nan
        if lost.any():
            share = f'{100 * lost.mean():.0f} %'
            notes.append(
                f'the estimator does not know its horizontal velocity in {share} of the log '
                '(without GPS, DVL or another source): left out there'
            )

    def _thrusters(self, notes: list[str]) -> list[Timed]:
        """Return the pulses of the thrusters, in the order of the motors.

        A motor with the direction −1 has its pulse mirrored about 1500 µs by the autopilot; it is
        mirrored back here, so that a pulse means what it means with the directions 1.
        """
        functions = {
            int(name[5:-9]): int(value)
            for name, value in self.parameters.items()
            if re.fullmatch(r'SERVO\d+_FUNCTION', name) and math.isfinite(value)
        }
        told = sorted((_MOTORS[f], n - 1) for n, f in functions.items() if f in _MOTORS)
        if not told:
            first = self.outputs[0][2][:8]
            count = next((i for i, pulse in enumerate(first) if pulse <= 0), len(first))
            told = [(i + 1, i) for i in range(count)]
            notes.append(f'no SERVOn_FUNCTION: outputs 1 to {count} are taken for the motors')
        columns = [column for _, column in told]
        directions = [self.parameters.get(f'MOT_{motor}_DIRECTION', 0.0) for motor, _ in told]
        if not any(directions):
            notes.append(
                'no MOT_n_DIRECTION: all motors are taken to turn as the description has them'
            )
        elif min(directions) < 0:
            turned = [m for (m, _), d in zip(told, directions, strict=True) if d < 0]
            notes.append(f'motors {", ".join(map(str, turned))} have the direction -1')
        if self.beside:
            notes.append(f'parameters that the log does not have are those of {self.beside}')
        pulses = np.array([row for *_, row in self.outputs])[:, columns]
        mirrored = (np.array(directions) < 0) & (pulses >= _PULSES[0]) & (pulses <= _PULSES[1])
        widths = np.where(mirrored, 3000.0 - pulses, pulses).tolist()
        return [(r, s, tuple(row)) for (r, s, _), row in zip(self.outputs, widths, strict=True)]


def _clock(rows: list[Timed]) -> np.ndarray:
    """Return times (n,) in ns that go on where the autopilot started again."""
    stamps = np.array([stamp for _, stamp, _ in rows], float)
    again = np.diff(stamps, prepend=stamps[:1]) < -NANOSECONDS
    return np.asarray(stamps + _BOOT * np.cumsum(again))


def _interpolated(at: np.ndarray, time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values (n, k) at times (n,), NaN far from what is known (m, k)."""
    order = np.argsort(time, kind='stable')
    time, values = time[order], values[order]
    after = np.minimum(np.searchsorted(time, at), len(time) - 1)
    far = np.minimum(np.abs(time[after] - at), np.abs(at - time[np.maximum(after - 1, 0)]))
    result = np.stack([np.interp(at, time, column) for column in values.T], axis=1)
    result[far > _NEAR] = math.nan
    return result


_NAMED = re.compile(r'\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)[\s,;=]+([-+]?[0-9.][0-9.eE+-]*)')


def parameters_beside(path: Path) -> tuple[str, dict[str, float]]:
    """Return name and values of the parameter file beside a log; empty where there is none.

    It has the log's name and ends with .param, .params or .parm, as ground stations write it.
    """
    for suffix in ('.param', '.params', '.parm'):
        file = path.with_suffix(suffix)
        if file.is_file():
            text = file.read_text(encoding='utf-8', errors='replace')
            lines = [line.partition('#')[0] for line in text.splitlines()]
            named = [match for line in lines if (match := _NAMED.search(line))]
            return file.name, {match[1]: float(match[2]) for match in named}
    return '', {}
