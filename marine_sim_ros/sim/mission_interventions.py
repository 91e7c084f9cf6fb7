# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Intervention tasks of a mission, judged from a run: deliver, connect or turn a body, report."""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.schema import REQUIRED, choice, declaration, number, text
from marine_sim_ros.sim.mission_states import MissionStates
from marine_sim_ros.sim.mission_tasks import (
    CameraKeys,
    Progress,
    TaskKind,
    angle_key,
    continuous_stay,
    cross_lines,
    first_true,
    in_view,
    position_key,
    ring,
)

__all__ = ['CONNECT_TASK', 'DELIVER_TASK', 'REPORT_TASK', 'TURN_TASK']

_POSITION_BOUND = 1e6
"""Bound of positions, m."""
_TIME = 1e6
"""Bound of times, s."""
_SLACK = 1e-9
"""Rounding of sums of steps, s."""


@declaration(frozen=True, kw_only=True)
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


@declaration(frozen=True, kw_only=True)
class _Turn(_JointTask):
    """Joint to turn or to move to a position."""

    target: float = angle_key(REQUIRED, 'angle (or displacement, m) of the joint to reach')
    tolerance: float = angle_key(math.radians(5.0), 'greatest difference from it')


def _judge_turn(turn: _Turn, run: MissionStates) -> Progress:
    distance = np.abs(turn.positions_in(run) - turn.target)
    done = first_true(distance <= turn.tolerance)  # NaN is no position
    if done is not None:
        return Progress(1.0, done)
    if not np.isfinite(distance[0]):
        return Progress(0.0, None)
    return Progress(max(1.0 - float(np.nanmin(distance)) / float(distance[0]), 0.0), None)


@declaration(frozen=True, kw_only=True)
class _Connect(_JointTask):
    """Joint that mates, to close or to open."""

    state: str = choice(('closed', 'open'), 'state to bring it to')
    duration: float = number(0.0, 0.0, _TIME, 's', 'time that it stays so')


def _judge_connect(connect: _Connect, run: MissionStates) -> Progress:
    is_open = np.isnan(connect.positions_in(run))
    reached = is_open if connect.state == 'open' else ~is_open
    return continuous_stay(reached, run.time, connect.duration)


@declaration(frozen=True, kw_only=True)
class _Deliver:
    """Free body to bring to a point, and to leave there."""

    body: str = text('free body of the environment', REQUIRED)
    position: tuple[float, float, float] = position_key('point to bring it to, map')
    radius: float = number(0.5, 1e-3, 1e4, 'm', 'greatest distance of the body from it')
    clear: float = number(
        0.0, 0.0, 1e4, 'm', 'least distance of the vehicle from the body: it has let go'
    )
    duration: float = number(1.0, 0.0, _TIME, 's', 'time that the body stays so')


def _judge_deliver(deliver: _Deliver, run: MissionStates) -> Progress:
    if deliver.body not in run.bodies:
        raise ScenarioError(
            f'body {deliver.body} is not in the run; expected one of: '
            f'{", ".join(run.bodies) or "(none)"}'
        )
    body = run.bodies[deliver.body]
    apart = np.linalg.norm(body - np.array(deliver.position), axis=1)
    is_clear = np.linalg.norm(run.position - body, axis=1) >= deliver.clear
    stay = continuous_stay((apart <= deliver.radius) & is_clear, run.time, deliver.duration)
    if stay.done is not None:
        return stay
    way = max(float(apart[0]) - deliver.radius, _SLACK)
    brought = 1.0 - max(float(apart.min()) - deliver.radius, 0.0) / way
    # Half of it is to bring the body there, and half to leave it.
    return Progress(0.5 * max(brought, 0.0) + 0.5 * stay.fraction, None)


@declaration(frozen=True, kw_only=True)
class _Report(CameraKeys):
    """Target to find and to report: it is in view of the camera when the pilot reports it."""

    target: str = text('name to report; reports of other names do not count', REQUIRED)
    position: tuple[float, float, float] = position_key('of the target, map')
    tries: int = number(3, 1, 1000, '', 'reports that count; later ones do not', whole=True)


def _judge_report(report: _Report, run: MissionStates) -> Progress:
    visible, _ = in_view(report, report.position, run)
    times = [t for t, name in sorted(run.reports) if name == report.target]
    tries = [t for t in times if run.time[0] - _SLACK <= t <= run.time[-1] + _SLACK]
    for time in tries[: report.tries]:
        tick = int(np.searchsorted(run.time, time - _SLACK))
        if visible[tick]:
            return Progress(1.0, tick)
    return Progress(0.0, None)


def _outline_joint(task: _JointTask) -> list[np.ndarray]:
    return [] if task.position is None else cross_lines(np.array(task.position), 0.15)


def _joint_of(task: _JointTask) -> tuple[str]:
    return (task.joint,)


def _outline_deliver(deliver: _Deliver) -> list[np.ndarray]:
    return [ring(deliver.position, deliver.radius)]


def _target_of(report: _Report) -> tuple[str]:
    return (report.target,)


def _body_of(deliver: _Deliver) -> tuple[str]:
    return (deliver.body,)


TURN_TASK = TaskKind(
    'turn', _Turn, _judge_turn, 'turn a valve or a lever to an angle', _outline_joint, _joint_of
)
CONNECT_TASK = TaskKind(
    'connect', _Connect, _judge_connect, 'plug in, or pull out, a joint that mates',
    _outline_joint, _joint_of,
)  # fmt: skip
DELIVER_TASK = TaskKind(
    'deliver', _Deliver, _judge_deliver, 'pick up a body, and leave it at a point',
    _outline_deliver, bodies=_body_of,
)  # fmt: skip
REPORT_TASK = TaskKind(
    'report', _Report, _judge_report, 'find a target, and report it while it is in view',
    reports=_target_of,
)  # fmt: skip
