# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Film of a recorded run: cameras, rendered frames, overlay, MP4 and PNG outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from marine_sim_ros.analysis.film_sources import RecordedMotion, RecordedPictures, RecordedTether
from marine_sim_ros.core.errors import ParameterError, RecordingError, expected_one_of
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.spatial import projected_yaw, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.appearance import Appearance
from marine_sim_ros.model.propulsion import propeller_turns
from marine_sim_ros.model.vehicle import Sensor, ThrusterSet, Vehicle
from marine_sim_ros.scene.bodies import Body, VisiblePart
from marine_sim_ros.sensors.camera.camera import Camera, picture
from marine_sim_ros.sensors.camera.video_stream import even_edges
from marine_sim_ros.sensors.seen_bodies import NO_SURFACES, tether_body

__all__ = [
    'CHASE',
    'Cast',
    'Film',
    'FilmCamera',
    'FilmOutput',
    'FrameFolder',
    'VideoFile',
    'camera_of',
    'chase_camera',
    'frame_stamps',
    'millimetres',
    'overlay_text',
    'recorded_frames',
    'render_frames',
]


# Cameras of a film: one of the vehicle, or one that follows it.

CHASE = 'chase'
"""Name of the camera that follows the vehicle."""
_BEHIND, _ABOVE = 4.0, 1.6
"""Of the chase camera: times the radius of the vehicle."""


class FilmCamera(NamedTuple):
    """A camera: its parameters, its sensor (None: it follows), and the vehicle's radius, m."""

    spec: Camera
    sensor: Sensor | None
    radius: float

    def pose(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the eye (3,) in map, m, and v_map = R v_camera (3, 3), optical frame."""
        if self.sensor is not None:
            turn = np.asarray(rotation_matrix(state.orientation))
            return state.position + turn @ self.sensor.position, turn @ self.sensor.rotation
        yaw = float(projected_yaw(state.orientation))
        ahead = np.array([np.cos(yaw), np.sin(yaw), 0.0])
        up = np.array([0.0, 0.0, 1.0])
        eye = state.position + self.radius * (_ABOVE * up - _BEHIND * ahead)
        if state.position[2] < -self.radius:  # a diver stays below the surface
            eye[2] = min(eye[2], -0.1)
        look = state.position - eye
        look /= np.linalg.norm(look)
        right = np.cross(look, up)
        right /= np.linalg.norm(right)
        return eye, np.column_stack([right, np.cross(look, right), look])


def chase_camera(parts: tuple[VisiblePart, ...], width: int, height: int) -> FilmCamera:
    """Return a camera that follows a vehicle with these parts from behind and above."""
    far = [np.linalg.norm(p.position) + np.linalg.norm(p.size) / 2 for p in parts]
    spec = Camera(width=float(width), height=float(height), field_of_view=60.0)
    return FilmCamera(spec, None, float(max(far, default=0.5)))


def camera_of(vehicle: Vehicle, name: str) -> Sensor | None:
    """Return a camera of a vehicle; None for the one that follows it.

    Args:
        name: of a sensor, or ``chase``; empty: its first camera, else ``chase``.

    Raises:
        ParameterError: it has no such camera.
    """
    cameras = {s.name: s for s in vehicle.sensors if s.kind == 'camera'}
    if name == CHASE or not (name or cameras):
        return None
    if name and name not in cameras:
        expected = expected_one_of(name, [*cameras, CHASE])
        raise ParameterError(f'{vehicle.name} has no camera {name!r}; {expected}')
    return cameras[name] if name else next(iter(cameras.values()))


# Overlay of a film: time, depth, heading.

_EDGE = 0.02
"""Of the text from the corner, of the height of the picture."""
_HEIGHT = 0.045
"""Of the text, of the height of the picture."""
_MIN_LETTER_SIZE = 10.0
"""Pixels; smaller letters cannot be read."""


def overlay_text(time: float, state: State, origin: Origin) -> str:
    """Return time (s), depth of the origin (m), and heading clockwise from north (degrees).

    Args:
        time: s.
        state: in the map of an origin.
        origin: says where north is in its map.
    """
    ahead = np.asarray(rotation_matrix(state.orientation))[:, 0]
    heading = origin.compass(math.atan2(ahead[1], ahead[0]))
    # What rounds to 360 is 0.
    return f'{time:.2f} s   depth {-state.position[2]:.2f} m   heading {round(heading) % 360:03d}°'


def draw_text(image: np.ndarray, text: str) -> np.ndarray:
    """Return an image (h, w, 3) uint8 with a text in its upper left corner.

    Raises:
        MissingPackageError: Pillow is missing.
    """
    pillow = require('PIL.Image', 'the overlay of a film')
    draw = require('PIL.ImageDraw', 'the overlay of a film')
    font = require('PIL.ImageFont', 'the overlay of a film')
    height = image.shape[0]
    picture = pillow.fromarray(image)
    letters = font.load_default(max(_HEIGHT * height, _MIN_LETTER_SIZE))
    pen, corner = draw.Draw(picture), (_EDGE * height, _EDGE * height)
    pen.text(corner, text, (255, 255, 255), font=letters, stroke_width=1, stroke_fill=(0, 0, 0))
    return np.asarray(picture)


# Film of a recorded run: rendered pictures, or pictures that the bag has.

MAX_PICTURES = 1e7
"""Of a film: four days at 30 Hz."""
_EPOCH = 1e8
"""s; stamps beyond are of a wall clock, and are shown since the start."""


@dataclass(frozen=True, eq=False)
class Cast:
    """A vehicle of a film.

    Attributes:
        motion: how it moved.
        looks: how it looks.
        thrusters: whose rotors turn its propellers.
        tether: of it, or None.
    """

    motion: RecordedMotion
    looks: Appearance
    thrusters: ThrusterSet
    tether: RecordedTether | None = None

    def parts(self, time: float) -> tuple[VisiblePart, ...]:
        """Return the visible parts in the frame of the body at a stamp in s."""
        speed = self.motion.rotors(time, self.thrusters)
        turns = None if speed is None else propeller_turns(self.thrusters, speed, time)
        return self.looks.parts_at(self.motion.joints(time), turns)


@dataclass(frozen=True, eq=False)
class Film:
    """Sources and settings of a film.

    Attributes:
        camera: what it is taken with.
        main: the vehicle that carries the camera, or that it follows.
        others: further vehicles, by name.
        environment: water and scene.
    """

    camera: FilmCamera
    main: Cast
    others: dict[str, Cast]
    environment: Environment


def frame_stamps(
    motion: RecordedMotion, rate: float, start: float, end: float | None
) -> np.ndarray:
    """Return the stamps (n,) of pictures, s.

    Args:
        rate: pictures a second of the run.
        start: of the film, s since the first odometry.
        end: of the film, s since the first odometry; None: the last one.

    Raises:
        ParameterError: there is nothing between.
    """
    first, last = float(motion.stamps[0]), float(motion.stamps[-1])
    duration = last - first
    stop = duration if end is None else min(end, duration)
    if not 0 <= start <= stop:
        raise ParameterError(
            f'--start {start:g} --end {stop:g}: no picture between; the run has {duration:g} s'
        )
    count = (stop - start) * rate
    if not count < MAX_PICTURES:
        raise ParameterError(
            f'--start {start:g} --end {stop:g}: {count:.3g} pictures; expected fewer than '
            f'{MAX_PICTURES:g}, by --start, --end, --fps and --speed'
        )
    return first + start + np.arange(int(count + 1e-6) + 1) / rate


class FilmFrame(NamedTuple):
    """A picture (h, w, 3) uint8, or recorded depth or labels (h, w), and its overlay's text."""

    image: np.ndarray
    text: str


def render_frames(film: Film, times: np.ndarray) -> Iterator[FilmFrame]:
    """Yield the pictures at stamps (n,) in s.

    Raises:
        MissingPackageError: what renders is missing.
    """
    zero = _zero_stamp(film.main.motion)
    for time in times.tolist():
        state = film.main.motion.state(time)
        eye, turn = film.camera.pose(state)
        around = replace(
            film.environment.at(time - zero),
            looks=partial(film.main.parts, time),
            bodies=tuple(_bodies(film, time)),
        )
        image = picture(film.camera.spec, around, state, eye, turn, time - zero).image
        text = overlay_text(time - zero, state, film.environment.origin)
        yield FilmFrame(image, text)


def recorded_frames(
    pictures: RecordedPictures, motion: RecordedMotion, times: np.ndarray, *, origin: Origin
) -> Iterator[FilmFrame]:
    """Yield the recorded pictures at stamps (n,) in s, from the first one on.

    Args:
        motion: of the vehicle, for the overlay.
        times: s.
        origin: of the map, for the heading in the overlay.

    Raises:
        RecordingError: a picture cannot be decoded.
    """
    zero = _zero_stamp(motion)
    for time, image in pictures.at(times):
        yield FilmFrame(image, overlay_text(time - zero, motion.state(time), origin))


def _zero_stamp(motion: RecordedMotion) -> float:
    """Return the stamp, s, that a film shows as 0."""
    first = float(motion.stamps[0])
    return first if first > _EPOCH else 0.0


def _bodies(film: Film, time: float) -> Iterator[Body]:
    """Yield what else is seen at a stamp in s: the other vehicles and bodies, and tethers."""
    for name, one in film.others.items():
        state, looks = one.motion.state(time), partial(one.parts, time)
        yield Body(name, *NO_SURFACES, state.position, state.orientation, looks=looks)
    for number, one in enumerate((film.main, *film.others.values())):
        if one.tether is not None:
            yield tether_body(one.tether.at(time), one.tether.diameter, number)


# Outputs of a film: an MP4 file, a folder of PNG files.

MAX_DEPTH = 65.535
"""m; the largest depth of a PNG of 16 bit in mm."""
_CODECS = ('libx264', 'h264', 'mpeg4')
"""The first that this build of FFmpeg has."""


class FilmOutput(Protocol):
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
        image = even_edges(draw_text(*frame) if self._overlay else frame.image)
        try:
            if self._container is None:
                self._open(*image.shape[1::-1])
            frame = self._av.VideoFrame.from_ndarray(image, format='rgb24')
            self._container.mux(self._stream.encode(frame))
        except (OSError, self._av.error.FFmpegError) as error:
            raise _write_error(self._path, error) from None

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
                raise _write_error(self._path, error) from None


def millimetres(depth: np.ndarray) -> np.ndarray:
    """Return depths (h, w), m, as 16-bit numbers in mm; 0 where nothing is within 65.535 m."""
    seen = np.isfinite(depth) & (depth > 0) & (depth <= MAX_DEPTH)
    return np.where(seen, np.rint(1000 * np.where(seen, depth, 0)), 0).astype(np.uint16)


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
            raise _write_error(folder, error) from None

    def add(self, frame: FilmFrame) -> None:
        """Write a picture; raises RecordingError where it cannot be written."""
        image = frame.image
        if image.dtype == np.float32:
            image = millimetres(image)
        self._count += 1
        path = self._folder / f'frame_{self._count:05d}.png'
        try:
            self._pillow.fromarray(image).save(path)
        except OSError as error:
            raise _write_error(path, error) from None

    def close(self) -> None:
        """Do nothing: each file is complete."""


def _write_error(path: Path, error: Exception) -> RecordingError:
    reason = getattr(error, 'strerror', None) or error
    return RecordingError(f'{path}: cannot be written: {reason}')
