# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bounding-volume hierarchy (BVH) over triangles: signed distance, first hit, nearest edges.

Numba compiles them for IEEE doubles, without fused or reordered operations, so results are equal
to the last bit on all processors. Arguments are not checked here but in
:mod:`marine_sim_ros.geometry.triangles`. Trees are plain tuples: the cache of machine code stores
the types of arguments, and could not be read after a class was renamed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numba
import numba.core.config
import numpy as np
from numba import types
from numba.core import cgutils, event
from numba.extending import intrinsic

__all__ = [
    'answer_distances',
    'answer_edges',
    'build_skip_links',
    'build_tree',
    'compile_handler',
    'compile_inner_kernel',
    'compile_kernel',
    'find_edges',
    'find_first_hits',
    'report_compilation',
    'signed_distances',
]

_LOG = logging.getLogger(__name__)

LEAF = 4
"""Maximum number of triangles of a leaf."""
_BINS = 16
"""Bins of the centres along the split axis."""
_DEPTH = 64
"""Bound of the depth; from half of it on, nodes are split at the median."""
_STACK = 2 * _DEPTH + 2
"""Stack size. Each level of a descent leaves one behind and puts two on; splits at
the median halve what is left, so that no tree of 2³² triangles is deeper than _DEPTH. Compiled
code does not check bounds: memory is safe by this number."""
_NO_DIRECTION = 1e-9
"""Distance to an edge or corner, m, below which the direction is dominated by rounding."""
_EXIT_MARGIN = 1.0 + 1e-14
"""Rounding margin of the exit distance of a box (Ize 2013, Robust BVH ray traversal)."""


def compile_kernel(function: Callable[..., Any], **options: bool) -> Any:
    """Compile a function; cache the machine code if a cache folder is writable."""
    try:
        return numba.njit(cache=True, nogil=True, error_model='numpy', **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return numba.njit(nogil=True, error_model='numpy', **options)(function)


def compile_inner_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call, without an entry from Python."""
    return compile_kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compile_handler(function: Callable[..., Any]) -> Any:
    """Compile a handler, a C function of two addresses; its attribute ``address`` is its own."""
    signature = types.int64(types.int64, types.int64)
    try:
        return numba.cfunc(signature, cache=True, error_model='numpy')(function)
    except RuntimeError:
        return numba.cfunc(signature, error_model='numpy')(function)


class _CompilationReport(event.Listener):  # type: ignore[misc]
    """Report of the first kernel of this process that the cache of machine code lacks."""

    def __init__(self) -> None:
        self.report: Callable[[str], object] | None = _LOG.warning

    def on_start(self, event: Any) -> None:
        """Report, once, that compilation starts."""
        dispatcher, report = event.data['dispatcher'], self.report
        if report is None or not dispatcher.py_func.__module__.startswith('marine_sim_ros.'):
            return
        self.report, folder = None, dispatcher.stats.cache_path
        report(
            'compiling the kernels of contact and meshes, which takes up to a minute: '
            + (
                f'once per installation, in {folder}'
                if folder
                else 'at each start, as no folder can be written; expected one in NUMBA_CACHE_DIR'
            )
        )

    def on_end(self, event: Any) -> None:
        """Report nothing."""


_COMPILATION = _CompilationReport()
event.register('numba:compile', _COMPILATION)


def report_compilation(report: Callable[[str], object] | None) -> None:
    """Report by this function that kernels are compiled; None: as before, first as a warning."""
    if report is not None and _COMPILATION.report is not None:
        _COMPILATION.report = report


# Else the compiler reads settings of the working folder, such as where pickles are cached.
numba.core.config._config_fname = ''

# Tree.


@compile_inner_kernel
def _half_area(low, high):
    x, y, z = high[0] - low[0], high[1] - low[1], high[2] - low[2]
    return x * y + y * z + z * x


@compile_inner_kernel
def _grow(low, high, lower, upper):
    for i in range(3):
        low[i] = min(low[i], lower[i])
        high[i] = max(high[i], upper[i])


@compile_inner_kernel
def _clear(low, high):
    for i in range(3):
        low[i], high[i] = np.inf, -np.inf


@compile_inner_kernel
def _best_split(box, order, begin, end, axis, start, width, low, high, cost_right):
    """Return the last bin on the first side of the split of least cost; −1 if there is no split.

    The cost is the sum of areas times numbers of triangles. ``low``, ``high`` and ``cost_right``
    are scratch arrays.
    """
    counts = np.zeros(_BINS, np.int64)
    a, b = np.empty(3), np.empty(3)
    for k in range(_BINS):
        _clear(low[k], high[k])
    for i in range(begin, end):
        triangle_box = box[order[i]]
        k = _bin(triangle_box, axis, start, width)
        counts[k] += 1
        _grow(low[k], high[k], triangle_box[:3], triangle_box[3:])
    _clear(a, b)
    count = 0
    for k in range(_BINS - 1, 0, -1):
        _grow(a, b, low[k], high[k])
        count += counts[k]
        cost_right[k] = count * _half_area(a, b) if count else 0.0
    _clear(a, b)
    count = 0
    best, best_bin = np.inf, -1
    for k in range(_BINS - 1):
        _grow(a, b, low[k], high[k])
        count += counts[k]
        if count == 0 or count == end - begin:
            continue
        cost = count * _half_area(a, b) + cost_right[k + 1]
        if cost < best:
            best, best_bin = cost, k
    return best_bin


@compile_inner_kernel
def _bin(triangle_box, axis, start, width):
    """Return the bin of the center of a box along an axis."""
    fraction = (0.5 * (triangle_box[axis] + triangle_box[3 + axis]) - start) / width
    return min(int(_BINS * fraction), _BINS - 1)


@compile_inner_kernel
def _partition(box, order, begin, end, axis, last, start, width):
    """Partition triangles in place by bin; return the start of the second part."""
    i, k = begin, end - 1
    while i <= k:
        if _bin(box[order[i]], axis, start, width) <= last:
            i += 1
        else:
            order[i], order[k] = order[k], order[i]
            k -= 1
    return i


@compile_kernel
def build_tree(box):
    """Return the nodes of a tree, and the order of the triangles in its leaves.

    Binned surface-area heuristic along the longest axis (Wald 2007). The first child of a node is
    the next one.

    Args:
        box: (t, 6) smallest and largest coordinates of triangles, t ≥ 1 (not checked).

    Returns:
        (n, 6) boxes of nodes; (n, 2) second child and 0 of an inner node, or first triangle and
        number of triangles of a leaf; (t,) numbers of the triangles.
    """
    count = len(box)
    order = np.arange(count)
    nodes, links = np.empty((2 * count, 6)), np.zeros((2 * count, 2), np.int64)
    stack = np.empty((_STACK, 4), np.int64)  # begin, end, parent, level
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, count, -1, 0
    height, node_count = 1, 0
    low, high, lower, upper = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    scratch = np.empty((_BINS, 3)), np.empty((_BINS, 3)), np.empty(_BINS)
    while height:
        height -= 1
        begin, end = stack[height, 0], stack[height, 1]
        parent, level = stack[height, 2], stack[height, 3]
        node = node_count
        node_count += 1
        if parent >= 0:
            links[parent, 0] = node
        _clear(low, high)
        _clear(lower, upper)
        for i in range(begin, end):
            triangle_box = box[order[i]]
            _grow(low, high, triangle_box[:3], triangle_box[3:])
            for axis in range(3):
                center = 0.5 * (triangle_box[axis] + triangle_box[3 + axis])
                lower[axis] = min(lower[axis], center)
                upper[axis] = max(upper[axis], center)
        longest = 0
        for axis in range(3):
            nodes[node, axis], nodes[node, 3 + axis] = low[axis], high[axis]
            if upper[axis] - lower[axis] > upper[longest] - lower[longest]:
                longest = axis
        if end - begin <= LEAF:
            links[node, 0], links[node, 1] = begin, end - begin
            continue
        start, width = lower[longest], upper[longest] - lower[longest]
        center = (begin + end) // 2
        if level < _DEPTH // 2 and width > 0.0:
            last = _best_split(box, order, begin, end, longest, start, width, *scratch)
            if last >= 0:
                center = _partition(box, order, begin, end, longest, last, start, width)
        # The second child is popped later and then writes its number into the parent.
        stack[height, 0], stack[height, 1] = center, end
        stack[height, 2], stack[height, 3] = node, level + 1
        stack[height + 1, 0], stack[height + 1, 1] = begin, center
        stack[height + 1, 2], stack[height + 1, 3] = -1, level + 1
        height += 2
    return nodes[:node_count].copy(), links[:node_count].copy(), order


@compile_kernel
def build_skip_links(links):
    """Return the next node (n,) in depth-first order if a node and its descendants are skipped."""
    following = np.empty(len(links), np.int64)
    following[0] = len(links)
    for node in range(len(links)):
        if not links[node, 1]:
            following[node + 1] = links[node, 0]
            following[links[node, 0]] = following[node]
    return following


# Nearest point.


@compile_inner_kernel
def _nearest_on_triangle(p, a, b, c, q):
    """Write the nearest point to q; return its squared distance and its feature.

    0: the face; 1, 2, 3: the edges a-b, b-c, c-a; 4, 5, 6: the corners a, b, c. By the regions of
    Voronoi (Ericson 2005, Real-Time Collision Detection, 5.1.5).
    """
    ab0, ab1, ab2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    ac0, ac1, ac2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    x, y, z = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    d1, d2 = ab0 * x + ab1 * y + ab2 * z, ac0 * x + ac1 * y + ac2 * z
    x, y, z = p[0] - b[0], p[1] - b[1], p[2] - b[2]
    d3, d4 = ab0 * x + ab1 * y + ab2 * z, ac0 * x + ac1 * y + ac2 * z
    x, y, z = p[0] - c[0], p[1] - c[1], p[2] - c[2]
    d5, d6 = ab0 * x + ab1 * y + ab2 * z, ac0 * x + ac1 * y + ac2 * z
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    v, w, feature = 0.0, 0.0, 0
    if d1 <= 0.0 and d2 <= 0.0:
        feature = 4
    elif d3 >= 0.0 and d4 <= d3:
        v, feature = 1.0, 5
    elif d6 >= 0.0 and d5 <= d6:
        w, feature = 1.0, 6
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v, feature = d1 / (d1 - d3) if d1 != d3 else 0.0, 1
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w, feature = d2 / (d2 - d6) if d2 != d6 else 0.0, 3
    elif va <= 0.0 and d4 >= d3 and d5 >= d6:
        total = (d4 - d3) + (d5 - d6)
        w = (d4 - d3) / total if total > 0.0 else 0.0
        v, feature = 1.0 - w, 2
    else:
        total = va + vb + vc
        v, w = vb / total, vc / total
    q[0] = a[0] + v * ab0 + w * ac0
    q[1] = a[1] + v * ab1 + w * ac1
    q[2] = a[2] + v * ab2 + w * ac2
    x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return x * x + y * y + z * z, feature


@compile_inner_kernel
def _box_distance(p, box):
    """Return the squared distance of a point from a box."""
    square = 0.0
    for i in range(3):
        excess = max(box[i] - p[i], p[i] - box[3 + i], 0.0)
        square += excess * excess
    return square


@compile_inner_kernel
def _find_nearest(p, bound, nodes, links, corners, stack, squares, q, nearest):
    """Write the nearest point; return its triangle, −1 for none, and its feature.

    ``stack`` and ``squares`` are scratch arrays, ``q`` is a scratch point.
    """
    best = bound * bound
    triangle, feature = -1, 0
    stack[0], squares[0] = 0, _box_distance(p, nodes[0])
    height = 1
    while height:
        height -= 1
        if not squares[height] < best:
            continue
        node = stack[height]
        if links[node, 1]:
            first = links[node, 0]
            for k in range(first, first + links[node, 1]):
                square, triangle_feature = _nearest_on_triangle(
                    p, corners[k, 0], corners[k, 1], corners[k, 2], q
                )
                if square < best:
                    best, triangle, feature = square, k, triangle_feature
                    nearest[0], nearest[1], nearest[2] = q[0], q[1], q[2]
            continue
        near, far = node + 1, links[node, 0]
        near_square, far_square = _box_distance(p, nodes[near]), _box_distance(p, nodes[far])
        if far_square < near_square:
            near, far, near_square, far_square = far, near, far_square, near_square
        if far_square < best:
            stack[height], squares[height] = far, far_square
            height += 1
        if near_square < best:
            stack[height], squares[height] = near, near_square
            height += 1
    return triangle, feature


@compile_kernel
def signed_distances(points, within, closed, tree):
    """Return signed distances (m,) of points from a surface, and its normals (m, 3).

    Inside a closed surface a distance is below 0 and the normal points out of it. The side follows
    from the normal of the nearest feature: of an edge the sum of its faces' normals, of a corner
    their sum weighted by angle (Baerentzen and Aanaes 2005).

    Args:
        points: (m, 3).
        within: farther points are at this distance, with z as their normal.
        closed: whether the surface has an inside; else its nearer side is the outer one.
        tree: fields of a ``TriangleTree`` as a tuple.
    """
    nodes, links, corners, faces, neighbours, face_normals, vertex_normals, _ = tree
    count = len(points)
    distances, normals = np.full(count, within), np.zeros((count, 3))
    stack, squares = np.empty(_STACK, np.int64), np.empty(_STACK)
    q, nearest, n, offset = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for i in range(count):
        p = points[i]
        k, feature = _find_nearest(p, within, nodes, links, corners, stack, squares, q, nearest)
        if k < 0:
            normals[i, 2] = 1.0
            continue
        for a in range(3):
            offset[a] = p[a] - nearest[a]
            n[a] = face_normals[k, a]
            if 1 <= feature <= 3:
                n[a] += face_normals[neighbours[k, feature - 1], a]
            elif feature >= 4:
                n[a] = vertex_normals[faces[k, feature - 4], a]
        projection = offset[0] * n[0] + offset[1] * n[1] + offset[2] * n[2]
        side = 1.0 if projection >= 0.0 else -1.0
        length = np.sqrt(offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2])
        distances[i] = side * length if closed else length
        # The normal of a face; at an edge or corner the direction to it, unless that is rounding.
        sign = 1.0 if closed else side
        if feature and length > _NO_DIRECTION:
            sign = side if closed else 1.0
            n[0], n[1], n[2] = offset[0], offset[1], offset[2]
        square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
        sign = sign / np.sqrt(square) if square > 0.0 else 0.0
        for a in range(3):
            normals[i, a] = sign * n[a]
        if square == 0.0:
            normals[i, 2] = 1.0
    return distances, normals


# First hits of rays.


@compile_inner_kernel
def _enter_box(o, inverse, box, far):
    """Return the entry distance of a ray into a box; infinite beyond ``far`` or for a miss."""
    enter, leave = 0.0, far
    for i in range(3):
        first, second = (box[i] - o[i]) * inverse[i], (box[3 + i] - o[i]) * inverse[i]
        enter, leave = (
            max(enter, min(first, second)),
            min(leave, max(first, second) * _EXIT_MARGIN),
        )
    return enter if enter <= leave else np.inf


@compile_inner_kernel
def _hit_triangle(o, triangle, x, y, z, sx, sy, sz):
    """Return the distance at which a ray hits a triangle, or −1.

    x, y and z are the permuted axes of the ray, sx, sy and sz its shear.
    """
    az, bz, cz = triangle[0, z] - o[z], triangle[1, z] - o[z], triangle[2, z] - o[z]
    ax, ay = triangle[0, x] - o[x] - sx * az, triangle[0, y] - o[y] - sy * az
    bx, by = triangle[1, x] - o[x] - sx * bz, triangle[1, y] - o[y] - sy * bz
    cx, cy = triangle[2, x] - o[x] - sx * cz, triangle[2, y] - o[y] - sy * cz
    u, v, w = cx * by - cy * bx, ax * cy - ay * cx, bx * ay - by * ax
    determinant = u + v + w
    if ((u < 0.0 or v < 0.0 or w < 0.0) and (u > 0.0 or v > 0.0 or w > 0.0)) or determinant == 0.0:
        return -1.0
    return sz * (u * az + v * bz + w * cz) / determinant


@compile_inner_kernel
def _push_children(o, inverse, node, far, nodes, links, stack, enters, height):
    """Push the children of a node that a ray enters, the nearer one last; return the height."""
    near, far_child = node + 1, links[node, 0]
    first = _enter_box(o, inverse, nodes[near], far)
    second = _enter_box(o, inverse, nodes[far_child], far)
    if second < first:
        near, far_child, first, second = far_child, near, second, first
    if second < np.inf:
        stack[height], enters[height] = far_child, second
        height += 1
    if first < np.inf:
        stack[height], enters[height] = near, first
        height += 1
    return height


@compile_inner_kernel
def _main_axis(d):
    """Return the axis of the largest component of a direction."""
    z = 0
    for n in range(1, 3):
        if abs(d[n]) > abs(d[z]):
            z = n
    return z


@compile_inner_kernel
def _farthest(bounds, numbers):
    """Return the index of the greatest bound; ties go to the greatest number."""
    index = 0
    for n in range(1, len(bounds)):
        if bounds[n] > bounds[index] or (
            bounds[n] == bounds[index] and numbers[n] > numbers[index]
        ):
            index = n
    return index


@compile_kernel
def find_first_hits(origins, directions, maximum, tree):
    """Return distances (r,) of the first hits of rays, and their triangles.

    The distance is infinite, the triangle −1, where a ray meets none within its maximum. A ray
    through an edge or a corner meets one of its triangles, and never passes between them (Woop,
    Benthin and Wald 2013, Watertight ray/triangle intersection).

    Args:
        origins: (r, 3).
        directions: (r, 3), unit vectors.
        maximum: (r,) how far rays go.
        tree: fields of a ``TriangleTree`` as a tuple.
    """
    nodes, links, corners, _, _, _, _, _ = tree
    count = len(origins)
    distances, triangles = np.full(count, np.inf), np.full(count, -1)
    stack, enters = np.empty(_STACK, np.int64), np.empty(_STACK)
    inverse = np.empty(3)
    for i in range(count):
        o, d = origins[i], directions[i]
        for n in range(3):
            # Finite, so that 0 times it is not NaN; for a parallel ray the sign does not matter.
            inverse[n] = 1.0 / d[n] if abs(d[n]) > 1e-290 else 1e290
        z = _main_axis(d)
        x, y = (z + 1) % 3, (z + 2) % 3
        sx, sy, sz = d[x] / d[z], d[y] / d[z], 1.0 / d[z]
        best = maximum[i]
        stack[0], enters[0] = 0, _enter_box(o, inverse, nodes[0], best)
        height = 1
        while height:
            height -= 1
            node = stack[height]
            if not enters[height] <= best:
                continue
            if not links[node, 1]:
                height = _push_children(
                    o, inverse, node, best, nodes, links, stack, enters, height
                )
                continue
            first = links[node, 0]
            for k in range(first, first + links[node, 1]):
                t = _hit_triangle(o, corners[k], x, y, z, sx, sy, sz)
                if 0.0 <= t <= best and (t < best or triangles[i] < 0):
                    best = t
                    distances[i], triangles[i] = t, k
    return distances, triangles


# Edges near convex bodies.


@compile_inner_kernel
def _is_separated(box, normals, offsets, within):
    """Return whether each body has a face from which a box is farther than a distance."""
    for n in range(len(offsets)):
        is_beyond = False
        for h in range(len(offsets[n])):
            a = normals[n, h]
            lower_bound = -offsets[n, h]
            for i in range(3):
                lower_bound += a[i] * (box[i] if a[i] > 0.0 else box[3 + i])
            if lower_bound > within:
                is_beyond = True
                break
        if not is_beyond:
            return False
    return True


@compile_inner_kernel
def _edge_bound(start, end, normals, offsets):
    """Return a lower bound of the distance of an edge from the nearest of n bodies."""
    bound = np.inf
    for n in range(len(offsets)):
        body_bound = -np.inf
        for h in range(len(offsets[n])):
            a = normals[n, h]
            start_distance = a[0] * start[0] + a[1] * start[1] + a[2] * start[2]
            end_distance = a[0] * end[0] + a[1] * end[1] + a[2] * end[2]
            body_bound = max(body_bound, min(start_distance, end_distance) - offsets[n, h])
        bound = min(bound, body_bound)
    return bound


@compile_kernel
def find_edges(max_edges, normals, offsets, within, tree):
    """Return the edges that are nearest to convex bodies, within a distance.

    Args:
        max_edges: largest number k of edges.
        normals: (n, h, 3) of the faces of n convex bodies, outwards.
        offsets: (n, h) a·p ≤ b.
        within: distance.
        tree: fields of a ``TriangleTree`` as a tuple.

    Returns:
        (k,) increasing numbers, filled up with −1, and (k, 2, 3) the ends of the edges.
    """
    nodes, links, corners, _, _, _, _, edges = tree
    numbers, ends = np.full(max_edges, -1), np.zeros((max_edges, 2, 3))
    bounds = np.full(max_edges, np.inf)
    stack = np.empty(_STACK, np.int64)
    stack[0] = 0
    height, count = 1, 0
    while height:
        height -= 1
        node = stack[height]
        if _is_separated(nodes[node], normals, offsets, within):
            continue
        if not links[node, 1]:
            stack[height], stack[height + 1] = links[node, 0], node + 1
            height += 2
            continue
        first = links[node, 0]
        for k in range(first, first + links[node, 1]):
            for i in range(3):
                number = edges[k, i]
                if number < 0:
                    continue
                start, end = corners[k, i], corners[k, (i + 1) % 3]
                bound = _edge_bound(start, end, normals, offsets)
                if not bound < within:
                    continue
                index = count if count < max_edges else _farthest(bounds, numbers)
                if count < max_edges:
                    count += 1
                elif (bound, number) > (bounds[index], numbers[index]):
                    continue
                bounds[index], numbers[index] = bound, number
                _set_ends(ends[index], start, end)
    _sort_edges(count, numbers, ends)
    return numbers, ends


@compile_inner_kernel
def _set_ends(ends, start, end):
    for axis in range(3):
        ends[0, axis], ends[1, axis] = start[axis], end[axis]


@compile_inner_kernel
def _sort_edges(count, numbers, ends):
    """Sort edges by number, not by bound, so that the caller finds those of the step before."""
    for last in range(1, count):
        for index in range(last, 0, -1):
            if numbers[index - 1] <= numbers[index]:
                break
            numbers[index - 1], numbers[index] = numbers[index], numbers[index - 1]
            for i in range(2):
                for axis in range(3):
                    other = ends[index, i, axis]
                    ends[index, i, axis] = ends[index - 1, i, axis]
                    ends[index - 1, i, axis] = other


# Handlers: queries with the addresses of a call frame of XLA and of a surface (xla_calls.py). They
# are in this module because Numba's cache does not notice changes of functions in other modules.

_EXTENSION, _ARGUMENTS, _RESULTS = 1, 9, 14
"""Words (of eight bytes) of a call frame: a request for metadata, and the lists of buffers."""
_KIND, _METADATA, _METADATA_VERSION = 1, 3, 3
"""Words of the request and of the metadata."""
_DATA, _RANK, _DIMENSIONS = 3, 4, 5
"""Words of a buffer."""


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@compile_inner_kernel
def _words(address):
    return numba.carray(_pointer(address), 16, np.int64)


@compile_inner_kernel
def _floats(address, shape):
    return numba.carray(_pointer(address), shape, np.float64)


@compile_inner_kernel
def _integers(address, shape):
    return numba.carray(_pointer(address), shape, np.int32)


@compile_inner_kernel
def _answers_metadata(frame, surface):
    """Report the version of the interface to a caller that asks for it instead of a result."""
    request = _words(frame)[_EXTENSION]
    if request == 0 or _words(request)[_KIND] & 0xFFFFFFFF != 1:
        return False
    _words(_words(request)[_METADATA])[_METADATA_VERSION] = _words(surface)[13]
    return True


@compile_inner_kernel
def _buffer(frame, buffers, index):
    """Return the words of a buffer among the arguments or the results."""
    return _words(_words(_words(frame)[buffers])[index])


@compile_inner_kernel
def _dimension(buffer, from_last):
    rank = buffer[_RANK]
    return _words(buffer[_DIMENSIONS])[rank - from_last] if rank >= from_last else 1


@compile_inner_kernel
def _size(buffer):
    size = 1
    for axis in range(buffer[_RANK]):
        size *= _words(buffer[_DIMENSIONS])[axis]
    return size


@compile_inner_kernel
def _per_row(buffer, batch):
    """Return the numbers (batch,) of a buffer of as many, or of one for all rows."""
    return np.broadcast_to(_floats(buffer[_DATA], _size(buffer)), batch)


# Surfaces: the addresses and sizes of their arrays.


@compile_inner_kernel
def _tree(surface):
    words = _words(surface)
    nodes, triangles, vertices = words[0], words[1], words[2]
    return (
        _floats(words[3], (nodes, 6)),
        numba.carray(_pointer(words[4]), (nodes, 2), np.int64),
        _floats(words[5], (triangles, 3, 3)),
        _integers(words[6], (triangles, 3)),
        _integers(words[7], (triangles, 3)),
        _floats(words[8], (triangles, 3)),
        _floats(words[9], (vertices, 3)),
        _integers(words[10], (triangles, 3)),
    )


def answer_distances(frame, surface):
    """Write signed distances (..., m) and normals (..., m, 3) of points (..., m, 3).

    The second argument (...) is the distance within which they are exact.
    """
    if _answers_metadata(frame, surface):
        return 0
    points, within = _buffer(frame, _ARGUMENTS, 0), _buffer(frame, _ARGUMENTS, 1)
    count = _dimension(points, 2)
    batch = _size(points) // (3 * count)
    closed, half = _words(surface)[11] != 0, 0.5 * _floats(_words(surface)[12], 1)[0]
    rows, max_distances = _floats(points[_DATA], (batch, count, 3)), _per_row(within, batch)
    distances = _floats(_buffer(frame, _RESULTS, 0)[_DATA], (batch, count))
    normals = _floats(_buffer(frame, _RESULTS, 1)[_DATA], (batch, count, 3))
    tree = _tree(surface)
    for i in range(batch):
        found, directions = signed_distances(rows[i], max_distances[i] + half, closed, tree)
        for k in range(count):
            distances[i, k] = found[k] - half
            normals[i, k] = directions[k]
    return 0


def answer_edges(frame, surface):
    """Write numbers (..., k) and ends (..., k, 2, 3) of the edges nearest to convex bodies.

    The arguments are normals (..., n, h, 3) and offsets (..., n, h) of the faces of n bodies, and
    the distance (...) within which edges count.
    """
    if _answers_metadata(frame, surface):
        return 0
    normals, offsets = _buffer(frame, _ARGUMENTS, 0), _buffer(frame, _ARGUMENTS, 1)
    within, result = _buffer(frame, _ARGUMENTS, 2), _buffer(frame, _RESULTS, 0)
    count = _dimension(result, 1)
    bodies, faces = _dimension(offsets, 2), _dimension(offsets, 1)
    batch = _size(offsets) // (bodies * faces)
    half = 0.5 * _floats(_words(surface)[12], 1)[0]
    all_normals = _floats(normals[_DATA], (batch, bodies, faces, 3))
    all_offsets = _floats(offsets[_DATA], (batch, bodies, faces))
    max_distances = _per_row(within, batch)
    numbers = _floats(result[_DATA], (batch, count))
    ends = _floats(_buffer(frame, _RESULTS, 1)[_DATA], (batch, count, 2, 3))
    tree = _tree(surface)
    for i in range(batch):
        found, found_ends = find_edges(
            count, all_normals[i], all_offsets[i], max_distances[i] + half, tree
        )
        for k in range(count):
            numbers[i, k] = found[k]
        ends[i] = found_ends
    return 0
