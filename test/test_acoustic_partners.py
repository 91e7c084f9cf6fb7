# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Acoustic sensors whose far end another vehicle of the fleet carries."""

import numpy as np
import pytest
from conftest import ROOT

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.ros.node_graph import fleet_node_specs
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.fleet_simulation import simulate_fleet
from marine_sim_ros.sim.options import RunOptions

BODY = (ROOT / 'urdf' / 'simple_rov.urdf').read_text(encoding='utf-8')
HEAD = """  <link name="head"/>
  <joint name="head_joint" type="fixed">
    <parent link="base_link"/><child link="head"/>
    <origin xyz="0.2 -0.1 -0.3" rpy="3.141592653589793 0 0.5"/>
  </joint>
</robot>"""


def fleet_file(tmp_path, sensors, *, names=('scout', 'boat')):
    """Write a fleet: the first vehicle has the sensors, the second a link `head`."""
    count = len(load_vehicle('simple_rov').thrusters)
    script = f'duration: 1.0\nsegments:\n  - {{at: 0.0, pwm: {[1600] * count}}}\n'
    (tmp_path / 'push.yaml').write_text(script)
    (tmp_path / 'scout.urdf').write_text(BODY.replace('</robot>', f'{sensors}</robot>'))
    (tmp_path / 'boat.urdf').write_text(BODY.replace('</robot>', HEAD))
    places = {
        'scout': '[12, 5, -9], rpy: [0.1, 0.2, 2.0]',
        'boat': '[2, -1, -2], rpy: [0, 0.2, 0.5]',
    }
    rows = '\n'.join(
        f'  - {{vehicle: {tmp_path / place}.urdf, name: {name}, scenario: {tmp_path}/push.yaml, '
        f'initial: {{position: {places[place]}}}}}'
        for name, place in zip(names, places, strict=True)
    )
    path = tmp_path / 'fleet.yaml'
    path.write_text(f'vehicles:\n{rows}\n')
    return path


def polar_of(away):
    return [
        np.linalg.norm(away),
        np.arctan2(away[1], away[0]),
        np.arctan2(away[2], np.hypot(away[0], away[1])),
    ]


def poses(trajectory):
    return {
        stamp: (trajectory.position[i], rotation_matrix(trajectory.orientation[i]))
        for i, stamp in enumerate(trajectory.stamp.tolist())
    }


USBL = '<sensor type="usbl" rate="5"><transceiver>0.3 0 -0.4</transceiver>{}</sensor>'
PINGER = (
    '<sensor type="pinger" rate="5"><origin xyz="0.1 0 0" rpy="0 0 1.2"/>'
    '<beacon>0.3 0 -0.4</beacon>{}</sensor>'
)
HEAD_TURN = np.array([[np.cos(0.5), np.sin(0.5), 0], [np.sin(0.5), -np.cos(0.5), 0], [0, 0, -1]])


@pytest.mark.parametrize('frame', ['', '<frame>base_link</frame>', '<frame>head</frame>'])
def test_readings_are_those_of_two_moving_vehicles(tmp_path, frame):
    sensors = ''.join(s.format(f'<vehicle>boat</vehicle>{frame}') for s in (USBL, PINGER))
    runs = fleet_runs(FLEETS.load(str(fleet_file(tmp_path, sensors))), RunOptions())
    found = simulate_fleet(runs)
    scout, boat = poses(found['/scout']), poses(found['/boat'])
    usbl, pinger = (found['/scout'].sensors[name] for name in ('usbl', 'pinger'))
    assert len(usbl.stamp) >= 5
    point, axes = np.array([0.3, 0, -0.4]), np.eye(3)
    if 'head' in frame:
        point, axes = np.array([0.2, -0.1, -0.3]) + HEAD_TURN @ point, HEAD_TURN
    c, s = np.cos(1.2), np.sin(1.2)
    for i, stamp in enumerate(usbl.stamp.tolist()):
        (place, turn), (other, other_turn) = scout[stamp], boat[stamp]
        end = other + other_turn @ point
        away = (other_turn @ axes).T @ (place - end)
        np.testing.assert_allclose(usbl['polar'][i], polar_of(away), atol=1e-9)
        np.testing.assert_allclose(usbl['position'][i], place, atol=1e-9)
        ear = place + turn @ [0.1, 0, 0]
        heard = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) @ turn.T @ (end - ear)
        np.testing.assert_allclose(pinger['polar'][i], polar_of(heard), atol=1e-9)
    moved = np.linalg.norm(found['/boat'].position[-1] - found['/boat'].position[0])
    assert moved > 0.02  # the carrier moves, so that a fixed place would be noticed


def test_a_transceiver_above_the_water_hears_nothing(tmp_path):
    sensor = USBL.format('<vehicle>boat</vehicle>').replace('-0.4', '4.0')
    runs = fleet_runs(FLEETS.load(str(fleet_file(tmp_path, sensor))), RunOptions())
    assert np.isnan(simulate_fleet(runs)['/scout'].sensors['usbl']['polar']).all()


def test_noise_of_a_carried_usbl_is_in_its_own_axes(tmp_path):
    noise = '<range_noise>0.05</range_noise><bearing_noise>0.01</bearing_noise>'
    sensor = USBL.format(f'<vehicle>boat</vehicle>{noise}')
    (tmp_path / 'x.urdf').write_text(BODY.replace('</robot>', f'{sensor}</robot>'))
    (usbl,) = (s for s in load_vehicle(str(tmp_path / 'x.urdf')).sensors if s.kind == 'usbl')
    assert isinstance(usbl, Sensor)
    turn = np.array([0.0, 0.0, np.sin(0.6), np.cos(0.6)])
    origin, polar = np.array([5.0, 6, -1]), np.array([40.0, 0.3, -0.2])
    count = 2000
    ideal = {
        'polar': np.tile(polar, (count, 1)),
        'position': np.zeros((count, 3)),
        'transceiver': np.tile(np.concatenate([origin, turn]), (count, 1)),
    }
    found = SENSORS['usbl'].disturb(usbl, ideal, np.arange(count) * 10**9, 3, ())
    along = np.array([np.cos(0.2) * np.cos(1.5), np.cos(0.2) * np.sin(1.5), np.sin(-0.2)])
    error = found['position'] - (origin + 40.0 * along)
    topics = SENSORS['usbl'].topics
    row = {name: value[0] for name, value in found.items()}
    told = topics[1].fields(usbl, row)['pose']['covariance'].reshape(6, 6)[:3, :3]
    squared = np.einsum('ni,ij,nj->n', error, np.linalg.inv(told), error)
    assert 2.7 < squared.mean() < 3.2  # χ²(3)
    assert [t.frame_of(usbl, 'scout/') for t in topics] == ['boat/base_link', 'map']


@pytest.mark.parametrize(
    ('named', 'reason'),
    [
        ('<vehicle>cork</vehicle>', "is 'cork', which is not in this run; expected one of: boat"),
        ('<vehicle>scout</vehicle>', 'is the vehicle itself; expected one of: boat'),
        (
            '<vehicle>boat</vehicle><frame>mast</frame>',
            "is 'mast', which boat does not have; expected one of: base_link, ",
        ),
        ('<frame>mast</frame>', "<frame> is 'mast' without a <vehicle>; expected both"),
        ('<vehicle>a b</vehicle>', "is 'a b'; expected the name of a vehicle or link"),
    ],
)
@pytest.mark.parametrize('sensor', [USBL, PINGER])
def test_a_far_end_that_cannot_be_is_one_line(tmp_path, sensor, named, reason):
    path = fleet_file(tmp_path, sensor.format(named))
    with pytest.raises(MarineSimError) as told:
        fleet_node_specs(fleet_runs(FLEETS.load(str(path)), RunOptions()))
    assert reason in str(told.value)
    assert '\n' not in str(told.value)


def test_a_vehicle_alone_has_no_far_end():
    vehicle = load_vehicle('bluerov2', usbl='true', usbl_vehicle='boat')
    with pytest.raises(MarineSimError, match=r"'boat', which is not in this run; .*--fleet"):
        simulate(vehicle, load_scenario('dive'), duration=0.1)


@pytest.mark.ros
def test_the_graph_reads_the_same_to_the_bit(processes, tmp_path):
    from graph import STEP, recorded

    named = '<vehicle>boat</vehicle><frame>head</frame><range_noise>0.1</range_noise>'
    path = fleet_file(tmp_path, USBL.format(named) + PINGER.format(named))
    more = ('--dt', STEP, '--real-time-factor', 0, '--seed', 4, '--composed')
    process = processes.marine_sim('run', '--fleet', path, *more, '--record', tmp_path / 'out')
    output, _ = process.communicate()
    assert process.returncode == 0, output
    runs = fleet_runs(FLEETS.load(str(path)), RunOptions(seed=4, dt=STEP))
    expected = simulate_fleet(runs)['/scout'].sensors
    topics = recorded(tmp_path / 'out', 'scout')
    for name in ('usbl', 'pinger'):
        messages = [m for _, m in sorted(topics[f'{name}/polar'].items())]
        found = [[m.vector.x, m.vector.y, m.vector.z] for m in messages]
        sent = expected[name]['polar'][expected[name].arrival <= 1_000_000_000]
        np.testing.assert_array_equal(found, sent)
        assert messages[0].header.frame_id == {'usbl': 'boat/head'}.get(name, 'scout/pinger_frame')
