# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kinds of tasks of a mission: gate, hold, follow, inspect, dock, return, turn, connect."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.schema import REQUIRED, choice, nested, number, special, text
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.sim.mission_states import MissionStates, durations

__all__ = [
    'CONNECT_TASK',
    'DOCK_TASK',
    'FOLLOW_TASK',
    'GATE_TASK',
    'HOLD_TASK',
    'INSPECT_TASK',
    'RETURN_TASK',
    'TURN_TASK',
    'TaskKind',
]

_POSITION_BOUND = 1e6
"""Bound of positions, m."""
_TIME = 1e6
"""Bound of times, s."""
_SLACK = 1e-9
"""Rounding of sums of steps, s."""


class Progress(NamedTuple):
    """Progress of a task.

    Attributes:
        fraction: completed fraction, 0 to 1.
        done: index of the tick, counted from the begin of the task, at which it was completed;
            None: not completed.
    """

    fraction: float
    done: int | None


@dataclass(frozen=True)
class TaskKind:
    """A kind of task.

    Attributes:
        name: as in a mission's file.
        spec: dataclass whose fields declare its keys (core/schema.py).
        judge: function of the spec and of the ticks while the task ran; pure.
        text: one line about the pilot's task.
        outline: function of the spec that returns lines to draw, each of points (k, 3) in map, m.
        joints: function of the spec that returns the names of the joints between bodies that it
            is judged by.
    """

    name: str
    spec: type
    judge: Callable[[Any, MissionStates], Progress]
    text: str
    outline: Callable[[Any], Sequence[np.ndarray]] = lambda spec: ()
    joints: Callable[[Any], Sequence[str]] = lambda spec: ()


def _ring(centre: Sequence[float], radius: float) -> np.ndarray:
    """Return a horizontal circle as a closed polyline."""
    turn = np.linspace(0.0, 2.0 * np.pi, 33)
    return np.array(centre) + radius * np.column_stack([np.cos(turn), np.sin(turn), 0.0 * turn])


def _rectangle(centre: np.ndarray, across: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return a rectangle as a closed polyline, from its half edges."""
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]
    return np.array([centre + a * across + b * along for a, b in corners])


def _cross(centre: np.ndarray, size: float) -> list[np.ndarray]:
    """Return three lines along the axes through a point."""
    return [np.array([centre - arm, centre + arm]) for arm in size * np.eye(3)]


def _first_true(rows: np.ndarray) -> int | None:
    """Return the index of the first true row; None: none is true."""
    return int(np.argmax(rows)) if rows.any() else None


def _continuous_stay(inside: np.ndarray, time: np.ndarray, required: float) -> Progress:
    """Return the progress of an uninterrupted stay of ``required`` seconds."""
    ticks = np.arange(len(time))
    entry_tick = np.maximum.accumulate(np.where(inside, -1, ticks)) + 1
    stay = np.where(inside, time - time[np.minimum(entry_tick, len(time) - 1)], -1.0)
    done = _first_true(stay >= required - _SLACK)
    fraction = 1.0 if done is not None else float(max(stay.max(), 0.0)) / max(required, _SLACK)
    return Progress(fraction, done)


def _heading_error(run: MissionStates, heading: float) -> np.ndarray:
    """Return the angle (n,) between the heading of the body's x axis and another, rad."""
    ahead = run.rotation[:, :, 0]
    difference = np.arctan2(ahead[:, 1], ahead[:, 0]) - heading
    return np.abs(np.arctan2(np.sin(difference), np.cos(difference)))


def _position(text: str) -> Any:
    return number(REQUIRED, -_POSITION_BOUND, _POSITION_BOUND, 'm', text, size=3)


def _angle(default: Any, text: str) -> Any:
    return special(YamlReader.angle, default, text, unit='rad')


@dataclass(frozen=True, kw_only=True)
class _Gate:
    """Frame to pass through."""

    position: tuple[float, float, float] = _position('centre of the frame, map')
    heading: float = _angle(REQUIRED, 'direction of passage, from east to north')
    width: float = number(1.5, 0.01, 1e3, 'm', 'clear width')
    height: float = number(1.5, 0.01, 1e3, 'm', 'clear height')
    passage: str = choice(('forward', 'any'), 'directions that count')


def _outline_gate(gate: _Gate) -> list[np.ndarray]:
    """Return the frame, and a line from its centre in the direction of passage."""
    ahead = np.array([math.cos(gate.heading), math.sin(gate.heading), 0.0])
    side, up = np.array([-ahead[1], ahead[0], 0.0]), np.array([0.0, 0.0, 1.0])
    centre = np.array(gate.position)
    frame = _rectangle(centre, gate.width / 2 * side, gate.height / 2 * up)
    return [frame, np.array([centre, centre + 0.4 * gate.width * ahead])]


def _judge_gate(gate: _Gate, run: MissionStates) -> Progress:
    normal = np.array([math.cos(gate.heading), math.sin(gate.heading), 0.0])
    side = np.array([-normal[1], normal[0], 0.0])
    offset = run.position - np.array(gate.position)
    ahead = offset @ normal
    before, after = ahead[:-1], ahead[1:]
    crossed = (before < 0.0) & (after >= 0.0)
    if gate.passage == 'any':
        crossed |= (before >= 0.0) & (after < 0.0)
    advance = np.where(crossed, after - before, 1.0)
    crossing = offset[:-1] - (before / advance)[:, None] * np.diff(offset, axis=0)
    inside = (np.abs(crossing @ side) <= gate.width / 2) & (
        np.abs(crossing[:, 2]) <= gate.height / 2
    )
    tick = _first_true(crossed & inside)
    return Progress(float(tick is not None), None if tick is None else tick + 1)


@dataclass(frozen=True, kw_only=True)
class _Hold:
    """Station to hold without a break."""

    position: tuple[float, float, float] = _position('point to stay at, map')
    radius: float = number(0.5, 1e-3, 1e4, 'm', 'greatest distance')
    heading: float | None = _angle(None, 'heading to keep; default: any')
    tolerance: float = _angle(math.radians(15.0), 'greatest error of the heading')
    duration: float = number(REQUIRED, 1e-3, _TIME, 's', 'time to stay')


def _judge_hold(hold: _Hold, run: MissionStates) -> Progress:
    inside = np.linalg.norm(run.position - np.array(hold.position), axis=1) <= hold.radius
    if hold.heading is not None:
        inside &= _heading_error(run, hold.heading) <= hold.tolerance
    return _continuous_stay(inside, run.time, hold.duration)


def _read_line(item: YamlReader) -> np.ndarray:
    points = [part.vector(-_POSITION_BOUND, _POSITION_BOUND) for part in item.items()]
    if len(points) < 2 or any(len(p) != 3 for p in points):
        raise item.error(': expected a list of two or more points [x, y, z]')
    line = np.array(points)
    if not np.linalg.norm(np.diff(line, axis=0), axis=1).all():
        raise item.error(': has a point twice in a row; expected it once')
    return line


def _read_bounds(item: YamlReader) -> tuple[float, float]:
    low, high = item.span()
    if low < 0.0 or high <= low:
        raise item.error(f' is {item.value!r}; expected [least, greatest], from 0 on')
    return low, high


@dataclass(frozen=True, kw_only=True, eq=False)
class _Follow:
    """Line to fly along, such as the axis of a pipeline."""

    points: np.ndarray = special(_read_line, REQUIRED, 'corners of the line, map', unit='m')
    distance: tuple[float, float] = special(
        _read_bounds, REQUIRED, 'least and greatest distance to the line', unit='m'
    )
    interval: float = number(0.5, 0.01, 1e3, 'm', 'length of the pieces that are counted')
    coverage: float = number(0.95, 0.01, 1.0, '', 'fraction of the pieces that completes the task')


def _count_progress(ticks: np.ndarray, count: int, coverage: float) -> Progress:
    """Return the progress of a task of ``count`` parts, done at ``ticks`` each."""
    needed = max(math.ceil(coverage * count - _SLACK), 1)
    done = int(np.sort(ticks)[needed - 1]) if len(ticks) >= needed else None
    return Progress(len(ticks) / count, done)


def _judge_follow(follow: _Follow, run: MissionStates) -> Progress:
    begin, along = follow.points[:-1], np.diff(follow.points, axis=0)
    length = np.linalg.norm(along, axis=1)
    offset = run.position[:, None, :] - begin
    fraction = np.clip(np.sum(offset * along, axis=2) / length**2, 0.0, 1.0)
    distance = np.linalg.norm(offset - fraction[..., None] * along, axis=2)
    nearest = np.argmin(distance, axis=1)
    ticks = np.arange(len(nearest))
    arc = np.append(0.0, np.cumsum(length))
    arc_position = arc[nearest] + fraction[ticks, nearest] * length[nearest]
    low, high = follow.distance
    inside = (distance[ticks, nearest] >= low) & (distance[ticks, nearest] <= high)
    count = max(math.ceil(arc[-1] / follow.interval - _SLACK), 1)
    piece = np.minimum((arc_position / follow.interval).astype(int), count - 1)
    _, first = np.unique(piece[inside], return_index=True)
    return _count_progress(ticks[inside][first], count, follow.coverage)


@dataclass(frozen=True, kw_only=True)
class _Point:
    """Point of a body that is to be seen."""

    name: str = text('name', REQUIRED)
    position: tuple[float, float, float] = _position('map')
    normal: tuple[float, float, float] | None = number(
        None, -1e3, 1e3, '', 'direction out of the surface, map; default: seen from all sides',
        size=3,
    )  # fmt: skip


def _read_point(item: YamlReader) -> _Point:
    point = item.read(_Point)
    if point.normal is not None and not any(point.normal):
        raise item.error('.normal is zero; expected a direction')
    return point


@dataclass(frozen=True, kw_only=True)
class _Inspect:
    """Points to bring into view of the camera. Occlusion is tested by ``normal`` only."""

    points: tuple[_Point, ...] = nested(
        _Point, 'points to see', default=REQUIRED, many=True, read=_read_point
    )
    range: tuple[float, float] = special(
        _read_bounds, (0.2, 3.0), 'least and greatest distance from the camera', unit='m'
    )
    angle: float = _angle(math.radians(30.0), 'greatest angle from the axis of the camera')
    incidence: float = _angle(math.radians(60.0), 'greatest angle from `normal`')
    camera: tuple[float, float, float] = number(
        (0.0, 0.0, 0.0), -100.0, 100.0, 'm', 'position of the camera, body'
    )
    tilt: float = _angle(0.0, 'angle of its axis below the body x axis')
    time: float = number(0.5, 0.0, _TIME, 's', 'time that each point is in view, all together')
    coverage: float = number(1.0, 0.01, 1.0, '', 'fraction of the points that completes the task')


def _outline_inspect(inspect: _Inspect) -> list[np.ndarray]:
    return [line for point in inspect.points for line in _cross(np.array(point.position), 0.15)]


def _judge_inspect(inspect: _Inspect, run: MissionStates) -> Progress:
    rotation = run.rotation
    axis = rotation @ np.array([math.cos(inspect.tilt), 0.0, -math.sin(inspect.tilt)])
    eye = run.position + rotation @ np.array(inspect.camera)
    low, high = inspect.range
    step, completed = durations(run.time), []
    for point in inspect.points:
        sight = np.array(point.position) - eye
        distance = np.linalg.norm(sight, axis=1)
        visible = (distance >= low) & (distance <= high)
        visible &= np.sum(sight * axis, axis=1) >= math.cos(inspect.angle) * distance
        if point.normal is not None:
            normal = np.array(point.normal) / np.linalg.norm(point.normal)
            visible &= -sight @ normal >= math.cos(inspect.incidence) * distance
        total = np.append(0.0, np.cumsum(np.where(visible, step, 0.0))[:-1])
        tick = _first_true(visible & (total >= inspect.time - _SLACK))
        completed += [] if tick is None else [tick]
    return _count_progress(np.array(completed, int), len(inspect.points), inspect.coverage)


@dataclass(frozen=True, kw_only=True)
class _Dock:
    """Box to come to rest in."""

    position: tuple[float, float, float] = _position('centre of the box, map')
    size: tuple[float, float, float] = number(
        (0.6, 0.6, 0.4), 1e-3, 1e3, 'm', 'length along the heading, width and height of the box'
    )
    heading: float = _angle(REQUIRED, 'heading to have')
    tolerance: float = _angle(math.radians(10.0), 'greatest error of the heading')
    lean: float = _angle(math.radians(10.0), 'greatest angle of the body z axis from the vertical')
    speed: float = number(0.05, 1e-3, 100.0, 'm/s', 'greatest speed')
    duration: float = number(3.0, 1e-3, _TIME, 's', 'time at rest')


def _outline_dock(dock: _Dock) -> list[np.ndarray]:
    """Return the floor and the ceiling of the box, and a line along its heading."""
    c, s = math.cos(dock.heading), math.sin(dock.heading)
    ahead, side = np.array([c, s, 0.0]), np.array([-s, c, 0.0])
    length, width, height = dock.size
    centre = np.array(dock.position)
    edges = [
        _rectangle(centre + np.array([0.0, 0.0, z]), length / 2 * ahead, width / 2 * side)
        for z in (-height / 2, height / 2)
    ]
    return [*edges, np.array([centre, centre + length / 2 * ahead])]


def _judge_dock(dock: _Dock, run: MissionStates) -> Progress:
    c, s = math.cos(dock.heading), math.sin(dock.heading)
    axes = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    offset = (run.position - np.array(dock.position)) @ axes.T
    inside = np.all(np.abs(offset) <= np.array(dock.size) / 2, axis=1)
    inside &= _heading_error(run, dock.heading) <= dock.tolerance
    inside &= run.rotation[:, 2, 2] >= math.cos(dock.lean)
    inside &= np.linalg.norm(run.velocity[:, :3], axis=1) <= dock.speed
    return _continuous_stay(inside, run.time, dock.duration)


@dataclass(frozen=True, kw_only=True)
class _Return:
    """Point to reach (time limit: the task's `within`)."""

    position: tuple[float, float, float] = _position('point to reach, map')
    radius: float = number(1.0, 1e-3, 1e4, 'm', 'distance that counts as there')


def _judge_return(goal: _Return, run: MissionStates) -> Progress:
    distance = np.linalg.norm(run.position - np.array(goal.position), axis=1)
    done = _first_true(distance <= goal.radius)
    if done is not None:
        return Progress(1.0, done)
    initial_distance = max(float(distance[0]) - goal.radius, _SLACK)
    return Progress(
        min(max(1.0 - (float(distance.min()) - goal.radius) / initial_distance, 0.0), 1.0), None
    )


@dataclass(frozen=True, kw_only=True)
class _JointTask:
    """Keys of tasks at a joint between bodies, of which a run has the position in every tick."""

    joint: str = text('joint of the environment', REQUIRED)
    position: tuple[float, float, float] | None = number(
        None, -_POSITION_BOUND, _POSITION_BOUND, 'm', 'where to draw a mark, map; default: none',
        size=3,
    )  # fmt: skip

    def positions_in(self, run: MissionStates) -> np.ndarray:
        """Return the position (n,) of the joint, rad or m.

        Raises:
            ScenarioError: the run does not have the joint.
        """
        if self.joint not in run.joints:
            raise ScenarioError(
                f'joint {self.joint} is not in the run; expected one of: '
                f'{", ".join(run.joints) or "(none)"}'
            )
        return run.joints[self.joint]


@dataclass(frozen=True, kw_only=True)
class _Turn(_JointTask):
    """Joint to turn or to move to a position."""

    target: float = _angle(REQUIRED, 'angle (or displacement, m) of the joint to reach')
    tolerance: float = _angle(math.radians(5.0), 'greatest difference from it')


def _judge_turn(turn: _Turn, run: MissionStates) -> Progress:
    distance = np.abs(turn.positions_in(run) - turn.target)
    done = _first_true(distance <= turn.tolerance)  # NaN is no position
    if done is not None:
        return Progress(1.0, done)
    if not np.isfinite(distance[0]):
        return Progress(0.0, None)
    return Progress(max(1.0 - float(np.nanmin(distance)) / float(distance[0]), 0.0), None)


@dataclass(frozen=True, kw_only=True)
class _Connect(_JointTask):
    """Joint that mates, to close or to open."""

    state: str = choice(('closed', 'open'), 'state to bring it to')
    duration: float = number(0.0, 0.0, _TIME, 's', 'time that it stays so')


def _judge_connect(connect: _Connect, run: MissionStates) -> Progress:
    is_open = np.isnan(connect.positions_in(run))
    reached = is_open if connect.state == 'open' else ~is_open
    return _continuous_stay(reached, run.time, connect.duration)


def _outline_joint(task: _JointTask) -> list[np.ndarray]:
    return [] if task.position is None else _cross(np.array(task.position), 0.15)


def _joint_of(task: _JointTask) -> tuple[str]:
    return (task.joint,)


def _outline_point(spec: _Hold | _Return) -> list[np.ndarray]:
    return [_ring(spec.position, spec.radius)]


def _outline_follow(follow: _Follow) -> list[np.ndarray]:
    return [follow.points]


GATE_TASK = TaskKind(
    'gate', _Gate, _judge_gate, 'pass through a frame in a direction', _outline_gate
)
HOLD_TASK = TaskKind(
    'hold', _Hold, _judge_hold, 'stay at a point, and at a heading, for a time', _outline_point
)
FOLLOW_TASK = TaskKind(
    'follow', _Follow, _judge_follow, 'keep a distance to a line along its length', _outline_follow
)
INSPECT_TASK = TaskKind(
    'inspect', _Inspect, _judge_inspect, 'bring points of a body into view', _outline_inspect
)
DOCK_TASK = TaskKind(
    'dock', _Dock, _judge_dock, 'come to rest in a box, upright and at a heading', _outline_dock
)
RETURN_TASK = TaskKind('return', _Return, _judge_return, 'come back to a point', _outline_point)
TURN_TASK = TaskKind(
    'turn', _Turn, _judge_turn, 'turn a valve or a lever to an angle', _outline_joint, _joint_of
)
CONNECT_TASK = TaskKind(
    'connect', _Connect, _judge_connect, 'plug in, or pull out, a joint that mates',
    _outline_joint, _joint_of,
)  # fmt: skip
