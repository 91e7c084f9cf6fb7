# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controller: commands in, one PWM per odom out; closes the loop over set-points.

Subscribes: odom; cmd_pose (PoseStamped in map; a NaN leaves that axis free); cmd_path (Path of
waypoints); cmd_vel (Twist, body frame); cmd_wrench (Wrench about base_link, body frame);
cmd_setpoints (JointState: some of the twelve quantities). The latest command holds.
Publishes, one per odom: thrusters/pwm (start the thrusters with ``pwm_source: controller``);
the command topics of steered actuators (start their nodes with ``servo_source: controller``);
controller/setpoints (JointState: twelve names, targets in ``position``, NaN where free);
controller/wrench (commanded wrench, about the centre of mass).
Services (SetBool): arm, auto_depth, auto_heading, station_keeping.
Parameters: the common ones (of ``faults``, dead thrusters are left out), and those below.
Failure: disarmed, the thrusters are neutral; armed and without a command, or with one that has run
out (half a second), it holds its pose; without odom nothing is published. Unusable commands are
ignored.
"""

from __future__ import annotations

import time as wall
from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.control.allocator import unreachable_axes
from marine_sim_ros.control.commander import Commander
from marine_sim_ros.control.controllability import controllability
from marine_sim_ros.control.controller_model import load_controller
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.codecs import state_of
from marine_sim_ros.ros.control import START_PARAMETERS, ControllerOutputs, Operator, loop_factory
from marine_sim_ros.sim.player import ScriptedPilot, failed_thrusters, unknown_thrusters
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['main']

ODOM_TIMEOUT, STARTUP_TIMEOUT = 1.0, 10.0
"""s of wall time without odom until a warning: in the run, and in its first 10 s."""
WATCH_PERIOD = 0.5
"""s of wall time between two checks for odom."""
PARAMETERS = (
    option_parameter('controller', default='modern', empty=''),
    NodeParameter(
        'allocation',
        'bounded',
        'method that turns a wrench into thrust',
        choices=('bounded', 'pseudo_inverse'),
    ),
    *START_PARAMETERS,
    NodeParameter(
        'failed_thrusters', [''], 'names of thrusters to leave out', empty='none', live=True
    ),
    option_parameter('scenario', empty='set-points come from an operator'),
)


class ControllerNode(SuiteNode):
    """Node of the controller."""

    def __init__(self, *, step: float | None = None, **options: Any) -> None:
        """Create it as ``controller``.

        Args:
            step: s; step of a compiled graph, for a compiled controller; None: not compiled.
        """
        super().__init__('controller', PARAMETERS, **options)
        loops = loop_factory(self.values['allocation'], step)
        self._memory: tuple[float, Any] | None = None
        uncontrollable = unreachable_axes(self.vehicle)
        authority = controllability(self.vehicle.thrusters, self.vehicle.inertia.center_of_mass)
        self.health |= {'rank': authority.rank, 'unreachable': ', '.join(uncontrollable) or 'none'}
        if uncontrollable:
            self.get_logger().info(
                f'{self.vehicle.name}: the thrusters cannot command {", ".join(uncontrollable)}'
            )
        level = [axis for axis in ('roll', 'pitch') if axis not in authority.unreachable]
        self.commander = Commander(
            armed=self.values['armed'], level=level, holds=self.values['holds']
        )
        self._script = None
        if self.values['scenario']:
            scenario = load_scenario(self.values['scenario']).located(self.environment)
            for text in scenario.warnings:
                self.get_logger().warning(text)
            self._script = ScriptedPilot(scenario, self.vehicle, loops=loops)
        else:
            self._loop = loops(self.vehicle, load_controller(self.values['controller']))
        # While other nodes and the browser's page start, a healthy run may pause.
        self._started_at = self._odom_at = wall.monotonic()
        self._silent = False
        self.time = 0.0
        self._outputs = ControllerOutputs(self)
        self._operator = Operator(self, self.commander, lambda: self.time)
        self.listen_numbers(topics.ODOM, self._on_odom)
        self.take_time_from_ticks()
        self.create_timer(WATCH_PERIOD, self._watch, clock=self.wall_clock)

    def refuse(self, name: str, value: Any) -> str:
        """Refuse thrusters that do not exist."""
        return unknown_thrusters(self.vehicle, value) if name == 'failed_thrusters' else ''

    def _on_odom(self, stamp: int, numbers: Sequence[float]) -> None:
        self._odom_at = wall.monotonic()
        self.newest = stamp
        state = state_of(numbers)
        count = len(self.vehicle.thrusters)
        if state is None:
            self.warn_throttled('odom: not finite; thrusters neutral')
            self._outputs.publish(
                stamp, np.full(count, PWM_NEUTRAL), np.full(12, np.nan), np.zeros(6)
            )
            return
        if self._script is not None:
            time, self._script.faults = stamp / NANOSECONDS, self.faults
            pwm, setpoints = self._script.command(time, state), self._script.setpoints(time)
            self._outputs.actuators |= self._script.actuators
            self._outputs.publish(stamp, pwm, setpoints, self._script.wrench)
            return
        self._outputs.publish(stamp, *self._command(stamp / NANOSECONDS, state))

    def _command(self, time: float, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return pulse widths, set-points and the wrench of a time (s)."""
        if time < self.time:  # the run was reset
            self._memory = None
            self.commander.forget()
        self.time = time
        commander = self.commander
        commander.free = tuple(axis for axis in self.values['free_axes'] if axis)
        setpoints = commander.active_setpoints(time, state)
        names = self.vehicle.thrusters.names
        failed = failed_thrusters(self.faults, self.vehicle, time, self.values['failed_thrusters'])
        self._note_mode()
        if not commander.armed:
            self._memory = None
            self._outputs.rest_actuators()
            return np.full(len(names), PWM_NEUTRAL), setpoints, np.zeros(6)
        if commander.mode == 'wrench' and not commander.stale(time):
            self._memory = None
            output = self._loop.push(commander.wrench, state, failed=failed)
        else:
            output, self._memory = self._loop.step(
                setpoints, time, state, self._memory, failed=failed
            )
        self._outputs.actuators |= output.allocation.actuators
        self.health['short of'] = ', '.join(output.allocation.shortfall) or 'nothing'
        return output.pwm, setpoints, output.wrench

    def _note_mode(self) -> None:
        self.health['mode'] = self.commander.mode if self.commander.armed else 'disarmed'

    def _watch(self) -> None:
        if self._script is None:
            self._note_mode()  # a paused run has no ticks, and may be armed
        now = wall.monotonic()
        silence = now - self._odom_at
        started = now - self._started_at > STARTUP_TIMEOUT
        if silence <= (ODOM_TIMEOUT if started else STARTUP_TIMEOUT):
            self._silent = False
            return
        text = f'odom: silent for {silence:.0f} s; nothing is commanded'
        # One log line for each pause, however long. Before its start a run only loads.
        if self._silent or not self.newest:
            self._complaints[text] = False
        else:
            self._silent = True
            self.warn_throttled(text)


def main() -> None:
    """Run the executable."""
    run(ControllerNode)


if __name__ == '__main__':
    main()
