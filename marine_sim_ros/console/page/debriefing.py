# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Debriefing of a flown lesson: points beside those of other runs, marks, sticks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.lesson_record import LessonRecord
from marine_sim_ros.console.page.languages import tr
from marine_sim_ros.control.controllability import BODY_AXES

__all__ = ['debriefing_panel', 'mark_strip']

Seek = Callable[[float], None]
STICK_AXES = ('surge', 'sway', 'heave', 'yaw')
"""Sticks whose curves are drawn."""


def debriefing_panel(lesson: LessonRecord, duration: float, seek: Seek) -> Callable[[], None]:
    """Add table, list of marks and curves of the sticks; return what adds those of the bag."""
    if lesson.trouble:
        ui.label(lesson.trouble).classes('is-warning')
    if lesson.score is not None:
        title = tr(
            '{mission}: {score} of 100, {medal}', mission=tr(lesson.title),
            score=f'{lesson.score["score"]:.1f}', medal=tr(lesson.score['medal'] or 'no medal'),
        )  # fmt: skip
        ui.label(title).classes('name')
        _table(lesson.table())
    ui.label(tr('A click goes to the time.')).classes('what')
    marks = ui.element('div').classes('marklist').props('aria-label="Marks"')
    sticks = ui.element('div').classes('w-full')

    def fill() -> None:
        marks.clear()
        with marks:
            for mark in lesson.marks():
                _mark_row(mark, duration, seek)
        if len(lesson.sticks):
            with sticks:
                _stick_curves(lesson)

    return fill


def _table(rows: list[tuple[str, ...]]) -> None:
    with ui.element('table').classes('numbers').mark('points'):
        with ui.element('thead'), ui.element('tr'):
            for text in rows[0]:
                with ui.element('th').props('scope=col'):
                    ui.label(tr(text))
        with ui.element('tbody'):
            for name, *values in rows[1:]:
                with ui.element('tr'):
                    with ui.element('th').props('scope=row'):
                        ui.label(tr(name))
                    for value in values:
                        with ui.element('td'):
                            ui.label(tr(value))


def _mark_row(mark: dict[str, Any], duration: float, seek: Seek) -> None:
    time = min(max(mark['time'], 0.0), duration)
    row = ui.element('button').classes('markrow').props('type=button')
    row.props['data-kind'] = mark['kind']
    row.on('click', partial(_go_to, seek, time))
    with row:
        ui.label(f'{mark["time"]:.1f} s').classes('value')
        ui.element('i')
        ui.label(_mark_text(mark))


def _mark_text(mark: dict[str, Any]) -> str:
    """Return a mark in words; what people wrote stays."""
    if mark['kind'] in ('done', 'failed'):
        return tr('{task}: {state}', task=tr(mark['text']), state=tr(mark['kind']))
    return mark['text'] if mark['kind'] in ('note', 'message') else tr(mark['text'])


def _go_to(seek: Seek, time: float, _: object = None) -> None:
    seek(time)


def _stick_curves(lesson: LessonRecord) -> None:
    ui.label(tr("The pilot's sticks, −1 to 1")).classes('what')
    columns = {name: 1 + BODY_AXES.index(name) for name in STICK_AXES}
    ui.echart(
        {
            'animation': False,
            'grid': {'left': 36, 'right': 10, 'top': 30, 'bottom': 24},
            'legend': {'top': 0},
            'xAxis': {'type': 'value', 'name': 's', 'max': 'dataMax'},
            'yAxis': {'type': 'value', 'min': -1, 'max': 1},
            'series': [
                {
                    'name': tr(name),
                    'type': 'line',
                    'step': 'end',
                    'showSymbol': False,
                    'data': lesson.sticks[:, [0, column]].round(3).tolist(),
                }
                for name, column in columns.items()
            ],
        }
    ).classes('stickchart').props('role=img aria-label="Curves of the sticks"')


def mark_strip(lesson: LessonRecord, duration: float) -> Callable[[], None]:
    """Add the strip of marks over the time line; return the function that fills it."""
    strip = ui.element('div').classes('marks').props('aria-hidden=true')

    def fill() -> None:
        strip.clear()
        with strip:
            for mark in lesson.marks():
                left = 100.0 * min(max(mark['time'] / duration, 0.0), 1.0)
                width = 100.0 * max(mark['end'] - mark['time'], 0.0) / duration
                one = ui.element('i')
                one.style['left'], one.style['width'] = f'{left:.2f}%', f'max(3px, {width:.2f}%)'
                one.props['data-kind'] = mark['kind']
                one.props['title'] = f'{mark["time"]:.1f} s: {_mark_text(mark)}'

    return fill
