# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled kernels of contact, one module for each part of a step, and what they number."""

__all__ = [
    'BOX', 'CYLINDER', 'IS_POINT', 'NUMBER', 'OTHER', 'PLANE', 'SHAPE', 'SPHERE', 'SURFACE',
]  # fmt: skip

PLANE, BOX, CYLINDER, SPHERE, OTHER = range(5)
"""Kinds of surfaces; a plane has its normal along z, what is OTHER is searched elsewhere."""
NUMBER, SURFACE, SHAPE, IS_POINT = range(4)
"""Integers of a contact: its pair, the surface, the shape, and whether it is one of a point."""
