# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The dataset of a sweep: one Parquet file per block, each there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.sweep.plan import Plan

__all__ = ['Dataset']


class Dataset:
    """The folder of a sweep: ``plan.json`` and ``runs/part-*.parquet``, one row per run."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        """Open a folder, or make it.

        Raises:
            RecordingError: it cannot be written.
            ParameterError: it holds another sweep, or other files.
        """
        self.folder = folder
        self._parts = folder / 'runs'
        note = folder / 'plan.json'
        try:
            if note.is_file():
                if note.read_text(encoding='utf-8') != plan.text():
                    raise ParameterError(
                        f'{folder}: holds another sweep (see plan.json); expected a new folder'
                    )
            elif folder.exists() and any(folder.iterdir()):
                raise ParameterError(f'{folder}: has other files; expected a new folder')
            self._parts.mkdir(parents=True, exist_ok=True)
            _write(note, plan.text().encode())
        except OSError as error:
            raise RecordingError(f'{folder}: cannot be written: {error.strerror}') from None

    def part(self, number: int) -> Path:
        """Return the file of a block."""
        return self._parts / f'part-{number:06d}.parquet'

    def missing(self, count: int) -> list[int]:
        """Return which of so many blocks are not there yet."""
        return [i for i in range(count) if not self.part(i).is_file()]

    def add(self, number: int, columns: Mapping[str, np.ndarray]) -> None:
        """Write a block.

        Raises:
            RecordingError: it cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(dict(columns)), sink)
        try:
            _write(self.part(number), sink.getvalue().to_pybytes())
        except OSError as error:
            raise RecordingError(f'{self.folder}: cannot be written: {error.strerror}') from None

    def columns(self) -> dict[str, np.ndarray]:
        """Return all rows that are there, in the order of the runs."""
        import pyarrow.parquet as pq

        table = pq.read_table(self._parts).sort_by('run')
        return {name: table[name].to_numpy() for name in table.column_names}


def _write(path: Path, content: bytes) -> None:
    """Write a file in one stroke: a crash leaves the old one, or none."""
    draft = path.with_name(path.name + f'.{os.getpid()}.tmp')
    draft.write_bytes(content)
    os.replace(draft, path)
