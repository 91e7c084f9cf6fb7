# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parser of the command line: one-line errors, and help with the usual options first."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

from marine_sim_ros.core.errors import nearest_name

__all__ = ['Arguments', 'Parser', 'help_section']

Arguments: TypeAlias = argparse.ArgumentParser | argparse._ArgumentGroup
"""Parser or group that an option can be added to."""


_SYNONYMS = {
    **dict.fromkeys(('compare', 'report', 'plot', 'graph', 'metrics', 'csv'), 'analyze'),
    **dict.fromkeys(('film', 'video', 'movie'), 'render'),
    **dict.fromkeys(('replay', 'play', 'view', 'show', 'gui'), 'console'),
    **dict.fromkeys(('record', 'start', 'launch', 'fly'), 'run'),
    **dict.fromkeys(('drive', 'joystick', 'gamepad', 'keyboard'), 'teleop'),
    **dict.fromkeys(('fit', 'calibrate', 'estimate'), 'identify'),
    **dict.fromkeys(('check', 'lint', 'diagnose'), 'doctor'),
    'convert': 'import',
}
"""Verbs of other programs, and ours."""
_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")


def _suggestion(word: str, names: Iterable[str]) -> str:
    """Return a hint at the name that is most like a word; empty where none is."""
    known = list(names)
    meant = _SYNONYMS.get(word.lower(), '')
    near = meant if meant in known else nearest_name(word, known)
    return f' (did you mean {near}?)' if near else ''


class _HelpAll(argparse.Action):
    """Prints all options, by sections."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if isinstance(parser, Parser):
            parser.tell_all()
        parser.print_help()
        parser.exit()


def help_section(parser: argparse.ArgumentParser, title: str) -> Arguments:
    """Return the section of --help-all with a title; the parser itself without one."""
    return parser.section(title) if title and isinstance(parser, Parser) else parser


class Parser(argparse.ArgumentParser):
    """Prints ``ERROR: VERB: what; where to look`` in place of the usage of all options.

    Options in a section are told by ``--help-all`` alone, which a parser with sections has.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        """Take what argparse takes."""
        super().__init__(*args, **settings)
        self._sections: dict[str, argparse._ArgumentGroup] = {}
        self._tells_all = False

    def section(self, title: str) -> argparse._ArgumentGroup:
        """Return the section with a title, which is made where there is none."""
        if not self._sections:
            self.add_argument(
                '--help-all', action=_HelpAll, nargs=0, default=argparse.SUPPRESS,
                help='show all options, by subject, and exit',
            )  # fmt: skip
        if title not in self._sections:
            self._sections[title] = self.add_argument_group(title)
        return self._sections[title]

    def tell_all(self) -> None:
        """Let the help tell all options."""
        self._tells_all = True

    def format_help(self) -> str:
        """Return the help: the usual options, unless all are to be told."""
        rare = [] if self._tells_all else self._rare()
        shown = [action.help for action in rare]
        for action in rare:
            action.help = argparse.SUPPRESS
        try:
            return super().format_help()
        finally:
            for action, text in zip(rare, shown, strict=True):
                action.help = text

    def _rare(self) -> list[argparse.Action]:
        return [action for group in self._sections.values() for action in group._group_actions]

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and which command tells more; exit with 2."""
        if found := _CHOICE.search(message):
            near = _suggestion(found[1], re.findall(r"[^\s',]+", found[2]))
            message = message.replace(f' (choose from {found[2]})', near) if near else message
        where = f'{self.prog.partition(" ")[2]}: '.removeprefix(': ')
        self.exit(2, f'ERROR: {where}{message}; see `{self.prog} --help`\n')

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit as :meth:`error` does, because of arguments that no option takes."""
        name, assigned, value = unknown[0].partition(':=')
        known = self._option_string_actions
        flag = '--' + name.replace('_', '-')
        if assigned and flag in known:  # written as for ros2 launch
            said = f'; expected {flag}' + (f' {value}' if known[flag].nargs != 0 else '')
        elif name.partition('=')[0] in known:  # it stands before the verb, which would take it
            said = f'; expected it after {self.prog.rpartition(" ")[2]}'
        elif '--record' in known and re.match('-o|--output', name):  # as for render and analyze
            said = '; expected --record FOLDER'
        else:
            said = _suggestion(name.partition('=')[0], known)
        self.error(f'unknown argument {unknown[0]}{said}')
