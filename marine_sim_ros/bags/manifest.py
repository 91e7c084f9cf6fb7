# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Manifest beside a bag: versions, parameters, hashes; written and read."""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.bags.storage import write_error
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.files import read_text_file
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.trajectory import TrajectoryHash

__all__ = ['Manifest', 'recorded_parameters', 'vehicle_digest', 'versions', 'write_json']


# Writer of the manifest beside a recorded bag.


class Manifest:
    """Manifest of a run: versions, parameters, vehicle hash, ticks, trajectory hash."""

    def __init__(self, settings: dict[str, Any], vehicle: Vehicle) -> None:
        """Start with the settings of the run; ``voltage`` is that of the supply."""
        supply = (
            {} if vehicle.thrusters.voltage is None else {'voltage': vehicle.thrusters.voltage}
        )
        self._settings = {**settings, **supply}
        self._vehicle = vehicle
        self._hash = TrajectoryHash()

    @property
    def ticks(self) -> int:
        """Ticks so far."""
        return self._hash.ticks

    def add(self, stamp: int, pose: tuple[float, ...], velocity: tuple[float, ...]) -> None:
        """Count a tick: stamp in ns, pose (7), body velocity (6)."""
        self._hash.add(stamp, pose, velocity)

    def add_ticks(self, stamps: np.ndarray, states: State) -> None:
        """Count ticks: stamps (n,) in ns, states (n, ...)."""
        self._hash.add_ticks(stamps, states)

    def content(self, **more: Any) -> dict[str, Any]:
        """Return the manifest's entries with ``more`` added."""
        return {
            'versions': versions(),
            'parameters': self._settings,
            'seed': self._settings.get('seed', 0),
            'vehicle': self._vehicle.name,
            'vehicle_sha256': vehicle_digest(self._vehicle),
            'ticks': self.ticks,
            'trajectory_sha256': self._hash.hexdigest(),
            **more,
        }

    def write(self, path: Path, **more: Any) -> None:
        """Write the JSON file; ``more`` joins it.

        Raises:
            RecordingError: it cannot be written.
        """
        write_json(path, self.content(**more))


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

    A file that cannot be read counts as an empty one: nothing of the run can have come from it.
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
    from importlib import metadata  # with its parser of mails, for who records

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
        alone: whether the bag has no other vehicle. A manifest of one vehicle does not tell which
            of several it is: then only its environment counts.

    Raises:
        RecordingError: the manifest is no regular file, or too large to be one.
    """
    for folder in (bag, bag.parent, bag.parent.parent):
        try:
            content = json.loads(read_text_file(folder / 'manifest.json', RecordingError))
            if 'vehicles' in content:  # of a fleet
                return dict(content['vehicles'][f'/{namespace}']['parameters'])
            found = dict(content['parameters'])
        except RecordingError as error:
            if (folder / 'manifest.json').exists():
                raise error from None
            continue
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        return found if alone else {k: v for k, v in found.items() if k == 'environment'}
    return {}
