# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Environment -> SDF world: gravity, what is solid, the water's surface, gz-sim's systems."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.materials import shipped_materials
from marine_sim_ros.model.xml import Element
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sdf.elements import GZ, add, document, to_text
from marine_sim_ros.sdf.solids import add_obstacle, add_plane, add_terrain, add_water
from marine_sim_ros.sdf.surfaces import Surface, surface_of
from marine_sim_ros.sdf.terrain import terrain_obj

__all__ = ['SdfWorld', 'sdf_world']

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
    """

    text: str
    meshes: dict[str, str] = field(default_factory=dict)


def sdf_world(
    name: str, environment: Environment, comment: str = '', *, step: float = STEP
) -> SdfWorld:
    """Return the SDF world of an environment.

    Gravity and everything solid are in it; waves, currents and the water's forces are not.

    Args:
        name: name of the world, as in gz-sim's topics.
        environment: whose axes, map, are the world's.
        comment: comment at the top of the file.
        step: physics step, s.
    """
    root = document(comment)
    world = add(root, 'world', name=name)
    _add_physics(world, step)
    add(world, 'gravity', [0, 0, -environment.gravity])
    _add_light(world)
    scene = environment.scene or Scene()
    materials = environment.materials or shipped_materials()

    def surface(material: str) -> Surface:
        return surface_of(materials.material(material))

    for plane in scene.planes:
        add_plane(world, scene, plane, surface(plane.material))
    meshes = {}
    if scene.terrain is not None:
        mesh = f'meshes/{name}.obj'
        add_terrain(world, scene.terrain, mesh, surface(scene.terrain.material))
        meshes[mesh] = terrain_obj(scene.terrain)
    for obstacle in scene.obstacles:
        add_obstacle(world, obstacle, surface(obstacle.material))
    add_water(world, scene)
    return SdfWorld(to_text(root), meshes)


def _add_physics(world: Element, step: float) -> None:
    """Add DART as fast as wrenches come; whoever sends them keeps the pace.

    Serial post-updates are several times faster with few vehicles, with the same result.
    """
    physics = add(world, 'physics', name='lockstep', type='dart')
    add(physics, 'max_step_size', step)
    add(physics, 'real_time_factor', 0)
    policies = add(world, f'{{{GZ}}}policies')
    add(policies, 'parallel_postupdates', False)
    for library, system in _SYSTEMS:
        add(
            world,
            'plugin',
            filename=f'gz-sim-{library}-system',
            name=f'gz::sim::systems::{system}',
        )


def _add_light(world: Element) -> None:
    scene = add(world, 'scene')
    add(scene, 'ambient', [0.5, 0.5, 0.5, 1])
    add(scene, 'background', [*_SKY, 1])
    add(scene, 'shadows', True)
    sun = add(world, 'light', name='sun', type='directional')
    add(sun, 'cast_shadows', True)
    add(sun, 'diffuse', [0.8, 0.8, 0.8, 1])
    add(sun, 'specular', [0.2, 0.2, 0.2, 1])
    add(sun, 'direction', np.array(_SUN) / np.linalg.norm(_SUN))
