# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Layers of USD files, checked, and shapes in the frame of their link.

The resolver of usd-core also looks into the working folder; so each name is resolved here first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import check_archive, check_file
from marine_sim_ros.core.packages import ReadableFolders
from marine_sim_ros.core.spatial import matrix_quaternion, rotation_matrix
from marine_sim_ros.geometry import shapes
from marine_sim_ros.geometry.mesh_files import SCENE_SUFFIXES
from marine_sim_ros.importers.description import ImportedShape
from marine_sim_ros.importers.geometry import solid
from marine_sim_ros.model.kinematics import MAX_PART_DISTANCE, Pose

__all__ = [
    'PlacedShape',
    'axis_name',
    'check_layers',
    'error_line',
    'pxr',
    'read_prim_shape',
    'split_transform',
]


# Layers of a USD file, checked for location and size before composition.

_MAX_LAYERS = 200
_MAX_BYTES = 100_000_000
_CLIPS = 'clips'


def pxr(name: str) -> Any:
    """Return a module of usd-core, such as ``Usd``.

    Raises:
        MissingPackageError: usd-core is not installed.
    """
    return require(f'pxr.{name}', 'import of USD')


def error_line(error: Exception) -> str:
    """Return the message of a usd-core exception in one line, without C++ locations."""
    text = ' '.join(str(error).split())
    found = text.split(" : '")[1:]
    return '; '.join(part.split("'", 1)[0] for part in found)[:300] or text[:300]


def check_layers(path: Path) -> list[str]:
    """Check the layers that a file names, those of its layers too.

    Returns:
        The names of layers that are not there, or are meshes and no layers.

    Raises:
        ModelError: a layer lies outside the folder of the file, is no USD, or is too large; too
            many layers; names by expressions, or value clips, which are looked up later.
    """
    sdf = pxr('Sdf')
    folders = ReadableFolders(path)
    queue, seen, missing = [str(path.resolve())], set[str](), list[str]()
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        if len(seen) > _MAX_LAYERS:
            raise ModelError(f'{path}: names more than {_MAX_LAYERS} layers')
        layer = _open(name, folders)
        if layer is None:
            missing.append(Path(name).name)
            continue
        for asset in layer.GetCompositionAssetDependencies():
            if asset.startswith('`'):
                raise ModelError(
                    f'{name}: the expression {asset} names a layer; expected the name of a file'
                )
            anchored = sdf.ComputeAssetPathRelativeToLayer(layer, asset)
            found = sdf.Layer.SplitIdentifier(anchored)[0]
            if not pxr('Ar').GetResolver().Resolve(found):
                found = str(path.resolve().parent / found)  # where the stage looks too
            queue.append(found)
    return sorted(missing)


def _open(name: str, folders: ReadableFolders) -> Any:
    """Return a layer, or None where there is no such file.

    Raises:
        ModelError: it may not be read, or cannot be.
    """
    sdf, ar = pxr('Sdf'), pxr('Ar')
    found = str(ar.GetResolver().Resolve(name)) or name
    file = Path(ar.SplitPackageRelativePathOuter(found)[0])
    if not file.is_absolute() and not file.exists():  # of a search path, found nowhere
        return None
    folders.check(file)
    if not file.exists():
        return None
    if file.suffix.lower() in SCENE_SUFFIXES:  # Omniverse reads them by plug-ins of its own
        return None
    check_file(file, _MAX_BYTES, ModelError)
    if file.suffix == '.usdz':
        check_archive(file, _MAX_BYTES, ModelError)
    try:
        layer = sdf.Layer.FindOrOpen(name)
    except pxr('Tf').ErrorException as error:
        raise ModelError(f'{name}: is no USD: {error_line(error)}') from None
    if layer is None:
        return None

    def refuse_clips(at: Any) -> None:
        spec = layer.GetObjectAtPath(at)
        if spec is not None and spec.HasInfo(_CLIPS):
            raise ModelError(f'{name}: <{at}> has value clips, which are not read')

    layer.Traverse(sdf.Path.absoluteRootPath, refuse_clips)
    return layer


# Shapes of USD in the frame of their link; a mesh becomes a box, as URDF needs mesh files.

_SKEW = 1e-4
_AXES = {'X': (2, 1, 0), 'Y': (0, 2, 1), 'Z': (0, 1, 2)}
"""Columns of a frame whose z axis is an axis of a prim."""


class PlacedShape(NamedTuple):
    """A shape in a frame, its solid there, and what was assumed of it."""

    shape: ImportedShape
    solid: shapes.Shape
    note: str = ''


def split_transform(matrix: np.ndarray, where: str) -> tuple[Pose, np.ndarray]:
    """Return pose and scale (3,) of a transform (4, 4) of columns.

    The first scale of a reflection is negative.

    Raises:
        ModelError: it is not finite, flat, too far away, or skewed.
    """
    turn, at = matrix[:3, :3], matrix[:3, 3]
    if not np.all(np.isfinite(matrix)) or np.any(np.abs(at) > MAX_PART_DISTANCE):
        raise ModelError(f'{where}: is beyond {MAX_PART_DISTANCE:g} m')
    scale = np.linalg.norm(turn, axis=0)
    if np.any(scale < 1e-12):
        raise ModelError(f'{where}: its transform has a scale of 0')
    turn = turn / scale
    if np.max(np.abs(turn.T @ turn - np.eye(3))) > _SKEW:
        raise ModelError(f'{where}: its transform is skewed; expected turns and scales')
    if np.linalg.det(turn) < 0:
        mirror = np.array([-1.0, 1.0, 1.0])
        turn, scale = turn * mirror, scale * mirror
    return Pose(np.array(at, float), np.asarray(matrix_quaternion(turn))), scale


def read_prim_shape(prim: Any, matrix: np.ndarray, origin: str, *, hull: str) -> PlacedShape:
    """Return the shape of a prim.

    Args:
        matrix: (4, 4) from its axes and units to the frame in m.
        origin: where it is from.
        hull: how PhysX takes a mesh (``convexHull``, ``boundingCube``, ...); empty: as it looks.

    Raises:
        ModelError: no shape that is known here, or one without a size.
    """
    pose, scale = split_transform(matrix, origin)
    kind = str(prim.GetTypeName())
    if kind == 'Mesh':
        return _mesh(prim, pose, scale, origin, hull)
    if kind not in _READERS:
        raise ModelError(f'{origin}: a {kind} is no shape of a vehicle here')
    shape, note = _READERS[kind](prim, pose, np.abs(scale), origin)
    return PlacedShape(shape, solid(shape, _NOWHERE, []), note)


_NOWHERE = Path()
"""Folder of meshes; shapes without a file need none."""


def _value(prim: Any, name: str) -> Any:
    return prim.GetAttribute(name).Get(pxr('Usd').TimeCode.EarliestTime())


def _length(prim: Any, name: str, origin: str) -> float:
    value = _value(prim, name)
    if value is None or not 0 < value < 1e9:
        raise ModelError(f'{origin}: {name} is {value}; expected a positive length')
    return float(value)


_Made = tuple[ImportedShape, str]


def _cube(prim: Any, pose: Pose, scale: np.ndarray, origin: str) -> _Made:
    edges = _length(prim, 'size', origin) * scale
    return ImportedShape('box', tuple(map(float, edges)), pose, origin), ''


def _sphere(prim: Any, pose: Pose, scale: np.ndarray, origin: str) -> _Made:
    radii = _length(prim, 'radius', origin) * scale
    if np.ptp(radii) < 1e-6 * float(np.max(radii)):
        return ImportedShape('sphere', (float(radii[0]),), pose, origin), ''
    edges = 2 * radii * (np.pi / 6) ** (1 / 3)
    note = f'{origin}: an ellipsoid is a box of its proportions and volume here'
    return ImportedShape('box', tuple(map(float, edges)), pose, origin), note


def axis_name(value: Any, where: str) -> str:
    """Return the name of an axis of a prim.

    Raises:
        ModelError: it is none of X, Y and Z.
    """
    if str(value) not in _AXES:
        raise ModelError(f'{where}: axis is {str(value)[:20]!r}; expected one of: X, Y, Z')
    return str(value)


def _align_axis(prim: Any, pose: Pose, scale: np.ndarray) -> tuple[Pose, float, float]:
    """Return the pose whose z axis is that of a round shape, and its scales across and along."""
    order = _AXES[axis_name(_value(prim, 'axis') or 'Z', str(prim.GetPath()))]
    columns = np.eye(3)[:, order]
    columns[:, 1] *= np.linalg.det(columns)
    rotated = pose.then(Pose(np.zeros(3), np.asarray(matrix_quaternion(columns))))
    across, other, along = scale[list(order)]
    return rotated, float(np.sqrt(across * other)), float(along)


def _round(prim: Any, pose: Pose, scale: np.ndarray, origin: str) -> _Made:
    """Return a cylinder, or one of the volume of a capsule or a cone."""
    rotated, across, along = _align_axis(prim, pose, scale)
    kind = str(prim.GetTypeName())
    names = ('radiusBottom', 'radiusTop') if kind.endswith('_1') else ('radius', 'radius')
    low, high = (_length(prim, name, origin) * across for name in names)
    radius = (low + high) / 2
    length = _length(prim, 'height', origin) * along
    note = '' if kind == 'Cylinder' else f'{origin}: a {kind} is a cylinder of its volume here'
    if kind.startswith('Capsule'):
        length += 4 / 3 * radius
    if kind == 'Cone':
        radius /= np.sqrt(3)
        rotated = rotated.then(Pose(np.array([0, 0, -length / 4]), _LEVEL))
    return ImportedShape('cylinder', (radius, length), rotated, origin), note


_LEVEL = np.array([0.0, 0.0, 0.0, 1.0])
_READERS: dict[str, Callable[[Any, Pose, np.ndarray, str], _Made]] = {
    'Cube': _cube,
    'Sphere': _sphere,
    **dict.fromkeys(('Cylinder', 'Cylinder_1', 'Capsule', 'Capsule_1', 'Cone'), _round),
}


def _mesh(prim: Any, pose: Pose, scale: np.ndarray, origin: str, hull: str) -> PlacedShape:
    """Return a mesh: the box around it, or where it collides one of its volume."""
    points, faces = _triangles(prim, origin)
    points = points * scale
    low, high = points.min(axis=0), points.max(axis=0)
    edges = np.maximum(high - low, 1e-3 * max(float(np.max(high - low)), 1e-9))
    around = shapes.move_shape(shapes.box_shape(edges), np.eye(3), (low + high) / 2)
    made = around if hull in ('', 'boundingCube') else _hull(points, faces, hull, origin)
    shrink = (made.volume / around.volume) ** (1 / 3)
    at = pose.then(Pose(made.center, _LEVEL))
    shape = ImportedShape('box', tuple(float(e) for e in edges * shrink), at, origin)
    placed = shapes.move_shape(made, rotation_matrix(pose.quaternion), pose.translation)
    note = f'{origin}: a mesh is a box of its proportions and volume here' if hull else ''
    return PlacedShape(shape, placed, note)


def _triangles(prim: Any, origin: str) -> tuple[np.ndarray, np.ndarray]:
    """Return points (n, 3) and triangles (m, 3) of a mesh; polygons are cut into fans."""
    attributes = [
        _value(prim, name) for name in ('points', 'faceVertexCounts', 'faceVertexIndices')
    ]
    if any(value is None for value in attributes):
        raise ModelError(f'{origin}: the mesh has no faces')
    points = np.asarray(attributes[0], float).reshape(-1, 3)
    counts, corners = (np.asarray(value, int) for value in attributes[1:])
    fits = len(points) > 3 and len(corners) == counts.sum() and len(corners) > 0
    if not fits or np.any(counts < 3) or np.any((corners < 0) | (corners >= len(points))):
        raise ModelError(f'{origin}: the mesh has no faces, or some of points that are not there')
    if not np.all(np.abs(points) < 1e9):
        raise ModelError(f'{origin}: the mesh has points that are not finite')
    starts = np.repeat(np.cumsum(counts) - counts, counts - 2)
    within = np.concatenate([np.arange(1, n - 1) for n in counts])
    faces = np.stack([corners[starts], corners[starts + within], corners[starts + within + 1]], 1)
    return points, faces


def _hull(points: np.ndarray, faces: np.ndarray, hull: str, origin: str) -> shapes.Shape:
    """Return the collision shape that PhysX gives a moving mesh: hull, pieces, or a sphere."""
    if hull == 'boundingSphere':
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        radius = float(np.max(np.linalg.norm(points - middle, axis=1)))
        return shapes.move_shape(shapes.sphere_shape(radius), np.eye(3), middle)
    if hull in ('convexDecomposition', 'meshSimplification', 'sdf') and _is_closed(faces):
        made = shapes.shape_of(points, faces)
        return made if made.volume > 0 else shapes.shape_of(points, faces[:, ::-1])
    spatial = require('scipy.spatial', 'the hull of a mesh')
    try:
        found = spatial.ConvexHull(points)
    except (spatial.QhullError, ValueError):
        raise ModelError(f'{origin}: the mesh is flat; it collides with nothing here') from None
    outward = found.equations[:, :3]
    a, b, c = (points[found.simplices[:, i]] for i in range(3))
    inward = np.einsum('ij,ij->i', np.cross(b - a, c - a), outward) < 0
    simplices = found.simplices.copy()
    simplices[inward] = simplices[inward][:, ::-1]
    used, renumbered = np.unique(simplices, return_inverse=True)
    return shapes.shape_of(points[used], renumbered.reshape(simplices.shape))


def _is_closed(faces: np.ndarray) -> bool:
    """Return whether every edge is passed once in each direction."""
    edges = Counter(
        (int(a), int(b)) for i, j in ((0, 1), (1, 2), (2, 0)) for a, b in faces[:, [i, j]]
    )
    return all(n == 1 and edges.get((b, a)) == 1 for (a, b), n in edges.items())
