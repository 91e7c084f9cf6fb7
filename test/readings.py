# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Readings of a recorded run beside those that its recorded states give in this process."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from conftest import ROOT
from graph import by_stamp, recorded, stamp_of

from marine_sim_ros import load_scenario, load_vehicle
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import parse_xacro_arguments
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.series import SensorReader

SEEN = ('dvl', 'altimeter', 'scanning_sonar', 'imaging_sonar', 'usbl', 'thermometer', 'leak')
FAULTS = """
faults:
  - {kind: battery}
  - {kind: sensor_bias, sensor: dvl, quantity: velocity, size: 0.1, at: 0.8}
  - {kind: sensor_freeze, sensor: magnetometer, at: 1.0, until: 1.5}
  - {kind: sensor_dropout, sensor: altimeter, share: 0.3}
"""
ON_THEIR_WAY = 1_000_000_000
"""ns before the end of a run, whose messages may be missing."""


def numbers(*vectors):
    return np.array([getattr(v, name) for v in vectors for name in 'xyzw' if hasattr(v, name)])


def state_of(odom):
    pose, twist = odom.pose.pose, odom.twist.twist
    return State(
        numbers(pose.position), numbers(pose.orientation), numbers(twist.linear, twist.angular)
    )


def same(message, fields, where):
    """Check that a message has the fields (nested), each number to the bit."""
    for name, wanted in fields.items():
        found = getattr(message, name)
        if isinstance(wanted, Mapping):
            same(found, wanted, f'{where}.{name}')
        elif isinstance(wanted, list) and wanted and isinstance(wanted[0], Mapping):
            for i, (one, each) in enumerate(zip(found, wanted, strict=True)):
                same(one, each, f'{where}.{name}[{i}]')
        else:
            found = np.asarray(found)
            given = np.frombuffer(wanted, np.uint8) if isinstance(wanted, bytes) else wanted
            given = np.asarray(given).astype(found.dtype)
            nan = found.dtype.kind == 'f'
            # A number of a float32 field comes as a double.
            single = given.astype(np.float32) if nan and not found.shape else given
            equal = any(np.array_equal(found, each, equal_nan=nan) for each in (given, single))
            assert equal, f'{where}.{name} is {found}; expected {given}'


def check_readings(topics, vehicle, environment, *, seed=0, faults=()):
    """Check that sensors read in a recorded run what they read in its recorded states, to the bit.

    Args:
        topics: messages by topic, then in order, as of the bag.
        vehicle: the vehicle.
        environment: around it.
        seed: of the run.
        faults: of the run.

    Returns:
        how many messages were compared, by topic.
    """
    odom = by_stamp(topics['odom'])
    changes, supplies = by_stamp(topics['acceleration']), by_stamp(topics['thrusters/supply'])
    wanted = defaultdict(list)
    end = max(odom) - ON_THEIR_WAY
    for sensor in vehicle.sensors:
        reader = SensorReader(sensor, seed)
        for stamp in sorted(set(odom) & set(changes) & set(supplies)):
            accel = changes[stamp].accel
            inputs = SensorInputs(
                np.asarray(stamp / 1e9),
                numbers(accel.linear, accel.angular),
                np.array(supplies[stamp].position),
            )
            around = environment.at(stamp / 1e9)
            if (told := reader.read(stamp, state_of(odom[stamp]), around, inputs, faults)) is None:
                continue
            for topic in SENSORS[sensor.kind].topics_of(sensor):
                if (fields := topic.fields(sensor, told[1])) is not None:
                    wanted[f'{sensor.name}/{topic.name}'].append((stamp, told[0], fields))
    counts = {}
    for name, readings in wanted.items():
        found = topics[name]
        assert len(found) >= sum(arrival < end for _, arrival, _ in readings), name
        for message, (stamp, _, fields) in zip(found, readings, strict=False):
            if hasattr(message, 'header'):
                assert stamp_of(message) == stamp, name
            same(message, fields, f'{name} at {stamp}')
        counts[name] = len(found)
    return counts


def everything(folder):
    """Return options of a dive over sand with many sensors and faults, recorded in a folder."""
    scenario = folder / 'wrong.yaml'
    scenario.write_text((ROOT / 'config' / 'scenarios' / 'dive.yaml').read_text() + FAULTS)
    return {
        'vehicle': 'bluerov2',
        'vehicle_arguments': tuple(f'{name}:=true' for name in SEEN),
        'scenario': str(scenario),
        'environment': 'shallow_sand',
        'seed': 3,
        'record': str(folder / 'run'),
    }


def check_recording(options):
    """Check a recorded run with ``check_readings``; all sensors that it has told something."""
    vehicle = load_vehicle(options.vehicle, **parse_xacro_arguments(options.vehicle_arguments))
    counts = check_readings(
        {name: list(found.values()) for name, found in recorded(Path(options.record)).items()},
        vehicle,
        load_environment(options.environment),
        seed=options.seed,
        faults=load_scenario(options.scenario).faults,
    )
    assert {name.partition('/')[0] for name in counts} == {s.name for s in vehicle.sensors}
    return counts
