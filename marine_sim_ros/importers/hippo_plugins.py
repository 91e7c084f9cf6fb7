# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plugins of HippoCampus: hydrodynamics, buoyancy and thrusters of hippo_gz_plugins.

Source: HippoCampusRobotics/hippo_simulation, hippo_gz_plugins/src.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.importers.buoyancy import add_weight_share
from marine_sim_ros.importers.curves import along, sampled_curve
from marine_sim_ros.importers.description import Sourced, Thruster
from marine_sim_ros.importers.draft import (
    Draft,
    Plugin,
    magnitudes,
    number,
    numbers,
    origin_of,
    text_of,
)
from marine_sim_ros.importers.gazebo_plugins import set_hydrodynamics
from marine_sim_ros.model.xml import Reader

__all__ = ['read_buoyancy', 'read_hydrodynamics', 'read_thruster']

_EXTRA_FORCE = 'additional_buyoancy_force'  # codespell:ignore buyoancy
"""Name of an extra force in N, as the source spells it."""
_SCALE_HEIGHT = 0.1
"""m, default of <height_scale_limit>."""


def read_hydrodynamics(plugin: Plugin, draft: Draft) -> None:
    """Take linear damping and added mass of each <hydrodynamics> of the plugin."""
    for element in plugin.reader.element.findall('hydrodynamics'):
        reader = Reader(element, plugin.reader.source)
        link = draft.known_link(reader, text_of(reader, 'link', draft.base).replace('::', '/'))
        added, linear = (
            np.diag(
                np.concatenate(
                    [magnitudes(reader, f'{name}_{kind}') for kind in ('linear', 'angular')]
                )
            )
            for name in ('added_mass', 'damping')
        )
        none = np.zeros((6, 6))
        set_hydrodynamics(draft, reader, link, added, linear, none, none)


def read_buoyancy(plugin: Plugin, draft: Draft) -> None:
    """Take ρ V g = c m g + F of a link, lost over twice <height_scale_limit> at the surface."""
    elements = plugin.reader.element.findall('buoyancy') or [plugin.reader.element]
    for element in elements:
        reader = Reader(element, plugin.reader.source)
        link = draft.known_link(reader, text_of(reader, 'link', 'base_link').replace('::', '/'))
        factor = number(reader, 'relative_compensation', 1.0, 0.0, 1e6)
        force = number(reader, _EXTRA_FORCE, 0.0, -1e9, 1e9)
        limit = number(reader, 'height_scale_limit', _SCALE_HEIGHT, 1e-4, 1e4)
        center = numbers(reader, 'origin', (3,)) or Sourced(np.zeros(3), 'origin of the link')
        height = Sourced(2 * limit.value, limit.origin)
        add_weight_share(draft, link, factor, center, height, force.value)


def read_thruster(plugin: Plugin, draft: Draft) -> None:
    """Take T = a n² + b n + c, not below 0, along x of its link; n in revolutions per second."""
    reader = plugin.reader
    link = draft.known_link(reader, text_of(reader, 'link').replace('::', '/'))
    fastest = number(reader, 'maximum_rpm', None, 0.0, 1e6)
    if fastest is None:
        raise reader.error('has no <maximum_rpm>; expected the rate at full throttle')
    terms = [
        number(reader, f'{name}_coeff', 0.0).value for name in ('constant', 'linear', 'quadratic')
    ]
    sign = -1.0 if text_of(reader, 'propeller_direction') == 'cw' else 1.0

    def thrust(speed: float) -> float:
        if not speed:
            return 0.0
        rate = abs(speed) / (2 * np.pi)
        size = max(float(np.polynomial.polynomial.polyval(rate, terms)), 0.0)
        return sign * float(np.copysign(size, speed))

    highest = fastest.value * np.pi / 30
    curve, mirrored = sampled_curve(thrust, -highest, highest)
    pose = draft.pose_of(link)
    axis = draft.rotation_of(link)[:, 0]
    index = text_of(reader, 'thruster_number')
    label = f'thruster_{index or len(draft.thrusters)}'
    draft.add_thruster(
        Thruster(
            label,
            along(pose.translation, -axis if mirrored else axis),
            Sourced(curve, origin_of(reader)),
            'cw' if text_of(reader, 'turning_direction') == 'cw' else 'ccw',
            time_constant=number(reader, 'timeconstant_up', None, 0.0, 60.0),
            link=link,
            shaft=draft.scoped_name(
                reader, text_of(reader, 'joint').replace('::', '/'), draft.joints
            ),
        ),
        index,
    )
