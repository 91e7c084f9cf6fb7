# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the ROS 2 package joy, which reads gamepads, is installed; imports no launch."""

from __future__ import annotations

from functools import cache

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.ros_distribution import ros_packages

__all__ = ['check_joy', 'has_joy', 'no_joy']


@cache
def has_joy() -> bool:
    """Return whether the ament index has the package."""
    try:
        from ament_index_python.packages import get_package_prefix

        get_package_prefix('joy')
    except (ImportError, LookupError, ValueError):  # no index; no such package; no path of it
        return False
    return True


def no_joy() -> str:
    """Return what is missing, and both remedies."""
    return (
        'the ROS package joy, which reads gamepads, is not installed (PyPI does not have it); '
        f'expected `apt install {ros_packages("joy")}` (rosdep key joy), or the gamepad on the '
        'page of the console, where the browser reads it'
    )


def check_joy() -> None:
    """Raise ParameterError where it is not installed."""
    if not has_joy():
        raise ParameterError(f'joy:=true: {no_joy()} (console:=true)')
