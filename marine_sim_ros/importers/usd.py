# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""USD vehicles: rigid bodies, joints, masses and collisions of UsdPhysics, read by usd-core.

Source: OpenUSD, "UsdPhysics" and its schema. It has no water: no drag, no buoyancy, no thrusters.
A process of its own reads each file: files that break usd-core, or never end, end only that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.processes import Limits, answer_request, call_isolated
from marine_sim_ros.core.spatial import matrix_quaternion, rotation_matrix
from marine_sim_ros.importers.bodies import add_with_axis, choose_base, grow_tree, level_turn
from marine_sim_ros.importers.builder import Options, VehicleBuilder
from marine_sim_ros.importers.description import (
    ImportedJoint,
    ImportedLink,
    ImportedShape,
    Inertial,
    Sourced,
)
from marine_sim_ros.importers.usd_shapes import (
    PlacedShape,
    axis_name,
    check_layers,
    error_line,
    pxr,
    read_prim_shape,
    split_transform,
)
from marine_sim_ros.model.kinematics import IDENTITY, Pose

__all__ = ['USD_SUFFIXES', 'read_stage', 'read_usd']

USD_SUFFIXES = ('.usd', '.usda', '.usdc', '.usdz')
_LIMITS = Limits(seconds=60, address_space=8 << 30)
"""A scene of composed references may need any amount."""

_MAX_PRIMS = 50_000
_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
_PASSIVE = frozenset(
    ('Xform', 'Scope', 'Material', 'Shader', 'NodeGraph', 'GeomSubset', 'Backdrop')
)
"""Types of prims that neither weigh, move, float nor measure."""
_AXES = {'X': (1.0, 0.0, 0.0), 'Y': (0.0, 1.0, 0.0), 'Z': (0.0, 0.0, 1.0)}


@dataclass(eq=False)
class _Body:
    """A rigid body: its prim, transform (4, 4) and pose in the world in m with z up, its link."""

    prim: Any
    matrix: np.ndarray
    pose: Pose
    frame: Pose
    name: str = ''


def read_usd(path: Path, options: Options) -> VehicleBuilder:
    """Return the vehicle of a USD file.

    Args:
        options: what to take; ``model`` names the vehicle or one of its bodies.

    Raises:
        ModelError: it cannot be read, or has no such vehicle.
        MissingPackageError: usd-core is not installed.
    """
    pxr('Tf')
    answer = call_isolated(__name__, (path, options), f'{path}: usd-core', _LIMITS, ModelError)
    assert isinstance(answer, VehicleBuilder)
    return answer


def read_stage(path: Path, options: Options) -> VehicleBuilder:
    """Return the vehicle of a USD file: rigid bodies that joints hold together.

    Args:
        options: what to take; ``model`` names the vehicle or one of its bodies.

    Raises:
        ModelError: usd-core refuses the file, it names layers elsewhere, or has no such vehicle.
    """
    missing = check_layers(path)
    delegate = pxr('UsdUtils').CoalescingDiagnosticDelegate()  # its warnings go nowhere else
    try:
        stage = pxr('Usd').Stage.Open(str(path.resolve()))
        builder = _StageReader(stage, path, options, missing).read()
    except pxr('Tf').ErrorException as error:
        raise ModelError(f'{path}: is no USD: {error_line(error)}') from None
    except (TypeError, ValueError) as error:  # of values whose type is not that of the schema
        words = ' '.join(str(error).split())[:200]
        raise ModelError(
            f'{path}: an attribute is not of the type of its schema: {words}'
        ) from None
    del delegate
    if missing:
        builder.drop(f'layers that are not there, and what they hold: {", ".join(missing[:8])}')
    return builder


class _StageReader:
    """Reads one vehicle of a stage."""

    def __init__(self, stage: Any, path: Path, options: Options, missing: list[str]) -> None:
        self.stage, self.path, self.options, self.missing = stage, path, options, missing
        self.notes: list[str] = []
        geom, physics = pxr('UsdGeom'), pxr('UsdPhysics')
        self.meters = self._unit('metersPerUnit', geom.GetStageMetersPerUnit(stage))
        self.kilograms = self._unit('kilogramsPerUnit', physics.GetStageKilogramsPerUnit(stage))
        self.y_up = geom.GetStageUpAxis(stage) == 'Y'
        if self.y_up:
            self.notes.append(f'{path.name}: upAxis is Y: turned about x, so that z is up')
        self.cache = geom.XformCache(pxr('Usd').TimeCode.EarliestTime())

    def _unit(self, name: str, value: float) -> float:
        if not 1e-9 < value < 1e9:
            raise ModelError(f'{self.path}: {name} is {value:g}; expected a positive number')
        is_authored = self.stage.GetPseudoRoot().HasAuthoredMetadata(name)
        if not is_authored and name == 'metersPerUnit':
            self.notes.append(f'{self.path.name}: no metersPerUnit: {value:g}, the default of USD')
        return float(value)

    def read(self) -> VehicleBuilder:
        prims = list(self._prims())
        bodies = self._bodies(prims)
        joints = [p for p in prims if p.IsA(pxr('UsdPhysics').Joint)]
        parts = self._choose(bodies, joints)
        name = self._name(parts)
        self.builder = VehicleBuilder(name, str(self.path), 'USD', self.path.parent, self.options)
        for text in self.notes:
            self.builder.assume(text)
        self.bodies = {str(b.prim.GetPath()): b for b in parts}
        shapes = self._shapes(prims)
        for body in parts:
            visuals, collisions = shapes[body.name]
            inertial = self._inertial(body)
            self.builder.links[body.name] = ImportedLink(body.name, inertial, visuals, collisions)
        for prim in joints:
            self._joint(prim)
        self.builder.base = choose_base(self.builder, self._articulation_root())
        grow_tree(self.builder)
        self._level_base()
        return self.builder

    def _prims(self) -> Iterator[Any]:
        usd = pxr('Usd')
        for count, prim in enumerate(self.stage.Traverse(usd.TraverseInstanceProxies())):
            if count >= _MAX_PRIMS:
                raise ModelError(f'{self.path}: has more than {_MAX_PRIMS:,} prims')
            yield prim

    def _value(self, prim: Any, name: str, default: Any = None) -> Any:
        """Return an attribute at its earliest time; a default for none, or of an unknown type."""
        value = prim.GetAttribute(name).Get(pxr('Usd').TimeCode.EarliestTime())
        unknown = value is None or isinstance(value, pxr('Sdf').UnregisteredValue)
        return default if unknown else value

    def _origin(self, prim: Any) -> str:
        return f'{self.path.name} <{prim.GetPath()}>'

    # ---- bodies --------------------------------------------------------------------------------

    def _matrix(self, prim: Any) -> np.ndarray:
        """Return the transform (4, 4) of columns from a prim's axes and units to the world."""
        matrix = np.array(self.cache.GetLocalToWorldTransform(prim), float).T
        world = np.eye(4)
        world[:3, :3] = self.meters * (_Y_UP if self.y_up else np.eye(3))
        return np.asarray(world @ matrix)

    def _bodies(self, prims: list[Any]) -> list[_Body]:
        """Return the rigid bodies that move, with names that differ."""
        physics, found = pxr('UsdPhysics'), []
        for prim in prims:
            if not prim.HasAPI(physics.RigidBodyAPI):
                continue
            enabled = self._value(prim, 'physics:rigidBodyEnabled', True)
            if not enabled or self._value(prim, 'physics:kinematicEnabled', False):
                continue
            matrix = self._matrix(prim)
            pose, _ = split_transform(matrix, self._origin(prim))
            back = matrix_quaternion(_Y_UP.T) if self.y_up else IDENTITY.quaternion
            frame = pose.then(Pose(np.zeros(3), np.asarray(back)))
            found.append(_Body(prim, matrix, pose, frame))
        count = Counter(body.prim.GetName() for body in found)
        for body in found:
            plain = body.prim.GetName()
            body.name = plain if count[plain] == 1 else str(body.prim.GetPath()).strip('/')
        return found

    def _owner(self, prim: Any, bodies: dict[str, _Body]) -> _Body | None:
        """Return the body that a prim belongs to: itself, or the nearest above it."""
        while prim and not prim.IsPseudoRoot():
            if (body := bodies.get(str(prim.GetPath()))) is not None:
                return body
            prim = prim.GetParent()
        return None

    def _ends(self, joint: Any) -> list[Any]:
        """Return the two prims that a joint names; None for the world."""
        ends: list[Any] = []
        for name in ('physics:body0', 'physics:body1'):
            relation = joint.GetRelationship(name)
            targets = relation.GetForwardedTargets() if relation else []
            prim = self.stage.GetPrimAtPath(targets[0]) if targets else None
            ends.append(prim if prim else None)
        return ends

    def _choose(self, bodies: list[_Body], joints: list[Any]) -> list[_Body]:
        """Return the bodies of the vehicle that is wanted: those that joints hold together."""
        by_path = {str(b.prim.GetPath()): b for b in bodies}
        group = {b.name: {b.name} for b in bodies}
        for joint in joints:
            owners = [None if e is None else self._owner(e, by_path) for e in self._ends(joint)]
            if owners[0] is None or owners[1] is None:
                continue
            merged = group[owners[0].name] | group[owners[1].name]
            for name in merged:
                group[name] = merged
        vehicles = {id(names): [b for b in bodies if b.name in names] for names in group.values()}
        selected = [v for v in vehicles.values() if self._is_wanted(v)]
        if len(selected) != 1:
            found = ', '.join(self._name(v) for v in list(vehicles.values())[:8]) or 'none'
            raise ModelError(
                f'{self.path}: has {len(selected)} vehicles of rigid bodies '
                f'(PhysicsRigidBodyAPI); expected one, chosen by --model NAME; found: {found}'
            )
        return selected[0]

    def _is_wanted(self, parts: list[_Body]) -> bool:
        requested = self.options.model
        names = {
            self._name(parts),
            *(b.name for b in parts),
            *(str(b.prim.GetPath()) for b in parts),
        }
        return not requested or requested in names

    def _name(self, parts: list[_Body]) -> str:
        """Return the name of the prim around the bodies."""
        path = parts[0].prim.GetPath()
        for body in parts[1:]:
            path = path.GetCommonPrefix(body.prim.GetPath())
        alone = len(parts) == 1 and parts[0].name == 'base_link'
        path = path.GetParentPath() if alone else path
        return str(path.name) or self.path.stem

    def _articulation_root(self) -> str:
        for body in self.bodies.values():
            if body.prim.HasAPI(pxr('UsdPhysics').ArticulationRootAPI):
                return body.name
        return ''

    # ---- shapes and masses ---------------------------------------------------------------------

    def _shapes(self, prims: list[Any]) -> dict[str, tuple[tuple[ImportedShape, ...], ...]]:
        """Return the visuals and collisions of each link; name what is not taken."""
        physics, geom = pxr('UsdPhysics'), pxr('UsdGeom')
        found: dict[str, tuple[list[ImportedShape], list[ImportedShape]]] = {
            body.name: ([], []) for body in self.bodies.values()
        }
        ignored: Counter[str] = Counter()
        for prim in prims:
            owner = self._owner(prim, self.bodies)
            if not prim.IsA(geom.Gprim):
                self._note_other(prim, owner, ignored)
                continue
            if owner is None:
                ignored['shape on no body of the vehicle'] += 1
                continue
            solid = prim.HasAPI(physics.CollisionAPI) and bool(
                self._value(prim, 'physics:collisionEnabled', True)
            )
            image = geom.Imageable(prim)
            seen = image.ComputePurpose() in ('default', 'render') and (
                image.ComputeVisibility() != 'invisible'
            )
            for taken, into, hull in (
                (seen, found[owner.name][0], ''),
                (solid, found[owner.name][1], self._hull(prim)),
            ):
                made = self._place_shape(prim, owner.frame, hull) if taken else None
                if made is not None:
                    into.append(replace(made.shape, colour=self._colour(prim)))
        for label, count in sorted(ignored.items()):
            self.builder.drop(f'{self.path.name}: {count} x {label}')
        return {name: (tuple(v), tuple(c)) for name, (v, c) in found.items()}

    def _hull(self, prim: Any) -> str:
        return str(self._value(prim, 'physics:approximation', 'none')) or 'none'

    def _place_shape(self, prim: Any, frame: Pose, hull: str) -> PlacedShape | None:
        """Return a shape in a frame of the world, or None with a note."""
        inside = np.eye(4)
        turn = np.asarray(rotation_matrix(frame.quaternion)).T
        inside[:3, :3], inside[:3, 3] = turn, -turn @ frame.translation
        try:
            made = read_prim_shape(
                prim, inside @ self._matrix(prim), self._origin(prim), hull=hull
            )
        except ModelError as error:
            self.builder.drop(str(error))
            return None
        if made.note:
            self.builder.assume(made.note)
        return made

    def _colour(self, prim: Any) -> tuple[float, float, float, float] | None:
        colours = self._value(prim, 'primvars:displayColor')
        if colours is None or not len(colours):
            return None
        r, g, b = (float(np.clip(c, 0, 1)) for c in colours[0])
        return (r, g, b, 1.0)

    def _note_other(self, prim: Any, owner: _Body | None, ignored: Counter[str]) -> None:
        """Count a prim that is no shape; name what may exert forces."""
        kind = str(prim.GetTypeName())
        apis = [str(name) for name in prim.GetAppliedSchemas()]
        if any('PhysxForceAPI' in name for name in apis):
            self.builder.drop(f'{self._origin(prim)}: PhysxForceAPI: a constant force')
            self.builder.unread_forces.append(self._origin(prim))
        scripts = self._value(prim, 'omni:scripting:scripts')
        if scripts and owner is not None:
            names = ', '.join(Path(script.path).name for script in list(scripts)[:4])
            self.builder.drop(f'{self._origin(prim)}: script {names}: what it exerts is not known')
            self.builder.unread_forces.append(f'{self._origin(prim)} {names}')
        if kind == 'OmniGraph':
            self.builder.unread_forces.append(f'{self._origin(prim)} {kind}')
        if any(name.startswith('PhysicsDriveAPI') for name in apis):
            ignored['PhysicsDriveAPI: its gains are not read'] += 1
        for name in ('linearDamping', 'angularDamping'):
            if owner is not None and self._value(prim, f'physxRigidBody:{name}', 0.0):
                ignored[f'physxRigidBody:{name}: damping of the physics engine'] += 1
        is_passive = (
            kind in _PASSIVE or kind.startswith('Physics') or kind.endswith(('Light', 'Light_1'))
        )
        if kind and not is_passive:
            ignored[f'{kind}: is not read'] += 1

    def _inertial(self, body: _Body) -> Inertial:
        """Return mass, centre and inertia as UsdPhysics computes them from what is given."""
        physics, origin = pxr('UsdPhysics'), self._origin(body.prim)
        counted = 0

        def of_collision(prim: Any) -> Any:
            nonlocal counted
            info = physics.RigidBodyAPI.MassInformation()
            gf = pxr('Gf')
            info.localPos, info.localRot = gf.Vec3f(0), gf.Quatf(1)
            made = self._place_shape(prim, body.pose, self._hull(prim))
            if made is None:
                info.volume, info.inertia, info.centerOfMass = 0.0, gf.Matrix3f(0), gf.Vec3f(0)
                return info
            counted += 1
            second = made.solid.second_moment
            tensor = (np.trace(second) * np.eye(3) - second) / self.meters**5
            info.volume = made.solid.volume / self.meters**3
            info.centerOfMass = gf.Vec3f(*(float(c) for c in made.solid.center / self.meters))
            info.inertia = gf.Matrix3f(*(float(t) for t in tensor.ravel()))
            return info

        mass, moments, center, axes = physics.RigidBodyAPI(body.prim).ComputeMassProperties(
            of_collision
        )
        if mass <= 0 and self.missing:
            raise ModelError(
                f'{origin}: has no mass and no collisions, which may be in layers that are not '
                f'there: {", ".join(self.missing[:8])}; expected them beside {self.path.name}'
            )
        if mass <= 0:
            rule = f'{origin}: no mass and no collisions: 1 kg and 1 kg·m², the default of PhysX'
            self.builder.assume(rule)
            return Inertial(Sourced(1.0, rule, True), IDENTITY, Sourced(np.eye(3), rule, True))
        if not np.all(np.isfinite([mass, *moments, *center])):
            raise ModelError(f'{origin}: its mass, inertia or centre of mass is not finite')
        axes_attribute = self._value(body.prim, 'physics:principalAxes')
        turn = (
            axes
            if counted or (axes_attribute is not None and axes_attribute.GetLength() > 0)
            else None
        )
        local = Pose(
            np.array(center, float) * self.meters,
            IDENTITY.quaternion if turn is None else _quaternion(turn),
        )
        size = self.kilograms * self.meters**2
        return Inertial(
            Sourced(float(mass) * self.kilograms, origin),
            body.frame.relative(body.pose.then(local)),
            Sourced(np.diag(np.array(moments, float)) * size, origin),
        )

    # ---- joints --------------------------------------------------------------------------------

    def _joint(self, prim: Any) -> None:
        where = self._origin(prim)
        ends = self._ends(prim)
        owners = [None if end is None else self._owner(end, self.bodies) for end in ends]
        parent, child = owners
        if parent is None and child is None:
            return
        if not self._value(prim, 'physics:jointEnabled', True):
            self.builder.drop(f'{where}: the joint is not enabled')
            return
        if parent is None or child is None or parent is child:
            self.builder.drop(f'{where}: a joint to the world, or of a body with itself')
            return
        first, second = (self._end(prim, i, ends[i]) for i in (0, 1))
        at, offset = parent.frame.relative(first), child.frame.relative(second)
        kind, lower, upper = self._kind(prim)
        axis = np.array(_AXES[axis_name(self._value(prim, 'physics:axis', 'X'), where)])
        joint = ImportedJoint(
            str(prim.GetPath()).strip('/')
            if prim.GetName() in self.builder.joints
            else prim.GetName(),
            kind,
            parent.name,
            child.name,
            at.then(offset.relative(IDENTITY)),
            lower=lower,
            upper=upper,
            origin=where,
        )
        if kind == 'fixed':
            self.builder.joints[joint.name] = joint
            return
        if kind != 'continuous':
            self.builder.assume(f'joint {joint.name!r}: velocity 1 rad/s or m/s, none is given')
        add_with_axis(self.builder, joint, at, axis, offset)

    def _end(self, joint: Any, index: int, prim: Any) -> Pose:
        """Return the frame of a joint at one of its prims, in the world."""
        matrix = self._matrix(prim)
        at = self._value(joint, f'physics:localPos{index}', (0.0, 0.0, 0.0))
        turn = self._value(joint, f'physics:localRot{index}')
        pose = split_transform(matrix, self._origin(joint))[0]
        place = matrix @ np.array([*at, 1.0])
        own = IDENTITY.quaternion if turn is None else _quaternion(turn)
        return Pose(place[:3], pose.then(Pose(np.zeros(3), own)).quaternion)

    def _kind(self, prim: Any) -> tuple[str, float, float]:
        """Return the kind of a joint in URDF, and its limits in rad or m."""
        physics, where = pxr('UsdPhysics'), self._origin(prim)
        if prim.IsA(physics.FixedJoint):
            return 'fixed', 0.0, 0.0
        moving = {physics.RevoluteJoint: np.pi / 180, physics.PrismaticJoint: self.meters}
        unit = next((u for schema, u in moving.items() if prim.IsA(schema)), None)
        if unit is None:
            self.builder.drop(f'{where}: {prim.GetTypeName()} joints are fixed here')
            return 'fixed', 0.0, 0.0
        lower, upper = (
            unit * float(self._value(prim, f'physics:{end}Limit', end_value))
            for end, end_value in (('lower', -np.inf), ('upper', np.inf))
        )
        turns = prim.IsA(physics.RevoluteJoint)
        if not np.isfinite([lower, upper]).all():
            return ('continuous' if turns else 'fixed'), 0.0, 0.0
        return ('revolute' if turns else 'prismatic'), lower, upper

    def _level_base(self) -> None:
        """Turn the axes of the body where its z axis does not point up."""
        body = next(b for b in self.bodies.values() if b.name == self.builder.base)
        found = level_turn(np.asarray(rotation_matrix(body.frame.quaternion)))
        if found is None:
            return
        self.builder.assume(f'{self._origin(body.prim)}: {found[1]}')
        own = Pose(np.zeros(3), found[0])
        link = self.builder.links[self.builder.base]
        visuals, collisions = (
            tuple(replace(s, pose=own.then(s.pose)) for s in shapes)
            for shapes in (link.visuals, link.collisions)
        )
        inertial = link.inertial
        if inertial is not None:
            inertial = replace(inertial, pose=own.then(inertial.pose))
        self.builder.links[link.name] = ImportedLink(link.name, inertial, visuals, collisions)
        for name, joint in self.builder.joints.items():
            if joint.parent == link.name:
                self.builder.joints[name] = replace(joint, pose=own.then(joint.pose))


def _quaternion(turn: Any) -> np.ndarray:
    """Return a quaternion (4,) x, y, z, w of USD's, of length 1."""
    values = np.array([*turn.GetImaginary(), turn.GetReal()], float)
    length = float(np.linalg.norm(values))
    return values / length if 1e-12 < length < np.inf else IDENTITY.quaternion


if __name__ == '__main__':
    answer_request(read_stage, ModelError)
