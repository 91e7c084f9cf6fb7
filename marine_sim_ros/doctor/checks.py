# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All checks, by name. A new one is a function in a file here and one line in a table.

A check takes a :class:`DescriptionContext` and yields its findings; the first line of its
docstring is the rule that it checks. docs/reference/doctor.md gives reasons and sources.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.doctor import hydrodynamics, mass, tags, thrusters, units, verdict
from marine_sim_ros.doctor.context import DescriptionContext, Diagnostic, Severity
from marine_sim_ros.model.arm_reader import MOVING_JOINT_TYPES
from marine_sim_ros.model.tether import Tether
from marine_sim_ros.model.xml import Element

__all__ = ['CHECKS_OF_TEXT', 'CHECKS_OF_VEHICLE', 'examine']


# Links and joints: one tree, valid tf names, fixed hulls.

_WORLD = {'map', 'odom', 'earth', 'world'}
_MAX_SENSOR_DISTANCE = 10.0
"""Sizes of the vehicle; no sensor is farther away from it."""


def _parent_of(root: Element) -> dict[str, str]:
    return {
        str(child.get('link')): str(above.get('link'))
        for joint in root.findall('joint')
        for child in joint.findall('child')
        for above in joint.findall('parent')
    }


def one_tree(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Every link hangs on the body by joints, or tf cannot say where it is."""
    root = context.root
    parent = _parent_of(root)
    links = {str(link.get('name')): link for link in root.findall('link')}
    for joint in root.findall('joint'):
        for end in ('parent', 'child'):
            element = joint.find(end)
            name = None if element is None else element.get('link')
            if name not in links:
                yield context.error(
                    joint,
                    f'its {end} is {name!r}, which is no link',
                    f'name one of: {", ".join(sorted(links)[:8])}',
                )
    for name, link in links.items():
        seen, at = {name}, name
        while at in parent and parent[at] not in seen:
            at = parent[at]
            seen.add(at)
        if at != context.base_link:
            yield context.error(
                link,
                f'does not hang on {context.base_link!r}',
                'add a joint from a link that does',
            )


def frame_names(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Names are frame ids of tf2: no slash at an end, no blanks, not map or odom."""
    for link in context.root.findall('link'):
        name = str(link.get('name'))
        if not re.fullmatch(r'[A-Za-z_][\w.-]*(/[\w.-]+)*', name):
            yield context.warning(
                link,
                f'{name!r} is an odd name for a frame',
                'take letters, digits and underscores, as in "sonar_link", "rov/sonar_link" (tf2)',
            )
        if name in _WORLD:
            yield context.warning(
                link,
                f'{name!r} is the name of a frame of the world (REP 105)',
                'take another; the dynamics publishes map -> the body',
            )


def moving_hull(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Hulls are built with all joints at zero and stay so."""
    root = context.root
    parent = _parent_of(root)
    moving = {
        str(child.get('link'))
        for joint in root.findall('joint')
        if joint.get('type') in MOVING_JOINT_TYPES
        for child in joint.findall('child')
    }
    for link in root.findall('link'):
        name, seen = str(link.get('name')), set()
        at = name
        while at in parent and at not in moving and at not in seen:
            seen.add(at)
            at = parent[at]
        tagged = any(
            c.find(tag) is not None
            for c in link.findall('collision')
            for tag in ('buoyancy_material', 'hydrodynamics')
        )
        if at in moving and tagged:
            yield context.warning(
                link,
                'moves with a joint, but its hull (buoyancy_material, hydrodynamics) stays '
                'where it is at zero',
                'give its volume as <buoyancy link="...">, which moves with it, or fix the joint',
            )


def sensor_links(context: DescriptionContext) -> Iterator[Diagnostic]:
    """No link or thruster is many lengths of the vehicle away: rather millimetres for metres."""
    size = context.size
    if size is None:
        return
    reach = _MAX_SENSOR_DISTANCE * float(max(size))
    own = {e.link for e in context.extents}
    links = {link.get('name'): link for link in context.root.findall('link')}
    places = [
        (links.get(f.name), f.translation) for f in context.frames.values() if f.name not in own
    ]
    thrusters = context.thruster_elements()
    places += zip(thrusters, context.vehicle.thrusters.position, strict=True)
    for element, at in places:
        if max(abs(at)) > reach:
            yield context.warning(
                element,
                f'is at ({at[0]:.4g}, {at[1]:.4g}, {at[2]:.4g}) m, far from the vehicle',
                'check the unit of <origin xyz>: m',
            )


# View directions of sensors: each type has the axis of its message or instrument.

_DOWN = math.cos(math.radians(60))
"""Of the angle between down and where a sensor for the ground looks at most."""
_UP = math.cos(math.radians(30))
_TURNED_DOWN = {'x': '0 1.570796 0', 'z': '3.141593 0 0'}
"""rpy that turns an axis down, with the frame's x or z axis ahead."""
_DIRECTIONS = (('ahead', 'astern'), ('to port', 'to starboard'), ('up', 'down'))


def sensor_view(context: DescriptionContext) -> Iterator[Diagnostic]:
    """A DVL and an altimeter look down; no sonar looks straight up."""
    for sensor in context.vehicle.sensors:
        model = SENSORS[sensor.kind]
        if not model.looks:
            continue
        direction = sensor.rotation @ np.eye(3)['xyz'.index(model.looks)]
        misses = direction[2] > -_DOWN if model.down else direction[2] > _UP
        if misses:
            elements = context.root.iter('sensor')
            ground = ', and measures the ground only below it' if model.down else ''
            yield context.warning(
                next((e for e in elements if e.get('name') == sensor.name), None),
                f'looks {_side(direction)}: along the {model.looks} axis of its frame{ground}',
                f'for down, give it rpy="{_TURNED_DOWN[model.looks]}"; leave it where it is meant',
            )


def _side(direction: np.ndarray) -> str:
    axis = int(np.argmax(np.abs(direction)))
    return _DIRECTIONS[axis][0 if direction[axis] > 0 else 1]


# Anchor of a tether.


def tether_anchor(context: DescriptionContext) -> Iterator[Diagnostic]:
    """A tether ends at a point, a ship, or another vehicle of a fleet, never at its own."""
    vehicle = context.vehicle
    tether: Tether | None = vehicle.extensions.get('tether')
    if tether is None or not tether.vehicle:
        return
    element = context.root.find('tether')
    if tether.vehicle == vehicle.name:
        yield context.error(
            element,
            f'its anchor is vehicle {tether.vehicle!r}: this one, unless a fleet names it '
            'otherwise',
            'name another vehicle of the fleet',
        )
        return
    yield context.hint(
        element,
        f'its anchor is vehicle {tether.vehicle!r}, which only a fleet can have',
        f'run it with --fleet, and with a vehicle of the name {tether.vehicle} in it',
    )


Check = Callable[[DescriptionContext], Iterator[Diagnostic]]

CHECKS_OF_TEXT: Mapping[str, Check] = MappingProxyType(
    {
        'loads': tags.loading,
        'one-tree': one_tree,
        'frame-names': frame_names,
        'moving-hull': moving_hull,
        'unread-attributes': tags.unread_attributes,
        'misspelt': tags.misspelt_elements,
        'unused-materials': tags.unused_materials,
        'unused-curves': tags.unused_curves,
        'density-unit': tags.density_unit,
        'angle-unit': units.angle_unit,
        'negative-damping': units.negative_damping,
        'possible-inertia': mass.possible_inertia,
        'meshes': units.readable_meshes,
        'mesh-unit': units.mesh_unit,
        'inside-out': units.inside_out,
        'ignored-plugins': tags.ignored_plugins,
        'plugins': tags.plugins_beside_tags,
    }
)
"""Checks of the description, also of one that does not load."""

CHECKS_OF_VEHICLE: Mapping[str, Check] = MappingProxyType(
    {
        'reading': tags.loading_messages,
        'computed': tags.computed_numbers,
        'drag-twice': tags.drag_twice,
        'ros2-control': tags.hardware,
        'far-links': sensor_links,
        'looks-down': units.looks_down,
        'sensor-view': sensor_view,
        'reachable-axes': thrusters.reachable_axes,
        'pulse': thrusters.pulse_response,
        'neutral': thrusters.neutral_thrust,
        'thruster-names': thrusters.thruster_names,
        'thruster-links': thrusters.thruster_links,
        'mirrored-thrusters': thrusters.mirrored_thrusters,
        'handedness': thrusters.handedness,
        'ardusub-order': thrusters.motor_order,
        'thrust-unit': units.thrust_unit,
        'rotor-speed-unit': units.rotor_speed_unit,
        'mass-unit': units.mass_unit,
        'link-mass': units.link_mass,
        'inertia-unit': units.inertia_unit,
        'displaced-mass': mass.displaced_mass,
        'forgotten-mass': mass.forgotten_mass,
        'righting': mass.righting,
        'metacentric-height': mass.metacentric_height,
        'roll-damping': mass.roll_damping,
        'plausible-inertia': mass.plausible_inertia,
        'products-of-inertia': mass.products_of_inertia,
        'added-mass': hydrodynamics.added_mass,
        'undamped': hydrodynamics.undamped_axes,
        'top-speed': hydrodynamics.top_speed,
        'turning-rate': hydrodynamics.turning_rate,
        'unbounded-speed': verdict.unbounded_speed,
        'tether-anchor': tether_anchor,
        'munk-pitch': hydrodynamics.munk_pitch,
        'munk-yaw': hydrodynamics.munk_yaw,
        'drag-step': hydrodynamics.drag_step,
        'safe-step': hydrodynamics.default_step,
    }
)
"""Checks of the vehicle that the description makes."""

_ORDER = list(Severity)


def examine(context: DescriptionContext) -> list[Diagnostic]:
    """Return the findings of all checks, the worst first.

    The vehicle is not examined where it has not loaded, or its hull is in another unit than m.
    """
    checks = dict(CHECKS_OF_TEXT)
    if context.loaded is not None and not units.is_oversized(context):
        checks |= CHECKS_OF_VEHICLE
    found = [replace(f, check=name) for name, check in checks.items() for f in check(context)]
    return sorted(found, key=lambda f: _ORDER.index(f.severity))
