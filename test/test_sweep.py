# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sweeps: designs, numbers put in place, blocks, a dataset that survives what dies."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processor import PATIENCE

from marine_sim_ros.core.errors import MarineSimError, ModelError, ParameterError, RunError
from marine_sim_ros.core.state import State
from marine_sim_ros.faults.fault_types import Stuck
from marine_sim_ros.model.urdf import with_number
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.sweep import runs, schedule
from marine_sim_ros.sweep.plan import SWEEPS, design_runs, load_plan, parse_plan, state_metrics
from marine_sim_ros.sweep.results import (
    SweepDataset,
    parse_choice,
    run_alone,
    select_runs,
    write_run_bags,
)

pytestmark = pytest.mark.long

PLAN = """
vehicle: bluerov2
scenario: dive
duration: 0.5
runs: 24
block: 8
every: 10
parameters:
  vehicle.damping.quadratic[0,0]: {low: 10.0, high: 40.0}
  vehicle.inertia.mass: {mean: 1.0, deviation: 0.01, relative: true}
  environment.current[1]: {low: -0.2, high: 0.2}
  initial.position[2]: {low: -3.0, high: -2.0}
  fault.thruster_3: {low: 0.1, high: 0.6}
"""


@pytest.mark.versions
def test_a_latin_hypercube_has_one_run_in_each_slice():
    rows = design_runs(parse_plan(PLAN, 'plan.yaml'))
    assert rows.shape == (24, 5)
    slices = np.sort(np.floor((rows[:, 0] - 10.0) / 30.0 * 24))
    np.testing.assert_array_equal(slices, np.arange(24))
    assert abs(np.mean(rows[:, 1]) - 1.0) < 0.002


def test_monte_carlo_draws_each_run_by_itself():
    plan = replace(parse_plan(PLAN, 'plan.yaml'), method='monte_carlo')
    rows = design_runs(plan)
    np.testing.assert_array_equal(rows, design_runs(plan))
    assert not np.array_equal(rows, design_runs(replace(plan, seed=1)))
    assert np.all((rows[:, 2] >= -0.2) & (rows[:, 2] <= 0.2))


def test_a_grid_has_every_combination():
    text = """
vehicle: bluerov2
scenario: dive
method: grid
parameters:
  vehicle.inertia.mass: {values: [10, 11]}
  initial.rpy[2]: {values: [0, 1, 2]}
"""
    rows = design_runs(parse_plan(text, 'plan.yaml'))
    np.testing.assert_array_equal(rows, [[m, y] for m in (10, 11) for y in (0, 1, 2)])


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('runs: 24', '', "'runs' is missing; expected how many"),
        ('vehicle.inertia.mass', 'inertia.mass', 'unknown parameter'),
        ('low: -3.0, high: -2.0', 'low: -2.0, high: -3.0', 'low is -2 and high is -3'),
        ('mean: 1.0, deviation', 'mean: 1.0, deviations', 'deviations'),
        ('runs: 24', 'runs: 24\nworst: depth', 'worst'),
    ],
)
def test_bad_plans_are_told_in_one_line(old, new, message):
    with pytest.raises(ParameterError, match=message) as caught:
        parse_plan(PLAN.replace(old, new), 'plan.yaml')
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('vehicle.inertia.weight', "'weight' is unknown; expected one of: center_of_mass, mass"),
        ('vehicle.name[0]', 'expected an array of numbers'),
        ('vehicle.inertia.tensor[0]', r'outside of shape \(3, 3\)'),
        ('vehicle.inertia.tensor[0,,0]', r"'tensor\[0,,0\]' is unknown"),
        ('vehicle.damping[0].linear', "'linear' is unknown"),
        ('vehicle.inertia.tensor[3,0]', r'outside of shape \(3, 3\)'),
        ('vehicle.damping.linear', 'expected an index'),
        ('initial.velocity[0]', 'initial.position'),
        ('fault.thruster_9', "'thruster_9' is unknown; expected one of: dead, weak"),
        ('fault.thruster_9', 'of: thruster_1'),
        ('fault.weak.thruster_9.share', 'expected fault.weak.THRUSTER.NUMBER with one of'),
        ('fault.weak.thruster_1.power', 'expected at its end one of: share, at, until'),
        ('fault.gust.thruster_1.speed', 'expected at its end one of: speed'),
        ('fault.gust', 'expected at its end one of: speed'),
        ('fault.battery.charge', r'is 1\.\d+; expected 0 to 1'),
        ('urdf.link[base_link]/inertial/mass', 'expected an @ and an attribute'),
        ('urdf.joint/origin@xyz[0]', 'elements of the URDF are there; expected one'),
        ('urdf.link[base_link]/inertial/mass@weight', 'there are 0 numbers; expected one'),
        ('urdf.link[base_link]/inertial/origin@xyz', 'there are 3 numbers; expected one, or'),
        ('urdf.link[base_link]/inertial/origin@xyz[3]', 'there are 3 numbers; expected a lower'),
        ('urdf.link[base_link]@name', "'base_link' is there; expected a number"),
        ('urdf.*[1]@name', r"'\*\[1\]' is no element"),
    ],
)
def test_parameters_that_point_nowhere_are_told(name, message):
    plan = parse_plan(PLAN.replace('vehicle.inertia.mass', name), 'plan.yaml')
    with pytest.raises(MarineSimError, match=message) as caught:
        runs.case_of(plan, 23)
    assert '\n' not in str(caught.value)


def test_a_range_of_numbers_is_multiplied_by_one_factor():
    text = PLAN.replace('vehicle.inertia.mass', 'vehicle.inertia.tensor[0:2,0:2]')
    plan = parse_plan(text, 'plan.yaml')
    changed = runs.case_of(plan, 7).vehicle.inertia.tensor
    plain = runs.case_of(parse_plan(PLAN, 'plan.yaml'), 7).vehicle.inertia.tensor
    expected = plain.copy()
    expected[0:2, 0:2] *= design_runs(plan)[7][1]
    np.testing.assert_array_equal(changed, expected)
    assert changed[0, 0] != plain[0, 0]


def test_numbers_are_where_they_belong():
    plan = parse_plan(PLAN, 'plan.yaml')
    case, row = runs.case_of(plan, 7), design_runs(plan)[7]
    plain = runs.case_of(replace(plan, parameters=plan.parameters[:1]), 0).vehicle
    assert case.vehicle.damping.quadratic[0, 0] == row[0]
    assert case.vehicle.inertia.mass == pytest.approx(plain.inertia.mass * row[1], rel=1e-15)
    assert case.environment.current[1] == row[2]
    assert case.scenario.position == (0.0, 0.0, row[3])
    assert case.scenario.faults[0].start == row[4]
    with pytest.raises(ParameterError, match='expected 0 to 23'):
        runs.case_of(plan, 24)


def test_numbers_of_faults_are_changed_or_added():
    plan = parse_plan(
        """
vehicle: bluerov2
scenario: faults
method: grid
parameters:
  fault.weak.thruster_5.share: {values: [0.1]}
  fault.gust.speed: {values: [2.0], relative: true}
  fault.stuck.thruster_1.pwm: {values: [1600]}
  fault.stuck.thruster_1.at: {values: [4.0]}
  fault.barometer_drift.until: {values: [9.0]}
  fault.thruster_4: {values: [33.0]}
""",
        'plan.yaml',
    )
    before = runs._base(plan).scenario.faults
    after = runs.case_of(plan, 0).scenario.faults
    changed = [(a, b) for a, b in zip(before, after, strict=False) if a != b]
    assert [b for _, b in changed] == [
        replace(changed[0][0], end=9.0),
        replace(changed[1][0], share=0.1),
        replace(changed[2][0], speed=0.8),
        replace(changed[3][0], start=33.0),
    ]
    assert after[len(before) :] == (Stuck(start=4.0, thruster='thruster_1', pwm=1600.0),)


def test_numbers_of_the_urdf_are_changed_before_those_of_the_vehicle():
    plan = parse_plan(
        """
vehicle: bluerov2
scenario: dive
method: grid
parameters:
  vehicle.inertia.mass: {values: [1.5], relative: true}
  "urdf.link[base_link]/inertial/mass@value": {values: [2.0], relative: true}
  "urdf.link[base_link]/inertial/origin@xyz[2]": {values: [0.03]}
  "urdf.thrusters/thruster[thruster_2]/time_constant@": {values: [0.25]}
  "urdf.hydrodynamics/quadratic_damping@[2]": {values: [50.0]}
""",
        'plan.yaml',
    )
    plain, found = runs._base(plan).vehicle, runs.case_of(plan, 0).vehicle
    assert found.inertia.mass == pytest.approx(plain.inertia.mass * 3.0)
    assert found.inertia.center_of_mass[2] == 0.03
    constants = plain.thrusters.time_constant.copy()
    constants[1] = 0.25
    np.testing.assert_array_equal(found.thrusters.time_constant, constants)
    assert found.damping.quadratic[2, 2] == 50.0
    np.testing.assert_array_equal(found.damping.linear, plain.damping.linear)
    assert found.buoyancy.volume == plain.buoyancy.volume


PATHS = st.one_of(st.text(max_size=30), st.from_regex(r'\A[a-z/]{1,9}(\[[^\]]*\])?@.{0,3}\Z'))


@given(PATHS)
def test_any_path_is_a_number_of_the_urdf_or_an_error(path):
    with pytest.raises(ModelError) as caught:
        with_number('<robot><link name="a" x="1 2"/></robot>', path, lambda old: old + 1)
    assert '\n' not in str(caught.value)


@pytest.mark.versions
@pytest.mark.parametrize('name', SWEEPS.names())
def test_shipped_sweeps_have_runs_that_can_be_set_up(name):
    plan = load_plan(name)
    for run in range(0, plan.runs, 97):
        case = runs.case_of(plan, run)
        case.scenario.check(case.vehicle)


def test_metrics_of_a_motion_in_closed_form():
    time_, count = np.linspace(0.0, 1.0, 101), 2
    position = np.zeros((101, count, 3))
    position[:, 0, 0], position[:, 1, 2] = 3 * time_, -2 - time_
    half = 0.2 * time_
    turned = np.stack([np.sin(half), 0 * half, 0 * half, np.cos(half)], axis=-1)
    orientation = np.stack([turned, np.tile([0, 0, 0, 1.0], (101, 1))], axis=1)
    velocity = np.zeros((101, count, 6))
    velocity[:, :, 0] = 3.0
    found = state_metrics(time_, State(position, orientation, velocity), load_plan_scenario())
    np.testing.assert_allclose(found['path_length'], [3.0, 1.0])
    np.testing.assert_allclose(found['max_tilt'], [0.4, 0.0], atol=1e-12)
    np.testing.assert_allclose(found['max_depth'], [0.0, 3.0])
    assert found['finite'].all()
    position[50, 0, 0] = np.nan
    broken = state_metrics(time_, State(position, orientation, velocity), load_plan_scenario())
    assert broken['finite'].tolist() == [False, True]
    assert np.isnan(broken['path_length'][0])


def test_the_worst_runs_are_written_as_bags(tmp_path):
    plan = parse_plan(PLAN.replace('runs: 24', 'runs: 3\nengine: numpy'), 'plan.yaml')
    columns = {
        'run': np.arange(3),
        'finite': np.array([True, False, True]),
        'max_depth': np.array([1.0, np.nan, 2.0]),
    }
    assert select_runs(columns, plan.worst, parse_choice('worst:2')) == [1, 2]
    assert sorted(select_runs(columns, plan.worst, parse_choice('all'))) == [0, 1, 2]
    assert write_run_bags(tmp_path, plan, [1, 2]) == 2
    for run in (1, 2):
        manifest = json.loads((tmp_path / f'run-{run:06d}' / 'manifest.json').read_text())
        assert manifest['trajectory_sha256'] == run_alone(plan, run)[1].sha256
        assert manifest['seed'] == run
        assert (tmp_path / f'run-{run:06d}' / 'bag' / 'metadata.yaml').is_file()
    (tmp_path / '.run-000000.tmp').mkdir()  # of one that was killed
    assert write_run_bags(tmp_path, plan, [0, 1, 2]) == 1
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ['run-000000', 'run-000001', 'run-000002']


@pytest.mark.parametrize('text', ['', 'worst', 'worst:0', 'worst:-1', 'worst:x', 'best:3', 'ALL'])
def test_other_choices_of_bags_are_refused(text):
    with pytest.raises(ParameterError, match='expected'):
        parse_choice(text)


LOST = """
vehicle: bluerov2
arguments: {{coefficients: maker}}
scenario: dive
duration: 0.3
method: grid
every: 10
engine: {engine}
parameters:
  vehicle.damping.quadratic[2,2]: {{values: [0.0]}}
  vehicle.damping.linear[2,2]: {{values: [5.0, -4600.0, 6.0]}}
"""


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('engine', ['numpy', 'jax'])
def test_a_run_that_is_lost_is_one_of_the_sweep(engine, tmp_path):
    if engine == 'jax':
        pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    plan = parse_plan(LOST.format(engine=engine), 'lost.yaml')
    columns = runs.run_block(plan, 0)
    assert columns['finite'].tolist() == [True, False, True]
    assert np.isnan(columns['end_z']).tolist() == [False, True, False]
    worst = select_runs(columns, plan.worst, 1)
    assert worst == [1]
    write_run_bags(tmp_path, plan, worst)
    manifest = json.loads((tmp_path / 'run-000001' / 'manifest.json').read_text())
    assert 1 < manifest['ticks'] < 61
    runs._program.cache_clear()


def load_plan_scenario():
    return runs.case_of(load_plan('dive'), 0).scenario


def test_engines_agree_and_a_run_alone_is_the_run_of_the_sweep():
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    plan = parse_plan(PLAN, 'plan.yaml')
    assert runs.block_count(plan) == 3
    block = runs.run_block(plan, 1)
    np.testing.assert_array_equal(block['run'], np.arange(8, 16))
    other = runs.run_block(replace(plan, engine='numpy'), 1)
    for name, values in block.items():
        np.testing.assert_allclose(values, other[name], rtol=0, atol=1e-7, err_msg=name)
    case = runs.case_of(plan, 11)
    alone = simulate(case.vehicle, case.scenario, environment=case.environment)
    end = [block[f'end_{axis}'][3] for axis in 'xyz']
    np.testing.assert_allclose(alone.position[-1], end, rtol=0, atol=1e-9)
    runs._program.cache_clear()


GAINS = """
vehicle: bluerov2_heavy
scenario: transit
duration: 6.0
engine: {engine}
runs: 4
parameters:
  controller.bandwidth.transit[0]: {{low: 0.5, high: 2.0, relative: true}}
  controller.damping: {{low: 0.5, high: 1.5}}
  controller.tolerance[1]: {{low: 0.0, high: 0.01}}
"""


def test_gains_are_swept_compiled_as_with_numpy():
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    with_jax, with_numpy = (
        runs.run_block(parse_plan(GAINS.format(engine=engine), 'gains.yaml'), 0)
        for engine in ('jax', 'numpy')
    )
    for name, values in with_jax.items():
        np.testing.assert_allclose(values, with_numpy[name], rtol=0, atol=1e-9, err_msg=name)
    assert np.ptp(with_jax['end_x']) > 0.01
    runs._program.cache_clear()


@pytest.mark.parametrize(
    ('scenario', 'name', 'low', 'message'),
    [
        ('dive', 'controller.damping', 1, 'dive has no set-points'),
        ('transit', 'controller.bandwidth.cruise[0]', 1, 'expected one of: station, transit'),
        ('transit', 'controller.gain', 1, 'expected one of: bandwidth, damping'),
        ('transit', 'controller.damping', -1, 'expected 0 or more'),
    ],
)
def test_gains_that_are_none_are_told(scenario, name, low, message):
    text = f"""
vehicle: bluerov2_heavy
scenario: {scenario}
runs: 1
parameters: {{'{name}': {{low: {low}, high: {low}}}}}
"""
    with pytest.raises(ParameterError, match=message):
        runs.case_of(parse_plan(text, 'plan.yaml'), 0)


FAULTS = """
vehicle: bluerov2
scenario: dive
duration: 0.5
runs: 6
block: 4
every: 10
seed: 3
parameters:
  fault.weak.thruster_5.share: {low: 0.0, high: 1.0}
  fault.delayed.thruster_6.delay: {low: 0.0, high: 0.3}
  fault.lost_commands.share: {low: 0.0, high: 1.0}
  fault.battery.resistance: {low: 0.0, high: 0.3}
  fault.gust.direction: {low: 0.0, high: 90.0}
  fault.gust.duration: {low: 0.2, high: 1.0}
"""


def test_engines_agree_on_a_sweep_of_faults():
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    plan = parse_plan(FAULTS, 'plan.yaml')
    for number in (0, 1):
        block = runs.run_block(plan, number)
        other = runs.run_block(replace(plan, engine='numpy'), number)
        for name, values in block.items():
            np.testing.assert_allclose(values, other[name], rtol=0, atol=1e-7, err_msg=name)
        assert len({*block['end_x'].tolist()}) == len(block['run'])
    runs._program.cache_clear()


BODIES = """
vehicle: bluerov2
scenario: {scenario}
environment: {environment}
duration: 1.0
runs: 3
every: 10
parameters:
  environment.current[1]: {{low: -0.1, high: 0.1}}
  vehicle.inertia.mass: {{mean: 1.0, deviation: 0.01, relative: true}}
"""


@pytest.mark.parametrize(
    ('scenario', 'environment'), [('dive', 'debris'), ('push_trolley', 'rails')]
)
def test_each_vehicle_of_a_sweep_has_bodies_of_its_own(scenario, environment):
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    text = BODIES.format(scenario=scenario, environment=environment)
    plan = parse_plan(text, 'bodies.yaml')
    block = runs.run_block(plan, 0)
    other = runs.run_block(replace(plan, engine='numpy'), 0)
    for name, values in block.items():
        np.testing.assert_allclose(values, other[name], rtol=0, atol=1e-7, err_msg=name)
    case = runs.case_of(plan, 2)
    alone = simulate(case.vehicle, case.scenario, environment=case.environment)
    assert alone.bodies
    end = [block[f'end_{axis}'][2] for axis in 'xyz']
    np.testing.assert_allclose(alone.position[-1], end, rtol=0, atol=1e-9)
    runs._program.cache_clear()


MANY = PLAN.replace('runs: 24', 'runs: 64\nengine: numpy').replace('0.5', '0.3', 1)
"""Many small blocks; NumPy, so that nothing has to be compiled."""


@pytest.fixture(scope='module')
def expected(tmp_path_factory):
    """The files of the sweep of MANY, whose blocks one process computes in order."""
    pytest.importorskip('pyarrow', reason='pyarrow: not installed (extra sweep)')
    plan = parse_plan(MANY, 'plan.yaml')
    whole = SweepDataset(tmp_path_factory.mktemp('whole'), plan)
    told = []
    for i in range(runs.block_count(plan)):
        whole.add(i, runs.run_block(plan, i, lambda *done: told.append(done)))
    # A bar goes by the runs that are done, not by whole blocks.
    assert told[:8] == [(0.0, 'setting up runs'), *((k / 8, 'simulating') for k in range(7))]
    found = {p.name: p.read_bytes() for p in parts(whole.folder)}
    assert len(found) == 8
    return found


@pytest.fixture
def command(tmp_path):
    """Starts the sweep of MANY."""
    path = tmp_path / 'plan.yaml'
    path.write_text(MANY, encoding='utf-8')
    main = [sys.executable, '-m', 'marine_sim_ros.tools.main', 'sweep', str(path)]

    def start(folder, *more):
        return subprocess.Popen(
            [*main, '--out', str(tmp_path / folder), '--workers', '2', *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return start, tmp_path


def parts(folder):
    return sorted(folder.glob('runs/part-*.parquet'))


def wait_for_parts(folder, count, process):
    end = time.monotonic() + PATIENCE
    while len(parts(folder)) < count:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.02)


def workers_of(process):
    """Return the worker processes of a sweep."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [p for p in children if 'marine_sim_ros.sweep.worker' in p.cmdline()]


def killed(process):
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.slow
def test_what_is_killed_goes_on_and_ends_the_same(expected, command):
    start, folder = command
    first = start('broken')
    wait_for_parts(folder / 'broken', 1, first)
    workers = workers_of(first)
    assert workers
    killed(first)
    assert not psutil.wait_procs(workers, timeout=PATIENCE)[1]
    kept = {p: p.stat().st_mtime_ns for p in parts(folder / 'broken')}
    assert 0 < len(kept) < 8

    second = start('broken')
    wait_for_parts(folder / 'broken', len(kept) + 1, second)
    workers_of(second)[-1].kill()
    out, _ = second.communicate()
    assert second.returncode == 0, out
    assert {p.name: p.read_bytes() for p in parts(folder / 'broken')} == expected
    assert all(p.stat().st_mtime_ns == before for p, before in kept.items())
    assert '64 runs of bluerov2' in (folder / 'broken' / 'report.md').read_text()


@pytest.mark.slow
def test_no_other_user_reaches_the_workers_of_a_sweep(expected, command):
    """None of the processes has a socket that another one could connect to."""
    start, folder = command
    process = start('alone')
    wait_for_parts(folder / 'alone', 1, process)
    family = [psutil.Process(process.pid), *workers_of(process)]
    assert len(family) == 3
    reached = [
        c
        for p in family
        for c in p.net_connections('all')
        if c.status == psutil.CONN_LISTEN or c.family != socket.AF_UNIX or c.laddr
    ]
    assert reached == []
    killed(process)


def test_a_block_that_ends_one_worker_after_the_other_ends_the_sweep(monkeypatch):
    plan = parse_plan(MANY, 'plan.yaml')
    begin = schedule._Worker.begin
    started = []

    def end_at_once(worker, number):
        started.append(number)
        begin(worker, number)
        if number == 3:
            worker._process.kill()

    monkeypatch.setattr(schedule._Worker, 'begin', end_at_once)
    with pytest.raises(RunError, match='block 3 ended 3 workers'):
        list(schedule.run_blocks(partial(runs.run_block, plan), [3], 1))
    assert started == [3, 3, 3]


@pytest.fixture
def cluster(tmp_path):
    """Starts a Dask scheduler and workers as processes, and ends what it started."""
    started = []

    def dask(*arguments):
        command = [sys.executable, '-m', 'dask', *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path
        )
        started.append(process)
        return process

    def start(name, workers=2):
        file = tmp_path / f'{name}.json'
        scheduler = dask(
            'scheduler',
            '--host',
            '127.0.0.1',
            '--port',
            '0',
            '--no-dashboard',
            '--scheduler-file',
            file,
        )
        end = time.monotonic() + PATIENCE
        while not file.exists() or not file.read_text().endswith('}'):
            assert scheduler.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        address = json.loads(file.read_text())['address']
        # No nannies: a worker is one process, and nobody starts it again.
        return (
            address,
            scheduler,
            [
                dask(
                    'worker',
                    address,
                    '--no-nanny',
                    '--nthreads',
                    '1',
                    '--no-dashboard',
                    '--memory-limit',
                    '0',
                    '--local-directory',
                    tmp_path / 'dask',
                )
                for _ in range(workers)
            ],
        )

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_cluster_of_others_may_lose_worker_command_and_scheduler(expected, command, cluster):
    pytest.importorskip('distributed', reason='distributed: not installed (extra sweep)')
    start, folder = command
    there = {}

    def note(count):
        """Remember the blocks that are there, and that the old ones were left alone."""
        now = {p: p.stat().st_mtime_ns for p in parts(folder / 'broken')}
        assert there.items() <= now.items()
        assert len(now) >= count
        there.update(now)

    address, scheduler, workers = cluster('first')
    first = start('broken', '--scheduler', address)
    wait_for_parts(folder / 'broken', 1, first)
    killed(workers[0])
    wait_for_parts(folder / 'broken', 3, first)
    killed(first)
    note(3)
    second = start('broken', '--scheduler', address)
    wait_for_parts(folder / 'broken', len(there) + 1, second)
    killed(scheduler)
    out, _ = second.communicate()
    assert second.returncode == 1, out
    assert 'what is done is kept, run the same command again' in out
    assert out.count('\n') == 1, out
    note(4)
    assert len(there) < len(expected)
    address, *_ = cluster('second')
    third = start('broken', '--scheduler', address)
    out, _ = third.communicate()
    assert third.returncode == 0, out
    note(len(expected))
    assert {p.name: p.read_bytes() for p in parts(folder / 'broken')} == expected
