# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rules of the source tree that no linter states; `make lint` checks the order of the layers."""

import ast
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest
from conftest import ROOT

import marine_sim_ros
from marine_sim_ros.core.registry import CONTROLLERS, FORCES, SENSORS

PACKAGE = ROOT / 'marine_sim_ros'
MOST_MODULES = 563
"""Lower it after a merge; a new module that would exceed it belongs into one with its subject."""


def test_the_package_has_no_more_modules_than_agreed():
    assert len(list(PACKAGE.rglob('*.py'))) <= MOST_MODULES


KERNELS = PACKAGE / 'physics' / 'contact' / 'kernels'


def inner_kernels():
    """Return the names of inner kernels by module."""
    result = defaultdict(set)
    for path in KERNELS.glob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            names = {getattr(d, 'id', '') for d in getattr(node, 'decorator_list', ())}
            if 'inner_kernel' in names:
                result[path.stem].add(node.name)
    return result


def test_python_calls_no_inner_kernel():
    """They have no entry from Python: such a call ends the process without a word."""
    inner, found = inner_kernels(), []
    assert sum(map(len, inner.values())) > 50
    for path in [*PACKAGE.rglob('*.py'), *(ROOT / 'test').glob('*.py')]:
        if path.parent == KERNELS or 'kernels' not in (text := path.read_text()):
            continue
        modules, nodes = {}, [*ast.walk(ast.parse(text))]
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or '').endswith('.kernels'):
                modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        found += [
            f'{path.name}: {node.attr}'
            for node in nodes
            if isinstance(node, ast.Attribute)
            and node.attr in inner[modules.get(getattr(node.value, 'id', ''), '')]
        ]
    assert found == []


def test_every_file_names_its_licence():
    found = PACKAGE.rglob('*.py')
    assert [p for p in found if 'SPDX-License-Identifier: Apache-2.0' not in p.read_text()] == []


READ_THE_CLOCK = {
    'ros/launching/installation.py',  # ages of files
    'tools/train.py',  # the date of a flight
    'autopilot/mavlink/streams.py',  # the message SYSTEM_TIME
    'autopilot/mavlink/link.py',  # the stamps of signatures
    'autopilot/mavlink/mavlink2rest.py',  # when a message came, for people
}


def test_a_clock_that_is_set_moves_no_run():
    """What waits and measures takes a monotonic clock: others jump when somebody sets them."""
    settable = re.compile(
        r'\b(time\.time(_ns)?\(|(datetime|date)\.(now|utcnow|today)\(|CLOCK_REALTIME)'
    )
    found = {p for p in PACKAGE.rglob('*.py') if settable.search(p.read_text(encoding='utf-8'))}
    assert {p.relative_to(PACKAGE).as_posix() for p in found} == READ_THE_CLOCK


def test_the_contract_of_the_layers_names_every_room():
    named = set().union(*layers().values())
    assert named == {p.name for p in PACKAGE.iterdir() if (p / '__init__.py').is_file()}


def layers():
    """Return the rooms of the contract by their tier: the comment above them says which."""
    text = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    lines = re.search(r'^layers = \[(.*?)\]', text, re.M | re.S).group(1).splitlines()
    rooms, tier = defaultdict(set), ''
    for line in lines:
        if heading := re.match(r' *# (\w+):', line):
            tier = heading[1]
        rooms[tier] |= set(re.findall(r'\w+', line.partition('#')[0]))
    return rooms


def statements(body, typing=False):
    """Yield all statements, also in functions; those for type checkers where that is wanted."""
    for node in body:
        for_types = isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.unparse(node.test)
        if typing or not for_types:
            yield node
            for name in ('body', 'orelse', 'finalbody', 'handlers'):
                yield from statements(getattr(node, name, ()), typing)


@cache
def modules():
    """Return the trees of the package's modules by their names."""
    found = {}
    for path in PACKAGE.rglob('*.py'):
        parts = path.relative_to(PACKAGE.parent).with_suffix('').parts
        name = '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)
        found[name] = ast.parse(path.read_text(encoding='utf-8'))
    return found


@cache
def imports(typing=False):
    """Return the modules that each module imports, for type checkers too where that is wanted."""
    trees, found = modules(), {}
    for name, tree in trees.items():
        named = set()
        for node in statements(tree.body, typing):
            if isinstance(node, ast.ImportFrom):
                within = {f'{node.module}.{alias.name}' for alias in node.names}
                named |= within & trees.keys() or {node.module}
            elif isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
        found[name] = (named & trees.keys()) - {name}
    return found


def room_of(module):
    return module.split('.')[1] if '.' in module else ''


def test_no_module_imports_itself_through_others():
    try:
        TopologicalSorter(imports(typing=True)).prepare()
    except CycleError as error:
        pytest.fail(f'circle of imports: {" <- ".join(error.args[1])}')


def test_simulator_and_suite_import_no_tool_and_the_simulator_nothing_of_the_suite():
    rooms = layers()
    assert rooms.keys() == {'', 'Tools', 'Suite', 'Simulator'}
    assert {'analysis', 'doctor', 'tools'} <= rooms['Tools']
    assert {'core', 'engine', 'sim'} <= rooms['Simulator']
    above = {'Suite': rooms['Tools'], 'Simulator': rooms['Tools'] | rooms['Suite']}
    found = [
        f'{name} imports {other}'
        for tier, closed in above.items()
        for name, others in imports().items()
        if room_of(name) in rooms[tier]
        for other in others
        if room_of(other) in closed
    ]
    assert found == []


BY_NAME = {'PARAMETERS', 'STORAGE', 'add_arguments', 'execute', 'get_system', 'main'}
"""Names that modules of one kind share, since programs look for them."""


def test_every_public_name_is_exported_by_one_module():
    doors = {p.parent.relative_to(PACKAGE.parent).parts for p in PACKAGE.rglob('__init__.py')}
    found = defaultdict(list)
    for module, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == '__all__':
                for name in ast.literal_eval(node.value):
                    found[name].append(module)
    twice = {
        name: inside
        for name, where in found.items()
        if len(inside := [m for m in where if tuple(m.split('.')) not in doors]) > 1
    }
    assert {name: where for name, where in twice.items() if name not in BY_NAME} == {}


MOST_BRANCHES = 6
"""Operations of :mod:`marine_sim_ros.core.arrays` take the place of a new one."""


def asks_for_the_array_library(node):
    """Return whether an expression asks which library an array or a namespace is of."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
        sides = {ast.unparse(side) for side in (node.left, *node.comparators)}
        return bool(sides & {'NUMPY', 'np', 'np.ndarray', 'jnp'})
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == 'isinstance'
        and re.search(r'\b(jax\.(Array|core)|Tracer)\b', ast.unparse(node.args[1])) is not None
    )


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('xp is NUMPY', True),
        ('namespace(a) is not NUMPY', True),
        ('type(a) is np.ndarray', True),
        ('isinstance(a, float | jax.Array)', True),
        ('isinstance(a, float)', False),
        ('a is None', False),
    ],
)
def test_questions_for_the_array_library_are_recognised(text, expected):
    assert asks_for_the_array_library(ast.parse(text, mode='eval').body) is expected


def test_few_branches_ask_for_the_array_library():
    found = [
        f'{name}:{node.lineno}'
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if asks_for_the_array_library(node)
    ]
    assert len(found) <= MOST_BRANCHES, found


def test_the_version_is_the_same_everywhere():
    version = marine_sim_ros.__version__  # setup.cfg reads it there
    assert ET.parse(ROOT / 'package.xml').findtext('version') == version


@pytest.mark.parametrize('registry', [FORCES, SENSORS, CONTROLLERS], ids=lambda r: r.group)
def test_entries_of_the_registry_have_the_names_under_which_they_are_listed(registry):
    assert [entry.name for entry in registry.values()] == list(registry)


@pytest.mark.parametrize('registry', [SENSORS, CONTROLLERS], ids=lambda r: r.group)
def test_elements_are_called_as_their_entries_so_that_no_other_is_imported(registry):
    assert all(entry.element in ('', name) for name, entry in registry.items())


def test_a_vehicle_imports_no_sensor_that_it_does_not_have():
    code = (
        'import sys; from marine_sim_ros import load_vehicle; load_vehicle("bluerov2"); '
        'print([m for m in sys.modules if m.startswith("marine_sim_ros.sensors.")])'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert 'sensors.barometer' in done.stdout
    assert 'sensors.lidar' not in done.stdout
