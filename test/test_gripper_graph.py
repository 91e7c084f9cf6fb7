# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A gripper through real nodes: the same to the bit, and by service."""

import math
import signal

import pytest
from graph import ONE_PROCESS, WAYS, Watcher, recorded, run_everywhere, start_graph

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 1.5
initial: {position: [-0.13, 0.0, -4.5], rpy: [0.0, 0.0, 0.2]}
segments:
  - {at: 0.0, axes: {surge: 0.2}, joints: {shoulder: 1.0}}
  - {at: 0.5, joints: {wrist: 0.5}, gripper: close}
  - {at: 1.2, gripper: open}
"""


SEA = """
current: {velocity: [0.1, 0.05, 0]}
seabed: {depth: 6, material: sand}
payloads: [{name: brick, shape: box, size: [0.2, 0.1, 0.06], mass: 2, volume: 0.00194742,
            position: [0.5, 0.13, -4.68]}]
"""


@pytest.mark.parametrize('dynamics', ['kinematic', 'articulated'])
def test_the_graph_is_the_simulation_of_a_vehicle_with_a_payload(processes, tmp_path, dynamics):
    scenario, sea = tmp_path / 'grip.yaml', tmp_path / 'sea.yaml'
    scenario.write_text(SCENARIO)
    sea.write_text(SEA)
    arm = ['--set', 'arm:=true', '--set', f'arm_dynamics:={dynamics}']
    common = ['bluerov2_heavy', '--scenario', scenario, '--environment', sea, *arm]
    names = ['shoulder', 'wrist', 'gripper']
    told = run_everywhere(processes, tmp_path, *common)
    for name in ('separate', 'composed'):
        assert 'holds brick (2 kg) at 0.5 s' in told[name]
        assert 'released brick at 1.2 s' in told[name]
    for name in ('separate', 'simulate'):
        held = {}
        for stamp, message in recorded(tmp_path / name)['joint_states'].items():
            assert list(message.name) == names
            held[stamp] = message.position[2]
        assert [held[t * 10**6] for t in (0, 480, 500, 1180, 1200)] == [0, 0, 1, 1, 0], name


WITH_BODY = """
seabed: {depth: 6, material: sand}
bodies: [{name: brick, shape: box, size: [0.2, 0.08, 0.1], mass: 2, position: [0.43, 0.0, -4.86],
          material: concrete}]
"""


def test_the_graph_is_the_simulation_of_jaws_that_hold_a_body(processes, tmp_path):
    scenario, sea = tmp_path / 'grip.yaml', tmp_path / 'sea.yaml'
    scenario.write_text(
        'duration: 1.6\ninitial: {position: [0.0, 0.0, -4.5]}\n'
        'segments:\n  - {at: 0.0, joints: {shoulder: 0.9}}\n'
        '  - {at: 0.2, joints: {shoulder: 0.9}, gripper: close}\n'
        '  - {at: 1.4, joints: {shoulder: 0.8}, gripper: open}\n'
    )
    sea.write_text(WITH_BODY)
    jaws = ['--set', 'arm:=true', '--set', 'gripper:=jaws']
    run_everywhere(
        processes, tmp_path, 'bluerov2_heavy', '--scenario', scenario, '--environment', sea, *jaws
    )
    for name in WAYS:
        bodies = recorded(tmp_path / name, '')
        opening = [m.position[0] for _, m in sorted(bodies['jaw_port/joint_states'].items())]
        assert max(opening) > 0.01, name
        assert opening[-1] < max(opening), name
        assert len(bodies['jaw_starboard/odom']) == len(opening), name


def test_services_take_and_release_what_is_within_reach(processes, tmp_path):
    from sensor_msgs.msg import JointState
    from std_srvs.srv import Trigger

    sea = tmp_path / 'sea.yaml'
    # Between the jaws when the arm hangs.
    place = 'position: [0.28, 0.08, -4.93]'
    sea.write_text(
        SEA.replace('velocity: [0.1, 0.05, 0]', 'velocity: [0, 0, 0]').replace(
            'position: [0.5, 0.13, -4.68]', place
        )
    )
    scenario = tmp_path / 'hover.yaml'
    scenario.write_text(
        'duration: 600\ninitial: {position: [-0.13, 0, -4.5], rpy: [0, 0, 0.2]}\n'
        'segments: [{at: 0, control: {z: -4.5}, joints: {shoulder: 1.0}}]\n'
    )
    processes.marine_sim(
        'run',
        'bluerov2_heavy',
        '--set',
        'arm:=true',
        '--environment',
        sea,
        '--scenario',
        scenario,
        *ONE_PROCESS,
    )
    watcher = Watcher('/bluerov2_heavy')
    watcher.listen('joint_states', JointState)
    names = ('attach', 'detach', 'reset_bodies')
    clients = {name: watcher.node.create_client(Trigger, name) for name in names}

    def held():
        return watcher.seen['joint_states'][-1].position[2]

    def call(name):
        watcher.until(clients[name].service_is_ready)
        future = clients[name].call_async(Trigger.Request())
        watcher.until(future.done)
        return future.result()

    assert call('detach').message == 'detach: the gripper holds nothing'
    watcher.until(lambda: watcher.seen['joint_states'][-1].position[0] > 0.9)
    taken = call('attach')
    assert taken.success, taken.message
    watcher.until(lambda: held() == 1)
    assert not call('attach').success  # it holds something already
    refused = call('reset_bodies')
    assert not refused.success
    assert 'the gripper of /vehicle holds brick' in refused.message
    released = call('detach')
    assert released.success, released.message
    watcher.until(lambda: held() == 0)
    assert call('reset_bodies').success
    watcher.close()


FLEET = """
vehicles:
  - {vehicle: bluerov2_heavy, name: west, arguments: {arm: 'true'},
     initial: {position: [0, 0, -4.5]}}
  - {vehicle: bluerov2_heavy, name: east, arguments: {arm: 'true'},
     initial: {position: [1.3, 0, -4.5], rpy: [0, 0, 180 deg]}}
"""


def test_one_gripper_of_a_fleet_has_a_body(processes, tmp_path):
    """The calls come one after the other, and at once."""
    from sensor_msgs.msg import JointState
    from std_srvs.srv import Trigger

    sea, fleet, hover = (tmp_path / f'{name}.yaml' for name in ('sea', 'fleet', 'hover'))
    sea.write_text(
        'bodies: [{name: ball, shape: sphere, radius: 0.05, mass: 0.5366, '
        'position: [0.65, 0.0, -4.62]}]\n'
    )
    fleet.write_text(FLEET)
    hover.write_text('duration: 600\nsegments: [{at: 0, control: {z: -4.5}}]\n')
    processes.marine_sim(
        'run', '--fleet', fleet, '--environment', sea, '--scenario', hover, *ONE_PROCESS
    )
    watcher = Watcher('')
    clients = {}
    for vehicle in ('west', 'east'):
        watcher.listen(f'/{vehicle}/joint_states', JointState)
        for name in ('attach', 'detach'):
            clients[vehicle, name] = watcher.node.create_client(Trigger, f'/{vehicle}/{name}')

    def call(*calls):
        futures = [clients[one].call_async(Trigger.Request()) for one in calls]
        watcher.until(lambda: all(future.done() for future in futures))
        return [future.result() for future in futures]

    def held():
        return [watcher.seen[f'/{v}/joint_states'][-1].position[2] for v in ('west', 'east')]

    watcher.until(lambda: all(client.service_is_ready() for client in clients.values()))
    watcher.until(lambda: all(watcher.seen[f'/{v}/joint_states'] for v in ('west', 'east')))
    (first,) = call(('west', 'attach'))
    assert first.success, first.message
    (second,) = call(('east', 'attach'))
    assert not second.success
    assert second.message.startswith('attach: the gripper of /west holds ball; expected')
    assert held() == [1, 0]
    assert call(('west', 'detach'))[0].success
    watcher.until(lambda: held() == [0, 0])
    both = call(('west', 'attach'), ('east', 'attach'))
    assert sorted(answer.success for answer in both) == [False, True], both
    assert held() == [float(answer.success) for answer in both]
    watcher.close()


@pytest.mark.parametrize('killed', ['manipulator', 'contact'])
def test_a_held_body_stays_in_the_gripper_when_a_node_was_killed(processes, tmp_path, killed):
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import JointState
    from std_srvs.srv import Trigger

    sea = tmp_path / 'sea.yaml'
    sea.write_text(
        'bodies: [{name: brick, shape: box, size: [0.2, 0.1, 0.06], mass: 2, '
        'volume: 0.00194742, position: [0.67, 0.0, -4.62]}]\n'
    )
    watcher = Watcher('/bluerov2_heavy')
    watcher.listen('joint_states', JointState)
    watcher.listen('odom', Odometry)
    watcher.listen('/bodies/brick/odom', Odometry)
    nodes, specs = start_graph(
        processes,
        vehicle='bluerov2_heavy',
        vehicle_arguments=('arm:=true',),
        environment=str(sea),
        initial_position=(0.0, 0.0, -4.5),
    )
    attach, detach = (watcher.node.create_client(Trigger, n) for n in ('attach', 'detach'))

    def held():
        joints = watcher.seen['joint_states']
        return joints[-1].position[2] if joints else 0

    def distance():
        vehicle, brick = (
            watcher.seen[topic][-1].pose.pose.position for topic in ('odom', '/bodies/brick/odom')
        )
        return math.dist((vehicle.x, vehicle.y, vehicle.z), (brick.x, brick.y, brick.z))

    watcher.until(attach.service_is_ready)
    watcher.until(lambda: bool(watcher.seen['joint_states']))
    future = attach.call_async(Trigger.Request())
    watcher.until(future.done)
    assert future.result().success, future.result().message
    watcher.until(lambda: held() == 1)
    nodes[killed].send_signal(signal.SIGKILL)
    nodes[killed].wait()
    watcher.spin(0.5)
    topic = 'joint_states' if killed == 'manipulator' else '/bodies/brick/odom'
    count = len(watcher.seen[topic])
    processes.node(specs[killed])
    watcher.until(lambda: len(watcher.seen[topic]) > count + 50)
    assert held() == 1
    assert distance() == pytest.approx(math.hypot(0.6, 0.12), abs=0.02)
    watcher.until(detach.service_is_ready)
    future = detach.call_async(Trigger.Request())
    watcher.until(future.done)
    assert future.result().success, future.result().message
    watcher.until(lambda: held() == 0)
    watcher.close()
