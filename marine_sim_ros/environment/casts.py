# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""CTD casts: profiles of the water from CSV tables and Sea-Bird's .cnv files."""

from __future__ import annotations

import csv
import logging
import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import read_file
from marine_sim_ros.core.text import cell_number, header_and_unit

__all__ = ['CAST_QUANTITIES', 'read_cast']

_MAX_BYTES = 100_000_000
_MAX_ROWS = 1_000_000
_BINS = 1000
"""Largest number of levels of a profile; their smallest distance is 0.1 m."""
_LOG = logging.getLogger(__name__)


class Quantity(NamedTuple):
    """A quantity of a profile: limits, unit, other units' factors, and names of its column."""

    low: float
    high: float
    unit: str
    columns: tuple[str, ...]
    units: dict[str, float]


CAST_QUANTITIES = {
    'depth': Quantity(0.0, 11_000.0, 'm', ('depth', 'depsm', 'depfm', 'deps'), {'m': 1.0}),
    'temperature': Quantity(
        -2.5, 40.0, '°C', ('temperature', 'temp', 't090c', 't190c', 'tv290c', 'tv290'),
        {'°c': 1.0, 'c': 1.0, 'degc': 1.0, 'deg c': 1.0, 'its-90, deg c': 1.0},
    ),
    'salinity': Quantity(
        0.0, 42.0, '', ('salinity', 'practical salinity', 'psal', 'sal', 'sal00', 'sal11'),
        {'': 1.0, 'psu': 1.0, 'pss-78': 1.0, '1': 1.0},
    ),
    'oxygen': Quantity(
        0.0, 1000.0, 'µmol/kg', ('oxygen', 'sbox0mm/kg'), {'µmol/kg': 1.0, 'umol/kg': 1.0}
    ),
    'chlorophyll': Quantity(
        0.0, 1000.0, 'mg/m³', ('chlorophyll', 'chl', 'fleco-afl'),
        {'mg/m³': 1.0, 'mg/m3': 1.0, 'mg/m^3': 1.0, 'µg/l': 1.0, 'ug/l': 1.0},
    ),
    'turbidity': Quantity(0.0, 100.0, '1/m', ('turbidity', 'beam attenuation'), {'1/m': 1.0}),
}  # fmt: skip
"""Quantities of a profile by name."""
_PRESSURE = Quantity(
    -1.0, 12_000.0, 'dbar', ('pressure', 'pres', 'prdm', 'prsm', 'prm'), {'dbar': 1.0, 'db': 1.0}
)
_CONDUCTIVITY = Quantity(
    0.0, 100.0, 'mS/cm', ('conductivity', 'cond', 'c0ms/cm', 'c0s/m', 'c1s/m'),
    {'ms/cm': 1.0, 's/m': 10.0},
)  # fmt: skip
_COLUMNS = {**CAST_QUANTITIES, 'pressure': _PRESSURE, 'conductivity': _CONDUCTIVITY}


_SUFFIXES = ('m', 'dbar', 'c', 'degc', 'psu')


class _Table(NamedTuple):
    """Names of the columns, rows with the numbers of their lines, and the mark of what lacks."""

    names: list[str]
    rows: list[tuple[int, list[str]]]
    missing: float


def read_cast(path: Path, latitude: float) -> dict[str, np.ndarray]:
    """Return the profile of a cast: depth (n,) ascending, m, and the other quantities (n,).

    A table has a line with the names of its columns, with units in brackets or without; columns
    of other names are ignored, and rows with an empty cell are left out. Of a cast that comes up
    again, the way down counts. Rows are averaged in levels of a thousandth of the depth, at least
    0.1 m. Depth may be given as pressure, and salinity as conductivity.

    Args:
        path: .csv or .cnv.
        latitude: degrees, for the depth of a pressure.

    Raises:
        ParameterError: one line with what is wrong, and where.
        MissingPackageError: pressure or conductivity is given, and gsw is not installed.
    """
    try:
        lines = read_file(path, _MAX_BYTES, ParameterError).decode('utf-8-sig').splitlines()
    except ValueError:
        raise ParameterError(
            f'{path}: not UTF-8 text; expected a CTD cast, .csv or .cnv'
        ) from None
    table = (_sea_bird if path.suffix.lower() == '.cnv' else _comma_separated)(path, lines)
    columns = _known_columns(path, table.names)
    complete_rows, left_out = [], 0
    for number, cells in table.rows:
        row = [_cell(path, number, cells, index, kind, table) for kind, index, _ in columns]
        if any(x is None for x in row):
            left_out += 1
        else:
            complete_rows.append([float(x) for x in row if x is not None])
    if len(complete_rows) > _MAX_ROWS or len(complete_rows) < 2:
        raise ParameterError(
            f'{path}: {len(complete_rows)} complete rows; expected 2 to {_MAX_ROWS}'
        )
    if left_out:
        _LOG.warning(
            f'{path.name}: {left_out} of {left_out + len(complete_rows)} rows lack a value'
        )
    values = np.array(complete_rows).T
    found = {
        kind: column * factor for (kind, _, factor), column in zip(columns, values, strict=True)
    }
    return _levels(_derive(path, found, latitude))


def _comma_separated(path: Path, lines: list[str]) -> _Table:
    text = [(i, line) for i, line in enumerate(lines, 1) if line.strip() and line[0] != '#']
    if not text:
        raise ParameterError(f'{path}: no rows; expected a line with the names of the columns')
    separator = ';' if ';' in text[0][1] else ','
    rows = [(i, next(csv.reader([line], delimiter=separator))) for i, line in text]
    return _Table(rows[0][1], rows[1:], math.nan)


def _sea_bird(path: Path, lines: list[str]) -> _Table:
    """Return the table of a .cnv file: ``# name 0 = prDM: Pressure …``, rows after ``*END*``."""
    names: dict[int, str] = {}
    missing, begin = math.nan, None
    for number, line in enumerate(lines, 1):
        if match := re.match(r'#\s*name\s+(\d{1,3})\s*=\s*([^:]*)', line):
            names[int(match[1])] = match[2].strip()
        elif match := re.match(r'#\s*bad_flag\s*=\s*(\S+)', line):
            missing = cell_number([match[1]], 0) or math.nan
        elif line.startswith('*END*'):
            begin = number
            break
    if begin is None or sorted(names) != list(range(len(names))) or not names:
        raise ParameterError(f'{path}: no names of columns before *END*; expected a .cnv file')
    rows = [(i, line.split()) for i, line in enumerate(lines[begin:], begin + 1) if line.strip()]
    return _Table([names[i] for i in range(len(names))], rows, missing)


def _known_columns(path: Path, names: list[str]) -> list[tuple[str, int, float]]:
    """Return quantity, number of its column, and factor to its unit, the first of each."""
    columns: dict[str, tuple[str, int, float]] = {}
    for index, full in enumerate(names):
        name, unit = header_and_unit(full, _SUFFIXES)
        for kind, quantity in _COLUMNS.items():
            if name not in quantity.columns or kind in columns:
                continue
            column_unit = unit if unit is not None else name.removeprefix('c0').removeprefix('c1')
            factor = quantity.units.get(column_unit, None if unit is not None else 1.0)
            if factor is None:
                expected_unit = quantity.unit or 'none'
                raise ParameterError(f'{path}: unit of column {full!r}; expected {expected_unit}')
            columns[kind] = kind, index, factor
    if not columns.keys() & {'depth', 'pressure'} or 'temperature' not in columns:
        raise ParameterError(
            f'{path}: columns {", ".join(map(repr, names[:8]))}; expected depth (or pressure), '
            'temperature, and salinity (or conductivity)'
        )
    return list(columns.values())


def _cell(
    path: Path, number: int, cells: list[str], index: int, kind: str, table: _Table
) -> float | None:
    """Return a number of a row; None where it is missing."""
    value = cell_number(cells, index)
    if value is not None and (math.isnan(value) or value == table.missing):
        return None
    quantity = _COLUMNS[kind]
    if value is None or not quantity.low <= value <= quantity.high:
        text = cells[index].strip()[:40]
        raise ParameterError(
            f'{path}:{number}: {kind} is {text!r}; expected {quantity.low:g} to '
            f'{quantity.high:g} {quantity.unit}'.rstrip()
        )
    return value


def _derive(
    path: Path, quantities: dict[str, np.ndarray], latitude: float
) -> dict[str, np.ndarray]:
    """Return the quantities with depth for pressure, and salinity for conductivity."""
    if 'depth' not in quantities:
        gsw = require('gsw', 'pressure of a CTD cast')
        quantities['depth'] = -np.asarray(
            gsw.z_from_p(np.maximum(quantities['pressure'], 0.0), latitude)
        )
    if 'salinity' not in quantities:
        if 'conductivity' not in quantities:
            raise ParameterError(f'{path}: no column for salinity or conductivity')
        gsw = require('gsw', 'conductivity of a CTD cast')
        pressure = quantities.get('pressure')
        if pressure is None:
            pressure = gsw.p_from_z(-quantities['depth'], latitude)
        salinity = gsw.SP_from_C(quantities['conductivity'], quantities['temperature'], pressure)
        quantities['salinity'] = np.asarray(salinity)
        if not np.all((quantities['salinity'] >= 0) & (quantities['salinity'] <= 42)):
            raise ParameterError(
                f'{path}: conductivity gives no salinity of 0 to 42; see its unit'
            )
    return {name: quantities[name] for name in CAST_QUANTITIES if name in quantities}


def _levels(quantities: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the downcast, averaged in levels of depth."""
    bottom = int(np.argmax(quantities['depth']))
    down = slice(0, bottom + 1) if bottom else slice(None)
    depth = quantities['depth'][down]
    size = max(0.1, float(depth.max()) / _BINS)
    _, level = np.unique(np.floor(depth / size), return_inverse=True)
    count = np.bincount(level)
    means = {name: np.bincount(level, values[down]) / count for name, values in quantities.items()}
    order = np.argsort(means['depth'], kind='stable')
    return {name: values[order] for name, values in means.items()}
