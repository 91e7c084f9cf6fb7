# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Samples of a vehicle's motion from a bag, on one even time grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import continuous_quaternions, to_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.identification.kept import Kept, kept_forces
from marine_sim_ros.identification.thrust import Commands
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.rigid_body import weight

__all__ = ['STEP', 'Samples', 'make_samples']

STEP = 0.02
"""Of the grid, s, where the odometry is not slower."""
_WIDEST = 2.5
"""Intervals between odometries of more ticks than this are gaps."""
_SPARSEST = 1000
"""Points of the grid for each odometry beyond which a stamp has jumped."""


@dataclass(frozen=True, eq=False)
class Samples:
    """A run on a grid of n times.

    Attributes:
        start: the first time, s, on the clock of the bag.
        step: s.
        velocity: (n, 6) through the water, body frame, each the mean over a step.
        noise: (6,) standard deviation of ``velocity`` about a smooth motion.
        restoring: (n, 6) wrench of weight and buoyancy.
        kept: other forces that are taken as they are described.
        lift: (n, 6) wrench of one more m³ of volume.
        commands: commands of the thrusters.
        known: (n,) whether odometry and commands cover the time.
    """

    start: float
    step: float
    velocity: np.ndarray
    noise: np.ndarray
    restoring: np.ndarray
    kept: Kept
    lift: np.ndarray
    commands: Commands
    known: np.ndarray

    def __len__(self) -> int:
        """Return n."""
        return len(self.velocity)

    @property
    def time(self) -> np.ndarray:
        """(n,) s, on the clock of the bag."""
        return self.start + self.step * np.arange(len(self))


def make_samples(
    vehicle: Vehicle,
    time: np.ndarray,
    odometry: np.ndarray,
    commands: Commands,
    current: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Samples:
    """Put a run on an even grid.

    A steady current is taken off the velocity: a frame that drifts with the water is an inertial
    one, so the equations of still water hold in it.

    Args:
        vehicle: vehicle with the described mass, volume and centres.
        time: (m,) of the odometry, s.
        odometry: (m, 13) position m, quaternion x y z w, body velocity m/s and rad/s.
        commands: commands of the thrusters, on the same clock.
        current: velocity of the water in ``map``, m/s.

    Raises:
        ParameterError: too few odometries, or without velocity or attitude.
    """
    order = np.argsort(time, kind='stable')
    time, odometry = time[order], odometry[order]
    new = np.append(np.diff(time) > 0, True)
    usable = new & np.isfinite(odometry).all(axis=1)
    usable &= np.abs(np.linalg.norm(odometry[:, 3:7], axis=1) - 1) < 0.1
    if usable.sum() < 100:
        raise ParameterError(
            f'odom has {usable.sum()} of {len(time)} messages with attitude and velocity; '
            'expected 100 or more'
        )
    time, odometry = time[usable], odometry[usable]
    tick = float(np.median(np.diff(time)))
    step = max(STEP, tick)
    count = (time[-1] - time[0]) / step
    if not count <= _SPARSEST * len(time):
        raise ParameterError(
            f'odom has {len(time)} messages over {time[-1] - time[0]:.3g} s, though their '
            f'intervals are {tick:.3g} s; expected stamps without jumps'
        )
    grid = np.arange(time[0] + step / 2, time[-1] - step / 2, step)
    position, quaternion, velocity = np.split(odometry, [3, 7], axis=1)
    quaternion = _mean(time, continuous_quaternions(quaternion), grid, step)
    quaternion = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    velocity = _mean(time, velocity, grid, step)
    drift = np.asarray(to_body(quaternion, np.broadcast_to(current, (len(grid), 3))))
    velocity = np.column_stack([velocity[:, :3] - drift, velocity[:, 3:]])
    state = State(_mean(time, position, grid, step), quaternion, velocity)
    floating = np.asarray(buoyancy(vehicle, state, Environment()))
    volume = vehicle.buoyancy.volume
    lag = float(np.mean(vehicle.thrusters.time_constant)) if commands.lagging else None
    thrust = commands.thrusts(float(grid[0]), step, len(grid), lag)[::2]
    fins = np.zeros((len(grid), 0 if vehicle.fins is None else len(vehicle.fins)))
    angle = fins if commands.fins is None else commands.fins.at(grid)
    return Samples(
        start=float(grid[0]),
        step=step,
        velocity=velocity,
        noise=_noise(velocity),
        restoring=floating + np.asarray(weight(vehicle, state, Environment())),
        kept=kept_forces(vehicle, state, angle, thrust, tick=tick, step=step),
        lift=floating / volume if volume > 0 else np.zeros_like(floating),
        commands=commands,
        known=_covered(time, grid, step, _WIDEST * tick) & commands.known(grid, step),
    )


def _mean(time: np.ndarray, values: np.ndarray, grid: np.ndarray, step: float) -> np.ndarray:
    """Return means (n, k) over a step around each time of a grid, exact for straight lines."""
    area = np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(time)[:, None], axis=0)
    area = np.concatenate([np.zeros((1, values.shape[1])), area])

    def integral(at: np.ndarray) -> np.ndarray:
        i = np.clip(np.searchsorted(time, at, side='right') - 1, 0, len(time) - 2)
        since, span = at - time[i], time[i + 1] - time[i]
        slope = (values[i + 1] - values[i]) / span[:, None]
        return area[i] + values[i] * since[:, None] + 0.5 * slope * since[:, None] ** 2

    return (integral(grid + step / 2) - integral(grid - step / 2)) / step


def _noise(velocity: np.ndarray) -> np.ndarray:
    """Return the deviation (6,) of values (n, 6) from a smooth curve: of third differences.

    White noise of deviation σ has third differences of deviation √20 σ. The median keeps steps
    out of it.
    """
    third = np.abs(np.diff(velocity, 3, axis=0))
    return np.maximum(np.median(third, axis=0) / (0.6745 * np.sqrt(20.0)), 1e-6)


def _covered(time: np.ndarray, grid: np.ndarray, step: float, gap: float) -> np.ndarray:
    """Return which times (n,) have no gap of the odometry within a step."""
    wide = np.flatnonzero(np.diff(time) > gap)
    bad = np.zeros(len(grid) + 1, int)
    first = np.searchsorted(grid, time[wide] - step / 2)
    last = np.searchsorted(grid, time[wide + 1] + step / 2)
    np.add.at(bad, first, 1)
    np.add.at(bad, last, -1)
    return np.cumsum(bad)[:-1] == 0
