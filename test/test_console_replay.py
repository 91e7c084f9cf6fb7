# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A bag at any time, without a browser: under other names, and with another clock."""

import json
import math
import random
import shutil

import numpy as np
import pytest
from bags import odometry
from hostile import forget_pages
from test_analyze import foreign, plain

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.bags.vehicle_record import parse_maps
from marine_sim_ros.console.replay import Replay
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.tools.main import main

OFFSET = 1_700_000_000_123_000_000
RECORDED = {'parameters': {'vehicle': 'simple_rov', 'environment': 'pool'}}
MAPS = ('odom:=/rov/odometry', 'thrusters/pwm:=/mavros/rc/out')


@pytest.fixture(scope='module')
def sea(tmp_path_factory):
    """A run as a vehicle at sea would have recorded it, and its trajectory."""
    trajectory = simulate(load_vehicle('bluerov2'), load_scenario('dive'), duration=4.0)
    path = foreign(tmp_path_factory.mktemp('sea') / 'bag', trajectory, offset=OFFSET)
    return str(path), trajectory


@pytest.fixture
def replay(sea):
    result = Replay(sea[0], vehicle='bluerov2', maps=parse_maps(MAPS))
    yield result
    result.close()


@pytest.mark.parametrize('time', [0.5, 1.7, 3.9])
def test_a_moment_under_other_names_is_that_of_the_run(replay, sea, time):
    _, trajectory = sea
    found = replay.telemetry_frame(time)
    i = int(np.argmin(abs(trajectory.stamp - round(found['time'] * 1e9))))
    assert found['time'] == pytest.approx(time, abs=0.011)
    assert found['position'] == pytest.approx(trajectory.position[i].tolist(), abs=1e-9)
    assert found['turn'] == pytest.approx(trajectory.orientation[i].tolist(), abs=1e-9)
    assert found['rates'] == pytest.approx(trajectory.velocity[i, 3:].tolist(), abs=1e-9)
    assert len(found['pwm']) >= 6


def test_curves_and_sums_come_when_it_has_been_read_once(replay, sea):
    _, trajectory = sea
    assert replay.history(3.0, 2.0) == []
    assert 'vehicle' not in replay.overview()
    replay.read_once()
    past = replay.history(3.0, 2.0)
    assert past[0]['time'] == pytest.approx(1.0, abs=0.02)
    assert past[-1]['time'] == pytest.approx(3.0, abs=0.02)
    steps = np.diff(trajectory.position, axis=0)
    distance = float(np.sum(np.linalg.norm(steps, axis=1)))
    motion = replay.overview()['vehicle']['motion']
    assert motion['distance_m'] == pytest.approx(distance, rel=1e-3)
    assert motion['max_depth_m'] == pytest.approx(-trajectory.position[:, 2].min(), abs=1e-6)
    assert math.isclose(motion['duration_s'], 4.0, abs_tol=0.02)


def test_the_energy_of_a_moment_is_the_sum_of_the_powers_before_it(tmp_path):
    watts = np.random.default_rng(4).uniform(0, 90, (60, 6)).astype(np.float32)
    second = 10**9

    def messages(types):
        pose = (0, 0, -1, 0, 0, 0, 1)
        for i, power in enumerate(watts):
            stamp = i * second // 10
            yield (
                '/r/odom',
                'nav_msgs/msg/Odometry',
                stamp,
                odometry(types, stamp, pose, np.zeros(6)),
            )
            layout = types['std_msgs/msg/MultiArrayLayout']([], 0)
            message = types['std_msgs/msg/Float32MultiArray'](layout, power)
            yield '/r/thrusters/power', 'std_msgs/msg/Float32MultiArray', stamp, message

    replay = Replay(str(plain(tmp_path / 'bag', messages)), vehicle='bluerov2')
    assert replay.telemetry_frame(3.0)['energy'] is None  # it has not been read yet
    replay.read_once()
    each = 0.1 * watts.astype(float).sum(axis=1)
    for i in (0, 10, 35, 59):
        found = replay.telemetry_frame(i / 10)
        assert found['power'] == pytest.approx(watts[i].tolist())
        assert found['energy'] == pytest.approx(each[:i].sum(), abs=1e-6)
    total = replay.overview()['vehicle']['energy']['total_J']
    assert found['energy'] == pytest.approx(total)
    replay.close()


@pytest.mark.parametrize('seed', range(2))
def test_a_damaged_bag_is_shown_or_named_in_one_line(tmp_path, seed):
    """Bytes that were changed, zeroed or cut off, anywhere, also in a message that is shown."""
    vehicle, rng, told = load_vehicle('simple_rov'), random.Random(seed), []
    run = simulate(vehicle, load_scenario('dive'), dt=0.02, duration=0.4)
    write_recording(tmp_path / 'run', vehicle, RunOptions(vehicle='simple_rov'), run)
    file = tmp_path / 'run' / 'bag' / 'bag.mcap'
    sound = file.read_bytes()
    for _ in range(8):
        content = bytearray(sound)
        at = rng.randrange(len(content))
        match rng.choice(['change', 'zero', 'cut']):
            case 'change':
                for _ in range(rng.choice([1, 50])):
                    content[rng.randrange(len(content))] = rng.randrange(256)
            case 'zero':
                content[at : at + 64] = bytes(len(content[at : at + 64]))
            case 'cut':
                del content[at:]
        file.write_bytes(content)
        try:
            replay = Replay(str(tmp_path / 'run'))
            replay.read_once()
            replay.history(0.3, 1.0), replay.overview(), replay.sensors(0.3)
            told.append(replay.failed)
            replay.close()
        except RecordingError as error:
            told.append(str(error))
    assert any(told)
    assert not any('\n' in line for line in told)


def test_a_damaged_message_is_named_while_it_is_shown(tmp_path):
    vehicle = load_vehicle('simple_rov')
    run = simulate(vehicle, load_scenario('dive'), dt=0.02, duration=0.4)
    write_recording(tmp_path / 'run', vehicle, RunOptions(vehicle='simple_rov'), run)
    file = tmp_path / 'run' / 'bag' / 'bag.mcap'
    content = file.read_bytes()
    last = content.rindex(b'map\0')  # the frame of the last odometry, after its length
    file.write_bytes(content[: last - 4] + bytes(4) + content[last:])
    replay = Replay(str(tmp_path / 'run'))
    replay.telemetry_frame(0.1)
    for look in (replay.telemetry_frame, replay.sensors):
        with pytest.raises(RecordingError, match='cannot be read: '):
            look(0.4)
    replay.close()


@pytest.mark.parametrize(
    ('manifest', 'told'),
    [
        ({'vehicles': {'/rov': RECORDED, '/other': {}}}, ('simple_rov', 'pool')),
        (RECORDED, ('simple_rov', 'pool')),
        ({'vehicles': {'/other': RECORDED}}, None),
        ({'vehicles': ['/rov']}, None),
        ([], None),
    ],
)
def test_a_manifest_of_a_fleet_names_vehicle_and_environment(sea, tmp_path, manifest, told):
    shutil.copytree(sea[0], tmp_path / 'bag')
    (tmp_path / 'manifest.json').write_text(json.dumps(manifest))
    arguments = {'text': str(tmp_path), 'maps': parse_maps(MAPS)}
    if told is None:
        with pytest.raises(RecordingError, match="does not say which vehicle 'rov' is"):
            Replay(**arguments)
        return
    found = Replay(**arguments)
    assert (found.vehicle.name, found.scenery['around']['name']) == told
    found.close()


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        (['--host', '203.0.113.1'], 'expected an address of this machine'),
        (['--host', 'no.such.'], 'expected a name or an address of this machine'),
        (['--port', '70000'], 'no such port; expected a free port'),
    ],
)
def test_an_address_of_another_machine_is_told_before_the_bag_is_read(capsys, options, expected):
    with pytest.raises(SystemExit) as ended:
        main(['console', '/no/bag', *options])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith('ERROR: console: cannot listen on ')
    assert expected in error
    assert error.count('\n') == 1


def test_a_map_that_fits_nothing_is_told(sea):
    with pytest.raises(ParameterError, match='no bag has /sub/odometry; expected one of'):
        Replay(sea[0], vehicle='bluerov2', maps=parse_maps(['odom:=/sub/odometry']))
    with pytest.raises(RecordingError, match='expected of odom'):
        Replay(sea[0], vehicle='bluerov2', maps=parse_maps(['odom:=/mavros/rc/out']))
    with pytest.raises(RecordingError, match='does not say which vehicle'):
        Replay(sea[0], maps=parse_maps(MAPS))


TIMES = (5.0, 1.5, 3.3)


@pytest.fixture(scope='module')
def surveyed(tmp_path_factory):
    """A recorded run over sand with sensors that look down, and its trajectory."""
    path = tmp_path_factory.mktemp('surveyed') / 'run'
    arguments = {name: 'true' for name in ('dvl', 'altimeter', 'imaging_sonar')}
    sets = [part for name in arguments for part in ('--set', f'{name}:=true')]
    options = ['--environment', 'shallow_sand', '--scenario', 'dive', '--duration', '6']
    with pytest.raises(SystemExit) as ended:  # 1: the scenario is cut short
        main(['simulate', 'bluerov2', *options, *sets, '--record', str(path)])
    assert ended.value.code in (0, 1)
    vehicle, sand = load_vehicle('bluerov2', **arguments), load_environment('shallow_sand')
    return path, simulate(vehicle, load_scenario('dive'), environment=sand, duration=6.0)


@pytest.mark.long
@pytest.mark.parametrize('time', TIMES)
def test_sensors_show_what_they_had_read_at_the_time(surveyed, time):
    path, trajectory = surveyed
    replay = Replay(str(path))
    rows = {row['name']: row for row in replay.sensors(time)}
    assert rows.keys() == {one['name'] for one in replay.scenery['sensors']}
    assert {rows[n]['state'] for n in ('imu', 'dvl', 'altimeter', 'barometer')} == {'ok'}
    assert rows['imu']['rate'] == pytest.approx(100, rel=0.01)
    series = trajectory.sensors['altimeter']
    i = int(np.searchsorted(series.stamp, round(time * 1e9), side='right')) - 1
    told = float(rows['altimeter']['reading'].split()[0])
    assert told == pytest.approx(float(series['range'][i]), abs=0.0051)
    assert rows['altimeter']['age'] == pytest.approx(time - series.stamp[i] / 1e9, abs=0.0051)
    picture = replay.picture('imaging_sonar', time)
    drawing = rows['imaging_sonar']['drawing']
    assert len(picture) == drawing['width'] * drawing['height']
    assert max(picture) > 100
    replay.close()


def test_a_picture_has_a_number_of_its_own_at_each_time(surveyed):
    replay = Replay(str(surveyed[0]))
    serials = set()
    for time in TIMES:
        (row,) = (row for row in replay.sensors(time) if row['name'] == 'imaging_sonar')
        serials.add(row['drawing']['serial'])
    assert len(serials) == len(TIMES)
    assert replay.picture('imaging_sonar', TIMES[0]) != replay.picture('imaging_sonar', TIMES[1])
    replay.close()


def test_a_bag_without_sensors_shows_none(replay):
    assert replay.scenery['sensors'] == []
    assert replay.sensors(1.0) == []


def test_every_parameter_of_the_page_is_checked(replay):
    pytest.importorskip('nicegui')
    from fastapi.testclient import TestClient

    from marine_sim_ros.console.page.recorded import replay_application

    forget_pages()
    page = TestClient(replay_application(replay, '<b>bag</b>'))
    for time in ('0', '2.5', str(replay.duration), str(replay.duration + 0.1)):
        assert 'frame' in page.get(f'/moment?time={time}&window=30&sensors=true').json()
    for query in (
        'time=nan&window=30', 'time=1&window=nan', 'time=inf&window=30', 'time=-inf&window=30',
        'time=-1e308&window=-1', 'time=1e18&window=30', 'time=x&window=1', 'time=1&window=1e308',
        'time=1&window=0', 'time=1&window=-5', 'time=9999999999999999999999&window=1',
        'time=1', 'window=1', '', 'time=1&window=30&sensors=maybe', 'time=-5&window=30',
    ):  # fmt: skip
        answer = page.get(f'/moment?{query}')
        assert answer.status_code == 400, query
        assert answer.text.count('\n') == 1
        assert answer.headers['content-type'].startswith('text/plain')
    for path in ('sonar/x?time=nan', 'sonar/imu?time=1e300', 'sonar/imu'):
        assert page.get(f'/{path}').status_code == 400
    for path in ('sonar/..%2f..%2fetc%2fpasswd?time=1', 'sonar/none?time=1'):
        assert page.get(f'/{path}').status_code == 404


def test_seeks_side_by_side_are_all_answered(replay):
    pytest.importorskip('nicegui')
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(32) as pool:
        times = [0.5 + 0.03 * i for i in range(96)]
        found = list(pool.map(replay.telemetry_frame, times))
    for time, frame in zip(times, found, strict=True):
        assert frame == replay.telemetry_frame(time)


def test_time_begins_with_the_first_odometry(tmp_path):
    """Of a recording that begins under way: its latched messages are older by 40 s."""
    second = 10**9

    def messages(types):
        yield '/r/note', 'std_msgs/msg/String', 3 * second, types['std_msgs/msg/String']('latched')
        for stamp in range(43 * second, 53 * second, second // 10):
            pose = (stamp / second, 0, -1, 0, 0, 0, 1)
            message = odometry(types, stamp, pose, np.zeros(6))
            yield '/r/odom', 'nav_msgs/msg/Odometry', stamp, message

    replay = Replay(str(plain(tmp_path / 'bag', messages)), vehicle='bluerov2')
    assert replay.scenery['end'] == replay.duration == pytest.approx(9.9)
    for time in (0.0, 4.0, 9.9):
        found = replay.telemetry_frame(time)
        assert found['time'] == pytest.approx(time)
        assert found['position'][0] == pytest.approx(43 + time)
    replay.close()
