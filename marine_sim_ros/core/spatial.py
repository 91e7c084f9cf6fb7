# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rotations and wrench transforms. Quaternions are x, y, z, w and turn body into map vectors.

Products of two vectors (cross product, quaternion product, rotation matrix) are written as one
constant matrix applied to the outer product: few array operations, any leading axes, and the
same code for every array library.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from marine_sim_ros.core.arrays import (
    Array,
    constant,
    is_single_vector,
    is_traced,
    namespace,
    remember_vectors,
)

__all__ = [
    'VectorParts',
    'bilinear',
    'continuous_quaternions',
    'cross',
    'cross_parts',
    'in_map',
    'join_vectors',
    'matrix_quaternion',
    'momentum_rate',
    'normalize',
    'projected_yaw',
    'quaternion_conjugate',
    'quaternion_from_rpy',
    'quaternion_of_angles',
    'quaternion_product',
    'rotation_matrix',
    'rotation_vector',
    'rotation_vector_quaternion',
    'rpy_from_quaternion',
    'skew',
    'split_vectors',
    'to_body',
    'transport',
    'up_in_body',
    'reproducible_rpy',
    'attitude_error',
]

_GIMBAL_LOCK = 1e-7
"""Cosine of the pitch below which roll and yaw are not distinguishable (gimbal lock)."""


def _bilinear_form(rows: int, n: int, terms: Iterable[tuple[int, int, int, float]]) -> np.ndarray:
    form = np.zeros((rows, n, n))
    for row, i, j, value in terms:
        form[row, i, j] += value
    return form.reshape(rows, n * n).T.copy()


_CYCLE = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
_CROSS = _bilinear_form(3, 3, [t for k, i, j in _CYCLE for t in ((k, i, j, 1.0), (k, j, i, -1.0))])
# Rows of R(q) as quadratic forms in q = (x, y, z, w).
_ROTATION = _bilinear_form(
    9,
    4,
    [
        t
        for k, i, j in _CYCLE
        for t in (
            (4 * k, k, k, 1.0),
            (4 * k, i, i, -1.0),
            (4 * k, j, j, -1.0),
            (4 * k, 3, 3, 1.0),
            (3 * i + j, i, j, 2.0),
            (3 * i + j, k, 3, -2.0),
            (3 * j + i, i, j, 2.0),
            (3 * j + i, k, 3, 2.0),
        )
    ],
)
_UP = _ROTATION[:, 6:].copy()
_HAMILTON = _bilinear_form(
    4,
    4,
    [(3, 3, 3, 1.0)]
    + [
        t
        for k, i, j in _CYCLE
        for t in ((k, k, 3, 1.0), (k, 3, k, 1.0), (k, i, j, 1.0), (k, j, i, -1.0), (3, k, k, -1.0))
    ],
)
_SKEW = _CROSS.reshape(3, 3, 3).transpose(0, 2, 1).reshape(3, 9)
_IDENTITY = np.eye(3)
_CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])
# [v; ω] x* [p; h] = [ω x p; v x p + ω x h]
_FORCE_CROSS = _bilinear_form(
    6,
    6,
    [
        t
        for k, i, j in _CYCLE
        for t in (
            (k, 3 + i, j, 1.0),
            (k, 3 + j, i, -1.0),
            (3 + k, i, j, 1.0),
            (3 + k, j, i, -1.0),
            (3 + k, 3 + i, 3 + j, 1.0),
            (3 + k, 3 + j, 3 + i, -1.0),
        )
    ],
)


def bilinear(form: np.ndarray, a: Array, b: Array) -> Array:
    """Apply a constant bilinear form (n·n, m) to vectors (..., n); returns (..., m)."""
    if is_single_vector(a) and b.ndim == 1:  # the same sums in half the time
        return (a.reshape(-1, 1) * b).ravel().dot(form)
    xp = namespace(a)
    if is_traced(xp):
        return _unrolled_form(xp, form, a, b)
    outer = a[..., :, None] * b[..., None, :]
    return xp.reshape(outer, (*outer.shape[:-2], -1)) @ constant(xp, form)


def _unrolled_form(xp: Any, form: np.ndarray, a: Array, b: Array) -> Array:
    """Return the form without its zeros: a compiler fuses it with what is around."""
    terms: list[Any] = [0.0] * form.shape[1]
    for row, column in np.argwhere(form):
        i, j = divmod(int(row), a.shape[-1])
        terms[column] = terms[column] + float(form[row, column]) * (a[..., i] * b[..., j])
    return xp.stack(terms, axis=-1)


def cross(a: Array, b: Array) -> Array:
    """Return a x b for vectors (..., 3)."""
    if is_single_vector(a) and is_single_vector(b):  # the same sums in a third of the time
        return np.array(cross_parts(a.tolist(), b.tolist()))
    return bilinear(_CROSS, a, b)


VectorParts: TypeAlias = tuple[Any, Any, Any]
"""Components of vectors, each (...), or Python's numbers, which take a third of NumPy's time."""


def cross_parts(a: VectorParts, b: VectorParts) -> VectorParts:
    """Return the components of a x b."""
    # + 0.0: no zero is negative, as in a sum of products.
    return (
        a[1] * b[2] - a[2] * b[1] + 0.0,
        a[2] * b[0] - a[0] * b[2] + 0.0,
        a[0] * b[1] - a[1] * b[0] + 0.0,
    )


def split_vectors(pair: Array) -> tuple[VectorParts, VectorParts]:
    """Return the components of a and b of [a; b] (..., 6)."""
    parts = pair.tolist() if is_single_vector(pair) else [pair[..., i] for i in range(6)]
    return (parts[0], parts[1], parts[2]), (parts[3], parts[4], parts[5])


def join_vectors(like: Array, *vectors: VectorParts) -> Array:
    """Return [a; …] (..., 3 k) of the components of k vectors, in the namespace of an array."""
    parts = [part for vector in vectors for part in vector]
    return np.array(parts) if is_single_vector(like) else namespace(like).stack(parts, axis=-1)


def quaternion_product(a: Array, b: Array) -> Array:
    """Return the Hamilton product a ⊗ b of quaternions (..., 4)."""
    return bilinear(_HAMILTON, a, b)


@remember_vectors
def quaternion_conjugate(quaternion: Array) -> Array:
    """Return the conjugate (..., 4), for a unit quaternion its inverse."""
    return quaternion * constant(namespace(quaternion), _CONJUGATE)


def rotation_matrix(quaternion: Array) -> Array:
    """Return R (..., 3, 3) with v_map = R v_body for unit quaternions (..., 4)."""
    flat = bilinear(_ROTATION, quaternion, quaternion)
    return namespace(flat).reshape(flat, (*flat.shape[:-1], 3, 3))


@remember_vectors
def up_in_body(quaternion: Array) -> Array:
    """Return the body components (..., 3) of the map's upward unit vector: R's last row."""
    return bilinear(_UP, quaternion, quaternion)


def to_body(quaternion: Array, vector: Array) -> Array:
    """Return the body components Rᵀ v (..., 3) of map vectors (..., 3)."""
    return (vector[..., None, :] @ rotation_matrix(quaternion))[..., 0, :]


def in_map(position: Array, quaternion: Array, points: Array) -> Array:
    """Return body points (n, 3) in map (..., n, 3) for a body at a position and an attitude."""
    rotated = points @ namespace(position).matrix_transpose(rotation_matrix(quaternion))
    return rotated + position[..., None, :]


def momentum_rate(velocity: Array, momentum: Array) -> Array:
    """Return C(ν)ν = [ω x p; v x p + ω x h] for ν = [v; ω] and M ν = [p; h], both (..., 6).

    Kirchhoff's equations; equal to Fossen (2011) eq. 6.43 for any symmetric M.
    """
    return bilinear(_FORCE_CROSS, velocity, momentum)


def normalize(vector: Array) -> Array:
    """Return vectors (..., n) divided by their Euclidean length, which must not be zero."""
    xp = namespace(vector)
    return vector / xp.sqrt(xp.vecdot(vector, vector))[..., None]


def rotation_vector_quaternion(rotation: Array) -> Array:
    """Return the quaternion (..., 4) of rotation vectors (..., 3), rad: the exponential map."""
    xp = namespace(rotation)
    # The tiny number keeps 0/0 away, in single precision too: sin(h)/h is exactly 1 for h = 1e-15.
    half = xp.sqrt(xp.vecdot(rotation, rotation) / 4 + 1e-30)
    if is_single_vector(rotation):  # the same numbers without arrays of one
        factor = float(np.sin(half) / (2 * half))
        return np.array([*(factor * angle for angle in rotation.tolist()), np.cos(half)])
    half = half[..., None]
    return xp.concat([rotation * (xp.sin(half) / (2 * half)), xp.cos(half)], axis=-1)


def rotation_vector(before: Array, after: Array) -> Array:
    """Return the rotation vector (..., 3), rad, from one attitude (..., 4) to another, log(Rᵀ R⁺).

    In the body frame, the shorter way round: the inverse of :func:`rotation_vector_quaternion`.
    """
    xp = namespace(before)
    difference = quaternion_product(quaternion_conjugate(before), after)
    difference = xp.where(difference[..., 3:] >= 0, difference, -difference)
    vector, cosine = difference[..., :3], difference[..., 3:]
    square = xp.vecdot(vector, vector)[..., None]
    small = square < 1e-24
    sine = xp.sqrt(xp.where(small, xp.ones_like(square), square))
    return vector * xp.where(small, 2.0 * xp.ones_like(sine), 2.0 * xp.atan2(sine, cosine) / sine)


def skew(vector: Array) -> Array:
    """Return S(a) (..., 3, 3) with S(a) b = a x b, for vectors (..., 3)."""
    flat = vector @ constant(namespace(vector), _SKEW)
    return namespace(flat).reshape(flat, (*flat.shape[:-1], 3, 3))


def transport(offset: Array) -> Array:
    """Return H (6, 6) that moves velocities to a point r: ν_r = H ν; wrenches move by Hᵀ.

    H = [E, −S(r); 0, E] with r (3,) from the origin, body frame (Fossen 2011, eq. 7.26).
    """
    xp = namespace(offset)
    eye = constant(xp, _IDENTITY)
    below = xp.concat([xp.zeros_like(eye), eye], axis=1)
    return xp.concat([xp.concat([eye, -skew(offset)], axis=1), below])


def quaternion_from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Return x, y, z, w of URDF's fixed-axis roll, pitch, yaw in rad: Rz(yaw) Ry Rx(roll)."""
    return np.asarray(quaternion_of_angles(np.array([roll, pitch, yaw], float)))


def quaternion_of_angles(rpy: Array) -> Array:
    """Return the quaternion (4,) of angles (3,) roll, pitch, yaw in rad: Rz(yaw) Ry Rx(roll)."""
    xp = namespace(rpy)
    cosine, sine = xp.cos(rpy / 2), xp.sin(rpy / 2)
    cr, cp, cy = cosine[0], cosine[1], cosine[2]
    sr, sp, sy = sine[0], sine[1], sine[2]
    return xp.stack(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ]
    )


def projected_yaw(quaternion: Array) -> Array:
    """Return the yaw (...) in rad that a compass on the vehicle shows, of quaternions (..., 4).

    The map's north ŷ is projected on the vehicle's deck, F = ŷ − (û·ŷ) û, and turned to its left
    l̂: atan2(û·(F × l̂), F·l̂). It is the last angle of pitch, roll, yaw, R = Ry Rx Rz, where
    :func:`rpy_from_quaternion` gives the first of Rz Ry Rx; level, both are the same. Source:
    thesis "Real-Time ROV Motion Simulator", chapter 6, with z up.
    """
    xp = namespace(quaternion)
    r = rotation_matrix(quaternion)
    left, up = r[..., :, 1], r[..., :, 2]
    north = constant(xp, np.array([0.0, 1.0, 0.0]))
    flat = north - up[..., 1:2] * up
    return xp.atan2(xp.vecdot(up, cross(flat, left)), xp.vecdot(flat, left))


def rpy_from_quaternion(quaternion: Array) -> Array:
    """Return (..., 3) roll, pitch, yaw in rad (ZYX) of unit quaternions (..., 4)."""
    xp = namespace(quaternion)
    r = rotation_matrix(quaternion)
    return xp.stack(
        [
            xp.atan2(r[..., 2, 1], r[..., 2, 2]),
            -xp.asin(xp.clip(r[..., 2, 0], -1.0, 1.0)),
            xp.atan2(r[..., 1, 0], r[..., 0, 0]),
        ],
        axis=-1,
    )


def matrix_quaternion(matrix: np.ndarray) -> np.ndarray:
    """Return the unit quaternion (4,) of a rotation matrix (3, 3).

    The matrix has the products 4 q qᵀ; the row of the largest component is taken, so that nothing
    is divided by a small number.
    """
    r, trace = matrix, float(np.trace(matrix))
    xx, yy, zz = (1.0 + 2.0 * np.diag(r) - trace).tolist()
    xy, xz, yz = r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1]
    xw, yw, zw = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    products = np.array(
        [[xx, xy, xz, xw], [xy, yy, yz, yw], [xz, yz, zz, zw], [xw, yw, zw, 1.0 + trace]]
    )
    row = products[np.argmax(np.diag(products))]
    return np.asarray(row / np.linalg.norm(row))


def continuous_quaternions(quaternions: np.ndarray) -> np.ndarray:
    """Return quaternions (n, 4) with signs chosen so that neighbours are close."""
    is_flipped = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0
    sign = np.cumprod(np.where(np.append(False, is_flipped), -1.0, 1.0))
    return quaternions * sign[:, None]


def reproducible_rpy(quaternion: np.ndarray) -> np.ndarray:
    """Return roll, pitch, yaw (3,) in rad that reproduce the rotation, at pitch ±90° too.

    In gimbal lock roll and yaw are about the same axis, and :func:`rpy_from_quaternion` amplifies
    rounding; here roll is 0 then. Files use it, since their angles are read back.

    Args:
        quaternion: unit quaternion (4,), x, y, z, w.
    """
    r = np.asarray(rotation_matrix(quaternion))
    rpy = np.array(rpy_from_quaternion(quaternion))
    if np.hypot(r[2, 1], r[2, 2]) < _GIMBAL_LOCK:
        rpy[0], rpy[2] = 0.0, np.arctan2(-r[0, 1], r[1, 1])
    return rpy


# Attitude of controllers: errors without singularities, rates of angles, the level frame.


def wrap_angle(angle: Array) -> Array:
    """Return angles within −π to π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


def attitude_error(orientation: Array, target_rpy: Array) -> Array:
    """Return the rotation vector (3,) in the body frame to target angles (ZYX, rad)."""
    return rotation_vector(orientation, quaternion_of_angles(target_rpy))


def level_frame(yaw: Array) -> Array:
    """Return R (3, 3) from the level frame, which has the yaw () in rad of a vehicle, to map."""
    xp = np if isinstance(yaw, float) else namespace(yaw)
    c, s = xp.cos(yaw), xp.sin(yaw)
    zero, one = xp.zeros_like(c), xp.ones_like(c)
    return xp.reshape(xp.stack([c, -s, zero, s, c, zero, zero, zero, one]), (3, 3))


def level_velocity(orientation: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return the velocity ahead, to port and up (..., 3), level frame, m/s.

    Args:
        orientation: (..., 4) x, y, z, w.
        velocity: (..., 6) in the body frame, m/s and rad/s.
    """
    yaw = rpy_from_quaternion(orientation)[..., 2]
    over_ground = rotation_matrix(orientation) @ velocity[..., :3, None]
    east, north, up = np.moveaxis(over_ground[..., 0], -1, 0)
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack([c * east + s * north, c * north - s * east, up], axis=-1)


def body_rates(rpy: Array, rpy_rate: Array) -> Array:
    """Return ω (3,) in the body frame of rates of roll, pitch, yaw (Fossen 2011, eq. 2.28)."""
    xp = namespace(rpy)
    roll, pitch = rpy[0], rpy[1]
    sr, cr, sp, cp = xp.sin(roll), xp.cos(roll), xp.sin(pitch), xp.cos(pitch)
    dr, dp, dy = rpy_rate[0], rpy_rate[1], rpy_rate[2]
    return xp.stack([dr - sp * dy, cr * dp + cp * sr * dy, -sr * dp + cp * cr * dy])
