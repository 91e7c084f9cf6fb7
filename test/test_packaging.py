# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is declared, locked and imported, without building anything."""

import ast
import configparser
import importlib.util
import os
import re
import subprocess
import sys
from importlib import import_module, metadata

import pytest
from conftest import ROOT
from missing import ROS, command_without, python_without

import marine_sim_ros
from marine_sim_ros.core import files
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.extras import PACKAGE_SOURCES
from marine_sim_ros.tools.main import COMMANDS, main

PACKAGE = ROOT / 'marine_sim_ros'
HEAVY = ('numpy', 'scipy', 'matplotlib', 'lxml', 'yaml', 'rich', 'rosbags', 'rclpy')
OPTIONAL = (
    'geometry/bvh_kernels.py',
    'geometry/xla_calls.py',
    'bags/rosbags_storage',
    'console/page',
    'engine',
    'gym',
)
"""Rooms that are imported only where their extra is wanted."""
KEYS = {
    'lxml': 'python3-lxml',
    'numpy': 'python3-numpy',
    'psutil': 'python3-psutil',
    'rich': 'python3-rich',
    'scipy': 'python3-scipy',
    'yaml': 'python3-yaml',
}
"""rosdep keys of modules; ROS packages have their own names."""


def settings():
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg')
    return parser


def declared():
    text = (ROOT / 'package.xml').read_text(encoding='utf-8')
    return re.findall('<exec_depend>(.*)</exec_depend>', text)


def pins(name):
    """Return the versions of each package in a lock; they differ between Pythons."""
    found = {}
    text = (ROOT / 'requirements' / name).read_text(encoding='utf-8')
    for package, version in re.findall(r'^([\w.-]+)==(\S+)', text, re.MULTILINE):
        found.setdefault(package, set()).add(version)
    return found


def wanted(lines):
    """Return the names in requirement lines, as locks write them."""
    names = (re.match(r'[\w.-]+', line)[0] for line in lines.split('\n') if line.strip())
    return {re.sub('[-_.]+', '-', name).lower() for name in names}


def modules_after(code):
    """Return what a new process has imported after running some code."""
    code = f'import sys\n{code}\nprint(*sys.modules)'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.versions
@pytest.mark.parametrize('option', ['--help', '--version'])
def test_the_command_imports_only_what_it_is_asked_for(option):
    found = modules_after(
        'from marine_sim_ros.tools.main import main\n'
        f'try:\n    main([{option!r}])\nexcept SystemExit as end:\n    assert not end.code'
    )
    assert not found & set(HEAVY)


@pytest.mark.versions
def test_the_package_imports_its_parts_when_they_are_asked_for():
    assert not modules_after('import marine_sim_ros') & set(HEAVY)
    for name in marine_sim_ros.__all__:
        assert getattr(marine_sim_ros, name) is not None
    with pytest.raises(AttributeError, match='no attribute'):
        marine_sim_ros.nothing  # noqa: B018


def test_every_verb_is_listed():
    for name in COMMANDS:
        module = import_module(f'marine_sim_ros.tools.{name.replace("-", "_")}')
        assert callable(module.add_arguments)
        assert callable(module.execute)
    texts = {p.stem: p.read_text(encoding='utf-8') for p in (PACKAGE / 'tools').glob('*.py')}
    commands = {stem for stem, text in texts.items() if re.search(r'^def execute\(', text, re.M)}
    assert commands == {name.replace('-', '_') for name in COMMANDS}


def test_help_names_every_verb(capsys):
    with pytest.raises(SystemExit) as end:
        main(['--help'])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert all(f'    {name}' in said for name in COMMANDS)


@pytest.mark.parametrize(
    'arguments',
    [['run', 'bluerov2'], ['teleop'], ['bench'], ['experiment', 'heading_step', '--graph']],
    ids=' '.join,
)
def test_without_ros_one_line_says_so(arguments):
    done = command_without(ROS, *arguments)
    assert done.returncode == 2
    said = done.stderr
    assert said.startswith(f'ERROR: {arguments[0]}')
    assert said.count('\n') == 1
    for way in ('workspace', "'marine_sim_ros[ros]'", 'make setup'):
        assert way in said


def test_without_ros_a_node_says_so_in_one_line():
    code = (
        'import runpy, sys\n'
        "sys.argv[:] = ['-m']\n"
        "runpy.run_module('marine_sim_ros.nodes.drag', run_name='__main__')"
    )
    done = python_without(ROS, code)
    assert done.returncode == 2
    assert done.stderr.startswith('ERROR: a node needs ROS 2, and')
    assert done.stderr.count('\n') == 1


def test_a_build_asks_for_what_makes_the_meshes_of_worlds(tmp_path):
    code = (
        'import runpy, pathlib\n'
        f'maker = runpy.run_path({str(ROOT / "docs/scripts/make_worlds.py")!r})\n'
        f'maker["main"](pathlib.Path({str(tmp_path)!r}))'
    )
    top = {name.partition('.')[0] for name in modules_after(code)}
    names = metadata.packages_distributions()
    # An interpreter imports some at its start, as editable installations and ROS's do.
    others = {name.partition('.')[0] for name in modules_after('')}
    used = {names[module][0] for module in top - others if module in names}
    assert sorted(p.name for p in (tmp_path / 'meshes').iterdir()) == ['rock.obj', 'sand.obj']
    text = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    requires = re.search(r'^requires = \[(.*)\]', text, re.MULTILINE)[1].replace("'", '')
    own = wanted('marine_sim_ros')
    assert wanted('\n'.join(used)) - own <= wanted(requires.replace(', ', '\n'))


@pytest.mark.parametrize('prefixes', ['', '/nowhere'])
def test_folders_of_others_beside_an_installed_package_are_not_ours(
    prefixes, tmp_path, monkeypatch
):
    package = tmp_path / 'site-packages' / 'marine_sim_ros'
    (package / 'share' / 'urdf').mkdir(parents=True)
    (tmp_path / 'site-packages' / 'config').mkdir()
    monkeypatch.setattr(files, '__file__', str(package / 'core' / 'resources.py'))
    monkeypatch.setenv('AMENT_PREFIX_PATH', prefixes)  # empty: the index raises an OSError
    assert files.resource_folder('urdf') == package / 'share' / 'urdf'
    with pytest.raises(MarineSimError, match="the folder 'config'"):
        files.resource_folder('config')


def test_a_workspace_has_what_is_imported_at_once():
    missing = {}
    for path in PACKAGE.rglob('*.py'):
        if str(path.relative_to(PACKAGE)).startswith(OPTIONAL):
            continue
        for node in ast.parse(path.read_text(encoding='utf-8')).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in (n.split('.')[0] for n in names):
                known = name in sys.stdlib_module_names or name == 'marine_sim_ros'
                if not known and KEYS.get(name, name) not in declared():
                    missing.setdefault(name, str(path))
    assert not missing


def test_gazebo_is_asked_of_nobody():
    assert len(set(declared())) == len(declared())
    assert not [key for key in declared() if key.startswith('ros_gz')]


def test_locks_agree_and_hold_what_the_package_asks_for():
    base, console, dev = pins('lock.txt'), pins('lock-console.txt'), pins('lock-dev.txt')
    assert base.items() <= console.items()
    assert console.items() <= dev.items()
    extras = settings()['options.extras_require']
    asked = {
        'base': settings()['options']['install_requires'],
        **{name: text for name, text in extras.items() if name not in ('all', 'test')},
    }
    for name in ('base', 'ros', 'hulls'):
        assert wanted(asked[name]) <= set(base), name
    assert wanted(asked['console']) <= set(console)
    for name, text in asked.items():
        assert wanted(text) <= set(dev), name
    assert all(wanted(line) & {'nicegui', 'jax'} == set() for line in asked['base'].split('\n'))
    assert not set(pins('lock-tf2-msgs.txt')) & set(base)


def test_the_version_of_the_console_that_is_proposed_is_that_of_its_extra():
    assert PACKAGE_SOURCES['nicegui'].pip == settings()['options.extras_require']['console']


def test_ros_is_one_set_of_versions():
    closure = pins('ros-jazzy.txt')
    asked = settings()['options.extras_require']['ros'].split()
    assert {line.split('==')[0]: {line.split('==')[1]} for line in asked}.items() < closure.items()
    for lock in ('lock.txt', 'lock-tf2-msgs.txt'):
        ros = {name: found for name, found in pins(lock).items() if name.startswith('ros-')}
        assert ros.items() < closure.items()


def test_wheels_of_another_distribution_take_the_place_of_those_of_the_lock(monkeypatch):
    monkeypatch.setenv('ROS', 'kilted')
    script = setup_script()
    plain = {line for line in script.locked(script.LOCK) if not line.startswith('ros-')}
    kilted = pins('ros-kilted.txt')
    jazzy = pins('ros-jazzy.txt')
    found = [line for line in script.locked(script.LOCK) if line.startswith('ros-')]
    assert {line.split('==')[0]: {line.split('==')[1]} for line in found} == kilted
    assert not [line for line in script.locked(script.TOOLS_LOCK) if line.startswith('ros-')]
    assert kilted['ros-kilted-rclpy'] == kilted['ros-rclpy'] != jazzy['ros-rclpy']
    fast_dds = {'ros-fastrtps', 'ros-fastrtps-cmake-module'}
    other = {'ros-domain-coordinator', 'ros-python-cmake-module'}  # it needs neither
    named = {name.replace('jazzy', 'kilted') for name in jazzy} - fast_dds - other
    assert named <= set(kilted)
    monkeypatch.setenv('ROS', 'jazzy')
    script = setup_script()
    assert plain < set(script.locked(script.LOCK))


def test_a_distribution_without_wheels_is_one_line(monkeypatch):
    monkeypatch.setenv('ROS', 'lyrical')
    script = setup_script()
    with pytest.raises(script.SetupError, match=r'ROS=lyrical: .* jazzy and kilted only'):
        script.check_machine()


def test_a_workspace_builds_with_what_makes_the_meshes_of_worlds():
    text = (ROOT / 'package.xml').read_text(encoding='utf-8')
    found = set(re.findall('<build_depend>(.*)</build_depend>', text))
    assert found == {'python3-lxml', 'python3-numpy', 'python3-yaml'}


COLCON_QUERY = """import setuptools
from distutils.core import run_setup
run_setup('setup.py', script_args=('--dry-run',), stop_after='config')"""
"""What colcon runs before it builds."""


@pytest.mark.parametrize('command', [['setup.py', '--name'], ['-c', COLCON_QUERY]])
def test_without_numpy_a_build_fails_in_one_line(command, tmp_path):
    for name in ('setup.cfg', 'README.md', 'marine_sim_ros', 'docs', 'resource', 'bin'):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / 'setup.py').write_bytes((ROOT / 'setup.py').read_bytes())
    (tmp_path / 'worlds').mkdir()
    (tmp_path / 'numpy.py').write_text('raise ImportError("no NumPy here")')
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert 'ERROR: worlds/meshes cannot be made: ' in done.stderr
    assert 'no NumPy here' in done.stderr


def test_all_extras_are_in_all():
    extras = settings()['options.extras_require']
    named = set(re.search(r'\[(.*)\]', extras['all'])[1].split(','))
    assert named == set(extras) - {'all', 'test', 'parquet'}  # parquet is an old name of analysis
    assert extras['parquet'] == extras['analysis']


def setup_script():
    path = ROOT / 'scripts' / 'setup_venv.py'
    spec = importlib.util.spec_from_file_location('setup_venv', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_copies_of_libraries_become_one_file(tmp_path, monkeypatch):
    script = setup_script()
    monkeypatch.setattr(script, 'VENV', tmp_path)
    for name, content in {'liba.so': b'a', 'liba.so.1': b'a', 'libb.so': b'b'}.items():
        (tmp_path / name).write_bytes(content * 200_000)
    (tmp_path / 'text.py').write_bytes(b'a' * 200_000)
    script.link_copies()
    assert os.path.samefile(tmp_path / 'liba.so', tmp_path / 'liba.so.1')
    assert not os.path.samefile(tmp_path / 'liba.so', tmp_path / 'text.py')
    assert (tmp_path / 'libb.so').read_bytes() == b'b' * 200_000
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        'liba.so',
        'liba.so.1',
        'libb.so',
        'text.py',
    ]


@pytest.mark.parametrize('terminal', [True, False], ids=['terminal', 'pipe'])
def test_a_step_of_the_set_up_has_a_bar_on_a_terminal_only(
    terminal, tmp_path, monkeypatch, capsys
):
    script = setup_script()
    monkeypatch.setattr(script, 'VENV', tmp_path)
    monkeypatch.setattr(script, 'LOG', tmp_path / 'setup.log')
    monkeypatch.setattr(sys.stdout, 'isatty', lambda: terminal)
    code = 'import time\nfor i in range(8): print(i, flush=True); time.sleep(0.1)'
    command = (sys.executable, '-c', code)
    script.run('counting', command, command, share=lambda said: said.count(b'\n') / 16)
    said = capsys.readouterr().out
    assert ('\r' in said) == terminal
    if terminal:
        drawn = [line.count('#') for line in said.split('\r')[1:]]
        assert drawn == sorted(drawn)
        assert len(set(drawn)) > 3
        assert drawn[-1] == script.BAR
    else:
        assert said == '  counting ...\n'
    assert (tmp_path / 'setup.log').read_bytes().count(b'\n') == 16


def test_a_step_that_fails_says_where_to_look(tmp_path, monkeypatch):
    script = setup_script()
    monkeypatch.setattr(script, 'VENV', tmp_path)
    monkeypatch.setattr(script, 'LOG', tmp_path / 'setup.log')
    command = (sys.executable, '-c', 'print("NewConnectionError"); raise SystemExit(1)')
    with pytest.raises(script.SetupError, match=r'PyPI cannot be reached.*setup\.log'):
        script.run('installing', command)
    with pytest.raises(script.SetupError, match=r'building failed; details in .*setup\.log'):
        script.run('building', (sys.executable, '-c', 'raise SystemExit(1)'))
