# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hydrodynamics of a Stonefish robot: what it computes of panels as it runs, lumped once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.description import Hydrodynamics, Sourced, Volume
from marine_sim_ros.importers.draft import Draft
from marine_sim_ros.importers.geometry import box_around
from marine_sim_ros.importers.stonefish.parts import Part
from marine_sim_ros.model.geometry import shapes
from marine_sim_ros.model.geometry.added_mass import estimate_added_mass

__all__ = ['Drag', 'lump']


class Drag(NamedTuple):
    """Drag coefficients of a link along its axes, and where they stand (empty: an estimate)."""

    cd: np.ndarray
    cf: np.ndarray
    origin: str


class _Skin(NamedTuple):
    """Outer panels in the base, the rotation of their link, and its C_d and C_f along its axes."""

    solid: shapes.Shape
    turn: np.ndarray
    cd: np.ndarray
    cf: np.ndarray


def lump(
    draft: Draft,
    parts_of: Mapping[str, Sequence[Part]],
    drags: Mapping[str, Drag],
    water: Sourced[float],
) -> None:
    """Lump volumes, drag and added mass of a robot.

    Volume: of the buoyant parts of each link, its centre their centroid. Drag: what
    Stonefish computes of the outer panels under water for motion along and about one axis
    through the centre of mass at a time. Added mass: of the ellipsoid as large and as long.

    Args:
        draft: what takes them.
        parts_of: parts of each link.
        drags: drag coefficients of each link.
        water: density of the water, kg/m³.
    """
    draft.water_density = water
    outer = []
    for name, parts in parts_of.items():
        if name not in draft.links:
            continue
        _displace(draft, name, [p for p in parts if p.buoyant])
        pose = draft.pose_of(name)
        turn = rotation_matrix(pose.quaternion)
        cd, cf, origin = drags[name]
        if not origin and any(p.external for p in parts):
            words = ' '.join(f'{c:.3g}' for c in cd)
            draft.assume(f'link {name!r}: C_d {words} of an ellipsoid, C_f a tenth of it')
        outer += [
            _Skin(shapes.moved(p.solid, turn, pose.translation), turn, cd, cf)
            for p in parts
            if p.external
        ]
    if not outer:
        return
    origin = drags[draft.base][2]
    density = water.value
    center = draft.center_of_mass()
    linear, quadratic = _drag(outer, density, center)
    solids = [skin.solid for skin in outer]
    volume = sum(s.volume for s in solids)
    amid = sum(s.volume * s.center for s in solids) / volume
    second = sum(
        s.second_moment + s.volume * np.outer(s.center - amid, s.center - amid) for s in solids
    )
    added = estimate_added_mass(float(volume), np.asarray(amid), np.asarray(second), density)
    draft.assume('added mass: of the ellipsoid as large and as long as the outer parts')
    rule = f'{origin or "C_d, C_f"}: drag of Stonefish under water, one axis at a time'
    draft.assume(f'drag: {rule}')
    draft.hydrodynamics = Hydrodynamics(
        water,
        Sourced(added, 'ellipsoid as large and as long as the outer parts', True),
        Sourced(np.diag(linear), rule, not origin),
        Sourced(np.diag(quadratic), rule, not origin),
        center=Sourced(center, 'centre of mass, about which Stonefish reckons'),
    )


def _displace(draft: Draft, link: str, parts: list[Part]) -> None:
    volume = sum(p.volume for p in parts)
    if volume <= 0:
        return
    center = sum(p.volume * p.solid.center for p in parts) / volume
    low, high = box_around([p.solid for p in parts])
    origin = f'{parts[0].shape.origin}: volume of {len(parts)} buoyant part(s)'
    draft.volumes.append(
        Volume(
            link,
            Sourced(float(volume), origin),
            Sourced(np.asarray(center), origin),
            Sourced(float(high[2] - low[2]), 'height of the buoyant parts'),
        )
    )


def _drag(skins: list[_Skin], density: float, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear (6,) and quadratic (6,) damping of panels about a point (3,).

    With the velocity w of a panel against the water, its area A and outward normal n:
    F_q = −½ ρ C_d w |w| (w·n) A where w·n > 0, F_f = −ρ C_f (w − (w·n) n) A; C is Σ C_i |e_i|
    with the direction e of the force, or of the moment, of a link.
    """
    linear, quadratic = np.zeros(6), np.zeros(6)
    for skin in skins:
        corners = skin.solid.vertices[skin.solid.faces] - center
        a, b, c = np.moveaxis(corners, 1, 0)
        vector = np.cross(b - a, c - a) / 2
        area = np.linalg.norm(vector, axis=1)
        normal = vector / np.maximum(area, 1e-300)[:, None]
        arm = corners.mean(axis=1)
        for axis in range(6):
            unit = np.eye(3)[axis % 3]
            moved = np.tile(unit, (len(arm), 1)) if axis < 3 else np.cross(unit, arm)
            ahead = np.einsum('ni,ni->n', moved, normal)
            speed = np.linalg.norm(moved, axis=1)
            pressure = moved * (speed * np.maximum(ahead, 0.0) * area)[:, None]
            friction = (moved - ahead[:, None] * normal) * area[:, None]
            for result, force, factors, scale in (
                (quadratic, pressure, skin.cd, 0.5),
                (linear, friction, skin.cf, 1.0),
            ):
                total = (force if axis < 3 else np.cross(arm, force)).sum(axis=0)
                size = float(np.linalg.norm(total))
                if size > 0:
                    share = np.abs(skin.turn.T @ total) / size
                    result[axis] += scale * density * float(factors @ share * (total @ unit))
    return np.maximum(linear, 0.0), np.maximum(quadratic, 0.0)
