# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The page of a bag: the same instruments, and a time slider."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Query, Response
from nicegui import ui

from marine_sim_ros.console.lesson_record import LessonRecord
from marine_sim_ros.console.page.debriefing import debriefing_panel, mark_strip
from marine_sim_ros.console.page.languages import choose_language, tr
from marine_sim_ros.console.page.layout import (
    BrowserPart,
    chart_panel,
    contrast_button,
    lamp,
    left_side,
    lost_label,
    meters,
    number_display,
    readings,
    tabs,
    theme,
)
from marine_sim_ros.console.page.panels import light_lamp
from marine_sim_ros.console.page.server import application, mount_pages, picture_response
from marine_sim_ros.console.replay import Replay
from marine_sim_ros.core.errors import MarineSimError, ParameterError

__all__ = ['replay_application']

SLACK = 1.0
"""s that a requested time may be outside the bag."""
PERIOD = 0.1
"""s between telemetry frames while it plays."""
SPEEDS = {0.25: '× 0.25', 1.0: '× 1', 4.0: '× 4', 16.0: '× 16'}

Time = Annotated[float, Query(allow_inf_nan=False)]
Window = Annotated[float, Query(ge=1.0, le=3600.0, allow_inf_nan=False)]


def replay_application(replay: Replay, label: str) -> FastAPI:
    """Return the web application of a bag; the label is shown."""
    app = application(partial(_page, replay, label), f'{label} · console')
    sensors_known = {one['name'] for one in replay.scenery['sensors']}

    def check(time: float) -> None:
        # A slider of rounded steps may go a little beyond the end.
        if not -SLACK <= time <= replay.duration + SLACK:
            raise ParameterError(f'time: is {time:g} s; expected 0 to {replay.duration:g} s')

    @app.get('/scenery')
    def scenery() -> dict[str, Any]:
        return replay.scenery

    @app.get('/sonar/{name}')
    def picture(name: str, time: Time) -> Response:
        check(time)
        if name not in sensors_known:
            return Response(status_code=404)
        try:
            return picture_response(replay.picture(name, time))
        except MarineSimError:  # the bag is damaged there, as /moment says
            return Response(status_code=404)

    @app.get('/moment')
    def telemetry_frame(time: Time, window: Window, sensors: bool = False) -> dict[str, Any]:
        check(time)
        try:
            frame = replay.telemetry_frame(time)
            if sensors:
                frame['sensors'] = replay.sensors(time)
            end = max(
                frame['time'], min(window, replay.duration)
            )  # the first window is a whole one
            past = replay.history(end, window)
        except MarineSimError as error:
            return {'error': str(error)}
        return {'frame': frame, 'history': past}

    return mount_pages(app)


def _page(replay: Replay, label: str) -> None:
    choose_language(ui.context.client)
    dark = theme()
    with ui.element('header').classes('top'):
        ui.label(replay.scenery['look']['name']).classes('name')
        ui.label(tr('replay of {label}', label=label)).classes('operator')
        number_display('time')
        ui.space()
        BrowserPart('sound').classes('sound')
        contrast_button(dark)
    left_side(replay.scenery, darkens=False)
    fills: list[Callable[[], None]] = []
    slider: list[ui.slider] = []

    def debrief() -> None:
        fills.append(
            debriefing_panel(
                replay.lesson, replay.duration, lambda time: slider[0].set_value(time)
            )
        )

    with ui.element('aside').classes('right'):
        meters(replay.scenery['look'])
        lesson = replay.lesson
        panels: dict[str, Callable[[], Any]] = {}
        if lesson.score is not None or lesson.trouble or lesson.has_events:
            panels['Debriefing'] = debrief
        panels |= {'Recording': partial(_overview, replay), **readings(replay.scenery['look'])}
        if replay.scenery['chart'] is not None:
            panels['Chart'] = chart_panel
        if replay.scenery['sensors']:
            panels['Sensors'] = lambda: BrowserPart('sensors')
        tabs(panels)
    lost_label()
    wire = BrowserPart('wire', page=ui.context.client.id, replay=True)
    wire.on('refused', lambda e: ui.notify(str(e.args), type='negative'))
    slider.append(_timeline(replay, wire, fills))
    _fill_when_read(lesson, fills)


def _fill_when_read(lesson: LessonRecord, fills: list[Callable[[], None]]) -> None:
    """Show the marks of the score at once, and all of them when the bag has been read."""

    def fill() -> None:
        for one in fills:
            one()

    def check() -> None:
        if lesson.events is not None:
            timer.deactivate()
            fill()

    fill()
    timer = ui.timer(0.5, check)


def _timeline(replay: Replay, wire: BrowserPart, fills: list[Callable[[], None]]) -> ui.slider:
    """Add the time line; append what fills its marks, and return its slider."""
    words = {True: tr('Pause'), False: tr('Play')}
    position = tr('{time} s of {end} s')

    def show_playing(on: bool) -> None:
        timer.active = on
        button.text = words[on]
        light_lamp(button, on)

    def play() -> None:
        show_playing(not timer.active)
        if timer.active and slider.value >= replay.duration:
            slider.value = 0.0

    def advance() -> None:
        slider.value = min(replay.duration, slider.value + PERIOD * float(speed.value))
        if slider.value >= replay.duration:
            show_playing(False)

    def show_curves() -> None:
        """Ask for the moment again when the bag has been read, which the curves need."""
        if replay.bag is not None or replay.failed:
            reading.deactivate()
            wire.run_method('seek', float(slider.value))

    with ui.element('footer').classes('timeline'):
        button = lamp('Play', play).mark('play')
        speed = ui.select(SPEEDS, value=1.0).props('dense options-dense borderless')
        speed.props('aria-label="Speed"')
        with ui.element('div').classes('marked'):
            fills.append(mark_strip(replay.lesson, replay.duration))
            slider = ui.slider(
                min=0.0, max=replay.duration, step=0.1 if replay.duration > 10 else 0.01, value=0.0
            ).props('aria-label="Time, s"')
        slider.on_value_change(lambda e: wire.run_method('seek', float(e.value)))
        told = ui.label().style('white-space: nowrap')
        told.bind_text_from(
            slider,
            'value',
            lambda value: position.format(
                time=f'{min(value, replay.duration):.1f}', end=f'{replay.duration:.1f}'
            ),
        )
    timer = ui.timer(PERIOD, advance, active=False)
    reading = ui.timer(0.5, show_curves)
    return slider


def _overview(replay: Replay) -> None:
    """Add what ``analyze`` says of the bag, when it has been read once."""
    bar = ui.linear_progress(0.0, show_value=False)
    told = ui.label(tr('reading the bag for curves and totals ...')).classes('what')
    source = tr('Computed as by marine_sim analyze.')
    grid = ui.element('table').classes('numbers')

    def fill() -> None:
        found = replay.overview()
        bar.value = found['progress']
        if found['failed']:
            told.text = found['failed']
            timer.deactivate()
        if 'vehicle' not in found:
            return
        timer.deactivate()
        bar.set_visibility(False)
        told.text = source
        with grid, ui.element('tbody'):
            for name, value, unit, key in _facts(found):
                with ui.element('tr'):
                    with ui.element('th').props('scope=row'):
                        ui.label(name)
                    with ui.element('td') as cell:
                        cell.props['data-metric'] = key
                        ui.label(f'{value}{unit}' if unit == '°' else f'{value} {unit}'.strip())

    timer = ui.timer(0.5, fill)


def _facts(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return name, number, unit and key in metrics.json of what is shown."""
    motion, energy = found['vehicle']['motion'] or {}, found['vehicle']['energy'] or {}
    wanted = (
        ('Duration', motion, 'duration_s', 's', 2),
        ('Distance', motion, 'distance_m', 'm', 2),
        ('Mean speed', motion, 'mean_speed_m_s', 'm/s', 3),
        ('Highest speed', motion, 'max_speed_m_s', 'm/s', 3),
        ('Deepest', motion, 'max_depth_m', 'm', 3),
        ('Largest roll', motion, 'max_roll_deg', '°', 2),
        ('Largest pitch', motion, 'max_pitch_deg', '°', 2),
        ('Energy', energy, 'total_J', 'J', 1),
        ('Mean power', energy, 'mean_power_W', 'W', 2),
        ('Highest power', energy, 'max_power_W', 'W', 2),
    )
    facts = [
        (name, f'{source[key]:.{digits}f}', unit, key)
        for name, source, key, unit, digits in wanted
        if source.get(key) is not None
    ]
    for name, impulse in found['vehicle']['impulse'].items():
        if impulse['force_share'] is not None:
            share = f'{100 * impulse["force_share"]:.1f}'
            facts.append((f'Share of {name}', share, '%', f'share-{name}'))
    return [*facts, ('Messages', str(found['bag']['messages']), '', 'messages')]
