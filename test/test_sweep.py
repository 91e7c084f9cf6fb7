# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sweeps: designs, numbers put in place, blocks, a dataset that survives what dies."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros.errors import ParameterError
from marine_sim_ros.simulation import simulate
from marine_sim_ros.state import State
from marine_sim_ros.sweep import runs
from marine_sim_ros.sweep.design import design
from marine_sim_ros.sweep.metrics import metrics
from marine_sim_ros.sweep.plan import load_plan, parse_plan

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


def test_a_latin_hypercube_has_one_run_in_each_slice():
    rows = design(parse_plan(PLAN, 'plan.yaml'))
    assert rows.shape == (24, 5)
    slices = np.sort(np.floor((rows[:, 0] - 10.0) / 30.0 * 24))
    np.testing.assert_array_equal(slices, np.arange(24))
    assert abs(np.mean(rows[:, 1]) - 1.0) < 0.002


def test_monte_carlo_draws_each_run_by_itself():
    plan = replace(parse_plan(PLAN, 'plan.yaml'), method='monte_carlo')
    rows = design(plan)
    np.testing.assert_array_equal(rows, design(plan))
    assert not np.array_equal(rows, design(replace(plan, seed=1)))
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
    rows = design(parse_plan(text, 'plan.yaml'))
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
        ('vehicle.inertia.weight', 'expected one of: mass'),
        ('vehicle.inertia.tensor[3,0]', r'outside of shape \(3, 3\)'),
        ('vehicle.damping.linear', 'expected an index'),
        ('initial.velocity[0]', 'initial.position'),
        ('fault.thruster_9', 'expected one of: thruster_1'),
    ],
)
def test_parameters_that_point_nowhere_are_told(name, message):
    plan = parse_plan(PLAN.replace('vehicle.inertia.mass', name), 'plan.yaml')
    with pytest.raises(ParameterError, match=message):
        runs.case_of(plan, 0)


def test_numbers_are_where_they_belong():
    plan = parse_plan(PLAN, 'plan.yaml')
    case, row = runs.case_of(plan, 7), design(plan)[7]
    plain = runs.case_of(replace(plan, parameters=plan.parameters[:1]), 0).vehicle
    assert case.vehicle.damping.quadratic[0, 0] == row[0]
    assert case.vehicle.inertia.mass == pytest.approx(plain.inertia.mass * row[1], rel=1e-15)
    assert case.environment.current[1] == row[2]
    assert case.scenario.position == (0.0, 0.0, row[3])
    assert case.scenario.faults[0].start == row[4]
    with pytest.raises(ParameterError, match='expected 0 to 23'):
        runs.case_of(plan, 24)


def test_metrics_of_a_motion_in_closed_form():
    time_, count = np.linspace(0.0, 1.0, 101), 2
    position = np.zeros((101, count, 3))
    position[:, 0, 0], position[:, 1, 2] = 3 * time_, -2 - time_
    half = 0.2 * time_
    turned = np.stack([np.sin(half), 0 * half, 0 * half, np.cos(half)], axis=-1)
    orientation = np.stack([turned, np.tile([0, 0, 0, 1.0], (101, 1))], axis=1)
    velocity = np.zeros((101, count, 6))
    velocity[:, :, 0] = 3.0
    found = metrics(time_, State(position, orientation, velocity), load_plan_scenario())
    np.testing.assert_allclose(found['path_length'], [3.0, 1.0])
    np.testing.assert_allclose(found['max_tilt'], [0.4, 0.0], atol=1e-12)
    np.testing.assert_allclose(found['max_depth'], [0.0, 3.0])
    assert found['finite'].all()
    position[50, 0, 0] = np.nan
    broken = metrics(time_, State(position, orientation, velocity), load_plan_scenario())
    assert broken['finite'].tolist() == [False, True]
    assert np.isnan(broken['path_length'][0])


def load_plan_scenario():
    return runs.case_of(load_plan('dive'), 0).scenario


def test_engines_agree_and_a_run_alone_is_the_run_of_the_sweep():
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    plan = parse_plan(PLAN, 'plan.yaml')
    assert runs.blocks(plan) == 3
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


@pytest.fixture
def command(tmp_path):
    """Starts a sweep of many small blocks; NumPy, so that nothing has to be compiled."""
    for module in ('distributed', 'pyarrow'):
        pytest.importorskip(module, reason=f'{module}: not installed (extra sweep)')
    path = tmp_path / 'plan.yaml'
    path.write_text(PLAN.replace('runs: 24', 'runs: 64\nengine: numpy'), encoding='utf-8')
    main = [sys.executable, '-m', 'marine_sim_ros.tools.main', 'sweep', str(path)]

    def start(folder, *more):
        return subprocess.Popen(
            [*main, '--out', str(tmp_path / folder), '--workers', '2', *more],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    return start, tmp_path


def parts(folder):
    return sorted(folder.glob('runs/part-*.parquet'))


def wait_for_parts(folder, count, process):
    end = time.monotonic() + 120
    while len(parts(folder)) < count:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_what_is_killed_goes_on_and_ends_the_same(command):
    import psutil

    start, folder = command
    whole = start('whole')
    out, _ = whole.communicate(timeout=250)
    assert whole.returncode == 0, out
    expected = {p.name: p.read_bytes() for p in parts(folder / 'whole')}
    assert len(expected) == 8

    first = start('broken')
    wait_for_parts(folder / 'broken', 1, first)
    # The command has the scheduler in it; its workers see that it is gone and end.
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=60)
    kept = {p: p.stat().st_mtime_ns for p in parts(folder / 'broken')}
    assert 0 < len(kept) < 8

    second = start('broken')
    wait_for_parts(folder / 'broken', len(kept) + 1, second)
    workers = [p for p in psutil.Process(second.pid).children(recursive=True)
               if 'spawn_main' in ' '.join(p.cmdline())]  # fmt: skip
    workers[-1].kill()
    out, _ = second.communicate(timeout=250)
    assert second.returncode == 0, out
    assert {p.name: p.read_bytes() for p in parts(folder / 'broken')} == expected
    assert all(p.stat().st_mtime_ns == before for p, before in kept.items())
    assert '64 runs of bluerov2' in (folder / 'broken' / 'report.md').read_text()
