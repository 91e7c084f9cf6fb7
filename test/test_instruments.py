# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Instruments that speak the wire protocols of real ones: sockets, clients, reports, commands."""

import json
import math
import os
import select
import socket
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from conftest import examples, has, vehicle_of
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.instruments import server as server_module
from marine_sim_ros.instruments.instrument import InstrumentReading, ProtocolError
from marine_sim_ros.instruments.server import InstrumentServer
from marine_sim_ros.instruments.water_linked import dead_reckoning_report, velocity_report
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sensors import SensorInputs
from marine_sim_ros.sensors.addresses import ProtocolAddress, read_protocol, shift_addresses
from marine_sim_ros.sensors.series import SensorReader
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.options import RunOptions

SECOND = 10**9
WAIT = 20.0
"""s in which something happens."""


class Rig:
    """A sensor of a BlueROV2, the server of its instrument, and what was refused."""

    def __init__(self, protocol, name, environment='shallow_sand', path=''):
        vehicle = vehicle_of('bluerov2', **{name: 'true'})
        self.sensor = next(s for s in vehicle.sensors if s.name == name)
        self.reader = SensorReader(self.sensor, 3)
        self.environment = load_environment(environment)
        self.refused = []
        # Port 0: a free one.
        address = ProtocolAddress(name, protocol, '' if path else '127.0.0.1', 0, path)
        self.server = InstrumentServer(self.sensor, address, self.refused.append)
        self.address = '127.0.0.1', self.server.address.port
        self.stamp = 0

    def read(self, position=(1.0, 2.0, -6.0), rpy=(0.0, 0.0, 0.3), velocity=(0.5, 0.2, -0.1)):
        """Take the next reading, and hand it to the instrument as the node does."""
        self.stamp += self.sensor.period
        while self.server.instrument.changes:
            self.server.instrument.changes.popleft()(self.reader)
        nu = np.array([*velocity, 0.0, 0.0, 0.0])
        state = State(np.array(position), quaternion_from_rpy(*rpy), nu)
        time_now = self.stamp / SECOND
        _, readings = self.reader.read(
            self.stamp, state, self.environment.at(time_now), SensorInputs.none(time_now), ()
        )
        reading = InstrumentReading(
            self.stamp, self.stamp + self.sensor.latency, readings, self.reader.sensor
        )
        self.server.report(reading)
        return reading

    def wait(self, condition):
        deadline = time.monotonic() + WAIT
        while not condition():
            assert time.monotonic() < deadline, self.refused
            time.sleep(0.005)


@contextmanager
def served(*arguments):
    rig = Rig(*arguments)
    try:
        yield rig
    finally:
        rig.server.close()


@pytest.fixture
def dvl():
    with served('water_linked', 'dvl') as rig:
        yield rig


class TcpClient:
    def __init__(self, rig, buffer=0):
        self.socket = socket.socket()
        self.socket.settimeout(WAIT)
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect(rig.address)
        self.file = self.socket.makefile('rb')
        rig.wait(lambda: any(c.name.endswith(f':{self.port}') for c in clients(rig)))

    @property
    def port(self):
        return self.socket.getsockname()[1]

    def line(self):
        return json.loads(self.file.readline())

    def ask(self, name, **more):
        """Return the response to a command; without a line's end, as drivers send it."""
        self.socket.sendall(json.dumps({'command': name, **more}).encode())
        while (found := self.line())['type'] != 'response':
            pass
        assert found['response_to'] == name
        assert found['success'] == (not found['error_message'])
        return found

    def close(self):
        self.file.close()
        self.socket.close()


def clients(rig):
    return list(rig.server.instrument.clients)


# Addresses.


def test_an_address_is_the_instruments_own_on_this_machine_unless_given():
    found = read_protocol('dvl=water_linked')
    assert found == ('dvl', 'water_linked', '127.0.0.1', 16171, '')
    assert read_protocol('dvl=water_linked@0.0.0.0:80')[2:4] == ('0.0.0.0', 80)
    assert read_protocol(str(found)) == found
    assert shift_addresses(['dvl=water_linked'], 1) == ('dvl=water_linked@127.0.0.1:16181',)


def test_a_serial_port_is_a_path_and_a_fleet_numbers_them(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = read_protocol('gps=nmea@pty:ports/gps')
    assert found == ('gps', 'nmea', '', 0, str(tmp_path / 'ports' / 'gps'))
    assert read_protocol(str(found)) == found
    assert shift_addresses([str(found)], 2) == (f'gps=nmea@pty:{tmp_path}/ports/gps_3',)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('gps=nmea@pty:', 'as in gps=nmea@pty:/tmp/gps'),
        ('dvl=water_linked@pty:/tmp/dvl', 'water_linked has no serial port here; expected'),
        ('dvl', 'expected SENSOR=PROTOCOL'),
        ('=water_linked', 'expected SENSOR=PROTOCOL'),
        ('dvl=waterlinked', 'did you mean .water_linked'),
        ('dvl=water_linked@16171', 'expected SENSOR=PROTOCOL'),
        ('dvl=water_linked@a:0', 'a port from 1 to 65535'),
        ('dvl=water_linked@a:70000', 'a port from 1 to 65535'),
        ('imu=water_linked', 'imu is of type imu; expected a sensor of type dvl'),
        ('sonar=water_linked', "bluerov2 has no sensor 'sonar'; "),
    ],
)
def test_a_wrong_protocol_is_one_line(text, expected):
    options = RunOptions(vehicle_arguments=('dvl:=true',), protocol=(text,))
    with pytest.raises(ParameterError, match=expected):
        node_specs(options)


def test_two_instruments_need_two_ports():
    one = 'dvl=water_linked'
    options = RunOptions(vehicle_arguments=('dvl:=true',), protocol=(one, one))
    with pytest.raises(ParameterError, match=r'a port of its own, as in .*:16172'):
        node_specs(options)


def test_the_topics_of_a_driver_need_its_sensor():
    options = RunOptions(vehicle_arguments=('dvl:=true',), topics=('waterlinked',) * 2)
    told = {
        s.name: s.parameters['topics'] for s in node_specs(options) if 'topics' in s.parameters
    }
    assert told == {'sensors': ['waterlinked']}
    with pytest.raises(ParameterError, match=r'bluerov2 has no sensor of that .* type dvl, as of'):
        node_specs(RunOptions(topics=('waterlinked',)))
    with pytest.raises(ParameterError, match='expected'):
        RunOptions(topics=('water_linked',))


def test_the_node_of_the_sensor_gets_the_address_and_a_fleet_ports_of_its_own(tmp_path):
    options = RunOptions(vehicle_arguments=('dvl:=true',), protocol=('dvl=water_linked',))
    told = {
        s.name: s.parameters['protocol'] for s in node_specs(options) if 'protocol' in s.parameters
    }
    assert told == {'sensors': ['dvl=water_linked@127.0.0.1:16171']}
    path = tmp_path / 'two.yaml'
    path.write_text(
        'vehicles:\n'
        + ''.join(
            f'  - {{name: {n}, vehicle: bluerov2, arguments: {{dvl: true}}}}\n' for n in 'ab'
        )
    )
    runs = fleet_runs(FLEETS.load(str(path)), RunOptions(protocol=('dvl=water_linked',)))
    assert [read_protocol(*run.protocol).port for run in runs] == [16171, 16181]
    with pytest.raises(ParameterError, match='up to 65535'):
        shift_addresses(['dvl=water_linked@127.0.0.1:65530'], 1)


def test_a_port_that_is_taken_is_one_line(dvl):
    address = ProtocolAddress('dvl', 'water_linked', *dvl.address)
    with pytest.raises(ParameterError, match=r'cannot listen on TCP .*; expected a free port'):
        InstrumentServer(dvl.sensor, address, print)


# Sockets: what clients do wrong.


def test_clients_come_and_go(dvl):
    first, second = TcpClient(dvl), TcpClient(dvl)
    sent = dvl.read()
    for client in (first, second):
        assert client.line()['time_of_validity'] == sent.stamp // 1000
        assert client.line()['type'] == 'position_local'
    first.close()
    dvl.wait(lambda: len(clients(dvl)) == 1)
    dvl.read()
    assert second.line()['type'] == 'velocity'
    again = TcpClient(dvl)
    assert again.ask('get_config')['success']
    again.close()
    second.close()
    dvl.wait(lambda: not clients(dvl))
    assert dvl.refused == []


def test_too_many_clients_are_refused(dvl):
    held = [TcpClient(dvl) for _ in range(server_module.MAX_CLIENTS)]
    with socket.create_connection(dvl.address, timeout=WAIT) as more:
        assert more.recv(1) == b''
    dvl.wait(lambda: dvl.refused)
    assert 'expected at most 8 clients' in dvl.refused[0]
    assert held[0].ask('get_config')['success']
    for client in held:
        client.close()


def test_a_slow_reader_misses_whole_messages_and_holds_up_nobody(dvl, monkeypatch):
    monkeypatch.setattr(server_module, 'MAX_OUTPUT', 8192)
    slow, quick = TcpClient(dvl, 2048), TcpClient(dvl)
    longest = 0.0
    while not dvl.refused:
        began = time.perf_counter()
        dvl.read()
        longest = max(longest, time.perf_counter() - began)
        assert quick.line()['type'] == 'velocity'
        assert quick.line()['type'] == 'position_local'
        assert dvl.stamp < 20_000 * SECOND
    assert 'reads too slowly' in dvl.refused[0]
    assert longest < WAIT
    # Each of the lines that it gets is a whole one.
    slow.socket.settimeout(0.5)
    count = 0
    try:
        while True:
            assert slow.line()['type'] in ('velocity', 'position_local')
            count += 1
    except TimeoutError:
        assert count > 8
    slow.close()
    quick.close()


def test_a_flood_takes_a_bounded_part_of_a_processor(dvl):
    flood, client = TcpClient(dvl), TcpClient(dvl)
    flood.socket.setblocking(False)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        select.select([], [flood.socket], [], 0.1)
        try:
            flood.socket.send(b'{"a":1}\n' * 500)
        except BlockingIOError:
            continue
    assert any('messages a second; the rest waits' in text for text in dvl.refused)
    dvl.read()
    assert client.line()['type'] == 'velocity'
    flood.close()
    client.close()


@pytest.mark.parametrize(
    'data',
    [
        b'GET / HTTP/1.1\r\nHost: a\r\n\r\n', b'\x00\xff\xfe\n', b'{"command":\n', b'[1]\n',
        b'{"command": 5}\n', b'{"a":' + b'[' * 3000 + b'\n', b'"x"\n', b'{}\n', b'nan\n',
    ],
)  # fmt: skip
def test_garbage_is_one_line_and_the_next_command_is_answered(dvl, data):
    client = TcpClient(dvl)
    client.socket.sendall(data)
    dvl.wait(lambda: dvl.refused)
    assert all('\n' not in text.replace('\\n', '') for text in dvl.refused)
    assert 'expected' in dvl.refused[0]
    # What was half a line belongs to the garbage.
    client.socket.sendall(b'\n')
    assert client.ask('get_config')['success']
    client.close()


def test_an_endless_message_is_ignored(dvl):
    client = TcpClient(dvl)
    client.socket.sendall(b'{"command":"' + b'x' * 9000)
    dvl.wait(lambda: dvl.refused)
    assert 'bytes that are no message' in dvl.refused[0]
    client.socket.sendall(b'"}\n')
    assert client.ask('get_config')['success']
    client.close()


class Memory:
    """A client that keeps what it is sent."""

    def __init__(self):
        self.received, self.sent = bytearray(), []

    def send(self, data):
        self.sent.append(data)


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=80),
            st.sampled_from(
                [b'{', b'}', b'"', b'{"command":"get_config"}', b'\n', b'{"command":']
            ),
        ),
        max_size=12,
    )
)
def test_no_bytes_break_the_dvl(chunks):
    instrument = PROTOCOLS['water_linked'].instrument(None)
    client, refused = Memory(), []
    for chunk in chunks:
        client.received += chunk
        for _ in range(200):
            before = bytes(client.received)
            try:
                instrument.receive(client)
            except ProtocolError as error:
                refused.append(str(error))
            if bytes(client.received) == before:
                break
            assert len(client.received) < len(before)
    assert all('expected' in text for text in refused)
    assert all(json.loads(data)['type'] == 'response' for data in client.sent)


# Serial ports.


@pytest.fixture
def port(tmp_path):
    """Name of a serial port."""
    return str(tmp_path / 'port')


@contextmanager
def opened(rig, path):
    """A program's serial port, open at both ends."""
    serial = pytest.importorskip('serial')
    with serial.Serial(path, 9600, timeout=WAIT) as one:
        rig.wait(lambda: clients(rig))
        yield one


def test_a_serial_port_serves_one_program_after_the_other(port):
    with served('nmea', 'altimeter', 'shallow_sand', port) as rig:
        assert rig.read().stamp  # nobody reads it
        for _ in range(3):
            with opened(rig, port) as one:
                sent = rig.read()
                line = one.readline()
                assert line == f'$SDDPT,{sent.readings["range"]:.3f},0.0,30*'.encode() + line[-4:]
                assert one.readline().startswith(b'$SDDBT')
                rig.read()  # nobody will read it
            rig.wait(lambda: not clients(rig))
        assert rig.refused == []
    assert not os.path.lexists(port)


def test_a_slow_reader_of_a_serial_port_misses_whole_messages(port, monkeypatch):
    monkeypatch.setattr(server_module, 'MAX_OUTPUT', 2048)
    with served('nmea', 'altimeter', 'shallow_sand', port) as rig, opened(rig, port) as one:
        reading = rig.read()
        while not rig.refused:
            rig.server.report(reading)
        assert 'reads too slowly' in rig.refused[0]
        for _ in range(60):
            assert one.readline().startswith((b'$SDDPT', b'$SDDBT'))


def test_a_flood_at_a_serial_port_is_bounded(port):
    with served('ping1d', 'altimeter', 'shallow_sand', port) as rig, opened(rig, port) as one:
        request = b'BR\x00\x00' + bytes([4, 0, 0, 0])  # of the device's information
        one.timeout = one.write_timeout = 0.2
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            with suppress(OSError):
                one.write((request + (sum(request)).to_bytes(2, 'little')) * 200)
            one.read(one.in_waiting)
        assert any('messages a second' in text for text in rig.refused)


def test_a_serial_port_takes_the_place_of_one_that_a_killed_run_left(port, tmp_path):
    os.symlink('/dev/pts/4294967295', port)
    with served('nmea', 'altimeter', 'shallow_sand', port) as rig, opened(rig, port) as one:
        rig.read()
        assert one.readline().startswith(b'$SDDPT')
    file = tmp_path / 'file'
    file.write_text('kept')
    for path in (file, tmp_path / 'none' / 'port'):
        with pytest.raises(ParameterError, match=r'cannot make the serial port: .*; expected a'):
            Rig('nmea', 'altimeter', 'shallow_sand', str(path))
    assert file.read_text() == 'kept'


@pytest.mark.parametrize(
    'data', [b'\x00\xff' * 40, b'BR\xff\xff' * 9, b'garbage\r\n', b'\x03\x04']
)
def test_garbage_at_a_serial_port_is_one_line_and_the_next_request_is_answered(port, data):
    brping = pytest.importorskip('brping')
    with served('ping1d', 'altimeter', 'shallow_sand', port) as rig:
        device = brping.Ping1D(brping.definitions.payload_dict_ping1d)
        device.connect_serial(port, 115200)
        device.iodev.write(data)
        rig.read()
        assert device.initialize()
        assert all('\n' not in text and 'expected' in text for text in rig.refused)
        device.iodev.close()


def test_blue_robotics_client_reads_distances_over_a_serial_port(port):
    brping = pytest.importorskip('brping')
    with served('ping1d', 'altimeter', 'shallow_sand', port) as rig:
        device = brping.Ping1D(brping.definitions.payload_dict_ping1d)
        device.connect_serial(port, 115200)
        assert device.initialize()
        for height in (-3.0, -5.0, -7.5):
            sent = rig.read(position=(1.0, 2.0, height))
            found = device.get_distance()
            assert abs(found['distance'] - 1000 * sent.readings['range']) <= 0.5
        device.iodev.close()
        assert rig.refused == []


def test_a_reader_of_nmea_reads_a_serial_port(port):
    pynmeagps = pytest.importorskip('pynmeagps')
    with served('nmea', 'altimeter', 'shallow_sand', port) as rig, opened(rig, port) as one:
        reader = pynmeagps.NMEAReader(one)
        for height in (-3.0, -5.0):
            sent = rig.read(position=(1.0, 2.0, height))
            _, found = reader.read()
            assert reader.read()[1].msgID == 'DBT'
            assert abs(found.depth - sent.readings['range']) <= 5.1e-4


# Any protocol, any bytes.

_SENSOR_OF = {
    'water_linked': 'dvl',
    'water_linked_modem': 'modem',
    'ping1d': 'altimeter',
    'ping360': 'scanning_sonar',
    'nmea': 'altimeter',
    'ubx': 'gps',
    'seatrac': 'usbl',
    'unet': 'modem',
}


def test_every_protocol_that_listens_is_tried():
    assert set(_SENSOR_OF) == {name for name in PROTOCOLS if not PROTOCOLS[name].sends_to}


@pytest.mark.parametrize('protocol', _SENSOR_OF)
@settings(max_examples=examples(60))
@given(
    chunks=st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from(
                [b'BR', b'\xb5\x62', b'wcq,8,', b'{"command":', b'$GPGGA,', b'\xff' * 70, b'\r\n']
            ),
        ),
        max_size=10,
    )
)
def test_no_bytes_break_an_instrument_and_all_are_read(protocol, chunks):
    kind = _SENSOR_OF[protocol]
    vehicle = vehicle_of('bluerov2', **{kind: 'true'})
    instrument = PROTOCOLS[protocol].instrument(next(s for s in vehicle.sensors if s.name == kind))
    client, refused = Memory(), []
    for chunk in chunks:
        client.received += chunk
        has_message = True
        for _ in range(1000):
            before = len(client.received)
            try:
                has_message = instrument.receive(client)
            except ProtocolError as error:
                refused.append(str(error))
                has_message = True
                assert len(client.received) < before  # or the server would ask for ever
            if not has_message:
                break
        assert not has_message
        assert len(client.received) <= len(b''.join(chunks))
    assert all(text and '\n' not in text for text in refused)


@pytest.mark.parametrize('protocol', _SENSOR_OF)
def test_readings_never_wait_for_a_client_that_floods_and_never_reads(protocol):
    kind = _SENSOR_OF[protocol]
    stream = PROTOCOLS[protocol].transport == 'tcp'
    if kind == 'gps' and not has('pymap3d'):
        pytest.skip('a GPS receiver needs pymap3d')
    with served(protocol, kind) as rig:
        with socket.socket(type=socket.SOCK_STREAM if stream else socket.SOCK_DGRAM) as one:
            one.connect(rig.address)
            one.setblocking(False)
            spent = 0.0
            for _ in range(200):
                with suppress(OSError):
                    one.send(b'\x00BR\xb5\x62wcv\n{"command":"get_config"}\n' * 20)
                before = time.thread_time()
                rig.server.report(None)  # a reading that fails: the instrument goes on
                spent += time.thread_time() - before
        assert spent < 0.1
        rig.wait(lambda: rig.refused)
        assert rig.server._thread.is_alive()


# Processor time.


@pytest.mark.parametrize(
    ('protocol', 'name'),
    [
        ('water_linked', 'dvl'),
        ('ping1d', 'altimeter'),
        ('ping360', 'scanning_sonar'),
        ('nmea', 'altimeter'),
        ('nmea', 'magnetometer'),
        ('nmea', 'gps'),
        ('ubx', 'gps'),
    ],
)
def test_an_instrument_takes_below_two_percent_of_a_core(protocol, name):
    if name == 'gps' and not has('pymap3d'):
        pytest.skip('a GPS receiver needs pymap3d')
    with served(protocol, name) as rig:
        height = 0.1 if name == 'gps' else -6.0
        readings = [rig.read(position=(1.0, 2.0, height)) for _ in range(5)]
        instrument = PROTOCOLS[protocol].instrument(rig.sensor)
        client = Memory()
        instrument.clients.append(client)
        best = math.inf
        for _ in range(20):
            before = time.thread_time()
            for reading in readings:
                instrument.report(reading)
            best = min(best, (time.thread_time() - before) / len(readings))
        assert rig.refused == []
        assert best * SECOND / rig.sensor.period < 0.02


# Water Linked DVL.


def test_a_velocity_report_says_what_the_sensor_read(dvl):
    client = TcpClient(dvl)
    dvl.read()
    client.line(), client.line()
    sent = dvl.read()
    found, readings = client.line(), sent.readings
    assert [found[n] for n in ('vx', 'vy', 'vz')] == readings['velocity'].tolist()
    assert found['altitude'] == float(readings['altitude'])
    assert found['fom'] == float(readings['figure_of_merit'])
    np.testing.assert_array_equal(np.ravel(found['covariance']), readings['covariance'])
    assert math.isclose(found['fom'], math.sqrt(np.trace(found['covariance'])))
    beams = found['transducers']
    assert [b['id'] for b in beams] == [0, 1, 2, 3]
    assert [b['distance'] for b in beams] == readings['range'].tolist()
    assert [b['velocity'] for b in beams] == readings['beam_velocity'].tolist()
    assert found['velocity_valid']
    assert all(b['beam_valid'] for b in beams)
    assert (found['time'], found['status'], found['format']) == (200.0, 0, 'json_v3.3')
    assert found['time_of_transmission'] - found['time_of_validity'] == 190_000
    # z is down in the instrument: rising, which is upwards, is negative.
    assert found['vz'] > 0 > found['vy']
    client.close()


def test_a_report_is_a_line_that_the_smallest_buffer_of_a_driver_takes(dvl):
    client = TcpClient(dvl)
    dvl.read(velocity=(-1 / 3, -2 / 3, -1 / 7))
    line = client.file.readline()
    assert line.endswith(b'}\r\n')
    assert len(line) < 2048  # libwaterlinked reads as much at most
    client.close()


def test_without_bottom_lock_the_report_is_the_documented_one(dvl):
    client = TcpClient(dvl)
    dvl.read(rpy=(math.pi, 0.0, 0.0))
    found = client.line()
    assert not found['velocity_valid']
    assert [found[n] for n in ('vx', 'vy', 'vz', 'altitude')] == [0, 0, 0, -1]
    assert found['fom'] == 3.75
    for beam in found['transducers']:
        assert (beam['velocity'], beam['distance'], beam['beam_valid']) == (0, -1, False)
    client.close()


def test_dead_reckoning_is_level_ahead_right_and_down(dvl):
    dvl.read(velocity=(0.0, 0.0, 0.0))
    for _ in range(5):  # 0.5 m/s ahead, 0.2 m/s to the left, 0.1 m/s down for a second
        sent = dvl.read()
    found = dead_reckoning_report(sent)
    x, y, z = sent.readings['position']
    assert [found[n] for n in 'xyz'] == [x, -y, -z]
    np.testing.assert_allclose([found[n] for n in 'xyz'], [0.45, -0.18, 0.09], atol=0.02)
    assert found['std'] == math.sqrt(sent.readings['position_variance'])
    assert found['ts'] == sent.stamp / 1e9
    # Turned to the right, nose down, right side down: all positive in axes with z down.
    sent = dvl.read(rpy=(0.1, -0.2, 0.3 - 0.4))
    angles = np.radians([dead_reckoning_report(sent)[n] for n in ('roll', 'pitch', 'yaw')])
    np.testing.assert_allclose(angles, [0.1, 0.2, 0.4], atol=1e-3)


def test_a_mounting_offset_turns_velocity_and_way_clockwise(dvl):
    dvl.read(velocity=(0.0, 0.0, 0.0))
    sent = dvl.read(velocity=(1.0, 0.0, 0.0))
    ahead = velocity_report(dvl.sensor, sent)
    offset = {'speed_of_sound': 1500.0, 'range_mode': 'auto', 'mounting_rotation_offset': 90.0}
    # A DVL that looks to the right of the vehicle and moves ahead: the vehicle goes to the right.
    turned = velocity_report(dvl.sensor, sent, offset)
    np.testing.assert_allclose(
        [turned['vx'], turned['vy'], turned['vz']], [-ahead['vy'], ahead['vx'], ahead['vz']],
        atol=1e-12,
    )  # fmt: skip
    way, straight = dead_reckoning_report(sent, offset), dead_reckoning_report(sent)
    np.testing.assert_allclose([way['x'], way['y']], [-straight['y'], straight['x']], atol=1e-12)
    assert math.isclose(way['yaw'], straight['yaw'], abs_tol=1e-9)


def test_configuration_is_read_set_and_checked(dvl):
    client = TcpClient(dvl)
    before = client.ask('get_config')['result']
    assert before == {
        'speed_of_sound': 1500.0, 'acoustic_enabled': True, 'dark_mode_enabled': False,
        'mounting_rotation_offset': 0.0, 'range_mode': 'auto', 'periodic_cycling_enabled': True,
    }  # fmt: skip
    client.ask('set_config', parameters={'speed_of_sound': 1425, 'dark_mode_enabled': True})
    after = client.ask('get_config')['result']
    assert after == {**before, 'speed_of_sound': 1425, 'dark_mode_enabled': True}
    # A DVL that believes in slower sound sees a shorter way.
    sent = dvl.read()
    found = client.line()
    assert math.isclose(found['altitude'], 0.95 * sent.readings['altitude'])
    assert math.isclose(found['vx'], 0.95 * sent.readings['velocity'][0])
    assert math.isclose(found['fom'], 0.95 * sent.readings['figure_of_merit'])
    for parameters, expected in [
        ({'speed_of_sound': 900}, 'expected 1000 to 2000'),
        ({'speed_of_sound': math.nan}, 'expected 1000 to 2000'),
        ({'speed_of_sound': True}, 'expected 1000 to 2000'),
        ({'acoustic_enabled': 1}, 'expected true or false'),
        ({'range_mode': 3}, 'expected a text'),
        ({'range_mode': '=5'}, 'expected auto, =a or a<=b'),
        ({'range_mode': '3<=1'}, 'expected auto, =a or a<=b'),
        ({'range_mode': 'wt'}, 'water tracking is not simulated'),
        ({'colour': 1}, 'expected speed_of_sound, acoustic_enabled'),
        (None, 'parameters are missing'),
    ]:
        answer = client.ask('set_config', parameters=parameters)
        assert not answer['success']
        assert expected in answer['error_message']
    assert client.ask('get_config')['result'] == after
    client.close()


def test_a_range_mode_limits_the_altitude(dvl):
    sent = dvl.read()  # 4 m above the ground
    settings = {'speed_of_sound': 1500.0, 'mounting_rotation_offset': 0.0}
    for mode, valid in [
        ('auto', True),
        ('=0', False),
        ('=2', True),
        ('0<=1', False),
        ('1<=4', True),
    ]:
        found = velocity_report(dvl.sensor, sent, {**settings, 'range_mode': mode})
        assert found['velocity_valid'] == valid, mode


def test_pings_can_be_triggered(dvl):
    client = TcpClient(dvl)
    client.ask('set_config', parameters={'acoustic_enabled': False})
    dvl.read()
    for _ in range(15):
        assert client.ask('trigger_ping')['success']
    assert '15 pings wait' in client.ask('trigger_ping')['error_message']
    stamps = [dvl.read().stamp // 1000 for _ in range(17)]
    got = [client.line() for _ in range(30)]
    assert [g['time_of_validity'] for g in got if g['type'] == 'velocity'] == stamps[:15]
    client.ask('set_config', parameters={'acoustic_enabled': True})
    client.close()


def test_a_reset_begins_dead_reckoning_anew_in_the_topic_too(dvl):
    client = TcpClient(dvl)
    for _ in range(5):
        sent = dvl.read()
    assert np.linalg.norm(sent.readings['position']) > 0.3
    assert client.ask('reset_dead_reckoning')['success']
    sent = dvl.read()
    assert np.linalg.norm(sent.readings['position']) == 0.0
    assert dead_reckoning_report(sent)['std'] == 0.0
    assert client.ask('calibrate_gyro')['success']
    assert client.ask('get_version_info')['result']['product_name'] == 'DVL A50'
    assert 'unknown or not simulated' in client.ask('set_time_ntp')['error_message']
    client.close()
