# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled vehicles touch what is solid, and feel their jets near it, as NumPy's do."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from energy import kinetic_energy

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.arrays import cond, while_loop
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State, ticks_of
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics.boundary import BOUNDARY, boundary_wrench
from marine_sim_ros.physics.contact.contact import CONTACT
from marine_sim_ros.physics.contact.detection import contact_geometry, contacts_within, step_reach
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate

pytest.importorskip('jax', reason='jax: not installed (extra batch)')

from marine_sim_ros.engine.availability import precision
from marine_sim_ros.engine.batch import simulate_batch, stack_initial_states
from marine_sim_ros.engine.compiled import ScenarioProgram, make_setting, simulate_compiled
from marine_sim_ros.engine.trees import compute_cached_properties, stack_records
from marine_sim_ros.sweep.plan import parse_plan
from marine_sim_ros.sweep.runs import run_block

TOLERANCE = 5e-9
"""m and of quaternions; what is rounded grows while a body slides and turns on the floor."""
SCENES = ('pool', 'shallow_sand', 'deep_rock', 'test_grid')
DT = 0.005


def drive(position, yaw, first, then='', seconds=2.0, rpy=(0.0, 0.0)):
    """Sticks from a place on, others in the second half."""
    return parse_scenario(
        f"""
duration: {seconds}
initial: {{position: {[float(x) for x in position]}, rpy: [{rpy[0]}, {rpy[1]}, {yaw}]}}
segments:
  - {{at: 0.0, axes: {{{first}}}}}
  - {{at: {seconds / 2}, axes: {{{then}}}}}
""",
        'drive',
    )


def lowest(vehicle):
    return float((vehicle.contact.position[:, 2] - vehicle.contact.radius).min())


# ---- in a pool: floor, walls, and nothing ----------------------------------------------------


def in_the_pool(vehicle):
    floor = -4.0 - lowest(vehicle)
    return {
        'lands': drive(
            (1.0, 2.0, floor + 0.15), 0.3, 'heave: -0.5', 'heave: -0.2', rpy=(0.1, 0.05)
        ),
        'slides along a wall': drive((12.1, 1.0, -2.0), 0.4, 'surge: 0.4', 'surge: 0.2'),
        'slides on the floor': drive((1.0, 2.0, floor + 0.001), 0.3, 'surge: 0.3, heave: -0.5'),
        'thrusts over the floor': drive((1.0, 2.0, floor + 0.2), 0.3, 'heave: 0.3'),
        'is far': drive((0.0, 0.0, -1.5), 0.3, 'surge: 0.3'),
    }


@pytest.fixture(scope='module')
def pool():
    """Vehicle, environment, scenarios by name, the program of all together, what it kept."""
    vehicle, environment = vehicle_of('bluerov2'), load_environment('pool')
    cases = in_the_pool(vehicle)
    settings = [make_setting(vehicle, case, environment) for case in cases.values()]
    program = ScenarioProgram(settings, ticks=ticks_of(2.0, DT), size=len(cases))
    kept = program.run(stack_initial_states(None, list(cases.values())), program.arguments)
    return vehicle, environment, cases, program, kept


@pytest.mark.long
@pytest.mark.parametrize('name', in_the_pool(vehicle_of('bluerov2')))
def test_a_batch_in_a_pool_moves_as_numpy_has_it(pool, name):
    vehicle, environment, cases, _, kept = pool
    expected = simulate(vehicle, cases[name], environment=environment)
    i = list(cases).index(name)
    for quantity in ('position', 'orientation'):
        np.testing.assert_allclose(
            kept[quantity][..., i], getattr(expected, quantity), rtol=0, atol=TOLERANCE
        )
    # Impulses are for a step: what they round reaches velocities 1/dt times as large.
    np.testing.assert_allclose(
        kept['velocity'][..., i], expected.velocity, rtol=0, atol=TOLERANCE / DT
    )
    touched = np.any(expected.sources['contact'] != 0, axis=1)
    blown = np.any(expected.sources['boundary'] != 0, axis=1)
    np.testing.assert_array_equal(np.any(kept['wrench/contact'][..., i] != 0, axis=1), touched)
    np.testing.assert_array_equal(np.any(kept['wrench/boundary'][..., i] != 0, axis=1), blown)
    assert touched.any() == (name not in ('is far', 'thrusts over the floor'))
    assert blown.any() == (name in ('thrusts over the floor', 'slides on the floor'))


@pytest.mark.long
def test_it_does_not_matter_who_else_is_in_the_batch(pool):
    _, _, cases, program, kept = pool
    order = np.array([4, 0, 0, 2, 4])
    start = stack_initial_states(None, [list(cases.values())[i] for i in order])
    again = program.run(start, [a[..., order] for a in program.arguments])
    for name, values in again.items():
        np.testing.assert_allclose(
            values, kept[name][..., order], rtol=0, atol=1e-12, err_msg=name
        )


@pytest.mark.long
def test_contact_takes_energy(pool):
    vehicle, _, _, _, kept = pool
    for i in (0, 1, 2):
        velocity, wrench = kept['velocity'][..., i], kept['wrench/contact'][..., i]
        mean = (velocity[1:] + velocity[:-1]) / 2
        work = DT * np.sum(wrench[:-1] * mean, axis=1)
        # What pushing out of a penetration takes, and forces that changed within the step.
        assert work.max() < 0.02 * vehicle.inertia.mass
        assert work.sum() < 0
        energy = kinetic_energy(vehicle, State(None, None, velocity))
        assert energy.max() < 15.0


# ---- away from everything --------------------------------------------------------------------


def random_state(rng, height):
    """A state at a height above map, fast enough to fall some of it within a step."""
    position, turn = np.array([*rng.uniform(-4, 4, 2), height]), rng.normal(size=4)
    velocity = rng.normal(0.0, [3.0, 3.0, 3.0, 2.0, 2.0, 2.0])
    return State(position, turn / np.linalg.norm(turn), velocity)


@pytest.mark.parametrize('scene', ['pool', 'deep_rock', 'wreck'])
def test_a_force_that_may_be_skipped_is_zero_in_this_step_and_the_next(scene):
    """States that move by up to twice their velocity and the largest acceleration."""
    vehicle, environment = vehicle_of('bluerov2'), load_environment(scene)
    rng, skipped = np.random.default_rng(7), 0
    thrust = np.full(len(vehicle.thrusters), 30.0)
    top = environment.scene.ground(0.0, 0.0)
    for _ in range(300):
        state = random_state(rng, top + rng.uniform(0.0, 20.0))
        if not BOUNDARY.may_act(vehicle, state, environment, DT):
            assert not boundary_wrench(vehicle, state, environment, thrust).any()
        if CONTACT.may_act(vehicle, state, environment, DT):
            continue
        skipped += 1
        speeds = state.velocity + DT * rng.uniform(-57, 57, 6)
        moved = State(state.position + DT * rotation_matrix(state.orientation) @ speeds[:3],
                      state.orientation, speeds)  # fmt: skip
        for one in (state, moved):
            reach = step_reach(vehicle.contact.reach, one.velocity, DT)
            assert not len(contacts_within(vehicle, one, environment, reach)[1])
    assert 30 < skipped < 300


@pytest.mark.long
@pytest.mark.parametrize('place', [(4.2, -0.55, -10.8), (8.7, 6.5, -13.8)], ids=['deck', 'sand'])
def test_a_vehicle_comes_to_rest_on_the_wreck_and_on_the_sand_beside_it(place):
    pytest.importorskip('numba')
    vehicle = vehicle_of('bluerov2')
    environment = replace(load_environment('wreck'), water_density=100.0)
    case = drive(place, 0.3, '', seconds=5.0)
    expected = simulate(vehicle, case, environment=environment)
    found, _ = simulate_compiled(vehicle, case, environment=environment)
    assert np.abs(expected.velocity[-1]).max() < 1e-3
    assert expected.sources['contact'][-1].any()
    np.testing.assert_allclose(found.position, expected.position, rtol=0, atol=1e-9)


@pytest.mark.long
def test_vehicles_of_a_batch_come_down_on_sand_from_afar():
    """One lands after half a second, in which the whole batch leaves contact out; one stays up."""
    vehicle, environment = vehicle_of('bluerov2'), load_environment('shallow_sand')
    environment = replace(environment, water_density=100.0)
    ground = environment.scene.ground(1.0, 2.0) - lowest(vehicle)
    cases = [drive((1.0, 2.0, ground + 1.5), 0.3, ''), drive((1.0, 2.0, ground + 60.0), 0.3, '')]
    settings = [make_setting(vehicle, case, environment) for case in cases]
    program = ScenarioProgram(settings, ticks=ticks_of(2.0, DT), size=2)
    kept = program.run(stack_initial_states(None, cases), program.arguments)
    for i, case in enumerate(cases):
        expected = simulate(vehicle, case, environment=environment)
        np.testing.assert_allclose(
            kept['position'][..., i], expected.position, rtol=0, atol=TOLERANCE
        )
        touched = np.any(expected.sources['contact'] != 0, axis=1)
        np.testing.assert_array_equal(np.any(kept['wrench/contact'][..., i] != 0, axis=1), touched)
        assert touched.any() == (i == 0)
        assert not touched[:50].any()


# ---- terrain and edges -----------------------------------------------------------------------


@pytest.mark.parametrize('scene', SCENES)
def test_the_same_pairs_are_near(scene):
    vehicle, environment = vehicle_of('simple_rov'), load_environment(scene)
    rng = np.random.default_rng(5)
    obstacles, found = environment.scene.obstacles, 0
    for i in range(60):
        place = rng.uniform(-6, 6, 3)
        if obstacles and i % 2:
            o = obstacles[i // 2 % len(obstacles)]
            place = o.position + rng.uniform(-0.6, 0.6, 3) * o.size
        elif i % 4:
            place[2] = environment.scene.ground(*place[:2]) + rng.uniform(0, 0.3)
        state = State(place, quaternion_from_rpy(*rng.uniform(-3, 3, 3)), np.zeros(6))
        near, numbers = contacts_within(vehicle, state, environment, 0.04)
        every = contact_geometry(vehicle, state, environment, 0.04)
        np.testing.assert_array_equal(np.flatnonzero(every.gap < 0.04), numbers)
        for some, all_ in zip(near, every, strict=True):
            np.testing.assert_allclose(some, all_[numbers], rtol=0, atol=1e-9)
        found += len(numbers)
    assert found > 50


def compared(vehicle, environment, scenario, **settings):
    """Return how far the engines part in position, m, and NumPy's trajectory."""
    expected = simulate(vehicle, scenario, environment=environment, **settings)
    found, _ = simulate_compiled(vehicle, scenario, environment=environment, **settings)
    assert set(found.sources) == set(expected.sources)
    apart = np.abs(found.position - expected.position).max()
    turned = np.abs(found.orientation - expected.orientation).max()
    return max(apart, turned), expected


@pytest.mark.long
def test_a_vehicle_tips_over_the_edge_of_a_block():
    vehicle, environment = vehicle_of('bluerov2'), load_environment('shallow_sand')
    x, y = 4.7, 5.3
    top = environment.scene.ground(x, y) + 0.9
    case = drive((x, y, top - lowest(vehicle) + 0.05), 0.9, 'heave: -0.8', 'heave: -0.5', 1.5)
    apart, expected = compared(vehicle, environment, case)
    assert apart < TOLERANCE
    assert np.any(expected.sources['contact'] != 0, axis=1).sum() > 100


@pytest.mark.long
def test_an_arm_on_the_floor_lifts_its_vehicle():
    vehicle, environment = vehicle_of('bluerov2_heavy', arm=True), load_environment('pool')
    own = vehicle.contact
    low = own.position[own.joint < 0][:, 2].min()
    case = parse_scenario(
        f"""
duration: 2.0
initial: {{position: [1.0, 2.0, {-3.85 - low}], rpy: [0.1, 0.05, 0.3]}}
segments:
  - {{at: 0.0, axes: {{heave: -0.5}}, joints: {{shoulder: 1.2}}}}
  - {{at: 1.0, axes: {{heave: -0.2}}, joints: {{shoulder: 1.2}}}}
""",
        'arm',
    )
    apart, expected = compared(vehicle, environment, case)
    assert apart < TOLERANCE
    assert np.any(expected.sources['contact'] != 0, axis=1).sum() > 100
    assert expected.position[-1, 2] + low > -3.95


PLACES = {'pool': (11.9, 5.7), 'shallow_sand': (9.8, -1.0), 'deep_rock': (4.0, 1.5)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ('name', 'scene'),
    [
        ('bluerov2', 'pool'),
        ('bluerov2_heavy', 'shallow_sand'),
        ('simple_rov', 'deep_rock'),
        ('surface_vessel', 'test_grid'),
        ('investigator90', 'shallow_sand'),
    ],
)
def test_every_vehicle_touches_as_numpy_has_it(name, scene):
    """Driven down and ahead until it touches; where a body lets go, rounding grows in both."""
    strong = {'coefficients': 'maker'} if name == 'bluerov2' else {}
    vehicle, environment = load_vehicle(name, **strong), load_environment(scene)
    x, y = PLACES.get(scene, (4.7, 0.0))
    if name == 'surface_vessel':  # which floats
        environment = replace(environment, water_density=100.0)
    start = (x, y, environment.scene.ground(x, y) - lowest(vehicle) + 0.1)
    case = drive(start, 0.6, 'surge: 0.4, heave: -0.8, yaw: 0.1', 'heave: -0.3', 1.0, (0.1, 0.05))
    apart, expected = compared(vehicle, environment, case)
    assert np.any(expected.sources['contact'] != 0, axis=1).sum() > 10
    if apart >= TOLERANCE:
        assert apart < 10 * shaken(vehicle, environment, case, expected)


def shaken(vehicle, environment, scenario, expected):
    """Return how far NumPy's motion parts from itself where the start is a rounding error off."""
    apart = []
    for nudge in (1e-16, -1e-16, 2e-16):
        roll, pitch, yaw = scenario.rpy
        other = simulate(
            vehicle, replace(scenario, rpy=(roll + nudge, pitch, yaw)), environment=environment
        )
        apart.append(np.abs(other.position - expected.position).max())
    return max(apart)


# ---- loops and branches ----------------------------------------------------------------------


def test_loops_and_branches_are_the_same_compiled():
    import jax
    import jax.numpy as jnp

    def halved(xp, start):
        """Halve until below 1; then add 100 where that took more than three steps."""
        steps, value = while_loop(
            xp,
            lambda now: now[1] >= 1,
            lambda now: (now[0] + 1, now[1] / 2),
            (xp.zeros_like(start), start),
        )
        return cond(xp, steps > 3, lambda x: x + 100.0, lambda x: x, value)

    starts = np.array([0.5, 3.0, 100.0, 8.0])
    expected = [halved(np, x) for x in starts]
    with precision('float64'):
        alone = [jax.jit(lambda x: halved(jnp, x))(x) for x in starts]
        batch = jax.jit(jax.vmap(lambda x: halved(jnp, x)))(jnp.asarray(starts))
        nobody = jax.vmap(lambda x: halved(jnp, x))(jnp.asarray(starts[:2]))
    np.testing.assert_array_equal(alone, expected)
    np.testing.assert_array_equal(batch, expected)
    np.testing.assert_array_equal(nobody, expected[:2])


# ---- what is told ----------------------------------------------------------------------------


@pytest.mark.long
def test_single_precision_stays_finite():
    vehicle, environment = vehicle_of('bluerov2'), load_environment('pool')
    case = in_the_pool(vehicle)['slides on the floor']
    found, _ = simulate_compiled(
        vehicle, case, environment=environment, dtype='float32', duration=1.0
    )
    expected = simulate(vehicle, case, environment=environment, duration=1.0)
    assert np.any(found.sources['contact'] != 0, axis=1).sum() > 50
    assert np.all(np.isfinite(found.wrench))
    # Touches come and go in other ticks, after which the slides differ by a millimetre or two.
    np.testing.assert_allclose(found.position, expected.position, rtol=0, atol=3e-3)


def test_a_batch_has_one_scene():
    vehicle, case = vehicle_of('bluerov2'), load_scenario('dive')
    with pytest.raises(ParameterError, match='solid in pool and in test_grid differs'):
        simulate_batch(
            vehicle, case, environments=[load_environment(e) for e in ('pool', 'test_grid')]
        )
    heavy = replace(vehicle, find_contact=lambda: vehicle_of('simple_rov').contact)
    with pytest.raises(ParameterError, match='collisions of its vehicles differ'):
        simulate_batch([vehicle, heavy], case, environments=load_environment('pool'))


def test_vehicles_share_a_batch_whoever_has_looked_for_its_points():
    looked = vehicle_of('bluerov2')
    assert len(looked.contact) == 26
    other = replace(looked, added_mass=2 * looked.added_mass)
    template, found = stack_records(
        [compute_cached_properties(looked), compute_cached_properties(other)]
    )
    assert 'contact' not in vars(template)
    assert len(found) > 0


@pytest.mark.slow
def test_a_sweep_in_a_pool():
    plan = parse_plan(
        """
vehicle: bluerov2
environment: pool
scenario: dive
duration: 1.0
runs: 6
block: 3
every: 10
parameters:
  vehicle.inertia.mass: {low: 1.2, high: 1.4, relative: true}
  initial.position[2]: {low: -3.86, high: -3.8}
""",
        'plan.yaml',
    )
    for number in range(2):
        expected, found = (run_block(replace(plan, engine=e), number) for e in ('numpy', 'jax'))
        assert found.keys() == expected.keys()
        for name in found:
            np.testing.assert_allclose(
                found[name], expected[name], rtol=0, atol=1e-8, err_msg=name
            )
