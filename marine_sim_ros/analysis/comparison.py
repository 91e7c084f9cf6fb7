# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a source prints beside what a run gave, and the band the run must be in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marine_sim_ros.core.columns import aligned, markdown_row
from marine_sim_ros.core.errors import ParameterError

__all__ = ['COLUMNS', 'Comparison', 'Expected', 'compare', 'lookup', 'markdown', 'plain']

COLUMNS = ('quantity', 'printed', 'ours', 'unit', 'verdict', 'required', '')
_NONE = '–'


@dataclass(frozen=True)
class Expected:
    """One quantity of an experiment.

    Attributes:
        name: display name.
        metric: path of the metric in metrics.json, such as ``steady_state_error_m.z``.
        unit: unit of the metric.
        printed: lowest and highest value the source gives; None: it gives none.
        decimals: decimals of the printed values; a value that rounds to them agrees.
        better: ``smaller`` for an error, ``nearer`` for a property.
        band: lowest and highest value the run must give; None: none is required.
        source: page and section.
        note: remark for the reader; may be empty.
    """

    name: str
    metric: str
    unit: str
    printed: tuple[float, float] | None
    decimals: int
    better: str
    band: tuple[float, float] | None
    source: str
    note: str


@dataclass(frozen=True)
class Comparison:
    """An expected quantity and what came of it.

    Attributes:
        expected: the quantity.
        ours: None when the run has no such value.
        verdict: better, as printed, worse, differs; ``–`` where nothing is printed.
        within: the band; None without one.
    """

    expected: Expected
    ours: float | None
    verdict: str
    within: bool | None

    def cells(self) -> tuple[str, ...]:
        """Return the texts of COLUMNS."""
        e = self.expected
        return (
            e.name,
            _NONE if e.printed is None else _span(e.printed, e.decimals),
            _NONE if self.ours is None else _number(self.ours, e.printed is not None, e.decimals),
            e.unit,
            self.verdict,
            _NONE if e.band is None else _span(e.band, None),
            {None: '', True: 'ok', False: 'OUT'}[self.within],
        )


def _span(span: tuple[float, float], decimals: int | None) -> str:
    texts = [f'{v:g}' if decimals is None else f'{v:.{decimals}f}' for v in span]
    return texts[0] if texts[0] == texts[1] else f'{texts[0]} to {texts[1]}'


def _number(value: float, printed: bool, decimals: int) -> str:
    """Return a value with one more decimal than is printed, or three figures."""
    if not printed or 0 < abs(value) < 10.0**-decimals:
        return f'{value:.3g}'
    return f'{value:.{decimals + 1}f}'


def lookup(metrics: Mapping[str, Any], path: str) -> float | None:
    """Return the number at a dotted path of nested mappings; None where it is null.

    Raises:
        ParameterError: there is no such entry, or it is not a number.
    """
    value: Any = metrics
    for i, key in enumerate(path.split('.')):
        if value is None:  # a free axis, or an analysis that was not possible
            return None
        if not isinstance(value, Mapping) or key not in value:
            known = ', '.join(map(str, value)) if isinstance(value, Mapping) else 'no more'
            where = '.'.join(path.split('.')[:i]) or 'metrics'
            raise ParameterError(f'metric {path}: {where} has no {key!r}; it has {known}')
        value = value[key]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f'metric {path}: is {value!r}; expected a number')
    return float(value)


def compare(expected: Sequence[Expected], metrics: Mapping[str, Any]) -> list[Comparison]:
    """Return the comparison of every expected quantity with the metrics of a run.

    A value that a run does not have (a free axis, a step that never settled) is in no band.

    Raises:
        ParameterError: a metric that does not exist.
    """
    result = []
    for e in expected:
        ours = lookup(metrics, e.metric)
        within = None
        if e.band is not None:
            within = ours is not None and e.band[0] <= ours <= e.band[1]
        result.append(Comparison(e, ours, _verdict(e, ours), within))
    return result


def _verdict(expected: Expected, ours: float | None) -> str:
    if expected.printed is None or ours is None:
        return _NONE
    low, high = expected.printed
    half = 0.5 * 10.0**-expected.decimals
    if low - half <= ours <= high + half:
        return 'as printed'
    if expected.better == 'nearer':
        return 'differs'
    return 'better' if ours < low else 'worse'


def plain(comparisons: Sequence[Comparison]) -> str:
    """Return the table as plain text in columns."""
    return '\n'.join(aligned([COLUMNS, *(c.cells() for c in comparisons)]))


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return the table, with its sources and notes, as Markdown."""
    lines = [markdown_row((*COLUMNS, 'source')), '|---|--:|--:|---|---|---|---|---|']
    for c in comparisons:
        note = f' ({c.expected.note})' if c.expected.note else ''
        lines.append(markdown_row((*c.cells(), c.expected.source + note)))
    return '\n'.join(lines)
