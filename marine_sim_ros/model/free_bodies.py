# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies of an environment, read from YAML.

A free body is a vehicle without actuators: its description is a URDF, written from a shape and a
mass or read from a file, so that it floats, is dragged and touches as every vehicle does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.core.yaml_file import YamlReader, short_text
from marine_sim_ros.model.tether import Tether
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.bodies import AREA_SHARES, homogeneous_moments, solid_volume
from marine_sim_ros.scene.drawing import material_colour
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.reader import read_obstacle, read_placement
from marine_sim_ros.scene.scene import Scene

__all__ = [
    'ABSENT_POSITION',
    'BODIES',
    'CREEP',
    'DEFAULT_WATER_DENSITY',
    'FreeBody',
    'body_description',
    'box_drag',
    'is_absent',
    'read_free_bodies',
    'tethered_bodies',
]


BODIES = '/bodies/'
"""Namespace of free bodies: their odometry is ``/bodies/<name>/odom``."""
ABSENT_POSITION = (0.0, 0.0, -9000.0)
"""m, map; position of a body that is not in the world: out of sight of every sensor."""
DEFAULT_WATER_DENSITY = 1027.0
"""kg/m³; default density, as that of ``<water_density>``."""

CREEP = 0.1
"""m/s and rad/s; below it the drag is linear, so that a free body comes to rest."""
_VOXELS = 216
"""Voxels of the box around a shape: wrenches afloat within 0.3 % of those of a hull's 1,000."""
_DENSEST = 20.0
"""Relative density above which a body has a lumped volume instead of a material."""
_BODY_FIELDS = frozenset({
    'mass', 'density', 'volume', 'drag_coefficient', 'added_mass_coefficient', 'velocity', 'color',
})  # fmt: skip
_FROM_FILE = frozenset({'name', 'file', 'position', 'rpy', 'on_seabed', 'velocity'})


@dataclass(frozen=True, eq=False)
class FreeBody:
    """A body of an environment that moves.

    Attributes:
        name: name of the body; its topics are below ``/bodies/<name>``.
        description: URDF text, or the path of a URDF file.
        position: (3,) of its ``base_link`` at the start, map, m.
        orientation: (4,) unit quaternion x, y, z, w at the start.
        velocity: (6,) at the start, body frame, m/s and rad/s.
    """

    name: str
    description: str
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray

    @cached_property
    def vehicle(self) -> Vehicle:
        """Free body in named quantities; raises ModelError for an invalid description."""
        from marine_sim_ros.model.library import load_vehicle

        return load_vehicle(self.description)

    @property
    def start(self) -> State:
        """State at time 0."""
        return State(self.position.copy(), self.orientation.copy(), self.velocity.copy())


def is_absent(state: State) -> bool:
    """Whether the state of a body is that of one that is not in the world."""
    return bool(state.position.tolist() == [*ABSENT_POSITION])


def tethered_bodies(bodies: Sequence[FreeBody]) -> dict[str, Tether]:
    """Return the tethers of bodies by the name of the body, in their order."""
    tethers = {body.name: body.vehicle.extensions.get('tether') for body in bodies}
    return {name: tether for name, tether in tethers.items() if tether is not None}


def box_drag(edges: Sequence[float] | np.ndarray, density: float) -> np.ndarray:
    """Return the quadratic damping (6,) of a box along and about its axes through its centre.

    X = ½ ρ C_d A along an axis; K = ½ ρ C_d Σ h (l⁴ + b⁴)/32 about one, by strips of the faces
    that turn broadside on; C_d = 1 (Hoerner 1965, ch. 3: 1.05 for a cube). N·s²/m², N·m·s²/rad².

    Args:
        edges: (3,) length, width and height, m.
        density: of the water, kg/m³.
    """
    half = 0.5 * density
    length, width, height = edges
    turning = [
        length * (width**4 + height**4),
        width * (height**4 + length**4),
        height * (length**4 + width**4),
    ]
    areas = [width * height, length * height, length * width]
    return np.array([*(half * a for a in areas), *(half * t / 32 for t in turning)])


def body_description(
    shape: Obstacle,
    mass: float,
    volume: float,
    drag_coefficient: float,
    density: float,
    color: Sequence[float],
    added_mass_coefficient: float | None = None,
) -> str:
    """Return the URDF of a homogeneous box, cylinder or sphere.

    Args:
        shape: shape, size, name and material.
        mass: kg.
        volume: displaced volume, m³; another than the shape's for what is hollow or open.
        drag_coefficient: C_d of the area across each of its axes.
        density: of the water, kg/m³.
        color: (3,) red, green and blue, sRGB, 0 to 1.
        added_mass_coefficient: C_a of an added mass C_a ρ V in every direction; None: estimated.
    """
    from xml.sax.saxutils import quoteattr  # it imports http and ssl, and few runs have bodies

    x, y, z = homogeneous_moments(shape, mass).tolist()
    drag = drag_coefficient * box_drag(shape.size, density)
    drag[:3] *= AREA_SHARES[shape.kind]
    material, displaced = '', f'<buoyancy><volume>{volume!r}</volume></buoyancy>'
    if volume * _DENSEST * density > mass:  # denser bodies sink in any attitude
        floats = mass / (density * volume)
        displaced = (
            f'<buoyancy_material name="own"><density value="{floats!r}"/></buoyancy_material>'
        )
        material = '<buoyancy_material name="own"/>'
    added_mass = 'estimate'
    if added_mass_coefficient is not None:
        water = added_mass_coefficient * density * volume
        added_mass = _numbers(np.repeat([water, 0.0], 3))
    voxel_size = float((np.prod(shape.size) / _VOXELS) ** (1 / 3))
    geometry = {
        'box': '<box size="{0!r} {1!r} {2!r}"/>',
        'cylinder': '<cylinder radius="{3!r}" length="{2!r}"/>',
        'sphere': '<sphere radius="{3!r}"/>',
    }[shape.kind].format(*shape.size.tolist(), float(shape.size[0] / 2))
    red, green, blue = color
    return f"""<robot name={quoteattr(shape.name)}>
  {displaced}
  <hydrodynamics>
    <water_density>{density!r}</water_density>
    <added_mass>{added_mass}</added_mass>
    <linear_damping>{_numbers(CREEP * drag)}</linear_damping>
    <quadratic_damping>{_numbers(drag)}</quadratic_damping>
    <voxel_size>{voxel_size!r}</voxel_size>
  </hydrodynamics>
  <link name="base_link">
    <inertial>
      <mass value="{mass!r}"/>
      <inertia ixx="{x!r}" ixy="0" ixz="0" iyy="{y!r}" iyz="0" izz="{z!r}"/>
    </inertial>
    <collision>
      <contact_material name={quoteattr(shape.material)}/>
      {material}
      <geometry>{geometry}</geometry>
    </collision>
    <visual>
      <geometry>{geometry}</geometry>
      <material name="own"><color rgba="{red!r} {green!r} {blue!r} 1"/></material>
    </visual>
  </link>
</robot>
"""


def _numbers(values: np.ndarray) -> str:
    return ' '.join(map(repr, values.tolist()))


def read_free_bodies(
    readers: Sequence[YamlReader], scene: Scene | None, density: float, folder: Path
) -> tuple[FreeBody, ...]:
    """Return the free bodies of the lists of an environment.

    Args:
        readers: of the lists.
        scene: scene on whose seabed they may stand, or None.
        density: of the water, kg/m³.
        folder: folder that names of files start from.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    ground = Scene((), None, ()) if scene is None else scene
    result: list[FreeBody] = []
    for index, listed in enumerate(item for reader in readers for item in reader.items()):
        item, absent = _without_absent(listed)
        has_file = isinstance(item.value, dict) and 'file' in item.value
        body = (
            _read_vehicle_body(item, index, ground, folder)
            if has_file
            else _read_shape_body(item, index, ground, density)
        )
        if body.name in {other.name for other in result}:
            raise item.error(f': two bodies are named {body.name!r}; expected names of their own')
        try:
            _ = body.vehicle
        except MarineSimError as error:
            raise item.error(f': {error}') from None
        if absent:
            body = replace(body, position=np.array(ABSENT_POSITION), velocity=np.zeros(6))
        result.append(body)
    return tuple(result)


def _without_absent(reader: YamlReader) -> tuple[YamlReader, bool]:
    """Return a body without its key ``absent``, and whether it is absent and needs no pose."""
    if not isinstance(reader.value, dict) or 'absent' not in reader.value:
        return reader, False
    absent = reader.child('absent').truth()
    value = {key: x for key, x in reader.value.items() if key != 'absent'}
    if absent:
        value.setdefault('position', [0.0, 0.0, 0.0])
    return YamlReader(reader.where, value, ParameterError), absent


def _velocity(reader: YamlReader) -> np.ndarray:
    """Return the velocity (6,) of a start: three or six numbers."""
    field = reader.child('velocity', [0.0, 0.0, 0.0])
    if not isinstance(field.value, list) or len(field.value) not in (3, 6):
        raise field.error(
            f' is {short_text(field.value)}; expected three numbers, m/s, or six, m/s and rad/s'
        )
    numbers = [item.number(-50.0, 50.0) for item in field.items()]
    return np.array([*numbers, *[0.0] * (6 - len(numbers))])


def _read_vehicle_body(reader: YamlReader, index: int, ground: Scene, folder: Path) -> FreeBody:
    reader.mapping(_FROM_FILE, {'file', 'position'})
    file = reader.child('file')
    if not isinstance(file.value, str) or not file.value or '\0' in file.value:
        raise file.error(f' is {short_text(file.value)}; expected the path of a URDF')
    name = reader.child('name', f'body_{index}').word()
    path = str((folder / file.value).resolve())
    return FreeBody(name, path, *read_placement(reader, ground), _velocity(reader))


def _read_shape_body(reader: YamlReader, index: int, ground: Scene, density: float) -> FreeBody:
    shape = read_obstacle(reader, index, ground, _BODY_FIELDS)
    if ('mass' in reader.value) == ('density' in reader.value):
        raise reader.error(': expected either mass (kg) or density (kg/m³)')
    solid = solid_volume(shape)
    if 'mass' in reader.value:
        mass = reader.child('mass').number(1e-6, 1e9)
    else:
        mass = solid * reader.child('density').number(1e-3, 1e5)
    coefficient = reader.child('added_mass_coefficient')
    text = body_description(
        shape,
        mass,
        reader.child('volume', solid).number(0.0, 1e6),
        reader.child('drag_coefficient', 1.1).number(0.0, 10.0),
        density,
        reader.child('color', list(material_colour(shape.material))).vector(0.0, 1.0).tolist(),
        None if coefficient.value is None else coefficient.number(0.0, 10.0),
    )
    return FreeBody(shape.name, text, shape.position, shape.orientation, _velocity(reader))
