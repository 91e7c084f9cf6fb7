# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What can be extended: forces, sensors, controllers and vehicles, from here and other packages.

A list names its own entries as ``module:attribute`` and imports them when it is first used, so
that a room below can hold a list of what stands above it. Entries of other packages follow, by
the entry points ``marine_sim_ros.forces``, ``.sensors``, ``.controllers`` and ``.vehicles``.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from glob import iglob
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ['CONTROLLERS', 'FORCES', 'SENSORS', 'VEHICLES', 'Registry']


@cache
def _anybody_extends() -> bool:
    """Return whether a package on ``sys.path`` has an entry point of ours, which few have.

    To import ``importlib.metadata`` and to read all entry points takes six times as long.
    """
    for folder in sys.path:
        for name in iglob('*-info/entry_points.txt', root_dir=folder or '.'):
            with suppress(OSError):
                if b'[marine_sim_ros.' in Path(folder, name).read_bytes():
                    return True
    return False


@cache
def _entry_points() -> Any:
    """Return the entry points of all packages: to read them takes longer than to load ours."""
    from importlib import metadata

    return metadata.entry_points()


class Registry(Mapping[str, Any]):
    """Entries by name, in order: those of this package first."""

    def __init__(self, group: str, *built_in: str) -> None:
        """Name the entry-point group (without its prefix) and this package's own entries."""
        self.group = f'marine_sim_ros.{group}'
        self._built_in = built_in

    @cached_property
    def _entries(self) -> dict[str, Any]:
        found = {}
        for text in self._built_in:
            module, _, attribute = text.partition(':')
            entry = getattr(import_module(module), attribute)
            found[entry.name] = entry
        points = _entry_points().select(group=self.group) if _anybody_extends() else ()
        for point in sorted(points, key=lambda p: p.name):
            if point.name in found:
                self._leave_out(point, f'the name {point.name!r} is taken')
                continue
            try:
                found[point.name] = point.load()
            except Exception as error:  # a broken package must not take the others with it
                self._leave_out(point, f'{type(error).__name__}: {error}')
        return found

    @cached_property
    def entries(self) -> tuple[Any, ...]:
        """All entries, in order: quicker than to walk a mapping in every tick."""
        return tuple(self._entries.values())

    def _leave_out(self, point: Any, reason: str) -> None:
        package = '' if point.dist is None else f' of {point.dist.name}'
        logging.getLogger(__name__).warning(
            '%s: entry %r%s is left out: %s', self.group, point.name, package, reason
        )

    def __getitem__(self, name: str) -> Any:
        """Return the entry of a name."""
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in order."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)


FORCES = Registry(
    'forces',
    'marine_sim_ros.physics.thrusters:THRUSTERS',
    'marine_sim_ros.physics.fins:FINS',
    'marine_sim_ros.physics.buoyancy:BUOYANCY',
    'marine_sim_ros.physics.drag:DRAG',
    'marine_sim_ros.physics.radiation:RADIATION',
    'marine_sim_ros.physics.arm.manipulator:MANIPULATOR',
    'marine_sim_ros.physics.boundary:BOUNDARY',
    'marine_sim_ros.physics.tether.tether:TETHER',
    'marine_sim_ros.physics.tether.towing:TOWING',
    'marine_sim_ros.physics.contact.contact:CONTACT',
)
"""Every :class:`marine_sim_ros.physics.ForceModel`, in the order in which wrenches are summed."""

SENSORS = Registry(
    'sensors',
    'marine_sim_ros.sensors.barometer:BAROMETER',
    'marine_sim_ros.sensors.imu:IMU',
    'marine_sim_ros.sensors.magnetometer:MAGNETOMETER',
    'marine_sim_ros.sensors.gps:GPS',
    'marine_sim_ros.sensors.usbl:USBL',
    'marine_sim_ros.sensors.battery:BATTERY',
    'marine_sim_ros.sensors.leak:LEAK',
    'marine_sim_ros.sensors.thermometer:THERMOMETER',
    'marine_sim_ros.sensors.dvl:DVL',
    'marine_sim_ros.sensors.altimeter:ALTIMETER',
    'marine_sim_ros.sensors.sonar.scanning_sonar:SCANNING_SONAR',
    'marine_sim_ros.sensors.sonar.imaging_sonar:IMAGING_SONAR',
    'marine_sim_ros.sensors.camera.camera:CAMERA',
)
"""Every :class:`marine_sim_ros.sensors.SensorModel`."""

CONTROLLERS = Registry(
    'controllers',
    'marine_sim_ros.control.modern:MODERN',
    'marine_sim_ros.control.thesis:THESIS',
    'marine_sim_ros.autopilot.models:ARDUSUB',
)
"""Every controller."""

VEHICLES = Registry('vehicles')
"""Folders of URDF files that other packages bring: paths, or packages that contain the files."""
