# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Camera: a colour picture of the scene through the water, its calibration, and its depths.

It looks along x of its link or <origin>; its frame is the optical one (REP 103): z ahead, x to the
right, y down. The picture is rendered on a graphics card, or by software where there is none.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.numbers import number
from marine_sim_ros.core.random import key_bits
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.kinds import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.lenses import EQUIDISTANT, PLUMB_BOB, Lens
from marine_sim_ros.sensors.rendering import render
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_at_a_time,
)
from marine_sim_ros.sensors.view import Lamp, View

__all__ = ['CAMERA', 'Camera', 'lens_of', 'picture']

_WHITE = 0.8
"""Of the brightest pixel: what automatic exposure makes of a white surface in daylight."""
_MOST_GAIN = 100.0
"""Of automatic exposure: in the dark it stays dark."""


@dataclass(frozen=True)
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
    """Return the gain, the image (h, w, 3) and, where it is asked for, the depth (h, w) in m."""
    if state.position.ndim > 1:
        times = np.broadcast_to(inputs.time, len(state.position))
        rows = [
            _measure(
                sensor,
                State(*(x[i] for x in state)),
                environment.at(float(times[i])),
                inputs._replace(time=times[i]),
            )
            for i in range(len(state.position))
        ]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    turn = rotation_matrix(state.orientation)
    eye = state.position + turn @ sensor.position
    gain, image, depth = picture(
        sensor.spec, environment, state, eye, turn @ sensor.rotation, float(inputs.time)
    )
    result = {'gain': np.array(gain), 'image': image}
    return {**result, 'depth': depth} if sensor.spec.depth >= 0.5 else result


def picture(
    spec: Camera,
    environment: Environment,
    state: State,
    eye: np.ndarray,
    turn: np.ndarray,
    time: float,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the gain, the image (h, w, 3) uint8 and the depth (h, w) in m at a place.

    Args:
        spec: the camera.
        environment: water, scene and vehicles.
        state: of the vehicle whose parts ``environment.looks`` returns.
        eye: (3,) map, m.
        turn: (3, 3) v_map = R v_camera, optical frame.
        time: s, of the ripples on the water.

    Raises:
        MissingPackageError: moderngl or OpenGL is missing.
    """
    gain = spec.exposure or _automatic(environment, float(eye[2]))
    lamp = Lamp(
        spec.light, np.array(spec.light_position), math.cos(math.radians(spec.light_beam) / 2)
    )
    view = View(eye, turn, gain, lamp, time, state.position, state.orientation)
    image, depth = render(lens_of(spec), int(spec.samples), environment, view)
    return gain, image, depth


def _automatic(environment: Environment, height: float) -> float:
    """Return the gain that makes a white surface in the daylight at a height (m) bright."""
    brightest = float(np.max(environment.optics.daylight(-height)))
    return min(_WHITE / brightest, _MOST_GAIN)


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return the image with white noise of each pixel and colour."""
    del faults
    spec = sensor.spec
    if not spec.noise:
        return readings
    stream = np.random.Philox(key=key_bits(seed, sensor.name), counter=int(stamps) << 128)
    image = readings['image']
    noise = np.random.Generator(stream).standard_normal(image.shape, np.float32)
    noisy = np.clip(np.round(image + np.float32(spec.noise) * noise), 0, 255)
    return {**readings, 'image': noisy.astype(np.uint8)}


def _image(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    spec = sensor.spec
    return {
        'height': int(spec.height),
        'width': int(spec.width),
        'encoding': 'rgb8',
        'step': 3 * int(spec.width),
        'data': np.asarray(readings['image'], np.uint8).reshape(-1),
    }


def _compressed(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the image as JPEG."""
    del sensor
    pillow = require('PIL.Image', 'camera/image/compressed')
    file = io.BytesIO()
    pillow.fromarray(np.asarray(readings['image'], np.uint8)).save(file, 'JPEG', quality=85)
    return {'format': 'rgb8; jpeg compressed bgr8', 'data': np.frombuffer(file.getvalue(), 'u1')}


def _depth(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the depth along the axis (REP 118), infinite where nothing is."""
    spec = sensor.spec
    return {
        'height': int(spec.height),
        'width': int(spec.width),
        'encoding': '32FC1',
        'step': 4 * int(spec.width),
        'data': np.asarray(readings['depth'], '<f4').reshape(-1).view(np.uint8),
    }


def _info(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del readings
    lens = lens_of(sensor.spec)
    count = 4 if lens.model == EQUIDISTANT else 5
    return {
        'height': lens.height,
        'width': lens.width,
        'distortion_model': lens.model,
        'd': np.array(lens.distortion[:count]),
        'k': lens.matrix.reshape(-1),
        'r': np.eye(3).reshape(-1),
        'p': np.concatenate([lens.matrix, np.zeros((3, 1))], axis=1).reshape(-1),
    }


CAMERA = SensorModel(
    'camera',
    _measure,
    disturb=_disturb,
    spec=Camera,
    rate=15.0,
    label='Camera',
    executable='sensor',
    video='image',
    optical=True,
    sees=True,
    topics=(
        SensorTopic('image', 'sensor_msgs/msg/Image', _image),
        SensorTopic(
            'image/compressed', 'sensor_msgs/msg/CompressedImage', _compressed, on_demand=True
        ),
        SensorTopic('camera_info', 'sensor_msgs/msg/CameraInfo', _info),
        SensorTopic(
            'depth', 'sensor_msgs/msg/Image', _depth, when=lambda s: bool(s.spec.depth >= 0.5)
        ),
    ),
)
