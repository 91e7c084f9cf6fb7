# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Process of one or more nodes: executor, signals, exit codes."""

from __future__ import annotations

import faulthandler
import gc
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
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from marine_sim_ros.core.errors import MarineSimError, ParameterError, exit_code
from marine_sim_ros.core.processes import end_with_parent
from marine_sim_ros.core.progress import own_line_text
from marine_sim_ros.core.startup import paused_garbage_collection
from marine_sim_ros.ros.base.bus import Bus
from marine_sim_ros.ros.base.internals import import_type_support, log_words
from marine_sim_ros.ros.base.node import SuiteNode

__all__ = ['Shutdown', 'executor', 'join', 'own_words', 'ros_words', 'run', 'run_named', 'spin']

SPIN_PERIOD = 0.1
DELIVERIES, EVENTS, LAST = 128, 4, 10**6
PARTING = 2.0
"""s of processor time for DDS to take leave in. Once in a while Fast DDS spins for ever in there,
and holds Python's lock, so that no handler of Python's ends it."""
LONGEST_PARTING = 4.0
"""The same in s of wall time for a process that failed, which then ends with exit code 1."""


class Shutdown:
    """Set by SIGINT and SIGTERM alike; a job in the background may have SIGINT ignored."""

    def __init__(self) -> None:
        """Install the handlers."""
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: object) -> None:
        del number, frame
        self.asked = True


def executor() -> Any:
    """Return the fastest executor this rclpy has."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        from rclpy.executors import SingleThreadedExecutor

        return SingleThreadedExecutor()
    return EventsExecutor()


def spin(nodes: Sequence[SuiteNode], shutdown: Shutdown, bus: Bus | None = None) -> int:
    """Serve nodes until one has finished or a signal comes; return the exit code.

    Deliveries over the bus and events of DDS, timers and services take turns.
    """
    bus = bus or Bus()
    engine = executor()
    bus.wake = partial(engine.create_task, bool)  # its wake() looks through all of its nodes
    for node in nodes:
        engine.add_node(node)
    # Not spin(): without a timeout the EventsExecutor never looks at the signals.
    while not shutdown.asked and not any(n.finished for n in nodes):
        bus.run(DELIVERIES)
        if not bus.pending:
            engine.spin_once(timeout_sec=SPIN_PERIOD)
            continue
        for _ in range(EVENTS):
            engine.spin_once(timeout_sec=0)
    if shutdown.asked or any(n.exit_code for n in nodes):
        for node in nodes:
            node.stop_ticks()
    bus.run(LAST)  # what is under way; a run that has ended sends no more
    for node in nodes:
        node.drain(engine)
        node.close()
    engine.shutdown()  # what it holds would keep DDS, and its shared memory, alive
    return max(n.exit_code for n in nodes)


_joined: list[Node] = []


@contextmanager
def _ros_errors() -> Iterator[None]:
    """Turn an error of rcl, as of ROS_STATIC_PEERS, into a ParameterError of one line."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings('ignore', 'Failed to fini')  # rclpy's, of half a node
            yield
    except rclpy_implementation.RCLError as error:
        reason = re.sub(r'[,\s]*,? at /\S+', '', ' '.join(str(error).split()))
        raise ParameterError(
            f'ROS: {reason}; expected environment variables ROS_* that ROS can use'
        ) from None


def join() -> None:
    """Be in the graph before there is a node of this process; :func:`run` goes on from there.

    Raises:
        ParameterError: ROS refuses it, as of a variable of the environment.
    """
    end_with_parent()
    import_type_support()
    with _ros_errors():
        # Not sys.argv, the command's: rcl reads any NAME:=VALUE there as a remap rule.
        rclpy.init(args=log_words(), signal_handler_options=SignalHandlerOptions.NO)
        name = f'_early_{os.getpid()}'  # hidden
        _joined.append(Node(name, enable_rosout=False, start_parameter_services=False))


def run(*makers: Callable[[], SuiteNode], bus: Bus | None = None) -> None:
    """Make nodes, serve them, and end the process with their exit code (2: bad input)."""
    shutdown = Shutdown()
    end_with_parent()
    import_type_support()
    code = 1
    nodes: list[SuiteNode] = []  # also those before one that cannot be made
    try:
        with paused_garbage_collection(), _ros_errors():
            if not _joined:
                words = [*ros_words(), *log_words()]
                rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
            for make in makers:
                nodes.append(make())
            while _joined:
                _joined.pop().destroy_node()
            gc.freeze()  # what a node starts with is there to its end
        code = spin(nodes, shutdown, bus)
    except MarineSimError as error:
        sys.stderr.write(own_line_text(f'ERROR: {error}\n', sys.stderr))
        code = exit_code(error)
    finally:
        _limit_parting(code)
        for node in (*_joined, *nodes):
            node.destroy_node()
        rclpy.try_shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # Without this, DDS threads that are still closing can hold the process up for a second.
    os._exit(code)


def _limit_parting(code: int) -> None:
    """End this process where DDS does not take leave; one that failed still says so."""
    if code:
        quiet = os.open(os.devnull, os.O_WRONLY)
        faulthandler.dump_traceback_later(LONGEST_PARTING, exit=True, file=quiet)
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, PARTING)


def own_words() -> list[str]:
    """Return the words of the command line before those of ROS."""
    return list(takewhile(lambda word: word != '--ros-args', sys.argv[1:]))


def ros_words() -> list[str]:
    """Return the words of the command line for ROS, from ``--ros-args`` on.

    rcl reads NAME:=VALUE among other words as a remap rule, which no option of ours is.
    """
    return sys.argv[1 + len(own_words()) :]


def run_named(kind: str, make: Callable[[str], SuiteNode]) -> None:
    """Run ``KIND NAME [--ros-args ...]``: make the node of the name and serve it."""
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        sys.stderr.write(f'ERROR: {kind}: expected the name of a {kind} as the first argument\n')
        sys.exit(2)
    run(lambda: make(sys.argv[1]))
