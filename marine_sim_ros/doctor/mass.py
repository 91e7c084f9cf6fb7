# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of mass: moments of inertia, weight against buoyancy, upright or not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, transport
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.doctor.context import DescriptionContext, Diagnostic, finite_numbers
from marine_sim_ros.doctor.verdict import full_thrust
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.elements import CONTACT_MATERIAL
from marine_sim_ros.model.kinematics import MAX_PART_DISTANCE
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Element
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.rigid_body import weight

__all__ = [
    'displaced_mass',
    'forgotten_mass',
    'metacentric_height',
    'plausible_inertia',
    'possible_inertia',
    'products_of_inertia',
    'righting',
    'roll_damping',
]


# Moments of inertia: possible, and plausible for the size.

_ENTRIES = (('ixx', 'ixy', 'ixz'), ('ixy', 'iyy', 'iyz'), ('ixz', 'iyz', 'izz'))
MIN_MOMENT_RATIO = 0.05
"""Of the moments of a solid box as large as the vehicle."""
MAX_MOMENT_RATIO = 3.0
"""Of the same: all mass in the corners has m (b² + c²)/4, three times the solid box's."""
PRODUCTS = 0.3
"""|I_xy|/√(I_xx I_yy) that no vehicle nearly symmetric about its axes has."""


def _tensor(link: Element) -> np.ndarray | None:
    inertia = link.find('inertial/inertia')
    if inertia is None:
        return None
    rows = [[finite_numbers(inertia.get(n, '0'), 1) for n in row] for row in _ENTRIES]
    if any(v is None for row in rows for v in row):
        return None
    return np.array([[float(v[0]) for v in row if v is not None] for row in rows])


def possible_inertia(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Principal moments are positive, and none is larger than the other two together."""
    for link in context.root.findall('link'):
        tensor = _tensor(link)
        if tensor is None:
            continue
        low, middle, high = np.linalg.eigvalsh(tensor)
        if low < -1e-9 * max(1.0, high):
            yield context.error(
                link,
                f'its principal moments of inertia are {low:.3g}, {middle:.3g}, {high:.3g} '
                'kg·m²; one is negative',
                'check the signs of ixy, ixz, iyz and the moments',
            )
        elif high > 1.001 * (low + middle):
            yield context.error(
                link,
                f'its largest principal moment of inertia, {high:.4g} kg·m², is above the '
                f'sum of the others, {low + middle:.4g}: no body has that',
                'check ixx, iyy, izz: each is at most the sum of the two others',
            )


def plausible_inertia(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Moments of the whole against those of a solid box as large: m (b² + c²)/12."""
    size = context.size
    if size is None or not np.all(size < MAX_PART_DISTANCE):
        return
    inertia = context.vehicle.inertia
    square = size**2
    box = inertia.mass * (np.sum(square) - square) / 12
    for name, own, solid in zip('xyz', np.diag(inertia.tensor), box, strict=True):
        if not MIN_MOMENT_RATIO * solid <= own <= MAX_MOMENT_RATIO * solid:
            yield context.warning(
                context.root.find('link[inertial]'),
                f'I_{name}{name} of the vehicle is {own:.3g} kg·m², a solid box of its size '
                f'and mass has {solid:.3g}',
                'check the inertia, its unit (kg·m²), and the mass',
            )


def products_of_inertia(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Products of inertia stay small: a vehicle is about symmetric to its axes."""
    tensor = context.vehicle.inertia.tensor
    moments = np.sqrt(np.outer(np.diag(tensor), np.diag(tensor)))
    share = np.abs(tensor - np.diag(np.diag(tensor))) / moments
    i, j = np.unravel_index(int(np.argmax(share)), share.shape)
    if share[i, j] <= PRODUCTS:
        return
    names = 'xyz'
    yield context.hint(
        context.root.find('link[inertial]'),
        f'I_{names[i]}{names[j]} of the vehicle is {tensor[i, j]:.3g} kg·m², '
        f'{share[i, j]:.0%} of the moments beside it: its principal axes are far from its own',
        'check the products of inertia and their sign (off-diagonal terms are −∫xy dm)',
    )


# Weight against buoyancy, and upright stability.

HEAVY, LIGHT = 0.9, 1.25
"""Displaced mass over mass: below, it sinks like a stone; above, it is a boat."""
BOAT = 15.0
"""Displaced mass, all of its hull under water, over mass of a boat; a WAM-V has 5 to 8."""
ROUNDING = 1e-6
"""m; centres closer than this coincide: the volume of a mesh is a sum."""
SMALL = 0.002
"""m; a centre of buoyancy less than this above that of gravity rights nothing."""
TILT = np.radians(2.0)
"""rad, over which a righting moment is measured."""
TRIM = np.radians(15.0)
"""rad; heeling or trimming farther at rest is hardly meant."""
SWING = np.radians(10.0)
"""rad, amplitude at which the damping of roll and pitch is measured."""
MIN_ROLL_DAMPING = 0.01
"""Of critical; bare hulls have 0.01 to 0.05 in roll (Himeno 1981)."""


def _ratio(vehicle: Vehicle) -> float:
    return vehicle.buoyancy.fluid_density * vehicle.buoyancy.volume / vehicle.inertia.mass


def displaced_mass(context: DescriptionContext) -> Iterator[Diagnostic]:
    """ρ V against m, with the mass of every link; thrusters must be able to make up for it."""
    vehicle = context.vehicle
    ratio = _ratio(vehicle)
    mass = vehicle.inertia.mass
    element = context.root.find('buoyancy')
    if ratio == 0:
        shapes = context.root.find('link/collision') is not None
        what_to_do = 'add <buoyancy><volume>, or collisions with a <buoyancy_material>'
        if shapes:  # which float by themselves, once they are told to
            what_to_do = (
                'add <hydrodynamics><buoyancy_mode>geometry</buoyancy_mode></hydrodynamics>, so '
                'that its collision shapes displace water; or <buoyancy><volume>'
            )
        yield context.error(element, 'displaces no water, so it falls', what_to_do)
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
    heights = (vehicle.buoyancy.center_of_volume[2], vehicle.inertia.center_of_mass[2])
    volume, mass = (0.0 if abs(z) < ROUNDING else z for z in heights)
    numbers = f'centre of buoyancy at z = {volume:.3g} m, of gravity at {mass:.3g} m'
    if abs(arm[2]) < ROUNDING:
        yield context.warning(
            element,
            f'{numbers}: nothing rights it',
            'give <inertial> an <origin> below the centre of buoyancy, where the ballast is',
        )
    elif arm[2] < 0:
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
        ahead, aside = np.round(arm[:2], 6) + 0.0
        yield context.warning(
            element,
            f'the centre of buoyancy is ({ahead:.3g}, {aside:.3g}) m beside that of '
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
        level = _floating_moment(vehicle, _floating_state(vehicle, axis, 0.0), axis)
        gm = _righting_stiffness(vehicle, axis) / force
        if gm <= 0:
            yield context.error(
                None,
                f'afloat its metacentric height in {name} is {gm:.3g} m: it turns over',
                'put mass lower or make the hull wider',
            )
            continue
        heel = np.arctan(level / (force * gm))
        # A force up at y rolls by y F, and at x pitches by −x F.
        side, offset = ('y', level / force) if axis == 0 else ('x', -level / force)
        meant = round(float(vehicle.inertia.center_of_mass[1 - axis] + offset), 6) + 0.0
        if abs(heel) > TRIM:
            yield context.warning(
                context.root.find('link[inertial]'),
                f'afloat it lies about {abs(np.degrees(heel)):.0f} degrees askew in {name}: the '
                f'centre of its hull under water is {abs(offset):.3g} m beside that of gravity',
                f'<origin> of <inertial> at {side} = {meant:.3g} m trims it; check it, and that '
                'the origin of a mesh is where the description takes it to be (CAD puts it at a '
                'corner)',
            )


def roll_damping(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Afloat, its roll and pitch fade: ζ = b/(2 √(k I)) is at least that of a bare hull."""
    vehicle = context.vehicle
    if vehicle.hull is None or vehicle.hull.voxels is None or _ratio(vehicle) <= 1:
        return
    if 'radiation' in vehicle.extensions:  # that of its modes depends on the frequency
        return
    to_base = np.asarray(transport(-vehicle.inertia.center_of_mass))  # H of it from gravity's
    masses = to_base.T @ vehicle.mass_matrix @ to_base
    for axis, name in ((0, 'roll'), (1, 'pitch')):
        stiffness = _righting_stiffness(vehicle, axis)
        inertia = float(masses[3 + axis, 3 + axis])
        if stiffness <= 0:
            continue
        frequency = float(np.sqrt(stiffness / inertia))
        rate = SWING * frequency
        velocity = rate * to_base[:, 3 + axis]
        moving = _floating_state(vehicle, axis, 0.0)._replace(velocity=velocity)
        moment = -float((to_base.T @ np.asarray(drag(vehicle, moving, Environment())))[3 + axis])
        if (ratio := moment / (2 * rate * frequency * inertia)) < MIN_ROLL_DAMPING:
            yield context.hint(
                context.root.find('hydrodynamics'),
                f'afloat its {name} of {frequency:.3g} rad/s hardly fades, by {ratio:.2g} of '
                'critical: in waves it grows, and where it ends depends on the step',
                'give <linear_damping> or <radiation>; bare hulls have 0.01 to 0.05, '
                'catamarans and boats with a keel more',
            )


def _wrench(vehicle: Vehicle, state: State) -> np.ndarray:
    water = Environment()
    return np.asarray(buoyancy(vehicle, state, water) + weight(vehicle, state, water))


def _righting_stiffness(vehicle: Vehicle, axis: int) -> float:
    """Return −dK/dφ (N·m/rad) in roll (0) or pitch (1), afloat."""
    ends = [
        _floating_moment(vehicle, _floating_state(vehicle, axis, angle), axis)
        for angle in (TILT, -TILT)
    ]
    return (ends[1] - ends[0]) / (2 * TILT)


def _floating_moment(vehicle: Vehicle, state: State, axis: int) -> float:
    """Return the moment (N·m) about an axis through the centre of gravity."""
    wrench = _wrench(vehicle, state)
    return float((wrench[3:] - np.cross(vehicle.inertia.center_of_mass, wrench[:3]))[axis])


def _floating_state(vehicle: Vehicle, axis: int, angle: float) -> State:
    """Return the state of rest in which the vehicle carries its weight, at an angle (rad)."""
    rpy = [0.0, 0.0, 0.0]
    rpy[axis] = angle
    x, y, z, w = (float(q) for q in quaternion_from_rpy(*rpy))
    low, high = -100.0, 100.0
    for _ in range(50):
        middle = (low + high) / 2
        wrench = _wrench(vehicle, state_at_rest((0.0, 0.0, middle), (x, y, z, w)))
        rising = (rotation_matrix(np.array([x, y, z, w])) @ wrench[:3])[2] > 0
        low, high = (middle, high) if rising else (low, middle)
    return state_at_rest((0.0, 0.0, low), (x, y, z, w))
