# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Azimuth thrusters: wrench and inflow by hand, servo, allocation, and the compiled engine."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT, vehicle_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import simulate
from marine_sim_ros.control.allocator import Allocator
from marine_sim_ros.control.controllability import controllability
from marine_sim_ros.core.errors import ModelError, ScenarioError
from marine_sim_ros.core.spatial import rotation_matrix, rotation_vector_quaternion
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.urdf import vehicle_from_urdf
from marine_sim_ros.physics.thrusters import thrusters
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import Simulation

BOAT = vehicle_of('wamv')
URDF = (ROOT / 'urdf' / 'wamv.urdf').read_text()
STILL = Environment()
ALLOCATOR = Allocator(BOAT.thrusters, BOAT.inertia.center_of_mass)


def changed(old, new, count=1):
    text = URDF.replace(old, new, count)
    assert text != URDF
    return vehicle_from_urdf(text)


def output(vehicle, pwm, angles, state=None):
    none = np.zeros(len(vehicle.thrusters))
    return thrusters(
        vehicle,
        state or state_at_rest(),
        STILL,
        none,
        pwm=np.array(pwm, float),
        dt=1e9,
        angles=np.array(angles, float),
    )[0]


def test_a_turned_thruster_pushes_where_it_points():
    found = output(BOAT, [1900, 1500], [0.4, 0.0])
    force = 250 * np.array([np.cos(0.4), np.sin(0.4), 0])
    moment = np.cross([-2.373776, 1.027135, -0.3], force)
    np.testing.assert_allclose(found.wrench, [*force, *moment], atol=1e-9)
    np.testing.assert_allclose(found.thrust, [250, 0], atol=1e-9)
    ahead = output(BOAT, [1900, 1700], [0.0, 0.0]).wrench
    expected = BOAT.thrusters.effectiveness @ [250, 125]
    np.testing.assert_allclose(ahead, expected, rtol=1e-14, atol=1e-12)


def test_a_pod_beside_its_axis_swings_round_it():
    own = '<azimuth><axis xyz="0.1 0.2 1"/><limit lower="-2" upper="2" velocity="1"/></azimuth>'
    joint = URDF[URDF.index('      <azimuth joint="port') : URDF.index('    </thruster>')]
    beside = changed(joint, own)
    axis = np.array([0.1, 0.2, 1]) / np.linalg.norm([0.1, 0.2, 1])
    center = np.array([-2.0, 0.9, 0.1])
    set_ = beside.thrusters
    spun = replace(set_, azimuths=replace(set_.azimuths, center=np.stack([center] * 2)))
    spun = replace(spun, thrust_deduction=np.array([0.1, 0.0]))
    vehicle = replace(beside, thrusters=spun)
    found = output(vehicle, [1900, 1500], [-1.2, 0.0]).wrench
    turn = rotation_matrix(rotation_vector_quaternion(-1.2 * axis))
    force = 250 * 0.9 * turn @ [1, 0, 0]
    place = center + turn @ (set_.position[0] - center)
    np.testing.assert_allclose(found, [*force, *np.cross(place, force)], atol=1e-9)


@pytest.mark.filterwarnings('error::RuntimeWarning')
@pytest.mark.parametrize('axis', ['0 0 0', '0 1e-200 1e-9', '0 2e154 1', '-1e300 0 0', '0 0 1e13'])
def test_a_hinge_about_no_direction_is_one_line(axis):
    with pytest.raises(ModelError, match=r'axis .* expected a direction'):
        changed('<axis xyz="0 0 1"/>', f'<axis xyz="{axis}"/>')


def test_the_inflow_turns_with_the_propeller():
    loss = '<diameter>0.4</diameter><zero_thrust_advance_ratio>0.8</zero_thrust_advance_ratio>'
    curve = '<curve name="c">1100 -100 500 -900\n1500 0 0 0\n1900 250 900 900</curve><thruster'
    text = URDF.replace('<linear pos_force="250" neg_force="100" dead_zone="0"/>', loss)
    text = text.replace('<thrusters>\n    <thruster', '<thrusters>\n    ' + curve)
    vehicle = vehicle_from_urdf(text.replace('direction=', 'curve="c" direction='))
    moving = state_at_rest()._replace(velocity=np.array([1.5, 0.4, 0, 0, 0, 0.2]))
    found = output(vehicle, [1900, 1900], [0.7, -0.3], moving).thrust
    for i, (angle, y) in enumerate(((0.7, 1.027135), (-0.3, -1.027135))):
        here = np.array([1.5 - 0.2 * y, 0.4 + 0.2 * -2.373776])
        advance = here @ [np.cos(angle), np.sin(angle)]
        assert found[i] == pytest.approx(250 * (1 - advance / (0.8 * 0.4 * 900 / 60)))


def test_the_servo_turns_at_its_rate_within_limits():
    simulation = Simulation(BOAT, dt=0.01)
    angles = np.array(
        [
            simulation.tick(
                np.full(2, 1500.0), {'azimuths': np.array([9.0, -0.5])}
            ).thrusters.angles
            for _ in range(400)
        ]
    )
    assert np.abs(np.diff(angles, axis=0)).max() == pytest.approx(0.01)  # 1 rad/s
    np.testing.assert_allclose(angles[100, 0], 1.0, atol=0.011)
    np.testing.assert_allclose(angles[-1], [np.pi / 2, -0.5], atol=1e-6)
    assert np.all(angles[0] == 0)


def test_two_azimuths_command_the_plane():
    able = controllability(BOAT.thrusters, BOAT.inertia.center_of_mass)
    assert able.unreachable == ('heave', 'roll', 'pitch')
    fixed = replace(BOAT.thrusters, azimuths=None)
    assert 'sway' in controllability(fixed, BOAT.inertia.center_of_mass).unreachable


planar = st.tuples(st.floats(-80, 200), st.floats(-60, 60), st.floats(-100, 100))


@given(planar, st.tuples(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5)))
def test_what_it_says_it_achieves_is_what_the_physics_makes(wanted, before):
    surge, sway, yaw = wanted
    wrench = np.array([surge, sway, 0, 0, 0, yaw])
    found = ALLOCATOR.allocate(wrench, previous={'azimuths': np.array(before)}, dt=0.1)
    angles = found.actuators['azimuths']
    assert np.all(np.abs(angles - before) <= 0.1 + 1e-12)
    assert np.all(np.abs(angles) <= np.pi / 2)
    made = output(BOAT, found.pwm, angles)
    np.testing.assert_allclose(made.thrust, found.thrust, atol=1e-9)
    np.testing.assert_allclose(made.wrench[[0, 1, 5]], found.achieved[[0, 1, 5]], atol=1e-6)


@given(st.floats(100, 200), st.floats(-50, 50), st.floats(-20, 20))
def test_a_wrench_that_fits_is_made_but_for_whole_pulse_widths(surge, sway, twist):
    # Sway at the stern turns the boat: 2.37 m times it is the yaw that the pair makes of itself.
    wrench = np.array([surge, sway, 0, 0, 0, twist - 2.373776 * sway])
    found = ALLOCATOR.allocate(wrench)
    assert not found.saturated
    assert not found.unachieved[[0, 1, 5]].any()
    np.testing.assert_allclose(found.achieved[[0, 1]], wrench[:2], atol=0.7)
    assert found.achieved[5] == pytest.approx(wrench[5], abs=2)


SCENARIO = """
duration: 6
segments:
  - {at: 0, pwm: [1800, 1700], azimuths: {port: 0.3}}
  - {at: 2, control: {surge: 1.0, yaw_rate: 0.1}}
  - {at: 4.5, pwm: [1600, 1500], azimuths: {starboard: -2}}
"""


@pytest.mark.long
def test_the_compiled_engine_is_the_same():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    scenario = parse_scenario(SCENARIO, 'turn')
    expected = simulate(BOAT, scenario, dt=0.01)
    found, _ = simulate_compiled(BOAT, scenario, dt=0.01)
    angles = expected.actuators['azimuths']
    np.testing.assert_allclose(found.actuators['azimuths'], angles, rtol=1e-7, atol=1e-7)
    for name in ('position', 'velocity', 'pwm', 'wrench'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-7, atol=1e-7, err_msg=name
        )
    assert angles[199, 0] == pytest.approx(0.3, abs=1e-3)
    assert np.ptp(angles[200:450]) > 0.1


@pytest.mark.long
def test_it_holds_a_place_and_a_heading():
    text = """
duration: 60
segments:
  - {at: 0, control: {x: 6.0, y: 3.0, yaw: 0.8}}
"""
    run = simulate(BOAT, parse_scenario(text, 'dock'), dt=0.02)
    np.testing.assert_allclose(run.position[-500:, :2], [[6.0, 3.0]] * 500, atol=0.15)
    yaw = 2 * np.arctan2(run.orientation[-500:, 2], run.orientation[-500:, 3])
    np.testing.assert_allclose(yaw, 0.8, atol=0.03)


@pytest.mark.parametrize(
    ('old', 'new', 'told'),
    [
        ('<azimuth joint="port">', '<azimuth joint="keel">', "'keel' is unknown"),
        ('<azimuth joint="port">', '<azimuth>', 'has no <limit>'),
        ('<joint name="port" type="revolute"', '<joint name="port" type="fixed"', 'is fixed'),
        ('<time_constant>', '<lag/><time_constant>', 'unknown element <lag>'),
        (
            'xyz="-2.373776 1.027135 -0.3" rpy="0 1.5707963267948966 0"',
            'xyz="-2.373776 1.027135 -0.3"',
            'across',
        ),
    ],
)
def test_mistakes_are_named_with_their_line(old, new, told):
    with pytest.raises(ModelError, match=r'robot_description:\d+.*' + told):
        changed(old, new)


def test_a_scenario_names_azimuths_that_exist():
    text = SCENARIO.replace('port:', 'bow:')
    with pytest.raises(ScenarioError, match=r"azimuth 'bow' is unknown.*port, starboard"):
        simulate(BOAT, parse_scenario(text, 'wrong'))


def test_joints_that_turn_thrusters_are_no_arm():
    assert BOAT.manipulator is None
    assert BOAT.thrusters.azimuths.joints == ('port', 'starboard')
