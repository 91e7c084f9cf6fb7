# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Planning of survey lines, their coverage and overlap, and target lists of side-scan sonars."""

import math

import numpy as np
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from test_survey_files import FLOOR, HEIGHT, SONAR, track_over

from marine_sim_ros.analysis.survey_report import SurveyTrack, coverage_of, line_numbers
from marine_sim_ros.analysis.survey_targets import find_targets, match_targets
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.survey_lines import TurnTimes, plan_survey, survey_scenario
from marine_sim_ros.tools.main import main

SQUARE = np.array([[0.0, 0.0], [60.0, 0.0], [60.0, 45.0], [0.0, 45.0]])


def test_lines_of_a_rectangle_go_there_and_back():
    plan = plan_survey(SQUARE, 15.0)
    expected = [[[0, 7.5], [60, 7.5]], [[60, 22.5], [0, 22.5]], [[0, 37.5], [60, 37.5]]]
    assert plan.lines == pytest.approx(np.array(expected, float))
    assert plan.length == pytest.approx(3 * 60 + 2 * 15)
    across = plan_survey(SQUARE, 15.0, math.pi / 2)
    assert across.lines[:, :, 0] == pytest.approx(np.array([[52.5] * 2, [37.5] * 2,
                                                            [22.5] * 2, [7.5] * 2]))  # fmt: skip


@given(
    st.lists(st.tuples(st.floats(-500, 500), st.floats(-500, 500)), min_size=3, max_size=8),
    st.floats(5.0, 200.0),
    st.floats(-3.0, 3.0),
)
def test_no_corner_is_farther_than_half_a_spacing_from_a_line(corners, spacing, heading):
    polygon = np.array(corners)
    x, y = polygon.T
    assume(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) > 1.0)
    plan = plan_survey(polygon, spacing, heading)
    across = np.array([-math.sin(heading), math.cos(heading)])
    places = plan.lines @ across
    assert np.ptp(places, axis=1) == pytest.approx(0.0, abs=1e-6)
    assert np.diff(places[:, 0]) == pytest.approx(spacing, abs=1e-6)
    away = np.abs((polygon @ across)[:, None] - places[:, 0]).min(axis=1)
    assert away.max() <= 0.5 * spacing + 1e-6
    along = np.array([math.cos(heading), math.sin(heading)])
    ends = plan.lines @ along
    nearest = np.abs((polygon @ across)[:, None] - places[:, 0]).argmin(axis=1)
    inside = polygon @ along
    assert np.all(inside >= ends.min(axis=1)[nearest] - 1e-6)
    assert np.all(inside <= ends.max(axis=1)[nearest] + 1e-6)
    # The ways between lines are square to them, so that they are as long as the spacing.
    between = np.linalg.norm(plan.lines[1:, 0] - plan.lines[:-1, 1], axis=-1)
    assert between == pytest.approx(spacing, abs=1e-6)


def test_the_scenario_of_a_plan_runs_its_lines():
    plan = plan_survey(SQUARE, 15.0)
    found = parse_scenario(survey_scenario(plan, 1.5, 12.0, 9.0), 'plan.yaml')
    assert found.position == pytest.approx((-9.0, 7.5, -12.0))
    starts = [s.start for s in found.segments]
    assert starts == pytest.approx(np.cumsum([0, 69, 15, 60, 15]) / 1.5)
    assert found.duration == pytest.approx((69 + 15 + 60 + 15 + 69) / 1.5)
    yaws = [s.control[5] for s in found.segments]
    assert yaws == pytest.approx([0, math.pi / 2, math.pi, math.pi / 2, 0])
    late = parse_scenario(
        survey_scenario(plan, 1.5, 12.0, 9.0, TurnTimes(0.5, 8.0, -0.3)), 'p.yaml'
    )
    gaps = np.diff([s.start for s in late.segments])
    assert gaps == pytest.approx([46.5, 8.0, 39.7, 8.0])
    boat = yaml.safe_load(survey_scenario(plan, 1.0))
    assert boat['segments'][0]['control'] == {'surge': 1, 'yaw': 0.0, 'sway': 0.0}


def test_the_verb_writes_a_scenario(tmp_path, capsys):
    path = tmp_path / 'plan.yaml'
    corners = ['-10,-5', '50,-5', '50,40', '-10,40']
    with pytest.raises(SystemExit) as ended:
        main(
            [
                'survey',
                '--polygon',
                *corners,
                '--swath',
                '20',
                '--overlap',
                '0.25',
                '-o',
                str(path),
            ]
        )
    assert ended.value.code == 0
    assert 'lines     3, 15.00 m apart' in capsys.readouterr().out
    assert load_scenario(str(path)).closed_loop


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        (['--polygon', '0,0', '1,0'], 'expected three or more around an area'),
        (['--polygon', '0,0', '1,x', '1,1'], "'1,x'; expected x and y"),
        (['--polygon', '0,0', '9000,0', '0,9000', '--swath', '1'], 'expected at most 1000'),
    ],
)
def test_plans_that_cannot_be_are_one_line(tmp_path, capsys, options, reason):
    more = [] if '--swath' in options else ['--swath', '10']
    with pytest.raises(SystemExit) as ended:
        main(['survey', *options, *more, '-o', str(tmp_path / 'plan.yaml')])
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err


def mower(lines, spacing, width, length=60.0):
    """Return a track of lines along x that cover strips of a width, and of half circles."""
    places, course, covered = [], [], []
    strip = np.arange(-width / 2 + 0.25, width / 2, 0.5)
    for i in range(lines):
        x = np.arange(0.0, length + 0.5, 0.5)
        x, angle = (x, 0.0) if i % 2 == 0 else (x[::-1], math.pi)
        turn = np.linspace(-math.pi / 2, math.pi / 2, 20)[1:-1]
        side = 1 if i % 2 == 0 else -1
        ends = np.stack([
            (length if side > 0 else 0.0) + side * spacing / 2 * np.cos(turn),
            spacing * i + spacing / 2 + spacing / 2 * np.sin(turn),
        ], axis=-1)  # fmt: skip
        line = np.stack([x, np.full(len(x), spacing * i)], axis=-1)
        covered += [np.stack([np.full(len(strip), p[0]), p[1] + strip], axis=-1) for p in line]
        covered += [np.zeros((0, 2))] * len(ends)
        places += [line, ends]
        course += [np.full(len(x), angle), math.pi / 2 + side * turn]
    return SurveyTrack(np.concatenate(places), np.concatenate(course), covered)


def test_coverage_and_overlap_of_strips():
    """Strips 20 m wide, 15 m apart: all is covered, and of each 15 m 5 m twice."""
    track = mower(4, 15.0, 20.0)
    numbers = line_numbers(track)
    assert numbers.max() == 3
    area = np.array([[0, 0], [60, 0], [60, 45], [0, 45]], float)
    found, cells = coverage_of(track, area)
    assert found['lines'] == 4
    assert found['line_length'] == pytest.approx(4 * 60, rel=0.02)
    assert found['area'] == pytest.approx(60 * 45, rel=0.02)
    assert found['coverage'] > 0.98
    assert found['overlap'] == pytest.approx(1 / 3, abs=0.03)
    gaps, _ = coverage_of(mower(4, 15.0, 10.0), area)
    assert gaps['coverage'] == pytest.approx(2 / 3, abs=0.04)
    assert gaps['overlap'] == 0.0
    own, _ = coverage_of(track)
    assert own['area'] == pytest.approx(60 * 45, rel=0.05)
    alone, none = coverage_of(mower(1, 15.0, 20.0)._replace())
    assert alone['lines'] == 1
    assert none is None
    assert cells.lines.max() == 2


def test_targets_are_where_the_obstacles_are():
    """Blocks to both sides: within 1.2 m, as high ones lean inwards, and a third of the height."""
    things = (
        Obstacle('high', 'box', [1.5, 1.0, 2.0], [3.0, 12.0, -39.0], material='concrete'),
        Obstacle('low', 'box', [1.5, 1.0, 1.2], [2.5, -18.0, -39.4], material='concrete'),
    )
    pings = track_over(*things)
    found = match_targets(find_targets(SONAR, pings), Scene((FLOOR,), None, things))
    assert (found['found'], found['missed'], found['false']) == (2, 0, 0)
    assert found['largest_error'] < 1.2
    heights = {t['nearest']: t['height'] for t in found['targets']}
    assert heights['high'] == pytest.approx(2.0, rel=0.34)
    assert heights['low'] == pytest.approx(1.2, rel=0.34)
    assert HEIGHT == 8.0


def test_a_bare_bottom_has_no_targets():
    found = find_targets(SONAR, track_over())
    assert found == []
    missed = Obstacle('far', 'box', [1, 1, 1], [500.0, 0.0, -39.5], material='rock')
    matched = match_targets(found, Scene((FLOOR,), None, (missed,)))
    assert (matched['found'], matched['missing'], matched['error']) == (0, ['far'], None)
    unseen = match_targets(found, Scene((FLOOR,), None, (missed,)), np.array([False]))
    assert unseen['missing'] == []


def test_the_error_of_a_long_obstacle_is_that_of_its_middle_line():
    lying = quaternion_from_rpy(math.pi / 2, 0.0, 0.0)
    pipe = Obstacle('pipe', 'cylinder', [1.0, 1.0, 20.0], [0.0, 0.0, -39.5], lying)
    target = {'x': 1.0, 'y': 7.0, 'height': 1.0, 'level': 9.0, 'echoes': 1}
    found = match_targets([target], Scene((FLOOR,), None, (pipe,)))
    assert found['error'] == pytest.approx(1.0)
    end = match_targets([{**target, 'y': 12.0}], Scene((FLOOR,), None, (pipe,)))
    assert end['error'] == pytest.approx(math.hypot(1.0, 12.0 - 9.5))
