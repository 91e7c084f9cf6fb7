# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/pictures/console.png: the console while a target is reached.

Run it in an environment with ROS, the extra console and playwright; a browser draws the page:

    python docs/scripts/make_console.py [--browser /usr/bin/chromium]
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parents[1] / 'pictures'
PATIENCE = 120_000
"""ms for each step: the processor may draw the page."""
COARSE = "Object.defineProperty(window, 'devicePixelRatio', { get: () => 0.4 });"
"""Has the 3D view drawn coarsely until the picture is taken, so that the run keeps its pace."""
FINE = """() => {
    const view = document.querySelector('.view').own;
    Object.assign(view, { sharpness: 1.25, cost: -1e9 });
    view.resize();
    return view.drawn;
}"""


def main() -> None:
    """Start a run, send it to a depth and a heading, and draw the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--browser', default=shutil.which('chromium'), help='Chromium or Chrome')
    browser = parser.parse_args().browser
    command = [sys.executable, '-m', 'marine_sim_ros.tools.main', 'run', 'bluerov2_heavy']
    command += ['--composed', '--dt', '0.02', '--console', '--console-port', '0']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        try:
            assert run.stdout is not None
            links = (re.search(r'console at (http://\S+)', line) for line in run.stdout)
            address = next(link[1] for link in links if link)
            with sync_playwright() as playwright:
                flags = ['--no-sandbox', '--enable-unsafe-swiftshader']
                found = playwright.chromium.launch(executable_path=browser, args=flags)
                tab = found.new_page(viewport={'width': 1280, 'height': 720})
                tab.set_default_timeout(PATIENCE)
                tab.add_init_script(COARSE)
                tab.goto(address)
                _draw(tab)
                found.close()
        finally:
            run.send_signal(signal.SIGINT)


def _draw(tab: Page) -> None:
    """Steer as an operator does, and take the picture."""
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
    drawn = tab.evaluate(FINE)
    tab.wait_for_function(f"() => document.querySelector('.view').own.drawn > {drawn}")
    tab.screenshot(path=PICTURES / 'console.png')


if __name__ == '__main__':
    main()
