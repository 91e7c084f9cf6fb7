# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scenario: plays a scenario and checks its expectations.

Subscribes: odom. Publishes: thrusters/pwm, one per odom (start the thrusters with
``pwm_source: controller``). Where the scenario has set-points the controller node plays it, and
this one only checks.
Parameters: the common ones, and ``scenario`` (shipped name or path of a YAML file).
After the scenario's duration it checks once; its exit code is 0 when all expectations hold, else
1. A reset starts anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import PwmPublisher
from marine_sim_ros.ros.message_fields import state_of
from marine_sim_ros.sim.player import ScriptedPilot
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['main']

TIME_TOLERANCE = 1e-9
"""s; rounding of times."""
PARAMETERS = (
    option_parameter('scenario', default='dive', empty=''),
    option_parameter('duration', empty="the scenario's"),
)


class ScenarioNode(VehicleNode):
    """Node that plays and checks a scenario."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``scenario``."""
        super().__init__('scenario', PARAMETERS, **options)
        scenario = load_scenario(self.values['scenario'])
        self._scenario = scenario.located(self.environment)
        self._pilot = ScriptedPilot(self._scenario, self.vehicle)
        self._duration = self.values['duration'] or self._scenario.duration
        self._depth_samples: list[tuple[float, float]] = []  # s, m; within expectations
        self._time = 0.0
        if not self._scenario.closed_loop:
            self._pwm = PwmPublisher(self)
        self.listen_numbers(topics.ODOM, self._on_odom)
        self.take_time_from_ticks()

    def _on_odom(self, stamp: int, numbers: Sequence[float]) -> None:
        self.newest, time = stamp, stamp / NANOSECONDS
        state = state_of(numbers)
        if state is None:
            self.warn_throttled('odom: not finite; no command')
            return
        if not self._scenario.closed_loop:
            self._pwm.publish(stamp, self._pilot.command(time, state))
        if time < self._time:
            self._depth_samples, self.health, self.exit_code = [], {}, 0
        self._time = time
        if any(
            e.start - TIME_TOLERANCE <= time <= e.end + TIME_TOLERANCE
            for e in self._scenario.expectations
        ):
            self._depth_samples.append((time, float(state.position[2])))
        if time >= self._duration - TIME_TOLERANCE and not self.health:
            self._check_expectations()

    def _check_expectations(self) -> None:
        time, z = np.array(self._depth_samples, float).reshape(-1, 2).T
        verdicts = self._scenario.verdicts(time, z, self._time)
        self.health = {text: ok for ok, text in verdicts} or {'expectations': 'none'}
        if not all(ok for ok, _ in verdicts):
            self.exit_code = 1
        for ok, text in verdicts:
            # One call per severity: rclpy fixes that of a line of code at its first log.
            if ok:
                self.get_logger().info(f'holds: {text}')
            else:
                self.get_logger().error(f'does not hold: {text}')


def main() -> None:
    """Run the executable."""
    run(ScenarioNode)


if __name__ == '__main__':
    main()
