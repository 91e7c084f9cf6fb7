# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The real ArduSub on the node graph: a pilot over MAVLink, faults of a battery and an enclosure.

It needs what test_ardusub_firmware.py needs, and ROS. Its pilot speaks by wall time.
"""

import json

import numpy as np
import pytest
from ardusub_rig import AUTO, PROGRAM, Rig
from bags import analyze
from graph import Watcher, recorded
from pilot import Pilot
from processor import PATIENCE
from scipy.spatial import KDTree
from stand_in_autopilot import free_instance

from marine_sim_ros.autopilot.mavlink.mission_files import read_mission
from marine_sim_ros.bags.reading import read_bag

missions = pytest.importorskip('test_missions')
at, do = missions.at, missions.do
pytestmark = [pytest.mark.ardusub, pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
def pilot():
    one = Pilot()
    yield one
    one.link.close()


def set_faults(node, text):
    from rcl_interfaces.msg import Parameter
    from rcl_interfaces.srv import SetParameters
    from rclpy.parameter import get_parameter_value

    watcher = Watcher()
    client = watcher.node.create_client(SetParameters, f'{node}/set_parameters')
    watcher.until(client.service_is_ready)
    wanted = Parameter(name='faults', value=get_parameter_value(text))
    future = client.call_async(SetParameters.Request(parameters=[wanted]))
    watcher.until(future.done)
    watcher.close()
    assert future.result().results[0].successful


def start(processes, pilot, *more):
    process = processes.marine_sim(
        'run',
        'bluerov2',
        '--autopilot',
        'ardusub',
        '--ardusub',
        PROGRAM,
        '--autopilot-instance',
        free_instance(),
        '--ground-station',
        pilot.address,
        '--environment',
        'shallow_sand',
        '--set',
        'leak:=true',
        *more,
    )
    assert pilot.until(lambda: 'HEARTBEAT' in pilot.last, 90)
    # Its estimator has a position after some 50 s of the run.
    assert pilot.until(lambda: any('is using GPS' in t for t in pilot.texts), 180), pilot.texts
    assert pilot.arm(), pilot.texts
    return process


@pytest.mark.parametrize('composed', [['--composed'], []], ids=['composed', 'separate'])
def test_a_sagging_battery_and_a_leak_reach_the_autopilot(processes, pilot, tmp_path, composed):
    process = start(processes, pilot, '--record', tmp_path / 'run', *composed)
    pilot.set_parameter('FS_LEAK_ENABLE', 1)  # warn only
    pilot.set_parameter('BATT_LOW_VOLT', 13.0)
    pilot.set_parameter('BATT_FS_LOW_ACT', 2)  # disarm
    pilot.dive(2.0)
    set_faults('ardusub', '[{kind: sensor_bias, sensor: leak, size: 1.0}]')
    assert pilot.until(lambda: any('eak' in text for text in pilot.texts), 30), pilot.texts
    assert pilot.armed
    set_faults('thrusters', '[{kind: battery, charge: 0.1}]')  # 12.48 V without a load
    assert pilot.until(lambda: pilot.last['SYS_STATUS'].voltage_battery < 12_600, 20)
    assert pilot.until(lambda: not pilot.armed, 40), pilot.texts
    pilot.until(lambda: False, 3)  # the rotors run down
    process.terminate()
    output, _ = process.communicate()
    assert 'Traceback' not in output
    found = recorded(tmp_path / 'run')
    *_, last = found['thrusters/state'].values()
    assert max(map(abs, last.effort)) < 1e-3
    assert [m.data for m in found['autopilot/armed'].values()][-2:] == [True, False]
    assert 'ALT_HOLD' in [m.data for m in found['autopilot/mode'].values()]
    # What its estimator believes is compared with the truth.
    assert analyze(tmp_path / 'run', '-o', tmp_path / 'report', '--table', 'none') == 0
    (vehicle,) = json.loads((tmp_path / 'report' / 'metrics.json').read_text())['bags'][0][
        'vehicles'
    ].values()
    estimate = vehicle['sensors']['autopilot']
    assert estimate['position z']['readings'] > 50
    for part in ('position x', 'position y', 'position z'):
        assert estimate[part]['rms'] < 0.5, part


MISSION = [
    missions.HOME_ITEM,
    do(178, 1, 0.4, -1),
    at(4, 0, 2, 16, 3.0),
    at(8, 2, 3),
    at(8, 8, 3),
    do(177, 3, 1),
    at(2, 8, 4, 19, 4.0),
    at(0, 2, 3, 18, 1, 0, 3.0),
    at(2, 0, 0, 21),
]
"""Speed, stay, jump back, wait, circle, surface: items that ArduSub flies."""
REACHED = [1, 2, 3, 4, 3, 4, 6, 7, 8]


def flown_by_the_firmware(path):
    """Return what the firmware reached, and where it was (n, 3)."""
    sub = Rig('bluerov2_heavy', dt=0.02)
    try:
        sub.boot()
        assert sub.run(90, lambda: any('is using GPS' in text for _, text in sub.texts))
        assert sub.upload(read_mission(str(path))) == 0
        assert sub.arm()
        first = len(sub.states)
        assert sub.mode(AUTO)
        assert sub.run(400, lambda: sub.reached[-1:] == REACHED[-1:]), sub.texts[-5:]
        return sub.reached, np.array([state.position for state in sub.states[first:]])
    finally:
        sub.close()


def flown_by_ours(processes, path, folder):
    """Return the same of our controller, which starts with the file."""
    ground, reached = missions.Ground(), []
    process = processes.marine_sim(
        'run', 'bluerov2_heavy', '--autopilot', 'mavlink', '--composed', '--mission', path,
        '--dt', '0.02', '--real-time-factor', '4', '--initial-position', '0', '0', '-0.5',
        '--record', folder, '--ground-station', f'127.0.0.1:{ground.port}',
    )  # fmt: skip
    ground.until(
        'MISSION_ITEM_REACHED',
        lambda m: reached.append(m.seq) or m.seq == REACHED[-1],
        3 * PATIENCE,
    )
    ground.socket.close()
    process.terminate()
    process.communicate()
    (vehicle,) = read_bag(str(folder)).vehicles.values()
    return reached, vehicle.channels['odom'].series.rows[:, :3]


@pytest.mark.parametrize('form', ['plan', 'waypoints'])
def test_a_mission_file_is_flown_alike_by_ardusub_and_by_ours(processes, tmp_path, form):
    path = tmp_path / f'm.{form}'
    path.write_text(getattr(missions, form)(MISSION))
    reached, track = flown_by_the_firmware(path)
    our_reached, our_track = flown_by_ours(processes, path, tmp_path / 'run')
    assert (reached, our_reached) == (REACHED, REACHED)
    # WPNAV_RADIUS is 2 m there and 1 m here: corners are cut otherwise.
    assert KDTree(track).query(our_track)[0].max() < 1.5
    assert KDTree(our_track).query(track)[0].max() < 1.5
