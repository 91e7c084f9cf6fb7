# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled distances of points from planes, boxes, cylinders and spheres.

The formulas are those of scene/obstacles.py, which serves all array libraries.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels import BOX, PLANE, SPHERE
from marine_sim_ros.physics.contact.kernels.algebra import inner_kernel

__all__ = ['clearance', 'surface_distance']


@inner_kernel
def _corner_distance(excess, count, weight):
    """Return the distance from a corner of half-spaces, and write its gradient by each."""
    square, nearest, ties = 0.0, excess[0], 0
    for i in range(count):
        outward = max(excess[i], 0.0)
        square += outward * outward
        nearest = max(nearest, excess[i])
    if square > 0.0:
        length = np.sqrt(square)
        for i in range(count):
            weight[i] = max(excess[i], 0.0) / length
        return length
    for i in range(count):
        ties += 1 if excess[i] == nearest else 0
    for i in range(count):
        weight[i] = 1.0 / np.sqrt(ties) if excess[i] == nearest else 0.0
    return nearest


@inner_kernel
def _box_distance(half, local, normal, scratch):
    for i in range(3):
        scratch[i] = abs(local[i]) - half[i]
    distance = _corner_distance(scratch, 3, normal)
    for i in range(3):
        if local[i] < 0.0:
            normal[i] = -normal[i]
    return distance


@inner_kernel
def _direction(local, count, normal):
    """Return the length of a vector (count,), and write its direction; any one for zero."""
    square = 0.0
    for i in range(count):
        square += local[i] * local[i]
    length = np.sqrt(square)
    for i in range(count):
        normal[i] = local[i] / length if square > 0.0 else 1.0 / np.sqrt(count)
    return length


@inner_kernel
def surface_distance(kind, half, local, normal, scratch):
    """Return the signed distance of a point from a surface, and write its normal; both local."""
    if kind == PLANE:
        normal[0], normal[1], normal[2] = 0.0, 0.0, 1.0
        return local[2]
    if kind == SPHERE:
        return _direction(local, 3, normal) - half[0]
    if kind == BOX:
        return _box_distance(half, local, normal, scratch)
    scratch[0] = _direction(local, 2, normal) - half[1]
    scratch[1] = abs(local[2]) - half[2]
    distance = _corner_distance(scratch, 2, scratch[2:])
    normal[0], normal[1] = scratch[2] * normal[0], scratch[2] * normal[1]
    normal[2] = -scratch[3] if local[2] < 0.0 else scratch[3]
    return distance


@inner_kernel
def clearance(kind, position, rotation, bounds, place):
    """Return a lower bound of the distance of a surface from a place, m."""
    if kind == PLANE:
        total = 0.0
        for i in range(3):
            total += rotation[i, 2] * (place[i] - position[i])
        return total
    square = 0.0
    for i in range(3):
        gap = max(abs(position[i] - place[i]) - bounds[i], 0.0)
        square += gap * gap
    return np.sqrt(square)
