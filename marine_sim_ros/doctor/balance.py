# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Weight against buoyancy, and whether the vehicle stays upright."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State, rest
from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic
from marine_sim_ros.doctor.thrust import full_thrust
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact.tags import CONTACT_MATERIAL
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.rigid_body import weight

__all__ = ['displaced_mass', 'forgotten_mass', 'metacentric_height', 'righting']

HEAVY, LIGHT = 0.9, 1.25
"""Displaced mass over mass: below, it sinks like a stone; above, it is a boat."""
BOAT = 15.0
"""Displaced mass, all of its hull under water, over mass of a boat; a WAM-V has 5 to 8."""
SMALL = 0.002
"""m; a centre of buoyancy less than this above that of gravity rights nothing."""
TILT = np.radians(2.0)
"""rad, over which a righting moment is measured."""
TRIM = np.radians(15.0)
"""rad; heeling or trimming farther at rest is hardly meant."""


def _ratio(vehicle: Vehicle) -> float:
    return vehicle.buoyancy.fluid_density * vehicle.buoyancy.volume / vehicle.inertia.mass


def displaced_mass(context: DescriptionContext) -> Iterator[Diagnostic]:
    """ρ V against m, with the mass of every link; thrusters must be able to make up for it."""
    vehicle = context.vehicle
    ratio = _ratio(vehicle)
    mass = vehicle.inertia.mass
    element = context.root.find('buoyancy')
    if ratio == 0:
        yield context.error(
            element,
            'displaces no water, so it falls',
            'add <buoyancy><volume>, or collisions with a <buoyancy_material>',
        )
        return
    text = f'its mass is {mass:.4g} kg (all links), it displaces {ratio * mass:.4g} kg of water'
    net = (ratio - 1) * mass * Environment().gravity
    lift = full_thrust(vehicle.thrusters, np.array([0.0, 0.0, -1.0 if net > 0 else 1.0]))
    advice = 'weigh it with all its sensors and ballast; check volume, water density and units'
    boat = lift == 0 and vehicle.hull is not None and vehicle.hull.voxels is not None
    if not 0.5 <= ratio <= (BOAT if boat else 3):
        yield context.error(element, text, advice)
    elif ratio < HEAVY or (ratio > LIGHT and lift > 0):
        way = 'sinks' if net < 0 else 'floats up'
        yield context.warning(element, f'{text}: it {way} with {abs(net):.3g} N', advice)
    elif 0 < lift < abs(net):
        yield context.warning(
            element,
            f'{text}: {abs(net):.3g} N that its thrusters, {lift:.3g} N, cannot hold',
            advice,
        )
    elif ratio > 1.05 and lift > 0:
        yield context.hint(element, f'{text}: it floats up with {net:.3g} N', 'ballast trims it')


def forgotten_mass(context: DescriptionContext) -> Iterator[Diagnostic]:
    """A link with a collision is a body: it has a mass, of its own or of its material."""
    vehicle = context.vehicle
    density = vehicle.buoyancy.fluid_density
    for link in context.root.findall('link'):
        bodies = [e for e in context.extents if e.element.getparent() is link]
        bodies = [e for e in bodies if e.element.tag == 'collision']
        solid = sum(e.volume for e in bodies) * density
        made_of = any(e.element.find('buoyancy_material') is not None for e in bodies)
        contact = link.find(CONTACT_MATERIAL)  # may give the mass by its density
        made_of |= contact is not None and 'density' in map(str, contact.attrib.values())
        other = link.get('name') == context.base_link and vehicle.inertia.mass > 0
        mass = link.find('inertial/mass')
        nothing = mass is None or float(mass.get('value') or 0) == 0
        if nothing and not made_of and not other and solid > 0.01 * vehicle.inertia.mass:
            yield context.warning(
                link,
                f'has a collision as large as {solid:.3g} kg of water, but no mass',
                'add its <inertial>, or count its mass in the link that carries it and drop '
                'the collision',
            )


def righting(context: DescriptionContext) -> Iterator[Diagnostic]:
    """The centre of buoyancy is above that of gravity, z_b > z_g, and nearly over it."""
    vehicle = context.vehicle
    arm = vehicle.buoyancy.center_of_volume - vehicle.inertia.center_of_mass
    element = context.root.find('buoyancy')
    ratio = _ratio(vehicle)
    if ratio > LIGHT or ratio == 0:
        return
    numbers = (
        f'centre of buoyancy at z = {vehicle.buoyancy.center_of_volume[2]:.3g} m, '
        f'of gravity at {vehicle.inertia.center_of_mass[2]:.3g} m'
    )
    if arm[2] < 0:
        yield context.error(
            element,
            f'{numbers}: it turns over',
            'check the signs: z points up (FLU), unlike '
            'in the NED frames of the literature; ballast goes below',
        )
    elif arm[2] < SMALL:
        yield context.warning(
            element,
            f'{numbers}: it hardly rights itself',
            'check both; a BlueROV2 has 0.01 to 0.05 m between them',
        )
    elif (tilt := float(np.arctan2(np.hypot(arm[0], arm[1]), arm[2]))) > TRIM:
        yield context.warning(
            element,
            f'the centre of buoyancy is ({arm[0]:.3g}, {arm[1]:.3g}) m beside that of '
            f'gravity: at rest it hangs {np.degrees(tilt):.0f} degrees askew',
            'check <origin> of <inertial> and <center_of_volume>',
        )


def metacentric_height(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Afloat, it rights itself: G M = −(dK/dφ)/(m g) > 0 in roll and pitch, by the hull."""
    vehicle = context.vehicle
    if vehicle.hull is None or vehicle.hull.voxels is None or _ratio(vehicle) <= 1:
        return
    force = vehicle.inertia.mass * Environment().gravity
    for axis, name in ((0, 'roll'), (1, 'pitch')):
        level, *ends = (_floating_moment(vehicle, axis, angle) for angle in (0.0, TILT, -TILT))
        gm = (ends[1] - ends[0]) / (2 * TILT) / force
        if gm <= 0:
            yield context.error(
                None,
                f'afloat its metacentric height in {name} is {gm:.3g} m: it turns over',
                'put mass lower or make the hull wider',
            )
            continue
        heel = np.arctan(level / (force * gm))
        if abs(heel) > TRIM:
            yield context.warning(
                context.root.find('link[inertial]'),
                f'afloat it lies about {abs(np.degrees(heel)):.0f} degrees askew in {name}: the '
                'centre of gravity is not over that of its hull',
                'check <origin> of <inertial>, and that the origin of a mesh is where the '
                'description takes it to be (CAD puts it at a corner)',
            )


def _wrench(vehicle: Vehicle, state: State) -> np.ndarray:
    water = Environment()
    return np.asarray(buoyancy(vehicle, state, water) + weight(vehicle, state, water))


def _floating_moment(vehicle: Vehicle, axis: int, angle: float) -> float:
    """Return the moment (N·m) about an axis through the centre of gravity, afloat at an angle."""
    rpy = [0.0, 0.0, 0.0]
    rpy[axis] = angle
    x, y, z, w = (float(q) for q in quaternion_from_rpy(*rpy))
    low, high = -100.0, 100.0
    for _ in range(50):
        middle = (low + high) / 2
        wrench = _wrench(vehicle, rest((0.0, 0.0, middle), (x, y, z, w)))
        rising = (rotation_matrix(np.array([x, y, z, w])) @ wrench[:3])[2] > 0
        low, high = (middle, high) if rising else (low, middle)
    return float((wrench[3:] - np.cross(vehicle.inertia.center_of_mass, wrench[:3]))[axis])
