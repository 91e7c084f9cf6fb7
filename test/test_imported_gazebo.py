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
from marine_sim_ros.sdf.xml_writer import add_element, to_text
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


def world_of(path, density, kept=('Thruster', 'Hydrodynamics')):
    """Return the text of a world with a model in it, deep down, and its thrusters."""
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
        if kind not in kept:
            model.remove(plugin)  # sensors and ArduPilot
        if kind == 'Thruster':
            joint, space = plugin.findtext('joint_name'), plugin.findtext('namespace')
            own = plugin.findtext('topic')
            topics[joint] = f'/model/{space}/{own or f"joint/{joint}/cmd_thrust"}'
    root.find('world').append(model)
    return to_text(root), model.get('name'), topics


def speed_in_gazebo(text, name, commands, folder):
    """Return the mean speed of the last seconds of a run in which each topic has a message."""
    poses = message('Pose_V')
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
    publishers = [(node.advertise(topic, type(sent)), sent) for topic, sent in commands.items()]
    server = start_server(folder / 'world.sdf')
    try:
        deadline = time.monotonic() + PATIENCE
        while not done.wait(0.05) and time.monotonic() < deadline and server.poll() is None:
            if not places or min(places) > max(places) - 1.0:  # the first second of the run
                for publisher, sent in publishers:
                    publisher.publish(sent)
    finally:
        stop_server(server)
    end = max(places)
    assert end > SECONDS
    begun = min(t for t in places if t > end - LAST)
    return np.linalg.norm(np.subtract(places[end], places[begun])) / (end - begun)


def our_speed(vehicle, pwm, folder):
    """Return the mean speed of the last seconds of our run at pulse widths."""
    scenario = folder / 'push.yaml'
    scenario.write_text(
        f'duration: {SECONDS}\ninitial: {{position: [0, 0, {DEEP}], rpy: [0, 0, 0]}}\n'
        f'segments: [{{at: 0.0{f", pwm: {pwm}" if pwm else ""}}}]\n'
    )
    run = simulate(vehicle, load_scenario(str(scenario)))
    ticks = round(LAST / 0.005)
    return np.linalg.norm(run.position[-1] - run.position[-1 - ticks]) / LAST


def imported_vehicle(path):
    """Return the vehicle that an SDF file is imported as."""
    builder = import_vehicle(path)
    return vehicle_from_urdf(
        urdf_text(builder, None), source=str(path), base=path.parent, base_link=builder.base
    )


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
    vehicle = imported_vehicle(path)
    text, model, topics = world_of(path, vehicle.buoyancy.fluid_density)
    force = 0.02 * vehicle.inertia.mass * 9.8
    forces = force * np.sign(np.round(vehicle.thrusters.axis[:, axis], 3))
    commands = {
        topics[name]: message('Double')(data=float(force))
        for name, force in zip(vehicle.thrusters.names, forces, strict=True)
    }
    pwm = [pulse(vehicle, i, f) for i, f in enumerate(forces)]
    ours = our_speed(vehicle, pwm, tmp_path)
    theirs = speed_in_gazebo(text, model, commands, tmp_path)
    record_property('measured', f'{ours:.4f} m/s, Gazebo {theirs:.4f} m/s')
    assert ours > 0.05
    assert ours == pytest.approx(theirs, rel=0.02)


BODY = """<sdf version="1.9"><model name="body"><link name="base_link"><inertial><mass>64</mass>
<inertia><ixx>3</ixx><iyy>3</iyy><izz>3</izz></inertia></inertial><collision name="c"><geometry>
<box><size>0.4 0.4 0.4</size></box></geometry></collision></link>
<plugin filename="gz-sim-hydrodynamics-system" name="gz::sim::systems::Hydrodynamics">
<link_name>base_link</link_name><xUabsU>-40</xUabsU><yVabsV>-60</yVabsV><zWabsW>-80</zWabsW>
<kP>-20</kP><mQ>-20</mQ><nR>-20</nR></plugin>{}</model></sdf>"""
ROTOR = """<link name="{name}"><pose>0 0 0 0 1.5707963267948966 0</pose><inertial>
<mass>0.001</mass>
<inertia><ixx>1e-5</ixx><iyy>1e-5</iyy><izz>1e-5</izz></inertia></inertial></link>
<joint name="{name}_joint" type="revolute"><parent>base_link</parent><child>{name}</child>
<axis><xyz>0 0 1</xyz></axis></joint>"""
THRUSTER = """<plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster">
<namespace>body</namespace><joint_name>prop_joint</joint_name><max_thrust_cmd>30</max_thrust_cmd>
<thrust_coefficient>0.004</thrust_coefficient><fluid_density>1000</fluid_density>
<propeller_diameter>0.2</propeller_diameter></plugin>"""
MOTOR = """<plugin filename="gz-sim-multicopter-motor-model-system"
name="gz::sim::systems::MulticopterMotorModel"><robotNamespace>body</robotNamespace>
<jointName>{name}_joint</jointName><linkName>{name}</linkName><turningDirection>{turn}
</turningDirection><motorConstant>0.002</motorConstant><maxRotVelocity>100</maxRotVelocity>
<momentConstant>0</momentConstant><rotorDragCoefficient>0</rotorDragCoefficient>
<rollingMomentCoefficient>0</rollingMomentCoefficient><commandSubTopic>motors</commandSubTopic>
<actuator_number>{number}</actuator_number><timeConstantUp>0.02</timeConstantUp>
<timeConstantDown>0.02</timeConstantDown><rotorVelocitySlowdownSim>1</rotorVelocitySlowdownSim>
<motorType>velocity</motorType></plugin>"""
WING = """<plugin filename="gz-sim-lift-drag-system" name="gz::sim::systems::LiftDrag">
<link_name>base_link</link_name><air_density>1000</air_density><area>0.05</area><a0>0.15</a0>
<cla>3</cla><cda>0.4</cda><alpha_stall>0.5</alpha_stall><cla_stall>-1</cla_stall>
<cda_stall>1</cda_stall><forward>1 0 0</forward><upward>0 0 1</upward><cp>0 0 0</cp></plugin>"""
ENGINE = """<plugin filename="gz-sim-buoyancy-engine-system"
name="gz::sim::systems::BuoyancyEngine"><link_name>base_link</link_name><namespace>body</namespace>
<min_volume>0</min_volume><neutral_volume>0.0005</neutral_volume><max_volume>0.002</max_volume>
<default_volume>0.0013</default_volume><max_inflation_rate>0.0003</max_inflation_rate></plugin>"""
SYSTEMS = {
    'motors': ('multicopter-motor-model', 'MulticopterMotorModel', (
        ROTOR.format(name='a') + ROTOR.format(name='b')
        + MOTOR.format(name='a', turn='ccw', number=0)
        + MOTOR.format(name='b', turn='cw', number=1)
    )),
    'wing': ('lift-drag', 'LiftDrag', ROTOR.format(name='prop') + THRUSTER + WING),
    'engine': ('buoyancy-engine', 'BuoyancyEngine', ENGINE),
}  # fmt: skip
"""Library, class and elements of a system."""


def has_system(name):
    """Return whether the server finds the library of a system."""
    prefix = Path(shutil.which('gz') or '/nowhere').resolve().parents[1]
    folders = [Path(p) for p in os.environ.get('GZ_SIM_SYSTEM_PLUGIN_PATH', '').split(':') if p]
    for pattern in ('lib/gz-sim-*/plugins', 'lib/*/gz-sim-*/plugins'):
        folders += prefix.glob(pattern)
    return any((folder / f'libgz-sim-{name}-system.so').is_file() for folder in folders)


@pytest.mark.parametrize('kind', SYSTEMS)
def test_a_body_with_one_system_reaches_the_speed_that_gazebo_gives_it(
    kind, tmp_path, gazebo_partition, monkeypatch, record_property
):
    library, system, inside = SYSTEMS[kind]
    if not has_system(library):
        pytest.skip(f'gz-sim-{library}-system: not in this Gazebo')
    for key, value in gazebo_partition.items():
        monkeypatch.setenv(key, value)
    path = tmp_path / 'model.sdf'
    path.write_text(BODY.format(inside))
    vehicle = imported_vehicle(path)
    text, name, topics = world_of(path, 1000.0, ('Thruster', 'Hydrodynamics', system))
    commands = {topic: message('Double')(data=30.0) for topic in topics.values()}
    if kind == 'motors':
        commands = {'/body/motors': message('Actuators')(velocity=[100.0, 100.0])}
    theirs = speed_in_gazebo(text, name, commands, tmp_path)
    ours = our_speed(vehicle, [1900] * len(vehicle.thrusters), tmp_path)
    record_property('measured', f'{ours:.4f} m/s, Gazebo {theirs:.4f} m/s')
    assert ours > 0.05
    assert ours == pytest.approx(theirs, rel=0.02)
