# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads ``config/experiments/*.yaml``: scenario, bands of the metrics, published values."""

from __future__ import annotations

from dataclasses import dataclass

from marine_sim_ros.analysis.comparison import Expected
from marine_sim_ros.core.config_files import ConfigFiles
from marine_sim_ros.core.yaml_file import YamlReader

__all__ = [
    'ANALYSES',
    'WITHOUT_ARM',
    'Experiment',
    'experiment_names',
    'load_experiment',
    'parse_experiment',
]

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
    """Return how many decimals a number, or the more exact of two, is written with."""
    values = value if isinstance(value, list) else [value]
    texts = [repr(v) for v in values if isinstance(v, float)]
    return max((len(t.partition('.')[2]) for t in texts if 'e' not in t), default=0)


EXPERIMENTS = ConfigFiles('experiments', _experiment)
experiment_names, load_experiment = EXPERIMENTS.names, EXPERIMENTS.load
parse_experiment = EXPERIMENTS.parse
