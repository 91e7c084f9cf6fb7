# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Energy of a vehicle, which tests compare before and after a step."""

import numpy as np


def kinetic_energy(vehicle, state):
    """Return ½ νᵀ M ν (...), J, added mass included."""
    velocity = np.asarray(state.velocity)
    return np.sum(velocity * (velocity @ vehicle.mass_matrix), axis=-1) / 2
