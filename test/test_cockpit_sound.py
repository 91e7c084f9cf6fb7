# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sounds of the page: how loud thrusters are, and of what an alarm warns."""

import json
import subprocess

import pytest
from test_gamepad_map import SCRIPT, node

CALM = {'power': [0, 0], 'thrust': [0, 0], 'time': 1}
BATTERY = {'mode': {'faults': [{'kind': 'battery', 'voltage': 16.8, 'empty': 12.0}]}}


def values(*expressions):
    program = node()
    if program is None:
        pytest.skip('node: not on this machine')
    script = f'import * as sound from {json.dumps(SCRIPT.with_name("sound.js").as_uri())};\n'
    script += f'console.log(JSON.stringify([{", ".join(expressions)}]));'
    command = [program, '--input-type=module', '-e', script]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def frame(**news):
    return json.dumps(CALM | news)


def test_thrusters_are_as_loud_as_the_root_of_their_power():
    metered, unmetered = '{ metered: true }', '{ metered: false }'
    found = values(
        f'sound.loudness({frame(power=[100, 150])}, {metered})',
        f'sound.loudness({frame(power=[900, 900])}, {metered})',
        f'sound.loudness({frame(power=[100, None], paused=True)}, {metered})',
        f'sound.loudness({frame(thrust=[-75, 75])}, {unmetered})',
    )
    assert found == pytest.approx([0.5, 1, 0, 0.5**0.75])


def test_the_most_urgent_alarm_sounds():
    failed = {'mission': {'tasks': [{'state': 'failed'}], 'penalties': []}}
    cost = {'mission': {'tasks': [], 'penalties': [{'points': 2.0}, {'points': 0.0}]}}
    pairs = (
        (frame(), frame()),
        (frame(**failed), frame()),
        (frame(**failed), frame(**failed)),
        (frame(**failed), 'null'),
        (frame(**cost), frame()),
        (frame(**BATTERY, health={'voltage': '13.3'}), frame()),
        (frame(**BATTERY, **failed, health={'voltage': '13.1'}), frame()),
        (frame(**BATTERY, health={'voltage': '13.1'}, leak=True), frame()),
    )
    found = values(*(f'sound.alarmOf({now}, {before})' for now, before in pairs))
    assert found == ['', 'failed', '', '', 'failed', '', 'battery', 'leak']
