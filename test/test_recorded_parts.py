# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recording that is written while it is computed: the same bag, in bounded memory."""

import gc
import json
import weakref

import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.trajectory_writer import write_parts, write_recording
from marine_sim_ros.core.errors import ParameterError, RunError
from marine_sim_ros.sim import step
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate, simulate_blocks
from marine_sim_ros.tools import simulate as tool

FAULTY = """
duration: 2.0
initial: {position: [0, 0, -1.0]}
segments:
  - {at: 0.0, axes: {surge: 0.5}}
  - {at: 0.7, control: {surge: 0.3, z: -2.0}}
faults:
  - {kind: sensor_freeze, sensor: imu, at: 0.35, until: 0.9}
  - {kind: sensor_freeze, sensor: thermometer, at: 0.0, until: 0.6}
  - {kind: sensor_delay, sensor: dvl, delay: 0.45, at: 0.2, until: 1.1}
  - {kind: sensor_dropout, sensor: imu, share: 0.3, at: 0.8}
"""
OPTIONS = dict.fromkeys(('dvl', 'usbl', 'thermometer', 'altimeter', 'leak'), 'true')


@pytest.fixture(scope='module')
def vehicle():
    return load_vehicle('bluerov2', **OPTIONS)


@pytest.mark.parametrize('block', [1, 7, 10_000])
def test_parts_make_the_bag_of_the_whole(vehicle, tmp_path, monkeypatch, block):
    """Frozen readings, late messages and dead reckoning go across the edges of parts."""
    scenario = parse_scenario(FAULTY, 'faulty')
    options = RunOptions(vehicle='bluerov2', dt=0.02, seed=3)
    run = simulate(vehicle, scenario, dt=0.02, seed=3)
    write_recording(tmp_path / 'whole', vehicle, options, run)
    monkeypatch.setattr(step, '_BLOCK', block)
    parts = list(simulate_blocks(vehicle, scenario, dt=0.02, seed=3))
    assert len(parts) == -(-101 // block)
    assert parts[-1].sha256 == run.sha256
    write_parts(tmp_path / 'parts', vehicle, options, parts)
    for name in ('bag/bag.mcap', 'manifest.json'):
        whole = (tmp_path / 'whole' / name).read_bytes()
        assert (tmp_path / 'parts' / name).read_bytes() == whole
    assert len(whole) > 1000


def test_no_part_of_a_recorded_run_outlives_its_writing(tmp_path, monkeypatch):
    monkeypatch.setattr(step, '_BLOCK', 10)
    vehicle, scenario, alive = load_vehicle('simple_rov'), load_scenario('dive'), []

    def watched():
        for part in simulate_blocks(vehicle, scenario, dt=0.02, duration=2.0):
            alive.append(weakref.ref(part))
            alive.append(weakref.ref(part.sensors))
            yield part
            gc.collect()
            assert sum(known() is not None for known in alive) <= 4  # this part, and the next
            del part

    write_parts(tmp_path, vehicle, RunOptions(vehicle='simple_rov'), watched())
    assert len(alive) == 22


def test_a_run_that_diverges_leaves_what_it_computed(vehicle, tmp_path):
    scenario = parse_scenario(FAULTY, 'faulty')

    def parts():
        yield from simulate_blocks(vehicle, scenario, dt=0.02, duration=0.5)
        raise RunError('the state is not physical')

    with pytest.raises(RunError, match='not physical'):
        write_parts(tmp_path, vehicle, RunOptions(), parts())
    assert json.loads((tmp_path / 'manifest.json').read_text())['ticks'] == 26
    assert (tmp_path / 'bag' / 'metadata.yaml').is_file()


def test_ticks_before_an_error_are_in_the_last_part():
    def ticks():
        yield 'a'
        yield 'b'
        raise RunError('it diverged')

    parts = step._split_ticks(ticks())
    assert next(parts) == ['a', 'b']
    with pytest.raises(RunError, match='diverged'):
        next(parts)


@pytest.mark.parametrize(('share', 'ticks'), [(1.5, 7.2e6), (0.5, 7.2e6), (1.5, 7.2e5)])
def test_a_recording_that_fills_the_disk_is_refused_or_warned_of(
    tmp_path, monkeypatch, capsys, share, ticks
):
    free = int(7.2e6 * tool.RECORDED_BYTES * share)
    monkeypatch.setattr(tool.shutil, 'disk_usage', lambda path: (10**14, 0, free))
    settings = RunOptions(vehicle='bluerov2', record=str(tmp_path), dt=0.005)
    if share < 1:
        with pytest.raises(ParameterError, match='GB are free; expected a shorter --duration'):
            tool._check_room(settings, ticks * 0.005)
        return
    tool._check_room(settings, ticks * 0.005)
    told = capsys.readouterr().err
    assert told.startswith('WARNING: simulate: 7.2e+06 ticks need about' if ticks > 1e6 else '')
    assert bool(told) == (ticks > 1e6)
