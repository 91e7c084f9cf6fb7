# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The real ArduSub steers a body that a real Gazebo moves, as users launch it.

It needs what test_ardusub_firmware.py needs, Gazebo Harmonic, ros_gz_bridge and launch_ros.
"""

import os
import shutil
import signal
import subprocess

import pytest
from ardusub_rig import PROGRAM
from conftest import has
from graph import recorded
from pilot import Pilot
from stand_in_autopilot import free_instance

from marine_sim_ros.gazebo.delivery import bridge_program

pytestmark = [
    pytest.mark.ardusub,
    pytest.mark.gazebo,
    pytest.mark.ros,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine'),
    pytest.mark.skipif(bridge_program() is None, reason='ros_gz_bridge: not on this machine'),
    pytest.mark.skipif(not has('launch_ros'), reason='launch_ros: not on this machine'),
]
HELD = 20.0
"""s of simulated time."""


@pytest.fixture(autouse=True)
def partition(ros_environment, gazebo_partition):
    """Keep Gazebo's topics, too, among the processes of a test."""
    ros_environment.update(gazebo_partition)


@pytest.mark.parametrize('vehicle', ['bluerov2', 'bluerov2_heavy'])
def test_it_holds_the_depth_of_a_body_of_gazebo(processes, tmp_path, vehicle):
    pilot = Pilot()
    with (tmp_path / 'log').open('w') as log:
        launch = processes.start(
            'ros2',
            'launch',
            'marine_sim_ros',
            f'{vehicle}.launch.py',
            'backend:=gazebo',
            'delivery:=in_server',
            'autopilot:=ardusub',
            f'ardusub:={PROGRAM}',
            f'autopilot_instance:={free_instance()}',
            f'ground_station:={pilot.address}',
            'composed:=true',
            'real_time_factor:=0',
            f'record:={tmp_path / "run"}',
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        assert pilot.until(lambda: 'HEARTBEAT' in pilot.last, 90), (tmp_path / 'log').read_text()
        assert pilot.until(lambda: any('is using GPS' in t for t in pilot.texts), 200), pilot.texts
        assert pilot.arm(), pilot.texts
        pilot.dive(2.0)
        begun = pilot.last['SYSTEM_TIME'].time_boot_ms
        since = lambda: pilot.last['SYSTEM_TIME'].time_boot_ms - begun  # noqa: E731
        assert pilot.until(lambda: since() > 1e3 * (HELD + 10.0), 240), pilot.texts
    finally:
        pilot.link.close()
        os.killpg(launch.pid, signal.SIGINT)
    assert launch.wait() == 0, (tmp_path / 'log').read_text()
    assert 'Traceback' not in (tmp_path / 'log').read_text()
    odom = recorded(tmp_path / 'run')['odom']
    last = max(odom)
    depths = [-m.pose.pose.position.z for t, m in odom.items() if t > last - HELD * 1e9]
    middle = sum(depths) / len(depths)
    assert middle > 1.5
    assert max(abs(depth - middle) for depth in depths) < 0.05
