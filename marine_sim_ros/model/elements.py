# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Elements of this package in a URDF: names of their attributes and children."""

from __future__ import annotations

from collections.abc import Mapping

from marine_sim_ros.core.registry import ACTUATORS, CONTROLLERS, FORCES, SENSORS
from marine_sim_ros.core.schema import ElementSchema, schema_of
from marine_sim_ros.model.arm_reader import ManipulatorElement
from marine_sim_ros.model.hydrodynamics import HYDRODYNAMICS, BuoyancyElement, MaterialElement
from marine_sim_ros.model.mass import MassElement
from marine_sim_ros.model.propulsion import ThrustersElement
from marine_sim_ros.model.sensors import SENSOR_ELEMENT, element_schema
from marine_sim_ros.model.xml import Element

__all__ = [
    'COLLISION_ELEMENTS',
    'CONTACT_MATERIAL',
    'KNOWN_ELEMENTS',
    'URDF_ELEMENTS',
    'element_schemas',
    'has_own_elements',
    'robot_elements',
]

CONTACT_MATERIAL = 'contact_material'
URDF_ELEMENTS = frozenset({'link', 'joint', 'material', 'gazebo', 'transmission'})
"""Elements of URDF below <robot>."""
KNOWN_ELEMENTS = URDF_ELEMENTS | {'ros2_control', 'sensor'}
"""Those, and the ones that other programs read."""
_ROBOT: Mapping[str, ElementSchema] = {
    'hydrodynamics': HYDRODYNAMICS,
    'buoyancy': schema_of(BuoyancyElement),
    'buoyancy_material': schema_of(MaterialElement),
    'thrusters': schema_of(ThrustersElement),
    'mass_from_parts': schema_of(MassElement),
    'manipulator': schema_of(ManipulatorElement),
}
_CORE = frozenset({*_ROBOT, CONTACT_MATERIAL, SENSOR_ELEMENT})
COLLISION_ELEMENTS = frozenset({'buoyancy_material', 'hydrodynamics', CONTACT_MATERIAL})
"""Elements of this package in a <collision>."""


def element_schemas() -> dict[str, ElementSchema]:
    """Return the schema of each element of this package that has one.

    The readers of <sensor> and <contact_material> refuse attributes that they do not know.
    """
    result = dict(_ROBOT)
    for sensor in SENSORS.values():
        if sensor.element and sensor.spec is not None:
            result[sensor.element] = element_schema(sensor)
    for model in (*FORCES.values(), *ACTUATORS.values(), *CONTROLLERS.values()):
        if model.element and model.parts is not None:
            result[model.element] = schema_of(model.parts)
    return result


def robot_elements() -> frozenset[str]:
    """Return the names of this package's elements below <robot>; other readers ignore them."""
    entries = (
        *SENSORS.values(), *FORCES.values(), *ACTUATORS.values(), *CONTROLLERS.values(),
    )  # fmt: skip
    return _CORE | {entry.element for entry in entries if entry.element}


def has_own_elements(robot: Element) -> bool:
    """Return whether a <robot> has elements of this package.

    The names of all sensors and controllers are asked only where no common element stands:
    their modules take a fifth of a start.
    """
    tags = {element.tag for element in robot}
    return not (tags.isdisjoint(_CORE) and tags.isdisjoint(robot_elements()))
