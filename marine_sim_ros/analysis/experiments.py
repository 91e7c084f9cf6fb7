# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Experiments: runs whose metrics are compared with published values and allowed bands.

The files are those of config/experiments; ``marine_sim experiment`` runs them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.sax.saxutils import quoteattr

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import REQUIRED, choice, declaration, nested, number, special, text
from marine_sim_ros.core.text import aligned_columns, markdown_row
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.model.library import read_argument_texts

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

COMPARISON_COLUMNS = ('quantity', 'printed', 'simulated', 'unit', 'verdict', 'required', '')
_NONE = '–'


def _band(reader: YamlReader) -> tuple[float, float]:
    if not isinstance(reader.value, list):
        raise reader.error(f' is {reader.value!r}; expected a list [lowest, highest]')
    return reader.span()


@declaration(frozen=True, kw_only=True)
class Expected:
    """One quantity of an experiment.

    Attributes:
        decimals: decimals of the printed values; a value that rounds to them agrees.
    """

    name: str = text('display name', REQUIRED)
    metric: str = text('path in metrics.json, such as `steady_state_error_m.z`', REQUIRED)
    unit: str = text('unit of the metric', REQUIRED)
    printed: tuple[float, float] | None = special(
        YamlReader.span, None, 'value that the source gives, or the lowest and the highest'
    )
    better: str = choice(('smaller', 'nearer'), '`smaller` for errors, `nearer` for properties')
    band: tuple[float, float] | None = special(_band, None, 'lowest and highest value allowed')
    source: str = text('page and section')
    note: str = text('remark for the reader')
    decimals: int = 0


@dataclass(frozen=True)
class ComparedQuantity:
    """An expected quantity and what came of it.

    Attributes:
        expected: the quantity.
        simulated: None when the run has no such value.
        verdict: better, as printed, worse, differs; ``–`` where nothing is printed.
        within: the band; None without one.
    """

    expected: Expected
    simulated: float | None
    verdict: str
    within: bool | None

    def cells(self) -> tuple[str, ...]:
        """Return the texts of COLUMNS."""
        e = self.expected
        return (
            e.name,
            _NONE if e.printed is None else _span(e.printed, e.decimals),
            _NONE
            if self.simulated is None
            else _number(self.simulated, e.printed is not None, e.decimals),
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
        simulated = find_metric(metrics, e.metric)
        within = None
        if e.band is not None:
            within = simulated is not None and e.band[0] <= simulated <= e.band[1]
        result.append(ComparedQuantity(e, simulated, _verdict(e, simulated), within))
    return result


def _verdict(expected: Expected, simulated: float | None) -> str:
    if expected.printed is None or simulated is None:
        return _NONE
    low, high = expected.printed
    half = 0.5 * 10.0**-expected.decimals
    if low - half <= simulated <= high + half:
        return 'as printed'
    if expected.better == 'nearer':
        return 'differs'
    return 'better' if simulated < low else 'worse'


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

ANALYSES = ('response', 'turn', 'balance', 'survey')
WITHOUT_ARM = 'without_arm'
"""Name of what is computed of the hull alone; no moment of a run."""


def _moments(reader: YamlReader) -> tuple[tuple[str, float], ...]:
    if not isinstance(reader.value, dict) or WITHOUT_ARM in reader.value:
        raise reader.error(f' is {reader.value!r}; expected a mapping of names to times in s')
    return tuple((str(k), reader.child(k).number(0.0, 1e9)) for k in reader.value)


def _decimals(value: object) -> int:
    """Return the number of decimals of a number, or of the more exact of two."""
    values = value if isinstance(value, list) else [value]
    texts = [repr(v) for v in values if isinstance(v, float)]
    return max((len(t.partition('.')[2]) for t in texts if 'e' not in t), default=0)


def _row(item: YamlReader) -> Expected:
    return replace(item.read(Expected), decimals=_decimals(item.child('printed').value))


_PARAMETER = re.compile('[a-z][a-z0-9_]{0,63}')


def _parameters(reader: YamlReader) -> tuple[tuple[str, float], ...]:
    if not isinstance(reader.value, dict) or not all(
        isinstance(key, str) and _PARAMETER.fullmatch(key) for key in reader.value
    ):
        raise reader.error(f' is {reader.value!r}; expected a mapping of parameters to numbers')
    return tuple((key, reader.child(key).number(-1e9, 1e9)) for key in reader.value)


@declaration(frozen=True, kw_only=True)
class CarriedSensor:
    """A sensor that an experiment adds to its vehicle."""

    type: str = text('kind of the sensor', REQUIRED)
    preset: str = text('preset of its parameters')
    position: tuple[float, ...] = number((0.0, 0.0, 0.0), -100.0, 100.0, 'm', 'place on base_link')
    rpy: tuple[float, float, float] = special(
        YamlReader.angles, (0.0, 0.0, 0.0), 'roll, pitch and yaw', unit='rad'
    )
    parameters: tuple[tuple[str, float], ...] = special(
        _parameters, (), 'other parameters of the kind, by name'
    )

    def element(self) -> str:
        """Return its element in a vehicle description."""
        preset = f' preset={quoteattr(self.preset)}' if self.preset else ''
        place, turn = (' '.join(map(repr, v)) for v in (self.position, self.rpy))
        more = ''.join(f'<{name}>{value!r}</{name}>' for name, value in self.parameters)
        return (
            f'<sensor type={quoteattr(self.type)}{preset}>'
            f'<origin xyz="{place}" rpy="{turn}"/>{more}</sensor>'
        )


def _area(reader: YamlReader) -> tuple[tuple[float, ...], ...]:
    corners = tuple(
        tuple(part.number(-1e6, 1e6) for part in corner.items()) for corner in reader.items()
    )
    if len(corners) < 3 or any(len(corner) != 2 for corner in corners):
        raise reader.error(f' is {reader.value!r}; expected three or more corners [x, y]')
    return corners


@declaration(frozen=True, kw_only=True)
class Experiment:
    """An experiment.

    Attributes:
        name: name of the file.
        moments: names and times at which ``balance`` looks at the vehicle; none: the end.
    """

    name: str = ''
    title: str = text('title of pictures and report', REQUIRED)
    description: str = text('one line')
    scenario: str = text('shipped name or path', REQUIRED)
    vehicle: str = text('default vehicle of the experiment', REQUIRED)
    arguments: tuple[str, ...] = special(
        read_argument_texts, (), 'xacro arguments, `name:=value` each'
    )
    environment: str = text('shipped name or path; none: still water')
    sensors: tuple[CarriedSensor, ...] = nested(
        CarriedSensor, 'sensors beside those of the vehicle', many=True
    )
    area: tuple[tuple[float, ...], ...] = special(
        _area, (), 'corners [x, y] of the area that `survey` has to cover', unit='m'
    )
    source: str = text('publication of the printed values')
    window: float = number(5.0, 0.01, 1e6, 's', 'length of the steady-state window')
    analysis: str = choice(ANALYSES, '`turn`, `balance` and `survey` come with the response')
    turn_from: float = number(0.0, 0.0, 1e9, 's', 'time from which the turn is steady')
    moments: tuple[tuple[str, float], ...] = special(
        _moments, (), 'times of `balance` by name', unit='s'
    )
    rows: tuple[Expected, ...] = nested(
        Expected, 'quantities to compare', default=REQUIRED, many=True, read=_row
    )


def _experiment(root: YamlReader) -> Experiment:
    experiment = replace(root.read(Experiment), name=root.stem)
    if not experiment.rows:
        raise root.error(': rows is empty; expected at least one')
    return experiment


EXPERIMENTS = ConfigFiles('experiments', _experiment)
experiment_names, load_experiment = EXPERIMENTS.names, EXPERIMENTS.load
parse_experiment = EXPERIMENTS.parse
