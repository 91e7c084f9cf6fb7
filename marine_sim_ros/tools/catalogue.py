# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What comes with the package: names and one-line descriptions by kind, for lists and completion.

Every kind has one function that imports what it needs when it is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError

__all__ = ['KINDS', 'first_sentence']


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


def _configured(folder: str) -> dict[str, str]:
    from marine_sim_ros.core.resources import resource_folder

    files = sorted((resource_folder('config') / folder).glob('*.yaml'))
    return {path.stem: _yaml(path) for path in files}


def _vehicles() -> dict[str, str]:
    from marine_sim_ros.model.library import vehicle_names, vehicle_path

    found = {}
    for name in vehicle_names():
        comment = re.search(r'<!--(.*?)-->', vehicle_path(name).read_text(encoding='utf-8'), re.S)
        text = re.sub(r'Copyright .*|SPDX-\S+ \S+', '', comment[1]) if comment else ''
        found[name] = first_sentence(text)
    return found


def _documented(modules: Mapping[str, str]) -> dict[str, str]:
    """Return the first sentences of the docstrings of modules."""
    return {name: first_sentence(import_module(m).__doc__ or '') for name, m in modules.items()}


def _forces() -> dict[str, str]:
    from marine_sim_ros.physics import FORCES

    return _documented({name: force.module for name, force in FORCES.items()})


def _sensors() -> dict[str, str]:
    from marine_sim_ros.sensors import SENSORS

    return _documented({name: sensor.measure.__module__ for name, sensor in SENSORS.items()})


KINDS: Mapping[str, Callable[[], dict[str, str]]] = {
    'vehicles': _vehicles,
    'environments': partial(_configured, 'environments'),
    'scenarios': partial(_configured, 'scenarios'),
    'fleets': partial(_configured, 'fleets'),
    'tethers': partial(_configured, 'tethers'),
    'reels': partial(_configured, 'reels'),
    'experiments': partial(_configured, 'experiments'),
    'controllers': partial(_configured, 'controllers'),
    'forces': _forces,
    'sensors': _sensors,
    'gamepads': partial(_configured, 'gamepads'),
    'sweeps': partial(_configured, 'sweeps'),
}
"""A function for every kind; it returns {name: description}."""
