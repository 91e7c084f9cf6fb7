# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Check that this Python can run ROS, with a one-line error before any process starts."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import subprocess
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import check_middleware
from marine_sim_ros.core.files import require_posix
from marine_sim_ros.core.processes import module_command

__all__ = ['check_packages', 'require_ros']

CORE = ('lxml', 'numpy', 'rich', 'urdf_parser_py', 'xacro', 'yaml')
"""Packages that every part needs, by the names they are imported with."""
LAST_DOMAIN = 232
"""Of DDS: port 7400 + 250 · domain is below 65536 (DDSI-RTPS 2.2, 9.6.1.1)."""


def _activation() -> str:
    """Return the command that activates the Python of the installation."""
    installed = Path(__file__).resolve().parents[2] / '.venv'
    script = installed / 'bin' / 'activate'
    if script.is_file() and Path(sys.prefix) != installed:
        return f'`. {script}` first'
    return (
        'an activated environment (. .venv/bin/activate) or a sourced workspace '
        "(. install/setup.bash), else pip install 'marine_sim_ros[ros]', or `make setup` in a "
        'checkout'
    )


def check_packages() -> None:
    """Raise ParameterError where this Python lacks a package that every part needs."""
    for name in CORE:
        if importlib.util.find_spec(name) is None:
            raise ParameterError(
                f'this Python ({sys.executable}) has no {name}; expected {_activation()}'
            )


def _of_this_python(spec: ModuleSpec) -> bool:
    """Return whether the compiled part of rclpy is for this version of Python."""
    return PathFinder.find_spec('_rclpy_pybind11', spec.submodule_search_locations) is not None


def require_ros(what: str) -> None:
    """Raise ParameterError where rclpy, its middleware, POSIX or, with SROS2, keys are missing.

    Args:
        what: command or option that needs it.
    """
    require_posix(what)
    spec = importlib.util.find_spec('rclpy')
    if spec is None:
        raise ParameterError(
            f'{what} needs ROS 2, and this Python ({sys.executable}) has no rclpy; '
            f'expected {_activation()}; simulate needs none'
        )
    if not _of_this_python(spec):
        raise ParameterError(
            f'{what} needs ROS 2, and {Path(spec.origin or "rclpy").parent} is that of '
            f'another Python than {sys.executable} ({sys.version_info[0]}.{sys.version_info[1]}); '
            'expected the Python that ROS was built for, or a terminal in which ROS is not sourced'
        )
    check_middleware(what)
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    if not re.fullmatch('[0-9]{1,3}', domain) or int(domain) > LAST_DOMAIN:
        raise ParameterError(
            f'{what}: ROS_DOMAIN_ID is {domain!r}; expected a whole number, 0 to {LAST_DOMAIN}'
        )
    if os.environ.get('ROS_SECURITY_ENABLE') == 'true':
        _check_security(what)


def _check_security(what: str) -> None:
    """Join the graph in another process, for an error of SROS2 before there is a run.

    ROS leaves security out without a word where keys are missing, unless it must enforce it.
    """
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
    if os.environ.get('ROS_SECURITY_STRATEGY') != 'Enforce':
        logging.getLogger(__name__).warning(
            'WARNING: ROS_SECURITY_ENABLE is true, and ROS_SECURITY_STRATEGY is not Enforce: a '
            'program without keys is open to everybody; export ROS_SECURITY_STRATEGY=Enforce'
        )
