# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controller and arm through real nodes: operators, watchdogs, faults, and the same bits."""

import math
import signal

import numpy as np
import pytest
from conftest import marine_sim
from graph import ONE_PROCESS, STEP, Watcher, run_everywhere, start_graph, statuses, ticks

from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.ros

SCRIPT = """
duration: 4.0
initial: {position: [1.0, -2.0, -5.0], rpy: [0.1, 0.0, 0.5]}
controller: %s
segments:
  - {at: 0.0, control: {x: 1.0, y: -1.5, z: -5.2, roll: 0.0, yaw: 0.3}}
  - at: 1.0
    control: {z: -5.0, surge: 0.3, sway: 0.0, yaw_rate: 0.2}
    joints: {arm_2_joint: -1.0}
  - {at: 3.0, axes: {surge: 0.2}}
faults:
  - {at: 2.0, thruster: sf}
"""


def messages(directory, *topics):
    from rosbags.highlevel import AnyReader

    result = {topic: [] for topic in topics}
    with AnyReader([directory / 'bag']) as reader:
        chosen = [c for c in reader.connections if c.topic in topics]
        for connection, _, data in reader.messages(chosen):
            result[connection.topic].append(reader.deserialize(data, connection.msgtype))
    return [result[topic] for topic in topics]


@pytest.mark.parametrize('law', ['modern', 'thesis'])
def test_a_closed_loop_with_arm_and_fault_is_the_same_everywhere(processes, tmp_path, law):
    script = tmp_path / 'script.yaml'
    script.write_text(SCRIPT % law)
    # One law in separate processes is enough.
    ways = ('simulate', 'composed', *(['separate'] if law == 'modern' else []))
    run_everywhere(processes, tmp_path, 'investigator90', '--scenario', script, ways=ways)
    for way in ways[1:]:
        names = (
            'joint_states',
            'controller/setpoints',
            'thrusters/pwm',
            'thrusters/state',
            'wrench/manipulator',
            'odom',
        )
        topics = [f'/investigator90/{name}' for name in names]
        joints, wanted, pwm, thrust, reaction, odom = messages(tmp_path / way, *topics)
        assert {len(m) for m in (joints, wanted, pwm, thrust, reaction, odom)} == {ticks(4.0)}
        assert joints[-1].position[1] < -0.3
        assert np.isfinite([m.wrench.force.x for m in reaction]).all()
        assert math.isnan(wanted[ticks(1.5) - 1].position[0])
        assert wanted[ticks(0.5) - 1].position[2] == -5.2
        failed = list(thrust[0].name).index('sf')
        assert thrust[-1].effort[failed] == pytest.approx(0, abs=1e-6)
        direct = messages(tmp_path / 'simulate', *topics[1:3])
        assert np.array_equal(
            [m.position for m in direct[0]], [m.position for m in wanted], equal_nan=True
        )
        assert np.array_equal([m.data for m in direct[1]], [m.data for m in pwm])


class Pilot(Watcher):
    """Speaks to a controller."""

    def __init__(self, namespace):
        from geometry_msgs.msg import PoseStamped, Twist, Wrench
        from nav_msgs.msg import Odometry, Path
        from sensor_msgs.msg import JointState
        from std_msgs.msg import UInt16MultiArray
        from std_srvs.srv import SetBool

        super().__init__(namespace)
        self.listen('odom', Odometry, depth=2000)
        self.listen('controller/setpoints', JointState, depth=2000)
        self.listen('thrusters/pwm', UInt16MultiArray, depth=2000)
        make = self.node.create_publisher
        self.velocity = make(Twist, 'cmd_vel', 10)
        self.pose = make(PoseStamped, 'cmd_pose', 10)
        self.path = make(Path, 'cmd_path', 10)
        self.wrench = make(Wrench, 'cmd_wrench', 10)
        self.service = {
            name: self.node.create_client(SetBool, name)
            for name in ('arm', 'auto_depth', 'auto_heading', 'station_keeping')
        }

    def switch(self, name, on=True):
        from std_srvs.srv import SetBool

        client = self.service[name]
        self.until(client.service_is_ready)
        future = client.call_async(SetBool.Request(data=on))
        self.until(future.done)
        assert future.result().success
        return future.result().message

    def say(self, publisher, message, until):
        """Repeat a message until something is so."""

        def said():
            publisher.publish(message)
            return until()

        self.until(said)

    def at(self):
        p = self.seen['odom'][-1].pose.pose.position
        return np.array([p.x, p.y, p.z])

    def speed(self):
        return self.seen['odom'][-1].twist.twist.linear

    def heading(self):
        q = self.seen['odom'][-1].pose.pose.orientation
        return 2 * math.atan2(q.z, q.w)

    def pwm(self):
        return list(self.seen['thrusters/pwm'][-1].data)

    def wanted(self):
        return np.array(self.seen['controller/setpoints'][-1].position)

    def pose_message(self, x, y, z, yaw=0.0):
        from geometry_msgs.msg import PoseStamped

        message = PoseStamped()
        message.header.frame_id = 'map'
        message.pose.position.x, message.pose.position.y, message.pose.position.z = x, y, z
        message.pose.orientation.z, message.pose.orientation.w = (
            math.sin(yaw / 2),
            math.cos(yaw / 2),
        )
        return message


@pytest.fixture
def pilot(ros_environment):
    result = Pilot('/bluerov2_heavy')
    yield result
    result.close()


def start(processes):
    """Start a run at twice the real time."""
    where = '--controller', 'modern', '--initial-position', 0, 0, -3
    return processes.marine_sim(
        'run', 'bluerov2_heavy', *where, *ONE_PROCESS, '--real-time-factor', 2
    )


def test_command_mode_and_joystick_mode(processes, pilot):
    from geometry_msgs.msg import Twist, Wrench
    from nav_msgs.msg import Path

    start(processes)
    pilot.until(lambda: len(pilot.seen['odom']) > 20)
    neutral = [1500] * 8
    pilot.say(pilot.pose, pilot.pose_message(0.0, 0.0, -4.0), lambda: pilot.pwm() == neutral)
    assert np.isnan(pilot.wanted()).all()  # disarmed
    assert pilot.switch('arm') == 'armed'
    # Command mode; a NaN leaves an axis free.
    aim = pilot.pose_message(0.5, float('nan'), -3.5, yaw=0.6)

    def there():
        away = np.abs([pilot.at()[2] + 3.5, pilot.at()[0] - 0.5, pilot.heading() - 0.6])
        return np.max(away) < 0.02

    pilot.say(pilot.pose, aim, there)
    assert math.isnan(pilot.wanted()[1])
    # Joystick mode: ahead; then silence is a stop, and the holds hold.
    for name in ('auto_depth', 'auto_heading', 'station_keeping'):
        assert pilot.switch(name) == f'{name} on'
    ahead = Twist()
    ahead.linear.x = 0.3
    pilot.say(pilot.velocity, ahead, lambda: pilot.speed().x > 0.25)
    assert pilot.wanted()[6] == pytest.approx(0.3)
    pilot.until(lambda: not math.isnan(pilot.wanted()[0]))  # the time-out, then the hold
    assert np.isfinite(pilot.wanted()[[0, 1, 2, 5]]).all()
    pilot.until(lambda: abs(pilot.speed().x) < 0.01)
    # Waypoints.
    path = Path(poses=[pilot.pose_message(2.0, 0.5, -3.2), pilot.pose_message(2.0, 1.5, -3.2)])
    path.header.frame_id = 'map'
    before = len(pilot.seen['odom'])
    pilot.say(pilot.path, path, lambda: pilot.wanted()[1] == 0.5)
    pilot.until(lambda: np.linalg.norm(pilot.at() - [2.0, 1.5, -3.2]) < 0.05)
    way = np.array(
        [[m.pose.pose.position.x, m.pose.pose.position.y] for m in pilot.seen['odom'][before:]]
    )
    assert np.min(np.linalg.norm(way - [2.0, 0.5], axis=1)) < 0.31
    # A wrench, for as long as it is renewed.
    push = Wrench()
    push.force.z = 30.0
    pilot.say(pilot.wrench, push, lambda: np.isnan(pilot.wanted()).all() and pilot.speed().z > 0.1)
    pilot.until(lambda: not np.isnan(pilot.wanted()).all())
    # What cannot be used changes nothing.
    pilot.say(pilot.pose, aim, lambda: pilot.wanted()[2] == -3.5)
    bad = pilot.pose_message(0.0, 0.0, -9.0)
    bad.header.frame_id = 'odom'
    infinite = pilot.pose_message(0.0, 0.0, float('inf'))
    nothing = pilot.pose_message(0.0, 0.0, -9.0)
    nothing.pose.orientation.w = nothing.pose.orientation.z = 0.0
    fast = Twist()
    fast.angular.z = float('nan')
    for publisher, message in (
        (pilot.pose, bad),
        (pilot.pose, infinite),
        (pilot.pose, nothing),
        (pilot.velocity, fast),
    ):
        publisher.publish(message)
        pilot.spin(0.3)
        assert pilot.wanted()[2] == -3.5
    assert pilot.switch('arm', False) == 'disarmed'
    pilot.until(lambda: pilot.pwm() == neutral)


def test_live_parameters_free_an_axis_and_drop_a_thruster(processes, pilot):
    from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
    from rcl_interfaces.srv import SetParameters

    run = start(processes)
    pilot.until(lambda: len(pilot.seen['odom']) > 20)
    pilot.switch('arm')

    def set_names(node, name, values):
        client = pilot.node.create_client(SetParameters, f'{node}/set_parameters')
        pilot.until(client.service_is_ready)
        value = ParameterValue(
            type=ParameterType.PARAMETER_STRING_ARRAY, string_array_value=values
        )
        future = client.call_async(
            SetParameters.Request(parameters=[Parameter(name=name, value=value)])
        )
        pilot.until(future.done)
        return future.result().results[0]

    aim = pilot.pose_message(0.0, 0.0, -3.3)
    pilot.say(pilot.pose, aim, lambda: abs(pilot.at()[2] + 3.3) < 0.02)
    assert set_names('controller', 'free_axes', ['x']).successful
    pilot.until(lambda: math.isnan(pilot.wanted()[0]))
    for node in ('controller', 'thrusters'):
        assert set_names(node, 'failed_thrusters', ['thruster_1']).successful
        answer = set_names(node, 'failed_thrusters', ['bow'])
        assert not answer.successful
        assert "'bow' is unknown" in answer.reason
    pilot.until(lambda: pilot.pwm()[0] == 1500)
    answer = set_names('controller', 'free_axes', ['up'])
    assert not answer.successful
    assert "'up'" in answer.reason
    pilot.spin(1.0)
    assert np.linalg.norm(pilot.at()[1:] - [0, -3.3]) < 0.05
    assert run.poll() is None


@pytest.mark.parametrize('dynamics', ['kinematic', 'articulated'])
def test_an_arm_is_commanded_and_goes_on_where_it_was(processes, ros_environment, dynamics):
    from diagnostic_msgs.msg import DiagnosticArray
    from sensor_msgs.msg import JointState

    pilot = Pilot('/investigator90')
    pilot.listen('joint_states', JointState, depth=2000)
    pilot.listen('/diagnostics', DiagnosticArray)
    command = pilot.node.create_publisher(JointState, 'joint_commands', 10)
    nodes, specs = start_graph(
        processes,
        vehicle='investigator90',
        initial_position=(0.0, 0.0, -8.0),
        vehicle_arguments=(f'arm_dynamics:={dynamics}',),
    )
    joints = pilot.seen['joint_states']
    pilot.until(lambda: len(joints) > 20)
    target = JointState(name=['arm_2_joint', 'arm_3_joint'], position=[-1.0, 1.2])
    pilot.say(command, target, lambda: joints[-1].position[1] < -0.5)
    rates = np.diff([m.position for m in joints[-100:]], axis=0) / STEP
    assert np.max(np.abs(rates)) <= 0.6 + (1e-9 if dynamics == 'kinematic' else 0.01)
    for bad in (
        JointState(name=['elbow'], position=[1.0]),
        JointState(name=['arm_2_joint'], position=[1.0, 2.0]),
        JointState(name=['arm_2_joint'], position=[float('nan')]),
    ):
        command.publish(bad)
    pilot.until(lambda: abs(joints[-1].position[2] - 1.2) < 1e-3)
    assert joints[-1].position[1] == pytest.approx(-1.0, abs=1e-3)
    turning = JointState(name=['arm_1_joint'], velocity=[0.5])
    pilot.say(command, turning, lambda: joints[-1].position[0] > 0.2)
    command.publish(JointState(name=['arm_4_joint'], effort=[20.0]))
    if dynamics == 'articulated':
        pilot.until(lambda: joints[-1].position[3] > 0.02)
    else:
        pilot.spin(0.5)
        assert joints[-1].position[3] == 0  # warned of, and ignored
    pilot.until(lambda: np.abs(joints[-1].velocity).max() < 1e-3)
    before = joints[-1].position
    assert before[0] > 0.2
    nodes['manipulator'].send_signal(signal.SIGKILL)
    nodes['manipulator'].wait()
    pilot.until(lambda: any('manipulator' in s.message for s in statuses(pilot, 'dynamics')))
    count = len(pilot.seen['odom'])
    pilot.until(lambda: len(pilot.seen['odom']) > count + 50)  # the run goes on
    processes.node(specs['manipulator'])
    pilot.seen['/diagnostics'].clear()
    count = len(joints)
    pilot.until(lambda: len(joints) > count + 50)
    assert np.abs(np.array([m.position for m in joints[count:]]) - before).max() < 0.02
    pilot.until(lambda: any(s.level == b'\x00' for s in statuses(pilot, 'dynamics')[1:]))
    pilot.close()


@pytest.mark.parametrize('late', [False, True], ids=['in time', 'when dynamics has gone on'])
def test_a_lost_controller_stops_the_thrusters(processes, pilot, late):
    from geometry_msgs.msg import Twist

    nodes, _ = start_graph(processes, vehicle='bluerov2_heavy', controller='modern')
    pilot.until(lambda: len(pilot.seen['odom']) > 20)
    pilot.switch('arm')
    ahead = Twist()
    ahead.linear.x = 0.4
    pilot.say(pilot.velocity, ahead, lambda: pilot.speed().x > 0.3)
    if late:  # the thrusters sleep until dynamics no longer waits for them
        nodes['thrusters'].send_signal(signal.SIGSTOP)
    nodes['controller'].send_signal(signal.SIGKILL)
    nodes['controller'].wait()
    if late:
        before = len(pilot.seen['odom'])
        pilot.until(lambda: len(pilot.seen['odom']) > before + 25)
        nodes['thrusters'].send_signal(signal.SIGCONT)
    pilot.until(lambda: abs(pilot.speed().x) < 0.1)
    assert nodes['dynamics'].poll() is None


def test_bad_live_parameters_are_refused_at_the_start(processes):
    specs = {
        s.executable: s
        for s in node_specs(RunOptions(vehicle='bluerov2_heavy', controller='modern'))
    }
    for node, name, value in (
        ('controller', 'free_axes', ['up']),
        ('controller', 'holds', ['auto_deph']),
        ('thrusters', 'failed_thrusters', ['bow']),
    ):
        specs[node].parameters[name] = value
        process = processes.node(specs[node])
        output, _ = process.communicate()
        assert process.returncode == 2, output
        assert value[0] in output
        assert 'Traceback' not in output
        del specs[node].parameters[name]


def test_mixed_verdicts_are_a_failure(processes, tmp_path):
    script = tmp_path / 'mixed.yaml'
    script.write_text("""
duration: 0.5
initial: {position: [0.0, 0.0, -5.0]}
segments:
  - {at: 0.0, axes: {}}
expect:
  - {from: 0.0, to: 0.5, depth: [4.0, 6.0]}
  - {from: 0.0, to: 0.5, depth: [1.0, 2.0]}
""")
    process = processes.marine_sim(
        'run', 'bluerov2', '--scenario', script, '--real-time-factor', 0, *ONE_PROCESS
    )
    output, _ = process.communicate()
    assert process.returncode == 1
    assert 'holds: depth within 4 to 6 m' in output
    assert 'does not hold: depth within 1 to 2 m' in output


def test_commands_answer_the_state_of_their_stamp(ros_environment):
    import rclpy
    from rclpy.parameter import Parameter

    from marine_sim_ros.core.state import state_at_rest
    from marine_sim_ros.nodes.thrusters import ThrustersNode
    from marine_sim_ros.ros.base.bus import Bus

    context = rclpy.Context()
    rclpy.init(context=context)
    overrides = [Parameter('pwm_source', value='controller')]
    node = ThrustersNode(context=context, parameter_overrides=overrides, bus=Bus())
    answers = []
    node.publish_wrench = lambda stamp, wrench: answers.append((stamp, wrench[0] != 0))
    go, stay = [1700, 1700, 1300, 1300, 1500, 1500], [1500] * 6
    told = node._commands._on_pwm
    try:
        node.on_state(3, state_at_rest())
        node.on_state(0, state_at_rest())  # the run is reset before the answer to 3 has come
        told(3, go)
        told(0, stay)
        node.on_state(1, state_at_rest())
        told(1, go)
        told(2, stay)  # a command may come before its state
        node.on_state(2, state_at_rest())
        told(None, stay)  # one without a stamp answers whoever waits
        node.on_state(5, state_at_rest())
        assert [stamp for stamp, _ in answers] == [0, 1, 2, 5]
        assert not answers[0][1]
    finally:
        node.destroy_node()
        context.try_shutdown()


def test_a_controller_that_makes_no_sense_is_refused():
    for more, expected in (
        (['--controller', 'fuzzy'], "controller 'fuzzy' is neither"),
        (['--controller', 'modern', '--scenario', 'dive'], 'commands the vehicle'),
    ):
        code, output = marine_sim('run', 'bluerov2', *more)
        assert code == 2
        assert expected in output
        assert 'Traceback' not in output
