# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kinds of tasks of a mission that are judged by the motion of the vehicle alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.schema import REQUIRED, choice, declaration, nested, number, special, text
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.sim.mission_states import MissionStates, durations

__all__ = [
    'DOCK_TASK',
    'FOLLOW_TASK',
    'GATE_TASK',
    'HOLD_TASK',
    'INSPECT_TASK',
    'RETURN_TASK',
    'Progress',
    'CameraKeys',
    'TaskKind',
    'angle_key',
    'continuous_stay',
    'cross_lines',
    'first_true',
    'in_view',
    'position_key',
    'read_bounds',
    'ring',
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
        bodies: likewise, of the free bodies.
        reports: likewise, of the targets that the pilot has to report.
    """

    name: str
    spec: type
    judge: Callable[[Any, MissionStates], Progress]
    text: str
    outline: Callable[[Any], Sequence[np.ndarray]] = lambda spec: ()
    joints: Callable[[Any], Sequence[str]] = lambda spec: ()
    bodies: Callable[[Any], Sequence[str]] = lambda spec: ()
    reports: Callable[[Any], Sequence[str]] = lambda spec: ()


def ring(centre: Sequence[float], radius: float) -> np.ndarray:
    """Return a horizontal circle as a closed polyline."""
    turn = np.linspace(0.0, 2.0 * np.pi, 33)
    return np.array(centre) + radius * np.column_stack([np.cos(turn), np.sin(turn), 0.0 * turn])


def _rectangle(centre: np.ndarray, across: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return a rectangle as a closed polyline, from its half edges."""
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]
    return np.array([centre + a * across + b * along for a, b in corners])


def cross_lines(centre: np.ndarray, size: float) -> list[np.ndarray]:
    """Return three lines along the axes through a point."""
    return [np.array([centre - arm, centre + arm]) for arm in size * np.eye(3)]


def first_true(rows: np.ndarray) -> int | None:
    """Return the index of the first true row; None: none is true."""
    return int(np.argmax(rows)) if rows.any() else None


def continuous_stay(inside: np.ndarray, time: np.ndarray, required: float) -> Progress:
    """Return the progress of an uninterrupted stay of ``required`` seconds."""
    ticks = np.arange(len(time))
    entry_tick = np.maximum.accumulate(np.where(inside, -1, ticks)) + 1
    stay = np.where(inside, time - time[np.minimum(entry_tick, len(time) - 1)], -1.0)
    done = first_true(stay >= required - _SLACK)
    fraction = 1.0 if done is not None else float(max(stay.max(), 0.0)) / max(required, _SLACK)
    return Progress(fraction, done)


def _heading_error(run: MissionStates, heading: float | np.ndarray) -> np.ndarray:
    """Return the angle (n,) between the heading of the body's x axis and another, rad."""
    ahead = run.rotation[:, :, 0]
    difference = np.arctan2(ahead[:, 1], ahead[:, 0]) - heading
    return np.abs(np.arctan2(np.sin(difference), np.cos(difference)))


def position_key(text: str) -> Any:
    """Return a required key of a position in map."""
    return number(REQUIRED, -_POSITION_BOUND, _POSITION_BOUND, 'm', text, size=3)


def angle_key(default: Any, text: str) -> Any:
    """Return a key of an angle."""
    return special(YamlReader.angle, default, text, unit='rad')


@declaration(frozen=True, kw_only=True)
class _Gate:
    """Frame to pass through."""

    position: tuple[float, float, float] = position_key('centre of the frame, map')
    heading: float = angle_key(REQUIRED, 'direction of passage, from east to north')
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
    tick = first_true(crossed & inside)
    return Progress(float(tick is not None), None if tick is None else tick + 1)


@declaration(frozen=True, kw_only=True)
class _Hold:
    """Station to hold without a break."""

    position: tuple[float, float, float] = position_key('point to stay at, map')
    radius: float = number(0.5, 1e-3, 1e4, 'm', 'greatest distance')
    heading: float | None = angle_key(None, 'heading to keep; default: any')
    tolerance: float = angle_key(math.radians(15.0), 'greatest error of the heading')
    duration: float = number(REQUIRED, 1e-3, _TIME, 's', 'time to stay')


def _judge_hold(hold: _Hold, run: MissionStates) -> Progress:
    inside = np.linalg.norm(run.position - np.array(hold.position), axis=1) <= hold.radius
    if hold.heading is not None:
        inside &= _heading_error(run, hold.heading) <= hold.tolerance
    return continuous_stay(inside, run.time, hold.duration)


def _read_line(item: YamlReader) -> np.ndarray:
    points = [part.vector(-_POSITION_BOUND, _POSITION_BOUND) for part in item.items()]
    if len(points) < 2 or any(len(p) != 3 for p in points):
        raise item.error(': expected a list of two or more points [x, y, z]')
    line = np.array(points)
    if not np.linalg.norm(np.diff(line, axis=0), axis=1).all():
        raise item.error(': has a point twice in a row; expected it once')
    return line


def read_bounds(item: YamlReader) -> tuple[float, float]:
    """Return a least and a greatest number, from 0 on."""
    low, high = item.span()
    if low < 0.0 or high <= low:
        raise item.error(f' is {item.value!r}; expected [least, greatest], from 0 on')
    return low, high


@dataclass(frozen=True, kw_only=True, eq=False)
class _Follow:
    """Line to fly along, such as the axis of a pipeline."""

    points: np.ndarray = special(_read_line, REQUIRED, 'corners of the line, map', unit='m')
    distance: tuple[float, float] = special(
        read_bounds, REQUIRED, 'least and greatest distance to the line', unit='m'
    )
    aim: str = choice(('any', 'along', 'towards'), 'bow: any, along the line, or towards it')
    tolerance: float = angle_key(math.radians(20.0), 'greatest error of the heading, with `aim`')
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
    if follow.aim != 'any':
        aim = along[nearest]
        if follow.aim == 'towards':
            aim = fraction[ticks, nearest, None] * aim - offset[ticks, nearest]
        target = np.arctan2(aim[:, 1], aim[:, 0])
        inside &= _heading_error(run, target) <= follow.tolerance
    count = max(math.ceil(arc[-1] / follow.interval - _SLACK), 1)
    piece = np.minimum((arc_position / follow.interval).astype(int), count - 1)
    _, first = np.unique(piece[inside], return_index=True)
    return _count_progress(ticks[inside][first], count, follow.coverage)


@declaration(frozen=True, kw_only=True)
class _Point:
    """Point of a body that is to be seen."""

    name: str = text('name', REQUIRED)
    position: tuple[float, float, float] = position_key('map')
    normal: tuple[float, float, float] | None = number(
        None, -1e3, 1e3, '', 'direction out of the surface, map; default: seen from all sides',
        size=3,
    )  # fmt: skip


def _read_point(item: YamlReader) -> _Point:
    point = item.read(_Point)
    if point.normal is not None and not any(point.normal):
        raise item.error('.normal is zero; expected a direction')
    return point


@declaration(frozen=True, kw_only=True)
class _Area:
    """Rectangle whose points are to be seen from its front."""

    corner: tuple[float, float, float] = position_key('a corner, map')
    across: tuple[float, float, float] = position_key('edge from there, map')
    along: tuple[float, float, float] = position_key(
        'the other edge; the front is where across × along points'
    )
    spacing: float = number(0.5, 0.05, 1e3, 'm', 'greatest distance of neighbouring points')

    def points(self) -> list[_Point]:
        """Return the points of a grid over the rectangle, the middles of equal cells."""
        edges = np.array(self.across), np.array(self.along)
        normal = tuple(np.cross(*edges).tolist())
        counts = [max(math.ceil(np.linalg.norm(edge) / self.spacing), 1) for edge in edges]
        return [
            _Point(name=f'{i + 1}/{j + 1}', position=tuple(place.tolist()), normal=normal)
            for i in range(counts[0])
            for j in range(counts[1])
            for place in [
                np.array(self.corner)
                + edges[0] * (i + 0.5) / counts[0]
                + edges[1] * (j + 0.5) / counts[1]
            ]
        ]


def _read_area(item: YamlReader) -> _Area:
    area = item.read(_Area)
    if not np.linalg.norm(np.cross(area.across, area.along)) > 1e-6:
        raise item.error(': across and along span no area; expected two directions')
    return area


@declaration(frozen=True, kw_only=True)
class CameraKeys:
    """Keys of tasks that a camera sees."""

    range: tuple[float, float] = special(
        read_bounds, (0.2, 3.0), 'least and greatest distance from the camera', unit='m'
    )
    angle: float = angle_key(math.radians(30.0), 'greatest angle from the axis of the camera')
    camera: tuple[float, float, float] = number(
        (0.0, 0.0, 0.0), -100.0, 100.0, 'm', 'position of the camera, body'
    )
    tilt: float = angle_key(0.0, 'angle of its axis below the body x axis')


def in_view(
    keys: CameraKeys, position: Sequence[float], run: MissionStates
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether a camera sees a point (3,) at each tick (n,), and the ray to it (n, 3)."""
    rotation = run.rotation
    axis = rotation @ np.array([math.cos(keys.tilt), 0.0, -math.sin(keys.tilt)])
    sight = np.array(position) - (run.position + rotation @ np.array(keys.camera))
    distance = np.linalg.norm(sight, axis=1)
    visible = (distance >= keys.range[0]) & (distance <= keys.range[1])
    visible &= np.sum(sight * axis, axis=1) >= math.cos(keys.angle) * distance
    return visible, sight


@declaration(frozen=True, kw_only=True)
class _Inspect(CameraKeys):
    """Points to bring into view of the camera. Occlusion is tested by ``normal`` only."""

    points: tuple[_Point, ...] = nested(_Point, 'points to see', many=True, read=_read_point)
    area: _Area | None = nested(_Area, 'rectangle to see, besides the points', read=_read_area)
    incidence: float = angle_key(math.radians(60.0), 'greatest angle from `normal`')
    time: float = number(0.5, 0.0, _TIME, 's', 'time that each point is in view, all together')
    coverage: float = number(1.0, 0.01, 1.0, '', 'fraction of the points that completes the task')

    def __post_init__(self) -> None:
        """Raise ScenarioError without anything to see."""
        if not self.points and self.area is None:
            raise ScenarioError('has neither points nor an area; expected one')

    @property
    def all_points(self) -> list[_Point]:
        """The points, and those of the area."""
        return [*self.points, *(() if self.area is None else self.area.points())]


def _outline_inspect(inspect: _Inspect) -> list[np.ndarray]:
    places = [np.array(point.position) for point in inspect.all_points]
    return [line for place in places for line in cross_lines(place, 0.15)]


def _judge_inspect(inspect: _Inspect, run: MissionStates) -> Progress:
    step, completed, points = durations(run.time), [], inspect.all_points
    for point in points:
        visible, sight = in_view(inspect, point.position, run)
        if point.normal is not None:
            normal = np.array(point.normal) / np.linalg.norm(point.normal)
            distance = np.linalg.norm(sight, axis=1)
            visible &= -sight @ normal >= math.cos(inspect.incidence) * distance
        total = np.append(0.0, np.cumsum(np.where(visible, step, 0.0))[:-1])
        tick = first_true(visible & (total >= inspect.time - _SLACK))
        completed += [] if tick is None else [tick]
    return _count_progress(np.array(completed, int), len(points), inspect.coverage)


@declaration(frozen=True, kw_only=True)
class _Dock:
    """Box to come to rest in."""

    position: tuple[float, float, float] = position_key('centre of the box, map')
    size: tuple[float, float, float] = number(
        (0.6, 0.6, 0.4), 1e-3, 1e3, 'm', 'length along the heading, width and height of the box'
    )
    heading: float = angle_key(REQUIRED, 'heading to have')
    tolerance: float = angle_key(math.radians(10.0), 'greatest error of the heading')
    lean: float = angle_key(
        math.radians(10.0), 'greatest angle of the body z axis from the vertical'
    )
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
    return continuous_stay(inside, run.time, dock.duration)


@declaration(frozen=True, kw_only=True)
class _Return:
    """Point to reach (time limit: the task's `within`)."""

    position: tuple[float, float, float] = position_key('point to reach, map')
    radius: float = number(1.0, 1e-3, 1e4, 'm', 'distance that counts as there')


def _judge_return(goal: _Return, run: MissionStates) -> Progress:
    distance = np.linalg.norm(run.position - np.array(goal.position), axis=1)
    done = first_true(distance <= goal.radius)
    if done is not None:
        return Progress(1.0, done)
    initial_distance = max(float(distance[0]) - goal.radius, _SLACK)
    return Progress(
        min(max(1.0 - (float(distance.min()) - goal.radius) / initial_distance, 0.0), 1.0), None
    )


def _outline_point(spec: _Hold | _Return) -> list[np.ndarray]:
    return [ring(spec.position, spec.radius)]


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
