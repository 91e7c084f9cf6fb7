# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The bench of sensors: every sensor and every size of picture has its row, with a cost."""

import math
import re

import pytest
from conftest import has

from marine_sim_ros.bench import graph, numpy_steps
from marine_sim_ros.tools.main import main


@pytest.mark.skipif(not has('moderngl'), reason='the extra camera is not installed')
def test_larger_pictures_cost_more(monkeypatch):
    sizes = {'8 x 6': (8.0, 6.0), '320 x 240': (320.0, 240.0)}
    monkeypatch.setattr(numpy_steps, 'CAMERAS', sizes)
    rows = {}
    numpy_steps.camera_rows(
        lambda name, form, value: rows.update({name: float(format(value, form))})
    )
    names = [
        f'camera {size}, {around}: CPU ms a picture'
        for size in sizes
        for around in ('pool', 'shallow_sand')
    ]
    assert list(rows) == names
    assert rows[names[2]] > rows[names[0]]
    assert rows[names[3]] > rows[names[1]]


def test_every_survey_sonar_has_its_rows(monkeypatch):
    monkeypatch.setattr(numpy_steps, 'READINGS', 1)
    monkeypatch.setattr(numpy_steps, 'WARM_UP', 1)
    rows = {}
    numpy_steps.survey_cost_rows(lambda name, form, value: rows.update({name: value}))
    for name, rate in numpy_steps.SURVEY_RATES.items():
        cost = rows[f'sensor {name}: CPU ms a reading']
        assert rows[f'sensor {name} at {rate:g} Hz: % of a core'] == pytest.approx(
            rate * cost / 10
        )


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.skipif(not has('moderngl'), reason='the extra camera is not installed')
@pytest.mark.usefixtures('ros_environment')
def test_the_whole_bench_of_sensors_has_a_value_in_every_row(monkeypatch, capfd):
    for name in ('READINGS', 'PICTURES', 'WARM_UP'):
        monkeypatch.setattr(numpy_steps, name, 2)
    monkeypatch.setattr(graph, 'CAMERA_WARM_UP', 2.0)
    with pytest.raises(SystemExit) as done:
        main(['bench', '--sensors', '--rounds', '1', '--seconds', '1'])
    said = capfd.readouterr()
    assert done.value.code == 0, said.err
    told = re.sub(r'\s*\n', '\n', said.out)
    for name in (
        'sensor dvl: CPU ms a reading',
        'sensor imaging_sonar over rock',
        'sensor side_scan at 20 Hz',
        'sensors at 200 ticks/s, composed',
        'the whole run with survey sonars',
        'camera 1280 x 720, shallow_sand',
        'composed in real time, camera of 640 x 480 at 15 Hz, pool',
    ):
        assert name in told
    values = [float(x) for x in re.findall(r'(-?[\d.]+|nan)\s+\([^()]* to [^()]*\)', told)]
    assert len(values) > 30
    # What sensors take is the difference of two short runs, which may come out below 0.
    assert all(map(math.isfinite, values))
    assert sum(value < 0 for value in values) <= 2
