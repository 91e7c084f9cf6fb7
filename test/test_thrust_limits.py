# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrusts to pulse widths and back, against the curves that the physics uses."""

import numpy as np
import pytest
from conftest import has, vehicle_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.control.effectors import PulseWidths
from marine_sim_ros.model.propulsion import thruster_set

HULLS = ('simple_rov', 'surface_vessel') if has('trimesh') else ()
NAMES = ('bluerov2', 'bluerov2_heavy', 'investigator90', *HULLS)
BENCH = {'bluerov2': {'coefficients': 'maker'}}  # whose thrust is that of the bench
SETS = {name: vehicle_of(name, **BENCH.get(name, {})).thrusters for name in NAMES}
PULSES = {name: PulseWidths(thrusters) for name, thrusters in SETS.items()}


@given(st.sampled_from(NAMES), st.floats(-1.0, 1.0))
def test_round_trip_is_within_half_a_microsecond(name, share):
    curve, widths = SETS[name].thrust_of_pwm, PULSES[name]
    wanted = np.where(share > 0, widths.upper, -widths.lower) * share
    pwm, made = widths.quantize(wanted)
    assert made == pytest.approx(curve(pwm), abs=1e-12)
    assert np.array_equal(pwm, np.rint(pwm))
    neighbours = np.abs(np.stack([curve(pwm - 1), curve(pwm + 1)]) - made)
    half = np.max(neighbours, axis=0) / 2
    assert np.all((np.abs(made - wanted) <= half + 1e-12) | (made == 0))


@pytest.mark.parametrize('name', NAMES)
def test_it_is_the_nearest_of_all_pulse_widths(name):
    curve, widths = SETS[name].thrust_of_pwm, PULSES[name]
    n = len(SETS[name])
    every = np.stack([curve(np.full(n, float(p))) for p in range(1100, 1901)])
    rng = np.random.default_rng(0)
    for wanted in rng.uniform(1.2 * widths.lower, 1.2 * widths.upper, (200, n)):
        _, made = widths.quantize(wanted)
        assert np.abs(made - wanted) == pytest.approx(np.min(np.abs(every - wanted), axis=0))


@pytest.mark.parametrize('name', NAMES)
def test_more_thrust_is_never_a_shorter_pulse(name):
    widths = PULSES[name]
    ramp = np.linspace(1.1 * widths.lower, 1.1 * widths.upper, 5001)
    pulses, made = (np.stack(p) for p in zip(*(widths.quantize(f) for f in ramp), strict=True))
    assert np.all(np.diff(pulses, axis=0) >= 0)
    assert pulses.min() == 1100
    assert pulses.max() == 1900
    assert np.all((widths.lower <= made) & (made <= widths.upper))
    assert np.all(pulses[made == 0] == 1500)


def test_limits_are_those_of_the_curve():
    assert PULSES['bluerov2'].upper == pytest.approx([51.485] * 6)
    assert PULSES['bluerov2'].lower == pytest.approx([-39.913] * 6)


@pytest.mark.parametrize(
    ('wanted', 'pwm', 'made'),
    [
        (0, 1500, 0),
        (-0.0, 1500, 0),
        (0.048, 1500, 0),
        (0.05, 1529, 0.098),
        (-0.024, 1500, 0),
        (-0.025, 1471, -0.981 / 20),
        (0.392, 1532, 0.392),
        (17.848, 1700, 17.848),
        (1e9, 1900, 51.485),
        (-1e9, 1100, -39.913),
    ],
)
def test_dead_zone_of_a_t200(wanted, pwm, made):
    # One step out of the dead zone: 0.392 N / 4 ahead, 0.981 N / 20 astern.
    found_pwm, found = PULSES['bluerov2'].quantize(np.full(6, float(wanted)))
    assert found_pwm.tolist() == [pwm] * 6
    assert found == pytest.approx([made] * 6, abs=1e-12)


def test_no_thrusters():
    pwm, made = PulseWidths(thruster_set([])).quantize(np.zeros(0))
    assert pwm.shape == made.shape == (0,)
