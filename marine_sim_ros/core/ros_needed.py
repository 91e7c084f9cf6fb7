# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether ROS 2 is here: one line where it is not, before any process starts."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess

from marine_sim_ros.core.child_process import module_command
from marine_sim_ros.core.errors import ParameterError

__all__ = ['require_ros']


def require_ros(what: str) -> None:
    """Raise ParameterError where rclpy is missing, or the keys of SROS2 are while it is on.

    Args:
        what: verb or option that needs it.
    """
    if importlib.util.find_spec('rclpy') is None:
        raise ParameterError(
            f'{what} needs ROS 2 Jazzy, and this Python has no rclpy; expected a sourced '
            "workspace (. install/setup.bash), pip install 'marine_sim_ros[ros]', or a checkout's "
            '`make setup`; simulate needs none'
        )
    if os.environ.get('ROS_SECURITY_ENABLE') == 'true':
        _check_security(what)


def _check_security(what: str) -> None:
    """Join the graph in another process, for an error of SROS2 before there is a run."""
    done = subprocess.run(
        module_command('marine_sim_ros.ros.base.security'),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        reason = re.sub(r',? at /\S+', '', done.stdout.strip()) or 'no participant of DDS'
        raise ParameterError(
            f'{what}: ROS_SECURITY_ENABLE is true, and {reason}; expected a Fast DDS with '
            'security (apt has it, the wheels of PyPI do not) and the enclave / in '
            'ROS_SECURITY_KEYSTORE: see SECURITY.md'
        )
