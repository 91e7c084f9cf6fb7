# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds of YAML files in ``config``: each is found, parsed and read in the same way."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from marine_sim_ros.core.choices import meant
from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.files import expand_home, read_text_file
from marine_sim_ros.core.resources import resource_folder
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml

__all__ = ['ConfigFiles']

Content = TypeVar('Content')


class ConfigFiles(Generic[Content]):
    """The files of one kind: those shipped in a folder of ``config``, and the user's own."""

    def __init__(
        self,
        folder: str,
        read: Callable[[YamlReader], Content],
        error: type[MarineSimError] = ParameterError,
    ) -> None:
        """Name the folder below ``config``, the reader of a file's content and its error."""
        self.folder, self.kind = folder, folder.removesuffix('s')
        self._read, self._error = read, error

    def names(self) -> list[str]:
        """Return the names of the files that are shipped."""
        return sorted(p.stem for p in (resource_folder('config') / self.folder).glob('*.yaml'))

    def path(self, name_or_path: str | Path) -> Path:
        """Return the path of a shipped file by its name, or the path itself."""
        path = resource_folder('config') / self.folder / f'{name_or_path}.yaml'
        if '/' in str(name_or_path) or not path.is_file():
            path = expand_home(name_or_path)
        return path

    def load(self, name_or_path: str | Path) -> Content:
        """Return the content of a file, by its shipped name or by its path.

        Raises:
            MarineSimError: of this kind of file: it cannot be found, read or used.
        """
        path = self.path(name_or_path)
        if path.is_dir() or not os.path.exists(path):
            word, names = str(name_or_path), self.names()
            raise self._error(
                f'{self.kind} {word!r} is neither a file nor a shipped {self.kind}; '
                f'{meant(word, names)}expected a path or one of: {", ".join(names)}'
            )
        return self.parse(read_text_file(path, self._error), str(path))

    def parse(self, text: str, name: str) -> Content:
        """Return the content of a YAML text; the name stands in the messages.

        Raises:
            MarineSimError: of this kind of file: one line with what, where, and what was expected.
        """
        return self._read(YamlReader(name, parse_yaml(text, name, self._error), self._error))
