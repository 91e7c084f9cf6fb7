# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States of actuators in recordings and on the console: rows, columns, units, words."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros.bags.roles import accepted_types, role_of, row_converter, row_labels
from marine_sim_ros.console.sensor_readings import quantity_text
from marine_sim_ros.console.telemetry import actuator_readings, telemetry_frame
from marine_sim_ros.core.registry import ACTUATORS
from marine_sim_ros.physics import Actuator, actuators_of

JOINT_STATE = 'sensor_msgs/msg/JointState'
FINS = ('rudder_upper', 'rudder_lower', 'plane_port', 'plane_starboard')


def message(*names, position=(), velocity=(), effort=()):
    return SimpleNamespace(name=names, position=position, velocity=velocity, effort=effort)


def row_of(topic, sent):
    """Return the row of a message, and its columns."""
    role = role_of(topic)
    row = row_converter(role, JOINT_STATE)(sent)
    return row, row_labels(role, sent, row)


@pytest.mark.parametrize('name', [n for n, a in ACTUATORS.items() if a.state is not None])
def test_every_state_that_is_published_has_a_role(name):
    actuator = ACTUATORS[name]
    role = role_of(actuator.state_topic)
    assert JOINT_STATE in accepted_types(role)
    assert len(actuator.units) == len(actuator.fields)


def test_a_state_of_one_field_has_a_column_for_each_part():
    row, labels = row_of('fins/state', message('a', 'b', position=(0.1, -0.2)))
    assert (row, labels) == ((0.1, -0.2), ('a_rad', 'b_rad'))


def test_a_state_of_several_fields_has_their_units():
    sent = message('reel', position=(30.0,), velocity=(0.2,), effort=(15.0,))
    row, labels = row_of('tether/state', sent)
    assert (row, labels) == ((30.0, 0.2, 15.0), ('reel_m', 'reel_m_s', 'reel_N'))


def test_a_field_of_another_length_is_unknown_and_parts_without_names_are_numbered():
    row, labels = row_of('tether/state', message(position=(30.0,), velocity=(0.2,)))
    np.testing.assert_array_equal(row, [30.0, 0.2, math.nan])
    assert labels == ('1_m', '1_m_s', '1_N')


def test_the_console_tells_each_part_of_each_actuator():
    vehicle = vehicle_of('torpedo_auv')
    rows = {'fins/state': (0.1, -0.35, math.nan, 0.0)}
    told = telemetry_frame(1.0, rows, weight=1.0, vehicle=vehicle)['actuators']
    assert [one['label'] for one in told] == [name.replace('_', ' ') for name in FINS]
    assert [one['text'] for one in told] == ['5.7°', '−20.1°', '–°', '0.0°']
    assert {one['text'] for one in actuator_readings({}, vehicle)} == {'–'}
    short = actuator_readings({'fins/state': (0.1,)}, vehicle)  # of another vehicle
    assert {one['text'] for one in short} == {'–'}
    assert len({one['key'] for one in told}) == 4


def test_the_joints_of_an_arm_are_in_their_own_panel():
    vehicle = vehicle_of('bluerov2')
    assert all(a.name not in ('joints', 'gripper') for a in actuators_of(vehicle))
    assert actuator_readings({}, vehicle) == []


@pytest.mark.parametrize(
    ('value', 'unit', 'text'),
    [
        (math.pi / 6, 'rad', '30.0°'),
        (-0.0, 'rad', '0.0°'),
        (3e-4, 'm³', '0.0003 m³'),
        (-12.3456, 'm', '−12.35 m'),
        (1.0, '', '1'),
        (math.nan, 'N', '– N'),
    ],
)
def test_a_quantity_in_words(value, unit, text):
    assert quantity_text(value, unit) == text


def test_an_actuator_has_one_unit_for_each_field_of_its_state():
    with pytest.raises(ValueError, match="'sail': has 1 units; expected one for each field"):
        Actuator(
            'sail', lambda _: (), text='', unit='', fields=('position', 'effort'), units=('m',)
        )
