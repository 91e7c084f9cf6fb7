# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Differences between distributions: names of packages, middleware, internals of rclpy."""

import ast
import inspect
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from types import ModuleType, SimpleNamespace

import pytest
from conftest import ROOT

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import check_middleware, ros_packages
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.ros.base.internals import (
    activate_ros_time,
    clock_subscription,
    leave_clock,
    peer_counter,
    poll_message,
)


@pytest.mark.parametrize(
    ('variable', 'name'),
    [('lyrical', 'lyrical'), ('', 'jazzy'), (None, 'jazzy'), ('x; rm -r /', 'jazzy')],
)
def test_packages_are_those_of_the_sourced_distribution(variable, name, monkeypatch):
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    if variable is not None:
        monkeypatch.setenv('ROS_DISTRO', variable)
    assert ros_packages('rosbag2_py', 'ros2bag') == f'ros-{name}-rosbag2-py ros-{name}-ros2bag'


@pytest.fixture
def middleware(tmp_path, monkeypatch):
    """A workspace with one middleware, as ament lists it."""
    folder = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'rmw_typesupport'
    folder.mkdir(parents=True)
    for name in ('rmw_fastrtps_cpp', 'rmw_implementation'):
        (folder / name).touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path}')
    monkeypatch.setenv('ROS_DISTRO', 'kilted')
    return folder


@pytest.mark.parametrize(
    ('packages', 'remedy'),
    [
        ([], 'apt install ros-kilted-rmw-zenoh-cpp'),
        (
            ['ros-wheels-bootstrapper'],
            'a workspace with rmw_zenoh_cpp (docs/start/ros2.md): PyPI has no wheel of it',
        ),
    ],
    ids=['workspace', 'wheels'],
)
def test_a_middleware_that_is_not_installed_is_one_line(
    packages, remedy, middleware, monkeypatch, tmp_path
):
    for package in packages:
        metadata = tmp_path / f'{package.replace("-", "_")}-0.1.2.dist-info' / 'METADATA'
        metadata.parent.mkdir()
        metadata.write_text(f'Metadata-Version: 2.1\nName: {package}\nVersion: 0.1.2\n')
    monkeypatch.setattr(sys, 'path', [str(tmp_path)])
    monkeypatch.setenv('RMW_IMPLEMENTATION', 'rmw_zenoh_cpp')
    with pytest.raises(ParameterError) as caught:
        check_middleware('run')
    assert str(caught.value) == (
        'run: RMW_IMPLEMENTATION is rmw_zenoh_cpp, which is not installed; expected one of: '
        f'rmw_fastrtps_cpp; or {remedy}'
    )
    (middleware / 'rmw_zenoh_cpp').touch()
    check_middleware('run')


@pytest.mark.parametrize('name', ['', 'rmw_fastrtps_cpp', 'rmw_fastrtps_dynamic_cpp'])
def test_one_that_is_installed_is_taken(name, middleware, monkeypatch):
    (middleware / 'rmw_fastrtps_dynamic_cpp').touch()
    monkeypatch.setenv('RMW_IMPLEMENTATION', name)
    check_middleware('run')


def test_without_an_index_nothing_is_said(monkeypatch):
    monkeypatch.setenv('AMENT_PREFIX_PATH', '/nowhere')
    monkeypatch.setenv('RMW_IMPLEMENTATION', 'rmw_zenoh_cpp')
    check_middleware('run')


class Handle(nullcontext):
    """A handle of rcl."""

    enabled = False

    def set_ros_time_override_is_enabled(self, enabled):
        self.enabled = enabled

    def get_subscription_count(self):
        return 2


def test_a_clock_is_set_through_its_handle_where_its_method_has_another_name():
    clock = SimpleNamespace(handle=Handle())
    activate_ros_time(clock)
    assert clock.handle.enabled
    calls = []
    activate_ros_time(SimpleNamespace(_set_ros_time_is_active=calls.append))
    assert calls == [True]


def test_a_node_that_hides_its_time_source_keeps_its_subscription():
    assert clock_subscription(SimpleNamespace()) is None
    assert not leave_clock(SimpleNamespace())
    calls = []
    source = SimpleNamespace(detach_node=lambda: calls.append('left'), _clock_sub='here')
    node = SimpleNamespace(_time_source=source)
    assert clock_subscription(node) == 'here'
    assert leave_clock(node)
    assert calls == ['left']


def test_peers_are_counted_by_the_handle_or_else_by_its_wrapper():
    name = 'get_subscription_count'
    assert peer_counter(SimpleNamespace(handle=Handle()), name)() == 2
    assert peer_counter(SimpleNamespace(handle=object(), **{name: lambda: 3}), name)() == 3
    assert peer_counter(object(), name, lambda: 4)() == 4  # subscriptions of Humble


def test_messages_are_taken_one_by_one_without_an_executor():
    kept = [(b'1', {}), (b'2', {})]

    class Subscription(Handle):
        def take_message(self, message_type, raw):
            assert message_type is Handle
            assert raw
            return kept.pop(0) if kept else None

    subscription = SimpleNamespace(handle=Subscription(), msg_type=Handle)
    assert [poll_message(subscription, serialized=True) for _ in range(3)] == [b'1', b'2', None]


@pytest.mark.parametrize(
    'callback', [lambda: None, lambda message: None, partial(lambda one, two: None, 1), [].append]
)
def test_a_guarded_callback_has_the_signature_of_its_own(callback):
    """From Kilted on the executor passes a TimerInfo to timers that take arguments."""
    node = pytest.importorskip('marine_sim_ros.ros.base.node')
    guarded = node.VehicleNode.guard(SimpleNamespace(), 'timer', callback)
    assert inspect.signature(guarded) == inspect.signature(callback)
    guarded(*(1 for _ in inspect.signature(callback).parameters))


class Reader:
    """A reader of rosbag2_py before Lyrical."""

    def __init__(self):
        self.rows = [('/a', b'1', 10, 7), ('/a', b'2', 20, 17), ('/a', b'3', 30, 27)]

    def set_filter(self, chosen):
        assert chosen == ['/a']

    def has_next(self):
        return bool(self.rows)

    def read_next(self):
        return self.rows.pop(0)[:3]


class LyricalReader(Reader):
    """One that has a second time, and warns of the old call."""

    def read_next(self):
        raise DeprecationWarning('use read_next_ext')

    def read_next_ext(self):
        return self.rows.pop(0)


@pytest.mark.parametrize('kind', [Reader, LyricalReader])
def test_a_bag_is_read_by_the_call_that_is_not_deprecated(kind, monkeypatch):
    pytest.importorskip('rclpy')
    stub = ModuleType('rosbag2_py')
    stub.StorageFilter = lambda topics: topics
    storage = ModuleType('rosbag2_py._storage')
    storage.QoS = object
    monkeypatch.setitem(sys.modules, 'rosbag2_py', stub)
    monkeypatch.setitem(sys.modules, 'rosbag2_py._storage', storage)
    module = 'marine_sim_ros.ros.recording.rosbag2_storage'
    monkeypatch.delitem(sys.modules, module, raising=False)
    reader = object.__new__(import_module(module).Rosbag2Reader)
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(type(reader), '_open', lambda _: kind())
    topic = SimpleNamespace(topic='/a')
    assert list(reader.messages([topic], stop=30)) == [(topic, 10, b'1'), (topic, 20, b'2')]


def uses_internals(tree):
    """Whether a module names internals of rclpy: handles, its own modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ('handle', '_time_source'):
            return True
        if isinstance(node, ast.ImportFrom) and re.match(
            r'rclpy\.(impl|experimental)', node.module or ''
        ):
            return True
    return False


def test_one_module_uses_internals_of_rclpy():
    texts = {p: p.read_text(encoding='utf-8') for p in (ROOT / 'marine_sim_ros').rglob('*.py')}
    found = {
        path.relative_to(ROOT).as_posix()
        for path, text in texts.items()
        if re.search(r'\.handle\b|_time_source|rclpy\.', text) and uses_internals(ast.parse(text))
    }
    assert found == {'marine_sim_ros/ros/base/internals.py'}


def test_no_module_needs_what_rclpy_has_not_had_since_humble():
    # New since: EventsExecutor, which is looked for; parameter_client, which nothing needs.
    new = re.compile(r'rclpy\.(parameter_client|parameter_event_handler|type_\w+)')
    for path in (ROOT / 'marine_sim_ros').rglob('*.py'):
        assert not new.search(path.read_text(encoding='utf-8')), path


@pytest.mark.parametrize('domain', ['233', '9999', '-1', 'x', '1.5', '٣', '0x10', ' 1'])
def test_a_domain_that_dds_has_not_is_one_line(domain, monkeypatch):
    pytest.importorskip('rclpy')
    monkeypatch.setenv('ROS_DOMAIN_ID', domain)
    with pytest.raises(ParameterError) as caught:
        require_ros('run')
    wanted = 'expected a whole number, 0 to 232'
    assert str(caught.value) == f'run: ROS_DOMAIN_ID is {domain!r}; {wanted}'
    for good in ('', '0', '101', '232'):
        monkeypatch.setenv('ROS_DOMAIN_ID', good)
        require_ros('run')


@pytest.mark.ros
@pytest.mark.parametrize('peers', ['...,', '300.1.1.1', 'no such host'])
def test_peers_that_ros_cannot_use_are_one_line(peers):
    done = subprocess.run(
        [sys.executable, '-m', 'marine_sim_ros.nodes.drag', '--ros-args', '-p',
         'vehicle:=simple_rov'],
        env={**os.environ, 'ROS_STATIC_PEERS': peers}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith('ERROR: ROS: error creating node: Unable to resolve peer')
