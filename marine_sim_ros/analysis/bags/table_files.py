# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of tables of a report: their folder, and a list of them, by which they are removed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.posix import open_flags

__all__ = ['TableFiles']

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
        listed = self._listed()
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

    def _listed(self) -> list[Path]:
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
