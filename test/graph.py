# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What tests of real nodes share: starting them, listening, and reading what they recorded."""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import contextmanager, nullcontext

import numpy as np
from conftest import marine_sim
from processor import PATIENCE

from marine_sim_ros.ros.launching.installation import dds_profile
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions


class NotInTime(AssertionError):
    """Something that was waited for has not come."""


def manifest(directory):
    return json.loads((directory / 'manifest.json').read_text())


def recorded(directory, namespace=''):
    """Return the messages of a recording by topic (below the namespace) and stamp.

    Of a fleet, those of the vehicle with the namespace.
    """
    from rosbags.highlevel import AnyReader

    result = defaultdict(dict)
    with AnyReader([directory / 'bag']) as reader:
        own = [c for c in reader.connections if c.topic.startswith(f'/{namespace}')]
        for connection, stamp, data in reader.messages(own):
            message = reader.deserialize(data, connection.msgtype)
            result[connection.topic.split('/', 2)[-1]][stamp] = message
    return result


def stamp_of(message):
    """Return the stamp in a message's header, ns."""
    stamp = message.header.stamp
    return stamp.sec * 10**9 + stamp.nanosec


def by_stamp(messages):
    """Return messages by the stamp in their header, ns."""
    return {stamp_of(message): message for message in messages}


def numbers(message):
    """Return the six numbers of a WrenchStamped."""
    f, t = message.wrench.force, message.wrench.torque
    return np.array([f.x, f.y, f.z, t.x, t.y, t.z])


def simulated(*arguments):
    """Return the hash of the trajectory that ``marine_sim simulate`` computes."""
    _, told = marine_sim('simulate', *arguments)
    return told.split('trajectory_sha256 ')[1].split()[0]


STEP = 0.02
"""s; four times the default step, so a quarter of the messages, where that is not the subject."""
ONE_PROCESS = ('--composed', '--dt', STEP)
"""Options of runs whose subject is neither the step nor processes."""

WAYS = {
    'simulate': ('simulate',),
    'separate': ('run', '--real-time-factor', 0),
    'composed': ('run', '--real-time-factor', 0, '--composed'),
}


def ticks(seconds):
    """Return how many ticks a run in steps of STEP has, the first one among them."""
    return round(seconds / STEP) + 1


def run_everywhere(
    processes, folder, *arguments, ways=tuple(WAYS), separate=(), busy=False, dt=STEP
):
    """Record a run in `folder`/WAY for each way; all have one hash and one exit code.

    Args:
        processes: the fixture.
        folder: where the recordings go.
        *arguments: of all.
        ways: names of ``WAYS``.
        separate: options of separate processes alone.
        busy: whether separate processes have to wait for their turn.
        dt: step, s.

    Returns:
        the outputs by way.
    """
    outputs, ends = {}, {}
    for way in ways:
        verb, *options = WAYS[way]
        more = separate if way == 'separate' else ()
        with busy_machine() if busy and way == 'separate' else nullcontext():
            process = processes.marine_sim(
                verb, *arguments, '--dt', dt, *options, *more, '--record', folder / way
            )
            outputs[way], _ = process.communicate()
        # 1 is a scenario whose expectations do not hold, as when it is cut short.
        assert process.returncode in (0, 1), outputs[way]
        ends[way] = process.returncode, manifest(folder / way)['trajectory_sha256']
    assert len(set(ends.values())) == 1, ends
    return outputs


def servos_move_everywhere(processes, folder, kind, wrench, *arguments):
    """Return the angles (n, m) of servos in a run in which all ways have them and a wrench alike.

    Args:
        processes: the fixture.
        folder: where the recordings go.
        kind: ``fins`` or ``azimuths``.
        wrench: name of the wrench.
        *arguments: of the run.
    """
    run_everywhere(processes, folder, *arguments)

    def series(way):
        topics = recorded(folder / way)
        angles = [list(m.position) for _, m in sorted(topics[f'{kind}/state'].items())]
        return angles, [numbers(m) for _, m in sorted(topics[f'wrench/{wrench}'].items())]

    wanted = series('simulate')
    for way in ('separate', 'composed'):
        for found, expected in zip(series(way), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
    return np.array(wanted[0])


@contextmanager
def busy_machine():
    """Keep every core busy."""
    command = [sys.executable, '-c', 'while True: pass']
    others = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def start_graph(processes, **options):
    """Start every node of a run, in steps of STEP if no other is given.

    Returns:
        the processes and the specifications by name.
    """
    specs = {s.name: s for s in node_specs(RunOptions(**{'dt': STEP, **options}))}
    return {name: processes.node(spec) for name, spec in specs.items()}, specs


class Watcher:
    """A node of the test that listens and speaks."""

    def __init__(self, namespace='/bluerov2'):
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.signals import SignalHandlerOptions

        os.environ.update(dds_profile())  # or a short run may have ended before it is heard
        self.context = rclpy.Context()
        rclpy.init(context=self.context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node('watcher', namespace=namespace, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.seen = {}

    def listen(self, topic, kind, depth=200):
        self.seen[topic] = []
        self.node.create_subscription(kind, topic, self.seen[topic].append, depth)

    def until(self, condition, timeout=PATIENCE):
        """Wait for a condition; one on a message that has not come does not hold yet."""
        deadline = time.monotonic() + timeout
        while not self.holds(condition):
            if time.monotonic() > deadline:
                raise NotInTime(self.account())
            self.executor.spin_once(timeout_sec=0.05)

    @staticmethod
    def holds(condition):
        try:
            return condition()
        except IndexError:  # the last one of none
            return False

    def account(self):
        counts = {topic: len(messages) for topic, messages in self.seen.items()}
        told = [s.message for a in self.seen.get('/diagnostics', [])[-8:] for s in a.status]
        return f'seen {counts}, last told {told}'

    def spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)

    def until_silent(self, topic, seconds=0.5):
        """Hear all that is on its way: until a topic has had nothing new for so long."""
        count = -1
        while count < (count := len(self.seen[topic])):
            self.spin(seconds)

    def close(self):
        self.node.destroy_node()
        self.context.try_shutdown()


def statuses(watcher, name):
    """Return what a node has told of its health."""
    return [
        status
        for array in watcher.seen['/diagnostics']
        for status in array.status
        if status.name.endswith('/' + name)
    ]
