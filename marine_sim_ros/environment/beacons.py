# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Acoustic beacons that are fixed in the scene: pingers, and transponders that answer."""

from __future__ import annotations

from marine_sim_ros.core.schema import REQUIRED, declaration, number, text
from marine_sim_ros.core.yaml_file import YamlReader

__all__ = ['Beacon', 'read_beacons']


@declaration(frozen=True)
class Beacon:
    """A beacon of an environment."""

    name: str = text('name of its own', REQUIRED)
    position: tuple[float, ...] = number(REQUIRED, -1e5, 1e5, 'm', 'place in map', size=3)
    frequency: float = number(30.0, 0.1, 1000.0, 'kHz', 'frequency of its pings or answers')
    source_level: float = number(170.0, 50.0, 260.0, 'dB', 're 1 µPa at 1 m')
    period: float = number(
        0.0, 0.0, 3600.0, 's', 'time from ping to ping; 0: a transponder, which answers only'
    )
    start: float = number(0.0, 0.0, 3600.0, 's', 'time of the first ping')
    turnaround: float = number(
        0.1, 0.0, 60.0, 's', 'time from a request to the answer of a transponder'
    )


def read_beacons(reader: YamlReader) -> tuple[Beacon, ...]:
    """Return the beacons of an environment's list.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    result: list[Beacon] = []
    for item in reader.items():
        beacon = item.read(Beacon)
        if not beacon.name or beacon.name in {other.name for other in result}:
            raise item.error(f': name is {beacon.name!r}; expected a name of its own')
        result.append(beacon)
    return tuple(result)
