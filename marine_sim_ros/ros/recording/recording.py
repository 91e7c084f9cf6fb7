# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recorder that is started and ended in the middle of a run."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
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

    def __init__(
        self, node: SuiteNode, parameters: str, folder: str, say: Callable[[str], object]
    ) -> None:
        """Get ready.

        Args:
            node: node that starts the recording, in whose namespace it records.
            parameters: parameters of the recorder, JSON; empty where none can be started.
            folder: folder for the recordings, one subfolder each.
            say: function that is called with what happens to a recording.
        """
        self._node, self._parameters, self._folder, self._say = node, parameters, folder, say
        self._process: subprocess.Popen[bytes] | None = None
        self._asked_to_end = False
        self.directory = ''

    @property
    def running(self) -> bool:
        """Whether it records."""
        return self._process is not None and self._process.poll() is None

    @property
    def closing(self) -> bool:
        """Whether a recording was asked to end, and still writes."""
        return self.running and self._asked_to_end

    def look(self) -> None:
        """Tell of a recorder that has ended since the last call."""
        if self._process is None or self.running:
            return
        code, self._process = self._process.returncode, None
        if code:
            why = (
                'it was ended before it began' if code == -signal.SIGTERM else f'exit code {code}'
            )
            self._node.warn_throttled(f'record: {self.directory} is not recorded: {why}')
            self.directory = ''
        else:
            self._say(f'recording saved: {self.directory}')

    def switch(self, on: bool) -> None:
        """Start or end a recording."""
        if self.closing and on:
            self._node.warn_throttled(f'record: {self.directory} is still being closed')
        if on == self.running or self.closing:
            return
        if not on:
            self._interrupt()
            self._say(f'closing the recording {self.directory} …')
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
                self.look()

    def _start(self) -> None:
        name = f'{file_name(self._node.vehicle.name)}_{time.strftime("%Y%m%d_%H%M%S")}'
        self.directory = str(Path(self._folder) / name)
        parameters = {**json.loads(self._parameters), 'directory': self.directory}
        spec = NodeSpec('recorder', self._node.get_namespace(), parameters)
        command = module_command('marine_sim_ros.nodes.recorder', *spec.ros_arguments())
        self._process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL)
        self._asked_to_end = False
        self._say(f'recording to {self.directory}')

    def _interrupt(self) -> None:
        if self._process is not None and self._process.poll() is None:
            # Not SIGINT: a recorder that is still starting would print a traceback.
            self._process.send_signal(signal.SIGTERM)
            self._asked_to_end = True
