# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Upper bounds of added mass against closed forms, and fits beyond them."""

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.identification.parameters import ParameterSet, unobservable_reasons
from marine_sim_ros.model.added_mass import added_mass_bounds, ellipsoid_added_mass

LENGTHS = st.floats(0.05, 5.0)


@given(LENGTHS, LENGTHS, LENGTHS, st.floats(0.05, 1.0), st.floats(-2.0, 2.0))
def test_every_ellipsoid_within_a_box_is_below_its_bounds(a, b, c, scale, offset):
    """About its own centre, and a smaller one somewhere in the box."""
    half = np.array([a, b, c])
    bounds = added_mass_bounds(-half, half, 1000.0)
    assert np.all(ellipsoid_added_mass(half * scale, 1000.0) <= bounds * (1 + 1e-9))
    place = np.array([offset, 0.0, 0.0])
    moved = added_mass_bounds(place - half, place + half, 1000.0)
    own = ellipsoid_added_mass(half, 1000.0)
    about_origin = own[5] + own[1] * offset**2
    assert about_origin <= moved[5] * (1 + 1e-9)
    assert moved[:3] == pytest.approx(bounds[:3])


def test_the_bound_of_a_thin_plate_exceeds_that_of_its_disc():
    """A disc of radius r has 8/3 ρ r³ across it."""
    half = np.array([0.5, 0.5, 1e-4])
    assert 8 / 3 * 1000 * 0.5**3 < added_mass_bounds(-half, half, 1000.0)[2] < 5000


@pytest.mark.parametrize('name', ['bluerov2', 'bluerov2_heavy', 'remus100', 'lrauv', 'work_class'])
def test_shipped_vehicles_are_below_their_bounds(name):
    parameters = ParameterSet(vehicle_of(name), lag=False, volume=False)
    described = np.diag(vehicle_of(name).added_mass)
    assert np.all(described[:3] < parameters.added_mass_bounds[:3])


def test_a_fit_beyond_the_bound_is_called_impossible():
    """992 kg in surge, as a log at sea gave for a BlueROV2 of 11.5 kg."""
    parameters = ParameterSet(vehicle_of('bluerov2'), lag=False, volume=False)
    rng = np.random.default_rng(1)
    measured = rng.normal(size=(3, 40, 6))
    theta = parameters.described.copy()
    narrow = 1e-12 * np.eye(len(theta))

    def reasons(surge):
        theta[0] = surge
        return unobservable_reasons(
            parameters, theta, narrow, measured, np.full(6, 1e-6), np.ones(6), np.zeros(6)
        )

    assert not reasons(6.0)[0]
    text = reasons(992.0)[0]
    assert text.startswith('impossible: 992 kg, and a body of this size has at most ')
    assert text.endswith('; accelerate and brake in surge')
