# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Imports go down only, never up, never in a circle; nothing below the line knows ROS."""

import ast
from pathlib import Path

import pytest
from conftest import ROOT

PACKAGE = ROOT / 'marine_sim_ros'
ABOVE = {'tools', 'nodes', 'ros'}
ROS = ('rclpy', 'builtin_interfaces', 'rcl_interfaces', 'rosgraph_msgs', 'tf2_ros', 'launch')
FILES = sorted(PACKAGE.rglob('*.py'))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
            found |= {f'{node.module}.{alias.name}' for alias in node.names}
    return found


MODULES = {module_name(p): imports(p) for p in FILES}
GRAPH = {name: {i for i in used if i in MODULES} for name, used in MODULES.items()}


def layer(name: str) -> int:
    part = name.split('.')[1] if '.' in name else ''
    return {'tools': 3, 'nodes': 2, 'ros': 1}.get(part, 0)


@pytest.mark.parametrize('name', sorted(MODULES))
def test_imports_go_down_only(name):
    for used in GRAPH[name]:
        assert layer(used) <= layer(name), f'{name} imports {used}'


@pytest.mark.parametrize('name', sorted(n for n in MODULES if layer(n) == 0))
def test_core_knows_no_ros(name):
    for used in MODULES[name]:
        top = used.split('.')[0]
        assert top not in ROS, f'{name} imports {used}'
        assert not top.endswith('_msgs'), f'{name} imports {used}'


def test_no_circles():
    # A package's __init__ runs before its modules, but importing a module is no use of it.
    done, path = set(), []

    def visit(name):
        assert name not in path, f'circle: {" -> ".join([*path[path.index(name) :], name])}'
        if name in done:
            return
        path.append(name)
        for used in sorted(GRAPH[name]):
            visit(used)
        path.pop()
        done.add(name)

    for name in sorted(GRAPH):
        visit(name)


@pytest.mark.parametrize('path', sorted(PACKAGE.glob('nodes/*.py')), ids=lambda p: p.name)
def test_nodes_are_small(path):
    assert len(path.read_text(encoding='utf-8').splitlines()) <= 160


@pytest.mark.parametrize('path', FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_file_names_its_licence(path):
    assert 'SPDX-License-Identifier: Apache-2.0' in path.read_text(encoding='utf-8')[:200]


def test_the_version_is_the_same_everywhere():
    import re

    import marine_sim_ros

    version = marine_sim_ros.__version__
    assert f"version='{version}'" in (ROOT / 'setup.py').read_text(encoding='utf-8')
    manifest = (ROOT / 'package.xml').read_text(encoding='utf-8')
    assert re.search('<version>(.*)</version>', manifest).group(1) == version
