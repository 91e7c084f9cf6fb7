# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wind: profile and gusts by their formulas, loads by closed forms, drift by VRX's equations."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from conftest import ROOT, vehicle_of
from graph import numbers, recorded, run_everywhere
from hulls import box
from scipy.integrate import quad, solve_ivp

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import MarineSimError, ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.environment.wind import Wind, band_edges, norsok_spectrum
from marine_sim_ros.physics import FORCES
from marine_sim_ros.physics.wind import IsherwoodElement, isherwood_coefficients
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.sensor_model import SensorInputs
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

WIND = FORCES['wind']
RHO = 1.225


def air(speed, towards=0.0, **values):
    """Return an environment whose wind blows towards an angle in map, rad."""
    return Environment(wind=Wind(speed, 0.0, yaw=towards, **values))


def windy(element, name='wamv'):
    text = (ROOT / f'urdf/{name}.urdf').read_text(encoding='utf-8')
    head, _, rest_of_it = text.partition('<wind>')
    text = head + rest_of_it.partition('</wind>')[2] if rest_of_it else text
    return load_vehicle(text.replace('</robot>', f'{element}</robot>'))


# Wind.


def test_the_mean_grows_with_height_as_the_standard_says():
    wind = Wind(20.0, 0.0)
    heights = np.array([0.01, 0.1, 2.0, 10.0, 80.0])
    shear = 0.0573 * math.sqrt(1 + 0.15 * 20.0)
    wanted = 20.0 * (1 + shear * np.log(np.maximum(heights, 0.1) / 10))
    np.testing.assert_allclose(wind.speed_at(heights, 0.0), wanted, rtol=1e-12)


@pytest.mark.parametrize(('speed', 'height'), [(10.0, 10.0), (20.0, 3.0)])
def test_an_hour_of_gusts_has_the_spectrum(speed, height):
    """Energy of an hour's periodogram in eight bands, within 5 % of the integral of S."""
    wind = Wind(speed, 0.0, gusts='norsok', seed=3)
    rate, duration = 2.0, 3600.0
    times = np.arange(0, duration, 1 / rate)
    mean = float(Wind(speed, 0.0).speed_at(np.array(height), 0.0))
    swing = np.array([wind.speed_at(np.array(height), t) for t in times]) - mean
    density = 2 * np.abs(np.fft.rfft(swing)) ** 2 / (len(times) * rate)
    frequency = np.fft.rfftfreq(len(times), 1 / rate)
    edges = band_edges(80)[::10]
    for low, high in pairwise(edges):
        within = (frequency >= low) & (frequency < high)
        wanted = quad(lambda f: norsok_spectrum(f, speed, height), low, high)[0]
        np.testing.assert_allclose(np.sum(density[within]) / duration, wanted, rtol=0.05)
    whole = quad(lambda f: norsok_spectrum(f, speed, height), 1 / 600, 0.5, limit=200)[0]
    np.testing.assert_allclose(np.var(swing), whole, rtol=0.05)


def test_the_spectrum_is_the_published_formula():
    """By hand at f = 0.01 Hz, U = 20 m/s, z = 20 m."""
    x = 172 * 0.01 * 2 ** (2 / 3) * 2**-0.75
    wanted = 320 * 4 * 2**0.45 / (1 + x**0.468) ** (5 / 1.404)
    np.testing.assert_allclose(norsok_spectrum(0.01, 20.0, 20.0), wanted, rtol=1e-12)


@pytest.mark.parametrize('heading', [0.0, 30.0])
def test_the_direction_is_the_bearing_that_it_blows_from(heading):
    environment = parse_environment(
        f'origin: {{latitude: 60, longitude: 5, heading: {heading}}}\n'
        'wind: {speed: 10, from_direction: 270}\n',
        'west',
    )
    found = environment.origin.enu(environment.wind_velocity(np.array(10.0)))
    np.testing.assert_allclose(found, [10.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('{speed: 10}', 'from_direction'),
        ('{speed: 100, from_direction: 0}', 'speed is 100'),
        ('{speed: 10, from_direction: 0, gusts: harris}', 'gusts'),
        ('{speed: 10, direction: 0}', 'direction'),
        ('[1, 2]', 'expected a mapping'),
    ],
)
def test_a_wrong_wind_is_refused_in_one_line(text, message):
    with pytest.raises(MarineSimError, match=message) as caught:
        parse_environment(f'wind: {text}\n', 'wrong')
    assert '\n' not in str(caught.value)


# Loads.

AREAS = '<frontal_area>2</frontal_area><lateral_area>5</lateral_area><length>4</length>'


def loads(vehicle, environment, *, yaw=0.0, z=0.0, velocity=(0, 0, 0, 0, 0, 0)):
    state = state_at_rest((0, 0, z), tuple(quaternion_from_rpy(0, 0, yaw)))
    return WIND.wrench(vehicle, state._replace(velocity=np.array(velocity, float)), environment)


@pytest.mark.parametrize('gamma', np.radians([0, 25, 90, 130, 180]))
@pytest.mark.parametrize('port', [1, -1])
def test_sinusoidal_coefficients_give_fossens_forces(gamma, port):
    vehicle = windy(f'<wind><top>1</top>{AREAS}<sinusoidal>0.6 0.8 0.1</sinusoidal></wind>')
    found = loads(vehicle, air(8.0, math.pi + port * gamma))
    q = RHO / 2 * 64
    wanted = [
        -q * 2 * 0.6 * math.cos(gamma),
        -port * q * 5 * 0.8 * math.sin(gamma),
        -port * q * 5 * 4 * 0.1 * math.sin(2 * gamma),
    ]
    np.testing.assert_allclose(found[[0, 1, 5]], wanted, rtol=1e-9, atol=1e-9)


def test_a_table_is_linear_between_its_angles_and_symmetric():
    rows = ((0, -0.5, 0, 0), (60, -0.2, 0.7, 0.1), (180, 0.6, 0, 0))
    table = ''.join(f'<coefficient angle="{a}" x="{x}" y="{y}" n="{n}"/>' for a, x, y, n in rows)
    vehicle = windy(f'<wind><top>1</top>{AREAS}{table}</wind>')
    q = RHO / 2 * 100
    for port in (1, -1):
        for degrees, x, y, n in ((0, -0.5, 0, 0), (30, -0.35, 0.35, 0.05), (120, 0.2, 0.35, 0.05)):
            found = loads(vehicle, air(10.0, math.pi + port * math.radians(degrees)))
            wanted = [q * 2 * x, -port * q * 5 * y, -port * q * 20 * n]
            np.testing.assert_allclose(found[[0, 1, 5]], wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(loads(vehicle, air(0.0)), np.zeros(6))


def test_isherwoods_ship_has_the_numbers_of_fossens_toolbox():
    """Coefficients at 0, 60 and 90° of a ship, by hand from the rows of the table."""
    ship = IsherwoodElement(
        beam=20.0, perimeter=150.0, centroid=50.0, superstructure=300.0, masts=2
    )
    found = isherwood_coefficients(ship, 300.0, 1200.0, 100.0)
    al, af, lb, s, c = 2 * 1200 / 1e4, 2 * 300 / 400, 5.0, 1.5, 0.5
    np.testing.assert_allclose(found[0, 0], -(2.152 - 5 * al + 0.243 * af - 0.164 * lb))
    np.testing.assert_allclose(
        found[:, 6],
        [
            -(0.913 - 4.68 * al - 0.104 * lb + 0.482 * s + 0.052 * 2),
            1.163 + 0.96 * al + 0.101 * af - 0.177 * s - 0.88 * c,
            0.1925 + 0.480 * al + 0.0115 * lb - 0.546 * c,
        ],
    )
    np.testing.assert_allclose(found[1:, 9], [0.889 + 0.138 * af - 0.66 * c, 0.2627 - 0.508 * c])
    dimensions = 'beam="20" perimeter="150" centroid="50" superstructure="300" masts="2"'
    vehicle = windy(
        '<wind><top>20</top><frontal_area>300</frontal_area><lateral_area>1200</lateral_area>'
        f'<length>100</length><isherwood {dimensions}/></wind>'
    )
    wrench = loads(vehicle, air(10.0, math.pi / 2))  # from starboard
    np.testing.assert_allclose(wrench[1], RHO / 2 * 100 * 1200 * found[1, 9], rtol=1e-9)


def test_the_apparent_wind_counts_and_the_point_is_the_lever():
    vehicle = windy('<wind><origin xyz="1 0 0.5"/><top>1</top><quadratic>2 3 0</quadratic></wind>')
    np.testing.assert_allclose(loads(vehicle, air(5.0), velocity=[5, 0, 0, 0, 0, 0]), np.zeros(6))
    found = loads(vehicle, air(6.0, math.pi / 2), velocity=[0, 1, 0, 0, 0, 0.5])
    force = 3 * (6 - 1 - 0.5 * 1) ** 2
    np.testing.assert_allclose(found[[1, 3, 5]], [force, -0.5 * force, force], rtol=1e-12)


@pytest.mark.parametrize('name', ['bluerov2', 'wamv', 'surface_vessel', 'torpedo_auv'])
def test_a_submerged_vehicle_feels_no_wind(name):
    vehicle = vehicle_of(name)
    found = loads(vehicle, air(25.0, 0.7), z=-3.0)
    np.testing.assert_array_equal(found, np.zeros(6))
    assert np.linalg.norm(loads(vehicle, air(25.0, 0.7), z=0.2)[:2]) > 1


def test_the_load_falls_with_the_height_above_the_water():
    vehicle = windy(
        '<wind><top>1</top><waterline>-0.2</waterline><quadratic>1 1 0</quadratic></wind>'
    )
    for z, share in ((-1.1, 0.0), (-0.4, 0.5), (0.2, 1.0), (3.0, 1.0)):
        np.testing.assert_allclose(loads(vehicle, air(10.0), z=z)[0], 100 * share, atol=1e-12)


def test_without_an_element_the_box_of_the_collisions_is_taken():
    """torpedo_auv lies with half its hull out of the water."""
    vehicle = vehicle_of('torpedo_auv')
    points = vehicle.contact
    low = (points.position - points.radius[:, None]).min(axis=0)
    high = (points.position + points.radius[:, None]).max(axis=0)
    length, width, depth = high - low
    z = -(low + high)[2] / 2
    found = loads(vehicle, air(10.0), z=z)
    speed = Wind(10.0, 0.0).speed_at(np.array(0.0), 0.0)
    wanted = RHO / 2 * 0.7 * width * depth / 2 * speed**2
    np.testing.assert_allclose(found[0], wanted, rtol=1e-9)
    assert length > width


def test_only_a_wind_needs_to_know_what_it_loads():
    """A point mass that floats is simulated in still air, and refused in a wind."""
    vehicle = load_vehicle(
        '<robot name="point"><link name="base_link"><inertial><mass value="3"/><inertia ixx="1" '
        'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><buoyancy><volume>0.003'
        '</volume></buoyancy></robot>'
    )
    scenario = parse_scenario('duration: 0.05\nsegments: [{at: 0, pwm: []}]\n', 'still')
    assert len(simulate(vehicle, scenario).stamp) == 11
    with pytest.raises(MarineSimError, match='loads in a wind are unknown'):
        simulate(vehicle, scenario, environment=air(5.0))


def test_panels_feel_the_wind_as_their_own_motion():
    """A hull feels the wind as its own motion in still air; its drag then has no air."""
    vehicle = box((1.0, 0.6, 0.4), 150.0)
    state = state_at_rest((0, 0, 0.05))
    environment = air(7.0)
    moved = FORCES['wind'].wrench(vehicle, state, environment)
    speed = float(np.linalg.norm(environment.wind_velocity(_half_height(vehicle, state))))
    from marine_sim_ros.physics.hull_drag import hull_forces

    against = state._replace(velocity=np.array([-speed, 0, 0, 0, 0, 0]))
    wanted = hull_forces(vehicle, against, Environment())[0]['air']
    np.testing.assert_allclose(moved, wanted, rtol=1e-9, atol=1e-12)
    assert moved[0] > 0
    whole, wet = (FORCES['drag'].wrench(vehicle, against, e) for e in (Environment(), environment))
    np.testing.assert_allclose(whole - wet, wanted, rtol=1e-6, atol=1e-9)


def _half_height(vehicle, state):
    return (vehicle.hull.panels.vertices[:, 2].max() + state.position[2]) / 2


@pytest.mark.parametrize(
    ('element', 'message'),
    [
        (f'<wind>{AREAS}</wind>', 'top'),
        ('<wind><top>1</top></wind>', 'has no <frontal_area>; expected one, or <quadratic>'),
        (
            '<wind><top>1</top><waterline>1</waterline><quadratic>1 1 1</quadratic></wind>',
            'top is',
        ),
        ('<wind><top>1</top><quadratic>1 1</quadratic></wind>', 'quadratic'),
        (f'<wind><top>1</top>{AREAS}<coefficient angle="0"/></wind>', 'at other angles'),
        (
            '<wind><top>1</top><quadratic>1 1 1</quadratic><sinusoidal>1 1 0</sinusoidal></wind>',
            'coefficients of one kind',
        ),
        (f'<wind><top>1</top>{AREAS}<sail/></wind>', 'unknown element <sail>'),
    ],
)
def test_a_wrong_element_is_refused_in_one_line(element, message):
    with pytest.raises(ModelError, match=message) as caught:
        windy(element)
    assert '\n' not in str(caught.value)


# Runs.


def drift(duration=60, rpy=(0, 0, 0.4)):
    return parse_scenario(
        f'duration: {duration}\ninitial: {{position: [0, 0, 0], rpy: {list(rpy)}}}\n'
        'segments:\n  - {at: 0, axes: {}}\n',
        'drift',
    )


def vrx_drift(speed, towards, duration, yaw):
    """Pose of VRX's WAM-V: its hydrodynamics in the plane, and the quadratic wind force.

    M ν̇ + C(ν) ν + D ν = τ with VRX's drag and the added mass of urdf/wamv.urdf, ν in body axes;
    τ = (c_x u|u|, c_y v|v|, −2 c_n u v) of the apparent wind, c = (0.5, 0.5, 0.33).
    """
    m, iz, added = 180.0, 446.0, (0.0, 180.0, 200.0)

    def rate(_, y):
        _, _, psi, u, v, r = y
        c, s = math.cos(psi), math.sin(psi)
        wu = speed * math.cos(towards - psi) - u
        wv = speed * math.sin(towards - psi) - v
        force = np.array([0.5 * wu * abs(wu), 0.5 * wv * abs(wv), -0.66 * wu * wv])
        force -= [51.3 * u + 72.4 * u * abs(u), 40 * v, 400 * r]
        mx, my = m + added[0], m + added[1]
        force += [my * v * r, -mx * u * r, (mx - my) * u * v]
        du, dv, dr = force / [mx, my, iz + added[2]]
        return [c * u - s * v, s * u + c * v, r, du, dv, dr]

    found = solve_ivp(rate, (0, duration), [0, 0, yaw, 0, 0, 0], rtol=1e-9, atol=1e-9)
    return found.y[:, -1]


def test_a_wamv_drifts_as_by_vrxs_equations():
    run = simulate(vehicle_of('wamv'), drift(), environment=air(8.0, 1.2), dt=0.02)
    wanted = vrx_drift(8.0, 1.2, 60.0, 0.4)
    np.testing.assert_allclose(run.position[-1, :2], wanted[:2], rtol=0.01)
    q = run.orientation[-1]
    yaw = math.atan2(2 * (q[3] * q[2] + q[0] * q[1]), 1 - 2 * (q[1] ** 2 + q[2] ** 2))
    np.testing.assert_allclose(yaw, wanted[2], rtol=0.01)
    np.testing.assert_allclose(run.velocity[-1, :2], wanted[3:5], rtol=0.01)
    assert np.hypot(*wanted[:2]) > 10


@pytest.mark.long
@pytest.mark.parametrize('name', ['wamv', 'torpedo_auv'])
def test_the_compiled_engine_has_the_same_run(name):
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle, water, play = vehicle_of(name), load_environment('breeze'), drift(4)
    run = simulate(vehicle, play, environment=water, dt=0.02)
    found, _ = simulate_compiled(vehicle, play, environment=water, dt=0.02)
    np.testing.assert_allclose(found.position, run.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.velocity, run.velocity, rtol=0, atol=1e-9)
    assert np.abs(run.sources['wind'][:, :2]).max() > 0.1


# Anemometer.


ORIGIN = '<origin xyz="0 0 2"/>'


def anemometer(attributes=''):
    text = (ROOT / 'urdf/wamv.urdf').read_text(encoding='utf-8')
    sensor = f'<sensor type="anemometer" link="base_link" {attributes}>{ORIGIN}</sensor>'
    return load_vehicle(text.replace('</robot>', f'{sensor}</robot>'))


@pytest.mark.parametrize('degrees', [0.0, 45.0, 90.0, 200.0, 315.0])
def test_an_anemometer_reads_speed_and_angle_of_the_apparent_wind(degrees):
    vehicle = anemometer()
    sensor, kind = vehicle.sensors[-1], SENSORS['anemometer']
    towards = math.pi - math.radians(degrees)  # clockwise from the bow
    environment = air(12.0, towards + 0.5)
    state = state_at_rest((0, 0, 0), tuple(quaternion_from_rpy(0, 0, 0.5)))
    found = kind.measure(sensor, state, environment, SensorInputs.none())
    topics = {topic.name: topic.fields(sensor, found) for topic in kind.topics}
    speed = Wind(12.0, 0.0).speed_at(np.array(2.0), 0.0)
    np.testing.assert_allclose(topics['speed']['data'], speed, rtol=1e-12)
    np.testing.assert_allclose(np.exp(1j * np.radians(topics['direction']['data'] - degrees)), 1)
    moving = state._replace(velocity=np.array([2.0, 0, 0, 0, 0, 0]))
    still = kind.measure(sensor, moving, Environment(), SensorInputs.none())
    np.testing.assert_allclose(still['wind'], [-2.0, 0.0], atol=1e-12)


def test_an_anemometer_under_water_has_no_reading():
    vehicle = anemometer()
    found = SENSORS['anemometer'].measure(
        vehicle.sensors[-1], state_at_rest((0, 0, -3)), air(5.0), SensorInputs.none()
    )
    assert np.isnan(found['wind']).all()


def test_its_noise_and_steps_are_those_of_the_data_sheet():
    vehicle = anemometer('preset="windsonic"')
    sensor, kind = vehicle.sensors[-1], SENSORS['anemometer']
    ideal = {'wind': np.tile([-6.0, -8.0], (4000, 1))}
    stamps = np.arange(4000) * 250_000_000
    found = kind.disturb(sensor, ideal, stamps, 7, ())['wind']
    speed = np.hypot(*found.T)
    angle = np.degrees(np.arctan2(found[:, 1], -found[:, 0]))
    np.testing.assert_allclose(speed.std(), 0.1, rtol=0.05)
    np.testing.assert_allclose(angle.std(), 1.0, rtol=0.1)
    np.testing.assert_allclose(100 * speed, np.round(100 * speed), atol=1e-6)
    np.testing.assert_allclose(angle, np.round(angle), atol=1e-6)
    fast = kind.disturb(sensor, {'wind': np.array([-90.0, 0.0])}, 0, 7, ())['wind']
    np.testing.assert_allclose(np.hypot(*fast), 60.0)


@pytest.mark.ros
def test_the_graph_is_the_simulation_in_a_wind(processes, tmp_path):
    sensor = f'<sensor type="anemometer" link="base_link" preset="windsonic">{ORIGIN}</sensor>'
    text = (ROOT / 'urdf/wamv.urdf').read_text(encoding='utf-8')
    (tmp_path / 'boat.urdf').write_text(text.replace('</robot>', f'{sensor}</robot>'))
    (tmp_path / 'drift.yaml').write_text(
        'duration: 1.5\ninitial: {position: [0, 0, 0]}\nsegments:\n  - {at: 0.2, axes: {}}\n'
    )
    run_everywhere(
        processes, tmp_path, tmp_path / 'boat.urdf', '--scenario', tmp_path / 'drift.yaml',
        '--environment', 'breeze',
    )  # fmt: skip

    def series(way):
        topics = recorded(tmp_path / way)
        winds = [[m.vector.x, m.vector.y] for _, m in sorted(topics['anemometer/wind'].items())]
        return winds, [numbers(m) for _, m in sorted(topics['wrench/wind'].items())]

    wanted = series('simulate')
    assert len(wanted[0]) > 3
    for way in ('separate', 'composed'):
        winds, wrenches = series(way)
        np.testing.assert_array_equal(wrenches, wanted[1])
        np.testing.assert_array_equal(winds, wanted[0][: len(winds)])


def test_waves_do_not_depend_on_the_wind():
    sea = load_environment('moderate_sea')
    both = replace(sea, wind=Wind(20.0, 0.0))
    points = np.array([[1.0, 2.0, -1.0], [5.0, 3.0, 0.0]])
    np.testing.assert_array_equal(sea.at(3.0).elevation(points), both.at(3.0).elevation(points))
    assert not both.is_steady
