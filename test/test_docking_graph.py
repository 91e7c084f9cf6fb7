# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""examples/docking: camera, detector and controller close their loop through real nodes."""

import math
import sys

import numpy as np
import pytest
from conftest import ROOT
from graph import Watcher

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.environment.reader import load_environment

EXAMPLE = ROOT / 'examples' / 'docking'
AWAY = 0.8
"""m from the marker, the node's default."""

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]


@pytest.fixture(autouse=True)
def _packages(renderer):
    pytest.importorskip('cv2')


def dock():
    """Return the place (3,) before the marker and the heading towards it."""
    panel = load_environment(EXAMPLE / 'dock.yaml').scene.obstacles[0]
    outward = rotation_matrix(panel.orientation)[:, 0]
    face = panel.position + panel.size[0] / 2 * outward
    return face + AWAY * outward, math.atan2(-outward[1], -outward[0])


def test_a_vehicle_docks_by_its_camera(processes):
    from nav_msgs.msg import Odometry

    place, heading = dock()
    run = processes.marine_sim(
        'run',
        'bluerov2',
        '--set',
        'camera:=true',
        '--controller',
        'modern',
        '--environment',
        EXAMPLE / 'dock.yaml',
        '--composed',
        '--dt',
        0.02,
    )
    node = processes.start(
        sys.executable, EXAMPLE / 'dock.py', '--ros-args', '-r', '__ns:=/bluerov2'
    )
    watcher = Watcher('/bluerov2')
    try:
        watcher.listen('odom', Odometry, depth=10)

        def docked():
            assert (run.poll(), node.poll()) == (None, None)
            odom = watcher.seen['odom'][-1]
            p, q, v = odom.pose.pose.position, odom.pose.pose.orientation, odom.twist.twist.linear
            apart = np.array([p.x, p.y, p.z]) - place
            turned = 2 * math.atan2(q.z, q.w) - heading
            still = math.hypot(v.x, v.y, v.z) < 0.02
            return np.linalg.norm(apart) < 0.05 and abs(turned) < math.radians(2) and still

        assert np.linalg.norm(place - [0, 0, -0.5]) > 2.0
        watcher.until(docked)
    finally:
        watcher.close()
