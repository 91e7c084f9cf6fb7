# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled engine moves an articulated arm as NumPy does."""

import numpy as np
import pytest
from arm_vehicles import WATER, stiff_joints, two_links

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics.arm.chain_solvers import JointLaw, solve_joint_rates
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.sim.step import StepCommands, Stepping

pytest.importorskip('jax', reason='jax: not installed (extra batch)')

from marine_sim_ros.engine.availability import precision
from marine_sim_ros.engine.batch import simulate_batch
from marine_sim_ros.engine.compiled import simulate_compiled
from marine_sim_ros.engine.compiled_vehicle import CompiledVehicle
from marine_sim_ros.engine.motion import motion
from marine_sim_ros.engine.script import make_script

ARM = {'arm': 'true', 'arm_dynamics': 'articulated'}


def scripted(vehicle, duration=1.0):
    """Joints that go to positions, then one that is pushed by an effort."""
    names = vehicle.manipulator.names
    axes = 'axes: {surge: 0.3, yaw: 0.2}, ' if len(vehicle.thrusters) else ''
    return parse_scenario(
        f"""
duration: {duration}
initial: {{position: [0, 0, -5], rpy: [0.1, 0.2, 0.3]}}
segments:
  - {{at: 0.0, {axes}joints: {{{names[0]}: 0.6, {names[1]}: 0.4}}}}
  - {{at: {duration / 2}, {axes}joint_efforts: {{{names[0]}: 1.5}}}}
""",
        'arm',
    )


def same(vehicle, scenario, tolerance, **options):
    expected = simulate(vehicle, scenario, **options)
    found, _ = simulate_compiled(vehicle, scenario, **options)
    for name in ('position', 'orientation', 'velocity', 'wrench'):
        apart = np.abs(getattr(found, name) - getattr(expected, name)).max()
        assert apart < (1e3 if name == 'wrench' else 1) * tolerance, name
    joints = found.actuators['joints'] - expected.actuators['joints']
    assert np.abs(joints).max() < tolerance
    assert set(found.sources) == set(expected.sources)
    return expected


@pytest.mark.long
@pytest.mark.parametrize('name', ['bluerov2_heavy', 'investigator90'])
def test_shipped_arms_move_alike(name):
    vehicle = load_vehicle(name, **ARM)
    run = same(vehicle, scripted(vehicle), 1e-13)
    assert np.ptp(run.actuators['joints'][:, 0]) > 0.2


@pytest.mark.long
def test_an_arm_in_a_current_moves_alike():
    vehicle = load_vehicle('bluerov2_heavy', **ARM)
    same(vehicle, scripted(vehicle), 1e-13, environment=load_environment('tidal_channel'))


@pytest.mark.long
@pytest.mark.parametrize('integrator', ['semi_implicit', 'conserving', 'rk4'])
def test_gears_and_stops_move_alike_with_each_integrator(integrator):
    gear = {'effort': 30.0, 'velocity': 2.0, 'damping': 0.1, 'friction': 0.05, 'limit': 0.5}
    vehicle = two_links(gear=gear, water=WATER.format(drag='linear_damping="1 2 2 0.1 0.1 0.1"'))
    run = same(
        vehicle,
        scripted(vehicle, 2.0),
        1e-10,
        integrator=integrator,
        environment=Environment(water_density=1000),
    )
    assert run.actuators['joints'].max() == pytest.approx(0.5)  # at the stop


@pytest.mark.parametrize('seed', range(3))
def test_stiff_drives_are_searched_alike(seed):
    """The search of :func:`solve_joint_rates`, many rounds of it."""
    law, matrix, pushed = stiff_joints(seed)
    expected = solve_joint_rates(law, matrix, pushed, np.zeros(6), 0.005)
    with precision('float64'):
        import jax
        import jax.numpy as jnp

        traced = jax.jit(lambda law, a, b, x: solve_joint_rates(law, a, b, x, 0.005))
        found = traced(JointLaw(*map(jnp.asarray, law)), matrix, pushed, np.zeros(6))
    assert np.asarray(found) == pytest.approx(expected, abs=1e-10)


@pytest.mark.long
def test_commands_from_outside_and_batches_move_alike():
    vehicle = load_vehicle('bluerov2_heavy', **ARM)
    scenario = scripted(vehicle)
    whole = simulate(vehicle, scenario)
    ticked = CompiledVehicle(vehicle, Environment(), scenario.initial_state(), Stepping(0.005))
    plan = make_script(scenario, vehicle)
    for i, stamp in enumerate(whole.stamp.tolist()):
        row = int(stamp >= 5 * 10**8)
        commands = StepCommands(
            whole.pwm[i], {name: table[row] for name, table in plan.actuators.items()}
        )
        output, state = ticked.tick(stamp, commands)
        assert output.joints.position == pytest.approx(whole.actuators['joints'][i], abs=1e-13)
        assert output.state.position == pytest.approx(whole.position[i], abs=1e-13)
    assert np.isfinite(state.velocity).all()
    batch = simulate_batch([vehicle] * 3, scenario, every=1)
    assert batch.position[:, 2] == pytest.approx(whole.position, abs=1e-12)


def test_its_motion_has_no_gradient_and_says_so():
    vehicle = load_vehicle('bluerov2_heavy', **ARM)
    scenario = scripted(vehicle)
    with pytest.raises(ParameterError, match='articulated arm, whose motion has no gradient'):
        motion(vehicle, make_script(scenario, vehicle), scenario.initial_state(), ticks=2)
