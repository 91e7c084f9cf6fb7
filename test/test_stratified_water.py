# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stratified water: TEOS-10, interpolation, pressure, sound, casts, and vehicles in it."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from conftest import ROOT
from graph import recorded, run_everywhere
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ray_sensors import DOWN, FLOOR, ideal, noisy, sensor_of

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.casts import read_cast
from marine_sim_ros.environment.environment import density
from marine_sim_ros.environment.reader import load_environment, parse_environment, run_environment
from marine_sim_ros.environment.water_fields import WaterFields, sea_water
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.sensors.acoustics import absorption
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

gsw = pytest.importorskip('gsw', reason='gsw: not installed (extra sensors)')

FJORD = load_environment('fjord')


def points_at(*depths):
    return np.array([[0.0, 0.0, -depth] for depth in depths])


@given(st.floats(-20, 12_000) | st.sampled_from(FJORD.fields.depth.tolist()))
def test_one_point_of_a_profile_has_the_number_that_it_has_among_others(depth):
    fields, points = FJORD.fields, points_at(depth, 3.0)
    for name in ('density', 'sound_speed'):
        compute = getattr(fields, name)
        assert compute(points[0], 0.0) == compute(points, 0.0)[0]
    for name in ('temperature', 'turbidity'):
        assert fields.value(name, points[0], 0.0) == fields.value(name, points, 0.0)[0]


# TEOS-10, beside its check values and beside the formulas of EOS-80.


def test_density_is_the_check_values_of_teos_10():
    absolute = np.array([34.7118, 34.8915, 35.0256, 34.8472, 34.7366, 34.7324])
    conservative = np.array([28.8099, 28.4392, 22.7862, 10.2262, 6.8272, 4.3236])
    pressure = np.array([10.0, 50.0, 125.0, 250.0, 600.0, 1000.0])
    place = (4.0, 188.0)  # degrees north and east, of the published table
    found = sea_water(
        gsw.t_from_CT(absolute, conservative, pressure),
        gsw.SP_from_SA(absolute, pressure, *place[::-1]),
        -gsw.z_from_p(pressure, place[0]),
        *place,
    )
    published = [  # www.teos-10.org, gsw_rho_CT_exact
        1021.840179764, 1022.262699104, 1024.427709286, 1027.790199902, 1029.837716780,
        1032.002400877,
    ]  # fmt: skip
    np.testing.assert_allclose(found.density, published, rtol=1e-9)


def test_at_the_surface_it_is_eos_80_within_its_error():
    for temperature, salinity in ((5.0, 35.0), (20.0, 10.0), (15.0, 0.0)):
        found = sea_water(*map(np.array, (temperature, salinity, 0.0)), 45.0, -30.0)
        assert float(found.density) == pytest.approx(density(temperature, salinity), abs=0.02)


def mackenzie(t, s, d):
    """Mackenzie (1981), J. Acoust. Soc. Am. 70(3): speed of sound, m/s, standard error 0.07."""
    return (
        1448.96 + 4.591 * t - 5.304e-2 * t**2 + 2.374e-4 * t**3 + 1.340 * (s - 35)
        + 1.630e-2 * d + 1.675e-7 * d**2 - 1.025e-2 * t * (s - 35) - 7.139e-13 * t * d**3
    )  # fmt: skip


def test_the_speed_of_sound_is_that_of_mackenzie_within_his_range():
    rng = np.random.default_rng(3)
    t, s, d = rng.uniform((2, 30, 0), (30, 40, 4000), (500, 3)).T
    found = sea_water(t, s, d, 30.0, -40.0).sound_speed
    assert np.abs(found - mackenzie(t, s, d)).max() < 1.0


# Fields, beside another interpolation and numeric integrals.


def random_fields(seed=1, heading=0.0):
    rng = np.random.default_rng(seed)
    time, depth = np.array([0.0, 30.0, 100.0]), np.array([0.0, 3.0, 10.0, 40.0])
    latitude = 40.0 + 1e-5 * np.array([-50.0, -10.0, 20.0, 90.0])
    longitude = 10.0 + 1e-5 * np.array([-30.0, 0.0, 70.0])
    shape = tuple(map(len, (time, depth, latitude, longitude)))

    def draw(low, high):
        return rng.uniform(low, high, shape)

    return WaterFields(
        draw(5, 20), draw(20, 35), depth, time, latitude, longitude,
        Origin(40.0, 10.0, heading=heading),
        {'east': draw(-1, 1), 'north': draw(-1, 1), 'oxygen': draw(100, 300)},
    )  # fmt: skip


@pytest.mark.parametrize('heading', [0.0, 40.0])
def test_fields_are_linear_between_their_nodes_in_time_depth_and_place(heading):
    scipy = pytest.importorskip('scipy.interpolate')
    fields, rng = random_fields(heading=heading), np.random.default_rng(2)
    axes = fields.time, fields.depth, fields.latitude, fields.longitude
    local = rng.uniform((-45, -80, -60), (120, 140, 5), (10_000, 3))  # east, north, up
    points = fields.origin.in_map(local)
    times = rng.uniform(-20, 130, 10_000)
    place = fields.origin.geographic(local[:, 0], local[:, 1])
    asked = np.stack([times, -local[:, 2], *place], axis=-1)
    low, high = (np.array([f(axis) for axis in axes]) for f in (np.min, np.max))
    asked = np.clip(asked, low, high)  # beyond the edges their values hold
    for name in ('temperature', 'salinity', 'oxygen'):
        values = fields.others.get(name, getattr(fields, name, None))
        wanted = scipy.RegularGridInterpolator(axes, values)(asked)
        np.testing.assert_allclose(fields.value(name, points, times), wanted, rtol=0, atol=1e-6)
    east, north = (
        scipy.RegularGridInterpolator(axes, fields.others[name])(asked)
        for name in ('east', 'north')
    )
    wanted = fields.origin.in_map(np.stack([east, north, 0 * east], axis=-1))
    np.testing.assert_allclose(fields.velocity(points, times), wanted, rtol=0, atol=1e-7)


@pytest.mark.parametrize('fields', [random_fields(), FJORD.fields], ids=['grid', 'profile'])
def test_one_point_is_the_same_as_one_of_many_and_as_compiled(fields):
    jnp = pytest.importorskip('jax.numpy', reason='jax: not installed (extra batch)')
    import jax

    rng, time = np.random.default_rng(5), 42.0
    points = np.concatenate([rng.uniform(-60, 60, (50, 3)), np.diag([0.0, 0.0, -2e4])])
    many = fields.density(points, time), fields.mass_above(points, time)
    for i in range(len(points)):
        assert fields.density(points[i], time) == many[0][i]
        assert fields.mass_above(points[i], time) == many[1][i]
    with jax.enable_x64(True) if hasattr(jax, 'enable_x64') else jax.experimental.enable_x64():
        compiled = jax.jit(fields.density)(jnp.asarray(points), jnp.asarray(time))
        np.testing.assert_allclose(compiled, many[0], rtol=1e-9)


def test_pressure_and_delay_are_the_integrals_over_depth():
    integrate = pytest.importorskip('scipy.integrate')
    fields = FJORD.fields
    for depth in (0.5, 3.3, 7.9, 55.0, 100.0):
        inner = [d for d in fields.depth.tolist() if 0 < d < depth]

        def over_depth(function, depth=depth, inner=inner):
            marks = [0.0, *inner, depth]
            return sum(
                integrate.quad(lambda x: float(function(points_at(x)[0])), a, b)[0]
                for a, b in pairwise(marks)
            )

        mass = over_depth(lambda p: fields.density(p, 0.0))
        assert fields.mass_above(points_at(depth)[0], 0.0) == pytest.approx(mass, rel=1e-9)
        delay = over_depth(lambda p: 1 / fields.sound_speed(p, 0.0))
        slowness = fields.slowness_between(points_at(depth)[0], np.zeros(3), 0.0)
        assert depth * slowness == pytest.approx(delay, rel=1e-9)
    assert fields.mass_above(np.array([0.0, 0.0, 3.0]), 0.0) == 0.0


def test_a_level_path_takes_the_speed_of_its_depth():
    speed = FJORD.sound_speed(points_at(20.0)[0])
    far = np.array([500.0, 0.0, -20.0])
    assert FJORD.mean_sound_speed(points_at(20.0)[0], far) == pytest.approx(speed, rel=1e-12)
    far[2] += 0.01
    slanted = FJORD.mean_sound_speed(points_at(20.0)[0], far)
    assert slanted == pytest.approx(speed, rel=1e-6)


# Sound.


def ainslie_mccolm(frequency):
    """Ainslie and McColm (1998), J. Acoust. Soc. Am. 103(3): 10 °C, salinity 35, pH 8, dB/km."""
    boron, magnesium, square = 0.78 * math.exp(10 / 26), 42 * math.exp(10 / 17), frequency**2
    return (
        0.106 * boron * square / (square + boron**2)
        + 0.52 * (1 + 10 / 43) * magnesium * square / (square + magnesium**2)
        + 0.00049 * square * math.exp(-10 / 27)
    )


@pytest.mark.parametrize('frequency', [0.3, 1.0, 10.0, 50.0, 200.0, 750.0])
def test_absorption_agrees_with_ainslie_and_mccolm(frequency):
    """They state that the two differ by less than 10 % from 100 Hz to 1 MHz."""
    assert 1000 * absorption(frequency) == pytest.approx(ainslie_mccolm(frequency), rel=0.1)


def test_absorption_of_fresh_water_is_that_of_pure_water_alone():
    # Fisher and Simmons (1977): 25.3e-15 Np s²/m at 20 °C.
    nepers = absorption(100.0, 20.0, 0.0, 0.0) / 8.686 / 1e10
    assert nepers == pytest.approx(25.3e-15, rel=0.03)


def test_ranges_are_times_of_travel_at_1500_m_per_s():
    water = replace(FJORD, scene=FLOOR.scene)
    for kind, name in (('altimeter', 'range'), ('dvl', 'altitude')):
        turn = DOWN if kind == 'dvl' else (0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5))
        sensor = sensor_of(kind, turn=turn)
        uniform = ideal(sensor, FLOOR, (0, 0, -2.0))[name]
        found = ideal(sensor, water, (0, 0, -2.0))[name]
        slowness = water.fields.slowness_between(points_at(2.0)[0], points_at(10.0)[0], 0.0)
        assert found == pytest.approx(uniform * 1500.0 * slowness, rel=1e-9)
    assert 1500.0 * slowness > 1.01


def test_a_dvl_scales_speeds_by_the_sound_at_its_transducer():
    water = replace(FJORD, scene=FLOOR.scene)
    sensor = sensor_of('dvl', turn=DOWN)
    velocity = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    found = ideal(sensor, water, (0, 0, -2.0), velocity=velocity)['velocity']
    wanted = 1500.0 / FJORD.sound_speed(points_at(2.0)[0])
    np.testing.assert_allclose(found, [wanted, 0, 0], atol=1e-9)


# Sensors.


def test_the_barometer_reads_the_weight_of_the_water_above():
    sensor = next(s for s in load_vehicle('bluerov2').sensors if s.kind == 'barometer')
    spec = replace(sensor.spec, position=np.zeros(3), reference_offset=0.0)
    told = ideal(replace(sensor, spec=spec), FJORD, (3.0, 1.0, -40.0))
    head = FJORD.gravity * FJORD.fields.mass_above(points_at(40.0)[0], 0.0)
    assert told['pressure'] == pytest.approx(spec.atmospheric_pressure + head, rel=1e-12)
    assert told['temperature'] == pytest.approx(6.98, abs=0.02)


def test_a_ctd_reads_the_water_that_is_there():
    sensor = sensor_of('ctd')
    sensor = replace(sensor, spec=replace(sensor.spec, fluid_density=1000.0))
    for depth in (1.0, 6.0, 60.0):
        told, point = ideal(sensor, FJORD, (0, 0, -depth)), points_at(depth)[0]
        assert told['salinity'] == pytest.approx(FJORD.water_salinity(point), rel=1e-7)
        assert told['temperature'] == pytest.approx(FJORD.water_temperature(point), rel=1e-12)
        # Nodes are 1 m apart, and salt has the reference composition.
        assert told['density'] == pytest.approx(FJORD.density(point, 0.0), abs=0.05)
        assert told['sound_speed'] == pytest.approx(FJORD.sound_speed(point), abs=0.05)
    in_air = ideal(sensor, FJORD, (0, 0, 1.0))
    assert in_air['conductivity'] == 0
    assert np.isnan(in_air['salinity'])


def test_a_ctd_measures_the_conductivity_that_defines_salinity():
    """Standard sea water, 35 at 15 °C (IPTS-68: 14.9964 °C), has 4.2914 S/m: PSS-78."""
    sensor = sensor_of('ctd')
    sensor = replace(sensor, spec=replace(sensor.spec, fluid_density=1025.0))
    told = ideal(sensor, Environment(temperature=14.9964), (0, 0, -1e-6))
    assert told['conductivity'] == pytest.approx(4.2914, abs=1e-5)


def test_noise_of_a_ctd_is_that_of_its_parts():
    sensor = sensor_of('ctd', 'sbe49')
    sensor = replace(sensor, spec=replace(sensor.spec, fluid_density=1025.0))
    stamps = np.arange(2000) * 62_500_000
    truth = ideal(sensor, FJORD, (0, 0, -30.0))
    many = {name: np.full(2000, value) for name, value in truth.items()}
    told = noisy(sensor, many, stamps)
    for name in ('temperature', 'conductivity', 'pressure'):
        wanted = getattr(sensor.spec, f'{name}_noise')
        assert np.std(told[name] - truth[name]) == pytest.approx(wanted, rel=0.05)
    # dS/dC is about 9.5 per S/m, and dS/dt about 1 per °C: they add as squares.
    assert 0.0010 < np.std(told['salinity']) < 0.0025


def test_optode_fluorometer_and_transmissometer_read_the_fields_of_their_depth():
    water = parse_environment(
        'water:\n  profile:\n'
        '    - {depth: 0, oxygen: 280, chlorophyll: 4, turbidity: 0.5, salinity: 30}\n'
        '    - {depth: 20, oxygen: 180, chlorophyll: 0, turbidity: 0.1, salinity: 34}\n',
        str(ROOT / 'p.yaml'),
    )
    at = (0, 0, -5.0)
    assert ideal(sensor_of('optode'), water, at)['oxygen'] == pytest.approx(255.0)
    assert ideal(sensor_of('fluorometer'), water, at)['chlorophyll'] == pytest.approx(3.0)
    assert ideal(sensor_of('transmissometer'), water, at)['attenuation'] == pytest.approx(0.4)
    for kind in ('optode', 'fluorometer', 'transmissometer'):
        readings = ideal(sensor_of(kind), water, (0, 0, 0.5))
        assert all(np.isnan(value) for value in readings.values())


def test_without_fields_the_water_is_saturated_with_air_and_as_turbid_as_cameras_see_it():
    """Garcia and Gordon (1992) print 274.610 µmol/kg at 10 °C and salinity 35."""
    text = 'water: {temperature: 9.9976, salinity: 35, turbidity: 0.3}'  # 10 °C of IPTS-68
    water = parse_environment(text, 'p.yaml')
    at = (0, 0, -5.0)
    assert ideal(sensor_of('optode'), water, at)['oxygen'] == pytest.approx(274.610, abs=0.01)
    assert ideal(sensor_of('fluorometer'), water, at)['chlorophyll'] == 0
    assert ideal(sensor_of('transmissometer'), water, at)['attenuation'] == 0.3


def test_a_fluorometer_reads_in_steps_and_no_more_than_its_range():
    sensor, stamps = sensor_of('fluorometer', 'eco_fl'), np.arange(500) * 1_000_000_000
    for truth in (0.0, 300.0):
        told = noisy(sensor, {'chlorophyll': np.full(500, truth)}, stamps)['chlorophyll']
        assert told.mean() == pytest.approx(min(truth, 125.0), abs=2e-3)
        np.testing.assert_allclose(told / 0.01, np.round(told / 0.01), atol=1e-6)


# Vehicles.

FLOAT = """<robot name="float"><link name="base_link"><inertial><mass value="20.4"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <buoyancy><volume>0.02</volume><center_of_volume>0 0 0</center_of_volume>
    <height>0.2</height></buoyancy>
  <hydrodynamics><linear_damping>{damping}</linear_damping></hydrodynamics>
  <buoyancy_engines>
    <buoyancy_engine name="bladder"><limit lower="0" upper="0.0002"/><rate>0.0001</rate>
    </buoyancy_engine>
    <hull volume="0.02" compressibility="{compressibility}"/>
  </buoyancy_engines></robot>"""
REST = parse_scenario(
    'duration: 150\ninitial: {position: [0, 0, -2]}\nsegments: [{at: 0, axes: {}}]', 'rest'
)


@pytest.mark.parametrize('compressibility', [0.0, 4e-9])
def test_a_float_stops_where_its_density_is_the_water_s(compressibility):
    optimize = pytest.importorskip('scipy.optimize')
    damping = ' '.join(str(8 * (i == j)) for i in range(6) for j in range(6))
    vehicle = load_vehicle(FLOAT.format(damping=damping, compressibility=compressibility))
    run = simulate(vehicle, REST, environment=FJORD, dt=0.05)

    def surplus(depth):
        point = points_at(depth)[0]
        rho = gsw.rho(
            gsw.SA_from_SP(
                np.interp(depth, [4, 8], [14, 29]), gsw.p_from_z(-depth, 61.2), 6.9, 61.2
            ),
            gsw.CT_from_t(34, np.interp(depth, [4, 8], [14.5, 9.0]), depth),
            gsw.p_from_z(-depth, 61.2),
        )
        pressure = FJORD.hydrostatic_pressure(point, 0.0)
        return rho * 0.02 * (1 - compressibility * pressure) - 20.4

    expected = optimize.brentq(surplus, 4.0, 8.0)
    assert -run.position[-1, 2] == pytest.approx(expected, abs=0.01)
    assert abs(run.velocity[-1, 2]) < 1e-4


def test_buoyancy_of_a_hull_follows_the_density_of_its_depth():
    vehicle = load_vehicle('bluerov2')
    shallow, deep = (buoyancy(vehicle, state_at_rest((0, 0, -d)), FJORD)[2] for d in (2.0, 60.0))
    ratio = FJORD.density(points_at(60.0)[0], 0) / FJORD.density(points_at(2.0)[0], 0)
    assert deep / shallow == pytest.approx(ratio, rel=1e-12)


def test_uniform_water_as_a_profile_moves_a_vehicle_as_uniform_water_does():
    profile = parse_environment(
        'water: {profile: [{depth: 0, temperature: 4, salinity: 30}]}', 'p'
    )
    rho = profile.density(points_at(2.0)[0], 0.0)
    play = parse_scenario(
        'duration: 3\ninitial: {position: [0, 0, -2]}\nsegments: [{at: 0, axes: {}}]', 'rest'
    )
    vehicle = load_vehicle('bluerov2')
    found = simulate(vehicle, play, environment=profile, dt=0.02)
    wanted = simulate(vehicle, play, environment=Environment(water_density=rho), dt=0.02)
    np.testing.assert_allclose(found.position, wanted.position, atol=1e-5)


@pytest.mark.long
def test_the_compiled_engine_has_the_same_run():
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = load_vehicle('bluerov2')
    play = parse_scenario(
        'duration: 3\ninitial: {position: [0, 0, -3]}\nsegments:\n'
        '  - {at: 0.5, axes: {surge: 0.5, heave: -0.8}}\n', 'dip',
    )  # fmt: skip
    water = replace(FJORD, scene=None, fields=random_fields())
    run = simulate(vehicle, play, environment=water, dt=0.02)
    found, _ = simulate_compiled(vehicle, play, environment=water, dt=0.02)
    np.testing.assert_allclose(found.position, run.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.velocity, run.velocity, rtol=0, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize('name', ['bluerov2', 'investigator90'])
def test_a_batch_in_layers_has_the_same_runs(name):
    """Computed number by number, the hull's panels too."""
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.batch import simulate_batch

    vehicle, water = load_vehicle(name), replace(FJORD, scene=None)
    plays = [
        parse_scenario(
            f'duration: 1\ninitial: {{position: [0, 0, {z}]}}\nsegments:\n'
            '  - {at: 0.1, axes: {surge: 0.5, heave: -0.8}}\n', 'dip',
        )
        for z in (-0.2, -4.0, -7.9, -130.0)
    ]  # fmt: skip
    found = simulate_batch(vehicle, plays, environments=water, dt=0.02, every=1)
    for i, play in enumerate(plays):
        run = simulate(vehicle, play, environment=water, dt=0.02)
        np.testing.assert_allclose(found.position[:, i], run.position, rtol=0, atol=1e-9)


@pytest.mark.ros
def test_all_ways_of_running_have_the_same_readings(processes, tmp_path):
    run_everywhere(
        processes, tmp_path, 'bluerov2', '--scenario', 'dive', '--duration', '1',
        '--environment', 'fjord', '--set', 'ctd:=true',
    )  # fmt: skip

    def series(way):
        topics = recorded(tmp_path / way)
        fields = {
            'ctd/temperature': 'temperature', 'ctd/pressure': 'fluid_pressure',
            'barometer/pressure': 'fluid_pressure',
        }  # fmt: skip
        stamped = [
            (name, stamp, getattr(message, field), message.variance)
            for name, field in fields.items()
            for stamp, message in sorted(topics[name].items())
        ]
        # Numbers without a header have the time at which they came: some may have the same.
        plain = [
            {message.data for message in topics[name].values()}
            for name in ('ctd/salinity', 'ctd/sound_speed', 'ctd/conductivity', 'ctd/density')
        ]
        return stamped, plain

    stamped, plain = series('simulate')
    assert len(plain[0]) == 17
    for way in ('separate', 'composed'):
        found, numbers = series(way)
        assert found == stamped, way
        for some, every in zip(numbers, plain, strict=True):
            assert some <= every, way
            assert len(some) > 8, way


def test_the_camera_looks_through_the_turbidity_of_its_depth():
    for depth, wanted in ((0.0, 0.30), (6.0, 0.15), (60.0, 0.02)):
        assert FJORD.seen_at(points_at(depth)[0]).optics.turbidity == pytest.approx(wanted)
    assert Environment().seen_at(np.zeros(3)).optics.turbidity == 0.0


# Casts and environment files.

CNV = """* Sea-Bird SBE 19plus Data File:
# name 0 = prDM: Pressure, Digiquartz [db]
# name 1 = t090C: Temperature [ITS-90, deg C]
# name 2 = c0S/m: Conductivity [S/m]
# name 3 = flag: flag
# bad_flag = -9.990e-29
*END*
      1.000     12.0000   3.600000  0.0000e+00
     10.000     10.0000   3.500000  0.0000e+00
     20.000 -9.990e-29    3.400000  0.0000e+00
     30.000      8.0000   3.300000  0.0000e+00
     15.000      9.5000   3.450000  0.0000e+00
"""


def test_a_cnv_file_gives_depth_and_salinity_of_pressure_and_conductivity(tmp_path):
    (tmp_path / 'a.cnv').write_text(CNV)
    found = read_cast(tmp_path / 'a.cnv', 60.0)
    np.testing.assert_allclose(found['depth'], -gsw.z_from_p([1.0, 10.0, 30.0], 60.0))
    np.testing.assert_allclose(found['temperature'], [12.0, 10.0, 8.0])
    wanted = gsw.SP_from_C([36.0, 35.0, 33.0], [12.0, 10.0, 8.0], [1.0, 10.0, 30.0])
    np.testing.assert_allclose(found['salinity'], wanted)


@pytest.mark.parametrize(
    'header',
    [
        'Depth [m],Temperature (degC),Salinity (PSU)', 'depth_m,temp,psal', 'DEPTH;TEMP;SAL',
        'salinity,station,depth,temperature',
    ],
)  # fmt: skip
def test_a_table_is_read_by_the_names_of_its_columns(header, tmp_path):
    separator = ';' if ';' in header else ','
    names = header.lower().split(separator)

    def cell(name, i):
        kinds = {'d': [0, 10], 't': [15, 5], 's': [30, 34]}
        return 'A1' if name == 'station' else str(kinds[name[0] if name != 'psal' else 's'][i])

    rows = [header, *(separator.join(cell(n, i) for n in names) for i in range(2))]
    (tmp_path / 'cast.csv').write_text('\n'.join(rows) + '\n', encoding='utf-8')
    (tmp_path / 'e.yaml').write_text('water: {profile: cast.csv}\n')
    water = load_environment(tmp_path / 'e.yaml')
    assert water.water_temperature(points_at(5.0)[0]) == pytest.approx(10.0)
    assert water.water_salinity(points_at(5.0)[0]) == pytest.approx(32.0)


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('', 'no rows'),
        ('depth,temperature,salinity\n', '0 complete rows'),
        ('a,b,c\n1,2,3\n', 'expected depth'),
        ('depth,temperature\n1,2\n3,4\n', 'no column for salinity'),
        ('depth,temperature,salinity\n1,2,3\n2,99,3\n', ":3: temperature is '99'"),
        ('depth (ft),temperature,salinity\n1,2,3\n2,3,3\n', "unit of column 'depth (ft)'"),
        ('depth,temperature,salinity\n1,x,3\n2,3,3\n', ":2: temperature is 'x'"),
    ],
)
def test_a_bad_cast_is_one_line(text, said, tmp_path):
    (tmp_path / 'cast.csv').write_text(text)
    with pytest.raises(ParameterError) as caught:
        read_cast(tmp_path / 'cast.csv', 0.0)
    assert said in str(caught.value)
    assert '\n' not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec='utf-8'), max_size=300), st.sampled_from(['.csv', '.cnv']))
def test_any_text_is_read_or_refused(tmp_path_factory, text, suffix):
    path = tmp_path_factory.mktemp('cast') / f'cast{suffix}'
    start = CNV[:150] if suffix == '.cnv' else 'depth,temperature,salinity\n0,1,2\n'
    path.write_text(start + text, encoding='utf-8')
    try:
        found = read_cast(path, 10.0)
    except ParameterError:
        return
    assert np.all(np.diff(found['depth']) > 0)


@pytest.mark.parametrize(
    ('water', 'said'),
    [
        ('{profile: []}', 'at least one'),
        ('{profile: [{depth: 3}, {depth: 1}]}', 'order of their depth'),
        ('{profile: [{depth: 0, salinity: 3}, {depth: 1}]}', 'salinity is missing'),
        ('{density: 1000, profile: [{depth: 0}]}', 'density and profile'),
        ('{profile: no_such_file.csv}', 'no_such_file.csv'),
        ('{profile: [{depth: 0, temperature: 300}]}', 'temperature is 300'),
    ],
)
def test_a_bad_profile_is_one_line(water, said):
    with pytest.raises(ParameterError) as caught:
        parse_environment(f'water: {water}\n', str(ROOT / 'p.yaml'))
    assert said in str(caught.value)
    assert '\n' not in str(caught.value)


def test_a_density_of_its_own_is_refused_in_stratified_water():
    with pytest.raises(ParameterError, match='stratified'):
        run_environment('fjord', water_density=1025.0)
