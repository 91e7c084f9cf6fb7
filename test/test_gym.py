# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gymnasium environments: its own checks, seeds, and what is rewarded."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import within_chi_square

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import Simulation, simulate

pytest.importorskip('jax', reason='jax: not installed (extra rl)')
gymnasium = pytest.importorskip('gymnasium', reason='gymnasium: not installed (extra rl)')

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

from marine_sim_ros.engine.stepper import LastForces, Stepper, states_in_memory  # noqa: E402
from marine_sim_ros.gym.episodes import Episodes, Sensing  # noqa: E402
from marine_sim_ros.gym.task_model import Episode  # noqa: E402
from marine_sim_ros.gym.tasks import StationKeeping, SurfaceStationKeeping, WaypointFollowing  # noqa: E402

STATION, AFLOAT, WAYPOINTS = (
    f'marine_sim_ros/{name}-v0'
    for name in ('StationKeeping', 'SurfaceStationKeeping', 'WaypointFollowing')
)
COUNT = 6


@pytest.fixture(scope='module')
def single():
    return {name: gymnasium.make(name, vehicle='bluerov2') for name in (STATION, WAYPOINTS)}


@pytest.fixture(scope='module')
def many():
    return gymnasium.make_vec(STATION, num_envs=COUNT, vehicle='bluerov2')


@pytest.mark.long
@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('name', [STATION, WAYPOINTS])
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
    assert np.linalg.norm(seen[0, :3]) > StationKeeping.max_distance
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
    memory = stepper.at_rest(np.stack([start.position] * 2), np.stack([start.orientation] * 2))
    simulation = Simulation(
        vehicle, environment=Environment(current=current), initial=start, dt=0.01
    )
    simulation._since_last = 0.01  # rotors turn from the first tick on
    for _ in range(10):
        memory = stepper.step(memory, np.stack([pwm] * 2), np.stack([current] * 2))
    for _ in range(50):
        simulation.tick(pwm)
    for found, expected in zip(states_in_memory(memory), simulation.state, strict=True):
        np.testing.assert_allclose(found[1], expected, atol=1e-12)


def at(*positions, yaw=0.0):
    count = len(positions)
    turned = np.tile([0, 0, np.sin(yaw / 2), np.cos(yaw / 2)], (count, 1))
    return State(np.array(positions, float), turned, np.zeros((count, 6)))


def test_the_station_is_rewarded():
    task = StationKeeping()
    episode = Episode(np.zeros((3, 3)), np.tile(task.station, (3, 1, 1)), np.zeros(3, int))
    here = at((0, 0, -5), (0, 1, -5), (6, 0, -5))
    judged = task.judge(here, here, np.zeros((3, 6)), episode)
    np.testing.assert_allclose(judged.reward, [1.0, np.exp(-1), np.exp(-36)])
    assert judged.terminated.tolist() == [False, False, True]
    turned = at((0, 1, -5), yaw=np.pi / 2)
    seen = task.judge(turned, turned, np.ones((1, 6)), Episode(*(x[:1] for x in episode)))
    np.testing.assert_allclose(seen.observation[0, :3], [-1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(seen.observation[0, 3:6], [0, -1, 0], atol=1e-12)  # east
    np.testing.assert_allclose(seen.reward, [np.exp(-1) * 2 / 3 - 0.05])


def test_waypoints_are_passed_one_after_the_other():
    task = WaypointFollowing()
    goals = np.array([[[float(i), 0, -10] for i in range(1, 6)]])
    episode = Episode(np.zeros((1, 3)), goals, np.array([0]))
    before, after = at((0, 0, -10)), at((0.6, 0, -10))
    judged = task.judge(before, after, np.zeros((1, 6)), episode)
    np.testing.assert_allclose(judged.reward, [0.6 + 1])
    np.testing.assert_allclose(judged.observation[0, :6], [1.4, 0, 0, 2.4, 0, 0], atol=1e-12)
    assert judged.episode.next[0] == 1
    last = episode._replace(next=np.array([4]))
    judged = task.judge(at((4, 0, -10)), at((4.7, 0, -10)), np.zeros((1, 6)), last)
    assert judged.terminated[0]


def test_a_place_afloat_is_rewarded_whatever_the_height_and_the_heading():
    task = SurfaceStationKeeping()
    episode = Episode(np.zeros((4, 3)), np.zeros((4, 1, 3)), np.zeros(4))
    here = at((0, 0, 0), (0, 2, 1.5), (16, 0, 0), (0, 0, 0))
    here.orientation[3] = [1, 0, 0, 0]  # keel up
    judged = task.judge(here, here, np.zeros((4, 2)), episode)
    np.testing.assert_allclose(judged.reward, [1, np.exp(-1), np.exp(-64), 1])
    assert judged.terminated.tolist() == [False, False, True, True]
    turned = at((0, 2, 1.5), yaw=np.pi / 2)
    seen = task.judge(turned, turned, np.ones((1, 2)), Episode(*(x[:1] for x in episode)))
    np.testing.assert_allclose(seen.observation[0, :3], [-2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(seen.reward, [np.exp(-1) - 0.05])


def test_no_vehicle_at_all_is_told():
    with pytest.raises(ParameterError, match='at least 1'):
        gymnasium.make_vec(STATION, num_envs=0)


AROUND = [
    ('StationKeeping', 'bluerov2', 'moderate_sea'),
    ('StationKeeping', 'bluerov2', 'tidal_channel'),
    ('WaypointFollowing', 'simple_rov', ''),
    ('StationKeeping', 'torpedo_auv', ''),
    ('SurfaceStationKeeping', 'surface_vessel', 'moderate_sea'),
    ('SurfaceStationKeeping', 'wamv', 'moderate_sea'),
]


def simulated(episodes, vehicle, around, i):
    """What ``simulate`` computes, from where vehicle i is; its rotors turn in the first tick."""
    state = State(*(np.array(x[i]) for x in episodes.state))
    around = replace(around, current=episodes.episode.current[i].copy())
    dt = 0.01 if vehicle.hull is None else 0.005
    simulation = Simulation(vehicle, environment=around, initial=state, dt=dt)
    simulation._since_last = dt
    return simulation, round(0.1 / dt)


@pytest.mark.long
@pytest.mark.parametrize(('task', 'name', 'around'), AROUND)
def test_a_step_is_what_simulate_computes(monkeypatch, task, name, around):
    monkeypatch.setattr('marine_sim_ros.gym.episodes.MAX_START_TIME', 1)  # the sea begins at 0
    vehicle, count = load_vehicle(name), 2
    water = load_environment(around) if around else Environment()
    episodes = Episodes(task, vehicle, count, environment=water)
    episodes.begin([np.random.default_rng(i) for i in range(count)])
    runs = [simulated(episodes, vehicle, water, i) for i in range(count)]
    rng = np.random.default_rng(2)
    for _ in range(10):
        actions = rng.uniform(-1, 1, (count, len(vehicle.thrusters)))
        episodes.step(actions)
        for i, (simulation, ticks) in enumerate(runs):
            for _ in range(ticks):
                simulation.tick(1500 + 400 * actions[i])
            for found, expected in zip(episodes.state, simulation.state, strict=True):
                np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize('name', ['bluerov2', 'simple_rov'])
def test_vehicles_touch_the_floor_of_a_pool_as_in_simulate(name):
    """They are driven down on it; those that touch and those that do not are in one batch.

    In a current: straight down, along its own sides, simple_rov trembles and amplifies rounding.
    """
    vehicle, water = load_vehicle(name), load_environment('pool')
    episodes = Episodes('StationKeeping', vehicle, 2, environment=water)
    episodes.begin([np.random.default_rng(i) for i in range(2)])
    floor = float((vehicle.contact.position[:, 2] - vehicle.contact.radius).min())
    runs = []
    for i, height in enumerate((0.05, 1.5)):
        start = np.array([[0.1 * i, 0.2, -4.0 - floor + height]])
        turned, flow = np.array([[0.0, 0.0, 0.0, 1.0]]), np.array([[0.1, -0.07, 0.0]])
        memory = episodes._at_rest(start, turned, flow, np.zeros(1, int), np.zeros((0, 1)))
        episodes.memory[:, i] = memory[:, 0]
        episodes._numbers[:3, i] = flow[0]
        runs.append(simulated(episodes, vehicle, water, i))
    effectiveness = vehicle.thrusters.effectiveness[2]
    down = -np.sign(effectiveness) * (np.abs(effectiveness) > 0.5)
    ground = -4.0 - floor
    lowest = np.inf
    for _ in range(7):
        episodes.step(np.stack([down, down]))
        for i, (simulation, ticks) in enumerate(runs):
            for _ in range(ticks):
                simulation.tick(1500 + 400 * down)
            for found, expected in zip(episodes.state, simulation.state, strict=True):
                np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-9)
        lowest = min(lowest, episodes.state.position[0, 2])
    assert ground - 0.02 < lowest < ground + 0.02  # on the floor, not through it


@pytest.mark.long
def test_without_contact_an_episode_ends_in_the_floor():
    episodes = Episodes('StationKeeping', 'bluerov2', 2, environment='pool', contact=False)
    episodes.begin([np.random.default_rng(i) for i in range(2)])
    np.testing.assert_array_equal(episodes.episode.goals[:, 0, 2], [-2.0, -2.0])
    episodes.memory[2] = [-3.9, -4.1]
    stepped = episodes.step(np.zeros((2, 6)))
    assert stepped.terminated.tolist() == [False, True]


@pytest.mark.long
@pytest.mark.parametrize(
    ('name', 'arguments'),
    [
        (AFLOAT, {'vehicle': 'wamv', 'environment': 'moderate_sea'}),
        (STATION, {'vehicle': 'simple_rov', 'environment': 'moderate_sea', 'observe': 'sensors'}),
    ],
)
def test_in_waves_a_vector_is_a_row_of_single_ones(name, arguments):
    one = gymnasium.make(name, **arguments)
    check_env(one.unwrapped, skip_render_check=True)
    many = gymnasium.make_vec(name, num_envs=3, **arguments)
    seen, _ = many.reset(seed=40)
    assert many.observation_space.contains(seen)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (8, *many.action_space.shape)).astype(np.float32)
    rows = [seen, *(many.step(a)[0] for a in actions)]
    for i in (0, 2):
        begun, _ = one.reset(seed=40 + i)
        np.testing.assert_array_equal(rows[0][i], begun)
        for k, action in enumerate(actions):
            alone, *_ = one.step(action[i])
            np.testing.assert_allclose(rows[k + 1][i], alone, rtol=1e-6, atol=1e-6)
    again, _ = many.reset(seed=40)
    np.testing.assert_array_equal(again, rows[0])
    assert len(np.unique(rows[-1][:, 0])) == 3  # each has a sea of its own


@pytest.mark.long
def test_a_boat_begins_on_the_surface_of_its_sea():
    water = load_environment('moderate_sea')
    episodes = Episodes('SurfaceStationKeeping', 'wamv', 5, environment=water)
    episodes.begin([np.random.default_rng(i) for i in range(5)])
    place = episodes.state.position
    for i in range(5):
        height = water.at(episodes.stamps[i] / 1e9).elevation(place[i])
        assert place[i, 2] == height
    assert np.ptp(place[:, 2]) > 0.2


def test_too_little_water_is_told():
    with pytest.raises(ParameterError, match='ground is 4 m deep; expected 16 m of water'):
        gymnasium.make(WAYPOINTS, vehicle='bluerov2', environment='pool')


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
    monkeypatch.setattr('marine_sim_ros.gym.episodes.MAX_START_TIME', 1)  # stamps from 0 on
    begin = Sensing.begin  # with the noise of seed 0, which is that of simulate
    monkeypatch.setattr(Sensing, 'begin', lambda self, *a: begin(self, *a[:3], [0] * len(a[3])))
    vehicle, count, steps = load_vehicle('bluerov2_heavy', **SEEING), 3, 60
    episodes = Episodes('StationKeeping', vehicle, count, 'sensors', 'shallow_sand')
    episodes.begin([np.random.default_rng(i) for i in range(count)])
    began, current = episodes.state, episodes.episode.current
    rows = [episodes.readings]
    for _ in range(steps):
        episodes.step(np.zeros((count, 8)))
        rows.append(episodes.readings)
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


def test_stable_baselines_learns_from_a_pool():
    pytest.importorskip('stable_baselines3', reason='stable-baselines3: not installed')
    from test_examples import example

    station = example('keep_station')
    agent, curve = station.learned(64 * 128 * 6)
    assert curve[-1, 1] > curve[0, 1]
    assert np.isfinite(station.distances(agent, 16)).any()


NOISY = """<robot name="noisy"><link name="base_link"><inertial><mass value="12"/>
<inertia ixx="0.13" ixy="0" ixz="0" iyy="0.24" iyz="0" izz="0.29"/></inertial></link>
<buoyancy><volume>0.012</volume><center_of_volume>0 0 0.03</center_of_volume></buoyancy>
<sensor type="imu" name="imu" rate="10"><gyro_noise>0</gyro_noise><gyro_bias>0.02</gyro_bias>
<gyro_random_walk>0.001</gyro_random_walk><gyro_bias_instability>0</gyro_bias_instability>
<gyro_resolution>0</gyro_resolution></sensor>
<sensor type="thermometer" name="water" rate="10"><noise>0.3</noise></sensor></robot>"""


def sensed(seeds, steps=1, begins=0):
    """Return gyro (N, 3) and temperature (N,) of vehicles at rest, of episodes with seeds."""
    vehicle, count = load_vehicle(NOISY), len(seeds)
    sensing = Sensing(vehicle, count, 0.1, Environment())
    turned = np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
    state = State(np.tile([0.0, 0.0, -5.0], (count, 1)), turned, np.zeros((count, 6)))
    forces = LastForces(np.zeros((count, 6)), np.zeros((count, 0)))
    stamps = np.full(count, begins * NANOSECONDS)
    sensing.begin(np.arange(count), state, stamps, seeds)
    for i in range(1, steps + 1):
        sensing.step(state, forces, stamps + i * NANOSECONDS // 10)
    told = sensing.readings()
    return told['imu']['angular_velocity'], told['water']['temperature'].ravel()


def test_each_episode_draws_noise_bias_and_drift_of_its_own():
    seeds = np.arange(300) * 7 + 3
    gyro, water = sensed(seeds)
    assert len(np.unique(gyro[:, 0])) == len(seeds)
    assert within_chi_square(gyro, 0.02)
    assert within_chi_square(water - np.median(water), 0.3)
    # The walk begins with the episode, however late that is: 0.001 √t beside the bias.
    later, _ = sensed(seeds, steps=300, begins=500_000)
    walk = later - sensed(seeds, begins=500_000)[0]
    assert within_chi_square(walk, 0.001 * np.sqrt(29.9))
    # Bias of an episode lasts, and the same seed draws the same.
    assert abs(np.corrcoef(later.ravel(), gyro.ravel())[0, 1]) > 0.9
    np.testing.assert_array_equal(sensed(seeds[:5])[0], gyro[:5])


LASTING = (
    NOISY[: NOISY.index('<sensor')]
    + """
<sensor type="imu" name="imu" rate="10"><accelerometer_noise>0</accelerometer_noise>
<accelerometer_scale_error>0.01</accelerometer_scale_error><misalignment>0.02</misalignment></sensor>
<sensor type="magnetometer" name="compass" rate="10"><bias>1e-6</bias></sensor>
<sensor type="gps" name="gps" rate="10"><origin xyz="0 0 0.3"/>
<horizontal_wander>2</horizontal_wander></sensor>
<sensor type="dvl" name="dvl" rate="10"><origin rpy="3.141592653589793 0 0"/>
<velocity_noise>0</velocity_noise><velocity_noise_rate>0</velocity_noise_rate>
<dropout>0</dropout><scale_error>2</scale_error><misalignment>0.005</misalignment>
<heading_drift>3600</heading_drift></sensor>
<barometer><variance>0</variance><bias>500</bias></barometer>
<sensor type="thermometer" name="warmth" rate="10"><bias>0.1</bias></sensor>
<sensor type="altimeter" name="echo" rate="10"><origin rpy="0 1.5707963267948966 0"/>
<range_noise>0</range_noise><resolution>0</resolution><scale_error>0.01</scale_error></sensor>
<sensor type="battery" name="supply" rate="10"><voltage_bias>0.2</voltage_bias></sensor></robot>"""
)


def test_errors_that_last_are_of_the_vehicle_and_its_episode():
    """Scale, misalignment, bias and drift of 100 vehicles that swim ahead with 1 m/s."""
    seeds, second = np.arange(100) * 11 + 5, NANOSECONDS
    around, level = load_environment('shallow_sand'), np.tile([0.0, 0.0, 0.0, 1.0], (100, 1))
    swims = np.tile([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], (100, 1))
    state = State(np.tile([0.0, 0.0, -0.1], (100, 1)), level, swims)
    forces = LastForces(np.zeros((100, 6)), np.zeros((100, 0)))

    def readings(seeds):
        sensing = Sensing(load_vehicle(LASTING), 100, 1.0, around)
        sensing.begin(np.arange(100), state, np.zeros(100, np.int64), seeds)
        sensing.step(state, forces, np.full(100, second))
        return sensing.readings()

    told = readings(seeds)
    force = told['imu']['linear_acceleration'] / 9.8
    assert within_chi_square(force[:, :2] / force[:, 2:], 0.02)
    assert abs(force[:, 2].std() / 0.01 - 1) < 0.2
    field = told['compass']['magnetic_field']
    assert within_chi_square(field - np.median(field, axis=0), 1e-6)
    place = told['gps']['geodetic'][:, 0] * np.radians(1) * 6.37e6
    assert 1 < np.std(place) / 2 < 2.5  # flicker noise has a deviation of about 1.8 B
    speed = told['dvl']['velocity']
    assert np.all(abs(speed[:, 0] - 1) < 0.0202)
    assert abs(speed[:, 0].std() * np.sqrt(3) / 0.02 - 1) < 0.15
    assert within_chi_square(speed[:, 1] / speed[:, 0], 0.005)
    heading = 2 * np.degrees(np.arcsin(told['dvl']['attitude'][:, 1]))  # turned over: about y
    assert abs(np.abs(heading).max() - 1) < 0.05  # up to ± 3600 °/h for a second
    for name, quantity, size in (
        ('barometer', 'pressure', 500.0),
        ('warmth', 'temperature', 0.1),
        ('supply', 'voltage', 0.2),
    ):
        values = told[name][quantity]
        assert within_chi_square(values - np.median(values), size), name
    echo = told['echo']['range']
    assert within_chi_square(echo / np.median(echo) - 1, 0.01)
    again, others = readings(seeds), readings(seeds + 1)
    for name, quantity in (
        ('imu', 'linear_acceleration'),
        ('compass', 'magnetic_field'),
        ('gps', 'geodetic'),
        ('dvl', 'velocity'),
        ('dvl', 'attitude'),
        ('barometer', 'pressure'),
        ('warmth', 'temperature'),
        ('echo', 'range'),
        ('supply', 'voltage'),
    ):
        np.testing.assert_array_equal(again[name][quantity], told[name][quantity])
        same = others[name][quantity] == told[name][quantity]
        assert not np.any(np.all(same.reshape(len(same), -1), axis=1))


@pytest.mark.long
def test_noise_of_single_and_vector_environments_and_of_the_next_episode():
    vehicle = load_vehicle('bluerov2')
    options = {'vehicle': vehicle, 'observe': 'sensors'}
    many = gymnasium.make_vec(STATION, num_envs=3, **options)
    first, _ = many.reset(seed=40)
    second, _ = many.reset()
    assert np.all(first[:, 0] != second[:, 0])
    other, _ = many.reset(seed=90)
    assert np.all(first[:, 0] != other[:, 0])
    alone = gymnasium.make(STATION, **options)
    np.testing.assert_array_equal(alone.reset(seed=41)[0], first[1])
    np.testing.assert_array_equal(alone.reset()[0], second[1])


def test_sonar_pictures_are_observed_as_their_node_publishes_them():
    from marine_sim_ros.model.urdf import vehicle_from_urdf
    from marine_sim_ros.sensors import SensorInputs
    from marine_sim_ros.sensors.series import disturb_readings, ideal_readings

    sonar = (
        '<sensor type="imaging_sonar" link="base_link"><beams>8</beams><bins>16</bins></sensor>'
    )
    urdf = load_vehicle('bluerov2').urdf.replace('</robot>', f'{sonar}</robot>')
    vehicle, pool = vehicle_from_urdf(urdf), load_environment('pool')
    sensing = Sensing(vehicle, 2, 0.1, pool)
    upright = np.array([[0.0, 0.0, 0.0, 1.0]] * 2)
    state = State(np.array([[0.0, 0.0, -2.0], [6.0, 0.0, -2.0]]), upright, np.zeros((2, 6)))
    forces = LastForces(np.zeros((2, 6)), np.zeros((2, len(vehicle.thrusters))))
    stamps = np.array([10**9, 10**9])
    sensing.begin(np.arange(2), state, stamps - 10**8, [4, 5])
    sensing.step(state, forces, stamps)
    readings = sensing.readings()['imaging_sonar']
    (sensor,) = [s for s in vehicle.sensors if s.name == 'imaging_sonar']
    inputs = SensorInputs(stamps / NANOSECONDS, np.zeros((2, 6)), np.zeros((2, 3)))
    ideal = ideal_readings(sensor, pool, stamps, state, inputs, at_once=True)
    for i, seed in enumerate((4, 5)):
        row = {name: value[i] for name, value in ideal.items()}
        expected = disturb_readings(sensor, row, 10**8, seed, ())
        assert set(readings) == set(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(readings[name][i], value)
    picture = readings['image']
    assert picture.shape == (2, 8, 16)
    assert (picture[0] != picture[1]).any()  # the walls are at other distances
    assert sensing.observe().shape == (2, sensing.size)


PICTURES = (
    '<sensor type="imaging_sonar" link="base_link"><beams>8</beams><bins>16</bins></sensor>'
    '<sensor type="camera" link="base_link"><width>32</width><height>24</height></sensor>'
)


@pytest.mark.long
def test_pictures_are_observed_apart_and_pass_the_checkers():
    from gymnasium.vector.utils import batch_space

    from marine_sim_ros.gym.environments import ManyVehicles, OneVehicle
    from marine_sim_ros.model.urdf import vehicle_from_urdf

    urdf = load_vehicle('bluerov2').urdf.replace('</robot>', f'{PICTURES}</robot>')
    options = {
        'task': 'StationKeeping', 'vehicle': vehicle_from_urdf(urdf), 'observe': 'pictures',
        'environment': 'pool',
    }  # fmt: skip
    one = OneVehicle(**options)
    spaces = one.observation_space.spaces
    assert {k: (s.shape, s.dtype) for k, s in spaces.items()} == {
        'camera': ((24, 32, 3), np.uint8),
        'imaging_sonar': ((8, 16), np.uint8),
        'numbers': ((25,), np.float32),
    }
    check_env(one, skip_render_check=True)
    many = ManyVehicles(2, autoreset_mode='SameStep', **options)
    assert many.observation_space == batch_space(one.observation_space, 2)
    both, _ = many.reset(seed=3)
    alone, _ = one.reset(seed=4)
    actions = np.tile(np.linspace(-0.5, 0.5, 6, dtype=np.float32), (2, 1))
    for _ in range(5):
        assert many.observation_space.contains(both)
        for name, part in alone.items():
            np.testing.assert_array_equal(both[name][1], part)
        for sensor in ('camera', 'imaging_sonar'):  # held between readings, and never blank
            np.testing.assert_array_equal(alone[sensor], one.readings[sensor]['image'][0])
            assert np.ptp(alone[sensor]) > 10
        both = many.step(actions)[0]
        alone = one.step(actions[1])[0]
    many._episodes.steps[0] = 10**6  # this one ends, and begins again in the same step
    after, _, _, truncated, info = many.step(actions)
    assert truncated.tolist() == [True, False]
    assert many.observation_space.contains(after)
    assert many.observation_space.contains(info['final_obs'])
    assert (after['camera'][0] != info['final_obs']['camera'][0]).any()


def test_a_vehicle_without_pictures_is_refused():
    with pytest.raises(ParameterError, match='no camera and no imaging sonar'):
        Episodes('StationKeeping', 'bluerov2', 1, observe='pictures')


def test_predictive_control_simulates_a_plan_as_the_episode_goes_on():
    from marine_sim_ros.gym.predictive import PredictiveControl

    control = PredictiveControl('StationKeeping', 'bluerov2', plans=8)
    tried = Episodes('StationKeeping', 'bluerov2', 1)
    tried.begin([np.random.default_rng(3)])
    action = control.act(tried)
    control._model.copy_from(tried, 0)
    model = control._model.step(np.repeat(action[None], 8, axis=0))
    result = tried.step(action[None])
    np.testing.assert_allclose(model.reward[5], result.reward[0], atol=1e-12)


@pytest.mark.long
def test_predictive_control_keeps_a_station_in_a_current():
    from marine_sim_ros.gym.predictive import PredictiveControl

    control = PredictiveControl('StationKeeping', 'bluerov2', plans=64)
    tried = Episodes('StationKeeping', 'bluerov2', 2)
    distances = []
    tried.begin([np.random.default_rng(3), np.random.default_rng(3)])
    start = np.linalg.norm(tried.observe()[:, :3], axis=1)
    for _ in range(100):
        action = control.act(tried)
        tried.step(np.stack([action, np.zeros_like(action)]))
        distances.append(np.linalg.norm(tried.observe()[:, :3], axis=1))
    held, drifted = np.mean(distances[-30:], axis=0)
    assert start[0] > 0.3
    assert held < 0.25
    assert drifted > 2 * held
