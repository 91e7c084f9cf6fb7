# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""simulate --replay: the model does what a recording's pulse widths say."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import marine_sim, vehicle_of
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import ACTUATORS
from marine_sim_ros.identification.recording import MotionCollector, recorded_scenario
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.sim.scenario import load_scenario

pytest.importorskip('rosbags')

TURN = """
duration: 3
initial: {position: [1, 2, -3], rpy: [0, 0, 40 deg]}
segments:
  - {at: 0, control: {surge: 0.4, yaw: 60 deg, z: -3.2}}
  - {at: 1.5, axes: {surge: 0.3, yaw: -0.2}}
"""
REST = '\nsegments: [{at: 0, axes: {}}]'
SECOND = 1_000_000_000


def collected(odom=None, pwm=None):
    """Return a collector with rows of (stamp in s, numbers)."""
    result = MotionCollector(None)
    for name, rows in (('odom', odom), ('thrusters/pwm', pwm)):
        if rows is not None:
            stamps, values = zip(*rows, strict=True)
            stamps = (np.array(stamps) * SECOND).round().astype(np.int64)
            channel = SimpleNamespace(name=name, role='')
            result(channel, stamps, stamps, np.array(values, float))
    return result


def hash_of(output):
    return next(line.split()[1] for line in output.splitlines() if 'sha256' in line)


def test_a_recording_replayed_is_the_run_again(tmp_path):
    (tmp_path / 'turn.yaml').write_text(TURN)
    common = 'simulate', 'bluerov2_heavy', '--dt', 0.02, '--record'
    first = marine_sim(*common, tmp_path / 'first', '--scenario', tmp_path / 'turn.yaml')
    again = marine_sim(*common, tmp_path / 'again', '--replay', tmp_path / 'first')
    assert first[0] == again[0] == 0, again[1]
    assert hash_of(again[1]) == hash_of(first[1])
    side_by_side = again[1].partition('side by side: marine_sim ')[2].split()
    code, output = marine_sim(*side_by_side)  # the manifest says that it is a replay
    assert 'Aligned by their first stamps' in output
    assert code == 0, output
    told = json.loads((tmp_path / 'again_report' / 'metrics.json').read_text())
    (comparison,) = told['comparisons']
    assert comparison['differences']['z']['max'] == 0.0


EVERY_ACTUATOR = """<robot name="every">
  <link name="base_link"><inertial><mass value="10"/>
    <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.4"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base_link"/><child link="upper"/>
    <origin xyz="0.4 0.1 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="1" effort="9"/></joint>
  <link name="hand"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="hand"/>
    <origin xyz="0.2 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="1" effort="9"/></joint>
  <link name="battery"><inertial><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="slider" type="prismatic"><parent link="base_link"/><child link="battery"/>
    <axis xyz="1 0 0"/><limit lower="-0.1" upper="0.1" velocity="0.1" effort="50"/></joint>
  <manipulator dynamics="articulated"/>
  <gripper joint="elbow" xyz="0.2 0 0" reach="0.2"/>
  <moving_masses><moving_mass joint="slider"/></moving_masses>
  <buoyancy><volume>0.0135</volume><center_of_volume>0 0 0.1</center_of_volume></buoyancy>
  <hydrodynamics><added_mass>5 9 9 0.1 0.1 0.1</added_mass>
    <linear_damping>4 6 6 0.5 0.5 0.5</linear_damping></hydrodynamics>
  <buoyancy_engines><buoyancy_engine name="bladder"><limit lower="-0.0004" upper="0.0004"/>
    <rate>1e-4</rate></buoyancy_engine></buoyancy_engines>
  <drop_weights><drop_weight name="weight" mass="1.0" volume="0.0001"/></drop_weights>
  <fins><fin name="rudder"><origin xyz="-0.5 0 0"/><area>0.01</area><lift_slope>3</lift_slope>
    <limit lower="-0.5" upper="0.5" velocity="1"/></fin></fins>
  <tether type="fathom_slim" length="6" anchor="0 0 0"><reel rate="0.5" maximum="30"/></tether>
  <thrusters><thruster name="main" direction="cw">
    <origin xyz="-0.4 0 0" rpy="0 1.5707963267948966 0"/>
    <linear pos_force="40" neg_force="30" dead_zone="0"/>
    <azimuth><limit lower="-1" upper="1" velocity="2"/></azimuth></thruster></thrusters></robot>"""
EVERY_COMMAND = """
duration: 1.2
initial: {position: [3, 1, -3]}
segments:
  - {at: 0.0, pwm: [1700], fins: {rudder: 0.3}, joints: {shoulder: 0.5, slider: 0.05},
     buoyancy_engines: {bladder: 0.0002}, azimuths: {main: 0.2}, tether: {rate: 0.2}}
  - {at: 0.3, pwm: [1600], joint_efforts: {elbow: 0.4}, moving_masses: {slider: -0.02},
     gripper: close}
  - {at: 0.6, pwm: [1550], joint_rates: {shoulder: -0.3}, drop_weights: {weight: 1}}
  - {at: 0.9, pwm: [1550], joints: {elbow: 0.1}, fins: {rudder: -0.2}, gripper: open}
"""


WEIGHT = '<drop_weights><drop_weight name="weight" mass="1.0" volume="0.0001"/></drop_weights>'
"""An articulated arm keeps the mass of the description; a kinematic one takes no efforts."""


@pytest.mark.parametrize(
    ('missing', 'element', 'command'),
    [
        ('drop_weights', WEIGHT, ', drop_weights: {weight: 1}'),
        ('joint_efforts', ' dynamics="articulated"', 'joint_efforts: {elbow: 0.4}, '),
    ],
)
def test_commands_of_every_kind_of_actuator_are_replayed_to_the_bit(
    missing, element, command, tmp_path
):
    assert element in EVERY_ACTUATOR
    assert command in EVERY_COMMAND
    (tmp_path / 'every.urdf').write_text(EVERY_ACTUATOR.replace(element, ''))
    (tmp_path / 'commands.yaml').write_text(EVERY_COMMAND.replace(command, ''))
    vehicle = load_vehicle(tmp_path / 'every.urdf')
    scenario = load_scenario(tmp_path / 'commands.yaml')
    kinds = {name for segment in scenario.segments for name in segment.actuators}
    every = {a.name for a in ACTUATORS.entries} - {missing}
    assert kinds == every == {a.name for a in actuators_of(vehicle)}
    common = 'simulate', tmp_path / 'every.urdf', '--dt', '0.01', '--record'
    first = marine_sim(*common, tmp_path / 'first', '--scenario', tmp_path / 'commands.yaml')
    assert first[0] == 0, first[1]
    (tmp_path / 'commands.yaml').unlink()  # the recording says it all
    again = marine_sim(*common, tmp_path / 'again', '--replay', tmp_path / 'first')
    third = marine_sim(*common, tmp_path / 'third', '--replay', tmp_path / 'again')
    assert 'is not replayed' not in again[1]
    assert hash_of(first[1]) == hash_of(again[1]) == hash_of(third[1])


@pytest.mark.parametrize(
    ('name', 'scenario'),
    [('torpedo_auv', 'lawn_mower'), ('glider', 'glide_cycle'), ('wamv', 'berth')],
)
def test_what_a_controller_commands_to_actuators_is_replayed_to_the_bit(name, scenario, tmp_path):
    common = 'simulate', name, '--dt', '0.02', '--duration', '2', '--record'
    first = marine_sim(*common, tmp_path / 'first', '--scenario', scenario)
    again = marine_sim(*common, tmp_path / 'again', '--replay', tmp_path / 'first')
    assert 'is not replayed' not in again[1]
    assert hash_of(again[1]) == hash_of(first[1])


@pytest.mark.parametrize(
    'script',
    [
        [],
        {'fins': 3},
        {'fins': [[0.0, {'rudder_upper': 'wide'}]]},
        {'fins': [['soon', {}]]},
        {'fins': [[0.0, {'wing': 0.1}]]},
        {'fins': [[0.0, {'rudder_upper': float('nan')}]]},
    ],
)
def test_commands_of_a_manifest_that_cannot_be_used_are_refused_in_one_line(script):
    vehicle = vehicle_of('torpedo_auv')
    count = len(vehicle.thrusters)
    bag = collected([(0.0, (0.0,) * 6 + (1.0,) + (0.0,) * 6)], [(0.0, (1500.0,) * count)])
    with pytest.raises(ParameterError, match='its manifest') as error:
        recorded_scenario(bag, 'bag', vehicle, script=script)
    assert '\n' not in str(error.value)


@pytest.mark.parametrize(
    'water', [('--environment', 'tidal_channel'), ('--current', '0.2', '0', '0')]
)
def test_a_replay_is_in_the_recorded_water(water, tmp_path):
    (tmp_path / 'turn.yaml').write_text(TURN.replace('duration: 3', 'duration: 1'))
    common = 'simulate', 'bluerov2_heavy', '--record'
    scenario = '--scenario', tmp_path / 'turn.yaml'
    first = marine_sim(*common, tmp_path / 'first', *scenario, *water)
    again = marine_sim(*common, tmp_path / 'again', '--replay', tmp_path / 'first')
    assert hash_of(again[1]) == hash_of(first[1])
    assert 'in its environment' in again[1]
    settings = [
        json.loads((tmp_path / n / 'manifest.json').read_text())['parameters']
        for n in ('first', 'again')
    ]
    for key in ('environment', 'current'):
        assert settings[0][key] == settings[1][key]
    replay = '--replay', tmp_path / 'first'
    other = marine_sim('simulate', 'bluerov2_heavy', *replay, '--environment', 'still')
    assert hash_of(other[1]) != hash_of(first[1])


def test_a_replay_has_the_changes_of_the_recorded_environment(tmp_path):
    (tmp_path / 'turn.yaml').write_text(TURN.replace('duration: 3', 'duration: 1'))
    (tmp_path / 'changes.yaml').write_text('[{at: 0.4, current: {velocity: [0.0, 0.5, 0.0]}}]')
    common = 'simulate', 'bluerov2', '--record'
    first = marine_sim(
        *common, tmp_path / 'first', '--scenario', tmp_path / 'turn.yaml',
        '--changes', tmp_path / 'changes.yaml',
    )  # fmt: skip
    assert first[0] in (0, 1), first[1]
    again = marine_sim(*common, tmp_path / 'again', '--replay', tmp_path / 'first')
    third = marine_sim(*common, tmp_path / 'third', '--replay', tmp_path / 'again' / 'bag')
    assert hash_of(again[1]) == hash_of(first[1]) == hash_of(third[1])


def test_a_recorded_environment_that_is_no_shipped_one_has_to_be_given(tmp_path):
    (tmp_path / 'turn.yaml').write_text(TURN.replace('duration: 3', 'duration: 1'))
    (tmp_path / 'bay.yaml').write_text('water: {temperature: 4}\ncurrent: {velocity: [1, 0, 0]}')
    water = '--environment', tmp_path / 'bay.yaml'
    first = marine_sim(
        'simulate', 'bluerov2', '--scenario', tmp_path / 'turn.yaml', *water,
        '--record', tmp_path / 'first',
    )  # fmt: skip
    again = 'simulate', 'bluerov2', '--replay', tmp_path / 'first'
    code, output = marine_sim(*again)
    assert code == 2
    assert 'expected --environment FILE' in output
    assert hash_of(marine_sim(*again, *water)[1]) == hash_of(first[1])


def test_a_start_takes_height_and_attitude_from_messages_of_their_own():
    vehicle, nan = vehicle_of('bluerov2'), float('nan')
    odom = [
        (0.0, (nan,) * 3 + (0.0, 0.0, 0.0, 1.0) + (nan,) * 6),
        (0.1, (nan, nan, -0.5) + (nan,) * 10),
        (9.0, (7.0, 8.0, -4.0, 0.0, 0.0, 1.0, 0.0) + (1.0,) * 6),
    ]
    collector = collected(odom, [(0.0, (1500.0,) * 6)])
    scenario, notes = recorded_scenario(collector, 'log', vehicle)
    assert scenario.position == (0.0, 0.0, -0.5)
    assert scenario.rpy == pytest.approx((0.0, 0.0, 0.0))
    missing = 'x, y, surge and sway, heave, turn rates'
    assert f'odom does not have {missing}: 0 at the start of the model' in notes


def test_start_and_water_are_those_of_the_options(tmp_path):
    (tmp_path / 'lake.yaml').write_text('water: {density: 1025}')
    (tmp_path / 'here.yaml').write_text('duration: 0.1\ninitial: {position: [1, 2, -3]}' + REST)
    (tmp_path / 'there.yaml').write_text(
        'duration: 0.1\ninitial: {position: [4, 5, -6], rpy: [0, 0, 0.5]}' + REST
    )
    moved = '--initial-position', '4', '5', '-6', '--initial-rpy', '0', '0', '0.5'

    def run(name, *more):
        code, output = marine_sim('simulate', 'bluerov2', '--scenario', tmp_path / name, *more)
        assert code == 0, output
        return hash_of(output)

    there = run('there.yaml')
    assert run('here.yaml', *moved) == there != run('here.yaml')
    dense = run('there.yaml', '--environment', tmp_path / 'lake.yaml')
    assert run('there.yaml', '--water-density', '1025') == dense != there
    code, output = marine_sim(
        'simulate', 'bluerov2', '--scenario', 'dive', '--water-density', '1.025'
    )
    assert code == 2
    assert output == (
        'ERROR: water_density is 1.025; expected 100 to 20000 kg/m³: about 998 in fresh water, '
        '1025 in the sea\n'
    )


def test_both_or_none_is_one_line(tmp_path):
    (tmp_path / 'odd.yaml').write_text('duration: 1\nsegments: [{at: 0, axis: {}}]')
    record = '--record', tmp_path / 'new'
    assert marine_sim('simulate', 'bluerov2', '--scenario', tmp_path / 'odd.yaml', *record)[0] == 2
    assert not (tmp_path / 'new').exists()
    for more in ([], ['--scenario', 'dive', '--replay', 'x']):
        code, output = marine_sim('simulate', 'bluerov2', *more)
        assert code == 2
        assert output.startswith('ERROR: simulate: expected either --scenario')
        assert len(output.splitlines()) == 1


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_a_pulse_width_holds_until_the_next(seed):
    """In whatever order the messages come, from before the first odometry on."""
    rng = np.random.default_rng(seed)
    vehicle = vehicle_of('simple_rov')
    times = np.unique(rng.uniform(-1.0, 5.0, 12).round(3))
    pulses = rng.choice([1400.0, 1500.0, 1600.0, 0.0], (len(times), len(vehicle.thrusters) + 2))
    order = rng.permutation(len(times))
    row = (0.5, 0, -2, 0, 0, 0, 1, 0.3, 0, 0, 0, 0, 0.1)
    bag = collected([(0.0, row), (6.0, row)], [(times[i], pulses[i]) for i in order])
    scenario, notes = recorded_scenario(bag, 'bag', vehicle)
    assert not notes
    assert scenario.duration == 6.0
    start = scenario.initial_state()
    assert start.position == pytest.approx([0.5, 0, -2])
    assert start.velocity == pytest.approx([0.3, 0, 0, 0, 0, 0.1])
    for time in rng.uniform(0.0, 6.0, 20):
        before = np.flatnonzero(times <= time)
        wanted = pulses[before[-1], : len(vehicle.thrusters)] if len(before) else 1500.0
        wanted = np.where(wanted == 0.0, 1500.0, wanted)  # a channel that is switched off
        assert scenario.segment_at(time).pwm == pytest.approx(np.broadcast_to(wanted, (5,)))


def test_what_is_not_known_is_named():
    vehicle = vehicle_of('bluerov2')
    pwm = [(0.0, [1600] * 8), (1.0, [1500] * 8)]
    scenario, notes = recorded_scenario(collected(None, pwm), 'log', vehicle)
    assert notes == ['there is no odom: the model begins at rest at the surface']
    nan = float('nan')
    row = (nan, nan, -4, 0, 0, 0, 1, nan, nan, nan, 0, 0, 0)
    scenario, notes = recorded_scenario(collected([(0.0, row), (1.0, row)], pwm), 'log', vehicle)
    missing = 'x, y, surge and sway, heave'
    assert notes == [f'odom does not have {missing}: 0 at the start of the model']
    assert scenario.position == (0.0, 0.0, -4.0)
    with pytest.raises(ParameterError, match='has no thrusters/pwm to replay'):
        recorded_scenario(collected([(0.0, row)]), 'log', vehicle)
    with pytest.raises(ParameterError, match='has 4 channels'):
        recorded_scenario(collected(None, [(0.0, [1500] * 4)]), 'log', vehicle)


def test_ten_minutes_of_changes_are_looked_up_quickly():
    """Each tick looks for its segment: 30,000 of them are no more work than ten."""
    vehicle = vehicle_of('bluerov2')
    pwm = [(i * 0.02, [1500 + i % 7] * 6) for i in range(30_000)]
    scenario, _ = recorded_scenario(collected(None, pwm), 'log', vehicle)
    assert len(scenario.segments) == 30_000
    assert scenario.actuator_segments == ()
    assert scenario.segment_at(599.97).pwm[0] == 1500 + 29_998 % 7
