# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of the reference pages against the declarations in the code."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import REQUIRED, check_ranges, declaration, nested, number, truth
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml

DOCS = Path(__file__).resolve().parent.parent / 'docs'


def make_numbers():
    folder = str(DOCS / 'scripts')
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module('make_numbers')


@pytest.mark.parametrize(
    'name', ['control', 'datasets', 'environments', 'faults', 'missions', 'sensors', 'sweeps']
)
def test_a_page_has_the_tables_of_the_declarations(name):
    pages = make_numbers().PAGES
    assert len(pages) == 7
    page = (DOCS / 'reference' / f'{name}.md').read_text(encoding='utf-8')
    assert pages[name](page) == page, 'run docs/scripts/make_numbers.py'


@declaration(frozen=True)
class Point:
    """Point of a curve."""

    depth: float = number(REQUIRED, 0.0, 10.0, 'm', 'depth')
    speed: tuple[float, float] = number((0.0, 0.0), -1.0, 1.0, 'm/s', 'along, across')


@declaration(frozen=True, kw_only=True)
class Curve:
    """Curve with points."""

    points: tuple[Point, ...] = nested(Point, 'points', default=REQUIRED, many=True)
    first: Point | None = nested(Point, 'first point')
    length: float = number(np.inf, 1.0, 100.0, 'm', 'length')
    count: int = number(3, 1, 9, '', 'count', whole=True)
    weights: tuple[float, ...] = number(REQUIRED, 0.0, 1.0, '', 'weights', size=3)
    closed: bool = truth(REQUIRED, 'whether it is closed')


GOOD = '{points: [{depth: 2}], weights: [0, 1, 0.5], closed: false'


def read(text):
    return YamlReader('a.yaml', parse_yaml(text, 'a.yaml', ParameterError), ParameterError).read(
        Curve
    )


def test_a_declaration_reads_nested_and_repeated_parts():
    curve = read(f'{GOOD}, first: {{depth: 1, speed: [0.5, -1]}}, length: .inf, count: 4}}')
    assert curve.points == (Point(2.0),)
    assert curve.first == Point(1.0, (0.5, -1.0))
    assert (curve.length, curve.count, curve.weights) == (np.inf, 4, (0.0, 1.0, 0.5))
    assert isinstance(curve.count, int)
    empty = read(f'{GOOD}, first: , length: , count: }}')
    assert (empty.first, empty.length, empty.count) == (None, np.inf, 3)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (f'{GOOD}, count: 2.5}}', 'count is 2.5; expected a whole number'),
        (f'{GOOD}, count: true}}', 'count is True; expected a number from 1 to 9'),
        (f'{GOOD}, length: .nan}}', 'length is nan; expected a number from 1 to 100 m'),
        (f'{GOOD}, length: -.inf}}', 'length is -inf; expected a number from 1 to 100 m'),
        (
            f'{GOOD}, first: {{depth: 1, speed: [1]}}}}',
            'first.speed is [1]; expected a list of 2 numbers',
        ),
        (f'{GOOD}, first: 3}}', 'first: expected a mapping with depth, speed'),
        (GOOD.replace('2}', '2, speed: [0, 3]}') + '}', 'points[0].speed[1] is 3; expected a num'),
        (GOOD.replace('{depth: 2}', '{}') + '}', "points[0]: 'depth' is missing"),
        (GOOD.replace('[0, 1, 0.5]', '[0, 1]') + '}', 'expected a list of 3 numbers: weights'),
        (GOOD.replace('false', '') + '}', 'closed is None; expected true or false'),
        ('{points: []}', "'closed' is missing"),
    ],
)
def test_a_declaration_names_place_value_and_range(text, expected):
    with pytest.raises(ParameterError) as caught:
        read(text)
    assert expected in str(caught.value)


@pytest.mark.parametrize('changes', [{'depth': 11.0}, {'depth': np.nan}, {'speed': (0.0, 2.0)}])
def test_records_made_in_code_have_the_same_ranges(changes):
    check_ranges(Point(2.0))
    with pytest.raises(ParameterError, match=next(iter(changes))):
        check_ranges(Point(**{'depth': 1.0, **changes}))
