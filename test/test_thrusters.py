# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrust against the Orca3 documentation and the T200 bench data."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import Environment, load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import ModelError, ParameterError, ScenarioError
from marine_sim_ros.core.numerics import interpolation_table
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.model.library import parse_xacro_arguments
from marine_sim_ros.model.library import vehicle_of as vehicle_from
from marine_sim_ros.model.propulsion import dead_zone_curve
from marine_sim_ros.physics.thrusters import linear_thrust, thrusters, ventilation_factor
from marine_sim_ros.sim.options import RunOptions

T200 = [
    (1100, -39.913, 388.8, 3465),
    (1200, -26.576, 190.9, 2865),
    (1252, -19.809, 121.1, 2517),
    (1300, -14.122, 70.4, 2140),
    (1352, -8.826, 32.0, 1705),
    (1400, -4.707, 11.2, 1246),
    (1452, -0.981, 1.6, 578),
    (1472, 0, 0, 0),
    (1500, 0, 0, 0),
    (1528, 0, 0, 0),
    (1532, 0.392, 0.8, 308),
    (1600, 5.884, 12.8, 1237),
    (1652, 11.572, 35.2, 1740),
    (1700, 17.848, 73.3, 2129),
    (1752, 25.988, 128.6, 2538),
    (1800, 33.539, 190.9, 2888),
    (1852, 44.228, 288.0, 3260),
    (1900, 51.485, 381.3, 3533),
]
STILL = Environment()
DEEP = state_at_rest((0.0, 0.0, -5.0))


def run(vehicle, pwm, dt=1.0, memory=None, state=None):
    n = len(vehicle.thrusters)
    memory = np.zeros(n) if memory is None else memory
    command = np.full(n, float(pwm)) if np.isscalar(pwm) else np.asarray(pwm, float)
    return thrusters(vehicle, state or DEEP, STILL, memory, pwm=command, dt=dt)


@pytest.mark.parametrize(
    ('pwm', 'newtons'),
    [
        (1700, 22.6027),
        (1300, -18.0822),
        (1500, 0),
        (1900, 50),
        (1100, -40),
        (1535, 0),
        (1465, 0),
        (1510, 0),
        (1490, 0),
        (2000, 50),
        (0, -40),
    ],
)
def test_linear_thrust_is_the_documented_formula(pwm, newtons):
    assert linear_thrust(pwm) == pytest.approx(newtons, abs=5e-5)


@given(st.floats(1000, 2000), st.floats(0, 300), st.floats(0, 200), st.floats(0, 200))
def test_linear_thrust_against_the_three_branches(pwm, dz, pos, neg):
    inside = min(max(pwm, 1100), 1900)
    if inside > 1500 + dz:
        expected = pos * (inside - 1500 - dz) / (400 - dz)
    elif inside < 1500 - dz:
        expected = neg * (inside - 1500 + dz) / (400 - dz)
    else:
        expected = 0.0
    found = linear_thrust(pwm, dead_zone=dz, pos_force=pos, neg_force=neg)
    assert found == pytest.approx(expected, abs=1e-9)


@given(st.floats(1000, 2000), st.integers(0, 300), st.floats(0.1, 200), st.floats(0.1, 200))
def test_the_linear_map_as_a_table_is_the_same_function(pwm, dz, pos, neg):
    curve = dead_zone_curve(pos, neg, float(dz))
    table = interpolation_table([(curve[:, 0], curve[:, 1])])
    expected = linear_thrust(pwm, dead_zone=dz, pos_force=pos, neg_force=neg)
    assert table(np.array([pwm]))[0] == pytest.approx(expected, abs=1e-9)


def test_linear_thrust_takes_arrays():
    found = linear_thrust(np.array([[1700.0], [1300.0]]))
    assert found.shape == (2, 1)
    assert found[:, 0] == pytest.approx([22.6027, -18.0822], abs=5e-5)


@pytest.mark.parametrize(('pwm', 'newtons', 'watts', 'rpm'), T200)
def test_t200_curve_at_16_volts(pwm, newtons, watts, rpm):
    vehicle = vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0')
    output, _ = run(vehicle, pwm)
    assert output.thrust == pytest.approx([newtons] * 6, abs=1e-9)
    assert output.power == pytest.approx([watts] * 6, abs=1e-6)
    speed = np.sign(newtons) * rpm * 2 * np.pi / 60
    assert output.rotor_speed == pytest.approx([speed] * 6, abs=1e-6)


def test_the_dead_zone_is_exactly_zero():
    vehicle = vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0')
    for pwm in (1472, 1490, 1500, 1528):
        output, _ = run(vehicle, pwm)
        assert not output.thrust.any()
        assert not output.wrench.any()


def test_rotor_lag_is_the_exact_exponential_whatever_the_step():
    vehicle = vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0.2')
    full, _ = run(vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0'), 1700)
    for steps in (1, 4, 40):
        memory = np.zeros(6)
        for _ in range(steps):
            output, memory = run(vehicle, 1700, dt=0.3 / steps, memory=memory)
        expected = full.thrust * (1 - np.exp(-0.3 / 0.2)) ** 2
        assert output.thrust == pytest.approx(expected, rel=1e-12)


def test_thrust_matrix_of_the_vectored_frame():
    b = vehicle_of('bluerov2', coefficients='maker').thrusters.effectiveness
    c = np.sqrt(0.5)
    assert b[0] == pytest.approx([-c, -c, c, c, 0, 0], abs=1e-12)  # surge
    assert b[1] == pytest.approx([-c, c, -c, c, 0, 0], abs=1e-12)  # sway
    assert b[2] == pytest.approx([0, 0, 0, 0, -1, -1], abs=1e-12)  # heave
    assert np.linalg.matrix_rank(b) == 5
    assert np.linalg.matrix_rank(vehicle_of('bluerov2_heavy').thrusters.effectiveness) == 6


def test_a_force_at_a_point_gives_r_cross_f():
    vehicle = vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0')
    pwm = np.full(6, 1500.0)
    pwm[0] = 1700
    output, _ = run(vehicle, pwm)
    force = 17.848 * np.array([-np.sqrt(0.5), -np.sqrt(0.5), 0])
    arm = np.cross([0.14, -0.092, 0], force)
    assert output.wrench == pytest.approx(np.concatenate([force, arm]), abs=1e-9)


def test_reaction_torque_is_off_by_default_and_turns_with_the_hand():
    vehicle = load_vehicle(
        'bluerov2', coefficients='maker', rotor_time_constant='0', reaction_torque='0.02'
    )
    plain = vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0')
    pwm = np.full(6, 1500.0)
    pwm[4] = 1700  # counter-clockwise, thrust down
    with_torque, _ = run(vehicle, pwm)
    without, _ = run(plain, pwm)
    difference = with_torque.wrench - without.wrench
    assert difference == pytest.approx([0, 0, 0, 0, 0, -0.02 * 17.848], abs=1e-9)


def test_inflow_loss_takes_all_thrust_at_the_zero_thrust_advance():
    text = vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0').urdf
    text = text.replace(
        '<diameter>0.076</diameter>',
        '<diameter>0.076</diameter><zero_thrust_advance_ratio>0.8</zero_thrust_advance_ratio>',
    )
    vehicle = load_vehicle(text)
    revolutions = 2129 / 60
    limit = 0.8 * revolutions * 0.076
    pwm = np.full(6, 1500.0)
    pwm[4] = pwm[5] = 1700
    for share, left in ((0, 1), (0.5, 0.5), (1, 0), (-1, 1)):
        sinking = State(DEEP.position, DEEP.orientation, np.array([0, 0, -limit * share, 0, 0, 0]))
        output, _ = run(vehicle, pwm, state=sinking)
        assert output.thrust[4] == pytest.approx(17.848 * left, abs=1e-9)


def test_voltage_interpolates_between_tables():
    text = vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0').urdf
    low = '<curve name="t200" voltage="12">1100 -30 1 2 1500 0 0 0 1900 40 1 2</curve>'
    text = text.replace('<thrusters>', '<thrusters>' + low)
    full = {v: run(load_vehicle(text, voltage=v), 1900)[0].thrust[0] for v in (10, 12, 14, 16, 20)}
    assert full[12] == pytest.approx(40)
    assert full[16] == pytest.approx(51.485)
    assert full[14] == pytest.approx((40 + 51.485) / 2)
    assert full[10] == pytest.approx(40 * (10 / 12) ** 1.22)  # beyond, the nearest is scaled
    assert full[20] == pytest.approx(51.485 * (20 / 16) ** 1.22)


def test_a_run_takes_the_supply_of_its_option_before_that_of_its_scenario(tmp_path):
    scenario = tmp_path / 'low.yaml'
    scenario.write_text('duration: 1\nvoltage: 12.0\nsegments: [{at: 0, pwm: [1500]}]')
    for settings, ahead in (
        ({'voltage': 12.0}, 36.4),
        ({'scenario': str(scenario)}, 36.4),
        ({'scenario': str(scenario), 'voltage': 10.0}, 28.7),
    ):
        named = RunOptions(
            vehicle='bluerov2',
            vehicle_arguments=('coefficients:=maker', 'rotor_time_constant:=0'),
            **settings,
        )
        found = vehicle_from(named.named_vehicle())
        thrust = run(found, 1900)[0].thrust
        assert thrust == pytest.approx(np.full(6, ahead), rel=0.02)


# Blue Robotics' tables of September 2019: N at 1900 and 1100 µs.
@pytest.mark.parametrize(('volts', 'ahead', 'astern'), [(12, 36.4, -28.4), (10, 28.7, -22.7)])
def test_one_table_is_scaled_to_the_supply_by_the_law_of_the_battery(volts, ahead, astern):
    settings = {'coefficients': 'maker', 'rotor_time_constant': '0'}
    vehicle, whole = (
        load_vehicle('bluerov2', voltage=volts, **settings),
        vehicle_of('bluerov2', **settings),
    )
    for pwm, force in ((1900, ahead), (1100, astern)):
        found, _ = run(vehicle, pwm)
        assert found.thrust == pytest.approx(np.full(6, force), rel=0.02)
        supply = np.array(volts / 16)
        battery, _ = thrusters(
            whole, DEEP, STILL, np.zeros(6), pwm=np.full(6, pwm), dt=1.0, supply=supply
        )
        assert found.thrust == pytest.approx(battery.thrust, rel=1e-12)
        assert found.power == pytest.approx(battery.power, rel=1e-12)
        # A rotor of the same thrust turns as fast.
        assert found.rotor_speed == pytest.approx(battery.rotor_speed, rel=0.03)


def test_a_linear_map_has_a_voltage_too():
    text = vehicle_of('simple_rov').urdf
    forces = {v: run(load_vehicle(text, voltage=v), 1900)[0].thrust for v in (None, 12.0, 16.0)}
    assert forces[16.0] == pytest.approx(forces[None])
    assert forces[12.0] == pytest.approx(forces[None] * 0.75**1.22)
    at_48 = text.replace('<linear ', '<linear voltage="48" ')
    assert run(load_vehicle(at_48, voltage=36), 1900)[0].thrust == pytest.approx(forces[12.0])
    with pytest.raises(ModelError, match=r'<linear>.*48 V and the supply has 16 V.*28.8 to 60 V'):
        load_vehicle(at_48, voltage=16)


def test_the_supply_of_a_run_comes_from_its_option_or_its_scenario(tmp_path):
    script = tmp_path / 'tired.yaml'
    script.write_text('duration: 1\nvoltage: 12\nsegments: [{at: 0, axes: {surge: 1}}]\n')
    options = RunOptions(scenario=str(script))
    assert options.named_vehicle()['voltage'] == 12
    assert replace(options, voltage=14.0).named_vehicle()['voltage'] == 14
    assert 'voltage' not in RunOptions().named_vehicle()
    low = vehicle_from(options.named_vehicle())
    done = simulate(low, load_scenario(str(script)), dt=0.02)
    assert done.sensors.inputs.supply[-1, 1] == 12  # what a battery monitor reads
    with pytest.raises(ScenarioError, match='voltage=12'):
        simulate(vehicle_of('bluerov2'), load_scenario(str(script)))
    battery = script.with_name('two.yaml')
    battery.write_text('duration: 1\nsegments: [{at: 0}]\nfaults: [{kind: battery}]\n')
    with pytest.raises(ScenarioError, match='held at 12 V'):
        load_scenario(str(battery)).check(low)
    with pytest.raises(ParameterError, match='option --voltage'):
        parse_xacro_arguments(['voltage:=12'])


def test_t200_table_against_the_published_fits():
    vehicle = vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0')
    for pwm in range(1532, 1901, 4):
        x = pwm - 1528
        fit = 7.055762e-2 * x + 1.959120e-4 * x**2
        assert run(vehicle, pwm)[0].thrust[0] == pytest.approx(fit, abs=2.0)
    for pwm in range(1100, 1469, 4):
        x = 1472 - pwm
        fit = -(5.732119e-2 * x + 1.462370e-4 * x**2)
        assert run(vehicle, pwm)[0].thrust[0] == pytest.approx(fit, abs=2.0)


@pytest.mark.parametrize(('pwm', 'factor'), [(1900, 4.0727e-6), (1100, -3.2465e-6)])
def test_t200_thrust_goes_with_the_square_of_the_speed(pwm, factor):
    output, _ = run(vehicle_of('bluerov2', coefficients='maker', rotor_time_constant='0'), pwm)
    rpm = output.rotor_speed[0] * 60 / (2 * np.pi)
    assert output.thrust[0] == pytest.approx(factor * rpm**2, rel=0.03)


def test_numbers_do_for_arrays():
    assert linear_thrust(1900) == 50.0
    assert linear_thrust(1500.0) == 0.0
    assert ventilation_factor(0.5) == pytest.approx(1 - 0.675 * (1 - 0.769 * 0.5) ** 1.258)
    assert ventilation_factor(2) == 1.0
    assert ventilation_factor(-1) == 0.0


TUNNEL = '<cross_flow>0 1  0.4 0.5  1.0 0.2</cross_flow>'


def with_tunnels(rows=TUNNEL):
    text = vehicle_of('bluerov2').urdf
    return load_vehicle(text.replace('<diameter>', f'{rows}<diameter>'))


def test_tunnels_lose_thrust_by_the_speed_across_over_that_of_the_jet():
    vehicle = with_tunnels()
    thrusters_of, velocity = vehicle.thrusters, np.array([0.5, -0.2, 0.1, 0.3, 0.0, -0.4])
    state = State(DEEP.position, DEEP.orientation, velocity)
    moving = run(vehicle, 1750.0, state=state)[0].thrust
    plain = run(vehicle_of('bluerov2'), 1750.0, state=state)[0].thrust
    area = np.pi * thrusters_of.rotor_radius**2
    for i, (place, axis) in enumerate(zip(thrusters_of.position, thrusters_of.axis, strict=True)):
        local = velocity[:3] + np.cross(velocity[3:], place)
        across = np.linalg.norm(local - (local @ axis) * axis)
        jet = np.sqrt(plain[i] / (vehicle.buoyancy.fluid_density * area[i]))
        fraction = np.interp(across / jet, [0, 0.4, 1.0], [1, 0.5, 0.2])
        assert moving[i] == pytest.approx(plain[i] * fraction, rel=1e-9)
        assert fraction < 0.95
    still = run(vehicle, 1500.0, state=state)[0]
    assert np.all(still.thrust == 0.0)


@pytest.mark.long
def test_tunnels_are_compiled_alike():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled
    from marine_sim_ros.sim.scenario import parse_scenario

    play = parse_scenario(
        'duration: 2.0\ninitial: {position: [0, 0, -5]}\nsegments:\n'
        '  - {at: 0, axes: {surge: 0.6, sway: 0.4, yaw: 0.2}}\n',
        'across',
    )
    vehicle = with_tunnels()
    expected = simulate(vehicle, play, dt=0.02)
    found, _ = simulate_compiled(vehicle, play, dt=0.02)
    for name in ('position', 'velocity', 'thrust'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=1e-9
        )


@pytest.mark.parametrize(
    ('rows', 'words'),
    [('0 1 0.4', 'rows of two'), ('0.1 1 0.4 0.5', 'first row of 0 1'), ('0 1 0 0.5', 'to rise')],
)
def test_rows_of_cross_flow_that_do_not_fit_are_refused(rows, words):
    with pytest.raises(ModelError, match=words):
        with_tunnels(f'<cross_flow>{rows}</cross_flow>')
