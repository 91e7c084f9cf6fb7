# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""A reference estimator: error-state Kalman filters of many seeds at once (IMU, DVL, depth).

It knows the datasheet of each sensor and nothing of the simulation. Every number of its noise
follows from the parameters of the sensors; nothing is tuned.

State, of the IMU's place: attitude R (body to map), velocity u over ground (body axes), position p
(map), biases of gyroscopes and accelerometers, error of scale of the DVL. The true attitude is
R exp(θ), so that the errors obey (Solà 2017, Quaternion kinematics for the error-state Kalman
filter, section 7, with u in body axes)

    θ' = −ω × θ − b_g − n_g,   u' = −ω × u + [g_b]× θ − [u]× (b_g + n_g) − b_a − n_a,
    p' = R u − R [u]× θ.

Flicker noise of a bias has no state of finite size. It is the sum of fifteen octaves, each linear
between normal numbers of the variance a² = 3 ln 2 B²/(2π), a period T apart: its variance is 2/3
a² on average and its density at low frequencies a² T, which a first-order Gauss-Markov process of
this variance has with the time constant 3/4 T. Octaves up to 2 s are white noise here; the others
make up GROUPS, each one process with the variance and the density of its sum.
"""

import math

import numpy as np
from scipy.spatial.transform import Rotation

from marine_sim_ros.core.spatial import skew

GROUPS = [(4.0, 8.0), (16.0, 32.0), (64.0, 128.0, 256.0), (512.0, 1024.0, 2048.0, 4096.0)]
"""Periods of octaves, s, that are one state each."""
WHITE = (0.25, 0.5, 1.0, 2.0)
ATTITUDE, VELOCITY, POSITION = slice(0, 3), slice(3, 6), slice(6, 9)
BIASES = [slice(9 + 3 * i, 12 + 3 * i) for i in range(2 * len(GROUPS))]
"""Of the gyroscopes, then of the accelerometers."""
SCALE = 9 + 6 * len(GROUPS)
SIZE = SCALE + 1


class InertialNoise:
    """Noise of the gyroscopes or the accelerometers of an IMU, from its Allan parameters."""

    def __init__(self, spec, part, rate):
        def term(name):
            return getattr(spec, f'{part}_{name}')

        octave = 3 * math.log(2) / (2 * math.pi) * term('bias_instability') ** 2
        rounding = term('resolution') ** 2 / 12 / rate
        self.density = term('noise') ** 2 + rounding + octave * sum(WHITE)
        """Of white noise, two-sided, unit²/Hz."""
        self.variance = np.array([2 / 3 * octave * len(group) for group in GROUPS])
        self.time = np.array([0.75 * sum(group) / len(group) for group in GROUPS])
        self.drive = 2 * self.variance / self.time
        self.drive[-1] += term('random_walk') ** 2  # beside the slowest, which hardly decays
        self.variance = self.variance + term('bias') ** 2 * (np.arange(len(GROUPS)) == 3)


class ErrorStateFilter:
    """Filters of n seeds in step: arrays (n, ...)."""

    def __init__(self, attitude, velocity, position, covariance, imu, *, place, scale, gravity):
        """Start with estimates (n, 3, 3), (n, 3), (n, 3) and their covariance (9, 9).

        Args:
            attitude, velocity, position, covariance: of the IMU, errors as in the module's text.
            imu: noise of gyroscopes and accelerometers.
            place: (3,) of the IMU in the body.
            scale: variance of the DVL's error of scale.
            gravity: m/s².
        """
        n = len(attitude)
        self.attitude, self.velocity, self.position = attitude, velocity, position
        self.gyro, self.accelerometer = imu
        self.place, self.gravity = place, gravity
        self.bias = np.zeros((n, 2 * len(GROUPS), 3))
        self.scale = np.zeros(n)
        spread = np.zeros((SIZE, SIZE))
        spread[:9, :9] = covariance
        both = np.concatenate([self.gyro.variance, self.accelerometer.variance])
        spread[9:SCALE, 9:SCALE] = np.diag(np.repeat(both, 3))
        spread[SCALE, SCALE] = scale
        self.covariance = np.broadcast_to(spread, (n, SIZE, SIZE)).copy()
        self._decay = 1 / np.concatenate([self.gyro.time, self.accelerometer.time])
        self._drive = np.repeat(np.concatenate([self.gyro.drive, self.accelerometer.drive]), 3)
        self.rate = np.zeros((n, 3))

    def predict(self, rates, forces, dt):
        """Go on by k readings: rates (k + 1, n, 3) and specific forces (k, n, 3), dt apart.

        A force is the mean over the step that follows it; rates are of their stamps.
        """
        groups = len(GROUPS)
        gyro_bias = self.bias[:, :groups].sum(axis=1)
        bias = self.bias[:, groups:].sum(axis=1)
        total, start = len(forces) * dt, self.attitude
        u, mean_rate = self.velocity, np.mean(rates, axis=0) - gyro_bias
        for before, after, force in zip(rates, rates[1:], forces, strict=False):
            w = before - gyro_bias
            down = -self.gravity * self.attitude[:, 2]
            later = self.velocity + dt * (force - bias - np.cross(w, self.velocity) + down)
            turn = Rotation.from_rotvec((0.5 * (before + after) - gyro_bias) * dt).as_matrix()
            turned = self.attitude @ turn
            way = self.attitude @ self.velocity[..., None] + turned @ later[..., None]
            self.position = self.position + 0.5 * dt * way[..., 0]
            self.attitude, self.velocity = turned, later
        self.rate = rates[-1] - gyro_bias
        self.bias = self.bias * np.exp(-self._decay * total)[:, None]
        self._spread(total, start, 0.5 * (u + self.velocity), mean_rate)

    def _spread(self, time, attitude, velocity, rate):
        """Propagate the covariance over a time, with the motion taken as steady."""
        n, eye = len(attitude), np.eye(3)
        across = skew(velocity)
        change = np.zeros((n, SIZE, SIZE))
        change[:, ATTITUDE, ATTITUDE] = -skew(rate)
        change[:, VELOCITY, VELOCITY] = -skew(rate)
        change[:, VELOCITY, ATTITUDE] = skew(-self.gravity * attitude[:, 2])
        change[:, POSITION, VELOCITY] = attitude
        change[:, POSITION, ATTITUDE] = -attitude @ across
        for i, part in enumerate(BIASES):
            change[:, part, part] = -self._decay[i] * eye
            if i < len(GROUPS):
                change[:, ATTITUDE, part] = -eye
                change[:, VELOCITY, part] = -across
            else:
                change[:, VELOCITY, part] = -eye
        noise = np.zeros((n, SIZE, SIZE))
        noise[:, ATTITUDE, ATTITUDE] = self.gyro.density * eye
        noise[:, ATTITUDE, VELOCITY] = self.gyro.density * np.swapaxes(across, 1, 2)
        noise[:, VELOCITY, ATTITUDE] = self.gyro.density * across
        noise[:, VELOCITY, VELOCITY] = self.accelerometer.density * eye
        noise[:, VELOCITY, VELOCITY] += self.gyro.density * across @ np.swapaxes(across, 1, 2)
        index = np.arange(9, SCALE)
        noise[:, index, index] = self._drive
        step = np.eye(SIZE) + time * change + 0.5 * time**2 * change @ change
        half = step @ noise @ np.swapaxes(step, 1, 2)
        grown = step @ self.covariance @ np.swapaxes(step, 1, 2)
        self.covariance = grown + 0.5 * time * (noise + half)

    def _correct(self, residual, jacobian, noise):
        """Take a measurement (n, m) and return its normalised innovation squared (n,).

        NaN where there is none.
        """
        missing = np.isnan(residual).any(axis=1)
        transposed = np.swapaxes(jacobian, 1, 2)
        expected = jacobian @ self.covariance @ transposed + noise
        expected[missing] = np.eye(residual.shape[1])
        inverse = np.linalg.inv(expected)
        gain = self.covariance @ transposed @ inverse
        gain[missing] = 0.0
        known = np.where(missing[:, None], 0.0, residual)
        self._add((gain @ known[..., None])[..., 0])
        left = np.eye(SIZE) - gain @ jacobian
        told = np.where(missing[:, None, None], 0.0, noise)
        self.covariance = left @ self.covariance @ np.swapaxes(left, 1, 2)
        self.covariance = self.covariance + gain @ told @ np.swapaxes(gain, 1, 2)
        squared = np.einsum('ni,nij,nj->n', known, inverse, known)
        return np.where(missing, np.nan, squared)

    def _add(self, error):
        self.attitude = self.attitude @ Rotation.from_rotvec(error[:, ATTITUDE]).as_matrix()
        self.velocity = self.velocity + error[:, VELOCITY]
        self.position = self.position + error[:, POSITION]
        self.bias = self.bias + error[:, 9:SCALE].reshape(self.bias.shape)
        self.scale = self.scale + error[:, SCALE]

    def take_velocity(self, velocity, covariance, sensor, rate_variance):
        """Take DVL velocities (n, 3) of covariance (n, 3, 3), axes of the sensor.

        The rates of the gyroscopes turn its lever arm, with their noise.
        """
        arm = sensor.position - self.place
        true = (self.velocity + np.cross(self.rate, arm)) @ sensor.rotation
        jacobian = np.zeros((len(true), 3, SIZE))
        jacobian[:, :, VELOCITY] = (1 + self.scale)[:, None, None] * sensor.rotation.T
        turning = sensor.rotation.T @ skew(arm)
        for part in BIASES[: len(GROUPS)]:
            jacobian[:, :, part] = turning
        jacobian[:, :, SCALE] = true
        noise = covariance + rate_variance * turning @ turning.T
        return self._correct(velocity - (1 + self.scale)[:, None] * true, jacobian, noise)

    def take_height(self, height, variance, place):
        """Take heights (n,) in map of a sensor at a place of the body."""
        arm = place - self.place
        told = self.position[:, 2] + (self.attitude @ arm)[:, 2]
        jacobian = np.zeros((len(height), 1, SIZE))
        jacobian[:, 0, 8] = 1.0
        jacobian[:, 0, ATTITUDE] = -(self.attitude @ skew(arm))[:, 2]
        return self._correct((height - told)[:, None], jacobian, np.full((1, 1), variance))

    def errors(self, attitude, velocity, position):
        """Return the errors (n, 9) of attitude, velocity and position, against the truth."""
        turn = Rotation.from_matrix(np.swapaxes(self.attitude, 1, 2) @ attitude).as_rotvec()
        return np.concatenate([turn, velocity - self.velocity, position - self.position], axis=1)

    def nees(self, errors):
        """Return the normalised estimation error squared (n,) of errors (n, 9)."""
        inverse = np.linalg.inv(self.covariance[:, :9, :9])
        return np.einsum('ni,nij,nj->n', errors, inverse, errors)
