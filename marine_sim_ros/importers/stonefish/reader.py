# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The robot of a Stonefish scenario: links, joints, actuators, sensors.

Source: stonefish, Library/src/core/ScenarioParser.cpp and docs/. Its frames are NED (x forward,
y starboard, z down); ours have y and z the other way. Stonefish computes drag from panels while
it runs; here its formulas are lumped once, see ``hydrodynamics.lump``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.importers.description import Inertial, Joint, Link, Sourced
from marine_sim_ros.importers.draft import Draft, Options, origin_of
from marine_sim_ros.importers.geometry import box_around
from marine_sim_ros.importers.stonefish.control import read_ballast, read_rudder
from marine_sim_ros.importers.stonefish.frames import SIGNS, ned_pose
from marine_sim_ros.importers.stonefish.hydrodynamics import Drag, lump
from marine_sim_ros.importers.stonefish.parts import Part, PartReader, inertial_of
from marine_sim_ros.importers.stonefish.scenario import ScenarioFiles
from marine_sim_ros.importers.stonefish.sensors import read_sensor
from marine_sim_ros.importers.stonefish.thrusters import ThrusterReader
from marine_sim_ros.importers.tree import grow_tree
from marine_sim_ros.model.base import AHEAD
from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.poses import IDENTITY

__all__ = ['read_stonefish']

_DENSITY = 1000.0
_CF = 0.1
"""Stonefish's C_f of a body as a share of its C_d."""


def read_stonefish(root: Element, source: str, path: Path, options: Options) -> Draft:
    """Return the robot of a Stonefish scenario.

    Args:
        root: the <scenario> element.
        source: name of the file, which knows where each line is from.
        path: the file.
        options: what to take; its arguments stand for $(arg NAME).

    Raises:
        ModelError: no robot, or anything in it that cannot be used.
    """
    return _StonefishReader(source, path, options).read(root)


class _StonefishReader:
    """Reads one robot of a scenario."""

    def __init__(self, source: str, path: Path, options: Options) -> None:
        self.source, self.path, self.options = source, path, options
        self.parts: dict[str, list[Part]] = {}
        self.density = Sourced(_DENSITY, 'no <ocean><water density> in the file', True)
        self.materials: dict[str, float] = {}
        self.drags: dict[str, Drag] = {}

    def read(self, root: Element) -> Draft:
        files = ScenarioFiles(self.source, self.path, self.options.arguments)
        files.fill(root)
        robot = self._choose(root)
        reader = self._reader(robot, self.source)
        self.draft = Draft(
            reader.attribute('name', self.path.stem),
            str(self.path),
            'Stonefish',
            self.path.parent,
            self.options,
        )
        for text in files.missing:
            self.draft.drop(text)
        self._world(root)
        self._links(reader)
        self._rest(reader)
        grow_tree(self.draft)
        self._actuators(reader)
        self._weigh()
        lump(self.draft, self.parts, self.drags, self.density)
        return self.draft

    @staticmethod
    def _reader(element: Element, around: str) -> Reader:
        """Return a reader that knows the file of an element, which may be an included one."""
        own = element.get('_source')
        return Reader(element, around if own is None else str(own))

    def _choose(self, root: Element) -> Element:
        robots = list(root.iter('robot'))
        wanted = [
            r for r in robots if not self.options.model or r.get('name') == self.options.model
        ]
        if len(wanted) != 1:
            names = ', '.join(str(r.get('name')) for r in robots) or 'none'
            raise ModelError(
                f'{self.source}: has {len(wanted)} robots'
                + (f' called {self.options.model!r}' if self.options.model else '')
                + f'; expected one, chosen by --model NAME; found: {names}'
            )
        return wanted[0]

    def _world(self, root: Element) -> None:
        for water in root.iter('water'):
            reader = self._reader(water, self.source)
            if water.get('density'):
                self.density = Sourced(
                    reader.attribute_number('density', _DENSITY, 1.0, 2e4), origin_of(reader)
                )
        for material in root.iter('material'):
            if material.get('density') and material.get('name'):
                reader = self._reader(material, self.source)
                self.materials[str(material.get('name'))] = reader.attribute_number(
                    'density', 1000.0, 1e-3, 1e5
                )

    def _links(self, robot: Reader) -> None:
        for element in robot.element:
            if element.tag in ('base_link', 'link'):
                reader = self._reader(element, robot.source)
                name = reader.attribute('name')
                if name in self.draft.links:
                    raise reader.error('a second link of this name; expected unique names')
                if element.tag == 'base_link':
                    self.draft.base = name
                self.draft.links[name] = Link(name)
                self._link(reader, name)
        if not self.draft.base:
            raise robot.error('has no <base_link>')
        if self.options.base_link:
            self.draft.known_link(robot, self.options.base_link)
            self.draft.base = self.options.base_link

    def _link(self, reader: Reader, name: str) -> None:
        kind = reader.attribute('type')
        read = PartReader(self.draft, self.path, self.density, self.materials)
        if kind != 'compound':
            found = [read.read(reader, IDENTITY, internal=False)]
        else:
            found = []
            for element in reader.element:
                if element.tag in ('external_part', 'internal_part'):
                    part = Reader(element, reader.source)
                    pose = ned_pose(part.child('compound_transform'))
                    inside = element.tag == 'internal_part'
                    found.append(read.read(part, pose, internal=inside))
        self.parts[name] = [part for part in found if part is not None]
        self._properties(reader, name)
        visuals = tuple(p.shape for p in self.parts[name] if p.external)
        self.draft.links[name] = replace(
            self.draft.links[name],
            visuals=tuple(read.visuals(reader)) or visuals,
            collisions=tuple(p.shape for p in self.parts[name] if p.buoyant or p.external),
        )

    def _properties(self, reader: Reader, name: str) -> None:
        """Take mass, inertia and centre of gravity of a whole link, and its drag."""
        drag = reader.child('hydrodynamics')
        solids = [p.solid for p in self.parts[name] if p.external]
        cd, origin = np.ones(3), ''
        if solids:  # those of an ellipsoid in Stonefish: C_i = min(a)/a_i
            low, high = box_around(solids)
            edges = np.maximum(high - low, 1e-6)
            cd = edges.min() / edges
        cf = _CF * cd
        if drag is not None:
            origin = origin_of(drag)
            if drag.element.get('quadratic_drag'):
                cd = np.abs(drag.numbers({3}, drag.attribute('quadratic_drag')))
            if drag.element.get('viscous_drag'):
                cf = np.abs(drag.numbers({3}, drag.attribute('viscous_drag')))
        self.drags[name] = Drag(cd, cf, origin)
        mass, inertia, center = (reader.child(tag) for tag in ('mass', 'inertia', 'cg'))
        if mass is None or inertia is None:
            return
        moments = inertia.numbers({3}, inertia.attribute('xyz'))
        self.draft.links[name] = replace(
            self.draft.links[name],
            inertial=Inertial(
                Sourced(mass.attribute_number('value', 0.0, 0.0, 1e9), origin_of(mass)),
                ned_pose(center),
                Sourced(np.diag(moments), origin_of(inertia)),
            ),
        )

    def _rest(self, robot: Reader) -> None:
        """Take joints and sensors."""
        for element in robot.element:
            reader = self._reader(element, robot.source)
            if element.tag == 'joint':
                self._joint(reader)
            elif element.tag in ('sensor', 'comm'):
                read_sensor(self.draft, reader)

    def _joint(self, reader: Reader) -> None:
        parent, child = (self.draft.named_link(reader, tag) for tag in ('parent', 'child'))
        kind = reader.attribute('type')
        if kind not in ('fixed', 'revolute', 'prismatic'):
            self.draft.drop(f'{origin_of(reader)}: {kind} joints are fixed here')
            kind = 'fixed'
        axis = reader.value_of('axis', lambda a: a.direction(a.attribute('xyz', '1 0 0')), AHEAD)
        x, y, z = (SIGNS * axis).tolist()
        limits = reader.child('limits')
        lower = upper = 0.0
        if limits is not None:
            lower = limits.attribute_number('min', 0.0)
            upper = limits.attribute_number('max', 0.0)
        elif kind == 'revolute':
            kind = 'continuous'
        elif kind == 'prismatic':
            kind = 'fixed'
        name = reader.attribute('name')
        if kind in ('revolute', 'prismatic'):
            self.draft.assume(f'joint {name!r}: velocity 1 rad/s or m/s, none is given')
        self.draft.joints[name] = Joint(
            name,
            kind,
            parent,
            child,
            ned_pose(reader.child('origin')),
            (x, y, z),
            lower,
            upper,
            1.0,
            origin_of(reader),
        )

    def _actuators(self, robot: Reader) -> None:
        thrusters = ThrusterReader(self.draft, self.density.value)
        for element in robot.element.findall('actuator'):
            reader = self._reader(element, robot.source)
            kind = reader.attribute('type')
            if kind in ('thruster', 'simple_thruster', 'push'):
                thrusters.read(reader)
            elif kind == 'rudder':
                read_rudder(self.draft, reader)
            elif kind == 'vbs':
                read_ballast(self.draft, reader, self.path, self.density.value)
            elif kind in ('servo', 'motor'):
                self.draft.drop(f'{origin_of(reader)}: {kind}: our joints have no gains')
            else:
                self.draft.drop(f'{origin_of(reader)}: {kind} is not simulated')

    def _weigh(self) -> None:
        """Give every link its mass, from its parts where it is not given as a whole."""
        for name, parts in self.parts.items():
            link = self.draft.links.get(name)
            if link is None or link.inertial is not None or not parts:
                continue
            self.draft.links[name] = replace(link, inertial=inertial_of(parts))
