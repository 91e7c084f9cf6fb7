# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gymnasium environments: its own checks, seeds, and what is rewarded."""

from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import Simulation, simulate

pytest.importorskip('jax', reason='jax: not installed (extra rl)')
gymnasium = pytest.importorskip('gymnasium', reason='gymnasium: not installed (extra rl)')

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

from marine_sim_ros.engine.stepper import Bodies, Stepper  # noqa: E402
from marine_sim_ros.gym import ENVIRONMENTS  # noqa: E402
from marine_sim_ros.gym.fleet import Fleet  # noqa: E402
from marine_sim_ros.gym.tasks import Episode, StationKeeping, WaypointFollowing  # noqa: E402

STATION, WAYPOINTS = sorted(ENVIRONMENTS)
COUNT = 6


@pytest.fixture(scope='module')
def single():
    return {name: gymnasium.make(name, vehicle='bluerov2') for name in ENVIRONMENTS}


@pytest.fixture(scope='module')
def many():
    return gymnasium.make_vec(STATION, num_envs=COUNT, vehicle='bluerov2')


@pytest.mark.long
@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('name', sorted(ENVIRONMENTS))
def test_gymnasium_finds_nothing_wrong(single, name):
    check_env(single[name].unwrapped, skip_render_check=True)


def test_a_vector_is_a_row_of_single_ones_with_seeds_in_order(single, many):
    assert many.metadata['autoreset_mode'] is AutoresetMode.NEXT_STEP
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (20, COUNT, 6)).astype(np.float32)
    seen, _ = many.reset(seed=40)
    assert many.observation_space.contains(seen)
    rows = [seen]
    for action in actions:
        seen, reward, ended, cut, _ = many.step(action)
        rows.append(seen)
        assert reward.shape == ended.shape == cut.shape == (COUNT,)
    one = single[STATION]
    for i in (0, COUNT - 1):
        begun, _ = one.reset(seed=40 + i)
        np.testing.assert_array_equal(rows[0][i], begun)
        for k, action in enumerate(actions):
            alone, *_ = one.step(action[i])
            np.testing.assert_allclose(rows[k + 1][i], alone, atol=1e-6)
    again, _ = many.reset(seed=40)
    np.testing.assert_array_equal(again, rows[0])
    other, _ = many.reset(seed=[7] * COUNT)
    np.testing.assert_array_equal(other[0], other[-1])
    assert np.abs(other - again).max() > 0.1


def test_what_has_ended_begins_anew_in_the_next_step(many):
    seen, _ = many.reset(seed=3)
    up = np.zeros((COUNT, 6), np.float32)
    up[0, :4], up[0, 4:] = 0.0, 1.0  # one goes up and away
    up[0, 4:] *= np.sign(load_vehicle('bluerov2').thrusters.effectiveness[2, 4])
    for _ in range(300):
        seen, reward, ended, cut, _ = many.step(up)
        if ended[0]:
            break
    assert ended[0]
    assert np.linalg.norm(seen[0, :3]) > StationKeeping.farthest
    seen, reward, ended, cut, _ = many.step(up)
    assert np.linalg.norm(seen[0, :3]) < 2.0
    assert reward[0] == 0
    assert not (ended | cut)[0]
    assert np.abs(seen[0, 9:]).max() == 0  # at rest


def test_what_has_ended_begins_anew_in_the_same_step_where_that_is_asked_for(many):
    same = gymnasium.make_vec(
        STATION, num_envs=COUNT, vehicle='bluerov2', autoreset_mode='SameStep'
    )
    assert same.metadata['autoreset_mode'] is AutoresetMode.SAME_STEP
    begun, _ = same.reset(seed=3)
    np.testing.assert_array_equal(begun, many.reset(seed=3)[0])
    down = np.tile(np.array([0, 0, 0, 0, 1, 1], np.float32), (COUNT, 1))
    for _ in range(StationKeeping.steps):
        seen, reward, ended, cut, info = same.step(down)
        # The other mode tells the last observation of an episode in place of the next one's first.
        last, expected, *ends, _ = many.step(down)
        np.testing.assert_array_equal((ended, cut), ends)
        np.testing.assert_array_equal(reward, expected)
        if (ended | cut).any():
            break
    over = info['_final_obs']
    np.testing.assert_array_equal(over, ended | cut)
    np.testing.assert_array_equal(info['final_obs'][over], last[over])
    first, *_ = many.step(down)
    np.testing.assert_array_equal(seen[over], first[over])


def test_an_autoreset_mode_that_is_not_there_is_told():
    with pytest.raises(ParameterError, match=r"'Disabled'; expected NextStep or SameStep"):
        gymnasium.make_vec(STATION, num_envs=1, vehicle='bluerov2', autoreset_mode='Disabled')


def test_the_vehicles_move_as_numpy_moves_them():
    vehicle = load_vehicle('bluerov2')
    current, pwm = np.array([0.1, -0.2, 0.0]), 1500.0 + np.array([90, -40, 120, 60, -70, 30])
    start = State(np.array([0, 0, -5.0]), np.array([0, 0, 0, 1.0]), np.zeros(6))
    stepper = Stepper(vehicle, size=2, ticks=5, dt=0.01)
    bodies = stepper.at_rest(np.stack([start.position] * 2), np.stack([start.orientation] * 2))
    simulation = Simulation(
        vehicle, environment=Environment(current=current), initial=start, dt=0.01
    )
    simulation._since_last = 0.01  # rotors turn from the first tick on
    for _ in range(10):
        bodies = stepper.step(bodies, np.stack([pwm] * 2), np.stack([current] * 2))
    for _ in range(50):
        simulation.tick(pwm)
    for found, expected in zip(bodies, simulation.state, strict=False):
        np.testing.assert_allclose(found[1], expected, atol=1e-12)


def bodies_at(*positions, yaw=0.0):
    count = len(positions)
    turned = np.tile([0, 0, np.sin(yaw / 2), np.cos(yaw / 2)], (count, 1))
    return Bodies(np.array(positions, float), turned, np.zeros((count, 6)), np.zeros((count, 6)))


def test_the_station_is_rewarded():
    task = StationKeeping()
    episode = Episode(np.zeros((3, 3)), np.tile(task.station, (3, 1, 1)), np.zeros(3, int))
    here = bodies_at((0, 0, -5), (0, 1, -5), (6, 0, -5))
    judged = task.judge(here, here, np.zeros((3, 6)), episode)
    np.testing.assert_allclose(judged.reward, [1.0, np.exp(-1), np.exp(-36)])
    assert judged.terminated.tolist() == [False, False, True]
    turned = bodies_at((0, 1, -5), yaw=np.pi / 2)
    seen = task.judge(turned, turned, np.ones((1, 6)), Episode(*(x[:1] for x in episode)))
    np.testing.assert_allclose(seen.observation[0, :3], [-1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(seen.observation[0, 3:6], [0, -1, 0], atol=1e-12)  # east
    np.testing.assert_allclose(seen.reward, [np.exp(-1) * 2 / 3 - 0.05])


def test_waypoints_are_passed_one_after_the_other():
    task = WaypointFollowing()
    goals = np.array([[[float(i), 0, -10] for i in range(1, 6)]])
    episode = Episode(np.zeros((1, 3)), goals, np.array([0]))
    before, after = bodies_at((0, 0, -10)), bodies_at((0.6, 0, -10))
    judged = task.judge(before, after, np.zeros((1, 6)), episode)
    np.testing.assert_allclose(judged.reward, [0.6 + 1])
    np.testing.assert_allclose(judged.observation[0, :6], [1.4, 0, 0, 2.4, 0, 0], atol=1e-12)
    assert judged.episode.next[0] == 1
    last = episode._replace(next=np.array([4]))
    judged = task.judge(bodies_at((4, 0, -10)), bodies_at((4.7, 0, -10)), np.zeros((1, 6)), last)
    assert judged.terminated[0]


def test_vehicles_with_hulls_are_told():
    with pytest.raises(ParameterError, match='lumped'):
        gymnasium.make(STATION, vehicle='investigator90')
    with pytest.raises(ParameterError, match='at least 1'):
        gymnasium.make_vec(STATION, num_envs=0)


@pytest.mark.long
def test_sensors_are_observed():
    many = gymnasium.make_vec(STATION, num_envs=4, vehicle='bluerov2', observe='sensors')
    seen, _ = many.reset(seed=7)
    vehicle = load_vehicle('bluerov2')
    assert [s.name for s in vehicle.sensors] == ['barometer', 'imu', 'magnetometer', 'battery']
    assert seen.shape == (4, 2 + 6 + 3 + 3 + 3)
    assert many.observation_space.contains(seen)
    np.testing.assert_array_equal(seen[:, -3:], np.tile([0.0, 0.0, -5.0], (4, 1)))
    np.testing.assert_allclose(np.linalg.norm(seen[:, 5:8], axis=1), 9.8, atol=0.2)
    rows = [seen]
    for _ in range(5):
        seen, *_ = many.step(np.zeros((4, 6), np.float32))
        rows.append(seen)
    depth = (np.stack(rows)[..., 0] - 101300) / (1000 * 9.8)
    assert np.all((depth > 3.8) & (depth < 6.2))
    # Noise is of the vehicle's own episode, and the same again.
    assert len(np.unique(rows[3][:, 2])) > 1
    assert len(np.unique(rows[3][:, 0])) == 4
    again, _ = many.reset(seed=7)
    np.testing.assert_array_equal(again, rows[0])
    alone = gymnasium.make(STATION, vehicle='bluerov2', observe='sensors')
    first, _ = alone.reset(seed=9)
    np.testing.assert_array_equal(first, rows[0][2])
    check_env(alone.unwrapped, skip_render_check=True)
    with pytest.raises(ParameterError, match="observe is 'all'; expected one of: state, sensors"):
        gymnasium.make(STATION, vehicle='bluerov2', observe='all')


SEEING = {'dvl': 'true', 'altimeter': 'true'}


@pytest.mark.long
def test_sensors_that_see_the_seabed_read_what_they_read_in_simulate(monkeypatch):
    """A DVL and an altimeter drift over sand with a pipeline, by the current alone."""
    monkeypatch.setattr('marine_sim_ros.gym.sensing.LATEST', 1)  # stamps from 0 on
    vehicle, count, steps = load_vehicle('bluerov2_heavy', **SEEING), 3, 60
    fleet = Fleet('StationKeeping', vehicle, count, 'sensors', 'shallow_sand')
    fleet.begin([np.random.default_rng(i) for i in range(count)])
    began, current = fleet.bodies, fleet.episode.current
    rows = [fleet.readings]
    for _ in range(steps):
        fleet.step(np.zeros((count, 8)))
        rows.append(fleet.readings)
    still = parse_scenario('duration: 6\nsegments: [{at: 0.0}]\n', 'still')
    for i in range(count):
        around = replace(load_environment('shallow_sand'), current=current[i])
        place, angles = began.position[i], rpy_from_quaternion(began.orientation[i])
        scenario = replace(still, position=tuple(place), rpy=tuple(angles))
        run = simulate(vehicle, scenario, environment=around, dt=0.01)
        for sensor in (s for s in vehicle.sensors if s.name in SEEING):
            name, late = sensor.name, -(-sensor.latency // 10**8)
            series = run.sensors[name]
            at = np.round(series.stamp / 1e8).astype(int)
            used = at + late <= steps
            assert used.sum() > 20
            for quantity in rows[0][name]:
                expected = series[quantity][used]
                found = np.array([rows[k + late][name][quantity][i] for k in at[used]])
                told = ~np.isnan(expected)
                assert told.mean() > 0.9
                np.testing.assert_allclose(found[told], expected[told], rtol=0, atol=1e-9)


def test_an_episode_ends_in_the_seabed():
    fleet = Fleet('StationKeeping', 'bluerov2', 2, 'state', 'shallow_sand')
    fleet.begin([np.random.default_rng(i) for i in range(2)])
    fleet.bodies.position[:] = [[0.0, 0.0, -5.0], [0.0, 0.0, -9.9]]
    fleet.task = WaypointFollowing()  # whose end is far away
    fleet.bodies.position[1, 2] -= 1.0
    judged, _ = fleet.step(np.zeros((2, 6)))
    assert judged.terminated.tolist() == [False, True]


def test_water_that_moves_is_told():
    with pytest.raises(ParameterError, match='regular_waves has waves'):
        gymnasium.make(STATION, vehicle='bluerov2', environment='regular_waves')


def test_stable_baselines_learns_from_a_pool():
    pytest.importorskip('stable_baselines3', reason='stable-baselines3: not installed')
    from test_examples import example

    station = example('keep_station')
    agent, curve = station.learned(64 * 128 * 6)
    assert curve[-1, 1] > curve[0, 1]
    assert np.isfinite(station.distances(agent, 16)).any()
