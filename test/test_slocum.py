# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The Slocum-class glider beside gliderflight and the equations of its flight model."""

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

DENSITY, AREA, PARASITE, INDUCED, SLOPE = 1027.119, 0.1, 0.1, 0.78 + 2.1, 3.7 + 2.4
# gliderflight (github.com/smerckel/gliderflight, MIT, 0ad087b), steady, with these coefficients:
# battery m, volume m³, pitch °, speed m/s, glide angle °, sink rate m/s.
FOREIGN = [
    (0.010, -0.00020, -20.9994, 0.38510, 23.2824, 0.15222),
    (0.015, -0.00020, -28.0983, 0.43607, 29.7806, 0.21659),
    (0.020, -0.00025, -35.1156, 0.53563, 36.4079, 0.31791),
    (-0.020, 0.00020, 33.8441, 0.47183, 35.1972, -0.27196),
]


def flight_model(pitch, volume):
    """Return speed and glide angle of D = F sin γ, L = F cos γ, γ = θ + α, by bisection."""
    low, high = 1e-6, np.pi / 4
    for _ in range(80):
        attack = (low + high) / 2
        balance = (PARASITE + INDUCED * attack**2) / (SLOPE * np.tan(attack + pitch)) - attack
        low, high = (attack, high) if balance > 0 else (low, attack)
    force = abs(volume) * DENSITY * 9.81
    drag = PARASITE + INDUCED * attack**2
    square = 2 * force * np.sin(pitch + attack) / (DENSITY * AREA * drag)
    return np.sqrt(square), pitch + attack


@pytest.mark.parametrize('row', FOREIGN, ids=['flat', 'usual', 'steep', 'up'])
def test_speed_glide_angle_and_sink_rate_are_those_of_gliderflight(row):
    slide, volume, pitch, speed, angle, sink = row
    play = parse_scenario(
        'duration: 240\n'
        f'initial: {{position: [0, 0, -200], rpy: [0, {np.sign(slide) * 0.4}, 0]}}\n'
        f'segments: [{{at: 0, joints: {{battery_slide: {slide}}}, '
        f'buoyancy_engines: {{bladder: {volume}}}}}]',
        'glide',
    )
    run = simulate(vehicle_of('slocum'), play, dt=0.1)
    way = run.position[-201] - run.position[-1]  # 20 s
    found_pitch = -float(rpy_from_quaternion(run.orientation[-1])[1])
    assert np.degrees(found_pitch) == pytest.approx(pitch, abs=0.05)
    assert np.linalg.norm(run.velocity[-1, :3]) == pytest.approx(speed, rel=0.01)
    found_angle = np.arctan2(abs(way[2]), np.hypot(*way[:2]))
    assert np.degrees(found_angle) == pytest.approx(angle, rel=0.01)
    assert way[2] / 20 == pytest.approx(sink, rel=0.01)
    own_speed, own_angle = flight_model(abs(found_pitch), volume)
    assert own_speed == pytest.approx(speed, rel=2e-3)
    assert found_angle == pytest.approx(own_angle, rel=2e-3)


@pytest.mark.ros
def test_a_glide_has_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    run_everywhere(
        processes, tmp_path, 'slocum', '--scenario', 'glide', '--duration', 2, '--dt', 0.02
    )
