# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Boundary disturbance against its document's numbers, and ventilation."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.currents_and_waves import regular_waves
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.model.library import vehicle_names
from marine_sim_ros.physics.boundary import (
    FADE_END,
    FADE_START,
    boundary_disturbance,
    boundary_disturbance_as_wind,
    boundary_wrench,
)
from marine_sim_ros.physics.thrusters import thrusters, ventilation_factor
from marine_sim_ros.scene.obstacles import Plane
from marine_sim_ros.scene.scene import JetInteraction, Scene
from marine_sim_ros.sim.simulation import Simulation

UP = np.array([0.0, 0.0, 1.0])
T200 = 0.038
# Vectors of NED in ENU, and of FRD in FLU.
ENU_OF_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
FLU_OF_FRD = np.diag([1.0, -1.0, -1.0])


def ratio(distance, radius, exponent=1.5):
    return (1 + distance / radius) ** -exponent


def force(position, normal=UP, *, thrust=15.0, radius=0.1, rotation=None, **more):
    return boundary_disturbance(
        np.array(position, float),
        np.eye(3) if rotation is None else rotation,
        np.zeros(3),
        np.array(normal, float),
        np.array(thrust),
        np.array(radius),
        **more,
    )


# --- the document's numbers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ('distance', 'share', 'newtons'), [(0.1, 0.353553, 5.30330), (0.3, 0.125, 1.875)]
)
@pytest.mark.parametrize('mode', ['documented', 'normal_only'])
def test_hovering_over_the_ground_pushes_up(distance, share, newtons, mode):
    found = force([1.0, 2.0, distance], mode=mode)
    assert ratio(distance, 0.1) == pytest.approx(share, abs=5e-7)
    assert found == pytest.approx([0, 0, newtons], abs=5e-6)


def test_the_wind_is_the_force_over_the_last_drag_coefficient():
    drag = np.array([9.0, 9.0, 0.1])
    wind = boundary_disturbance_as_wind(
        np.array([0.0, 0.0, 0.3]), np.eye(3), np.zeros(3), UP, np.array(15.0), np.array(0.1), drag
    )
    assert wind == pytest.approx([0, 0, 18.75], abs=1e-9)


def snippet(rpy, position):
    """Return force and wind in NED of an example given in NED and FRD."""
    in_ned = rotation_matrix(quaternion_from_rpy(*rpy))
    arguments = (
        ENU_OF_NED @ position,
        ENU_OF_NED @ in_ned @ FLU_OF_FRD,
        np.zeros(3),
        ENU_OF_NED @ np.array([0.0, 0.0, -1.0]),
        np.array(15.0),
        np.array(0.1),
    )
    found = boundary_disturbance(*arguments)
    wind = boundary_disturbance_as_wind(*arguments, np.full(3, 0.1))
    return ENU_OF_NED.T @ found, ENU_OF_NED.T @ wind


def test_the_documents_own_example():
    found, wind = snippet((0.1, -0.1, 0.5), np.array([1.0, 2.0, 0.5]))
    assert ratio(0.5, 0.1) == pytest.approx(0.0680414, abs=5e-8)
    assert found == pytest.approx([-0.040122, -0.138024, -1.010448], abs=5e-7)
    assert wind == pytest.approx([-0.401223, -1.380243, -10.104485], abs=5e-6)


def test_rolled_over_the_ground():
    found, _ = snippet((np.radians(30), 0.0, 0.0), np.array([0.0, 0.0, -0.1]))
    assert found == pytest.approx([0, -2.651650, -4.592793], abs=5e-7)


@pytest.mark.parametrize('mode', ['documented', 'normal_only'])
def test_a_thruster_over_the_seabed(mode):
    found = force([0, 0, 0.1], thrust=40.0, radius=T200, mode=mode)
    assert ratio(0.1, T200) == pytest.approx(0.144496, abs=5e-7)
    assert found == pytest.approx([0, 0, 5.77985], abs=5e-6)


def test_the_documented_law_pushes_down_beside_a_wall_and_the_other_does_not():
    found = force([0.2, 0, 0], [1.0, 0, 0])
    assert found == pytest.approx([0, 0, -2.88675], abs=5e-6)
    assert not force([0.2, 0, 0], [1.0, 0, 0], mode='normal_only').any()


# --- what the laws have in common, and where they differ ---------------------------------------


@pytest.mark.parametrize('mode', ['documented', 'normal_only'])
@pytest.mark.parametrize('normal', [[0, 0, 0], [0.2, 0.2, 0.2]])
def test_no_normal_is_no_boundary(mode, normal):
    assert not force([0, 0, 0.01], normal, mode=mode).any()


def test_a_ceiling_attracts_in_the_documented_law_and_by_suction():
    assert force([0, 0, -0.1], -UP)[2] == pytest.approx(5.30330, abs=5e-6)
    assert not force([0, 0, -0.1], -UP, mode='normal_only').any()
    scene = Scene((Plane('ceiling', np.zeros(3), -UP),), jets=JetInteraction(suction=1.0))
    vehicle = vehicle_of('bluerov2')
    up = np.array([0, 0, 0, 0, -15.0, -15.0])
    below = state_at_rest((0.0, 0.0, -0.1 - 0.077))
    found = boundary_wrench(vehicle, below, Environment(scene=scene), up)
    assert found[2] == pytest.approx(30 * ratio(0.1, T200))


def test_turning_the_normal_over_changes_nothing_in_the_documented_law():
    tilted = rotation_matrix(quaternion_from_rpy(0.4, -0.7, 2.0))
    one, other = (force([0.1, 0.2, 0.3], n, rotation=tilted) for n in (UP, -UP))
    assert np.array_equal(one, other)


@given(st.floats(0.0, 1e4), st.floats(1.0, 2.0), st.floats(-1e3, 1e3))
def test_the_force_along_the_normal_is_bounded_by_the_ratio(distance, exponent, thrust):
    for mode in ('documented', 'normal_only'):
        found = force([0, 0, distance], thrust=thrust, exponent=exponent, mode=mode)
        assert np.abs(found).max() <= abs(thrust) * ratio(distance, 0.1, exponent) * (1 + 1e-12)


def test_exactly_zero_beyond_the_cut_off_and_smooth_to_it():
    shares = np.linspace(0, 2 * FADE_END, 4001)
    places = np.array(shares)[:, None] * (0.1 * UP)
    found = boundary_disturbance(
        places,
        np.eye(3) + np.zeros((4001, 1, 1)),
        np.zeros(3),
        UP + 0 * places,
        np.full(4001, 15.0),
        np.array(0.1),
        mode='normal_only',
    )
    assert np.all(found[shares >= FADE_END] == 0)
    assert np.all(found[shares < FADE_END - 0.05, 2] > 0)
    expected = 15 * ratio(0.1 * shares, 0.1)
    close = shares <= FADE_START
    assert found[close, 2] == pytest.approx(expected[close], rel=1e-12)
    assert np.all(found[:, 2] <= expected + 1e-12)
    # Continuous in value, slope and curvature where the fading starts and ends.
    step = shares[1]
    slope = np.diff(found[:, 2]) / step
    bend = np.diff(slope) / step
    for place in (FADE_START, FADE_END):
        i = round(place / step)
        assert abs(slope[i] - slope[i - 1]) < 1e-3
        assert abs(bend[i] - bend[i - 3]) < 1e-2
    assert np.all(np.diff(found[:, 2]) <= 0)


@pytest.mark.parametrize('changes', [{'mode': 'seed'}, {'exponent': 0.5}, {'exponent': np.nan}])
def test_laws_that_are_none(changes):
    with pytest.raises(ParameterError, match='expected'):
        force([0, 0, 1], **changes)


# --- of a vehicle ------------------------------------------------------------------------------


def around(*planes, **more):
    return Environment(scene=Scene(tuple(planes), **more))


SEABED = Plane('seabed', np.array([0.0, 0.0, -10.0]), UP)
WALL = Plane('wall', np.array([5.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]))


def test_a_bluerov2_coming_down_on_the_seabed_follows_the_ratio():
    vehicle = vehicle_of('bluerov2')
    thrust = np.array([0, 0, 0, 0, -20.0, -20.0])  # these push down when positive
    for clearance in (0.13, 0.2, 0.3):
        found = boundary_wrench(
            vehicle, state_at_rest((3.0, 1.0, -10.0 + clearance)), around(SEABED), thrust
        )
        expected = 40 * ratio(clearance + 0.077, T200)
        assert found == pytest.approx([0, 0, expected, 0, 0, 0], abs=1e-9)
    far = boundary_wrench(vehicle, state_at_rest((0.0, 0.0, -10 + 0.77)), around(SEABED), thrust)
    assert not far.any()


def test_one_thruster_near_the_ground_turns_the_vehicle():
    vehicle = vehicle_of('bluerov2')
    thrust = np.array([0, 0, 0, 0, 0, -20.0])  # the port vertical, 0.109 m to the left
    found = boundary_wrench(vehicle, state_at_rest((0.0, 0.0, -9.8)), around(SEABED), thrust)
    lift = 20 * ratio(0.277, T200)
    assert found == pytest.approx([0, 0, lift, 0.109 * lift, 0, 0], abs=1e-9)


def test_thrusting_beside_a_wall_turns_a_vehicle_away():
    vehicle = vehicle_of('bluerov2')
    pwm = np.full(6, 1500.0)
    pwm[:2] = 1400  # the bow's thrusters push ahead: their jets leave aft and outwards
    beside = Plane('wall', np.array([0.0, -0.4, 0.0]), np.array([0.0, 1.0, 0.0]))
    turned = {}
    for name, environment in (('free', Environment()), ('wall', around(beside))):
        simulation = Simulation(
            vehicle, environment=environment, initial=state_at_rest((0, 0, -5))
        )
        for _ in range(100):
            tick = simulation.tick(pwm)
        turned[name] = simulation.state
        if name == 'wall':
            push = tick.sources['boundary']
            # The starboard bow's jet meets the wall: away from it, the bow more than the stern.
            assert push[1] > 0.01
            assert push[5] == pytest.approx(0.14 * push[1], rel=0.01)
    yaw = {n: float(rpy_from_quaternion(s.orientation)[2]) for n, s in turned.items()}
    assert abs(yaw['free']) < 1e-9
    assert yaw['wall'] > 1e-3
    assert turned['wall'].position[1] > turned['free'].position[1] + 1e-4


def test_the_boundary_force_is_the_api_of_every_thruster_and_plane(vehicle):
    rng = np.random.default_rng(3)
    n = len(vehicle.thrusters)
    q = rng.standard_normal(4)
    state = State(np.array([4.6, 0.2, -9.7]), q / np.linalg.norm(q), np.zeros(6))
    thrust = rng.normal(0, 20, n)
    rotation = rotation_matrix(state.orientation)
    for mode in ('documented', 'normal_only'):
        total = np.zeros(6)
        for i in range(n):
            axis, place = vehicle.thrusters.axis[i], vehicle.thrusters.position[i]
            # Any rotation whose z column is the thruster's axis will do.
            turned = np.zeros((3, 3))
            turned[:, 2] = rotation @ axis
            for plane in (SEABED, WALL):
                on_rotor = boundary_disturbance(
                    state.position + rotation @ place,
                    turned,
                    plane.point,
                    plane.normal,
                    thrust[i],
                    vehicle.thrusters.rotor_radius[i],
                    mode=mode,
                )
                push = rotation.T @ on_rotor
                total += np.concatenate([push, np.cross(place, push)])
        environment = around(SEABED, WALL, jets=JetInteraction(mode))
        found = boundary_wrench(vehicle, state, environment, thrust)
        assert found == pytest.approx(total, abs=1e-9)
        assert np.abs(found).max() > 1e-3


def test_the_surface_is_a_boundary_where_asked_for_and_follows_the_waves():
    vehicle = vehicle_of('bluerov2')
    thrust = np.array([0, 0, 0, 0, 20.0, 20.0])  # down: the jets go up
    state = state_at_rest((0.0, 0.0, -0.3))
    assert not boundary_wrench(vehicle, state, around(), thrust).any()
    calm = boundary_wrench(vehicle, state, around(water_surface=True), thrust)
    assert calm[2] == pytest.approx(-40 * ratio(0.3 - 0.077, T200))
    waves = regular_waves(0.2, 5.0)
    scene = Scene(water_surface=True)
    rough = boundary_wrench(vehicle, state, Environment(scene=scene, waves=waves).at(0.0), thrust)
    assert rough[2] == pytest.approx(-40 * ratio(0.4 - 0.077, T200), rel=1e-3)


@given(st.tuples(*[st.floats(-12, 12)] * 3))
@settings(max_examples=60)
def test_far_surfaces_are_left_out_without_a_difference(position):
    vehicle, scene = vehicle_of('bluerov2'), load_environment('deep_rock').scene
    lifted = State(np.array(position) - (0, 0, 45), np.array([0, 0, 0, 1.0]), np.zeros(6))
    alone = boundary_wrench(vehicle, lifted, Environment(scene=scene), np.full(6, 30.0))
    stacked = State(*(x[None] for x in lifted))
    whole = boundary_wrench(vehicle, stacked, Environment(scene=scene), np.full((1, 6), 30.0))
    assert alone == pytest.approx(whole[0], abs=1e-12)


def test_no_scene_no_force():
    vehicle = vehicle_of('bluerov2')
    assert not boundary_wrench(vehicle, state_at_rest(), Environment(), np.full(6, 40.0)).any()
    simulation = Simulation(vehicle)
    assert 'boundary' not in simulation.tick(np.full(6, 1600.0)).sources


def test_batches_and_other_array_libraries():
    xp = pytest.importorskip('array_api_strict')
    vehicle = vehicle_of('bluerov2')
    environment = parse_environment(
        'pool: {length: 20, width: 8, depth: 3}\nterrain: {generator: rock, depth: 3, relief: 0.5}'
        '\nobstacles: [{shape: sphere, radius: 0.3, position: [0, 0, -2.5]}]\n',
        'x.yaml',
    )
    rng = np.random.default_rng(4)
    q = rng.standard_normal((5, 4))
    states = State(
        rng.normal(0, 1, (5, 3)) * (1, 1, 0.2) - (0, 0, 2.6),
        q / np.linalg.norm(q, axis=1)[:, None],
        np.zeros((5, 6)),
    )
    thrust = rng.normal(0, 20, (5, 6))
    batch = boundary_wrench(vehicle, states, environment, thrust)
    assert batch.shape == (5, 6)
    for i in range(5):
        single = boundary_wrench(vehicle, State(*(x[i] for x in states)), environment, thrust[i])
        assert batch[i] == pytest.approx(single, abs=1e-12)
    strict = boundary_wrench(
        vehicle, State(*(xp.asarray(x) for x in states)), environment, xp.asarray(thrust)
    )
    assert np.asarray(strict) == pytest.approx(batch, abs=1e-12)
    law = boundary_disturbance(
        xp.asarray([0.0, 0.0, 0.1]),
        xp.eye(3),
        xp.zeros(3),
        xp.asarray(UP),
        xp.asarray(15.0),
        xp.asarray(0.1),
    )
    assert np.asarray(law) == pytest.approx([0, 0, 5.30330], abs=5e-6)


@settings(max_examples=30)
@given(st.tuples(*[st.floats(-20, 20)] * 3), st.tuples(*[st.floats(-3, 3)] * 3))
def test_the_push_is_never_more_than_the_thrusts(position, rpy):
    vehicle = vehicle_of('bluerov2')
    state = State(np.array(position), quaternion_from_rpy(*rpy), np.zeros(6))
    found = boundary_wrench(vehicle, state, around(SEABED, WALL), np.full(6, 20.0))
    assert np.linalg.norm(found[:3]) <= 2 * 6 * 20


# --- ventilation -------------------------------------------------------------------------------


def test_ventilation_is_the_published_curve():
    immersion = np.array([-1.0, 0.0, 0.5, 1.0])
    # 1 − 0.675 (1 − 0.769 h/R)^1.258 by hand.
    assert ventilation_factor(immersion) == pytest.approx([0, 0.325, 0.633434, 0.893162], abs=5e-7)
    assert ventilation_factor(np.array(-0.48)) == 0
    assert ventilation_factor(np.array(1.3)) == pytest.approx(1, abs=5e-5)
    assert ventilation_factor(np.array(1.31)) == 1
    steps = np.diff(ventilation_factor(np.linspace(-1, 2, 3001)))
    assert np.all(steps >= 0)
    assert steps.max() < 1e-3


def run(vehicle, state, environment=None):
    n = len(vehicle.thrusters)
    output, _ = thrusters(
        vehicle, state, environment or Environment(), np.zeros(n), pwm=np.full(n, 1700.0), dt=1e3
    )
    return output


def test_thrusters_near_the_surface_lose_thrust_unless_the_description_says_otherwise():
    vehicle, plain = vehicle_of('bluerov2'), vehicle_of('bluerov2', ventilation='false')
    whole = run(plain, state_at_rest((0.0, 0.0, -5.0))).thrust
    assert np.array_equal(run(vehicle, state_at_rest((0.0, 0.0, -5.0))).thrust, whole)
    assert np.array_equal(run(plain, state_at_rest()).thrust, whole)  # where it is off
    # The verticals are 0.077 m above the others.
    floating = run(vehicle, state_at_rest((0.0, 0.0, -0.019)))
    assert floating.thrust[4:] == pytest.approx([0, 0], abs=0)
    assert floating.thrust[:4] == pytest.approx(0.633434 * whole[:4], rel=1e-6)
    lost = vehicle.thrusters.effectiveness @ floating.thrust
    assert floating.wrench == pytest.approx(lost, abs=1e-12)
    crest = Environment(waves=regular_waves(1.0, 5.0)).at(0.0)
    assert np.array_equal(run(vehicle, state_at_rest((0.0, 0.0, -0.019)), crest).thrust, whole)


def in_air(vehicle, height):
    return run(vehicle, state_at_rest((0.0, 0.0, height))).thrust


@pytest.mark.parametrize('name', vehicle_names())
def test_no_vehicle_pushes_on_air(name):
    vehicle = vehicle_of(name)
    assert np.array_equal(in_air(vehicle, 10.0), np.zeros(len(vehicle.thrusters)))
    # Where no propeller can be near the surface, the thrust is that without one, to the bit.
    deep = -vehicle.thrusters.ventilation_reach
    never = replace(
        vehicle, thrusters=replace(vehicle.thrusters, ventilates=np.zeros(len(vehicle.thrusters)))
    )
    assert np.array_equal(in_air(vehicle, deep), in_air(never, deep))
    assert np.array_equal(in_air(vehicle, deep + 1e-9), in_air(never, deep))


def test_thrusters_that_say_nothing_ventilate():
    text = vehicle_of('bluerov2').urdf.replace('<ventilation>true</ventilation>', '')
    assert not np.any(in_air(load_vehicle(text), 10.0))


@pytest.mark.long
@pytest.mark.parametrize('name', ['bluerov2', 'bluerov2_heavy'])
def test_full_up_ends_at_the_surface_and_upright(name, tmp_path):
    script = tmp_path / 'up.yaml'
    script.write_text(
        'duration: 12\ninitial: {position: [0, 0, -2]}\nsegments: [{at: 0, axes: {heave: 1}}]\n'
    )
    done = simulate(vehicle_of(name), load_scenario(str(script)), dt=0.02)
    tilt = rpy_from_quaternion(done.orientation)[:, :2]
    height = 0.25  # of the vehicle, m
    assert np.max(np.abs(tilt)) < np.radians(30)
    assert np.max(done.position[:, 2]) < height  # it does not leave the water
    assert np.ptp(done.position[done.time > 8, 2]) < height / 2  # and bobs


def test_rotor_radii_are_read():
    text = vehicle_of('bluerov2').urdf
    assert load_vehicle(text).thrusters.rotor_radius == pytest.approx(np.full(6, 0.038))
    bare = text.replace('<diameter>0.076</diameter>', '')
    assert load_vehicle(bare).thrusters.rotor_radius == pytest.approx(np.full(6, 0.038))
    large = text.replace('<diameter>0.076</diameter>', '<diameter>0.2</diameter>')
    assert load_vehicle(large).thrusters.rotor_radius == pytest.approx(np.full(6, 0.1))
    with pytest.raises(ModelError, match='expected true or false'):
        load_vehicle(text.replace('<ventilation>true', '<ventilation>maybe'))


# ---- several surfaces -----------------------------------------------------------------------


def pushed(*planes):
    """Return the force of planes (point, normal) on a BlueROV2 that thrusts up, 20 N each."""
    scene = Scene(
        tuple(
            Plane(f'p{i}', np.array(p, float), np.array(n, float))
            for i, (p, n) in enumerate(planes)
        )
    )
    vehicle = vehicle_of('bluerov2')
    thrust = 20.0 * np.sign(vehicle.thrusters.axis[:, 2])
    return boundary_wrench(
        vehicle, state_at_rest((0.0, 0.0, 0.2)), Environment(scene=scene), thrust
    )


def test_surfaces_at_the_same_place_act_as_one():
    floor = ((0, 0, 0), (0, 0, 1))
    alone = pushed(floor)
    assert alone[2] > 1.0
    assert pushed(floor, floor, floor) == pytest.approx(alone, rel=1e-12)
    # Of two floors the nearer one counts, within 4 %, however far below it the other is.
    for below in (0.001, 0.05, 0.2):
        both = pushed(floor, ((0, 0, -below), (0, 0, 1)))
        assert both == pytest.approx(alone, rel=0.04)


def test_surfaces_across_each_other_both_act():
    left, right = ((0, 0, 0), (-1, 0, 1)), ((0, 0, 0), (1, 0, 1))
    assert pushed(left, right) == pytest.approx(pushed(left) + pushed(right), rel=1e-12)


def test_nothing_jumps_while_two_surfaces_become_one():
    forces = []
    for a in np.radians(np.arange(0.0, 90.0, 0.5)):
        normal = np.array([np.sin(a), 0.0, np.cos(a)])
        beside = (np.array([0.0, 0.0, 0.2]) - 0.4 * normal, normal)
        forces.append(pushed(((0, 0, -0.2), (0, 0, 1)), beside))
    assert np.abs(np.diff(forces, axis=0)).max() < 0.05 * np.abs(forces).max()
