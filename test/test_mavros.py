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
