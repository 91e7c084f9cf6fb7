# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Missions: uploaded by MAVLink, read from files, and flown."""

import json
import math
import string
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip('pymavlink.dialects.v20.ardupilotmega')
from test_mavlink import Ground, Rig, fly, rigs  # noqa: F401

from marine_sim_ros.autopilot.mavlink.mission import MissionItem, item_fault
from marine_sim_ros.autopilot.mavlink.mission_files import parse_mission, read_mission
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.geodesy import Origin

HOME = Origin()
HOME_ITEM = MissionItem(16, 0, latitude=HOME.latitude, longitude=HOME.longitude)


def at(north, east, down, command=16, *params):
    """Return an item at north, east, down of home."""
    latitude, longitude = HOME.place(east, north)
    four = (*params, *[0.0] * (4 - len(params)))
    return MissionItem(command, 3, four, latitude, longitude, -down)


def do(command, *params):
    return MissionItem(command, 2, (*params, *[0.0] * (4 - len(params))))


def upload(rig, items, kind='int'):
    """Upload a mission as a ground station does; return the result, and the items asked for."""
    rig.mav.mission_count_send(1, 1, len(items), 0)
    answers, asked = rig.exchange(), []
    for _ in range(len(items) + 1):
        acks = [m for m in answers if m.get_type() == 'MISSION_ACK']
        if acks:
            return acks[0].type, asked
        (request,) = (m for m in answers if m.get_type() == 'MISSION_REQUEST')
        asked.append(request.seq)
        send(rig, request.seq, items[request.seq], kind)
        answers = rig.exchange()
    raise AssertionError('neither request nor acknowledgement')


def send(rig, seq, item, kind='int', current=0):
    head = (1, 1, seq, item.frame, item.command, current, 1, *item.params)
    if kind == 'int':
        x, y = round(item.latitude * 1e7), round(item.longitude * 1e7)
        rig.mav.mission_item_int_send(*head, x, y, item.altitude, 0)
    else:
        rig.mav.mission_item_send(*head, item.latitude, item.longitude, item.altitude, 0)


def reached(rig):
    rig.read()
    return [m.seq for m in rig.seen if m.get_type() == 'MISSION_ITEM_REACHED']


def start(rig, items):
    assert upload(rig, [HOME_ITEM, *items])[0] == 0
    rig.step()
    rig.arm()
    assert rig.ask(300) == [0]


def passes(track, place, within):
    return np.linalg.norm(track - np.array(place), axis=1).min() < within


@pytest.mark.parametrize('kind', ['int', 'float'])
def test_a_mission_goes_up_and_comes_back_as_it_was(rigs, kind):  # noqa: F811
    rig = rigs()
    items = [HOME_ITEM, at(5, 0, 2, 16, 3.0), do(178, 1, 0.4, -1), at(5, 5, 3), do(20)]
    assert upload(rig, items, kind) == (0, [0, 1, 2, 3, 4])
    rig.mav.mission_request_list_send(1, 1, 0)
    (count,) = (m.count for m in rig.exchange() if m.get_type() == 'MISSION_COUNT')
    assert count == 5
    for seq in range(1, count):
        rig.mav.mission_request_int_send(1, 1, seq, 0)
        (item,) = (m for m in rig.exchange() if m.get_type() == 'MISSION_ITEM_INT')
        assert (item.command, item.frame) == (items[seq].command, items[seq].frame)
        assert item.param1 == items[seq].params[0]
        # A float of MISSION_ITEM has 24 bits: 8e-6 degrees of a longitude of 118.
        error = 1e-7 if kind == 'int' else 8e-6
        assert item.y * 1e-7 == pytest.approx(items[seq].longitude, abs=error)
    rig.mav.mission_request_int_send(1, 1, 9, 0)
    assert [m.type for m in rig.exchange() if m.get_type() == 'MISSION_ACK'] == [13]
    rig.mav.mission_clear_all_send(1, 1, 0)
    assert [m.type for m in rig.exchange() if m.get_type() == 'MISSION_ACK'] == [0]
    assert rig.ask(176, 1, 3) == [4]


@pytest.mark.parametrize(
    ('item', 'result', 'text'),
    [
        (do(205), 3, 'command 205 is not simulated'),
        (MissionItem(16, 10, latitude=1.0), 2, 'frame 10'),
        (MissionItem(16, 3, (math.nan, 0, 0, 0)), 6, 'parameter 1'),
        (MissionItem(19, 3, (5, 0, 0, math.nan), 1.0, 1.0), 9, 'parameter 4'),
        (MissionItem(16, 3, (math.inf, 0, 0, 0)), 6, 'parameter 1'),
        (MissionItem(16, 3, latitude=91.0), 10, 'no place'),
        (MissionItem(16, 3, latitude=1.0, altitude=5.0), 12, 'expected 0 or less'),
        (do(177, 7, 1), 6, 'DO_JUMP to 7'),
    ],
)
def test_an_item_that_cannot_be_flown_is_refused_at_once(rigs, item, result, text):  # noqa: F811
    rig = rigs()
    if not any(math.isinf(p) for p in item.params):
        assert upload(rig, [HOME_ITEM, item, at(1, 1, 1)]) == (result, [0, 1])
        assert text in rig.texts()
        assert not rig.pilot.mission.items
    assert item_fault(1, 3, item)[0] == result
    assert text in item_fault(1, 3, item)[1]


def test_an_upload_is_asked_for_again_and_given_up(rigs):  # noqa: F811
    rig = rigs()
    rig.mav.mission_count_send(1, 1, 2, 0)
    rig.exchange()
    for _ in range(3):
        assert [m.seq for m in rig.exchange(1.1) if m.get_type() == 'MISSION_REQUEST'] == [0]
    send(rig, 1, HOME_ITEM)  # out of turn
    assert [m.type for m in rig.exchange() if m.get_type() == 'MISSION_ACK'] == [13]
    assert [m.type for m in rig.exchange(9.0) if m.get_type() == 'MISSION_ACK'] == [15]
    send(rig, 0, HOME_ITEM)
    assert [m.type for m in rig.exchange() if m.get_type() == 'MISSION_ACK'] == [1]
    rig.mav.mission_count_send(1, 1, 4, 1)  # a fence
    assert [m.type for m in rig.exchange() if m.get_type() == 'MISSION_ACK'] == [3]
    rig.mav.mission_count_send(1, 1, 5000, 0)
    assert [m.type for m in rig.exchange() if m.get_type() == 'MISSION_ACK'] == [4]


@pytest.mark.parametrize('heading', [0.0, 130.0])
def test_waypoints_are_flown_in_their_order(rigs, heading):  # noqa: F811
    rig = rigs(origin=Origin(heading=heading))
    start(rig, [at(8, 0, 3), at(8, 6, 4, 16, 2.0), do(20)])
    track = fly(rig, 120, until=lambda: rig.pilot.mission.complete)
    assert rig.pilot.mission.complete
    assert reached(rig) == [1, 2, 3]
    for place in ((8, 0, 3), (8, 6, 4), (0, 0, 0)):
        assert passes(track, place, 2.0), place
    np.testing.assert_allclose(fly(rig, 20)[-1], [0, 0, 0], atol=0.05)  # and it stays there
    # Between waypoints it is on the line.
    first = track[np.argmin(np.linalg.norm(track - [4, 0, 2.5], axis=1))]
    np.testing.assert_allclose(first, [4, 0, 2.5], atol=0.2)
    rig.vehicle._telemetry.send('MISSION_CURRENT')
    current = [m for m in rig.read() if m.get_type() == 'MISSION_CURRENT'][-1]
    assert (current.total, current.mission_state) == (3, 5)  # MISSION_STATE_COMPLETE


def test_it_looks_ahead_and_where_it_is_told(rigs):  # noqa: F811
    """Items between two waypoints act on the way to the second: 20 m before it, it turns."""
    rig = rigs()
    start(rig, [at(0, 10, 2), do(114, 20), do(115, 180, 0, 1, 0), at(0, 50, 2), at(0, 60, 2)])
    fly(rig, 60, until=lambda: 1 in reached(rig))
    track = fly(rig, 60, until=lambda: 2 in reached(rig))
    assert rig.pilot.frame.heading(rig.state) == pytest.approx(math.pi / 2, abs=0.4)
    assert track[-1][1] == pytest.approx(30, abs=1.0)
    fly(rig, 20, until=lambda: 3 in reached(rig))
    assert abs(rig.pilot.frame.heading(rig.state)) == pytest.approx(math.pi, abs=0.1)
    assert reached(rig) == [1, 2, 3]


def test_a_condition_is_resumed_and_dropped_at_its_waypoint(rigs):  # noqa: F811
    rig = rigs()
    start(rig, [at(0, 10, 2), do(112, 4), do(115, 0, 0, 1, 0), at(0, 40, 2)])
    fly(rig, 60, until=lambda: 1 in reached(rig))
    assert rig.ask(176, 1, 16) == [0]  # POSHOLD
    fly(rig, 6)
    assert rig.ask(176, 1, 3) == [0]
    fly(rig, 20, until=lambda: 3 in reached(rig))
    assert reached(rig) == [1, 2, 3]
    start(rig, [at(0, 50, 2), do(112, 900), do(115, 0, 0, 1, 0), at(0, 60, 2), at(0, 60, 1)])
    fly(rig, 90, until=lambda: rig.pilot.mission.complete)
    assert reached(rig)[3:] == [1, 4, 5]


def test_items_that_ardusub_skips_are_named(rigs):  # noqa: F811
    rig = rigs()
    items = [HOME_ITEM, at(5, 0, 2), do(178, 1, 0.4, -1), do(178, 1, 0.4), do(115, 90), do(20)]
    assert upload(rig, items)[0] == 0
    assert 'skipped by ArduSub 4.5 (Bad alt frame): items 3, 4, 5' in rig.texts()


def test_a_survey_is_flown_past_its_camera_items(rigs):  # noqa: F811
    rig = rigs()
    start(rig, [at(3, 0, 2), do(206, 1.5), do(203), at(3, 2, 2), do(206, 0)])
    assert 'no camera is triggered here: items 2, 3, 5' in rig.texts()
    fly(rig, 30, until=lambda: rig.pilot.mission.complete)
    assert reached(rig) == [1, 2, 3, 4]


def test_speed_delays_and_jumps(rigs):  # noqa: F811
    rig = rigs()
    start(rig, [do(178, 1, 0.2), at(4, 0, 2), do(93, 5), at(0, 0, 2), do(177, 2, 1), at(0, 3, 2)])
    began = rig.time
    fly(rig, 30, until=lambda: 2 in reached(rig))
    assert rig.time - began == pytest.approx(4 / 0.2, rel=0.05)
    fly(rig, 30, until=lambda: 3 in reached(rig))
    assert rig.time - began == pytest.approx(20 + 5, rel=0.05)
    fly(rig, 120, until=lambda: rig.pilot.mission.complete)
    assert [n for n in reached(rig) if n != 1] == [2, 3, 4, 2, 3, 4, 6]


def test_a_speed_ends_with_the_mode_in_which_it_was_set(rigs):  # noqa: F811
    rig = rigs()
    start(rig, [do(178, 1, 0.2), at(4, 0, 2)])
    fly(rig, 1)
    assert rig.pilot.mission.level_speed == pytest.approx(0.2)
    assert rig.ask(176, 1, 4) == [0]  # GUIDED
    assert math.isnan(rig.pilot.mission.level_speed)
    assert rig.ask(178, 1, 0.3) == [0]
    fly(rig, 1)
    assert rig.pilot.mission.level_speed == pytest.approx(0.3)


def test_a_mission_of_jumps_alone_ends(rigs):  # noqa: F811
    rig = rigs()
    start(rig, [do(178, 1, 0.2), do(177, 1, -1), at(1, 0, 1)])
    rig.step()
    assert rig.pilot.mission.complete
    assert 'without a way on' in rig.texts() or 'without a way on' in _read(rig)


def _read(rig):
    rig.read()
    return rig.texts()


def test_circles_and_landing(rigs):  # noqa: F811
    rig = rigs()
    start(rig, [at(10, 0, 3, 18, 2, 0, 4.0), at(10, 0, 0, 21)])
    track = fly(rig, 300, until=lambda: 1 in reached(rig))
    away = track[len(track) // 2 :] - [10, 0, 3]
    np.testing.assert_allclose(np.linalg.norm(away[:, :2], axis=1), 4.0, atol=0.6)
    angles = np.unwrap(np.arctan2(away[:, 1], away[:, 0]))
    assert angles[-1] - angles[0] > 0  # clockwise: from north to east
    track = fly(rig, 100, until=lambda: rig.pilot.mission.complete)
    np.testing.assert_allclose(fly(rig, 10)[-1], [10, 0, 0], atol=0.1)


def test_a_mission_is_paused_chosen_and_resumed(rigs):  # noqa: F811
    rig = rigs()
    start(rig, [at(6, 0, 2), at(6, 6, 2), at(0, 6, 2)])
    fly(rig, 60, until=lambda: 1 in reached(rig))
    fly(rig, 2)
    assert rig.ask(176, 1, 16) == [0]  # POSHOLD
    here = fly(rig, 5)
    np.testing.assert_allclose(here[-1], here[30], atol=0.1)
    assert rig.ask(176, 1, 3) == [0]
    fly(rig, 60, until=lambda: 2 in reached(rig))
    assert reached(rig) == [1, 2]
    rig.mav.mission_set_current_send(1, 1, 1)
    assert [m.seq for m in rig.exchange() if m.get_type() == 'MISSION_CURRENT'] == [1]
    fly(rig, 60, until=lambda: len(reached(rig)) > 2)
    assert reached(rig) == [1, 2, 1]
    assert rig.ask(224, 9) == [2]


# --- files


def waypoints(items):
    rows = ['QGC WPL 110']
    for k, i in enumerate(items):
        numbers = (*i.params, i.latitude, i.longitude, i.altitude)
        rows.append(
            '\t'.join([str(k), '0', str(i.frame), str(i.command), *map(repr, numbers), '1'])
        )
    return '\n'.join(rows) + '\n'


def plan(items, **more):
    return json.dumps(
        {
            'fileType': 'Plan',
            'version': 1,
            'groundStation': 'QGroundControl',
            'geoFence': {'circles': [], 'polygons': [], 'version': 2},
            'rallyPoints': {'points': [], 'version': 2},
            'mission': {
                'plannedHomePosition': [items[0].latitude, items[0].longitude, 0],
                'items': [simple(i, k) for k, i in enumerate(items[1:], 1)],
                'version': 2,
            },
            **more,
        }
    )


def simple(item, number):
    params = [None if math.isnan(p) else p for p in item.params]
    return {
        'type': 'SimpleItem',
        'autoContinue': True,
        'command': item.command,
        'doJumpId': number,
        'frame': item.frame,
        'params': [*params, item.latitude, item.longitude, item.altitude],
    }


NUMBERS = st.floats(0, 100).map(lambda x: round(x, 3))
PLACES = st.builds(
    MissionItem, st.sampled_from([16, 17, 18, 19, 21]), st.sampled_from([0, 3]),
    st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), st.floats(-80, 80), st.floats(-179, 179),
    st.floats(-200, 0),
)  # fmt: skip


@given(items=st.lists(PLACES, min_size=1, max_size=6), form=st.sampled_from([waypoints, plan]))
def test_what_is_written_is_read(items, form):
    items = [HOME_ITEM, *items]
    assert list(parse_mission(form(items), 'm')) == items


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=9), inner, max_size=4)
    ),
    max_leaves=9,
)


@given(
    text=st.text(st.characters() | st.sampled_from(string.printable), max_size=80),
    head=st.sampled_from(['', '{', 'QGC WPL 110\n', 'QGC WPL']),
)
def test_any_text_is_a_mission_or_one_line(text, head):
    one_line(head + text)


@given(
    key=st.sampled_from(['items', 'plannedHomePosition', 'fileType', 'mission', 'geoFence']),
    field=st.sampled_from(['', 'type', 'command', 'frame', 'params', 'doJumpId']),
    value=ANYTHING,
)
def test_any_value_in_a_plan_is_a_mission_or_one_line(key, field, value):
    whole = json.loads(plan([HOME_ITEM, at(1, 2, 3), do(177, 1, 2)]))
    if field:
        whole['mission']['items'][1][field] = value
    elif key in whole:
        whole[key] = value
    else:
        whole['mission'][key] = value
    one_line(json.dumps(whole))


def one_line(text):
    said = ''
    items = ()
    try:
        items = parse_mission(text, 'm')
    except ParameterError as error:
        said = str(error)
    assert '\n' not in said
    assert bool(items) != said.startswith('m: ')
    assert all(item_fault(k, len(items), i)[0] == 0 for k, i in enumerate(items))


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('', 'no mission'),
        ('QGC WPL 120\n', "line 1 is 'QGC WPL 120'"),
        ('QGC WPL 110\n0 1 0 16 0 0 0 0 1 1 0\n', 'line 2: 11 columns; expected 12'),
        ('QGC WPL 110\n0 1 0 16 0 0 0 0 1 1 0 1\n2 0 3 16 0 0 0 0 1 1 -1 1\n', 'expected 1'),
        ('QGC WPL 110\n0 1 0 16 0 0 0 0 1 1 0 1\n1 0 3 205 0 0 0 0 1 1 -1 1\n', 'line 3: command'),
        ('QGC WPL 110\n0 1 0 16 0 0 0 0 1 1 0 1\n1 0 3 x 0 0 0 0 1 1 -1 1\n', 'column 4'),
        ('{', 'line 1'),
        ('{"version": ' + '9' * 5000 + '}', 'line 1: nested too deeply, or a number too long'),
        ('[' * 100000, 'expected a .plan'),
        ('{"a":' * 100000, 'line 1: nested too deeply'),
        ('{"fileType": "Mission"}', "'fileType': 'Plan'"),
        (plan([HOME_ITEM]), '0 items'),
        (plan([HOME_ITEM, at(1, 1, -2)]), 'items[0]: altitude is 2 m'),
        (plan([HOME_ITEM, MissionItem(22, params=(0, 0, 0, math.nan))]), 'items[0]: command 22'),
        (plan([HOME_ITEM, at(1, 1, 1)], geoFence={'polygons': [1]}), 'geoFence'),
        (plan([HOME_ITEM, at(1, 1, 1)], rallyPoints={'points': [1]}), 'rallyPoints'),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_line(tmp_path, text, said):
    path = tmp_path / 'm.plan'
    path.write_text(text)
    with pytest.raises(ParameterError, match=r'^[^\n]*$') as error:
        read_mission(str(path))
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_what_is_no_file_is_one_line(tmp_path):
    (tmp_path / 'binary').write_bytes(b'\xff\xfe\x00')
    for path in (tmp_path, tmp_path / 'none', tmp_path / 'binary', '/dev/zero'):
        with pytest.raises(ParameterError, match=r'^[^\n]*$'):
            read_mission(str(path))


def test_a_survey_of_a_plan_and_its_jumps(tmp_path):
    whole = json.loads(plan([HOME_ITEM, at(1, 0, 1), at(2, 0, 1)]))
    survey = {
        'type': 'ComplexItem',
        'complexItemType': 'survey',
        'TransectStyleComplexItem': {'Items': [simple(at(3, k, 1), 10 + k) for k in range(3)]},
    }
    jump = simple(do(177, 11, 2), 20)
    whole['mission']['items'] = [whole['mission']['items'][0], survey, jump]
    items = parse_mission(json.dumps(whole), 'm')
    assert len(items) == 6
    assert items[5].params[0] == 3  # the second item of the survey
    whole['mission']['items'][1] = {'type': 'ComplexItem', 'complexItemType': 'fwLandingPattern'}
    with pytest.raises(ParameterError, match=r"items\[1\] is 'fwLandingPattern'"):
        parse_mission(json.dumps(whole), 'm')


def test_a_mission_that_is_loaded_is_armed_and_flown(rigs):  # noqa: F811
    rig = rigs()
    rig.vehicle.fly([HOME_ITEM, at(2, 0, 2)])
    rig.vehicle.look_after(0.0, 5.0)
    assert not rig.arms  # no state is known
    rig.step()
    rig.vehicle.look_after(0.1, 5.0)
    assert [on for on, _ in rig.arms] == [True]
    fly(rig, 30, until=lambda: rig.pilot.mission.complete)
    assert reached(rig) == [1]


@pytest.mark.ros
def test_a_mission_file_is_flown_from_the_start(processes, tmp_path):
    path = tmp_path / 'line.plan'
    path.write_text(plan([HOME_ITEM, at(3, 0, 2), at(3, 2, 2)]))
    ground = Ground()
    processes.marine_sim(
        'run', 'bluerov2_heavy', '--autopilot', 'mavlink', '--composed', '--mission', path,
        '--dt', '0.02', '--ground-station', f'127.0.0.1:{ground.port}', stdout=subprocess.DEVNULL,
    )  # fmt: skip
    ground.until('MISSION_ITEM_REACHED', lambda m: m.seq == 1)
    ground.until('MISSION_ITEM_REACHED', lambda m: m.seq == 2)
    place = ground.until('LOCAL_POSITION_NED')
    np.testing.assert_allclose([place.x, place.y, place.z], [3, 2, 2], atol=2.0)
    ground.socket.close()


@pytest.mark.ros
@pytest.mark.parametrize('name', ['mission', 'ground-station-key'])
def test_files_that_are_none_are_one_line_before_anything_starts(processes, name, tmp_path):
    done = processes.marine_sim(
        'run', 'bluerov2', '--autopilot', 'mavlink', f'--{name}', tmp_path / 'none',
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _, errors = done.communicate(timeout=60)
    assert done.returncode == 2
    assert 'No such file' in errors
    assert 'Traceback' not in errors


del Rig
