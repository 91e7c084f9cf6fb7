# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scenario files, and the command line that runs them in process."""

import json
import math
import re
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from conftest import SETS, VEHICLES
from conftest import marine_sim as marine_sim_here
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros import Environment, load_vehicle, simulate
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.stick_mixing import PilotMixer
from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.random import gaussian
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.trajectory import MotionSummary, Outcome, TrajectoryHash, motion_text


@pytest.mark.long
@pytest.mark.parametrize(
    'shipped', [(name, part) for name in VEHICLES for part in SETS], ids='-'.join, indirect=True
)
def test_the_dive_holds_for_every_vehicle(shipped):
    scenario = load_scenario('dive')
    trajectory = simulate(shipped, scenario)
    verdicts = scenario.verdicts(trajectory.time, trajectory.position[:, 2])
    assert verdicts
    assert all(ok for ok, _ in verdicts), verdicts


@pytest.mark.parametrize(
    ('duration', 'dt', 'whole'),
    [(3.0, 0.1, True), (2.0, 0.1, False), (2.9, 0.1, False), (3.0, 0.07, True)],
)
def test_an_expectation_is_met_only_by_a_run_that_lasts_to_its_end(duration, dt, whole):
    scenario = parse_scenario(
        'duration: 3\nsegments: [{at: 0, depth: 5}]\n'
        'expect: [{from: 2.0, to: 3.0, depth: [4, 6]}, {from: 0, to: 3.0, depth: [6, 7]}]',
        'window',
    )
    time = np.arange(0.0, duration + 1e-6, dt)
    stamps = np.round(time * 1e9).astype(np.int64)
    states = State(*(np.tile(x, (len(time), 1)) for x in state_at_rest((0.0, 0.0, -5.0))))
    outcome = Outcome(scenario)
    for part in (slice(0, -1), slice(-1, None)):
        outcome.add(stamps[part], State(*(x[part] for x in states)))
    verdicts = scenario.verdicts(time, states.position[:, 2])
    assert verdicts == outcome.verdicts
    assert [ok for ok, _ in verdicts] == [whole, False]
    assert all(text.endswith('the run ended before') is not whole for _, text in verdicts)


def test_a_run_repeats_bit_for_bit():
    vehicle, scenario = load_vehicle('bluerov2'), load_scenario('dive')
    first, second = (simulate(vehicle, scenario, duration=2.0) for _ in range(2))
    assert first.sha256 == second.sha256
    assert len(first.stamp) == 401
    third = simulate(vehicle, scenario, duration=2.0, seed=1)
    assert third.sha256 == first.sha256
    assert not np.array_equal(third.pressure, first.pressure)


def test_barometer_noise_has_its_variance():
    vehicle = load_vehicle('bluerov2', coefficients='maker')  # which stays level
    trajectory = simulate(vehicle, load_scenario('dive'))
    truth = 101300 + 1000 * 9.8 * -trajectory.position[:, 2]
    noise = trajectory.pressure - truth
    assert noise.std() == pytest.approx(200, rel=0.05)
    assert abs(noise.mean()) < 20


def test_the_barometer_feels_the_water_of_the_run():
    vehicle, scenario = load_vehicle('bluerov2'), load_scenario('dive')
    runs = {
        density: simulate(
            vehicle, scenario, environment=Environment(water_density=density), duration=1.0
        )
        for density in (1000.0, 1030.0)
    }
    for density, trajectory in runs.items():
        gauge = trajectory.pressure[0] - 101300 - 200 * gaussian(0, 'barometer', 0)
        assert gauge == pytest.approx(density * 9.8 * 0.5)


def test_noise_depends_on_seed_name_and_stamp_alone():
    places = list(product((0, 1), 'ab', (0, 1, 10**9, 2**40)))
    values = {place: float(gaussian(*place)) for place in places}
    assert len(set(values.values())) == len(values)
    assert float(gaussian(1, 'a', 10**9)) == values[1, 'a', 10**9]


def test_noise_is_normal_and_drawn_alike_one_by_one_and_at_once():
    from scipy.stats import kstest

    stamps = np.arange(20_000, dtype=np.int64) * 5_000_000
    many = gaussian(3, 'barometer', stamps)
    assert [float(gaussian(3, 'barometer', s)) for s in stamps[::40].tolist()] == list(many[::40])
    assert kstest(many, 'norm').pvalue > 0.001
    assert abs(np.corrcoef(many[:-1], many[1:])[0, 1]) < 0.03


def test_the_hash_and_motion_of_all_ticks_are_those_of_one_after_the_other():
    run = simulate(load_vehicle('bluerov2'), load_scenario('dive'), duration=0.1)
    digest, motion, at_once = TrajectoryHash(), MotionSummary(), MotionSummary()
    for stamp, *rows in zip(
        run.stamp.tolist(), run.position, run.orientation, run.velocity, strict=True
    ):
        digest.add(stamp, (*rows[0], *rows[1]), tuple(rows[2]))
        motion.add((*rows[0], *rows[1]), tuple(rows[2]))
    assert run.sha256 == digest.hexdigest()
    at_once.add_ticks(run.states)
    assert at_once.content() == {k: pytest.approx(v) for k, v in motion.content().items()}
    assert motion.content()['depths_m'] == [-run.position[:, 2].max(), -run.position[:, 2].min()]
    speed = np.linalg.norm(run.velocity[:, :3], axis=1).max()
    assert motion.content()['greatest_speed_m_s'] == pytest.approx(speed)
    assert motion.content()['last_position_m'] == run.position[-1].tolist()


def test_a_run_and_its_bag_tell_how_far_they_are(tmp_path):
    pytest.importorskip('rosbags')
    vehicle, told, written = load_vehicle('bluerov2'), [], []
    run = simulate(vehicle, load_scenario('dive'), duration=4.995, progress=told.append)
    write_recording(tmp_path / 'run', vehicle, RunOptions(vehicle='bluerov2'), run, written.append)
    assert told == written == [0.0, 0.2, 0.4, 0.6, 0.8]


BAD = {
    'duration: 1': "'segments' is missing",
    'duration: x\nsegments: [{at: 0}]': 'expected a number',
    'duration: 1\nsegments: []': 'segments is empty',
    'duration: 1\nsegments: [{at: 0, axis: 1}]': "unknown key 'axis'",
    'duration: 1\nsegments: [{at: 0, axes: {surge: 2}}]': 'from -1 to 1',
    'duration: 1\nsegments: [{at: 1}, {at: 0}]': 'not in the order',
    'duration: 1\nsegments: [{at: 0, pwm: [1500], depth: 1}]': 'one kind of command',
    'duration: 1\nsegments: [{at: 0, depth: 1, axes: {heave: 1}}]': 'both command the heave',
    '[1': 'not valid YAML',
    '- 1': 'expected a mapping',
}


@pytest.mark.parametrize('text', BAD)
def test_bad_scenarios_give_one_line(text):
    with pytest.raises(ScenarioError, match=re.escape(BAD[text])) as caught:
        parse_scenario(text, 'bad.yaml')
    assert '\n' not in str(caught.value)
    assert 'bad.yaml' in str(caught.value)


@given(st.text(max_size=80))
def test_any_text_is_a_scenario_or_an_error(text):
    with pytest.raises(ScenarioError):
        parse_scenario(text, 'any.yaml')


def test_wrong_number_of_pulse_widths_is_found_before_the_run():
    scenario = parse_scenario('duration: 1\nsegments: [{at: 0, pwm: [1500]}]', 'one.yaml')
    with pytest.raises(ScenarioError, match='1 pulse widths; expected 6'):
        simulate(load_vehicle('bluerov2'), scenario)


@pytest.mark.parametrize('vehicle', ['bluerov2', 'bluerov2_heavy'])
def test_each_axis_pushes_where_it_says(vehicle):
    model = load_vehicle(vehicle, rotor_time_constant='0', thrust='linear')
    mixer = PilotMixer(model.thrusters)
    expected = {'bluerov2': set(BODY_AXES) - {'pitch'}, 'bluerov2_heavy': set(BODY_AXES)}[vehicle]
    assert set(mixer.reachable) == expected
    for i, axis in enumerate(BODY_AXES):
        for sense in (1.0, -1.0):
            efforts = np.zeros(6)
            efforts[i] = sense
            pwm = mixer.pwm(efforts)
            assert np.all((pwm >= 1100) & (pwm <= 1900))
            wrench = model.thrusters.effectiveness @ (pwm - 1500)
            if axis in expected:
                assert np.sign(wrench[i]) == sense
                assert abs(pwm - 1500).max() == 400
            else:
                assert np.all(pwm == 1500)


def marine_sim(*arguments):
    return subprocess.run(
        [sys.executable, '-m', 'marine_sim_ros.tools.main', *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_simulate_writes_a_recording(tmp_path):
    arguments = ['--scenario', 'dive', '--dt', '0.02', '--record', tmp_path / 'run']
    done = marine_sim('simulate', 'bluerov2', *arguments)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / 'run' / 'manifest.json').read_text())
    assert manifest['ticks'] == 2001
    assert manifest['trajectory_sha256'] in done.stdout
    # What the vehicle did is said in words: it starts 0.5 m deep, and is sent to 5 m.
    assert motion_text(manifest['motion']) in done.stdout
    assert manifest['motion']['depths_m'] == pytest.approx([0.5, 4.8], abs=0.1)
    from rosbags.highlevel import AnyReader

    with AnyReader([tmp_path / 'run' / 'bag']) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
    assert counts['/bluerov2/odom'] == counts['/bluerov2/wrench/drag'] == 2001


BAD_COMMANDS = [
    (['simulate', 'bluerov9', '--scenario', 'dive'], "'bluerov9' is neither"),
    (['simulate', 'bluerov2'], 'expected either --scenario'),
    (['simulate', 'bluerovv2'], "did you mean 'bluerov2'?"),
    (['run', './bluerovv2.urdf'], "is no file; did you mean 'bluerov2'?"),
    (['simulate', 'bluerov2', '--scenario', './dvie.yaml'], "is no file; did you mean 'dive'?"),
    (['run', 'bluerov2', '--environment', 'no/pool.yaml'], 'is no file: there is no folder no;'),
    (['simulat', 'bluerov2'], 'did you mean simulate?'),
    (['compare', 'a', 'b'], 'did you mean analyze?'),
    (['simulate', 'bluerov2', '--scenaro', 'dive'], 'did you mean --scenario?'),
    (['--trust', 'import', 'x.sdf'], 'unknown argument --trust; expected it after import;'),
    (['simulate', 'bluerov2', '-o', 'x'], 'expected --record FOLDER'),
    (['simulate', 'bluerov2', 'scenario:=dive'], 'expected --scenario dive'),
    (['run', 'bluerov2', 'composed:=true'], 'expected --composed;'),
    (['run', 'bluerov2', '--current', '0.5'], 'run: argument --current: expected 3 arguments'),
    (['list'], 'see `marine_sim list --help`'),
    (['simulate', 'bluerov2', '--scenario', 'dance'], "'dance' is neither"),
    (['simulate', 'bluerov2', '--scenario', 'dive', '--dt', '2'], '--dt is 2'),
    (['simulate', 'bluerov2', '--scenario', 'dive', '--set', 'x'], 'expected NAME:=VALUE'),
    (['doctor', 'bluerov2', '--set', 'coefficients:=makr'], 'expected one of: maker, orca3'),
    (['run', 'bluerov2', '--namespace', '9 lives'], 'namespace is'),
    (['teleop', 'bluerov2'], 'no terminal'),
]


@pytest.mark.versions
@pytest.mark.parametrize(('arguments', 'expected'), BAD_COMMANDS)
def test_bad_input_prints_one_line_and_exits_with_2(arguments, expected):
    code, said = marine_sim_here(*arguments)
    assert code == 2
    assert expected in said
    assert said.startswith('ERROR: ')
    assert said.count('\n') == 1


def test_the_line_is_an_error_of_the_process():
    arguments, expected = BAD_COMMANDS[0]
    done = marine_sim(*arguments)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith('ERROR: ')
    assert expected in done.stderr


ANGLES = """duration: 1
initial: {{rpy: [0, 0, {0}]}}
segments: [{{at: 0, control: {{yaw: {0}, z: {1}}}}}]
"""


@settings(deadline=None)
@given(st.floats(-360, 360), st.sampled_from(['deg', '°']))
def test_angles_may_have_their_unit(degrees, unit):
    found = parse_scenario(ANGLES.format(f"'{degrees:.6f} {unit}'", -2), 'angles')
    assert found.rpy[2] == pytest.approx(math.radians(degrees), abs=1e-7)
    assert found.segments[0].control[5] == pytest.approx(found.rpy[2])
    assert found.warnings == ()


@settings(deadline=None)
@given(st.floats(6.2832, 1e6), st.sampled_from([-1, 1]))
def test_degrees_that_are_not_named_as_such_are_refused(size, sign):
    with pytest.raises(ScenarioError, match=r"yaw is .* turns; expected rad .* such as '90 deg'"):
        parse_scenario(ANGLES.format(repr(sign * size), -2), 'angles')


def test_a_set_point_above_the_surface_is_remarked_on():
    (text,) = parse_scenario(ANGLES.format(1.5, 4), 'angles').warnings
    assert text.endswith('above the surface, for z points up; expected z: -4 for that depth')
