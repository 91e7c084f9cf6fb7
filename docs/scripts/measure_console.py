# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the pilot's view in a browser: delay from stick to picture, frames, load, memory.

A lesson runs as a pilot starts it. A script stands for the gamepad: it turns to port and to
starboard by turns, and notes when the browser has drawn the first picture of a state with other
thrust, and the first one in which the vehicle has turned by 0.25 degrees:

    python docs/scripts/measure_console.py [LESSON] [--steps 24] [--size 1280x720]

With --cockpit it measures Blue Robotics' Cockpit in place of the page: the folder is that of its
build (npm run build), and the run serves it messages and the camera's video as BlueOS does:

    python docs/scripts/measure_console.py --cockpit cockpit/dist

Both count the first of two pictures that have moved to the same side, by 0.1 of 192 pixels and
twice as much as the pictures of the second before the step. It needs ROS, the extra console
(webrtc for Cockpit), and playwright.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from playwright.sync_api import Page, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from marine_sim_ros.core.processes import cpu_seconds, resident_memory

PATIENCE = 120_000
"""ms for each step of the page."""
METER = """
const W = 192, H = 108;
const small = new OffscreenCanvas(W, H).getContext('2d', { willReadFrequently: true });
const grey = (source) => {
    small.drawImage(source, 0, 0, W, H);
    const rgba = small.getImageData(0, 0, W, H).data;
    const sum = (_, i) => rgba[4 * i] + rgba[4 * i + 1] + rgba[4 * i + 2];
    return Float32Array.from({ length: W * H }, sum);
};
// Shift to the side that takes picture a to picture b by least squares, px of 192.
const shift = (a, b) => {
    let across = 0, square = 1;
    for (let i = 1; i < W * H - 1; i += 1) {
        if (i % W === 0 || i % W === W - 1) continue;
        const slope = (a[i + 1] - a[i - 1]) / 2;
        across -= slope * (b[i] - a[i]);
        square += slope * slope;
    }
    return across / square;
};
const past = []; // times and pictures of the last second
// Of a step: picture before it, usual shift, start, delay in ms, and the side of the last shift.
let change = null;
const compare = (source) => {
    const picture = grey(source), now = performance.now();
    if (change && change.delay === null) {
        const moved = shift(change.before, picture);
        const side = Math.abs(moved) > 2 * change.usual + 0.1 ? Math.sign(moved) : 0;
        if (side && side === change.side) change.delay = change.first - change.since;
        else if (side) change.first = now;
        change.side = side;
    }
    past.push([now, picture]);
    while (past[0][0] < now - 1000) past.shift();
};
const usual_shift = () => {
    const before = past.at(-1)[1];
    return Math.max(...past.map(([, picture]) => Math.abs(shift(before, picture))));
};
const step_change = () => {
    const before = past.at(-1)[1], usual = usual_shift();
    change = { before, usual, since: performance.now(), delay: null, first: 0, side: 0 };
};
"""
"""Finds the first of two pictures that a step of the stick has turned to one side."""
PILOT = (
    'async () => {'
    + METER
    + """
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
    view.paint = (now) => { frame = wire.frame; paint(now); compare(view.canvas); };
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
            step_change();
        },
        end() {
            pad.axes[2] = 0;
            const found = step && [step.pushed, step.turned, change.delay];
            step = null;
            return found;
        },
        is_still: () => usual_shift() < 0.1,
        found: () => [step.pushed, step.turned, change.delay].every((delay) => delay !== null),
        now: () => [performance.now(), wire.frame.time],
    };
}"""
)
"""Stands for the gamepad, and notes the pictures that are drawn."""


COCKPIT = (
    '() => {'
    + METER
    + """
    const video = [...document.querySelectorAll('video')].find((v) => v.videoWidth);
    const gaps = [];
    let before = null;
    const next = () => video.requestVideoFrameCallback(() => {
        const now = performance.now();
        if (before) gaps.push(now - before);
        before = now;
        compare(video);
        next();
    });
    next();
    window.measure = {
        gaps,
        canvas: { width: video.videoWidth, height: video.videoHeight },
        begin(effort) { pad.axes[2] = effort; pad.timestamp = performance.now(); step_change(); },
        end() { pad.axes[2] = 0; pad.timestamp = performance.now(); return [change.delay]; },
        found: () => change.delay !== null,
        is_still: () => usual_shift() < 0.1,
        now: () => [performance.now(), 0],
    };
}"""
)
"""Notes the pictures of Cockpit's video."""
COCKPIT_START = """
localStorage.setItem('cockpit-vehicle-address', '%s');
for (const [key, text] of Object.entries(%s)) localStorage.setItem(key, text);
for (const x of ['skip', 'has-seen']) localStorage.setItem(`cockpit-${x}-tutorial`, 'true');
window.pad = { id: 'Xbox 360 Controller (STANDARD GAMEPAD Vendor: 045e Product: 028e)', index: 0,
               connected: true, mapping: 'standard', timestamp: 0, axes: [0, 0, 0, 0],
               buttons: Array.from({ length: 17 }, () => ({ pressed: false, value: 0 })) };
navigator.getGamepads = () => [window.plugged ? pad : null, null, null, null];
window.plug = () => {
    window.plugged = true;
    // Cockpit sends a state of the sticks when the next one comes: real sticks are never at rest.
    setInterval(() => { pad.axes[1] = 1e-4 - pad.axes[1]; }, 20);
    dispatchEvent(Object.assign(new Event('gamepadconnected'), { gamepad: pad }));
};
"""
"""Prepares the browser for Cockpit, with a gamepad to plug in."""


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


def _measure(tab: Page, steps: int, groups: dict[str, list[int]], blueos: str = '') -> None:
    """Turn to port and starboard, and print what was measured; blueos: address for Cockpit."""
    hold, rest = (1.5, 5.0) if blueos else (1.2, 4.0)  # s
    tab.evaluate('measure.gaps.length = 0')

    def now() -> list[float]:
        wall, simulated = tab.evaluate('measure.now()')
        return [wall, _receive(blueos, 'ATTITUDE')['time_boot_ms'] / 1e3 if blueos else simulated]

    start, simulated = now()
    load = {name: cpu_seconds(pids) for name, pids in groups.items()}
    delays = []
    generator = np.random.default_rng(0)
    for number in range(steps):
        left = number % 2
        if blueos:  # back to the panel that it sees
            left = _receive(blueos, 'ATTITUDE')['yaw'] > np.pi / 2
        with suppress(PlaywrightTimeout):
            tab.wait_for_function('() => measure.is_still()', timeout=15_000)
        tab.evaluate('(effort) => measure.begin(effort)', -1.0 if left else 1.0)
        with suppress(PlaywrightTimeout):
            tab.wait_for_function('() => measure.found()', timeout=1e3 * hold)
        delays.append(tab.evaluate('measure.end()'))
        time.sleep(rest + generator.uniform(0.0, 0.1))  # not in step with any timer
    end, after = now()
    wall = (end - start) / 1e3
    gaps = np.array(tab.evaluate('measure.gaps'))
    print(f'{len(gaps) / wall:.1f} pictures/s, {_spread(gaps)} apart')
    print(f'real-time factor {(after - simulated) / wall:.3f}')
    names = ('thrust', 'turned by 0.25°', 'changed')
    columns = list(zip(*delays, strict=True))
    for name, column in zip(names[-len(columns) :], columns, strict=True):
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


def _command(options: argparse.Namespace, folder: str, blueos: str) -> list[str]:
    """Return the arguments of the run that is measured."""
    if options.cockpit:
        return [
            'run', 'bluerov2', '--composed', '--dt', '0.02', '--environment', 'valve_panel',
            '--initial-position', '0.5', '0', '-3.8', '--autopilot', 'mavlink', '--blueos', blueos,
            '--ground-station', blueos, '--set', 'camera:=true', '--set', 'camera_width:=320',
            '--set', 'camera_height:=180', '--record', f'{folder}/run',
        ]  # fmt: skip
    return [
        'train', options.lesson, '--dt', '0.02', '--console-port', '0',
        '--record', f'{folder}/run', '--results', f'{folder}/results.db',
    ]  # fmt: skip


def _open_page(tab: Page, run: subprocess.Popen[str]) -> None:
    """Open the pilot's page and start the lesson."""
    assert run.stdout is not None
    links = (re.search(r'console at (http://\S+)', line) for line in run.stdout)
    tab.goto(next(link[1] for link in links if link))
    tab.wait_for_selector('.view[data-drawn]')
    _prepare(tab)


class _QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


MAVLINK = 'mavlink2rest/v1/mavlink'


def _send(blueos: str, command: str, *parameters: float) -> None:
    """Send a command of MAVLink with its first parameters."""
    values = dict.fromkeys((f'param{i}' for i in range(1, 8)), 0.0)
    values |= {f'param{i}': value for i, value in enumerate(parameters, 1)}
    message = {
        'type': 'COMMAND_LONG', 'target_system': 1, 'target_component': 1, 'confirmation': 0,
        'command': {'type': f'MAV_CMD_{command}'}, **values,
    }  # fmt: skip
    header = {'system_id': 255, 'component_id': 240, 'sequence': 0}
    content = json.dumps({'header': header, 'message': message}).encode()
    urlopen(f'http://{blueos}/{MAVLINK}', content, PATIENCE / 1e3).close()


def _receive(blueos: str, name: str) -> Any:
    """Return the newest message of a name from the vehicle."""
    url = f'http://{blueos}/{MAVLINK}/vehicles/1/components/1/messages/{name}/message'
    with urlopen(url, timeout=PATIENCE / 1e3) as answer:
        return json.load(answer)


def _open_cockpit(tab: Page, folder: str, blueos: str, settings: str) -> None:
    """Serve Cockpit, and open it with the video and a gamepad of an armed vehicle."""
    server = ThreadingHTTPServer(('127.0.0.1', 0), partial(_QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tab.add_init_script(COCKPIT_START % (blueos, settings))
    tab.goto(
        f'http://127.0.0.1:{server.server_port}/?webRTCSignallingURI=ws://127.0.0.1:6021',
        wait_until='commit',
    )
    tab.wait_for_function(
        "() => [...document.querySelectorAll('video')].some((v) => v.videoWidth)", timeout=300_000
    )
    tab.evaluate('() => plug()')
    _send(blueos, 'DO_SET_MODE', 1.0, 2.0)  # ALT_HOLD
    armed = False
    while not armed:
        _send(blueos, 'COMPONENT_ARM_DISARM', 1.0)
        time.sleep(1.0)
        armed = bool(_receive(blueos, 'HEARTBEAT')['base_mode']['bits'] & 128)
    tab.evaluate(COCKPIT)
    time.sleep(5.0)


def main() -> None:
    """Measure a lesson."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('lesson', nargs='?', default='first_flight')
    parser.add_argument('--steps', type=int, default=24, help='5 s each')
    parser.add_argument('--size', default='1280x720', help='of the window, px')
    parser.add_argument('--cockpit', default='', metavar='DIR', help="folder of Cockpit's build")
    parser.add_argument(
        '--settings', default='', metavar='FILE', help="JSON object of Cockpit's localStorage"
    )
    parser.add_argument('--picture', default='', metavar='FILE', help='PNG of the page at the end')
    parser.add_argument('--browser', default=shutil.which('chromium'), help='Chromium or Chrome')
    options = parser.parse_args()
    if options.cockpit and not find_spec('aiortc'):
        parser.error('aiortc: not installed; expected the extra webrtc, which sends the video')
    width, height = map(int, options.size.split('x'))
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        blueos = f'127.0.0.1:{probe.getsockname()[1]}'
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [
            sys.executable, '-m', 'marine_sim_ros.tools.main', *_command(options, folder, blueos),
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as run:
            try:
                browser = playwright.chromium.launch(
                    executable_path=options.browser,
                    args=['--no-sandbox', '--enable-unsafe-swiftshader'],
                )
                children = Path(f'/proc/self/task/{os.getpid()}/children').read_text().split()
                tab = browser.new_page(viewport={'width': width, 'height': height})
                tab.set_default_timeout(PATIENCE)
                if options.cockpit:
                    settings = Path(options.settings).read_text() if options.settings else '{}'
                    _open_cockpit(tab, options.cockpit, blueos, settings)
                else:
                    _open_page(tab, run)
                groups = {
                    'run with recorder': [run.pid],
                    'browser': [int(pid) for pid in children if int(pid) != run.pid],
                }
                shown = 'Cockpit' if options.cockpit else options.lesson
                print(f'{shown}, {options.size}, {os.cpu_count()} cores')
                _measure(tab, options.steps, groups, blueos if options.cockpit else '')
                if options.picture:
                    tab.screenshot(path=options.picture)
                browser.close()
            finally:
                run.terminate()


if __name__ == '__main__':
    main()
