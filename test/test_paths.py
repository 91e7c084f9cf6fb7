# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Circles, helices and straight tracks in paths that are known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.analysis.paths import (
    fit_circle,
    fit_steady_turn,
    helix_pitch,
    track_error,
    turning_radius,
)
from marine_sim_ros.core.errors import ParameterError


def arc(center, radius, start, end, n=200):
    a = np.linspace(start, end, n)
    return np.asarray(center) + radius * np.stack([np.cos(a), np.sin(a)], axis=1)


@given(
    x=st.floats(-1e3, 1e3),
    y=st.floats(-1e3, 1e3),
    radius=st.floats(0.05, 500.0),
    start=st.floats(-10, 10),
    span=st.floats(0.5, 20) | st.floats(-20, -0.5),
)
def test_exact_circles_are_found(x, y, radius, start, span):
    found = fit_circle(arc((x, y), radius, start, start + span))
    size = 1e-6 * (radius + math.hypot(x, y))
    assert found.center == pytest.approx((x, y), abs=size)
    assert found.radius == pytest.approx(radius, abs=size)
    assert found.residual < size


@pytest.mark.parametrize('span', [math.pi / 2, math.pi, 3 * math.pi])
def test_noise_does_not_bias_the_radius(span):
    # The algebraic fit of Kåsa shrinks a short noisy arc by several times this band.
    rng = np.random.default_rng(1)
    radii, residuals = [], []
    for _ in range(200):
        noisy = arc((3, -4), 2.5, 0.3, 0.3 + span) + rng.normal(0, 0.05, (200, 2))
        found = fit_circle(noisy)
        radii.append(found.radius)
        residuals.append(found.residual)
    assert np.mean(radii) == pytest.approx(2.5, abs=0.006)
    assert np.mean(residuals) == pytest.approx(0.05, rel=0.03)


def test_the_geometric_fit_is_the_least_sum_of_squares():
    rng = np.random.default_rng(2)
    points = arc((1, 2), 3.0, 0, 2.0, 60) + rng.normal(0, 0.2, (60, 2))
    found = fit_circle(points)

    def misses(a, b, r):
        return np.sum((np.hypot(points[:, 0] - a, points[:, 1] - b) - r) ** 2)

    best = misses(*found.center, found.radius)
    for da, db, dr in rng.normal(0, 0.02, (300, 3)):
        assert misses(found.center[0] + da, found.center[1] + db, found.radius + dr) >= best


@pytest.mark.parametrize(
    'points',
    [
        np.zeros((2, 2)),
        np.zeros((5, 2)),
        np.zeros((5, 3)),
        np.stack([np.arange(9.0), 2 * np.arange(9.0)], axis=1),
        np.full((5, 2), np.nan),
    ],
    ids=['two', 'one place', 'three columns', 'a line', 'nan'],
)
def test_no_circle_gives_one_line(points):
    with pytest.raises(ParameterError) as caught:
        fit_circle(points)
    assert '\n' not in str(caught.value)


def helix(radius, rate, climb, drift=0.0, seconds=40.0, noise=0.0):
    """Return what steady_turn takes, of a helix whose bow points off its track by drift."""
    t = np.arange(0, seconds, 0.05)
    a = 0.7 + rate * t
    position = np.stack([5 + radius * np.cos(a), -2 + radius * np.sin(a), -5 + climb * t], axis=1)
    velocity = np.stack(
        [-radius * rate * np.sin(a), radius * rate * np.cos(a), np.full_like(t, climb)], axis=1
    )
    course = a + math.copysign(math.pi / 2, rate)
    yaw = (course + drift + math.pi) % (2 * math.pi) - math.pi
    rng = np.random.default_rng(3)
    return t, position + rng.normal(0, noise, position.shape), velocity, yaw


@pytest.mark.parametrize('rate', [0.35, -0.35])
@pytest.mark.parametrize('climb', [0.12, 0.0, -0.2])
@pytest.mark.parametrize('drift', [0.0, 0.4])
def test_helices(rate, climb, drift):
    found = fit_steady_turn(*helix(2.4, rate, climb, drift))
    assert found.circle.radius == pytest.approx(2.4, rel=1e-6)
    assert found.circle.center == pytest.approx((5, -2), abs=1e-6)
    assert found.turn_rate == pytest.approx(rate)
    assert found.yaw_rate == pytest.approx(rate)
    assert found.speed == pytest.approx(2.4 * 0.35)
    assert found.pitch == pytest.approx(2 * math.pi * climb / 0.35, abs=1e-6)
    assert found.kinematic_radius == pytest.approx(2.4)
    assert found.kinematic_pitch == pytest.approx(found.pitch, abs=1e-6)
    assert found.turns == pytest.approx(39.95 * 0.35 / (2 * math.pi))
    content = found.to_dict()
    assert content['radius_m'] == found.circle.radius
    assert content['radius_difference_percent'] == pytest.approx(0, abs=1e-4)
    assert content['pitch_difference_percent'] == (
        None if climb == 0 else pytest.approx(0, abs=1e-4)
    )


def test_a_noisy_helix():
    found = fit_steady_turn(*helix(2.4, 0.35, 0.12, noise=0.03))
    assert found.circle.radius == pytest.approx(2.4, abs=0.01)
    assert found.pitch == pytest.approx(2 * math.pi * 0.12 / 0.35, abs=0.02)
    assert found.circle.residual == pytest.approx(0.03, rel=0.1)


def test_path_and_kinematics_are_independent():
    t, position, velocity, yaw = helix(2.4, 0.35, 0.12)
    found = fit_steady_turn(t, position, 1.1 * velocity, yaw)
    assert found.to_dict()['radius_difference_percent'] == pytest.approx(100 / 11, rel=1e-3)
    assert found.to_dict()['pitch_difference_percent'] == pytest.approx(100 / 11, rel=1e-3)


def test_kinematics():
    assert turning_radius(0.5, -0.25) == 2.0
    assert helix_pitch(-0.1, -0.2) == pytest.approx(-math.pi)


def test_less_than_a_quarter_of_a_turn_is_none():
    with pytest.raises(ParameterError, match='expected 90° or more'):
        fit_steady_turn(*helix(2.4, 0.35, 0.0, seconds=4.0))
    t, position, velocity, yaw = helix(2.4, 0.35, 0.0)
    with pytest.raises(ParameterError, match='the heading changes by 0°'):
        fit_steady_turn(t, position, velocity, np.zeros_like(yaw))


def test_track():
    x = np.linspace(-4, 4, 50)
    path = np.stack([x, 0.3 * np.sin(x), -5 + 0.1 * np.cos(x)], axis=1)
    found = track_error(path, np.array([-4, 0, -5]), np.array([4, 0, -5]))
    assert found['cross_track_m'] == pytest.approx(0.3, abs=1e-2)
    assert found['vertical_track_m'] == pytest.approx(0.1, abs=1e-2)
    turned = path @ np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    again = track_error(turned, np.array([0, -4, -5.0]), np.array([0, 4, -5.0]))
    assert again == pytest.approx(found)
    with pytest.raises(ParameterError, match='above one another'):
        track_error(path, np.zeros(3), np.array([0, 0, 5.0]))
