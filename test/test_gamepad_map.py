# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A pilot's own map of a gamepad: what the page's script makes of axes, and what it reads back."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from marine_sim_ros.console import requests

SCRIPT = Path(requests.__file__).parent / 'page' / 'lib' / 'gamepad_map.js'


def node():
    """Return the program that runs scripts: the system's, or that of playwright."""
    try:
        from playwright._impl._driver import compute_driver_executable
    except ImportError:
        return shutil.which('node')
    found = compute_driver_executable()
    return found[0] if isinstance(found, tuple) else found


def value(expression):
    program = node()
    if program is None:
        pytest.skip('node: not on this machine')
    script = f'import * as map from {json.dumps(SCRIPT.as_uri())};\n'
    script += f'console.log(JSON.stringify({expression}));'
    command = [program, '--input-type=module', '-e', script]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_an_effort_is_linear_from_the_dead_band_to_each_end():
    found = value(
        '[-2, -0.5, 0.1, 0.13, 0.55, 1, NaN].map('
        '(x) => map.effort(x, { low: -0.5, middle: 0.1, high: 1 }))'
    )
    assert found == pytest.approx([-1, -1, 0, 0, (0.5 - 0.08) / 0.92, 1, 0])
    still = value('map.effort(0.5, { low: 0.5, middle: 0.5, high: 0.5 })')
    assert still == 0


def test_a_calibration_finds_the_range_and_the_map_gives_the_six_efforts():
    found = value(
        '(() => { const own = map.emptyMap(3);'
        'own.ranges[2] = { low: 0.2, middle: 0.2, high: 0.2 };'
        'for (const x of [-0.8, 0.9, 0.3]) own.ranges[2] = map.widen(own.ranges[2], x);'
        'own.motions = { surge: { axis: 2, reversed: true }, yaw: { axis: 7, reversed: false } };'
        'const again = map.readMap(JSON.stringify(own), 3);'
        'return [own.ranges[2], map.efforts(own, [0, 0, 0.9]), JSON.stringify(again)'
        ' === JSON.stringify(own)]; })()'
    )
    assert found == [{'low': -0.8, 'middle': 0.2, 'high': 0.9}, [-1, 0, 0, 0, 0, 0], True]


@pytest.mark.parametrize(
    'text',
    ['', 'null', '[]', '{"ranges": []}', '{"ranges": [1], "motions": {}, "buttons": {}}',
     '{"ranges": [{"low": 1, "middle": 0, "high": -1}], "motions": {}, "buttons": {}}',
     '{"ranges": [{"low": -1, "middle": 0, "high": 1}], "motions": {"fly": {"axis": 0}},'
     ' "buttons": {}}',
     '{"ranges": [{"low": -1, "middle": 0, "high": 1}], "motions": {}, "buttons": {"stop": -1}}'],
)  # fmt: skip
def test_what_is_no_map_is_none(text):
    assert value(f'map.readMap({json.dumps(text)}, 1)') is None
