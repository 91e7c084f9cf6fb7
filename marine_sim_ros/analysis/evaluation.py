# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluates the run of an experiment: metrics, pictures and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.analysis.comparison import Comparison, markdown
from marine_sim_ros.analysis.experiments import WITHOUT_ARM, Experiment
from marine_sim_ros.analysis.paths import Turn, steady_turn, track
from marine_sim_ros.analysis.response import response
from marine_sim_ros.analysis.run import Run
from marine_sim_ros.analysis.trim import balance_metrics, trim
from marine_sim_ros.control.allocation import controllability
from marine_sim_ros.core.columns import markdown_text
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.model.inertia import Buoyancy, Inertia
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import parse
from marine_sim_ros.physics.arm.manipulator import link_poses, posed

__all__ = ['PICTURES', 'draw', 'measure', 'report']

PICTURES = ('pose.png', 'efforts.png', 'plan.png', 'speed.png', 'path.png', 'balance.png')
"""All that ``draw`` may make."""


class _Resting(NamedTuple):
    """A vehicle at rest: where weight and buoyancy act, and its attitude in rad."""

    inertia: Inertia
    buoyancy: Buoyancy
    roll: float
    pitch: float


def measure(experiment: Experiment, vehicle: Vehicle, run: Run) -> dict[str, Any]:
    """Return the metrics of a run: nested, with numbers, None, texts and lists of them.

    ``track`` is None when no position was held or the set-point did not move, ``turn`` when there
    was none, ``balance`` unless the experiment asks for it.

    Raises:
        ParameterError: a run too short for the window, or one that cannot be judged.
    """
    unreachable = controllability(vehicle.thrusters, vehicle.inertia.center_of_mass).unreachable
    found = response(
        run.time,
        run.position,
        run.rpy,
        run.targets,
        velocity=run.controlled_velocity,
        window=experiment.window,
        uncontrollable=unreachable,
    )
    turn, problem = _turn(experiment, run)
    return {
        'experiment': experiment.name,
        'vehicle': vehicle.name,
        **found.to_dict(),
        'track': _track(run),
        'turn': None if turn is None else turn.to_dict(),
        'balance': _balance(experiment, vehicle, run),
        'notes': [problem] if problem else [],
    }


def _track(run: Run) -> dict[str, float] | None:
    goals = run.targets[:, :3]
    if np.isnan(goals[-1]).any():
        return None
    first = _commanded(run)
    if np.hypot(*(goals[-1, :2] - run.position[first, :2])) < 0.5:
        return None
    return track(run.position[first:], run.position[first], goals[-1])


def _commanded(run: Run) -> int:
    """Return the number of the tick at which the last position was commanded."""
    goals = run.targets[:, :3]
    others = np.flatnonzero(~np.all(np.abs(goals - goals[-1]) < 1e-9, axis=1))
    return int(others[-1]) + 1 if len(others) else 0


def _turn(experiment: Experiment, run: Run) -> tuple[Turn | None, str]:
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
        return steady_turn(
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


def _balances(experiment: Experiment, vehicle: Vehicle, run: Run) -> dict[str, _Resting]:
    """Return the hull alone as it would lie, and the vehicle at the moments of an experiment.

    Raises:
        ParameterError: a moment after the end of the run.
    """
    inertia, buoyancy = _hull(vehicle)
    level = trim(inertia.center_of_mass, buoyancy.center_of_volume)
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
            then = posed(
                vehicle, link_poses(vehicle.manipulator, run.joints[i][: len(vehicle.manipulator)])
            )
        roll, pitch, _ = run.rpy[i].tolist()
        result[name] = _Resting(then.inertia, then.buoyancy, roll, pitch)
    return result


def _balance(
    experiment: Experiment, vehicle: Vehicle, run: Run
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


def draw(
    folder: Path, experiment: Experiment, vehicle: Vehicle, run: Run, metrics: Mapping[str, Any]
) -> list[Path]:
    """Draw the pictures that suit an experiment; return their files.

    Raises:
        RecordingError: a file cannot be written.
    """
    from marine_sim_ros.analysis import figures

    title, window = f'{experiment.title}: {vehicle.name}', experiment.window
    size = _size(vehicle)
    made = [folder / 'pose.png', folder / 'efforts.png', folder / 'plan.png']
    figures.pose_figure(
        made[0], run.time, run.position, run.rpy, run.targets, title=title, window=window
    )
    figures.efforts_figure(
        made[1],
        run.time,
        run.thrust,
        run.pwm,
        title=f'{title}, thrusters',
        names=vehicle.thrusters.names,
    )
    turn, _ = _turn(experiment, run)
    until = None
    if metrics['track'] is not None:  # the way there, not the stay
        until = min(float(run.time[_commanded(run)]) + 20.0, float(run.time[-1]))
    figures.plan_figure(
        made[2],
        run.time,
        run.position,
        run.rpy,
        run.targets,
        title=f'{title}, path',
        circle=None if turn is None else turn.circle,
        size=size,
        until=until,
    )
    if not np.isnan(run.targets[:, 6:]).all():
        made.append(folder / 'speed.png')
        figures.speed_figure(
            made[-1],
            run.time,
            run.controlled_velocity,
            run.targets,
            title=f'{title}, speeds',
            window=window,
        )
    if turn is not None:
        made.append(folder / 'path.png')
        figures.helix_figure(made[-1], run.time, run.position, turn, title=f'{title}, path')
    if experiment.analysis == 'balance':
        made.append(folder / 'balance.png')
        figures.balance_figure(made[-1], _cases(experiment, vehicle, run), title=title)
    return made


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


def _cases(experiment: Experiment, vehicle: Vehicle, run: Run) -> list[Any]:
    from marine_sim_ros.analysis.figures import Balance

    result = []
    for name, b in _balances(experiment, vehicle, run).items():
        gx, gy, gz = b.inertia.center_of_mass.tolist()
        bx, by, bz = b.buoyancy.center_of_volume.tolist()
        label = 'without arm, computed' if name == WITHOUT_ARM else name.replace('_', ' ')
        result.append(Balance(label, (gx, gy, gz), (bx, by, bz), b.roll, b.pitch, _size(vehicle)))
    return result


def report(
    experiment: Experiment,
    metrics: Mapping[str, Any],
    comparisons: Sequence[Comparison],
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
        markdown(comparisons),
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
