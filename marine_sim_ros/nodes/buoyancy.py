# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Buoyancy: of the hull's voxels under waves, or ρ g V of a volume that is cut at the surface.

Subscribes: odom; joint_states where the vehicle has an arm.
Publishes: wrench/buoyancy, one per odom, same stamp.
Parameters: the common ones.
Failure: see marine_sim_ros/nodes/force.py.
"""

from __future__ import annotations

from functools import partial

from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.force_node import ModelNode

__all__ = ['main']

BuoyancyNode = partial(ModelNode, 'buoyancy')
"""Class that composed runs look up by the name of the executable."""


def main() -> None:
    """Run the executable."""
    run(BuoyancyNode)


if __name__ == '__main__':
    main()
