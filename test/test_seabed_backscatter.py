# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Backscatter of sea beds beside the report's own table, and as sonars have it."""

import numpy as np
import pytest

from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.rays import Hits
from marine_sim_ros.scene.scene import Plane, Scene
from marine_sim_ros.sensors.acoustics import (
    backscatter,
    echo_intensity,
    echo_strength,
    reflectivity,
)
from marine_sim_ros.sensors.seabed_backscatter import SEABEDS, seabed_backscatter

ANGLES = np.radians([1, 2, 3, 5, 7, 10, 20, 40, 60, 70, 80, 85, 88, 89, 90])
# APL-UW TR 9407, table 3: dB at these grazing angles, as the tests of uacpy have it.
SAND_10 = '-61.5 -56.8 -53.2 -47.6 -43.4 -38.8 -30.9 -24.4 -22.6 -20.4 -13.2 -5.0 1.2 2.3 2.6'
SAND_30 = '-51.4 -48.1 -45.8 -42.1 -39.0 -35.4 -28.3 -23.5 -21.2 -17.7 -10.8 -5.5 -3.4 -3.1 -3.1'
SAND_100 = '-50.0 -44.9 -41.5 -36.6 -33.3 -29.8 -24.2 -21.7 -19.5 -16.4 -12.2 -10.4 -9.8 -9.7 -9.7'
ROCK_30 = '-44.0 -37.3 -33.3 -28.4 -25.2 -21.7 -15.4 -10.0 -9.1 -8.3 -7.3 -6.8 -6.6 -6.6 -6.6'
COBBLE_30 = '-48.5 -41.7 -37.6 -32.6 -29.2 -25.7 -19.3 -14.9 -13.1 -11.5 -9.2 -8.2 -7.9 -7.9 -7.8'
COARSE_30 = '-47.1 -43.8 -41.5 -37.9 -34.9 -31.5 -25.1 -21.4 -18.8 -15.3 -8.9 -5.6 -4.6 -4.4 -4.4'
SILT_30 = '-58.2 -51.1 -46.6 -41.3 -38.3 -35.7 -31.8 -28.8 -27.4 -27.0 -26.3 -23.9 -13.1 -6.8 -3.6'
DULL_SILT_30 = (
    '-63.4 -56.3 -51.8 -46.5 -43.5 -40.9 -37.0 -34.0 -32.6 -32.1 -30.5 -25.8 -13.3 -6.8 -3.6'
)
ROUGH_30 = '-23.0 -19.4 -17.4 -14.8 -13.3 -11.3 -7.9 -5.4 -4.9 -5.0 -5.4 -5.3 -5.4 -5.4 -5.4'
TABLE = pytest.mark.parametrize(
    ('material', 'frequency', 'published'),
    [
        ('sand', 10.0, SAND_10),
        ('sand', 30.0, SAND_30),
        ('sand', 100.0, SAND_100),
        ('rock', 30.0, ROCK_30),
        ('gravel', 30.0, COBBLE_30),
        ('coarse_sand', 30.0, COARSE_30),
        ('silt', 30.0, SILT_30),
    ],
)


def levels(text):
    return np.array([float(number) for number in text.split()])


@TABLE
def test_the_model_gives_the_published_strengths(material, frequency, published):
    found = 10 * np.log10(seabed_backscatter(SEABEDS[material], ANGLES, frequency))
    assert found == pytest.approx(levels(published), abs=0.65)
    assert np.sort(np.abs(found - levels(published)))[-2] < 0.3  # one cell of rock is 0.6 dB off


def test_very_rough_rock():
    rough = SEABEDS['rock']._replace(roughness=0.20693)
    found = 10 * np.log10(seabed_backscatter(rough, ANGLES, 30.0))
    assert found == pytest.approx(levels(ROUGH_30), abs=0.3)


def test_the_volume_of_silt_scatters_in_proportion():
    dull = SEABEDS['silt']._replace(volume=0.0003)
    found = 10 * np.log10(seabed_backscatter(dull, ANGLES, 30.0))
    assert found == pytest.approx(levels(DULL_SILT_30), abs=0.3)


def test_coarser_sediments_echo_and_reflect_more():
    order = ('clay', 'silt', 'fine_sand', 'sand', 'coarse_sand')
    at_20 = [float(backscatter(name, np.radians([20.0]), 100.0)[0]) for name in order]
    assert np.all(np.diff(at_20[1:]) > 0)
    assert np.all(np.diff([reflectivity(name) for name in order]) > 0)


@TABLE
def test_echoes_of_sonars_have_the_published_strengths(material, frequency, published):
    """One ray, 2 m, without absorption: S_b − 10 log sin θ − 20 log r, and π r² times that."""
    plane = Plane('floor', [0, 0, -9], [0, 0, 1], material)
    environment = Environment(scene=Scene((plane,)))
    rays = np.stack([np.cos(ANGLES), 0 * ANGLES, -np.sin(ANGLES)], axis=-1)
    up = np.broadcast_to([0.0, 0.0, 1.0], rays.shape)
    hits = Hits(np.full(len(ANGLES), 2.0), up, np.zeros(len(ANGLES)))
    intensity = echo_intensity(environment, hits, rays, frequency, 0.0)
    found = 10 * np.log10(intensity * np.sin(ANGLES) * 4.0)
    assert found == pytest.approx(levels(published), abs=0.65)
    strength = echo_strength(environment, hits, rays, frequency, 0.0)
    assert strength == pytest.approx(np.pi * 4.0 * intensity, rel=1e-12)


def test_beyond_the_band_the_nearest_frequency_is_taken():
    sand = SEABEDS['sand']
    for frequency, nearest in ((1.0, 10.0), (750.0, 100.0)):
        found = seabed_backscatter(sand, ANGLES, frequency)
        assert np.array_equal(found, seabed_backscatter(sand, ANGLES, nearest))
    level = seabed_backscatter(sand, np.array([0.0]), 100.0)
    assert 0 < level[0] < 1e-7


def test_materials_without_parameters_keep_the_law_of_lambert():
    grazing = np.linspace(0.0, np.pi / 2, 10)
    expected = reflectivity('concrete') / np.pi * np.sin(grazing) ** 2
    assert backscatter('concrete', grazing, 100.0) == pytest.approx(expected)
    assert np.all(backscatter('', grazing, 100.0) == 0.0)
    unknown = backscatter('no such thing', grazing, 100.0)
    assert np.array_equal(unknown, backscatter('sand', grazing, 100.0))
