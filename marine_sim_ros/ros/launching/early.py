# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A process that is in the ROS graph before it is known what it runs.

It takes others 0.1 s to discover a process, whatever it has to tell; meanwhile a vehicle is read.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from marine_sim_ros.model.library import known_vehicles
from marine_sim_ros.ros.launching.fork import Fork, run_node

__all__ = ['EarlyFork']


class EarlyFork(Fork):
    """A fork of this process that waits for its words; without them it ends, and says nothing."""

    def __init__(self, executable: str, env: Mapping[str, str]) -> None:
        """Start it.

        Args:
            executable: module of ``marine_sim_ros.nodes``.
            env: its environment.
        """
        end, self._start = os.pipe()
        self._part(lambda: self._wait(executable, end), env)
        os.close(end)

    def begin(self, name: str, arguments: Sequence[str]) -> None:
        """Let it run, with the vehicles that are known by now; arguments as of :class:`Fork`."""
        try:
            vehicles = pickle.dumps(known_vehicles)
        except (pickle.PicklingError, TypeError, AttributeError):
            vehicles = pickle.dumps({})  # it reads them itself
        with suppress(BrokenPipeError), open(self._start, 'wb') as pipe:
            pickle.dump((name, arguments, vehicles), pipe)

    def leave(self) -> None:
        """Let it end, where it is not needed."""
        os.close(self._start)

    def _wait(self, executable: str, end: int) -> None:
        os.close(self._start)
        import_module(f'marine_sim_ros.nodes.{executable}')
        import_module('marine_sim_ros.ros.base.process').join()
        with open(end, 'rb') as pipe:
            try:
                name, arguments, vehicles = pickle.load(pipe)
            except EOFError:
                os._exit(0)  # not through what DDS does at an end
        known_vehicles.update(pickle.loads(vehicles))
        run_node(name, executable, arguments)
