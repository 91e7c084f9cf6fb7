# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Element ``<ros2_control>`` of a URDF: systems, joints and interfaces, as ros2_control reads it.

Source: ros2_control, commit 53b9999 (hardware_interface/src/component_parser.cpp), and
topic_based_ros2_control, commit 6bd8d55 (src/topic_based_system.cpp).
"""

from __future__ import annotations

from dataclasses import dataclass

from marine_sim_ros.model.xml import Reader

__all__ = ['COMMANDS_TOPIC', 'HardwareJoint', 'HardwareSystem', 'STATES_TOPIC', 'read_systems']

COMMANDS_TOPIC, STATES_TOPIC = '/robot_joint_commands', '/robot_joint_states'
"""Topics of a system that names none."""


@dataclass(frozen=True)
class HardwareJoint:
    """A joint, and the names of its command and state interfaces."""

    name: str
    commands: tuple[str, ...]
    states: tuple[str, ...]


@dataclass(frozen=True)
class HardwareSystem:
    """One element ``<ros2_control>``: its plugin, topics and joints."""

    name: str
    plugin: str
    commands_topic: str
    states_topic: str
    joints: tuple[HardwareJoint, ...]


def read_systems(root: Reader) -> tuple[HardwareSystem, ...]:
    """Return the systems and actuators below a robot; elements of other hardware are no error."""
    elements = root.element.findall('ros2_control')
    readers = (Reader(element, root.source) for element in elements)
    return tuple(_read_system(r) for r in readers if r.attribute('type', 'system') != 'sensor')


def _read_system(reader: Reader) -> HardwareSystem:
    parameters = {
        parameter.get('name', ''): (parameter.text or '').strip()
        for parameter in reader.element.findall('hardware/param')
    }
    return HardwareSystem(
        reader.attribute('name', ''),
        (reader.element.findtext('hardware/plugin') or '').strip(),
        parameters.get('joint_commands_topic', COMMANDS_TOPIC),
        parameters.get('joint_states_topic', STATES_TOPIC),
        tuple(
            HardwareJoint(
                joint.get('name', ''),
                *(
                    tuple(i.get('name', '') for i in joint.findall(f'{side}_interface'))
                    for side in ('command', 'state')
                ),
            )
            for joint in reader.element.findall('joint')
        ),
    )
