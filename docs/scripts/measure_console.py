# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the pilot's view in a browser: delay from stick to picture, frames, load, memory.

A lesson runs as a pilot starts it. A script stands for the gamepad: it turns to port and to
starboard by turns, and notes when the browser has drawn the first picture of a state with other
thrust, and the first one in which the vehicle has turned by 0.25 degrees:

    python docs/scripts/measure_console.py [LESSON] [--steps 24] [--size 1280x720]

It needs ROS, the extra console and playwright.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from marine_sim_ros.core.processes import cpu_seconds, resident_memory

PATIENCE = 120_000
"""ms for each step of the page."""
PILOT = """async () => {
    const { wire } = await import('marine-sim-console');
    const view = document.querySelector('.view').own;
    const pad = { id: 'Xbox 360 Controller', connected: true, mapping: 'standard',
                  axes: [0, 0, 0, 0],
                  buttons: Array.from({ length: 17 }, () => ({ pressed: false, value: 0 })) };
    navigator.getGamepads = () => [pad];
    const heading = (frame) => Math.atan2(Math.sin(frame.rpy[2]), Math.cos(frame.rpy[2]));
    const gaps = [];
    let step = null, before = null, frame = null;
    const paint = view.paint.bind(view), finish = view.finish.bind(view);
    view.paint = (now) => { frame = wire.frame; paint(now); };
    view.finish = (begun) => {
        finish(begun);
        if (!frame) return;
        const drawn = performance.now();
        if (before) gaps.push(drawn - before);
        before = drawn;
        if (!step) return;
        const pushed = Math.max(...frame.thrust.map((x, i) => Math.abs(x - step.thrust[i])));
        const turned = Math.abs(Math.sin(frame.rpy[2] - step.yaw)) * 180 / Math.PI;
        if (step.pushed === null && pushed > 0.5) step.pushed = drawn - step.since;
        if (step.turned === null && turned > 0.25) step.turned = drawn - step.since;
    };
    window.measure = {
        gaps,
        canvas: view.canvas,
        begin(effort) {
            pad.axes[2] = effort;
            const { thrust, rpy } = wire.frame;
            step = { since: performance.now(), thrust, yaw: rpy[2], pushed: null, turned: null };
        },
        end() {
            pad.axes[2] = 0;
            const found = step && [step.pushed, step.turned];
            step = null;
            return found;
        },
        now: () => [performance.now(), wire.frame.time],
    };
}"""
"""Stands for the gamepad, and notes the pictures that are drawn."""


def _prepare(tab: Page) -> None:
    """Start the lesson as a pilot does, with the view of the vehicle's camera."""
    tab.get_by_role('button', name='Take control', exact=True).click()
    tab.evaluate(PILOT)
    tab.get_by_role('tab', name='Drive', exact=True).click()
    tab.get_by_role('button', name='Armed').and_(tab.locator(':enabled')).click()
    tab.get_by_role('tab', name='Lesson', exact=True).click()
    tab.get_by_role('button', name='Start', exact=True).click()
    tab.evaluate("document.querySelector('.view').own.choose('camera_link')")
    tab.wait_for_function('() => measure.now()[1] > 3')


def _measure(tab: Page, steps: int, groups: dict[str, list[int]]) -> None:
    """Turn by turns, and print what was measured."""
    tab.evaluate('measure.gaps.length = 0')
    start, simulated = tab.evaluate('measure.now()')
    load = {name: cpu_seconds(pids) for name, pids in groups.items()}
    delays = []
    generator = np.random.default_rng(0)
    for number in range(steps):
        tab.evaluate('(effort) => measure.begin(effort)', -1.0 if number % 2 else 1.0)
        time.sleep(0.8)
        delays.append(tab.evaluate('measure.end()'))
        time.sleep(2.0 + generator.uniform(0.0, 0.1))  # not in step with any timer
    end, after = tab.evaluate('measure.now()')
    wall = (end - start) / 1e3
    gaps = np.array(tab.evaluate('measure.gaps'))
    print(f'{len(gaps) / wall:.1f} pictures/s, {_spread(gaps)} apart')
    print(f'real-time factor {(after - simulated) / wall:.3f}')
    for name, column in zip(('thrust', 'turned by 0.25°'), zip(*delays, strict=True), strict=True):
        known = np.array([delay for delay in column if delay is not None])
        print(f'stick to picture, {name}: {_spread(known)}, {len(known)} of {steps}')
    for name, pids in groups.items():
        cores = (cpu_seconds(pids) - load[name]) / wall
        print(f'{name}: {cores:.2f} cores, {resident_memory(pids):.0f} MB')
    size = tab.evaluate('(({ width, height }) => [width, height])(measure.canvas)')
    print(f'picture {size[0]:.0f} x {size[1]:.0f} px')


def _spread(times: np.ndarray) -> str:
    """Return median, 95 % and largest of times, ms."""
    if not len(times):
        return 'none'
    middle, most = np.percentile(times, (50, 95))
    return f'{middle:.0f} ms (95 % within {most:.0f}, largest {times.max():.0f})'


def main() -> None:
    """Measure a lesson."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('lesson', nargs='?', default='first_flight')
    parser.add_argument('--steps', type=int, default=24, help='3 s each')
    parser.add_argument('--size', default='1280x720', help='of the window, px')
    parser.add_argument('--browser', default=shutil.which('chromium'), help='Chromium or Chrome')
    options = parser.parse_args()
    width, height = map(int, options.size.split('x'))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = (
            sys.executable, '-m', 'marine_sim_ros.tools.main', 'train', options.lesson,
            '--console-port', '0', '--record', f'{folder}/run',
            '--results', f'{folder}/results.db',
        )  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as run:
            try:
                assert run.stdout is not None
                links = (re.search(r'console at (http://\S+)', line) for line in run.stdout)
                address = next(link[1] for link in links if link)
                browser = playwright.chromium.launch(
                    executable_path=options.browser,
                    args=['--no-sandbox', '--enable-unsafe-swiftshader'],
                )
                children = Path(f'/proc/self/task/{os.getpid()}/children').read_text().split()
                tab = browser.new_page(viewport={'width': width, 'height': height})
                tab.set_default_timeout(PATIENCE)
                tab.goto(address)
                tab.wait_for_selector('.view[data-drawn]')
                _prepare(tab)
                groups = {
                    'run with console and recorder': [run.pid],
                    'browser': [int(pid) for pid in children if int(pid) != run.pid],
                }
                print(f'{options.lesson}, {options.size}, {os.cpu_count()} cores')
                _measure(tab, options.steps, groups)
                browser.close()
            finally:
                run.terminate()


if __name__ == '__main__':
    main()
