# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Internals of rclpy and rcl: executor, clock, peer counts, polling, type support, log folder.

ROS distributions differ in them. Where one is missing, the slower public interface is used, or the
feature that needs it is left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = [
    'activate_ros_time',
    'clock_subscription',
    'create_delayed_service',
    'executor',
    'import_type_support',
    'leave_clock',
    'log_arguments',
    'peer_counter',
    'poll_message',
    'rcl_error',
]


# Internals of rclpy that make nodes faster, each used only where it exists.


def executor() -> Any:
    """Return the fastest executor this rclpy has."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        from rclpy.executors import SingleThreadedExecutor

        return SingleThreadedExecutor()
    return EventsExecutor()


def clock_subscription(node: Any) -> Any:
    """Return the subscription of a node to /clock, or None where there is none or it is hidden."""
    return getattr(getattr(node, '_time_source', None), '_clock_sub', None)


def leave_clock(node: Any) -> bool:
    """End the subscription of a node to /clock; return whether that can be done."""
    detach = getattr(getattr(node, '_time_source', None), 'detach_node', None)
    if detach is not None:
        detach()
    return detach is not None


def activate_ros_time(clock: Any) -> None:
    """Switch a clock from system time to the time that it is set to."""
    activate = getattr(clock, '_set_ros_time_is_active', None)
    if activate is not None:
        activate(True)
        return
    with clock.handle:
        clock.handle.set_ros_time_override_is_enabled(True)


def peer_counter(
    endpoint: Any, name: str, otherwise: Callable[[], int] = int
) -> Callable[[], int]:
    """Return a counter of the peers of a publisher or subscription.

    Args:
        endpoint: publisher or subscription.
        name: get_subscription_count or get_publisher_count; that of the handle takes a fifth of
            the time of its wrapper.
        otherwise: counter to use where the endpoint has none (subscriptions of Humble).
    """
    for owner in (getattr(endpoint, 'handle', None), endpoint):
        if hasattr(owner, name):
            counter: Callable[[], int] = getattr(owner, name)
            return counter
    return otherwise


# Internals that have no public counterpart, alike from Humble to Rolling.


def poll_message(subscription: Any, *, serialized: bool = False) -> Any:
    """Return the next message of a subscription that no executor serves, or None.

    Args:
        serialized: return its bytes.
    """
    with subscription.handle:
        taken = subscription.handle.take_message(subscription.msg_type, serialized)
    return None if taken is None else taken[0]


def create_delayed_service(
    node: Any, kind: Any, name: str, callback: Callable[[Any, Any, Callable[[Any], None]], None]
) -> None:
    """Create a service that may answer after its callback has returned.

    The EventsExecutor does not await coroutines. It passes what a callback returns, and the header
    of the request, to ``send_response``.

    Args:
        callback: called with the request, a response, and a function that sends the response.
    """

    def begin(request: Any, response: Any) -> Any:
        return partial(callback, request, response)

    service = node.create_service(kind, name, begin)
    send = service.send_response
    service.send_response = lambda begun, header: begun(lambda response: send(response, header))


def rcl_error() -> type[Exception]:
    """Return the class of errors of rcl."""
    from rclpy.impl.implementation_singleton import rclpy_implementation

    error: type[Exception] = rclpy_implementation.RCLError
    return error


# Import of the C type support of messages, without generating their Python code.

_PACKAGE = 'rosidl_generator_py'
_GENERATOR = f'{_PACKAGE}.generate_py_impl'


def import_type_support() -> None:
    """Import ``rosidl_generator_py`` as messages need it.

    The package works without its generator, whose import is made to fail here: it would load two
    parsers, lark and empy, which cost every node 30 ms and 5 MB.
    """
    if _PACKAGE in sys.modules:
        return
    sys.modules[_GENERATOR] = None  # type: ignore[assignment]  # an import raises ImportError
    try:
        import_module(_PACKAGE)
    finally:
        del sys.modules[_GENERATOR]


# Log files of rcl, left out where their folder cannot be made.


def log_arguments() -> list[str]:
    """Return arguments for :func:`rclpy.init`: no log files where rcl cannot make their folder.

    rcl takes ``$ROS_LOG_DIR``, else ``$ROS_HOME/log``, else ``~/.ros/log``, and ends the process
    where that fails (https://docs.ros.org/en/jazzy/Tutorials/Demos/Logging-and-logger-configuration.html).
    """
    log_dir, home = os.environ.get('ROS_LOG_DIR'), os.environ.get('ROS_HOME')
    if not (log_dir or home or os.environ.get('HOME')):  # rcl reads no /etc/passwd
        return ['--ros-args', '--disable-external-lib-logs']
    folder = Path(log_dir or Path(home or Path.home() / '.ros') / 'log')
    try:
        folder = folder.expanduser()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return ['--ros-args', '--disable-external-lib-logs']
    if os.access(folder, os.W_OK | os.X_OK):
        return []
    return ['--ros-args', '--disable-external-lib-logs']
