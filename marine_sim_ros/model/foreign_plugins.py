# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Names the Gazebo plugins of a description that nothing here reads."""

from __future__ import annotations

from marine_sim_ros.model.orca3 import is_orca3
from marine_sim_ros.model.sensors import is_foreign
from marine_sim_ros.model.xml import Element, Reader

__all__ = ['foreign_plugins', 'ignored']

IMPORT = 'marine_sim import reads plugins of Gazebo, UUV Simulator and VRX'
READ = (
    'libOrca…Plugin.so, <thrusters>, <buoyancy>, <hydrodynamics>, <barometer> and '
    '<sensor type="" link="">'
)


def foreign_plugins(robot: Element) -> list[Element]:
    """Return the <gazebo> plugins of a robot that are not Orca3's."""
    return [p for p in robot.iterfind('gazebo//plugin') if not is_orca3(p)]


def ignored(robot: Element, source: str) -> tuple[str, ...]:
    """Return a warning with file, line and name for each plugin and sensor that is not read."""
    sensors = tuple(
        Reader(sensor, source).warning(f'is ignored: marine_sim_ros reads {READ}')
        for sensor in robot.findall('sensor')
        if is_foreign(sensor)
    )
    return sensors + tuple(
        Reader(plugin, source).warning(
            f'plugin {plugin.get("filename", "without a filename")} is ignored: '
            f'marine_sim_ros reads {READ}; {IMPORT}'
        )
        for plugin in foreign_plugins(robot)
    )
