# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""TriangleSurface of triangles: signed distance, first hits of rays, edges near convex bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require

__all__ = ['TriangleSurface', 'orient_surface']

_BENT = 1e-3
"""rad; edges that are bent by less are none."""


class _Tree(NamedTuple):
    """Boxes over triangles, and what is looked up of these, in the order of the leaves.

    Attributes:
        nodes: (n, 6) boxes of nodes.
        links: (n, 2) second child and 0, or first triangle and their number.
        corners: (t, 3, 3) m.
        faces: (t, 3) numbers of vertices.
        mates: (t, 3) triangle beyond each edge.
        flat: (t, 3) unit normals.
        bent: (v, 3) normals of vertices.
        edges: (t, 3) numbers of edges that others can touch; −1: none.
    """

    nodes: np.ndarray
    links: np.ndarray
    corners: np.ndarray
    faces: np.ndarray
    mates: np.ndarray
    flat: np.ndarray
    bent: np.ndarray
    edges: np.ndarray


@dataclass(frozen=True, eq=False)
class TriangleSurface:
    """Triangles (t, 3) of vertices (v, 3), m, counter-clockwise seen from outside.

    Attributes:
        vertices: (v, 3) m; none twice.
        faces: (t, 3) numbers of vertices; none without an area.
        closed: whether it has an inside; else both its sides are outer ones.
        thickness: m, of a surface that is not closed: what touches it is half of it away.
        kept: of :meth:`built`; None: the tree is yet to be built.
    """

    vertices: np.ndarray
    faces: np.ndarray
    closed: bool
    thickness: float = 0.0
    kept: tuple[np.ndarray, ...] | None = None

    @cached_property
    def extents(self) -> np.ndarray:
        """(3,) edges of its bounding box, m."""
        return np.asarray(np.ptp(self.vertices, axis=0))

    @property
    def edge_range(self) -> int:
        """Numbers of edges are below this."""
        return 3 * len(self.faces)

    @cached_property
    def _kernels(self) -> Any:
        require('numba', 'obstacle of triangles')
        from marine_sim_ros.geometry import tree_kernels

        return tree_kernels

    @cached_property
    def _tree(self) -> _Tree:
        corners = self.vertices[self.faces]
        if self.kept is not None:
            nodes, links, mates, bent, edges = self.kept
            return _Tree(nodes, links, corners, self.faces, mates, _normals(corners), bent, edges)
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        low, high = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
        boxes = np.concatenate([low, high], axis=1)
        nodes, links, order = self._kernels.build_tree(boxes)
        corners, faces = np.ascontiguousarray(corners[order]), self.faces[order]
        flat = _normals(corners)
        mates, edges = _find_edges(corners, faces, flat, self.closed)
        bent = _vertex_normals(corners, faces, flat, len(self.vertices))
        return _Tree(nodes, links, corners, faces, mates, flat, bent, edges)

    def built(self) -> TriangleSurface:
        """Return this surface with its tree and its triangles in the order of the leaves."""
        tree = self._tree
        kept = tree.nodes, tree.links, tree.mates, tree.bent, tree.edges
        found = replace(self, faces=tree.faces, kept=kept)
        return found

    def vertex_normals(self) -> np.ndarray:
        """Return unit normals (v, 3) of the vertices, means of their triangles' by angle."""
        found = self._tree.bent
        length = np.linalg.norm(found, axis=1, keepdims=True)
        up = np.array([0.0, 0.0, 1.0])
        return np.where(length > 1e-9, found / np.maximum(length, 1e-9), up)

    def boxes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the tree as (n, 2, 4) boxes and (t, 3, 3) corners, m, for a shader.

        Behind the least corner of an inner node is the number of the node that follows where its
        box is missed, behind the greatest −1; of a leaf there are its number of triangles times
        −1, and its first triangle.
        """
        tree = self._tree
        nodes = np.empty((len(tree.nodes), 2, 4))
        nodes[:, :, :3] = tree.nodes.reshape(-1, 2, 3)
        leaf = tree.links[:, 1] > 0
        following = self._kernels.following_nodes(tree.links)
        nodes[:, 0, 3] = np.where(leaf, -tree.links[:, 1], following)
        nodes[:, 1, 3] = np.where(leaf, tree.links[:, 0], -1)
        return nodes, tree.corners

    def check(self) -> None:
        """Raise ValueError where numbers of what is kept name what is not there."""
        nodes, links, mates, bent, edges = self.kept or ()
        count, points = len(self.faces), len(self.vertices)
        alike = mates.shape == edges.shape == (count, 3) and bent.shape == (points, 3)
        alike &= nodes.shape == (len(links), 6) and links.shape == (len(nodes), 2)
        leaf = links[:, 1] > 0
        inside = 0 <= self.faces.min() <= self.faces.max() < points
        inside &= 0 <= mates.min() <= mates.max() < count
        inside &= bool(np.all(links[leaf].sum(axis=1) <= count) and links.min() >= 0)
        inside &= bool(np.all(links[~leaf, 0] > np.flatnonzero(~leaf)))
        inside &= bool(np.all(links[~leaf, 0] < len(nodes)))
        if not (alike and inside):
            raise ValueError('a kept tree names what is not there')

    def distances(
        self, points: np.ndarray, within: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return signed distances (...) in m and unit normals (..., 3) into the water.

        Args:
            points: (..., 3) m.
            within: m; what is farther is said to be at this distance, with z as its normal.
        """
        tree, flat = self._tree, np.ascontiguousarray(points, float).reshape(-1, 3)
        found, normal = self._kernels.find_surface(
            flat, within + self.thickness / 2, self.closed, *tree[:-1]
        )
        normal[:, 2] += ~np.any(normal, axis=1)
        found = (found - self.thickness / 2).reshape(points.shape[:-1])
        return found, normal.reshape(points.shape)

    def first_hits(
        self, origins: np.ndarray, directions: np.ndarray, maximum: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return distances (...) of the first hits of rays, m, and unit normals (..., 3).

        A ray that begins within a closed surface meets it at 0, against its direction.

        Args:
            origins: (..., 3) m.
            directions: (..., 3) unit vectors.
            maximum: (...) how far the rays go, m.
        """
        tree, shape = self._tree, directions.shape
        o, d = (np.ascontiguousarray(x, float).reshape(-1, 3) for x in (origins, directions))
        # From within, the way out may be longer than the rays.
        longest = float(np.linalg.norm(self.extents)) if self.closed else 0.0
        most = np.broadcast_to(maximum, shape[:-1]).reshape(-1)
        found, triangle = self._kernels.find_first_hits(
            o, d, np.maximum(most, longest), tree.nodes, tree.links, tree.corners
        )
        normal = np.where(triangle[:, None] < 0, 0.0, tree.flat[triangle])
        leaves = np.einsum('ri,ri->r', normal, d) > 0
        if self.closed:
            found[leaves] = 0.0
            normal[leaves] = -d[leaves]
        else:
            normal[leaves] *= -1.0
        missed = found > most
        found[missed], normal[missed] = np.inf, 0.0
        return found.reshape(shape[:-1]), normal.reshape(shape)

    def edges_near(
        self, most: int, normals: np.ndarray, offsets: np.ndarray, within: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers (k,) of the edges nearest to convex bodies, and their ends (k, 2, 3), m.

        The numbers increase; where fewer than k may be within the distance, the last are −1.

        Args:
            most: k.
            normals: (n, h, 3) unit vectors out of the faces of n bodies; 0: no face.
            offsets: (n, h) a·p ≤ b, m.
            within: m.
        """
        tree = self._tree
        numbers, ends = self._kernels.find_edges(
            most,
            np.ascontiguousarray(normals, float),
            np.ascontiguousarray(offsets, float),
            float(within) + self.thickness / 2,
            tree.nodes,
            tree.links,
            tree.corners,
            tree.edges,
        )
        return numbers, ends


def _normals(corners: np.ndarray) -> np.ndarray:
    """Return the unit normals (t, 3) of triangles."""
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.asarray(cross / np.linalg.norm(cross, axis=1, keepdims=True))


def _half_edges(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return half-edges (3t, 2), and their order and starts of groups that share an edge."""
    ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2).astype(np.int64)
    low, high = ends.min(axis=1), ends.max(axis=1)
    key = low * (int(faces.max(initial=0)) + 1) + high
    order = np.argsort(key, kind='stable')
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    return ends, order, starts


def _find_edges(
    corners: np.ndarray, faces: np.ndarray, flat: np.ndarray, closed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return mates (t, 3) beyond the edges of triangles, and numbers (t, 3) of those that count.

    Those count that are bent outwards, of an open surface either way, and those of one triangle or
    of more than two. An edge has the number of the first of its half-edges, 3 t + k.
    """
    _, order, starts = _half_edges(faces)
    many = np.diff(starts, append=len(order))
    mates = np.repeat(np.arange(len(faces)), 3)
    pairs = starts[many == 2]
    one, other = order[pairs], order[pairs + 1]
    mates[one], mates[other] = other // 3, one // 3
    numbers = np.full(3 * len(faces), -1)
    odd = order[starts[many != 2]]
    numbers[odd] = odd
    along = (np.roll(corners, -1, axis=1) - corners).reshape(-1, 3)[one]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    bend = np.einsum('ei,ei->e', np.cross(flat[one // 3], flat[other // 3]), along)
    sharp = np.einsum('ei,ei->e', flat[one // 3], flat[other // 3]) < 0
    counts = (bend > _BENT) | (sharp & (bend > -_BENT)) if closed else (abs(bend) > _BENT) | sharp
    numbers[one[counts]] = one[counts]
    return mates.reshape(-1, 3).astype(np.int32), numbers.reshape(-1, 3).astype(np.int32)


def _vertex_normals(
    corners: np.ndarray, faces: np.ndarray, flat: np.ndarray, count: int
) -> np.ndarray:
    """Return the sums (v, 3) of the normals of the triangles at vertices, weighted by angle."""
    total = np.zeros((count, 3))
    for k in range(3):
        a = corners[:, (k + 1) % 3] - corners[:, k]
        b = corners[:, (k + 2) % 3] - corners[:, k]
        angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum('ti,ti->t', a, b))
        for i in range(3):
            total[:, i] += np.bincount(faces[:, k], angle * flat[:, i], count)
    return total


def orient_surface(
    vertices: np.ndarray, faces: np.ndarray, thickness: float, label: str
) -> tuple[TriangleSurface, list[str]]:
    """Return a surface of vertices (v, 3) and faces (t, 3), and what to tell of it.

    Equal vertices become one, triangles without area go. A surface whose every edge has two
    triangles of one sense is closed; parts of it that are inside out, and in no other, are turned.

    Args:
        thickness: m, of a surface that is not closed.
        label: what messages call it.

    Raises:
        ModelError: no triangle has an area.
    """
    told: list[str] = []
    vertices, index = _unite_vertices(vertices)
    faces = index[faces]
    faces = faces[np.all(faces != np.roll(faces, 1, axis=1), axis=1)]
    ends, order, starts = _half_edges(faces)
    many = np.diff(starts, append=len(order))
    opposite = np.zeros(0, bool)
    if np.all(many == 2):
        opposite = ends[order[starts], 0] == ends[order[starts + 1], 1]
    closed = bool(len(faces)) and bool(np.all(many == 2)) and bool(np.all(opposite))
    if closed:
        faces, turned = _turn_parts(vertices, faces)
        if turned:
            told.append(f'{label}: {turned} part(s) were inside out and were turned')
    elif len(faces):
        told.append(
            f'{label}: the surface is not closed ({int(np.sum(many != 2))} edges have not two '
            f'triangles); it is a sheet of {thickness * 1000:g} mm, solid on both sides'
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
    return surface, told


def _unite_vertices(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
    turned = [
        n
        for n in np.flatnonzero(volume < 0)
        if not np.any(outer & np.all((low <= low[n]) & (high >= high[n]), axis=1))
    ]
    flip = np.isin(part, turned)
    faces = faces.copy()
    faces[flip] = faces[flip][:, ::-1]
    return faces, len(turned)
