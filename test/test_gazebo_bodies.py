# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies in Gazebo, without Gazebo: their files, their forces, what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from conftest import vehicle_of
from dart import dart_step
from lxml import etree
from sdf_reader import SdfReader

from marine_sim_ros.core.errors import ModelError, ParameterError, RunError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.gazebo.delivery import check_gazebo_bodies
from marine_sim_ros.gazebo.exchange import BodyForces
from marine_sim_ros.gazebo.run_files import PROBE, bridge_text, write_run
from marine_sim_ros.sim.body_simulation import BodySimulation
from marine_sim_ros.sim.options import RunOptions

STEP, DT = 5_000_000, 0.005
TUMBLING = (
    '{name: crate, shape: box, size: [0.5, 0.3, 0.2], position: [0, 0, -3], rpy: [0.4, -0.2, 1.0],'
    ' mass: 33.0, material: steel, velocity: [0.5, 0.2, 0.1, 0.3, 0.2, 1.0]}'
)
AFLOAT = (
    '{name: float, shape: box, size: [0.4, 0.3, 0.2], position: [2, 0, -0.1], rpy: [0.6, 0, 0],'
    ' mass: 12.0, material: wood}'
)
DOOR = (
    '{name: door, shape: box, size: [0.1, 1.0, 1.0], position: [1.2, 0, -3], mass: 120.0,'
    ' material: wood}'
)
HINGE = (
    '{name: hinge, type: revolute, child: door, position: [1.2, -0.5, -3], limits: [-1.0, 1.0],'
    ' friction: 0.5}'
)


@pytest.fixture
def water(tmp_path):
    """Return the environment of bodies and joints, in YAML."""

    def make(*bodies, joints=(), rest=''):
        path = tmp_path / 'water.yaml'
        lists = {'bodies': bodies, 'joints': joints}
        lines = [f'{key}: [{", ".join(items)}]' for key, items in lists.items() if items]
        path.write_text('\n'.join([*lines, rest]) + '\n')
        return str(path)

    return make


class Dart:
    """Bodies that start at rest and that DART's step moves, as Gazebo reports them."""

    def __init__(self, environment):
        self.environment = environment
        self.bodies = {body.name: body for body in environment.free_bodies}
        self.states = {
            name: body.start._replace(velocity=np.zeros(6)) for name, body in self.bodies.items()
        }

    def step(self, wrenches):
        for (name, state), wrench in zip(self.states.items(), wrenches, strict=True):
            vehicle = self.bodies[name].vehicle
            self.states[name] = dart_step(vehicle, state, wrench, self.environment, DT)


@pytest.mark.parametrize('current', [(0.0, 0.0, 0.0), (0.3, -0.1, 0.0)])
def test_bodies_without_contact_are_where_they_are_without_gazebo(water, current):
    environment = run_environment(water(TUMBLING, AFLOAT), current=current)
    wanted, forces, dart = BodySimulation(environment, DT), BodyForces(environment, DT), None
    for run in range(2):  # the second one as after a reset of the world
        dart = Dart(environment)
        for i in range(200):
            wanted.tick(i * STEP, environment, {})
            forces.take(i * STEP, dart.states)
            for name, state in wanted.states.items():
                np.testing.assert_allclose(forces.states[name].position, state.position, atol=1e-9)
                np.testing.assert_allclose(forces.states[name].velocity, state.velocity, atol=1e-9)
            dart.step(forces.wrenches(i * STEP, environment))
        assert np.linalg.norm(dart.states['crate'].position - [0, 0, -3]) > 0.3, run


def test_a_body_at_rest_in_still_water_gets_its_buoyancy(water):
    environment = run_environment(water(DOOR, joints=[HINGE]))
    forces = BodyForces(environment, DT)
    start = environment.free_bodies[0].start
    forces.take(0, {'door': start})
    (wrench,) = forces.wrenches(0, environment)
    np.testing.assert_allclose(wrench, [0, 0, 1027 * 9.8 * 0.1, 0, 0, 0], rtol=2e-3, atol=1e-9)
    assert forces.joint_positions == {'hinge': 0.0}


def test_a_jointed_body_keeps_its_velocity_and_a_joint_its_angle(water):
    environment = run_environment(water(DOOR, joints=[HINGE]))
    forces = BodyForces(environment, DT)
    turned = np.array([0.0, 0.0, np.sin(0.1), np.cos(0.1)])
    velocity = np.array([-0.05, 0.0, 0.0, 0.0, 0.0, 0.1])
    start = environment.free_bodies[0].start
    forces.take(STEP, {'door': start._replace(orientation=turned, velocity=velocity)})
    np.testing.assert_array_equal(forces.states['door'].velocity, velocity)
    assert forces.joint_positions['hinge'] == pytest.approx(0.2)


def test_a_body_that_is_nowhere_ends_the_run(water):
    environment = run_environment(water(DOOR))
    forces = BodyForces(environment, DT)
    lost = environment.free_bodies[0].start._replace(position=np.full(3, np.nan))
    with pytest.raises(
        RunError, match=r"^the state of body 'door' is not physical after 1\.000 s"
    ):
        forces.take(10**9, {'door': lost})


# --- files


def test_a_run_s_world_has_the_bodies_with_their_mass_joints_and_probes(water, tmp_path):
    folder = tmp_path / 'run'
    folder.mkdir()
    absent = '{name: spare, shape: sphere, radius: 0.1, mass: 3.0, absent: true}'
    file = water(DOOR, AFLOAT, absent, joints=[HINGE])
    made = write_run(RunOptions(environment=file), folder, world='', delivery='in_server')
    assert made.bodies == ('door', 'float')
    world = etree.fromstring((folder / 'world.sdf').read_bytes()).find('world')
    assert not [p for p in world.findall('plugin') if p.get('name').endswith('Buoyancy')]
    (system,) = (p for p in world.findall('plugin') if p.find('module_name') is not None)
    assert system.findtext('bodies') == 'door::base_link float::base_link'
    environment = run_environment(file)
    for body in environment.free_bodies[:2]:
        model = world.find(f'model[@name="{body.name}"]')
        assert [float(x) for x in model.findtext('pose').split()][:3] == body.position.tolist()
        assert model.find(f'link/sensor[@name="{PROBE}"]') is not None
        alone = etree.Element('sdf', version='1.10')
        alone.append(model)
        mass = SdfReader(etree.tostring(alone, encoding='unicode')).mass_matrix()
        np.testing.assert_allclose(mass, body.vehicle.mass_matrix, rtol=1e-9, atol=1e-9)
    joint = world.find('joint')
    assert (joint.get('type'), joint.findtext('parent')) == ('revolute', 'world')
    assert joint.findtext('child') == 'door::base_link'
    assert joint.findtext('axis/limit/upper') == '1'
    entries = yaml.safe_load((folder / 'ros_gz_bridge.yaml').read_text())
    assert [e['gz_topic_name'] for e in entries[3:]] == [
        f'/model/{name}/seat/{kind}' for name in made.bodies for kind in ('state', 'wrench')
    ]
    assert entries[3]['ros_topic_name'] == '/bluerov2/gazebo/bodies/door/state'


def test_without_bodies_the_bridge_has_the_vehicle_s_topics_alone():
    text = bridge_text('in_server', namespace='/rov', model='rov', world='w')
    assert len(yaml.safe_load(text)) == 3


def test_a_world_that_has_a_model_of_a_body_s_name_is_refused(water, tmp_path):
    own = tmp_path / 'own.sdf'
    own.write_text('<sdf version="1.9"><world name="w"><model name="door"/></world></sdf>')
    options = RunOptions(environment=water(DOOR))
    with pytest.raises(
        ModelError, match="has a model 'door' already; expected a world without it"
    ):
        write_run(options, tmp_path, world=str(own), delivery='in_server')


# --- what Gazebo does not do


RING = [
    '{name: a, type: ball, child: door, parent: float, position: [0, 0, -3]}',
    '{name: b, type: ball, child: float, parent: door, position: [0, 0, -3]}',
]
CHANGES = '[{at: 1.0, reset_bodies: true}]'


@pytest.mark.parametrize(
    ('joints', 'delivery', 'text'),
    [
        ([HINGE], 'stock', 'delivery stock, which moves the vehicle alone'),
        ([HINGE], 'compiled', 'delivery compiled, which moves the vehicle alone'),
        (
            [HINGE[:-1] + ', detents: {positions: [0.5], effort: 1.0, width: 0.1}}'],
            'in_server',
            'detents of joint hinge',
        ),
        ([HINGE[:-1] + ', break_torque: 9.0}'], 'in_server', 'breaking load of joint hinge'),
        (
            [
                '{name: stab, type: fixed, child: door, position: [1, 0, -3],'
                ' mate: {position: [2, 0, -3], distance: 0.1}}'
            ],
            'in_server',
            'mate of joint stab',
        ),
        (
            [HINGE, HINGE.replace('hinge', 'other')],
            'in_server',
            'a second joint of door; expected',
        ),
        (RING, 'in_server', 'a ring of joints at door; a ring of joints at float'),
    ],
)
def test_what_gazebo_does_not_do_is_refused_in_one_line(water, tmp_path, joints, delivery, text):
    options = RunOptions(environment=water(DOOR, AFLOAT, joints=joints))
    with pytest.raises(ParameterError) as told:
        write_run(options, tmp_path, world='', delivery=delivery)
    assert text in str(told.value)
    assert '\n' not in str(told.value)
    assert 'expected delivery:=in_server without those, or a run without Gazebo' in str(told.value)


def test_changes_and_grippers_of_bodies_are_refused(water, tmp_path):
    changes = tmp_path / 'changes.yaml'
    changes.write_text(CHANGES)
    options = RunOptions(environment=water(DOOR), changes=str(changes))
    with pytest.raises(ParameterError, match='changes of bodies'):
        write_run(options, tmp_path, world='', delivery='in_server')
    environment = run_environment(water(DOOR))
    with pytest.raises(ParameterError, match='the gripper'):
        check_gazebo_bodies(vehicle_of('bluerov2_heavy', arm='true'), environment, 'in_server')


def test_an_environment_without_bodies_is_refused_nothing():
    check_gazebo_bodies(vehicle_of('bluerov2'), replace(Environment(), name='none'), 'stock')
