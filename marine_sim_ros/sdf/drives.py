# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gazebo's own systems that move the joints of an arm, by positions or efforts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marine_sim_ros.model.arm.manipulator import BANDWIDTH, Manipulator
from marine_sim_ros.model.xml import Element
from marine_sim_ros.sdf.elements import add

__all__ = ['DRIVES', 'add_drives', 'joint_inertia']

DRIVES = ('position', 'effort')
"""Commands that joints can take; their topics are gz-sim's own."""
_SYSTEMS = {
    'position': ('joint-position-controller', 'JointPositionController'),
    'effort': ('apply-joint-force', 'ApplyJointForce'),
}


def joint_inertia(arm: Manipulator) -> np.ndarray:
    """Return what each joint moves with the others at zero and the vehicle held: (n,).

    I_j = Σ_i aᵀ R_i I_i R_iᵀ a + m_i |a × (c_i − p_j)|² over the links i that hang on joint j, in
    kg·m², or Σ m_i, in kg, where it slides.
    """
    places, turns = arm.translation.copy(), arm.rotation.copy()
    for i, parent in enumerate(arm.parent):
        if parent >= 0:
            places[i] = places[parent] + turns[parent] @ places[i]
            turns[i] = turns[parent] @ turns[i]
    axes = (turns @ arm.axis[..., None])[..., 0]
    centers = places + (turns @ arm.center_of_mass[..., None])[..., 0]
    tensors = turns @ arm.tensor @ np.swapaxes(turns, -1, -2)
    result = np.zeros(len(arm))
    for i in range(len(arm)):
        j = i
        while j >= 0:
            lever = np.cross(axes[j], centers[i] - places[j])
            turning = axes[j] @ tensors[i] @ axes[j] + arm.mass[i] * (lever @ lever)
            result[j] += arm.mass[i] if arm.sliding[j] else turning
            j = arm.parent[j]
    return result


def add_drives(
    model: Element, arm: Manipulator, named: Callable[[str], str], efforts: np.ndarray, kind: str
) -> None:
    """Add a system for each joint.

    ``position``: τ = I ω² (q_c − q) − 2 I ω q̇ within the joint's effort, with I of
    :func:`joint_inertia` and the bandwidth ω of the drives of this package.

    Args:
        model: SDF model to which the systems are added.
        arm: its joints.
        named: returns the name of a joint in the model.
        efforts: (n,) greatest effort of each joint, N·m or N.
        kind: of ``DRIVES``.
    """
    library, system = _SYSTEMS[kind]
    for name, inertia, most in zip(arm.names, joint_inertia(arm), efforts, strict=True):
        plugin = add(
            model,
            'plugin',
            filename=f'gz-sim-{library}-system',
            name=f'gz::sim::systems::{system}',
        )
        add(plugin, 'joint_name', named(name))
        if kind == 'effort':
            continue
        gains = {
            'p_gain': inertia * BANDWIDTH**2,
            'i_gain': 0.0,
            'd_gain': 2 * inertia * BANDWIDTH,
            'i_max': 0.0,
            'i_min': 0.0,
            'cmd_max': most,
            'cmd_min': -most,
        }
        for tag, value in gains.items():
            add(plugin, tag, value)
