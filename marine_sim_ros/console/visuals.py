# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes for the 3D view and the chart of a page, as JSON: vehicle, sensors, scene, waypoints."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.console.telemetry import actuator_readings
from marine_sim_ros.control.allocator import unreachable_axes
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.geodesy import graticule
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.changes import movable_bodies
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.appearance import Appearance, VisibleLink, Visual
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.model.free_bodies import FreeBody
from marine_sim_ros.model.kinematics import Pose
from marine_sim_ros.model.propulsion import propeller_link
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.physics.contact.solid_tables import solid_scene
from marine_sim_ros.scene.drawing import (
    chart_ground,
    chart_window,
    coarsen_terrain,
    contour_lines,
    material_colour,
    plane_outline,
)
from marine_sim_ros.scene.meshes import coarsen_surface
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sim.scenario import Scenario

__all__ = [
    'base64_floats',
    'chart_visuals',
    'scenario_waypoints',
    'scene_visuals',
    'vehicle_visuals',
]


# Visuals of a vehicle: links with shapes, joints, cameras, lights, thrusters.


def base64_floats(values: np.ndarray) -> str:
    """Return numbers as base64 of little-endian float32, a third of the size of JSON."""
    return base64.b64encode(np.ascontiguousarray(values, '<f4').tobytes()).decode('ascii')


def _pose(pose: Pose) -> dict[str, Any]:
    return {'at': pose.translation.tolist(), 'turn': pose.quaternion.tolist()}


def _visual(visual: Visual) -> dict[str, Any]:
    shape: dict[str, Any] = {'kind': visual.kind, 'size': list(visual.size)}
    if visual.kind == 'mesh':
        shape = {'kind': 'mesh', 'corners': base64_floats(visual.corners)}
    return {**shape, **_pose(visual.pose), 'colour': visual.colour.tolist()}


def _link(link: VisibleLink) -> dict[str, Any]:
    result: dict[str, Any] = {
        'name': link.name,
        'parent': link.parent,
        'visuals': [_visual(v) for v in link.visuals],
    }
    if link.parent:
        result |= _pose(link.pose)
    if link.joint is not None:
        axis = link.joint.axis.tolist()
        result['joint'] = {'name': link.joint.name, 'kind': link.joint.kind, 'axis': axis}
    return result


def _quantities(sensor: Sensor) -> list[str]:
    """Return the quantities of a sensor's readings; none of one that makes pictures."""
    model = SENSORS[sensor.kind]
    if model.executable == 'sensor':
        return []
    try:
        readings = model.measure(sensor, state_at_rest(), Environment(), SensorInputs.none())
    except MarineSimError:  # it needs what is not installed
        return []
    return [name for name in readings if name != 'delay']


def vehicle_visuals(vehicle: Vehicle) -> dict[str, Any]:
    """Return the data for drawing a vehicle; JSON.

    Args:
        vehicle: the vehicle, with its URDF.

    Raises:
        ModelError: its URDF cannot be read.
    """
    looks = Appearance(vehicle)
    links = [_link(link) for link in looks.links]
    arm, thrusters, hull = vehicle.manipulator, vehicle.thrusters, vehicle.hull
    voxels = None if hull is None else hull.voxels
    return {
        'name': vehicle.name,
        'mass': vehicle.inertia.mass,
        'center_of_mass': vehicle.inertia.center_of_mass.tolist(),
        'links': links,
        'cameras': [e['name'] for e in links if 'camera' in e['name']],
        'lights': [e['name'] for e in links if 'light' in e['name']],
        'joints': []
        if arm is None
        else [
            {'name': n, 'lower': float(low), 'upper': float(high), 'slides': bool(s)}
            for n, low, high, s in zip(arm.names, arm.lower, arm.upper, arm.sliding, strict=True)
        ],
        'actuators': actuator_readings({}, vehicle),
        'unreachable': list(unreachable_axes(vehicle)),
        'gripper': arm is not None and GRIPPER in vehicle.extensions,
        'tether': 'tether' in vehicle.extensions,
        'barometer': vehicle.barometer is not None,
        'sensors': [{'name': s.name, 'quantities': _quantities(s)} for s in vehicle.sensors],
        'thrusters': [
            {'name': n, 'at': p.tolist(), 'axis': a.tolist(), 'propeller': propeller_link(n)}
            for n, p, a in zip(thrusters.names, thrusters.position, thrusters.axis, strict=True)
        ],
        'metered': bool(np.any(thrusters.power_of_thrust(np.ones(len(thrusters.names))))),
        'voxels': None
        if voxels is None
        else {
            'centers': base64_floats(voxels.center),
            'size': float(np.median(np.linalg.norm(voxels.extent, axis=-1))),
        },
        'told': list(looks.warnings),
    }


# Visuals of the surroundings: seabed, walls, obstacles, sea.

_MAX_TRIANGLES = 100_000
"""Of a mesh on the page: 4.8 MB."""


def _planes(scene: Scene) -> list[dict[str, Any]]:
    found = []
    for plane in scene.planes:
        corners = plane_outline(scene, plane)
        if len(corners) >= 3:
            found.append(
                {
                    'name': plane.name,
                    'corners': base64_floats(corners),
                    'ground': bool(plane.normal[2] > 0.5),
                    'colour': material_colour(plane.material, 1.0),
                }
            )
    return found


def _terrain(scene: Scene) -> dict[str, Any] | None:
    if scene.terrain is None:
        return None
    seen = coarsen_terrain(scene.terrain)
    rows, columns = seen.heights.shape
    return {
        'origin': [float(x) for x in seen.origin],
        'spacing': float(seen.spacing),
        'rows': rows,
        'columns': columns,
        'heights': base64_floats(seen.heights),
        'colour': material_colour(seen.material, 1.0),
    }


def _waves(environment: Environment) -> list[list[float]]:
    """Return k_x, k_y, ω, φ, a of every component, the highest first."""
    waves = environment.waves
    if waves is None:
        return []
    k = waves.wavenumber
    east, north = k * np.cos(waves.direction), k * np.sin(waves.direction)
    table = np.column_stack([east, north, waves.frequency, waves.phase, waves.amplitude])
    return [[float(x) for x in row] for row in table[np.argsort(-waves.amplitude)]]


def _obstacle(obstacle: Obstacle) -> dict[str, Any]:
    found = {
        'name': obstacle.name,
        'kind': obstacle.kind,
        'size': obstacle.size.tolist(),
        'at': obstacle.position.tolist(),
        'turn': obstacle.orientation.tolist(),
        'colour': material_colour(obstacle.material, 1.0),
    }
    if obstacle.mesh is not None:
        found['corners'] = base64_floats(coarsen_surface(obstacle.mesh, _MAX_TRIANGLES))
        found['closed'] = obstacle.mesh.closed
    return found


def _free_body(body: FreeBody) -> dict[str, Any]:
    """Return the shapes of a body in its frame, those of its contacts if no other is seen."""
    links = Appearance(body.vehicle).links
    is_seen = any(link.visuals for link in links)
    solid = () if is_seen else solid_scene(body.vehicle.contact).obstacles
    return {
        'name': body.name,
        'at': body.position.tolist(),
        'turn': body.orientation.tolist(),
        'links': [_link(link) for link in links],
        'obstacles': [_obstacle(o) for o in solid],
    }


def scene_visuals(environment: Environment) -> dict[str, Any]:
    """Return the scene and the water as a page draws them; JSON."""
    scene = environment.scene
    obstacles = () if scene is None else scene.obstacles
    return {
        'name': environment.name or 'still water',
        'gravity': environment.gravity,
        'planes': [] if scene is None else _planes(scene),
        'terrain': None if scene is None else _terrain(scene),
        'obstacles': [_obstacle(o) for o in obstacles],
        'bodies': [_free_body(body) for body in environment.free_bodies],
        'movable': movable_bodies(environment),
        'waves': _waves(environment),
        'current': environment.current.tolist(),
        'wind': environment.wind is not None,
        'layers': _uniform_water(environment),
        'heading': environment.origin.heading,
    }


def _uniform_water(environment: Environment) -> dict[str, float] | None:
    """Return temperature and salinity at the surface; None where layers cannot be set."""
    fields = environment.fields
    if fields is None:
        return {'temperature': environment.temperature, 'salinity': environment.salinity}
    if not fields.is_profile:
        return None
    surface = np.zeros(3)
    return {n: float(fields.value(n, surface, 0.0)) for n in ('temperature', 'salinity')}


# Chart: contours, graticule and waypoints, computed once.

_CHART_CELLS = 160
"""A side of the grid whose contours are drawn."""
_CHART_POINTS = 20_000
"""Bound of the points of all contours; with more the grid is halved."""
_SHADED = 80
"""Heights a side that the page shades."""


def scenario_waypoints(scenario: Scenario) -> list[tuple[str, list[float]]]:
    """Return number and position of each waypoint of a scenario."""
    return [(str(i), point.tolist()) for i, point in enumerate(scenario.waypoints, 1)]


def chart_visuals(
    environment: Environment, waypoints: Sequence[tuple[str, Sequence[float]]] = ()
) -> dict[str, Any] | None:
    """Return the chart of an environment as a page draws it; JSON; None without ground.

    Args:
        environment: with a scene.
        waypoints: name and position in map, m, of each.
    """
    scene, window = environment.scene, chart_window(environment.scene)
    if scene is None or window is None:
        return None
    low, high = window
    cells = _CHART_CELLS
    while True:
        ground = chart_ground(scene, low, high, cells + 1)
        levels = [-float(depth) for depth in ground.depths]
        if 0 < np.count_nonzero(ground.heights >= 0) < ground.heights.size:
            levels.append(0.0)
        contours = [(-z, line) for z in levels for line in contour_lines(ground, z)]
        if sum(len(line) for _, line in contours) <= _CHART_POINTS or cells <= 8:
            break
        cells //= 2
    shaded = chart_ground(scene, low, high, _SHADED + 1)
    origin = environment.origin
    places = [{'name': name, 'at': [float(x) for x in at[:2]]} for name, at in waypoints]
    return {
        'low': low.tolist(),
        'high': high.tolist(),
        'text': ground.text,
        'count': _SHADED + 1,
        'heights': base64_floats(shaded.heights),
        'contours': [{'depth': d + 0.0, 'line': base64_floats(line)} for d, line in contours],
        'graticule': [
            {'label': g.label, 'parallel': g.is_parallel, 'line': base64_floats(g.points)}
            for g in (graticule(origin, low, high) if environment.has_origin else ())
        ],
        'north': origin.in_map(np.array([0.0, 1.0, 0.0]))[:2].tolist(),
        'origin': {
            'latitude': origin.latitude,
            'longitude': origin.longitude,
            'altitude': origin.altitude,
            'heading': origin.heading,
        }
        if environment.has_origin
        else None,
        'waypoints': places,
    }
