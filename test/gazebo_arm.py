# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A vehicle with an arm in a real Gazebo server of this process, in empty space."""

import time
from typing import NamedTuple

import numpy as np
from lxml import etree

from marine_sim_ros.gazebo.system.marine_sim_bindings import binding, message
from marine_sim_ros.model import xml
from marine_sim_ros.sdf.model import sdf_model

DT = 0.005
PHYSICS = '<plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>'


class Motion(NamedTuple):
    """Of every step, at its end: joint angles and rates (n, k), pose and velocity of base_link.

    Position (n, 3) and velocities (n, 3) in the world, orientation (n, 4) x, y, z, w.
    """

    angle: np.ndarray
    rate: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    linear: np.ndarray
    angular: np.ndarray


def world_of(vehicle, drives, folder):
    """Write a world with a vehicle, bare of shapes, and nothing that pulls at it."""
    made = sdf_model(vehicle, drives=drives)
    model = xml.parse(made.text, 'model').find('model')
    for link in model.findall('link'):
        for tag in ('visual', 'collision'):
            for shape in link.findall(tag):
                link.remove(shape)
    path = folder / 'world.sdf'
    path.write_text(
        '<sdf version="1.10"><world name="empty"><gravity>0 0 0</gravity>'
        f'<physics name="p" type="dart"><max_step_size>{DT}</max_step_size>'
        '<real_time_factor>0</real_time_factor></physics>'
        f'{PHYSICS}{etree.tostring(model, encoding="unicode")}</world></sdf>'
    )
    return path


def until(holds, what):
    """Wait for something, 10 s at most."""
    end = time.monotonic() + 10.0
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def moved(vehicle, drives, folder, steps, *, commands=None, rates=None, efforts=()):
    """Return the motion of a vehicle whose arm is moved.

    Args:
        vehicle: the vehicle.
        drives: as of ``sdf_model``.
        folder: for the world.
        steps: number of steps.
        commands: topic and number that are sent before the first step.
        rates: function that returns the joints' commanded rates, called before each step.
        efforts: constant efforts of the joints: the JointForceCmd that ApplyJointForce sets.
    """
    _, _, sim = map(binding, ('gz.common', 'gz.math', 'gz.sim'))  # the last needs the others
    names = vehicle.manipulator.names
    double = message('Double')
    rows, ready, node = [], [], binding('gz.transport').Node()

    def parts(ecm):
        world = sim.World(sim.world_entity(ecm))
        model = sim.Model(world.model_by_name(ecm, vehicle.name))
        joints = [sim.Joint(model.joint_by_name(ecm, name)) for name in names]
        return joints, sim.Link(model.link_by_name(ecm, 'base_link'))

    def before(info, ecm):
        del info
        joints, base = parts(ecm)
        if not ready:
            base.enable_velocity_checks(ecm, True)
            for joint in joints:
                joint.enable_position_check(ecm, True)
                joint.enable_velocity_check(ecm, True)
            ready.append(True)
        if rates is not None:
            for joint, rate in zip(joints, rates(), strict=True):
                joint.set_velocity(ecm, [float(rate)])
        for joint, effort in zip(joints, efforts, strict=False):
            joint.set_force(ecm, [float(effort)])

    def after(info, ecm):
        del info
        joints, base = parts(ecm)
        pose, v, w = (
            base.world_pose(ecm),
            base.world_linear_velocity(ecm),
            base.world_angular_velocity(ecm),
        )
        p, q = pose.pos(), pose.rot()
        rows.append(
            (
                [joint.position(ecm)[0] for joint in joints],
                [joint.velocity(ecm)[0] for joint in joints],
                [p.x(), p.y(), p.z()],
                [q.x(), q.y(), q.z(), q.w()],
                [v.x(), v.y(), v.z()],
                [w.x(), w.y(), w.z()],
            )
        )

    fixture = sim.TestFixture(str(world_of(vehicle, drives, folder)))
    fixture.on_pre_update(before)
    fixture.on_post_update(after)
    fixture.finalize()
    server = fixture.server()
    for topic, number in (commands or {}).items():
        server.run(True, 1, False)  # nothing moves yet
        publisher = node.advertise(topic, double)
        until(publisher.has_connections, topic)
        publisher.publish(double(data=number))
        time.sleep(0.2)  # in which it reaches the system, in another thread
        rows.clear()
    server.run(True, steps, False)
    return Motion(*(np.array(rows) for rows in zip(*rows, strict=True)))
