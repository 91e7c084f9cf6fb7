# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The vehicle under examination: its text, its XML with lines, and the vehicle that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.doctor.diagnostic import Diagnostic, Edit, Place, Severity
from marine_sim_ros.doctor.extents import Extent, geometry_extents
from marine_sim_ros.model import xml
from marine_sim_ros.model.base import BASE_LINK, base_link_of, fix_locked_joints, reroot
from marine_sim_ros.model.library import vehicle_path
from marine_sim_ros.model.urdf import vehicle_from_urdf
from marine_sim_ros.model.vehicle import Frame, Vehicle
from marine_sim_ros.model.xacro_expansion import expand_description
from marine_sim_ros.model.xml import Element, Reader, Source

__all__ = ['DescriptionContext', 'load_context']


@dataclass(frozen=True, eq=False)
class DescriptionContext:
    """A vehicle description and the vehicle that loads from it.

    Attributes:
        path: path of its file.
        root: the <robot> element, xacro expanded.
        source: name of the file, which knows where each line of its text is from.
        expanded: whether xacro made the text, so that its lines are not those of the file.
        loaded: the vehicle, or None where the description is refused.
        refusal: reason of the refusal.
        base_link: name of the body's link.
    """

    path: Path
    root: Element
    source: Source
    expanded: bool
    loaded: Vehicle | None
    refusal: str = ''
    base_link: str = BASE_LINK

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
    def extents(self) -> tuple[Extent, ...]:
        """Boxes around every collision and visual, in the body frame."""
        return geometry_extents(self.root, self.frames, self.path.parent)

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

    def place(self, element: Element | None) -> Place:
        """Return where an element stands.

        In a file with xacro it is where the element was written, in it or in an include.
        """
        if element is None:
            return Place(str(self.path))
        reader = Reader(element, self.source)
        file, line = self.source.origin(reader.line)
        return Place(file, line, reader.name)

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


def load_context(name_or_path: str, arguments: Mapping[str, str]) -> DescriptionContext:
    """Return a vehicle for examination, whether it loads or not.

    Args:
        name_or_path: a shipped vehicle's name, or the path of a URDF or xacro file.
        arguments: xacro arguments.

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
    return DescriptionContext(path, root, source, expanded, vehicle, refusal, body)
