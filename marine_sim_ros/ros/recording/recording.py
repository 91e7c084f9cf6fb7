# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recorder that is started and ended in the middle of a run."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from marine_sim_ros.core.child_process import module_command
from marine_sim_ros.core.file_names import file_name
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.sim.graph import NodeSpec

__all__ = ['Recording']

GRACE = 3.0
"""s that a recorder gets to close its bag."""


class Recording:
    """The recorder node as a process of its own; nothing in the run waits for it."""

    def __init__(self, node: SuiteNode, parameters: str, folder: str) -> None:
        """Get ready.

        Args:
            node: node that starts the recording, in whose namespace it records.
            parameters: parameters of the recorder, JSON; empty where none can be started.
            folder: folder for the recordings, one subfolder each.
        """
        self._node, self._parameters, self._folder = node, parameters, folder
        self._process: subprocess.Popen[bytes] | None = None
        self.directory = ''

    @property
    def running(self) -> bool:
        """Whether it records."""
        return self._process is not None and self._process.poll() is None

    def switch(self, on: bool) -> None:
        """Start or end a recording."""
        if on == self.running:
            return
        if not on:
            self._interrupt()
        elif not self._parameters:
            self._node.warn_throttled('record: the run is recorded already, or nothing says how')
        else:
            self._start()

    def close(self) -> None:
        """End a recording, and wait until its bag is closed."""
        if self._process is not None:
            self._interrupt()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)

    def _start(self) -> None:
        name = f'{file_name(self._node.vehicle.name)}_{time.strftime("%Y%m%d_%H%M%S")}'
        self.directory = str(Path(self._folder) / name)
        parameters = {**json.loads(self._parameters), 'directory': self.directory}
        spec = NodeSpec('recorder', self._node.get_namespace(), parameters)
        command = module_command('marine_sim_ros.nodes.recorder', *spec.ros_arguments())
        self._process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL)

    def _interrupt(self) -> None:
        if self._process is not None and self._process.poll() is None:
            # Not SIGINT: a recorder that is still starting would print a traceback.
            self._process.send_signal(signal.SIGTERM)
