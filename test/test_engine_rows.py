# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of the compiled engine give what NumPy gives, whatever their length."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pytest.importorskip('jax', reason='jax: not installed (extra batch)')

import jax.numpy as jnp

from marine_sim_ros.engine.availability import precision, require_jax
from marine_sim_ros.engine.components import Namespace


@pytest.mark.parametrize('length', [1, 7, 8, 45, 65, 1288])
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


@settings(deadline=None, max_examples=40)
@given(
    arrays(float, 9, elements=st.floats(0, 1e3, allow_subnormal=False)),
    st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0, 2.0, 3.0, 4.0, 10.0]), min_size=9, max_size=9),
    st.booleans(),
)
def test_a_power_is_that_of_numpy(bases, exponents, known):
    """By products where exponents are known and small, by exp and log elsewhere."""
    exponents = np.array(exponents)
    with precision('float64'), np.errstate(all='ignore'):
        base = Namespace.rows(jnp.asarray(bases))
        exponent = Namespace.rows(exponents if known else jnp.asarray(exponents))
        (found,) = (base**exponent).data
    found = np.broadcast_to(np.asarray(found), 16)[:9]
    assert found == pytest.approx(bases**exponents, rel=1e-12, abs=1e-300)


MAX_ISA = 'xla_cpu_max_isa'
ROUNDED = f' --{MAX_ISA}=AVX'


@pytest.mark.parametrize(
    ('flags', 'wanted'),
    [
        ('', '--xla_backend_extra_options={}'),
        ('--xla_dump_to=/tmp/x', '--xla_dump_to=/tmp/x --xla_backend_extra_options={}'),
        ('--xla_backend_extra_options=a=1 --b', '--xla_backend_extra_options={},a=1 --b'),
        ('--xla_backend_extra_options={0}', '--xla_backend_extra_options={0}'),
    ],
)
def test_the_size_of_loops_joins_the_flags_of_the_user(monkeypatch, flags, wanted):
    option = 'xla_cpu_small_while_loop_byte_threshold=16777216'
    monkeypatch.setenv('XLA_FLAGS', flags.format(option))
    require_jax.cache_clear()  # it has been done in this process
    require_jax()
    assert os.environ['XLA_FLAGS'].removesuffix(ROUNDED) == wanted.format(option)


@pytest.mark.parametrize(
    ('version', 'flags', 'added'),
    [((0, 6, 2), '', ''), ((0, 7, 0), '', ROUNDED), ((0, 12, 0), f'{ROUNDED}2', '')],
    ids=['of one program', 'of the process', 'of the user'],
)
def test_products_are_rounded_by_a_flag_where_jax_knows_no_option(
    monkeypatch, version, flags, added
):
    monkeypatch.setattr('jax.__version_info__', version)
    monkeypatch.setattr('marine_sim_ros.engine.availability.ROUNDING_OPTIONS', {MAX_ISA: 'AVX'})
    monkeypatch.setenv('XLA_FLAGS', flags)
    require_jax.cache_clear()
    require_jax()
    assert os.environ['XLA_FLAGS'].count(MAX_ISA) == len({*flags.split(), *added.split()})
    assert os.environ['XLA_FLAGS'].endswith(added)
