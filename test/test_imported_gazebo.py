# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Imported SDF vehicles against Gazebo's own plugins, which move the published file itself.

The published ones are not part of this repository. ``MARINE_PUBLISHED`` names the folder of their
sources, as for docs/scripts/make_vehicles.py.
"""

import os
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from processor import PATIENCE

from marine_sim_ros import simulate
from marine_sim_ros.gazebo.delivery import has_binding
from marine_sim_ros.gazebo.server import start_server, stop_server
from marine_sim_ros.gazebo.system.marine_sim_bindings import binding, message
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.importers.writer import urdf_text
from marine_sim_ros.model import xml
from marine_sim_ros.model.urdf import vehicle_from_urdf
from marine_sim_ros.sdf.geometry import add_element, to_text
from marine_sim_ros.sim.scenario import load_scenario

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine'),
    pytest.mark.skipif(not has_binding('gz.transport'), reason='gz.transport: not here'),
]
PUBLISHED = Path(os.environ.get('MARINE_PUBLISHED', '/nowhere'))
DAVE = 'IOES-Lab+dave/models/dave_robot_models/description'
FILES = {
    'bluerov2_ignition': 'clydemcqueen+bluerov2_ignition/models/bluerov2/model.sdf',
    'bluerov2_ignition_heavy': 'clydemcqueen+bluerov2_ignition/models/bluerov2_heavy/model.sdf',
    'orca4': 'clydemcqueen+orca4/orca_description/models/orca4/model.sdf',
    'dave_bluerov2': f'{DAVE}/bluerov2/model.sdf',
    'dave_heavy': f'{DAVE}/bluerov2_heavy/model.sdf',
}
STEP, SECONDS, LAST, DEEP = 0.002, 20.0, 4.0, -50.0
WORLD = f"""<sdf version="1.9"><world name="mine">
<physics name="p" type="ode"><max_step_size>{STEP}</max_step_size>
<real_time_factor>0</real_time_factor></physics><gravity>0 0 -9.8</gravity>
<plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
<plugin filename="gz-sim-user-commands-system" name="gz::sim::systems::UserCommands"/>
<plugin filename="gz-sim-scene-broadcaster-system" name="gz::sim::systems::SceneBroadcaster"/>
<plugin filename="gz-sim-buoyancy-system" name="gz::sim::systems::Buoyancy">
<uniform_fluid_density>DENSITY</uniform_fluid_density></plugin>
</world></sdf>"""


def world_of(path, density):
    """Return the text of a world with a published model in it, deep down, and its thrusters."""
    root, model = (
        xml.parse(WORLD.replace('DENSITY', str(density)), 'world'),
        xml.parse(path.read_text(), str(path)).find('model'),
    )
    for pose in model.findall('pose'):
        model.remove(pose)
    for link in model.findall('link'):
        for visual in [*link.findall('visual'), *link.findall('sensor')]:
            link.remove(visual)  # meshes that a server without a window does not need
    add_element(model, 'pose', [0, 0, DEEP, 0, 0, 0])
    topics = {}
    for plugin in model.findall('plugin'):
        kind = plugin.get('name').split('::')[-1]
        if kind not in ('Thruster', 'Hydrodynamics'):
            model.remove(plugin)  # sensors and ArduPilot
        if kind == 'Thruster':
            joint, space = plugin.findtext('joint_name'), plugin.findtext('namespace')
            own = plugin.findtext('topic')
            topics[joint] = f'/model/{space}/{own or f"joint/{joint}/cmd_thrust"}'
    root.find('world').append(model)
    return to_text(root), model.get('name'), topics


def speed_in_gazebo(text, name, commands, folder):
    """Return the mean speed of the last seconds of a run in which each topic has a force."""
    number, poses = message('Double'), message('Pose_V')
    places, done, node = {}, threading.Event(), binding('gz.transport').Node()

    def hear(told):
        now = told.header.stamp.sec + 1e-9 * told.header.stamp.nsec
        for pose in told.pose:
            if pose.name == name:
                places[now] = (pose.position.x, pose.position.y, pose.position.z)
        if now > SECONDS:
            done.set()

    (folder / 'world.sdf').write_text(text)
    node.subscribe(poses, '/world/mine/dynamic_pose/info', hear)
    publishers = [(node.advertise(topic, number), force) for topic, force in commands.items()]
    server = start_server(folder / 'world.sdf')
    try:
        deadline = time.monotonic() + PATIENCE
        while not done.wait(0.05) and time.monotonic() < deadline and server.poll() is None:
            if not places or min(places) > max(places) - 1.0:  # the first second of the run
                for publisher, force in publishers:
                    publisher.publish(number(data=force))
    finally:
        stop_server(server)
    end = max(places)
    assert end > SECONDS
    begun = min(t for t in places if t > end - LAST)
    return np.linalg.norm(np.subtract(places[end], places[begun])) / (end - begun)


def pulse(vehicle, i, force):
    """Return the pulse width of thruster i for a force, N."""
    widths = np.linspace(1100, 1900, 8001)
    made = [vehicle.thrusters.thrust_of_pwm(np.full(len(vehicle.thrusters), w))[i] for w in widths]
    return float(widths[np.argmin(np.abs(np.array(made) - force))])


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason='MARINE_PUBLISHED: no such folder')
@pytest.mark.parametrize('axis', [0, 2], ids=['surge', 'heave'])
@pytest.mark.parametrize('name', FILES)
def test_it_reaches_the_speed_of_the_published_file(
    name, axis, tmp_path, gazebo_partition, monkeypatch, record_property
):
    for key, value in gazebo_partition.items():
        monkeypatch.setenv(key, value)
    path = PUBLISHED / FILES[name]
    imported = import_vehicle(path)
    vehicle = vehicle_from_urdf(
        urdf_text(imported, None), source=str(path), base=path.parent, base_link=imported.base
    )
    text, model, topics = world_of(path, vehicle.buoyancy.fluid_density)
    force = 0.02 * vehicle.inertia.mass * 9.8
    forces = force * np.sign(np.round(vehicle.thrusters.axis[:, axis], 3))
    commands = {
        topics[name]: float(force)
        for name, force in zip(vehicle.thrusters.names, forces, strict=True)
    }
    pwm = [pulse(vehicle, i, f) for i, f in enumerate(forces)]
    scenario = tmp_path / 'push.yaml'
    scenario.write_text(
        f'duration: {SECONDS}\ninitial: {{position: [0, 0, {DEEP}], rpy: [0, 0, 0]}}\n'
        f'segments: [{{at: 0.0, pwm: {pwm}}}]\n'
    )
    run = simulate(vehicle, load_scenario(str(scenario)))
    ticks = round(LAST / 0.005)
    ours = np.linalg.norm(run.position[-1] - run.position[-1 - ticks]) / LAST
    theirs = speed_in_gazebo(text, model, commands, tmp_path)
    record_property('measured', f'{ours:.4f} m/s, Gazebo {theirs:.4f} m/s')
    assert ours > 0.05
    assert ours == pytest.approx(theirs, rel=0.02)
