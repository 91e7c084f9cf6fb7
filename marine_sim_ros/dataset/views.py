# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draws of a frame: water, placed objects and the pose from which a target is seen.

Everything of a frame follows from the plan, its seed and the frame's number alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.random import stamp_generator
from marine_sim_ros.core.schema import replace_number
from marine_sim_ros.core.spatial import (
    quaternion_from_rpy,
    quaternion_product,
    rotation_matrix,
    rotation_vector_quaternion,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.dataset.plan import AREAS, DatasetPlan, ObjectKind, Setup
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.rays import first_hits
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.seen_bodies import (
    OBSTACLE,
    OTHER_VEHICLE,
    OWN_VEHICLE,
    PLANE,
    SURFACE,
    TERRAIN,
    body_of,
    label,
)
from marine_sim_ros.sweep.plan import quantiles

__all__ = ['DrawnFrame', 'Thing', 'draw_frame', 'split_of']

_ATTEMPTS = 500
"""Poses that are drawn for a view, and places for an object."""
_MOST = 256
"""Obstacles, and bodies, that labels tell apart."""
_LOOSE = 0.02
"""Difference of two ranges of one place, m, by which nothing is between."""


class Thing(NamedTuple):
    """Something in a frame that has a label.

    Attributes:
        name: name of its own.
        category: name of its class.
        label: of a camera's segmentation.
        surface: number of the surface that rays meet; −1: none.
        position: (3,) of its middle, map, m.
        orientation: (4,) quaternion x, y, z, w.
        size: (3,) edges of the box around it, m.
    """

    name: str
    category: str
    label: int
    surface: int
    position: np.ndarray
    orientation: np.ndarray
    size: np.ndarray


@dataclass(frozen=True, eq=False)
class DrawnFrame:
    """A frame of a data set, before its pictures are taken.

    Attributes:
        number: number of the frame.
        time: s, of waves and tide.
        environment: water and scene with the placed objects.
        state: pose of the vehicle.
        sensors: sensors with the numbers of this frame.
        things: what has a box where it is seen.
        areas: class of each label that is no thing.
        water_type: of the frame.
        values: numbers that vary, by path.
        target: name of what the first sensor looks at.
    """

    number: int
    time: float
    environment: Environment
    state: State
    sensors: tuple[Sensor, ...]
    things: tuple[Thing, ...]
    areas: dict[int, str]
    water_type: str
    values: dict[str, float]
    target: str

    @cached_property
    def labels(self) -> dict[int, int]:
        """Labels by the number of the surface that rays meet."""
        scene = self.environment.scene or Scene()
        solid = len(scene) - len(scene.obstacles)
        areas = {i: label(PLANE, i) for i in range(len(scene.planes))}
        if scene.terrain is not None:
            areas[solid - 1] = label(TERRAIN, 0)
        areas[len(scene)] = label(SURFACE, 0)
        return areas | {t.surface: t.label for t in self.things if t.surface >= 0}


def split_of(plan: DatasetPlan, number: int) -> str:
    """Return ``train``, ``val`` or ``test`` of a frame, drawn by the plan's seed."""
    share = float(stamp_generator(plan.seed, 'split', number).random())
    if share < plan.split.train:
        return 'train'
    return 'val' if share < plan.split.train + plan.split.val else 'test'


def draw_frame(plan: DatasetPlan, setup: Setup, number: int) -> DrawnFrame:
    """Return a frame.

    Raises:
        ParameterError: a number out of range, no room for an object, or no pose with such a view.
    """
    generator = stamp_generator(plan.seed, 'data set', number)
    time = float(generator.uniform(*plan.time))
    environment, sensors, values = _with_values(plan, setup, generator)
    environment, placed = _with_objects(setup, environment, generator, number)
    environment = environment.at(time)
    things, areas = _labels(setup, environment, placed)
    state, target = _Aim(plan, environment, sensors[0], things, number).draw(
        _present(setup, things, placed), generator
    )
    return DrawnFrame(
        number,
        time,
        environment,
        state,
        sensors,
        things,
        areas,
        environment.optics.water_type,
        values,
        target,
    )


# Water, and numbers that vary.


def _with_values(
    plan: DatasetPlan, setup: Setup, generator: np.random.Generator
) -> tuple[Environment, tuple[Sensor, ...], dict[str, float]]:
    """Return environment and sensors with the numbers of a frame, and these by path."""
    environment, sensors, values = setup.environment, list(setup.sensors), {}
    if plan.water_types:
        water_type = plan.water_types[int(generator.integers(len(plan.water_types)))]
        optics = replace(environment.optics, water_type=water_type)
        environment = replace(environment, optics=optics)
    for parameter in plan.parameters:
        value = float(quantiles(parameter, generator.random(1))[0])
        values[parameter.name] = value
        kind, _, path = parameter.name.partition('.')
        change = partial(parameter.changed, value=value)
        name = f'data set: {parameter.name}'
        if kind == 'environment':
            environment = replace_number(environment, path, change, name=name)
            continue
        index = next((i for i, s in enumerate(sensors) if path.startswith(f'{s.name}.')), None)
        if index is None:
            raise ParameterError(
                f'{name}: no sensor of the data set has that name; expected sensor.NAME.NUMBER '
                f'with one of: {", ".join(s.name for s in sensors)}'
            )
        sensor = sensors[index]
        spec = replace_number(sensor.spec, path.removeprefix(f'{sensor.name}.'), change, name=name)
        sensors[index] = replace(sensor, spec=spec)
    return environment, tuple(sensors), values


# Objects of a frame.


class _Placed(NamedTuple):
    """An object of a frame: an obstacle or a vehicle."""

    name: str
    kind: ObjectKind
    position: np.ndarray
    radius: float
    thing: Obstacle | Body


def _with_objects(
    setup: Setup, environment: Environment, generator: np.random.Generator, number: int
) -> tuple[Environment, list[_Placed]]:
    """Return the environment with the objects of a frame, and these."""
    scene = environment.scene or Scene()
    placed: list[_Placed] = []
    for kind in setup.objects:
        count = int(generator.integers(kind.count[0], kind.count[1] + 1))
        for i in range(count):
            name = f'{kind.name}_{i}' if i else kind.name
            placed.append(_place(kind, name, scene, placed, generator, number))
    obstacles = tuple(p.thing for p in placed if isinstance(p.thing, Obstacle))
    bodies = tuple(p.thing for p in placed if isinstance(p.thing, Body))
    if obstacles:
        environment = replace(
            environment, scene=replace(scene, obstacles=(*scene.obstacles, *obstacles))
        )
    return replace(environment, bodies=(*environment.bodies, *bodies)), placed


def _place(
    kind: ObjectKind,
    name: str,
    scene: Scene,
    others: Sequence[_Placed],
    generator: np.random.Generator,
    number: int,
) -> _Placed:
    """Return an object at a place where no other one is.

    Raises:
        ParameterError: there is no room, or no seabed for an object without a depth.
    """
    materials, whole_size = kind.materials or ('',), _size(kind)
    for _ in range(_ATTEMPTS):
        scale = float(generator.uniform(*kind.scale))
        spin = quaternion_from_rpy(0.0, 0.0, float(generator.uniform(-math.pi, math.pi)))
        lean_angle = math.radians(generator.uniform(*kind.tilt))
        lean_axis = float(generator.uniform(-math.pi, math.pi))
        level = np.array([math.cos(lean_axis), math.sin(lean_axis), 0.0])
        lean = rotation_vector_quaternion(lean_angle * level)
        orientation = np.asarray(quaternion_product(lean, spin))
        x, y = generator.uniform(kind.area[:2], kind.area[2:]).tolist()
        depth = None if kind.depth is None else float(generator.uniform(*kind.depth))
        material = materials[int(generator.integers(len(materials)))]
        size = whole_size * (scale if kind.solid is not None else 1.0)
        height = float(np.abs(rotation_matrix(orientation)[2]) @ size / 2)
        z = scene.ground(x, y) + height if depth is None else -depth
        if not math.isfinite(z):
            raise ParameterError(
                f'data set: {kind.name} lies on the seabed, and there is none; expected its depth'
            )
        position, radius = np.array([x, y, z]), float(np.linalg.norm(size) / 2)
        if any(np.linalg.norm(o.position - position) < o.radius + radius for o in others):
            continue
        if _inside(scene, position, float(size.min() / 2)):
            continue
        return _Placed(
            name, kind, position, radius, _made(kind, name, position, orientation, scale, material)
        )
    raise ParameterError(
        f'data set: frame {number} has no room for {name} in its area; expected a larger area, or '
        'fewer objects'
    )


def _size(kind: ObjectKind) -> np.ndarray:
    """Return the edges (3,) of the box around an object, m."""
    if kind.solid is not None:
        return kind.solid.size
    assert kind.vehicle is not None
    return _body_size(body_of(kind.vehicle, kind.name))


def _body_size(body: Body) -> np.ndarray:
    """Return the edges (3,) of the box about its origin that holds what is seen of a body, m."""
    halves = [np.abs(p.position) + np.abs(p.rotation) @ p.size / 2 for p in body.looks()]
    return np.asarray(2 * np.max(halves, axis=0)) if halves else np.zeros(3)


def _inside(scene: Scene, position: np.ndarray, distance: float) -> bool:
    """Return whether a place is in an obstacle, or nearer to one than a distance, m."""
    obstacles = Scene((), None, scene.obstacles)
    if not len(obstacles):
        return False
    return bool(np.min(obstacles.surfaces(position[None])[0]) < distance)


def _made(
    kind: ObjectKind,
    name: str,
    position: np.ndarray,
    orientation: np.ndarray,
    scale: float,
    material: str,
) -> Obstacle | Body:
    """Return the obstacle, or the body of the vehicle, of an object."""
    if kind.vehicle is not None:
        return replace(body_of(kind.vehicle, name), position=position, orientation=orientation)
    solid = kind.solid
    assert solid is not None
    meshes = {
        key: replace(surface, vertices=scale * surface.vertices, cached_tree=None)
        for key in ('mesh', 'collision')
        if (surface := getattr(solid, key)) is not None and scale != 1.0
    }
    return replace(
        solid,
        name=name,
        size=scale * solid.size,
        position=position,
        orientation=orientation,
        material=material or solid.material,
        **meshes,
    )


# Labels of a frame.


def _labels(
    setup: Setup, environment: Environment, placed: Sequence[_Placed]
) -> tuple[tuple[Thing, ...], dict[int, str]]:
    """Return the things of a frame, and the classes of the labels of what is none."""
    scene = environment.scene or Scene()
    obstacles, bodies = scene.obstacles, environment.bodies
    for count, what in ((len(obstacles), 'obstacles'), (len(bodies), 'bodies')):
        if count > _MOST:
            raise ParameterError(f'data set: {count} {what}; expected up to {_MOST}')
    kinds = {p.name: p.kind.name for p in placed}
    first = len(scene) - len(obstacles)

    def thing(
        body: Obstacle | Body, kind: int, number: int, surface: int, size: np.ndarray
    ) -> Thing:
        category = setup.category_of[kinds.get(body.name, body.name)]
        pose = body.position, body.orientation
        return Thing(body.name, category, label(kind, number), surface, *pose, size)

    things = (
        *(thing(o, OBSTACLE, i, first + i, o.size) for i, o in enumerate(obstacles)),
        *(
            thing(b, OTHER_VEHICLE, i, len(scene) + 1 + i, _body_size(b))
            for i, b in enumerate(bodies)
        ),
    )
    terrain, plane, surface, own = AREAS
    areas = {label(TERRAIN, 0): terrain, label(SURFACE, 0): surface, label(OWN_VEHICLE, 0): own}
    areas |= {label(PLANE, i): plane for i in range(len(scene.planes))}
    return things, areas


def _present(
    setup: Setup, things: Sequence[Thing], placed: Sequence[_Placed]
) -> tuple[Thing, ...]:
    """Return the things of a frame that views look at."""
    kinds = {p.name: p.kind.name for p in placed}
    return tuple(t for t in things if kinds.get(t.name, t.name) in setup.targets)


# Pose from which a target is seen.


class _Aim:
    """Poses of a vehicle whose sensor looks at things of a frame."""

    def __init__(
        self,
        plan: DatasetPlan,
        environment: Environment,
        sensor: Sensor,
        things: Sequence[Thing],
        number: int,
    ) -> None:
        self._views, self._environment, self._sensor = plan.views, environment, sensor
        self._things, self._number = things, number
        self._scene = environment.scene or Scene()

    def draw(self, targets: Sequence[Thing], generator: np.random.Generator) -> tuple[State, str]:
        """Return a pose, and the name of what the sensor looks at.

        Raises:
            ParameterError: none of many poses has such a view.
        """
        if not targets:
            raise ParameterError(
                f'data set: frame {self._number} has none of its targets; expected a count '
                'from 1, or further targets'
            )
        refused: Counter[str] = Counter()
        for _ in range(_ATTEMPTS):
            target = targets[int(generator.integers(len(targets)))]
            state, reason = self._attempt(target, generator)
            if state is not None:
                return state, target.name
            refused[reason] += 1
        reasons = ', '.join(f'{text} ({count})' for text, count in refused.most_common())
        raise ParameterError(
            f'data set: frame {self._number}: none of {_ATTEMPTS} poses has a view of its target: '
            f'{reasons}; expected other distances, elevations, depths or clearance in views'
        )

    def _attempt(self, target: Thing, generator: np.random.Generator) -> tuple[State | None, str]:
        views = self._views
        azimuth, elevation, off_axis, roll = (
            math.radians(generator.uniform(*span))
            for span in (views.azimuth, views.elevation, views.off_axis, views.roll)
        )
        distance = float(generator.uniform(*views.distance))
        inner = generator.uniform(-0.4, 0.4, 3)
        around = float(generator.uniform(-math.pi, math.pi))
        flat = math.cos(elevation)
        away = np.array([flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation)])
        away = np.asarray(self._environment.origin.in_map(away))
        place = target.position + rotation_matrix(target.orientation) @ (inner * target.size)
        if target.surface >= 0:
            begin = place + float(np.linalg.norm(target.size)) * away
            met, surface = self._cast(begin, -away)
            if surface != target.surface:
                return None, 'something is before it'
            place = begin - met * away
        eye = place + distance * away
        if not views.depth[0] <= -float(eye[2]) <= views.depth[1]:
            return None, 'out of the range of depths'
        met, _ = self._cast(eye, -away)
        if met < distance - _LOOSE:
            return None, 'something is between'
        axis = _turned(-away, off_axis, around)
        state = self._state(eye, axis, roll)
        if self._clearance(state.position) < views.clearance:
            return None, 'too close to a surface'
        return state, ''

    def _cast(self, begin: np.ndarray, direction: np.ndarray) -> tuple[float, int]:
        """Return the distance of the first hit of a ray, m, and the number of the surface."""
        hits = first_hits(self._environment, begin, direction, 1e4)
        return float(hits.distance), int(hits.surface)

    def _clearance(self, position: np.ndarray) -> float:
        """Return the least distance of a place from all surfaces and things, m."""
        distances = [np.inf]
        if len(self._scene):
            distances.append(float(np.min(self._scene.surfaces(position[None])[0])))
        for thing in self._things:
            if thing.surface > len(self._scene) or thing.surface < 0:
                gap = np.linalg.norm(thing.position - position) - np.linalg.norm(thing.size) / 2
                distances.append(float(gap))
        return min(distances)

    def _state(self, eye: np.ndarray, axis: np.ndarray, roll: float) -> State:
        """Return the pose of a vehicle at rest, as upright as its sensor's direction lets it be.

        It turns by its heading, then about a level axis, so that the sensor's z axis is where it
        should be, and then rolls about that.
        """
        own = self._sensor.rotation[:, 2]
        heading = math.atan2(axis[1], axis[0]) - math.atan2(own[1], own[0])
        if np.hypot(own[0], own[1]) < 1e-6:  # straight down or up: any heading has that axis
            heading = math.atan2(axis[1], axis[0])
        turned = quaternion_from_rpy(0.0, 0.0, heading)
        ahead = rotation_matrix(turned) @ own
        cross = np.cross(ahead, axis)
        norm = float(np.linalg.norm(cross))
        angle = math.atan2(norm, float(ahead @ axis))
        tilt = cross / norm * angle if norm > 1e-12 else np.zeros(3)
        orientation = quaternion_product(
            rotation_vector_quaternion(roll * axis),
            quaternion_product(rotation_vector_quaternion(tilt), turned),
        )
        orientation = np.asarray(orientation)
        position = eye - rotation_matrix(orientation) @ self._sensor.position
        return State(position, orientation, np.zeros(6))


def _turned(axis: np.ndarray, angle: float, around: float) -> np.ndarray:
    """Return a unit vector at an angle from another one, rad, in a direction around it."""
    helper = np.array([0.0, 0.0, 1.0]) if abs(axis[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    first = np.cross(axis, helper)
    first = first / np.linalg.norm(first)
    second = np.cross(axis, first)
    sideways = math.cos(around) * first + math.sin(around) * second
    return np.asarray(math.cos(angle) * axis + math.sin(angle) * sideways)
