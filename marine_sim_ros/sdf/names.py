# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Names that SDF takes: each once among links, joints and frames of a model."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ['Names']


class Names:
    """What links and joints of a URDF are called in SDF."""

    def __init__(self, links: Iterable[str], warnings: list[str]) -> None:
        """Take the names of all links; warnings are added to."""
        self._warnings = warnings
        self._taken: set[str] = set()
        self._links = {name: self._free(name, 'link') for name in links}
        self._joints: dict[str, str] = {}

    def link(self, name: str) -> str:
        """Return what a link, or the frame that is left of it, is called."""
        return self._links[name]

    def joint(self, name: str) -> str:
        """Return what a joint is called."""
        if name not in self._joints:
            self._joints[name] = self._free(name, 'joint')
        return self._joints[name]

    def model(self, name: str) -> str:
        """Return what the model is called."""
        return self._usable(name)

    @staticmethod
    def _usable(name: str) -> str:
        """Return a name without what SDF keeps for itself: ::, __name__ and world."""
        name = name.replace('::', '_') or 'unnamed'
        if name == 'world' or (name.startswith('__') and name.endswith('__')):
            return f'urdf_{name.strip("_")}'
        return name

    def _free(self, name: str, kind: str) -> str:
        free = self._usable(name)
        number = 2
        if free in self._taken:
            free = f'{self._usable(name)}_{kind}'
        while free in self._taken:
            free = f'{self._usable(name)}_{kind}_{number}'
            number += 1
        if free != name:
            self._warnings.append(f'{kind} {name!r} is called {free!r} in SDF')
        self._taken.add(free)
        return free
