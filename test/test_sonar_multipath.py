# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""First echoes of sonars by the surface and the bottom: ranges, levels, shadows."""

import math
import time

import numpy as np
import pytest
from test_ray_sensors import DOWN, ideal, noisy, sensor_of

from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.rays import first_hits
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.acoustics import (
    absorption,
    backscatter,
    beam_pattern,
    equivalent_width,
    reflectivity,
)
from marine_sim_ros.sensors.corner_echoes import corner_echoes
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


# --- Corners of three faces ------------------------------------------------------------------


def trihedral(edge, apex, material='steel'):
    """Return three square plates that meet at an apex and open towards −x, −y and +z."""
    thick, mid = 0.05 * edge, edge / 2
    half = thick / 2
    shifts = ((half, -mid, mid), (-mid, half, mid), (-mid, -mid, -half))
    sizes = ((thick, edge, edge), (edge, thick, edge), (edge, edge, thick))
    return tuple(
        Obstacle(f'plate_{i}', 'box', list(size), np.add(apex, shift).tolist(), material=material)
        for i, (size, shift) in enumerate(zip(sizes, shifts, strict=True))
    )


APEX = np.array([8.0, 8.0, -28.0])


@pytest.mark.parametrize('edge', [0.02, 0.05, 1.0])
def test_a_corner_reflector_has_the_target_strength_of_its_closed_form(edge):
    """3 L⁴/λ² along the diagonal, up to the image of the sonar, within 0.3 dB."""
    environment = Environment(scene=Scene((), None, trihedral(edge, APEX)))
    (found,) = corner_echoes(environment, np.array([0.0, 0.0, -20.0]), 20.0, 1200.0)
    distance, wavelength = 8.0 * math.sqrt(3), 1.5 / 1200.0
    assert found.distance == pytest.approx(distance, abs=1e-9)
    assert found.direction == pytest.approx(np.array([1, 1, -1]) / math.sqrt(3), abs=1e-9)
    strength = min(3 * edge**4 / wavelength**2, distance**2 / 4)
    expected = reflectivity('steel') ** 3 * strength / distance**4
    assert 10 * math.log10(found.intensity / expected) == pytest.approx(0.0, abs=0.3)


def test_rays_that_three_plates_reflect_go_twice_the_distance_of_the_apex():
    """Ray by ray: back antiparallel, and as long as the echo of the model, within 10 µs."""
    environment = Environment(scene=Scene((), None, trihedral(1.0, APEX)))
    origin = np.array([1.0, -0.5, -20.5])
    (found,) = corner_echoes(environment, origin, 30.0, 1200.0)
    aside = np.random.default_rng(1).uniform(-0.2, 0.2, (50, 3))
    returned = 0
    for shift in aside:
        way = APEX + shift - origin
        way = way / np.linalg.norm(way)
        sent, place, length, bounces = way, origin, 0.0, 0
        while bounces < 4:
            hit = first_hits(environment, place, way[None], 40.0)
            if not np.isfinite(hit.distance[0]):
                break
            length += float(hit.distance[0])
            place = place + hit.distance[0] * way + 1e-9 * hit.normal[0]
            way, bounces = way - 2 * (way @ hit.normal[0]) * hit.normal[0], bounces + 1
        if bounces == 3:
            returned += 1
            assert way == pytest.approx(-sent, abs=1e-9)
            # The image of the sonar is behind the apex; its wave reaches the sonar's plane.
            length += float((origin - place) @ way)
            image = 2 * APEX - origin
            assert length == pytest.approx(float((place + ((origin - place) @ way) * way - image)
                                                 @ way), abs=1e-6)  # fmt: skip
    assert returned > 10
    assert 2 * abs(found.distance - np.linalg.norm(APEX - origin)) / 1500 < 10e-6


@pytest.mark.parametrize('kind', ['sonar_3d', 'multibeam'])
def test_sonars_detect_a_corner_reflector_at_its_apex(kind):
    """1 cm, 10 µs and 1 dB, where without multipath the plates alone echo."""
    apex = np.array([10.0, 0.5, -20.4])
    environment = Environment(scene=Scene((), None, trihedral(0.4, apex)))
    turn = (0.0, 0.0, 0.0, 1.0) if kind == 'sonar_3d' else turn_ahead()
    sensor = sensor_of(kind, turn=turn, max_range=30.0, multipath=1.0)
    found = ideal(sensor, environment, (0.0, 0.0, -20.0), (0.0, 0.0, math.atan2(*apex[1::-1])))
    (echo,) = corner_echoes(environment, np.array([0.0, 0.0, -20.0]), 30.0, sensor.spec.frequency)
    level = np.where(np.isfinite(found['range']), found['level'], -np.inf)
    best = np.unravel_index(np.argmax(level), level.shape)
    distance = float(np.linalg.norm(apex - [0.0, 0.0, -20.0]))
    assert found['range'][best] == pytest.approx(distance, abs=0.01)
    assert 2 * abs(found['range'][best] - distance) / 1500 < 10e-6
    if kind == 'sonar_3d':
        expected = sensor.spec.source_level + 10 * math.log10(echo.intensity)
        expected -= 2 * absorption(sensor.spec.frequency) * distance
        axis = beam_grid(sensor.spec)[best]
        aside = math.atan2(axis[1], axis[0]), math.asin(axis[2]) + math.asin(0.4 / distance)
        width = math.radians(0.6)
        expected += 10 * math.log10(math.prod(float(beam_pattern(a, width)) for a in aside))
        assert level[best] == pytest.approx(expected, abs=1.0)


def test_what_hides_a_corner_or_takes_a_face_away_ends_its_echo():
    plates = trihedral(0.5, APEX)
    wall = Obstacle('wall', 'box', [1.0, 1.0, 1.0], [4.0, 4.0, -24.0], material='steel')
    origin = np.array([0.0, 0.0, -20.0])
    for things, count in ((plates, 1), ((*plates, wall), 0), (plates[:2], 0)):
        environment = Environment(scene=Scene((), None, things))
        assert len(corner_echoes(environment, origin, 30.0, 1200.0)) == count


def test_a_pool_has_four_corners_at_its_floor_and_four_at_its_surface():
    walls = [Plane(f'w{i}', p, n, 'concrete') for i, (p, n) in enumerate((
        ([5.0, 0, 0], [-1, 0, 0]), ([-5.0, 0, 0], [1, 0, 0]),
        ([0, 4.0, 0], [0, -1, 0]), ([0, -4.0, 0], [0, 1, 0]), ([0, 0, -3.0], [0, 0, 1]),
    ))]  # fmt: skip
    environment = Environment(scene=Scene(tuple(walls)))
    echoes = corner_echoes(environment, np.array([1.0, 0.5, -1.0]), 30.0, 1200.0)
    assert len(echoes) == 8
    assert min(echo.distance for echo in echoes) == pytest.approx(math.hypot(4.0, 3.5, 1.0))


def test_corners_of_many_boxes_are_found_in_little_time():
    """300 boxes on a floor within a second of processor time: not all threes are tried."""
    boxes = tuple(
        Obstacle(f'box_{i}', 'box', [0.5, 0.6, 0.8], [1.5 * (i % 20) - 14, 1.5 * (i // 20), -9.6])
        for i in range(300)
    )
    floor = Plane('floor', [0, 0, -10.0], [0, 0, 1], 'steel')
    environment = Environment(scene=Scene((floor,), None, boxes))
    begin = time.process_time()
    assert corner_echoes(environment, np.array([0.0, -5.0, -5.0]), 60.0, 400.0) == []
    assert time.process_time() - begin < 1.0
