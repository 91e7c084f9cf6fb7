# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wind coefficients of merchant ships by regression (Isherwood 1972).

C_X = −(A₀ + A₁ 2A_L/L² + A₂ 2A_F/B² + A₃ L/B + A₄ S/L + A₅ C/L + A₆ M), C_Y and C_N likewise with
B₀ to B₅ and C₀ to C₅; C_Y has B₆ A_SS/A_L besides. Numbers as in Fossen's MSS toolbox.

Source: R. M. Isherwood (1972), Wind resistance of merchant ships, RINA Transactions 115, 327-338.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.schema import REQUIRED, number

__all__ = ['ANGLES', 'IsherwoodElement', 'isherwood_coefficients']


@dataclass(frozen=True, kw_only=True)
class IsherwoodElement:
    """<isherwood>: dimensions of a merchant ship, besides those of <wind>."""

    beam: float = number(REQUIRED, 0.01, 200.0, 'm', 'B', place='attribute')
    perimeter: float = number(
        REQUIRED, 0.01, 2e3, 'm', 'S, of the lateral projection, without waterline and masts',
        place='attribute',
    )  # fmt: skip
    centroid: float = number(
        REQUIRED, 0.0, 1e3, 'm', 'C, from the bow to the centroid of A_L', place='attribute'
    )
    superstructure: float = number(
        0.0, 0.0, 1e5, 'm²', 'A_SS, lateral area of the superstructure', place='attribute'
    )
    masts: float = number(0.0, 0.0, 20.0, '', 'M, groups of masts', place='attribute')


ANGLES = np.radians(np.arange(0.0, 181.0, 10.0))
"""(19,) γ of the rows, rad."""

_X = np.array([
    [2.152, -5.00, 0.243, -0.164, 0, 0, 0],
    [1.714, -3.33, 0.145, -0.121, 0, 0, 0],
    [1.818, -3.97, 0.211, -0.143, 0, 0, 0.033],
    [1.965, -4.81, 0.243, -0.154, 0, 0, 0.041],
    [2.333, -5.99, 0.247, -0.190, 0, 0, 0.042],
    [1.726, -6.54, 0.189, -0.173, 0.348, 0, 0.048],
    [0.913, -4.68, 0, -0.104, 0.482, 0, 0.052],
    [0.457, -2.88, 0, -0.068, 0.346, 0, 0.043],
    [0.341, -0.91, 0, -0.031, 0, 0, 0.032],
    [0.355, 0, 0, 0, -0.247, 0, 0.018],
    [0.601, 0, 0, 0, -0.372, 0, -0.020],
    [0.651, 1.29, 0, 0, -0.582, 0, -0.031],
    [0.564, 2.54, 0, 0, -0.748, 0, -0.024],
    [-0.142, 3.58, 0, 0.047, -0.700, 0, -0.028],
    [-0.677, 3.64, 0, 0.069, -0.529, 0, -0.032],
    [-0.723, 3.14, 0, 0.064, -0.475, 0, -0.032],
    [-2.148, 2.56, 0, 0.081, 0, 1.27, -0.027],
    [-2.707, 3.97, -0.175, 0.126, 0, 1.81, 0],
    [-2.529, 3.76, -0.174, 0.128, 0, 1.55, 0],
])  # fmt: skip
_Y = np.array([
    [0, 0, 0, 0, 0, 0, 0],
    [0.096, 0.22, 0, 0, 0, 0, 0],
    [0.176, 0.71, 0, 0, 0, 0, 0],
    [0.225, 1.38, 0, 0.023, 0, -0.29, 0],
    [0.329, 1.82, 0, 0.043, 0, -0.59, 0],
    [1.164, 1.26, 0.121, 0, -0.242, -0.95, 0],
    [1.163, 0.96, 0.101, 0, -0.177, -0.88, 0],
    [0.916, 0.53, 0.069, 0, 0, -0.65, 0],
    [0.844, 0.55, 0.082, 0, 0, -0.54, 0],
    [0.889, 0, 0.138, 0, 0, -0.66, 0],
    [0.799, 0, 0.155, 0, 0, -0.55, 0],
    [0.797, 0, 0.151, 0, 0, -0.55, 0],
    [0.996, 0, 0.184, 0, -0.212, -0.66, 0.34],
    [1.014, 0, 0.191, 0, -0.280, -0.69, 0.44],
    [0.784, 0, 0.166, 0, -0.209, -0.53, 0.38],
    [0.536, 0, 0.176, -0.029, -0.163, 0, 0.27],
    [0.251, 0, 0.106, -0.022, 0, 0, 0],
    [0.125, 0, 0.046, -0.012, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
])  # fmt: skip
_N = np.array([
    [0, 0, 0, 0, 0, 0],
    [0.0596, 0.061, 0, 0, 0, -0.074],
    [0.1106, 0.204, 0, 0, 0, -0.170],
    [0.2258, 0.245, 0, 0, 0, -0.380],
    [0.2017, 0.457, 0, 0.0067, 0, -0.472],
    [0.1759, 0.573, 0, 0.0118, 0, -0.523],
    [0.1925, 0.480, 0, 0.0115, 0, -0.546],
    [0.2133, 0.315, 0, 0.0081, 0, -0.526],
    [0.1827, 0.254, 0, 0.0053, 0, -0.443],
    [0.2627, 0, 0, 0, 0, -0.508],
    [0.2102, 0, -0.0195, 0, 0.0335, -0.492],
    [0.1567, 0, -0.0258, 0, 0.0497, -0.457],
    [0.0801, 0, -0.0311, 0, 0.0740, -0.396],
    [-0.0189, 0, -0.0488, 0.0101, 0.1128, -0.420],
    [0.0256, 0, -0.0422, 0.0100, 0.0889, -0.463],
    [0.0552, 0, -0.0381, 0.0109, 0.0689, -0.476],
    [0.0881, 0, -0.0306, 0.0091, 0.0366, -0.415],
    [0.0851, 0, -0.0122, 0.0025, 0, -0.220],
    [0, 0, 0, 0, 0, 0],
])  # fmt: skip


def isherwood_coefficients(
    ship: IsherwoodElement, frontal_area: float, lateral_area: float, length: float
) -> np.ndarray:
    """Return C_X, C_Y and C_N (3, 19) at :data:`ANGLES`, areas in m², length in m."""
    common = np.array([
        1.0,
        2 * lateral_area / length**2,
        2 * frontal_area / ship.beam**2,
        length / ship.beam,
        ship.perimeter / length,
        ship.centroid / length,
    ])  # fmt: skip
    x = -_X @ np.append(common, ship.masts)
    y = _Y @ np.append(common, ship.superstructure / lateral_area)
    return np.stack([x, y, _N @ common])
