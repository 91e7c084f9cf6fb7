# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A flown lesson as its debriefing shows it: score, marks on the time line, sticks, other runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.bags.reading import bag_path, open_bag, read_bag
from marine_sim_ros.console.run_events import parse_event
from marine_sim_ros.core.errors import MarineSimError, RecordingError
from marine_sim_ros.core.files import check_file
from marine_sim_ros.sim.mission import load_mission, mission_names, mission_scenery

__all__ = ['ComparedRun', 'LessonRecord', 'read_compared_run', 'read_score']

SCORE_FILE = 'score.json'
EVENTS, STICKS = 'console/events', 'console/sticks'
MAX_FILE_SIZE = 10**7
"""Bytes of a score."""
MAX_POINTS = 2000
"""Of a path or a curve on the page."""

_STATES = ('waiting', 'running', 'done', 'failed')


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


_TASK: dict[str, Callable[[Any], bool]] = {
    'name': lambda v: isinstance(v, str),
    'kind': lambda v: isinstance(v, str),
    'state': lambda v: v in _STATES,
    'share': _is_number,
    'points': _is_number,
    'begun': lambda v: v is None or _is_number(v),
    'ended': lambda v: v is None or _is_number(v),
}
_PENALTY: dict[str, Callable[[Any], bool]] = {
    'name': lambda v: isinstance(v, str),
    'amount': _is_number,
    'unit': lambda v: isinstance(v, str),
    'points': _is_number,
    'spans': lambda v: (
        isinstance(v, list)
        and all(isinstance(s, list) and len(s) == 2 and all(map(_is_number, s)) for s in v)
    ),
}
_SCORE: dict[str, Callable[[Any], bool]] = {
    'mission': lambda v: isinstance(v, str),
    'tasks': lambda v: isinstance(v, list) and all(_has(row, _TASK) for row in v),
    'penalties': lambda v: isinstance(v, list) and all(_has(row, _PENALTY) for row in v),
    'score': _is_number,
    'medal': lambda v: isinstance(v, str),
    'ended': _is_number,
}


def _has(value: Any, checks: Mapping[str, Callable[[Any], bool]]) -> bool:
    """Return whether a value is an object whose keys have what is expected."""
    return isinstance(value, dict) and all(
        name in value and check(value[name]) for name, check in checks.items()
    )


def _folder_of(text: str) -> Path:
    """Return the folder of a recording, which has the bag and the score."""
    path = bag_path(text)
    folder = path if path.is_dir() else path.parent
    return folder.parent if folder.name == 'bag' else folder


def read_score(text: str) -> dict[str, Any] | None:
    """Return the score beside a recording, JSON as of ``marine_sim train``; None: it has none.

    Raises:
        RecordingError: the file is no score.
    """
    path = _folder_of(text) / SCORE_FILE
    if not path.is_file():
        return None
    check_file(path, MAX_FILE_SIZE, RecordingError)
    try:
        found = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError):
        found = None
    if not _has(found, _SCORE):
        raise RecordingError(f'{path}: is no score; expected one of `marine_sim train`')
    return dict(found)


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """Another run of the same lesson.

    Attributes:
        label: its name on the page.
        score: its score, JSON; None: it was not scored.
        path: positions (n, 3) in map, m.
    """

    label: str
    score: dict[str, Any] | None
    path: np.ndarray


def _thin(rows: np.ndarray) -> np.ndarray:
    return rows[:: max(1, math.ceil(len(rows) / MAX_POINTS))]


def read_compared_run(text: str) -> ComparedRun:
    """Return the score and the path of the first vehicle of a recording.

    Raises:
        MarineSimError: it cannot be read, or has no odometry.
    """
    bag = read_bag(text)
    odom = next(iter(bag.vehicles.values())).get('odom')
    if odom is None:
        raise RecordingError(f'{text}: has no odometry; expected another run to compare with')
    path = np.asarray(odom.rows[:, :3], float)
    label = text.rstrip('/').rsplit('/', 1)[-1]
    return ComparedRun(label, read_score(text), _thin(path[np.isfinite(path).all(axis=1)]))


@dataclass
class LessonRecord:
    """Score, events and sticks of a recorded run, with times since its first odometry, s.

    Attributes:
        text: path of the recording.
        name: namespace of the vehicle, without slashes around it.
        zero: stamp of the first odometry, s.
        score: its score, JSON with stamps; None: it is no scored lesson.
        trouble: why a score cannot be shown; empty: it can, or there is none.
        compared: other runs.
        events: what people did, of ``console.run_events``; None: not read yet.
        sticks: rows (n, 7) of time and six efforts of the pilot's sticks.
    """

    text: str
    name: str
    zero: float
    compared: tuple[ComparedRun, ...] = ()
    score: dict[str, Any] | None = None
    trouble: str = ''
    events: list[dict[str, Any]] | None = None
    sticks: np.ndarray = field(default_factory=lambda: np.zeros((0, 7)))

    def __post_init__(self) -> None:
        """Read the score."""
        try:
            self.score = read_score(self.text)
        except MarineSimError as error:
            self.trouble = str(error)

    @property
    def has_events(self) -> bool:
        """Whether the bag has a topic of events."""
        with open_bag(bag_path(self.text), self.text) as reader:
            return any(
                c.topic == f'/{self.name}/{EVENTS}' and c.msgcount for c in reader.connections
            )

    def scenery(self) -> dict[str, Any] | None:
        """Return the lesson as pages draw it, JSON; None of one that does not ship.

        No file that a recording names is read.
        """
        name = '' if self.score is None else self.score['mission']
        return mission_scenery(load_mission(name)) if name in mission_names() else None

    @property
    def title(self) -> str:
        """Title of the lesson; the name of one that does not ship."""
        name = '' if self.score is None else str(self.score['mission'])
        return load_mission(name).title if name in mission_names() else name

    def read_events(self) -> None:
        """Read events and sticks from the bag.

        Raises:
            MarineSimError: it is damaged.
        """
        events: list[dict[str, Any]] = []
        sticks: list[tuple[float, ...]] = []
        wanted = {f'/{self.name}/{EVENTS}': 'std_msgs/msg/String'}
        wanted[f'/{self.name}/{STICKS}'] = 'sensor_msgs/msg/Joy'
        with open_bag(bag_path(self.text), self.text) as reader:
            connections = [c for c in reader.connections if wanted.get(c.topic) == c.msgtype]
            for connection, _, data in reader.messages(connections) if connections else ():
                message = reader.deserialize(data, connection.msgtype)
                if connection.topic.endswith(EVENTS):
                    if (event := parse_event(message.data)) is not None:
                        events.append({**event, 'time': event['time'] - self.zero})
                elif len(message.axes) == 6 and np.isfinite(message.axes).all():
                    stamp = message.header.stamp
                    time = stamp.sec + stamp.nanosec * 1e-9 - self.zero
                    sticks.append((time, *map(float, message.axes)))
        self.sticks = _thin(np.array(sticks).reshape(-1, 7))
        self.events = events

    def states(self, time: float) -> list[dict[str, Any]]:
        """Return the states of the tasks at a time since the start (s)."""
        stamp, result = time + self.zero, []
        for task in () if self.score is None else self.score['tasks']:
            begun, ended = task['begun'], task['ended']
            state = task['state']
            if begun is None or stamp < begun:
                state = 'waiting'
            elif ended is None or stamp < ended:
                state = 'running'
            result.append({'name': task['name'], 'state': state})
        return result

    def marks(self) -> list[dict[str, Any]]:
        """Return the marks of the time line in the order of time: time, kind, text and end, s.

        The kind of a task's mark is its state, the text its name.
        """
        marks = [
            {'time': e['time'], 'end': e['time'], 'kind': e['kind'], 'text': e['text']}
            for e in self.events or ()
        ]
        if self.score is not None:
            marks += [*self._task_marks(self.score['tasks'])]
            marks += [
                self._mark(begin, end, 'penalty', f'penalty {p["name"]}')
                for p in self.score['penalties']
                for begin, end in p['spans']
            ]
        return sorted(marks, key=lambda mark: float(mark['time']))

    def _task_marks(self, tasks: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
        for task in tasks:
            if task['ended'] is not None:
                yield self._mark(task['ended'], task['ended'], task['state'], task['name'])

    def _mark(self, begin: float, end: float, kind: str, text: str) -> dict[str, Any]:
        return {'time': begin - self.zero, 'end': end - self.zero, 'kind': kind, 'text': text}

    def table(self) -> list[tuple[str, ...]]:
        """Return the points of this run and of the compared ones: head, tasks, penalties, sum."""
        scores = [self.score, *(run.score for run in self.compared)]
        head = ('', 'this run', *(run.label for run in self.compared))
        own = self.score or {'tasks': [], 'penalties': []}
        rows = [head]
        for part, sign in (('tasks', 1.0), ('penalties', -1.0)):
            for row in own[part]:
                name = row['name'] if part == 'tasks' else f'penalty {row["name"]}'
                rows.append((name, *(_points(s, part, row['name'], sign) for s in scores)))
        total = (f'{s["score"]:.1f}' if s is not None else '–' for s in scores)
        medals = ((s['medal'] or 'none') if s is not None else '–' for s in scores)
        return [*rows, ('score', *total), ('medal', *medals)]


def _points(score: Mapping[str, Any] | None, part: str, name: str, sign: float) -> str:
    """Return the points of a task or a penalty of a score in words."""
    found = None if score is None else next((r for r in score[part] if r['name'] == name), None)
    return '–' if found is None else f'{sign * found["points"] + 0.0:.1f}'.replace('-', '−')
