# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coefficients that made a run are found again in what sensors tell of it."""

import argparse
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from bags import MAVROS, header, odometry
from conftest import vehicle_of

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.description import recorded_voltage
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.identification import fit
from marine_sim_ros.identification.fit import (
    Estimate,
    explain_too_few_stretches,
    fitted_tags,
    fitted_urdf,
    identify_vehicle,
)
from marine_sim_ros.identification.parameters import ParameterSet, covariance, interval_scales
from marine_sim_ros.identification.recording import OdometryNoise, noisy_odometry
from marine_sim_ros.identification.samples import Samples, make_samples
from marine_sim_ros.identification.shooting import Shooting, first_guess, stretch_starts
from marine_sim_ros.identification.thrust import (
    RecordedStates,
    check_pulses,
    commands_of_pwm,
    commands_of_thrust,
)
from marine_sim_ros.model.vehicle import Damping
from marine_sim_ros.physics.drag import coupled_drag, damping_matrix
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.tools import identify as identify_tool
from marine_sim_ros.tools.main import main

pytest.importorskip('rosbags')
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore


def sampled(vehicle, run, seed=0, **options):
    commands = commands_of_pwm(run.time, run.pwm, vehicle.thrusters)
    return make_samples(vehicle, run.time, noisy_odometry(run, seed), commands, **options)


def mattering(vehicle, speed):
    """Return what an error of a coefficient (18,) is to be held against.

    It is the coefficient itself, or what else resists the same motion where that is more.
    """
    damping = vehicle.damping
    linear, quadratic = np.diag(damping.linear), np.diag(damping.quadratic)
    drag = linear + quadratic * speed
    return np.concatenate([np.diag(vehicle.mass_matrix), drag, drag / speed])


VEHICLES = {'bluerov2_heavy': ('von_benzon2022', 1), 'bluerov2': ('wu2018', 2)}
"""Their coefficients, and the seed of the noise of sensors."""


@pytest.fixture(scope='module', params=['bluerov2_heavy', 'bluerov2'])
def excited(request):
    coefficients, seed = VEHICLES[request.param]
    vehicle = load_vehicle(request.param, coefficients=coefficients)
    return vehicle, simulate(vehicle, load_scenario('excitation'), dt=0.005), seed


@pytest.mark.long
def test_coefficients_are_found_again_within_five_percent(excited):
    vehicle, run, seed = excited
    speed = np.sqrt(np.mean(run.velocity**2, axis=0))
    found = identify_vehicle(vehicle, sampled(vehicle, run, seed))
    assert all(e.observable for e in found.estimates)
    values = np.array([e.value for e in found.estimates])
    true = np.array([e.parameter.described for e in found.estimates])
    error = np.abs(values - true)
    # A coefficient that is nearly all of what resists its axis is found within 5 % of
    # itself; a small one beside a large one, within 5 % of both together.
    assert np.all(error[:18] < 0.05 * mattering(vehicle, speed))
    large = true[:18] > 0.4 * mattering(vehicle, speed)
    assert large.sum() >= 8
    assert np.all(error[:18][large] < 0.05 * true[:18][large])
    assert values[18] == pytest.approx(0.1, rel=0.03)
    assert values[19] == pytest.approx(vehicle.buoyancy.volume, rel=0.001)
    half = np.array([e.half for e in found.estimates])
    assert np.max(half[:18] / mattering(vehicle, speed)) < 0.15
    rms = np.sqrt(np.mean((found.fitted - found.measured) ** 2, axis=(0, 1)))
    np.testing.assert_allclose(rms, found.noise, rtol=0.8)


@pytest.mark.long
def test_the_first_guess_is_near_without_noise(excited):
    vehicle, run, _ = excited
    commands = commands_of_pwm(run.time, run.pwm, vehicle.thrusters)
    rows = np.column_stack([run.position, run.orientation, run.velocity])
    samples = make_samples(vehicle, run.time, rows, commands)
    parameters = ParameterSet(vehicle, lag=True, volume=True)
    guess = first_guess(parameters, samples)
    speed = np.sqrt(np.mean(run.velocity**2, axis=0))
    error = np.abs(guess - parameters.described)[:18]
    assert np.all(error < 0.15 * mattering(vehicle, speed))
    assert guess[18] == 0.1


@pytest.mark.parametrize('lag', [False, True])
@pytest.mark.parametrize('volume', [False, True])
def test_each_parameter_has_a_scale_for_its_interval(lag, volume):
    """Of a coefficient itself and what acts beside it; of the lag itself; of the volume 1 %."""
    vehicle = vehicle_of('bluerov2_heavy')
    parameters = ParameterSet(vehicle, lag=lag, volume=volume)
    theta, speed = parameters.described, np.full(6, 0.5)
    scale = interval_scales(parameters, theta, speed, np.zeros(6))
    assert scale.shape == theta.shape == (18 + lag + volume,)
    drag = theta[6:12] + 0.5 * theta[12:18] + parameters.kept_damping(speed)
    np.testing.assert_allclose(scale[6:12], np.maximum(drag, theta[6:12]))
    rest = [*theta[18 : 18 + lag]] + [0.01 * vehicle.buoyancy.volume] * volume
    np.testing.assert_allclose(scale[18:], rest)


def scripted(vehicle, segments, duration=40.0, **options):
    lines = ''.join(f'  - {{at: {t}, axes: {axes}}}\n' for t, axes in segments)
    text = f'duration: {duration}\ninitial: {{position: [0, 0, -40]}}\nsegments:\n{lines}'
    return simulate(vehicle, parse_scenario(text, 'run'), dt=0.01, **options)


def told(found):
    return {e.parameter.name: e.reason for e in found.estimates}


@pytest.mark.long
def test_axes_that_never_moved_are_not_observable():
    vehicle = load_vehicle('bluerov2', coefficients='bluerov2_gz')
    steps = [0.2, 0.5, -0.3, 0.1, -0.5, 0.4, -0.15, 0.0, 0.3, -0.4]
    run = scripted(vehicle, [(4 * i, f'{{surge: {s}}}') for i, s in enumerate(steps)])
    found = identify_vehicle(vehicle, sampled(vehicle, run))
    reasons = told(found)
    for kind in ('added_mass', 'linear_damping', 'quadratic_damping'):
        assert reasons[f'{kind} surge'] == ''
        assert reasons[f'{kind} sway'].startswith('sway hardly moves')
        assert reasons[f'{kind} yaw'].startswith('yaw hardly moves')
    assert reasons['time_constant'] == ''
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    sway = content['estimates'][1]
    assert (sway['observable'], sway['value'], sway['described']) == (False, None, 0.0)
    # And so they keep what the description says.
    text = fitted_tags(vehicle, found)
    quadratic = re.search('<quadratic_damping>(.*)</quadratic_damping>', text)[1].split()
    assert [float(v) for v in quadratic][1] == 54.16
    assert float(quadratic[0]) == pytest.approx(33.732, rel=0.05)


@pytest.mark.long
def test_drag_at_one_speed_alone_is_neither_linear_nor_quadratic():
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    deep = replace(
        vehicle, buoyancy=replace(vehicle.buoyancy, center_of_volume=np.array([0, 0, 3.0]))
    )
    run = scripted(deep, [(0, '{yaw: 0.3}')], duration=30.0)
    late = run.time > 10  # the start would tell them apart
    commands = commands_of_pwm(run.time, run.pwm, vehicle.thrusters)
    reasons = told(
        identify_vehicle(
            deep, make_samples(deep, run.time[late], noisy_odometry(run, 0)[late], commands)
        )
    )
    assert reasons['linear_damping yaw'] == 'cannot be distinguished from quadratic_damping yaw'
    assert reasons['quadratic_damping yaw'] == 'cannot be distinguished from linear_damping yaw'


@pytest.mark.long
def test_a_run_in_a_current_needs_to_know_it():
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    drift = (0.3, -0.2, 0.0)
    run = simulate(
        vehicle,
        load_scenario('excitation'),
        dt=0.01,
        duration=20.0,
        environment=Environment(current=np.array(drift)),
    )
    quiet = OdometryNoise(linear=1e-4, angular=1e-4, attitude=1e-5, position=1e-3)
    commands = commands_of_pwm(run.time, run.pwm, vehicle.thrusters)
    rows = noisy_odometry(run, 0, quiet)

    def sway(current):
        samples = make_samples(vehicle, run.time, rows, commands, current)
        residual = identify_vehicle(vehicle, samples).to_dict()['axes']['sway']['rms_residual']
        return residual

    assert sway(drift) < 0.01
    assert sway((0.0, 0.0, 0.0)) > 3 * sway(drift)


@pytest.mark.long
def test_a_solver_that_stops_at_its_limit_is_a_doubt(monkeypatch):
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    run = simulate(vehicle, load_scenario('excitation'), dt=0.02, duration=18.0)
    monkeypatch.setattr(fit, '_EVALUATIONS', 1)
    found = identify_vehicle(vehicle, sampled(vehicle, run))
    assert not found.converged
    assert found.to_dict()['converged'] is False
    assert found.doubts[0].startswith('the fit did not converge in 1 evaluations')


@pytest.mark.parametrize('half', [np.inf, np.nan])
def test_an_interval_without_a_bound_is_unknown(half):
    parameter = SimpleNamespace(name='volume', kind='volume', described=1.0)
    assert Estimate(parameter, 1.25, half, '').texts() == ('1.25', 'unknown')


@pytest.mark.long
def test_what_the_model_does_not_explain_is_doubtful(capsys):
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    run = simulate(vehicle, load_scenario('excitation'), dt=0.01, duration=20.0)
    assert identify_vehicle(vehicle, sampled(vehicle, run)).doubts == []
    # A description that has the hull 3 % smaller contradicts the run; 0.3 % is within its trim.
    for factor, count in ((0.97, 1), (0.997, 0)):
        volume = factor * vehicle.buoyancy.volume
        other = replace(vehicle, buoyancy=replace(vehicle.buoyancy, volume=volume))
        doubts = identify_vehicle(other, sampled(other, run)).doubts
        assert len([d for d in doubts if d.startswith('volume: ')]) == count, doubts
    shuffled = replace(run, pwm=np.roll(run.pwm, 400, axis=0))
    found = identify_vehicle(vehicle, sampled(vehicle, shuffled))
    doubts = found.doubts
    assert any(re.match(r'of the motion only this is explained: surge \d+ %', d) for d in doubts)
    assert min(found.to_dict()['axes'][axis]['explained'] for axis in BODY_AXES) < 0
    identify_tool._print(vehicle, found)
    assert not re.search(r'-\d[\d.]* %', capsys.readouterr().out)


@pytest.mark.long
def test_a_slow_run_in_water_that_moves_tells_no_mass():
    """Water that swings by 0.15 m/s, and sticks that hardly change: free starts fit any of it."""
    vehicle = load_vehicle('bluerov2', coefficients='maker')
    sticks = 0.25 + 0.03 * np.random.default_rng(1).normal(size=15)
    run = scripted(vehicle, [(4 * i, f'{{surge: {s:.3f}}}') for i, s in enumerate(sticks)], 60.0)
    rows = noisy_odometry(run, 0)
    rows[:, 7] += 0.15 * np.sin(2 * np.pi * run.time / 20)
    commands = commands_of_pwm(run.time, run.pwm, vehicle.thrusters)
    found = identify_vehicle(vehicle, make_samples(vehicle, run.time, rows, commands))
    assert found.estimates_of('added_mass')[0].value > 100  # of 5.5 kg: what no reason would hide
    for kind in ('added_mass', 'linear_damping', 'quadratic_damping'):
        assert re.match(r'the model explains \d+ % of how surge', told(found)[f'{kind} surge'])
    assert any(d.startswith('of the motion only this is explained: surge') for d in found.doubts)
    assert '<added_mass>5.5 12.7 14.57' in fitted_tags(vehicle, found)


SURFACE = """
duration: 6
initial: {position: [0, 0, 0]}
segments:
  - {at: 0.5, axes: {surge: 0.5}}
  - {at: 2.5, axes: {surge: 0.3, yaw: 0.3}}
  - {at: 4.0, axes: {surge: -0.4, yaw: -0.3}}
"""
AFLOAT = ('surface_vessel', 'wamv')


def residual(vehicle):
    """Return rms of simulated − measured velocity over the motion's (6,), as described."""
    afloat = vehicle.name in AFLOAT
    scenario = parse_scenario(SURFACE, 'steps') if afloat else load_scenario('excitation')
    run = simulate(vehicle, scenario, dt=0.01, duration=6.0)
    angles = {name: RecordedStates(run.time, values) for name, values in run.actuators.items()}
    commands = replace(commands_of_pwm(run.time, run.pwm, vehicle.thrusters), states=angles)
    rows = np.column_stack([run.position, run.orientation, run.velocity])
    samples = make_samples(vehicle, run.time, rows, commands)
    parameters = ParameterSet(vehicle, lag=True, volume=False)
    shooting = Shooting(parameters, samples, stretch_starts(samples, 1.0), 1.0)
    error = shooting.simulated(parameters.described) - shooting.measured
    motion = np.sqrt(np.mean(shooting.measured**2, axis=(0, 1)))
    return np.sqrt(np.mean(error**2, axis=(0, 1))) / np.maximum(motion, 0.05)


@pytest.mark.long
@pytest.mark.parametrize(
    'name', ['bluerov2', 'bluerov2_heavy', 'investigator90', 'torpedo_auv', 'simple_rov', *AFLOAT]
)
def test_the_fitted_model_has_every_term_of_a_shipped_vehicle(name):
    vehicle = vehicle_of(name)
    # The heave of a hull at the surface is open loop here: its depth is the measured one.
    assert np.all(residual(vehicle) < (0.3 if name == 'surface_vessel' else 0.08))


def test_coupled_drag_is_that_part_of_the_damping_matrix():
    rng = np.random.default_rng(1)
    for name in ('bluerov2', 'investigator90'):
        vehicle = vehicle_of(name)
        none = np.zeros((6, 6))
        others = replace(vehicle.damping, linear=none, quadratic=none)
        velocity = rng.normal(size=(20, 6))
        matrix = damping_matrix(replace(vehicle, damping=others), velocity)
        expected = np.einsum('nij,nj->ni', matrix, velocity)
        assert np.abs(expected).max() > 10
        np.testing.assert_allclose(coupled_drag(others, velocity), expected, atol=1e-9)


@pytest.mark.long
def test_a_recording_of_the_default_bluerov2_is_fitted(tmp_path, capsys):
    vehicle = load_vehicle('bluerov2')
    assert vehicle.damping.elements is not None
    run = simulate(vehicle, load_scenario('excitation'), dt=0.01, duration=20.0)
    write_recording(tmp_path / 'rec', vehicle, RunOptions(vehicle='bluerov2', dt=0.01), run)
    urdf = tmp_path / 'fitted.urdf'
    assert command(tmp_path / 'rec', '--urdf', urdf) == 0
    text = capsys.readouterr().out
    assert 'kept as described: drag elements, lift\n' in text
    assert 'doubtful' not in text
    row = re.search(r'added_mass +surge +([\d.]+) +± +([\d.]+)', text)
    assert float(row[1]) == pytest.approx(17.17, rel=0.03)
    again = load_vehicle(urdf)
    assert 'identify kept as described: drag elements, lift' in urdf.read_text()
    np.testing.assert_allclose(
        again.damping.elements.quadratic, vehicle.damping.elements.quadratic
    )
    # What was fitted comes on top of the kept elements: the drag along an axis is the true one.
    for fitted, true in zip(again.damping.by_axis, vehicle.damping.by_axis, strict=True):
        np.testing.assert_allclose(fitted[:3], true[:3], rtol=0.05, atol=1.0)


@pytest.mark.parametrize(
    ('size', 'text'),
    [(0.8, 'fractions of full thrust'), (45.0, 'thrust in N or kgf'), (3200.0, 'rpm')],
)
def test_commands_that_are_no_pulse_widths_are_refused(size, text):
    values = size * np.random.default_rng(2).uniform(-1, 1, (200, 6))
    values[:50] = 0.0
    with pytest.raises(ParameterError, match=text) as told:
        check_pulses(values, 'thrusters/pwm')
    assert str(told.value).startswith('thrusters/pwm: values from -')
    check_pulses(np.where(values > 0, 1500 + values / size * 400, 65535), 'thrusters/pwm')


def test_thrust_turns_with_recorded_azimuths():
    set_ = vehicle_of('wamv').thrusters
    commands = commands_of_thrust(np.array([0.0, 1.0]), np.full((2, 4), 80.0), set_)
    angles = RecordedStates(np.array([0.0, 1.0]), np.full((2, 2), 0.5))
    turned = replace(commands, states={'azimuths': angles})
    force = turned.wrenches(0.0, 0.1, 5, None)[:, :3]
    np.testing.assert_allclose(force[0], [160 * np.cos(0.5), 160 * np.sin(0.5), 0.0], atol=1e-9)


def test_intervals_hold_errors_that_last():
    """The scatter of a line's slope under coloured noise, drawn many times."""
    rng = np.random.default_rng(0)
    stretch_starts, length, decay = 12, 200, 0.9
    x = np.cos(np.linspace(0, 9, stretch_starts * length)).reshape(stretch_starts, length)
    jacobian = np.zeros((stretch_starts, length, 6, 1))
    jacobian[:, :, 0, 0] = x
    jacobian = jacobian.reshape(-1, 1)
    slopes, variances = [], []
    for _ in range(120):
        noise = np.zeros((stretch_starts, length, 6))
        noise[:, 0, 0] = rng.normal(0, 1 / np.sqrt(1 - decay**2), stretch_starts)
        pushes = rng.normal(size=(stretch_starts, length))
        for i in range(1, length):
            noise[:, i, 0] = decay * noise[:, i - 1, 0] + pushes[:, i]
        slope = np.linalg.lstsq(jacobian, noise.ravel(), rcond=None)[0]
        residuals = noise.ravel() - jacobian @ slope
        slopes.append(slope[0])
        variances.append(covariance(jacobian, residuals, stretch_starts, np.full(1, 1e-9))[0, 0])
    white = np.var(noise[..., 0]) / np.sum(x**2)
    assert np.mean(variances) == pytest.approx(np.var(slopes), rel=0.4)
    assert np.var(slopes) > 8 * white  # as if every sample were an error of its own


def test_stretches_that_contradict_each_other_widen_an_interval():
    """Ten stretches whose slopes scatter by 0.5: so does their mean, by 0.5/√10."""
    rng = np.random.default_rng(0)
    x = np.tile(np.cos(np.linspace(0, 60, 400)), (10, 1))  # each averages its own noise out
    variances = []
    for _ in range(60):
        errors = 0.5 * rng.normal(size=(10, 1)) * x + 0.01 * rng.normal(size=x.shape)
        jacobian, residuals = np.zeros((2, 10, 400, 6))
        jacobian[..., 0], residuals[..., 0] = x, errors - np.sum(errors * x) / np.sum(x * x) * x
        found = covariance(jacobian.reshape(-1, 1), residuals.ravel(), 10, np.full(1, 1e-9))
        variances.append(found[0, 0])
    assert np.mean(variances) == pytest.approx(0.5**2 / 10, rel=0.25)


def test_what_a_run_cannot_tell_has_the_vague_interval_of_before():
    jacobian = np.zeros((4 * 10 * 6, 2))
    jacobian[:, 0] = 1
    residuals = np.random.default_rng(0).normal(size=len(jacobian))
    prior = np.array([1e-4, 1e-4])
    assert covariance(jacobian, residuals, 4, prior)[1, 1] == pytest.approx(1e4)


@pytest.mark.parametrize('lag', [0.05, 0.3])
def test_rotors_follow_as_a_first_order_lag_of_their_speed(lag):
    vehicle = load_vehicle('bluerov2', coefficients='maker')
    pwm = np.full((2, 6), 1500.0)
    pwm[1, 4:] = 1900
    commands = commands_of_pwm(np.array([0.0, 0.25]), pwm, vehicle.thrusters)
    wrench = commands.wrenches(0.0, 0.02, 50, lag)
    time = 0.01 * np.arange(99)
    since = np.maximum(time - 0.25, 0)
    share = (1 - np.exp(-since / lag)) ** 2
    np.testing.assert_allclose(wrench[:, 2], -2 * 51.485 * share, atol=0.02 * 103 * 0.005 / lag)
    at_once = commands.wrenches(0.0, 0.02, 50, None)
    np.testing.assert_allclose(at_once[:, 2], np.where(time >= 0.25, -2 * 51.485, 0))


def test_commands_that_are_old_unknown_or_switched_off():
    thrusters = load_vehicle('bluerov2', coefficients='maker').thrusters
    channels = np.full((3, 16), 1700.0)
    channels[:, 1] = 0
    channels[:, 2] = 65535
    commands = commands_of_pwm(np.array([1.0, 1.5, 4.0]), channels, thrusters)
    np.testing.assert_allclose(commands.thrust[0], [17.848, 0, 0, 17.848, 17.848, 17.848])
    grid = np.array([0.5, 1.1, 1.6, 2.4, 3.0, 4.1, 4.6])
    known = [False, False, True, True, False, False, True]
    assert commands.known_mask(grid, 0.02).tolist() == known
    at_once = replace(commands, lagging=False).known_mask(grid, 0.02)
    assert at_once.tolist() == [False, True, True, True, False, True, True]
    with pytest.raises(ParameterError, match='has 4 channels; expected one for each of 6'):
        commands_of_pwm(np.zeros(3), channels[:, :4], thrusters)
    with pytest.raises(ParameterError, match='expected efforts of 6'):
        commands_of_thrust(np.zeros(3), np.full((3, 12), np.nan), thrusters)


def test_means_over_uneven_steps_are_exact_for_straight_lines():
    vehicle = load_vehicle('bluerov2', coefficients='bluerov2_gz')
    rng = np.random.default_rng(3)
    time = np.cumsum(rng.uniform(0.002, 0.009, 2000))
    rows = np.zeros((2000, 13))
    rows[:, 2], rows[:, 6] = -30, 1
    rows[:, 7:] = np.outer(time, np.arange(1, 7)) - 3
    rows[1000:, 3:7] *= -1  # the same attitude
    thrust = commands_of_thrust(time, np.zeros((2000, 12)), vehicle.thrusters)
    samples = make_samples(vehicle, time, rows, thrust)
    expected = np.outer(samples.time, np.arange(1, 7)) - 3
    np.testing.assert_allclose(samples.velocity, expected, atol=1e-9)
    np.testing.assert_allclose(samples.restoring[:, 2], 0.277, atol=0.02)
    assert samples.known.all()
    holes = (time < 3) | (time > 4)
    cut = make_samples(vehicle, time[holes], rows[holes], thrust)
    hidden = (cut.time > 3) & (cut.time < 4)
    assert not cut.known[hidden].any()
    assert cut.known[(cut.time < 2.9) | (cut.time > 4.1)].all()


@pytest.mark.long
def test_what_is_not_on_a_diagonal_stays():
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    full = vehicle.damping.linear.copy()
    full[0, 4] = 0.5
    coupled = replace(vehicle, damping=Damping(full, vehicle.damping.quadratic, np.zeros(3)))
    run = simulate(coupled, load_scenario('excitation'), dt=0.01, duration=24.0)
    found = identify_vehicle(coupled, sampled(coupled, run))
    text = fitted_urdf(coupled, found)
    again = load_vehicle(text)
    assert again.damping.linear[0, 4] == 0.5
    assert again.damping.quadratic[0, 0] == pytest.approx(18.18, rel=0.1)
    values = [float(e.texts()[0]) for e in found.estimates_of('quadratic_damping')]
    np.testing.assert_array_equal(np.diag(again.damping.quadratic), values)
    (lag,) = found.estimates_of('time_constant')
    np.testing.assert_allclose(again.thrusters.time_constant, lag.value, atol=1e-3)
    assert again.buoyancy.volume == pytest.approx(found.estimates_of('volume')[0].value, abs=1e-6)


@pytest.mark.long
def test_a_plugin_of_orca3_has_no_place_for_values():
    vehicle = replace(
        load_vehicle('bluerov2', coefficients='maker'),
        urdf='<robot><gazebo><plugin filename="libOrcaDragPlugin.so"/></gazebo></robot>',
    )
    with pytest.raises(ParameterError, match='Orca3 plugin; expected <hydrodynamics>'):
        fitted_urdf(vehicle, None)


# The command.


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp('run')
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    run = simulate(vehicle, load_scenario('excitation'), dt=0.01, duration=24.0)
    settings = RunOptions(vehicle='bluerov2', vehicle_arguments=('coefficients:=wu2018',), dt=0.01)
    write_recording(folder / 'rec', vehicle, settings, run)
    return folder / 'rec', run


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(['identify', *map(str, arguments)])
    return ended.value.code


def estimates(text):
    return {(e['parameter'], e['axis']): e for e in json.loads(text)['estimates']}


@pytest.mark.long
@pytest.mark.versions
def test_a_recording_knows_its_vehicle(recording, tmp_path, capsys):
    urdf, plot = tmp_path / 'fitted.urdf', tmp_path / 'fit.png'
    assert command(recording[0], '--urdf', urdf, '--plot', plot) == 0
    said = capsys.readouterr()
    assert said.err == ''
    assert re.search(r'quadratic_damping  surge  18\.\d+ +± \d\.\d+ +N·s²/m²  18\.18', said.out)
    assert '<hydrodynamics>' in said.out
    assert load_vehicle(urdf).damping.quadratic[0, 0] == pytest.approx(18.18, rel=0.05)
    assert plot.read_bytes()[:4] == b'\x89PNG'


def foreign(path, run, *, state=False):
    """Write odometry and motor outputs as another autopilot names and packs them."""
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(MAVROS, 'mavros_msgs/msg/RCOut'))
    types, empty = store.types, np.zeros(0)
    kind = 'sensor_msgs/msg/JointState' if state else 'mavros_msgs/msg/RCOut'
    with Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        odom = writer.add_connection('/sub/state', 'nav_msgs/msg/Odometry', typestore=store)
        motors = writer.add_connection('/sub/motors', kind, typestore=store)
        for i, since in enumerate(run.stamp.tolist()):
            stamp = since + 1_700_000_000 * 10**9
            pose = (*run.position[i], *run.orientation[i])
            message = odometry(types, stamp, pose, run.velocity[i])
            writer.write(odom, stamp, store.serialize_cdr(message, odom.msgtype))
            if state:
                fields = ([f'm{j}' for j in range(6)], empty, empty, run.thrust[i])
            else:
                fields = (np.append(run.pwm[i], np.zeros(10)).astype(np.uint16),)
            message = types[kind](header(types, stamp), *fields)
            writer.write(motors, stamp, store.serialize_cdr(message, kind))
    return path


@pytest.mark.long
def test_a_bag_of_another_autopilot_through_maps(recording, tmp_path, capsys):
    bag = foreign(tmp_path / 'sea', recording[1])
    vehicle = ('--vehicle', 'bluerov2', '--set', 'coefficients:=wu2018')
    maps = ('--map', 'odom:=/sub/state', '--map', 'thrusters/pwm:=/sub/motors')
    assert command(bag, *vehicle, *maps, '--json') == 0
    found = estimates(capsys.readouterr().out)
    assert found['quadratic_damping', 'surge']['value'] == pytest.approx(18.18, rel=0.1)
    assert found['time_constant', None]['value'] == pytest.approx(0.1, rel=0.1)


def test_thrust_that_was_recorded_has_no_lag_left(recording, tmp_path, capsys):
    bag = foreign(tmp_path / 'sea', recording[1], state=True)
    vehicle = ('--vehicle', 'bluerov2', '--set', 'coefficients:=wu2018')
    maps = ('--map', 'odom:=/sub/state', '--map', 'thrusters/state:=/sub/motors')
    assert command(bag, *vehicle, *maps, '--json', '--to', '20') == 0
    found = estimates(capsys.readouterr().out)
    assert ('time_constant', None) not in found
    assert found['added_mass', 'surge']['value'] == pytest.approx(5.5, rel=0.1)


def covered(spans, step=0.1):
    """Return samples of parts of some lengths (s), each followed by a gap of a second."""
    rows = [np.repeat([True, False], [round(s / step) + 1, round(1 / step)]) for s in spans]
    result = SimpleNamespace(known=np.concatenate(rows), step=step, start=2.0)
    result.covered_rows = lambda: Samples.covered_rows(result)
    return result


@pytest.mark.parametrize(
    ('spans', 'text'),
    [
        ((3.5, 2.5, 4.2, 2.2), '3 gaps of odometry or commands (the first at 5.5 s) leave '
                               'parts of 4.2 s at most; give --stretch 2, or record on'),
        ((1.0, 0.6), '1 gap of odometry or commands (the first at 3 s) leave parts of 1 s '
                     'at most; record a longer run, or'),
        ((9.0,), '9 s are covered; give --stretch 2'),
    ],
)  # fmt: skip
def test_gaps_are_named_with_what_helps(spans, text):
    assert text in explain_too_few_stretches(covered(spans), 4.0)


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        (['--map', 'odom:=/none'], 'no bag has /none'),
        (['--namespace', 'rov'], 'no such vehicle; expected one of bluerov2'),
        (['--from', '100'], 'no odometry between 100 and inf s'),
        (
            ['--to', '9'],
            'has 2 stretches of 4 s with odometry and thrust throughout; expected 4 '
            'or more: 8.44 s are covered; give --stretch 2',
        ),
        (['--stretch', '0'], '--stretch is 0'),
        (['--vehicle', 'bluerov2_heavy'], 'has 6 channels; expected one for each of 8'),
        (['--vehicle', 'boat'], 'neither a file nor a shipped vehicle'),
        (['--urdf', '/none/f.urdf', '--to', '20'], '--urdf /none/f.urdf: cannot be written'),
    ],
)
def test_bad_input_is_one_line(recording, capsys, arguments, text):
    assert command(recording[0], *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith('ERROR: ')
    assert error.count('\n') == 1
    assert text in error


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        (['--fit', 'bluerov2_heavy', '--urdf', 'f.urdf'], '--urdf: --fit writes no such file'),
        (['--fit', 'bluerov2_heavy', '--plot', 'f.png'], '--plot: --fit writes no such file'),
        (['--fit', 'bluerov2_heavy', '--from', '0'], '--from: --fit takes whole recordings'),
        (['--columns', 'saabmarine2025'], '--columns: only --fit reads .npz and .csv'),
    ],
)
def test_an_option_without_effect_is_refused_before_anything_is_read(capsys, arguments, text):
    assert command('/no/bag', *arguments) == 2
    assert capsys.readouterr().err.startswith(f'ERROR: {text}')


def test_a_bag_without_a_manifest_needs_a_vehicle(recording, tmp_path, capsys):
    bag = foreign(tmp_path / 'sea', recording[1])
    assert command(bag, '--map', 'odom:=/sub/state') == 2
    assert '--vehicle is missing' in capsys.readouterr().err
    assert command(bag, '--map', 'odom:=/sub/state', '--vehicle', 'bluerov2') == 2
    assert 'neither thrusters/pwm nor thrusters/state' in capsys.readouterr().err
    maps = ('--map', 'thrusters/pwm:=/sub/motors')
    assert command(bag, *maps, '--vehicle', 'bluerov2') == 2
    assert 'the bag has no odom' in capsys.readouterr().err


@pytest.mark.long
def test_a_vehicle_that_never_moved_tells_nothing(tmp_path, capsys):
    vehicle = load_vehicle('bluerov2', coefficients='maker')
    run = scripted(vehicle, [(0, '{}')], duration=18.0)
    still = replace(run, velocity=0 * run.velocity, position=0 * run.position - 5)
    settings = RunOptions(vehicle='bluerov2', vehicle_arguments=('coefficients:=maker',))
    write_recording(tmp_path / 'rec', vehicle, settings, still)
    assert command(tmp_path / 'rec', '--json') == 1
    found = estimates(capsys.readouterr().out)
    # At rest it weighs what it displaces, and that is all.
    assert [k for (k, _), e in found.items() if e['observable']] == ['volume']
    assert len(found) == 3 * len(BODY_AXES) + 2


@pytest.mark.parametrize('supply', ['option', 'scenario', 'curves'])
def test_a_recorded_vehicle_has_the_recorded_supply(tmp_path, supply):
    """Thrust at 12 V is 0.71 of that at 16 V: a fit with the wrong one moves every coefficient."""
    voltage = None if supply == 'curves' else 12.0
    vehicle = load_vehicle('bluerov2', voltage=voltage)
    scenario = load_scenario('dive')
    run = simulate(vehicle, scenario, dt=0.02, duration=0.2)
    settings = RunOptions(vehicle='bluerov2', voltage=12.0 if supply == 'option' else 0.0)
    write_recording(tmp_path / 'rec', vehicle, settings, run)
    parser = argparse.ArgumentParser()
    identify_tool.add_arguments(parser)
    for given, expected in (
        ([], voltage),
        (['--vehicle', 'bluerov2'], voltage),
        (['--voltage', '14'], 14.0),
    ):
        found = identify_tool._vehicle(parser.parse_args([str(tmp_path / 'rec'), *given]))
        assert found.thrusters.voltage == expected
        wanted, full = load_vehicle('bluerov2', voltage=expected).thrusters, np.full(6, 1900.0)
        assert found.thrusters.thrust_of_pwm(full) == pytest.approx(wanted.thrust_of_pwm(full))


def test_a_supply_in_a_manifest_that_is_none_is_named(tmp_path):
    for wrong in ('12 V', -3, [12], True, 1e400):
        with pytest.raises(RecordingError, match='expected a number'):
            recorded_voltage({'voltage': wrong})
