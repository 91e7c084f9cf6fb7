# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run one or more nodes in a process: executor, signals, exit codes."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from marine_sim_ros.core.errors import MarineSimError, ParameterError, exit_code
from marine_sim_ros.core.processes import end_with_parent
from marine_sim_ros.core.progress import own_line_text
from marine_sim_ros.core.startup import paused_garbage_collection
from marine_sim_ros.ros.base.bus import Bus
from marine_sim_ros.ros.base.internals import (
    executor,
    import_type_support,
    log_arguments,
    rcl_error,
)
from marine_sim_ros.ros.base.node import NO_TYPE_DESCRIPTIONS, VehicleNode

__all__ = [
    'Shutdown',
    'join',
    'makers',
    'own_arguments',
    'ros_arguments',
    'run',
    'run_named',
    'spin',
]

SPIN_PERIOD = 0.1
"""s of wall time that the executor waits for an event before signals are checked."""
DELIVERIES, EVENTS = 512, 4
"""Deliveries over the bus, and events of the executor, that take turns."""
MAX_LAST_DELIVERIES = 10**6
"""Bound of the deliveries after the end of a run."""
SHUTDOWN_CPU_TIME = 2.0
"""s of processor time for DDS to shut down. Occasionally Fast DDS spins there for ever and holds
Python's lock, so that no signal handler of Python can end it."""
SHUTDOWN_TIME = 4.0
"""s of wall time for the same in a process that failed, which then ends with exit code 1."""


class Shutdown:
    """Flag that SIGINT and SIGTERM set; a shell starts background jobs with SIGINT ignored.

    Attributes:
        requested: whether a signal has arrived.
    """

    def __init__(self) -> None:
        """Install the handlers."""
        self.requested = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: object) -> None:
        del number, frame
        self.requested = True


def spin(nodes: Sequence[VehicleNode], shutdown: Shutdown, bus: Bus | None = None) -> int:
    """Serve nodes until one has finished or a signal comes; return the exit code.

    Deliveries over the bus and events of DDS, timers and services take turns.
    """
    bus = bus or Bus()
    engine = executor()
    bus.wake = partial(engine.create_task, bool)  # its wake() looks through all of its nodes
    for node in nodes:
        engine.add_node(node)
    # Not spin(): without a timeout the EventsExecutor never looks at the signals.
    while not shutdown.requested and not any(n.finished for n in nodes):
        bus.run(DELIVERIES)
        if not bus.pending:
            engine.spin_once(timeout_sec=SPIN_PERIOD)
            continue
        for _ in range(EVENTS):
            engine.spin_once(timeout_sec=0)
    if shutdown.requested or any(n.exit_code for n in nodes):
        for node in nodes:
            node.stop_ticks()
    bus.run(MAX_LAST_DELIVERIES)  # what is queued; a run that has ended sends no more
    for node in nodes:
        node.drain(engine)
        node.close()
    engine.shutdown()  # its references would keep DDS, and its shared memory, alive
    return max(n.exit_code for n in nodes)


_joined: list[Node] = []


@contextmanager
def _ros_errors() -> Iterator[None]:
    """Turn an error of rcl, as of ROS_STATIC_PEERS, into a ParameterError of one line."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings('ignore', 'Failed to fini')  # rclpy's, of half a node
            yield
    except rcl_error() as error:
        reason = re.sub(r'[,\s]*,? at /\S+', '', ' '.join(str(error).split()))
        raise ParameterError(
            f'ROS: {reason}; expected environment variables ROS_* that ROS can use'
        ) from None


def join() -> None:
    """Join the ROS graph before :func:`run` creates nodes, so that discovery begins early.

    Raises:
        ParameterError: ROS refuses it, for example because of an environment variable.
    """
    end_with_parent()
    import_type_support()
    with _ros_errors():
        # Without sys.argv, where rcl would read any NAME:=VALUE as a remap rule.
        rclpy.init(args=log_arguments(), signal_handler_options=SignalHandlerOptions.NO)
        name = f'_early_{os.getpid()}'  # hidden
        _joined.append(
            Node(
                name,
                enable_rosout=False,
                start_parameter_services=False,
                parameter_overrides=[NO_TYPE_DESCRIPTIONS],
            )
        )


def run(*makers: Callable[[], VehicleNode], bus: Bus | None = None) -> None:
    """Create nodes, serve them, and end the process with their exit code (2: bad input)."""
    shutdown = Shutdown()
    end_with_parent()
    import_type_support()
    code = 1
    nodes: list[VehicleNode] = []  # also complete where a later node cannot be created
    try:
        with paused_garbage_collection(), _ros_errors():
            if not _joined:
                arguments = [*ros_arguments(), *log_arguments()]
                rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
            for make in makers:
                nodes.append(make())
            while _joined:
                _joined.pop().destroy_node()
            gc.freeze()  # objects of the start live to the end: do not scan them again
        code = spin(nodes, shutdown, bus)
    except MarineSimError as error:
        sys.stderr.write(own_line_text(f'ERROR: {error}\n', sys.stderr))
        code = exit_code(error)
    finally:
        _limit_shutdown(code)
        for node in (*_joined, *nodes):
            node.destroy_node()
        rclpy.try_shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # Without this, DDS threads that are still closing can hold the process up for a second.
    os._exit(code)


def _limit_shutdown(code: int) -> None:
    """End this process where DDS does not shut down; a failed one still returns exit code 1."""
    if code:
        null = os.open(os.devnull, os.O_WRONLY)
        faulthandler.dump_traceback_later(SHUTDOWN_TIME, exit=True, file=null)
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, SHUTDOWN_CPU_TIME)


def own_arguments() -> list[str]:
    """Return the command-line arguments before those of ROS."""
    return list(takewhile(lambda argument: argument != '--ros-args', sys.argv[1:]))


def ros_arguments() -> list[str]:
    """Return the command-line arguments for ROS, from ``--ros-args`` on.

    Among other arguments rcl would read NAME:=VALUE as a remap rule.
    """
    return sys.argv[1 + len(own_arguments()) :]


def makers(
    node_class: Callable[..., VehicleNode], arguments: Sequence[str], **shared: Callable[[], Any]
) -> list[Callable[[], VehicleNode]]:
    """Return the factories of the nodes of a process: one, or one for each vehicle of a fleet.

    Args:
        arguments: command line; for a fleet the name of the node, then namespace and parameters of
            each as JSON.
        **shared: makers of objects that the nodes of a fleet share, by their arguments.
    """
    if not arguments:
        return [node_class]
    options = {name: make() for name, make in shared.items()}
    return [partial(_make_node, node_class, options, json.loads(text)) for text in arguments[1:]]


def _make_node(
    node_class: Callable[..., VehicleNode], options: dict[str, Any], spec: dict[str, Any]
) -> VehicleNode:
    values = [Parameter(name, value=value) for name, value in spec['parameters'].items()]
    return node_class(parameter_overrides=values, namespace=spec['namespace'], **options)


def run_named(kind: str, make: Callable[[str], VehicleNode]) -> None:
    """Run ``KIND NAME [--ros-args ...]``: make the node of the name and serve it."""
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        sys.stderr.write(f'ERROR: {kind}: expected the name of a {kind} as the first argument\n')
        sys.exit(2)
    run(lambda: make(sys.argv[1]))
