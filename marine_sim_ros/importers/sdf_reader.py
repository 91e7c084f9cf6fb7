# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDF models and worlds -> links, joints and plugins, all poses resolved.

Source: SDFormat 1.11 specification, "Pose Frame Semantics".
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.importers.description import Inertial, Joint, Link, Shape, Sourced
from marine_sim_ros.importers.draft import Draft, Options, Plugin, number, origin_of, text_of
from marine_sim_ros.importers.lenient import parse_file
from marine_sim_ros.importers.tree import choose_base, grow_tree
from marine_sim_ros.model.kinematics import FARTHEST
from marine_sim_ros.model.packages import package_folder
from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['read_pose', 'read_sdf']

_DEEPEST = 8
_ENDLESS = 1e3
"""rad or m; a joint with wider limits turns for ever."""


@dataclass(eq=False)
class _Model:
    """One <model> with what is included in it; names are those within it."""

    reader: Reader
    folder: Path
    frames: dict[str, tuple[str, Element]] = field(default_factory=dict)
    nested: dict[str, tuple[_Model, Pose | None]] = field(default_factory=dict)

    def pose(self, name: str, seen: tuple[str, ...] = ()) -> Pose:
        """Return the pose of a frame in this model.

        Raises:
            ModelError: a frame that does not exist, or that is defined by itself.
        """
        if name in ('', '__model__'):
            return IDENTITY
        if name in seen or len(seen) > 200:
            raise self.reader.error(f'the pose of {name!r} is defined by itself')
        head, _, tail = name.partition('::')
        if tail and head in self.nested:
            return self.pose(head, (*seen, name)).then(self.nested[head][0].pose(tail))
        if name not in self.frames:
            raise self.reader.error(f'names the frame {name!r}, which does not exist')
        parent, element = self.frames[name]
        own = self.nested[name][1] if name in self.nested else None
        pose, relative = read_pose(Reader(element, self.reader.source))
        return self.pose(relative or parent, (*seen, name)).then(pose if own is None else own)


def read_pose(reader: Reader) -> tuple[Pose, str]:
    """Return the <pose> of an element, and the frame that it is relative to."""
    found = reader.element.find('pose')
    if found is None:
        return IDENTITY, ''
    pose = Reader(found, reader.source)
    relative = str(found.get('relative_to', found.get('frame', '')))
    if not (found.text or '').strip():
        return IDENTITY, relative
    if found.get('rotation_format') == 'quat_xyzw':
        values = pose.numbers({7})
        length = float(np.linalg.norm(values[3:]))
        if not length > 0:
            raise pose.error('has a quaternion of length 0')
        turn = values[3:] / length
    else:
        values = pose.numbers({6})
        degrees = str(found.get('degrees', '')).lower() in ('true', '1')
        turn = quaternion_from_rpy(*(np.radians(values[3:]) if degrees else values[3:]))
    if np.any(np.abs(values[:3]) > FARTHEST):
        raise pose.error(f'is beyond {FARTHEST:g} m')
    return Pose(values[:3], turn), relative


def _model_file(uri: str, folder: Path) -> Path:
    """Return the SDF file of an <include>: a folder model://NAME, or a file.

    Raises:
        ModelError: it is nowhere.
    """
    name = uri.partition('://')[2] if '://' in uri else uri
    places = [folder / name, *(parent / name for parent in folder.parents[:4])]
    package, _, below = name.partition('/')
    with contextlib.suppress(ModelError):
        places.insert(0, package_folder(package, folder) / below)
    for place in places:
        if place.is_file():
            return place
        for file in ('model.sdf', *sorted(p.name for p in place.glob('*.sdf'))):
            if (place / file).is_file():
                return place / file
    raise ModelError(
        f'{uri!r} is not beside the model; expected --package-path FOLDER with the folder that '
        f'holds {package!r}'
    )


def _mesh_uri(uri: str, folder: Path) -> str:
    """Return a mesh's URI that our reader finds: of a file where it is there, else as it is."""
    if uri.startswith('file://'):
        name = uri.removeprefix('file://')
        return uri if name.startswith('/') else (folder / name).resolve().as_uri()
    name = uri.partition('://')[2] if '://' in uri else uri
    package, _, below = name.partition('/')
    places = [folder / name, *(parent / name for parent in folder.resolve().parents[:4])]
    with contextlib.suppress(ModelError):
        places.insert(0, package_folder(package, folder) / below)
    for place in places:
        if place.is_file():
            return place.resolve().as_uri()
    return uri if '://' not in uri else uri.replace('model://', 'package://')


class _SdfReader:
    """Reads one vehicle of an SDF file."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path, self.options = path, options
        self.plugins: list[Plugin] = []
        self.world: Element | None = None

    def read(self, root: Element, source: str) -> tuple[Draft, list[Plugin]]:
        found, folder = self._choose(root, source)
        reader = Reader(found, source)
        name = reader.attribute('name', self.path.stem)
        self.draft = Draft(self.options.model or name, str(self.path), 'SDF', folder, self.options)
        model = self._model(found, source, folder, 0)
        self._walk(model, '', IDENTITY)
        if self.world is not None:
            for plugin in self.world.findall('plugin'):
                self.plugins.append(Plugin(Reader(plugin, source)))
        canonical = str(found.get('canonical_link', '')).replace('::', '/')
        names = list(self.draft.links)
        if not canonical and 'base_link' not in names and names:
            canonical = names[0]  # as the specification has it
        self.draft.base = choose_base(self.draft, canonical)
        grow_tree(self.draft)
        return self.draft, self.plugins

    def _choose(self, root: Element, source: str) -> tuple[Element, Path]:
        """Return the <model> that is wanted, and its folder."""
        models = list(root.findall('model'))
        for world in root.findall('world'):
            self.world = world
            models += world.findall('model')
            models += self._included(world, source)
        wanted = [
            m for m in models if not self.options.model or m.get('name') == self.options.model
        ]
        moving = [m for m in wanted if (m.findtext('static') or '').strip() not in ('true', '1')]
        if len(moving) != 1:
            names = ', '.join(str(m.get('name')) for m in models) or 'none'
            raise ModelError(
                f'{source}: has {len(moving)} models that move'
                + (f' called {self.options.model!r}' if self.options.model else '')
                + f'; expected one, chosen by --model NAME; found: {names}'
            )
        return moving[0], Path(str(moving[0].get('_folder', self.path.parent)))

    def _included(self, world: Element, source: str) -> list[Element]:
        result = []
        for include in world.findall('include'):
            uri = (include.findtext('uri') or '').strip()
            try:
                file = _model_file(uri, self.path.parent)
                model = parse_file(file).find('model')
            except ModelError:
                continue
            if model is not None:
                model.set('name', (include.findtext('name') or model.get('name') or '').strip())
                model.set('_folder', str(file.parent))
                result.append(model)
        return result

    def _model(self, element: Element, source: str, folder: Path, depth: int) -> _Model:
        """Return a model with its frames and what it includes."""
        if depth > _DEEPEST:
            raise Reader(element, source).error(f'is nested deeper than {_DEEPEST}')
        model = _Model(Reader(element, source), folder)
        for include in element.findall('include'):
            self._include(model, include, depth)
        for child in element:
            name = str(child.get('name', ''))
            if child.tag == 'link':
                model.frames[name] = ('', child)
            elif child.tag == 'joint':
                below = child.find('child')
                model.frames[name] = ('' if below is None else (below.text or '').strip(), child)
            elif child.tag == 'frame':
                model.frames[name] = (str(child.get('attached_to', '')), child)
            elif child.tag == 'model':
                model.nested[name] = (self._model(child, source, folder, depth + 1), None)
                model.frames[name] = ('', child)
        return model

    def _include(self, model: _Model, include: Element, depth: int) -> None:
        reader = Reader(include, model.reader.source)
        uri = text_of(reader, 'uri')
        try:
            file = _model_file(uri, model.folder)
        except ModelError as error:
            self.draft.drop(f'{origin_of(reader)}: {error}')
            return
        root = parse_file(file)
        found = root.find('model')
        if found is None:
            self.draft.drop(f'{origin_of(reader)}: {uri!r} has no <model>')
            return
        inner = self._model(found, str(file), file.parent, depth + 1)
        name = text_of(reader, 'name', str(found.get('name', '')))
        pose = include.find('pose')
        own = None if pose is not None else read_pose(inner.reader)[0]
        model.nested[name] = (inner, own)
        model.frames[name] = ('', include)
        for plugin in include.findall('plugin'):
            self.plugins.append(Plugin(Reader(plugin, model.reader.source)))

    def _walk(self, model: _Model, prefix: str, at: Pose) -> None:
        """Add the links and joints of a model that has a pose."""
        reader = model.reader
        for element in reader.element.findall('link'):
            self._link(Reader(element, reader.source), model, prefix, at)
        for name, (inner, _) in model.nested.items():
            self._walk(inner, f'{prefix}{name}/', at.then(model.pose(name)))
        for element in reader.element.findall('joint'):
            self._joint(Reader(element, reader.source), model, prefix, at)
        for element in reader.element.findall('plugin'):
            self.plugins.append(Plugin(Reader(element, reader.source)))

    def _link(self, reader: Reader, model: _Model, prefix: str, at: Pose) -> None:
        name = prefix + reader.attribute('name').replace('::', '/')
        if name in self.draft.links:
            raise reader.error('a second link of this name; expected unique names')
        self.draft.notes.setdefault('poses', {})[name] = at.then(
            model.pose(reader.attribute('name'))
        )
        self.draft.links[name] = Link(
            name,
            _inertial(reader, self.draft),
            self._shapes(reader, 'visual', model.folder),
            self._shapes(reader, 'collision', model.folder),
        )
        mass = reader.element.find('inertial/fluid_added_mass')
        if mass is not None:
            self.draft.notes.setdefault('fluid_added_mass', {})[name] = Reader(mass, reader.source)
        for sensor in reader.element.findall('sensor'):
            inner = Reader(sensor, reader.source)
            pose, relative = read_pose(inner)
            if relative:
                pose = model.pose(reader.attribute('name')).seen(model.pose(relative)).then(pose)
            self.draft.notes.setdefault('sensors', []).append((name, inner, pose))
            for plugin in sensor.findall('plugin'):
                self.plugins.append(Plugin(Reader(plugin, reader.source), name))

    def _shapes(self, link: Reader, tag: str, folder: Path) -> tuple[Shape, ...]:
        result = []
        for element in link.element.findall(tag):
            shape = _shape(Reader(element, link.source), folder, self.draft)
            if shape is not None:
                result.append(shape)
        return tuple(result)

    def _joint(self, reader: Reader, model: _Model, prefix: str, at: Pose) -> None:
        name = reader.attribute('name')
        ends = [text_of(reader, end).replace('::', '/') for end in ('parent', 'child')]
        parent, child = (self._owner(model, end, prefix) for end in ends)
        if parent is None or child is None:
            lost = ends[0] if parent is None else ends[1]
            if ends[0] != 'world':
                raise reader.error(f'names no link: {lost!r}')
            self.draft.drop(f'{origin_of(reader)} name="{name}">: a joint to the world')
            return
        poses = self.draft.notes['poses']
        kind, limits = _kind(reader, self.draft)
        joint = Joint(
            prefix + name,
            kind,
            parent,
            child,
            poses[parent].seen(poses[child]),
            origin=origin_of(reader),
            lower=limits.get('lower', 0.0),
            upper=limits.get('upper', 0.0),
            velocity=limits.get('velocity', 1.0),
        )
        if kind == 'fixed':
            self.draft.joints[joint.name] = joint
            return
        frame = at.then(model.pose(name))  # the frame of the joint, in the vehicle
        turn = rotation_matrix(poses[child].seen(frame).quaternion)
        axis = self._axis(reader, model, frame, at)
        along = turn @ axis
        self._add_moving(joint, along, poses[child].seen(frame), axis, poses[parent].seen(frame))

    def _add_moving(
        self, joint: Joint, along: np.ndarray, offset: Pose, axis: np.ndarray, place: Pose
    ) -> None:
        """Add a joint that moves; away from the child's origin with a link of its own."""
        if joint.kind == 'continuous' or np.allclose(offset.translation, 0, atol=1e-9):
            self.draft.joints[joint.name] = replace(joint, axis=_three(along))
            return
        hinge = f'{joint.name}_frame'
        self.draft.links[hinge] = Link(hinge)
        self.draft.notes['poses'][hinge] = IDENTITY
        self.draft.joints[joint.name] = replace(joint, child=hinge, pose=place, axis=_three(axis))
        self.draft.joints[f'{joint.name}_offset'] = Joint(
            f'{joint.name}_offset',
            'fixed',
            hinge,
            joint.child,
            offset.seen(IDENTITY),
            origin=joint.origin,
        )

    def _owner(self, model: _Model, name: str, prefix: str) -> str | None:
        """Return the link that a name stands for: itself, or what a frame is attached to."""
        for _ in range(20):
            if prefix + name in self.draft.links:
                return prefix + name
            if name not in model.frames or model.frames[name][1].tag != 'frame':
                return None
            name = model.frames[name][0]
        return None

    def _axis(self, reader: Reader, model: _Model, frame: Pose, at: Pose) -> np.ndarray:
        """Return the axis (3,) of a joint in its own frame."""
        element = reader.element.find('axis/xyz')
        if element is None:
            return np.array([0.0, 0.0, 1.0])
        xyz = Reader(element, reader.source)
        axis = xyz.numbers({3})
        length = float(np.linalg.norm(axis))
        if not 1e-9 < length < np.inf:
            raise xyz.error('has no length; expected a direction')
        axis = axis / length
        expressed = str(element.get('expressed_in', ''))
        parent_model = (reader.element.findtext('axis/use_parent_model_frame') or '').strip()
        if not expressed and parent_model not in ('1', 'true'):
            return axis
        inside = at.then(model.pose(expressed or '__model__'))
        return rotation_matrix(frame.seen(inside).quaternion) @ axis


def _three(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z


def _inertial(reader: Reader, draft: Draft) -> Inertial | None:
    """Return the <inertial> of a link; a link without one weighs 1 kg in SDF."""
    element = reader.element.find('inertial')
    label = f'link {reader.attribute("name")!r}'
    if element is None:
        draft.assume(f'{label} has no <inertial>: it weighs 1 kg in SDF, 0 here')
        return None
    inertial = Reader(element, reader.source)
    mass = number(inertial, 'mass', 1.0, 0.0, 1e9)
    assert mass is not None
    moments = inertial.element.find('inertia')
    values = dict.fromkeys(('ixx', 'iyy', 'izz'), 1.0) | dict.fromkeys(('ixy', 'ixz', 'iyz'), 0.0)
    origin = 'default of SDF: <inertia> is not given'
    if moments is not None:
        inner = Reader(moments, reader.source)
        origin = origin_of(inner)
        for name in values:
            found = number(inner, name)
            values[name] = values[name] if found is None else found.value
    tensor = np.array(
        [
            [values['ixx'], values['ixy'], values['ixz']],
            [values['ixy'], values['iyy'], values['iyz']],
            [values['ixz'], values['iyz'], values['izz']],
        ]
    )
    return Inertial(mass, read_pose(inertial)[0], Sourced(tensor, origin))


def _shape(reader: Reader, folder: Path, draft: Draft) -> Shape | None:
    """Return a visual or collision, or None with a note."""
    geometry = reader.element.find('geometry')
    inner = None if geometry is None else next((g for g in geometry), None)
    if inner is None or inner.tag == 'empty':
        return None
    shape = Reader(inner, reader.source)
    pose, origin = read_pose(reader)[0], origin_of(reader)
    colour = _colour(reader)
    if inner.tag == 'box':
        size = shape.value_of('size', lambda r: r.numbers({3}), np.ones(3))
        return Shape('box', tuple(map(float, size)), pose, origin, colour=colour)
    if inner.tag in ('cylinder', 'capsule', 'sphere', 'ellipsoid'):
        return _round(shape, pose, origin, colour, draft)
    if inner.tag == 'mesh':
        scale = shape.value_of('scale', lambda r: r.numbers({1, 3}), np.ones(3))
        scale = np.ones(3) * scale
        uri = _mesh_uri(text_of(shape, 'uri'), folder)
        return Shape('mesh', tuple(map(float, scale)), pose, origin, uri, colour)
    draft.drop(f'{origin}: a <{inner.tag}> is no shape of a vehicle here')
    return None


def _round(shape: Reader, pose: Pose, origin: str, colour: Any, draft: Draft) -> Shape | None:
    radius = number(shape, 'radius', 0.5, 1e-6, FARTHEST)
    assert radius is not None
    if shape.element.tag == 'sphere':
        return Shape('sphere', (radius.value,), pose, origin, colour=colour)
    if shape.element.tag == 'cylinder':
        length = number(shape, 'length', 1.0, 1e-6, FARTHEST)
        assert length is not None
        return Shape('cylinder', (radius.value, length.value), pose, origin, colour=colour)
    if shape.element.tag == 'capsule':
        length = number(shape, 'length', 1.0, 1e-6, FARTHEST)
        assert length is not None
        same = length.value + 4 / 3 * radius.value
        draft.assume(f'{origin}: a capsule is a cylinder of the same radius and volume here')
        return Shape('cylinder', (radius.value, same), pose, origin, colour=colour)
    radii = shape.value_of('radii', lambda r: r.numbers({3}), np.ones(3))
    edges = tuple(float(x) for x in 2 * radii * (np.pi / 6) ** (1 / 3))
    draft.assume(f'{origin}: an ellipsoid is a box of the same proportions and volume here')
    return Shape('box', edges, pose, origin, colour=colour)


def _colour(reader: Reader) -> tuple[float, float, float, float] | None:
    element = reader.element.find('material/diffuse')
    if element is None:
        return None
    try:
        values = [float(word) for word in (element.text or '').split()]
    except ValueError:
        return None
    if len(values) not in (3, 4) or not all(0 <= v <= 1 for v in values):
        return None
    return (values[0], values[1], values[2], values[3] if len(values) == 4 else 1.0)


def _kind(reader: Reader, draft: Draft) -> tuple[str, dict[str, float]]:
    """Return the kind of a joint in URDF, and its limits."""
    kind = reader.attribute('type')
    if kind not in ('fixed', 'revolute', 'continuous', 'prismatic'):
        draft.drop(f'{origin_of(reader)}: {kind} joints are fixed here')
        return 'fixed', {}
    if kind in ('fixed', 'continuous'):
        return kind, {}
    limit = reader.element.find('axis/limit')
    if limit is None:
        return ('continuous' if kind == 'revolute' else 'fixed'), {}
    inner = Reader(limit, reader.source)
    values = {}
    for tag in ('lower', 'upper', 'velocity'):
        text = text_of(inner, tag).lower()
        endless = text in ('inf', '-inf', '+inf', '')
        values[tag] = np.inf if endless else float(inner.value_of(tag, Reader.number, np.inf))
    if abs(values['lower']) > _ENDLESS or abs(values['upper']) > _ENDLESS:
        return ('continuous' if kind == 'revolute' else 'fixed'), {}
    if values['lower'] == values['upper'] == 0:
        return 'fixed', {}
    if not np.isfinite(values['velocity']) or values['velocity'] <= 0:
        values['velocity'] = 1.0
        draft.assume(f'joint {reader.attribute("name")!r}: velocity 1 rad/s or m/s, none is given')
    return kind, values


def read_sdf(
    root: Element, source: str, path: Path, options: Options
) -> tuple[Draft, list[Plugin]]:
    """Return the vehicle of an SDF file with the plugins that act on it.

    Args:
        root: the <sdf> element.
        source: name of the file, for messages.
        path: the file.
        options: what to take.

    Raises:
        ModelError: no model, or anything in it that cannot be used.
    """
    return _SdfReader(path, options).read(root, source)
