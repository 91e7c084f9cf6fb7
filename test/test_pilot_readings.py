# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Altitude and leak of the pilot's overlay, from rows and from a recording."""

import math
from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.console.pilot_readings import pilot_readings, pilot_topics
from marine_sim_ros.console.replay import Replay
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

CARRIED = {name: 'true' for name in ('altimeter', 'dvl', 'leak')}


@pytest.fixture(scope='module')
def vehicle():
    return load_vehicle('bluerov2', **CARRIED)


def test_a_vehicle_shows_what_it_has(vehicle):
    assert pilot_readings({}, load_vehicle('bluerov2'), 0.0) == {}
    assert pilot_readings({}, vehicle, 0.0) == {'altitude': None, 'leak': None}
    assert [f'{s.name}/{topic}' for s, topic, *_ in pilot_topics(vehicle)] == [
        'altimeter/range', 'dvl/altitude', 'leak/detected',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ('altimeter', 'dvl', 'expected'),
    [
        ((9.9, 4.0), (9.9, 5.0), 4.0),
        ((9.9, math.inf), (9.9, 5.0), 5.0),
        ((9.9, -math.inf), (9.9, math.nan), None),
        ((6.0, 4.0), (9.0, 5.0), 5.0),
        ((6.0, 4.0), (6.0, 5.0), None),
        ((50.0, 4.0), (50.0, 5.0), None),  # the run was reset
    ],
)
def test_the_altitude_is_the_first_fresh_range(vehicle, altimeter, dvl, expected):
    rows = {'altimeter/range': altimeter, 'dvl/altitude': dvl}
    assert pilot_readings(rows, vehicle, 10.0)['altitude'] == expected


def test_an_altimeter_that_looks_ahead_measures_no_altitude(vehicle):
    ahead = tuple(
        replace(s, place=replace(s.place, quaternion=np.array([0.0, 0.0, 0.0, 1.0])))
        if s.kind == 'altimeter'
        else s
        for s in vehicle.sensors
    )
    rows = {'altimeter/range': (10.0, 4.0)}
    assert pilot_readings(rows, vehicle, 10.0)['altitude'] == 4.0
    assert pilot_readings(rows, replace(vehicle, sensors=ahead), 10.0)['altitude'] is None


@pytest.mark.parametrize('wet', [False, True])
def test_a_leak_is_what_the_detector_found(vehicle, wet):
    assert pilot_readings({'leak/detected': (float(wet),)}, vehicle, 10.0)['leak'] is wet


def test_a_replay_has_the_altitude_above_the_seabed(vehicle, tmp_path):
    options = RunOptions(
        vehicle='bluerov2',
        vehicle_arguments=tuple(f'{n}:={value}' for n, value in CARRIED.items()),
        environment='shallow_sand',
    )
    around = load_environment('shallow_sand')
    run = simulate(vehicle, load_scenario('dive'), environment=around, dt=0.02, duration=0.4)
    write_recording(tmp_path / 'run', vehicle, options, run)
    replay = Replay(str(tmp_path / 'run'))
    found = replay.telemetry_frame(0.38)
    replay.close()
    (altimeter,) = (s for s in vehicle.sensors if s.kind == 'altimeter')
    x, y, z = found['position']
    assert found['leak'] is False
    above = z + altimeter.position[2] - around.scene.ground(x, y)
    assert found['altitude'] == pytest.approx(above, abs=0.2)
