# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The console's core: who steers, what a page may ask, what it is shown, who is let in."""

import base64
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import OTHERS, VEHICLES
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.console.control_lease import (
    LEASE_TIMEOUT,
    OPERATOR_TIMEOUT,
    ControlLease,
    OperatorEvent,
    OperatorWatchdog,
    leave_lease,
    renew_lease,
    take_lease,
)
from marine_sim_ros.console.requests import (
    LOST,
    OF_PAGE,
    REQUESTS,
    WAITING,
    OperatorInput,
    Session,
    parse_request,
)
from marine_sim_ros.console.telemetry import Energy, telemetry_frame
from marine_sim_ros.console.visuals import chart_visuals, scene_visuals, vehicle_visuals
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import level_velocity, quaternion_from_rpy
from marine_sim_ros.environment.changes import parse_change
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import parse_environment, run_environment
from marine_sim_ros.faults.fault_types import Weak
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap

MOVES = st.lists(
    st.tuples(
        st.sampled_from(['take', 'over', 'leave', 'beat']), st.sampled_from('abc'), st.floats(0, 2)
    ),
    max_size=40,
)


@given(MOVES)
def test_one_page_steers_and_keeps_the_seat_until_it_leaves_or_is_taken_over(moves):
    lease, now = ControlLease(), 0.0
    for what, page, later in moves:
        now += later
        before = lease
        if what in ('take', 'over'):
            lease = take_lease(lease, page, page.upper(), now, over=what == 'over')
            sits = what == 'over' or before.page in ('', page)
            assert lease == (ControlLease(page, page.upper(), now) if sits else before)
        elif what == 'leave':
            lease = leave_lease(lease, page)
            assert lease == (ControlLease() if before.page == page else before)
        else:
            lease = renew_lease(lease, page, now)
            assert lease.page == before.page
            assert not lease.is_silent(now, 0.0) or page != lease.page
        assert lease.is_silent(now + 2.01, 2.0) == bool(lease.page)


def test_an_empty_seat_hears_nobody():
    assert renew_lease(ControlLease(), '', 5.0) == ControlLease()
    assert not ControlLease().is_silent(1e9, 0.0)


def watch(watchdog, lease, seconds, period=0.05):
    """What a watchdog notices while it is called at a steady rate, with the times, s."""
    start, found = watchdog.now, []
    for _ in range(round(seconds / period)):
        watchdog.advance(watchdog.now + period)  # its clock is the wall's: it is never late
        if event := watchdog.check(lease):
            found.append((event, round(watchdog.now - start, 2)))
    return found


def test_silence_stops_long_before_it_costs_control():
    watchdog = OperatorWatchdog(0.05, OPERATOR_TIMEOUT, LEASE_TIMEOUT)
    lease = take_lease(ControlLease(), 'a', 'A', watchdog.now)
    watchdog.note_sticks()
    first = watch(watchdog, lease, 9.0)
    assert first == [(OperatorEvent.SILENT, pytest.approx(OPERATOR_TIMEOUT, abs=0.051))]
    assert lease == take_lease(lease, 'b', 'B', watchdog.now)  # nobody gets it by asking
    watchdog.note_sticks()
    lease = renew_lease(lease, 'a', watchdog.now)
    assert watch(watchdog, lease, 0.1) == [(OperatorEvent.HEARD, 0.05)]
    found = watch(watchdog, lease, 10.0)
    assert found[0][0] is OperatorEvent.SILENT
    assert found[1] == (OperatorEvent.EXPIRED, pytest.approx(LEASE_TIMEOUT - 0.1, abs=0.051))


def test_who_waits_longer_for_the_first_silence_waits_as_long_for_the_second():
    watchdog = OperatorWatchdog(0.05, 60.0, LEASE_TIMEOUT)
    lease = take_lease(ControlLease(), 'a', 'A', 0.0)
    assert watch(watchdog, lease, 59.0) == []
    assert watch(watchdog, lease, 2.0)[0][0] is OperatorEvent.EXPIRED


def test_a_page_that_lives_but_says_nothing_of_its_sticks_is_slow_once():
    watchdog = OperatorWatchdog(0.05, OPERATOR_TIMEOUT, LEASE_TIMEOUT)
    lease, found = ControlLease('a', 'A', 0.0), []
    for _ in range(60):
        found += watch(watchdog, lease, 0.05)
        lease = renew_lease(lease, 'a', watchdog.now)
    assert [event for event, _ in found] == [OperatorEvent.SLOW]


def test_a_node_that_does_not_get_its_turn_blames_no_page():
    watchdog = OperatorWatchdog(0.05, OPERATOR_TIMEOUT, LEASE_TIMEOUT)
    lease = ControlLease('a', 'A', 0.0)
    watchdog.note_sticks()
    watchdog.advance(3600.0)
    assert watchdog.check(lease) is None


ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANY | st.fixed_dictionaries({'kind': st.sampled_from(list(REQUESTS)), 'value': ANY}))
def test_a_request_is_taken_or_refused_in_one_line(data):
    told = ''
    try:
        assert parse_request(data).kind in REQUESTS
    except ParameterError as error:
        told = str(error)
    assert '\n' not in told


@pytest.mark.parametrize(
    ('kind', 'value', 'expected'),
    [
        ('hands', {'sticks': [0, 0, 0, 0, 0, 1.5]}, 'hands: is 1.5; expected -1 to 1'),
        ('hands', {'sticks': [0] * 5}, 'hands: has 5 efforts; expected 6'),
        ('hands', {'sticks': [0] * 6, 'gamepad': 'snes'}, "is 'snes'; expected one of"),
        ('hands', {'sticks': [math.nan] * 6}, 'hands: is nan; expected -1 to 1'),
        ('gain', 10**400, 'expected 0 to 1'),
        ('gain', True, 'gain: is True; expected a number'),
        ('target', {'warp': 9}, "target: has 'warp'; expected some of: x, y, z"),
        ('target', {'yaw': 4.0}, 'target: is 4.0; expected -3.14159 to 3.14159'),
        ('target', {'x': math.inf}, 'target: is inf; expected -100000 to 100000'),
        ('current', [0, 0], 'expected east, north, up in m/s'),
        ('path', [[0, 0, 0]] * 1001, 'expected a list of up to 1000'),
        ('switch', {'name': 'self_destruct', 'on': True}, 'expected one of: arm'),
        ('gripper', 'close', 'expected true or false'),
        ('hello', 'a\nb', 'expected a short text'),
        ('fault', {'kind': 'weak', 'thruster': 't', 'share': 2}, 'share is 2; expected a number'),
        ('fault', {'kind': 'warp'}, "'warp'; expected one of: dead, weak"),
        ('fault', {'kind': 'dead'}, 'thruster'),
        ('fault', {'kind': 'gust', 'at': 3.0}, 'has a time; expected none'),
        ('fault', [], 'expected an object'),
        ('mend', {'kind': 'rust'}, "is 'rust'; expected one of"),
        ('warp', None, "request 'warp' is unknown; expected one of: take"),
    ],
)
def test_what_is_wrong_with_a_request_is_told(kind, value, expected):
    with pytest.raises(ParameterError) as caught:
        parse_request({'kind': kind, 'value': value})
    assert expected in str(caught.value)


def test_requests_become_what_the_node_needs():
    target = parse_request({'kind': 'target', 'value': {'z': -2, 'yaw': None, 'roll': 0.1}}).value
    np.testing.assert_equal(target, (math.nan, math.nan, -2, 0.1, math.nan, math.nan))
    held = {'sticks': [0, 0, -1, 0, 0, 0.5], 'gamepad': 'xbox', 'axes': [0, 1], 'buttons': [0, 1]}
    assert parse_request({'kind': 'hands', 'value': held}).value == OperatorInput(
        (0, 0, -1, 0, 0, 0.5), 'xbox', (0, 1), (0, 1)
    )
    assert parse_request({'kind': 'step', 'value': 3.0}).value == 3
    fault = {'kind': 'weak', 'thruster': 'thruster_1', 'share': 0.25}
    assert parse_request({'kind': 'fault', 'value': fault}).value == Weak(
        thruster='thruster_1', share=0.25
    )
    assert parse_request({'kind': 'mend', 'value': fault}).value == ('weak', 'thruster_1')
    assert parse_request({'kind': 'mend'}).value == ('', '')


def test_a_link_passes_on_and_drops_what_floods():
    link = Session({})
    assert link.refuse({'kind': 'take', 'value': False}, 'a') == ''
    link.drop_page('a')
    assert [(p, r.kind) for p, r in link.requests()] == [('a', 'take'), ('a', LOST)]
    told = [link.refuse({'kind': 'pause', 'value': True}, 'b') for _ in range(OF_PAGE + 5)]
    assert set(told[:OF_PAGE]) == {''}
    assert all('too many' in text for text in told[OF_PAGE:])
    assert link.refuse({'kind': 'pause', 'value': True}, 'c') == ''  # no page floods another
    assert len(link.requests()) == OF_PAGE + 1
    assert link.requests() == []
    for i in range(2 * WAITING):
        link.refuse({'kind': 'reset'}, f'page {i}')
    for _ in range(100):
        assert link.refuse({'kind': 'look'}, 'd') == 'too many requests; ignored'
    assert len(link.requests()) == WAITING


def test_a_moment_of_known_rows():
    q = quaternion_from_rpy(0.1, -0.2, math.pi / 2)  # heads north
    rows = {
        'odom': (1, 2, -3, *q, 1.0, 0, 0, 0.1, 0.2, 0.3),
        'thrusters/pwm': (1500, 1600),
        'thrusters/state': (1.0, -2.0, 10.0, -20.0),
        'thrusters/power': (5.0, 7.0),
        'barometer/pressure': (101300 + 997 * 9.8 * 3, 4.0),
        'wrench/drag': (3, 0, 4, 0, 0, 0),
        'wrench/buoyancy': (0, 0, 15, 0, 0, 0),
        'wrench/total': (1, 1, 1, 0, 0, 0),
        'controller/setpoints': (math.nan, 0, -3) + (math.nan,) * 9,
    }
    now = telemetry_frame(7.5, rows, weight=98.0)
    assert now['rpy'] == pytest.approx([0.1, -0.2, math.pi / 2])
    # Ahead by the bow raised by 0.2 rad (a negative pitch): cos 0.2 ahead and sin 0.2 up.
    assert now['velocity'] == pytest.approx([math.cos(0.2), 0, math.sin(0.2)])
    assert now['thrust'] == [1, -2]
    assert now['rpm'] == pytest.approx([300 / math.pi, -600 / math.pi])
    assert now['barometer_depth'] == pytest.approx(3)
    assert now['shares'] == {'drag': 0.25, 'buoyancy': 0.75}
    assert list(now['wrenches']) == ['drag', 'buoyancy', 'total']
    assert now['setpoints'][:3] == [None, 0, -3]
    assert json.loads(json.dumps(now, allow_nan=False)) == now
    cable = np.linspace([0.0, 0.0, -3.0], [90.0, 0.0, 0.0], 301)
    pulls = {'tether/shape': tuple(cable.ravel()), 'tether/tension': (2.0, math.nan)}
    tether = telemetry_frame(7.5, pulls, weight=98.0)['tether']
    assert len(tether['shape']) == 64
    assert tether['shape'][0] == [0, 0, -3]
    assert tether['shape'][-1] == [90, 0, 0]
    assert tether['tension'] == [2, None]
    cable[7] = np.nan
    lost = telemetry_frame(7.5, {'tether/shape': tuple(cable.ravel())}, weight=98.0)
    assert lost['tether'] == {'shape': [], 'tension': []}
    empty = telemetry_frame(0.0, {}, weight=1.0)
    assert empty['setpoints'] == [None] * 12
    assert empty['pressure'] is None


@given(st.floats(-3, 3), st.floats(-1.4, 1.4), st.floats(-3, 3))
def test_the_level_velocity_keeps_speed_and_climb(roll, pitch, yaw):
    q = quaternion_from_rpy(roll, pitch, yaw)
    velocity = np.array([0.3, -0.2, 0.1, 0, 0, 0])
    level = level_velocity(q, velocity)
    assert np.linalg.norm(level) == pytest.approx(np.linalg.norm(velocity[:3]))
    up = (
        -math.sin(pitch) * 0.3
        - math.cos(pitch) * math.sin(roll) * 0.2
        + math.cos(pitch) * math.cos(roll) * 0.1
    )
    assert level[2] == pytest.approx(up, abs=1e-12)


def test_energy_is_summed_over_samples_and_not_over_gaps():
    energy = Energy()
    assert energy.add(0.0, (10, 20)) == 0
    assert energy.add(0.5, (30, 40)) == 15
    assert energy.add(10.0, (50, math.nan)) == 15
    assert energy.add(11.0, ()) == 65
    assert energy.add(0.1, (1,)) == 0  # the run was reset


@pytest.mark.parametrize('name', [*VEHICLES, *OTHERS])
def test_every_vehicle_can_be_drawn(name):
    vehicle = load_vehicle(name)
    look = vehicle_visuals(vehicle)
    json.dumps(look, allow_nan=False)
    assert look['told'] == []
    known = {'base_link'}
    for link in look['links']:
        assert link['name'] == 'base_link' or link['parent'] in known
        known.add(link['name'])
    assert sum(len(link.get('visuals', [])) for link in look['links']) > 0
    moving = {e['joint']['name'] for e in look['links'] if 'joint' in e}
    arm = vehicle.manipulator
    assert moving == (set() if arm is None else set(arm.names))
    assert [t['name'] for t in look['thrusters']] == list(vehicle.thrusters.names)


def test_a_lost_mesh_costs_that_mesh_alone(tmp_path):
    text = (
        '<robot name="r"><link name="base_link"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
        '<visual><geometry><mesh filename="gone.stl"/></geometry></visual>'
        '<visual><geometry><sphere radius="0.2"/></geometry></visual></link></robot>'
    )
    look = vehicle_visuals(replace(load_vehicle(text), folder=tmp_path))
    assert [v['kind'] for v in look['links'][0]['visuals']] == ['sphere']
    assert len(look['told']) == 1
    assert 'gone.stl' in look['told'][0]


def test_the_sea_of_a_page_is_the_sea_of_the_run():
    environment = run_environment('moderate_sea')
    waves = np.array(scene_visuals(environment)['waves'])
    points = np.random.default_rng(1).uniform(-50, 50, (20, 2))
    k_x, k_y, omega, phase, amplitude = waves.T
    time = 12.5
    heights = np.cos(points @ np.stack([k_x, k_y]) - omega * time + phase) @ amplitude
    np.testing.assert_allclose(heights, environment.at(time).elevation(points), atol=1e-9)


def test_surroundings_of_shipped_environments_are_json():
    for name in ('', 'shallow_sand', 'deep_rock', 'pool', 'test_grid', 'swell'):
        around = scene_visuals(run_environment(name))
        json.dumps(around, allow_nan=False)
    around = scene_visuals(run_environment('pool'))
    assert around['planes']


def test_a_chart_has_the_contours_of_the_ground():
    environment = run_environment('shallow_sand')
    chart = chart_visuals(environment, [('1', (2.0, 3.0, -1.0))])
    json.dumps(chart, allow_nan=False)
    depths = {one['depth'] for one in chart['contours']}
    assert len(depths) > 4
    lines = [np.frombuffer(base64.b64decode(c['line']), '<f4') for c in chart['contours']]
    assert 100 < sum(map(len, lines)) / 2 <= 20_000
    for one, line in zip(chart['contours'], lines, strict=True):
        x, y = line.reshape(-1, 2).astype(float).T
        error = environment.scene.terrain.height(x, y) + one['depth']
        assert np.abs(error).mean() < 0.05
    assert chart['text'] == 'depth contours every 0.1 m, below z = 0'
    assert (chart['origin'], chart['graticule']) == (None, [])  # nobody said where it is
    assert chart['waypoints'] == [{'name': '1', 'at': [2.0, 3.0]}]


def test_a_chart_of_rough_ground_stays_small():
    heights = np.random.default_rng(3).uniform(-40.0, 5.0, (300, 300))
    terrain = HeightMap(np.zeros(2), 1.0, heights, 'rock')
    chart = chart_visuals(Environment(scene=Scene(terrain=terrain)))
    assert len(json.dumps(chart)) < 600_000
    assert 0.0 in {one['depth'] for one in chart['contours']}  # the coast


def test_level_ground_has_a_chart_and_deep_water_none():
    assert chart_visuals(run_environment('test_grid'))['text'] == 'level ground, 10 m deep'
    assert chart_visuals(run_environment('pool'))['high'] == pytest.approx([12.5, 6.25])
    assert chart_visuals(run_environment('')) is None


def test_the_graticule_of_a_chart_is_where_its_degrees_are():
    around = parse_environment(
        'origin: {latitude: 59.9, longitude: 10.7, heading: 30}\nseabed: {depth: 9}', 'a.yaml'
    )
    chart = chart_visuals(around)
    assert chart['north'] == pytest.approx([-0.5, math.sqrt(0.75)])
    assert {line['parallel'] for line in chart['graticule']} == {True, False}
    for line in chart['graticule']:
        points = np.frombuffer(base64.b64decode(line['line']), '<f4').reshape(-1, 2)
        found = around.origin.coordinates(np.column_stack([points, np.zeros(len(points))]))
        angle = np.mean(found[0] if line['parallel'] else found[1])
        parts = re.match(r"(\d+)°(\d+)'(?:(\d+)\")?", line['label']).groups()
        d, m, s = (float(part or 0) for part in parts)
        assert angle == pytest.approx(d + m / 60 + s / 3600, abs=1e-8)


def test_an_instructor_drops_debris_ahead_of_the_vehicle_and_of_no_other_body():
    pytest.importorskip('nicegui', reason='nicegui: not installed (extra console)')
    from marine_sim_ros.console.page.instructor import body_ahead

    around = scene_visuals(run_environment('debris'))
    assert around['movable'] == ['crate', 'pallet', 'seal']
    (crate,) = around['bodies'][0]['links'][0]['visuals']
    assert crate['colour'][:3] == [0.75, 0.45, 0.1]  # not that of its material
    assert len(around['bodies'][2]['links'][0]['visuals']) == 12
    assert around['bodies'][2]['obstacles'] == []
    assert scene_visuals(run_environment('valve_panel'))['movable'] == []  # joints hold them
    frame = {'position': [1.0, 2.0, -6.0], 'rpy': [0.1, 0.2, math.pi / 2]}
    body = body_ahead('crate', frame)
    assert body['position'] == pytest.approx([1.0, 4.0, -4.5], abs=1e-12)
    change = parse_change(json.dumps({'bodies': [body]}), 'change', 3.0)
    environment = run_environment('debris')
    assert change.fields(environment, environment)['body_changes'] == (change,)
    assert body_ahead('crate', frame | {'position': [0.0, 0.0, 0.2]})['position'][2] == -0.5
    assert body_ahead('crate', {}) is body_ahead('crate', frame | {'rpy': [None] * 3}) is None
