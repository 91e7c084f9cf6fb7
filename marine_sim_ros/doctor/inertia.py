# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Moments of inertia: possible at all, and plausible for the size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic
from marine_sim_ros.doctor.extents import numbers
from marine_sim_ros.model.kinematics import FARTHEST
from marine_sim_ros.model.xml import Element

__all__ = ['possible_inertia', 'plausible_inertia', 'products_of_inertia']

_ENTRIES = (('ixx', 'ixy', 'ixz'), ('ixy', 'iyy', 'iyz'), ('ixz', 'iyz', 'izz'))
SMALLEST = 0.05
"""Of the moments of a solid box as large as the vehicle."""
LARGEST = 3.0
"""Of the same: all mass in the corners has m (b² + c²)/4, three times the solid box's."""
PRODUCTS = 0.3
"""|I_xy|/√(I_xx I_yy) that no vehicle nearly symmetric about its axes has."""


def _tensor(link: Element) -> np.ndarray | None:
    inertia = link.find('inertial/inertia')
    if inertia is None:
        return None
    rows = [[numbers(inertia.get(n, '0'), 1) for n in row] for row in _ENTRIES]
    if any(v is None for row in rows for v in row):
        return None
    return np.array([[float(v[0]) for v in row if v is not None] for row in rows])


def possible_inertia(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Principal moments are positive, and none is larger than the other two together."""
    for link in context.root.findall('link'):
        tensor = _tensor(link)
        if tensor is None:
            continue
        low, middle, high = np.linalg.eigvalsh(tensor)
        if low < -1e-9 * max(1.0, high):
            yield context.error(
                link,
                f'its principal moments of inertia are {low:.3g}, {middle:.3g}, {high:.3g} '
                'kg·m²; one is negative',
                'check the signs of ixy, ixz, iyz and the moments',
            )
        elif high > 1.001 * (low + middle):
            yield context.error(
                link,
                f'its largest principal moment of inertia, {high:.4g} kg·m², is above the '
                f'sum of the others, {low + middle:.4g}: no body has that',
                'check ixx, iyy, izz: each is at most the sum of the two others',
            )


def plausible_inertia(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Moments of the whole against those of a solid box as large: m (b² + c²)/12."""
    size = context.size
    if size is None or not np.all(size < FARTHEST):
        return
    inertia = context.vehicle.inertia
    square = size**2
    box = inertia.mass * (np.sum(square) - square) / 12
    for name, own, solid in zip('xyz', np.diag(inertia.tensor), box, strict=True):
        if not SMALLEST * solid <= own <= LARGEST * solid:
            yield context.warning(
                context.root.find('link[inertial]'),
                f'I_{name}{name} of the vehicle is {own:.3g} kg·m², a solid box of its size '
                f'and mass has {solid:.3g}',
                'check the inertia, its unit (kg·m²), and the mass',
            )


def products_of_inertia(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Products of inertia stay small: a vehicle is about symmetric to its axes."""
    tensor = context.vehicle.inertia.tensor
    moments = np.sqrt(np.outer(np.diag(tensor), np.diag(tensor)))
    share = np.abs(tensor - np.diag(np.diag(tensor))) / moments
    i, j = np.unravel_index(int(np.argmax(share)), share.shape)
    if share[i, j] <= PRODUCTS:
        return
    names = 'xyz'
    yield context.hint(
        context.root.find('link[inertial]'),
        f'I_{names[i]}{names[j]} of the vehicle is {tensor[i, j]:.3g} kg·m², '
        f'{share[i, j]:.0%} of the moments beside it: its principal axes are far from its own',
        'check the products of inertia and their sign (off-diagonal terms are −∫xy dm)',
    )
