# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ROS packages: their folders, and which files a description may read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.core.files import expand_home, read_file, resource_folder

__all__ = [
    'MODEL',
    'PACKAGE_PATH',
    'ReadableFolders',
    'RosPackageError',
    'TRUST',
    'add_package_paths',
    'is_trusted',
    'model_folder',
    'package_around',
    'package_folder',
    'trust_descriptions',
]


# Finds the folder of a ROS package, of ROS 1 or 2, installed or not.

MODEL = 'model.sdf'
"""File of a model of Gazebo."""
PACKAGE_PATH = 'ROS_PACKAGE_PATH'
"""Environment variable with the folders in which packages are looked for, as in ROS 1."""

_MANIFEST = 'package.xml'
_COLCON = 'colcon.pkg'
_MAX_MANIFEST = 1_000_000
"""Bytes of a manifest that is read."""
_NAME = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_.-]*')
_DEEPEST = 6
"""Levels below a folder of PACKAGE_PATH at which packages and models are looked for."""
_MAX_FOLDERS = 20_000
"""Folders below one of PACKAGE_PATH in which models are looked for."""


def add_package_paths(folders: Iterable[str]) -> None:
    """Search packages in these folders first, in this process and its children.

    Raises:
        ParameterError: a folder that does not exist.
    """
    folders_found = []
    for folder in folders:
        path = expand_home(folder)
        if not path.is_dir():
            raise ParameterError(f'--package-path {folder}: is no folder')
        folders_found.append(str(path.resolve()))
    if folders_found:
        os.environ[PACKAGE_PATH] = os.pathsep.join([*folders_found, *_package_paths()])


def _package_paths() -> list[str]:
    return [p for p in os.environ.get(PACKAGE_PATH, '').split(os.pathsep) if p]


def _name(folder: Path) -> str | None:
    """Return the name of the package in a folder, or None where there is none."""
    manifest = folder / _MANIFEST
    if not manifest.is_file():
        return folder.name if (folder / _COLCON).is_file() else None
    from lxml import etree

    try:
        content = read_file(manifest, _MAX_MANIFEST, ModelError)
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    except (etree.XMLSyntaxError, ModelError):
        return folder.name
    return (root.findtext('name') or folder.name).strip()


def _packages_below(folder: Path, levels: int = _DEEPEST) -> Iterator[tuple[str, Path]]:
    """Yield names and folders of packages; none is looked for within a package."""
    name = _name(folder)
    if name is not None:
        yield name, folder
        return
    try:
        inner = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith('.'))
    except OSError:
        return
    for path in inner if levels else ():
        yield from _packages_below(path, levels - 1)


@lru_cache(maxsize=64)
def _packages_of_folder(folder: str) -> dict[str, Path]:
    """Return the packages of a folder of PACKAGE_PATH; the first of a name counts."""
    folder_by_name: dict[str, Path] = {}
    for name, path in _packages_below(Path(folder)):
        folder_by_name.setdefault(name, path)
    return folder_by_name


@lru_cache(maxsize=64)
def _models_of_folder(folder: str) -> dict[str, Path]:
    """Return the folders with a model.sdf below one of PACKAGE_PATH, those in packages too."""
    folder_by_name: dict[str, Path] = {}
    walk = os.walk(folder)
    for folder_path, inner, files in islice(walk, _MAX_FOLDERS):
        path = Path(folder_path)
        inner[:] = sorted(name for name in inner if not name.startswith('.'))
        if MODEL in files:
            folder_by_name.setdefault(path.name, path)
        if MODEL in files or len(path.relative_to(folder).parts) >= _DEEPEST:
            inner.clear()
    return folder_by_name


def model_folder(name: str) -> Path | None:
    """Folder of a model of Gazebo (NAME/model.sdf) below those of PACKAGE_PATH, or None."""
    candidates = (_models_of_folder(folder).get(name) for folder in _package_paths())
    return next(filter(None, candidates), None)


def _repository_around(folder: Path) -> Path | None:
    """Return the git repository that a folder is in; the home directory is none."""
    around = (folder.resolve(), *folder.resolve().parents)
    repository = next((path for path in around if (path / '.git').exists()), None)
    return None if repository == Path.home().resolve() else repository


def _installed_folder(package: str) -> Path | None:
    try:
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory(package))
    except (ImportError, LookupError, ValueError):
        return None


def package_around(folder: Path) -> tuple[str, Path] | None:
    """Return name and folder of the package that a folder is in; None where it is in none."""
    for around in (folder.resolve(), *folder.resolve().parents):
        name = _name(around)
        if name is not None:
            return name, around
    return None


def _package_candidates(description: Path, package: str) -> Iterator[Path]:
    """Yield where a package may be of which a description in a folder speaks."""
    found = package_around(description)
    if found is not None:
        yield found[1]
        yield found[1].parent / package
    repository = _repository_around(description)
    if repository is not None:
        yield from filter(None, [_packages_of_folder(str(repository)).get(package)])


class RosPackageError(ModelError):
    """A ROS package that is nowhere."""


def package_folder(package: str, beside: Path | None = None) -> Path:
    """Return the folder of a package.

    It is looked for in the folders of PACKAGE_PATH, where a model of Gazebo will do too, among
    what is installed, and last around the description itself: the package that it is in,
    packages in the same folder as that one, and those of its git repository.

    Args:
        beside: folder of the description that names it.

    Raises:
        ModelError: it is nowhere, or it has a name that no package has.
    """
    if not _NAME.fullmatch(package):  # such as .., which would lead out of a folder of packages
        raise ModelError(f'package {package!r}: expected a name of letters, digits, _, - and .')
    for folder in _package_paths():
        if (path := _packages_of_folder(folder).get(package)) is not None:
            return path
        if (Path(folder) / package).is_dir():
            return Path(folder) / package
    if (model := model_folder(package)) is not None:
        return model
    installed = _installed_folder(package)
    if installed is not None:
        return installed
    for path in _package_candidates(beside, package) if beside else ():
        if _name(path) == package:
            return path
    raise RosPackageError(
        f'package {package!r} is not installed; expected --package-path FOLDER (or the '
        f'environment variable {PACKAGE_PATH}) with the folder that holds the package'
    )


# Which files a vehicle description may read, and whether its author is trusted.

TRUST = 'MARINE_SIM_TRUST'
"""Environment variable: 1 where descriptions may run Python and read every file (--trust)."""


def trust_descriptions() -> None:
    """Let descriptions run Python and read every file, in this process and those it starts."""
    os.environ[TRUST] = '1'


def is_trusted() -> bool:
    """Return whether descriptions may run Python and read every file."""
    return os.environ.get(TRUST) == '1'


class ReadableFolders:
    """Folders whose files a description may read: its own, its package's, those of packages.

    The user's folders of PACKAGE_PATH are among them.

    Links count as what they lead to; a link within a package may lead to a package of the same
    name, as those of ``colcon build --symlink-install`` do.
    """

    def __init__(self, description: Path) -> None:
        """Begin with the folder of a description, its package and the shipped vehicles."""
        self._own = description.parent.resolve()
        self._folders = {
            self._own,
            description.resolve().parent,
            resource_folder('urdf').resolve(),
        }
        self._packages: set[str] = set()
        self._folders |= {Path(folder).resolve() for folder in _package_paths()}
        for folder in tuple(self._folders):
            if (package := package_around(folder)) is not None:
                self.add_package(*package)

    def add_package(self, name: str, folder: Path) -> None:
        """Let the files of a package be read."""
        self._packages.add(name)
        self._folders.add(folder.resolve())

    def is_readable(self, path: Path) -> bool:
        """Return whether a file is within the folders, or descriptions are trusted."""
        real = path.resolve()
        if is_trusted() or any(real.is_relative_to(folder) for folder in self._folders):
            return True
        package = package_around(real.parent)
        return package is not None and package[0] in self._packages

    def check(self, path: Path) -> None:
        """Refuse a file elsewhere.

        Raises:
            ModelError: it is outside the folders, and descriptions are not trusted.
        """
        if not self.is_readable(path):
            raise ModelError(
                f'{str(path)[:300]} is outside the folder of the description; expected a file in '
                f'{self._own}, in its package or in a package that it finds (--package-path '
                'FOLDER), or --trust'
            )
