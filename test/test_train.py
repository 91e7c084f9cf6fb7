# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lessons of pilots: results are kept, and foreign or damaged files are left as they are."""

import argparse
import csv
import io
import os
import sqlite3
from dataclasses import replace

import pytest
from conftest import marine_sim
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.progress import no_progress
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.mission import load_mission, mission_names
from marine_sim_ros.tools import run, train
from marine_sim_ros.tools.train import (
    Attempt,
    ResultsFile,
    best_attempt,
    check_pilot,
    csv_text,
    result_pages,
)

ONE = Attempt('Ada', 'first_flight', '2026-11-28T20:00:00+00:00', 72.5, 'bronze', True, 61.5, '/x')


def test_attempts_are_read_as_they_were_added(tmp_path):
    results = ResultsFile(tmp_path / 'new' / 'r.sqlite')
    assert results.read() == []
    assert not results.path.exists()
    others = [replace(ONE, score=1 / 3, medal='', complete=False), replace(ONE, pilot='Zoë')]
    for attempt in (ONE, *others):
        results.add(attempt)
    assert results.read() == [ONE, *others]
    assert best_attempt(results.read(), 'Ada', 'first_flight') == ONE
    assert best_attempt(results.read(), 'Ada', 'other') is None


def foreign(path):
    with sqlite3.connect(path) as file:
        file.execute('CREATE TABLE bank (money REAL)')
    file.close()


def with_trigger(path):
    ResultsFile(path).add(ONE)
    with sqlite3.connect(path) as file:
        file.execute('CREATE TRIGGER t AFTER INSERT ON attempts BEGIN DELETE FROM attempts; END')
    file.close()


def newer(path):
    ResultsFile(path).add(ONE)
    with sqlite3.connect(path) as file:
        file.execute('PRAGMA user_version = 9')
    file.close()


def wrong_type(path):
    ResultsFile(path).add(replace(ONE, score='many'))


def cut(path):
    ResultsFile(path).add(ONE)
    path.write_bytes(path.read_bytes()[:4096])


def scrambled(path):
    ResultsFile(path).add(ONE)
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ('make', 'expected'),
    [
        (lambda path: path.write_text('my diary'), 'has no results of pilots'),
        (foreign, 'has no results of pilots'),
        (with_trigger, 'has other tables'),
        (newer, 'has version 9'),
        (wrong_type, "score is 'many'"),
        (cut, ''),
        (scrambled, ''),
        (lambda path: path.mkdir(), 'is a folder'),
    ],
)
def test_a_foreign_or_damaged_file_is_one_line_and_stays(tmp_path, make, expected):
    path = tmp_path / 'r.sqlite'
    make(path)
    before = path.read_bytes() if path.is_file() else b''
    code, told = marine_sim('train', '--list', '--results', path)
    assert code == 2
    assert told.startswith('ERROR: ')
    assert told.count('\n') == 1
    assert expected in told
    if make is not wrong_type:  # of which only the reading fails
        with pytest.raises(ParameterError, match='expected'):
            ResultsFile(path).add(ONE)
    assert (path.read_bytes() if path.is_file() else b'') == before


@given(content=st.binary(max_size=300), ours=st.booleans())
def test_any_bytes_are_results_or_one_line(tmp_path_factory, content, ours):
    path = tmp_path_factory.getbasetemp() / 'any.sqlite'
    head = b'SQLite format 3\0' + bytes(44) + (1).to_bytes(4, 'big') + bytes(4)
    path.write_bytes((head + (0x4D53494D).to_bytes(4, 'big') + content) if ours else content)
    if not content and not ours:
        assert ResultsFile(path).read() == []
        return
    with pytest.raises(ParameterError, match=r'^[^\n]*expected[^\n]*$'):
        ResultsFile(path).read()


def test_results_as_pdf(tmp_path):
    path, sheet = tmp_path / 'r.sqlite', tmp_path / 'r.pdf'
    for i in range(50):
        ResultsFile(path).add(replace(ONE, score=float(i), medal='gold' if i > 40 else ''))
    ResultsFile(path).add(replace(ONE, pilot='Bob'))
    pages = result_pages(ResultsFile(path).read())
    assert [page.title for page in pages] == [
        'Ada: 50 attempts, 1 lessons passed',
        'Bob: 1 attempts, 1 lessons passed',
    ]
    assert pages[0].rows[0][2] == '49.0'
    written = []
    for _ in range(2):
        assert marine_sim('train', '--pdf', sheet, '--results', path)[0] == 0
        written.append(sheet.read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith(b'%PDF')
    assert written[0].count(b'/Type /Page ') == 3  # 46 rows and the rest of Ada, and Bob
    code, told = marine_sim('train', '--pdf', tmp_path, '--results', path)
    assert code == 2
    assert 'cannot be written' in told


def test_progress_and_csv(tmp_path):
    path, table = tmp_path / 'r.sqlite', tmp_path / 'r.csv'
    for score, medal in ((40.0, ''), (95.0, 'gold'), (80.0, 'silver')):
        ResultsFile(path).add(replace(ONE, score=score, medal=medal, lesson='=first_flight'))
        ResultsFile(path).add(replace(ONE, score=score, medal=medal))
    code, told = marine_sim('train', '--list', '--pilot', 'Ada', '--results', path)
    assert code == 0
    row = next(line.split() for line in told.splitlines() if ' first_flight ' in line)
    assert row[:5] == ['1', 'first_flight', 'gold', '95.0', '3']
    _, told = marine_sim('train', '--list', '--pilot', 'Bob', '--results', path)
    assert 'gold' not in told
    assert marine_sim('train', '--csv', table, '--results', path)[0] == 0
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [float(r['score']) for r in rows] == [40.0, 40.0, 95.0, 95.0, 80.0, 80.0]
    assert {r['lesson'] for r in rows} == {"'=first_flight", 'first_flight'}
    assert csv_text([]).count('\n') == 1


@pytest.mark.parametrize('name', ['', '=1+1', '../x', 'a\nb', 'x' * 41, '<b>'])
def test_a_pilot_has_a_name_that_tables_can_show(name):
    with pytest.raises(ParameterError, match='expected 1 to 40'):
        check_pilot(name)


def test_each_shipped_mission_has_a_place_among_the_lessons():
    places = [load_mission(name).lesson for name in mission_names()]
    assert 0 not in places
    assert len(set(places)) == len(places)


@pytest.mark.ros
def test_a_lesson_is_flown_scored_and_kept(processes, tmp_path):
    pilot = tmp_path / 'pilot.yaml'
    pilot.write_text(
        'description: x\nduration: 1.0\ninitial: {position: [0.0, -4.0, -5.0]}\n'
        'segments:\n  - {at: 0.0, control: {z: -5.0}}\n'
    )
    results, folder = tmp_path / 'r.sqlite', tmp_path / 'run'
    process = processes.marine_sim(
        'train', 'first_flight', '--no-console', '--scenario', pilot, '--pilot', 'Ada', '--dt',
        0.02, '--real-time-factor', 0, '--results', results, '--record', folder,
    )  # fmt: skip
    told, _ = process.communicate()
    assert process.returncode == 1, told  # no medal after a second
    (attempt,) = ResultsFile(results).read()
    assert (attempt.pilot, attempt.lesson, attempt.medal) == ('Ada', 'first_flight', '')
    assert attempt.recording == str(folder)
    assert f'score {attempt.score:.1f} of 100' in told
    assert (folder / 'debriefing.png').is_file()


@pytest.mark.parametrize('name', mission_names())
def test_run_has_the_water_of_its_lesson_at_the_console_too(name):
    pytest.importorskip('nicegui')
    pytest.importorskip('rclpy')
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    mission = load_mission(name)
    words = [mission.vehicle, '--lesson', name, '--console']
    (options,), _ = run._runs(parser.parse_args(words), no_progress)
    assert (options.environment, options.controller) == (mission.environment, 'modern')
    console = next(node for node in node_specs(options) if node.executable == 'console')
    assert console.parameters['lesson'] == name
    assert console.parameters['environment'] == mission.environment


def test_ctrl_c_at_the_menu_is_no_lesson(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr('builtins.input', interrupt)
    assert train._choose() == ''
    assert capsys.readouterr().out == '\n'
