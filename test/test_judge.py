# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Runs judged whole: metrics, pictures and report, from trajectories and from bags."""

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.analysis.evaluation import (
    ExperimentRun,
    draw_pictures,
    evaluate_run,
    report_markdown,
    run_of_bag,
    run_of_trajectory,
)
from marine_sim_ros.analysis.experiments import compare_metrics, experiment_names, load_experiment
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.control.controller_model import make_setpoints
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.core.spatial import level_frame, quaternion_from_rpy, to_body
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario

ROV = vehicle_of('investigator90')
T = np.arange(0, 60.0001, 0.02)
N = len(T)


def run_of(position, yaw, velocity, **targets):
    """Return a run with two levels of roll and pitch, 0.01 and -0.06 rad."""
    orientation = np.array([quaternion_from_rpy(0.01, -0.06, a) for a in yaw])
    k = len(ROV.thrusters)
    goals = np.tile(make_setpoints(targets), (N, 1))
    return ExperimentRun(
        T,
        position,
        orientation,
        velocity,
        np.full((N, k), 1500.0),
        np.zeros((N, k)),
        goals,
        np.zeros((N, 0)),
    )


def transit():
    x = -4 + 8 * (1 - np.exp(-T / 3) * (1 + T / 3))
    position = np.stack([x, 0.2 * np.sin(np.pi * (x + 4) / 8), np.full(N, -5.1)], axis=1)
    return run_of(position, 0 * T, np.zeros((N, 6)), x=4.0, y=0.0, z=-5.0, roll=0.0, pitch=0.0)


def turning(climb):
    rate, radius = 0.25, 2.0
    a = rate * T
    position = np.stack([radius * np.sin(a), -radius * np.cos(a), -5 + climb * T], axis=1)
    course = np.stack([radius * rate * np.cos(a), radius * rate * np.sin(a), climb + 0 * T], 1)
    run = run_of(position, a, np.zeros((N, 6)), surge=0.5, yaw_rate=rate)
    velocity = np.concatenate([to_body(run.orientation, course), np.zeros((N, 3))], axis=1)
    return replace(run, velocity=velocity)


def test_transit():
    found = evaluate_run(load_experiment('transit'), ROV, transit())
    assert found['track']['cross_track_m'] == pytest.approx(0.2, abs=1e-3)
    assert found['track']['vertical_track_m'] == pytest.approx(0.1, abs=1e-5)
    assert found['steady_state_error_m'] == pytest.approx({'x': 0, 'y': 0, 'z': 0.1}, abs=1e-4)
    assert found['steady_state_error_deg']['pitch'] == pytest.approx(math.degrees(0.06))
    assert found['steady_state_error_deg']['yaw'] is None
    assert found['overshoot_percent'] == 0
    assert found['settling_time_s'] == pytest.approx(5.834 * 3, abs=0.03)  # (1+t)e^-t = 0.02
    assert found['uncontrollable'] == ['pitch']
    assert found['turn'] is found['balance'] is None


@pytest.mark.parametrize(('name', 'climb'), [('turning_circle', 0.0), ('helix', -0.1)])
def test_turns(name, climb):
    found = evaluate_run(load_experiment(name), ROV, turning(climb))['turn']
    assert found['radius_m'] == pytest.approx(2.0)
    assert found['kinematic_radius_m'] == pytest.approx(2.0)
    assert found['pitch_m'] == pytest.approx(2 * math.pi * climb / 0.25, abs=1e-9)
    assert found['kinematic_pitch_m'] == pytest.approx(2 * math.pi * climb / 0.25, abs=1e-9)


def test_a_run_that_ends_before_the_turn_is_steady():
    experiment = replace(load_experiment('helix'), turn_from=60.0)
    with pytest.raises(ParameterError, match='expected more than turn_from'):
        evaluate_run(experiment, ROV, turning(0.0))


def test_balance():
    experiment = replace(load_experiment('balance'), moments=())
    found = evaluate_run(experiment, ROV, transit())['balance']
    assert set(found) == {'without_arm', 'end'}
    assert found['without_arm']['mass_kg'] == pytest.approx(114.46)
    assert found['without_arm']['volume_m3'] == pytest.approx(0.133)
    assert found['without_arm']['pitch_deg'] == pytest.approx(-6.52, abs=0.005)
    assert found['without_arm']['horizontal_m'] == pytest.approx(0, abs=1e-12)
    assert found['end']['mass_kg'] == pytest.approx(120.46)
    assert found['end']['pitch_deg'] == pytest.approx(math.degrees(-0.06))
    assert found['end']['trim_pitch_deg'] == pytest.approx(6.229, abs=0.001)
    assert found['end']['horizontal_m'] > 0.01


def test_the_arm_is_weighed_where_it_is_at_each_moment():
    stowed = np.array([0, -math.pi / 2, math.radians(170), 0, 0, 0])
    run = replace(transit(), joints=np.where(T[:, None] < 30, 0.0, stowed))
    experiment = replace(load_experiment('balance'), moments=(('a', 20.0), ('b', 60.0)))
    found = evaluate_run(experiment, ROV, run)['balance']
    assert found['a']['trim_pitch_deg'] == pytest.approx(6.229, abs=0.001)
    assert found['b']['trim_pitch_deg'] == pytest.approx(1.928, abs=0.001)
    with pytest.raises(ParameterError, match=r'moments.b is 61 s; expected at most 60 s'):
        evaluate_run(replace(experiment, moments=(('b', 61.0),)), ROV, run)


RUNS = {'turning_circle': lambda: turning(0.0), 'helix': lambda: turning(-0.1)}


@pytest.mark.long
@pytest.mark.parametrize('name', [n for n in experiment_names() if not n.startswith('survey_')])
def test_every_experiment_gets_its_metrics_pictures_and_report(name, tmp_path):
    """Those of surveys are judged by what their sonars record: test_survey_lines.py."""
    experiment = load_experiment(name)
    scale = 60.0 / max([60.0, *(t for _, t in experiment.moments)])
    moments = tuple((n, t * scale) for n, t in experiment.moments)
    experiment = replace(experiment, moments=moments)
    run = RUNS.get(name, transit)()
    metrics = evaluate_run(experiment, ROV, run)
    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics
    compared = compare_metrics(experiment.rows, metrics)
    assert any(c.simulated is not None for c in compared)
    pictures = []
    if name in ('transit', 'helix', 'balance'):  # together they make every kind
        pictures = draw_pictures(tmp_path, experiment, ROV, run, metrics)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(p.name for p in pictures)
    text = report_markdown(experiment, metrics, compared, pictures, facts={'ticks': '3001'})
    for picture in pictures:
        assert f']({picture.name})' in text
    for row in experiment.rows:
        assert row.name in text
    good = all(c.within is not False for c in compared)
    assert ('**within**' in text) == good
    assert '- ticks: 3001' in text
    assert 'cannot command: pitch' in text


@pytest.mark.parametrize(
    ('name', 'scenario'), [('bluerov2', 'dive'), ('investigator90', 'position_hold')]
)
def test_a_bag_gives_back_the_run(name, scenario, tmp_path):
    vehicle = load_vehicle(name)
    trajectory = simulate(vehicle, load_scenario(scenario), duration=1.0)
    write_recording(tmp_path / 'run', vehicle, RunOptions(), trajectory)
    direct = run_of_trajectory(trajectory)
    read = run_of_bag(tmp_path / 'run' / 'bag', f'/{name}')
    for field in fields(ExperimentRun):
        one, two = getattr(read, field.name), getattr(direct, field.name)
        assert np.array_equal(one, two, equal_nan=True), field.name
    assert np.isnan(read.targets).all() == (scenario == 'dive')
    with pytest.raises(RecordingError, match='has no /other/odom'):
        run_of_bag(tmp_path / 'run' / 'bag', '/other')
    with pytest.raises(RecordingError, match='cannot be read'):
        run_of_bag(tmp_path / 'nowhere', f'/{name}')


def test_a_vehicle_that_does_not_turn_is_noted():
    experiment = load_experiment('turning_circle')
    metrics = evaluate_run(experiment, ROV, transit())
    assert metrics['turn'] is None
    assert 'circle' in metrics['notes'][0] or 'turn' in metrics['notes'][0]
    compared = compare_metrics(experiment.rows, metrics)
    assert any(c.within is False for c in compared)
    assert metrics['notes'][0] in report_markdown(experiment, metrics, compared, [], facts={})


def test_speeds_are_judged_in_the_frame_they_are_wanted_in():
    run = turning(-0.1)  # level speeds 0.5, 0, -0.1 m/s with 3 degrees of pitch
    assert run.controlled_velocity[:, :3] == pytest.approx(np.tile([0.5, 0.0, -0.1], (N, 1)))
    assert abs(run.velocity[:, 2] + 0.1).min() > 0.02
    found = evaluate_run(load_experiment('helix'), ROV, run)
    assert found['steady_state_error_m_s']['surge'] == pytest.approx(0, abs=1e-9)
    for yaw in (0.0, 2.0):
        speed = level_frame(yaw).T @ np.array([1.0, 2.0, 3.0])
        still = run_of(np.zeros((N, 3)), np.full(N, yaw), np.zeros((N, 6)))
        body = to_body(still.orientation, np.tile([1.0, 2.0, 3.0], (N, 1)))
        still = replace(still, velocity=np.concatenate([body, np.zeros((N, 3))], axis=1))
        assert still.controlled_velocity[:, :3] == pytest.approx(np.tile(speed, (N, 1)))


def test_map_velocity_is_the_slope_of_the_position():
    trajectory = simulate(load_vehicle('bluerov2'), load_scenario('dive'), duration=8.0)
    run = run_of_trajectory(trajectory)
    slope = np.gradient(run.position, run.time, axis=0)
    assert run.map_velocity[5:-5] == pytest.approx(slope[5:-5], abs=0.02)
