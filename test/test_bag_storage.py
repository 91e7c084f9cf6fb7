# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bags are the same by whichever library they are written and read, and none is one clear line."""

import json
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
import yaml

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis.evaluation import run_of_bag
from marine_sim_ros.bags.storage import STORAGES, QoS, recording_parts
from marine_sim_ros.core.errors import RecordingError

LIBRARIES = [
    pytest.param(
        package, marks=pytest.mark.skipif(find_spec(package) is None, reason=f'no {package} here')
    )
    for package in STORAGES
]
ODOM, PWM, STATE = '/rov/odom', '/rov/thrusters/pwm', '/rov/thrusters/state'
STRING = 'std_msgs/msg/String'


def library(package):
    return import_module(STORAGES[package]).STORAGE


def without(packages, *arguments):
    """Run ``marine_sim`` where some packages are not installed."""
    hidden = ''.join(f'sys.modules[{p!r}] = None; ' for p in packages)
    code = f'import sys; {hidden}from marine_sim_ros.tools.main import main; main()'
    return subprocess.run(
        [sys.executable, '-c', code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def texts(store, count):
    return [
        (i * 5_000_000, store.serialize(store.message(STRING, data=f'message {i}'), STRING))
        for i in range(count)
    ]


@pytest.mark.parametrize('writes', LIBRARIES)
@pytest.mark.parametrize('reads', LIBRARIES)
def test_what_one_library_writes_every_other_reads(tmp_path, writes, reads):
    store = library(writes)
    writer = store.writer(tmp_path / 'new' / 'bag')
    writer.add('/early', STRING, QoS(depth=1, transient_local=True))
    writer.add('/silent', STRING, QoS(depth=10, transient_local=False))
    writer.add('/late', STRING, QoS(depth=7, transient_local=False))
    expected = texts(store, 300)
    for i, (stamp, data) in enumerate(expected):
        writer.write('/early' if i < 100 else '/late', stamp, data)
    writer.close()
    with library(reads).reader(tmp_path / 'new' / 'bag', {}) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
        assert {c.msgtype for c in reader.connections} == {STRING}
        assert reader.message_count == 300
        assert reader.start_time == 0
        assert reader.end_time == pytest.approx(299 * 5_000_000, abs=1)
        found = [(time, bytes(data)) for _, time, data in reader.messages()]
        assert found == expected
        late = [c for c in reader.connections if c.topic == '/late']
        part = [
            reader.deserialize(data, c.msgtype).data
            for c, _, data in reader.messages(late, start=150 * 5_000_000, stop=152 * 5_000_000)
        ]
    assert counts.items() >= {'/early': 100, '/late': 200}.items()
    assert part == ['message 150', 'message 151']


@pytest.mark.parametrize('writes', LIBRARIES)
def test_a_bag_is_an_mcap_whose_metadata_tells_counts_types_and_quality_of_service(
    tmp_path, writes
):
    store = library(writes)
    writer = store.writer(tmp_path / 'bag')
    writer.add('/latched', STRING, QoS(depth=1, transient_local=True))
    writer.add('/plain', STRING, QoS(depth=10, transient_local=False))
    for stamp, data in texts(store, 5):
        writer.write('/latched', stamp, data)
        writer.write('/plain', stamp, data)
    writer.close()
    assert len(list((tmp_path / 'bag').glob('*.mcap'))) == 1
    content = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())
    topics = {
        t['topic_metadata']['name']: t['topic_metadata']
        for t in content['rosbag2_bagfile_information']['topics_with_message_count']
    }
    profiles = {}
    for name, topic in topics.items():
        offered = topic['offered_qos_profiles']
        profiles[name] = (yaml.safe_load(offered) if isinstance(offered, str) else offered)[0]
    assert {t['type'] for t in topics.values()} == {STRING}
    assert {n: p['durability'] for n, p in profiles.items()} == {
        '/latched': 'transient_local',
        '/plain': 'volatile',
    }
    assert {n: p['depth'] for n, p in profiles.items()} == {'/latched': 1, '/plain': 10}
    assert {p['reliability'] for p in profiles.values()} == {'reliable'}


@pytest.mark.parametrize('writes', LIBRARIES)
def test_a_bag_that_exists_is_not_written_over(tmp_path, writes):
    store = library(writes)
    store.writer(tmp_path / 'bag').close()
    with pytest.raises(RecordingError, match='bag: cannot be written: '):
        store.writer(tmp_path / 'bag')


@pytest.mark.long
@pytest.mark.parametrize('package', LIBRARIES)
def test_simulate_records_and_analyze_reads_with_each_library_alone(tmp_path, package):
    others = set(STORAGES) - {package}
    done = without(
        others,
        'simulate',
        'investigator90',
        '--scenario',
        'position_hold',
        '--duration',
        2,
        '--record',
        tmp_path / 'run',
    )
    assert 'trajectory_sha256' in done.stdout, done.stderr
    manifest = json.loads((tmp_path / 'run' / 'manifest.json').read_text())
    assert manifest['trajectory_sha256'] in done.stdout
    run = run_of_bag(tmp_path / 'run' / 'bag', '/investigator90')
    assert len(run.time) == manifest['ticks'] == 401
    vehicle = load_vehicle('investigator90')
    assert run.pwm.shape == (401, len(vehicle.thrusters.names))
    assert np.all((run.pwm >= 1100) & (run.pwm <= 1900))
    np.testing.assert_allclose(np.linalg.norm(run.orientation, axis=1), 1)
    assert not np.isnan(run.targets).all()
    pytest.importorskip('plotly')
    done = without(
        others, 'analyze', tmp_path / 'run', '-o', tmp_path / 'report', '--table', 'none'
    )
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / 'report' / 'metrics.json').read_text())
    channels = content['bags'][0]['vehicles']['investigator90']['channels']
    assert channels['odom']['messages'] == channels['thrusters/pwm']['messages'] == 401


@pytest.mark.long
@pytest.mark.parametrize(
    'arguments',
    [
        ['simulate', 'bluerov2', '--scenario', 'dive', '--record', 'OUT'],
        ['run', 'bluerov2', '--scenario', 'dive', '--record', 'OUT'],
        ['analyze', 'BAG', '-o', 'OUT'],
        ['identify', 'BAG', '--vehicle', 'bluerov2'],
    ],
    ids=lambda a: a[0],
)
def test_without_a_library_one_line_says_what_is_missing_and_how_to_get_it(tmp_path, arguments):
    if 'analyze' in arguments:
        pytest.importorskip('plotly')
    (tmp_path / 'bag').mkdir()
    (tmp_path / 'bag' / 'metadata.yaml').write_text('')
    paths = {'OUT': tmp_path / 'out', 'BAG': tmp_path / 'bag'}
    done = without(STORAGES, *[paths.get(a, a) for a in arguments])
    assert done.returncode == 2
    assert done.stderr.startswith('ERROR: ')
    assert done.stderr.count('\n') == 1
    for needed in ('rosbags', 'pip install', 'apt install', 'rosdep', 'ros-jazzy-rosbag2-py'):
        assert needed in done.stderr
    assert not (tmp_path / 'out' / 'bag').exists()


def test_parts_of_a_recording_are_those_that_resets_began(tmp_path):
    for name in ('reset_10', 'reset_9', 'reset_1', 'reset_1_report', 'reset_²', 'reset_'):
        (tmp_path / name / 'bag').mkdir(parents=True)
    (tmp_path / 'reset_2').mkdir()
    assert [p.name for p in recording_parts(tmp_path)] == ['reset_1', 'reset_9', 'reset_10']
    assert recording_parts(tmp_path / 'missing') == []
