# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which files a vehicle description may read, and whether its author is trusted."""

from __future__ import annotations

import os
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.resources import resource_folder
from marine_sim_ros.model.packages import package_around

__all__ = ['TRUST', 'ReadableFolders', 'is_trusted', 'trust_descriptions']

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
        for folder in tuple(self._folders):
            if (package := package_around(folder)) is not None:
                self.add_package(*package)

    def add_package(self, name: str, folder: Path) -> None:
        """Let the files of a package be read."""
        self._packages.add(name)
        self._folders.add(folder.resolve())

    def check(self, path: Path) -> None:
        """Refuse a file elsewhere.

        Raises:
            ModelError: it is outside the folders, and descriptions are not trusted.
        """
        real = path.resolve()
        if is_trusted() or any(real.is_relative_to(folder) for folder in self._folders):
            return
        package = package_around(real.parent)
        if package is None or package[0] not in self._packages:
            raise ModelError(
                f'{str(path)[:300]} is outside the folder of the description; expected a file in '
                f'{self._own}, in its package or in a package that it finds, or --trust'
            )
