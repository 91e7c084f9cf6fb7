# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of units, signs and meshes: numbers of another unit or another frame."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from marine_sim_ros.doctor.context import DescriptionContext, Diagnostic, Edit, finite_numbers
from marine_sim_ros.doctor.repairs import flip_signs, mesh_scale, scale_mesh
from marine_sim_ros.model.propulsion import T200_DIAMETER
from marine_sim_ros.model.xml import Element

__all__ = [
    'angle_unit',
    'inertia_unit',
    'inside_out',
    'is_oversized',
    'link_mass',
    'looks_down',
    'mass_unit',
    'mesh_unit',
    'negative_damping',
    'readable_meshes',
    'rotor_speed_unit',
    'thrust_unit',
]


# Units: values that are impossible as given and plausible in another usual unit.

_MERIT = (0.05, 0.9)
"""Figures of merit that a propeller at the bollard can have."""
_GOOD_MERIT = 0.35
"""Of usual thrusters; a T200 at 16 V has 0.32 at full power."""
_LIKELY = (0.12, 0.85)
_THRUST_COEFFICIENT = (0.02, 2.0)
_LIKELY_THRUST = (0.05, 1.2)
_USUAL_THRUST = 0.4
"""Thrust coefficients at rest; a T200 at 16 V has 0.45 at full power."""
_FASTEST_TIP = 40.0
"""m/s; propellers of ships stay below, for they would cavitate."""
_RPM = 30 / math.pi
"""rpm of 1 rad/s."""
_AS_RADIANS = 'the speeds are likely rpm that were taken for rad/s: divide them by 9.549'
_SPEED_UNITS: Mapping[str, float] = MappingProxyType(
    {
        _AS_RADIANS: 1 / _RPM,
        'the speeds are likely in rad/s: multiply them by 9.549': _RPM,
        'the speeds are likely in revolutions per second: multiply them by 60': 60.0,
    }
)
"""Advice, and the factor that it says."""
_DENSITY = 25000.0
"""kg/m³; denser than any metal that vehicles are made of."""
_MAX_ANGLE = 2 * math.pi + 0.01
_INERTIA_UNITS: Mapping[str, float] = MappingProxyType(
    {'g·mm²': 1e9, 'g·cm²': 1e7, 'kg·mm²': 1e6, 'kg·cm²': 1e4, 'lb·in²': 3417.0, 'g·m²': 1e3}
)
_MAX_LINK_SIZE = 1e6
"""m; a link of this size is not judged."""
_GYRATION = (1e-3, 20.0)
"""m; radii of gyration √(I/m) of links without geometry."""
_RATIOS: Mapping[str, float] = MappingProxyType(
    {
        'the masses are likely in g': 1e-3,
        'the volume is likely in litres': 1e3,
        'the volume is likely in cm³': 1e6,
        'the volume is likely in mm³': 1e9,
    }
)


def _merit(
    context: DescriptionContext, curve: Element, thrust: np.ndarray, power: np.ndarray
) -> float:
    """Return the median of T^1.5/(√(2 ρ A) P) (Carlton 2018, the ideal actuator disc at rest)."""
    area = math.pi * ((_diameter(context, curve) or T200_DIAMETER) / 2) ** 2
    density = context.vehicle.buoyancy.fluid_density
    used = (thrust > 0.3 * thrust.max()) & (power > 0)
    if not used.any():
        return math.nan
    return float(np.median(thrust[used] ** 1.5 / (math.sqrt(2 * density * area) * power[used])))


def _is_merit(merit: float) -> bool:
    """Return whether a propeller can have a figure of merit; an unknown one is no evidence."""
    return math.isnan(merit) or _MERIT[0] <= merit <= _MERIT[1]


def _thrust_coefficient(
    context: DescriptionContext, curve: Element, thrust: np.ndarray, speed: np.ndarray
) -> float:
    """Return K_T = T/(ρ n² D⁴) at full thrust (Carlton 2018, section 6.1); NaN without a speed."""
    full, density = int(np.argmax(thrust)), context.vehicle.buoyancy.fluid_density
    diameter = _diameter(context, curve) or T200_DIAMETER
    scale = float(density * (speed[full] / 60) ** 2 * diameter**4)
    return float(thrust[full]) / scale if scale > 0 else math.nan


def thrust_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """The figure of merit of a thrust table, T^1.5/(√(2 ρ A) P), is 0.05 to 0.9.

    The likely cause leaves it and the thrust coefficient nearest to usual ones. Thrust in gf and
    power in kW change the figure of merit alike, so that only rotor speeds tell them apart.
    """
    for curve, thrust, power, speed in _thrust_tables(context):
        volts = float(curve.get('voltage') or 16.0)
        merit = _merit(context, curve, thrust, power)
        if _is_merit(merit):
            continue
        factors = {
            'the thrust is likely in kgf: multiply it by 9.80665': (9.80665, 1.0),
            'the thrust is likely in lbf: multiply it by 4.44822': (4.44822, 1.0),
            'the power is likely the current in A: multiply it by the voltage': (1.0, volts),
        }
        if speed[np.argmax(thrust)] > 0:
            factors['the thrust is likely in gf: multiply it by 0.00980665'] = (9.80665e-3, 1.0)
            factors['the power is likely in kW: multiply it by 1000'] = (1.0, 1000.0)
        else:
            factors['the thrust is likely in gf, or the power in kW'] = (9.80665e-3, 1.0)
        likely = {text: (a * thrust, b * power, speed) for text, (a, b) in factors.items()}
        likely['thrust and power are likely swapped'] = power, thrust, speed
        likely['power and speed are likely swapped'] = thrust, speed, power
        unlikely = {}
        for text, (force, watts, rate) in likely.items():
            found = _merit(context, curve, force, watts)
            if _LIKELY[0] <= found <= _LIKELY[1]:
                coefficient = _thrust_coefficient(context, curve, force, rate)
                unlikely[text] = abs(math.log(found / _GOOD_MERIT))
                if coefficient > 0:
                    unlikely[text] += abs(math.log(coefficient / _USUAL_THRUST))
        advice = min(unlikely, key=unlikely.__getitem__, default='')
        yield context.warning(
            curve,
            f'{thrust.max():.4g} N at {power[np.argmax(thrust)]:.4g} W are a figure of merit of '
            f'{merit:.2g}, where propellers have {_MERIT[0]:g} to {_MERIT[1]:g}: a unit or a '
            'column is wrong',
            advice or 'check thrust in N, power in W, and the diameter of the thrusters',
        )


def rotor_speed_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Full thrust and rotor speed of a table are those of a propeller.

    With a diameter, K_T = T/(ρ n² D⁴) at rest is 0.02 to 2 (Carlton 2018, section 6.1). Without
    one, the blade tip of a propeller of K_T 0.4, (π⁴ n² T/(ρ K_T))^¼, is slower than 40 m/s. A
    table whose thrust or power is in another unit says nothing of its speeds.
    """
    density = context.vehicle.buoyancy.fluid_density
    for curve, thrust, power, speed in _thrust_tables(context):
        if not _is_merit(_merit(context, curve, thrust, power)):
            continue  # the thrust itself is in doubt, see thrust_unit
        full = int(np.argmax(thrust))
        force, rate = float(thrust[full]), float(speed[full]) / 60
        if force <= 0 or rate <= 0:
            continue
        diameter = _diameter(context, curve)
        if diameter is None:
            tip = (math.pi**4 * rate**2 * force / (density * _USUAL_THRUST)) ** 0.25
            if tip <= _FASTEST_TIP:
                continue
            told = f'a blade tip of about {tip:.3g} m/s, where propellers stay below'
            told += f' {_FASTEST_TIP:g} m/s'
            good = {_AS_RADIANS: tip * _RPM**-0.5} if tip * _RPM**-0.5 <= _FASTEST_TIP else {}
        else:
            found = _thrust_coefficient(context, curve, thrust, speed)
            if _THRUST_COEFFICIENT[0] <= found <= _THRUST_COEFFICIENT[1]:
                continue
            told = (
                f'a thrust coefficient of {found:.2g} with {diameter:g} m, where propellers have'
            )
            told += f' {_THRUST_COEFFICIENT[0]:g} to {_THRUST_COEFFICIENT[1]:g}'
            scaled = {text: found / factor**2 for text, factor in _SPEED_UNITS.items()}
            good = {t: k for t, k in scaled.items() if _LIKELY_THRUST[0] <= k <= _LIKELY_THRUST[1]}
        yield context.warning(
            curve,
            f'{force:.4g} N at {60 * rate:.4g} rpm are {told}: a unit is wrong',
            min(good, key=lambda t: abs(math.log(good[t] / _USUAL_THRUST)), default='')
            or 'check thrust in N, speed in rpm, and the diameter of the thrusters',
        )


def _thrust_tables(
    context: DescriptionContext,
) -> Iterator[tuple[Element, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield curves with sizes of thrust (n,) N, power (n,) W and speed (n,) rpm."""
    for curve in context.root.findall('thrusters/curve'):
        words = (curve.text or '').split()
        table = finite_numbers(curve.text, len(words))
        if table is not None and len(words) and len(words) % 4 == 0:
            _, force, power, speed = table.reshape(-1, 4).T
            yield curve, np.abs(force), power, np.abs(speed)


def _diameter(context: DescriptionContext, curve: Element) -> float | None:
    """Return the diameter of the first thruster with a curve, m; None: none has one."""
    for thruster in context.root.findall('thrusters/thruster'):
        if thruster.get('curve') == curve.get('name'):
            found = finite_numbers(thruster.findtext('diameter'), 1)
            if found is not None and found[0] > 0:
                return float(found[0])
    return None


def mass_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Mass and displaced water are of the same order, in the units of the description."""
    vehicle = context.vehicle
    ratio = vehicle.buoyancy.fluid_density * vehicle.buoyancy.volume / vehicle.inertia.mass
    for text, factor in _RATIOS.items():
        if 0.4 < ratio / factor < 2.5:
            yield context.warning(
                context.root.find('buoyancy') if factor > 1 else _heaviest_link(context),
                f'it displaces {ratio:.3g} times its mass, {vehicle.inertia.mass:.4g} kg: {text}',
                'give masses in kg, and lengths and volumes in m and m³',
            )


def _mass(link: Element) -> float:
    element = link.find('inertial/mass')
    value = None if element is None else finite_numbers(element.get('value'), 1)
    return 0.0 if value is None else float(value[0])


def _heaviest_link(context: DescriptionContext) -> Element | None:
    return max(context.root.findall('link'), key=_mass, default=None)


def link_mass(context: DescriptionContext) -> Iterator[Diagnostic]:
    """No link is denser than 25 000 kg/m³ in the box around its geometry."""
    for link in context.root.findall('link'):
        boxes = [e for e in context.extents if e.element.getparent() is link]
        volume = sum(e.volume for e in boxes if e.element.tag == 'collision')
        volume = volume or sum(e.volume for e in boxes)
        mass = _mass(link)
        if volume > 0 and mass > _DENSITY * volume:
            likely = mass / 1000 < _DENSITY * volume
            yield context.warning(
                link,
                f'{mass:.4g} kg in {volume:.3g} m³ are {mass / volume:.3g} kg/m³, denser than any '
                'metal',
                'its mass is likely in g' if likely else 'check its mass in kg and its size in m',
            )


def inertia_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Radii of gyration √(I/m) of a link are within its size, or 1 mm to 20 m."""
    for link in context.root.findall('link'):
        element, mass = link.find('inertial/inertia'), _mass(link)
        if element is None or mass <= 0:
            continue
        own = [finite_numbers(element.get(n), 1) for n in ('ixx', 'iyy', 'izz')]
        largest = max((float(v[0]) for v in own if v is not None), default=0.0)
        boxes = [e for e in context.extents if e.element.getparent() is link]
        size = max((math.hypot(*(e.high - e.low)) for e in boxes), default=0.0)
        if size > _MAX_LINK_SIZE:
            continue
        low, high = (0.02 * size, 5 * size) if size else _GYRATION
        radius = math.sqrt(max(largest, 0.0) / mass)
        if low <= radius <= high or largest <= 0:
            continue
        factor = largest / (mass * (0.3 * (size or 1.0)) ** 2)
        text = min(_INERTIA_UNITS, key=lambda unit: abs(math.log(factor / _INERTIA_UNITS[unit])))
        yield context.warning(
            link,
            f'a moment of inertia of {largest:.3g} kg·m² with {mass:.4g} kg is a radius of '
            f'gyration of {radius:.3g} m; expected {low:.2g} to {high:.3g} m',
            f'the inertia is likely in {text}' if factor > 100 else 'check its unit: kg·m²',
        )


def angle_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Angles are in rad: rpy and limits of joints that turn are within a turn."""
    for element in context.root.iter('origin', 'limit'):
        parent = element.getparent()
        if element.tag == 'limit' and parent is not None and parent.get('type') == 'prismatic':
            continue
        for name in ('rpy', 'lower', 'upper'):
            words = (element.get(name) or '').split()
            values = finite_numbers(element.get(name), len(words))
            if values is not None and len(values) and np.abs(values).max() > _MAX_ANGLE:
                turns = ' '.join(f'{math.radians(v):.6g}' for v in values)
                yield context.warning(
                    element,
                    f'{name}="{element.get(name)}" is more than a turn in rad: it is likely in '
                    'degrees',
                    f'write {name}="{turns}"',
                )


# Signs of a downward frame (NED, FRD) in place of ours (ENU, FLU; REP 103).

_HIGH = ('float', 'foam', 'buoy', 'top', 'antenna', 'mast')
_LOW = ('ballast', 'skid', 'keel', 'lead', 'bottom', 'leg')
_PORT = ('port', 'left')
_STARBOARD = ('starboard', 'right')


def _evidence(context: DescriptionContext) -> list[str]:
    vehicle = context.vehicle
    com = vehicle.inertia.center_of_mass
    told = []
    if vehicle.buoyancy.volume > 0 and vehicle.buoyancy.center_of_volume[2] < com[2]:
        told.append('the centre of buoyancy is below that of gravity')
    places = {frame.name: frame.translation for frame in context.frames.values()}
    thrusters = vehicle.thrusters
    places |= dict(zip(thrusters.names, thrusters.position, strict=True))
    for name, at in places.items():
        lower = name.lower()
        if any(word in lower for word in _HIGH) and at[2] < com[2] - 0.01:
            told.append(f'{name!r} is below the centre of gravity')
        if any(word in lower for word in _LOW) and at[2] > com[2] + 0.01:
            told.append(f'{name!r} is above the centre of gravity')
        side = _side(lower)
        if side * at[1] < -1e-3:
            told.append(f'{name!r} is at y = {at[1]:.3g} m')
    return told


def _side(name: str) -> int:
    words = name.replace('-', '_').split('_')
    return int(any(w in words for w in _PORT)) - int(any(w in words for w in _STARBOARD))


def looks_down(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Two or more signs together: what belongs on top is below, what is to port has y < 0."""
    links = {link.get('name'): link for link in context.root.findall('link')}
    for frame in context.frames.values():
        named = {'ned', 'frd'} & set(frame.name.lower().split('_'))
        if named and np.allclose(frame.quaternion, [0, 0, 0, 1]):
            yield context.hint(
                links.get(frame.name),
                'is named for a frame with z down',
                'make sure that its joint turns it by pi about x; nothing here converts it',
            )
    told = _evidence(context)
    if len(told) >= 2:
        yield context.warning(
            None,
            f'it looks as if its z pointed down (NED): {"; ".join(told[:4])}',
            'turn the signs of all y and z, and of the products I_xy and I_xz: x forward, y to '
            'port, z up',
        )


def _takes_energy(text: str) -> bool:
    """Return whether the symmetric part of a matrix in a text is positive semi-definite."""
    try:
        numbers = np.array([float(word) for word in text.split()])
    except ValueError:
        return False
    if len(numbers) != 36 or not np.all(np.isfinite(numbers)):
        return False
    matrix = numbers.reshape(6, 6)
    moments = np.linalg.eigvalsh(matrix + matrix.T)
    return bool(moments[0] >= -1e-9 * max(1.0, abs(moments[-1])))


def negative_damping(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Coefficients with the sign of the literature, X_u < 0, instead of positive ones.

    Only the symmetric part of a matrix gains or takes energy, νᵀ D ν; negative numbers off the
    diagonal are right as long as it is positive semi-definite.
    """
    for tag in ('linear_damping', 'quadratic_damping', 'modulus_damping', 'added_mass'):
        for element in context.root.findall(f'hydrodynamics/{tag}'):
            text = element.text or ''
            values = [w for w in text.split() if w.startswith('-') and w.strip('-0.')]
            if values and not _takes_energy(text):
                yield context.error(
                    element,
                    f'has negative numbers ({" ".join(values[:3])}), as the literature writes X_u',
                    'give positive coefficients: a force against the motion, a mass',
                    flip_signs(element),
                )


# Meshes: present, in metres, with outward normals.

MESH_SIZE_RATIO = 30.0
"""Times all else; a mesh that much larger is in another unit."""
AIRY = 10.0
"""Times the edge of a cube of the vehicle's mass and of 100 kg/m³; a WAM-V has 4."""
LONG = 20.0
"""m; of a mesh where no other size is known."""
HOLLOW = 12.0
"""Times the displaced volume; the convex hulls of collisions have 1 to 6, of one in feet 35."""
_MESH_UNITS: Mapping[str, float] = MappingProxyType(
    {'millimetres': 0.001, 'centimetres': 0.01, 'inches': 0.0254, 'feet': 0.3048}
)
"""m; units of CAD programs."""
_FIT = 4.0
"""Factor within which a scaled mesh is about as long as what else tells of its size."""


def _meshes(context: DescriptionContext) -> list[tuple[Element, Any]]:
    meshes = context.root.iter('mesh')
    return [(e, context.meshes[name]) for e in meshes if (name := e.get('filename'))]


def readable_meshes(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Every mesh, also of visuals, is a file that can be read."""
    for element, mesh in _meshes(context):
        if isinstance(mesh, str):
            yield context.error(
                element, str(mesh), 'check the file name, and that the package is built'
            )


def _other_sizes(context: DescriptionContext) -> float:
    """Return the largest distance (m) that thrusters, joints and plain shapes tell of."""
    found = [
        np.abs(values).max()
        for tag, name, count in (
            ('origin', 'xyz', 3),
            ('box', 'size', 3),
            ('cylinder', 'length', 1),
        )
        for element in context.root.iter(tag)
        if (values := finite_numbers(element.get(name), count)) is not None
    ]
    return float(max(found, default=0.0))


def _cube_edge(context: DescriptionContext) -> float:
    """Return the edge (m) of a cube of the vehicle's mass and of 100 kg/m³; infinite: unknown."""
    if context.loaded is None:
        return math.inf
    return float(np.cbrt(context.vehicle.inertia.mass / 100))


def _fits(length: float, size: float) -> bool:
    return size / _FIT < length < size * _FIT


def _units_of(longest: float, size: float) -> list[str]:
    """Return the units in which a length makes sense beside a size (m); the nearest at least."""
    nearest = min(_MESH_UNITS, key=lambda u: abs(math.log(longest * _MESH_UNITS[u] / size)))
    return [u for u, metres in _MESH_UNITS.items() if _fits(longest * metres, size)] or [nearest]


def _oversized_meshes(context: DescriptionContext) -> Iterator[tuple[Element, float, bool]]:
    """Yield each mesh that is too large for metres: element, length in m, whether that is sure."""
    other = _other_sizes(context)
    for element, mesh in _meshes(context):
        if isinstance(mesh, str):
            continue
        scale = finite_numbers(element.get('scale'), 3)
        extents = mesh.extents * (np.ones(3) if scale is None else np.abs(scale))
        longest = float(np.max(extents))
        if longest >= max(LONG, MESH_SIZE_RATIO * other):
            yield element, longest, True
        elif longest > AIRY * _cube_edge(context) or _is_hollow(context, element, mesh, scale):
            yield element, longest, False


def _is_hollow(
    context: DescriptionContext, element: Element, mesh: Any, scale: np.ndarray | None
) -> bool:
    """Return whether a collision's convex hull is far larger than the volume of <buoyancy>."""
    given = context.root.find('buoyancy/volume')
    if given is None or context.loaded is None or _ancestor(element, 'collision') is None:
        return False
    size = 1.0 if scale is None else abs(float(np.prod(scale)))
    return size * float(mesh.convex_hull.volume) > HOLLOW * context.vehicle.buoyancy.volume


def is_oversized(context: DescriptionContext) -> bool:
    """Return whether a mesh of the hull is in another unit, so that no number of it is right."""
    return any(
        sure and _ancestor(element, 'visual') is None
        for element, _, sure in _oversized_meshes(context)
    )


def _ancestor(element: Element, tag: str) -> Element | None:
    return next(element.iterancestors(tag), None)


def mesh_unit(context: DescriptionContext) -> Iterator[Diagnostic]:
    """A mesh is about as large as the thrusters, joints and boxes around it."""
    other, edge = _other_sizes(context), _cube_edge(context)
    size = other or (edge if math.isfinite(edge) else 1.0)
    files: dict[tuple[str | None, float, bool], list[Element]] = {}
    for element, longest, sure in _oversized_meshes(context):
        files.setdefault((element.get('filename'), longest, sure), []).append(element)
    for (name, longest, sure), elements in files.items():
        first = elements[0]
        units = _units_of(longest, size)
        unit = ' or '.join(units)
        advice = 'add ' + ' or '.join(f'scale="{mesh_scale(_MESH_UNITS[u])}"' for u in units)
        places = [context.place(e) for e in elements[1:]]
        if places:
            advice += ' here and at ' + ', '.join(f'{p.file}:{p.line}' for p in places)
        if not sure:
            yield context.warning(
                first,
                f'{name} is {longest:.4g} m long, of a vehicle of '
                f'{context.vehicle.inertia.mass:.3g} kg: it is likely in {unit}',
                advice,
            )
            continue
        if is_oversized(context):
            advice += '; mass, buoyancy, drag and motion are examined after that'
        against = f', all else within {other:.3g} m' if other else ''
        text = f'{name} is {longest:.4g} m long{against}: it is rather in {unit}'
        yield context.error(first, text, advice, _rescale(elements, units, longest, other))


def _rescale(
    elements: Sequence[Element], units: Sequence[str], longest: float, other: float
) -> Edit | None:
    """Return the edit that scales a mesh wherever it is used; None where that is not sure."""
    unscaled = all(element.get('scale') is None for element in elements)
    metres = _MESH_UNITS[units[0]]
    is_sure = len(units) == 1 and _fits(longest * metres, other)
    return scale_mesh(metres, *elements) if unscaled and is_sure else None


def inside_out(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Triangles are counter-clockwise seen from outside: the volume is positive."""
    for element, mesh in _meshes(context):
        if isinstance(mesh, str):
            continue
        scale = finite_numbers(element.get('scale'), 3)
        mesh.merge_vertices(merge_tex=True, merge_norm=True)
        mirrored = scale is not None and np.prod(scale) < 0
        if mesh.is_watertight and mesh.volume * (-1 if mirrored else 1) < 0:
            yield context.warning(
                element,
                'is inside out; for the hull it is turned, other programs may not',
                'flip the normals in the program that made it',
            )
