# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled search for the contacts of a body with a mesh; it needs Numba."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.geometry.bvh_kernels import find_edges, signed_distances
from marine_sim_ros.physics.contact.kernels.algebra import (
    dot,
    inner_kernel,
    kernel,
    set_rotation,
    turn,
    turn_back,
)
from marine_sim_ros.physics.contact.kernels.edges import deepest_point

__all__ = ['find_mesh_contacts']


@inner_kernel
def _set_pose(mesh_pose, mesh_rotation, position, orientation, pose):
    """Write R of the body in the frame of the mesh, and its place (4, 3)."""
    rotation, offset = np.empty((3, 3)), np.empty(3)
    set_rotation(orientation, rotation)
    for i in range(3):
        offset[i] = position[i] - mesh_pose[i]
        for j in range(3):
            pose[i, j] = 0.0
            for k in range(3):
                pose[i, j] += mesh_rotation[k, i] * rotation[k, j]
    turn_back(mesh_rotation, offset, pose[3])


@inner_kernel
def _add_points(surface, pose, points, radii, within, first, numbers, values):
    """Write the contacts of points, with numbers from the first one; return how many."""
    tree, closed, half = surface
    local, turned, count, largest = np.empty_like(points), np.empty(3), 0, 0.0
    for i in range(len(points)):
        turn(pose[:3], points[i], local[i])
        largest = max(largest, radii[i])
        for j in range(3):
            local[i, j] += pose[3, j]
    distances, normals = signed_distances(local, within + largest + half, closed, tree)
    for i in range(len(points)):
        gap = distances[i] - half - radii[i]
        if not gap < within:
            continue
        turn_back(pose[:3], normals[i], turned)
        numbers[count, 0], values[count, 0] = first + i, gap
        for j in range(3):
            values[count, 1 + j] = turned[j]
            values[count, 4 + j] = points[i, j] - radii[i] * turned[j]
        count += 1
    return count


@inner_kernel
def _nearest_edges(surface, pose, normals, offsets, within, max_edges):
    """Return numbers (k,) of the mesh's edges nearest to the convex bodies, and their ends."""
    tree, _, half = surface
    turned, moved = np.empty_like(normals), np.empty_like(offsets)
    for n in range(offsets.shape[0]):
        for h in range(offsets.shape[1]):
            turn(pose[:3], normals[n, h], turned[n, h])
            moved[n, h] = offsets[n, h] + dot(turned[n, h], pose[3])
    return find_edges(max_edges, turned, moved, within + half, tree)


@inner_kernel
def _add_edge(edge, half, normals, offsets, search, within, number, numbers, values, count):
    """Write the contacts of an edge's start and vector (2, 3) in the bodies; return how many."""
    faces = normals.shape[1]
    lines, found = np.empty((2, faces)), np.empty(7)
    for n in range(len(normals)):
        for h in range(faces):
            lines[0, h] = dot(normals[n, h], edge[0]) - offsets[n, h]
            lines[1, h] = dot(normals[n, h], edge[1])
        deepest_point(lines[0], lines[1], normals[n], search[0], search[1], search[2], found)
        length = np.sqrt(dot(found[2:5], found[2:5]))
        for end in range(2):
            t = found[5 + end]
            gap = (found[0] + t * found[1]) / length
            if not gap - half < within:
                continue
            numbers[count, 0], values[count, 0] = number + 2 * n + end, gap - half
            for i in range(3):
                outward = found[2 + i] / length
                values[count, 1 + i] = -outward
                values[count, 4 + i] = edge[0, i] + t * edge[1, i] - gap * outward
            count += 1
    return count


@kernel
def find_mesh_contacts(surface, place, state, points, radii, solids, firsts, within, search):
    """Return numbers (c, 1) and gap, normal and point (c, 7) of contacts below a gap, in order.

    Args:
        surface: fields of the ``TriangleTree`` as a tuple, whether it is closed, and half of its
            thickness, m.
        place: position (3,) and rotation (3, 3) of the mesh in map.
        state: position (3,) and quaternion (4,) of the body in map.
        points: (m, 3) of the body, m.
        radii: (m,) of its points, m.
        solids: normals (n, h, 3) and offsets (n, h) of the faces of its convex bodies.
        firsts: numbers of the first pair of a point, and of an edge.
        within: m.
        search: largest number of edges, and cuts, m and length of ``find_deepest_points``.
    """
    normals, offsets = solids
    pose, edge, offset, ends = np.empty((4, 3)), np.empty((2, 3)), np.empty(3), 2 * len(normals)
    _set_pose(place[0], place[1], state[0], state[1], pose)
    most = len(points) + ends * search[0]
    numbers, values = np.empty((most, 1), np.int64), np.empty((most, 7))
    count = _add_points(surface, pose, points, radii, within, firsts[0], numbers, values)
    if not len(normals):
        return numbers[:count], values[:count]
    found, corners = _nearest_edges(surface, pose, normals, offsets, within, search[0])
    for e in range(len(found)):
        if found[e] < 0:
            break
        for i in range(3):
            offset[i] = corners[e, 0, i] - pose[3, i]
        turn_back(pose[:3], offset, edge[0])
        for i in range(3):
            offset[i] = corners[e, 1, i] - corners[e, 0, i]
        turn_back(pose[:3], offset, edge[1])
        number = firsts[1] + ends * int(found[e])
        count = _add_edge(
            edge, surface[2], normals, offsets, search[1:], within, number, numbers, values, count
        )
    return numbers[:count], values[:count]
