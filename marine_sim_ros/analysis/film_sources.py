# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded sources of a film: motion of vehicles and tethers, camera pictures."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from marine_sim_ros.bags.reading import Bag, bag_path, open_bag, read_bag
from marine_sim_ros.bags.roles import DISPLAY_TOPICS, row_converter
from marine_sim_ros.bags.vehicle_record import Channel, VehicleRecord
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.progress import ReportProgress, no_progress
from marine_sim_ros.core.spatial import normalize
from marine_sim_ros.core.state import NANOSECONDS, State, header_stamp
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle

__all__ = [
    'RecordedMotion',
    'RecordedPictures',
    'RecordedTether',
    'messages_of',
    'read_motion',
    'recorded_pictures',
    'recorded_tether',
]


# Messages of a topic of a bag, in recorded order.


def messages_of(bag: str, topic: str) -> Iterator[tuple[float, Callable[[], Any]]]:
    """Yield the stamp in s of each message, and what deserialises it.

    Args:
        topic: name of a topic of messages with a header.

    Raises:
        RecordingError: the bag cannot be read.
    """
    with open_bag(bag_path(bag), bag) as reader:
        connections = [c for c in reader.connections if c.topic == topic]
        for connection, _, data in reader.messages(connections):
            yield (
                header_stamp(data) / NANOSECONDS,
                partial(reader.deserialize, data, connection.msgtype),
            )


# Motion of the vehicles of a bag: poses, joints and rotors at any time.

_UNIT = 0.1
"""Of a quaternion's length from 1, at most."""
_JOINT = '_position'
"""Suffix of the labels of joints."""
_THRUST, _SPEED = '_thrust_N', '_rotor_rad_s'
"""Suffixes of the labels of thrusters."""
_SAME = 1e-6
"""s; stamps so near are the same one: those of pictures are sums of a period."""


@dataclass
class RecordedMotion:
    """Recorded poses, joints and rotors of a vehicle; stamps (n,) in s, each in order."""

    _poses: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _joints: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _rotors: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _names: tuple[str, ...] = ()
    _labels: tuple[str, ...] = ()
    stamps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    poses: np.ndarray = field(default_factory=lambda: np.zeros((0, 7)))

    def __call__(
        self, channel: Channel, stamps: np.ndarray, receipts: np.ndarray, rows: np.ndarray
    ) -> None:
        """Take rows of a bag as they come."""
        del receipts
        if channel.role == 'odom':
            # False for NaN too: such a message has no attitude.
            unit = np.abs(np.linalg.norm(rows[:, 3:7], axis=1) - 1) < _UNIT
            good = unit & np.all(np.isfinite(rows[:, :3]), axis=1)
            self._poses.append((stamps[good] / NANOSECONDS, rows[good, :7]))
        elif channel.role == 'joints':
            self._names = tuple(label.removesuffix(_JOINT) for label in channel.labels)
            self._joints.append((stamps / NANOSECONDS, rows))
        elif channel.role == 'thrust':
            self._labels = tuple(channel.labels)
            self._rotors.append((stamps / NANOSECONDS, rows))

    def finish(self) -> None:
        """Put what was taken in order."""
        if self._poses:
            self.stamps, self.poses = _in_order(self._poses)
        self._joints = [_in_order(self._joints)] if self._joints else []
        self._rotors = [_in_order(self._rotors)] if self._rotors else []

    def state(self, time: float) -> State:
        """Return place and attitude at a stamp in s, between the two next to it; at rest."""
        last = len(self.stamps) - 1
        i = int(np.clip(np.searchsorted(self.stamps, time, side='right') - 1, 0, max(last - 1, 0)))
        a, b = self.poses[i], self.poses[min(i + 1, last)]
        span = self.stamps[min(i + 1, last)] - self.stamps[i]
        share = float(np.clip((time - self.stamps[i]) / span, 0.0, 1.0)) if span > 0 else 0.0
        other = b[3:] if a[3:] @ b[3:] >= 0 else -b[3:]
        turn = normalize((1 - share) * a[3:] + share * other)
        return State(a[:3] + share * (b[:3] - a[:3]), np.asarray(turn), np.zeros(6))

    @property
    def has_odometry(self) -> bool:
        """Whether the bag has odometry, with poses or without."""
        return bool(self._poses)

    def joints(self, time: float) -> dict[str, float]:
        """Return the newest positions of the joints at a stamp in s, rad or m."""
        if not self._joints:
            return {}
        found = zip(self._names, _newest_row(*self._joints[0], time).tolist(), strict=True)
        return {name: value for name, value in found if np.isfinite(value)}

    def rotors(self, time: float, thrusters: ThrusterSet) -> np.ndarray | None:
        """Return the newest speeds (n,) of rotors at a stamp in s, rad/s; None: none is recorded.

        A speed that is not recorded is that of the thrust; of a thruster that is not, it is 0.
        """
        if not self._rotors:
            return None
        values = _newest_row(*self._rotors[0], time).tolist()
        known = dict(zip(self._labels, values, strict=True))
        thrust, speed = (
            np.array([known.get(f'{name}{end}', np.nan) for name in thrusters.names])
            for end in (_THRUST, _SPEED)
        )
        bollard = np.asarray(thrusters.speed_of_thrust(np.nan_to_num(thrust)))
        return np.where(np.isfinite(speed), speed, bollard)


def _newest_row(stamps: np.ndarray, rows: np.ndarray, time: float) -> np.ndarray:
    """Return the newest row at a stamp in s; the first one before it."""
    return np.asarray(rows[max(int(np.searchsorted(stamps, time + _SAME, side='right')) - 1, 0)])


def _in_order(blocks: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    stamps = np.concatenate([block[0] for block in blocks])
    order = np.argsort(stamps, kind='stable')
    return stamps[order], np.concatenate([block[1] for block in blocks])[order]


def read_motion(
    text: str, maps: Mapping[str, str], progress: ReportProgress = no_progress
) -> tuple[Bag, dict[str, RecordedMotion]]:
    """Return a bag and how its vehicles moved, by namespace.

    Args:
        text: path of a bag, of a recording's folder, or of a file.
        maps: theirs -> ours, as ``parse_maps`` gives it.
        progress: function that is called with the fraction that was read.

    Raises:
        RecordingError: it cannot be read, or no vehicle has an odometry.
    """
    motions: dict[str, RecordedMotion] = {}

    def sink(record: VehicleRecord) -> RecordedMotion:
        return motions.setdefault(record.name, RecordedMotion())

    bag = read_bag(text, maps=maps, rows=sink, progress=progress)
    for motion in motions.values():
        motion.finish()
    found = {name: motion for name, motion in motions.items() if len(motion.stamps)}
    if not found and any(motion.has_odometry for motion in motions.values()):
        raise RecordingError(
            f'{text}: its odometry lacks position or attitude throughout, which a film needs; '
            'expected a log with a position, of a GPS or a DVL'
        )
    if not found:
        raise RecordingError(
            f'{text}: has no odom with a position, height and attitude; '
            'expected a recorded run, or --map odom:=TOPIC'
        )
    return bag, found


# Recorded tether: its shapes, interpolated between messages.

_SHAPE = 'tether/shape'


@dataclass(frozen=True)
class RecordedTether:
    """Shapes of a tether.

    Attributes:
        stamps: (n,) s, n > 0, in order.
        shapes: n arrays (m, 3) of places along it in map, m.
        diameter: m.
    """

    stamps: np.ndarray
    shapes: tuple[np.ndarray, ...]
    diameter: float

    def at(self, time: float) -> np.ndarray:
        """Return the places (m, 3) at a stamp in s, between the two shapes next to it, map, m."""
        last = len(self.stamps) - 1
        i = int(np.clip(np.searchsorted(self.stamps, time, side='right') - 1, 0, last))
        a, b = self.shapes[i], self.shapes[min(i + 1, last)]
        span = self.stamps[min(i + 1, last)] - self.stamps[i]
        if span <= 0 or a.shape != b.shape:
            return a
        return np.asarray(a + np.clip((time - self.stamps[i]) / span, 0.0, 1.0) * (b - a))


def recorded_tether(bag: Bag, namespace: str, vehicle: Vehicle) -> RecordedTether | None:
    """Return the tether of a vehicle as a bag has it, or None.

    Args:
        vehicle: its description, which has the diameter.

    Raises:
        RecordingError: the bag cannot be read.
    """
    tether = vehicle.extensions.get('tether')
    topic = f'{namespace}/{_SHAPE}'
    there = [name for name, _, count in bag.topics if name.lstrip('/') == topic and count]
    if tether is None or not there:
        return None
    places = row_converter(DISPLAY_TOPICS[_SHAPE], 'nav_msgs/msg/Path')
    found = [(stamp, places(path())) for stamp, path in messages_of(bag.path, there[0])]
    found.sort(key=lambda one: one[0])
    stamps, shapes = zip(*found, strict=True)
    shapes = tuple(np.array(shape, float).reshape(-1, 3) for shape in shapes)
    return RecordedTether(np.array(stamps), shapes, tether.cable.diameter)


# Recorded camera pictures, for a film that is not rendered again.

_TYPES = ('sensor_msgs/msg/CompressedImage', 'sensor_msgs/msg/Image')
_IMAGE_SUFFIXES = ('/image/compressed', '/image', '/image_raw/compressed', '/image_raw')
_ORDERS = {'rgb8': [0, 1, 2], 'bgr8': [2, 1, 0], 'mono8': [0, 0, 0]}
"""Indices of red, green and blue in a pixel."""
_DATA = {'16UC1': 'u2', 'mono16': 'u2', '32FC1': 'f4'}
"""Encodings of labels and depths, which are no colours."""


@dataclass(frozen=True)
class RecordedPictures:
    """Pictures of a topic.

    Attributes:
        bag: path of the bag.
        stamps: (n,) s, n > 0, in the order of the bag.
    """

    bag: str
    topic: str
    stamps: np.ndarray

    @property
    def rate(self) -> float:
        """Pictures a second: 1 over the median of the time between them; of one alone 1."""
        between = np.diff(self.stamps)
        between = between[between > 0]
        return float(1.0 / np.median(between)) if len(between) else 1.0

    def at(self, times: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield stamps in s and pictures: the newest at times (n,) in order, s.

        A picture is (h, w, 3) uint8; labels are (h, w) uint16, depths (h, w) float32 in m.

        Raises:
            RecordingError: a picture cannot be decoded.
        """
        numbers = np.searchsorted(self.stamps, times + 1e-6, side='right') - 1
        messages = messages_of(self.bag, self.topic)
        last, image = -1, np.zeros((0, 0, 3), np.uint8)
        for time, number in zip(times.tolist(), numbers.tolist(), strict=True):
            if number < 0:
                continue  # before the first picture
            while last < number:
                _, found = next(messages)
                last += 1
                if last == number:
                    image = _decode_picture(found(), self.topic)
            yield time, image


def recorded_pictures(bag: Bag, namespace: str, camera: str) -> RecordedPictures:
    """Return the pictures of a vehicle's camera.

    Args:
        camera: name of the camera, or of a topic of pictures, as front/depth or in full; empty:
            the first.

    Raises:
        RecordingError: the bag has no pictures of it.
    """
    there = [n for n, kind, count in bag.topics if kind in _TYPES and count]
    of_cameras = [n for end in _IMAGE_SUFFIXES for n in there if n.endswith(end)]
    of_vehicle = [n for n in of_cameras if n.startswith(f'/{namespace}/')] or of_cameras
    named = [n for n in of_vehicle if camera in n.split('/')] if camera else of_vehicle
    full = [n for n in (camera, f'/{namespace}/{camera}') if n in there]
    found = full or [n for n in named if 'right' not in n.split('/')]
    if not found:
        known = ', '.join(there) or 'none'
        which = f' of {camera!r}' if camera else ''
        raise RecordingError(
            f'{bag.path}: has no recorded pictures{which}; its topics of pictures: {known}; '
            'leave out --recorded to render them'
        )
    stamps = [stamp for stamp, _ in messages_of(bag.path, found[0])]
    return RecordedPictures(bag.path, found[0], np.maximum.accumulate(stamps))


def _decode_picture(message: Any, topic: str) -> np.ndarray:
    """Return the picture of a message of either type, as :meth:`RecordedPictures.at`."""
    data = bytes(message.data)
    encoding = getattr(message, 'encoding', None)
    if encoding is None:
        pillow = require('PIL.Image', 'recorded pictures')
        try:
            return np.asarray(pillow.open(io.BytesIO(data)).convert('RGB'))
        except (OSError, SyntaxError) as error:
            raise RecordingError(f'{topic}: a picture cannot be decoded: {error}') from None
    if encoding in _DATA:
        dtype = np.dtype(_DATA[encoding]).newbyteorder('>' if message.is_bigendian else '<')
        rows = np.frombuffer(data, np.uint8).reshape(message.height, message.step)
        used = np.ascontiguousarray(rows[:, : message.width * dtype.itemsize])
        return used.view(dtype).astype(dtype.newbyteorder('='))
    if encoding not in _ORDERS:
        known = ', '.join([*_ORDERS, *_DATA])
        raise RecordingError(f'{topic}: pictures are {encoding!r}; expected one of: {known}')
    rows = np.frombuffer(data, np.uint8).reshape(message.height, message.step)
    count = 1 if encoding == 'mono8' else 3
    pixels = rows[:, : count * message.width].reshape(message.height, message.width, count)
    return np.ascontiguousarray(pixels[..., _ORDERS[encoding]])
