# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics and services of MAVROS: the relay alone, and a client written for MAVROS over real DDS.

The right values are those of the vehicle's own odometry, and the conversions of REP 103.
"""

import math
import random
import socket
import time
from collections import defaultdict

import numpy as np
import pytest
from processor import PATIENCE

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

dialect = pytest.importorskip(
    'pymavlink.dialects.v20.ardupilotmega', reason='pymavlink: not installed (extra ardusub)'
)


def test_the_autopilot_sends_to_the_node_and_the_node_to_the_ground_station():
    options = {'topics': ('mavros',), 'autopilot': 'mavlink', 'autopilot_instance': 3}
    specs = {s.executable: s for s in node_specs(RunOptions(**options))}
    assert specs['mavlink'].parameters['ground_station'] == '127.0.0.1:14543'
    assert specs['mavros'].parameters['ground_station'] == '127.0.0.1:14550'
    assert specs['mavlink'].parameters['rate'] == 10.0
    assert specs['mavros'].namespace == '/'
    named = {s.executable: s for s in node_specs(RunOptions(**options, namespace='rov'))}
    assert named['mavros'].namespace == '/rov'


@pytest.mark.parametrize(
    ('changed', 'named'),
    [({'autopilot': ''}, '--autopilot'), ({'ground_station_key': 'k'}, 'does not sign')],
)
def test_what_it_cannot_serve_is_named(changed, named):
    with pytest.raises(MarineSimError, match=named):
        node_specs(RunOptions(**{'topics': ('mavros',), 'autopilot': 'ardusub', **changed}))


def udp():
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(('127.0.0.1', 0))
    one.settimeout(PATIENCE)
    return one


def test_the_relay_passes_datagrams_both_ways_and_reads_its_vehicle_alone():
    from marine_sim_ros.autopilot.mavlink.link import MavlinkRelay

    with udp() as taken, udp() as vehicle, udp() as ground, udp() as stranger:
        port = taken.getsockname()[1]
        with pytest.raises(
            ParameterError, match=f'listen on UDP 127.0.0.1:{port}: .*; expected a'
        ):
            MavlinkRelay(port, '', 1, '--topics mavros')
        taken.close()
        address = f'127.0.0.1:{ground.getsockname()[1]}'
        relay = MavlinkRelay(port, address, 2, '--topics mavros')
        relay.send.heartbeat_send(6, 8, 0, 0, 0)  # to nobody yet
        data = b'\x00garbage'
        for system, component in ((2, 1), (2, 100), (1, 1)):
            packer = dialect.MAVLink(None, srcSystem=system, srcComponent=component)
            data += dialect.MAVLink_heartbeat_message(12, 3, 0, 0, 0, 3).pack(packer)
        vehicle.sendto(data, ('127.0.0.1', port))
        relay.wait(PATIENCE)
        heard = relay.messages()
        assert [(m.get_type(), m.get_srcSystem(), m.get_srcComponent()) for m in heard] == [
            ('HEARTBEAT', 2, 1)
        ]
        passed, sender = ground.recvfrom(1000)
        assert passed == data
        stranger.sendto(b'not passed', sender)
        ground.sendto(b'to the vehicle', sender)
        deadline = time.monotonic() + PATIENCE
        vehicle.setblocking(False)
        answer = None
        while answer is None and time.monotonic() < deadline:
            relay.wait(0.1)
            relay.messages()
            try:
                answer = vehicle.recv(1000)
            except BlockingIOError:
                continue
        assert answer == b'to the vehicle'
        relay.close()


def test_what_is_not_read_is_passed_on_and_not_parsed():
    """Frames of MAVLink 1 and 2, signed and not, several in a datagram, and cut ones."""
    from marine_sim_ros.autopilot.mavlink.link import MavlinkRelay

    packer = dialect.MAVLink(None, srcSystem=2, srcComponent=1)
    signer = dialect.MAVLink(None, srcSystem=2, srcComponent=1)
    signer.signing.secret_key, signer.signing.sign_outgoing = bytes(32), True
    beat = dialect.MAVLink_heartbeat_message(12, 3, 0, 0, 0, 3)
    attitude = dialect.MAVLink_attitude_message(5, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0)
    whole = attitude.pack(packer)
    together = dialect.MAVLink_vfr_hud_message(0, 0, 0, 0, 0, 0).pack(packer) + beat.pack(packer)
    datagrams = [
        whole, attitude.pack(signer), attitude.pack(packer, force_mavlink1=True),
        beat.pack(packer), beat.pack(signer), beat.pack(packer, force_mavlink1=True),
        together, whole[:-1], whole[:-1] + b'?', b'\xfd\xff', beat.pack(packer),
    ]  # fmt: skip
    with udp() as vehicle, udp() as ground:
        relay = MavlinkRelay(0, f'127.0.0.1:{ground.getsockname()[1]}', 2, '--topics mavros')
        port = relay._sockets[0].getsockname()[1]
        parsed = []
        decode = relay.send.decode
        relay.send.decode = lambda data: parsed.append(bytes(data)) or decode(data)
        heard = []
        for data in datagrams:
            vehicle.sendto(data, ('127.0.0.1', port))
            relay.wait(PATIENCE)
            heard += [m.get_type() for m in relay.messages(lambda number: number == 0)]
            assert ground.recv(1000) == data
        relay.close()
    # One by one they are read by their header; together, or of MAVLink 1, all of them are parsed.
    assert heard.count('HEARTBEAT') == 5
    assert [data for data in datagrams if data not in parsed and len(data) > 2] == [
        whole, datagrams[1], datagrams[6], whole[:-1], datagrams[8],
    ]  # fmt: skip


@pytest.mark.ros
@pytest.mark.parametrize(('rate', 'interval'), [(20.0, 5e4), (0.0, 0.0), (-0.0, 0.0), (-3.0, -1)])
def test_a_rate_of_zero_is_the_usual_one_as_mavros_has_it(rate, interval):
    commands = pytest.importorskip('marine_sim_ros.ros.mavros_commands')
    assert commands._interval(rate) == interval
    with pytest.raises(ValueError, match='message_rate is nan'):
        commands._interval(math.nan)


class Publisher:
    """A publisher of rclpy that keeps what it is given, as DDS would deliver it."""

    def __init__(self, kind):
        self.kind, self.listeners, self.sent = kind, 0, []

    def get_subscription_count(self):
        return self.listeners

    def publish(self, message):
        from rclpy.serialization import deserialize_message, serialize_message

        data = message if isinstance(message, bytes) else serialize_message(message)
        self.sent.append(deserialize_message(data, self.kind))


class Node:
    """The parts of a node that the reports use; the time is set."""

    body_frame = 'rov/base_link'

    def __init__(self):
        self.publishers, self.warnings, self.time = {}, [], 0.0
        self.wall_clock = self

    def create_publisher(self, kind, name, qos):
        del qos
        self.publishers[name] = Publisher(kind)
        return self.publishers[name]

    def now(self):
        from rclpy.time import Time

        return Time(nanoseconds=round(self.time * 1e9))

    def warn_throttled(self, text):
        self.warnings.append(text)


@pytest.mark.ros
def test_streams_of_ardusub_become_what_has_a_subscriber():
    """Messages of ArduSub 4.5's streams (SR0_…), in its scales: mG, hPa, cdeg, mV, cA."""
    pytest.importorskip('mavros_msgs.msg', reason='mavros_msgs: not built')
    from marine_sim_ros.autopilot.conventions import AHEAD
    from marine_sim_ros.ros.mavros import MavrosReports

    node = Node()
    instance = random.randrange(200, 250)
    reports = MavrosReports(node, 'ardusub', instance, '')
    firmware = dialect.MAVLink(None, srcSystem=instance + 1, srcComponent=1)
    boot = round(AHEAD / 1e6) + 7000
    messages = [
        dialect.MAVLink_heartbeat_message(12, 3, 0x51 | 128, 2, 4, 3),
        dialect.MAVLink_raw_imu_message(0, 100, -200, -1000, 0, 0, 0, 0, 0, 0),
        dialect.MAVLink_attitude_message(boot, 0.1, -0.2, 2.0, 0.3, 0.4, 0.5),
        dialect.MAVLink_local_position_ned_message(boot, 3.0, 4.0, 5.0, 0.6, 0.7, 0.8),
        dialect.MAVLink_global_position_int_message(boot, 47, 8, -5000, -5000, 1, 2, 3, 9000),
        dialect.MAVLink_scaled_pressure2_message(boot, 1513.0, 0, 0),
        dialect.MAVLink_scaled_pressure_message(boot, 1013.0, 0, 0),
        dialect.MAVLink_scaled_pressure2_message(boot, 1514.0, 0, 0),
        dialect.MAVLink_sys_status_message(0, 0, 0, 0, 15800, 250, 77, 0, 0, 0, 0, 0, 0),
        dialect.MAVLink_ekf_status_report_message(0, 0.0, 0.0, 0.0, 0.0, 0.0),
        dialect.MAVLink_vibration_message(0, 0.0, 0.0, 0.0, 0, 0, 0),
        dialect.MAVLink_statustext_message(6, b'Leak Detected'),
    ]  # fmt: skip

    def receive():
        node.time += 1.0  # time enough to look for subscribers
        with udp() as vehicle:
            for message in messages:
                vehicle.sendto(message.pack(firmware), ('127.0.0.1', 14540 + instance))
            reports.link.wait(PATIENCE)
            reports.receive()
        sent = {name[7:]: p.sent for name, p in node.publishers.items() if p.sent}
        for publisher in node.publishers.values():
            publisher.sent = []
        return sent

    # Without a subscriber: the state, which is kept for those who come later, and texts.
    assert set(receive()) == {'state', 'statustext/recv'}
    for publisher in node.publishers.values():
        publisher.listeners = 1
    sent = receive()
    reports.close()
    assert set(node.publishers) - {f'mavros/{n}' for n in sent} == {
        'mavros/vfr_hud', 'mavros/rc/in', 'mavros/rc/out',
    }  # fmt: skip
    state, imu, pose = sent['state'][0], sent['imu/data'][0], sent['local_position/pose'][0]
    assert (state.connected, state.armed, state.mode) == (True, True, 'ALT_HOLD')
    g = 9.80665e-3
    force = imu.linear_acceleration
    assert (force.x, force.y, force.z) == pytest.approx((100 * g, 200 * g, 1000 * g))
    assert imu.linear_acceleration_covariance[0] == 0.0
    assert imu.header.frame_id == 'rov/base_link'
    stamp = pose.header.stamp
    assert (stamp.sec, stamp.nanosec, pose.header.frame_id) == (7, 0, 'map')
    position = pose.pose.position
    assert (position.x, position.y, position.z) == (4.0, 3.0, -5.0)
    # The bow, in north, east, down, by the definition of the angles.
    bow = math.cos(-0.2) * math.cos(2.0), math.cos(-0.2) * math.sin(2.0), -math.sin(-0.2)
    found = rotated(pose.pose.orientation, (1.0, 0.0, 0.0))
    assert (found[1], found[0], -found[2]) == pytest.approx(bow, abs=1e-6)
    odometry = sent['local_position/odom'][0]
    assert odometry.pose.pose == pose.pose
    assert odometry.child_frame_id == 'rov/base_link'
    linear = odometry.twist.twist.linear
    turned = rotated(pose.pose.orientation, (linear.x, linear.y, linear.z))
    assert turned == pytest.approx((0.7, 0.6, -0.8), abs=1e-6)
    assert odometry.twist.twist == sent['local_position/velocity_body'][0].twist
    # That of the hull alone, also where the outer sensor's comes first.
    assert [m.fluid_pressure for m in sent['imu/static_pressure']] == [101300.0]
    battery = sent['battery'][0]
    assert (battery.voltage, battery.current) == pytest.approx((15.8, -2.5))
    assert sent['global_position/compass_hdg'][0].data == 90.0
    assert sent['statustext/recv'][0].text == 'Leak Detected'
    assert node.warnings == []


class Client:
    """A node as users of MAVROS write it."""

    def __init__(self, types, services):
        import rclpy
        from geometry_msgs.msg import PoseStamped, Twist
        from nav_msgs.msg import Odometry
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import FluidPressure, Imu, NavSatFix
        from std_msgs.msg import Float64

        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('client', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.heard = defaultdict(list)
        reliable, sensor = 10, qos_profile_sensor_data
        for name, kind, qos in (
            ('mavros/state', types.State, reliable),
            ('mavros/statustext/recv', types.StatusText, sensor),
            ('mavros/rc/out', types.RCOut, reliable),
            ('mavros/vfr_hud', types.VfrHud, reliable),
            ('mavros/imu/data', Imu, sensor),
            ('mavros/imu/static_pressure', FluidPressure, sensor),
            ('mavros/local_position/odom', Odometry, sensor),
            ('mavros/local_position/pose', PoseStamped, sensor),
            ('mavros/global_position/global', NavSatFix, sensor),
            ('mavros/global_position/rel_alt', Float64, sensor),
            ('bluerov2_heavy/odom', Odometry, reliable),
        ):
            self.node.create_subscription(kind, f'/{name}', self.heard[name].append, qos)
        self.services = {
            name: self.node.create_client(kind, f'/mavros/{name}')
            for name, kind in services.items()
        }
        self.sticks = self.node.create_publisher(types.OverrideRCIn, '/mavros/rc/override', 10)
        self.manual = self.node.create_publisher(
            types.ManualControl, '/mavros/manual_control/send', 10
        )
        self.goal = self.node.create_publisher(PoseStamped, '/mavros/setpoint_position/local', 10)
        self.velocity = self.node.create_publisher(
            Twist, '/mavros/setpoint_velocity/cmd_vel_unstamped', 10
        )

    def last(self, name):
        return self.heard[name][-1] if self.heard[name] else None

    def until(self, condition, act=None):
        """Spin until a condition holds, and act ten times a second meanwhile."""
        deadline, acted = time.monotonic() + PATIENCE, 0.0
        while not condition():
            assert time.monotonic() < deadline, {k: v[-1:] for k, v in self.heard.items()}
            if act and time.monotonic() - acted > 0.1:
                acted = time.monotonic()
                act()
            self.executor.spin_once(timeout_sec=0.05)

    def call(self, name, **fields):
        client = self.services[name]
        self.until(client.service_is_ready)
        request = client.srv_type.Request()
        for field, value in fields.items():
            setattr(request, field, value)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.shutdown()


def rotated(q, vector):
    """Return a vector turned by a quaternion message."""
    from marine_sim_ros.core.spatial import rotation_matrix

    return rotation_matrix(np.array([q.x, q.y, q.z, q.w])) @ np.array(vector)


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_client_of_mavros_flies_the_vehicle(processes):
    types = pytest.importorskip('mavros_msgs.msg', reason='mavros_msgs: not built')
    import mavros_msgs.srv as srv
    from geometry_msgs.msg import PoseStamped, Twist
    from rcl_interfaces.msg import Parameter, ParameterValue
    from rcl_interfaces.srv import GetParameters, SetParameters

    instance = random.randrange(20, 90)
    processes.marine_sim(
        'run', 'bluerov2_heavy', '--autopilot', 'mavlink', '--topics', 'mavros', '--composed',
        '--dt', '0.02', '--real-time-factor', '4', '--initial-position', '1', '2', '-3',
        '--autopilot-instance', instance,
    )  # fmt: skip
    client = Client(
        types,
        {
            'cmd/arming': srv.CommandBool,
            'set_mode': srv.SetMode,
            'cmd/command': srv.CommandLong,
            'param/get_parameters': GetParameters,
            'param/set_parameters': SetParameters,
        },
    )
    try:
        fly(client, types, PoseStamped, Twist, Parameter, ParameterValue)
    finally:
        client.close()


def fly(client, types, pose, twist, parameter, parameter_value):
    state = 'mavros/state'
    client.until(lambda: client.last(state) and client.last(state).connected)
    assert not client.last(state).armed
    names = set(client.heard) - {'mavros/statustext/recv'}
    client.until(lambda: all(client.heard[name] for name in names))

    # Readings are those of the vehicle.
    wanted, found = client.last('bluerov2_heavy/odom'), client.last('mavros/local_position/odom')
    ours, theirs = wanted.pose.pose, found.pose.pose
    for axis in 'xyz':
        assert getattr(theirs.position, axis) == pytest.approx(
            getattr(ours.position, axis), abs=0.05
        )
    ahead = [rotated(p.orientation, (1.0, 0.0, 0.0)) for p in (ours, theirs)]
    assert ahead[0] == pytest.approx(ahead[1], abs=0.02)
    depth = -theirs.position.z
    assert client.last('mavros/global_position/rel_alt').data == pytest.approx(-depth, abs=0.05)
    pressure = client.last('mavros/imu/static_pressure').fluid_pressure
    assert pressure == pytest.approx(101325 + 1025 * 9.81 * depth, rel=0.03)
    assert client.last('mavros/imu/data').linear_acceleration_covariance[0] == -1.0
    assert len(client.last('mavros/rc/out').channels) == 16
    stamps = [m.header.stamp.sec for m in client.heard['mavros/local_position/odom']]
    assert stamps == sorted(stamps)
    assert abs(found.header.stamp.sec - wanted.header.stamp.sec) <= 2

    # An acknowledgement means that it was done.
    assert client.call('set_mode', custom_mode='ALT_HOLD').mode_sent
    assert not client.call('set_mode', custom_mode='HOVER').mode_sent
    refused = client.call('cmd/command', command=209)  # DO_MOTOR_TEST
    assert (refused.success, refused.result) == (False, 3)
    armed = client.call('cmd/arming', value=True)
    assert (armed.success, armed.result) == (True, 0)
    client.until(lambda: client.last(state).armed and client.last(state).mode == 'ALT_HOLD')
    value = parameter_value(type=3, double_value=40.0)
    done = client.call('param/set_parameters', parameters=[parameter(name='THR_DZ', value=value)])
    assert done.results[0].successful
    found = client.call('param/get_parameters', names=['THR_DZ', 'NO_SUCH'])
    assert [v.type for v in found.values] == [3, 0]
    assert found.values[0].double_value == 40.0

    # Sticks: forward, along the bow.
    def pose_now():
        return client.last('mavros/local_position/pose').pose

    start = pose_now()
    bow = rotated(start.orientation, (1.0, 0.0, 0.0))

    def travelled():
        p, q = pose_now().position, start.position
        return float(bow @ np.array([p.x - q.x, p.y - q.y, p.z - q.z]))

    widths = [types.OverrideRCIn.CHAN_NOCHANGE] * 18
    widths[4] = 1700
    client.until(
        lambda: travelled() > 1.0,
        lambda: client.sticks.publish(types.OverrideRCIn(channels=widths)),
    )
    wrong = types.ManualControl(x=math.nan)
    client.manual.publish(wrong)
    client.sticks.publish(types.OverrideRCIn(channels=[0] * 18))

    # A goal in map, then a velocity.
    assert client.call('set_mode', custom_mode='GUIDED').mode_sent
    goal = pose()
    goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = 2.0, -1.0, -4.0
    goal.pose.orientation.z = goal.pose.orientation.w = math.sqrt(0.5)  # yaw 90°

    def away():
        p = pose_now().position
        return math.dist((p.x, p.y, p.z), (2.0, -1.0, -4.0))

    def bow_error():
        return math.dist(rotated(pose_now().orientation, (1.0, 0.0, 0.0)), (0.0, 1.0, 0.0))

    client.until(lambda: away() < 0.2 and bow_error() < 0.1, lambda: client.goal.publish(goal))
    move = twist()
    move.linear.x = -0.3
    client.until(lambda: pose_now().position.x < 1.0, lambda: client.velocity.publish(move))
    assert abs(pose_now().position.y + 1.0) < 0.5
    assert client.call('cmd/arming', value=False).success
    client.until(lambda: not client.last(state).armed)
