# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads <fins>, and estimates the lift of a fin from its shape."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.model.fins import FinSet
from marine_sim_ros.model.kinematics import read_place
from marine_sim_ros.model.servos import read_limits, read_time_constant
from marine_sim_ros.model.xml import Reader

__all__ = ['FIN_NUMBERS', 'lift_slope', 'read_fins']

OSWALD = 0.9
"""Efficiency e of the induced drag C_L²/(π e A) (Whicker & Fehlner 1958)."""
BROADSIDE = 1.2
"""Drag coefficient across the stream (Hoerner 1965, section 3: plates of small aspect ratio)."""
STALL = 0.4
"""rad; of fins that tell no stall angle."""
FIN_NUMBERS = {
    'area': (1e-8, 1e4),
    'aspect_ratio': (0.05, 1e3),
    'lift_slope': (0.0, 1e6),
    'zero_lift_drag': (0.0, 1e6),
    'drag_slope': (0.0, 1e6),
    'induced_drag': (0.0, 1e6),
    'stall_angle': (1e-3, 1.5708),
    'stall_lift_slope': (-1e6, 1e6),
    'stall_drag_slope': (-1e6, 1e6),
}
"""Elements of a fin that are one number, and their ranges."""


def lift_slope(aspect_ratio: float, sweep: float = 0.0) -> float:
    """Return dC_L/dα of a control surface of small aspect ratio, 1/rad.

    a = 1.8 π A / (cos Λ √(A²/cos⁴ Λ + 4) + 1.8), with A the effective aspect ratio (twice the
    geometric one at a hull that is as large as the fin) and Λ the sweep of the quarter chord, rad.
    Source: Whicker & Fehlner (1958), DTMB report 933; near A = 0 it is π A / 2 but for 5 %, near
    A = ∞ 0.9 · 2 π cos Λ.
    """
    cosine = math.cos(sweep)
    root = cosine * math.sqrt(aspect_ratio**2 / cosine**4 + 4)
    return 1.8 * math.pi * aspect_ratio / (root + 1.8)


def _coefficients(reader: Reader) -> dict[str, float]:
    """Return the coefficients of a fin, with those that follow from its aspect ratio."""

    def number(name: str) -> float:
        return reader.value_of(name, lambda r: r.number(*FIN_NUMBERS[name]), math.nan)

    given = {name: number(name) for name in FIN_NUMBERS}

    def known(name: str, default: float) -> float:
        return default if math.isnan(given[name]) else given[name]

    if math.isnan(given['area']):
        raise reader.error('has no <area>; expected one in m²')
    ratio = given['aspect_ratio']
    if math.isnan(ratio) == math.isnan(given['lift_slope']):
        raise reader.error('expected either an <aspect_ratio> or a <lift_slope>')
    stall = known('stall_angle', STALL)
    shape = reader.child('aspect_ratio')
    sweep = 0.0 if shape is None else shape.attribute_number('sweep', 0.0, -1.4, 1.4)
    slope = lift_slope(ratio, sweep) if ratio > 0 else given['lift_slope']
    induced = known('induced_drag', 1 / (math.pi * OSWALD * ratio) if ratio > 0 else 0.0)
    rest = max(math.pi / 2 - stall, 1e-3)
    drag, rise = known('zero_lift_drag', 0.01), known('drag_slope', 0.0)
    at_stall = drag + rise * stall + induced * (slope * stall) ** 2
    return {
        'area': given['area'],
        'lift_slope': slope,
        'zero_lift_drag': drag,
        'drag_slope': rise,
        'induced_drag': induced,
        'stall_angle': stall,
        'stall_lift_slope': known('stall_lift_slope', -slope * stall / rest),
        'stall_drag_slope': known('stall_drag_slope', max(BROADSIDE - at_stall, 0.0) / rest),
        'time_constant': read_time_constant(reader),
    }


def _wash(reader: Reader, thrusters: Collection[str]) -> tuple[np.ndarray, float]:
    """Return which thruster's wash meets a fin (n,), and the area of its disc in m²."""
    names, wash = tuple(thrusters), reader.child('wash')
    if wash is None:
        return np.zeros(len(names)), 1.0
    name = wash.attribute('thruster')
    if name not in names:
        raise wash.error(f'thruster {name!r} is unknown; {expected_one_of(name, names)}')
    diameter = wash.number(1e-3, 20.0, wash.attribute('diameter'))
    return np.array([float(n == name) for n in names]), math.pi / 4 * diameter**2


def read_fins(root: Reader | None, thrusters: Collection[str]) -> FinSet | None:
    """Return the <fins> of a robot; None without.

    Args:
        root: the element, or None.
        thrusters: names of the thrusters, for <wash>.

    Raises:
        ModelError: anything in it that is unknown, missing, doubled or out of range.
    """
    readers = [] if root is None else root.children({'fin'})
    if not readers:
        return None
    names: list[str] = []
    poses, rows, wash = [], [], []
    for reader in readers:
        reader.children({'origin', 'limit', 'wash', 'time_constant', *FIN_NUMBERS})
        name = reader.attribute('name')
        if name in names:
            raise reader.error('two fins have this name; expected unique names')
        names.append(name)
        position, quaternion = read_place(reader)
        poses.append((position, rotation_matrix(quaternion)))
        wash.append(_wash(reader, thrusters))
        rows.append({**_coefficients(reader), **read_limits(reader)})
    return FinSet(
        names=tuple(names),
        position=np.stack([position for position, _ in poses]),
        forward=np.stack([rotation[:, 0] for _, rotation in poses]),
        hinge=np.stack([rotation[:, 2] for _, rotation in poses]),
        wash=np.stack([meets for meets, _ in wash]),
        disc_area=np.array([area for _, area in wash]),
        **{key: np.array([row[key] for row in rows]) for key in rows[0]},
    )
