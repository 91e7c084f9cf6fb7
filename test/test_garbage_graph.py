# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Odd messages, requests and parameters reach every node of a graph, and the run goes on.

The topics, services and parameters are those that the nodes themselves offer.
"""

import math
import re
import signal
import time
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import product
from shutil import copytree

import numpy as np
import pytest
from graph import STEP, Watcher

from marine_sim_ros.core.files import resource_folder

pytestmark = pytest.mark.ros

NAMESPACE = '/odd'
FLOATS = (math.nan, math.inf, 1e300, -1e300)
TEXTS = ('', 'x' * 700, '<script>\x1b[31m', 'ü\n$(x) {', 'base_link')
REPEAT = 5.0
"""s of wall time after which a request is sent again."""
LENGTHS = (0, 1, 3000)
ENDING = ('end',)
"""Services that rightly end the run."""
ARGUMENTS = ('odom', 'pause', 'cmd_vel')
"""Of the vehicle's xacro; each is a name of the graph too."""


def vehicle_in(folder):
    """Write a vehicle whose xacro has the arguments, and return its file."""
    copytree(resource_folder('urdf'), folder / 'urdf')
    path = folder / 'urdf' / 'bluerov2_heavy.urdf.xacro'
    own = ''.join(f'<xacro:arg name="{name}" default="1"/>' for name in ARGUMENTS)
    text = path.read_text().replace('<xacro:arg', f'{own}<xacro:arg', 1)
    path = path.with_name('odd.urdf.xacro')
    path.write_text(text.replace('name="bluerov2_heavy"', 'name="odd"', 1))
    return path


@cache
def kind_of(name):
    """Return a message class: ``package/msg/Name`` or ``package/Name``."""
    package, *_, last = name.split('/')
    return getattr(import_module(f'{package}.msg'), last)


def odd(message, turn):
    """Fill every field of a message with the turn-th odd value of its type."""
    for name, kind in message.get_fields_and_field_types().items():
        value = odd_value(kind, turn)
        try:
            setattr(message, name, value)
        except (AssertionError, TypeError):  # out of what rclpy itself lets a sender write
            continue
    return message


def odd_value(kind, turn):
    fixed = re.fullmatch(r'(.+)\[(\d+)\]', kind)
    many = re.fullmatch(r'sequence<(.+?)(?:, \d+)?>', kind)
    if fixed:
        return [odd_value(fixed[1], turn)] * int(fixed[2])
    if many:
        length = LENGTHS[turn % len(LENGTHS)]
        one = odd_value(many[1], turn)
        return [one] * (min(length, 40) if '/' in many[1] else length)
    if kind in ('double', 'float'):
        value = FLOATS[turn % len(FLOATS)]
        return value if kind == 'double' or not abs(value) > 1e38 or math.isinf(value) else 3e38
    if kind == 'boolean':
        return bool(turn % 2)
    if kind in ('string', 'wstring'):
        return TEXTS[turn % len(TEXTS)]
    if kind == 'octet':
        return bytes([255])
    if number := re.fullmatch(r'(u?)int(\d+)', kind):
        bits = int(number[2]) - (not number[1])
        return (2**bits - 1, 0 if number[1] else -(2**bits))[turn % 2]
    return odd(kind_of(kind)(), turn)


def nodes_of(watcher):
    """Return name and namespace of every node of the run."""
    own = watcher.node.get_name(), watcher.node.get_namespace()
    found = set(watcher.node.get_node_names_and_namespaces()) - {own}
    return sorted((name, space) for name, space in found if space == own[1])


class Services:
    """The services of a run, with one client each that stays.

    DDS drops an answer to a client that the server has not discovered yet; with a new client for
    each request that takes many seconds on a busy machine.
    """

    def __init__(self, watcher):
        """Make the clients, and wait until the services are found."""
        self.watcher = watcher
        self.kinds = {}
        for name, space in nodes_of(watcher):
            for service, kinds in watcher.node.get_service_names_and_types_by_node(name, space):
                package, _, last = kinds[0].split('/')
                self.kinds[service] = getattr(import_module(f'{package}.srv'), last)
        self.clients = {
            name: watcher.node.create_client(kind, name) for name, kind in self.kinds.items()
        }
        watcher.until(lambda: all(c.service_is_ready() for c in self.clients.values()))

    def call(self, name, request):
        """Return the answer; what is not answered within some seconds is asked for again."""
        futures = []
        start = time.monotonic()

        def answered():
            if time.monotonic() >= start + REPEAT * len(futures):
                futures.append(self.clients[name].call_async(request))
            return any(future.done() for future in futures)

        self.watcher.until(answered)
        return next(future.result() for future in futures if future.done())


def send_odd_messages(watcher):
    """Publish odd messages on every topic that the graph subscribes; return the topics."""
    from rclpy._rclpy_pybind11 import RCLError

    from marine_sim_ros.ros.topics import LOCKSTEP

    heard = {}
    for name, space in nodes_of(watcher):
        for topic, kinds in watcher.node.get_subscriber_names_and_types_by_node(name, space):
            heard[topic] = kinds[0]
    publishers = {
        topic: watcher.node.create_publisher(kind_of(kind), topic, LOCKSTEP)
        for topic, kind in heard.items()
    }
    watcher.spin(1.0)
    for turn in range(6):
        for topic, publisher in publishers.items():
            publisher.publish(odd(kind_of(heard[topic])(), turn))
        for publisher in publishers.values():
            for data in (b'', b'\0\1\0\0' + bytes([255]) * 7):
                with suppress(RCLError):  # DDS itself refuses some
                    publisher.publish(data)
        watcher.spin(0.1)
    for publisher in publishers.values():
        watcher.node.destroy_publisher(publisher)
    return heard


def call_every_service(services):
    """Call what the run itself offers with odd requests; return the names."""
    # rcl prints unescaped what it is asked there.
    assert not [name for name in services.kinds if name.endswith('get_type_description')]
    called = set()
    for name, kind in services.kinds.items():
        if name.rpartition('/')[2] in ENDING or not kind.__module__.startswith('std_srvs'):
            continue  # what describes and sets parameters is rclpy's own
        for turn in range(2):
            services.call(name, odd(kind.Request(), turn))
        called.add(name)
    return called


def set_every_parameter(watcher, services):
    """Try odd values of every type on every parameter; return how many were refused."""
    from rcl_interfaces.msg import Parameter, ParameterValue
    from rcl_interfaces.srv import ListParameters, SetParameters

    values = [
        ParameterValue(type=kind, **{field: value})
        for kind, field, some in (
            (1, 'bool_value', [True]),
            (2, 'integer_value', [2**63 - 1]),
            (3, 'double_value', FLOATS),
            (4, 'string_value', [*TEXTS, '- {kind: dead, thruster: none}', '[' * 300]),
            (8, 'double_array_value', [[math.nan] * 3, []]),
            (9, 'string_array_value', [['x'], []]),
        )
        for value in some
    ]
    refused = 0
    for name, space in nodes_of(watcher):
        node = f'{space}/{name}'
        found = services.call(f'{node}/list_parameters', ListParameters.Request())
        wanted = [Parameter(name=n, value=v) for n, v in product(found.result.names, values)]
        answer = services.call(f'{node}/set_parameters', SetParameters.Request(parameters=wanted))
        assert len(answer.results) == len(wanted)
        refused += sum(not result.successful for result in answer.results)
    return refused


def test_nothing_that_arrives_ends_a_run_or_moves_it_beyond_physics(processes, tmp_path):
    from nav_msgs.msg import Odometry
    from std_srvs.srv import SetBool

    # A file: the words about odd messages could fill a pipe that nobody reads.
    vehicle, log = vehicle_in(tmp_path), tmp_path / 'log'
    watcher = Watcher(NAMESPACE)
    try:
        watcher.listen('odom', Odometry)
        words = [w for n in (*ARGUMENTS, 'arm') for w in ('--set', f'{n}:=true')]
        with log.open('w') as file:
            run = processes.marine_sim(
                'run', vehicle, *words, '--controller', 'modern', '--composed', '--dt', STEP,
                stdout=file,
            )  # fmt: skip
        watcher.until(lambda: len(watcher.seen['odom']) > 5)
        services = Services(watcher)
        heard = send_odd_messages(watcher)
        # Names of xacro arguments on the command line rename nothing.
        assert {f'{NAMESPACE}/{n}' for n in ('cmd_vel', 'cmd_pose', 'joint_commands')} <= {*heard}
        assert set_every_parameter(watcher, services) > 100
        called = call_every_service(services)
        assert {f'{NAMESPACE}/{n}' for n in ('arm', 'pause', 'reset', 'step')} <= called
        services.call(f'{NAMESPACE}/pause', SetBool.Request(data=False))
        assert services.call(f'{NAMESPACE}/arm', SetBool.Request(data=True)).success
        count = len(watcher.seen['odom'])
        watcher.until(lambda: len(watcher.seen['odom']) > count + 50)
        # The watcher itself publishes odd ones.
        own = [m for m in watcher.seen['odom'] if m.header.frame_id == 'map']
        motion = np.array([[p.x, p.y, p.z] for m in own for p in [m.pose.pose.position]])
        assert len(motion) > 50
        assert np.isfinite(motion).all()
        assert np.abs(motion).max() < 100.0
        assert len(nodes_of(watcher)) > 6
        assert run.poll() is None
    finally:
        watcher.close()
    run.terminate()
    assert run.wait() == 0
    output = log.read_text(errors='replace')
    assert 'Traceback' not in output
    assert 'another run' not in output
    assert '\x1b' not in output


def seconds(watcher):
    """Return the simulation time of the newest clock message, s."""
    clock = watcher.seen['/clock'][-1].clock
    return clock.sec + clock.nanosec * 1e-9


@pytest.mark.parametrize('composed', [False, True])
def test_a_flood_of_foreign_states_neither_moves_nor_ends_a_run(processes, tmp_path, composed):
    """540 a second slow a run in separate processes; it says so, and goes on afterwards."""
    from nav_msgs.msg import Odometry
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from rosgraph_msgs.msg import Clock

    pilot, log = Watcher(), tmp_path / 'log'
    try:
        pilot.listen('odom', Odometry)
        pilot.listen('/clock', Clock)
        with log.open('w') as file:
            words = ['run', 'bluerov2', '--dt', STEP, *['--composed'] * composed]
            run = processes.marine_sim(*words, stdout=file)
        pilot.until(lambda: len(pilot.seen['odom']) > 50)
        kept = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        stranger = pilot.node.create_publisher(Odometry, 'odom', kept)  # as the run's nodes ask
        foreign, flood, sent, begun = Odometry(), 12.0, 0, time.monotonic()
        foreign.pose.pose.position.x, foreign.pose.pose.orientation.w = 500.0, 1.0
        count, before = len(pilot.seen['/clock']), seconds(pilot)
        while (elapsed := time.monotonic() - begun) < flood:
            while sent < 540 * elapsed:
                foreign.header.stamp = pilot.seen['/clock'][-1].clock
                stranger.publish(foreign)
                sent += 1
            pilot.executor.spin_once(timeout_sec=0.001)
        after = seconds(pilot)
        assert sent > 3000
        pilot.until(lambda: len(pilot.seen['/clock']) > count and seconds(pilot) > after + 3.0)
        run.send_signal(signal.SIGINT)
        assert run.wait() == 0
        own = [m.pose.pose.position for m in pilot.seen['odom'] if m.header.frame_id]
        assert max(abs(p.x) for p in own) < 1.0
    finally:
        pilot.close()
    said = log.read_text()
    assert '/bluerov2/odom is published by /bluerov2/watcher too; expected this run alone' in said
    assert composed or 'publish it; what is not of this run is ignored' in said
    assert after - before > flood / 2 or 'real time' in said
