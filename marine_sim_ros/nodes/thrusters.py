# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrusters: PWM in; wrench, thrust, rotor speed and electrical power out.

Subscribes: odom; thrusters/pwm (UInt16MultiArray, µs, one per thruster in the URDF's order);
command topics of actuators that turn thrusters (JointState: ``position`` in rad that named ones
turn to; the latest holds).
Publishes, one per odom, same stamp: wrench/thrusters; thrusters/state (JointState: effort is
thrust N, velocity is rotor rad/s); thrusters/power (W); thrusters/supply (JointState: position is
power W, and voltage V and charge A h of a battery) where a sensor needs it; the states of those
actuators (JointState: position in rad).
Parameters: the common ones, and those below.
Failure: a command of the wrong length or beyond 800 to 2200 µs is ignored as a whole, one beyond
1100 to 1900 µs is clamped; both with a warning. With ``pwm_source: external`` the latest command
holds, and ``command_timeout`` after it the thrusters stop. With ``pwm_source: controller`` the
command of the same stamp is required for every odom; after 0.8 s without one they stop. Faults
(live parameters ``faults`` and ``failed_thrusters``) are computed as in faults/thrusters.py; after
a lost command the last one holds for ``command_timeout``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from marine_sim_ros.core.state import State
from marine_sim_ros.faults.fault_types import Dead
from marine_sim_ros.faults.thrusters import LiveThrusters
from marine_sim_ros.physics.thrusters import THRUSTERS
from marine_sim_ros.ros.base.parameters import COMMAND_HOLD, NodeParameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.force_node import CompiledTick, WrenchNode
from marine_sim_ros.ros.servos import SERVO_PARAMETERS, ActuatorCommands
from marine_sim_ros.ros.thrusters import PwmCommands, ThrusterOutputs
from marine_sim_ros.sim.player import unknown_thrusters

__all__ = ['ThrustersNode', 'main']

PARAMETERS = (
    NodeParameter(
        'pwm_source',
        'external',
        'external: the latest command holds; controller: one per odom',
        choices=('external', 'controller'),
    ),
    COMMAND_HOLD,
    *SERVO_PARAMETERS,
    NodeParameter(
        'failed_thrusters', [''], 'names of thrusters that stand still', empty='none', live=True
    ),
)


class ThrustersNode(WrenchNode):
    """Node of the thrusters' force."""

    commanded = True

    def __init__(self, **options: Any) -> None:
        """Create it as ``thrusters``."""
        super().__init__('thrusters', PARAMETERS, **options)
        self._live = LiveThrusters(self.vehicle, self.values['seed'])
        self._commands = PwmCommands(self, self._live, self._answer)
        self.on_parameters()
        self._outputs = ThrusterOutputs(self)
        self._actuators = ActuatorCommands(self, THRUSTERS.name, answer=self._commands.wait)
        if self.graph is not None:
            self.graph.timeout = self.values['command_timeout']

    def on_state(self, stamp: int, state: State) -> None:
        """Answer at once, or when the commands for this state have arrived."""
        self._actuators.wait(stamp, state)

    def refuse(self, name: str, value: object) -> str:
        """Refuse to fail thrusters that do not exist."""
        return unknown_thrusters(self.vehicle, value) if name == 'failed_thrusters' else ''

    def on_parameters(self) -> None:
        """Apply the faults."""
        names = [name for name in self.values['failed_thrusters'] if name]
        faults = (*self.faults, *(Dead(thruster=name) for name in names))
        self._live.take(faults)
        if self.graph is None:
            return
        tables = self._live.tables
        if tables is not None and not self._commands.per_tick:
            # Without per-tick commands, PwmCommands drops the lost ones.
            tables = replace(tables, lost=None)
        self.graph.faults = tables
        self.graph.fault_list, self.graph.loses_command = faults, self._commands.per_tick

    def _answer(self, stamp: int, state: State) -> None:
        live = self._live
        if live.stamp is not None and stamp < live.stamp:  # the run was reset
            live.restart()
            self._commands.restart()
        if self.graph is not None:
            live.stamp = stamp
            super().on_state(stamp, state)
            return
        output = live.step(
            stamp,
            state,
            self.environment_at(stamp),
            self._commands.command(stamp),
            per_tick=self._commands.per_tick,
            timeout=self.values['command_timeout'],
            commands=self._actuators.commanded_values(stamp),
        )
        if live.voltage is not None:
            self.health['voltage'] = f'{live.voltage:.2f}'
        self.publish_wrench(stamp, output.wrench)
        self._outputs.publish(stamp, output)

    def commands(self, stamp: int) -> dict[str, Any]:
        """Return the commands at a stamp in ns, for a compiled graph."""
        pwm = self._commands.command(stamp)
        return {'pwm': pwm, **self._actuators.commanded_values(stamp)}

    def on_output(self, tick: CompiledTick) -> None:
        """Publish what a compiled graph computed."""
        super().on_output(tick)
        output = tick.output.thrusters
        if output.voltage is not None:
            self.health['voltage'] = f'{float(output.voltage):.2f}'
        self._outputs.publish(tick.stamp, output)


def main() -> None:
    """Run the executable."""
    run(ThrustersNode)


if __name__ == '__main__':
    main()
