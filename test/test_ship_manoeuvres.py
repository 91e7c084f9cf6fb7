# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Turning circle and zigzag against Nomoto's model, and steered published values."""

import math

import numpy as np
import pytest
from conftest import vehicle_of
from scipy.optimize import brentq

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.validation.cards import load_published, parse_published, validate
from marine_sim_ros.validation.steering import STEERED_QUANTITIES, VESSEL_MANOEUVRES

FORCE, LEVER, DAMPING, INERTIA, DRAG = 40.0, 0.4, 30.0, 60.0, 20.0
"""N and m of one thruster; N m s, kg m² of yaw; N s/m ahead."""
RAFT = f"""<robot name="raft">
  <link name="base_link"><inertial><mass value="100"/>
    <inertia ixx="9" ixy="0" ixz="0" iyy="9" iyz="0" izz="9"/></inertial></link>
  <buoyancy><volume>0.2</volume><center_of_volume>0 0 2</center_of_volume><height>0.4</height>
  </buoyancy>
  <hydrodynamics><water_density>1000</water_density>
    <added_mass>5 5 50 5 5 {INERTIA - 9}</added_mass>
    <linear_damping>{DRAG} 1e6 400 60 60 {DAMPING}</linear_damping></hydrodynamics>
  <thrusters>
    <thruster name="port"><origin xyz="-0.4 {LEVER} -0.4" rpy="0 1.5707963267948966 0"/>
      <linear pos_force="{FORCE}" neg_force="{FORCE}" dead_zone="0"/></thruster>
    <thruster name="starboard"><origin xyz="-0.4 -{LEVER} -0.4" rpy="0 1.5707963267948966 0"/>
      <linear pos_force="{FORCE}" neg_force="{FORCE}" dead_zone="0"/></thruster>
  </thrusters></robot>"""
"""A raft that no Munk moment turns, and that does not slip: r follows its moment by T and K."""


@pytest.fixture(scope='module')
def raft():
    return load_vehicle(RAFT)


def measured(vehicle, name):
    return VESSEL_MANOEUVRES[name](vehicle).value


def test_the_circle_is_that_of_a_boat_without_slip(raft):
    """Steady: r = N/d and u = F/D; on the way r = K (1 − e^(−t/T)), u constant, K, T of Nomoto."""
    rate, lag, speed = FORCE * LEVER / DAMPING, INERTIA / DAMPING, FORCE / DRAG
    assert measured(raft, 'circle_approach_speed') == pytest.approx(speed, rel=0.01)
    assert measured(raft, 'circle_steady_diameter') == pytest.approx(2 * speed / rate, rel=0.02)

    def heading(t):
        return rate * (t - lag * (1 - math.exp(-t / lag)))

    def way(angle, component):
        end = brentq(lambda t: heading(t) - angle, 0, 100)
        t = np.linspace(0, end, 20001)
        along = component(np.array([heading(x) for x in t]))
        return speed * float(np.sum((along[1:] + along[:-1]) / 2)) * (t[1] - t[0])

    assert measured(raft, 'circle_advance') == pytest.approx(way(math.pi / 2, np.cos), rel=0.02)
    assert measured(raft, 'circle_transfer') == pytest.approx(way(math.pi / 2, np.sin), rel=0.02)
    tactical = measured(raft, 'circle_tactical_diameter')
    assert tactical == pytest.approx(way(math.pi, np.sin), rel=0.02)


def test_the_zigzag_is_that_of_nomotos_model(raft):
    rate, lag = FORCE * LEVER * (10 / 35) / DAMPING, INERTIA / DAMPING

    def reached(travel):
        """Return the turning rate after a travel from rest at this helm."""
        end = brentq(
            lambda t: rate * (t - lag * (1 - math.exp(-t / lag))) - math.radians(travel), 0, 99
        )
        return rate * (1 - math.exp(-end / lag))

    def overshoot(at):
        return math.degrees(lag * at - rate * lag * math.log(1 + at / rate))

    first = overshoot(reached(10.0))
    second = overshoot(reached(20.0 + first))
    step = math.degrees(rate) * 0.02
    assert measured(raft, 'zigzag_first_overshoot') == pytest.approx(first, abs=1.5 * step)
    assert measured(raft, 'zigzag_second_overshoot') == pytest.approx(second, abs=1.5 * step)


def test_only_vessels_that_steer_have_them(raft):
    submarine = vehicle_of('simple_rov')
    assert {m(submarine).note for m in VESSEL_MANOEUVRES.values()} == {'not a vessel'}
    adrift = load_vehicle(RAFT[: RAFT.index('<thrusters>')] + '</robot>')
    assert measured(adrift, 'circle_advance') is None
    assert 'no stick of surge and yaw' in VESSEL_MANOEUVRES['circle_advance'](adrift).note


@pytest.mark.long
@pytest.mark.parametrize('name', ['otter', 'remus100', 'glider'])
def test_the_card_of_a_shipped_vehicle_reproduces_its_published_values(name):
    card = validate(name)
    assert len(card.references) >= 4
    assert card.is_reproduced


VALUE = '{{quantity: {}, value: 1.0, source: here{}}}'


@pytest.mark.parametrize(
    ('value', 'message'),
    [
        (VALUE.format('steered_speed', ''), 'steered_speed has no command; expected'),
        (VALUE.format('mass', ', command: {pwm: [1500], label: x}'), 'mass has a command'),
        (VALUE.format('steered_speed', ', command: {pwm: [1500]}'), "'label' is missing"),
        (VALUE.format('steered_speed', ', command: {pwm: [900], label: x}'), '900'),
        (VALUE.format('steered_speed', ', command: {fin: {a: 1}, label: x}'), "unknown key 'fin'"),
    ],
)
def test_commands_that_are_not_understood_are_refused(value, message):
    with pytest.raises(ParameterError, match=message):
        parse_published(f'references: [{value}]', 'card.yaml')


@pytest.mark.parametrize(
    ('command', 'message'),
    [
        ('{pwm: [1500], label: x}', 'has 1 pulse widths; expected one for each of the 2'),
        ('{pwm: [1500, 1500], fins: {rudder: 0.1}, label: x}', 'raft has no fins'),
    ],
)
def test_commands_of_parts_that_a_vehicle_does_not_have_are_refused(raft, command, message):
    text = f'references: [{VALUE.format("steered_speed", ", command: " + command)}]'
    published = parse_published(text, 'card.yaml').references[0]
    with pytest.raises(ParameterError, match=message):
        STEERED_QUANTITIES['steered_speed'](raft, published.command)


def test_values_of_one_quantity_differ_by_their_commands():
    keys = [value.key for value in load_published('otter').references]
    assert keys.count('steered_radius 80 and 40 rad/s') == 1
    assert len(set(keys)) == len(keys)
