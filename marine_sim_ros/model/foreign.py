# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions for other simulators, which fall here until they are imported."""

from __future__ import annotations

import re
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model import xml
from marine_sim_ros.model.extensions import robot_elements
from marine_sim_ros.model.orca3 import has_plugins

__all__ = ['check_native']

_WATER = re.compile(
    r'underwater_object|uuv_|usv_|hydrodynamics|buoyancy|thruster|lift-?drag|motor_?model|'
    r'freefloating|vrx::surface|libsurface|wave_?sim|gz-waves',
    re.IGNORECASE,
)
"""Of plugins that float, drag or push a vehicle in Gazebo."""


def check_native(path: Path, robot: xml.Element) -> None:
    """Refuse a URDF whose water only plugins of another simulator describe.

    Args:
        path: its file.
        robot: the <robot>, xacro expanded.

    Raises:
        ModelError: it has none of our elements, and such plugins or a <buoyancy> in a link.
    """
    if has_plugins(robot) or any(element.tag in robot_elements() for element in robot):
        return
    plugins = (
        (p, f'{p.get("name", "")} {p.get("filename", "")}'.strip())
        for gazebo in robot.findall('gazebo')
        for p in gazebo.iter('plugin')
    )
    found = next((label for _, label in plugins if _WATER.search(label)), '')
    if not found and robot.find('link/buoyancy') is not None:
        found = '<buoyancy> in a <link>'
    if found:
        written = path.name.removesuffix('.xacro').removesuffix('.urdf')
        raise ModelError(
            f'{path}: its water is described for another simulator ({found[:120]}), and without '
            f'it the vehicle falls; import it first: marine_sim import {path} -o '
            f'{written}_imported.urdf'
        )
