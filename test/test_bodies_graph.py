# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies in real nodes: a killed node that moves them goes on where they were."""

import signal

import numpy as np
import pytest
from graph import Watcher, start_graph

from marine_sim_ros.core.state import stamp_ns

pytestmark = pytest.mark.ros

SEA = """
water: {density: 1000}
seabed: {depth: 30.0, material: sand}
bodies:
  - {name: drum, shape: cylinder, radius: 0.3, length: 0.8, position: [3, 0, -5], mass: 226.5}
  - {name: weight, shape: sphere, radius: 0.05, position: [3, 0, -5.6], mass: 3}
joints:
  - {name: chain, type: ball, child: weight, parent: drum, position: [3, 0, -5.4]}
"""


def test_bodies_go_on_where_they_were_when_their_node_was_killed(processes, tmp_path):
    from nav_msgs.msg import Odometry

    (tmp_path / 'sea.yaml').write_text(SEA)
    watcher = Watcher('/bluerov2')
    for name in ('drum', 'weight'):
        watcher.listen(f'/bodies/{name}/odom', Odometry, depth=4000)
    nodes, specs = start_graph(
        processes, vehicle='bluerov2', environment=str(tmp_path / 'sea.yaml')
    )

    def heights():
        last = (watcher.seen[f'/bodies/{name}/odom'][-1] for name in ('drum', 'weight'))
        return np.array([message.pose.pose.position.z for message in last])

    watcher.until(lambda: heights()[0] < -5.02)
    nodes['contact'].send_signal(signal.SIGKILL)
    nodes['contact'].wait()
    watcher.spin(0.5)
    before, count = heights(), len(watcher.seen['/bodies/drum/odom'])
    processes.node(specs['contact'])
    watcher.until(lambda: len(watcher.seen['/bodies/drum/odom']) > count + 5)
    first = watcher.seen['/bodies/drum/odom'][count]
    assert first.pose.pose.position.z == pytest.approx(before[0], abs=1e-9)
    watcher.until(lambda: heights()[0] < before[0] - 0.02)
    drum, weight = (
        {stamp_ns(m.header.stamp): m for m in watcher.seen[f'/bodies/{name}/odom']}
        for name in ('drum', 'weight')
    )
    last = max(drum.keys() & weight.keys())
    gap = drum[last].pose.pose.position.z - weight[last].pose.pose.position.z
    assert gap == pytest.approx(0.6, abs=1e-4)  # the joint holds
    watcher.close()
