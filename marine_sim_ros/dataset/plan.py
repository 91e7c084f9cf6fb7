# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plan of a data set of labelled pictures: scene, views, objects, numbers that vary, classes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.schema import (
    REQUIRED,
    choice,
    declaration,
    fields_of,
    nested,
    number,
    special,
    text,
)
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader, short_text
from marine_sim_ros.environment.environment import WATER_TYPES, Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.reader import read_solid
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.seen_bodies import OwnParts, body_of
from marine_sim_ros.sweep.plan import SweepParameter, read_parameters

__all__ = [
    'AREAS',
    'MAX_FRAMES',
    'DatasetPlan',
    'ObjectElement',
    'ObjectKind',
    'Setup',
    'load_dataset_plan',
    'parse_dataset_plan',
    'setup_of',
]

MAX_FRAMES = 1_000_000
_PICTURES = ('camera', 'imaging_sonar')
"""Kinds of sensors that data sets have pictures of."""
_TARGETS = ('environment.', 'sensor.')
AREAS = ('terrain', 'plane', 'water_surface', 'own_vehicle')
"""Classes of what is no object: in the pictures of classes, but without boxes."""
_PLACED = frozenset({'count', 'area', 'depth', 'scale', 'tilt', 'materials', 'class', 'vehicle'})


def _ordered(reader: YamlReader, low: float, high: float, unit: str) -> tuple[float, float]:
    """Return the bounds of a list of two numbers, or one number twice."""
    one = not isinstance(reader.value, list)
    values = [reader.number(low, high, unit)] * 2 if one else []
    values = values or [item.number(low, high, unit) for item in reader.items()]
    if len(values) != 2 or values[0] > values[1]:
        raise reader.error(
            f' is {short_text(reader.value)}; expected [lowest, highest] or one number'
        )
    return values[0], values[1]


def _span(default: Any, low: float, high: float, unit: str, about: str) -> Any:
    """Return a field that is a range from which a number is drawn evenly."""

    def read(reader: YamlReader) -> tuple[float, float]:
        return _ordered(reader, low, high, unit)

    return special(read, default, about, unit=unit, low=low, high=high)


def _texts(reader: YamlReader) -> tuple[str, ...]:
    """Return the texts of a list, or of one text."""
    if isinstance(reader.value, str):
        return (reader.value,)
    return tuple(item.text() for item in reader.items())


@declaration(frozen=True)
class Views:
    """Views of a data set: how the first sensor looks at a target."""

    targets: tuple[str, ...] = special(
        _texts, (), 'names of obstacles, free bodies or objects that are looked at, one '
        'by one or as in handle_*; default: all',
    )  # fmt: skip
    distance: tuple[float, float] = _span(
        (2.0, 8.0), 0.05, 1000.0, 'm', 'range of what is looked at'
    )
    azimuth: tuple[float, float] = _span(
        (-180.0, 180.0), -360.0, 360.0, '°', 'direction from the target to the sensor, '
        'anticlockwise from east',
    )  # fmt: skip
    elevation: tuple[float, float] = _span(
        (-10.0, 40.0), -90.0, 90.0, '°', 'angle of that direction above the horizontal'
    )
    off_axis: tuple[float, float] = _span(
        (0.0, 10.0), 0.0, 90.0, '°', 'angle between the axis of the sensor and the target'
    )
    roll: tuple[float, float] = _span((-5.0, 5.0), -180.0, 180.0, '°', 'roll about that axis')
    clearance: float = number(
        0.5, 0.0, 100.0, 'm', 'least distance between the middle of the vehicle and all surfaces'
    )
    depth: tuple[float, float] = _span(
        (0.3, 12_000.0), -100.0, 12_000.0, 'm', 'depth of the sensor'
    )


@dataclass(frozen=True, eq=False)
class ObjectKind:
    """Objects that are placed at random in each frame.

    Attributes:
        name: their name; a second one of a frame is NAME_1.
        category: name of their class.
        solid: of an obstacle, about the origin; None: a vehicle.
        vehicle: of a vehicle; else None.
    """

    name: str
    category: str
    count: tuple[int, int]
    area: tuple[float, ...]
    depth: tuple[float, float] | None
    scale: tuple[float, float]
    tilt: tuple[float, float]
    materials: tuple[str, ...]
    solid: Obstacle | None
    vehicle: Vehicle | None


@declaration(frozen=True)
class ObjectElement:
    """Objects of one kind; the shape is written as that of an obstacle."""

    name: str = text('name of the objects', REQUIRED)
    category: str = text('name of their class; default: the name', name='class')
    vehicle: str = text('vehicle in place of a shape: shipped name or path')
    count: tuple[float, float] = _span((1, 1), 0.0, 100.0, '', 'objects in a frame')
    area: tuple[float, ...] = number(
        (-5.0, -5.0, 5.0, 5.0), -1e5, 1e5, 'm', 'least x and y, greatest x and y, map'
    )
    depth: tuple[float, float] | None = _span(
        None, 0.0, 12_000.0, 'm', 'depth of their middle; default: they lie on the seabed'
    )
    scale: tuple[float, float] = _span((1.0, 1.0), 0.01, 100.0, '', 'factor of the size')
    tilt: tuple[float, float] = _span(
        (0.0, 0.0), 0.0, 180.0, '°', 'angle of their z axis to the vertical'
    )
    materials: tuple[str, ...] = special(
        _texts, (), 'materials, of which each object has one; default: that of the shape'
    )


def _object(reader: YamlReader) -> dict[str, Any]:
    """Return the value of an object, which :func:`_object_kind` reads with its folder."""
    if not isinstance(reader.value, dict):
        raise reader.error(f' is {short_text(reader.value)}; expected a mapping with name, shape')
    return dict(reader.value)


def _classes(reader: YamlReader) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, _texts(reader.child(name))) for name in reader.names())


def _arguments(reader: YamlReader) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(reader.value[name])) for name in reader.names())


@declaration(frozen=True)
class Split:
    """Shares of the frames."""

    train: float = number(0.8, 0.0, 1.0, '', 'share of the frames to train with')
    val: float = number(0.1, 0.0, 1.0, '', 'share to validate with')
    test: float = number(0.1, 0.0, 1.0, '', 'share to test with')


@declaration(frozen=True, kw_only=True)
class DatasetPlan:
    """A data set of labelled pictures."""

    vehicle: str = text('shipped name or path', REQUIRED)
    arguments: tuple[tuple[str, str], ...] = special(_arguments, (), 'xacro arguments')
    environment: str = text('shipped name or path', REQUIRED)
    sensors: tuple[str, ...] = special(
        _texts, (), 'cameras and imaging sonars of the vehicle; default: all; the first is aimed'
    )
    frames: int = number(REQUIRED, 1, MAX_FRAMES, '', 'number of frames', whole=True)
    seed: int = number(0, 0, 2**31, '', 'random seed of everything that varies', whole=True)
    time: tuple[float, float] = _span((0.0, 0.0), 0.0, 1e9, 's', 'time of waves and tide')
    views: Views = nested(Views, 'how the first sensor looks at a target', default=Views())
    objects: tuple[dict[str, Any], ...] = special(
        lambda reader: tuple(map(_object, reader.items())), (), 'objects that are placed at random'
    )
    water_types: tuple[str, ...] = special(
        _texts, (), 'Jerlov water types, of which each frame has one; default: that of the '
        'environment',
    )  # fmt: skip
    parameters: tuple[SweepParameter, ...] = special(
        lambda reader: read_parameters(reader, _TARGETS), (),
        'numbers that vary, by path: environment.… and sensor.NAME.…, as in a sweep',
    )  # fmt: skip
    classes: tuple[tuple[str, tuple[str, ...]], ...] = special(
        _classes, (), 'classes by name, and the names of what belongs to each, as in '
        'valve: [handle_*]; default: a class for each name',
    )  # fmt: skip
    least_pixels: int = number(
        20, 1, 10**6, '', 'pixels of an object; one with fewer has no box', whole=True
    )
    least_contrast: float = number(
        0.05, 0.0, 1.0, '', 'share of the light of an object that the water lets through to a '
        'camera; where it is less, the object is not labelled',
    )  # fmt: skip
    pictures: str = choice(('png', 'jpg'), 'files of pictures; masks are png', 'png')
    split: Split = nested(Split, 'shares of the frames', default=Split())
    description: str = text('one line')
    folder: str = field(default='.', repr=False)

    def to_json(self) -> str:
        """Return the plan as JSON, the same text for the same plan wherever it lies."""
        return json.dumps({k: v for k, v in asdict(self).items() if k != 'folder'}, indent=2)


def _plan(root: YamlReader) -> DatasetPlan:
    plan = replace(root.read(DatasetPlan), folder=str(Path(root.where).parent))
    shares = plan.split.train + plan.split.val + plan.split.test
    if abs(shares - 1.0) > 1e-6:
        raise root.error(f': split has shares of {shares:g} together; expected 1')
    for name in plan.water_types:
        if name not in WATER_TYPES:
            raise root.error(f': water_types has {name!r}; {expected_one_of(name, WATER_TYPES)}')
    return plan


DATASETS = ConfigFiles('datasets', _plan, kind='data set')
load_dataset_plan, parse_dataset_plan = DATASETS.load, DATASETS.parse


# What all frames of a plan have in common.


@dataclass(frozen=True, eq=False)
class Setup:
    """Vehicle, environment and objects of a plan.

    Attributes:
        vehicle: the vehicle that carries the sensors.
        environment: water and scene without the objects; free bodies where they start.
        sensors: sensors whose pictures are taken, the one that is aimed first.
        category_of: name of the class of each thing of the scene and of each kind of objects.
        targets: names that views look at, of the scene and of the kinds of objects.
    """

    vehicle: Vehicle
    environment: Environment
    sensors: tuple[Sensor, ...]
    objects: tuple[ObjectKind, ...]
    category_of: Mapping[str, str]
    targets: tuple[str, ...]

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Names of the classes of objects, numbered from 1; those of AREAS come after them."""
        return tuple(dict.fromkeys(self.category_of.values()))

    def number(self, category: str) -> int:
        """Return the number of a class."""
        return 1 + (*self.categories, *AREAS).index(category)


def _category(classes: tuple[tuple[str, tuple[str, ...]], ...], name: str, default: str) -> str:
    for category, patterns in classes:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return category
    return default


def _object_kind(value: Mapping[str, Any], where: str, folder: Path, index: int) -> ObjectKind:
    reader = YamlReader(where, dict(value), ParameterError)
    settings = fields_of(ObjectElement)
    own = reader.values(ObjectElement)
    if own['area'][0] > own['area'][2] or own['area'][1] > own['area'][3]:
        raise reader.error('.area: expected least x, least y, greatest x, greatest y')
    shape = {k: v for k, v in value.items() if k not in _PLACED}
    solid, vehicle = None, None
    if own['vehicle']:
        reader.mapping({s.name for s in settings.values()}, {'name'})
        vehicle = load_vehicle(own['vehicle'])
    else:
        shape |= {'position': [0.0, 0.0, 0.0]}
        solid = read_solid(YamlReader(where, shape, ParameterError), index, Scene(), folder)
    low, high = (round(count) for count in own['count'])
    if (low, high) != own['count']:
        raise reader.error(f'.count is {list(own["count"])}; expected whole numbers')
    return ObjectKind(
        own['name'],
        own['category'] or own['name'],
        (low, high),
        own['area'],
        own['depth'],
        own['scale'],
        own['tilt'],
        own['materials'],
        solid,
        vehicle,
    )


def _sensors(plan: DatasetPlan, vehicle: Vehicle) -> tuple[Sensor, ...]:
    known = {s.name: s for s in vehicle.sensors if s.kind in _PICTURES}
    if not known:
        raise ParameterError(
            f'data set: {plan.vehicle} has no camera and no imaging sonar; expected a vehicle '
            'with one, such as bluerov2 with arguments {camera: true}'
        )
    for name in plan.sensors:
        if name not in known:
            raise ParameterError(
                f'data set: sensors has {name!r}; {expected_one_of(name, known)} of {plan.vehicle}'
            )
    chosen = [known[name] for name in plan.sensors] or list(known.values())
    return tuple(_with_labels(sensor) for sensor in chosen)


def _with_labels(sensor: Sensor) -> Sensor:
    if sensor.kind != 'camera':
        return sensor
    return replace(sensor, spec=replace(sensor.spec, segmentation=1.0, depth=1.0))


def _scene_names(environment: Environment) -> list[str]:
    obstacles = () if environment.scene is None else environment.scene.obstacles
    return [*(o.name for o in obstacles), *(b.name for b in environment.free_bodies)]


def setup_of(plan: DatasetPlan) -> Setup:
    """Return the parts that all frames of a plan have in common.

    Raises:
        MarineSimError: a vehicle, environment, sensor, object or name that is not there.
    """
    arguments: dict[str, Any] = dict(plan.arguments)
    vehicle = load_vehicle(plan.vehicle, **arguments)
    own_file = Path(plan.folder) / plan.environment
    environment = run_environment(str(own_file) if own_file.is_file() else plan.environment)
    objects = tuple(
        _object_kind(value, f'data set: objects[{i}]', Path(plan.folder), i)
        for i, value in enumerate(plan.objects)
    )
    names = [*_scene_names(environment), *(kind.name for kind in objects)]
    for name, count in Counter(names).items():
        if count > 1:
            raise ParameterError(
                f'data set: {name!r} names two things; expected names of their own'
            )
    bodies = tuple(
        replace(body_of(b.vehicle, b.name), position=b.position, orientation=b.orientation)
        for b in environment.free_bodies
    )
    default = {kind.name: kind.category for kind in objects}
    category_of = {n: _category(plan.classes, n, default.get(n, n)) for n in names}
    for category in set(category_of.values()) & set(AREAS):
        raise ParameterError(f'data set: class {category!r} is no class of objects; rename it')
    return Setup(
        vehicle,
        replace(environment, bodies=bodies, looks=OwnParts(vehicle)),
        _sensors(plan, vehicle),
        objects,
        category_of,
        _targets(plan, names),
    )


def _targets(plan: DatasetPlan, names: list[str]) -> tuple[str, ...]:
    """Return the names that views look at."""
    patterns = plan.views.targets or ('*',)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ParameterError(
                f'data set: views.targets has {pattern!r}, and nothing has that name; '
                f'expected one of: {", ".join(names) or "objects, as the scene has nothing"}'
            )
    return tuple(n for n in names if any(fnmatchcase(n, pattern) for pattern in patterns))
