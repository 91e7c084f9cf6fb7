# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of fleets, and who waits for whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.ros.node_graph import fleet_node_specs
from marine_sim_ros.ros.ticks import MAX_WAITING_TICKS, Followers, TickSynchronizer
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import SCENARIOS


def fleet(text):
    return FLEETS.parse(text, 'fleet.yaml')


def starts(text):
    return [v.position for v in fleet(text).vehicles]


def test_a_line_runs_north_and_a_grid_fills_its_rows_from_the_front():
    line = 'pattern: {shape: line, spacing: 2, position: [1, 2, -3]}\n'
    grid = 'pattern: {shape: grid, spacing: 2, columns: 3}\n'
    four = 'vehicles: [{vehicle: bluerov2, count: 4}]'
    assert starts(line + four) == [(1, 2, -3), (1, 4, -3), (1, 6, -3), (1, 8, -3)]
    assert starts(grid + four) == [(0, 0, -0.5), (0, 2, -0.5), (0, 4, -0.5), (-2, 0, -0.5)]


@given(count=st.integers(1, 100))
def test_a_grid_without_columns_is_as_square_as_it_can_be(count):
    text = f'pattern: {{shape: grid, spacing: 1}}\nvehicles: [{{vehicle: x, count: {count}}}]'
    places = starts(text)
    assert len(set(places)) == count
    rows, columns = len({x for x, _, _ in places}), len({y for _, y, _ in places})
    assert 0 <= columns - rows <= 1
    assert (columns - 1) ** 2 < count


def test_a_start_of_its_own_takes_no_place_of_the_pattern():
    text = """
pattern: {shape: line, spacing: 1, rpy: [0, 0, 1]}
vehicles:
  - {vehicle: a}
  - {vehicle: b, initial: {position: [9, 9, -9]}}
  - {vehicle: c, initial: {rpy: [0, 0, 2]}}
"""
    assert starts(text) == [(0, 0, -0.5), (9, 9, -9), (0, 1, -0.5)]
    assert [v.rpy for v in fleet(text).vehicles] == [(0, 0, 1), None, (0, 0, 2)]


def test_names_are_those_of_the_vehicles_with_numbers_where_several_have_one():
    text = """
vehicles:
  - {vehicle: bluerov2, count: 2}
  - {vehicle: my/probe.urdf.xacro}
  - {vehicle: bluerov2, name: alpha}
  - {vehicle: bluerov2}
  - {vehicle: simple_rov, name: s, count: 2}
"""
    names = [v.name for v in fleet(text).vehicles]
    assert names == ['bluerov2_1', 'bluerov2_2', 'probe', 'alpha', 'bluerov2_3', 's_1', 's_2']


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('vehicles: []', 'vehicles has 0 vehicles; expected 1 to 100'),
        ('vehicles: [{name: a}]', "'vehicle' is missing"),
        ('vehicles: [{vehicle: a, speed: 3}]', "unknown key 'speed'"),
        ('vehicles: [{vehicle: a, count: 101}]', 'expected a number from 1 to 100'),
        ('vehicles: [{vehicle: a, count: 60}, {vehicle: b, count: 60}]', 'has 120 vehicles'),
        ('vehicles: [{vehicle: a, name: x}, {vehicle: b, name: x}]', "2 are named 'x'"),
        (
            'vehicles: [{vehicle: a, count: 2, initial: {position: [0, 0, 0]}}]',
            'expected a pattern',
        ),
        ('vehicles: [{vehicle: a}]\npattern: {shape: ring, spacing: 1}', 'one of: line, grid'),
        ('vehicles: [{vehicle: a}]\npattern: {shape: line}', "'spacing' is missing"),
        ('vehicles: [{vehicle: a}]\npattern: {shape: line, spacing: 0}', 'expected a number from'),
        (
            'vehicles: [{vehicle: a}]\npattern: {shape: line, spacing: 1, columns: 2}',
            'shape: grid',
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_line(text, expected):
    with pytest.raises(ParameterError) as error:
        fleet(text)
    assert expected in str(error.value)
    assert str(error.value).startswith('fleet.yaml')
    assert '\n' not in str(error.value)


def test_runs_share_one_time_and_differ_in_name_seed_and_start():
    text = """
pattern: {shape: line, spacing: 2}
vehicles:
  - {vehicle: bluerov2, scenario: dive, arguments: {coefficients: wu2018}}
  - {vehicle: bluerov2_heavy, controller: modern, seed: 3}
  - {vehicle: simple_rov}
"""
    first, second, third = fleet_runs(fleet(text), RunOptions(seed=7, record='out/x'))
    assert [r.clock for r in (first, second, third)] == ['publish', 'follow', 'follow']
    assert [r.real_time_factor for r in (first, second, third)] == [1.0, 0.0, 0.0]
    assert [r.seed for r in (first, second, third)] == [7, 3, 9]
    assert {r.duration for r in (first, second, third)} == {40.0}  # of the scenario
    assert first.vehicle_arguments == ('coefficients:=wu2018',)
    assert (second.scenario, second.controller) == ('', 'modern')
    assert list(first.neighbours) == ['/bluerov2_heavy', '/simple_rov']
    assert RunOptions.from_json(first.to_json()) == first
    specs = fleet_node_specs((first, second, third))
    owners = {s.namespace: s.parameters for s in specs if s.executable == 'dynamics'}
    assert owners['/bluerov2']['followers'] == ['/bluerov2_heavy', '/simple_rov']
    assert 'followers' not in owners['/simple_rov']
    assert owners['/simple_rov']['initial_position'] == [0.0, 4.0, -0.5]
    assert [s.executable for s in specs].count('recorder') == 1


@pytest.mark.parametrize(
    'options',
    [
        {'namespace': 'a'},
        {'clock': 'follow'},
        {'initial_position': (0.0, 0.0, -1.0)},
        {'vehicle_arguments': ('a:=1',)},
        {'record': 'out/x', 'recorder': 'ros2_bag'},
    ],
)
def test_options_of_one_vehicle_are_refused(options):
    with pytest.raises(ParameterError, match=r'expected it in the file|is recorded by: suite'):
        fleet_runs(FLEETS.load('two_vehicles'), RunOptions(**options))


@pytest.mark.long
@pytest.mark.parametrize('name', FLEETS.names())
def test_shipped_fleets_can_be_started(name):
    assert fleet_node_specs(fleet_runs(FLEETS.load(name), RunOptions()))


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (['run'], 'expected either VEHICLE or --fleet FILE'),
        (
            ['run', 'bluerov2', '--fleet', 'two_vehicles'],
            'expected either VEHICLE or --fleet FILE',
        ),
        (['run', 'bluerov2', '--only', 'a'], 'only names vehicles of a fleet; expected'),
        (['run', '--fleet', 'two_vehicles', '--only', 'a'], "only is 'a'; expected vehicles of"),
        (['run', '--fleet', 'nine'], "fleet 'nine' is neither a file nor a shipped fleet"),
    ],
)
@pytest.mark.ros
def test_the_command_line_takes_a_vehicle_or_a_fleet(words, expected, capsys):
    from marine_sim_ros.tools.main import main

    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize('word', ['pair.yml', 'pairs.yaml', 'pari.yaml'])
@pytest.mark.parametrize('files', [FLEETS, SCENARIOS], ids=lambda files: files.kind)
def test_a_mistyped_file_is_answered_with_the_nearest_one(word, files, tmp_path, monkeypatch):
    (tmp_path / 'pair.yaml').write_text('vehicles: []\n')
    with pytest.raises(MarineSimError, match=rf'did you mean {tmp_path}/pair\.yaml\? expected'):
        files.load(str(tmp_path / word))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MarineSimError, match=r'did you mean pair\.yaml\? expected'):
        files.load(word)


def test_who_is_silent_for_too_long_is_not_waited_for_until_it_speaks():
    followers = Followers(['a', 'b'])
    limits = {'limit': 1.0, 'first': 60.0}
    assert followers.late_sources(0) == ['a', 'b']
    followers.take('a', 10, now=0.0)
    followers.take('b', 0, now=0.0)
    assert followers.late_sources(10) == ['b']
    assert followers.give_up(10, now=5.0, **limits) == []  # it is waited for from now on
    followers.take('b', 5, now=5.5)  # slow, and alive
    assert followers.give_up(10, now=6.4, **limits) == []
    assert followers.give_up(10, now=6.6, **limits) == ['b']
    assert followers.give_up(10, now=9.0, **limits) == []  # said once
    assert followers.late_sources(20) == ['a']
    assert followers.take('b', 6, now=10.0)
    assert followers.late_sources(10) == ['b']


def test_who_has_never_spoken_may_still_be_starting():
    followers = Followers(['a'])
    assert followers.give_up(0, now=0.0, limit=1.0, first=60.0) == []
    assert followers.give_up(0, now=59.0, limit=1.0, first=60.0) == []
    assert followers.give_up(0, now=61.0, limit=1.0, first=60.0) == ['a']


def test_a_neighbour_is_waited_for_however_many_ticks_wait_until_it_is_silent():
    answers = []
    gathering = TickSynchronizer(
        lambda stamp, value, given: answers.append((stamp, given['n'])), {'n': None}, ['n']
    )
    for stamp in range(2 * MAX_WAITING_TICKS):
        gathering.main(stamp, 'own')
    assert answers == []
    gathering.add_other('n', 0, 'a')
    gathering.add_other('n', 1, 'b')
    assert answers == [(0, 'a'), (1, 'b')]
    assert gathering.next_stamp == 2
    gathering.leave(['n'])
    assert answers[2:] == [(stamp, 'b') for stamp in range(2, 2 * MAX_WAITING_TICKS)]
    assert gathering.next_stamp == -1
    gathering.absent.discard('n')  # it is back
    gathering.main(2 * MAX_WAITING_TICKS, 'own')
    assert len(answers) == 2 * MAX_WAITING_TICKS
    gathering.add_other('n', 2 * MAX_WAITING_TICKS, 'c')
    assert answers[-1] == (2 * MAX_WAITING_TICKS, 'c')
