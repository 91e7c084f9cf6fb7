# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A file that cannot be written is told before the work, and nothing is made meanwhile."""

import os
from pathlib import Path

import pytest

from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.tools.command_line import check_writable
from marine_sim_ros.tools.main import main


@pytest.mark.parametrize(
    ('arguments', 'option'),
    [
        (['validate', 'nobody'], '--html'),
        (['identify', '/no/bag'], '--plot'),
        (['identify', '/no/bag'], '--urdf'),
        (['doctor', 'nobody'], '--fix'),
    ],
)
@pytest.mark.parametrize('place', ['missing/file', '.', 'file/below'])
def test_a_path_is_checked_before_the_input_is_read(tmp_path, capsys, arguments, option, place):
    (tmp_path / 'file').write_text('kept')
    with pytest.raises(SystemExit) as ended:
        main([*arguments, option, str(tmp_path / place)])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f'ERROR: {option} {tmp_path / place}: cannot be written: ')
    assert error.count('\n') == 1
    assert (tmp_path / 'file').read_text() == 'kept'


@pytest.mark.parametrize('verb', [['export-sdf', 'nobody'], ['render', '/no/bag']])
def test_missing_folders_are_made_but_not_below_a_file(tmp_path, capsys, verb):
    (tmp_path / 'file').touch()
    for place, told in (('file/a/b.mp4', 'Not a directory'), ('new/a/b.mp4', verb[1])):
        with pytest.raises(SystemExit):
            main([*verb, '-o', str(tmp_path / place)])
        assert told in capsys.readouterr().err
    assert not (tmp_path / 'new').exists()


@pytest.mark.skipif(os.geteuid() == 0, reason='the superuser may write everywhere')
def test_a_read_only_folder_is_told(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RecordingError, match='Permission denied'):
        check_writable(tmp_path / 'file', '--html')


def test_nothing_is_made_changed_or_opened_that_has_a_reader(tmp_path):
    old, pipe = tmp_path / 'old', tmp_path / 'pipe'
    old.write_text('kept')
    os.utime(old, (1, 1))
    os.mkfifo(pipe)
    for path in (old, pipe, tmp_path / 'new', Path('/dev/stdout')):
        check_writable(path, '--html')
    assert old.read_text() == 'kept'
    assert old.stat().st_mtime == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ['old', 'pipe']


VEHICLE = """<robot name="box"><link name="b"><inertial><mass value="10"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link></robot>"""


@pytest.mark.parametrize(
    'verb',
    [
        ['import', 'v.urdf', '-o'],
        ['export-sdf', 'v.urdf', '-o'],
        ['export-ros2-control', 'v.urdf', '-o'],
        ['doctor', 'v.urdf', '--fix'],
        ['identify', '/no/bag', '--vehicle', 'v.urdf', '--urdf'],
    ],
)
@pytest.mark.parametrize('output', ['v.urdf', '../here/./v.urdf', 'link.urdf'])
def test_no_verb_replaces_the_file_that_it_reads(tmp_path, monkeypatch, capsys, verb, output):
    here = tmp_path / 'here'
    here.mkdir()
    monkeypatch.chdir(here)
    Path('v.urdf').write_text(VEHICLE)
    Path('link.urdf').symlink_to('v.urdf')
    with pytest.raises(SystemExit) as ended:
        main([*verb, output])
    assert ended.value.code == 2
    expected = f'ERROR: {verb[-1]} {Path(output)}: is the file that is read; expected another file'
    assert capsys.readouterr().err == expected + '\n'
    assert Path('v.urdf').read_text() == VEHICLE


@pytest.mark.parametrize(
    'verb',
    [
        ['import-world', '/no/world.sdf', '-o'],
        ['export-map', 'nowhere', '-o'],
        ['terrain', '/no/data.xyz', '--at', '10,10', '-o'],
        ['sweep', 'dive', '--out'],
        ['dataset', 'wreck', '-o'],
        ['analyze', '/no/bag', '-o'],
    ],
)
def test_a_file_is_no_folder(tmp_path, capsys, verb):
    path = tmp_path / 'kept'
    path.write_text('kept')
    with pytest.raises(SystemExit) as ended:
        main([*verb, str(path)])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f'ERROR: {verb[-1]} {path}: is a file; expected a folder\n'
    assert path.read_text() == 'kept'
