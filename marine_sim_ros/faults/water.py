# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gusts of faults in the water of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.gusts import Gusts
from marine_sim_ros.faults.kinds import Fault, Gust

__all__ = ['with_gusts']


def _velocity(gust: Gust) -> tuple[float, float, float]:
    direction, elevation = math.radians(gust.direction), math.radians(gust.elevation)
    level = gust.speed * math.cos(elevation)
    return (
        level * math.cos(direction),
        level * math.sin(direction),
        gust.speed * math.sin(elevation),
    )


def with_gusts(environment: Environment, faults: Sequence[Fault]) -> Environment:
    """Return an environment with the gusts among some faults."""
    gusts = [fault for fault in faults if isinstance(fault, Gust)]
    if not gusts:
        return environment
    return replace(
        environment,
        gusts=Gusts(
            np.array([g.start for g in gusts]),
            np.array([g.duration for g in gusts]),
            environment.origin.in_map(np.array([_velocity(g) for g in gusts])),
        ),
    )
