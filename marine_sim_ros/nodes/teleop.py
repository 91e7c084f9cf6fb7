# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Teleop: a gamepad (sensor_msgs/Joy) or the keyboard drives a vehicle.

Subscribes: /joy; odom; joint_states where the vehicle has an arm. Publishes, while the sticks or
keys are in use, at ``rate`` of wall time, one of: thrusters/pwm (``output: pwm``, no controller
needed); cmd_vel (``velocity``: Twist in the body frame); cmd_pose (``pose``: PoseStamped in map,
on change and twice a second). While the sticks move the arm: joint_commands (JointState,
velocity).
Calls: arm, auto_depth, auto_heading, station_keeping (SetBool, of the controller); attach, detach
(Trigger, of the manipulator).
Parameters: the common ones, and those below. The keyboard needs a terminal: ``marine_sim teleop``.
Failure: no Joy message for ``joy_timeout`` (a gamepad that was pulled out) stops: neutral pulse
widths, a zero velocity or the present pose, once, and then nothing until the next input.
Pulse widths are not sent while a controller sends some. A warning says that the commands have no
subscriber, or that no controller answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nav_msgs.msg import Odometry
from sensor_msgs.msg import Joy

from marine_sim_ros.control.gamepad import StickMemory, load_gamepad, read_sticks
from marine_sim_ros.control.pilot import (
    OUTPUT_MODES,
    SWITCHES,
    Pilot,
    follow_sticks,
    perform_function,
    press_axis_key,
    stop_vehicle,
)
from marine_sim_ros.core.state import NANOSECONDS, State, stamp_ns
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.message_fields import state_from
from marine_sim_ros.ros.operators.commands import (
    STICK_PARAMETERS,
    ArmOperator,
    CommandPublisher,
    Switches,
    full_stick_velocity,
)

__all__ = ['TeleopNode', 'main']

PARAMETERS = (
    NodeParameter('output', 'pwm', 'output of the sticks at the start', choices=OUTPUT_MODES),
    NodeParameter('rate', 20.0, 'commands per second of wall time', 1.0, 200.0, unit='Hz'),
    NodeParameter('gain', 1.0, 'fraction of full stick at the start', 0.0, 1.0),
    *STICK_PARAMETERS,
    option_parameter('gamepad', help='layout of the gamepad: shipped name or YAML file'),
    NodeParameter(
        'joy_timeout', 0.5, 'wall time after which a silent gamepad is lost', 0.05, 60.0, unit='s'
    ),
)


class TeleopNode(VehicleNode):
    """Node that steers by a gamepad, and by the terminal of ``marine_sim teleop``."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``teleop``."""
        super().__init__('teleop', PARAMETERS, **options)
        self.gamepad = load_gamepad(self.values['gamepad'])
        self.top = full_stick_velocity(self)
        self.arm = ArmOperator(self)
        self.pilot = Pilot(self.values['output'], self.values['gain'], pairs=self.arm.pairs)
        self.command_publisher = CommandPublisher(self, self.top)
        names = dict.fromkeys(name for name, _ in SWITCHES.values())
        self.switches = Switches(self, list(names), 'controller')
        self.state: State | None = None
        self._stamp = 0
        self._stick_memory = StickMemory()
        self._joy_at: int | None = None
        self.keyboard = self.reads_gamepad = False
        self.notice: tuple[str, int] = ('', 0)
        self.trouble = ''
        self.listen(topics.JOY, self._on_joy)
        self.listen(topics.ODOM, self._on_odom)
        if self.arm.pairs:
            self.listen(topics.JOINT_STATES, self.arm.update_gripper)
        self._period = 1.0 / self.values['rate']
        self.create_timer(self._period, self._tick, clock=self.wall_clock)

    @property
    def joy_alive(self) -> bool:
        """Return whether a gamepad sends."""
        return self._joy_at is not None

    def warn_throttled(self, text: str, *, error: bool = False) -> None:
        """Log it as every node does, and keep it for the screen."""
        super().warn_throttled(text, error=error)
        self.notice = (text, self.wall_clock.now().nanoseconds)

    def press_axis(self, axis: str, sense: float) -> None:
        """Do what the key of an axis does."""
        self.pilot = press_axis_key(self.pilot, axis, sense, self.state)

    def perform(self, function: str) -> None:
        """Do what the key or the button of a function does."""
        if function in SWITCHES:
            self.switches.ask(*SWITCHES[function])
            return
        self.arm.perform(function)
        if function in ('stop', 'output'):
            self._stick_memory = replace(self._stick_memory, centred=frozenset())
            self.halt(function == 'output')
        self.pilot = perform_function(self.pilot, function, self.state)

    def halt(self, send: bool = True) -> None:
        """Centre the sticks, and publish the command that follows."""
        self.pilot = stop_vehicle(self.pilot, self.state)
        self.arm.move(0, ())
        if send:
            self.command_publisher.send(self.pilot, self._stamp)

    def close(self) -> None:
        """Stop the vehicle if something steers it."""
        if self.keyboard or self.joy_alive:
            self.halt()

    def _on_odom(self, message: Odometry) -> None:
        state = state_from(message)
        if state is None:
            self.warn_throttled('odom: not finite; ignored')
            return
        self.state, self._stamp = state, stamp_ns(message.header.stamp)

    def _on_joy(self, message: Joy) -> None:
        self._joy_at = self.wall_clock.now().nanoseconds
        efforts, functions, self._stick_memory = read_sticks(
            self.gamepad,
            self._stick_memory,
            message.axes,
            message.buttons,
            self.values['dead_band'],
        )
        self.pilot = replace(self.pilot, sticks=tuple(efforts.tolist()))
        for function in functions:
            self.perform(function)

    def _tick(self) -> None:
        self.switches.check()
        if self._joy_at is not None:
            age = (self.wall_clock.now().nanoseconds - self._joy_at) / NANOSECONDS
            if age > self.values['joy_timeout']:
                self._joy_at, self._stick_memory = None, StickMemory()
                self.warn_throttled('joy: silent; stopped')
                self.halt()
        if self.keyboard or self.joy_alive:
            self.pilot = follow_sticks(self.pilot, self.top, self._period, self.state)
            self.command_publisher.send(self.pilot, self._stamp)
            self.arm.move(self.pilot.pair, self.pilot.joint_efforts())
            self.trouble = self.command_publisher.trouble(self.pilot.output)
            if self.trouble:
                self.trouble += '; key m: next output' if self.keyboard else ''
                super().warn_throttled(self.trouble)


def main() -> None:
    """Run the executable."""
    run(TeleopNode)


if __name__ == '__main__':
    main()
