# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The examples of docs/examples do what they say."""

import importlib.util
import sys

import numpy as np
import pytest
from conftest import ROOT

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

pytest.importorskip('jax', reason='jax: not installed (extra batch)')
pytestmark = pytest.mark.slow

from marine_sim_ros.engine.availability import precision  # noqa: E402


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f'docs/examples/{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_drag_of_a_bag_is_found(tmp_path, monkeypatch, capsys):
    identify = example('identify_drag')
    vehicle = load_vehicle('bluerov2', coefficients='maker')
    told = ['coefficients:=maker']
    truth = np.array([1.3, 0.8, 1.2, 0.9, 1.1, 0.7])
    run = simulate(
        identify.with_drag(vehicle, truth), load_scenario('excitation'), dt=0.02, duration=8.0
    )
    write_recording(tmp_path / 'rec', vehicle, RunOptions(vehicle='bluerov2'), run)
    monkeypatch.setattr(sys, 'argv', ['', str(tmp_path / 'rec'), 'bluerov2', *told])
    identify.main()
    found = [float(line.split()[4]) for line in capsys.readouterr().out.splitlines()[1:]]
    np.testing.assert_allclose(found, truth, rtol=0.01)


def test_gains_are_tuned_down_the_slope():
    tune = example('tune_gains')
    with precision('float64'):
        smooth, whole = tune.costs()
        value, slope = tune.compiled(smooth)
        path = tune.tuned(value, slope, steps=6)
        at = np.log(tune.START)
        found = slope(at)
        for i, step in enumerate(1e-5 * np.eye(3)):
            expected = (value(at + step) - value(at - step)) / 2e-5
            assert abs(expected) > 1e-6
            np.testing.assert_allclose(found[i], expected, rtol=1e-3)
    assert path[-1][1] < 0.2 * path[0][1]
    assert whole(path[-1][0]) < 0.2 * whole(path[0][0])
    assert path[0][1] == pytest.approx(whole(path[0][0]), rel=0.01)
