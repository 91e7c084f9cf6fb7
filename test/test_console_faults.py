# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controls of the faults of a sensor: what they ask for, and what they show."""

from types import SimpleNamespace

import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.console.requests import parse_request
from marine_sim_ros.console.visuals import vehicle_visuals
from marine_sim_ros.faults.fault_types import (
    SensorBias,
    SensorDelay,
    SensorDropout,
    SensorFreeze,
    SensorSpikes,
    unsuited_fault,
)

nicegui = pytest.importorskip('nicegui', reason='nicegui: not installed (extra console)')

from nicegui import Client, ui  # noqa: E402

from marine_sim_ros.console.page.faults import SensorFaults  # noqa: E402
from marine_sim_ros.console.page.panels import ANSWER_TIME, ControlPanel, Slider  # noqa: E402


@pytest.fixture(scope='module')
def vehicle():
    return load_vehicle('bluerov2', dvl='true', imaging_sonar='true', usbl='true')


@pytest.fixture
def controls(vehicle):
    """The controls on a page that no browser shows, and the requests that they have made."""
    asked = []

    def ask(kind, value=None):
        asked.append(parse_request({'kind': kind, 'value': value}))

    with Client(ui.page('')):
        yield SensorFaults(ControlPanel(), ask, vehicle_visuals(vehicle)['sensors']), asked


def test_every_quantity_of_a_reading_can_be_wrong_and_pictures_cannot(vehicle):
    found = {one['name']: one['quantities'] for one in vehicle_visuals(vehicle)['sensors']}
    assert found['imu'] == ['angular_velocity', 'linear_acceleration']
    assert 'velocity' in found['dvl']
    assert 'delay' not in found['usbl']
    assert found['imaging_sonar'] == []
    assert list(found) == [sensor.name for sensor in vehicle.sensors]


def test_each_control_asks_for_its_fault_of_the_chosen_sensor(controls, vehicle):
    faults, asked = controls
    faults._sensor.value = 'imu'
    faults._freeze()
    faults._drop(40.0)
    faults._hold_up(0.5)
    faults._quantity.value = 'linear_acceleration'
    faults._offset.value = -3.0
    faults._bias(None)
    faults._scatter.value = 2.0
    faults._spike(None)
    told = [request.value for request in asked]
    assert told == [
        SensorFreeze(sensor='imu'),
        SensorDropout(sensor='imu', share=0.4),
        SensorDelay(sensor='imu', delay=0.5),
        SensorBias(sensor='imu', quantity='linear_acceleration', size=-3.0),
        SensorSpikes(sensor='imu', quantity='linear_acceleration', size=2.0, share=0.01),
    ]
    assert unsuited_fault(told, vehicle) == ''


def test_another_sensor_shows_its_own_faults_and_asks_for_nothing(controls):
    faults, asked = controls
    known = {
        ('sensor_bias', 'imu'): {'size': 3.0, 'quantity': 'linear_acceleration'},
        ('sensor_freeze', 'imu'): {'kind': 'sensor_freeze', 'start': 0.0, 'sensor': 'imu'},
        ('sensor_dropout', 'dvl'): {'share': 0.2},
    }
    faults._sensor.value = 'imu'
    faults.show(known)
    assert (faults._offset.value, faults._quantity.value) == (3.0, 'linear_acceleration')
    assert faults._frozen.props['aria-pressed'] == 'true'
    faults._bias(None)  # the field was left as it was
    faults._sensor.value = 'dvl'
    assert (faults._offset.value, faults._dropout.slider.value) == (0.0, 20.0)
    assert faults._frozen.props['aria-pressed'] == 'false'
    faults._sensor.value = 'imaging_sonar'
    assert not faults._errors.visible
    assert asked == []
    faults._sensor.value = 'imu'
    faults._offset.value = 0.0
    faults._bias(None)
    faults._freeze()
    assert [(r.kind, r.value) for r in asked] == [
        ('mend', ('sensor_bias', 'imu')),
        ('mend', ('sensor_freeze', 'imu')),
    ]


def test_a_late_report_does_not_undo_what_the_operator_does(monkeypatch):
    clock, used, panel = [100.0], [], ControlPanel()
    monkeypatch.setattr('marine_sim_ros.console.page.panels.time.monotonic', lambda: clock[0])
    with Client(ui.page('')):
        slider = Slider(panel, 'East', -2.0, 2.0, 'm/s', used.append)
        slider.put(0.5)
        assert slider.slider.value == slider.value == 0.5
        for value in (0.52, 0.54):
            slider.slider.set_value(value)
            slider.release(SimpleNamespace(args=value))
        slider.put(0.52)  # the answer to the first step comes after the second one
        assert (slider.slider.value, slider.value, used) == (0.54, 0.54, [0.52, 0.54])
        slider.put(0.54)
        clock[0] += 2 * ANSWER_TIME
        panel.sync({}, mine=True)
        assert slider.slider.value == 0.54
        slider.release(SimpleNamespace(args=0.6))  # refused: the run stays as it was
        slider.put(0.54)
        clock[0] += 2 * ANSWER_TIME
        panel.sync({}, mine=True)
        assert slider.slider.value == slider.value == 0.54
