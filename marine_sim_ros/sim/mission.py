# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Missions of a pilot: tasks and penalties from a file, and the score of the states of a run."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError, ScenarioError
from marine_sim_ros.core.files import check_file
from marine_sim_ros.core.geodesy import Origin, replace_geographic
from marine_sim_ros.core.registry import MISSION_TASKS
from marine_sim_ros.core.schema import (
    REQUIRED,
    choice,
    declaration,
    fields_of,
    nested,
    number,
    special,
    text,
)
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.body_joints import reported_joints
from marine_sim_ros.model.library import parse_xacro_arguments, read_argument_texts, vehicle_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.mission_penalties import Penalties, PenaltyResult, penalty_results
from marine_sim_ros.sim.mission_states import MissionInputs, MissionStates
from marine_sim_ros.sim.mission_tasks import TaskKind
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import Scenario, load_scenario

__all__ = [
    'LIVE_SCORE',
    'MISSIONS',
    'Mission',
    'MissionScore',
    'check_lesson',
    'lesson_options',
    'inputs_of_mission',
    'lesson_pilot',
    'lessons',
    'load_lesson',
    'load_mission',
    'mission_names',
    'mission_scenery',
    'score_content',
    'score_mission',
]

WAITING, RUNNING, DONE, FAILED = 'waiting', 'running', 'done', 'failed'
MEDALS = ('bronze', 'silver', 'gold')
LIVE_SCORE = 'live_score.json'
"""File beside a bag with the score that was computed during the run."""


@declaration(frozen=True, kw_only=True)
class _TaskElement:
    """Keys that every task has."""

    name: str = text('name', REQUIRED)
    kind: str = text('one of `marine_sim list tasks`', REQUIRED)
    weight: float = number(1.0, 1e-3, 1e6, '', 'weight in the score')
    within: float | None = number(
        None, 1e-3, 1e6, 's', 'time from its beginning after which it has failed; default: none'
    )
    hint: str = text('advice that the console shows while the task is running')


@dataclass(frozen=True, eq=False)
class MissionTask:
    """A task of a mission.

    Attributes:
        name: unique in the mission.
        kind: entry of ``MISSION_TASKS``.
        spec: values of the keys of its kind.
        weight: weight in the score.
        within: time limit from the begin of the task, s; None: none.
        hint: advice while it is running.
    """

    name: str
    kind: TaskKind
    spec: Any
    weight: float
    within: float | None
    hint: str = ''


def _read_task(item: YamlReader) -> MissionTask:
    if not isinstance(item.value, dict) or 'kind' not in item.value:
        raise item.error(f': kind is missing; expected one of: {", ".join(MISSION_TASKS)}')
    kind: TaskKind = MISSION_TASKS[item.child('kind').choice(tuple(MISSION_TASKS))]
    keys = {**fields_of(kind.spec), **fields_of(_TaskElement)}
    required = {key.name for key in keys.values() if key.default is REQUIRED}
    item.mapping({key.name for key in keys.values()}, required)
    common = item.values(_TaskElement)
    try:
        spec = kind.spec(**item.values(kind.spec))
    except ScenarioError as error:
        text = str(error)
        raise error if text.startswith(item.where) else item.error(f': {text}') from None
    return MissionTask(
        common['name'], kind, spec, common['weight'],
        common['within'], common['hint'],
    )  # fmt: skip


@declaration(frozen=True, kw_only=True)
class _Thresholds:
    """Least scores of the medals."""

    bronze: float = number(60.0, 0.0, 100.0, '', 'least score that passes')
    silver: float = number(75.0, 0.0, 100.0, '', 'least score of silver')
    gold: float = number(90.0, 0.0, 100.0, '', 'least score of gold')


@dataclass(frozen=True, kw_only=True, eq=False)
class Mission:
    """A mission.

    Attributes:
        name: name of the file.
        picture_uri: the picture as a data URI (RFC 2397); empty without one.
    """

    name: str = ''
    picture_uri: str = ''
    title: str = text('title', REQUIRED)
    description: str = text('one line', REQUIRED)
    briefing: str = text('what the pilot reads before', REQUIRED)
    picture: str = text('JPEG or PNG of the briefing, in the folder of the file; default: none')
    vehicle: str = text('shipped name or URDF', REQUIRED)
    arguments: tuple[str, ...] = special(
        read_argument_texts, (), 'xacro arguments of the vehicle, `name:=value` each'
    )
    environment: str = text('shipped name or YAML file; default: still water')
    scenario: str = text(
        'scenario of the scripted pilot, shipped name or path; start and faults are its', REQUIRED
    )
    lesson: int = number(
        0, 0, 999, '', 'place among the lessons of `marine_sim train`; 0: after them', whole=True
    )
    order: str = choice(('sequence', 'any'), 'sequence: each task begins when the one before ends')
    limit: float | None = number(
        None, 1e-3, 1e6, 's', 'end of the mission; default: end of the run'
    )
    tasks: tuple[MissionTask, ...] = nested(
        _TaskElement, 'tasks', default=REQUIRED, many=True, read=_read_task
    )
    penalties: Penalties = nested(Penalties, 'penalties', default=Penalties())
    thresholds: _Thresholds = nested(_Thresholds, 'medals', default=_Thresholds())


def _with_positions_in_map(root: YamlReader) -> YamlReader:
    """Return a mission with the geographic positions of its tasks in map of its environment."""
    if not isinstance(root.value, dict) or 'tasks' not in root.value:
        return root

    @cache
    def environment() -> Environment:
        name = root.child('environment', '').text()
        return load_environment(name) if name else Environment()

    def origin(item: YamlReader) -> Origin:
        if environment().has_origin:
            return environment().origin
        raise item.error(
            f' has a latitude, and environment {environment().name or "(none)"} has no origin; '
            'expected one with `origin: {latitude: …, longitude: …}`, or [x, y, z]'
        )

    tasks = replace_geographic(root.child('tasks'), origin)
    return YamlReader(root.where, {**root.value, 'tasks': tasks}, ScenarioError)


_MAX_PICTURE_SIZE = 500_000
"""Bytes of the picture of a briefing."""
_PICTURE_TYPES = {b'\xff\xd8\xff': 'jpeg', b'\x89PNG': 'png'}
"""Type of a picture by its first bytes."""


def _picture_uri(root: YamlReader, name: str) -> str:
    """Return a picture beside a mission's file as a data URI."""
    path = Path(root.where).parent / name
    if path.name != name:
        raise root.error(f': picture is {name!r}; expected a file in the folder of the mission')
    check_file(path, _MAX_PICTURE_SIZE, ScenarioError)
    content = path.read_bytes()
    kind = next((t for start, t in _PICTURE_TYPES.items() if content.startswith(start)), '')
    if not kind:
        raise root.error(f': picture {name!r} is neither a JPEG nor a PNG')
    return f'data:image/{kind};base64,{b64encode(content).decode()}'


def _read_mission(root: YamlReader) -> Mission:
    root = _with_positions_in_map(root)
    mission = replace(root.read(Mission), name=root.stem)
    if mission.picture:
        mission = replace(mission, picture_uri=_picture_uri(root, mission.picture))
    names = [task.name for task in mission.tasks]
    if not names:
        raise root.error(': tasks is empty; expected at least one')
    if twice := next((n for n in names if names.count(n) > 1), None):
        raise root.error(f': two tasks are named {twice!r}; expected different names')
    levels = [getattr(mission.thresholds, medal) for medal in MEDALS]
    if levels != sorted(levels):
        raise root.error(': thresholds fall; expected bronze <= silver <= gold')
    return mission


MISSIONS = ConfigFiles('missions', _read_mission, ScenarioError)
mission_names = MISSIONS.names
load_lesson = ConfigFiles('missions', _read_mission, ScenarioError, kind='lesson').load
"""The same, with the word that pilots know in its messages."""


@lru_cache(maxsize=32)
def _mission_of(name: str, _path: str, _version: int) -> Mission:
    return MISSIONS.load(name)


def load_mission(name_or_path: str | Path) -> Mission:
    """Return a mission by its shipped name or the path of its file.

    A process reads a file once, and again after it has changed.

    Raises:
        ScenarioError: it cannot be found, read or used.
    """
    path = MISSIONS.path(name_or_path)
    version = path.stat().st_mtime_ns if path.is_file() else 0
    return _mission_of(str(name_or_path), str(path.absolute()), version)


def lessons() -> list[Mission]:
    """Return the missions that ship, in the order of their lessons; others are last."""
    found = [load_mission(name) for name in mission_names()]
    return sorted(found, key=lambda mission: (not mission.lesson, mission.lesson, mission.name))


# Runs of a mission.


def lesson_options(options: RunOptions) -> RunOptions:
    """Options of a run with the environment and the xacro arguments of its lesson, if it has one.

    Raises:
        ParameterError: another vehicle, environment or argument than the lesson's.
    """
    if not options.lesson:
        return options
    mission = load_mission(options.lesson)
    if not options.environment:
        options = replace(options, environment=mission.environment)
    expected = parse_xacro_arguments(mission.arguments)
    given = parse_xacro_arguments(options.vehicle_arguments)
    for name, value in expected.items():
        if given.setdefault(name, value) != value:
            raise ParameterError(
                f'lesson {options.lesson}: {name} is {given[name]}; expected {value}'
            )
    if expected:
        arguments = tuple(f'{name}:={value}' for name, value in given.items())
        options = replace(options, vehicle_arguments=arguments)
    for key in ('vehicle', 'environment'):
        value, expected = getattr(options, key), getattr(mission, key)
        if value != expected:
            raise ParameterError(
                f'lesson {options.lesson}: {key} is {value}; expected {expected or "none"}'
            )
    return options


def _setting(mission: Mission) -> tuple[Vehicle, Environment]:
    """Return the vehicle and the environment of a mission, each read once in a process."""
    parameters = {'vehicle': mission.vehicle, 'vehicle_arguments': mission.arguments}
    return vehicle_of(parameters), _environment_of(mission.environment)


@lru_cache(maxsize=8)
def _environment_of(name: str) -> Environment:
    return load_environment(name) if name else Environment()


def inputs_of_mission(mission: Mission) -> MissionInputs:
    """Return the inputs of the score of a mission beside motion and loads.

    Of a body with a joint that a task names, all joints count, in the order of its
    ``joint_states``.

    Raises:
        ScenarioError: the environment does not have a joint or a body that a task names, or no
            sediment where silt costs points.
    """
    environment = _environment_of(mission.environment)
    by_body = reported_joints(environment.body_joints)
    joints = _needed(mission, 'joint', [name for names in by_body.values() for name in names])
    bodies = _needed(mission, 'body', [body.name for body in environment.free_bodies])
    if mission.penalties.silt is not None and environment.sediment is None:
        raise ScenarioError(
            f'mission {mission.name}: penalties.silt: environment '
            f'{mission.environment or "(none)"} has no `sediment`; expected one'
        )
    return MissionInputs(
        {b: names for b, names in by_body.items() if joints & set(names)},
        tuple(sorted(bodies)),
        len(_setting(mission)[0].thrusters) if mission.penalties.need_thrust else 0,
        any(task.kind.reports(task.spec) for task in mission.tasks),
    )


def _needed(mission: Mission, noun: str, known: Sequence[str]) -> set[str]:
    """Return the names of joints or bodies that the tasks of a mission depend on."""
    result: set[str] = set()
    for task in mission.tasks:
        needed = task.kind.joints if noun == 'joint' else task.kind.bodies
        for name in needed(task.spec):
            if name not in known:
                raise ScenarioError(
                    f'mission {mission.name}: task {task.name}: {noun} {name} is not in '
                    f'environment {mission.environment or "(none)"}; expected one of: '
                    f'{", ".join(known) or "(none)"}'
                )
            result.add(name)
    return result


def check_lesson(options: RunOptions) -> None:
    """Raise ScenarioError where the lesson of a run names what is not there."""
    if options.lesson:
        inputs_of_mission(load_mission(options.lesson))


def lesson_pilot(options: RunOptions) -> Scenario | None:
    """Return the scenario of the scripted pilot of a run's lesson; None without a lesson.

    A run without a scenario has the start and the faults of this one.
    """
    if not options.lesson:
        return None
    mission = load_mission(options.lesson)
    scenario = load_scenario(mission.scenario)
    return scenario.located(load_environment(mission.environment) if mission.environment else None)


# Score of a run.


@dataclass(frozen=True)
class TaskResult:
    """Result of a task.

    Attributes:
        name: of the task.
        kind: of the task.
        state: ``waiting``, ``running``, ``done`` or ``failed``.
        share: completed fraction, 0 to 1.
        points: contribution to the score.
        begun: time of its first tick, s; None: it did not begin.
        ended: time at which it was done or failed, s; None: it did not end.
    """

    name: str
    kind: str
    state: str
    share: float
    points: float
    begun: float | None
    ended: float | None


@dataclass(frozen=True)
class MissionScore:
    """Score of a mission.

    Attributes:
        tasks: results in the order of the mission.
        penalties: results of the rules that the mission has.
        score: points of the tasks without the penalties, 0 to 100.
        medal: ``bronze``, ``silver``, ``gold`` or nothing.
        ended: time at which all tasks had ended, the limit, or the end of the run, s.
        complete: whether no task was waiting or running then, or the limit was reached.
    """

    tasks: tuple[TaskResult, ...]
    penalties: tuple[PenaltyResult, ...]
    score: float
    medal: str
    ended: float
    complete: bool

    @property
    def passed(self) -> bool:
        """Whether the score has a medal."""
        return bool(self.medal)


def score_mission(mission: Mission, run: MissionStates) -> MissionScore:
    """Return the score of the states of a run, or of its first ticks.

    100 Σ wᵢ sᵢ / Σ wᵢ − Σ penalties, within 0 to 100, with the weight wᵢ and the completed
    fraction sᵢ of each task. The score depends on the arguments only, so it is the same live and
    from a recording. Integrals are sums over ticks of the rate at a tick times the time to the
    next one.

    Raises:
        ScenarioError: a run without ticks.
    """
    if not len(run.time):
        raise ScenarioError(f'mission {mission.name}: the run has no ticks; expected one or more')
    run = run.with_last_held()
    over = run.time - run.time[0] > (np.inf if mission.limit is None else mission.limit) + 1e-9
    last = int(np.argmax(over)) if over.any() else len(run.time)
    results, begin, total = [], 0, sum(task.weight for task in mission.tasks)
    ends = []
    for task in mission.tasks:
        result, end = _judge(task, run, begin, last, 100.0 * task.weight / total)
        results.append(result)
        ends.append(end)
        if mission.order == 'sequence':
            begin = last if end is None else end
    complete = all(end is not None for end in ends) or bool(over.any())
    final = max(end for end in ends if end is not None) if None not in ends else last - 1
    penalties = tuple(
        penalty_results(mission.penalties, run.part(0, final + 1), partial(_setting, mission))
    )
    score = sum(r.points for r in results) - sum(p.points for p in penalties)
    score = min(max(score, 0.0), 100.0)
    earned = [m for m in MEDALS if score >= getattr(mission.thresholds, m)]
    return MissionScore(
        tuple(results), penalties, score, earned[-1] if earned else '', float(run.time[final]),
        complete,
    )  # fmt: skip


def score_content(mission: Mission, score: MissionScore) -> dict[str, Any]:
    """Return a score for JSON, in the same form live and from a bag."""
    return {'mission': mission.name, **asdict(score), 'passed': score.passed}


def mission_scenery(mission: Mission) -> dict[str, Any]:
    """Return the static content of a mission for web pages, as JSON; lines in map, m."""
    return {
        'name': mission.name,
        'title': mission.title,
        'briefing': re.sub(r'(?<!\n)\n(?!\n)', ' ', mission.briefing.strip()),
        'picture': mission.picture_uri,
        'limit': mission.limit,
        'medals': {medal: getattr(mission.thresholds, medal) for medal in MEDALS},
        'tasks': [
            {
                'name': task.name,
                'kind': task.kind.name,
                'text': task.kind.text,
                'hint': task.hint,
                'within': task.within,
                'reports': list(task.kind.reports(task.spec)),
                'lines': [np.round(line, 3).tolist() for line in task.kind.outline(task.spec)],
            }
            for task in mission.tasks
        ],
    }


def _judge(
    task: MissionTask, run: MissionStates, begin: int, last: int, points: float
) -> tuple[TaskResult, int | None]:
    """Return the result of a task that begins at a tick, and the tick at which it ended."""
    name, kind = task.name, task.kind.name
    if begin >= last:
        return TaskResult(name, kind, WAITING, 0.0, 0.0, None, None), None
    time, limit = run.time, last
    if task.within is not None:
        time_limit_tick = int(
            np.searchsorted(time, time[begin] + task.within + 1e-9, side='right')
        )
        limit = min(time_limit_tick, last)
    progress = task.kind.judge(task.spec, run.part(begin, limit))
    start_time, end, state = float(time[begin]), None, RUNNING
    fraction = min(max(float(progress.fraction), 0.0), 1.0)
    if progress.done is not None:
        end, state, fraction = begin + progress.done, DONE, 1.0
    elif limit < last:
        end, state = limit, FAILED
    elif last < len(time):
        state = FAILED  # the mission's own limit
    end_time = None if end is None else float(time[end])
    return TaskResult(name, kind, state, fraction, points * fraction, start_time, end_time), end
