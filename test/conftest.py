# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What tests share: shipped vehicles, a ROS domain of their own, processes that are ended."""

import io
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from _pytest.tmpdir import tmppath_result_key
from fork_server import COMMAND, forked
from hypothesis import settings
from lanes import (  # noqa: F401
    group_of,
    in_lane,
    is_alone,
    markers_of,
    pytest_collection,
    pytest_runtest_protocol,
    pytest_xdist_make_scheduler,
)

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.gazebo.delivery import has_binding
from marine_sim_ros.model import xacro_expansion
from marine_sim_ros.tools.main import main

ROOT = Path(__file__).resolve().parent.parent
OPTIONAL_SENSORS = (
    'gps',
    'usbl',
    'pinger',
    'ins',
    'hydrophone',
    'lbl',
    'modem',
    'optical_modem',
    'dvl',
    'adcp',
    'altimeter',
    'echo_sounder',
    'profiler',
    'scanning_sonar',
    'imaging_sonar',
    'multibeam',
    'side_scan',
    'sonar_3d',
    'camera',
    'leak',
    'thermometer',
    'ctd',
    'optode',
    'fluorometer',
    'transmissometer',
)
"""Sensors that a BlueROV2 has on request."""
OF_BOATS = {'ais', 'anemometer', 'lidar'}
"""Kinds of sensors that it never has."""
SETS = ('maker', 'orca3', 'bluerov2_gz', 'wu2018', 'von_benzon2022')
VEHICLES = ('bluerov2', 'bluerov2_heavy')
OTHERS = ('investigator90', 'simple_rov', 'surface_vessel')
WEEKLY = [
    line
    for line in (ROOT / 'test' / 'weekly.txt').read_text(encoding='utf-8').splitlines()
    if line and not line.startswith('#')
]
"""Beginnings of the names of tests that only `make test-all` runs."""
PARTITIONS = itertools.count()
DOMAINS = range(1, 101)
"""Of ROS; the ports of greater ones are those that the system gives to anybody."""

settings.register_profile('any machine', deadline=None)  # a busy one is slow, and not wrong
settings.load_profile('any machine')
SHARE = 1 if os.environ.get('FUZZ') == 'all' else 5
"""Fuzz tests try one in SHARE of their examples; FUZZ=all, as CI has it weekly: all."""


def examples(number):
    """Return how many of the examples of a fuzz test are tried here."""
    return max(25, number // SHARE)


def has(module):
    try:
        __import__(module)
    except ImportError:
        return False
    return True


def browser():
    """Return the path of a browser without a window, or None."""
    names = ('chromium', 'chromium-browser', 'google-chrome')
    return next(filter(None, map(shutil.which, names)), None)


def ardusub():
    """Return the path of ArduSub, built for software in the loop, or None."""
    return os.environ.get('ARDUSUB') or shutil.which('ardusub')


def marine_sim(*words):
    """Run the command in this process; return its exit code and what it printed."""
    told = io.StringIO()
    with redirect_stdout(told), redirect_stderr(told), pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code, told.getvalue()


def pytest_runtest_teardown(item):
    # tmp_path, when it ends, asks for the result of the test; a second try has reported none.
    item.stash.setdefault(tmppath_result_key, {})


@pytest.hookimpl(tryfirst=True)  # before xdist, which reads the groups
def pytest_collection_modifyitems(items):
    missing = {
        'ardusub': not (ardusub() and has('pymavlink')),
        'ros': not has('rclpy'),
        'launch': not (has('launch_ros') and has('ros2cli')),
        'gazebo': not has_binding('gz.transport'),
        'drake': not has('pydrake'),
        'sdformat': not has_binding('sdformat'),
        'browser': browser() is None,
    }
    # Several processes, DDS and a busy machine: a graph that fails is tried once again, and the
    # report shows both tries. What runs in one process fails at once.
    again = pytest.mark.flaky(retries=1, delay=1)
    rows = tuple(
        x for line in WEEKLY for x in ([line] if '[' in line else [f'{line}[', f'{line}::'])
    )
    for item in items:
        name = f'test/{item.nodeid.rpartition("test/")[2]}'
        if name in WEEKLY or name.startswith(rows):
            item.add_marker(pytest.mark.weekly)
        markers = markers_of(item)
        if 'ros' in markers or 'browser' in markers:
            item.add_marker(again)
        # What the tests of a file share is made in one worker.
        if 'xdist_group' not in markers:
            item.add_marker(pytest.mark.xdist_group(group_of(item)))
        for marker, absent in missing.items():
            if absent and marker in markers:
                item.add_marker(pytest.mark.skip(reason=f'{marker}: not on this machine'))
    items.sort(key=_turn)


def _turn(item):
    """Graphs first and files of short tests last, so that no worker waits for another."""
    return [
        not is_alone(item),
        not in_lane(item),
        *(name not in markers_of(item) for name in ('slow', 'long')),
    ]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call():
    """A test that needs a package of an extra is skipped where only rosdep's are installed."""
    try:
        return (yield)
    except MissingPackageError as error:
        pytest.skip(str(error))


expand_description = xacro_expansion.expand_description


@cache
def expanded(path, arguments, skip_missing):
    return expand_description(path, dict(arguments), skip_missing=skip_missing)


def expand_once(path, arguments, *, skip_missing=None):
    """Expand a shipped file once in a process for the same arguments; others each time."""
    if ROOT / 'urdf' not in path.parents:
        return expand_description(path, arguments, skip_missing=skip_missing)
    return expanded(path, tuple(arguments.items()), skip_missing)


xacro_expansion.expand_description = expand_once


@cache
def vehicle_of(name, **arguments):
    """Return a shipped vehicle, read once: xacro is most of a short test."""
    return load_vehicle(name, **arguments)


@pytest.fixture(params=[(v, s) for v in VEHICLES for s in SETS], ids='-'.join)
def shipped(request):
    name, coefficients = request.param
    return vehicle_of(name, coefficients=coefficients)


MODELS = tuple((v, s) for v in VEHICLES for s in SETS) + tuple((v, None) for v in OTHERS)
"""Shipped vehicles with their coefficients."""


def model_name(model):
    """Return the name of a model in the name of a test."""
    return '-'.join(filter(None, model))


@pytest.fixture(params=MODELS, ids=model_name)
def vehicle(request):
    name, coefficients = request.param
    return vehicle_of(name, **({'coefficients': coefficients} if coefficients else {}))


@pytest.fixture
def ros_domain():
    """A ROS domain that no other test of this machine has, in whatever process it runs."""
    offset = os.getpid()
    for number in (DOMAINS[(offset + i) % len(DOMAINS)] for i in range(len(DOMAINS))):
        # An abstract address belongs to the network, as a domain does: a chroot has its own /tmp.
        with socket.socket(socket.AF_UNIX) as lock:
            try:
                lock.bind(f'\0marine_sim_ros_domain_{number}')
            except OSError:
                continue
            yield number
            return
    pytest.fail('no free ROS domain')


@pytest.fixture
def ros_environment(monkeypatch, ros_domain):
    """Settings of a ROS graph that nobody else sees."""
    settings = {
        'ROS_DOMAIN_ID': str(ros_domain),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'AMENT_PREFIX_PATH': os.environ.get('AMENT_PREFIX_PATH', sys.prefix),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return dict(os.environ)


@pytest.fixture(scope='session')
def renderer():
    """Skip where pictures cannot be rendered."""
    from marine_sim_ros.sensors.camera.rendering import _context

    try:
        _context()
    except MissingPackageError as error:
        pytest.skip(str(error))


@pytest.fixture
def gazebo_partition(monkeypatch):
    """Settings of a Gazebo that nobody else sees."""
    name = f'marine_sim_{os.getpid()}_{next(PARTITIONS)}'
    settings = {'GZ_PARTITION': name, 'GZ_IP': '127.0.0.1'}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return settings


class Processes:
    """Starts processes and ends every one it started, by its pid."""

    def __init__(self, environment):
        self.environment = environment
        self.all = []

    def start(self, *command, **options):
        options.setdefault('stdout', subprocess.PIPE)
        options.setdefault('stderr', subprocess.STDOUT)
        process = subprocess.Popen(
            [str(c) for c in command], env=self.environment, text=True, **options
        )
        self.all.append(process)
        return process

    def module(self, name, *arguments, **options):
        """Run a module: a fork that has its imports already; with options, an interpreter."""
        process = None if options else forked(name, arguments, self.environment)
        if process is None:
            return self.start(sys.executable, '-m', name, *arguments, **options)
        self.all.append(process)
        return process

    def marine_sim(self, *arguments, **options):
        return self.module(COMMAND, *arguments, **options)

    def node(self, spec, **options):
        name = f'marine_sim_ros.nodes.{spec.executable}'
        return self.module(name, *spec.ros_arguments(), **options)

    def end(self):
        for process in self.all:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + 5
        for process in self.all:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def processes(ros_environment):
    result = Processes(ros_environment)
    yield result
    result.end()


def within_chi_square(values, deviation):
    """Return whether the variance of values is that, with a chance of error of 1e-4."""
    chi2 = pytest.importorskip('scipy.stats').chi2
    low, high = chi2.ppf([5e-5, 1 - 5e-5], values.size)
    return low < np.sum((values / deviation) ** 2) < high
