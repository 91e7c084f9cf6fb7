# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""URDF text -> Vehicle."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.progress import ReportProgress, no_progress
from marine_sim_ros.core.yaml_file import short_text
from marine_sim_ros.geometry.mesh_files import mesh_path
from marine_sim_ros.model import foreign, hydrodynamics, xml
from marine_sim_ros.model.added_mass import Buoyancy, combined_buoyancy
from marine_sim_ros.model.arm import Manipulator
from marine_sim_ros.model.arm_reader import hinge_finder, read_articulation, read_manipulator
from marine_sim_ros.model.collisions import read_shapes, standard_urdf
from marine_sim_ros.model.contact_points import DescribedContact
from marine_sim_ros.model.contact_reader import read_contact_tags, set_mass_from_density
from marine_sim_ros.model.foreign import plugin_warnings
from marine_sim_ros.model.hull import MAX_COUPLED_RATE, MOTION_AXES
from marine_sim_ros.model.hull_reader import read_hull
from marine_sim_ros.model.kinematics import (
    base_link_of,
    fix_locked_joints,
    fixed_frames,
    link_inertias,
    reroot,
    total_inertia,
)
from marine_sim_ros.model.mass import read_mass_from_parts
from marine_sim_ros.model.materials import shipped_materials
from marine_sim_ros.model.propulsion import read_thrusters
from marine_sim_ros.model.sensors import Mounting, read_sensors
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Element, Reader

__all__ = ['vehicle_from_urdf', 'with_number']


_SINGULAR = 1e-15
"""Ratio of smallest to largest eigenvalue that double precision cannot tell from 0."""


def _check(vehicle: Vehicle, source: str) -> Vehicle:
    """Raise for a vehicle that cannot be simulated."""
    masses = vehicle.mass_matrix
    if not np.all(np.isfinite(masses)):
        raise ModelError(f'{source}: mass matrix is not finite; check <inertial> and <added_mass>')
    values, motions = np.linalg.eigh(masses)
    if values[0] <= _SINGULAR * values[-1]:
        axis = MOTION_AXES[int(np.argmax(np.abs(motions[:, 0])))]
        raise ModelError(
            f'{source}: mass matrix with added mass is not positive definite: its eigenvalues are '
            f'{values[0]:.3g}, mostly {axis}, to {values[-1]:.3g}; check <inertial> and '
            f'<added_mass> in {axis}'
        )
    radiation = vehicle.extensions.get('radiation')
    if radiation is not None:
        rate = radiation.fastest(vehicle.inverse_mass_matrix)
        if rate > MAX_COUPLED_RATE:
            raise ModelError(
                f'{source}: <radiation>: a mode and the vehicle swing at {rate:.3g} rad/s '
                f'together; expected at most {MAX_COUPLED_RATE:g}: a smaller coefficient or '
                'frequency'
            )
    return vehicle


def _fix_joints(robot: Any, names: Collection[str]) -> None:
    """Exclude the joints of azimuth thrusters from the arm; their links stay at 0."""
    for joint in robot.joints:
        if joint.name in names:
            joint.type = 'fixed'


def _collision_meshes(root: Element, base: Path | None) -> list[Path]:
    """Return the mesh files of the collisions, which are part of the vehicle's hash."""
    result = []
    for element in root.iterfind('link/collision/geometry/mesh'):
        with contextlib.suppress(ModelError):
            result.append(mesh_path(str(element.get('filename', '')), base))
    return result


def vehicle_from_urdf(
    text: str,
    *,
    source: str = 'robot_description',
    voltage: float | None = None,
    base: Path | None = None,
    base_link: str = '',
    progress: ReportProgress = no_progress,
    check: Callable[[Element], object] = lambda _: None,
) -> Vehicle:
    """Return the vehicle that a URDF (xacro expanded) describes.

    Args:
        text: the URDF with our extensions, or with Orca3's plugin blocks.
        source: source of the text, for messages.
        voltage: supply voltage of the thrusters, V.
        base: folder that relative mesh names start from.
        base_link: name of the body's link; empty: see :func:`~.base.base_link_of`.
        progress: function that is called with the completed share of long work.
        check: function that is called with the <robot> before it is read.

    Raises:
        ModelError: one line with file, line, element, and what was expected.
    """
    root = xml.parse(text, source)
    if root.tag != 'robot':
        other = '; marine_sim import reads it' if root.tag in ('sdf', 'scenario') else ''
        raise ModelError(f'{source}: the root element is <{root.tag}>; expected <robot>{other}')
    check(root)
    body = base_link_of(root, source, base_link)
    notes = [*fix_locked_joints(root, source)]
    if reroot(root, source, body) or notes:
        text = etree.tostring(root, encoding='unicode')
    robot = standard_urdf(root, source)
    frames = fixed_frames(robot, source, body)
    reader = Reader(root, source)
    damping, added_mass = hydrodynamics.read_hydrodynamics(reader.child('hydrodynamics'), notes)
    tags = read_contact_tags(reader)
    if tags.densities:
        shapes = read_shapes(robot, reader, frames, base)
        set_mass_from_density(robot, reader, frames, shapes, tags, shipped_materials())
    hull = read_hull(robot, reader, frames, base, progress)
    density = hull.water_density
    built = read_mass_from_parts(reader, density, base, progress, body)
    inertias = link_inertias(robot, frames, source, {**hull.inertias, **built.inertias})
    volumes = {**built.volumes, **hydrodynamics.read_volumes(reader, frames, density)}
    nothing = Buoyancy(0.0, np.zeros(3), 1.0, density)
    thrusters = read_thrusters(
        reader.child('thrusters'), voltage, hinge_finder(robot, frames, source), density
    )
    _fix_joints(robot, thrusters.joints)
    vehicle = Vehicle(
        name=robot.name or 'vehicle',
        inertia=total_inertia(inertias.values(), source),
        added_mass=added_mass if hull.added_mass is None else hull.added_mass,
        buoyancy=hull.buoyancy or combined_buoyancy([*volumes.values()] or [nothing]),
        damping=damping,
        thrusters=thrusters,
        sensors=read_sensors(reader, Mounting(frames, density)),
        extensions=hydrodynamics.read_other_elements(reader),
        hull=hull.hull,
        frames=tuple(f for f in frames.values() if f.parent),
        warnings=(
            *notes,
            *hull.warnings,
            *built.warnings,
            *tags.warnings,
            *plugin_warnings(root, source),
        ),
        notes=hull.notes,
        urdf=text,
        base_link=body,
        folder=base or Path(),
        files=(*built.files, *_collision_meshes(root, base)),
        find_contact=DescribedContact(text, source, base, body),
    )
    equipped = foreign.apply_orca3_plugins(vehicle, root, frames, source)
    if equipped.buoyancy is not vehicle.buoyancy:
        volumes[body] = equipped.buoyancy
    arm = read_manipulator(robot, frames, inertias, volumes, equipped.buoyancy, source)
    arm = read_articulation(reader, robot, frames, arm)
    if arm is not None:
        equipped = replace(equipped, find_contact=DescribedContact(text, source, base, body, arm))
    return _check(_with_arm(equipped, arm, robot, source), source)


def _with_arm(vehicle: Vehicle, arm: Manipulator | None, robot: Any, source: str) -> Vehicle:
    """Return a vehicle with its arm, its lumped buoyancy that of the arm with joints at zero."""
    if arm is None:
        return vehicle
    warnings = vehicle.warnings
    if vehicle.hull is not None:
        moving = [link.name for link in robot.links if link.name in arm.links and link.collisions]
        warnings += tuple(
            f'{source}: link {name!r} moves, but its hull floats and drags where it is with all '
            'joints at 0; give it <buoyancy link=""> instead of a collision with a material'
            for name in moving
        )
        return replace(vehicle, manipulator=arm, warnings=warnings)
    total = combined_buoyancy([arm.body_buoyancy, *arm.buoyancies])
    return replace(vehicle, manipulator=arm, buoyancy=total)


_STEP = re.compile(r'([A-Za-z_][\w.-]*)(?:\[([^\]"]+)\])?')
_END = re.compile(r'([A-Za-z_][\w.-]*)?(?:\[(\d+)\])?')


def _xpath(path: str, element_path: str) -> str:
    """Return the XPath of elements; ``[NAME]`` is an attribute, ``[2]`` the second one."""
    steps = []
    for step in element_path.split('/'):
        match = _STEP.fullmatch(step)
        if match is None:
            raise ModelError(
                f'{path}: {step!r} is no element; expected a path such as '
                'link[base_link]/inertial/mass@value'
            )
        name, which = match[1], match[2]
        chosen = '' if which is None else f'[{which}]' if which.isdigit() else f'[@name="{which}"]'
        steps.append(name + chosen)
    return '/'.join(steps)


def with_number(text: str, path: str, change: Callable[[float], float]) -> str:
    """Return a URDF with one of its numbers changed.

    A path has elements from the robot down, with their name or their place among their like
    where there are several, an ``@``, the attribute (the element's own text without one), and
    where there are several numbers an index from 0: ``link[base_link]/inertial/origin@xyz[2]``,
    ``hydrodynamics/quadratic_damping@[0]``.

    Args:
        text: URDF, xacro expanded.
        path: path to the number.
        change: function from the old number to the new one.

    Raises:
        ModelError: the path leads to no number, or to several.
    """
    element_path, separator, end = path.partition('@')
    path = short_text(path)
    root = xml.parse(text, path)
    match = _END.fullmatch(end)
    if not separator or match is None:
        raise ModelError(f'{path}: expected an @ and an attribute at its end, as in mass@value')
    try:
        elements = root.findall(_xpath(path, element_path))
    except (SyntaxError, ValueError):  # link[0]: indices begin at 1
        raise ModelError(f'{path} leads nowhere; expected places from 1, as in link[1]') from None
    if len(elements) != 1:
        raise ModelError(
            f'{path}: {len(elements)} elements of the URDF are there; expected one, chosen by its '
            'name as in link[base_link]'
        )
    element, attribute = elements[0], match[1]
    old = element.text if attribute is None else element.get(attribute)
    texts = (old or '').split()
    index = int(match[2] or 0)
    if index >= len(texts) or (match[2] is None and len(texts) != 1):
        raise ModelError(
            f'{path}: there are {len(texts)} numbers; expected '
            + ('one, or an index as in origin@xyz[2]' if match[2] is None else 'a lower index')
        )
    try:
        number = float(texts[index])
    except ValueError:
        raise ModelError(f'{path}: {texts[index]!r} is there; expected a number') from None
    texts[index] = repr(float(change(number)))
    if attribute is None:
        element.text = ' '.join(texts)
    else:
        element.set(attribute, ' '.join(texts))
    return etree.tostring(root, encoding='unicode')
