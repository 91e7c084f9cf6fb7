# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Printed values beside ours, the files they are in, and the trim of weight and buoyancy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis.evaluation import balance_metrics, trim_angles
from marine_sim_ros.analysis.experiments import (
    COMPARISON_COLUMNS,
    compare_metrics,
    experiment_names,
    find_metric,
    load_experiment,
    markdown_comparison,
    parse_experiment,
    plain_comparison,
)
from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.model.library import vehicle_names

HEAD = 'title: T\nscenario: s\nvehicle: v\nrows:\n'


def rows(*lines):
    return parse_experiment(HEAD + ''.join(f'  - {{{line}}}\n' for line in lines), 'x.yaml').rows


def one(line, value):
    return compare_metrics(rows(f'name: n, metric: m, unit: m, {line}'), {'m': value})[0]


@pytest.mark.parametrize(
    ('line', 'value', 'verdict', 'within'),
    [
        ('printed: [0.02, 0.06]', 0.01, 'better', None),
        ('printed: [0.02, 0.06]', 0.04, 'as printed', None),
        ('printed: [0.02, 0.06]', 0.0649, 'as printed', None),
        ('printed: [0.02, 0.06]', 0.0651, 'worse', None),
        ('printed: 0.11', 0.1149, 'as printed', None),
        ('printed: 0.11', 0.1151, 'worse', None),
        ('printed: 0.11', 0.104, 'better', None),
        ('printed: [3, 4], band: [0, 4.5]', 3.62, 'as printed', True),
        ('printed: [3, 4], band: [0, 4.5]', 4.51, 'worse', False),
        ('printed: 114.46, better: nearer', 114.46, 'as printed', None),
        ('printed: 0.0578, better: nearer', 0.0132, 'differs', None),
        ('band: [0, 1]', 1.0, '–', True),
        ('band: [0, 1]', -0.1, '–', False),
        ('band: [0, 1]', None, '–', False),
        ('printed: 1', None, '–', None),
        ('note: free', None, '–', None),
    ],
)
def test_verdicts(line, value, verdict, within):
    found = one(line, value)
    assert found.verdict == verdict
    assert found.within is within
    assert found.simulated == value
    assert len(found.cells()) == len(COMPARISON_COLUMNS)


def test_cells():
    found = one('printed: [0.02, 0.06], band: [0, 0.06]', 0.0412345)
    assert found.cells() == ('n', '0.02 to 0.06', '0.041', 'm', 'as printed', '0 to 0.06', 'ok')
    assert one('printed: 0.2, band: [0, 0.1]', 0.3).cells()[-1] == 'OUT'
    assert one('printed: 0.11', 0.0000123).cells()[2] == '1.23e-05'
    assert one('printed: 0.11', 0.0).cells()[2] == '0.000'
    assert one('band: [0, 9]', 2.6666).cells()[2] == '2.67'
    assert one('printed: 0.11', None).cells()[2] == '–'


def test_lookup():
    metrics = {'a': {'b': 1.5, 'c': None}, 'd': 2, 'turn': None, 'ok': True}
    assert find_metric(metrics, 'a.b') == 1.5
    assert find_metric(metrics, 'd') == 2.0
    assert find_metric(metrics, 'a.c') is None
    assert find_metric(metrics, 'turn.radius_m') is None
    for path, expected in {
        'a.x': "a has no 'x'; it has b, c",
        'z': "metrics has no 'z'; it has a, d",
        'd.e': "d has no 'e'; it has no more",
        'a': 'expected a number',
        'ok': 'expected a number',
    }.items():
        with pytest.raises(ParameterError, match=expected):
            find_metric(metrics, path)


def test_tables_hold_every_row_and_its_source():
    several = compare_metrics(
        rows(
            'name: first, metric: a, unit: m, printed: 0.11, source: page 40, note: why',
            'name: "a | b", metric: b, unit: s, band: [0, 1]',
        ),
        {'a': 0.05, 'b': 3.0},
    )
    lines = plain_comparison(several).splitlines()
    assert len(lines) == 3
    assert lines[0].split() == [*COMPARISON_COLUMNS[:-1]]
    assert lines[1].split() == ['first', '0.11', '0.050', 'm', 'better', '–']
    assert lines[2].endswith('OUT')
    assert (
        len({line.index(word) for line, word in zip(lines[1:], (' m ', ' s '), strict=True)}) == 1
    )
    text = markdown_comparison(several).splitlines()
    assert text[2].endswith('| page 40 (why) |')
    assert 'a \\| b' in text[3]
    assert {line.replace('\\|', '').count('|') for line in text} == {9}


@pytest.mark.parametrize('name', experiment_names())
def test_shipped_experiments_can_be_read(name):
    experiment = load_experiment(name)
    assert experiment.name == name
    assert experiment.vehicle in vehicle_names()
    assert any(r.band or r.printed for r in experiment.rows)
    for row in experiment.rows:
        assert row.source or row.printed is None, f'{row.name}: printed where?'


def test_the_thesis_is_quoted_as_it_prints():
    printed = {
        (n, r.name): r.printed
        for n in experiment_names()
        for r in load_experiment(n).rows
        if r.printed
    }
    assert printed['position_hold', 'horizontal steady-state error'] == (0.02, 0.06)
    assert printed['position_hold', 'vertical steady-state error'] == (0.11, 0.11)
    assert printed['heading_step', 'pitch steady-state error'] == (3, 4)
    assert printed['heading_step', 'yaw steady-state error'] == (0.2, 0.2)
    assert printed['balance', 'mass without arm'] == (114.46, 114.46)
    assert len(printed) == 8
    assert set(experiment_names()) == {
        'balance',
        'position_hold',
        'transit',
        'heading_step',
        'turning_circle',
        'helix',
        'survey_multibeam',
        'survey_sidescan',
    }


BAD = {
    '[1': 'not valid YAML',
    'title: t': "'rows' is missing",
    HEAD + '  []': 'rows is empty',
    HEAD + '  - {name: n}': "rows[0]: 'metric' is missing",
    HEAD + '  - {name: n, metric: m, unit: m, printed: [1]}': 'a number or a list',
    HEAD + '  - {name: n, metric: m, unit: m, printed: x}': 'expected a number',
    HEAD + '  - {name: n, metric: m, unit: m, band: 1}': 'expected a list [lowest, highest]',
    HEAD + '  - {name: n, metric: m, unit: m, band: [2, 1]}': 'lowest value first',
    HEAD + '  - {name: n, metric: m, unit: m, better: higher}': 'expected one of: smaller',
    HEAD + '  - {name: n, metric: m, unit: 3}': 'unit is 3; expected a text',
    HEAD + '  - {name: n, metric: m, unit: m}\nwindow: 0': 'window is 0; expected a number',
    HEAD + '  - {name: n, metric: m, unit: m}\nanalysis: tea': 'expected one of: response',
    HEAD + '  - {name: n, metric: m, unit: m}\narguments: [x]': 'expected name:=value',
    HEAD + '  - {name: n, metric: m, unit: m}\nmoments: {a: x}': 'expected a number',
    HEAD + '  - {name: n, metric: m, unit: m}\nmoments: {without_arm: 1}': 'mapping of names',
    HEAD + '  - {name: n, metric: m, unit: m}\ncolour: red': "unknown key 'colour'",
}


@pytest.mark.parametrize('text', BAD)
def test_bad_files_give_one_line(text):
    with pytest.raises(ParameterError) as caught:
        parse_experiment(text, 'x.yaml')
    assert BAD[text] in str(caught.value)
    assert '\n' not in str(caught.value)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ParameterError, match='balance, heading_step, helix, position_hold'):
        load_experiment('zigzag')


@given(st.text(max_size=60) | st.text('-[]{}:, \n0.1abnms', max_size=80))
def test_any_text_is_read_or_refused(text):
    for whole in (text, HEAD + text):
        try:
            parse_experiment(whole, 'x.yaml')
        except MarineSimError as error:
            assert '\n' not in str(error)  # noqa: PT017


def test_trim_of_the_thesis_vehicle():
    vehicle = load_vehicle('investigator90', arm='false')
    gravity = vehicle.inertia.center_of_mass
    buoyancy = vehicle.buoyancy.center_of_volume
    roll, pitch = trim_angles(gravity, buoyancy)
    assert math.degrees(pitch) == pytest.approx(-6.52, abs=0.005)
    assert math.degrees(roll) == pytest.approx(-2.20, abs=0.005)
    found = balance_metrics(gravity, buoyancy, roll, pitch, mass=114.46, volume=0.133)
    assert found['upright_vertical_m'] == pytest.approx(0.1093)
    assert found['upright_horizontal_m'] == pytest.approx(0.0132, abs=5e-5)
    assert found['horizontal_m'] == pytest.approx(0, abs=1e-12)
    assert found['vertical_m'] == pytest.approx(np.linalg.norm(buoyancy - gravity))


def test_trim_with_the_arm_stretched_out():
    vehicle = load_vehicle('investigator90')
    _, pitch = trim_angles(vehicle.inertia.center_of_mass, vehicle.buoyancy.center_of_volume)
    assert math.degrees(pitch) == pytest.approx(6.229, abs=0.001)


angle = st.floats(-1.4, 1.4)


@given(roll=angle, pitch=angle, distance=st.floats(0.01, 1.0))
def test_trim_puts_buoyancy_above_weight(roll, pitch, distance):
    up = np.array(
        [-math.sin(pitch), math.sin(roll) * math.cos(pitch), math.cos(roll) * math.cos(pitch)]
    )
    gravity = np.array([0.1, -0.2, 0.3])
    assert trim_angles(gravity, gravity + distance * up) == pytest.approx((roll, pitch), abs=1e-9)
    found = balance_metrics(gravity, gravity + distance * up, roll, pitch, mass=1.0, volume=1.0)
    assert found['horizontal_m'] == pytest.approx(0, abs=1e-9)
    assert found['trim_pitch_deg'] == pytest.approx(math.degrees(pitch), abs=1e-6)
