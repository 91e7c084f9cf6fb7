# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is written below a folder stays in it, and only what was written is ever removed."""

import re

import pytest
from bags import analyze
from conftest import SHARE
from hypothesis import example, given
from hypothesis import strategies as st

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.text import file_name
from marine_sim_ros.tools.main import main
from marine_sim_ros.tools.options import prepare_recording_folder

pytest.importorskip('rosbags')
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

NAMES = [
    '/../../../escaped', '/..', '/a/../../b', '//abs', '/tmp/absolute', '/' + 'n' * 300,
    '/new\nline', '/.', '/con/../x', '/con', '', '/a b', '/<b>', '/ä',
]  # fmt: skip


@given(st.lists(st.one_of(st.text(), st.sampled_from(NAMES)), unique=True))
@example(['_'])
@example(['a/b', 'a_b', 'a_b-', 'A_B', '..', '.', '', '/', '\0', '\ud800', 'x' * 10_000])
def test_every_name_has_a_file_name_of_its_own_in_its_folder(names):
    taken = []
    for name in names:
        found = file_name(name, taken)
        assert found not in taken
        assert found.isascii()
        assert re.fullmatch('[A-Za-z0-9_-]+', found)
        assert len(found) <= 100
        taken.append(found)


def test_ordinary_names_stay_readable():
    assert file_name('wrench/total') == 'wrench_total'
    assert file_name('cmd_vel') == 'cmd_vel'
    assert file_name('cmd/vel', ['cmd_vel']).startswith('cmd_vel-')
    assert file_name('../../x').startswith('x-')


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """A recording of simulate."""
    folder = tmp_path_factory.mktemp('recorded') / 'rec'
    words = ('simple_rov', '--scenario', 'dive', '--duration', '0.05', '--record', str(folder))
    with pytest.raises(SystemExit):
        main(['simulate', *words])
    return folder


def renamed(source, target, namespace):
    """Write a bag with its topics in another namespace."""
    types = get_typestore(Stores.ROS2_JAZZY)
    with (
        AnyReader([source / 'bag'], default_typestore=types) as reader,
        Writer(target, version=9) as writer,
    ):
        own = {
            c.id: writer.add_connection(
                c.topic.replace('/simple_rov', namespace), c.msgtype, typestore=types
            )
            for c in reader.connections
        }
        for connection, stamp, data in reader.messages():
            writer.write(own[connection.id], stamp, data)


@pytest.mark.parametrize('namespace', NAMES[:: min(SHARE, 3)])  # each file's name is fuzzed
def test_tables_stay_in_the_folder_of_the_report(recorded, tmp_path, namespace, capsys):
    renamed(recorded, tmp_path / 'bag', namespace)
    before = {p for p in tmp_path.rglob('*')}
    out = tmp_path / 'a' / 'b' / 'report'
    code = analyze(tmp_path / 'bag', '-o', out, '--table', 'csv')
    assert code in (0, 2)
    assert code == 0 or capsys.readouterr().err.count('\n') == 1
    new = {p for p in tmp_path.rglob('*') if p.is_file()} - before
    assert all(out in p.parents for p in new)
    assert code == 2 or any(p.suffix == '.csv' for p in new)


def test_overwrite_removes_what_analyze_wrote_and_nothing_else(recorded, tmp_path, capsys):
    out = tmp_path / 'report'
    assert analyze(recorded, '-o', out, '--table', 'csv') == 0
    own = out / 'tables' / 'mine.csv'
    own.write_text('precious')
    (table,) = out.rglob('odom.csv')
    old = table.parent / 'old.csv'
    with (out / 'tables' / 'files.txt').open('a') as listed:
        listed.write(f'{old.relative_to(out / "tables")}\n../../precious.csv\n{tmp_path}/p.csv\n')
    old.write_text('of an old report')
    for name in ('precious.csv', 'p.csv'):
        (tmp_path / name).write_text('precious')
    assert analyze(recorded, '-o', out, '--table', 'none', '--overwrite') == 0
    assert sorted(p.name for p in out.rglob('*')) == [
        'metrics.json', 'mine.csv', 'report.html', 'tables'
    ]  # fmt: skip
    assert all((tmp_path / n).read_text() == 'precious' for n in ('precious.csv', 'p.csv'))
    assert own.read_text() == 'precious'


@pytest.mark.parametrize('place', ['tables', 'tables/rec', 'tables/rec/simple_rov/odom.csv'])
def test_nothing_is_written_or_removed_through_a_link(recorded, tmp_path, place, capsys):
    out, mine = tmp_path / 'report', tmp_path / 'mine'
    assert analyze(recorded, '-o', out, '--table', 'csv') == 0
    (out / place).rename(mine)
    (out / place).symlink_to(mine)
    kept = {p: p.read_bytes() for p in (mine, *mine.rglob('*')) if p.is_file()}
    assert analyze(recorded, '-o', out, '--table', 'csv', '--overwrite') == 2
    error = capsys.readouterr().err
    assert f'{out / place}: is a link; expected a folder or file of a report' in error
    assert error.count('\n') == 1
    assert {p: p.read_bytes() for p in kept} == kept


def test_a_linked_report_is_replaced_and_not_written_through(recorded, tmp_path):
    out, mine = tmp_path / 'report', tmp_path / 'mine'
    mine.write_text('precious')
    out.mkdir()
    for name in ('report.html', 'metrics.json'):
        (out / name).symlink_to(mine)
    assert analyze(recorded, '-o', out, '--table', 'none') == 2
    assert analyze(recorded, '-o', out, '--table', 'none', '--overwrite') == 0
    assert mine.read_text() == 'precious'
    assert not (out / 'report.html').is_symlink()


def test_a_recording_is_replaced_without_what_others_put_into_it(recorded, tmp_path):
    mine = tmp_path / 'mine'
    mine.mkdir()
    (mine / 'd.mcap').write_text('precious')
    for make in (
        lambda bag: (bag / 'notes.txt').write_text('precious'),
        lambda bag: (bag / 'bag_1.mcap').symlink_to(mine / 'd.mcap'),
        lambda bag: (bag / 'deep').mkdir(),
        lambda bag: (bag.rmdir(), bag.symlink_to(mine)),
    ):
        bag = tmp_path / make.__code__.co_name / str(id(make)) / 'bag'
        bag.mkdir(parents=True)
        make(bag)
        with pytest.raises(ParameterError, match='has other files'):
            prepare_recording_folder(str(bag.parent), overwrite=True)
    assert (mine / 'd.mcap').read_text() == 'precious'
    bag = tmp_path / 'old' / 'bag'
    bag.mkdir(parents=True)
    for name in ('metadata.yaml', 'bag_0.mcap', 'bag_0.db3', 'bag_0.db3-wal'):
        (bag / name).touch()
    prepare_recording_folder(str(bag.parent), overwrite=True)
    assert not list(bag.parent.iterdir())
