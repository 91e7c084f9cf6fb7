# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which numbers every run of a sweep has: a function of the plan and its seed alone."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.random import uniform
from marine_sim_ros.sweep.plan import Parameter, Plan

__all__ = ['MOST', 'design']

MOST = 10_000_000
"""Runs of a sweep."""


def _at(parameter: Parameter, shares: np.ndarray) -> np.ndarray:
    """Return the values (n,) below which lie shares (n,) of a distribution."""
    if parameter.values:
        index = np.minimum((shares * len(parameter.values)).astype(int), len(parameter.values) - 1)
        return np.array(parameter.values)[index]
    if parameter.mean is not None:
        ndtri = require('scipy.special', 'sweep over a normal distribution').ndtri
        return np.asarray(parameter.mean + parameter.deviation * ndtri(shares))
    return parameter.low + (parameter.high - parameter.low) * shares


def _latin_hypercube(seed: int, runs: int, columns: int) -> np.ndarray:
    """Return shares (runs, columns) in (0, 1], one in each of as many slices of every column.

    The draws are in the order of SciPy's LatinHypercube, whose keyword for the seed has changed.
    """
    generator = np.random.default_rng(seed).spawn(1)[0]
    within = generator.uniform(size=(runs, columns))
    slices = np.tile(np.arange(1, runs + 1), (columns, 1))
    for column in slices:
        generator.shuffle(column)
    return np.asarray((slices.T - within) / runs)


def design(plan: Plan) -> np.ndarray:
    """Return the numbers (runs, parameters) of all runs.

    A grid has every combination, the last parameter changing fastest; a Latin hypercube one run
    in each of as many slices of every parameter (McKay, Beckman and Conover 1979); Monte Carlo
    draws each run by itself.

    Raises:
        ParameterError: a grid of more than MOST runs.
    """
    names = plan.parameters
    if plan.method == 'grid':
        count = math.prod(len(p.values) for p in names)  # of whole numbers of any size
        if count > MOST:
            raise ParameterError(f'sweep: the grid has {count:,} runs; expected up to {MOST:,}')
        return np.array(list(product(*(p.values for p in names))), float)
    if plan.method == 'latin_hypercube':
        shares = _latin_hypercube(plan.seed, plan.runs, len(names))
    else:
        shares = uniform(plan.seed, 'sweep', plan.runs * len(names)).reshape(plan.runs, -1)
    return np.stack([_at(p, shares[:, i]) for i, p in enumerate(names)], axis=1)
