# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""First echoes of sonars by the surface and the bottom: ranges, levels, shadows."""

import math

import numpy as np
import pytest
from test_ray_sensors import DOWN, ideal, noisy, sensor_of

from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.acoustics import (
    absorption,
    backscatter,
    beam_pattern,
    equivalent_width,
    reflectivity,
)
from marine_sim_ros.sensors.multibeam import beam_angles
from marine_sim_ros.sensors.side_scan import bin_ranges
from marine_sim_ros.sensors.sonar_3d import beam_grid

SPHERE = Obstacle('ball', 'sphere', [0.6] * 3, [10.0, 0.0, -1.0], material='steel')
HEAD = sensor_of('scanning_sonar', rays=400.0, sector=2.0, step=1.0, multipath=1.0)


def nearest_reflection(*things):
    """Return the range of the nearest echo by the surface, m; infinite for none."""
    environment = Environment(scene=Scene((), None, things))
    fan = ideal(HEAD, environment, (0.0, 0.0, -1.0), time=0.05)
    ranges = np.where(fan['strength'] > 0, fan['range'], np.inf)
    return ranges[len(ranges) // 2 :].min()


def test_a_target_echoes_once_more_by_the_surface():
    """At (L0 + L1)/2: straight there, and back by the mirror image 2 m above it."""
    # The point of the sphere where the sum of both paths is least lies between them.
    angle = np.linspace(0.0, 0.5, 100_001)
    point = np.stack([10.0 - 0.3 * np.cos(angle), -1.0 + 0.3 * np.sin(angle)])
    paths = np.hypot(point[0], point[1] + 1.0) + np.hypot(point[0], point[1] - 1.0)
    assert nearest_reflection(SPHERE) == pytest.approx(paths.min() / 2, abs=0.01)


def test_what_hides_the_target_hides_its_reflected_echo():
    """Sound passes above the wall by the surface, and meets it on the straight way back."""
    wall = Obstacle('wall', 'box', [0.1, 4.0, 0.9], [6.0, 0.0, -1.2], material='')
    assert np.isfinite(nearest_reflection(SPHERE))
    assert np.isinf(nearest_reflection(SPHERE, wall))


def test_levels_of_reflected_echoes_of_a_level_bottom():
    """The integral over the bottom of both ways, by the mirror image of the sonar, within 1 dB."""
    depth, height = 6.0, 8.0
    changes = {'max_range': 100.0, 'bins': 500.0, 'rays': 2048.0, 'depression': 10.0}
    plane = Plane('floor', [0, 0, -depth - height], [0, 0, 1], 'sand')
    around = Environment(scene=Scene((plane,)))
    place = (0.0, 0.0, -depth)
    plain, both = (
        ideal(sensor_of('side_scan', turn=DOWN, multipath=m, **changes), around, place)
        for m in (0.0, 1.0)
    )
    spec = sensor_of('side_scan', turn=DOWN, **changes).spec
    found = (both['intensity'] - plain['intensity'])[0]
    edges = np.linspace(0.0, 100.0, 501)
    by_surface = 'sand', reflectivity('water_surface')
    by_bottom = 'water_surface', reflectivity('sand')
    first = mirrored_echo(spec, edges, *by_surface, height, height + 2 * depth)
    total = first + mirrored_echo(spec, edges, *by_bottom, -depth, -depth - 2 * height)
    scale = 10.0 ** (0.1 * spec.source_level) * 0.5e-6 * 1500 * spec.pulse_length / (100.0 / 500)
    begin = bin_ranges(spec)[np.argmax(first > 0)]
    late = bin_ranges(spec) > begin + 1.0
    level = 10 * np.log10(found[late] / (scale * total[late]))
    assert np.abs(level).max() < 1.0
    early = bin_ranges(spec) < begin - 0.5
    assert 0 < found[early].max() < 0.1 * found[late].max()  # by the bottom, from the surface


def mirrored_echo(spec, edges, material, factor, fall, image):
    """Return the echo over range of a level surface, straight fall m and by an image m below."""
    y = np.linspace(1.0, 150.0, 300_001)
    straight, mirrored = np.hypot(y, fall), np.hypot(y, image)
    out = np.pi / 2 + np.arctan2(image, y)  # from straight down; the mirror turns it round
    axis, width = math.radians(90 - spec.depression), math.radians(spec.beam_height)
    pattern = beam_pattern(out - axis, width)
    pattern = pattern * beam_pattern(np.arctan2(y, fall) - axis, width)
    pattern = pattern * (out <= math.radians(120.0))  # the last of its rays
    along = 0.5 * math.radians(spec.beam_along) * math.sqrt(math.pi / math.log(2))
    along = along / np.sqrt(straight**-2.0 + mirrored**-2.0)
    sines = (np.abs(fall) / straight, np.abs(image) / mirrored)
    ways = [backscatter(material, np.arcsin(sine), spec.frequency) for sine in sines]
    law = np.sqrt(ways[0] * ways[1])
    loss = 10.0 ** (-0.1 * absorption(spec.frequency) * (straight + mirrored))
    power = 2 * factor * law * pattern * along * loss
    power = power / (straight * mirrored) ** 2 * (y[1] - y[0])
    return np.histogram(0.5 * (straight + mirrored), edges, weights=power)[0]


@pytest.mark.parametrize(
    ('kind', 'picture'), [('imaging_sonar', 'image'), ('scanning_sonar', 'echo')]
)
def test_pictures_have_reflections_on_request(kind, picture):
    """The direct half of the hits is the same, and the picture is brighter."""
    plane = Plane('floor', [0, 0, -3.0], [0, 0, 1], 'rock')
    around, turn = Environment(scene=Scene((plane,))), (0.0, 0.0, 0.0, 1.0)
    if kind == 'imaging_sonar':
        turn = quaternion_from_rpy(math.pi, -1.2, 0.0)
    sensors = [sensor_of(kind, turn=turn, multipath=m) for m in (0.0, 1.0)]
    plain, both = (ideal(s, around, (0.0, 0.0, -1.0)) for s in sensors)
    count = len(plain['range'])
    assert np.array_equal(both['range'][:count], plain['range'])
    assert len(both['range']) == 2 * count
    pixels = [
        noisy(s, r, 0)[picture].astype(float).sum()
        for s, r in zip(sensors, (plain, both), strict=True)
    ]
    assert pixels[1] > pixels[0]


# --- Sonars that detect one echo in a beam ---------------------------------------------------

DEPTH, WALL = 3.0, 10.0
QUAY = Environment(scene=Scene((Plane('quay', [WALL, 0, 0], [-1, 0, 0], 'concrete'),)))


def reflected_by_the_surface(up):
    """Return L0, L1 and angles of incidence by both ways of beams up to a wall, by its image."""
    long = WALL / np.cos(up)
    height = DEPTH - long * np.sin(up)  # the target's, by the mirror of the surface: z
    drop = height + DEPTH
    straight = np.hypot(WALL, drop)
    return straight, long, np.arccos(WALL / straight), up


def level_of_the_reflection(spec, up, solid, wide):
    """Return the level of the echo straight there and back by the surface, dB re 1 µPa."""
    straight, long, steep, up = reflected_by_the_surface(up)
    ways = [backscatter('concrete', np.pi / 2 - a, spec.frequency) for a in (steep, up)]
    echo = solid * reflectivity('water_surface') * np.sqrt(ways[0] * ways[1]) / np.cos(up)
    loss = absorption(spec.frequency) * (straight + long)
    longer = np.abs(np.sin(steep) * np.sign(-DEPTH + long * np.sin(up) - DEPTH) + np.sin(up)) / 2
    extent = wide * long / np.cos(up) * longer
    pulses = np.maximum(extent * equivalent_width(1.0) / (0.75e-3 * spec.pulse_length), 1.0)
    return spec.source_level + 10 * np.log10(echo / straight**2 / pulses) - loss


def test_a_multibeam_sees_the_image_of_a_quay_in_the_surface():
    """Ranges within 1 cm, travel times within 10 µs and levels within 1 dB of the mirror image."""
    fans = [
        sensor_of('multibeam', turn=turn_ahead(), beams=121.0, swath=120.0, max_range=40.0,
                  multipath=m) for m in (0.0, 1.0)
    ]  # fmt: skip
    plain, both = (ideal(fan, QUAY, (0.0, 0.0, -DEPTH)) for fan in fans)
    spec = fans[0].spec
    up = beam_angles(spec)
    below = up < math.atan(DEPTH / WALL) - 0.02
    assert np.array_equal(both['range'][below], plain['range'][below])
    above = (up > math.atan(DEPTH / WALL) + 0.02) & (up < 0.8)
    straight, long, _, _ = reflected_by_the_surface(up[above])
    assert both['range'][above] == pytest.approx((straight + long) / 2, abs=0.01)
    assert 2 * np.abs(both['range'][above] - (straight + long) / 2).max() / 1500 < 10e-6
    solid = equivalent_width(math.radians(1.0)) ** 2
    expected = level_of_the_reflection(spec, up[above], solid, math.radians(1.0))
    assert both['level'][above] == pytest.approx(expected, abs=1.0)
    # Without, those beams have the surface, or nothing.
    surface = DEPTH / np.sin(up[above])
    found = np.isfinite(plain['range'][above])
    assert plain['range'][above][found] == pytest.approx(surface[found], abs=0.01)


def turn_ahead():
    """Return the turn of a multibeam that looks ahead with its beams from below to above."""
    return quaternion_from_rpy(math.pi / 2, 0.0, math.pi / 2)


def test_a_3d_sonar_sees_the_image_of_a_quay_in_the_surface():
    """Ranges within 1 cm and levels within 1 dB of the mirror image; else the same detections."""
    grids = [sensor_of('sonar_3d', max_range=40.0, rows=41.0, multipath=m) for m in (0.0, 1.0)]
    plain, both = (ideal(grid, QUAY, (0.0, 0.0, -DEPTH)) for grid in grids)
    spec = grids[0].spec
    middle = int(spec.columns) // 2
    up = np.arcsin(beam_grid(spec)[:, middle, 2])
    above = up > math.atan(DEPTH / WALL) + 0.02
    straight, long, _, _ = reflected_by_the_surface(up[above])
    assert above.sum() > 2
    found = both['range'][above, middle]
    assert found == pytest.approx((straight + long) / 2, abs=0.01)
    solid = equivalent_width(math.radians(spec.beam_width)) ** 2
    expected = level_of_the_reflection(spec, up[above], solid, math.radians(spec.beam_width))
    assert both['level'][above, middle] == pytest.approx(expected, abs=1.0)
    below = up < math.atan(DEPTH / WALL) - 0.02
    assert np.array_equal(both['range'][below, middle], plain['range'][below, middle])


def test_a_level_bottom_has_no_second_bottom_below_it():
    """What comes straight up from the surface is not sent there by a multibeam that looks down."""
    plane = Plane('floor', [0, 0, -20.0], [0, 0, 1], 'sand')
    around = Environment(scene=Scene((plane,)))
    plain, both = (
        ideal(sensor_of('multibeam', turn=DOWN, multipath=m), around, (0.0, 0.0, -5.0))
        for m in (0.0, 1.0)
    )
    for name, values in plain.items():
        assert np.array_equal(both[name], values, equal_nan=True)
