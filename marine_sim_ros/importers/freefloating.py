# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles of freefloating_gazebo: buoyancy and damping in links, thrusters of its plugin.

Source: freefloating_gazebo, src/hydro_model_parser.cpp, hydro_link.h and
freefloating_gazebo_control.cpp. Its damping is quadratic where type="linear" is not given; its
<density> is relative, a factor of buoyancy, damping and added mass.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.buoyancy import add_weight_share
from marine_sim_ros.importers.curves import add_column, along, linear_curve
from marine_sim_ros.importers.description import Sourced, Thruster
from marine_sim_ros.importers.draft import Draft, Plugin, number, numbers, origin_of, text_of
from marine_sim_ros.importers.gazebo_plugins import set_hydrodynamics
from marine_sim_ros.model.xml import Reader

__all__ = ['read_control', 'read_fluid_plugin', 'read_link_water']

_EFFORT = 100.0
"""N, default of <effort>."""
_LIMIT = 0.1
"""m, where <limit radius=""> is not given."""
_DAMPING = ('damping', 'drag')
_READ = {'compensation', 'origin', 'limit', 'density', 'added_mass', *_DAMPING}
"""Elements of <buoyancy> and <hydrodynamics> that are read."""


def read_link_water(link: Reader, draft: Draft) -> None:
    """Take the water of a <link>: <buoyancy>, ρ V = compensation · m, and <hydrodynamics>.

    They stand in the link, as older files have it, or in its <fluid>.
    """
    name = link.attribute('name')
    if name not in draft.links:
        return
    _read_blocks(link, name, draft)
    for element in link.element.findall('fluid'):
        _read_blocks(Reader(element, link.source), name, draft)


def read_fluid_plugin(plugin: Plugin, draft: Draft) -> None:
    """Take the blocks that freebuoyancy_gazebo has in a <link name=""> of its own."""
    for element in plugin.reader.element.findall('link'):
        reader = Reader(element, plugin.reader.source)
        link = draft.known_link(reader, reader.attribute('name').replace('::', '/'))
        _read_blocks(reader, link, draft)


def _read_blocks(reader: Reader, link: str, draft: Draft) -> None:
    """Take all <buoyancy> and <hydrodynamics> of an element; a <fluid> has what they share."""
    volumes = [Reader(e, reader.source) for e in reader.element.findall('buoyancy')]
    terms = [Reader(e, reader.source) for e in reader.element.findall('hydrodynamics')]
    if not volumes and not terms:
        return
    fluid = reader if reader.element.tag == 'fluid' else None
    for block in volumes:
        _add_volume(block, fluid or block, link, draft)
    for block in volumes + terms:
        _name_unread(block, draft)
        if any(block.first(tag) is not None for tag in (*_DAMPING, 'added_mass')):
            _add_terms(block, fluid or block, link, draft)


def _name_unread(block: Reader, draft: Draft) -> None:
    unread = sorted({str(e.tag) for e in block.element if isinstance(e.tag, str)} - _READ)
    if unread:
        names = ', '.join(f'<{tag}>' for tag in unread)
        draft.drop(f'{origin_of(block)}: {names}: wind and currents are of our environment')


def _add_volume(reader: Reader, fluid: Reader, link: str, draft: Draft) -> None:
    """Add the volume of a link; at the surface it is lost over twice its <limit radius="">."""
    factor = number(reader, 'compensation', 1.0, 0.0, 1e6)
    relative = number(fluid, 'density', 1.0, 0.0, 1e6)
    origin, limit = reader.first('origin') or fluid.first('origin'), reader.first('limit')
    center = (
        np.zeros(3) if origin is None else origin.numbers({3}, origin.attribute('xyz', '0 0 0'))
    )
    radius = _LIMIT if limit is None else limit.attribute_number('radius', _LIMIT, 1e-4, 1e4)
    at = Sourced(center, origin_of(origin or reader))
    share = Sourced(relative.value * factor.value, factor.origin)
    add_weight_share(draft, link, share, at, Sourced(2 * radius, origin_of(limit or reader)))


def _add_terms(block: Reader, fluid: Reader, link: str, draft: Draft) -> None:
    """Add damping and added mass; a later element replaces an earlier one of its kind."""
    linear, quadratic, added = np.zeros(6), np.zeros(6), np.zeros((6, 6))
    for element in (e for tag in _DAMPING for e in block.element.findall(tag)):
        reader = Reader(element, block.source)
        target = linear if reader.attribute('type', '') == 'linear' else quadratic
        for at, key in ((0, 'xyz'), (3, 'rpy')):
            if element.get(key) is not None:
                target[at : at + 3] = np.abs(reader.numbers({3}, reader.attribute(key)))
    found = numbers(block, 'added_mass', tuple(range(1, 37)))
    if found is not None and np.any(found.value):  # zeros are none, however many
        found = numbers(block, 'added_mass', (6, 36))
        assert found is not None
        added = np.diag(found.value) if len(found.value) == 6 else found.value.reshape(6, 6)
    relative = number(fluid, 'density', 1.0, 0.0, 1e6).value
    none = np.zeros((6, 6))
    set_hydrodynamics(
        draft, block, link, relative * added, np.diag(relative * linear),
        np.diag(relative * quadratic), none,
    )  # fmt: skip


def read_control(plugin: Plugin, draft: Draft) -> None:
    """Take the thrusters of freefloating_gazebo_control.

    One with <map> is fixed: its six numbers are force and moment of one newton about the centre of
    mass. One with <name> pushes along −z of that link.
    """
    reader = plugin.reader
    body = draft.known_link(reader, text_of(reader, 'link', draft.base))
    for index, element in enumerate(reader.element.findall('thruster')):
        thruster = Reader(element, reader.source)
        effort = number(thruster, 'effort', _EFFORT, 0.0, 1e9)
        columns = numbers(thruster, 'map', (6,))
        link = text_of(thruster, 'name')
        if columns is not None:
            _fixed(draft, body, f'thruster_{index}', columns, effort)
        elif link in draft.links:
            pose = draft.pose_of(link)
            axis = -draft.rotation_of(link)[:, 2]
            curve = Sourced(linear_curve(-effort.value, effort.value), effort.origin)
            draft.add_thruster(Thruster(link, along(pose.translation, axis), curve))
        else:
            where = f'{origin_of(thruster)}: thruster {link!r}'
            draft.drop(f'{where} is on no link of this name; expected <map> or the name of a link')
            draft.unread_forces.append(where)


def _fixed(
    draft: Draft, body: str, name: str, columns: Sourced[np.ndarray], effort: Sourced[float]
) -> None:
    """Add a thruster by its force and moment about the centre of mass of a link."""
    turn = np.asarray(rotation_matrix(draft.pose_of(body).quaternion))
    inertial = draft.links[body].inertial
    center = draft.pose_of(body).translation
    if inertial is not None:
        center = draft.pose_of(body).then(inertial.pose).translation
    add_column(draft, name, columns, effort, center=center, turn=turn)
