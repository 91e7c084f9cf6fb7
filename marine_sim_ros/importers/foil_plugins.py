# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gazebo's AdvancedLiftDrag as two surfaces, and rudder, keel and sail of usv_sim.

Source: gz-sim, src/systems/advanced_lift_drag; usv_sim_lsa, usv_dynamics/foil_dynamics_plugin.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.builder import (
    Plugin,
    VehicleBuilder,
    origin_of,
    read_number,
    read_text,
)
from marine_sim_ros.importers.description import Sourced
from marine_sim_ros.importers.fin_plugins import (
    QUARTER,
    add_fin,
    area_in_water,
    hinge_of,
    refuse_fin,
    surface_frame,
    yaw_pose,
)
from marine_sim_ros.model.kinematics import Pose
from marine_sim_ros.model.xml import Reader

__all__ = ['add_wing_terms', 'name_sail', 'add_advanced_lift_drag', 'add_foil']

_AIR = 1.2041
"""kg/m³, default of <air_density>."""
_PLATE = (-0.224, -0.115)
"""Of C_D = 2/(1 + exp(k1 + k2 max(AR, 1/AR))) of a flat plate across the flow."""
_NOT_READ = (
    *(f'C{c}{rate}' for c in ('D', 'Y', 'L') for rate in 'pqr'),
    *('Cellq', 'Cellr', 'Cemp', 'Cemr', 'Cenp', 'Cenq'),
    *('Cella', 'Cellb', 'Cemb', 'Cena', 'Cenb'),
)
_FOILS = {'rudder': (1.5, 1.0), 'keel': (8.0, 4.0)}
"""Factors m_L and m_D of C_L = m_L sin 2α and C_D = m_D (1 − cos 2α)."""
_STALL = 0.55
"""rad; two lines from the slope at 0 to C_L = 0 at 90° are then within 23% of sin 2α."""


def add_advanced_lift_drag(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take the lift, drag and side force of a wing, and its damping of rotation.

    C_L = C_L0 + C_La α and C_D = C_D0 + C_L²/(π AR e) become a fin, C_Y = C_Yb β one across it;
    the side force of C_Ya α and the lift of C_Lb β, across the flow, become one <lift>; the
    moments ½ ρ A l²/2 C |u| ω of C_ellp, C_emq and C_enr become damping that grows with |u|.
    """
    reader = plugin.reader
    link = read_text(reader, 'link_name', plugin.reference)
    try:
        link = builder.known_link(reader, link)
        if hinge_of(builder, link)[0] is not None or not builder.is_rigid(link):
            raise reader.error('its link moves against the body')
        _wing(reader, builder, link)
    except ModelError as error:
        refuse_fin(builder, reader, link, error)


def _wing(reader: Reader, builder: VehicleBuilder, link: str) -> None:
    def value(name: str, low: float = -1e6, high: float = 1e6, default: float = 0.0) -> float:
        return read_number(reader, name, default, low, high).value

    where = origin_of(reader)
    slope, ratio = value('CLa', 0.0), value('AR', 1e-3, 1e3)
    if not slope or not ratio:
        raise reader.error('expected a <CLa> and an <AR> above 0')
    efficiency = value('eff', 1e-3, 1e3)
    stall = value('alpha_stall', 1e-3, math.pi / 2, math.pi / 2)
    induced = 1 / (math.pi * ratio * efficiency) if efficiency else 0.0
    plate = 2 / (1 + math.exp(_PLATE[0] + _PLATE[1] * max(ratio, 1 / ratio)))
    attached = value('CD0', 0.0) + induced * (slope * stall) ** 2
    beyond_stall = max(math.pi / 2 - stall, 1e-3)
    builder.assume(f'{where}: beyond its stall straight lines; the source blends to a flat plate')
    area = read_number(reader, 'area', 1.0, 1e-8, 1e4)
    density = read_number(reader, 'air_density', _AIR, 1e-3, 2e4)
    values = {
        **area_in_water(reader, builder, area, density),
        'lift_slope': Sourced(slope, where),
        'zero_lift_drag': Sourced(value('CD0', 0.0), where),
        'induced_drag': Sourced(induced, f'{where}: 1/(π AR e)'),
        'stall_angle': Sourced(stall, where),
        'stall_lift_slope': Sourced(-slope * stall / beyond_stall, f'{where}: to no lift at 90°'),
        'stall_drag_slope': Sourced(
            (plate - attached) / beyond_stall, f'{where}: to a flat plate'
        ),
    }
    frame = builder.pose_of(link).then(surface_frame(reader))
    add_fin(builder, link, where, frame.then(yaw_pose(value('CL0') / slope)), None, values)
    side = -value('CYb')
    if side > 0:
        none = Sourced(0.0, where)
        across = {
            'area': values['area'],
            'lift_slope': Sourced(side, f'{where}: −CYb'),
            'zero_lift_drag': none,
            'stall_angle': Sourced(math.pi / 2, f'{where}: linear'),
        }
        add_fin(builder, f'{link}_side', where, frame.then(QUARTER), None, across)
    span = math.sqrt(area.value * ratio)
    chord = value('mac', 0.0) or area.value / span
    half = 0.25 * density.value * area.value
    rates = [
        half * length**2 * -value(name)
        for name, length in (('Cellp', span), ('Cemq', chord), ('Cenr', span))
    ]
    _note_rotation(builder, frame, rates, where)
    across_flow = [2 * half * value(name) for name in ('CYa', 'CLb')]
    if any(across_flow):
        turn = np.asarray(rotation_matrix(frame.quaternion))
        matrix = turn @ np.diag([0.0, *across_flow]) @ turn.T
        builder.notes.setdefault('lift', []).append((frame.translation, Sourced(matrix, where)))
    _name_the_rest(reader, builder)


def _note_rotation(builder: VehicleBuilder, frame: Pose, rates: list[float], where: str) -> None:
    """Note K |u| of the moments −K |u| ω about the axes of a wing, kg; axes of the base."""
    if not any(rates):
        return
    turn = np.abs(np.asarray(rotation_matrix(frame.quaternion)))
    # Chord along x, lift along y, span along z: roll, yaw and pitch of the wing.
    about = turn @ np.array([rates[0], rates[2], rates[1]])
    if min(rates) < 0:
        builder.drop(f'{where}: a rate of rotation that its moment would raise')
        return
    builder.notes.setdefault('rotation', []).append((int(np.argmax(turn[:, 0])), about, where))


def add_wing_terms(builder: VehicleBuilder) -> None:
    """Add the noted damping of rotation and lift across the flow to the vehicle's terms."""
    terms, lift = builder.hydrodynamics, tuple(builder.notes.get('lift', []))
    rotation = builder.notes.get('rotation', [])
    if terms is None:
        for where in sorted({where for *_, where in rotation} | {b.origin for _, b in lift}):
            builder.drop(f'{where}: damping of rotation and lift across the flow: the hull drags')
        return
    for ahead, about, where in rotation:
        matrix = np.zeros((6, 6)) if terms.modulus is None else terms.modulus.value.copy()
        matrix[[3, 4, 5], ahead] += about
        origin = where if terms.modulus is None else f'{terms.modulus.origin}; {where}'
        terms = replace(terms, modulus=Sourced(matrix, origin))
    builder.hydrodynamics = replace(terms, lift=lift)


def _name_the_rest(reader: Reader, builder: VehicleBuilder) -> None:
    where = origin_of(reader)
    unread = [name for name in _NOT_READ if read_number(reader, name, 0.0).value]
    if unread:
        builder.drop(f'{where}: <{">, <".join(unread)}>: no such terms here')
    overwritten = [t for t in ('Cem0', 'Cema', 'Cema_stall') if read_number(reader, t, 0.0).value]
    if overwritten:
        builder.drop(
            f'{where}: <{">, <".join(overwritten)}>: the system overwrites them by <Cemb>'
        )
    for element in reader.element.findall('control_surface'):
        surface = Reader(element, reader.source)
        label = f'{origin_of(surface)}: control surface {read_text(surface, "name")!r}'
        builder.drop(f'{label}: its lift and moments are not simulated')
        joint = builder.scoped_name(surface, read_text(surface, 'name'), builder.joints)
        builder.notes.setdefault('fixed', {})[joint] = 'its control surface is not simulated'


def name_sail(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Name a sail, whose forces are missing."""
    builder.unread_force(plugin, 'a sail: the wind does not drive vehicles here')


def add_foil(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take a rudder or a keel, C_L = m_L sin 2α and C_D = m_D (1 − cos 2α), by two lines."""
    reader = plugin.reader
    kind = read_text(reader, 'link_type')
    link = read_text(reader, 'link_name')
    where = f'{origin_of(reader)}: {kind or "foil"} on link {link!r}'
    if kind == 'sail':
        name_sail(plugin, builder)
        return
    try:
        link = builder.known_link(reader, link)
        if kind not in _FOILS:
            raise reader.error(f'<link_type> is {kind!r}; expected rudder, keel or sail')
        joint, why = hinge_of(builder, link)
        if why:
            raise reader.error(why)
        lift, drag = _FOILS[kind]
        if kind == 'rudder':
            lift = read_number(reader, 'mult_lift', lift, 0.0, 1e3).value
            swapped = read_number(reader, 'mult_drag', None, 0.0, 1e3)
            if swapped is not None:
                lift = swapped.value
                builder.assume(f'{swapped.origin}: the plugin takes it as <mult_lift>')
        density = read_number(reader, 'fluid_density', 1000.0, 1e-3, 2e4)
        area = read_number(reader, 'area', 1.0, 1e-8, 1e4)
        peak = 2 * _STALL
        beyond_stall = math.pi / 2 - _STALL
        rule = f'{origin_of(reader)}: sin 2α and 1 − cos 2α by two lines'
        values = {
            **area_in_water(reader, builder, area, density),
            'lift_slope': Sourced(2 * lift, rule),
            'zero_lift_drag': Sourced(0.0, rule),
            'induced_drag': Sourced(drag / (2 * lift**2) if lift else 0.0, rule),
            'stall_angle': Sourced(_STALL, rule),
            'stall_lift_slope': Sourced(-lift * peak / beyond_stall, rule),
            'stall_drag_slope': Sourced(drag * (2 - peak**2 / 2) / beyond_stall, rule),
        }
        pose = builder.pose_of(link).then(surface_frame(reader))
    except ModelError as error:
        refuse_fin(builder, reader, link, error)
        return
    builder.assume(rule)
    add_fin(builder, link if joint is None else joint.name, where, pose, joint, values)
