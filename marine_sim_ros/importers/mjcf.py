# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MJCF vehicles: MuJoCo itself reads the file, and is asked for its fluid forces.

Source: MuJoCo documentation, "XML reference" and "Computation: fluid forces". MuJoCo has no
buoyancy but ``gravcomp``, and the virtual mass of an ellipsoid acts there in turns only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.packages import ReadableFolders
from marine_sim_ros.core.spatial import rotation_matrix, skew
from marine_sim_ros.importers.bodies import level_turn
from marine_sim_ros.importers.builder import Options, VehicleBuilder
from marine_sim_ros.importers.description import (
    Hydrodynamics,
    ImportedJoint,
    ImportedLink,
    ImportedShape,
    Inertial,
    Sourced,
    Thruster,
    Volume,
)
from marine_sim_ros.importers.thrusters import linear_thrust_curve, pose_along
from marine_sim_ros.importers.xml_files import IncludedFiles, parse_file
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.xml import Element

__all__ = ['read_mjcf']

_MAX_FILES = 200
"""Files that a model and its includes may name."""
_GAS = 100.0
"""kg/m³; a medium below it is a gas, and the vehicle is one of the air."""
_UNBOUNDED = 1e4
"""N; a motor without <forcerange> and <ctrlrange> has no limit."""


def read_mjcf(path: Path, options: Options) -> VehicleBuilder:
    """Return the vehicle of an MJCF file: a body with a free joint, and what hangs on it.

    Args:
        options: what to take; ``model`` names the body.

    Raises:
        ModelError: MuJoCo refuses the file, it names files elsewhere, or it has no such body.
        MissingPackageError: MuJoCo is not installed.
    """
    mujoco = require('mujoco', 'import of MJCF')
    _check_files(path)
    warnings: list[str] = []
    mujoco.set_mju_user_warning(warnings.append)  # else it writes MUJOCO_LOG.TXT
    try:
        changes: list[str] = []
        model = _compile(mujoco, path, changes)
        builder = _MjcfReader(mujoco, model, path, options).read()
    except (ValueError, RuntimeError) as error:
        raise ModelError(f'{path}: MuJoCo: {" ".join(str(error).split())[:500]}') from None
    finally:
        mujoco.set_mju_user_warning(None)
    for text in dict.fromkeys(' '.join(w.split()) for w in warnings[:20]):
        builder.assume(f'MuJoCo warns: {text[:300]}')
    for text in changes:
        builder.assume(text)
    return builder


def _compile(mujoco: Any, path: Path, changes: list[str]) -> Any:
    """Return the compiled model, without pictures, with planar vehicles free.

    Args:
        changes: takes a line on each change that is more than a picture.
    """
    spec = mujoco.MjSpec.from_file(str(path))
    for texture in spec.textures:
        if texture.file or any(texture.cubefiles):
            texture.file, texture.cubefiles = '', [''] * 6
            texture.builtin, texture.width, texture.height = mujoco.mjtBuiltin.mjBUILTIN_FLAT, 1, 1
    _free_planar_bodies(mujoco, spec, path, changes)
    try:
        return spec.compile()
    except ValueError:
        if not _replace_missing_meshes(mujoco, spec, path, changes):
            raise
        return spec.compile()


def _free_planar_bodies(mujoco: Any, spec: Any, path: Path, changes: list[str]) -> None:
    """Free the bodies that slide along two or three axes, where none has a free joint."""
    kinds = mujoco.mjtJoint
    if any(joint.type == kinds.mjJNT_FREE for joint in spec.joints):
        return
    for body in spec.worldbody.bodies:
        joints = list(body.joints)
        if sum(joint.type == kinds.mjJNT_SLIDE for joint in joints) < 2:
            continue
        names = {joint.name for joint in joints}
        where = f'{path.name} body {body.name!r}'
        changes.append(
            f'{where}: moves freely here; in the source only along and about its '
            f'{len(joints)} joints: {", ".join(sorted(names))}'
        )
        damped = [joint.name for joint in joints if np.any(np.asarray(joint.damping) > 0)]
        if damped:
            changes.append(f'{where}: the damping of joints is left out: {", ".join(damped)}')
        actuators = [a for a in spec.actuators if a.target in names]
        for actuator in actuators:
            changes.append(f'{where}: actuator {actuator.name!r} of its joints is left out')
        watching = [s for s in spec.sensors if s.objname in names]
        for element in (*actuators, *watching, *spec.keys, *joints):
            spec.delete(element)
        body.add_freejoint()


def _replace_missing_meshes(mujoco: Any, spec: Any, path: Path, changes: list[str]) -> bool:
    """Replace geoms of given mass whose mesh files are not there by points; whether any was."""
    folder = path.parent / (spec.meshdir or '')
    missing = {m.name or Path(m.file).stem: m for m in spec.meshes
            if m.file and not (folder / m.file).is_file()}  # fmt: skip
    for geom in spec.geoms:
        if geom.meshname not in missing:
            continue
        if np.isnan(geom.mass) and not geom.parent.explicitinertial:
            return False  # its mass is that of the mesh
        changes.append(
            f'{path.name} geom {geom.name!r}: the mesh {missing[geom.meshname].file} is not '
            'there; it is left out, its mass stays in its origin'
        )
        geom.meshname, geom.type, geom.size = '', mujoco.mjtGeom.mjGEOM_SPHERE, [1e-3, 0, 0]
        geom.contype = geom.conaffinity = 0
    for mesh in missing.values():
        spec.delete(mesh)
    return bool(missing)


def _check_files(path: Path) -> None:
    """Refuse files outside the folder of the description, and includes without end."""
    folders, included = ReadableFolders(path), IncludedFiles()

    def files(element: Element, folder: Path) -> Iterator[Path]:
        compiler = element.find('compiler')
        folders_by_name = (
            {} if compiler is None else {str(k): str(v) for k, v in compiler.attrib.items()}
        )
        for inner in element.iter():
            name = inner.get('file') if isinstance(inner.tag, str) else None
            if not name:
                continue
            below = folders_by_name.get('assetdir') or folders_by_name.get(
                'texturedir' if inner.tag == 'texture' else 'meshdir', ''
            )
            file = folder / ('' if inner.tag == 'include' else below) / str(name)
            yield file
            if inner.tag == 'include' and file.is_file():
                yield from files(included.parse(file, str(path)), folder)

    for count, file in enumerate(files(parse_file(path), path.parent)):
        if count >= _MAX_FILES:
            raise ModelError(f'{path}: names more than {_MAX_FILES} files')
        folders.check(file)


class _MjcfReader:
    """Reads one vehicle of a compiled model."""

    def __init__(self, mujoco: Any, model: Any, path: Path, options: Options) -> None:
        self.mujoco, self.model, self.path, self.options = mujoco, model, path, options
        self.data = mujoco.MjData(model)

    def read(self) -> VehicleBuilder:
        root = self.root = self._root()
        self.base_pose = IDENTITY
        self.builder = VehicleBuilder(
            self.options.model or self._name('BODY', root) or self.path.stem,
            str(self.path),
            'MJCF',
            self.path.parent,
            self.options,
        )
        self.bodies = [b for b in range(self.model.nbody) if self._is_below(b, root)]
        self._level(root)
        for body in self.bodies:
            self._link(body)
            if body != root:
                self._joint(body)
        self.builder.base = self._label(root)
        self._water(root)
        for actuator in range(self.model.nu):
            self._actuator(actuator)
        for sensor in range(self.model.nsensor):
            kind = self.mujoco.mjtSensor(self.model.sensor_type[sensor]).name
            name = self._name('SENSOR', sensor) or str(sensor)
            self.builder.drop(f'sensor {name!r} of type {kind.removeprefix("mjSENS_").lower()!r}')
        return self.builder

    # ---- bodies --------------------------------------------------------------------------------

    def _name(self, kind: str, index: int) -> str:
        found = self.mujoco.mj_id2name(
            self.model, getattr(self.mujoco.mjtObj, f'mjOBJ_{kind}'), index
        )
        return found or ''

    def _label(self, body: int) -> str:
        return self._name('BODY', body) or f'body_{body}'

    def _origin(self, kind: str, index: int) -> str:
        return f'{self.path.name} {kind.lower()} {self._name(kind, index) or index!r}'

    def _root(self) -> int:
        """Return the body with a free joint that is wanted."""
        m = self.model
        free = [
            int(m.jnt_bodyid[j])
            for j in range(m.njnt)
            if m.jnt_type[j] == self.mujoco.mjtJoint.mjJNT_FREE
        ]
        selected = [b for b in free if self.options.model in ('', self._name('BODY', b))]
        if len(selected) != 1:
            names = ', '.join(self._label(b) for b in free) or 'none'
            raise ModelError(
                f'{self.path}: has {len(selected)} bodies with a <freejoint>; expected one, '
                f'chosen by --model NAME; found: {names}'
            )
        return selected[0]

    def _is_below(self, body: int, root: int) -> bool:
        while body not in (0, root):
            body = int(self.model.body_parentid[body])
        return body == root

    def _level(self, root: int) -> None:
        """Turn the body's axes where its z axis is not up, against gravity, at the start."""
        gravity = np.array(self.model.opt.gravity)
        strength = float(np.linalg.norm(gravity))
        up = -gravity / strength if strength > 1e-6 else np.array([0.0, 0.0, 1.0])
        start = rotation_matrix(_pose(np.zeros(3), self.model.body_quat[root]).quaternion)
        found = level_turn(np.asarray(rotation_matrix(_turn_up(up)) @ start))
        if found is not None:
            self.base_pose = Pose(np.zeros(3), found[0])
            self.builder.assume(f'{self._origin("BODY", root)}: {found[1]}')

    def _place(self, body: int, position: Any, quaternion: Any = (1.0, 0.0, 0.0, 0.0)) -> Pose:
        """Return a pose in the link of a body, of its pose in MuJoCo's body."""
        pose = _pose(position, quaternion)
        return self.base_pose.then(pose) if body == self.root else pose

    def _link(self, body: int) -> None:
        m, name = self.model, self._label(body)
        origin = self._origin('BODY', body)
        inertial = Inertial(
            Sourced(float(m.body_mass[body]), origin),
            self._place(body, m.body_ipos[body], m.body_iquat[body]),
            Sourced(np.diag(m.body_inertia[body]), origin),
        )
        first = int(m.body_geomadr[body])
        made = [self._shape(g) for g in range(first, first + int(m.body_geomnum[body]))]
        shapes = [(shape, solid) for shape, solid in made if shape is not None]
        self.builder.links[name] = ImportedLink(
            name,
            inertial,
            tuple(shape for shape, _ in shapes),
            tuple(shape for shape, solid in shapes if solid),
        )

    def _shape(self, geom: int) -> tuple[ImportedShape | None, bool]:
        """Return the shape of a geom, and whether it is solid in MuJoCo (it may collide)."""
        m, types = self.model, self.mujoco.mjtGeom
        kind = m.geom_type[geom]
        size = [float(s) for s in m.geom_size[geom]]
        pose = self._place(int(m.geom_bodyid[geom]), m.geom_pos[geom], m.geom_quat[geom])
        origin = self._origin('GEOM', geom)
        colour = tuple(float(np.clip(c, 0, 1)) for c in m.geom_rgba[geom])
        solid = bool(m.geom_contype[geom] or m.geom_conaffinity[geom])

        def shape(name: str, *edges: float) -> ImportedShape:
            return ImportedShape(name, edges, pose, origin, colour=colour)  # type: ignore[arg-type]

        if kind == types.mjGEOM_BOX:
            return shape('box', *(2 * s for s in size)), solid
        if kind == types.mjGEOM_SPHERE:
            return shape('sphere', size[0]), solid
        if kind == types.mjGEOM_CYLINDER:
            return shape('cylinder', size[0], 2 * size[1]), solid
        if kind == types.mjGEOM_CAPSULE:
            self.builder.assume(f'{origin}: a capsule is a cylinder of its radius and volume here')
            return shape('cylinder', size[0], 2 * size[1] + 4 / 3 * size[0]), solid
        if kind == types.mjGEOM_ELLIPSOID:
            self.builder.assume(
                f'{origin}: an ellipsoid is a box of its proportions and volume here'
            )
            return shape('box', *(2 * s * (np.pi / 6) ** (1 / 3) for s in size)), solid
        label = types(kind).name.removeprefix('mjGEOM_').lower()
        self.builder.drop(f'{origin}: a {label} is no shape of a vehicle here')
        return None, False

    def _joint(self, body: int) -> None:
        m, kinds = self.model, self.mujoco.mjtJoint
        count, first = int(m.body_jntnum[body]), int(m.body_jntadr[body])
        kind, axis, lower, upper = 'fixed', (1.0, 0.0, 0.0), 0.0, 0.0
        name = f'{self._label(body)}_joint'
        if count:
            name = self._name('JOINT', first) or name
            kind = {kinds.mjJNT_HINGE: 'revolute', kinds.mjJNT_SLIDE: 'prismatic'}.get(
                kinds(int(m.jnt_type[first])), 'fixed'
            )
            if count > 1 or kind == 'fixed' or np.any(m.jnt_pos[first]):
                self.builder.drop(
                    f'{self._origin("JOINT", first)}: joints of body {self._label(body)!r} are '
                    'fixed: expected one hinge or slide in its origin'
                )
                kind = 'fixed'
            x, y, z = (float(a) for a in m.jnt_axis[first])
            axis = (x, y, z)
            lower, upper = (float(v) for v in m.jnt_range[first])
            if kind == 'revolute' and not m.jnt_limited[first]:
                kind = 'continuous'
            if m.jnt_stiffness[first] or m.dof_damping[m.jnt_dofadr[first]]:
                self.builder.drop(f'{self._origin("JOINT", first)}: its stiffness and damping')
        self.builder.joints[name] = ImportedJoint(
            name,
            kind,
            self._label(int(m.body_parentid[body])),
            self._label(body),
            self._place(int(m.body_parentid[body]), m.body_pos[body], m.body_quat[body]),
            axis,
            lower,
            upper,
            1.0,
            self._origin('BODY', body),
        )

    # ---- water ---------------------------------------------------------------------------------

    def _water(self, root: int) -> None:
        """Take density, drag and what gravcomp carries."""
        options = self.model.opt
        water = Sourced(float(options.density), f'{self.path.name} <option density>')
        if water.value < _GAS:
            self.builder.assume(
                'no water in the source: <option density> is that of a gas, or none'
            )
            options.density = options.viscosity = 0.0  # the damping of joints stays
            water = Sourced(1000.0, 'no density in the source', True)
        else:
            self.builder.water_density = water
        density = water.value
        options.wind[:] = 0.0
        for body in self.bodies:
            carried = float(self.model.body_gravcomp[body] * self.model.body_mass[body])
            if carried > 0:
                origin = f'{self._origin("BODY", body)}: gravcomp'
                edge = (carried / density) ** (1 / 3)
                center = self._place(body, self.model.body_ipos[body]).translation
                self.builder.volumes.append(
                    Volume(
                        self._label(body),
                        Sourced(carried / density, origin),
                        Sourced(center, f'{origin}, at its centre'),
                        Sourced(edge, 'edge of a cube of the volume', True),
                    )
                )
        linear, quadratic = self._damping(root)
        if not np.all(np.isfinite([linear, quadratic])):
            raise ModelError(f'{self.path}: the fluid forces of MuJoCo are not finite')
        if not (np.any(linear) or np.any(quadratic)):
            return
        origin = 'passive forces of MuJoCo at 1 and 2 m/s or rad/s, one axis at a time'
        self.builder.hydrodynamics = Hydrodynamics(
            water,
            Sourced(self._virtual_mass(root), 'virtual mass of the ellipsoids'),
            Sourced(linear, origin),
            Sourced(quadratic, origin),
        )

    def _damping(self, root: int) -> tuple[np.ndarray, np.ndarray]:
        """Return D_l and D_q (6, 6) of F = −D_l ν − D_q |ν| ν, from forces at two speeds."""
        start = int(self.model.jnt_dofadr[self.model.body_jntadr[root]])
        linear, quadratic = np.zeros((6, 6)), np.zeros((6, 6))
        for axis in range(6):
            slow, fast = (
                (self._passive(root, start, axis, -v) - self._passive(root, start, axis, v)) / 2
                for v in (1.0, 2.0)
            )
            quadratic[:, axis] = fast / 2 - slow
            linear[:, axis] = 2 * slow - fast / 2
        for matrix in (linear, quadratic):
            matrix[np.abs(matrix) < 1e-9 * max(1.0, float(np.abs(matrix).max()))] = 0.0
        return linear, quadratic

    def _passive(self, root: int, start: int, axis: int, speed: float) -> np.ndarray:
        """Return the passive force (6,) on a vehicle that is level and moves along one axis."""
        self.mujoco.mj_resetData(self.model, self.data)
        place = int(self.model.jnt_qposadr[self.model.body_jntadr[root]])
        turn = self.base_pose.quaternion
        self.data.qpos[place : place + 7] = [0, 0, 0, turn[3], *turn[:3]]
        rotate = np.eye(6)  # forces are in the axes of the world, moments in those of the body
        rotate[3:, 3:] = rotation_matrix(turn)
        self.data.qvel[start : start + 6] = speed * rotate.T[:, axis]
        self.mujoco.mj_forward(self.model, self.data)
        return np.asarray(rotate @ self.data.qfrc_passive[start : start + 6])

    def _virtual_mass(self, root: int) -> np.ndarray:
        """Return the added mass (6, 6) of the geoms with the ellipsoid fluid model, joints at 0.

        Σ Jᵀ M J, M of a geom about its centre r in its axes R: J = [Rᵀ, −Rᵀ S(r); 0, Rᵀ].
        """
        m, density = self.model, float(self.model.opt.density)
        self._passive(root, 0, 0, 0.0)  # leaves the vehicle level, in the origin
        total = np.zeros((6, 6))
        for geom in np.flatnonzero(np.isin(m.geom_bodyid, self.bodies)):
            if not m.geom_fluid[geom, 0]:
                continue
            turn = self.data.geom_xmat[geom].reshape(3, 3)
            moved = np.kron(np.eye(2), turn.T)
            moved[:3, 3:] = -turn.T @ skew(self.data.geom_xpos[geom])
            total += moved.T @ np.diag(m.geom_fluid[geom, 6:12] * density) @ moved
        return total

    # ---- actuators -----------------------------------------------------------------------------

    def _actuator(self, index: int) -> None:
        m, kinds = self.model, self.mujoco.mjtTrn
        where = self._origin('ACTUATOR', index)
        kind, target = m.actuator_trntype[index], int(m.actuator_trnid[index, 0])
        plain = m.actuator_gaintype[index] == self.mujoco.mjtGain.mjGAIN_FIXED and (
            m.actuator_biastype[index] == self.mujoco.mjtBias.mjBIAS_NONE
        )
        if kind == kinds.mjTRN_JOINT and m.jnt_type[target] != self.mujoco.mjtJoint.mjJNT_FREE:
            self.builder.note_controller(where, [self._name('JOINT', target)])
            return
        refers = kind == kinds.mjTRN_SITE and m.actuator_trnid[index, 1] < 0
        body = int(m.site_bodyid[target]) if kind == kinds.mjTRN_SITE else -1
        force = np.array(m.actuator_gear[index, :3])
        if not (plain and refers and body in self.bodies and np.any(force)):
            self.builder.drop(f'{where}: expected a motor that pushes along axes of a site')
            self.builder.unread_forces.append(where)
            return
        if np.any(m.actuator_gear[index, 3:]):
            self.builder.drop(f'{where}: the torque of its gear')
        size = float(np.linalg.norm(force))
        low, high = self._range(index)
        pose = self.builder.pose_of(self._label(body))
        site = pose.then(self._place(body, m.site_pos[target], m.site_quat[target]))
        axis = np.asarray(rotation_matrix(site.quaternion)) @ force
        curve = Sourced(linear_thrust_curve(low * size, high * size), where)
        name = (self._name('ACTUATOR', index) or f'thruster_{index}').replace('/', '_')
        self.builder.add_thruster(
            Thruster(name, pose_along(site.translation, axis), curve, link=self._label(body))
        )

    def _range(self, index: int) -> tuple[float, float]:
        """Return the least and the largest force (N) of a motor whose gear is 1."""
        m = self.model
        gain = float(m.actuator_gainprm[index, 0])
        low, high = -_UNBOUNDED, _UNBOUNDED
        if m.actuator_ctrllimited[index]:
            low, high = sorted(gain * float(c) for c in m.actuator_ctrlrange[index])
        if m.actuator_forcelimited[index]:
            limits = m.actuator_forcerange[index]
            low, high = max(low, float(limits[0])), min(high, float(limits[1]))
        if high >= _UNBOUNDED:
            name = self._name('ACTUATOR', index) or str(index)
            self.builder.assume(f'actuator {name!r}: no limit in the source: {_UNBOUNDED:g} N')
        return min(low, 0.0), max(high, 0.0)


def _turn_up(up: np.ndarray) -> np.ndarray:
    """Return the quaternion (4,) x, y, z, w of the least turn of a direction into z."""
    if up[2] < -1 + 1e-9:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return np.array([up[1], -up[0], 0.0, 1 + up[2]]) / np.sqrt(2 + 2 * up[2])


def _pose(position: Any, quaternion: Any) -> Pose:
    """Return a pose of MuJoCo, whose quaternions begin with w."""
    w, x, y, z = (float(q) for q in quaternion)
    return Pose(np.array(position, float), np.array([x, y, z, w]))
