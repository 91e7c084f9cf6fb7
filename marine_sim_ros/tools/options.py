# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Command-line options that several commands share; those of a run come from sim/options.py."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.packages import add_package_paths, trust_descriptions
from marine_sim_ros.model import library
from marine_sim_ros.sim.options import OPTIONS, VEHICLE, Option, RunOptions
from marine_sim_ros.tools.command_line import Arguments, check_folder, help_section

__all__ = [
    'add_map_argument',
    'add_option',
    'add_package_path',
    'accept_negative_pairs',
    'add_recorded_arguments',
    'add_run_arguments',
    'add_trust_option',
    'corner_argument',
    'count_argument',
    'number_argument',
    'prepare_recording_folder',
    'parse_set_options',
    'read_run_options',
]

_BAG_FILE = re.compile(r'metadata\.yaml|.+\.(mcap|db3)(\.active|\.zstd|-wal|-shm|-journal)?')


def _package_path(folder: str) -> str:
    """Let packages be looked for in a folder; the processes of a run inherit it."""
    add_package_paths([folder])
    return folder


def add_package_path(parser: Arguments) -> None:
    """Add the option of folders with packages and models."""
    parser.add_argument(
        '--package-path',
        dest='package_paths',
        action='append',
        type=_package_path,
        default=[],
        metavar='DIR',
        help='folder with ROS packages that are not installed, for package:// and $(find); may '
        'be repeated',
    )


class _Trust(argparse.Action):
    """Trusts descriptions from here on; the processes of a run inherit it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        trust_descriptions()


def add_trust_option(parser: Arguments) -> None:
    """Add ``--trust``, of all commands that read a description."""
    parser.add_argument(
        '--trust',
        action=_Trust,
        nargs=0,
        help='let the expressions of a xacro file be Python, and let it read files outside its '
        'folder and packages: only for files whose author you trust, as they may run commands',
    )


def _add_base_link(parser: Arguments) -> None:
    parser.add_argument(
        '--base-link',
        dest='vehicle_arguments',
        action='append',
        type='base_link:={}'.format,
        default=[],
        metavar='LINK',
        help="link that is the vehicle's body, the same as --set base_link:=LINK (default: "
        'base_link, a link NAME/base_link, or the root of the tree)',
    )


class _Deprecated(argparse.Action):
    """Deprecated alias: warns and sets the option."""

    def __init__(self, *arguments: Any, instead: str, **settings: Any) -> None:
        settings |= {'nargs': 0, 'help': argparse.SUPPRESS}
        super().__init__(*arguments, **settings)
        self._instead = instead

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        sys.stderr.write(f'WARNING: {option_string} is deprecated; use {self._instead}\n')
        setattr(namespace, self.dest, self.const)


def add_option(
    parser: argparse.ArgumentParser, name: str, *, positional: bool = False, empty: str = ''
) -> argparse.Action:
    """Add an option of ``marine_sim_ros.sim.options``.

    With ``vehicle_arguments`` come the other options about reading a description:
    ``--package-path``, ``--base-link`` and ``--trust``.

    Args:
        parser: the parser of a command.
        name: the name of the option.
        positional: whether it is an argument without a name.
        empty: meaning of an empty value, where it differs from that of a run.
    """
    known = OPTIONS[name]
    if name == 'vehicle_arguments':  # all are about how a description is read
        reading = help_section(parser, VEHICLE)
        add_package_path(reading)
        _add_base_link(reading)
        add_trust_option(reading)
    target = help_section(parser, known.group)
    if positional:
        return parser.add_argument(name, metavar=known.metavar, help=known.text)
    default = '' if empty else known.default
    if empty:
        known = replace(known, default='', empty=empty)
    told = [f'default {known.default_text}'] if known.default_text else []
    text = known.text + '; may be repeated' * (known.flags == ('--set',))
    choices = known.choices if known.count is None else ()  # argparse shows them itself
    if not choices:
        told += filter(None, [known.range])
    words = '; '.join(told)
    text += f' ({words})' if words else ''
    if known.kind is bool:
        return _add_switch(target, known, text)
    settings: dict[str, Any] = {'type': _read_by(known), 'choices': choices or None}
    if known.flags:
        settings['action'] = 'append'
        default = []
    elif known.count is not None:
        settings['nargs'] = known.count or '+'
        if known.count == 3:
            angles = name.endswith('_rpy')
            settings['metavar'] = ('ROLL', 'PITCH', 'YAW') if angles else ('EAST', 'NORTH', 'UP')
    settings['metavar'] = settings.get('metavar') or known.metavar or None
    return target.add_argument(
        *known.flags, known.flag, dest=name, default=default, help=text, **settings
    )


def _read_by(known: Option) -> Callable[[str], Any]:
    """Return the function that argparse reads a word of an option with."""

    def read(text: str) -> Any:
        try:
            return known.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f'is {text!r}; {error}') from None

    return read


def _add_switch(parser: Arguments, known: Option, text: str) -> argparse.Action:
    kind: Any = argparse.BooleanOptionalAction if known.default else 'store_true'
    action = parser.add_argument(known.flag, action=kind, default=known.default, help=text)
    action.help = text  # before Python 3.13 the action adds the default once more
    for old in known.deprecated:
        parser.add_argument(
            old,
            action=_Deprecated,
            dest=known.name,
            const=not known.default,
            default=known.default,
            instead=action.option_strings[-1],
        )
    return action


def number_argument(low: float, high: float, unit: str) -> Callable[[str], float]:
    """Return a type of an argument: a number from low to high in a unit."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(
                f'{text[:40]!r}; expected {low:g} to {high:g} {unit}'.rstrip()
            )
        return value

    return read


def count_argument(most: int) -> Callable[[str], int]:
    """Return a type of an argument: a whole number from 1 to most."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = 0
        if not 1 <= value <= most:
            raise argparse.ArgumentTypeError(f'{text[:40]!r}; expected 1 to {most}')
        return value

    return read


_FARTHEST = 1e6


def accept_negative_pairs(parser: argparse.ArgumentParser) -> None:
    """Take -10,5 for a value: a corner or a southern latitude begins as an option does."""
    parser._negative_number_matcher = re.compile(r'^-\d*\.?\d+(,.*)?$')


def corner_argument(text: str) -> tuple[float, float]:
    """Return x and y, m, of an argument such as 10,-5."""
    try:
        x, y = (float(part) for part in text.split(','))
    except ValueError:
        x = y = math.nan
    if not (abs(x) <= _FARTHEST and abs(y) <= _FARTHEST):
        raise argparse.ArgumentTypeError(
            f'{text[:60]!r}; expected x and y in m within {_FARTHEST:g}, such as 10,-5'
        )
    return x, y


def add_bag_argument(parser: argparse.ArgumentParser) -> None:
    """Add the one bag that a command reads."""
    parser.add_argument(
        'bag', metavar='BAG', help='rosbag2 folder or file, or a folder of --record'
    )


def add_map_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--map OURS:=THEIRS``."""
    parser.add_argument(
        '--map',
        dest='maps',
        action='append',
        default=[],
        metavar='OURS:=THEIRS',
        help='a topic under another name, as in odom:=/rov/odometry; may be repeated',
    )


def add_recorded_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a bag, which of its vehicles is meant, and what may replace what was recorded."""
    add_bag_argument(parser)
    parser.add_argument(
        '--vehicle',
        default='',
        metavar='URDF',
        help='vehicle: shipped name or file (default: the recorded one)',
    )
    parser.add_argument(
        '--environment',
        default='',
        metavar='E',
        help='environment: shipped name or file (default: the recorded one)',
    )
    add_map_argument(parser)
    parser.add_argument(
        '--namespace', default='', help='namespace of the vehicle, if the bag has several'
    )


def add_run_arguments(
    parser: argparse.ArgumentParser, *, graph: bool = False, fleet: bool = False
) -> None:
    """Add what describes a run; with a graph, also what only the node graph has.

    Args:
        graph: whether it starts a node graph.
        fleet: whether it takes a fleet in place of a vehicle; a graph does.
    """
    vehicle = add_option(parser, 'vehicle', positional=True)
    if fleet and not graph:
        add_option(parser, 'fleet')
    if graph or fleet:  # a fleet names its vehicles
        vehicle.nargs, vehicle.default, vehicle.required = '?', '', False
    for name, known in OPTIONS.items():
        if name != 'vehicle' and known.command_line and (graph or not known.graph):
            add_option(parser, name)


def parse_set_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the xacro arguments of ``--set NAME:=VALUE``.

    Raises:
        ParameterError: one without :=, or a name that the package reserves.
    """
    for text in texts:
        if ':=' not in text:
            raise ParameterError(f'--set {text}: expected NAME:=VALUE, as in coefficients:=wu2018')
    return library.parse_xacro_arguments(texts)


def read_run_options(options: argparse.Namespace) -> RunOptions:
    """Return the run's options; checks what argparse cannot.

    Raises:
        ParameterError: an option out of its range.
    """
    parse_set_options(options.vehicle_arguments)
    given = vars(options)
    values: dict[str, Any] = {
        f.name: tuple(v) if isinstance(v := given[f.name], list) else v
        for f in fields(RunOptions)
        if f.name in given
    }
    for name, value in values.items():
        if reason := OPTIONS[name].refusal(value):
            raise ParameterError(f'{OPTIONS[name].flag} {reason}')
    return RunOptions(**values)


def prepare_recording_folder(
    path: str, *, overwrite: bool, own_files: Collection[str] = ()
) -> None:
    """Make an empty folder for a recording; only files of an old recording are ever removed.

    Args:
        path: path of the folder.
        overwrite: whether an old recording may be removed.
        own_files: names of files that belong to it, besides the bag and its manifest.

    Raises:
        ParameterError: something is there and may not be replaced.
        RecordingError: nothing that writes bags is installed.
    """
    from marine_sim_ros.bags.storage import storage

    storage('--record')
    folder = Path(path)
    check_folder(folder, '--record')
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f'--record {path}: cannot be made: {error.strerror}') from None
    own = {'bag', 'manifest.json', *own_files}
    bag = folder / 'bag'
    if not any(folder.iterdir()):
        return
    if foreign := _foreign_entry(folder, own):
        raise ParameterError(
            f'--record {path}: has other files ({foreign}, ...); expected a new folder'
        )
    if not overwrite:
        raise ParameterError(f'--record {path}: has a recording already; add --overwrite')
    try:
        for file in (*bag.glob('*'), *(folder / name for name in own - {'bag'})):
            file.unlink(missing_ok=True)
        if bag.exists():
            bag.rmdir()
    except OSError as error:
        raise ParameterError(f'--record {path}: cannot be replaced: {error.strerror}') from None


def _foreign_entry(folder: Path, own: Collection[str]) -> str:
    """Return the first file or link in a folder that no recorder wrote; empty: there is none."""
    bag = folder / 'bag'
    others = [p for p in folder.iterdir() if p.name not in own or p.is_symlink()]
    if bag.is_dir() and not bag.is_symlink():
        others += [p for p in bag.iterdir() if not _BAG_FILE.fullmatch(p.name) or not _is_file(p)]
    return min((str(p.relative_to(folder)) for p in others), default='')


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
