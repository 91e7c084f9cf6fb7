# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of nested records by their paths: reading, replacing, refusing."""

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import number_at, replace_number


@dataclass(frozen=True)
class Inner:
    matrix: np.ndarray = field(default_factory=lambda: np.arange(6.0).reshape(2, 3))
    point: tuple[float, ...] = (1.0, 2.0, 3.0)
    scalar: float = 4.0
    count: int = 5
    switch: bool = True
    missing: str | None = None
    words: tuple[str, ...] = ('a', 'b')


@dataclass(frozen=True)
class Outer:
    inner: Inner = field(default_factory=Inner)
    gains: dict = field(default_factory=lambda: {'surge': 2.0, 'deep': Inner()})


@pytest.mark.parametrize(
    ('path', 'value'),
    [
        ('inner.scalar', 4.0),
        ('inner.count', 5.0),
        ('inner.matrix[1,0]', 3.0),
        ('inner.matrix[ 1 , 1: ]', 4.0),
        ('inner.point[2]', 3.0),
        ('gains.surge', 2.0),
        ('gains.deep.point[0:2]', 1.0),
    ],
)
def test_a_number_is_read_and_replaced_where_the_path_leads(path, value):
    before = Outer()
    assert number_at(before, path) == value
    after = replace_number(before, path, lambda old: 10 * old)
    assert number_at(after, path) == 10 * value
    assert number_at(before, path) == value


def test_a_range_is_replaced_as_one_and_a_tuple_stays_a_tuple():
    after = replace_number(Outer(), 'inner.matrix[:,1:3]', lambda old: 7.0)
    np.testing.assert_array_equal(after.inner.matrix, [[0, 7, 7], [3, 7, 7]])
    assert replace_number(Outer(), 'inner.point[0:2]', lambda _: 0.0).inner.point == (0, 0, 3)


def test_a_traced_number_takes_its_place():
    jax = pytest.importorskip('jax')

    def total(value):
        changed = replace_number(Outer(), 'inner.matrix[0,0:2]', lambda _: value, xp=jax.numpy)
        return changed.inner.matrix.sum()

    assert jax.grad(total)(1.0) == 2.0


@pytest.mark.parametrize(
    ('path', 'message'),
    [
        ('', "'' is unknown; expected one of: gains, inner"),
        ('iner.scalar', "did you mean 'inner'"),
        ('inner.missing.scalar', "'missing' is unknown"),
        ('inner.matrix', 'is no single number; expected an index'),
        ('inner.switch', 'is no single number'),
        ('inner', 'is no single number'),
        ('inner.matrix[0]', r'outside of shape \(2, 3\)'),
        ('inner.matrix[0,3]', r'outside of shape \(2, 3\)'),
        ('inner.matrix[0,3:]', r'outside of shape \(2, 3\)'),
        ('inner.scalar[0]', r'outside of shape \(\)'),
        ('inner.words[0]', 'has no numbers'),
        ('inner[0].scalar', "'scalar' is unknown"),
        ('inner.point[]', 'is unknown'),
        ('inner.point[0,,1]', 'is unknown'),
        ('inner.point[-1]', 'is unknown'),
        ('inner.scalar.real', "'real' is unknown"),
    ],
)
def test_a_path_that_leads_to_no_number_is_named(path, message):
    with pytest.raises(ParameterError, match=message) as read:
        number_at(Outer(), path)
    with pytest.raises(ParameterError, match=f'^sweep: x.*{message}') as replaced:
        replace_number(Outer(), path, lambda old: old, name='sweep: x')
    assert '\n' not in str(read.value) + str(replaced.value)


PIECES = ('inner', 'gains', 'deep', 'point', 'matrix', '.', '[', ']', ':', ',', '1', ' ')


@given(st.lists(st.sampled_from(PIECES), max_size=9).map(''.join))
def test_any_path_is_a_number_or_an_error(path):
    with suppress(ParameterError):
        assert np.isfinite(number_at(Outer(), path))
