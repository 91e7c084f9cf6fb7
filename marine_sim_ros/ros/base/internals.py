# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Internals of rclpy and rcl: clock, peer counts, type support of messages, log folder.

ROS distributions differ in them. Where one is missing, the slower public interface is used, or the
feature that needs it is left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = [
    'activate_ros_time',
    'clock_subscription',
    'import_type_support',
    'leave_clock',
    'log_words',
    'peer_counter',
]


# Internals of rclpy that make nodes faster, each used only where it exists.


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
    """Let a clock show the time that it is set to."""
    activate = getattr(clock, '_set_ros_time_is_active', None)
    if activate is not None:
        activate(True)
        return
    with clock.handle:
        clock.handle.set_ros_time_override_is_enabled(True)


def peer_counter(endpoint: Any, name: str) -> Callable[[], int]:
    """Return a counter of the peers of a publisher or subscription.

    Args:
        endpoint: publisher or subscription.
        name: get_subscription_count or get_publisher_count; that of the handle takes a fifth of
            the time of its wrapper.
    """
    counter: Callable[[], int] = getattr(getattr(endpoint, 'handle', None), name, None) or getattr(
        endpoint, name
    )
    return counter


# Import of the C type support of messages, without generating their Python code.

_PACKAGE = 'rosidl_generator_py'
_GENERATOR = f'{_PACKAGE}.generate_py_impl'


def import_type_support() -> None:
    """Import ``rosidl_generator_py`` as messages need it.

    The package goes without its generator where that cannot be imported. The generator brings
    two parsers, lark and empy, that cost every node 30 ms and 5 MB.
    """
    if _PACKAGE in sys.modules:
        return
    sys.modules[_GENERATOR] = None  # type: ignore[assignment]  # an import raises ImportError
    try:
        import_module(_PACKAGE)
    finally:
        del sys.modules[_GENERATOR]


# Log files of rcl, left out where their folder cannot be made.


def log_words() -> list[str]:
    """Return words for :func:`rclpy.init`: no log files where rcl cannot make their folder.

    rcl takes ``$ROS_LOG_DIR``, else ``$ROS_HOME/log``, else ``~/.ros/log``, and ends the process
    where that fails (https://docs.ros.org/en/jazzy/Tutorials/Demos/Logging-and-logger-configuration.html).
    """
    given, home = os.environ.get('ROS_LOG_DIR'), os.environ.get('ROS_HOME')
    if not (given or home or os.environ.get('HOME')):  # rcl asks no list of users
        return ['--ros-args', '--disable-external-lib-logs']
    folder = Path(given or Path(home or Path.home() / '.ros') / 'log')
    try:
        folder = folder.expanduser()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return ['--ros-args', '--disable-external-lib-logs']
    if os.access(folder, os.W_OK | os.X_OK):
        return []
    return ['--ros-args', '--disable-external-lib-logs']
