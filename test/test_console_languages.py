# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Languages of the pilot's pages: each catalogue has each message, with its placeholders."""

import ast
import re
import string
from pathlib import Path

import pytest

pytest.importorskip('nicegui', reason='nicegui: not installed (extra console)')

from marine_sim_ros.console.page import instructor, layout, live, panels
from marine_sim_ros.console.page.languages import LANGUAGES, catalogue, read_messages
from marine_sim_ros.console.telemetry import force_colours
from marine_sim_ros.core.registry import MISSION_TASKS
from marine_sim_ros.core.schema import fields_of
from marine_sim_ros.sim.mission import lessons, mission_scenery
from marine_sim_ros.sim.mission_penalties import Penalties

PAGE = Path(layout.__file__).parent
HELPERS = {
    'tr': (0,),
    'lamp': (0, 2),
    'number_display': (1,),
    '_confirmation': (0, 1),
    'Slider': (1,),
    '_share': (2,),
    '_number': (1,),
    'add': (0, 2),
}
"""Functions whose arguments of these numbers are messages."""
PILOT = ('debriefing.py', 'faults.py', 'layout.py', 'live.py', 'panels.py', 'recorded.py')
"""Modules of the pilot's page."""


def literals(path):
    """Yield the messages that a module gives to its helpers."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, 'id', getattr(node.func, 'attr', ''))
        if name == 'add' and not isinstance(node.func, ast.Name):
            continue
        for i in HELPERS.get(name, ()):
            yield from _constants(node.args[i]) if len(node.args) > i else ()


def _constants(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for part in (*getattr(node, 'values', ()), getattr(node, 'body', None)):
        if isinstance(node, (ast.BoolOp, ast.IfExp)) and part is not None:
            yield from _constants(part)
    if isinstance(node, ast.IfExp):
        yield from _constants(node.orelse)


def declared():
    """Yield the messages of tables that the pages translate when they show them."""
    yield from (text for pair in panels.OUTPUTS.values() for text in pair)
    yield from panels.SWITCHES.values()
    yield from (panels.TAKE_FIRST, live.INSTRUCTED, instructor.DROP_HINT)
    yield from (text for pair in instructor.FIELDS.values() for text in pair)
    yield from (word.capitalize() for word in instructor.MARKS)
    yield from (label for *_, label in panels.TILTS)
    yield from (label for _, _, sides in panels.STICKS for label, _ in sides)
    yield from (label for label, _ in panels.TARGETS.values())
    for table in (layout.CURVES, layout.LAYERS, layout.METERS, layout.OVERLAY):
        yield from table.values()
    yield from (*layout.TETHER_METERS.values(), *layout.SIDES)
    yield from (what for _, what, _ in layout.HELP)
    yield from force_colours()
    yield from (*instructor.EVENT_WORDS, 'pilot', 'instructor', 'waiting', 'running')
    yield from ('all faults end', 'pause', 'the run goes on', 'reset')  # run_events.event_text
    yield from ('Axis', 'Target', 'Now', 'Set-point', 'done', 'failed')
    yield from ('bronze', 'silver', 'gold', 'no medal yet', 'no medal')
    yield from ('Connection lost: the page shows old data, and you cannot steer from it.',)
    yield from (
        'Lesson', 'Drive', 'Command', 'Arm', 'Lights', 'Water', 'Faults', 'Thrust', 'Forces',
        'Chart', 'Sensors', 'Health', 'Instructor', 'Debriefing', 'Recording',
        'this run', 'score', 'medal', 'none',
    )  # fmt: skip


def scripts():
    """Yield the messages of the scripts."""
    for path in (PAGE / 'lib').glob('*.js'):
        yield from re.findall(r'\btr\("([^"]+)"\)', path.read_text())
    motions = (PAGE / 'lib' / 'gamepad_map.js').read_text()
    for name in ('MOTIONS', 'FUNCTIONS'):
        yield from re.findall(r'"([^"]+)"', re.search(rf'{name} = \[(.*)\]', motions)[1])
    for names in re.findall(r'names: \[(.*?)\]', (PAGE / 'lib' / 'curves.js').read_text()):
        yield from re.findall(r'"([^"]+)"', names)
    inside = (PAGE / 'lib' / 'operator_input.js').read_text()
    yield from re.findall(r'"([^"]+)"', re.search(r'PAUSED = \[(.*)\]', inside)[1])
    yield from ('Heading', 'Roll', 'Pitch', 'Depth')


MESSAGES = {
    text
    for text in (
        *(m for name in PILOT for m in literals(PAGE / name)),
        *literals(PAGE / 'instructor.py'),
        *declared(),
        *scripts(),
    )
    if re.search(r'[A-Za-z]{2}', text)
}


def texts_of_lessons():
    """Yield the texts of the shipped lessons and kinds of tasks, as pages show them."""
    yield from (kind.text for kind in MISSION_TASKS.values())
    yield from (f'penalty {name}' for name in fields_of(Penalties))
    for lesson in map(mission_scenery, lessons()):
        yield from (lesson['title'], lesson['briefing'])
        for task in lesson['tasks']:
            yield from (task['name'], task['hint'], *task['reports'])


LESSONS = {text for text in texts_of_lessons() if text} - MESSAGES


def placeholders(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


OTHERS = [code for code in LANGUAGES if code != 'en']


def numbers(text):
    """Return the numbers of a text, with a point or a comma."""
    return sorted(re.findall(r'\d+(?:\.\d+)?', re.sub(r'(?<=\d),(?=\d)', '.', text)))


@pytest.mark.parametrize('language', OTHERS)
@pytest.mark.parametrize(('file', 'wanted'), [('{}', MESSAGES), ('lessons_{}', LESSONS)])
def test_a_catalogue_has_each_message_with_its_placeholders(language, file, wanted):
    messages = read_messages(file.format(language))
    assert messages.keys() - wanted == set()
    assert wanted - messages.keys() == set()
    for text, translated in messages.items():
        assert translated.strip(), text
        assert placeholders(translated) == placeholders(text), text
        assert (text[-1] == '.') == (translated[-1] in '.。'), text


@pytest.mark.parametrize('language', OTHERS)
def test_a_lesson_has_the_same_numbers_in_each_language(language):
    for text in LESSONS:
        missing = set(numbers(text)) - set(numbers(catalogue(language)[text]))
        assert not missing, (text, missing)
