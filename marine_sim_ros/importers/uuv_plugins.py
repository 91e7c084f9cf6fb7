# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plugins of UUV Simulator and Plankton: underwater objects and thrusters.

Source: uuv_simulator, uuv_gazebo_plugins/src: BuoyantObject, HydrodynamicModel, ThrusterPlugin,
ThrusterConversionFcn. Its hydrodynamic models reckon in NED (x forward, y starboard, z down),
with coefficients that are negative where they damp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from marine_sim_ros.importers.builder import (
    Plugin,
    VehicleBuilder,
    origin_of,
    read_flag,
    read_number,
    read_sourced_numbers,
    read_text,
)
from marine_sim_ros.importers.description import Sourced, Volume
from marine_sim_ros.importers.gazebo_plugins import set_hydrodynamics
from marine_sim_ros.importers.thrusters import (
    add_propeller,
    are_pulse_widths,
    pulse_curve,
    sampled_curve,
    thrust_limit,
)
from marine_sim_ros.model.xml import Reader

__all__ = ['add_uuv_thruster', 'add_underwater_object', 'time_constant']

FLIP = np.diag([1.0, -1.0, -1.0, 1.0, -1.0, -1.0])
"""NED <-> FLU of a twist or a wrench."""
_DENSITY = 1028.0
"""kg/m³, default of the simulator."""

_SURFACE = ('metacentric_width', 'metacentric_length', 'submerged_height')
"""Elements that make a link of UUV Simulator a surface vessel, where all are given."""


_KNOWN = {
    'object': 'fluid_density|link|flow_velocity_topic|debug|robotNamespace',
    'link': 'volume|neutrally_buoyant|center_of_buoyancy|box|radius|length|width|height|'
    f'hydrodynamic_model|{"|".join(_SURFACE)}|water_level_plane_area',
    'model': 'type|added_mass|(linear|quadratic)_damping|linear_damping_forward_speed|cd|axis|'
    f'radius|length|width|height|{"|".join(_SURFACE)}|water_level_plane_area',
    'thruster': 'linkName|jointName|thrusterI[Dd]|robotNamespace|gain|thrustM(in|ax)|'
    '(thrust|propeller)_efficiency|dynamics|conversion',
    'conversion': 'type|(in|out)putValues|rotorConstant[LR]?|delta[LR]',
}
"""Patterns of the elements of each block."""


def add_underwater_object(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take libuuv_underwater_object: a volume and a hydrodynamic model for each link."""
    builder.name_unread(plugin.reader, _KNOWN['object'])
    density = read_number(plugin.reader, 'fluid_density', _DENSITY, 1.0, 2e4)
    builder.water_density = density
    links = [Reader(e, plugin.reader.source) for e in plugin.reader.element.findall('link')]
    for reader in sorted(links, key=lambda r: r.attribute('name', '') != builder.base):
        link = builder.known_link(reader, reader.attribute('name'))
        builder.name_unread(reader, _KNOWN['link'])
        _volume(reader, link, builder)
        model = reader.first('hydrodynamic_model')
        if model is not None:
            builder.name_unread(model, _KNOWN['model'])
            _model(model, reader, link, builder)


def _box(reader: Reader) -> np.ndarray | None:
    """Return length, width and height of a <box>, or None."""
    box = reader.first('box')
    if box is None:
        return None
    found = [read_number(box, tag, None, 0.0, 1e4) for tag in ('length', 'width', 'height')]
    return np.array([0.0 if f is None else f.value for f in found])


def _lumped_mass(builder: VehicleBuilder, link: str) -> float:
    """Return the mass of a link with those that hang on it by fixed joints, as in Gazebo."""
    below = [j for j in builder.joints.values() if j.parent == link and j.kind == 'fixed']
    return builder.links[link].mass + sum(_lumped_mass(builder, joint.child) for joint in below)


def _surface_volume(
    reader: Reader,
    link: str,
    center: Sourced[np.ndarray],
    displaced: float,
    builder: VehicleBuilder,
) -> Volume:
    """Return the volume of a surface vessel, which has walls as high as its <box>.

    It displaces A h under water, with the waterplane A = m/(ρ d) of its draught d, and its centre
    is at the metacentre, so that it rights with the moment ρ g V GM sin φ.

    Source: uuv_gazebo_plugins, BuoyantObject.cc.

    Args:
        reader: the <link> of the plugin.
        center: (3,) m, <center_of_buoyancy>.
        displaced: m/ρ, m³.
    """
    draught = read_number(reader, 'submerged_height', 0.0, 0.0, 1e4)
    box = _box(reader)
    if draught.value <= 0 or box is None or box[2] <= draught.value:
        raise reader.error(
            'a surface vessel needs <submerged_height> below the height of its <box>'
        )
    heights = [read_number(reader, tag, 0.0, 0.0, 1e4) for tag in _SURFACE[:2]]
    lower = min(heights, key=lambda h: h.value)
    if heights[0].value != heights[1].value:
        builder.assume(f'{lower.origin}: it rights by {lower.value:g} m about both axes')
    raised = float(center.value[2]) + lower.value
    if raised:
        builder.assume(
            f'{origin_of(reader)}: it lies {raised:g} m deeper than in the source, which measures '
            'its draught at the origin of the link'
        )
    return Volume(
        link,
        Sourced(
            displaced * float(box[2]) / draught.value, f'{draught.origin}: m/ρ · height/draught'
        ),
        Sourced(
            center.value + np.array([0.0, 0.0, lower.value]), f'{center.origin}, {lower.origin}'
        ),
        Sourced(float(box[2]), f'{origin_of(reader)}: <box><height>'),
    )


def _volume(reader: Reader, link: str, builder: VehicleBuilder) -> None:
    mass = _lumped_mass(builder, link)
    assert builder.water_density is not None
    density = builder.water_density.value
    volume = read_number(reader, 'volume', None, 0.0, 1e6)
    if read_flag(reader, 'neutrally_buoyant'):
        volume = Sourced(mass / density, f'{origin_of(reader)}: neutrally buoyant: m/ρ')
    center = read_sourced_numbers(reader, 'center_of_buoyancy', (3,))
    if center is None:
        center = Sourced(np.zeros(3), 'default of the simulator: origin of the link')
    if all(reader.element.find(tag) is not None for tag in _SURFACE):
        builder.volumes.append(_surface_volume(reader, link, center, mass / density, builder))
        return
    if volume is None:
        builder.assume(f'{origin_of(reader)}: link {link!r} has no <volume>: it displaces nothing')
        return
    box = _box(reader)
    if box is not None and box[2] > 0:
        height = Sourced(float(box[2]), f'{origin_of(reader)}: <box><height>')
    else:
        edge = float(f'{max(volume.value, 1e-9) ** (1 / 3):.3g}')
        height = Sourced(edge, 'no <box>: the edge of a cube of the volume', True)
        builder.assume(f'link {link!r}: no <box>: buoyancy is lost over {edge:g} m at the surface')
    builder.volumes.append(Volume(link, volume, center, height))


class _Terms(NamedTuple):
    """Added mass (positive), linear and quadratic damping (negative where they damp), in NED."""

    added: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray


def _matrix(reader: Reader, name: str, builder: VehicleBuilder) -> np.ndarray:
    """Return a (6, 6) of 6 or 36 numbers; zero where it is not given."""
    found = read_sourced_numbers(reader, name, (1, 6, 36))
    if found is None:
        return np.zeros((6, 6))
    if len(found.value) == 1:
        builder.drop(f'{found.origin}: one number; expected 6 or 36')
        return np.zeros((6, 6))
    return np.diag(found.value) if len(found.value) == 6 else found.value.reshape(6, 6)


def _model(model: Reader, link: Reader, name: str, builder: VehicleBuilder) -> None:
    kind = read_text(model, 'type')
    fossen = _Terms(
        _matrix(model, 'added_mass', builder),
        _matrix(model, 'linear_damping', builder),
        _matrix(model, 'quadratic_damping', builder),
    )
    shapes: dict[str, Callable[..., _Terms]] = {
        'sphere': _sphere,
        'cylinder': _cylinder,
        'spheroid': _spheroid,
        'box': _box_model,
    }
    if kind != 'fossen' and kind not in shapes:
        builder.drop(f'{origin_of(model)}: model {kind!r}; expected fossen, {", ".join(shapes)}')
        return
    assert builder.water_density is not None
    terms = fossen
    if kind != 'fossen':
        made = shapes[kind](model, link, builder.water_density.value, builder)
        terms = _Terms(
            np.where(made.added != 0, made.added, fossen.added),
            fossen.linear,
            np.where(made.quadratic != 0, made.quadratic, fossen.quadratic),
        )
    modulus = np.zeros((6, 6))
    forward = _matrix(model, 'linear_damping_forward_speed', builder)
    if np.any(forward):
        modulus[:, 0] = -np.diag(forward)
        builder.assume(
            f'{origin_of(model)}: <linear_damping_forward_speed> acts with |u|, in the source '
            'with u'
        )
        if np.any(forward - np.diag(np.diag(forward))):
            builder.drop(
                f'{origin_of(model)}: the terms of <linear_damping_forward_speed> off the diagonal'
            )
    quadratic = np.diag(np.diag(terms.quadratic))
    if np.any(terms.quadratic - quadratic):
        builder.drop(
            f'{origin_of(model)}: the terms of <quadratic_damping> off the diagonal, which the '
            'simulator does not use either'
        )
    set_hydrodynamics(
        builder,
        model,
        name,
        FLIP @ terms.added @ FLIP,
        -FLIP @ terms.linear @ FLIP + 0.0,
        -quadratic + 0.0,
        modulus,
    )


def _length(model: Reader, link: Reader, name: str, pick: Callable[..., float]) -> float:
    """Return a length of a model, or the one that the simulator picks from the <box>."""
    found = read_number(model, name, None, 1e-6, 1e4)
    if found is not None:
        return found.value
    box = _box(link)
    if box is None or not np.all(box > 0):
        raise model.error(f'has no <{name}>, and the link no <box> to take it from')
    return float(pick(box))


def _sphere(model: Reader, link: Reader, density: float, builder: VehicleBuilder) -> _Terms:
    del builder
    radius = _length(model, link, 'radius', min)
    added = 2 / 3 * density * np.pi * radius**3
    drag = -0.5 * density * 0.5 * np.pi * radius**2
    ahead = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    return _Terms(added * ahead, np.zeros((6, 6)), drag * ahead)


_CIRCLE = ((1, 0.91), (2, 0.85), (4, 0.87), (7, 0.99))
_SIDE = ((1, 0.63), (2, 0.68), (5, 0.74), (10, 0.82), (np.inf, 0.98))


def _cylinder(model: Reader, link: Reader, density: float, builder: VehicleBuilder) -> _Terms:
    radius = _length(model, link, 'radius', min)
    length = _length(model, link, 'length', max)
    box = _box(link)
    axis = read_text(model, 'axis')
    if not axis:
        axis = 'ijk'[int(np.argmax(box))] if box is not None else 'i'
    if axis not in ('i', 'j', 'k'):
        raise model.error(f'<axis> is {axis!r}; expected i, j or k')
    ratio = length / (2 * radius)
    front = next((cd for limit, cd in _CIRCLE if ratio <= limit), 0.99)
    side = next(cd for limit, cd in _SIDE if ratio <= limit)
    if ratio > _CIRCLE[-1][0]:
        builder.assume(f'{origin_of(model)}: C_d 0.99 of its ends, as of a ratio of 7')
    at = 'ijk'.index(axis)
    across = np.pi * density * radius**2 * length
    added, drag = np.full(3, across), np.full(3, -0.5 * side * radius * length * density)
    added[at] = density * np.pi * radius**2
    drag[at] = -0.5 * front * np.pi * radius**2 * density
    turning = np.full(3, across * length**2 / 12)
    turning[at] = 0.0
    return _Terms(np.diag([*added, *turning]), np.zeros((6, 6)), np.diag([*drag, 0.0, 0.0, 0.0]))


def _spheroid(model: Reader, link: Reader, density: float, builder: VehicleBuilder) -> _Terms:
    """Lamb's added mass of a prolate spheroid (Fossen 2011, section 6.3)."""
    radius = _length(model, link, 'radius', min)
    length = _length(model, link, 'length', max)
    a, b = length / 2, radius
    if not a > b:
        raise model.error(f'length {length:g} is not above 2 radius {2 * radius:g}')
    e = np.sqrt(1 - (b / a) ** 2)
    log = np.log((1 + e) / (1 - e))
    alpha = 2 * (1 - e**2) / e**3 * (0.5 * log - e)
    beta = 1 / e**2 - (1 - e**2) / (2 * e**3) * log
    mass = 4 / 3 * np.pi * density * a * b**2
    ahead, across = alpha / (2 - alpha) * mass, beta / (2 - beta) * mass
    ratio = (b**2 - a**2) ** 2 * (alpha - beta)
    turning = -0.2 * mass * ratio / (2 * (b**2 - a**2) + (b**2 + a**2) * (beta - alpha))
    builder.assume(f'{origin_of(model)}: a spheroid: added mass by Lamb, damping as it is given')
    diagonal = [ahead, across, across, 0.0, abs(turning), abs(turning)]
    return _Terms(np.diag(diagonal), np.zeros((6, 6)), np.zeros((6, 6)))


def _box_model(model: Reader, link: Reader, density: float, builder: VehicleBuilder) -> _Terms:
    """Quadratic damping of a box, ½ ρ C_d A with C_d = 1, as in the simulator."""
    factor = read_number(model, 'cd', 1.0, 0.0, 1e3)
    sizes = [
        _length(model, link, tag, lambda box, i=i: box[i])
        for i, tag in enumerate(('length', 'width', 'height'))
    ]
    length, width, height = sizes
    builder.assume(f'{origin_of(model)}: a box: drag ½ ρ C_d A, added mass as it is given')
    areas = np.array([width * height, length * height, length * width])
    drag = -0.5 * factor.value * density * areas
    return _Terms(np.zeros((6, 6)), np.zeros((6, 6)), np.diag([*drag, 0.0, 0.0, 0.0]))


def _conversion(reader: Reader) -> tuple[Callable[[float], float], Sourced[np.ndarray] | None]:
    """Return the thrust (N) of a state of the rotor, and the states of its table, ascending."""
    kind = read_text(reader, 'type')

    def read_required(name: str) -> float:
        found = read_number(reader, name)
        if found is None:
            raise reader.error(f'has no <{name}>, which {kind} needs')
        return found.value

    if kind == 'Basic':
        constant = read_required('rotorConstant')
        return (lambda w: constant * w * abs(w)), None
    if kind == 'Bessa':
        left, right = read_required('rotorConstantL'), read_required('rotorConstantR')
        low, high = read_required('deltaL'), read_required('deltaR')

        def dead_zone(w: float) -> float:
            x = w * abs(w)
            return left * min(x - low, 0.0) + right * max(x - high, 0.0)

        return dead_zone, None
    if kind == 'LinearInterp':
        tables = [
            read_sourced_numbers(reader, tag, tuple(range(1, 2001)))
            for tag in ('inputValues', 'outputValues')
        ]
        if tables[0] is None or tables[1] is None or len(tables[0].value) != len(tables[1].value):
            raise reader.error('expected as many <inputValues> as <outputValues>')
        order = np.argsort(tables[0].value, kind='stable')
        at, thrust = tables[0].value[order], tables[1].value[order]
        pushing = np.flatnonzero(thrust)
        if len(pushing) and not are_pulse_widths(at):
            inner = at[pushing[0] : pushing[-1] + 1]
            at = inner if are_pulse_widths(inner) else at  # zeros beyond the ends of a servo
            thrust = np.interp(at, tables[0].value[order], thrust)
        return (lambda w: float(np.interp(w, at, thrust))), Sourced(at, tables[0].origin)
    raise reader.error(f'conversion {kind!r}; expected Basic, Bessa or LinearInterp')


def _speed_of(thrust_of: Callable[[float], float], thrust: float) -> float:
    """Return the state of a rotor at which its thrust has a magnitude."""
    low, high = 0.0, 1.0
    while abs(thrust_of(high)) < thrust and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if abs(thrust_of(middle)) < thrust else (low, middle)
    return high


def add_uuv_thruster(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take libuuv_thruster: a thrust along the axis of its joint, on its link."""
    reader = plugin.reader
    link = builder.known_link(reader, read_text(reader, 'linkName'))
    name = read_text(reader, 'jointName')
    joint = builder.joints.get(name)
    axis = np.array([1.0, 0.0, 0.0] if joint is None else joint.axis)
    if joint is None:
        builder.assume(
            f'{origin_of(reader)}: joint {name!r} does not exist; the thrust is along x'
        )
    conversion = reader.first('conversion')
    if conversion is None:
        raise reader.error('has no <conversion>')
    clamp = ('clampMin', 'clampMax')
    if 'uuv_' not in plugin.file:  # libthruster_ros_plugin, before 2017
        clamp = ('clamp_min', 'clamp_max')
    builder.name_unread(reader, f'{_KNOWN["thruster"]}|{"|".join(clamp)}')
    builder.name_unread(conversion, _KNOWN['conversion'])
    thrust_of, table = _conversion(conversion)
    efficiency = read_number(reader, 'thrust_efficiency', 1.0, 0.0, 1.0)
    gain, propeller = (
        read_number(reader, 'gain', 1.0),
        read_number(reader, 'propeller_efficiency', 1.0, 0, 1),
    )
    lower, upper = (read_number(reader, tag) for tag in ('thrustMin', 'thrustMax'))

    def thrust(state: float) -> float:
        value = efficiency.value * thrust_of(propeller.value * state)
        value = value if lower is None else max(value, lower.value)
        return value if upper is None else min(value, upper.value)

    thruster_id = read_text(reader, 'thrusterID') or str(len(builder.thrusters))
    label = f'thruster_{thruster_id}'
    if table is not None and are_pulse_widths(table.value):
        builder.assume(
            f'{table.origin}: from {table.value[0]:g} to {table.value[-1]:g}: pulse widths in µs'
        )
        curve, mirrored = pulse_curve(thrust, table.value)
        origin = (table.origin, False)
    else:
        low, high, origin = _states(reader, builder, label, thrust, table, upper, clamp)
        factor = gain.value
        curve, mirrored = sampled_curve(thrust, *sorted((factor * low, factor * high)))
    if not np.any(curve[:, 1]):
        builder.drop(f'{origin_of(conversion)}: the thrust is 0 at every command')
    add_propeller(
        builder,
        label,
        link,
        axis,
        (curve, mirrored),
        origin,
        thruster_id,
        time_constant=time_constant(reader, builder),
        shaft=name if joint is not None and joint.child == link else '',
    )


def _states(
    reader: Reader,
    builder: VehicleBuilder,
    label: str,
    thrust: Callable[[float], float],
    table: Sourced[np.ndarray] | None,
    upper: Sourced[float] | None,
    clamp: tuple[str, str],
) -> tuple[float, float, tuple[str, bool]]:
    """Return the lowest and highest command of a thruster, and where they are from."""
    low, high = (read_number(reader, tag) for tag in clamp)
    if low is not None and high is not None and low.value < high.value:
        ends = min(low.value, 0.0), max(high.value, 0.0)
        if table is not None:  # beyond its ends the thrust stays
            ends = max(ends[0], min(table.value[0], 0.0)), min(ends[1], max(table.value[-1], 0.0))
        return *ends, (origin_of(reader), False)
    if table is not None:
        largest = float(np.max(np.abs(table.value)))
        return -largest, largest, (table.origin, False)
    if not thrust(1e3) and not thrust(-1e3):
        return -1.0, 1.0, (origin_of(reader), False)
    if upper is not None:
        state = _speed_of(thrust, abs(upper.value) * (1 - 1e-12))
        return -state, state, (upper.origin, False)
    limit = thrust_limit(builder, label)
    state = _speed_of(thrust, limit.value)
    return -state, state, (f'{origin_of(reader)}; {limit.origin}', True)


def time_constant(reader: Reader, builder: VehicleBuilder) -> Sourced[float] | None:
    """Return the lag of a rotor or a servo in s, or None where it has none."""
    dynamics = reader.first('dynamics')
    if dynamics is None:
        return None
    kind = read_text(dynamics, 'type')
    if kind in ('ZeroOrder', ''):
        return None
    if kind == 'FirstOrder':
        return read_number(dynamics, 'timeConstant', None, 0.0, 60.0)
    builder.drop(f'{origin_of(dynamics)}: {kind} dynamics of a rotor; it follows at once here')
    return None
