# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What closes the loop of a controller's node: NumPy, or in a compiled graph a program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from marine_sim_ros.control.closed_loop import ClosedLoop
from marine_sim_ros.control.controller_model import ControllerSettings
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['loops_of']


def loops_of(
    allocation: str, step: float | None
) -> Callable[[Vehicle, ControllerSettings], ClosedLoop]:
    """Return what makes the loop of a vehicle and settings.

    Args:
        allocation: allocation method, ``bounded`` or ``pseudo_inverse``.
        step: s between two states of a compiled graph; None where nothing is compiled.
    """
    if step is None or allocation != 'bounded':
        return partial(ClosedLoop, method=allocation)
    from marine_sim_ros.engine.controller import fastest_loop

    return partial(fastest_loop, dt=step)
