# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The console's node on its wire, without a browser: seats, silence, nonsense, foreigners."""

import json
import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import has
from processor import PATIENCE, slowed
from test_console_page import address_of, start
from test_graph import Watcher

from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.console.control_lease import OPERATOR_TIMEOUT
from marine_sim_ros.ros.node_graph import NodeSpec, node_specs
from marine_sim_ros.sim.options import RunOptions

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(not has('nicegui'), reason='the extra console is not installed'),
]


def pushed(message):
    return max(abs(p - 1500) for p in message.data) > 100


class Wire:
    """A page that is no browser."""

    def __init__(self, address, page, path='wire', **options):
        from websockets.sync.client import connect

        from marine_sim_ros.console.page.access import cookie_of

        where = address.replace('http', 'ws').split('?')[0]
        self.socket = connect(
            f'{where}{path}?page={page}',
            proxy=None,
            ping_interval=None,
            additional_headers={'Cookie': cookie_of(address)},
            **options,
        )

    def ask(self, kind, value=None):
        self.socket.send(json.dumps({'kind': kind, 'value': value}))

    def newest(self):
        """Return the newest message that has come; the next one where none has."""
        return self._drain() or json.loads(self.socket.recv(timeout=PATIENCE))

    def _drain(self):
        message = None
        while True:
            try:
                message = json.loads(self.socket.recv(timeout=0))
            except TimeoutError:
                return message

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition(message := self.newest()):
            assert time.monotonic() < deadline, message
        return message

    def hold(self, watcher, condition, **sticks):
        """Hold sticks until a condition."""
        axes = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
        deadline = time.monotonic() + PATIENCE
        while not watcher.holds(condition):
            assert time.monotonic() < deadline
            self.ask('hands', {'sticks': [sticks.get(axis, 0.0) for axis in axes]})
            self._drain()
            watcher.spin(0.05)


@pytest.fixture
def watcher(ros_environment):
    from std_msgs.msg import UInt16MultiArray

    result = Watcher()
    result.listen('thrusters/pwm', UInt16MultiArray)
    yield result
    result.close()


def test_a_page_steers_a_vehicle_that_a_compiled_program_moves(processes, watcher):
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    pwm = watcher.seen['thrusters/pwm']
    options = RunOptions(vehicle='bluerov2', console=True, engine='compiled', dt=0.01)
    page = Wire(start(processes, options), 'one')
    begin = page.until(lambda m: 'frame' in m)['frame']['position'][2]
    page.ask('hello', 'Ada')
    page.ask('take', False)
    page.hold(watcher, lambda: pwm and pushed(pwm[-1]), heave=-1.0)
    deadline = time.monotonic() + PATIENCE
    while page.newest().get('frame', {}).get('position', [0, 0, begin])[2] > begin - 0.2:
        assert time.monotonic() < deadline
        page.ask('hands', {'sticks': [0.0, 0.0, -1.0, 0.0, 0.0, 0.0]})


def test_a_recording_of_the_operator_is_saved_while_the_run_goes_on(processes, watcher, tmp_path):
    """And a second one begins; nothing of the run waits for either."""
    options = RunOptions(vehicle='bluerov2', console=True, dt=0.02)
    page = Wire(start(processes, options, folder=str(tmp_path), operator_timeout=60.0), 'one')
    page.until(lambda m: 'frame' in m)
    page.ask('take', False)
    page.until(lambda m: m.get('mine'))

    def shown(message, name, otherwise=None):
        return message.get('frame', {}).get(name, otherwise)

    spans = []
    for _ in range(2):
        page.ask('record', True)
        folder = page.until(lambda m: shown(m, 'recording'))['frame']['recording']
        page.until(lambda m, folder=folder: shown(m, 'notice') == f'recording to {folder}')
        assert Path(folder, 'bag', 'bag.mcap').exists()
        begin = page.until(lambda m: 'frame' in m)['frame']['time']
        page.until(lambda m, begin=begin: shown(m, 'time', 0.0) > begin + 1.0)
        page.ask('record', False)
        page.until(lambda m, folder=folder: shown(m, 'notice') == f'recording saved: {folder}')
        (vehicle,) = read_bag(folder).vehicles.values()
        time_of = vehicle.get('odom').time
        spans.append((time_of[0], time_of[-1]))
        page.ask('hands', {'sticks': [0.0] * 6})
        # Its end was in order: Health does not call it silent.
        nodes = page.until(lambda m: shown(m, 'health'))['frame']['health']['nodes']
        assert 'recorder' not in [node['node'] for node in nodes]
    assert spans[0][0] < spans[0][1] < spans[1][0] < spans[1][1]


@pytest.mark.clock
def test_a_silent_operator_is_lost_and_others_only_watch(processes, watcher):
    pwm = watcher.seen['thrusters/pwm']
    options = RunOptions(vehicle='bluerov2', console=True, dt=0.01)
    address = start(processes, options, operator_timeout=OPERATOR_TIMEOUT, lease_timeout=2.0)
    one, two = Wire(address, 'one'), Wire(address, 'two')
    one.until(lambda m: 'frame' in m)
    one.ask('hello', 'Ada')
    one.ask('take', False)
    one.hold(watcher, lambda: pwm and pushed(pwm[-1]), heave=-1.0)
    # Who watches cannot steer, and does not get the seat by asking.
    two.ask('take', False)
    two.ask('hands', {'sticks': [1.0] * 6})
    count = len(pwm)
    one.hold(watcher, lambda: len(pwm) > count + 10, heave=-1.0)
    assert all(list(m.data[:4]) == [1500] * 4 and pushed(m) for m in pwm[count + 1 :])
    assert one.newest()['mine']
    assert not two.newest()['mine']
    # Who has the right to steer can stop at any time; who steered has to take control again.
    two.ask('stop')
    watcher.until(lambda: set(pwm[-1].data) == {1500})
    one.until(lambda m: not m.get('mine', True))
    one.ask('take', False)
    one.hold(watcher, lambda: pushed(pwm[-1]), heave=-1.0)
    # Silence: the page is there, and says nothing.
    silent = time.monotonic()
    watcher.until(lambda: set(pwm[-1].data) == {1500})
    assert time.monotonic() - silent < slowed(1.0)
    one.until(lambda m: not m.get('mine', True))
    # Another one takes it, and is taken over.
    two.ask('take', False)
    two.hold(watcher, lambda: pushed(pwm[-1]), surge=1.0)
    one.ask('take', True)
    watcher.until(lambda: set(pwm[-1].data) == {1500})
    one.until(lambda m: m.get('mine'))
    # A closed page.
    one.hold(watcher, lambda: pushed(pwm[-1]), heave=1.0)
    one.socket.close()
    closed = time.monotonic()
    watcher.until(lambda: set(pwm[-1].data) == {1500})
    assert time.monotonic() - closed < slowed(1.0)
    # The run dies: what is shown is old, and nobody is said to be well.
    two.until(
        lambda m: 'frame' in m and all(n['state'] == 'ok' for n in m['frame']['health']['nodes'])
    )
    assert two.newest()['frame']['health']['outages'] == '0'
    processes.all[0].kill()
    two.until(
        lambda m: (
            'no message of the run' in m['frame']['notice']
            and {n['node'] for n in m['frame']['health']['nodes'] if n['state'] == 'ok'}
            == {'console'}
        )
    )
    assert 'ticks' not in two.newest()['frame']['health']


@pytest.mark.clock
def test_stop_alone_stops_the_vehicle_while_others_flood(processes, watcher):
    """The operator goes on to steer, and silence counts after a minute: STOP is what acts."""
    pwm = watcher.seen['thrusters/pwm']
    options = RunOptions(vehicle='bluerov2', console=True, dt=0.01)
    address = start(processes, options, operator_timeout=60.0)
    one, *flooders = (Wire(address, name) for name in ('one', 'two', 'three'))
    one.until(lambda m: 'frame' in m)
    over = threading.Event()

    def flood(wire):
        while not over.wait(1 / 80):
            wire.ask('look')
            wire.ask('gain', 0.5)
            wire.newest()

    for wire in flooders:
        threading.Thread(target=flood, args=(wire,), daemon=True).start()
    delays = []
    for stopper in (one, flooders[0], one):
        one.ask('take', True)
        one.hold(watcher, lambda: pwm and pushed(pwm[-1]), heave=-1.0)
        stopped = time.monotonic()
        stopper.ask('stop')
        if stopper is one:
            watcher.until(lambda: set(pwm[-1].data) == {1500})
        else:
            one.hold(watcher, lambda: set(pwm[-1].data) == {1500}, heave=-1.0)
        delays.append(time.monotonic() - stopped)
        count, later = len(pwm), time.monotonic() + slowed(1.0)
        while time.monotonic() < later:  # of another page, STOP ends the operator's commands too
            watcher.spin(0.05)
        assert all(set(m.data) == {1500} for m in pwm[count:])
    over.set()
    assert max(delays) < slowed(0.5)


@pytest.mark.clock
def test_a_page_that_is_heard_again_goes_on(processes, watcher):
    pwm = watcher.seen['thrusters/pwm']
    options = RunOptions(vehicle='bluerov2', console=True, dt=0.01)
    one = Wire(start(processes, options, operator_timeout=OPERATOR_TIMEOUT), 'one')
    one.until(lambda m: 'frame' in m)
    one.ask('take', False)
    one.hold(watcher, lambda: pwm and pushed(pwm[-1]), heave=-1.0)
    silent = time.monotonic()
    watcher.until(lambda: set(pwm[-1].data) == {1500})
    count = len(pwm)
    while time.monotonic() - silent < 2.0:
        watcher.spin(0.05)
    assert len(pwm) > count
    assert {p for m in pwm[count:] for p in m.data} == {1500}
    told = one.newest()
    assert told['mine']
    assert 'silent' in told['frame']['notice']
    one.hold(watcher, lambda: pushed(pwm[-1]), heave=-1.0)
    assert one.newest()['mine']


@pytest.mark.clock
@pytest.mark.parametrize('on_loss', ['disarm', 'hold'])
def test_silence_disarms_the_controller_until_the_page_is_heard(processes, watcher, on_loss):
    pwm = watcher.seen['thrusters/pwm']
    options = RunOptions(vehicle='bluerov2', controller='modern', console=True, dt=0.01)
    one = Wire(
        start(
            processes,
            options,
            operator_timeout=OPERATOR_TIMEOUT,
            lease_timeout=4.0,
            output='velocity',
            on_loss=on_loss,
        ),
        'one',
    )

    def armed(on):
        return lambda m: m['frame']['mode']['switches']['arm'] is on

    def speak(**sticks):
        end = time.monotonic() + 1.0
        one.hold(watcher, lambda: time.monotonic() > end, **sticks)

    one.until(lambda m: 'frame' in m)
    one.ask('take', False)
    one.until(lambda m: m['frame']['mode']['switches']['arm'] is not None)
    one.ask('switch', {'name': 'arm', 'on': True})
    one.hold(watcher, lambda: pwm and pushed(pwm[-1]), surge=1.0)
    if on_loss == 'disarm':
        one.until(armed(False))
        watcher.until(lambda: set(pwm[-1].data) == {1500})
    else:
        time.sleep(1.5)
    assert one.newest()['mine']
    # It is heard, and steers without arming anew.
    one.hold(watcher, lambda: pushed(pwm[-1]), surge=1.0)
    one.until(armed(True))
    # Who stopped stays stopped, silent or not.
    one.ask('stop')
    one.until(armed(False))
    time.sleep(1.5)
    speak()
    message = one.newest()
    assert armed(False)(message)
    assert message['mine']
    # Who disarms after a silence is not armed by it.
    one.ask('switch', {'name': 'arm', 'on': True})
    one.until(armed(True))
    time.sleep(1.5)
    one.ask('switch', {'name': 'arm', 'on': False})
    speak()
    assert armed(False)(one.newest())
    # Silent for longer: control is lost, and what is heard then changes nothing.
    one.until(lambda m: not m['mine'])
    speak(surge=1.0)
    message = one.newest()
    assert armed(False)(message)
    assert not message['mine']


@pytest.mark.clock
def test_a_slow_page_keeps_control_and_the_controller_armed(processes, watcher):
    """Its worker lives while its script does not say what is held: that is let go, no more."""
    pwm = watcher.seen['thrusters/pwm']
    options = RunOptions(vehicle='bluerov2', controller='modern', console=True, dt=0.01)
    address = start(processes, options, operator_timeout=OPERATOR_TIMEOUT, lease_timeout=2.0)
    one, worker = Wire(address, 'one'), Wire(address, 'one', 'alive')
    one.until(lambda m: 'frame' in m and not m['frame']['mode']['unavailable'].get('arm'))
    one.ask('take', False)
    one.ask('switch', {'name': 'arm', 'on': True})
    one.hold(watcher, lambda: pwm and pushed(pwm[-1]), surge=1.0)
    two = Wire(address, 'two')
    notices, end = set(), time.monotonic() + 4.0
    while time.monotonic() < end:  # twice as long as a lost page keeps control
        worker.ask('alive', 1.0)
        two.ask('take', False)  # refused, and no sign of life of who steers
        watcher.spin(0.1)
        message = one.newest()
        notices.add(message['frame']['notice'])
        assert message['mine']
        assert message['frame']['mode']['switches']['arm'] is True
    assert any('is slow' in notice for notice in notices), notices
    assert not any('silent' in notice for notice in notices), notices
    assert not pushed(pwm[-1])
    one.hold(watcher, lambda: pushed(pwm[-1]), surge=1.0)
    # Neither is heard any more: the page is lost.
    message = one.until(lambda m: not m['mine'])
    one.until(lambda m: m['frame']['mode']['switches']['arm'] is False)


def test_what_cannot_work_is_named_and_an_end_is_told(processes, watcher):
    options = RunOptions(vehicle='bluerov2', console=True, dt=0.01)
    one = Wire(start(processes, options), 'one')
    message = one.until(
        lambda m: 'frame' in m and [*m['frame']['mode']['unavailable']][:2] == ['velocity', 'pose']
    )
    unavailable = message['frame']['mode']['unavailable']
    assert unavailable['velocity'] == 'no controller listens to cmd_vel'
    assert unavailable['arm'] == 'no controller offers arm: start with --controller modern'
    one.ask('take', False)
    one.ask('reset')
    one.until(lambda m: m['frame']['notice'] == 'the run is back at time 0')
    one.ask('end')
    one.until(lambda m: m['frame']['notice'] == 'the run ends …')
    processes.all[-1].send_signal(signal.SIGINT)  # as the run does with all nodes once it ends
    message = one.until(lambda m: 'ended' in m and 'after' in m['ended'])
    assert message['ended'].startswith('The run has ended after ')
    assert message['ended'].endswith(' It was not recorded.')


def test_a_gamepad_steers_and_switches(processes, watcher):
    pwm = watcher.seen['thrusters/pwm']
    address = start(processes, RunOptions(vehicle='bluerov2', console=True, dt=0.01))
    wire = Wire(address, 'pad')
    wire.ask('take', False)
    held = {'sticks': [0.0] * 6, 'gamepad': 'xbox', 'axes': [0.0] * 4, 'buttons': [0] * 15}
    wire.ask('hands', held)
    wire.ask('hands', {**held, 'axes': [0.0, 0.0, 0.0, 1.0]})  # right stick ahead: up
    watcher.until(lambda: pwm and pushed(pwm[-1]))
    # It is pulled out: the page says that there is none.
    wire.ask('hands', {'sticks': [0.0] * 6})
    watcher.until(lambda: set(pwm[-1].data) == {1500})
    wire.ask('hands', held)
    wire.ask('hands', {**held, 'buttons': [0, 0, 0, 1] + [0] * 11})  # Y: the next output
    wire.until(lambda m: m.get('frame', {}).get('mode', {}).get('output') == 'velocity')


def test_faults_that_are_set_happen_and_are_mended(processes, watcher):
    from sensor_msgs.msg import FluidPressure, JointState

    watcher.listen('thrusters/state', JointState)
    watcher.listen('barometer/pressure', FluidPressure)
    state, pressure = watcher.seen['thrusters/state'], watcher.seen['barometer/pressure']
    wire = Wire(start(processes, RunOptions(vehicle='bluerov2', console=True, dt=0.01)), 'x')
    wire.until(lambda m: 'frame' in m)
    wire.ask('take', False)

    def thrust(i):
        return state[-1].effort[i]

    def time_of(messages):
        return messages[-1].header.stamp.sec + messages[-1].header.stamp.nanosec / 1e9

    def set_fault(kind, thruster='', **numbers):
        wire.ask(
            'fault', {'kind': kind, **({'thruster': thruster} if thruster else {}), **numbers}
        )

    # Ahead, the two at the stern push alike; until one is weak and the other is reversed.
    wire.hold(
        watcher,
        lambda: thrust(2) > 2 and thrust(2) == pytest.approx(state[-20].effort[2], rel=0.01),
        surge=1.0,
    )
    whole = thrust(2)
    assert thrust(3) == pytest.approx(whole)
    set_fault('weak', 'thruster_3', share=0.5)
    set_fault('reversed', 'thruster_4')
    wire.hold(watcher, lambda: thrust(2) == pytest.approx(whole / 2, rel=0.1), surge=1.0)
    wire.hold(watcher, lambda: thrust(3) < -1, surge=1.0)
    set_fault('dead', 'thruster_3')  # in place of weak
    wire.hold(watcher, lambda: abs(thrust(2)) < 0.1, surge=1.0)
    told = wire.until(lambda m: len(m['frame']['mode']['faults']) == 2)['frame']['mode']['faults']
    assert {(f['kind'], f['thruster']) for f in told} == {
        ('dead', 'thruster_3'),
        ('reversed', 'thruster_4'),
    }
    set_fault('barometer_dropout')
    wire.hold(watcher, lambda: time_of(state) - time_of(pressure) > 0.3, surge=1.0)
    wire.ask('mend')
    wire.hold(watcher, lambda: abs(time_of(state) - time_of(pressure)) < 0.1, surge=1.0)
    wire.hold(
        watcher, lambda: thrust(2) == pytest.approx(whole, rel=0.1) and thrust(3) > 1, surge=1.0
    )


def test_nonsense_is_told_and_survived(processes, watcher):
    from websockets.exceptions import InvalidStatus

    address = start(processes, RunOptions(vehicle='bluerov2', console=True, dt=0.01))
    wire = Wire(address, 'x')
    wire.ask('take', False)
    for text, expected in (
        ('{', 'not JSON'),
        ('[' * 5000, 'not JSON'),
        ('7', 'request 7 is unknown'),
        ('{"kind": "gain", "value": 1e999}', 'gain: is inf; expected 0 to 1'),
        ('{"kind": "hands", "value": {"sticks": [9]}}', 'hands: has 1 efforts'),
    ):
        wire.socket.send(text)
        assert expected in wire.until(lambda m: 'error' in m)['error']
    wire.ask('fault', {'kind': 'dead', 'thruster': 'warp_drive'})
    wire.until(lambda m: 'warp_drive' in m.get('frame', {}).get('notice', ''))
    with pytest.raises(InvalidStatus):
        Wire(address, 'y', origin='http://evil.example')


def test_a_run_does_not_notice_that_it_is_watched(processes, tmp_path):
    tether = ['--set', 'tether:=fathom', '--set', 'tether_length:=20']
    run = ['bluerov2', '--scenario', 'dive', '--duration', '4', *tether, '--record']
    watched = processes.marine_sim(
        'run', *run, tmp_path / 'a', '--composed', '--console', '--console-port', '0'
    )
    wire = Wire(address_of(watched), 'x')
    wire.ask('take', False)
    wire.ask('hands', {'sticks': [1.0] * 6})  # in vain: the scenario drives
    wire.until(lambda m: 'a controller drives' in m['frame']['notice'])
    shown = wire.until(lambda m: len(m['frame']['tether']['shape']) > 2)['frame']
    ends = np.array(shown['tether']['shape'])[[0, -1]]
    assert np.linalg.norm(ends - [shown['position'], [0, 0, 0]], axis=1).max() < 0.5
    assert len(shown['tether']['tension']) == 2
    processes.marine_sim('simulate', *run, tmp_path / 'b').communicate()
    watched.communicate()
    hashes = {
        json.loads((tmp_path / name / 'manifest.json').read_text())['trajectory_sha256']
        for name in 'ab'
    }
    assert len(hashes) == 1


def test_watching_costs_no_message_per_tick(processes, ros_environment):
    watcher = Watcher()  # that listens to nothing
    options = RunOptions(vehicle='bluerov2', controller='modern', console=True, dt=0.01)
    wire = Wire(start(processes, options), 'x')
    wire.until(lambda m: m['frame']['health'].get('ticks'))
    specs = node_specs(options)
    sources = next(s for s in specs if s.executable == 'console').parameters['wrench_sources']
    per_tick = {'/clock', '/tf'} | {
        f'/bluerov2/{name}'
        for name in (
            'odom',
            'thrusters/pwm',
            'thrusters/state',
            'thrusters/power',
            'controller/setpoints',
            'wrench/total',
            *(f'wrench/{s}' for s in sources),
        )
    }

    def listeners(topic):
        return {i.node_name for i in watcher.node.get_subscriptions_info_by_topic(topic)}

    def aside():
        return '_console_eyes' in listeners('/bluerov2/_slow/odom') and not any(
            {'console', '_console_eyes'} & listeners(topic) for topic in per_tick
        )

    watcher.until(aside)
    # It has no publisher either that thrusters of a controller would have to turn away.
    commanders = watcher.node.get_publishers_info_by_topic
    watcher.until(
        lambda: [i.node_name for i in commanders('/bluerov2/thrusters/pwm')] == ['controller']
    )
    watcher.close()


@pytest.mark.parametrize(
    ('parameters', 'expected'),
    [
        ({'host': '203.0.113.1'}, 'console: cannot listen on 203.0.113.1 port'),
        ({'output': 'warp'}, 'expected one of: pwm, velocity, pose'),
    ],
)
def test_bad_parameters_give_one_line(processes, parameters, expected):
    process = processes.node(NodeSpec('console', '/bluerov2', {'port': 0, **parameters}))
    output, _ = process.communicate()
    assert process.returncode == 2
    assert output.startswith('ERROR: ')
    assert expected in output
    assert output.count('\n') == 1


def test_a_target_frees_the_angles_that_it_leaves_open(processes, watcher):
    from rcl_interfaces.msg import ParameterEvent

    freed = []
    watcher.node.create_subscription(
        ParameterEvent, '/parameter_events',
        lambda event: freed.extend(
            list(changed.value.string_array_value)
            for changed in event.changed_parameters if changed.name == 'free_axes'
        ), 10,
    )  # fmt: skip
    options = RunOptions(vehicle='bluerov2', controller='modern', console=True, dt=0.02)
    page = Wire(start(processes, options, operator_timeout=60.0), 'one')
    page.until(lambda m: 'frame' in m)
    page.ask('take', False)
    page.until(lambda m: m.get('mine'))
    deadline = time.monotonic() + PATIENCE
    while not freed:
        assert time.monotonic() < deadline
        page.ask('target', {'z': -2.0, 'roll': None, 'pitch': None, 'yaw': 0.3})
        watcher.spin(0.2)
    assert freed[0] == ['roll', 'pitch']


def test_the_token_is_printed_and_stays_out_of_the_graph(processes, ros_environment):
    from rcl_interfaces.msg import Log
    from rclpy.parameter_client import AsyncParameterClient
    from rclpy.qos import DurabilityPolicy, QoSProfile

    from marine_sim_ros.console.page.access import cookie_of
    from marine_sim_ros.core.errors import MarineSimError

    spec = next(
        s
        for s in node_specs(RunOptions(vehicle='bluerov2', console=True))
        if s.executable == 'console'
    )
    spec.parameters.update({'host': '0.0.0.0', 'port': 0})
    process = processes.node(spec)
    address = address_of(process)
    host, token = address.split('/?token=')
    (watching,) = re.findall(r'to watch only: (http://\S+)', process.stdout.readline())
    local = f'http://127.0.0.1:{host.rsplit(":", 1)[1]}'
    assert len(token) >= 43
    assert cookie_of(f'{local}/?token={token}') != cookie_of(watching.replace(host, local))
    with pytest.raises(MarineSimError, match='Not allowed'):
        cookie_of(f'{local}/?token=x')
    listener, told = Watcher(), []
    listener.node.create_subscription(
        Log,
        '/rosout',
        lambda m: told.append(m.msg),
        QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL),
    )
    parameters = AsyncParameterClient(listener.node, '/bluerov2/console')
    listener.until(parameters.services_are_ready)
    names = parameters.list_parameters([], 10)
    listener.until(names.done)
    values = parameters.get_parameters(names.result().result.names)
    listener.until(values.done)
    for _ in range(20):  # what a late joiner is given
        listener.spin(0.05)
    assert token not in str(values.result())
    assert token not in str(told)
    for name in ('cmdline', 'environ'):
        assert token.encode() not in Path(f'/proc/{process.pid}/{name}').read_bytes()
    listener.close()


def test_two_pilots_steer_a_fleet_and_an_instructor_has_the_pages_of_both(processes):
    process = processes.marine_sim(
        'run', '--fleet', 'two_vehicles', '--composed', '--console', '--console-port', 0,
        '--dt', 0.02,
    )  # fmt: skip
    links = {}
    while len(links) < 4:
        if found := re.match(
            r'(console at|to instruct:) (http://\S+) \((.+)\)', line := process.stdout.readline()
        ):
            links[found[3], found[1]] = found[2]
        assert line, process.returncode
    vehicles = ('bluerov2', 'bluerov2_heavy')
    pilots = {name: Wire(links[name, 'console at'], 'pilot') for name in vehicles}
    instructors = {name: Wire(links[name, 'to instruct:'], 'i') for name in vehicles}

    def hold(name, sticks, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition(**pilots[name].newest()):
            assert time.monotonic() < deadline
            pilots[name].ask('hands', {'sticks': sticks})

    def armed(frame):
        return frame['mode']['switches']['arm'] is True

    for name, axis, quantity, part in (
        ('bluerov2', 0, 'velocity', 0),
        ('bluerov2_heavy', 5, 'rates', 2),
    ):
        pilot, still = pilots[name], [0.0] * 6
        pilot.until(lambda m: 'arm' not in m['frame']['mode']['unavailable'])
        pilot.ask('take', False)
        hold(name, still, lambda frame, mine: mine)
        pilot.ask('switch', {'name': 'arm', 'on': True})
        hold(name, still, lambda frame, mine: armed(frame))
        sticks = [float(i == axis) for i in range(6)]
        hold(name, sticks, lambda frame, mine, q=quantity, i=part: frame[q][i] > 0.1)
    other = pilots['bluerov2'].newest()['frame']
    assert abs(other['rates'][2]) < 0.1
    instructors['bluerov2'].ask('fault', {'kind': 'dead', 'thruster': 'thruster_1'})
    instructors['bluerov2'].until(lambda m: m['frame']['mode']['faults'])
    assert pilots['bluerov2_heavy'].newest()['frame']['mode']['faults'] == []
