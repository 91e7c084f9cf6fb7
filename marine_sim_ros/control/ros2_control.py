# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hardware of ros2_control: which devices of a vehicle its joints are, commands and states.

The topics are those of the plugins topic_based_ros2_control and
joint_state_topic_hardware_interface: one JointState each way. A command message names all joints,
and each of its fields has the numbers of those joints alone that have that command interface.

Source: topic_based_ros2_control, commit 6bd8d55 (src/topic_based_system.cpp), and
topic_based_hardware_interfaces, commit d115f23 (joint_state_topic_hardware_interface.cpp).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.controller_model import ControllerModel
from marine_sim_ros.control.effectors import PulseWidths
from marine_sim_ros.core.errors import ModelError, expected_one_of
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.model.servos import HardwareJoint, HardwareSystem
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle
from marine_sim_ros.model.xml import parse
from marine_sim_ros.physics import actuators_of

__all__ = [
    'FIELDS',
    'HardwareFault',
    'JOINT_KIND',
    'ROS2_CONTROL',
    'THRUSTER_KIND',
    'ThrustTables',
    'command_values',
    'default_systems',
    'devices_of',
    'hardware_faults',
    'systems_of',
    'with_hardware',
]

FIELDS = ('position', 'velocity', 'effort')
"""Fields of a JointState, and the interfaces that it can carry."""
PLUGINS = (
    'topic_based_ros2_control/TopicBasedSystem',
    'joint_state_topic_hardware_interface/JointStateTopicSystem',
)
"""Plugins of ros2_control whose topics are served."""
THRUSTER_KIND, JOINT_KIND = 'thrusters', 'joints'
"""Kinds of devices beside the names of actuators."""
_THRUST_INTERFACES = ('effort', 'velocity')


# Devices: thrusters, joints of an arm, a gripper, and actuators that controllers steer.


def devices_of(vehicle: Vehicle) -> dict[str, str]:
    """Return the kind of each device by its name; of an actuator, the actuator's name."""
    arm = vehicle.manipulator
    steered = [a for a in actuators_of(vehicle) if a.steered and a.command_topic]
    return {
        **dict.fromkeys(vehicle.thrusters.names, THRUSTER_KIND),
        **{name: a.name for a in steered for name in a.names(vehicle)},
        **dict.fromkeys(() if arm is None else arm.names, JOINT_KIND),
        **({GRIPPER: GRIPPER} if GRIPPER in vehicle.extensions else {}),
    }


def command_interfaces(vehicle: Vehicle, kind: str) -> tuple[str, ...]:
    """Return the command interfaces that a kind of device has; the first is the default."""
    if kind == THRUSTER_KIND:
        return _THRUST_INTERFACES
    if kind != JOINT_KIND:
        return ('position',)
    arm = vehicle.manipulator
    return FIELDS if arm is not None and arm.joint_dynamics is not None else FIELDS[:2]


def default_systems(vehicle: Vehicle, namespace: str) -> tuple[HardwareSystem, ...]:
    """Return one system with all devices of a vehicle, and topics below its namespace."""
    states = {THRUSTER_KIND: FIELDS, JOINT_KIND: FIELDS[:2]}
    joints = tuple(
        HardwareJoint(name, command_interfaces(vehicle, kind)[:1], states.get(kind, FIELDS[:1]))
        for name, kind in devices_of(vehicle).items()
    )
    commands, feedback = (f'/{namespace}/ros2_control/{n}' for n in ('commands', 'states'))
    return (HardwareSystem(vehicle.name, PLUGINS[0], commands, feedback, joints),)


def systems_of(vehicle: Vehicle, namespace: str) -> tuple[HardwareSystem, ...]:
    """Return the systems that a vehicle's URDF describes, or else the default one.

    Raises:
        ModelError: one that cannot be served.
    """
    described: tuple[HardwareSystem, ...] = vehicle.extensions.get('ros2_control', ())
    served = tuple(system for system in described if system.plugin in PLUGINS)
    if not described:
        return default_systems(vehicle, namespace)
    for fault in hardware_faults(vehicle):
        if fault.is_error:
            raise ModelError(
                f'{vehicle.name}: <ros2_control name="{fault.system}">: {fault.text}; '
                f'{fault.advice}'
            )
    if not served:
        raise ModelError(
            f'{vehicle.name}: no <ros2_control> has one of the plugins that exchange topics; '
            f'expected {" or ".join(PLUGINS)}'
        )
    return served


# Faults of <ros2_control>, for doctor and for the node.


class HardwareFault(NamedTuple):
    """A fault of a system or, where ``joint`` is not empty, of one of its joints."""

    system: str
    joint: str
    text: str
    advice: str
    is_error: bool = True


def hardware_faults(vehicle: Vehicle) -> Iterator[HardwareFault]:
    """Yield the faults of a vehicle's <ros2_control>; other plugins are no error."""
    devices, owners = devices_of(vehicle), dict[str, str]()
    for system in vehicle.extensions.get('ros2_control', ()):
        if system.plugin not in PLUGINS:
            yield HardwareFault(
                system.name,
                '',
                f'plugin {system.plugin!r} is not served',
                f'expected {" or ".join(PLUGINS)}, which exchange topics',
                is_error=False,
            )
            continue
        for joint in system.joints:
            yield from _joint_faults(vehicle, system.name, joint, devices)
            if joint.name in owners:
                text = f'joint {joint.name} is in {owners[joint.name] or "a system"} too'
                yield HardwareFault(system.name, joint.name, text, 'keep one of them')
            owners[joint.name] = system.name
        arm = {
            j.commands for j in system.joints if devices.get(j.name) == JOINT_KIND and j.commands
        }
        if len(arm) > 1:
            text = 'joints of the arm have different command interfaces'
            yield HardwareFault(system.name, '', text, 'give all of them the same one')


def _joint_faults(
    vehicle: Vehicle, system: str, joint: HardwareJoint, devices: Mapping[str, str]
) -> Iterator[HardwareFault]:
    """Yield the faults of a joint: its name, and the interfaces that it has."""
    kind = devices.get(joint.name)
    if kind is None:
        text = f'joint {joint.name!r} is no thruster, servo or joint of an arm'
        yield HardwareFault(system, joint.name, text, expected_one_of(joint.name, tuple(devices)))
        return
    known = command_interfaces(vehicle, kind)
    for name in joint.commands:
        if name not in known:
            text = f'joint {joint.name} has the command interface {name!r}'
            yield HardwareFault(system, joint.name, text, expected_one_of(name, known))
    if len(joint.commands) > 1:
        text = f'joint {joint.name} has {len(joint.commands)} command interfaces'
        advice = 'keep one: the plugin sends all of them, whichever a controller has claimed'
        yield HardwareFault(system, joint.name, text, advice)
    for name in joint.states:
        if name not in FIELDS:
            text = f'joint {joint.name} has the state interface {name!r}'
            yield HardwareFault(system, joint.name, text, expected_one_of(name, FIELDS))


# Commands: from the fields of a JointState to a number for each device.


def command_values(
    system: HardwareSystem, names: Sequence[str], fields: Mapping[str, Sequence[float]]
) -> dict[str, tuple[str, float]]:
    """Return interface and number by the name of the joint; NaN, of a free interface, is left out.

    Args:
        system: of which the message is.
        names: names in the message.
        fields: numbers by the name of the field: of all names, or of those with that interface.

    Raises:
        ValueError: an unknown name, a field of another length, or an infinite number.
    """
    joints = {joint.name: joint for joint in system.joints}
    if unknown := [name for name in names if name not in joints]:
        raise ValueError(f'joint {unknown[0]!r:.60}; {expected_one_of(unknown[0], tuple(joints))}')
    result: dict[str, tuple[str, float]] = {}
    for field, numbers in fields.items():
        owners = [name for name in names if field in joints[name].commands]
        if len(numbers) not in (0, len(owners), len(names)):
            raise ValueError(
                f'{field} has {len(numbers)} numbers; expected {len(owners)}, of the joints with '
                'that command interface'
            )
        of = owners if len(numbers) == len(owners) else names
        for name, number in zip(of, numbers, strict=False):
            if np.isinf(number):
                raise ValueError(f'{field} of {name} is infinite')
            if name in owners and not np.isnan(number):
                result[name] = field, float(number)
    return result


class ThrustTables:
    """Pulse widths of thrusters by thrust (``effort``, N) or rotor speed (``velocity``, rad/s)."""

    def __init__(self, thrusters: ThrusterSet) -> None:
        """Tabulate every pulse width once."""
        widths = PulseWidths(thrusters)
        speeds = thrusters.speed_of_thrust(widths.levels.T).T
        self._pulses = widths.pulses
        self._levels = {'effort': widths.levels, 'velocity': speeds}

    def pulse_width(self, index: int, interface: str, value: float) -> float:
        """Return the pulse width, µs, whose thrust or speed is nearest to a value."""
        row = self._levels[interface][index]
        return float(self._pulses[index][np.argmin(np.abs(row - value))])


# A URDF with <ros2_control>, for controller_manager.


def with_hardware(urdf: str, vehicle: Vehicle, namespace: str) -> str:
    """Return a URDF with a system of all devices, each of which is a joint.

    A device without a joint of its name gets one, with an empty link: ros2_control refuses other
    names. An element ``<ros2_control>`` that is there is replaced.

    Args:
        urdf: description.
        vehicle: the vehicle that it describes.
        namespace: namespace of the run.

    Raises:
        ModelError: it cannot be read.
    """
    from lxml import etree

    root = parse(urdf, 'robot_description')
    for element in root.findall('ros2_control'):
        root.remove(element)
    present = {joint.get('name') for joint in root.findall('joint')}
    places = dict(zip(vehicle.thrusters.names, vehicle.thrusters.position.tolist(), strict=True))
    (system,) = default_systems(vehicle, namespace)
    for joint in (j for j in system.joints if j.name not in present):
        etree.SubElement(root, 'link', name=f'{joint.name}_device')
        element = etree.SubElement(root, 'joint', name=joint.name, type='continuous')
        etree.SubElement(element, 'parent', link=vehicle.base_link)
        etree.SubElement(element, 'child', link=f'{joint.name}_device')
        xyz = ' '.join(f'{x:g}' for x in places.get(joint.name, (0, 0, 0)))
        etree.SubElement(element, 'origin', xyz=xyz)
        etree.SubElement(element, 'axis', xyz='0 0 1')
    control = etree.SubElement(root, 'ros2_control', name=system.name, type='system')
    hardware = etree.SubElement(control, 'hardware')
    etree.SubElement(hardware, 'plugin').text = system.plugin
    for name, text in (
        ('joint_commands_topic', system.commands_topic),
        ('joint_states_topic', system.states_topic),
        ('trigger_joint_command_threshold', '-1'),  # each update sends a command
    ):
        etree.SubElement(hardware, 'param', name=name).text = text
    for joint in system.joints:
        element = etree.SubElement(control, 'joint', name=joint.name)
        for side, interfaces in (('command', joint.commands), ('state', joint.states)):
            for name in interfaces:
                etree.SubElement(element, f'{side}_interface', name=name)
    etree.indent(root)
    return etree.tostring(root, encoding='unicode') + '\n'


ROS2_CONTROL = ControllerModel(
    'ros2_control',
    label='ros2_control',
    executable='ros2_control',
    options=('await_commands', 'warm_up'),
    steers=True,
)
"""Controllers of ros2_control, in a process of their own."""
