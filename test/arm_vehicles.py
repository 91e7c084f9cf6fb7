# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Articulated vehicles and drives for tests: a body and two links on joints about two axes."""

import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.physics.arm.chain_solvers import JointLaw

LINK = """<link name="{name}"><inertial><origin xyz="0.2 0.01 -0.02"/><mass value="{mass}"/>
    <inertia ixx="0.015" ixy="0.001" ixz="0" iyy="0.03" iyz="0.002" izz="0.04"/></inertial></link>
  <joint name="{name}_joint" type="{type}"><parent link="{parent}"/><child link="{name}"/>
    <origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>
    <limit lower="-{limit}" upper="{limit}" velocity="{velocity}" effort="{effort}"/>
    <dynamics damping="{damping}" friction="{friction}"/></joint>
"""
WATER = (
    '<link name="upper" xyz="0.2 0 0" added_mass="0.2 1.5 1.1 0 0.02 0.03" {drag}/>'
    '<link name="lower" xyz="0.15 0 0" rpy="0.3 0 0" added_mass="0.1 0.9 0.7 0 0.01 0.02" {drag}/>'
)


def two_links(*, water='', volume='', gear=None, kinds=('revolute', 'revolute'), base=10.0):
    """Return a body of 10 kg with an arm of 3 kg and 2 kg, ``water`` within <manipulator>."""
    own = {
        'limit': 50.0, 'velocity': 20.0, 'effort': 0.0, 'damping': 0.0, 'friction': 0.0,
        **(gear or {}),
    }  # fmt: skip
    upper = LINK.format(
        name='upper', parent='base_link', mass=3.0, xyz='0.3 0.1 0', rpy='0.2 0.1 0',
        axis='0 1 0', type=kinds[0], **own,
    )  # fmt: skip
    lower = LINK.format(
        name='lower', parent='upper', mass=2.0, xyz='0.4 0 0.05', rpy='0 0.3 0.2',
        axis='0 0.6 0.8', type=kinds[1], **own,
    )  # fmt: skip
    return load_vehicle(f"""<robot name="probe">
  <link name="base_link"><inertial><origin xyz="0.02 0 0.03"/><mass value="{base}"/>
    <inertia ixx="0.2" ixy="0.01" ixz="0" iyy="0.3" iyz="0" izz="0.4"/></inertial></link>
  {upper}{lower}
  <manipulator dynamics="articulated">{water}</manipulator>{volume}</robot>""")


def angles(seed, count=2):
    """Return positions and rates of joints, and a velocity (6,), of a seed."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, count), rng.uniform(-2, 2, count), rng.uniform(-1, 1, 6)


def stiff_joints(seed):
    """Return laws of six joints, an inertia A (6, 6) of widely different sizes, and b (6,)."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    matrix = basis @ np.diag(10.0 ** rng.uniform(-4, 1, 6)) @ basis.T
    effort, speed = rng.uniform(0, 100, 6), rng.uniform(-1, 1, 6)
    law = JointLaw(
        np.zeros(6), speed, speed, effort / 0.03, effort, rng.uniform(0, 2, 6),
        rng.choice([0.0, 5.0], 6), np.full(6, -0.7), np.full(6, 0.9),
    )  # fmt: skip
    return law, matrix, matrix @ rng.uniform(-10, 10, 6)
