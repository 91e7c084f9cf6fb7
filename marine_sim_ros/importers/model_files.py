# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files that an imported file may include, and where included models are looked for."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import read_text_file
from marine_sim_ros.core.packages import (
    MODEL,
    PACKAGE_PATH,
    ReadableFolders,
    add_package_paths,
    model_folder,
    package_folder,
)
from marine_sim_ros.model.xml import MAX_BYTES

__all__ = ['ModelFolders', 'files_matching']

_PATHS = ('GZ_SIM_RESOURCE_PATH', 'SDF_PATH')
"""Environment variables of Gazebo with folders of models."""
_MAX_FILES = 100
"""Files around one that are looked at for a hint."""


def files_matching(pattern: str, path: Path, patterns: Iterable[str]) -> list[str]:
    """Return up to four files around a file whose text has a pattern, relative to its folder.

    Args:
        pattern: regular expression of the text.
        path: the file, which is not among them.
        patterns: glob patterns of files, relative to the folder of the file.
    """
    folder = path.resolve().parent
    files = (f for p in patterns for f in sorted(folder.glob(p)))
    found: list[str] = []
    for file in islice(files, _MAX_FILES):
        name = os.path.relpath(file.resolve(), folder)
        if file.resolve() == path.resolve() or name in found:
            continue
        with contextlib.suppress(ModelError):
            if re.search(pattern, read_text_file(file, ModelError, MAX_BYTES)):
                found.append(name)
    return found[:4]


class ModelFolders(ReadableFolders):
    """Folders that an imported file may read: its own, those of packages, and those of models.

    Those of models are in ``GZ_SIM_RESOURCE_PATH``, ``SDF_PATH`` and ``ROS_PACKAGE_PATH``. A file
    ``model.sdf`` may also include the models beside its own by ``model://NAME``.
    """

    def __init__(self, path: Path) -> None:
        """Begin with the folders of a file and of the environment variables."""
        add_package_paths(
            f for key in _PATHS for f in _folders_of(key) if f not in _folders_of(PACKAGE_PATH)
        )
        super().__init__(path)
        self._library = path.parent.resolve().parent if path.name == MODEL else None

    def find_package(self, name: str, folder: Path) -> Path:
        """Return the folder of a package, whose files may be read from here on.

        Raises:
            ModelError: it is nowhere.
        """
        found = package_folder(name, folder)
        self.add_package(name, found)
        return found

    def find_file(self, places: Iterable[Path]) -> Path | None:
        """Return the first file that may be read, with links followed; None if none exists.

        Raises:
            ModelError: all that exist are outside the folders.
        """
        refused = None
        for file in filter(None, map(_existing_file, places)):
            if self.is_readable(file):
                return file
            refused = refused or file
        if refused is not None:
            self.check(refused)
        return None

    def find_model(self, uri: str, folder: Path) -> Path | None:
        """Return the SDF file of an <include>: a folder model://NAME, or a file; None if missing.

        Args:
            uri: of the include.
            folder: of the file with the include.

        Raises:
            ModelError: it is outside the folders.
        """
        return self.find_file(self._model_places(uri, folder))

    def find_template(self, uri: str, folder: Path) -> Path | None:
        """Return a template model.sdf.SUFFIX where find_model finds no model; None if none is."""
        with contextlib.suppress(OSError, ValueError):
            for place in self._model_places(uri, folder):
                for file in sorted(place.glob(f'{MODEL}.*')):
                    if self.is_readable(file):
                        return file
        return None

    def _model_places(self, uri: str, folder: Path) -> list[Path]:
        """Return files and folders that the URI of an <include> may stand for, the first first."""
        scheme, separator, name = uri.partition('://')
        if not separator:
            scheme, name = '', uri.lstrip('/')  # from a folder of the path of resources
        if scheme in ('http', 'https'):  # of Fuel: .../OWNER/models/NAME[/VERSION]
            name = name.partition('/models/')[2].partition('/')[0] or name
        package, _, rest = name.partition('/')
        here = folder.resolve()
        places = [
            parent / below / name
            for parent in (here, *here.parents[:4])
            for below in ('', 'models')
        ]
        if uri.startswith('/'):
            places.insert(0, Path(uri))
        if self._library is not None and scheme == 'model' and not rest:
            beside = self._library / name
            if beside.resolve().parent == self._library:
                self.add_package('', beside)
                places.append(beside)
        with contextlib.suppress(ModelError):
            places.insert(0, self.find_package(package, folder) / rest)
        if (model := model_folder(package)) is not None:
            self.add_package('', model)
            places.insert(0, model / rest)
        return places


def _folders_of(key: str) -> list[str]:
    """Return the folders of an environment variable that exist."""
    return [f for f in os.environ.get(key, '').split(os.pathsep) if f and Path(f).is_dir()]


def _existing_file(place: Path) -> Path | None:
    """Return a file, or the SDF file in a folder, with links followed."""
    with contextlib.suppress(OSError, ValueError):  # such as a name that is too long
        if place.is_file():
            return place.resolve()
        for file in (MODEL, *sorted(p.name for p in place.glob('*.sdf'))):
            if (place / file).is_file():
                return (place / file).resolve()
    return None
