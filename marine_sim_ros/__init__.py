# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""marine_sim_ros: underwater vehicles for ROS 2, in lockstep and bit-reproducible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.startup import use_one_blas_thread

use_one_blas_thread()  # before anything loads NumPy

if TYPE_CHECKING:
    from marine_sim_ros.environment.environment import Environment
    from marine_sim_ros.model.library import load_vehicle
    from marine_sim_ros.sim.scenario import load_scenario
    from marine_sim_ros.sim.simulation import simulate

__all__ = [
    'Environment',
    'MarineSimError',
    '__version__',
    'load_scenario',
    'load_vehicle',
    'simulate',
]

__version__ = '0.2.0'

_LAZY = {
    'Environment': 'environment.environment',
    'load_scenario': 'sim.scenario',
    'load_vehicle': 'model.library',
    'simulate': 'sim.simulation',
}
"""Module of each name that is imported on first use: importing all takes a second."""


def __getattr__(name: str) -> Any:
    """Return one of the lazily imported names (PEP 562)."""
    if name not in _LAZY:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    from importlib import import_module

    return getattr(import_module(f'{__name__}.{_LAZY[name]}'), name)
