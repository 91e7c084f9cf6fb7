# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""``ros2 bag record`` under the recorder: same topics, every tick, and what is lost is counted."""

import json
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Event, Thread

import pytest
from conftest import marine_sim
from graph import STEP, Watcher, manifest, recorded, simulated, start_graph, ticks
from mock_ros2_bag import install
from processor import PATIENCE

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics import wrench_sources
from marine_sim_ros.sim.options import RunOptions

qos = pytest.importorskip('rclpy.qos', reason='ros: not on this machine')

from marine_sim_ros.ros import topics  # noqa: E402
from marine_sim_ros.ros.recording.ros2_bag import (  # noqa: E402
    MAX_QUEUE,
    bag_counts,
    check_ros2_bag,
    missing_messages,
    qos_overrides,
    ros2_bag_command,
)
from marine_sim_ros.ros.ticks import TOPIC_TIMEOUT, TickProgress  # noqa: E402

pytestmark = pytest.mark.ros


def real():
    """Whether there is a `ros2 bag record` that takes overrides."""
    if shutil.which('ros2') is None or find_spec('ros2bag') is None:
        return False
    import rosbag2_py

    try:  # fails where rclpy and rosbag2_py were built with different versions of pybind11
        rosbag2_py.RecordOptions().topic_qos_profile_overrides = {'/x': qos.QoSProfile(depth=1)}
    except RuntimeError:
        return False
    return True


REAL = real()
ARM = {
    'vehicle': 'investigator90',
    'environment': 'pool',
    'scenario': 'position_hold',
    'real_time_factor': 0.0,
    'duration': 1.5,
}


def profile(settings):
    return qos.QoSProfile(
        depth=settings['depth'],
        history=qos.HistoryPolicy.get_from_short_key(settings['history']),
        reliability=qos.ReliabilityPolicy.get_from_short_key(settings['reliability']),
        durability=qos.DurabilityPolicy.get_from_short_key(settings['durability']),
    )


def everything():
    rov = load_vehicle('investigator90')
    sources = wrench_sources(rov, load_environment('pool'))
    found = [
        topics.topics_to_record(
            rov, components=True, controller=True, pwm_per_tick=each, sources=sources
        )
        for each in (True, False)
    ]
    return {f'/rov/{t.name}': t for t in (*found[0], *found[1])}


@pytest.fixture(
    params=[
        'mock',
        pytest.param(
            'real', marks=pytest.mark.skipif(not REAL, reason='no ros2 bag on this machine')
        ),
    ]
)
def bag_processes(request, processes, tmp_path):
    """Processes that find `ros2 bag record`, or its stand-in."""
    if request.param == 'mock':
        processes.environment = {**processes.environment, **install(tmp_path / 'mock')}
    return processes


def record(processes, folder, *, composed, recorder='ros2_bag', **options):
    """Run to the end; return the recorder's process and its output."""
    options = {'dt': STEP, **options, 'record': str(folder), 'recorder': recorder}
    if composed:
        text = RunOptions(**options).to_json()
        process = processes.module('marine_sim_ros.nodes.composed', text)
        return process, process.communicate()[0]
    nodes, _ = start_graph(processes, **options)
    nodes['dynamics'].communicate()
    nodes['recorder'].send_signal(signal.SIGINT)
    output, _ = nodes['recorder'].communicate()
    processes.end()  # else these answer the next run, too
    return nodes['recorder'], output


def test_the_overrides_hear_every_publisher_and_get_what_was_latched():
    for name, settings in qos_overrides(everything()).items():
        topic = everything()[name]
        compatible, reason = qos.qos_check_compatible(topic.qos, profile(settings))
        assert compatible != qos.QoSCompatibility.ERROR, f'{name}: {reason}'
        latched = topic.transient_local and not topic.shared
        assert settings['durability'] == ('transient_local' if latched else 'volatile')


@pytest.mark.skipif(not REAL, reason='no ros2 bag on this machine')
def test_ros2_bag_reads_the_overrides_and_knows_every_option():
    import argparse
    from pathlib import Path

    from ros2bag.api import convert_yaml_to_qos_profile
    from ros2bag.verb.record import RecordVerb

    overrides = qos_overrides(everything())
    for name, found in convert_yaml_to_qos_profile(overrides).items():
        assert found == profile(overrides[name])
    parser = argparse.ArgumentParser()
    RecordVerb().add_arguments(parser, 'ros2')
    given = ros2_bag_command(Path('out/bag'), Path('/dev/null'), list(overrides), 'recorder')
    options = parser.parse_args(given[3:])
    assert options.topics == list(overrides)
    assert options.include_unpublished_topics


def test_a_backlog_is_kept_of_which_the_usual_queue_loses_all_but_ten(ros_environment):
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions
    from std_msgs.msg import Float64

    context = rclpy.Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('slow', context=context)
    (settings,) = qos_overrides({'/odom': topics.ODOM}).values()
    seen = {}
    for name, queue in (('ours', profile(settings)), ('usual', 10)):
        seen[name] = []
        node.create_subscription(Float64, '/x', lambda m, n=name: seen[n].append(m.data), queue)
    publisher = node.create_publisher(Float64, '/x', topics.ODOM.qos)
    deadline = time.monotonic() + PATIENCE
    while publisher.get_subscription_count() < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    count = MAX_QUEUE // 2
    for i in range(count):
        publisher.publish(Float64(data=float(i)))
        time.sleep(0.0002)
    time.sleep(0.5)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    while len(seen['ours']) < count and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    node.destroy_node()
    context.try_shutdown()
    assert seen['ours'] == list(range(count))
    assert seen['usual'] == list(range(count - 10, count))


def test_what_is_missing_in_a_bag_is_counted(tmp_path):
    from marine_sim_ros.bags.storage import QoS, storage

    writer = storage('the test').writer(tmp_path / 'bag')
    for name, count in (('/a', 5), ('/b', 3)):
        writer.add(name, 'std_msgs/msg/String', QoS(10, False))
        for i in range(count):
            writer.write(name, i, b'\0\1\0\0\1\0\0\0\0')
    writer.close()
    counts = bag_counts(tmp_path / 'bag')
    assert counts == {'/a': 5, '/b': 3}
    assert missing_messages(counts, {'/a': 5, '/b': 5, '/c': 5}) == {'/b': 2, '/c': 5}
    with pytest.raises(RecordingError, match=r'has no metadata\.yaml that can be read'):
        bag_counts(tmp_path)


def test_progress_is_what_every_live_topic_has():
    progress = TickProgress(['a', 'b', 'pwm'])
    progress.take('a', 0, now=0.0)
    progress.take('b', 0, now=0.0)
    assert progress.complete(0.0) is None
    progress.take('pwm', None, now=0.0)
    assert progress.complete(0.0) == 0
    progress.take('a', 10, now=0.1)
    progress.take('a', 20, now=0.1)
    progress.take('b', 10, now=0.1)
    assert progress.complete(0.2) == 10
    assert progress.complete(0.1 + 1.1 * TOPIC_TIMEOUT) == 20  # b's node is lost


def test_progress_says_when_every_topic_has_come_up_to_a_stamp():
    progress = TickProgress(['a', 'b'])
    assert not progress.is_reached
    progress.take('a', 0, now=0.0)
    progress.take('b', 0, now=0.0)
    assert progress.is_reached
    progress.aim(20)
    for name, stamp in (('a', 10), ('a', 20), ('b', 10)):
        progress.take(name, stamp, now=0.0)
        assert not progress.is_reached
    progress.take('b', 25, now=0.0)
    assert progress.is_reached


@pytest.mark.parametrize('composed', [False, True], ids=['processes', 'composed'])
def test_ros2_bag_record_has_the_recorders_topics_and_every_tick(
    bag_processes, tmp_path, composed
):
    _, output = record(bag_processes, tmp_path / 'bag', composed=composed, **ARM)
    assert 'Traceback' not in output, output
    told = manifest(tmp_path / 'bag')
    assert told['ticks'] == ticks(1.5)
    assert told['lost_messages'] == {}, output
    _, output = record(bag_processes, tmp_path / 'own', composed=True, recorder='suite', **ARM)
    own, bag = recorded(tmp_path / 'own'), bag_counts(tmp_path / 'bag' / 'bag')
    assert told['trajectory_sha256'] == manifest(tmp_path / 'own')['trajectory_sha256']
    spoken = {name.split('/', 2)[-1] for name, count in bag.items() if count}
    assert set(own) - {'robot_description'} <= spoken  # which the suite's recorder writes alone
    assert {'controller/setpoints', 'joint_states', 'wrench/manipulator'} <= spoken
    for name in ('controller/setpoints', 'joint_states', 'thrusters/pwm', 'odom', 'wrench/total'):
        assert bag[f'/investigator90/{name}'] == len(own[name]) == ticks(1.5), name


@contextmanager
def transforms_of_others():
    """Publishes /tf as robot_state_publisher does, which keeps nothing for who comes late."""
    from geometry_msgs.msg import TransformStamped

    message = pytest.importorskip('tf2_msgs.msg').TFMessage()
    message.transforms = [TransformStamped(child_frame_id='propeller')]
    other, ended = Watcher(), Event()
    publisher = other.node.create_publisher(type(message), '/tf', 10)

    def publish():
        while not ended.wait(0.02):
            publisher.publish(message)

    thread = Thread(target=publish)
    thread.start()
    yield
    ended.set()
    thread.join()
    other.close()


@pytest.mark.parametrize('composed', [False, True], ids=['processes', 'composed'])
@pytest.mark.parametrize('recorder', ['suite', 'ros2_bag'])
def test_transforms_of_others_are_recorded_beside_every_one_of_the_run(
    processes, tmp_path, recorder, composed
):
    rosbags = pytest.importorskip('rosbags.highlevel')
    if recorder == 'ros2_bag' and not REAL:
        processes.environment = {**processes.environment, **install(tmp_path / 'mock')}
    options = {'vehicle': 'bluerov2', 'scenario': 'dive', 'duration': 5.0, 'recorder': recorder}
    with transforms_of_others():
        _, output = record(processes, tmp_path / 'run', composed=composed, **options)
    assert 'incompatible QoS' not in output
    with rosbags.AnyReader([tmp_path / 'run' / 'bag']) as reader:
        found = [
            reader.deserialize(data, connection.msgtype).transforms[0].child_frame_id
            for connection, _, data in reader.messages()
            if connection.topic == '/tf'
        ]
    assert found.count('propeller') > 10
    assert (
        len(found) - found.count('propeller') == manifest(tmp_path / 'run')['ticks'] == ticks(5.0)
    )


def test_ros2_bag_record_in_processes_hashes_as_simulate(bag_processes, tmp_path):
    dive = {'vehicle': 'bluerov2', 'scenario': 'dive', 'duration': 2.0, 'real_time_factor': 0.0}
    _, output = record(bag_processes, tmp_path / 'run', composed=False, **dive)
    told = manifest(tmp_path / 'run')
    assert told['lost_messages'] == {}, output
    expected = simulated('bluerov2', '--scenario', 'dive', '--duration', 2, '--dt', STEP)
    assert told['trajectory_sha256'] == expected


def test_messages_that_are_lost_are_in_a_warning_and_in_the_manifest(processes, tmp_path):
    processes.environment = {
        **processes.environment,
        **install(tmp_path / 'mock'),
        'MOCK_LOSES': '/bluerov2/barometer/pressure',
    }
    dive = {'vehicle': 'bluerov2', 'scenario': 'dive', 'duration': 1.0, 'real_time_factor': 0.0}
    _, output = record(processes, tmp_path / 'run', composed=True, **dive)
    assert manifest(tmp_path / 'run')['lost_messages'] == {'/bluerov2/barometer/pressure': 5}
    assert 'lost messages: /bluerov2/barometer/pressure 5 of 51' in output


def test_a_recorder_that_dies_ends_with_one_line(processes, tmp_path):
    environment = install(tmp_path / 'mock')
    (tmp_path / 'mock' / 'bin' / 'ros2').write_text('#!/bin/sh\nexit 3\n')
    processes.environment = {**processes.environment, **environment}
    process, output = record(
        processes, tmp_path / 'run', composed=True, vehicle='bluerov2', scenario='dive'
    )
    assert process.returncode == 1
    assert output.count('`ros2 bag record` has ended before the run') == 1
    assert output.count('ERROR') == 1
    assert 'Traceback' not in output


@pytest.mark.skipif(find_spec('ros2bag') is not None, reason='ros2 bag is on this machine')
def test_without_ros2_bag_one_line_says_how_to_get_it(processes, tmp_path):
    with pytest.raises(ParameterError, match='apt install ros-jazzy-ros2bag'):
        check_ros2_bag()
    process, output = record(
        processes, tmp_path / 'run', composed=True, vehicle='bluerov2', scenario='dive'
    )
    assert process.returncode == 2
    assert output.count('\n') == 1
    assert output.startswith('ERROR: recorder:=ros2_bag: `ros2 bag` is not installed')


@pytest.mark.skipif(find_spec('rosbag2_py') is None, reason='no rosbag2_py on this machine')
def test_without_rosbags_the_recorder_writes_the_same_by_rosbag2_py(processes, tmp_path):
    dive = {'vehicle': 'bluerov2', 'scenario': 'dive', 'duration': 2.0, 'real_time_factor': 0.0}
    text = RunOptions(**dive, dt=STEP, record=str(tmp_path / 'run')).to_json()
    code = (
        "import sys; sys.modules['rosbags'] = None; "
        'from marine_sim_ros.nodes.composed import main; main()'
    )
    process = processes.start(sys.executable, '-c', code, text)
    output, _ = process.communicate()
    assert 'Traceback' not in output, output
    record(processes, tmp_path / 'own', composed=True, recorder='suite', **dive)
    other, own = recorded(tmp_path / 'run'), recorded(tmp_path / 'own')
    assert manifest(tmp_path / 'run')['ticks'] == ticks(2.0)
    hashes = {manifest(tmp_path / d)['trajectory_sha256'] for d in ('run', 'own')}
    assert len(hashes) == 1
    per_tick = {name for name, messages in own.items() if len(messages) == ticks(2.0)}
    assert len(per_tick) > 8
    for name in per_tick:
        assert list(other[name]) == list(own[name]), name
    assert json.dumps(sorted(other)) == json.dumps(sorted(own))


@pytest.fixture
def watcher(ros_environment):
    result = Watcher()
    yield result
    result.close()


def _stamps_back(part):
    """Return the topics of a recording whose stamps go back, and how often."""
    (vehicle,) = read_bag(str(part)).vehicles.values()
    counts = {name: channel.timing.backwards for name, channel in vehicle.channels.items()}
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize('composed', [True, False], ids=['composed', 'separate'])
def test_each_reset_begins_a_recording(processes, watcher, tmp_path, composed):
    """Each part is what a run without a reset is, up to where it ends."""
    from nav_msgs.msg import Odometry
    from std_srvs.srv import Trigger

    watcher.listen('odom', Odometry)
    odom, folder, step = watcher.seen['odom'], tmp_path / 'run', round(STEP * 1e9)
    process = processes.marine_sim(
        'run', 'bluerov2', '--dt', STEP, '--record', folder, *['--composed'] * composed
    )  # fmt: skip
    reset = watcher.node.create_client(Trigger, 'reset')
    for _ in range(2):
        watcher.until(lambda: odom and odom[-1].header.stamp.sec >= 1)
        watcher.until(reset.service_is_ready)
        future = reset.call_async(Trigger.Request())
        watcher.until(future.done)
        assert future.result().success
        watcher.until(lambda: odom[-1].header.stamp.sec < 1)
    watcher.until(lambda: odom[-1].header.stamp.sec >= 1)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    parts = [folder, folder / 'reset_1', folder / 'reset_2']
    runs = []
    for part in parts:
        assert f'bag       {part / "bag"}' in output
        found = recorded(part, 'bluerov2')
        stamps = list(found['odom'])
        assert stamps == list(range(0, len(stamps) * step, step))
        assert len(stamps) == manifest(part)['ticks'] > 1 / STEP
        # Who ends a run may catch the answer to an odom that is still on its way to the recorder.
        assert set(found['wrench/drag']) <= {*stamps, len(stamps) * step}
        assert 'base_link' in found['robot_description'][0].data
        assert _stamps_back(part) == {}
        runs.append([repr(found['odom'][stamp].pose.pose) for stamp in stamps[: round(1 / STEP)]])
    assert runs[0] == runs[1] == runs[2]
    assert not (folder / 'reset_3').exists()
    code, said = marine_sim('analyze', folder, '-o', tmp_path / 'report', '--table', 'none')
    assert code == 0, said
    assert f'recordings of its own: {folder}/reset_1 to reset_2\n' in said
