# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drive a vehicle with the keyboard, and a gamepad if there is one, from a terminal."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.live import Live

from marine_sim_ros.control.gamepad import gamepad_names, load_gamepad
from marine_sim_ros.control.pilot import (
    AXIS_KEYS,
    FUNCTION_KEYS,
    OUTPUT_MODES,
    QUIT_KEY,
    split_keys,
)
from marine_sim_ros.core.errors import MissingPackageError, ParameterError
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.tools.options import add_option
from marine_sim_ros.tools.reporting import flush_or_discard, print_warnings
from marine_sim_ros.tools.teleop_screen import screen

__all__ = ['add_arguments', 'execute']

PERIOD = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument(
        'vehicle',
        metavar='VEHICLE',
        nargs='?',
        default='bluerov2',
        help='vehicle that runs: shipped name, or URDF or xacro file (default bluerov2)',
    )
    parser.add_argument(
        '--namespace', default='', help="namespace of the vehicle (default: the vehicle's name)"
    )
    add_option(parser, 'vehicle_arguments')
    add_option(parser, 'environment')
    parser.add_argument(
        '--output',
        default='pwm',
        choices=OUTPUT_MODES,
        help='pwm: the thrusters (default); velocity, pose: a controller',
    )
    parser.add_argument(
        '--gamepad',
        default='',
        metavar='G',
        help=f'{", ".join(gamepad_names())}, or a YAML file (default xbox); read by a node of the '
        'ROS package joy, or without that package by pygame (extra gamepad)',
    )


@contextmanager
def _raw_keys() -> Iterator[int]:
    """Give single keys from the terminal, and put it back as it was."""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    saved = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield descriptor
    finally:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(descriptor, termios.TCSADRAIN, saved)


class _Keyboard:
    """Hands the keys of a terminal to a node."""

    def __init__(self, descriptor: int, node: Any) -> None:
        self._descriptor = descriptor
        self._node = node
        self._rest = ''

    def serve(self) -> bool:
        """Do what was typed; return False to quit."""
        if not select.select([self._descriptor], [], [], 0)[0]:
            self._rest = ''  # it was the escape key, and not the start of another
            return True
        data = os.read(self._descriptor, 256)
        keys, self._rest = split_keys(self._rest + data.decode(errors='replace'))
        for key in keys:
            if key == QUIT_KEY:
                return False
            if key in AXIS_KEYS:
                self._node.nudge(*AXIS_KEYS[key])
            elif key in FUNCTION_KEYS:
                self._node.perform(FUNCTION_KEYS[key])
        return bool(data)  # nothing: the terminal is gone


def _read_gamepad(node: Any, vehicle: str) -> bool:
    """Read the gamepad where no node of joy can; return whether that works."""
    from marine_sim_ros.ros.launching.installation import has_joy, no_joy
    from marine_sim_ros.ros.operators.gamepad_reader import JoyPublisher

    if has_joy():
        return False
    try:
        JoyPublisher(node, node.gamepad.driver)
    except MissingPackageError:  # joy may run on another machine
        print_warnings([f'--gamepad: {no_joy()} (run {vehicle} --console)'])
        return False
    return True


def _serve(node: Any, engine: Any, keyboard: _Keyboard, shutdown: Any) -> None:
    with Live(screen(node), auto_refresh=False) as live:
        while not shutdown.requested and keyboard.serve():
            end = time.monotonic() + PERIOD
            while (left := end - time.monotonic()) > 0:
                engine.spin_once(timeout_sec=left)
            live.update(screen(node), refresh=True)


def execute(options: argparse.Namespace) -> int:
    """Steer until x, ctrl-C or the end of the terminal; the vehicle is stopped at the end."""
    require_ros('teleop')
    if not sys.stdin.isatty():
        raise ParameterError('teleop: standard input is no terminal; start it in one')
    gamepad = options.gamepad or 'xbox'
    load_gamepad(gamepad)
    from marine_sim_ros.model.library import load_vehicle, parse_xacro_arguments

    arguments = parse_xacro_arguments(options.vehicle_arguments)
    vehicle = load_vehicle(options.vehicle, **arguments)
    import rclpy
    from rclpy.parameter import Parameter
    from rclpy.signals import SignalHandlerOptions

    from marine_sim_ros.nodes.teleop import TeleopNode
    from marine_sim_ros.ros.base.internals import log_arguments
    from marine_sim_ros.ros.base.process import Shutdown, executor

    shutdown = Shutdown()
    signal.signal(signal.SIGHUP, lambda *_: setattr(shutdown, 'requested', True))
    # The screen shows what the log would say in the middle of it.
    words = ['--ros-args', '--disable-stdout-logs', *log_arguments()]
    rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
    overrides = [
        Parameter('vehicle', value=options.vehicle),
        Parameter('output', value=options.output),
        Parameter('gamepad', value=gamepad),
        Parameter('gain', value=0.5),
        Parameter('environment', value=options.environment),
    ]
    if arguments:
        given = [f'{name}:={value}' for name, value in arguments.items()]
        overrides.append(Parameter('vehicle_arguments', value=given))
    namespace = '/' + (options.namespace or vehicle.name).strip('/')
    node = TeleopNode(parameter_overrides=overrides, namespace=namespace)
    node.keyboard = True
    if options.gamepad:
        node.reads_gamepad = _read_gamepad(node, options.vehicle)
    engine = executor()
    engine.add_node(node)
    try:
        # A terminal that is closed fails to be read or written.
        with suppress(OSError), _raw_keys() as descriptor:
            _serve(node, engine, _Keyboard(descriptor, node), shutdown)
    finally:
        node.close()
        engine.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
    flush_or_discard()
    return 0
