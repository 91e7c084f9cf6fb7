# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stonefish scenarios (.scn) -> links, joints, thrusters, and hydrodynamics from the hull.

Source: stonefish, Library/src/core/ScenarioParser.cpp and docs/. Its frames are NED (x forward,
y starboard, z down); ours have y and z the other way. Stonefish computes drag from panels while
it runs; here its formulas are lumped once, see ``_lump``.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import (
    rotation_matrix,
)
from marine_sim_ros.importers.curves import along, sampled_curve
from marine_sim_ros.importers.description import (
    Hydrodynamics,
    Inertial,
    Joint,
    Link,
    Shape,
    Sourced,
    Thruster,
    Volume,
)
from marine_sim_ros.importers.draft import Draft, Options, origin_of
from marine_sim_ros.importers.geometry import box_around, solid
from marine_sim_ros.importers.lenient import parse_file
from marine_sim_ros.importers.stonefish_sensors import SIGNS, in_ned, ned_pose, read_sensor
from marine_sim_ros.importers.tree import grow_tree
from marine_sim_ros.model.geometry import shapes
from marine_sim_ros.model.geometry.added_mass import estimate_added_mass
from marine_sim_ros.model.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.model.inertia import Inertia, combined_inertia
from marine_sim_ros.model.kinematics import FARTHEST
from marine_sim_ros.model.packages import package_folder
from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['read_stonefish']

_DENSITY = 1000.0
_CF = 0.1
"""Stonefish's C_f of a body as a share of its C_d."""
_DEEPEST = 10
_ARG = re.compile(r'\$\(arg\s+([^)\s]+)\s*\)')
_SUM = re.compile(r'\$\{([^}]{1,200})\}')
_FIND = re.compile(r'\$\(find\s+([^)\s]+)\s*\)')


_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def _evaluated(text: str, reader: Reader) -> str:
    """Return the value of an expression of numbers, pi, + - * / and brackets."""

    def value(node: ast.AST) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id == 'pi':
            return math.pi
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.operand))
        raise ValueError

    try:
        return repr(value(ast.parse(text.strip(), mode='eval').body))
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, OverflowError):
        raise reader.error(
            f'${{{text[:40]}}} cannot be evaluated; expected numbers, pi, + - * / and brackets'
        ) from None


class _Files:
    """Reads a scenario and what it includes, arguments replaced."""

    def __init__(self, path: Path, arguments: Mapping[str, str]) -> None:
        self.path, self.arguments = path, dict(arguments)
        self.missing: list[str] = []

    def fill(self, root: Element) -> None:
        """Replace arguments in the scenario, and put in what it includes."""
        self._replace(root, str(self.path), self.arguments)
        self._include(root, str(self.path), self.arguments, 0)

    def _replace(self, root: Element, source: str, arguments: Mapping[str, str]) -> None:
        for element in root.iter():
            if not isinstance(element.tag, str):
                continue
            for key, value in list(element.attrib.items()):
                text = str(value)
                if '$' not in text:
                    continue
                element.set(key, self._filled(text, Reader(element, source), arguments))

    def _filled(self, text: str, reader: Reader, arguments: Mapping[str, str]) -> str:
        def argument(match: re.Match[str]) -> str:
            name = match[1]
            if name not in arguments and name in ('robot_name', 'vehicle_name', 'name'):
                return self.path.stem
            return arguments.get(name, match[0])  # a number that is needed will say so

        def folder(match: re.Match[str]) -> str:
            try:
                return str(package_folder(match[1], self.path.parent))
            except ModelError as error:
                self.missing.append(f'{origin_of(reader)}: {error}')
                return match[0]

        filled = _FIND.sub(folder, _ARG.sub(argument, text))
        return _SUM.sub(lambda m: _evaluated(m[1], reader), filled)

    def _include(
        self, root: Element, source: str, arguments: Mapping[str, str], depth: int
    ) -> None:
        if depth > _DEEPEST:
            raise ModelError(f'{source}: includes are nested deeper than {_DEEPEST}')
        for include in list(root.iter('include')):
            reader = Reader(include, source)
            name = reader.attribute('file')
            file = self._find(name, Path(source).parent)
            if file is None:
                self.missing.append(
                    f'{origin_of(reader)}: {name!r} is not there; expected --package-path FOLDER'
                )
                continue
            given = {str(a.get('name')): str(a.get('value')) for a in include.findall('arg')}
            inner = parse_file(file)
            self._replace(inner, str(file), {**arguments, **given})
            self._include(inner, str(file), {**arguments, **given}, depth + 1)
            parent = include.getparent()
            for child in list(inner):
                child.set('_source', str(child.get('_source', file)))
                if parent is not None:
                    parent.append(child)

    def _find(self, name: str, folder: Path) -> Path | None:
        places = (
            [Path(name)]
            if name.startswith('/')
            else [base / name for base in (folder, *folder.parents[:3])]
        )
        return next((p for p in places if p.is_file()), None)


class _Part(NamedTuple):
    """A part of a link: its shape and solid in the link's frame, what it displaces, its roles."""

    shape: Shape
    solid: shapes.Shape
    volume: float
    mass: float
    buoyant: bool
    external: bool
    element: Reader


class _StonefishReader:
    """Reads one robot of a scenario."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path, self.options = path, options
        self.parts: dict[str, list[_Part]] = {}
        self.density = Sourced(_DENSITY, 'no <ocean><water density> in the file', True)
        self.materials: dict[str, float] = {}
        self.drags: dict[str, tuple[np.ndarray, np.ndarray, str]] = {}

    def read(self, root: Element) -> Draft:
        files = _Files(self.path, self.options.arguments)
        files.fill(root)
        source = self.source = str(self.path)
        robot = self._choose(root)
        reader = Reader(robot, str(robot.get('_source', source)))
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
        self._lump()
        return self.draft

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
            reader = Reader(water, self.source)
            if water.get('density'):
                self.density = Sourced(
                    reader.attribute_number('density', _DENSITY, 1.0, 2e4), origin_of(reader)
                )
        for material in root.iter('material'):
            if material.get('density') and material.get('name'):
                reader = Reader(material, self.source)
                self.materials[str(material.get('name'))] = reader.attribute_number(
                    'density', 1000.0, 1e-3, 1e5
                )

    def _links(self, robot: Reader) -> None:
        for element in robot.element:
            if element.tag in ('base_link', 'link'):
                reader = Reader(element, str(element.get('_source', robot.source)))
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
        self.parts[name] = []
        if kind != 'compound':
            self._part(reader, name, IDENTITY, internal=False)
        else:
            for element in reader.element:
                if element.tag in ('external_part', 'internal_part'):
                    part = Reader(element, reader.source)
                    pose = ned_pose(part.child('compound_transform'))
                    self._part(part, name, pose, internal=element.tag == 'internal_part')
        self._properties(reader, name)
        visuals = tuple(p.shape for p in self.parts[name] if p.external)
        self.draft.links[name] = replace(
            self.draft.links[name],
            visuals=tuple(self._visuals(reader, name)) or visuals,
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
        self.drags[name] = (cd, cf, origin)
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

    def _shape(self, reader: Reader, pose: Pose) -> Shape | None:
        """Return the physical shape of a part in its link."""
        kind, origin = reader.attribute('type'), origin_of(reader)
        size = reader.child('dimensions')
        at = pose.then(ned_pose(reader.child('origin')))
        if kind == 'model':
            physical = reader.child('physical')
            if physical is None:
                raise reader.error('has no <physical>')
            return self._mesh(physical, pose, origin)
        if size is None:
            raise reader.error('has no <dimensions>')
        if kind == 'box':
            edges = size.numbers({3}, size.attribute('xyz'))
            return Shape('box', tuple(self._lengths(size, edges)), at, origin)
        if kind == 'cylinder':
            values = [size.attribute_number(tag, 0.0) for tag in ('radius', 'height')]
            return Shape('cylinder', tuple(self._lengths(size, np.array(values))), at, origin)
        if kind == 'sphere':
            radius = self._lengths(size, np.array([size.attribute_number('radius', 0.0)]))
            return Shape('sphere', tuple(radius), at, origin)
        self.draft.drop(f'{origin}: a {kind!r} is no shape of a vehicle here')
        return None

    @staticmethod
    def _lengths(reader: Reader, values: np.ndarray) -> list[float]:
        if np.any(values <= 0) or np.any(values > FARTHEST):
            raise reader.error(f'has the size {values.tolist()}; expected positive lengths in m')
        return [float(v) for v in values]

    def _mesh(self, reader: Reader, pose: Pose, origin: str) -> Shape:
        mesh = reader.child('mesh')
        if mesh is None:
            raise reader.error('has no <mesh filename="..."/>')
        scale = mesh.attribute_number('scale', 1.0, 1e-6, 1e6)
        at = in_ned(pose.then(ned_pose(reader.child('origin'))))
        uri = self._file(mesh.attribute('filename'))
        return Shape('mesh', (scale, scale, scale), at, origin, uri)

    def _file(self, name: str) -> str:
        """Return the URI of a mesh, looked for around the scenario."""
        folder = self.path.resolve().parent
        if name.startswith('/'):
            return Path(name).as_uri()
        for parent in (folder, *folder.parents[:3]):
            for place in (
                parent / name,
                parent / 'data' / name,
                parent / 'Data' / name,
                parent / 'resources' / name,
            ):
                if place.is_file():
                    return place.as_uri()
        return name

    def _visuals(self, reader: Reader, link: str) -> list[Shape]:
        visual = reader.child('visual')
        if visual is None:
            return []
        del link
        return [self._mesh(visual, IDENTITY, origin_of(visual))]

    def _part(self, reader: Reader, link: str, pose: Pose, *, internal: bool) -> None:
        shape = self._shape(reader, pose)
        if shape is None:
            return
        try:
            made = _solid(shape, self.path.parent)
        except ModelError as error:
            self.draft.drop(f'{shape.origin}: the part is left out: {error}')
            return
        volume = self._wall(reader, made)
        buoyant = reader.attribute('buoyant', 'true').lower() not in ('false', '0')
        whole: Any = reader.element.getparent() if 'part' in reader.element.tag else None
        owner = reader if whole is None else Reader(whole, reader.source)
        in_water = owner.attribute('physics', 'submerged') in ('submerged', 'floating')
        self.parts[link].append(
            _Part(
                shape,
                made,
                volume,
                self._mass(reader, volume),
                buoyant and in_water,
                not internal and in_water,
                reader,
            )
        )

    def _wall(self, reader: Reader, made: shapes.Shape) -> float:
        """Return the volume of a part: of its wall where it has a thickness."""
        thickness = reader.element.find('physical/thickness')
        if thickness is None:
            return made.volume
        shell = Reader(thickness, reader.source).attribute_number('value', 0.0, 0.0, 1e3)
        return min(made.area * shell, made.volume) if shell > 0 else made.volume

    def _mass(self, reader: Reader, volume: float) -> float:
        mass = reader.child('mass')
        if mass is not None:
            return mass.attribute_number('value', 0.0, 0.0, 1e9)
        material = reader.child('material')
        name = '' if material is None else material.attribute('name', '')
        if name not in self.materials:
            self.draft.assume(
                f'{origin_of(reader)}: material {name!r} is not in the file; neutral, '
                f'{self.density.value:g} kg/m³'
            )
        return self.materials.get(name, self.density.value) * volume

    def _rest(self, robot: Reader) -> None:
        """Take joints and sensors."""
        for element in robot.element:
            reader = Reader(element, str(element.get('_source', robot.source)))
            if element.tag == 'joint':
                self._joint(reader)
            elif element.tag in ('sensor', 'comm'):
                read_sensor(self.draft, reader)

    def _joint(self, reader: Reader) -> None:
        names = []
        for tag in ('parent', 'child'):
            end = reader.child(tag)
            if end is None:
                raise reader.error(f'has no <{tag} name="..."/>')
            names.append(self.draft.known_link(end, end.attribute('name')))
        kind = reader.attribute('type')
        if kind not in ('fixed', 'revolute', 'prismatic'):
            self.draft.drop(f'{origin_of(reader)}: {kind} joints are fixed here')
            kind = 'fixed'
        axis = reader.child('axis')
        along_ = np.array([1.0, 0.0, 0.0])
        if axis is not None:
            along_ = axis.numbers({3}, axis.attribute('xyz', '1 0 0'))
        length = float(np.linalg.norm(along_))
        if not 1e-9 < length < np.inf:
            raise reader.error('its <axis> has no length; expected a direction')
        x, y, z = (float(v) for v in SIGNS * along_ / length)
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
            names[0],
            names[1],
            ned_pose(reader.child('origin')),
            (x, y, z),
            lower,
            upper,
            1.0,
            origin_of(reader),
        )

    def _actuators(self, robot: Reader) -> None:
        for element in robot.element.findall('actuator'):
            reader = Reader(element, str(element.get('_source', robot.source)))
            kind = reader.attribute('type')
            if kind == 'thruster':
                self._thruster(reader)
            elif kind in ('simple_thruster', 'push'):
                self._simple_thruster(reader)
            elif kind in ('servo', 'motor'):
                self.draft.drop(f'{origin_of(reader)}: {kind}: our joints have no gains')
            else:
                self.draft.drop(f'{origin_of(reader)}: {kind} is not simulated')

    def _place(self, reader: Reader) -> Pose:
        """Return the frame of an actuator in the base; its thrust is along x."""
        link = reader.child('link')
        if link is None:
            raise reader.error('has no <link name="..."/>')
        name = self.draft.known_link(link, link.attribute('name'))
        return self.draft.pose_of(name).then(ned_pose(reader.child('origin')))

    def _simple_thruster(self, reader: Reader) -> None:
        specs = reader.child('specs')
        ends = [0.0, 0.0]
        if specs is not None:
            names = ('lower_thrust_limit', 'upper_thrust_limit')
            if reader.attribute('type') == 'push':
                names = ('lower_limit', 'upper_limit')
            ends = [specs.attribute_number(tag, 0.0, -1e9, 1e9) for tag in names]
        if not ends[0] < ends[1]:
            from marine_sim_ros.importers.curves import thrust_limit

            most = thrust_limit(self.draft, reader.attribute('name')).value
            ends = [-most, most]
        inverted = specs is not None and specs.attribute('inverted', 'false') == 'true'
        self._add_thruster(
            reader,
            lambda f: f,
            min(ends[0], 0.0),
            max(ends[1], 0.0),
            -1.0 if inverted else 1.0,
            speed=False,
        )

    def _thruster(self, reader: Reader) -> None:
        specs, model = reader.child('specs'), reader.child('thrust_model')
        propeller = reader.child('propeller')
        if specs is not None and propeller is not None and specs.element.get('max_rpm'):
            self._old_thruster(reader, specs, propeller)
            return
        if specs is None or model is None or propeller is None:
            raise reader.error('expected <specs>, <propeller> and <thrust_model>')
        most = specs.attribute_number('max_setpoint', 0.0, 0.0, 1e6)
        diameter = propeller.attribute_number('diameter', 0.0, 0.0, 10.0)
        right = propeller.attribute('right', 'true').lower() in ('true', '1')
        thrust_of = self._model(model, diameter, right)
        inverted = specs.attribute('inverted_setpoint', 'false').lower() in ('true', '1')
        kind = model.attribute('type')
        sign = -1.0 if inverted else 1.0
        if not right and kind != 'fluid_dynamics':
            sign = -sign
        if kind == 'fluid_dynamics' and not right:
            sign = -sign  # its own formula turns with the hand of the propeller
        self._add_thruster(reader, thrust_of, -most, most, sign, speed=True)
        made = self.draft.thrusters[-1]
        if kind == 'fluid_dynamics':
            ratio = Sourced(1.0, f'{origin_of(model)}: k_T(J) = k_T (1 − J)')
            made = replace(made, zero_thrust_advance_ratio=ratio)
        self.draft.thrusters[-1] = replace(
            made,
            direction='cw' if right else 'ccw',
            diameter=Sourced(diameter, origin_of(propeller)) if diameter > 0 else None,
            time_constant=self._lag(reader),
        )

    def _old_thruster(self, reader: Reader, specs: Reader, propeller: Reader) -> None:
        """Take a thruster of Stonefish before 1.4: k_T and the largest rpm."""
        constant = specs.attribute_number('thrust_coeff', 0.0, 0.0, 1e3)
        astern = specs.attribute_number('thrust_coeff_backward', constant, 0.0, 1e3)
        most = specs.attribute_number('max_rpm', 0.0, 0.0, 1e6) * np.pi / 30
        diameter = propeller.attribute_number('diameter', 0.0, 0.0, 10.0)
        right = propeller.attribute('right', 'true').lower() in ('true', '1')
        sign = -1.0 if specs.attribute('inverted', 'false').lower() in ('true', '1') else 1.0
        factor = self.density.value * diameter**4 / (2 * np.pi) ** 2
        self._add_thruster(
            reader,
            lambda w: factor * (constant if w >= 0 else astern) * w * abs(w),
            -most,
            most,
            sign,
            speed=True,
        )
        origin = origin_of(specs)
        self.draft.thrusters[-1] = replace(
            self.draft.thrusters[-1],
            direction='cw' if right else 'ccw',
            diameter=Sourced(diameter, origin_of(propeller)) if diameter > 0 else None,
            zero_thrust_advance_ratio=Sourced(1.0, f'{origin}: k_T(J) = k_T (1 − J)'),
        )

    def _lag(self, reader: Reader) -> Sourced[float] | None:
        dynamics = reader.child('rotor_dynamics')
        kind = '' if dynamics is None else dynamics.attribute('type', '')
        if dynamics is None or kind == 'zero_order':
            return None
        if kind == 'first_order':
            constant = dynamics.child('time_constant')
            if constant is None:
                return None
            value = constant.attribute_number('value', 0.0, 0.0, 60.0)
            return Sourced(value, origin_of(constant))
        self.draft.drop(f'{origin_of(dynamics)}: {kind} dynamics of a rotor; it follows at once')
        return None

    def _model(self, model: Reader, diameter: float, right: bool) -> Callable[[float], float]:
        kind = model.attribute('type')

        def value(tag: str, attribute: str = 'value') -> float:
            element = model.child(tag)
            if element is None:
                raise model.error(f'has no <{tag}>')
            return element.attribute_number(attribute, 0.0, -1e9, 1e9)

        if kind == 'quadratic':
            constant = value('thrust_coeff')
            return lambda w: constant * w * abs(w)
        if kind == 'deadband':
            ahead, astern = value('thrust_coeff', 'forward'), value('thrust_coeff', 'reverse')
            low, high = value('deadband', 'lower'), value('deadband', 'upper')
            return lambda w: (
                astern * min(w * abs(w) - low, 0.0) + ahead * max(w * abs(w) - high, 0.0)
            )
        if kind == 'linear_interpolation':
            tables = []
            for tag in ('input', 'output'):
                element = model.child(tag)
                if element is None:
                    raise model.error(f'has no <{tag}>')
                tables.append(element.numbers(set(range(1, 2001)), element.attribute('value')))
            if len(tables[0]) != len(tables[1]):
                raise model.error('expected as many numbers in <input> as in <output>')
            order = np.argsort(tables[0], kind='stable')
            at, thrust = tables[0][order], tables[1][order]
            return lambda w: float(np.interp(w, at, thrust))
        if kind == 'fluid_dynamics':
            ahead, astern = value('thrust_coeff', 'forward'), value('thrust_coeff', 'reverse')
            factor = self.density.value * diameter**4 / (2 * np.pi) ** 2
            del right
            return lambda w: factor * (ahead if w >= 0 else astern) * w * abs(w)
        raise model.error(
            f'type {kind!r}; expected quadratic, deadband, linear_interpolation or fluid_dynamics'
        )

    def _add_thruster(
        self,
        reader: Reader,
        thrust_of: Callable[[float], float],
        low: float,
        high: float,
        sign: float,
        *,
        speed: bool,
    ) -> None:
        if not low < high:
            raise reader.error('has no range of set-points')
        curve, mirrored = sampled_curve(lambda c: sign * thrust_of(c), low, high, speed=speed)
        pose = self._place(reader)
        axis = rotation_matrix(pose.quaternion)[:, 0]
        self.draft.thrusters.append(
            Thruster(
                reader.attribute('name').replace('/', '_'),
                along(pose.translation, -axis if mirrored else axis),
                Sourced(curve, origin_of(reader)),
            )
        )

    def _weigh(self) -> None:
        """Give every link its mass, from its parts where it is not given as a whole."""
        for name, parts in self.parts.items():
            link = self.draft.links.get(name)
            if link is None or link.inertial is not None or not parts:
                continue
            bodies = []
            for part in parts:
                tensor = _tensor(part.solid, part.mass)
                bodies.append(Inertia(part.mass, part.solid.center, tensor))
            total = combined_inertia(bodies)
            origin = f'{parts[0].shape.origin}: masses and shapes of {len(parts)} part(s)'
            self.draft.links[name] = replace(
                link,
                inertial=Inertial(
                    Sourced(total.mass, origin),
                    Pose(total.center_of_mass, IDENTITY.quaternion),
                    Sourced(total.tensor, origin),
                ),
            )

    def _lump(self) -> None:
        """Lump volumes, drag and added mass.

        Volume: of the buoyant parts of each link, its centre their centroid. Drag: what
        Stonefish computes of the outer panels under water for motion along and about one axis
        through the centre of mass at a time. Added mass: of the ellipsoid as large and as long.
        """
        draft = self.draft
        draft.water_density = self.density
        outer = []
        for name, parts in self.parts.items():
            if name not in draft.links:
                continue
            self._displace(name, [p for p in parts if p.buoyant])
            pose = draft.pose_of(name)
            turn = rotation_matrix(pose.quaternion)
            cd, cf, origin = self.drags[name]
            if not origin and any(p.external for p in parts):
                words = ' '.join(f'{c:.3g}' for c in cd)
                draft.assume(f'link {name!r}: C_d {words} of an ellipsoid, C_f a tenth of it')
            outer += [
                _Skin(shapes.moved(p.solid, turn, pose.translation), turn, cd, cf)
                for p in parts
                if p.external
            ]
        if not outer:
            return
        origin = self.drags[draft.base][2]
        density = self.density.value
        center = draft.center_of_mass()
        linear, quadratic = _drag(outer, density, center)
        solids = [skin.solid for skin in outer]
        volume = sum(s.volume for s in solids)
        amid = sum(s.volume * s.center for s in solids) / volume
        second = sum(
            s.second_moment + s.volume * np.outer(s.center - amid, s.center - amid) for s in solids
        )
        added = estimate_added_mass(float(volume), np.asarray(amid), np.asarray(second), density)
        draft.assume('added mass: of the ellipsoid as large and as long as the outer parts')
        rule = f'{origin or "C_d, C_f"}: drag of Stonefish under water, one axis at a time'
        draft.assume(f'drag: {rule}')
        draft.hydrodynamics = Hydrodynamics(
            self.density,
            Sourced(added, 'ellipsoid as large and as long as the outer parts', True),
            Sourced(np.diag(linear), rule, not origin),
            Sourced(np.diag(quadratic), rule, not origin),
            center=Sourced(center, 'centre of mass, about which Stonefish reckons'),
        )

    def _displace(self, link: str, parts: list[_Part]) -> None:
        volume = sum(p.volume for p in parts)
        if volume <= 0:
            return
        center = sum(p.volume * p.solid.center for p in parts) / volume
        low, high = box_around([p.solid for p in parts])
        origin = f'{parts[0].shape.origin}: volume of {len(parts)} buoyant part(s)'
        self.draft.volumes.append(
            Volume(
                link,
                Sourced(float(volume), origin),
                Sourced(np.asarray(center), origin),
                Sourced(float(high[2] - low[2]), 'height of the buoyant parts'),
            )
        )


def _solid(shape: Shape, folder: Path) -> shapes.Shape:
    """Return the solid of a shape in its link; a mesh as Stonefish takes it, not repaired."""
    if shape.kind != 'mesh':
        return solid(shape, folder, [])
    mesh = read_mesh(mesh_path(shape.uri, folder))
    if not len(mesh.faces):
        raise ModelError(f'{shape.uri}: the mesh has no triangles')
    vertices = np.array(mesh.vertices, float) * np.array(shape.size)
    if not np.all(np.abs(vertices) < FARTHEST):
        raise ModelError(f'{shape.uri}: the mesh has vertices beyond {FARTHEST:g} m')
    made = shapes.shape_of(vertices, np.array(mesh.faces))
    if made.volume < 0:
        made = shapes.shape_of(vertices, np.array(mesh.faces)[:, ::-1])
    if not made.volume > 0:
        raise ModelError(f'{shape.uri}: the mesh encloses no volume')
    turn = rotation_matrix(shape.pose.quaternion)
    return shapes.moved(made, turn, shape.pose.translation)


def _tensor(made: shapes.Shape, mass: float) -> np.ndarray:
    """Return the inertia (3, 3) of a homogeneous solid about its centre."""
    if made.volume <= 0:
        return np.zeros((3, 3))
    second = made.second_moment * (mass / made.volume)
    return np.asarray(np.trace(second) * np.eye(3) - second)


class _Skin(NamedTuple):
    """Outer panels in the base, the rotation of their link, and its C_d and C_f along its axes."""

    solid: shapes.Shape
    turn: np.ndarray
    cd: np.ndarray
    cf: np.ndarray


def _drag(skins: list[_Skin], density: float, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear (6,) and quadratic (6,) damping of panels about a point (3,).

    With the velocity w of a panel against the water, its area A and outward normal n:
    F_q = −½ ρ C_d w |w| (w·n) A where w·n > 0, F_f = −ρ C_f (w − (w·n) n) A; C is Σ C_i |e_i|
    with the direction e of the force, or of the moment, of a link.
    """
    linear, quadratic = np.zeros(6), np.zeros(6)
    for skin in skins:
        corners = skin.solid.vertices[skin.solid.faces] - center
        a, b, c = np.moveaxis(corners, 1, 0)
        vector = np.cross(b - a, c - a) / 2
        area = np.linalg.norm(vector, axis=1)
        normal = vector / np.maximum(area, 1e-300)[:, None]
        arm = corners.mean(axis=1)
        for axis in range(6):
            unit = np.eye(3)[axis % 3]
            moved = np.tile(unit, (len(arm), 1)) if axis < 3 else np.cross(unit, arm)
            ahead = np.einsum('ni,ni->n', moved, normal)
            speed = np.linalg.norm(moved, axis=1)
            pressure = moved * (speed * np.maximum(ahead, 0.0) * area)[:, None]
            friction = (moved - ahead[:, None] * normal) * area[:, None]
            for result, force, factors, scale in (
                (quadratic, pressure, skin.cd, 0.5),
                (linear, friction, skin.cf, 1.0),
            ):
                total = (force if axis < 3 else np.cross(arm, force)).sum(axis=0)
                size = float(np.linalg.norm(total))
                if size > 0:
                    share = np.abs(skin.turn.T @ total) / size
                    result[axis] += scale * density * float(factors @ share * (total @ unit))
    return np.maximum(linear, 0.0), np.maximum(quadratic, 0.0)


def read_stonefish(root: Element, path: Path, options: Options) -> Draft:
    """Return the robot of a Stonefish scenario.

    Args:
        root: the <scenario> element.
        path: the file.
        options: what to take; its arguments stand for $(arg NAME).

    Raises:
        ModelError: no robot, or anything in it that cannot be used.
    """
    return _StonefishReader(path, options).read(root)
