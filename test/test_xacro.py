# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Xacro as it is published: arguments, namespaces, includes, packages; where messages point."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

from marine_sim_ros import load_vehicle
from marine_sim_ros.core import packages
from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.doctor.checks import examine
from marine_sim_ros.doctor.context import load_context
from marine_sim_ros.tools.main import main

OFFICIAL = 'http://www.ros.org/wiki/xacro'
HEAD = '<robot name="r" xmlns:xacro="{}">\n'
BODY = """<link name="base_link"><inertial><mass value="{}"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
"""


def write(path, *lines, namespace=OFFICIAL):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD.format(namespace) + ''.join(lines) + '</robot>\n')
    return path


def refusal(path, **arguments):
    with pytest.raises(ModelError) as caught:
        load_vehicle(path, **arguments)
    assert '\n' not in str(caught.value)
    return str(caught.value)


# ---- arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'namespace',
    [OFFICIAL, 'http://ros.org/wiki/xacro', 'http://wiki.ros.org/xacro', 'https://ros.org/xacro'],
)
@pytest.mark.parametrize('name', ['r.urdf', 'r.urdf.xacro', 'r.xml'])
def test_a_namespace_of_any_spelling_is_xacro(tmp_path, namespace, name):
    text = '<xacro:arg name="m" default="2"/>' + BODY.format('${$(arg m) * 2}')
    path = write(tmp_path / name, text, namespace=namespace)
    assert load_vehicle(path).inertia.mass == 4
    assert load_vehicle(path, m='5').inertia.mass == 10
    assert "unknown xacro argument 'n'; expected one of: m" in refusal(path, n='1')


def test_the_namespace_counts_wherever_the_root_begins(tmp_path):
    path = write(tmp_path / 'r.urdf', BODY.format('${1 + 2}'))
    path.write_text('<!--' + 'a licence, ' * 1000 + '-->' + path.read_text())
    assert load_vehicle(path).inertia.mass == 3


@pytest.mark.parametrize('use', ['$(arg m)', "${xacro.arg('m')}"])
def test_an_argument_that_is_used_needs_no_declaration(tmp_path, use):
    path = write(tmp_path / 'r.xacro', BODY.format(use))
    assert load_vehicle(path, m='7').inertia.mass == 7


def test_an_argument_counts_where_another_one_leaves_it_out(tmp_path):
    text = '<xacro:if value="$(arg big)"><xacro:property name="m" value="$(arg m)"/></xacro:if>'
    path = write(tmp_path / 'r.xacro', text, BODY.format(3))
    assert load_vehicle(path, big='false', m='7').inertia.mass == 3


def test_an_argument_without_a_value_is_told_with_what_to_give(tmp_path):
    path = write(
        tmp_path / 'r.xacro', '<xacro:property name="m" value="$(arg mass)"/>', BODY.format('${m}')
    )
    text = refusal(path)
    assert text.startswith(f"{path}:2: xacro argument 'mass' has no default; expected mass:=VALUE")
    assert 'got color' in refusal(path, color='red')


def test_arguments_are_declared_in_includes(tmp_path):
    write(tmp_path / 'parts' / 'mass.xacro', '<xacro:arg name="m" default="2"/>\n')
    path = write(
        tmp_path / 'r.xacro',
        '<xacro:include filename="parts/mass.xacro"/>\n',
        BODY.format('$(arg m)'),
    )
    assert load_vehicle(path).inertia.mass == 2
    assert load_vehicle(path, m='5').inertia.mass == 5
    assert 'expected one of: m' in refusal(path, n='5')


# ---- messages name the file and the line of an include ----------------------------------------


def including(folder, *inner):
    part = write(folder / 'parts' / 'part.xacro', *inner)
    path = write(
        folder / 'r.xacro', BODY.format(2), '<xacro:include filename="parts/part.xacro"/>'
    )
    return path, part


@pytest.mark.parametrize(
    ('inner', 'line', 'message'),
    [
        ('<thrusters>\n<thruster label="a"/></thrusters>', 3, "attribute 'name' is missing"),
        ('\n\n<thrusters><propeller/></thrusters>', 4, 'unknown element <propeller>'),
        ('<gazebo>\n<plugin filename="libOrcaSonarPlugin.so"/></gazebo>', 3, 'unknown plugin'),
    ],
)
def test_an_error_of_ours(tmp_path, inner, line, message):
    path, part = including(tmp_path, inner)
    text = refusal(path)
    assert text.startswith(f'{part}:{line}: '), text
    assert message in text


def test_a_macro_points_to_where_it_is_written(tmp_path):
    path, _ = including(
        tmp_path,
        '<xacro:macro name="t" params="n *at">\n<thruster name="${n}"><linear/>\n'
        '<xacro:insert_block name="at"/></thruster></xacro:macro>\n',
    )
    text = path.read_text().replace(
        '</robot>',
        '<thrusters><xacro:t n="a">\n<origin xyz="0 0 far"/></xacro:t></thrusters></robot>',
    )
    path.write_text(text)
    line = text[: text.index('<origin')].count('\n') + 1
    assert refusal(path).startswith(f'{path}:{line}: <origin>: ')
    path.write_text(text.replace('far', '0').replace('n="a"', 'n=""'))
    assert load_vehicle(path).thrusters.names == ('',)


@pytest.mark.parametrize(
    ('inner', 'message'),
    [
        ('${mas}', "xacro: name 'mas' is not defined"),
        ('$(arg mass)', "xacro argument 'mass' has no default"),
        ('<a></b>', 'not well-formed XML'),
        ('<xacro:macro name="t"/><xacro:t n="1"/>', 'xacro: Invalid parameter "n"'),
        ('$(find not_there)', "package 'not_there' is not installed; expected --package-path"),
    ],
)
def test_an_error_of_xacro(tmp_path, inner, message):
    path, part = including(tmp_path, inner)
    text = refusal(path)
    assert re.match(rf'{re.escape(str(part))}(:[12])?: {re.escape(message)}', text), text
    assert text.endswith(f'(included from {path})')


def test_an_include_that_is_missing(tmp_path):
    path, part = including(tmp_path)
    part.unlink()
    text = refusal(path)
    assert text.startswith(f'{path}: xacro: No such file or directory: {part}'), text


def test_entities_of_an_include_are_refused(tmp_path):
    path, part = including(tmp_path)
    part.write_text('<!DOCTYPE r [<!ENTITY a "aaaa">]><robot><a>&a;</a></robot>')
    text = refusal(path)
    assert text.startswith(f'{part}: ')
    assert 'DOCTYPE' in text


def test_an_expansion_leaves_xacro_as_it_was(tmp_path):
    import xacro
    import xacro.substitution_args as arguments

    before = dict(vars(xacro)), dict(vars(arguments))
    refusal(including(tmp_path, '$(find not_there)')[0])
    after = dict(vars(xacro)), dict(vars(arguments))
    for names in (*before, *after):
        for changing in ('filestack', 'macrostack', 'substitution_args_context'):
            names.pop(changing, None)
    assert after == before


def test_no_mark_of_ours_is_left_in_the_urdf(tmp_path):
    vehicle = load_vehicle(
        including(
            tmp_path,
            '<link name="l"/>',
            '<joint name="j" type="fixed"><parent link="base_link"/><child link="l"/></joint>',
        )[0]
    )
    assert 'origin' not in vehicle.urdf


# ---- packages ---------------------------------------------------------------------------------


def package(folder, name):
    folder.mkdir(parents=True)
    (folder / 'package.xml').write_text(f'<package><name>{name}</name></package>')
    return folder


@pytest.fixture
def no_packages(monkeypatch):
    monkeypatch.delenv(packages.PACKAGE_PATH, raising=False)


@pytest.fixture
def workspace(tmp_path, no_packages):
    """A ROS 1 workspace: a package deep in it, its folder named otherwise, and a xacro beside."""
    inner = package(tmp_path / 'ws' / 'src' / 'stack' / 'folder', 'far_description')
    write(inner / 'urdf' / 'mass.xacro', '<xacro:property name="m" value="6"/>\n')
    (inner / 'cube.stl').write_text('solid a\nendsolid a\n')
    find = '<xacro:include filename="$(find far_description)/urdf/mass.xacro"/>\n'
    return write(tmp_path / 'r.xacro', find, BODY.format('${m}'))


@pytest.mark.parametrize('folder', ['ws', 'ws/src/stack', 'ws/src/stack/folder'])
def test_a_package_path(workspace, folder, monkeypatch):
    assert 'expected --package-path FOLDER' in refusal(workspace)
    monkeypatch.setenv(packages.PACKAGE_PATH, f'/nowhere{os.pathsep}{workspace.parent / folder}')
    assert load_vehicle(workspace).inertia.mass == 6
    path = packages.package_folder('far_description')
    assert path == workspace.parent / 'ws' / 'src' / 'stack' / 'folder'


def test_meshes_of_a_package_that_is_not_installed(workspace, monkeypatch):
    from marine_sim_ros.geometry.mesh_files import mesh_path

    name = 'package://far_description/cube.stl'
    with pytest.raises(ModelError, match=r"mesh 'package://.*is not installed; expected --pack"):
        mesh_path(name, workspace.parent)
    monkeypatch.setenv(packages.PACKAGE_PATH, str(workspace.parent / 'ws'))
    assert mesh_path(name, workspace.parent).read_text().startswith('solid')


@pytest.mark.usefixtures('no_packages')
def test_a_description_finds_its_own_package_and_those_beside_it(tmp_path):
    for name in ('my_description', 'my_gazebo'):
        package(tmp_path / name, name)
        write(
            tmp_path / name / 'urdf' / 'mass.xacro', f'<xacro:property name="{name}" value="2"/>'
        )
    lines = [
        f'<xacro:include filename="$(find {name})/urdf/mass.xacro"/>\n'
        for name in ('my_description', 'my_gazebo')
    ]
    path = write(
        tmp_path / 'my_description' / 'urdf' / 'r.xacro',
        *lines,
        BODY.format('${my_description * my_gazebo}'),
    )
    assert load_vehicle(path).inertia.mass == 4


@pytest.mark.usefixtures('no_packages')
@pytest.mark.parametrize('home', [False, True])
def test_a_description_finds_the_packages_of_its_repository(tmp_path, monkeypatch, home):
    (tmp_path / '.git').mkdir()
    inner = package(tmp_path / 'other' / 'deep' / 'far_description', 'far_description')
    write(inner / 'urdf' / 'mass.xacro', '<xacro:property name="m" value="6"/>')
    mine = package(tmp_path / 'sim' / 'mine', 'mine')
    find = '<xacro:include filename="$(find far_description)/urdf/mass.xacro"/>'
    path = write(mine / 'r.xacro', find, BODY.format('${m}'))
    if home:  # a repository of settings is none of a description
        monkeypatch.setenv('HOME', str(tmp_path))
        assert "'far_description' is not installed" in refusal(path)
    else:
        assert load_vehicle(path).inertia.mass == 6


def test_the_option_is_handed_on_to_processes(workspace):
    text = (
        'import os, sys\nfrom marine_sim_ros.core.packages import add_package_paths\n'
        'add_package_paths([sys.argv[1]])\nprint(os.environ["ROS_PACKAGE_PATH"])'
    )
    environment = {**os.environ, packages.PACKAGE_PATH: '/before', 'PYTHONPATH': str(ROOT)}
    folder = workspace.parent / 'ws'
    done = subprocess.run(
        [sys.executable, '-c', text, str(folder)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == f'{folder}{os.pathsep}/before'
    with pytest.raises(ParameterError, match='--package-path /nowhere: is no folder'):
        packages.add_package_paths(['/nowhere'])


def test_verbs_take_a_package_path(workspace, capsys, monkeypatch):
    monkeypatch.setenv(packages.PACKAGE_PATH, '')
    with pytest.raises(SystemExit) as ended:
        main(['doctor', str(workspace)])
    assert ended.value.code == 2
    with pytest.raises(SystemExit) as ended:
        main(['export-sdf', str(workspace), '--package-path', str(workspace.parent / 'ws')])
    assert ended.value.code == 0
    assert '<mass>6' in capsys.readouterr().out


# ---- plugins of others ------------------------------------------------------------------------

PLUGINS = """<gazebo><plugin name="b" filename="gz-sim-buoyancy-system"/>
<plugin name="u" filename="libuuv_underwater_object_ros_plugin.so"/></gazebo>
<gazebo reference="base_link"><sensor name="s" type="imu">
<plugin name="i" filename="libgazebo_ros_imu_sensor.so"/></sensor></gazebo>
<gazebo><plugin filename="libwamv_gazebo_dynamics_plugin.so"/></gazebo>
<gazebo><plugin name="orca" filename="libOrcaBuoyancyPlugin.so"/></gazebo>
"""


def test_plugins_of_others_are_named(tmp_path):
    path, part = including(tmp_path, PLUGINS)
    found = [w for w in load_vehicle(path).warnings if 'is ignored' in w]
    assert [(w.split(': ')[0], w.split(' is ignored')[0].split()[-1]) for w in found] == [
        (f'{part}:2', 'gz-sim-buoyancy-system'),
        (f'{part}:3', 'libuuv_underwater_object_ros_plugin.so'),
        (f'{part}:5', 'libgazebo_ros_imu_sensor.so'),
        (f'{part}:6', 'libwamv_gazebo_dynamics_plugin.so'),
    ]
    assert all('marine_sim_ros reads libOrca' in w for w in found)
    assert '<plugin name="b">' in found[0]


@pytest.mark.parametrize('link', ['base_link', 'hull'], ids=['loads', 'does not load'])
def test_doctor_names_them_once(tmp_path, link):
    path, part = including(tmp_path, PLUGINS)
    path.write_text(path.read_text().replace('link name="base_link"', f'link name="{link}"'))
    found = [f for f in examine(load_context(str(path), {})) if 'is ignored' in f.message]
    assert [f.check for f in found] == ['ignored-plugins'] * 4
    assert [(f.place.file, f.place.line) for f in found] == [
        (str(part), line) for line in (2, 3, 5, 6)
    ]
