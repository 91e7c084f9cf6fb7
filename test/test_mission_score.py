# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Missions: tasks and penalties against closed forms, pilots, and scores of recordings."""

import json
from dataclasses import replace

import numpy as np
import pytest
from graph import STEP
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.analysis.debriefing import (
    debriefing_figure,
    mission_run_of_bag,
    mission_run_of_trajectory,
)
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.core.errors import ParameterError, RecordingError, ScenarioError
from marine_sim_ros.core.registry import MISSION_TASKS
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.core.text import json_text
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import parse_xacro_arguments
from marine_sim_ros.physics.silt import stirred_mass
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.mission import (
    MISSIONS,
    inputs_of_mission,
    lesson_options,
    lessons,
    load_mission,
    mission_names,
    mission_scenery,
    score_content,
    score_mission,
)
from marine_sim_ros.sim.mission_states import (
    MissionInputs,
    MissionLog,
    MissionStates,
    parse_report,
    report_event,
)
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
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


@pytest.mark.parametrize(
    ('task', 'share', 'ended'),
    [
        ('kind: turn, joint: valve, target: 45 deg', 1.0, 7.0),
        ('kind: turn, joint: valve, target: 0.5, tolerance: 0.001', 1.0, 5.0),
        ('kind: turn, joint: valve, target: 2.0, tolerance: 0.1', 0.495, None),
        ('kind: turn, joint: valve, target: -1.0', 0.0, None),
        ('kind: connect, joint: stab', 1.0, 2.0),
        ('kind: connect, joint: stab, duration: 4.0', 1.0, 6.0),
        ('kind: connect, joint: stab, duration: 8.0', 0.5, None),
        ('kind: connect, joint: stab, state: open', 1.0, 0.0),
        ('kind: connect, joint: stab, state: open, duration: 3', 1.0, 9.1),
    ],
)
def test_a_task_of_a_joint_against_its_closed_form(task, share, ended):
    run = straight()  # the valve turns at 0.1 rad/s; the stab is in its receptacle from 2 to 6 s
    is_closed = (run.time > 1.95) & (run.time < 6.05)
    joints = {'valve': 0.1 * run.time, 'stab': np.where(is_closed, 0.0, np.nan)}
    score = score_mission(mission(f'  - {{name: a, {task}}}'), replace(run, joints=joints))
    found = score.tasks[0]
    assert found.share == pytest.approx(share, abs=1e-9)
    assert found.ended == (None if ended is None else pytest.approx(ended))


@pytest.mark.parametrize(
    ('task', 'share', 'ended'),
    [
        # The body goes along with the vehicle, 1 m below it, until 6 s, and lies there.
        ('body: box, position: [6, 0, -6], radius: 0.55, duration: 1.5', 1.0, 7.0),
        ('body: box, position: [6, 0, -6], radius: 0.55, clear: 2.5, duration: 1.0', 1.0, 9.3),
        ('body: box, position: [6, 0, -6], radius: 0.55, clear: 9.0, duration: 1.0', 0.5, None),
        ('body: box, position: [12, 0, -6], radius: 2.0', 0.3, None),
    ],
)
def test_a_body_that_is_brought_against_its_closed_form(task, share, ended):
    run = straight()
    body = np.minimum(run.position, [6.0, 9.0, 9.0]) - [0.0, 0.0, 1.0]
    flown = mission(f'  - {{name: a, kind: deliver, {task}}}')
    found = score_mission(flown, replace(run, bodies={'box': body})).tasks[0]
    assert found.share == pytest.approx(share, abs=1e-9)
    assert found.ended == (None if ended is None else pytest.approx(ended))
    with pytest.raises(ScenarioError, match=r'body box .* expected one of: \(none\)'):
        score_mission(flown, run)


@pytest.mark.parametrize(
    ('reports', 'ended'),
    [
        ((), None),
        (((4.0, 'mine'),), 4.0),
        (((4.02, 'mine'),), 4.1),  # at the next tick
        (((1.0, 'mine'), (6.5, 'mine')), 6.5),  # too far at first
        (((4.0, 'wreck'),), None),
        (((8.5, 'mine'),), None),  # it is abeam
        (((1.0, 'mine'), (1.1, 'mine'), (4.0, 'mine')), None),  # two tries
        (((50.0, 'mine'),), None),  # after the run
    ],
)
def test_a_target_counts_where_it_is_in_view_when_it_is_reported(reports, ended):
    keys = 'target: mine, position: [8.2, 0.5, -5], range: [0.3, 5], angle: 40 deg, tries: 2'
    flown = mission(f'  - {{name: a, kind: report, {keys}}}')
    found = score_mission(flown, replace(straight(), reports=reports)).tasks[0]
    assert found.ended == (None if ended is None else pytest.approx(ended))
    assert found.share == float(ended is not None)


@pytest.mark.parametrize('text', ['{', '[]', '{"kind": "report", "time": true, "text": "a"}',
    '{"kind": "report", "time": 1e999, "text": "a"}', '{"kind": "note", "time": 1, "text": "a"}',
    '{"kind": "report", "time": 1, "text": 2}', '[' * 9999])  # fmt: skip
def test_an_event_that_is_no_report_is_none(text):
    assert parse_report(text) is None


def test_a_report_is_read_back():
    assert parse_report(report_event(12.34, 'mine 7')) == (12.34, 'mine 7')


@pytest.mark.parametrize(
    ('aim', 'yaw', 'share'),
    [('any', 2.0, 1.0), ('along', 0.3, 1.0), ('along', 0.4, 0.0), ('along', -2.8, 0.0),
     ('towards', 1.5, 1.0), ('towards', 0.0, 0.0)],
)  # fmt: skip
def test_a_line_is_followed_with_the_bow_along_it_or_towards_it(aim, yaw, share):
    keys = f'points: [[0, 1, -5], [10, 1, -5]], distance: [0.5, 1.5], aim: {aim}'
    found = score_mission(mission(f'  - {{name: a, kind: follow, {keys}}}'), straight(yaw=yaw))
    assert found.tasks[0].share == pytest.approx(share)


def test_an_area_is_a_grid_of_points_seen_from_its_front():
    area = 'area: {corner: [0, 2, -6], across: [10, 0, 0], along: [0, 0, 2], spacing: 1.0}'
    keys = 'range: [0.5, 2.5], angle: 60 deg, time: 0.2'
    flown = mission(f'  - {{name: a, kind: inspect, {keys}, {area}}}')
    assert len(mission_scenery(flown)['tasks'][0]['lines']) == 3 * 20
    found = score_mission(flown, straight(yaw=np.pi / 2)).tasks[0]
    assert (found.share, found.state) == (1.0, 'done')
    assert score_mission(flown, straight(yaw=-np.pi / 2)).score == 0.0
    behind = area.replace('across: [10, 0, 0], along: [0, 0, 2]',
                          'across: [0, 0, 2], along: [10, 0, 0]')  # fmt: skip
    flown = mission(f'  - {{name: a, kind: inspect, {keys}, {behind}}}')
    assert score_mission(flown, straight(yaw=np.pi / 2)).score == 0.0
    with pytest.raises(ScenarioError, match='neither points nor an area'):
        mission('  - {name: a, kind: inspect}')
    flat = area.replace('along: [0, 0, 2]', 'along: [5, 0, 0]')
    with pytest.raises(ScenarioError, match='span no area'):
        mission(f'  - {{name: a, kind: inspect, {flat}}}')


def test_a_joint_that_does_not_exist_is_one_line():
    tasks = '  - {name: open it, kind: turn, joint: velve_port, target: 90 deg}'
    flown = mission(tasks, 'environment: valve_panel')
    with pytest.raises(
        ScenarioError, match=r'task open it: joint velve_port .*one of: valve_port'
    ):
        inputs_of_mission(flown)
    with pytest.raises(ScenarioError, match=r'joint velve_port .* expected one of: \(none\)'):
        score_mission(flown, straight())


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


def circle(turns, centre=(5.0, 0.0), radius=2.0):
    """Return a run around a place from its west side, anticlockwise, one turn in 10 s."""
    run = straight(speed=0.0, seconds=10.0 * turns)
    angle = np.pi + 2 * np.pi * run.time / 10.0
    place = np.column_stack([np.cos(angle), np.sin(angle)]) * radius + centre
    return replace(run, position=np.column_stack([place, run.position[:, 2]]))


def test_a_tether_lies_around_a_pile_after_more_than_half_a_turn():
    rules = 'penalties: {turns: {anchor: [0, 0], around: [[5, 0], [40, 3]], points: 1.0}}'
    flown = mission('  - {name: a, kind: return, position: [99, 0, -5]}', rules)
    for turns, expected in ((0.45, 0.0), (0.8, 3.0), (2.0, 15.0)):
        (found,) = score_mission(flown, circle(turns)).penalties
        assert found.amount == pytest.approx(expected, abs=0.11)
    back = circle(0.8)
    there = back.position[np.r_[0:81, 80:-1:-1]]  # and the same way back
    run = replace(straight(speed=0.0, seconds=16.1), position=there)
    (found,) = score_mission(flown, run).penalties
    assert found.amount == pytest.approx(6.0, abs=0.2)
    assert len(found.spans) == 1
    assert found.spans[0] == pytest.approx((5.1, 11.2), abs=0.11)


def test_energy_and_silt_are_those_of_the_thrusts():
    vehicle = load_vehicle('bluerov2')
    rules = """environment: pipeline
penalties:
  energy: {free: 0.1, points: 2.0}
  silt: {free: 0.5, points: 0.1}"""
    flown = mission('  - {name: a, kind: return, position: [99, 0, -24]}', rules)
    assert inputs_of_mission(flown).thrusters == 6
    run = straight(speed=0.0)
    thrust = np.tile([0.0, 0, 0, 0, -20.0, -20.0], (len(run.time), 1))
    run = replace(run, thrust=thrust, position=run.position * [1, 1, 0] + [0, 20, -24.5])
    energy = next(p for p in score_mission(flown, run).penalties if p.name == 'energy')
    power = float(np.sum(vehicle.thrusters.power_of_thrust(thrust[0])))
    assert energy.amount == pytest.approx(power * 10.0 / 3600 - 0.1, abs=power * 0.1 / 3600)
    silt = next(p for p in score_mission(flown, run).penalties if p.name == 'silt')
    state = State(run.position[0], run.orientation[0], run.velocity[0])
    rate = 1e3 * stirred_mass(vehicle, state, load_environment('pipeline'), thrust[0])
    assert silt.amount == pytest.approx(10.0 * (float(rate) - 0.5))
    assert silt.points == pytest.approx(0.1 * silt.amount)
    high = replace(run, position=run.position + np.array([0, 0, 10.0]))
    assert all(p.points == 0 for p in score_mission(flown, high).penalties if p.name == 'silt')
    with pytest.raises(ScenarioError, match='has no thrusts'):
        score_mission(flown, straight())
    clean = mission('  - {name: a, kind: return, position: [9, 0, -5]}', 'penalties: {silt: {}}')
    with pytest.raises(ScenarioError, match='no `sediment`'):
        inputs_of_mission(clean)


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


def test_the_picture_of_a_briefing_is_a_small_file_beside_the_mission(tmp_path):
    for lesson in lessons():
        assert lesson.picture, lesson.name
        assert lesson.picture_uri.startswith('data:image/jpeg;base64,/9j/')
        assert len(lesson.picture_uri) < 80_000
    path, task = (
        tmp_path / 'own.yaml',
        '  - {name: a, kind: hold, position: [0, 0, -5], duration: 1}',
    )

    def load(picture):
        path.write_text(f'{HEAD}\npicture: {picture}\ntasks:\n{task}')
        return load_mission(path)

    (tmp_path / 'own.png').write_bytes(b'\x89PNG and more')
    assert load('own.png').picture_uri == 'data:image/png;base64,iVBORyBhbmQgbW9yZQ=='
    (tmp_path / 'text.png').write_bytes(b'text')
    (tmp_path / 'large.png').write_bytes(b'\x89PNG' + bytes(500_000))
    for picture, expected in (
        ('text.png', 'neither a JPEG nor a PNG'),
        ('../own.png', 'expected a file in the folder of the mission'),
        ('large.png', 'at most 0.5 MB'),
        ('none.png', 'none.png'),
    ):
        with pytest.raises(ScenarioError, match=expected):
            load(picture)


def test_a_lesson_brings_its_environment_and_arguments_to_a_run():
    run = RunOptions(vehicle='bluerov2', lesson='tether_round_piles')
    parameters = node_specs(run)[0].parameters
    assert parameters['environment'] == 'jetty'
    assert 'tether_length:=17' in parameters['vehicle_arguments']
    assert lesson_options(lesson_options(run)) == lesson_options(run)
    own = replace(run, vehicle_arguments=('imu:=true',))
    assert 'imu:=true' in lesson_options(own).vehicle_arguments
    for wrong, expected in (
        ({'vehicle': 'torpedo_auv'}, 'vehicle is torpedo_auv; expected bluerov2'),
        ({'environment': 'pool'}, 'environment is pool; expected jetty'),
        ({'vehicle_arguments': ('tether_length:=40',)}, 'tether_length is 40; expected 17'),
    ):
        with pytest.raises(ParameterError, match=expected):
            node_specs(replace(run, scenario='dive', **wrong))


STEPS = {'valve_and_stab': 0.01}  # s; a light handle needs small ones


def fly(name, pilot='', dt=0.02, change=lambda scenario: scenario):
    flown = load_mission(name)
    scenario = change(load_scenario(pilot or flown.scenario))
    water = load_environment(flown.environment)
    vehicle = load_vehicle(flown.vehicle, **parse_xacro_arguments(flown.arguments))
    return flown, simulate(vehicle, scenario, environment=water, dt=dt)


@pytest.mark.long
@pytest.mark.parametrize('name', mission_names())
def test_the_scripted_pilot_of_a_mission_passes(name):
    flown, trajectory = fly(name, dt=STEPS.get(name, 0.02))
    run = mission_run_of_trajectory(trajectory)
    score = score_mission(flown, run)
    assert score.medal == 'gold', score
    assert score.complete
    half = score_mission(flown, run.part(0, len(run.time) // 8))
    assert half.score < score.score


@pytest.mark.long
@pytest.mark.parametrize(
    ('name', 'pilot', 'broken'),
    [
        ('first_flight', 'too_deep', lambda s: penalty(s, 'depth') > 10.0),
        ('hold_in_current', 'off_station', lambda s: s.tasks[0].state == 'failed'),
        ('pipeline_inspection', 'too_high', lambda s: s.tasks[0].share < 0.3),
        ('dock_in_green_water', 'collides', lambda s: penalty(s, 'contact') > 40.0),
        ('wreck_inspection', 'collides', lambda s: penalty(s, 'contact') > 40.0),
        (
            'tether_round_piles',
            'other_bay',
            lambda s: min(penalty(s, 'tether'), penalty(s, 'turns')) > 1.0,
        ),
        ('valve_and_stab', 'half_turn', lambda s: 0.3 < s.tasks[0].share < 0.7),
        ('thruster_failure', 'late', lambda s: s.tasks[2].state == 'failed'),
    ],
)
def test_a_pilot_who_breaks_a_rule_fails(name, pilot, broken):
    flown, trajectory = fly(name, f'lesson_{name}_{pilot}', STEPS.get(name, 0.02))
    score = score_mission(flown, mission_run_of_trajectory(trajectory))
    assert not score.passed
    assert broken(score), score


DIVES = {'pipeline_inspection': '{heave: -1.0, sway: 0.3}'}  # beside the pipe


def by_sticks(efforts, duration):
    """Return a change of a scenario: from its start, a pilot holds the sticks for a time, s."""
    text = f'duration: {duration}\nsegments: [{{at: 0.0, axes: {efforts}}}]'
    segments = parse_scenario(text, 'sticks').segments
    return lambda scenario: replace(scenario, segments=segments, duration=duration, reports=())


@pytest.mark.long
@pytest.mark.parametrize('name', mission_names())
def test_who_does_nothing_does_no_task_and_who_dives_breaks_each_rule(name):
    rules = load_mission(name).penalties
    flown, trajectory = fly(name, dt=0.05, change=by_sticks('{}', rules.time.par + 20.0))
    score = score_mission(flown, mission_run_of_trajectory(trajectory))
    assert not score.passed
    assert [task.state for task in score.tasks if task.state == 'done'] == []
    assert penalty(score, 'time') == pytest.approx(20.0 * rules.time.points, abs=1.0)
    flown, trajectory = fly(
        name, dt=0.02, change=by_sticks(DIVES.get(name, '{heave: -1.0}'), 40.0)
    )
    score = score_mission(flown, mission_run_of_trajectory(trajectory))
    broken = {p.name for p in score.penalties if p.points > 0.0}
    assert broken == {p.name for p in score.penalties} - {'time', 'tether', 'turns'}


def penalty(score, name):
    """Return the points that a rule took."""
    return next(p.points for p in score.penalties if p.name == name)


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
    assert list(MISSION_TASKS) == [
        'gate', 'hold', 'follow', 'inspect', 'dock', 'return', 'turn', 'connect', 'deliver',
        'report',
    ]  # fmt: skip
    assert all(name == kind.name for name, kind in MISSION_TASKS.items())


@given(count=st.integers(0, 30), order=st.randoms(use_true_random=False), restart=st.booleans())
def test_a_log_of_messages_in_any_order_of_topics_has_the_ticks_of_the_run(count, order, restart):
    run = straight(seconds=3.0, contact=12.0)
    states = np.hstack([run.position, run.orientation, run.velocity])
    positions = np.column_stack([run.time, np.where(run.time < 1, np.nan, 0.0)])
    log = MissionLog(['contact', 'drag'], MissionInputs({'handle': ['valve', 'stab']}))
    if restart:  # what came before a reset is gone
        for tick in range(20):
            log.take_state(tick * 10**8, np.ones(13))
            log.take_load('contact', tick * 10**8, np.ones(6))
            log.take_joints('handle', tick * 10**8, np.ones(2))
        log.take_load('contact', 0, run.loads['contact'][0])
        log.take_joints('handle', 0, positions[0])
    waiting = {name: list(range(restart, count)) for name in ('contact', 'joints')}
    waiting['odom'] = list(range(count))
    while any(waiting.values()):
        topic = order.choice([name for name, ticks in waiting.items() if ticks])
        tick = waiting[topic].pop(0)
        if topic == 'odom':
            log.take_state(tick * 10**8, states[tick])
        elif topic == 'joints':
            log.take_joints('handle', tick * 10**8, positions[tick])
        else:
            log.take_load('contact', tick * 10**8, run.loads['contact'][tick])
    if count:
        found = log.states()
        assert log.ticks == len(found.time) == count
        np.testing.assert_array_equal(found.position, run.position[:count])
        np.testing.assert_array_equal(found.loads['contact'], run.loads['contact'][:count])
        for name, column in zip(('valve', 'stab'), positions.T, strict=True):
            np.testing.assert_array_equal(found.joints[name], column[:count])


def test_a_lost_tick_is_no_score():
    log = MissionLog(['contact'])
    for tick in (0, 1, 2, 4, 5):
        log.take_state(tick, np.zeros(13))
    for tick in (0, 1, 2, 4):
        log.take_load('contact', tick, np.zeros(6))
    with pytest.raises(RecordingError, match='odom after 2e-09 s was lost'):
        log.states()
    log = MissionLog(['contact'])
    for tick in range(4):
        log.take_state(tick, np.zeros(13))
    for tick in (0, 2, 3):
        log.take_load('contact', tick, np.zeros(6))
    with pytest.raises(RecordingError, match='wrench/contact at 1e-09 s was lost'):
        log.states()
    log = MissionLog([], MissionInputs({'handle': ['valve']}))
    for tick in range(4):
        log.take_state(tick, np.zeros(13))
    for tick in (0, 2, 3):
        log.take_joints('handle', tick, [0.0])
    with pytest.raises(RecordingError, match='/bodies/handle/joint_states at 1e-09 s was lost'):
        log.states()


def test_outlines_pass_through_the_places_of_their_tasks():
    for name in mission_names():
        flown = load_mission(name)
        for task, shown in zip(flown.tasks, mission_scenery(flown)['tasks'], strict=True):
            if task.kind.name == 'report':  # it is to be found
                assert not shown['lines']
                continue
            assert shown['lines'], task.name
            points = np.concatenate([np.array(line) for line in shown['lines']])
            places = getattr(task.spec, 'position', None)
            if places is not None:
                size = max(getattr(task.spec, n, 0.0) for n in ('radius', 'width', 'height'))
                size = max(size, *getattr(task.spec, 'size', (0.0,)))
                assert np.linalg.norm(points.mean(axis=0) - places) <= max(size, 0.7)


PILOT = """
description: Test
duration: 3.0
initial: {position: [0.0, -4.0, -4.6], rpy: [0.0, 0.0, 0.0]}
segments:
  - {at: 0.0, control: {x: 0.0, y: -4.0, z: -5.0, roll: 0.0, yaw: 0.0}}
  - {at: 1.5, control: {x: 0.0, y: -4.0, z: -4.0, roll: 0.0, yaw: 0.0}}
reports: [{at: 1.015, target: box}]
"""
BED = """
seabed: {depth: 6.0, material: sand}
sediment: {}
bodies: [{name: box, shape: box, size: [0.4, 0.4, 0.4], mass: 200.0, position: [2.0, -4.0, -5.8]}]
"""
NEAR = (
    HEAD.replace('scenario: dive', 'environment: FOLDER/bed.yaml\nscenario: FOLDER/pilot.yaml')
    + """
order: any
tasks:
  - {name: near, kind: hold, position: [0.0, -4.0, -4.8], radius: 0.5, duration: 1.0}
  - {name: far, kind: return, position: [9.0, -4.0, -5.0]}
  - {name: seen, kind: report, target: box, position: [2.0, -4.0, -5.8], angle: 50 deg}
  - {name: there, kind: deliver, body: box, position: [2.0, -4.0, -5.8], duration: 1.0}
penalties:
  depth: {limit: 4.7, points: 1.0}
  contact: {force: 0.0}
  silt: {points: 0.01}
  energy: {free: 0.001, points: 1.0}
  turns: {anchor: [0.0, 0.0], around: [[1.0, 1.0]]}
"""
)


def scores(processes, folder, mission_file, way, dt):
    """Return the scores of a mission flown through nodes: live, of the bag, and simulated."""
    contents, hashes = {}, {}
    for name, more in (('graph', ['--graph']), ('simulated', [])):
        more += ['--composed'] * (way == 'composed' and name == 'graph')
        process = processes.marine_sim(
            'mission', mission_file, '--dt', dt, *more, '--record', folder / name
        )
        told, _ = process.communicate()
        assert process.returncode in (0, 1), told
        contents[name] = json.loads((folder / name / 'score.json').read_text())
        manifest = json.loads((folder / name / 'manifest.json').read_text())
        hashes[name] = manifest['trajectory_sha256']
    assert hashes['graph'] == hashes['simulated']
    live = json.loads((folder / 'graph' / 'live_score.json').read_text())
    return live.pop('time'), live, contents['graph'], contents['simulated']


@pytest.mark.ros
@pytest.mark.parametrize('way', ['separate', 'composed'])
def test_the_live_score_is_that_of_the_bag_and_of_the_simulated_run(processes, tmp_path, way):
    (tmp_path / 'pilot.yaml').write_text(PILOT)
    (tmp_path / 'bed.yaml').write_text(BED)
    (tmp_path / 'near.yaml').write_text(NEAR.replace('FOLDER', str(tmp_path)))
    time, live, recorded, simulated = scores(
        processes, tmp_path, tmp_path / 'near.yaml', way, STEP
    )
    assert time == pytest.approx(3.0)
    assert live == recorded == simulated
    assert [task['state'] for task in live['tasks']] == ['done', 'running', 'done', 'done']
    lost = {penalty['name']: penalty['amount'] for penalty in live['penalties']}
    assert lost.pop('turns') == lost.pop('contact') == 0.0
    assert all(amount > 0.0 for amount in lost.values()), lost


@pytest.mark.ros
@pytest.mark.timeout(1800)
@pytest.mark.parametrize('name', mission_names())
def test_each_lesson_flown_through_the_nodes_has_one_score(processes, tmp_path, name):
    step = str(STEPS.get(name, 0.02))
    _, live, recorded, simulated = scores(processes, tmp_path, name, 'composed', step)
    assert live == recorded == simulated
    assert live['medal'] == 'gold'


TEAM = """
vehicles:
  - {vehicle: bluerov2, name: ada, scenario: lesson_first_flight}
  - {vehicle: bluerov2, name: ben, scenario: lesson_first_flight_too_deep}
"""


@pytest.mark.ros
def test_pilots_of_a_fleet_are_scored_as_alone_and_together(processes, tmp_path):
    (tmp_path / 'team.yaml').write_text(TEAM)
    process = processes.marine_sim(
        'run', '--fleet', tmp_path / 'team.yaml', '--lesson', 'first_flight', '--composed',
        '--dt', '0.02', '--real-time-factor', '0', '--record', tmp_path / 'run',
    )  # fmt: skip
    told, _ = process.communicate()
    assert process.returncode == 0, told
    points = []
    for name, pilot in (('ada', ''), ('ben', 'lesson_first_flight_too_deep')):
        flown, trajectory = fly('first_flight', pilot)
        score = score_mission(flown, mission_run_of_trajectory(trajectory))
        content = json.loads((tmp_path / 'run' / name / 'score.json').read_text())
        assert content == json.loads(json_text(score_content(flown, score)))
        assert f'score {score.score:.1f} of 100' in told
        points.append(score.score)
    assert f'team: {sum(points) / 2:.1f} of 100' in told
