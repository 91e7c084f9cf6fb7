# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Edges against bodies: against linear programs, closed forms, and a vehicle that lies on one."""

import numpy as np
import pytest
from scipy.optimize import linprog

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, to_body
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.contact.contact import contact_wrench
from marine_sim_ros.physics.contact.detection import contact_geometry, contacts_within, pair_layout
from marine_sim_ros.physics.contact.edges import EDGE_SEARCH, edge_contacts, sphere_contacts
from marine_sim_ros.physics.contact.pair_coefficients import PairCoefficients
from marine_sim_ros.physics.contact.solid_tables import SolidTables
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.rigid_body import rigid_body_step, weight
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap, ridge_window, ridges

DT, G = 0.005, 9.8


def shaped(geometry):
    """Return a vehicle with one collision."""
    return load_vehicle(f"""
    <robot name="body"><link name="base_link">
      <inertial><mass value="10"/><inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/>
      </inertial><collision><geometry>{geometry}</geometry></collision></link></robot>""")


BOX = shaped('<box size="0.4 0.3 0.2"/>')
CYLINDER = shaped('<cylinder radius="0.2" length="0.5"/>')
BALL = shaped('<sphere radius="0.2"/>')


def turned(rng):
    quaternion = rng.normal(size=4)
    return quaternion / np.linalg.norm(quaternion)


def common(vehicle, state, obstacle):
    """Return the radius of the largest ball in a vehicle's body and a box; below 0: apart."""
    axes, own = rotation_matrix(obstacle.orientation).T, rotation_matrix(state.orientation)
    solids, half = vehicle.contact.solids, obstacle.size / 2
    normal = np.concatenate([axes, -axes, solids.normal[0] @ own.T])
    offset = np.concatenate([half + axes @ obstacle.position, half - axes @ obstacle.position])
    offset = np.concatenate([offset, solids.offset[0] + normal[6:] @ state.position])
    found = linprog(
        [0, 0, 0, -1],
        np.column_stack([normal, np.ones(len(normal))]),
        offset,
        bounds=[(None, None)] * 4,
    )
    return -found.fun


@pytest.mark.parametrize('vehicle', [BOX, CYLINDER], ids=['box', 'cylinder'])
def test_boxes_touch_when_a_linear_program_says_so(vehicle):
    rng = np.random.default_rng(3)
    hits = apart = 0
    for _ in range(300):
        away = rng.normal(size=3)
        away *= rng.uniform(0.1, 0.5) / np.linalg.norm(away)
        obstacle = Obstacle('box', 'box', rng.uniform(0.02, 0.6, 3), away, turned(rng))
        state = State(np.zeros(3), turned(rng), np.zeros(6))
        gap = contact_geometry(
            vehicle, state, Environment(scene=Scene(obstacles=(obstacle,)))
        ).gap.min()
        radius = common(vehicle, state, obstacle)
        if radius < -1e-9:
            apart += 1
            assert gap > 0
        elif radius > 1e-9:
            hits += 1
            assert gap < 0
    assert hits > 100
    assert apart > 30


def test_two_edges_that_cross_part_across_both():
    # The vehicle's lower edge along x at y = 0.15 meets a ridge that runs along (1, 2, 0).
    along = np.array([1.0, 2.0, 0.0]) / 5**0.5
    tilt = quaternion_from_rpy(-0.7, 0.0, 0.0)
    edge_place = rotation_matrix(tilt) @ np.array([0.0, 0.15, -0.1])
    edge = rotation_matrix(tilt)[:, 0]
    normal = np.cross(edge, along)
    normal = normal / np.linalg.norm(normal) * np.sign(normal[2])
    for depth in (0.004, -0.004):
        top = edge_place + depth * normal
        meeting = edge_contacts(
            BOX.contact.solids,
            ((top - along) @ rotation_matrix(tilt))[None],
            (2 * along @ rotation_matrix(tilt))[None],
        )
        assert meeting.gap == pytest.approx(-depth, abs=1e-12)
        assert meeting.normal @ rotation_matrix(tilt).T == pytest.approx(
            np.stack([normal, normal]), abs=1e-12
        )


def test_an_edge_along_a_face_touches_with_both_ends():
    meeting = edge_contacts(
        BOX.contact.solids, np.array([[-1.0, 0.05, -0.099]]), np.array([[2.0, 0.0, 0.0]])
    )
    assert meeting.gap == pytest.approx(-0.001, abs=1e-12)
    assert meeting.normal == pytest.approx(np.tile([0.0, 0.0, 1.0], (2, 1)))
    assert np.sort(meeting.point[:, 0]) == pytest.approx([-0.2, 0.2], abs=2e-3)
    assert meeting.point[:, 2] == pytest.approx(-0.1, abs=1e-12)


def test_a_corner_meets_the_face_it_is_in():
    meeting = edge_contacts(
        BOX.contact.solids, np.array([[0.19, 0.0, 0.03]]), np.array([[1.0, 0.3, 0.2]])
    )
    assert meeting.gap[0] == pytest.approx(-0.01, abs=1e-12)
    assert meeting.normal[0] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-12)


def test_spheres_meet_faces_edges_and_corners_of_a_box():
    half = np.array([0.2, 0.15, 0.1])
    rng = np.random.default_rng(0)
    for _ in range(50):
        center = rng.normal(0, 0.4, 3)
        outside = np.maximum(np.abs(center) - half, 0.0)
        distance = np.linalg.norm(outside)
        if distance == 0:
            continue
        radius = distance + rng.uniform(-0.05, 0.05) * min(distance, 1.0)
        meeting = sphere_contacts(BOX.contact.solids, center[None], np.array([radius]))
        gap, normal = distance - radius, -np.sign(center) * outside / distance
        assert meeting.gap == pytest.approx(gap, abs=1e-12)
        assert meeting.normal[0] == pytest.approx(normal, abs=1e-12)


def test_a_vehicle_of_spheres_needs_no_edges():
    assert len(BALL.contact.solids) == 0
    block = Obstacle('block', 'box', np.full(3, 0.4), np.zeros(3))
    gap = contact_geometry(
        BALL, state_at_rest((0.0, 0.0, 0.5)), Environment(scene=Scene(obstacles=(block,)))
    ).gap
    assert gap == pytest.approx(0.1)


# ---- ridges ---------------------------------------------------------------------------------


def roof(spacing=0.5, slope=1.0, n=41):
    """Return a terrain with one ridge along y, at x = 0, falling to both sides."""
    x = (np.arange(n) - n // 2) * spacing
    heights = np.tile(-slope * np.abs(x), (n, 1))
    return HeightMap(np.array([x[0], x[0]]), spacing, heights)


def test_only_edges_that_stand_out_are_ridges():
    terrain = roof()
    assert ridge_window(terrain, 0.3) == 4
    start, along, real = ridges(terrain, 4, np.array([0.2, 0.3, 0.0]))
    kept = real > 0
    assert np.sum(kept) == 4
    assert start[kept][:, 0] == pytest.approx(0.0)
    assert along[kept] == pytest.approx(np.tile([0.0, 0.5, 0.0], (4, 1)))
    valley = HeightMap(terrain.origin, 0.5, -terrain.heights)
    assert not np.any(ridges(valley, 4, np.array([0.2, 0.3, 0.0]))[2])
    assert ridge_window(roof(spacing=0.05), 0.3) == 0


def test_an_edge_keeps_its_number_while_the_window_moves():
    terrain = load_environment('deep_rock').scene.terrain
    known = {}
    for x in np.linspace(-3.0, 3.0, 25):
        start, along, _ = ridges(terrain, 6, np.array([x, 0.7 * x, 0.0]))
        for number, (a, b) in enumerate(zip(start, start + along, strict=True)):
            assert known.setdefault((*a, *b), number) == number
            assert a[2] == terrain.height(a[0], a[1])
            assert b[2] == terrain.height(b[0], b[1])


# ---- a vehicle on an edge -------------------------------------------------------------------


def settled(vehicle, environment, start, seconds=3.0):
    """Return the last state of a vehicle that sinks with 20 N, and that of its greatest depth."""
    state, memory, since, deepest = start, None, 0.0, 0.0
    load = float((weight(vehicle, start, environment) + buoyancy(vehicle, start, environment))[2])
    for _ in range(round(seconds / DT)):
        wrench, memory = contact_wrench(vehicle, state, environment, memory, dt=since)
        down = to_body(state.orientation, np.array([0.0, 0.0, -20.0 - load]))
        total = wrench + np.concatenate([down, np.cross(vehicle.inertia.center_of_mass, down)])
        total = total + weight(vehicle, state, environment) + drag(vehicle, state, environment)
        total = total + buoyancy(vehicle, state, environment)
        state, since = rigid_body_step(vehicle, state, environment, total, DT), DT
        deepest = min(deepest, contact_geometry(vehicle, state, environment).gap.min())
    return state, deepest


BLADE = Scene(
    obstacles=(
        Obstacle(
            'blade',
            'box',
            np.array([1.0, 3.0, 1.0]),
            np.array([0.0, 0.0, -5.0 - 0.5 * 2**0.5]),
            quaternion_from_rpy(0.0, np.pi / 4, 0.0),
            'rock',
        ),
    )
)


def depth_of_line(vehicle, state):
    """Return how deep the line x = 0, z = −5 is in a vehicle's body, m, of 4,001 points of it."""
    t = np.linspace(-1.0, 1.0, 4001)
    line = np.stack([0 * t, t, -5.0 + 0 * t], axis=-1) - state.position
    solids = vehicle.contact.solids
    faces = line @ rotation_matrix(state.orientation) @ solids.normal[0].T - solids.offset[0]
    return -float(faces.max(axis=1).min())


@pytest.mark.parametrize('scene', [BLADE, None], ids=['blade', 'ridge'])
def test_a_bluerov2_meets_an_edge_between_its_points(scene):
    terrain = roof()
    low = HeightMap(terrain.origin, terrain.spacing, terrain.heights - 5.0, 'rock')
    environment = Environment(scene=scene or Scene(terrain=low))
    vehicle = load_vehicle('bluerov2')
    bottom = vehicle.contact.position[:, 2].min()
    # Its points are at x = 0 and ±0.23: the edge stands at a quarter.
    state, deepest = settled(
        vehicle, environment, state_at_rest((0.1, 0.0, -5.0 - bottom + 0.05)), seconds=0.6
    )
    assert np.all(np.isfinite(np.concatenate(state)))
    assert deepest > -1e-3
    assert -0.01 < depth_of_line(vehicle, state) < 1e-3


def test_near_pairs_are_those_of_all_pairs():
    environment = load_environment('deep_rock')
    rng = np.random.default_rng(5)
    for name in ('bluerov2', 'simple_rov', 'surface_vessel'):
        vehicle = load_vehicle(name)
        for _ in range(30):
            owner = environment.scene.obstacles[rng.integers(len(environment.scene.obstacles))]
            place = owner.position + rng.normal(0, 1.0, 3)
            state = State(place, turned(rng), np.zeros(6))
            every = contact_geometry(vehicle, state, environment)
            near, numbers = contacts_within(vehicle, state, environment, 0.1)
            assert set(numbers) == set(np.flatnonzero(every.gap < 0.1))
            assert near.gap == pytest.approx(every.gap[numbers], abs=1e-12)
            assert near.point == pytest.approx(every.point[numbers], abs=1e-9)


def test_batches_and_other_array_libraries_give_the_same_pairs():
    xp = pytest.importorskip('array_api_strict')
    environment, vehicle = load_environment('deep_rock'), load_vehicle('bluerov2')
    rng = np.random.default_rng(6)
    places = [o.position + rng.normal(0, 1.0, 3) for o in environment.scene.obstacles]
    states = [State(p, turned(rng), np.zeros(6)) for p in places]
    batch = State(*(xp.asarray(np.stack(v)) for v in zip(*states, strict=True)))
    found = contact_geometry(vehicle, batch, environment)
    for i, state in enumerate(states):
        for a, b in zip(found, contact_geometry(vehicle, state, environment), strict=True):
            assert np.asarray(a)[i] == pytest.approx(b, abs=1e-9)


# ---- compiled search -------------------------------------------------------------------------


@pytest.mark.parametrize('body', [BOX, CYLINDER], ids=['box', 'cylinder'])
def test_compiled_contacts_of_edges_round_as_numpy(body):
    """Edges of all lengths; every third is parallel to faces, every fifth on round numbers."""
    pytest.importorskip('numba')
    from marine_sim_ros.physics.contact.kernels import edges

    solids = body.contact.solids
    rng = np.random.default_rng(4)
    for i in range(60):
        shape = (rng.integers(1, 25), 3)
        start = rng.normal(size=shape) * 10 ** rng.uniform(-2, 1)
        along = rng.normal(size=shape) * 10 ** rng.uniform(-2, 1)
        if i % 3 == 0:
            along[:, rng.integers(3)] = 0.0
        if i % 5 == 0:
            start, along = np.round(start * 4) / 4, np.round(along * 4) / 4
        expected = edge_contacts(solids, start, along)
        found = edge_contacts(solids, start, along, kernels=edges)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


SCENE = Scene(
    planes=(Plane('floor', np.zeros(3), np.array([0.1, 0.0, 1.0])),),
    obstacles=(
        Obstacle('box', 'box', np.array([0.5, 0.4, 0.3]), np.zeros(3)),
        Obstacle(
            'drum', 'cylinder', np.array([0.4, 0.4, 0.6]), np.array([0.5, 0.1, 0.0]),
            quaternion_from_rpy(0.4, -0.9, 2.0),
        ),
        Obstacle('buoy', 'sphere', np.full(3, 0.5), np.array([0.0, 0.6, 0.1])),
        Obstacle(
            'beam', 'box', np.array([2.0, 0.05, 0.05]), np.array([0.0, -0.4, 0.2]),
            quaternion_from_rpy(0.0, 0.3, 0.1),
        ),
    ),
)  # fmt: skip


@pytest.mark.parametrize('body', [BOX, CYLINDER, BALL], ids=['box', 'cylinder', 'ball'])
def test_compiled_pairs_are_those_of_the_array_libraries(body):
    """Gaps, normals and points of every pair within reach, in 200 poses about four obstacles."""
    pytest.importorskip('numba')
    from marine_sim_ros.physics.contact.kernels import detection

    own, rng = body.contact, np.random.default_rng(77)
    solids, environment = SolidTables.of([own], SCENE), Environment(scene=SCENE)
    seen = 0
    for i in range(200):
        place, attitude = rng.normal(scale=0.5, size=3), turned(rng)
        if i % 4 == 0:  # flush faces
            attitude = quaternion_from_rpy(0.0, 0.0, 0.5 * np.pi * rng.integers(4))
        state = State(place, attitude, np.zeros(6))
        expected, numbers = contacts_within(body, state, environment, 0.1)
        pose = np.vstack([rotation_matrix(attitude), place])
        near = SCENE.clearances(place) <= own.reach + 0.1
        labels, values = np.empty((2000, 4), np.int64), np.empty((2000, 7))
        count = detection.pair_contacts(
            solids, own.position, pose, 0, 1, 0.1, near, EDGE_SEARCH, labels, values
        )
        assert labels[:count, 0].tolist() == numbers.tolist()
        np.testing.assert_allclose(values[:count, 0], expected.gap, atol=1e-12)
        np.testing.assert_allclose(values[:count, 1:4], expected.normal, atol=1e-9)
        np.testing.assert_allclose(values[:count, 4:], expected.point, atol=1e-9)
        layout = pair_layout(own, SCENE)
        np.testing.assert_array_equal(labels[:count, 1], layout.surface[numbers])
        np.testing.assert_array_equal(labels[:count, 2], layout.shape[numbers])
        seen += count
    assert seen > 100


def test_kernels_read_the_coefficients_of_the_table():
    pytest.importorskip('numba')
    from marine_sim_ros.physics.contact.kernels import touches

    names = [
        *('COLUMN', 'MODULUS', 'RESTITUTION', 'SPOOK_DAMPING', 'ADHESION', 'OVERLAP', 'JOINT'),
        *('IN_MAP', 'GROUP', 'LAGGED', 'RADIUS', 'FRICTION', 'VISCOSITY', 'PRIMARY'),
    ]
    fields = PairCoefficients._fields
    assert len(names) == len(fields)
    row = 0
    for name, field in zip(names, fields, strict=True):
        assert getattr(touches, f'_{name}') == row
        assert name.split('_')[-1].lower() in field
        row += {'friction': 2, 'viscosity': 2, 'primary': 3}.get(field, 1)


def separation(half, other_half, pose):
    """Return the largest gap of two boxes over their fifteen axes (Gottschalk 1996), m."""
    rotation, place = pose[:3], pose[3]
    crossed = [np.cross(a, b) for a in np.eye(3) for b in rotation.T]
    axes = np.array([*np.eye(3), *rotation.T, *(c for c in crossed if np.linalg.norm(c) > 1e-6)])
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    extents = np.abs(axes @ rotation) @ half + np.abs(axes) @ other_half
    return np.max(np.abs(axes @ place) - extents)


def test_boxes_that_are_apart_do_not_touch_and_others_do():
    """Poses of edges, faces and corners on each other, within 10 mm."""
    pytest.importorskip('numba')
    from marine_sim_ros.physics.contact.kernels import detection

    scene = Scene(obstacles=(Obstacle('box', 'box', np.array([0.5, 0.4, 0.3]), np.zeros(3)),))
    own, rng = BOX.contact, np.random.default_rng(31)
    solids, half, other_half = SolidTables.of([own], scene), (0.2, 0.15, 0.1), (0.25, 0.2, 0.15)
    still, seen = np.zeros((2, 6)), {True: 0, False: 0}
    for _ in range(300):
        pose = np.vstack([rotation_matrix(turned(rng)), turned(rng)[:3]])
        for _ in range(20):  # moves the box until it nearly touches
            pose[3] *= 1 - separation(half, other_half, pose) / np.linalg.norm(pose[3]) / 2
        pose[3] *= 1 + rng.uniform(-0.01, 0.01) / np.linalg.norm(pose[3])
        gap = separation(half, other_half, pose)
        labels, values = np.empty((200, 4), np.int64), np.empty((200, 7))
        near = np.ones(1, bool)
        found = (solids, own.position, pose, 0, 1)
        count = detection.pair_contacts(*found, 0.05, near, EDGE_SEARCH, labels, values)
        count = detection.choose_contacts(
            *found, still, True, 0.0, 0.005, labels[:count], values[:count]
        )
        touches = bool(count) and values[:count, 0].min() < 0
        if abs(gap) > 1e-4:
            assert touches == (gap < 0), (gap, values[:count])
            seen[touches] += 1
    assert min(seen.values()) > 80
