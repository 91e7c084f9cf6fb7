# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cockpit of the page in a real browser: sounds, by frames that a test tells."""

import json

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


@pytest.fixture
def page(processes, chromium, tmp_path):  # noqa: F811
    vehicle = load_vehicle('bluerov2')
    run = simulate(vehicle, load_scenario('dive'), dt=0.02, duration=0.2)
    write_recording(tmp_path / 'run', vehicle, RunOptions(vehicle='bluerov2'), run)
    process = processes.marine_sim('console', tmp_path / 'run', '--port', '0')
    return Page(chromium, address_of(process))


def test_sounds_are_off_until_they_are_switched_on_and_follow_the_power(page):
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
