# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Docking, following a pipe and inspection: what is rewarded, and when an episode ends."""

from itertools import pairwise

import numpy as np
import pytest

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment

pytest.importorskip('jax', reason='jax: not installed (extra rl)')
gymnasium = pytest.importorskip('gymnasium', reason='gymnasium: not installed (extra rl)')

from gymnasium.utils.env_checker import check_env  # noqa: E402

from marine_sim_ros.gym.work_tasks import Docking, Inspection, PipeFollowing  # noqa: E402

NONE = np.zeros(6)


def state(position, yaw=0.0, speed=0.0):
    velocity = np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    return State(np.asarray(position, float), quaternion_from_rpy(0, 0, yaw), velocity)


@pytest.mark.parametrize('kind', [Docking, PipeFollowing, Inspection])
def test_starts_are_within_what_is_observed(kind):
    task = kind()
    for seed in range(50):
        position, yaw, episode = task.begin(np.random.default_rng(seed))
        seen = task.observe(state(position, yaw), episode)
        assert seen.shape == (15,)
        assert np.all(np.abs(seen) <= task.limits + 1e-9)
        same = state(position, yaw)
        judged = task.judge(same, same, NONE, episode)
        assert judged.reward == 0.0
        assert not judged.terminated


def dock():
    task = Docking()
    _, _, episode = task.begin(np.random.default_rng(0))
    entrance, inside = episode.goals
    axis = inside - entrance
    return task, episode, entrance, axis, float(np.arctan2(axis[1], axis[0]))


@pytest.mark.parametrize(
    ('side', 'turn', 'speed', 'docked'),
    [
        (0.0, 0.0, 0.2, True),
        (0.4, 0.0, 0.2, False),
        (0.0, 0.3, 0.2, False),
        (0.0, 0.0, 0.4, False),
    ],
)
def test_a_dock_is_entered_on_its_axis_aligned_and_slowly(side, turn, speed, docked):
    task, episode, entrance, axis, course = dock()
    beside = entrance + side * np.array([-axis[1], axis[0], 0.0])
    before = state(beside - 0.02 * axis, course + turn, speed)
    after = state(beside + 0.02 * axis, course + turn, speed)
    assert not task.judge(before, before, NONE, episode).terminated
    judged = task.judge(before, after, NONE, episode)
    assert judged.terminated
    assert judged.reward == pytest.approx(10.0 if docked else -5.0, abs=0.1)


def test_the_way_to_the_dock_is_worth_its_length():
    task, episode, entrance, axis, course = dock()
    far, near = (state(entrance - d * axis, course, 0.2) for d in (4.0, 1.0))
    assert task.judge(far, near, NONE, episode).reward == pytest.approx(3.0)
    assert task.judge(far, far, np.ones(6), episode).reward == pytest.approx(-0.05)
    turned = state(far.position, course + np.pi / 2)
    assert task.judge(turned, far, NONE, episode).reward == pytest.approx(0.5)


def test_the_whole_pipe_is_worth_its_length_and_ends():
    task = PipeFollowing()
    _, _, episode = task.begin(np.random.default_rng(4))
    ends = episode.goals + task.height
    total = 0.0
    for a, b in pairwise(ends):
        points = [a + share * (b - a) for share in np.linspace(0, 1, 20)] + [b + 1e-6 * (b - a)]
        for before, after in pairwise(points):
            judged = task.judge(state(before), state(after), NONE, episode)
            total, episode = total + judged.reward, judged.episode
    length = np.linalg.norm(np.diff(ends, axis=0), axis=1).sum()
    assert total == pytest.approx(length, rel=1e-3)
    assert judged.terminated


def test_beside_the_pipe_metres_are_worth_less_and_far_off_it_ends():
    task = PipeFollowing()
    _, _, episode = task.begin(np.random.default_rng(4))
    a, b = episode.goals[:2] + task.height
    course = (b - a) / np.linalg.norm(b - a)
    side = np.array([-course[1], course[0], 0.0])
    for off, worth in ((0.5, np.exp(-1)), (1.0, np.exp(-4))):
        judged = task.judge(state(a + off * side), state(a + off * side + course), NONE, episode)
        assert judged.reward == pytest.approx(worth, rel=1e-9)
        assert not judged.terminated
    assert task.judge(state(a), state(a + 3.1 * side), NONE, episode).terminated


def test_points_of_a_pile_are_seen_one_after_the_other():
    task = Inspection()
    _, _, episode = task.begin(np.random.default_rng(2))
    for i, point in enumerate(episode.goals):
        normal = point * [1, 1, 0] / task.radius
        place = point + task.stand_off * normal
        facing = float(np.arctan2(-normal[1], -normal[0]))
        away = state(place, facing + 0.5)
        assert task.judge(away, away, NONE, episode).episode.next == i
        there = state(place, facing)
        judged = task.judge(there, there, NONE, episode)
        assert judged.reward == pytest.approx(1.0)
        assert judged.terminated == (i == 7)
        episode = judged.episode
    touching = state([0.7, 0.0, -5.0])
    judged = task.judge(touching, touching, NONE, episode)
    assert judged.terminated
    assert judged.reward == pytest.approx(-5.0)


@pytest.mark.parametrize('kind', [Docking, PipeFollowing, Inspection])
def test_too_little_water_is_refused(kind):
    with pytest.raises(ParameterError, match=r'the ground is 4 m deep; expected \d+ m of water'):
        kind(load_environment('pool'))


@pytest.mark.long
@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('name', ['Docking', 'PipeFollowing', 'Inspection'])
def test_gymnasium_finds_nothing_wrong(name):
    env = gymnasium.make(f'marine_sim_ros/{name}-v0', vehicle='bluerov2')
    check_env(env.unwrapped, skip_render_check=True)
