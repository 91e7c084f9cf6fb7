# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""List vehicles, environments, scenarios and whatever else comes with the package."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.text import terminal_width, wrapped_columns

__all__ = ['CATALOGUE', 'add_arguments', 'execute', 'is_requested', 'print_completions']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument(
        'kind', metavar='KIND', choices=tuple(CATALOGUE), help=f'one of: {", ".join(CATALOGUE)}'
    )
    parser.add_argument('--json', action='store_true', help='print a JSON object')


def execute(options: argparse.Namespace) -> int:
    """Print one line for each: its name and what it is."""
    found = CATALOGUE[options.kind]()
    if options.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return 0
    for line in wrapped_columns([*found.items()], terminal_width()):
        print(line)
    return 0


# Names and one-line descriptions of the package's contents by kind, for lists and completion.


def first_sentence(comment: str) -> str:
    """Return the first sentence of a comment or a docstring, without the full stop."""
    words = ' '.join(comment.strip().partition('\n\n')[0].split())
    return re.split(r'\.(?= [A-Z[]|$)', words)[0]


def _yaml(path: Path) -> str:
    """Return the ``description`` of a YAML file, or the first sentence of its leading comment."""
    from marine_sim_ros.core.yaml_file import parse_yaml

    text = path.read_text(encoding='utf-8')
    content = parse_yaml(text, str(path), ParameterError)
    if isinstance(content, dict) and content.get('description'):
        return str(content['description'])
    comment = re.match(r'(?:#.*\n)+', text)
    return first_sentence(re.sub(r'^#', '', comment[0], flags=re.M)) if comment else ''


def _config_files(folder: str) -> dict[str, str]:
    from marine_sim_ros.core.files import resource_folder

    files = sorted((resource_folder('config') / folder).glob('*.yaml'))
    return {path.stem: _yaml(path) for path in files}


def _lessons() -> dict[str, str]:
    """Return the missions in the order of lessons, as `train` lists them."""
    from marine_sim_ros.sim.mission import lessons

    return {lesson.name: lesson.description for lesson in lessons()}


def _vehicles() -> dict[str, str]:
    from marine_sim_ros.model.library import vehicle_names, vehicle_path

    found = {}
    for name in vehicle_names():
        comment = re.search(r'<!--(.*?)-->', vehicle_path(name).read_text(encoding='utf-8'), re.S)
        text = re.sub(r'Copyright .*|SPDX-\S+ \S+', '', comment[1]) if comment else ''
        found[name] = first_sentence(text)
    return found


def _first_sentences(modules: Mapping[str, str]) -> dict[str, str]:
    """Return the first sentences of the docstrings of modules."""
    return {name: first_sentence(import_module(m).__doc__ or '') for name, m in modules.items()}


def _forces() -> dict[str, str]:
    from marine_sim_ros.physics import FORCES

    return _first_sentences({name: force.module for name, force in FORCES.items()})


def _actuators() -> dict[str, str]:
    from marine_sim_ros.physics import ACTUATORS

    return {name: actuator.text for name, actuator in ACTUATORS.items()}


def _sensors() -> dict[str, str]:
    from marine_sim_ros.sensors import SENSORS

    return _first_sentences({name: sensor.measure.__module__ for name, sensor in SENSORS.items()})


def _protocols() -> dict[str, str]:
    """Return the wire protocols, where their instruments listen, and of which sensors."""
    from marine_sim_ros.core.registry import PROTOCOLS

    serial = {True: ' or serial port', False: ''}
    return {
        name: f'{p.label}, {p.transport.upper()} {p.port}{serial[p.serial]}, '
        f'of sensors {" or ".join(p.kinds)}'
        for name, p in PROTOCOLS.items()
    }


def _tasks() -> dict[str, str]:
    from marine_sim_ros.core.registry import MISSION_TASKS

    return {name: kind.text for name, kind in MISSION_TASKS.items()}


def _water_functions() -> dict[str, str]:
    from marine_sim_ros.core.registry import WATER_FUNCTIONS

    return {name: function.text for name, function in WATER_FUNCTIONS.items()}


def _controllers() -> dict[str, str]:
    """Return the shipped files, programs that are controllers, and laws that packages install."""
    from marine_sim_ros.core.registry import CONTROLLERS

    found = _config_files('controllers')
    for name, model in CONTROLLERS.items():
        if name in found:
            continue
        if model.law is None:
            found[name] = f'{model.label or name}, a program that sends pulse widths itself'
        else:
            text = first_sentence(import_module(model.law.__module__).__doc__ or model.label)
            found[name] = f'{text} (a law, for a controller file with law: {name})'
    return found


CATALOGUE: Mapping[str, Callable[[], dict[str, str]]] = {
    'vehicles': _vehicles,
    'environments': partial(_config_files, 'environments'),
    'scenarios': partial(_config_files, 'scenarios'),
    'fleets': partial(_config_files, 'fleets'),
    'tethers': partial(_config_files, 'tethers'),
    'reels': partial(_config_files, 'reels'),
    'experiments': partial(_config_files, 'experiments'),
    'missions': partial(_config_files, 'missions'),
    'lessons': _lessons,
    'tasks': _tasks,
    'water_functions': _water_functions,
    'controllers': _controllers,
    'forces': _forces,
    'actuators': _actuators,
    'sensors': _sensors,
    'protocols': _protocols,
    'gamepads': partial(_config_files, 'gamepads'),
    'sweeps': partial(_config_files, 'sweeps'),
    'datasets': partial(_config_files, 'datasets'),
    'randomizations': partial(_config_files, 'randomizations'),
}
"""A function for every kind; it returns {name: description}."""


# Completion of the command line in a shell, where argcomplete is installed.

_FILES = {
    'vehicle': ('vehicles', ('urdf', 'xacro')),
    'environment': ('environments', ('yaml',)),
    'scenario': ('scenarios', ('yaml',)),
    'fleet': ('fleets', ('yaml',)),
    'experiment': ('experiments', ('yaml',)),
    'mission': ('missions', ('yaml',)),
    'controller': ('controllers', ('yaml',)),
    'gamepad': ('gamepads', ('yaml',)),
    'sweep': ('sweeps', ('yaml',)),
    'plan': ('datasets', ('yaml',)),
}
"""Kind, and suffixes of files that may be given instead, by the name of an argument."""


def is_requested() -> bool:
    """Return whether a shell asks for completions."""
    return '_ARGCOMPLETE' in os.environ


def _completer(kind: str, suffixes: Sequence[str]) -> Callable[..., Iterable[str]]:
    from argcomplete.completers import FilesCompleter

    files = FilesCompleter(suffixes)

    def complete_name(prefix: str, **_: Any) -> dict[str, str]:
        names = {n: text for n, text in CATALOGUE[kind]().items() if n.startswith(prefix)}
        return {**names, **dict.fromkeys(files(prefix), '')}

    return complete_name


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action


def print_completions(parser_of: Callable[[Sequence[str]], argparse.ArgumentParser]) -> None:
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
