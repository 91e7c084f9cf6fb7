# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies in real nodes: a killed node that moves them goes on where they were."""

import inspect
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from bodies import environment
from graph import STEP, WAYS, Watcher, manifest, recorded, run_everywhere, start_graph

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.state import NANOSECONDS, stamp_ns, state_at_rest
from marine_sim_ros.environment.changes import parse_changes
from marine_sim_ros.ros import holds, topics
from marine_sim_ros.ros.dynamics.environment_changer import EnvironmentChanger
from marine_sim_ros.ros.message_fields import odometry_message, set_stamp
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.ros

SEA = """
water: {density: 1000}
seabed: {depth: 30.0, material: sand}
bodies:
  - {name: drum, shape: cylinder, radius: 0.3, length: 0.8, position: [3, 0, -5], mass: 226.5}
  - {name: weight, shape: sphere, radius: 0.05, position: [3, 0, -5.6], mass: 3}
joints:
  - {name: chain, type: ball, child: weight, parent: drum, position: [3, 0, -5.4]}
"""

CRATE = '  - {name: crate, shape: box, size: [0.3, 0.3, 0.3], position: [1, 0, -8], mass: 26}'


def test_bodies_go_on_where_they_were_when_their_node_was_killed(processes, tmp_path):
    from nav_msgs.msg import Odometry

    (tmp_path / 'sea.yaml').write_text(SEA)
    watcher = Watcher('/bluerov2')
    for name in ('drum', 'weight'):
        watcher.listen(f'/bodies/{name}/odom', Odometry, depth=4000)
    nodes, specs = start_graph(
        processes, vehicle='bluerov2', environment=str(tmp_path / 'sea.yaml')
    )

    def heights():
        last = (watcher.seen[f'/bodies/{name}/odom'][-1] for name in ('drum', 'weight'))
        return np.array([message.pose.pose.position.z for message in last])

    watcher.until(lambda: heights()[0] < -5.02)
    nodes['contact'].send_signal(signal.SIGKILL)
    nodes['contact'].wait()
    watcher.spin(0.5)
    drums = watcher.seen['/bodies/drum/odom']
    before, count = heights(), len(drums)
    processes.node(specs['contact'])
    watcher.until(lambda: len(drums) > count + 5)
    # A process that dies amid sending may have sent its last message to the watcher alone.
    *last, first = (message.pose.pose.position.z for message in drums[count - 2 : count + 1])
    assert any(first == pytest.approx(z, abs=1e-9) for z in last), (first, last)
    watcher.until(lambda: heights()[0] < before[0] - 0.02)
    drum, weight = (
        {stamp_ns(m.header.stamp): m for m in watcher.seen[f'/bodies/{name}/odom']}
        for name in ('drum', 'weight')
    )
    last = max(drum.keys() & weight.keys())
    gap = drum[last].pose.pose.position.z - weight[last].pose.pose.position.z
    assert gap == pytest.approx(0.6, abs=1e-4)  # the joint holds
    watcher.close()


STALLED = ('contact', 'manipulator', 'thrusters')


def test_nodes_that_were_killed_before_their_first_answer_come_back(processes, tmp_path):
    """They are stopped before the run, so that they have its first tick and do not answer."""
    from geometry_msgs.msg import WrenchStamped
    from nav_msgs.msg import Odometry

    (tmp_path / 'sea.yaml').write_text(SEA)
    watcher = Watcher('/bluerov2_heavy')
    watcher.listen('odom', Odometry)
    watcher.listen('/bodies/drum/odom', Odometry)
    for name in STALLED:
        watcher.listen(f'wrench/{name}', WrenchStamped)
    options = RunOptions(
        vehicle='bluerov2_heavy',
        vehicle_arguments=('arm:=true',),
        environment=str(tmp_path / 'sea.yaml'),
        dt=STEP,
    )
    specs = {spec.name: spec for spec in node_specs(options)}
    nodes = {name: processes.node(specs[name]) for name in specs if name != 'dynamics'}
    for name in STALLED:
        watcher.until(lambda n=name: watcher.node.count_publishers(f'/bluerov2_heavy/wrench/{n}'))
        nodes[name].send_signal(signal.SIGSTOP)
    processes.node(specs['dynamics'])
    watcher.until(lambda: watcher.seen['odom'])
    for name in STALLED:
        nodes[name].send_signal(signal.SIGKILL)
        nodes[name].wait()
    watcher.spin(0.5)
    assert [len(watcher.seen[f'wrench/{name}']) for name in STALLED] == [0, 0, 0]
    assert len(watcher.seen['odom']) == 1
    for name in STALLED:
        processes.node(specs[name])
    watcher.until(lambda: all(len(seen) > 20 for seen in watcher.seen.values()))
    stamps = [stamp_ns(m.header.stamp) for m in watcher.seen['/bodies/drum/odom']]
    assert stamps[0] == 0  # no tick was left out
    watcher.close()


def test_bodies_begin_where_they_start_if_nothing_was_heard_of_them(processes, tmp_path):
    """Their node was killed when it had answered, but its bodies were not discovered yet."""
    from geometry_msgs.msg import WrenchStamped
    from nav_msgs.msg import Odometry

    (tmp_path / 'sea.yaml').write_text(SEA)
    watcher = Watcher('/bluerov2')
    watcher.listen('odom', Odometry)
    watcher.listen('/bodies/drum/odom', Odometry)
    answer = watcher.node.create_publisher(WrenchStamped, 'wrench/contact', topics.LOCKSTEP)
    options = RunOptions(vehicle='bluerov2', environment=str(tmp_path / 'sea.yaml'), dt=STEP)
    specs = {spec.name: spec for spec in node_specs(options)}
    for name in specs:
        if name != 'contact':
            processes.node(specs[name])
    watcher.until(lambda: watcher.seen['odom'] and answer.get_subscription_count())
    answer.publish(WrenchStamped())  # to the first tick
    watcher.until(lambda: len(watcher.seen['odom']) > 20)  # the run does without it
    processes.node(specs['contact'])
    drums = watcher.seen['/bodies/drum/odom']
    watcher.until(lambda: len(drums) > 5)
    assert stamp_ns(drums[0].header.stamp) > 0
    assert drums[0].pose.pose.position.z == pytest.approx(-5.0, abs=1e-9)
    watcher.close()


def test_a_restarted_node_leaves_out_ticks_before_the_held_state_and_missed_ones(
    processes, tmp_path
):
    """Its first messages may be older than the held states; it may miss some at full speed."""
    from nav_msgs.msg import Odometry

    (tmp_path / 'sea.yaml').write_text(SEA)
    watcher = Watcher('/bluerov2')
    options = RunOptions(vehicle='bluerov2', environment=str(tmp_path / 'sea.yaml'), dt=STEP)
    contact = next(spec for spec in node_specs(options) if spec.name == 'contact')
    watcher.listen('/bodies/drum/odom', Odometry)
    drums = watcher.seen['/bodies/drum/odom']
    odom = watcher.node.create_publisher(Odometry, 'odom', topics.LOCKSTEP)

    def message(time, z):
        state = state_at_rest((3.0, 0.0, z))
        result = odometry_message('', state)
        set_stamp(result.header.stamp, round(time * NANOSECONDS))
        return result

    for name, z in (('drum', -6.0), ('weight', -6.6)):
        topic = topics.kept(topics.body_odom(name))
        kept = watcher.node.create_publisher(Odometry, topic.name, topic.qos)
        kept.publish(message(1.0, z))
    for time in (0.96, 0.98, 1.0):
        odom.publish(message(time, -1.0))
    processes.node(contact)
    watcher.until(odom.get_subscription_count)
    watcher.spin(1.0)
    for time in (1.02, 1.04, 9.0, 9.02):
        odom.publish(message(time, -1.0))
    watcher.until(lambda: len(drums) == 4)
    assert [stamp_ns(m.header.stamp) for m in drums] == [
        round(time * NANOSECONDS) for time in (1.02, 1.04, 9.0, 9.02)
    ]
    heights = [m.pose.pose.position.z for m in drums]
    assert heights == pytest.approx([-6.0] * 4, abs=0.01)
    watcher.close()


@pytest.mark.parametrize('published', [0, 1, 2, 3])
@pytest.mark.parametrize('ticks', [0, 1, 5])
def test_held_states_are_those_of_one_tick(ticks, published):
    """The node that moves the bodies was killed when it had published some of the next tick."""
    names, topic_of = ['a', 'b', 'c'], {}
    text = ''.join(
        f'  - {{name: {n}, shape: sphere, radius: 0.1, position: [{i}, 0, -3], mass: 8}}\n'
        for i, n in enumerate(names)
    )

    def listen(topic, take):
        inspect.signature(take)  # rclpy reads it
        topic_of[topic.name] = take

    node = SimpleNamespace(environment=environment(f'bodies:\n{text}'), listen=listen)
    held = holds.held_bodies(node)
    sent = [(tick, name) for tick in range(ticks) for name in names]
    sent += [(ticks, name) for name in names[:published]]
    for tick, name in sent:
        message = odometry_message(name, state_at_rest((float(tick), 0.0, 0.0)))
        set_stamp(message.header.stamp, tick)
        topic_of[topics.body_odom(name).name](message)
    last = ticks if published == len(names) else ticks - 1
    stamps = [None if m is None else stamp_ns(m.header.stamp) for m in (h.last() for h in held)]
    assert stamps == [None if last < 0 else last] * len(names)


def place(pose):
    """Return position and orientation of a pose, whose class is that of its bag."""
    p, q = pose.position, pose.orientation
    return p.x, p.y, p.z, q.x, q.y, q.z, q.w


@pytest.mark.parametrize('options', [(), ('--composed',)], ids=['separate', 'composed'])
def test_bodies_that_are_put_elsewhere_are_replayed_to_the_bit(processes, tmp_path, options):
    from nav_msgs.msg import Odometry
    from std_msgs.msg import String
    from std_srvs.srv import Trigger

    sea, live, again = tmp_path / 'sea.yaml', tmp_path / 'live', tmp_path / 'again'
    sea.write_text(SEA.replace('mass: 3}', 'mass: 3}\n' + CRATE))
    watcher = Watcher('/bluerov2')
    watcher.listen('/bluerov2/odom', Odometry)
    odom = watcher.seen['/bluerov2/odom']
    change = watcher.node.create_publisher(String, '/bluerov2/environment/change', 10)
    reset = watcher.node.create_client(Trigger, '/bluerov2/reset_bodies')
    run = ('bluerov2', '--environment', sea, '--scenario', 'excitation', '--duration', 5)
    run = (*run, '--dt', STEP)
    process = processes.marine_sim('run', *run, *options, '--record', live)
    watcher.until(lambda: odom and change.get_subscription_count() and reset.service_is_ready())
    for text in (
        '{bodies: [{name: weight, position: [0, 0, -3]}]}',  # a joint holds it
        '{bodies: [{name: crate, position: [0, 0, -30]}]}',
        '{bodies: [{name: crate, position: [3.1, 0, -5]}]}',
        '{bodies: [{name: crate, position: [0, 0, -1.2], velocity: [0, 0.2, 0]}]}',
        '{release: [chain]}',
    ):
        change.publish(String(data=text))
        seen = len(odom)
        watcher.until(lambda seen=seen: len(odom) > seen + 20)
    future = reset.call_async(Trigger.Request())
    watcher.until(future.done)
    assert future.result().success
    output, _ = process.communicate()
    assert process.returncode in (0, 1), output
    assert output.count('ignored') == 3, output
    assert 'contact refused: bodies: crate is 0.15 m deep in the ground or a wall' in output
    assert 'm deep in drum; expected a place beside it' in output
    assert 'joint chain is released' in output
    changes = manifest(live)['parameters']['changes']
    assert [set(c) - {'at'} for c in changes] == [{'bodies'}, {'release'}, {'reset_bodies'}]
    assert future.result().message.endswith(f' from {changes[-1]["at"]:.3f} s on')
    process = processes.marine_sim('simulate', *run, '--changes', live, '--record', again)
    output, _ = process.communicate()
    hashes = {manifest(folder)['trajectory_sha256'] for folder in (live, again)}
    assert len(hashes) == 1, output
    one, other = (
        {stamp: place(m.pose.pose) for stamp, m in recorded(folder, '')['crate/odom'].items()}
        for folder in (live, again)
    )
    assert one == other
    assert len(one) > 50
    watcher.close()


JAWS = ('bluerov2_heavy', '--set', 'arm:=true', '--set', 'gripper:=jaws')

LIFT = """
- {at: 1.0, winches: [{name: hook, rate: 0.3}]}
- {at: 6.1, winches: [{name: hook, rate: 0.0}]}
- {at: 8.0, winches: [{name: hook, rate: -0.2}]}
"""


@pytest.mark.parametrize(
    ('vehicle', 'environment', 'scenario', 'joint', 'seconds'),
    [
        (JAWS, 'hot_stab', 'plug_stab', 'stab/hot_stab', 13),
        (('bluerov2',), 'crane', 'lift', 'hook/eye', 11),
    ],
    ids=['stab', 'crane'],
)
def test_mates_close_alike_everywhere(
    processes, tmp_path, vehicle, environment, scenario, joint, seconds
):
    """One hash and one history of a hot stab in its receptacle, and of a crane's hook."""
    (tmp_path / 'lift.yaml').write_text(LIFT)
    changes = ('--changes', tmp_path / 'lift.yaml') if scenario == 'lift' else ()
    run = (*vehicle, '--environment', environment, '--scenario', scenario, *changes)
    run_everywhere(processes, tmp_path, *run, '--duration', seconds, dt=0.01)
    body, name = joint.split('/')
    histories = []
    for way in WAYS:
        states = recorded(tmp_path / way, '')[f'{body}/joint_states']
        histories.append(
            {
                stamp: message.position[list(message.name).index(name)]
                for stamp, message in states.items()
                if name in message.name
            }
        )
    is_closed = np.isfinite(list(histories[0].values()))
    assert is_closed.any()
    assert not is_closed.all()
    for other in histories[1:]:
        np.testing.assert_equal(other, histories[0])


class Client:
    """Client of a node's parameters that never answers."""

    def __init__(self, is_ready):
        self.service_is_ready = lambda: is_ready

    def call_async(self, request):
        from rclpy.task import Future

        return Future()


@pytest.mark.parametrize('is_known', [True, False])
def test_a_run_does_not_wait_for_a_lost_node_to_learn_of_its_changes(is_known):
    """Killed as soon as it was back: it is asked again when it is back for good."""
    told, due = [], []
    water = environment('water: {density: 1000}')
    node = SimpleNamespace(
        environment=water,
        values={'followers': [], 'leader': '', 'owns_bodies': False},
        wrench_sources=['contact', 'drag'],
        vehicle=load_vehicle('bluerov2'),
        published=True,
        get_name=lambda: 'dynamics',
        create_client=lambda kind, name: Client(is_known),
        listen=lambda topic, take: None,
        publish_when_due=lambda: due.append(True),
        warn_throttled=lambda text, **options: told.append(text),
    )
    changer = EnvironmentChanger(node)
    node.environment = water.with_changes(
        parse_changes('[{at: 1, current: {velocity: [1, 0, 0]}}]')
    )
    changer._asked = node.environment.changes
    changer.remind('contact')
    assert changer.awaits_nodes()
    changer.leave_out(['drag'])
    assert changer.awaits_nodes()
    changer.leave_out(['contact'])
    assert not changer.awaits_nodes()
    assert due
    assert not told
    changer.remind('contact')
    assert changer.awaits_nodes()
