# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stonefish scenarios with includes and sums written out, and the robot in one.

Source: stonefish, Library/src/core/ScenarioParser.cpp and docs/. Its frames are NED (x forward,
y starboard, z down); ours have y and z the other way. Stonefish computes drag from panels while
it runs; here its formulas are lumped once, see ``hydrodynamics.lump``.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.bodies import grow_tree, level_base
from marine_sim_ros.importers.builder import Options, VehicleBuilder, list_names, origin_of
from marine_sim_ros.importers.description import (
    ImportedJoint,
    ImportedLink,
    ImportedShape,
    Inertial,
    Sourced,
)
from marine_sim_ros.importers.geometry import box_around
from marine_sim_ros.importers.model_files import ModelFolders, files_matching
from marine_sim_ros.importers.stonefish.devices import (
    ThrusterReader,
    add_ballast,
    add_rudder,
    add_stonefish_sensor,
)
from marine_sim_ros.importers.stonefish.parts import (
    SIGNS,
    Drag,
    PartReader,
    StonefishPart,
    inertial_of,
    lump,
    ned_pose,
)
from marine_sim_ros.importers.xml_files import IncludedFiles
from marine_sim_ros.model.kinematics import AHEAD, IDENTITY
from marine_sim_ros.model.xml import Element, Reader

__all__ = ['LinkReader', 'ScenarioFiles', 'read_stonefish', 'reader_in']


# Stonefish scenario with includes, arguments and sums written out.

_DEEPEST = 10
_MAX_ATTRIBUTE_LENGTH = 100_000
"""Characters of an attribute with its arguments written out."""
_ARG = re.compile(r'\$\(arg\s+([^)\s]+)\s*\)')
_SUM = re.compile(r'\$\{([^}]{1,200})\}')
_FIND = re.compile(r'\$\(find\s+([^)\s]+)\s*\)')

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    'abs': abs,
    'acos': math.acos,
    'asin': math.asin,
    'atan': math.atan,
    'ceil': math.ceil,
    'cos': math.cos,
    'exp': math.exp,
    'floor': math.floor,
    'ln': math.log,
    'log': math.log10,
    'log10': math.log10,
    'sin': math.sin,
    'sqrt': math.sqrt,
    'tan': math.tan,
}
"""Of tinyexpr, which Stonefish evaluates with."""
_CONSTANTS = {'pi': math.pi, 'e': math.e}
_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: math.fmod,
    ast.Pow: math.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def _evaluate(text: str, reader: Reader) -> str:
    """Return the value of an expression of numbers, pi, e, + - * / % ^, brackets and functions."""

    def value(node: ast.AST) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return float(_FUNCTIONS[node.func.id](*map(value, node.args)))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.operand))
        raise ValueError

    try:
        tree = ast.parse(text.strip().replace('**', '?').replace('^', '**'), mode='eval')
        return repr(value(tree.body))
    except (SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
        raise reader.error(
            f'${{{text[:40]}}} cannot be evaluated; expected numbers, pi, + - * / % ^, brackets '
            f'and {", ".join(_FUNCTIONS)}'
        ) from None


class ScenarioFiles:
    """Reads a scenario and what it includes, arguments replaced."""

    def __init__(self, source: str, path: Path, arguments: Mapping[str, str]) -> None:
        self.source, self.path, self.arguments = source, path, dict(arguments)
        self.missing: list[str] = []
        self._files = IncludedFiles()
        self._readable = ModelFolders(path)

    def fill(self, root: Element) -> None:
        """Replace arguments in the scenario, and put in what it includes."""
        self._replace(root, self.source, self.arguments)
        self._include(root, self.source, self.arguments, 0)

    def _replace(self, root: Element, source: str, arguments: Mapping[str, str]) -> None:
        for element in root.iter():
            if not isinstance(element.tag, str):
                continue
            for key, value in list(element.attrib.items()):
                text = str(value)
                if '$' not in text:
                    continue
                element.set(key, self._fill_arguments(text, Reader(element, source), arguments))

    def _fill_arguments(self, text: str, reader: Reader, arguments: Mapping[str, str]) -> str:
        def argument(match: re.Match[str]) -> str:
            name = match[1]
            if name not in arguments and name in ('robot_name', 'vehicle_name', 'name'):
                return self.path.stem
            return arguments.get(name, match[0])  # a number that is needed will say so

        def folder(match: re.Match[str]) -> str:
            try:
                return str(self._readable.find_package(match[1], self.path.parent))
            except ModelError as error:
                self.missing.append(f'{origin_of(reader)}: {error}')
                return match[0]

        longest = max(map(len, arguments.values()), default=0)
        if len(text) + text.count('$') * longest > _MAX_ATTRIBUTE_LENGTH:
            raise reader.error(f'an attribute is longer than {_MAX_ATTRIBUTE_LENGTH} characters')
        filled = _FIND.sub(folder, _ARG.sub(argument, text))
        return _SUM.sub(lambda m: _evaluate(m[1], reader), filled)

    def _include(
        self, root: Element, source: str, arguments: Mapping[str, str], depth: int
    ) -> None:
        if depth > _DEEPEST:
            raise ModelError(f'{source}: includes are nested deeper than {_DEEPEST}')
        for include in list(root.iter('include')):
            reader = Reader(include, source)
            name = reader.attribute('file')
            folder = Path(source).parent
            places = (base / name for base in (folder, *folder.parents[:3]))
            try:
                file = self._readable.find_file(places)
            except ModelError as error:
                raise reader.error(str(error)) from None
            if file is None:
                self.missing.append(
                    f'{origin_of(reader)}: {name!r} is not there; expected --package-path FOLDER'
                )
                continue
            given = {str(a.get('name')): str(a.get('value')) for a in include.findall('arg')}
            inner = self._files.parse(file, origin_of(reader))
            self._replace(inner, str(file), {**arguments, **given})
            self._include(inner, str(file), {**arguments, **given}, depth + 1)
            parent = include.getparent()
            for child in list(inner):
                child.set('_source', str(child.get('_source', file)))
                if parent is not None:
                    parent.append(child)


# Robot of a Stonefish scenario: links, joints, actuators, sensors.

_DENSITY = 1000.0
_AROUND = ('*.scn', '../*.scn', '../*/*.scn')
"""Where the scenarios are looked for that include a file."""
_CF = 0.1
"""Stonefish's C_f of a body as a share of its C_d."""


def reader_in(element: Element, around: str) -> Reader:
    """Return a reader that knows the file of an element, which may be an included one."""
    own = element.get('_source')
    return Reader(element, around if own is None else str(own))


class LinkReader:
    """Reads links of robots, and bodies of worlds, into a builder.

    Attributes:
        density: of the water, kg/m³.
        materials: densities by name, kg/m³.
        parts: of each link.
        drags: of each link.
    """

    def __init__(self, builder: VehicleBuilder, path: Path, root: Element, source: str) -> None:
        """Take water and materials of a scenario, whose path is that of the meshes."""
        self.builder, self.path = builder, path
        self.parts: dict[str, list[StonefishPart]] = {}
        self.drags: dict[str, Drag] = {}
        self.density = Sourced(_DENSITY, 'no <ocean><water density> in the file', True)
        self.materials: dict[str, float] = {}
        for water in root.iter('water'):
            reader = reader_in(water, source)
            if water.get('density'):
                self.density = Sourced(
                    reader.attribute_number('density', _DENSITY, 1.0, 2e4), origin_of(reader)
                )
        for material in root.iter('material'):
            if material.get('density') and material.get('name'):
                reader = reader_in(material, source)
                self.materials[str(material.get('name'))] = reader.attribute_number(
                    'density', 1000.0, 1e-3, 1e5
                )

    def shape(self, reader: Reader) -> ImportedShape | None:
        """Return the physical shape of one part in its own frame, or None."""
        return PartReader(self.builder, self.path, self.density, self.materials).shape(
            reader, IDENTITY
        )

    def read(self, reader: Reader, name: str) -> None:
        """Read parts, shapes and properties of a link into the one of this name."""
        kind = reader.attribute('type')
        read = PartReader(self.builder, self.path, self.density, self.materials)
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
        self.builder.links[name] = replace(
            self.builder.links[name],
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
        self.builder.links[name] = replace(
            self.builder.links[name],
            inertial=Inertial(
                Sourced(mass.attribute_number('value', 0.0, 0.0, 1e9), origin_of(mass)),
                ned_pose(center),
                Sourced(np.diag(moments), origin_of(inertia)),
            ),
        )

    def weigh(self) -> None:
        """Give every link its mass, from its parts where it is not given as a whole."""
        for name, parts in self.parts.items():
            link = self.builder.links.get(name)
            if link is None or link.inertial is not None or not parts:
                continue
            self.builder.links[name] = replace(link, inertial=inertial_of(parts))


def read_stonefish(root: Element, source: str, path: Path, options: Options) -> VehicleBuilder:
    """Return the robot of a Stonefish scenario.

    Args:
        root: the <scenario> element.
        source: name of the file, which knows where each line is from.
        options: what to take; its arguments stand for $(arg NAME).

    Raises:
        ModelError: no robot, or anything in it that cannot be used.
    """
    return _StonefishReader(source, path, options).read(root)


class _StonefishReader:
    """Reads one robot of a scenario."""

    def __init__(self, source: str, path: Path, options: Options) -> None:
        self.source, self.path, self.options = source, path, options

    def read(self, root: Element) -> VehicleBuilder:
        files = ScenarioFiles(self.source, self.path, self.options.arguments)
        files.fill(root)
        robot = self._choose(root, files.missing)
        reader = reader_in(robot, self.source)
        self.builder = VehicleBuilder(
            reader.attribute('name', self.path.stem),
            str(self.path),
            'Stonefish',
            self.path.parent,
            self.options,
        )
        for text in files.missing:
            self.builder.drop(text)
        self.links = LinkReader(self.builder, self.path, root, self.source)
        around = f'<include[^>]*{re.escape(self.path.name)}["\']'
        if not self.links.materials and (found := files_matching(around, self.path, _AROUND)):
            self.builder.assume(
                'no materials and no water in the file; import what includes it: '
                + ', '.join(found)
            )
        self._links(reader)
        self._rest(reader)
        grow_tree(self.builder)
        self._actuators(reader)
        self.links.weigh()
        lump(self.builder, self.links.parts, self.links.drags, self.links.density)
        return self.builder

    def _choose(self, root: Element, missing: Sequence[str]) -> Element:
        robots = list(root.iter('robot'))
        selected = [
            r for r in robots if not self.options.model or r.get('name') == self.options.model
        ]
        driven = [r for r in selected if r.find('actuator') is not None]
        if len(driven) == 1 < len(selected):
            return driven[0]
        if len(selected) != 1:
            names = list_names(robots)
            scenarios = [] if robots else files_matching(r'<robot\b', self.path, ('*.scn',))
            raise ModelError(
                f'{self.source}: has {len(selected)} robots'
                + (f' called {self.options.model!r}' if self.options.model else '')
                + f'; expected one, chosen by --model NAME; found: {names}'
                + (f'; files beside it that have one: {", ".join(scenarios)}' if scenarios else '')
                + ''.join(f'; {text}' for text in missing[:4])
            )
        return selected[0]

    def _start(self, robot: Reader) -> tuple[np.ndarray, str] | None:
        """Return the rotation (3, 3) of a body that starts upside down, and where it stands.

        A body called base_link makes way for the level one.
        """
        start = robot.child('world_transform')
        if start is None or '$(' in ''.join(map(str, start.element.attrib.values())):
            return None  # an argument that has no value places it
        rotation = np.asarray(rotation_matrix(ned_pose(start).quaternion))
        if self.options.base_link or rotation[2, 2] >= 0:  # else z is up in a world of z down
            return None
        for element in robot.element.iter('base_link', 'link', 'parent', 'child'):
            if element.get('name') == 'base_link':
                element.set('name', 'body')
        return rotation, origin_of(start)

    def _links(self, robot: Reader) -> None:
        start = self._start(robot)
        for element in robot.element:
            if element.tag in ('base_link', 'link'):
                reader = reader_in(element, robot.source)
                name = reader.attribute('name')
                if name in self.builder.links:
                    raise reader.error('a second link of this name; expected unique names')
                if element.tag == 'base_link':
                    self.builder.base = name
                self.builder.links[name] = ImportedLink(name)
                self.links.read(reader, name)
        if not self.builder.base:
            raise robot.error('has no <base_link>')
        if self.options.base_link:
            self.builder.known_link(robot, self.options.base_link)
            self.builder.base = self.options.base_link
        if start is not None:
            level_base(self.builder, *start)

    def _rest(self, robot: Reader) -> None:
        """Take joints and sensors."""
        for element in robot.element:
            reader = reader_in(element, robot.source)
            if element.tag == 'joint':
                self._joint(reader)
            elif element.tag in ('sensor', 'comm'):
                add_stonefish_sensor(self.builder, reader)

    def _joint(self, reader: Reader) -> None:
        parent, child = (self.builder.named_link(reader, tag) for tag in ('parent', 'child'))
        kind = reader.attribute('type')
        if kind not in ('fixed', 'revolute', 'prismatic'):
            self.builder.drop(f'{origin_of(reader)}: {kind} joints are fixed here')
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
        velocity = self._servo_speed(reader, name)
        if kind in ('revolute', 'prismatic') and not velocity:
            self.builder.assume(f'joint {name!r}: velocity 1 rad/s or m/s, none is given')
        self.builder.joints[name] = ImportedJoint(
            name,
            kind,
            parent,
            child,
            ned_pose(reader.child('origin')),
            (x, y, z),
            lower,
            upper,
            velocity or 1.0,
            origin_of(reader),
        )

    def _servo_speed(self, joint: Reader, name: str) -> float:
        """Return the largest speed of the servo of a joint, rad/s or m/s; 0: none is given."""
        robot: Any = joint.element.getparent()
        for servo in robot.findall('actuator'):
            moved, controller = servo.find('joint'), servo.find('controller')
            if moved is not None and moved.get('name') == name and controller is not None:
                reader = reader_in(controller, self.source)
                return max(reader.attribute_number('max_velocity', 0.0, -1e6, 1e6), 0.0)
        return 0.0

    def _actuators(self, robot: Reader) -> None:
        thrusters = ThrusterReader(self.builder, self.links.density.value)
        for element in robot.element.findall('actuator'):
            reader = reader_in(element, robot.source)
            kind = reader.attribute('type')
            if kind in ('thruster', 'simple_thruster', 'push'):
                thrusters.read(reader)
            elif kind == 'rudder':
                add_rudder(self.builder, reader)
            elif kind == 'vbs':
                add_ballast(self.builder, reader, self.path, self.links.density.value)
            elif kind == 'servo':
                self.builder.drop(f'{origin_of(reader)}: {kind}: our joints have no gains')
            else:  # such as a motor, which turns wheels, tracks or a propeller of its own
                self.builder.drop(f'{origin_of(reader)}: {kind} is not simulated')
                name = reader.attribute('name', '')
                self.builder.unread_forces.append(f'{origin_of(reader)} {kind} {name!r}')
