# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Completion of the command line in a shell, where argcomplete is installed.

The shell calls ``marine_sim`` with ``_ARGCOMPLETE`` set; see docs/reference/parameters.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from marine_sim_ros.tools.catalogue import KINDS

__all__ = ['complete', 'wanted']

_FILES = {
    'vehicle': ('vehicles', ('urdf', 'xacro')),
    'environment': ('environments', ('yaml',)),
    'scenario': ('scenarios', ('yaml',)),
    'fleet': ('fleets', ('yaml',)),
    'experiment': ('experiments', ('yaml',)),
    'controller': ('controllers', ('yaml',)),
    'gamepad': ('gamepads', ('yaml',)),
    'sweep': ('sweeps', ('yaml',)),
}
"""Kind, and suffixes of files that may be given instead, by the name of an argument."""


def wanted() -> bool:
    """Return whether a shell asks for completions."""
    return '_ARGCOMPLETE' in os.environ


def _completer(kind: str, suffixes: Sequence[str]) -> Callable[..., Iterable[str]]:
    from argcomplete.completers import FilesCompleter

    files = FilesCompleter(suffixes)

    def complete_name(prefix: str, **_: Any) -> dict[str, str]:
        names = {n: text for n, text in KINDS[kind]().items() if n.startswith(prefix)}
        return {**names, **dict.fromkeys(files(prefix), '')}

    return complete_name


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from _actions(verb)
        else:
            yield action


def complete(parser_of: Callable[[Sequence[str]], argparse.ArgumentParser]) -> None:
    """Print the completions that the shell asks for, and end the process.

    Without argcomplete nothing is printed, and the process ends too.

    Args:
        parser_of: returns the parser of some words of a command line.
    """
    try:
        import argcomplete
    except ImportError:
        raise SystemExit(1) from None
    parser = parser_of(os.environ.get('COMP_LINE', '').split()[1:])
    for action in _actions(parser):
        if action.dest in _FILES:
            action.completer = _completer(*_FILES[action.dest])  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)
