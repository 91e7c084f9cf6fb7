# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors as PX4's simulator interface has them: HIL_SENSOR, HIL_GPS, ODOMETRY and others.

Source: PX4 main of 2026-03-02 (02e73e3), src/modules/simulation/simulator_mavlink, and
https://mavlink.io/en/messages/common.html.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from marine_sim_ros.autopilot.conventions import frd, geographic_state, ned, ned_quaternion
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.core.spatial import rotation_matrix, to_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors.estimated_odometry import LatestReading
from marine_sim_ros.sensors.noise import white_noise
from marine_sim_ros.sensors.sensor_model import Readings
from marine_sim_ros.sensors.series import is_due

__all__ = ['Px4Instruments', 'sensor_messages']


# Readings of sensors that the vehicle has, and of perfect ones in place of those that it lacks.

STEPS = {'accelerometer': 0.0048, 'gyroscope': 0.0011, 'magnetometer': 1e-7, 'barometer': 0.01}
"""Noise of perfect sensors, m/s², rad/s, T, m: PX4 takes a reading that stands still for that of a
broken sensor. The first two are the steps of PX4's converters, the others are assumed."""


class Px4Instruments(Instruments):
    """The sensors of a vehicle, as PX4 reads them."""

    def __init__(self, vehicle: Vehicle, *, seed: int = 0, noise: bool = True) -> None:
        """Find the first barometer and magnetometer too; arguments as Instruments."""
        super().__init__(vehicle, seed=seed, noise=noise)
        self._barometer, self._magnetometer = (
            next((LatestReading(s, seed) for s in vehicle.sensors if s.kind == kind), None)
            for kind in ('barometer', 'magnetometer')
        )
        self._told: dict[str, int] = {}
        self._before = -1

    def sense(self, stamp: int, state: State, environment: Environment) -> None:
        """Read what is due at a tick (ns): all but the IMU."""
        super().sense(stamp, state, environment)
        before, self._before = self._before, stamp
        if self._magnetometer is not None:
            self._magnetometer.take(stamp, state, environment, self.faults)
        if self._barometer is not None and is_due(SLOW_PERIOD, stamp, before):
            self._barometer.take(stamp, state, environment, self.faults)

    def inertial(
        self, stamp: int, state: State, acceleration: np.ndarray, environment: Environment
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return specific force, m/s², and angular velocity (3,), rad/s, in body axes (FLU)."""
        force, rates = super().inertial(stamp, state, acceleration, environment)
        if self.has_imu:
            return force, rates
        return force + self._flicker('accelerometer', stamp), rates + self._flicker(
            'gyroscope', stamp
        )

    def _flicker(self, name: str, stamp: int) -> np.ndarray:
        return white_noise(self._seed, f'px4/{name}', stamp, STEPS[name])

    def magnetic_field(
        self, stamp: int, state: State, environment: Environment
    ) -> np.ndarray | None:
        """Return the flux density (3,) in body axes (FLU), T; None: the sensor is silent."""
        if self._magnetometer is None:
            field = to_body(state.orientation, environment.origin.magnetic_field)
            return np.asarray(field + self._flicker('magnetometer', stamp))
        readings, sensor = self._magnetometer.readings, self._magnetometer.sensor
        return None if readings is None else sensor.rotation @ readings['magnetic_field']

    def height(self, stamp: int, state: State, environment: Environment) -> float | None:
        """Return the height above the surface by the barometer, m; None: it is silent."""
        if self._barometer is None:
            return float(state.position[2] + self._flicker('barometer', stamp)[0])
        readings, spec = self._barometer.readings, self._barometer.sensor.spec
        if readings is None:
            return None
        density = environment.density(state.position, spec.fluid_density)
        weight = float(np.ravel(density)[0]) * environment.gravity
        return (spec.atmospheric_pressure - float(readings['pressure'])) / weight

    def new_reading(self, sensor: LatestReading) -> Readings | None:
        """Return the reading of a sensor where it has come since this was last asked."""
        name, came = sensor.sensor.name, sensor.came
        is_new = self._told.get(name, -1) != came
        self._told[name] = came
        return sensor.readings if is_new else None

    def new_velocity(self, state: State, *, due: bool) -> np.ndarray | None:
        """Return the velocity over ground (3,), FLU, m/s, where the DVL has a new one.

        Args:
            due: whether a vehicle without a DVL, whose velocity is known, tells it now.
        """
        if self._dvl is None:
            return self.velocity(state) if due else None
        return None if self.new_reading(self._dvl) is None else self.velocity(state)

    def new_ranges(self) -> Iterator[tuple[int, float]]:
        """Yield number and range (m) of the altimeters that have a new one."""
        for k, altimeter in enumerate(self._altimeters):
            if (readings := self.new_reading(altimeter)) is not None:
                yield k, float(readings['range'])


# Messages of a frame.

IMU, MAG, BARO = 0b111111, 0b111000000, 0b1101000000000
"""HIL_SENSOR_UPDATED_FLAGS: what a message tells anew."""
SLOW_PERIOD = 20_000_000
"""ns between two readings of compass and barometer, assumed."""
FIX_PERIOD = 100_000_000
"""ns between two positions, or velocities, of a vehicle without a sensor of them."""
FIX_ACCURACY, FIX_3D, SATELLITES = 0.3, 3, 12
SEA_LEVEL_PRESSURE, SEA_LEVEL_TEMPERATURE, LAPSE_RATE = 101325.0, 288.15, -0.0065
AIR_GAS_CONSTANT, STANDARD_GRAVITY = 287.1, 9.80665
"""Standard atmosphere of PX4's src/lib/atmosphere: Pa, K, K/m, J/(kg K), m/s²."""
FACES_DOWN, ULTRASOUND, LONGEST = 25, 1, 10_000
"""MAV_SENSOR_ORIENTATION, MAV_DISTANCE_SENSOR, and cm."""
BODY_FRD, LOCAL_FRD, VISION = 12, 20, 2
"""MAV_FRAME of a DVL's velocity and of the position that is left out; MAV_ESTIMATOR_TYPE."""
DVL_VARIANCE = 1e-3
"""m²/s², assumed."""


def air_pressure(altitude: float) -> float:
    """Return the pressure (Pa) of the standard atmosphere at an altitude (m), below 0 too.

    PX4 has no model of water, and takes the altitude from the pressure of air.
    """
    share = 1.0 + LAPSE_RATE * altitude / SEA_LEVEL_TEMPERATURE
    exponent = -STANDARD_GRAVITY / (LAPSE_RATE * AIR_GAS_CONSTANT)
    return SEA_LEVEL_PRESSURE * float(share**exponent)


def sensor_messages(
    mav: Any,
    sensed: Px4Instruments,
    state: State,
    environment: Environment,
    imu: tuple[np.ndarray, np.ndarray],
    moment: int,
    span: tuple[int, int],
    *,
    dvl: bool,
    truth_period: int,
) -> Iterator[Any]:
    """Yield the messages of a frame, HIL_SENSOR last: PX4 steps when it comes.

    Args:
        mav: pymavlink's MAVLink, which makes messages.
        imu: specific force and angular velocity (3,), FLU, m/s² and rad/s.
        moment: time that noise is drawn for, ns.
        span: PX4's time of the frame before and of this one, ns.
        dvl: whether PX4 is told velocities in place of positions.
        truth_period: ns between two HIL_STATE_QUATERNION; 0: it wants none.
    """
    before, now = span
    time_usec, placed = now // 1000, geographic_state(state, environment.origin)
    fix_due = is_due(FIX_PERIOD, now, before)
    if dvl:
        velocity = sensed.new_velocity(state, due=fix_due)
        if velocity is not None:
            yield _odometry(mav, time_usec, velocity)
    elif sensed.receiver is None:
        if fix_due:
            over_ground = rotation_matrix(placed.orientation) @ placed.velocity[:3]
            place = _geodetic(state, environment)
            yield _gps(mav, time_usec, place, over_ground, FIX_ACCURACY)
    elif (readings := sensed.new_reading(sensed.receiver)) is not None:
        accuracy = sensed.receiver.sensor.spec.horizontal_noise
        yield _gps(mav, time_usec, readings['geodetic'], readings['velocity'], accuracy)
    for k, distance in sensed.new_ranges():
        yield _range(mav, time_usec, k, distance)
    if truth_period and is_due(truth_period, now, before):
        yield _truth(mav, time_usec, placed, _geodetic(state, environment), imu[0])
    slow = is_due(SLOW_PERIOD, now, before)
    field = sensed.magnetic_field(moment, state, environment) if slow else None
    height = sensed.height(moment, state, environment) if slow else None
    altitude = environment.origin.altitude + (height or 0.0)
    yield mav.hil_sensor_encode(
        time_usec,
        *frd(imu[0]),
        *frd(imu[1]),
        *((0.0, 0.0, 0.0) if field is None else frd(1e4 * field)),  # gauss
        air_pressure(altitude) / 100.0,  # hPa
        0.0,
        altitude,
        SEA_LEVEL_TEMPERATURE - 273.15,
        IMU | (MAG if field is not None else 0) | (BARO if height is not None else 0),
    )


def _geodetic(state: State, environment: Environment) -> np.ndarray:
    """Return latitude, longitude (°) and altitude (m) (3,) of ``base_link``."""
    latitude, longitude = environment.origin.coordinates(state.position)
    return np.array(
        [float(latitude), float(longitude), state.position[2] + environment.origin.altitude]
    )


def _gps(
    mav: Any, time_usec: int, place: np.ndarray, velocity: np.ndarray, accuracy: float
) -> Any:
    """Return HIL_GPS of latitude, longitude (°), altitude (m), and velocity ENU (3,), m/s."""
    latitude, longitude, altitude = np.asarray(place).tolist()
    north, east, down = (round(100.0 * v) for v in ned(np.asarray(velocity)))
    course = round(math.degrees(math.atan2(east, north)) * 100.0) % 36000
    error = max(1, min(round(100.0 * accuracy), 65534))
    return mav.hil_gps_encode(
        time_usec,
        FIX_3D,
        *(round(latitude * 1e7), round(longitude * 1e7), round(altitude * 1e3)),
        *(error, error),
        *(round(math.hypot(north, east)), north, east, down),
        course,
        SATELLITES,
    )


def _odometry(mav: Any, time_usec: int, velocity: np.ndarray) -> Any:
    """Return ODOMETRY of a velocity (3,), FLU, m/s, and nothing else."""
    unknown, variance = [math.nan] * 3, [0.0] * 21
    variance[0] = variance[6] = variance[11] = DVL_VARIANCE
    return mav.odometry_encode(
        time_usec,
        *(LOCAL_FRD, BODY_FRD),
        *unknown,
        [math.nan] * 4,
        *frd(velocity),
        *unknown,
        [math.nan] * 21,
        variance,
        estimator_type=VISION,
    )


def _range(mav: Any, time_usec: int, number: int, distance: float) -> Any:
    """Return DISTANCE_SENSOR of a range (m) downwards; one beyond the bounds met nothing."""
    centimetres = round(100.0 * min(distance, 655.0)) if math.isfinite(distance) else 65535
    return mav.distance_sensor_encode(
        time_usec // 1000 % 2**32,
        *(1, LONGEST, centimetres),
        ULTRASOUND,
        number,
        FACES_DOWN,
        0,
        signal_quality=100,
    )


def _truth(mav: Any, time_usec: int, placed: State, place: np.ndarray, force: np.ndarray) -> Any:
    """Return HIL_STATE_QUATERNION, which PX4 logs beside its estimate."""
    latitude, longitude, altitude = place.tolist()
    velocity = ned(rotation_matrix(placed.orientation) @ placed.velocity[:3])
    return mav.hil_state_quaternion_encode(
        time_usec,
        ned_quaternion(placed.orientation),
        *frd(placed.velocity[3:]),
        *(round(latitude * 1e7), round(longitude * 1e7), round(altitude * 1e3)),
        *(round(100.0 * v) for v in velocity),
        *(0, 0),
        *(round(v / STANDARD_GRAVITY * 1e3) for v in frd(force)),  # mG
    )
