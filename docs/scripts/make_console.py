# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the console in docs/pictures: a target, a bag, sensors, a video.

Run it in an environment with ROS, the extra console and playwright; a browser draws the page:

    python docs/scripts/make_console.py [PICTURE ...] [--browser /usr/bin/chromium]
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

PICTURES = Path(__file__).parents[1] / 'pictures'
PATIENCE = 120_000
"""ms for each step: the processor may draw the page."""
COARSE = "Object.defineProperty(window, 'devicePixelRatio', { get: () => 0.4 });"
"""Has the 3D view drawn coarsely until the picture is taken, so that the run keeps its pace."""
FINE = """() => {
    const view = document.querySelector('.view').own;
    Object.assign(view, { sharpness: 1.25, cost: -1e9 });
    view.resize();
    view.touch();
    return view.drawn;
}"""
COMMAND = (sys.executable, '-m', 'marine_sim_ros.tools.main')
RUN = ('--composed', '--dt', '0.02', '--console', '--console-port', '0')
SENSORS = ('dvl', 'altimeter', 'scanning_sonar', 'imaging_sonar')
HOLD = """
description: Hold a depth
duration: 900.0
initial: {{position: {}, rpy: {}}}
segments:
  - {{at: 0.0, depth: {}}}
"""
POOL = HOLD.format([-8.0, 2.0, -1.8], [0.0, 0.2, -0.2], 1.8)
BOTTOM = HOLD.format([-2.0, 2.0, -7.7], [0.0, 0.0, 0.0], 7.7)


def _draw_target(tab: Page) -> None:
    """Steer to a depth and a heading as an operator does."""
    tab.get_by_role('button', name='Take control', exact=True).click()
    tab.get_by_role('button', name='Armed').and_(tab.locator(':enabled')).click()
    tab.get_by_role('tab', name='Command', exact=True).click()
    tab.get_by_label('Target Depth').fill('2.2')
    tab.get_by_label('Target Heading').fill('60')
    tab.get_by_role('button', name='Set', exact=True).click()
    tab.mouse.move(950, 268)  # where nothing has a tooltip
    tab.wait_for_function(
        "() => Math.abs(Number.parseFloat(document.querySelector('[data-show=depth]').textContent)"
        ' - 2.2) < 0.05'
    )
    tab.wait_for_timeout(10_000)
    _screenshot(tab, 'console')


def _draw_replay(tab: Page) -> None:
    """Show a time of a bag."""
    tab.locator('[data-metric=messages]').wait_for()
    box = tab.get_by_label('Time, s').bounding_box()
    assert box is not None
    tab.mouse.click(box['x'] + 0.3 * box['width'], box['y'] + box['height'] / 2)
    tab.wait_for_function("() => document.querySelector('.curves').dataset.points > 50")
    tab.wait_for_timeout(2_000)
    _screenshot(tab, 'console_replay')


def _draw_sensors(tab: Page) -> None:
    """Show the readings of all sensors in one column, as high as it is."""
    tab.set_viewport_size({'width': 1280, 'height': 1760})
    tab.get_by_role('tab', name='Sensors', exact=True).click()
    for name in SENSORS:
        tab.locator(f'tr[data-sensor={name}][data-state=ok]').wait_for()
    tab.wait_for_timeout(25_000)  # a turn of the scanning sonar
    tab.wait_for_function("() => !document.querySelector('tr[data-state=late]')")
    tabs, panel = tab.locator('.right > .q-tabs'), tab.locator('.right > .q-tab-panels')
    top, rest = tabs.bounding_box(), panel.locator('.panel:visible').bounding_box()
    assert top is not None
    assert rest is not None
    height = rest['y'] + rest['height'] - top['y']
    clip = {'x': top['x'], 'y': top['y'], 'width': top['width'], 'height': height}
    tab.screenshot(path=PICTURES / 'console_sensors.png', clip=clip)  # type: ignore[arg-type]


def _draw_video(tab: Page) -> None:
    """Show what the camera sees."""
    tab.get_by_role('combobox', name='Camera').click()
    tab.get_by_role('option', name='Video: main', exact=True).click()
    tab.wait_for_function("() => document.querySelector('img.video').naturalWidth === 640")
    tab.mouse.move(950, 268)
    tab.wait_for_timeout(10_000)
    tab.screenshot(path=PICTURES / 'console_video.png')


def _screenshot(tab: Page, name: str) -> None:
    """Take a picture with a 3D view of all pixels."""
    drawn = tab.evaluate(FINE)
    tab.wait_for_function(f"() => document.querySelector('.view').own.drawn > {drawn}")
    tab.screenshot(path=PICTURES / f'{name}.png')


DRAW = {
    'console': (('run', 'bluerov2_heavy', *RUN), _draw_target),
    'console_replay': (('console', 'dive', '--port', '0'), _draw_replay),
    'console_sensors': (
        ('run', 'bluerov2_heavy', '--scenario', 'bottom.yaml', '--environment', 'shallow_sand',
         *RUN, *(a for n in SENSORS for a in ('--set', f'{n}:=true'))),
        _draw_sensors,
    ),
    'console_video': (
        ('run', 'bluerov2', '--scenario', 'pool.yaml', '--environment', 'pool', *RUN, '--set',
         'camera:=true'),
        _draw_video,
    ),
}  # fmt: skip
"""Arguments of the command that serves the page, and what is done on it, by picture."""


def main() -> None:
    """Draw the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('pictures', nargs='*', metavar='PICTURE', help=f'of {", ".join(DRAW)}')
    parser.add_argument('--browser', default=shutil.which('chromium'), help='Chromium or Chrome')
    options = parser.parse_args()
    flags = ['--no-sandbox', '--enable-unsafe-swiftshader']
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        (Path(folder) / 'pool.yaml').write_text(POOL)
        (Path(folder) / 'bottom.yaml').write_text(BOTTOM)
        dive = ('simulate', 'bluerov2', '--scenario', 'dive', '--environment', 'shallow_sand')
        subprocess.run([*COMMAND, *dive, '--record', 'dive'], cwd=folder, check=True)
        browser = playwright.chromium.launch(executable_path=options.browser, args=flags)
        for name in options.pictures or DRAW:
            _draw(browser, name, folder)
        browser.close()


def _draw(browser: Browser, name: str, folder: str) -> None:
    """Serve a page and draw its picture."""
    arguments, draw = DRAW[name]
    command = [*COMMAND, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        try:
            assert server.stdout is not None
            links = (re.search(r'console at (http://\S+)', line) for line in server.stdout)
            address = next(link[1] for link in links if link)
            tab = browser.new_page(viewport={'width': 1280, 'height': 720})
            tab.set_default_timeout(PATIENCE)
            tab.add_init_script(COARSE)
            tab.goto(address)
            tab.wait_for_selector('.view[data-drawn]')
            draw(tab)
            tab.close()
        finally:
            server.send_signal(signal.SIGINT)


if __name__ == '__main__':
    main()
