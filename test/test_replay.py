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

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.identification.recording import MotionCollector, recorded_scenario

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
    common = 'simulate', 'bluerov2_heavy', '--record'
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
