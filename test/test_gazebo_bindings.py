# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gazebo's Python modules as Harmonic, Ionic and Jetty name them, in stubs."""

import queue
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from marine_sim_ros.bench import gazebo as bench
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.gazebo import delivery
from marine_sim_ros.gazebo import delivery as installed
from marine_sim_ros.gazebo.delivery import has_binding, plugin_folders
from marine_sim_ros.gazebo.run_files import SYSTEM_FOLDER
from marine_sim_ros.gazebo.server import ServerConnection, server_command
from marine_sim_ros.gazebo.system.marine_sim_bindings import binding, binding_name, message

pytestmark = pytest.mark.skipif(has_binding('gz.sim'), reason='Gazebo itself is here')

STEMS = ('gz.sim', 'gz.transport', 'gz.msgs', 'gz.math', 'sdformat')
NUMBERS = {
    'harmonic': (8, 13, 10, 7, 14),
    'ionic': (9, 14, 11, 8, 15),
    'jetty': ('', '', '', '', ''),
}
PLUGINS = {'harmonic': 'gz-sim-8', 'ionic': 'gz-sim-9', 'jetty': 'gz-sim-10'}
LOADER = 'libgz-sim-python-system-loader-system.so'
SIM = 'K_NULL_ENTITY = 0\nclass Link: ...\nclass Model: ...\nclass World: ...\n'
MATH = 'class Vector3d(tuple):\n    def __new__(cls, *xs): return tuple.__new__(cls, xs)\n'
TRANSPORT = """
nodes = []
class SubscribeOptions: ...
class Node:
    def __init__(self): self.topics = {}; nodes.append(self)
    def subscribe(self, kind, topic, callback): self.topics[topic] = kind, callback
    def subscribe_raw(self, topic, callback, kind, options): self.topics[topic] = kind, callback
    def advertise(self, topic, kind):
        self.topics[topic] = kind, None
        return self
    def publish(self, message): self.published = message
"""
MESSAGE = """
from types import SimpleNamespace
def {name}(**fields):
    stamp = SimpleNamespace(sec=0, nsec=0)
    parts = dict(header=SimpleNamespace(stamp=stamp), force=SimpleNamespace(),
                 torque=SimpleNamespace())
    return SimpleNamespace(**parts, **fields)
"""
MESSAGES = {
    'Bytes': 'bytes',
    'Odometry': 'odometry',
    'StringMsg': 'stringmsg',
    'Wrench': 'wrench',
    'WorldStatistics': 'world_stats',
    'Double': 'double',
}


def write(folder, release):
    """Write the modules of a release below a folder."""
    texts = dict(zip(STEMS, (SIM, TRANSPORT, '', MATH, ''), strict=True))
    for stem, number in zip(STEMS, NUMBERS[release], strict=True):
        path = folder / (stem.replace('.', '/') + str(number))
        path.mkdir(parents=True)
        (path / '__init__.py').write_text(texts[stem])
        if stem == 'gz.msgs':
            for name, module in MESSAGES.items():
                (path / f'{module}_pb2.py').write_text(MESSAGE.format(name=name))


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Let no module of a stub outlive its test."""
    yield
    for name in [n for n in sys.modules if n.split('.')[0].startswith(('gz', 'sdformat'))]:
        del sys.modules[name]
    sys.modules.pop('marine_sim_lockstep', None)
    sys.modules.pop('marine_sim_bindings', None)


@pytest.fixture(params=NUMBERS)
def release(request, tmp_path, monkeypatch):
    """Each release, with its folder of plugins."""
    write(tmp_path / 'python', request.param)
    monkeypatch.syspath_prepend(tmp_path / 'python')
    prefix = tmp_path / 'opt' / 'gz_sim_vendor'
    plugins = prefix / 'lib' / PLUGINS[request.param] / 'plugins'
    plugins.mkdir(parents=True)
    (plugins / LOADER).touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    monkeypatch.setenv('GZ_SIM_SYSTEM_PLUGIN_PATH', '')
    monkeypatch.setattr(installed.shutil, 'which', lambda _: None)
    return request.param


def test_every_module_is_found_by_its_name_of_the_release(release):
    for stem, number in zip(STEMS, NUMBERS[release], strict=True):
        assert binding_name(stem) == f'{stem}{number}'
        assert binding(stem).__name__ == f'{stem}{number}'
    assert message('WorldStatistics', 'world_stats').__name__ == 'WorldStatistics'


def test_the_way_in_the_server_is_open(release, tmp_path):
    assert delivery.missing_for_in_server() == []
    assert delivery.choose_delivery('auto')[0] == 'in_server'
    assert PLUGINS[release] in {folder.parent.name for folder in plugin_folders()}


def test_a_world_of_jetty_waits_for_its_models(release, tmp_path):
    """Before they were loaded, a world of an unlimited rate had come to 59 s."""
    assert delivery.gazebo_release() == {'harmonic': 8, 'ionic': 9, 'jetty': 10}[release]
    command = server_command(tmp_path / 'world.sdf')
    assert ('--wait-for-assets' in command) == (release == 'jetty')


@pytest.mark.parametrize('first', ['ros', 'usr', 'source', 'source beside ros'])
def test_the_release_is_the_one_that_gz_runs(first, tmp_path, monkeypatch):
    """ROS Jazzy's has its command in a folder of its own, beside Jetty in /usr."""
    vendor = tmp_path / 'jazzy' / 'opt'
    usr, source = tmp_path / 'usr', tmp_path / 'source'
    for folder in (
        vendor / 'gz_sim_vendor/lib/gz-sim-8',
        usr / 'lib/x86_64-linux-gnu/gz-sim-10',
        source / 'lib/gz-sim-9',
    ):
        (folder / 'plugins').mkdir(parents=True)
    program = {'ros': vendor / 'gz_tools_vendor', 'usr': usr}.get(first, source) / 'bin' / 'gz'
    monkeypatch.setenv('AMENT_PREFIX_PATH', '' if first == 'source' else str(tmp_path / 'jazzy'))
    monkeypatch.setenv('GZ_SIM_SYSTEM_PLUGIN_PATH', str(usr / 'lib/gz-sim-11/plugins'))
    monkeypatch.setattr(delivery, 'Path', lambda p: usr if p == '/usr' else Path(p))
    monkeypatch.setattr(installed.shutil, 'which', lambda _: str(program))
    release = {'ros': 8, 'usr': 10}.get(first, 9)
    assert delivery.gazebo_release() == release
    waits = '--wait-for-assets' in server_command(tmp_path / 'world.sdf')
    assert waits == (release == 10)


def test_the_lockstep_system_is_made_in_a_server_that_knows_no_package(release, monkeypatch):
    monkeypatch.syspath_prepend(SYSTEM_FOLDER)
    import marine_sim_lockstep

    system = marine_sim_lockstep.get_system()
    assert system._gz.vector(SimpleNamespace(x=1.0, y=2.0, z=3.0)) == (1.0, 2.0, 3.0)
    assert system._gz.StringMsg(data='here').data == 'here'


def test_states_come_and_wrenches_go(release):
    correspondent = ServerConnection('rov')
    kind, hear = correspondent.node.topics['/model/rov/seat/state']
    assert kind is message('Odometry')
    axes = SimpleNamespace(x=1.0, y=2.0, z=3.0, w=1.0)
    hear(
        SimpleNamespace(
            header=SimpleNamespace(stamp=SimpleNamespace(sec=1, nsec=5)),
            pose=SimpleNamespace(position=axes, orientation=axes),
            twist=SimpleNamespace(linear=axes, angular=axes),
        )
    )
    stamp, state = correspondent.next_state(0, 1.0)
    assert stamp == 1_000_000_005
    assert list(state.position) == [1.0, 2.0, 3.0]
    correspondent.answer(stamp, np.arange(6.0))
    sent = correspondent.node.published
    assert (sent.force.z, sent.torque.z, sent.header.stamp.nsec) == (2.0, 5.0, 5)
    with pytest.raises(queue.Empty):
        correspondent.next_state(stamp, 0.01)


def test_the_benchmark_counts_steps(release):
    steps = bench._Steps('w', SimpleNamespace(poll=lambda: None))
    kind, hear = steps._node.topics['/world/w/stats']
    assert kind is message('WorldStatistics', 'world_stats')
    hear(SimpleNamespace(iterations=3))
    assert steps._count == 3


def test_the_compiled_bridge_connects(release):
    pytest.importorskip('rclpy')
    from marine_sim_ros.ros.dynamics.compiled_node import CompiledTransport

    transport = object.__new__(CompiledTransport)
    transport._settings = SimpleNamespace(link='rov::base_link')
    transport._connect(SimpleNamespace(bus=SimpleNamespace()))
    topics = transport._gz.topics
    assert topics['/model/rov/seat/commands'][0] is message('Bytes')
    assert topics['/model/rov/seat/tick'][0] == 'gz.msgs.Bytes'


def test_of_several_releases_the_newest_is_taken(tmp_path, monkeypatch):
    for name in ('harmonic', 'ionic'):
        write(tmp_path / name, name)
        monkeypatch.syspath_prepend(tmp_path / name)
    assert [binding_name(stem) for stem in STEMS] == [
        f'{stem}{number}' for stem, number in zip(STEMS, NUMBERS['ionic'], strict=True)
    ]


@pytest.mark.parametrize('entry', ['sim8.cpython-312-x86_64-linux-gnu.so', 'sim8.py', 'sim8'])
def test_kinds_of_modules(entry, tmp_path, monkeypatch):
    (tmp_path / 'gz').mkdir()
    (tmp_path / 'gz' / entry).mkdir()
    for other in ('simulation9', 'sim9.egg-info', 'sim-10', 'sims'):
        (tmp_path / 'gz' / other).mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert binding_name('gz.sim') == 'gz.sim8'


def test_what_is_not_there_is_named():
    with pytest.raises(ModuleNotFoundError, match=r'no Python module gz\.sim, with or without'):
        binding('gz.sim')
    assert not has_binding('sdformat')
    with pytest.raises(MarineSimError, match=r'the Python module gz\.transport'):
        bench.check_gazebo()
