# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Watches a run from outside: how many ticks have passed."""

from __future__ import annotations

import os
import time
from types import TracebackType

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile, ReliabilityPolicy

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.ros.launching.dds_profile import dds_profile
from marine_sim_ros.ros.messages import topics

__all__ = ['Odometer']


BURST = 1000
"""Reports that wait: those of a fleet's nodes come at once, nine for each vehicle."""


class Odometer:
    """Waits for the first odom, then counts through the state owner's reports.

    The reports come once a second, so that watching costs the run nothing.
    """

    def __init__(self, namespace: str) -> None:
        """Join the graph."""
        import rclpy
        from rclpy.signals import SignalHandlerOptions

        from marine_sim_ros.ros.base.logs import log_words
        from marine_sim_ros.ros.base.process import executor

        os.environ.update(dds_profile())  # or it would hear of a run up to 3 s late
        rclpy.init(args=log_words(), signal_handler_options=SignalHandlerOptions.NO)
        self._name = f'{namespace}/dynamics'
        self._odom_topic = f'{namespace}/odom'
        self._node = rclpy.create_node('odometer')
        self._reports: list[tuple[float, int]] = []
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._take, BURST)
        self._engine = executor()
        self._engine.add_node(self._node)

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {v.key: v.value for v in status.values}
            if status.name == self._name and int(values.get('ticks', 0)):
                self._reports.append((time.monotonic(), int(values['ticks'])))

    def spin(self, seconds: float) -> None:
        """Take reports for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._engine.spin_once(timeout_sec=0.02)

    def wait(self, timeout: float) -> None:
        """Wait for the first odom.

        Raises:
            MarineSimError: there is none in time.
        """
        first: list[Odometry] = []
        subscription = self._node.create_subscription(
            Odometry, self._odom_topic, first.append, topics.ODOM.qos
        )
        deadline = time.monotonic() + timeout
        while not first:
            self.spin(0.01)
            if time.monotonic() > deadline:
                raise MarineSimError(f'{self._odom_topic}: no message within {timeout:g} s')
        self._node.destroy_subscription(subscription)

    def hear(self, topic: str, kind: type) -> list[float]:
        """Return a list that grows by the time (s) of each message of a topic, best effort."""
        times: list[float] = []
        quality = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._node.create_subscription(
            kind, topic, lambda _: times.append(time.monotonic()), quality
        )
        return times

    def ticks(self) -> int:
        """Wait for the next report and return its count."""
        seen = len(self._reports)
        deadline = time.monotonic() + 10
        while len(self._reports) == seen and time.monotonic() < deadline:
            self.spin(0.01)
        if len(self._reports) == seen:
            raise MarineSimError(f'{self._name}: no report of ticks within 10 s')
        return self._reports[-1][1]

    def __enter__(self) -> Odometer:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the graph."""
        import rclpy

        self._engine.shutdown()  # else it keeps the node, and its place among 32 on this machine
        self._node.destroy_node()
        rclpy.try_shutdown()
