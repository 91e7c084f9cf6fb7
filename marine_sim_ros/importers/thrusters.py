# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrusters of other simulators: thrust over pulse width, pose along an axis, limits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_vector_quaternion
from marine_sim_ros.importers.builder import VehicleBuilder
from marine_sim_ros.importers.description import GRAVITY, Sourced, Thruster
from marine_sim_ros.model.kinematics import Pose
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL
from marine_sim_ros.model.xml import direction_along

__all__ = [
    'add_column',
    'add_propeller',
    'are_pulse_widths',
    'linear_thrust_curve',
    'pose_along',
    'pulse_curve',
    'sampled_curve',
    'thrust_limit',
]


_DEFAULT_FRACTION = 0.1
"""Largest thrust as a fraction of the weight, where the source has none."""
_STEPS = 20
"""Rows on each side of zero of a curve that is not linear."""
RPM = 60 / (2 * np.pi)


def thrust_limit(builder: VehicleBuilder, name: str) -> Sourced[float]:
    """Return the largest thrust of a thruster whose source has none.

    It is --max-thrust, else that of a file beside the description, else a tenth of the vehicle's
    weight.
    """
    option = builder.options.max_thrust
    if option > 0:
        return Sourced(option, f'--max-thrust {option:g}', True)
    beside: Sourced[list[float]] | None = builder.notes.get('max_thrust')
    if beside is not None:
        digits = re.search(r'\d{1,6}$', name)
        at = int(digits[0]) if digits else len(builder.thrusters)
        value = beside.value[min(at, len(beside.value) - 1)]
        builder.assume(f'thruster {name!r}: at most {value:g} N, of {beside.origin}')
        return Sourced(value, beside.origin)
    limit = float(f'{_DEFAULT_FRACTION * builder.mass * GRAVITY:.3g}')
    share = f'{_DEFAULT_FRACTION:g} of the weight, {limit:g} N'
    rule = f'no largest thrust in the source: {share} (--max-thrust)'
    builder.assume(f'thruster {name!r}: {rule}')
    return Sourced(limit, rule, True)


def linear_thrust_curve(low: float, high: float) -> np.ndarray:
    """Return the rows of a thrust that is linear in the pulse width on each side of zero."""
    rows = [[PWM_MIN, low, 0.0, 0.0], [PWM_NEUTRAL, 0.0, 0.0, 0.0], [PWM_MAX, high, 0.0, 0.0]]
    return np.array(rows)


def sampled_curve(
    thrust_of: Callable[[float], float], lowest: float, highest: float, *, speed: bool = True
) -> tuple[np.ndarray, bool]:
    """Return the rows of a thrust that is a function of a command, and whether it was mirrored.

    The command (rad/s, or of another unit without ``speed``) is linear in the pulse width from
    1100 µs, where it is lowest, over 1500 µs, where it is 0, to 1900 µs.

    Args:
        thrust_of: thrust in N of a command.
        lowest: lowest command, 0 or less.
        highest: highest command, 0 or more.
        speed: whether the command is the speed of the propeller.
    """
    commands = np.concatenate(
        [np.linspace(lowest, 0, _STEPS, endpoint=False), np.linspace(0, highest, _STEPS + 1)]
    )
    pulses = np.concatenate(
        [
            np.linspace(PWM_MIN, PWM_NEUTRAL, _STEPS, endpoint=False),
            np.linspace(PWM_NEUTRAL, PWM_MAX, _STEPS + 1),
        ]
    )
    thrust = np.array([thrust_of(float(c)) for c in commands])
    mirrored = bool(thrust[-1] < thrust[0])
    if mirrored:  # thrust against the axis: the axis is turned
        thrust = -thrust
    thrust = np.maximum.accumulate(np.where(np.abs(thrust) < 1e-12, 0.0, thrust))
    thrust = thrust - float(np.interp(PWM_NEUTRAL, pulses, thrust))
    rpm = np.abs(commands) * RPM if speed else np.zeros(len(commands))
    return np.stack([pulses, thrust, np.zeros(len(pulses)), rpm], axis=1), mirrored


def are_pulse_widths(commands: np.ndarray) -> bool:
    """Return whether the commands of a table are pulse widths of a servo signal in µs.

    They are where all lie from 750 to 2250 µs, hold 1500 µs between their ends and span at least
    200 µs: a rotor whose table starts at several hundred rad/s would have no neutral command.
    """
    low, high = float(np.min(commands)), float(np.max(commands))
    return 750 <= low < PWM_NEUTRAL < high <= 2250 and high - low >= 200


def pulse_curve(
    thrust_of: Callable[[float], float], pulses: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Return the rows of a table over pulse widths (k,) in µs, and whether it was mirrored."""
    widths = np.unique(np.concatenate([pulses, [PWM_NEUTRAL]]))
    thrust = np.array([thrust_of(float(w)) for w in widths])
    mirrored = bool(thrust[-1] < thrust[0])
    thrust = np.maximum.accumulate(-thrust if mirrored else thrust)
    if not np.any(thrust == 0.0):
        if thrust[0] > 0 or thrust[-1] < 0:  # an offset: the neutral pulse pushes nothing
            thrust = thrust - float(np.interp(PWM_NEUTRAL, widths, thrust))
        else:
            neutral = float(np.interp(0.0, thrust, widths))
            at = int(np.searchsorted(widths, neutral))
            widths, thrust = np.insert(widths, at, neutral), np.insert(thrust, at, 0.0)
    rows = np.zeros((len(widths), 4))
    rows[:, 0], rows[:, 1] = widths, thrust
    return rows, mirrored


def pose_along(position: np.ndarray, axis: np.ndarray) -> Pose:
    """Return a pose at a position (3,) whose z axis is along an axis (3,).

    Raises:
        ModelError: an axis without length.
    """
    direction = direction_along(axis)
    if direction is None:
        raise ModelError(f'a thruster has the axis {axis.tolist()}; expected a direction')
    axis = direction
    up = np.array([0.0, 0.0, 1.0])
    turn = np.cross(up, axis)
    sine, cosine = float(np.linalg.norm(turn)), float(axis[2])
    if sine < 1e-12:
        turn = np.zeros(3) if cosine > 0 else np.array([np.pi, 0.0, 0.0])
    else:
        turn = turn / sine * np.arctan2(sine, cosine)
    return Pose(np.asarray(position, float), np.asarray(rotation_vector_quaternion(turn)))


def add_propeller(
    builder: VehicleBuilder,
    name: str,
    link: str,
    axis: np.ndarray,
    curve: tuple[np.ndarray, bool],
    origin: tuple[str, bool],
    index: str | int | None = '',
    **details: Any,
) -> None:
    """Add a thruster in the origin of a link.

    Args:
        axis: (3,) along which it pushes, in the link.
        curve: rows of the curve, and whether it pushes against the axis.
        origin: where the curve is from, and whether it is assumed.
        index: number of the thruster in the source.
        details: other fields of the thruster.
    """
    rows, mirrored = curve
    along = builder.rotation_of(link) @ axis
    pose = pose_along(builder.pose_of(link).translation, -along if mirrored else along)
    builder.add_thruster(Thruster(name, pose, Sourced(rows, *origin), link=link, **details), index)


def add_column(
    builder: VehicleBuilder,
    name: str,
    columns: Sourced[np.ndarray],
    effort: Sourced[float],
    *,
    center: np.ndarray | None = None,
    turn: np.ndarray | None = None,
) -> None:
    """Add a thruster where its force f makes its moment m: r = f x m/|f|².

    Args:
        columns: (6,) force and moment of one newton.
        effort: largest thrust, N.
        center: (3,) in the base about which the moment is, m; default: its origin.
        turn: (3, 3) from the axes of the columns to the base; default: the same.
    """
    force, moment = columns.value[:3], columns.value[3:]
    size = float(np.linalg.norm(force))
    if size < 1e-9:
        builder.drop(f'{columns.origin}: a moment without a force')
        builder.unread_forces.append(columns.origin)
        return
    if abs(float(force @ moment)) > 1e-6 * size * max(float(np.linalg.norm(moment)), 1e-9):
        builder.drop(f'{columns.origin}: the part of its moment along the force')
    turn = np.eye(3) if turn is None else turn
    place = (np.zeros(3) if center is None else center) + turn @ np.cross(force, moment) / size**2
    limit = effort.value * size
    curve = Sourced(linear_thrust_curve(-limit, limit), effort.origin, effort.assumed)
    builder.add_thruster(Thruster(name, pose_along(place, turn @ force), curve))
