# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The console in a real browser: a running graph is steered, a bag is replayed.

With MARINE_SIM_PICTURES=DIR the pictures of what is done are kept there.
"""

import io
import json
import math
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import browser, has, marine_sim
from processor import slowed
from readable import check_readable, focused_by_tab
from test_graph import Watcher

from marine_sim_ros import load_vehicle
from marine_sim_ros.console.replay import Replay
from marine_sim_ros.core.processes import typed_command
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.ros.node_graph import has_own_process, node_specs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.tools.main import main

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not has('nicegui'), reason='the extra console is not installed'),
    pytest.mark.skipif(not has('playwright'), reason='playwright is not installed'),
]
PATIENCE = 300_000
PICTURES = os.environ.get('MARINE_SIM_PICTURES', '')
FLAGS = [
    '--no-sandbox',
    '--enable-unsafe-swiftshader',
    '--no-proxy-server',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]


COARSE = """
Object.defineProperty(window, 'devicePixelRatio', { get: () => 0.4 });
const soon = window.requestAnimationFrame.bind(window), cancelled = new Set();
window.requestAnimationFrame = (draw) => {
    const number = setTimeout(() => soon((time) => cancelled.delete(number) || draw(time)), 150);
    return number;
};
window.cancelAnimationFrame = (number) => { cancelled.add(number); };
"""
"""Draws the 3D view coarsely and seldom: the processor draws it, and no test reads its pixels."""


class Page:
    """A tab, and what went wrong in it; coarse: with a 3D view of few pixels."""

    def __init__(
        self, chromium, address, size=(1280, 720), scheme='light', *, touch=False, coarse=True
    ):
        width, height = size
        self.tab = chromium.new_page(
            viewport={'width': width, 'height': height},
            color_scheme=scheme,
            has_touch=touch,
            is_mobile=touch,
        )
        self.tab.set_default_timeout(PATIENCE)
        if coarse:
            self.tab.add_init_script(COARSE)
        self.wrong = []
        self.tab.on('console', self._told)
        self.tab.on('pageerror', lambda error: self.wrong.append(str(error)))
        self.tab.on('requestfailed', lambda request: self.wrong.append(request.url))
        self.tab.goto(address)
        self.tab.wait_for_selector('.view[data-drawn]')

    def _told(self, message):
        # Chromium's own remark on reading a picture that the processor has drawn.
        if message.type in ('error', 'warning') and 'ReadPixels' not in message.text:
            self.wrong.append(message.text)

    def press(self, name):
        self.tab.get_by_role('button', name=name, exact=True).click()

    def go_to(self, tab):
        self.tab.get_by_role('tab', name=tab, exact=True).click()

    def shows(self, name, condition):
        """Wait until the number of a label fulfils a condition of JavaScript on x."""
        self.tab.wait_for_function(
            f"""() => {{ const x = Number.parseFloat(
                document.querySelector('[data-show="{name}"]').textContent.replace('−', '-'));
                return {condition}; }}"""
        )

    def reads(self, text):
        self.tab.get_by_text(text, exact=True).first.wait_for()

    def value(self, script):
        """Return what JavaScript says of the view, which it has as ``view``."""
        return self.tab.evaluate(
            f"() => {{ const view = document.querySelector('.view').own; return {script}; }}"
        )

    def choose(self, eye, label):
        """Look with an eye, and wait until the view has been drawn so."""
        self.tab.get_by_role('combobox', name='Camera').click()
        self.tab.get_by_role('option', name=label, exact=True).click()
        self.tab.wait_for_selector(f'.view[data-eye={eye}]')
        self.drawn_anew()

    def drawn_anew(self):
        """Wait until the view has been drawn once more, be anything new or not."""
        drawn = int(self.tab.get_attribute('.view', 'data-drawn'))
        self.value('view.touch()')
        self.tab.wait_for_function(
            f"() => document.querySelector('.view').dataset.drawn > {drawn}"
        )

    def slide(self, name, key, count=1):
        """Move a slider by its keys, as fast as they come."""
        self.tab.get_by_label(name, exact=True).locator('[tabindex="0"]').focus()
        for _ in range(count):
            self.tab.keyboard.press(key)

    def picture(self, name):
        if PICTURES:
            coarse = self.value('view.sharpness')
            self.value('(view.sharpness = 1.25, view.cost = -1e9, view.resize())')
            self.drawn_anew()
            self.tab.screenshot(path=Path(PICTURES) / f'{name}.png')
            self.value(f'(view.sharpness = {coarse}, view.cost = 0, view.resize())')

    def push(self, name, x, y):
        """Push a stick on the screen and hold it: x to the right and y up, −1 to 1."""
        zone = self.tab.locator(f'[data-stick={name}]')
        zone.scroll_into_view_if_needed()
        box = zone.bounding_box()
        across, down = box['x'] + box['width'] / 2, box['y'] + box['height'] / 2
        mouse = self.tab.mouse
        mouse.move(across, down)
        mouse.down()
        mouse.move(across + 55 * x, down - 55 * y, steps=4)

    def let_go(self):
        self.tab.mouse.up()


@pytest.fixture(scope='module')
def playwright():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as found:
        yield found


@pytest.fixture
def chromium(playwright):
    found = playwright.chromium.launch(executable_path=browser(), args=FLAGS)
    yield found
    found.close()


def start(processes, options, **console):
    """Start a graph with its console; return the console's address."""
    processes.start(
        sys.executable,
        '-m',
        'marine_sim_ros.nodes.composed',
        replace(options, console=False).to_json(),
        stdout=None,
    )
    *others, spec = (s for s in node_specs(options) if has_own_process(s, options))
    for other in others:
        processes.node(other, stdout=None)
    assert spec.executable == 'console'
    # A machine that draws with its processor and is busy with tests leaves a page little time.
    spec.parameters.update({'port': 0, 'operator_timeout': 60.0, **console})
    return address_of(processes.node(spec))


def address_of(process):
    for line in process.stdout:
        if found := re.search(r'console at (http://\S+)', line):
            return found[1]
    raise AssertionError('the console did not start')


@pytest.fixture
def watcher(ros_environment):
    made = []

    def watch(namespace):
        made.append(Watcher(namespace))
        return made[-1]

    yield watch
    for one in made:
        one.close()


@pytest.mark.ros
def test_an_operator_dives_holds_a_depth_moves_the_arm_and_stops(processes, chromium, watcher):
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import JointState
    from std_msgs.msg import UInt16MultiArray

    vehicle = watcher('/investigator90')
    vehicle.listen('odom', Odometry)
    vehicle.listen('joint_states', JointState)
    vehicle.listen('thrusters/pwm', UInt16MultiArray)
    odom, joints, pwm = (vehicle.seen[t] for t in ('odom', 'joint_states', 'thrusters/pwm'))

    def depth():
        return -odom[-1].pose.pose.position.z

    options = RunOptions(
        vehicle='investigator90',
        vehicle_arguments=('ballast:=21.9',),
        controller='modern',
        environment='shallow_sand',
        console=True,
        dt=0.02,
    )
    page = Page(chromium, start(processes, options))
    page.reads('Nobody steers')
    assert page.tab.get_by_role('button', name='Armed').is_disabled()
    page.press('Take control')
    page.reads('You steer')
    page.press('Armed')
    page.tab.wait_for_selector('button[aria-pressed=true]:has-text("Armed")')
    vehicle.until(lambda: odom)
    before = depth()
    page.push('right', 0, -1)
    vehicle.until(lambda: depth() > before + 0.4)
    page.shows('depth', f'x > {before + 0.3}')
    page.picture('dive')
    page.let_go()
    page.press('Auto heading')
    page.tab.wait_for_selector('button[aria-pressed=true]:has-text("Auto heading")')

    page.go_to('Command')
    page.tab.get_by_label('Target Depth').fill('2.2')
    page.tab.get_by_label('Target Heading').fill('60')
    page.press('Set')
    vehicle.until(lambda: abs(depth() - 2.2) < 0.05)
    page.shows('depth', 'Math.abs(x - 2.2) < 0.06')
    page.reads('→ 2.20 m')
    page.shows('heading', 'Math.abs(x - 60) <= 2')
    wanted = page.tab.locator('.curves').get_attribute('data-setpoints')
    assert wanted == 'up'
    page.picture('command')
    check_readable(page.tab)
    page.reads('You steer')
    reached = focused_by_tab(page.tab)
    for name in ('Leave', 'Pause', 'STOP', 'Nearer', 'Command', 'Target Heading', 'Set'):
        assert name in reached
    page.go_to('Drive')
    page.tab.wait_for_selector('button[aria-pressed=true]:has-text("Command mode")')
    page.press('Joystick mode')
    page.tab.wait_for_selector('button[aria-pressed=true]:has-text("Joystick mode")')

    page.go_to('Arm')
    page.slide('arm 2, °', 'ArrowRight', 12)
    vehicle.until(lambda: joints and joints[-1].position[1] > 0.15)
    page.slide('Light port, %', 'ArrowRight', 3)
    page.picture('arm')
    check_eyes(page)
    page.go_to('Forces')
    page.picture('parallel')

    page.press('STOP')
    vehicle.until(lambda: set(pwm[-1].data) == {1500})
    page.go_to('Drive')
    page.tab.wait_for_selector('button[aria-pressed=false]:has-text("Armed")')
    page.press('Pause')
    page.tab.wait_for_selector('button[aria-pressed=true]:has-text("Pause")')
    vehicle.until_silent('odom')
    held = odom[-1].header.stamp
    page.press('Step')
    vehicle.until(lambda: odom[-1].header.stamp != held)
    vehicle.until_silent('odom')
    step = odom[-1].header.stamp
    passed = (step.sec - held.sec) * 10**9 + step.nanosec - held.nanosec
    assert passed == 20_000_000
    now = step.sec + step.nanosec / 1e9  # the page has the last tick, however soon it came
    page.tab.wait_for_selector(f'.view[data-time="{now:.2f}"]')
    page.press('Pause')
    page.press('Reset')
    vehicle.until(lambda: odom[-1].header.stamp.sec < held.sec)
    assert page.wrong == []


def check_eyes(page):
    """Look with every eye there is: where it is, and where it looks."""
    ahead = 'view.eye.wide.getWorldDirection(view.eye.wide.position.clone()).toArray()'
    for link, label in (
        ('camera_front_link', 'front'),
        ('camera_down_link', 'down'),
        ('camera_rear_link', 'rear'),
        ('camera_arm_link', 'arm'),
    ):
        page.choose(link, f'Camera: {label}')
        along = np.array(page.value(ahead))
        x_axis = np.array(page.value(f"view.links['{link}'].matrixWorld.elements.slice(0, 3)"))
        np.testing.assert_allclose(along, x_axis, atol=0.05)  # the vehicle moves meanwhile
        if label == 'down':
            assert along[2] < -0.9
    page.picture('camera')
    page.choose('free', 'Free')
    page.choose('follow', 'Follow')
    page.tab.locator('.view [data-scale]').wait_for(state='hidden')
    far = 'view.eye.wide.position.distanceTo(view.body.position) / view.size'
    assert page.value(far) == pytest.approx(1.6, abs=0.2)  # back from the camera
    page.tab.get_by_role('button', name='Farther').click()
    page.drawn_anew()
    assert page.value(far) == pytest.approx(1.25 * 1.6, abs=0.25)
    around = 'Math.atan2(...["y", "x"].map((k) => view.eye.away[k]))'
    before = page.value(around)
    page.tab.locator('.view canvas').press('ArrowRight')
    page.drawn_anew()
    assert page.value(around) - before == pytest.approx(0.1, abs=0.02)
    sides = {
        'above': (2, 1),
        'below': (2, -1),
        'north': (1, 1),
        'south': (1, -1),
        'east': (0, 1),
        'west': (0, -1),
    }
    for side in (*(s for s in sides if s != 'south'), 'south'):
        axis, sign = sides[side]
        page.choose(side, f'Parallel, from {side}')
        page.reads('squares of 1 m')
        away = np.array(page.value('view.eye.flat.position.toArray()')) - np.array(
            page.value('view.body.position.toArray()')
        )
        assert np.argmax(abs(away)) == axis
        assert away[axis] * sign > 50
        assert page.value('view.eye.camera.isOrthographicCamera')
        grid = page.value('view.eye.grids.position.toArray()')
        across = [x for i, x in enumerate(grid) if i != axis]
        assert across == [round(x) for x in across]  # its lines are at whole metres of the map
    page.choose('follow', 'Follow')
    assert page.value(far) == pytest.approx(1.25 * 1.6, abs=0.25)
    page.choose('south', 'Parallel, from south')


# A T.16000M as Chromium tells of it on Linux, and elsewhere: the hat is two axes, or one.
STICK = """navigator.getGamepads = () => [
    {id: 'Thrustmaster T.16000M', connected: true, mapping: '', axes: %s,
     buttons: Array.from({length: 16}, () => ({pressed: false}))}]"""
HATS = {
    'port': ('[0, 0, 0, 0, -1, 0]', f'[0, 0, 0, 0, 0, 0, 0, 0, 0, {6 / 3.5 - 1}]'),
    'up': ('[0, 0, 0, 0, 0, -1]', '[0, 0, 0, 0, 0, 0, 0, 0, 0, -1]'),
    'middle': ('[0, 0, 0, 0, 0, 0]', '[0, 0, 0, 0, 0, 0, 0, 0, 0, 3.2857]'),
}


@pytest.mark.ros
def test_keys_a_joystick_waypoints_water_and_faults(processes, chromium, watcher):
    from geometry_msgs.msg import Twist
    from nav_msgs.msg import Path as Course
    from rcl_interfaces.srv import GetParameters
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String

    vehicle = watcher('/simple_rov')
    for topic, kind in (
        ('cmd_vel', Twist),
        ('cmd_path', Course),
        ('controller/setpoints', JointState),
        ('environment/change', String),
    ):
        vehicle.listen(topic, kind)
    wanted, course = vehicle.seen['cmd_vel'], vehicle.seen['cmd_path']
    options = RunOptions(vehicle='simple_rov', controller='modern', console=True, dt=0.02)
    address = start(processes, options)
    page = Page(chromium, address)
    page.reads('Nobody steers')
    page.press('Take control')
    page.reads('You steer')
    page.press('Armed')
    page.tab.wait_for_selector('button[aria-pressed=true]:has-text("Armed")')

    # Keys: held and let go.
    page.tab.keyboard.down('w')
    page.tab.keyboard.down('q')
    vehicle.until(lambda: wanted[-1].linear.x > 0.1 and wanted[-1].angular.z > 0.1)
    page.tab.keyboard.up('q')
    vehicle.until(lambda: wanted[-1].linear.x > 0.1 and wanted[-1].angular.z == 0)
    page.tab.keyboard.up('w')
    vehicle.until(lambda: wanted[-1] == Twist())
    # Buttons of the angles push while they are held.
    tilt = page.tab.get_by_role('button', name='roll right').bounding_box()
    page.tab.mouse.move(tilt['x'] + tilt['width'] / 2, tilt['y'] + tilt['height'] / 2)
    page.tab.mouse.down()
    vehicle.until(lambda: wanted[-1].angular.x > 0.05)
    page.let_go()
    vehicle.until(lambda: wanted[-1] == Twist())
    # Auto heading: it wants the heading it has.
    page.press('Auto heading')
    page.tab.wait_for_selector('button[aria-pressed=true]:has-text("Auto heading")')
    goals = vehicle.seen['controller/setpoints']
    vehicle.until(lambda: np.isfinite(goals[-1].position[5]))
    page.tab.wait_for_selector('[data-part=dials] path.setpoint[visibility=visible]')
    page.press('Auto heading')

    # A joystick that the browser tells of, in either way.
    for i in range(2):
        for place, sign in (('port', (-1, 0)), ('up', (0, -1)), ('middle', (0, 0))):
            page.tab.evaluate(STICK % HATS[place][i])
            vehicle.until(
                lambda s=sign: (np.sign(wanted[-1].angular.x), np.sign(wanted[-1].angular.y)) == s
            )
    page.reads('Thrustmaster T.16000M')
    page.tab.evaluate(STICK % '[0, -1, 0, 0, 0, 0]')
    vehicle.until(lambda: wanted[-1].linear.x > 0.1)
    page.tab.evaluate('navigator.getGamepads = () => []')
    vehicle.until(lambda: wanted[-1] == Twist())

    page.tab.get_by_role('button', name='Layers').click()
    for label, name in (('Voxels', 'voxels'), ('Bounding box', 'box')):
        assert not page.value(f'view.{name}.visible')
        page.tab.get_by_role('switch', name=label).click()
        page.tab.wait_for_function(f"() => document.querySelector('.view').own.{name}.visible")
    page.tab.get_by_role('switch', name='3D view').click()
    page.reads('The 3D view is off; the rest of the page keeps running.')
    page.tab.get_by_role('switch', name='3D view').click()
    page.tab.keyboard.press('Escape')
    assert page.value('view.voxels.count') > 100
    low, high = (
        np.array(page.value(f'view.box.children[0].box.{end}.toArray()')) for end in ('min', 'max')
    )
    assert np.all(high - low > 0.1)
    page.picture('voxels')

    page.press('Pause')  # the view goes with the vehicle
    page.tab.wait_for_selector('button[aria-pressed=true]:has-text("Pause")')
    page.go_to('Command')
    page.press('Place waypoints')
    page.tab.wait_for_selector('.view[data-eye=above]')
    box = page.tab.locator('.view canvas').bounding_box()
    scale = page.value('view.eye.scale') / box['height']
    middle = (box['x'] + box['width'] / 2, box['y'] + box['height'] / 2)
    for x, y in ((100, 0), (0, -80)):
        page.tab.mouse.click(middle[0] + x, middle[1] + y)
    page.reads('2 waypoints')
    page.picture('waypoints')
    page.tab.wait_for_selector('.view[data-waypoints="2"]')
    page.press('Follow waypoints')
    vehicle.until(lambda: course)
    first, second = (pose.pose.position for pose in course[-1].poses)
    assert first.x - second.x == pytest.approx(100 * scale, abs=0.05)
    assert second.y - first.y == pytest.approx(80 * scale, abs=0.05)
    assert first.z == second.z == -2
    page.press('Clear waypoints')
    page.reads('0 waypoints')
    page.press('Pause')

    page.go_to('Water')
    page.slide('East, m/s', 'ArrowRight', 5)
    asked = vehicle.seen['environment/change']
    flow = pytest.approx([0.1, 0.0, 0.0])
    vehicle.until(lambda: asked and json.loads(asked[-1].data)['current']['velocity'] == flow)
    page.slide('Level, m', 'ArrowRight', 5)
    level = pytest.approx(0.15)
    vehicle.until(lambda: json.loads(asked[-1].data).get('tide') == {'offset': level})
    frame = "async () => (await import('marine-sim-console')).wire.frame.mode"
    begun = time.monotonic()
    while page.tab.evaluate(frame)['water']['offset'] != level:  # it is paused
        assert time.monotonic() - begun < slowed(30.0), page.tab.evaluate(frame)['water']
        page.tab.wait_for_timeout(100)
    assert page.tab.evaluate(frame)['current'] == flow
    page.press('Set layers')
    layers = [
        {'depth': depth, 'temperature': 10.0, 'salinity': 35.0} for depth in (0.0, 10.0, 12.0)
    ]
    vehicle.until(lambda: json.loads(asked[-1].data).get('water') == {'profile': layers})
    page.go_to('Faults')
    ask = vehicle.node.create_client(GetParameters, 'thrusters/get_parameters')

    def faults():
        future = ask.call_async(GetParameters.Request(names=['faults']))
        vehicle.until(future.done)
        return future.result().values[0].string_value

    name = load_vehicle('simple_rov').thrusters.names[0]
    page.slide(f'{name.replace("_", " ")}, %', 'ArrowLeft', 2)
    vehicle.until(lambda: f'kind: weak, at: 0.0, thruster: {name}, share: 0.9' in faults())
    page.slide(f'{name.replace("_", " ")}, %', 'PageDown', 2)
    vehicle.until(lambda: f'kind: dead, at: 0.0, thruster: {name}' in faults())
    page.press('Battery sags')
    page.reads('active faults: 2')
    page.picture('faults')
    page.press('Clear all faults')
    vehicle.until(lambda: faults() == '')
    page.reads('no faults')

    # Another tab watches, sees what is set, and takes over when it says so.
    other = Page(chromium, address, size=(1024, 768), scheme='dark')
    other.tab.get_by_text(re.compile('operator .* steers')).wait_for()
    other.go_to('Water')
    other.reads('0.10 m/s')
    assert other.tab.get_by_role('button', name='Start gust').is_disabled()
    other.press('Take over')
    other.reads('You steer')
    page.reads('Take over')
    other.press('Start gust')
    vehicle.until(lambda: 'kind: gust' in faults())
    check_readable(other.tab)
    # The space bar stops wherever the focus is: the controller is disarmed, and nothing pressed.
    blown = faults().count('kind: gust')
    other.tab.get_by_role('button', name='Start gust').focus()
    other.tab.keyboard.press(' ')
    other.go_to('Drive')
    other.tab.wait_for_selector('button[aria-pressed=false]:has-text("Armed")')
    assert faults().count('kind: gust') == blown
    # Curves keep the longest window, and no more than that.
    kept = other.tab.evaluate("""() => {
        const { own } = document.querySelector('.curves'), start = own.past.at(-1).time + 1;
        for (let time = start; time < start + 900; time += 0.05) {
            own.add({ time, position: [0, 0, 0] });
        }
        const times = own.past.map((m) => m.time);
        return [times.at(-1) - times[0], times.length,
                Math.max(...times.slice(1).map((t, i) => t - times[i]))];
    }""")
    assert 300 <= kept[0] < 450
    assert kept[1] <= 4001
    assert kept[2] < 0.3
    assert page.wrong == other.wrong == []


@pytest.mark.ros
def test_a_newcomer_is_told_what_to_do_what_was_done_and_how_it_ended(
    processes, chromium, tmp_path
):
    """The first console, as `marine_sim demo` proposes it."""
    # In real time its fifteen processes leave a browser that draws without graphics too little.
    slow = '--real-time-factor', 0.25
    options = '--console', '--console-port', 0, '--record', tmp_path / 'run', *slow
    process = processes.marine_sim('run', 'bluerov2', *options)
    page = Page(chromium, address_of(process))
    page.tab.get_by_role('button', name='Keys and help').wait_for()
    page.tab.keyboard.press('w')
    page.reads('Take control first: nothing moves before')
    page.tab.keyboard.press('?')
    page.reads('turn to port, to starboard')
    page.press('Close')
    assert page.tab.get_by_role('button', name='Armed').get_attribute('title') == (
        'Take control first'
    )
    page.press('Take control')
    page.reads('You steer')
    thrusters = page.tab.locator('button:has-text("Thrusters")')
    page.tab.wait_for_selector('button[title*="a controller drives the thrusters"]')
    assert thrusters.is_disabled()
    page.tab.wait_for_selector('button[title*="the run is recorded to"]')
    page.tab.evaluate(STICK % '[0, 0, 0, 0, 0, 0]')
    page.reads('Thrustmaster T.16000M')
    page.tab.evaluate(STICK % '[0, -1, 0, 0, 0, 0]')
    page.reads('Arm the controller first (Armed): nothing moves before')
    page.tab.evaluate('navigator.getGamepads = () => []')
    page.tab.keyboard.down('w')
    held = page.tab.locator('kbd.held')
    assert held.all_inner_texts() == ['W']
    assert page.value(
        "getComputedStyle(document.querySelector('[data-stick=left] .front')).translate"
    ).endswith('-55px')
    page.tab.keyboard.up('w')
    assert held.count() == 0
    page.tab.get_by_role('button', name='Armed').and_(page.tab.locator(':enabled')).click()
    page.tab.wait_for_selector('button[aria-pressed=true]:has-text("Armed")')
    page.tab.keyboard.down('w')
    page.shows('speed', 'x > 0.1')
    page.tab.keyboard.up('w')
    assert page.value('view.solids.children.length') > 2  # a bottom, and what lies on it
    assert page.value('view.particles.object.visible')
    at, seeds = (
        np.array(page.value(f'[...view.particles.{name}]'))
        for name in ('shape.attributes.position.array', 'seeds')
    )
    east_north = np.arange(len(at)) % 3 < 2
    moved = (at - seeds)[east_north] / 14.0  # a box of 7 m to each side goes with the vehicle
    assert moved == pytest.approx(moved.round(), abs=1e-4)  # no current: the water rests
    # A page that was busy shows the newest frame, and none of those that waited meanwhile.
    shown = page.tab.evaluate("""async () => {
        const { wire } = await import('marine-sim-console'), shown = [];
        wire.addEventListener('frame', ({ detail }) => shown.push(detail.number));
        for (let number = 1; number <= 200; number++) {
            wire.queue(JSON.stringify({ mine: true, frame: { ...wire.frame, number } }));
        }
        await new Promise((done) => setTimeout(done, 50));
        return shown.filter((number) => number);
    }""")
    assert shown in ([200], [])  # none: a new one of the run came behind it
    for width, height in ((390, 844), (844, 390), (1280, 720)):  # nobody scrolls to steer
        page.tab.set_viewport_size({'width': width, 'height': height})
        page.drawn_anew()
        kept = '[view.canvas.width, view.resize(), view.canvas.width]'
        before, _, after = page.value(kept)  # the old picture stays until there is a new one
        assert (
            before == after == page.value('Math.floor(view.element.clientWidth * view.sharpness)')
        )
        for part in (
            '.view',
            '[data-stick=left]',
            '[data-stick=right]',
            'button:has-text("Armed")',
        ):
            box = page.tab.locator(part).first.bounding_box()
            assert box['y'] >= 0, part
            assert box['y'] + box['height'] <= height, part
            assert box['x'] + box['width'] <= width, part
    page.press('Reset')
    page.reads('the run is back at time 0')
    page.press('End run')
    page.tab.locator('.q-card button:has-text("End run")').click()
    page.tab.wait_for_function(
        "() => document.querySelector('.ended').textContent.includes('Saved to')"
    )
    assert page.tab.locator('.ended').is_visible()
    assert not page.tab.locator('.lost').is_visible()
    banner, dials = (page.tab.locator(s).bounding_box() for s in ('.ended', '[data-part=dials]'))
    assert banner['y'] + banner['height'] <= dials['y']
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert (tmp_path / 'run' / 'bag').is_dir()
    saved, replay, report = page.tab.locator('.ended').text_content().splitlines()
    run, again = tmp_path / 'run', tmp_path / 'run' / 'reset_1'  # a reset began a new recording
    assert saved.endswith(f'Saved to {run}, {again}')
    assert replay == f'Replay: {typed_command()} console {again}'
    code, _ = marine_sim(*report.removeprefix(f'Report: {typed_command()} ').split())
    assert code == 0


LESSON = """
title: Short
description: End by its time
briefing: Stay where you are.
vehicle: bluerov2
environment: shallow_sand
scenario: lesson_first_flight
limit: 4.0
tasks:
  - {name: stay, kind: hold, position: [0.0, -4.0, -1.0], radius: 3.0, duration: 1.0}
  - {name: gate, kind: gate, position: [9.0, -4.0, -5.0], heading: 0 deg}
"""


@pytest.mark.ros
def test_a_lesson_that_ends_by_its_time_says_so_to_a_slow_page(processes, chromium, tmp_path):
    lesson, folder = tmp_path / 'short.yaml', tmp_path / 'run'
    lesson.write_text(LESSON)
    process = processes.marine_sim(
        'train', lesson, '--console-port', 0, '--record', folder, '--results', tmp_path / 'r.db'
    )
    page = Page(chromium, address_of(process))
    # Keys, help and signs of life need no open tab Drive.
    page.tab.keyboard.press('w')
    page.reads('Take control first: nothing moves before')
    page.tab.keyboard.press('F1')
    page.reads('turn to port, to starboard')
    page.press('Close')
    assert len(page.tab.workers) == 1
    page.press('Take control')
    page.reads('You steer')
    page.go_to('Drive')
    arm = page.tab.get_by_role('button', name='Armed').and_(page.tab.locator(':enabled'))
    arm.click()
    armed = page.tab.locator('button[aria-pressed=true]:has-text("Armed")')
    armed.wait_for()
    page.tab.keyboard.press('w')
    page.reads('The clock stands: press Start in the tab Lesson')
    # A reset asks first, keeps the try, and begins as the lesson did.
    page.go_to('Lesson')
    page.press('Start')
    page.tab.wait_for_function("() => document.querySelector('.view').dataset.time > 0.5")
    page.press('Reset')
    page.press('Fly again')
    page.tab.get_by_role('button', name='Start', exact=True).wait_for()
    page.go_to('Drive')
    page.tab.wait_for_selector('button[aria-pressed=false]:has-text("Armed")')
    arm.click()
    armed.wait_for()
    page.tab.wait_for_timeout(4000)  # diagnostics tell of it meanwhile, before the first tick
    nodes = page.tab.evaluate(
        "async () => (await import('marine-sim-console')).wire.frame.health.nodes"
    )
    assert not [node for node in nodes if 'odom' in node['message']]
    assert armed.is_visible()
    page.go_to('Lesson')
    page.press('Start')
    page.tab.evaluate(  # its script has little time for messages
        'setInterval(() => { const t = performance.now(); while (performance.now() - t < 700); })'
    )
    page.tab.wait_for_selector('body[data-wire=ended]', timeout=60_000)
    told = page.tab.locator('.ended').text_content()
    output, _ = process.communicate()
    assert 'odom: silent' not in output  # a lesson that waits for its start is healthy
    assert output.count('is slow') <= 1
    assert 'try 1 of 2' in output
    score = float(re.findall('score ([0-9.]+) of 100', output)[1])
    assert (folder / 'debriefing.png').is_file()
    folder = folder / 'reset_1'
    first, debriefing, replay, following = told.splitlines()
    assert first.startswith('The lesson has ended after 4.0 s. Short: ')
    assert f': {score:.1f} of 100 points, ' in first
    assert first.endswith('Done: stay. Not done: gate.')
    assert debriefing == f'Debriefing, in a moment: {folder}/debriefing.png'
    assert (folder / 'debriefing.png').is_file()
    assert replay == f'Replay: {typed_command()} console {folder}'
    assert following == f'Next: fly it again, or another: {typed_command()} train'


@pytest.mark.clock
@pytest.mark.ros
def test_a_closed_browser_stops_the_thrusters_and_a_second_tab_only_watches(
    processes, playwright, chromium, watcher
):
    from std_msgs.msg import UInt16MultiArray

    vehicle = watcher('/bluerov2')
    vehicle.listen('thrusters/pwm', UInt16MultiArray)
    pwm = vehicle.seen['thrusters/pwm']
    options = RunOptions(vehicle='bluerov2', console=True, dt=0.02)
    address = start(processes, options)
    other = playwright.chromium.launch(executable_path=browser(), args=FLAGS)
    first = Page(other, address, size=(768, 1024), touch=True)
    second = Page(chromium, address, scheme='dark')
    first.press('Take control')
    first.reads('You steer')
    second.reads('Take over')
    assert second.tab.get_by_role('button', name='STOP').is_enabled()
    second.push('left', 0, 1)
    first.push('right', 0, -1)
    vehicle.until(lambda: pwm and max(pwm[-1].data) > 1600)
    # Heave alone: what the tab that watches does has no effect.
    assert list(pwm[-1].data[:4]) == [1500] * 4
    first.picture('tablet')
    second.picture('dark')
    for page, finger in ((first, 40), (second, 0)):
        check_readable(page.tab, finger)
    other.close()  # returns when the browser is gone, which takes a busy machine its time
    closed = time.monotonic()
    vehicle.until(lambda: set(pwm[-1].data) == {1500})
    assert time.monotonic() - closed < slowed(1.0)
    second.let_go()
    # The page turns the links to the angles that it is told.
    turned = second.value(
        """(() => {
          const links = [1, 2].map((i) => view.links[`thruster_${i}_propeller_link`]);
          view.spin({ propellers: [0.5, 6.0] });
          return links.map((link) => link.rotation.z);
        })()"""
    )
    assert turned == pytest.approx([0.5, 6.0])
    second.reads('Nobody steers')
    second.press('Take control')
    second.reads('You steer')
    second.push('left', 0, 1)
    vehicle.until(lambda: max(pwm[-1].data) > 1600)
    # Loaded anew, as NiceGUI does with a page that answers late, it steers again.
    second.let_go()
    second.tab.reload()
    second.reads('You steer')
    second.reads('The page was cut off; you steer again. Press Armed if it is off.')
    second.push('left', 0, 1)
    vehicle.until(lambda: max(pwm[-1].data) > 1600)
    # A tab that cannot be seen holds nothing.
    hide = "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});"
    second.tab.evaluate(hide + "document.dispatchEvent(new Event('visibilitychange'))")
    hidden = time.monotonic()
    vehicle.until(lambda: set(pwm[-1].data) == {1500})
    assert time.monotonic() - hidden < slowed(1.0)
    second.let_go()
    second.tab.evaluate("Object.defineProperty(document, 'hidden', {get: () => false})")
    second.press('Leave')
    second.reads('Nobody steers')
    second.tab.reload()
    second.tab.wait_for_selector('.view[data-drawn]')
    second.reads('Nobody steers')
    assert second.tab.evaluate('Object.keys(sessionStorage)').count('marine_sim steered') == 0
    assert [text for text in second.wrong if 'WebSocket' not in text] == []
    assert [text for text in first.wrong if 'WebSocket' not in text] == []


SENSORS = """
description: Hold a depth while the magnetometer is off
duration: 900.0
initial: {position: [4.0, 0.0, -5.0], rpy: [0.0, 0.0, 0.0]}
segments:
  - {at: 0.0, depth: 5.0}
faults:
  - {kind: sensor_bias, sensor: magnetometer, size: 1.0e-6}
"""


@pytest.mark.ros
def test_sensors_are_heard_while_they_are_looked_at(processes, chromium, watcher, tmp_path):
    from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
    from sensor_msgs.msg import Range

    vehicle = watcher('/bluerov2')
    vehicle.listen('altimeter/range', Range)
    scenario = tmp_path / 'hold.yaml'
    scenario.write_text(SENSORS)
    carried = ('gps', 'dvl', 'altimeter', 'scanning_sonar', 'imaging_sonar')
    options = RunOptions(
        vehicle='bluerov2',
        vehicle_arguments=tuple(f'{name}:=true' for name in carried),
        scenario=str(scenario),
        environment='shallow_sand',
        console=True,
        dt=0.02,
    )
    page = Page(chromium, start(processes, options))

    def listeners():
        topics = ('dvl/beams', 'imaging_sonar/fan', 'scanning_sonar/echo', 'imu/data_raw')
        found = [vehicle.node.get_subscriptions_info_by_topic(f'/bluerov2/{t}') for t in topics]
        return [one for each in found for one in each]

    vehicle.until(lambda: vehicle.seen['altimeter/range'])
    assert listeners() == []  # nobody looks, nobody listens
    page.go_to('Sensors')
    vehicle.until(lambda: len(listeners()) == 4)
    for one in listeners():  # no publisher waits for them
        assert one.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
        assert one.qos_profile.durability == DurabilityPolicy.VOLATILE

    def row(name, state):
        found = page.tab.locator(f'tr[data-sensor="{name}"][data-state="{state}"]')
        found.wait_for()
        return found

    for name in ('barometer', 'imu', 'battery', 'dvl', 'scanning_sonar', 'imaging_sonar'):
        row(name, 'ok')
    row('magnetometer', 'faulty')
    assert 'no fix under water' in row('gps', 'silent').inner_text()
    told = row('altimeter', 'ok').locator('.reading').inner_text()
    true = vehicle.seen['altimeter/range'][-1].range
    assert float(re.match('[0-9.]+', told)[0]) == pytest.approx(true, abs=0.3)
    page.shows('altitude', f'Math.abs(x - {true}) < 0.3')
    bars = page.tab.locator('[data-drawing=dvl] svg .point')
    bars.filter(has_text=' m').first.wait_for()
    beams = bars.all_text_contents()
    assert len(beams) == 4
    ranges = [float(text.removesuffix(' m')) for text in beams if text != 'lost']
    assert ranges == pytest.approx([true / math.cos(math.radians(22.5))] * len(ranges), abs=0.6)
    for name in ('imaging_sonar', 'scanning_sonar'):
        page.tab.locator(
            f'[data-drawing={name}] canvas[data-painted]'
        ).scroll_into_view_if_needed()
    bright = page.tab.locator('[data-drawing=imaging_sonar] canvas[data-brightest]')
    assert int(bright.get_attribute('data-brightest')) > 100  # of the bottom
    page.tab.locator('tr[data-sensor=barometer]').scroll_into_view_if_needed()
    page.picture('sensors')
    check_readable(page.tab)
    assert page.wrong == []
    page.tab.close()
    vehicle.until(lambda: listeners() == [])


POOL = """
description: Hold a depth before the wall of the pool
duration: 900.0
initial: {position: [-8.0, 2.0, -1.8], rpy: [0.0, 0.2, -0.2]}
segments:
  - {at: 0.0, depth: 1.8}
"""


@pytest.mark.ros
@pytest.mark.skipif(not has('moderngl'), reason='the extra camera is not installed')
def test_the_page_shows_what_the_camera_sees(processes, chromium, watcher, tmp_path):
    from PIL import Image

    vehicle = watcher('/bluerov2')
    scenario = tmp_path / 'pool.yaml'
    scenario.write_text(POOL)
    options = RunOptions(
        vehicle='bluerov2',
        vehicle_arguments=('camera:=true',),
        scenario=str(scenario),
        environment='pool',
        console=True,
        dt=0.02,
    )
    page = Page(chromium, start(processes, options))

    def listeners():
        return vehicle.node.get_subscriptions_info_by_topic('/bluerov2/camera/image/compressed')

    assert listeners() == []
    page.tab.get_by_role('combobox', name='Camera').click()
    page.tab.get_by_role('option', name='Video: main', exact=True).click()
    page.tab.wait_for_selector('.view[data-eye="video:camera"]')
    screen = page.tab.locator('img.video')
    page.tab.wait_for_function("() => document.querySelector('img.video').naturalWidth === 640")
    assert len(listeners()) == 1
    picture = np.asarray(Image.open(io.BytesIO(screen.screenshot())).convert('RGB'), float)
    middle = picture[len(picture) // 3 : -len(picture) // 3]
    assert middle.mean() > 40  # the pool in daylight, no black screen
    assert middle.std() > 5
    if PICTURES:
        page.tab.screenshot(path=Path(PICTURES) / 'console_video.png')
    page.choose('follow', 'Follow')
    assert screen.is_hidden()
    vehicle.until(lambda: listeners() == [])
    assert [text for text in page.wrong if '/video/' not in text] == []  # the page cut it off
    page.tab.close()


@pytest.mark.ros
def test_an_operator_lets_a_sensor_err(processes, chromium, watcher):
    from sensor_msgs.msg import Imu, MagneticField

    vehicle = watcher('/bluerov2')
    vehicle.listen('imu/data_raw', Imu)
    vehicle.listen('magnetometer/field', MagneticField)
    options = RunOptions(vehicle='bluerov2', console=True, dt=0.02)
    page = Page(chromium, start(processes, options))
    page.press('Take control')
    page.reads('You steer')
    page.go_to('Faults')
    check_readable(page.tab)

    def pick(box, name):
        page.tab.get_by_role('combobox', name=box, exact=True).click()
        page.tab.get_by_role('option', name=name, exact=True).click()

    def force():
        return vehicle.seen['imu/data_raw'][-1].linear_acceleration.z

    def bias_is(text):
        page.tab.wait_for_function(
            f"""() => document.querySelector('input[aria-label="Bias, SI"]').value === '{text}'"""
        )

    vehicle.until(lambda: 9 < force() < 11)
    pick('Sensor', 'imu')
    pick('Quantity', 'linear_acceleration')
    page.tab.get_by_label('Bias, SI', exact=True).fill('3')
    page.tab.keyboard.press('Enter')
    vehicle.until(lambda: 12 < force() < 14)
    page.reads('active faults: 1')
    # Another sensor has faults of its own, and that of the first one stays.
    pick('Sensor', 'magnetometer')
    bias_is('0')
    page.press('Frozen')
    page.reads('active faults: 2')
    fields = vehicle.seen['magnetometer/field']
    vehicle.until(lambda: fields[-1].magnetic_field == fields[-20].magnetic_field)
    page.slide('Dropout, %', 'PageUp', 10)
    page.reads('active faults: 3')
    pick('Sensor', 'imu')
    bias_is('3')
    page.tab.get_by_text('Clear all faults').scroll_into_view_if_needed()
    page.picture('sensor_faults')
    page.tab.get_by_label('Bias, SI', exact=True).fill('0')
    page.tab.keyboard.press('Tab')
    page.reads('active faults: 2')
    vehicle.until(lambda: 9 < force() < 11)
    page.press('Clear all faults')
    page.reads('no faults')
    assert page.wrong == []


def test_a_replay_shows_what_analyze_says(chromium, processes, tmp_path):
    run, report = tmp_path / 'run', tmp_path / 'report'
    # Only a graph records what the thrusters draw.
    kind = ['run', '--composed', '--real-time-factor', '0'] if has('rclpy') else ['simulate']
    for command in (
        [*kind, 'bluerov2', '--scenario', 'dive', '--record', str(run)],
        ['analyze', str(run), '-o', str(report), '--table', 'csv'],
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 0
    metrics = json.loads((report / 'metrics.json').read_text())['bags'][0]
    found = metrics['vehicles']['bluerov2']
    process = processes.marine_sim('console', run, '--port', '0')
    page = Page(chromium, address_of(process), coarse=False)

    def shown(key):
        text = page.tab.locator(f'[data-metric="{key}"]').inner_text()
        return float(re.match('[−0-9.]+', text)[0].replace('−', '-'))

    for key, digits in (
        ('duration_s', 2),
        ('distance_m', 2),
        ('max_depth_m', 3),
        ('max_speed_m_s', 3),
        ('max_roll_deg', 2),
    ):
        assert shown(key) == pytest.approx(found['motion'][key], abs=0.51 * 10**-digits)
    energy = found['energy'] or {}
    assert bool(energy) == has('rclpy')
    for key in {'total_J', 'mean_power_W', 'max_power_W'} & set(energy):
        assert shown(key) == pytest.approx(energy[key], abs=0.051)
    for name in ('thrusters', 'buoyancy', 'drag'):
        share = 100 * found['impulse'][name]['force_share']
        assert shown(f'share-{name}') == pytest.approx(share, abs=0.051)
    assert shown('messages') == metrics['messages']

    # The bag has been read: its curves are there before anybody moves the slider.
    page.tab.wait_for_function("() => document.querySelector('.curves').dataset.points > 50")
    (table,) = report.rglob('odom.csv')
    odom = np.genfromtxt(table, delimiter=',', names=True)
    slider = page.tab.get_by_label('Time, s')
    box = slider.bounding_box()
    # At 4 s its bow is down: a positive pitch of REP 103, shown below 0 as pilots read it.
    for share in (0.75, 0.1, 0.3):
        page.tab.mouse.click(box['x'] + share * box['width'], box['y'] + box['height'] / 2)
        page.shows('time', f'Math.abs(x - {40 * share}) < 0.5')
        page.tab.wait_for_function("() => document.querySelector('.curves').dataset.points > 50")
        page.tab.wait_for_timeout(500)  # as long as no other answer is on its way
        at = float(page.tab.get_attribute('.view', 'data-time'))
        row = odom[int(np.argmin(abs(odom['stamp_ns'] - at * 1e9)))]
        page.shows('depth', f'Math.abs(x + {row["z_m"]}) < 0.006')
        speed = math.sqrt(sum(row[n] ** 2 for n in ('surge_m_s', 'sway_m_s', 'heave_m_s')))
        page.shows('speed', f'Math.abs(x - {speed}) < 0.006')
        pitch = math.degrees(math.asin(2 * (row['qw'] * row['qy'] - row['qz'] * row['qx'])))
        page.shows('pitch', f'Math.abs(x + {pitch}) < 0.06')
        assert share != 0.1 or pitch > 10
    page.picture('replay')
    page.press('Play')
    page.shows('time', f'x > {40 * 0.3 + 1}')
    page.press('Pause')
    # What a recording lacks is called so, beside what it has: here depth, and no attitude.
    absent, texts = page.tab.evaluate("""async () => {
        const { wire } = await import('marine-sim-console'), nothing = [null, null, null];
        wire.scenery.recorded = ['odom'];
        wire.tell('frame', { ...wire.frame, rpy: nothing, velocity: nothing, pressure: null,
                             barometer_depth: null, position: [null, null, -3] });
        return [[...document.querySelectorAll('.dial')].map((dial) => dial.matches('.absent')),
                Object.fromEntries([...document.querySelectorAll('[data-show]')].map(
                    (one) => [one.dataset.show, one.textContent]))];
    }""")
    assert absent == [True, True, True, False]
    assert {texts[name] for name in ('heading', 'roll', 'pitch')} == {'–'}
    assert (texts['depth'], texts['up']) == ('3.00 m', '−3.00 m')
    lacking = ('east', 'north', 'speed', 'power', 'energy', 'barometer', 'barodepth')
    assert {texts[name] for name in lacking} == {'not recorded'}
    page.picture('replay_of_little')
    assert page.wrong == []


def test_a_chart_tells_the_latitude_below_the_pointer(chromium, processes, tmp_path):
    place, run = tmp_path / 'place.yaml', tmp_path / 'run'
    place.write_text(
        'origin: {latitude: -33.9, longitude: 18.4, altitude: 20, heading: 25}\n'
        'seabed: {depth: 12.0, slope: {angle: 6 , direction: 90}}\n'
    )
    (tmp_path / 'way.yaml').write_text(
        'duration: 6.0\ninitial: {position: [0, 0, -5]}\n'
        'segments: [{at: 0.0, axes: {surge: 0.5}}]\n'
    )
    settings = ['--scenario', str(tmp_path / 'way.yaml'), '--environment', str(place)]
    with pytest.raises(SystemExit) as ended:
        main(['simulate', 'bluerov2', *settings, '--dt', '0.02', '--record', str(run)])
    assert ended.value.code == 0
    process = processes.marine_sim('console', run, '--environment', place, '--port', '0')
    page = Page(chromium, address_of(process))
    page.go_to('Chart')
    chart = page.tab.locator('.chart')
    page.tab.wait_for_function("() => document.querySelector('.chart').dataset.drawn > 0")
    assert int(chart.get_attribute('data-contours')) > 3
    page.reads('depth contours every 1 m, below z = 0')
    origin, ground = load_environment(place).origin, load_environment(place).scene.ground
    for across, up in ((0.5, 0.5), (0.7, 0.2), (0.4, 0.6)):
        page.tab.mouse.move(1, 1)
        box = chart.locator('canvas').bounding_box()
        page.tab.mouse.move(box['x'] + across * box['width'], box['y'] + up * box['height'])
        page.tab.wait_for_function("() => document.querySelector('.chart').own.pointed")
        text = chart.evaluate(
            "e => e.parentElement.querySelector('[data-chart-place]').textContent"
        )
        lat, north_south, lon, east_west, x, y, depth = re.match(
            r'([\d.]+)° ([NS]), ([\d.]+)° ([EW]) · x ([−\d.]+) m, y ([−\d.]+) m · ([\d.]+) m deep',
            text,
        ).groups()
        assert (north_south, east_west) == ('S', 'E')
        x, y = (float(value.replace('−', '-')) for value in (x, y))
        latitude, longitude = origin.coordinates(np.array([x, y, 0.0]))
        assert -float(lat) == pytest.approx(latitude, abs=2e-6)  # 0.05 m of x and y are rounded
        assert float(lon) == pytest.approx(longitude, abs=2e-6)
        assert -float(depth) == pytest.approx(ground(x, y), abs=0.07)
    page.press('Follow the vehicle')
    page.tab.wait_for_function("() => document.querySelector('.chart').dataset.span < 31")
    page.picture('chart')
    assert page.wrong == []


def test_a_replay_shows_the_sensors_at_its_time(chromium, processes, tmp_path):
    run = tmp_path / 'run'
    carried = ('dvl', 'altimeter', 'imaging_sonar')
    sets = [part for name in carried for part in ('--set', f'{name}:=true')]
    where = ['--environment', 'shallow_sand', '--scenario', 'dive', '--dt', '0.02']
    options = [*where, '--duration', '6', *sets]
    with pytest.raises(SystemExit) as ended:  # 1: the scenario is cut short
        main(['simulate', 'bluerov2', *options, '--record', str(run)])
    assert ended.value.code in (0, 1)
    page = Page(chromium, address_of(processes.marine_sim('console', run, '--port', '0')))
    page.go_to('Sensors')
    expected = Replay(str(run))
    slider = page.tab.get_by_label('Time, s')
    box = slider.bounding_box()
    for painted, share in enumerate((0.8, 0.4), start=1):
        page.tab.mouse.click(box['x'] + share * box['width'], box['y'] + box['height'] / 2)
        page.shows('time', f'Math.abs(x - {6 * share}) < 0.3')
        at = float(slider.get_attribute('aria-valuenow'))
        rows = {row['name']: row for row in expected.sensors(at)}
        for name in ('barometer', 'altimeter', 'imu'):
            assert rows[name]['state'] == 'ok'
            words = rows[name]['reading'].split('\n')[0].replace(' ', '\u00a0')
            page.tab.wait_for_function(
                """([name, words]) => document.querySelector(
                    `tr[data-sensor="${name}"][data-state="ok"] .reading`
                )?.textContent.replaceAll(' ', '\u00a0').startsWith(words)""",
                arg=[name, words],
            )
        picture = expected.picture('imaging_sonar', at)
        page.tab.wait_for_function(
            """([least, brightest]) => {
                const canvas = document.querySelector('[data-drawing=imaging_sonar] canvas');
                return canvas.dataset.painted >= least && canvas.dataset.brightest == brightest;
            }""",
            arg=[painted, max(picture)],
        )
    page.picture('replayed_sensors')
    check_readable(page.tab)
    assert page.wrong == []
    expected.close()
