# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cockpit of the page in a real browser: sounds, and a headset that a script stands for."""

import json

import numpy as np
import pytest
from conftest import has
from test_console_page import Page, address_of, chromium, playwright  # noqa: F401

from marine_sim_ros import load_vehicle
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not has('nicegui'), reason='the extra console is not installed'),
    pytest.mark.skipif(not has('playwright'), reason='playwright is not installed'),
]
TELL = """async (news) => {
    const { wire } = await import('marine-sim-console');
    wire.tell('frame', { ...wire.frame, ...news });
}"""
"""Tells the page another frame, as the run would."""
SOUND = "document.querySelector('.sound').own"
GAIN = f'() => {SOUND}.gain.gain.value'


MODE = {'output': 'pwm', 'switches': {}}


HEADSET = """
class Session extends EventTarget {
    renderState = {};
    frames = 0;
    environmentBlendMode = 'opaque';
    inputSources = [{ handedness: 'left', gamepad: { axes: [0, 0, 0.25, -1], buttons: [] } },
                    { handedness: 'right', gamepad: { axes: [0, 0, -0.5, 0.75], buttons: [] } }];
    updateRenderState(state) { Object.assign(this.renderState, state); }
    async requestReferenceSpace() { return new EventTarget(); }
    requestAnimationFrame(use) { return requestAnimationFrame((time) => use(time, this.frame)); }
    cancelAnimationFrame(number) { cancelAnimationFrame(number); }
    async end() { this.dispatchEvent(new Event('end')); }
    get frame() {
        this.frames += 1;
        const transform = (x) => ({ matrix: new Float32Array(
            [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, 0, 0, 1]) });
        const projectionMatrix = new Float32Array(
            [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1.0002, -1, 0, 0, -0.10001, 0]);
        const views = ['left', 'right'].map((eye, i) => (
            { eye, projectionMatrix, transform: transform(0.064 * (i - 0.5)) }));
        return { session: this, getViewerPose: () => ({ transform: transform(0), views }) };
    }
}
window.XRWebGLBinding = undefined;
window.XRWebGLLayer = class {
    framebuffer = null;
    framebufferWidth = 640;
    framebufferHeight = 320;
    getViewport({ eye }) { return { x: eye === 'left' ? 0 : 320, y: 0, width: 320, height: 320 }; }
};
WebGL2RenderingContext.prototype.makeXRCompatible = async () => {};
Object.defineProperty(navigator, 'xr', { value: {
    isSessionSupported: async (mode) => mode === 'immersive-vr',
    requestSession: async () => new Session(),
} });
"""
"""Stands for a headset with two controllers, as WebXR has them, whose eyes are 64 mm apart."""


class WithHeadset:
    """A browser whose pages find a headset."""

    def __init__(self, chromium):  # noqa: F811
        self._chromium = chromium

    def new_page(self, **options):
        tab = self._chromium.new_page(**options)
        tab.add_init_script(f'{{{HEADSET}}}')
        return tab


@pytest.fixture
def address(processes, tmp_path):
    vehicle = load_vehicle('bluerov2')
    run = simulate(vehicle, load_scenario('dive'), dt=0.02, duration=0.2)
    write_recording(tmp_path / 'run', vehicle, RunOptions(vehicle='bluerov2'), run)
    return address_of(processes.marine_sim('console', tmp_path / 'run', '--port', '0'))


def test_sounds_are_off_until_they_are_switched_on_and_follow_the_power(address, chromium):  # noqa: F811
    page = Page(chromium, address)

    def gain_with(power, condition):
        """Tell frames of a power in all until the gain fulfils a condition."""
        news = json.dumps({'power': [power / 2, power / 2], 'paused': False})
        page.tab.wait_for_function(
            f'async () => {{ await ({TELL})({news}); const x = ({GAIN})(); return {condition}; }}'
        )

    switch = page.tab.get_by_role('button', name='Sounds')
    assert switch.get_attribute('aria-pressed') == 'false'
    assert page.tab.evaluate(f'{SOUND}.context') is None
    switch.click()
    page.tab.wait_for_function(f"() => {SOUND}.context.state === 'running'")
    assert page.tab.evaluate(f'{SOUND}.context instanceof AudioContext')
    gain_with(250, 'Math.abs(x - 0.15) < 0.005')
    gain_with(1000, 'Math.abs(x - 0.3) < 0.005')
    gain_with(40, 'Math.abs(x - 0.06) < 0.005')
    page.tab.wait_for_function(f'() => ({GAIN})() < 0.001')  # no frame comes any more
    battery = {'kind': 'battery', 'voltage': 16.8, 'empty': 12.0}
    tasks = [{'name': 'gate', 'state': 'failed'}]
    for alarm, news in (
        ('failed', {'mission': {'tasks': tasks}}),
        ('battery', {'mode': MODE | {'faults': [battery]}, 'health': {'voltage': '13.1'}}),
        ('leak', {'leak': True}),
    ):
        page.tab.evaluate(TELL, {})
        page.tab.evaluate(TELL, news)
        page.tab.wait_for_selector(f'.sound button[data-alarm={alarm}]')
    page.tab.reload()
    page.tab.wait_for_selector('.sound button[aria-pressed=true]')
    switch.click()
    page.tab.wait_for_selector('.sound button[aria-pressed=false]')
    assert page.wrong == []


def test_the_vehicle_moves_on_from_frame_to_frame_and_rests_in_a_pause(address, chromium):  # noqa: F811
    page = Page(chromium, address)
    between, share, rest = page.tab.evaluate("""async () => {
        const { wire } = await import('marine-sim-console'), { frame } = wire;
        const view = document.querySelector('.view').own;
        const wait = (time) => new Promise((done) => setTimeout(done, time));
        const tell = (time, x) => wire.tell('frame', {
            ...frame, time: frame.time + time, position: [x, 0, -1], turn: [0, 0, 0, 1] });
        wire.replay = false;
        tell(1, 2);
        await wait(400);
        tell(2, 3);
        await wait(100);
        const share = view.ahead;
        view.lead();
        const between = view.body.position.x;
        await wait(3 * view.gap);
        view.lead();
        return [between, share, view.body.position.x];
    }""")
    assert 0.0 < share <= 1.0
    assert between == pytest.approx(3.0 + share, abs=0.1)  # 1 m from frame to frame
    assert rest == 3.0
    assert page.wrong == []


def test_keys_close_and_open_the_gripper_of_an_operator(address, chromium):  # noqa: F811
    page = Page(chromium, address)
    sent = page.tab.evaluate("""async () => {
        const { wire, operatorHands } = await import('marine-sim-console'), sent = [];
        operatorHands();
        wire.send = (kind, value) => { if (kind === 'gripper') sent.push(value); };
        const press = (key, target = document.body) => {
            target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        };
        const text = document.body.appendChild(document.createElement('input'));
        for (const [mine, gripper] of [[false, true], [true, false], [true, true]]) {
            wire.mine = mine;
            wire.scenery.look.gripper = gripper;
            for (const key of ['c', 'O']) press(key);
            press('c', text);
        }
        wire.mine = false;
        return sent;
    }""")
    assert sent == [True, False]


def test_a_headset_sees_with_two_eyes_from_the_camera(address, chromium):  # noqa: F811
    alone = Page(chromium, address)
    assert not alone.tab.get_by_role('button', name='View in a headset').is_visible()
    alone.tab.close()
    page = Page(WithHeadset(chromium), address)
    page.value("view.choose('camera_link')")
    page.drawn_anew()
    page.press('View in a headset')
    drawn = []
    for count in (5, 20):
        page.tab.wait_for_function(
            f"() => document.querySelector('.view').own.headset.session?.frames > {count}"
        )
        drawn.append(page.value('view.renderer.info.render.frame - view.headset.session.frames'))
    assert page.value('view.renderer.xr.isPresenting')
    assert abs(drawn[1] - drawn[0]) <= 1  # each frame of the session once, and nothing else
    eyes = page.value(
        'view.renderer.xr.getCamera().cameras.map((eye) => [...eye.matrixWorld.elements])'
    )
    left, right = (np.array(eye).reshape(4, 4) for eye in eyes)
    link = np.array(page.value('view.links.camera_link.matrixWorld.elements')).reshape(4, 4)
    port = link[1, :3]  # of the camera's frame: ahead, to port, up
    np.testing.assert_allclose(left[3, :3] - right[3, :3], 0.064 * port, atol=1e-6)
    np.testing.assert_allclose(-left[2, :3], link[0, :3], atol=1e-6)  # it looks ahead
    middle = (left[3, :3] + right[3, :3]) / 2
    np.testing.assert_allclose(middle, link[3, :3] + 0.06 * link[0, :3], atol=1e-6)
    # A camera that follows the vehicle looks down on it; the head stays level.
    page.value("view.choose('follow')")
    page.tab.wait_for_function("""() => { const eye = document.querySelector('.view').own
        .renderer.xr.getCamera().cameras[0].matrixWorld.elements;
        return Math.abs(eye[6] - 1) < 1e-6 && Math.abs(eye[10]) < 1e-6; }""")
    sticks = page.tab.evaluate("""async () => {
        const found = performance.getEntriesByType('resource').map(({ name }) => name);
        const { controllers } = await import(found.find((name) => name.endsWith('headset.js')));
        const worn = controllers();
        await document.querySelector('.view').own.headset.toggle();
        return [worn.mapping, worn.axes, controllers()]; }""")
    assert sticks == ['standard', [0.25, -1, -0.5, 0.75], None]
    page.drawn_anew()
    assert not page.value('view.renderer.xr.isPresenting')
    assert page.wrong == []
