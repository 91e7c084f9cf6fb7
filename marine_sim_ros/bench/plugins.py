# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A world in which Gazebo's own underwater plugins move a vehicle, to compare with."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.stamps import step_nanoseconds
from marine_sim_ros.gazebo.world import GazeboWorld
from marine_sim_ros.model import xml
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Element
from marine_sim_ros.sdf.elements import add, to_text
from marine_sim_ros.sdf.model import sdf_model

__all__ = ['command_topics', 'plugin_world']

_WATER = 1000.0
"""kg/m³."""
_PROPELLER = 0.01
"""kg; Gazebo's Thruster turns a link by a joint."""


def _plugin(parent: Element, system: str) -> Element:
    library = f'gz-sim-{system.lower()}-system'
    return add(parent, 'plugin', filename=library, name=f'gz::sim::systems::{system}')


def _add_thruster(model: Element, place: np.ndarray, axis: np.ndarray, joint: str) -> None:
    name = f'{joint}_propeller'
    link = add(model, 'link', name=name)
    add(link, 'pose', [*place, 0, 0, 0])
    inertial = add(link, 'inertial')
    add(inertial, 'mass', _PROPELLER)
    inertia = add(inertial, 'inertia')
    for tag in ('ixx', 'iyy', 'izz'):
        add(inertia, tag, 1e-5)
    element = add(model, 'joint', name=joint, type='revolute')
    add(element, 'parent', 'base_link')
    add(element, 'child', name)
    add(add(element, 'axis'), 'xyz', axis)
    plugin = _plugin(model, 'Thruster')
    add(plugin, 'namespace', model.get('name', ''))
    add(plugin, 'joint_name', joint)
    add(plugin, 'thrust_coefficient', 0.445)
    add(plugin, 'propeller_diameter', 0.076)
    add(plugin, 'fluid_density', _WATER)


def _joints(vehicle: Vehicle) -> list[str]:
    return [f'turn_{i}' for i in range(len(vehicle.thrusters))]


def command_topics(made: GazeboWorld, vehicle: Vehicle) -> list[str]:
    """Return the topics that each thruster's force (gz.msgs.Double, N) is asked for on."""
    return [f'/model/{made.model}/joint/{joint}/cmd_thrust' for joint in _joints(vehicle)]


def plugin_world(world: str, vehicle: Vehicle, *, step: float) -> GazeboWorld:
    """Return a world with a vehicle under Buoyancy, Hydrodynamics and a Thruster for each.

    Mass, added mass, shapes and the diagonals of both drag matrices are the vehicle's; a propeller
    is 10 g.

    Args:
        world: text of an SDF world.
        vehicle: vehicle to spawn, at 10 m depth.
        step: physics step of the world, s.
    """
    root = xml.parse(world, 'the world')
    model = xml.parse(sdf_model(vehicle).text, 'the vehicle').find('model')
    place = root.find('world')
    assert model is not None
    assert place is not None
    add(model, 'pose', [0, 0, -10, 0, 0, 0])
    add(_plugin(place, 'Buoyancy'), 'uniform_fluid_density', _WATER)
    drag = _plugin(model, 'Hydrodynamics')
    add(drag, 'link_name', 'base_link')
    for i, (force, velocity) in enumerate(zip('xyzkmn', 'UVWPQR', strict=True)):
        add(drag, f'{force}{velocity}', -vehicle.damping.linear[i, i])
        add(drag, f'{force}{velocity}abs{velocity}', -vehicle.damping.quadratic[i, i])
    thrusters = vehicle.thrusters
    rows = zip(thrusters.position, thrusters.axis, _joints(vehicle), strict=True)
    for position, axis, joint in rows:
        _add_thruster(model, position, axis, joint)
    place.append(model)
    name, label = place.get('name', ''), model.get('name', '')
    return GazeboWorld(to_text(root), name, label, 'base_link', step_nanoseconds(step))
