# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Panel of a lesson: its tasks and their states, the timer, the score, penalties and hints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.layout import lamp
from marine_sim_ros.console.page.panels import Ask, ControlPanel, Frame, figure

__all__ = ['mission_panel']

MARKS = {'waiting': '○', 'running': '▶', 'done': '✓', 'failed': '✗'}
MESSAGES = {'done': ('positive', 'done'), 'failed': ('negative', 'failed')}
"""Type and word of a message, by the new state of a task."""


def mission_panel(panel: ControlPanel, ask: Ask, mission: Mapping[str, Any]) -> None:
    """Add the tasks, the score and the advice of a lesson, and the button that starts it."""
    ui.label(mission['title']).classes('name')
    with ui.element('div').classes('group lesson'):
        score, medal, clock = (ui.label().classes('value') for _ in range(3))
        score.mark('score')
        start = panel.add(lamp('Start', lambda: ask('pause', False), 'start the clock'))
        start.classes('calls').mark('start')
    advice = ui.label(mission['briefing']).classes('advice')
    advice.props('role=status').mark('advice')
    rows = [_task_row(task) for task in mission['tasks']]
    ui.separator()
    with ui.element('div').classes('tasks') as penalties:
        pass
    with ui.expansion('Briefing').props('dense').classes('w-full'):
        ui.label(mission['briefing']).classes('briefing')
        levels = ', '.join(f'{name} {least:g}' for name, least in mission['medals'].items())
        ui.label(f'Medals from: {levels} points of 100.').classes('what')
    shown: dict[str, Any] = {'states': None, 'penalties': None}

    def sync(frame: Frame) -> None:
        start.set_visibility(bool(frame.get('paused')) and not frame.get('time'))
        if (found := frame.get('mission')) is None:
            return
        score.text = f'{figure(found["score"], 1)} points'
        medal.text = found['medal'] or 'no medal yet'
        clock.text = _clock(found, mission['limit'])
        states = [task['state'] for task in found['tasks']]
        for row, task in zip(rows, found['tasks'], strict=True):
            row(task)
        if shown['states'] is not None:
            _announce(found['tasks'], shown['states'])
        if frame.get('time'):
            advice.text = _advice(found, mission['tasks'])
        shown['states'] = states
        if found['penalties'] != shown['penalties']:
            shown['penalties'] = found['penalties']
            _show_penalties(penalties, found['penalties'])

    panel.show(sync)


def _task_row(task: Mapping[str, Any]) -> Any:
    """Add a task; return the function that shows its result."""
    with ui.element('div').classes('task').props('data-state=waiting') as row:
        mark = ui.label(MARKS['waiting']).classes('mark')
        name = ui.label(task['name'])
        name.props['title'] = task['text']
        bar = ui.linear_progress(value=0.0, show_value=False).props('aria-hidden=true')
        points = ui.label().classes('value')

    def show(found: Mapping[str, Any]) -> None:
        if row.props.get('data-state') != found['state']:
            row.props['data-state'] = found['state']
            row.props['aria-label'] = f'{task["name"]}: {found["state"]}'
        mark.text = MARKS[found['state']]
        bar.value = round(found['share'], 2)
        points.text = figure(found['points'], 1)

    return show


def _clock(found: Mapping[str, Any], limit: float | None) -> str:
    """Return the time of a lesson, or what is left of it."""
    time = found['ended'] if found['complete'] else found['time']
    return f'{time:.0f} s' if limit is None else f'{time:.0f} of {limit:g} s'


def _advice(found: Mapping[str, Any], tasks: list[Any]) -> str:
    """Return the next thing to do."""
    if found['complete']:
        medal = found['medal'] or 'no medal'
        return f'The lesson is over: {medal}. End the run for the debriefing.'
    for result, task in zip(found['tasks'], tasks, strict=True):
        if result['state'] == 'running':
            left = task['within'] and task['within'] - (found['time'] - result['begun'])
            within = f' {max(left, 0.0):.0f} s left.' if left else ''
            return f'{task["name"]}: {task["hint"] or task["text"]}.{within}'
    return ''


def _announce(tasks: list[Any], before: list[str]) -> None:
    """Show a message for each task that has ended since."""
    for task, state in zip(tasks, before, strict=True):
        if task['state'] != state and task['state'] in MESSAGES:
            kind, word = MESSAGES[task['state']]
            ui.notify(f'{task["name"]}: {word}', type=kind, position='top')


def _show_penalties(place: ui.element, penalties: list[Any]) -> None:
    place.clear()
    with place:
        for penalty in penalties:
            row = ui.element('div').classes('task penalty')
            row.props['data-state'] = 'failed' if penalty['points'] else 'waiting'
            with row:
                ui.label('−').classes('mark')
                ui.label(penalty['name'])
                ui.label(f'{penalty["amount"]:.1f} {penalty["unit"]}').classes('what')
                ui.label(figure(-penalty['points'], 1)).classes('value')
