# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The tour on a terminal, in a pipe, interrupted, and through the nodes."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import webbrowser

import numpy as np
import pytest
from conftest import ROOT
from graph import NotInTime
from processor import PATIENCE

from marine_sim_ros import Environment, load_vehicle, simulate
from marine_sim_ros.console.page.access import opening_file
from marine_sim_ros.console.page.links import read_token
from marine_sim_ros.physics import wrench_sources
from marine_sim_ros.ros.launching.supervisor import Supervisor
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.tools import demo
from marine_sim_ros.tools.main import COMMANDS

COMMAND = (sys.executable, '-m', 'marine_sim_ros.tools.main', 'demo')


def take_terminal():
    """Let a new session have the terminal, and hear ctrl-C, which background jobs ignore."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A process on a terminal of 80 x 24 characters."""

    def __init__(self, *arguments):
        self.text = ''
        self._decoder = codecs.getincrementaldecoder('utf-8')()
        self._end, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
        environment = dict(os.environ, TERM='xterm')
        for name in ('COLUMNS', 'LINES', 'DISPLAY', 'WAYLAND_DISPLAY'):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=end,
            stdout=end,
            stderr=end,
            env=environment,
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(end)

    def read(self, until=None, within=PATIENCE):
        """Read until a text appears, or the end."""
        deadline = time.monotonic() + within
        while until is None or until not in self.text:
            if time.monotonic() > deadline:
                raise NotInTime(self.text)
            if not select.select([self._end], [], [], 0.5)[0]:
                continue
            try:
                data = os.read(self._end, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            self.text += self._decoder.decode(data)
        return self.text

    def type(self, text):
        os.write(self._end, text.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._end)


@pytest.fixture
def terminal():
    opened = []

    def open_terminal(*arguments):
        opened.append(Terminal(*arguments))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


@pytest.fixture(scope='module')
def piped():
    """The tour in a pipe, without ROS."""
    return subprocess.run([*COMMAND, '--fast', '--no-ros'], capture_output=True, text=True)


@pytest.mark.long
def test_a_pipe_gets_plain_lines_and_the_trajectory_of_simulate(piped):
    assert piped.returncode == 0, piped.stderr
    assert piped.stderr == ''
    assert '\x1b' not in piped.stdout
    assert '\r' not in piped.stdout
    trajectory = simulate(load_vehicle('bluerov2'), load_scenario('dive'))
    found = re.search(r'hashes to ([0-9a-f]+)', piped.stdout).group(1)
    assert trajectory.sha256.startswith(found)
    rows = re.findall(r'^ *([\d.]+) s   depth +([\d.]+) m', piped.stdout, re.MULTILINE)
    assert len(rows) == 9
    for seconds, depth in rows:
        tick = round(float(seconds) / 0.005)
        assert float(depth) == pytest.approx(-trajectory.position[tick, 2], abs=0.006)


@pytest.mark.long
def test_commands_at_the_end_are_verbs_that_exist(piped):
    commands = re.findall(r'^  marine_sim (\S+)', piped.stdout, re.MULTILINE)
    assert len(commands) >= 5
    assert set(commands) <= set(COMMANDS)


def test_the_page_that_it_names_lists_the_topics(piped):
    page = re.search(r'(\S+\.md) lists all', piped.stdout)[1]
    text = (ROOT / page).read_text(encoding='utf-8')
    assert all(f'`{name}`' in text for name, *_ in demo.TOPICS)


@pytest.mark.long
def test_without_ros_the_tour_goes_on_and_says_how_to_get_it():
    program = (
        "import sys; sys.modules.update({'rclpy': None, 'tf2_msgs': None});"
        "from marine_sim_ros.tools.main import main; main(['demo', '--fast'])"
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pip install 'marine_sim_ros[ros]'" in done.stdout
    assert 'marine_sim doctor' in done.stdout
    assert 'marine_sim run' not in done.stdout  # nor anything else that needs it


@pytest.mark.long
def test_a_terminal_shows_the_dive_within_80_columns(terminal):
    screen = terminal('--fast', '--no-ros')
    text = screen.read()
    assert screen.process.wait() == 0
    assert 'thrusters, pulse width and thrust' in text
    assert 'What to try next' in text
    assert text.count('\x1b[?25l') == text.count('\x1b[?25h') > 0  # the cursor is back
    plain = re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', text)
    lines = [line for part in plain.split('\n') for line in part.split('\r')]
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.long
def test_ctrl_c_leaves_the_dive_and_gives_the_cursor_back(terminal):
    screen = terminal('--no-ros')
    screen.read(until='thrusters, pulse width and thrust')
    screen.type('\x03')
    text = screen.read()
    assert screen.process.wait() == 130
    assert 'Traceback' not in text
    assert 'What to try next' not in text
    assert text.count('\x1b[?25l') == text.count('\x1b[?25h')


@pytest.mark.ros
def test_the_nodes_make_the_same_trajectory(processes):
    tour = processes.marine_sim('demo', '--fast')
    text, _ = tour.communicate()
    assert tour.returncode == 0, text
    assert 'The same trajectory to the last bit' in text


@pytest.mark.ros
@pytest.mark.slow
def test_ctrl_c_ends_the_graph_and_the_tour_goes_on(terminal, ros_environment):
    screen = terminal()
    screen.read(until='Ctrl-C ends the graph')
    screen.read(until='running')
    time.sleep(1.0)
    screen.type('\x03')
    text = screen.read()
    assert screen.process.wait() == 0, text
    assert 'Traceback' not in text
    assert 'What to try next' in text
    assert 'the last bit' not in text  # the recording is shorter than the dive


@pytest.mark.ros
def test_topics_have_the_types_that_are_shown():
    from marine_sim_ros.ros import topics

    rov = load_vehicle('bluerov2')
    sources = wrench_sources(rov, Environment())
    known = {topic.name: topic.type for topic in topics.topics_to_record(rov, sources=sources)}
    for name, kind, _ in demo.TOPICS:
        package, message = kind.split('/')
        assert known[name].__module__.split('.')[0] == package
        assert known[name].__name__ == message


def test_the_plot_shows_each_depth_in_its_row():
    seconds = np.arange(0.0, 40.0, 0.1)
    lines = demo.depth_plot(seconds, 0.1 * seconds, duration=40.0, deepest=4.0, width=40, rows=4)
    assert len(lines) == 6
    for column in range(40):
        row = column // 10
        marks = [line.ljust(60)[7 + column] for line in lines[:4]]
        assert marks[row] == ('▀' if column % 10 < 5 else '▄'), column
        assert [m for i, m in enumerate(marks) if i != row] == [' '] * 3


@pytest.mark.parametrize('depth', [-1.0, 0.0, 4.0, 99.0])
def test_depths_beyond_the_plot_stay_at_its_edges(depth):
    lines = demo.depth_plot([0.0, 10.0], [depth] * 2, duration=10.0, deepest=4.0, width=8, rows=4)
    row = 0 if depth <= 0 else 3
    for i, line in enumerate(lines[:4]):
        assert line.endswith(('▀', '▄')) == (i == row)


def test_a_console_in_use_gets_another_port(monkeypatch):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        monkeypatch.setattr(demo, 'PORT', taken.getsockname()[1])
        port = demo._free_port()
        assert port not in (0, demo.PORT)


@pytest.mark.parametrize('name', ['DISPLAY', 'WAYLAND_DISPLAY'])
def test_a_browser_is_opened_only_on_a_display(monkeypatch, name):
    monkeypatch.setattr(webbrowser, 'get', lambda: 'a browser')
    for variable in ('DISPLAY', 'WAYLAND_DISPLAY'):
        monkeypatch.delenv(variable, raising=False)
    assert not demo._has_browser()
    monkeypatch.setenv(name, ':0')
    assert demo._has_browser()


def test_the_console_opens_as_soon_as_it_answers(monkeypatch, tmp_path):
    opened, over = [], threading.Event()
    monkeypatch.setattr(webbrowser, 'open', opened.append)
    with socket.socket() as server:
        server.bind(('127.0.0.1', 0))
        port = server.getsockname()[1]
        page = opening_file(tmp_path, address := f'http://127.0.0.1:{port}/?token=x')
        opener = threading.Thread(target=demo._open_when_served, args=(port, page, over))
        opener.start()
        time.sleep(0.5)
        assert opened == []  # nothing listens yet
        server.listen()
        opener.join(5)
    over.set()
    assert opened == [page.as_uri()]  # no token among the arguments of a browser
    assert address in page.read_text()
    assert page.stat().st_mode & 0o077 == 0


def test_the_console_of_the_tour_reads_its_token_from_a_file_of_this_user(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, '_has_browser', lambda: False)
    spec = demo.NodeSpec('console', '/bluerov2', {})
    demo._offer_console(1234, [spec], tmp_path, threading.Event())
    assert read_token(spec.parameters['token_file'])


def test_signals_are_as_before_after_a_run():
    numbers = signal.SIGINT, signal.SIGTERM
    before = [signal.getsignal(number) for number in numbers]
    for number in numbers:
        supervisor = Supervisor()
        with supervisor.catch_signals():
            signal.raise_signal(number)
        assert supervisor.shutdown_requested
        assert [signal.getsignal(n) for n in numbers] == before
