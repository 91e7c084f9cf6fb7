# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicle and environment of a recording: from the bag, or from the manifest beside it."""

from __future__ import annotations

from typing import Any

from marine_sim_ros.analysis.bags.manifest import recorded_parameters
from marine_sim_ros.analysis.bags.reading import Bag, bag_path, opened
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model.library import load_vehicle, xacro_arguments
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['recorded_environment', 'recorded_neighbours', 'recorded_vehicle']


def recorded_vehicle(bag: Bag, namespace: str) -> Vehicle | None:
    """Return the vehicle of a namespace; None where the recording does not say which it is.

    It is the one of ``robot_description`` in the bag, else that of the manifest.

    Raises:
        MarineSimError: the recording says which it is, and that cannot be read.
    """
    problem: MarineSimError | None = None
    text = _urdf(bag, namespace)
    if text:
        try:
            return load_vehicle(text)
        except MarineSimError as error:  # its meshes are named by paths of another machine
            problem = error
    settings = _settings(bag, namespace)
    if 'vehicle' in settings:
        given = xacro_arguments(settings.get('vehicle_arguments', ()))
        return load_vehicle(settings['vehicle'], **given)
    if problem is not None:
        raise problem
    return None


def recorded_neighbours(bag: Bag, namespace: str) -> dict[str, Vehicle]:
    """Return the other vehicles of a fleet by their namespaces; none of a vehicle of its own.

    Raises:
        MarineSimError: one of them cannot be read.
    """
    settings, result = _settings(bag, namespace), {}
    for name in bag.vehicles if settings.get('neighbours') else ():
        if name != namespace and (vehicle := recorded_vehicle(bag, name)) is not None:
            result[name] = vehicle
    return result


def recorded_environment(bag: Bag, namespace: str) -> Environment:
    """Return the environment of a vehicle that the manifest names; still water without one.

    Raises:
        ParameterError: it cannot be found, read or used.
    """
    return run_environment(str(_settings(bag, namespace).get('environment', '')))


def _urdf(bag: Bag, namespace: str) -> str:
    """Return the first text of ``robot_description``; empty where there is none."""
    topic = f'{namespace}/robot_description'.lstrip('/')
    if topic not in {name.lstrip('/') for name, _, _ in bag.topics}:
        return ''
    with opened(bag_path(bag.path), bag.path) as reader:
        wanted = [c for c in reader.connections if c.topic.lstrip('/') == topic]
        for connection, _, data in reader.messages(wanted):
            if connection.msgtype == 'std_msgs/msg/String':
                return str(reader.deserialize(data, connection.msgtype).data)
    return ''


def _settings(bag: Bag, namespace: str) -> dict[str, Any]:
    return recorded_parameters(bag_path(bag.path), namespace, alone=len(bag.vehicles) == 1)
