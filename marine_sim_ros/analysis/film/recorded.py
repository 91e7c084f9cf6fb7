# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures that a bag has of a camera, for a film that is not rendered anew."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.analysis.bags.reading import Bag
from marine_sim_ros.analysis.film.messages import messages_of
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require

__all__ = ['RecordedPictures', 'recorded_pictures']

_TYPES = ('sensor_msgs/msg/CompressedImage', 'sensor_msgs/msg/Image')
_ENDS = ('/image/compressed', '/image', '/image_raw/compressed', '/image_raw')
_ORDERS = {'rgb8': [0, 1, 2], 'bgr8': [2, 1, 0], 'mono8': [0, 0, 0]}
"""Which numbers of a pixel are red, green and blue."""
_DATA = {'16UC1': 'u2', 'mono16': 'u2', '32FC1': 'f4'}
"""Encodings of labels and depths, which are no colours."""


@dataclass(frozen=True)
class RecordedPictures:
    """Pictures of a topic.

    Attributes:
        bag: path of the bag.
        topic: name of the topic.
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
                    image = _decoded(found(), self.topic)
            yield time, image


def recorded_pictures(bag: Bag, namespace: str, camera: str) -> RecordedPictures:
    """Return the pictures of a vehicle's camera.

    Args:
        bag: the bag.
        namespace: of the vehicle.
        camera: name of the camera, or of a topic of pictures; empty: the first.

    Raises:
        RecordingError: the bag has no pictures of it.
    """
    there = [n for n, kind, count in bag.topics if kind in _TYPES and count]
    of_cameras = [n for end in _ENDS for n in there if n.endswith(end)]
    of_vehicle = [n for n in of_cameras if n.startswith(f'/{namespace}/')] or of_cameras
    named = [n for n in of_vehicle if camera in n.split('/')] if camera else of_vehicle
    found = [camera] if camera in there else [n for n in named if 'right' not in n.split('/')]
    if not found:
        known = ', '.join(there) or 'none'
        which = f' of {camera!r}' if camera else ''
        raise RecordingError(
            f'{bag.path}: has no recorded pictures{which}; its topics of pictures: {known}; '
            'leave out --recorded to render them'
        )
    stamps = [stamp for stamp, _ in messages_of(bag.path, found[0])]
    return RecordedPictures(bag.path, found[0], np.maximum.accumulate(stamps))


def _decoded(message: Any, topic: str) -> np.ndarray:
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
