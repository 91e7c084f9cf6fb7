# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads <mass_from_parts>: the body's mass and buoyancy follow from a list of parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.progress import Progress
from marine_sim_ros.model.inertia import Buoyancy, Inertia
from marine_sim_ros.model.mass.cache import cached
from marine_sim_ros.model.mass.part_list import content_key, load_parts, part_files
from marine_sim_ros.model.mass.properties import METHOD, MassProperties, assemble
from marine_sim_ros.model.xml import Reader

__all__ = ['TAG', 'MassReading', 'mass_of_file', 'read_mass_from_parts']

TAG = 'mass_from_parts'
_FINEST, _COARSEST = 1e-4, 10.0
"""m."""


@dataclass(frozen=True, eq=False)
class MassReading:
    """What <mass_from_parts> says of ``base_link``.

    Attributes:
        inertias: inertias of that link, in the body frame; empty without the element.
        volumes: displaced volumes by link, in the body frame.
        warnings: repairs of meshes, parts that came to nothing.
        files: the list of parts, and the meshes in it.
    """

    inertias: dict[str, Inertia]
    volumes: Mapping[str, Buoyancy] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


def mass_of_file(
    uri: str, voxel_size: float, base: Path | None, progress: Progress
) -> MassProperties:
    """Return the mass properties of a file of parts, kept from an earlier run if there was one.

    Args:
        uri: ``package://package/path``, ``file:///path``, or a path.
        voxel_size: edge of the cells, m.
        base: folder that relative names start from.
        progress: function that is called with the completed share, 0 to 1, if there is work.

    Raises:
        ModelError: the file or a mesh cannot be used, or too many cells.
    """
    parts = load_parts(uri, base)
    key = content_key(parts, voxel_size, METHOD)
    return cached(key, len(parts), lambda: assemble(parts, voxel_size, progress))


def read_mass_from_parts(
    root: Reader, water_density: float, base: Path | None, progress: Progress, link: str
) -> MassReading:
    """Return mass and buoyancy of the body from its parts; without the element, nothing.

    ``<mass_from_parts file="parts.yaml" voxel_size="0.002"/>`` below <robot> stands instead of
    the <inertial> of the body's link and of <buoyancy>.

    Args:
        root: the <robot> element.
        water_density: water density for which the vehicle is trimmed, kg/m³.
        base: folder that relative names start from.
        progress: function that is called with the completed share, 0 to 1, if there is work.
        link: name of the body's link.

    Raises:
        ModelError: one line with file, line, element, and what was expected.
    """
    reader = root.child(TAG)
    if reader is None:
        return MassReading({})
    reader.children(())
    _refuse_rivals(root, reader, link)
    uri = reader.attribute('file')
    size = reader.number(_FINEST, _COARSEST, reader.attribute('voxel_size'))
    try:
        found = mass_of_file(uri, size, base, progress)
    except ModelError as error:
        raise reader.error(str(error)) from None
    if found.mass <= 0:
        raise reader.error(f'{uri}: the parts weigh nothing; expected a density above 0')
    floats = Buoyancy(found.volume, found.center_of_volume, max(found.height, size), water_density)
    return MassReading(
        {link: Inertia(found.mass, found.center_of_mass, found.inertia)},
        {link: floats},
        tuple(reader.warning(text) for text in found.warnings),
        part_files(uri, base),
    )


def _refuse_rivals(root: Reader, reader: Reader, base: str) -> None:
    """Raise where something else says what the parts say."""
    for link in root.element.findall('link'):
        for tag in ('inertial', 'collision/buoyancy_material'):
            if link.get('name') == base and link.find(tag) is not None:
                raise reader.error(
                    f'gives the mass of {base!r}, and so does its <{tag.split("/")[-1]}>; '
                    'expected one of them'
                )
    for element in root.element.findall('buoyancy'):
        if element.get('link', base) == base:
            raise reader.error(
                f'gives the volume of {base!r}, and so does <buoyancy> '
                f'(line {Reader(element, root.source).line}); expected one of them'
            )
