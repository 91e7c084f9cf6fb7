# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of <thrusters>: curves, positions, axes, lags.

At one pulse width thrust goes with (U/U₀)^1.22 and electrical power with (U/U₀)^2.24. The
exponents are fitted to Blue Robotics' bench data of the T200 (September 2019) at 10, 12 and 16 V:
within 0.61 N of 51 N, and 7 % of the power above 20 W. At 20 V the ESC gives up to 5 N less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError, expected_one_of
from marine_sim_ros.core.numerics import InterpolationTable, interpolation_table
from marine_sim_ros.core.schema import (
    REQUIRED,
    choice,
    declaration,
    nested,
    number,
    special,
    text,
    truth,
)
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.model.kinematics import PlacedElement, Pose, read_origin_pose
from marine_sim_ros.model.propellers import (
    PWM_MAX,
    PWM_MIN,
    PWM_NEUTRAL,
    RPM,
    PropellerElement,
    PropellerSpec,
    propeller_set,
    read_propeller,
)
from marine_sim_ros.model.servos import AzimuthElement, AzimuthSpec, azimuth_set, read_azimuth
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle
from marine_sim_ros.model.xml import Reader, parse

__all__ = [
    'CURVE_VOLTAGE',
    'POWER_EXPONENT',
    'ThrusterSpec',
    'ThrustersElement',
    'dead_zone_curve',
    'has_propellers',
    'power_factor',
    'propeller_angles',
    'propeller_link',
    'propeller_turns',
    'read_thrusters',
    'thrust_factor',
    'thruster_axis',
    'thruster_set',
    'with_turning_propellers',
]


# Thrust and power of a thruster at another supply voltage than that of its curve.

CURVE_VOLTAGE = 16.0
"""V; of a thrust curve that states none."""
SCALES = 0.6, 1.25
"""U/U₀ within which the law was compared with bench data: 10 to 20 V for a curve of 16 V."""
THRUST_EXPONENT, POWER_EXPONENT = 1.22, 2.24


def thrust_factor(ratio: Any) -> Any:
    """Thrust at U over thrust at U₀, one pulse width; ``ratio`` is U/U₀, a number or an array."""
    return ratio**THRUST_EXPONENT


def power_factor(ratio: Any) -> Any:
    """Electrical power at U over power at U₀, likewise."""
    return ratio**POWER_EXPONENT


def scaled_curve(curve: np.ndarray, ratio: float) -> np.ndarray:
    """Return a curve's rows (k, 4) of µs, N, W, rad/s at U/U₀; speed scales with √thrust."""
    thrust = thrust_factor(ratio)
    return curve * np.array([1.0, thrust, power_factor(ratio), np.sqrt(thrust)])


# Angles of propellers at a time: the same for console, cameras, films and RViz.

_WHOLE = 2 * np.pi


def propeller_link(thruster: str) -> str:
    """Return the name of a thruster's propeller link, if a vehicle has it."""
    return f'{thruster}_propeller_link'


def has_propellers(vehicle: Vehicle) -> bool:
    """Return whether the URDF of a vehicle has a propeller link."""
    links = map(propeller_link, vehicle.thrusters.names)
    return any(f'{quote}{link}{quote}' in vehicle.urdf for link in links for quote in '"\'')


def propeller_angles(thrusters: ThrusterSet, speed: np.ndarray, time: float) -> np.ndarray:
    """Return the angles (n,) of propellers about the z axes of their links, 0 to 2π rad.

    −h ω t modulo 2π, with ω the present speed: a function of the tick alone, which is the same in
    every process and after a restart. It is the angle turned where the speed is steady; while it
    changes, the blades are somewhere, as they are in pictures of rotors that turn several times
    from one picture to the next. A clockwise rotor (h = −1), seen from behind, turns about its
    axis. A speed that is not finite: 0.

    Args:
        thrusters: n thrusters.
        speed: (n,) rad/s of the rotors, above 0 where they push along their axes.
        time: s.
    """
    finite = np.where(np.isfinite(speed), speed, 0.0)
    return np.mod(-thrusters.handedness * finite * time, _WHOLE)


def propeller_turns(thrusters: ThrusterSet, speed: np.ndarray, time: float) -> dict[str, float]:
    """Return :func:`propeller_angles` by the names of the links."""
    angles = propeller_angles(thrusters, speed, time)
    links = map(propeller_link, thrusters.names)
    return dict(zip(links, angles.tolist(), strict=True))


def with_turning_propellers(urdf: str, thrusters: Iterable[str]) -> str:
    """Return a URDF whose propeller links are on continuous joints.

    These turn about the z axes of the links. The simulation takes continuous joints for fixed
    ones, so that it reads both texts alike; who shows the first one expects no transforms of
    them, and who shows the other expects somebody to publish them.

    Args:
        urdf: the description; returned as it is where it has no such link.
        thrusters: names.

    Raises:
        ModelError: it cannot be read.
    """
    from lxml import etree

    root, links = parse(urdf, 'robot_description'), set(map(propeller_link, thrusters))
    fixed = [joint for joint in root.findall('joint') if joint.get('type') == 'fixed']
    joints = [j for j in fixed if any(c.get('link') in links for c in j.findall('child'))]
    for joint in joints:
        joint.set('type', 'continuous')
        for axis in joint.findall('axis'):
            joint.remove(axis)
        etree.SubElement(joint, 'axis', xyz='0 0 1')
    return etree.tostring(root, encoding='unicode') if joints else urdf


# Reads <thrusters>: curves, positions, axes, lags.

THRUST_NOISE = 0.01
"""Noise of a measured table, as a fraction of maximum thrust; makers' have 0.02 kgf of 3.7."""
_PULSES = 500.0, 2500.0
"""µs; bounds of pulse widths of receivers and ESCs."""
T200_DIAMETER = 0.076
"""m; default propeller diameter."""


@dataclass(frozen=True, eq=False)
class ThrusterSpec:
    """One thruster; its curve has rows of pwm µs, thrust N, power W, speed rad/s."""

    name: str
    position: np.ndarray
    axis: np.ndarray
    curve: np.ndarray
    handedness: float = 1.0
    reaction_torque: float = 0.0
    time_constant: float = 0.0
    zero_thrust_pitch: float = 0.0
    rotor_radius: float = T200_DIAMETER / 2
    ventilates: bool = True
    thrust_deduction: float = 0.0
    azimuth: AzimuthSpec | None = None
    propeller: PropellerSpec | None = None
    cross_flow: np.ndarray | None = None
    meta: dict[str, str] = field(default_factory=dict)


def dead_zone_curve(pos_force: float, neg_force: float, dead_zone: float) -> np.ndarray:
    """Return the four knots of the linear map with a dead zone (Orca3 documentation)."""
    pwm = np.array([PWM_MIN, PWM_NEUTRAL - dead_zone, PWM_NEUTRAL + dead_zone, PWM_MAX])
    thrust = np.array([-neg_force, 0.0, 0.0, pos_force])
    if dead_zone == 0:
        pwm, thrust = np.delete(pwm, 1), np.delete(thrust, 1)
    return np.stack([pwm, thrust, np.zeros_like(pwm), np.zeros_like(pwm)], axis=1)


def thruster_axis(reader: Reader) -> tuple[np.ndarray, np.ndarray]:
    """Return position (3,) m and unit axis (3,) of a thruster: the z axis of its <origin>."""
    return _position_and_axis(read_origin_pose(reader))


def _position_and_axis(pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    return pose.translation, rotation_matrix(pose.quaternion)[:, 2]


def _curve_of_thrust(spec: ThrusterSpec, column: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a curve's column as a function of thrust, which must rise strictly."""
    order = np.argsort(spec.curve[:, 1], kind='stable')
    thrust, value = spec.curve[order, 1], spec.curve[order, column]
    keep = np.concatenate([[True], np.diff(thrust) > 0])
    return thrust[keep], value[keep]


def thruster_set(specs: list[ThrusterSpec]) -> ThrusterSet:
    """Stack thrusters; a vehicle without any has arrays of length 0."""
    if not specs:
        empty = interpolation_table([(np.array([-1.0, 0.0, 1.0]), np.zeros(3))])
        none = np.zeros(0)
        return ThrusterSet(
            (),
            np.zeros((0, 3)),
            np.zeros((0, 3)),
            none,
            none,
            none,
            none,
            empty,
            empty,
            empty,
            none,
            none,
        )
    deductions = [s.thrust_deduction for s in specs]
    return ThrusterSet(
        names=tuple(s.name for s in specs),
        position=np.stack([s.position for s in specs]),
        axis=np.stack([s.axis for s in specs]),
        handedness=np.array([s.handedness for s in specs]),
        reaction_torque=np.array([s.reaction_torque for s in specs]),
        time_constant=np.array([s.time_constant for s in specs]),
        zero_thrust_pitch=np.array([s.zero_thrust_pitch for s in specs]),
        thrust_of_pwm=interpolation_table([(s.curve[:, 0], s.curve[:, 1]) for s in specs]),
        speed_of_thrust=interpolation_table([_curve_of_thrust(s, 3) for s in specs]),
        power_of_thrust=interpolation_table([_curve_of_thrust(s, 2) for s in specs]),
        rotor_radius=np.array([s.rotor_radius for s in specs]),
        ventilates=np.array([float(s.ventilates) for s in specs]),
        thrust_deduction=np.array(deductions) if any(deductions) else None,
        azimuths=azimuth_set([s.name for s in specs], [s.azimuth for s in specs]),
        propellers=propeller_set([s.propeller for s in specs]),
        cross_flow=_cross_flow_table([s.cross_flow for s in specs]),
    )


def _cross_flow_table(tables: list[np.ndarray | None]) -> InterpolationTable | None:
    """Return the fraction of thrust by u/U_jet (n,); None where no thruster has rows."""
    if all(table is None for table in tables):
        return None
    whole = np.array([[0.0, 1.0], [1.0, 1.0]])
    rows = [whole if table is None else table for table in tables]
    return interpolation_table([(table[:, 0], table[:, 1]) for table in rows])


def _read_cross_flow(reader: Reader) -> np.ndarray:
    """Return the rows (m, 2) of u/U_jet and fraction of the thrust."""
    texts = (reader.element.text or '').split()
    if len(texts) % 2 or len(texts) < 4:
        raise reader.error(f'has {len(texts)} numbers; expected rows of two: u/U_jet fraction')
    rows = reader.numbers({len(texts)}).reshape(-1, 2)
    if np.any(rows[0] != [0.0, 1.0]) or np.any(np.diff(rows[:, 0]) <= 0):
        raise reader.error('expected a first row of 0 1, and u/U_jet to rise from row to row')
    return rows


def _rising_thrust(reader: Reader, rows: np.ndarray) -> np.ndarray:
    """Return the thrust (n,) of a table's rows (n, 4); falls within its noise become level.

    Raises:
        ModelError: thrust falls by more than the noise; with both rows.
    """
    thrust = rows[:, 1]
    noise = THRUST_NOISE * float(np.abs(thrust).max())
    falls = np.flatnonzero(thrust < np.maximum.accumulate(thrust) - noise)
    if len(falls):
        last = int(falls[0])
        first = int(np.argmax(thrust[:last]))
        ends = [f'{thrust[i]:g} N at {rows[i, 0]:g} µs{_row(reader, i)}' for i in (first, last)]
        raise reader.error(
            f'thrust falls from {ends[0]} to {ends[1]}; expected it to rise with the pulse '
            f'width, within noise of {noise:.2g} N ({THRUST_NOISE:.0%} of the greatest)'
        )
    dead = np.flatnonzero(thrust == 0.0)
    level = np.zeros_like(thrust)
    above, below = slice(dead[-1] + 1, None), slice(None, dead[0])
    level[above] = np.maximum.accumulate(np.maximum(thrust[above], 0.0))
    level[below] = np.minimum.accumulate(np.minimum(thrust[below], 0.0)[::-1])[::-1]
    return level


def _row(reader: Reader, row: int) -> str:
    """Return the line number of a row of a <curve> in brackets; empty: unknown."""
    lines = (reader.element.text or '').split('\n')
    numbers = np.cumsum([len(line.split()) for line in lines])
    at = int(np.searchsorted(numbers, 4 * row, side='right'))
    expanded = bool(getattr(reader.source, 'origins', None))  # then lines are not the file's
    return f' (line {reader.line + at})' if reader.line and not expanded else ''


def _check_columns(reader: Reader, rows: np.ndarray) -> None:
    """Raise ModelError where a column of a table (n, 4) is in another unit, or another column."""
    low, high = float(rows[:, 0].min()), float(rows[:, 0].max())
    if low < _PULSES[0] or high > _PULSES[1]:
        size = max(-low, high)
        hint = ''
        if size <= 100.0:
            scale = 400.0 if size <= 1.0 else 4.0
            hint = f'; they are likely a duty: write 1500 + {scale:g} times each'
        raise reader.error(
            f'has pulse widths from {low:g} to {high:g}; expected µs, '
            f'{_PULSES[0]:g} to {_PULSES[1]:g}{hint}'
        )
    negative = np.flatnonzero(rows[:, 2] < -THRUST_NOISE * np.abs(rows[:, 2]).max())
    if len(negative):
        row = int(negative[0])
        raise reader.error(
            f'has a power of {rows[row, 2]:g} W at {rows[row, 0]:g} µs{_row(reader, row)}; '
            'expected 0 or more: thrust and power are likely swapped'
        )


def _read_curve(reader: Reader) -> np.ndarray:
    """Return a <curve>'s rows; the sign of rpm is taken from the thrust."""
    texts = (reader.element.text or '').split()
    if len(texts) % 4 or len(texts) < 8:
        raise reader.error(
            f'has {len(texts)} numbers; expected rows of four: pwm_us thrust_N power_W rpm'
        )
    rows = reader.numbers({len(texts)}).reshape(-1, 4)
    _check_columns(reader, rows)
    if np.any(np.diff(rows[:, 0]) <= 0):
        raise reader.error('pulse widths do not rise; expected each row above the one before')
    if not np.any(rows[:, 1] == 0.0):
        raise reader.error('has no row with zero thrust; expected the dead zone to be in it')
    rows[:, 1] = _rising_thrust(reader, rows)
    rows[:, 3] *= RPM * np.sign(rows[:, 1])
    return rows


def _curve_at_voltage(
    reader: Reader, curves: list[tuple[float, np.ndarray]], voltage: float | None
) -> np.ndarray:
    """Return one curve for a supply voltage, linear between the two nearest tables.

    Outside of the tables the nearest one is scaled (:func:`scaled_curve`).
    """
    curves = sorted(curves, key=lambda c: c[0])
    if voltage is None:
        return curves[-1][1]
    volts = [c[0] for c in curves]
    nearest, curve = curves[0] if voltage <= volts[0] else curves[-1]
    if not volts[0] < voltage < volts[-1]:
        low, high = (nearest * scale for scale in SCALES)
        if not low <= voltage <= high:
            raise reader.error(
                f'is measured at {nearest:g} V and the supply has {voltage:g} V, too far to '
                f'scale; expected {low:.3g} to {high:.3g} V, or a table near it, with its voltage='
            )
        return scaled_curve(curve, voltage / nearest)
    upper = int(np.searchsorted(volts, voltage))
    (v0, a), (v1, b) = curves[upper - 1], curves[upper]
    fraction = (voltage - v0) / (v1 - v0)
    pwm = np.union1d(a[:, 0], b[:, 0])

    def column(index: int) -> np.ndarray:
        low = np.interp(pwm, a[:, 0], a[:, index])
        return (1 - fraction) * low + fraction * np.interp(pwm, b[:, 0], b[:, index])

    return np.stack([pwm, column(1), column(2), column(3)], axis=1)


@declaration(frozen=True, kw_only=True)
class MeasuredAt:
    """A thrust curve's supply voltage."""

    voltage: float = number(
        CURVE_VOLTAGE, 1.0, 1000.0, 'V', 'supply when it was measured', place='attribute'
    )


@declaration(frozen=True, kw_only=True)
class CurveElement(MeasuredAt):
    """<curve>: thrust, power and speed by pulse width."""

    reader: Reader
    name: str = text('name that thrusters give', REQUIRED, place='attribute')
    rows: np.ndarray = special(
        _read_curve, None, 'rows of pwm µs, thrust N, power W, rpm', place='content'
    )


@declaration(frozen=True, kw_only=True)
class LinearElement(MeasuredAt):
    """<linear>: thrust proportional to the pulse width beyond a dead zone."""

    reader: Reader
    pos_force: float = number(50.0, 0.0, 1e5, 'N', 'thrust at 1900 µs', place='attribute')
    neg_force: float = number(40.0, 0.0, 1e5, 'N', 'thrust back at 1100 µs', place='attribute')
    dead_zone: float = number(
        35.0, 0.0, 399.0, 'µs', 'half the width of the dead zone', place='attribute'
    )


@declaration(frozen=True, kw_only=True)
class ThrusterElement(PlacedElement):
    """<thruster>."""

    reader: Reader
    name: str = text('name', REQUIRED, place='attribute')
    direction: str = choice(
        ('cw', 'ccw'), 'turn seen from behind, along its axis', 'ccw', place='attribute'
    )
    curve: str | None = text('name of a <curve>', None, place='attribute')
    linear: LinearElement | None = nested(LinearElement, 'linear thrust, in place of a curve')
    diameter: float = number(0.0, 0.0, 10.0, 'm', 'diameter D of the propeller')
    time_constant: float = number(0.0, 0.0, 60.0, 's', 'lag of the thrust')
    reaction_torque: float = number(0.0, 0.0, 10.0, 'm', 'reaction torque per thrust')
    thrust_deduction: float = number(
        0.0, -1.0, 0.9, '', 'lost fraction of the thrust; below 0: more than its curve has'
    )
    zero_thrust_advance_ratio: float = number(0.0, 0.0, 10.0, '', 'J₀ = u/(n D) of no thrust')
    ventilation: bool = truth(ThrusterSpec.ventilates, 'whether it loses thrust near the surface')
    azimuth: AzimuthElement | None = nested(AzimuthElement, 'servo that turns it')
    propeller: PropellerElement | None = nested(
        PropellerElement, 'propeller in open water, in place of a curve'
    )
    cross_flow: np.ndarray | None = special(
        _read_cross_flow, None, 'rows of u/U_jet and fraction of the thrust'
    )


@declaration(frozen=True, kw_only=True)
class ThrustersElement:
    """<thrusters>."""

    curve: tuple[CurveElement, ...] = nested(CurveElement, 'thrust curves', many=True)
    thruster: tuple[ThrusterElement, ...] = nested(ThrusterElement, 'thrusters', many=True)


def _curves_by_name(
    curves: Iterable[CurveElement], voltage: float | None
) -> dict[str, np.ndarray]:
    tables: dict[str, list[CurveElement]] = {}
    for curve in curves:
        same = tables.setdefault(curve.name, [])
        if any(c.voltage == curve.voltage for c in same):
            text = f'two tables for {curve.voltage:g} V; expected one per voltage'
            raise curve.reader.error(text)
        same.append(curve)
    return {
        name: _curve_at_voltage(same[-1].reader, [(c.voltage, c.rows) for c in same], voltage)
        for name, same in tables.items()
    }


def _curve_of(
    thruster: ThrusterElement,
    curves: dict[str, np.ndarray],
    voltage: float | None,
    propeller: np.ndarray | None,
) -> np.ndarray:
    linear, name = thruster.linear, thruster.curve
    if sum(kind is not None for kind in (linear, name, propeller)) != 1:
        raise thruster.reader.error(
            'expected one of: a curve="..." attribute, a <linear> child, a <propeller> child'
        )
    if propeller is not None:
        return propeller  # at the voltage of the supply
    if linear is not None:
        curve = dead_zone_curve(linear.pos_force, linear.neg_force, linear.dead_zone)
        return _curve_at_voltage(linear.reader, [(linear.voltage, curve)], voltage)
    if name not in curves:
        raise thruster.reader.error(
            f'unknown curve {name!r}; {expected_one_of(name, sorted(curves))}'
        )
    return curves[name]


def _thruster(
    element: ThrusterElement,
    curves: dict[str, np.ndarray],
    voltage: float | None,
    hinges: Callable[[str], Any],
    density: float,
) -> ThrusterSpec:
    position, axis = _position_and_axis(element.origin)
    propeller = rows = None
    if element.propeller is not None:
        propeller, rows = read_propeller(element.propeller, element.diameter, density, voltage)
    # J₀ n D with n in rev/s is J₀ D / 2π per rad/s.
    pitch = element.zero_thrust_advance_ratio * element.diameter
    return ThrusterSpec(
        name=element.name,
        position=position,
        axis=axis,
        curve=_curve_of(element, curves, voltage, rows),
        # A propeller that turns clockwise seen from behind (along +axis) exerts a torque
        # on the body counter-clockwise about the axis.
        handedness=-1.0 if element.direction == 'cw' else 1.0,
        reaction_torque=element.reaction_torque if propeller is None else propeller.torque_arm,
        time_constant=element.time_constant,
        zero_thrust_pitch=pitch / (2 * np.pi),
        rotor_radius=(element.diameter or T200_DIAMETER) / 2,
        ventilates=element.ventilation,
        thrust_deduction=element.thrust_deduction,
        azimuth=read_azimuth(element.azimuth, position, axis, hinges),
        propeller=propeller,
        cross_flow=element.cross_flow,
    )


def read_thrusters(
    root: Reader | None, voltage: float | None, hinges: Callable[[str], Any], density: float
) -> ThrusterSet:
    """Return the <thrusters> of a robot.

    Args:
        root: the element, or None.
        voltage: supply, V; curves of one name are interpolated or scaled to it (default: the
            one of the highest voltage).
        hinges: see :func:`~marine_sim_ros.model.servos.read_azimuth`.
        density: of the water at trim, kg/m³.

    Raises:
        ModelError: anything in it that is unknown, missing, doubled or out of range.
    """
    if root is None:
        return thruster_set([])
    element = root.read(ThrustersElement)
    curves = _curves_by_name(element.curve, voltage)
    specs = [
        _thruster(thruster, curves, voltage, hinges, density) for thruster in element.thruster
    ]
    names = [s.name for s in specs]
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f'{root.source}: two thrusters are named {name!r}')
    return replace(thruster_set(specs), voltage=voltage)
