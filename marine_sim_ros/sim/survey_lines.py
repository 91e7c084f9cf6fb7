# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lines of a survey over a polygon, and the scenario that steers them by heading and time."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

__all__ = [
    'SurveyPlan',
    'TurnTimes',
    'check_polygon',
    'measure_turn',
    'plan_survey',
    'survey_scenario',
]

MAX_LINES = 1000
"""Lines of a survey."""


class SurveyPlan(NamedTuple):
    """Parallel lines in the order in which they are run, there and back.

    Attributes:
        lines: (k, 2, 2) their beginnings and ends in map, m.
        heading: of the first line, rad from x towards y.
        spacing: distance of two lines, m.
    """

    lines: np.ndarray
    heading: float
    spacing: float

    @property
    def length(self) -> float:
        """Length of the lines and of the ways between them, m."""
        corners = self.lines.reshape(-1, 2)
        return float(np.sum(np.linalg.norm(np.diff(corners, axis=0), axis=-1)))


def check_polygon(corners: np.ndarray) -> None:
    """Check that corners (n, 2) in map, m, have an area.

    Raises:
        ParameterError: fewer than three corners, or no area.
    """
    x, y = corners.T
    area = abs(0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))))
    if len(corners) < 3 or area < 1e-6:
        raise ParameterError(
            f'the polygon has {len(corners)} corners and {area:g} m²; expected three or more '
            'around an area'
        )


def plan_survey(polygon: np.ndarray, spacing: float, heading: float | None = None) -> SurveyPlan:
    """Return evenly spaced lines over a polygon, whose outer ones are at most half a spacing off.

    A line is as long as the polygon within half a spacing of it. Where two lines of unlike ends
    follow each other, the shorter one is made longer, so that the way between them is square to
    both. A line goes on over a bay of the polygon.

    Args:
        polygon: (n, 2) corners in map, m, n at least 3.
        spacing: distance of two lines, m.
        heading: direction of the lines, rad from x towards y; None: that of the longest side.

    Raises:
        ParameterError: corners without an area, or more than MAX_LINES lines.
    """
    corners = np.asarray(polygon, float)
    check_polygon(corners)
    following = np.roll(corners, -1, axis=0)
    if heading is None:
        side = (following - corners)[np.argmax(np.linalg.norm(following - corners, axis=-1))]
        heading = math.atan2(side[1], side[0])
    along = np.array([math.cos(heading), math.sin(heading)])
    across = np.array([-along[1], along[0]])
    u, v = corners @ along, corners @ across
    count = max(math.ceil((v.max() - v.min()) / spacing - 1e-9), 1)
    if count > MAX_LINES:
        raise ParameterError(
            f'the survey has {count} lines; expected at most {MAX_LINES}: a larger spacing'
        )
    places = 0.5 * (v.min() + v.max()) + spacing * (np.arange(count) - (count - 1) / 2)
    ends = np.array([_extent(u, v, place, 0.5 * spacing) for place in places])
    for i in range(count - 1):  # the first line goes up, the next down
        side_index = (i + 1) % 2
        outermost = max if side_index else min
        ends[i : i + 2, side_index] = outermost(ends[i : i + 2, side_index])
    lines = ends[:, :, None] * along + places[:, None, None] * across
    lines[1::2] = lines[1::2, ::-1]
    return SurveyPlan(lines, heading, spacing)


def _extent(u: np.ndarray, v: np.ndarray, place: float, half: float) -> tuple[float, float]:
    """Return the first and last u of a polygon (u, v) in the strip of v within half of a place."""
    other_u, other_v = np.roll(u, -1), np.roll(v, -1)
    low, high = np.minimum(v, other_v), np.maximum(v, other_v)
    found = [u[np.abs(v - place) <= half + 1e-9]]
    for edge in (place - half, place, place + half):
        crossed = (low <= edge) & (edge <= high) & (high > low)
        share = (edge - v[crossed]) / (other_v - v)[crossed]
        found.append(u[crossed] + share * (other_u - u)[crossed])
    places = np.concatenate(found)
    return float(places.min()), float(places.max())


class TurnTimes(NamedTuple):
    """Times of a vehicle in a survey, s.

    Attributes:
        start: by which it is late when it has gathered speed.
        across: from the command of the first quarter of a turn to that of the second.
        along: by which the line after a turn takes longer than at the speed alone.
    """

    start: float
    across: float
    along: float


_TURN_TRIES = 12
_TURN_TOLERANCE = 0.02
"""Of the spacing, within which a turn has to lead to the next line."""


def measure_turn(
    vehicle: Vehicle, speed: float, spacing: float, depth: float | None = None
) -> TurnTimes:
    """Return the times that lead a vehicle from one line to the next, by simulation.

    Args:
        speed: m/s.
        spacing: distance of the lines, m.
        depth: m; None: it stays at the surface.

    Raises:
        ParameterError: the vehicle cannot turn as tightly.
    """
    first, across, y = 60.0, spacing / speed, math.nan
    for _ in range(_TURN_TRIES):
        starts = np.array([0.0, first, first + across, 2 * first + across])
        yaws = np.array([0.0, math.pi / 2, math.pi])
        text = _scenario_text('Turn', speed, depth, np.zeros(2), starts, yaws)
        run = simulate(vehicle, parse_scenario(text, 'turn.yaml'), dt=0.02)
        at_turn = float(np.interp(first, run.time, run.position[:, 0]))
        x, y = run.position[-1, :2].tolist()
        if abs(y - spacing) <= _TURN_TOLERANCE * spacing:
            beyond = x - (at_turn - speed * (float(run.time[-1]) - first - across))
            return TurnTimes(first - at_turn / speed, across, beyond / speed)
        across = max(across + (spacing - y) / speed, 0.0)
    raise ParameterError(
        f'{vehicle.name} comes to a line {y:.1f} m beside the last one at {speed:g} m/s; expected '
        f'{spacing:g} m: a larger swath, or a lower speed'
    )


def survey_scenario(
    plan: SurveyPlan,
    speed: float,
    depth: float | None = None,
    lead: float = 10.0,
    turns: TurnTimes | None = None,
) -> str:
    """Return the scenario (YAML) that runs a plan by heading and time.

    Args:
        speed: m/s.
        depth: m; None: the vehicle stays at the surface.
        lead: way before the first line on which the vehicle gathers speed, and after the last, m.
        turns: times of the vehicle; None: those of one that turns on the spot.
    """
    corners = plan.lines.reshape(-1, 2)
    legs = np.diff(corners, axis=0)
    lengths = np.linalg.norm(legs, axis=-1)
    lengths[0] += lead
    lengths[-1] += lead
    yaws, times = np.arctan2(legs[:, 1], legs[:, 0]), lengths / speed
    if turns is not None:
        times[0] += turns.start
        times[1::2] = turns.across
        times[2::2] += turns.along
    starts = np.concatenate([[0.0], np.cumsum(times)])
    begin = corners[0] - lead * legs[0] / np.linalg.norm(legs[0])
    title = f'Survey in {len(plan.lines)} lines, {plan.spacing:g} m apart, by heading and time'
    return _scenario_text(title, speed, depth, begin, starts, yaws)


def _scenario_text(
    title: str,
    speed: float,
    depth: float | None,
    begin: np.ndarray,
    starts: np.ndarray,
    yaws: np.ndarray,
) -> str:
    """Return a scenario of courses from times (k + 1,), of which the last is the end."""
    height = 0.0 if depth is None else -depth
    held = ', sway: 0.0' if depth is None else f', z: {height:.3f}'
    segments = [
        f'  - {{at: {start:.3f}, control: {{surge: {speed:g}, yaw: {yaw:.6f}{held}}}}}'
        for start, yaw in zip(starts[:-1], yaws, strict=True)
    ]
    head = [
        f'description: {title}',
        f'duration: {starts[-1]:.3f}                      # s',
        'initial:                                # m, rad; map, ENU',
        f'  position: [{begin[0]:.3f}, {begin[1]:.3f}, {height:.3f}]',
        f'  rpy: [0.0, 0.0, {yaws[0]:.6f}]',
        'segments:',
    ]
    return '\n'.join([*head, *segments]) + '\n'
