# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles without thrusters run in every engine; what was ignored of a vehicle is said once."""

import numpy as np
import pytest
from graph import manifest, recorded, simulated

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics import wrench_sources
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario

MASS, VOLUME, DRAG = 10.0, 0.009, 30.0
FLOAT = f"""<robot name="floater"><link name="base_link">
<inertial><mass value="{MASS}"/>
<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<buoyancy><volume>{VOLUME}</volume><center_of_volume>0 0 0.02</center_of_volume></buoyancy>
<hydrodynamics><water_density>1000</water_density>
<quadratic_damping>20 20 {DRAG} 1 1 1</quadratic_damping></hydrodynamics>
<barometer link="base_link"/>
<gazebo><plugin name="p" filename="gz-sim-thruster-system"/></gazebo></robot>
"""
SINK = """duration: {}
initial: {{position: [0, 0, -2], rpy: [0.2, 0, 0]}}
segments: [{{at: 0.0}}]
"""
IGNORED = 'plugin gz-sim-thruster-system is ignored'


@pytest.fixture
def files(tmp_path):
    (tmp_path / 'float.urdf').write_text(FLOAT)
    (tmp_path / 'sink.yaml').write_text(SINK.format(4.0))
    faults = 'faults: [{at: 0.5, kind: barometer_drift, rate: 50}]\n'
    (tmp_path / 'drift.yaml').write_text(SINK.format(1.0) + faults)
    (tmp_path / 'pwm.yaml').write_text('duration: 1\nsegments: [{at: 0.0, pwm: [1600]}]\n')
    return tmp_path / 'float.urdf', tmp_path / 'sink.yaml'


def test_it_sinks_at_its_terminal_speed(files):
    vehicle, scenario = load_vehicle(files[0]), load_scenario(str(files[1]))
    done = simulate(vehicle, scenario, duration=8.0)
    # m g - rho g V = c w^2; after tanh(8 s / 1.8 s) all of it.
    terminal = np.sqrt((MASS - 1000 * VOLUME) * 9.80665 / DRAG)
    assert done.velocity[-1, 2] == pytest.approx(-terminal, rel=2e-3)
    assert set(done.sources) == {'buoyancy', 'drag'}
    assert done.pwm.shape == done.thrust.shape == (1601, 0)


@pytest.mark.parametrize('environment', [None, 'pool'])
@pytest.mark.parametrize('name', ['sink', 'drift'])
def test_the_compiled_engine_agrees(files, environment, name):
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle, scenario = (
        load_vehicle(files[0]),
        load_scenario(str(files[0].parent / f'{name}.yaml')),
    )
    water = None if environment is None else load_environment(environment)
    wanted = simulate(vehicle, scenario, environment=water, duration=1.0)
    found, _ = simulate_compiled(vehicle, scenario, environment=water, duration=1.0)
    assert np.abs(found.position - wanted.position).max() < 1e-9
    assert found.thrust.shape == (201, 0)
    np.testing.assert_allclose(found.pressure, wanted.pressure, rtol=1e-9)


def test_its_graph_has_no_thrusters(files):
    vehicle, pool = load_vehicle(files[0]), load_environment('pool')
    assert wrench_sources(vehicle, pool) == ('buoyancy', 'drag', 'boundary', 'contact')
    specs = node_specs(RunOptions(vehicle=str(files[0]), environment='pool', record='out'))
    nodes = {spec.executable: spec.parameters for spec in specs}
    assert 'thrusters' not in nodes
    assert nodes['dynamics']['wrench_sources'] == ['buoyancy', 'drag', 'boundary', 'contact']


@pytest.mark.ros
@pytest.mark.parametrize('more', [[], ['--composed', '--environment', 'pool']], ids=str)
def test_its_graph_runs_as_it_is_simulated(files, processes, tmp_path, more):
    vehicle, scenario = map(str, files)
    process = processes.marine_sim(
        'run',
        vehicle,
        '--scenario',
        scenario,
        '--duration',
        1,
        '--real-time-factor',
        0,
        '--record',
        tmp_path / 'run',
        *more,
    )
    output, _ = process.communicate()
    assert process.returncode == 0, output
    own = [option for option in more if option != '--composed']
    expected = simulated(vehicle, '--scenario', scenario, '--duration', 1, *own)
    assert manifest(tmp_path / 'run')['trajectory_sha256'] == expected
    assert not any('thrusters' in topic for topic in recorded(tmp_path / 'run'))
    assert output.count(IGNORED) == 1, output


@pytest.mark.ros
def test_a_node_of_thrusters_alone_answers_with_nothing(files, ros_environment):
    import rclpy
    from rclpy.parameter import Parameter

    from marine_sim_ros.core.state import state_at_rest
    from marine_sim_ros.nodes.thrusters import ThrustersNode

    rclpy.init()
    try:
        node = ThrustersNode(parameter_overrides=[Parameter('vehicle', value=str(files[0]))])
        answers = []
        node.publish_wrench = lambda stamp, wrench: answers.append((stamp, wrench.tolist()))
        node.on_state(0, state_at_rest())
        assert answers == [(0, [0.0] * 6)]
        node.destroy_node()
    finally:
        rclpy.try_shutdown()


@pytest.mark.ros
@pytest.mark.parametrize(
    ('verb', 'scenario', 'code'), [('simulate', 'sink.yaml', 0), ('run', 'pwm.yaml', 2)]
)
def test_what_is_ignored_is_said_also_where_no_node_runs(files, processes, verb, scenario, code):
    path = files[0].parent / scenario
    process = processes.marine_sim(verb, files[0], '--scenario', path, '--duration', 0.1)
    output, _ = process.communicate()
    assert process.returncode == code, output
    assert output.count(IGNORED) == 1, output
    assert f'WARNING: {files[0]}:9: <plugin name="p">: {IGNORED}' in output
