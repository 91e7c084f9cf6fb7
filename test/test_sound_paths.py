# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bent paths of sound: circles in water whose speed of sound is linear, shadows, sensors."""

import math
from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import matrix_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.rays import bent_hits, bent_path
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.sensor_model import SensorInputs

pytest.importorskip('gsw')

SURFACE_SPEED = 1500.0
LAYERS = """
water: {kind: sea, refraction: true, profile: [
  {depth: 0, temperature: 20}, {depth: 15, temperature: 19}, {depth: 25, temperature: 8},
  {depth: 200, temperature: 6}]}
seabed: {depth: 60, material: sand}
"""


class LinearWater:
    """Water with the speed of sound c₀ + g z, z up, over nothing."""

    level, refraction, fields, scene, waves, tide, bodies = 0.0, True, 1, None, None, None, ()

    def __init__(self, gradient):
        self.gradient = gradient

    def sound_speed(self, points):
        return SURFACE_SPEED + self.gradient * points[..., 2]


def circle(gradient, begin, end):
    """Return delay, s, and elevation at the beginning, rad, of the circle through two places.

    T = acosh(1 + g² d²/(2 c_a c_b))/|g|; the centre is at the height where c would be 0.
    """
    a, b = (SURFACE_SPEED + gradient * float(p[2]) for p in (begin, end))
    away = end - begin
    across = math.hypot(*away[:2])
    delay = math.acosh(1 + gradient**2 * float(away @ away) / (2 * a * b)) / abs(gradient)
    zero = -SURFACE_SPEED / gradient
    above, other = float(begin[2]) - zero, float(end[2]) - zero
    centre = (other**2 - above**2 + across**2) / (2 * across)
    along, up = (above, centre) if above > 0 else (-above, -centre)
    return delay, math.atan2(up, along)


@pytest.mark.parametrize('seed', range(40))
def test_paths_are_circles_where_the_speed_is_linear(seed):
    rng = np.random.default_rng(seed)
    gradient = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-2.5, 0.0))
    begin, end = rng.uniform([-100, -100, -100], [100, 100, -60], (2, 3))
    if seed % 4 == 0:
        end[2] = begin[2]
    path = bent_path(LinearWater(gradient), begin, end)
    delay, elevation = circle(gradient, begin, end)
    assert path.delay == pytest.approx(delay, abs=3e-6)
    assert math.asin(path.direction[2]) == pytest.approx(elevation, abs=1e-5)
    assert np.linalg.norm(path.direction) == pytest.approx(1.0)
    heading = math.atan2(*(end - begin)[1::-1])
    assert math.atan2(path.direction[1], path.direction[0]) == pytest.approx(heading)
    back = bent_path(LinearWater(gradient), end, begin)
    assert back.delay == pytest.approx(path.delay, abs=1e-9)


def test_rays_and_paths_through_layers_agree():
    """The path to the place that a ray meets has the ray's delay and direction."""
    water = parse_environment(LAYERS, 'layers.yaml')
    origin = np.array([0.0, 0.0, -5.0])
    angles = np.radians(np.linspace(-85.0, -25.0, 25))
    rays = np.stack([np.cos(angles), 0 * angles, np.sin(angles)], axis=-1)
    found = bent_hits(water, origin, rays, 300.0)
    straight = (60.0 - 5.0) / np.tan(-angles)
    compared, moved = 0, []
    for ray, delay, distance, along in zip(
        rays, found.delay, found.hits.distance, straight, strict=True
    ):
        if not np.isfinite(distance):
            continue
        # The horizontal place of the hit by the path that has the ray's constant.
        low, high = 0.2 * along, 1.5 * along
        for _ in range(60):
            middle = 0.5 * (low + high)
            path = bent_path(water, origin, np.array([middle, 0.0, -60.0]))
            steeper = path.direction[2] < ray[2]
            low, high = (middle, high) if steeper else (low, middle)
        assert path.delay == pytest.approx(delay, abs=1e-5)
        assert path.direction == pytest.approx(ray, abs=1e-3)
        moved.append(abs(middle - along))
        compared += 1
    assert compared > 20
    assert max(moved) > 1.0


def test_a_shadow_below_a_fast_layer_has_no_sound():
    """Sound that leaves a fast layer downwards goes steeper: far away below there is none."""
    water = parse_environment(
        LAYERS.replace('{depth: 0, temperature: 20}', '{depth: 0, temperature: 24}'), 'a.yaml'
    )
    source = np.array([0.0, 0.0, -2.0])
    assert math.isfinite(bent_path(water, source, np.array([60.0, 0.0, -12.0])).delay)
    assert math.isnan(bent_path(water, source, np.array([2500.0, 0.0, -12.0])).delay)


def usbl(**spec):
    model = SENSORS['usbl']
    return Sensor(
        'usbl',
        'usbl',
        model.spec(**spec),
        Frame('base_link', '', np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])),
    )


def reading(kind, sensor, position, water):
    state = State(np.array(position), np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(6))
    return SENSORS[kind].measure(sensor, state, water, SensorInputs.none())


def test_a_usbl_looks_where_the_sound_comes_from():
    """The elevation is that of the path, so that the position of straight sound is wrong."""
    bent = parse_environment(LAYERS, 'layers.yaml')
    flat = replace(bent, refraction=False)
    sensor = usbl(transceiver=(0.0, 0.0, -2.0), assumed_sound_speed=1500.0)
    place = [90.0, 40.0, -45.0]
    found, straight = (reading('usbl', sensor, place, water) for water in (bent, flat))
    path = bent_path(bent, np.array([0.0, 0.0, -2.0]), np.array(place))
    assert found['delay'] == pytest.approx(path.delay)
    assert found['polar'][0] == pytest.approx(1500.0 * path.delay)
    assert found['polar'][2] == pytest.approx(math.asin(path.direction[2]))
    assert abs(found['polar'][2] - straight['polar'][2]) > math.radians(0.5)
    assert found['delay'] < straight['delay']  # Fermat


def test_uniform_water_bends_nothing():
    text = 'water: {kind: sea, refraction: true}\nseabed: {depth: 30, material: sand}'
    sensor = usbl(transceiver=(0.0, 0.0, -2.0))
    one, other = (
        reading('usbl', sensor, [30.0, 5.0, -20.0], parse_environment(t, 'a.yaml'))
        for t in (text, text.replace(', refraction: true', ''))
    )
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_an_outer_beam_of_an_echo_sounder_is_bent_and_the_middle_one_is_not():
    """The artefact of a wrong profile: a level bottom that curls at the edges of the swath."""
    water = parse_environment(LAYERS, 'layers.yaml')
    model = SENSORS['multibeam']
    spec = model.spec(max_range=150.0)
    down = np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, -1.0]])
    sensor = Sensor(
        'multibeam',
        'multibeam',
        spec,
        Frame('base_link', '', np.zeros(3), matrix_quaternion(down)),
    )
    bent, flat = (
        reading('multibeam', sensor, [0.0, 0.0, -5.0], w)
        for w in (water, replace(water, refraction=False))
    )
    name = next(iter(bent))
    one, other = np.asarray(bent[name]), np.asarray(flat[name])
    seen = np.isfinite(one) & np.isfinite(other)
    difference = np.abs(one - other)[seen].reshape(-1)
    assert difference.max() > 0.2
    assert difference[len(difference) // 2] < 0.02


def test_compiled_sensors_refuse_bent_sound():
    jax = pytest.importorskip('jax')
    water = parse_environment(LAYERS, 'layers.yaml')
    model = SENSORS['altimeter']
    down = np.array([[0.0, 0, 1.0], [0, 1.0, 0], [-1.0, 0, 0]])
    sensor = Sensor(
        'altimeter',
        'altimeter',
        model.spec(),
        Frame('base_link', '', np.zeros(3), matrix_quaternion(down)),
    )

    def measure(position):
        state = State(
            position,
            np.array([0.0, 0.0, 0.0, 1.0]) + 0 * position[0],
            0 * position[0] + np.zeros(6),
        )
        return model.measure(sensor, state, water, SensorInputs.none())

    with pytest.raises(ParameterError, match='compiled sensors send sound straight'):
        jax.jit(measure)(np.array([0.0, 0.0, -5.0]))
