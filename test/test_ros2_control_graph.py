# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers of ros2_control steer a run: a stand-in of controller_manager, real topics."""

import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from conftest import marine_sim
from graph import Watcher, busy_machine, by_stamp, manifest, recorded

pytestmark = pytest.mark.ros

STAND_IN = Path(__file__).parent / 'ros2_control_stand_in.py'
STEP = 0.02
WARM_UP = 5
SEA = """
seabed: {depth: 6, material: sand}
payloads: [{name: brick, shape: box, size: [0.2, 0.1, 0.06], mass: 2, position: [50, 0, -5.9]}]
"""
CONTROLLERS = """
controller_manager:
  ros__parameters:
    update_rate: 50
    use_sim_time: true
    joint_trajectory_controller: {type: joint_trajectory_controller/JointTrajectoryController}
    gripper_controller: {type: position_controllers/GripperActionController}
    thruster_controller: {type: effort_controllers/JointGroupEffortController}
joint_trajectory_controller:
  ros__parameters:
    joints: [wrist, shoulder]
    command_interfaces: [position]
    state_interfaces: [position, velocity]
gripper_controller:
  ros__parameters: {joint: gripper}
thruster_controller:
  ros__parameters:
    joints: [thruster_1, thruster_2, thruster_3, thruster_4, thruster_5, thruster_6, thruster_7,
             thruster_8]
"""


def command(watcher):
    """Send a trajectory for the first second of the run, thrusts, and the gripper's position."""
    from std_msgs.msg import Float64, Float64MultiArray
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    trajectory = JointTrajectory(joint_names=['shoulder', 'wrist'])
    trajectory.header.stamp.sec = WARM_UP
    for seconds, positions in ((0, [0.0, 0.0]), (1, [0.3, -0.2])):
        point = JointTrajectoryPoint(positions=[float(p) for p in positions])
        point.time_from_start.sec = seconds
        trajectory.points.append(point)
    told = [
        ('/joint_trajectory_controller/joint_trajectory', trajectory),
        (
            '/thruster_controller/commands',
            Float64MultiArray(data=[5.0, 5.0, -5.0, -5.0] + [0.0] * 4),
        ),
        ('/gripper_controller/command', Float64(data=1.0)),
    ]
    outs = [(watcher.node.create_publisher(type(m), topic, 10), m) for topic, m in told]
    watcher.until(lambda: all(out.get_subscription_count() for out, _ in outs))
    for out, message in outs:
        out.publish(message)


def fly(processes, folder, urdf, *, busy=False):
    """Record a run that the controllers steer; return what the command printed."""
    (folder / 'sea.yaml').write_text(SEA)
    (folder / 'controllers.yaml').write_text(CONTROLLERS)
    name = 'busy' if busy else 'quiet'
    manager = processes.start(
        sys.executable, STAND_IN, urdf, folder / 'controllers.yaml',
        '/bluerov2_heavy/ros2_control/clock',
    )  # fmt: skip
    watcher = Watcher('/')
    try:
        command(watcher)
        with busy_machine() if busy else nullcontext():
            run = processes.marine_sim(
                'run', 'bluerov2_heavy', '--set', 'arm:=true', '--controller', 'ros2_control',
                '--await-commands', '--warm-up', WARM_UP, '--dt', STEP, '--duration', 1.2,
                '--environment', folder / 'sea.yaml', '--composed', '--real-time-factor', 0,
                '--record', folder / name,
            )  # fmt: skip
            output, _ = run.communicate()
    finally:
        watcher.close()
        manager.kill()
        manager.wait()
    assert run.returncode == 0, output
    return output


@pytest.fixture
def urdf(tmp_path):
    file = tmp_path / 'heavy.urdf'
    arm = ('--set', 'arm:=true')
    assert marine_sim('export-ros2-control', 'bluerov2_heavy', *arm, '-o', file)[0] == 0
    return file


def test_controllers_of_a_real_vehicle_move_arm_gripper_and_thrusters(processes, tmp_path, urdf):
    fly(processes, tmp_path, urdf)
    bag = recorded(tmp_path / 'quiet')
    wanted = by_stamp(bag['joint_commands'].values())
    for stamp, message in wanted.items():
        names = dict(zip(message.name, message.position, strict=True))
        # The trajectory's positions at the controllers' time, each in its own tick.
        part = min(stamp / 1e9, 1.0)
        assert names['shoulder'] == pytest.approx(0.3 * part, abs=1e-9)
        assert names['wrist'] == pytest.approx(-0.2 * part, abs=1e-9)
        assert names['gripper'] == 1.0
    assert len(wanted) > 55  # the recorder does not wait for this topic
    # The drive lags by the inverse of its bandwidth.
    last = bag['joint_states'][round(1.2e9)]
    assert last.position[0] == pytest.approx(0.3, abs=0.1)
    thrust = bag['thrusters/state'][round(1.2e9)].effort
    np.testing.assert_allclose(thrust, [5, 5, -5, -5, 0, 0, 0, 0], atol=0.3)


def test_two_runs_have_one_hash_also_on_a_busy_machine(processes, tmp_path, urdf):
    hashes = []
    for busy in (False, True):
        output = fly(processes, tmp_path, urdf, busy=busy)
        assert 'silent' not in output
        hashes.append(manifest(tmp_path / ('busy' if busy else 'quiet'))['trajectory_sha256'])
    assert hashes[0] == hashes[1]


def test_a_run_without_controllers_ends_with_one_line(processes):
    run = processes.marine_sim(
        'run', 'bluerov2', '--controller', 'ros2_control', '--await-commands', '--warm-up', 0.5,
        '--dt', STEP, '--composed',
    )  # fmt: skip
    output, _ = run.communicate()
    assert run.returncode == 1
    assert output.count('await_commands: no command on /bluerov2/ros2_control/commands') == 1
