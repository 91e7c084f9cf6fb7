# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Teleop as a process: keys of a pseudo-terminal, Joy messages, a controller, and their loss."""

import fcntl
import math
import os
import pty
import re
import select
import signal
import struct
import termios
import threading
import time

import numpy as np
import pytest
from graph import ONE_PROCESS, NotInTime, Watcher
from processor import PATIENCE, slowed

from marine_sim_ros import load_vehicle
from marine_sim_ros.control.stick_mixing import PilotMixer
from marine_sim_ros.ros.node_graph import NodeSpec

pytestmark = pytest.mark.ros
NEUTRAL = [1500] * 6


class Terminal:
    """``marine_sim teleop`` in a terminal of 80 x 24 that is read all the time."""

    def __init__(self, processes, *arguments):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
        processes.environment['TERM'] = 'xterm-256color'
        self.before = termios.tcgetattr(self.master)
        self.process = processes.marine_sim(
            'teleop', *arguments, stdin=slave, stdout=slave, stderr=slave
        )
        self.slave = slave  # so that its settings can be asked for when the process has ended
        self._output = b''
        self._done = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while not self._done.is_set():
            if select.select([self.master], [], [], 0.05)[0]:
                # Of a screen that is drawn 20 times a second, only the last ones matter.
                self._output = (self._output + os.read(self.master, 65536))[-20_000:]

    def type(self, keys):
        os.write(self.master, keys.encode())

    def repeat(self, keys, until):
        """Type every three seconds until a condition holds: DDS may not know the service yet."""
        deadline = time.monotonic() + PATIENCE
        while not until():
            if time.monotonic() > deadline:
                raise NotInTime(self.screen)
            self.type(keys)
            typed = time.monotonic()
            while not until() and time.monotonic() < typed + 3.0:
                time.sleep(0.05)

    @property
    def text(self):
        plain = re.sub(rb'\x1b\[[0-?]*[ -/]*[@-~]', b'', self._output)
        return plain.decode(errors='replace').replace('\r', '')

    @property
    def screen(self):
        """The last screen that is whole."""
        start = self.text.rfind('╭', 0, self.text.rfind('╰'))
        return self.text[start : self.text.find('╯', start)]

    def close(self):
        """Close the window."""
        self._done.set()
        self._reader.join()
        os.close(self.slave)
        os.close(self.master)
        self.master = None


@pytest.fixture
def terminal(processes):
    made = []

    def start(*arguments):
        made.append(Terminal(processes, *arguments))
        return made[-1]

    yield start
    processes.end()
    for one in made:
        if one.master is not None:
            one.close()


class Vehicle(Watcher):
    """Plays the vehicle and, when asked to, its controller."""

    def __init__(self):
        from geometry_msgs.msg import PoseStamped, Twist
        from nav_msgs.msg import Odometry
        from std_msgs.msg import UInt16MultiArray

        from marine_sim_ros.ros import topics

        super().__init__()
        self.listen('thrusters/pwm', UInt16MultiArray)
        self.listen('cmd_vel', Twist)
        self.listen('cmd_pose', PoseStamped)
        self._odom = Odometry()
        self._publisher = self.node.create_publisher(Odometry, 'odom', topics.ODOM.qos)
        self.calls = []

    @property
    def pwm(self):
        return [list(m.data) for m in self.seen['thrusters/pwm']]

    @property
    def velocity(self):
        return [
            (m.linear.x, m.linear.y, m.linear.z, m.angular.x, m.angular.y, m.angular.z)
            for m in self.seen['cmd_vel']
        ]

    @property
    def pose(self):
        """Position and compass-free yaw in degrees."""
        result = []
        for m in self.seen['cmd_pose']:
            assert m.header.frame_id == 'map'
            p, q = m.pose.position, m.pose.orientation
            assert (q.x, q.y) == pytest.approx((0, 0), abs=1e-12)
            result.append((p.x, p.y, p.z, math.degrees(2 * math.atan2(q.z, q.w))))
        return result

    def at(self, x, y, z, yaw):
        p, q = self._odom.pose.pose.position, self._odom.pose.pose.orientation
        p.x, p.y, p.z = x, y, z
        q.z, q.w = math.sin(math.radians(yaw) / 2), math.cos(math.radians(yaw) / 2)
        self._odom.header.stamp.sec += 1
        self._publisher.publish(self._odom)

    def forget(self):
        for messages in self.seen.values():
            messages.clear()

    def serve(self):
        from std_srvs.srv import SetBool

        def answer(name, request, response):
            self.calls.append((name, request.data))
            response.success = name != 'auto_heading'
            response.message = '' if response.success else 'no compass'
            return response

        for name in ('arm', 'auto_depth', 'auto_heading', 'station_keeping'):
            self.node.create_service(SetBool, name, lambda q, a, n=name: answer(n, q, a))


@pytest.fixture
def vehicle(ros_environment):
    result = Vehicle()
    yield result
    result.close()


@pytest.fixture
def watcher(ros_environment):
    result = Watcher()
    yield result
    result.close()


def expected_pwm(**efforts):
    axes = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
    wanted = np.array([efforts.get(a, 0.0) for a in axes])
    return PilotMixer(load_vehicle('bluerov2').thrusters).pwm(wanted).tolist()


@pytest.mark.clock
def test_the_keyboard_drives_all_three_outputs(vehicle, terminal):
    window = terminal('bluerov2')
    vehicle.until(lambda: vehicle.pwm and 'no odom yet' in window.screen)
    assert vehicle.pwm[-1] == NEUTRAL
    vehicle.at(1.0, 2.0, -3.0, 90.0)
    vehicle.until(lambda: 'depth 3.00 m   heading 000°' in window.screen)

    window.type('ww\x1b[A\x1b[D')  # ahead twice; arrows are no letters
    ahead = expected_pwm(surge=0.25)
    vehicle.until(lambda: vehicle.pwm[-1] == ahead)
    vehicle.spin(0.3)
    assert vehicle.pwm[-1] == ahead
    assert 'surge' in window.screen
    window.type(' ')
    vehicle.until(lambda: vehicle.pwm[-1] == NEUTRAL)
    assert not vehicle.velocity
    assert not vehicle.pose

    window.type('wwm')
    vehicle.until(lambda: vehicle.velocity)
    assert vehicle.pwm[-1] == NEUTRAL
    count = len(vehicle.pwm)
    assert set(vehicle.velocity) == {(0.0,) * 6}  # what was held is let go
    window.type('wwwwwdrje' + '+' * 5)  # full surge, full gain; quarters of the others
    wanted = (1.0, -0.125, 0.125, -0.125, 0.0, -0.2)
    vehicle.until(lambda: vehicle.velocity[-1] == pytest.approx(wanted))
    vehicle.until(lambda: 'set-point -0.20' in window.screen)
    start, before = time.monotonic(), len(vehicle.velocity)
    vehicle.spin(1.0)
    rate = (len(vehicle.velocity) - before) / (time.monotonic() - start)
    assert 14 / slowed(1.0) < rate < 26

    window.type('m')
    vehicle.until(lambda: vehicle.pose)
    assert vehicle.velocity[-1] == (0.0,) * 6
    silent = len(vehicle.velocity)
    assert vehicle.pose[-1] == pytest.approx((1.0, 2.0, -3.0, 90.0))
    window.type('wwafe')  # ahead is north (+y), to port is west (-x)
    vehicle.until(lambda: vehicle.pose[-1] == pytest.approx((0.75, 2.5, -3.25, 80.0)))
    vehicle.until(lambda: '10° to starboard' in window.screen and '0.61 m' in window.screen)
    assert vehicle.seen['cmd_pose'][-1].header.stamp.sec == 1
    before = len(vehicle.pose)
    vehicle.spin(2.2)
    assert 3 / slowed(1.0) <= len(vehicle.pose) - before <= 6  # twice a second
    vehicle.at(5.0, 6.0, -7.0, 0.0)
    vehicle.until(lambda: 'depth 7.00 m' in window.screen)
    window.type(' ')
    vehicle.until(lambda: vehicle.pose[-1] == pytest.approx((5.0, 6.0, -7.0, 0.0)))
    assert (len(vehicle.pwm), len(vehicle.velocity)) == (count, silent)

    window.type('x')
    assert window.process.wait() == 0
    assert termios.tcgetattr(window.slave) == window.before


@pytest.mark.clock
def test_keys_switch_the_controller_and_its_absence_is_told(vehicle, terminal):
    window = terminal('bluerov2', '--output', 'velocity')
    vehicle.until(lambda: vehicle.velocity)
    window.type('2')
    vehicle.until(lambda: 'auto_depth: no controller answers' in window.screen)
    vehicle.serve()
    vehicle.spin(1.0)
    window.type('1')
    vehicle.until(lambda: 'arm on' in window.screen)
    window.type('2')
    vehicle.until(lambda: 'auto depth on' in window.screen)
    window.type('2')
    vehicle.until(lambda: 'auto depth off' in window.screen)
    window.type('4')
    vehicle.until(lambda: 'station keeping on' in window.screen)
    window.type('3')
    vehicle.until(lambda: 'auto_heading: refused: no compass' in window.screen)
    assert 'auto heading ?' in window.screen
    window.type('0')
    vehicle.until(lambda: 'arm off' in window.screen)
    assert vehicle.calls == [
        ('arm', True),
        ('auto_depth', True),
        ('auto_depth', False),
        ('station_keeping', True),
        ('auto_heading', True),
        ('arm', False),
    ]
    # A controller that hangs: commands go on, and it is told after a while.
    window.type('1')
    before = len(vehicle.velocity)
    time.sleep(5.5)  # the services of this process do not answer meanwhile
    vehicle.spin(0.1)
    assert len(vehicle.velocity) - before > 60 / slowed(1.0)
    vehicle.until(lambda: 'arm: no controller answers' in window.screen)


class Pad:
    """A gamepad in the hands of the test."""

    def __init__(self, vehicle):
        from sensor_msgs.msg import Joy

        self._vehicle = vehicle
        self._type = Joy
        self._publisher = vehicle.node.create_publisher(Joy, '/joy', 10)
        vehicle.until(self._publisher.get_subscription_count)

    def hold(self, seconds, *, buttons=(), **sticks):
        end = time.monotonic() + seconds
        message = self._type(axes=[0.0] * 6, buttons=[int(i in buttons) for i in range(21)])
        numbers = {'surge': 1, 'sway': 0, 'heave': 3, 'yaw': 2}
        for axis, value in sticks.items():
            message.axes[numbers[axis]] = value
        while time.monotonic() < end:
            self._publisher.publish(message)
            self._vehicle.spin(0.05)

    def press(self, button):
        self.hold(0.1)
        self.hold(0.1, buttons=[button])
        self.hold(0.1)


B, A, Y = 1, 0, 3


@pytest.mark.clock
def test_a_gamepad_drives_all_three_outputs_and_its_loss_stops_each(vehicle, processes):
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from std_msgs.msg import UInt16MultiArray

    from marine_sim_ros.ros import topics

    vehicle.listen('/diagnostics', DiagnosticArray)
    vehicle.serve()
    own = {'max_speed': [2.0, 1.0, 1.0], 'joy_timeout': 0.3}
    processes.node(NodeSpec('teleop', '/bluerov2', own))
    pad = Pad(vehicle)
    vehicle.until(lambda: vehicle.node.count_subscribers('odom'))
    vehicle.at(1.0, 2.0, -3.0, 90.0)
    vehicle.spin(0.3)
    assert not vehicle.pwm  # nobody steers yet

    def silent_after(commands, stopped):
        vehicle.until(lambda: commands()[-1] == stopped)
        count = len(commands())
        vehicle.spin(0.3)
        assert len(commands()) == count  # once, and then nothing more

    for _ in range(2):  # the second time it is plugged in again
        pad.hold(0.3, surge=1.0)
        assert vehicle.pwm[-1] == expected_pwm(surge=1.0)
        silent_after(lambda: vehicle.pwm, NEUTRAL)

    pad.press(Y)
    for _ in range(2):
        pad.hold(0.3, surge=0.54, yaw=-1.0)  # half, beyond a dead band of 0.08
        assert vehicle.velocity[-1] == pytest.approx((1.0, 0, 0, 0, 0, -0.8), abs=1e-6)
        silent_after(lambda: vehicle.velocity, (0.0,) * 6)

    pad.press(Y)
    start = pytest.approx((1.0, 2.0, -3.0, 90.0))
    for _ in range(2):
        pad.hold(0.2)
        pad.press(B)  # here
        pad.hold(0.5, surge=1.0, heave=-1.0)
        x, y, z, yaw = vehicle.pose[-1]
        assert (x, yaw) == pytest.approx((1.0, 90.0))
        assert y == pytest.approx(2.0 + 1.0, abs=0.4)
        assert z == pytest.approx(-3.0 - 0.5, abs=0.2)
        silent_after(lambda: vehicle.pose, start)

    pad.press(A)
    vehicle.until(lambda: vehicle.calls == [('auto_depth', True)])

    # Back to pulse widths while a controller sends some: it is left alone.
    controller = rclpy.create_node(
        'autopilot', namespace='/bluerov2', context=vehicle.node.context
    )
    controller.create_publisher(UInt16MultiArray, 'thrusters/pwm', topics.PWM_PER_TICK.qos)
    pad.hold(0.8)
    vehicle.forget()
    pad.press(Y)
    pad.hold(0.5, surge=1.0)
    assert not vehicle.pwm

    def told():
        texts = [s.message for a in vehicle.seen['/diagnostics'] for s in a.status]
        return any('a controller drives the thrusters' in text for text in texts)

    vehicle.until(told)
    controller.destroy_node()


@pytest.mark.clock
@pytest.mark.parametrize('how', ['killed', 'closed'])
def test_a_lost_terminal_stops_the_thrusters(watcher, processes, terminal, how):
    from sensor_msgs.msg import JointState
    from std_msgs.msg import UInt16MultiArray

    watcher.listen('thrusters/state', JointState)
    watcher.listen('thrusters/pwm', UInt16MultiArray)
    processes.marine_sim('run', 'bluerov2', *ONE_PROCESS)
    window = terminal('bluerov2')
    state, pwm = watcher.seen['thrusters/state'], watcher.seen['thrusters/pwm']
    watcher.until(lambda: len(state) > 20 and pwm)
    window.type('wwww')
    watcher.until(lambda: max(map(abs, state[-1].effort)) > 5)
    if how == 'killed':
        window.process.send_signal(signal.SIGKILL)
        window.process.wait()
        watcher.until(lambda: max(map(abs, state[-1].effort)) < 1e-2)
        # Nobody said so: it was the thrusters' own time-out.
        assert list(pwm[-1].data) == expected_pwm(surge=0.5)
    else:
        window.type('m')
        watcher.until(lambda: 'no controller listens to cmd_vel' in window.screen)
        window.type('m')
        watcher.until(lambda: 'no controller listens to cmd_pose' in window.screen)
        window.type('mww')
        watcher.until(lambda: list(pwm[-1].data) == expected_pwm(surge=0.25))
        window.close()
        assert window.process.wait() == 0
        watcher.until(lambda: list(pwm[-1].data) == NEUTRAL)


@pytest.mark.parametrize(
    ('parameters', 'expected'),
    [
        ({'gamepad': 'snes'}, "gamepad 'snes' is neither a file nor a shipped gamepad"),
        ({'output': 'warp'}, 'expected one of: pwm, velocity, pose'),
        ({'max_speed': [1.0, 1.0]}, 'max_speed is [1.0, 1.0]; expected three of 0 to 1000'),
        ({'max_rate': [1.0, -1.0, 1.0]}, 'expected three of 0 to 1000'),
    ],
)
def test_bad_parameters_give_one_line(processes, parameters, expected):
    process = processes.node(NodeSpec('teleop', '/bluerov2', parameters))
    output, _ = process.communicate()
    assert process.returncode == 2
    assert output.startswith('ERROR: ')
    assert expected in output
    assert output.count('\n') == 1


def test_a_bad_gamepad_file_gives_one_line_in_the_terminal(terminal, tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text('driver: joy_node\naxes: {warp: {axis: 1}}\n')
    window = terminal('bluerov2', '--gamepad', str(path))
    assert window.process.wait() == 2
    time.sleep(0.2)
    text = window.text.strip()
    assert text.startswith(f"ERROR: {path}: axes: unknown key 'warp'")
    assert '\n' not in text


def test_a_real_controller_follows_the_pilot_and_holds_still_without_one(
    watcher, processes, terminal
):
    from geometry_msgs.msg import PoseStamped
    from nav_msgs.msg import Odometry

    watcher.listen('odom', Odometry)
    watcher.listen('cmd_pose', PoseStamped)
    processes.marine_sim('run', 'bluerov2', '--controller', 'modern', *ONE_PROCESS)
    window = terminal('bluerov2', '--output', 'pose')
    odom = watcher.seen['odom']

    def place():
        p = odom[-1].pose.pose.position
        return np.array([p.x, p.y, p.z])

    def speed():
        v = odom[-1].twist.twist.linear
        return math.sqrt(v.x**2 + v.y**2 + v.z**2)

    def target():
        p = watcher.seen['cmd_pose'][-1].pose.position
        return np.array([p.x, p.y, p.z])

    watcher.until(lambda: watcher.seen['cmd_pose'])
    start = target()
    window.repeat('1', until=lambda: 'arm on' in window.screen)
    window.type('wwww' + 'ff')
    watcher.until(lambda: target() - start == pytest.approx([1.0, 0.0, -0.5], abs=0.1))
    watcher.until(lambda: place() == pytest.approx(target(), abs=0.15) and speed() < 0.1)
    window.type('m')
    watcher.until(lambda: 'a controller drives the thrusters' in window.screen)
    window.type('m' + 'wwww')
    watcher.until(lambda: 'output velocity' in window.screen)
    watcher.until(lambda: odom[-1].twist.twist.linear.x > 0.4)
    window.process.send_signal(signal.SIGKILL)
    lost = place()
    watcher.until(lambda: speed() < 0.05)
    assert np.linalg.norm(place() - lost) < 1.0  # half a second at 0.5 m/s, and to brake


BRICK = """
seabed: {depth: 6, material: sand}
bodies: [{name: brick, shape: box, size: [0.2, 0.1, 0.06], mass: 2, volume: 0.00194742,
          position: [0.418, 0.0, -0.6]}]
"""


@pytest.mark.parametrize('dynamics', ['kinematic', 'articulated'])
def test_keys_move_the_arm_and_pick_up_a_brick(watcher, processes, terminal, tmp_path, dynamics):
    """The vehicle floats; the brick is between the jaws when the arm hangs: n, k, g, then g."""
    from sensor_msgs.msg import JointState

    sea = tmp_path / 'sea.yaml'
    sea.write_text(BRICK)
    arm = ('--set', 'arm:=true', '--set', f'arm_dynamics:={dynamics}')
    options = ('--environment', sea, '--namespace', 'bluerov2')
    processes.marine_sim('run', 'bluerov2_heavy', *arm, *options, *ONE_PROCESS)
    watcher.listen('joint_states', JointState)

    def now():
        return watcher.seen['joint_states'][-1].position

    watcher.until(lambda: len(now()) == 3)
    window = terminal('bluerov2_heavy', *arm, '--namespace', 'bluerov2')
    watcher.until(lambda: 'gripper empty' in window.screen and 'joints off' in window.screen)
    window.type('nkkkk')
    watcher.until(lambda: now()[0] > 0.9)
    window.type(' ')
    watcher.until(lambda: 'joints shoulder, wrist' in window.screen)
    assert now()[1] == pytest.approx(0.0, abs=1e-3)

    def held(count):
        def condition():
            watcher.spin(0.02)
            return now()[2] == count

        return condition

    window.repeat('g', held(1.0))
    watcher.until(lambda: 'gripper holds' in window.screen)
    watcher.spin(2.0)  # it comes to rest
    stopped = now()[0]
    watcher.spin(0.5)
    assert now()[0] == pytest.approx(stopped, abs=0.005)
    window.repeat('g', held(0.0))
    window.type('n')
    watcher.until(lambda: 'joints off' in window.screen)
