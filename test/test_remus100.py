# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""REMUS 100 beside two foreign programs, run outside the repository.

Speed by rpm: PythonVehicleSimulator c717e073 (Fossen, MIT), ``remus100.dynamics`` with constant
rpm and fins at 0, 120 s, steps of 0.02 s. Turns and dives: AUV_model.py of
Psarhadi/AUV-Autonomous-Underwater-Vehicle-Six-DOF-Simulation 86d9ec65, Prestero's coefficients,
with B = W, K_pp −0.13, m 30.48 kg, and drag ahead, thrust and torque of this vehicle in its place.
"""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

MAX_RPM, FOREIGN_RPM, FOREIGN_SPEED = 1525.0, 1000.0, 1.67407
FOREIGN_TURNS = {5: (1.14741, 8.2044), 10: (1.13923, 6.6563)}
"""Rudder in ° -> mean speed in m/s and radius in m from 30 to 60 s, 700 rpm, from 1.1 m/s."""
FOREIGN_DIVES = {2: (0.5982, 17.292), 4: (0.8501, 23.735)}
"""Planes in ° -> depth in m and pitch in ° after 4 s, 1000 rpm, from 1.6 m/s, lag 0.1 s."""


def steer(vehicle, rpm, speed, duration, dt, *, rudder=0.0, planes=0.0):
    """Return a run with constant rpm and deflections in degrees."""
    ru, pl = np.radians([rudder, planes])
    scenario = parse_scenario(
        f'duration: {duration}\ninitial: {{position: [0, 0, -100]}}\nsegments:\n'
        f'  - {{at: 0, pwm: [{1500 + 400 * rpm / MAX_RPM:.6f}], fins: {{rudder_upper: {ru:.6f}, '
        f'rudder_lower: {ru:.6f}, plane_port: {pl:.6f}, plane_starboard: {pl:.6f}}}}}',
        'steer',
    )
    start = replace(scenario, velocity=(speed, 0.0, 0.0, 0.0, 0.0, 0.0))
    return simulate(vehicle, start, dt=dt)


def test_speed_by_rpm_is_that_of_the_foreign_program():
    scenario = parse_scenario(
        'duration: 25.0\ninitial: {position: [0, 0, -12]}\n'
        'segments: [{at: 0, control: {surge: 2.0, z: -12.0, yaw: 0.0}}]',
        'ahead',
    )
    start = replace(scenario, velocity=(1.5, 0.0, 0.0, 0.0, 0.0, 0.0))
    run = simulate(vehicle_of('remus100'), start, dt=0.04)
    u, v, w = run.velocity[-1, :3]
    assert max(abs(v), abs(w)) < 0.01  # straight
    assert run.position[-1, 2] == pytest.approx(-12.0, abs=0.05)
    rpm = (float(run.pwm[-1, 0]) - 1500) / 400 * MAX_RPM
    assert u / rpm == pytest.approx(FOREIGN_SPEED / FOREIGN_RPM, rel=0.01)


@pytest.mark.parametrize('rudder', FOREIGN_TURNS)
def test_a_turn_is_that_of_the_foreign_program(rudder):
    speed, radius = FOREIGN_TURNS[rudder]
    run = steer(vehicle_of('remus100'), 700, 1.1, 60, 0.04, rudder=rudder)
    later = slice(750, None)
    yaw = np.unwrap([float(rpy_from_quaternion(q)[2]) for q in run.orientation[later]])
    rate = (yaw[-1] - yaw[0]) / 30
    found = float(np.mean(np.linalg.norm(run.velocity[later, :3], axis=1)))
    assert rate < 0  # positive rudder: to starboard
    assert found == pytest.approx(speed, rel=0.02)
    assert found / -rate == pytest.approx(radius, rel=0.02)


@pytest.mark.parametrize('planes', FOREIGN_DIVES)
def test_a_dive_is_that_of_the_foreign_program(planes):
    depth, pitch = FOREIGN_DIVES[planes]
    text = vehicle_of('remus100').urdf.replace('<time_constant>1.0</time_constant>', '')
    run = steer(load_vehicle(text), 1000, 1.6, 4.0, 0.01, planes=-planes)
    down = float(np.degrees(rpy_from_quaternion(run.orientation[-1])[1]))
    assert down == pytest.approx(pitch, rel=0.03)
    # The place of the hull's lift: at −0.233 m 5 % less, at 0 m 10 % more than the foreign depth.
    assert -100 - run.position[-1, 2] == pytest.approx(depth, rel=0.04)


@pytest.mark.ros
def test_a_survey_has_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    run_everywhere(
        processes, tmp_path, 'remus100', '--scenario', 'lawn_mower', '--duration', 2, '--dt', 0.02
    )
