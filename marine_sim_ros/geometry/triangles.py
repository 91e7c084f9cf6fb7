# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Triangle surface: signed distances, first hits of rays, edges near convex bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require

__all__ = ['TriangleSurface', 'build_surface', 'unite_vertices']

_MIN_DIHEDRAL = 1e-3
"""Smallest angle between two faces at an edge that counts, rad."""


class TriangleTree(NamedTuple):
    """Bounding volume hierarchy over triangles, which are in the order of its leaves.

    Attributes:
        nodes: (n, 6) boxes of nodes.
        links: (n, 2) second child and 0, or first triangle and their number.
        corners: (t, 3, 3) m.
        faces: (t, 3) numbers of vertices.
        neighbours: (t, 3) triangle across each edge.
        face_normals: (t, 3) unit normals.
        vertex_normals: (v, 3) sums of face normals, weighted by angle.
        edges: (t, 3) numbers of the convex and open edges; −1: other edges.
    """

    nodes: np.ndarray
    links: np.ndarray
    corners: np.ndarray
    faces: np.ndarray
    neighbours: np.ndarray
    face_normals: np.ndarray
    vertex_normals: np.ndarray
    edges: np.ndarray


@dataclass(frozen=True, eq=False)
class TriangleSurface:
    """Triangles (t, 3) of vertices (v, 3), m, counter-clockwise seen from outside.

    Attributes:
        vertices: (v, 3) m, without duplicates.
        faces: (t, 3) numbers of vertices, without degenerate triangles.
        closed: whether the surface encloses a volume; an open one is solid on both sides.
        thickness: m, of an open surface; distances are reduced by half of it.
        cached_tree: arrays of the tree, of :meth:`with_tree`; None: built at the first query.
    """

    vertices: np.ndarray
    faces: np.ndarray
    closed: bool
    thickness: float = 0.0
    cached_tree: tuple[np.ndarray, ...] | None = None

    @cached_property
    def extents(self) -> np.ndarray:
        """Edges (3,) of the bounding box, m."""
        return np.asarray(np.ptp(self.vertices, axis=0))

    @property
    def max_edge_number(self) -> int:
        """Upper bound of the numbers of edges."""
        return 3 * len(self.faces)

    @cached_property
    def _kernels(self) -> Any:
        require('numba', 'obstacle of triangles')
        from marine_sim_ros.geometry import bvh_kernels

        return bvh_kernels

    @cached_property
    def _tree(self) -> TriangleTree:
        corners = self.vertices[self.faces]
        if self.cached_tree is not None:
            nodes, links, neighbours, vertex_normals, edges = self.cached_tree
            return TriangleTree(
                nodes,
                links,
                corners,
                self.faces,
                neighbours,
                _normals(corners),
                vertex_normals,
                edges,
            )
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        low, high = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
        boxes = np.concatenate([low, high], axis=1)
        nodes, links, order = self._kernels.build_tree(boxes)
        corners, faces = np.ascontiguousarray(corners[order]), self.faces[order]
        face_normals = _normals(corners)
        neighbours, edges = _find_edges(corners, faces, face_normals, self.closed)
        vertex_normals = _vertex_normals(corners, faces, face_normals, len(self.vertices))
        return TriangleTree(
            nodes, links, corners, faces, neighbours, face_normals, vertex_normals, edges
        )

    @cached_property
    def kernel_surface(self) -> tuple[tuple[np.ndarray, ...], bool, float]:
        """What kernels take: the tree as a tuple, whether it is closed, half of the thickness."""
        return tuple(self._tree), self.closed, self.thickness / 2

    def with_tree(self) -> TriangleSurface:
        """Return the surface with its tree, and with its triangles in the order of the leaves."""
        tree = self._tree
        arrays = tree.nodes, tree.links, tree.neighbours, tree.vertex_normals, tree.edges
        return replace(self, faces=tree.faces, cached_tree=arrays)

    def unit_vertex_normals(self) -> np.ndarray:
        """Return unit normals (v, 3) of the vertices: means of face normals, weighted by angle."""
        if self.cached_tree is not None:
            normals = self._tree.vertex_normals
        else:
            corners = self.vertices[self.faces]
            normals = _vertex_normals(corners, self.faces, _normals(corners), len(self.vertices))
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        up = np.array([0.0, 0.0, 1.0])
        return np.where(length > 1e-9, normals / np.maximum(length, 1e-9), up)

    def shader_tree(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the tree as (n, 2, 4) boxes and (t, 3, 3) corners, m, for a shader.

        The fourth numbers of a node are, for an inner node, the node that follows if its box is
        missed, and −1; for a leaf, minus its number of triangles, and its first triangle.
        """
        tree = self._tree
        nodes = np.empty((len(tree.nodes), 2, 4))
        nodes[:, :, :3] = tree.nodes.reshape(-1, 2, 3)
        leaf = tree.links[:, 1] > 0
        following = self._kernels.build_skip_links(tree.links)
        nodes[:, 0, 3] = np.where(leaf, -tree.links[:, 1], following)
        nodes[:, 1, 3] = np.where(leaf, tree.links[:, 0], -1)
        return nodes, tree.corners

    def check(self) -> None:
        """Raise ValueError if an array of the cached surface and tree cannot be theirs.

        The kernels do not check indices: one out of range would read other memory.
        """
        nodes, links, neighbours, vertex_normals, edges = self.cached_tree or ()
        count, points = len(self.faces), len(self.vertices)
        consistent = neighbours.shape == edges.shape == self.faces.shape == (count, 3)
        consistent &= vertex_normals.shape == self.vertices.shape == (points, 3)
        consistent &= nodes.shape == (len(links), 6) and links.shape == (len(nodes), 2)
        integer_arrays = (self.faces, links, neighbours, edges)
        float_arrays = (self.vertices, nodes, vertex_normals)
        consistent &= all(a.dtype.kind == 'i' for a in integer_arrays) and all(
            a.dtype.kind == 'f' for a in float_arrays
        )
        if not (
            consistent and all(np.all(np.isfinite(a)) for a in (*float_arrays, self.thickness))
        ):
            raise ValueError('the cached arrays have other shapes or types, or are not finite')
        leaf = links[:, 1] > 0
        inside = 0 <= self.faces.min() <= self.faces.max() < points
        inside &= 0 <= neighbours.min() <= neighbours.max() < count
        inside &= 0 <= links.min() <= links.max() <= max(count, len(nodes))
        inside &= bool(np.all(links[leaf].sum(axis=1) <= count))
        inside &= bool(np.all(links[~leaf, 0] > np.flatnonzero(~leaf)))
        inside &= bool(np.all(links[~leaf, 0] < len(nodes)))
        if not inside:
            raise ValueError('the cached tree has indices out of range')

    def distances(
        self, points: np.ndarray, within: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return signed distances (...) in m and unit normals (..., 3) into the water.

        Args:
            points: (..., 3) m.
            within: cut-off, m: farther points get this distance, and z as their normal.
        """
        tree, rows = self._tree, np.ascontiguousarray(points, float).reshape(-1, 3)
        distance, normal = self._kernels.signed_distances(
            rows, within + self.thickness / 2, self.closed, tuple(tree)
        )
        distance = (distance - self.thickness / 2).reshape(points.shape[:-1])
        return distance, normal.reshape(points.shape)

    @cached_property
    def machine_code(self) -> dict[str, str]:
        """Names of the queries ``distances`` and ``edges`` as XLA knows them; empty: none."""
        from marine_sim_ros.geometry.xla_calls import register_handlers

        return register_handlers(self._tree, self.closed, self.thickness)

    def first_hits(
        self, origins: np.ndarray, directions: np.ndarray, maximum: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return distances (...) of the first hits of rays, m, and unit normals (..., 3).

        A ray that starts inside a closed surface hits it at 0; the normal is then opposite to the
        ray. One that starts outside hits the first triangle, also where the surface cuts itself
        and the back of the triangle faces the ray.

        Args:
            origins: (..., 3) m.
            directions: (..., 3) unit vectors.
            maximum: (...) lengths of the rays, m.
        """
        tree, shape = self._tree, directions.shape
        o, d = (np.ascontiguousarray(x, float).reshape(-1, 3) for x in (origins, directions))
        # A ray that starts inside is recognised by its exit, which may lie beyond its length.
        longest = float(np.linalg.norm(self.extents)) if self.closed else 0.0
        max_distance = np.broadcast_to(maximum, shape[:-1]).reshape(-1)
        distance, triangle = self._kernels.find_first_hits(
            o, d, np.maximum(max_distance, longest), tuple(tree)
        )
        normal = np.where(triangle[:, None] < 0, 0.0, tree.face_normals[triangle])
        exits = np.einsum('ri,ri->r', normal, d) > 0
        normal[exits] *= -1.0
        if self.closed and exits.any():
            starts, number = np.unique(o[exits], axis=0, return_inverse=True)
            within = np.flatnonzero(exits)[self._contains(starts)[number.reshape(-1)]]
            distance[within], normal[within] = 0.0, -d[within]
        missed = distance > max_distance
        distance[missed], normal[missed] = np.inf, 0.0
        return distance.reshape(shape[:-1]), normal.reshape(shape)

    def _contains(self, points: np.ndarray) -> np.ndarray:
        """Return whether points (m, 3) are inside a closed surface.

        Where the surface cuts itself, the nearest triangle may show its back to a point outside
        too. So the solid angles must add up (Van Oosterom and Strackee 1983, The solid angle of a
        plane triangle).
        """
        inside = np.asarray(self.distances(points)[0] < 0)
        for i in np.flatnonzero(inside):
            a, b, c = np.moveaxis(self._tree.corners - points[i], 1, 0)
            la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
            ab, bc, ca = (np.einsum('ti,ti->t', *pair) for pair in ((a, b), (b, c), (c, a)))
            volume = np.einsum('ti,ti->t', a, np.cross(b, c))
            angle = 2 * np.arctan2(volume, la * lb * lc + ab * lc + bc * la + ca * lb)
            inside[i] = angle.sum() > np.pi  # 4 pi inside, 2 pi on the surface, else 0
        return inside

    def nearest_edges(
        self, max_edges: int, normals: np.ndarray, offsets: np.ndarray, within: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers (k,) of the edges nearest to convex bodies, and their ends (k, 2, 3), m.

        The numbers increase. Unused entries at the end are −1.

        Args:
            max_edges: k.
            normals: (n, h, 3) unit vectors out of the faces of n bodies; 0: no face.
            offsets: (n, h) a·p ≤ b, m.
            within: edges farther than this from all bodies are left out, m.
        """
        tree = self._tree
        numbers, ends = self._kernels.find_edges(
            max_edges,
            np.ascontiguousarray(normals, float),
            np.ascontiguousarray(offsets, float),
            float(within) + self.thickness / 2,
            tuple(tree),
        )
        return numbers, ends


def _normals(corners: np.ndarray) -> np.ndarray:
    """Return the unit normals (t, 3) of triangles."""
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.asarray(cross / np.linalg.norm(cross, axis=1, keepdims=True))


def _half_edges(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return half-edges (3t, 2), their order by edge, and the start of each edge in that order."""
    ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2).astype(np.int64)
    low, high = ends.min(axis=1), ends.max(axis=1)
    key = low * (int(faces.max(initial=0)) + 1) + high
    order = np.argsort(key, kind='stable')
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    return ends, order, starts


def _find_edges(
    corners: np.ndarray, faces: np.ndarray, face_normals: np.ndarray, closed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the triangles (t, 3) across edges, and the numbers (t, 3) of edges that can touch.

    Convex edges can, concave ones too on an open surface, and edges of one triangle or of more
    than two. The number of an edge is that of its first half-edge, 3 t + k.
    """
    _, order, starts = _half_edges(faces)
    face_count = np.diff(starts, append=len(order))
    neighbours = np.repeat(np.arange(len(faces)), 3)
    pairs = starts[face_count == 2]
    first, second = order[pairs], order[pairs + 1]
    neighbours[first], neighbours[second] = second // 3, first // 3
    numbers = np.full(3 * len(faces), -1)
    unpaired = order[starts[face_count != 2]]
    numbers[unpaired] = unpaired
    direction = (np.roll(corners, -1, axis=1) - corners).reshape(-1, 3)[first]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    sine = np.einsum(
        'ei,ei->e', np.cross(face_normals[first // 3], face_normals[second // 3]), direction
    )
    is_acute = np.einsum('ei,ei->e', face_normals[first // 3], face_normals[second // 3]) < 0
    convex = (sine > _MIN_DIHEDRAL) | (is_acute & (sine > -_MIN_DIHEDRAL))
    contact_edges = first[convex if closed else (abs(sine) > _MIN_DIHEDRAL) | is_acute]
    numbers[contact_edges] = contact_edges
    return neighbours.reshape(-1, 3).astype(np.int32), numbers.reshape(-1, 3).astype(np.int32)


def _vertex_normals(
    corners: np.ndarray, faces: np.ndarray, face_normals: np.ndarray, count: int
) -> np.ndarray:
    """Return the sums (v, 3) of face normals at vertices, weighted by angle."""
    total = np.zeros((count, 3))
    for k in range(3):
        a = corners[:, (k + 1) % 3] - corners[:, k]
        b = corners[:, (k + 2) % 3] - corners[:, k]
        angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum('ti,ti->t', a, b))
        for i in range(3):
            total[:, i] += np.bincount(faces[:, k], angle * face_normals[:, i], count)
    return total


def build_surface(
    vertices: np.ndarray, faces: np.ndarray, thickness: float, label: str
) -> tuple[TriangleSurface, list[str]]:
    """Return the surface of vertices (v, 3) and faces (t, 3), and messages about repairs.

    Duplicate vertices are merged and degenerate triangles removed. The surface is closed if every
    edge has as many triangles on one side as on the other. Inverted parts of a closed surface are
    turned, unless another part encloses them.

    Args:
        thickness: of an open surface, m.
        label: name of the surface in messages.

    Raises:
        ModelError: all triangles are degenerate.
    """
    messages: list[str] = []
    vertices, index = unite_vertices(vertices)
    faces = index[faces]
    faces = faces[np.all(faces != np.roll(faces, 1, axis=1), axis=1)]
    ends, order, starts = _half_edges(faces)
    # Each edge is passed as often in one direction as in the other.
    sense = np.where(ends[order, 0] < ends[order, 1], 1, -1)
    open_edges = int(np.sum(np.add.reduceat(sense, starts) != 0)) if len(faces) else 0
    closed = bool(len(faces)) and not open_edges
    if closed:
        faces, inverted = _turn_parts(vertices, faces)
        if inverted:
            messages.append(f'{label}: {inverted} part(s) were inside out and were turned')
    elif len(faces):
        messages.append(
            f'{label}: the surface is not closed ({open_edges} open edges); it is a sheet of '
            f'{1e3 * thickness:g} mm, solid on both sides'
        )
    corners = vertices[faces]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    longest = np.max(np.linalg.norm(np.roll(corners, 1, axis=1) - corners, axis=2), axis=1)
    faces = faces[area > 1e-12 * longest**2]
    if not len(faces):
        raise ModelError(f'{label}: the mesh has no triangles with an area')
    used, index = np.unique(faces, return_inverse=True)
    surface = TriangleSurface(
        vertices[used], index.reshape(-1, 3).astype(np.int32), closed, 0.0 if closed else thickness
    )
    return surface, messages


def unite_vertices(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different ones of vertices (v, 3), and the number (v,) of each among them."""
    order = np.lexsort(vertices.T)
    ordered = vertices[order]
    first = np.ones(len(order), bool)
    first[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    index = np.empty(len(order), np.int64)
    index[order] = np.cumsum(first) - 1
    return ordered[first], index


def _turn_parts(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the faces of closed parts, turned outwards, and how many parts were turned.

    A part with a volume below 0 is a cavity where the box of another one holds its own.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = faces[:, [0, 1, 1, 2]].reshape(-1, 2)
    shape = (len(vertices), len(vertices))
    graph = coo_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape)
    count, part = connected_components(graph, directed=False)
    part = part[faces[:, 0]]
    corners = vertices[faces] - vertices[faces[0, 0]]
    parts = np.einsum('ti,ti->t', corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    volume = np.bincount(part, parts, count)
    if not np.any(volume < 0):
        return faces, 0
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, part, vertices[faces].min(axis=1))
    np.maximum.at(high, part, vertices[faces].max(axis=1))
    outer = volume > 0
    inverted = [
        n
        for n in np.flatnonzero(volume < 0)
        if not np.any(outer & np.all((low <= low[n]) & (high >= high[n]), axis=1))
    ]
    flip = np.isin(part, inverted)
    faces = faces.copy()
    faces[flip] = faces[flip][:, ::-1]
    return faces, len(inverted)
