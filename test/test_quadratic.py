# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The quadratic programme of the allocation: optimality conditions, and DAQP where it is."""

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.control.allocator import Allocator, group_demands
from marine_sim_ros.control.effectors import scale_groups
from marine_sim_ros.control.quadratic import QuadraticProgrammes


def programmes(rng, count, size, rows):
    """Random strictly convex programmes with a way: bounds that meet, rows twice and of zeros."""
    for _ in range(count):
        root = rng.normal(size=(size, size))
        hessian = root @ root.T + 0.1 * np.eye(size)
        matrix = rng.normal(size=(rows, size))
        matrix[1] = matrix[0]
        matrix[2] = 0.0
        inside = matrix @ rng.normal(size=size)
        low = inside - rng.choice([0.0, 0.1, 2.0], rows)
        high = inside + rng.choice([0.0, 0.1, 2.0], rows)
        # Where both bounds meet in many rows they leave one point, or none but for rounding.
        high = np.where(np.arange(rows) < 3, high, np.maximum(high, low + 0.05))
        yield hessian, 10 ** rng.uniform(-1, 2) * rng.normal(size=size), matrix, low, high


MANY = list(programmes(np.random.default_rng(1), 2000, 5, 9))


def solve_programme(hessian, gradient, rows, low, high, needed):
    return QuadraticProgrammes(hessian, rows).least(gradient, low, high, needed)


@pytest.fixture(params=['numpy', 'jax'])
def solved(request):
    if request.param == 'numpy':
        return [solve_programme(*p, np.asarray(True)) for p in MANY]
    jax = pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.availability import precision

    with precision('float64'):
        solve = jax.jit(jax.vmap(lambda *p: solve_programme(*p, jax.numpy.asarray(True))))
        found = solve(*(np.stack(x) for x in zip(*MANY, strict=True)))
        return list(zip(*map(np.asarray, found), strict=True))


def test_small_programmes_keep_their_bounds_and_nothing_pulls_inwards(solved):
    for (mine, ok), (hessian, pull, matrix, low, high) in zip(solved, MANY, strict=True):
        assert ok
        values = matrix @ mine
        assert max((values - high).max(), (low - values).max()) < 1e-8
        # Stationary: H v + q is a sum of rows at their bounds, each with the sign of its side.
        up, down = values > high - 1e-7, values < low + 1e-7
        columns = np.concatenate([-matrix[up], matrix[down]]).T
        from scipy.optimize import nnls

        gradient = hessian @ mine + pull
        _, left = nnls(columns, gradient) if columns.size else (0, np.linalg.norm(gradient))
        assert left < 1e-6 * (1 + np.linalg.norm(pull))


def test_small_programmes_are_solved_as_by_daqp(solved):
    daqp = pytest.importorskip('daqp', reason='daqp: not installed, an independent solver')
    compared = 0
    for (mine, _), (hessian, pull, matrix, low, high) in zip(solved, MANY, strict=True):
        expected, _, flag, _ = daqp.solve(
            hessian, pull, matrix, high, low, np.zeros(9, np.intc), primal_tol=1e-11
        )
        if flag == 1:
            compared += 1
            np.testing.assert_allclose(mine, expected, rtol=1e-7, atol=1e-7)
    assert compared > 1900


def unfitting(allocator, plan, rng, count):
    """Patterns (count, n, g) of random wrenches that the thrusters cannot make."""
    patterns = []
    while len(patterns) < count:
        wrench = rng.normal(size=6) * 10 ** rng.uniform(0, 3, 6) * [1, 1, 1, 0.2, 0.2, 0.2]
        wrench = wrench * (rng.random(6) < 0.8)  # some axes are not asked for
        asked = (plan.gain @ group_demands(wrench, plan.groups)[0])[plan.working] / plan.unit[
            :, None
        ]
        total = asked.sum(axis=1)
        if (total > plan.upper).any() or (total < plan.lower).any():
            patterns.append(asked)
    return np.stack(patterns)


@pytest.mark.long
@pytest.mark.parametrize('engine', ['numpy', 'jax'])
@pytest.mark.parametrize(('name', 'gone'), [('bluerov2', ()), ('bluerov2_heavy', (1,))])
def test_what_does_not_fit_is_scaled_back_as_with_daqp(name, gone, engine):
    pytest.importorskip('daqp', reason='daqp: not installed, an independent solver')
    import daqp_scaling

    vehicle = load_vehicle(name)
    allocator = Allocator(vehicle.thrusters, vehicle.inertia.center_of_mass)
    plan = allocator.plan(np.isin(np.arange(len(vehicle.thrusters)), gone))
    patterns = unfitting(allocator, plan, np.random.default_rng(5), 700)
    limits = plan.free, plan.lower, plan.upper
    expected = [daqp_scaling.scale_groups(p, *limits, allocator.concession) for p in patterns]
    if engine == 'numpy':
        found = [scale_groups(p, *limits, allocator.concession) for p in patterns]
    else:
        jax = pytest.importorskip('jax', reason='jax: not installed (extra batch)')
        from marine_sim_ros.engine.availability import precision

        with precision('float64'):
            given = [jax.numpy.asarray(x) for x in limits]
            scale = jax.jit(jax.vmap(lambda p: scale_groups(p, *given, allocator.concession)))
            found = zip(*map(np.asarray, scale(patterns)), strict=True)
    for part in range(2):  # thrusts, scales
        pairs = zip(found := list(found), expected, strict=True)
        error = np.array([np.abs(a[part] - b[part]).max() for a, b in pairs])
        assert np.quantile(error, 0.98) < 1e-10
        # A bound that DAQP passes over within its tolerance can count for more in the thrusts.
        assert error.max() < 100 * daqp_scaling.TOLERANCE
