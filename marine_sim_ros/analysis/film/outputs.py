# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of a film: an MP4 file, a folder of PNG files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from marine_sim_ros.analysis.film.film import FilmFrame
from marine_sim_ros.analysis.film.overlay import with_text
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.sensors.camera.video_stream import even_edges

__all__ = ['FrameFolder', 'Output', 'VideoFile']

MAX_DEPTH = 65.535
"""m; the largest depth of a PNG of 16 bit in mm."""
_CODECS = ('libx264', 'h264', 'mpeg4')
"""The first that this build of FFmpeg has."""


class Output(Protocol):
    """Takes pictures one after the other."""

    def add(self, frame: FilmFrame) -> None:
        """Add a picture."""

    def close(self) -> None:
        """Finish the file."""


class VideoFile:
    """An MP4 with H.264, or with MPEG-4 where PyAV was built without it; odd edges are cut.

    Attributes:
        rate: pictures a second; it holds from the first picture on.
    """

    def __init__(self, path: Path, *, overlay: bool = True) -> None:
        """Keep where to write; the file begins with the first picture.

        Args:
            path: file to write.
            overlay: whether time, depth and heading are written into its pictures.

        Raises:
            MissingPackageError: PyAV is missing.
            RecordingError: the suffix is none of a film.
        """
        if path.suffix.lower() not in {'.mp4', '.mkv', '.mov'}:
            raise RecordingError(f'{path}: suffix {path.suffix!r}; expected .mp4, .mkv or .mov')
        self._av = require('av', 'a film')
        self._path, self.rate, self._overlay = path, Fraction(30), overlay
        self._container: Any = None
        self._stream: Any = None

    def add(self, frame: FilmFrame) -> None:
        """Encode a picture; raises RecordingError where it cannot be written."""
        if frame.image.dtype != np.uint8:
            raise RecordingError(
                f'{self._path}: depths and labels are no colours; expected --frames FOLDER, which '
                'has them as 16-bit PNG files'
            )
        image = even_edges(with_text(*frame) if self._overlay else frame.image)
        try:
            if self._container is None:
                self._open(*image.shape[1::-1])
            frame = self._av.VideoFrame.from_ndarray(image, format='rgb24')
            self._container.mux(self._stream.encode(frame))
        except (OSError, self._av.error.FFmpegError) as error:
            raise _unwritten(self._path, error) from None

    def _open(self, width: int, height: int) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._container = self._av.open(str(self._path), 'w')
        codec = next(name for name in _CODECS if name in self._av.codecs_available)
        self._stream = self._container.add_stream(codec, rate=self.rate)
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt = 'yuv420p'

    def close(self) -> None:
        """Write what the encoder still has."""
        if self._container is not None:
            try:
                self._container.mux(self._stream.encode(None))
                self._container.close()
            except (OSError, self._av.error.FFmpegError) as error:
                raise _unwritten(self._path, error) from None


class FrameFolder:
    """A folder of PNG files, frame_00001.png and so on, without overlay.

    Labels are 16-bit numbers as they were recorded; depths are 16-bit numbers in mm, 0 where
    nothing was seen within 65.535 m.
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder.

        Raises:
            MissingPackageError: Pillow is missing.
            RecordingError: it cannot be made.
        """
        self._pillow = require('PIL.Image', 'pictures of a film')
        self._folder, self._count = folder, 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritten(folder, error) from None

    def add(self, frame: FilmFrame) -> None:
        """Write a picture; raises RecordingError where it cannot be written."""
        image = frame.image
        if image.dtype == np.float32:
            seen = np.isfinite(image) & (image > 0) & (image <= MAX_DEPTH)
            image = np.where(seen, np.rint(1000 * np.where(seen, image, 0)), 0).astype(np.uint16)
        self._count += 1
        path = self._folder / f'frame_{self._count:05d}.png'
        try:
            self._pillow.fromarray(image).save(path)
        except OSError as error:
            raise _unwritten(path, error) from None

    def close(self) -> None:
        """Do nothing: each file is complete."""


def _unwritten(path: Path, error: Exception) -> RecordingError:
    reason = getattr(error, 'strerror', None) or error
    return RecordingError(f'{path}: cannot be written: {reason}')
