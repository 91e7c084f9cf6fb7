# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reel: length, clutch, closed forms of hauling, energy, and long runs of every kind."""

from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import Environment, load_vehicle, simulate
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.model.tether import CABLES, Reel, Tether
from marine_sim_ros.physics.cable import cable_energy, cable_step, hang_cable
from marine_sim_ros.physics.reel import divide_cable, redistribute_nodes, turn_drum
from marine_sim_ros.scene.obstacles import Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import Simulation

pytestmark = pytest.mark.long

WATER = Environment(water_density=1000.0)
FATHOM = CABLES.load('fathom')
UNBREAKABLE = replace(FATHOM, breaking_load=1e12)
HEAVY = replace(FATHOM, wet_mass=0.02)
DEEP = np.array([0.0, 0.0, -50.0])


def tether(length, segments, chord, *, cable=UNBREAKABLE, rate=1.0, tension=1e12, maximum=60.0):
    reel = Reel(rate, tension, maximum / segments / 2, maximum)
    return Tether(cable, length, segments, np.zeros(3), DEEP + chord, reel=reel)


def ends_of(spec):
    return np.stack([DEEP, spec.anchor])


def to_slip(spec, state):
    """Return what the clutch will take of a cable that has been hauled beyond its limit, J."""
    part, (_, apart) = divide_cable(spec, state), lengths(spec, state)
    over = apart - part.divisor_length * (1 + spec.reel.tension / spec.cable.axial_stiffness)
    return spec.reel.tension * np.sum(part.at_drum * np.maximum(over, 0))


def lengths(spec, state):
    """Return the unstretched lengths of a cable's segments, and how long they are, m."""
    part = divide_cable(spec, state)
    apart = np.linalg.norm(np.diff(state.position, axis=0), axis=1)
    return part.rest_length, apart


def test_the_division_follows_from_the_length():
    """Whole pieces from the vehicle, the rest of ½ to 1½ at the drum, and nothing on it."""
    spec = tether(20.0, 20, [15.0, 0, 0])
    for length in (1.5, 4.49, 4.51, 20.0, 59.9, 60.0):
        state = hang_cable(replace(spec, length=length), ends_of(spec))
        rest, _ = lengths(spec, state)
        assert rest.sum() == pytest.approx(length, abs=1e-12)
        off = rest[rest > 0]
        np.testing.assert_allclose(off[:-1], 3.0, rtol=1e-12)
        assert 1.5 - 1e-9 <= off[-1] < 4.5


@pytest.mark.parametrize('rate', [-0.7, 0.7])
def test_length_follows_the_rate(rate):
    spec = tether(30.0, 20, [20.0, 0, 0])
    ends, dt = ends_of(spec), 0.02
    state = hang_cable(spec, ends)
    _, apart = lengths(spec, state)
    for k in range(600):
        state = cable_step(spec, WATER, state, ends, dt, rate=np.array(rate))
        assert state.length == pytest.approx(30.0 + rate * dt * (k + 1), abs=1e-9)
        assert state.rate == pytest.approx(rate, rel=1e-9)
        rest, apart = lengths(spec, state)
        assert np.all(apart[rest == 0] == 0)
    still = cable_step(spec, WATER, state, ends, dt)
    assert (still.length, still.rate) == (state.length, 0.0)


def test_the_rate_and_the_length_have_their_limits():
    spec = tether(30.0, 20, [20.0, 0, 0], rate=0.4)
    assert turn_drum(spec, np.array(30.0), np.array(5.0), 0.5) == pytest.approx(30.2)
    assert turn_drum(spec, np.array(30.0), np.array(-5.0), 0.5) == pytest.approx(29.8)
    assert turn_drum(spec, np.array(59.9), np.array(5.0), 10.0) == 60.0
    assert turn_drum(spec, np.array(1.6), np.array(-5.0), 10.0) == 1.5


def test_a_batch_of_reels_is_each_of_them():
    spec = tether(20.0, 8, [12.0, 0, 0], maximum=30.0, tension=40.0)
    starts = ends_of(spec) + np.array([[[0.0, 0, 0], [0, 0, 0]], [[-9.0, 2, 3], [0, 0, 0]]])
    rates = np.array([1.0, -0.8])
    both, alone = hang_cable(spec, starts), [hang_cable(spec, ends) for ends in starts]
    for _ in range(60):
        both = cable_step(spec, WATER, both, starts, 0.1, rate=rates)
        alone = [
            cable_step(spec, WATER, s, e, 0.1, rate=r)
            for s, e, r in zip(alone, starts, rates, strict=True)
        ]
    for i, state in enumerate(alone):
        np.testing.assert_allclose(both.length[i], state.length, rtol=0, atol=1e-9)
        np.testing.assert_allclose(both.position[i], state.position, rtol=0, atol=1e-5)


def test_the_clutch_holds_its_limit():
    """The vehicle's end is dragged away at 0.5 m/s, and the drum gives as much at 30 N."""
    spec = tether(20.0, 20, [20.0, 0, 0], tension=30.0)
    ends = ends_of(spec)
    state = hang_cable(spec, ends)
    pulls = []
    for _ in range(4000):
        ends[0, 0] -= 0.005 * 0.5
        state = cable_step(spec, WATER, state, ends, 0.005)
        pulls.append(np.linalg.norm(state.pull[1]))
    np.testing.assert_allclose(pulls[1000:], 30.0, rtol=0.01)  # nodes come off the drum meanwhile
    assert state.length == pytest.approx(30.0, rel=0.002)


def test_the_clutch_slips_when_it_hauls_what_does_not_come():
    spec = tether(20.0, 20, [20.0, 0, 0], tension=30.0)
    ends = ends_of(spec)
    state = hang_cable(spec, ends)
    for _ in range(2000):
        state = cable_step(spec, WATER, state, ends, 0.005, rate=np.array(-0.5))
    assert state.length == pytest.approx(20.0, abs=0.02)
    assert state.rate == pytest.approx(0.0, abs=1e-6)
    assert np.linalg.norm(state.pull, axis=-1) == pytest.approx([30.0, 30.0], rel=0.01)


def test_at_its_end_the_cable_holds_beyond_the_limit():
    spec = tether(29.0, 10, [29.0, 0, 0], tension=30.0, maximum=30.0)
    ends = ends_of(spec)
    state = hang_cable(spec, ends)
    for _ in range(1200):
        ends[0, 0] -= 0.005 * 0.2
        state = cable_step(spec, WATER, state, ends, 0.005)
    stretched = UNBREAKABLE.axial_stiffness * (30.2 / 30.0 - 1)
    assert state.length == pytest.approx(30.0, abs=1e-9)
    assert np.linalg.norm(state.pull[1]) == pytest.approx(stretched, rel=0.02)


@pytest.mark.parametrize('seed', range(8))
def test_energy_never_grows_while_the_drum_does_not_turn(seed):
    """Slack, taut and snapping; the clutch slips, which takes energy."""
    rng = np.random.default_rng(seed)
    segments = int(rng.integers(5, 40))
    chord = rng.normal(size=3)
    length = rng.uniform(10.0, 55.0)
    chord *= length * rng.uniform(0.3, 1.002) / np.linalg.norm(chord)
    spec = tether(length, segments, chord, tension=10 ** rng.uniform(0.5, 3.0))
    spec = replace(spec, anchor=spec.anchor - [0, 0, 500])
    environment = Environment(water_density=rng.choice([0.0, 1000.0]), gravity=0.0)
    ends = np.stack([spec.anchor - chord, spec.anchor])
    state = hang_cable(spec, ends)
    velocity = rng.normal(size=state.velocity.shape) * 10 ** rng.uniform(-1, 0.5)
    velocity[[0, -1]] = 0
    velocity[~divide_cable(spec, state).free] = 0
    state = state._replace(velocity=velocity)
    first = energy = cable_energy(spec, environment, state)
    for _ in range(300):
        state = cable_step(spec, environment, state, ends, 0.005)
        before, energy = energy, cable_energy(spec, environment, state)
        assert energy <= before + 1e-9 * (1 + abs(before))
    assert energy < first


@pytest.mark.parametrize('rate', [-1.0, 1.0])
@pytest.mark.parametrize('seed', range(4))
def test_energy_grows_by_no_more_than_the_drum_gives(rate, seed):
    """A step adds nothing to what turning the drum did to the cable as it stood."""
    rng = np.random.default_rng(seed)
    chord = np.array([28.0, 0, 0]) * rng.uniform(0.5, 1.0)
    spec = tether(28.0, 20, chord, tension=10 ** rng.uniform(1.0, 3.0))
    environment, ends = Environment(water_density=1000.0, gravity=0.0), ends_of(spec)
    state = hang_cable(spec, ends)
    velocity = 0.3 * rng.normal(size=state.velocity.shape)
    velocity[[0, -1]] = 0
    velocity[~divide_cable(spec, state).free] = 0
    state = state._replace(velocity=velocity)
    for _ in range(1000):
        there = redistribute_nodes(
            spec, state, turn_drum(spec, state.length, np.array(rate), 0.005)
        )
        given = cable_energy(spec, environment, there) + to_slip(spec, there)
        state = cable_step(spec, environment, state, ends, 0.005, rate=np.array(rate))
        energy = cable_energy(spec, environment, state)
        assert energy <= given + 1e-9 * (1 + abs(given))


def test_the_work_of_the_drum_is_what_it_lifts():
    """In air, straight up: the work T v of the drum over 2 m is the change of height m g h."""
    cable = replace(UNBREAKABLE, bending_stiffness=0.0)
    spec = tether(20.0, 20, [0, 0, 20.0], cable=cable, maximum=30.0)
    environment = Environment(water_density=0.0)
    ends = ends_of(spec)
    state = hang_cable(spec, ends)._replace(attached=np.array(0.0))  # its lower end is free
    ends[0, 2] -= 500.0  # which no node is at
    for _ in range(400):
        state = cable_step(spec, environment, state, ends, 0.005)
    work = 0.0
    for _ in range(2000):
        state = cable_step(spec, environment, state, ends, 0.005, rate=np.array(-0.2))
        work += abs(state.pull[1, 2]) * 0.2 * 0.005
    weight = cable.mass * environment.gravity
    free = 20.0 - spec.piece / 2  # the half at the vehicle has parted
    lifted = weight * 2.0 * (free - 1.0)
    assert work == pytest.approx(lifted, rel=0.02)


def test_a_vehicle_is_hauled_at_the_speed_at_which_its_drag_is_the_pull():
    """Astern along x at 0.4 m/s: pull = (D_l + D_q u) u, the cable's own drag beside it."""
    vehicle = load_vehicle(
        'bluerov2',
        coefficients='bluerov2_gz',
        tether='fathom',
        tether_length='20',
        tether_anchor='0 0 -5',
        tether_reel_rate='0.4',
    )
    start = State(np.array([-20.0, 0, -5.08]), quaternion_from_rpy(0, 0, np.pi), np.zeros(6))
    simulation = Simulation(vehicle, initial=start)
    still = np.full(6, 1500.0)
    for _ in range(5000):
        done = simulation.tick(still, {'reel': np.array([-0.4])})
    speed = -done.state.velocity[0]
    damping = vehicle.damping
    drag = (damping.linear[0, 0] + damping.quadratic[0, 0] * speed) * speed
    assert speed == pytest.approx(0.4, rel=0.01)
    assert -done.sources['tether'][0] == pytest.approx(drag, rel=0.02)
    cable = vehicle.extensions['tether'].cable
    length, rate, pull = done.actuators['reel']
    assert (length, rate) == pytest.approx((20.0 - 25.0 * 0.4 + 0.002, -0.4), abs=1e-6)
    along = 0.5 * 1000 * cable.tangential_drag * np.pi * cable.diameter * 0.4**2 * length
    assert pull == pytest.approx(drag + along, rel=0.02)


def test_what_lies_on_the_ground_stays_there_while_the_slack_comes_in():
    """Rough ground: hauling moves the nodes near the drum, and the far end feels nothing."""
    cable = replace(HEAVY, friction=10.0)
    floor = Plane('floor', np.array([0.0, 0.0, -50.0]), np.array([0.0, 0.0, 1.0]), 'sand')
    environment = Environment(water_density=1000.0, scene=Scene((floor,)))
    spec = tether(40.0, 20, [30.0, 0, 0], cable=cable)
    ends = ends_of(spec) + np.array([0, 0, cable.diameter / 2])
    first = state = hang_cable(spec, ends)
    for _ in range(200):
        state = cable_step(spec, environment, state, ends, 0.005, rate=np.array(-0.3))
    moved = np.linalg.norm(state.position - first.position, axis=1)
    assert state.length == pytest.approx(39.7, abs=1e-9)
    assert moved.max() > 0.3
    assert moved[:4].max() < 0.02
    far, near = np.linalg.norm(state.pull, axis=-1)
    assert far < 1.0
    assert near > 30.0


SECONDS = 60.0
RUNS = {
    'slack': (30.0, 15.0, lambda t: 0.0),
    'taut': (30.0, 30.2, lambda t: 0.0),
    'reeling': (30.0, 25.0, lambda t: np.sign(np.sin(t / 20.0)) * 0.5),
    'snagged': (30.0, 29.0, lambda t: -0.5),
    'broken': (30.0, 29.0, lambda t: 0.3 * np.sin(t / 10.0)),
}


@pytest.mark.parametrize('kind', RUNS)
def test_a_minute_of_every_kind_stays_bounded(kind):
    """Its far end goes to and fro in a current; pulls stay near the clutch's limit."""
    length, chord, rate = RUNS[kind]
    floor = Plane('floor', np.array([0.0, 0.0, -51.0]), np.array([0.0, 0.0, 1.0]), 'sand')
    environment = Environment(
        water_density=1000.0, current=np.array([0.1, 0.3, 0.0]), scene=Scene((floor,))
    )
    spec = tether(length, 20, [chord, 0, 0], cable=replace(HEAVY, breaking_load=1e12), tension=200)
    start = ends_of(spec)
    state = hang_cable(spec, start)
    if kind == 'broken':
        state = state._replace(attached=np.array(0.0))
    dt, most = 0.04, 0.0
    for k in range(round(SECONDS / dt)):
        time = k * dt
        swing = np.array([0.3 * np.sin(time), 0.2 * np.sin(0.7 * time), 0])
        shaken = start + np.stack([swing, 0 * swing])
        state = cable_step(spec, environment, state, shaken, dt, rate=np.array(rate(time)))
        most = max(most, np.linalg.norm(state.pull, axis=-1).max())
        assert spec.reel.minimum - 1e-9 <= state.length <= spec.reel.maximum + 1e-9
    assert np.isfinite(most)
    assert most < 260.0
    assert np.abs(state.velocity).max() < 3.0
    assert (kind == 'broken') == (state.attached == 0)


SCENARIO = """
duration: 4.0
initial: {position: [3.0, 1.0, -3.8], rpy: [0.1, -0.1, 0.5]}
segments:
  - {at: 0.0, pwm: [1300, 1300, 1700, 1700, 1650, 1650], tether: {rate: 0.4}}
  - {at: 2.0, pwm: [1500, 1500, 1500, 1500, 1500, 1500]}
  - {at: 3.0, tether: {rate: -0.5}}
"""
REELED = {
    'coefficients': 'bluerov2_gz',
    'tether': 'fathom',
    'tether_length': '5.2',
    'tether_maximum': '20',
    'tether_reel_rate': '0.5',
    'tether_reel_tension': '60',
}


def test_a_scenario_commands_the_reel_until_it_says_otherwise():
    vehicle = load_vehicle('bluerov2', **REELED)
    found = simulate(vehicle, parse_scenario(SCENARIO, 'reel')).actuators['reel']
    assert found[0, 0] == 5.2
    assert found[100, 0] == pytest.approx(5.2 + 0.5 * 0.4, abs=1e-9)
    np.testing.assert_allclose(found[590:600, 1], 0.4, rtol=1e-6)  # the second says nothing of it
    np.testing.assert_allclose(found[790:, 1], -0.5, rtol=1e-6)
    assert np.all(found[:, 2] < 61)


def test_a_reel_that_is_not_there_is_one_line():
    scenario = parse_scenario(SCENARIO, 'reel')
    with pytest.raises(MarineSimError, match='bluerov2 has no reel; expected a vehicle with'):
        simulate(load_vehicle('bluerov2', tether='fathom'), scenario)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'tether_maximum': '3'}, 'is 3; expected 5.2 to'),
        ({'tether_reel_rate': '-1'}, 'expected 0 to 100'),
        ({'tether_reel_tension': '0'}, 'expected 0.1 to'),
        ({'tether_length': '0.5'}, r'the length is 0.5 m; expected at least 1 m'),
    ],
)
def test_a_reel_that_cannot_be_read_is_one_line(arguments, message):
    with pytest.raises(MarineSimError, match=message):
        load_vehicle('bluerov2', **{**REELED, **arguments})


def test_the_compiled_engine_turns_the_same_reel():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle, scenario = load_vehicle('bluerov2', **REELED), parse_scenario(SCENARIO, 'reel')
    expected = simulate(vehicle, scenario)
    found, _ = simulate_compiled(vehicle, scenario)
    np.testing.assert_allclose(found.position, expected.position, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        found.actuators['reel'], expected.actuators['reel'], rtol=0, atol=1e-4
    )
