# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gazebo as users have it: a real server, the real ros_gz_bridge, and what goes wrong with them.

Needs the command ``gz`` of Gazebo Harmonic and the package ros_gz_bridge.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT, has
from graph import NotInTime, Watcher, manifest, recorded, stamp_of, statuses
from processor import PATIENCE

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.gazebo.delivery import bridge_program
from marine_sim_ros.gazebo.run_files import (
    SYSTEM_FOLDER,
    bridge_command,
    bridge_parameters,
    write_run,
)
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.ros,
    pytest.mark.usefixtures('partition'),
    pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine'),
    pytest.mark.skipif(bridge_program() is None, reason='ros_gz_bridge: not on this machine'),
]
launched = pytest.mark.skipif(not has('launch_ros'), reason='launch_ros: not on this machine')
ways = pytest.mark.parametrize('way', ['in_server', 'stock'])
all_ways = pytest.mark.parametrize('way', ['in_server', 'stock', 'compiled'])

TOLERANCE = {'in_server': 1e-6, 'stock': 1e-5, 'compiled': 1e-6}
"""m. PosePublisher tells a pose only when it is 1e-6 m from the one before."""

SWIM = """duration: {}
initial: {{position: [0.0, 0.0, -3.0], rpy: [0.0, 0.0, 0.0]}}
segments:
  - {{at: 0.0, pwm: [1600, 1600, 1400, 1400, 1500, 1500]}}
"""


@pytest.fixture
def partition(ros_environment, gazebo_partition):
    """Keep Gazebo's topics, too, among the processes of a test."""
    ros_environment.update(gazebo_partition)


@pytest.fixture
def watcher(ros_environment):
    from diagnostic_msgs.msg import DiagnosticArray
    from nav_msgs.msg import Odometry

    result = Watcher()
    result.listen('odom', Odometry)
    result.listen('/diagnostics', DiagnosticArray)
    yield result
    result.close()


def scenario(tmp_path, seconds):
    path = tmp_path / 'swim.yaml'
    path.write_text(SWIM.format(seconds))
    return path


class Logged:
    """A process whose output goes to a file that can be read while it runs."""

    def __init__(self, processes, path, *command, **options):
        self.path = path
        with path.open('a') as log:
            self.process = processes.start(
                *command, stdout=log, stderr=subprocess.STDOUT, **options
            )

    @property
    def output(self):
        return self.path.read_text()

    def until(self, text, timeout=PATIENCE):
        deadline = time.monotonic() + timeout
        while not re.search(text, self.output):
            if time.monotonic() > deadline or self.process.poll() is not None:
                if re.search(text, self.output):
                    break
                raise NotInTime(f'{text!r} is not in the output:\n{self.output}')
            time.sleep(0.05)

    def end(self, timeout=150.0):
        self.process.wait(timeout)
        return self.output


def launch(processes, tmp_path, *arguments):
    return Logged(
        processes,
        tmp_path / 'log',
        'ros2',
        'launch',
        'marine_sim_ros',
        'sim.launch.py',
        'backend:=gazebo',
        *arguments,
        start_new_session=True,
    )


def trajectory(directory):
    """Return stamps (ns) and positions of a recording."""
    odom = recorded(directory)['odom']
    stamps = sorted(odom)
    places = [odom[s].pose.pose.position for s in stamps]
    return np.array(stamps), np.array([[p.x, p.y, p.z] for p in places])


def check_ended(output):
    """Check that every process of a launch came to a good end, and that nothing was odd."""
    assert 'Traceback' not in output
    assert 'process has died' not in output, output
    assert '[ERROR]' not in output, output
    assert '[Err]' not in output, output
    assert output.count('process has finished cleanly') == output.count('process started')


def apart(stamps, position, run):
    """Return the distance of a run's end from that of a simulation, and the way made."""
    wanted = run.position[stamps // 5_000_000]
    way = np.linalg.norm(np.diff(run.position, axis=0), axis=1).sum()
    return np.linalg.norm(position - wanted, axis=1).max(), way


@launched
@all_ways
def test_twenty_seconds_of_dive_are_those_of_the_embedded_dynamics(processes, tmp_path, way):
    text = (ROOT / 'config' / 'scenarios' / 'dive.yaml').read_text()
    dive = tmp_path / 'dive.yaml'
    dive.write_text(text.split('expect')[0])  # those come later than 20 s
    run = launch(
        processes,
        tmp_path,
        f'delivery:={way}',
        f'scenario:={dive}',
        'duration:=20',
        'real_time_factor:=0',
        'composed:=true',
        f'record:={tmp_path / "run"}',
    )
    check_ended(run.end())
    stamps, position = trajectory(tmp_path / 'run')
    assert manifest(tmp_path / 'run')['ticks'] == 4001
    assert stamps.tolist() == [i * 5_000_000 for i in range(4001)]
    embedded = simulate(load_vehicle('bluerov2'), load_scenario(str(dive)), duration=20.0)
    error, way_made = apart(stamps, position, embedded)
    assert error < TOLERANCE[way], (error, way_made)


@launched
@ways
def test_separate_processes_do_the_same(processes, tmp_path, way):
    path = scenario(tmp_path, 3)
    run = launch(
        processes,
        tmp_path,
        f'delivery:={way}',
        f'scenario:={path}',
        'real_time_factor:=0',
        f'record:={tmp_path / "run"}',
    )
    check_ended(run.end())
    stamps, position = trajectory(tmp_path / 'run')
    assert len(stamps) == 601
    embedded = simulate(load_vehicle('bluerov2'), load_scenario(str(path)), duration=3.0)
    error, way_made = apart(stamps, position, embedded)
    assert error < TOLERANCE[way], (error, way_made)


BODIES = """
seabed: {depth: 20.0, material: sand}
bodies:
  - {name: crate, shape: box, size: [0.4, 0.4, 0.4], position: [1, 0, -3], mass: 65,
     volume: 0.0625}
  - {name: sinker, shape: box, size: [0.4, 0.3, 0.2], position: [3, 2, -2], mass: 30}
"""


OWN = """<sdf version="1.9"><world name="mine"><physics type="dart" name="p">
<max_step_size>0.001</max_step_size></physics><gravity>0 0 -9.81</gravity></world></sdf>
"""


@launched
@all_ways
def test_free_running_in_a_world_of_one_s_own(processes, tmp_path, way):
    path = scenario(tmp_path, 3)
    (tmp_path / 'own.sdf').write_text(OWN)
    run = launch(
        processes,
        tmp_path,
        f'delivery:={way}',
        f'scenario:={path}',
        'lockstep:=false',
        'composed:=true',
        f'world:={tmp_path / "own.sdf"}',
        f'record:={tmp_path / "run"}',
    )
    check_ended(output := run.end())
    assert '<gravity> is 0 0 -9.81 in the world and 9.8 m/s² in the environment' in output
    stamps, position = trajectory(tmp_path / 'run')
    embedded = simulate(load_vehicle('bluerov2'), load_scenario(str(path)), duration=3.0)
    error, way_made = apart(stamps, position, embedded)
    # A wrench comes late and a busy machine misses some; without the right impulse it would
    # fall by metres.
    assert error < 0.2 * way_made, (error, way_made)


@launched
@pytest.mark.parametrize('way', ['auto', 'compiled'])
def test_an_arm_in_a_pool_is_held(processes, tmp_path, way):
    run = launch(
        processes,
        tmp_path,
        f'delivery:={way}',
        'vehicle:=investigator90',
        'environment:=pool',
        'controller:=modern',
        'duration:=2',
        'real_time_factor:=0',
        'composed:=true',
    )
    check_ended(run.end())


@launched
def test_a_vehicle_lands_on_a_terrain_where_the_embedded_one_does(processes, tmp_path):
    """The mesh splits each cell in two where the embedded ground is bilinear: 1.1 cm at most."""
    path = tmp_path / 'land.yaml'
    path.write_text(
        'duration: 8.0\ninitial: {position: [4.0, 3.0, -9.0], rpy: [0.0, 0.0, 0.0]}\n'
        'segments: [{at: 0.0, axes: {heave: -0.3}}]\n'
    )
    run = launch(
        processes,
        tmp_path,
        'delivery:=stock',
        f'scenario:={path}',
        'real_time_factor:=0',
        'environment:=shallow_sand',
        'composed:=true',
        f'record:={tmp_path / "run"}',
    )
    check_ended(run.end())
    _, position = trajectory(tmp_path / 'run')
    sand = load_environment('shallow_sand')
    embedded = simulate(load_vehicle('bluerov2'), load_scenario(str(path)), environment=sand)
    assert np.ptp(embedded.position[-200:, 2]) < 1e-4  # it lies
    assert abs(position[-1, 2] - embedded.position[-1, 2]) < 0.02


@launched
def test_a_window_without_a_display_is_told_in_one_line(processes, tmp_path):
    processes.environment.pop('DISPLAY', None)
    processes.environment.pop('WAYLAND_DISPLAY', None)
    output = launch(processes, tmp_path, 'gui:=true').end()
    assert 'gui:=true: no display' in output


@launched
@pytest.mark.parametrize(
    ('way', 'name'),
    [('in_server', 'gz'), ('stock', 'gz'), ('stock', 'parameter_bridge'), ('stock', 'composed')],
)
def test_a_launch_of_which_one_is_killed_ends(processes, tmp_path, way, name):
    run = launch(processes, tmp_path, f'delivery:={way}', 'composed:=true')
    run.until('Passing message from ROS')
    pid = re.search(rf'\[{name}-\d\]: process started with pid \[(\d+)\]', run.output)[1]
    os.kill(int(pid), signal.SIGKILL)
    output = run.end(30)
    assert re.search(rf'{name}-\d\]: process has died .*exit code -9', output)
    assert 'Traceback' not in output
    ends = output.count('process has finished cleanly') + output.count('process has died')
    assert ends == output.count('process started')
    assert run.process.returncode == 1


class Parts:
    """Server, ros_gz_bridge and the suite, each started and ended by itself."""

    def __init__(self, processes, tmp_path, way, **more):
        self.processes, self.folder, self.way = processes, tmp_path, way
        options = RunOptions(gazebo={'delivery': way}, real_time_factor=0.0, **more)
        self.made = write_run(options, tmp_path, world='', delivery=way)
        own = bridge_parameters(self.made, options.dt, delivery=way) | {'gazebo_timeout': 1.0}
        self.options = replace(options, gazebo=own)
        paths = [str(SYSTEM_FOLDER), os.environ.get('GZ_SIM_SYSTEM_PLUGIN_PATH', '')]
        processes.environment['GZ_SIM_SYSTEM_PLUGIN_PATH'] = os.pathsep.join(paths)
        self.start_server()
        self.start_bridge()

    def start_bridge(self):
        file = self.folder / 'ros_gz_bridge.yaml'
        command = bridge_command(bridge_program(), self.made.name, file)
        self.bridge = Logged(self.processes, self.folder / 'bridge.log', *command)

    def start_server(self):
        runs = ['-r'] if self.way == 'in_server' else []
        command = ['gz', 'sim', '-s', *runs, str(self.folder / 'world.sdf')]
        self.server = Logged(self.processes, self.folder / 'gz.log', *command)

    def start_suite(self):
        self.suite = Logged(
            self.processes,
            self.folder / 'suite.log',
            sys.executable,
            '-m',
            'marine_sim_ros.nodes.composed',
            self.options.to_json(),
            '--ros-args',
            '-r',
            '__ns:=/bluerov2',
        )
        return self.suite

    def start_nodes(self):
        self.specs = {s.executable: s for s in node_specs(self.options)}
        self.nodes = {name: self.start_node(name) for name in self.specs}

    def start_node(self, name):
        spec = self.specs[name]
        return Logged(
            self.processes,
            self.folder / f'{name}.log',
            sys.executable,
            '-m',
            f'marine_sim_ros.nodes.{name}',
            *spec.ros_arguments(),
        )

    def ask(self, service, kind, request):
        done = subprocess.run(
            [
                'gz',
                'service',
                '-s',
                f'/world/{self.made.name}/{service}',
                '--reqtype',
                kind,
                '--reptype',
                'gz.msgs.Boolean',
                '--timeout',
                '5000',
                '--req',
                request,
            ],
            env=self.processes.environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert 'data: true' in done.stdout, done

    def control(self, request):
        self.ask('control', 'gz.msgs.WorldControl', request)


def runs(watcher, ticks=100):
    """Wait until so many states more are there."""
    count = len(watcher.seen['odom'])
    watcher.until(lambda: len(watcher.seen['odom']) > count + ticks, 90.0)


def told(watcher, text, node='gazebo_bridge'):
    """Wait until a node tells a text in its diagnostics."""
    watcher.until(lambda: any(text in s.message for s in statuses(watcher, node)), 60.0)


def new_run(watcher):
    """Wait until the run is back at its first second and goes on."""
    watcher.until(lambda: stamp_of(watcher.seen['odom'][-1]) < 10**9, 60.0)
    runs(watcher)


@ways
@pytest.mark.parametrize('part', ['server', 'bridge'])
def test_a_part_that_is_killed_is_told_and_found_when_it_is_back(
    processes, watcher, tmp_path, way, part
):
    parts = Parts(processes, tmp_path, way)
    suite = parts.start_suite()
    runs(watcher, 400)
    getattr(parts, part).process.kill()
    told(watcher, 'is it paused, or gone?')
    suite.until('nothing from Gazebo for')
    last = stamp_of(watcher.seen['odom'][-1])
    watcher.seen['odom'].clear()
    getattr(parts, f'start_{part}')()
    if part == 'server':
        new_run(watcher)
        suite.until(r'Gazebo went back to 0\.000 s: a new run')
    else:
        runs(watcher)
        assert 0 < stamp_of(watcher.seen['odom'][0]) - last <= 20_000_000
        assert 'a new run' not in suite.output
    assert 'Traceback' not in suite.output


def test_a_world_that_is_paused_waits_and_goes_on(processes, watcher, tmp_path):
    parts = Parts(processes, tmp_path, 'in_server')
    suite = parts.start_suite()
    runs(watcher)
    parts.control('pause: true')
    told(watcher, 'Gazebo: paused at')
    last = stamp_of(watcher.seen['odom'][-1])
    parts.control('pause: false')
    runs(watcher)
    stamps = [stamp_of(m) for m in watcher.seen['odom']]
    after = stamps[stamps.index(last) :]
    assert np.all(np.diff(after) == 5_000_000)
    assert 'Traceback' not in suite.output


@ways
def test_a_world_that_is_reset_is_a_new_run(processes, watcher, tmp_path, way):
    parts = Parts(processes, tmp_path, way, scenario='dive')
    suite = parts.start_suite()
    runs(watcher, 400)
    first = {stamp_of(m): m for m in watcher.seen['odom']}
    request = 'reset: {all: true}' if way == 'in_server' else 'pause: true, reset: {all: true}'
    for _ in range(20):  # of a reset and a step that come together Gazebo forgets one
        watcher.seen['odom'].clear()
        parts.control(request)
        watcher.spin(3.0)
        if 'a new run' in suite.output:
            break
    assert re.search(r'Gazebo went back to 0\.00[05] s: a new run', suite.output)
    watcher.until(lambda: stamp_of(watcher.seen['odom'][-1]) > max(first))
    messages = watcher.seen['odom']
    again = {stamp_of(m): m for m in messages[np.argmin([stamp_of(m) for m in messages]) :]}
    both = sorted(set(first) & set(again))
    assert len(both) > 300
    depth, wanted = ([d[s].pose.pose.position.z for s in both] for d in (again, first))
    # A step that Gazebo had under way had the wrench of another state.
    np.testing.assert_allclose(depth, wanted, rtol=0, atol=0 if way == 'in_server' else 0.01)
    assert 'Traceback' not in suite.output


@ways
def test_the_service_reset_begins_again_at_zero(processes, watcher, tmp_path, way):
    from std_srvs.srv import Trigger

    parts = Parts(processes, tmp_path, way)
    suite = parts.start_suite()
    client = watcher.node.create_client(Trigger, 'reset')
    runs(watcher, 400)
    future = client.call_async(Trigger.Request())
    watcher.until(future.done)
    assert future.result().success
    suite.until(r'Gazebo went back to 0\.000 s: a new run')
    new_run(watcher)


@ways
def test_a_vehicle_that_is_removed_is_told(processes, watcher, tmp_path, way):
    parts = Parts(processes, tmp_path, way)
    suite = parts.start_suite()
    runs(watcher)
    parts.ask('remove', 'gz.msgs.Entity', f'name: "{parts.made.model}" type: MODEL')
    expected = 'no link bluerov2::base_link' if way == 'in_server' else 'is it paused, or gone?'
    told(watcher, expected)
    assert suite.process.poll() is None
    assert 'Traceback' not in suite.output


@ways
def test_a_gazebo_bridge_that_is_killed_and_started_again_goes_on(
    processes, watcher, tmp_path, way
):
    parts = Parts(processes, tmp_path, way)
    parts.start_nodes()
    runs(watcher, 200)
    parts.nodes['gazebo_bridge'].process.kill()
    parts.nodes['gazebo_bridge'].process.wait()
    watcher.spin(1.0)
    before = watcher.seen['odom'][-1]
    watcher.seen['odom'].clear()
    again = parts.start_node('gazebo_bridge')
    runs(watcher, 200)
    after = watcher.seen['odom']
    # The watcher may find the new node some ticks later than the forces do.
    assert 0 <= stamp_of(after[0]) - stamp_of(before) <= 10**9
    assert after[0].pose.pose.position.z == pytest.approx(before.pose.pose.position.z, abs=0.1)
    assert np.all(np.diff([stamp_of(m) for m in after]) == 5_000_000)
    assert 'Traceback' not in again.output


def test_bodies_go_on_when_gazebo_bridge_was_killed(processes, watcher, tmp_path):
    """They lie where they were, or fall on under the water's forces, when it is back."""
    from nav_msgs.msg import Odometry

    (tmp_path / 'sea.yaml').write_text(BODIES)
    for name in ('crate', 'sinker'):
        watcher.listen(f'/bodies/{name}/odom', Odometry)
    parts = Parts(processes, tmp_path, 'in_server', environment=str(tmp_path / 'sea.yaml'))
    parts.start_nodes()
    runs(watcher, 200)
    parts.nodes['gazebo_bridge'].process.kill()
    parts.nodes['gazebo_bridge'].process.wait()
    watcher.spin(1.0)
    before = {topic: messages[-1] for topic, messages in watcher.seen.items() if messages}
    for messages in watcher.seen.values():
        messages.clear()
    again = parts.start_node('gazebo_bridge')
    runs(watcher, 400)
    for name in ('crate', 'sinker'):
        topic = f'/bodies/{name}/odom'
        after = watcher.seen[topic]
        stamps = [stamp_of(m) for m in after]
        assert np.all(np.diff(stamps)[1:] == 5_000_000)  # the first may be the last one again
        last, first = (m.pose.pose.position for m in (before[topic], after[0]))
        assert abs(first.z - last.z) < 0.5
        assert first.x == pytest.approx(last.x, abs=0.01)
        # The water bears it: at most the speed at which its drag is its weight.
        assert after[-1].twist.twist.linear.z > -1.5
        assert after[-1].pose.pose.position.z < first.z
    assert 'Traceback' not in again.output


def test_a_world_that_is_not_there_ends_the_run_with_one_line(processes):
    own = {'delivery': 'stock', 'world': 'nowhere', 'start_timeout': 2.0}
    run = processes.start(
        sys.executable,
        '-m',
        'marine_sim_ros.nodes.composed',
        RunOptions(gazebo=own).to_json(),
        '--ros-args',
        '-r',
        '__ns:=/bluerov2',
    )
    output, _ = run.communicate()
    assert run.returncode == 1
    assert output.count("expected gz sim with the world 'nowhere' and ros_gz_bridge") == 1
