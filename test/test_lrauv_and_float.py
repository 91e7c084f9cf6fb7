# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The long-range AUV and the profiling float against closed forms and published figures."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros.control.glide import make_volume_allocation
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate

THRUST = 1025 * 0.004312328425753156 * 0.2**4 * (300 * 2 * np.pi / 60) ** 2
"""N of the LRAUV's propeller at 300 rpm, by the formula of gz-sim's thruster."""


def test_the_lrauv_has_the_speed_of_its_thrust_and_drag():
    """0.5 u + 6.2282 u² = T, straight ahead; its source says 1 m/s at 300 rpm."""
    play = parse_scenario(
        'duration: 90\ninitial: {position: [0, 0, -30]}\n'
        'segments: [{at: 0, control: {surge: 3.0, z: -30.0, yaw: 0.0}}]',
        'ahead',
    )
    run = simulate(vehicle_of('lrauv'), play, dt=0.1)
    wanted = (-0.5 + np.sqrt(0.25 + 4 * 6.2282 * THRUST)) / (2 * 6.2282)
    assert run.velocity[-1, 0] == pytest.approx(wanted, rel=0.01)
    assert run.velocity[-1, 0] == pytest.approx(1.0, abs=0.06)
    assert run.position[-1, 2] == pytest.approx(-30.0, abs=0.1)


def test_the_lrauv_dives_and_turns_by_its_fins_alone():
    play = parse_scenario(
        'duration: 90\ninitial: {position: [0, 0, -20]}\n'
        'segments: [{at: 0, control: {surge: 0.9, z: -25.0, yaw: 1.0}}]',
        'steer',
    )
    run = simulate(vehicle_of('lrauv'), play, dt=0.1)
    assert run.position[-1, 2] == pytest.approx(-25.0, abs=0.2)
    assert np.abs(run.actuators['buoyancy_engines'][:, 0]).max() == 0
    assert not make_volume_allocation(vehicle_of('lrauv')).axes.any()


def test_its_battery_pitches_the_lrauv_at_rest():
    """tan θ = m s/(M h) with the volume 7 mm above the centre of mass."""
    play = parse_scenario(
        'duration: 200\ninitial: {position: [0, 0, -20]}\n'
        'segments: [{at: 0, axes: {}, joints: {battery_slide: 0.01}}]',
        'trim',
    )
    run = simulate(vehicle_of('lrauv'), play, dt=0.1)
    x, y, z, w = run.orientation[-1]
    pitch = np.arcsin(2 * (w * y - z * x))
    assert pitch == pytest.approx(np.arctan(31.7307 * 0.01 / (147.5671 * 0.007)), abs=0.02)


def test_without_its_weight_the_lrauv_rises_as_fast_as_its_drag_allows():
    play = parse_scenario(
        'duration: 60\ninitial: {position: [0, 0, -60]}\n'
        'segments: [{at: 0, axes: {}, drop_weights: {weight: 1}}]',
        'abort',
    )
    run = simulate(vehicle_of('lrauv'), play, dt=0.1)
    up = np.diff(run.position[:, 2]) / 0.1
    net = (1.0 - 1025 * 0.000088) * 9.8
    level = (-0.5 + np.sqrt(0.25 + 4 * 601.27 * net)) / (2 * 601.27)
    assert up[-1] > 0.9 * level  # it pitches by the lost weight, and glides up


@pytest.mark.parametrize('volume', [4e-6, 8.6e-6, -8.6e-6, 1e-4])
def test_the_float_rises_and_sinks_at_the_speed_of_its_drag(volume):
    """ρ g V = 0.01 w + 9.86 w |w|; Argo's floats rise 2000 m in six hours, 9 cm/s."""
    play = parse_scenario(
        'duration: 400\ninitial: {position: [0, 0, -500]}\n'
        f'segments: [{{at: 0, axes: {{}}, buoyancy_engines: {{bladder: {volume:.7f}}}}}]',
        'rise',
    )
    run = simulate(vehicle_of('float'), play, dt=0.2)
    force = 1025 * 9.8 * abs(volume)
    wanted = (-0.01 + np.sqrt(1e-4 + 4 * 9.86 * force)) / (2 * 9.86)
    assert run.velocity[-1, 2] == pytest.approx(np.sign(volume) * wanted, rel=1e-3)


def test_the_float_profiles_between_its_depths():
    run = simulate(vehicle_of('float'), load_scenario('profile'), dt=0.4)
    depth = -run.position[:, 2]
    assert 30.0 < depth.max() < 34.0
    assert depth[run.stamp > 600e9].min() < 5.0
    steady = (run.stamp > 400e9) & (run.stamp < 500e9)
    assert float(np.mean(run.velocity[steady, 2])) == pytest.approx(0.093, rel=0.02)
    work = run.actuators['buoyancy_engines'][-1, 1]
    pumped = 2 * 8.63e-6 * 1025 * 9.8 * 32.0 / 0.4  # at the bottom, 0.65 m below its middle
    assert work == pytest.approx(pumped, rel=0.1)


@pytest.mark.ros
@pytest.mark.parametrize(('vehicle', 'scenario'), [('lrauv', 'lawn_mower'), ('float', 'profile')])
def test_a_run_has_one_hash_in_processes_composed_and_simulated(
    processes, tmp_path, vehicle, scenario
):
    run_everywhere(
        processes, tmp_path, vehicle, '--scenario', scenario, '--duration', 2, '--dt', 0.02
    )


@pytest.mark.long
def test_the_compiled_engine_has_the_same_run_of_the_lrauv():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    play = replace(load_scenario('lawn_mower'), duration=6.0)
    run = simulate(vehicle_of('lrauv'), play, dt=0.05)
    found, _ = simulate_compiled(vehicle_of('lrauv'), play, dt=0.05)
    np.testing.assert_allclose(found.position, run.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.velocity, run.velocity, rtol=0, atol=1e-9)
