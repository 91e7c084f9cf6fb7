# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Silt: pick-up, settling and clouds against closed forms; what cameras and sonars see of it."""

import math

import numpy as np
import pytest
from graph import run_everywhere
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.environment.sediment import Sediment, jet_pick_up
from marine_sim_ros.physics.silt import CLOUDS, PERIOD, SiltClouds, _add, stirred_mass
from marine_sim_ros.sensors.acoustics import silt_backscatter
from marine_sim_ros.sensors.camera.particles import optical_depths
from marine_sim_ros.sim.scenario import parse_scenario

WATER = 1000.0, 1e-6
"""Density, kg/m³, and kinematic viscosity, m²/s."""
BED = """
water: {kind: sea}
seabed: {depth: 10.0, material: sand}
sediment: {diameter: 3.0e-5, erodibility: 3.0e-3, diffusivity: 2.0e-3}
"""
HOVER = """
duration: 5.0
initial: {position: [0.0, 0.0, -9.4]}
segments:
  - {at: 0.0, axes: {heave: 0.6}}
  - {at: 1.0, depth: 9.4, axes: {surge: -0.7}}
"""


def state(z=-9.0, velocity=(0, 0, 0), rpy=(0, 0, 0)):
    motion = np.array([*velocity, 0, 0, 0.0])
    return State(np.array([0.0, 0.0, z]), quaternion_from_rpy(*rpy), motion)


def test_grains_settle_as_stokes_has_it_where_they_are_small_and_as_measured_where_not():
    small = Sediment(diameter=1e-5)
    stokes = 9.81 * 1.65 * small.diameter**2 / (18 * WATER[1])
    assert small.settling_speed(*WATER) == pytest.approx(stokes, rel=0.1)
    # Ferguson and Church (2004), w = R g d²/(C₁ ν + √(0.75 C₂ R g d³)) with 18 and 1.0
    for diameter in (6e-5, 1e-4, 2e-4, 5e-4, 1e-3):
        rise = 1.65 * 9.81 * diameter
        expected = rise * diameter / (18 * WATER[1] + math.sqrt(0.75 * rise * diameter**2))
        found = Sediment(diameter=diameter).settling_speed(*WATER)
        assert found == pytest.approx(expected, rel=0.25)


def test_the_threshold_of_motion_is_that_of_shields_diagram():
    found = Sediment(diameter=2e-4).critical_stress(*WATER)  # D* = 5.06
    assert found == pytest.approx((0.3 / 7.07 + 0.055 * 0.0963) * 1650 * 9.81 * 2e-4, rel=1e-3)
    assert 0.15 < found < 0.2  # Pa, of fine sand


@pytest.mark.parametrize(('thrust', 'distance'), [(20.0, 0.5), (5.0, 1.5), (0.4, 2.0)])
def test_a_jet_picks_up_the_integral_over_the_bed(thrust, distance):
    bed = Sediment()
    critical = bed.critical_stress(*WATER)
    peak, inner = 0.2 * thrust / distance**2, 0.12 * distance
    radius = np.linspace(0.0, 200.0 * inner, 2_000_001)
    stress = peak * np.minimum(1.0, (inner / np.maximum(radius, 1e-9)) ** 2)
    rate = bed.erodibility * np.maximum(stress / critical - 1.0, 0.0) * 2 * np.pi * radius
    expected = trapezoid(rate, radius)
    found = jet_pick_up(bed, critical, np.array(thrust), np.array(distance))
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-12)
    assert (found == 0.0) == (peak <= critical)
    assert jet_pick_up(bed, critical, np.array(-thrust), np.array(distance)) == 0.0


def test_only_jets_towards_a_near_bed_and_hulls_that_plough_it_stir_up():
    vehicle, water = load_vehicle('bluerov2'), parse_environment(BED, 'bed')
    down = np.array([0, 0, 0, 0, -30.0, -30.0])
    up = {z: float(stirred_mass(vehicle, state(z), water, down)) for z in (-6.5, -8.0, -9.0, -9.5)}
    assert up[-6.5] == 0.0
    assert 0.0 < up[-8.0] < up[-9.0] < up[-9.5]
    assert stirred_mass(vehicle, state(), water, -down) == 0.0  # the jets go up
    rest = np.zeros(6)
    low = -10.0 - float(vehicle.contact.position[:, 2].min())
    assert stirred_mass(vehicle, state(low), water, rest) == 0.0
    assert stirred_mass(vehicle, state(low + 0.1, (0.5, 0, 0)), water, rest) == 0.0
    slow, fast = (stirred_mass(vehicle, state(low, (v, 0, 0)), water, rest) for v in (0.2, 0.4))
    assert 0.0 < 2 * slow == pytest.approx(fast)
    clean = parse_environment('seabed: {depth: 10.0, material: sand}', 'clean')
    assert stirred_mass(vehicle, state(-9.5), clean, down) == 0.0


def test_many_states_at_once_are_those_one_by_one():
    vehicle, water = load_vehicle('bluerov2'), parse_environment(BED, 'bed')
    draw = np.random.default_rng(3)
    states = [state(-10 + z, draw.normal(size=3), draw.normal(size=3) / 3) for z in draw.random(9)]
    thrust = draw.normal(size=(9, 6)) * 20
    stacked = State(*map(np.stack, zip(*states, strict=True)))
    together = stirred_mass(vehicle, stacked, water, thrust)
    each = [stirred_mass(vehicle, s, water, t) for s, t in zip(states, thrust, strict=True)]
    np.testing.assert_allclose(together, each, rtol=1e-12)


def test_a_cloud_drifts_spreads_and_settles_as_its_equations_have_it():
    water = parse_environment(BED + 'current: {velocity: [0.2, -0.1, 0.0]}', 'bed')
    clouds = SiltClouds(load_vehicle('bluerov2'))
    clouds.advance(0, state(-2.0), water, np.zeros(6))
    clouds.rows = clouds.rows.copy()
    clouds.rows[0] = [0.0, 0.0, -9.6, 0.3, 0.02]
    for tick in range(1, 201):
        clouds.advance(tick * PERIOD // 2, state(-2.0), water, np.zeros(6))
    x, y, z, size, mass = clouds.rows[0]
    fall = water.sediment.settling_speed(water.water_density, water.kinematic_viscosity)
    assert [x, y, z] == pytest.approx([2.0, -1.0, -9.6 - 10 * fall])
    assert size == pytest.approx(math.sqrt(0.3**2 + 2 * 2e-3 * 10))
    # the same integral with small steps
    left, time, step = 0.02, 0.0, 1e-3
    while time < 10.0:
        now, height = math.sqrt(0.09 + 4e-3 * time), 0.4 - fall * time
        flux = 2 / (math.sqrt(2 * math.pi) * now) * math.exp(-0.5 * (height / now) ** 2)
        left, time = left * math.exp(-fall * flux * step), time + step
    assert mass == pytest.approx(left, rel=1e-3)
    assert mass < 0.02


def test_a_run_begins_with_clear_water_and_again_after_a_reset():
    vehicle, water = load_vehicle('bluerov2'), parse_environment(BED, 'bed')
    clouds, down = SiltClouds(vehicle), np.array([0, 0, 0, 0, -30.0, -30.0])
    first = [clouds.advance(i * PERIOD, state(-9.4), water, down) for i in range(20)]
    assert not first[0].any()
    assert first[-1][:, 4].sum() > 0.001
    again = [clouds.advance(i * PERIOD, state(-9.4), water, down) for i in range(20)]
    for before, after in zip(first, again, strict=True):
        np.testing.assert_array_equal(before, after)


@given(seed=st.integers(0, 10**6), count=st.integers(1, 3 * CLOUDS))
def test_clouds_that_join_keep_mass_and_middle(seed, count):
    draw = np.random.default_rng(seed)
    rows, added = np.zeros((CLOUDS, 5)), []
    for _ in range(count):
        cloud = np.array([*draw.normal(size=3), 0.1 + draw.random(), 0.01 + draw.random()])
        added.append(cloud)
        _add(rows, cloud)
    total = np.array(added)
    assert rows[:, 4].sum() == pytest.approx(total[:, 4].sum())
    np.testing.assert_allclose(rows[:, 4] @ rows[:, :3], total[:, 4] @ total[:, :3], atol=1e-9)
    assert np.all(rows[rows[:, 4] > 0, 3] > 0.1)


def test_the_optical_depth_is_the_integral_along_the_ray():
    clouds = np.array([[2.0, 0.3, 0.1, 0.4, 0.03], [0.2, 0.0, 0.0, 0.2, 0.01]])
    ray = np.array([0.8, 0.6, 0.0])
    for reach in (0.5, 2.0, 30.0):
        along = np.linspace(0.0, reach, 200_001)
        apart = np.sum((along[:, None, None] * ray - clouds[:, :3]) ** 2, axis=-1)
        density = clouds[:, 4] / (2 * np.pi * clouds[:, 3] ** 2) ** 1.5
        expected = trapezoid(density * np.exp(-0.5 * apart / clouds[:, 3] ** 2), along, axis=0)
        found = optical_depths(clouds, ray, np.array(reach))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_small_grains_scatter_sound_as_rayleigh_has_it():
    """f = x² there, so that the cross section grows with k⁴ a³."""
    for diameter, ratio in ((1e-5, 1.0), (2e-5, 8.0)):
        found = silt_backscatter(Sediment(diameter=diameter), 300.0)
        reference = silt_backscatter(Sediment(diameter=1e-5), 300.0)
        assert found / reference == pytest.approx(ratio, rel=0.05)
    fine = Sediment(diameter=1e-5)
    ratio = silt_backscatter(fine, 600.0) / silt_backscatter(fine, 300.0)
    assert ratio == pytest.approx(16, rel=0.05)


def test_sediment_needs_a_seabed():
    with pytest.raises(MarineSimError, match='no seabed'):
        parse_environment('sediment: {diameter: 3.0e-5}', 'water')
    with pytest.raises(MarineSimError, match='diameter'):
        parse_environment('seabed: {depth: 9}\nsediment: {diameter: 0.1}', 'water')


@pytest.mark.long
@pytest.mark.usefixtures('renderer')
def test_a_cloud_hides_what_is_behind_it_and_does_not_change_the_motion():
    vehicle = load_vehicle('bluerov2', camera='true', camera_height='90', imaging_sonar='true')
    runs = [
        simulate(
            vehicle, parse_scenario(HOVER, 'hover.yaml'),
            environment=parse_environment(text, 'bed'), dt=0.02,
        )
        for text in (BED, BED.split('sediment')[0])
    ]  # fmt: skip
    assert runs[0].sha256 == runs[1].sha256
    silty, clear = (run.sensors['camera']['image'] for run in runs)
    np.testing.assert_array_equal(silty[0], clear[0])
    difference = np.abs(silty[-1].astype(float) - clear[-1]).max(axis=(1, 2))
    assert difference[45:].max() >= 4 > difference[:10].max()  # below, where the bed is
    echoes = [run.sensors['imaging_sonar']['image'] for run in runs]
    assert (echoes[0].astype(int) >= echoes[1]).all()


@pytest.mark.ros
@pytest.mark.usefixtures('renderer')
def test_nodes_and_simulate_see_the_same_clouds(processes, tmp_path):
    from rosbags.highlevel import AnyReader

    (tmp_path / 'hover.yaml').write_text(HOVER)
    (tmp_path / 'bed.yaml').write_text(BED)
    given_options = ['bluerov2', '--environment', tmp_path / 'bed.yaml', '--seed', '5']
    given_options += ['--scenario', tmp_path / 'hover.yaml', '--set', 'camera:=true']
    given_options += ['--set', 'camera_height:=90']
    ways = ('simulate', 'composed')
    run_everywhere(processes, tmp_path, *given_options, ways=ways, busy=False)
    images = []
    for way in ways:
        with AnyReader([tmp_path / way / 'bag']) as reader:
            images.append(
                [
                    bytes(reader.deserialize(data, c.msgtype).data)
                    for c, _, data in reader.messages()
                    if c.topic.endswith('camera/image')
                ]
            )
    assert len(images[0]) > 20
    assert images[0] == images[1]
