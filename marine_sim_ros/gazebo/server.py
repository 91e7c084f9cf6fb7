# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Headless ``gz sim`` server as a child process, and its topics without ROS."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.processes import end_child
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench
from marine_sim_ros.gazebo.delivery import gazebo_release
from marine_sim_ros.gazebo.run_files import SYSTEM_FOLDER
from marine_sim_ros.gazebo.system.marine_sim_bindings import binding, message

__all__ = [
    'TERMINATION_GRACE',
    'ServerConnection',
    'WORKING_FOLDER',
    'server_command',
    'server_paths',
    'start_server',
    'stop_server',
]

WORKING_FOLDER = '/'
"""Working folder of a server: its Python looks for modules there first."""
_LOADS_LATE = 10
"""Release of gz-sim (Jetty) from which a world steps without its models while they load."""
TERMINATION_GRACE = 10.0
"""s that a server gets to end by itself before it is killed."""


def server_command(world: Path, *, gui: bool = False, run: bool = True) -> list[str]:
    """Return the command line of Gazebo with a world, which steps at once or stays paused."""
    path = str(world.resolve())
    options = [*(['-r'] if run else []), *([] if gui else ['-s'])]
    if gazebo_release() >= _LOADS_LATE:
        options.append('--wait-for-assets')
    return ['gz', 'sim', *options, path]


def server_paths(*, compiled: bool = False) -> dict[str, str]:
    """Return the environment variables with which Gazebo finds the systems of this package.

    The compiled one imports this package and JAX, possibly from a virtual environment that the
    server's Python does not use.
    """
    folders = {'GZ_SIM_SYSTEM_PLUGIN_PATH': [str(SYSTEM_FOLDER)]}
    if compiled:
        folders['PYTHONPATH'] = _package_folders()
    return {
        name: os.pathsep.join(filter(None, (*entries, os.environ.get(name, ''))))
        for name, entries in folders.items()
    }


def _package_folders() -> list[str]:
    """Return the folders that have this package, NumPy and JAX."""
    specs = [find_spec(name) for name in ('marine_sim_ros', 'numpy', 'jax')]
    folders = [Path(s.origin).parent.parent for s in specs if s is not None and s.origin]
    return list(dict.fromkeys(map(str, folders)))


def start_server(
    world: Path, *, run: bool = True, compiled: bool = False
) -> subprocess.Popen[bytes]:
    """Start a server with a world of a run, which begins to step at once, or stays paused.

    Args:
        run: begin to step.
        compiled: whether the compiled system is in that world.
    """
    command = [*server_command(world, run=run), '-v', '1']
    environment = {**os.environ, **server_paths(compiled=compiled)}
    return subprocess.Popen(command, env=environment, cwd=WORKING_FOLDER)


def stop_server(server: subprocess.Popen[bytes]) -> int:
    """End a server as a launch file does; return its exit code."""
    return end_child(server, TERMINATION_GRACE, ask=signal.SIGINT)


class ServerConnection:
    """Receives the states of the lockstep system, and sends their wrenches.

    The lockstep system repeats a state whose wrench was lost, as happens before the two have
    discovered each other; the same wrench is then sent again.

    Attributes:
        heard: stamp (ns) and state of each, as Gazebo reports it.
    """

    def __init__(self, model: str) -> None:
        """Open the lockstep topics of a model.

        Raises:
            ImportError: no gz.transport or gz.msgs.
        """
        odometry, wrench = message('Odometry'), message('Wrench')
        self.heard: queue.SimpleQueue[tuple[int, State]] = queue.SimpleQueue()
        self.node = binding('gz.transport').Node()
        self._message = wrench
        self._last: tuple[int, Any] = (-1, None)
        topic = f'/model/{model}/seat'
        self._publisher = self.node.advertise(f'{topic}/wrench', wrench)
        self._topic = f'{topic}/state'
        self.node.subscribe(odometry, self._topic, self._hear)

    def close(self) -> None:
        """Unsubscribe, and send no more."""
        self.node.unsubscribe(self._topic)

    def _hear(self, odometry: Any) -> None:
        p, q = odometry.pose.position, odometry.pose.orientation
        v, w = odometry.twist.linear, odometry.twist.angular
        state = State(
            np.array([p.x, p.y, p.z]),
            np.array([q.x, q.y, q.z, q.w]),
            np.array([v.x, v.y, v.z, w.x, w.y, w.z]),
        )
        stamp = odometry.header.stamp.sec * NANOSECONDS + odometry.header.stamp.nsec
        answered, answer = self._last
        if stamp == answered:
            self._publisher.publish(answer)
        self.heard.put((stamp, state))

    def next_state(self, after: int, timeout: float = 60.0) -> tuple[int, State]:
        """Return the first state of a later stamp (ns); one may come twice.

        Raises:
            queue.Empty: none in time, s.
        """
        while True:
            stamp, state = self.heard.get(timeout=timeout)
            if stamp > after:
                return stamp, state

    def answer(self, stamp: int, wrench: Wrench) -> None:
        """Give the wrench (6,) for the state of a stamp (ns)."""
        answer = self._message()
        answer.header.stamp.sec, answer.header.stamp.nsec = divmod(stamp, NANOSECONDS)
        force, torque = answer.force, answer.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = (float(x) for x in wrench)
        self._last = stamp, answer
        self._publisher.publish(answer)
