# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Description and manifest beside a bag.

The vehicle is the expanded URDF of ``robot_description``, or a shipped one that the manifest
names; the environment is a shipped one. Meshes of a vehicle that is not shipped are copied into
the bag's folder. No other path in a recording is opened: it belongs to another machine, or may
have been written to make this program read a file.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from marine_sim_ros.bags.reading import Bag, bag_path, open_bag
from marine_sim_ros.bags.storage import write_error
from marine_sim_ros.bags.vehicle_record import is_body
from marine_sim_ros.core.errors import MarineSimError, ModelError, ParameterError, RecordingError
from marine_sim_ros.core.files import read_file, read_text_file
from marine_sim_ros.core.state import State
from marine_sim_ros.core.text import file_name
from marine_sim_ros.core.yaml_file import short_text
from marine_sim_ros.environment.changes import parse_changes
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import ENVIRONMENT_FILES, run_environment
from marine_sim_ros.geometry.mesh_files import MAX_BYTES, MESH_SUFFIXES, mesh_path
from marine_sim_ros.model import xml
from marine_sim_ros.model.body_joints import SOLE_VEHICLE
from marine_sim_ros.model.free_bodies import BODIES
from marine_sim_ros.model.library import load_vehicle, parse_xacro_arguments, vehicle_names
from marine_sim_ros.model.urdf import vehicle_from_urdf
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.trajectory import MotionSummary, TrajectoryHash

__all__ = [
    'Manifest',
    'bodies_of',
    'described_environment',
    'described_vehicle',
    'description_with_meshes',
    'manifest_parameters',
    'recorded_environment',
    'recorded_neighbours',
    'recorded_parameters',
    'recorded_vehicle',
    'recorded_voltage',
    'shipped_arguments',
    'vehicle_digest',
    'versions',
    'write_json',
]


# Writer of the manifest beside a recorded bag.


class Manifest:
    """Manifest of a run: versions, parameters, vehicle hash, ticks, trajectory hash, motion."""

    def __init__(self, settings: dict[str, Any], vehicle: Vehicle) -> None:
        """Start with the settings of the run; ``voltage`` is that of the supply."""
        supply = (
            {} if vehicle.thrusters.voltage is None else {'voltage': vehicle.thrusters.voltage}
        )
        self._settings = {**settings, **supply}
        self._vehicle = vehicle
        self._hash = TrajectoryHash()
        self._motion = MotionSummary()

    @property
    def ticks(self) -> int:
        """Number of ticks so far."""
        return self._hash.ticks

    def note(self, **settings: Any) -> None:
        """Replace settings by those with which the run ended."""
        self._settings |= settings

    def add(self, stamp: int, pose: tuple[float, ...], velocity: tuple[float, ...]) -> None:
        """Count a tick: stamp in ns, pose (7), body velocity (6)."""
        self._hash.add(stamp, pose, velocity)
        self._motion.add(pose, velocity)

    def add_ticks(self, stamps: np.ndarray, states: State) -> None:
        """Count ticks: stamps (n,) in ns, states (n, ...)."""
        self._hash.add_ticks(stamps, states)
        self._motion.add_ticks(states)

    def content(self, **entries: Any) -> dict[str, Any]:
        """Return the manifest's entries, and further ones."""
        return {
            'versions': versions(),
            'parameters': self._settings,
            'seed': self._settings.get('seed', 0),
            'vehicle': self._vehicle.name,
            'vehicle_sha256': vehicle_digest(self._vehicle),
            'ticks': self.ticks,
            'trajectory_sha256': self._hash.hexdigest(),
            **({'motion': self._motion.content()} if self.ticks else {}),
            **entries,
        }

    def write(self, path: Path, **entries: Any) -> None:
        """Write the JSON file, with further entries.

        Raises:
            RecordingError: it cannot be written.
        """
        write_json(path, self.content(**entries))


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file.

    Raises:
        RecordingError: it cannot be written.
    """
    try:
        path.write_text(json.dumps(content, indent=2) + '\n', encoding='utf-8')
    except OSError as error:
        raise write_error(path, error) from None


def vehicle_digest(vehicle: Vehicle) -> str:
    """Return the SHA-256 of the URDF and of the SHA-256 of every file beside it, in their order.

    A file that cannot be read counts as empty: the run cannot have used it.
    """
    digest = hashlib.sha256(vehicle.urdf.encode())
    for path in vehicle.files:
        try:
            content = path.read_bytes()
        except (OSError, ValueError):
            content = b''
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions that can change a result."""
    from importlib import metadata  # loads the email parser; only recordings need it

    result = {'python': platform.python_version(), 'machine': platform.machine()}
    for name in ('marine_sim_ros', 'numpy', 'rosbags', 'rclpy'):
        try:
            result[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            result[name] = 'not installed as a distribution'
    return result


# Parameters of a vehicle in the manifest beside a bag.


def recorded_parameters(bag: Path, namespace: str, *, alone: bool) -> dict[str, Any]:
    """Return the options with which a vehicle was run; empty where no manifest has them.

    Args:
        bag: path of the bag, from :func:`marine_sim_ros.bags.reading.bag_path`.
        namespace: namespace of the vehicle, without a slash at its ends.
        alone: whether the bag has no other vehicle. A manifest of one vehicle does not name it
            among several: then only its environment is returned.

    Raises:
        RecordingError: the manifest is no regular file, or too large to be one.
    """
    return manifest_parameters(bag, namespace, alone=alone)[1]


def manifest_parameters(
    bag: Path, namespace: str, *, alone: bool
) -> tuple[Path | None, dict[str, Any]]:
    """Return the folder of the manifest as well; None where no manifest has the options.

    Raises:
        RecordingError: the manifest is no regular file, or too large to be one.
    """
    for folder in (bag, bag.parent, bag.parent.parent):
        if not (folder / 'manifest.json').exists():
            continue
        text = read_text_file(folder / 'manifest.json', RecordingError)
        try:
            content = json.loads(text)
            if 'vehicles' in content:  # of a fleet
                return folder, dict(content['vehicles'][f'/{namespace}']['parameters'])
            parameters = dict(content['parameters'])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        if not alone:
            parameters = {k: v for k, v in parameters.items() if k == 'environment'}
        return folder, parameters
    return None, {}


_ARGUMENT = re.compile(r'[A-Za-z_]\w*:=[\w.+ -]*')
"""Argument of a shipped vehicle: a word or a number, never an expression."""


def described_vehicle(path: str, namespace: str, settings: Mapping[str, Any]) -> Vehicle | None:
    """Return the vehicle of a namespace; None where the recording has no description.

    Args:
        settings: its parameters in the manifest.

    Raises:
        MarineSimError: the description cannot be read.
    """
    problem: MarineSimError | None = None
    text = _urdf(path, namespace)
    if text:
        try:
            return vehicle_from_urdf(
                _confine_files(text, path), voltage=recorded_voltage(settings)
            )
        except MarineSimError as error:  # for example meshes on another machine
            problem = error
    arguments = shipped_arguments(settings)
    if arguments is not None:
        return load_vehicle(settings['vehicle'], voltage=recorded_voltage(settings), **arguments)
    if problem is not None:
        raise problem
    if 'vehicle' in settings:
        raise RecordingError(
            f'{path}: has no robot_description, and its vehicle {str(settings["vehicle"])[:80]!r} '
            'is no shipped one; expected --vehicle URDF: no path that a recording names is read'
        )
    return None


def shipped_arguments(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the xacro arguments of the shipped vehicle of a manifest; None for another one."""
    arguments = settings.get('vehicle_arguments', ())
    if settings.get('vehicle') not in vehicle_names() or not isinstance(arguments, Sequence):
        return None
    if not all(isinstance(text, str) and _ARGUMENT.fullmatch(text) for text in arguments):
        return None
    return parse_xacro_arguments(arguments)


def recorded_voltage(settings: Mapping[str, Any]) -> float | None:
    """Return the supply voltage of the thrusters that a manifest has, V; None: that of the curves.

    Raises:
        RecordingError: it is no voltage.
    """
    value = settings.get('voltage') or None
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:
        raise RecordingError(
            f'the voltage in the manifest is {short_text(value)}; expected a number'
        )
    return float(value)


def described_environment(settings: Mapping[str, Any], override: str = '') -> Environment:
    """Return the environment that a manifest names, with its current; still water without one.

    Args:
        settings: parameters of the manifest.
        override: shipped name or file to use instead of the manifest's.

    Raises:
        MarineSimError: it is not a shipped one, or the override cannot be used.
    """
    name = override or settings.get('environment', '') or ''
    if name and not override and name not in ENVIRONMENT_FILES.names():
        raise RecordingError(
            f'the recording is of the environment {str(name)[:80]!r}, which is no shipped one; '
            'expected --environment FILE: no path that a recording names is read'
        )
    current = settings.get('current', (0.0, 0.0, 0.0))
    is_valid = isinstance(current, Sequence) and all(
        isinstance(v, int | float) and abs(v) < 1e9 for v in current
    )
    if not is_valid or len(current) != 3:
        raise RecordingError('the current in the manifest is no list of three numbers')
    density = settings.get('water_density') or 0.0
    if not isinstance(density, int | float) or isinstance(density, bool):
        raise RecordingError(
            f'the water_density in the manifest is {short_text(density)}; expected a number'
        )
    environment = run_environment(name, current=current, water_density=density)
    changes = settings.get('changes')
    if not isinstance(changes, list):  # a run without
        return environment
    try:
        return environment.with_changes(parse_changes(json.dumps(changes), 'the manifest'))
    except ParameterError as error:
        raise RecordingError(str(error)) from None


def recorded_vehicle(bag: Bag, namespace: str) -> Vehicle | None:
    """Return the vehicle of a namespace of a bag; see :func:`described_vehicle`."""
    return described_vehicle(bag.path, namespace, _settings(bag, namespace))


def recorded_neighbours(bag: Bag, namespace: str, environment: Environment) -> dict[str, Vehicle]:
    """Return the other vehicles of a fleet, and recorded free bodies, by their namespaces.

    Args:
        namespace: namespace of the vehicle.
        environment: environment of the vehicle, which describes the bodies.

    Raises:
        MarineSimError: one of them cannot be read.
    """
    settings, bodies = _settings(bag, namespace), bodies_of(environment)
    result = {name: body for name, body in bodies.items() if name in bag.vehicles}
    for name in bag.vehicles if settings.get('neighbours') else ():
        if name in (namespace, *bodies):
            continue
        if (vehicle := recorded_vehicle(bag, name)) is not None:
            result[name] = vehicle
    return result


def bodies_of(environment: Environment) -> dict[str, Vehicle]:
    """Return the free bodies of an environment by their namespaces in a bag."""
    return {f'{BODIES}{b.name}'.strip('/'): b.vehicle for b in environment.free_bodies}


def recorded_environment(bag: Bag, namespace: str) -> Environment:
    """Return the environment of a vehicle, for its sensors, without current.

    See :func:`described_environment`.
    """
    settings = _settings(bag, namespace)
    kept = {key: settings.get(key, '') for key in ('environment', 'changes')}
    environment = described_environment(kept)
    owners = {SOLE_VEHICLE: namespace}
    if others := settings.get('neighbours'):
        owners = {f'/{n.strip("/")}': n.strip('/') for n in sorted([namespace, *map(str, others)])}
    for owner, name in owners.items():
        if (vehicle := recorded_vehicle(bag, name)) is not None:
            environment = environment.with_jaws(vehicle, owner)
    return environment


_THIS_PACKAGE = 'package://marine_sim_ros/'


def description_with_meshes(vehicle: Vehicle, bag: Path) -> str:
    """Return the URDF of a vehicle for a bag, with its meshes copied into the bag's folder.

    References to meshes of this package, and to missing files, are kept. Only files of mesh
    formats are copied, because an untrusted description may name, or link to, any file.

    Raises:
        RecordingError: a copy cannot be written.
    """
    root = xml.parse(vehicle.urdf, vehicle.name)
    elements = [(e, e.get('filename', '')) for e in root.iter('mesh')]
    foreign = {uri for _, uri in elements if not uri.startswith(_THIS_PACKAGE)}
    copies = {uri: _copy_mesh(uri, vehicle.folder, bag) for uri in foreign}
    for element, uri in elements:
        if name := copies.get(uri):
            element.set('filename', name)
    return etree.tostring(root, encoding='unicode') if any(copies.values()) else vehicle.urdf


def _copy_mesh(uri: str, folder: Path, bag: Path) -> str:
    """Copy a mesh into a bag's folder; return its name there, empty where it cannot be read.

    Raises:
        RecordingError: the copy cannot be written.
    """
    try:
        file = mesh_path(uri, folder).resolve()
        if file.suffix.lower() not in MESH_SUFFIXES:
            return ''
        content = read_file(file, MAX_BYTES, ModelError)
    except ModelError:
        return ''
    digest = hashlib.sha256(content).hexdigest()[:12]
    name = f'meshes/{file_name(file.stem)}-{digest}{file.suffix.lower()}'
    try:
        (bag / 'meshes').mkdir(exist_ok=True)
        (bag / name).write_bytes(content)
    except OSError as error:
        raise write_error(bag / name, error) from None
    return name


def _confine_files(text: str, path: str) -> str:
    """Return a URDF without files but those of packages and of the bag's folder.

    Raises:
        ModelError: its body needs another one.
    """
    root = xml.parse(text, 'robot_description')
    bag = bag_path(path).resolve()
    folder = bag if bag.is_dir() else bag.parent
    changed = False
    for element in list(root.iter('mesh', 'mass_from_parts')):
        attribute = 'filename' if element.tag == 'mesh' else 'file'
        uri = element.get(attribute, '')
        if uri.startswith('package://'):
            continue
        changed = True
        file = mesh_path(uri, folder).resolve()
        if element.tag == 'mesh' and file.is_relative_to(folder):
            element.set(attribute, file.as_uri())
        elif not _remove_visual(element):
            raise ModelError(
                f'robot_description:{xml.line_of(element)}: <{element.tag}> {uri!r} is outside '
                'the recording and of no package; expected --vehicle URDF'
            )
    return etree.tostring(root, encoding='unicode') if changed else text


def _remove_visual(element: xml.Element) -> bool:
    """Remove the <visual> that an element is in; return whether there is one."""
    for above in element.iterancestors('visual'):
        parent = above.getparent()
        if parent is not None:
            parent.remove(above)
            return True
    return False


def _urdf(path: str, namespace: str) -> str:
    """Return the first text of ``robot_description``; empty where there is none.

    Without a namespace it is that of the only vehicle.
    """
    topic = f'{namespace}/robot_description'.lstrip('/')
    with open_bag(bag_path(path), path) as reader:
        texts = [c for c in reader.connections if c.msgtype == 'std_msgs/msg/String']
        descriptions = [c for c in texts if c.topic.lstrip('/') == topic]
        if not descriptions and not namespace:
            descriptions = [c for c in texts if c.topic.endswith('/robot_description')]
        if len({c.topic for c in descriptions}) == 1:
            for connection, _, data in reader.messages(descriptions):
                return str(reader.deserialize(data, connection.msgtype).data)
    return ''


def _settings(bag: Bag, namespace: str) -> dict[str, Any]:
    vehicles = [name for name in bag.vehicles if not is_body(name)]
    return recorded_parameters(bag_path(bag.path), namespace, alone=len(vehicles) == 1)
