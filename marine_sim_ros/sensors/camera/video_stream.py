# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Video stream of a camera: H.264 over RTP and UDP, as from a BlueROV2.

A thread encodes and sends the newest picture; the caller never waits, and pictures that arrive
faster than they are encoded are dropped. Packets follow RFC 6184 with payload type 96.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.core.extras import require

__all__ = [
    'CODEC',
    'ENCODER',
    'KEY_PERIOD',
    'PACKET',
    'RATE',
    'RTP_CLOCK',
    'VideoStream',
    'even_edges',
]

KEY_PERIOD = 1.0
"""s of wall time between pictures that stand alone, with the SPS and PPS before them."""
PACKET = 1200
"""Bytes of a packet, at most: less than any network's."""
RTP_CLOCK = 90_000
"""Hz, of H.264 over RTP (RFC 6184, section 8.2.1)."""
RATE = 30.0
"""Hz, of a camera without a rate."""
CODEC = 'libx264'
ENCODER = {
    'preset': 'ultrafast',
    'tune': 'zerolatency',
    'profile': 'baseline',
    'crf': '23',
    'forced-idr': '1',
    'g': '100000',
    'threads': '1',
}
"""No picture waits for a later one; each key picture is an IDR."""


def even_edges(image: np.ndarray) -> np.ndarray:
    """Return an image (h, w, 3) without odd edges: 4:2:0 has one colour for two by two pixels."""
    height, width = (n // 2 * 2 for n in image.shape[:2])
    return np.ascontiguousarray(image[:height, :width])


class VideoStream:
    """A stream to one address.

    Attributes:
        address: host and port.
    """

    def __init__(
        self, address: tuple[str, int], warn: Callable[[str], object], rate: float = RATE
    ) -> None:
        """Start the thread; the stream begins with the first picture.

        Args:
            address: host and port, of :func:`video_address`.
            warn: is told, in that thread, why a picture could not be sent.
            rate: Hz of the camera, for receivers that want to know; stamps say when pictures are.

        Raises:
            MissingPackageError: PyAV is missing, or was built without x264.
        """
        self._av = require('av', 'video')
        if CODEC not in self._av.codecs_available:
            raise MissingPackageError(
                f'video: PyAV has no {CODEC}; expected the wheel of PyPI: pip install av'
            )
        self.address, self._warn = address, warn
        self._rate = Fraction(rate).limit_denominator(1000)
        self._newest: np.ndarray | None = None
        self._changed, self._closing = threading.Condition(), False
        self._container: Any = None
        self._stream: Any = None
        self._size: tuple[int, ...] = ()
        self._start, self._key = time.monotonic(), -KEY_PERIOD
        self._thread = threading.Thread(target=self._run, name='video', daemon=True)
        self._thread.start()

    def show(self, image: np.ndarray) -> None:
        """Send a picture (h, w, 3) uint8, RGB, as soon as the one before is sent."""
        with self._changed:
            self._newest = image
            self._changed.notify()

    def close(self) -> None:
        """Send no more."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(2.0)

    def _run(self) -> None:
        image: np.ndarray | None = None
        while True:
            with self._changed:
                # A paused run's last picture is repeated, for who comes late.
                self._changed.wait_for(
                    lambda: self._closing or self._newest is not None, KEY_PERIOD
                )
                if self._closing:
                    break
                image, self._newest = (image if self._newest is None else self._newest), None
            if image is not None:
                try:
                    self._send(even_edges(image))
                except (OSError, self._av.error.FFmpegError) as error:
                    self._warn(f'video to udp://{self.address[0]}:{self.address[1]}: {error}')
                    self._close()
        self._close()

    def _send(self, image: np.ndarray) -> None:
        if self._size != image.shape or self._container is None:
            self._close()
            self._open(image)
        now = time.monotonic() - self._start
        frame = self._av.VideoFrame.from_ndarray(image, format='rgb24')
        # Wall time, as a camera has: a run may be slow, paused, or reset.
        frame.pts, frame.time_base = round(now * RTP_CLOCK), Fraction(1, RTP_CLOCK)
        if now - self._key >= KEY_PERIOD:
            self._key = now
            frame.pict_type = self._av.video.frame.PictureType.I
        for packet in self._stream.encode(frame):
            self._container.mux(packet)

    def _target(self) -> tuple[Any, dict[str, str]]:
        """Return where packets go, an address or what has write, and options of the packets."""
        host, port = self.address
        host_text = f'[{host}]' if ':' in host else host
        # To this machine from this machine alone.
        local_option = '&localaddr=127.0.0.1' if host in ('127.0.0.1', 'localhost') else ''
        return f'udp://{host_text}:{port}?pkt_size={PACKET}{local_option}', {}

    def _open(self, image: np.ndarray) -> None:
        target, options = self._target()
        # RTCP would come to the port of the video.
        options = {'rtpflags': 'skip_rtcp', 'payload_type': '96', **options}
        self._container = self._av.open(target, 'w', format='rtp', options=options)
        self._stream = self._container.add_stream(CODEC, rate=self._rate, options=ENCODER)
        self._stream.height, self._stream.width = image.shape[:2]
        self._stream.pix_fmt = 'yuv420p'
        self._stream.codec_context.time_base = Fraction(1, RTP_CLOCK)
        self._size, self._key = image.shape, -KEY_PERIOD

    def _close(self) -> None:
        container, self._container = self._container, None
        if container is not None:
            try:
                container.close()
            except (OSError, self._av.error.FFmpegError):
                return  # nothing of it was sent
