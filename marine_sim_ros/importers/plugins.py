# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which plugin means what: the list that SDF and URDF share."""

from __future__ import annotations

import re
from collections.abc import Callable

from marine_sim_ros.importers import (
    fin_plugins,
    gazebo_plugins,
    gazebo_sensors,
    surface_plugins,
    uuv_plugins,
    uuv_sensors,
)
from marine_sim_ros.importers.draft import Draft, Plugin, origin_of

__all__ = ['apply_plugins']

_Read = Callable[[Plugin, Draft], None]

READERS: tuple[tuple[str, _Read], ...] = (
    (r'BuoyancyEngine|buoyancy-engine', lambda p, d: _drop(p, d, 'is not simulated')),
    (r'systems::Buoyancy\b|(gz|ignition)-\w+-buoyancy-system', gazebo_plugins.read_buoyancy),
    (r'ArduPilotPlugin', gazebo_plugins.read_ardupilot),
    (r'uuv_underwater_object', uuv_plugins.read_underwater_object),
    (r'vrx::Surface|libSurface', surface_plugins.read_surface),
    (r'SimpleHydrodynamics', surface_plugins.read_simple_hydrodynamics),
    (r'gz-waves|wave_sim', lambda p, d: _waves(p, d)),
    (r'systems::Hydrodynamics|-hydrodynamics-system', gazebo_plugins.read_hydrodynamics),
    (r'uuv_thruster', uuv_plugins.read_uuv_thruster),
    (r'systems::Thruster|-thruster-system', gazebo_plugins.read_thruster),
    (r'uuv_fin', fin_plugins.read_uuv_fin),
    (r'systems::LiftDrag|-lift-drag-system|LiftDragPlugin', fin_plugins.read_lift_drag),
    *uuv_sensors.READERS,
)
"""Pattern of name and library -> reader; in the order in which they are applied."""

_STATE_ONLY = re.compile(
    r'(?i)publisher|bridge|imu|navsat|gps|magnetometer|camera|sensors?(-system|::)|altimeter|dvl|'
    r'odometry|pose_3d|ground_truth|rpt|sonar|laser|lidar|ros_control|joint_state|scene|physics|'
    r'user-?commands|contact|ros_init|air.?pressure|label|particle|comms|acoustic|p3d|forward'
)
_FORCE = 'exerts forces or moves joints; it is not simulated'


def _drop(plugin: Plugin, draft: Draft, why: str) -> None:
    draft.drop(f'{origin_of(plugin.reader)} {plugin.label}: {why}')


def _waves(plugin: Plugin, draft: Draft) -> None:
    """Note the mesh hydrodynamics of asv_wave_sim: the collisions float and drag instead."""
    draft.notes['float_by_collisions'] = True
    draft.notes['drag_by_panels'] = True
    draft.assume(
        f'{origin_of(plugin.reader)} {plugin.label}: its collisions float by their volume and '
        'drag by their panels, with our own coefficients'
    )


def apply_plugins(draft: Draft, plugins: list[Plugin]) -> None:
    """Let every plugin add what it says; those that are not understood are named."""
    rest = list(plugins)
    for pattern, read in READERS:
        for plugin in list(rest):
            element = plugin.reader.element
            if re.search(pattern, f'{element.get("name", "")} {element.get("filename", "")}'):
                rest.remove(plugin)
                read(plugin, draft)
    for plugin in rest:
        publishes = _STATE_ONLY.search(plugin.label)
        _drop(plugin, draft, 'measures or publishes; it exerts no force' if publishes else _FORCE)
    gazebo_plugins.read_fluid_added_mass(draft)
    gazebo_sensors.read_sensors(draft)
    order = draft.notes.get('order', {})
    if all(isinstance(v, int) for v in order.values()) and len(order) == len(draft.thrusters):
        draft.thrusters.sort(key=lambda t: order[t.name])
