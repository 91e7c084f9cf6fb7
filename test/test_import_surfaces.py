# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wings, flaps, foils and buoyancy engines of Gazebo against the formulas of their plugins."""

import numpy as np
import pytest
from foreign import SDF, imported

from marine_sim_ros import simulate
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.fins import fin_wrench, fins_of
from marine_sim_ros.sim.scenario import parse_scenario

FLAP = """<link name="flap"><pose>-0.4 0 0.1 0 0 0</pose><inertial><mass>0.01</mass></inertial>
</link><joint name="aileron" type="revolute"><parent>base_link</parent><child>flap</child>
<axis><xyz>0 0 1</xyz><limit><lower>-0.2</lower><upper>0.4</upper></limit></axis></joint>"""
LIFT = """<plugin filename="gz-sim-lift-drag-system" name="gz::sim::systems::LiftDrag">
<link_name>base_link</link_name><area>0.05</area><air_density>1000</air_density><cla>3</cla>
<cda>0</cda><cp>-0.3 0 0</cp>{}</plugin>"""


@pytest.fixture
def read(tmp_path):
    return lambda more: imported(tmp_path, SDF.replace('</model>', f'{more}</model>'), '.sdf')


def force(vehicle, velocity, angle=0.0):
    """Return the force (3,) of all fins at a velocity (3,) of the body, deflected alike."""
    state = State(np.zeros(3), np.array([0, 0, 0, 1.0]), np.array([*velocity, 0, 0, 0]))
    angles = np.full(len(fins_of(vehicle)), angle)
    thrust = np.zeros(len(vehicle.thrusters))
    return np.asarray(fin_wrench(vehicle, state, Environment(), angles, thrust))[:3]


@pytest.mark.parametrize('gain', [1.5, -6.0])
def test_a_flap_adds_its_lift_to_the_surface(read, gain):
    text = (
        f'<control_joint_name>aileron</control_joint_name>'
        f'<control_joint_rad_to_cl>{gain}</control_joint_rad_to_cl>'
    )
    _, vehicle = read(FLAP + LIFT.format(text))
    fins = fins_of(vehicle)
    assert fins.names == ('aileron',)
    ratio = gain / 3
    ends = sorted((-0.2 * ratio, 0.4 * ratio))
    np.testing.assert_allclose([fins.lower[0], fins.upper[0]], ends)
    pressure = 0.5 * 1000 * 0.05 * 2.0**2
    turn = 0.1  # of the flap
    assert force(vehicle, (2.0, 0, 0), ratio * turn)[2] == pytest.approx(gain * turn * pressure)
    sink = 0.05
    level = 0.5 * 1000 * 0.05 * (4 + sink**2)
    alpha = np.arctan2(sink, 2.0)
    lift = (3 * alpha + gain * turn) * level
    assert force(vehicle, (2.0, 0, -sink), ratio * turn)[2] == pytest.approx(lift * np.cos(alpha))


def test_a_round_body_has_lift_in_every_direction(read):
    _, vehicle = read(LIFT.format('<radial_symmetry>true</radial_symmetry>'))
    side = 0.1
    alpha = np.arctan2(side, 2.0)
    lift = 3 * alpha * 0.5 * 1000 * 0.05 * (4 + side**2) * np.cos(alpha)
    assert force(vehicle, (2.0, 0, -side))[2] == pytest.approx(lift)
    assert force(vehicle, (2.0, side, 0))[1] == pytest.approx(-lift)


WING = """<plugin filename="gz-sim-advanced-lift-drag-system"
name="gz::sim::systems::AdvancedLiftDrag"><link_name>base_link</link_name><AR>6.5</AR><mac>0.22</mac>
<eff>0.97</eff><area>0.34</area><air_density>1000</air_density><CL0>0.15</CL0><CLa>4.75</CLa>
<CD0>0.03</CD0><CYb>-0.26</CYb><Cellp>-0.5</Cellp><Cemq>-12</Cemq><Cenr>-0.07</Cenr>
<Cema>-1</Cema><CLq>7</CLq><alpha_stall>0.34</alpha_stall>
<control_surface><name>left</name></control_surface></plugin>"""


def advanced_wrench(c, velocity, rates):
    """Return the wrench (6,) about the link of AdvancedLiftDrag, from its published equations.

    Written for this test from gz-sim 8, without its code: c has the numbers of the <plugin>,
    forward is x and upward z, both of the link.
    """
    k = {name: 0.0 for name in ['CL0', 'CLa', 'CLb', 'CD0', 'CYa', 'CYb']}
    k |= {f'C{a}{r}': 0.0 for a in ('D', 'Y', 'L', 'ell', 'em', 'en') for r in 'pqr'}
    k |= {f'C{a}{r}': 0.0 for a in ('ell', 'em', 'en') for r in 'ab'} | c
    ahead, right, down = np.eye(3) * [1, -1, -1]
    point = np.array(k.get('cp', (0.0, 0, 0)))
    flow = velocity + np.cross(rates, point)
    plane = flow - (flow @ right) * right
    speed = np.linalg.norm(plane)
    stream = plane / speed
    lifting = np.cross(right, stream)  # minus the z axis of the stability frame
    alpha = np.arctan2(stream @ down, stream @ ahead)
    beta = np.arctan2(flow @ right, flow @ ahead)
    span = np.sqrt(k['area'] * k['AR'])
    chord = k['mac']
    turn = np.array([rates @ ahead * span, rates @ right * chord, rates @ down * span]) / 2 / speed
    low, high = np.exp(-15 * (alpha - k['stall'])), np.exp(15 * (alpha + k['stall']))
    past = (1 + low + high) / ((1 + low) * (1 + high))
    lift = (1 - past) * (k['CL0'] + k['CLa'] * alpha)
    lift += past * 2 * np.sign(alpha) * np.sin(alpha) ** 2 * np.cos(alpha) + k['CLb'] * beta
    plate = 2 / (1 + np.exp(-0.224 - 0.115 * max(k['AR'], 1 / k['AR'])))
    resist = (1 - past) * (k['CD0'] + lift**2 / (np.pi * k['AR'] * k['eff']))
    resist += past * abs(plate * (0.5 - 0.5 * np.cos(2 * alpha)))
    side = k['CYa'] * alpha + k['CYb'] * beta

    def with_rates(value, name):
        return value + sum(k[f'C{name}{r}'] * t for r, t in zip('pqr', turn, strict=True))

    force = with_rates(lift, 'L') * lifting - with_rates(resist, 'D') * stream
    force = force + with_rates(side, 'Y') * right
    roll = with_rates(k['Cella'] * alpha + k['Cellb'] * beta, 'ell') * span * ahead
    pitch = with_rates(k['Cemb'] * beta, 'em') * chord * right  # <Cema> is overwritten
    yaw = with_rates(k['Cena'] * alpha + k['Cenb'] * beta, 'en') * span * down
    pressure = 0.5 * k['air_density'] * speed**2 * k['area']
    return pressure * np.concatenate([force, roll + pitch + yaw + np.cross(point, force)])


def wing(**more):
    """Return the <plugin> of a wing and its numbers."""
    numbers = {'AR': 5.0, 'mac': 0.3, 'eff': 0.9, 'area': 0.4, 'air_density': 1000.0} | more
    tags = {'cp': ' '.join(map(str, numbers['cp']))} if 'cp' in numbers else {}
    inner = ''.join(f'<{n}>{tags.get(n, v)}</{n}>' for n, v in numbers.items() if n != 'stall')
    return (
        '<plugin filename="gz-sim-advanced-lift-drag-system" name="gz::sim::systems::'
        f'AdvancedLiftDrag"><link_name>base_link</link_name>{inner}'
        f'<alpha_stall>{numbers["stall"]}</alpha_stall></plugin>'
    ), numbers


def wing_wrench(vehicle, bare, velocity):
    """Return the wrench (6,) that a wing adds to a vehicle deep under water."""
    state = State(np.array([0, 0, -50.0]), np.array([0, 0, 0, 1.0]), velocity)
    none = np.zeros(len(vehicle.thrusters))
    angles = np.zeros(len(fins_of(vehicle)))
    total = np.asarray(fin_wrench(vehicle, state, Environment(), angles, none))
    both = [np.asarray(drag(v, state, Environment())) for v in (vehicle, bare)]
    return total + both[0] - both[1]


READ = {'CLa': 4.2, 'CD0': 0.05, 'stall': 0.4}
ALL = READ | {
    'CL0': 0.1, 'CYa': 0.7, 'CLb': -0.4, 'CYb': -0.9, 'Cellp': -0.6, 'Cemq': -9.0, 'Cenr': -0.2,
    'cp': (-0.2, 0.0, 0.1),
}  # fmt: skip


@pytest.mark.parametrize('seed', range(12))
def test_an_advanced_wing_has_the_wrench_of_the_equations_of_its_plugin(read, seed):
    text, numbers = wing(**ALL)
    _, vehicle = read(text)
    _, bare = read('')
    rng = np.random.default_rng(seed)
    speed, alpha, beta = rng.uniform(0.5, 3.0), *rng.uniform(-0.1, 0.1, 2)
    velocity = speed * np.array([1.0, -np.tan(beta), -np.tan(alpha)])
    rates = 0.03 * speed * rng.uniform(-1, 1, 3)
    wanted = advanced_wrench(numbers, velocity, rates)
    found = wing_wrench(vehicle, bare, np.concatenate([velocity, rates]))
    # Terms of the second order in the angles differ.
    pressure = 0.5 * 1000 * 0.4 * speed**2
    np.testing.assert_allclose(found[:3], wanted[:3], atol=0.015 * pressure)
    np.testing.assert_allclose(found[3:], wanted[3:], atol=0.006 * pressure)


@pytest.mark.parametrize('alpha', [0.5, 0.8, 1.2, -0.7])
def test_an_advanced_wing_past_its_stall_is_said_to_have_lines(read, alpha):
    text, numbers = wing(**READ)
    description, vehicle = read(text)
    assert any('beyond its stall straight lines' in line for line in description.assumptions)
    velocity = np.array([np.cos(alpha), 0, -np.sin(alpha)])
    wanted = advanced_wrench(numbers, velocity, np.zeros(3))[:3]
    found = force(vehicle, velocity)
    assert np.linalg.norm(found - wanted) < 0.9 * 0.5 * 1000 * 0.4  # most just beyond it


UNREAD = [
    *(f'C{c}{r}' for c in ('D', 'Y', 'L') for r in 'pqr'),
    *('Cellq', 'Cellr', 'Cemp', 'Cemr', 'Cenp', 'Cenq', 'Cella', 'Cellb', 'Cemb', 'Cena', 'Cenb'),
]


@pytest.mark.parametrize('name', UNREAD)
def test_each_term_of_an_advanced_wing_that_is_not_read_is_named(read, name):
    text, numbers = wing(**READ, **{name: 0.5})
    description, _ = read(text)
    assert any(f'<{name}>' in line for line in description.dropped)
    velocity, rates = np.array([2.0, -0.1, -0.1]), np.array([0.1, 0.2, 0.3])
    plain = advanced_wrench(wing(**READ)[1], velocity, rates)
    assert not np.allclose(advanced_wrench(numbers, velocity, rates), plain)  # it does act


def test_a_control_surface_of_a_wing_is_named_and_its_joint_fixed(read):
    surface = '<control_surface><name>aileron</name><direction>1</direction></control_surface>'
    text = wing(**READ)[0].replace('</plugin>', f'{surface}</plugin>')
    description, vehicle = read(FLAP + text)
    assert vehicle.manipulator is None
    assert any("control surface 'aileron'" in line for line in description.dropped)
    assert any("'aileron' is fixed" in line for line in description.dropped)


def test_an_advanced_wing_has_lift_drag_and_damping_of_its_coefficients(read):
    description, vehicle = read(WING)
    for alpha in (0.0, 0.1, -0.05):
        speed = 1.5
        velocity = speed * np.array([np.cos(alpha), 0, -np.sin(alpha)])
        lift = 0.15 + 4.75 * alpha
        resistance = 0.03 + lift**2 / (np.pi * 6.5 * 0.97)
        pressure = 0.5 * 1000 * 0.34 * speed**2
        up = np.array([np.sin(alpha), 0, np.cos(alpha)])
        ahead = velocity / speed
        expected = pressure * (lift * up - resistance * ahead)
        np.testing.assert_allclose(force(vehicle, velocity), expected, rtol=1e-6, atol=0.05)
    beta = 0.1
    aside = force(vehicle, (1.5, 1.5 * np.tan(beta), 0))[1]
    assert aside == pytest.approx(-0.26 * beta * 0.5 * 1000 * 0.34 * 1.5**2, rel=0.03)
    span = np.sqrt(0.34 * 6.5)
    for axis, length, factor in ((3, span, 0.5), (4, 0.22, 12), (5, span, 0.07)):
        moments = []
        for speed in (0.0, 2.0):
            velocity = np.zeros(6)
            velocity[0], velocity[axis] = speed, 0.1
            state = State(np.array([0, 0, -50.0]), np.array([0, 0, 0, 1.0]), velocity)
            moments.append(float(np.asarray(drag(vehicle, state, Environment()))[axis]))
        expected = -factor * 0.25 * 1000 * 0.34 * length**2 * 2.0 * 0.1
        assert moments[1] - moments[0] == pytest.approx(expected, rel=1e-6)
    for text in ('<CLq>', '<Cema>: the system overwrites', "control surface 'left'"):
        assert any(text in line for line in description.dropped)


ENGINE = """<plugin filename="gz-sim-buoyancy-engine-system"
name="gz::sim::systems::BuoyancyEngine"><link_name>base_link</link_name>
<min_volume>0.0001</min_volume><max_volume>0.0009</max_volume><neutral_volume>0.0004
</neutral_volume>{}<fluid_density>1000</fluid_density></plugin>"""


@pytest.mark.parametrize(
    ('start', 'extra'), [('<default_volume>0.0007</default_volume>', 0.0003), ('', -0.0003)]
)
def test_a_buoyancy_engine_displaces_what_it_starts_with(read, start, extra):
    _, plain = read('')
    description, vehicle = read(ENGINE.format(start))
    assert vehicle.buoyancy.volume - plain.buoyancy.volume == pytest.approx(extra)
    assert description.volumes[0].center.value[2] == pytest.approx(
        0.05 * 0.01 / (0.01 + extra), rel=1e-6
    )
    engine = vehicle.extensions['buoyancy_engines']
    np.testing.assert_allclose([*engine.lower, *engine.upper], [-0.0003 - extra, 0.0005 - extra])
    assert engine.rate == pytest.approx(3e-6)  # the default of the plugin


def test_a_buoyancy_engine_counts_from_its_neutral_volume(read):
    volumes = '<min_volume>-0.002</min_volume><default_volume>-0.0005</default_volume>'
    text = ENGINE.format('').replace('<min_volume>0.0001</min_volume>', volumes)
    _, plain = read('')
    description, vehicle = read(text)
    assert vehicle.buoyancy.volume - plain.buoyancy.volume == pytest.approx(-0.0009)
    engine = vehicle.extensions['buoyancy_engines']
    np.testing.assert_allclose([*engine.lower, *engine.upper], [-0.0015, 0.0014])
    assert description.bladders[0].start == pytest.approx(-0.9)


@pytest.mark.parametrize('density', [1000.0, 1250.0])
def test_an_imported_buoyancy_engine_pushes_as_the_plugin_does(read, density):
    rate = '<max_inflation_rate>1e-5</max_inflation_rate><default_volume>0.0004</default_volume>'
    text = ENGINE.format(rate).replace('<fluid_density>1000', f'<fluid_density>{density}')
    _, vehicle = read(text)
    found = simulate(
        vehicle,
        parse_scenario(
            'duration: 60\ninitial: {position: [0, 0, -50]}\n'
            'segments: [{at: 0, axes: {}, buoyancy_engines: {bladder: 1.0}}]',
            'engine',
        ),
        dt=0.1,
    )
    volumes = found.actuators['buoyancy_engines'][:, 0]
    pushes = vehicle.buoyancy.fluid_density * volumes  # over g
    # ρ (V − V_neutral) of the plugin, with V from its rate up to its maximum.
    expected = density * np.minimum(1e-5 * found.time, 0.0005)
    assert pushes[-1] == pytest.approx(density * 0.0005)
    np.testing.assert_allclose(pushes, expected, atol=1.01e-5 * 0.1 * density)  # a step


def test_a_hull_that_its_buoyancy_engine_sinks_does_not_float(read):
    wide = """<link name="wide"><inertial><mass>0.1</mass></inertial><collision name="w"><geometry>
<box><size>1 1 1</size></box></geometry></collision></link><joint name="hold" type="fixed">
<parent>base_link</parent><child>wide</child></joint>"""
    ballast = '<min_volume>-30</min_volume><default_volume>-0.999</default_volume>'
    engine = ENGINE.format('').replace('<min_volume>0.0001</min_volume>', ballast)
    _, plain = read('')
    description, vehicle = read(engine + wide)
    # 1 m³ of the box less 0.9994 m³ of the engine.
    assert vehicle.buoyancy.volume == pytest.approx(plain.buoyancy.volume + 0.0006)
    assert not description.materials


FOIL = """<link name="rudder"><pose>-0.5 0 0 0 0 0</pose><inertial><mass>0.01</mass></inertial>
</link><joint name="rudder_joint" type="revolute"><parent>base_link</parent><child>rudder</child>
<axis><xyz>0 0 1</xyz><limit><lower>-0.5</lower><upper>0.5</upper></limit></axis></joint>
<plugin name="usv_sail_plugin" filename="libfoil_dynamics_plugin.so"><link_type>{}</link_type>
<mult_lift>1.2</mult_lift><area>0.02</area><fluid_density>1000</fluid_density>
<forward>1 0 0</forward><upward>0 1 0</upward><link_name>rudder</link_name></plugin>"""


@pytest.mark.parametrize(('kind', 'lift', 'drag_factor'), [('rudder', 1.2, 1.0), ('keel', 8, 4)])
def test_a_foil_of_usv_sim_has_its_sines(read, kind, lift, drag_factor):
    _, vehicle = read(FOIL.format(kind))
    pressure = 0.5 * 1000 * 0.02 * 1.5**2
    for angle, within in ((0.05, 0.01), (0.5, 0.25)):
        found = force(vehicle, (1.5, 0, 0), angle)
        assert found[1] == pytest.approx(lift * np.sin(2 * angle) * pressure, rel=within)
        resistance = drag_factor * (1 - np.cos(2 * angle)) * pressure
        assert found[0] == pytest.approx(-resistance, rel=within)


def test_a_sail_is_named_as_what_drives_the_boat(read):
    description, vehicle = read(FOIL.format('sail'))
    assert fins_of(vehicle) is None
    assert any('a sail: the wind does not drive' in line for line in description.dropped)
    assert description.unread_forces
