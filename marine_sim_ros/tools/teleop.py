# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drive a vehicle with the keyboard from a terminal."""

from __future__ import annotations

import argparse
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.control.keys import HELP, Pilot, press
from marine_sim_ros.errors import ParameterError

__all__ = ['add_arguments', 'execute', 'screen']

PERIOD = 0.05
BAR = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument('vehicle', metavar='VEHICLE', nargs='?', default='bluerov2')
    parser.add_argument('--namespace', default='', help="default: the vehicle's name")


def _bar(value: float) -> Text:
    """Return a bar from the middle for −1 to 1."""
    filled = round(abs(value) * BAR)
    left = ' ' * (BAR - filled) + '█' * filled if value < 0 else ' ' * BAR
    right = '█' * filled + ' ' * (BAR - filled) if value > 0 else ' ' * BAR
    return Text(f'{left}│{right}', style='cyan' if value >= 0 else 'yellow')


def screen(node: Any, pilot: Pilot) -> Panel:
    """Return what the pilot sees: depth, efforts, PWM, keys."""
    depth = 'no odom yet' if node.depth is None else f'{node.depth:7.2f} m'
    head = Text.assemble(('depth ', 'bold'), depth, ('    gain ', 'bold'), f'{pilot.gain:.1f}')
    efforts = Table.grid(padding=(0, 2))
    for axis, value in zip(AXES, pilot.command(), strict=True):
        efforts.add_row(axis, _bar(float(value)), f'{value:+.2f}')
    thrusters = Table.grid(padding=(0, 2))
    for name, pwm in zip(node.vehicle.thrusters.names, node.pwm, strict=True):
        thrusters.add_row(name, _bar((float(pwm) - 1500) / 400), f'{pwm:.0f} µs')
    keys = Table.grid(padding=(0, 2))
    for key, text in HELP:
        keys.add_row(Text(key, style='bold'), text)
    parts = Group(head, Text(''), efforts, Text(''), thrusters, Text(''), keys)
    return Panel(parts, title=f'{node.vehicle.name}  {node.get_namespace()}', expand=False)


@contextmanager
def _raw_keys() -> Iterator[int]:
    """Give single keys from the terminal, and put it back as it was."""
    descriptor = sys.stdin.fileno()
    saved = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield descriptor
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, saved)


def execute(options: argparse.Namespace) -> int:
    """Steer until x or ctrl-C; the thrusters are stopped at the end."""
    if not sys.stdin.isatty():
        raise ParameterError('teleop: standard input is no terminal; start it in one')
    from marine_sim_ros.model.library import load_vehicle

    vehicle = load_vehicle(options.vehicle)
    import rclpy
    from rclpy.parameter import Parameter
    from rclpy.signals import SignalHandlerOptions

    from marine_sim_ros.nodes.teleop import TeleopNode
    from marine_sim_ros.ros.process import Shutdown, executor

    shutdown = Shutdown()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    overrides = [Parameter('vehicle', value=options.vehicle)]
    namespace = '/' + (options.namespace or vehicle.name).strip('/')
    node = TeleopNode(parameter_overrides=overrides, namespace=namespace)
    engine = executor()
    engine.add_node(node)
    pilot = Pilot()
    with _raw_keys() as keyboard, Live(screen(node, pilot), auto_refresh=False) as live:
        while not shutdown.asked:
            if select.select([keyboard], [], [], PERIOD)[0]:
                key = os.read(keyboard, 1).decode(errors='replace').lower()
                if key in ('x', ''):
                    break
                pilot = press(pilot, key)
            for _ in range(20):
                engine.spin_once(timeout_sec=0)
            node.steer(pilot.command())
            live.update(screen(node, pilot), refresh=True)
        node.steer(Pilot().command())
    rclpy.try_shutdown()
    return 0
