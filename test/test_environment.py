# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Water, waves and currents, against closed forms."""

import hashlib
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.files import resource_folder
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.changes import changes_text, load_changes, parse_changes
from marine_sim_ros.environment.currents_and_waves import (
    CurrentProfile,
    GaussMarkov,
    dispersion,
    irregular_waves,
    jonswap,
    regular_waves,
    spreading_angles,
)
from marine_sim_ros.environment.environment import Environment, density, water_properties
from marine_sim_ros.environment.reader import (
    ENVIRONMENT_FILES,
    load_environment,
    parse_environment,
    run_environment,
)
from marine_sim_ros.faults.fault_types import parse_faults, with_gusts
from marine_sim_ros.physics.drag import drag

G = 9.81
DEPTHS = (math.inf, 40.0, 3.0)
POINTS = np.array([[0.0, 0.0, -0.3], [3.0, -2.0, -1.0], [-7.0, 11.0, -2.5]])
SEA = {'spreading': 10.0, 'direction': 0.7, 'gravity': G}


def seas(depth):
    """A regular and an irregular sea in a depth of water."""
    return (
        regular_waves(0.5, 5.0, direction=0.6, phase=0.3, depth=depth, gravity=G),
        irregular_waves(1.0, 6.0, components=16, seed=3, depth=depth, **SEA),
    )


def gradient(function, points, step=1e-4):
    """Return ∂f_i/∂x_j (..., i, j), or ∂f/∂x_j (..., j) of a scalar, by central differences."""
    moves = step * np.eye(3)
    return np.stack(
        [(function(points + m) - function(points - m)) / (2 * step) for m in moves], axis=-1
    )


# --- waves ---------------------------------------------------------------------------------


@pytest.mark.parametrize('depth', [math.inf, 1e4, 40.0, 3.0, 0.2])
def test_dispersion(depth):
    frequency = np.geomspace(0.05, 20, 50)
    k = dispersion(frequency, depth, G)
    assert np.sqrt(G * k * np.tanh(k * depth)) == pytest.approx(frequency, rel=1e-10)


def test_phase_speed_and_direction_in_deep_water():
    period, direction = 5.0, 2.1
    waves = regular_waves(1.0, period, direction=direction, phase=0.4, gravity=G)
    speed = G * period / (2 * math.pi)
    heading = np.array([math.cos(direction), math.sin(direction), 0.0])
    times = np.linspace(0, 20, 30)
    ridden = [waves.elevation(POINTS + speed * t * heading, t) for t in times]
    assert np.ptp(ridden, axis=0) == pytest.approx(0, abs=1e-9)
    across = np.array([-heading[1], heading[0], 0.0])
    assert waves.elevation(POINTS + 9 * across, 1.0) == pytest.approx(waves.elevation(POINTS, 1.0))


@pytest.mark.parametrize('depth', DEPTHS)
def test_water_is_incompressible_and_irrotational(depth):
    for waves in seas(depth):
        slope = gradient(lambda p, w=waves: w.velocity(p, 1.7), POINTS)
        size = np.abs(slope).max()
        assert np.trace(slope, axis1=-2, axis2=-1) == pytest.approx(0, abs=1e-7 * size)
        assert slope - np.swapaxes(slope, -1, -2) == pytest.approx(0, abs=1e-7 * size)


@pytest.mark.parametrize('depth', DEPTHS)
def test_acceleration_is_the_rate_of_velocity_and_the_pressure_gradient(depth):
    for waves in seas(depth):
        acceleration = waves.acceleration(POINTS, 1.7)
        step = 1e-4
        rate = waves.velocity(POINTS, 1.7 + step) - waves.velocity(POINTS, 1.7 - step)
        assert acceleration == pytest.approx(rate / (2 * step), rel=1e-6, abs=1e-8)
        head = gradient(lambda p, w=waves: w.dynamic_head(p, 1.7), POINTS)
        assert acceleration == pytest.approx(-G * head, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize('depth', DEPTHS)
def test_the_surface_moves_with_the_water_and_has_no_pressure(depth):
    surface = POINTS * (1, 1, 0)
    for waves in seas(depth):
        step = 1e-4
        rise = waves.elevation(surface, 2 + step) - waves.elevation(surface, 2 - step)
        climb = waves.velocity(surface, 2.0)[..., 2]
        assert climb == pytest.approx(rise / (2 * step), rel=1e-6, abs=1e-8)
        head = waves.dynamic_head(surface, 2.0)
        assert head == pytest.approx(waves.elevation(surface, 2.0), rel=1e-12)


def test_orbits_shrink_with_depth():
    waves = regular_waves(0.8, 5.0, direction=0.6, gravity=G)
    frequency, k = float(waves.frequency[0]), float(waves.wavenumber[0])
    for z in (0.0, -1.0, -10.0, -100.0):
        point = np.array([2.0, 1.0, z])
        speed = [np.linalg.norm(waves.velocity(point, t)) for t in np.linspace(0, 5, 9)]
        assert np.array(speed) / frequency == pytest.approx(0.4 * math.exp(k * z))


def test_nothing_passes_through_the_bottom():
    for waves in seas(3.0):
        for z in (-3.0, -5.0):
            velocity = waves.velocity(np.array([4.0, 5.0, z]), 1.0)
            assert velocity[2] == pytest.approx(0, abs=1e-12)
            assert np.hypot(velocity[0], velocity[1]) > 1e-3


def test_great_depth_is_deep_water_and_does_not_overflow():
    with np.errstate(all='raise', under='ignore'):
        deep, finite = (seas(h)[1] for h in (math.inf, 9000.0))
        points = np.concatenate([POINTS, [[0.0, 0.0, -8000.0]]])
        for name in ('velocity', 'acceleration', 'dynamic_head'):
            a, b = (getattr(w, name)(points, 3.0) for w in (deep, finite))
            assert a == pytest.approx(b, rel=1e-9, abs=1e-12)


def test_the_motion_at_the_mean_surface_goes_on_above_it():
    for waves in (*seas(math.inf), *seas(3.0)):
        above, at = np.array([1.0, 2.0, 0.7]), np.array([1.0, 2.0, 0.0])
        assert np.array_equal(waves.velocity(above, 1.0), waves.velocity(at, 1.0))
        assert np.array_equal(waves.dynamic_head(above, 1.0), waves.dynamic_head(at, 1.0))


# --- irregular seas ------------------------------------------------------------------------


@pytest.mark.parametrize('gamma', [1.0, 3.3])
def test_a_generated_sea_has_the_height_and_the_period_asked_for(gamma):
    height, period, dt = 1.25, 6.0, 0.5
    t = np.arange(0, 3 * 3600, dt)
    power = []
    for seed in range(6):
        waves = irregular_waves(height, period, gamma=gamma, seed=seed, **SEA)
        assert waves.significant_height == pytest.approx(height, rel=1e-12)
        record = np.cos(waves.phase - t[:, None] * waves.frequency) @ waves.amplitude
        assert 4 * record.std() == pytest.approx(height, rel=0.05)
        power.append(np.abs(np.fft.rfft(record)) ** 2)
    frequency = np.fft.rfftfreq(len(t), dt)
    bins = np.arange(0.05, 0.5, 0.02)
    mean, _ = np.histogram(frequency, bins, weights=np.mean(power, axis=0))
    peak = bins[np.argmax(mean)] + 0.01
    assert peak == pytest.approx(1 / period, abs=0.02)


@pytest.mark.parametrize(('gamma', 'mean', 'crossing'), [(1.0, 0.7718, 0.7104),
                                                         (3.3, 0.8345, 0.7775)])  # fmt: skip
def test_mean_periods_of_the_spectrum(gamma, mean, crossing):
    """T01/Tp and T02/Tp of DNV-RP-C205, 3.5.5.4; the cut tail makes T02 longer."""
    ratios = np.concatenate(
        [irregular_waves(1.0, 2 * math.pi, gamma=gamma, seed=s).frequency for s in range(40)]
    )
    assert 1 / np.mean(ratios) == pytest.approx(mean, rel=0.01)
    assert 1 / np.sqrt(np.mean(ratios**2)) == pytest.approx(crossing, rel=0.03)


def test_the_peak_of_jonswap_is_higher_by_gamma():
    ratio = np.array([0.5, 1.0, 1.05, 2.5])
    plain, peaked = jonswap(ratio, 1.0), jonswap(ratio, 3.3)
    assert plain == pytest.approx(ratio**-5 * np.exp(-1.25 * ratio**-4))
    assert peaked[1] / plain[1] == pytest.approx(3.3)
    assert peaked[2] / plain[2] == pytest.approx(3.3 ** math.exp(-0.5 * (0.05 / 0.09) ** 2))
    assert peaked[[0, 3]] == pytest.approx(plain[[0, 3]], rel=1e-6)


@pytest.mark.parametrize('exponent', [1.0, 5.0, 25.0])
def test_directions_spread_as_asked(exponent):
    """Mean cos θ and cos 2θ of cos^2s(θ/2): s/(s+1) and s(s−1)/((s+1)(s+2))."""
    waves = irregular_waves(1.0, 6.0, direction=0.7, spreading=exponent, components=400, seed=2)
    angle = waves.direction - 0.7
    s = exponent
    assert np.mean(np.cos(angle)) == pytest.approx(s / (s + 1), abs=0.005)
    assert np.mean(np.cos(2 * angle)) == pytest.approx(s * (s - 1) / ((s + 1) * (s + 2)), abs=0.01)
    assert np.mean(np.sin(angle)) == pytest.approx(0, abs=0.005)
    assert abs(np.corrcoef(angle, waves.frequency)[0, 1]) < 0.15


def test_a_long_crested_sea_has_one_direction():
    assert np.ptp(irregular_waves(1.0, 6.0, direction=0.7).direction) == 0
    assert spreading_angles(math.inf, np.array([0.1, 0.9])) == pytest.approx(0)


@pytest.mark.parametrize('depth', [math.inf, 12.0])
@given(seed=st.integers(0, 2**32 - 1), time=st.floats(0, 1e6))
@settings(max_examples=30, deadline=None)
def test_waves_of_many_bodies_are_those_of_each(depth, seed, time):
    """Points of several bodies at once, by blocks and tan(θ/2)."""
    waves = irregular_waves(1.5, 7.0, depth=depth, **SEA)
    points = np.random.default_rng(seed).uniform(-300, 300, (3, 217, 3)) * [1, 1, 0.02]
    for together, apart in zip(
        waves.elevation_and_acceleration(points, time),
        zip(*(waves.elevation_and_acceleration(p, time) for p in points), strict=True),
        strict=True,
    ):
        np.testing.assert_allclose(together, np.stack(apart), rtol=0, atol=1e-13)


HASH = """
import hashlib
import numpy as np
from marine_sim_ros.environment.reader import load_environment
digest = hashlib.sha256()
points = np.linspace(-20, 0, 30).reshape(10, 3)
for name in ('moderate_sea', 'swell', 'tidal_channel'):
    for time in (7.25, 0.0, 1234.5):
        at = load_environment(name).at(time)
        for value in (at.elevation(points), at.velocity(points), at.acceleration(points)):
            digest.update(value.tobytes())
print(digest.hexdigest())
"""


def test_every_process_has_the_same_sea_to_the_last_bit():
    hashes = {
        subprocess.run(
            [sys.executable, '-c', HASH], check=True, capture_output=True, text=True,
            env={**os.environ, 'PYTHONHASHSEED': seed},
        ).stdout
        for seed in ('1', '2')
    }  # fmt: skip
    assert len(hashes) == 1
    assert len(hashes.pop().strip()) == hashlib.sha256().digest_size * 2


def test_seeds_make_different_seas_and_leave_the_global_generator_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    a, b, c = (irregular_waves(1.0, 6.0, seed=s, **SEA) for s in (1, 2, 1))
    for name in ('frequency', 'direction', 'phase'):
        assert np.array_equal(getattr(a, name), getattr(c, name))
        assert np.mean(getattr(a, name) == getattr(b, name)) < 0.1
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


# --- currents ------------------------------------------------------------------------------


def test_a_profile_is_linear_between_its_points_and_held_beyond():
    depth = np.array([1.0, 4.0, 10.0])
    current = np.array([[1.0, 0.2, 0.0], [0.4, -0.2, 0.1], [0.1, 0.0, 0.0]])
    profile = CurrentProfile(depth, current)
    z = np.linspace(-14, 2, 81)
    points = np.stack([z, -z, z], axis=-1)
    expected = np.stack([np.interp(-z, depth, current[:, i]) for i in range(3)], axis=-1)
    assert profile.velocity(points) == pytest.approx(expected, abs=1e-14)
    single = CurrentProfile(depth[:1], current[:1]).velocity(points)
    assert np.all(single == current[0])


def test_gauss_markov_has_its_variance_and_its_autocorrelation():
    deviation, constant = np.array([0.3, 0.1, 0.02]), 20.0
    lags = np.array([0.0, 0.5, 1.0, 2.0])
    products = []
    for seed in range(400):
        process = GaussMarkov(deviation, constant, seed=seed)
        for start in (0.0, 1e3, 5e4):
            values = [process.velocity(np, start + lag * constant) for lag in lags]
            products.append(np.array(values) * values[0] / deviation**2)
    # 3600 products of unit normals: their mean is uncertain by √2/60, 0.024.
    found = np.mean(products, axis=(0, 2))
    assert found == pytest.approx(np.exp(-lags), abs=0.09)


def test_gauss_markov_repeats_and_its_axes_and_seeds_differ():
    a, b, c = (GaussMarkov(np.ones(3), 5.0, seed=s) for s in (1, 1, 2))
    assert np.array_equal(a.velocity(np, 12.5), b.velocity(np, 12.5))
    assert len({*a.velocity(np, 12.5), *c.velocity(np, 12.5)}) == 6


# --- water ---------------------------------------------------------------------------------


@pytest.mark.parametrize(('salinity', 'temperature', 'expected'), [
    (0, 5, 999.96675), (0, 25, 997.04796), (35, 5, 1027.67547), (35, 25, 1023.34306),
])  # fmt: skip
def test_density_has_the_check_values_of_eos80(salinity, temperature, expected):
    """UNESCO (1981), Technical Papers in Marine Science 36, page 19."""
    assert density(temperature, salinity) == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize(('salinity', 'expected'), [(0.0, 1.1386e-6), (35.16, 1.1892e-6)])
def test_viscosity_is_that_of_the_ittc_at_15_degrees(salinity, expected):
    """ITTC recommended procedure 7.5-02-01-03."""
    assert water_properties(15.0, salinity).kinematic_viscosity == pytest.approx(
        expected, rel=5e-3
    )


@pytest.mark.parametrize('bad', [(-1, 35), (41, 35), (15, -1), (15, 43), (math.nan, 0)])
def test_water_out_of_range_is_refused(bad):
    with pytest.raises(ParameterError, match='expected 0 to'):
        water_properties(*bad)


# --- the environment -----------------------------------------------------------------------


def everything():
    return Environment(
        gravity=G,
        current=np.array([0.1, 0.2, 0.0]),
        profile=CurrentProfile(np.array([0.0, 5.0]), np.array([[0.5, 0, 0], [0.1, 0, 0]])),
        fluctuation=GaussMarkov(np.array([0.1, 0.1, 0.02]), 20.0, seed=4),
        waves=seas(15.0)[1],
    )


def test_velocity_is_the_sum_of_its_parts():
    e = everything().at(3.5)
    parts = (
        e.current, e.profile.velocity(POINTS), e.fluctuation.velocity(np, 3.5),
        e.waves.velocity(POINTS, 3.5),
    )  # fmt: skip
    assert e.velocity(POINTS) == pytest.approx(sum(parts), abs=1e-15)
    assert np.array_equal(e.acceleration(POINTS), e.waves.acceleration(POINTS, 3.5))


def test_still_and_flat_water():
    still = Environment()
    assert still.is_still
    assert still.is_flat
    for value in (still.velocity(POINTS), still.acceleration(POINTS)):
        assert value.shape == POINTS.shape
        assert not np.any(value)
    for value in (still.elevation(POINTS), still.dynamic_head(POINTS)):
        assert value.shape == POINTS.shape[:-1]
        assert not np.any(value)
    assert not Environment(current=(0.1, 0.0, 0.0)).is_still
    for part in ('profile', 'fluctuation', 'waves'):
        moving = Environment(**{part: getattr(everything(), part)})
        assert not moving.is_still
        assert moving.is_flat == (part != 'waves')


def test_the_order_of_times_does_not_matter():
    times = (4.0, 0.0, 1e5, 4.0, 0.005)
    e = everything()
    chained, forward = e, {}
    for t in times:
        chained = chained.at(t)
        forward[t] = chained.velocity(POINTS)
    for t in reversed(times):
        assert np.array_equal(everything().at(t).velocity(POINTS), forward[t])
    assert e.time == 0.0


NAMES = ('elevation', 'velocity', 'acceleration', 'dynamic_head')


@pytest.mark.parametrize('depth', [math.inf, 15.0])
@pytest.mark.parametrize('name', NAMES)
def test_runs_on_any_array_library_and_over_any_leading_axes(name, depth):
    xp = pytest.importorskip('array_api_strict')
    e = everything()
    e = Environment(G, None, e.current, 1e-6, e.profile, e.fluctuation, seas(depth)[1]).at(2.5)
    batch = np.stack([POINTS, POINTS + 1.0])
    expected = getattr(e, name)(batch)
    strict = getattr(e, name)(xp.asarray(batch))
    assert type(strict) is xp.asarray(0.0).__class__
    assert np.asarray(strict) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    for index in np.ndindex(2, 3):
        single = getattr(e, name)(batch[index])
        assert single == pytest.approx(expected[index], rel=1e-12, abs=1e-14)
    timed = e.at(xp.asarray(2.5))
    strict = getattr(timed, name)(xp.asarray(batch))
    assert np.asarray(strict) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_elevation_needs_no_height():
    e = everything().at(2.0)
    assert np.array_equal(e.elevation(POINTS[:, :2]), e.elevation(POINTS))


def test_a_thousand_points_are_fast():
    e = Environment(waves=irregular_waves(1.0, 6.0, seed=1))
    points = np.zeros((1000, 3)) + np.arange(1000)[:, None]
    seconds = []
    for i in range(20):
        start = time.process_time()
        e.at(0.1 * i).elevation(points)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 5e-3  # about 1 ms; loaded machines are slower


# --- files ---------------------------------------------------------------------------------

FOLDER = resource_folder('config') / 'environments'
TEXTS = {name: (FOLDER / f'{name}.yaml').read_text(encoding='utf-8') for name in
         ENVIRONMENT_FILES.names()}  # fmt: skip


def test_shipped_environments_are_what_they_say():
    wanted = {'still', 'fresh_pool', 'regular_waves', 'moderate_sea', 'swell', 'tidal_channel'}
    assert set(ENVIRONMENT_FILES.names()) >= wanted
    names = set(ENVIRONMENT_FILES.names()) - {'overgrown_wreck'}  # seconds: tested with meshes
    loaded = {name: load_environment(name) for name in names}
    assert loaded['still'].is_still
    assert loaded['still'].water_density == pytest.approx(1026, abs=1)
    assert loaded['fresh_pool'].water_density == pytest.approx(996.8, abs=0.5)
    assert not loaded['regular_waves'].is_flat
    assert loaded['tidal_channel'].is_flat
    for name in ('regular_waves', 'moderate_sea', 'swell'):
        asked = yaml.safe_load(TEXTS[name])['waves']
        found = loaded[name].waves
        if asked['type'] == 'regular':
            assert found.amplitude == pytest.approx(asked['height'] / 2)
            assert found.frequency == pytest.approx(2 * math.pi / asked['period'])
        else:
            assert found.significant_height == pytest.approx(asked['significant_height'])
    assert all(e.name == name for name, e in loaded.items())
    bottom = loaded['tidal_channel'].profile.velocity(np.array([0.0, 0.0, -30.0]))
    assert bottom == pytest.approx(0, abs=1e-12)


def test_explicit_water_wins_and_no_water_is_the_vehicles_own():
    assert parse_environment('description: x', 'x.yaml').water_density is None
    e = parse_environment('water: {kind: fresh, density: 1010.5}', 'x.yaml')
    assert e.water_density == 1010.5
    assert e.kinematic_viscosity == pytest.approx(1.139e-6, rel=5e-3)


def test_a_wavelength_gives_the_period():
    text = 'gravity: 9.81\ndepth: 2.0\nwaves: {type: regular, height: 0.1, wavelength: 6.0}'
    assert parse_environment(text, 'x.yaml').waves.wavenumber == pytest.approx(2 * math.pi / 6)


def test_what_a_run_asks_for_replaces_what_the_file_says():
    e = run_environment('regular_waves', gravity=5.0, water_density=900.0, current=(0.1, 0, 0))
    assert (e.gravity, e.water_density) == (5.0, 900.0)
    assert e.current == pytest.approx([0.1, 0, 0])
    # A wave's pressure and acceleration belong to one gravity.
    head = gradient(e.dynamic_head, POINTS)
    assert e.acceleration(POINTS) == pytest.approx(-5.0 * head, rel=1e-6, abs=1e-8)
    assert e.waves.frequency == pytest.approx(2 * math.pi / 5)


REGULAR = 'waves: {type: regular, '
JONSWAP = 'waves: {type: jonswap, significant_height: 1, peak_period: 6, '
BAD = {
    'breeze: 3': "unknown key 'breeze'",
    '': 'expected a mapping',
    '[1': ':1:3: not valid YAML',
    '[]': 'expected a mapping',
    'false': 'expected a mapping',
    'gravity: fast': "gravity is 'fast'; expected a number",
    'depth: -3': 'depth is -3',
    'depth: .nan': 'depth is nan',
    'water: {kind: oil}': "water.kind is 'oil'; expected one of: fresh, sea",
    'water: {temperature: 50}': 'water.temperature is 50; expected a number from 0 to 40',
    'water: sea': 'water: expected a mapping',
    'waves: {height: 1}': "'type' is missing",
    f'{REGULAR}height: 1}}': 'either period or wavelength',
    f'{REGULAR}height: 1, period: 5, wavelength: 9}}': 'either period or wavelength',
    f'{REGULAR}height: 1, period: 2}}': 'breaks at',
    f'{REGULAR}height: 1.5, wavelength: 10}}': 'breaks at',
    f'{REGULAR}height: null, period: 5}}': 'height is None',
    f'{REGULAR}height: 1, period: 5, gamma: 2}}': "unknown key 'gamma'",
    f'{JONSWAP}height: 2}}': "unknown key 'height'",
    f'{JONSWAP}gamma: 0.5}}': 'gamma is 0.5',
    f'{JONSWAP}components: 2.5}}': 'components is 2.5; expected a whole number',
    f'{JONSWAP}components: 0}}': 'components is 0; expected',
    'waves: {type: jonswap, significant_height: 10, peak_period: 1}': (
        'significant_height is 10; waves of the peak period, 1.56 m long, break at 0.221 m'
    ),
    'waves: {type: pierson_moskowitz, significant_height: 1.3, peak_period: 2.4}': 'break at 1.28',
    f'{JONSWAP}seed: 0.5}}': 'seed is 0.5; expected a whole number',
    'waves: {type: pierson_moskowitz, significant_height: 1, peak_period: 6, gamma: 2}': 'gamma',
    'current: {velocity: [1, 2]}': 'expected a list of 3 numbers: velocity east, north, up',
    'current: {profile: []}': 'at least one',
    'current: {profile: [{depth: 3, velocity: [0, 0, 0]}, {depth: 1, velocity: [0, 0, 0]}]}':
        'in the order of their depth',
    'current: {gauss_markov: {time_constant: 3}}': "'deviation' is missing",
    'current: {gauss_markov: {deviation: [1, 1, 1], time_constant: 0}}': 'time_constant is 0',
    'current: {gauss_markov: {deviation: [1, 1, 1], time_constant: 3, seed: 1.5}}': 'seed is 1.5',
}  # fmt: skip


@pytest.mark.parametrize(('text', 'expected'), BAD.items(), ids=BAD)
def test_mistakes_are_told_in_one_line(text, expected):
    with pytest.raises(ParameterError) as caught:
        parse_environment(text, 'my.yaml')
    message = str(caught.value)
    assert message.startswith('my.yaml')
    assert expected in message
    assert '\n' not in message


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ParameterError, match=r'neither a file nor a shipped environment.*swell'):
        load_environment('calm')
    path = tmp_path / 'latin.yaml'
    path.write_bytes('description: See für Wellen'.encode('latin-1'))
    with pytest.raises(ParameterError, match='not UTF-8'):
        load_environment(str(path))
    with pytest.raises(ParameterError, match='neither a file'):
        load_environment(str(tmp_path))


KEYS = sorted({
    'description', 'gravity', 'depth', 'water', 'waves', 'current', 'kind', 'temperature', 'type',
    'height', 'period', 'wavelength', 'significant_height', 'peak_period', 'gamma', 'spreading',
    'components', 'seed', 'velocity', 'profile', 'gauss_markov', 'deviation', 'time_constant', '',
})  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 100), st.floats(), st.text(max_size=5),
    st.sampled_from(['fresh', 'sea', 'regular', 'jonswap', 'a\nb']),
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)


def accepts_or_tells_in_one_line(text):
    message = 'my.yaml'
    try:
        assert isinstance(parse_environment(text, 'my.yaml'), Environment)
    except MarineSimError as error:
        message = str(error)
    assert message.startswith('my.yaml')
    assert '\n' not in message


@settings(max_examples=150)
@given(name=st.sampled_from(sorted(TEXTS)), data=st.data(), new=st.text(max_size=3))
def test_a_changed_text_is_an_environment_or_one_line(name, data, new):
    text = TEXTS[name]
    at = data.draw(st.integers(0, len(text)))
    accepts_or_tells_in_one_line(text[:at] + new + text[at + data.draw(st.integers(0, 5)) :])


@settings(max_examples=150)
@given(name=st.sampled_from(sorted(TEXTS)), data=st.data(), value=TREES)
@example(name='still', data=None, value={'a\nb': 1})
def test_a_changed_value_is_an_environment_or_one_line(name, data, value):
    content = yaml.safe_load(TEXTS[name])
    if data is not None:
        key = data.draw(st.sampled_from(KEYS[1:]))
        inside = [v for v in content.values() if isinstance(v, dict)]
        target = data.draw(st.sampled_from([content, *inside]))
        target[key] = value
    else:
        content['water'] = value
    accepts_or_tells_in_one_line(yaml.safe_dump(content, allow_unicode=True))


@pytest.mark.parametrize(('depth', 'current'), [
    ([3.0, 1.0], np.zeros((2, 3))), ([1.0, 1.0], np.zeros((2, 3))), ([], np.zeros((0, 3))),
    ([math.nan], np.zeros((1, 3))), ([1.0], np.zeros(3)), ([1.0], [[0.0, math.inf, 0.0]]),
])  # fmt: skip
def test_a_profile_needs_ascending_depths_and_three_numbers_each(depth, current):
    with pytest.raises(ParameterError, match='profile'):
        CurrentProfile(depth, current)


@pytest.mark.parametrize(('deviation', 'constant', 'components'), [
    ((1, 1), 5.0, 8), ((-1, 0, 0), 5.0, 8), ((math.nan, 0, 0), 5.0, 8), ((1, 1, 1), 0.0, 8),
    ((1, 1, 1), math.nan, 8), ((1, 1, 1), 5.0, 0),
])  # fmt: skip
def test_a_fluctuation_needs_deviations_and_a_time_constant(deviation, constant, components):
    with pytest.raises(ParameterError, match='expected'):
        GaussMarkov(deviation, constant, components=components)


@pytest.mark.parametrize('changes', [
    {'gravity': -1.0}, {'gravity': math.nan}, {'water_density': -1.0},
    {'kinematic_viscosity': 0.0}, {'kinematic_viscosity': math.nan}, {'current': (1.0, 2.0)},
    {'current': (1.0, 2.0, math.inf)},
])  # fmt: skip
def test_values_no_water_has_are_refused(changes):
    with pytest.raises(ParameterError, match=next(iter(changes))):
        Environment(**changes)


# Changes during a run.

CHANGES = """
- {at: 1.0, wind: {speed: 15.0}, current: {velocity: [0.5, 0.2, 0.0]}}
- {at: 2.0, tide: {offset: 0.5}, water: {turbidity: 1.5}}
- {at: 2.0, wind: {from_direction: 90.0}}
- {at: 3.0, tide: {offset: -0.25}, wind: {speed: 2.0}}
"""


def test_an_environment_is_that_of_its_latest_changes():
    base = parse_environment(
        'origin: {latitude: 50, longitude: 4, heading: 90}\n'
        'wind: {speed: 5, from_direction: 0, gusts: norsok}\n'
        'tide: {mean: 0.1, constituents: [{name: M2, amplitude: 1.0}]}',
        'a.yaml',
    )
    changed = base.with_changes(parse_changes(CHANGES))
    assert not changed.is_steady
    for at, speed, from_direction, offset, turbidity in (
        (0.0, 5, 0, 0.0, 0.0), (0.999, 5, 0, 0.0, 0.0), (1.0, 15, 0, 0.0, 0.0),
        (2.0, 15, 90, 0.5, 1.5), (2.999, 15, 90, 0.5, 1.5), (3.0, 2, 90, -0.25, 1.5),
        (1e6, 2, 90, -0.25, 1.5),
    ):  # fmt: skip
        now, before = changed.at(at), base.at(at)
        assert (now.time, now.changes) == (at, ())
        assert (now.wind.speed, now.wind.from_direction) == (speed, from_direction)
        assert now.level == pytest.approx(before.level + offset, abs=1e-15)
        assert now.optics.turbidity == turbidity
        flow = [0.5, 0.2, 0.0] if at >= 1 else [0.0, 0.0, 0.0]
        assert now.origin.enu(now.current) == pytest.approx(flow, abs=1e-15)
        # Gusts of the same seed, along the direction of the time; map is turned by 90°.
        want = replace(base.wind, speed=speed, yaw=base.origin.yaw(from_direction + 180.0))
        np.testing.assert_array_equal(
            now.wind_velocity(np.array(10.0)), want.velocity(np.array(10.0), at)
        )


def test_layers_that_are_set_are_those_of_an_environment_with_that_profile():
    """Uniform water, a profile and another one after it have the fields of files that say so."""
    layers = (
        '[{depth: 0, temperature: 18, salinity: 20}, {depth: 6, temperature: 8, salinity: 34}]',
        '[{depth: 0, temperature: 5}, {depth: 40, temperature: 4}]',
    )
    changes = parse_changes(
        f'[{{at: 1.0, water: {{profile: {layers[0]}}}}}, {{at: 2.0, water: {{turbidity: 0.5}}}}, '
        f'{{at: 3.0, water: {{profile: {layers[1]}}}}}]'
    )
    points = np.column_stack([np.zeros((50, 2)), -np.linspace(0.0, 60.0, 50)])
    water = 'kind: sea, temperature: 12.0, salinity: 30.0'
    for base in (f'water: {{{water}}}', f'water: {{{water}, profile: [{{depth: 5}}]}}'):
        changed = parse_environment(base, 'a.yaml').with_changes(changes)
        for at, profile in ((1.0, 0), (2.5, 0), (3.0, 1), (9.0, 1)):
            same = parse_environment(f'water: {{{water}, profile: {layers[profile]}}}', 'b.yaml')
            now, want = changed.at(at), same.at(at)
            assert now.optics.turbidity == (0.5 if at > 2 else 0.0)
            for ask in ('water_temperature', 'water_salinity', 'sound_speed'):
                np.testing.assert_array_equal(
                    getattr(now, ask)(points), getattr(want, ask)(points)
                )
            np.testing.assert_array_equal(now.density(points, 1e3), want.density(points, 1e3))
            np.testing.assert_array_equal(
                now.hydrostatic_pressure(points, 1e3), want.hydrostatic_pressure(points, 1e3)
            )


def test_layers_are_not_set_where_the_water_comes_from_a_function():
    waves = run_environment('internal_waves')
    with pytest.raises(ParameterError, match='comes from data or a function'):
        waves.with_changes(parse_changes('[{at: 1, water: {profile: [{depth: 0}]}}]'))


def test_gusts_that_come_later_stay_in_changed_water():
    changed = run_environment('still').with_changes(
        parse_changes('[{at: 1.0, current: {velocity: [1, 0, 0]}}]')
    )
    gusty = with_gusts(changed, parse_faults('[{kind: gust, at: 2.0, speed: 2.0, duration: 4.0}]'))
    point = np.array([0.0, 0.0, -3.0])
    for at, x in ((0.5, 0.0), (1.5, 1.0), (4.0, 3.0), (7.0, 1.0)):
        assert gusty.at(at).velocity(point)[0] == pytest.approx(x)


times = st.floats(0, 1e6)
numbers_of_change = st.fixed_dictionaries(
    {},
    optional={
        'wind': st.fixed_dictionaries({'speed': st.floats(0, 60)}),
        'current': st.fixed_dictionaries(
            {'velocity': st.lists(st.floats(-20, 20), min_size=3, max_size=3)}
        ),
        'tide': st.fixed_dictionaries({'offset': st.floats(-20, 20)}),
        'water': st.one_of(
            st.fixed_dictionaries({'turbidity': st.floats(0, 100)}),
            st.fixed_dictionaries(
                {
                    'profile': st.lists(
                        st.tuples(st.floats(0, 11_000), st.floats(-2.5, 40), st.floats(0, 42)),
                        min_size=1,
                        max_size=4,
                        unique_by=lambda point: point[0],
                    ).map(lambda points: [
                        {'depth': d, 'temperature': t, 'salinity': s}
                        for d, t, s in sorted(points)
                    ])
                }
            ),
        ),
    },
).filter(bool)  # fmt: skip


@given(st.lists(st.tuples(times, numbers_of_change), max_size=5))
def test_changes_are_written_as_they_are_read(pairs):
    content = [{'at': at, **parts} for at, parts in sorted(pairs, key=lambda p: p[0])]
    changes = parse_changes(json.dumps(content))
    assert parse_changes(changes_text(changes)) == changes
    assert json.loads(changes_text(changes) or '[]') == content


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (
            '[{at: 1.0}]',
            'nothing changes; expected some of: bodies, current, release, remove, '
            'reset_bodies, tide, water, winches, wind',
        ),
        ('[{wind: {speed: 3}}]', "'at' is missing"),
        ('[{at: 2, tide: {offset: 1}}, {at: 1, tide: {offset: 1}}]', 'not in the order'),
        ('[{at: 1, tide: {offset: .nan}}]', 'tide.offset is nan; expected a number'),
        ('[{at: 1, waves: {}}]', "unknown key 'waves'"),
        ('{at: 1}', 'expected a list'),
        ('[{at: 1, water: {}}]', 'nothing changes'),
        ('[{at: 1, water: {turbidity: null}}]', 'nothing changes'),
        ('[{at: 1, water: {profile: []}}]', 'in the order of their depth, at least one'),
        ('[{at: 1, water: {profile: [{depth: 2}, {depth: 1}]}}]', 'in the order of their depth'),
        (
            '[{at: 1, water: {profile: [{depth: 0, salinity: 3}, {depth: 1}]}}]',
            'salinity is missing at some depths',
        ),
        (
            '[{at: 1, water: {turbidity: 1, profile: [{depth: 0, turbidity: 3}]}}]',
            'water.turbidity is that of the profile',
        ),
        ('[{at: 1, wind: {speed: 3}}]', 'has no wind that could change'),
    ],
)
def test_changes_that_cannot_be_are_refused_in_one_line(text, expected):
    with pytest.raises(ParameterError) as caught:
        run_environment('still').with_changes(parse_changes(text))
    assert expected in str(caught.value)
    assert '\n' not in str(caught.value)


def test_changes_are_read_from_a_file_or_a_recording(tmp_path):
    content = {'parameters': {'changes': [{'at': 1, 'tide': {'offset': 1}}]}}
    (tmp_path / 'manifest.json').write_text(json.dumps(content))
    (tmp_path / 'a.yaml').write_text('- {at: 1, tide: {offset: 1}}')
    assert load_changes(tmp_path) == load_changes(tmp_path / 'a.yaml')
    for text in ('{}', '[]', 'x', '{"parameters": {"changes": "a.yaml"}}'):
        (tmp_path / 'manifest.json').write_text(text)
        with pytest.raises(ParameterError, match='has no list of changes'):
            load_changes(tmp_path)


def test_still_water_with_another_current_is_not_still():
    still = Environment()
    assert still.is_still  # and it is remembered
    moving = still.at(1.0).with_current(np.array([0.3, 0.0, 0.0]))
    assert not moving.is_still
    state = state_at_rest((0.0, 0.0, -5.0))
    vehicle = load_vehicle('bluerov2')
    assert drag(vehicle, state, moving)[0] > 1.0
    assert drag(vehicle, state, still)[0] == 0.0
