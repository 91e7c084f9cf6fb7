# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDF world of an environment: gravity, planes, terrain, obstacles, water, free bodies.

A terrain is a mesh, not a <heightmap>: gz-physics 7 spaces DART's samples by size/n instead of
size/(n − 1), so the drawn ground and the collision ground would differ. The mesh has a normal at
each corner: gz-physics 7 drops a mesh with fewer normals than vertices, and DART then ends the
server.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.geometry.triangles import TriangleSurface
from marine_sim_ros.model.body_joints import BodyJoint
from marine_sim_ros.model.free_bodies import FreeBody, is_absent
from marine_sim_ros.model.kinematics import Pose
from marine_sim_ros.model.materials import shipped_materials
from marine_sim_ros.model.xml import Element, parse
from marine_sim_ros.scene.drawing import material_colour, plane_lines, plane_outline
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap
from marine_sim_ros.sdf.geometry import Meshes, Surface, add_colour, add_surface, dart_surface
from marine_sim_ros.sdf.model import sdf_model
from marine_sim_ros.sdf.xml_writer import GZ, add_element, add_pose, new_document, to_text

__all__ = ['add_bodies', 'sdf_world']


# A terrain as a mesh.


def _normals(terrain: HeightMap) -> list[list[float]]:
    """Return the unit normals of all corners, in the order of the vertices."""
    slope_y, slope_x = np.gradient(terrain.heights, terrain.spacing)
    normals = np.stack([-slope_x, -slope_y, np.ones_like(slope_x)], axis=-1).reshape(-1, 3)
    unit: list[list[float]] = (normals / np.linalg.norm(normals, axis=1, keepdims=True)).tolist()
    return unit


def terrain_obj(terrain: HeightMap) -> str:
    """Return a terrain as Wavefront OBJ in map, heights to the millimetre.

    Every cell of the grid is one face of four corners, counter-clockwise from above; within it the
    ground is flat on both sides of a diagonal, where the terrain is bilinear. The normal at a
    corner, [−∂h/∂x, −∂h/∂y, 1] of unit length, is of central differences. The mesh ends where the
    grid does.
    """
    rows, columns = terrain.heights.shape
    x, y = (
        [f'{v:.10g}' for v in terrain.origin[i] + terrain.spacing * np.arange(n)]
        for i, n in enumerate((columns, rows))
    )
    lines = ['o terrain']
    for j, row in enumerate(np.round(terrain.heights, 3) + 0.0):
        lines += [f'v {x[i]} {y[j]} {z:.10g}' for i, z in enumerate(row)]
    lines += [f'vn {nx:.3f} {ny:.3f} {nz:.3f}' for nx, ny, nz in _normals(terrain)]
    corner = [f'{a}//{a}' for a in range(rows * columns + 1)]
    for j in range(rows - 1):
        first = j * columns + 1
        lines += [
            f'f {corner[a]} {corner[a + 1]} {corner[a + columns + 1]} {corner[a + columns]}'
            for a in range(first, first + columns - 1)
        ]
    return '\n'.join(lines) + '\n'


def surface_obj(surface: TriangleSurface) -> str:
    """Return a surface as Wavefront OBJ in its own axes, to the hundredth of a millimetre."""
    normals = surface.unit_vertex_normals()
    corner = 1 + surface.faces
    text = io.StringIO()
    np.savetxt(text, surface.vertices, 'v %.5f %.5f %.5f')
    np.savetxt(text, normals, 'vn %.4f %.4f %.4f')
    np.savetxt(text, np.repeat(corner, 2, axis=1), 'f %d//%d %d//%d %d//%d')
    return text.getvalue()


# Static models of a scene: planes, terrain, obstacles, water surface.

_REACH = 32.0
"""m; planes are drawn so far from the point nearest to the origin, and are solid farther out."""
_THICK = 0.02
"""m, of what is drawn of a plane: a slab behind it."""
_LINE = 0.015
"""m, width of the lines on a plane."""
_WATER = (0.10, 0.35, 0.50, 0.25)
_UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


def _add_collision(link: Element, surface: Surface) -> Element:
    """Add a collision, and return its <geometry>."""
    collision = add_element(link, 'collision', name='collision')
    geometry = add_element(collision, 'geometry')
    add_surface(collision, surface)
    return geometry


def _add_static_model(world: Element, name: str, pose: Pose) -> Element:
    """Add a model that stays where it is, and return its link."""
    model = add_element(world, 'model', name=name)
    add_element(model, 'static', True)
    add_pose(model, pose)
    return add_element(model, 'link', name='link')


def _add_visual(
    link: Element,
    name: str,
    material: str,
    *,
    height: float = 0.0,
    position: Sequence[float] = (0.0, 0.0),
    light: float = 1.0,
    alpha: float = 1.0,
) -> Element:
    """Add a visual of a material's colour at a place (x, y) and height, return its <geometry>."""
    visual = add_element(link, 'visual', name=name)
    add_pose(visual, Pose(np.array([*position, height]), _UPRIGHT))
    geometry = add_element(visual, 'geometry')
    add_colour(visual, np.array([*material_colour(material, light), alpha]))
    return geometry


def _add_box(geometry: Element, size: Sequence[float] | np.ndarray) -> None:
    add_element(add_element(geometry, 'box'), 'size', size)


def _facing_rotation(normal: np.ndarray) -> np.ndarray:
    """Return the attitude (4,) of least turn whose z axis is a unit vector."""
    x, y, z = normal
    if z < -1 + 1e-9:
        return np.array([1.0, 0.0, 0.0, 0.0])
    quaternion = np.array([-y, x, 0.0, 1 + z])
    return quaternion / np.linalg.norm(quaternion)


def add_plane(world: Element, scene: Scene, plane: Plane, surface: Surface) -> None:
    """Add a plane: drawn as far as the others let it go, ground with lines 1 m apart.

    Its frame has its z along the normal, and is in the middle of what is drawn.
    """
    corners = plane_outline(scene, plane, _REACH)
    if len(corners) < 3:
        return
    attitude = _facing_rotation(plane.normal)
    along, across, _ = rotation_matrix(attitude).T
    ranges = [(float((corners @ a).min()), float((corners @ a).max())) for a in (along, across)]
    sizes = [high - low for low, high in ranges]
    middles = [(low + high) / 2 for low, high in ranges]
    offset = float(plane.normal @ plane.point)
    middle = middles[0] * along + middles[1] * across + offset * plane.normal
    link = _add_static_model(world, plane.name, Pose(middle, attitude))
    face = add_element(_add_collision(link, surface), 'plane')
    add_element(face, 'normal', [0, 0, 1])
    add_element(face, 'size', sizes)
    ground = plane.normal[2] > 0.5
    alpha = 1.0 if ground else 0.5
    geometry = _add_visual(link, 'visual', plane.material, height=-_THICK / 2, alpha=alpha)
    _add_box(geometry, [*sizes, _THICK])
    if ground:
        _add_lines(link, plane_lines(scene, plane, _REACH), middle, along, across, plane.material)


def _add_lines(
    link: Element,
    lines: np.ndarray,
    middle: np.ndarray,
    along: np.ndarray,
    across: np.ndarray,
    material: str,
) -> None:
    for i, (start, end) in enumerate(lines):
        offset = (start + end) / 2 - middle
        length = float(np.linalg.norm(end - start))
        lengthwise = abs(float((end - start) @ along)) > length / 2
        spot = (float(offset @ along), float(offset @ across))
        geometry = _add_visual(
            link, f'line_{i + 1}', material, height=0.002, position=spot, light=0.6
        )
        _add_box(
            geometry, [length if lengthwise else _LINE, _LINE if lengthwise else length, 0.002]
        )


def add_terrain(world: Element, terrain: HeightMap, mesh: str, surface: Surface) -> None:
    """Add a terrain whose mesh is a file."""
    link = _add_static_model(world, 'terrain', Pose(np.zeros(3), _UPRIGHT))
    for geometry in (_add_collision(link, surface), _add_visual(link, 'visual', terrain.material)):
        add_element(add_element(geometry, 'mesh'), 'uri', mesh)


def add_obstacle(
    world: Element, obstacle: Obstacle, surface: Surface, meshes: dict[str, str]
) -> None:
    """Add an obstacle.

    Args:
        surface: of its material.
        meshes: gets the files that it needs.
    """
    link = _add_static_model(world, obstacle.name, Pose(obstacle.position, obstacle.orientation))
    for geometry, triangles in (
        (_add_collision(link, surface), obstacle.collision or obstacle.mesh),
        (_add_visual(link, 'visual', obstacle.material), obstacle.mesh),
    ):
        if obstacle.kind == 'box':
            _add_box(geometry, obstacle.size)
            continue
        if triangles is not None:
            other = '_collision' if triangles is not obstacle.mesh else ''
            file = f'meshes/{obstacle.name}{other}.obj'
            if file not in meshes:
                meshes[file] = surface_obj(triangles)
            add_element(add_element(geometry, 'mesh'), 'uri', file)
            continue
        shape = add_element(geometry, obstacle.kind)
        add_element(shape, 'radius', obstacle.size[0] / 2)
        if obstacle.kind == 'cylinder':
            add_element(shape, 'length', obstacle.size[2])


def add_water(world: Element, scene: Scene) -> None:
    """Add the mean surface of the water, to be seen only."""
    low, high = _water_extent(scene)
    link = _add_static_model(world, 'water', Pose(np.array([*((low + high) / 2), 0.0]), _UPRIGHT))
    visual = add_element(link, 'visual', name='visual')
    _add_box(add_element(visual, 'geometry'), [*(high - low), 0.002])
    add_element(visual, 'cast_shadows', False)
    add_colour(visual, np.array(_WATER))


def _water_extent(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and greatest x and y of the water that is drawn."""
    if scene.terrain is not None:
        extent = scene.terrain.extent
        return extent[0], extent[1]
    floors = [plane_outline(scene, p, _REACH) for p in scene.planes if p.normal[2] > 0.5]
    corners = np.concatenate(floors)[:, :2] if floors else np.array([[-_REACH] * 2, [_REACH] * 2])
    return corners.min(axis=0), corners.max(axis=0)


# Free bodies as models, and their joints.


def add_bodies(
    world: Element,
    environment: Environment,
    *,
    buoyancy: bool = True,
    copies: Meshes | None = None,
) -> tuple[dict[str, Element], list[str]]:
    """Add free bodies and joints; return the models by their names, and warnings.

    Args:
        world: SDF world to which they are added.
        environment: environment with the bodies.
        buoyancy: whether Gazebo's own buoyancy acts on them; else joints of arms stay at 0 too.
        copies: gets the meshes to copy beside the file; None: they stay where they are.
    """
    warnings: list[str] = []
    models: dict[str, Element] = {}
    bodies: dict[str, FreeBody] = {}
    for body in environment.free_bodies:
        label = f'body {body.name}'
        if is_absent(body.start):
            warnings.append(f'{label} is absent at the start; it is not written')
            continue
        bodies[body.name] = body
        models[body.name], unwritten = _body_model(body, buoyancy, copies)
        world.append(models[body.name])
        warnings += [f'{label}: {text}' for text in unwritten]
    for joint in environment.body_joints:
        if joint.mate is not None:
            warnings.append(f'joint {joint.name} is open until it mates; it is not written')
            continue
        _add_body_joint(world, joint, bodies)
        unwritten = [
            text
            for text, has_it in (
                ('breaking load', joint.is_breakable),
                ('detents', joint.detents is not None),
            )
            if has_it
        ]
        warnings += [f'joint {joint.name}: its {text} is not written' for text in unwritten]
    if bodies and buoyancy:
        plugin = add_element(
            world, 'plugin', filename='gz-sim-buoyancy-system', name='gz::sim::systems::Buoyancy'
        )
        density = next(iter(bodies.values())).vehicle.buoyancy.fluid_density
        add_element(plugin, 'uniform_fluid_density', float(density))
        for name in bodies:
            add_element(plugin, 'enable', name)
    return models, warnings


def _body_model(
    body: FreeBody, buoyancy: bool, copies: Meshes | None
) -> tuple[Element, list[str]]:
    """Return the model of a body at its start, and warnings."""
    label = f'body {body.name}'
    file = None if body.description.lstrip().startswith('<') else Path(body.description)
    model = sdf_model(
        body.vehicle,
        source=label,
        base=None if file is None else file.parent,
        meshes='uri' if copies is None else 'copy',
        fixed=not buoyancy,
    )
    element = parse(model.text, label).find('model')
    assert element is not None
    element.set('name', body.name)
    add_pose(element, Pose(body.position, body.orientation))
    if copies is not None:
        names = {own: copies.uri(str(path)) for own, path in model.meshes.files.items()}
        for uri in element.iter('uri'):
            uri.text = names.get(uri.text or '', uri.text)
    warnings = [*model.warnings]
    if 'tether' in body.vehicle.extensions:
        warnings.append('its tether is not written')
    return element, warnings + (_unwritten(body, element) if buoyancy else [])


def _unwritten(body: FreeBody, model: Element) -> list[str]:
    """Return what the model of a body does not have of its displacement and its start."""
    result = []
    solid = _solid_volume(model)
    volume = float(body.vehicle.buoyancy.volume)
    if math.isfinite(solid) and not math.isclose(volume, solid, rel_tol=1e-3):
        result.append(
            f'it displaces {volume:.4g} m³, which is not written: by its shapes it displaces '
            f'{solid:.4g} m³ there'
        )
    if np.any(body.velocity):
        result.append('its velocity at the start is not written')
    return result


def _solid_volume(model: Element) -> float:
    """Return the volume of the collisions of a model, m³; NaN with meshes."""

    def size(shape: Element, name: str) -> float:
        return float(np.prod([float(x) for x in shape.findtext(name, '1').split()]))

    return sum(
        {
            'box': size(shape, 'size'),
            'cylinder': math.pi * size(shape, 'radius') ** 2 * size(shape, 'length'),
            'sphere': 4 / 3 * math.pi * size(shape, 'radius') ** 3,
        }.get(str(shape.tag), math.nan)
        for shape in model.iterfind('.//collision/geometry/*')
    )


def _add_body_joint(world: Element, joint: BodyJoint, bodies: Mapping[str, FreeBody]) -> None:
    """Add a joint in the axes of its child, which is at its start."""

    def link(name: str) -> str:
        return f'{name}::{bodies[name].vehicle.base_link}' if name else 'world'

    child = bodies[joint.child]
    back = rotation_matrix(child.orientation).T
    element = add_element(world, 'joint', name=joint.name, type=joint.type)
    add_element(element, 'parent', link(joint.parent))
    add_element(element, 'child', link(joint.child))
    add_pose(element, Pose(back @ (joint.position - child.position), _UPRIGHT))
    if not joint.is_movable:
        return
    axis = add_element(element, 'axis')
    add_element(axis, 'xyz', back @ joint.axis)
    limit = add_element(axis, 'limit')
    low, high = joint.limits or (-math.inf, math.inf)
    for name, value, default in (('lower', low, -1e16), ('upper', high, 1e16)):
        add_element(limit, name, value if math.isfinite(value) else default)
    dynamics = add_element(axis, 'dynamics')
    for name, value in (
        ('damping', joint.damping),
        ('friction', joint.friction),
        ('spring_reference', joint.rest),
        ('spring_stiffness', joint.stiffness),
    ):
        add_element(dynamics, name, value)


# SDF world of an environment: gravity, scene, water surface, gz-sim's systems.

STEP = 0.005
"""s; the control period: a wrench acts for one physics step, so both are the same."""
_SYSTEMS = (
    ('physics', 'Physics'),
    ('user-commands', 'UserCommands'),
    ('scene-broadcaster', 'SceneBroadcaster'),
    ('apply-link-wrench', 'ApplyLinkWrench'),
)
_SKY = (0.25, 0.45, 0.55)
_SUN = (-0.4, 0.3, -0.87)


@dataclass(frozen=True, eq=False)
class SdfWorld:
    """An SDF world.

    Attributes:
        text: text of the file.
        meshes: text of each mesh by its name within the folder of the file.
        warnings: features that SDF cannot express.
        copies: meshes of bodies, to copy beside the file.
    """

    text: str
    meshes: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    copies: Meshes = field(default_factory=Meshes)


def sdf_world(
    name: str,
    environment: Environment,
    comment: str = '',
    *,
    step: float = STEP,
    bodies: bool = True,
) -> SdfWorld:
    """Return the SDF world of an environment.

    Gravity and everything solid are in it; of the water's forces only the buoyancy of free
    bodies is.

    Args:
        name: name of the world, as in gz-sim's topics.
        environment: whose axes, map, are the world's.
        comment: comment at the top of the file.
        step: physics step, s.
        bodies: whether to write free bodies, with Gazebo's own buoyancy.
    """
    root = new_document(comment)
    world = add_element(root, 'world', name=name)
    _add_physics(world, step)
    add_element(world, 'gravity', [0, 0, -environment.gravity])
    _add_light(world)
    scene = environment.scene or Scene()
    materials = environment.materials or shipped_materials()

    def surface(material: str) -> Surface:
        return dart_surface(materials.material(material))

    for plane in scene.planes:
        add_plane(world, scene, plane, surface(plane.material))
    meshes: dict[str, str] = {}
    if scene.terrain is not None:
        mesh = f'meshes/{name}.obj'
        add_terrain(world, scene.terrain, mesh, surface(scene.terrain.material))
        meshes[mesh] = terrain_obj(scene.terrain)
    for obstacle in scene.obstacles:
        add_obstacle(world, obstacle, surface(obstacle.material), meshes)
    add_water(world, scene)
    copies = Meshes('copy', folder='meshes/bodies')
    warnings = add_bodies(world, environment, copies=copies)[1] if bodies else []
    return SdfWorld(to_text(root), meshes, tuple(dict.fromkeys(warnings)), copies)


def _add_physics(world: Element, step: float) -> None:
    """Add DART as fast as wrenches come; whoever sends them keeps the pace.

    Serial post-updates are several times faster with few vehicles, with the same result.
    """
    physics = add_element(world, 'physics', name='lockstep', type='dart')
    add_element(physics, 'max_step_size', step)
    add_element(physics, 'real_time_factor', 0)
    policies = add_element(world, f'{{{GZ}}}policies')
    add_element(policies, 'parallel_postupdates', False)
    for library, system in _SYSTEMS:
        add_element(
            world,
            'plugin',
            filename=f'gz-sim-{library}-system',
            name=f'gz::sim::systems::{system}',
        )


def _add_light(world: Element) -> None:
    scene = add_element(world, 'scene')
    add_element(scene, 'ambient', [0.5, 0.5, 0.5, 1])
    add_element(scene, 'background', [*_SKY, 1])
    add_element(scene, 'shadows', True)
    sun = add_element(world, 'light', name='sun', type='directional')
    add_element(sun, 'cast_shadows', True)
    add_element(sun, 'diffuse', [0.8, 0.8, 0.8, 1])
    add_element(sun, 'specular', [0.2, 0.2, 0.2, 1])
    add_element(sun, 'direction', np.array(_SUN) / np.linalg.norm(_SUN))
