# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions become vehicles, or give one clear error."""

import re
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marine_sim_ros import Environment, MarineSimError, load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.model.library import vehicle_names
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.thrusters import thrusters
from marine_sim_ros.sensors.barometer import barometer

ORCA = Path(__file__).parent / 'data' / 'orca3.urdf'
STILL = Environment()


def test_shipped_vehicles_load_without_a_warning(shipped):
    assert shipped.warnings == ()
    assert len(shipped.thrusters) in (6, 8)
    assert shipped.barometer is not None
    assert {f.name for f in shipped.frames} >= {'baro_link', 'camera_link', 'lights_link'}


def test_names_of_shipped_vehicles():
    assert {'bluerov2', 'bluerov2_heavy'} <= set(vehicle_names())


def test_published_masses():
    wu = load_vehicle('bluerov2', coefficients='wu2018')
    assert np.diag(wu.added_mass) == pytest.approx([5.5, 12.7, 14.57, 0.12, 0.12, 0.12])
    assert np.diag(wu.damping.linear) == pytest.approx([4.03, 6.22, 5.18, 0.07, 0.07, 0.07])
    assert wu.inertia.mass == 11.5
    maker = load_vehicle('bluerov2_heavy', coefficients='maker')
    assert maker.inertia.mass == 11.5
    assert np.diag(maker.damping.quadratic) == pytest.approx([141, 217, 190, 1.19, 0.47, 1.5])
    assert load_vehicle('bluerov2_heavy').inertia.mass == 13.5


def test_orca3_thrust():
    vehicle = load_vehicle(ORCA)
    # Named -40/-50 on a reversed propeller: +effort pushes down with up to 40 N.
    pwm, memory = np.array([1700.0, 1700.0]), np.zeros(2)
    deep = state_at_rest((0.0, 0.0, -5.0))
    output, _ = thrusters(vehicle, deep, STILL, memory, pwm=pwm, dt=0.0)
    assert output.thrust == pytest.approx([22.6027, 40 * 165 / 365], abs=5e-5)
    assert output.wrench[:2] == pytest.approx([22.6027 * np.sqrt(0.5)] * 2, abs=5e-5)
    assert output.wrench[2] == pytest.approx(-40 * 165 / 365)
    pwm[0] = 1500.0
    output, _ = thrusters(vehicle, deep, STILL, memory, pwm=pwm, dt=0.0)
    assert output.wrench[3] == pytest.approx(-0.105 * 40 * 165 / 365)
    pwm = np.array([1500.0, 1100.0])
    output, _ = thrusters(vehicle, deep, STILL, memory, pwm=pwm, dt=0.0)
    assert output.wrench[2] == pytest.approx(50)
    forward = vehicle.thrusters.axis[0]
    assert np.linalg.norm(forward) == pytest.approx(1)
    assert abs(forward[2]) < 1e-9


def test_orca3_buoyancy_drag_and_pressure():
    vehicle = load_vehicle(ORCA)
    assert buoyancy(vehicle, state_at_rest((0, 0, -1)), STILL)[2] == pytest.approx(
        997 * 0.01 * 9.8
    )
    assert buoyancy(vehicle, state_at_rest((0, 0, 0.0625)), STILL)[2] == pytest.approx(24.4265)
    moving = State(np.zeros(3), np.array([0, 0, 0, 1.0]), np.array([1.0, 0, 0, 0, 0, 0]))
    force = drag(vehicle, moving, STILL)
    assert force[0] == pytest.approx(-34.2378)
    assert force[4] == pytest.approx(-34.2378 * 0.011)  # at the centre of mass
    reading = barometer(vehicle.barometer, state_at_rest((0, 0, -10)), STILL)
    assert reading.pressure == pytest.approx(199006)
    assert vehicle.barometer.variance == pytest.approx(201.7**2)


def test_orca3_misspelt_offset_is_warned_of():
    (warning,) = (w for w in load_vehicle(ORCA).warnings if 'did you mean' in w)
    assert 'orca3.urdf:29: ' in warning
    assert 'baro_link_to_base_link_z_' in warning
    assert 'did you mean <baro_link_to_base_link_z>?' in warning


@pytest.mark.parametrize('offset', [None, '-0.05', '0.05'])
def test_orca3_pressure_is_that_of_its_plugin(offset, tmp_path):
    """OnUpdate of barometer_plugin.cpp, written down; the model is put in with base_link at 0."""
    text = ORCA.read_text()
    if offset is not None:
        text = text.replace('base_link_z_>', 'base_link_z>').replace('_z>0.05', f'_z>{offset}')
    path = tmp_path / 'orca.urdf'
    path.write_text(text)
    vehicle = load_vehicle(path)
    state = State(np.array([0, 0, -10.0]), quaternion_from_rpy(0.3, 0.4, 0), np.zeros(6))
    link = np.array([-0.15, 0, 0.05])
    altitude = -10 + (rotation_matrix(state.orientation) @ link)[2] - link[2]
    expected = 997 * 9.8 * -(altitude - float(offset or 0)) + 101300
    assert barometer(vehicle.barometer, state, STILL).pressure == pytest.approx(expected)
    told = [w for w in vehicle.warnings if 'reads the pressure' in w]
    wrong = {None: '0.05 m below', '-0.05': None, '0.05': '0.1 m below'}[offset]
    assert bool(told) == bool(wrong)
    assert all(f'{wrong} baro_link' in w and 'expected -0.05' in w for w in told)


MINIMAL = """<robot name="r"><link name="base_link"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>{}</robot>"""

BAD = {
    'empty': ('', 'the description is empty'),
    'not xml': ('<robot', 'not well-formed XML'),
    'entities': (
        '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>',
        'DOCTYPE',
    ),
    'outside entity': (
        '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><robot name="r">&a;</robot>',
        'DOCTYPE',
    ),
    'not a robot': ('<sdf/>', 'expected <robot>'),
    'two roots': (
        '<robot name="r"><link name="hull"/><link name="keel"/></robot>',
        "no link 'base_link' and 2 roots (hull, keel)",
    ),
    'no mass': ('<robot name="r"><link name="base_link"/></robot>', 'no mass'),
    'unknown element': (
        MINIMAL.format('<hydrodynamics><added_mas>1</added_mas></hydrodynamics>'),
        'unknown element <added_mas>',
    ),
    'not a number': (
        MINIMAL.format('<buoyancy><volume>much</volume></buoyancy>'),
        "'much'; expected numbers",
    ),
    'not finite': (MINIMAL.format('<buoyancy><volume>nan</volume></buoyancy>'), 'finite'),
    'negative': (MINIMAL.format('<buoyancy><volume>-1</volume></buoyancy>'), 'expected 0 to'),
    'wrong count': (
        MINIMAL.format('<hydrodynamics><added_mass>1 2</added_mass></hydrodynamics>'),
        'expected 6 or 36',
    ),
    'negative drag': (
        MINIMAL.format(
            '<hydrodynamics><linear_damping>-1 0 0 0 0 0</linear_damping></hydrodynamics>'
        ),
        'expected positive',
    ),
    'unknown curve': (
        MINIMAL.format('<thrusters><thruster name="a" curve="t500"/></thrusters>'),
        "'t500'",
    ),
    'two thrusters': (
        MINIMAL.format(
            '<thrusters>' + 2 * '<thruster name="a"><linear/></thruster>' + '</thrusters>'
        ),
        'two thrusters',
    ),
    'falling curve': (
        MINIMAL.format('<thrusters><curve name="c">1100 1 0 0 1900 0 0 0</curve></thrusters>'),
        'thrust falls',
    ),
    'duty for pulses': (
        MINIMAL.format(
            '<thrusters><curve name="c">-1 -9 50 900 0 0 0 0 1 9 50 900</curve></thrusters>'
        ),
        'likely a duty: write 1500 + 400 times each',
    ),
    'percent for pulses': (
        MINIMAL.format(
            '<thrusters><curve name="c">-100 -9 50 900 0 0 0 0 80 9 50 900</curve></thrusters>'
        ),
        'likely a duty: write 1500 + 4 times each',
    ),
    'rpm for pulses': (
        MINIMAL.format(
            '<thrusters><curve name="c">-3000 -9 50 1 0 0 0 0 3000 9 50 1</curve></thrusters>'
        ),
        'pulse widths from -3000 to 3000; expected µs, 500 to 2500',
    ),
    'power for thrust': (
        MINIMAL.format(
            '<thrusters><curve name="c">1100 50 -9 1 1500 0 0 0 1900 50 9 1</curve></thrusters>'
        ),
        'thrust and power are likely swapped',
    ),
    'lost link': (MINIMAL.format('<link name="a"/>'), "'a' does not hang on 'base_link'"),
    'two parents': (
        MINIMAL.format(
            '<link name="a"/>' + 2 * '<joint name="j" type="fixed"><parent '
            'link="base_link"/><child link="a"/></joint>'
        ),
        'two parents',
    ),
    'barometer nowhere': (MINIMAL.format('<barometer link="nose"/>'), "'nose' is unknown"),
}


TABLE = """<thrusters>
  <curve name="c" voltage="14">
    1100 -28.0 200 2900
    1104 -28.1 198 2890
    1480   0     0    0
    1520   0     0    0
    1700  {}   60 1900
    1896  36.4 240 3100
    1900  36.2 243 3105
  </curve>
  <thruster name="a" curve="c"/>
</thrusters>"""


def test_a_fall_of_thrust_within_the_noise_of_a_table_is_level():
    thrust = load_vehicle(MINIMAL.format(TABLE.format(14.0))).thrusters.thrust_of_pwm
    widths = np.linspace(1100, 1900, 401)[:, None]
    found = np.asarray(thrust(widths)).ravel()
    assert np.all(np.diff(found) >= 0)
    assert found[0] == pytest.approx(-28.1)
    assert found[-1] == pytest.approx(36.4)
    assert np.all(found[(widths[:, 0] > 1480) & (widths[:, 0] < 1520)] == 0)


def test_a_fall_of_thrust_beyond_the_noise_names_both_rows():
    text = MINIMAL.format(TABLE.format(37.2))
    lines = text.split('\n')
    first, last = (1 + next(i for i, x in enumerate(lines) if w in x) for w in ('1700', '1896'))
    with pytest.raises(ModelError) as told:
        load_vehicle(text)
    assert (
        f'thrust falls from 37.2 N at 1700 µs (line {first}) to 36.4 N at 1896 µs (line {last})'
        in str(told.value)
    )
    assert '0.37 N (1% of the greatest)' in str(told.value)


@pytest.mark.parametrize('name', BAD)
def test_bad_descriptions_give_one_clear_line(name, tmp_path):
    text, expected = BAD[name]
    path = tmp_path / 'bad.urdf'
    path.write_text(text)
    with pytest.raises(ModelError, match=re.escape(expected)) as caught:
        load_vehicle(path)
    assert 'bad.urdf' in str(caught.value)
    assert '\n' not in str(caught.value)


def test_a_huge_description_is_refused_quickly(tmp_path):
    path = tmp_path / 'huge.urdf'
    path.write_text('<robot>' + ' ' * 50_000_000 + '</robot>')
    start = time.process_time()
    with pytest.raises(ModelError, match='50 MB'):
        load_vehicle(path)
    with pytest.raises(ModelError, match='50 MB'):
        load_vehicle('<robot>' + ' ' * 50_000_000)
    assert time.process_time() - start < 5


@pytest.mark.parametrize('content', [b'\xff\xfe\x00', b'\x00' * 100, b'<robot>\xe9</robot>'])
def test_files_that_are_no_text(content, tmp_path):
    path = tmp_path / 'bytes.urdf'
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r'bytes\.urdf'):
        load_vehicle(path)


def test_unknown_names_and_arguments_list_the_known_ones():
    with pytest.raises(ModelError, match=r"did you mean 'bluerov2'.*marine_sim list vehicles"):
        load_vehicle('bluerov3')
    with pytest.raises(
        ModelError, match=r'unknown xacro argument .*expected one of: .*coefficients'
    ):
        load_vehicle('bluerov2', coefficient='wu2018')
    with pytest.raises(ModelError, match='expected one of: maker, orca3, bluerov2_gz'):
        load_vehicle('bluerov2', coefficients='wu')


BLUEROV = vehicle_of('bluerov2').urdf
TOKENS = sorted(set(re.findall(r'[\w.:/-]+', BLUEROV)))


@pytest.mark.long
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(TOKENS),
    st.one_of(
        st.sampled_from(['', 'nan', '-1', '1e999', '0', 'base_link', '<', '&lt;', 'é', '1 2 3']),
        st.text(max_size=6),
    ),
    st.integers(0, 5),
)
def test_mutated_descriptions_load_or_give_one_line(token, replacement, which):
    places = [m.span() for m in re.finditer(rf'(?<![\w.]){re.escape(token)}(?![\w.])', BLUEROV)]
    start, end = places[which % len(places)]
    try:
        vehicle = load_vehicle(BLUEROV[:start] + replacement + BLUEROV[end:])
    except MarineSimError as error:
        message = str(error)
    else:
        message = '' if np.all(np.isfinite(vehicle.mass_matrix)) else 'not finite\n'
    assert '\n' not in message


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_any_text_loads_or_gives_an_error(text):
    with pytest.raises(MarineSimError):
        load_vehicle('<' + text)
