# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ros_gz_bridge: its command line, and config/gazebo/<delivery>.yaml with names filled in."""

from __future__ import annotations

from pathlib import Path
from string import Template

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.resources import resource_folder

__all__ = ['bridge_command', 'bridge_text', 'control_service']


def bridge_text(delivery: str, *, namespace: str, model: str, world: str) -> str:
    """Return the YAML text that ros_gz_bridge is to read.

    Args:
        delivery: ``in_server`` or ``stock``.
        namespace: namespace of the vehicle's topics in ROS, such as ``/bluerov2``.
        model: name of the vehicle in Gazebo.
        world: name of the world.

    Raises:
        ParameterError: the file cannot be read.
    """
    path = resource_folder('config') / 'gazebo' / f'{delivery}.yaml'
    try:
        template = Template(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise ParameterError(f'{path}: cannot be read: {error.strerror}') from None
    return template.substitute(namespace=namespace, model=model, world=world)


def control_service(world: str) -> str:
    """Return the argument with which ros_gz_bridge offers a world's control service.

    Its configuration file knows topics only.
    """
    return f'/world/{world}/control@ros_gz_interfaces/srv/ControlWorld'


def bridge_command(program: Path, world: str, file: Path) -> list[str]:
    """Return the command line that bridges what a file names, and a world's control service."""
    return [str(program), control_service(world), '--ros-args', '-p', f'config_file:={file}']
