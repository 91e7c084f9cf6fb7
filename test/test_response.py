# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steady-state error, overshoot and settling time, against closed-form responses."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES
from marine_sim_ros.control.step_response import compute_step_response
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import wrap_angle

T = np.arange(0, 60.0001, 0.01)


def second_order(zeta, omega, t=T):
    """Return the unit step response of omega² / (s² + 2 zeta omega s + omega²)."""
    root = math.sqrt(1 - zeta**2)
    damped = omega * root
    wave = np.cos(damped * t) + zeta / root * np.sin(damped * t)
    return 1 - np.exp(-zeta * omega * t) * wave


def judge(targets=None, t=T, window=5.0, **values):
    """Judge a run that is at rest at the origin but for the axes given."""
    columns = np.zeros((len(t), 12))
    goals = np.full((len(t), 12), np.nan)
    for name, value in values.items():
        columns[:, SETPOINT_QUANTITIES.index(name)] = value
    for name, value in (targets or {}).items():
        goals[:, SETPOINT_QUANTITIES.index(name)] = value
    return compute_step_response(
        t, columns[:, :3], columns[:, 3:6], goals, velocity=columns[:, 6:], window=window
    )


@pytest.mark.parametrize('zeta', [0.2, 0.4, 0.6, 0.8])
@pytest.mark.parametrize('omega', [0.8, 2.0])
@pytest.mark.parametrize('axis', ['x', 'z', 'yaw'])
@pytest.mark.parametrize('size', [8.0, -0.7])
def test_second_order_step(zeta, omega, axis, size):
    if axis == 'yaw':
        size = size / 8
    found = judge({axis: size}, **{axis: size * second_order(zeta, omega)})
    one = found.axes[axis]
    unit = math.pi / 180 if axis == 'yaw' else 1.0
    expected = math.exp(-math.pi * zeta / math.sqrt(1 - zeta**2))
    assert one.overshoot_percent == pytest.approx(100 * expected, rel=2e-3)
    assert one.overshoot == pytest.approx(abs(size) * expected / unit, rel=2e-3)
    assert one.step == pytest.approx(size / unit)
    # The exponential envelope 1/√(1−ζ²) e^(−ζωt) leaves the band last; the wave within half a
    # period before. 4/(ζω) is its rounded form.
    envelope = -math.log(0.02 * math.sqrt(1 - zeta**2)) / (zeta * omega)
    half_period = math.pi / (omega * math.sqrt(1 - zeta**2))
    assert envelope - half_period <= one.settling_time <= envelope + 0.01
    assert one.settling_time == pytest.approx(4 / (zeta * omega), rel=0.3)
    assert one.steady_mean < 1e-3 * abs(size) / unit
    assert found.largest_step_axis == axis
    content = found.to_dict()
    assert content['settling_time_s'] == one.settling_time
    assert content['overshoot_percent'] == one.overshoot_percent
    assert content['overshoot_m'] == (None if axis == 'yaw' else one.overshoot)
    assert content['overshoot_deg'] == (one.overshoot if axis == 'yaw' else None)


def test_first_order_has_no_overshoot_and_settles_after_four_time_constants():
    one = judge({'x': 4.0}, x=4 * (1 - np.exp(-T / 2))).axes['x']
    assert one.overshoot == 0 == one.overshoot_percent
    assert one.settling_time == pytest.approx(2 * math.log(50), abs=0.011)


def test_constants():
    found = judge({'x': 0.0, 'y': 0.0, 'z': -5.0}, x=0.03, y=-0.04, z=-5.11)
    content = found.to_dict()
    assert content['steady_state_error_m'] == pytest.approx({'x': 0.03, 'y': 0.04, 'z': 0.11})
    assert content['steady_state_error_max_m'] == pytest.approx({'x': 0.03, 'y': 0.04, 'z': 0.11})
    assert content['horizontal_error_m'] == pytest.approx({'mean': 0.05, 'max': 0.05})
    assert found.axes['z'].bias == pytest.approx(-0.11)
    assert found.axes['x'].settling_time == 0
    assert found.axes['x'].overshoot is None
    # z starts 0.11 m below: a step of 0.11 m that is never made.
    assert found.axes['z'].step == pytest.approx(0.11)
    assert found.axes['z'].settling_time is None
    assert content['settling_time_s'] is None
    assert content['overshoot_percent'] == 0


def test_free_axes_are_null_and_not_zero():
    content = judge({'z': -5.0}, z=-5.0).to_dict()
    assert content['steady_state_error_m'] == {'x': None, 'y': None, 'z': 0.0}
    assert content['steady_state_error_deg'] == dict.fromkeys(('roll', 'pitch', 'yaw'))
    assert content['horizontal_error_m'] == {'mean': None, 'max': None}
    assert content['axes']['x'] is None
    assert content['settling_time_s'] == 0.0
    assert content['overshoot_percent'] is content['step_axis'] is None
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    free = judge().to_dict()
    assert free['settling_time_s'] is None


def test_mean_maximum_and_bias_of_a_wave():
    found = judge({'x': 0.0}, x=0.01 + 0.04 * np.sin(2 * np.pi * T), window=10.0).axes['x']
    assert found.steady_max == pytest.approx(0.05, rel=1e-3)
    assert found.bias == pytest.approx(0.01, rel=1e-2)
    x = np.linspace(0, 1, 100001)
    assert found.steady_mean == pytest.approx(
        np.abs(0.01 + 0.04 * np.sin(2 * np.pi * x)).mean(), rel=2e-3
    )


@pytest.mark.parametrize('goal', [math.pi, -math.pi, 3 * math.pi])
def test_angles_wrap(goal):
    yaw = math.radians(170) + math.radians(10) * second_order(0.5, 2.0)
    found = judge({'yaw': goal}, yaw=wrap_angle(yaw)).axes['yaw']
    assert found.step == pytest.approx(10)
    assert found.overshoot == pytest.approx(10 * 0.163, abs=0.01)
    assert found.steady_mean < 0.01
    assert found.steady_max < 0.1


def test_the_long_way_round_and_an_extra_turn():
    rise = second_order(0.9, 1.0)
    long_way = judge({'yaw': math.radians(100)}, yaw=wrap_angle(-math.radians(260) * rise))
    assert long_way.axes['yaw'].step == pytest.approx(-260)
    assert long_way.axes['yaw'].overshoot == pytest.approx(260 * 0.0015, abs=0.02)
    extra = judge({'yaw': math.radians(100)}, yaw=wrap_angle(math.radians(460) * rise))
    assert extra.axes['yaw'].step == pytest.approx(100)
    assert extra.axes['yaw'].overshoot > 359
    assert extra.axes['yaw'].steady_max < 0.01


def test_a_step_in_mid_run_is_judged_from_when_it_was_commanded():
    late = T >= 20
    yaw = np.where(late, math.pi / 2 * second_order(0.5, 1.0, np.maximum(T - 20, 0)), 0.0)
    found = judge({'yaw': np.where(late, math.pi / 2, 0.0), 'x': 0.0}, yaw=yaw)
    one = found.axes['yaw']
    assert one.start == pytest.approx(20.0)
    assert one.step == pytest.approx(90)
    assert one.overshoot_percent == pytest.approx(16.3, abs=0.05)
    assert one.settling_time == pytest.approx(8.08, abs=0.05)
    assert found.largest_step_axis == 'yaw'
    assert found.axes['x'].start == 0


def test_an_axis_released_before_the_end_is_free_and_one_held_late_counts_from_then():
    x, y = np.where(T < 30, 1.0, np.nan), np.where(T < 30, np.nan, 1.0)
    found = judge({'x': x, 'y': y}, x=1.0, y=1.0)
    assert found.axes['x'] is None
    assert found.axes['y'].start == pytest.approx(30)


def test_a_set_point_younger_than_the_window_has_no_steady_state():
    found = judge({'x': np.where(T < 58, 0.0, 1.0)}, x=0.0)
    one = found.axes['x']
    assert one.steady_mean is one.steady_max is one.bias is None
    assert one.step == pytest.approx(1.0)
    assert found.to_dict()['steady_state_error_m']['x'] is None


def test_speeds_and_rates():
    found = judge({'surge': 0.5, 'yaw_rate': 0.2}, surge=0.49, yaw_rate=0.2).to_dict()
    assert found['steady_state_error_m_s']['surge'] == pytest.approx(0.01)
    assert found['steady_state_error_deg_s']['yaw_rate'] == pytest.approx(0)
    assert found['steady_state_error_m_s']['heave'] is None
    n = len(T)
    goals = np.zeros((n, 12))
    without = compute_step_response(T, np.zeros((n, 3)), np.zeros((n, 3)), goals)
    assert without.axes['surge'] is None
    assert without.axes['yaw'] is not None


def test_the_principal_step_is_the_largest_in_its_own_measure():
    found = judge({'x': 0.2, 'yaw': math.pi / 2}, x=0.0, yaw=0.0)
    assert found.largest_step_axis == 'yaw'  # 90 of 1° beats 4 of 0.05 m
    assert judge({'x': 8.0, 'yaw': math.pi / 2}).largest_step_axis == 'x'


def test_uncontrollable_axes_are_told():
    n = len(T)
    found = compute_step_response(
        T, np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 12)), uncontrollable=('pitch',)
    )
    assert found.to_dict()['uncontrollable'] == ['pitch']
    rpy = np.zeros((n, 3))
    rpy[10:, 1] = 0.1  # drifts off its set-point and stays there
    for axes, expected in (((), None), (('pitch',), 0.0)):
        found = compute_step_response(
            T, np.zeros((n, 3)), rpy, np.zeros((n, 12)), uncontrollable=axes
        )
        assert found.settling_time == expected
    assert found.axes['pitch'].steady_mean == pytest.approx(math.degrees(0.1))


def _bad(**changes):
    n = 1001
    good = {
        'time': np.linspace(0, 10, n),
        'position': np.zeros((n, 3)),
        'rpy': np.zeros((n, 3)),
        'targets': np.zeros((n, 12)),
    }
    return compute_step_response(**{**good, **changes})


def _with(value, shape):
    result = np.zeros(shape)
    result[7, 1] = value
    return result


@pytest.mark.parametrize(
    ('changes', 'expected'),
    [
        ({'time': np.linspace(0, 4, 1001)}, 'lasts 4 s; expected at least 5 s'),
        ({'time': np.zeros(1)}, 'two or more'),
        ({'time': np.zeros(0)}, 'two or more'),
        ({'time': np.zeros((1001, 1))}, 'two or more'),
        ({'time': np.where(np.arange(1001) == 5, np.nan, np.arange(1001))}, r'time\[5\] is nan'),
        ({'time': np.where(np.arange(1001) == 5, 4, np.arange(1001))}, r'time\[5\] is 4 s after'),
        ({'position': _with(np.nan, (1001, 3))}, r'position\[7, 1\] is nan'),
        ({'rpy': _with(np.inf, (1001, 3))}, r'rpy\[7, 1\] is inf'),
        ({'targets': _with(np.inf, (1001, 12))}, r'targets\[7, 1\] is inf'),
        ({'targets': np.zeros((1001, 6))}, r'shape \(1001, 6\); expected \(1001, 12\)'),
        ({'velocity': np.zeros((1000, 6))}, r'velocity has shape'),
        ({'window': 0.0}, 'window is 0.0 s'),
        ({'window': float('nan')}, 'window is nan s'),
    ],
)
def test_what_cannot_be_judged_gives_one_line(changes, expected):
    with pytest.raises(ParameterError, match=expected) as caught:
        _bad(**changes)
    assert '\n' not in str(caught.value)


numbers = st.floats(-50, 50)


def _same(a, b, abs_=1e-6):
    for name in SETPOINT_QUANTITIES:
        one, two = a.axes[name], b.axes[name]
        if one is None:
            assert two is None
            continue
        for field in ('steady_mean', 'steady_max', 'bias', 'overshoot', 'step'):
            x, y = getattr(one, field), getattr(two, field)
            assert (x is None) == (y is None)
            assert x is None or y == pytest.approx(x, abs=abs_)
        assert two.settling_time == (
            None if one.settling_time is None else pytest.approx(one.settling_time, abs=1e-6)
        )


@given(
    zeta=st.floats(0.1, 0.95),
    omega=st.floats(0.5, 3.0),
    step=st.floats(0.5, 3.0) | st.floats(-3.0, -0.5),
    shift=st.floats(-1e4, 1e4),
    offset=numbers,
    turns=st.integers(-3, 3),
)
def test_shifts_of_time_place_and_heading_change_nothing(zeta, omega, step, shift, offset, turns):
    t = T[::10]
    rise = step * second_order(zeta, omega, t)
    plain = judge({'x': step, 'yaw': step}, t, x=rise, yaw=wrap_angle(rise))
    moved = judge(
        {'x': step + offset, 'yaw': step + offset + 2 * math.pi * turns},
        t + shift,
        x=rise + offset,
        yaw=wrap_angle(rise + offset),
    )
    _same(plain, moved, 1e-5)


@given(values=st.lists(numbers, min_size=3, max_size=40), goal=numbers, scale=st.floats(1.0, 9.0))
@example(values=[0.0, 0.0, *[1.5166625851841857] * 3], goal=23.04699400790669, scale=1.0)
def test_bounds_hold_for_any_run(values, goal, scale):
    t = np.linspace(0, 10, len(values))
    x = np.array(values)
    one = judge({'x': goal}, t, x=x).axes['x']
    assert 0 <= one.steady_mean <= one.steady_max * (1 + 1e-12)  # a mean is rounded
    assert abs(one.bias) <= one.steady_mean * (1 + 1e-12) + 1e-12
    assert one.overshoot is None or 0 <= one.overshoot <= np.abs(x - goal).max()
    assert one.settling_time is None or 0 <= one.settling_time <= 10
    if one.settling_time is not None:
        assert np.abs(x - goal)[t >= one.settling_time].max() <= one.settling_band
    larger = judge({'x': goal * scale}, t, x=x * scale).axes['x']
    if one.step is not None:  # percentages and times of a step do not know its size
        assert larger.overshoot_percent == pytest.approx(one.overshoot_percent, abs=1e-6)
