# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Randomised vehicles of learning: drawn from a seed, each the vehicle that simulate has."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT
from doc_blocks import blocks_of

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.state import State
from marine_sim_ros.sim.simulation import Simulation

pytest.importorskip('jax', reason='jax: not installed (extra rl)')
gymnasium = pytest.importorskip('gymnasium', reason='gymnasium: not installed (extra rl)')

from gymnasium.utils.env_checker import check_env  # noqa: E402

from marine_sim_ros.gym.episodes import Episodes  # noqa: E402
from marine_sim_ros.gym.randomization import (  # noqa: E402
    RANDOMIZATIONS,
    Randomization,
    load_randomization,
    parse_randomization,
)

VEHICLE = 'bluerov2'


def plan(*lines):
    return parse_randomization('parameters:\n' + ''.join(f'  {x}\n' for x in lines), 'plan')


def randomization(*lines, vehicle=VEHICLE):
    return Randomization(plan(*lines), load_vehicle(vehicle), Environment())


@pytest.mark.parametrize('name', RANDOMIZATIONS.names())
@pytest.mark.parametrize('vehicle', ['bluerov2', 'bluerov2_heavy'])
def test_a_shipped_file_draws_within_its_ranges(name, vehicle):
    base = load_vehicle(vehicle)
    draws = Randomization(load_randomization(name), base, Environment())
    rng = np.random.default_rng(3)
    found = [draws.variation(draws.draw(rng)) for _ in range(20)]
    volume = [v.setting.vehicle.buoyancy.volume / base.buoyancy.volume for v in found]
    assert 0.97 < min(volume) < max(volume) < 1.06
    drag = np.array([v.setting.vehicle.damping.elements.mixed for v in found])
    ratio = drag / base.damping.elements.mixed
    assert np.all((ratio >= 0.5) & (ratio <= 2.0))
    assert np.abs(np.corrcoef(ratio.T) - np.eye(8)).max() < 0.9  # each has its own draw
    assert np.ptp([v.delay for v in found]) > 0.1
    speed = np.linalg.norm([v.current for v in found], axis=1)
    assert 0.3 < speed.max() <= 0.6
    assert all(np.linalg.eigvalsh(v.setting.vehicle.mass_matrix)[0] > 0 for v in found)


def test_the_file_of_the_page_can_be_used():
    (block,) = (b for b in blocks_of(ROOT / 'docs/how-to/learning.md') if b.language == 'yaml')
    draws = Randomization(
        parse_randomization(block.text, 'learning.md'), load_vehicle(VEHICLE), Environment()
    )
    first = draws.variation(draws.draw(np.random.default_rng(0)))
    assert first.specs['barometer']['variance'] > 0
    assert draws.delays
    assert draws.stepwise


def test_equal_seeds_draw_equal_vehicles():
    draws = randomization(
        'vehicle.inertia.mass: {mean: 1.0, deviation: 0.01, relative: true}',
        'vehicle.thrusters.time_constant[:]: {low: 0.1, high: 0.3, each: true}',
    )

    def numbers(seed):
        vehicle = draws.variation(draws.draw(np.random.default_rng(seed))).setting.vehicle
        return np.append(vehicle.thrusters.time_constant, vehicle.inertia.mass)

    np.testing.assert_array_equal(numbers(1), numbers(1))
    assert np.all(numbers(1) != numbers(2))
    assert len(np.unique(numbers(1))) == 7


def test_what_is_drawn_for_each_step_changes_and_the_rest_stays():
    draws = randomization(
        'vehicle.inertia.mass: {low: 0.9, high: 1.1, relative: true}',
        'current.speed: {low: 0.0, high: 0.4, every: step}',
    )
    rng = np.random.default_rng(0)
    first = draws.draw(rng)
    second = draws.redraw(first, rng)
    assert first[0] is second[0]
    assert first[1] != second[1]
    assert draws.stepwise


def test_a_payload_adds_its_mass_and_volume_where_it_is():
    base = load_vehicle(VEHICLE)
    (variation,) = randomization(
        'payload.mass: {low: 0.4, high: 0.4}',
        'payload.volume: {low: 0.0001, high: 0.0001}',
        'payload.x: {low: 0.2, high: 0.2}',
    ).extremes()[:1]
    vehicle = variation.setting.vehicle
    assert vehicle.inertia.mass == pytest.approx(base.inertia.mass + 0.4, rel=1e-12)
    moment = vehicle.inertia.mass * vehicle.inertia.center_of_mass
    expected = base.inertia.mass * base.inertia.center_of_mass + [0.08, 0.0, 0.0]
    np.testing.assert_allclose(moment, expected, atol=1e-12)
    assert vehicle.buoyancy.volume == pytest.approx(base.buoyancy.volume + 1e-4, rel=1e-12)


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('vehicle.inertia.weight: {low: 1, high: 2}', "'weight' is unknown"),
        ('vehicle.inertia.mass: {low: -0.1, high: 1, relative: true}', 'not physical'),
        ('vehicle.damping.linear[0,0]: {low: -5, high: 1}', 'adds energy'),
        ('vehicle.buoyancy.volume: {low: -1, high: 1}', 'volume is negative'),
        ('payload.mass: {low: -1, high: 1}', 'expected 0 or more'),
        ('payload.weight: {low: 0, high: 1}', 'expected absolute numbers of payload'),
        ('action.delay: {low: 0, high: 9}', 'expected 0 to 2 s'),
        ('sensor.imu.colour: {low: 0, high: 1}', 'sensor.imu.colour'),
        ('sensor.eye.noise: {low: 0, high: 1}', 'sensor.eye.noise'),
        ('fault.delayed.thruster_1.delay: {low: 0, high: 1}', 'expected action.delay'),
        ('fault.sensor_bias.eye.size: {low: 0, high: 1}', 'SENSOR.NUMBER'),
        ('fault.weak.engine.share: {low: 0, high: 1}', "'engine' is unknown"),
        ('payload.mass: {low: 0, high: 1, each: true}', 'expected it of an array'),
        ('mood: {low: 0, high: 1}', 'unknown parameter'),
        ('payload.mass: {low: 0, high: 1, every: minute}', 'episode, step'),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(line, message):
    with pytest.raises(MarineSimError, match=message) as caught:
        randomization(line)
    assert '\n' not in str(caught.value)


MOVED = (
    'vehicle.inertia.mass: {low: 0.95, high: 1.05, relative: true}',
    'vehicle.buoyancy.volume: {low: 0.96, high: 1.04, relative: true}',
    'vehicle.damping.elements.mixed[:]: {low: 0.5, high: 2.0, relative: true, each: true}',
    'vehicle.thrusters.thrust_of_pwm.slope[:,:]: {low: 0.5, high: 1.5, relative: true, each: on}',
    'environment.gravity: {low: 9.7, high: 9.9}',
    'current.speed: {low: 0.1, high: 0.5}',
)


def step_by_numpy(simulations, actions):
    for simulation, action in zip(simulations, actions, strict=True):
        for _ in range(10):
            simulation.tick(1500 + 400 * action)


@pytest.mark.long
def test_each_vehicle_moves_as_simulate_moves_the_drawn_one():
    count = 3
    episodes = Episodes('StationKeeping', VEHICLE, count, randomization=plan(*MOVED))
    rngs = [np.random.default_rng(i) for i in range(count)]
    episodes.begin(rngs)
    for _ in range(2):  # the second time with new vehicles
        variations = [episodes.variation(i) for i in range(count)]
        masses = [v.setting.vehicle.inertia.mass for v in variations]
        assert len(set(masses)) == count
        simulations = []
        for i, variation in enumerate(variations):
            around = replace(
                variation.setting.environment, current=episodes.episode.current[i].copy()
            )
            start = State(*(np.array(x[i]) for x in episodes.state))
            simulation = Simulation(
                variation.setting.vehicle, environment=around, initial=start, dt=0.01
            )
            simulation._since_last = 0.01
            simulations.append(simulation)
        rng = np.random.default_rng(2)
        for _ in range(8):
            actions = rng.uniform(-1, 1, (count, 6))
            episodes.step(actions)
            step_by_numpy(simulations, actions)
            for i, simulation in enumerate(simulations):
                for found, expected in zip(episodes.state, simulation.state, strict=True):
                    np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-9)
        episodes.begin(rngs)


@pytest.mark.long
def test_delayed_commands_arrive_later_to_the_tick():
    episodes = Episodes(
        'StationKeeping', VEHICLE, 1, randomization=plan('action.delay: {low: 0.14, high: 0.14}')
    )
    rng = np.random.default_rng(0)
    episodes.begin([rng])
    around = replace(Environment(), current=episodes.episode.current[0].copy())
    start = State(*(np.array(x[0]) for x in episodes.state))
    simulation = Simulation(load_vehicle(VEHICLE), environment=around, initial=start, dt=0.01)
    simulation._since_last = 0.01
    actions = rng.uniform(-1, 1, (6, 6))
    sent = np.repeat(np.concatenate([np.zeros((2, 6)), actions]), 10, axis=0)
    for k, action in enumerate(actions):
        episodes.step(action[None])
        for tick in range(10):
            simulation.tick(1500 + 400 * sent[20 + 10 * k + tick - 14])
        np.testing.assert_allclose(
            episodes.state.position[0], simulation.state.position, rtol=0, atol=1e-9
        )


@pytest.mark.long
def test_gymnasium_finds_nothing_wrong_with_randomised_sensors_and_faults():
    lines = (
        'fault.weak.thruster_1.share: {low: 0.2, high: 0.9}',
        'fault.dead.thruster_2.at: {low: 1.0, high: 20.0}',
        'fault.sensor_bias.barometer.size: {low: 1000, high: 2000}',
        'sensor.barometer.variance: {low: 10, high: 10}',
    )
    env = gymnasium.make(
        'marine_sim_ros/StationKeeping-v0',
        vehicle=VEHICLE,
        observe='sensors',
        randomization=plan(*lines),
    )
    check_env(env.unwrapped, skip_render_check=True)
    episodes = env.unwrapped._episodes
    env.reset(seed=5)
    pressures, depth = [], []
    for _ in range(100):
        observation, *_ = env.step(np.zeros(6, np.float32))
        pressures.append(observation[0])
        depth.append(-episodes.state.position[0, 2])
    fit = np.polyfit(depth, pressures, 1)
    spread = np.std(np.array(pressures) - np.polyval(fit, depth))
    (bias,) = episodes.variation(0).faults
    assert np.polyval(fit, 5.0) == pytest.approx(101300 + 1000 * 9.80665 * 5 + bias.size, abs=100)
    assert spread < 100  # 3 Pa and the steps of the readings, in place of 200
    tables = episodes.variation(0).setting.faults
    assert tables.weak.where[0].tolist() == [1, 0, 0, 0, 0, 0]
    assert 1.0 <= tables.dead.start[0] <= 20.0
