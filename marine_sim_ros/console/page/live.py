# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The page of a running graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import ui

from marine_sim_ros.console.page.access import right_of
from marine_sim_ros.console.page.faults import fault_panel
from marine_sim_ros.console.page.instructor import instructor_panel, pilot_message
from marine_sim_ros.console.page.languages import choose_language, tr, translated_lesson
from marine_sim_ros.console.page.layout import (
    BrowserPart,
    chart_panel,
    contrast_button,
    help_button,
    lamp,
    left_side,
    lost_label,
    meters,
    number_display,
    readings,
    tabs,
    theme,
)
from marine_sim_ros.console.page.links import INSTRUCT, STEER, VIEW
from marine_sim_ros.console.page.panels import (
    TAKE_FIRST,
    Ask,
    ControlPanel,
    Frame,
    arm_panel,
    command_panel,
    drive_panel,
    figure,
    health_panel,
    light_lamp,
    lights_panel,
    water_panel,
)
from marine_sim_ros.console.page.server import (
    add_video_streams,
    add_web_socket,
    application,
    mount_pages,
)
from marine_sim_ros.console.requests import Session, page_name
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.geodesy import Origin

__all__ = ['live_application']

INSTRUCTED = 'The instructor sets this'
SYNC = 0.2
"""s between updates of the elements that the server draws."""
LOADING_TIME = 300.0
"""s that a page may take to load on a busy machine; one that takes longer loads anew."""
NICEGUI_LOADING_TIME = 60.0
"""s after a client's creation from which NiceGUI deletes it, if it has not connected."""


def live_application(session: Session, rate: float) -> Any:
    """Return the web application of a running graph; it sends ``rate`` frames a second."""
    title = f'{session.scenery["look"]["name"]} · console'
    app = application(partial(_page, session), title)
    add_web_socket(app, session, rate)
    add_video_streams(app, session, rate)
    return mount_pages(app)


def _asker(session: Session, page: str, right: str) -> Ask:
    """Return a function that sends a request to the node and shows why it was refused."""

    def ask(kind: str, value: Any = None) -> None:
        try:
            reason = session.refuse({'kind': kind, 'value': value}, page, right=right)
        except ParameterError as error:
            reason = str(error)
        if reason:
            ui.notify(reason, type='negative')

    return ask


def _page(session: Session) -> None:
    client = ui.context.client
    client.created += LOADING_TIME - NICEGUI_LOADING_TIME
    right = right_of(client.request.scope)
    choose_language(client)
    page = page_name(client.id, right)
    ask, panel, conditions = _asker(session, page, right), ControlPanel(), ControlPanel()
    dark = theme()
    sync_top = _top(session, page, ask, panel, dark, right)
    view, eye = left_side(session.scenery, darkens=right != INSTRUCT)
    with view:
        sync_message = pilot_message(session)
    with ui.element('aside').classes('right'):
        meters(session.scenery['look'])
        notice = ui.label().classes('notice').props('role=status')
        if right == INSTRUCT:
            _instructor_tabs(session, ask, panel)
        else:
            _tabs(session, ask, (panel, conditions), view, eye)
    lost_label()
    wire_part = BrowserPart('wire', '' if right == STEER else 'watches', page=client.id)
    wire_part.on('refused', lambda e: ui.notify(str(e.args), type='negative'))
    wire_part.on('hint', lambda e: ui.notify(str(e.args), type='warning'))

    def sync() -> None:
        frame, mine = session.frame, right == INSTRUCT or session.lease.page == page
        panel.sync(frame, mine)
        instructed = bool(session.instructors)
        conditions.sync(frame, mine and not instructed, INSTRUCTED if instructed else TAKE_FIRST)
        sync_top(frame)
        sync_message()
        notice.text = frame.get('notice', '')
        notice.props['data-level'] = frame.get('notice_level', '')
        notice.props['title'] = notice.text

    ui.timer(SYNC, sync)


def _top(
    session: Session, page: str, ask: Ask, panel: ControlPanel, dark: ui.dark_mode, right: str
) -> Callable[[dict[str, Any]], None]:
    """Add the bar at the top: who steers; and on a page that may steer control, run, stop."""
    with ui.element('header').classes('top'):
        title = session.scenery['look']['name']
        ui.label(title).classes('name').props['title'] = title
        number_display('time')
        number_display('factor', 'real time')
        operator = ui.label().classes('operator').mark('operator')
        sync_take = _take(session, page, ask) if right == STEER else _other_right(right)
        ui.space()
        lesson = session.scenery.get('mission') is not None
        sync_run = _ignore_frame if right == VIEW else _run(ask, panel, lesson=lesson)
        help_button(session.scenery['look'])
        BrowserPart('sound').classes('sound')
        contrast_button(dark)
        if right != VIEW:
            stop = ui.button('STOP', on_click=lambda: ask('stop'), color='negative')
            stop.classes('stop').mark('stop').tooltip(
                tr('set all thrusters to neutral at once (space)')
            )

    def sync(frame: dict[str, Any]) -> None:
        who = session.lease
        operator.text = (
            tr('You steer')
            if who.page == page
            else tr('{name} steers', name=who.name)
            if who.page
            else tr('Nobody steers')
        )
        sync_take(frame)
        sync_run(frame)

    return sync


def _ignore_frame(_: dict[str, Any]) -> None:
    pass


def _other_right(right: str) -> Callable[[dict[str, Any]], None]:
    """Add the right of a page that does not steer."""
    text = tr('Instructor') if right == INSTRUCT else tr('This link only watches')
    ui.label(text).classes('what').mark('watches')
    return _ignore_frame


def _take(session: Session, page: str, ask: Ask) -> Callable[[dict[str, Any]], None]:
    """Add the button that takes and leaves control, and the operator's name."""

    def take_or_leave() -> None:
        if session.lease.page == page:
            ask('leave')
        else:
            ask('take', bool(session.lease.page))

    take = lamp('Take control', take_or_leave).mark('take')
    name = ui.input(placeholder=tr('your name'), on_change=lambda e: ask('hello', e.value or ''))
    name.props('dense aria-label="Your name" maxlength=30').classes('who')

    def sync(_: dict[str, Any]) -> None:
        who = session.lease
        mine = who.page == page
        take.text = tr('Leave') if mine else tr('Take over') if who.page else tr('Take control')
        take.classes(**{'remove' if mine else 'add': 'calls'})

    return sync


def _confirmation(question: str, label: str, use: Callable[[], Any]) -> ui.dialog:
    """Return a dialog that asks before a function is called."""

    def confirm() -> None:
        dialog.close()
        use()

    with ui.dialog() as dialog, ui.card():
        ui.label(tr(question))
        with ui.row():
            ui.button(tr(label), on_click=confirm).props('no-caps').mark('sure')
            ui.button(tr('Cancel'), on_click=dialog.close).props('flat no-caps')
    return dialog


def _run(ask: Ask, panel: ControlPanel, *, lesson: bool) -> Callable[[dict[str, Any]], None]:
    """Add the buttons that pause, step, reset, record and end the run."""

    def add(label: str, use: Callable[[], Any], hint: str = '') -> ui.button:
        name = label.split()[0].lower()
        return panel.add(lamp(label, use, hint), name).mark(name)

    sure = _confirmation('End the run?', 'End run', lambda: ask('end'))
    again = _confirmation(
        'Fly the lesson again? This try ends with its score, and the clock stands until Start.',
        'Fly again', lambda: ask('reset'),
    )  # fmt: skip
    with ui.element('div').classes('run'):
        paused = add(
            'Pause',
            lambda: ask('pause', not panel.frame.get('paused', False)),
            'pause the simulation',
        )
        add('Step', lambda: ask('step', 1), 'simulate one tick while paused')
        reset = again.open if lesson else lambda: ask('reset')
        add('Reset', reset, 'restart the simulation at time 0')
        record = add('Record', lambda: ask('record', not panel.frame.get('recording')), 'record')
        add('End run', sure.open, 'end all nodes of the run')

    def sync(frame: dict[str, Any]) -> None:
        light_lamp(paused, frame.get('paused'))
        light_lamp(record, frame.get('recording') and not frame.get('closing'))

    return sync


def _tabs(
    session: Session,
    ask: Ask,
    panels: tuple[ControlPanel, ControlPanel],
    view: BrowserPart,
    eye: ui.select,
) -> None:
    """Add the tabs of a pilot; the second panel has what an instructor takes over."""
    panel, conditions = panels
    look = session.scenery['look']
    origin = Origin(heading=session.scenery['around']['heading'])
    pages: dict[str, Callable[[], Any]] = {
        'Drive': lambda: drive_panel(panel, ask, look['unreachable']),
        'Command': lambda: command_panel(panel, ask, view, eye, origin),
    }
    if (mission := session.scenery.get('mission')) is not None:
        pages = {'Lesson': lambda: mission_panel(panel, ask, mission), **pages}
    if look['joints'] or look['lights']:
        title = 'Arm' if look['joints'] else 'Lights'
        pages[title] = lambda: arm_panel(panel, ask, look)
    tabs(pages | _common_tabs(session, ask, conditions))


def _instructor_tabs(session: Session, ask: Ask, panel: ControlPanel) -> None:
    """Add the tabs of an instructor."""
    pages: dict[str, Callable[[], Any]] = {
        'Instructor': lambda: instructor_panel(panel, ask, session)
    }
    if (mission := session.scenery.get('mission')) is not None:
        pages['Lesson'] = lambda: mission_panel(panel, ask, mission)
    if lights := session.scenery['look']['lights']:
        pages['Lights'] = lambda: lights_panel(panel, ask, lights)
    tabs(pages | _common_tabs(session, ask, panel))


def _common_tabs(session: Session, ask: Ask, panel: ControlPanel) -> dict[str, Callable[[], Any]]:
    """Return the tabs of water, faults and readings: title -> function that adds one."""
    look = session.scenery['look']
    pages: dict[str, Callable[[], Any]] = {
        'Water': lambda: water_panel(panel, ask, session.scenery),
        'Faults': lambda: fault_panel(panel, ask, look),
    }
    if session.scenery.get('chart') is not None:
        pages['Chart'] = chart_panel
    pages |= readings(look)
    if session.scenery['sensors']:
        pages['Sensors'] = lambda: BrowserPart('sensors')
    pages['Health'] = lambda: health_panel(panel)
    return pages


MARKS = {'waiting': '○', 'running': '▶', 'done': '✓', 'failed': '✗'}
MESSAGES = {'done': 'positive', 'failed': 'negative'}
"""Type of a message by the new state of a task."""


# Mission panel: tasks, points and penalties of a lesson.


def mission_panel(panel: ControlPanel, ask: Ask, mission: Mapping[str, Any]) -> None:
    """Add the tasks, the score and the advice of a lesson, and the button that starts it."""
    mission = translated_lesson(mission)
    ui.label(mission['title']).classes('name')
    with ui.element('div').classes('group lesson'):
        score, medal, clock = (ui.label().classes('value') for _ in range(3))
        score.mark('score')
        start = panel.add(lamp('Start', lambda: ask('pause', False), 'start the clock'))
        start.classes('calls').mark('start')
    advice = ui.label(mission['briefing']).classes('advice')
    advice.props('role=status').mark('advice')
    picture = ui.element('img').classes('briefing')
    picture.props['src'], picture.props['alt'] = mission['picture'], mission['title']
    if targets := dict.fromkeys(name for task in mission['tasks'] for name in task['reports']):
        with ui.element('div').classes('group'):
            for target in targets:
                words = tr('Report: {target}', target=tr(target))
                use = partial(ask, 'report', target)
                panel.add(lamp(words, use, 'while it is in view')).mark('report')
    rows = [_task_row(task) for task in mission['tasks']]
    ui.separator()
    with ui.element('div').classes('tasks') as penalties:
        pass
    with ui.expansion(tr('Briefing')).props('dense').classes('w-full'):
        ui.label(mission['briefing']).classes('briefing')
        levels = ', '.join(f'{tr(name)} {least:g}' for name, least in mission['medals'].items())
        ui.label(tr('Medals from: {levels} points of 100.', levels=levels)).classes('what')
    shown: dict[str, Any] = {'states': None, 'penalties': None}

    def sync(frame: Frame) -> None:
        start.set_visibility(bool(frame.get('paused')) and not frame.get('time'))
        picture.set_visibility(start.visible and bool(mission['picture']))
        if (found := frame.get('mission')) is None:
            return
        score.text = tr('{points} points', points=figure(found['score'], 1))
        medal.text = tr(found['medal'] or 'no medal yet')
        clock.text = _clock(found, mission['limit'])
        states = [task['state'] for task in found['tasks']]
        for row, task in zip(rows, found['tasks'], strict=True):
            row(task)
        if shown['states'] is not None:
            _announce(mission['tasks'], states, shown['states'])
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
            row.props['aria-label'] = _task_state(task, found['state'])
        mark.text = MARKS[found['state']]
        bar.value = round(found['share'], 2)
        points.text = figure(found['points'], 1)

    return show


def _task_state(task: Mapping[str, Any], state: str) -> str:
    return tr('{task}: {state}', task=task['name'], state=tr(state))


def _clock(found: Mapping[str, Any], limit: float | None) -> str:
    """Return the time of a lesson, or what is left of it."""
    time = found['ended'] if found['complete'] else found['time']
    if limit is None:
        return f'{time:.0f} s'
    return tr('{time} of {limit} s', time=f'{time:.0f}', limit=f'{limit:g}')


def _advice(found: Mapping[str, Any], tasks: list[Any]) -> str:
    """Return the next thing to do."""
    if found['complete']:
        medal = tr(found['medal'] or 'no medal')
        return tr('The lesson is over: {medal}. End the run for the debriefing.', medal=medal)
    for result, task in zip(found['tasks'], tasks, strict=True):
        if result['state'] == 'running':
            left = task['within'] and task['within'] - (found['time'] - result['begun'])
            within = tr('{time} s left.', time=f'{max(left, 0.0):.0f}') if left else ''
            hint = tr('{task}: {hint}.', task=task['name'], hint=task['hint'] or task['text'])
            return f'{hint} {within}'.rstrip()
    return ''


def _announce(tasks: list[Any], states: list[str], before: list[str]) -> None:
    """Show a message for each task that has ended since."""
    for task, state, last in zip(tasks, states, before, strict=True):
        if state != last and state in MESSAGES:
            ui.notify(_task_state(task, state), type=MESSAGES[state], position='top')


def _show_penalties(place: ui.element, penalties: list[Any]) -> None:
    place.clear()
    with place:
        for penalty in penalties:
            row = ui.element('div').classes('task penalty')
            row.props['data-state'] = 'failed' if penalty['points'] else 'waiting'
            with row:
                ui.label('−').classes('mark')
                ui.label(tr(f'penalty {penalty["name"]}'))
                ui.label(f'{penalty["amount"]:.1f} {penalty["unit"]}').classes('what')
                ui.label(figure(-penalty['points'], 1)).classes('value')
