# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MAVLink over WebSocket and REST: JSON of every message, and a client of mavlink2rest."""

import asyncio
import json
import socket
import time
import urllib.error
import urllib.request

import pytest
from graph import ONE_PROCESS
from hypothesis import given
from hypothesis import strategies as st
from processor import PATIENCE

from marine_sim_ros.autopilot.mavlink.json_messages import json_of_message, message_from_json
from marine_sim_ros.autopilot.mavlink.mavlink2rest import RestServer, filter_pattern
from marine_sim_ros.core.errors import ParameterError

dialect = pytest.importorskip('pymavlink.dialects.v20.ardupilotmega')
aiohttp = pytest.importorskip('aiohttp')


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def test_every_message_comes_back_from_json():
    sender = dialect.MAVLink(None, srcSystem=7, srcComponent=3)
    parser = dialect.MAVLink(None)
    for kind in dialect.mavlink_map.values():
        empty, _, _ = message_from_json({'message': {'type': kind.msgname}}, dialect)
        values = [
            b'Ab' if isinstance(v, bytes | str) else [1] * len(v) if isinstance(v, list) else 1
            for v in (getattr(empty, name) for name in empty.fieldnames)
        ]
        (message,) = parser.parse_buffer(kind(*values).pack(sender))
        told = json.loads(json.dumps(json_of_message(message, dialect)))
        assert told['header']['system_id'] == 7
        back, system, component = message_from_json(told, dialect)
        assert (system, component) == (7, 3)
        assert back.pack(sender)[10:-2] == message.get_msgbuf()[10:-2], kind.msgname


def test_a_heartbeat_is_written_as_mavlink2rest_does():
    beat = dialect.MAVLink_heartbeat_message(12, 3, 0x80 | 1, 19, 4, 3)
    beat.pack(dialect.MAVLink(None, srcSystem=1, srcComponent=1))
    # As in the README of mavlink2rest, with the flags that Cockpit reads.
    assert json_of_message(beat, dialect) == {
        'header': {'system_id': 1, 'component_id': 1, 'sequence': 0},
        'message': {
            'type': 'HEARTBEAT',
            'mavtype': {'type': 'MAV_TYPE_SUBMARINE'},
            'autopilot': {'type': 'MAV_AUTOPILOT_ARDUPILOTMEGA'},
            'base_mode': {'bits': 129},
            'custom_mode': 19,
            'system_status': {'type': 'MAV_STATE_ACTIVE'},
            'mavlink_version': 3,
        },
    }
    text = dialect.MAVLink_statustext_message(4, b'armed')
    text.pack(dialect.MAVLink(None))
    fields = json_of_message(text, dialect)['message']
    assert ''.join(fields['text']).rstrip('\0') == 'armed'
    assert len(fields['text']) == 50
    assert fields['severity'] == {'type': 'MAV_SEVERITY_WARNING'}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)


@given(
    st.sampled_from(['HEARTBEAT', 'COMMAND_LONG', 'PARAM_SET', 'STATUSTEXT', 'nothing']),
    st.dictionaries(
        st.sampled_from(['mavtype', 'param_id', 'text', 'command', 'base_mode', 'param1']), JUNK
    ),
    JUNK,
)
def test_any_json_is_a_message_or_one_reason(name, fields, header):
    try:
        message, _, _ = message_from_json(
            {'header': header, 'message': fields | {'type': name}}, dialect
        )
    except ValueError:
        return
    assert message.get_type() == name


@pytest.mark.parametrize(
    ('text', 'names'),
    [
        ('.*', ['HEARTBEAT', 'ATTITUDE', 'VFR_HUD']),
        ('', ['HEARTBEAT', 'ATTITUDE', 'VFR_HUD']),
        ('HEARTBEAT|ATTITUDE', ['HEARTBEAT', 'ATTITUDE']),
        ('^(HEART.*)$', None),
        ('(^HEART.*$|HUD)', ['HEARTBEAT', 'VFR_HUD']),
        ('(.*)*X', None),
        ('([A-Z]+)+$', None),
        ('.*A.*B.*C.*', None),
        ('A|' * 2000, None),
    ],
)
def test_a_filter_is_one_of_names_that_takes_no_time(text, names):
    pattern = filter_pattern(text)
    if names is None:
        assert pattern is None
        return
    assert [n for n in ('HEARTBEAT', 'ATTITUDE', 'VFR_HUD') if pattern.search(n)] == names


class Vehicle:
    """The vehicle's end: a UDP socket that sends to the ground station."""

    def __init__(self, port):
        self.link = dialect.MAVLink(None, srcSystem=1, srcComponent=1)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(('127.0.0.1', port))
        self.socket.settimeout(5.0)
        self.parser = dialect.MAVLink(None)

    def send(self, message):
        self.socket.send(message.pack(self.link))

    def receive(self):
        return self.parser.parse_buffer(self.socket.recv(2048))[0]


@pytest.fixture
def served():
    http, udp = free_port(socket.SOCK_STREAM), free_port(socket.SOCK_DGRAM)
    server = RestServer(('127.0.0.1', http), ('127.0.0.1', udp), 'rov')
    vehicle = Vehicle(udp)
    yield f'http://127.0.0.1:{http}', vehicle
    vehicle.socket.close()
    server.close()


def test_a_client_reads_and_commands_the_vehicle(served):
    url, vehicle = served
    beat = dialect.MAVLink_heartbeat_message(12, 3, 1, 19, 4, 3)
    arm = {
        'header': {'system_id': 255, 'component_id': 240, 'sequence': 0},
        'message': {
            'type': 'COMMAND_LONG', 'param1': 1.0, 'target_system': 1, 'target_component': 1,
            'command': {'type': 'MAV_CMD_COMPONENT_ARM_DISARM'}, 'confirmation': 0,
        },
    }  # fmt: skip

    async def talk():
        async with aiohttp.ClientSession() as session:
            socket_ = await session.ws_connect(f'{url}/mavlink2rest/ws/mavlink?filter=HEART')
            vehicle.send(dialect.MAVLink_attitude_message(0, 0.1, 0.2, 0.3, 0, 0, 0))
            vehicle.send(beat)
            heard = json.loads((await socket_.receive(5)).data)
            assert heard['message']['type'] == 'HEARTBEAT'
            await socket_.send_str(json.dumps(arm))
            assert vehicle.receive().command == dialect.MAV_CMD_COMPONENT_ARM_DISARM
            await socket_.send_str('{"no": 1}')
            assert 'expected' in json.loads((await socket_.receive(5)).data)['error']
            path = 'vehicles/1/components/1/messages/ATTITUDE/message/pitch'
            for start in ('/v1', '/mavlink2rest/v1', '/mavlink2rest'):
                async with session.get(f'{url}{start}/mavlink/{path}') as reply:
                    assert await reply.json() == pytest.approx(0.2, abs=1e-6)
                    assert reply.headers['Access-Control-Allow-Origin'] == '*'
            async with session.get(f'{url}/v1/mavlink/vehicles/1/nothing') as reply:
                assert await reply.text() == 'None'
            async with session.post(f'{url}/v1/mavlink', json=arm) as reply:
                assert reply.status == 200
            received = vehicle.receive()
            assert (received.get_srcSystem(), received.get_srcComponent()) == (255, 240)
            assert received.param1 == 1.0
            async with session.post(f'{url}/v1/mavlink', data='{') as reply:
                assert reply.status == 404
            name = f'{url}/v1/helper/mavlink?name=COMMAND_LONG'
            async with session.get(name) as reply:
                assert (await reply.json())['message']['type'] == 'COMMAND_LONG'
            async with session.get(f'{url}/status') as reply:
                assert reply.status == 200
            stored = {'a': [1, 2]}
            async with session.post(f'{url}/bag/v1.0/set/cockpit/x', json=stored) as reply:
                assert reply.status == 200
            async with session.get(f'{url}/bag/v1.0/get/cockpit/x') as reply:
                assert await reply.json() == stored
            deep = f'{url}/bag/v1.0/set/' + 'x/' * 1000
            async with session.post(deep, json=stored) as reply:
                assert reply.status == 400
            async with session.get(f'{url}/bag/v1.0/get/cockpit/y') as reply:
                assert (await reply.json())['detail'] == 'Invalid path'

    asyncio.run(talk())


def test_slow_and_lost_clients_and_garbage_stop_nobody(served):
    url, vehicle = served

    async def talk():
        async with aiohttp.ClientSession() as session:
            for _ in range(20):  # gone without a word
                one = await session.ws_connect(f'{url}/ws/mavlink')
                await one.close()
            await session.ws_connect(f'{url}/ws/mavlink')  # never reads
            reader = await session.ws_connect(f'{url}/ws/mavlink?filter=STATUSTEXT')
            vehicle.socket.send(b'\xfd garbage')
            for k in range(3000):
                vehicle.send(dialect.MAVLink_attitude_message(k, 0, 0, 0, 0, 0, 0))
            await asyncio.sleep(0.5)
            vehicle.send(dialect.MAVLink_statustext_message(6, b'still here'))
            assert 'STATUSTEXT' in (await reader.receive(5)).data

    asyncio.run(talk())


def test_a_command_goes_to_the_vehicle_that_it_names(served):
    url, first = served
    port = first.socket.getpeername()[1]
    second = Vehicle(port)
    second.link.srcSystem = 2
    beat = dialect.MAVLink_heartbeat_message(12, 3, 1, 19, 4, 3)

    async def talk():
        async with aiohttp.ClientSession() as session:
            reader = await session.ws_connect(f'{url}/ws/mavlink')
            for vehicle in (second, first):
                vehicle.send(beat)
                await reader.receive(5)
            for system in (2, 1, 0):
                message = {'type': 'PARAM_REQUEST_LIST', 'target_system': system}
                await reader.send_str(json.dumps({'message': message}))
            await reader.send_str(json.dumps({'message': {'type': 'MANUAL_CONTROL', 'target': 2}}))
            kinds = [second.receive(), second.receive(), second.receive()]
            assert [m.get_type() for m in kinds] == [
                'PARAM_REQUEST_LIST', 'PARAM_REQUEST_LIST', 'MANUAL_CONTROL',
            ]  # fmt: skip
            assert [m.target_system for m in kinds[:2]] == [2, 0]
            assert [first.receive().target_system for _ in range(2)] == [1, 0]
            first.socket.settimeout(0.3)
            with pytest.raises(TimeoutError):
                first.receive()

    asyncio.run(talk())
    second.socket.close()


def test_a_command_goes_to_the_component_that_it_names(served):
    """A camera beside a firmware has its system and an address of its own."""
    url, firmware = served
    camera = Vehicle(firmware.socket.getpeername()[1])
    camera.link.srcComponent = 100
    beat = dialect.MAVLink_heartbeat_message(12, 3, 1, 19, 4, 3)

    async def talk():
        async with aiohttp.ClientSession() as session:
            reader = await session.ws_connect(f'{url}/ws/mavlink')
            for sender in (firmware, camera):  # the camera speaks last
                sender.send(beat)
                await reader.receive(5)
            for component in (1, 100, 0):
                message = {'type': 'PARAM_REQUEST_LIST', 'target_system': 1}
                message['target_component'] = component
                await reader.send_str(json.dumps({'message': message}))
            for sender, expected in ((firmware, [1, 0]), (camera, [100, 0])):
                assert [sender.receive().target_component for _ in expected] == expected

    asyncio.run(talk())
    camera.socket.close()


def test_a_port_that_is_taken_is_one_line():
    port = free_port(socket.SOCK_STREAM)
    with socket.socket() as other:
        other.bind(('127.0.0.1', port))
        other.listen()
        with pytest.raises(ParameterError, match=f'TCP 127.0.0.1:{port}: .*; expected a free'):
            RestServer(('127.0.0.1', port), ('127.0.0.1', free_port(socket.SOCK_DGRAM)), 'rov')


def test_it_costs_less_than_two_percent_of_a_core(served):
    _, vehicle = served
    rate = 200  # messages per second of a vehicle, with margin
    content = [dialect.MAVLink_attitude_message(0, 0.1, 0.2, 0.3, 0, 0, 0).pack(vehicle.link)]
    server = RestServer(
        ('127.0.0.1', free_port(socket.SOCK_STREAM)),
        ('127.0.0.1', free_port(socket.SOCK_DGRAM)), 'rov',
    )  # fmt: skip
    begun = time.thread_time()
    for _ in range(200):
        list(server.take_datagram(bytearray(content[0]), ('127.0.0.1', 9)))
    spent = (time.thread_time() - begun) / 200
    server.close()
    assert spent * rate < 0.1, spent


@pytest.mark.parametrize('path', ['mavlink2rest/mavlink', 'bag/v1.0/set/a'])
@pytest.mark.parametrize(
    ('content', 'charset'),
    [(b'\xff\xfe', 'utf-8'), (b'{"a": ', 'no-such'), (b'[' * 5000, 'utf-8'), (b'', '\x00')],
)
def test_what_is_no_text_is_refused(served, path, content, charset):
    url, _ = served
    head = {'Content-Type': f'application/json; charset={charset}'}
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(urllib.request.Request(f'{url}/{path}', content, head), timeout=5.0)
    assert refusal.value.code in (400, 404)
    refusal.value.close()


def test_garbage_takes_nothing_of_the_next_datagram(served):
    url, vehicle = served
    for data in (b'\xfd\xff', b'\xfe', bytes(40), b'\xfd\xff\x00' + bytes(9)):
        vehicle.socket.send(data)
        vehicle.send(dialect.MAVLink_system_time_message(0, 7))
    path = '/mavlink2rest/mavlink/vehicles/1/components/1/messages/SYSTEM_TIME/status/time/counter'
    deadline, count = time.monotonic() + PATIENCE, ''
    while count != '4':
        assert time.monotonic() < deadline, count
        with urllib.request.urlopen(url + path, timeout=PATIENCE) as reply:
            count = reply.read().decode()


class Rest:
    """A client of REST, over one vehicle."""

    def __init__(self, port):
        self.url = f'http://127.0.0.1:{port}/mavlink2rest/v1/mavlink'

    def post(self, **message):
        header = {'system_id': 255, 'component_id': 240}
        content = json.dumps({'header': header, 'message': message}).encode()
        urllib.request.urlopen(self.url, content, 5.0).close()

    def read(self, name):
        """Return the latest message of a name; None where it is not there."""
        try:
            path = f'{self.url}/vehicles/1/components/1/messages/{name}/message'
            with urllib.request.urlopen(path, timeout=5.0) as reply:
                text = reply.read().decode()
        except OSError:
            return None
        return None if text == 'None' else json.loads(text)

    def until(self, condition, **message):
        """Send a message again and again until a condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline
            if message:
                self.post(**message)
            time.sleep(0.1)


@pytest.mark.ros
def test_a_run_is_armed_and_read_over_rest(processes):
    http, udp = free_port(socket.SOCK_STREAM), free_port(socket.SOCK_DGRAM)
    processes.marine_sim(
        'run', 'bluerov2', '--autopilot', 'mavlink', '--blueos', f'127.0.0.1:{http}',
        '--ground-station', f'127.0.0.1:{udp}', *ONE_PROCESS,
    )  # fmt: skip
    rest, own = Rest(http), {'target_system': 1, 'target_component': 1}
    rest.until(lambda: rest.read('AHRS2') and rest.read('HEARTBEAT'))
    arm = {
        'type': 'COMMAND_LONG',
        'command': {'type': 'MAV_CMD_COMPONENT_ARM_DISARM'},
        'param1': 1,
    }
    rest.until(lambda: rest.read('HEARTBEAT')['base_mode']['bits'] & 128, **arm, **own)
    rest.until(lambda: rest.read('MISSION_COUNT'), type='MISSION_REQUEST_LIST', **own)
    dive = {'type': 'MANUAL_CONTROL', 'target': 1, 'z': 200}
    rest.until(lambda: rest.read('AHRS2')['altitude'] < -0.5, **dive)
