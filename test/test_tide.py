# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tides: level and current against utide and closed forms, and what follows the surface."""

import math

import numpy as np
import pytest
from conftest import ROOT, vehicle_of
from graph import recorded, run_everywhere
from hulls import box

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.rays import first_hits
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.environment.tide import CONSTITUENT_SPEEDS
from marine_sim_ros.physics import FORCES
from marine_sim_ros.physics.tether import tether_ends
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.sensor_model import SensorInputs
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

LEVELS = {
    'M2': (1.5, 110), 'S2': (0.5, 170), 'N2': (0.3, 80), 'K2': (0.2, 12), 'K1': (0.4, 30),
    'O1': (0.3, 200), 'P1': (0.1, 300), 'M4': (0.1, 10), 'MF': (0.1, 55),
}  # fmt: skip
CURRENTS = {'M2': (0.8, 0.1, 30, 80), 'K1': (0.2, -0.05, 150, 10), 'MS4': (0.1, 0.0, 60, 200)}
START = '2026-11-28T12:00:00'


def tide(levels=LEVELS, currents=CURRENTS, *, start=START, mean=0.3, more=''):
    """Return an environment with a tide."""
    lines = [f'tide:\n  mean: {mean}\n  constituents:']
    lines += [f'    - {{name: {n}, amplitude: {a}, phase: {g}}}' for n, (a, g) in levels.items()]
    lines += ['  currents:'] if currents else []
    lines += [
        f'    - {{name: {n}, major: {a}, minor: {b}, inclination: {i}, phase: {g}}}'
        for n, (a, b, i, g) in currents.items()
    ]
    date = f'origin: {{latitude: 53.5, longitude: 8.0}}\nstart: {start}Z\n' if start else ''
    return parse_environment(date + more + '\n'.join(lines) + '\n', 'tide')


def raised(level, more=''):
    """Return an environment whose surface is at a level and does not move for an hour."""
    return tide({'SA': (0.0, 0)}, {}, start='', mean=level, more=more)


# Level and current.


def reconstruct(names, seconds, **numbers):
    """Return utide's own reconstruction of constituents from START on, at times in s."""
    utide = pytest.importorskip('utide')
    dates = np.datetime64(START) + (seconds * 1000).astype('timedelta64[ms]')
    series = np.cos(seconds / 7000.0)
    pair = (series, series) if 'Lsmaj' in numbers else (series,)
    found = utide.solve(
        dates, *pair, lat=53.5, constit=list(names), conf_int='none', method='ols',
        trend=False, verbose=False,
    )  # fmt: skip
    for key, values in numbers.items():
        found[key] = np.array([values[name] for name in found.name], float)
        found[f'{key}_ci'] = 1e-6 + 0.0 * found[key]
    for key in ('mean', 'umean', 'vmean'):
        if key in found:
            found[key] = 0.0
    return utide.reconstruct(dates, found, verbose=False, min_SNR=0)


MONTH = np.arange(0.0, 30 * 86400.0, 1800.0)


def test_a_month_of_levels_is_utides_within_a_millimetre():
    amplitude, phase = ({n: v[i] for n, v in LEVELS.items()} for i in (0, 1))
    wanted = reconstruct(LEVELS, MONTH, A=amplitude, g=phase).h + 0.3
    environment = tide()
    found = np.array([environment.at(t).level for t in MONTH])
    assert np.ptp(wanted) > 4
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-3)


def test_a_month_of_currents_is_utides_within_a_millimetre_a_second():
    numbers = {
        key: {n: v[i] for n, v in CURRENTS.items()}
        for i, key in enumerate(('Lsmaj', 'Lsmin', 'theta', 'g'))
    }
    wanted = reconstruct(CURRENTS, MONTH, **numbers)
    environment = tide()
    found = np.array([environment.at(t).velocity(np.zeros(3)) for t in MONTH])
    np.testing.assert_allclose(found[:, 0], wanted.u, rtol=0, atol=1e-3)
    np.testing.assert_allclose(found[:, 1], wanted.v, rtol=0, atol=1e-3)
    assert not found[:, 2].any()


def test_the_speeds_are_utides():
    utide = pytest.importorskip('utide')
    for name, speed in CONSTITUENT_SPEEDS.items():
        found = 360 * utide.ut_constants.const.freq[utide.constit_index_dict[name]]
        np.testing.assert_allclose(speed, found, rtol=0, atol=3e-6, err_msg=name)


def test_without_a_date_the_phase_is_the_lag_behind_the_start():
    environment = tide({'M2': (2.0, 60)}, {'S2': (1.0, 0.0, 90, 0)}, start='', mean=0.0)
    hour = math.radians(CONSTITUENT_SPEEDS['M2'])
    for hours in (0.0, 3.0, 700.0):
        now = environment.at(3600 * hours)
        wanted = 2 * math.cos(hour * hours - math.radians(60))
        np.testing.assert_allclose(now.level, wanted, atol=1e-9)
        flow = math.cos(math.radians(30 * hours))
        np.testing.assert_allclose(now.velocity(np.zeros(3)), [0, flow, 0], atol=1e-9)


def test_currents_of_the_tide_are_east_and_north_whatever_the_heading_of_map():
    more = 'origin: {latitude: 53.5, longitude: 8.0, heading: 40}\n'
    environment = tide({'SA': (0, 0)}, {'M2': (1, 0.2, 0, 0)}, start='', more=more)
    found = environment.origin.enu(environment.at(0.0).velocity(np.zeros(3)))
    np.testing.assert_allclose(found, [1, 0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('tide: {mean: 1}', 'has no constituents; expected some'),
        ('tide: {constituents: [{name: M9, amplitude: 1}]}', 'M9'),
        ('tide: {constituents: [{name: M2}]}', 'amplitude'),
        ('tide: {constituents: [{name: M2, amplitude: 100}]}', 'amplitude is 100'),
        ('start: noon', 'expected a date in UTC'),
        ('start: 2026-11-28T12:00:00', 'expected a date in UTC'),
        ('start: 2026-11-28', 'expected a date in UTC'),
        ('start: 1626-11-28T12:00:00Z', 'expected a date in UTC'),
        (
            'start: 2026-11-28T12:00:00Z\ntide: {constituents: [{name: M2, amplitude: 1}]}',
            'has no origin',
        ),
    ],
)
def test_a_wrong_tide_is_refused_in_one_line(text, message):
    with pytest.raises(MarineSimError, match=message) as caught:
        parse_environment(text + '\n', 'wrong')
    assert '\n' not in str(caught.value)


# What follows the surface.

WAVES = 'waves: {type: regular, height: 0.4, period: 4.0}\n'


@pytest.mark.parametrize('waves', ['', WAVES])
def test_the_water_at_a_depth_below_the_surface_is_the_same_at_every_level(waves):
    profile = (
        'current: {profile: [{depth: 0, velocity: [1, 0, 0]}, {depth: 9, velocity: [0, 0, 0]}]}\n'
    )
    low, high = (raised(level, waves + profile).at(1.7) for level in (0.0, 1.25))
    points = np.array([[0.0, 0.0, -1.0], [3.0, 1.0, -4.0]])
    up = np.array([0.0, 0.0, 1.25])
    for name in ('velocity', 'acceleration'):
        found, wanted = getattr(high, name)(points + up), getattr(low, name)(points)
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    for name in ('elevation', 'dynamic_head'):
        found, wanted = getattr(high, name)(points + up), getattr(low, name)(points)
        np.testing.assert_allclose(found, wanted + 1.25, atol=1e-12)
    assert high.crest == pytest.approx(low.crest + 1.25)


def wrenches(vehicle, environment, z):
    return {
        name: force.wrench(vehicle, state_at_rest((0.0, 0.0, z)), environment)
        for name, force in FORCES.items()
        if name in ('buoyancy', 'drag', 'thrusters')
    }


@pytest.mark.parametrize('waves', ['', WAVES])
@pytest.mark.parametrize('vehicle', ['surface_vessel', 'bluerov2', 'hull'])
def test_forces_are_those_of_the_height_above_the_surface(vehicle, waves):
    made = box((1.0, 0.6, 0.4), 150.0) if vehicle == 'hull' else vehicle_of(vehicle)
    low = Environment() if not waves else parse_environment(waves, 'waves').at(2.3)
    high = raised(-1.5, waves).at(2.3)
    for z in (-3.0, -0.05, 0.1):
        wanted, found = wrenches(made, low, z), wrenches(made, high, z - 1.5)
        for name, wrench in wanted.items():
            np.testing.assert_allclose(found[name], wrench, rtol=1e-9, atol=1e-9, err_msg=name)


def test_a_barometer_reads_the_depth_below_the_surface():
    vehicle = vehicle_of('bluerov2')
    sensor = next(s for s in vehicle.sensors if s.kind == 'barometer')
    kind = SENSORS['barometer']
    readings = [
        kind.measure(sensor, state_at_rest((0, 0, -5.0)), environment, SensorInputs.none())[
            'pressure'
        ]
        for environment in (Environment(), raised(2.0))
    ]
    weight = sensor.spec.fluid_density * Environment().gravity
    np.testing.assert_allclose(readings[1] - readings[0], 2.0 * weight, rtol=1e-9)


def test_a_receiver_has_a_fix_above_the_surface_alone():
    vehicle = vehicle_of('bluerov2', gps='true', thermometer='true')
    inputs = SensorInputs.none()
    gps, thermometer = (
        next(s for s in vehicle.sensors if s.kind == kind) for kind in ('gps', 'thermometer')
    )
    for level, dry in ((0.0, True), (2.0, False)):
        water = raised(level)
        place = state_at_rest((0, 0, 1.0))
        found = SENSORS['gps'].measure(gps, place, water, inputs)['geodetic']
        assert np.isfinite(found).all() == dry
        warm = SENSORS['thermometer'].measure(thermometer, place, water, inputs)['temperature']
        assert warm == (20.0 if dry else 10.0)


@pytest.mark.parametrize('waves', ['', WAVES])
def test_rays_meet_the_surface_where_it_is(waves):
    environment = raised(1.5, waves).at(0.4)
    up = np.array([0.6, 0.0, 0.8])
    hits = first_hits(environment, np.array([0.0, 0.0, -2.0]), up, 50.0)
    place = np.array([0.0, 0.0, -2.0]) + hits.distance * up
    np.testing.assert_allclose(place[2], environment.elevation(place), atol=2e-3)


def float_at_rest(seconds, z=0.0):
    return parse_scenario(
        f'duration: {seconds}\ninitial: {{position: [0, 0, {z}]}}\nsegments:\n'
        '  - {at: 0, axes: {}}\n',
        'rest',
    )


def test_a_boat_rises_with_the_tide():
    """Ten seconds of an exaggerated tide: it heaves about the level as about still water."""
    vehicle = vehicle_of('surface_vessel')
    water = tide({'M2': (5.0, 90.0), 'S2': (5.0, 90.0)}, {}, start='', mean=0.0)
    still = simulate(vehicle, float_at_rest(10), dt=0.02)
    run = simulate(vehicle, float_at_rest(10), environment=water, dt=0.02)
    levels = np.array([water.at(t).level for t in 0.02 * np.arange(len(run.z))])
    np.testing.assert_allclose(run.z - levels, still.z, atol=2e-3)
    assert levels[-1] > 0.014
    high = simulate(vehicle, float_at_rest(2, 1.5), environment=raised(1.5), dt=0.02)
    np.testing.assert_allclose(high.z - 1.5, still.z[: len(high.z)], atol=1e-9)


def test_the_anchor_of_a_tether_afloat_rises_with_the_tide():
    text = (ROOT / 'urdf/simple_rov.urdf').read_text(encoding='utf-8')
    cable = '<tether type="fathom" length="20" anchor="3 0 0" afloat="true"/>'
    vehicle = load_vehicle(text.replace('</robot>', f'{cable}</robot>'))
    ends = [
        tether_ends(vehicle.extensions['tether'], state_at_rest((0, 0, -2)), environment)[-1]
        for environment in (Environment(), raised(1.2))
    ]
    np.testing.assert_allclose(ends[1] - ends[0], [0, 0, 1.2], atol=1e-12)


# Runs.


@pytest.mark.long
@pytest.mark.parametrize('name', ['surface_vessel', 'bluerov2'])
def test_the_compiled_engine_has_the_same_run(name):
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = vehicle_of(name)
    water = tide({'M2': (1.0, 72.5)}, {'M2': (0.5, 0.1, 30, 10)}, start='')
    run = simulate(vehicle, float_at_rest(4), environment=water, dt=0.02)
    found, _ = simulate_compiled(vehicle, float_at_rest(4), environment=water, dt=0.02)
    np.testing.assert_allclose(found.position, run.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.velocity, run.velocity, rtol=0, atol=1e-9)
    assert np.abs(run.position[-1, :2]).max() > 0.1


@pytest.mark.ros
def test_the_graph_is_the_simulation_in_a_tide(processes, tmp_path):
    (tmp_path / 'rest.yaml').write_text(
        'duration: 1.5\ninitial: {position: [0, 0, -0.5]}\nsegments:\n  - {at: 0.2, axes: {}}\n'
    )
    run_everywhere(
        processes, tmp_path, 'bluerov2', '--scenario', tmp_path / 'rest.yaml',
        '--environment', 'tidal_jetty',
    )  # fmt: skip
    pressures = [
        [m.fluid_pressure for _, m in sorted(bag['barometer/pressure'].items())]
        for bag in (recorded(tmp_path / way) for way in ('simulate', 'composed'))
    ]
    count = min(map(len, pressures))
    assert count > 10
    np.testing.assert_array_equal(pressures[0][:count], pressures[1][:count])


def test_the_shipped_tide_has_its_range():
    water = load_environment('tidal_jetty')
    levels = np.array([water.at(t).level for t in np.arange(0, 15 * 86400, 600.0)])
    assert 2.5 < np.ptp(levels) < 3.3
    assert not water.is_flat
    assert not water.is_steady
    assert not water.is_still
