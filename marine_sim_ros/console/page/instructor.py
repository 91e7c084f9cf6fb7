# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The instructor's panel: messages to the pilot, notes and marks, and what happened so far."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.languages import tr
from marine_sim_ros.console.page.layout import lamp
from marine_sim_ros.console.page.panels import Ask, ControlPanel, Frame
from marine_sim_ros.console.requests import MAX_LENGTH, Session

__all__ = ['body_ahead', 'instructor_panel', 'pilot_message']

FIELDS = {'message': ('Message to the pilot', 'Send'), 'note': ('Note, at this time', 'Note')}
"""Label and button of each text, by its kind."""
MARKS = ('good', 'mistake', 'discuss')
"""Notes of one click."""
EVENT_WORDS = ('note', 'message', 'report', 'fault')
"""Kinds of events that are named."""
SHOWN_EVENTS = 40
"""Newest events that the panel lists."""
DROP = 2.0, 1.5
"""m ahead of the vehicle and above it, where a dropped body begins to sink."""
HIGHEST = -0.5
"""m; z of the highest place of a dropped body."""
DROP_HINT = 'put it 2 m ahead of the vehicle and 1.5 m above it; from there it sinks or swims'
MESSAGE_TIME = 20.0
"""s of wall time that a message is over the pilot's view."""


def instructor_panel(panel: ControlPanel, ask: Ask, session: Session) -> None:
    """Add fields for messages and notes, buttons for marks, and the list of events."""
    ui.label(tr('Faults, water and pause act whoever steers. All of it is recorded.')).classes(
        'what'
    )
    for kind in FIELDS:
        _text_field(panel, ask, kind)
    with ui.element('div').classes('group').props('role=group aria-label="Marks"'):
        ui.label(tr('Mark')).classes('what')
        for word in MARKS:
            button = lamp(word.capitalize(), partial(ask, 'note', word))
            panel.add(button).mark(f'mark-{word}')
    if names := session.scenery['around']['movable']:
        _add_drops(panel, ask, names)
    ui.separator()
    rows = ui.element('div').classes('events').props('role=log aria-label="Events"')
    shown: list[tuple[dict[str, Any], ...]] = [()]

    def sync(_: Frame) -> None:
        events = session.events
        if events is shown[0]:
            return
        shown[0] = events
        rows.clear()
        with rows:
            for event in events[: -SHOWN_EVENTS - 1 : -1]:
                ui.label(f'{event["time"]:.1f} s').classes('value')
                ui.label(tr(event['by'])).classes('what')
                ui.label(_event_words(event))

    panel.show(sync)


def _add_drops(panel: ControlPanel, ask: Ask, names: Sequence[str]) -> None:
    """Add a button for each free body that puts it above the water ahead of the vehicle."""

    def drop(name: str) -> None:
        if (body := body_ahead(name, panel.frame)) is not None:
            ask('environment', {'bodies': [body]})

    with ui.element('div').classes('group').props('role=group aria-label="Bodies"'):
        ui.label(tr('Put ahead')).classes('what')
        for name in names:
            panel.add(lamp(name, partial(drop, name), DROP_HINT)).mark('drop')


def body_ahead(name: str, frame: Frame) -> dict[str, Any] | None:
    """Return the change that puts a body ahead of the vehicle and above it, at rest; JSON.

    None while the vehicle's pose is unknown.
    """
    (x, y, z), yaw = frame.get('position', [None] * 3), frame.get('rpy', [None])[-1]
    if None in (x, y, z, yaw):
        return None
    ahead, above = DROP
    position = x + ahead * math.cos(yaw), y + ahead * math.sin(yaw), min(z + above, HIGHEST)
    return {
        'name': name,
        'position': [round(value, 3) for value in position],
        'rpy': [0.0, 0.0, round(yaw, 4)],
    }


def _event_words(event: dict[str, Any]) -> str:
    kind, text = ('fault' if event['kind'] == 'mend' else event['kind']), str(event['text'])
    text = text if kind in ('note', 'message') else tr(text)
    return f'{tr(kind)}: {text}' if kind in EVENT_WORDS else text


def _text_field(panel: ControlPanel, ask: Ask, kind: str) -> None:
    label, button = FIELDS[kind]

    def send() -> None:
        if text := (field.value or '').strip():
            ask(kind, text)
            field.value = ''

    with ui.element('div').classes('group textline'):
        field = panel.add(ui.input(tr(label))).props('dense outlined')
        field.props['maxlength'] = MAX_LENGTH
        field.mark(kind).on('keydown.enter', send)
        panel.add(lamp(button, send)).mark(f'send-{kind}')


def pilot_message(session: Session) -> Callable[[], None]:
    """Add the place of the instructor's newest message; return the function that shows it."""
    label = ui.label().classes('message').props('role=status').mark('message')
    label.set_visibility(False)
    last: list[Any] = [next(_messages(session), None), 0.0]

    def sync() -> None:
        newest = next(_messages(session), None)
        if newest is not last[0]:
            last[:] = newest, time.monotonic()
            label.text = '' if newest is None else f'{tr("Instructor")}: {newest["text"]}'
        label.set_visibility(bool(label.text) and time.monotonic() - last[1] < MESSAGE_TIME)

    return sync


def _messages(session: Session) -> Any:
    """Yield the messages to the pilot, the newest first."""
    return (event for event in reversed(session.events) if event['kind'] == 'message')
