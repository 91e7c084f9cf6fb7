# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""UBX of a GPS receiver, read by pyubx2; settings, garbage and halves of messages."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import has
from hypothesis import given
from hypothesis import strategies as st
from test_instruments import TcpClient, served

from marine_sim_ros.instruments.instrument import InstrumentReading, ProtocolError
from marine_sim_ros.instruments.ubx import UbxReceiver, frame, navigation_solution

pyubx2 = pytest.importorskip('pyubx2')
needs_gps = pytest.mark.skipif(not has('pymap3d'), reason='a GPS receiver needs pymap3d')
SPEC = SimpleNamespace(
    horizontal_noise=1.5, horizontal_wander=2.0, vertical_noise=3.0, vertical_wander=4.0,
    velocity_noise=0.05,
)  # fmt: skip


def parsed(data):
    return pyubx2.UBXReader.parse(data)


@needs_gps
def test_the_receiver_says_where_it_is_and_how_it_moves():
    with served('ubx', 'gps') as rig:
        client = TcpClient(rig)
        sent = rig.read(position=(10.0, 20.0, 0.1), velocity=(1.0, 0.5, 0.0))
        found = parsed(client.file.read(100))
        client.close()
    latitude, longitude, altitude = sent.readings['geodetic']
    assert (found.identity, found.fixType, found.gnssFixOk) == ('NAV-PVT', 3, 1)
    assert found.lat == pytest.approx(latitude, abs=5.1e-8)
    assert found.lon == pytest.approx(longitude, abs=5.1e-8)
    assert found.height / 1e3 == pytest.approx(altitude, abs=5.1e-4)
    east, north, up = sent.readings['velocity']
    for value, wanted in ((found.velE, east), (found.velN, north), (found.velD, -up)):
        assert value / 1e3 == pytest.approx(wanted, abs=5.1e-4)
    assert found.gSpeed / 1e3 == pytest.approx(math.hypot(east, north), abs=1e-3)


@given(
    st.floats(-90, 90), st.floats(-180, 180), st.floats(-500, 9000),
    st.floats(-50, 50), st.floats(-50, 50), st.integers(0, 4 * 10**18),
)  # fmt: skip
def test_any_place_speed_and_time_is_read_back(latitude, longitude, altitude, east, north, stamp):
    readings = {
        'geodetic': np.array([latitude, longitude, altitude]),
        'velocity': np.array([east, north, 0.0]),
    }
    sensor = SimpleNamespace(spec=SPEC)
    found = parsed(navigation_solution(InstrumentReading(stamp, stamp, readings, sensor)))
    assert abs(found.lat - latitude) <= 5.1e-8
    assert abs(found.lon - longitude) <= 5.1e-8
    assert abs(found.hMSL / 1e3 - altitude) <= 5.1e-4
    assert 0 <= found.headMot < 360
    assert (found.hAcc, found.vAcc, found.sAcc) == (2500, 5000, 50)
    # The time of the week is that of the date.
    seconds = round(stamp / 1e6) / 1e3
    day = (int(seconds // 86_400) + 4) % 7  # 1970-01-01 was a Thursday, 4 days after Sunday
    assert found.iTOW == round((day * 86_400 + seconds % 86_400) * 1e3)
    clock = found.hour * 3600 + found.min * 60 + found.second + found.nano / 1e9
    assert clock == pytest.approx(seconds % 86_400, abs=1e-3)


@needs_gps
def test_settings_are_acknowledged_and_the_version_is_told():
    with served('ubx', 'gps') as rig:
        client = TcpClient(rig)
        setting = pyubx2.UBXMessage('CFG', 'CFG-RATE', pyubx2.SET, measRate=200, navRate=1)
        poll = pyubx2.UBXMessage('CFG', 'CFG-RATE', pyubx2.POLL)
        version = pyubx2.UBXMessage('MON', 'MON-VER', pyubx2.POLL)
        for message in (setting, poll, version):
            data = message.serialize()
            client.socket.sendall(b'\xff' + data[:5])  # in two parts, after garbage
            client.socket.sendall(data[5:])
        reader = pyubx2.UBXReader(client.file)
        found = [reader.read()[1] for _ in range(3)]
        client.close()
        assert rig.refused == []
    assert [m.identity for m in found] == ['ACK-ACK', 'ACK-NAK', 'MON-VER']
    assert (found[0].clsID, found[0].msgID) == (6, 8)
    assert found[2].swVersion.rstrip(b'\x00') == b'marine_sim_ros'
    assert found[2].extension_01.rstrip(b'\x00') == b'PROTVER=18.00'


@needs_gps
def test_a_serial_port_answers_polls_and_sends_fixes(tmp_path):
    serial, path = pytest.importorskip('serial'), str(tmp_path / 'gps')
    with served('ubx', 'gps', 'shallow_sand', path) as rig, serial.Serial(path, timeout=20) as one:
        one.write(pyubx2.UBXMessage('MON', 'MON-VER', pyubx2.POLL).serialize())
        reader = pyubx2.UBXReader(one)
        assert reader.read()[1].identity == 'MON-VER'
        sent = rig.read(position=(10.0, 20.0, 0.1))
        found = reader.read()[1]
        assert found.lat == pytest.approx(sent.readings['geodetic'][0], abs=5.1e-8)
        assert rig.refused == []


@given(st.lists(st.one_of(st.binary(max_size=12), st.just(frame((6, 8), b'\x01' * 6)))))
def test_garbage_between_messages_is_left_out(parts):
    answers, refused = [], 0
    client = SimpleNamespace(received=bytearray(b''.join(parts)), send=answers.append)
    instrument = UbxReceiver(None)
    more = True
    while more:
        try:
            more = instrument.receive(client)
        except ProtocolError:
            refused += 1
    assert set(answers) <= {frame((5, 1), b'\x06\x08')} | {
        frame((5, e), bytes((6, n))) for e in (0, 1) for n in range(256)
    }
    assert refused <= len(b''.join(parts))
