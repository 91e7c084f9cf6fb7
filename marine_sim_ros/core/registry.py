# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Registries of forces, actuators, sensors, controllers, protocols and vehicles, of all packages.

A registry names its entries as ``name='module:attribute'`` and imports each at its first use, so
that a lower room can list entries of higher rooms. Entries of other packages follow, by the entry
points ``marine_sim_ros.forces``, ``.actuators``, ``.sensors``, ``.controllers``,
``.protocols`` and ``.vehicles``.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from glob import iglob
from importlib import import_module
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import MarineSimError

__all__ = [
    'ACTUATORS',
    'CONTROLLERS',
    'FORCES',
    'PROTOCOLS',
    'SENSORS',
    'MISSION_TASKS',
    'VEHICLES',
    'import_attribute',
]


@cache
def _has_entry_points() -> bool:
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

    try:
        return metadata.entry_points()
    except (OSError, ValueError) as error:  # a package whose list cannot be read
        raise MarineSimError(
            f'the entry points of the installed packages cannot be read: {error}; expected '
            '`pip check` to name a broken package'
        ) from None


def import_attribute(name: str) -> Any:
    """Return the object named by ``module:attribute``."""
    module, _, attribute = name.partition(':')
    return getattr(import_module(module), attribute)


def _package(point: Any) -> str:
    return '' if point.dist is None else f' of {point.dist.name}'


class Extension(str):
    """Place of an entry that means nothing for a vehicle without the extension of its name."""

    __slots__ = ()


class Registry(Mapping[str, Any]):
    """Entries by name, in order: those of this package first."""

    def __init__(
        self,
        group: str,
        kinds: tuple[str, ...],
        *,
        guard: str = '',
        more: Callable[[Iterable[str] | None], Mapping[str, Any]] = lambda extensions: {},
        **built_in: str,
    ) -> None:
        """Name the entry-point group.

        Args:
            group: its name without its prefix.
            kinds: classes of entries, as ``module:class``.
            guard: function of an entry of another package and of its name, as
                ``module:function``, that returns the entry to use, or raises MarineSimError
                for one that cannot be used; empty: the entry itself.
            more: function of :meth:`of_extensions`'s extensions, or of None for all, that returns
                the entries that another list has, by name.
            **built_in: this package's own entries.
        """
        self.group, self._kinds = f'marine_sim_ros.{group}', kinds
        self._built_in, self._guard, self._more = built_in, guard, more
        self._imported: dict[str, Any] = {}
        self._by_extensions: dict[frozenset[str], tuple[Any, ...]] = {}

    @cached_property
    def foreign_entries(self) -> dict[str, Any]:
        """Entries of another list, and of other packages."""
        others = {n: e for n, e in self._more(None).items() if n not in self._built_in}
        return others | self._installed_entries

    @cached_property
    def _installed_entries(self) -> dict[str, Any]:
        """Entries of other packages."""
        entries: dict[str, Any] = {}
        points = _entry_points().select(group=self.group) if _has_entry_points() else ()
        taken = {*self._built_in, *self._more(None)} if points else set()
        for point in sorted(points, key=lambda p: p.name):
            if point.name in taken or point.name in entries:
                self._leave_out(point, f'the name {point.name!r} is taken')
                continue
            try:
                entry = point.load()
            except KeyboardInterrupt:  # of the package, or of the user, who shall not lose a force
                raise MarineSimError(
                    f'{self.group}: entry {point.name!r}{_package(point)}: its import was '
                    'interrupted; start again, or uninstall the package'
                ) from None
            except BaseException as error:  # a broken package must not take the others with it
                self._leave_out(point, f'{type(error).__name__}: {error}')
            else:
                try:
                    entries[point.name] = self._load_guarded(entry, point)
                except MarineSimError as error:
                    self._leave_out(point, str(error))
        return entries

    def _load_guarded(self, entry: Any, point: Any) -> Any:
        kinds = tuple(map(import_attribute, self._kinds))
        if not isinstance(entry, kinds):
            expected = ' or '.join(kind.__name__ for kind in kinds)
            raise MarineSimError(f'is of type {type(entry).__name__}; expected {expected}')
        owner = f'{self.group}: entry {point.name!r}{_package(point)}'
        return import_attribute(self._guard)(entry, owner) if self._guard else entry

    @cached_property
    def entries(self) -> tuple[Any, ...]:
        """All entries in order, as a tuple: faster to iterate in every tick than a mapping."""
        return tuple(self.values())

    def of_extensions(self, extensions: Iterable[str]) -> tuple[Any, ...]:
        """Return the entries that may mean something for a vehicle with some extensions, in order.

        The others are not imported: to import all takes a tenth of a start.
        """
        given = frozenset(extensions)
        if given not in self._by_extensions:
            own = (
                self[name]
                for name, place in self._built_in.items()
                if name in given or not isinstance(place, Extension)
            )
            others = (e for n, e in self._more(given).items() if n not in self._built_in)
            self._by_extensions[given] = *own, *others, *self._installed_entries.values()
        return self._by_extensions[given]

    def _leave_out(self, point: Any, reason: str) -> None:
        logging.getLogger(__name__).warning(
            '%s: entry %r%s is left out: %s', self.group, point.name, _package(point), reason
        )

    def __getitem__(self, name: str) -> Any:
        """Return the entry of a name."""
        if name not in self._built_in:
            return self.foreign_entries[name]
        if name not in self._imported:
            self._imported[name] = import_attribute(self._built_in[name])
        return self._imported[name]

    def with_element(self, tag: str) -> Any:
        """Return the entry that an element below <robot> configures, or None.

        Of this package's entries, which are called as their elements, no other is imported: to
        import all takes a fifth of a start.
        """
        entries = [self[tag]] if tag in self._built_in else self.foreign_entries.values()
        return next((entry for entry in entries if entry.element == tag), None)

    def __contains__(self, name: object) -> bool:
        """Return whether there is an entry of a name, without importing one of this package."""
        return name in self._built_in or name in self.foreign_entries

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in order."""
        return iter((*self._built_in, *self.foreign_entries))

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._built_in) + len(self.foreign_entries)


ACTUATORS = Registry(
    'actuators',
    ('marine_sim_ros.physics.actuator:Actuator',),
    guard='marine_sim_ros.physics.actuator:guarded_actuator',
    joints='marine_sim_ros.physics.arm.manipulator:JOINTS',
    gripper='marine_sim_ros.physics.arm.manipulator:GRIPPER_ACTUATOR',
    joint_efforts='marine_sim_ros.physics.arm.manipulator:JOINT_EFFORTS',
    joint_rates='marine_sim_ros.physics.arm.manipulator:JOINT_RATES',
    moving_masses=Extension('marine_sim_ros.physics.moving_masses:MOVING_MASSES'),
    azimuths='marine_sim_ros.physics.thrusters:AZIMUTHS',
    fins=Extension('marine_sim_ros.physics.fins:FIN_ACTUATOR'),
    reel='marine_sim_ros.physics.tether:REEL_ACTUATOR',
    buoyancy_engines=Extension('marine_sim_ros.physics.buoyancy_engines:BUOYANCY_ENGINES'),
    drop_weights=Extension('marine_sim_ros.physics.drop_weights:DROP_WEIGHTS'),
)
"""Every :class:`marine_sim_ros.physics.Actuator`, beside thrusters."""


def _actuator_forces(extensions: Iterable[str] | None) -> dict[str, Any]:
    """Return the forces that are defined with actuators."""
    actuators = ACTUATORS.entries if extensions is None else ACTUATORS.of_extensions(extensions)
    return {a.force.name: a.force for a in actuators if a.force is not None}


FORCES = Registry(
    'forces',
    ('marine_sim_ros.physics.force:ForceModel',),
    guard='marine_sim_ros.physics.force:guarded_force',
    more=_actuator_forces,
    thrusters='marine_sim_ros.physics.thrusters:THRUSTERS',
    fins=Extension('marine_sim_ros.physics.fins:FINS'),
    buoyancy='marine_sim_ros.physics.buoyancy:BUOYANCY',
    drag='marine_sim_ros.physics.drag:DRAG',
    radiation=Extension('marine_sim_ros.physics.radiation:RADIATION'),
    manipulator='marine_sim_ros.physics.arm.manipulator:MANIPULATOR',
    wind='marine_sim_ros.physics.wind:WIND',
    swimming=Extension('marine_sim_ros.physics.swimming:SWIMMING'),
    boundary='marine_sim_ros.physics.boundary:BOUNDARY',
    tether=Extension('marine_sim_ros.physics.tether:TETHER'),
    towing=Extension('marine_sim_ros.physics.towing:TOWING'),
    contact='marine_sim_ros.physics.contact.contact:CONTACT',
)
"""Every :class:`marine_sim_ros.physics.ForceModel`, in the order in which wrenches are summed."""

SENSORS = Registry(
    'sensors',
    ('marine_sim_ros.sensors.sensor_model:SensorModel',),
    barometer='marine_sim_ros.sensors.barometer:BAROMETER',
    imu='marine_sim_ros.sensors.imu:IMU',
    magnetometer='marine_sim_ros.sensors.magnetometer:MAGNETOMETER',
    gps='marine_sim_ros.sensors.gps:GPS',
    ais='marine_sim_ros.sensors.ais:AIS',
    usbl='marine_sim_ros.sensors.usbl:USBL',
    pinger='marine_sim_ros.sensors.pinger:PINGER',
    hydrophone='marine_sim_ros.sensors.hydrophone:HYDROPHONE',
    lbl='marine_sim_ros.sensors.lbl:LBL',
    modem='marine_sim_ros.sensors.modem:MODEM',
    optical_modem='marine_sim_ros.sensors.optical_modem:OPTICAL_MODEM',
    ins='marine_sim_ros.sensors.ins:INS',
    battery='marine_sim_ros.sensors.battery:BATTERY',
    leak='marine_sim_ros.sensors.leak:LEAK',
    thermometer='marine_sim_ros.sensors.thermometer:THERMOMETER',
    adcp='marine_sim_ros.sensors.adcp:ADCP',
    anemometer='marine_sim_ros.sensors.anemometer:ANEMOMETER',
    lidar='marine_sim_ros.sensors.lidar:LIDAR',
    ctd='marine_sim_ros.sensors.water_quality:CTD',
    optode='marine_sim_ros.sensors.water_quality:OPTODE',
    fluorometer='marine_sim_ros.sensors.water_quality:FLUOROMETER',
    transmissometer='marine_sim_ros.sensors.water_quality:TRANSMISSOMETER',
    dvl='marine_sim_ros.sensors.dvl:DVL_MODEL',
    altimeter='marine_sim_ros.sensors.altimeter:ALTIMETER',
    echo_sounder='marine_sim_ros.sensors.echo_sounder:ECHO_SOUNDER',
    profiler='marine_sim_ros.sensors.echo_sounder:PROFILER',
    scanning_sonar='marine_sim_ros.sensors.scanning_sonar:SCANNING_SONAR',
    imaging_sonar='marine_sim_ros.sensors.imaging_sonar:IMAGING_SONAR',
    multibeam='marine_sim_ros.sensors.multibeam:MULTIBEAM',
    side_scan='marine_sim_ros.sensors.side_scan:SIDE_SCAN',
    sonar_3d='marine_sim_ros.sensors.sonar_3d:SONAR_3D',
    camera='marine_sim_ros.sensors.camera.camera:CAMERA',
)
"""Every :class:`marine_sim_ros.sensors.SensorModel`."""

CONTROLLERS = Registry(
    'controllers',
    ('marine_sim_ros.control.controller_model:ControllerModel',),
    modern='marine_sim_ros.control.cascade:CASCADE',
    thesis='marine_sim_ros.control.windowed_pid:WINDOWED_PID',
    glide='marine_sim_ros.control.glide:GLIDE',
    policy='marine_sim_ros.control.policy:POLICY',
    ardusub='marine_sim_ros.autopilot.conventions:ARDUSUB',
    px4='marine_sim_ros.autopilot.px4_firmware:PX4',
    ros2_control='marine_sim_ros.control.ros2_control:ROS2_CONTROL',
)
"""Every controller."""

PROTOCOLS = Registry(
    'protocols',
    ('marine_sim_ros.instruments.instrument:WireProtocol',),
    water_linked='marine_sim_ros.instruments.water_linked:WATER_LINKED',
    water_linked_modem='marine_sim_ros.instruments.water_linked_modem:WATER_LINKED_MODEM',
    ping1d='marine_sim_ros.instruments.ping:PING1D',
    ping360='marine_sim_ros.instruments.ping360:PING360',
    nmea='marine_sim_ros.instruments.nmea:NMEA',
    ubx='marine_sim_ros.instruments.ubx:UBX',
    seatrac='marine_sim_ros.instruments.seatrac:SEATRAC',
    unet='marine_sim_ros.instruments.unet:UNET',
    rip1='marine_sim_ros.instruments.range_images:RIP1',
    rip2='marine_sim_ros.instruments.range_images:RIP2',
)
"""Every :class:`marine_sim_ros.instruments.instrument.WireProtocol`."""

_RETURN: dict[str, Any] = {'return': 'marine_sim_ros.sim.mission_tasks:RETURN_TASK'}  # a keyword

MISSION_TASKS = Registry(
    'tasks',
    ('marine_sim_ros.sim.mission_tasks:TaskKind',),
    gate='marine_sim_ros.sim.mission_tasks:GATE_TASK',
    hold='marine_sim_ros.sim.mission_tasks:HOLD_TASK',
    follow='marine_sim_ros.sim.mission_tasks:FOLLOW_TASK',
    inspect='marine_sim_ros.sim.mission_tasks:INSPECT_TASK',
    dock='marine_sim_ros.sim.mission_tasks:DOCK_TASK',
    **_RETURN,
    turn='marine_sim_ros.sim.mission_interventions:TURN_TASK',
    connect='marine_sim_ros.sim.mission_interventions:CONNECT_TASK',
    deliver='marine_sim_ros.sim.mission_interventions:DELIVER_TASK',
    report='marine_sim_ros.sim.mission_interventions:REPORT_TASK',
)
"""Every :class:`marine_sim_ros.sim.mission_tasks.TaskKind` of missions."""

WATER_FUNCTIONS = Registry(
    'water_functions',
    ('marine_sim_ros.environment.internal_waves:WaterFunction',),
    internal_waves='marine_sim_ros.environment.internal_waves:INTERNAL_WAVES',
)
"""Every :class:`marine_sim_ros.environment.internal_waves.WaterFunction`."""

VEHICLES = Registry(
    'vehicles',
    ('builtins:str', 'pathlib:Path', 'types:ModuleType'),
    guard='marine_sim_ros.model.library:vehicle_folder',
)
"""Folders of URDF files that other packages bring: paths, or packages that contain the files."""
