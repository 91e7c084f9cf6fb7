# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Input of the renderer: parts in view, tiles, triangle trees, fiducial markers.

OpenGL on a processor evaluates the whole shader for every pixel, so parts that no ray of a tile
can meet are left out of the shader's loops, or of the shader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.geometry.triangles import TriangleSurface
from marine_sim_ros.scene.bodies import VisiblePart
from marine_sim_ros.scene.obstacles import Fiducial
from marine_sim_ros.sensors.camera.lenses import View
from marine_sim_ros.sensors.seen_bodies import OTHER_VEHICLE, OWN_VEHICLE, label

__all__ = [
    'SeenPart',
    'Tiles',
    'bounding_tree',
    'bounding_trees',
    'cells',
    'fiducial_rows',
    'parts_in_view',
    'tiles_of',
]


# Visible parts of vehicles in the view of a camera, with poses.


class SeenPart(NamedTuple):
    """A part in map axes.

    Attributes:
        place: (3,) from the eye, m.
        turn: (3, 3) v_map = R v_part.
        label: what it is, of :mod:`labels`.
    """

    part: VisiblePart
    place: np.ndarray
    turn: np.ndarray
    label: int


def parts_in_view(environment: Environment, view: View, widest: float) -> list[SeenPart]:
    """Return the parts of the vehicle itself and of others that may be in a picture.

    What is behind the camera is left out, so that the own vehicle costs little; the water's
    surface does not mirror it either.

    Args:
        widest: angle from the axis to the corner that is farthest from it, rad.
    """
    own_vehicle = (environment.looks(), view.position, view.orientation, label(OWN_VEHICLE, 0))
    other_bodies = (
        (
            body.looks(),
            body.position,
            body.orientation,
            label(OTHER_VEHICLE, i) if body.label is None else body.label,
        )
        for i, body in enumerate(environment.bodies)
    )
    result = []
    for parts, position, orientation, part_label in (own_vehicle, *other_bodies):
        rotation = rotation_matrix(orientation)
        for part in parts:
            center = position + rotation @ part.position - view.eye
            if part.kind != 'mesh' and np.linalg.norm(center) < part.size.min() / 2:
                continue  # the eye is in it, and parts are seen from outside alone
            if _may_be_in_cone(
                view.turn[:, 2], center, float(np.linalg.norm(part.size)) / 2, widest
            ):
                result.append(SeenPart(part, center, rotation @ part.rotation, part_label))
    return result


def _may_be_in_cone(axis: np.ndarray, center: np.ndarray, radius: float, widest: float) -> bool:
    """Return whether a ball may be in a cone about an axis."""
    far = float(np.linalg.norm(center))
    if far <= radius:
        return True
    angle = np.arccos(np.clip(axis @ center / far, -1.0, 1.0))
    return bool(angle - np.arcsin(radius / far) <= widest)


# Tiles of a picture with view cones, which select the parts that a pixel tests.

_BOX_SPHERES, _LONG_BOX_SPHERES = 6, 24
"""Number of covering spheres of a box, and of a long one."""
_LONG = 8.0
"""Times its thickness."""
_SLACK = 1e-4
"""rad, for rounding."""


@dataclass(frozen=True)
class Tiles:
    """Tiles of a lens, row by row.

    Attributes:
        axes: (m, 3) middle of the rays of each tile, frame of the camera.
        spread: (m,) angle from that to the ray that is farthest from it, rad.
        across: tiles in a row.
    """

    axes: np.ndarray
    spread: np.ndarray
    across: int

    def z_bounds(self, rotation: np.ndarray) -> np.ndarray:
        """Return bounds (m, 2) of the z of the rays' directions in map: lowest, highest.

        Args:
            rotation: (3, 3) v_map = R v_camera.
        """
        rise = np.arcsin(np.clip(self.axes @ rotation[2], -1.0, 1.0))[:, None]
        angles = rise + self.spread[:, None] * np.array([-1.0, 1.0])
        return np.sin(np.clip(angles, -np.pi / 2, np.pi / 2))

    def sees(
        self,
        rotation: np.ndarray,
        centers: np.ndarray,
        axes: np.ndarray,
        halves: np.ndarray,
        slack: float = 0.0,
    ) -> np.ndarray:
        """Return whether boxes may be in tiles, (m, k); false only where they are not.

        A box is in a row of balls along its longest side, and where the eye is beyond one of its
        sides, only rays that go back from there can meet it.

        Args:
            rotation: (3, 3) v_map = R v_camera.
            centers: (k, 3) middles from the eye, map, m.
            axes: (k, 3, 3) axes of each box in map, row by row.
            halves: (k, 3) half of each size, m.
            slack: angle by which rays may be turned, rad.
        """
        if not len(centers):
            return np.zeros((len(self.axes), 0), bool)
        rays = self.axes @ rotation.T
        longest = np.argmax(halves, axis=-1)
        each = np.arange(len(centers))
        half = halves[each, longest]
        thick = np.sqrt(np.sum(halves**2, axis=-1) - half**2)
        along = half[:, None] * axes[each, longest]
        spread = self.spread[:, None, None] + _SLACK + slack
        inside = np.zeros((len(rays), len(centers)), bool)
        long = half > _LONG * thick
        for selected, count in ((~long, _BOX_SPHERES), (long, _LONG_BOX_SPHERES)):
            if np.any(selected):
                covered = centers[selected], along[selected], thick[selected], count
                inside[:, selected] = _meets_balls(rays, spread, *covered)
        eye = -np.einsum('kji,ki->kj', axes, centers)  # in the axes of the box
        beyond = np.abs(eye) > halves
        away = np.sign(eye)[..., None] * axes  # outward from the side that the eye is beyond
        rise = np.arcsin(np.clip(np.einsum('mi,kji->mkj', rays, away), -1.0, 1.0))
        return np.asarray(inside & ~np.any(beyond & (rise > spread), axis=-1))

    def corners(self, chosen: np.ndarray, side: int, size: tuple[int, int]) -> np.ndarray:
        """Return two triangles (n, 6, 2) for each chosen tile (n,), in OpenGL's −1 to 1.

        Args:
            chosen: numbers of tiles.
            side: pixels along a side.
            size: pixels of the picture along x and y.
        """
        begin = np.stack([chosen % self.across, chosen // self.across], axis=-1)[:, None]
        six = np.array([[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]])
        return np.asarray(2.0 * side * (begin + six) / np.array(size) - 1.0)


def _meets_balls(
    rays: np.ndarray,
    spread: np.ndarray,
    centers: np.ndarray,
    along: np.ndarray,
    thick: np.ndarray,
    count: int,
) -> np.ndarray:
    """Return whether cones about rays (m, 3) meet any of the balls that cover boxes, (m, k).

    Args:
        rays: axes of the cones.
        spread: (m, 1, 1) of the cones, rad.
        centers: (k, 3) middles of the boxes from the eye, m.
        along: (k, 3) from there to the end of the longest side, m.
        thick: (k,) half of the diagonal across that side, m.
        count: balls of each box.
    """
    steps = (np.arange(count) * 2 + 1) / count - 1
    balls = centers[:, None] + along[:, None] * steps[:, None]  # (k, b, 3)
    radii = np.hypot(thick, np.linalg.norm(along, axis=-1) / count)[:, None]
    far = np.linalg.norm(balls, axis=-1)
    around = far <= radii
    size = np.arcsin(np.where(around, 0.0, radii / np.where(around, 1.0, far)))
    cosine = np.einsum('mi,kbi->mkb', rays, balls) / np.where(far > 0, far, 1.0)
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    return np.any(around | (angle <= spread + size), axis=-1)


def tiles_of(rays: np.ndarray, side: int) -> Tiles:
    """Return the tiles of rays.

    Args:
        rays: (h, w, 3) unit vectors.
        side: rays along each side of a tile; the last ones may have fewer.
    """
    height, width = rays.shape[:2]
    padded = np.pad(rays, [(0, -height % side), (0, -width % side), (0, 0)], mode='edge')
    down, across = padded.shape[0] // side, padded.shape[1] // side
    blocks = padded.reshape(down, side, across, side, 3).transpose(0, 2, 1, 3, 4)
    blocks = blocks.reshape(down * across, side * side, 3)
    axes = blocks.mean(axis=1)
    axes = axes / np.linalg.norm(axes, axis=-1, keepdims=True)
    min_cosine = np.einsum('mij,mj->mi', blocks, axes).min(axis=-1)
    return Tiles(axes, np.arccos(np.clip(min_cosine, -1.0, 1.0)) + 1e-3, across)


# Meshes for the camera's shader: a tree of boxes over triangles, in one array.

_LEAF = 4
"""Triangles of a leaf, at most."""


def bounding_tree(corners: np.ndarray) -> np.ndarray:
    """Return a bounding volume hierarchy of triangles as rows (k, 4), in depth-first order.

    A node is two rows: the least corner of its box, and its greatest one. Behind them an inner
    node has the number of the node that follows where the box is missed, and −1; a leaf how many
    triangles it has, times −1, and the number of the first. A triangle is three rows: a corner,
    and two edges from it. The nodes come first. Kay and Kajiya, "Ray tracing complex scenes"
    (1986), with the median of centres along the longest edge.

    Args:
        corners: (n, 3, 3) of n > 0 triangles, m.
    """
    low, high = corners.min(axis=1), corners.max(axis=1)
    centres = (low + high) / 2
    nodes: list[list[float]] = []
    order: list[np.ndarray] = []
    leaves: list[tuple[int, int, int]] = []
    count = 0
    # A number says that the node of that row is complete.
    stack: list[np.ndarray | int] = [np.arange(len(corners))]
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            nodes[item][3] = len(nodes) // 2
            continue
        row = len(nodes)
        nodes += [[*low[item].min(axis=0), 0.0], [*high[item].max(axis=0), -1.0]]
        if len(item) <= _LEAF:
            leaves.append((row, count, len(item)))
            order.append(item)
            count += len(item)
            continue
        axis = int(np.argmax(np.ptp(centres[item], axis=0)))
        item = item[np.argsort(centres[item, axis], kind='stable')]
        middle = len(item) // 2
        stack += [row, item[middle:], item[:middle]]
    for row, first, many in leaves:
        nodes[row][3], nodes[row + 1][3] = -many, first
    return np.concatenate([np.array(nodes), _triangle_rows(corners[np.concatenate(order)])])


def _triangle_rows(corners: np.ndarray) -> np.ndarray:
    """Return rows (3n, 4) of triangles (n, 3, 3)."""
    rows = np.zeros((len(corners), 3, 4))
    rows[:, 0, :3] = corners[:, 0]
    rows[:, 1:, :3] = corners[:, 1:] - corners[:, :1]
    return rows.reshape(-1, 4)


@lru_cache(maxsize=16)
def surface_tree(surface: TriangleSurface) -> np.ndarray:
    """Return the tree of a surface as rows (k, 4), like :func:`bounding_tree`."""
    nodes, corners = surface.shader_tree()
    return np.concatenate([nodes.reshape(-1, 4), _triangle_rows(corners)]).astype(np.float32)


def bounding_trees(
    meshes: Sequence[np.ndarray | TriangleSurface], columns: int
) -> tuple[np.ndarray, list[int]]:
    """Return the trees of meshes as an image (rows, columns, 4), and in which row each begins.

    Args:
        meshes: triangles (n, 3, 3), or surfaces.
        columns: of the image.
    """
    trees = [np.zeros((0, columns, 4))]
    for mesh in meshes:
        tree = surface_tree(mesh) if isinstance(mesh, TriangleSurface) else bounding_tree(mesh)
        padded = np.pad(tree, [(0, -len(tree) % columns), (0, 0)])
        trees.append(padded.reshape(-1, columns, 4))
    begins = np.cumsum([len(tree) for tree in trees]).tolist()
    return np.concatenate(trees), begins[:-1]


# Cells of fiducial markers, drawn by OpenCV, which has AprilTag's codes.

_BITS = {'tag16h5': 4, 'tag25h9': 5, 'tag36h10': 6, 'tag36h11': 6}
"""Cells along each side within the black edge."""


@lru_cache(maxsize=256)
def cells(family: str, number: int) -> np.ndarray:
    """Return the cells (n, n) of a marker as it is seen, its black edge too: 1 white, 0 black.

    Raises:
        MissingPackageError: OpenCV is missing.
    """
    aruco = require('cv2', 'a marker in a picture').aruco
    book = aruco.getPredefinedDictionary(
        getattr(aruco, f'DICT_APRILTAG_{family.removeprefix("tag")}')
    )
    side = _BITS[family] + 2
    draw = getattr(aruco, 'generateImageMarker', None) or aruco.drawMarker  # before OpenCV 4.7
    return draw(book, number, side) / 255.0


def fiducial_rows(fiducials: Sequence[Fiducial]) -> np.ndarray:
    """Return the shader's rows of markers (k, 65, 1): cells along a side, then cells."""
    rows = np.zeros((len(fiducials), 65, 1))
    for row, fiducial in zip(rows, fiducials, strict=True):
        drawn = cells(fiducial.family, fiducial.id)
        row[0], row[1 : 1 + drawn.size, 0] = len(drawn), drawn.reshape(-1)
    return rows
