# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Logs of ArduSub, dataflash and telemetry, are bags; the tests write them."""

import json
import struct

import numpy as np
import pytest
from bags import analyze
from conftest import marine_sim
from dataflash import KNOWN, Dataflash, check_drag, identified, in_their_axes, logged, telemetered
from missing import command_without

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.bags.reading import read_bag
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.tools.main import main

pytestmark = pytest.mark.long

PULSES = (1400, 1500, 1600, 0, 1700, 0, 0, 0)
YAW = 90.0
"""deg, east: our x axis of map."""


def dataflash(path, *, functions=(), seconds=4.0, core=0):
    """Write a log: the vehicle goes east at 1 m/s, 5 m deep, bow down by 10 deg."""
    log = Dataflash()
    for i, function in enumerate(functions):
        log.parameter(f'SERVO{i + 1}_FUNCTION', function)
    for i in range(int(10 * seconds)):
        time = 10**6 + i * 10**5
        log.add('IMU', time, 0, 0.1, 0.2, 0.3)
        log.add('IMU', time, 1, 9.0, 9.0, 9.0)
        for other in (core, core + 1):
            east = 0.1 * i + 100 * (other - core)
            angles = 0, -1000, int(100 * YAW)
            log.add('XKF1', time, other, *angles, 0.0, 1.0, 0.0, 0.0, 2.0, east, 5.0, 0, 0, 0)
        log.add('RCOU', time, *PULSES)
        log.add('BARO', time, 0, 101000.0 + i % 2, 40.0)
        log.add('BARO', time, 1, 150000.0 + 100 * i, 11.5)
    path.write_bytes(log.content)
    return path


@pytest.fixture
def bin_log(tmp_path):
    return dataflash(tmp_path / '00000001.BIN')


def channel(path, name):
    return read_bag(str(path)).vehicles['ardusub'].channels[name]


def column(path, name, label):
    from marine_sim_ros.bags.vehicle_record import ODOM_QUANTITIES

    series = channel(path, name).series
    return series.rows[:, ODOM_QUANTITIES.index(label) if name == 'odom' else label]


def test_what_the_estimator_of_a_dataflash_log_says_is_turned(bin_log):
    first = {label: column(bin_log, 'odom', label)[0] for label in (
        'x', 'y', 'z', 'roll', 'pitch', 'yaw', 'surge', 'heave', 'roll_rate', 'pitch_rate',
        'yaw_rate',
    )}  # fmt: skip
    cos, sin = np.cos(np.radians(10)), np.sin(np.radians(10))
    assert first == pytest.approx(
        {'x': 0, 'y': 2, 'z': -5, 'roll': 0, 'pitch': np.radians(10), 'yaw': 0, 'surge': cos,
         'heave': sin, 'roll_rate': 0.1, 'pitch_rate': -0.2, 'yaw_rate': -0.3},
        abs=1e-6,
    )  # fmt: skip
    assert column(bin_log, 'odom', 'x')[-1] == pytest.approx(3.9)  # of one core alone
    assert channel(bin_log, 'odom').timing.first == 10**9


def test_thrusters_of_a_log_are_the_first_outputs_with_a_pulse(bin_log):
    assert channel(bin_log, 'thrusters/pwm').series.rows[0] == pytest.approx(PULSES[:3])


def test_thrusters_of_a_log_are_those_that_its_parameters_name(tmp_path):
    path = dataflash(tmp_path / 'a.bin', functions=(34, 0, 33, 0, 35))
    rows = channel(path, 'thrusters/pwm').series.rows
    assert rows[0] == pytest.approx([1600, 1400, 1700])  # motors 1, 2, 3


def test_a_log_of_a_boat_has_its_throttle_and_modes_and_asks_for_its_vehicle(tmp_path):
    path = dataflash(tmp_path / 'boat.BIN', functions=(74, 26, 73))
    log = Dataflash()
    log.parameter('SERVO3_REVERSED', 1)
    log.add('MSG', 10**6, b'ArduRover V4.5.0')
    log.add('MODE', 2 * 10**6, 3, 3, 1)
    path.write_bytes(path.read_bytes() + log.content)
    assert channel(path, 'thrusters/pwm').series.rows[0] == pytest.approx([1400, 1400])
    modes = [event.text for event in read_bag(str(path)).events if event.kind == 'mode']
    assert modes == ['STEERING']  # of ArduSub it would be mode 3
    code, said = marine_sim('identify', path, '--vehicle', 'bluerov2')
    assert code == 2
    assert 'the throttle of a boat' in said
    assert said.splitlines()[-1] == (
        'ERROR: thrusters/pwm has 2 channels; expected one for each of 6 thrusters: choose the '
        'vehicle that was recorded'
    )


def test_the_barometer_of_a_log_is_the_one_in_the_water(bin_log):
    assert column(bin_log, 'barometer/pressure', 0)[[0, -1]] == pytest.approx([150000, 153900])
    assert column(bin_log, 'barometer/temperature', 0)[0] == 11.5


def telemetry(path, *, position=True, boots=1):
    """Write a log with MAVLink of a vehicle, and of a ground station."""
    from pymavlink.dialects.v20 import ardupilotmega as mavlink

    vehicle = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
    ground = mavlink.MAVLink(None, srcSystem=255)
    content = b''
    for boot in range(boots):
        for i in range(40):
            unix = 1_700_000_000_000_000 + boot * 10_000_000 + i * 100_000
            boot_ms = 1000 + i * 100
            messages = [
                (vehicle, vehicle.attitude_encode(boot_ms, 0.0, -0.1, np.pi / 2, 0.1, 0.2, 0.3)),
                (vehicle, vehicle.global_position_int_encode(
                    boot_ms, 0, 0, 0, -5000, 0, 0, 0, 9000)),
                (vehicle, vehicle.servo_output_raw_encode(
                    boot_ms * 1000, 0, 1600, 1500, 1400, 0, 0, 0, 0, 0)),
                (vehicle, vehicle.scaled_pressure2_encode(boot_ms, 1500.0 + i, 0.0, 1150)),
                (ground, ground.attitude_encode(boot_ms, 3.0, 3.0, 3.0, 0, 0, 0)),
            ]  # fmt: skip
            if position:
                messages.append((vehicle, vehicle.local_position_ned_encode(
                    boot_ms, 2.0, 0.1 * i, 5.0, 0.0, 1.0, 0.0)))  # fmt: skip
            for sender, message in messages:
                content += struct.pack('>Q', unix) + message.pack(sender)
    path.write_bytes(content)
    return path


def test_a_telemetry_log(tmp_path):
    path = telemetry(tmp_path / 'dive.tlog')
    assert column(path, 'odom', 'x')[[0, -1]] == pytest.approx([0, 3.9])
    assert column(path, 'odom', 'z')[0] == -5
    assert column(path, 'odom', 'yaw')[0] == pytest.approx(0, abs=1e-6)
    assert column(path, 'odom', 'pitch')[0] == pytest.approx(0.1)
    assert column(path, 'odom', 'surge')[0] == pytest.approx(np.cos(0.1))
    assert channel(path, 'thrusters/pwm').series.rows[0] == pytest.approx([1600, 1500, 1400])
    assert column(path, 'barometer/pressure', 0)[[0, -1]] == pytest.approx([150000, 153900])
    assert column(path, 'barometer/temperature', 0)[0] == 11.5


def test_a_telemetry_log_without_a_position_has_attitude_and_depth(tmp_path):
    path = telemetry(tmp_path / 'dive.tlog', position=False)
    assert np.all(np.isnan(column(path, 'odom', 'x')))
    assert column(path, 'odom', 'z')[1] == -5
    assert column(path, 'odom', 'yaw_rate')[0] == pytest.approx(-0.3)


def test_an_autopilot_that_started_again_is_said(tmp_path, capsys):
    path = telemetry(tmp_path / 'dive.tlog', boots=2)
    assert channel(path, 'odom').timing.backwards == 1
    assert analyze(path, '-o', tmp_path / 'report') == 0
    assert 'dive: its clock started 2 times' in capsys.readouterr().out
    told = json.loads((tmp_path / 'report' / 'metrics.json').read_text())
    assert [bag['label'] for bag in told['bags']] == ['dive_part_1', 'dive_part_2']


def test_a_report_on_a_log(bin_log, tmp_path):
    assert analyze(bin_log, '-o', tmp_path / 'report') == 0
    assert (tmp_path / 'report' / 'report.html').is_file()


def test_a_report_has_battery_modes_messages_errors_and_sticks(tmp_path, capsys):
    path = dataflash(tmp_path / 'pilot.BIN')
    log = Dataflash()
    for i in range(40):
        time = 10**6 + i * 10**5
        log.add('BAT', time, 0, 16.0 - 0.01 * i, 5.0)
        log.add('BAT', time, 1, 3.0, 0.0)
        log.add('RCIN', time, *[1500 + i] * 6, 0, 65535)
    log.add('MODE', 2 * 10**6, 19, 19, 1)
    log.add('MODE', 3 * 10**6, 99, 99, 1)
    log.add('MSG', 2 * 10**6, b'ArduSub <b>4.5</b>')
    log.add('ERR', 3 * 10**6, 27, 1)
    log.add('ERR', 3 * 10**6, 200, 0)
    log.add('EV', 3 * 10**6, 163)
    path.write_bytes(path.read_bytes() + log.content)
    assert analyze(path, '-o', tmp_path / 'report') == 0
    assert 'the log has no battery' not in capsys.readouterr().out
    html = (tmp_path / 'report' / 'report.html').read_text()
    assert 'ArduSub &lt;b&gt;4.5&lt;/b&gt;' in html
    assert 'Battery and sticks' in html
    told = json.loads((tmp_path / 'report' / 'metrics.json').read_text())['bags'][0]
    assert [(e['kind'], e['text']) for e in told['events']] == [
        ('mode', 'MANUAL'), ('mode', 'mode 99'), ('message', 'ArduSub <b>4.5</b>'),
        ('error', 'leak failsafe: error 1'), ('error', 'subsystem 200: resolved'),
        ('event', 'surfaced'),
    ]  # fmt: skip
    assert column(path, 'autopilot/battery', 0)[[0, -1]] == pytest.approx([16.0, 15.61])
    assert column(path, 'autopilot/sticks', 5)[-1] == 1539
    assert np.isnan(channel(path, 'autopilot/sticks').series.rows[:, 6:]).all()


def test_a_log_is_replayed_and_one_report_has_both(tmp_path):
    path = dataflash(tmp_path / 'sea.BIN', functions=tuple(range(33, 39)))
    again = tmp_path / 'again'
    code, said = marine_sim(
        'simulate', 'bluerov2', '--replay', path, '--record', again, '--dt', '0.02'
    )
    assert code == 0, said
    side_by_side = said.partition('side by side: marine_sim ')[2].split()
    assert analyze(*side_by_side[1:]) == 0
    told = json.loads((tmp_path / 'again_report' / 'metrics.json').read_text())
    (compared,) = told['comparisons']
    assert compared['aligned_by'] == 'start'  # the replay begins where the log does
    assert {'z', 'yaw', 'surge', 'thrusters/pwm 1'} <= set(compared['differences'])


def test_what_a_report_of_a_log_without_places_has(tmp_path):
    log = Dataflash()
    for i in range(40):
        log.add('ATT', 10**6 + i * 10**5, 0, 0, 35000 + 100 * i if i < 10 else 100 * (i - 10), 3)
    path = tmp_path / 'turn.BIN'
    path.write_bytes(log.content)
    assert analyze(path, '-o', tmp_path / 'report') == 0
    told = json.loads((tmp_path / 'report' / 'metrics.json').read_text())
    motion = told['bags'][0]['vehicles']['ardusub']['motion']
    assert motion['distance_m'] is motion['mean_speed_m_s'] is None
    assert motion['turned_deg'] == pytest.approx(39, abs=0.1)


@pytest.mark.parametrize('name', ['x.BIN', 'x.tlog'])
def test_a_log_without_a_vehicle_is_one_line(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b'nothing of a vehicle' * 50)
    with pytest.raises(MarineSimError) as found:
        read_bag(str(path))
    assert name in str(found.value)
    assert '\n' not in str(found.value)


def test_a_log_that_is_cut_off_is_read_to_its_end(bin_log):
    bin_log.write_bytes(bin_log.read_bytes()[:-301])
    assert 30 < channel(bin_log, 'odom').count < 40


def test_a_damaged_log_says_nothing_for_every_byte(bin_log, capfd):
    content = bin_log.read_bytes()
    bin_log.write_bytes(content[:4000] + b'\x11' * 500 + content[4200:])
    assert 30 < channel(bin_log, 'odom').count < 40
    assert capfd.readouterr() == ('', '')


@pytest.mark.parametrize('value', ['3.4.5', '1e+', '1-1'])
def test_a_parameter_beside_a_log_that_is_no_number_is_one_line(bin_log, value):
    beside = bin_log.with_suffix('.param')
    beside.write_text(f'# of the vehicle\nMOT_1_DIRECTION {value}\n')
    with pytest.raises(MarineSimError) as found:
        read_bag(str(bin_log))
    assert str(found.value) == (
        f"{beside}:2: MOT_1_DIRECTION is '{value}'; expected a number: correct it, or move the "
        'file away from the log'
    )


def test_a_log_without_pymavlink_says_what_to_install(bin_log, tmp_path):
    found = command_without(['pymavlink'], 'analyze', str(bin_log), '-o', str(tmp_path / 'out'))
    assert found.returncode == 2
    assert 'pip install pymavlink' in found.stderr


# --- what an estimator knows, and what a log does not have -----------------------------------


def notes(path):
    return read_bag(str(path)).notes


def test_the_estimator_that_flew_is_taken_and_its_primary_core(tmp_path):
    log = Dataflash()
    for i in range(20):
        time, still = 10**6 + i * 10**5, (0, 0, 9000)
        for kind in ('NKF1', 'XKF1'):
            for core in (0, 1):
                speed = 1.0 if (kind, core) == ('XKF1', 1) else 7.0
                more = (0, 0, 0) if kind == 'XKF1' else ()
                log.add(kind, time, core, *still, 0.0, speed, *[0.0] * 5, *more)
        log.add('XKF4', time, 0, KNOWN, 1)
        log.add('XKF4', time, 1, KNOWN, 1)
        log.add('ATT', time, *still, 3)
    path = tmp_path / 'two.BIN'
    path.write_bytes(log.content)
    assert column(path, 'odom', 'surge') == pytest.approx(1.0)
    assert 'XKF1, core 1' in notes(path)[0]


def test_velocities_that_the_estimator_does_not_know_are_left_out(tmp_path):
    log = Dataflash()
    for i in range(40):
        time = 10**6 + i * 10**5
        log.add('XKF1', time, 0, 0, 0, 9000, 0.0, 1.0, *[0.0] * 4, 4.0, 0, 0, 0)
        log.add('XKF4', time, 0, KNOWN if i < 30 else 0b10100101, 0)  # a constant position
    path = tmp_path / 'lost.BIN'
    path.write_bytes(log.content)
    assert np.isnan(column(path, 'odom', 'surge')).tolist() == [False] * 30 + [True] * 10
    assert np.isnan(column(path, 'odom', 'x'))[[0, -1]].tolist() == [False, True]
    assert column(path, 'odom', 'z') == pytest.approx(-4.0)
    assert any('25 % of the log' in note for note in notes(path))


def test_a_log_without_an_estimator_has_attitude_and_height(tmp_path):
    log = Dataflash()
    for i in range(20):
        log.add('CTUN', 10**6 + i * 10**5, -3.0)
        log.add('ATT', 10**6 + i * 10**5, 500, 0, 0, 0)
    path = tmp_path / 'plain.BIN'
    path.write_bytes(log.content)
    assert column(path, 'odom', 'z') == pytest.approx(-3.0)
    assert column(path, 'odom', 'roll') == pytest.approx(np.radians(5))
    assert column(path, 'odom', 'yaw') == pytest.approx(np.pi / 2)  # north
    assert 'has no velocity' in notes(path)[0]
    assert 'no gyroscope' in notes(path)[1]


@pytest.mark.parametrize(
    'text',
    ['MOT_1_DIRECTION -1\nMOT_2_DIRECTION 1\n', '1\t1\tMOT_1_DIRECTION\t-1.000\t6\n',
     '# saved\nMOT_1_DIRECTION,-1\n'],
)  # fmt: skip
def test_a_parameter_file_beside_a_log_tells_what_it_does_not(bin_log, text):
    assert any('no MOT_n_DIRECTION' in note for note in notes(bin_log))
    bin_log.with_suffix('.param').write_text(text)
    assert channel(bin_log, 'thrusters/pwm').series.rows[0] == pytest.approx([1600, 1500, 1600])
    assert any('those of 00000001.param' in note for note in notes(bin_log))


# --- identify ------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def excited():
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    return vehicle, simulate(vehicle, load_scenario('excitation'), dt=0.005)


@pytest.mark.parametrize('directions', [(), (-1, 1, 1, -1, 1, -1)])
def test_identify_gives_the_drag_of_a_simulated_log_back(tmp_path, excited, capsys, directions):
    vehicle, run = excited
    path = logged(tmp_path / '00000007.BIN', run, directions=directions)
    values, said = identified(capsys, path, 'coefficients:=wu2018')
    check_drag(vehicle, run.velocity, values, 0.05)
    assert 'XKF1, core 0' in said
    assert ('motors 1, 4, 6 have the direction -1' in said) == bool(directions)


def test_identify_gives_the_drag_of_a_simulated_telemetry_log_back(tmp_path, excited, capsys):
    vehicle, run = excited
    values, said = identified(
        capsys, telemetered(tmp_path / 'dive.tlog', run), 'coefficients:=wu2018'
    )
    check_drag(vehicle, run.velocity, values, 0.1)
    assert 'no status of the estimator' in said


def test_identify_says_that_a_log_has_no_velocity(tmp_path, excited, capsys):
    path = logged(tmp_path / 'lost.BIN', excited[1], status=0b10100101)
    values, said = identified(capsys, path, 'coefficients:=wu2018')
    assert 'does not know its horizontal velocity in 100 %' in said
    assert values['added_mass', 'surge'] is None


LOST = 0b10100101
"""Status of an estimator without a source of horizontal velocity."""


def without_velocity(path, run, generator):
    """Write a log without an estimator: attitude at 20 Hz, height at 10 Hz, no gyroscopes."""
    log = Dataflash()
    for i in range(6):
        log.parameter(f'SERVO{i + 1}_FUNCTION', 33 + i)
    step = run.time[1] - run.time[0]
    for i in range(0, len(run.time), round(0.05 / step)):
        time = 5_000_000 + round(run.time[i] * 1e6) + int(generator.integers(0, 8000))
        place, _, _, angles = in_their_axes(run, i)
        if i % round(0.1 / step) == 0:
            log.add('CTUN', time, float(-place[2] + generator.normal(0, 0.002)))
            log.add('RCOU', time, *np.round(run.pwm[i]).astype(int), 0, 0)
        log.add('ATT', time, *(round(100 * a) for a in angles), 3)
    path.write_bytes(log.content)
    return path


@pytest.mark.parametrize('noisy', [False, True])
def test_a_log_without_a_doppler_log_gives_heave_and_yaw_back(tmp_path, excited, capsys, noisy):
    vehicle, run = excited
    generator = np.random.default_rng(4) if noisy else None
    path = logged(tmp_path / 'lost.BIN', run, status=LOST, generator=generator)
    values, _ = identified(capsys, path, 'coefficients:=wu2018')
    check_drag(vehicle, run.velocity, values, 0.08 if noisy else 0.05, ('heave', 'roll', 'yaw'))
    assert values['added_mass', 'heave'] == pytest.approx(vehicle.added_mass[2, 2], rel=0.05)
    if not noisy:
        assert values['volume', None] == pytest.approx(vehicle.buoyancy.volume, rel=0.002)
    assert all(values[kind, 'sway'] is None for kind in ('added_mass', 'quadratic_damping'))


def test_attitude_and_height_alone_give_heave_and_yaw_back(tmp_path, excited, capsys):
    vehicle, run = excited
    path = without_velocity(tmp_path / 'plain.BIN', run, np.random.default_rng(5))
    values, _ = identified(capsys, path, 'coefficients:=wu2018')
    check_drag(vehicle, run.velocity, values, 0.15, ('heave', 'yaw'))


def test_a_wrong_description_is_contradicted(tmp_path, excited, capsys):
    path = logged(tmp_path / 'lost.BIN', excited[1], status=LOST)
    with pytest.raises(SystemExit) as ended:
        main(['identify', str(path), '--vehicle', 'bluerov2', '--set', 'coefficients:=wu2018',
              '--water-density', '1027'])  # fmt: skip
    assert ended.value.code == 0
    said = [line for line in capsys.readouterr().out.splitlines() if 'contradicts' in line]
    assert said[0].startswith('doubtful: volume: 0.0113')
    assert 'which has 0.0117' in said[0]
    assert len(said) == 1
