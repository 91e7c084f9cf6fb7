# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every launch file, run by a real ``ros2 launch`` from an installed workspace."""

import json
import shutil
import signal
import subprocess
import time
from xml.etree import ElementTree as ET

import pytest
from bags import analyze
from conftest import ROOT
from graph import NotInTime, Watcher, recorded
from stand_in_autopilot import free_instance, make_firmware

from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

pytestmark = [pytest.mark.launch, pytest.mark.ros]
FILES = sorted(p.name for p in (ROOT / 'launch').glob('*.launch.py'))


def launch(processes, *arguments):
    if shutil.which('ros2') is None:
        pytest.skip('no ros2 command on the path')
    return processes.start('ros2', 'launch', 'marine_sim_ros', *arguments, start_new_session=True)


def until_it_runs():
    """Wait until a run has come to its second tick: every force has answered the first."""
    from rosgraph_msgs.msg import Clock

    watcher = Watcher()
    watcher.listen('/clock', Clock)
    watcher.until(lambda: watcher.seen['/clock'][-1].clock != Clock().clock)
    watcher.close()


@pytest.mark.parametrize('name', FILES)
def test_every_launch_file_runs_and_ends_cleanly(processes, name):
    process = launch(processes, name)
    until_it_runs()
    time.sleep(1)  # robot_state_publisher and sensors, which no tick waits for
    assert process.poll() is None, process.communicate()[0]
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert 'escalating' not in output, output
    assert 'Traceback' not in output
    assert 'process has died' not in output, output
    assert output.count('process has finished cleanly') == output.count('process started')


@pytest.mark.parametrize('composed', ['false', 'true'])
@pytest.mark.parametrize('name', FILES)
def test_every_launch_file_records(processes, tmp_path, name, composed):
    process = launch(
        processes,
        name,
        'duration:=1',
        'real_time_factor:=0',
        'rviz:=false',
        f'record:={tmp_path / "run"}',
        f'composed:={composed}',
    )
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert 'Traceback' not in output
    assert 'process has died' not in output, output
    found = json.loads((tmp_path / 'run' / 'manifest.json').read_text())
    for manifest in found.get('vehicles', {'': found}).values():
        assert manifest['ticks'] == 201
    assert list((tmp_path / 'run' / 'bag').glob('*.mcap'))


def test_processes_share_a_fleet(processes, tmp_path):
    process = launch(
        processes,
        'fleet.launch.py',
        'processes:=2',
        'duration:=1',
        'real_time_factor:=0',
        f'record:={tmp_path}',
    )
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert output.count('process started') == output.count('process has finished cleanly') == 2
    found = [json.loads((tmp_path / part / 'manifest.json').read_text()) for part in '12']
    assert [manifest['ticks'] for manifest in found] == [201, 201]
    assert [manifest['vehicle'] for manifest in found] == ['bluerov2', 'bluerov2_heavy']


@pytest.mark.parametrize('composed', ['false', 'true'])
def test_launch_and_run_give_the_same_trajectory(processes, tmp_path, composed):
    process = launch(
        processes,
        'bluerov2.launch.py',
        'scenario:=dive',
        'real_time_factor:=0',
        'duration:=3',
        f'record:={tmp_path / "a"}',
        f'composed:={composed}',
    )
    process.communicate()
    other = processes.marine_sim(
        'run',
        'bluerov2',
        '--scenario',
        'dive',
        '--real-time-factor',
        0,
        '--duration',
        3,
        '--record',
        tmp_path / 'b',
    )
    other.communicate()
    hashes = {
        json.loads((tmp_path / d / 'manifest.json').read_text())['trajectory_sha256']
        for d in ('a', 'b')
    }
    assert len(hashes) == 1


@pytest.mark.parametrize(
    'arguments', [[], ['composed:=true'], ['fleet:=two_vehicles', 'processes:=2']]
)
@pytest.mark.parametrize(('lowest', 'code'), [(-9.0, 0), (5.0, 1)])
def test_an_expectation_that_does_not_hold_is_a_failed_launch(
    processes, tmp_path, arguments, lowest, code
):
    scenario = tmp_path / 'rest.yaml'
    band = f'{{from: 0.5, to: 1.0, depth: [{lowest}, 9.0]}}'
    scenario.write_text(f'duration: 1.0\nsegments: [{{at: 0.0, depth: 2.0}}]\nexpect: [{band}]\n')
    process = launch(
        processes, 'fleet.launch.py' if len(arguments) > 1 else 'bluerov2.launch.py',
        f'scenario:={scenario}', 'real_time_factor:=0', *arguments,
    )  # fmt: skip
    output, _ = process.communicate()
    assert process.returncode == code, output
    assert ('does not hold' in output) == bool(code)
    assert 'Traceback' not in output


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (['vehicle:=bluerov9'], "'bluerov9' is neither a file nor a shipped vehicle"),
        (['joy:=true', 'gamepad:=snes'], "'snes' is neither a file nor a shipped gamepad"),
        (['recorder:=tape'], 'expected one of: suite, ros2_bag'),
        (['rviz:=maybe'], 'rviz:=maybe; expected true or false'),
    ],
)
def test_bad_arguments_give_one_line(processes, arguments, expected):
    process = launch(processes, 'sim.launch.py', *arguments)
    output, _ = process.communicate()
    assert process.returncode != 0
    assert expected in output


INCLUDES = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription


def generate_launch_description():
    file = IncludeLaunchDescription({file!r})
    return LaunchDescription([DeclareLaunchArgument('start_timeout'), file])
"""


def test_an_argument_that_nothing_reads_is_told_where_no_other_file_can_read_it(
    processes, tmp_path
):
    ending = ['start_timeout:=5', 'vehicle:=bluerov9']
    output, _ = launch(processes, 'sim.launch.py', *ending).communicate()
    assert output.count('start_timeout:= is no argument of this launch file') == 1
    own = tmp_path / 'own.launch.py'
    own.write_text(INCLUDES.format(file=str(ROOT / 'launch' / 'sim.launch.py')))
    output, _ = processes.start('ros2', 'launch', str(own), *ending).communicate()
    assert 'bluerov9' in output
    assert 'start_timeout:=' not in output


def test_without_rviz_one_line_says_how_to_get_it(processes):
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix('rviz2')
    except PackageNotFoundError:
        output, _ = launch(processes, 'sim.launch.py', 'rviz:=true').communicate()
        assert 'rviz2 is not installed; expected `apt install ros-jazzy-rviz2`' in output
        assert 'process started' not in output
    else:
        pytest.skip('rviz2 is on this machine')


@pytest.mark.parametrize('composed', ['false', 'true'])
def test_ros2_bag_has_every_topic_and_tick_of_a_closed_loop_with_an_arm(
    processes, tmp_path, composed
):
    pytest.importorskip('ros2bag')
    from marine_sim_ros.ros.recording.ros2_bag import bag_counts

    process = launch(
        processes,
        'investigator90.launch.py',
        'environment:=pool',
        'scenario:=position_hold',
        'real_time_factor:=0',
        'duration:=5',
        'recorder:=ros2_bag',
        f'composed:={composed}',
        f'record:={tmp_path / "run"}',
    )
    output, _ = process.communicate()
    assert 'Traceback' not in output
    manifest = json.loads((tmp_path / 'run' / 'manifest.json').read_text())
    assert manifest['ticks'] == 1001
    assert manifest['lost_messages'] == {}, output
    counts = bag_counts(tmp_path / 'run' / 'bag')
    for name in ('odom', 'controller/setpoints', 'joint_states', 'barometer/pressure'):
        assert counts[f'/investigator90/{name}'] == 1001


@pytest.mark.parametrize('composed', ['false', 'true'])
def test_an_autopilot_launches_and_holds_its_depth(processes, tmp_path, composed):
    process = launch(
        processes,
        'bluerov2.launch.py',
        'autopilot:=ardusub',
        f'ardusub:={make_firmware(tmp_path / "ardusub", "--depth", 1.2)}',
        f'autopilot_instance:={free_instance()}',
        'duration:=8',
        'real_time_factor:=0',
        f'record:={tmp_path / "run"}',
        f'composed:={composed}',
    )
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert ' connected' in output
    assert 'Traceback' not in output
    *_, last = recorded(tmp_path / 'run')['odom'].values()
    assert -last.pose.pose.position.z == pytest.approx(1.2, abs=0.05)


def test_the_description_has_a_process_for_every_effect():
    names = [spec.executable for spec in node_specs(RunOptions(scenario='dive'))]
    assert names == [
        'thrusters',
        'buoyancy',
        'drag',
        'barometer',
        'sensors',
        'scenario',
        'dynamics',
    ]


def test_ros2_command_sees_the_graph(processes):
    process = launch(processes, 'bluerov2.launch.py')
    until_it_runs()
    listed = subprocess.run(
        ['ros2', 'topic', 'list', '--no-daemon', '--spin-time', '3'],
        env=processes.environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    assert process.poll() is None
    wanted = {'/bluerov2/odom', '/bluerov2/wrench/drag', '/tf', '/clock'}
    if not wanted <= set(listed):
        raise NotInTime(f'3 s showed {listed}')


@pytest.mark.parametrize('vehicle', ['simple_rov', 'surface_vessel'])
def test_hulls_in_a_sea_launch_and_run_alike(processes, tmp_path, vehicle):
    scenario = tmp_path / 'drift.yaml'
    count = {'simple_rov': 5, 'surface_vessel': 2}[vehicle]
    scenario.write_text(f'duration: 2.0\nsegments:\n  - {{at: 0.0, pwm: {[1650] * count}}}\n')
    process = launch(
        processes,
        'sim.launch.py',
        f'vehicle:={vehicle}',
        'environment:=moderate_sea',
        'markers:=true',
        'publish_components:=true',
        f'scenario:={scenario}',
        'real_time_factor:=0',
        f'record:={tmp_path / "a"}',
    )
    output, _ = process.communicate()
    assert 'Traceback' not in output
    other = processes.marine_sim(
        'simulate', vehicle, '--scenario', scenario, '--environment', 'moderate_sea'
    )
    expected, _ = other.communicate()
    manifest = json.loads((tmp_path / 'a' / 'manifest.json').read_text())
    assert manifest['ticks'] == 401
    assert manifest['trajectory_sha256'] in expected


@pytest.mark.parametrize('composed', ['false', 'true'])
def test_a_closed_loop_with_an_arm_launches_and_runs_alike(processes, tmp_path, composed):
    process = launch(
        processes,
        'investigator90.launch.py',
        'environment:=pool',
        'scenario:=position_hold',
        'real_time_factor:=0',
        'duration:=2',
        f'record:={tmp_path / "a"}',
        f'composed:={composed}',
    )
    output, _ = process.communicate()
    assert 'Traceback' not in output
    other = processes.marine_sim(
        'simulate',
        'investigator90',
        '--environment',
        'pool',
        '--scenario',
        'position_hold',
        '--duration',
        2,
    )
    expected, _ = other.communicate()
    manifest = json.loads((tmp_path / 'a' / 'manifest.json').read_text())
    assert manifest['ticks'] == 401
    assert manifest['trajectory_sha256'] in expected


def test_an_operators_controller_launches(processes):
    process = launch(processes, 'bluerov2.launch.py', 'controller:=modern')
    until_it_runs()
    called = subprocess.run(
        ['ros2', 'service', 'call', '/bluerov2/arm', 'std_srvs/srv/SetBool', '{data: true}'],
        env=processes.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.poll() is None
    assert "message='armed'" in called.stdout


@pytest.mark.parametrize('composed', ['false', 'true'])
def test_the_console_launches_steers_and_ends_the_run(processes, composed):
    pytest.importorskip('nicegui')
    from std_msgs.msg import UInt16MultiArray
    from test_console_graph import Wire, pushed
    from test_console_page import address_of

    process = launch(
        processes,
        'bluerov2.launch.py',
        'console:=true',
        'console_port:=0',
        'dt:=0.01',
        f'composed:={composed}',
    )
    wire = Wire(address_of(process), 'launched')
    wire.until(lambda m: m['frame']['time'] > 0.5)
    watcher = Watcher()
    watcher.listen('thrusters/pwm', UInt16MultiArray)
    wire.ask('take', False)
    wire.hold(watcher, lambda: pushed(watcher.seen['thrusters/pwm'][-1]), heave=-1.0)
    watcher.close()
    wire.ask('end')
    output, _ = process.communicate()
    assert process.returncode == 0
    assert 'Traceback' not in output
    assert 'process has died' not in output, output


@pytest.mark.parametrize(
    ('command', 'namespaces', 'prefixes'),
    [
        (['investigator90.launch.py'], ['investigator90'], ['']),
        (['sim.launch.py', 'vehicle:=wamv'], ['wamv'], ['']),
        (['sim.launch.py', 'vehicle:=bluerov2', 'markers:=true'], ['bluerov2'], ['']),
        (['fleet.launch.py'], ['bluerov2', 'bluerov2_heavy'], ['bluerov2/', 'bluerov2_heavy/']),
    ],
)
def test_every_link_can_be_drawn_in_the_map(processes, command, namespaces, prefixes):
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String
    from tf2_msgs.msg import TFMessage

    try:
        get_package_prefix('robot_state_publisher')
    except PackageNotFoundError:
        pytest.skip('no robot_state_publisher on this machine')
    launch(processes, *command)
    watcher = Watcher()
    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    described = [f'/{name}/robot_description' for name in namespaces]
    for topic in described:
        watcher.listen(topic, String, latched)
    watcher.listen('/tf', TFMessage)
    watcher.listen('/tf_static', TFMessage, latched)
    watcher.until(lambda: all(watcher.seen[topic] for topic in described))
    links = {
        prefix + link.get('name')
        for prefix, topic in zip(prefixes, described, strict=True)
        for link in ET.fromstring(watcher.seen[topic][0].data).iter('link')
    }

    def drawn():
        parent = {
            t.child_frame_id: t.header.frame_id
            for topic in ('/tf', '/tf_static')
            for message in watcher.seen[topic]
            for t in message.transforms
        }

        def root(frame):
            return root(parent[frame]) if frame in parent else frame

        return {root(link) for link in links} == {'map'}

    watcher.until(drawn)
    watcher.close()


@pytest.mark.slow
def test_ros2_bag_records_what_analyze_and_identify_read(processes, tmp_path):
    pytest.importorskip('ros2bag')
    process = launch(
        processes,
        'bluerov2_heavy.launch.py',
        'vehicle_arguments:=coefficients:=maker',
        'scenario:=excitation',
        'duration:=22',
        'composed:=true',
        'recorder:=ros2_bag',
        f'record:={tmp_path / "run"}',
    )
    output, _ = process.communicate()
    assert 'Traceback' not in output
    assert analyze(tmp_path / 'run', '-o', tmp_path / 'out', '--table', 'none') == 0
    bag = json.loads((tmp_path / 'out' / 'metrics.json').read_text())['bags'][0]
    odom = bag['vehicles']['bluerov2_heavy']['channels']['odom']
    assert odom['wall_times']
    assert odom['messages'] > 3000
    other = processes.marine_sim(
        'identify',
        tmp_path / 'run',
        '--vehicle',
        'bluerov2_heavy',
        '--set',
        'coefficients:=maker',
        '--json',
        stderr=subprocess.DEVNULL,
    )
    found, _ = other.communicate()
    surge = next(
        e
        for e in json.loads(found)['estimates']
        if (e['parameter'], e['axis']) == ('quadratic_damping', 'surge')
    )
    assert surge['value'] == pytest.approx(141, rel=0.1)
