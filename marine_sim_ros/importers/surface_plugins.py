# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plugins of surface vessels: VRX, VRX for Gazebo classic, asv_wave_sim.

Sources: vrx, vrx_gz/src/{Surface,SimpleHydrodynamics}.cc; vrx (2018 to 2021),
usv_gazebo_plugins/src/usv_gazebo_{dynamics,thrust}_plugin.cc; asv_wave_sim,
gz-waves/src/Physics.cc: pressure and suction −(C_1 s + C_2 s²) S cosᶠθ with s = |v|/v_r, friction
by Reynolds number, and damping −(A_wet/A) (c_1 + c_2 |v|) v.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.importers.builder import (
    Plugin,
    VehicleBuilder,
    origin_of,
    read_number,
    read_text,
)
from marine_sim_ros.importers.description import Hydrodynamics, ImportedShape, PanelDrag, Sourced
from marine_sim_ros.importers.gazebo_plugins import set_hydrodynamics
from marine_sim_ros.importers.thrusters import add_propeller, linear_thrust_curve
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.xml import Reader

__all__ = [
    'add_simple_hydrodynamics',
    'add_vrx_surface',
    'add_usv_dynamics',
    'add_usv_thrust',
    'add_wave_hydrodynamics',
]


# Surface vessels of VRX: hulls of the Surface plugin, SimpleHydrodynamics.

_SLENDER = 200
"""Length over radius; a longer hull would be cut into millions of voxels."""
_DENSITY = 997.7735
"""kg/m³, default of the plugins."""
_PAIRS = (('x', 'U'), ('y', 'V'), ('z', 'W'), ('k', 'P'), ('m', 'Q'), ('n', 'R'))
_ALONG_X = quaternion_from_rpy(0.0, np.pi / 2, 0.0)


def add_vrx_surface(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take vrx::Surface: the lower half of a cylinder that floats, divided among its points."""
    reader = plugin.reader
    link = builder.known_link(reader, read_text(reader, 'link_name'))
    length = read_number(reader, 'hull_length', 4.9, 1e-3, 1e4).value
    radius = read_number(reader, 'hull_radius', 0.213, 1e-3, 1e4).value
    builder.water_density = read_number(reader, 'fluid_density', _DENSITY, 1.0, 2e4)
    points = [
        Reader(p, reader.source).numbers({3}) for p in reader.element.findall('points/point')
    ]
    if points:
        hulls = _cylinders(reader, points, length / len(points), radius)
    else:
        own = read_number(reader, 'vehicle_length', length, 1e-3, 1e4)
        width = read_number(reader, 'vehicle_width', None, 1e-3, 1e4)
        if width is None:
            raise reader.error('has no <points><point>, and no <vehicle_width>')
        hulls = twin_hulls(reader, own.value, width.value, radius)
    builder.assume(
        f'{origin_of(reader)}: the whole cylinder displaces; in the source no more than its '
        'lower half does'
    )
    add_hulls(reader, builder, link, hulls)


def twin_hulls(reader: Reader, length: float, width: float, radius: float) -> list[ImportedShape]:
    """Return two hulls along x at y = ±width/2, each in two halves, for plugins without points."""
    halves = [(x, y) for x in (-1, 1) for y in (-1, 1)]
    points = [np.array([x * length / 4, y * width / 2, 0.0]) for x, y in halves]
    return _cylinders(reader, points, length / 2, radius)


def _cylinders(
    reader: Reader, points: list[np.ndarray], length: float, radius: float
) -> list[ImportedShape]:
    """Return cylinders along x that touch points (3,) with their lowest line."""
    if length > _SLENDER * radius:
        raise reader.error(
            f'a hull of {length:g} m is more than {_SLENDER} times its radius {radius:g} m; '
            'expected a hull'
        )
    up, origin = np.array([0.0, 0.0, radius]), origin_of(reader)
    return [
        ImportedShape('cylinder', (radius, length), Pose(p + up, _ALONG_X), origin) for p in points
    ]


def add_hulls(
    reader: Reader, builder: VehicleBuilder, link: str, hulls: list[ImportedShape]
) -> None:
    """Let shapes of a link float the vehicle in place of its own collisions."""
    if 'hull' not in builder.notes:
        for name, known in builder.links.items():
            if known.collisions:
                builder.drop(
                    f'collisions of link {name!r}: the hulls of {origin_of(reader)} replace them'
                )
                builder.links[name] = replace(known, collisions=())
    builder.notes['hull'] = True
    known = builder.links[link]
    builder.links[link] = replace(known, collisions=(*known.collisions, *hulls))


def add_simple_hydrodynamics(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take vrx::SimpleHydrodynamics; its coefficients are positive where they damp."""
    reader = plugin.reader
    builder.name_unread(
        reader, '[xyzkmn](Dot)?[UVWPQR]|[xyzkmn][UVWPQR]{2}|link_name|bodyName|waterDensity'
    )
    name = read_text(reader, 'link_name') or read_text(reader, 'bodyName') or builder.base
    link = builder.known_link(reader, name)
    density = read_number(reader, 'waterDensity')
    if density is not None and builder.water_density is None:
        builder.water_density = Sourced(density.value, density.origin)
    added, linear, quadratic = (np.zeros((6, 6)) for _ in range(3))
    for i, (row, column) in enumerate(_PAIRS):
        for matrix, tag in (
            (added, f'{row}Dot{column}'),
            (linear, f'{row}{column}'),
            (quadratic, f'{row}{column}{column}'),
            (quadratic, f'{row}{column}abs{column}'),
        ):
            found = read_number(reader, tag)
            if found is not None:
                matrix[i, i] += abs(found.value)
    set_hydrodynamics(builder, reader, link, added, linear, quadratic, np.zeros((6, 6)))


# Boats of VRX for Gazebo classic: usv_gazebo_dynamics_plugin and usv_gazebo_thrust_plugin.

_DEFAULTS = {
    'xDotU': 5.0,
    'yDotV': 5.0,
    'nDotR': 1.0,
    'xU': 20.0,
    'yV': 20.0,
    'zW': 20.0,
    'kP': 20.0,
    'mQ': 20.0,
    'nR': 20.0,
}
"""Terms of the plugin where they are not given; quadratic ones are 0."""
_OTHER_ADDED_MASS = 0.1
_AREA, _LENGTH, _WIDTH = 0.48, 1.35, 1.0
"""m², m, m: defaults of <boatArea>, <boatLength> and <boatWidth>."""
_RADIUS = 0.213
"""m, default of <hullRadius>."""


def add_usv_dynamics(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take drag and added mass, positive where they damp, and the hulls that carry the boat.

    With <hullRadius> or <length_n>, as since 2019, these are two half-submerged cylinders;
    without, four columns of a quarter of <boatArea> each, which displace ρ A d at a draught d of
    the link's origin.
    """
    reader = plugin.reader
    name = read_text(reader, 'bodyName') or read_text(reader, 'link_name') or builder.base
    link = builder.known_link(reader, name)
    builder.water_density = read_number(reader, 'waterDensity', _DENSITY, 1.0, 2e4)
    values = {tag: abs(read_number(reader, tag, value).value) for tag, value in _DEFAULTS.items()}
    squared = [
        abs(read_number(reader, tag, 0.0).value)
        for tag in ('xUU', 'yVV', 'zWW', 'kPP', 'mQQ', 'nRR')
    ]
    other = [_OTHER_ADDED_MASS] * 3
    set_hydrodynamics(
        builder,
        reader,
        link,
        np.diag([values['xDotU'], values['yDotV'], *other, values['nDotR']]),
        np.diag([values[tag] for tag in ('xU', 'yV', 'zW', 'kP', 'mQ', 'nR')]),
        np.diag(squared),
        np.zeros((6, 6)),
    )
    radius = read_number(reader, 'hullRadius', None, 1e-3, 1e4)
    if radius is None and reader.first('length_n') is not None:
        radius = read_number(reader, 'hullRadius', _RADIUS, 1e-3, 1e4)
    if radius is None:
        add_hulls(reader, builder, link, _columns(reader, builder))
        return
    length = read_number(reader, 'boatLength', _LENGTH, 1e-3, 1e4)
    width = read_number(reader, 'boatWidth', _WIDTH, 1e-3, 1e4)
    add_hulls(reader, builder, link, twin_hulls(reader, length.value, width.value, radius.value))


def _columns(reader: Reader, builder: VehicleBuilder) -> list[ImportedShape]:
    """Return four boxes from the link's origin upwards, twice as high as the boat's draught."""
    area = read_number(reader, 'boatArea', _AREA, 1e-6, 1e6)
    length = read_number(reader, 'boatLength', _LENGTH, 1e-3, 1e4)
    width = read_number(reader, 'boatWidth', _WIDTH, 1e-3, 1e4)
    assert builder.water_density is not None
    draught = builder.mass / (builder.water_density.value * area.value)
    builder.assume(
        f'{origin_of(reader)}: four columns with a waterplane of {area.value:g} m², '
        f'{2 * draught:.3g} m high; in the source they have no top'
    )
    edge = float(np.sqrt(area.value / 4))
    corners = [(x, y) for x in (-1, 1) for y in (-1, 1)]
    return [
        ImportedShape(
            'box',
            (edge, edge, 2 * draught),
            Pose(
                np.array([x * length.value / 2, y * width.value / 2, draught]), IDENTITY.quaternion
            ),
            area.origin,
        )
        for x, y in corners
    ]


_THRUSTER = (
    '(link|propJoint|engineJoint)Name|(cmd|angle)Topic|enableAngle|mappingType|maxCmd|'
    'maxForce(Fwd|Rev)|maxAngle'
)
"""Pattern of the elements of a thruster of usv_gazebo_thrust_plugin."""


def add_usv_thrust(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take thrusters along x of their links, linear in the command; engines that turn follow."""
    elements = plugin.reader.element.findall('thruster')
    if not elements:
        builder.unread_force(plugin, 'has no <thruster>')
    for index, element in enumerate(elements):
        reader = Reader(element, plugin.reader.source)
        link = builder.known_link(reader, read_text(reader, 'linkName'))
        builder.name_unread(reader, _THRUSTER)
        ahead = read_number(reader, 'maxForceFwd', 250.0, 0.0, 1e9)
        astern = read_number(reader, 'maxForceRev', -100.0, -1e9, 1e9)
        if read_text(reader, 'mappingType', '0') != '0':
            builder.assume(f'{origin_of(reader)}: its thrust is linear in the command here')
        add_propeller(
            builder,
            f'thruster_{index}',
            link,
            np.eye(3)[0],
            (linear_thrust_curve(-abs(astern.value), ahead.value), False),
            (ahead.origin, False),
            shaft=read_text(reader, 'propJointName').replace('::', '/'),
        )


# Hydrodynamics of asv_wave_sim: forces on the panels of the collisions.

_PRESSURE, _EXPONENT = 100.0, 0.4
"""Pa and 1, defaults of <cPDrag1>, <cPDrag2>, <cSDrag1>, <cSDrag2>; of <fPDrag> and <fSDrag>."""
_DAMPING = 1e-6
"""N·s/m and others, default of <cDampL1>, <cDampL2>, <cDampR1> and <cDampR2>."""


def add_wave_hydrodynamics(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Let the collisions float by their volume and drag by their panels, with its coefficients."""
    builder.notes['float_by_collisions'] = True
    reader = plugin.reader.first('hydrodynamics') or plugin.reader
    forces = {'viscous': ('viscous',), 'pressure': ('pressure', 'suction')}
    builder.panel_drag = PanelDrag(
        read_number(reader, 'vRDrag', 1.0, 1e-6, 1e6).value,
        _coefficients(reader, 'P'),
        _coefficients(reader, 'S'),
        tuple(
            f for tag, found in forces.items() if _is_on(reader, f'{tag}_drag_on') for f in found
        ),
        origin_of(reader),
    )
    if _is_on(reader, 'damping_on'):
        _read_damping(reader, builder)
    builder.assume(
        f'{origin_of(plugin.reader)} {plugin.label}: its collisions float by their volume and '
        'drag by their panels, with its coefficients'
    )


def _coefficients(reader: Reader, letter: str) -> tuple[float, float, float]:
    """Return linear and quadratic coefficient in Pa and the exponent of pressure or suction."""
    linear, quadratic = (
        read_number(reader, f'c{letter}Drag{n}', _PRESSURE, 0.0, 1e9).value for n in (1, 2)
    )
    return linear, quadratic, read_number(reader, f'f{letter}Drag', _EXPONENT, 1e-3, 1e3).value


def _is_on(reader: Reader, tag: str) -> bool:
    return read_text(reader, tag, '1') not in ('0', 'false')


def _read_damping(reader: Reader, builder: VehicleBuilder) -> None:
    """Take damping that is more than the simulator's default, which damps nothing."""
    terms = np.zeros((2, 6))
    for letter, axes in (('L', slice(0, 3)), ('R', slice(3, 6))):
        for n in (1, 2):
            terms[n - 1, axes] = read_number(reader, f'cDamp{letter}{n}', _DAMPING, 0.0, 1e9).value
    if np.all(terms <= _DAMPING):
        return
    origin = origin_of(reader)
    builder.assume(f'{origin}: its damping acts in full, in the source by the share under water')
    builder.hydrodynamics = Hydrodynamics(
        builder.water_density or Sourced(1000.0, 'no density in the source', True),
        Sourced(np.zeros((6, 6)), origin),
        Sourced(np.diag(terms[0]), origin),
        Sourced(np.diag(terms[1]), origin),
    )
