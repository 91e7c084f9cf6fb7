# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluation of an experiment: its run, trim, metrics, pictures and report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.analysis.experiments import (
    WITHOUT_ARM,
    ComparedQuantity,
    Experiment,
    markdown_comparison,
)
from marine_sim_ros.analysis.paths import SteadyTurn, fit_steady_turn, track_error
from marine_sim_ros.bags.reading import open_bag
from marine_sim_ros.bags.roles import row_converter
from marine_sim_ros.control.controllability import controllability
from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES
from marine_sim_ros.control.step_response import compute_step_response
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.core.spatial import (
    level_velocity,
    quaternion_from_rpy,
    rotation_matrix,
    rpy_from_quaternion,
)
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.core.text import markdown_text
from marine_sim_ros.model.added_mass import Buoyancy, Inertia
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import parse
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import pose_vehicle
from marine_sim_ros.sim.trajectory import Trajectory

__all__ = [
    'ExperimentRun',
    'PICTURES',
    'balance_metrics',
    'draw_pictures',
    'evaluate_run',
    'report_markdown',
    'run_of_bag',
    'run_of_trajectory',
    'trim_angles',
]


# Run of an experiment, from a trajectory or from a recorded bag.


@dataclass(frozen=True, eq=False)
class ExperimentRun:
    """Arrays over n ticks, of a vehicle with k thrusters.

    Attributes:
        time: (n,) s.
        position: (n, 3) m, map.
        orientation: (n, 4) x, y, z, w.
        velocity: (n, 6) body, m/s and rad/s.
        pwm: (n, k) µs.
        thrust: (n, k) N; NaN where it was not recorded.
        targets: (n, 12) set-points, NaN: free.
        joints: (n, j) positions of the arm's joints, rad or m; j is 0 where none was recorded.
    """

    time: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    pwm: np.ndarray
    thrust: np.ndarray
    targets: np.ndarray
    joints: np.ndarray

    @property
    def rpy(self) -> np.ndarray:
        """(n, 3) roll, pitch, yaw, rad."""
        return np.asarray(rpy_from_quaternion(self.orientation))

    @property
    def map_velocity(self) -> np.ndarray:
        """(n, 3) over ground, m/s, map."""
        rotation = rotation_matrix(self.orientation)
        return np.asarray((rotation @ self.velocity[:, :3, None])[..., 0])

    @property
    def controlled_velocity(self) -> np.ndarray:
        """(n, 6) as set-points have it: ahead, to port, up in the level frame; body turn rates."""
        level = level_velocity(self.orientation, self.velocity)
        return np.column_stack([level, self.velocity[:, 3:]])


def run_of_trajectory(trajectory: Trajectory) -> ExperimentRun:
    """Return a run of ``simulate``."""
    targets = trajectory.targets
    if targets is None:
        targets = np.full((len(trajectory.stamp), len(SETPOINT_QUANTITIES)), np.nan)
    return ExperimentRun(
        trajectory.time,
        trajectory.position,
        trajectory.orientation,
        trajectory.velocity,
        trajectory.pwm,
        trajectory.thrust,
        targets,
        trajectory.actuators.get('joints', np.zeros((len(trajectory.stamp), 0))),
    )


def run_of_bag(folder: Path, namespace: str) -> ExperimentRun:
    """Return a recorded run.

    Commands, thrusts, set-points and joints are those that hold at the stamp of each odom.

    Raises:
        RecordingError: not a bag, or a bag without the topics of a run.
    """
    topic_names = {f'{namespace}/{t}': t for t in _ROW_READERS}
    rows: dict[str, list[tuple[int, tuple[float, ...]]]] = {t: [] for t in topic_names.values()}
    with open_bag(folder, str(folder)) as reader:
        connections = [c for c in reader.connections if c.topic in topic_names]
        # No connections at all would mean every one.
        for connection, stamp, data in reader.messages(connections) if connections else ():
            message = reader.deserialize(data, connection.msgtype)
            topic = topic_names[connection.topic]
            rows[topic].append((stamp, _ROW_READERS[topic](message)))
    for topic in ('odom', 'thrusters/pwm'):
        if not rows[topic]:
            raise RecordingError(f'{folder}: has no {namespace}/{topic}; expected a recorded run')
    stamps, odom = _columns(rows['odom'])
    stamps, first = np.unique(stamps, return_index=True)
    odom = odom[first]
    commands = rows['thrusters/pwm']
    if len(commands) == len(stamps):
        # One for every odom, without a stamp of their own: the recorder may have heard one late.
        commands = [(int(s), c) for s, (_, c) in zip(stamps, commands, strict=True)]
    pwm = _newest_rows(commands, stamps)

    def rows_or(topic: str, otherwise: np.ndarray) -> np.ndarray:
        return _newest_rows(rows[topic], stamps) if rows[topic] else otherwise

    n = len(stamps)
    return ExperimentRun(
        time=stamps / NANOSECONDS,
        position=odom[:, :3],
        orientation=odom[:, 3:7],
        velocity=odom[:, 7:],
        pwm=pwm,
        thrust=rows_or('thrusters/state', np.full_like(pwm, np.nan)),
        targets=rows_or('controller/setpoints', np.full((n, len(SETPOINT_QUANTITIES)), np.nan)),
        joints=rows_or('joint_states', np.zeros((n, 0))),
    )


_ROW_READERS: dict[str, Callable[[Any], tuple[float, ...]]] = {
    'odom': row_converter('odom', 'nav_msgs/msg/Odometry'),
    'thrusters/pwm': lambda m: tuple(map(float, m.data)),
    'thrusters/state': lambda m: tuple(map(float, m.effort)),
    'controller/setpoints': lambda m: tuple(map(float, m.position)),
    'joint_states': lambda m: tuple(map(float, m.position)),
}


def _columns(rows: list[tuple[int, tuple[float, ...]]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([s for s, _ in rows]), np.array([v for _, v in rows], float)


def _newest_rows(rows: list[tuple[int, tuple[float, ...]]], stamp: np.ndarray) -> np.ndarray:
    """Return the newest row (k,) at each stamp; before the first, the first."""
    width = len(rows[0][1])
    at, values = _columns([r for r in rows if len(r[1]) == width])
    order = np.argsort(at, kind='stable')
    newest = np.searchsorted(at[order], stamp, side='right') - 1
    return np.asarray(values[order][np.maximum(newest, 0)])


# Trim of a submerged vehicle: its attitude under weight and buoyancy alone.


def trim_angles(
    center_of_gravity: np.ndarray, center_of_buoyancy: np.ndarray
) -> tuple[float, float]:
    """Return roll and pitch in rad at which buoyancy acts straight above weight.

    With b = B − G (3,) in the body frame (FLU) and Rᵀ ẑ along b: roll = atan2(b_y, b_z) and
    pitch = atan2(−b_x, √(b_y² + b_z²)) (Fossen 2011, eq. 4.5, with no moment left).
    """
    x, y, z = np.subtract(center_of_buoyancy, center_of_gravity).tolist()
    return math.atan2(y, z), math.atan2(-x, math.hypot(y, z))


def balance_metrics(
    center_of_gravity: np.ndarray,
    center_of_buoyancy: np.ndarray,
    roll: float,
    pitch: float,
    *,
    mass: float,
    volume: float,
) -> dict[str, float]:
    """Return the entries of metrics.json for a vehicle at rest at roll and pitch (rad).

    Centres (3,) in the body frame, m; ``horizontal_m`` is the arm of the moment that is left, and
    ``trim_*_deg`` the attitude that leaves none.
    """
    lever = np.subtract(center_of_buoyancy, center_of_gravity)
    lever_in_map = rotation_matrix(quaternion_from_rpy(roll, pitch, 0.0)) @ lever
    free_roll, free_pitch = trim_angles(center_of_gravity, center_of_buoyancy)
    return {
        'mass_kg': float(mass),
        'volume_m3': float(volume),
        'upright_vertical_m': float(lever[2]),
        'upright_horizontal_m': float(np.hypot(lever[0], lever[1])),
        'vertical_m': float(lever_in_map[2]),
        'horizontal_m': float(np.hypot(lever_in_map[0], lever_in_map[1])),
        'roll_deg': math.degrees(roll),
        'pitch_deg': math.degrees(pitch),
        'trim_roll_deg': math.degrees(free_roll),
        'trim_pitch_deg': math.degrees(free_pitch),
    }


# Metrics, pictures and report of an experiment's run.

PICTURES = ('pose.png', 'efforts.png', 'plan.png', 'speed.png', 'path.png', 'balance.png')
"""All that ``draw`` may make."""


class _Resting(NamedTuple):
    """A vehicle at rest: where weight and buoyancy act, and its attitude in rad."""

    inertia: Inertia
    buoyancy: Buoyancy
    roll: float
    pitch: float


def evaluate_run(experiment: Experiment, vehicle: Vehicle, run: ExperimentRun) -> dict[str, Any]:
    """Return the metrics of a run: nested, with numbers, None, texts and lists of them.

    ``track`` is None when no position was held or the set-point did not move, ``turn`` when there
    was none, ``balance`` unless the experiment asks for it.

    Raises:
        ParameterError: a run too short for the window, or one that cannot be judged.
    """
    unreachable = controllability(vehicle.thrusters, vehicle.inertia.center_of_mass).unreachable
    response = compute_step_response(
        run.time,
        run.position,
        run.rpy,
        run.targets,
        velocity=run.controlled_velocity,
        window=experiment.window,
        uncontrollable=unreachable,
    )
    steady_turn, problem = _turn(experiment, run)
    return {
        'experiment': experiment.name,
        'vehicle': vehicle.name,
        **response.to_dict(),
        'track': _track(run),
        'turn': None if steady_turn is None else steady_turn.to_dict(),
        'balance': _balance(experiment, vehicle, run),
        'notes': [problem] if problem else [],
    }


def _track(run: ExperimentRun) -> dict[str, float] | None:
    goals = run.targets[:, :3]
    if np.isnan(goals[-1]).any():
        return None
    first = _last_command_tick(run)
    if np.hypot(*(goals[-1, :2] - run.position[first, :2])) < 0.5:
        return None
    return track_error(run.position[first:], run.position[first], goals[-1])


def _last_command_tick(run: ExperimentRun) -> int:
    """Return the number of the tick at which the last position was commanded."""
    goals = run.targets[:, :3]
    different = np.flatnonzero(~np.all(np.abs(goals - goals[-1]) < 1e-9, axis=1))
    return int(different[-1]) + 1 if len(different) else 0


def _turn(experiment: Experiment, run: ExperimentRun) -> tuple[SteadyTurn | None, str]:
    """Return the steady turn, or why there is none."""
    if experiment.analysis != 'turn':
        return None, ''
    late = run.time >= experiment.turn_from
    if np.count_nonzero(late) < 3:
        raise ParameterError(
            f'experiment {experiment.name}: the run lasts {run.time[-1]:g} s; expected more than '
            f'turn_from, {experiment.turn_from:g} s'
        )
    try:
        return fit_steady_turn(
            run.time[late], run.position[late], run.map_velocity[late], run.rpy[late, 2]
        ), ''
    except ParameterError as error:  # no fault of the input: the vehicle did not turn
        return None, str(error)


def _hull(vehicle: Vehicle) -> tuple[Inertia, Buoyancy]:
    """Return mass and volume of a vehicle without its arm."""
    arm = vehicle.manipulator
    if arm is None:
        return vehicle.inertia, vehicle.buoyancy
    return arm.body, arm.body_buoyancy


def _balances(experiment: Experiment, vehicle: Vehicle, run: ExperimentRun) -> dict[str, _Resting]:
    """Return the hull alone as it would lie, and the vehicle at the moments of an experiment.

    Raises:
        ParameterError: a moment after the end of the run.
    """
    inertia, buoyancy = _hull(vehicle)
    level = trim_angles(inertia.center_of_mass, buoyancy.center_of_volume)
    result = {WITHOUT_ARM: _Resting(inertia, buoyancy, *level)}
    for name, time in experiment.moments or (('end', float(run.time[-1])),):
        i = int(np.searchsorted(run.time, time - 1e-9))
        if i == len(run.time):
            raise ParameterError(
                f'experiment {experiment.name}: moments.{name} is {time:g} s; '
                f'expected at most {run.time[-1]:g} s, when the run ends'
            )
        then = vehicle
        if vehicle.manipulator is not None and run.joints.shape[1]:
            then = pose_vehicle(
                vehicle, link_poses(vehicle.manipulator, run.joints[i][: len(vehicle.manipulator)])
            )
        roll, pitch, _ = run.rpy[i].tolist()
        result[name] = _Resting(then.inertia, then.buoyancy, roll, pitch)
    return result


def _balance(
    experiment: Experiment, vehicle: Vehicle, run: ExperimentRun
) -> dict[str, dict[str, float]] | None:
    if experiment.analysis != 'balance':
        return None
    return {
        name: balance_metrics(
            b.inertia.center_of_mass,
            b.buoyancy.center_of_volume,
            b.roll,
            b.pitch,
            mass=b.inertia.mass,
            volume=b.buoyancy.volume,
        )
        for name, b in _balances(experiment, vehicle, run).items()
    }


def draw_pictures(
    folder: Path,
    experiment: Experiment,
    vehicle: Vehicle,
    run: ExperimentRun,
    metrics: Mapping[str, Any],
) -> list[Path]:
    """Draw the pictures that suit an experiment; return their files.

    Raises:
        RecordingError: a file cannot be written.
    """
    from marine_sim_ros.analysis import path_figures, run_figures

    title, window = f'{experiment.title}: {vehicle.name}', experiment.window
    size = _size(vehicle)
    pictures = [folder / 'pose.png', folder / 'efforts.png', folder / 'plan.png']
    run_figures.pose_figure(
        pictures[0], run.time, run.position, run.rpy, run.targets, title=title, window=window
    )
    run_figures.efforts_figure(
        pictures[1],
        run.time,
        run.thrust,
        run.pwm,
        title=f'{title}, thrusters',
        names=vehicle.thrusters.names,
    )
    steady_turn, _ = _turn(experiment, run)
    until = None
    if metrics['track'] is not None:  # the way there, not the stay
        until = min(float(run.time[_last_command_tick(run)]) + 20.0, float(run.time[-1]))
    path_figures.plan_figure(
        pictures[2],
        run.time,
        run.position,
        run.rpy,
        run.targets,
        title=f'{title}, path',
        circle=None if steady_turn is None else steady_turn.circle,
        size=size,
        until=until,
    )
    if not np.isnan(run.targets[:, 6:]).all():
        pictures.append(folder / 'speed.png')
        run_figures.speed_figure(
            pictures[-1],
            run.time,
            run.controlled_velocity,
            run.targets,
            title=f'{title}, speeds',
            window=window,
        )
    if steady_turn is not None:
        pictures.append(folder / 'path.png')
        path_figures.helix_figure(
            pictures[-1], run.time, run.position, steady_turn, title=f'{title}, path'
        )
    if experiment.analysis == 'balance':
        pictures.append(folder / 'balance.png')
        run_figures.balance_figure(pictures[-1], _cases(experiment, vehicle, run), title=title)
    return pictures


def _size(vehicle: Vehicle) -> tuple[float, float, float]:
    """Return length, width and height of a hull: its panels', its box's, or a like volume's."""
    if vehicle.hull is not None and vehicle.hull.panels is not None:
        corners = np.reshape(vehicle.hull.panels.corners, (-1, 3))
        length, width, height = (float(s) for s in np.ptp(corners, axis=0))
        return length, width, height
    box = parse(vehicle.urdf, vehicle.name).find('link/collision/geometry/box')
    if box is not None:
        length, width, height = (float(s) for s in box.get('size', '').split())
        return length, width, height
    side = max(vehicle.buoyancy.volume, 1e-6) ** (1 / 3)
    return 1.5 * side, side, side / 1.5


def _cases(experiment: Experiment, vehicle: Vehicle, run: ExperimentRun) -> list[Any]:
    from marine_sim_ros.analysis.run_figures import Balance

    result = []
    for name, b in _balances(experiment, vehicle, run).items():
        gx, gy, gz = b.inertia.center_of_mass.tolist()
        bx, by, bz = b.buoyancy.center_of_volume.tolist()
        label = 'without arm, computed' if name == WITHOUT_ARM else name.replace('_', ' ')
        result.append(Balance(label, (gx, gy, gz), (bx, by, bz), b.roll, b.pitch, _size(vehicle)))
    return result


def report_markdown(
    experiment: Experiment,
    metrics: Mapping[str, Any],
    comparisons: Sequence[ComparedQuantity],
    pictures: Sequence[Path],
    *,
    facts: Mapping[str, str],
) -> str:
    """Return the report of a run as Markdown; ``facts`` are lines such as its hash."""
    good = all(c.within is not False for c in comparisons)
    lines = [
        f'# {markdown_text(experiment.title)}: {markdown_text(metrics["vehicle"])}',
        '',
        f'{markdown_text(experiment.description)}.',
        '',
        f'Result: **{"within" if good else "outside"}** the bands that are required.',
        '',
        *(f'- {name}: {markdown_text(value)}' for name, value in facts.items()),
        '',
    ]
    lines += ['## Beside the printed values', '']
    if experiment.source:
        lines += [f'Source: {markdown_text(experiment.source)}.', '']
    lines += [
        markdown_comparison(comparisons),
        '',
        f'Steady state: mean of the absolute error in the last {experiment.window:g} s. Settling '
        'and overshoot: towards the last set-point; see metrics.json for every axis.',
        '',
    ]
    unable = ', '.join(metrics['uncontrollable'])
    if unable:
        lines += [f'The thrusters of this vehicle cannot command: {unable}.', '']
    lines += [f'{markdown_text(note)}.\n' for note in metrics['notes']]
    lines += ['## Pictures', '']
    lines += [f'![{p.stem}]({p.name})\n' for p in pictures]
    return '\n'.join(lines).rstrip() + '\n'
