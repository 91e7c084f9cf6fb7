# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bags that speak the protocols of instruments, read by the clients of these."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from bags import header
from conftest import ROOT

from marine_sim_ros.tools.main import main

rosbags = pytest.importorskip('rosbags')
SECOND = 10**9
START = 1_700_000_000 * SECOND
"""ns; 2023-11-14 22:13:20 UTC, when the bag of this test was made."""
DEFINITIONS = {
    f'dvl_msgs/msg/{path.stem}': path.read_text(encoding='utf-8')
    for path in (ROOT / 'scripts' / 'messages' / 'dvl_msgs' / 'msg').glob('*.msg')
}


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return a bag of a real vehicle's drivers: DVL, GPS receiver, altimeter, AHRS."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    for name, text in DEFINITIONS.items():
        store.register(get_types_from_msg(text, name))
    types, path = store.types, tmp_path_factory.mktemp('real') / 'bag'
    vector = types['geometry_msgs/msg/Vector3']

    def dvl(stamp, i):
        beams = [
            types['dvl_msgs/msg/DVLBeam'](n, 0.1 * n, 5.0 + n, -30.0, -90.0, i != 3 or n > 0)
            for n in range(4)
        ]
        return types['dvl_msgs/msg/DVL'](
            header(types, stamp), 100.0, vector(0.1 * i, -0.2, 0.05), 0.01,
            np.diag([1e-5, 2e-5, 3e-5]).ravel(), 4.5, beams, i != 4, 0, stamp // 1000, 0,
            'json_v3.1',
        )  # fmt: skip

    def fix(stamp, i):
        status = types['sensor_msgs/msg/NavSatStatus'](-1 if i == 2 else 0, 1)
        return types['sensor_msgs/msg/NavSatFix'](
            header(types, stamp), status, 60.39 + 1e-5 * i, 5.32, 12.0,
            np.diag([4.0, 4.0, 9.0]).ravel(), 2,
        )  # fmt: skip

    def distance(stamp, i):
        return types['sensor_msgs/msg/Range'](
            header(types, stamp), 0, 0.5, 0.3, 100.0, np.inf if i == 1 else 3.0 + 0.25 * i, 0.0
        )

    def attitude(stamp, i):
        turn = types['geometry_msgs/msg/Quaternion'](0.0, 0.0, np.sin(0.1 * i), np.cos(0.1 * i))
        zero = np.zeros(9)
        return types['sensor_msgs/msg/Imu'](
            header(types, stamp), turn, zero, vector(0.0, 0.0, 0.2), zero, vector(0, 0, 9.8), zero
        )

    topics = {
        '/dvl/data': ('dvl_msgs/msg/DVL', dvl),
        '/gps/fix': ('sensor_msgs/msg/NavSatFix', fix),
        '/ping/range': ('sensor_msgs/msg/Range', distance),
        '/ahrs': ('sensor_msgs/msg/Imu', attitude),
    }
    with Writer(path, version=9) as writer:
        connections = {
            topic: writer.add_connection(topic, kind, typestore=store)
            for topic, (kind, _) in topics.items()
        }
        writer.add_connection('/empty', 'sensor_msgs/msg/Range', typestore=store)
        for i in range(6):
            stamp = START + i * SECOND // 5
            for topic, (kind, make) in topics.items():
                data = store.serialize_cdr(make(stamp, i), kind)
                writer.write(connections[topic], stamp + 1000, data)
    return path


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def bridge(bag, *arguments):
    """Run the command in a thread, and return the thread and its exit code."""
    code = []

    def run():
        try:
            main(['record-bridge', str(bag), *map(str, arguments)])
        except SystemExit as ended:
            code.append(ended.code)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, code


def lines_of(port):
    """Return what an instrument sends until it closes."""
    for _ in range(2000):
        try:
            with socket.create_connection(('127.0.0.1', port), timeout=60) as one:
                return list(one.makefile('rb'))
        except ConnectionRefusedError:
            time.sleep(0.01)
    return []


def replay(bag, topic, protocol):
    port = free_port()
    thread, code = bridge(
        bag, '--protocol', f'{topic}={protocol}@127.0.0.1:{port}', '--rate', 20, '--wait'
    )
    lines = lines_of(port)
    thread.join(60)
    assert code == [0]
    return lines


def test_a_driver_of_the_dvl_reads_the_bag(bag):
    found = [json.loads(line) for line in replay(bag, '/dvl/data', 'water_linked')]
    assert [f['type'] for f in found] == ['velocity'] * 6
    assert [f['time_of_validity'] * 1000 for f in found] == [
        START + i * SECOND // 5 for i in range(6)
    ]
    for i, report in enumerate(found):
        assert report['velocity_valid'] == (i != 4)
        assert report['altitude'] == 4.5
        if i != 4:
            assert [report[n] for n in ('vx', 'vy', 'vz')] == [0.1 * i, -0.2, 0.05]
            assert np.diag(report['covariance']).tolist() == [1e-5, 2e-5, 3e-5]
            assert report['fom'] == 0.01
        valid = [b['beam_valid'] for b in report['transducers']]
        assert valid == [i != 3, True, True, True]
        assert report['transducers'][2]['distance'] == 7.0


def test_a_chart_plotter_reads_the_fixes_with_their_date(bag):
    pynmeagps = pytest.importorskip('pynmeagps')
    found = [pynmeagps.NMEAReader.parse(line) for line in replay(bag, '/gps/fix', 'nmea')]
    fixes, speeds, dates = (
        [m for m in found if m.msgID == name] for name in ('GGA', 'RMC', 'ZDA')
    )
    assert len(fixes) == 5  # one without a fix
    assert [m.lat for m in fixes] == pytest.approx([60.39 + 1e-5 * i for i in (0, 1, 3, 4, 5)])
    assert {(m.year, m.month, m.day) for m in dates} == {(2023, 11, 14)}
    assert (dates[0].time.hour, dates[0].time.minute, dates[0].time.second) == (22, 13, 20)
    # 1e-5° of latitude in 0.2 s; at the first fix, and at that after the gap, nothing is known.
    knots = 1e-5 * 111_412 / 0.2 * 3600 / 1852
    assert [m.spd for m in speeds] == pytest.approx([0, knots, 0, knots, knots], rel=1e-3)
    assert speeds[1].cog == pytest.approx(0.0, abs=1e-2)


def test_a_compass_and_an_altimeter_read_the_bag(bag):
    pynmeagps = pytest.importorskip('pynmeagps')
    found = [pynmeagps.NMEAReader.parse(line) for line in replay(bag, '/ahrs', 'nmea')]
    headings = [m.headingT for m in found if m.msgID == 'HDT']
    wanted = [(90 - np.degrees(0.2 * i)) % 360 for i in range(6)]
    assert headings == pytest.approx(wanted, abs=6e-3)
    found = [pynmeagps.NMEAReader.parse(line) for line in replay(bag, '/ping/range', 'nmea')]
    depths = [m.depth for m in found if m.msgID == 'DPT']
    assert depths == [3.0, '', 3.5, 3.75, 4.0, 4.25]


def test_the_makers_client_reads_the_bag_at_a_serial_port_again_and_again(bag, tmp_path):
    brping, path = pytest.importorskip('brping'), str(tmp_path / 'ping')
    command = [sys.executable, '-m', 'marine_sim_ros.tools.main', 'record-bridge', str(bag)]
    command += ['--protocol', f'/ping/range=ping1d@pty:{path}', '--rate', '4', '--loop', '--wait']
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        # A shell starts background jobs with SIGINT ignored, and so those who run the tests.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        deadline = time.monotonic() + 120
        while not os.path.lexists(path):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        device = brping.Ping1D(brping.definitions.payload_dict_ping1d)
        device.connect_serial(path, 115200)
        assert any(device.initialize() for _ in range(20))
        seen = set()
        while not seen >= {3000, 3500, 4250}:
            assert time.monotonic() < deadline, seen
            if (found := device.get_distance()) is not None and found['confidence']:
                seen.add(found['distance'])
        assert seen <= {3000, 3500, 3750, 4000, 4250}
        assert device.get_range()['scan_start'] == 300
        device.iodev.close()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130  # ctrl-C ends it
    assert not os.path.lexists(path)


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (('--protocol', '/dvl=water_linked'), 'has no topic /dvl; '),
        (('--protocol', '/gps/fix=water_linked'), 'is of type sensor_msgs/msg/NavSatFix; '),
        (('--protocol', '/gps/fix=ping360'), 'expects no recorded type'),
        (('--protocol', '/gps/fix=nmae'), 'did you mean'),
        (('--protocol', '/empty=nmea'), '/empty has no message'),
        (('--protocol', '/gps/fix=nmea', '/gps/fix=ubx'), 'a topic twice'),
        (('--protocol', '/gps/fix=nmea', '--rate', '0'), '--rate is 0; expected above 0'),
    ],
)
def test_what_cannot_be_served_is_one_line(bag, arguments, expected, capsys):
    with pytest.raises(SystemExit) as ended:
        main(['record-bridge', str(bag), *arguments])
    assert ended.value.code in (1, 2)
    said = capsys.readouterr().err
    assert expected in said
    assert said.count('\n') == 1
