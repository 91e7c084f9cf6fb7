# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inertial navigation system as an instrument: pose and velocity with the errors of its filter.

It has an inertial unit, a DVL and a pressure sensor of its own, and a GPS receiver at the surface.
Its horizontal position is the truth and an error δp with the rate δv:

- With bottom track δv is that of DVL-aided dead reckoning: v turned by the error of the heading,
  the error of scale of the DVL, and its noise. Straight on over the way L, δp is L times the
  error of heading across and L times that of scale along (Jalving, Gade, Svartveit, Willumsen and
  Sørhagen 2004, "DVL velocity aiding in the HUGIN 1000 integrated inertial navigation system",
  Modeling, Identification and Control 25(4)).
- Without bottom track, for the time τ, it is that of a free inertial navigator, one axis with
  Schuler feedback: δv = b/ω sin ω τ + ε R (1 − cos ω τ), with the bias b of the
  accelerometer, the drift ε of the gyroscope, and ω = √(g/R) (Titterton and Weston 2004,
  "Strapdown inertial navigation technology", section 12.2).
- A fix at the surface is taken in by a Kalman filter of one state for both axes:
  δp ← (1 − K) δp + K n, with K = P/(P + σ²), for a fix with the noise n of σ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.messages import message_fields, message_numbers
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import (
    cross,
    in_map,
    quaternion_product,
    rotation_matrix,
    rotation_vector_quaternion,
)
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import STANDARD_GRAVITY, Environment
from marine_sim_ros.environment.rays import first_hits
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.noise import constant_bias, slow_noise, white_noise
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_at_a_time,
    one_state_at_a_time,
)

__all__ = ['EARTH_RADIUS', 'INS', 'SCHULER']

EARTH_RADIUS = 6.371e6
"""m."""
SCHULER = math.sqrt(STANDARD_GRAVITY / EARTH_RADIUS)
"""ω of a pendulum as long as the radius of the Earth, rad/s: a period of 84 min."""
_HOUR = 3600.0


@declaration(frozen=True)
class Ins:
    """Parameters of an inertial navigation system; biases are constant in a run."""

    heading_bias: float = number(
        0.0, 0.0, 3.2, 'rad', 'standard deviation of the error of the heading'
    )
    heading_wander: float = number(0.0, 0.0, 3.2, 'rad', 'flicker noise of the heading')
    attitude_bias: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of the errors of roll and pitch'
    )
    attitude_noise: float = number(
        0.0, 0.0, 1.0, 'rad', 'white noise of roll, pitch and heading of a reading'
    )
    velocity_noise: float = number(
        0.0, 0.0, 10.0, 'm/s', 'white noise of the velocity of a reading, per axis'
    )
    velocity_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of the DVL'
    )
    track_altitude: float = number(
        200.0, 0.0, 1e4, 'm', 'greatest altitude of the bottom track; 0: it has none'
    )
    accelerometer_bias: float = number(
        0.0, 0.0, 1.0, 'm/s²', 'standard deviation of the bias of the horizontal accelerometers'
    )
    gyro_drift: float = number(
        0.0, 0.0, 1000.0, 'deg/h', 'standard deviation of the drift of the horizontal gyroscopes'
    )
    depth_noise: float = number(0.0, 0.0, 100.0, 'm', 'white noise of the depth of a reading')
    depth_bias: float = number(
        0.0, 0.0, 100.0, 'm', 'standard deviation of the error of the depth'
    )
    fix_noise: float = number(
        0.0, 0.0, 1e3, 'm', 'standard deviation of a fix at the surface; 0: it takes none'
    )


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the true pose and velocity of the sensor, and what aids it.

    ``pose`` (..., 7) is in map, ``velocity`` (..., 3) over ground in its axes, ``rates`` (..., 3);
    ``aided`` (...) is 1 with bottom track, ``dry`` 1 where a GPS antenna is out of the water.
    """
    del inputs
    nu = state.velocity
    turning = cross(nu[..., 3:], np.broadcast_to(sensor.position, nu[..., 3:].shape))
    position = in_map(state.position, state.orientation, sensor.position[None, :])[..., 0, :]
    orientation = quaternion_product(state.orientation, sensor.place.quaternion)
    dry = position[..., 2] > environment.elevation(position)
    aided = np.zeros(position.shape[:-1])
    if sensor.spec.track_altitude and environment.scene is not None:
        down = np.broadcast_to(np.array([0.0, 0.0, -1.0]), position.shape)
        hits = first_hits(environment, position, down, sensor.spec.track_altitude)
        number_of_water = len(environment.scene)
        bottom = np.isfinite(hits.distance) & (hits.surface != number_of_water)
        aided = np.where(bottom & ~dry, 1.0, 0.0)
    return {
        'pose': np.concatenate([position, orientation], axis=-1),
        'velocity': (nu[..., :3] + turning) @ sensor.rotation,
        'rates': nu[..., 3:] @ sensor.rotation,
        'aided': aided,
        'dry': np.where(dry, 1.0, 0.0),
    }


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return readings with the errors of attitude, depth and velocity.

    ``pose`` keeps the true horizontal position, of which :func:`_navigate` adds the error:
    ``rate`` (..., 2) is that of the error with bottom track, ``free`` (..., 4) are b and ε R of
    both axes in map, ``fix`` (..., 2) is the noise of a fix.
    """
    del faults
    spec, name = sensor.spec, sensor.name
    shape = np.shape(stamps)

    def bias(what: str, deviation: float) -> np.ndarray:
        return constant_bias(seed, f'{name}/{what}', deviation)

    def noise(what: str, deviation: float) -> np.ndarray:
        return white_noise(seed, f'{name}/{what}', stamps, deviation)

    yaw = bias('heading_bias', spec.heading_bias)[0] + np.zeros(shape)
    if spec.heading_wander:
        yaw = yaw + spec.heading_wander * slow_noise(seed, name, stamps, instability=1.0)[..., 2]
    tilt = bias('attitude_bias', spec.attitude_bias)[:2]
    jitter = noise('attitude', spec.attitude_noise)
    angles = np.stack([tilt[0] + 0 * yaw, tilt[1] + 0 * yaw, yaw], axis=-1) + jitter
    pose, true = readings['pose'], readings['velocity']
    orientation = quaternion_product(rotation_vector_quaternion(angles), pose[..., 3:])
    scale = bias('velocity_scale_error', spec.velocity_scale_error)[0]
    white = noise('velocity', spec.velocity_noise)
    velocity = true * (1 + scale) + white
    # The filter smooths the jitter of the attitude, not the heading's error.
    turn = rotation_matrix(pose[..., 3:])
    estimated = matvec(rotation_matrix(_about_up(yaw)), matvec(turn, velocity))
    rate = estimated - matvec(turn, true)
    depth = bias('depth_bias', spec.depth_bias)[0] + noise('depth', spec.depth_noise)[..., 0]
    drift = math.radians(spec.gyro_drift) / _HOUR
    free = [
        *bias('accelerometer_bias', spec.accelerometer_bias)[:2],
        *(EARTH_RADIUS * bias('gyro_drift', drift)[:2]),
    ]
    height = pose[..., 2:3] - depth[..., None]
    return {
        'pose': np.concatenate([pose[..., :2], height, orientation], axis=-1),
        'velocity': velocity,
        'rates': readings['rates'],
        'aided': readings['aided'],
        'dry': readings['dry'],
        'rate': rate[..., :2],
        'speed': np.sqrt(np.sum(true * true, axis=-1)),
        'free': np.zeros((*shape, 4)) + free,
        'fix': noise('fix', spec.fix_noise)[..., :2],
    }


def _about_up(yaw: np.ndarray) -> np.ndarray:
    return np.asarray(rotation_vector_quaternion(np.stack([0 * yaw, 0 * yaw, yaw], axis=-1)))


class Navigation(NamedTuple):
    """State of the filter at a reading.

    Attributes:
        stamp: ns.
        error: (2,) of the position, map, m.
        rate: (2,) of that error, m/s.
        variance: of the position along an axis by white noise, m².
        way: length of the way since the last fix, with bottom track, m.
        lost: stamp at which the bottom track was lost, ns; −1: it was not.
    """

    stamp: int
    error: np.ndarray
    rate: np.ndarray
    variance: float
    way: float
    lost: int


def _navigate(
    sensor: Sensor, memory: Navigation | None, stamp: int, readings: Readings
) -> tuple[Readings, Navigation]:
    """Return readings with ``position`` (3,) and ``position_variance`` (3,), and the memory.

    P along a horizontal axis is Σ (σ_v dt)² of the white noise, (σ_ψ² + σ_k²) L² of the way L with
    bottom track, and (σ_b/2)² τ⁴ + (σ_ε R ω²/6)² τ⁶ of the time τ without it, the first terms of
    the closed forms.
    """
    spec = sensor.spec
    tracked = bool(readings['aided'])
    first = memory is None
    memory = memory or Navigation(stamp, np.zeros(2), np.zeros(2), 0.0, 0.0, -1)
    dt = (stamp - memory.stamp) / NANOSECONDS
    lost = -1 if tracked else (memory.lost if memory.lost >= 0 else stamp)
    rate = np.asarray(readings['rate'])
    if not tracked:
        phase = SCHULER * (stamp - lost) / NANOSECONDS
        acceleration, drift = readings['free'][:2], readings['free'][2:]
        rate = acceleration / SCHULER * math.sin(phase) + drift * (1 - math.cos(phase))
    error = memory.error + (0.0 if first else 0.5 * dt * (memory.rate + rate))
    variance, way = memory.variance, memory.way
    if tracked:
        variance += (spec.velocity_noise * dt) ** 2
        way += float(readings['speed']) * dt
    known = variance + _systematic(spec, way, 0.0 if tracked else (stamp - lost) / NANOSECONDS)
    if readings['dry'] and spec.fix_noise:
        gain = known / (known + spec.fix_noise**2)
        error = (1 - gain) * error + gain * np.asarray(readings['fix'])
        variance, way, lost = (1 - gain) * known, 0.0, (stamp if lost >= 0 else -1)
        known = variance
    memory = Navigation(stamp, error, rate, variance, way, lost)
    position = np.asarray(readings['pose'][:3]).copy()
    position[:2] += error
    height = spec.depth_noise**2 + spec.depth_bias**2
    return {
        **readings,
        'position': position,
        'position_variance': np.array([known, known, height]),
    }, memory


def _systematic(spec: Ins, way: float, time: float) -> float:
    """Return the variance along an axis by constant errors, m²."""
    drift = math.radians(spec.gyro_drift) / _HOUR * EARTH_RADIUS * SCHULER**2
    wander = 3.3 * spec.heading_wander**2  # of flicker noise over the octaves of its spectrum
    tracked = (spec.heading_bias**2 + wander + spec.velocity_scale_error**2) * way**2
    free = (spec.accelerometer_bias * time**2 / 2) ** 2 + (drift * time**3 / 6) ** 2
    return tracked + free


_ODOMETRY = 'nav_msgs/msg/Odometry'


def _fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return pose in map and twist in the axes of the sensor."""
    spec = sensor.spec
    tilt = spec.attitude_bias**2 + spec.attitude_noise**2
    yaw = spec.heading_bias**2 + 3.3 * spec.heading_wander**2 + spec.attitude_noise**2
    pose = np.diag([*readings['position_variance'].tolist(), tilt, tilt, yaw])
    twist = np.diag([spec.velocity_noise**2] * 3 + [0.0] * 3)
    return message_fields(
        _ODOMETRY,
        position=readings['position'],
        orientation=readings['pose'][3:],
        linear=readings['velocity'],
        angular=readings['rates'],
        pose_covariance=pose.reshape(-1),
        twist_covariance=twist.reshape(-1),
    )


_pose_numbers = message_numbers(_ODOMETRY, 'position', 'pose_covariance')


def _numbers(message: Any) -> tuple[float, ...]:
    values = _pose_numbers(message)
    return (*values[:3], *(values[3 + 7 * i] for i in range(3)))


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del sensor, state
    return ReadingComparison(numbers[:, :3], ideal['pose'][:, :3], np.sqrt(numbers[:, 3:]))


INS = SensorModel(
    'ins',
    _measure,
    disturb=_disturb,
    spec=Ins,
    follow=_navigate,
    rate=10.0,
    sees=True,
    label='INS',
    topics=(SensorTopic('odometry', _ODOMETRY, _fields, frame='map'),),
    charts=(SensorChart('odometry', 'position', 'm', _numbers, _compare, parts=('x', 'y', 'z')),),
)
