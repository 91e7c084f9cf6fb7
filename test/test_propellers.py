# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Propellers turn alike everywhere: the angle's closed form, and blades measured in pictures."""

import math

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.console.telemetry import telemetry_frame
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.appearance import Appearance
from marine_sim_ros.model.propulsion import has_propellers, propeller_angles, propeller_turns
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.sensors import SENSORS, SensorInputs, moving_parts, needs_of
from marine_sim_ros.sensors.camera.camera import Camera
from marine_sim_ros.sensors.seen_bodies import (
    OTHER_VEHICLE,
    OWN_VEHICLE,
    TETHER_LABEL,
    OwnParts,
    body_of,
    label,
    with_vehicles,
)

WHOLE = 2 * math.pi
ONE_BLADE = """
<robot name="one"><link name="base_link"><inertial><mass value="10"/><inertia ixx="1" iyy="1"
izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="aft_propeller_link"><visual><geometry><box size="0.6 0.06 0.02"/></geometry></visual>
<visual><origin xyz="0.25 0 0"/><geometry><sphere radius="0.08"/></geometry></visual></link>
<joint name="aft_propeller_joint" type="fixed"><parent link="base_link"/>
<child link="aft_propeller_link"/><origin xyz="0 0 0" rpy="0 1.5707963267948966 0"/></joint>
<buoyancy><volume>0.01</volume></buoyancy>
<thrusters><thruster name="aft" direction="DIRECTION"><origin rpy="0 1.5707963267948966 0"/>
<linear pos_force="40" neg_force="35" dead_zone="35"/></thruster></thrusters></robot>
"""
SEEN_FROM_BEHIND = Frame(
    'c', 'base_link', np.array([-1.0, 0.0, 0.0]), np.array([-0.5, 0.5, -0.5, 0.5])
)


def one_blade(direction='cw'):
    return load_vehicle(ONE_BLADE.replace('DIRECTION', direction))


@given(st.lists(st.floats(-400, 400), min_size=6, max_size=6), st.floats(0, 2000), st.floats(0, 1))
def test_steady_rotors_turn_by_their_speed_against_the_torque_on_the_body(speeds, time, passed):
    thrusters = vehicle_of('bluerov2').thrusters
    speed = np.array(speeds)
    before, after = (propeller_angles(thrusters, speed, t) for t in (time, time + passed))
    assert np.all((before >= 0) & (before <= WHOLE))
    # The torque on the body is against the rotor's turn, so handedness −1 turns about the axis.
    turned = np.exp(1j * (after - before))
    assert turned == pytest.approx(np.exp(-1j * thrusters.handedness * speed * passed), abs=1e-8)


def test_an_unknown_speed_stands_still():
    vehicle = one_blade()
    assert propeller_turns(vehicle.thrusters, np.array([np.nan]), 3.0) == {
        'aft_propeller_link': 0.0
    }
    assert has_propellers(vehicle)
    assert not has_propellers(vehicle_of('simple_rov'))
    assert 'rotors' not in moving_parts(vehicle_of('simple_rov'))
    assert 'rotors' in needs_of(vehicle_of('bluerov2', camera='true'))
    assert 'rotors' not in needs_of(vehicle_of('bluerov2'))


def test_what_a_link_carries_turns_with_it():
    text = ONE_BLADE.replace(
        '<buoyancy>',
        '<link name="tip"><visual><geometry><sphere radius="0.01"/></geometry></visual></link>'
        '<joint name="t" type="fixed"><parent link="aft_propeller_link"/><child link="tip"/>'
        '<origin xyz="0 0.3 0.1"/></joint><buoyancy>',
    )
    looks = Appearance(load_vehicle(text.replace('DIRECTION', 'cw')))
    before, after = looks.parts()[-1], looks.parts_at({}, {'aft_propeller_link': 0.4})[-1]
    # The link's z axis is the body's x axis, its x axis the body's −z axis.
    assert before.position == pytest.approx([0.1, 0.3, 0.0])
    expected = [0.1, 0.3 * math.cos(0.4), 0.3 * math.sin(0.4)]
    assert after.position == pytest.approx(expected)
    assert looks.parts()[-1].position == pytest.approx(before.position)


def hand(labels, wanted):
    """Return the angle, clockwise from 12 o'clock, at which the knob of the blade is seen."""
    rows, columns = np.nonzero(labels == wanted)
    # The knob weighs more than the other half of the blade.
    return math.atan2(np.mean(columns) - 199.5, 199.5 - np.mean(rows)) % WHOLE


def taken(environment, inputs):
    spec = Camera(width=400.0, height=400.0, field_of_view=60.0, segmentation=1.0)
    sensor = Sensor('camera', 'camera', spec, SEEN_FROM_BEHIND, 10**8)
    state = State(np.array([0.0, 0, -300]), np.array([0.0, 0, 0, 1]), np.zeros(6))
    return SENSORS['camera'].measure(sensor, state, environment, inputs)['segmentation']


@pytest.mark.parametrize('direction', ['cw', 'ccw'])
@pytest.mark.parametrize('other', [False, True])
def test_a_camera_sees_the_blade_at_its_angle(renderer, direction, other):
    vehicle, time = one_blade(direction), 12.35
    sense = 1 if direction == 'cw' else -1
    # At angle 0 the knob, on the link's x axis, is seen at 6 o'clock.
    for speed in (0.0, 7.0, 101.3, -33.3):
        inputs = SensorInputs.none(time)._replace(rotors=np.array([speed]))
        if other:
            bodies = {'b': body_of(vehicle, 'b')}
            place = State(np.array([0.0, 0, -300]), np.array([0.0, 0, 0, 1]), np.zeros(6))
            around = with_vehicles(Environment(), bodies, {'b': place}, {'b': inputs})
            labels = taken(around, SensorInputs.none(time))
        else:
            labels = taken(Environment(looks=OwnParts(vehicle)), inputs)
        found = hand(labels, label(OTHER_VEHICLE, 0) if other else OWN_VEHICLE)
        expected = math.pi + sense * speed * time
        assert abs(np.angle(np.exp(1j * (found - expected)))) < math.radians(2)


def test_tethers_of_others_are_seen_too(renderer):
    vehicle = vehicle_of('bluerov2', tether='fathom')
    places = np.array([[0.0, -0.3, -300.0], [0.0, 0.0, -300.1], [0.0, 0.3, -300.0]])
    state = State(np.array([4.0, 0, -300]), np.array([0.0, 0, 0, 1]), np.zeros(6))
    inputs = SensorInputs.none()._replace(tether=places)
    around = with_vehicles(
        Environment(), {'b': body_of(vehicle, 'b')}, {'b': state}, {'b': inputs}
    )
    seen = np.argwhere(taken(around, SensorInputs.none()) == label(TETHER_LABEL, 1))
    # Pinhole of 60°, from 1 m behind the origin: f y/z.
    half = 200 / math.tan(math.radians(30)) * 0.3
    assert seen[:, 1].min() == pytest.approx(199.5 - half, abs=1)
    assert seen[:, 1].max() == pytest.approx(199.5 + half, abs=1)
    assert np.sum(taken(Environment(), SensorInputs.none()) == label(TETHER_LABEL, 1)) == 0


def test_the_console_is_told_the_same_angles():
    vehicle = vehicle_of('bluerov2')
    speed = np.linspace(-300, 300, 6)
    rows = {'thrusters/state': (*np.zeros(6), *speed)}
    shown = telemetry_frame(7.5, rows, weight=98.0, vehicle=vehicle)['propellers']
    assert shown == pytest.approx(propeller_angles(vehicle.thrusters, speed, 7.5), abs=1e-4)
    assert telemetry_frame(7.5, rows, weight=98.0)['propellers'] == []
