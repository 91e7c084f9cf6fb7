# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The exported joints of an arm move in a real Gazebo as here, and the vehicle feels the same."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gazebo_arm import DT, Motion

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.model import xml
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import (
    JointMotion,
    arm_momentum,
    joints_at_rest,
    move_joints,
    pose_vehicle,
)
from marine_sim_ros.sdf.links import joint_inertia
from marine_sim_ros.sdf.model import sdf_model

ARMS = {'bluerov2_heavy': {'arm': 'true'}, 'investigator90': {}}
gazebo = [
    pytest.mark.gazebo,
    pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine'),
]
RUN = """
import json, sys
from pathlib import Path
from gazebo_arm import moved
from marine_sim_ros import load_vehicle
name, arguments, drives, folder, steps, commands, efforts, rates = json.loads(sys.argv[1])
turns, still = iter(rates), [0.0] * len(rates and rates[0])
told = moved(load_vehicle(name, **arguments), drives, Path(folder), steps, commands=commands,
             efforts=efforts, rates=(lambda: next(turns, still)) if rates else None)
(Path(folder) / 'motion.json').write_text(json.dumps([x.tolist() for x in told]))
"""


def in_gazebo(name, folder, steps, *, drives='', commands=None, efforts=(), rates=()):
    """Return the motion of a vehicle in Gazebo, which has a process of its own."""
    asked = (name, ARMS[name], drives, str(folder), steps, commands or {}, efforts, rates)
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, '-c', RUN, json.dumps(asked)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, 'PYTHONPATH': paths},
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / 'motion.json').read_text())
    return Motion(*(np.array(values) for values in rows))


def reaction_error(vehicle, motion):
    """Return the largest error of ν = −M(q)⁻¹ h(q, q̇), by which momentum stays 0."""
    arm, worst = vehicle.manipulator, 0.0
    for angle, rate, turn, linear, angular in zip(
        motion.angle, motion.rate, motion.orientation, motion.linear, motion.angular, strict=True
    ):
        poses = link_poses(arm, angle)
        mass = pose_vehicle(vehicle, poses).mass_matrix
        expected = -np.linalg.solve(mass, arm_momentum(arm, rate, poses))
        body = rotation_matrix(turn).T
        found = np.concatenate([body @ linear, body @ angular])
        worst = max(worst, np.abs(found - expected).max())
    return worst


def driven(vehicle, target, steps):
    """Return positions and rates (n, k) of the joints as this package drives them."""
    arm, joints, told = vehicle.manipulator, joints_at_rest(vehicle.manipulator), []
    for _ in range(steps):
        joints = move_joints(arm, joints, np.array(target), DT)
        told.append(joints)
    return JointMotion(*(np.stack(x) for x in zip(*told, strict=True)))


@pytest.mark.parametrize('name', ARMS)
def test_the_inertia_of_a_joint_is_what_turning_it_moves(name):
    """Of all that hangs on it: the change of the whole vehicle's momentum about its axis."""
    vehicle = load_vehicle(name, **ARMS[name])
    arm = vehicle.manipulator
    poses = link_poses(arm, np.zeros(len(arm)))
    for j, inertia in enumerate(joint_inertia(arm)):
        momentum = arm_momentum(arm, np.eye(len(arm))[j], poses)
        axis = poses.rotation[j] @ arm.axis[j]
        about = momentum[3:] - np.cross(poses.translation[j], momentum[:3])
        assert inertia == pytest.approx(axis @ about, rel=1e-9)
        assert inertia > 0


def test_drives_are_systems_of_gazebo_with_the_bandwidth_and_effort_of_the_joints():
    vehicle = load_vehicle('bluerov2_heavy', arm='true')
    model = xml.parse(sdf_model(vehicle, drives='position').text, 'model').find('model')
    found = {p.findtext('joint_name'): p for p in model.findall('plugin')}
    assert list(found) == ['shoulder', 'wrist']
    for plugin, inertia in zip(found.values(), joint_inertia(vehicle.manipulator), strict=True):
        assert plugin.get('name') == 'gz::sim::systems::JointPositionController'
        assert float(plugin.findtext('p_gain')) == pytest.approx(inertia * 25)
        assert float(plugin.findtext('d_gain')) == pytest.approx(inertia * 10)  # critical
        assert float(plugin.findtext('cmd_max')) == 10
    told = sdf_model(vehicle, drives='effort')
    assert told.text.count('gz::sim::systems::ApplyJointForce') == 2
    assert any('arm' in w and 'added mass' in w for w in told.warnings)
    assert '<plugin' not in sdf_model(vehicle).text
    with pytest.raises(MarineSimError, match='bluerov2 has no arm'):
        sdf_model(load_vehicle('bluerov2'), drives='effort')


class TestGazebo:
    """What a real server does."""

    pytestmark = gazebo

    def test_constant_efforts_turn_the_joints_by_the_inertia_that_is_free(
        self, tmp_path, gazebo_partition
    ):
        """q = (H − Fᵀ M⁻¹ F)⁻¹ τ t (t + dt)/2 from rest, with the added mass of the vehicle."""
        vehicle = load_vehicle('bluerov2_heavy', arm='true')
        arm, effort = vehicle.manipulator, np.array([0.02, 1e-4])
        motion = in_gazebo('bluerov2_heavy', tmp_path, 100, efforts=effort.tolist())
        poses = link_poses(arm, np.zeros(2))
        coupling = np.stack([arm_momentum(arm, one, poses) for one in np.eye(2)], axis=1)
        mass = pose_vehicle(vehicle, poses).mass_matrix
        # The joints' axes are at right angles through the hand's centre line: H is diagonal.
        free = np.diag(joint_inertia(arm)) - coupling.T @ np.linalg.solve(mass, coupling)
        time = DT * np.arange(1, 41)
        expected = np.linalg.solve(free, effort) * (time * (time + DT) / 2)[:, None]
        np.testing.assert_allclose(motion.angle[:40], expected, rtol=1e-3)
        assert free[0, 0] < 0.9 * joint_inertia(arm)[0]  # the vehicle gives way
        assert reaction_error(vehicle, motion) < 1e-4
        assert np.abs(motion.angular).max() > 0.02

    @pytest.mark.parametrize(
        # Six joints at once pull at each other, which their controllers do not know.
        ('name', 'target', 'apart'),
        [
            ('bluerov2_heavy', [0.8, 1.0], 0.12),
            ('investigator90', [0.5, -0.4, 0.5, 0.5, 0.4, 0.5], 0.35),
        ],
    )
    def test_joints_that_are_sent_somewhere_get_there_as_here(
        self, tmp_path, gazebo_partition, name, target, apart
    ):
        vehicle = load_vehicle(name, **ARMS[name])
        arm = vehicle.manipulator
        commands = {
            f'/model/{name}/joint/{joint}/0/cmd_pos': angle
            for joint, angle in zip(arm.names, target, strict=True)
        }
        motion = in_gazebo(name, tmp_path, 800, drives='position', commands=commands)
        here = driven(vehicle, target, 800)
        assert np.abs(motion.angle - here.position).max() < apart
        np.testing.assert_allclose(motion.angle[-1], target, atol=0.01)
        assert reaction_error(vehicle, motion) < 3e-3 * np.abs(motion.angular).max()
        assert np.abs(motion.angular).max() > 0.02

    def test_a_shoulder_that_swings_turns_the_vehicle_as_here(self, tmp_path, gazebo_partition):
        """The same rates at the joint; pose of the vehicle over 4 s."""
        vehicle = load_vehicle('bluerov2_heavy', arm='true')
        here = driven(vehicle, [0.8, 0.0], 800)
        motion = in_gazebo('bluerov2_heavy', tmp_path, 800, rates=here.rate.tolist())
        np.testing.assert_allclose(motion.angle, here.position, atol=2e-4)
        poses, state = swung(vehicle, [0.8, 0.0], 800)
        assert np.abs(motion.position - poses).max() < 1e-5
        assert np.abs(motion.orientation - state).max() < 5e-5
        assert np.abs(state[-1, 1]) > 0.04


def swung(vehicle, target, steps):
    """Return position and orientation of a vehicle in empty space, one step after each rate."""
    from dataclasses import replace

    from marine_sim_ros.sim.simulation import Simulation

    none = replace(
        vehicle.damping,
        linear=np.zeros((6, 6)),
        quadratic=np.zeros((6, 6)),
        modulus=None,
        elements=None,
        lift=None,
    )
    simulation = Simulation(
        replace(vehicle, damping=none),
        environment=Environment(gravity=0.0, water_density=0.0),
        initial=state_at_rest(),
        implicit_drag=False,
    )
    pwm = np.full(len(vehicle.thrusters), 1500.0)
    states = [simulation.tick(pwm, {'joints': np.array(target)}).state for _ in range(steps + 2)][
        2:
    ]
    return np.stack([s.position for s in states]), np.stack([s.orientation for s in states])
