# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tidy tables of a bag, a file for each topic: every message a row, every quantity a column."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from marine_sim_ros.analysis.bags.table_files import TableFiles
from marine_sim_ros.analysis.bags.vehicle import Channel
from marine_sim_ros.core.errors import MissingPackageError, RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.file_names import file_name

__all__ = ['Tables', 'table_format']


def table_format(wanted: str) -> str:
    """Return csv, parquet or none; ``auto`` is parquet where pyarrow is installed.

    Raises:
        MissingPackageError: parquet without pyarrow.
    """
    if wanted not in ('auto', 'parquet'):
        return wanted
    try:
        require('pyarrow.parquet', '--table parquet')
    except MissingPackageError:
        if wanted == 'parquet':
            raise
        return 'csv'
    return 'parquet'


class _Csv:
    def __init__(self, file: BinaryIO, names: Sequence[str]) -> None:
        self._file = io.TextIOWrapper(file, encoding='utf-8', newline='')
        self._writer = csv.writer(self._file)
        self._writer.writerow(names)

    def write(self, columns: Sequence[np.ndarray]) -> None:
        for row in zip(*(c.tolist() for c in columns), strict=True):
            self._writer.writerow(['' if v != v else v for v in row])

    def close(self) -> None:
        self._file.close()


class _Parquet:
    def __init__(self, file: BinaryIO, names: Sequence[str]) -> None:
        import pyarrow
        import pyarrow.parquet

        self._arrow, self._parquet = pyarrow, pyarrow.parquet
        self._file, self._names = file, list(names)
        self._writer: Any = None
        self._waiting: list[Any] = []

    def write(self, columns: Sequence[np.ndarray]) -> None:
        self._waiting.append(self._arrow.table(list(columns), names=self._names))
        if len(self._waiting) >= 32:
            self._empty()

    def _empty(self) -> None:
        if not self._waiting:
            return
        table = self._arrow.concat_tables(self._waiting).combine_chunks()
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)
        self._waiting = []

    def close(self) -> None:
        self._empty()
        if self._writer is not None:
            self._writer.close()
        self._file.close()


class Tables:
    """Writes the tables of a vehicle; it is a ``Rows``."""

    def __init__(self, written: TableFiles, label: str, vehicle: str, kind: str) -> None:
        """Write below ``tables/LABEL/VEHICLE``.

        Args:
            written: files of the report.
            label: label of the bag.
            vehicle: namespace of the vehicle, as the bag has it; it may have slashes.
            kind: csv or parquet.
        """
        parts = [file_name(part) for part in (vehicle or 'vehicle').split('/')]
        self.folder, self._written, self._kind = Path(label, *parts), written, kind
        self._open: dict[str, _Csv | _Parquet] = {}
        self._names: set[str] = set()

    def __call__(
        self, channel: Channel, stamps: np.ndarray, receipts: np.ndarray, rows: np.ndarray
    ) -> None:
        """Write rows (n, k) of a channel, with stamps and receipts (n,) in ns.

        Raises:
            RecordingError: a file cannot be written.
        """
        try:
            table = self._open.get(channel.name)
            if table is None:
                table = self._open[channel.name] = self._make(channel)
            table.write([stamps, receipts, *rows.T])
        except OSError as error:
            raise self._failed(error) from None

    def _make(self, channel: Channel) -> _Csv | _Parquet:
        name = file_name(channel.name, self._names)
        self._names.add(name)
        file = self._written.create(self.folder / f'{name}.{self._kind}')
        names = ('stamp_ns', 'received_ns', *_unique(channel.labels))
        return _Csv(file, names) if self._kind == 'csv' else _Parquet(file, names)

    def close(self) -> None:
        """Finish the files.

        Raises:
            RecordingError: one cannot be written.
        """
        try:
            for table in self._open.values():
                table.close()
        except OSError as error:
            raise self._failed(error) from None
        finally:
            self._open = {}

    def _failed(self, error: OSError) -> RecordingError:
        return RecordingError(
            f'{self._written.folder / self.folder}: cannot be written: {error.strerror or error}'
        )


def _unique(names: Sequence[str]) -> list[str]:
    result: list[str] = []
    for name in names:
        result.append(name if name not in result else f'{name}_{len(result)}')
    return result
