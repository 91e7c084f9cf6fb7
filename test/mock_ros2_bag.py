# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A stand-in for ``ros2 bag record``, with its options and habits, where that is not installed.

It looks for topics ten times a second, subscribes as the overrides say, and writes what comes at
the time of receipt. ``MOCK_LOSES=TOPIC`` makes it lose every tenth message of a topic.
"""

import argparse
import os
import signal
import stat
import sys
import time
from importlib import import_module
from pathlib import Path

import yaml


def install(folder):
    """Make a command ``ros2`` and a package ``ros2bag`` in a folder; return the environment."""
    command = folder / 'bin' / 'ros2'
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    (folder / 'ros2bag').mkdir()
    (folder / 'ros2bag' / '__init__.py').write_text('')
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get('PYTHONPATH')]))
    return {'PATH': f'{command.parent}{os.pathsep}{os.environ["PATH"]}', 'PYTHONPATH': path}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('verb', nargs=2)
    parser.add_argument('--storage', choices=['mcap'])
    parser.add_argument('--output', type=Path)
    parser.add_argument('--node-name')
    parser.add_argument('--qos-profile-overrides-path', type=Path)
    parser.add_argument('--include-unpublished-topics', action='store_true')
    parser.add_argument('--disable-keyboard-controls', action='store_true')
    parser.add_argument('--topics', nargs='+')
    return parser.parse_args()


def profile(settings):
    from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

    return QoSProfile(
        depth=settings['depth'],
        history=HistoryPolicy[settings['history'].upper()],
        reliability=ReliabilityPolicy[settings['reliability'].upper()],
        durability=DurabilityPolicy[settings['durability'].upper()],
    )


class Recorder:
    def __init__(self, options):
        import rclpy

        from marine_sim_ros.bags.storage import storage

        self.node = rclpy.create_node(options.node_name)
        self.wanted = set(options.topics)
        self.overrides = yaml.safe_load(options.qos_profile_overrides_path.read_text())
        self.writer = storage('the stand-in').writer(options.output)
        self.loses = os.environ.get('MOCK_LOSES')
        self.count = 0

    def look(self):
        from marine_sim_ros.bags.storage import QoS

        for name, types in self.node.get_topic_names_and_types():
            if name not in self.wanted:
                continue
            self.wanted.discard(name)
            package, _, kind = types[0].split('/')
            settings = self.overrides[name]
            latched = settings['durability'] == 'transient_local'
            self.writer.add(name, types[0], QoS(10, latched))
            message_class = getattr(import_module(f'{package}.msg'), kind)
            self.node.create_subscription(
                message_class,
                name,
                lambda data, n=name: self.write(n, data),
                profile(settings),
                raw=True,
            )

    def write(self, name, data):
        if name == self.loses:
            self.count += 1
            if self.count % 10 == 0:
                return
        self.writer.write(name, time.time_ns(), data)


def main():
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    ended = []
    signal.signal(signal.SIGINT, lambda *_: ended.append(True))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    recorder = Recorder(arguments())
    looked = 0.0
    while not ended:
        if time.monotonic() - looked > 0.1:
            looked = time.monotonic()
            recorder.look()
        rclpy.spin_once(recorder.node, timeout_sec=0.05)
    recorder.writer.close()
    os._exit(0)


if __name__ == '__main__':
    main()
