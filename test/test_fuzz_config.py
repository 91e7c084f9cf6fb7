# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Any value anywhere in any kind of configuration file is taken, or refused in one line."""

import copy
import math
from functools import cache

import pytest
import yaml
from conftest import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marine_sim_ros.analysis.experiments import EXPERIMENTS
from marine_sim_ros.control.controller_model import CONTROLLER_FILES
from marine_sim_ros.control.gamepad import GAMEPADS
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.environment.reader import ENVIRONMENT_FILES
from marine_sim_ros.identification.parameters import FITS
from marine_sim_ros.identification.table_recordings import COLUMN_MAPS
from marine_sim_ros.model.tether import CABLES, REELS
from marine_sim_ros.sim.fleet import FLEETS
from marine_sim_ros.sim.scenario import SCENARIOS
from marine_sim_ros.sweep.plan import SWEEPS
from marine_sim_ros.validation.cards import PUBLISHED

KINDS = (
    CABLES, COLUMN_MAPS, CONTROLLER_FILES, ENVIRONMENT_FILES, EXPERIMENTS, FITS, FLEETS, GAMEPADS,
    PUBLISHED, REELS, SCENARIOS, SWEEPS,
)  # fmt: skip
ODD = (
    None, True, False, 0, -1, 10**400, 1e308, -1e308, 1e-320, math.nan, math.inf, '', ' ', '0',
    'nan', '<b>', '../../x', '/dev/zero', 'x' * 5000, [], [[]], {}, {'x': 1}, {1: {}}, {None: 0},
    [None], [0], ['a', {}],
)  # fmt: skip


def places(value, path=()):
    """Yield the path of a value and of all below it."""
    yield path
    below = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in below:
        yield from places(part, (*path, key))


def changed(value, path, new):
    """Return a copy with another value at a path."""
    if not path:
        return new
    result = copy.deepcopy(value)
    inner = result
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return result


@cache
def content(files, name):
    """Return the value of a shipped file."""
    loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
    return yaml.load(files.path(name).read_text(encoding='utf-8'), Loader=loader)


def refusal(files, value):
    """Return what is said of a value that is refused; empty: it is taken."""
    try:
        files._read(YamlReader('file.yaml', value, files._error))
    except MarineSimError as error:
        return str(error)
    return ''


@pytest.mark.parametrize('files', KINDS, ids=lambda files: files.folder)
@settings(max_examples=examples(500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_value_is_taken_or_refused_in_one_line(files, data):
    value = content(files, data.draw(st.sampled_from(files.names())))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(places(value))))
        value = changed(value, path, data.draw(st.sampled_from(ODD)))
    said = refusal(files, value)
    assert '\n' not in said
    assert len(said) < 10_000


@pytest.mark.parametrize(
    ('name', 'value', 'expected'),
    [
        ('position', 1.1e6, 'a number from -1e'),
        ('rpy', 101.0, 'rad from -6.283 to 6.283'),
        ('rpy', '1' + 400 * '0', 'rad from -6.283 to 6.283'),
        ('rpy', '.nan', 'rad from -6.283 to 6.283'),
    ],
)
def test_a_scenario_starts_where_an_option_may(name, value, expected):
    text = f'{{duration: 1.0, initial: {{{name}: [0, 0, {value}]}}, segments: [{{at: 0}}]}}'
    with pytest.raises(MarineSimError, match=f'initial.{name}.2. is .*; expected {expected}'):
        SCENARIOS.parse(text, 'start.yaml')
