# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of sensors that last for a run: bias, error of scale, drift and mounting."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from conftest import within_chi_square

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.sensors import SENSORS, SensorInputs

BODY = """<robot name="buoy"><link name="base_link"><inertial><mass value="12"/>
  <inertia ixx="0.13" ixy="0" ixz="0" iyy="0.24" iyz="0" izz="0.29"/></inertial></link>
  <buoyancy><volume>0.012</volume><height>0.2</height></buoyancy>
  {}
</robot>
"""
LASTING = ('bias', 'scale_error', 'drift', 'wander', 'misalignment')
SECOND = 1_000_000_000
SAND = (
    'terrain: {generator: sand, depth: 8.0, relief: 0.0, size: [40.0, 40.0], spacing: 1.0,\n'
    '          material: sand}\nwind: {speed: 7.0, from_direction: 200.0}\n'
    'water: {profile: [{depth: 0.0, chlorophyll: 2.0, turbidity: 0.2}]}\n'
    'beacons: [{name: ping, position: [9, 2, -5], period: 1.0},\n'
    '          {name: station, position: [1, 9, -7]}]\n'
    'obstacles: [{name: pile, shape: box, size: [1, 1, 16], position: [1, -6, 0]}]'
)
AFLOAT = {'gps', 'anemometer', 'lidar'}
ASKED = {'pinger': '<fix>1</fix>'}
"""Parts of an element without which some errors of a kind do nothing."""


def sensor_of(element):
    (sensor,) = load_vehicle(BODY.format(element)).sensors
    return sensor


def measured(sensor, state, environment, inputs):
    return SENSORS[sensor.kind].measure(sensor, state, environment, inputs)


def lasting_parameters(kind):
    names = [f.name for f in fields(SENSORS[kind].spec) if f.name not in ('frame', 'position')]
    return [name for name in names if name.endswith(LASTING)]


def looking_down(kind):
    """Return a sensor of a kind that looks at the bottom where it looks at all."""
    rpy = '3.14159265 0 0' if SENSORS[kind].looks == 'z' else '0 1.5707963 0'
    more = ASKED.get(kind, '')
    return sensor_of(f'<sensor type="{kind}"><origin xyz="0 0 0" rpy="{rpy}"/>{more}</sensor>')


def around(kind):
    """Return what a sensor of a kind measures 3 m above sand, or on the water."""
    sand = parse_environment(SAND, 'sand.yaml')
    state = state_at_rest((1.0, 2.0, 1.0 if kind in AFLOAT else -5.0))
    state = state._replace(velocity=np.array([0.5, 0.1, 0.0, 0.05, 0.02, 0.1]))
    inputs = SensorInputs.none(0.1)._replace(supply=np.array([150.0, 15.0, 0.3]))
    return state, sand, inputs


@pytest.mark.parametrize('kind', list(SENSORS))
def test_every_sensor_has_errors_that_last_or_says_why_not(kind):
    """Each such parameter moves the readings of a run, by another amount with another seed."""
    names = lasting_parameters(kind)
    assert bool(names) != bool(SENSORS[kind].exact)
    if not names or SENSORS[kind].exchange is not None:
        return  # a modem: below
    sensor, model = looking_down(kind), SENSORS[kind]
    ideal = measured(sensor, *around(kind))

    def read(seed, **given):
        spec = replace(sensor.spec, **{**dict.fromkeys(names, 0.0), **given})
        readings = model.disturb(replace(sensor, spec=spec), ideal, 90 * SECOND, seed, ())
        return np.concatenate([np.ravel(values) for values in readings.values()])

    for name in names:
        size = 0.02 if 'bias' not in name and 'drift' not in name else 1.0
        seeds = [read(seed, **{name: size}) for seed in (1, 2)]
        for seed, moved in zip((1, 2), seeds, strict=True):
            assert not np.array_equal(moved, read(seed), equal_nan=True), name
            np.testing.assert_array_equal(moved, read(seed, **{name: size}))
        plain = [moved - read(seed) for seed, moved in zip((1, 2), seeds, strict=True)]
        assert not np.array_equal(*plain, equal_nan=True), name


SCALARS = (
    ('barometer', '', 'pressure', 2e4),
    ('thermometer', '', 'temperature', 0.1),
    ('altimeter', '', 'range', 0.05),
    ('optode', '', 'oxygen', 2.0),
    ('transmissometer', '', 'attenuation', 0.002),
    ('battery', 'voltage', 'voltage', 0.2),
    ('battery', 'current', 'current', 0.5),
    ('ctd', 'temperature', 'temperature', 0.1),
    ('ctd', 'conductivity', 'conductivity', 0.01),
    ('ctd', 'pressure', 'pressure', 500.0),
    ('usbl', 'range', 'polar', 0.3),
    ('pinger', 'range', 'polar', 0.3),
)


@pytest.mark.parametrize(('kind', 'part', 'quantity', 'size'), SCALARS)
def test_errors_that_last_have_the_sizes_that_are_declared(kind, part, quantity, size):
    """(1 + s) x + b + d t of 200 runs, at 0 s and after 2 h: χ² with 200 degrees of freedom."""
    sensor, model = looking_down(kind), SENSORS[kind]
    ideal, prefix = measured(sensor, *around(kind)), f'{part}_' if part else ''
    truth = float(np.ravel(ideal[quantity])[0])
    quiet = {n: 0.0 for n in vars(sensor.spec) if 'noise' in n or n in ('variance', 'resolution')}

    def errors(hours, **given):
        spec = replace(sensor.spec, **quiet, **given)
        one, stamp = replace(sensor, spec=spec), round(hours * 3600) * SECOND
        found = [model.disturb(one, ideal, stamp, seed, ())[quantity] for seed in range(200)]
        return np.array([np.ravel(value)[0] for value in found]) - truth

    for hours in (0, 2):
        assert within_chi_square(errors(hours, **{f'{prefix}bias': size}), size)
        assert within_chi_square(errors(hours, **{f'{prefix}scale_error': 0.01}), 0.01 * truth)
    if f'{prefix}drift' in vars(sensor.spec):
        np.testing.assert_allclose(errors(0, **{f'{prefix}drift': size}), 0.0, atol=1e-12 * truth)
        assert within_chi_square(errors(2, **{f'{prefix}drift': size}), 2 * size)
    assert not errors(2).any() or kind == 'ctd'  # rounding of its equations aside


def test_a_usbl_array_that_is_turned_turns_what_it_finds():
    """The positions stay on a sphere about the transceiver, by √2 σ r across the line of sight."""
    element = '<sensor type="usbl"><transceiver>0 0 -1</transceiver>'
    sensor = sensor_of(f'{element}<misalignment>0.01</misalignment></sensor>')
    ideal, model = measured(sensor, *around('usbl')), SENSORS['usbl']
    found = [model.disturb(sensor, ideal, 0, seed, ())['position'] for seed in range(200)]
    arms = np.array(found) - [0.0, 0.0, -1.0]
    distance = np.linalg.norm(ideal['position'] - [0.0, 0.0, -1.0])
    np.testing.assert_allclose(np.linalg.norm(arms, axis=1), distance, rtol=1e-12)
    across = np.linalg.norm(np.array(found) - ideal['position'], axis=1)
    assert np.sqrt(np.mean(across**2)) == pytest.approx(math.sqrt(2) * 0.01 * distance, rel=0.1)


def test_the_range_of_a_modem_has_the_errors_of_its_run_in_its_steps():
    """The acknowledgement of a boat at rest 100 m away, by modems of five seeds."""
    body = '<sensor type="modem" rate="20"><range_bias>2</range_bias><range_step>0.5</range_step>'
    own, boat = sensor_of(f'{body}</sensor>'), state_at_rest((100.0, 0.0, -5.0))
    solids = np.zeros((0, 1, 3)), np.zeros((0, 1)), np.zeros((0, 3)), np.zeros(0)
    ranges = set()
    for seed in range(5):
        other = Body('boat', *solids, boat.position, boat.orientation, sensors=(own,), seed=seed)
        sea = replace(Environment(), own='scout', bodies=(other,))
        memory, found = None, []
        for tick in range(200):
            outbox = (('boat', b'a'),) if tick == 20 else ()
            inputs = SensorInputs.none(tick / 20)._replace(outbox=outbox)
            readings, memory = SENSORS['modem'].exchange(
                own,
                memory,
                tick * SECOND // 20,
                state_at_rest((0.0, 0.0, -5.0)),
                sea,
                inputs,
                seed,
            )
            found += [float(readings['range'])] * bool(np.isfinite(readings['range']))
        assert len(found) == 1
        assert found[0] % 0.5 == 0
        assert abs(found[0] - 100) < 8
        ranges.add(found[0])
    assert len(ranges) > 1
