# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transports of wrenches to Gazebo, and those that the installation supports."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gazebo.system.marine_sim_bindings import binding_name
from marine_sim_ros.model.body_joints import BodyJoint
from marine_sim_ros.model.free_bodies import tethered_bodies
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.gripping import Gripping

__all__ = [
    'COMPILED',
    'DELIVERIES',
    'IN_SERVER',
    'STOCK',
    'bridge_program',
    'check_gazebo_bodies',
    'choose_delivery',
    'gazebo_release',
    'has_binding',
    'has_module',
    'missing_for_in_server',
    'missing_programs',
    'plugin_folders',
]


# Locations of Gazebo's and ros_gz_bridge's parts on this machine.


def _paths(variable: str) -> list[Path]:
    return [Path(p) for p in os.environ.get(variable, '').split(os.pathsep) if p]


def _prefixes() -> Iterator[Path]:
    """Yield where gz-sim may be installed, first where the command ``gz`` looks for it.

    ROS has ``gz`` itself in another folder than gz-sim (gz_tools_vendor).
    """
    if program := shutil.which('gz'):
        yield Path(program).resolve().parent.parent
    for prefix in _paths('AMENT_PREFIX_PATH'):
        yield prefix / 'opt' / 'gz_sim_vendor'
    yield Path('/usr')


def _installed_folders() -> list[Path]:
    """Return the folders of systems of the gz-sim that ``gz`` runs; none: []."""
    patterns = ('lib/gz-sim*/plugins', 'lib/*/gz-sim*/plugins')
    folders = ([folder for p in patterns for folder in prefix.glob(p)] for prefix in _prefixes())
    return next(filter(None, folders), [])


def plugin_folders() -> list[Path]:
    """Return the folders in which ``gz sim`` may find systems."""
    return [*_paths('GZ_SIM_SYSTEM_PLUGIN_PATH'), *_installed_folders()]


def gazebo_release() -> int:
    """Return the major version of the gz-sim that ``gz`` runs; 0: none was found."""
    names = (folder.parent.name for folder in _installed_folders())
    matches = (re.fullmatch(r'gz-sim-?(\d+)', name) for name in names)
    return max((int(match[1]) for match in matches if match), default=0)


def has_binding(stem: str) -> bool:
    """Return whether a Python module of Gazebo is installed, named without its number."""
    try:
        return bool(binding_name(stem))
    except ImportError:
        return False


def has_module(name: str) -> bool:
    """Return whether a Python module can be imported."""
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def bridge_program() -> Path | None:
    """Return ros_gz_bridge's program in the workspaces that are sourced, or None."""
    for prefix in _paths('AMENT_PREFIX_PATH'):
        path = prefix / 'lib' / 'ros_gz_bridge' / 'parameter_bridge'
        if path.is_file():
            return path
    return None


def missing_programs() -> list[str]:
    """Return the missing programs of a run in Gazebo."""
    missing = [] if shutil.which('gz') else ['the command gz']
    return missing + ([] if bridge_program() else ['ros_gz_bridge'])


# Transports of wrenches to Gazebo, and those that this machine supports.

IN_SERVER, STOCK, COMPILED = 'in_server', 'stock', 'compiled'
DELIVERIES = ('auto', IN_SERVER, STOCK, COMPILED)

_LOADER = 'libgz-sim-python-system-loader-system.so'
_MODULES = ('gz.sim', 'gz.transport', 'gz.msgs', 'gz.math', 'sdformat')
"""Without the numbers that they have up to Gazebo Ionic."""


def missing_for_in_server() -> list[str]:
    """Return the missing requirements of the in-server transport."""
    is_installed = any((folder / _LOADER).is_file() for folder in plugin_folders())
    missing = [] if is_installed else [f'the system {_LOADER}']
    return missing + [f'the Python module {m}' for m in _MODULES if not has_binding(m)]


def choose_delivery(requested: str) -> tuple[str, str]:
    """Return ``in_server``, ``stock`` or ``compiled``, and why, in words for the user.

    Args:
        requested: one of ``DELIVERIES``; ``auto`` takes ``in_server`` where all it needs is there.

    Raises:
        ParameterError: another word, or ``compiled`` where something that it needs is missing.
    """
    if requested not in DELIVERIES:
        raise ParameterError(f'delivery:={requested}; expected one of: {", ".join(DELIVERIES)}')
    if requested not in ('auto', COMPILED):
        return requested, 'as requested'
    missing = missing_for_in_server()
    if requested == COMPILED:
        missing += [] if has_module('jax') else ["the Python module jax (extra 'batch')"]
        if missing:
            raise ParameterError(
                f'delivery:=compiled: {", ".join(missing)}: not found; expected them, or '
                'delivery:=auto'
            )
        return requested, 'as requested'
    if missing:
        return STOCK, f'{", ".join(missing)}: not found'
    return IN_SERVER, 'its loader and modules are here'


# Free bodies that Gazebo moves.


def check_gazebo_bodies(vehicle: Vehicle, environment: Environment, delivery: str) -> None:
    """Refuse free bodies with what Gazebo does not have.

    Raises:
        ParameterError: one line that names all of it.
    """
    if not environment.free_bodies:
        return
    joints = environment.body_joints
    children = [joint.child for joint in joints if joint.mate is None]
    refused = {
        f'delivery {delivery}, which moves the vehicle alone': delivery != IN_SERVER,
        'jaws of a gripper': any(joint.link >= 0 for joint in joints),
        'the gripper': Gripping(vehicle, environment).is_possible,
        'changes of bodies': any(c.changes_bodies for c in environment.changes),
    }
    refused |= {
        f'tether of body {name}': True for name in tethered_bodies(environment.free_bodies)
    }
    for joint in joints:
        if joint.link < 0:
            refused |= {
                f'detents of joint {joint.name}': joint.detents is not None,
                f'mate of joint {joint.name}': joint.mate is not None,
                f'breaking load of joint {joint.name}': joint.is_breakable,
                f'a second joint of {joint.child}': children.count(joint.child) > 1,
                f'a ring of joints at {joint.child}': _is_in_ring(joint.child, joints),
            }
    if texts := [text for text, is_there in refused.items() if is_there]:
        raise ParameterError(
            f'environment {environment.name}: its bodies have no counterpart in Gazebo of: '
            f'{"; ".join(texts)}; expected delivery:=in_server without those, or a run without '
            'Gazebo'
        )


def _is_in_ring(name: str, joints: Sequence[BodyJoint]) -> bool:
    """Return whether the parents of a body lead back to it."""
    parents = {joint.child: joint.parent for joint in joints}
    parent, count = parents.get(name, ''), 0
    while parent and parent != name and count < len(parents):
        parent, count = parents.get(parent, ''), count + 1
    return parent == name
