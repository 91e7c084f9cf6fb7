# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of a vehicle's log as bags: units, signs, speeds, gaps, and bad tables."""

import json

import numpy as np
import pytest
from conftest import marine_sim
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.csv_logs import open_csv_log
from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.spatial import rpy_from_quaternion, up_in_body
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate


def table(path, columns, separator=','):
    """Write columns (n,) by name; NaN is an empty cell."""
    rows = zip(*columns.values(), strict=True)
    lines = [separator.join(columns)]
    lines += [separator.join('' if x != x else f'{x}' for x in row) for row in rows]
    path.write_text('\n'.join(lines) + '\n')
    return path


def odometry(path):
    """Return times (n,) in s and rows (n, 13) of position, attitude and velocity."""
    times, rows = [], []
    with open_csv_log(path, path.name) as reader:
        for connection, _, message in reader.messages():
            if connection.topic == '/log/odom':
                pose, twist = message.pose.pose, message.twist.twist
                stamp = message.header.stamp
                times.append(stamp.sec + stamp.nanosec / 1e9)
                parts = pose.position, pose.orientation, twist.linear, twist.angular
                rows.append([x for part in parts for x in vars(part).values()])
        return np.array(times), np.array(rows), reader.notes


@pytest.fixture(scope='module')
def run():
    return simulate(load_vehicle('bluerov2'), load_scenario('excitation'), dt=0.02, duration=40)


def columns_of(run, step=5):
    """Return what a log of a run has, with signs of the nautical conventions."""
    rows = slice(None, None, step)
    roll, pitch, yaw = np.degrees([rpy_from_quaternion(q) for q in run.orientation[rows]]).T
    found = {
        'time [s]': run.time[rows],
        'depth_m': -run.position[rows, 2],
        'roll (deg)': roll,
        'pitch (deg)': -pitch,
        'heading': (90.0 - yaw) % 360.0,
    }
    pwm = run.pwm[rows]
    return found | {f'T{i + 1}': pwm[:, i] for i in range(pwm.shape[1])}


def test_a_table_of_a_run_is_its_motion(run, tmp_path):
    path = table(tmp_path / 'log.csv', columns_of(run))
    time, rows, notes = odometry(path)
    truth = run.position[::5], run.orientation[::5], run.velocity[::5]
    np.testing.assert_allclose(time, run.time[::5], atol=1e-6)
    np.testing.assert_allclose(rows[:, 2], truth[0][:, 2], atol=1e-9)
    assert np.isnan(rows[:, :2]).all()
    along = np.abs(np.sum(rows[:, 3:7] * truth[1], axis=1))
    np.testing.assert_allclose(along, 1.0, atol=1e-9)
    up = up_in_body(truth[1])
    vertical = np.sum(up * truth[2][:, :3], axis=1)
    wanted = np.column_stack(
        [vertical / up[:, 2], truth[2][:, 3:]]
    )  # heave of a level vehicle; p, q, r
    error = rows[5:-5, 9:] - wanted[5:-5]
    assert np.sqrt(np.mean(error**2, axis=0)).max() < 0.05
    assert any('heading' in note or 'yaw' in note for note in notes)


def test_analyze_replay_and_identify_read_it(run, tmp_path):
    path = table(tmp_path / 'log.csv', columns_of(run))
    bag = read_bag(str(path))
    assert {t for t, _, _ in bag.topics} == {'/log/odom', '/log/thrusters/pwm'}
    code, output = marine_sim('analyze', path, '-o', tmp_path / 'report')
    assert code == 0, output
    told = json.loads((tmp_path / 'report' / 'metrics.json').read_text())
    assert told
    code, output = marine_sim(
        'simulate', 'bluerov2', '--replay', path, '--duration', '5', '--record', tmp_path / 'again'
    )
    assert code == 0, output
    assert 'odom does not have x, y' in output
    code, output = marine_sim('identify', path, '--vehicle', 'bluerov2', '--stretch', '4')
    assert code == 0, output
    assert 'heave' in output


def test_a_replay_begins_at_the_height_and_heading_of_the_log(tmp_path):
    time = np.arange(0, 4, 0.1)
    log = {
        't': time,
        'depth': 3.0 + 0 * time,
        'yaw [rad]': 1.0 + 0 * time,
        'pwm1': 1500 + 0 * time,
    }
    log |= {f'pwm{i}': 1500 + 0 * time for i in range(2, 7)}
    log['depth'][:3] = np.nan  # the depth comes later than the first heading
    path = table(tmp_path / 'log.csv', log, ';')
    code, output = marine_sim(
        'simulate', 'bluerov2', '--replay', path, '--record', tmp_path / 'again'
    )
    assert code == 0, output
    assert 'to 3.00 m' in output  # it floats up from there


@pytest.mark.parametrize('unit', ['s', 'ms', 'us', 'ns', 'date'])
def test_times_are_numbers_or_dates(unit, tmp_path):
    seconds = 1.0 + np.arange(20) * 0.5
    factor = {'s': 1, 'ms': 1e3, 'us': 1e6, 'ns': 1e9}.get(unit, 1)
    times = [repr(float(t * factor)) for t in seconds]
    if unit == 'date':
        times = [f'1970-01-01T00:00:{t:06.3f}Z' for t in seconds]
    name = 'timestamp' if unit == 'date' else f'time [{unit}]'
    path = table(tmp_path / 'log.csv', {name: times, 'depth [cm]': 100.0 * seconds})
    time, rows, _ = odometry(path)
    np.testing.assert_allclose(time, seconds, atol=1e-6)
    np.testing.assert_allclose(rows[:, 2], -seconds, rtol=1e-12)
    np.testing.assert_allclose(rows[:, 9], -1.0, rtol=1e-6)


def test_positions_of_a_receiver_are_metres_from_the_first(tmp_path):
    time = np.arange(0, 10, 0.2)
    log = {
        't': time,
        'lat': 60.0 + 1e-5 * time,
        'lon': 10.0 + 0 * time,
        'heading': 0 * time + 90.0,
    }
    time, rows, _ = odometry(table(tmp_path / 'log.csv', log))
    speed = 1e-5 * 111_412.0  # m of a degree of latitude at 60°
    np.testing.assert_allclose(rows[:, 1], speed * time, rtol=1e-4, atol=1e-6)
    # It faces east and moves north: to port.
    np.testing.assert_allclose(rows[:, 7:9], np.tile([0.0, speed], (len(time), 1)), atol=1e-4)


def test_empty_cells_and_rows_out_of_order_are_left_out(tmp_path):
    time = np.array([0, 1, 2, 3, 2.5, 4, 5, 6.0])
    depth = np.array([0, 1, np.nan, 3, 9, 4, 5, 6.0])
    time, rows, notes = odometry(table(tmp_path / 'log.csv', {'t': time, 'depth': depth}))
    np.testing.assert_allclose(time, [0, 1, 3, 4, 5, 6])
    np.testing.assert_allclose(rows[:, 2], -time)
    assert any('1 rows whose time is not later' in note for note in notes)


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('a,b\n1,2\n2,3\n', 'expected one of them to be time'),
        ('t,salt\n1,2\n2,3\n', 'neither depth, angles nor pulse widths'),
        ('t,depth\n1,deep\n2,3\n', "log.csv:2: depth is 'deep'"),
        ('t,depth\nsoon,2\n2,3\n', 'log.csv:2: time is'),
        ('t,yaw\n0,1\n1,2\n', "column 'yaw' has no unit; expected one of: rad, deg"),
        ('t,depth [fathom]\n0,1\n1,2\n', "the unit 'fathom'; expected one of: m, cm, ft"),
        ('t,pressure\n0,1\n1,2\n', "column 'pressure' has no unit"),
        ('t,T1,T2\n0,0.5,-0.1\n1,0.2,0\n', 'expected pulse widths of 800 to 2200'),
        ('t,depth\n', '1 lines; expected'),
        ('', '0 lines; expected'),
    ],
)
def test_a_table_of_no_use_is_one_line(text, said, tmp_path):
    path = tmp_path / 'log.csv'
    path.write_text(text)
    code, output = marine_sim('analyze', path, '-o', tmp_path / 'report')
    assert code == 2
    assert said in output
    assert output.count('\n') == 1


@given(
    st.text(st.sampled_from('t,depth yaw[]()T12;\n\t0.5-e9"\'#naninf_µ'), max_size=200),
    st.sampled_from(['', 't,depth\n', 't;yaw [deg];T1\n', 'time_ms,depth_m,T1,T2\n']),
)
def test_any_text_is_read_or_refused(tmp_path_factory, text, head):
    path = tmp_path_factory.mktemp('any') / 'log.csv'
    path.write_text(head + text)
    try:
        odometry(path)
    except RecordingError as error:
        lines = str(error).splitlines()
    else:
        lines = ['']
    assert len(lines) == 1
