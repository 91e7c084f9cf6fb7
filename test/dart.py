# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A free body as DART steps it, with SciPy's rotations: what Gazebo does with a wrench."""

import numpy as np
from scipy.spatial.transform import Rotation

from marine_sim_ros.core.spatial import momentum_rate
from marine_sim_ros.core.state import State
from marine_sim_ros.physics.rigid_body import weight


def dart_step(vehicle, state, wrench, environment, dt):
    """Return the state, as Gazebo tells it, after a step under a wrench and the weight.

    The acceleration of the origin is added to its velocity in space, and both of them move the
    body; then the velocity is told in the new body axes.
    """
    mass, nu = vehicle.mass_matrix, state.velocity
    force = wrench + weight(vehicle, state, environment)
    rate = np.linalg.solve(mass, force - momentum_rate(nu, mass @ nu))
    rate[:3] += np.cross(nu[3:], nu[:3])
    turn = Rotation.from_quat(state.orientation)
    v, omega = turn.apply((nu + dt * rate).reshape(2, 3))
    turned = Rotation.from_rotvec(dt * omega) * turn
    velocity = turned.inv().apply([v, omega]).ravel()
    return State(state.position + dt * v, turned.as_quat(), velocity)
