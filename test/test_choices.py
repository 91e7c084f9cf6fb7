# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A name that does not exist is answered with the nearest one, before the list."""

import pytest
from doc_blocks import PART
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros.core.errors import MarineSimError, expected_one_of, nearest_name
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.faults.fault_types import parse_faults, unsuited_fault
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.ros.launching.arguments import unknown_argument_warnings
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sweep.plan import parse_plan

SENSOR = '<sensor name="a" type="{}" link="{}"><{}>1</{}></sensor>'


def xml(text):
    return lambda: load_vehicle(PART.format(text))


@pytest.mark.parametrize(
    ('read', 'name'),
    [
        (lambda: load_vehicle('bluerovv2'), 'bluerov2'),
        (lambda: load_vehicle('BlueROV2'), 'bluerov2'),
        (lambda: load_scenario('dvie'), 'dive'),
        (lambda: load_vehicle('bluerov2', camra='true'), 'camera'),
        (lambda: node_specs(RunOptions(vehicle='bluerov2', environment='pol')), 'pool'),
        (lambda: node_specs(RunOptions(vehicle='bluerov2', autopilot='ardusb')), 'ardusub'),
        (lambda: parse_environment('curent: [0, 0, 0]', 'sea.yaml'), 'current'),
        (lambda: parse_scenario('durration: 3', 'my.yaml'), 'duration'),
        (lambda: parse_plan('vehicel: bluerov2', 'plan.yaml'), 'vehicle'),
        (xml(SENSOR.format('altimetr', 'baro_link', 'rate', 'rate')), 'altimeter'),
        (xml(SENSOR.format('imu', 'barolink', 'rate', 'rate')), 'baro_link'),
        (xml('<thrusters><trhuster/></thrusters>'), 'thruster'),
    ],
)
def test_readers_offer_the_nearest_name(read, name):
    with pytest.raises(MarineSimError) as told:
        read()
    text = str(told.value)
    assert f'did you mean {name!r}? expected ' in text
    assert text.index('did you mean') < text.index('expected')


def test_a_fault_offers_the_nearest_thruster():
    faults = parse_faults('- {at: 1.0, thruster: thrster_2}')
    assert "did you mean 'thruster_2'?" in unsuited_fault(faults, load_vehicle('bluerov2'))


@pytest.mark.parametrize(
    ('name', 'hint'),
    [('senario', 'scenario:=?'), ('Vehicle', 'vehicle:=?'), ('nothing_like_it', '--show-args')],
)
def test_a_launch_argument_offers_the_nearest_one(name, hint):
    (line,) = unknown_argument_warnings([name], alone=True)
    assert hint in line


@settings(max_examples=30)
@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=12), max_size=8))
def test_the_nearest_name_is_one_of_them(word, names):
    assert nearest_name(word, names) in (*names, '')
    assert expected_one_of(word, names).endswith(', '.join(names) or 'none')


def test_what_is_no_word_has_no_hint():
    assert expected_one_of(3, ['a', 'b']) == 'expected one of: a, b'
    assert expected_one_of('zzz', []) == 'expected one of: none'
