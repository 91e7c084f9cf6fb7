# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which vehicles of a fleet tethers join: at whom one ends, and whose end at a vehicle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.model import xml
from marine_sim_ros.model.library import vehicle_path, xacro_arguments
from marine_sim_ros.model.tether.tether import Tether
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['check_anchor', 'towed_by']


def check_anchor(vehicle: Vehicle, namespace: str, others: Mapping[str, Any]) -> None:
    """Check that a tether that ends at a vehicle ends at another one of the run.

    Args:
        vehicle: the vehicle with the tether, if it has one.
        namespace: its namespace, such as ``/scout_1``.
        others: the other vehicles of the run by their namespaces.

    Raises:
        ParameterError: it ends at itself, or at none of the run.
    """
    tether: Tether | None = vehicle.extensions.get('tether')
    if tether is None or not tether.vehicle:
        return
    names = ', '.join(other.strip('/') for other in others) or '(a fleet with it, --fleet)'
    if tether.vehicle == namespace.strip('/'):
        raise ParameterError(
            f'tether of {tether.vehicle}: its anchor is the vehicle itself; expected one of: '
            f'{names}'
        )
    if '/' + tether.vehicle not in others:
        raise ParameterError(
            f'tether of {namespace.strip("/")}: its anchor is vehicle {tether.vehicle!r}, which '
            f'is not in this run; expected one of: {names}'
        )


def towed_by(namespace: str, others: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the namespaces of the vehicles whose tethers end at one, sorted.

    Args:
        namespace: its namespace, such as ``/scout_1``.
        others: ``vehicle`` and ``vehicle_arguments`` of the others by their namespaces.

    Raises:
        MarineSimError: a description that cannot be read.
    """
    wanted = namespace.strip('/')
    ends = {
        name: _end(str(told['vehicle']), tuple(told['vehicle_arguments']))
        for name, told in others.items()
    }
    return tuple(sorted(name for name, end in ends.items() if end == wanted))


@lru_cache(maxsize=128)
def _end(vehicle: str, arguments: tuple[str, ...]) -> str:
    """Return the vehicle at which the tether of one ends, or nothing: without loading it."""
    from marine_sim_ros.model.xacro_expansion import expand_description

    given = {k: str(v) for k, v in xacro_arguments(arguments).items()}
    description = expand_description(vehicle_path(vehicle), given)
    element = xml.parse(description.text, description.source).find('tether')
    return '' if element is None else element.get('vehicle', '').strip('/')
