# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Boxes around the geometry of a description, without building a hull."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.model.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.model.vehicle import Frame
from marine_sim_ros.model.xml import Element

__all__ = ['Extent', 'geometry_extents', 'numbers']

_CORNERS = np.array(list(product((0.0, 1.0), repeat=3)))


@dataclass(frozen=True, eq=False)
class Extent:
    """The box around one geometry: corners ``low`` and ``high`` (3,), m, in the body frame."""

    element: Element
    link: str
    low: np.ndarray
    high: np.ndarray

    @property
    def center(self) -> np.ndarray:
        """(3,) m."""
        return (self.low + self.high) / 2

    @property
    @np.errstate(over='ignore')  # infinite is what it is then
    def volume(self) -> float:
        """Of the box, m³."""
        return float(np.prod(self.high - self.low))


def numbers(text: str | None, count: int) -> np.ndarray | None:
    """Return the finite numbers in a text, or None where there are not that many."""
    try:
        values = np.array((text or '').split(), float)
    except ValueError:
        return None
    return values if len(values) == count and np.all(np.isfinite(values)) else None


def _pose(origin: Element | None) -> tuple[np.ndarray, np.ndarray]:
    """Return translation (3,) and rotation (3, 3) of an <origin>; what cannot be read is zero."""
    if origin is None:
        return np.zeros(3), np.eye(3)
    xyz = numbers(origin.get('xyz'), 3)
    rpy = numbers(origin.get('rpy'), 3)
    turn = np.eye(3) if rpy is None else rotation_matrix(quaternion_from_rpy(*rpy))
    return np.zeros(3) if xyz is None else xyz, turn


def _own_box(geometry: Element, base: Path) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the corners of the box around a <geometry> in its own frame."""
    box, mesh = geometry.find('box'), geometry.find('mesh')
    half: np.ndarray | None = None
    if box is not None:
        size = numbers(box.get('size'), 3)
        half = None if size is None else size / 2
    for kind in ('cylinder', 'sphere'):
        round_ = geometry.find(kind)
        if round_ is not None:
            radius = numbers(round_.get('radius'), 1)
            length = numbers(round_.get('length'), 1)
            if radius is not None:
                tall = radius if length is None else length / 2
                half = np.concatenate([radius, radius, tall])
    if mesh is not None:
        try:
            bounds = read_mesh(mesh_path(mesh.get('filename') or '', base)).bounds
        except ModelError:
            return None
        scale = numbers(mesh.get('scale'), 3)
        ends = np.asarray(bounds) * (np.ones(3) if scale is None else scale)
        return ends.min(axis=0), ends.max(axis=0)
    return None if half is None else (-half, half)


@np.errstate(over='ignore', invalid='ignore')  # sizes are a user's; checks see what is absurd
def geometry_extents(root: Element, frames: Mapping[str, Frame], base: Path) -> tuple[Extent, ...]:
    """Return the boxes around all collisions and visuals whose geometry can be read.

    Args:
        root: the <robot> element.
        frames: frames of the links; links without one are left out.
        base: folder that relative mesh names start from.
    """
    result = []
    for link in root.findall('link'):
        frame = frames.get(link.get('name') or '')
        for element in (*link.findall('collision'), *link.findall('visual')):
            geometry = element.find('geometry')
            corners = None if geometry is None else _own_box(geometry, base)
            if corners is None or frame is None:
                continue
            low, high = corners
            translation, turn = _pose(element.find('origin'))
            points = (low + _CORNERS * (high - low)) @ turn.T + translation
            points = points @ rotation_matrix(frame.quaternion).T + frame.translation
            result.append(Extent(element, frame.name, points.min(axis=0), points.max(axis=0)))
    return tuple(result)
