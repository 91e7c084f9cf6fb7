# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins: coefficients, wrench and servo by their formulas; a fin-steered AUV by its derivatives."""

from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
from conftest import ROOT, vehicle_of

from marine_sim_ros import simulate
from marine_sim_ros.core.errors import ModelError, ParameterError, ScenarioError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.doctor.hydrodynamics import munk_speeds
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.urdf import vehicle_from_urdf
from marine_sim_ros.physics.fins import (
    FIN_ACTUATOR,
    fin_wrench,
    fins_of,
    lift_drag_coefficients,
    lift_slope,
    servo_load,
    servo_step,
)
from marine_sim_ros.sim.player import ActuatorTimeline
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import Simulation

AUV = vehicle_of('torpedo_auv')
URDF = (ROOT / 'urdf' / 'torpedo_auv.urdf').read_text()
STILL = Environment()
AHEAD = 'duration: {}\ninitial: {{position: [0, 0, -20]}}\nsegments:\n  - {{at: 0, pwm: [1700]}}\n'


def moving(*velocity):
    return state_at_rest()._replace(velocity=np.array(velocity, float))


def wrench(vehicle, state, angles, thrust=0.0, environment=STILL):
    angles = np.broadcast_to(np.asarray(angles, float), len(fins_of(vehicle)))
    return np.asarray(fin_wrench(vehicle, state, environment, angles, np.array([thrust])))


def changed(old, new, count=1):
    text = URDF.replace(old, new, count)
    assert text != URDF
    return vehicle_from_urdf(text)


def test_the_lift_slope_of_a_shape():
    # Whicker & Fehlner (1958), in their own degrees: A = 2 without sweep.
    assert lift_slope(2.0) == pytest.approx(1.8 * np.pi * 2 / (np.sqrt(8) + 1.8))
    assert lift_slope(1e6) == pytest.approx(0.9 * 2 * np.pi, rel=1e-5)
    assert lift_slope(1e6, 0.5) == pytest.approx(0.9 * 2 * np.pi * np.cos(0.5), rel=1e-5)
    assert lift_slope(1e-3) == pytest.approx(np.pi / 2 * 1e-3, rel=0.06)


def test_coefficients_before_and_after_the_stall():
    fins, angle = fins_of(AUV), np.linspace(-np.pi / 2, np.pi / 2, 181)[:, None]
    lift, drag = (np.asarray(c)[:, 0] for c in lift_drag_coefficients(fins, angle))
    size, slope = np.abs(angle[:, 0]), lift_slope(2.0)
    below = size <= 0.4
    np.testing.assert_allclose(lift[below], slope * angle[below, 0])
    induced = lift[below] ** 2 / (np.pi * 0.9 * 2)
    np.testing.assert_allclose(drag[below], 0.01 + induced)
    np.testing.assert_allclose(lift, -lift[::-1])
    np.testing.assert_allclose(drag, drag[::-1])
    line = slope * 0.4 * (np.pi / 2 - size) / (np.pi / 2 - 0.4)
    np.testing.assert_allclose(np.abs(lift[~below]), line[~below], atol=1e-12)
    np.testing.assert_allclose([lift[-1], drag[-1]], [0, 1.2], atol=1e-12)
    assert np.all(np.diff(drag[size.argmin() :]) > 0)


def test_a_rudder_by_hand():
    speed, angle = 1.5, 0.2
    found = wrench(AUV, moving(speed, 0, 0, 0, 0, 0), [angle, 0, 0, 0])
    pressure = 0.5 * 1000 * 0.015 * speed**2
    lift = lift_slope(2.0) * angle
    drag = 0.01 + lift**2 / (np.pi * 0.9 * 2)
    force = np.array([-(drag + 3 * 0.01) * pressure, lift * pressure, 0])
    moment = np.cross([-0.72, 0, 0.15], [-drag * pressure, lift * pressure, 0])
    moment += np.cross([-0.72, 0, -0.15], [-0.01 * pressure, 0, 0])
    np.testing.assert_allclose(found, [*force, *moment], atol=1e-12)


def test_a_fin_moves_with_the_vehicle_and_the_water():
    turning = wrench(AUV, moving(0, 0, 0, 0, 0, 1.0), 0)
    # Both rudders stand across the stream of 0.72 m/s that the turn makes: C_D 1.2.
    force = 0.5 * 1000 * 0.03 * 1.2 * 0.72**2
    # The planes, on either side, are edge-on to it: lift and drag of ±0.15 m/s ahead are small.
    assert turning[1] == pytest.approx(force, rel=0.2)
    assert turning[5] == pytest.approx(-0.72 * force, rel=0.2)
    drifting = Environment(current=np.array([0.4, -0.3, 0.2]))
    state = State(
        np.array([0, 0, -9.0]), quaternion_from_rpy(0.3, -0.4, 1.0), np.array([1.0, 0, 0, 0, 0, 0])
    )
    turn = np.linalg.inv(rotation_of(state))
    still = state._replace(velocity=state.velocity - [*(turn @ drifting.current), 0, 0, 0])
    np.testing.assert_allclose(
        wrench(AUV, state, 0.1, environment=drifting), wrench(AUV, still, 0.1), atol=1e-12
    )


def rotation_of(state):
    return np.asarray(rotation_matrix(state.orientation))


def test_fins_give_no_energy_at_any_deflection():
    generator = np.random.default_rng(3)
    motion = generator.normal(size=(4000, 6)) * generator.choice([0.01, 1, 30], (4000, 1))
    states = State(np.zeros((4000, 3)), np.tile([0, 0, 0, 1.0], (4000, 1)), motion)
    angles = generator.uniform(-3, 3, (4000, 4))
    angles[:500] = 0
    force = np.asarray(fin_wrench(AUV, states, STILL, angles, np.zeros((4000, 1))))
    power = np.sum(force * motion, axis=-1)
    assert power.max() < 0
    assert np.all(wrench(AUV, moving(0, 0, 0, 0, 0, 0), 0.3) == 0)


def test_the_wash_of_a_propeller_by_momentum_theory():
    tag = '<wash thruster="propeller" diameter="0.2"/><area>0.015</area>'
    vehicle = changed('<area>0.015</area>', tag)
    state, thrust = moving(1.0, 0, 0, 0, 0, 0), 12.0
    far_behind = np.sqrt(1.0 + 2 * thrust / (1000 * np.pi / 4 * 0.2**2))
    alone = np.array([0.1, 0, 0, 0])
    swept = wrench(vehicle, state, alone, thrust)[1]
    assert swept == pytest.approx(wrench(AUV, state, alone)[1] * far_behind**2)
    for u, push in ((1.0, -12.0), (-1.0, 12.0), (1.0, 0.0)):
        state = moving(u, 0, 0, 0, 0, 0)
        np.testing.assert_allclose(
            wrench(vehicle, state, alone, push), wrench(AUV, state, alone), atol=1e-12
        )


def test_a_servo_is_a_lag_within_its_rate():
    fins = replace(
        fins_of(AUV),
        time_constant=np.array([0.2, 0.2, 0.0, 0.0]),
        max_rate=np.array([1e3, 0.5, 1e3, 0.5]),
    )
    target, dt = np.array([0.2, 0.2, 9.0, -9.0]), 0.01
    angle = servo_step(fins, np.zeros(4), target, 0.0)
    np.testing.assert_array_equal(angle, 0)
    for _ in range(20):
        angle = servo_step(fins, angle, target, dt)
    assert angle[0] == pytest.approx(0.2 * (1 - np.exp(-1)))
    assert angle[1] == pytest.approx(0.5 * 0.2, rel=0.02)  # (0.2 − δ)/T > 0.5 until δ = 0.1
    np.testing.assert_allclose(angle[2:], [0.35, -0.1])


SERVO = '<time_constant>0.05</time_constant>'


def test_within_its_play_a_fin_turns_into_the_flow():
    loose = changed(SERVO, SERVO + '<servo play="0.1"/>')
    tight, state = AUV, moving(1.5, 0, 0, 0, 0, 0)
    for angle in (-0.049, 0.0, 0.03):  # no lift; the drag is that of no angle of attack
        found = wrench(loose, state, [angle, 0, 0, 0])
        np.testing.assert_allclose(found, wrench(tight, state, [0, 0, 0, 0]), atol=1e-12)
    for angle in (-0.3, 0.2):  # beyond it the fin lags behind its servo by half the play
        found = wrench(loose, state, [angle, 0, 0, 0])
        expected = wrench(tight, state, [angle - np.copysign(0.05, angle), 0, 0, 0])
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize('lever', [0.03, -0.03])
def test_a_servo_stalls_where_the_moment_of_the_water_is_its_torque(lever):
    speed, torque = 2.0, 0.25
    weak = changed(SERVO, SERVO + f'<servo stall_torque="{torque}" lever="{lever}"/>')
    fins = fins_of(weak)
    state, force = moving(speed, 0, 0, 0, 0, 0), fins_of(AUV)
    angle, dt, turned = np.zeros(4), 0.005, []
    for _ in range(2000):
        load = servo_load(weak, state, STILL, angle, np.zeros(1))
        angle = servo_step(fins, angle, np.array([0.35, 0, 0, 0]), dt, load)
        turned.append(angle[0])
    if lever < 0:  # balanced beyond the hinge: the water turns it, no faster than its own rate
        assert angle[0] == pytest.approx(0.35, abs=1e-6)
        assert np.max(np.diff(turned)) <= fins.max_rate[0] * dt + 1e-12
        return

    def moment(x):
        lift, drag = lift_drag_coefficients(force, np.full(4, x))
        normal = lift[0] * np.cos(x) + drag[0] * np.sin(x)
        return 0.5 * 1000 * force.area[0] * speed**2 * normal * lever

    assert moment(angle[0]) == pytest.approx(torque, rel=1e-3)
    assert 0.05 < angle[0] < 0.3
    # On its way the rate is that of the motor's line, r (1 − M/τ).
    i = 4
    rate = (turned[i + 1] - turned[i]) / dt
    assert rate == pytest.approx(fins.max_rate[0] * (1 - moment(turned[i]) / torque), rel=1e-9)


def test_a_stalled_servo_turns_back_under_a_load_that_grows():
    weak = changed(SERVO, SERVO + '<servo stall_torque="0.25" lever="0.03"/>')
    angle = np.array([0.3, 0, 0, 0])
    load = servo_load(weak, moving(2.0, 0, 0, 0, 0, 0), STILL, angle, np.zeros(1))
    assert load[0] > 1
    after = servo_step(fins_of(weak), angle, angle, 0.01, load)
    assert after[0] < angle[0]


def test_a_servo_that_stalls_has_a_rate():
    with pytest.raises(ModelError, match='<limit> of the fin has no velocity'):
        changed(
            '<limit lower="-0.35" upper="0.35" velocity="1.5"/>\n      ' + SERVO,
            '<limit lower="-0.35" upper="0.35"/>'
            + SERVO
            + '<servo stall_torque="1" lever="0.02"/>',
        )


def test_the_force_follows_the_array_standard():
    xp = array_api_strict
    state = State(*(xp.asarray(x) for x in moving(1.0, 0.2, -0.1, 0.1, 0.2, -0.3)))
    angles = xp.asarray([0.1, -0.2, 0.3, 0.0])
    found = fin_wrench(AUV, state, STILL, angles, xp.asarray([0.0]))
    same = wrench(AUV, moving(1.0, 0.2, -0.1, 0.1, 0.2, -0.3), [0.1, -0.2, 0.3, 0.0])
    np.testing.assert_allclose(np.asarray(found), same, rtol=1e-12)


def linear_turn(vehicle, speed):
    """Return steady sway and yaw rate per radian of rudder, of the linear equations at a speed.

    (m + A₂₂) v̇ = Y_v v + (Y_r − (m + A₁₁) U) r + Y_δ δ and the same for yaw with the Munk moment
    −(A₂₂ − A₁₁) U v: Nomoto's gain K = r/δ (Fossen 2011, section 7.2).
    """
    area, place, water = 0.03, -0.72, 1000
    across = 0.5 * water * area * (lift_slope(2.0) + 0.01) * speed
    steer = 0.5 * water * area * lift_slope(2.0) * speed**2
    # The planes lie in the x-y plane: flow across their chord is along their hinge, no force.
    added, linear = np.diag(vehicle.added_mass), np.diag(vehicle.damping.linear)
    # Their drag ahead, ±0.15 m from the middle, is −½ρAC_D0 |u| u with u = U ∓ 0.15 r.
    planes = 2 * 0.5 * water * 0.015 * 0.01 * 2 * speed * 0.15**2
    matrix = np.array(
        [
            [linear[1] + across, across * place + (vehicle.inertia.mass + added[0]) * speed],
            [
                across * place + (added[1] - added[0]) * speed,
                linear[5] + across * place**2 + planes,
            ],
        ]
    )
    return np.linalg.solve(matrix, [steer, place * steer])


@pytest.mark.long
@pytest.mark.parametrize(('angle', 'near'), [(0.002, 0.03), (-0.0002, 0.003)])
def test_a_steady_turn_is_that_of_the_linear_derivatives(angle, near):
    text = AHEAD.format(90) + (
        f'  - {{at: 20, pwm: [1700], fins: {{rudder_upper: {angle}, rudder_lower: {angle}}}}}\n'
    )
    run = simulate(AUV, parse_scenario(text, 'turn'), dt=0.02)
    u, v, *_, r = run.velocity[-1]
    np.testing.assert_allclose(run.velocity[-500], run.velocity[-1], atol=1e-3 * abs(angle))
    sway, yaw = linear_turn(AUV, u)
    # What is left is the quadratic damping, whose share grows as the angle.
    assert r / angle == pytest.approx(yaw, rel=near)
    assert v / angle == pytest.approx(sway, rel=near)
    assert np.sign(r) == -np.sign(angle)  # the leading edge to port, the stern to port


def test_a_run_straight_ahead_is_symmetric_and_turns_mirror():
    straight = simulate(AUV, parse_scenario(AHEAD.format(10), 'ahead'))
    assert straight.velocity[-1, 0] > 1
    assert np.abs(straight.position[:, 1]).max() < 1e-12
    assert np.abs(straight.velocity[:, [1, 3, 5]]).max() < 1e-12
    sides = [
        simulate(
            AUV,
            parse_scenario(
                AHEAD.format(10)
                + f'  - {{at: 3, pwm: [1700], fins: {{rudder_upper: {a}, rudder_lower: {a}}}}}\n',
                'turn',
            ),
        )
        for a in (0.3, -0.3)
    ]
    np.testing.assert_allclose(
        sides[0].position, sides[1].position * [1, -1, 1], rtol=1e-9, atol=1e-9
    )
    assert sides[0].position[-1, 1] < -1


def test_energy_never_grows_without_thrust():
    text = """duration: 12
initial: {position: [0, 0, -20], rpy: [0.2, 0.3, 0]}
segments:
  - {at: 0, pwm: [1500]}
  - {at: 1, pwm: [1500], fins: {rudder_upper: 0.3, plane_port: -0.3}}
  - {at: 4, pwm: [1500], fins: {rudder_lower: -0.3, plane_starboard: 0.35}}
  - {at: 7, pwm: [1500], fins: {rudder_upper: -0.35, plane_port: 0.35}}
"""
    scenario = parse_scenario(text, 'glide')
    start = scenario.initial_state()._replace(velocity=np.array([3.0, 0.5, -0.4, 0.2, 0.3, 0.8]))
    simulation = Simulation(AUV, initial=start, dt=0.002)
    weight, center = AUV.inertia.mass * STILL.gravity, AUV.inertia.center_of_mass

    def energy(tick):
        height = tick.state.position[2] + (rotation_of(tick.state) @ center)[2]
        lift = AUV.buoyancy.volume * 1000 * STILL.gravity * tick.state.position[2]
        kinetic = 0.5 * tick.state.velocity @ AUV.mass_matrix @ tick.state.velocity
        return kinetic + weight * height - lift

    timeline = ActuatorTimeline(FIN_ACTUATOR, scenario, AUV)
    ticks = simulation.ticks(
        lambda time, state: np.array([1500.0]),
        scenario.duration,
        lambda time: {'fins': timeline.at(time)},
    )
    energies = np.array([energy(tick) for tick in ticks])
    assert np.diff(energies).max() < 1e-6
    assert energies[-1] - energies.min() < 1e-6
    assert energies[0] - energies[-1] > 100


def test_the_compiled_engine_is_the_same():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.batch import simulate_batch
    from marine_sim_ros.engine.compiled import simulate_compiled

    washed = changed(
        '<area>0.015</area>', '<wash thruster="propeller" diameter="0.2"/><area>0.015</area>'
    )
    later = '  - {at: 2, pwm: [1650], fins: {rudder_upper: 0.3, plane_port: -1}}\n'
    text = AHEAD.format(6) + later
    scenario = parse_scenario(text, 'turn')
    expected = simulate(washed, scenario)
    found, _ = simulate_compiled(washed, scenario)
    angles = expected.actuators['fins']
    np.testing.assert_allclose(found.actuators['fins'], angles, rtol=1e-9, atol=1e-9)
    for name in ('position', 'velocity', 'wrench'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9, err_msg=name
        )
    assert angles[-1, 2] == pytest.approx(-0.35)
    bigger = changed('<area>0.015</area>', '<area>0.03</area>')
    batch = simulate_batch([AUV, bigger], scenario, every=100)
    for row, vehicle in enumerate((AUV, bigger)):
        one = simulate(vehicle, scenario).position[-1]
        np.testing.assert_allclose(batch.position[-1, row], one, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ('old', 'new', 'told'),
    [
        ('<area>0.015</area>', '', 'no <area>'),
        ('<aspect_ratio>2', '<lift_slope>3</lift_slope><aspect_ratio>2', 'either'),
        ('<aspect_ratio>2</aspect_ratio>', '', 'either'),
        ('name="rudder_lower"', 'name="rudder_upper"', 'two fins'),
        ('lower="-0.35"', 'lower="0.1"', 'expected -3.14159 to 0'),
        ('<area>', '<wash thruster="bow" diameter="1"/><area>', "thruster 'bow' is unknown"),
        ('<area>', '<span>1</span><area>', 'unknown element <span>'),
        ('<area>0.015', '<area>nan', 'finite'),
    ],
)
def test_mistakes_are_named_with_their_line(old, new, told):
    with pytest.raises(ModelError, match=r'robot_description:\d+.*' + told):
        changed(old, new)


def test_a_scenario_names_fins_that_exist():
    text = AHEAD.format(1) + '  - {at: 0.5, fins: {keel: 0.1}}\n'
    with pytest.raises(ScenarioError, match=r"fin 'keel' is unknown.*rudder_upper"):
        simulate(AUV, parse_scenario(text, 'wrong'))


def test_the_doctor_counts_what_fins_hold():
    pitch, yaw = munk_speeds(AUV)
    assert yaw == np.inf  # a steady turn follows a small rudder, see above
    assert 0.47 < pitch < 5  # √(m g h/(M₃₃ − M₁₁)) without the planes
    assert munk_speeds(replace(AUV, extensions={}))[1] < 0.2


@pytest.mark.parametrize(
    ('commands', 'told'),
    [
        ({'rudders': np.zeros(4)}, r'the command of rudders has the shape \(4,\)'),
        ({'fins': np.zeros(3)}, r'expected some of: fins \(4,\)'),
    ],
)
def test_a_command_that_does_not_fit_is_refused(commands, told):
    with pytest.raises(ParameterError, match=told):
        Simulation(AUV).tick(np.array([1500.0]), commands)


@pytest.mark.long
def test_vehicles_of_a_batch_follow_their_own_commands():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.batch import simulate_batch

    turn = '  - {{at: 0.1, pwm: [1800], fins: {{rudder_upper: {}}}}}\n'
    scenarios = [
        parse_scenario(AHEAD.format(1) + turn.format(angle), 'turn') for angle in (0.1, -0.2)
    ]
    fins = fins_of(AUV)
    large = replace(AUV, extensions={'fins': replace(fins, area=1.5 * fins.area)})
    vehicles = (AUV, large)
    batch = simulate_batch(vehicles, scenarios, every=100)
    for row, (vehicle, scenario) in enumerate(zip(vehicles, scenarios, strict=True)):
        expected = simulate(vehicle, scenario).position[-1]
        np.testing.assert_allclose(batch.position[-1, row], expected, rtol=0, atol=1e-12)
    assert np.abs(batch.position[-1, 0] - batch.position[-1, 1]).max() > 1e-4
