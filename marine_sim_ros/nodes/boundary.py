# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Boundary: effect of seabed, walls and surface on the vehicle through its thrusters' jets.

Subscribes: odom; thrusters/state of the same stamp.
Publishes: wrench/boundary, one per odom, same stamp.
Parameters: the common ones.
Failure: see marine_sim_ros/nodes/force.py.
"""

from __future__ import annotations

from functools import partial

from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.force_node import ModelNode

__all__ = ['main']

BoundaryNode = partial(ModelNode, 'boundary')
"""Class that composed runs look up by the name of the executable."""


def main() -> None:
    """Run the executable."""
    run(BoundaryNode)


if __name__ == '__main__':
    main()
