# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Readers of plugins by file name, shared by SDF and URDF."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from marine_sim_ros.importers import (
    buoyancy,
    fin_plugins,
    foil_plugins,
    gazebo_plugins,
    other_plugins,
    sensors,
    surface_plugins,
    uuv_plugins,
)
from marine_sim_ros.importers.builder import Plugin, VehicleBuilder, origin_of

__all__ = ['apply_plugins']

_Read = Callable[[Plugin, VehicleBuilder], None]

_NOTED = {
    r'usv_(gazebo_)?wind|USVWind': 'pushes in the wind, by coefficients that are not read',
    r'freefloating_gazebo_fluid': 'its waves and current are not read; buoyancy and damping are '
    'those of the links',
    r'usv_gazebo_wave|wavefield|WaveVisual': 'draws or carries waves; ours are of --environment',
    r'thruster_manager': 'shares a wrench among the thrusters, which are taken by themselves',
}
"""Pattern of a plugin that is not read, and what it does."""


def _note_known(why: str, plugin: Plugin, builder: VehicleBuilder) -> None:
    builder.drop_plugin(plugin, why)


def _note_controller(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Note a controller of joints, which is named when it is known what became of them."""
    reader = plugin.reader
    names = [
        builder.scoped_name(reader, name, builder.joints)
        for element in reader.element.iter('joint_name', 'jointName')
        for name in [(element.text or '').strip()]
    ]
    builder.note_controller(f'{origin_of(reader)} {plugin.label}', names)


READERS: tuple[tuple[str, _Read], ...] = (
    (r'BuoyancyEngine|buoyancy-engine', buoyancy.add_buoyancy_engine),
    (r'systems::Buoyancy\b|(gz|ignition)-\w+-buoyancy-system', gazebo_plugins.set_gazebo_water),
    (r'ArduPilotPlugin', gazebo_plugins.note_ardupilot_channels),
    (r'lib[Bb]uoyancy\w*\.so', buoyancy.add_classic_buoyancy),
    (r'(uuv_|lib)underwater_object', uuv_plugins.add_underwater_object),
    (r'vrx::Surface|libSurface', surface_plugins.add_vrx_surface),
    (r'SimpleHydrodynamics', surface_plugins.add_simple_hydrodynamics),
    (r'gz-waves|wave_sim', surface_plugins.add_wave_hydrodynamics),
    (r'hippo_gz_plugins::hydrodynamics', other_plugins.add_hippo_hydrodynamics),
    (r'hippo_gz_plugins::buoyancy', other_plugins.add_hippo_buoyancy),
    (r'hippo_gz_plugins::thruster', other_plugins.add_hippo_thruster),
    (r'usv_(gazebo_)?dynamics', surface_plugins.add_usv_dynamics),
    (r'usv_(gazebo_)?thrust', surface_plugins.add_usv_thrust),
    (
        r'libHydrodynamicsPlugin|HydrodynamicsPlugin\b',
        lambda p, d: _read_hydrodynamics_plugin(p, d),
    ),
    (r'systems::Hydrodynamics|-hydrodynamics-system', gazebo_plugins.add_gazebo_hydrodynamics),
    (r'uuv_thruster(?!_manager)|libthruster_ros_plugin', uuv_plugins.add_uuv_thruster),
    (r'systems::Thruster|-thruster-system', gazebo_plugins.add_gazebo_thruster),
    (r'freefloating_gazebo_control', other_plugins.add_freefloating_thrusters),
    (r'freebuoyancy_gazebo', other_plugins.add_freefloating_water),
    (r'gazebo_uuv_plugin', other_plugins.add_uuv_plugin),
    (r'gazebo_mavlink_interface', other_plugins.note_mavlink_channels),
    (r'GenericMotorModel', other_plugins.add_generic_motor),
    (r'gazebo_motor_model|MulticopterMotorModel', other_plugins.add_motor_model),
    (r'uuv_fin|libfin_ros_plugin', fin_plugins.add_uuv_fin),
    (r'SailLiftDrag|sail-lift-drag', foil_plugins.name_sail),
    (r'AdvancedLiftDrag|advanced-lift-drag', foil_plugins.add_advanced_lift_drag),
    (r'foil_dynamics', foil_plugins.add_foil),
    (r'systems::LiftDrag|-lift-drag-system|LiftDragPlugin', fin_plugins.add_lift_drag),
    *sensors.UUV_READERS,
    *((pattern, partial(_note_known, why)) for pattern, why in _NOTED.items()),
    (r'Joint\w*Controller|joint-\w+-controller|ros2?_control', _note_controller),
)
"""Pattern of name and library -> reader; in the order in which they are applied."""

_PASSIVE = re.compile(
    'acoustic|airpressure|altimeter|api|baro|barometer|bridge|bumper|camera|cloud|comms|contact|cpc|depth|'
    'dvl|factory|forcetorque|ftsensor|gps|groundtruth|gst|gt|imu|init|interface|ir|kinect|label|'
    'laser|lidar|logical|magnetic|magnetometer|manager|mavlink|navsat|noise|odometry|openni|opticalflow|p3d|'
    'particle|physics|pose|pressure|publisher|range|ray|rpt|scene|sensors?|sonar|state|user|vision'
)
"""Words of library names whose plugins measure, publish or connect."""
_ACTIVE = re.compile(
    'actuator|buoyancy|current|damping|drag|dynamics|effort|engine|fin|fluid|force|hydrodynamics|'
    'lift|motor|propeller|propulsion|rotor|rudder|thrust|thrusters?|tether|waves?|wind|winch|wrench'
)
"""Words of library names whose plugins exert forces; they outweigh the above."""
_HOLDS = re.compile('DetachableJoint|detachable-joint')
_WORD = re.compile(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d?[a-z]?|\d+')


def _role(plugin: Plugin) -> tuple[str, bool]:
    """Return a description of a plugin without a reader, and whether its forces are lost.

    The library and the system's class are looked at, not the free name.
    """
    name = str(plugin.reader.element.get('name', ''))
    system = name.rpartition('::')[2] if '::' in name else ''
    if _HOLDS.search(f'{plugin.file} {system}'):
        return 'the link that it holds is never released here', False
    words = [w.lower() for w in _WORD.findall(f'{plugin.file} {system}')]
    passive = any(map(_PASSIVE.fullmatch, words))
    if passive and not any(map(_ACTIVE.fullmatch, words)):
        return 'by its library it measures, publishes or connects; it is not read', False
    return 'is not understood; if it exerts forces, they are missing', True


def _read_hydrodynamics_plugin(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Tell the two plugins of one name apart: asv_wave_sim's of meshes, and that of LRAUV."""
    if plugin.reader.element.find('wave_model') is not None:
        surface_plugins.add_wave_hydrodynamics(plugin, builder)
    else:
        gazebo_plugins.add_gazebo_hydrodynamics(plugin, builder)


def apply_plugins(builder: VehicleBuilder, plugins: list[Plugin]) -> None:
    """Let every plugin add what it says; those that are not understood are named."""
    remaining = list(plugins)
    for pattern, read in READERS:
        for plugin in list(remaining):
            element = plugin.reader.element
            if re.search(pattern, f'{element.get("name", "")} {element.get("filename", "")}'):
                remaining.remove(plugin)
                read(plugin, builder)
    for plugin in remaining:
        role, loses_forces = _role(plugin)
        (builder.unread_force if loses_forces else builder.drop_plugin)(plugin, role)
    gazebo_plugins.add_fluid_added_mass(builder)
    sensors.add_gazebo_sensors(builder)
    builder.sort_thrusters()
