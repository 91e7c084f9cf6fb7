# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tethers in films: as thick as the cable, along its recorded shape."""

from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis import film_sources as film_tether
from marine_sim_ros.analysis.film import Cast, Film, FilmCamera, render_frames
from marine_sim_ros.analysis.film_sources import RecordedMotion, RecordedTether, recorded_tether
from marine_sim_ros.bags.reading import Bag
from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.environment.environment import Environment, WaterOptics
from marine_sim_ros.model.appearance import Appearance
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.scene.drawing import cable_tube
from marine_sim_ros.sensors.camera.camera import Camera, lens_of

PLACES = np.array(
    [[3.0, -1.0, -300.2], [3.0, 0.0, -300.0], [3.0, 1.0, -300.4], [3.0, 1.0, -300.4]]
)


def test_a_tube_goes_from_place_to_place():
    parts = cable_tube(PLACES, 0.02)
    assert len(parts) == 2  # what has no length is left out
    for part, a, b in zip(parts, PLACES[:-1], PLACES[1:], strict=False):
        assert part.kind == 'cylinder'
        assert part.rotation.T @ part.rotation == pytest.approx(np.eye(3))
        assert np.linalg.det(part.rotation) == pytest.approx(1.0)
        half = part.rotation[:, 2] * part.size[2] / 2
        assert part.position - half == pytest.approx(a)
        assert part.position + half == pytest.approx(b)
        assert part.size[:2] == pytest.approx(0.02)


def test_shapes_are_between_the_recorded_ones():
    one = RecordedTether(np.array([1.0, 2.0, 3.0]), (PLACES, PLACES + 1.0, PLACES[:2]), 0.01)
    assert one.at(0.0) == pytest.approx(PLACES)
    assert one.at(1.25) == pytest.approx(PLACES + 0.25)
    assert one.at(2.5) == pytest.approx(PLACES + 1.0)  # a reel has changed the number of places
    assert one.at(9.0) == pytest.approx(PLACES[:2])


def test_a_bag_tells_the_shape(monkeypatch):
    path = type('Path', (), {})

    def message(points):
        def pose(p):
            position = type('Point', (), dict(zip('xyz', p, strict=True)))
            return type('Pose', (), {'pose': type('Pose', (), {'position': position})})

        found = path()
        found.poses = [pose(p) for p in points]
        return lambda: found

    heard = [(2.0, message(PLACES + 1)), (1.0, message(PLACES))]
    monkeypatch.setattr(film_tether, 'messages_of', lambda *_: iter(heard))
    topics = (('/rov/tether/shape', 'nav_msgs/msg/Path', 2),)
    bag = Bag('run', 'run', 0, 2, 0, 1, topics, {})
    tethered = load_vehicle('bluerov2', tether='fathom')
    found = recorded_tether(bag, 'rov', tethered)
    assert found.stamps.tolist() == [1.0, 2.0]
    assert found.shapes[0] == pytest.approx(PLACES)
    assert found.diameter == tethered.extensions['tether'].cable.diameter
    assert recorded_tether(bag, 'other', tethered) is None
    assert recorded_tether(bag, 'rov', load_vehicle('bluerov2')) is None


def test_it_is_as_thick_as_the_cable_where_the_camera_sees_it():
    """A straight cable of 4 cm across the view, 3 m ahead, against the pinhole's formula."""
    diameter = 0.04
    motion = RecordedMotion()
    motion.stamps, motion.poses = np.zeros(1), np.array([[0.0, 0, -300, 0, 0, 0, 1]])
    place = Frame('c', 'base_link', np.zeros(3), np.array([-0.5, 0.5, -0.5, 0.5]))
    spec = Camera(width=400.0, height=300.0, field_of_view=60.0)
    sensor = Sensor('camera', 'camera', spec, place, 10**8)
    bare = '<robot name="a"><link name="base_link"><inertial><mass value="1"/><inertia ixx="1" '
    bare += 'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><buoyancy><volume>0.001'
    vehicle = load_vehicle(bare + '</volume></buoyancy></robot>')
    looks = Appearance(vehicle)
    lit = replace(spec, light=1.0, light_position=(0.0, 0.0, 0.0), exposure=20.0)
    around = Environment(optics=WaterOptics('pure'))
    straight = np.array([[3.0, 1.5, -300.0], [3.0, 0.0, -300.0], [3.0, -1.5, -300.0]])
    tether = RecordedTether(np.zeros(1), (straight,), diameter)
    film = Film(
        FilmCamera(lit, sensor, 1.0), Cast(motion, looks, vehicle.thrusters, tether), {}, around
    )
    try:
        image = next(iter(render_frames(film, np.zeros(1)))).image
    except MissingPackageError as error:
        pytest.skip(str(error))
    without = next(
        iter(render_frames(replace(film, main=replace(film.main, tether=None)), np.zeros(1)))
    ).image
    changed = np.any(image != without, axis=-1)
    expected = lens_of(spec).focal_length * diameter / 3.0
    assert changed.sum(axis=0)[50:350] == pytest.approx(expected, abs=1.0)
    rows = np.nonzero(changed[:, 200])[0]
    assert rows.mean() == pytest.approx(149.5, abs=0.6)
