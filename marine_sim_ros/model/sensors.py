# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the sensors of a vehicle: each kind reads the elements of its name."""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.model.kinematics import base_name
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.model.xml import Reader

__all__ = ['Mounting', 'read_sensors']


class Mounting(NamedTuple):
    """What a sensor's description refers to.

    Attributes:
        frames: links that are fixed to the body, by name.
        fluid_density: water density for which the vehicle is trimmed, kg/m³.
    """

    frames: dict[str, Frame]
    fluid_density: float

    def frame(self, reader: Reader) -> Frame:
        """Return the link that an element's attribute ``link`` names; default: the body's.

        Raises:
            ModelError: a link that is unknown.
        """
        link = reader.attribute('link', base_name(self.frames))
        if link not in self.frames:
            known = ', '.join(sorted(self.frames))
            raise reader.error(f'link {link!r} is unknown; expected one of: {known}')
        return self.frames[link]


def read_sensors(root: Reader, mounting: Mounting) -> tuple[Sensor, ...]:
    """Return the sensors of a <robot>, in the order of its elements.

    A sensor is called by its attribute ``name``; without one by its kind.

    Raises:
        ModelError: an element that cannot be used, or two sensors of one name.
    """
    kinds = {kind.element: kind for kind in SENSORS.values()}
    result: dict[str, Sensor] = {}
    for element in root.element:
        if element.tag not in kinds:
            continue
        reader, kind = Reader(element, root.source), kinds[element.tag]
        name = reader.attribute('name', kind.name)
        if not name.isidentifier():
            raise reader.error(f'name is {name!r}; expected letters, digits and underscores')
        if name in result:
            raise reader.error(
                f'a second sensor is called {name!r}; expected names of their own (attribute name)'
            )
        result[name] = Sensor(kind.name, name, kind.read(reader, mounting))
    return tuple(result.values())
