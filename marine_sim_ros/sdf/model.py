# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDF model of a vehicle, with unique names of links, joints and frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.model import xml
from marine_sim_ros.model.appearance import read_colours
from marine_sim_ros.model.arm_reader import MOVING_JOINT_TYPES
from marine_sim_ros.model.contact_reader import read_contact_tags
from marine_sim_ros.model.kinematics import Pose
from marine_sim_ros.model.materials import Materials, shipped_materials
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.geometry import (
    Meshes,
    Surface,
    add_collision,
    add_visual,
    dart_surface,
    dart_surface_on_ground,
)
from marine_sim_ros.sdf.links import (
    LinkGroup,
    add_buoyancy_engines,
    add_drives,
    add_inertial,
    add_joint,
    effort_of,
    frame_poses,
    link_groups,
)
from marine_sim_ros.sdf.xml_writer import add_element, add_pose, new_document, to_text

__all__ = ['Names', 'sdf_model']


# Unique SDF names among links, joints and frames of a model.


class Names:
    """SDF names of the links and joints of a URDF."""

    def __init__(self, links: Iterable[str], warnings: list[str]) -> None:
        """Take the names of all links; warnings are added to."""
        self._warnings = warnings
        self._taken: set[str] = set()
        self._links = {name: self._free_name(name, 'link') for name in links}
        self._joints: dict[str, str] = {}

    def link(self, name: str) -> str:
        """Return the name of a link, or of the frame that replaces it."""
        return self._links[name]

    def joint(self, name: str) -> str:
        """Return the name of a joint."""
        if name not in self._joints:
            self._joints[name] = self._free_name(name, 'joint')
        return self._joints[name]

    def model(self, name: str) -> str:
        """Return the name of the model."""
        return self._valid_name(name)

    @staticmethod
    def _valid_name(name: str) -> str:
        """Return a name without what SDF keeps for itself: ::, __name__ and world."""
        name = name.replace('::', '_') or 'unnamed'
        if name == 'world' or (name.startswith('__') and name.endswith('__')):
            return f'urdf_{name.strip("_")}'
        return name

    def _free_name(self, name: str, kind: str) -> str:
        free = self._valid_name(name)
        number = 2
        if free in self._taken:
            free = f'{self._valid_name(name)}_{kind}'
        while free in self._taken:
            free = f'{self._valid_name(name)}_{kind}_{number}'
            number += 1
        if free != name:
            self._warnings.append(f'{kind} {name!r} is called {free!r} in SDF')
        self._taken.add(free)
        return free


# Vehicle -> SDF model.

_COMMENT = (
    'Written by marine_sim export-sdf. Thrust, buoyancy, damping and ventilation are wrenches of '
    'the effect nodes; plugins that exert them here would count twice.'
)


@dataclass(frozen=True, eq=False)
class SdfModel:
    """An SDF model.

    Attributes:
        text: text of the file.
        warnings: features that SDF cannot express.
        meshes: meshes to copy beside the file.
    """

    text: str
    warnings: tuple[str, ...] = ()
    meshes: Meshes = field(default_factory=Meshes)


def sdf_model(
    vehicle: Vehicle,
    *,
    source: str = 'robot_description',
    base: Path | None = None,
    meshes: str = 'uri',
    materials: Materials | None = None,
    ground: str = '',
    fixed: bool = False,
    drives: str = '',
    engines: bool = False,
) -> SdfModel:
    """Return the SDF model of a vehicle.

    Links that fixed joints make one are one link, named after the first; the others stay as
    <frame>, so that sensors find them. The mass matrix of the model with its joints at zero is
    the vehicle's, M_RB + M_A: M_A is <fluid_added_mass> of ``base_link``.

    Args:
        vehicle: a vehicle read from a URDF.
        source: source of the vehicle, for messages.
        base: folder that its relative mesh names start from.
        meshes: ``uri`` or ``copy``, see :class:`Meshes`.
        materials: materials of its collisions; None takes the shipped ones.
        ground: name of the material for which friction and restitution are to be right; empty
            takes those of each collision's material alone.
        fixed: let the arm's joints stay at 0.
        drives: commands that the arm's joints take from Gazebo's own systems, of
            :data:`~marine_sim_ros.sdf.links.DRIVES`; empty: none, so that they swing freely.
        engines: write Gazebo's own system for each buoyancy engine; for runs without the force
            ``buoyancy_engines`` of this package.

    Raises:
        ModelError: something in a visual or a mesh name that cannot be read.
        ParameterError: a ground that is no material, drives of no arm, or no buoyancy engine.
    """
    if drives and vehicle.manipulator is None:
        raise ParameterError(f'drives: {vehicle.name} has no arm; expected a vehicle with joints')
    if engines and 'buoyancy_engines' not in vehicle.extensions:
        raise ParameterError(
            f'engines: {vehicle.name} has no buoyancy engine; expected a vehicle with one'
        )
    all_materials = materials or shipped_materials()
    if ground and ground not in all_materials.names:
        raise ParameterError(
            f'ground is {ground!r}; expected one of: '
            f'{", ".join(all_materials.names) or "(none defined)"}'
        )
    writer = _Writer(vehicle, source, Meshes(meshes, base), all_materials, ground)
    writer.fixed, writer.drives, writer.engines = fixed, drives, engines
    root = new_document(_COMMENT)
    writer.write(
        add_element(root, 'model', name=writer.names.model(vehicle.name), canonical_link='')
    )
    return SdfModel(to_text(root), tuple(dict.fromkeys(writer.warnings)), writer.meshes)


class _Writer:
    """Writes one vehicle."""

    def __init__(
        self, vehicle: Vehicle, source: str, meshes: Meshes, materials: Materials, ground: str
    ) -> None:
        self.vehicle = vehicle
        self.meshes = meshes
        self.root = Reader(xml.parse(vehicle.urdf, source), source)
        self.warnings: list[str] = []
        self.fixed, self.drives, self.engines = False, '', False
        self.bodies = link_groups(vehicle, self.root)
        self.poses = frame_poses(vehicle)
        self.names = Names([m for b in self.bodies for m in b.links], self.warnings)
        self.colours = read_colours(self.root)
        self.surfaces = self._surfaces(materials, ground)
        self.links = {e.get('name', ''): e for e in self.root.element.findall('link')}

    def _surfaces(self, materials: Materials, ground: str) -> dict[Element, Surface]:
        """Return the surface of every <collision>."""
        tags = read_contact_tags(self.root)
        used = {t for t in tags.collisions if isinstance(t, str)}
        self.warnings += materials.warnings(used)
        elements = [
            c for link in self.root.element.findall('link') for c in link.findall('collision')
        ]
        result = {}
        for element, tag in zip(elements, tags.collisions, strict=True):
            if ground:
                result[element], surface_warnings = dart_surface_on_ground(tag, ground, materials)
                self.warnings += surface_warnings
            else:
                material = materials.material(tag) if isinstance(tag, str) else tag
                result[element] = dart_surface(material)
        return result

    def write(self, model: Element) -> None:
        """Write the whole of it into a <model>."""
        model.set('canonical_link', self.names.link(self.bodies[0].name))
        for body in self.bodies:
            if body.joint is not None:
                self._joint(model, body)
            self._link(model, body)
            for name in body.links[1:]:
                frame = add_element(
                    model,
                    'frame',
                    name=self.names.link(name),
                    attached_to=self.names.link(body.name),
                )
                add_pose(frame, body.pose.relative(self.poses[name]))
        self._tell_joints()
        if self.engines:
            density = float(self.vehicle.buoyancy.fluid_density)
            engines = self.vehicle.extensions['buoyancy_engines']
            link = model.get('canonical_link', '')
            self.warnings += add_buoyancy_engines(model, engines, link, density)
        arm = self.vehicle.manipulator
        if self.drives and arm is not None:
            efforts = np.array([effort_of(b.joint) for b in self.bodies if b.joint is not None])
            add_drives(model, arm, self.names.joint, efforts, self.drives)
            self.warnings.append(
                "the arm's links have no added mass, drag and buoyancy in Gazebo: the joints do "
                'not feel the water'
            )

    def _joint(self, model: Element, body: LinkGroup) -> None:
        joint, arm = body.joint, self.vehicle.manipulator
        assert joint is not None
        assert arm is not None
        parent = joint.reader.child('parent')
        assert parent is not None
        add_joint(
            model,
            self.names.joint(arm.names[joint.number]),
            (self.names.link(joint.parent), self.names.link(body.name)),
            joint,
            self.names.link(parent.attribute('link')),
            arm,
            self.warnings,
            fixed=self.fixed,
        )

    def _link(self, model: Element, body: LinkGroup) -> None:
        link = add_element(model, 'link', name=self.names.link(body.name))
        added_mass: np.ndarray | None = self.vehicle.added_mass
        if body.joint is not None:
            arm = self.vehicle.manipulator
            assert arm is not None
            add_element(link, 'pose', relative_to=self.names.joint(arm.names[body.joint.number]))
            added_mass = None
        add_inertial(link, body.name, body.inertia, added_mass, self.warnings)
        for tag in ('collision', 'visual'):
            for name, pose, element in self._shapes(body, tag):
                if tag == 'collision':
                    surface = self.surfaces[element.element]
                    add_collision(link, name, element, pose, self.meshes, surface)
                else:
                    add_visual(link, name, element, pose, self.meshes, self.colours, self.warnings)

    def _shapes(self, body: LinkGroup, tag: str) -> Iterator[tuple[str, Pose, Reader]]:
        """Yield name, pose of the URDF link in the body, and element of each shape."""
        for name in body.links:
            pose = body.pose.relative(self.poses[name])
            for i, element in enumerate(self.links[name].findall(tag)):
                label = f'{self.names.link(name)}_{tag}' + (f'_{i + 1}' if i else '')
                yield label, pose, Reader(element, self.root.source)

    def _tell_joints(self) -> None:
        for element in self.root.element.findall('joint'):
            kind = element.get('type')
            if kind not in (*MOVING_JOINT_TYPES, 'fixed'):
                reader = Reader(element, self.root.source)
                self.warnings.append(
                    reader.warning(f'{kind} joints are fixed here, as in the simulation')
                )
