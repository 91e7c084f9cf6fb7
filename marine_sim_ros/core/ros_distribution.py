# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The ROS 2 distribution of this environment: names of its packages, and its middleware."""

from __future__ import annotations

import os
import re
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError

__all__ = ['check_middleware', 'ros_packages']

_DEFAULT = 'jazzy'
"""Where no workspace is sourced."""


def ros_packages(*names: str) -> str:
    """Return the names that apt has for packages of ROS, such as ros-jazzy-ros2bag."""
    distribution = os.environ.get('ROS_DISTRO', '')
    if not re.fullmatch('[a-z]+', distribution):
        distribution = _DEFAULT
    return ' '.join(f'ros-{distribution}-{name.replace("_", "-")}' for name in names)


def check_middleware(what: str) -> None:
    """Raise ParameterError where RMW_IMPLEMENTATION names a middleware that is not installed.

    Args:
        what: verb or option that needs ROS.
    """
    wanted = os.environ.get('RMW_IMPLEMENTATION', '')
    installed = sorted(_installed_middleware())
    if wanted and installed and wanted not in installed:
        raise ParameterError(
            f'{what}: RMW_IMPLEMENTATION is {wanted}, which is not installed; expected one of: '
            f'{", ".join(installed)}; or apt install {ros_packages(wanted)}'
        )


def _installed_middleware() -> set[str]:
    """Return the names that packages of middleware leave in the ament index."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    folders = (Path(p, 'share/ament_index/resource_index/rmw_typesupport') for p in prefixes if p)
    found = {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
    return found - {'rmw_implementation'}  # which loads one of the others
