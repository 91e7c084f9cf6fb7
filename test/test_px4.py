# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""PX4's simulator interface: messages, real sockets, lockstep, parameters, and PX4 itself."""

import math
import os
import shutil
import socket
import threading
import time
from contextlib import nullcontext
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip('pymavlink')

from stand_in_px4 import StandIn, altitude, free_instance, make_px4

from marine_sim_ros import load_vehicle
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.autopilot.px4 import Px4Exchange, Px4Link
from marine_sim_ros.autopilot.px4_firmware import pulse_widths, px4_settings
from marine_sim_ros.autopilot.px4_sensors import Px4Instruments, air_pressure, sensor_messages
from marine_sim_ros.control.controllability import thrust_matrix
from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.sim.simulation import Simulation

PX4 = os.environ.get('PX4') or shutil.which('px4')
FRAME = 4_000_000


@pytest.fixture(scope='module')
def water():
    return run_environment('shallow_sand')


@pytest.fixture
def link():
    warnings = []
    result = Px4Link('127.0.0.1', 0, warnings.append)
    result.warnings = warnings
    yield result
    result.close()


def connect(link):
    """Return the socket of a client that has been accepted."""
    client = socket.create_connection(('127.0.0.1', link.port))
    while not link.peer:
        link.receive(1.0)
    return client


def told(vehicle, state, environment, *, span=(0, FRAME), dvl=False, truth_period=0, stamps=()):
    """Return the messages of a frame by their types."""
    from pymavlink.dialects.v20 import common

    mav, sensed = common.MAVLink(None), Px4Instruments(vehicle)
    for stamp in (*stamps, span[1]):
        sensed.sense(stamp, state, environment)
    imu = sensed.inertial(span[1], state, np.zeros(6), environment)
    found = list(
        sensor_messages(
            mav, sensed, state, environment, imu, span[1], span, dvl=dvl, truth_period=truth_period
        )
    )
    parsed = common.MAVLink(None).parse_buffer(b''.join(m.pack(mav) for m in found))
    assert parsed[-1].get_type() == 'HIL_SENSOR'  # PX4 steps at it
    return {m.get_type(): m for m in parsed}


# Messages.


@given(st.floats(-300.0, 5000.0))
def test_the_pressure_of_an_altitude_is_what_px4_inverts(height):
    assert altitude(air_pressure(height)) == pytest.approx(height, abs=1e-6)


def test_a_vehicle_without_sensors_is_told_perfect_ones(water):
    rest = state_at_rest((30.0, 40.0, -0.5))
    state = State(rest.position, rest.orientation, np.array([2.0, 0.5, 0.1, 0, 0, 0]))
    messages = told(
        load_vehicle('wamv'), state, water, span=(99_000_000, 100_000_000), truth_period=FRAME
    )
    sensor, gps, truth = (messages[f'HIL_{n}'] for n in ('SENSOR', 'GPS', 'STATE_QUATERNION'))
    assert [sensor.xacc, sensor.yacc, sensor.zacc] == pytest.approx(
        [0, 0, -water.gravity], abs=0.03
    )
    assert [sensor.xgyro, sensor.ygyro, sensor.zgyro] == pytest.approx([0, 0, 0], abs=0.006)
    assert altitude(100.0 * sensor.abs_pressure) == pytest.approx(-0.5, abs=0.06)
    east, north, up = water.origin.magnetic_field
    # The bow faces east: forward is east, right is south.
    assert [sensor.xmag, sensor.ymag, sensor.zmag] == pytest.approx(
        [1e4 * east, -1e4 * north, -1e4 * up], abs=0.006
    )
    pymap3d = pytest.importorskip('pymap3d')
    origin = water.origin
    place = pymap3d.enu2geodetic(30.0, 40.0, -0.5, origin.latitude, origin.longitude, 0.0)
    assert [gps.lat, gps.lon, gps.alt] == pytest.approx(
        [place[0] * 1e7, place[1] * 1e7, -500], abs=2
    )
    assert [gps.vn, gps.ve, gps.vd, gps.vel] == pytest.approx([50, 200, -10, 206], abs=1)
    assert gps.cog == pytest.approx(100 * math.degrees(math.atan2(2.0, 0.5)), abs=20)
    assert gps.fix_type == 3
    w, x, y, z = truth.attitude_quaternion
    assert [w, x, y, z] == pytest.approx([math.sqrt(0.5), 0, 0, math.sqrt(0.5)], abs=1e-6)


def test_sensors_of_the_vehicle_take_the_place_of_perfect_ones(water):
    vehicle = load_vehicle('bluerov2', gps='true', dvl='true', altimeter='true')
    deep = state_at_rest((0.0, 0.0, -2.0))
    ticks = range(0, 400_000_000, 5_000_000)
    messages = told(vehicle, deep, water, span=(399_000_000, 400_000_000), stamps=ticks)
    assert 'HIL_GPS' not in messages  # no satellites under water
    assert altitude(100.0 * messages['HIL_SENSOR'].abs_pressure) == pytest.approx(-2.0, abs=0.15)
    assert messages['DISTANCE_SENSOR'].orientation == 25
    sensed = Instruments(vehicle)
    for stamp in ticks:
        sensed.sense(stamp, deep, water)
    assert messages['DISTANCE_SENSOR'].current_distance == round(100.0 * sensed.ranges()[0]) > 0
    moving = State(deep.position, deep.orientation, np.array([0.4, -0.2, 0.1, 0, 0, 0]))
    odometry = told(
        vehicle, moving, water, stamps=ticks, span=(399_000_000, 400_000_000), dvl=True
    )['ODOMETRY']
    assert [odometry.vx, odometry.vy, odometry.vz] == pytest.approx([0.4, 0.2, -0.1], abs=0.05)
    assert math.isnan(odometry.x)


# The connection.


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=400), max_size=8))
def test_garbage_ends_nothing_and_is_named(chunks):
    warnings = []
    link = Px4Link('127.0.0.1', 0, warnings.append)
    client = connect(link)
    try:
        for chunk in chunks:
            client.sendall(chunk)
        client.sendall(b'\x00' * 300)  # ends any frame that the chunks have begun
        px4 = StandIn.__new__(StandIn)
        from pymavlink.dialects.v20 import common

        px4.mav, px4.socket, px4.now = common.MAVLink(None), client, 1234
        px4.answer([0.5])
        assert link.answer_to(1234, 10.0)
        assert link.controls.controls[0] == 0.5
        assert any('no MAVLink' in w for w in warnings)
    finally:
        client.close()
        link.close()


def test_a_second_px4_is_refused_and_a_new_one_taken_after_the_first_has_gone(link):
    first = connect(link)
    peer = link.peer
    second = socket.create_connection(('127.0.0.1', link.port))
    while not link.warnings:
        link.receive(1.0)
    assert 'another PX4 is connected' in link.warnings[-1]
    assert second.recv(1) == b''
    assert link.peer == peer
    first.close()
    while link.peer:
        link.receive(1.0)
    assert 'closed' in link.warnings[-1]
    assert connect(link)
    assert link.peer != peer


def test_one_that_reads_nothing_is_disconnected(link):
    client = connect(link)
    message = link.mav.heartbeat_encode(0, 12, 0, 0, 0)
    for _ in range(1000):
        link.send([message] * 1000)
        if not link.peer:
            break
    assert not link.peer
    assert 'reads nothing' in link.warnings[-1] or 'reset' in link.warnings[-1]
    client.close()


def test_a_taken_port_is_named(link):
    with pytest.raises(ParameterError, match='expected a free port'):
        Px4Link('127.0.0.1', link.port, print)


# Lockstep.


def pilot(port, frames, *, boot=5, armed=True, answers=True, delay=0.0):
    """Run a stand-in in a thread; return its thread and what it heard: times of HIL_SENSOR."""
    heard = []

    def run():
        px4 = StandIn(port)
        for k in range(frames):
            if (frame := px4.frame()) is None:
                break
            heard.append((frame[-1].time_usec, frame[-1].zacc))
            if k >= boot and answers:
                time.sleep(delay)
                px4.answer([0.25, -2.0, math.nan], armed)
        px4.socket.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, heard


def boot(exchange, water, state, stamp=0):
    for _ in range(5000):
        if exchange.boot(stamp, state, water):
            exchange.forget()
            return
        exchange._link.receive(0.002)
    pytest.fail('it did not boot')


@pytest.mark.parametrize(('rate', 'dt', 'frames'), [(250, 20, 5), (250, 4, 1), (100, 5, 0.5)])
def test_frames_are_answered_one_by_one_and_clocks_never_go_back(link, water, rate, dt, frames):
    state = state_at_rest((0.0, 0.0, -1.0))
    exchange = Px4Exchange(link, Px4Instruments(load_vehicle('bluerov2')), rate)
    thread, heard = pilot(link.port, 10**6)
    boot(exchange, water, state)
    begun = exchange._clock
    ticks = 100
    for k in range(ticks):
        controls = exchange.tick(k * dt * 1_000_000, state, water, patience=20.0)
        assert list(controls[:3]) == [0.25, -1.0, 0.0]  # bounded, and NaN is nothing
        assert link.controls.time_usec == exchange._clock // 1000  # answered, not the one before
    assert exchange._clock - begun == pytest.approx(ticks * dt * 1e6, abs=2 * dt * 1e6)
    exchange.tick(0, state, water, patience=20.0)  # the run was reset
    link.close()
    thread.join(20.0)
    times = [time for time, _ in heard]
    assert np.all(np.diff(times) > 0)
    sent = len([t for t in times if t > begun // 1000])
    assert sent == pytest.approx(ticks * frames, abs=6)
    # One that stands still for 100 readings is a broken sensor to PX4.
    assert max(len(list(same)) for _, same in groupby(zacc for _, zacc in heard)) < 20


def test_one_that_is_not_armed_need_not_answer(link, water):
    state = state_at_rest((0.0, 0.0, -1.0))
    exchange = Px4Exchange(link, Px4Instruments(load_vehicle('wamv')), 100)
    pilot(link.port, 10**6, answers=False)
    boot(exchange, water, state)
    for k in range(5):
        assert exchange.tick(k * 10_000_000, state, water, patience=0.0) == [0.0] * 16


def test_one_that_answers_before_it_is_armed_is_waited_for(link, water):
    """A submarine's PX4 does, so that nothing depends on its pace until it is armed."""
    state = state_at_rest((0.0, 0.0, -1.0))
    exchange = Px4Exchange(link, Px4Instruments(load_vehicle('bluerov2')), 250)
    pilot(link.port, 10**6, armed=False, delay=0.03)  # longer than UNARMED_PATIENCE
    boot(exchange, water, state)
    for k in range(20):
        exchange.tick(k * FRAME, state, water, patience=20.0)
        assert link.controls.time_usec == exchange._clock // 1000


def test_one_that_answers_only_when_it_is_armed_is_waited_for_once(link, water):
    """A rover's PX4 that is disarmed holds the run up for one frame, not for each."""
    state = state_at_rest((0.0, 0.0, 0.0))
    exchange = Px4Exchange(link, Px4Instruments(load_vehicle('wamv')), 100)
    link.answer_to = lambda sent, patience: waited.append(patience) is not None
    link.receive, link.peer, waited = lambda timeout=0.0: None, 'rover', []
    link.controls = link._dialect.MAVLink_hil_actuator_controls_message(0, [0.0] * 16, 1, 1)
    for k in range(5):
        exchange.tick(k * 10_000_000, state, water, patience=20.0)
    assert [p for p in waited if p == 20.0] == [20.0]


def test_one_that_is_armed_and_silent_is_lost_and_boots_again(link, water):
    state = state_at_rest((0.0, 0.0, -1.0))
    exchange = Px4Exchange(link, Px4Instruments(load_vehicle('bluerov2')), 250)
    thread, _ = pilot(link.port, 20)
    boot(exchange, water, state)
    found = [exchange.tick(k * FRAME, state, water, patience=20.0) for k in range(30)]
    assert found[-1] is None
    thread.join(20.0)
    pilot(link.port, 10**6)
    boot(exchange, water, state, 30 * FRAME)
    assert exchange.tick(30 * FRAME, state, water, patience=20.0) is not None


# Parameters.


@pytest.mark.parametrize('name', ['bluerov2', 'bluerov2_heavy', 'simple_rov', 'torpedo_auv'])
def test_motors_of_the_parameters_push_as_the_thrusters_do(name):
    vehicle = load_vehicle(name)
    parameters = px4_settings(vehicle, instance=0).parameters
    count = int(parameters['CA_ROTOR_COUNT'])
    turn = np.diag([1.0, -1.0, -1.0])  # FRD to FLU
    arms, axes = (
        np.array(
            [[parameters[f'CA_ROTOR{k}_{letter}{axis}'] for axis in 'XYZ'] for k in range(count)]
        )
        @ turn
        for letter in 'PA'
    )
    columns = np.concatenate([axes, np.cross(arms, axes)], axis=1)
    matrix = thrust_matrix(vehicle.thrusters, vehicle.inertia.center_of_mass)
    wanted = matrix / np.linalg.norm(matrix[:3], axis=0)  # without what the hull deducts
    np.testing.assert_allclose(columns.T, wanted, atol=2e-4)


def test_the_starboard_thruster_of_a_boat_is_the_right_motor():
    vehicle = load_vehicle('wamv')
    settings_of = px4_settings(vehicle, instance=4)
    port, starboard = (vehicle.thrusters.names.index(n) + 1 for n in ('port', 'starboard'))
    assert settings_of.parameters[f'PWM_MAIN_FUNC{starboard}'] == 101
    assert settings_of.parameters[f'PWM_MAIN_FUNC{port}'] == 102
    assert 'export PX4_SYS_AUTOSTART=50000\n' in settings_of.script()


def test_without_positions_the_declination_is_told():
    parameters = px4_settings(
        load_vehicle('bluerov2'), instance=0, navigation='dvl', declination=-11.424
    ).parameters
    assert parameters['EKF2_MAG_DECL'] == -11.42
    assert (parameters['EKF2_GPS_CTRL'], parameters['EKF2_EV_CTRL']) == (0, 4)


def test_what_px4_cannot_steer_is_named():
    with pytest.raises(ParameterError, match='expected gps or dvl'):
        px4_settings(load_vehicle('bluerov2'), instance=0, navigation='usbl')
    with pytest.raises(ModelError, match='0 thrusters'):
        px4_settings(load_vehicle('float'), instance=0)
    assert pulse_widths([1.0, -1.0, 0.0, 0.5], 3) == [1900, 1100, 1500]


# PX4 itself.


class Rig:
    """PX4 on a vehicle in one process, with a pilot (pymavlink) between the ticks."""

    def __init__(self, vehicle, depth, instance):
        from pymavlink import mavutil

        from marine_sim_ros.autopilot.firmware import Firmware

        self.vehicle, self.water = load_vehicle(vehicle), run_environment('')
        start = state_at_rest((0.0, 0.0, -depth))
        self.simulation = Simulation(self.vehicle, environment=self.water, initial=start, dt=0.005)
        self.link = Px4Link('127.0.0.1', 4560 + instance, print)
        self.sensed = Px4Instruments(self.vehicle)
        self.settings = px4_settings(self.vehicle, instance=instance)
        self.exchange = Px4Exchange(self.link, self.sensed, self.settings.frame_rate)
        self.mavlink = mavutil.mavlink_connection(
            f'udpin:127.0.0.1:{14540 + min(instance, 9)}', source_system=255, dialect='common'
        )
        self.firmware, self.last = Firmware(PX4, self.settings), {}
        self.sticks = (0, 0, 500, 0)
        while not self.exchange.boot(0, self.simulation.state, self.water):
            assert not self.firmware.failure, self.firmware.failure
            self.link.receive(0.004)
        self.exchange.forget()

    def run(self, seconds):
        mav, system = self.mavlink.mav, self.settings.instance + 1
        for k in range(round(seconds / 0.005)):
            state, stamp = self.simulation.state, self.simulation.stamp
            if k % 20 == 0:
                mav.heartbeat_send(6, 8, 0, 0, 0)
                mav.manual_control_send(system, *self.sticks, 0)
            self.sensed.sense(stamp, state, self.water)
            controls = self.exchange.tick(stamp, state, self.water, patience=20.0)
            assert controls is not None, self.firmware.failure
            count = len(self.vehicle.thrusters.names)
            self.simulation.tick(np.array(pulse_widths(controls, count), float))
            while (message := self.mavlink.recv_match()) is not None:
                self.last[message.get_type()] = message

    def command(self, number, *values):
        system = self.settings.instance + 1
        values = (*values, *[0.0] * (7 - len(values)))
        self.mavlink.mav.command_long_send(system, 1, number, 0, *values)
        self.run(1.0)

    def close(self):
        self.firmware.stop()
        self.link.close()
        self.mavlink.close()


@pytest.mark.skipif(PX4 is None, reason='needs PX4, as PX4=build/px4_sitl_default/bin/px4')
@pytest.mark.parametrize(
    ('vehicle', 'depth', 'kind'), [('bluerov2_heavy', 1.0, 12), ('wamv', 0.0, 11)]
)
def test_px4_arms_drives_ahead_and_knows_where_it_is(vehicle, depth, kind):
    rig = Rig(vehicle, depth, 7)
    try:
        rig.run(15.0)
        assert rig.last['HEARTBEAT'].type == kind
        rig.command(176, 1, 1)  # manual
        rig.command(400, 1)  # arm
        assert rig.last['HEARTBEAT'].base_mode & 128
        rig.sticks = (0, 0, 1000, 0)
        rig.run(5.0)
        position = rig.simulation.state.position
        assert position[0] > 0.4
        assert abs(position[1]) < 0.1
        estimate = rig.last['LOCAL_POSITION_NED']
        assert [estimate.y, estimate.x] == pytest.approx(position[:2], abs=0.3)
        assert rig.last['ATTITUDE'].yaw == pytest.approx(math.pi / 2, abs=0.05)
    finally:
        rig.close()


# The graph.


@pytest.mark.ros
def test_a_run_with_px4_has_one_hash_whatever_the_load(processes, tmp_path):
    from graph import STEP, busy_machine, manifest, recorded

    program = make_px4(tmp_path / 'build', '--log', tmp_path / 'log')
    hashes, logs = set(), set()
    for kind, more in {'busy': ['--composed'], 'separate': []}.items():
        with busy_machine() if kind == 'busy' else nullcontext():
            process = processes.marine_sim(
                *('run', 'bluerov2', '--autopilot', 'px4', '--px4', program),
                *('--autopilot-instance', free_instance(), '--real-time-factor', 0),
                *('--duration', 3, '--dt', STEP, '--record', tmp_path / kind, *more),
            )
            output, _ = process.communicate()
        assert process.returncode == 0, output
        assert ' connected' in output
        hashes.add(manifest(tmp_path / kind)['trajectory_sha256'])
        logs.add((tmp_path / 'log').read_text())
    assert len(hashes) == 1
    depth = [-m.pose.pose.position.z for m in recorded(tmp_path / 'busy')['odom'].values()]
    assert depth[-1] > depth[0] + 0.3  # on its way to 2 m


@pytest.mark.ros
@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (['--px4', '/no/such'], 'px4 is'),
        (['--px4', 'sh'], 'expected bin/px4 in the folder of a build'),
        (['--px4', 'none', '--navigation', 'usbl'], 'expected gps or dvl'),
        (['--px4', 'none', '--ground-station', '127.0.0.1:1'], 'has no effect'),
    ],
)
def test_what_cannot_start_is_one_line(processes, words, expected):
    process = processes.marine_sim(
        'run', 'bluerov2', '--autopilot', 'px4', *words, '--duration', 1
    )
    output, _ = process.communicate()
    assert process.returncode == 2, output
    assert expected in output
    assert 'Traceback' not in output


@pytest.mark.ros
def test_a_px4_that_dies_ends_the_run_with_its_last_words(processes, tmp_path):
    program = make_px4(tmp_path / 'build', '--die-at', 100)
    process = processes.marine_sim(
        *('run', 'bluerov2', '--autopilot', 'px4', '--px4', program, '--composed'),
        *('--autopilot-instance', free_instance(), '--real-time-factor', 0, '--duration', 600),
    )
    output, _ = process.communicate()
    assert process.returncode == 1, output
    assert 'PX4 ended by itself: exit code 1: giving up' in output
