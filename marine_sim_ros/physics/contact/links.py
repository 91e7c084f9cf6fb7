# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact points of an arm's links, and of what its gripper holds, where the joints are."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.model.contact.contact import ContactPoints
from marine_sim_ros.model.contact.points import solid_points
from marine_sim_ros.physics.arm.payload import Load

__all__ = ['posed_points']


@lru_cache(maxsize=16)
def _with_load(own: ContactPoints, load: Load) -> ContactPoints:
    """Return points with those of a payload, which has its own material."""
    body, count = load.payload.body, len(own.materials)
    points, radius = solid_points(body.kind, body.size)
    local = points + load.position
    none = np.full(len(own), -1) if own.joint is None else own.joint
    alone = own.position if own.local is None else own.local
    # Straight on from the gripper's joint, however that is turned.
    links = np.linalg.norm(load.arm.translation, axis=1).sum()
    slides = np.abs([load.arm.lower, load.arm.upper]).max(axis=0) @ load.arm.sliding
    far = float(links + slides + np.linalg.norm(local, axis=1).max() + radius)
    ones = np.ones(len(points))
    edge = float(np.prod(body.size)) ** (1 / 3)
    return replace(
        own,
        position=np.concatenate([own.position, local]),
        radius=np.concatenate([own.radius, radius * ones]),
        edge=np.concatenate([own.edge, edge * ones]),
        shape=np.concatenate([own.shape, np.full(len(points), count)]),
        materials=(*own.materials, body.material),
        joint=np.concatenate([none, np.full(len(points), load.joint)]),
        local=np.concatenate([alone, local]),
        farthest=max(own.reach, far),
    )


def posed_points(
    own: ContactPoints, translation: Array, rotation: Array, load: Load | None = None
) -> ContactPoints:
    """Return contact points with r = t + R p for those p that links carry.

    Args:
        own: points of a vehicle, joints at zero.
        translation: t (..., n, 3) of the joint frames in the body frame, m.
        rotation: R (..., n, 3, 3).
        load: payload that the gripper holds, or None.
    """
    own = own if load is None else _with_load(own, load)
    if own.joint is None or own.local is None:
        return own
    xp = namespace(translation)
    index = constant(xp, np.maximum(own.joint, 0))
    turned = matvec(xp.take(rotation, index, axis=-3), constant(xp, own.local))
    moved = xp.take(translation, index, axis=-2) + turned
    carried = constant(xp, own.joint >= 0)[:, None]
    position = xp.where(carried, moved, constant(xp, own.position))
    return replace(own, position=position, described=own)
