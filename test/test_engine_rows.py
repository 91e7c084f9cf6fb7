# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of the compiled engine give what NumPy gives, whatever their length."""

import numpy as np
import pytest

pytest.importorskip('jax', reason='jax: not installed (extra batch)')

from marine_sim_ros.engine.availability import precision
from marine_sim_ros.engine.components import Namespace


@pytest.mark.parametrize('length', [1, 7, 8, 45])
def test_sums_and_extremes_count_every_number_once(length):
    values = np.random.default_rng(length).normal(size=(3, length)) - 5
    values[2] = -2.0  # the same everywhere: one number stands for all
    with precision('float64'):
        rows = Namespace.rows(values)
        assert rows.shape == values.shape
        for name in ('sum', 'max', 'min'):
            found = getattr(Namespace, name)(rows, axis=-1)
            wanted = getattr(np, name)(values, axis=-1)
            assert [float(x) for x in found.data] == pytest.approx(wanted, rel=1e-14), name
        found = Namespace.vecdot(rows, rows)
        assert [float(x) for x in found.data] == pytest.approx((values * values).sum(axis=-1))
