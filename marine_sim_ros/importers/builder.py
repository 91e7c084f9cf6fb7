# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Builder of an imported vehicle: readers of files and plugins fill it, the writer writes it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, overload

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.description import (
    Bladder,
    Fin,
    Hydrodynamics,
    ImportedJoint,
    ImportedLink,
    ImportedSensor,
    PanelDrag,
    Sourced,
    Thruster,
    Volume,
)
from marine_sim_ros.model.hydrodynamics import linear_flaw, quadratic_flaw
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.xml import DescriptionSource, Element, Reader

__all__ = [
    'VehicleBuilder',
    'Options',
    'Plugin',
    'SCOPE',
    'list_names',
    'origin_of',
    'read_flag',
    'read_magnitudes',
    'read_number',
    'read_sourced_numbers',
    'read_text',
]


@dataclass(frozen=True)
class Options:
    """Options of an import.

    Attributes:
        model: name of the model or robot to take, where a file has several; empty: the only one.
        base_link: name of the body's link; empty: found by the tree.
        max_thrust: largest thrust (N) of thrusters whose source has no limit; 0: by rule.
        arguments: xacro or scenario arguments.
        cameras: whether to take sensors that draw pictures.
        skip_missing: whether to leave out what is in packages that are not installed.
    """

    model: str = ''
    base_link: str = ''
    max_thrust: float = 0.0
    arguments: Mapping[str, str] = field(default_factory=dict)
    cameras: bool = False
    skip_missing: bool = False


@dataclass(frozen=True, eq=False)
class Plugin:
    """A <plugin> of SDF or of a <gazebo> block.

    Attributes:
        reader: reader of its element.
        reference: link of the <gazebo reference=""> or of the SDF element around it, or empty.
    """

    reader: Reader
    reference: str = ''

    @property
    def file(self) -> str:
        """The name of its library."""
        return str(self.reader.element.get('filename', ''))

    @property
    def label(self) -> str:
        """Its name and its library, for messages."""
        name = self.reader.element.get('name', '')
        return f'{name} ({self.file})' if name and self.file else name or self.file or 'no name'


def origin_of(reader: Reader) -> str:
    """Return ``file:line <element>`` of an element, the file without its folder."""
    source = (
        reader.source
        if isinstance(reader.source, DescriptionSource)
        else DescriptionSource(reader.source)
    )
    file, line = source.origin(reader.line)
    return f'{Path(file).name}:{line} <{reader.element.tag}>'


def list_names(elements: Sequence[Element]) -> str:
    """Return the names of elements for a message: the first 20, each of up to 60 characters."""
    names = [str(element.get('name'))[:60] for element in elements[:20]]
    more = [f'{len(elements) - 20} more'] if len(elements) > 20 else []
    return ', '.join(names + more) or 'none'


def read_text(reader: Reader, name: str, default: str = '') -> str:
    """Return the text of a child, without blanks around it."""
    child = reader.first(name)
    return default if child is None else (child.element.text or '').strip()


def read_flag(reader: Reader, name: str) -> bool:
    """Return whether the text of a child says yes; False where there is none."""
    return read_text(reader, name).lower() in ('true', '1')


@overload
def read_number(
    reader: Reader, name: str, default: None = None, low: float = ..., high: float = ...
) -> Sourced[float] | None: ...
@overload
def read_number(
    reader: Reader, name: str, default: float, low: float = ..., high: float = ...
) -> Sourced[float]: ...
def read_number(
    reader: Reader, name: str, default: float | None = None, low: float = -1e12, high: float = 1e12
) -> Sourced[float] | None:
    """Return the number in a child, or the simulator's default, or None where there is neither."""
    child = reader.first(name)
    if child is not None:
        return Sourced(child.number(low, high), origin_of(child))
    if default is None:
        return None
    return Sourced(default, f'default of the simulator: <{name}> is not given')


def read_sourced_numbers(
    reader: Reader, name: str, count: tuple[int, ...]
) -> Sourced[np.ndarray] | None:
    """Return the numbers in a child, or None."""
    child = reader.first(name)
    return None if child is None else Sourced(child.numbers(set(count)), origin_of(child))


def read_magnitudes(reader: Reader, name: str) -> np.ndarray:
    """Return three numbers in a child without their signs; zeros where it is not given."""
    found = read_sourced_numbers(reader, name, (3,))
    return np.zeros(3) if found is None else np.abs(found.value)


def _namespace_name(name: str, file: Path) -> str:
    """Return a name that a ROS namespace takes: letters, digits and underscores."""
    plain = file.stem if '$' in name else name
    plain = re.sub(r'\W+', '_', plain, flags=re.ASCII).strip('_')
    return plain if re.match('[A-Za-z]', plain) else f'vehicle_{plain}'.rstrip('_')


SCOPE = '_scope'
"""Attribute of a <plugin> with the names of the nested models that it is in, as ``left/``."""


def _scopes_of(reader: Reader) -> Iterator[str]:
    """Yield the scope of the plugin that an element is in, then those around it."""
    at: Any = reader.element
    while at is not None and at.get(SCOPE) is None:
        at = at.getparent()
    names = [] if at is None else [n for n in str(at.get(SCOPE)).split('/') if n]
    for depth in range(len(names), 0, -1):
        yield '/'.join(names[:depth]) + '/'


def _sum_of(volumes: list[Volume]) -> Volume:
    """Return the sum of volumes of a link, about their common centre."""
    origin = '; '.join(v.volume.origin for v in volumes)
    sizes = np.array([v.volume.value for v in volumes])
    total = float(sizes.sum())
    centers = np.array([v.center.value for v in volumes])
    center = sizes @ centers / total if total > 0 else centers[0]
    height = max((v.height for v in volumes), key=lambda h: h.value)
    return Volume(volumes[0].link, Sourced(total, origin), Sourced(center, origin), height)


class VehicleBuilder:
    """A vehicle of another simulator in our units and frames: filled by readers, then written.

    Attributes:
        name: name of the robot.
        file: file that was read.
        format: name of its format.
        folder: folder in which its meshes are looked for.
        options: what the user says of the import.
        base: name of the body's link.
        links: all links; the base is the first when it is finished.
        joints: one per link but the base.
        hydrodynamics: lumped terms, or None.
        panel_drag: drag of the panels of its collisions, or None.
        water_density: kg/m³, or None until it is known.
        mentioned_density: kg/m³ that a force plugin gives where no fluid is described, or None.
        volumes: displaced volumes.
        thrusters: in the order of their pulse widths.
        fins: fins and rudders.
        bladders: buoyancy engines.
        materials: relative density by name of a material.
        assumptions: what no source gives, and the rule that was used.
        dropped: what was not taken over, and why.
        unread_forces: blocks that exert forces and are not understood.
        estimated: what was estimated for want of damping in the source, and how; or empty.
        shapeless: whether that is the drag of a cube, because the source has no shape either.
        notes: what one reader leaves for another.
    """

    def __init__(self, name: str, file: str, kind: str, folder: Path, options: Options) -> None:
        """Start an empty vehicle of a file of a kind."""
        self.name, self.file, self.format = _namespace_name(name, Path(file)), file, kind
        self.folder, self.options = folder, options
        self.base = ''
        self.links: dict[str, ImportedLink] = {}
        self.joints: dict[str, ImportedJoint] = {}
        self.hydrodynamics: Hydrodynamics | None = None
        self.panel_drag: PanelDrag | None = None
        self.water_density: Sourced[float] | None = None
        self.mentioned_density: Sourced[float] | None = None
        self.volumes: list[Volume] = []
        self.thrusters: list[Thruster] = []
        self._indices: list[int | None] = []
        self.fins: list[Fin] = []
        self.bladders: list[Bladder] = []
        self.sensors: list[ImportedSensor] = []
        self.materials: dict[str, Sourced[float]] = {}
        self.assumptions: list[str] = []
        self.dropped: list[str] = []
        self.unread_forces: list[str] = []
        self.estimated = ''
        self.shapeless = False
        self.notes: dict[str, Any] = {}

    @property
    def mass(self) -> float:
        """Of all links, kg."""
        return sum(link.mass for link in self.links.values())

    @property
    def actuated_joints(self) -> set[str]:
        """Names of the joints of thrusters that turn."""
        return {thruster.azimuth for thruster in self.thrusters if thruster.azimuth}

    @property
    def fin_joints(self) -> set[str]:
        """Names of the joints in whose place fins turn by themselves."""
        return {fin.joint for fin in self.fins if fin.joint}

    def add_fin(self, fin: Fin) -> None:
        """Add a fin; a name that is taken gets a number."""
        name = _free_name(fin.name, {other.name for other in self.fins})
        self.fins.append(replace(fin, name=name))

    def add_bladder(self, bladder: Bladder) -> None:
        """Add a buoyancy engine; a name that is taken gets a number."""
        name = _free_name(bladder.name, {other.name for other in self.bladders})
        self.bladders.append(replace(bladder, name=name))

    def assume(self, text: str) -> None:
        """Note an assumption, once."""
        if text not in self.assumptions:
            self.assumptions.append(text)

    def drop(self, text: str) -> None:
        """Note what is not taken over, once."""
        if text not in self.dropped:
            self.dropped.append(text)

    def unread_force(self, plugin: Plugin, why: str) -> None:
        """Note a plugin that exerts forces and is not understood."""
        self.drop_plugin(plugin, why)
        self.unread_forces.append(f'{origin_of(plugin.reader)} {plugin.label}')

    def drop_plugin(self, plugin: Plugin, why: str) -> None:
        """Note a plugin that is not taken over."""
        self.drop(f'{origin_of(plugin.reader)} {plugin.label}: {why}')

    def name_unread(self, reader: Reader, known: str) -> None:
        """Name the children of a block that its reader does not know, such as misspelt ones.

        Args:
            known: pattern of the tags that it reads, or that exert no force.
        """
        tags = [str(e.tag) for e in reader.element if isinstance(e.tag, str)]
        unread = [f'<{tag}>' for tag in dict.fromkeys(tags) if not re.fullmatch(known, tag)]
        if unread:
            more = f' and {len(unread) - 8} more' if len(unread) > 8 else ''
            self.drop(f'{origin_of(reader)}: not known here: {", ".join(unread[:8])}{more}')

    def note_controller(self, where: str, joints: Sequence[str] = ()) -> None:
        """Note a controller of joints, whose gains are not taken over."""
        self.notes.setdefault('controllers', []).append((where, tuple(joints)))

    def drop_element(self, element: Element, source: str, why: str) -> None:
        """Note an element that is not taken over."""
        reader = Reader(element, source)
        name = element.get('name')
        label = f'{origin_of(reader)[:-1]} name="{name}">' if name else origin_of(reader)
        self.drop(f'{label}: {why}')

    def add_thruster(self, thruster: Thruster, index: str | int | None = '') -> None:
        """Add a thruster, with its number in the source; empty or None where it has none."""
        text = '' if index is None else str(index)
        own = _free_name(thruster.name, {other.name for other in self.thrusters})
        if own != thruster.name:
            self.assume(f'a second thruster {thruster.name!r}: it is called {own!r}')
            thruster = replace(thruster, name=own)
        self.thrusters.append(thruster)
        self._indices.append(int(text) if text.isdecimal() and len(text) < 10 else None)

    def sort_thrusters(self) -> None:
        """Order the thrusters by their numbers in the source, where all have one."""
        numbered = [(i, t) for i, t in zip(self._indices, self.thrusters, strict=True)]
        if all(i is not None for i, _ in numbered):
            self.thrusters = [t for _, t in sorted(numbered, key=lambda pair: pair[0] or 0)]
            self._indices.sort(key=lambda i: i or 0)

    def parent_joints(self) -> dict[str, ImportedJoint]:
        """Return the joint above each link."""
        return {joint.child: joint for joint in self.joints.values()}

    def is_rigid(self, link: str) -> bool:
        """Return whether a link is there, with only fixed joints between it and the base."""
        above = self.parent_joints()
        while link != self.base:
            joint = above.pop(link, None)  # each once: joints of a file may form a circle
            if joint is None or joint.kind != 'fixed':
                return False
            link = joint.parent
        return True

    def pose_of(self, link: str) -> Pose:
        """Return the pose of a link in the base, joints at zero.

        Raises:
            ModelError: the link does not hang on the base.
        """
        above = self.parent_joints()
        pose, at, seen = IDENTITY, link, set()
        while at != self.base:
            if at not in above or at in seen:
                raise ModelError(
                    f'{self.file}: link {link!r} does not hang on {self.base!r}; expected one '
                    'tree, or --base-link'
                )
            seen.add(at)
            pose = above[at].pose.then(pose)
            at = above[at].parent
        return pose

    def center_of_mass(self) -> np.ndarray:
        """Return the centre of mass (3,) of all links in the base, joints at zero."""
        total, moment = 0.0, np.zeros(3)
        for name, link in self.links.items():
            if link.inertial is not None:
                at = self.pose_of(name).then(link.inertial.pose).translation
                total += link.mass
                moment = moment + link.mass * at
        return moment / total if total > 0 else moment

    def scoped_name(self, reader: Reader, name: str, known: Mapping[str, Any]) -> str:
        """Return a name as it is, or that of the only element of this name in a nested model.

        A plugin of a nested model means the elements of that model first. The name of the model
        itself may stand before it, as in ``rov::thruster``.
        """
        name = name.replace('::', '/')
        for scope in _scopes_of(reader):
            if name and f'{scope}{name}' in known:
                return f'{scope}{name}'
        model, _, inner = name.partition('/')
        if name not in known and inner in known and model == self.name:
            return inner
        nested = [n for n in known if n.endswith(f'/{name}')] if name and name not in known else []
        if len(nested) != 1:
            return name
        self.assume(f'{origin_of(reader)}: {name!r} stands for {nested[0]!r}, the only one')
        return nested[0]

    def known_link(self, reader: Reader, name: str) -> str:
        """Return the name of a link that exists, or raise with the place."""
        name = self.scoped_name(reader, name, self.links)
        if name not in self.links:
            raise reader.error(
                f'names the link {name!r}; expected one of: {", ".join(list(self.links)[:8])}'
            )
        return name

    def named_link(self, reader: Reader, tag: str, attribute: str = 'name') -> str:
        """Return the link that an attribute of a child names, or raise with the place."""
        child = reader.child(tag)
        if child is None:
            raise reader.error(f'has no <{tag} {attribute}="..."/>')
        return self.known_link(child, child.attribute(attribute))

    def rotation_of(self, link: str) -> np.ndarray:
        """Return the rotation (3, 3) from a link to the base."""
        return np.asarray(rotation_matrix(self.pose_of(link).quaternion))

    def _without_gain(self) -> None:
        """Leave out couplings of the damping with which some motion would gain energy."""
        terms = self.hydrodynamics
        if terms is None:
            return
        for name, flaw in (('linear', linear_flaw), ('quadratic', quadratic_flaw)):
            matrix: Sourced[np.ndarray] = getattr(terms, name)
            diagonal = np.diag(np.diag(matrix.value))
            if flaw(matrix.value) and np.any(matrix.value != diagonal):
                self.drop(
                    f'{matrix.origin}: the terms of the {name} damping off the diagonal, with '
                    'which some motion would gain energy'
                )
                changes: dict[str, Any] = {name: replace(matrix, value=diagonal)}
                terms = replace(terms, **changes)
        self.hydrodynamics = terms

    def _merge_volumes(self) -> None:
        """Make one volume of those of each link, which our <buoyancy> has."""
        parts: dict[str, list[Volume]] = {}
        for volume in self.volumes:
            parts.setdefault(volume.link, []).append(volume)
        self.volumes = [_sum_of(same) if len(same) > 1 else same[0] for same in parts.values()]

    def finish(self) -> None:
        """Put in order what the readers have found: the base first, a damping that damps."""
        self._without_gain()
        self._merge_volumes()
        self.links = dict(sorted(self.links.items(), key=lambda link: link[0] != self.base))


def _free_name(name: str, taken: Collection[str]) -> str:
    """The name, or the first of ``name_2``, ``name_3`` … that is not taken."""
    if name not in taken:
        return name
    return next(other for n in count(2) if (other := f'{name}_{n}') not in taken)
