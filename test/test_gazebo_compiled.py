# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""``delivery:=compiled`` without Gazebo: its messages, its wrenches, and its system in a world."""

import importlib
import os
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import vehicle_of
from dart import dart_step
from scipy.spatial.transform import Rotation

from marine_sim_ros import Environment, simulate
from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.faults.fault_types import parse_faults
from marine_sim_ros.faults.tables import fault_tables
from marine_sim_ros.gazebo import delivery
from marine_sim_ros.gazebo.exchange import (
    MESSAGE_TYPE,
    NumberReader,
    NumberWriter,
    exerted_wrench,
    named_arrays,
    rebuild_tree,
    stepped_velocity,
)
from marine_sim_ros.gazebo.run_files import SYSTEM_FOLDER, start_state, write_run
from marine_sim_ros.model.xml import parse
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.step import StepCommands, Stepping, advance, begin

pytest.importorskip('jax')

STEP = 5_000_000
DT = 0.005


# --- messages


def test_numbers_come_through_with_their_names_and_what_is_told_beside_them():
    names = [('stamp', ()), ('pwm', (6,)), ('turn', (3, 3)), ('nothing', (0,))]
    writer, reader = NumberWriter(names, faults='a' * 300), NumberReader()
    for seed in range(3):
        row = np.random.default_rng(seed).normal(size=16)
        found = reader.read(writer.write(row[:1], row[1:]))
        assert [(name, x.shape) for name, x in found.items()] == names
        np.testing.assert_array_equal(np.concatenate([x.ravel() for x in found.values()]), row)
        assert reader.extras == {'faults': 'a' * 300}
    assert reader.read(NumberWriter([('a', ())]).write(np.ones(1))) == {'a': 1.0}
    assert reader.extras == {}


def test_protobuf_reads_the_message_as_gz_msgs_bytes_is_defined():
    descriptor_pb2 = pytest.importorskip('google.protobuf.descriptor_pb2')
    from google.protobuf import descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name='b.proto', package='t', syntax='proto3')
    shape = {
        'Map': [('key', 1, 9, 1), ('value', 2, 9, 3)],
        'Header': [('data', 2, '.t.Map', 3)],
        'Bytes': [('header', 1, '.t.Header', 1), ('data', 2, 12, 1)],
    }
    for name, members in shape.items():  # number, type or name of it, and label of each
        message = file.message_type.add(name=name)
        for member, number, kind, label in members:
            added = message.field.add(name=member, number=number, label=label)
            added.type = field.TYPE_MESSAGE if isinstance(kind, str) else kind
            if isinstance(kind, str):
                added.type_name = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName('t.Bytes'))
    row = np.arange(200.0)
    raw = NumberWriter([('row', (200,))], more='x' * 500).write(row)
    told = kind.FromString(raw)
    assert told.header.data[0].key == 'marine_sim'
    assert '"row", [200]' in told.header.data[0].value[0]
    np.testing.assert_array_equal(np.frombuffer(told.data, '<f8'), row)
    np.testing.assert_array_equal(NumberReader().read(told.SerializeToString())['row'], row)


@pytest.mark.parametrize(
    'raw', [b'', b'\x08\x01', b'x' * 40, NumberWriter([('a', (4,))]).write(np.zeros(4))[:-1]]
)
def test_a_message_of_somebody_else_is_told_in_one_line(raw):
    with pytest.raises(MarineSimError, match='a message that is no gz') as told:
        NumberReader().read(raw)
    assert '\n' not in str(told.value)


def test_a_tree_comes_through_names():
    state = State(np.arange(3.0), np.arange(4.0), np.arange(6.0))
    tree = {'b': state, 'a': np.eye(2)}
    found = named_arrays(tree, 't')
    assert list(found) == ['t.a', 't.b.position', 't.b.orientation', 't.b.velocity']
    again = rebuild_tree(tree, found, 't')
    np.testing.assert_array_equal(again['b'].velocity, state.velocity)
    assert rebuild_tree(tree, {}, 't')['a'] is None


# --- whether it can be had


def test_without_jax_one_line_says_so(monkeypatch):
    monkeypatch.setattr(delivery, 'missing_for_in_server', list)
    assert delivery.choose_delivery('compiled') == ('compiled', 'as requested')
    monkeypatch.setattr(delivery, 'has_module', lambda name: name != 'jax')
    with pytest.raises(ParameterError) as told:
        delivery.choose_delivery('compiled')
    assert str(told.value) == (
        "delivery:=compiled: the Python module jax (extra 'batch'): not found; expected them, or "
        'delivery:=auto'
    )


def test_in_a_server_without_this_package_one_line_says_what_is_missing(monkeypatch, capsys):
    sent = []
    monkeypatch.setattr(os, '_exit', sent.append)
    monkeypatch.syspath_prepend(SYSTEM_FOLDER)
    monkeypatch.setitem(sys.modules, 'marine_sim_ros.gazebo.compiled_system', None)
    with pytest.raises(ImportError):
        importlib.import_module('marine_sim_compiled').get_system()
    assert sent == [1]
    told = capsys.readouterr().err
    assert told.startswith('ERROR: marine_sim_compiled: ')
    assert told.count('\n') == 1
    assert "expected marine_sim_ros with the extra 'batch'" in told


def test_its_world_names_the_system_and_what_that_reads(tmp_path):
    options = RunOptions(engine='jax', gazebo={'delivery': 'compiled'}, lockstep=False)
    write_run(options, tmp_path, world='', delivery='compiled')
    world = parse((tmp_path / 'world.sdf').read_text(), 'it').find('world')
    (plugin,) = (p for p in world.findall('plugin') if p.find('module_name') is not None)
    assert plugin.findtext('module_name') == 'marine_sim_compiled'
    assert plugin.findtext('physics_step') == '5000000'
    with open(plugin.findtext('run'), encoding='utf-8') as file:
        assert RunOptions.from_json(file.read()) == options


# --- wrenches


def gazebo_ticks(vehicle, initial, **options):
    pytest.importorskip('jax')
    from marine_sim_ros.gazebo.compiled_system import GazeboTicks

    return GazeboTicks(vehicle, Environment(), initial, Stepping(DT), physics_step=DT, **options)


FAULTS = (
    '[{kind: dead, thruster: thruster1, at: 0.1}, {kind: stuck, thruster: thruster2, at: 0.2}]'
)


@pytest.mark.long
@pytest.mark.parametrize(
    ('name', 'faulty'),
    [
        ('bluerov2', False),
        ('bluerov2', True),
        ('investigator90', False),
        ('surface_vessel', False),
    ],
)
def test_wrenches_are_those_of_in_server_to_rounding(name, faulty):
    """The documented agreement: 1e-12 of the largest component, for any states and commands."""
    from marine_sim_ros.engine.availability import double_precision

    vehicle, water, random = vehicle_of(name), Environment(), np.random.default_rng(0)
    initial = State(np.array([0.0, 0.0, -3.0]), np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(6))
    names = vehicle.thrusters.names
    text = FAULTS.replace('thruster1', names[0]).replace('thruster2', names[1])
    tables = fault_tables(parse_faults(text), names) if faulty else None
    with double_precision():
        engine = gazebo_ticks(vehicle, initial, faults=tables)
        memory = begin(vehicle, water, initial)
        for i in range(60):
            told = State(
                random.normal(size=3) - [0, 0, 2],
                Rotation.random(random_state=i).as_quat(),
                0.5 * random.normal(size=6),
            )
            commands = StepCommands(random.integers(1300, 1700, len(names)).astype(float))
            found = engine.exert(i * STEP, np.concatenate(told), commands).copy()
            state = told._replace(velocity=stepped_velocity(told.velocity, DT))
            acting = None
            if tables is not None:
                stamp = np.array([0, i * STEP], dtype=np.uint32)
                acting = tables.at(np, i * DT, stamp)
            output, memory = advance(
                vehicle,
                water,
                memory._replace(state=state),
                commands._replace(faults=acting),
                Stepping(DT),
                since=DT if i else 0.0,
            )
            wanted = exerted_wrench(vehicle, state, water, output.total, DT, after=memory.state)
            np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())


# --- the system, in a world that moves the body as DART does


class World:
    """Gazebo's classes and a world with one vehicle at once."""

    none = 0
    Bytes = None

    def __init__(self, folder, *, lockstep=True, options=None):
        from marine_sim_ros.gazebo.compiled_system import CompiledSystem

        self.options = options or RunOptions()
        self.options = replace(self.options, engine='jax', gazebo={'delivery': 'compiled'})
        (folder / 'run.json').write_text(self.options.to_json())
        self.vehicle, self.state = vehicle_of('bluerov2'), start_state(self.options)
        self.stamp, self.listened, self.pwm = 0, True, np.full(6, 1600.0)
        self.published, self.reader, self.answers = [], NumberReader(), {}
        self.statuses, self.callback, self.answer = [], None, None
        parameters = {
            'model': 'rov',
            'link': 'base_link',
            'probe': 'p',
            'period': str(STEP),
            'lockstep': str(lockstep).lower(),
            'run': str(folder / 'run.json'),
            'physics_step': str(STEP),
        }
        self.system = CompiledSystem(self)
        self.system.configure(1, SimpleNamespace(get_string=parameters.get), None, None)

    World = Model = Link = property(lambda self: lambda entity: self)
    Node = property(lambda self: lambda: self)
    SubscribeOptions = staticmethod(lambda: None)
    Vector3d = staticmethod(lambda *numbers: np.array(numbers))

    def StringMsg(self, data=''):
        return data

    def advertise(self, topic, kind):
        if topic.endswith('status'):
            return SimpleNamespace(publish=self.statuses.append)
        assert topic == '/model/rov/seat/tick'
        return SimpleNamespace(publish_raw=self._take, has_connections=lambda: self.listened)

    def _take(self, raw, kind):
        assert kind == MESSAGE_TYPE
        self.published.append({n: x.copy() for n, x in self.reader.read(raw).items()})
        if self.answer is not None:
            threading.Thread(target=self.answer, args=(self.published[-1]['stamp'],)).start()

    def subscribe_raw(self, topic, callback, kind, options):
        assert (topic, kind) == ('/model/rov/seat/commands', MESSAGE_TYPE)
        self.callback = callback

    def send(self, stamp, pwm=None, **more):
        pwm = self.pwm if pwm is None else pwm
        writer = NumberWriter([('stamp', ()), ('pwm', pwm.shape)], **more)
        self.callback(writer.write(np.array([float(stamp)]), pwm), None)

    def model_by_name(self, ecm, name):
        return 7

    def link_by_name(self, ecm, name):
        return 8

    def sensor_by_name(self, ecm, name):
        return 9

    def valid(self, ecm):
        return True

    def enable_velocity_checks(self, ecm, wanted):
        pass

    @property
    def turn(self):
        return Rotation.from_quat(self.state.orientation)

    def world_pose(self, ecm):
        def vector(numbers, **more):
            parts = {n: partial(float, v) for n, v in zip('xyzw', numbers, strict=False)}
            return SimpleNamespace(**parts, **more)

        turn = vector(
            self.state.orientation,
            rotate_vector=self.turn.apply,
            rotate_vector_reverse=lambda v: vector(self.turn.inv().apply(v)),
        )
        return SimpleNamespace(pos=lambda: vector(self.state.position), rot=lambda: turn)

    def world_linear_velocity(self, ecm):
        return self.turn.apply(self.state.velocity[:3]) if self.stamp else None

    def world_angular_velocity(self, ecm):
        return self.turn.apply(self.state.velocity[3:]) if self.stamp else None

    def add_world_wrench(self, ecm, force, torque):
        back = self.turn.inv()
        self.wrench = np.concatenate([back.apply(force), back.apply(torque)])

    def step(self):
        self.wrench = np.zeros(6)
        info = SimpleNamespace(
            sim_time=timedelta(microseconds=(self.stamp + STEP) // 1000),
            paused=False,
            dt=timedelta(microseconds=STEP // 1000),
        )
        self.system.pre_update(info, None)
        self.state = dart_step(self.vehicle, self.state, self.wrench, Environment(), DT)
        self.stamp += STEP


@pytest.fixture
def ends(monkeypatch):
    """Catch what would end the server."""
    pytest.importorskip('jax')
    sent = []
    monkeypatch.setattr(os, '_exit', sent.append)
    return sent


@pytest.fixture
def script(tmp_path):
    path = tmp_path / 'swim.yaml'
    path.write_text(
        'duration: 2.0\ninitial: {position: [0.0, 0.0, -3.0], rpy: [0.1, -0.2, 0.3]}\n'
        'segments: [{at: 0.0, pwm: [1600, 1600, 1400, 1400, 1550, 1550]}]\n'
        'faults: [{kind: dead, thruster: thruster1, at: 1.0}]\n'
        'expect: []\n'.replace('thruster1', vehicle_of('bluerov2').thrusters.names[0])
    )
    return RunOptions(scenario=str(path), duration=2.0)


@pytest.mark.long
@pytest.mark.parametrize('lockstep', [True, False])
def test_a_run_is_that_of_the_embedded_dynamics(tmp_path, ends, script, lockstep):
    world = World(tmp_path, lockstep=lockstep, options=script)
    world.pwm = np.array([1600.0, 1600.0, 1400.0, 1400.0, 1550.0, 1550.0])
    world.answer = world.send if lockstep else lambda stamp: stamp or world.send(0)
    for _ in range(400):
        world.step()
    run = simulate(world.vehicle, load_scenario(script.scenario), duration=2.0)
    assert ends == []
    assert len(world.published) == 400
    np.testing.assert_allclose(world.state.position, run.position[400], atol=1e-9)
    assert np.linalg.norm(np.ptp(run.position, axis=0)) > 0.3
    for i, told in enumerate(world.published[1:]):
        assert (told['stamp'], told['ticked']) == ((i + 1) * STEP, i * STEP)
        np.testing.assert_allclose(told['output.total'], run.wrench[i], atol=1e-6)
        np.testing.assert_allclose(told['output.sources.drag'], run.sources['drag'][i], atol=1e-6)


@pytest.mark.long
def test_commands_bring_faults_and_who_listens_gets_messages(tmp_path, ends):
    world = World(tmp_path, lockstep=False)
    world.answer = lambda stamp: stamp or world.send(0)
    world.step()
    world.listened, world.system._next_poll = False, 0.0
    world.step()
    assert len(world.published) == 1
    world.listened, world.system._next_poll = True, 0.0
    for _ in range(100):
        world.step()
    assert world.published[-1]['output.thrusters.thrust'].min() > 1
    names = world.vehicle.thrusters.names
    world.send(0, faults=f'[{{kind: dead, thruster: {names[2]}}}]')
    for _ in range(200):
        world.step()
    thrust = world.published[-1]['output.thrusters.thrust']
    assert abs(thrust[2]) < 0.01
    assert np.delete(thrust, 2).min() > 1
    before = world.stamp
    world.system.reset(None, None)
    world.stamp, world.state = 0, start_state(world.options)
    world.step()
    assert before > STEP
    assert world.published[-1]['ticked'] == -1
    assert ends == []


@pytest.mark.long
def test_commands_that_do_not_fit_end_the_server_with_one_line(tmp_path, ends, capsys):
    world = World(tmp_path)
    world.answer = lambda stamp: world.send(stamp, np.full(4, 1500.0))
    world.step()
    assert ends == [1]
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith('ERROR: marine_sim_compiled: commands: pwm is [1500.0, ')
    assert "expected 6 pulse widths, in the order of bluerov2's thrusters" in line
    world.callback(b'nonsense', None)
    assert world.statuses[-1].startswith('commands: a message that is no gz.msgs.Bytes')
