# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Debriefing of a mission: the states of a run or of a bag, its score as text and as a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.figure_sheet import (
    BLACK,
    BLUE,
    GREY,
    LIGHT,
    ORANGE,
    VERMILION,
    figure_sheet,
    thinning_slice,
)
from marine_sim_ros.bags.reading import open_bag
from marine_sim_ros.bags.roles import row_converter
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.core.text import aligned_columns
from marine_sim_ros.model.body_joints import body_topic, joint_topic
from marine_sim_ros.model.free_bodies import BODIES
from marine_sim_ros.sim.mission import Mission, MissionScore
from marine_sim_ros.sim.mission_states import LOADS, MissionInputs, MissionStates, parse_report
from marine_sim_ros.sim.trajectory import Trajectory

__all__ = ['debriefing_figure', 'mission_run_of_bag', 'mission_run_of_trajectory', 'score_lines']


def mission_run_of_trajectory(trajectory: Trajectory) -> MissionStates:
    """Return the states of a run of ``simulate`` that a score depends on."""
    return MissionStates(
        trajectory.time,
        trajectory.position,
        trajectory.orientation,
        trajectory.velocity,
        {name: trajectory.sources[name] for name in LOADS if name in trajectory.sources},
        {
            name: column
            for names, rows in trajectory.body_joints.values()
            for name, column in zip(names, rows.T, strict=True)
        },
        {name.removeprefix(BODIES): s.position for name, s in trajectory.bodies.items()},
        trajectory.thrust,
        tuple((stamp / NANOSECONDS, target) for stamp, target in trajectory.reports),
    )


def mission_run_of_bag(
    folder: Path, namespace: str, inputs: MissionInputs | None = None
) -> MissionStates:
    """Return the states of a recorded run that a score depends on.

    Args:
        folder: the bag.
        namespace: of the vehicle, such as ``/bluerov2``.
        inputs: what the score depends on beside motion and loads.

    Raises:
        RecordingError: not a bag, no odometry, or a quantity that is missing at a tick.
    """
    inputs = inputs or MissionInputs()
    roles = {'odom': ('odom', 'nav_msgs/msg/Odometry')}
    roles |= {f'wrench/{n}': ('wrench', 'geometry_msgs/msg/WrenchStamped') for n in LOADS}
    read: dict[str, Callable[[Any], Any]] = {
        f'{namespace}/{topic}': row_converter(*role) for topic, role in roles.items()
    }
    joint_topics = {joint_topic(body): list(names) for body, names in inputs.joints.items()}
    for topic, names in joint_topics.items():
        read[topic] = partial(_positions, names)
    body_topics = {body: body_topic(body) for body in inputs.bodies}
    for topic in body_topics.values():
        read[topic] = row_converter('odom', 'nav_msgs/msg/Odometry')
    thrust, events = f'{namespace}/thrusters/state', f'{namespace}/console/events'
    if inputs.thrusters:
        read[thrust] = _effort
    reports: list[tuple[float, str]] = []
    rows: dict[str, dict[int, Any]] = {topic: {} for topic in read}
    with open_bag(folder, str(folder)) as reader:
        wanted = {*read, events} if inputs.reports else {*read}
        connections = [c for c in reader.connections if c.topic in wanted]
        for connection, _, data in reader.messages(connections) if connections else ():
            message = reader.deserialize(data, connection.msgtype)
            if connection.topic == events:
                reports += [report] if (report := parse_report(message.data)) else []
                continue
            at = message.header.stamp
            stamp = at.sec * NANOSECONDS + at.nanosec
            rows[connection.topic].setdefault(stamp, read[connection.topic](message))
    odom = rows.pop(f'{namespace}/odom')
    if not odom:
        raise RecordingError(f'{folder}: has no {namespace}/odom; expected a recorded run')
    stamps = np.array(sorted(odom))
    state = np.array([odom[stamp] for stamp in stamps.tolist()], float)
    columns: dict[str, np.ndarray] = {}
    for topic, names in joint_topics.items():
        table = _rows_at(folder, topic, rows.pop(topic), stamps, len(names))
        columns |= zip(names, table.T, strict=True)
    bodies = {b: _rows_at(folder, t, rows.pop(t), stamps, 3) for b, t in body_topics.items()}
    thrusts = None
    if inputs.thrusters:
        thrusts = _rows_at(folder, thrust, rows.pop(thrust), stamps, inputs.thrusters)
    loads = {
        topic.rpartition('/')[2]: _rows_at(folder, topic, found, stamps, 6)
        for topic, found in rows.items()
        if found
    }
    time = stamps / NANOSECONDS
    return MissionStates(
        time, state[:, :3], state[:, 3:7], state[:, 7:13], loads, columns, bodies, thrusts,
        tuple(reports),
    )  # fmt: skip


def _effort(message: Any) -> tuple[float, ...]:
    return tuple(map(float, message.effort))


def _positions(names: Sequence[str], message: Any) -> tuple[float, ...]:
    """Return the positions of joints by name; NaN of one that a message does not have."""
    found = dict(zip(message.name, message.position, strict=False))
    return tuple(float(found.get(name, math.nan)) for name in names)


def _rows_at(
    folder: Path, topic: str, found: dict[int, Any], stamps: np.ndarray, width: int
) -> np.ndarray:
    """Return the numbers (n, width) of a topic at each stamp; the last tick counts for nothing.

    Raises:
        RecordingError: one is missing, and a score without it would be wrong.
    """
    missing = [s for s in stamps[:-1].tolist() if s not in found]
    if missing:
        raise RecordingError(
            f'{folder}: {topic} lacks {len(missing)} of {len(stamps)} ticks, the first at '
            f'{missing[0] / NANOSECONDS:g} s; expected a recording of every tick (lockstep)'
        )
    none = (0.0,) * width
    return np.array([tuple(found.get(s, none))[:width] for s in stamps.tolist()], float)


# Text and picture.


def score_lines(mission: Mission, score: MissionScore) -> str:
    """Return the score of each task and penalty as aligned columns, and the sum."""
    rows = [('task', 'kind', 'state', 'share', 'points', 'from', 'to')]
    for task in score.tasks:
        begun, ended = ('' if t is None else f'{t:.1f} s' for t in (task.begun, task.ended))
        share = f'{100 * task.share:.0f} %'
        rows.append((task.name, task.kind, task.state, share, f'{task.points:.2f}', begun, ended))
    for p in score.penalties:
        times = (f'{p.spans[0][0]:.1f} s', f'{p.spans[-1][1]:.1f} s') if p.spans else ('', '')
        points = f'{-p.points:.2f}' if p.points else '0.00'
        rows.append(('penalty', p.name, f'{p.amount:.2f} {p.unit}', '', points, *times))
    medal = score.medal or f'no medal; bronze from {mission.thresholds.bronze:g}'
    table = '\n'.join(aligned_columns(rows))
    return f'{table}\nscore {score.score:.1f} of 100: {medal}'


_COLOURS = {'done': BLUE, 'failed': VERMILION, 'running': ORANGE, 'waiting': GREY}


def debriefing_figure(
    path: Path, mission: Mission, score: MissionScore, run: MissionStates
) -> None:
    """Draw the tasks and broken rules of a mission on its time line, above depth and speed.

    Raises:
        RecordingError: the file cannot be written.
    """
    broken = [p for p in score.penalties if p.spans]
    count = len(score.tasks) + len(broken)
    medal = score.medal or 'no medal'
    title = f'{mission.title}: {score.score:.1f} of 100, {medal}'
    with figure_sheet(path, title, 4.2 + 0.42 * count) as figure:
        line, depth, speed = figure.subplots(
            3, 1, sharex=True, height_ratios=[0.42 * count + 0.3, 1.6, 1.6]
        )
        _draw_time_line(line, score, broken)
        rows = thinning_slice(len(run.time))
        time = run.time[rows]
        depth.plot(time, -run.position[rows, 2], color=BLUE)
        if mission.penalties.depth is not None:
            limit = mission.penalties.depth.limit
            depth.axhline(limit, color=VERMILION, linestyle='--', label=f'limit {limit:g} m')
            depth.legend(loc='lower right')
        depth.invert_yaxis()
        depth.set_ylabel('depth, m')
        speed.plot(time, np.linalg.norm(run.velocity[rows, :3], axis=1), color=BLACK)
        speed.set_ylabel('speed, m/s')
        speed.set_xlabel('time, s')
        for axes in (depth, speed):
            axes.axvline(score.ended, color=GREY, linestyle=':')
            for p in broken:
                for begin, end in p.spans:
                    axes.axvspan(begin, end, color=VERMILION, alpha=0.15, linewidth=0)
        speed.set_xlim(float(run.time[0]), float(run.time[-1]))


def _draw_time_line(axes: Any, score: MissionScore, broken: list[Any]) -> None:
    names = []
    axes.set_title('dotted: end of the mission', loc='right', color=GREY)
    for i, task in enumerate(score.tasks):
        begin = score.ended if task.begun is None else task.begun
        end = score.ended if task.ended is None else task.ended
        axes.barh(i, max(end - begin, 0.0), left=begin, height=0.6, color=_COLOURS[task.state])
        state = {'running': 'not done', 'waiting': 'not begun'}.get(task.state, task.state)
        names.append(f'{task.name}: {state}, {task.points:.1f}')
    for i, p in enumerate(broken, len(names)):
        axes.broken_barh(
            [(a, b - a) for a, b in p.spans], (i - 0.3, 0.6), facecolor=VERMILION,
            edgecolor=VERMILION,
        )  # fmt: skip
        names.append(f'penalty {p.name}: {-p.points:.1f}')
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.axvline(score.ended, color=GREY, linestyle=':')
    axes.set_facecolor(LIGHT)
    axes.grid(False)
