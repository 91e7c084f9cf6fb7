# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The debriefing of a flown lesson: score, marks, sticks, and what is no score."""

import json

import numpy as np
import pytest
from conftest import marine_sim
from hypothesis import given
from hypothesis import strategies as st
from test_analyze import plain

from marine_sim_ros.console.lesson_record import LessonRecord, read_compared_run, read_score
from marine_sim_ros.console.replay import Replay
from marine_sim_ros.core.errors import RecordingError

LESSON = """
title: Short
description: Stay and dive
briefing: Stay.
vehicle: bluerov2
environment: shallow_sand
scenario: PILOT
limit: 4.0
tasks:
  - {name: stay, kind: hold, position: [0.0, -4.0, -0.5], radius: 3.0, duration: 1.0}
  - {name: gate, kind: gate, position: [9.0, -4.0, -5.0], heading: 0 deg}
penalties:
  depth: {limit: 0.6, points: 5.0}
"""
PILOT = """
description: Dive
duration: 5.0
initial: {position: [0.0, -4.0, -0.5], rpy: [0.0, 0.0, 0.0]}
segments:
  - {at: 0.0, depth: 2.0}
"""


@pytest.fixture(scope='module')
def flown(tmp_path_factory):
    """The folder of a lesson that was flown, and the text of its command."""
    folder = tmp_path_factory.mktemp('lesson')
    (folder / 'pilot.yaml').write_text(PILOT)
    (folder / 'short.yaml').write_text(LESSON.replace('PILOT', str(folder / 'pilot.yaml')))
    run = folder / 'run'
    marine_sim('mission', folder / 'short.yaml', '--record', run, '--dt', '0.02')
    return run


def test_marks_and_states_are_those_of_the_score(flown):
    score = json.loads((flown / 'score.json').read_text())
    record = LessonRecord(str(flown), 'bluerov2', 0.0)
    (begin, end) = score['penalties'][0]['spans'][0]
    assert record.marks() == [
        {'time': begin, 'end': end, 'kind': 'penalty', 'text': 'penalty depth'},
        {'time': 1.0, 'end': 1.0, 'kind': 'done', 'text': 'stay'},
    ]
    states = [[row['state'] for row in record.states(time)] for time in (0.5, 1.0, 4.5)]
    assert states == [['running', 'waiting'], ['done', 'running'], ['done', 'running']]
    record.read_events()
    assert record.events == []
    assert record.sticks.shape == (0, 7)


def test_a_run_is_compared_with_itself(flown):
    replay = Replay(str(flown / 'bag'), compare=[str(flown)])
    head, *rows = replay.lesson.table()
    assert head == ('', 'this run', 'run')
    assert [row[0] for row in rows] == ['stay', 'gate', 'penalty depth', 'score', 'medal']
    assert all(own == other for _, own, other in rows)
    (line,) = replay.scenery['compared']
    assert line['name'] == 'run'
    path = read_compared_run(str(flown)).path
    assert path[0] == pytest.approx([0.0, -4.0, -0.5])
    assert replay.telemetry_frame(1.5)['mission']['tasks'][0]['state'] == 'done'
    replay.close()


def test_events_and_sticks_of_a_bag(tmp_path):
    event = {'time': 2.0, 'by': 'instructor', 'kind': 'note', 'text': 'late'}

    def messages(types):
        text, joy = types['std_msgs/msg/String'], types['sensor_msgs/msg/Joy']
        time, header = types['builtin_interfaces/msg/Time'], types['std_msgs/msg/Header']
        for data in (json.dumps(event), 'nonsense'):
            yield '/rov/console/events', 'std_msgs/msg/String', 2 * 10**9, text(data)
        axes = np.array([0.5, 0, 0, 0, 0, -1], np.float32)
        sticks = joy(header(time(1, 500_000_000), ''), axes, np.zeros(0, np.int32))
        yield '/rov/console/sticks', 'sensor_msgs/msg/Joy', 1_500_000_000, sticks

    folder = plain(tmp_path / 'bag', messages)
    record = LessonRecord(str(folder), 'rov', 1.0)
    assert record.has_events
    record.read_events()
    assert record.events == [{**event, 'time': 1.0}]
    np.testing.assert_array_equal(record.sticks, [[0.5, 0.5, 0, 0, 0, 0, -1]])
    assert [mark['text'] for mark in record.marks()] == ['late']


@given(st.recursive(st.one_of(st.none(), st.floats(), st.text()), st.lists, max_leaves=5))
def test_any_json_is_a_score_or_one_line(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp('any')
    (folder / 'bag').mkdir()
    (folder / 'bag' / 'metadata.yaml').touch()
    (folder / 'score.json').write_text(json.dumps({'mission': 'x', 'tasks': value}))
    with pytest.raises(RecordingError, match='is no score'):
        read_score(str(folder / 'bag'))
    assert 'is no score' in LessonRecord(str(folder / 'bag'), 'rov', 0.0).trouble
