# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parser of the command line that answers a mistake in one line, with the nearest valid name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

__all__ = ['Parser']

_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")


def _nearest(word: str, names: Iterable[str]) -> str:
    """Return a hint at the name that is most like a word; empty where none is."""
    from difflib import get_close_matches  # only a mistake needs it

    near = get_close_matches(word, list(names), 1)
    return f' (did you mean {near[0]}?)' if near else ''


class Parser(argparse.ArgumentParser):
    """Prints ``ERROR: VERB: what; where to look`` in place of the usage of all options."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and which command tells more; exit with 2."""
        if found := _CHOICE.search(message):
            message += _nearest(found[1], re.findall(r"[^\s',]+", found[2]))
        where = f'{self.prog.partition(" ")[2]}: '.removeprefix(': ')
        self.exit(2, f'ERROR: {where}{message}; see `{self.prog} --help`\n')

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit as :meth:`error` does, because of arguments that no option takes."""
        name, assigned, value = unknown[0].partition(':=')
        known = self._option_string_actions
        flag = '--' + name.replace('_', '-')
        if assigned and flag in known:  # written as for ros2 launch
            said = f'; expected {flag}' + (f' {value}' if known[flag].nargs != 0 else '')
        else:
            said = _nearest(name.partition('=')[0], known)
        self.error(f'unknown argument {unknown[0]}{said}')
