# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Missions: tasks and penalties against closed forms, pilots, and scores of recordings."""

import numpy as np
import pytest

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.analysis.debriefing import (
    debriefing_figure,
    mission_run_of_bag,
    mission_run_of_trajectory,
)
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.registry import MISSION_TASKS
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sim.mission import MISSIONS, load_mission, mission_names, score_mission
from marine_sim_ros.sim.mission_tasks import MissionStates
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.tools.main import main

HEAD = """
title: Test
description: Test
briefing: Test
vehicle: bluerov2
scenario: dive
"""


def mission(tasks, more=''):
    return MISSIONS.parse(f'{HEAD}{more}\ntasks:\n{tasks}', 'test.yaml')


def straight(speed=1.0, seconds=10.0, dt=0.1, yaw=0.0, **loads):
    """Return a run along x at a steady speed, level."""
    time = np.arange(round(seconds / dt) + 1) * dt
    position = np.column_stack([speed * time, 0 * time, 0 * time - 5.0])
    orientation = np.tile(quaternion_from_rpy(0.0, 0.0, yaw), (len(time), 1))
    velocity = np.zeros((len(time), 6))
    velocity[:, 0] = speed
    rows = {n: np.outer(np.ones(len(time)), [f, 0, 0, 0, 0, 0]) for n, f in loads.items()}
    return MissionStates(time, position, orientation, velocity, rows)


@pytest.mark.parametrize(
    ('task', 'share', 'ended'),
    [
        ('kind: gate, position: [4.05, 0, -5], heading: 0', 1.0, 4.1),
        ('kind: gate, position: [4.05, 0, -5], heading: 180 deg', 0.0, None),
        ('kind: gate, position: [4.05, 0, -5], heading: 180 deg, passage: any', 1.0, 4.1),
        ('kind: gate, position: [4.05, 1, -5], heading: 0', 0.0, None),  # 0.75 m to each side
        ('kind: gate, position: [4.05, 0, -4], heading: 0', 0.0, None),
        ('kind: hold, position: [4.05, 0, -5], radius: 1.0, duration: 1.5', 1.0, 4.6),
        ('kind: hold, position: [4.05, 0, -5], radius: 1.0, duration: 3.8', 0.5, None),
        ('kind: hold, position: [4.05, 0, -5], radius: 1.0, heading: 1.0, duration: 1', 0.0, None),
        ('kind: follow, points: [[0, 1, -5], [10, 1, -5]], distance: [0.5, 1.5]', 1.0, 9.0),
        ('kind: follow, points: [[0, 1, -5], [20, 1, -5]], distance: [0.5, 1.5]', 0.525, None),
        ('kind: follow, points: [[0, 1, -5], [10, 1, -5]], distance: [1.1, 1.5]', 0.0, None),
        ('kind: inspect, points: [{name: a, position: [5.05, 0, -5]}], time: 1, range: [0, 3]',
         1.0, 3.1),
        ('kind: inspect, points: [{name: a, position: [5.05, 0, -5]}, {name: b, position: '
         '[-5, 0, -5]}], time: 1', 0.5, None),
        ('kind: inspect, points: [{name: a, position: [5.05, 0, -5], normal: [1, 0, 0]}]',
         0.0, None),
        ('kind: dock, position: [5, 0, -5], heading: 0, size: [4, 1, 1], speed: 1.1, duration: 2',
         1.0, 5.0),
        ('kind: dock, position: [5, 0, -5], heading: 0, size: [4, 1, 1], speed: 0.9, duration: 2',
         0.0, None),
        ('kind: return, position: [7.05, 0, -5], radius: 1.0', 1.0, 6.1),
        ('kind: return, position: [21, 0, -5], radius: 1.0', 0.5, None),
    ],
)  # fmt: skip
def test_a_task_against_its_closed_form(task, share, ended):
    score = score_mission(mission(f'  - {{name: a, {task}}}'), straight())
    found = score.tasks[0]
    assert found.share == pytest.approx(share, abs=1e-9)
    assert found.ended == (None if ended is None else pytest.approx(ended))
    assert found.state == ('running' if ended is None else 'done')
    assert score.score == pytest.approx(100 * share)


def test_the_order_weights_and_time_limits_of_tasks():
    tasks = """
  - {name: late, kind: gate, position: [6, 0, -5], heading: 0, within: 3.0}
  - {name: early, kind: gate, position: [2.05, 0, -5], heading: 0}
  - {name: last, kind: gate, position: [8.05, 0, -5], heading: 0, weight: 2.0}
"""
    found = score_mission(mission(tasks), straight())
    assert [t.state for t in found.tasks] == ['failed', 'running', 'waiting']
    assert not found.complete
    found = score_mission(mission(tasks, 'order: any'), straight())
    assert [t.state for t in found.tasks] == ['failed', 'done', 'done']
    assert found.score == pytest.approx(75.0)
    assert (found.medal, found.complete) == ('silver', True)
    found = score_mission(mission(tasks, 'order: any\nlimit: 5.0'), straight())
    assert [t.state for t in found.tasks] == ['failed', 'done', 'failed']


def test_penalties_are_integrals_over_time():
    tasks = '  - {name: far, kind: return, position: [9, 0, -5], radius: 1.0}'
    rules = """penalties:
  contact: {force: 10.0, points: 0.25}
  depth: {limit: 4.0, points: 1.0}
  tether: {tension: 20.0, points: 0.5}
  time: {par: 6.0, points: 3.0}"""
    run = straight(contact=12.0, tether=21.0)
    found = score_mission(mission(tasks, rules), run)
    assert {p.name: round(p.points, 9) for p in found.penalties} == {
        'contact': 0.25 * 2.0 * 8.0, 'depth': 8.0, 'tether': 4.0, 'time': 6.0
    }  # fmt: skip
    assert found.score == pytest.approx(100.0 - 4.0 - 8.0 - 4.0 - 6.0)
    assert found.penalties[1].spans == ((0.0, 8.0),)
    assert score_mission(mission(tasks), run).penalties == ()


@pytest.mark.parametrize(
    ('old', 'new', 'expected'),
    [
        ('kind: gate', 'kind: gat', 'gate'),
        ('kind: gate', 'kind: hold', 'duration'),
        ('heading: 0', 'heading: 90', 'expected rad'),
        ('weight: 1', 'weight: 0', 'expected a number from'),
        (', position: [1, 0, 0]', '', "'position' is missing"),
        ('name: b', 'name: a', 'expected different names'),
        ('bronze: 60', 'bronze: 80', 'bronze <= silver <= gold'),
        ('title: Test', 'titel: Test', 'unknown key'),
    ],
)
def test_a_bad_mission_is_one_line(old, new, expected):
    text = f"""{HEAD}thresholds: {{bronze: 60}}
tasks:
  - {{name: a, kind: gate, position: [1, 0, 0], heading: 0, weight: 1}}
  - {{name: b, kind: gate, position: [1, 0, 0], heading: 0, weight: 1}}"""
    MISSIONS.parse(text, 'test.yaml')
    with pytest.raises(ScenarioError) as refused:
        MISSIONS.parse(text.replace(old, new, 1), 'test.yaml')
    assert expected in str(refused.value)
    assert '\n' not in str(refused.value)


def fly(name, pilot='', dt=0.02):
    flown = load_mission(name)
    scenario = load_scenario(pilot or flown.scenario)
    water = load_environment(flown.environment)
    return flown, simulate(load_vehicle(flown.vehicle), scenario, environment=water, dt=dt)


@pytest.mark.long
@pytest.mark.parametrize('name', mission_names())
def test_the_scripted_pilot_of_a_mission_passes(name):
    flown, trajectory = fly(name)
    run = mission_run_of_trajectory(trajectory)
    score = score_mission(flown, run)
    assert score.medal == 'gold', score
    assert score.complete
    half = score_mission(flown, run.part(0, len(run.time) // 8))
    assert half.score < score.score


@pytest.mark.long
def test_a_pilot_below_the_depth_limit_fails():
    flown, trajectory = fly('first_flight', 'lesson_first_flight_too_deep')
    score = score_mission(flown, mission_run_of_trajectory(trajectory))
    assert not score.passed
    assert next(p for p in score.penalties if p.name == 'depth').amount > 10.0


@pytest.mark.long
def test_the_score_of_a_bag_is_that_of_its_run(tmp_path):
    flown, trajectory = fly('first_flight', 'lesson_first_flight_too_deep', 0.05)
    run = mission_run_of_trajectory(trajectory)
    settings = RunOptions(vehicle=flown.vehicle, environment=flown.environment, dt=0.05)
    write_recording(tmp_path / 'out', load_vehicle(flown.vehicle), settings, trajectory)
    again = mission_run_of_bag(tmp_path / 'out' / 'bag', '/bluerov2')
    score = score_mission(flown, run)
    assert score_mission(flown, again) == score
    debriefing_figure(tmp_path / 'a.png', flown, score, run)
    assert (tmp_path / 'a.png').stat().st_size > 10_000


def test_options_that_contradict_each_other_are_one_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(['mission', 'first_flight', '--bag', 'x', '--graph'])
    assert ended.value.code == 2
    assert '--bag and --graph' in capsys.readouterr().err


def test_kinds_of_tasks_are_a_registry():
    assert list(MISSION_TASKS) == ['gate', 'hold', 'follow', 'inspect', 'dock', 'return']
    assert all(name == kind.name for name, kind in MISSION_TASKS.items())
