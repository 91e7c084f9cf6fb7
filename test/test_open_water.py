# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Propellers against published polynomials, foreign figures and closed forms."""

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.model.propellers import wageningen_coefficients
from marine_sim_ros.physics.thrusters import thrusters
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

STILL, DEEP, DENSITY = Environment(), state_at_rest((0.0, 0.0, -20.0)), 1000.0
LINEAR = '<linear pos_force="20" neg_force="15" dead_zone="25"/>'
B_SERIES = '<wageningen blades="4" pitch_ratio="1.0" area_ratio="0.7"/>'
# K_T and K_Q of MSS (github.com/cybergalactic/MSS, LIBRARY/modeling/wageningen.m, MIT) by
# J, P/D, A_E/A_0, Z; drawn at random, computed by its formula from its WageningData.mat.
FOREIGN = """
0.83 1.02 0.7 5 0.1356139722 0.0257804765
0.76 0.96 0.88 6 0.1413396588 0.0262201620
0.65 1.04 0.61 5 0.2362143643 0.0403524786
0.67 1.26 0.84 6 0.3589625274 0.0703288964
1.19 1.37 0.65 4 0.1287900313 0.0323076988
0.06 1.07 0.34 6 0.4135926695 0.0594196257
0.43 0.61 0.83 4 0.0969927551 0.0132251942
0.14 0.88 0.58 2 0.3167408916 0.0449433553
0.1 0.6 0.39 3 0.2030990021 0.0194438194
0.6 1.14 0.83 6 0.3294492642 0.0590180851
0.67 1.36 0.58 3 0.3386979933 0.0712833159
0.67 0.68 0.39 2 0.0336389816 0.0055109086
0.01 0.82 0.82 7 0.4017175513 0.0515705822
0.98 1.38 0.84 3 0.2172240351 0.0501007055
0.46 1.24 0.54 7 0.4332358421 0.0783105889
0.44 1.29 0.54 4 0.4095504687 0.0778617119
0.17 1.18 0.76 6 0.5168678440 0.0887849175
0.08 0.84 0.97 5 0.3767988997 0.0494925833
0.99 1.23 0.81 4 0.1488922162 0.0329838362
0.59 0.95 0.61 2 0.1696780758 0.0278603377
0.14 0.77 0.36 6 0.2994971353 0.0347845014
0.21 0.87 0.69 3 0.3103221800 0.0431402104
0.84 1.21 0.57 3 0.1973103105 0.0399243094
0.37 1.2 0.42 5 0.3934873632 0.0667217295
1.13 1.24 0.83 2 0.0497820794 0.0168301259
0.35 0.72 0.64 5 0.2032938172 0.0250907539
0.0 0.65 0.46 4 0.2650298650 0.0265286144
0.66 0.86 0.52 5 0.1404530160 0.0230010184
0.17 0.9 0.99 2 0.3666147982 0.0547174408
0.16 1.33 0.74 7 0.5928952613 0.1129136953
0.6 0.61 0.64 3 0.0254031838 0.0062804945
0.47 0.67 0.41 4 0.1261089001 0.0163655823
0.23 1.01 0.4 6 0.3746224443 0.0535798641
0.7 0.96 0.45 3 0.1485116648 0.0243561936
0.56 0.95 0.36 4 0.2146055683 0.0329463633
0.9 0.96 0.47 4 0.0743950311 0.0157464581
0.22 0.69 0.45 7 0.2534015592 0.0298860206
0.99 1.2 0.38 4 0.1523341376 0.0331004732
0.47 1.05 0.91 5 0.3317994344 0.0549999259
0.41 1.31 0.96 2 0.5125065471 0.1007292741
0.9 1.21 0.82 4 0.1846322268 0.0386374610
0.34 0.92 0.56 4 0.2903010517 0.0411793236
0.81 1.32 0.64 6 0.3167722596 0.0662364374
1.06 1.34 0.76 3 0.1546230316 0.0366832457
0.8 1.28 0.96 7 0.3152725038 0.0642616470
0.92 1.21 0.76 2 0.1387965196 0.0314071444
0.43 1.1 0.61 2 0.3098685446 0.0554040476
0.49 1.17 0.52 7 0.3890195152 0.0677623014
1.19 1.2 0.94 3 0.0118814834 0.0105100748
0.28 0.63 0.89 3 0.1570223312 0.0192599348
"""


def with_propeller(propeller, diameter=0.2):
    """Return the torpedo with another thruster."""
    text = vehicle_of('torpedo_auv').urdf
    assert LINEAR in text
    return load_vehicle(text.replace(LINEAR, f'<diameter>{diameter}</diameter>{propeller}'))


def loads(vehicle, pwm, surge=0.0):
    """Return what the thruster does at once at a pulse width and a speed."""
    lagless = np.array([0.0])
    state = State(DEEP.position, DEEP.orientation, np.array([surge, 0, 0, 0, 0, 0]))
    return thrusters(vehicle, state, STILL, lagless, pwm=np.array([pwm]), dt=1e3)[0]


def test_b_series_is_that_of_another_program():
    rows = np.array(FOREIGN.split(), float).reshape(-1, 6)
    assert len(rows) == 50
    for advance, pitch, area, blades, thrust, torque in rows:
        found = wageningen_coefficients(
            np.array([advance]), blades=blades, pitch_ratio=pitch, area_ratio=area
        )
        assert found[0][0] == pytest.approx(thrust, abs=1e-9)
        assert found[1][0] == pytest.approx(torque, abs=1e-9)


@pytest.mark.parametrize('advance', [0.0, 0.3, 0.6, 0.9])
def test_thrust_torque_and_power_are_those_of_the_coefficients(advance):
    vehicle = with_propeller(
        f'<propeller max_speed="1200" wake="0.1">{B_SERIES}'
        '<motor torque_constant="0.2" resistance="0.3" idle_current="0.5"/></propeller>'
    )
    n, diameter = 20.0, 0.2
    thrust, torque = (
        float(c[0]) * DENSITY * n**2 * diameter**power
        for c, power in zip(
            wageningen_coefficients(
                np.array([advance]), blades=4, pitch_ratio=1.0, area_ratio=0.7
            ),
            (4, 5),
            strict=True,
        )
    )
    found = loads(vehicle, 1900, advance * n * diameter / 0.9)
    scale = DENSITY * n**2 * diameter**4  # tables are lines between angles 1° apart
    assert found.rotor_speed[0] == pytest.approx(2 * np.pi * n, rel=1e-12)
    assert found.thrust[0] == pytest.approx(thrust, abs=2e-4 * scale)
    # A counter-clockwise propeller turns against its axis; the hull is turned along it.
    assert found.wrench[3] == pytest.approx(torque, abs=4e-5 * scale * diameter)
    current = torque / 0.2 + 0.5
    assert found.power[0] == pytest.approx(
        current * (0.3 * current + 0.2 * 2 * np.pi * n), rel=3e-3
    )


def test_four_quadrants_are_the_rows_of_the_table():
    rows = [(-180, -0.4, -0.05), (-120, -1.0, -0.12), (-90, -0.7, -0.08), (-30, 0.6, 0.08)]
    rows += [(0, 0.5, 0.06), (20, 0.1, 0.02), (60, -0.6, -0.07), (90, -0.9, -0.1)]
    rows += [(150, -0.5, -0.06), (180, -0.4, -0.05)]
    text = ' '.join(f'{b} {t} {q}' for b, t, q in rows)
    vehicle = with_propeller(
        f'<propeller max_speed="1200"><four_quadrant>{text}</four_quadrant></propeller>'
    )
    for angle, thrust, torque in rows[1:-1]:
        if abs(angle) == 90:
            continue
        sign = 1.0 if abs(angle) < 90 else -1.0
        blade = 0.7 * np.pi * 20.0 * 0.2
        surge = blade * np.tan(np.radians(angle)) * sign
        found = loads(vehicle, 1500 + 400 * sign, surge)
        pressure = 0.5 * DENSITY * (surge**2 + blade**2) * np.pi / 4 * 0.2**2
        assert found.thrust[0] == pytest.approx(pressure * thrust, rel=1e-9)
        assert found.wrench[3] == pytest.approx(pressure * 0.2 * torque, rel=1e-9)
    # A locked propeller is a drag; power is never fed back.
    locked = loads(vehicle, 1500, 2.0)
    assert locked.thrust[0] == pytest.approx(-0.9 * 0.5 * DENSITY * 4 * np.pi / 4 * 0.04)
    assert locked.power[0] == 0.0


def test_open_water_astern_and_beyond_its_rows():
    vehicle = with_propeller(
        '<propeller max_speed="1200" astern_speed="600" astern="0.7">'
        '<open_water>0 0.4 0.06  0.5 0.2 0.03  0.8 0.05 0.015</open_water></propeller>'
    )
    scale = DENSITY * 400 * 0.2**4
    ahead = [loads(vehicle, 1900, j * 4.0).thrust[0] / scale for j in (0.0, 0.25, 0.8, 1.0, -0.3)]
    assert ahead == pytest.approx([0.4, 0.3, 0.05, -0.05, 0.4], abs=1e-3)
    astern = loads(vehicle, 1100)
    assert astern.rotor_speed[0] == pytest.approx(-2 * np.pi * 10)
    assert astern.thrust[0] == pytest.approx(-0.7 * 0.4 * scale / 4)
    assert astern.wrench[3] == pytest.approx(-0.7 * 0.06 * scale / 4 * 0.2)
    assert loads(vehicle, 1500, 3.0).thrust[0] == pytest.approx(0.0, abs=1e-12)  # it idles


def test_compiled_and_numpy_agree():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = with_propeller(f'<propeller max_speed="1200" wake="0.1">{B_SERIES}</propeller>')
    scenario = parse_scenario(
        'duration: 4.0\ninitial: {position: [0, 0, -5]}\nsegments:\n'
        '  - {at: 0, pwm: [1800]}\n  - {at: 2, pwm: [1200]}\n',
        'ahead and astern',
    )
    expected = simulate(vehicle, scenario, dt=0.02)
    found, _ = simulate_compiled(vehicle, scenario, dt=0.02)
    for name in ('position', 'velocity', 'thrust', 'wrench'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=1e-9
        )
    assert np.ptp(expected.thrust) > 10.0


@pytest.mark.parametrize(
    ('propeller', 'words'),
    [
        ('<propeller max_speed="900"/>', 'expected one of <wageningen>'),
        (f'<propeller max_speed="900">{B_SERIES}</propeller>{LINEAR}', 'expected one of: a curve'),
        (f'<propeller>{B_SERIES}</propeller>', 'max_speed'),
        (
            '<propeller max_speed="900"><open_water>0 0.4 0.1  0.5 0.2</open_water></propeller>',
            'rows of three',
        ),
        (
            '<propeller max_speed="900"><open_water>0.1 0.4 0.1 0.5 0.2 0.1</open_water>'
            '</propeller>',
            'begins at J = 0.1',
        ),
        (
            '<propeller max_speed="900"><four_quadrant>-90 -1 -1 0 1 1 90 -1 -1</four_quadrant>'
            '</propeller>',
            'from -180 to 180',
        ),
    ],
)
def test_what_is_refused(propeller, words):
    with pytest.raises(ModelError, match=words):
        with_propeller(propeller)
