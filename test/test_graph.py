# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Real nodes in real processes over real DDS."""

import signal
import subprocess
import time
from contextlib import nullcontext

import numpy as np
import psutil
import pytest
from graph import (
    ONE_PROCESS,
    STEP,
    Watcher,
    busy_machine,
    by_stamp,
    manifest,
    recorded,
    simulated,
    stamp_of,
    start_graph,
    statuses,
)
from processor import PATIENCE, slowed

from marine_sim_ros.ros.node_graph import NodeSpec, node_specs
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.ros

DURATION = 1.0
TICKS = 201
PER_TICK = (
    'odom',
    'wrench/thrusters',
    'wrench/buoyancy',
    'wrench/drag',
    'wrench/total',
    'thrusters/pwm',
    'thrusters/state',
    'thrusters/power',
    'barometer/pressure',
    'barometer/temperature',
)


def run(processes, directory, *more):
    process = processes.marine_sim(
        'run',
        'bluerov2',
        '--scenario',
        'dive',
        '--duration',
        DURATION,
        '--real-time-factor',
        0,
        '--record',
        directory,
        *more,
    )
    output, _ = process.communicate()
    return process.returncode, output


def stamps_of(directory):
    from rosbags.highlevel import AnyReader

    result = {}
    with AnyReader([directory / 'bag']) as reader:
        for connection, stamp, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            if hasattr(message, 'header') and 'diagnostics' not in connection.topic:
                assert stamp_of(message) == stamp
            result.setdefault(connection.topic, []).append(stamp)
    return result


@pytest.fixture(scope='module')
def expected():
    return simulated('bluerov2', '--scenario', 'dive', '--duration', DURATION)


def test_processes_on_busy_cores_composed_and_simulate_agree_to_the_bit(
    processes, tmp_path, expected
):
    for name, more in (('busy', ()), ('composed', ('--composed',))):
        with busy_machine() if name == 'busy' else nullcontext():
            code, output = run(processes, tmp_path / name, *more)
        # The duration ends before what the scenario expects, so its verdict is 1.
        assert code == 1, output
        assert 'the run ended before' in output
        found = manifest(tmp_path / name)
        assert found['ticks'] == TICKS, (name, output)
        assert found['trajectory_sha256'] == expected, name
        stamps = stamps_of(tmp_path / name)
        ticks = [i * 5_000_000 for i in range(TICKS)]
        for topic in (*(f'/bluerov2/{t}' for t in PER_TICK), '/tf', '/clock'):
            assert len(stamps[topic]) == TICKS, (name, topic)
        for topic in PER_TICK:
            if 'pwm' not in topic and 'power' not in topic:
                assert stamps[f'/bluerov2/{topic}'] == ticks, (name, topic)


@pytest.fixture
def watcher(ros_environment):
    result = Watcher()
    yield result
    result.close()


def test_a_killed_force_node_is_held_and_taken_in_again(processes, watcher):
    from diagnostic_msgs.msg import DiagnosticArray
    from nav_msgs.msg import Odometry

    watcher.listen('/diagnostics', DiagnosticArray)
    watcher.listen('odom', Odometry)
    nodes, specs = start_graph(processes, real_time_factor=1.0)
    odom = watcher.seen['odom']
    watcher.until(lambda: len(odom) > 50)
    nodes['drag'].send_signal(signal.SIGKILL)
    nodes['drag'].wait()
    watcher.until(
        lambda: any(
            s.level == b'\x01' and 'drag' in s.message for s in statuses(watcher, 'dynamics')
        )
    )
    count = len(odom)
    watcher.until(lambda: len(odom) > count + 50)  # the run goes on
    watcher.until(
        lambda: (
            {v.key: v.value for v in statuses(watcher, 'dynamics')[-1].values}['outages'] == '1'
        )
    )
    processes.node(specs['drag'])
    # A peer that was killed stays in DDS's books for 20 s, so discovery may take longer than that.
    watcher.seen['/diagnostics'].clear()
    watcher.until(lambda: any(s.level == b'\x00' for s in statuses(watcher, 'dynamics')[1:]))
    stamps = np.array([stamp_of(m) for m in odom])
    assert np.all(np.diff(stamps) == STEP * 1e9)
    numbers = [m.pose.pose.position.z + m.twist.twist.linear.z for m in odom]
    assert np.all(np.isfinite(numbers))


def test_stop_ends_the_run_with_the_name_of_the_silent_source(processes, watcher):
    from nav_msgs.msg import Odometry

    watcher.listen('odom', Odometry)
    specs = {s.executable: s for s in node_specs(RunOptions(dt=STEP))}
    specs['dynamics'].parameters['on_missing_wrench'] = 'stop'
    nodes = {name: processes.node(spec) for name, spec in specs.items()}
    watcher.until(lambda: len(watcher.seen['odom']) > 20)
    nodes['buoyancy'].send_signal(signal.SIGKILL)
    output, _ = nodes['dynamics'].communicate()
    assert nodes['dynamics'].returncode == 1
    assert output.count('no wrench from buoyancy') == 1


@pytest.mark.clock
def test_bad_commands_and_wrenches_are_survived(processes, watcher):
    from diagnostic_msgs.msg import DiagnosticArray
    from geometry_msgs.msg import WrenchStamped
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import JointState
    from std_msgs.msg import UInt16MultiArray

    watcher.listen('/diagnostics', DiagnosticArray)
    watcher.listen('odom', Odometry)
    watcher.listen('thrusters/state', JointState)
    pwm = watcher.node.create_publisher(UInt16MultiArray, 'thrusters/pwm', 10)
    external = watcher.node.create_publisher(WrenchStamped, 'wrench/external', 10)
    # The maker's set has the bench's thrust at every speed of advance.
    processes.marine_sim('run', 'bluerov2', '--set', 'coefficients:=maker', *ONE_PROCESS)
    watcher.until(lambda: len(watcher.seen['odom']) > 20)
    watcher.until(lambda: pwm.get_subscription_count() and external.get_subscription_count())
    state = watcher.seen['thrusters/state']

    def send(*values):
        pwm.publish(UInt16MultiArray(data=list(values)))
        watcher.spin(0.3)
        return list(state[-1].effort)

    def reaches(newtons, *values):
        """Send until the rotors have followed, however busy the machine is."""
        wanted = pytest.approx([newtons] * 6, rel=0.01)
        return any(send(*values) == wanted for _ in range(50))

    good = [1600] * 6
    assert reaches(5.884, *good)
    # Wrong length, and −100 as an unsigned number: the command before holds.
    for bad in ([1700], [65436] * 6):
        assert reaches(5.884, *good)
        assert send(*bad) == pytest.approx([5.884] * 6, rel=0.01)
    assert reaches(51.485, *[2000] * 6)  # clamped to 1900
    watcher.until(lambda: max(map(abs, state[-1].effort)) < 1e-3)  # absent: stopped after a second
    watcher.until(lambda: any('stopped' in s.message for s in statuses(watcher, 'thrusters')))
    messages = ' '.join(s.message for s in statuses(watcher, 'thrusters'))
    for text in ('expected 6', 'expected 1100 to 1900', 'clamped', 'thrusters stopped'):
        assert text in messages
    for frame, force, fault in (
        ('', float('nan'), 'not finite'),
        ('base_link', 1e300, '1e+300 (|F| + |M|, N and N m), expected'),
        ('map', 30.0, "frame_id is 'map', expected '"),
    ):
        bad = WrenchStamped()
        bad.header.frame_id = frame
        bad.wrench.force.y = force
        external.publish(bad)
        text = f'wrench/external: {fault}'
        watcher.until(
            lambda text=text: any(text in s.message for s in statuses(watcher, 'dynamics'))
        )
    watcher.spin(0.5)
    assert abs(watcher.seen['odom'][-1].twist.twist.linear.y) < 0.1
    push = WrenchStamped()
    push.wrench.force.y = 50.0
    external.publish(push)
    watcher.until(lambda: watcher.seen['odom'][-1].twist.twist.linear.y > 0.3)


def test_two_owners_of_one_odom(processes, watcher):
    from nav_msgs.msg import Odometry

    watcher.listen('odom', Odometry)
    first = processes.marine_sim('run', 'bluerov2', *ONE_PROCESS)
    watcher.until(lambda: len(watcher.seen['odom']) > 20)
    watcher.spin(6.0)  # the first is not young any more
    specs = {s.executable: s for s in node_specs(RunOptions())}
    second = processes.node(specs['dynamics'])
    output, _ = second.communicate()
    assert second.returncode == 2
    assert '/bluerov2/odom is published by /bluerov2/dynamics too, which is another run' in output
    count = len(watcher.seen['odom'])
    watcher.until(lambda: len(watcher.seen['odom']) > count + 50)
    assert first.poll() is None


def read_until(process, *texts):
    """Read a process's output until each text was in it."""
    missing = set(texts)
    while missing:
        line = process.stdout.readline()
        assert line, missing
        missing = {text for text in missing if text not in line}


@pytest.mark.parametrize('prefixes', [('', ''), ('rov/', 'rov/'), ('a/', 'b/')])
def test_two_vehicles_that_share_clock_or_frames_are_told_so_and_go_on(processes, prefixes):
    """Neither run ends of its neighbour; both say what keeps them apart."""
    runs = [
        processes.marine_sim(
            'run', 'simple_rov', *('--namespace', name, '--frame-prefix', prefix, *ONE_PROCESS)
        )
        for name, prefix in zip(('one', 'two'), prefixes, strict=True)
    ]
    for run, other in zip(runs, ('two', 'one'), strict=True):
        said = [f'/clock is published by /{other}/dynamics too, which is another run']
        if prefixes[0] == prefixes[1]:
            said.append(f"/tf has the frame '{prefixes[0]}base_link' of /{other}/dynamics too")
        read_until(run, *said)
    for run in runs:
        run.send_signal(signal.SIGINT)
    for run in runs:
        output, _ = run.communicate()
        assert run.returncode == 0, output
        assert prefixes[0] == prefixes[1] or '/tf has the frame' not in output


@pytest.mark.clock
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('composed', [False, True])
def test_a_signal_ends_everything_within_two_seconds(
    processes, watcher, tmp_path, number, composed
):
    from nav_msgs.msg import Odometry
    from rosbags.highlevel import AnyReader

    watcher.listen('odom', Odometry)
    process = processes.marine_sim(
        'run', 'bluerov2', '--record', tmp_path / 'run', *(['--composed'] if composed else [])
    )
    watcher.until(lambda: len(watcher.seen['odom']) > 50)
    start = time.monotonic()
    process.send_signal(number)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert time.monotonic() - start < slowed(2.0)
    with AnyReader([tmp_path / 'run' / 'bag']) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
    assert counts['/bluerov2/odom'] >= 50
    assert manifest(tmp_path / 'run')['ticks'] == counts['/bluerov2/odom']


def test_a_signal_ends_a_composed_run_at_full_speed(processes, watcher, tmp_path):
    from nav_msgs.msg import Odometry

    watcher.listen('odom', Odometry)
    process = processes.marine_sim(
        'run', 'bluerov2', '--record', tmp_path / 'run', '--composed', '--real-time-factor', 0
    )
    watcher.until(lambda: len(watcher.seen['odom']) > 50)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert manifest(tmp_path / 'run')['ticks'] >= 50, output


def test_nodes_end_with_a_killed_run(processes, watcher, tmp_path):
    from nav_msgs.msg import Odometry

    watcher.listen('odom', Odometry)
    process = processes.marine_sim('run', 'bluerov2', '--record', tmp_path / 'run')
    watcher.until(lambda: len(watcher.seen['odom']) > 50)
    nodes = psutil.Process(process.pid).children(recursive=True)
    assert len(nodes) > 4
    process.kill()
    _, alive = psutil.wait_procs(nodes, timeout=PATIENCE)
    assert not alive
    assert manifest(tmp_path / 'run')['ticks'] >= 50  # what was recorded is there


def test_a_full_disk_ends_the_run_with_the_file_named(processes, tmp_path):
    disk = tmp_path / 'disk'
    disk.mkdir()
    mounted = subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', str(disk)], check=False
    )
    if mounted.returncode:
        pytest.skip('mounting a tmpfs needs root')
    try:
        process = processes.marine_sim(
            'run',
            'bluerov2',
            '--scenario',
            'dive',
            '--real-time-factor',
            0,
            '--record',
            disk / 'run',
        )
        output, _ = process.communicate()
    finally:
        processes.end()
        subprocess.run(['umount', str(disk)], check=True)
    assert process.returncode == 1
    assert f'{disk / "run" / "bag"}: cannot be written: No space left on device' in output
    assert 'Traceback' not in output


@pytest.mark.clock
def test_pause_and_reset(processes, watcher):
    from nav_msgs.msg import Odometry
    from std_srvs.srv import SetBool, Trigger

    watcher.listen('odom', Odometry)
    processes.marine_sim('run', 'bluerov2', *ONE_PROCESS)
    odom = watcher.seen['odom']
    watcher.until(lambda: len(odom) > 50)
    pause = watcher.node.create_client(SetBool, 'pause')
    reset = watcher.node.create_client(Trigger, 'reset')
    watcher.until(lambda: pause.service_is_ready() and reset.service_is_ready())

    def call(client, request):
        future = client.call_async(request)
        watcher.until(future.done)
        return future.result()

    assert call(pause, SetBool.Request(data=True)).success
    watcher.until_silent('odom')
    count = len(odom)
    watcher.spin(0.5)
    assert len(odom) == count
    assert call(pause, SetBool.Request(data=False)).success
    watcher.until(lambda: len(odom) > count + 20)
    assert call(reset, Trigger.Request()).success
    watcher.until(lambda: odom[-1].header.stamp.sec == 0 and len(odom) > count + 45)
    assert odom[-1].pose.pose.position.z == pytest.approx(-0.5, abs=0.05)


@pytest.mark.clock
@pytest.mark.parametrize('more', [(), ('--composed',)], ids=['processes', 'composed'])
def test_who_comes_late_hears_what_is_new(processes, watcher, more):
    """Of a topic that nobody hears, DDS keeps the newest messages, not those of the start."""
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import FluidPressure

    from marine_sim_ros.ros.topics import LOCKSTEP

    processes.marine_sim('run', 'bluerov2', *more)
    watcher.listen('odom', Odometry)
    watcher.until(lambda: watcher.seen['odom'][-1].header.stamp.sec >= 3)
    heard = []
    watcher.node.create_subscription(FluidPressure, 'barometer/pressure', heard.append, LOCKSTEP)
    watcher.until(lambda: len(heard) > 30)
    stamps = [stamp_of(message) for message in heard]
    assert stamps == sorted(stamps)
    assert stamps[0] > 1_500_000_000  # sixteen messages, 25 a second
    assert 5_000_000 in np.diff(stamps[-20:])  # every tick, once it is heard


def test_without_lockstep_it_follows_the_wall_clock(processes, watcher):
    from nav_msgs.msg import Odometry

    watcher.listen('odom', Odometry)
    processes.marine_sim('run', 'bluerov2', '--no-lockstep')
    odom = watcher.seen['odom']
    watcher.until(lambda: len(odom) > 50)
    count, start = len(odom), time.monotonic()
    watcher.spin(2.0)
    rate = (len(odom) - count) / (time.monotonic() - start)
    assert 150 / slowed(1.0) < rate < 250


@pytest.mark.clock
def test_a_gamepad_drives_and_its_loss_stops(processes, watcher):
    from sensor_msgs.msg import JointState, Joy

    watcher.listen('thrusters/state', JointState)
    joy = watcher.node.create_publisher(Joy, '/joy', 10)
    processes.marine_sim('run', 'bluerov2', *ONE_PROCESS)
    processes.node(NodeSpec('teleop', '/bluerov2', {'vehicle': 'bluerov2'}))
    state = watcher.seen['thrusters/state']
    watcher.until(lambda: joy.get_subscription_count() and len(state) > 20)

    def ahead():
        joy.publish(Joy(axes=[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
        return np.sign(state[-1].effort).tolist() == [-1, -1, 1, 1, 0, 0]

    watcher.until(ahead)
    watcher.until(lambda: max(map(abs, state[-1].effort)) < 1e-2)


def test_a_current_on_the_topic_takes_the_vehicle_along(processes, watcher):
    from geometry_msgs.msg import Vector3Stamped
    from nav_msgs.msg import Odometry

    watcher.listen('odom', Odometry)
    current = watcher.node.create_publisher(Vector3Stamped, '/ocean_current', 10)
    process = processes.marine_sim('run', 'bluerov2', *ONE_PROCESS)
    watcher.until(lambda: len(watcher.seen['odom']) > 20)
    message = Vector3Stamped()
    message.vector.y = 1.0

    def taken_along():
        current.publish(message)  # a reader may match later than its writer knows
        return watcher.seen['odom'][-1].twist.twist.linear.y > 0.2

    watcher.until(taken_along)
    message.vector.y = float('nan')
    current.publish(message)
    watcher.spin(0.5)
    assert np.isfinite(watcher.seen['odom'][-1].twist.twist.linear.y)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert output.count('ignored') == 1, output  # by one node of seven that hear it


@pytest.mark.parametrize(
    ('vehicle', 'scenario', 'felt', 'way'),
    [
        ('wamv', 'figure_of_eight', 'wrench/wind', ONE_PROCESS),
        ('bluerov2', 'excitation', 'barometer/pressure', ('--dt', STEP)),
    ],
    ids=['composed', 'separate'],
)
def test_changes_of_the_environment_are_replayed_to_the_bit(
    processes, watcher, tmp_path, vehicle, scenario, felt, way
):
    from nav_msgs.msg import Odometry
    from std_msgs.msg import String

    watcher.listen(f'/{vehicle}/odom', Odometry)
    odom = watcher.seen[f'/{vehicle}/odom']
    change = watcher.node.create_publisher(String, f'/{vehicle}/environment/change', 10)
    live = tmp_path / 'live'
    run = (vehicle, '--environment', 'breeze', '--scenario', scenario, '--duration', 8)
    process = processes.marine_sim('run', *run, '--record', live, *way)
    watcher.until(lambda: odom and change.get_subscription_count())
    for text in (
        '{wind: {speed: 16.0}}',
        '{wind: {speed: 100.0}}',  # not a wind
        '{at: 1.0, tide: {offset: 1.0}}',  # it begins at once
        '{tide: {offset: 0.4}, water: {turbidity: 1.5}}',
        '{current: {velocity: [0.4, -0.2, 0.0]}, wind: {from_direction: 30.0}}',
        '{water: {profile: [{depth: 0, salinity: 20}, {depth: 2, salinity: 34}]}}',
    ):
        change.publish(String(data=text))
        seen = len(odom)
        watcher.until(lambda seen=seen: len(odom) > seen + 30)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert output.count('ignored') == 2, output
    written = manifest(live)
    changes = written['parameters']['changes']
    kinds = [{'wind'}, {'tide', 'water'}, {'current', 'wind'}, {'water'}]
    assert [set(c) - {'at'} for c in changes] == kinds
    times = [0, *(c['at'] for c in changes), 8]
    assert times == sorted(set(times))
    again, settings = tmp_path / 'again', (*run, '--dt', STEP)
    digest = simulated(*settings, '--changes', live, '--record', again)
    assert digest == written['trajectory_sha256'] != simulated(*settings)
    assert manifest(again)['parameters']['changes'] == changes
    one, other = recorded(live, vehicle)[felt], recorded(again, vehicle)[felt]
    assert len(one) > 50
    assert list(map(str, by_stamp(one.values()).values())) == list(
        map(str, by_stamp(other.values()).values())
    )


def test_every_parameter_is_described(processes, watcher):
    from rcl_interfaces.srv import DescribeParameters, ListParameters

    processes.marine_sim('run', 'bluerov2', *ONE_PROCESS)
    for name in ('dynamics', 'thrusters', 'buoyancy', 'drag', 'barometer'):
        listing = watcher.node.create_client(ListParameters, f'{name}/list_parameters')
        describing = watcher.node.create_client(DescribeParameters, f'{name}/describe_parameters')
        watcher.until(
            lambda a=listing, b=describing: a.service_is_ready() and b.service_is_ready()
        )
        future = listing.call_async(ListParameters.Request())
        watcher.until(future.done)
        names = [
            n
            for n in future.result().result.names
            if n not in ('use_sim_time', 'start_type_description_service')
        ]
        names = [n for n in names if not n.startswith('qos_overrides')]
        future = describing.call_async(DescribeParameters.Request(names=names))
        watcher.until(future.done)
        for descriptor in future.result().descriptors:
            assert descriptor.description, (name, descriptor.name)
            live = descriptor.name in ('failed_thrusters', 'faults', 'environment_changes')
            assert descriptor.read_only == (not live)


def test_a_bad_parameter_is_one_line_and_exit_code_2(processes):
    specs = {s.executable: s for s in node_specs(RunOptions())}
    for name, value in (('dt', -1.0), ('integrator', 'euler'), ('initial_position', [1.0])):
        spec = specs['dynamics']
        spec.parameters[name] = value
        process = processes.node(spec)
        output, _ = process.communicate()
        assert process.returncode == 2, output
        assert output.startswith('ERROR: ')
        assert name in output
        assert 'Traceback' not in output
        del spec.parameters[name]
