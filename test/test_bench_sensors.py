# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The bench of sensors: every sensor and every size of picture has its row, with a cost."""

import re
import subprocess
import sys

import pytest
from conftest import has

from marine_sim_ros.bench import sensors


@pytest.mark.skipif(not has('moderngl'), reason='the extra camera is not installed')
def test_larger_pictures_cost_more(monkeypatch):
    sizes = {'8 x 6': (8.0, 6.0), '320 x 240': (320.0, 240.0)}
    monkeypatch.setattr(sensors, 'CAMERAS', sizes)
    rows = {}
    sensors.camera_rows(lambda name, form, value: rows.update({name: float(format(value, form))}))
    names = [f'camera {size}, {around}: CPU ms a picture' for size in sizes
             for around in ('pool', 'shallow_sand')]  # fmt: skip
    assert list(rows) == names
    assert rows[names[2]] > rows[names[0]]
    assert rows[names[3]] > rows[names[1]]


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not has('moderngl'), reason='the extra camera is not installed')
def test_the_whole_bench_of_sensors_has_a_value_in_every_row(ros_environment):
    command = [sys.executable, '-m', 'marine_sim_ros.tools.main', 'bench', '--sensors']
    command += ['--rounds', '1', '--seconds', '1']
    done = subprocess.run(
        command, capture_output=True, text=True, env=ros_environment, check=False
    )
    assert done.returncode == 0, done.stderr
    told = re.sub(r'\s*\n', '\n', done.stdout)
    for name in ('sensor dvl: CPU ms a reading', 'sensor imaging_sonar over rock',
                 'sensors at 200 ticks/s, composed', 'camera 1280 x 720, shallow_sand',
                 'composed in real time, camera of 640 x 480 at 15 Hz, pool'):  # fmt: skip
        assert name in told
    values = [float(x) for x in re.findall(r'(-?[\d.]+|nan)\s+\([^()]* to [^()]*\)', told)]
    assert len(values) > 30
    assert all(value >= 0 for value in values)
