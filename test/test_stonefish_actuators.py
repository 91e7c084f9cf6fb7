# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rudders, ballast, wheels and wings of Stonefish, against its formulas."""

import numpy as np
import pytest
from foreign import STONEFISH, imported

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.fins import fin_wrench, fins_of

CUBE = """v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
f 1 4 3 2
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""


@pytest.fixture
def read(tmp_path):
    return lambda text: imported(tmp_path, text, '.scn')


def cube(folder, name, edge, shift):
    rows = [line.split() for line in CUBE.splitlines()]
    (folder / name).write_text(
        '\n'.join(
            ' '.join(['v', *(str(edge * float(v) + s) for v, s in zip(r[1:], shift, strict=True))])
            if r[0] == 'v'
            else ' '.join(r)
            for r in rows
        )
    )


RUDDER = """<actuator name="rudder" type="rudder"><link name="Vehicle"/>
<origin xyz="-0.5 0.1 0.2" rpy="0 0 0"/><specs area="0.03" lift_coeff="2.5" drag_coeff="9"
max_angle="0.6" stall_angle="0.4" inverted="{}"/></actuator></robot>"""


@pytest.mark.parametrize('inverted', ['false', 'true'])
def test_a_rudder_has_lift_and_drag_of_its_angle(read, inverted):
    _, vehicle = read(STONEFISH.replace('</robot>', RUDDER.format(inverted)))
    fins = fins_of(vehicle)
    np.testing.assert_allclose(fins.position, [[-0.5, -0.1, -0.2]], atol=1e-12)
    np.testing.assert_allclose([fins.lower[0], fins.upper[0]], [-0.6, 0.6])
    state = State(np.zeros(3), np.array([0, 0, 0, 1.0]), np.array([1.5, 0, 0, 0, 0, 0]))
    pressure = 0.5 * 1031 * 0.03 * 1.5**2 * 2.5
    for angle, lift in ((0.2, 0.2), (0.5, 0.0)):
        force = np.asarray(
            fin_wrench(vehicle, state, Environment(), np.array([angle]), np.zeros(1))
        )
        # Positive: the leading edge to starboard (−y), and the lift with it.
        side = -1 if inverted == 'false' else 1
        assert force[1] == pytest.approx(side * lift * pressure, abs=1e-3)
        if lift:
            assert force[0] == pytest.approx(-(angle**2) * pressure)


VBS = """<actuator name="tank" type="vbs"><link name="Vehicle"/>
<origin xyz="0.3 0 0.1" rpy="0 0 0"/><volume initial="{}"><mesh filename="empty.obj"/>
<mesh filename="full.obj"/></volume></actuator></robot>"""


@pytest.mark.parametrize(('initial', 'volume'), [(0.0045, 0.0045), (1.0, 0.008), (0, 0.001)])
def test_ballast_weighs_as_the_water_in_it(read, tmp_path, initial, volume):
    cube(tmp_path, 'empty.obj', 0.1, (0, 0, 0))
    cube(tmp_path, 'full.obj', 0.2, (0.1, 0, 0))
    _, plain = read(STONEFISH)
    description, vehicle = read(STONEFISH.replace('</robot>', VBS.format(initial)))
    assert plain.buoyancy.volume - vehicle.buoyancy.volume == pytest.approx(volume)
    assert vehicle.inertia.mass == plain.inertia.mass
    share = (volume - 0.001) / 0.007
    center = np.array([0.05, 0.05, 0.05]) + share * np.array([0.15, 0.05, 0.05])
    place = np.array([0.3 + center[0], -center[1], -0.1 - center[2]])
    moment = plain.buoyancy.volume * plain.buoyancy.center_of_volume - volume * place
    np.testing.assert_allclose(
        vehicle.buoyancy.center_of_volume, moment / vehicle.buoyancy.volume, atol=1e-9
    )
    engine = vehicle.extensions['buoyancy_engines']
    assert engine.names == ('tank',)
    np.testing.assert_allclose(engine.position[0], place, atol=1e-9)
    # Less ballast displaces more; the whole range in 10 s.
    np.testing.assert_allclose([*engine.lower, *engine.upper], [volume - 0.008, volume - 0.001])
    assert engine.rate == pytest.approx(0.007 / 10)
    assert not any('range' in line for line in description.dropped)


SHAPES = {
    'torus': ('major_radius="0.2" minor_radius="0.05"', 2 * np.pi**2 * 0.2 * 0.05**2),
    'wing': (
        'base_chord="0.3" tip_chord="0.1" length="0.5" naca="0012"',
        0.6809 * 0.12 * 0.5 * (0.3**2 + 0.3 * 0.1 + 0.1**2) / 3,
    ),
}


@pytest.mark.parametrize('kind', SHAPES)
def test_wheels_and_wings_weigh_and_displace_their_volume(read, kind):
    dimensions, volume = SHAPES[kind]
    part = f"""<link name="part" type="{kind}" physics="submerged"><dimensions {dimensions}/>
<origin xyz="0 0 0" rpy="0 0 0"/><material name="Steel"/></link><joint name="j" type="fixed">
<parent name="Vehicle"/><child name="part"/><origin xyz="0 1 0" rpy="0 0 0"/></joint>"""
    description, vehicle = read(STONEFISH.replace('<actuator', f'{part}<actuator', 1))
    assert vehicle.inertia.mass == pytest.approx(210 + 2000 * volume)
    assert vehicle.buoyancy.volume == pytest.approx(0.2 + volume)
    inertial = description.links['part'].inertial
    expected = [0, -0.25, 0] if kind == 'wing' else [0, 0, 0]
    np.testing.assert_allclose(inertial.pose.translation, expected, atol=1e-9)
    if kind == 'torus':  # its axis is y
        moments = np.diag(inertial.tensor.value)
        assert moments[1] > 1.5 * moments[0]
        assert moments[0] == pytest.approx(moments[2])


@pytest.mark.parametrize(
    ('expression', 'value'),
    [('2^3', 8), ('sqrt(16)*10', 40), ('abs(-7) + cos(0)', 8), ('17 % 5', 2), ('log(1000)', 3)],
)
def test_sums_have_the_functions_of_the_source(read, expression, value):
    text = STONEFISH.replace('<mass value="210"/>', f'<mass value="${{{expression}}}"/>')
    assert read(text)[1].inertia.mass == pytest.approx(value)


@pytest.mark.parametrize('expression', ['9^9^9^9^9', 'open(1)', 'sqrt(-1)', '2**3', 'cos(1, 2)'])
def test_sums_that_have_no_value_are_one_line(read, expression):
    text = STONEFISH.replace('<mass value="210"/>', f'<mass value="${{{expression}}}"/>')
    with pytest.raises(ModelError, match='cannot be evaluated'):
        read(text)
