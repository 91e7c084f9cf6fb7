# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Emulated Water Linked DVL A50 and A125: JSON reports and commands over TCP, port 16171.

Source: Water Linked, "DVL A50/A125 TCP JSON API", version json_v3.3 (docs.waterlinked.com/dvl);
of a report without bottom lock the example of its version json_v1. Times are simulated ones.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from marine_sim_ros import __version__
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.environment import SOUND_SPEED
from marine_sim_ros.instruments.instrument import (
    Client,
    Instrument,
    InstrumentReading,
    ProtocolError,
    WireProtocol,
)
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.series import SensorReader

__all__ = ['WATER_LINKED', 'WaterLinkedDvl', 'dead_reckoning_report', 'velocity_report']

FORMAT = 'json_v3.3'
_END = b'\r\n'
LATENCY = 0.004
"""s from command to response, as in "Overview" of the source. libwaterlinked sends a command
before it waits for the response, and loses one that comes at once."""
MAX_TRIGGERS = 15
"""Commands ``trigger_ping`` that wait."""
RANGE_MODES = ((0.05, 0.6), (0.3, 3.0), (1.5, 14.0), (7.7, 36.0), (15.0, math.inf))
"""m, least and greatest altitude of the modes 0 to 4 of the A50 and A125 ("Range mode")."""
NO_LOCK = -1.0
"""Altitude, and distance of a beam, without an echo."""
_CONFIGURATION: Mapping[str, Any] = {
    'speed_of_sound': SOUND_SPEED,
    'acoustic_enabled': True,
    'dark_mode_enabled': False,
    'mounting_rotation_offset': 0.0,
    'range_mode': 'auto',
    'periodic_cycling_enabled': True,
}
_LIMITS = {'speed_of_sound': (1000.0, 2000.0), 'mounting_rotation_offset': (0.0, 360.0)}
_DOWN = np.diag([1.0, -1.0, -1.0])
"""From axes ahead, left, up to axes ahead, right, down."""


def _mounting_rotation(degrees: float) -> np.ndarray:
    """Return the rotation (3, 3) from axes of the DVL to those of the vehicle ("Axes")."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def _range_limits(mode: str) -> tuple[float, float]:
    """Return the least and greatest altitude of a range mode, m.

    Raises:
        ValueError: no range mode; what was expected.
    """
    if mode == 'auto':
        return 0.0, math.inf
    if mode == 'wt':
        raise ValueError('water tracking is not simulated')
    match = re.fullmatch('=([0-4])|([0-4])<=([0-4])', mode)
    if match is None or (match[2] and match[2] > match[3]):
        raise ValueError(f'range_mode is {mode[:40]!r}; expected auto, =a or a<=b, 0 to 4')
    first, last = (int(match[1] or match[i]) for i in (2, 3))
    return RANGE_MODES[first][0], RANGE_MODES[last][1]


def velocity_report(
    sensor: Sensor,
    reading: InstrumentReading,
    configuration: Mapping[str, Any] = _CONFIGURATION,
    since: int = 0,
) -> dict[str, Any]:
    """Return a velocity-and-transducer report.

    A DVL that is told a speed of sound c of water with c₀ computes velocities and distances c/c₀
    times as large. Levels of sound (rssi, nsd) are not simulated: 0. The figure of merit of an
    invalid velocity is the greatest velocity that the sensor measures.

    Args:
        sensor: of type dvl.
        reading: of the sensor.
        configuration: of the instrument.
        since: stamp of the report before, ns; 0: none.
    """
    readings = reading.readings
    scale = configuration['speed_of_sound'] / SOUND_SPEED
    rotation = _mounting_rotation(configuration['mounting_rotation_offset'])
    velocity = scale * rotation @ np.asarray(readings['velocity'])
    covariance = scale**2 * rotation @ np.reshape(readings['covariance'], (3, 3)) @ rotation.T
    altitude = float(readings['altitude'])
    lower, upper = _range_limits(configuration['range_mode'])
    locked = bool(np.isfinite(altitude)) and lower <= altitude <= upper
    valid = locked and bool(np.all(np.isfinite(velocity)))
    return {
        'time': max(reading.stamp - since, 0) / 1e6 if since else 0.0,
        **dict(zip(('vx', 'vy', 'vz'), velocity.tolist() if valid else [0.0] * 3, strict=True)),
        'fom': scale * float(readings['figure_of_merit']) if valid else sensor.spec.max_velocity,
        'covariance': covariance.tolist() if valid else [[0.0] * 3] * 3,
        'altitude': scale * altitude if locked else NO_LOCK,
        'transducers': [
            _transducer(i, float(distance), float(speed), scale, locked)
            for i, (distance, speed) in enumerate(
                zip(readings['range'], readings['beam_velocity'], strict=True)
            )
        ],
        'velocity_valid': valid,
        'status': 0,
        'format': FORMAT,
        'type': 'velocity',
        'time_of_validity': reading.stamp // 1000,
        'time_of_transmission': reading.arrival // 1000,
    }


def _transducer(
    number: int, distance: float, speed: float, scale: float, locked: bool
) -> dict[str, Any]:
    valid = locked and math.isfinite(distance)
    return {
        'id': number,
        'velocity': scale * speed if valid else 0.0,
        'distance': scale * distance if valid else NO_LOCK,
        'rssi': 0.0,
        'nsd': 0.0,
        'beam_valid': valid,
    }


def dead_reckoning_report(
    reading: InstrumentReading, configuration: Mapping[str, Any] = _CONFIGURATION
) -> dict[str, Any]:
    """Return a dead reckoning report: position, m, and roll, pitch, yaw, deg, axes z down.

    Args:
        reading: of a sensor of type dvl.
        configuration: of the instrument.
    """
    readings = reading.readings
    scale = configuration['speed_of_sound'] / SOUND_SPEED
    rotation = _mounting_rotation(configuration['mounting_rotation_offset'])
    position = scale * rotation @ _DOWN @ np.asarray(readings['position'])
    attitude = (
        rotation @ _DOWN @ rotation_matrix(np.asarray(readings['position_attitude'])) @ rotation.T
    )
    roll = math.atan2(attitude[2, 1], attitude[2, 2])
    pitch = -math.asin(min(max(float(attitude[2, 0]), -1.0), 1.0))
    yaw = math.atan2(attitude[1, 0], attitude[0, 0])
    return {
        'ts': reading.stamp / NANOSECONDS,
        **dict(zip('xyz', position.tolist(), strict=True)),
        'std': scale * math.sqrt(float(readings['position_variance'])),
        'roll': math.degrees(roll),
        'pitch': math.degrees(pitch),
        'yaw': math.degrees(yaw),
        'type': 'position_local',
        'status': 0,
        'format': FORMAT,
    }


def _encode(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(',', ':'), allow_nan=False).encode() + _END


def _take_message(received: bytearray) -> Any:
    """Take the first JSON object of some bytes, which needs no line's end; None: it is incomplete.

    Drivers send commands without a line's end, and the instrument accepts them.

    Raises:
        ProtocolError: bytes that are none; they are taken up to the line's end.
    """
    text = received.decode('ascii', 'replace')
    start = len(text) - len(text.lstrip())
    if start == len(text):
        received.clear()
        return None
    try:
        if text[start] != '{':
            raise ValueError
        message, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        end = text.find('\n', start) + 1
        if not end and text[start] == '{':
            return None
        del received[: end or len(received)]
        raise ProtocolError(
            f'{text[start : start + 40]!r} is no JSON; expected a command, as in '
            '{"command":"get_config"}'
        ) from None
    del received[:end]
    return message


def _restart(reader: SensorReader) -> None:
    reader.restart()


class WaterLinkedDvl(Instrument):
    """The instrument."""

    def __init__(self, sensor: Sensor) -> None:
        """Begin with the configuration of a new instrument."""
        super().__init__(sensor)
        self._configuration: dict[str, Any] = dict(_CONFIGURATION)
        self._triggers, self._since = 0, 0

    def report(self, reading: InstrumentReading) -> None:
        """Send both reports."""
        for message in self.reports(reading):
            self.broadcast(_encode(message))

    def reports(self, reading: InstrumentReading) -> tuple[dict[str, Any], ...]:
        """Return both reports; with acoustics off only those of triggered pings, else none.

        A reading without a position has no report of dead reckoning.
        """
        if not self._configuration['acoustic_enabled']:
            if not self._triggers:
                return ()
            self._triggers -= 1
        velocity = velocity_report(self.sensor, reading, self._configuration, self._since)
        self._since = reading.stamp
        if 'position' not in reading.readings:  # of a bag
            return (velocity,)
        return velocity, dead_reckoning_report(reading, self._configuration)

    def receive(self, client: Client) -> bool:
        """Answer a command."""
        message = _take_message(client.received)
        if message is None:
            return False
        if not isinstance(message.get('command'), str):
            raise ProtocolError(
                'JSON without a command; expected one, as in {"command":"get_config"}'
            )
        response = self.execute(message['command'][:40], message.get('parameters'))
        time.sleep(LATENCY)
        client.send(_encode(response))
        return True

    def execute(self, name: str, parameters: Any = None) -> dict[str, Any]:
        """Execute a command; return the response."""
        result, problem = None, ''
        try:
            result = self._result(name, parameters)
        except ValueError as error:
            problem = str(error)
        return {
            'response_to': name,
            'success': not problem,
            'error_message': problem,
            'result': result,
            'format': FORMAT,
            'type': 'response',
        }

    def _result(self, name: str, parameters: Any) -> Any:
        """Return the result of a command.

        Raises:
            ValueError: a command that cannot be executed, and why.
        """
        if name == 'get_config':
            return dict(self._configuration)
        if name == 'get_version_info':
            return _version_info()
        if name == 'set_config':
            self._configuration |= _check_configuration(parameters)
        elif name == 'reset_dead_reckoning':
            self.changes.append(_restart)
        elif name == 'trigger_ping':
            if self._triggers >= MAX_TRIGGERS:
                raise ValueError(f'{MAX_TRIGGERS} pings wait already')
            self._triggers += 1
        elif name != 'calibrate_gyro':  # the simulated gyroscopes are calibrated ones
            raise ValueError(f'command {name!r} is unknown or not simulated')
        return None


def _version_info() -> dict[str, Any]:
    return {
        'chipid': '0x0',
        'hardware_revision': 0,
        'product_id': 21035,
        'product_name': 'DVL A50',
        'variant': 'simulated',
        'version_short': __version__,
        'version': f'marine_sim_ros {__version__}',
        'is_ready': True,
    }


def _check_configuration(parameters: Any) -> dict[str, Any]:
    """Return parameters of ``set_config``.

    Raises:
        ValueError: one that is unknown, of another type, or out of its range.
    """
    if not isinstance(parameters, dict):
        raise ValueError('parameters are missing; expected those to set')
    for name, value in parameters.items():
        if name not in _CONFIGURATION:
            known = ', '.join(_CONFIGURATION)
            raise ValueError(f'parameter {name[:40]!r} is unknown; expected {known}')
        expected = type(_CONFIGURATION[name])
        if expected is float:
            low, high = _LIMITS[name]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not low <= value <= high:
                raise ValueError(f'{name} is {str(value)[:40]}; expected {low:g} to {high:g}')
        elif not isinstance(value, expected):
            known = {bool: 'true or false', str: 'a text'}[expected]
            raise ValueError(f'{name} is {str(value)[:40]}; expected {known}')
    _range_limits(parameters.get('range_mode', 'auto'))
    return parameters


WATER_LINKED = WireProtocol(
    'water_linked', ('dvl',), 'tcp', 16171, WaterLinkedDvl, 'Water Linked DVL A50 and A125'
)
