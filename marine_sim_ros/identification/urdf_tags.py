# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Puts what was found into a description, in the elements that the URDF reader takes."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from lxml import etree

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.identification.fit import Estimate, Identification
from marine_sim_ros.identification.parameters import KINDS
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Element, parse

__all__ = ['fitted_urdf', 'tags']


def fitted_urdf(vehicle: Vehicle, found: Identification) -> str:
    """Return the vehicle's URDF, xacro expanded, with the values that were found.

    Parameters that are not observable in the run keep their values.

    Raises:
        ParameterError: a description whose drag is that of an Orca3 plugin.
    """
    root = parse(vehicle.urdf, vehicle.name)
    if any('libOrcaDrag' in p.get('filename', '') for p in root.iter('plugin')):
        raise ParameterError(
            f'{vehicle.name}: its drag is that of an Orca3 plugin; '
            'expected <hydrodynamics>, where the values that were found can stand'
        )
    if found.kept:
        root.insert(0, etree.Comment(f' identify kept as described: {", ".join(found.kept)} '))
    _put_hydrodynamics(root, vehicle, found)
    for lag in _told(found, 'time_constant'):
        for thruster in root.findall('thrusters/thruster'):
            _put(thruster, 'time_constant', lag.texts()[0])
    floats = root.findall('buoyancy')
    if len(floats) == 1:
        for volume in _told(found, 'volume'):
            _put(floats[0], 'volume', volume.texts()[0])
    return etree.tostring(root, encoding='unicode') + '\n'


def tags(vehicle: Vehicle, found: Identification) -> str:
    """Return the elements that hold the values, to be put into a description by hand."""
    robot = etree.Element('robot')
    old = parse(vehicle.urdf, vehicle.name).find('hydrodynamics')
    if old is not None:
        robot.append(deepcopy(old))
    _put_hydrodynamics(robot, vehicle, found)
    element = robot.find('hydrodynamics')
    assert element is not None
    etree.indent(element)
    element.tail = None
    lines = [etree.tostring(element, encoding='unicode')]
    for lag in _told(found, 'time_constant'):
        lines.append(f'<time_constant>{lag.texts()[0]}</time_constant>   in each <thruster>')
    for volume in _told(found, 'volume'):
        lines.append(f'<volume>{volume.texts()[0]}</volume>   in <buoyancy>')
    return '\n'.join(lines)


def _put_hydrodynamics(root: Element, vehicle: Vehicle, found: Identification) -> None:
    element = root.find('hydrodynamics')
    if element is None:
        element = etree.SubElement(root, 'hydrodynamics')
    element.attrib.pop('added_mass', '')  # added_mass="estimate"
    damping = vehicle.damping
    described = (vehicle.added_mass, damping.linear, damping.quadratic)
    for kind, matrix in zip(KINDS, described, strict=True):
        _put(element, kind, _matrix(matrix, found.value(kind)))


def _matrix(described: np.ndarray, estimates: list[Estimate]) -> str:
    """Return six numbers, or 36 where anything stands beside the diagonal."""
    own = np.diag(described)
    diagonal = [e.texts()[0] if e.observable else repr(e.parameter.described) for e in estimates]
    if np.array_equal(described, np.diag(own)):
        return ' '.join(diagonal)
    rows = [list(map(repr, row)) for row in described.tolist()]
    for i, text in enumerate(diagonal):
        rows[i][i] = text
    return '  '.join(' '.join(row) for row in rows)


def _told(found: Identification, kind: str) -> list[Estimate]:
    return [e for e in found.value(kind) if e.observable]


def _put(parent: Element, name: str, text: str) -> None:
    child = parent.find(name)
    if child is None:
        child = etree.SubElement(parent, name)
    child.text = text
