# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of long runs: one message of a topic in each period, and the hash of every step."""

import json

import pytest
from conftest import marine_sim
from graph import ONE_PROCESS, STEP, manifest, recorded, ticks

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.sim.options import RunOptions

SCENARIO = """
duration: 4.0
initial: {position: [0, 0, -2]}
segments: [{at: 0.0, depth: 2.5, axes: {surge: 0.3}}]
"""
PERIOD = 0.35  # no multiple of the step


def first_of_each(stamps, period=PERIOD):
    """Return the first stamps at or after each multiple of a period."""
    found = {}
    for stamp in sorted(stamps):
        found.setdefault(stamp // round(period * NANOSECONDS), stamp)
    return [*found.values()]


@pytest.fixture(scope='module')
def ahead(tmp_path_factory):
    """Arguments of a run of 4 s."""
    file = tmp_path_factory.mktemp('scenario') / 'ahead.yaml'
    file.write_text(SCENARIO)
    return 'bluerov2', '--scenario', file


@pytest.fixture(scope='module')
def recordings(ahead, tmp_path_factory):
    """Recordings of a dive by simulate, of every step and with a period."""
    folders = {}
    for period in (0, PERIOD):
        folders[period] = folder = tmp_path_factory.mktemp('dive')
        options = ('--dt', STEP, '--record', folder, '--record-period', period)
        assert marine_sim('simulate', *ahead, *options, '--overwrite')[0] == 0
    return folders


def test_the_first_message_of_each_period_is_kept(recordings):
    whole, thin = (recorded(recordings[period], 'bluerov2') for period in (0, PERIOD))
    assert set(thin) == set(whole)
    assert len(thin['odom']) == 12
    for topic, messages in thin.items():
        assert sorted(messages) == first_of_each(whole[topic]), topic
        for stamp, message in messages.items():
            assert str(message) == str(whole[topic][stamp]), topic


def test_the_manifest_counts_and_hashes_every_step(recordings):
    whole, thin = (manifest(recordings[period]) for period in (0, PERIOD))
    assert thin['ticks'] == whole['ticks'] == ticks(4.0)
    assert thin['trajectory_sha256'] == whole['trajectory_sha256']
    assert json.dumps(thin).count('"record_period": 0.35') == 1


def test_a_replay_of_it_says_that_steps_are_missing(recordings):
    status, told = marine_sim('simulate', 'bluerov2', '--replay', recordings[PERIOD], '--dt', STEP)
    assert status == 0
    assert 'has one step in 0.35 s; the motion will differ' in told


@pytest.mark.parametrize('other', [{'recorder': 'ros2_bag'}, {'lesson': 'first_flight'}])
def test_what_needs_every_step_is_refused(other):
    with pytest.raises(ParameterError, match=r'record_period is 2 s; .* every step: expected 0'):
        RunOptions(record='out', record_period=2.0, **other)


@pytest.mark.ros
def test_the_graph_keeps_the_same_messages(processes, ahead, recordings, tmp_path):
    options = (*ONE_PROCESS, '--record', tmp_path / 'run', '--record-period', PERIOD)
    process = processes.marine_sim('run', *ahead, '--real-time-factor', 0, *options)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    expected, found = (
        recorded(recordings[PERIOD], 'bluerov2'),
        recorded(tmp_path / 'run', 'bluerov2'),
    )
    assert manifest(tmp_path / 'run')['ticks'] == ticks(4.0)
    for topic in set(expected) - {'robot_description', 'thrusters/pwm'}:
        assert sorted(found[topic]) == sorted(expected[topic]), topic


@pytest.mark.ros
def test_packets_of_modems_are_all_kept(processes, tmp_path):
    """Both vehicles report every 4 s; of any series of readings one message is left."""
    options = (
        *ONE_PROCESS,
        '--duration',
        9.0,
        '--record',
        tmp_path / 'run',
        '--record-period',
        60,
    )
    process = processes.marine_sim('run', '--fleet', 'modems', '--real-time-factor', 0, *options)
    assert process.communicate()[0].count('trajectory_sha256') == 2
    messages = recorded(tmp_path / 'run', 'scout')
    assert len(messages['odom']) == len(messages['wrench/total']) == 1
    assert len(messages['modem/received']) >= 2
