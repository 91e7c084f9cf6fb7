# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Samples of a motion on an even time grid, and checks of odometry units and axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import (
    continuous_quaternions,
    rotation_matrix,
    to_body,
    up_in_body,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.identification.incomplete import complete_odometry, simulated_horizontal
from marine_sim_ros.identification.thrust import KeptForces, ThrustCommands, kept_forces
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.rigid_body import weight

__all__ = ['STEP', 'Samples', 'check_frames', 'check_stamps', 'make_samples']


# Checks of odometry: SI units, pose in ENU, twist in body axes (REP 103).

_TICKS = (1e-4, 2.0)
"""Plausible times between odometries, s."""
_UNITS = {
    1e6: 'milliseconds in the place of nanoseconds',
    1e3: 'microseconds in the place of nanoseconds',
    1e-3: 'milliseconds in the place of seconds',
    1e-6: 'microseconds in the place of seconds',
}
"""By the factor from the time as read to the true one."""
_USUAL = 0.05
"""s between odometries, of which the likely unit is nearest."""
_MIN_SAMPLES = 100
_SPAN = 1.0
"""s over which displacements are compared."""
_MOVED = 0.5
"""m of root sum of squared displacements, below which the vehicle counts as still."""
_WRONG, _RIGHT = 0.5, 0.1
"""Fractions of the squared displacement that are left unexplained: as read, and otherwise."""
_IN_AIR = 2.0
"""Height of most of a run, m, at which no vehicle of water stays."""
_PRESSURE_SLOPE = 9.81e3
"""Pa/m of depth in fresh water; sea water has 3 % more."""
_FLIP = np.array([1.0, -1.0, -1.0])
_TURNED = ('sway', 'heave', 'pitch', 'yaw')
"""Axes that point the other way in FRD."""
_CORRELATED = 0.3
"""Correlation of thrust and acceleration from which on an axis counts."""
_DRIVEN = 0.05
"""Of the largest extent of force, or of moment, from which on an axis is driven."""
_EXPECTED = 'expected a pose in ENU (z up, 0 at the surface) and a twist in FLU body axes'


def check_stamps(time: np.ndarray) -> None:
    """Check that odometries come as often as those of a motion.

    Args:
        time: (m,) s.

    Raises:
        ParameterError: not so; with the unit in which they would.
    """
    steps = np.diff(np.unique(time))
    if len(steps) < _MIN_SAMPLES:
        return
    tick = float(np.median(steps))
    if _TICKS[0] <= tick <= _TICKS[1]:
        return
    fits = [f for f in _UNITS if _TICKS[0] <= tick * f <= _TICKS[1]]
    best = min(fits, key=lambda f: abs(np.log(tick * f / _USUAL)), default=None)
    hint = '' if best is None else f': its stamps are likely {_UNITS[best]}'
    raise ParameterError(
        f'odom has messages {tick:.3g} s apart; expected {_TICKS[0]:g} to {_TICKS[1]:g} s{hint}'
    )


def check_frames(
    time: np.ndarray, odometry: np.ndarray, pressure: tuple[np.ndarray, np.ndarray] | None = None
) -> None:
    """Check the axes of odometry against its own motion, the surface and the pressure.

    Args:
        time: (m,) s.
        odometry: (m, 13) position m, quaternion x y z w, body velocity m/s and rad/s.
        pressure: times (k,), s, and pressures (k,), Pa; None: not recorded.

    Raises:
        ParameterError: other axes explain it, and these do not.
    """
    deep = np.isfinite(odometry[:, 2])
    if deep.sum() >= _MIN_SAMPLES:
        _check_height(time[deep], odometry[deep, 2], pressure)
    usable = np.isfinite(odometry).all(axis=1)
    usable &= np.abs(np.linalg.norm(odometry[:, 3:7], axis=1) - 1) < 0.1
    time, first = np.unique(time[usable], return_index=True)
    if len(time) >= _MIN_SAMPLES:
        _check_twist(time, odometry[usable][first])


def _check_height(
    time: np.ndarray, height: np.ndarray, pressure: tuple[np.ndarray, np.ndarray] | None
) -> None:
    """Raise where z is depth, or not from the surface."""
    time, first = np.unique(time, return_index=True)
    if len(time) < _MIN_SAMPLES:
        return
    if pressure is not None:
        _check_pressure(time, height[first], *pressure)
    middle = float(np.median(height[first]))
    if middle > _IN_AIR:
        raise ParameterError(
            f'odom is {middle:.3g} m above the surface in half of the run, where a vehicle would '
            f'fall; its z is likely depth (NED), or not from the surface: {_EXPECTED}'
        )


def _check_pressure(
    time: np.ndarray, height: np.ndarray, at: np.ndarray, pressure: np.ndarray
) -> None:
    """Raise where the pressure rises with z, as fast as it does with depth."""
    good = np.isfinite(at) & np.isfinite(pressure)
    if good.sum() < _MIN_SAMPLES or np.ptp(height) < 0.2:
        return
    at, order = np.unique(at[good], return_index=True)
    pressure_at_height = np.interp(time, at, pressure[good][order])
    slope, _ = np.polyfit(
        height - height.mean(), pressure_at_height - pressure_at_height.mean(), 1
    )
    if 0.7 < slope / _PRESSURE_SLOPE < 1.4:
        raise ParameterError(
            f'odom rises where the pressure does, by {slope / 1e3:.3g} kPa/m; its z is likely '
            f'depth (NED): {_EXPECTED}'
        )


def _check_twist(time: np.ndarray, odometry: np.ndarray) -> None:
    """Raise where the displacement is the integral of the twist in other axes only."""
    velocity, turn = odometry[:, 7:10], np.asarray(rotation_matrix(odometry[:, 3:7]))

    def in_map(body: np.ndarray) -> np.ndarray:
        return np.asarray((turn @ body[..., None])[..., 0])

    def swap_enu_ned(vector: np.ndarray) -> np.ndarray:
        """Return NED components as ENU, or the reverse."""
        return vector[:, [1, 0, 2]] * np.array([1.0, 1.0, -1.0])

    flipped = velocity * _FLIP
    mixed = 'its position and its attitude are likely in different frames, one NED and one ENU'
    others = {
        "its twist is likely in map's axes": velocity,
        'its twist is likely in FRD body axes (z down)': in_map(flipped),
        mixed: swap_enu_ned(in_map(velocity)),
        f'{mixed}, its twist in others again': swap_enu_ned(in_map(flipped)),
    }
    lag = max(1, round(_SPAN / float(np.median(np.diff(time)))))
    if len(time) <= lag:
        return
    moved = odometry[lag:, :3] - odometry[:-lag, :3]
    total = float(np.sum(moved**2))
    if total < _MOVED**2:
        return

    def unexplained_fraction(rate: np.ndarray) -> float:
        steps = 0.5 * (rate[1:] + rate[:-1]) * np.diff(time)[:, None]
        path = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
        return float(np.sum((moved - (path[lag:] - path[:-lag])) ** 2)) / total

    own = unexplained_fraction(in_map(velocity))
    if own < _WRONG:
        return
    found = {said: unexplained_fraction(rate) for said, rate in others.items()}
    likely = min(found, key=lambda said: found[said])
    if found[likely] < _RIGHT:
        raise ParameterError(
            f'odom: its twist leaves {100 * min(own, 9.99):.0f} % of its squared displacement '
            f'unexplained; {likely}: {_EXPECTED}'
        )


def _check_thrust(
    wrench: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray, restoring: np.ndarray
) -> None:
    """Raise where thrust accelerates against itself in the axes that FRD turns around.

    At least two of them must be clear, and no other axis may contradict. Pose and twist in NED and
    FRD throughout agree with each other, so that the thrust alone tells: by its correlation with
    the acceleration, without what drag and restoring forces explain.

    Args:
        wrench: (n, 6) of the thrusters by the description.
        velocity: (n, 6) in body axes.
        acceleration: (n, 6) its derivative.
        restoring: (n, 6) wrench of weight and buoyancy.
    """
    if len(velocity) < _MIN_SAMPLES:
        return
    found = {}
    # What an axis gets is thrust, and no coupling or rounding, at a share of the largest.
    extent = np.ptp(wrench, axis=0)
    least = _DRIVEN * np.repeat([extent[:3].max(), extent[3:].max()], 3)
    for i, axis in enumerate(BODY_AXES):
        if not extent[i] > least[i]:
            continue
        drag = velocity[:, i] * np.abs(velocity[:, i])
        others = np.column_stack([np.ones(len(drag)), velocity[:, i], drag, restoring[:, i]])
        pair = np.column_stack([wrench[:, i], acceleration[:, i]])
        thrust, change = (pair - others @ np.linalg.lstsq(others, pair, rcond=None)[0]).T
        size = math.sqrt(float(thrust @ thrust) * float(change @ change))
        if size > 0:
            found[axis] = float(thrust @ change) / size
    clear = {axis: r for axis, r in found.items() if abs(r) > _CORRELATED}
    turned = [axis for axis in clear if axis in _TURNED]
    if len(turned) < 2 or any((r < 0) != (axis in _TURNED) for axis, r in clear.items()):
        return
    raise ParameterError(
        f'odom: {", ".join(turned)} accelerate against the thrust of the description; pose and '
        f'twist are likely in NED and FRD, or these thrusters push the other way: {_EXPECTED}'
    )


# Samples of a vehicle's motion from a bag on one even time grid.

STEP = 0.02
"""Of the grid, s, where the odometry is not slower."""
_MAX_TICKS = 2.5
"""Intervals between odometries of more ticks than this are gaps."""
_USUAL_PART = 99.0
"""Per cent of the intervals that are no gaps where odometries come irregularly."""
_MAX_INTERVAL = 0.3
"""Longest interval of irregular odometries that is no gap, s."""
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
        measured: (n,) whether surge and sway are measured; elsewhere they are simulated.
        notes: what of the motion was computed, because the odometry lacks it.
    """

    start: float
    step: float
    velocity: np.ndarray
    noise: np.ndarray
    restoring: np.ndarray
    kept: KeptForces
    lift: np.ndarray
    commands: ThrustCommands
    known: np.ndarray
    measured: np.ndarray
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return n."""
        return len(self.velocity)

    @property
    def time(self) -> np.ndarray:
        """(n,) s, on the clock of the bag."""
        return self.start + self.step * np.arange(len(self))

    def covered_rows(self) -> np.ndarray:
        """Return first and last row (k, 2) of each part that odometry and commands cover."""
        edges = np.diff(np.concatenate([[0], self.known.astype(int), [0]]))
        return np.flatnonzero(edges).reshape(-1, 2) - [0, 1]


def make_samples(
    vehicle: Vehicle,
    time: np.ndarray,
    odometry: np.ndarray,
    commands: ThrustCommands,
    current: tuple[float, float, float] = (0.0, 0.0, 0.0),
    environment: Environment | None = None,
) -> Samples:
    """Put a run on an even grid.

    A steady current is taken off the velocity: a frame that drifts with the water is an inertial
    one, so the equations of still water hold in it.

    Args:
        vehicle: vehicle with the described mass, volume and centres.
        time: (m,) of the odometry, s.
        odometry: (m, 13) position m, quaternion x y z w, body velocity m/s and rad/s; NaN where
            unknown. Attitude and height are needed; heave and turn rates are computed from them
            where they are missing, and surge and sway are simulated.
        commands: commands of the thrusters, on the same clock.
        current: velocity of the water in ``map``, m/s.
        environment: still water of the run; None: of the vehicle's density.

    Raises:
        ParameterError: too few odometries, or without height or attitude.
    """
    environment = environment or Environment()
    order = np.argsort(time, kind='stable')
    time, odometry = time[order], odometry[order]
    new = np.append(np.diff(time) > 0, True)
    time, odometry = time[new], odometry[new]
    odometry, notes = complete_odometry(time, odometry)
    usable = np.isfinite(odometry[:, [2, *range(3, 7), *range(9, 13)]]).all(axis=1)
    usable &= np.abs(np.linalg.norm(odometry[:, 3:7], axis=1) - 1) < 0.1
    if usable.sum() < 100:
        raise ParameterError(
            f'odom has {usable.sum()} of {len(new)} messages with attitude and height; '
            'expected 100 or more'
        )
    time, odometry = _without_dropouts(time[usable], odometry[usable])
    tick = float(np.median(np.diff(time)))
    step = max(STEP, tick)
    count = (time[-1] - time[0]) / step
    if not count <= _SPARSEST * len(time):
        raise ParameterError(
            f'odom has {len(time)} messages over {time[-1] - time[0]:.3g} s, though their '
            f'intervals are {tick:.3g} s; expected stamps without jumps'
        )
    grid = np.arange(time[0] + step / 2, time[-1] - step / 2, step)
    lag = float(np.mean(vehicle.thrusters.time_constant)) if commands.lagging else None
    state, measured = _states(time, odometry, grid, step, current)
    floating = np.asarray(buoyancy(vehicle, state, environment))
    restoring = floating + np.asarray(weight(vehicle, state, environment))
    if not measured.all():
        notes.append(
            f'surge and sway are not measured in {100 * np.mean(~measured):.0f} % of the time: '
            'they are simulated there with the description'
        )
        wrench = restoring + commands.wrenches(float(grid[0]), step, len(grid), lag)[::2]
        velocity = simulated_horizontal(vehicle, state, measured, wrench, step, environment)
        state = State(state.position, state.orientation, velocity)
    volume = vehicle.buoyancy.volume
    thrust = commands.thrusts(float(grid[0]), step, len(grid), lag)[::2]
    states = {name: recorded.at(grid) for name, recorded in commands.states.items()}
    gap = _widest_interval(time, tick)
    covered = _covered_times(time, grid, step, gap) & commands.known_mask(grid, step)
    if measured.all():
        wrench = commands.wrenches(float(grid[0]), step, len(grid), lag)[::2]
        acceleration = np.gradient(state.velocity, step, axis=0)
        _check_thrust(
            wrench[covered], state.velocity[covered], acceleration[covered], restoring[covered]
        )
    return Samples(
        start=float(grid[0]),
        step=step,
        velocity=state.velocity,
        noise=_noise(state.velocity),
        restoring=restoring,
        kept=kept_forces(vehicle, state, states, thrust, environment, tick=tick, step=step),
        lift=floating / volume if volume > 0 else np.zeros_like(floating),
        commands=commands,
        known=covered,
        measured=measured,
        notes=tuple(notes),
    )


def _without_dropouts(time: np.ndarray, odometry: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return odometry without rows that lack surge or sway beside others that have them."""
    horizontal = np.isfinite(odometry[:, 7:9]).all(axis=1)
    indices = np.flatnonzero(horizontal)
    if len(indices) < 2:
        return time, odometry
    after = np.clip(np.searchsorted(indices, np.arange(len(time))), 1, len(indices) - 1)
    gap = time[indices[after]] - time[indices[after - 1]]
    inside = (time > time[indices[0]]) & (time < time[indices[-1]])
    is_used = horizontal | ~inside | (gap > _MAX_TICKS * float(np.median(np.diff(time))))
    return time[is_used], odometry[is_used]


def _states(
    time: np.ndarray,
    odometry: np.ndarray,
    grid: np.ndarray,
    step: float,
    current: tuple[float, float, float],
) -> tuple[State, np.ndarray]:
    """Return states on a grid (n,), and a mask (n,) of those with surge and sway.

    Where those are unknown they are 0, and heave is the vertical speed over the cosine of the
    tilt.
    """
    horizontal = np.isfinite(odometry[:, 7:9]).all(axis=1)
    rows = np.where(np.isfinite(odometry), odometry, 0.0)
    rows[~horizontal, 7:9] = 0.0
    position, quaternion, velocity = np.split(rows, [3, 7], axis=1)
    quaternion = _mean(time, continuous_quaternions(quaternion), grid, step)
    quaternion = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    velocity = _mean(time, velocity, grid, step)
    drift = np.asarray(to_body(quaternion, np.broadcast_to(current, (len(grid), 3))))
    measured = np.ones(len(grid), bool)
    if not horizontal.all():
        measured = _mean(time, horizontal[:, None].astype(float), grid, step)[:, 0] > 1 - 1e-6
        rise = current[2] / np.asarray(up_in_body(quaternion))[:, 2]
        sunk = np.column_stack([np.zeros((len(grid), 2)), rise])
        drift = np.where(measured[:, None], drift, sunk)
        velocity[~measured, :2] = 0.0
    velocity = np.column_stack([velocity[:, :3] - drift, velocity[:, 3:]])
    return State(_mean(time, position, grid, step), quaternion, velocity), measured


def _widest_interval(time: np.ndarray, tick: float) -> float:
    """Return the interval between odometries above which there is a gap, s.

    Where odometries come irregularly, as by a radio link, most intervals are no gaps.
    """
    usual = 1.2 * float(np.percentile(np.diff(time), _USUAL_PART))
    return max(_MAX_TICKS * tick, min(usual, _MAX_INTERVAL))


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


def _covered_times(time: np.ndarray, grid: np.ndarray, step: float, gap: float) -> np.ndarray:
    """Return a mask of the times (n,) without a gap of the odometry within a step."""
    wide = np.flatnonzero(np.diff(time) > gap)
    bad = np.zeros(len(grid) + 1, int)
    first = np.searchsorted(grid, time[wide] - step / 2)
    last = np.searchsorted(grid, time[wide + 1] + step / 2)
    np.add.at(bad, first, 1)
    np.add.at(bad, last, -1)
    return np.cumsum(bad)[:-1] == 0
