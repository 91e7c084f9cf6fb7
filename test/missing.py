# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Runs code in a process that finds none of the packages that only some features need."""

import subprocess
import sys

from marine_sim_ros.core.extras import PACKAGE_SOURCES

BLOCKER = """
import sys
sys.modules.update(dict.fromkeys({names}))  # import and find_spec: there is none
"""
ROS = (
    'rclpy',
    'builtin_interfaces',
    'diagnostic_msgs',
    'geometry_msgs',
    'nav_msgs',
    'rcl_interfaces',
    'rosgraph_msgs',
    'sensor_msgs',
    'std_msgs',
    'std_srvs',
    'tf2_msgs',
    'visualization_msgs',
)
OTHERS = ('array_api_compat', 'daqp', 'array_api_strict')


def python_without(names, code, **options):
    """Run code where packages, by the names they are imported with, are not installed."""
    full = BLOCKER.format(names=tuple(names)) + code
    return subprocess.run(
        [sys.executable, '-c', full], capture_output=True, text=True, timeout=280, **options
    )


def core_alone(code, **options):
    return python_without((*PACKAGE_SOURCES, *OTHERS), code, **options)


def command_without(names, *arguments, **options):
    """Run the marine_sim command where packages are not installed."""
    code = f'from marine_sim_ros.tools.main import main\nmain({list(arguments)!r})'
    return python_without(names, code, **options)
