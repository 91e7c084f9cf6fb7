# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The analyze command: what it says of bags, of whatever origin and in whatever state."""

import csv
import json
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from bags import MAVROS, analyze, header, odometry, page_charts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis.evaluation import run_of_trajectory
from marine_sim_ros.bags.reading import bag_path, read_bag
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.bags.vehicle_record import parse_maps, vehicles_of
from marine_sim_ros.control.step_response import compute_step_response
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

pytest.importorskip('rosbags')
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

STEP = """
duration: 8.0
initial: {position: [0.0, 0.0, -2.0], rpy: [0.0, 0.0, 0.0]}
controller: modern
segments:
  - {at: 0.0, control: {z: -2.0, yaw: 0.0, surge: 0.0}}
  - {at: 1.0, control: {z: -3.0, yaw: 0.5, surge: 0.3}}
"""


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """A closed-loop run of simulate, and its recording."""
    folder = tmp_path_factory.mktemp('run')
    (folder / 'step.yaml').write_text(STEP)
    vehicle = load_vehicle('bluerov2')
    trajectory = simulate(vehicle, load_scenario(str(folder / 'step.yaml')), dt=0.01)
    write_recording(folder / 'rec', vehicle, RunOptions(vehicle='bluerov2', dt=0.01), trajectory)
    return folder / 'rec', trajectory


def foreign(path, trajectory, *, offset=0, late=0, plugin=StoragePlugin.SQLITE3, keep=slice(None)):
    """Write a trajectory as a vehicle at sea would have: other names, other clock, mavros."""
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(MAVROS, 'mavros_msgs/msg/RCOut'))
    types = store.types
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        odom = writer.add_connection('/rov/odometry', 'nav_msgs/msg/Odometry', typestore=store)
        pwm = writer.add_connection('/mavros/rc/out', 'mavros_msgs/msg/RCOut', typestore=store)
        for i in range(len(trajectory.stamp))[keep]:
            stamp = int(trajectory.stamp[i]) + offset
            pose = (*trajectory.position[i], *trajectory.orientation[i])
            for connection, message in (
                (odom, odometry(types, stamp, pose, trajectory.velocity[i])),
                (
                    pwm,
                    types['mavros_msgs/msg/RCOut'](
                        header(types, stamp), trajectory.pwm[i].astype(np.uint16)
                    ),
                ),
            ):
                data = store.serialize_cdr(message, connection.msgtype)
                writer.write(connection, stamp + late, data)
    return path


def test_each_part_of_a_bag_whose_clock_started_again_is_a_run(tmp_path, capsys):
    """A reset at 4 s: not a straight line across the two, nor stamps twice."""

    def messages(types):
        receipt = 0
        for part, (seconds, speed, watts) in enumerate(((4.0, 0.5, 100.0), (2.0, 1.0, 50.0))):
            for i in range(round(seconds / 0.01) + 1):
                stamp, receipt = i * 10_000_000, receipt + 10_000_000
                pose = (speed * i * 0.01, part, -2, 0, 0, 0, 1)
                velocity = (speed, 0, 0, 0, 0, 0)
                message = odometry(types, stamp, pose, velocity)
                yield '/rov/odom', 'nav_msgs/msg/Odometry', receipt, message
                power = types['std_msgs/msg/Float64MultiArray'](
                    types['std_msgs/msg/MultiArrayLayout']([], 0), np.array([watts])
                )
                yield '/rov/thrusters/power', 'std_msgs/msg/Float64MultiArray', receipt, power

    plain(tmp_path / 'two', messages)
    assert read_bag(str(tmp_path / 'two')).parts == 2
    assert analyze(tmp_path / 'two', '-o', tmp_path / 'out', '--table', 'csv') == 0
    assert 'two: its clock started 2 times; each part is a run' in capsys.readouterr().out
    first, second = json.loads((tmp_path / 'out' / 'metrics.json').read_text())['bags']
    for bag, seconds, distance, watts in ((first, 4.0, 2.0, 100.0), (second, 2.0, 2.0, 50.0)):
        (metrics,) = bag['vehicles'].values()
        assert metrics['motion']['duration_s'] == pytest.approx(seconds)
        assert metrics['motion']['distance_m'] == pytest.approx(distance)
        assert metrics['channels']['odom']['stamps_backwards'] == 0
        assert metrics['energy']['total_J'] == pytest.approx(watts * seconds, rel=1e-6)
    tables = {path.parts[-3] for path in (tmp_path / 'out' / 'tables').rglob('*.csv')}
    assert tables == {'two_part_1', 'two_part_2'}
    listed = (tmp_path / 'out' / 'tables' / 'files.txt').read_text().splitlines()
    assert all((tmp_path / 'out' / 'tables' / line).is_file() for line in listed)


def plain(path, messages):
    """Write (topic, type, receipt, message) with the standard types."""
    store = get_typestore(Stores.ROS2_JAZZY)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        known = {}
        for topic, kind, receipt, message in messages(store.types):
            if topic not in known:
                known[topic] = writer.add_connection(topic, kind, typestore=store)
            if message is not None:
                writer.write(known[topic], receipt, store.serialize_cdr(message, kind))
    return path


@pytest.mark.long
@pytest.mark.versions
def test_metrics_are_those_of_the_run(run, tmp_path, capsys):
    folder, trajectory = run
    assert analyze(folder, '-o', tmp_path, '--vehicle', 'bluerov2', '--table', 'csv') == 0
    assert capsys.readouterr().err == ''
    bag = json.loads((tmp_path / 'metrics.json').read_text())['bags'][0]
    found = bag['vehicles']['bluerov2']
    steps = np.diff(trajectory.position, axis=0)
    motion = found['motion']
    assert motion['ticks'] == len(trajectory.stamp) == 801
    assert motion['duration_s'] == pytest.approx(8)
    assert motion['distance_m'] == pytest.approx(np.linalg.norm(steps, axis=1).sum())
    assert motion['max_depth_m'] == pytest.approx(-trajectory.position[:, 2].min())
    speed = np.linalg.norm(trajectory.velocity[:, :3], axis=1)
    assert motion['max_speed_m_s'] == pytest.approx(speed.max())
    for name, values in {**trajectory.sources, 'total': trajectory.wrench}.items():
        impulse = found['impulse'][name]
        np.testing.assert_allclose(
            impulse['force_N_s'], values[:-1, :3].sum(axis=0) * 0.01, rtol=1e-9, atol=1e-9
        )
        size = np.linalg.norm(values[:-1, 3:], axis=1).sum() * 0.01
        assert impulse['torque_size_N_m_s'] == pytest.approx(size)
    shares = [found['impulse'][s]['force_share'] for s in trajectory.sources]
    assert sum(shares) == pytest.approx(1)
    spent = trajectory.power[:-1].sum() * 0.01  # as float32 in the bag
    assert found['energy']['total_J'] == pytest.approx(spent, rel=1e-5)
    assert found['energy']['total_J'] > 10
    odom = found['channels']['odom']
    assert (odom['tick_s'], odom['gaps'], odom['wall_times']) == (0.01, 0, False)
    # The barometer's own noise, and nothing else.
    noise = np.sqrt(load_vehicle('bluerov2').barometer.variance) / (997 * 9.80665)
    assert found['barometer']['rms_m'] == pytest.approx(noise, rel=0.1)
    assert abs(found['barometer']['bias_m']) < 0.1 * noise
    run_ = run_of_trajectory(trajectory)
    expected = compute_step_response(
        run_.time,
        run_.position,
        run_.rpy,
        run_.targets,
        velocity=run_.controlled_velocity,
        window=4.0,
    ).to_dict()
    for axis in ('z', 'yaw', 'surge'):
        for key, value in expected['axes'][axis].items():
            assert found['response']['axes'][axis][key] == pytest.approx(value, abs=1e-9)


@pytest.mark.long
def test_tables_have_every_message(run, tmp_path):
    folder, trajectory = run
    assert analyze(folder, '-o', tmp_path, '--table', 'csv') == 0
    tables = tmp_path / 'tables' / 'rec' / 'bluerov2'
    with (tables / 'odom.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_array_equal([int(r['stamp_ns']) for r in rows], trajectory.stamp)
    np.testing.assert_array_equal([float(r['z_m']) for r in rows], trajectory.position[:, 2])
    np.testing.assert_array_equal([float(r['qz']) for r in rows], trajectory.orientation[:, 2])
    with (tables / 'controller_setpoints.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert rows[-1]['z_m'] == '-3.0'
    assert rows[-1]['x_m'] == ''  # free
    assert (tables / 'wrench_drag.csv').exists()


def test_parquet_has_the_same_as_csv(run, tmp_path):
    parquet = pytest.importorskip('pyarrow.parquet')
    assert analyze(run[0], '-o', tmp_path) == 0
    path = tmp_path / 'tables' / 'rec' / 'bluerov2' / 'odom.parquet'
    np.testing.assert_array_equal(
        parquet.read_table(path)['surge_m_s'].to_numpy(), run[1].velocity[:, 0]
    )


def test_without_pyarrow_tables_are_csv(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'pyarrow', None)
    monkeypatch.setitem(sys.modules, 'pyarrow.parquet', None)
    assert analyze(run[0], '-o', tmp_path / 'a', '--table', 'parquet') == 2
    assert 'pyarrow is not installed' in capsys.readouterr().err
    assert analyze(run[0], '-o', tmp_path / 'a') == 0
    assert list((tmp_path / 'a' / 'tables').rglob('*.csv'))


def test_a_page_asks_nothing_of_a_network(run, tmp_path):
    assert analyze(run[0], '-o', tmp_path, '--table', 'none') == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ['metrics.json', 'report.html']
    text = (tmp_path / 'report.html').read_text(encoding='utf-8')
    tags = re.findall(r'<(?:script|link|img|iframe)\b[^>]*>', text[: text.index('<script>')])
    assert tags == ['<link rel="icon" href="data:,">']
    assert 'showSendToCloud: false' in text
    charts = page_charts(text)
    names = {c['key'].split('-', 1)[1] for c in charts['charts']}
    titles = {n for n in names if not n.startswith('sensor-')}
    assert len(names - titles) == 6
    assert titles == {
        'space',
        'plan',
        'pose',
        'speed',
        'forces',
        'share-0',
        'thrusters',
        'barometer',
        'timing',
    }
    for chart in charts['charts']:
        axes = [v for k, v in chart['layout'].items() if k.startswith(('xaxis', 'yaxis'))]
        for axis in axes:
            title = axis.get('title')
            assert title is None or re.search(r'\[.+\]$', title['text']), title
        assert all(any(v is not None for v in t['y']) for t in chart['data']), chart['key']


def test_names_in_a_bag_cannot_become_markup(run, tmp_path):
    folder = tmp_path / '<script>alert(1)<'
    shutil.copytree(run[0] / 'bag', folder)
    assert analyze(folder, '-o', tmp_path / 'out', '--table', 'none') == 0
    text = (tmp_path / 'out' / 'report.html').read_text(encoding='utf-8')
    assert '<script>alert' not in text
    assert '&lt;script&gt;alert' in text


def test_a_bag_of_another_vehicle_is_compared_by_correlation(run, tmp_path, capsys):
    offset = 1_700_000_000_123_000_000
    sea = foreign(
        tmp_path / 'sea', run[1], offset=offset, late=2_000_000, keep=slice(100, None, 2)
    )
    maps = ('--map', 'odom:=/rov/odometry', '--map', 'thrusters/pwm:=/mavros/rc/out')
    assert analyze(run[0], sea, '-o', tmp_path / 'out', *maps) == 0
    assert 'Aligned by cross-correlation' in capsys.readouterr().out
    metrics = json.loads((tmp_path / 'out' / 'metrics.json').read_text())
    (compared,) = metrics['comparisons']
    assert compared['aligned_by'] == 'correlation'
    assert compared['offset_s'] == pytest.approx(-offset / 1e9, abs=0.005)
    assert compared['differences']['x']['rms'] < 0.002  # of 5 ms at the dive's speed
    assert compared['differences']['yaw']['rms'] < 0.1
    assert compared['differences']['thrusters/pwm 1']['moments'] > 600
    rov = metrics['bags'][1]['vehicles']['rov']
    assert rov['channels']['odom']['wall_times']
    assert rov['channels']['odom']['real_time_factor'] == pytest.approx(1)
    assert rov['channels']['thrusters/pwm']['type'] == 'mavros_msgs/msg/RCOut'
    assert rov['impulse'] == {}
    assert metrics['bags'][0]['vehicles']['bluerov2']['motion']['ticks'] == 801


@pytest.mark.long
def test_what_two_bags_have_of_one_clock_stays_where_it_is(run, tmp_path):
    other = tmp_path / 'other'
    shutil.copytree(run[0], other)
    assert analyze(run[0], other, '-o', tmp_path / 'out', '--table', 'none') == 0
    (compared,) = json.loads((tmp_path / 'out' / 'metrics.json').read_text())['comparisons']
    assert (compared['aligned_by'], compared['offset_s']) == ('stamps', 0)
    assert all(d['max'] == 0 for d in compared['differences'].values())
    assert len(compared['differences']) > 40


def test_several_vehicles_have_a_section_each(tmp_path):
    def messages(types):
        for i in range(50):
            for j, name in enumerate(('/fleet/a', '/b')):
                pose = (j + 0.1 * i, 0, -1, 0, 0, 0, 1)
                message = odometry(types, i * 10**7, pose, np.zeros(6))
                yield f'{name}/odom', 'nav_msgs/msg/Odometry', i * 10**7, message

    bag = plain(tmp_path / 'two', messages)
    assert analyze(bag, '-o', tmp_path / 'out', '--table', 'csv') == 0
    vehicles = json.loads((tmp_path / 'out' / 'metrics.json').read_text())['bags'][0]['vehicles']
    assert sorted(vehicles) == ['b', 'fleet/a']
    assert vehicles['fleet/a']['motion']['distance_m'] == pytest.approx(4.9)
    assert (tmp_path / 'out' / 'tables' / 'two' / 'fleet' / 'a' / 'odom.csv').exists()
    text = (tmp_path / 'out' / 'report.html').read_text(encoding='utf-8')
    assert '<h1 id="v0">b</h1>' in text
    assert '<h1 id="v1">fleet/a</h1>' in text


@pytest.mark.parametrize('topic', ['/rov/thrusters/pwm', '/odom'])
def test_one_topic_is_enough(tmp_path, topic):
    def messages(types):
        layout = types['std_msgs/msg/MultiArrayLayout']([], 0)
        for i in range(2):
            if topic == '/odom':
                pose = (0, 0, -1, 0, 0, 0, 0)  # no attitude
                message = odometry(types, 0, pose, [float('nan')] * 6)  # nor a stamp
                yield topic, 'nav_msgs/msg/Odometry', 10**18 + i * 10**8, message
            else:
                kind = 'std_msgs/msg/Float32MultiArray'
                data = np.array([1500, 1600 + i], np.float32)
                yield topic, kind, 10**18 + i * 10**8, types[kind](layout, data)

    bag = plain(tmp_path / 'bag', messages)
    assert analyze(bag, '-o', tmp_path / 'out') == 0
    (found,) = json.loads((tmp_path / 'out' / 'metrics.json').read_text())['bags'][0][
        'vehicles'
    ].values()
    (channel,) = found['channels'].values()
    assert channel['duration_s'] == pytest.approx(0.1)
    assert not channel['own_stamps']


def truncated(bag, share):
    path = next(p for p in bag.iterdir() if p.suffix in ('.mcap', '.db3'))
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    return bag


@pytest.mark.parametrize('share', [0, 0.001, 0.6, 0.95])
@pytest.mark.parametrize('plugin', [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_a_bag_that_is_cut_off_is_one_line(run, tmp_path, capsys, plugin, share):
    bag = foreign(tmp_path / 'bag', run[1], plugin=plugin, keep=slice(0, None, 5))
    truncated(bag, share)
    assert analyze(bag, '-o', tmp_path / 'o', '--map', 'odom:=/rov/odometry') == 2
    error = capsys.readouterr().err
    assert re.fullmatch(r'ERROR: .*bag: cannot be read: .+\n', error)


def make_files(name, path):
    """Make what is no bag at all, where there is something of that name."""
    files = {'text.mcap': 'no bag ' * 100, 'empty.mcap': '', 'text.txt': 'no bag'}
    folders = {
        'nothing': {},
        'several': {'a.mcap': '', 'b.mcap': ''},
        'metadata': {'metadata.yaml': 'rosbag2_bagfile_information: [1'},
    }
    if name in files:
        path.write_text(files[name])
    elif name in folders:
        path.mkdir()
        for file, text in folders[name].items():
            (path / file).write_text(text)


def make_bags(name, path):
    """Make a bag that has nothing to analyse, where there is one of that name."""
    kind, other = 'nav_msgs/msg/Odometry', 'std_msgs/msg/String'
    unheard = ('/rov/odom', kind, 0, None)

    def messages(types):
        talk = ('/talk', other, 0, types[other]('hello'))
        pose = (0, 0, 0, 0, 0, 0, 1)
        state = ('/rov/state', kind, 0, odometry(types, 1, pose, np.zeros(6)))
        return {
            'no_messages': [unheard],
            'only_others': [talk],
            'other_names': [state],
            'silent': [unheard, talk],
        }[name]

    if name in ('no_messages', 'only_others', 'other_names', 'silent'):
        plain(path, messages)


BAD = {
    'absent': 'does not exist',
    'text.mcap': 'cannot be read',
    'empty.mcap': 'cannot be read',
    'text.txt': 'is not a bag',
    'nothing': 'is not a bag',
    'several': 'ros2 bag reindex',
    'metadata': 'cannot be read',
    'no_messages': 'has no messages',
    'only_others': 'has nothing of a vehicle',
    'other_names': '--map odom:=/rov/state',
    'silent': 'have no messages',
}


@pytest.mark.parametrize('name', BAD)
def test_what_is_no_bag_of_a_vehicle_is_one_line(tmp_path, capsys, name):
    make_files(name, tmp_path / name)
    make_bags(name, tmp_path / name)
    assert analyze(tmp_path / name, '-o', tmp_path / 'o') == 2
    error = capsys.readouterr().err
    assert error.startswith('ERROR: ')
    assert error.count('\n') == 1
    assert BAD[name] in error
    assert not (tmp_path / 'o').exists()


@pytest.mark.parametrize('name', ['manifest.json', 'bag/metadata.yaml', '..'])
def test_a_file_of_a_recording_offers_its_folder(run, tmp_path, name):
    shutil.copytree(run[0], tmp_path / 'all' / 'dive')
    path = tmp_path / 'all' / 'dive' / name
    recording = path.parent if path.is_file() else tmp_path / 'all' / 'dive'
    with pytest.raises(RecordingError, match=re.escape(f'did you mean {recording}?')):
        bag_path(str(path.resolve()))
    with pytest.raises(RecordingError, match=re.escape(f'did you mean {recording.parent}')):
        bag_path(str(recording.parent) + 'e')


@pytest.mark.parametrize('inner', ['', 'bag', 'bag/bag.mcap'])
def test_a_report_lies_beside_its_recording(run, tmp_path, inner):
    shutil.copytree(run[0], tmp_path / 'dive.2')
    assert analyze(tmp_path / 'dive.2' / inner, '--table', 'none') == 0
    assert (tmp_path / 'dive.2_report' / 'report.html').is_file()


def test_a_recorder_that_was_killed_left_a_file_that_is_read(run, tmp_path):
    shutil.copytree(run[0] / 'bag', tmp_path / 'bag')
    (tmp_path / 'bag' / 'metadata.yaml').unlink()
    for path in (tmp_path / 'bag', next((tmp_path / 'bag').iterdir())):
        assert read_bag(str(path)).vehicles['bluerov2'].channels['odom'].count == 801


@pytest.mark.parametrize(
    ('maps', 'text'),
    [
        (['odom'], 'expected OURS:=THEIRS'),
        (['speed:=/x'], 'speed is not a topic of this package'),
        (['odom:=/x', 'wrench/drag:=/x'], '/x is mapped twice'),
    ],
)
def test_a_bad_map_is_told(maps, text):
    with pytest.raises(ParameterError, match=re.escape(text)):
        parse_maps(maps)


def test_a_mapped_topic_must_exist_and_fit(run, tmp_path, capsys):
    assert analyze(run[0], '-o', tmp_path, '--map', 'odom:=/sub/odometry') == 2
    assert 'no bag has /sub/odometry' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    wrong = 'odom:=/bluerov2/thrusters/pwm'
    assert analyze(run[0], '-o', tmp_path, '--map', wrong) == 2
    assert 'is std_msgs/msg/UInt16MultiArray; expected' in capsys.readouterr().err


def test_maps_name_vehicles():
    kinds = {
        '/rov/odometry': 'nav_msgs/msg/Odometry',
        '/mavros/rc/out': 'mavros_msgs/msg/RCOut',
        '/a/odom': 'nav_msgs/msg/Odometry',
        '/arm/joint_states': 'sensor_msgs/msg/JointState',
        '/b/odom': 'sensor_msgs/msg/Imu',
    }
    maps = parse_maps(['odom:=/rov/odometry', '/a/thrusters/pwm:=/mavros/rc/out'])
    found = vehicles_of(kinds, maps, 'bag')
    topics = {n: {c.name: c.topic for c in r.channels.values()} for n, r in found.items()}
    # What is said wins over what is found.
    assert topics == {'a': {'odom': '/rov/odometry', 'thrusters/pwm': '/mavros/rc/out'}}
    del kinds['/a/odom']
    # MAVROS is the only vehicle there is; without it, the topic names its own.
    assert list(vehicles_of(kinds, parse_maps(['odom:=/rov/odometry']), 'bag')) == ['mavros']
    del kinds['/mavros/rc/out']
    assert list(vehicles_of(kinds, parse_maps(['odom:=/rov/odometry']), 'bag')) == ['rov']


def test_an_old_report_is_replaced_only_when_asked(run, tmp_path, capsys):
    (tmp_path / 'metrics.json').write_text('mine')
    assert analyze(run[0], '-o', tmp_path) == 2
    assert 'metrics.json already; add --overwrite' in capsys.readouterr().err
    assert (tmp_path / 'metrics.json').read_text() == 'mine'
    (tmp_path / 'notes.txt').write_text('mine')
    assert analyze(run[0], '-o', tmp_path, '--overwrite', '--table', 'none') == 0
    assert (tmp_path / 'notes.txt').read_text() == 'mine'


@pytest.fixture(scope='module')
def small(run, tmp_path_factory):
    bag = foreign(
        tmp_path_factory.mktemp('small') / 'bag',
        run[1],
        plugin=StoragePlugin.MCAP,
        keep=slice(0, None, 40),
    )
    return next(p for p in bag.iterdir() if p.suffix == '.mcap').read_bytes()


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_damage_is_an_error_and_never_anything_else(small, tmp_path_factory, data):
    damaged = bytearray(small)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / 'damaged.mcap'
    path.write_bytes(damaged)
    said = ''
    try:
        read_bag(str(path), maps={'/rov/odometry': 'odom'})
    except RecordingError as error:
        said = str(error)
    assert '\n' not in said
    assert not said or said.startswith(str(path))


@pytest.mark.long
def test_memory_stays_while_bags_grow(tmp_path):
    """Ten times the messages, and nearly the same memory; measured with real allocations."""
    store = get_typestore(Stores.ROS2_JAZZY)

    def peak(count):
        path = tmp_path / str(count)
        pose = (0, 0, -1, 0, 0, 0, 1)
        one = bytes(
            store.serialize_cdr(
                odometry(store.types, 0, pose, np.zeros(6)), 'nav_msgs/msg/Odometry'
            )
        )
        with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            odom = writer.add_connection('/rov/odom', 'nav_msgs/msg/Odometry', typestore=store)
            for i in range(count):
                stamp = i * 5_000_000
                data = one[:4] + struct.pack('<iI', *divmod(stamp, 10**9)) + one[12:]
                writer.write(odom, stamp, data)
        size = sum(p.stat().st_size for p in path.iterdir())
        script = (
            'import resource, sys\n'
            'from marine_sim_ros.bags.reading import read_bag\n'
            'read_bag(sys.argv[1])\n'
            'print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)\n'
        )
        done = subprocess.run(
            [sys.executable, '-c', script, str(path)], capture_output=True, text=True, check=True
        )
        return size, int(done.stdout)

    (small_size, small_peak), (large_size, large_peak) = peak(6_000), peak(60_000)
    assert large_size > 9 * small_size > 36e6
    # Thinned rows and buckets are allowed; the messages themselves are not.
    assert large_peak - small_peak < 20e6
