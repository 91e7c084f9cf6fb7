# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Readings of sensors as text with units, and as drawings: DVL beams, sonar pictures.

Pictures are seen from above with the bow up, one byte for each pixel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.state import stamp_ns
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.dvl import beam_directions
from marine_sim_ros.sensors.sonar_messages import points_of

__all__ = ['DRAWINGS', 'Drawing', 'NAMED', 'READINGS', 'plain_reading', 'quantity_text']


# Readings of sensors as text with units, by type of message.

MAX_NUMBERS = 4
"""Numbers of a message of a type that has no words here."""


def number_text(value: float, decimals: int = 2) -> str:
    """Return a number with a minus as wide as a plus, none before a zero; unknown: a dash."""
    if not math.isfinite(value):
        return '–'
    text = f'{value:.{decimals}f}'
    return text.lstrip('-') if float(text) == 0 else text.replace('-', '−')


def quantity_text(value: float, unit: str) -> str:
    """Return a number with its unit, an angle in degrees, others of any size with four digits."""
    if unit == 'rad':
        return f'{number_text(math.degrees(value), 1)}°'
    text = f'{value:.4g}'.replace('-', '−') if math.isfinite(value) else '–'
    return f'{text} {unit}'.rstrip()


_POSE = 'geometry_msgs/msg/PoseWithCovarianceStamped'
_TWIST = 'geometry_msgs/msg/TwistWithCovarianceStamped'
_position, _linear = message_numbers(_POSE, 'position'), message_numbers(_TWIST, 'linear')
_rates, _force = (message_numbers('sensor_msgs/msg/Imu', name) for name in ('rates', 'force'))
_pressure = message_numbers('sensor_msgs/msg/FluidPressure', 'pressure')
_temperature = message_numbers('sensor_msgs/msg/Temperature', 'temperature')
_field = message_numbers('sensor_msgs/msg/MagneticField', 'field')
_distance = message_numbers('sensor_msgs/msg/Range', 'range')
_beam_ranges = message_numbers('marine_acoustic_msgs/msg/Dvl', 'range')


def _three(values: Sequence[float], decimals: int, scale: float = 1.0) -> str:
    return ', '.join(number_text(scale * value, decimals) for value in values)


def _imu(m: Any) -> str:
    degrees = _three(_rates(m), 1, 180 / math.pi)
    return f'{_three(_force(m), 2)} m/s²\n{degrees} °/s'


def _fix(m: Any) -> str:
    north, east = 'N' if m.latitude >= 0 else 'S', 'E' if m.longitude >= 0 else 'W'
    place = f'{abs(m.latitude):.5f}° {north}, {abs(m.longitude):.5f}° {east}'
    return f'{place}\n{number_text(m.altitude, 1)} m'


def _place(m: Any) -> str:
    east, north, up = (number_text(x, 1) for x in _position(m))
    return f'east {east}, north {north}, up {up} m'


def _battery(m: Any) -> str:
    """Return voltage and current, and the charge where it is known; a discharge is negative."""
    known = [f'{number_text(m.voltage)} V']
    if math.isfinite(m.current):
        word = 'draws' if m.current <= 0 else 'charges with'
        known.append(f'{word} {number_text(abs(m.current), 1)} A')
    if math.isfinite(m.percentage):
        known.append(f'{number_text(100 * m.percentage, 0)} % left')
    return ', '.join(known)


def _range(m: Any) -> str:
    (distance,) = _distance(m)
    if math.isinf(distance):
        return 'nothing in range' if distance > 0 else 'too near'
    return f'{number_text(distance)} m'


def _scan(m: Any) -> str:
    near = [r for r in m.ranges if math.isfinite(r)]
    if near:
        return f'first return {number_text(min(near))} m'
    return 'no return' if len(m.ranges) > 1 else 'no return at this bearing'


def _points(m: Any) -> str:
    points = points_of(m)
    if 'u' in (points.dtype.names or ()):
        return _layers(points.reshape(-1))
    distance = np.sqrt(sum(points[axis].astype(float) ** 2 for axis in 'xyz'))
    known = distance[np.isfinite(distance)]
    if not known.size:
        return f'0 of {distance.size} points'
    near = number_text(float(known.min()))
    return f'{known.size} of {distance.size} points, nearest {near} m'


def _layers(points: np.ndarray) -> str:
    """Return the number of layers of an ADCP, and the speed in the nearest."""
    speed = np.hypot(points['u'].astype(float), points['v'].astype(float))
    known = np.flatnonzero(np.isfinite(speed))
    count = f'{known.size} of {speed.size} layers'
    return f'{count}, {number_text(speed[known[0]])} m/s in the first' if known.size else count


def _speed(m: Any) -> str:
    return f'speed {number_text(math.hypot(*_linear(m)))} m/s'


def _ranges(m: Any) -> str:
    pairs = zip(m.name, m.position, strict=False)
    known = ', '.join(f'{name} {number_text(distance)} m' for name, distance in pairs)
    return known or 'no answer'


def _packet(m: Any) -> str:
    return f'{len(m.data)} bytes' + ''.join(f' of {d.label}' for d in m.layout.dim[:1])


def _lines(m: Any) -> str:
    """Return the first line of a text, such as sentences of NMEA 0183, and how many follow."""
    first, *rest = m.data.splitlines() or ['']
    return f'{first} and {len(rest)} more' if rest else first


def _value(m: Any) -> str:
    """Return a number of any size with four digits."""
    return f'{float(m.data):.4g}'.replace('-', '−')


READINGS: dict[str, Callable[[Any], str]] = {
    _POSE: _place,
    _TWIST: _speed,
    'sensor_msgs/msg/BatteryState': _battery,
    'sensor_msgs/msg/CameraInfo': lambda m: f'{m.width} × {m.height} pixels',
    'sensor_msgs/msg/FluidPressure': lambda m: f'{number_text(_pressure(m)[0] / 1000)} kPa',
    'sensor_msgs/msg/Imu': _imu,
    'sensor_msgs/msg/JointState': _ranges,
    'sensor_msgs/msg/LaserScan': _scan,
    'sensor_msgs/msg/MagneticField': lambda m: f'{_three(_field(m), 1, 1e6)} µT',
    'sensor_msgs/msg/NavSatFix': _fix,
    'sensor_msgs/msg/PointCloud2': _points,
    'sensor_msgs/msg/Range': _range,
    'sensor_msgs/msg/Temperature': lambda m: f'{number_text(_temperature(m)[0])} °C',
    'std_msgs/msg/Bool': lambda m: 'yes' if m.data else 'no',
    'std_msgs/msg/Float32': _value,
    'std_msgs/msg/Float64': _value,
    'std_msgs/msg/String': _lines,
    'std_msgs/msg/UInt8MultiArray': _packet,
}
"""Formatters of messages by type."""
NAMED = (
    'sensor_msgs/msg/Range',
    'std_msgs/msg/Bool',
    'std_msgs/msg/Float32',
    'std_msgs/msg/Float64',
)
"""Types that do not tell what they are of: the topic's name does."""


def plain_reading(message: Any) -> str:
    """Return the first numbers of a message of any type, with the names of their fields."""
    return ', '.join(_numbers(message, ''))


def _numbers(message: Any, name: str) -> list[str]:
    if isinstance(message, bool):
        return [f'{name} {"yes" if message else "no"}']
    if isinstance(message, int | float):
        return [f'{name} {number_text(float(message), 3)}']
    fields: dict[str, str] = getattr(message, 'get_fields_and_field_types', dict)()
    found: list[str] = []
    for field in (f for f in fields if f != 'header'):
        found += _numbers(getattr(message, field), field)
    return found[:MAX_NUMBERS]


# Drawings of sensors: beams of a DVL, sonar pictures.

SIDE = 320
"""Pixels of the side of the picture of a sweep."""
COARSE = 240
"""Most rows of the picture of a fan; a larger one is thinned out."""
MAX_RANGE_BINS = 200
"""Range bins of a sweep, at most."""
RETURN = 160
"""Pixel from which on an echo is one of a thing, 0 to 255."""


class Drawing:
    """Drawing of one sensor.

    Attributes:
        shape: name of the page's function that draws it.
        topics: names of the topics that it takes; true: every message, else the newest.
        picture: newest picture, or None.
        serial: number of that picture.
    """

    shape: ClassVar[str] = ''
    topics: ClassVar[Mapping[str, bool]] = {}

    def __init__(self, sensor: Sensor) -> None:
        """Draw a sensor."""
        self.sensor = sensor
        self.picture: bytes | None = None
        self.serial = 0

    def scenery(self) -> dict[str, Any]:
        """Return the constant parts; JSON."""
        return {'shape': self.shape}

    def take(self, topic: str, message: Any) -> None:
        """Take a message of a topic."""
        raise NotImplementedError

    def frame(self) -> dict[str, Any]:
        """Return the present drawing; JSON."""
        raise NotImplementedError

    def reading(self) -> str:
        """Return the reading as text, or nothing."""
        return ''

    def _show(self, picture: np.ndarray) -> None:
        self.picture = np.ascontiguousarray(picture, np.uint8).tobytes()
        self.serial += 1


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


class _Beams(Drawing):
    """Ranges of the beams of a DVL, altitude, and velocity in the instrument's axes."""

    shape = 'beams'
    topics: ClassVar[Mapping[str, bool]] = {'beams': False, 'altitude': False, 'twist': False}

    def __init__(self, sensor: Sensor) -> None:
        super().__init__(sensor)
        self._ranges: list[float | None] = []
        self._altitude: float | None = None
        self._velocity: tuple[int, list[float]] = (-1, [])
        self._stamp = 0

    def scenery(self) -> dict[str, Any]:
        spec = self.sensor.spec
        directions = beam_directions(spec.beam_angle) @ self.sensor.rotation.T
        names = [
            f'{"fore" if x >= 0 else "aft"} {"port" if y >= 0 else "stbd"}'
            for x, y, _ in directions.tolist()
        ]
        return {**super().scenery(), 'beams': names, 'most': spec.max_altitude}

    def take(self, topic: str, message: Any) -> None:
        stamp = stamp_ns(message.header.stamp)
        if topic == 'beams':
            self._ranges = [r if r >= 0 else None for r in _beam_ranges(message)]
        elif topic == 'altitude':
            self._stamp = stamp
            self._altitude = _finite(*_distance(message))
        else:
            self._velocity = stamp, list(_linear(message))

    def frame(self) -> dict[str, Any]:
        """Return them; the velocity is unknown where the newest report has none."""
        stamp, velocity = self._velocity
        known = velocity if stamp >= self._stamp else None
        heard = bool(self._stamp)
        found = {'ranges': self._ranges, 'altitude': self._altitude, 'velocity': known}
        return {'heard': heard, **found}


def _strongest_echo(picture: np.ndarray, apex: tuple[float, float], scale: float) -> str:
    row, column = np.unravel_index(int(np.argmax(picture)), picture.shape)
    if picture[row, column] < RETURN:
        return 'no echo'
    distance = math.hypot(column + 0.5 - apex[0], row + 0.5 - apex[1]) / scale
    return f'strongest echo at {distance:.1f} m'


class _Fan(Drawing):
    """Picture of an imaging sonar, whose apex is at the middle of its lower edge."""

    shape = 'fan'
    topics: ClassVar[Mapping[str, bool]] = {'fan': False}

    def __init__(self, sensor: Sensor) -> None:
        super().__init__(sensor)
        self._said = ''
        self._size = (0, 0)

    def scenery(self) -> dict[str, Any]:
        spec = self.sensor.spec
        return {**super().scenery(), 'reach': spec.max_range, 'aperture': spec.aperture}

    def take(self, topic: str, message: Any) -> None:
        del topic
        rows, columns = int(message.height), int(message.width)
        whole = np.frombuffer(bytes(message.data), np.uint8)
        if message.encoding != 'mono8' or whole.size != rows * columns:
            return
        each = math.ceil(rows / COARSE)
        rows, columns = rows - rows % each, columns - columns % (2 * each)
        picture = whole.reshape(int(message.height), -1)[-rows:]
        left = (picture.shape[1] - columns) // 2
        blocks = picture[:, left : left + columns].reshape(rows // each, each, -1, each)
        coarse = blocks.max(axis=(1, 3))
        self._size = coarse.shape
        scale = rows / each / self.sensor.spec.max_range
        self._said = _strongest_echo(coarse, (coarse.shape[1] / 2, coarse.shape[0]), scale)
        self._show(coarse)

    def frame(self) -> dict[str, Any]:
        rows, columns = self._size
        return {'serial': self.serial, 'height': rows, 'width': columns}

    def reading(self) -> str:
        return self._said


def _forget(known: dict[int, Any], stamp: int) -> None:
    """Drop what is no younger than a stamp."""
    for old in [s for s in known if s <= stamp]:
        del known[old]


class _Sweep(Drawing):
    """Echoes of a scanning sonar by bearing: each stays until the beam is there again."""

    shape = 'sweep'
    topics: ClassVar[Mapping[str, bool]] = {'scan': True, 'echo': True}

    def __init__(self, sensor: Sensor) -> None:
        super().__init__(sensor)
        spec = sensor.spec
        self._step = math.radians(spec.step)
        self._count = max(round(2 * math.pi / self._step), 1)
        bins = min(int(spec.samples), MAX_RANGE_BINS)
        self._echoes = np.zeros((self._count, bins), np.uint8)
        self._angles: dict[int, float] = {}
        self._waiting: dict[int, np.ndarray] = {}
        self._bearing: float | None = None
        upright = abs(sensor.rotation[2, 2]) > 0.5
        self._turn = sensor.rotation if upright else np.eye(3)
        self._pixels, self._inside = self._lookup()

    def _lookup(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the echo of each pixel (SIDE, SIDE), and a mask of valid ones."""
        place = (np.arange(SIDE) + 0.5 - SIDE / 2) / (SIDE / 2)
        ahead, port = -place[:, None] + 0 * place, -place + 0 * place[:, None]
        distance = np.hypot(ahead, port)
        along = np.stack([ahead, port, 0 * ahead], axis=-1) @ self._turn
        angle = np.arctan2(along[..., 1], along[..., 0])
        sector = np.round(angle / self._step).astype(int) % self._count
        bins = self._echoes.shape[1]
        number = np.floor(distance * bins).astype(int)
        return np.where(distance < 1, sector * bins + number, 0), distance < 1

    def scenery(self) -> dict[str, Any]:
        return {**super().scenery(), 'reach': self.sensor.spec.max_range}

    def take(self, topic: str, message: Any) -> None:
        """Put an echo where the scan of the same stamp says that the beam was."""
        stamp = stamp_ns(message.header.stamp)
        if topic == 'scan':
            self._angles[stamp] = float(message.angle_min)
        else:
            self._waiting[stamp] = np.frombuffer(bytes(message.data), np.uint8)
        if min(len(self._angles), len(self._waiting)) == 0:
            other = self._angles or self._waiting
            if len(other) > 2 * self._count:  # the other topic does not come
                other.clear()
        if stamp in self._angles and stamp in self._waiting:
            self._put(self._angles[stamp], self._waiting[stamp])
            _forget(self._angles, stamp)
            _forget(self._waiting, stamp)

    def _put(self, angle: float, echo: np.ndarray) -> None:
        bins = self._echoes.shape[1]
        edges = np.arange(bins) * len(echo) // bins
        if len(echo) < bins:
            return
        self._echoes[round(angle / self._step) % self._count] = np.maximum.reduceat(echo, edges)
        x, y, _ = self._turn @ np.array([math.cos(angle), math.sin(angle), 0.0])
        self._bearing = math.atan2(y, x)

    def frame(self) -> dict[str, Any]:
        """Return the size, and the bearing of the beam in rad, anticlockwise from the bow."""
        if self._bearing is not None:
            picture = self._echoes.reshape(-1)[self._pixels]
            self._show(np.where(self._inside, picture, 0))
        size = {'height': SIDE, 'width': SIDE}
        return {'serial': self.serial, 'bearing': self._bearing, **size}


class _Swath(Drawing):
    """Section of the bottom across the track, seen from astern: port is left."""

    shape = 'plain'
    topics: ClassVar[Mapping[str, bool]] = {'points': False}

    def take(self, topic: str, message: Any) -> None:
        """Draw the points of a ping, from the sonar at the middle of the upper edge down."""
        del topic
        points = points_of(message).reshape(-1)
        across, down = (points[axis].astype(float) for axis in 'yz')
        known = np.isfinite(across) & np.isfinite(down) & (down > 0)
        picture = np.zeros((COARSE // 2, SIDE), np.uint8)
        if known.any():
            across, down = across[known], down[known]
            scale = min(
                (COARSE // 2 - 1) / (1.1 * float(down.max())),
                (SIDE / 2 - 1) / max(float(np.abs(across).max()), 1e-6),
            )
            column = np.round(SIDE / 2 - 0.5 + scale * across).astype(int)
            picture[np.round(scale * down).astype(int), column] = 255
        self._show(picture)

    def frame(self) -> dict[str, Any]:
        return {'serial': self.serial, 'height': COARSE // 2, 'width': SIDE}


class _Waterfall(Drawing):
    """Lines of a side-scan sonar, the newest above: port is left."""

    shape = 'plain'
    topics: ClassVar[Mapping[str, bool]] = {'scan': True}

    def __init__(self, sensor: Sensor) -> None:
        super().__init__(sensor)
        self._lines = np.zeros((COARSE, SIDE), np.uint8)

    def take(self, topic: str, message: Any) -> None:
        """Move the picture down by a line."""
        del topic
        line = np.frombuffer(bytes(message.data), np.uint8)
        if message.encoding != 'mono8' or message.height != 1 or not line.size:
            return
        edges = np.arange(SIDE) * len(line) // SIDE
        newest = np.maximum.reduceat(line, edges) if len(line) > SIDE else line[edges]
        self._lines = np.concatenate([newest[None], self._lines[:-1]])
        self._show(self._lines)

    def frame(self) -> dict[str, Any]:
        return {'serial': self.serial, 'height': COARSE, 'width': SIDE}


class _Profile(Drawing):
    """Speeds of the layers of an ADCP, the nearest above and the newest at the right."""

    shape = 'plain'
    topics: ClassVar[Mapping[str, bool]] = {'profile': True}

    def __init__(self, sensor: Sensor) -> None:
        super().__init__(sensor)
        self._speeds = np.zeros((COARSE // 2, SIDE))

    def take(self, topic: str, message: Any) -> None:
        """Move the picture to the left by a reading; its fastest layer is white."""
        del topic
        points = points_of(message).reshape(-1)
        if 'u' not in (points.dtype.names or ()):
            return
        speed = np.nan_to_num(np.hypot(points['u'].astype(float), points['v'].astype(float)))
        rows = np.arange(COARSE // 2) * len(speed) // (COARSE // 2)
        self._speeds = np.concatenate([self._speeds[:, 1:], speed[rows, None]], axis=1)
        self._show(255 * self._speeds / max(float(self._speeds.max()), 1e-6))

    def frame(self) -> dict[str, Any]:
        return {'serial': self.serial, 'height': COARSE // 2, 'width': SIDE}


class _Echogram(Drawing):
    """Profiles of an echo sounder or a profiling sonar: the newest at the right, far is below."""

    shape = 'plain'
    topics: ClassVar[Mapping[str, bool]] = {'profile': True}

    def __init__(self, sensor: Sensor) -> None:
        super().__init__(sensor)
        self._echoes = np.zeros((COARSE // 2, SIDE), np.uint8)

    def take(self, topic: str, message: Any) -> None:
        """Move the picture to the left by a ping."""
        del topic
        line = np.frombuffer(bytes(message.data), np.uint8)
        if message.encoding != 'mono8' or message.height != 1 or not line.size:
            return
        rows = np.arange(COARSE // 2) * len(line) // (COARSE // 2)
        newest = np.maximum.reduceat(line, rows) if len(line) > COARSE // 2 else line[rows]
        self._echoes = np.concatenate([self._echoes[:, 1:], newest[:, None]], axis=1)
        self._show(self._echoes)

    def frame(self) -> dict[str, Any]:
        return {'serial': self.serial, 'height': COARSE // 2, 'width': SIDE}


DRAWINGS: Mapping[str, type[Drawing]] = {
    'adcp': _Profile,
    'dvl': _Beams,
    'echo_sounder': _Echogram,
    'imaging_sonar': _Fan,
    'multibeam': _Swath,
    'profiler': _Echogram,
    'scanning_sonar': _Sweep,
    'side_scan': _Waterfall,
}
"""Drawings by kind of sensor; the others have none."""
