# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Log files of rcl, which are left out where no folder for them can be made."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ['log_words']


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
