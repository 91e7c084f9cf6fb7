# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The Gazebo backend without Gazebo: wrench, ticks, files, and the lockstep system."""

import os
import signal
import threading
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from conftest import ROOT, vehicle_of
from dart import dart_step
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from lxml import etree
from scipy.spatial.transform import Rotation
from sdf_reader import SdfReader

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.gazebo import delivery
from marine_sim_ros.gazebo import delivery as installed
from marine_sim_ros.gazebo.exchange import (
    TickArrival,
    TickSequence,
    exerted_wrench,
    reported_velocity,
    stepped_velocity,
    twist_between,
)
from marine_sim_ros.gazebo.run_files import (
    PROBE,
    absolute_uris,
    add_vehicle_to_world,
    bridge_text,
    write_run,
)
from marine_sim_ros.gazebo.system.marine_sim_lockstep import Exchange, LockstepSystem
from marine_sim_ros.model.kinematics import IDENTITY
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import pose_vehicle
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.rigid_body import advance_pose, rigid_body_step, weight
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sdf.model import sdf_model
from marine_sim_ros.sim.options import RunOptions

DT = 0.005
MS = 10**6
ROV = vehicle_of('bluerov2')
vehicles = pytest.mark.parametrize('vehicle', ['bluerov2', 'bluerov2_heavy', 'investigator90'])


def moving(seed=0):
    random = np.random.default_rng(seed)
    return State(
        random.normal(size=3), Rotation.random(random_state=seed).as_quat(), random.normal(size=6)
    )


def gazebo_step(vehicle, state, wrench, environment, dt=DT):
    """Return what Gazebo makes of a wrench, its velocity told as this simulation has it."""
    told = state._replace(velocity=reported_velocity(state.velocity, dt))
    after = dart_step(vehicle, told, wrench, environment, dt)
    return after._replace(velocity=stepped_velocity(after.velocity, dt))


def assert_same_state(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a.position, b.position, atol=tolerance)
    np.testing.assert_allclose(a.velocity, b.velocity, atol=tolerance, rtol=tolerance)
    assert abs(a.orientation @ b.orientation) == pytest.approx(1, abs=tolerance)


# --- the wrench


@vehicles
def test_of_a_body_that_does_not_turn_it_is_the_sum_without_the_weight(vehicle):
    vehicle = load_vehicle(vehicle)
    state, water, forces = moving(), Environment(), np.arange(1.0, 7.0)
    state.velocity[3:] = 0
    total = forces + weight(vehicle, state, water)
    exerted = exerted_wrench(vehicle, state, water, total, DT, implicit_drag=False)
    np.testing.assert_allclose(exerted, forces, atol=1e-9 * np.abs(total).max())


@vehicles
def test_of_a_body_that_turns_it_tends_to_that_sum_as_the_physics_step_gets_short(vehicle):
    vehicle = load_vehicle(vehicle)
    state, water, forces = moving(3), Environment(), np.arange(1.0, 7.0)
    total = forces + weight(vehicle, state, water)
    apart = [
        np.abs(
            exerted_wrench(vehicle, state, water, total, DT, implicit_drag=False, physics_step=h)
            - forces
        ).max()
        for h in (DT, DT / 10, DT / 100)
    ]
    np.testing.assert_allclose(np.log10(np.divide(apart[:-1], apart[1:])), 1, atol=0.02)


@pytest.mark.parametrize('implicit', [True, False])
@pytest.mark.parametrize('current', [(0.0, 0.0, 0.0), (0.3, -0.2, 0.1)])
@vehicles
def test_gazebo_s_body_makes_the_simulation_s_step(vehicle, implicit, current):
    vehicle = load_vehicle(vehicle)
    state, water = moving(1), Environment(current=np.array(current))
    total = weight(vehicle, state, water) + drag(vehicle, state, water)
    wanted = rigid_body_step(vehicle, state, water, total, DT, implicit_drag=implicit)
    exerted = exerted_wrench(vehicle, state, water, total, DT, implicit_drag=implicit)
    assert_same_state(gazebo_step(vehicle, state, exerted, water), wanted)


def test_a_body_with_its_arm_at_zero_moves_as_one_with_its_arm_out():
    home, water, state = load_vehicle('investigator90'), Environment(), moving(2)
    out = pose_vehicle(home, link_poses(home.manipulator, np.full(len(home.manipulator), 0.4)))
    total = weight(out, state, water) + np.arange(6.0)
    wanted = rigid_body_step(out, state, water, total, DT)
    exerted = exerted_wrench(out, state, water, total, DT, carried=home)
    assert_same_state(gazebo_step(home, state, exerted, water), wanted)


@pytest.mark.parametrize('integrator', ['rk4', 'conserving'])
def test_with_another_integrator_gazebo_s_body_has_its_velocity(integrator):
    state, water = moving(4), Environment()
    total = weight(ROV, state, water) + np.arange(6.0)
    wanted = rigid_body_step(ROV, state, water, total, DT, integrator=integrator)
    exerted = exerted_wrench(ROV, state, water, total, DT, integrator=integrator)
    after = gazebo_step(ROV, state, exerted, water)
    np.testing.assert_allclose(after.velocity, wanted.velocity, atol=1e-12)
    np.testing.assert_allclose(after.position, wanted.position, atol=1e-3)


def test_physics_steps_within_a_period_come_to_the_same_state_as_they_get_short():
    state, water = moving(5), Environment()
    total = weight(ROV, state, water) + drag(ROV, state, water)

    def apart(dt):
        wanted = rigid_body_step(ROV, state, water, total, dt)
        exerted = exerted_wrench(ROV, state, water, total, dt, physics_step=dt / 5)
        after = state
        for _ in range(5):
            after = gazebo_step(ROV, after, exerted, water, dt / 5)
        return np.abs(after.velocity - wanted.velocity).max()

    assert apart(DT) < 2e-3
    assert np.log2(apart(DT) / apart(DT / 2)) > 1.8  # within one period: of second order


numbers = st.floats(-3.0, 3.0)


@given(arrays(float, 6, elements=numbers), arrays(float, 3, elements=numbers))
def test_the_twist_between_two_poses_is_that_which_moves_one_to_the_other(twist, place):
    dt = 0.1
    start = State(place, Rotation.from_rotvec(place).as_quat(), np.zeros(6))
    after = advance_pose(start, twist, dt)
    found = twist_between(start[:2], after[:2], dt)
    np.testing.assert_allclose(found, twist, atol=1e-9)
    np.testing.assert_allclose(
        twist_between(start[:2], (after[0], -after[1]), dt), twist, atol=1e-9
    )


@given(arrays(float, (2, 6), elements=numbers))
def test_a_velocity_as_told_and_as_stepped_is_one_seen_from_two_attitudes(velocity):
    turn = Rotation.from_rotvec(velocity[:, 3:] * DT)
    told = reported_velocity(velocity, DT)
    np.testing.assert_allclose(turn.apply(told[:, :3]), velocity[:, :3], atol=1e-12)
    np.testing.assert_array_equal(told[:, 3:], velocity[:, 3:])
    np.testing.assert_allclose(stepped_velocity(told, DT), velocity, atol=1e-12)


# --- ticks


def test_every_stamp_is_told_for_what_it_is():
    sequence = TickSequence(5)
    told = [sequence.classify(stamp) for stamp in (20, 25, 25, 30, 50, 0, 5)]
    assert [t.value for t in told] == ['next', 'next', 'again', 'next', 'late', 'back', 'next']
    assert (sequence.lost, sequence.resets) == (3, 1)


@given(st.integers(1, 10**9), st.integers(0, 10**15))
def test_a_run_without_gaps_loses_nothing(period, start):
    sequence = TickSequence(period)
    assert {sequence.classify(start + i * period) for i in range(5)} == {TickArrival.NEXT}
    assert sequence.lost == 0


# --- files


@pytest.mark.parametrize('way', ['in_server', 'stock'])
def test_the_bridge_s_file_joins_topics_of_both_sides(way):
    text = bridge_text(way, namespace='/rov', model='bluerov2', world='pool')
    entries = yaml.safe_load(text)
    assert '$' not in text
    for entry in entries:
        assert entry['ros_topic_name'].startswith('/rov/gazebo/')
        assert entry['gz_topic_name'].split('/')[1:3] in (['model', 'bluerov2'], ['world', 'pool'])
        assert entry['direction'] in ('GZ_TO_ROS', 'ROS_TO_GZ')
        assert '/msg/' in entry['ros_type_name']
        assert entry['gz_type_name'].startswith('gz.msgs.')


def test_a_bridge_s_file_that_is_not_there_is_told():
    with pytest.raises(ParameterError, match='cannot be read'):
        bridge_text('post', namespace='/rov', model='bluerov2', world='pool')


def made(way='in_server', **options):
    world = options.pop('world', (ROOT / 'worlds' / 'pool.sdf').read_text())
    settings = {
        'source': 'pool.sdf',
        'pose': IDENTITY,
        'step': 5 * MS,
        'gravity': 9.8,
        'delivery': way,
        **options,
    }
    result = add_vehicle_to_world(world, sdf_model(ROV).text, **settings)
    return result, etree.fromstring(result.text.encode()).find('world')


def systems(element):
    return [p.get('name').split('::')[-1] for p in element.findall('plugin')]


def test_a_world_gets_the_vehicle_and_its_seat():
    result, world = made()
    assert (result.name, result.model, result.physics_step) == ('pool', 'bluerov2', 5 * MS)
    assert result.warnings == ()
    assert world.findtext('physics/real_time_factor') == '0'
    assert systems(world)[-1] == 'PythonSystemLoader'
    system = {e.tag: e.text for e in world.findall('plugin')[-1]}
    assert system == {
        'module_name': 'marine_sim_lockstep',
        'model': 'bluerov2',
        'link': 'base_link',
        'probe': PROBE,
        'period': '5000000',
        'lockstep': 'true',
    }
    sensor = world.find(f'model[@name="bluerov2"]/link[@name="base_link"]/sensor[@name="{PROBE}"]')
    assert sensor is not None
    assert sensor.find('pose') is None
    assert world.findall('model')[-1].get('name') == 'bluerov2'


def test_the_stock_way_has_a_pose_publisher_and_no_seat():
    _, world = made('stock')
    assert 'ApplyLinkWrench' in systems(world)
    assert 'PythonSystemLoader' not in systems(world)
    assert systems(world.findall('model')[-1]) == ['PosePublisher']


def test_a_bare_world_gets_systems_step_and_gravity():
    result, world = made('stock', world='<sdf version="1.9"><world name="own"/></sdf>')
    assert systems(world) == ['Physics', 'UserCommands', 'SceneBroadcaster', 'ApplyLinkWrench']
    assert world.findtext('gravity') == '0 0 -9.8'
    assert world.findtext('physics/max_step_size') == '0.005'
    assert result.warnings == ()


OWN = """<sdf version="1.9"><world name="own"><physics type="dart">
<max_step_size>{}</max_step_size></physics><gravity>0 0 -9.81</gravity></world></sdf>"""


def test_a_shorter_physics_step_stays_where_the_wrench_can_hold():
    result, world = made(world=OWN.format('0.001'))
    assert result.physics_step == MS
    assert world.findtext('physics/max_step_size') == '0.001'
    assert [w for w in result.warnings if '9.8 m/s²' in w]
    result, world = made('stock', world=OWN.format('0.001'))
    assert world.findtext('physics/max_step_size') == '0.005'
    assert any('<max_step_size> is 0.001 s' in w for w in result.warnings)


def test_without_lockstep_gazebo_keeps_the_pace_and_its_step():
    result, world = made('stock', world=OWN.format('0.001'), lockstep=False, real_time_factor=2.0)
    assert result.physics_step == MS
    assert world.findtext('physics/real_time_factor') == '2'
    frequency = world.find('model/plugin/update_frequency')
    assert float(frequency.text) == 200


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('<sdf version="1.9"/>', '0 <world> in <sdf>; expected one'),
        ('<world name="x"/>', '0 <world> in <world>'),
        (OWN.format('abc'), r"pool.sdf:2: <max_step_size>: is 'abc'; expected numbers"),
        (OWN.format('nan'), r":2: <max_step_size>: is 'nan'; expected 1 finite number"),
        (OWN.replace('0 0 -9.81', '0 0 down'), r":2: <gravity>: is '0 0 down'; expected numbers"),
        (OWN.replace('0 0 -9.81', '-9.81'), r":2: <gravity>: is '-9.81'; expected 3 finite"),
        (OWN.format('0.003'), 'expected whole µs, of which the control period'),
        (OWN.format('0'), 'expected whole µs'),
        (
            '<sdf version="1.9"><world name="own"><model name="bluerov2"/></world></sdf>',
            "has a model 'bluerov2' already",
        ),
    ],
)
def test_a_world_that_does_not_do_is_told_in_one_line(text, message):
    with pytest.raises(ModelError, match=message):
        made(world=text)


def test_names_of_files_beside_a_world_become_absolute(tmp_path):
    (tmp_path / 'rock.obj').touch()
    text = '<sdf><world><uri>rock.obj</uri><uri>model://a/b.obj</uri><uri>none.obj</uri></world></sdf>'
    root = etree.fromstring(absolute_uris(text, tmp_path / 'world.sdf').encode())
    assert [u.text for u in root.iter('uri')] == [
        (tmp_path / 'rock.obj').as_uri(),
        'model://a/b.obj',
        'none.obj',
    ]


@pytest.mark.parametrize('name', ['bluerov2', 'investigator90'])
def test_a_run_s_world_has_the_vehicle_s_mass_at_its_start(name, tmp_path):
    options = RunOptions(
        vehicle=name,
        environment='shallow_sand',
        gazebo={'delivery': 'stock'},
        initial_position=(1.0, 2.0, -3.0),
    )
    written = write_run(options, tmp_path, world='', delivery='stock')
    root = etree.fromstring((tmp_path / 'world.sdf').read_bytes())
    model = root.find(f'world/model[@name="{written.model}"]')
    assert [float(v) for v in model.findtext('pose').split()][:3] == [1, 2, -3]
    for uri in root.iter('uri'):
        assert (tmp_path / uri.text).is_file()
    assert {j.get('type') for j in model.findall('joint')} <= {'fixed'}
    vehicle = load_vehicle(name)
    alone = etree.Element('sdf', version='1.10')
    alone.append(model)
    reader = SdfReader(etree.tostring(alone, encoding='unicode'))
    np.testing.assert_allclose(reader.mass_matrix(), vehicle.mass_matrix, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('world', ['/dev/zero', '/', '/none.sdf'])
def test_a_world_that_is_no_file_is_one_line(world, tmp_path):
    with pytest.raises(ParameterError, match=f'^{world}: [^\n]*$'):
        write_run(RunOptions(), tmp_path, world=world, delivery='in_server')


def test_a_world_that_is_made_has_the_run_s_step(tmp_path):
    written = write_run(RunOptions(dt=0.002), tmp_path, world='', delivery='in_server')
    assert written.physics_step == 2 * MS
    assert written.warnings == ()


def test_the_suite_in_gazebo_mode_has_another_owner_and_no_contact():
    here = RunOptions(environment='shallow_sand', gazebo={'delivery': 'stock', 'world': 'w'})
    specs = {s.executable: s for s in node_specs(here)}
    assert 'contact' not in specs
    assert 'dynamics' not in specs
    assert list(specs)[-1] == 'gazebo_bridge'
    parameters = specs['gazebo_bridge'].parameters
    assert parameters['wrench_sources'] == ['thrusters', 'buoyancy', 'drag', 'boundary']
    assert (parameters['delivery'], parameters['world']) == ('stock', 'w')
    assert RunOptions.from_json(here.to_json()) == here


# --- which way


def test_the_way_is_in_the_server_where_all_it_needs_is_there(monkeypatch, tmp_path):
    monkeypatch.setenv('GZ_SIM_SYSTEM_PLUGIN_PATH', str(tmp_path))
    monkeypatch.setattr(delivery, 'has_binding', lambda stem: stem != 'gz.sim')
    monkeypatch.setattr(installed.shutil, 'which', lambda _: None)
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    (tmp_path / 'libgz-sim-python-system-loader-system.so').touch()
    way, why = delivery.choose_delivery('auto')
    assert (way, why) == ('stock', 'the Python module gz.sim: not found')
    assert delivery.choose_delivery('in_server')[0] == 'in_server'
    monkeypatch.setattr(delivery, 'has_binding', lambda stem: True)
    assert delivery.choose_delivery('auto')[0] == 'in_server'
    assert delivery.choose_delivery('stock')[0] == 'stock'
    with pytest.raises(ParameterError, match='expected one of: auto, in_server, stock'):
        delivery.choose_delivery('post')


def test_programs_that_are_missing_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(installed.shutil, 'which', lambda _: None)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    assert delivery.missing_programs() == ['the command gz', 'ros_gz_bridge']
    program = tmp_path / 'lib' / 'ros_gz_bridge' / 'parameter_bridge'
    program.parent.mkdir(parents=True)
    program.touch()
    assert delivery.missing_programs() == ['the command gz']


# --- the lockstep system, in a world that only reports what it received


class Vector(SimpleNamespace):
    pass


class Turned(SimpleNamespace):
    """A rotation in place of Gazebo's."""

    def rotate_vector(self, v):
        return np.asarray(self.rotation.apply(v))

    def rotate_vector_reverse(self, v):
        x, y, z = self.rotation.inv().apply(v)
        return SimpleNamespace(x=lambda: x, y=lambda: y, z=lambda: z)


class World:
    """Gazebo's classes and the world of a test at once."""

    none = 0

    def __init__(self, lockstep='true', period=5 * MS, bodies=''):
        self.parameters = {
            'bodies': bodies,
            'model': 'rov',
            'link': 'base_link',
            'probe': PROBE,
            'period': str(period),
            'lockstep': lockstep,
        }
        self.rotation = Rotation.from_euler('z', 90, degrees=True)
        self.exists, self.published, self.statuses, self.exerted = True, [], [], []
        self.callback = self.answer = None
        self.callbacks, self.senders = {}, []
        self.enabled = 0
        self.system = LockstepSystem(self)
        self.system.configure(1, SimpleNamespace(get_string=self.parameters.get), None, None)

    World = Model = Link = property(lambda self: lambda entity: self)
    Node = property(lambda self: lambda: self)

    def Odometry(self):
        def vector():
            return SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)

        return SimpleNamespace(
            header=SimpleNamespace(stamp=SimpleNamespace(sec=0, nsec=0)),
            pose=SimpleNamespace(position=vector(), orientation=vector()),
            twist=SimpleNamespace(linear=vector(), angular=vector()),
        )

    Wrench = None

    def StringMsg(self, data=''):
        return data

    def vector(self, v):
        return np.array([v.x, v.y, v.z])

    def advertise(self, topic, kind):
        if topic.endswith('status'):
            return SimpleNamespace(publish=self.statuses.append)
        return SimpleNamespace(publish=lambda message: self._told(topic, message))

    def _told(self, topic, message):
        self.senders.append(topic.split('/')[2])
        self.published.append(message)
        if self.answer is not None:
            self.answer(message)

    def subscribe(self, kind, topic, callback):
        assert topic.endswith('/seat/wrench')
        self.callbacks[topic.split('/')[2]] = callback
        self.callback = self.callbacks['rov']

    def model_by_name(self, ecm, name):
        return 7 if self.exists and name in self.callbacks else self.none

    def link_by_name(self, ecm, name):
        return 8

    def sensor_by_name(self, ecm, name):
        return 9 if name == PROBE else self.none

    def valid(self, ecm):
        return self.exists

    def enable_velocity_checks(self, ecm, wanted):
        assert wanted
        self.enabled += 1

    def world_pose(self, ecm):
        place = SimpleNamespace(x=lambda: 1.0, y=lambda: 2.0, z=lambda: -3.0)
        x, y, z, w = self.rotation.as_quat()
        parts = {'x': lambda: x, 'y': lambda: y, 'z': lambda: z, 'w': lambda: w}
        turn = Turned(rotation=self.rotation, **parts)
        return SimpleNamespace(pos=lambda: place, rot=lambda: turn)

    def world_linear_velocity(self, ecm):
        return np.array([0.0, 2.0, 0.0])

    def world_angular_velocity(self, ecm):
        return None

    def add_world_wrench(self, ecm, force, torque):
        self.exerted.append([*force, *torque])

    def send(self, stamp, force=(1.0, 0.0, 0.0)):
        vector = SimpleNamespace(x=force[0], y=force[1], z=force[2])
        sec, nsec = divmod(stamp, 10**9)
        header = SimpleNamespace(stamp=SimpleNamespace(sec=sec, nsec=nsec))
        self.callback(SimpleNamespace(header=header, force=vector, torque=vector))

    def step(self, end, dt=5 * MS, paused=False):
        info = SimpleNamespace(
            sim_time=timedelta(microseconds=end // 1000),
            paused=paused,
            dt=timedelta(microseconds=dt // 1000),
        )
        self.system.pre_update(info, None)


def stamp_of(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nsec


def replying(world, *, late=False):
    """Let another thread answer every state, first with a stamp that is not it where late."""

    def answer(message):
        stamp = stamp_of(message)

        def reply():
            if late:
                world.send(stamp - 5 * MS, (9.0, 9.0, 9.0))
            world.send(stamp)

        threading.Thread(target=reply).start()

    world.answer = answer


@pytest.mark.parametrize('late', [False, True])
def test_the_seat_exerts_the_wrench_of_its_stamp_in_world_axes(late):
    world = World()
    replying(world, late=late)
    for i in range(1, 201):
        world.step(i * 5 * MS)
    assert [stamp_of(m) for m in world.published] == [i * 5 * MS for i in range(200)]
    np.testing.assert_allclose(world.exerted, [[0, 1, 0, 0, 1, 0]] * 200, atol=1e-15)
    state = world.published[-1]
    assert (state.pose.position.x, state.pose.position.z) == (1, -3)
    np.testing.assert_allclose(
        [state.twist.linear.x, state.twist.linear.y, state.twist.angular.z], [2, 0, 0], atol=1e-15
    )


def test_a_state_that_nobody_answers_is_told_again():
    world = World()

    def answer(message):
        if len(world.published) == 2:
            world.send(stamp_of(message))

    world.answer = answer
    world.step(5 * MS)
    assert len(world.published) == 2
    assert world.statuses == ['waiting for the wrench of 0.000 s']
    assert len(world.exerted) == 1


def test_bodies_have_states_and_wrenches_of_their_own_and_a_step_waits_for_all():
    world = World(bodies='crate::base_link buoy::hull')
    assert list(world.callbacks) == ['rov', 'crate', 'buoy']

    def answer(message):
        if world.senders[-1] != 'buoy':
            return
        forces = {'rov': (1.0, 0.0, 0.0), 'crate': (2.0, 0.0, 0.0), 'buoy': (3.0, 0.0, 0.0)}
        for name, force in forces.items():
            if name != 'buoy' or len(world.published) > 3:  # it is late once
                world.callback = world.callbacks[name]
                world.send(stamp_of(message), force)

    world.answer = answer
    world.step(5 * MS)
    assert world.senders == ['rov', 'crate', 'buoy'] * 2
    np.testing.assert_allclose(np.array(world.exerted)[:, 1], [1, 2, 3])
    assert world.statuses == ['waiting for the wrench of 0.000 s']
    world.callbacks.pop('crate')
    world.system._links[1]._link = None
    world.system._reported_at = 0.0
    world.step(10 * MS)
    assert world.statuses[-1] == 'no link crate::base_link in this world'
    assert len(world.exerted) == 3


def test_a_wrench_holds_over_the_physics_steps_of_a_period():
    world = World()
    replying(world)
    for i in range(1, 11):
        world.step(i * MS, dt=MS)
    assert [stamp_of(m) for m in world.published] == [0, 5 * MS]
    assert len(world.exerted) == 10


def test_without_lockstep_the_first_wrench_is_waited_for_and_the_newest_holds():
    world = World(lockstep='false')
    replying(world)
    world.step(5 * MS)
    world.answer = None
    world.step(10 * MS)
    world.send(0, (3.0, 0.0, 0.0))
    world.step(15 * MS)
    world.step(20 * MS)
    np.testing.assert_allclose(np.array(world.exerted)[:, 1], [1, 1, 3, 3])
    assert len(world.published) == 4


def test_a_paused_world_and_a_missing_vehicle_are_told_and_survived():
    world = World()
    world.step(5 * MS, paused=True)
    assert world.statuses == ['paused at 0.005 s']
    world.exists, world.system._reported_at = False, 0.0
    world.step(5 * MS)
    assert world.statuses[-1] == 'no link rov::base_link in this world'
    assert world.published == world.exerted == []
    world.exists = True
    replying(world)
    world.step(10 * MS)
    assert [stamp_of(m) for m in world.published] == [5 * MS]


def test_a_reset_forgets_the_wrench_and_asks_for_velocities_again():
    world = World()
    replying(world)
    world.step(5 * MS)
    world.system.reset(None, None)
    assert world.system.vehicle.exchange.stamp == -1
    world.step(5 * MS)  # waits for a new answer to the same stamp
    assert len(world.published) == 2
    assert world.enabled == 2  # the world went back to before there were velocities


@pytest.fixture
def ends(monkeypatch):
    """Catch what would end the server."""
    sent = []
    monkeypatch.setattr(os, 'kill', lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(os, '_exit', sent.append)
    return sent


def test_an_error_ends_the_server_instead_of_leaving_a_world_without_forces(ends, capsys):
    world = World()
    world.world_pose = None
    world.step(5 * MS)
    assert ends == [1]
    assert 'TypeError' in capsys.readouterr().err


def test_an_interrupt_ends_the_wait(ends):
    world = World()
    threading.Timer(0.05, world.system._on_interrupt, (signal.SIGINT, None)).start()
    world.step(5 * MS)
    assert world.exerted == []
    assert ends


def test_an_exchange_takes_the_newest_wrench():
    exchange = Exchange()
    exchange.offer(5, 'a')
    exchange.offer(10, 'b')
    assert exchange.wait(10, lambda: False, lambda: None) == 'b'
    assert exchange.wait(5, lambda: True, lambda: None) is None
