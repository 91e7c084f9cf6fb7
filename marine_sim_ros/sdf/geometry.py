# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes: a URDF <geometry> as an SDF one."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model.geometry.mesh_files import mesh_path
from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.elements import add

__all__ = ['MESH_MODES', 'Meshes', 'add_geometry']

MESH_MODES = ('uri', 'copy')


@dataclass(eq=False)
class Meshes:
    """How an SDF file names meshes, and what is to be copied beside it.

    Attributes:
        mode: ``uri``: package:// becomes model://, which Gazebo looks for in
            GZ_SIM_RESOURCE_PATH, and paths become file://; ``copy``: all are in meshes/.
        base: folder that relative names start from.
        files: source of each copied file, by its name within the folder of the SDF file.
    """

    mode: str = 'uri'
    base: Path | None = None
    files: dict[str, Path] = field(default_factory=dict)

    def uri(self, name: str) -> str:
        """Return what the SDF file calls a mesh of the URDF.

        Raises:
            ModelError: a name that stands for no file.
        """
        path = mesh_path(name, self.base)
        if self.mode == 'uri':
            if name.startswith('package://'):
                return 'model://' + name.removeprefix('package://')
            return path.resolve().as_uri()
        if not path.is_file():
            raise ModelError(f'mesh {name!r}: {path} is no file; it cannot be copied')
        inside = f'meshes/{path.name}'
        number = 2
        while self.files.get(inside, path) != path:
            inside = f'meshes/{path.stem}_{number}{path.suffix}'
            number += 1
        self.files[inside] = path
        return inside

    def copy_to(self, folder: Path) -> None:
        """Copy what is to be copied into the folder of the SDF file.

        Raises:
            ModelError: it cannot be written.
        """
        for inside, path in self.files.items():
            target = folder / inside
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                if not (target.exists() and target.samefile(path)):
                    shutil.copyfile(path, target)
            except OSError as error:
                raise ModelError(f'{target}: cannot be written: {error.strerror}') from None


def add_geometry(parent: Element, owner: Reader, meshes: Meshes) -> None:
    """Add the <geometry> of a URDF <collision> or <visual>.

    Raises:
        ModelError: a shape that URDF does not have, or one without its sizes.
    """
    geometry = owner.child('geometry')
    shapes = [] if geometry is None else geometry.children({'box', 'cylinder', 'sphere', 'mesh'})
    if len(shapes) != 1:
        raise owner.error('has no geometry; expected <box>, <cylinder>, <sphere> or <mesh>')
    shape = shapes[0]
    kind = str(shape.element.tag)
    element = add(add(parent, 'geometry'), kind)
    if kind == 'mesh':
        scale = shape.numbers({3}, shape.attribute('scale', '1 1 1'))
        add(element, 'uri', meshes.uri(shape.attribute('filename')))
        if any(scale != 1):
            add(element, 'scale', scale)
        return
    sizes = {'box': {'size': 3}, 'cylinder': {'radius': 1, 'length': 1}, 'sphere': {'radius': 1}}
    for name, count in sizes[kind].items():
        numbers = shape.numbers({count}, shape.attribute(name))
        if not all(numbers > 0):
            raise shape.error(f'{name} is {shape.attribute(name)!r}; expected more than 0 m')
        add(element, name, numbers)
