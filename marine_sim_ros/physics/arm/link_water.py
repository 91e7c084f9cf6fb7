# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Weight, buoyancy and drag of an arm's links, as wrenches on each about ``base_link``."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import cross, in_map, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.arm.manipulator import Manipulator
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.chain import Chain, twists
from marine_sim_ros.physics.arm.payload import Load, water_wrench
from marine_sim_ros.physics.arm.poses import Poses, load_place, points_at
from marine_sim_ros.physics.current import relative_velocity

__all__ = ['link_drag', 'link_load', 'load_water']


def link_drag(
    arm: Manipulator, chain: Chain, u: Array, state: State, environment: Environment
) -> Array:
    """Return −(d₁ + d₂ |w|) w on each link (n, 6), w its velocity in the water where the drag is.

    Each of the six components for itself, in the axes of the drag. The water's velocity is that at
    the vehicle.

    Args:
        arm: the arm.
        chain: its links at their pose.
        u: [ν; q̇] (6 + n,).
        state: state of the vehicle.
        environment: environment at its time.
    """
    xp, own = namespace(u), arm.articulation
    assert own is not None
    water = state.velocity - relative_velocity(state, environment)
    motion = twists(chain, u[:6] - water, u[6:])
    if not len(own.drag_joint):
        return 0 * motion
    here = constant(xp, own.drag_joint)
    turn = constant(xp, own.drag_arm) @ xp.take(chain.arm, here, axis=0)
    w = matvec(turn, xp.take(motion, here, axis=0))
    size = constant(xp, own.linear) + constant(xp, own.quadratic) * xp.abs(w)
    force = matvec(xp.matrix_transpose(turn), -size * w)
    on = constant(xp, (np.arange(len(arm))[:, None] == own.drag_joint).astype(float))
    return on @ force


def link_load(vehicle: Vehicle, poses: Poses, state: State, environment: Environment) -> Array:
    """Return weight and buoyancy of each link (n, 6); a load weighs, and floats elsewhere."""
    arm = vehicle.manipulator if poses.load is None else poses.load.arm
    assert arm is not None
    xp = namespace(poses.translation)
    up = up_in_body(state.orientation)

    floats = points_at(poses, constant(xp, arm.center_of_volume))
    place = in_map(state.position, state.orientation, floats)
    height = constant(xp, np.array([max(b.height, 1e-6) for b in arm.buoyancies]))
    share = xp.clip(0.5 - (place[..., 2] - environment.elevation(place)) / height, 0.0, 1.0)
    density = environment.density_for(vehicle.buoyancy.fluid_density)
    weighs = -environment.gravity * constant(xp, arm.mass)
    carries = share * (density * environment.gravity) * constant(xp, arm.volume)

    def wrench(size: Array, points: Array) -> Array:
        force = size[:, None] * up
        return xp.concat([force, cross(points, force)], axis=-1)

    return wrench(weighs, points_at(poses, constant(xp, arm.center_of_mass))) + wrench(
        carries, floats
    )


def load_water(load: Load, poses: Poses, state: State, environment: Environment) -> Wrench:
    """Return the water's wrench (6,) on a payload that is held, about ``base_link``."""
    place, rotation = load_place(load, poses), poses.rotation[load.joint]
    return water_wrench(load, place, rotation, state, environment)
