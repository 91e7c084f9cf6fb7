# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drive a vehicle with the keyboard, and a gamepad if there is one, from a terminal."""

from __future__ import annotations

import argparse
import math
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.gamepad import gamepad_names, load_gamepad
from marine_sim_ros.control.pilot import (
    AXIS_KEYS,
    FUNCTION_KEYS,
    KEY_HELP,
    OUTPUT_MODES,
    QUIT_KEY,
    remaining_motion,
    split_keys,
    target_at_vehicle,
)
from marine_sim_ros.core.errors import MissingPackageError, ParameterError
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.ros.launching.installation import has_joy
from marine_sim_ros.tools.command_line import flush_or_discard, print_warnings
from marine_sim_ros.tools.options import add_option

__all__ = ['add_arguments', 'execute', 'screen', 'target_table']

PERIOD = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
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
                self._node.press_axis(*AXIS_KEYS[key])
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
    from marine_sim_ros.ros.base.internals import executor, log_arguments
    from marine_sim_ros.ros.base.process import Shutdown

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


# The screen: fits into 80 x 24.

BAR = 8
WIDTH = 80
THRUSTERS = 8
NOTICE = 5.0
"""s for which a notice is shown."""


def _bar(value: float) -> Text:
    """Return a bar from the middle for −1 to 1."""
    filled = min(BAR, round(abs(value) * BAR))
    bar, rest = '█' * filled, '·' * (BAR - filled)
    empty = '·' * BAR
    if value < 0:
        return Text.assemble((rest, 'dim'), (bar, 'yellow'), '│', (empty, 'dim'))
    return Text.assemble((empty, 'dim'), '│', (bar, 'cyan'), (rest, 'dim'))


def _format_signed(value: float) -> str:
    return f'{round(float(value), 2) + 0.0:+.2f}'  # and no -0.00


def _heading(node: Any, yaw: float) -> str:
    return f'{round(node.environment.origin.compass(yaw)) % 360:03d}°'


def _grid(columns: int) -> Table:
    table = Table.grid(padding=(0, 1))
    for _ in range(columns):
        table.add_column(no_wrap=True)
    return table


def _head(node: Any) -> RenderableType:
    state, pilot = node.state, node.pilot
    place = 'no odom yet'
    if state is not None:
        speed = math.sqrt(sum(float(x) ** 2 for x in state.velocity[:3]))
        at = target_at_vehicle(state)
        heading = _heading(node, at.yaw)
        place = f'depth {at.depth:.2f} m   heading {heading}   speed {speed:.2f} m/s'
    heard = has_joy() or node.reads_gamepad
    remedy = 'try --gamepad' if find_spec('pygame') else 'pip install pygame-ce'
    silent = f'{node.gamepad.name} (silent)' if heard else f'none: {remedy}'
    gamepad = node.gamepad.name if node.joy_alive else silent
    first = Text.assemble(
        ('output ', 'bold'),
        (f'{pilot.output:<8}', 'bold reverse'),
        ('   gain ', 'bold'),
        f'{pilot.gain:.1f}',
        ('   gamepad ', 'bold'),
        gamepad,
    )
    return Group(first, Text(place, style='' if state is not None else 'yellow'))


def _efforts(node: Any) -> Table:
    table = _grid(3)
    for axis, value in zip(BODY_AXES, node.pilot.efforts(), strict=True):
        table.add_row(axis, _bar(float(value)), _format_signed(value))
    return table


def _thrusters(node: Any) -> Table:
    table = _grid(3)
    names = node.vehicle.thrusters.names
    for name, pwm in list(zip(names, node.command_publisher.pwm, strict=True))[:THRUSTERS]:
        table.add_row(Text(name[:12]), _bar((float(pwm) - 1500) / 400), f'{pwm:.0f} µs')
    if len(names) > THRUSTERS:
        table.add_row(f'and {len(names) - THRUSTERS} more')
    return table


def _velocities(node: Any) -> Table:
    table = _grid(3)
    has = [math.nan] * 6 if node.state is None else node.state.velocity
    rows = zip(node.pilot.efforts() * node.top, has, strict=True)
    for i, (setpoint, found) in enumerate(rows):
        text = '' if math.isnan(found) else f'is {_format_signed(found)}'
        table.add_row(f'set-point {_format_signed(setpoint)}', text, 'm/s' if i < 3 else 'rad/s')
    return table


def target_table(node: Any) -> Table:
    """Return the target of the pose output, and the way to it."""
    table = _grid(2)
    target = node.pilot.target
    if target is None:
        table.add_row('target', 'waiting for odom')
        return table
    east, north, _ = node.environment.origin.enu(np.array(target.position)).tolist()
    distance, turn = remaining_motion(target, node.state)
    side = 'port' if turn > 0 else 'starboard'
    table.add_row('target', f'east {east:.2f} m, north {north:.2f} m')
    table.add_row('', f'depth {target.depth:.2f} m')
    table.add_row('', f'heading {_heading(node, target.yaw)}')
    table.add_row('to go', Text(f'{distance:.2f} m', style='bold'))
    table.add_row('', f'{abs(math.degrees(turn)):.0f}° to {side}')
    table.add_row('', Text('a key moves it 0.25 m or 10°', style='dim'))
    return table


def _switches(node: Any) -> Text:
    line, unknown = Text(), []
    for name, state in node.switches.states.items():
        label = name.replace('_', ' ')
        if name in node.switches.unanswered:
            word, style = '...', 'yellow'
        elif state is None:
            unknown.append(label)
            continue
        else:
            word, style = ('on', 'bold green') if state else ('off', '')
        line.append_text(Text.assemble((f'{label} ', 'bold'), (word, style), '   '))
    if unknown:
        line.append(f'not reported: {", ".join(unknown)}', 'dim')
    return line


def _arm(node: Any) -> Text:
    """Return the lines of the arm; none without an arm."""
    if not node.arm.pairs:
        return Text('')
    first = 2 * node.pilot.pair - 2
    names = node.vehicle.manipulator.names[first : first + 2] if node.pilot.pair else ()
    grip = 'holds' if node.arm.holds else 'empty'
    parts = ('joints ', 'bold'), ', '.join(names) or 'off', ('   gripper ', 'bold'), grip
    return Text.assemble(*parts, no_wrap=True, overflow='ellipsis')


def _keys() -> Table:
    half = (len(KEY_HELP) + 1) // 2
    table = _grid(4)
    for left, right in zip(KEY_HELP[:half], (*KEY_HELP[half:], ('', ''))[:half], strict=True):
        table.add_row(
            Text(f'{left[0]:<5}', style='bold'),
            f'{left[1]:<28}',
            Text(f'{right[0]:<3}', style='bold'),
            right[1],
        )
    return table


def screen(node: Any) -> Panel:
    """Return the pilot's screen: output, position, efforts, commands, switches, keys."""
    right = {'pwm': _thrusters, 'velocity': _velocities, 'pose': target_table}[node.pilot.output]
    middle = Table.grid(padding=(0, 4))
    middle.add_row(_efforts(node), right(node))
    text, since = node.notice
    age = (node.wall_clock.now().nanoseconds - since) / NANOSECONDS
    text = (text if age < NOTICE else '') or node.trouble
    notice = Text(text, 'yellow', no_wrap=True, overflow='ellipsis')
    parts = Group(_head(node), Text(''), middle, _arm(node), _switches(node), notice, _keys())
    title = f'{node.vehicle.name}  {node.get_namespace()}'
    return Panel(parts, title=title, width=WIDTH)
