# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Camera: a colour picture of the scene through the water, its calibration, and its depths.

It points along x of its link or <origin>; its frame is the optical one (REP 103): z ahead, x to
the right, y down. The picture is rendered on a graphics card, or in software where there is none.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.random import stamp_generator
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.camera.lenses import EQUIDISTANT, PLUMB_BOB, Lens, height_above_water
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_at_a_time,
)

if TYPE_CHECKING:
    from marine_sim_ros.sensors.camera.rendering import Rendered

__all__ = ['CAMERA', 'Camera', 'exposure', 'lens_of', 'picture']

_WHITE = 0.8
"""Of the brightest pixel: what automatic exposure makes of a white surface in daylight."""
_MAX_GAIN = 100.0
"""Of automatic exposure: in the dark it stays dark."""


@declaration(frozen=True)
class Camera:
    """Parameters of a camera."""

    width: float = number(640.0, 1.0, 4096.0, '', 'pixels along x')
    height: float = number(480.0, 1.0, 4096.0, '', 'pixels along y')
    field_of_view: float = number(
        80.0, 1.0, 179.0, 'deg', 'from the left to the right edge, distortion aside'
    )
    distortion: tuple[float, ...] = number(
        (0.0,) * 5, -10.0, 10.0, '', 'k1 k2 p1 p2 k3 of plumb_bob; k1 k2 k3 k4 of equidistant'
    )
    equidistant: float = number(
        0.0, 0.0, 1.0, '', '1: a fisheye lens, equidistant in place of plumb_bob'
    )
    depth: float = number(0.0, 0.0, 1.0, '', '1: the topic depth too')
    segmentation: float = number(0.0, 0.0, 1.0, '', '1: the topic segmentation too')
    baseline: float = number(
        0.0, 0.0, 10.0, 'm', 'to a second camera on its right; 0: there is none'
    )
    compressed: float = number(
        0.0, 0.0, 1.0, '', '1: JPEG is sent and recorded, and the raw picture on demand'
    )
    exposure: float = number(
        0.0, 0.0, 1e6, '', 'gain from light to pixels; 0: automatic, by the daylight at its depth'
    )
    noise: float = number(0.0, 0.0, 255.0, '', 'standard deviation of a pixel, of 255')
    samples: float = number(
        1.0, 1.0, 8.0, '', 'rays of a pixel along each side: smooth edges, but slower'
    )
    light: float = number(
        0.0, 0.0, 1e3, '', 'light of the lamps at 1 m, beside daylight below the surface'
    )
    light_level: float = number(
        1.0, 0.0, 1.0, '', 'brightness of the lamps until the topic `lights` gives another'
    )
    light_position: tuple[float, ...] = number(
        (0.0, 0.1, 0.0), -10.0, 10.0, 'm', 'of the lamps in its frame'
    )
    light_beam: float = number(
        135.0, 1.0, 180.0, 'deg', 'of the lamps, between the directions of no light'
    )


def lens_of(spec: Camera) -> Lens:
    """Return the lens of a camera."""
    return Lens(
        int(spec.width),
        int(spec.height),
        math.radians(spec.field_of_view),
        EQUIDISTANT if spec.equidistant >= 0.5 else PLUMB_BOB,
        tuple(spec.distortion),
    )


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the image (h, w, 3) and what else is asked for: see the topics."""
    if state.position.ndim > 1:
        times = np.broadcast_to(inputs.time, len(state.position))
        # What a camera does not need may have no rows.
        all_inputs = inputs._replace(
            time=times, acceleration=state.velocity, supply=state.position
        )
        rows = [
            _measure(
                sensor,
                State(*(x[i] for x in state)),
                environment.at(float(time)),
                all_inputs.at(i),
            )
            for i, time in enumerate(times)
        ]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    from marine_sim_ros.sensors.seen_bodies import with_moving_parts

    spec, time = sensor.spec, float(inputs.time)
    environment = with_moving_parts(environment, inputs)
    rotation = rotation_matrix(state.orientation)
    eye, axes = state.position + rotation @ sensor.position, rotation @ sensor.rotation
    view = picture(spec, environment, state, eye, axes, time)
    result = {'image': view.image}
    if spec.baseline:
        aside = spec.baseline * axes[:, 0]
        lit = np.array(spec.light_position) - [spec.baseline, 0.0, 0.0]
        other = replace(spec, light_position=tuple(lit), exposure=exposure(spec, environment, eye))
        result['right'] = picture(other, environment, state, eye + aside, axes, time).image
    if spec.depth >= 0.5:
        result['depth'] = view.depth
    if spec.segmentation >= 0.5:
        result['segmentation'] = view.labels
    return result


def exposure(spec: Camera, environment: Environment, eye: np.ndarray) -> float:
    """Return the gain from light to pixels of a camera whose eye is at a place (3,)."""
    return spec.exposure or _automatic_gain(environment, height_above_water(environment, eye))


def picture(
    spec: Camera,
    environment: Environment,
    state: State,
    eye: np.ndarray,
    turn: np.ndarray,
    time: float,
) -> Rendered:
    """Return image, depth and labels at a place.

    Args:
        environment: water, scene and vehicles.
        state: of the vehicle whose parts ``environment.looks`` returns.
        eye: (3,) map, m.
        turn: (3, 3) v_map = R v_camera, optical frame.
        time: s, of the ripples on the water.

    Raises:
        MissingPackageError: moderngl or OpenGL is missing.
    """
    # Here, as every vehicle has this module among the kinds of sensors: drawing needs twenty.
    from marine_sim_ros.sensors.camera.lenses import Lamp, View
    from marine_sim_ros.sensors.camera.particles import with_particles, with_silt
    from marine_sim_ros.sensors.camera.rendering import render

    environment = environment.seen_at(eye)
    beam = math.cos(math.radians(spec.light_beam) / 2)
    lamp = Lamp(spec.light * spec.light_level, np.array(spec.light_position), beam)
    gain, lens = exposure(spec, environment, eye), lens_of(spec)
    view = View(eye, turn, gain, lamp, time, state.position, state.orientation)
    rendered = render(lens, int(spec.samples), environment, view)
    image = rendered.image
    if environment.optics.particles:
        image = with_particles(image, rendered.depth, lens, environment, view)
    if environment.silt is not None and environment.sediment is not None:
        image = with_silt(image, rendered.depth, lens, environment, view)
    return rendered._replace(image=image)


def _automatic_gain(environment: Environment, height: float) -> float:
    """Return the gain for a white surface in the daylight at a height above the water, m."""
    brightest = float(np.max(environment.optics.daylight(-height)))
    return min(_WHITE / brightest, _MAX_GAIN)


@lru_cache(maxsize=1)
def _quantiles() -> np.ndarray:
    """Return 65,536 values (65536,) of a normal number that are equally likely, to ±4.3.

    To look one up takes a third of the time of drawing one, and pixels are whole numbers.
    """
    from statistics import NormalDist

    normal, count = NormalDist(), 2**16
    return np.array([normal.inv_cdf((i + 0.5) / count) for i in range(count)], np.float32)


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return the images with white noise of each pixel and colour."""
    del faults
    spec = sensor.spec
    if not spec.noise:
        return readings
    generator = stamp_generator(seed, sensor.name, int(stamps))
    table = np.float32(spec.noise) * _quantiles()

    def add_noise(image: np.ndarray) -> np.ndarray:
        noise = np.take(table, generator.integers(0, len(table), image.shape, np.uint16))
        noise += image
        # In place: a picture has a million numbers.
        np.clip(np.rint(noise, out=noise), 0, 255, out=noise)
        return noise.astype(np.uint8)

    return {**readings, **{n: add_noise(readings[n]) for n in ('image', 'right') if n in readings}}


def _message(values: np.ndarray, encoding: str) -> Mapping[str, Any]:
    """Return the fields of a sensor_msgs/Image of pixels (h, w) or (h, w, 3)."""
    height, width = values.shape[:2]
    data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    return {
        'height': height,
        'width': width,
        'encoding': encoding,
        'step': len(data) // height,
        'data': data,
    }


def _image(sensor: Sensor, readings: Readings, name: str = 'image') -> Mapping[str, Any]:
    del sensor
    return _message(np.asarray(readings[name], np.uint8), 'rgb8')


def _encode_jpeg(sensor: Sensor, readings: Readings, name: str = 'image') -> Mapping[str, Any]:
    """Return the image as JPEG."""
    del sensor
    pillow = require('PIL.Image', 'camera/image/compressed')
    file = io.BytesIO()
    pillow.fromarray(np.asarray(readings[name], np.uint8)).save(file, 'JPEG', quality=85)
    return {'format': 'rgb8; jpeg compressed bgr8', 'data': np.frombuffer(file.getvalue(), 'u1')}


def _depth(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the depth along the axis (REP 118), infinite where nothing is."""
    del sensor
    return _message(np.asarray(readings['depth'], '<f4'), '32FC1')


def _segmentation(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return _message(np.asarray(readings['segmentation'], '<u2'), '16UC1')


def _info(sensor: Sensor, readings: Readings, baseline: float = 0.0) -> Mapping[str, Any]:
    """Return the calibration; of a camera to the right of another one: P has −f b."""
    del readings
    lens = lens_of(sensor.spec)
    count = 4 if lens.model == EQUIDISTANT else 5
    projection = np.concatenate([lens.matrix, np.zeros((3, 1))], axis=1)
    projection[0, 3] = -lens.focal_length * baseline
    return {
        'height': lens.height,
        'width': lens.width,
        'distortion_model': lens.model,
        'd': np.array(lens.distortion[:count]),
        'k': lens.matrix.reshape(-1),
        'r': np.eye(3).reshape(-1),
        'p': projection.reshape(-1),
    }


def _right_info(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    return _info(sensor, readings, sensor.spec.baseline)


def _pictures(name: str, reading: str, has_camera: Callable[[Sensor], bool]) -> list[SensorTopic]:
    """Return the topics of a picture, raw and as JPEG, of which one is made on demand."""

    def raw(sensor: Sensor) -> bool:
        return has_camera(sensor) and sensor.spec.compressed < 0.5

    def sends_jpeg(sensor: Sensor) -> bool:
        return has_camera(sensor) and sensor.spec.compressed >= 0.5

    image, jpeg = partial(_image, name=reading), partial(_encode_jpeg, name=reading)
    raw_type, small = 'sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage'
    return [
        SensorTopic(name, raw_type, image, when=raw),
        SensorTopic(f'{name}/compressed', small, jpeg, when=raw, on_demand=True),
        SensorTopic(f'{name}/compressed', small, jpeg, when=sends_jpeg),
        SensorTopic(name, raw_type, image, when=sends_jpeg, on_demand=True),
    ]


def _stereo(sensor: Sensor) -> bool:
    return bool(sensor.spec.baseline)


CAMERA = SensorModel(
    'camera',
    _measure,
    disturb=_disturb,
    spec=Camera,
    rate=15.0,
    exact='its lens and mounting are described, and camera_info has them',
    label='Camera',
    executable='sensor',
    video='image',
    optical=True,
    sees=True,
    needs=('joints', 'tether', 'rotors', 'silt'),
    topics=(
        *_pictures('image', 'image', lambda sensor: True),
        SensorTopic('camera_info', 'sensor_msgs/msg/CameraInfo', _info),
        *_pictures('right/image', 'right', _stereo),
        SensorTopic('right/camera_info', 'sensor_msgs/msg/CameraInfo', _right_info, when=_stereo),
        SensorTopic(
            'depth', 'sensor_msgs/msg/Image', _depth, when=lambda s: bool(s.spec.depth >= 0.5)
        ),
        SensorTopic(
            'segmentation',
            'sensor_msgs/msg/Image',
            _segmentation,
            when=lambda s: bool(s.spec.segmentation >= 0.5),
        ),
    ),
)
