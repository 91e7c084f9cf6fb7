# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Watches a run from outside: how many ticks have passed."""

from __future__ import annotations

import time
from types import TracebackType

from diagnostic_msgs.msg import DiagnosticArray

from marine_sim_ros.errors import MarineSimError

__all__ = ['Odometer']


class Odometer:
    """Asks for the tick count through the state owner's reports, which cost the run nothing."""

    def __init__(self, namespace: str) -> None:
        """Join the graph."""
        import rclpy
        from rclpy.signals import SignalHandlerOptions

        from marine_sim_ros.ros.process import executor

        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._name = f'{namespace}/dynamics'
        self._node = rclpy.create_node('odometer')
        self._reports: list[tuple[float, int]] = []
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 50)
        self._engine = executor()
        self._engine.add_node(self._node)

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {v.key: v.value for v in status.values}
            if status.name == self._name and int(values.get('ticks', 0)):
                self._reports.append((time.monotonic(), int(values['ticks'])))

    def _spin(self, until: float) -> None:
        while time.monotonic() < until:
            self._engine.spin_once(timeout_sec=0.02)

    def wait(self, timeout: float) -> None:
        """Wait for the first report of a tick."""
        deadline = time.monotonic() + timeout
        while not self._reports:
            self._spin(time.monotonic() + 0.02)
            if time.monotonic() > deadline:
                raise MarineSimError(f'{self._name}: no tick within {timeout:g} s')

    def ticks(self) -> int:
        """Wait for the next report and return its count."""
        seen = len(self._reports)
        deadline = time.monotonic() + 10
        while len(self._reports) == seen and time.monotonic() < deadline:
            self._spin(time.monotonic() + 0.01)
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

        self._node.destroy_node()
        rclpy.try_shutdown()
