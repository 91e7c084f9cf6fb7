# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gazebo's own systems: Hydrodynamics, Thruster, Buoyancy; channels of ArduPilotPlugin.

Source: gz-sim, src/systems/{hydrodynamics,thruster,buoyancy}; ardupilot_gazebo.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.spatial import transport
from marine_sim_ros.importers.builder import (
    Plugin,
    VehicleBuilder,
    origin_of,
    read_flag,
    read_number,
    read_text,
)
from marine_sim_ros.importers.description import Hydrodynamics, Sourced
from marine_sim_ros.importers.thrusters import (
    add_propeller,
    linear_thrust_curve,
    sampled_curve,
    thrust_limit,
)
from marine_sim_ros.model.xml import Reader

__all__ = [
    'note_ardupilot_channels',
    'add_fluid_added_mass',
    'set_gazebo_water',
    'add_gazebo_hydrodynamics',
    'add_gazebo_thruster',
    'set_hydrodynamics',
]


class _Channel(NamedTuple):
    """A channel of an autopilot: its commands (N or rad/s) at two pulse widths (µs)."""

    number: int
    low: float
    high: float
    first: float
    last: float
    origin: str


_ROWS, _COLUMNS = 'xyzkmn', 'UVWPQR'
_HYDRODYNAMICS = (
    '[xyzkmn](Dot)?[UVWPQR]|[xyzkmn][UVWPQR](abs)?[UVWPQR]|link_name|namespace|water_density|'
    'default_current|disable_added_mass|disable_coriolis'
)
_THRUSTER = (
    'joint_name|namespace|topic|fluid_density|propeller_diameter|thrust_coefficient|deadband|'
    'velocity_control|use_angvel_cmd|[pid]_gain|(max|min)_thrust_cmd'
)
"""Patterns of the elements of the systems Hydrodynamics and Thruster."""
_ONE_AXIS = 'along or about one axis at a time'
_UNLIMITED = 1000.0
"""N; the system's default limit, which stands for none."""


def set_hydrodynamics(
    builder: VehicleBuilder,
    reader: Reader,
    link: str,
    added: np.ndarray,
    linear: np.ndarray,
    quadratic: np.ndarray,
    modulus: np.ndarray,
    *,
    origins: tuple[str, str, str] | None = None,
) -> None:
    """Take lumped terms about the origin of a link over to the base.

    Args:
        reader: the element that gives them.
        link: link that they act on.
        added: (6, 6) added mass, positive.
        linear: (6, 6) of F = −D ν.
        quadratic: (6, 6) of F_i = −Σ D_ij |ν_j| ν_j.
        modulus: (6, 6) of F_i = −(Σ K_ij |ν_j|) ν_i.
        origins: where added mass, linear and quadratic terms are from.
    """
    at = origin_of(reader)
    if not builder.is_rigid(link):
        builder.drop(f'{at}: hydrodynamics of link {link!r}, which moves against the body')
        return
    place = builder.pose_of(link).translation
    center = Sourced(place, f'origin of link {link!r}') if np.any(place) else None
    lever = transport(place)
    turn = builder.rotation_of(link)
    if not np.allclose(turn, np.eye(3), atol=1e-9):
        rotate = np.kron(np.eye(2), turn)
        added, linear = rotate @ added @ rotate.T, rotate @ linear @ rotate.T
        swap = np.round(np.abs(rotate))
        if np.allclose(np.abs(rotate), swap, atol=1e-6):
            signed = np.round(rotate)  # |ν| ν turns with ν, |ν| does not
            quadratic, modulus = signed @ quadratic @ signed.T, swap @ modulus @ swap.T
        else:
            quadratic = _quadratic_along_axes(quadratic, modulus, rotate.T @ lever)
            linear, modulus, center = lever.T @ linear @ lever, 0 * modulus, None
            builder.assume(f'{at}: link {link!r} is turned; its quadratic terms hold {_ONE_AXIS}')
    names = origins or (at, at, at)
    found = Hydrodynamics(
        builder.water_density or Sourced(1000.0, 'no density in the source', True),
        Sourced(_positive_added_mass(builder, lever.T @ added @ lever, names[0]), names[0]),
        Sourced(linear, names[1]),
        Sourced(quadratic, names[2]),
        Sourced(modulus, names[2]) if np.any(modulus) else None,
        center,
    )
    if builder.hydrodynamics is None:
        builder.hydrodynamics = found
    else:
        builder.hydrodynamics = _sum_of_links(builder.hydrodynamics, found)
        builder.assume(
            f'{at}: damping and added mass of link {link!r} are added to the others; their '
            f'quadratic terms hold {_ONE_AXIS}'
        )


def _sum_of_links(first: Hydrodynamics, second: Hydrodynamics) -> Hydrodynamics:
    """Return the terms of two links of a rigid body, about the origin of the base.

    The sum is exact for linear terms and added mass.
    """
    linear, quadratic = np.zeros((6, 6)), np.zeros((6, 6))
    for terms in (first, second):
        lever = transport(np.zeros(3) if terms.center is None else terms.center.value)
        modulus = np.zeros((6, 6)) if terms.modulus is None else terms.modulus.value
        linear += lever.T @ terms.linear.value @ lever
        quadratic += _quadratic_along_axes(terms.quadratic.value, modulus, lever)
    return replace(
        first,
        added_mass=_replace_value(
            first.added_mass, first.added_mass.value + second.added_mass.value
        ),
        linear=_replace_value(first.linear, linear),
        quadratic=_replace_value(first.quadratic, quadratic),
        modulus=None,
        center=None,
    )


def _quadratic_along_axes(
    quadratic: np.ndarray, modulus: np.ndarray, lever: np.ndarray
) -> np.ndarray:
    """Return quadratic terms (6, 6) about a point or in axes to which a lever H (6, 6) leads.

    Column j is Hᵀ (D_q (|H e_j| ∘ H e_j) + (K |H e_j|) ∘ H e_j): exact for motion along or about
    one axis.
    """
    squares = quadratic @ (np.abs(lever) * lever) + (modulus @ np.abs(lever)) * lever
    return np.asarray(lever.T @ squares)


def _replace_value(first: Sourced[np.ndarray], value: np.ndarray) -> Sourced[np.ndarray]:
    """Return a sum, with the origin of its first part."""
    return Sourced(value, f'{first.origin}, and others')


def _positive_added_mass(builder: VehicleBuilder, added: np.ndarray, where: str) -> np.ndarray:
    """Return an added mass as we take it: symmetric, and positive on the diagonal."""
    uneven = float(np.max(np.abs(added - added.T)))
    if uneven > 1e-9 * max(1.0, float(np.max(np.abs(added)))):
        builder.assume(f'{where}: the added mass is not symmetric (by {uneven:.3g}); (M + Mᵀ)/2')
    added = (added + added.T) / 2
    if added.any() and np.linalg.eigvalsh(added)[0] < -1e-9 * np.max(np.abs(added)):
        values, vectors = np.linalg.eigh(added)
        added = vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
        builder.assume(f'{where}: the added mass is not positive; its negative parts are set to 0')
    return added


def _terms(reader: Reader, middle: str) -> np.ndarray:
    """Return a (6, 6) of elements such as xU or xDotU."""
    result = np.zeros((6, 6))
    for (i, row), (j, column) in product(enumerate(_ROWS), enumerate(_COLUMNS)):
        found = read_number(reader, f'{row}{middle}{column}')
        result[i, j] = 0.0 if found is None else found.value
    return result


def _quadratic(reader: Reader, builder: VehicleBuilder) -> tuple[np.ndarray, np.ndarray]:
    """Return the terms F_i = c |ν_k| ν_j with j = k, and those with j = i (6, 6)."""
    same, modulus = np.zeros((6, 6)), np.zeros((6, 6))
    for i, j, k in product(range(6), repeat=3):
        value = 0.0
        for middle in ('abs', ''):
            name = f'{_ROWS[i]}{_COLUMNS[j]}{middle}{_COLUMNS[k]}'
            found = read_number(reader, name)
            if found is None or not found.value:
                continue
            value += found.value
            if not middle:
                builder.assume(f'{found.origin}: taken as <{name[:2]}abs{name[2:]}>, with |ν|')
        if not value:
            continue
        if j == k:
            same[i, j] += value
        elif j == i:
            modulus[i, k] += value
        else:
            builder.drop(
                f'{origin_of(reader)}: {_ROWS[i]}{_COLUMNS[j]}abs{_COLUMNS[k]} = {value:g}: a '
                'term of three different axes has no place here'
            )
    return same, modulus


def add_gazebo_hydrodynamics(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take gz::sim::systems::Hydrodynamics; its coefficients are negative where they damp."""
    reader = plugin.reader
    builder.name_unread(reader, _HYDRODYNAMICS)
    link = builder.known_link(reader, read_text(reader, 'link_name', builder.base))
    density = read_number(reader, 'water_density', None, 1.0, 2e4)
    if density is not None and builder.water_density is None:
        builder.water_density = density
    added = _terms(reader, 'Dot')
    if np.any(np.diag(added) > 0):
        builder.assume(
            f'{origin_of(reader)}: its added mass is positive; Gazebo would take it as negative '
            'mass, here it is taken as mass'
        )
        added = -added
    if read_flag(reader, 'disable_added_mass'):
        added = np.zeros((6, 6))
    if read_text(reader, 'default_current'):
        builder.drop(f'{origin_of(reader)}: <default_current>: give --current')
    linear = _terms(reader, '')
    same, modulus = _quadratic(reader, builder)
    if np.trace(linear) > 0 or np.trace(same) > 0:
        builder.assume(
            f'{origin_of(reader)}: its damping is positive, which would drive the vehicle in '
            'Gazebo; it is taken as damping'
        )
        linear = -linear if np.trace(linear) > 0 else linear
        if np.trace(same) > 0:
            same, modulus = -same, -modulus
    fluid = _fluid(builder, link)
    set_hydrodynamics(
        builder,
        reader,
        link,
        -added + (0 if fluid is None else fluid[0]),
        _damping(-linear),
        _damping(-same),
        -modulus,
        origins=(
            fluid[1] if fluid is not None and fluid[0].any() else origin_of(reader),
            origin_of(reader),
            origin_of(reader),
        ),
    )


def _damping(matrix: np.ndarray) -> np.ndarray:
    return np.asarray(matrix + 0.0)


def _fluid(builder: VehicleBuilder, link: str) -> tuple[np.ndarray, str] | None:
    """Return the <fluid_added_mass> (6, 6) of a link, and its origin."""
    reader = builder.notes.get('fluid_added_mass', {}).pop(link, None)
    if reader is None:
        return None
    result = np.zeros((6, 6))
    for (i, a), (j, b) in product(enumerate('xyzpqr'), repeat=2):
        found = read_number(reader, a + b)
        if found is not None:
            result[i, j] = result[j, i] = found.value
    return result, origin_of(reader)


def add_fluid_added_mass(builder: VehicleBuilder) -> None:
    """Take what <fluid_added_mass> is left where no Hydrodynamics plugin took it."""
    for link in list(builder.notes.get('fluid_added_mass', {})):
        reader = builder.notes['fluid_added_mass'][link]
        if link not in builder.links:
            builder.drop(f'{origin_of(reader)}: of link {link!r}, which is left out')
            continue
        found = _fluid(builder, link)
        if found is None or not found[0].any():
            continue
        none = np.zeros((6, 6))
        set_hydrodynamics(builder, reader, link, found[0], none, none, none)


def set_gazebo_water(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take the density of gz::sim::systems::Buoyancy; its volumes are those of the collisions."""
    reader = plugin.reader
    density = read_number(reader, 'uniform_fluid_density', None, 1.0, 2e4)
    if density is None:
        density = read_number(reader, 'graded_buoyancy/default_density', None, 1.0, 2e4)
    if density is None:
        density = Sourced(1000.0, 'default of the Buoyancy system')
    builder.water_density = density
    enabled = [(e.text or '').strip() for e in reader.element.findall('enable')]
    if enabled:
        builder.notes['enabled'] = origin_of(reader), enabled


def note_ardupilot_channels(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Note the channels of ArduPilotPlugin: command = multiplier · (x + offset), x from 0 to 1.

    A channel of type EFFORT with a <linkName>, as a fork for BlueROV2 has it, is a thruster.
    """
    channels: dict[str, _Channel] = {}
    for element in plugin.reader.element.findall('control'):
        control = Reader(element, plugin.reader.source)
        joint = read_text(control, 'jointName')
        multiplier = read_number(control, 'multiplier', 1.0)
        offset = read_number(control, 'offset', 0.0)
        try:
            channel = int(control.attribute('channel', '0'))
        except ValueError:
            raise control.error('channel is no whole number') from None
        lowest = multiplier.value * offset.value
        pulses = [
            read_number(control, tag, default, 0.0, 1e4)
            for tag, default in (('servo_min', 1000.0), ('servo_max', 2000.0))
        ]
        first, last = (p.value for p in pulses if p is not None)
        if not first < last:
            raise control.error(f'servo_min {first:g} is not below servo_max {last:g}')
        channels[joint] = _Channel(
            channel, lowest, lowest + multiplier.value, first, last, origin_of(control)
        )
        if not joint and read_text(control, 'linkName'):
            _push_link(control, builder, channels.pop(joint))
    builder.notes['channels'] = channels


def _push_link(control: Reader, builder: VehicleBuilder, channel: _Channel) -> None:
    """Add the thruster of a channel whose command is a force along z of a link."""
    kind = read_text(control, 'type', 'VELOCITY')
    if kind != 'EFFORT':
        where = f'{channel.origin}: a command of type {kind!r} on a link'
        builder.drop(f'{where}; expected EFFORT')
        builder.unread_forces.append(where)
        return
    link = builder.known_link(control, read_text(control, 'linkName'))
    builder.assume(f'{channel.origin}: its force is along z of link {link!r}')
    if control.first('cmd_max') is not None or control.first('cmd_min') is not None:
        builder.drop(f'{channel.origin}: <cmd_min> and <cmd_max> limit a PID, no force')
    add_propeller(
        builder,
        f'motor_{channel.number}',
        link,
        np.eye(3)[2],
        _rows_through_zero(channel.low, channel.high, channel),
        (channel.origin, False),
        channel.number,
    )


def add_gazebo_thruster(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take gz::sim::systems::Thruster: a force along the axis of its joint, at the child link."""
    reader = plugin.reader
    builder.name_unread(reader, _THRUSTER)
    name = read_text(reader, 'joint_name')
    name = builder.scoped_name(reader, name, builder.joints)
    joint = builder.joints.get(name)
    if joint is None:
        builder.unread_force(plugin, f'joint {name!r} of a thruster does not exist')
        return
    if name in builder.notes.get('without_axis', ()):
        builder.unread_force(plugin, f'joint {name!r} of a thruster is fixed and has no axis')
        return
    label = joint.name
    channel = builder.notes.get('channels', {}).get(name)
    coefficient = read_number(reader, 'thrust_coefficient')
    diameter = read_number(reader, 'propeller_diameter', None, 1e-4, 10.0)
    density = read_number(reader, 'fluid_density', 1000.0, 1.0, 2e4)
    if read_text(reader, 'fluid_density') and builder.mentioned_density is None:
        builder.mentioned_density = density
    constant = abs(coefficient.value) if coefficient is not None else 1.0
    factor = constant * density.value * (diameter.value if diameter else 0.02) ** 4
    by_speed = read_flag(reader, 'use_angvel_cmd') and factor > 0
    curve, mirrored, origin = _curve(reader, builder, channel, label, factor if by_speed else 0.0)
    if factor > 0 and not by_speed:
        with np.errstate(over='ignore'):
            curve[:, 3] = np.sqrt(np.abs(curve[:, 1]) / factor) * 60 / (2 * np.pi)
        if not np.all(np.isfinite(curve[:, 3])):
            raise reader.error(
                f'thrust_coefficient is {constant:g}: the propeller would turn infinitely fast; '
                'expected 0, or a coefficient of a propeller'
            )
    if read_text(reader, 'deadband'):
        builder.drop(f'{origin_of(reader)}: <deadband> of thruster {label!r}')
    add_propeller(
        builder,
        label,
        joint.child,
        np.array(joint.axis),
        (curve, mirrored),
        origin,
        None if channel is None else channel.number,
        direction='cw' if coefficient is not None and coefficient.value < 0 else 'ccw',
        diameter=diameter,
        shaft=joint.name,
    )


def _curve(
    reader: Reader, builder: VehicleBuilder, channel: _Channel | None, label: str, factor: float
) -> tuple[np.ndarray, bool, tuple[str, bool]]:
    """Return the rows of a thruster's curve, whether its axis is turned, and its origin.

    With a factor k the command is a speed and the thrust k ω |ω|; else it is the thrust.
    """
    lower, upper, origin = _limits(reader, builder, label, has_channel=channel is not None)
    if factor:
        ends = [float(np.sign(f) * np.sqrt(abs(f) / factor)) for f in (lower, upper)]
        if channel is not None:
            ends = [min(max(c, ends[0]), ends[1]) for c in (channel.low, channel.high)]
            if ends[0] * ends[1] > 0:
                ends[0] = 0.0
        low, high = sorted(ends)
        rows, mirrored = sampled_curve(lambda w: factor * w * abs(w), min(low, 0), max(high, 0))
        return rows, mirrored != (ends[0] > ends[1]), origin
    if channel is None:
        return linear_thrust_curve(lower, upper), False, origin
    low, high = (float(np.clip(c, lower, upper)) for c in (channel.low, channel.high))
    return *_rows_through_zero(low, high, channel), (channel.origin, False)


def _rows_through_zero(low: float, high: float, channel: _Channel) -> tuple[np.ndarray, bool]:
    """Return the rows of a thrust (N) that is linear between two pulse widths (µs).

    Returns:
        The rows, and whether the thrust falls with the pulse width, so that the axis is turned.
    """
    mirrored = high < low
    if mirrored:
        low, high = -low, -high
    pulses, thrust = [channel.first, channel.last], [low, high]
    if low > 0 or high < 0:
        pulses, thrust = [channel.first - 1, *pulses], [min(0.0, low), low, high]
        if high < 0:
            pulses, thrust = [channel.first, channel.last, channel.last + 1], [low, high, 0.0]
    elif low < 0 < high:
        middle = channel.first - low * (channel.last - channel.first) / (high - low)
        pulses, thrust = [channel.first, middle, channel.last], [low, 0.0, high]
    rows = np.zeros((len(pulses), 4))
    rows[:, 0], rows[:, 1] = pulses, thrust
    return rows, mirrored


def _limits(
    reader: Reader, builder: VehicleBuilder, label: str, *, has_channel: bool
) -> tuple[float, float, tuple[str, bool]]:
    """Return the least and the largest command (N) of a thruster, and where they are from.

    Args:
        label: name of the thruster.
        known: whether an autopilot's channel limits it too.
    """
    upper, lower = read_number(reader, 'max_thrust_cmd'), read_number(reader, 'min_thrust_cmd')
    if upper is None and not has_channel:
        limit = thrust_limit(builder, label)
        return -limit.value, limit.value, (limit.origin, True)
    high = _UNLIMITED if upper is None else upper.value
    low = -_UNLIMITED if lower is None else lower.value
    origin = 'default of the simulator' if upper is None else upper.origin
    if lower is None and upper is not None:
        builder.assume(f'thruster {label!r}: as much thrust astern as ahead, {high:g} N')
        low = -high
    if not low < high:
        raise reader.error(f'max_thrust_cmd {high:g} is not above min_thrust_cmd {low:g}')
    return min(low, 0.0), max(high, 0.0), (origin, False)
