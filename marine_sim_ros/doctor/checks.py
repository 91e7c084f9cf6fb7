# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All checks, by name. A new one is a function in a file here and one line in a table.

A check takes a :class:`DescriptionContext` and yields its findings; the first line of its
docstring is the rule that it checks. docs/reference/doctor.md gives reasons and sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from marine_sim_ros.doctor import frames, hydrodynamics, mass, tags, thrusters, units, verdict
from marine_sim_ros.doctor.context import DescriptionContext, Diagnostic, Severity

__all__ = ['CHECKS_OF_TEXT', 'CHECKS_OF_VEHICLE', 'Check', 'examine']

Check = Callable[[DescriptionContext], Iterator[Diagnostic]]

CHECKS_OF_TEXT: Mapping[str, Check] = MappingProxyType(
    {
        'loads': tags.loading,
        'one-tree': frames.one_tree,
        'frame-names': frames.frame_names,
        'moving-hull': frames.moving_hull,
        'unread-attributes': tags.unread_attributes,
        'misspelt': tags.misspelt_elements,
        'unused-materials': tags.unused_materials,
        'unused-curves': tags.unused_curves,
        'density-unit': tags.density_unit,
        'angle-unit': units.angle_unit,
        'negative-damping': units.negative_damping,
        'possible-inertia': mass.possible_inertia,
        'meshes': units.readable_meshes,
        'millimetres': units.millimetres,
        'inside-out': units.inside_out,
        'ignored-plugins': tags.ignored_plugins,
        'plugins': tags.plugins_beside_tags,
    }
)
"""Checks of the description, also of one that does not load."""

CHECKS_OF_VEHICLE: Mapping[str, Check] = MappingProxyType(
    {
        'reading': tags.loading_messages,
        'computed': tags.computed_numbers,
        'drag-twice': tags.drag_twice,
        'far-links': frames.sensor_links,
        'looks-down': units.looks_down,
        'sensor-view': frames.sensor_view,
        'reachable-axes': thrusters.reachable_axes,
        'pulse': thrusters.pulse_response,
        'thruster-names': thrusters.thruster_names,
        'thruster-links': thrusters.thruster_links,
        'mirrored-thrusters': thrusters.mirrored_thrusters,
        'handedness': thrusters.handedness,
        'ardusub-order': thrusters.motor_order,
        'thrust-unit': units.thrust_unit,
        'rotor-speed-unit': units.rotor_speed_unit,
        'mass-unit': units.mass_unit,
        'link-mass': units.link_mass,
        'inertia-unit': units.inertia_unit,
        'displaced-mass': mass.displaced_mass,
        'forgotten-mass': mass.forgotten_mass,
        'righting': mass.righting,
        'metacentric-height': mass.metacentric_height,
        'plausible-inertia': mass.plausible_inertia,
        'products-of-inertia': mass.products_of_inertia,
        'added-mass': hydrodynamics.added_mass,
        'undamped': hydrodynamics.undamped_axes,
        'top-speed': hydrodynamics.top_speed,
        'unbounded-speed': verdict.unbounded_speed,
        'tether-anchor': frames.tether_anchor,
        'munk-pitch': hydrodynamics.munk_pitch,
        'munk-yaw': hydrodynamics.munk_yaw,
        'drag-step': hydrodynamics.drag_step,
        'safe-step': hydrodynamics.default_step,
    }
)
"""Checks of the vehicle that the description makes."""

_ORDER = list(Severity)


def examine(context: DescriptionContext) -> list[Diagnostic]:
    """Return the findings of all checks, the worst first.

    The vehicle is not examined where it has not loaded, or its hull is in millimetres.
    """
    checks = dict(CHECKS_OF_TEXT)
    if context.loaded is not None and not units.is_oversized(context):
        checks |= CHECKS_OF_VEHICLE
    found = [replace(f, check=name) for name, check in checks.items() for f in check(context)]
    return sorted(found, key=lambda f: _ORDER.index(f.severity))
