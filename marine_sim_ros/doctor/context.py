# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Description under examination: XML with lines, boxes of geometry, vehicle, findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.model import xml
from marine_sim_ros.model.kinematics import BASE_LINK, base_link_of, fix_locked_joints, reroot
from marine_sim_ros.model.library import vehicle_path
from marine_sim_ros.model.urdf import vehicle_from_urdf
from marine_sim_ros.model.vehicle import Frame, Vehicle
from marine_sim_ros.model.xacro_expansion import expand_description
from marine_sim_ros.model.xml import DescriptionSource, Element, Reader
from marine_sim_ros.physics.rigid_body import AUTO_INTEGRATOR

__all__ = [
    'DescriptionContext',
    'Diagnostic',
    'Edit',
    'FindingPlace',
    'Severity',
    'finite_numbers',
    'load_context',
]


# Findings: severity, message, place and remedy.


class Severity(str, Enum):
    """Severity of a finding."""

    ERROR = 'error'
    WARNING = 'warning'
    HINT = 'hint'


@dataclass(frozen=True)
class FindingPlace:
    """Location of a finding; line 0 is the whole file, ``element`` is a readable path."""

    file: str
    line: int = 0
    element: str = ''

    def __str__(self) -> str:
        """Return ``file:line: <element>``, as far as each is known."""
        start = f'{self.file}:{self.line}' if self.line else self.file
        return f'{start}: {self.element}' if self.element else start


@dataclass(frozen=True, eq=False)
class Edit:
    """A change of one element that has one right answer.

    Attributes:
        element: element of the description.
        also: further elements with its name that get the same change.
        description: what changes, for the report.
        attributes: new values by name; None removes one.
        text: new text, or None to leave it.
        children: elements to add, by name, with their texts.
        tag: new name of the element, or '' to leave it.
    """

    element: Element
    description: str
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    text: str | None = None
    children: Mapping[str, str] = field(default_factory=dict)
    tag: str = ''
    also: tuple[Element, ...] = ()


@dataclass(frozen=True, eq=False)
class Diagnostic:
    """One thing that an examination found.

    Attributes:
        severity: error: it will not do what was meant; warning: hardly meant so; hint: know it.
        message: the finding, with its numbers.
        place: where.
        advice: advice on how to fix it.
        check: name of the check that found it.
        edit: the change that ``--fix`` makes, or None.
    """

    severity: Severity
    message: str
    place: FindingPlace
    advice: str
    check: str = ''
    edit: Edit | None = None


# Bounding boxes of a description's geometry, without a hull.

_CORNERS = np.array(list(product((0.0, 1.0), repeat=3)))


@dataclass(frozen=True, eq=False)
class Extent:
    """The box around one geometry: corners ``low`` and ``high`` (3,), m, in the body frame."""

    element: Element
    link: str
    low: np.ndarray
    high: np.ndarray

    @property
    def center(self) -> np.ndarray:
        """(3,) m."""
        return (self.low + self.high) / 2

    @property
    @np.errstate(over='ignore')  # infinite is what it is then
    def volume(self) -> float:
        """Of the box, m³."""
        return float(np.prod(self.high - self.low))


def finite_numbers(text: str | None, count: int) -> np.ndarray | None:
    """Return the finite numbers in a text, or None where there are not that many."""
    try:
        values = np.array((text or '').split(), float)
    except ValueError:
        return None
    return values if len(values) == count and np.all(np.isfinite(values)) else None


def _pose(origin: Element | None) -> tuple[np.ndarray, np.ndarray]:
    """Return translation (3,) and rotation (3, 3) of an <origin>; what cannot be read is zero."""
    if origin is None:
        return np.zeros(3), np.eye(3)
    xyz = finite_numbers(origin.get('xyz'), 3)
    rpy = finite_numbers(origin.get('rpy'), 3)
    turn = np.eye(3) if rpy is None else rotation_matrix(quaternion_from_rpy(*rpy))
    return np.zeros(3) if xyz is None else xyz, turn


def _own_box(geometry: Element, meshes: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the corners of the box around a <geometry> in its own frame."""
    box, mesh = geometry.find('box'), geometry.find('mesh')
    half: np.ndarray | None = None
    if box is not None:
        size = finite_numbers(box.get('size'), 3)
        half = None if size is None else size / 2
    for kind in ('cylinder', 'sphere'):
        round_ = geometry.find(kind)
        if round_ is not None:
            radius = finite_numbers(round_.get('radius'), 1)
            length = finite_numbers(round_.get('length'), 1)
            if radius is not None:
                tall = radius if length is None else length / 2
                half = np.concatenate([radius, radius, tall])
    if mesh is not None:
        found = meshes.get(mesh.get('filename') or '')
        if found is None or isinstance(found, str):
            return None
        scale = finite_numbers(mesh.get('scale'), 3)
        ends = np.asarray(found.bounds) * (np.ones(3) if scale is None else scale)
        return ends.min(axis=0), ends.max(axis=0)
    return None if half is None else (-half, half)


@np.errstate(over='ignore', invalid='ignore')  # sizes are a user's; checks see what is absurd
def _geometry_extents(
    root: Element, frames: Mapping[str, Frame], meshes: Mapping[str, Any]
) -> tuple[Extent, ...]:
    """Return the boxes around all collisions and visuals whose geometry can be read.

    Args:
        frames: frames of the links; links without one are left out.
        meshes: by file name, as in DescriptionContext.
    """
    result = []
    for link in root.findall('link'):
        frame = frames.get(link.get('name') or '')
        for element in (*link.findall('collision'), *link.findall('visual')):
            geometry = element.find('geometry')
            corners = None if geometry is None else _own_box(geometry, meshes)
            if corners is None or frame is None:
                continue
            low, high = corners
            translation, turn = _pose(element.find('origin'))
            points = (low + _CORNERS * (high - low)) @ turn.T + translation
            points = points @ rotation_matrix(frame.quaternion).T + frame.translation
            result.append(Extent(element, frame.name, points.min(axis=0), points.max(axis=0)))
    return tuple(result)


# Vehicle under examination: text, XML with lines, and the vehicle read from it.


@dataclass(frozen=True, eq=False)
class DescriptionContext:
    """A vehicle description and the vehicle that loads from it.

    Attributes:
        root: the <robot> element, xacro expanded.
        source: name of the file, which knows where each line of its text is from.
        expanded: whether xacro made the text, so that its lines are not those of the file.
        loaded: the vehicle, or None where the description is refused.
        refusal: reason of the refusal.
        base_link: name of the body's link.
        integrator: of the runs whose steps are judged.
    """

    path: Path
    root: Element
    source: DescriptionSource
    expanded: bool
    loaded: Vehicle | None
    refusal: str = ''
    base_link: str = BASE_LINK
    integrator: str = AUTO_INTEGRATOR

    @property
    def vehicle(self) -> Vehicle:
        """The vehicle; only for checks that are run when it has loaded."""
        assert self.loaded is not None
        return self.loaded

    @cached_property
    def frames(self) -> dict[str, Frame]:
        """Frames of all links by name."""
        name = self.base_link
        base = Frame(name, '', np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
        return {name: base, **{f.name: f for f in self.vehicle.frames}}

    @cached_property
    def meshes(self) -> dict[str, Any]:
        """Mesh of trimesh, or the reason why there is none, by file name; each is read once."""
        result: dict[str, Any] = {}
        for element in self.root.iter('mesh'):
            name = element.get('filename')
            if name and name not in result:
                try:
                    result[name] = read_mesh(mesh_path(name, self.path.parent))
                except ModelError as error:
                    result[name] = str(error)
        return result

    @cached_property
    def extents(self) -> tuple[Extent, ...]:
        """Boxes around every collision and visual, in the body frame."""
        return _geometry_extents(self.root, self.frames, self.meshes)

    @cached_property
    def size(self) -> np.ndarray | None:
        """(3,) m, edges of the box around all geometry; None where there is none."""
        if not self.extents:
            return None
        low = np.min([e.low for e in self.extents], axis=0)
        high = np.max([e.high for e in self.extents], axis=0)
        return np.asarray(high - low)

    def thruster_elements(self) -> list[Element]:
        """Return the elements that describe the vehicle's thrusters, in their order."""
        for plugin in self.root.iter('plugin'):
            if 'libOrcaThruster' in (plugin.get('filename') or ''):
                return list(plugin.findall('thruster'))
        return list(self.root.findall('thrusters/thruster'))

    def place(self, element: Element | None) -> FindingPlace:
        """Return the location of an element.

        In a file with xacro it is where the element was written, in it or in an include.
        """
        if element is None:
            return FindingPlace(str(self.path))
        reader = Reader(element, self.source)
        file, line = self.source.origin(reader.line)
        return FindingPlace(file, line, reader.name)

    def error(
        self, element: Element | None, message: str, advice: str, edit: Edit | None = None
    ) -> Diagnostic:
        """Return a finding: it will not do what was meant."""
        return Diagnostic(Severity.ERROR, message, self.place(element), advice, edit=edit)

    def warning(
        self, element: Element | None, message: str, advice: str, edit: Edit | None = None
    ) -> Diagnostic:
        """Return a finding: it is hardly meant so."""
        return Diagnostic(Severity.WARNING, message, self.place(element), advice, edit=edit)

    def hint(self, element: Element | None, message: str, advice: str) -> Diagnostic:
        """Return a finding: one should know it."""
        return Diagnostic(Severity.HINT, message, self.place(element), advice)


def load_context(
    name_or_path: str, arguments: Mapping[str, str], integrator: str = AUTO_INTEGRATOR
) -> DescriptionContext:
    """Return a vehicle for examination, whether it loads or not.

    Args:
        name_or_path: a shipped vehicle's name, or the path of a URDF or xacro file.

    Raises:
        ModelError: no file, no XML, no robot, or xacro refuses it: nothing to examine.
    """
    path = vehicle_path(name_or_path)
    text, source, expanded, wanted, _ = expand_description(path, arguments)
    root = xml.parse(text, source)
    if root.tag != 'robot':
        raise ModelError(f'{path}: the root element is <{root.tag}>; expected <robot>')
    vehicle, refusal, body = None, '', wanted or BASE_LINK
    try:
        body = base_link_of(root, source, wanted)
        fix_locked_joints(root, source)
        reroot(root, source, body)
        vehicle = vehicle_from_urdf(text, source=source, base=path.parent, base_link=body)
    except ModelError as error:
        refusal = str(error)
    return DescriptionContext(path, root, source, expanded, vehicle, refusal, body, integrator)
