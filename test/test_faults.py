# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What each fault does, against closed forms and the maker's data; the engines agree on all."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from marine_sim_ros import Environment, load_vehicle, simulate
from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.random import draw_ahead, gaussian, stamp_words, threefry
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.faults.devices import (
    LiveThrusters,
    Propulsion,
    faulty_thrusters,
    pressure_error,
)
from marine_sim_ros.faults.fault_types import (
    FAULT_TYPES,
    Gust,
    SensorFault,
    ThrusterFault,
    fault_key,
    parse_faults,
    uniform_draws,
    with_gusts,
)
from marine_sim_ros.faults.tables import BatteryNumbers, battery_voltage, fault_tables
from marine_sim_ros.physics.thrusters import thrusters
from marine_sim_ros.sim.player import failed_thrusters
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import Simulation

ROV = load_vehicle('bluerov2', coefficients='maker', rotor_time_constant='0')
DEEP = state_at_rest((0, 0, -5))
DT = 0.005
NEUTRAL = np.full(6, 1500.0)


def flown(text, command=lambda k: NEUTRAL + 100, ticks=100, vehicle=ROV, seed=0):
    """Return the thrusters' outputs of every tick under faults of a text."""
    simulation = Simulation(vehicle, initial=DEEP, faults=parse_faults(text), seed=seed)
    return [simulation.tick(command(k)).thrusters for k in range(ticks)]


def thrusts(*arguments, **more):
    return np.stack([output.thrust for output in flown(*arguments, **more)])


def ramp(k):
    return NEUTRAL + 2.0 * k


FREE = ROV.thrusters.thrust_of_pwm


def alike(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


# Thrusters.


def test_a_dead_thruster_stands_still_while_it_is_dead():
    found = thrusts('[{at: 0.1, until: 0.2, thruster: thruster_2}]')
    expected = np.tile(FREE(NEUTRAL + 100), (100, 1))
    expected[20:40, 1] = 0.0
    alike(found, expected)


def test_a_weak_thruster_makes_its_share_and_draws_as_before():
    weak = '[{kind: weak, thruster: thruster_2, share: 0.3}, {kind: weak, thruster: thruster_2}]'
    found, whole = flown(weak, ticks=1)[0], flown('', ticks=1)[0]
    np.testing.assert_allclose(found.thrust[1], 0.15 * whole.thrust[1], rtol=1e-15)
    alike(np.delete(found.thrust, 1), np.delete(whole.thrust, 1))
    alike(found.power, whole.power)
    alike(found.rotor_speed, whole.rotor_speed)
    np.testing.assert_allclose(found.wrench, ROV.thrusters.effectiveness @ found.thrust)


def test_a_stuck_thruster_keeps_what_it_had_or_what_it_is_given():
    found = thrusts(
        '[{at: 0.1, until: 0.4, kind: stuck, thruster: thruster_1},'
        ' {at: 0.1, kind: stuck, thruster: thruster_2, pwm: 1400}]',
        ramp,
    )
    free = np.stack([FREE(ramp(k)) for k in range(100)])
    alike(found[:20], free[:20])
    alike(found[20:80, 0], free[19, 0])
    alike(found[80:, 0], free[80:, 0])
    alike(found[20:, 1], FREE(NEUTRAL - 100)[1])
    alike(found[:, 2:], free[:, 2:])


@pytest.mark.parametrize(('delay', 'ticks'), [(0.0, 0), (0.05, 10), (0.052, 10), (0.5, 100)])
def test_a_delayed_thruster_is_as_many_ticks_late(delay, ticks):
    found = thrusts(
        f'[{{at: 0.1, kind: delayed, thruster: thruster_1, delay: {delay}}},'
        ' {kind: delayed, thruster: thruster_2, delay: 0.01}]',
        ramp,
    )
    free = np.stack([FREE(ramp(k)) for k in range(100)])
    late = np.array([free[k - ticks, 0] if k >= ticks else 0.0 for k in range(100)])
    alike(found[:20, 0], free[:20, 0])
    alike(found[20:, 0], late[20:])
    alike(found[2:, 1], free[:-2, 1])
    alike(found[:, 2:], free[:, 2:])


def test_a_reversed_thruster_takes_the_mirrored_command():
    found = thrusts('[{kind: reversed, thruster: thruster_1}]', ticks=1)[0]
    alike(found[0], FREE(NEUTRAL - 100)[0])
    alike(found[1:], FREE(NEUTRAL + 100)[1:])


# Commands.


def test_lost_commands_leave_the_last_one_and_after_a_second_none():
    found = thrusts('[{at: 0.1, until: 1.5, kind: lost_commands}]', ramp, ticks=400)
    free = np.stack([FREE(ramp(k)) for k in range(400)])
    alike(found[20:220], np.tile(free[19], (200, 1)))
    alike(found[220:300], 0.0)
    alike(found[300:], free[300:])


def test_a_share_of_commands_gets_lost():
    lossy = parse_faults('[{kind: lost_commands, share: 0.4}, {kind: lost_commands, share: 0.5}]')

    def losses(seed, count):
        tables = fault_tables(lossy, ROV.thrusters.names, seed)
        stamps = np.arange(count) * 5_000_000
        return np.array([tables.at(np, s / 1e9, stamp_words(s)).lost for s in stamps])

    lost = losses(0, 4000)
    assert lost.mean() == pytest.approx(0.7, abs=0.03)  # 1 − 0.6 · 0.5; 4 deviations
    runs = np.diff(np.flatnonzero(np.diff(lost.astype(int)) == 1))
    assert np.mean(runs) == pytest.approx(1 / (0.3 * 0.7), rel=0.1)  # independent of one another
    np.testing.assert_array_equal(losses(0, 50), lost[:50])
    assert not np.array_equal(losses(1, 50), lost[:50])


def test_draws_are_those_of_the_published_known_answers():
    def words(*values):
        return tuple(np.array([v], np.uint32) for v in values)

    most = 2**32 - 1
    for key, counter, expected in (  # Random123's kat_vectors, threefry2x32 of 20 rounds
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((most, most), (most, most), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ):
        assert threefry(words(*key), words(*counter)) == words(*expected)
        assert threefry(key, counter) == expected


def test_numbers_that_are_drawn_ahead_are_those_of_their_stamps_in_any_order():
    calls = []

    @draw_ahead
    def drawn(seed, name, stamps):
        calls.append(stamps)
        return gaussian.__wrapped__(seed, name, stamps)

    step = 5_000_000
    series = [step * i for i in range(200)]
    jumps = [7, 7, 3, 8, step, 2 * step, 2 * step + 1, 0, step * 64, step * 128, step * 130]
    for seed in 1, 2:
        for stamp in [*series, *jumps, *series[:70]]:
            value = drawn(seed, 'imu', stamp)
            assert value.shape == ()
            assert value == gaussian.__wrapped__(seed, 'imu', stamp)
    assert len(calls) < 2 * 40
    np.testing.assert_array_equal(
        drawn(1, 'imu', np.array(series)), [drawn(1, 'imu', s) for s in series]
    )


def test_draws_are_uniform_and_of_seed_name_and_stamp():
    stamps = stamp_words(np.arange(2000, dtype=np.int64) * 5_000_000 + 2**40)
    shares = np.array([uniform_draws(np, np.array(fault_key(7, 'x')), s) for s in stamps])
    assert np.all((shares >= 0) & (shares < 1))
    counts, _ = np.histogram(shares, 20, (0, 1))
    assert np.sum((counts - 100) ** 2 / 100) < 43.8  # χ² of 19 degrees of freedom, 0.1 %
    assert fault_key(7, 'x') != fault_key(7, 'y') != fault_key(8, 'y')


# Battery.

# Blue Robotics' bench data of September 2019 at 12 and 10 V: pulse width, kgf, W.
T200 = {
    12: (
        (1100, -2.90, 204.4),
        (1200, -1.95, 106.8),
        (1300, -1.02, 39.6),
        (1400, -0.32, 6.0),
        (1600, 0.39, 6.0),
        (1700, 1.28, 39.6),
        (1800, 2.46, 106.8),
        (1900, 3.71, 202.9),
    ),
    10: (
        (1100, -2.31, 136.2),
        (1200, -1.54, 71.0),
        (1300, -0.80, 26.0),
        (1400, -0.24, 4.0),
        (1600, 0.29, 4.0),
        (1800, 1.91, 71.3),
        (1852, 2.48, 105.0),
        (1900, 2.93, 136.0),
    ),
}


@pytest.mark.parametrize('volts', T200)
def test_thrust_and_power_fall_with_the_voltage_as_the_bench_data_do(volts):
    for pwm, force, power in T200[volts]:
        found, _ = thrusters(
            ROV,
            DEEP,
            Environment(),
            np.zeros(6),
            pwm=np.full(6, float(pwm)),
            dt=0.0,
            supply=np.array(volts / 16.0),
        )
        assert found.thrust[0] == pytest.approx(force * 9.80665, abs=0.61)
        if power > 20:
            assert found.power[0] == pytest.approx(power, rel=0.075)


def test_a_battery_under_load_gives_what_its_resistance_leaves():
    battery = '[{kind: battery, voltage: 16, resistance: 0.2, capacity: 0}]'
    outputs = flown(battery, lambda k: NEUTRAL + 200, ticks=40)
    power = outputs[-1].power.sum()
    # U = E − R P/U, so U = (E + √(E² − 4 R P))/2.
    volts = (16 + np.sqrt(256 - 4 * 0.2 * power)) / 2
    assert 10 < volts < 14
    whole = flown('', lambda k: NEUTRAL + 200, ticks=1)[0]
    np.testing.assert_allclose(outputs[-1].thrust, whole.thrust * (volts / 16) ** 1.22, rtol=1e-9)
    np.testing.assert_allclose(outputs[-1].power, whole.power * (volts / 16) ** 2.24, rtol=1e-9)


def test_a_battery_is_emptied_by_what_is_drawn():
    # Without a resistance the voltage falls from 16 to 12 V along dE/dt = −(E₁ − E₀) I/Q.
    battery = '[{kind: battery, voltage: 16, empty: 12, resistance: 0, capacity: 0.01}]'
    outputs = flown(battery, lambda k: NEUTRAL + 200, ticks=400)
    whole = flown('', lambda k: NEUTRAL + 200, ticks=1)[0]
    volts, used = 16.0, 0.0
    for output in outputs[:300]:
        np.testing.assert_allclose(output.thrust, whole.thrust * (volts / 16) ** 1.22, rtol=1e-9)
        used += whole.power.sum() * (volts / 16) ** 2.24 / volts * DT / 3600
        volts = 16 - 4 * min(used / 0.01, 1.0)
    np.testing.assert_allclose(outputs[-1].thrust, whole.thrust * 0.75**1.22, rtol=1e-9)


def test_a_battery_that_is_not_there_yet_is_a_supply_of_the_nominal_voltage():
    found = thrusts('[{at: 0.25, kind: battery, charge: 0.5}]')
    alike(found[:50], np.tile(FREE(NEUTRAL + 100), (50, 1)))
    assert np.all(np.abs(found[50:, 2]) < np.abs(found[0, 2]))


@given(st.floats(0.0, 10.0), st.floats(0.0, 1e5), st.floats(1.0, 1e3))
def test_the_voltage_solves_the_circuit(resistance, load, source):
    numbers = (np.array(x) for x in (True, source, source, 18.0, 1.0, resistance, 16.0))
    volts = battery_voltage(BatteryNumbers(*numbers), np.array(load), np.array(0.0))
    assert 0 < volts <= source
    current = load * (volts / 16.0) ** 2.24 / volts
    assert volts + resistance * current == pytest.approx(source, rel=1e-9)


# Water.


def test_a_gust_is_one_cosine():
    gusts = parse_faults(
        '[{at: 2, kind: gust, speed: 0.8, direction: 30, elevation: 10, duration: 4}]'
    )
    water = with_gusts(Environment(), gusts)
    times = np.linspace(0, 8, 8001)
    velocity = np.stack([water.at(t).velocity(np.zeros(3)) for t in times])
    speed = np.linalg.norm(velocity, axis=1)
    inside = (times >= 2) & (times <= 6)
    expected = 0.4 * (1 - np.cos(2 * np.pi * (times - 2) / 4))
    np.testing.assert_allclose(speed, np.where(inside, expected, 0.0), atol=1e-12)
    assert trapezoid(speed, times) == pytest.approx(0.8 * 4 / 2, rel=1e-9)
    c, s = np.cos(np.radians([30, 10])), np.sin(np.radians([30, 10]))
    towards = np.array([c[0] * c[1], s[0] * c[1], s[1]])
    np.testing.assert_allclose(velocity[4000], 0.8 * towards, atol=1e-12)


def test_a_gust_carries_a_vehicle_along():
    scenario = parse_scenario(
        'duration: 6\ninitial: {position: [0, 0, -5]}\nsegments: [{at: 0}]\n'
        'faults: [{at: 1, kind: gust, speed: 0.5, direction: 90, duration: 3}]',
        'gust',
    )
    position = simulate(ROV, scenario).position
    assert np.all(position[:201, 1] == 0.0)
    assert 0.3 < position[-1, 1] < 0.75 + 0.2
    assert abs(position[-1, 0]) < 0.01


# Barometer.


def test_a_drift_grows_steadily():
    drift = parse_faults('[{at: 2, until: 5, kind: barometer_drift, rate: 7}]')
    errors = [pressure_error(drift, 0, round(t * 1e9)) for t in (1.9, 2.0, 4.0, 5.0)]
    assert errors == [0.0, 0.0, 14.0, 0.0]


def test_spikes_and_dropouts_hit_their_share_of_the_readings():
    faults = parse_faults(
        '[{kind: barometer_spikes, share: 0.2, size: 300}, {kind: barometer_dropout, share: 0.1}]'
    )
    errors = np.array([pressure_error(faults, 3, k * 5_000_000) for k in range(4000)])
    assert np.isnan(errors).mean() == pytest.approx(0.1, abs=0.02)
    there = errors[~np.isnan(errors)]
    assert (there != 0).mean() == pytest.approx(0.2, abs=0.03)
    assert there[there != 0].std() == pytest.approx(300, rel=0.1)
    assert pressure_error(faults, 3, 995_000_000) == errors[199]


def test_a_barometers_faults_leave_the_motion_alone():
    dive = load_scenario('dive')
    faults = parse_faults('[{kind: barometer_drift}, {kind: barometer_dropout, at: 0.5}]')
    found = simulate(ROV, replace(dive, faults=faults), duration=1.0)
    plain = simulate(ROV, dive, duration=1.0)
    assert found.sha256 == plain.sha256
    np.testing.assert_allclose(found.pressure[:100], plain.pressure[:100] + 10 * found.time[:100])
    assert np.isnan(found.pressure[100:]).all()


# Scenarios.


def test_a_scenario_says_what_does_not_fit():
    text = 'duration: 1\nsegments: [{at: 0}]\nfaults: '
    for vehicle, faults, told in (
        ('bluerov2', '[{thruster: bow}]', "thruster 'bow' is unknown; expected one of those of"),
        ('bluerov2', '[{kind: battery}, {kind: battery}]', 'two batteries'),
        ('surface_vessel', '[{kind: barometer_drift}]', 'surface_vessel has no barometer'),
    ):
        with pytest.raises(ScenarioError, match=told):
            parse_scenario(text + faults, 'bad').check(load_vehicle(vehicle))


def test_a_controller_is_told_of_dead_thrusters_only():
    faults = parse_faults(
        '[{at: 1, until: 2, thruster: thruster_1}, {kind: weak, thruster: thruster_2, share: 0}]'
    )
    told = [
        failed_thrusters(faults, ROV, t, ['thruster_6']).nonzero()[0].tolist()
        for t in (0.5, 1.5, 2.5)
    ]
    assert told == [[5], [0, 5], [5]]


# Nodes.


def live(taken, ticks=100, **more):
    """Return thrusts of thrusters that take other faults at the ticks of a mapping."""
    thrusters = LiveThrusters(ROV, seed=0)
    result = []
    for k in range(ticks):
        if k in taken:
            thrusters.take(parse_faults(taken[k], k * DT))
        settings = {'per_tick': True, 'timeout': 1.0, **more}
        output = thrusters.step(k * 5_000_000, DEEP, Environment(), ramp(k), **settings)
        result.append(output.thrust)
    return np.stack(result)


ALL = (
    '[{at: 0.1, kind: stuck, thruster: thruster_1}, {at: 0.1, kind: lost_commands, share: 0.5},'
    ' {kind: delayed, thruster: thruster_2, delay: 0.1}, {kind: battery, resistance: 0.2},'
    ' {at: 0.2, kind: weak, thruster: thruster_3}, {kind: reversed, thruster: thruster_4}]'
)


def test_live_thrusters_are_those_of_a_simulation():
    found = live({0: ALL})
    simulation = Simulation(ROV, initial=DEEP, faults=parse_faults(ALL))
    expected = [simulation.tick(ramp(k)).thrusters.thrust for k in range(100)]
    np.testing.assert_array_equal(found, expected)


def test_faults_that_are_set_in_a_run_begin_with_what_there_is():
    found = live(
        {
            40: '[{kind: stuck, thruster: thruster_1},'
            ' {kind: delayed, thruster: thruster_2, delay: 0.1}]',
            80: '',
        }
    )
    free = np.stack([FREE(ramp(k)) for k in range(100)])
    alike(found[:40], free[:40])
    alike(found[40:80, 0], np.full(40, free[39, 0]))
    alike(found[40:60, 1], np.full(20, free[39, 1]))
    alike(found[60:80, 1], free[40:60, 1])
    alike(found[80:], free[80:])


def test_commands_that_are_not_sent_for_a_tick_are_not_lost_in_one():
    alike(live({0: '[{kind: lost_commands}]'}, per_tick=False), live({}))


@pytest.mark.parametrize('count', [None, 3])
def test_faults_follow_the_array_api_and_broadcast(count):
    array_api_strict = pytest.importorskip('array_api_strict')
    tables = fault_tables(parse_faults(ALL), ROV.thrusters.names)
    shape = () if count is None else (count,)
    results = []
    for xp in (np, array_api_strict):
        rotors = xp.asarray(np.zeros((*shape, 6)))
        state = State(*(xp.asarray(np.broadcast_to(x, (*shape, len(x)))) for x in DEEP))
        memory, thrusts = Propulsion(rotors), []
        for k in range(70):
            stamp = xp.asarray(stamp_words(np.array(k * 5_000_000)))
            pwm = xp.asarray(np.broadcast_to(ramp(k), (*shape, 6)))
            output, memory = faulty_thrusters(
                ROV,
                state,
                Environment(),
                memory,
                tables.at(xp, k * DT, stamp),
                pwm=pwm,
                dt=DT if k else 0.0,
                period=DT,
            )
            thrusts.append(np.asarray(output.thrust))
        results.append(np.stack(thrusts))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-14)
    one = live({0: ALL}, ticks=70)
    np.testing.assert_allclose(
        results[0],
        np.broadcast_to(one.reshape(70, *(1,) * len(shape), 6), results[0].shape),
        rtol=1e-14,
    )


# Engines.


def scripted(kinds):
    """Return a scenario with faults of some kinds, twice."""
    faults = []
    for kind in kinds:
        target = ', thruster: thruster_{}' if issubclass(FAULT_TYPES[kind], ThrusterFault) else ''
        target += ', sensor: barometer' if issubclass(FAULT_TYPES[kind], SensorFault) else ''
        end = '' if FAULT_TYPES[kind] is Gust else ', until: 0.7'
        share = (
            ', share: 0.6'
            if kind in ('lost_commands', 'barometer_spikes', 'sensor_spikes')
            else ''
        )
        faults.append(f'{{at: 0.15, kind: {kind}{target.format(2)}{share}}}')
        if kind != 'battery':
            faults.append(f'{{at: 0.3, kind: {kind}{target.format(5)}{end}}}')
    return parse_scenario(
        'duration: 1.0\ninitial: {position: [0, 0, -3], rpy: [0.1, 0.05, 1.0]}\n'
        'segments:\n'
        '  - {at: 0.0, axes: {surge: 0.3, sway: -0.2, heave: 0.2, yaw: 0.05}}\n'
        '  - {at: 0.5, depth: 3.2}\n'
        '  - {at: 0.8, pwm: [1600, 1570, 1420, 1540, 1650, 1380]}\n'
        f'faults: [{", ".join(faults)}]',
        'scripted',
    )


def changed_by(run, name):
    """Return what a fault of a kind changes of a run, by tick."""
    if name == 'sensor_delay':
        return run.sensors['barometer'].arrival
    return run.pressure if name.startswith(('barometer', 'sensor')) else run.velocity


@pytest.mark.parametrize('name', [name for name in FAULT_TYPES if name != 'cameras_dark'])
def test_every_fault_does_something(name):
    vehicle, scenario = load_vehicle('bluerov2'), scripted([name])
    found = simulate(vehicle, scenario, seed=4)
    plain = simulate(vehicle, replace(scenario, faults=()), seed=4)
    same = np.isclose(changed_by(plain, name), changed_by(found, name), rtol=0, atol=1e-4)
    assert same[:30].all()
    assert not same.all()


@pytest.mark.long
@pytest.mark.parametrize('left_out', [(), ('delayed', 'lost_commands')])
def test_the_engines_agree_on_all_faults_at_once(left_out):
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = load_vehicle('bluerov2')
    scenario = scripted([kind for kind in FAULT_TYPES if kind not in left_out])
    expected = simulate(vehicle, scenario, seed=4)
    found, _ = simulate_compiled(vehicle, scenario, seed=4)
    for what in ('position', 'orientation', 'velocity', 'thrust', 'pwm', 'pressure'):
        np.testing.assert_allclose(
            getattr(found, what), getattr(expected, what), rtol=0, atol=1e-9, err_msg=what
        )


@pytest.mark.long
def test_vehicles_of_a_batch_have_faults_of_their_own():
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.batch import simulate_batch

    base = scripted(['dead'])
    texts = (
        '[]',
        '[{at: 0.1, thruster: thruster_1}, {at: 0.2, thruster: thruster_2}]',
        '[{kind: delayed, thruster: thruster_5, delay: 0.3}, {kind: gust, duration: 0.6}]',
        '[{kind: delayed, thruster: thruster_1, delay: 0.1}, {kind: lost_commands, share: 0.5}]',
        '[{kind: weak, thruster: thruster_6, share: 0.1}, {kind: battery, charge: 0}]',
        '[{kind: lost_commands, share: 0.5}]',
    )
    scenarios = [replace(base, faults=parse_faults(text)) for text in texts]
    vehicle, seeds = load_vehicle('bluerov2'), [0, 1, 2, 3, 4, 9]
    batch = simulate_batch(vehicle, scenarios, seeds=seeds, every=10)
    for i, (scenario, seed) in enumerate(zip(scenarios, seeds, strict=True)):
        alone = simulate(vehicle, scenario, seed=seed)
        np.testing.assert_allclose(
            batch.position[:, i], alone.position[::10], rtol=0, atol=1e-9, err_msg=texts[i]
        )
