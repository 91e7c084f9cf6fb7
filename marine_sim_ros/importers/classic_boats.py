# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Boats of VRX for Gazebo classic: usv_gazebo_dynamics_plugin and usv_gazebo_thrust_plugin.

Source: vrx (2018 to 2021), usv_gazebo_plugins/src/usv_gazebo_{dynamics,thrust}_plugin.cc.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.importers.curves import along, linear_curve
from marine_sim_ros.importers.description import Shape, Sourced, Thruster
from marine_sim_ros.importers.draft import Draft, Plugin, number, origin_of, text_of
from marine_sim_ros.importers.gazebo_plugins import set_hydrodynamics
from marine_sim_ros.importers.surface_plugins import add_hulls, twin_hulls
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['read_usv_dynamics', 'read_usv_thrust']

_DENSITY = 997.7735
"""kg/m³, default of <waterDensity>."""
_DEFAULTS = {
    'xDotU': 5.0,
    'yDotV': 5.0,
    'nDotR': 1.0,
    'xU': 20.0,
    'yV': 20.0,
    'zW': 20.0,
    'kP': 20.0,
    'mQ': 20.0,
    'nR': 20.0,
}
"""Terms of the plugin where they are not given; quadratic ones are 0."""
_OTHER_ADDED_MASS = 0.1
_LEVEL = IDENTITY.quaternion
_AREA, _LENGTH, _WIDTH = 0.48, 1.35, 1.0
"""m², m, m: defaults of <boatArea>, <boatLength> and <boatWidth>."""
_RADIUS = 0.213
"""m, default of <hullRadius>."""


def read_usv_dynamics(plugin: Plugin, draft: Draft) -> None:
    """Take drag and added mass, positive where they damp, and the hulls that carry the boat.

    With <hullRadius> or <length_n>, as since 2019, these are two half-submerged cylinders;
    without, four columns of a quarter of <boatArea> each, which displace ρ A d at a draught d of
    the link's origin.
    """
    reader = plugin.reader
    name = text_of(reader, 'bodyName') or text_of(reader, 'link_name') or draft.base
    link = draft.known_link(reader, name.replace('::', '/'))
    draft.water_density = number(reader, 'waterDensity', _DENSITY, 1.0, 2e4)
    given = {tag: abs(number(reader, tag, value).value) for tag, value in _DEFAULTS.items()}
    squared = [
        abs(number(reader, tag, 0.0).value) for tag in ('xUU', 'yVV', 'zWW', 'kPP', 'mQQ', 'nRR')
    ]
    other = [_OTHER_ADDED_MASS] * 3
    set_hydrodynamics(
        draft,
        reader,
        link,
        np.diag([given['xDotU'], given['yDotV'], *other, given['nDotR']]),
        np.diag([given[tag] for tag in ('xU', 'yV', 'zW', 'kP', 'mQ', 'nR')]),
        np.diag(squared),
        np.zeros((6, 6)),
    )
    radius = number(reader, 'hullRadius', None, 1e-3, 1e4)
    if radius is None and reader.first('length_n') is not None:
        radius = number(reader, 'hullRadius', _RADIUS, 1e-3, 1e4)
    if radius is None:
        add_hulls(reader, draft, link, _columns(reader, draft))
        return
    length = number(reader, 'boatLength', _LENGTH, 1e-3, 1e4)
    width = number(reader, 'boatWidth', _WIDTH, 1e-3, 1e4)
    add_hulls(reader, draft, link, twin_hulls(reader, length.value, width.value, radius.value))


def _columns(reader: Reader, draft: Draft) -> list[Shape]:
    """Return four boxes from the link's origin upwards, twice as high as the boat's draught."""
    area = number(reader, 'boatArea', _AREA, 1e-6, 1e6)
    length = number(reader, 'boatLength', _LENGTH, 1e-3, 1e4)
    width = number(reader, 'boatWidth', _WIDTH, 1e-3, 1e4)
    assert draft.water_density is not None
    draught = draft.mass / (draft.water_density.value * area.value)
    draft.assume(
        f'{origin_of(reader)}: four columns with a waterplane of {area.value:g} m², '
        f'{2 * draught:.3g} m high; in the source they have no top'
    )
    edge = float(np.sqrt(area.value / 4))
    corners = [(x, y) for x in (-1, 1) for y in (-1, 1)]
    return [
        Shape(
            'box',
            (edge, edge, 2 * draught),
            Pose(
                np.array([x * length.value / 2, y * width.value / 2, draught]), IDENTITY.quaternion
            ),
            area.origin,
        )
        for x, y in corners
    ]


def read_usv_thrust(plugin: Plugin, draft: Draft) -> None:
    """Take thrusters along x of their links, linear in the command; engines that turn follow."""
    for index, element in enumerate(plugin.reader.element.findall('thruster')):
        reader = Reader(element, plugin.reader.source)
        link = draft.known_link(reader, text_of(reader, 'linkName').replace('::', '/'))
        ahead = number(reader, 'maxForceFwd', 250.0, 0.0, 1e9)
        astern = number(reader, 'maxForceRev', -100.0, -1e9, 1e9)
        if text_of(reader, 'mappingType', '0') != '0':
            draft.assume(f'{origin_of(reader)}: its thrust is linear in the command here')
        pose = draft.pose_of(link)
        draft.add_thruster(
            Thruster(
                f'thruster_{index}',
                along(pose.translation, draft.rotation_of(link)[:, 0]),
                Sourced(linear_curve(-abs(astern.value), ahead.value), ahead.origin),
                link=link,
                shaft=text_of(reader, 'propJointName').replace('::', '/'),
            )
        )
