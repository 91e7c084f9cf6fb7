# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A fin-steered AUV mows the lawn, a WAM-V sails a figure of eight, as shipped."""

import numpy as np
import pytest

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.sim.scenario import load_scenario

pytestmark = pytest.mark.long


def at(run, time):
    return run.position[np.searchsorted(run.time, time - 1e-9)]


def test_the_auv_mows_the_lawn():
    scenario = load_scenario('lawn_mower')
    run = simulate(load_vehicle('torpedo_auv'), scenario, dt=0.02)
    assert all(ok for ok, _ in scenario.verdicts(run.time, run.position[:, 2]))
    legs = [(18, 29), (52, 67), (90, 105), (132, 149)]
    across = []
    for start, end in legs:
        first, last = at(run, start), at(run, end)
        assert abs(last[0] - first[0]) > 15
        assert abs(last[1] - first[1]) < 0.5  # parallel to x
        across.append((first[1] + last[1]) / 2)
    np.testing.assert_allclose(np.diff(across), 12.5, atol=1.0)
    assert np.degrees(np.abs(rpy_from_quaternion(run.orientation)[:, 0])).max() < 20


def test_the_wam_v_sails_a_figure_of_eight():
    run = simulate(load_vehicle('wamv'), load_scenario('figure_of_eight'), dt=0.02)
    port = (run.time > 10) & (run.time < 41)
    starboard = (run.time > 42) & (run.time < 72)
    for circle, side in ((port, 1), (starboard, -1)):
        x, y = run.position[circle, :2].T
        # A radius of u / r = 1.2 / 0.2 m on its own side of the x axis.
        assert np.ptp(x) / 2 == np.clip(np.ptp(x) / 2, 5.7, 6.3)
        assert side * y.mean() == np.clip(side * y.mean(), 5.3, 6.7)
    middle = at(run, 41.4)
    np.testing.assert_allclose(at(run, 72.8)[:2], middle[:2], atol=1.5)
    steady = (run.time > 20) & (run.time < 41)
    np.testing.assert_allclose(run.velocity[steady, 5], 0.2, atol=0.01)
    np.testing.assert_allclose(run.velocity[steady, 0], 1.2, atol=0.05)
