# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures and labels of frames: masks, boxes, depths and poses, and their files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.analysis.film import millimetres
from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import replace_file
from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.core.spatial import matrix_quaternion, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.dataset.plan import DatasetPlan, Setup, setup_of
from marine_sim_ros.dataset.views import DrawnFrame, Thing, draw_frame, split_of
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.rays import Hits
from marine_sim_ros.sensors.camera.camera import lens_of
from marine_sim_ros.sensors.camera.lenses import Lens
from marine_sim_ros.sensors.echo_profiles import Fan, SonarPing, fan_hits, profiles
from marine_sim_ros.sensors.imaging_sonar import fan_picture, sonar_rays
from marine_sim_ros.sensors.sensor_model import Readings, SensorInputs
from marine_sim_ros.sensors.series import disturb_readings

__all__ = [
    'FRAMES_PER_BLOCK',
    'FrameWriter',
    'Picture',
    'frame_file',
    'run_lengths',
    'take_pictures',
    'write_whole',
]

FRAMES_PER_BLOCK = 4
"""Frames that a worker computes at a time."""
_NO_ECHO = 1e-9
"""Energy of a bin, beside a perfect reflector's, up to which it has no label: −90 dB."""


class Picture(NamedTuple):
    """Picture of a sensor in a frame, with the labels of its pixels.

    Attributes:
        image: (h, w, 3) or (h, w) uint8.
        numbers: (h, w) uint16, number of the thing that a pixel sees, from 1; 0: none.
        classes: (h, w) uint8, number of the class that a pixel sees; 0: none.
        depth: (h, w) m, infinite where nothing is; None of a sonar.
        readings: readings of the sensor, noise included.
        annotations: entry of each visible thing in the label files.
    """

    image: np.ndarray
    numbers: np.ndarray
    classes: np.ndarray
    depth: np.ndarray | None
    readings: Readings
    annotations: tuple[dict[str, Any], ...]


def take_pictures(plan: DatasetPlan, setup: Setup, frame: DrawnFrame) -> dict[str, Picture]:
    """Return the pictures of a frame, by the name of the sensor."""
    return {sensor.name: _take(plan, setup, frame, sensor) for sensor in frame.sensors}


def _take(plan: DatasetPlan, setup: Setup, frame: DrawnFrame, sensor: Sensor) -> Picture:
    model, inputs = SENSORS[sensor.kind], SensorInputs.none(frame.time)
    ideal = model.measure(sensor, frame.state, frame.environment, inputs)
    readings = disturb_readings(sensor, ideal, frame.number * NANOSECONDS, plan.seed, ())
    if sensor.kind == 'camera':
        image, depth, labels = readings['image'], ideal['depth'], ideal['segmentation']
        ranges = depth * _stretch(lens_of(sensor.spec))
        clear = _contrast(frame, sensor, ranges) >= plan.least_contrast
    else:
        image, depth = fan_picture(sensor.spec, readings['image']), None
        labels, ranges = _sonar_labels(frame, sensor, ideal)
        clear = np.ones(labels.shape, bool)
    numbers, classes = _masks(setup, frame, labels, clear)
    pose = _pose(frame, sensor)
    counts = np.bincount(numbers.reshape(-1), minlength=len(frame.things) + 1)
    annotations = tuple(
        _annotation(thing, i, numbers == i, ranges, pose)
        for i, thing in enumerate(frame.things, 1)
        if counts[i] >= plan.least_pixels
    )
    return Picture(image, numbers, classes, depth, readings, annotations)


class _Pose(NamedTuple):
    """Place (3,), m, and axes (3, 3), v_map = R v_sensor, of a sensor in map."""

    place: np.ndarray
    axes: np.ndarray


def _pose(frame: DrawnFrame, sensor: Sensor) -> _Pose:
    rotation = rotation_matrix(frame.state.orientation)
    place = frame.state.position + rotation @ sensor.position
    return _Pose(place, rotation @ sensor.rotation)


@lru_cache(maxsize=8)
def _stretch(lens: Lens) -> np.ndarray:
    """Return the ratio (h, w) of the range of a pixel to its depth along the axis."""
    rows, columns = np.mgrid[: lens.height, : lens.width]
    rays = lens.directions(np.stack([columns, rows], axis=-1).astype(float))
    return np.asarray(1.0 / np.maximum(rays[..., 2], 1e-6))


def _contrast(frame: DrawnFrame, sensor: Sensor, ranges: np.ndarray) -> np.ndarray:
    """Return the fraction exp(−c r) of an object's light at a camera, for its clearest colour."""
    environment = frame.environment.seen_at(_pose(frame, sensor).place)
    attenuation = float(np.min(environment.optics.attenuation))
    return np.exp(-attenuation * np.where(np.isfinite(ranges), ranges, np.inf))


def _sonar_labels(
    frame: DrawnFrame, sensor: Sensor, ideal: Readings
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels (h, w) of the picture of a sonar's fan, and the ranges of its pixels, m.

    A bin has the label of the surface whose echo is the strongest in it; one without any has 0.
    """
    spec = sensor.spec
    rays, weights = sonar_rays(spec)
    fan = Fan(*(ideal[name] for name in Fan._fields))
    ping = SonarPing(
        sensor, frame.state, frame.environment, rays, spec.max_range, spec.frequency, _surface_of
    )
    surfaces = fan_hits(ping).strength
    edges, bins = (spec.min_range, spec.max_range), int(spec.bins)
    best = np.full((len(rays), bins), _NO_ECHO)
    labels = np.zeros((len(rays), bins), np.uint16)
    for number in np.unique(surfaces[np.isfinite(fan.range)]).astype(int).tolist():
        part = fan._replace(strength=np.where(surfaces == number, fan.strength, 0.0))
        energy = profiles(part, weights, edges, bins)
        labels[energy > best] = frame.labels.get(number, 0)
        best = np.maximum(best, energy)
    middles = np.linspace(*edges, bins, endpoint=False) + (edges[1] - edges[0]) / bins / 2
    return fan_picture(spec, labels), fan_picture(spec, np.tile(middles, (len(rays), 1)))


def _surface_of(
    environment: Environment, hits: Hits, rays: Array, frequency: float, loss: float
) -> Array:
    """Return the number of the surface of each hit, in place of the strength of its echo."""
    del environment, rays, frequency, loss
    return hits.surface


def _masks(
    setup: Setup, frame: DrawnFrame, labels: np.ndarray, clear: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of things (h, w), from 1, and the numbers of classes (h, w)."""
    numbers = np.zeros(labels.shape, np.uint16)
    classes = np.zeros(labels.shape, np.uint8)
    for i, thing in enumerate(frame.things, 1):
        seen = (labels == thing.label) & clear
        numbers[seen], classes[seen] = i, setup.number(thing.category)
    for value, area in frame.areas.items():
        classes[(labels == value) & clear] = setup.number(area)
    return numbers, classes


def _annotation(
    thing: Thing, number: int, mask: np.ndarray, ranges: np.ndarray, pose: _Pose
) -> dict[str, Any]:
    """Return the entry of a thing in the label files, by its mask (h, w)."""
    rows, columns = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
    top, left = int(rows[0]), int(columns[0])
    height, width = int(rows[-1]) - top + 1, int(columns[-1]) - left + 1
    at_edge = top == 0 or left == 0
    at_edge |= top + height == mask.shape[0] or left + width == mask.shape[1]
    rotation = pose.axes.T @ rotation_matrix(thing.orientation)
    return {
        'number': number,
        'name': thing.name,
        'class': thing.category,
        'box': [left, top, width, height],
        'area': int(mask.sum()),
        'truncated': at_edge,
        'range': round(float(np.min(ranges[mask])), 4),
        'position': (pose.axes.T @ (thing.position - pose.place)).round(6).tolist(),
        'orientation': matrix_quaternion(rotation).round(9).tolist(),
        'size': thing.size.round(6).tolist(),
        'mask': run_lengths(mask),
    }


def run_lengths(mask: np.ndarray) -> list[int]:
    """Return the run lengths of a mask (h, w), column by column, as COCO has them.

    The first is that of pixels outside, and may be 0.
    """
    flat = mask.T.reshape(-1)
    changes = np.nonzero(flat[1:] != flat[:-1])[0] + 1
    lengths: list[int] = np.diff([0, *changes, flat.size]).tolist()
    return [0, *lengths] if flat[0] else lengths


# Files of frames: written atomically, the frame's own last, so that a run can be interrupted.


def frame_file(folder: Path, number: int) -> Path:
    """Return the file of a frame, which is there when all its files are."""
    return folder / 'frames' / f'{number:06d}.json'


class FrameWriter:
    """Job that writes blocks of frames, in a worker process."""

    def __init__(self, plan: DatasetPlan, folder: Path) -> None:
        """Take a plan, and the folder of its data set."""
        self._plan, self._folder = plan, folder

    @cached_property
    def _setup(self) -> Setup:
        return setup_of(self._plan)

    def __call__(self, block: int, report: Callable[[float, str], object]) -> int:
        """Write the missing frames of a block; return their number.

        Raises:
            MarineSimError: a frame that cannot be drawn or written.
        """
        numbers = range(
            block * FRAMES_PER_BLOCK, min((block + 1) * FRAMES_PER_BLOCK, self._plan.frames)
        )
        missing = [n for n in numbers if not frame_file(self._folder, n).is_file()]
        for i, number in enumerate(missing):
            report(i / len(missing), 'rendering')
            self._write(draw_frame(self._plan, self._setup, number))
        return len(missing)

    def _write(self, frame: DrawnFrame) -> None:
        pictures = take_pictures(self._plan, self._setup, frame)
        described = {
            sensor.name: self._write_picture(frame, sensor, pictures[sensor.name])
            for sensor in frame.sensors
        }
        content = {
            'frame': frame.number,
            'split': split_of(self._plan, frame.number),
            'time': frame.time,
            'target': frame.target,
            'water_type': frame.water_type,
            'parameters': frame.values,
            'position': frame.state.position.tolist(),
            'orientation': frame.state.orientation.tolist(),
            'pictures': described,
        }
        write_whole(frame_file(self._folder, frame.number), json.dumps(content).encode())

    def _write_picture(
        self, frame: DrawnFrame, sensor: Sensor, picture: Picture
    ) -> dict[str, Any]:
        """Write the files of a picture; return its entry in the frame's file."""
        plan, folder, name = self._plan, self._folder / sensor.name, f'{frame.number:06d}'
        files = {f'images/{name}.{plan.pictures}': picture.image}
        files |= {f'objects/{name}.png': picture.numbers, f'classes/{name}.png': picture.classes}
        if picture.depth is not None:
            files[f'depth/{name}.png'] = millimetres(picture.depth)
        else:
            files[f'beams/{name}.png'] = np.asarray(picture.readings['image'], np.uint8)
        if 'right' in picture.readings:
            files[f'right/{name}.png'] = picture.readings['right']
        for file, values in files.items():
            write_whole(folder / file, _encoded(values, Path(file).suffix))
        height, width = picture.image.shape[:2]
        boxes = ''.join(
            yolo_line(self._setup.number(a['class']) - 1, a['box'], (width, height))
            for a in picture.annotations
        )
        write_whole(folder / 'labels' / f'{name}.txt', boxes.encode())
        pose = _pose(frame, sensor)
        return {
            'file': f'{sensor.name}/images/{name}.{plan.pictures}',
            'width': width,
            'height': height,
            'position': pose.place.tolist(),
            'orientation': matrix_quaternion(pose.axes).tolist(),
            **_calibration(sensor),
            'objects': list(picture.annotations),
        }


def _calibration(sensor: Sensor) -> dict[str, Any]:
    """Return the lens of a camera, or the fan of a sonar."""
    spec = sensor.spec
    if sensor.kind != 'camera':
        return {
            'aperture': spec.aperture,
            'min_range': spec.min_range,
            'max_range': spec.max_range,
        }
    lens = lens_of(spec)
    return {
        'matrix': lens.matrix.tolist(),
        'distortion_model': lens.model,
        'distortion': list(lens.distortion),
    }


def yolo_line(category: int, box: Sequence[int], size: tuple[int, int]) -> str:
    """Return the line of a box: class from 0; middle, width and height over the picture's."""
    left, top, width, height = box
    middle = ((left + width / 2) / size[0], (top + height / 2) / size[1])
    shares = (*middle, width / size[0], height / size[1])
    return f'{category} {" ".join(f"{share:.6f}" for share in shares)}\n'


def _encoded(values: np.ndarray, suffix: str) -> bytes:
    """Return a picture as PNG or JPEG."""
    pillow, file = require('PIL.Image', 'pictures of a data set'), io.BytesIO()
    image = pillow.fromarray(values)
    if suffix == '.jpg':
        image.save(file, 'JPEG', quality=95)
    else:
        image.save(file, 'PNG', compress_level=3)
    return file.getvalue()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: an interruption leaves the old one, or none.

    Raises:
        RecordingError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        raise RecordingError(f'{path}: cannot be written: {error.strerror}') from None
