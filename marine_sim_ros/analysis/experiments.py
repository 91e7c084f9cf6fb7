# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Experiments of config/experiments: scenario, bands of metrics, published values compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.text import aligned_columns, markdown_row
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader

__all__ = [
    'COMPARISON_COLUMNS',
    'ComparedQuantity',
    'Experiment',
    'WITHOUT_ARM',
    'compare_metrics',
    'experiment_names',
    'find_metric',
    'load_experiment',
    'markdown_comparison',
    'parse_experiment',
    'plain_comparison',
]


# Published values compared with the run, and the band that the run must meet.

COMPARISON_COLUMNS = ('quantity', 'printed', 'ours', 'unit', 'verdict', 'required', '')
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
class ComparedQuantity:
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


def find_metric(metrics: Mapping[str, Any], path: str) -> float | None:
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


def compare_metrics(
    expected: Sequence[Expected], metrics: Mapping[str, Any]
) -> list[ComparedQuantity]:
    """Return the comparison of every expected quantity with the metrics of a run.

    A value that a run does not have (a free axis, a step that never settled) is in no band.

    Raises:
        ParameterError: a metric that does not exist.
    """
    result = []
    for e in expected:
        ours = find_metric(metrics, e.metric)
        within = None
        if e.band is not None:
            within = ours is not None and e.band[0] <= ours <= e.band[1]
        result.append(ComparedQuantity(e, ours, _verdict(e, ours), within))
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


def plain_comparison(comparisons: Sequence[ComparedQuantity]) -> str:
    """Return the table as plain text in columns."""
    return '\n'.join(aligned_columns([COMPARISON_COLUMNS, *(c.cells() for c in comparisons)]))


def markdown_comparison(comparisons: Sequence[ComparedQuantity]) -> str:
    """Return the table, with its sources and notes, as Markdown."""
    lines = [markdown_row((*COMPARISON_COLUMNS, 'source')), '|---|--:|--:|---|---|---|---|---|']
    for c in comparisons:
        note = f' ({c.expected.note})' if c.expected.note else ''
        lines.append(markdown_row((*c.cells(), c.expected.source + note)))
    return '\n'.join(lines)


# Reader of ``config/experiments/*.yaml``: scenario, bands of metrics, published values.

ANALYSES = ('response', 'turn', 'balance')
_KEYS = {
    'title',
    'description',
    'scenario',
    'vehicle',
    'arguments',
    'source',
    'window',
    'analysis',
    'turn_from',
    'moments',
    'rows',
}
WITHOUT_ARM = 'without_arm'
"""Name of what is computed of the hull alone; no moment of a run."""
_ROW = {'name', 'metric', 'unit', 'printed', 'better', 'band', 'source', 'note'}


@dataclass(frozen=True)
class Experiment:
    """An experiment.

    Attributes:
        name: name of the file.
        title: title of pictures and report.
        description: one line.
        scenario: shipped name or path.
        vehicle: default vehicle of the experiment.
        arguments: xacro arguments of that vehicle, ``name:=value`` each.
        source: publication of the printed values.
        window: length of the steady-state window, s.
        analysis: one of ANALYSES; ``turn`` and ``balance`` come with the response.
        turn_from: time from which the turn is steady, s.
        moments: names and times (s) at which ``balance`` looks at the vehicle; none: the end.
        rows: quantities to compare.
    """

    name: str
    title: str
    description: str
    scenario: str
    vehicle: str
    arguments: tuple[str, ...]
    source: str
    window: float
    analysis: str
    turn_from: float
    moments: tuple[tuple[str, float], ...]
    rows: tuple[Expected, ...]


def _experiment(root: YamlReader) -> Experiment:
    root.mapping(_KEYS, {'title', 'scenario', 'vehicle', 'rows'})
    rows = tuple(_row(r) for r in root.child('rows').items())
    if not rows:
        raise root.error(': rows is empty; expected at least one')
    return Experiment(
        name=root.stem,
        title=root.child('title').text(),
        description=root.child('description', '').text(),
        scenario=root.child('scenario').text(),
        vehicle=root.child('vehicle').text(),
        arguments=tuple(_argument(a) for a in root.child('arguments', []).items()),
        source=root.child('source', '').text(),
        window=root.child('window', 5.0).number(0.01, 1e6),
        analysis=root.child('analysis', 'response').choice(ANALYSES),
        turn_from=root.child('turn_from', 0.0).number(0.0, 1e9),
        moments=_moments(root.child('moments', {})),
        rows=rows,
    )


def _argument(item: YamlReader) -> str:
    if not isinstance(item.value, str) or ':=' not in item.value:
        raise item.error(f' is {item.value!r}; expected name:=value, as in arm:=false')
    return item.value


def _moments(reader: YamlReader) -> tuple[tuple[str, float], ...]:
    if not isinstance(reader.value, dict) or WITHOUT_ARM in reader.value:
        raise reader.error(f' is {reader.value!r}; expected a mapping of names to times in s')
    return tuple((str(k), reader.child(k).number(0.0, 1e9)) for k in reader.value)


def _row(item: YamlReader) -> Expected:
    item.mapping(_ROW, {'name', 'metric', 'unit'})
    printed = item.child('printed')
    return Expected(
        name=item.child('name').text(),
        metric=item.child('metric').text(),
        unit=item.child('unit').text(),
        printed=None if printed.value is None else printed.span(),
        decimals=_decimals(printed.value),
        better=item.child('better', 'smaller').choice(('smaller', 'nearer')),
        band=_band(item.child('band')),
        source=item.child('source', '').text(),
        note=item.child('note', '').text(),
    )


def _band(reader: YamlReader) -> tuple[float, float] | None:
    if reader.value is None:
        return None
    if not isinstance(reader.value, list):
        raise reader.error(f' is {reader.value!r}; expected a list [lowest, highest]')
    return reader.span()


def _decimals(value: object) -> int:
    """Return the number of decimals of a number, or of the more exact of two."""
    values = value if isinstance(value, list) else [value]
    texts = [repr(v) for v in values if isinstance(v, float)]
    return max((len(t.partition('.')[2]) for t in texts if 'e' not in t), default=0)


EXPERIMENTS = ConfigFiles('experiments', _experiment)
experiment_names, load_experiment = EXPERIMENTS.names, EXPERIMENTS.load
parse_experiment = EXPERIMENTS.parse
