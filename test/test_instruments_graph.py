# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drivers of real instruments beside a recorded run: their readings are those of the topics."""

import json
import socket
import threading
import time

import numpy as np
import pytest
from graph import STEP, manifest, recorded, simulated, stamp_of
from processor import PATIENCE

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 3.0
initial: {position: [3, 1, -6], rpy: [0.05, -0.1, 0.7]}
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
    scenario.write_text(SCENARIO)
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
