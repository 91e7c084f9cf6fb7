# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The command line, launch files, nodes and the reference page tell the same of every option."""

import importlib
import json
import os
import re
import subprocess
import sys
from dataclasses import fields

import pytest
from conftest import ROOT
from graph import Watcher
from hypothesis import assume, given
from hypothesis import strategies as st

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import typed_number, typed_text
from marine_sim_ros.gazebo.delivery import DELIVERIES
from marine_sim_ros.sim.options import OPTIONS, RunOptions
from marine_sim_ros.sim.simulation import DEFAULT_STEP
from marine_sim_ros.tools.list import CATALOGUE
from marine_sim_ros.tools.main import main, parser
from marine_sim_ros.tools.options import read_run_options

RUN = parser(['run'])
PAGE = (ROOT / 'docs' / 'reference' / 'parameters.md').read_text(encoding='utf-8')
OTHERWISE = {
    # Nodes whose parameter is of a node's own, for what an empty value means on it alone.
    ('controller', 'controller'): 'a node that is started alone needs one',
    ('scenario', 'scenario'): 'likewise',
    ('dynamics and gazebo_bridge', 'initial_position'): 'have no scenario',
    ('dynamics and gazebo_bridge', 'initial_rpy'): 'likewise',
}
FOREIGN = {
    ('recorder', 'controller'), ('console', 'recorder'), ('console', 'output'),
    ('teleop', 'output'), ('gazebo_bridge', 'world'), ('gazebo_bridge', 'delivery'),
}  # fmt: skip
"""Parameters that share no more than the name with an option of a run."""


def command_actions(command):
    (choices,) = (a.choices for a in parser([command])._actions if a.dest == 'command')
    return {action.dest: action for action in choices[command]._actions
            if action.help != '==SUPPRESS=='}  # fmt: skip


def rows(heading):
    """Return the rows of a table of the page as {name: (text, default, range, last)}."""
    section = PAGE.split(f'\n## {heading}\n')[1].split('\n## ')[0]
    cells = re.findall(r'^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$', section, re.M)
    plain = [[c.replace('&lt;', '<').replace(r'\|', '|') for c in row] for row in cells]
    return {name: (text, default.strip('`'), bounds, last)
            for name, text, default, bounds, last in plain}  # fmt: skip


@pytest.fixture
def make(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / 'docs' / 'scripts')
    return importlib.import_module('make_parameters')


def test_simulate_has_no_option_that_it_ignores():
    assert not {'recorder', 'console', 'markers'} & set(command_actions('simulate'))


@pytest.mark.parametrize('command', ['run', 'simulate'])
def test_the_command_line_tells_what_the_options_say(command):
    actions = command_actions(command)
    known = {
        n: o for n, o in OPTIONS.items() if o.command_line and (command == 'run' or not o.graph)
    }
    assert set(known) <= set(actions)
    others = {'help', 'help_all', 'engine', 'fleet', 'precision', 'package_paths', 'trust'}
    others |= {'maps', 'replay'} if command == 'simulate' else set()
    assert set(actions) - set(known) <= others
    for name, option in known.items():
        action = actions[name]
        assert action.help.startswith(option.text)
        assert tuple(action.choices or ()) == option.choices or option.count == 0
        assert option.range in action.help or action.choices
        if name == 'vehicle':
            continue
        assert '--' + name.replace('_', '-') in action.option_strings
        assert typed_text(action.default) == option.default_text
        assert f'(default {option.default_text}' in action.help or not option.default_text


def test_a_launch_argument_that_nothing_reads_gets_a_warning():
    from marine_sim_ros.ros.launching.arguments import ARGUMENTS, unknown_argument_warnings

    names = [*ARGUMENTS, 'scenaro', 'start_timeout', 'emulate_tty']
    near, unlike = unknown_argument_warnings(names, alone=True)
    assert near.startswith('scenaro:=')
    assert near.endswith('did you mean scenario:=?')
    assert unlike.startswith('start_timeout:= is no argument of this launch file')
    assert unknown_argument_warnings(names, alone=False) == [
        near
    ]  # another launch file may read the other one


def test_launch_arguments_tell_what_the_options_say():
    from marine_sim_ros.ros.launching.arguments import ARGUMENTS, read_options

    assert set(ARGUMENTS) == {name for name, option in OPTIONS.items() if option.launch}
    for name, (default, text) in ARGUMENTS.items():
        option = OPTIONS[name]
        assert option.parse(default) == option.default
        assert text.startswith(option.text)
        assert option.range in text
    run, _ = read_options({name: default for name, (default, _) in ARGUMENTS.items()})
    assert run == RunOptions()


@pytest.mark.launch
def test_ros2_launch_shows_the_same_arguments():
    done = subprocess.run(
        ['ros2', 'launch', str(ROOT / 'launch' / 'sim.launch.py'), '--show-args'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    shown = re.findall(r"^    '(\w+)':\n +(.*)\n +\(default: '(.*)'\)$", done.stdout, re.M)
    assert {name for name, _, _ in shown} == {n for n, o in OPTIONS.items() if o.launch}
    for name, text, default in shown:
        assert text.startswith(OPTIONS[name].text)
        assert OPTIONS[name].range in text
        assert default == OPTIONS[name].default_text


@pytest.mark.launch
@pytest.mark.parametrize(
    ('argument', 'expected'),
    [
        ('dt:=2', 'dt:=2; expected 0.000001 to 1 s'),
        ('current:=1', 'current:=1; expected 3 numbers'),
        ('integrator:=euler', 'expected one of: auto, semi_implicit, rk4, conserving'),
        ('seed:=1.5', 'seed:=1.5; expected a whole number'),
        ('markers:=yes', 'markers:=yes; expected true or false'),
    ],
)
def test_ros2_launch_refuses_in_one_line(argument, expected):
    done = subprocess.run(
        ['ros2', 'launch', str(ROOT / 'launch' / 'sim.launch.py'), argument],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert expected in done.stdout + done.stderr
    assert 'Traceback' not in done.stdout + done.stderr


@pytest.mark.ros
def test_the_parameters_that_nodes_share_are_those_of_the_options(make):
    from marine_sim_ros.ros.base.node import COMMON

    compared = set()
    for node, own in make.node_parameters().items():
        for parameter in (*COMMON, *own):
            option = OPTIONS.get({'port': 'console_port'}.get(parameter.name, parameter.name))
            if option is None or (node, parameter.name) in FOREIGN:
                continue
            compared.add(option.name)
            assert parameter.unit == option.unit
            assert (parameter.low, parameter.high) == (option.low, option.high)
            assert parameter.choices == option.choices
            if (node, parameter.name) not in OTHERWISE:
                assert typed_text(parameter.default) == option.default_text
            if parameter.name != 'gamepad':  # whose help names another option
                assert parameter.help == option.help
    assert compared >= {'vehicle', 'vehicle_arguments', 'environment', 'current', 'seed', 'dt',
                        'hull_forces', 'compute', 'integrator', 'lockstep', 'duration', 'clock',
                        'console_port', 'controller', 'scenario', 'frame_prefix',
                        'initial_position', 'publish_components', 'real_time_factor'}  # fmt: skip


@pytest.mark.ros
def test_the_page_is_that_of_the_declarations(make):
    assert make.page() == PAGE, 'run docs/scripts/make_parameters.py'
    table = rows('Options of a run')
    assert list(table) == list(OPTIONS)
    for name, (text, default, bounds, where) in table.items():
        option = OPTIONS[name]
        assert (text, default, bounds) == (option.text, option.default_text, option.range)
        assert ('launch' in where) == option.launch
        assert ('`run`' in where) == option.command_line


@pytest.mark.ros
def test_real_nodes_describe_their_parameters_as_the_page_does(processes, tmp_path):
    from rcl_interfaces.srv import DescribeParameters, ListParameters

    options = RunOptions(
        vehicle='investigator90', scenario='position_hold', environment='pool', markers=True,
        record=str(tmp_path / 'run'), namespace='rov',
    )  # fmt: skip
    processes.module('marine_sim_ros.nodes.composed', options.to_json())
    watcher = Watcher('/rov')
    common = rows('Parameters of every node')
    for node in ('dynamics', 'thrusters', 'buoyancy', 'drag', 'manipulator', 'boundary', 'contact',
                 'controller', 'scenario', 'markers', 'recorder'):  # fmt: skip
        clients = [
            watcher.node.create_client(kind, f'{node}/{name}_parameters')
            for name, kind in (('list', ListParameters), ('describe', DescribeParameters))
        ]
        watcher.until(lambda both=clients: all(client.service_is_ready() for client in both))
        future = clients[0].call_async(ListParameters.Request())
        watcher.until(future.done)
        names = [n for n in future.result().result.names if not n.startswith('qos_overrides')
                 and n not in ('use_sim_time', 'start_type_description_service')]  # fmt: skip
        told = dict(common)
        for heading in re.findall(r'^## (Parameters of .*)$', PAGE, re.MULTILINE):
            if node in heading.removeprefix('Parameters of ').split(' and '):
                told |= rows(heading)
        assert set(names) == set(told), node
        future = clients[1].call_async(DescribeParameters.Request(names=names))
        watcher.until(future.done)
        for found in future.result().descriptors:
            text, _, bounds, live = told[found.name]
            assert found.description == text
            assert found.read_only == (live != 'live')
            numbers = [*found.floating_point_range, *found.integer_range]
            shown = [f'{typed_number(r.from_value)} to {typed_number(r.to_value)}'
                     for r in numbers]  # fmt: skip
            assert (shown or [found.additional_constraints]) == [bounds]
    watcher.close()


def of_option(option):
    """Return a strategy of values of an option."""
    if option.kind is bool:
        return st.booleans()
    if option.kind is int:
        return st.integers(option.low, option.high)
    if option.kind is float:
        one = st.floats(max(option.low, -100), min(option.high, 100)).map(lambda x: round(x, 4))
        one = one.filter(lambda x: option.low <= x <= option.high)
    elif option.choices:
        one = st.sampled_from(option.choices)
    else:
        one = st.from_regex(r'[a-z][a-z0-9_/.]{0,8}', fullmatch=True)
    if option.count is None:
        return one
    size = {'min_size': option.count, 'max_size': option.count} if option.count else {}
    return st.lists(one, **size).map(tuple)


NAMES = [f.name for f in fields(RunOptions) if f.name in OPTIONS and f.name != 'vehicle_arguments']


@given(values=st.fixed_dictionaries({}, optional={n: of_option(OPTIONS[n]) for n in NAMES}))
def test_the_same_run_is_said_on_the_command_line_in_launch_and_in_json(values):
    from marine_sim_ros.ros.launching.arguments import ARGUMENTS, read_options

    assume(values.get('record') not in ('true', 'false'))
    every_step = values.get('recorder') == 'ros2_bag' or values.get('lesson')
    assume(not (every_step and values.get('record_period')))
    wanted = RunOptions(**values)
    words = ['run', values.get('vehicle', 'bluerov2')]
    texts = {name: default for name, (default, _) in ARGUMENTS.items()}
    for name, value in values.items():
        option = OPTIONS[name]
        plain = [f'{x:.4f}' if isinstance(x, float) else str(x)
                 for x in (value if option.count is not None else [value])]  # fmt: skip
        texts[name] = ' '.join(plain)
        if name == 'vehicle' or (option.count == 0 and not value):
            continue
        if option.kind is bool:
            words += [option.flag] if value else ['--no-' + option.flag[2:]] * option.default
        else:
            words += [option.flag, *plain]
    assert read_run_options(RUN.parse_args(words)) == wanted
    assert read_options(texts)[0] == wanted
    assert RunOptions.from_json(wanted.to_json()) == wanted


BOUNDED = [n for n, o in OPTIONS.items() if o.low is not None]


@pytest.mark.parametrize('name', BOUNDED)
def test_a_number_out_of_its_range_is_refused_everywhere(name, capsys):
    option = OPTIONS[name]
    wrong = option.kind(option.high) * 2 + 1
    value = (wrong,) * option.count if option.count else wrong
    words = [str(wrong)] * (option.count or 1)
    with pytest.raises(SystemExit) as ended:
        main(['run', 'bluerov2', option.flag, *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f'ERROR: {option.flag} is ')
    with pytest.raises(ParameterError, match=f'^{name}:=.*; expected {re.escape(option.range)}'):
        option.parse(' '.join(words))
    with pytest.raises(ParameterError, match=f'^{name} is .*; expected {re.escape(option.range)}'):
        RunOptions(**{name: value})
    if option.kind is float:
        with pytest.raises(ParameterError):
            option.parse(' '.join(['nan'] * (option.count or 1)))


@pytest.mark.parametrize(('old', 'name', 'instead'), [
    ('--components', 'publish_components', '--publish-components'),
    ('--null', 'compute', '--no-compute'),
])  # fmt: skip
def test_a_deprecated_name_does_the_same_and_says_so(old, name, instead, capsys):
    options = read_run_options(RUN.parse_args(['run', 'bluerov2', old]))
    assert capsys.readouterr().err == f'WARNING: {old} is deprecated; use {instead}\n'
    assert options == read_run_options(RUN.parse_args(['run', 'bluerov2', instead]))
    assert getattr(options, name) != OPTIONS[name].default


def test_set_is_the_short_name_of_vehicle_arguments():
    words = ['run', 'bluerov2', '--set', 'a:=1', '--vehicle-arguments', 'b:=2']
    assert read_run_options(RUN.parse_args(words)).vehicle_arguments == ('a:=1', 'b:=2')


@pytest.mark.parametrize('name', ['blerov2', 'BlueROV2'])
def test_a_console_promises_nothing_of_a_vehicle_that_is_refused(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main(['run', name, '--console'])
    assert ended.value.code == 2
    out, error = capsys.readouterr()
    assert out == ''
    assert error.startswith(f"ERROR: vehicle '{name}' is neither")
    assert error.count('\n') == 1


def test_what_is_written_twice_is_the_same():
    assert OPTIONS['delivery'].choices == DELIVERIES
    assert OPTIONS['dt'].default == DEFAULT_STEP


def command(*arguments, **streams):
    """Start the command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, '-m', 'marine_sim_ros.tools.main', *arguments],
        stderr=subprocess.PIPE, text=True, **streams,
    )  # fmt: skip


@pytest.mark.parametrize('name', ['bag', 'manifest.json', 'reset_1/bag'])
def test_a_launch_records_over_no_recording(tmp_path, name):
    from marine_sim_ros.ros.launching.arguments import check_new_recording

    for folder in ('', str(tmp_path), str(tmp_path / 'new')):
        check_new_recording(folder)
    (tmp_path / 'reset_1').mkdir()
    check_new_recording(str(tmp_path))
    (tmp_path / name).touch()
    with pytest.raises(ParameterError, match='has a recording already; remove it, or name'):
        check_new_recording(str(tmp_path))


def test_a_place_for_a_recording_that_cannot_be_made_is_told_before_the_run(tmp_path, capsys):
    (tmp_path / 'file').write_text('')
    folder = tmp_path / 'file' / 'run'
    with pytest.raises(SystemExit) as end:
        main(['simulate', 'simple_rov', '--scenario', 'dive', '--record', str(folder)])
    assert end.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err) == ('', f'ERROR: --record {folder}: cannot be made: Not a directory\n')


@pytest.mark.parametrize('arguments', [('list', 'vehicles'), ('demo', '--fast')])
def test_output_that_cannot_be_written_is_one_line(arguments):
    with open('/dev/full', 'w') as full:
        process = command(*arguments, stdout=full)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, 'ERROR: No space left on device\n')


@pytest.mark.parametrize(
    'arguments', [('doctor', 'simple_rov'), ('list', 'vehicles'), ('demo', '--fast')]
)
def test_a_reader_that_has_read_enough_is_no_failure(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    process = command(*arguments, stdout=writing)
    os.close(writing)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, '')


@pytest.mark.parametrize('kind', CATALOGUE)
def test_list_prints_a_name_and_what_it_is(kind, capsys):
    for words in (['list', kind], ['list', kind, '--json']):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
    lines, text = capsys.readouterr().out.split('{', 1)
    found = json.loads('{' + text)
    assert found == CATALOGUE[kind]()
    assert [line.split(maxsplit=1) for line in lines.splitlines()] == list(
        map(list, found.items())
    )
    assert all(0 < len(text) <= 120 and '\n' not in text for text in found.values())


def test_what_list_names_can_be_loaded():
    from marine_sim_ros.analysis.experiments import load_experiment
    from marine_sim_ros.control.controller_model import load_controller
    from marine_sim_ros.control.gamepad import load_gamepad
    from marine_sim_ros.environment.reader import load_environment
    from marine_sim_ros.model.library import vehicle_path
    from marine_sim_ros.sim.fleet import FLEETS
    from marine_sim_ros.sim.mission import load_mission
    from marine_sim_ros.sim.scenario import load_scenario
    from marine_sim_ros.sweep.plan import load_plan

    loaders = {
        'vehicles': vehicle_path, 'environments': load_environment, 'scenarios': load_scenario,
        'experiments': load_experiment, 'controllers': load_controller, 'gamepads': load_gamepad,
        'missions': load_mission, 'sweeps': load_plan, 'fleets': FLEETS.load,
    }  # fmt: skip
    programs = {'ardusub', 'px4', 'ros2_control'}  # controllers without a file
    for kind, load in loaders.items():
        for name in set(CATALOGUE[kind]()) - programs - {'overgrown_wreck'}:  # takes seconds
            load(name)
    assert programs < set(CATALOGUE['controllers']())


@pytest.mark.parametrize(
    ('line', 'expected', 'absent'),
    [
        ('marine_sim ru', {'run'}, {'simulate'}),
        ('marine_sim run blue', {'bluerov2', 'bluerov2_heavy'}, {'investigator90'}),
        ('marine_sim run bluerov2 --environment sh', {'shallow_sand'}, {'pool'}),
        ('marine_sim run bluerov2 --scenario he', {'heading_step', 'helix'}, {'dive'}),
        ('marine_sim run bluerov2 --controller ', {'modern', 'thesis'}, {'dive'}),
        ('marine_sim run bluerov2 --integrator r', {'rk4'}, {'conserving'}),
        ('marine_sim run bluerov2 --real', {'--real-time-factor'}, {'--record'}),
        ('marine_sim experiment tr', {'transit'}, {'helix'}),
        ('marine_sim sweep d', {'dive'}, {'faults'}),
        ('marine_sim list sc', {'scenarios'}, {'sweeps'}),
        ('marine_sim run ROOM/my', {'ROOM/my.urdf'}, {'ROOM/my.yaml'}),
    ],
)
def test_a_shell_completes(line, expected, absent, tmp_path):
    pytest.importorskip('argcomplete')
    (tmp_path / 'my.urdf').touch()
    (tmp_path / 'my.yaml').touch()
    line = line.replace('ROOM', str(tmp_path))
    environment = {
        **os.environ, '_ARGCOMPLETE': '1', '_ARGCOMPLETE_IFS': '\n', 'COMP_LINE': line,
        'COMP_POINT': str(len(line)), '_ARGCOMPLETE_STDOUT_FILENAME': str(tmp_path / 'out'),
    }  # fmt: skip
    subprocess.run(
        [sys.executable, '-m', 'marine_sim_ros.tools.main'], env=environment, check=False
    )
    found = {word.strip() for word in (tmp_path / 'out').read_text().split('\n')}
    assert {word.replace('ROOM', str(tmp_path)) for word in expected} <= found
    assert not {word.replace('ROOM', str(tmp_path)) for word in absent} & found


def test_without_argcomplete_a_completion_is_empty(tmp_path):
    (tmp_path / 'argcomplete.py').write_text("raise ImportError('none here')\n")
    environment = {**os.environ, '_ARGCOMPLETE': '1', 'COMP_LINE': 'marine_sim ru',
                   'PYTHONPATH': f'{tmp_path}:{os.environ.get("PYTHONPATH", "")}'}  # fmt: skip
    done = subprocess.run([sys.executable, '-m', 'marine_sim_ros.tools.main'], env=environment,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (1, '', '')


USUAL = {'--scenario', '--controller', '--environment', '--duration', '--record', '--console'}


def help_of(capsys, command, option):
    with pytest.raises(SystemExit) as end:
        main([command, option])
    assert end.value.code == 0
    return capsys.readouterr().out


def test_help_tells_the_usual_options_and_help_all_every_one(capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    short, whole = help_of(capsys, 'run', '--help'), help_of(capsys, 'run', '--help-all')
    assert set(re.findall(r'^  (--[a-z-]+)', short, re.M)) >= USUAL
    assert len(short.splitlines()) < 50
    every = {a.option_strings[-1] for a in command_actions('run').values() if a.option_strings}
    assert {name for name in every if name not in whole} == set()
    headings = re.findall(r'^([a-z ,]+):$', whole, re.M)
    assert headings[2:] == [
        'vehicle', 'topics, frames and recording', 'autopilot', 'time and engine', 'water',
        'several vehicles',
    ]  # fmt: skip
    assert '--ground-station' not in short


@given(st.floats(0.01, 1000).map(lambda x: round(x, 3)), st.sampled_from(['', 's', ' s']))
def test_a_number_may_have_the_unit_of_its_option(number, unit):
    options = RUN.parse_args(['run', 'bluerov2', '--duration', f'{number}{unit}'])
    assert options.duration == number
    assert OPTIONS['duration'].parse(f'{number}{unit}') == number


@pytest.mark.parametrize('given', ['40min', '4 m', 'ten', 's', '', '1,5'])
def test_another_unit_is_told(given, capsys):
    with pytest.raises(SystemExit):
        main(['simulate', 'bluerov2', '--duration', given])
    assert f'--duration: is {given!r}; expected a number in s' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'name'),
    [
        (['simulate', 'BlueROV2_heavi', '--scenario', 'dive'], 'bluerov2_heavy'),
        (['simulate', 'bluerov2', '--scenario', 'turning-circle'], 'turning_circle'),
        (['simulate', 'bluerov2', '--scenario', 'dive', '--environment', 'pol'], 'pool'),
        (['experiment', 'positon_hold'], 'position_hold'),
    ],
)
def test_the_nearest_name_comes_first(words, name, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    message = capsys.readouterr().err
    assert len(message) < 200
    command = re.search(rf'did you mean {name!r}\? expected a path or a name of `(.*)`', message)
    with pytest.raises(SystemExit) as end:
        main(command[1].split()[1:])
    assert not end.value.code
    assert re.search(rf'^{name}\b', capsys.readouterr().out, re.MULTILINE)


def test_a_mistyped_choice_is_answered_by_the_nearest_alone(capsys):
    with pytest.raises(SystemExit):
        main(['list', 'vehicels'])
    message = capsys.readouterr().err
    assert "invalid choice: 'vehicels' (did you mean vehicles?)" in message
    assert 'fleets' not in message


@pytest.mark.parametrize('option', ['-o', '--output', '--output=bag'])
def test_the_option_of_other_verbs_is_answered_by_record(option, capsys):
    with pytest.raises(SystemExit):
        main(['simulate', 'bluerov2', '--scenario', 'dive', option, 'bag'])
    assert f'unknown argument {option}; expected --record FOLDER' in capsys.readouterr().err
