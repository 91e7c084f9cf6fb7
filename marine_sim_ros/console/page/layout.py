# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Layout of a page: view and curves on the left, instruments and controls on the right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.element import Element

from marine_sim_ros.console.page.languages import browser_messages, language_menu, tr

__all__ = [
    'BrowserPart',
    'chart_panel',
    'contrast_button',
    'help_button',
    'lamp',
    'left_side',
    'lost_label',
    'meters',
    'number_display',
    'readings',
    'tabs',
    'theme',
]


# Browser components of the page.

# NiceGUI serves the three.js, ECharts and nipplejs that part.js imports once these are loaded.
_LIBRARY_ELEMENTS = (ui.scene, ui.echart, ui.joystick)


class BrowserPart(Element, component='part.js', esm={'marine-sim-console': 'lib'}):
    """An element that the script of the page fills.

    Kinds are ``view`` (three dimensions), ``gauges`` with the parts ``dials``, ``propellers`` and
    ``forces``, ``curves``, ``sensors``, ``chart``, ``sound``, ``hands``, and
    ``wire``, which is not seen.
    """

    def __init__(self, kind: str, part: str = '', *, page: str = '', replay: bool = False) -> None:
        """Add one; ``page`` starts the wire of that page."""
        super().__init__()
        self._props['kind'] = kind
        self._props['part'] = part
        self._props['page'] = page
        self._props['replay'] = replay
        if page:
            self._props['words'] = browser_messages()

    def call(self, name: str, *values: Any) -> None:
        """Call a method of what draws."""
        self.run_method('call', name, *values)


# Page: view and curves on the left, instruments and controls on the right.

CSS = (Path(__file__).parent / 'console.css').read_text(encoding='utf-8')
SIDES = ('above', 'below', 'north', 'south', 'east', 'west')
CURVES = {
    'position': 'Position',
    'attitude': 'Attitude',
    'velocity': 'Velocity',
    'rates': 'Angular velocity',
}
LAYERS = {
    'picture': '3D view',
    'forces': 'Forces',
    'trail': 'Path',
    'water': 'Surface',
    'particles': 'Particles',
    'voxels': 'Voxels',
    'box': 'Bounding box',
}
METERS = {
    'speed': 'Speed',
    'power': 'Power',
    'energy': 'Energy',
    'barometer': 'Barometer',
    'east': 'East',
    'north': 'North',
    'up': 'Up',
    'barodepth': 'Barometer depth',
}
OVERLAY = {
    'heading': 'Heading',
    'depth': 'Depth',
    'altitude': 'Altitude',
    'leak': 'Leak',
    'speed': 'Speed',
    'time': '',
    'turns': 'Tether',
    'battery': 'Battery',
    'lamps': 'Lights',
    'mode': '',
    'task': 'Task',
}
"""Numbers over what a camera sees, and over the view that fills the screen."""
FULL_SCREEN = """(event) => document.fullscreenElement
  ? document.exitFullscreen() : event.target.closest(".view").requestFullscreen()"""
HEADSET = '(event) => event.target.closest(".view").own.wear()'
TETHER_METERS = {'tension': 'Tether', 'anchortension': 'Tether at anchor'}
HELP = (
    ('W S', 'ahead, astern', 'surge'),
    ('A D', 'to port, to starboard', 'sway'),
    ('R F', 'up, down', 'heave'),
    ('Q E', 'turn to port, to starboard', 'yaw'),
    ('I K', 'bow up, bow down', 'pitch'),
    ('J L', 'roll to port, to starboard', 'roll'),
    (', .', 'lights darker, brighter', 'lights'),
    ('C O', 'gripper closed, open', 'gripper'),
    ('space', 'STOP: all thrusters neutral, the controller disarmed', ''),
    ('? H F1', 'these keys', ''),
    ('← → ↑ ↓ + −', 'in the 3D view: turn the camera, nearer, farther', ''),
)
"""Keys, what they do, and what the vehicle needs for it."""
WINDOWS = {6: '6 s', 30: '30 s', 120: '2 min', 300: '5 min'}


def theme() -> ui.dark_mode:
    """Apply the style sheet; return the switch between light and dark."""
    ui.add_css(CSS)
    ui.colors(primary='#1f6fb5', secondary='#2b7a78', accent='#e07b2f', negative='#c62828')
    return ui.dark_mode(None)


def contrast_button(dark: ui.dark_mode) -> None:
    """Add the button that switches between light and dark."""
    button = ui.button(icon='contrast', on_click=lambda: dark.set_value(not dark.value))
    button.props('flat dense aria-label="Light or dark"').mark('dark')


def help_button(look: dict[str, Any]) -> None:
    """Add the button that shows the keys; keys ?, h and F1 press it.

    Keys of what the vehicle cannot do are grey.
    """
    lacking = {*look['unreachable'], *(part for part in ('lights', 'gripper') if not look[part])}
    with ui.dialog() as told, ui.card():
        ui.label(tr('Keys')).classes('name')
        with ui.element('div').classes('keylist'):
            for keys, what, need in HELP:
                unable = 'unable' if need in lacking else ''
                with ui.element('span').classes(unable):
                    for key in keys.split():
                        with ui.element('kbd'):
                            ui.label(key).style('display: inline')
                words = tr('{what} (not this vehicle)', what=tr(what)) if unable else tr(what)
                ui.label(words).classes(unable)
        ui.label(
            tr(
                'Take control, then Armed: from there sticks and keys move the vehicle. '
                'A page that is hidden or closed stops it.'
            )
        ).classes('what')
        language_menu()
        ui.button(tr('Close'), on_click=told.close).props('flat no-caps')
    button = ui.button(icon='help_outline', on_click=told.open)
    button.props('flat dense aria-label="Keys and help" data-help').mark('help')


def number_display(name: str, label: str = '') -> None:
    """Add a number that the browser fills, with its label."""
    with ui.element('span').classes('shown'):
        if label:
            ui.label(tr(label)).classes('what')
        ui.element('output').classes('value').classes(name).props['data-show'] = name


def lamp(label: str, on_click: Callable[[], Any], hint: str = '') -> ui.button:
    """Add a button that is lit while its state is on."""
    result = ui.button(tr(label), on_click=on_click, color=None).props('dense no-caps unelevated')
    result.classes('lamp').props('aria-pressed=false')
    if hint:
        result.props['title'] = tr(hint)
    return result


def left_side(scenery: dict[str, Any], *, darkens: bool) -> tuple[BrowserPart, ui.select]:
    """Add the view and the curves; return the view and the menu of its cameras.

    Args:
        darkens: show nothing while a fault darkens the cameras.
    """
    with ui.element('main').classes('left'):
        return _view_and_curves(scenery, darkens=darkens)


def _view_and_curves(scenery: dict[str, Any], *, darkens: bool) -> tuple[BrowserPart, ui.select]:
    look = scenery['look']
    eyes = {'follow': tr('Follow'), 'free': tr('Free')}
    eyes |= {name: tr('Camera: {name}', name=_plain(name)) for name in look['cameras']}
    eyes |= {name: tr('Parallel, from {side}', side=tr(name)) for name in SIDES}
    eyes |= {
        f'video:{name}': tr('Video: {name}', name=_plain(name))
        for name in scenery.get('videos', ())
    }
    view = BrowserPart('view').classes('view')

    def choose(event: Any) -> None:
        view.call('choose', event.value)

    with view:
        ui.element('img').classes('video').props('alt="What the camera sees" hidden')
        if darkens:
            dark = ui.label(tr('No picture: the cameras are dark')).classes('dark')
            dark.props('role=status hidden')
    with view, ui.row().classes('over'):
        eye = ui.select(eyes, value='follow', label=tr('Camera'), on_change=choose)
        eye.props('dense options-dense outlined').classes('eye').mark('eye')
        for icon, label, by in (('add', 'Nearer', 0.8), ('remove', 'Farther', 1.25)):
            button = ui.button(icon=icon, on_click=lambda _, by=by: view.call('zoom', by))
            button.props('dense flat').props['aria-label'] = label
        whole = ui.button(icon='fullscreen').props('dense flat aria-label="Full screen"')
        whole.on('click', js_handler=FULL_SCREEN)
        headset = ui.button(icon='view_in_ar').props('dense flat').classes('headset')
        headset.props['aria-label'] = headset.props['title'] = tr('View in a headset')
        headset.on('click', js_handler=HEADSET)
        layers = ui.button(icon='layers').props('dense flat aria-label="Layers"')
        with layers, ui.menu(), ui.column().classes('layers'):
            for name, label in LAYERS.items():
                if name != 'voxels' or look['voxels'] is not None:
                    _layer(view, name, label)
            words = tr('Drawn by the processor: fewer pixels, hard edges, curves once a second')
            ui.label(words).classes('what frugal')
    with view, ui.element('div').classes('facts').props('data-scale hidden'):
        ui.label(tr('squares of 1 m'))
    with view, ui.element('div').classes('hud').props('aria-label="Overlay"'):
        for name, label in OVERLAY.items():
            number_display(name, label)
    with view, ui.element('div').classes('blank').props('hidden'):
        ui.label(tr('The 3D view is off; the rest of the page keeps running.'))
    with view:
        ui.element('div').classes('legend').props('aria-label="Forces, N"')
    with ui.element('section').classes('history'):
        with ui.row().classes('bar'):
            curves = {name: tr(label) for name, label in CURVES.items()}
            which = ui.toggle(curves, value='position').props('dense no-caps unelevated')
            ui.space()
            ui.label(tr('set-point')).classes('what dashes')
            span = ui.select(WINDOWS, value=30)
            span.props('dense options-dense borderless aria-label="Time window"')
        chart = BrowserPart('curves').classes('curves')
    which.on_value_change(lambda e: chart.call('choose', e.value))
    span.on_value_change(lambda e: chart.call('span', e.value))
    return view, eye


def _layer(view: BrowserPart, name: str, label: str) -> None:
    shown = name not in ('voxels', 'box')
    ui.switch(tr(label), value=shown, on_change=lambda e: view.call('show', name, e.value))


def lost_label() -> None:
    """Add the banners of a page without a connection, and of a run that has ended."""
    text = 'Connection lost: the page shows old data, and you cannot steer from it.'
    ui.label(tr(text)).classes('lost').props('role=alert')
    ui.label().classes('ended').props('role=status')


def meters(look: dict[str, Any]) -> None:
    """Add the dials and the numbers below them, states of actuators last."""
    BrowserPart('gauges', 'dials')
    with ui.element('div').classes('meters'):
        for name, label in {**METERS, **(TETHER_METERS if look['tether'] else {})}.items():
            number_display(name, label)
        for part in look['actuators']:
            number_display(part['key'], part['label'])


def tabs(panels: Mapping[str, Callable[[], Any]]) -> None:
    """Add a tab for each panel: title -> function that adds one; the first is open."""
    with ui.tabs().props('dense no-caps align=justify narrow-indicator outside-arrows') as titles:
        for title in panels:
            ui.tab(title, tr(title))
    # Hidden panels stay, so that no stick loses its position.
    shown = ui.tab_panels(titles, value=next(iter(panels)), animated=False, keep_alive=True)
    with shown.classes('w-full'):
        for title, fill in panels.items():
            with ui.tab_panel(title), ui.element('div').classes('panel'):
                fill()


def readings(look: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return the panels without controls: title -> function that adds one."""
    result: dict[str, Callable[[], Any]] = {'Forces': lambda: BrowserPart('gauges', 'forces')}
    if look['thrusters']:
        result = {'Thrust': lambda: BrowserPart('gauges', 'propellers'), **result}
    return result


def chart_panel() -> None:
    """Add the chart: contours, track, waypoints; it is moved by drag, wheel and buttons."""
    chart = BrowserPart('chart').classes('chart')
    with chart:
        ui.element('canvas').props(
            'tabindex=0 role=img aria-label="Chart; drag moves it, plus and minus zoom"'
        )
    with ui.row().classes('group'):
        for icon, label, name in (
            ('add', 'Nearer', 'nearer'),
            ('remove', 'Farther', 'farther'),
            ('my_location', 'Follow the vehicle', 'follow'),
            ('zoom_out_map', 'Whole chart', 'whole'),
        ):
            button = ui.button(icon=icon, on_click=lambda _, name=name: chart.call(name))
            button.props('dense flat').props['aria-label'] = label
            button.mark(f'chart-{name}').tooltip(label)
        ui.element('output').classes('what').props('data-chart-place')
    ui.element('div').classes('what').props('data-chart-text')


def _plain(link: str) -> str:
    """Return a link's name for people."""
    words = [w for w in link.split('_') if w not in ('link', 'camera')]
    return ' '.join(words) or 'main'
