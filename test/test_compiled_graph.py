# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled graph: all forces of a tick in one program, and the topics and services as ever."""

import numpy as np
import pytest
from graph import Watcher, manifest, numbers, recorded, simulated, stamp_of
from missing import command_without
from test_engine_ticks import FAULTS

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.ros.force_node import CompiledGraph
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.ros


def record(processes, folder, *arguments):
    process = processes.marine_sim(
        'run', *arguments, '--composed', '--real-time-factor', 0, '--record', folder
    )
    output, _ = process.communicate()
    assert manifest(folder)['ticks'] > 100, output
    return output


def counts(folder):
    """Return the number of messages by topic; diagnostics come by the clock on the wall."""
    from rosbags.highlevel import AnyReader

    with AnyReader([folder / 'bag']) as reader:
        return {c.topic: c.msgcount for c in reader.connections if c.topic != '/diagnostics'}


@pytest.mark.parametrize(
    ('vehicle', 'script'),
    [('bluerov2', 'dive'), ('bluerov2_heavy', 'position_hold'), ('bluerov2', FAULTS)],
    ids=('open', 'controller', 'faults'),
)
def test_it_is_the_compiled_simulation_and_its_bag_is_that_of_numpy(
    processes, tmp_path, vehicle, script
):
    if '\n' in script:
        (tmp_path / 'faults.yaml').write_text(script)
        script = tmp_path / 'faults.yaml'
    common = vehicle, '--scenario', script, '--duration', 1.5
    output = record(processes, tmp_path / 'jax', *common, '--engine', 'jax')
    assert f'engine jax: all forces of {vehicle} in one program' in output
    assert 'silent' not in output  # while it compiled
    record(processes, tmp_path / 'numpy', *common)
    told = manifest(tmp_path / 'jax')
    assert told['parameters']['engine'] == 'jax'
    assert told['trajectory_sha256'] == simulated(*common, '--engine', 'jax')
    assert told['ticks'] == manifest(tmp_path / 'numpy')['ticks'] == 301

    found, expected = recorded(tmp_path / 'jax'), recorded(tmp_path / 'numpy')
    assert counts(tmp_path / 'jax') == counts(tmp_path / 'numpy')
    for topic in expected:
        if topic.startswith('wrench/'):
            for stamp, message in expected[topic].items():
                np.testing.assert_allclose(
                    numbers(found[topic][stamp]), numbers(message), atol=1e-8
                )
    for stamp, message in expected['odom'].items():
        there, wanted = found['odom'][stamp].pose.pose.position, message.pose.pose.position
        assert np.allclose([there.x, there.y, there.z], [wanted.x, wanted.y, wanted.z], atol=1e-11)
    for stamp, message in expected['thrusters/state'].items():
        there = found['thrusters/state'][stamp]
        assert there.name == message.name
        np.testing.assert_allclose(there.effort, message.effort, atol=1e-9)
        np.testing.assert_allclose(there.velocity, message.velocity, atol=1e-7)


def test_it_changes_with_the_environment_and_is_repeated(processes, watcher, tmp_path):
    from nav_msgs.msg import Odometry
    from std_msgs.msg import String

    watcher.listen('/bluerov2/odom', Odometry)
    odom = watcher.seen['/bluerov2/odom']
    change = watcher.node.create_publisher(String, '/bluerov2/environment/change', 10)
    live, again = tmp_path / 'live', tmp_path / 'again'
    common = ('bluerov2', '--scenario', 'dive', '--environment', 'breeze', '--duration', 3)
    process = processes.marine_sim('run', *common, '--engine', 'jax', '--record', live)
    watcher.until(lambda: odom and change.get_subscription_count())
    for text in (
        '{tide: {offset: 0.3}}',  # the surface is not at z = 0 any more
        '{current: {velocity: [0.4, 0.1, 0.0]}}',
        '{water: {profile: [{depth: 0, salinity: 5}, {depth: 2, salinity: 34}]}}',
    ):
        change.publish(String(data=text))
        seen = len(odom)
        watcher.until(lambda seen=seen: len(odom) > seen + 20)
    output, _ = process.communicate()
    assert 'no answer' not in output
    assert len(manifest(live)['parameters']['changes']) == 3
    record(processes, again, *common, '--engine', 'jax', '--changes', live)
    assert manifest(again)['trajectory_sha256'] == manifest(live)['trajectory_sha256']
    simulated(*common, '--changes', live, '--record', tmp_path / 'numpy')
    found, expected = recorded(live)['odom'], recorded(tmp_path / 'numpy')['odom']
    assert found.keys() == expected.keys()
    for stamp, message in expected.items():
        there, wanted = found[stamp].pose.pose.position, message.pose.pose.position
        assert np.allclose([there.x, there.y, there.z], [wanted.x, wanted.y, wanted.z], atol=1e-9)


PUSHED = """
duration: 1.5
initial: {position: [0.0, 0.0, -3.0]}
segments:
  - {at: 0.0, axes: {surge: 0.3}, joints: {shoulder: 1.0, wrist: 0.5}}
  - {at: 0.7, joint_efforts: {shoulder: 0.5}}
"""


@pytest.mark.parametrize('integrator', ['semi_implicit', 'conserving'])
def test_an_articulated_arm_moves_in_it_as_in_simulate(processes, tmp_path, integrator):
    script = tmp_path / 'pushed.yaml'
    script.write_text(PUSHED)
    arm = '--set', 'arm:=true', '--set', 'arm_dynamics:=articulated'
    common = 'bluerov2_heavy', *arm, '--scenario', script, '--integrator', integrator
    record(processes, tmp_path / 'jax', *common, '--engine', 'jax')
    for name in ('jax', 'numpy'):
        more = ('--engine', name)
        simulated(*common, *more, '--record', tmp_path / f'alone_{name}')
    found = recorded(tmp_path / 'jax')
    for name in ('jax', 'numpy'):
        expected = recorded(tmp_path / f'alone_{name}')
        assert len(expected['joint_states']) == 301
        for stamp, message in expected['joint_states'].items():
            assert found['joint_states'][stamp].position == pytest.approx(
                message.position, abs=1e-12
            )
        for stamp, message in expected['odom'].items():
            there, wanted = (x.pose.pose.position for x in (found['odom'][stamp], message))
            assert [there.x, there.y, there.z] == pytest.approx(
                [wanted.x, wanted.y, wanted.z], abs=1e-12
            )


SEA = """
water: {density: 1000}
seabed: {depth: 6, material: sand}
bodies:
  - {name: crate, shape: box, size: [0.3, 0.3, 0.3], position: [0.1, 0, -4.5], mass: 60}
  - {name: chest, shape: box, size: [0.3, 0.3, 0.3], position: [2.1, 0, -4.5], mass: 30}
  - {name: lid, shape: box, size: [0.3, 0.3, 0.02], position: [2.1, 0, -4.3], mass: 1.9}
  - {name: spare, shape: sphere, radius: 0.1, mass: 8, absent: true}
joints:
  - {name: hinge, type: revolute, child: lid, parent: chest, position: [2.25, 0, -4.3],
     axis: [0, 1, 0], damping: 0.5}
"""
REST = """
duration: 1.5
initial: {position: [0, 0, -5]}
segments: [{at: 0, axes: {}}]
"""
CHANGES = """
- {at: 0.6, bodies: [{name: spare, position: [0, 0.3, -4.6], velocity: [0, 0, -0.3]}]}
- {at: 1.0, release: [hinge]}
"""
CLOSING = REST.replace(
    'axes: {}}]', 'joints: {shoulder: 1.0}}, {at: 0.3, gripper: close}, {at: 1.0, gripper: open}]'
)
JAWS = ('--set', 'arm:=true', '--set', 'gripper:=jaws')


@pytest.mark.parametrize(
    ('vehicle', 'script', 'tolerance'),
    [(('bluerov2',), REST, 1e-7), (('bluerov2_heavy', *JAWS), CLOSING, 5e-3)],
    ids=['falling', 'jaws'],
)
def test_it_moves_bodies_as_simulate_does(processes, tmp_path, vehicle, script, tolerance):
    """A crate falls on the vehicle; its jaws close and open.

    The graph has the bits of ``simulate``; contact makes rounding grow, so NumPy is only near.
    """
    for name, text in (('sea', SEA), ('script', script), ('changes', CHANGES)):
        (tmp_path / f'{name}.yaml').write_text(text)
    common = (*vehicle, '--environment', tmp_path / 'sea.yaml', '--dt', 0.01)
    common += ('--scenario', tmp_path / 'script.yaml', '--changes', tmp_path / 'changes.yaml')
    output = record(processes, tmp_path / 'jax', *common, '--engine', 'jax')
    assert 'joint hinge is released' in output
    record(processes, tmp_path / 'numpy', *common)
    simulated(*common, '--engine', 'jax', '--record', tmp_path / 'alone')
    hashes = {n: manifest(tmp_path / n)['trajectory_sha256'] for n in ('jax', 'alone')}
    assert len(set(hashes.values())) == 1
    assert counts(tmp_path / 'jax') == counts(tmp_path / 'numpy')
    found, expected = recorded(tmp_path / 'jax', ''), recorded(tmp_path / 'numpy', '')
    alone = recorded(tmp_path / 'alone', '')
    for topic in ('crate/odom', 'lid/odom', 'spare/odom', 'odom'):
        assert len(found[topic]) == 151, topic
        for stamp, message in found[topic].items():
            there = position_of(message)
            assert there == position_of(alone[topic][stamp])
            assert there == pytest.approx(position_of(expected[topic][stamp]), abs=tolerance)
    assert position_of(found['spare/odom'][10**9])[2] < -4.6  # it has come, and sinks
    angles = [m.position[0] for _, m in sorted(found['lid/joint_states'].items())]
    assert np.isfinite(angles[99])
    assert np.isnan(angles[-1])
    if len(vehicle) > 1:
        jaws = [m.position[-1] for _, m in sorted(found['joint_states'].items())]
        assert (jaws[0], jaws[50], jaws[-1]) == (0, 1, 0)


def position_of(message):
    """Return the position of an odometry, m."""
    place = message.pose.pose.position
    return place.x, place.y, place.z


def test_a_body_is_put_elsewhere_in_a_compiled_run_and_a_reset_repeats_it(
    processes, watcher, tmp_path
):
    from nav_msgs.msg import Odometry
    from std_msgs.msg import String
    from std_srvs.srv import Trigger

    (tmp_path / 'sea.yaml').write_text(SEA)
    (tmp_path / 'rest.yaml').write_text(REST.replace('1.5', '300'))
    watcher.listen('/bodies/crate/odom', Odometry, depth=4000)
    crates = watcher.seen['/bodies/crate/odom']
    change = watcher.node.create_publisher(String, '/bluerov2/environment/change', 10)
    clients = {n: watcher.node.create_client(Trigger, n) for n in ('reset_bodies', 'reset')}
    common = ('bluerov2', '--environment', tmp_path / 'sea.yaml', '--engine', 'jax')
    common += ('--scenario', tmp_path / 'rest.yaml', '--dt', 0.01)
    processes.marine_sim('run', *common)
    watcher.until(lambda: crates and change.get_subscription_count())
    watcher.until(lambda: all(c.service_is_ready() for c in clients.values()))
    change.publish(String(data='{bodies: [{name: crate, position: [5, 0, -3]}]}'))
    watcher.until(lambda: position_of(crates[-1])[0] > 4)
    future = clients['reset_bodies'].call_async(Trigger.Request())
    watcher.until(lambda: future.done() and position_of(crates[-1])[0] < 1)
    clients['reset'].call_async(Trigger.Request())

    def second_run():
        stamps = [stamp_of(message) for message in crates]
        starts = [i for i in range(1, len(stamps)) if stamps[i] < stamps[i - 1]]
        return crates[starts[0] :]

    watcher.until(lambda: len(second_run()) > 100)
    simulated(*common, '--duration', 1.5, '--record', tmp_path / 'alone')
    expected = recorded(tmp_path / 'alone', '')['crate/odom']
    found = {stamp_of(m): position_of(m) for m in second_run()}
    common_stamps = found.keys() & expected.keys()
    assert len(common_stamps) > 90
    for stamp in common_stamps:
        assert found[stamp] == position_of(expected[stamp])


@pytest.fixture
def watcher(ros_environment):
    result = Watcher()
    yield result
    result.close()


def test_an_operator_commands_pauses_resets_pushes_and_breaks_it(processes, watcher):
    from geometry_msgs.msg import Vector3Stamped, WrenchStamped
    from nav_msgs.msg import Odometry
    from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
    from rcl_interfaces.srv import SetParameters
    from sensor_msgs.msg import JointState
    from std_msgs.msg import UInt16MultiArray
    from std_srvs.srv import SetBool, Trigger

    for topic, kind in (
        ('odom', Odometry),
        ('wrench/total', WrenchStamped),
        ('thrusters/state', JointState),
    ):
        watcher.listen(topic, kind)
    deep = '--initial-position', 0, 0, -200  # a long way from where thrusters suck in air
    run = processes.marine_sim('run', 'bluerov2', '--engine', 'compiled', '--composed', *deep)
    odom, states = watcher.seen['odom'], watcher.seen['thrusters/state']
    node = watcher.node
    clients = {
        'pause': node.create_client(SetBool, 'pause'),
        'reset': node.create_client(Trigger, 'reset'),
        'step': node.create_client(Trigger, 'step'),
        'thrusters': node.create_client(SetParameters, 'thrusters/set_parameters'),
    }
    watcher.until(lambda: len(odom) > 20)
    watcher.until(lambda: all(c.service_is_ready() for c in clients.values()))

    def call(name, request):
        future = clients[name].call_async(request)
        watcher.until(future.done)
        return future.result()

    def set_text(name, text):
        value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=text)
        request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
        return call('thrusters', request).results[0]

    pwm = node.create_publisher(UInt16MultiArray, 'thrusters/pwm', 1)
    ahead = UInt16MultiArray(data=[1500, 1500, 1500, 1500, 1700, 1700])
    node.create_timer(0.05, lambda: pwm.publish(ahead))
    watcher.until(lambda: min(states[-1].effort[4:]) > 5)
    assert set_text('faults', '[{thruster: thruster_5}]').successful
    watcher.until(lambda: abs(states[-1].effort[4]) < 0.1 and states[-1].effort[5] > 5, 200)
    assert not set_text('faults', '[{kind: tired}]').successful
    assert set_text('faults', '').successful
    watcher.until(lambda: min(states[-1].effort[4:]) > 5, 200)

    push = node.create_publisher(WrenchStamped, 'wrench/external', 1)
    message = WrenchStamped()
    message.wrench.force.z = 500.0

    def rises():
        push.publish(message)
        return watcher.seen['wrench/total'][-1].wrench.force.z > 300

    watcher.until(rises)

    assert call('pause', SetBool.Request(data=True)).success
    watcher.until_silent('odom')
    count = len(odom)
    watcher.spin(0.5)
    assert len(odom) == count
    assert call('step', Trigger.Request()).success
    watcher.until(lambda: len(odom) == count + 1)
    assert call('pause', SetBool.Request(data=False)).success
    watcher.until(lambda: len(odom) > count + 20)
    assert call('reset', Trigger.Request()).success
    watcher.until(lambda: odom[-1].header.stamp.sec == 0 and len(odom) > count + 45)
    assert odom[-1].pose.pose.position.z == pytest.approx(-200, abs=1.0)

    current = node.create_publisher(Vector3Stamped, '/ocean_current', 10)
    water = Vector3Stamped()
    water.vector.y = 1.0

    def taken_along():
        current.publish(water)
        return odom[-1].twist.twist.linear.y > 0.2

    watcher.until(taken_along, 200)
    assert run.poll() is None


@pytest.mark.parametrize(
    ('options', 'told'),
    [
        ({'lockstep': False}, 'engine jax: expected lockstep, or engine numpy'),
        ({'compute': False}, 'engine jax: expected that forces are computed, or engine numpy'),
        ({'gazebo': {'world': 'w'}}, 'engine jax: expected that Gazebo does not own the state'),
        (
            {
                'vehicle': 'bluerov2_heavy',
                'vehicle_arguments': ('arm:=true',),
                'environment': 'brick_on_sand',
            },
            'engine jax: it has no gripper without jaws',
        ),
    ],
)
def test_what_it_cannot_do_is_refused(options, told):
    with pytest.raises(ParameterError, match=told) as error:
        node_specs(RunOptions(engine='compiled', **options))
    assert '\n' not in str(error.value)


def test_without_jax_one_line_names_the_extra(ros_environment):
    done = command_without(('jax',), 'run', 'bluerov2', '--engine', 'jax', env=ros_environment)
    lines = [s for s in done.stderr.splitlines() if s.startswith('ERROR: ')]
    assert done.returncode == 2
    assert len(lines) == 1, done.stderr
    assert 'extra [batch]' in lines[0]


class Node:
    def __init__(self, graph, name, answers):
        self.graph, self.name, self.answers, self.newest = graph, name, answers, 0

    def on_state(self, stamp, state):
        if self.answers:
            self.graph.add_commands(self.name, stamp, {self.name: stamp})


def test_a_tick_waits_for_all_commands_and_goes_on_without_who_is_silent():
    graph, done = CompiledGraph(('fins', 'thrusters', 'drag'), 0.005), []
    graph.serve(lambda stamp, commands: done.append((stamp, commands)))
    fins = Node(graph, 'fins', True)
    for node in (fins, Node(graph, 'thrusters', False)):
        graph.join(node.name, node, commanded=True)
    graph.begin(5, None)
    assert graph.missing == ['thrusters']
    assert not graph.started  # nobody has ever heard of it
    graph.add_commands('thrusters', 4, {'pwm': 1})  # of a run before
    assert done == []
    graph.add_commands('thrusters', 5, {'pwm': 2})
    assert done == [(5, {'fins': 5, 'pwm': 2})]
    graph.begin(10, None)
    assert graph.started
    graph.give_up()
    assert done[1:] == [(10, {'fins': 10, 'pwm': 2})]
    assert graph.missing == []
    graph.add_commands('thrusters', 10, {'pwm': 3})  # too late
    assert len(done) == 2


def test_programs_that_were_compiled_ahead_are_those_that_runs_need(processes, tmp_path):
    processes.environment['XDG_CACHE_HOME'] = str(tmp_path)

    def kept():
        return {path.name for path in (tmp_path / 'marine_sim_ros' / 'jax').glob('*-cache')}

    common = 'bluerov2', '--scenario', 'transit', '--duration', 1
    output, _ = processes.marine_sim('compile', *common).communicate()
    assert 'run bluerov2, its controller: ' in output
    assert 'simulate bluerov2, transit: ' in output
    assert len(ahead := kept()) >= 3
    processes.marine_sim('simulate', *common, '--engine', 'jax').communicate()
    record(processes, tmp_path / 'run', *common, '--engine', 'jax')
    assert kept() == ahead
