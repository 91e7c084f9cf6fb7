# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of a bag, a CSV or Parquet file for each topic, and the folder that holds them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from marine_sim_ros.bags.vehicle_record import Channel
from marine_sim_ros.core.errors import MissingPackageError, RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import open_flags
from marine_sim_ros.core.text import file_name

__all__ = ['TableFiles', 'TopicTables', 'table_format']


# Folder of a report's tables, and the list of files by which they are removed.

LIST = 'files.txt'


class TableFiles:
    """The folder ``tables`` of a report.

    Nothing is written or removed through a link, and nothing is removed that is not in the list.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder, which may not exist yet."""
        self.folder = folder

    def create(self, path: Path) -> BinaryIO:
        """Return a new file at a path below the folder, after it is in the list.

        Raises:
            RecordingError: there is a file, or a link on the way.
            OSError: it cannot be written.
        """
        self._check(path)
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with _open(self.folder / LIST, os.O_APPEND) as written:
            written.write(f'{path.as_posix()}\n'.encode())
        try:
            return _open(target, os.O_EXCL)
        except FileExistsError:
            raise RecordingError(
                f'{target}: is there already, and is no table of a report; expected another folder'
            ) from None

    def clear(self, label: str = '') -> None:
        """Remove the files of the list, the list, and the folders that are empty then.

        Args:
            label: folder below which to remove them; empty: all.

        Raises:
            RecordingError: a link is on the way to a file.
            OSError: a file cannot be removed.
        """
        listed = self._read_list()
        paths = [path for path in listed if not label or path.parts[0] == label]
        for path in paths:
            self._check(path)
        for path in paths:
            (self.folder / path).unlink(missing_ok=True)
        (self.folder / LIST).unlink(missing_ok=True)
        if rest := [path for path in listed if path not in paths]:
            with _open(self.folder / LIST, os.O_EXCL) as written:
                written.write(''.join(f'{path.as_posix()}\n' for path in rest).encode())
        folders = {parent for path in paths for parent in path.parents}
        for folder in sorted({*folders, Path()}, key=lambda p: len(p.parts), reverse=True):
            target = self.folder / folder
            if target.is_dir() and not target.is_symlink() and not any(target.iterdir()):
                target.rmdir()

    def _read_list(self) -> list[Path]:
        """Return the paths of the list that lie below the folder."""
        self._check(Path(LIST))
        try:
            lines = (self.folder / LIST).read_text(encoding='utf-8').splitlines()
        except FileNotFoundError:
            return []
        except UnicodeDecodeError:
            raise RecordingError(f'{self.folder / LIST}: is no list of tables') from None
        paths = [Path(line) for line in lines]
        return [p for p in paths if p.parts and not p.is_absolute() and '..' not in p.parts]

    def _check(self, path: Path) -> None:
        """Raise RecordingError where a part of the way to a file is a link."""
        for part in (*reversed(path.parents), path):
            if (self.folder / part).is_symlink():
                raise RecordingError(
                    f'{self.folder / part}: is a link; expected a folder or file of a report'
                )


def _open(path: Path, flags: int) -> BinaryIO:
    """Open a file to write, which is made where it is missing; not through a link."""
    flags |= open_flags('O_WRONLY', 'O_CREAT', 'O_NOFOLLOW', 'O_BINARY')
    descriptor = os.open(path, flags, 0o666)
    return os.fdopen(descriptor, 'wb')


# Tidy tables of a bag: a file per topic, a row per message, a column per quantity.


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


class TopicTables:
    """Writes the tables of a vehicle; it is a ``Rows``."""

    def __init__(self, written: TableFiles, label: str, vehicle: str, kind: str) -> None:
        """Write below ``tables/LABEL/VEHICLE``.

        Args:
            written: files of the report.
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
            raise self._write_error(error) from None

    def _make(self, channel: Channel) -> _Csv | _Parquet:
        name = file_name(channel.name, self._names)
        self._names.add(name)
        file = self._written.create(self.folder / f'{name}.{self._kind}')
        names = ('stamp_ns', 'received_ns', *_unique_names(channel.labels))
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
            raise self._write_error(error) from None
        finally:
            self._open = {}

    def _write_error(self, error: OSError) -> RecordingError:
        return RecordingError(
            f'{self._written.folder / self.folder}: cannot be written: {error.strerror or error}'
        )


def _unique_names(names: Sequence[str]) -> list[str]:
    result: list[str] = []
    for name in names:
        result.append(name if name not in result else f'{name}_{len(result)}')
    return result
