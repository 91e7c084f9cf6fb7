# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An imported vehicle -> our URDF, with a comment on the origin of every number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.sax.saxutils import quoteattr

import numpy as np

from marine_sim_ros.core.spatial import reproducible_rpy
from marine_sim_ros.importers.builder import VehicleBuilder
from marine_sim_ros.importers.description import (
    Fin,
    Hydrodynamics,
    ImportedJoint,
    ImportedLink,
    ImportedSensor,
    ImportedShape,
    PanelDrag,
    Sourced,
    Thruster,
    Volume,
)
from marine_sim_ros.model.free_bodies import CREEP
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL
from marine_sim_ros.sdf.xml_writer import format_numbers

__all__ = ['body_urdf', 'escape_xacro', 'urdf_text']

_DECIMALS = 12
_HEAD = """<?xml version="1.0" encoding="utf-8"?>
<!-- Written by marine_sim import; numbers are followed by where they are from. -->
"""


def _comment(text: str) -> str:
    """Return a comment; two hyphens may not stand in one."""
    safe = ''.join(c if c.isprintable() else ' ' for c in text)
    return f'<!-- {re.sub("-(?=-)", "- ", safe).rstrip("-")} -->'


def _text_with_origin(value: Sourced[Any]) -> str:
    return _comment(('assumed: ' if value.assumed else '') + value.origin)


def _origin(pose: Pose) -> str:
    xyz = np.round(pose.translation, _DECIMALS)
    rpy = np.round(reproducible_rpy(pose.quaternion), _DECIMALS)
    if not np.any(xyz) and not np.any(rpy):
        return ''
    return f'<origin xyz="{format_numbers(xyz)}" rpy="{format_numbers(rpy)}"/>'


def _uri(uri: str, folder: Path | None) -> str:
    """Return the URI of a mesh, relative where it lies below the folder of the output."""
    if folder is None or not uri.startswith('file:///'):
        return uri
    try:
        return str(Path(unquote(uri.removeprefix('file://'))).relative_to(folder.resolve()))
    except ValueError:
        return uri


def _geometry(shape: ImportedShape, folder: Path | None) -> str:
    if shape.kind == 'box':
        inner = f'<box size="{format_numbers(shape.size)}"/>'
    elif shape.kind == 'cylinder':
        radius, length = (format_numbers(v) for v in shape.size)
        inner = f'<cylinder radius="{radius}" length="{length}"/>'
    elif shape.kind == 'sphere':
        inner = f'<sphere radius="{format_numbers(shape.size)}"/>'
    else:
        scale = '' if set(shape.size) == {1.0} else f' scale="{format_numbers(shape.size)}"'
        inner = f'<mesh filename={quoteattr(_uri(shape.uri, folder))}{scale}/>'
    return f'<geometry>{inner}</geometry>'


def _shape(tag: str, shape: ImportedShape, folder: Path | None) -> Iterator[str]:
    yield f'    <{tag}>  {_comment(shape.origin)}'
    if origin := _origin(shape.pose):
        yield f'      {origin}'
    yield f'      {_geometry(shape, folder)}'
    if tag == 'visual' and shape.colour is not None:
        yield f'      <material name=""><color rgba="{format_numbers(shape.colour)}"/></material>'
    if tag == 'collision' and shape.material:
        yield f'      <buoyancy_material name={quoteattr(shape.material)}/>'
    yield f'    </{tag}>'


def _link(link: ImportedLink, folder: Path | None) -> Iterator[str]:
    name = quoteattr(link.name)
    if link.inertial is None and not link.visuals and not link.collisions:
        yield f'  <link name={name}/>'
        return
    yield f'  <link name={name}>'
    if link.inertial is not None:
        yield '    <inertial>'
        if origin := _origin(link.inertial.pose):
            yield f'      {origin}'
        mass, tensor = link.inertial.mass, link.inertial.tensor
        yield f'      <mass value="{format_numbers(mass.value)}"/>  {_text_with_origin(mass)}'
        entries = ' '.join(
            f'i{a}{b}="{format_numbers((tensor.value[i, j] + tensor.value[j, i]) / 2)}"'
            for i, a in enumerate('xyz')
            for j, b in enumerate('xyz')
            if i <= j
        )
        yield f'      <inertia {entries}/>  {_text_with_origin(tensor)}'
        yield '    </inertial>'
    for tag, shapes in (('visual', link.visuals), ('collision', link.collisions)):
        for shape in shapes:
            yield from _shape(tag, shape, folder)
    yield '  </link>'


def _joint(joint: ImportedJoint) -> Iterator[str]:
    note = f'  {_comment(joint.origin)}' if joint.origin else ''
    yield f'  <joint name={quoteattr(joint.name)} type={quoteattr(joint.kind)}>{note}'
    ends = f'<parent link={quoteattr(joint.parent)}/> <child link={quoteattr(joint.child)}/>'
    yield f'    {ends} {_origin(joint.pose)}'.rstrip()
    if joint.kind != 'fixed':
        yield f'    <axis xyz="{format_numbers(np.round(joint.axis, _DECIMALS))}"/>'
    if joint.kind in ('revolute', 'prismatic'):
        yield (
            f'    <limit lower="{format_numbers(joint.lower)}" '
            f'upper="{format_numbers(joint.upper)}" '
            f'velocity="{format_numbers(joint.velocity)}" effort="0"/>'
        )
    yield '  </joint>'


def _element(tag: str, value: Sourced[Any], text: str, indent: str = '    ') -> str:
    return f'{indent}<{tag}>{text}</{tag}>  {_text_with_origin(value)}'


def _matrix(tag: str, value: Sourced[np.ndarray]) -> Iterator[str]:
    matrix = value.value
    diagonal = np.diag(np.diag(matrix))
    if np.array_equal(matrix, diagonal):
        yield _element(tag, value, format_numbers(np.diag(matrix)))
        return
    yield f'    <{tag}>  {_text_with_origin(value)}'
    for row in matrix:
        yield f'      {format_numbers(row)}'
    yield f'    </{tag}>'


def _hydrodynamics(vehicle: VehicleBuilder) -> Iterator[str]:
    terms, panels = vehicle.hydrodynamics, vehicle.panel_drag
    if terms is None and panels is None:
        return
    yield '  <hydrodynamics>'
    density = vehicle.water_density if terms is None else terms.water_density
    if density is not None:
        yield _element('water_density', density, format_numbers(density.value))
    if panels is not None:
        yield from _panel_drag(panels)
    if terms is not None:
        yield from _lumped_drag(terms)
    yield '  </hydrodynamics>'


def _panel_drag(panels: PanelDrag) -> Iterator[str]:
    reference = format_numbers(panels.velocity_reference)
    yield f'    <velocity_reference>{reference}</velocity_reference>  {_comment(panels.origin)}'
    for name, letter, exponent, values in (
        ('pressure', 'P', 'f_P', panels.pressure),
        ('suction', 'S', 'f_S', panels.suction),
    ):
        tags = (f'C_{letter}D1', f'C_{letter}D2', exponent)
        inner = ''.join(
            f'<{t}>{format_numbers(v)}</{t}>' for t, v in zip(tags, values, strict=True)
        )
        yield f'    <{name}_drag>{inner}</{name}_drag>'
    yield f'    <forces>{" ".join(panels.forces)}</forces>'


def _lumped_drag(terms: Hydrodynamics) -> Iterator[str]:
    yield from _matrix('added_mass', terms.added_mass)
    yield from _matrix('linear_damping', terms.linear)
    yield from _matrix('quadratic_damping', terms.quadratic)
    if terms.modulus is not None:
        yield from _matrix('modulus_damping', terms.modulus)
    if terms.center is not None:
        yield _element('damping_center', terms.center, format_numbers(terms.center.value))
    for place, matrix in terms.lift:
        rows = format_numbers(matrix.value.reshape(-1))
        yield (
            f'    <lift xyz="{format_numbers(place)}">{rows}</lift>  {_text_with_origin(matrix)}'
        )


def _volume(volume: Volume) -> Iterator[str]:
    yield f'  <buoyancy link={quoteattr(volume.link)}>'
    yield _element('volume', volume.volume, format_numbers(volume.volume.value))
    yield _element('center_of_volume', volume.center, format_numbers(volume.center.value))
    yield _element('height', volume.height, format_numbers(volume.height.value))
    yield '  </buoyancy>'


def _is_linear(rows: np.ndarray) -> bool:
    """Return whether <linear> says what a curve does: 1100 µs, a dead zone, 1900 µs."""
    return (
        len(rows) == 3
        and np.array_equal(rows[:, 0], [PWM_MIN, PWM_NEUTRAL, PWM_MAX])
        and rows[0, 1] <= 0 <= rows[2, 1]
        and not np.any(rows[:, 3])
    )


def _thruster(thruster: Thruster, curve: str) -> Iterator[str]:
    """Yield a thruster with the name of its curve; empty for a linear one."""
    rows = thruster.curve.value
    name = quoteattr(thruster.name)
    used = f' curve={quoteattr(curve)}' if curve else ''
    yield f'    <thruster name={name} direction={quoteattr(thruster.direction)}{used}>'
    if origin := _origin(thruster.pose):
        yield f'      {origin}'
    if not curve:
        forces = (
            f'pos_force="{format_numbers(rows[2, 1])}" neg_force="{format_numbers(-rows[0, 1])}"'
        )
        yield f'      <linear {forces} dead_zone="0"/>  {_text_with_origin(thruster.curve)}'
    if thruster.azimuth:
        yield f'      <azimuth joint={quoteattr(thruster.azimuth)}/>'
    for tag, value in (
        ('diameter', thruster.diameter),
        ('time_constant', thruster.time_constant),
        ('zero_thrust_advance_ratio', thruster.zero_thrust_advance_ratio),
    ):
        if value is not None:
            yield _element(tag, value, format_numbers(value.value), '      ')
    yield '    </thruster>'


def _thrusters(thrusters: Sequence[Thruster]) -> Iterator[str]:
    """Yield curves, one for thrusters that have the same, and thrusters."""
    if not thrusters:
        return
    yield '  <thrusters>'
    names: dict[bytes, str] = {}
    used = []
    for thruster in thrusters:
        rows = thruster.curve.value
        if _is_linear(rows):
            used.append('')
            continue
        key = rows.tobytes()
        if key not in names:
            names[key] = thruster.name
            origin = _text_with_origin(thruster.curve)
            yield f'    <curve name={quoteattr(thruster.name)}>  {origin}'
            for row in rows:
                yield f'      {format_numbers(np.round(row, _DECIMALS))}'
            yield '    </curve>'
        used.append(names[key])
    for thruster, curve in zip(thrusters, used, strict=True):
        yield from _thruster(thruster, curve)
    yield '  </thrusters>'


def _fins(fins: Sequence[Fin]) -> Iterator[str]:
    if not fins:
        return
    yield '  <fins>'
    for fin in fins:
        yield f'    <fin name={quoteattr(fin.name)}>'
        if origin := _origin(fin.pose):
            yield f'      {origin}'
        for tag, value in fin.values.items():
            yield _element(tag, value, format_numbers(value.value), '      ')
        lower, upper = fin.limits.value
        limit = f'<limit lower="{format_numbers(lower)}" upper="{format_numbers(upper)}"/>'
        yield f'      {limit}  {_text_with_origin(fin.limits)}'
        yield '    </fin>'
    yield '  </fins>'


_MAX_VOLUME = 100.0
"""m³; upper bound of the volume of a buoyancy engine."""


def _bladders(vehicle: VehicleBuilder) -> Iterator[str]:
    if not vehicle.bladders:
        return
    assert vehicle.water_density is not None
    density = vehicle.water_density.value
    yield '  <buoyancy_engines>'
    for bladder in vehicle.bladders:
        place = vehicle.pose_of(bladder.link).then(Pose(bladder.center, IDENTITY.quaternion))
        ends = [(end - bladder.start) / density for end in (bladder.lower, bladder.upper)]
        lower, upper = map(format_numbers, np.clip(ends, -_MAX_VOLUME, _MAX_VOLUME))
        yield f'    <buoyancy_engine name={quoteattr(bladder.name)}>'
        if origin := _origin(Pose(place.translation, IDENTITY.quaternion)):
            yield f'      {origin}'
        yield f'      <limit lower="{lower}" upper="{upper}"/>  {_comment(bladder.origin)}'
        rate = format_numbers(bladder.rate.value / density)
        yield _element('rate', bladder.rate, rate, '      ')
        yield '    </buoyancy_engine>'
    yield '  </buoyancy_engines>'


def _sensor(sensor: ImportedSensor) -> Iterator[str]:
    rate = '' if sensor.rate is None else f' rate="{format_numbers(sensor.rate.value)}"'
    names = f'name={quoteattr(sensor.name)} link={quoteattr(sensor.link)}'
    lines = [f'    {_origin(sensor.pose)}'] if _origin(sensor.pose) else []
    lines += [
        _element(tag, value, format_numbers(value.value)) for tag, value in sensor.values.items()
    ]
    head = f'  <sensor type={quoteattr(sensor.kind)} {names}{rate}'
    if not lines:
        yield f'{head}/>  {_comment(sensor.origin)}'
        return
    yield f'{head}>  {_comment(sensor.origin)}'
    yield from lines
    yield '  </sensor>'


def _notes(vehicle: VehicleBuilder) -> Iterator[str]:
    yield f'  {_comment(f"{vehicle.format} of {Path(vehicle.file).name}")}'
    for text in vehicle.assumptions:
        yield f'  {_comment("assumed: " + text)}'
    for text in vehicle.dropped:
        yield f'  {_comment("not taken: " + text)}'


def _lines(vehicle: VehicleBuilder, folder: Path | None) -> Iterator[str]:
    yield f'<robot name={quoteattr(vehicle.name)}>'
    yield from _notes(vehicle)
    for name, density in vehicle.materials.items():
        yield (
            f'  <buoyancy_material name={quoteattr(name)}><density '
            f'value="{format_numbers(density.value)}"/></buoyancy_material>  '
            f'{_text_with_origin(density)}'
        )
    for link in vehicle.links.values():
        yield from _link(link, folder)
    for joint in vehicle.joints.values():
        yield from _joint(joint)
    for volume in vehicle.volumes:
        yield from _volume(volume)
    yield from _hydrodynamics(vehicle)
    for sensor in vehicle.sensors:
        yield from _sensor(sensor)
    yield from _thrusters(vehicle.thrusters)
    yield from _fins(vehicle.fins)
    yield from _bladders(vehicle)
    yield '</robot>'


def escape_xacro(text: str) -> str:
    """Return a text that xacro gives back as it is: its expressions begin with two ``$``."""
    return re.sub(r'(\$+)(?=[{(])', r'$\1', text)


def body_urdf(name: str, link: ImportedLink, drag: np.ndarray) -> str:
    """Return the URDF of a free body of one link, whose collisions displace their volume.

    Args:
        drag: (6,) quadratic damping, N·s²/m² and N·m·s².
    """
    lines = (
        f'<robot name={quoteattr(name)}>',
        '  <hydrodynamics>',
        '    <buoyancy_mode>geometry</buoyancy_mode>',
        '    <added_mass>estimate</added_mass>',
        f'    <linear_damping>{format_numbers(CREEP * drag)}</linear_damping>',
        f'    <quadratic_damping>{format_numbers(drag)}</quadratic_damping>',
        '  </hydrodynamics>',
        *_link(link, None),
        '</robot>',
    )
    return _HEAD + '\n'.join(lines) + '\n'


@np.errstate(over='ignore')  # rounding multiplies
def urdf_text(vehicle: VehicleBuilder, folder: Path | None) -> str:
    """Return the URDF of an imported vehicle.

    Args:
        folder: folder of the output; meshes below it are named relative to it.
    """
    return _HEAD + '\n'.join(_lines(vehicle, folder)) + '\n'
