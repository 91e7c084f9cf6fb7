# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The far end of a tether on a ship in waves, and on another vehicle."""

import math
from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import Environment, load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.doctor.checks import examine
from marine_sim_ros.doctor.context import load_context
from marine_sim_ros.environment.currents_and_waves import Waves, regular_waves
from marine_sim_ros.model.tether import CABLES, REELS, Ship, Tether
from marine_sim_ros.physics.cable import cable_step, hang_cable
from marine_sim_ros.physics.tether import fit_waterplane, ship_point, tether_ends
from marine_sim_ros.physics.towing import towing_wrench, with_tow_tethers
from marine_sim_ros.ros.node_graph import fleet_node_specs
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.fleet_simulation import simulate_fleet
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.simulation import Simulation

FATHOM = replace(CABLES.load('fathom'), breaking_load=1e9)


def sea(rng, count=5):
    return Waves(
        rng.uniform(0.1, 1.0, count),
        rng.uniform(0.4, 3.0, count),
        rng.uniform(-np.pi, np.pi, count),
        rng.uniform(-np.pi, np.pi, count),
    )


@pytest.mark.parametrize('seed', range(5))
def test_a_ship_lies_in_the_plane_that_fits_the_surface_under_it(seed):
    """Against Gauss-Legendre quadrature of the surface over the rectangle."""
    rng = np.random.default_rng(seed)
    ship = Ship(*rng.uniform(5, 60, 2), rng.uniform(-9, 9, 2), *rng.uniform(-3, 3, 2))
    water = Environment(waves=sea(rng)).at(rng.uniform(0, 30))
    centre, slopes = fit_waterplane(ship, water)
    points, weights = np.polynomial.legendre.leggauss(80)
    x, y = np.meshgrid(points * ship.length / 2, points * ship.beam / 2, indexing='ij')
    weight = np.outer(weights, weights) / 4
    cos, sin = np.cos(ship.course), np.sin(ship.course)
    place = np.stack([x * cos - y * sin, x * sin + y * cos], axis=-1) + centre[:2]
    height = water.elevation(place)
    assert centre[2] == pytest.approx((weight * height).sum(), abs=1e-10)
    for slope, arm in zip(slopes, (x, y), strict=True):
        fitted = (weight * height * arm).sum() / (weight * arm * arm).sum()
        assert slope == pytest.approx(fitted, abs=1e-10)


@pytest.mark.parametrize(('length', 'share'), [(0.1, 1.0), (20.0, None), (2 * np.pi / 0.1, 0.0)])
def test_a_ship_averages_waves_that_are_shorter_than_it(length, share):
    """A sinc: all of a long wave, nothing of one that is as long as the ship."""
    waves = regular_waves(2.0, 2 * np.pi / math.sqrt(9.8 * 0.1))  # k = 0.1 rad/m
    ship = Ship(length, 1.0, np.zeros(2))
    expected = np.sin(0.05 * length) / (0.05 * length) if share is None else share
    centre, slopes = fit_waterplane(ship, Environment(waves=waves))  # at a crest
    assert centre[2] == pytest.approx(expected, abs=1e-4)
    np.testing.assert_allclose(slopes, 0, atol=1e-12)


def test_a_ship_meets_head_seas_more_often_than_a_buoy():
    """The frequency of encounter ω + k U."""
    waves = regular_waves(2.0, 6.0, direction=np.pi)
    ship = Ship(10.0, 3.0, np.array([5.0, 1.0]), 0.0, 4.0)
    times = np.arange(0, 60, 0.02)
    still = Environment(waves=waves)
    heave = np.array([ship_point(ship, np.zeros(3), still.at(t))[2] for t in times])
    omega = 2 * np.pi / 6.0 + waves.wavenumber[0] * 4.0
    phase = np.stack([np.cos(omega * times), np.sin(omega * times)], axis=-1)
    fitted, rest_of, *_ = np.linalg.lstsq(phase, heave, rcond=None)
    assert rest_of[0] < 1e-20
    quarter = waves.wavenumber[0] * 5.0
    assert np.hypot(*fitted) == pytest.approx(np.sin(quarter) / quarter, rel=1e-6)
    np.testing.assert_allclose(ship_point(ship, np.zeros(3), still.at(60.0))[:2], [245.0, 1.0])


def test_a_point_of_a_ship_turns_with_it_and_keeps_its_distance():
    rng = np.random.default_rng(1)
    ship = Ship(15.0, 5.0, np.array([3.0, -2.0]), 0.7, 1.0)
    water = Environment(waves=sea(rng)).at(7.0)
    centre, (ahead, aport) = fit_waterplane(ship, water)
    bow = ship_point(ship, np.array([7.5, 0.0, 0.0]), water) - centre
    port = ship_point(ship, np.array([0.0, 2.5, 0.0]), water) - centre
    mast = ship_point(ship, np.array([0.0, 0.0, 4.0]), water) - centre
    np.testing.assert_allclose(np.linalg.norm([bow, port, mast], axis=1), [7.5, 2.5, 4.0])
    assert bow[2] / np.hypot(*bow[:2]) == pytest.approx(ahead)
    assert np.arctan2(bow[1], bow[0]) == pytest.approx(0.7)
    np.testing.assert_allclose([bow @ port, bow @ mast, port @ mast], 0, atol=1e-12)
    assert mast[2] > 0
    assert np.sign(port[2]) == np.sign(aport)


@pytest.mark.parametrize(('point', 'shift'), [((0.0, 0.0, 0.0), 0.0), ((-9.0, 0.0, 0.0), -9.0)])
def test_heave_varies_the_tension_of_a_taut_cable_by_its_stiffness(point, shift):
    """ΔT = (E A/L) |z|: heave a j₀(kL/2), with the lever arm of its pitch where off the centre."""
    waves = regular_waves(1.0, 20.0)
    ship = Ship(24.0, 8.0, np.zeros(2))
    wavenumber = waves.wavenumber[0]
    quarter = wavenumber * 12.0
    heave = 0.5 * np.sin(quarter) / quarter
    j1 = (np.sin(quarter) / quarter - np.cos(quarter)) / quarter
    pitch = shift * 0.5 * 6 / 24.0 * j1
    spec = Tether(
        replace(FATHOM, mass=1e-3, wet_mass=0.0, added_mass=0.0, normal_drag=0.0),
        50.0,
        10,
        np.zeros(3),
        np.array(point),
        ship=ship,
    )
    water = Environment(waves=waves, water_density=1e-6)
    state = state_at_rest((shift, 0.0, -51.0))
    cable, tensions = None, []
    for tick in range(400):
        around = water.at(0.1 * tick)
        ends = tether_ends(spec, state, around)
        cable = hang_cable(spec, ends) if cable is None else cable
        cable = cable_step(spec, around, cable, ends, 0.1)
        tensions.append(np.linalg.norm(cable.pull[0]))
    period = np.array(tensions[-200:])  # one wave
    stiffness = FATHOM.axial_stiffness / 50.0
    assert period.mean() == pytest.approx(stiffness * 1.0, rel=0.02)
    expected = stiffness * np.hypot(heave, pitch)
    assert np.ptp(period) / 2 == pytest.approx(expected, rel=0.01)


@pytest.mark.long
def test_a_ship_under_way_tows_a_vehicle_through_calm_water(tmp_path):
    vehicle = load_vehicle(
        'bluerov2',
        tether='fathom',
        tether_length='12',
        tether_ship='10',
        tether_ship_speed='0.5',
        tether_anchor='-5 0 0',
    )
    stop = load_scenario(str(still(tmp_path, [1500] * 6)))
    stop = replace(stop, position=(-14.0, 0.0, -1.0))
    run = simulate(vehicle, stop, duration=12.0)
    moved = run.position[-1, 0] - run.position[-401, 0]
    assert moved / 2.0 == pytest.approx(0.5, rel=0.1)


BODY = """<robot name="{name}">
  <link name="base_link"><inertial><mass value="{mass}"/>
    <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.4"/></inertial></link>
  <buoyancy><volume>{volume}</volume><center_of_volume>0 0 0.03</center_of_volume>
    <height>0.2</height></buoyancy>
  <hydrodynamics><water_density>1000</water_density>
    <added_mass>0 0 0 0 0 0</added_mass>
    <linear_damping>{drag}</linear_damping>
    <quadratic_damping>{square}</quadratic_damping></hydrodynamics>
  <thrusters><thruster name="main" direction="cw">
    <origin xyz="0 0 0" rpy="0 1.5707963267948966 0"/>
    <linear pos_force="40" neg_force="40" dead_zone="0"/></thruster></thrusters>
  {tether}
</robot>"""


def body(name, *, mass=12.0, tether='', drag='5 5 5 1 1 1', square='40 40 40 1 1 1'):
    return BODY.format(
        name=name, mass=mass, volume=mass / 1000, tether=tether, drag=drag, square=square
    )


def still(tmp_path, pwm, duration=30.0):
    path = tmp_path / f'{pwm[0]}.yaml'
    path.write_text(f'duration: {duration}\nsegments:\n  - {{at: 0.0, pwm: {list(pwm)}}}\n')
    return path


@pytest.mark.long
@pytest.mark.parametrize(
    ('ends', 'spin', 'error'),
    [
        (('0 0 0', '0 0 0'), (0.0, 0.0, 0.0), 2e-6),
        # A wrench keeps its direction in the body while that turns by ω dt in a step.
        (('-0.2 0.05 0.1', '0.3 -0.1 0'), (0.1, 0.2, 0.3), 0.02),
    ],
)
def test_two_vehicles_and_their_cable_keep_their_momentum_in_empty_space(ends, spin, error):
    """Σ m v of both and of the free nodes, over 10 s of slack and jerks."""
    places = f'xyz="{ends[0]}" anchor="{ends[1]}"'
    rope = f'<tether type="fathom_slim" length="4" {places} vehicle="b"/>'
    none = dict.fromkeys(('drag', 'square'), '0 0 0 0 0 0')
    bodies = [
        load_vehicle(body('a', tether=rope, **none)),
        with_tow_tethers(load_vehicle(body('b', mass=30.0, **none)), ['/a']),
    ]
    empty = Environment(gravity=0.0, water_density=0.0)
    spec = bodies[0].extensions['tether']
    moving = state_at_rest((4.0, 0.5, 0.0))._replace(velocity=np.array([0.3, 0.2, -0.1, *spin]))
    one, two = (
        Simulation(
            vehicle, environment=empty, initial=start, integrator='conserving', implicit_drag=False
        )
        for vehicle, start in zip(bodies, (moving, state_at_rest()), strict=True)
    )
    nodes = spec.cable.mass * spec.piece

    def momentum():
        total = nodes * one.tether.velocity[1:-1].sum(axis=0)
        for state, mass in ((one.state, 12.0), (two.state, 30.0)):
            total = total + mass * rotation_matrix(state.orientation) @ state.velocity[:3]
        return total

    found, impulse = [], 0.0
    for _ in range(2000):
        other = two.state
        one.tick(np.full(1, 1500.0), anchor=other)
        pull = one.tether.pull
        two.tick(np.full(1, 1500.0), precomputed={'towing': towing_wrench(spec, other, pull[1])})
        found.append(momentum())
        impulse += 0.005 * np.linalg.norm(pull, axis=-1).sum()
    assert impulse > 5  # N s, of the 3.6 with which it begins to move
    assert np.linalg.norm(two.state.velocity[:3]) > 0.05
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (2000, 3)), atol=error)


def fleet_file(tmp_path, vehicles):
    path = tmp_path / 'fleet.yaml'
    path.write_text('vehicles:\n' + '\n'.join(f'  - {v}' for v in vehicles))
    return path


@pytest.mark.long
def test_a_towed_vehicle_feels_the_pull_of_who_tows_it(tmp_path):
    """At a steady speed the pull at both ends is the drag of the towed one."""
    rope = '<tether type="fathom_slim" length="6" xyz="-0.2 0 0" anchor="0.2 0 0" vehicle="b"/>'
    for name, tether in (('a', rope), ('b', '')):
        (tmp_path / f'{name}.urdf').write_text(body(name, tether=tether))
    ahead, stop = still(tmp_path, [1800]), still(tmp_path, [1500])
    rows = [
        f'{{vehicle: {tmp_path}/a.urdf, name: a, scenario: {ahead}, '
        'initial: {position: [6.2, 0, -5]}}',
        f'{{vehicle: {tmp_path}/b.urdf, name: b, scenario: {stop}, '
        'initial: {position: [0, 0, -5]}}',
    ]
    runs = fleet_runs(FLEETS.load(str(fleet_file(tmp_path, rows))), RunOptions())
    told: list[float] = []
    found = simulate_fleet(runs, told.append)
    assert told[0] == 0.0
    assert told == sorted(told)
    assert told[-1] < 1.0
    a, b = found['/a'], found['/b']
    speed = b.velocity[-1, 0]
    assert speed > 0.3
    assert a.velocity[-1, 0] == pytest.approx(speed, rel=1e-3)
    drag = 5.0 * speed + 40.0 * speed**2
    assert b.sources['towing'][-1, 0] == pytest.approx(drag, rel=0.01)
    assert a.thrust[-1, 0] + a.sources['tether'][-1, 0] == pytest.approx(drag, rel=0.01)
    cable = a.thrust[-1, 0] - 2 * drag  # its own drag along it
    assert 0 < cable < 0.1 * drag


def describe(tmp_path, target, *, name='scout', more=()):
    row = f'{{vehicle: bluerov2, name: {name}, arguments: {{tether: fathom, {target}}}}}'
    path = fleet_file(tmp_path, [row, '{vehicle: bluerov2, name: cart}', *more])
    return fleet_node_specs(fleet_runs(FLEETS.load(str(path)), RunOptions()))


def test_a_fleet_knows_who_is_towed_by_whom(tmp_path):
    specs = describe(tmp_path, 'tether_vehicle: cart')
    (towing,) = (spec for spec in specs if spec.executable == 'towing')
    assert towing.namespace == '/cart'
    assert towing.parameters['towed_by'] == ['/scout']
    owners = {s.namespace: s.parameters for s in specs if s.executable == 'dynamics'}
    assert 'tether' in owners['/scout']['wrench_sources']
    assert 'towing' in owners['/cart']['wrench_sources']
    assert 'towing' not in owners['/scout']['wrench_sources']


@pytest.mark.parametrize(
    ('target', 'reason'),
    [
        (
            'tether_vehicle: cork',
            "tether of scout: its anchor is vehicle 'cork', which is not in this run; expected "
            'one of: cart',
        ),
        (
            'tether_vehicle: scout',
            'tether of scout: its anchor is the vehicle itself; expected one of: cart',
        ),
        ('tether_vehicle: cart, tether_afloat: true', 'has several anchors'),
        ('tether_ship: 20, tether_afloat: true', 'has several anchors'),
    ],
)
def test_an_anchor_that_cannot_be_is_one_line(tmp_path, target, reason):
    with pytest.raises(MarineSimError) as told:
        describe(tmp_path, target)
    assert reason in str(told.value)
    assert '\n' not in str(told.value)


def test_a_vehicle_alone_cannot_be_tethered_to_another():
    vehicle = load_vehicle('bluerov2', tether='fathom', tether_vehicle='cart')
    with pytest.raises(MarineSimError, match=r"vehicle 'cart', which is not in this run; .*fleet"):
        simulate(vehicle, load_scenario('dive'), duration=0.1)


@pytest.mark.long
def test_tethers_in_a_circle_are_for_the_graph_alone(tmp_path):
    rows = [
        f'{{vehicle: bluerov2, name: {name}, scenario: dive, '
        f'arguments: {{tether: fathom, tether_vehicle: {other}}}}}'
        for name, other in (('a', 'b'), ('b', 'a'))
    ]
    runs = fleet_runs(FLEETS.load(str(fleet_file(tmp_path, rows))), RunOptions())
    with pytest.raises(MarineSimError, match='tethers of a, b go round in a circle'):
        simulate_fleet(runs)
    assert len(fleet_node_specs(runs)) > 10


@pytest.mark.parametrize(('name', 'severity'), [('bluerov2', 'error'), ('cart', 'hint')])
def test_the_doctor_looks_where_a_tether_ends(name, severity):
    context = load_context('bluerov2', {'tether': 'fathom', 'tether_vehicle': name})
    found = [f for f in examine(context) if f.check == 'tether-anchor']
    assert [f.severity.value for f in found] == [severity]


def test_a_reel_by_the_name_of_a_winch_has_its_rate_and_pull():
    winch = REELS.load('markey_desh5')
    vehicle = load_vehicle('bluerov2', tether='fathom', tether_reel='markey_desh5')
    reel = vehicle.extensions['tether'].reel
    assert reel.rate == winch.rate == pytest.approx(102 / 60)
    assert reel.tension == pytest.approx(5926 * 4.44822, rel=1e-4)
    assert reel.maximum == 50
    with pytest.raises(MarineSimError, match='at most 10000 m, the capacity of markey_desh5'):
        load_vehicle('bluerov2', tether='fathom', tether_reel='markey_desh5', tether_maximum='2e4')


@pytest.mark.long
def test_the_compiled_engine_has_the_same_ship():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = load_vehicle(
        'bluerov2',
        tether='fathom',
        tether_length='5',
        tether_ship='4',
        tether_ship_course='0.5',
        tether_ship_speed='0.3',
        tether_anchor='-2 0 0.5',
    )
    scenario = replace(load_scenario('dive'), position=(-1.0, 0.0, -4.0))
    around = Environment(waves=regular_waves(0.5, 3.0))
    ran = simulate(vehicle, scenario, environment=around, duration=3.0)
    done, _ = simulate_compiled(vehicle, scenario, environment=around, duration=3.0)
    np.testing.assert_allclose(done.position, ran.position, atol=1e-8)
    assert np.abs(ran.sources['tether']).max() > 1


def test_the_anchor_on_a_vehicle_is_a_point_of_its_body():
    spec = Tether(FATHOM, 5.0, 5, np.zeros(3), np.array([0.5, 0.2, -0.1]), vehicle='b')
    half = math.sqrt(0.5)
    other = State(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, half, half]), np.zeros(6))
    ends = tether_ends(spec, state_at_rest(), Environment(), other)
    np.testing.assert_allclose(ends[1], [0.8, 2.5, 2.9])
    wrench = towing_wrench(spec, other, np.array([0.0, 3.0, 0.0]))
    np.testing.assert_allclose(wrench[:3], [3, 0, 0], atol=1e-12)
    np.testing.assert_allclose(wrench[3:], np.cross(spec.anchor, wrench[:3]), atol=1e-12)
