# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Jaws of a gripper: they hold a body by the friction of their pads."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from bodies import environment

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.gazebo.delivery import IN_SERVER, check_gazebo_bodies
from marine_sim_ros.model.materials import shipped_materials
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import Simulation, simulate

G, FORCE, DT = 9.8, 60.0, 0.005
ROV = """<robot name="probe">
  <link name="base_link"><inertial><mass value="{mass}"/>
    <inertia ixx="{mass}" ixy="0" ixz="0" iyy="{mass}" iyz="0" izz="{mass}"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base_link"/><child link="hand"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
  <buoyancy><volume>{volume}</volume><center_of_volume>0 0 0</center_of_volume></buoyancy>
  <hydrodynamics><water_density>1000</water_density></hydrodynamics>
  <gripper joint="elbow" xyz="0.3 0 0">
    <jaws force="60" opening="0.081" material="{material}" {more}/></gripper>
</robot>"""
CLOSED, OPEN = {'gripper': np.ones(1)}, {'gripper': np.zeros(1)}


def rov(mass=1e5, material='rubber', more=''):
    volume = (mass + 1) / 1000
    return load_vehicle(ROV.format(mass=mass, volume=volume, material=material, more=more))


def body(mass, more='volume: 0'):
    return environment(
        'water: {density: 1000}\nbodies:\n  - {name: body, shape: box, size: [0.1, 0.08, 0.4], '
        f'position: [0.7, 0, -10], mass: {mass}, {more}, drag_coefficient: 0, material: steel}}\n'
    )


def start(vehicle, env):
    initial = State(np.array([0, 0, -10.0]), np.array([0, 0, 0, 1.0]), np.zeros(6))
    return Simulation(vehicle, environment=env, initial=initial, dt=DT)


def ticks(simulation, count, command=CLOSED):
    return [simulation.tick(np.zeros(0), command) for _ in range(count)]


@pytest.mark.parametrize('material', ['rubber', 'steel'])
@pytest.mark.parametrize('share', [0.97, 1.03])
def test_a_body_slips_at_the_friction_of_both_pads(material, share):
    """Its weight is a share of 2 μ N; while it slides, the pads hold it with 2 μ N."""
    friction = shipped_materials().contact(material, 'steel').friction
    simulation = start(rov(material=material), body(share * 2 * friction * FORCE / G))
    velocity = np.array([tick.bodies[0, 9] for tick in ticks(simulation, 45)])
    falling = simulation.environment.free_bodies[0].vehicle
    force = falling.mass_matrix[2, 2] * np.diff(velocity)[20:] / DT + falling.inertia.mass * G
    np.testing.assert_allclose(force, 2 * friction * FORCE, rtol=1e-3)
    sliding = np.diff(velocity)[20:]
    assert np.all(sliding > 0) if share < 1 else np.all(sliding < 0)


def test_a_body_that_the_pads_hold_stays():
    """It comes to rest between them, and the pads are where it ends."""
    friction = shipped_materials().contact('rubber', 'steel').friction
    simulation = start(rov(), body(0.9 * 2 * friction * FORCE / G))
    path = ticks(simulation, 100)
    fallen = np.array([tick.bodies[0, 2] - tick.bodies[1, 2] for tick in path])
    assert np.ptp(fallen[-40:]) < 1e-6
    np.testing.assert_allclose(path[-1].body_joints, [5e-4, 5e-4], atol=5e-5)
    assert abs(np.diff(path[-1].body_joints)) < 1e-7  # their gear
    falls = ticks(simulation, 40, OPEN)[-1]
    assert falls.bodies[0, 2] - falls.bodies[1, 2] < fallen[-1] - 0.05


def test_what_the_jaws_do_keeps_momentum():
    """Vehicle, pads and body together, without weight and in almost no water."""
    vehicle = rov(mass=20.0)
    env = body(4.0, 'volume: 0, velocity: [0.05, 0, 0.1]')
    env = replace(env.with_jaws(vehicle), gravity=0.0, water_density=1e-9)
    pads = re.compile(r'(?<=_damping>)[^<]+')  # their drag
    bodies = [
        replace(b, description=pads.sub('0 0 0 0 0 0', b.description)) for b in env.free_bodies
    ]
    env = replace(env, free_bodies=tuple(bodies))
    initial = State(np.array([0, 0, -10.0]), np.array([0, 0, 0, 1.0]), np.zeros(6))
    simulation = Simulation(
        vehicle, environment=env, initial=initial, dt=DT, integrator='conserving'
    )
    masses = [vehicle.mass_matrix, *(b.vehicle.mass_matrix for b in env.free_bodies)]
    totals = []
    for tick in ticks(simulation, 60):
        rows = [np.concatenate(tick.state), *tick.bodies]
        momenta = [
            rotation_matrix(row[3:7]) @ (mass @ row[7:])[:3]
            for row, mass in zip(rows, masses, strict=True)
        ]
        totals.append(np.sum(momenta, axis=0))
    assert np.abs(tick.body_joints - 5e-4).max() < 2e-4  # they hold it
    assert np.abs(tick.state.velocity[:3]).max() > 1e-3  # and it takes the vehicle along
    np.testing.assert_allclose(totals, np.tile(totals[0], (60, 1)), atol=1e-9)


def test_jaws_grip_a_valve_and_the_wrist_turns_it():
    """From its closed stop to its open one, by 90 degrees; then they let go and move away."""
    vehicle = load_vehicle('bluerov2_heavy', arm='true', gripper='jaws')
    run = simulate(
        vehicle, load_scenario('turn_valve'), environment=load_environment('valve_panel'), dt=0.01
    )
    names, angles = run.body_joints['/bodies/handle_middle']
    angle = dict(zip(names, angles.T, strict=True))['valve_middle']
    held, end = round(12 / 0.01), round(21 / 0.01)
    assert np.abs(angle[:held]).max() < 1e-3
    assert angle[end] == pytest.approx(np.pi / 2, abs=1e-3)
    assert angle[-1] == pytest.approx(np.pi / 2, abs=1e-3)
    opening = run.body_joints['/bodies/jaw_port'][1][:, 0]
    assert opening[end] == pytest.approx(0.035, abs=1e-3)  # the handle is 5 cm thick
    assert opening[-1] < 1e-3
    assert run.position[-1, 0] < 1.2


def test_jaws_plug_a_hot_stab_in_and_pull_it_out():
    """It mates where it has moved by 0.1 m, breaks by a pull, and ends where it began."""
    vehicle = load_vehicle('bluerov2_heavy', arm='true', gripper='jaws')
    run = simulate(
        vehicle, load_scenario('plug_stab'), environment=load_environment('hot_stab'), dt=0.01
    )
    names, rows = run.body_joints['/bodies/stab']
    columns = dict(zip(names, rows.T, strict=True))
    closed = np.flatnonzero(np.isfinite(columns['hot_stab'])) * 0.01
    assert 6.0 < closed[0] < 10.0 < closed[-1] < 14.0
    assert np.ptp(closed) == pytest.approx(0.01 * (len(closed) - 1))
    travel = columns['guide']
    assert travel[round(closed[0] / 0.01)] == pytest.approx(0.1, abs=1e-3)
    assert travel[-1] == pytest.approx(0.0, abs=1e-3)
    assert run.position[-1, 0] < 1.0


def test_jaws_that_cannot_be_are_refused():
    with pytest.raises(ParameterError, match='jaws: axis is 0 long; expected a direction'):
        start(rov(more='axis="0 0 0"'), body(1.0))
    named = environment(
        'bodies: [{name: jaw_port, shape: sphere, radius: 0.1, position: [0, 0, 0], mass: 1}]'
    )
    with pytest.raises(ParameterError, match="body 'jaw_port' has the name of a jaw of probe"):
        named.with_jaws(rov())
    with pytest.raises(ParameterError, match='jaws of a gripper'):
        check_gazebo_bodies(rov(), Environment().with_jaws(rov()), IN_SERVER)
