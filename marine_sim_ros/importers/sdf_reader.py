# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDF models and worlds -> links, joints and plugins, all poses resolved.

Source: SDFormat 1.11 specification, "Pose Frame Semantics".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.bodies import (
    add_with_axis,
    choose_base,
    grow_tree,
    read_inertial,
    read_pose,
    read_shape,
)
from marine_sim_ros.importers.builder import (
    SCOPE,
    Options,
    Plugin,
    VehicleBuilder,
    list_names,
    origin_of,
    read_flag,
    read_text,
)
from marine_sim_ros.importers.description import ImportedJoint, ImportedLink, ImportedShape
from marine_sim_ros.importers.model_files import ModelFolders
from marine_sim_ros.importers.xml_files import expand_includes, folder_of, reader_of
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.xml import Element, Reader

__all__ = ['SdfModel', 'read_frames', 'read_sdf']

_DEEPEST = 8
_ENDLESS = 1e3
"""rad or m; a joint with wider limits turns for ever."""


@dataclass(eq=False)
class SdfModel:
    """One <model> with what is included in it; names are those within it."""

    reader: Reader
    folder: Path
    frames: dict[str, tuple[str, Element]] = field(default_factory=dict)
    nested: dict[str, SdfModel] = field(default_factory=dict)

    def pose(self, name: str, seen: tuple[str, ...] = ()) -> Pose:
        """Return the pose of a frame in this model.

        Raises:
            ModelError: a frame that does not exist, or that is defined by itself.
        """
        if name in ('', '__model__', 'world'):
            return IDENTITY
        if name in seen or len(seen) > 200:
            raise self.reader.error(f'the pose of {name!r} is defined by itself')
        head, _, tail = name.partition('::')
        if tail and head in self.nested:
            return self.pose(head, (*seen, name)).then(self.nested[head].pose(tail))
        if name not in self.frames:
            raise self.reader.error(f'names the frame {name!r}, which does not exist')
        parent, element = self.frames[name]
        pose, relative = read_pose(reader_of(element, self.reader))
        return self.pose(relative or parent, (*seen, name)).then(pose)


def read_frames(reader: Reader, folder: Path, depth: int = 0) -> SdfModel:
    """Return a model, or a world, with its frames and the models in it.

    Raises:
        ModelError: models that are nested too deeply.
    """
    if depth > _DEEPEST:
        raise reader.error(f'is nested deeper than {_DEEPEST}')
    model = SdfModel(reader, folder)
    for child in reader.element:
        name = str(child.get('name', ''))
        if child.tag == 'link':
            model.frames[name] = ('', child)
        elif child.tag == 'joint':
            below = child.find('child')
            model.frames[name] = ('' if below is None else (below.text or '').strip(), child)
        elif child.tag == 'frame':
            model.frames[name] = (str(child.get('attached_to', '')), child)
        elif child.tag == 'model':
            while name in model.nested:  # against the specification, but none may be lost
                name += '_'
            inner = read_frames(reader_of(child, reader), folder_of(child, folder), depth + 1)
            model.nested[name] = inner
            model.frames[name] = ('', child)
    return model


_YES, _NO = ('true', '1'), ('false', '0')
_LINK_SWITCHES = {
    'gravity': (_NO, 'the link has its weight here'),
    'enable_wind': (_YES, "the wind's force is that of the hull above the water here"),
    'kinematic': (_YES, 'the link moves by forces here'),
}
"""Values of a link's settings that are not followed, and what happens instead."""


class _SdfReader:
    """Reads one vehicle of an SDF file."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path, self.options = path, options
        self.plugins: list[Plugin] = []
        self.world: Element | None = None
        self.missing: tuple[str, ...] = ()

    def read(self, root: Element, source: str) -> tuple[VehicleBuilder, list[Plugin]]:
        messages: list[str] = []
        self.missing = expand_includes(
            root, source, self.path.parent, messages.append, ModelFolders(self.path)
        )
        try:
            return self._read_model(root, source, messages)
        except ModelError as error:
            raise ModelError(f'{error}{self._not_found()}') from None

    def _read_model(
        self, root: Element, source: str, messages: Sequence[str]
    ) -> tuple[VehicleBuilder, list[Plugin]]:
        found = self._choose(root, source)
        reader = reader_of(found, Reader(root, source))
        folder = folder_of(found, self.path.parent)
        name = reader.attribute('name', self.path.stem)
        self.builder = VehicleBuilder(
            self.options.model or name, str(self.path), 'SDF', folder, self.options
        )
        for text in messages:
            self.builder.drop(text)
        self.builder.notes['missing'] = self._not_found()
        model = read_frames(reader, folder)
        self._walk(model, '', IDENTITY)
        if not self.builder.links:
            raise reader.error(f'{name!r} has no links; expected a vehicle')
        if self.world is not None:
            self._name_gravity(Reader(self.world, source))
            for plugin in self.world.findall('plugin'):
                self.plugins.append(Plugin(Reader(plugin, source)))
        self._attach()
        canonical = str(found.get('canonical_link', '')).replace('::', '/')
        names = list(self.builder.links)
        if not canonical and 'base_link' not in names and names:
            canonical = names[0]  # as the specification has it
        self.builder.base = choose_base(self.builder, canonical)
        grow_tree(self.builder)
        return self.builder, self.plugins

    def _name_gravity(self, world: Reader) -> None:
        """Note a gravity of the world that does not point down."""
        gravity = world.first('gravity')
        if gravity is not None and not gravity.numbers({3})[2] < 0:
            self.builder.drop(f'{origin_of(gravity)}: gravity points down here')

    def _attach(self) -> None:
        """Fix the links that a DetachableJoint holds, which belong to the vehicle until then."""
        for plugin in self.plugins:
            name = f'{plugin.reader.element.get("name", "")} {plugin.file}'
            if 'DetachableJoint' not in name and 'detachable-joint' not in name:
                continue
            reader = plugin.reader
            model = read_text(reader, 'child_model').removeprefix('__model__')
            ends = [
                read_text(reader, f'{end}_link').replace('::', '/') for end in ('parent', 'child')
            ]
            parent, child = ends[0], f'{model}/{ends[1]}' if model else ends[1]
            poses = self.builder.notes.get('poses', {})
            if parent not in poses or child not in poses:
                continue
            joint = ImportedJoint(
                f'{child}_release',
                'fixed',
                parent,
                child,
                poses[parent].relative(poses[child]),
                origin=origin_of(reader),
            )
            self.builder.joints[joint.name] = joint
            self.builder.assume(
                f'{joint.origin}: link {child!r} is held; it is never released here'
            )

    def _choose(self, root: Element, source: str) -> Element:
        """Return the <model> that is wanted."""
        models = list(root.findall('model'))
        for world in root.findall('world'):
            self.world = world
            models += world.findall('model')
        selected = [
            m for m in models if not self.options.model or m.get('name') == self.options.model
        ]
        moving = [m for m in selected if (m.findtext('static') or '').strip() not in ('true', '1')]
        if len(moving) != 1:
            names = list_names(models)
            raise ModelError(
                f'{source}: has {len(moving)} models that move'
                + (f' called {self.options.model!r}' if self.options.model else '')
                + f'; expected one, chosen by --model NAME; found: {names}'
            )
        return moving[0]

    def _not_found(self) -> str:
        """Return a hint about missing includes, or nothing."""
        if not self.missing:
            return ''
        return f'; included but not there: {"; ".join(self.missing[:4])}'

    def _walk(self, model: SdfModel, prefix: str, at: Pose) -> None:
        """Add the links and joints of a model that has a pose."""
        reader = model.reader
        for element in reader.element.findall('link'):
            self._link(reader_of(element, reader), model, prefix, at)
        for name, inner in model.nested.items():
            self._walk(inner, f'{prefix}{name}/', at.then(model.pose(name)))
        for element in reader.element.findall('joint'):
            self._joint(reader_of(element, reader), model, prefix, at)
        for element in reader.element.findall('plugin'):
            element.set(SCOPE, prefix)
            self.plugins.append(Plugin(reader_of(element, reader)))

    def _link(self, reader: Reader, model: SdfModel, prefix: str, at: Pose) -> None:
        name = prefix + reader.attribute('name').replace('::', '/')
        if name in self.builder.links:
            raise reader.error('a second link of this name; expected unique names')
        self._name_switches(reader, _LINK_SWITCHES)
        self.builder.notes.setdefault('poses', {})[name] = at.then(
            model.pose(reader.attribute('name'))
        )
        self.builder.links[name] = ImportedLink(
            name,
            read_inertial(reader, self.builder),
            self._shapes(reader, 'visual', folder_of(reader.element, model.folder)),
            self._shapes(reader, 'collision', folder_of(reader.element, model.folder)),
        )
        mass = reader.first('inertial/fluid_added_mass')
        if mass is not None:
            self.builder.notes.setdefault('fluid_added_mass', {})[name] = mass
        for sensor in reader.element.findall('sensor'):
            inner = reader_of(sensor, reader)
            pose, relative = read_pose(inner)
            if relative:
                pose = (
                    model.pose(reader.attribute('name')).relative(model.pose(relative)).then(pose)
                )
            self.builder.notes.setdefault('sensors', []).append((name, inner, pose))
            for plugin in sensor.findall('plugin'):
                self.plugins.append(Plugin(Reader(plugin, reader.source), name))

    def _name_switches(
        self, reader: Reader, switches: Mapping[str, tuple[tuple[str, ...], str]]
    ) -> None:
        """Note the children whose value another simulator follows, and this one does not."""
        for tag, (values, meaning) in switches.items():
            found = reader.first(tag)
            if found is not None and read_text(reader, tag).lower() in values:
                self.builder.drop(f'{origin_of(found)}: {meaning}')

    def _shapes(self, link: Reader, tag: str, folder: Path) -> tuple[ImportedShape, ...]:
        result = []
        for element in link.element.findall(tag):
            shape = read_shape(Reader(element, link.source), folder, self.builder)
            if shape is not None:
                result.append(shape)
        return tuple(result)

    def _joint(self, reader: Reader, model: SdfModel, prefix: str, at: Pose) -> None:
        name = reader.attribute('name')
        ends = [read_text(reader, end).replace('::', '/') for end in ('parent', 'child')]
        parent, child = (self._owner(model, end, prefix) for end in ends)
        if parent is None or child is None:
            missing = ends[0] if parent is None else ends[1]
            if ends[0] == 'world':
                why = 'a joint to the world'
            elif self.missing and self.options.skip_missing:
                why = f'a joint of {missing!r}, which is not there'
            else:
                why = '; --skip-missing leaves the joint out' if self.missing else ''
                raise reader.error(f'names no link: {missing!r}{why}')
            self.builder.drop(f'{origin_of(reader)} name="{name}">: {why}')
            return
        poses = self.builder.notes['poses']
        kind, limits = _kind(reader, self.builder)
        joint = ImportedJoint(
            prefix + name,
            kind,
            parent,
            child,
            poses[parent].relative(poses[child]),
            origin=origin_of(reader),
            lower=limits.get('lower', 0.0),
            upper=limits.get('upper', 0.0),
            velocity=limits.get('velocity', 1.0),
        )
        if kind == 'fixed' and reader.first('axis/xyz') is None:
            self.builder.joints[joint.name] = joint
            self.builder.notes.setdefault('without_axis', set()).add(joint.name)
            return
        frame = at.then(model.pose(name))  # the frame of the joint, in the vehicle
        axis = self._axis(reader, model, frame, at)
        place, offset = poses[parent].relative(frame), poses[child].relative(frame)
        add_with_axis(self.builder, joint, place, axis, offset)

    def _owner(self, model: SdfModel, name: str, prefix: str) -> str | None:
        """Return the link that a name stands for: itself, or what a frame is attached to."""
        for _ in range(20):
            if prefix + name in self.builder.links:
                return prefix + name
            if name not in model.frames or model.frames[name][1].tag != 'frame':
                return None
            name = model.frames[name][0]
        return None

    def _axis(self, reader: Reader, model: SdfModel, frame: Pose, at: Pose) -> np.ndarray:
        """Return the axis (3,) of a joint in its own frame."""
        xyz = reader.first('axis/xyz')
        if xyz is None:
            return np.array([0.0, 0.0, 1.0])
        axis = xyz.direction()
        expressed = xyz.attribute('expressed_in', '')
        if not expressed and not read_flag(reader, 'axis/use_parent_model_frame'):
            return axis
        inside = at.then(model.pose(expressed or '__model__'))
        return rotation_matrix(frame.relative(inside).quaternion) @ axis


def _kind(reader: Reader, builder: VehicleBuilder) -> tuple[str, dict[str, float]]:
    """Return the kind of a joint in URDF, and its limits."""
    kind = reader.attribute('type')
    if kind not in ('fixed', 'revolute', 'continuous', 'prismatic'):
        builder.drop(f'{origin_of(reader)}: {kind} joints are fixed here')
        return 'fixed', {}
    if kind in ('fixed', 'continuous'):
        return kind, {}
    limit = reader.first('axis/limit')
    if limit is None:
        return ('continuous' if kind == 'revolute' else 'fixed'), {}
    values = {}
    for tag in ('lower', 'upper', 'velocity'):
        text = read_text(limit, tag).lower()
        endless = text in ('inf', '-inf', '+inf', '')
        values[tag] = np.inf if endless else float(limit.value_of(tag, Reader.number, np.inf))
    if abs(values['lower']) > _ENDLESS or abs(values['upper']) > _ENDLESS:
        return ('continuous' if kind == 'revolute' else 'fixed'), {}
    if values['lower'] == values['upper'] == 0:
        return 'fixed', {}
    if not np.isfinite(values['velocity']) or values['velocity'] <= 0:
        values['velocity'] = 1.0
        builder.assume(
            f'joint {reader.attribute("name")!r}: velocity 1 rad/s or m/s, none is given'
        )
    return kind, values


def read_sdf(
    root: Element, source: str, path: Path, options: Options
) -> tuple[VehicleBuilder, list[Plugin]]:
    """Return the vehicle of an SDF file with the plugins that act on it.

    Args:
        root: the <sdf> element.
        source: name of the file, for messages.
        options: what to take.

    Raises:
        ModelError: no model, or anything in it that cannot be used.
    """
    return _SdfReader(path, options).read(root, source)
