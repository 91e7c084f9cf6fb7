# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reports on what is shipped: every scenario's bag, and how browsers take the page."""

import json
import re
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from bags import analyze, odometry, page_charts
from conftest import ROOT, browser
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis.report.motion import path_charts, thruster_charts
from marine_sim_ros.analysis.report.plotly_charts import (
    ChartLine,
    ChartPanel,
    ChartRun,
    json_numbers,
)
from marine_sim_ros.analysis.report.plotly_charts import chart as chart_of
from marine_sim_ros.bags.series import Series
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.bags.vehicle_record import ODOM_QUANTITIES, VehicleRecord
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

SCENARIOS = sorted(p.stem for p in (ROOT / 'config' / 'scenarios').glob('*.yaml'))
DURATION = 4.0


def record(folder, name):
    """Record the start of a scenario, with a vehicle that has what it moves."""
    scenario = load_scenario(name)
    environment = ''
    if name == 'glide':
        vehicle = load_vehicle('glider')
    elif name == 'lift_block':
        vehicle, environment = load_vehicle('work_class', arm='true'), 'block_on_sand'
    elif any(segment.actuators.get('gripper') for segment in scenario.segments):
        vehicle = load_vehicle('bluerov2_heavy', arm='true')
        environment = 'brick_on_sand'
    elif any(segment.actuators.get('joints') for segment in scenario.segments):
        vehicle = load_vehicle('investigator90')
    else:
        vehicle = load_vehicle('bluerov2')
    water = load_environment(environment) if environment else None
    run = simulate(vehicle, scenario, environment=water, dt=0.02, duration=DURATION)
    settings = RunOptions(vehicle=vehicle.name, environment=environment, scenario=name, dt=0.02)
    write_recording(folder, vehicle, settings, run)


def chart_run(number, channels):
    record = VehicleRecord('rov')
    for name, series in channels.items():
        record.channels[name] = SimpleNamespace(series=series)
    return ChartRun(f'bag {number}', record, number, 0.0)


def series_of(rows):
    series = Series(rows.shape[1])
    series.add(0.01 * np.arange(len(rows)), rows)
    return series


def test_no_two_thrusters_of_two_bags_are_drawn_alike():
    pwm = series_of(1500.0 + np.arange(8.0) * np.arange(10.0)[:, None])
    runs = [chart_run(number, {'thrusters/pwm': pwm}) for number in (0, 1)]
    (found,) = thruster_charts('v', runs)
    lines = [trace['line'] for trace in found['data']]
    looks = {(line['color'], line['dash'], line['width']) for line in lines}
    assert len(lines) == len(looks) == 16


@pytest.mark.parametrize(('count', 'mode'), [(30_000, 'lines'), (3, 'markers')])
def test_a_straight_track_of_set_points_is_a_line(count, mode):
    odom = series_of(np.zeros((10, len(ODOM_QUANTITIES))))
    targets = np.full((count, 12), np.nan)
    targets[:, :3] = np.linspace(0, 1, count)[:, None] * [30.0, 10.0, -5.0]
    run = chart_run(0, {'odom': odom, 'controller/setpoints': series_of(targets)})
    for shown in path_charts('v', [run]):
        (trace,) = (t for t in shown['data'] if t['name'] == 'set-point')
        assert trace['mode'] == mode


@pytest.mark.long
@pytest.mark.parametrize('name', SCENARIOS)
def test_every_scenario_gives_a_report_with_data_in_every_chart(tmp_path, name):
    record(tmp_path / 'run', name)
    assert analyze(tmp_path / 'run', '-o', tmp_path / 'out', '--table', 'none') == 0
    charts = page_charts((tmp_path / 'out' / 'report.html').read_text(encoding='utf-8'))['charts']
    kinds = {c['key'].split('-')[1] for c in charts}
    expected = {'space', 'plan', 'pose', 'speed', 'forces', 'share', 'thrusters', 'barometer'}
    if name == 'glide':  # a glider has none
        expected -= {'thrusters'}
    assert expected | {'timing'} <= kinds
    assert ('joints' in kinds) == (
        name in ('balance', 'glide', 'lift_block', 'pick_up', 'plug_stab', 'turn_valve')
    )
    for chart in charts:
        assert chart['data'], chart['key']
        for line in chart['data']:
            values = [v for v in line['y'] if v is not None]
            assert values, f'{chart["key"]}: {line.get("name")}'
            assert np.isfinite(values).all()
    (bag,) = json.loads((tmp_path / 'out' / 'metrics.json').read_text())['bags']
    (found,) = (v for key, v in bag['vehicles'].items() if not key.startswith('bodies/'))
    assert found['motion']['duration_s'] == pytest.approx(DURATION)
    if load_scenario(name).closed_loop:
        assert found['response'] is not None, found['response_note']


def open_in_browser(report, profile, theme='light', width=1280):
    """Return the page of a report as it is drawn without a network, without complaints."""
    opened = subprocess.run(
        [
            browser(),
            '--headless=new',
            '--no-sandbox',
            '--use-angle=swiftshader',
            '--enable-unsafe-swiftshader',
            f'--user-data-dir={profile}',
            '--host-resolver-rules=MAP * ~NOTFOUND',
            '--virtual-time-budget=20000',
            '--enable-logging=stderr',
            f'--window-size={width},720',
            '--dump-dom',
            f'{report.as_uri()}?{theme}#all',
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    said = [line for line in opened.stderr.splitlines() if ':CONSOLE' in line]
    # A remark of Chromium on how plotly.js reads its own canvas; no error.
    assert [line for line in said if 'willReadFrequently' not in line] == []
    return opened.stdout


def check_in_browser(report, profile, theme):
    """Open a report; every chart is drawn."""
    page = open_in_browser(report, profile, theme)
    charts = page_charts(page)['charts']
    assert f'data-drawn="{len(charts)}"' in page
    assert f'data-theme="{theme}"' in page
    for chart in charts:
        tag = re.search(rf'<div class="chart[^"]*" id="{chart["key"]}"[^>]*>', page)
        # Lines that never change, as those of the tick and of resting joints, have two points.
        few = chart['key'].endswith(('timing', 'joints')) or '-sensor-' in chart['key']
        least = 1 if few else 50
        points = int(re.search(r'data-points="(\d+)"', tag[0])[1])
        assert points > least, chart['key']
    # What a browser prints in place of WebGL, which it leaves out.
    assert page.count('<img class="printed" alt="" src="data:image/png') == sum(
        'scene' in chart['layout'] for chart in charts
    )
    assert 'WebGL is not supported' not in page.split('id="v0-space"')[1][:3000]
    # Lines that are really there: a path with more than a point or two.
    lines = re.findall(r'<path class="js-line"[^>]* d="([^"]*)"', page)
    assert sum(len(d) > 30 for d in lines) > 20


@pytest.mark.browser
@pytest.mark.parametrize(('width', 'columns'), [(500, 1), (1280, 2)])
def test_panels_stand_below_one_another_on_a_narrow_page(tmp_path, width, columns):
    """Titles of axes are no longer over the panels to their left."""
    vehicle, scenario = load_vehicle('bluerov2'), load_scenario('dive')
    trajectory = simulate(vehicle, scenario, dt=0.02, duration=2.0)
    write_recording(tmp_path / 'run', vehicle, RunOptions(vehicle='bluerov2'), trajectory)
    assert analyze(tmp_path / 'run', '-o', tmp_path / 'out', '--table', 'none') == 0
    page = open_in_browser(tmp_path / 'out' / 'report.html', tmp_path / 'profile', width=width)
    charts = page_charts(page)['charts']
    assert f'data-drawn="{len(charts)}"' in page
    drawn = page.split('id="v0-pose"')[1].split('id="v0-speed"')[0]
    titles = re.findall(r'class="y\d*title"[^>]* x="(-?[\d.]+)"', drawn)
    assert len(titles) == 6
    assert sum(float(x) > 0.3 * width for x in titles) == 3 * (columns - 1)


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.browser
def test_a_recorded_graph_opens_in_a_browser(processes, tmp_path):
    """The recorder's own bag; every chart has data, and the browser has nothing to complain of."""
    done = processes.marine_sim(
        'run',
        'bluerov2',
        '--scenario',
        'dive',
        '--duration',
        '2',
        '--composed',
        '--real-time-factor',
        '0',
        '--record',
        tmp_path / 'run',
    )
    output = done.communicate()[0]
    assert (tmp_path / 'run' / 'manifest.json').exists(), output
    assert analyze(tmp_path / 'run', '-o', tmp_path / 'out', '--table', 'none') == 0
    metrics = json.loads((tmp_path / 'out' / 'metrics.json').read_text())
    found = metrics['bags'][0]['vehicles']['bluerov2']
    assert found['motion']['ticks'] == 401
    assert found['energy']['total_J'] == pytest.approx(sum(found['energy']['thrusters_J']))
    assert found['energy']['total_J'] > 100
    assert all(c['ticks_without'] == 0 for c in found['channels'].values())
    # What the sensors needed beside the state is in the bag: the rest is their noise.
    for quantity in ('specific force x', 'angular velocity z'):
        assert found['sensors']['imu'][quantity]['readings'] > 190
        assert 0.7 < found['sensors']['imu'][quantity]['normalised_rms'] < 1.4
    assert found['sensors']['battery']['current']['normalised_rms'] < 3
    check_in_browser(tmp_path / 'out' / 'report.html', tmp_path / 'profile', 'dark')


@pytest.mark.slow
@pytest.mark.browser
def test_a_report_with_an_arm_and_set_points_opens_in_a_browser(tmp_path):
    record(tmp_path / 'run', 'balance')
    assert analyze(tmp_path / 'run', '-o', tmp_path / 'out', '--table', 'none') == 0
    check_in_browser(tmp_path / 'out' / 'report.html', tmp_path / 'profile', 'light')


@pytest.mark.parametrize(
    ('label', 'fine', 'span'),
    [
        ('x [m]', False, 0.01),
        ('roll [°]', False, 0.5),
        ('Δ x [m]', True, 1e-5),
        ('q [bar]', False, 0),
    ],
)
def test_an_axis_is_never_finer_than_what_somebody_measures(label, fine, span):
    time = np.arange(3.0)
    still = ChartLine('a', time, np.array([2.0, 2.0 - 1e-9, np.nan]), '@blue')
    low, high = ChartPanel(label, [still], fine=fine).limits()
    assert high - low == pytest.approx(max(span, 1e-9), rel=1e-6)
    assert (low + high) / 2 == pytest.approx(2.0, abs=1e-8)
    moved = ChartLine('b', time, np.array([-1.0, 4.0, 0.0]), '@blue')
    assert ChartPanel(label, [still, moved], fine=fine).limits() == (-1.0, 4.0)
    ends = chart_of('k', 't', 'n', [ChartPanel(label, [moved], down=True)])['layout']['yaxis'][
        'range'
    ]
    assert ends == [pytest.approx(4.3), pytest.approx(-1.3)]


def pixels_beside(line, points):
    """Return the greatest distance of points (n, 2) from a drawn line (m, 2)."""
    starts, ways = line[:-1], np.diff(line, axis=0)
    lengths = np.maximum(np.sum(ways**2, axis=1), 1e-12)
    greatest = 0.0
    for point in points:
        share = np.clip(np.einsum('ij,ij->i', point - starts, ways) / lengths, 0, 1)
        away = np.linalg.norm(starts + share[:, None] * ways - point, axis=1)
        greatest = max(greatest, away.min())
    return greatest


def test_no_corner_of_a_thinned_curve_is_visible_at_1920_pixels(tmp_path):
    """A spiral of 120 turns at UTM coordinates, 1000 m deep, as the page draws it."""
    store, turn = get_typestore(Stores.ROS2_JAZZY), np.linspace(0, 240 * np.pi, 24_000)
    time = np.arange(len(turn)) * 0.05
    x, y = 5e5 + turn * np.cos(turn), 4e6 + turn * np.sin(turn)
    z = -1000 + 0.1 * np.sin(time) + 0.002 * np.sin(40 * time)
    with Writer(tmp_path / 'bag', version=9) as bag:
        odom = bag.add_connection('/odom', 'nav_msgs/msg/Odometry', typestore=store)
        for stamp, *place in zip((time * 1e9).round().astype(int).tolist(), x, y, z, strict=True):
            message = odometry(store.types, stamp, [*place, 0, 0, 0, 1], np.zeros(6))
            bag.write(odom, stamp, store.serialize_cdr(message, odom.msgtype))
    assert analyze(tmp_path / 'bag', '-o', tmp_path / 'out', '--table', 'none') == 0
    charts = page_charts((tmp_path / 'out' / 'report.html').read_text(encoding='utf-8'))['charts']
    plan, pose = (next(c for c in charts if c['key'].endswith(k)) for k in ('-plan', '-pose'))
    line = next(t for t in plan['data'] if t['name'] == 'path')
    pixel = np.ptp(plan['layout']['xaxis']['range']) / 1920
    drawn = np.array([line['x'], line['y']], float).T / pixel
    assert pixels_beside(drawn, np.column_stack([x, y])[::97] / pixel) < 1
    for axis, values in (('y', x), ('y2', y), ('y3', -z)):
        (line,) = [t for t in pose['data'] if t['yaxis'] == axis]
        ends = pose['layout'][axis.replace('y', 'yaxis')]['range']
        pixel = [np.ptp(time) / 1920, np.ptp(ends) / 1080]
        drawn = np.array([line['x'], line['y']], float).T / pixel
        assert pixels_beside(drawn, np.column_stack([time, values])[::97] / pixel) < 1
        assert len(drawn) < len(time)


@pytest.mark.parametrize('value', [3e-6, -5e-5, 0.0, 1234.5678, 4.2e9])
def test_a_constant_line_keeps_its_value(value):
    first, gap, last = json_numbers(np.array([value, np.nan, value]), 0.0)
    assert first == last == pytest.approx(value, rel=1e-5)
    assert gap is None
