# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A file of another simulator -> an imported vehicle: the reader of its format, then checks."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from lxml import etree

from marine_sim_ros.core.errors import ModelError, no_file
from marine_sim_ros.core.extras import missing_package
from marine_sim_ros.core.packages import MODEL
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.geometry.mesh_files import mesh_path
from marine_sim_ros.importers import buoyancy
from marine_sim_ros.importers.builder import Options, VehicleBuilder
from marine_sim_ros.importers.description import ImportedShape, Inertial, Sourced
from marine_sim_ros.importers.foil_plugins import add_wing_terms
from marine_sim_ros.importers.geometry import usable_collisions
from marine_sim_ros.importers.mjcf import read_mjcf
from marine_sim_ros.importers.model_files import files_with
from marine_sim_ros.importers.plugins import apply_plugins
from marine_sim_ros.importers.sdf_reader import read_sdf
from marine_sim_ros.importers.side_files import (
    add_marinegym,
    add_missing_thrusters,
    find_side_files,
    note_limits,
)
from marine_sim_ros.importers.stonefish.reader import read_stonefish
from marine_sim_ros.importers.urdf_reader import read_urdf
from marine_sim_ros.importers.usd_process import USD_SUFFIXES, read_usd
from marine_sim_ros.importers.xml_files import FORMATS, parse_file, read_lenient
from marine_sim_ros.model import xml
from marine_sim_ros.model.library import check_description
from marine_sim_ros.model.xacro_expansion import expand_description

__all__ = ['import_vehicle']

_DESCRIPTIONS = ('.sdf', '.urdf', '.xacro', '.scn', '.world', '.xml', *USD_SUFFIXES)
_ACROSS = 1e-3
"""Cosine; an azimuth turns about an axis across the thrust."""


@np.errstate(over='ignore', invalid='ignore')  # what is not finite is refused
def import_vehicle(path: Path, options: Options | None = None) -> VehicleBuilder:
    """Return the vehicle of a file: SDF, URDF or xacro, MJCF, USD, Stonefish.

    Args:
        options: what to take of it.

    Raises:
        ModelError: one line with file, line, element, and what was expected.
    """
    options = options or Options()
    builder = _read(path, options)
    try:
        buoyancy.add_missing_water(builder)
    except ModelError as error:
        dropped = f'; not taken: {"; ".join(builder.dropped[:3])}' if builder.dropped else ''
        raise ModelError(f'{error}{dropped}') from None
    add_wing_terms(builder)
    _check_shapes(builder)
    _check_inertias(builder)
    _turn_thrusters(builder)
    _name_idle_shafts(builder)
    _check_joints(builder)
    _name_controllers(builder)
    _check_sensors(builder)
    builder.finish()
    return builder


def _read(path: Path, options: Options) -> VehicleBuilder:
    if not path.is_file():
        raise ModelError(f'{path}: {no_file(path, _DESCRIPTIONS)}; expected {FORMATS}')
    check_description(path)
    if path.suffix in USD_SUFFIXES:
        builder = read_usd(path, options)
        add_marinegym(builder, find_side_files(builder, path))
        return builder
    skipped: tuple[str, ...] = ()
    if path.suffix in ('.urdf', '.xacro'):
        if path.suffix == '.urdf':
            read_lenient(path)  # refuses templates
        description = expand_description(
            path, options.arguments, skip_missing=options.skip_missing
        )
        source: str = description.source
        root, skipped = xml.parse(description.text, source), description.skipped
    else:
        source, root = str(path), parse_file(path)
    builder = _build(root, source, path, options)
    for text in skipped:
        builder.drop(text)
    builder.unread_forces += skipped
    return builder


def _build(root: xml.Element, source: str, path: Path, options: Options) -> VehicleBuilder:
    """Return the vehicle of a parsed file."""
    if path.suffix == '.scn' and root.tag == 'robot':
        scenario = etree.Element('scenario')
        scenario.append(root)
        root = scenario
    if root.tag == 'scenario':
        return read_stonefish(root, source, path, options)
    if root.tag == 'mujoco':
        return read_mjcf(path, options)
    if root.tag not in ('sdf', 'robot'):
        raise ModelError(
            f'{path}: the root element is <{root.tag}>; expected <sdf>, <robot>, <scenario> or '
            '<mujoco>'
        )
    read = read_sdf if root.tag == 'sdf' else read_urdf
    builder, plugins = read(root, source, path, options)
    beside = find_side_files(builder, path)
    note_limits(builder, beside, path)
    try:
        apply_plugins(builder, plugins)
    except ModelError as error:
        raise ModelError(f'{error}{builder.notes.get("missing", "")}') from None
    add_missing_thrusters(builder, beside)
    if not builder.thrusters and path.name == MODEL:
        around = rf'<uri>\s*model://{re.escape(path.resolve().parent.name)}/?\s*</uri>'
        if names := files_with(around, path, (f'../*/{MODEL}*', '../*/*.sdf*')):
            builder.assume(f'no thrusters in the file; included by: {", ".join(names)}')
    return builder


def _check_shapes(builder: VehicleBuilder) -> None:
    """Leave out collisions and name visuals whose meshes are not there."""
    for name, link in list(builder.links.items()):
        collisions = [
            _resolve_mesh(s, builder.folder) for s, _ in usable_collisions(builder, link, [])
        ]
        visuals = []
        for shape in (_resolve_mesh(s, builder.folder) for s in link.visuals):
            if shape.kind != 'mesh' or _is_there(shape, builder.folder):
                visuals.append(shape)
            else:
                builder.drop(f'{shape.origin}: the mesh {shape.uri} is not there')
        builder.links[name] = replace(link, collisions=tuple(collisions), visuals=tuple(visuals))


def _is_there(shape: ImportedShape, folder: Path) -> bool:
    try:
        return mesh_path(shape.uri, folder).is_file()
    except ModelError:
        return False


def _resolve_mesh(shape: ImportedShape, folder: Path) -> ImportedShape:
    """Return a shape whose mesh is named by its file, where that is there."""
    if shape.kind != 'mesh':
        return shape
    try:
        path = mesh_path(shape.uri, folder).resolve()
    except ModelError:
        return shape
    return replace(shape, uri=path.as_uri()) if path.is_file() else shape


def _check_inertias(builder: VehicleBuilder) -> None:
    """Replace inertias that no body can have by that of a ball of water."""
    for name, link in list(builder.links.items()):
        inertial = link.inertial
        if inertial is None:
            continue
        mass, tensor = inertial.mass.value, inertial.tensor.value
        moments = np.linalg.eigvalsh(tensor / 2 + tensor.T / 2)
        if moments[0] >= 0 and (mass == 0 or moments[2] > 0):
            continue
        radius = (3 * max(mass, 1e-6) / (4 * np.pi * 1000)) ** (1 / 3)
        made = 0.4 * mass * radius**2 * np.eye(3)
        rule = f'{inertial.tensor.origin}: no inertia of a body; that of a ball of water'
        builder.assume(f'link {name!r}: {rule}')
        builder.links[name] = replace(
            link, inertial=Inertial(inertial.mass, inertial.pose, Sourced(made, rule, True))
        )


def _turn_thrusters(builder: VehicleBuilder) -> None:
    """Make the joint that turns a thruster its azimuth; its own shaft is no joint of an arm."""
    shafts = {t.shaft for t in builder.thrusters}
    for name in shafts & set(builder.joints):
        if builder.joints[name].kind == 'revolute':
            builder.joints[name] = replace(builder.joints[name], kind='continuous')
    above = builder.parent_joints()
    for index, thruster in enumerate(builder.thrusters):
        chain, at = [], thruster.link
        while at in above:
            if above[at].kind != 'fixed' and above[at].name not in shafts:
                chain.append(above[at])
            at = above[at].parent
        if len(chain) > 1:
            builder.drop(
                f'{chain[0].origin}: thruster {thruster.name!r} is moved by several joints'
            )
        if len(chain) != 1 or chain[0].kind == 'prismatic':
            continue
        hinge = chain[0]
        axis = builder.rotation_of(hinge.child) @ np.array(hinge.axis)
        thrust = np.asarray(rotation_matrix(thruster.pose.quaternion))[:, 2]
        if abs(float(axis @ thrust)) > _ACROSS * float(np.linalg.norm(axis)):
            builder.notes.setdefault('fixed', {})[hinge.name] = (
                f'it turns thruster {thruster.name!r} about an axis that is not across its thrust'
            )
            continue
        builder.thrusters[index] = replace(thruster, azimuth=hinge.name)


def _name_idle_shafts(builder: VehicleBuilder) -> None:
    """Name the joints that turn without end, as those of thrusters, and have no thruster."""
    shafts = {thruster.shaft for thruster in builder.thrusters}
    for name, joint in builder.joints.items():
        if joint.kind == 'continuous' and shafts & set(builder.joints) and name not in shafts:
            why = 'turns without end, and no thruster is on it'
            builder.drop(f'{joint.origin}: joint {name!r} {why}')


def _check_joints(builder: VehicleBuilder) -> None:
    """Fix joints that cannot be an arm's: those of a fin, without mass, or not free at 0."""
    fixed = dict(builder.notes.get('fixed', {}))
    for name, joint in list(builder.joints.items()):
        if joint.kind not in ('revolute', 'prismatic') or name in builder.actuated_joints:
            continue
        if name in builder.fin_joints:
            builder.joints[name] = replace(joint, kind='fixed')
            continue
        if name in fixed:
            why = fixed[name]
        elif not (
            np.isfinite([joint.lower, joint.upper]).all()
            and joint.lower <= 0 <= joint.upper
            and joint.lower < joint.upper
        ):
            why = f'its limits {joint.lower:g} to {joint.upper:g} do not hold 0, where it starts'
        elif _mass_below(builder, joint.child) <= 0:
            why = 'what it moves weighs nothing'
        else:
            continue
        builder.drop(f'{joint.origin}: joint {name!r} is fixed: {why}')
        builder.joints[name] = replace(joint, kind='fixed')


def _name_controllers(builder: VehicleBuilder) -> None:
    """Name the controllers of joints, with the topic by which each joint is commanded here."""
    for where, joints in builder.notes.get('controllers', []):
        builder.drop(f'{where}: its gains are not read')
        for name in joints:
            joint = builder.joints.get(name)
            topic = 'joint_commands'
            if name in builder.actuated_joints:
                topic = 'azimuths/command'
            elif name in builder.fin_joints:
                topic = 'fins/command'
            elif joint is None or joint.kind not in ('revolute', 'prismatic'):
                builder.drop(f'{where}: joint {name!r} is not commanded here')
                continue
            builder.assume(f'{where}: joint {name!r} follows {topic}')


def _mass_below(builder: VehicleBuilder, link: str) -> float:
    total, queue = 0.0, [link]
    while queue:
        at = queue.pop()
        total += builder.links[at].mass
        queue += [j.child for j in builder.joints.values() if j.parent == at]
    return total


def _check_sensors(builder: VehicleBuilder) -> None:
    """Leave out sensors on links that move; say what a GPS needs and is not installed."""
    if any(s.kind == 'gps' for s in builder.sensors) and find_spec('pymap3d') is None:
        builder.assume(str(missing_package('pymap3d', 'a run with the GPS of the source')))
    for sensor in list(builder.sensors):
        if not builder.is_rigid(sensor.link):
            builder.sensors.remove(sensor)
            builder.drop(
                f'{sensor.origin}: sensor {sensor.name!r}: its link {sensor.link!r} moves against '
                'the body, or is left out'
            )
