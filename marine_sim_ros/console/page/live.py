# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The page of a running graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.fault_panel import fault_panel
from marine_sim_ros.console.page.layout import (
    contrast_button,
    lamp,
    left_side,
    lost_label,
    meters,
    readings,
    show,
    tabs,
    theme,
)
from marine_sim_ros.console.page.more_panels import arm_panel, health_panel, water_panel
from marine_sim_ros.console.page.panels import Ask, Panel, command_panel, drive_panel, press
from marine_sim_ros.console.page.parts import Part
from marine_sim_ros.console.page.server import application, finish, wire
from marine_sim_ros.console.page.video import video
from marine_sim_ros.console.session import Session
from marine_sim_ros.core.errors import ParameterError

__all__ = ['live_application']

SYNC = 0.2
"""s between updates of the elements that the server draws."""


def live_application(session: Session, rate: float) -> Any:
    """Return the web application of a running graph; it sends ``rate`` frames a second."""
    title = f'{session.scenery["look"]["name"]} · console'
    app = application(partial(_page, session), title)
    wire(app, session, rate)
    video(app, session, rate)
    return finish(app)


def _asker(session: Session, page: str) -> Ask:
    """Return a function that sends a request to the node and shows why it was refused."""

    def ask(kind: str, value: Any = None) -> None:
        try:
            reason = session.refuse({'kind': kind, 'value': value}, page)
        except ParameterError as error:
            reason = str(error)
        if reason:
            ui.notify(reason, type='negative')

    return ask


def _page(session: Session) -> None:
    page = ui.context.client.id
    ask, panel = _asker(session, page), Panel()
    dark = theme()
    sync_top = _top(session, page, ask, panel, dark)
    view, eye = left_side(session.scenery)
    with ui.element('aside').classes('right'):
        meters(session.scenery['look'])
        notice = ui.label().classes('notice').props('role=status')
        _tabs(session, ask, panel, view, eye)
    lost_label()
    Part('wire', page=page).on('refused', lambda e: ui.notify(str(e.args), type='negative'))

    def sync() -> None:
        frame, mine = session.frame, session.lease.page == page
        panel.sync(frame, mine)
        sync_top(frame)
        notice.text = frame.get('notice', '')

    ui.timer(SYNC, sync)


def _top(
    session: Session, page: str, ask: Ask, panel: Panel, dark: ui.dark_mode
) -> Callable[[dict[str, Any]], None]:
    """Add the bar at the top: control, run, stop."""

    def pause() -> None:
        ask('pause', not panel.frame.get('paused', False))

    def take_or_leave() -> None:
        if session.lease.page == page:
            ask('leave')
        else:
            ask('take', bool(session.lease.page))

    with ui.element('header').classes('top'):
        title = session.scenery['look']['name']
        ui.label(title).classes('name').props(f'title="{title}"')
        show('time')
        show('factor', 'real time')
        operator = ui.label().classes('operator').mark('operator')
        take = lamp('Take control', take_or_leave).mark('take')
        name = ui.input(placeholder='your name', on_change=lambda e: ask('hello', e.value or ''))
        name.props('dense aria-label="Your name" maxlength=30').classes('who')
        ui.space()
        with ui.element('div').classes('run'):
            paused = panel.add(lamp('Pause', pause, 'pause the simulation')).mark('pause')
            panel.add(lamp('Step', lambda: ask('step', 1), 'simulate one tick while paused')).mark(
                'step'
            )
            panel.add(
                lamp('Reset', lambda: ask('reset'), 'restart the simulation at time 0')
            ).mark('reset')
            record = panel.add(
                lamp('Record', lambda: ask('record', not panel.frame.get('recording')))
            )
            record.mark('record')
            panel.add(lamp('End run', lambda: sure.open(), 'end all nodes of the run')).mark('end')
        contrast_button(dark)
        stop = panel.add(ui.button('STOP', on_click=lambda: ask('stop'), color='negative'))
        stop.classes('stop').mark('stop').tooltip('set all thrusters to neutral at once (space)')
    with ui.dialog() as sure, ui.card():
        ui.label('End the run?')
        with ui.row():
            ui.button('End run', on_click=lambda: ask('end')).props('no-caps').mark('sure')
            ui.button('Cancel', on_click=sure.close).props('flat no-caps')

    def sync(frame: dict[str, Any]) -> None:
        who = session.lease
        mine = who.page == page
        operator.text = (
            'You steer' if mine else f'{who.name} steers' if who.page else 'Nobody steers'
        )
        take.text = 'Leave' if mine else 'Take over' if who.page else 'Take control'
        take.classes(**{'remove' if mine else 'add': 'calls'})
        press(paused, frame.get('paused'))
        press(record, frame.get('recording'))

    return sync


def _tabs(session: Session, ask: Ask, panel: Panel, view: Part, eye: ui.select) -> None:
    look = session.scenery['look']
    pages: dict[str, Callable[[], Any]] = {
        'Drive': lambda: drive_panel(panel, ask),
        'Command': lambda: command_panel(panel, ask, view, eye),
    }
    if look['joints'] or look['lights']:
        title = 'Arm' if look['joints'] else 'Lights'
        pages[title] = lambda: arm_panel(panel, ask, look)
    pages['Water'] = lambda: water_panel(panel, ask, session.scenery)
    pages['Faults'] = lambda: fault_panel(panel, ask, look)
    pages |= readings(look)
    if session.scenery['sensors']:
        pages['Sensors'] = lambda: Part('sensors')
    pages['Health'] = lambda: health_panel(panel)
    tabs(pages)
