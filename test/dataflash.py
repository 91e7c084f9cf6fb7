# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Logs as ArduPilot and ground stations write them, and what identify makes of them."""

import json
import struct

import numpy as np
import pytest

from marine_sim_ros.autopilot.conventions import frd, ned
from marine_sim_ros.core.spatial import rotation_matrix, rpy_from_quaternion
from marine_sim_ros.tools.main import main

FORMATS = {
    'PARM': (129, 'QNf', 'TimeUS,Name,Value'),
    'XKF1': (130, 'QBccCfffffffccc', 'TimeUS,C,Roll,Pitch,Yaw,VN,VE,VD,dPD,PN,PE,PD,GX,GY,GZ'),
    'IMU': (131, 'QBfff', 'TimeUS,I,GyrX,GyrY,GyrZ'),
    'RCOU': (132, 'QHHHHHHHH', 'TimeUS,C1,C2,C3,C4,C5,C6,C7,C8'),
    'BARO': (133, 'QBff', 'TimeUS,I,Press,Temp'),
    'XKF4': (134, 'QBIB', 'TimeUS,C,SS,PI'),
    'ATT': (135, 'QccCB', 'TimeUS,Roll,Pitch,Yaw,AEKF'),
    'CTUN': (136, 'Qf', 'TimeUS,Alt'),
    'BAT': (138, 'QBff', 'TimeUS,Inst,Volt,Curr'),
    'RCIN': (139, 'QHHHHHHHH', 'TimeUS,C1,C2,C3,C4,C5,C6,C7,C8'),
    'MODE': (140, 'QMBB', 'TimeUS,Mode,ModeNum,Rsn'),
    'MSG': (141, 'QZ', 'TimeUS,Message'),
    'ERR': (142, 'QBB', 'TimeUS,Subsys,ECode'),
    'EV': (143, 'QB', 'TimeUS,Id'),
    'NKF1': (137, 'QBccCfffffff', 'TimeUS,C,Roll,Pitch,Yaw,VN,VE,VD,dPD,PN,PE,PD'),
}
"""Of dataflash messages: number, letters of the types, and names."""
LETTERS = {
    'Q': 'Q',
    'N': '16s',
    'f': 'f',
    'B': 'B',
    'M': 'B',
    'H': 'H',
    'I': 'I',
    'c': 'h',
    'C': 'H',
    'n': '4s',
    'Z': '64s',
}
KNOWN = 0b11111
"""Status of an estimator that knows attitude, velocity and horizontal position."""


def packed(letters, values):
    return struct.pack('<' + ''.join(LETTERS[x] for x in letters), *values)


class Dataflash:
    """A log, message after message."""

    def __init__(self):
        self.content = b''
        for name, (number, letters, columns) in {'FMT': (128, 'BBnNZ', ''), **FORMATS}.items():
            size = 3 + struct.calcsize('<' + ''.join(LETTERS[x] for x in letters))
            self._entry(128, 'BBnNZ', (number, size, *map(str.encode, (name, letters, columns))))

    def _entry(self, number, letters, values):
        self.content += b'\xa3\x95' + bytes([number]) + packed(letters, values)

    def add(self, name, *values):
        number, letters, _ = FORMATS[name]
        self._entry(number, letters, values)

    def parameter(self, name, value):
        self.add('PARM', 0, name.encode(), value)


def in_their_axes(run, i):
    """Return place, velocity (NED), rates (FRD) and roll, pitch, yaw (deg) of a run."""
    turn = run.orientation[i]
    roll, pitch, yaw = np.degrees(rpy_from_quaternion(turn))
    velocity = rotation_matrix(turn) @ run.velocity[i, :3]
    return (
        ned(run.position[i]),
        ned(velocity),
        frd(run.velocity[i, 3:]),
        (roll, -pitch, (90 - yaw) % 360),
    )


def irregular(generator, run):
    """Return a mask of the ticks of a run that come 10 to 120 ms apart, most often 20."""
    step = run.time[1] - run.time[0]
    waits = np.clip(generator.exponential(0.03, len(run.time)), 0.01, 0.12)
    ticks = np.cumsum(np.round(waits / step).astype(int))
    result = np.zeros(len(run.time), bool)
    result[ticks[ticks < len(run.time)]] = True
    return result


def logged(path, run, *, bias=(0.02, -0.01, 0.03), directions=(), status=KNOWN, generator=None):
    """Write the dataflash log of a simulated run: 25 Hz, and 10 Hz of the outputs.

    Args:
        path: of the log.
        run: trajectory.
        bias: of the gyroscopes, rad/s, which the estimator knows.
        directions: MOT_n_DIRECTION, 1 where none are given.
        status: bits of the estimator's status.
        generator: of random numbers; where given, the stamps are irregular, and velocity (2 cm/s),
            depth (1 cm), angles (0.2 deg) and rates (0.6 deg/s) have noise.
    """
    log = Dataflash()
    count = run.pwm.shape[1]
    directions = np.array(directions or [1] * count)
    for i, direction in enumerate(directions):
        log.parameter(f'SERVO{i + 1}_FUNCTION', 33 + i)
        log.parameter(f'MOT_{i + 1}_DIRECTION', direction)
    log.parameter('SERVO8_FUNCTION', 7)
    every, outputs = (round(1 / (rate * (run.time[1] - run.time[0]))) for rate in (25, 10))
    estimated = np.arange(len(run.time)) % every == 0
    if generator is not None:
        estimated = irregular(generator, run)
    told = np.round(np.degrees(bias) * 100).astype(int)
    for i in range(0, len(run.time)):
        time = 5_000_000 + round(run.time[i] * 1e6)
        if estimated[i]:
            place, velocity, rates, angles = in_their_axes(run, i)
            if generator is not None:
                place = place + generator.normal(0, 0.01, 3)
                velocity = velocity + generator.normal(0, 0.02, 3)
                rates = rates + generator.normal(0, 0.01, 3)
                angles = np.array(angles) + generator.normal(0, 0.2, 3) * (1, 1, 0)
            centi = [round(100 * a) for a in angles]
            log.add('IMU', time, 0, *(np.array(rates) + np.radians(told / 100)))
            for core, wrong in ((1, 3.0), (0, 0.0)):  # a second core goes astray
                moved = [v + wrong for v in velocity]
                log.add('XKF1', time, core, *centi, *moved, 0.0, *place, *told)
                log.add('XKF4', time, core, status, 0)
        if i % outputs == 0:
            pulses = 1500 + directions * (np.round(run.pwm[i]).astype(int) - 1500)
            log.add('RCOU', time, *pulses, *[0] * (8 - count))
    path.write_bytes(log.content)
    return path


def telemetered(path, run, *, late=30_000):
    """Write the telemetry log of a simulated run: 20 Hz each, attitudes between the positions.

    Args:
        path: of the log.
        run: trajectory.
        late: time by which an attitude is measured after a position, µs.
    """
    from pymavlink.dialects.v20 import ardupilotmega as mavlink

    vehicle = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
    content = b''
    step = run.time[1] - run.time[0]
    for i in range(0, len(run.time) - round(0.1 / step), round(0.05 / step)):
        boot_ms = 5000 + round(run.time[i] * 1e3)
        place, velocity, _, _ = in_their_axes(run, i)
        later = i + round(late * 1e-6 / step)
        _, _, rates, angles = in_their_axes(run, later)
        rpy = np.radians(angles)
        pulses = [*np.round(run.pwm[i]).astype(int), *[0] * (8 - run.pwm.shape[1])]
        for wait, message in (
            (0, vehicle.local_position_ned_encode(boot_ms, *place, *velocity)),
            (0, vehicle.servo_output_raw_encode(boot_ms * 1000, 0, *pulses)),
            (late, vehicle.attitude_encode(boot_ms + late // 1000, *rpy, *rates)),
        ):
            unix = 1_700_000_000_000_000 + boot_ms * 1000 + wait
            content += struct.pack('>Q', unix) + message.pack(vehicle)
    path.write_bytes(content)
    return path


def identified(capsys, path, *arguments):
    """Return the values of ``identify`` of a BlueROV2 by kind and axis, and what it says."""
    sets = [part for argument in arguments for part in ('--set', argument)]
    with pytest.raises(SystemExit) as ended:
        main(['identify', str(path), '--vehicle', 'bluerov2', *sets, '--json'])
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
    found = json.loads(said.out)['estimates']
    return {(e['parameter'], e['axis']): e['value'] for e in found}, said.err


AXES = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')


def check_drag(vehicle, velocity, values, tolerance, axes=AXES):
    """Compare the resistance at the speeds (n, 6) of a run with that of the simulated vehicle."""
    speed = np.sqrt(np.mean(np.square(velocity), axis=0))
    true = [np.diag(getattr(vehicle.damping, kind)) for kind in ('linear', 'quadratic')]
    for i, axis in enumerate(AXES):
        if axis not in axes:
            continue
        # None: not to be told from the other one, and fitted as 0
        found = [values[f'{kind}_damping', axis] or 0.0 for kind in ('linear', 'quadratic')]
        drag, expected = (one[0] + one[1] * speed[i] for one in (found, [t[i] for t in true]))
        assert drag == pytest.approx(expected, rel=tolerance), axis
