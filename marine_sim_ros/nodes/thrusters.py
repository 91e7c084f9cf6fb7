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
(live parameters ``faults`` and ``failed_thrusters``) are computed as in faults/devices.py; after
a lost command the last one holds for ``command_timeout``. A restarted node goes on from the last
angles of thrusters that turn, which the state node keeps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from std_msgs.msg import Float32MultiArray

from marine_sim_ros.core.state import NANOSECONDS, State, state_at_rest
from marine_sim_ros.faults.devices import LiveThrusters, Propulsion
from marine_sim_ros.faults.fault_types import Dead
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL
from marine_sim_ros.physics.thrusters import THRUSTERS, ThrusterOutput
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import COMMAND_HOLD, NodeParameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import JointPublisher
from marine_sim_ros.ros.cdr import read_pwm
from marine_sim_ros.ros.force_node import CompiledTick, WrenchNode
from marine_sim_ros.ros.servos import (
    SERVO_PARAMETERS,
    ActuatorCommands,
    ActuatorHold,
    ActuatorStates,
)
from marine_sim_ros.sim.player import unknown_thrusters
from marine_sim_ros.sim.step import Memory, supply_readings

__all__ = ['ThrustersNode', 'main']

# Range of valid pulse widths.

PULSE_WIDTH_BOUNDS = (800, 2200)
"""µs; a command beyond them is not a pulse width, and is ignored."""


def check_pulse_widths(widths: Sequence[int], count: int) -> tuple[np.ndarray | None, str]:
    """Return the pulse widths (n,) in µs, clamped to their limits, and a warning or an empty text.

    None where the command is to be ignored as a whole: of the wrong length, or out of
    ``PULSE_WIDTH_BOUNDS`` (a negative number wraps to a huge one).
    """
    pwm = np.array(widths, float)
    if len(pwm) != count:
        return None, f'thrusters/pwm: {len(pwm)} pulse widths; expected {count}; ignored'
    if not count:
        return pwm, ''
    low, high = min(widths), max(widths)
    if not (PULSE_WIDTH_BOUNDS[0] <= low and high <= PULSE_WIDTH_BOUNDS[1]):
        span = f'{low:g} to {high:g} us'
        return None, f'thrusters/pwm: {span}; expected {PWM_MIN:g} to {PWM_MAX:g}; ignored'
    if low < PWM_MIN or high > PWM_MAX:
        clamped = np.clip(pwm, PWM_MIN, PWM_MAX)
        return clamped, f'thrusters/pwm: beyond {PWM_MIN:g} to {PWM_MAX:g} us; clamped'
    return pwm, ''


# Pulse widths for the thrusters: the latest ones, or a controller's for each tick.

CONTROLLER_TIMEOUT = 0.8
"""s of wall time that a controller may take; less than dynamics waits for a wrench."""
NO_COMMAND = -1
"""Stamp of the latest command before the first one."""


class PwmCommands:
    """Subscriber to thrusters/pwm that calls back when the command for a state has arrived."""

    def __init__(
        self, node: VehicleNode, live: LiveThrusters, answer: Callable[[int, State], None]
    ) -> None:
        """Listen for a node with the parameters ``pwm_source`` and ``command_timeout``.

        Args:
            live: thrusters and their faults, which may lose commands.
            answer: called with the stamp (ns) and the state whose command has arrived.
        """
        self._node, self._live, self._answer = node, live, answer
        self._neutral = np.full(len(node.vehicle.thrusters), PWM_NEUTRAL)
        self._pwm: np.ndarray | None = None
        self._pwm_stamp = 0
        self._waiting: tuple[int, State] | None = None
        self._waiting_since = 0.0
        self._answers: int | None = NO_COMMAND
        self._controller_lost = False
        self.per_tick = node.values['pwm_source'] == 'controller'
        """Whether every state waits for its command."""
        topic = topics.PWM_PER_TICK if self.per_tick else topics.PWM
        node.listen_numbers(topic, self._on_pwm, read_pwm)
        if self.per_tick:
            node.create_timer(CONTROLLER_TIMEOUT / 8, self._watch, clock=node.wall_clock)

    def restart(self) -> None:
        """Restart the time-out: the run was reset, and stamps begin at 0."""
        self._pwm_stamp = 0

    def _on_pwm(self, stamp: int | None, widths: Sequence[int]) -> None:
        pwm, warning = check_pulse_widths(widths, len(self._neutral))
        if warning:
            self._node.warn_throttled(warning)
        if not self.per_tick:
            if pwm is not None and not self._live.loses_command:
                self._pwm, self._pwm_stamp = pwm, self._live.stamp or 0
            return
        self._controller_lost, self._answers = False, stamp
        self._pwm = self._neutral if pwm is None else pwm
        if self._waiting is not None and self._answers in (None, self._waiting[0]):
            self._answer_state(*self._waiting)

    def wait(self, stamp: int, state: State) -> None:
        """Call back for a state (stamp in ns), now or when its command has arrived."""
        has_command = self._controller_lost or (
            self._pwm is not None and self._answers in (None, stamp)
        )
        if self.per_tick and not has_command:
            if self._waiting is None:  # else keep the first deadline: dynamics continued alone
                self._waiting_since = time.monotonic()
            self._waiting = (stamp, state)
        else:
            self._answer_state(stamp, state)

    def _answer_state(self, stamp: int, state: State) -> None:
        self._waiting = None
        self._answer(stamp, state)

    def _watch(self) -> None:
        """Stop the thrusters after the time-out of a controller that has sent commands before."""
        since = time.monotonic() - self._waiting_since
        if (
            self._waiting is not None
            and self._answers != NO_COMMAND
            and since > CONTROLLER_TIMEOUT
        ):
            self._controller_lost = True
            self._answer_state(*self._waiting)

    def command(self, stamp: int) -> np.ndarray:
        """Return the commanded pulse widths (n,) in µs at a stamp in ns."""
        if self.per_tick:
            if self._controller_lost:
                self._node.warn_throttled(
                    'thrusters/pwm: the controller is silent; thrusters stopped'
                )
            pwm, self._pwm = self._pwm, None
            return self._neutral if pwm is None else pwm
        age = (stamp - self._pwm_stamp) / NANOSECONDS
        if self._pwm is not None and age > self._node.values['command_timeout']:
            self._pwm = None
            self._node.warn_throttled('thrusters/pwm: no command any more; thrusters stopped')
        return self._neutral if self._pwm is None else self._pwm


# Publisher of thrusts, rotor speeds, power and supply.


class ThrusterOutputs:
    """Publishers of thrusters/state and thrusters/power, azimuth states, and the supply."""

    def __init__(self, node: VehicleNode) -> None:
        """Create the publishers."""
        names = node.vehicle.thrusters.names
        self._state = JointPublisher(node, topics.THRUSTER_STATE, names)
        self._power = node.publisher(topics.THRUSTER_POWER)
        self._states = ActuatorStates(node, THRUSTERS.name)
        needed = 'supply' in topics.sensor_needs(node.vehicle)
        supply = topics.THRUSTER_SUPPLY
        self._supply = JointPublisher(node, supply, topics.SUPPLY) if needed else None

    def publish(self, stamp: int, output: ThrusterOutput) -> None:
        """Publish the output of a tick with its stamp in ns, and the states of its actuators."""
        thrust, speed = output.thrust.tolist(), output.rotor_speed.tolist()
        self._state.publish(stamp, velocity=speed, effort=thrust)
        if self._power.has_receiver:
            self._power.publish(Float32MultiArray(data=output.power.tolist()))
        if self._states:
            propulsion = Propulsion(output.thrust, angles=output.angles)
            self._states.publish(stamp, Memory(state_at_rest(), propulsion, {}))
        if self._supply is not None:
            supply = supply_readings(output.power, output.voltage, output.used)
            self._supply.publish(stamp, position=supply.tolist())


# The node.

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
        self._hold = ActuatorHold(self, THRUSTERS.name)
        if self.graph is not None:
            self.graph.timeout = self.values['command_timeout']

    def on_state(self, stamp: int, state: State) -> None:
        """Answer at once, or when the commands for this state have arrived.

        A node that starts amid a run waits for the angles of thrusters that turn.
        """
        if self.graph is None and self._live.stamp is None and stamp:
            if (held := self._hold.states()) is None:
                return
            self._actuators.hold(stamp, held)
            memory = Memory(state_at_rest(), self._live.memory, {})
            self._live.memory = self._hold.restore(memory, held).propulsion
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
