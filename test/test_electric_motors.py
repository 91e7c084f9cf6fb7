# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motors of propellers against their differential equations and a measured thruster."""

import numpy as np
import pytest
from graph import run_everywhere
from scipy.integrate import solve_ivp
from test_open_water import B_SERIES, DEEP, DENSITY, STILL, with_propeller
from test_thrusters import T200

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.state import State
from marine_sim_ros.faults.devices import faulty_thrusters, propulsion_at_rest
from marine_sim_ros.model.propellers import wageningen_coefficients
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

DIAMETER, SPEED = 0.2, 2 * np.pi * 20.0
K, R, IDLE, INERTIA = 0.2, 0.3, 0.5, 0.004
MOTOR = f'torque_constant="{K}" resistance="{R}" idle_current="{IDLE}" inertia="{INERTIA}"'
FACTOR = 8 / (np.pi * (0.7 * np.pi) ** 2)
"""Of C_T* over K_T, and of C_Q* over K_Q, at zero advance."""


def motor_vehicle(attributes, propeller='max_speed="1200"', coefficients=B_SERIES):
    return with_propeller(
        f'<propeller {propeller}>{coefficients}<motor {MOTOR} {attributes}/></propeller>', DIAMETER
    )


def steps(vehicle, pulses, dt, surge=0.0):
    """Return the outputs at pulse widths that each hold for dt."""
    state = State(DEEP.position, DEEP.orientation, np.array([surge, 0, 0, 0, 0, 0]))
    memory, outputs = propulsion_at_rest(vehicle, state.velocity), []
    for pulse in pulses:
        output, memory = faulty_thrusters(
            vehicle, state, STILL, memory, None, pwm=np.array([float(pulse)]), dt=dt, period=dt
        )
        outputs.append(output)
    return outputs


def speeds(outputs):
    return np.array([float(o.rotor_speed[0]) for o in outputs])


def bollard_load():
    torque = wageningen_coefficients(np.zeros(1), blades=4, pitch_ratio=1.0, area_ratio=0.7)[1]
    return float(torque[0]) * DENSITY * DIAMETER**5 / (2 * np.pi) ** 2


@pytest.mark.parametrize(
    ('control', 'limits', 'top'),
    [
        ('voltage', 'voltage="48"', 48.0),
        ('voltage', 'voltage="48" max_current="20"', 48.0),
        ('speed', 'voltage="48" max_current="30"', None),
        ('speed', 'voltage="30" max_current="1000"', None),
    ],
)
def test_a_step_is_the_solution_of_the_differential_equation(control, limits, top):
    vehicle = motor_vehicle(f'control="{control}" {limits}', 'max_speed="1200" dead_zone="20"')
    numbers = dict(part.split('=') for part in limits.replace('"', '').split())
    supply, most = float(numbers['voltage']), float(numbers.get('max_current', 'inf'))
    load = bollard_load()

    lag = float(vehicle.thrusters.time_constant[0])
    target = min(SPEED, vehicle.thrusters.propellers.motors.max_speed(load)[0])

    def rate(_, omega):
        speed = float(omega[0])
        current = np.clip(((top or supply) - K * speed) / R, -most, most)
        driven = (K * current - load * speed * abs(speed) - K * IDLE) / INERTIA
        return [driven if control == 'voltage' else min(driven, (target - speed) / lag)]

    dt, count = 0.002, 300
    found = speeds(steps(vehicle, [1900] * count, dt))
    times = dt * np.arange(1, count + 1)
    exact = solve_ivp(rate, (0, times[-1]), [0.0], t_eval=times, rtol=1e-9, atol=1e-9).y[0]
    assert np.max(np.abs(found - exact)) < 2e-3 * exact[-1]
    assert found[2] < 0.5 * exact[-1]  # it takes time


def test_a_long_tick_ends_where_short_ones_do():
    vehicle = motor_vehicle('control="voltage" voltage="48" max_current="40"')
    pulses = np.repeat([1900, 1300, 1700], 50)
    coarse = speeds(steps(vehicle, pulses, 0.02))
    fine = speeds(steps(vehicle, np.repeat(pulses, 20), 0.001))[19::20]
    # It settles within half a second; 0.02 s is four time constants of the motor.
    np.testing.assert_allclose(coarse[[49, 99, 149]], fine[[49, 99, 149]], rtol=1e-6)
    assert np.max(np.abs(coarse - fine)) < 0.05 * np.ptp(fine)


def test_with_power_to_spare_the_speed_follows_its_lag():
    vehicle = motor_vehicle('voltage="500" max_current="1e5"')
    lag = float(vehicle.thrusters.time_constant[0])
    found = speeds(steps(vehicle, [1900] * 40, 0.01))
    expected = SPEED * (1 - np.exp(-0.01 * np.arange(1, 41) / lag))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_torque_and_current_accelerate_the_rotor_too():
    """Power is I (R I + k ω), and the hull takes the torque of water and rotor."""
    vehicle = motor_vehicle('control="voltage" voltage="48"')
    dt = 1e-4
    first, second = steps(vehicle, [1900, 1900], dt)
    acceleration = float(second.rotor_speed[0] - first.rotor_speed[0]) / dt
    torque = bollard_load() * float(second.rotor_speed[0]) ** 2 + INERTIA * acceleration
    assert second.wrench[3] == pytest.approx(torque, rel=1e-6)  # it turns against its axis
    current = torque / K + IDLE
    speed = float(second.rotor_speed[0])
    assert second.power[0] == pytest.approx(current * (R * current + K * speed), rel=1e-6)


def test_friction_holds_the_rotor_and_stops_it():
    """Below R I₀ nothing turns; switched off, a rotor with friction comes to rest."""
    vehicle = motor_vehicle('control="voltage" voltage="48"')
    pulse = 1500 + 400 * R * IDLE / 48
    assert speeds(steps(vehicle, [pulse - 0.5] * 20, 0.02))[-1] == 0.0
    assert speeds(steps(vehicle, [pulse + 1.0] * 200, 0.02))[-1] > 0.1
    assert abs(speeds(steps(vehicle, [1900] * 20 + [1500] * 300, 0.02))[-1]) < 1e-6


def test_a_winding_warms_up_and_the_current_folds_back():
    thermal = 'thermal_resistance="0.5" thermal_time_constant="20"'
    vehicle = motor_vehicle(f'control="voltage" voltage="48" {thermal}')
    outputs = steps(vehicle, [1900] * 2000, 0.1)
    last = outputs[-1]
    resistance = R * (1 + 0.00393 * float(last.rise[0]))
    speed = float(last.rotor_speed[0])
    current = (48.0 - K * speed) / resistance
    assert current == pytest.approx(bollard_load() * speed**2 / K + IDLE, rel=1e-6)
    assert last.rise[0] == pytest.approx(0.5 * resistance * current**2, rel=1e-3)
    cool = motor_vehicle(
        'control="voltage" voltage="48" thermal_resistance="0.01" thermal_time_constant="20"'
    )
    early, *_, late = steps(cool, [1900] * 203, 0.1)[2:]  # the rotor turns; resistance as cold
    heat = 0.01 * R * (bollard_load() * float(early.rotor_speed[0]) ** 2 / K + IDLE) ** 2
    gained = float(late.rise[0] - early.rise[0])
    assert gained == pytest.approx((heat - early.rise[0]) * (1 - np.exp(-20.0 / 20)), rel=0.01)
    limited = motor_vehicle(f'control="voltage" voltage="48" {thermal} max_rise="60"')
    held = steps(limited, [1900] * 2000, 0.02)[-1]
    assert 50.0 < held.rise[0] < 60.0 < last.rise[0]
    assert held.rotor_speed[0] < speed


# A thruster of 0.1151 m, identified from steps in a tank (NGS-Exploration-Technology,
# ROV-Thruster-Model, thruster_config.m of 2019-05-03, commit fc92fa4): dn/dt = −k_n n − k_q c_Q n²
# + k_v (u − d_v) and T = c_T n², in rad/s, V and N.
N_RATE, Q_RATE, V_RATE, DEAD = 13.663760795521869, 1855.0677314110758, 737.15638893221967, 0.86
LOAD, THRUST, WATER = 2.8042064743470575e-6, 0.00097348479927897085, 1027.0
# Its recording 2statep3V.csv (commit b0bed47), 1 kHz, from its row 4300: the voltage rises from
# 0.86 to 3 V in 1.6 s. Speeds from the tachometer, 49.9723 rad/s per V, means of ten samples or
# more; the thrust is the mean of 0.12 s at the end.
MEASURED = [(0.424, 24.7), (1.210, 82.8), (3.720, 109.9)]
MEASURED_THRUST = 12.1


def identified_thruster():
    k = N_RATE / V_RATE
    inertia = 1 / Q_RATE
    resistance = k / (inertia * V_RATE)
    scale = DENSITY * 0.1151**4 / (2 * np.pi) ** 2
    rows = f'0 {THRUST / scale} {LOAD / scale / 0.1151} 1 0 0'
    return with_propeller(
        f'<propeller><open_water>{rows}</open_water><motor torque_constant="{k}" '
        f'resistance="{resistance}" idle_current="{DEAD / resistance}" inertia="{inertia}" '
        'control="voltage" voltage="5"/></propeller>',
        0.1151,
    )


def test_the_transient_is_that_of_a_measured_thruster():
    vehicle = identified_thruster()
    dt, count = 0.001, 4000
    volts = np.minimum(DEAD + (3.0 - DEAD) * dt * np.arange(count) / 1.6, 3.0)
    outputs = steps(vehicle, 1500 + 400 * volts / 5.0, dt)
    found = speeds(outputs)
    model, n = [], 0.0
    for u in volts:  # the source's own steps
        n += dt * (-N_RATE * n - Q_RATE * LOAD * n * n + V_RATE * (u - DEAD))
        model.append(n)
    # The thrust by pulse width is a line between 17 points: most at the first volt.
    assert np.max(np.abs(found - model)) < 0.025 * model[-1]
    assert np.max(np.abs(found - model)[1000:]) < 0.003 * model[-1]
    for time, speed in MEASURED:
        assert found[round(time / dt) - 1] == pytest.approx(speed, abs=3.5)
    assert found[-1] == pytest.approx(MEASURED[-1][1], rel=0.02)
    assert outputs[-1].thrust[0] == pytest.approx(MEASURED_THRUST, rel=0.03)


def test_a_t200_is_a_motor_with_a_voltage():
    """Speed, thrust and power of the maker's table at 16 V from four numbers and the voltage."""
    thrust, torque, astern = 0.4414 * FACTOR, 0.0348 * FACTOR, 0.794
    table = (
        f'-180 {-astern * thrust} {-torque} -90 0 0 0 {thrust} {torque} 90 0 0 '
        f'180 {-astern * thrust} {-torque}'
    )
    vehicle = with_propeller(
        f'<propeller dead_zone="28"><four_quadrant>{table}</four_quadrant><motor '
        'torque_constant="0.01237" resistance="0.4786" inertia="1e-5" control="voltage" '
        'voltage="16"/></propeller>',
        0.076,
    )
    for pwm, newtons, watts, rpm in T200:
        last = steps(vehicle, [pwm] * 100, 0.02)[-1]
        # Beside the dead zone, below 1 N, the table turns faster than the voltage tells.
        error = 0.06 if 0 < abs(newtons) < 1 else 0.025
        assert abs(last.rotor_speed[0]) * 30 / np.pi == pytest.approx(rpm, abs=error * 3533)
        assert last.thrust[0] == pytest.approx(newtons, abs=0.04 * 51.5)
        assert last.power[0] == pytest.approx(watts, abs=0.02 * 388.8)


def scenario():
    return parse_scenario(
        'duration: 4.0\ninitial: {position: [0, 0, -5]}\nsegments:\n'
        '  - {at: 0, pwm: [1800]}\n  - {at: 2, pwm: [1200]}\n',
        'ahead and astern',
    )


THERMAL = 'control="voltage" voltage="48" max_current="40" thermal_resistance="0.5"'


def test_compiled_and_numpy_agree():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = motor_vehicle(THERMAL)
    expected = simulate(vehicle, scenario(), dt=0.02)
    found, _ = simulate_compiled(vehicle, scenario(), dt=0.02)
    for name in ('position', 'velocity', 'thrust', 'wrench'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=1e-9
        )
    assert np.ptp(expected.thrust) > 10.0


def test_a_weak_battery_slows_a_motor_with_a_voltage():
    from marine_sim_ros.physics.thrusters import thrusters

    vehicle = motor_vehicle('control="voltage" voltage="48"')
    memory = np.zeros(1)
    for _ in range(100):
        output, memory = thrusters(
            vehicle, DEEP, STILL, memory, pwm=np.array([1900.0]), dt=0.02, supply=np.array(0.5)
        )
    speed = float(output.rotor_speed[0])
    assert R * (bollard_load() * speed**2 / K + IDLE) + K * speed == pytest.approx(24.0, rel=1e-6)


@pytest.mark.ros
def test_a_run_has_one_hash_in_processes_composed_and_simulated(processes, tmp_path):
    path = tmp_path / 'motor.urdf'
    path.write_text(motor_vehicle(THERMAL).urdf)
    run_everywhere(
        processes, tmp_path, str(path), '--scenario', 'figure_of_eight', '--duration', 2,
        '--dt', 0.02,
    )  # fmt: skip


@pytest.mark.parametrize(
    ('attributes', 'propeller', 'words'),
    [
        ('control="voltage"', 'max_speed="900"', 'no voltage; expected it'),
        ('control="voltage" voltage="12" inertia="0"', 'max_speed="900"', 'no inertia'),
        ('max_rise="80"', 'max_speed="900"', 'no thermal_resistance'),
        ('max_rise="80" thermal_resistance="1"', 'max_speed="900"', 'neither voltage nor'),
        ('', '', 'has no max_speed'),
        ('control="torque"', 'max_speed="900"', 'speed, voltage'),
    ],
)
def test_what_is_refused(attributes, propeller, words):
    motor = MOTOR.replace(f' inertia="{INERTIA}"', '') if 'inertia' in attributes else MOTOR
    with pytest.raises(ModelError, match=words):
        with_propeller(
            f'<propeller {propeller}>{B_SERIES}<motor {motor} {attributes}/></propeller>'
        )
