# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Values that a compiled batch uses more than once are computed once, and are the same."""

import numpy as np
import pytest

pytest.importorskip('jax', reason='jax: not installed (extra batch)')

import jax

from marine_sim_ros.engine.program import compile_program
from marine_sim_ros.engine.xla_rewrites import reuse_common_values

COUNT, USES, DEGREE = 64, 12, 20


def polynomials(x, scale):
    """A dear value, and many cheap ones that need it."""
    dear = x
    for i in range(DEGREE):
        dear = dear * x + (0.1 * i - 1.0)
    return {'few': [dear * (i + 1.0) for i in range(USES)], 'scaled': scale * x}


def program(function, x, scale):
    def run(x, scale, one):
        return function(one)(x, scale)

    return compile_program(run, x, scale, 1.0, subject='polynomials', round_each=True)


@pytest.fixture(scope='module')
def programs():
    x, scale = np.linspace(-1.0, 1.0, COUNT), np.float64(3.0)
    x[3], x[4], x[5] = np.nan, np.inf, -0.0
    plain = program(lambda one: polynomials, x, scale)
    kept = program(lambda one: reuse_common_values(polynomials, one, (COUNT,)), x, scale)
    return plain, kept, (x, scale)


def test_the_values_are_the_same_to_the_bit(programs):
    plain, kept, (x, scale) = programs
    expected, found = (p(x, scale, 1.0) for p in (plain, kept))
    assert expected.keys() == found.keys()
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    finite = np.isfinite(found['few'][0])
    assert list(np.flatnonzero(~finite)) == [3, 4]  # what one vehicle has stays with it


def test_the_dear_one_is_computed_once(programs):
    plain, kept, _ = programs
    counts = [p.call.as_text().count(' multiply(') for p in (plain, kept)]
    assert counts[0] >= USES * DEGREE, (
        'XLA has learnt it: the 1.0 of engine/xla_rewrites.py is not needed any more'
    )
    assert counts[1] <= DEGREE + 2 * USES


def test_a_single_vehicle_s_function_is_left_as_it_is():
    assert reuse_common_values(polynomials, None, ()) is polynomials
