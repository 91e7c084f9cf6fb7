# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ArduSub's node in real graphs; a real process over real UDP stands in for the firmware."""

import re
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from graph import STEP, Watcher, busy_machine, manifest, recorded, start_graph, statuses
from processor import slowed
from stand_in_autopilot import free_instance, make_firmware

STAND_IN = Path(__file__).with_name('stand_in_autopilot.py')
pytestmark = pytest.mark.ros


@pytest.fixture
def firmware(tmp_path):
    """Return a function that makes an executable which stands in for the firmware."""

    return partial(make_firmware, tmp_path / 'ardusub')


def trajectory(folder):
    odom = recorded(folder)['odom']
    return np.array([[m.pose.pose.position.z, *_twist(m)] for m in odom.values()])


def _twist(message):
    v, w = message.twist.twist.linear, message.twist.twist.angular
    return v.x, v.y, v.z, w.x, w.y, w.z


@pytest.mark.parametrize(('vehicle', 'thrusters'), [('bluerov2', 6), ('bluerov2_heavy', 8)])
def test_the_run_starts_an_autopilot_that_holds_its_depth(
    processes, tmp_path, firmware, vehicle, thrusters
):
    process = processes.marine_sim(
        'run',
        vehicle,
        '--autopilot',
        'ardusub',
        '--ardusub',
        firmware('--thrusters', thrusters, '--depth', 1.5),
        '--autopilot-instance',
        free_instance(),
        '--real-time-factor',
        0,
        '--duration',
        10,
        '--dt',
        STEP,
        '--composed',
        '--record',
        tmp_path / 'out',
    )
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert 'connected' in output
    depth = -trajectory(tmp_path / 'out')[:, 0]
    assert np.sqrt(np.mean((depth[-200:] - 1.5) ** 2)) < 0.05
    folder = re.search(r'output is in (\S+)/ardusub.log', output).group(1)
    assert not Path(folder).exists()  # it was ended, and cleaned up after


def test_the_run_does_not_depend_on_the_load_or_on_processes(processes, tmp_path, firmware):
    program, hashes, replies = firmware('--log', tmp_path / 'replies'), set(), set()
    for kind, more in {'busy': ['--composed'], 'separate': []}.items():
        with busy_machine() if kind == 'busy' else nullcontext():
            process = processes.marine_sim(
                'run',
                'bluerov2',
                '--autopilot',
                'ardusub',
                '--ardusub',
                program,
                '--autopilot-instance',
                free_instance(),
                '--real-time-factor',
                0,
                '--duration',
                2,
                '--record',
                tmp_path / kind,
                *more,
            )
            output, _ = process.communicate()
        assert process.returncode == 0, output
        hashes.add(manifest(tmp_path / kind)['trajectory_sha256'])
        replies.add((tmp_path / 'replies').read_bytes())
    assert len(hashes) == 1
    assert len(replies) == 1
    assert len(replies.pop().split(b'timestamp')) > 2 * 400


def test_a_firmware_whose_motors_are_not_the_vehicles_is_not_started(processes, firmware):
    process = processes.marine_sim(
        *('run', 'investigator90', '--autopilot', 'ardusub', '--ardusub', firmware()),
        *('--autopilot-instance', free_instance(), '--duration', 1, '--dt', STEP, '--composed'),
    )
    output, _ = process.communicate()
    assert process.returncode == 2
    assert "motor 1 pushes -surge at positive PWM, and 'sv' makes no surge" in output
    assert 'Traceback' not in output


@pytest.mark.parametrize(
    ('vehicle', 'given', 'wanted'), [('wamv', 12, 'ardurover'), ('bluerov2', 11, 'ardusub')]
)
def test_a_firmware_of_other_vehicles_ends_the_run(processes, firmware, vehicle, given, wanted):
    pytest.importorskip('pymavlink')
    process = processes.marine_sim(
        *('run', vehicle, '--autopilot', 'ardusub', '--ardusub', firmware('--mav-type', given)),
        *('--autopilot-instance', free_instance(), '--duration', 60, '--dt', STEP, '--composed'),
    )
    output, _ = process.communicate()
    assert process.returncode == 1
    (line,) = [line for line in output.splitlines() if 'the firmware is' in line]
    assert f'(MAV_TYPE {given}); expected the path of {wanted} as --ardusub' in line
    assert 'Traceback' not in output


def test_two_vehicles_have_an_autopilot_each(processes, tmp_path, firmware):
    first = free_instance(2)
    runs = []
    for k, depth in enumerate((0.8, 1.4)):
        runs.append(
            processes.marine_sim(
                'run',
                'bluerov2',
                '--namespace',
                f'rov{k}',
                '--autopilot',
                'ardusub',
                '--ardusub',
                firmware('--depth', depth).rename(tmp_path / f'ardusub{k}'),
                '--autopilot-instance',
                first + k,
                '--real-time-factor',
                0,
                '--duration',
                4,
                '--dt',
                STEP,
                '--composed',
                '--record',
                tmp_path / f'out{k}',
                '--frame-prefix',
                f'rov{k}/',  # composed: each keeps its own time
            )
        )
    for k, process in enumerate(runs):
        output, _ = process.communicate()
        assert process.returncode == 0, output
        depth = -trajectory(tmp_path / f'out{k}')[-1, 0]
        assert depth == pytest.approx((0.8, 1.4)[k], abs=0.2)


FLEET = """
pattern: {shape: line, spacing: 2.0}
vehicles:
  - {vehicle: bluerov2, name: shallow}
  - {vehicle: bluerov2, name: deep, initial: {position: [0, 4, -1.2]}}
"""


def test_a_fleet_has_an_autopilot_for_each_and_depends_on_no_load(processes, tmp_path, firmware):
    (tmp_path / 'fleet.yaml').write_text(FLEET)
    program, hashes = firmware('--depth', 0.9), set()
    for kind, more in {'composed': ['--composed'], 'separate': []}.items():
        process = processes.marine_sim(
            'run',
            '--fleet',
            tmp_path / 'fleet.yaml',
            '--autopilot',
            'ardusub',
            '--ardusub',
            program,
            '--autopilot-instance',
            free_instance(2),
            '--real-time-factor',
            0,
            '--duration',
            4,
            '--dt',
            STEP,
            '--record',
            tmp_path / kind,
            *more,
        )
        output, _ = process.communicate()
        assert process.returncode == 0, output
        assert output.count(' connected') == 2
        found = manifest(tmp_path / kind)['vehicles']
        hashes.add(tuple(found[name]['trajectory_sha256'] for name in ('/shallow', '/deep')))
        for name in ('shallow', 'deep'):
            last = list(recorded(tmp_path / kind, name)['odom'].values())[-1]
            assert -last.pose.pose.position.z == pytest.approx(0.9, abs=0.15), name
    assert len(hashes) == 1


@pytest.mark.clock
def test_a_lost_autopilot_or_node_stops_the_thrusters_and_is_taken_in_again(processes):
    from diagnostic_msgs.msg import DiagnosticArray
    from nav_msgs.msg import Odometry
    from std_msgs.msg import UInt16MultiArray
    from std_srvs.srv import SetBool

    instance = free_instance()
    nodes, specs = start_graph(
        processes,
        vehicle='bluerov2',
        autopilot='ardusub',
        ardusub='none',
        autopilot_instance=instance,
    )
    watcher = Watcher()

    def pushes():
        return abs(watcher.seen['thrusters/state'][-1].effort[5]) > 1

    def stopped():
        return abs(watcher.seen['thrusters/state'][-1].effort[5]) < 0.01

    try:
        from sensor_msgs.msg import JointState

        watcher.listen('odom', Odometry)
        watcher.listen('/diagnostics', DiagnosticArray)
        watcher.listen('thrusters/state', JointState)
        watcher.listen('thrusters/pwm', UInt16MultiArray)
        watcher.until(lambda: statuses(watcher, 'ardusub'))
        watcher.spin(1.0)
        assert len(watcher.seen['odom']) <= 1  # it waits at its first tick
        start = [sys.executable, STAND_IN, '--sim-port-out', 9002 + 10 * instance, '--depth', 3]
        autopilot = processes.start(*start)
        watcher.until(pushes)
        # A pause holds the autopilot too.
        pause = watcher.node.create_client(SetBool, 'pause')
        watcher.until(pause.service_is_ready)
        future = pause.call_async(SetBool.Request(data=True))
        watcher.until(future.done)
        watcher.spin(0.5)
        count = len(watcher.seen['thrusters/pwm'])
        watcher.spin(2.5)
        assert len(watcher.seen['thrusters/pwm']) == count
        future = pause.call_async(SetBool.Request(data=False))
        watcher.until(future.done)
        watcher.until(lambda: len(watcher.seen['thrusters/pwm']) > count + 50)
        autopilot.kill()
        autopilot.wait()
        lost = time.monotonic()
        watcher.until(stopped)
        assert time.monotonic() - lost < slowed(5.0)  # 0.8 s on a calm machine
        count = len(watcher.seen['odom'])
        watcher.until(lambda: len(watcher.seen['odom']) > count + 10)  # the run goes on
        processes.start(*start)
        watcher.until(pushes)
        # A node that is lost stops them too, and a new one takes the autopilot in.
        nodes['ardusub'].kill()
        nodes['ardusub'].wait()
        watcher.until(stopped)
        nodes['ardusub'] = processes.node(specs['ardusub'])
        watcher.until(pushes)
    finally:
        watcher.close()
    assert all(process.poll() is None for process in nodes.values())


def test_fuzz_reaches_no_thruster_and_ends_nobody(processes):
    from sensor_msgs.msg import JointState

    instance = free_instance()
    nodes, _ = start_graph(
        processes,
        vehicle='bluerov2',
        autopilot='ardusub',
        ardusub='none',
        autopilot_instance=instance,
        real_time_factor=0.0,
    )
    watcher, random = Watcher(), np.random.default_rng(1)
    to, udp = ('127.0.0.1', 9002 + 10 * instance), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        watcher.listen('thrusters/state', JointState)
        processes.start(sys.executable, STAND_IN, '--sim-port-out', to[1], '--depth', 0.5)
        watcher.until(lambda: len(watcher.seen['thrusters/state']) > 20)
        for size in (0, 1, 8, 39, 40, 41, 71, 72, 73, 1500, 9000):
            for _ in range(300):
                udp.sendto(random.bytes(size), to)
        count = len(watcher.seen['thrusters/state'])
        watcher.until(lambda: len(watcher.seen['thrusters/state']) > count + 20)
        assert np.max(np.abs(watcher.seen['thrusters/state'][-1].effort[:4])) == 0
    finally:
        udp.close()
        watcher.close()
    node = nodes['ardusub']
    assert node.poll() is None
    node.terminate()
    output, _ = node.communicate()
    assert node.returncode == 0, output
    warnings = [line for line in output.splitlines() if 'is ignored' in line]
    assert 1 <= len(warnings) < 30, output  # a line each, and not one for every datagram
    assert 'Traceback' not in output


def test_a_firmware_that_ends_by_itself_ends_the_run(processes, firmware):
    process = processes.marine_sim(
        'run',
        'bluerov2',
        '--autopilot',
        'ardusub',
        '--ardusub',
        firmware('--die-at', 1.0),
        '--autopilot-instance',
        free_instance(),
        '--duration',
        60,
        '--real-time-factor',
        0,
        '--composed',
    )
    output, _ = process.communicate()
    assert process.returncode == 1
    assert 'ArduSub ended by itself: exit code 1: giving up' in output


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        (['--autopilot', 'ardu'], "autopilot is 'ardu'; "),
        (['--autopilot', 'ardusub', '--ardusub', '/no/such'], 'expected an executable'),
        (['--autopilot', 'ardusub', '--controller', 'modern'], 'expected one of the two'),
        (['--autopilot', 'ardusub', '--scenario', 'dive'], 'expected one of the two'),
        (['--autopilot', 'ardusub', '--autopilot-address', '203.0.113.7'], 'cannot listen on'),
        (['--autopilot', 'ardusub', '--autopilot-instance', '100'], '0 to 99'),
        (['--ground-station', '10.0.0.5:14550'], 'expected --autopilot ardusub or mavlink with'),
        (['--autopilot', 'mavlink', '--navigation', 'dvl'], '--navigation dvl: has no effect'),
        (['--autopilot-address', '0.0.0.0'], '--autopilot-address 0.0.0.0: has no effect'),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(processes, options, reason):
    process = processes.marine_sim('run', 'bluerov2', '--duration', '1', *options)
    output, _ = process.communicate()
    assert process.returncode == 2, output
    assert reason in output
    assert 'Traceback' not in output


def test_a_vehicle_of_no_frame_of_ardusub_is_not_started(processes, firmware):
    process = processes.marine_sim(
        'run',
        'simple_rov',
        '--autopilot',
        'ardusub',
        '--ardusub',
        firmware(),
        '--autopilot-instance',
        free_instance(),
    )
    try:
        output, _ = process.communicate()
    except subprocess.TimeoutExpired:
        pytest.fail('it runs')
    assert process.returncode == 2
    assert 'simple_rov is no simplerov_5 frame of ArduPilot: motor 1 pushes +yaw' in output
