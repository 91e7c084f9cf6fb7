# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A lesson in real browsers: a pilot with a gamepad, an instructor, and the debriefing.

With MARINE_SIM_PICTURES=DIR the pictures of the pages are kept there.
"""

import os
import re
from pathlib import Path

import pytest
from conftest import has
from readable import check_accessible, check_readable
from test_console_page import Page, address_of, chromium, playwright  # noqa: F401

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not has('nicegui'), reason='the extra console is not installed'),
    pytest.mark.skipif(not has('playwright'), reason='playwright is not installed'),
]
PICTURES = os.environ.get('MARINE_SIM_PICTURES', '')
SIZES = ((390, 844), (1280, 720))
GAMEPAD = """() => {
    window.pad = { id: 'Xbox 360 Controller', connected: true, mapping: 'standard',
                   axes: [0, 0, 0, 0],
                   buttons: Array.from({ length: 17 }, () => ({ pressed: false, value: 0 })) };
    navigator.getGamepads = () => [pad];
}"""
"""Plugs in a gamepad."""
PILOT = """async () => {
    const { wire } = await import('marine-sim-console');
    window.wire = wire;
    wire.send('gain', 1.0);
    const within = (x) => Math.min(1, Math.max(-1, x));
    setInterval(() => {
        const { position, rpy, mission } = wire.frame;
        const ahead = mission?.tasks[0].state === 'done' ? 7 : 0;
        const [east, north, up] = [ahead, -4, -5].map((x, i) => within(1.5 * (x - position[i])));
        const yaw = rpy[2], bow = Math.cos(yaw) * east + Math.sin(yaw) * north;
        const port = Math.cos(yaw) * north - Math.sin(yaw) * east;
        pad.axes = [-port, -bow, -within(-2 * yaw), -up];
    }, 50);
}"""
"""Flies the first lesson by the sticks of a gamepad, from what the page receives."""
ARM = """() => {
    const start = pad.buttons[9], arming = setInterval(() => {
        start.pressed = !start.pressed && wire.frame.mode.switches.arm !== true;
        if (wire.frame.mode.switches.arm === true) clearInterval(arming);
    }, 500);
}"""
"""Presses the button Start until it is seen: what is held when a gamepad is new does not count."""


def picture(page, name, sizes=SIZES):
    """Look at a page at the usual sizes: nothing is cut off, and axe-core finds no fault.

    Otherwise the 3D view is off, which leaves a processor that draws time for the sticks.
    """
    page.value("view.show('picture', true)")
    for width, height in sizes:
        page.tab.set_viewport_size({'width': width, 'height': height})
        page.drawn_anew()
        wide = page.tab.evaluate('document.scrollingElement.scrollWidth')
        assert wide <= width, (name, width)
        check_accessible(page.tab)
        if PICTURES:
            page.tab.screenshot(path=Path(PICTURES) / f'{name}_{width}.png')
    page.value("view.show('picture', false)")


@pytest.mark.ros
def test_a_pilot_flies_the_first_lesson_while_an_instructor_breaks_a_thruster(
    processes,
    chromium,  # noqa: F811
    tmp_path,
):
    folder = tmp_path / 'run'
    process = processes.marine_sim(
        'train', 'first_flight', '--console-port', 0, '--record', folder, '--dt', 0.02,
        '--results', tmp_path / 'r.db', '--real-time-factor', 0.5,
    )  # fmt: skip
    address = address_of(process)
    links = ''.join(process.stdout.readline() for _ in range(2))
    (instructing,) = re.findall(r'to instruct: (http://\S+)', links)
    pilot, instructor = Page(chromium, address), Page(chromium, instructing)
    for page in (pilot, instructor):
        page.value("view.show('picture', false)")
    instructor.reads('Nobody steers')
    assert instructor.tab.get_by_role('tab', name='Drive').count() == 0
    pilot.press('Take control')
    pilot.reads('You steer')
    pilot.tab.evaluate(GAMEPAD)
    pilot.tab.evaluate(PILOT)
    pilot.go_to('Drive')
    pilot.reads('Xbox 360 Controller')
    pilot.tab.get_by_role('button', name='Armed').and_(pilot.tab.locator(':enabled')).wait_for()
    pilot.tab.evaluate(ARM)
    pilot.tab.wait_for_selector('button[aria-pressed=true]:has-text("Armed")')
    # What the instructor sets, the pilot cannot.
    pilot.go_to('Faults')
    clear = pilot.tab.get_by_role('button', name='Clear all faults')
    pilot.tab.wait_for_selector('button[title="The instructor sets this"]')
    assert clear.is_disabled()
    pilot.go_to('Lesson')
    pilot.press('Start')
    pilot.tab.wait_for_function('() => wire.frame.position[2] < -2')
    instructor.tab.get_by_label('Message to the pilot').fill('Mind the thruster')
    instructor.press('Send')
    pilot.reads('Instructor: Mind the thruster')
    instructor.go_to('Faults')
    instructor.slide('thruster 1, %', 'PageDown', 2)
    instructor.reads('active faults: 1')
    dark = pilot.tab.get_by_text('No picture: the cameras are dark')
    instructor.press('Cameras dark')
    dark.wait_for()
    assert instructor.tab.get_by_text('No picture: the cameras are dark').count() == 0
    instructor.press('Cameras dark')
    dark.wait_for(state='hidden')
    instructor.go_to('Instructor')
    instructor.press('Discuss')
    instructor.reads('fault: dead thruster_1')
    instructor.reads('note: discuss')
    picture(instructor, 'instructor', SIZES[:1])
    assert instructor.wrong == []
    instructor.tab.close()
    pilot.tab.wait_for_function("() => wire.frame.mission.tasks[4].state === 'done'")
    pilot.value("view.choose('camera_link')")
    picture(pilot, 'camera', SIZES[1:])
    assert pilot.wrong == []  # later it looks for a console that has ended
    pilot.press('End run')
    pilot.tab.locator('.q-card button:has-text("End run")').click()
    pilot.tab.wait_for_selector('body[data-wire=ended]')
    output, _ = process.communicate()
    assert process.returncode == 0, output  # a medal
    assert float(re.findall('score ([0-9.]+) of 100', output)[0]) > 60

    page = Page(chromium, address_of(processes.marine_sim('console', folder, '--port', '0')))
    for text in ('gate 1: done', 'dead thruster_1', 'discuss', 'Mind the thruster'):
        page.reads(text)
    page.tab.wait_for_selector('.stickchart canvas, .stickchart svg')
    page.tab.locator('.markrow', has_text='dead thruster_1').click()
    page.tab.wait_for_function("() => document.querySelector('.view').dataset.time > 1")
    picture(page, 'debriefing')
    assert page.wrong == []


LOCALES = {'en': 'en-GB', 'de': 'de-DE', 'es': 'es-ES', 'ja': 'ja-JP', 'zh': 'zh-CN'}
PHONE, LAPTOP, DESK = (390, 844), (1280, 720), (1920, 1080)
UNFOLD = """() => {
    const items = [...document.querySelectorAll('aside .q-tab-panel .q-expansion-item')]
        .filter((item) => item.checkVisibility());
    const is_open = (item) => item.matches('.q-expansion-item--expanded')
        && !item.querySelector('.q-expansion-item__content').style.height; // no longer moves
    for (const item of items) {
        if (!item.matches('.q-expansion-item--expanded')) item.querySelector('.q-item').click();
    }
    return items.every(is_open) && !document.getAnimations().some((one) =>
        one.playState === 'running' && one.effect.getComputedTiming().iterations !== Infinity);
}"""
"""Opens what is folded in the open tab, and says whether all is at rest."""


class InLanguage:
    """A browser whose user reads a language."""

    def __init__(self, chromium, language):  # noqa: F811
        self._chromium, self._locale = chromium, LOCALES[language]

    def new_page(self, **options):
        return self._chromium.new_page(locale=self._locale, **options)


def faults_of_tabs(page, name, screens):
    """Return what cannot be read or used in each tab of a page, on each screen."""
    faults = {}
    page.value("view.show('picture', false)")
    for width, height in screens:
        page.tab.set_viewport_size({'width': width, 'height': height})
        for number, tab in enumerate(page.tab.locator('aside [role=tab]').all()):
            tab.click()
            page.tab.wait_for_function(UNFOLD)
            key = f'{name}_{width}_{number}'
            if PICTURES:
                page.tab.screenshot(path=Path(PICTURES) / f'{key}.png')
            for check in (check_readable, check_accessible):
                try:
                    check(page.tab)
                except AssertionError as error:
                    faults[key, check.__name__] = str(error)
    assert page.wrong == []
    page.tab.close()
    return faults


@pytest.mark.ros
@pytest.mark.parametrize('language', LOCALES)
def test_nothing_is_cut_or_covered_on_any_page_in_any_language(
    language,
    processes,
    chromium,  # noqa: F811
    tmp_path,
):
    process = processes.marine_sim(
        'train', 'valve_and_stab', '--console-port', 0, '--record', tmp_path / 'run',
        '--results', tmp_path / 'r.db',
    )  # fmt: skip
    address = address_of(process)
    links = dict(
        re.findall(r'to (.*): (http://\S+)', ''.join(process.stdout.readline() for _ in '12'))
    )
    pages = {
        'pilot': (address, (LAPTOP, DESK, PHONE)),
        'watching': (links['watch only'], (PHONE,)),
        'instructor': (links['instruct'], (LAPTOP,)),
    }
    faults = {}
    for name, (link, screens) in pages.items():
        page = Page(InLanguage(chromium, language), link)
        if name == 'pilot':
            page.tab.locator('header button').first.click()
            page.tab.evaluate(GAMEPAD)
        faults |= faults_of_tabs(page, f'{language}_{name}', screens)
    assert not faults, '\n'.join(f'{key}: {fault}' for key, fault in faults.items())


def test_nothing_is_cut_or_covered_in_a_debriefing_in_any_language(
    processes,
    chromium,  # noqa: F811
    tmp_path,
):
    flown = tmp_path / 'run'
    process = processes.marine_sim('mission', 'first_flight', '--dt', '0.05', '--record', flown)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    address = address_of(processes.marine_sim('console', flown, '--compare', flown, '--port', '0'))
    faults = {}
    for language in LOCALES:
        page = Page(InLanguage(chromium, language), address)
        faults |= faults_of_tabs(page, f'{language}_debriefing', (LAPTOP, PHONE))
    assert not faults, '\n'.join(f'{key}: {fault}' for key, fault in faults.items())
