# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drivers of real instruments beside a recorded run: their readings are those of the topics."""

import json
import socket
import threading
import time

import numpy as np
import pytest
from graph import STEP, Watcher, manifest, recorded, simulated, stamp_of
from processor import PATIENCE

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 3.0
initial: {position: [3, 1, DEPTH], rpy: [0.05, -0.1, 0.7]}
segments:
  - {at: 0.0, pwm: [1600, 1400, 1550, 1480, 1620, 1590]}
"""


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def hear(port, lines, gone):
    """Read the lines of an instrument until it closes; connect again until it is there."""
    while not gone.is_set():
        try:
            with socket.create_connection(('127.0.0.1', port), timeout=PATIENCE) as one:
                one.sendall(b'\x00 garbage\n{"command":"get_config"}')
                lines.extend(one.makefile('rb'))
                return
        except OSError:
            time.sleep(0.02)


@pytest.mark.parametrize('more', [('--composed',), ()], ids=['composed', 'separate'])
def test_a_driver_of_the_dvl_reads_what_the_topics_say(processes, tmp_path, more):
    scenario = tmp_path / 'drive.yaml'
    scenario.write_text(SCENARIO.replace('DEPTH', '-6'))
    given = ['bluerov2', '--set', 'dvl:=true', '--environment', 'shallow_sand', '--dt', STEP]
    given += ['--scenario', scenario]
    port, lines, gone = free_port(), [], threading.Event()
    listener = threading.Thread(target=hear, args=(port, lines, gone), daemon=True)
    listener.start()
    run = processes.marine_sim(
        'run', *given, *more, '--protocol', f'dvl=water_linked@127.0.0.1:{port}',
        '--record', tmp_path / 'run',
    )  # fmt: skip
    output, _ = run.communicate()
    gone.set()
    listener.join(PATIENCE)
    assert run.returncode == 0, output
    assert output.count('garbage') == 1
    # A driver changes nothing of the motion.
    assert manifest(tmp_path / 'run')['trajectory_sha256'] == simulated(*given)
    heard = [json.loads(line) for line in lines]
    assert [h['type'] for h in heard].count('response') == 1
    bag = recorded(tmp_path / 'run')
    twists = {stamp_of(m) // 1000: m.twist.twist.linear for m in bag['dvl/twist'].values()}
    ranges = {stamp_of(m) // 1000: m.range for m in bag['dvl/altitude'].values()}
    places = {stamp_of(m) / 1e9: m.pose.pose.position for m in bag['dvl/odometry'].values()}
    reports = [h for h in heard if h['type'] == 'velocity']
    assert len(reports) > 5
    for report in reports:
        # The last ones are under way while the recording ends.
        twist = twists.get(report['time_of_validity'])
        if twist is not None:
            assert [report[n] for n in ('vx', 'vy', 'vz')] == [twist.x, twist.y, twist.z]
            assert np.float32(report['altitude']) == ranges[report['time_of_validity']]
    assert len(set(twists) & {r['time_of_validity'] for r in reports}) > 5
    ways = [h for h in heard if h['type'] == 'position_local' and h['ts'] in places]
    assert len(ways) > 5
    for way in ways:
        place = places[way['ts']]
        assert [way[n] for n in 'xyz'] == [place.x, -place.y, -place.z]


def drive_sonars(ports, pings, gone):
    """Turn the head and read distances with Blue Robotics' client, until the run ends."""
    import brping

    sonar = brping.Ping360(brping.definitions.payload_dict_ping360)
    altimeter = brping.Ping1D(brping.definitions.payload_dict_ping1d)
    for device, port in zip((sonar, altimeter), ports, strict=True):
        device.connect_udp('127.0.0.1', port)
    ready = False
    while not gone.is_set():
        try:
            ready = ready or (sonar.initialize() and altimeter.initialize())
            if not ready:
                continue
            for angle in (200, 300, 100):
                if (ping := sonar.transmitAngle(angle)) is not None:
                    pings['sonar'].append((ping.angle, bytes(ping.data)))
            if (found := altimeter.get_distance()) is not None:
                pings['altimeter'].append((found['distance'], found['confidence']))
        except ConnectionRefusedError:  # not yet there, or no more
            time.sleep(0.05)


def test_blue_robotics_client_reads_what_the_topics_say(processes, tmp_path):
    pytest.importorskip('brping')
    scenario = tmp_path / 'drive.yaml'
    scenario.write_text(SCENARIO.replace('DEPTH', '-2'))
    given = ['bluerov2', '--environment', 'pool', '--dt', STEP, '--scenario', scenario]
    given += ['--set', 'altimeter:=true', '--set', 'scanning_sonar:=true']
    ports = [free_port(socket.SOCK_DGRAM) for _ in range(2)]
    pings, gone = {'sonar': [], 'altimeter': []}, threading.Event()
    driver = threading.Thread(target=drive_sonars, args=(ports, pings, gone), daemon=True)
    driver.start()
    run = processes.marine_sim(
        'run', *given, '--composed', '--record', tmp_path / 'run', '--protocol',
        f'scanning_sonar=ping360@127.0.0.1:{ports[0]}', f'altimeter=ping1d@127.0.0.1:{ports[1]}',
    )  # fmt: skip
    output, _ = run.communicate()
    gone.set()
    driver.join(PATIENCE)
    assert run.returncode == 0, output
    assert manifest(tmp_path / 'run')['trajectory_sha256'] == simulated(*given)
    bag = recorded(tmp_path / 'run')
    angles = {stamp_of(m): m.angle_min for m in bag['scanning_sonar/scan'].values()}
    echoes = {
        (round(angles[stamp_of(m)], 5), bytes(m.data))
        for m in bag['scanning_sonar/echo'].values()
        if stamp_of(m) in angles
    }
    bearings = {200: 0.0, 300: -np.pi / 2, 100: np.pi / 2}
    told = {(round(float(np.float32(bearings[a])), 5), data) for a, data in pings['sonar']}
    assert len(pings['sonar']) > 5
    assert len(told - echoes) <= 2  # the last ones are under way while the recording ends
    ranges = [m.range for m in bag['altimeter/range'].values()]
    sure = [m.data for m in bag['altimeter/confidence'].values()]
    topics = {(round(1000 * r), c) for r, c in zip(ranges, sure, strict=False)}
    assert len(pings['altimeter']) > 3
    for distance, confidence in pings['altimeter'][:-1]:
        assert any(abs(distance - d) <= 1 and confidence == c for d, c in topics)


def test_a_reader_of_nmea_has_the_fixes_and_depths_of_the_topics(processes, tmp_path):
    pynmeagps, _ = pytest.importorskip('pynmeagps'), pytest.importorskip('pymap3d')
    scenario = tmp_path / 'float.yaml'
    scenario.write_text(SCENARIO.replace('DEPTH', '0.05'))  # it dives below the surface
    ports = [free_port(), free_port()]
    lines, gone = [[], []], threading.Event()
    listeners = [
        threading.Thread(target=hear, args=(port, heard, gone), daemon=True)
        for port, heard in zip(ports, lines, strict=True)
    ]
    for listener in listeners:
        listener.start()
    run = processes.marine_sim(
        'run', 'bluerov2', '--set', 'gps:=true', '--set', 'altimeter:=true', '--environment',
        'shallow_sand', '--dt', STEP, '--scenario', scenario, '--record', tmp_path / 'run',
        '--composed', '--protocol', f'gps=nmea@127.0.0.1:{ports[0]}',
        f'altimeter=nmea@127.0.0.1:{ports[1]}',
    )  # fmt: skip
    output, _ = run.communicate()
    gone.set()
    for listener in listeners:
        listener.join(PATIENCE)
    assert run.returncode == 0, output
    bag = recorded(tmp_path / 'run')
    fixes = {stamp_of(m) // 10**6: m for m in bag['gps/fix'].values()}
    found = [m for m in map(pynmeagps.NMEAReader.parse, lines[0]) if m.msgID == 'GGA']
    stamps = [
        (m.time.hour * 3600 + m.time.minute * 60 + m.time.second) * 1000
        + m.time.microsecond // 1000
        for m in found
    ]
    assert len(set(stamps) & set(fixes)) > 2
    for stamp, gga in zip(stamps, found, strict=True):
        if stamp in fixes:
            assert abs(gga.lat - fixes[stamp].latitude) < 2e-9
            assert abs(gga.lon - fixes[stamp].longitude) < 2e-9
            assert abs(gga.alt - fixes[stamp].altitude) <= 5e-4
    ranges = {f'{m.range:.3f}' for m in bag['altimeter/range'].values()}
    echoes = [m for m in map(pynmeagps.NMEAReader.parse, lines[1]) if m.msgID == 'DPT']
    depths = [f'{m.depth:.3f}' for m in echoes]
    assert len(depths) > 10
    assert sum(depth in ranges for depth in depths) >= len(depths) - 3


def test_the_topics_of_a_driver_say_what_the_instrument_says(processes, tmp_path):
    """Topics of dvl_a50 beside its protocol: what the driver would make of the reports."""
    messages = pytest.importorskip('dvl_msgs.msg')
    scenario = tmp_path / 'drive.yaml'
    scenario.write_text(SCENARIO.replace('DEPTH', '-6'))
    given = ['bluerov2', '--set', 'dvl:=true', '--environment', 'shallow_sand', '--dt', STEP]
    given += ['--scenario', scenario]
    port, lines, gone, watcher = free_port(), [], threading.Event(), Watcher()
    watcher.listen('dvl/data', messages.DVL)
    watcher.listen('dvl/position', messages.DVLDR)
    watcher.listen('dvl/config/status', messages.ConfigStatus)
    watcher.listen('dvl/command/response', messages.CommandResponse)
    commands = watcher.node.create_publisher(messages.ConfigCommand, 'dvl/config/command', 10)
    listener = threading.Thread(target=hear, args=(port, lines, gone), daemon=True)
    listener.start()
    run = processes.marine_sim(
        'run', *given, '--composed', '--protocol', f'dvl=water_linked@127.0.0.1:{port}',
        '--topics', 'waterlinked', '--record', tmp_path / 'run',
    )  # fmt: skip
    watcher.until(lambda: len(watcher.seen['dvl/data']) > 4)
    for command in (
        ('get_config', '', ''),
        ('set_config', 'range_mode', 'wt'),
        ('set_config', 'acoustic_enabled', 'false'),
        ('dive', '', ''),
    ):
        names = ('command', 'parameter_name', 'parameter_value')
        commands.publish(messages.ConfigCommand(**dict(zip(names, command, strict=True))))
    responses = watcher.seen['dvl/command/response']
    watcher.until(lambda: len(responses) == 2 and watcher.seen['dvl/config/status'])
    output, _ = run.communicate()
    gone.set()
    listener.join(PATIENCE)
    watcher.close()
    assert run.returncode == 0, output
    assert output.count("config/command is 'dive'; expected set_config, get_config") == 1
    assert manifest(tmp_path / 'run')['trajectory_sha256'] == simulated(*given)
    status = watcher.seen['dvl/config/status'][0]
    assert (status.speed_of_sound, status.acoustic_enabled, status.range_mode) == (
        1500, True, 'auto',
    )  # fmt: skip
    assert [(r.response_to, r.success) for r in responses] == [
        ('set_config', False), ('set_config', True),
    ]  # fmt: skip
    assert 'water tracking' in responses[0].error_message
    reports = [json.loads(line) for line in lines]
    wire = {r['time_of_validity']: r for r in reports if r['type'] == 'velocity'}
    told = [m for m in watcher.seen['dvl/data'] if m.time_of_validity in wire]
    assert len(told) > 3
    # Without its acoustics the driver's instrument is silent; that of the wire is another one.
    assert len(told) < len(wire)
    for message in told:
        report = wire[message.time_of_validity]
        assert stamp_of(message) == 1000 * message.time_of_validity
        assert message.header.frame_id == 'dvl_frame'
        velocity = message.velocity
        assert [velocity.x, velocity.y, velocity.z] == [report[n] for n in ('vx', 'vy', 'vz')]
        np.testing.assert_array_equal(message.covariance, np.ravel(report['covariance']))
        same = 'altitude', 'fom', 'velocity_valid', 'status', 'time_of_transmission'
        assert [getattr(message, n) for n in same] == [report[n] for n in same]
        for beam, transducer in zip(message.beams, report['transducers'], strict=True):
            assert [beam.id, beam.velocity, beam.distance, beam.valid] == [
                transducer[n] for n in ('id', 'velocity', 'distance', 'beam_valid')
            ]
    places = {r['ts']: r for r in reports if r['type'] == 'position_local'}
    ways = [m for m in watcher.seen['dvl/position'] if m.time in places]
    assert len(ways) > 3
    for way in ways:
        place = places[way.time]
        assert [way.position.x, way.position.y, way.position.z] == [place[n] for n in 'xyz']
        same = 'roll', 'pitch', 'yaw', 'type', 'format'
        assert [getattr(way, n) for n in same] == [place[n] for n in same]


def test_topics_of_sonar_gps_and_usbl_are_those_of_their_drivers(processes, tmp_path):
    """scan_echo, nmea_sentence and the answers to modem_send say what the suite's topics say."""
    pynmeagps = pytest.importorskip('pynmeagps')
    echoes = pytest.importorskip('ping360_sonar_msgs.msg')
    sentences = pytest.importorskip('nmea_msgs.msg')
    seatrac = pytest.importorskip('seatrac_interfaces.msg')
    scenario = tmp_path / 'drive.yaml'
    scenario.write_text(SCENARIO.replace('DEPTH', '-0.05').replace('3.0', '8.0'))
    given = ['bluerov2', '--environment', 'pool', '--dt', STEP, '--scenario', scenario]
    for kind in ('gps', 'usbl', 'scanning_sonar'):
        given += ['--set', f'{kind}:=true']
    watcher = Watcher()
    watcher.listen('scanning_sonar/scan_echo', echoes.SonarEcho)
    watcher.listen('gps/nmea_sentence', sentences.Sentence)
    watcher.listen('usbl/modem_rec', seatrac.ModemRec)
    watcher.listen('usbl/modem_cmd_update', seatrac.ModemCmdUpdate)
    pinger = watcher.node.create_publisher(seatrac.ModemSend, 'usbl/modem_send', 10)
    run = processes.marine_sim(
        'run', *given, '--composed', '--real-time-factor', 1, '--record', tmp_path / 'run',
        '--topics', 'ping360', 'nmea', 'seatrac',
    )  # fmt: skip
    received, updates = watcher.seen['usbl/modem_rec'], watcher.seen['usbl/modem_cmd_update']
    watcher.until(lambda: pinger.get_subscription_count() and watcher.seen['gps/nmea_sentence'])
    for beacon, kind in ((1, 6), (1, 2), (9, 2), (1, 3)):
        pinger.publish(seatrac.ModemSend(msg_id=0x40, dest_id=beacon, msg_type=kind))
    watcher.until(lambda: len(received) == 2 and len(updates) == 5)
    output, _ = run.communicate()
    watcher.close()
    assert run.returncode == 0, output
    assert manifest(tmp_path / 'run')['trajectory_sha256'] == simulated(*given)
    # Three pings are sent, the type 3 is none, and the beacon 9 does not answer.
    assert sorted((u.msg_id, u.command_status_code, u.target_id) for u in updates) == [
        (0x40, 0x00, 1), (0x40, 0x00, 1), (0x40, 0x00, 9), (0x40, 0x05, 1), (0x43, 0x34, 9),
    ]  # fmt: skip
    bag = recorded(tmp_path / 'run')
    polar = {stamp_of(m): m.vector for m in bag['usbl/polar'].values()}
    whole = next(r for r in received if r.includes_usbl)
    distance = [p.x for p in polar.values()]
    assert min(abs(10 * d - whole.range_dist) for d in distance) <= 0.5 + 1e-9
    assert (whole.src_id, whole.dest_id, whole.position_enhanced) == (1, 15, True)
    assert [r.includes_usbl for r in received].count(False) == 1

    heads = {stamp_of(m): m.angle_min for m in bag['scanning_sonar/scan'].values()}
    data = {stamp_of(m): bytes(m.data) for m in bag['scanning_sonar/echo'].values()}
    pings = [m for m in watcher.seen['scanning_sonar/scan_echo'] if stamp_of(m) in data]
    assert len(pings) > 5
    for ping in pings:
        assert bytes(ping.intensities) == data[stamp_of(ping)]
        assert ping.number_of_samples == len(ping.intensities)
        # Clockwise, from behind, in whole gradians; the topic is anticlockwise from ahead.
        turn = (ping.angle - np.pi + heads[stamp_of(ping)] + np.pi) % (2 * np.pi) - np.pi
        assert abs(turn) <= np.pi / 400 + 1e-5

    fixes = {stamp_of(m): m for m in bag['gps/fix'].values()}
    lines = [m for m in watcher.seen['gps/nmea_sentence'] if stamp_of(m) in fixes]
    parsed = [(stamp_of(m), pynmeagps.NMEAReader.parse(m.sentence)) for m in lines]
    gga = [(stamp, it) for stamp, it in parsed if it.msgID == 'GGA']
    assert gga  # it dives, and under water there is no fix
    assert {it.msgID for _, it in parsed} == {'GGA', 'RMC', 'VTG', 'ZDA'}
    for stamp, it in gga:
        assert abs(it.lat - fixes[stamp].latitude) < 1e-8
        assert abs(it.lon - fixes[stamp].longitude) < 1e-8
