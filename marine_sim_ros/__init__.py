# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""marine_sim_ros: underwater vehicles for ROS 2, in lockstep and bit-reproducible."""

from __future__ import annotations

from marine_sim_ros.blas_threads import use_one_thread

use_one_thread()  # before anything below loads NumPy

# ruff: noqa: E402
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.sim.simulation import simulate

__all__ = ['Environment', 'MarineSimError', '__version__', 'load_vehicle', 'simulate']

__version__ = '0.1.0'
