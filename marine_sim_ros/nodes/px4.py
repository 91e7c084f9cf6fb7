# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""PX4 steers over its simulator interface (MAVLink over TCP), in lockstep.

Subscribes: odom.
Publishes, one per odom, same stamp: thrusters/pwm (start the thrusters with ``pwm_source:
controller``).
Listens: TCP on ``autopilot_address``, port 4560 + ``instance``; PX4 connects.
Parameters: the common ones, and those below.
Failure: the run waits at its first tick until PX4 has booted, for which its clock goes on, and
after ``start_timeout`` continues with thrusters off. A PX4 that is armed and silent for 0.7 s of
wall time, or that disconnects, is lost: the thrusters node stops the thrusters until it answers or
connects again. Bytes that are no MAVLink, and a second PX4, are refused with a warning. A PX4 that
this node has started ends the node if it ends by itself.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from pathlib import Path
from typing import Any

from marine_sim_ros.autopilot.firmware import Firmware, find_firmware
from marine_sim_ros.autopilot.px4 import PX4_PORT, Px4Exchange, Px4Link
from marine_sim_ros.autopilot.px4_firmware import pulse_widths, px4_settings
from marine_sim_ros.autopilot.px4_sensors import Px4Instruments
from marine_sim_ros.core.state import State
from marine_sim_ros.ros.autopilot import AUTOPILOT_PARAMETERS, AutopilotNode
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run

__all__ = ['PARAMETERS', 'main']

FRAMES_PER_POLL = 5
"""Frames sent at a time while PX4 boots: about real time at 250 Hz."""
PARAMETERS = (
    option_parameter('px4'),
    *AUTOPILOT_PARAMETERS,
    NodeParameter(
        'frame_rate',
        0.0,
        'frames per second of PX4; 0: 250 of a submarine, 100 of a boat',
        0.0,
        1e3,
        unit='Hz',
    ),
)


class Px4Node(AutopilotNode):
    """Node that exchanges sensors and motor commands with PX4."""

    label = 'PX4'
    instruments: Px4Instruments

    def __init__(self, **options: Any) -> None:
        """Create it as ``px4``, and start PX4 where it is found."""
        super().__init__('px4', PARAMETERS, Px4Instruments, **options)
        values = self.values
        address, instance = values['autopilot_address'], values['autopilot_instance']
        origin = self.environment.origin
        east, north, _ = origin.enu(origin.magnetic_field)
        settings = px4_settings(
            self.vehicle,
            instance=instance,
            navigation=values['navigation'],
            declination=math.degrees(math.atan2(east, north)),
        )
        self._link = Px4Link(address, PX4_PORT + instance, self.warn_throttled)
        self.port = f'TCP {address}:{self._link.port}'
        self._exchange = Px4Exchange(
            self._link,
            self.instruments,
            values['frame_rate'] or settings.frame_rate,
            dvl=values['navigation'] == 'dvl',
        )
        self._script: Path | None = None
        program = find_firmware(values['px4'], settings.program)
        if program is None:
            self._script = Path(tempfile.mkdtemp(prefix='px4_')) / 'start.sh'
            self._script.write_text(settings.script(), encoding='ascii')
            self.get_logger().info(f'waiting for PX4 on {self.port}')
            self.get_logger().info(f'start it in the folder of its build, with: sh {self._script}')
        else:
            self.firmware = Firmware(program, settings)
            self.get_logger().info(f'started {program}; its output is in {self.firmware.log}')
        self.begin()

    def find_peer(self, stamp: int, state: State) -> str:
        """Return the address of a PX4 that has booted; empty: none has."""
        environment = self.environment_at(stamp)
        for _ in range(FRAMES_PER_POLL):
            if self._exchange.boot(stamp, state, environment):
                self._exchange.forget()
                return self._link.peer
        return ''

    def exchange(self, stamp: int, state: State) -> list[int] | None:
        """Return the pulse widths of the thrusters that answer a tick; None: it is silent."""
        environment = self.environment_at(stamp)
        self.instruments.sense(stamp, state, environment)
        controls = self._exchange.tick(stamp, state, environment)
        count = len(self.vehicle.thrusters.names)
        return None if controls is None else pulse_widths(controls, count)

    def close(self) -> None:
        """End PX4."""
        super().close()
        if self._script is not None:
            shutil.rmtree(self._script.parent, ignore_errors=True)
        self._link.close()


def main() -> None:
    """Run the executable."""
    run(Px4Node)


if __name__ == '__main__':
    main()
