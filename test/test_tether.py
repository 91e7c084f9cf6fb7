# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tether: closed forms of cables at rest, in a current, vibrating, dragged and broken."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from marine_sim_ros import Environment, load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.numerics import solve_banded
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.currents_and_waves import regular_waves
from marine_sim_ros.model.tether import CABLES, Tether
from marine_sim_ros.physics.cable import cable_energy, cable_step, hang_cable
from marine_sim_ros.physics.tether import tether_ends
from marine_sim_ros.scene.obstacles import Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sim.simulation import Simulation

WATER = Environment(water_density=1000.0)
DEEP = np.array([0.0, 0.0, -50.0])
FATHOM = CABLES.load('fathom')
UNBREAKABLE = replace(FATHOM, breaking_load=1e9)
HEAVY = replace(FATHOM, wet_mass=0.02)


def tether(cable, length, segments, chord):
    return Tether(cable, length, segments, np.zeros(3), DEEP + chord)


def ends_of(spec):
    return np.stack([DEEP, spec.anchor])


def settled(spec, environment, *, ticks=1200, dt=0.4, attached=True):
    """Return a cable that has come to rest between its ends."""
    ends = ends_of(spec)
    state = hang_cable(spec, ends)
    if not attached:
        state = state._replace(attached=np.array(0.0))
    for _ in range(ticks):
        state = cable_step(spec, environment, state, ends, dt)
    assert np.abs(state.velocity).max() < 1e-3
    return state


def test_a_step_that_does_not_converge_is_reported_once(caplog, monkeypatch):
    spec = tether(FATHOM, 20.0, 20, [12.0, 0.0, 5.0])
    cable, ends = hang_cable(spec, ends_of(spec)), ends_of(spec)
    cable_step(spec, Environment(), cable, ends, 0.01)
    assert not caplog.messages
    monkeypatch.setattr('marine_sim_ros.physics.cable.ITERATIONS', 1)
    for _ in range(2):
        cable = cable_step(spec, Environment(), cable, ends, 0.01)
    assert len(caplog.messages) == 1
    assert 'tether of 20 m' in caplog.messages[0]
    assert 'did not converge in 1 iterations' in caplog.messages[0]


def test_the_banded_solution_is_the_dense_one():
    rng = np.random.default_rng(0)
    lower = np.tril(np.triu(rng.normal(size=(40, 40)), -6))
    matrix = np.tril(np.triu(lower @ lower.T, -6), 6) + 60 * np.eye(40)
    band = np.zeros((7, 40))
    for r in range(7):
        band[r, : 40 - r] = np.diag(matrix, -r)
    right = rng.normal(size=(2, 40))
    found = solve_banded(np.stack([band, 2 * band]), right)
    np.testing.assert_allclose(found[0], np.linalg.solve(matrix, right[0]), rtol=1e-10)
    np.testing.assert_allclose(found[1], np.linalg.solve(2 * matrix, right[1]), rtol=1e-10)


def test_a_batch_of_cables_is_each_of_them():
    spec = tether(HEAVY, 20.0, 8, [12.0, 0, 0])
    starts = ends_of(spec) + np.array([[[0.0, 0, 0], [0, 0, 0]], [[1.0, 2, 3], [0, 0, 0]]])
    floor = Plane('floor', np.array([0.0, 0.0, -52.0]), np.array([0.0, 0.0, 1.0]), 'sand')
    environment = Environment(current=np.array([0.3, 0.1, 0]), scene=Scene((floor,)))
    both, alone = hang_cable(spec, starts), [hang_cable(spec, ends) for ends in starts]
    for _ in range(50):
        both = cable_step(spec, environment, both, starts, 0.1)
        alone = [
            cable_step(spec, environment, s, e, 0.1) for s, e in zip(alone, starts, strict=True)
        ]
    for i, state in enumerate(alone):
        np.testing.assert_allclose(both.position[i], state.position, rtol=0, atol=1e-6)
        np.testing.assert_allclose(both.pull[i], state.pull, rtol=0, atol=1e-3)


def test_a_heavy_cable_hangs_as_a_catenary():
    """y = a cosh(x/a) with 2 a sinh(D/2a) = L; at the end T = w a cosh(D/2a)."""
    length, span = 60.0, 40.0
    spec = tether(HEAVY, length, 40, [span, 0, 0])
    state = settled(spec, WATER)
    a = brentq(lambda a: 2 * a * np.sinh(span / 2 / a) - length, 1, 1e3)
    weight = 0.02 * WATER.gravity
    end = weight * a * np.cosh(span / 2 / a)
    np.testing.assert_allclose(np.linalg.norm(state.pull, axis=-1), end, rtol=0.01)
    np.testing.assert_allclose(
        state.pull[0], [weight * a, 0, -weight * length / 2], rtol=0.01, atol=1e-4
    )
    x, z = state.position[:, 0], state.position[:, 2]
    shape = a * (np.cosh((x - span / 2) / a) - np.cosh(span / 2 / a))
    sag = a * (np.cosh(span / 2 / a) - 1)
    assert np.abs(z - DEEP[2] - shape).max() < 0.01 * sag


def test_a_current_across_makes_a_catenary_of_drag():
    """Without weight and tangential drag T dφ/ds = q sin²φ: T is q times the catenary's a.

    q = ½ ρ C d U² per metre; the flow is along y, the chord along x, φ from the flow.
    """
    length, span, speed = 60.0, 45.0, 0.5
    cable = replace(FATHOM, tangential_drag=0.0, bending_stiffness=0.0)
    spec = tether(cable, length, 40, [span, 0, 0])
    environment = Environment(water_density=1000.0, current=np.array([0.0, speed, 0.0]))
    state = settled(spec, environment)
    load = 0.5 * 1000 * cable.normal_drag * cable.diameter * speed**2
    a = brentq(lambda a: 2 * a * np.arcsinh(length / 2 / a) - span, 0.1, 1e3)
    pull = state.pull[0]
    assert np.linalg.norm(pull) == pytest.approx(load * a, rel=0.02)
    angle = np.arctan2(pull[1], pull[0])
    assert angle == pytest.approx(np.arctan(length / 2 / a), rel=0.02)
    assert abs(pull[2]) < 1e-3 * load * a


@pytest.mark.parametrize('speed', [0.3, 0.8])
def test_a_towed_cable_trails_at_the_critical_angle(speed):
    """w cos φ = ½ ρ C_n d U² sin² φ, T = L (w sin φ + ½ ρ C_t π d U² cos² φ); its end is free."""
    cable = replace(HEAVY, bending_stiffness=0.0)
    spec = tether(cable, 50.0, 100, [0, 0, 0])
    environment = Environment(water_density=1000.0, current=np.array([speed, 0.0, 0.0]))
    weight = 0.02 * environment.gravity
    per = 0.5 * 1000 * cable.diameter * speed**2
    across = per * cable.normal_drag
    angle = brentq(lambda p: weight * np.cos(p) - across * np.sin(p) ** 2, 0, 1.57)
    state = settled(spec, environment, ticks=1000, attached=False)
    pull = state.pull[1]
    free = 50.0 - spec.piece / 2
    tension = free * (
        weight * np.sin(angle) + per * np.pi * cable.tangential_drag * np.cos(angle) ** 2
    )
    assert np.linalg.norm(pull) == pytest.approx(tension, rel=0.02)
    assert np.arctan2(-pull[2], pull[0]) == pytest.approx(angle, rel=0.02)


@pytest.mark.parametrize('density', [0.0, 1000.0])
def test_the_first_frequency_of_a_taut_string(density):
    """f = √(T/m)/(2 L), with the added mass in m: counted over 10 s of a small vibration."""
    cable = replace(UNBREAKABLE, bending_stiffness=0.0, normal_drag=0.0, wet_mass=0.0)
    spec = tether(cable, 20.0, 30, [20.05, 0, 0])
    environment = Environment(gravity=0.0, water_density=density)
    ends = ends_of(spec)
    state = hang_cable(spec, ends)
    swing = 0.01 * np.sin(np.pi * np.linspace(0, 1, 31))
    state = state._replace(position=state.position + swing[:, None] * [0, 1, 0])
    middle = []
    for _ in range(2000):
        state = cable_step(spec, environment, state, ends, 0.005)
        middle.append(state.position[15, 1])
    zero = np.flatnonzero(np.diff(np.sign(middle)))
    found = (len(zero) - 1) / 2 / ((zero[-1] - zero[0]) * 0.005)
    mass = cable.mass + density * cable.displaced_area * cable.added_mass
    tension = cable.axial_stiffness * 0.05 / 20
    assert found == pytest.approx(np.sqrt(tension / mass) / (2 * 20.05), rel=0.02)


@pytest.mark.parametrize('seed', range(12))
def test_energy_never_grows_without_current(seed):
    """Whatever the length, chord, weight and start; slack, taut, and snapping from one to both."""
    rng = np.random.default_rng(seed)
    length = 10 ** rng.uniform(0.5, 2.5)
    segments = int(rng.integers(5, 60))
    chord = rng.normal(size=3)
    chord *= length * rng.uniform(0.1, 1.01) / np.linalg.norm(chord)
    cable = replace(UNBREAKABLE, wet_mass=rng.uniform(-0.02, 0.03))
    spec = tether(cable, length, segments, chord)
    spec = replace(spec, anchor=spec.anchor - [0, 0, 500])  # far from the surface
    environment = Environment(water_density=rng.choice([0.0, 1025.0]))
    ends = np.stack([spec.anchor - chord, spec.anchor])
    state = hang_cable(spec, ends)
    velocity = rng.normal(size=state.velocity.shape) * 10 ** rng.uniform(-1, 0.7)
    velocity[[0, -1]] = 0
    state = state._replace(velocity=velocity)
    energy = cable_energy(spec, environment, state)
    first = energy
    for _ in range(150):
        state = cable_step(spec, environment, state, ends, 0.005)
        before, energy = energy, cable_energy(spec, environment, state)
        assert energy <= before + 1e-9 * (1 + abs(before))
    assert energy < first


@pytest.mark.parametrize(('length', 'reach'), [(30.0, 18.0), (30.0, 29.99), (300.0, 120.0)])
def test_a_shaken_cable_stays_bounded(length, reach):
    """Its end goes to and fro by 0.3 m in 2 s, so that the second one snaps taut each time."""
    spec = tether(UNBREAKABLE, length, 20, [reach, 0, 0])
    state = hang_cable(spec, ends_of(spec))
    most = 0.0
    for k in range(1600):
        shaken = ends_of(spec) - [[0.3 * np.sin(np.pi * k * 0.005), 0, 0], [0, 0, 0]]
        state = cable_step(spec, WATER, state, shaken, 0.005)
        most = max(most, np.linalg.norm(state.pull, axis=-1).max())
    stretched = max((reach + 0.3) / length - 1, 0) * spec.cable.axial_stiffness
    assert most < 2 * stretched + 40
    assert np.abs(state.velocity).max() < 10
    if stretched:
        assert most > stretched


def test_a_heavy_cable_is_dragged_along_the_seabed_by_its_friction():
    """T = μ w L while it slides, and it lies within a millimetre of the surface."""
    cable = replace(HEAVY, tangential_drag=0.0)
    floor = Plane('floor', np.array([0.0, 0.0, -50.0]), np.array([0.0, 0.0, 1.0]), 'sand')
    environment = Environment(water_density=1000.0, scene=Scene((floor,)))
    spec = tether(cable, 20.0, 20, [20.0, 0, 0])
    radius = np.array([0, 0, cable.diameter / 2])
    ends = ends_of(spec) + radius
    state = hang_cable(spec, ends)._replace(attached=np.array(0.0))
    pulls = []
    for _ in range(2000):
        ends[1, 0] += 0.001
        state = cable_step(spec, environment, state, ends, 0.005)
        pulls.append(state.pull[1, 0])
    weight = 0.02 * environment.gravity * (20.0 - spec.piece)  # the ends' halves are held
    assert np.mean(pulls[-200:]) == pytest.approx(-cable.friction * weight, rel=0.03)
    height = state.position[2:-1, 2] - DEEP[2] - radius[2]
    assert np.all(np.abs(height) < 1e-3)


def test_a_vehicle_at_the_end_of_its_tether_is_held():
    """Full ahead in line with it: the pull is the thrust that would accelerate it otherwise."""
    vehicle = load_vehicle(
        'bluerov2',
        coefficients='bluerov2_gz',
        tether='fathom',
        tether_length='6',
        tether_anchor='0 0 -5',
    )
    simulation = Simulation(vehicle, initial=state_at_rest((5.0, 0.0, -5.0)))
    ahead = np.array([1400.0, 1400.0, 1600.0, 1600.0, 1500.0, 1500.0])
    for _ in range(2000):
        done = simulation.tick(ahead)
    distance = np.linalg.norm(
        tether_ends(vehicle.extensions['tether'], done.state, WATER)[0] - [0, 0, -5.0]
    )
    assert 6.0 < distance < 6.02
    assert abs(done.state.velocity[0]) < 0.02
    assert done.sources['tether'][0] == pytest.approx(-done.sources['thrusters'][0], rel=0.05)


def test_a_broken_tether_pulls_no_more(tmp_path):
    weak = tmp_path / 'weak.yaml'
    text = CABLES.path('fathom').read_text().replace('breaking_load: 1557', 'breaking_load: 10')
    weak.write_text(text)
    vehicle = load_vehicle(
        'bluerov2',
        coefficients='bluerov2_gz',
        tether=str(weak),
        tether_length='6',
        tether_anchor='0 0 -5',
    )
    simulation = Simulation(vehicle, initial=state_at_rest((5.0, 0.0, -5.0)))
    pulls = np.array(
        [
            simulation.tick(np.array([1300.0, 1300.0, 1700.0, 1700.0, 1500.0, 1500.0])).sources[
                'tether'
            ]
            for _ in range(1500)
        ]
    )
    parted = np.flatnonzero(np.abs(pulls).max(axis=1) > 0)[-1] + 1
    assert 100 < parted < 1400
    assert np.all(pulls[parted:] == 0)
    assert simulation.state.position[0] > 6.5


def test_an_anchor_afloat_follows_the_waves():
    vehicle = load_vehicle(
        'bluerov2', tether='fathom', tether_anchor='3 0 0.5', tether_afloat='true'
    )
    environment = Environment(waves=regular_waves(1.0, 6.0)).at(1.7)
    anchor = tether_ends(vehicle.extensions['tether'], state_at_rest((0, 0, -5.0)), environment)[1]
    up = 0.5 * np.cos((2 * np.pi / 6) ** 2 / 9.8 * 3 - 2 * np.pi / 6 * 1.7)
    np.testing.assert_allclose(anchor, [3, 0, 0.5 + up], rtol=1e-12)


def test_shipped_vehicles_have_no_tether_unless_told_to():
    for name in ('bluerov2', 'bluerov2_heavy'):
        assert 'tether' not in load_vehicle(name).extensions
        spec = load_vehicle(name, tether='fathom_slim', tether_length='300').extensions['tether']
        assert (spec.length, spec.segments, spec.cable.diameter) == (300.0, 100, 0.004)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'tether': 'rope'}, "tether 'rope' is neither a file nor a shipped tether"),
        ({'tether': 'fathom', 'tether_length': '-3'}, 'expected 0.1 to'),
        ({'tether': 'fathom', 'tether_anchor': '1 2'}, r'expected 3 finite number'),
        ({'tether': 'fathom', 'tether_afloat': 'yes'}, "afloat is 'yes'"),
    ],
)
def test_a_tether_that_cannot_be_read_is_one_line(arguments, message):
    with pytest.raises(MarineSimError, match=message):
        load_vehicle('bluerov2', **arguments)


def test_a_tether_too_short_for_the_start_is_an_error():
    """Who asks for a force elsewhere, as the doctor does, is told that it has parted."""
    vehicle = load_vehicle('bluerov2', tether='fathom', tether_length='3')
    with pytest.raises(MarineSimError, match=r'starts 4\.9 m from the anchor; expected at most'):
        simulate(vehicle, load_scenario('heading_step'), duration=0.1)
    done = Simulation(vehicle, initial=state_at_rest((0, 0, -100.0))).tick(np.full(6, 1500.0))
    assert np.all(done.sources['tether'] == 0)


def test_the_compiled_engine_moves_the_same_cable():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = load_vehicle(
        'bluerov2', coefficients='bluerov2_gz', tether='fathom', tether_length='8'
    )
    scenario = load_scenario('dive')
    expected = simulate(vehicle, scenario, duration=2.0)
    found, _ = simulate_compiled(vehicle, scenario, duration=2.0)
    np.testing.assert_allclose(found.position, expected.position, rtol=0, atol=1e-9)
    pull = expected.sources['tether']
    np.testing.assert_allclose(found.sources['tether'], pull, rtol=0, atol=1e-4)
    assert np.abs(pull).max() > 0.1
