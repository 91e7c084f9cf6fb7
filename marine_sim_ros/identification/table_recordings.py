# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of other programs: NPZ arrays or CSV columns, named by a YAML file."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.stick_mixing import ardusub_manual_pwm
from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.files import check_archive, check_file
from marine_sim_ros.core.spatial import quaternion_of_angles, quaternion_product, rotation_matrix
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.identification.parameters import required_text
from marine_sim_ros.identification.recording import MotionRecording, usable_recording
from marine_sim_ros.identification.thrust import check_pulses
from marine_sim_ros.model.vehicle import ThrusterSet

__all__ = ['COLUMN_MAPS', 'is_table', 'recording_of_table']

_KEYS = {
    *('time', 'time_unit', 'frame', 'attitude', 'velocity', 'pwm', 'sticks', 'skip', 'commands'),
    *('stamp_to_sample', 'tilt', 'origin'),
}
_UNITS = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
LARGEST_TABLE = 1_000_000_000
"""Bytes of a table, unpacked: more than an hour at 1 kHz."""
_TICKS = (1e-4, 2.0)
"""s between rows of a motion."""
_COLUMN = re.compile(r'(-?)([^\[\]]+?)(?:\[(\d+)\])?')
_ALIKE = 8.0
"""µs by which a mean may miss the line between its neighbours."""
_FLIP = np.array([1.0, -1.0, -1.0])
_TURNED = 0.2
"""rad of root sum of squared turns, below which the vehicle counts as not turning."""
_WRONG, _RIGHT = 0.5, 0.1
"""Fractions of the squared turns that are left unexplained: as read, and otherwise."""
_FASTEST = 20.0
"""m/s that no vehicle of water has."""
_STICK_UNITS = ((100.0, 'per cent'), (1000.0, 'thousandths, as of MANUAL_CONTROL'))


@dataclass(frozen=True)
class ColumnMap:
    """Map of a recording's columns. A column is ``name``, ``name[2]`` or ``-name``.

    Attributes:
        time: column of the time.
        unit: seconds per unit of it.
        down: whether axes are FRD over NED instead of FLU over ENU.
        attitude: columns of roll, pitch, yaw in rad, or of a quaternion x, y, z, w.
        velocity: columns of the body's, m/s and rad/s.
        pwm: columns of the pulse widths, µs; or none.
        sticks: column of ArduSub's manual sticks, −1 to 1, by axis; or none.
        skip: rows to leave out at the beginning, by name of the array.
        commands: ``held`` until the next, ``interpolated``, or ``means`` of what was held from
            a row's stamp to the next: a value between its neighbours' tells when it changed.
        stamp_to_sample: where a row stands between its stamp, 0, and the next, 1: a mean of
            what came in between stands at 0.5.
        tilt: roll and pitch in rad, in the file's axes, of the tracked frame in the body, whose
            velocities and attitude they are. Angles count from their values with the body level.
        origin: of the tracked frame in the body, m, in the body's axes as the file has them.
    """

    time: str
    unit: float
    down: bool
    attitude: tuple[str, ...]
    velocity: tuple[str, ...]
    pwm: tuple[str, ...] = ()
    sticks: Mapping[str, str] = field(default_factory=dict)
    skip: Mapping[str, int] = field(default_factory=dict)
    commands: str = 'held'
    stamp_to_sample: float = 0.0
    tilt: tuple[float, float] = (0.0, 0.0)
    origin: tuple[float, ...] = (0.0, 0.0, 0.0)


def _columns(root: YamlReader) -> ColumnMap:
    """Return the content of a mapping file."""
    fields = root.mapping(_KEYS, {'time', 'frame', 'attitude', 'velocity'})
    if ('pwm' in fields) == ('sticks' in fields):
        raise root.error(': expected either pwm or sticks')
    attitude = _words(root.child('attitude'), (3, 4))
    sticks = root.child('sticks', {})
    sticks.mapping(set(BODY_AXES))
    skip = root.child('skip', {}).names()
    return ColumnMap(
        required_text(root.child('time')),
        _UNITS[root.child('time_unit', 's').choice(tuple(_UNITS))],
        root.child('frame').choice(('FLU', 'FRD')) == 'FRD',
        attitude,
        _words(root.child('velocity'), (6,)),
        _words(root.child('pwm'), range(1, 65)) if 'pwm' in fields else (),
        {axis: required_text(sticks.child(axis)) for axis in sticks.value},
        {name: root.child('skip').child(name).integer(0, 10**6) for name in skip},
        root.child('commands', 'held').choice(('held', 'interpolated', 'means')),
        root.child('stamp_to_sample', 0.0).number(0.0, 1.0),
        _tilt(root.child('tilt', [0.0, 0.0])),
        _place(root.child('origin', [0.0, 0.0, 0.0])),
    )


COLUMN_MAPS = ConfigFiles('recordings', _columns)
"""Mappings of columns: config/recordings."""


def _tilt(reader: YamlReader) -> tuple[float, float]:
    angles = [math.radians(item.number(-89.0, 89.0)) for item in reader.items()]
    if len(angles) != 2:
        raise reader.error(f' has {len(angles)} numbers; expected roll and pitch, deg')
    return angles[0], angles[1]


def _place(reader: YamlReader) -> tuple[float, ...]:
    place = tuple(item.number(-10.0, 10.0) for item in reader.items())
    if len(place) != 3:
        raise reader.error(f' has {len(place)} numbers; expected x, y and z, m')
    return place


def _words(reader: YamlReader, counts: tuple[int, ...] | range) -> tuple[str, ...]:
    words = tuple(required_text(item) for item in reader.items())
    if len(words) not in counts:
        text = ' or '.join(map(str, counts)) if len(counts) < 5 else 'one for each thruster'
        raise reader.error(f' has {len(words)} columns; expected {text}')
    return words


def is_table(path: str | Path) -> bool:
    """Return whether a file is a table of another program, NPZ or CSV, by its name."""
    return Path(path).suffix.lower() in ('.npz', '.csv')


def recording_of_table(
    path: str | Path, columns: ColumnMap, thrusters: ThrusterSet
) -> MotionRecording:
    """Return a recording of a ``.npz`` or ``.csv`` file.

    Raises:
        ParameterError: the file, or a column in it, cannot be used, or the file is too large.
    """
    path = Path(path)
    archived = path.suffix.lower() == '.npz'
    (check_archive if archived else check_file)(path, LARGEST_TABLE, ParameterError)
    table = _npz(path) if archived else _csv(path)

    def column(text: str) -> np.ndarray:
        match = _COLUMN.fullmatch(text)
        if match is None or match[2] not in table:
            raise ParameterError(
                f'{path}: has no column {text!r}; {expected_one_of(text, sorted(table))}'
            )
        values = table[match[2]][columns.skip.get(match[2], 0) :]
        if values.ndim != 1 + (match[3] is not None) or (
            match[3] is not None and int(match[3]) >= values.shape[1]
        ):
            raise ParameterError(
                f'{path}: {match[2]} has the shape {values.shape}; {text!r} is no column of it'
            )
        values = values if match[3] is None else values[:, int(match[3])]
        return -values if match[1] else values

    velocity = [column(c) for c in columns.velocity]
    attitude = [column(c) for c in columns.attitude]
    stamps = column(columns.time)
    time = _sample_times(stamps, columns.stamp_to_sample)
    sent = {axis: column(name) for axis, name in columns.sticks.items()}
    widths = [column(c) for c in columns.pwm]
    count = min(len(x) for x in (*velocity, *attitude, time, *sent.values(), *widths))
    pwm = _pulse_widths(path, columns, thrusters, count, sent, widths)
    velocities = np.stack([v[:count] for v in velocity], axis=1)
    attitudes = np.stack([a[:count] for a in attitude], axis=1)
    tilt, origin = np.array([*columns.tilt, 0.0]), np.array(columns.origin)
    _check_motion(path, (time[:count] - time[0]) * columns.unit, attitudes, velocities)
    if columns.down:
        velocities = velocities * np.tile(_FLIP, 2)
        attitudes = attitudes * (_FLIP if attitudes.shape[1] == 3 else np.append(_FLIP, 1.0))
        tilt, origin = tilt * _FLIP, origin * _FLIP
    if attitudes.shape[1] == 3:
        attitudes = _quaternions(attitudes + tilt)
    attitudes, velocities = _of_body(attitudes, velocities, tilt)
    velocities[:, :3] -= np.cross(velocities[:, 3:], origin)
    seconds = (time[:count] - time[0]) * columns.unit
    _check_times(path, seconds)
    edges = None
    if columns.commands == 'means':
        starts = (stamps[: count + 1] - time[0]) * columns.unit
        edges, pwm = _stairs(starts, pwm)
    commands_at = columns.commands != 'interpolated'
    return usable_recording(
        MotionRecording(path.stem, seconds, attitudes, velocities, pwm, commands_at, edges)
    )


def _check_times(path: Path, seconds: np.ndarray) -> None:
    """Check that rows come as often as those of a motion.

    Raises:
        ParameterError: not so; with the unit in which they would.
    """
    tick = float(np.median(np.diff(seconds))) if len(seconds) > 1 else _TICKS[0]
    if _TICKS[0] <= tick <= _TICKS[1] or not tick > 0:
        return
    fits = [u for u, factor in _UNITS.items() if _TICKS[0] <= tick * factor <= _TICKS[1]]
    hint = f'; its times are likely in {fits[0]}: time_unit: {fits[0]}' if fits else ''
    raise ParameterError(
        f'{path}: rows are {tick:g} s apart; expected {_TICKS[0]:g} to {_TICKS[1]:g} s{hint}'
    )


def _check_motion(
    path: Path, seconds: np.ndarray, attitude: np.ndarray, velocity: np.ndarray
) -> None:
    """Check the units of velocities, and that attitudes turn by the body's rates.

    Args:
        attitude: (n, 3) angles or (n, 4) quaternions, as the file has them.
        velocity: (n, 6), as the file has it.

    Raises:
        ParameterError: another unit or order explains them, and these do not.
    """
    speed = float(np.nanmedian(np.linalg.norm(velocity[:, :3], axis=1))) if len(velocity) else 0.0
    if speed > _FASTEST:
        raise ParameterError(
            f'{path}: half of the velocities are above {speed:.3g} m/s; expected m/s. They are '
            'likely in mm/s or cm/s'
        )
    good = np.isfinite(attitude).all(axis=1) & np.isfinite(velocity).all(axis=1)
    good[1:] &= np.diff(seconds) > 0
    if good.sum() < 3:
        return
    seconds, attitude, rates = seconds[good], attitude[good], velocity[good, 3:]
    degree = math.radians(1.0)
    if attitude.shape[1] == 4:
        read = attitude
        alternatives = {'quaternion is likely w, x, y, z': (attitude[:, [1, 2, 3, 0]], rates)}
    else:
        read = _quaternions(attitude)
        alternatives = {
            'angles are likely in degrees': (_quaternions(degree * attitude), rates),
            'angles and rates are likely in degrees': (
                _quaternions(degree * attitude),
                degree * rates,
            ),
            'angles are likely yaw, pitch, roll': (_quaternions(attitude[:, ::-1]), rates),
        }
    alternatives['rates are likely in deg/s'] = read, degree * rates
    residual = _unexplained_turns(seconds, read, rates)
    if not _WRONG < residual < math.inf:
        return
    residuals = {
        said: _unexplained_turns(seconds, *motion) for said, motion in alternatives.items()
    }
    best = min(residuals, key=lambda said: residuals[said])
    if residuals[best] < _RIGHT:
        raise ParameterError(
            f'{path}: its rates leave {100 * min(residual, 9.99):.0f} % of the squared turns of '
            'its '
            f'attitude unexplained; its {best}. Expected angles in rad or a quaternion x, y, z, '
            'w, and rates in rad/s'
        )


def _quaternions(angles: np.ndarray) -> np.ndarray:
    return np.asarray(quaternion_of_angles(angles.T)).T


def _unexplained_turns(seconds: np.ndarray, attitude: np.ndarray, rates: np.ndarray) -> float:
    """Return the fraction of squared turns between rows that rates do not give; ∞ at rest."""
    length = np.linalg.norm(attitude, axis=1, keepdims=True)
    unit = attitude / np.where(length > 0, length, 1.0)
    rotation = np.asarray(quaternion_product(unit[:-1] * [-1, -1, -1, 1], unit[1:]))
    rotation = 2 * rotation[:, :3] * np.where(rotation[:, 3:] < 0, -1.0, 1.0)
    expected = 0.5 * (rates[1:] + rates[:-1]) * np.diff(seconds)[:, None]
    total = float(np.sum(rotation**2))
    return float(np.sum((rotation - expected) ** 2)) / total if total > _TURNED**2 else math.inf


def _check_sticks(path: Path, sticks: np.ndarray) -> None:
    """Check that sticks are fractions.

    Raises:
        ParameterError: they are not; with their likely unit.
    """
    values = np.abs(sticks[np.isfinite(sticks)])
    largest = float(values.max(initial=0.0))
    if largest <= 1.5:
        return
    unit = next((unit for top, unit in _STICK_UNITS if largest <= 1.01 * top), '')
    if 1000.0 < largest <= 2200.0:
        unit = 'pulse widths: (x - 1500)/400'
    hint = f'; they are likely {unit}' if unit else ''
    raise ParameterError(f'{path}: sticks of up to {largest:g}; expected -1 to 1{hint}')


def _pulse_widths(
    path: Path,
    columns: ColumnMap,
    thrusters: ThrusterSet,
    count: int,
    sent: Mapping[str, np.ndarray],
    widths: list[np.ndarray],
) -> np.ndarray:
    """Return pulse widths (count, k) of sticks by axis, or of columns of their own."""
    if not sent:
        if len(widths) != len(thrusters):
            raise ParameterError(
                f'{path}: {len(widths)} columns of pwm; expected {len(thrusters)}'
            )
        pulses = np.stack([w[:count] for w in widths], axis=1)
        check_pulses(pulses, f'{path}: pwm')
        return pulses
    sticks = np.zeros((count, 6))
    for axis, values in sent.items():
        sticks[:, BODY_AXES.index(axis)] = values[:count]
    _check_sticks(path, sticks)
    if columns.down:
        sticks *= np.tile(_FLIP, 2)
    return np.asarray(ardusub_manual_pwm(thrusters, sticks))


def _stairs(starts: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return times (n, 2) and values (n, 2, k) of stairs with given means (n, k) in intervals.

    An interval whose mean lies between those around it has the step from one to the other inside.
    """
    before = np.concatenate([mean[:1], mean[:-1]])
    after = np.concatenate([mean[1:], mean[-1:]])
    step = after - before
    size = np.sum(step**2, axis=1)
    fraction = np.sum((mean - before) * step, axis=1) / np.where(size > 0, size, 1.0)
    deviation = np.abs(mean - before - fraction[:, None] * step).max(axis=1)
    within = (size > 0) & (deviation < _ALIKE) & (fraction > 0.02) & (fraction < 0.98)
    length = np.diff(starts, append=starts[-1:])[: len(mean)]
    length = np.where(length > 0, length, np.median(np.diff(starts)))
    edge = starts[: len(mean)] + np.where(within, 1 - fraction, 0.5) * length
    values = np.stack([np.where(within[:, None], x, mean) for x in (before, after)], axis=1)
    return np.stack([starts[: len(mean)], edge], axis=1), values


def _sample_times(stamps: np.ndarray, fraction: float) -> np.ndarray:
    """Return the times of rows: those between stamps need the next one, which the last lacks."""
    return stamps[:-1] + fraction * np.diff(stamps) if fraction else stamps


def _of_body(
    attitude: np.ndarray, velocity: np.ndarray, tilt: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return attitudes (n, 4) and velocities (n, 6) of the body, from those of a tracked frame.

    R_body = R_tracked R(tilt)ᵀ and v_body = R(tilt) v_tracked.
    """
    if not tilt.any():
        return attitude, velocity
    mount = np.asarray(quaternion_of_angles(tilt))
    back = np.broadcast_to(mount * [-1, -1, -1, 1], attitude.shape)
    parts = velocity.reshape(-1, 2, 3) @ np.asarray(rotation_matrix(mount)).T
    return np.asarray(quaternion_product(attitude, back)), parts.reshape(-1, 6)


def _npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: np.asarray(file[name], float) for name in file.files}
    except (OSError, ValueError, KeyError) as error:
        raise ParameterError(f'{path}: cannot be read: {error}; expected NPZ of numbers') from None


def _csv(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open(encoding='utf-8', newline='') as file:
            names, *rows = list(csv.reader(file))
        table = np.array([[float(x) if x.strip() else np.nan for x in row] for row in rows])
        return {name.strip(): table[:, i] for i, name in enumerate(names)}
    except (OSError, ValueError, IndexError) as error:
        raise ParameterError(
            f'{path}: cannot be read: {error}; expected CSV of numbers with a line of names'
        ) from None
