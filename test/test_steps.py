# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Safe steps, the default integrator, and masses that have no inverse."""

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import ModelError, RunError
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.currents_and_waves import regular_waves
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model.library import vehicle_names
from marine_sim_ros.physics.rigid_body import (
    AUTO_INTEGRATOR,
    CONVERGENCE_TOLERANCE,
    INTEGRATOR_CHOICES,
    INTEGRATORS,
    check_convergence,
    iteration_residual,
    resolve_integrator,
    unforced_velocity,
)
from marine_sim_ros.sim.safe_step import longest_safe_step, step_warnings, surface_stiffness
from marine_sim_ros.sim.simulation import DEFAULT_STEP
from marine_sim_ros.tools.main import main

SHORT_WAVES = Environment(waves=regular_waves(0.1, 1.0))
"""0.1 m high, of 1 s: the shortest that a step of 1/60 of their period, 17 ms, is safe in."""


@pytest.mark.parametrize(
    ('name', 'water'),
    [(name, Environment()) for name in vehicle_names()]
    + [('surface_vessel', SHORT_WAVES), ('wamv', SHORT_WAVES)],
)
def test_the_safe_step_ends_where_the_default_does(name, water, tmp_path):
    script = tmp_path / 'turn.yaml'
    script.write_text('duration: 2\nsegments: [{at: 0, axes: {surge: 0.5, yaw: 0.2}}]\n')
    turn, vehicle = load_scenario(str(script)), vehicle_of(name)
    steps = longest_safe_step(vehicle, water).seconds, DEFAULT_STEP
    coarse, fine = (simulate(vehicle, turn, environment=water, dt=dt) for dt in steps)
    path = np.sum(np.linalg.norm(np.diff(fine.position, axis=0), axis=1))
    end = coarse.time[-1]  # 2 s are no whole number of these steps
    expected = [np.interp(end, fine.time, column) for column in fine.position.T]
    assert np.linalg.norm(coarse.position[-1] - expected) < 0.03 * path  # first order in the step


@pytest.mark.parametrize('name', vehicle_names())
def test_shipped_vehicles_may_take_the_default_step(name):
    sea = run_environment('moderate_sea')
    assert step_warnings(vehicle_of(name), sea, DEFAULT_STEP, AUTO_INTEGRATOR) == []
    (line,) = step_warnings(vehicle_of(name), sea, 0.1, AUTO_INTEGRATOR)
    assert line.startswith('dt is 0.1 s; expected at most 0.0')


def test_safe_steps_are_those_of_the_closed_forms():
    rov = vehicle_of('bluerov2')
    linear, squared = (float(c[5]) for c in rov.damping.by_axis)
    pushes = rov.thrusters.effectiveness[5] * rov.thrusters.thrust_of_pwm(
        np.array([1100.0, 1900.0])[:, None] * np.ones(len(rov.thrusters))
    )
    moment = np.max(pushes, axis=0).sum()
    rate = (np.sqrt(linear**2 + 4 * squared * moment) - linear) / (2 * squared)
    assert longest_safe_step(rov).seconds == pytest.approx(0.1 / rate, rel=1e-6)
    boat = vehicle_of('wamv')
    heave = np.sqrt(surface_stiffness(boat) / boat.mass_matrix[2, 2])
    assert longest_safe_step(boat).seconds == pytest.approx(0.3 / heave)
    assert longest_safe_step(boat, SHORT_WAVES).seconds == pytest.approx(1 / 60)
    gz = load_vehicle('bluerov2', coefficients='bluerov2_gz')
    assert longest_safe_step(gz, integrator='rk4').seconds == pytest.approx(4.13e-3, rel=1e-2)


def test_hulls_with_panels_and_without_an_arm_get_the_conserving_integrator():
    found = {name: resolve_integrator(vehicle_of(name)) for name in vehicle_names()}
    assert {n for n, i in found.items() if i == 'conserving'} == {'simple_rov', 'surface_vessel'}
    assert set(INTEGRATOR_CHOICES) == {AUTO_INTEGRATOR, *INTEGRATORS}


@pytest.mark.parametrize(
    ('mass', 'moment', 'axis'),
    [
        ('1e-300', '0.1', 'surge|sway|heave'),
        ('10', '1e-300', 'roll|pitch|yaw'),
        ('1e9', '1e-8', 'roll|pitch|yaw'),
    ],
)
def test_a_mass_matrix_without_an_inverse_is_refused(mass, moment, axis):
    text = f"""<robot name="odd"><link name="base_link"><inertial><mass value="{mass}"/>
      <inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/>
      </inertial></link></robot>"""
    with pytest.raises(ModelError, match=f'not positive definite: .*mostly ({axis})'):
        load_vehicle(text)


@pytest.mark.parametrize('dt', [0.005, 0.1])
@pytest.mark.parametrize('name', ['torpedo_auv', 'surface_vessel', 'bluerov2'])
def test_a_conserving_step_conserves_or_is_refused(name, dt):
    """Both engines: energy stays wherever the iterations settle; elsewhere it may do anything."""
    vehicle, rng, ends = vehicle_of(name), np.random.default_rng(1), []
    twist = rng.normal(size=(40, 6)) * 0.5
    twist[:, 3:] *= (np.geomspace(1e-3, 4, 40) / np.linalg.norm(twist[:, 3:], axis=1))[
        :, None
    ] / dt
    for nu in twist:
        mass, state = vehicle.mass_matrix, state_at_rest()._replace(velocity=nu)
        try:
            free = unforced_velocity(vehicle, state, Environment(), dt)
        except RunError as error:
            ends.append(str(error))
        else:
            assert free @ mass @ free == pytest.approx(nu @ mass @ nu, rel=1e-3)
            ends.append('')
        if (
            iteration_residual(vehicle, nu, dt) <= CONVERGENCE_TOLERANCE
        ):  # ten iterations; twenty do it too
            assert not ends[-1]
    assert not ends[0] or dt > 0.01
    assert f'with a step of {dt:g} s; expected a smaller step' in ends[-1]


def test_a_compiled_run_that_does_not_settle_is_an_error():
    velocity = np.zeros((3, 6))
    velocity[1:, 3:] = [[0.1, 0.2, 2.0], [20.0, 20.0, 90.0]]
    stamps, vehicle = np.array([0, 10, 20]) * 10**6, vehicle_of('surface_vessel')
    check_convergence(vehicle, velocity[:2], stamps[:2], 0.01, 'auto')
    check_convergence(vehicle, velocity, stamps, 0.01, 'semi_implicit')
    with pytest.raises(RunError, match=r'conserving does not converge at 0 m/s .* after 0.02 s'):
        check_convergence(vehicle, velocity, stamps, 0.01, 'auto')


def test_an_integrator_of_the_first_order_for_a_hull_is_warned_of():
    (told,) = step_warnings(vehicle_of('surface_vessel'), Environment(), 0.002, 'semi_implicit')
    assert 'adds ½ ω² dt to the motion in every second' in told
    assert '0.1 % at 1 rad/s' in told
    (told,) = step_warnings(vehicle_of('simple_rov'), Environment(), 0.004, 'rk4')
    assert 'points ½ ω dt aside, 0.2 % at 1 rad/s; expected --integrator auto' in told
    fine = [('surface_vessel', 'auto'), *(('bluerov2', i) for i in ('semi_implicit', 'rk4'))]
    for name, integrator in fine:
        assert step_warnings(vehicle_of(name), Environment(), 0.002, integrator) == []


@pytest.mark.parametrize('integrator', INTEGRATOR_CHOICES)
@pytest.mark.parametrize('name', ['simple_rov', 'glider'])
def test_the_doctor_says_of_an_integrator_what_a_run_does(name, integrator, capfd):
    told = step_warnings(vehicle_of(name), Environment(), DEFAULT_STEP, integrator)
    with pytest.raises(SystemExit):
        main(['doctor', name, '--integrator', integrator])
    steps, *findings = capfd.readouterr().out.split('steps: ')[1].splitlines()
    unsafe = [line for line in findings if line.startswith('warning:') and 'safe-step' in line]
    assert len(unsafe) == len(told)
    if told:
        assert steps == f'none is safe with the integrator {integrator}'
        assert told[0].removesuffix('; expected --integrator auto') in unsafe[0]
    else:
        limit = longest_safe_step(vehicle_of(name), integrator=integrator).seconds
        assert steps.startswith(f'safe up to {limit * 1e3:.3g} ms in calm water with ')


FLEET = """
pattern: {shape: line, spacing: 3.0}
vehicles:
  - {vehicle: bluerov2, name: a}
  - {vehicle: simple_rov, name: b}
"""


def test_a_fleet_is_warned_of_its_step(tmp_path, capfd):
    (tmp_path / 'fleet.yaml').write_text(FLEET)
    given = ['--scenario', 'dive', '--dt', '0.02', '--duration', '0.1']
    with pytest.raises(SystemExit):
        main(['simulate', '--fleet', str(tmp_path / 'fleet.yaml'), *given])
    assert (
        'WARNING: dt is 0.02 s; expected at most 0.0092 s for simple_rov' in capfd.readouterr().err
    )


def test_a_step_far_too_long_ends_in_an_error_where_it_does_not_converge(tmp_path, capfd):
    script = tmp_path / 'turn.yaml'
    script.write_text('duration: 60\nsegments: [{at: 0, axes: {surge: 0.5, yaw: 0.2}}]\n')
    with pytest.raises(SystemExit) as ended:
        main(['simulate', 'simple_rov', '--scenario', str(script), '--dt', '1'])
    assert ended.value.code == 1
    warned, failed = capfd.readouterr().err.splitlines()
    assert warned.startswith('WARNING: dt is 1 s; expected at most 0.0092 s')
    assert failed.startswith('ERROR: simple_rov: the integrator conserving does not converge')
