# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cameras of a fleet: pictures of the graph are those of `simulate`, propellers included."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from graph import stamp_of

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.seen_bodies import (
    OTHER_VEHICLE,
    TETHER_LABEL,
    OwnParts,
    body_of,
    label,
    with_vehicles,
)
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.fleet_simulation import simulate_fleet
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.usefixtures('renderer')

AROUND = """
water: {kind: fresh, temperature: 20.0}
seabed: {depth: 5.0, material: sand}
payloads:
  - {name: brick, shape: box, size: [0.2, 0.1, 0.06], position: [2.22, 0.0, -3.1], mass: 2.0}
"""
FLEET = """
vehicles:
  - {vehicle: SEEING, name: seeing, scenario: ALONG, initial: {position: [0, 0, -3]}}
  - {vehicle: bluerov2_heavy, name: heavy, arguments: {arm: true, tether: fathom}, scenario: GRIPS,
     initial: {position: [1.6, 0.0, -3]}}
  - {vehicle: simple_rov, name: last, scenario: REST, initial: {position: [4, 1.5, -3]}}
"""
ALONG = """
duration: 0.6
segments:
  - {at: 0.0, pwm: [1560, 1540, 1480, 1450, 1530, 1470]}
"""
GRIPS = """
duration: 0.6
segments:
  - {at: 0.0, pwm: [1580, 1560, 1430, 1450, 1620, 1590, 1610, 1600], joints: {shoulder: 0.3}}
  - {at: 0.1, pwm: [1640, 1560, 1430, 1450, 1620, 1590, 1610, 1600], gripper: close,
     joints: {shoulder: 0.3}}
"""
REST = """
duration: 0.6
segments:
  - {at: 0.0, pwm: [1500, 1500, 1500, 1500, 1500]}
"""
CAMERAS = """
<sensor type="camera" name="ahead" link="base_link" rate="10"><origin xyz="0.2 0.15 0.25"
 rpy="0 0.1 -0.1"/><width>240</width><height>180</height><segmentation>1</segmentation></sensor>
<sensor type="camera" name="own" link="base_link" rate="10"><origin xyz="-0.6 0.1 0.15"
 rpy="0 0.2 -0.1"/><width>160</width><height>120</height></sensor></robot>
"""


@pytest.fixture
def fleet(tmp_path):
    """Return the file of the fleet, and that of what is around it."""
    seeing = vehicle_of('bluerov2').urdf.replace('</robot>', CAMERAS)
    written = {'SEEING': seeing, 'ALONG': ALONG, 'GRIPS': GRIPS, 'REST': REST}
    text = FLEET
    for name, content in written.items():
        path = tmp_path / (f'{name}.urdf' if name == 'SEEING' else f'{name}.yaml')
        path.write_text(content)
        text = text.replace(name, str(path))
    (tmp_path / 'fleet.yaml').write_text(text)
    (tmp_path / 'around.yaml').write_text(AROUND)
    return tmp_path / 'fleet.yaml', tmp_path / 'around.yaml'


def simulated(fleet):
    path, around = fleet
    common = RunOptions(environment=str(around), dt=0.01, seed=3)
    return simulate_fleet(fleet_runs(FLEETS.load(str(path)), common))


def test_simulate_shows_the_other_vehicles_of_a_fleet(fleet):
    found = simulated(fleet)
    run, heavy = found['/seeing'], found['/heavy']
    series = run.sensors['ahead']
    assert len(series.stamp) == 7
    wanted = {*(label(OTHER_VEHICLE, i) for i in range(3)), label(TETHER_LABEL, 1)}
    assert wanted <= set(np.unique(series['segmentation'][-1]))
    # The same again, put together by hand from both trajectories at one tick.
    stamp = series.stamp[-1]
    i = int(np.searchsorted(run.stamp, stamp))
    others = run.sensors._others
    bodies = {name: body_of(one._vehicle, name) for name, one in others.items()}
    states = {
        name: None if 'last' in name else State(*(x[i] for x in one._states))
        for name, one in others.items()
    }
    inputs = {name: one.inputs.at(i) for name, one in others.items()}
    assert len(others) == 3
    assert heavy.actuators['gripper'][i] == 1
    assert np.ptp(run.bodies['/bodies/brick'].position[:, 2]) > 1e-3
    environment = load_environment(str(fleet[1])).at(stamp * 1e-9)
    own = run.sensors._vehicle
    environment = replace(environment, looks=OwnParts(own))
    (sensor,) = (s for s in own.sensors if s.name == 'ahead')
    expected = SENSORS['camera'].measure(
        sensor,
        State(run.position[i], run.orientation[i], run.velocity[i]),
        with_vehicles(environment, bodies, states, inputs),
        run.sensors.inputs.at(i),
    )['segmentation']
    # But for the third vehicle.
    number = [*others].index('/last')
    other = series['segmentation'][-1] == label(OTHER_VEHICLE, number)
    assert 20 < other.sum() < 2000
    assert np.array_equal(series['segmentation'][-1][~other], expected[~other])


def pictures(folder, sensor):
    """Return the recorded pictures by stamp, ns."""
    from rosbags.highlevel import AnyReader

    with AnyReader([folder / 'bag']) as reader:
        own = [c for c in reader.connections if c.topic == f'/seeing/{sensor}/image']
        messages = [reader.deserialize(data, c.msgtype) for c, _, data in reader.messages(own)]
    return {stamp_of(m): m.data for m in messages}


@pytest.mark.ros
@pytest.mark.clock
@pytest.mark.timeout(600)
def test_pictures_of_the_graph_are_those_of_simulate_with_propellers_that_turn(
    processes, fleet, tmp_path
):
    pytest.importorskip('rosbags')
    path, around = fleet
    process = processes.marine_sim(
        'run',
        '--fleet',
        path,
        '--environment',
        around,
        '--dt',
        0.01,
        '--seed',
        3,
        '--real-time-factor',
        0,
        '--record',
        tmp_path / 'run',
    )
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert 'silent' not in output
    expected = simulated(fleet)['/seeing'].sensors
    for name in ('ahead', 'own'):
        found, series = pictures(tmp_path / 'run', name), expected[name]
        assert list(found) == series.stamp.tolist()
        for stamp, image in zip(series.stamp.tolist(), series['image'], strict=True):
            assert np.array_equal(found[stamp], image.ravel()), (name, stamp)
    # Propellers are in both pictures, and turned: at rest they look otherwise.
    still = at_rest(fleet)
    for name in ('ahead', 'own'):
        differ = np.any(still[name]['image'] != expected[name]['image'], axis=-1)
        assert np.all(differ[1:].sum(axis=(1, 2)) > 10), name


def at_rest(fleet):
    """Return the sensors of the seeing vehicle in a run in which no rotor turns to be seen."""
    records = {name: one.sensors for name, one in simulated(fleet).items()}
    for record in records.values():
        inputs = record.inputs
        record.inputs = inputs._replace(rotors=np.zeros_like(inputs.rotors))
    return records.pop('/seeing').with_others(records)
