# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What Nav2 needs, by a stand-in for its planner and controller, written from their interfaces.

It reads the files of the map server, plans a way around the obstacles of that depth as a costmap
of static and inflation layer has it, and follows it from odom by cmd_vel, until the goal checker's
default tolerance of 0.25 m.
"""

import heapq

import numpy as np
import pytest
from conftest import marine_sim
from graph import STEP, Watcher
from processor import PATIENCE
from test_occupancy import load

SEA = """
seabed: {depth: 8, material: sand}
obstacles:
  - {name: wall, shape: box, position: [4, 0, -3.5], size: [1, 5, 9]}
"""
GOAL, TOLERANCE, SPEED, AHEAD = (8.0, 0.0), 0.25, 0.4, 0.8


def plan(grid, x, y, start, goal, radius):
    """Return the points of a shortest way (Dijkstra) that keeps a radius from what is solid."""
    cell = x[1] - x[0]
    solid = np.argwhere(grid)
    rows, columns = np.indices(grid.shape)
    free = np.ones_like(grid)
    for row, column in solid[:: max(1, len(solid) // 800)]:
        free &= np.hypot(rows - row, columns - column) * cell > radius

    def nearest(point):
        return int(np.abs(y - point[1]).argmin()), int(np.abs(x - point[0]).argmin())

    first, last = nearest(start), nearest(goal)
    cost, came, queue = {first: 0.0}, {}, [(0.0, first)]
    while queue:
        reached, node = heapq.heappop(queue)
        if node == last:
            break
        for step in ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            new = node[0] + step[0], node[1] + step[1]
            if not (0 <= new[0] < grid.shape[0] and 0 <= new[1] < grid.shape[1] and free[new]):
                continue
            length = reached + np.hypot(*step)
            if length < cost.get(new, np.inf):
                cost[new], came[new] = length, node
                heapq.heappush(queue, (length, new))
    way = [last]
    while way[-1] != first:
        way.append(came[way[-1]])
    return np.array([(x[column], y[row]) for row, column in reversed(way)])


@pytest.mark.ros
@pytest.mark.parametrize(
    ('vehicle', 'depth', 'radius'), [('bluerov2', 2.0, 0.6), ('wamv', 0.2, 2.2)]
)
def test_a_stand_in_for_navigate_to_pose_arrives(processes, tmp_path, vehicle, depth, radius):
    from geometry_msgs.msg import Twist
    from nav_msgs.msg import Odometry
    from std_srvs.srv import SetBool

    sea = tmp_path / 'sea.yaml'
    sea.write_text(SEA)
    code, told = marine_sim(
        *('export-map', sea, '-o', tmp_path / 'map', '--depth', depth, '--resolution', 0.2),
        *('--area', -4, 13, -9, 9),
    )
    assert code == 0, told
    grid, x, y = load(tmp_path / 'map')
    way = plan(grid, x, y, (0.0, 0.0), GOAL, radius)
    assert np.abs(way[:, 1]).max() > 2.5 + 0.5 * radius  # around the wall
    run = processes.marine_sim(
        *('run', vehicle, '--environment', sea, '--controller', 'modern', '--composed'),
        *('--dt', STEP, '--initial-position', 0, 0, -depth if vehicle == 'bluerov2' else 0),
    )
    watcher = Watcher(f'/{vehicle}')
    track = []
    publisher = watcher.node.create_publisher(Twist, 'cmd_vel', 1)

    def follow(message):
        p, q = message.pose.pose.position, message.pose.pose.orientation
        track.append((p.x, p.y, p.z))
        here = np.array([p.x, p.y])
        nearest = np.hypot(*(way - here).T).argmin()
        beyond = np.hypot(*(way[nearest:] - here).T) > AHEAD
        target = way[nearest + beyond.argmax()] if beyond.any() else np.array(GOAL)
        east, north = target - here
        yaw = np.arctan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))
        turn = (np.arctan2(north, east) - yaw + np.pi) % (2 * np.pi) - np.pi
        command = Twist()
        command.linear.x = SPEED * max(0.0, np.cos(turn)) * min(1.0, np.hypot(*(here - GOAL)))
        command.angular.z = float(np.clip(1.0 * turn, -0.5, 0.5))
        publisher.publish(command)

    try:
        arm = watcher.node.create_client(SetBool, 'arm')
        watcher.until(arm.service_is_ready)
        watcher.until(arm.call_async(SetBool.Request(data=True)).done)
        watcher.node.create_subscription(Odometry, 'odom', follow, 1)
        watcher.until(
            lambda: np.hypot(*(np.array(track[-1][:2]) - GOAL)) < TOLERANCE, 5 * PATIENCE
        )
    finally:
        watcher.close()
    assert run.poll() is None
    points = np.array(track)
    away = np.maximum(np.abs(points[:, :2] - (4.0, 0.0)) - (0.5, 2.5), 0.0)
    assert np.hypot(*away.T).min() > 0.3  # it never came near the wall
    if vehicle == 'bluerov2':  # it keeps the depth that it had when it was armed
        assert np.ptp(points[:, 2]) < 0.5
        assert points[:, 2].max() < -1.0
