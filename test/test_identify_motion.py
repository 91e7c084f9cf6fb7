# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of a vehicle are found again in whole motions; recordings of other programs are read."""

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.control.stick_mixing import ardusub_manual_pwm, motor_factors
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import number_at
from marine_sim_ros.core.spatial import quaternion_from_rpy, quaternion_of_angles, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.identification import table_recordings
from marine_sim_ros.identification.parameters import FITS, with_values
from marine_sim_ros.identification.recording import MotionRecording, OdometryNoise, noisy_odometry
from marine_sim_ros.identification.table_recordings import COLUMN_MAPS, recording_of_table
from marine_sim_ros.physics.drag import damping
from marine_sim_ros.physics.thrusters import bollard_wrench
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.tools.main import main

FEW = """
parameters:
  - {name: surge, path: "added_mass[0,0]", unit: kg, prior: 10, deviation: 15, limits: [0, 80]}
  - {name: d, path: "damping.elements.quadratic[0:2]", prior: 20, deviation: 40, limits: [0, 99]}
  - {name: lift, path: "damping.lift.coefficients[2,2,1]", prior: 0, deviation: 30}
  - {name: deduction, path: "thrusters.thrust_deduction[4:8]", prior: 0, deviation: 0.3}
  - {name: lag, path: "thrusters.time_constant[:]", prior: 0.05, deviation: 0.1, limits: [0.01, 1]}
  - {name: delay, path: delay, unit: s, prior: 0, deviation: 0.2}
  - {name: density, path: buoyancy.height, unit: m, prior: 0.25, deviation: 0.1}
"""
LATE = 0.2


@pytest.fixture(scope='module')
def heavy():
    return load_vehicle('bluerov2_heavy', coefficients='tank2025')


@pytest.mark.long
def test_gradients_find_what_made_a_run(heavy):
    pytest.importorskip('jax')
    from marine_sim_ros.engine.availability import precision
    from marine_sim_ros.identification.motion_fit import fit_motion
    from marine_sim_ros.identification.prediction import stretches_of

    parameters = FITS.parse(FEW, 'few')
    run = simulate(heavy, load_scenario('excitation'), dt=0.01, duration=40.0)
    rows = slice(None, None, 20)
    seen = noisy_odometry(run, 3, OdometryNoise(0.01, 0.01, 0.02, 0.03))[rows]
    # Commands are stamped one sample before they act.
    sent = np.concatenate([run.pwm[rows][1:], run.pwm[-1:]])
    recording = MotionRecording('run', run.time[rows], seen[:, 3:7], seen[:, 7:13], sent)
    with precision('float64'):
        found = fit_motion(heavy, parameters, stretches_of([recording], 3.0))
    late = LATE - 0.005  # a tick takes the thrust at its end
    true = np.array(
        [late if p.paths == ('delay',) else number_at(heavy, p.paths[0]) for p in parameters]
    )
    by_name = dict(zip((p.name for p in parameters), found.reasons, strict=True))
    assert 'little more' in by_name.pop('density')
    assert not any(by_name.values())
    # Of samples 0.2 s apart, lag and delay are found within 6 ms.
    close = np.array([0.1 * 34.2, 0.1 * 61.0 / 2, 0.2 * 10.7, 0.02, 0.006, 0.006, np.inf])
    far = np.abs(found.values - true) > np.maximum(found.half, close)
    assert not far.any(), np.stack([found.values, true, found.half])
    vehicle = found.vehicle(heavy)
    assert vehicle.damping.lift.coefficients[2, 2, 1] == found.values[2]


def test_values_go_where_paths_point(heavy):
    parameters = FITS.load('bluerov2_heavy')
    theta = np.arange(len(parameters)) + 1.0
    changed = with_values(heavy, parameters, theta)
    for value, parameter in zip(theta, parameters, strict=True):
        for path in parameter.paths:
            if path != 'delay':
                assert number_at(changed, path) == value
    np.testing.assert_array_equal(
        changed.thrusters.thrust_deduction[:4], changed.thrusters.thrust_deduction[0]
    )
    assert heavy.added_mass[0, 0] != 1.0


@pytest.mark.long
def test_derivatives_by_shipped_parameters_are_those_of_differences(heavy):
    jax = pytest.importorskip('jax')
    from marine_sim_ros.engine.availability import precision

    known = ('damping', 'thrusters.thrust_deduction')
    parameters = [p for p in FITS.load('bluerov2_heavy') if p.paths[0].startswith(known)]
    still, thrust = Environment(), np.linspace(-20.0, 30.0, 8)
    moving = State(np.zeros(3), np.array([0, 0, 0, 1.0]), np.array([0.6, -0.3, 0.4, 0.5, -0.7, 1]))
    start = np.array([number_at(heavy, p.paths[0]) for p in parameters])

    def wrench(theta, xp=np):
        vehicle = with_values(heavy, parameters, theta, xp)
        state = State(*(xp.asarray(part) for part in moving))
        pushed = bollard_wrench(vehicle, state, still, xp.asarray(thrust))[0]
        return damping(vehicle, state, still) + pushed

    with precision('float64'):
        found = np.asarray(jax.jit(jax.jacfwd(lambda x: wrench(x, jax.numpy)))(start))
    step = 1e-6
    expected = [
        (wrench(start + move) - wrench(start - move)) / (2 * step)
        for move in step * np.eye(len(start))
    ]
    np.testing.assert_allclose(found, np.transpose(expected), atol=1e-6)
    assert np.abs(found).max(axis=0).min() > 0


@pytest.mark.parametrize(
    ('path', 'message'),
    [
        ('mass', 'expected one of: added_mass'),
        ('damping.lift', 'no single number'),
        ('added_mass[7,0]', 'outside of shape'),
        ('manipulator.mass', 'unknown'),
    ],
)
def test_a_path_that_leads_nowhere_is_told(heavy, path, message):
    with pytest.raises(ParameterError, match=message):
        number_at(heavy, path)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('parameters: [{name: a, path: b, prior: 2, deviation: 1, limits: [0, 1]}]', 'within'),
        ('parameters: [{name: a, path: b, prior: 2, deviation: 1, limits: [1]}]', 'lowest'),
        ('parameters: [{name: a, path: b, prior: 2}]', 'deviation'),
        ('parameters: [{name: a, path: b, prior: 2, deviation: 0}]', 'expected'),
    ],
)
def test_a_file_of_parameters_that_cannot_be_used_is_told(text, message):
    with pytest.raises(ParameterError, match=message) as error:
        FITS.parse(text, 'fit.yaml')
    assert '\n' not in str(error.value)


def test_sticks_are_mixed_as_ardusub_does(heavy):
    # Source: ArduSub, AP_Motors6DOF::setup_motors, SUB_FRAME_VECTORED_6DOF; its axes are FRD
    # with throttle up: roll, pitch, yaw, throttle, forward, lateral.
    theirs = np.array(
        [
            [0, 0, 1, 0, -1, 1],
            [0, 0, -1, 0, -1, -1],
            [0, 0, -1, 0, 1, 1],
            [0, 0, 1, 0, 1, -1],
            [1, -1, 0, -1, 0, 0],
            [-1, -1, 0, -1, 0, 0],
            [1, 1, 0, -1, 0, 0],
            [-1, 1, 0, -1, 0, 0],
        ]
    )
    in_flu = theirs[:, [4, 5, 3, 0, 1, 2]] * [1, -1, 1, 1, -1, -1]
    np.testing.assert_array_equal(motor_factors(heavy.thrusters), in_flu)
    pwm = ardusub_manual_pwm(heavy.thrusters, np.array([0.8, 0.0, 0.5, 0.0, 0.0, 0.8]))
    assert np.abs(pwm[:4] - 1500).max() == pytest.approx(400)  # scaled back together
    np.testing.assert_allclose(np.abs(pwm[4:] - 1500), 200)


MAPPING = """
time: t
time_unit: ms
frame: FRD
attitude: ["angle[0]", "angle[1]", "angle[2]"]
velocity: ["v[0]", "v[1]", "v[2]", "v[3]", "v[4]", "v[5]"]
sticks: {surge: "-stick[0]", heave: "stick[1]"}
skip: {t: 2}
"""


def test_tables_that_do_not_end_or_unpack_without_end_are_refused(heavy, tmp_path, monkeypatch):
    monkeypatch.setattr(table_recordings, 'LARGEST_TABLE', 20_000)
    columns = COLUMN_MAPS.load('saabmarine2025')
    np.savez_compressed(tmp_path / 'packed.npz', t=np.zeros(10_000))
    assert (tmp_path / 'packed.npz').stat().st_size < 1000
    (tmp_path / 'long.csv').write_text('t\n' + '0\n' * 10_001)
    (tmp_path / 'zero.csv').symlink_to('/dev/zero')
    for name in ('packed.npz', 'long.csv', 'zero.csv'):
        with pytest.raises(ParameterError, match=f'{name}: (is a device|has 0.02 MB|has 0.08)'):
            recording_of_table(tmp_path / name, columns, heavy.thrusters)


def test_an_npz_is_read_as_its_mapping_says(heavy, tmp_path):
    n = 30
    mapping = tmp_path / 'columns.yaml'
    mapping.write_text(MAPPING)
    angles = np.tile([0.1, 0.2, 0.3], (n, 1))
    np.savez(
        tmp_path / 'a.npz',
        t=np.arange(n + 2) * 200.0,
        angle=angles,
        v=np.tile(range(6), (n, 1)),
        stick=np.tile([-0.5, 0.25], (n, 1)),
    )
    recording = recording_of_table(
        tmp_path / 'a.npz', COLUMN_MAPS.load(str(mapping)), heavy.thrusters
    )
    assert len(recording) == n
    np.testing.assert_allclose(np.diff(recording.time), 0.2)
    np.testing.assert_allclose(recording.velocity[0], [0, -1, -2, 3, -4, -5])
    # Roll is the same in both frames; pitch and yaw turn the other way.
    pitch, roll = 0.2, 0.1
    up = -np.array([-np.sin(pitch), -np.sin(roll) * np.cos(pitch), -np.cos(roll) * np.cos(pitch)])
    np.testing.assert_allclose(recording.up[0], up, atol=1e-12)
    expected = ardusub_manual_pwm(heavy.thrusters, np.array([0.5, 0, -0.25, 0, 0, 0]))
    np.testing.assert_allclose(recording.pwm[0], expected)
    mapping.write_text(MAPPING.replace('time: t', 'time: q'))
    columns = COLUMN_MAPS.load(str(mapping))
    with pytest.raises(ParameterError, match="no column 'q'"):
        recording_of_table(tmp_path / 'a.npz', columns, heavy.thrusters)


def test_rows_between_stamps_commands_of_another_row_and_a_tilted_mount_are_put_right(
    heavy, tmp_path
):
    # A motion in closed form, in FRD: stamped early, tracked by tilted markers whose angles were
    # zeroed by subtraction, its commands a row late.
    n, tilt, share = 60, np.radians([6.0, -3.0]), 0.5
    stamps = np.cumsum(np.where(np.arange(n + 1) % 3 == 0, 0.1, 0.2))
    at = stamps[:-1] + share * np.diff(stamps)
    mount = rotation_matrix(quaternion_from_rpy(*tilt, 0.0))
    body = [np.sin(at) / 2, 0.8 * np.sin(0.7 * at), at / 5]
    matrices = rotation_matrix(np.asarray(quaternion_of_angles(np.array(body))).T)
    tracked = matrices @ mount
    angles = np.array(
        [
            np.arctan2(tracked[:, 2, 1], tracked[:, 2, 2]),
            -np.arcsin(tracked[:, 2, 0]),
            np.arctan2(tracked[:, 1, 0], tracked[:, 0, 0]),
        ]
    ).T - [*tilt, 0.0]
    velocity = np.array([np.cos(at), np.sin(at), at / 9, at / 7, np.cos(2 * at), np.sin(3 * at)]).T
    seen = (velocity.reshape(-1, 2, 3) @ mount).reshape(-1, 6)
    surge = 0.3 * np.sin(at)
    sent = np.column_stack([-surge, np.zeros(n)])
    np.savez(
        tmp_path / 'a.npz',
        t=np.concatenate([[0.0, 0.0], stamps * 1000]),
        angle=angles,
        v=seen,
        stick=np.concatenate([[[0.9, 0.9]], sent]),
    )
    mapping = tmp_path / 'columns.yaml'
    mapping.write_text(
        MAPPING.replace('skip: {t: 2}', 'skip: {t: 2, stick: 1}')
        + f'stamp_to_sample: {share}\ntilt: [6.0, -3.0]\n'
    )
    read = recording_of_table(tmp_path / 'a.npz', COLUMN_MAPS.load(str(mapping)), heavy.thrusters)
    flip = np.array([1.0, -1.0, -1.0])
    np.testing.assert_allclose(read.time, at - at[0], atol=1e-9)
    np.testing.assert_allclose(read.velocity, velocity * np.tile(flip, 2), atol=1e-12)
    np.testing.assert_allclose(read.up, -matrices[:, 2] * flip, atol=1e-12)
    sticks = np.outer(surge, np.eye(6)[0])
    np.testing.assert_allclose(read.pwm, ardusub_manual_pwm(heavy.thrusters, sticks), atol=1e-9)


def test_means_of_stairs_tell_when_a_command_changed(heavy, tmp_path):
    # Stamps every 0.2 s; the stick goes from 0 to 0.5 a quarter into the tenth interval.
    n = 30
    stick = np.zeros((n, 2))
    stick[9, 0], stick[10:, 0] = -0.5 * 0.75, -0.5
    np.savez(
        tmp_path / 'a.npz',
        t=np.concatenate([[0.0, 0.0], np.arange(n + 1) * 200.0]),
        angle=np.zeros((n, 3)),
        v=np.zeros((n, 6)),
        stick=stick,
    )
    mapping = tmp_path / 'columns.yaml'
    mapping.write_text(MAPPING + 'stamp_to_sample: 0.5\ncommands: means\n')
    read = recording_of_table(tmp_path / 'a.npz', COLUMN_MAPS.load(str(mapping)), heavy.thrusters)
    assert read.held
    stop, go = ardusub_manual_pwm(heavy.thrusters, np.outer([0.0, 0.5], np.eye(6)[0]))
    sent, pwm = read.sent.ravel() + 0.1, read.pwm.reshape(-1, 8)
    assert np.all(np.diff(sent) > 0)
    np.testing.assert_allclose(pwm[sent < 1.849], np.broadcast_to(stop, (19, 8)))
    (first,) = np.flatnonzero(np.diff(pwm[:, 0])) + 1
    assert sent[first] == pytest.approx(1.8 + 0.25 * 0.2)
    np.testing.assert_allclose(pwm[first:], np.broadcast_to(go, pwm[first:].shape))


@pytest.mark.long
def test_the_place_of_the_markers_is_found_and_taken_off(heavy, tmp_path):
    pytest.importorskip('jax')
    from marine_sim_ros.engine.availability import precision
    from marine_sim_ros.identification.motion_fit import fit_motion
    from marine_sim_ros.identification.prediction import stretches_of

    place = np.array([0.1, -0.05, 0.2])
    run = simulate(heavy, load_scenario('excitation'), dt=0.01, duration=40.0)
    rows = slice(None, None, 20)
    velocity = run.velocity[rows].copy()
    velocity[:, :3] += np.cross(velocity[:, 3:], place)
    recording = MotionRecording(
        'run', run.time[rows], run.orientation[rows], velocity, run.pwm[rows]
    )
    lines = ''.join(
        f'  - {{name: at {i}, path: "origin[{i}]", unit: m, prior: 0, deviation: 0.3}}\n'
        for i in range(3)
    )
    with precision('float64'):
        parameters = FITS.parse(f'parameters:\n{lines}', 'place')
        found = fit_motion(heavy, parameters, stretches_of([recording], 3.0))
    np.testing.assert_allclose(found.values, place, atol=0.005)

    # In a file's axes, forward, right and down, as the mapping says it.
    flip = np.array([1.0, -1.0, -1.0])
    np.savez(
        tmp_path / 'a.npz',
        t=np.concatenate([[0.0, 0.0], run.time[rows] * 1000]),
        angle=np.zeros((len(velocity), 3)),
        v=velocity * np.tile(flip, 2),
        stick=np.zeros((len(velocity), 2)),
    )
    mapping = tmp_path / 'columns.yaml'
    mapping.write_text(MAPPING + f'origin: {(place * flip).tolist()}\n')
    read = recording_of_table(tmp_path / 'a.npz', COLUMN_MAPS.load(str(mapping)), heavy.thrusters)
    np.testing.assert_allclose(read.velocity, run.velocity[rows], atol=1e-12)


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('tilt: [1, 2, 3]', 'has 3 numbers'),
        ('stamp_to_sample: 2', 'from 0 to 1'),
        ('origin: [1, 2]', 'has 2 numbers'),
        ('commands: sums', 'held'),
    ],
)
def test_a_mount_or_a_time_that_cannot_be_is_told(line, message):
    with pytest.raises(ParameterError, match=message):
        COLUMN_MAPS.parse(MAPPING + line, 'columns.yaml')


def test_a_csv_is_read_and_what_is_missing_is_told(heavy, tmp_path, capsys):
    names = ['t', *'xyzw', *(f'v{i}' for i in range(6)), *(f'm{i}' for i in range(8))]
    rows = [[0.1 * i, 0, 0, 0, 1, *[0.0] * 6, *[1500] * 8] for i in range(40)]
    rows[7][6] = ''
    table = '\n'.join([','.join(names), *(','.join(map(str, r)) for r in rows)])
    (tmp_path / 'a.csv').write_text(table + '\n')
    (tmp_path / 'm.yaml').write_text(
        'time: t\nframe: FLU\nattitude: [x, y, z, w]\n'
        f'velocity: [{", ".join(names[5:11])}]\npwm: [{", ".join(names[11:])}]\n'
    )
    recording = recording_of_table(
        tmp_path / 'a.csv', COLUMN_MAPS.load(str(tmp_path / 'm.yaml')), heavy.thrusters
    )
    assert len(recording) == 39
    common = [
        'identify',
        str(tmp_path / 'a.csv'),
        '--vehicle',
        'bluerov2_heavy',
        '--set',
        'coefficients:=tank2025',
        '--fit',
    ]
    with pytest.raises(SystemExit):
        main([*common, 'bluerov2_heavy'])
    assert '--columns is missing' in capsys.readouterr().err
    fit = tmp_path / 'fit.yaml'
    fit.write_text('parameters: [{name: a, path: b, prior: 2, deviation: 1}]')
    with pytest.raises(SystemExit):
        main([*common, str(fit), '--columns', 'saabmarine2025'])
    assert "'b' is unknown" in capsys.readouterr().err


def turning_table(heavy, tmp_path, change):
    """Write and read a table of a vehicle that rolls, pitches and yaws, changed by a function."""
    from scipy.spatial.transform import Rotation

    time = np.arange(0, 30, 0.05)
    angles = np.stack([0.2 * np.sin(time), 0.1 * np.cos(0.7 * time), 0.8 * np.sin(0.6 * time)], 1)
    turns = Rotation.from_euler('ZYX', angles[:, ::-1])
    rates = (turns[:-1].inv() * turns[1:]).as_rotvec() / 0.05  # at the middles
    rates = np.concatenate([rates[:1], 0.5 * (rates[1:] + rates[:-1]), rates[-1:]])
    moved = np.concatenate([np.full((len(time), 3), 0.3), rates], axis=1)
    table = {'angles': angles, 'quaternion': turns.as_quat(), 'v': moved}
    table |= {'stick': np.full((len(time), 1), 0.5), 'pwm': np.full((len(time), 8), 1600.0)}
    attitude, steering = change(table)
    np.savez(tmp_path / 'a.npz', t=time, **table)
    count = 4 if attitude == 'quaternion' else 3
    (tmp_path / 'm.yaml').write_text(
        f'time: t\nframe: FLU\nattitude: {[f"{attitude}[{i}]" for i in range(count)]}\n'
        f'velocity: {[f"v[{i}]" for i in range(6)]}\n'
        + (
            'sticks: {surge: "stick[0]"}\n'
            if steering == 'stick'
            else f'pwm: {[f"pwm[{i}]" for i in range(8)]}\n'
        )
    )
    return recording_of_table(
        tmp_path / 'a.npz', COLUMN_MAPS.load(str(tmp_path / 'm.yaml')), heavy.thrusters
    )


def scaled(name, factor, columns=slice(None), ways=('angles', 'pwm')):
    def change(table):
        table[name] = table[name].copy()
        table[name][:, columns] *= factor
        return ways

    return change


def rolled(name, order, ways):
    def change(table):
        table[name] = table[name][:, order]
        return ways

    return change


DEGREE = 180 / np.pi


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (scaled('angles', DEGREE), 'its angles are likely in degrees'),
        (scaled('v', DEGREE, slice(3, 6)), 'its rates are likely in deg/s'),
        (rolled('angles', [2, 1, 0], ('angles', 'pwm')), 'its angles are likely yaw, pitch, roll'),
        (rolled('quaternion', [3, 0, 1, 2], ('quaternion', 'pwm')), 'likely w, x, y, z'),
        (scaled('v', 1000.0, slice(0, 3)), 'likely in mm/s'),
        (scaled('stick', 100.0, ways=('angles', 'stick')), 'sticks of up to 50.*per cent'),
        (scaled('stick', 1000.0, ways=('angles', 'stick')), 'thousandths'),
        (scaled('stick', 3200.0, ways=('angles', 'stick')), r'\(x - 1500\)/400'),
        (scaled('pwm', 0.05), 'likely thrust in N or kgf, or per cent'),
    ],
)
def test_units_and_orders_of_a_table_are_recognised_by_its_motion(
    heavy, tmp_path, change, message
):
    with pytest.raises(ParameterError, match=message):
        turning_table(heavy, tmp_path, change)


@pytest.mark.parametrize('ways', [('angles', 'pwm'), ('quaternion', 'stick')])
def test_a_table_in_the_units_that_are_expected_is_read(heavy, tmp_path, ways):
    assert len(turning_table(heavy, tmp_path, lambda table: ways)) > 100
