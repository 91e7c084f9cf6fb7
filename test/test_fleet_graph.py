# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fleets as real nodes: one time, one bag, and every vehicle as if it were alone."""

import signal
from dataclasses import replace

import numpy as np
import psutil
import pytest
from graph import STEP, Watcher, manifest, stamp_of, ticks

from marine_sim_ros import load_scenario, load_vehicle
from marine_sim_ros.analysis.sensor_errors import compare_sensors
from marine_sim_ros.bags.description import (
    recorded_environment,
    recorded_neighbours,
    recorded_vehicle,
)
from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.model.library import parse_xacro_arguments
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs, split_runs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.simulation import simulate

pytestmark = pytest.mark.ros


@pytest.fixture
def watcher(ros_environment):
    result = Watcher()
    yield result
    result.close()


FILE = """
pattern: {shape: line, spacing: 2.0}
vehicles:
  - {vehicle: bluerov2, count: 2, arguments: {altimeter: true}}
  - {vehicle: bluerov2_heavy, name: heavy, initial: {position: [0.1, 0, -3], rpy: [0, 0.1, 1]}}
"""
TICKS = ticks(1.0)


def alone(run, simulated=simulate):
    """Return the hash of the trajectory of a vehicle's own run."""
    scenario = load_scenario(run.scenario)
    scenario = replace(
        scenario, position=run.initial_position, rpy=run.initial_rpy or scenario.rpy
    )
    vehicle = load_vehicle(run.vehicle, **parse_xacro_arguments(run.vehicle_arguments))
    return simulated(vehicle, scenario, seed=run.seed, dt=run.dt, duration=run.duration).sha256


@pytest.fixture(scope='module')
def runs():
    options = RunOptions(scenario='dive', duration=1.0, dt=STEP)
    return fleet_runs(FLEETS.parse(FILE, 'fleet.yaml'), options)


@pytest.fixture(scope='module')
def expected(runs):
    """The hashes of the vehicles, each alone, by namespace."""
    return {f'/{run.namespace}': alone(run) for run in runs}


def start(processes, tmp_path, folder, *more):
    """Run the fleet to its end; return what it printed."""
    path = tmp_path / 'fleet.yaml'
    path.write_text(FILE)
    process = processes.marine_sim(
        'run', '--fleet', path, '--scenario', 'dive', '--duration', 1, '--dt', STEP,
        '--real-time-factor', 0, '--record', folder, *more,
    )  # fmt: skip
    output, _ = process.communicate()
    assert process.returncode == 1, output  # the run ends before what the scenario expects
    assert 'Traceback' not in output
    assert 'silent' not in output
    return output


def test_a_fleet_in_processes_is_one_process_to_the_bit_and_moves_as_if_alone(
    processes, tmp_path, runs, expected
):
    assert len(set(expected.values())) == 3
    readings = []
    for name, more in (('separate', []), ('composed', ['--composed'])):
        output = start(processes, tmp_path, tmp_path / name, *more)
        check(tmp_path / name, output, expected)
        readings.append(altimeters(tmp_path / name))
    assert readings[0] == readings[1]
    for run in runs[:2]:
        assert [r for _, r in readings[0][f'/{run.namespace}/altimeter/range']] == computed(
            tmp_path / 'separate', run, runs
        )
    check_report(tmp_path / 'composed', runs[0])  # which hovers above the heavy one


def test_processes_share_a_fleet_to_the_bit(processes, tmp_path, expected):
    folder = tmp_path / 'shared'
    output = start(processes, tmp_path, folder, '--processes', 2)
    first, second = (manifest(folder / number) for number in ('1', '2'))
    found = {**first['vehicles'], '/heavy': second}
    assert {n: m['trajectory_sha256'] for n, m in found.items()} == expected
    assert {m['ticks'] for m in found.values()} == {TICKS}
    assert output.count('trajectory_sha256') == len(expected)


@pytest.mark.parametrize('count', [0, 4])
def test_more_processes_than_vehicles_are_told(runs, count):
    with pytest.raises(ParameterError, match=rf'processes is {count}; expected 1 to 3'):
        split_runs(runs, count)


@pytest.mark.parametrize('ways', [(['--composed'], ['--composed']), (['--composed'], [])])
def test_parts_of_a_fleet_in_runs_of_their_own_are_one_fleet(
    processes, tmp_path, runs, expected, ways
):
    path = tmp_path / 'fleet.yaml'
    path.write_text(FILE)
    parts = [['bluerov2_1'], ['bluerov2_2', 'heavy']]
    started = [
        processes.marine_sim(
            'run', '--fleet', path, '--only', *part, '--scenario', 'dive', '--duration', 1,
            '--dt', STEP, '--real-time-factor', 0, '--record', tmp_path / part[0], *way,
        )
        for part, way in zip(parts, ways, strict=True)
    ]  # fmt: skip
    for process in started:
        output, _ = process.communicate()
        assert process.returncode == 1, output
        assert 'silent' not in output
    first, others = (manifest(tmp_path / part[0]) for part in parts)
    found = {'/bluerov2_1': first, **others['vehicles']}
    assert {n: m['trajectory_sha256'] for n, m in found.items()} == expected
    assert {m['ticks'] for m in found.values()} == {TICKS}
    for i, run in enumerate(runs[:2]):
        ranges = altimeters(tmp_path / parts[i][0])
        assert [r for _, r in ranges[f'/{run.namespace}/altimeter/range']]
    assert altimeters(tmp_path / 'bluerov2_1') == {
        '/bluerov2_1/altimeter/range': apart(processes, tmp_path)
    }


def apart(processes, tmp_path):
    """Return what the first vehicle's altimeter reads in a run of the whole fleet."""
    start(processes, tmp_path, tmp_path / 'whole', '--composed')
    return altimeters(tmp_path / 'whole')['/bluerov2_1/altimeter/range']


def altimeters(folder):
    """Return stamps and ranges of the altimeters of a recording, by topic."""
    from rosbags.highlevel import AnyReader

    found = {}
    with AnyReader([folder / 'bag']) as reader:
        for connection, _, data in reader.messages():
            if connection.topic.endswith('altimeter/range'):
                message = reader.deserialize(data, connection.msgtype)
                found.setdefault(connection.topic, []).append((stamp_of(message), message.range))
    return found


def computed(folder, run, runs):
    """Return what the altimeter of a vehicle reads where the recorded odom has them all."""
    from rosbags.highlevel import AnyReader

    from marine_sim_ros.environment.environment import Environment
    from marine_sim_ros.sensors import SensorInputs
    from marine_sim_ros.sensors.seen_bodies import body_of
    from marine_sim_ros.sensors.series import SensorReader

    vehicles = {
        f'/{r.namespace}': load_vehicle(r.vehicle, **parse_xacro_arguments(r.vehicle_arguments))
        for r in runs
    }
    places = {name: {} for name in vehicles}
    with AnyReader([folder / 'bag']) as reader:
        for connection, stamp, data in reader.messages():
            name, _, topic = connection.topic.rpartition('/')
            if topic == 'odom':
                pose = reader.deserialize(data, connection.msgtype).pose.pose
                p, q = pose.position, pose.orientation
                at = np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w])
                places[name][stamp] = at
    own = f'/{run.namespace}'
    sensor = next(s for s in vehicles[own].sensors if s.kind == 'altimeter')
    reader, result, met = SensorReader(sensor, run.seed), [], 0
    for stamp, (position, orientation) in places[own].items():
        bodies = tuple(
            replace(
                body_of(vehicles[name], name),
                position=places[name][stamp][0],
                orientation=places[name][stamp][1],
            )
            for name in vehicles
            if name != own
        )
        found = reader.read(
            stamp,
            State(position, orientation, np.zeros(6)),
            Environment(bodies=bodies),
            SensorInputs.none(stamp / 1e9),
            (),
        )
        if found is not None and found[0] <= max(places[own]):  # what came before the end
            result.append(float(np.float32(found[1]['range'])))
            met += bool(1.0 < result[-1] < 4.0)
    assert met or own.endswith('_2')  # the first hovers above the heavy one
    return result


def check_report(folder, run):
    """A report knows the vehicles that the rays of an altimeter met."""
    bag = read_bag(str(folder), maps={}, label='fleet')
    found = compare_sensors(
        str(folder),
        run.namespace,
        recorded_vehicle(bag, run.namespace),
        recorded_environment(bag, run.namespace),
        recorded_neighbours(bag, run.namespace),
    )
    (compared,) = (each for each in found if each.sensor == 'altimeter')
    numbers = compared.metrics()['range']
    assert numbers['readings'] > 5
    assert numbers['rms'] < 0.05


def check(folder, output, expected):
    """Every vehicle has all ticks in the one bag, and the hash of its own run."""
    from rosbags.highlevel import AnyReader

    found = manifest(folder)['vehicles']
    assert {n: v['ticks'] for n, v in found.items()} == dict.fromkeys(expected, TICKS), output
    assert {n: v['trajectory_sha256'] for n, v in found.items()} == expected
    assert found['/heavy']['vehicle'] == 'bluerov2_heavy'
    for namespace, digest in expected.items():
        assert f'{namespace} {TICKS} ticks' in output
        assert digest in output
    with AnyReader([folder / 'bag']) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
    for namespace in expected:
        for topic in ('odom', 'wrench/drag', 'wrench/total', 'thrusters/state', 'thrusters/pwm'):
            assert counts[f'{namespace}/{topic}'] == TICKS, topic
    assert counts['/clock'] == TICKS
    assert counts['/tf'] == 3 * TICKS


def test_a_silent_vehicle_holds_the_others_up_for_a_moment_only(processes, tmp_path):
    from nav_msgs.msg import Odometry

    from marine_sim_ros.core.state import stamp_ns

    path = tmp_path / 'fleet.yaml'
    path.write_text('vehicles: [{vehicle: simple_rov, count: 2}]')
    watcher = Watcher('/simple_rov_1')
    names = '/simple_rov_1/odom', '/simple_rov_2/odom'
    for name in names:
        watcher.listen(name, Odometry)
    first, second = (watcher.seen[name] for name in names)
    fleet = processes.marine_sim('run', '--fleet', path, '--dt', STEP)
    watcher.until(lambda: len(second) > 25)
    (silent,) = (
        child
        for child in psutil.Process(fleet.pid).children(recursive=True)
        if child.name() == '_rov_2/dynamics'  # the end of simple_rov_2/dynamics
    )
    silent.suspend()
    try:
        watcher.spin(0.5)
        gone = stamp_ns(second[-1].header.stamp)
        watcher.until(lambda: stamp_ns(first[-1].header.stamp) > gone + 500_000_000)
    finally:
        silent.resume()
    reached = stamp_ns(first[-1].header.stamp)
    watcher.until(lambda: stamp_ns(second[-1].header.stamp) > reached)  # it catches up
    watcher.close()
    fleet.send_signal(signal.SIGINT)
    output, _ = fleet.communicate()
    assert output.count('/simple_rov_2 is silent at') == 1
    assert '/simple_rov_2 is back at' in output


def test_a_compiled_fleet_moves_as_each_vehicle_does_alone_compiled(
    processes, tmp_path, runs, expected
):
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.compiled import simulate_compiled

    def compiled(vehicle, scenario, **options):
        return simulate_compiled(vehicle, scenario, **options)[0]

    output = start(processes, tmp_path, tmp_path / 'jax', '--composed', '--engine', 'compiled')
    assert output.count('engine jax: all forces of') == 3
    told = manifest(tmp_path / 'jax')['vehicles']
    own = {f'/{run.namespace}': alone(run, compiled) for run in runs}
    assert {name: part['trajectory_sha256'] for name, part in told.items()} == own
    assert all(part['ticks'] == TICKS for part in told.values())
    assert not set(own.values()) & set(expected.values())  # NumPy rounds otherwise


@pytest.mark.parametrize('way', [['--composed'], []], ids=['composed', 'separate'])
def test_one_change_is_that_of_all_vehicles_and_is_repeated_to_the_bit(
    processes, watcher, tmp_path, way
):
    from nav_msgs.msg import Odometry
    from std_msgs.msg import String

    path, live, again = (tmp_path / name for name in ('fleet.yaml', 'live', 'again'))
    path.write_text(FILE)
    names = ['/heavy', '/bluerov2_1']  # the second leads
    watcher.listen('/heavy/odom', Odometry)
    odom = watcher.seen['/heavy/odom']
    changes = {
        name: watcher.node.create_publisher(String, f'{name}/environment/change', 10)
        for name in names
    }
    run = ('run', '--fleet', path, '--environment', 'breeze', '--scenario', 'dive', '--dt', STEP)
    run += ('--duration', 4)
    process = processes.marine_sim(*run, '--record', live, *way)
    watcher.until(lambda: odom and all(c.get_subscription_count() for c in changes.values()))
    for name, text in zip(names, ('{tide: {offset: 0.4}}', '{wind: {speed: 9}}'), strict=True):
        changes[name].publish(String(data=text))
        seen = len(odom)
        watcher.until(lambda seen=seen: len(odom) > seen + 20)
    output, _ = process.communicate()
    assert 'no answer' not in output
    written = manifest(live)['vehicles']
    kinds = [[list(c)[1:] for c in one['parameters']['changes']] for one in written.values()]
    assert kinds == [[['tide'], ['wind']]] * 3
    times = {tuple(c['at'] for c in one['parameters']['changes']) for one in written.values()}
    assert len(times) == 1
    repeated = processes.marine_sim(
        *run, '--composed', '--real-time-factor', 0, '--changes', live, '--record', again
    )
    output, _ = repeated.communicate()
    assert (again / 'manifest.json').exists(), output
    found = manifest(again)['vehicles']
    assert {n: m['trajectory_sha256'] for n, m in found.items()} == {
        n: m['trajectory_sha256'] for n, m in written.items()
    }
