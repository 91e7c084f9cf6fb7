# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Allocation against the thrust matrix, linear programmes and least squares done elsewhere."""

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from conftest import has, vehicle_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, lsq_linear

from marine_sim_ros.control import quadratic
from marine_sim_ros.control.allocator import Allocator
from marine_sim_ros.control.controllability import (
    AXIS_PRIORITY,
    BODY_AXES,
    controllability,
    independent_axes,
    thrust_matrix,
)
from marine_sim_ros.control.effectors import PulseWidths
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.model.propulsion import ThrusterSpec, dead_zone_curve, thruster_set

HULLS = ('simple_rov', 'surface_vessel') if has('trimesh') else ()
NAMES = ('bluerov2', 'bluerov2_heavy', 'investigator90', *HULLS)
# Whose numbers are printed, and those of the bench.
BARE = {'investigator90': {'arm': 'false'}, 'bluerov2': {'coefficients': 'maker'}}
VEHICLES = {name: vehicle_of(name, **BARE.get(name, {})) for name in NAMES}
ROV, HEAVY, I90 = (VEHICLES[name] for name in NAMES[:3])
TYPICAL = np.array([1, 1, 1, 0.1, 0.1, 0.1])  # N·m are small where N are large
CONCESSION = 0.05


def allocator(vehicle, **options):
    return Allocator(vehicle.thrusters, vehicle.inertia.center_of_mass, **options)


def matrix_of(vehicle, failed=None):
    return thrust_matrix(vehicle.thrusters, vehicle.inertia.center_of_mass, failed)


def limits(vehicle):
    widths = PulseWidths(vehicle.thrusters)
    return widths.lower, widths.upper


def out(vehicle, *which):
    return np.isin(np.arange(len(vehicle.thrusters)), which)


def axis(name, size=1.0):
    wrench = np.zeros(6)
    wrench[BODY_AXES.index(name)] = size
    return wrench


ALLOCATORS = {
    (name, method): allocator(vehicle, method=method)
    for name, vehicle in VEHICLES.items()
    for method in ('bounded', 'pseudo_inverse')
}
BOUNDED = {name: ALLOCATORS[name, 'bounded'] for name in NAMES}


@pytest.mark.parametrize('method', ['bounded', 'pseudo_inverse'])
def test_any_vehicle(vehicle, method):
    lower, upper = limits(vehicle)
    some = 0.2 * np.random.default_rng(0).uniform(lower, upper)
    wrench = matrix_of(vehicle) @ some
    found = allocator(vehicle, method=method, damping=1e-6).allocate(wrench)
    assert not found.saturated
    assert found.shortfall == ()
    # Half a microsecond of each thruster.
    step = np.max(upper - lower, initial=0.0) / 300 * np.abs(matrix_of(vehicle)).sum(axis=1)
    assert np.all(np.abs(found.achieved - wrench) <= step)


@pytest.mark.parametrize('name', NAMES)
def test_what_the_thrusters_can_do_is_done(name):
    vehicle = VEHICLES[name]
    matrix, (lower, upper) = matrix_of(vehicle), limits(vehicle)
    size = np.maximum(upper, -lower)
    rng = np.random.default_rng(1)
    beyond_least_squares = 0
    for i in range(300):
        thrust = rng.uniform(lower, upper)
        if i % 3 == 0:  # to the corners
            thrust = np.where(thrust > 0, upper, lower)
        found = BOUNDED[name].distribute(matrix @ thrust)
        assert matrix @ found.thrust == pytest.approx(matrix @ thrust, abs=1e-6)
        assert np.all((lower <= found.thrust) & (found.thrust <= upper))
        assert np.all(found.scale == 1)
        assert np.linalg.norm(found.thrust / size) <= np.linalg.norm(thrust / size) + 1e-6
        least = np.linalg.pinv(matrix, rcond=1e-9) @ matrix @ thrust
        beyond_least_squares += bool(np.any((least < lower - 1) | (least > upper + 1)))
    if name != 'surface_vessel' and name != 'simple_rov':  # as many thrusters as axes
        assert beyond_least_squares > 10


def most(vehicle, allowed, held, wrench, floors, group):
    """Return by HiGHS the largest scale of a group; those before it have floors."""
    matrix, (lower, upper) = matrix_of(vehicle)[held], limits(vehicle)
    n, g = matrix.shape[1], len(allowed)
    demand = np.stack([np.isin(BODY_AXES, names) * wrench for names in allowed], axis=1)[held]
    size = np.maximum(np.max(np.abs(demand), axis=0), 1e-12)  # a = s · size, well scaled
    bounds = [*zip(lower, upper, strict=True)]
    for i in range(g):
        floor = floors[i] * size[i] if i < len(floors) else 0.0
        open_end = i == group and group < g - 1
        bounds.append((floor, None if open_end else size[i]))
    found = linprog(
        -np.eye(n + g)[n + group],
        A_eq=np.hstack([matrix, -demand / size]),
        b_eq=np.zeros(len(matrix)),
        bounds=bounds,
        method='highs',
        options={'primal_feasibility_tolerance': 1e-10, 'dual_feasibility_tolerance': 1e-10},
    )
    assert found.status == 0
    return -found.fun / size[group]


@pytest.mark.parametrize('name', NAMES)
def test_scales_against_linear_programmes(name):
    vehicle = VEHICLES[name]
    matrix = matrix_of(vehicle)
    held = independent_axes(vehicle.thrusters, vehicle.inertia.center_of_mass)
    rng = np.random.default_rng(2)
    saturated = 0
    for _ in range(25):
        wrench = rng.normal(0, 1, 6) * TYPICAL * 10 ** rng.uniform(1, 3)
        found = BOUNDED[name].distribute(wrench)
        groups = [i for i, g in enumerate(AXIS_PRIORITY) if np.any(held & np.isin(BODY_AXES, g))]
        names = [AXIS_PRIORITY[i] for i in groups]
        floors = []
        for i in range(len(groups)):
            best = most(vehicle, names, held, wrench, floors, i)
            scale = found.scale[groups[i]]
            last = i == len(groups) - 1
            floors.append(min(1, best if last else (1 - CONCESSION) * best))
            assert scale <= min(1, best) + 1e-5
            assert scale >= floors[i] - 1e-5
        saturated += bool(np.any(found.scale < 1))
        scales = np.ones(6)
        for group, scale in zip(AXIS_PRIORITY, found.scale, strict=True):
            scales[np.isin(BODY_AXES, group)] = scale
        had = (matrix @ found.thrust)[held]
        assert had == pytest.approx((scales * wrench)[held], abs=1e-5 * np.max(np.abs(wrench)))
    assert saturated > 10


def test_the_first_group_alone_gets_all_there_is():
    for size, verticals in ((1e3, -39.913), (-1e3, 51.485)):
        found = BOUNDED['bluerov2'].allocate(axis('heave', size))
        assert found.thrust[4:] == pytest.approx([verticals] * 2)  # they push down
        assert found.achieved[2] == pytest.approx(-2 * verticals)
        assert found.pwm[4:].tolist() == [1100 if size > 0 else 1900] * 2
        assert found.saturated
        assert found.shortfall == ('heave',)


def test_a_full_heave_leaves_a_little_to_steer_with():
    wrench = axis('heave', 1e3) + axis('surge', 20) + axis('sway', 20) + axis('yaw', 3)
    found = BOUNDED['bluerov2'].allocate(wrench)
    assert found.shortfall == ('heave',)
    assert found.achieved[[0, 1, 5]] == pytest.approx([20, 20, 3], abs=0.2)
    assert 2 * 39.913 * (1 - CONCESSION) <= found.achieved[2] < 2 * 39.913


@pytest.mark.long
def test_thrust_has_no_jumps():
    rng = np.random.default_rng(4)
    for name in NAMES:
        steepest = np.max(np.abs(BOUNDED[name]._plan(out(VEHICLES[name])).gain))
        for _ in range(8):
            ends = rng.normal(0, 1, (2, 6)) * TYPICAL * 200
            way = ends[0] + np.linspace(0, 1, 200)[:, None] * (ends[1] - ends[0])
            thrusts = np.stack([BOUNDED[name].distribute(w).thrust for w in way])
            step = np.linalg.norm(ends[1] - ends[0]) / 199
            assert np.max(np.abs(np.diff(thrusts, axis=0))) < 20 * steepest * step


@pytest.mark.parametrize('name', ['bluerov2_heavy', 'investigator90'])
def test_the_thrusts_are_the_least_that_do_it(name):
    vehicle = VEHICLES[name]
    lower, upper = limits(vehicle)
    size = np.maximum(upper, -lower)
    rows = (
        matrix_of(vehicle)[independent_axes(vehicle.thrusters, vehicle.inertia.center_of_mass)]
        * size
    )
    rng = np.random.default_rng(5)
    for _ in range(20):
        shares = np.where(rng.random(len(lower)) < 0.5, upper, 0.8 * lower) / size
        # The demand as a penalty that hardly yields, the norm beside it.
        reference = lsq_linear(
            np.vstack([1e5 * rows, np.eye(len(lower))]),
            np.concatenate([1e5 * (rows @ shares), np.zeros(len(lower))]),
            bounds=(lower / size, upper / size),
            method='bvls',
            tol=1e-14,
        )
        found = BOUNDED[name].distribute(matrix_of(vehicle) @ (shares * size)).thrust / size
        assert found == pytest.approx(reference.x, abs=1e-5)


@st.composite
def thruster_sets(draw):
    """Up to ten thrusters anywhere, any way round, some that push one way only or not at all."""
    specs = []
    for i in range(draw(st.integers(1, 10))):
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        along_an_axis = np.eye(3)[rng.integers(3)] * rng.choice([-1, 1])
        axis = along_an_axis if draw(st.booleans()) else rng.normal(0, 1, 3)
        ahead, astern = rng.uniform(1, 100, 2) * (rng.random(2) > 0.1)
        specs.append(
            ThrusterSpec(
                name=str(i),
                position=rng.uniform(-0.5, 0.5, 3),
                axis=axis / np.linalg.norm(axis),
                curve=dead_zone_curve(ahead, astern, float(rng.integers(0, 50))),
            )
        )
    return thruster_set(specs)


@settings(max_examples=150)
@given(thruster_sets(), st.integers(0, 2**32 - 1))
def test_any_thrusters_at_all(thrusters, seed):
    rng = np.random.default_rng(seed)
    about = rng.uniform(-0.1, 0.1, 3)
    shared = Allocator(thrusters, about)
    matrix, widths = thrust_matrix(thrusters, about), PulseWidths(thrusters)
    useless = (widths.lower == 0) & (widths.upper == 0)
    held = independent_axes(thrusters, about, useless)
    assert held.sum() <= np.linalg.matrix_rank(matrix[:, ~useless])
    within = matrix @ rng.uniform(widths.lower, widths.upper)
    found = shared.distribute(within)
    assert np.all(found.scale == 1)
    assert (matrix @ found.thrust)[held] == pytest.approx(within[held], abs=1e-4)
    wanted = rng.normal(0, 1, 6) * 10 ** rng.uniform(-1, 4)
    found = shared.distribute(wanted)
    assert np.all((widths.lower <= found.thrust) & (found.thrust <= widths.upper))
    assert np.all((found.scale >= 0) & (found.scale <= 1))
    scales = [found.scale[[name in g for g in AXIS_PRIORITY].index(True)] for name in BODY_AXES]
    size = np.max(np.abs(wanted))
    assert (matrix @ found.thrust)[held] == pytest.approx((scales * wanted)[held], abs=1e-4 * size)


# Position in m, axis, thrust ahead and astern in N: the limits of some nearly depend on others'.
CROWDED = [
    ((-0.31, -0.21, 0.23), (-0.33, 0.77, -0.55), 55, 44),
    ((0.21, -0.38, -0.11), (0.0, -1.0, 0.0), 84, 22),
    ((0.41, 0.11, 0.23), (0.0, 0.0, 1.0), 0, 5),
    ((0.21, 0.22, -0.37), (0.69, -0.54, 0.49), 56, 80),
    ((0.45, -0.06, -0.4), (0.0, 0.0, -1.0), 71, 9),
    ((-0.17, -0.49, -0.22), (0.56, -0.27, -0.78), 85, 25),
    ((0.19, 0.27, 0.24), (0.34, -0.93, 0.17), 0, 30),
    ((-0.04, 0.33, 0.05), (1.0, 0.0, 0.0), 43, 78),
    ((0.37, 0.04, 0.02), (1.0, 0.0, 0.0), 36, 96),
    ((0.04, 0.04, 0.06), (0.52, -0.77, -0.37), 58, 71),
]


@pytest.mark.long
def test_a_demand_far_out_of_reach_leaves_nothing_behind():
    thrusters = thruster_set(
        [
            ThrusterSpec(
                name=str(i),
                position=np.array(position),
                axis=np.array(axis) / np.linalg.norm(axis),
                curve=dead_zone_curve(ahead, astern, 20.0),
            )
            for i, (position, axis, ahead, astern) in enumerate(CROWDED)
        ]
    )
    shared, matrix = Allocator(thrusters, np.zeros(3)), thrust_matrix(thrusters, np.zeros(3))
    rng = np.random.default_rng(0)
    for _ in range(3000):
        wanted = rng.normal(0, 1, 6) * 10 ** rng.uniform(-1, 4)
        found = shared.distribute(wanted)
        scales = [
            found.scale[[name in g for g in AXIS_PRIORITY].index(True)] for name in BODY_AXES
        ]
        error = np.abs(matrix @ found.thrust - scales * wanted).max()
        assert error < 1e-4 * np.abs(wanted).max()


# Axes out of reach.


def test_pitch_of_an_investigator_90_is_given_up_as_a_whole():
    bounded = BOUNDED['investigator90']
    heave = bounded.distribute(axis('heave', 100)).thrust
    had = matrix_of(I90) @ heave
    assert had[[0, 1, 2, 3, 5]] == pytest.approx([0, 0, 100, 0, 0], abs=1e-9)
    assert had[4] == pytest.approx(-3.5, abs=0.1)  # as the pseudo-inverse: 0.035 N·m per N
    with_pitch = axis('heave', 100) + axis('pitch', 30)
    assert np.array_equal(bounded.distribute(with_pitch).thrust, heave)
    assert bounded.allocate(with_pitch).shortfall == ('pitch',)
    assert bounded.allocate(axis('heave', 100)).shortfall == ()
    spread = ALLOCATORS['investigator90', 'pseudo_inverse'].distribute(with_pitch).thrust
    assert abs((matrix_of(I90) @ spread)[2] - 100) > 1  # which bounded is not


def test_a_hardly_reachable_axis_takes_no_huge_thrusts():
    raised = np.zeros((6, 3))
    raised[:4, 2] = (0.05, 0.052, 0.05, 0.05)
    staggered = replace(ROV.thrusters, position=ROV.thrusters.position + raised)
    found = controllability(staggered, np.zeros(3))
    assert found.rank == 6
    assert found.unreachable == ('pitch',)
    thrust = Allocator(staggered, np.zeros(3)).distribute(axis('surge', 20)).thrust
    assert np.max(np.abs(thrust)) < 10
    assert (thrust_matrix(staggered, np.zeros(3)) @ thrust)[:3] == pytest.approx([20, 0, 0])


@pytest.mark.parametrize(
    ('failed', 'rank', 'unreachable'),
    [
        ((), 5, {'pitch'}),
        ((0,), 5, {'pitch'}),
        ((4,), 4, {'roll', 'pitch'}),
        ((4, 5), 3, {'heave', 'roll', 'pitch'}),
        ((0, 3), 4, {'sway', 'pitch'}),
        ((0, 2), 4, {'surge', 'pitch'}),
        ((0, 1, 2), 3, {'surge', 'sway', 'pitch'}),
        (range(6), 0, set(BODY_AXES)),
    ],
)
def test_what_a_bluerov2_loses_with_its_thrusters(failed, rank, unreachable):
    center = ROV.inertia.center_of_mass
    found = controllability(ROV.thrusters, center, failed=out(ROV, *failed))
    assert found.rank == rank
    assert set(found.unreachable) == unreachable


def test_lateral_thruster_gone_sway_gone():
    pytest.importorskip('trimesh')
    rov = VEHICLES['simple_rov']
    center = rov.inertia.center_of_mass
    whole, rest = (
        controllability(rov.thrusters, center),
        controllability(rov.thrusters, center, failed=out(rov, 2)),
    )
    assert (whole.rank, rest.rank) == (5, 4)
    assert set(rest.unreachable) - set(whole.unreachable) == {'sway'}
    assert rest.fractions['sway'] == pytest.approx(0)


@pytest.mark.parametrize('lost', range(8))
def test_a_heavy_does_all_six_with_any_seven(lost):
    failed = out(HEAVY, lost)
    found = controllability(HEAVY.thrusters, HEAVY.inertia.center_of_mass, failed=failed)
    assert (found.rank, found.unreachable) == (6, ())
    wrench = np.array([10, -8, 12, 1, -1, 1.5])
    shared = BOUNDED['bluerov2_heavy'].distribute(wrench, failed=failed)
    assert matrix_of(HEAVY) @ shared.thrust == pytest.approx(wrench)
    assert shared.thrust[lost] == 0
    sent = BOUNDED['bluerov2_heavy'].allocate(wrench, failed=failed)
    assert (sent.thrust[lost], sent.pwm[lost]) == (0, 1500)
    assert sent.shortfall == ()


@pytest.mark.parametrize('method', ['bounded', 'pseudo_inverse'])
def test_all_failed_or_none_there(method):
    found = ALLOCATORS['bluerov2', method].allocate(np.arange(6.0), failed=out(ROV, *range(6)))
    assert found.pwm.tolist() == [1500] * 6
    assert not found.thrust.any()
    assert not found.achieved.any()
    assert found.shortfall == BODY_AXES[1:]
    found = Allocator(thruster_set([]), np.zeros(3), method=method).allocate(np.ones(6))
    assert found.pwm.shape == found.thrust.shape == (0,)
    assert found.shortfall == BODY_AXES


def spec(name, position, curve):
    return ThrusterSpec(name=name, position=np.array(position), axis=np.eye(3)[0], curve=curve)


def test_stronger_thrusters_work_harder():
    pair = [
        spec(str(y), (0, y, 0), dead_zone_curve(f, f, 0.0)) for y, f in ((0.0, 90), (0.001, 10))
    ]
    found = Allocator(thruster_set(pair), np.zeros(3)).distribute(axis('surge', 8.2))
    assert found.thrust == pytest.approx([8.1, 0.1])  # least Σ(f/limit)²


def test_a_lone_thruster_serves_one_axis():
    lone = thruster_set([spec('lone', (0, 0.3, 0.1), dead_zone_curve(50, 50, 0.0))])
    assert independent_axes(lone, np.zeros(3)).tolist() == [False] * 5 + [True]
    pytest.importorskip('trimesh')
    boat = VEHICLES['surface_vessel']
    center = boat.inertia.center_of_mass
    assert independent_axes(boat.thrusters, center, out(boat, 0)).tolist() == [True] + [False] * 5


def test_a_failed_thruster_gets_1500_even_where_that_is_not_its_zero():
    curve = np.array([(1100, -30, 0, 0), (1480, 0, 0, 0), (1900, 40, 0, 0)], float)
    pair = thruster_set([spec(str(y), (0, y, 0), curve) for y in (-0.2, 0.2)])
    shared = Allocator(pair, np.zeros(3))
    assert shared.allocate(np.zeros(6)).pwm.tolist() == [1480, 1480]
    assert shared.allocate(np.zeros(6), failed=np.array([True, False])).pwm.tolist() == [
        1500,
        1480,
    ]


def test_axes_that_no_group_names_are_left_alone():
    steer = allocator(HEAVY, priority=(('surge', 'yaw'),))
    found = steer.allocate(axis('surge', 10) + axis('heave', 50) + axis('pitch', 5))
    assert not found.thrust[4:].any()
    assert found.shortfall == ('heave', 'pitch')
    assert found.achieved[0] == pytest.approx(10, abs=0.2)


# Saturation, dead zone, pulse widths.

FORCE = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([0.0, 1e-9, 1e12, -1e300, 1.7e308]))


@settings(max_examples=300)
@given(st.sampled_from(list(ALLOCATORS)), st.tuples(*[FORCE] * 6), st.integers(0, 255))
def test_limits_hold_whatever_is_asked(which, wrench, failing):
    vehicle = VEHICLES[which[0]]
    n = len(vehicle.thrusters)
    failed = (failing >> np.arange(n)) % 3 == 0
    lower, upper = limits(vehicle)
    found = ALLOCATORS[which].allocate(np.array(wrench), failed=failed)
    assert np.all((lower <= found.thrust) & (found.thrust <= upper))
    assert np.all((found.pwm >= 1100) & (found.pwm <= 1900))
    assert np.array_equal(found.pwm, np.rint(found.pwm))
    assert np.all(found.pwm[failed] == 1500)
    assert found.thrust == pytest.approx(
        np.where(failed, 0, vehicle.thrusters.thrust_of_pwm(found.pwm)), abs=1e-12
    )
    assert found.achieved == pytest.approx(matrix_of(vehicle) @ found.thrust, abs=1e-9)


def test_a_demand_far_beyond_any_limit_spoils_no_higher_one():
    for far in (1e4, 1e12, 1e300):
        found = BOUNDED['bluerov2'].distribute(np.array([far, -far, 30, 1, far, 2]))
        had = matrix_of(ROV) @ found.thrust
        assert had[[2, 3, 5]] == pytest.approx([30, 1, 2], abs=1e-6)
        assert had[0] == pytest.approx(-had[1])
        assert had[0] > 30


def test_too_small_a_thrust_goes_to_the_nearer_end_of_the_dead_zone():
    # 0.098 N and −0.049 N are the least a T200 makes; two verticals push down.
    for heave, pwm in ((0.04, 1500), (0.06, 1471), (-0.09, 1500), (-0.11, 1529)):
        found = BOUNDED['bluerov2'].allocate(axis('heave', heave))
        assert found.pwm.tolist() == [1500] * 4 + [pwm] * 2
        assert found.achieved[2] == pytest.approx(-2 * found.thrust[4])
        assert not found.saturated
        assert found.shortfall == ()


def test_pseudo_inverse_is_scaled_back_as_a_whole():
    wrench = np.array([200, 30, -100, 2, 0, 5])
    found = ALLOCATORS['bluerov2', 'pseudo_inverse'].distribute(wrench)
    free = np.linalg.pinv(matrix_of(ROV), rcond=1e-6) @ wrench
    assert found.thrust == pytest.approx(found.scale * free, rel=1e-3, abs=1e-3)
    lower, upper = limits(ROV)
    assert np.min(np.minimum(upper - found.thrust, found.thrust - lower)) == pytest.approx(0)
    sent = ALLOCATORS['bluerov2', 'pseudo_inverse'].allocate(wrench)
    assert sent.saturated
    assert {'surge', 'heave'} <= set(sent.shortfall)


@pytest.mark.parametrize('damping', [0.5, 0.05, 0.002])
def test_damped_inverse_is_the_textbook_formula(damping):
    b = matrix_of(I90)
    damped = allocator(I90, method='pseudo_inverse', damping=damping)
    wrench = np.array([5, -4, 3, 0.2, 0.3, -0.1])
    expected = b.T @ np.linalg.solve(b @ b.T + damping**2 * np.eye(6), wrench)
    assert damped.distribute(wrench).thrust == pytest.approx(expected, rel=1e-9)


def test_a_solver_that_gives_up_costs_no_run(monkeypatch):
    def never(self, pull, *rest):
        return np.full(len(pull), np.nan), np.asarray(False)

    monkeypatch.setattr(quadratic.QuadraticProgrammes, 'least', never)
    wrench = np.array([200, 30, -100, 2, 0, 5])
    found = BOUNDED['bluerov2'].distribute(wrench)
    had = (matrix_of(ROV) @ found.thrust)[[0, 1, 2, 3, 5]]
    assert had == pytest.approx(found.scale[0] * wrench[[0, 1, 2, 3, 5]])
    assert 0.1 < found.scale[0] < 1


# The same bits; errors.

RUN = """
import hashlib, numpy as np
from marine_sim_ros import load_vehicle
from marine_sim_ros.control.allocator import Allocator
digest = hashlib.sha256()
rng = np.random.default_rng(7)
wrenches = rng.normal(0, 60, (200, 6)) * [1, 1, 1, 0.1, 0.1, 0.1]
for name in ('bluerov2', 'bluerov2_heavy', 'investigator90'):
    vehicle = load_vehicle(name)
    allocator = Allocator(vehicle.thrusters, vehicle.inertia.center_of_mass)
    for i, wrench in enumerate(wrenches):
        failed = np.arange(len(vehicle.thrusters)) == i % 11
        digest.update(allocator.distribute(wrench, failed=failed).thrust.tobytes())
        digest.update(allocator.allocate(wrench).pwm.tobytes())
"""


@pytest.mark.long
def test_the_same_bits_here_again_and_elsewhere():
    found = []
    for _ in range(2):
        scope = {}
        exec(RUN, scope)
        found.append(scope['digest'].hexdigest())
    done = subprocess.run(
        [sys.executable, '-c', RUN + 'print(digest.hexdigest())'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found[0] == found[1] == done.stdout.strip()
    assert found[0] != hashlib.sha256().hexdigest()


@pytest.mark.parametrize('method', ['bounded', 'pseudo_inverse'])
@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_no_thrust_for_a_wrench_that_is_no_number(method, bad):
    with pytest.raises(ParameterError, match='six finite numbers'):
        ALLOCATORS['bluerov2', method].allocate(axis('surge', bad))


def test_wrong_shapes():
    with pytest.raises(ParameterError, match='six finite numbers'):
        BOUNDED['bluerov2'].allocate(np.zeros(5))
    with pytest.raises(ParameterError, match=r'failed has shape \(2,\); expected \(6,\)'):
        BOUNDED['bluerov2'].allocate(np.zeros(6), failed=np.zeros(2, bool))


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'method': 'magic'}, 'bounded, pseudo_inverse'),
        ({'damping': -1.0}, 'from 0'),
        ({'damping': np.nan}, 'from 0'),
        ({'priority': (('surge', 'up'),)}, "no axis 'up'"),
        ({'priority': (('surge',), ('surge',))}, 'named twice'),
        ({'concession': 0.0}, '0.01 to 1'),
        ({'concession': np.nan}, '0.01 to 1'),
    ],
)
def test_wrong_settings(options, words):
    with pytest.raises(ParameterError, match=words):
        allocator(ROV, **options)
    with pytest.raises(ParameterError, match='three finite numbers'):
        Allocator(ROV.thrusters, np.array([0, 0, np.inf]))
