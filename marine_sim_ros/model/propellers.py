# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Propellers in open water: coefficients in four quadrants, B-series polynomials, motors.

With V_a the speed of advance, n the revolutions per second and D the diameter: J = V_a/(n D),
K_T = T/(ρ n² D⁴), K_Q = Q/(ρ n² D⁵). In all quadrants β = atan2(V_a, 0.7 π n D),
C_T* = T/(½ ρ V_r² π/4 D²) and C_Q* = Q/(½ ρ V_r² π/4 D³) with V_r² = V_a² + (0.7 π n D)².
Sources: van Lammeren, van Manen and Oosterveld (1969), The Wageningen B-screw series, SNAME
Transactions 77 (four quadrants); Oosterveld and van Oossanen (1975), Further computer-analyzed
data of the Wageningen B-screw series, International Shipbuilding Progress 22 (polynomials).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import is_numeric
from marine_sim_ros.core.numerics import InterpolationTable, interpolation_table
from marine_sim_ros.core.schema import REQUIRED, choice, declaration, nested, number, special
from marine_sim_ros.model.xml import Reader

__all__ = [
    'PWM_MAX',
    'PWM_MIN',
    'PWM_NEUTRAL',
    'MotorSpec',
    'PropellerElement',
    'PropellerSet',
    'PropellerSpec',
    'RPM',
    'motor_power',
    'propeller_set',
    'read_propeller',
    'wageningen_coefficients',
]

PWM_MIN, PWM_NEUTRAL, PWM_MAX = 1100.0, 1500.0, 1900.0
"""Pulse widths in µs that mean full reverse, stop and full forward."""

TIP = 0.7 * np.pi
"""Speed of a blade at 0.7 of the radius over n D."""
RPM = 2 * np.pi / 60
"""rad/s."""
KNOTS = 17
"""Number of rows of the thrust curve on each side of the dead zone."""
ADVANCE_STEP = 0.01
MAX_ADVANCE = 2.0
"""Of J, where polynomials are evaluated; that of no thrust is less."""

# Rows of C, s, t, u, v in Σ C J^s (P/D)^t (A_E/A_0)^u Z^v, at a Reynolds number of 2·10⁶.
_THRUST_TERMS = """
 0.00880496 0 0 0 0   -0.204554 1 0 0 0     0.166351 0 1 0 0      0.158114 0 2 0 0
-0.147581 2 0 1 0     -0.481497 1 1 1 0     0.415437 0 2 1 0      0.0144043 0 0 0 1
-0.0530054 2 0 0 1     0.0143481 0 1 0 1    0.0606826 1 1 0 1    -0.0125894 0 0 1 1
 0.0109689 1 0 1 1    -0.133698 0 3 0 0     0.00638407 0 6 0 0   -0.00132718 2 6 0 0
 0.168496 3 0 1 0     -0.0507214 0 0 2 0    0.0854559 2 0 2 0    -0.0504475 3 0 2 0
 0.010465 1 6 2 0     -0.00648272 2 6 2 0  -0.00841728 0 3 0 1    0.0168424 1 3 0 1
-0.00102296 3 3 0 1   -0.0317791 0 3 1 1    0.018604 1 0 2 1     -0.00410798 0 2 2 1
-0.000606848 0 0 0 2  -0.0049819 1 0 0 2    0.0025983 2 0 0 2    -0.000560528 3 0 0 2
-0.00163652 1 2 0 2   -0.000328787 1 6 0 2  0.000116502 2 6 0 2   0.000690904 0 0 1 2
 0.00421749 0 3 1 2    0.0000565229 3 6 1 2 -0.00146564 0 3 2 2
"""
_TORQUE_TERMS = """
 0.00379368 0 0 0 0    0.00886523 2 0 0 0  -0.032241 1 1 0 0      0.00344778 0 2 0 0
-0.0408811 0 1 1 0    -0.108009 1 1 1 0    -0.0885381 2 1 1 0     0.188561 0 2 1 0
-0.00370871 1 0 0 1    0.00513696 0 1 0 1   0.0209449 1 1 0 1     0.00474319 2 1 0 1
-0.00723408 2 0 1 1    0.00438388 1 1 1 1  -0.0269403 0 2 1 1     0.0558082 3 0 1 0
 0.0161886 0 3 1 0     0.00318086 1 3 1 0   0.015896 0 0 2 0      0.0471729 1 0 2 0
 0.0196283 3 0 2 0    -0.0502782 0 1 2 0   -0.030055 3 1 2 0      0.0417122 2 2 2 0
-0.0397722 0 3 2 0    -0.00350024 0 6 2 0  -0.0106854 3 0 0 1     0.00110903 3 3 0 1
-0.000313912 0 6 0 1   0.0035985 3 0 1 1   -0.00142121 0 6 1 1   -0.00383637 1 0 2 1
 0.0126803 0 2 2 1    -0.00318278 2 3 2 1   0.00334268 0 6 2 1   -0.00183491 1 1 0 2
 0.000112451 3 2 0 2  -0.0000297228 3 6 0 2 0.000269551 1 0 1 2   0.00083265 2 0 1 2
 0.00155334 0 2 1 2    0.000302683 0 6 1 2 -0.0001843 0 0 2 2    -0.000425399 0 3 2 2
 0.0000869243 3 3 2 2 -0.0004659 0 6 2 2    0.0000554194 1 6 2 2
"""


def _sum_terms(terms: str, advance: np.ndarray, *shape: float) -> np.ndarray:
    rows = np.array(terms.split(), float).reshape(-1, 5)
    factors = np.prod(np.array(shape) ** rows[:, 2:], axis=1)
    return np.asarray((rows[:, 0] * factors) @ advance ** rows[:, 1:2])


def wageningen_coefficients(
    advance: np.ndarray, *, blades: float, pitch_ratio: float, area_ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return K_T and K_Q (m,) of a B-series propeller at J (m,), Reynolds number 2·10⁶.

    Args:
        advance: J, 0 or more.
        blades: Z, 2 to 7.
        pitch_ratio: P/D, 0.5 to 1.4.
        area_ratio: A_E/A_0, 0.3 to 1.05.
    """
    shape = pitch_ratio, area_ratio, blades
    return _sum_terms(_THRUST_TERMS, advance, *shape), _sum_terms(_TORQUE_TERMS, advance, *shape)


# Propellers of a vehicle.

UNLIMITED = 1e9
"""V or A that no motor reaches."""


@dataclass(frozen=True, eq=False)
class MotorSpec:
    """Motor of a propeller, or numbers (n,) of n; defaults: only the load of the shaft is known.

    Attributes:
        torque_constant: k, N m/A, which is also that of the voltage, V s.
        resistance: R of the winding, Ω.
        idle_current: I₀ that friction takes, A.
        inertia: J of rotor and entrained water, kg m²; 0: no equation of motion.
        voltage: of the supply, V.
        max_current: A.
        throttle: 1.0 where the pulse width sets the voltage, 0.0 where it sets the speed.
        heat_capacity: C of the winding, J/K.
        cooling: heat flow to the water per temperature rise, W/K; 0: the winding stays cold.
        max_rise: temperature rise at which no current is left, K.
    """

    torque_constant: Any = 1.0
    resistance: Any = 0.0
    idle_current: Any = 0.0
    inertia: Any = 0.0
    voltage: Any = UNLIMITED
    max_current: Any = UNLIMITED
    throttle: Any = 0.0
    heat_capacity: Any = 1.0
    cooling: Any = 0.0
    max_rise: Any = UNLIMITED

    def speed_at(self, voltage: Any, load: Any) -> np.ndarray:
        """Return steady speeds, rad/s, at voltages U ≥ 0: U = k ω + R (q ω²/k + I₀).

        Args:
            voltage: V.
            load: q, torque of the propeller over ω², N m s².
        """
        constant, driving = self.torque_constant, voltage - self.resistance * self.idle_current
        square = self.resistance * load / constant
        driving = np.maximum(driving, 0.0)
        return np.asarray(2 * driving / (constant + np.sqrt(constant**2 + 4 * square * driving)))

    def max_speed(self, load: Any) -> np.ndarray:
        """Return the speed, rad/s, that voltage and current allow at a load q, N m s²."""
        torque = self.torque_constant * np.maximum(self.max_current - self.idle_current, 0.0)
        return np.minimum(self.speed_at(self.voltage, load), np.sqrt(torque / load))


@dataclass(frozen=True, eq=False)
class PropellerSpec:
    """One propeller; its table has rows of β rad, C_T*, C_Q*, from −π to π.

    Attributes:
        diameter: D, m.
        table: (k, 3).
        wake: w of V_a = (1 − w) V.
        density: ρ of the thrust curve, kg/m³.
    """

    diameter: float
    table: np.ndarray
    wake: float
    density: float
    motor: MotorSpec = MotorSpec()

    def bollard(self, column: int, angle: float) -> float:
        """T/(ω |ω|) N s² (column 1) or Q/(ω |ω|) N m s² (2) at zero advance: β = 0 or π astern."""
        value = abs(float(np.interp(angle, self.table[:, 0], self.table[:, column])))
        disc = np.pi / 4 * self.diameter ** (column + 1)
        return float(value * self.density / 2 * (0.35 * self.diameter) ** 2 * disc)

    @property
    def torque_arm(self) -> float:
        """Q/T at zero advance, m."""
        return self.bollard(2, 0.0) / self.bollard(1, 0.0)


@dataclass(frozen=True, eq=False)
class PropellerSet:
    """Propellers of n thrusters; numbers of a thruster without one are 0, or as stated.

    Attributes:
        present: (n,) 1.0 where there is a propeller, else 0.0.
        diameter: (n,) D, m.
        wake: (n,) w of V_a = (1 − w) V.
        ahead: (n,) rotor speed per root of bollard thrust, rad/s per √N.
        astern: (n,) likewise astern.
        thrust_of_angle: C_T* of β in rad.
        torque_of_angle: C_Q* of β in rad.
        load: (n,) torque over ω² of a vehicle that is held in place, N m s².
        motors: numbers (n,) of the motors.
    """

    present: np.ndarray
    diameter: np.ndarray
    wake: np.ndarray
    ahead: np.ndarray
    astern: np.ndarray
    thrust_of_angle: InterpolationTable
    torque_of_angle: InterpolationTable
    load: np.ndarray
    motors: MotorSpec

    @cached_property
    def any_inertia(self) -> bool:
        """Whether any motor has an equation of motion."""
        inertia: Any = self.motors.inertia
        return not is_numeric(inertia) or bool(np.any(inertia > 0))

    @cached_property
    def blade_radius(self) -> np.ndarray:
        """(n,) 0.7 of the radius, m."""
        return 0.35 * self.diameter

    @cached_property
    def thrust_scale(self) -> np.ndarray:
        """(n,) π/8 D², m²: T = ρ V_r² C_T* times that."""
        return np.pi / 8 * self.diameter**2

    @cached_property
    def torque_scale(self) -> np.ndarray:
        """(n,) π/8 D³, m³: Q = ρ V_r² C_Q* times that."""
        return np.pi / 8 * self.diameter**3


def propeller_set(specs: Sequence[PropellerSpec | None]) -> PropellerSet | None:
    """Stack the propellers of thrusters; None where no thruster has one."""
    if not any(specs):
        return None
    nothing = np.array([[-np.pi, 0.0, 0.0], [0.0, 0.0, 0.0], [np.pi, 0.0, 0.0]])
    none = PropellerSpec(0.0, nothing, 0.0, 1.0)
    full = [none if spec is None else spec for spec in specs]
    present = np.array([float(spec is not None) for spec in specs])
    tables = [spec.table for spec in full]

    def rate(angle: float) -> np.ndarray:
        factor = np.array([spec.bollard(1, angle) for spec in full])
        return present / np.sqrt(np.where(present > 0, factor, 1.0))

    motors = np.array([astuple(spec.motor) for spec in full]).T
    return PropellerSet(
        present=present,
        diameter=np.array([spec.diameter for spec in full]),
        wake=np.array([spec.wake for spec in full]),
        ahead=rate(0.0),
        astern=rate(np.pi),
        thrust_of_angle=interpolation_table([(t[:, 0], t[:, 1]) for t in tables]),
        torque_of_angle=interpolation_table([(t[:, 0], t[:, 2]) for t in tables]),
        load=present * np.array([spec.bollard(2, 0.0) for spec in full]),
        motors=MotorSpec(*motors),
    )


def motor_power(current: Any, speed: Any, torque_constant: Any, resistance: Any) -> Any:
    """Return the electrical power P = I (R I + k ω), W, of motors; arrays of any shape.

    Args:
        current: I, A.
        speed: ω, rad/s, 0 or more.
        torque_constant: k, N m/A.
        resistance: R, Ω.
    """
    return current * (resistance * current + torque_constant * speed)


def propeller_curve(
    spec: PropellerSpec, max_speed: float, astern_speed: float, dead_zone: float
) -> np.ndarray:
    """Return rows (k, 4) of µs, N, W, rad/s at zero advance.

    The pulse width sets the speed, or the voltage of a motor with such an ESC, in proportion.

    Args:
        max_speed: at 1900 µs, rad/s; the motor's limits may allow less.
        astern_speed: at 1100 µs, rad/s.
        dead_zone: half its width, µs.
    """
    motor, rows = spec.motor, []
    constant, resistance = motor.torque_constant, motor.resistance
    for sign, angle, top in ((-1.0, np.pi, astern_speed), (1.0, 0.0, max_speed)):
        load = spec.bollard(2, angle)
        friction = resistance * motor.idle_current / motor.voltage * motor.throttle
        fraction = np.linspace(min(friction, 1.0), 1.0, KNOTS)
        speed = (
            motor.speed_at(fraction * motor.voltage, load) if motor.throttle else fraction * top
        )
        speed = np.minimum(speed, motor.max_speed(load))
        current = load * speed**2 / constant + motor.idle_current
        power = np.where(speed > 0, motor_power(current, speed, constant, resistance), 0.0)
        pulse = PWM_NEUTRAL + sign * (dead_zone + fraction * (PWM_MAX - PWM_NEUTRAL - dead_zone))
        side = [pulse, sign * spec.bollard(1, angle) * speed**2, power, sign * speed]
        rows.append(np.stack(side, axis=1)[:: int(sign)])
    below, above = rows
    doubled = below[-1, 0] == above[0, 0]
    return np.concatenate([below, above[1:] if doubled else above])


# Reads <propeller>.


def _table(reader: Reader, heads: str) -> np.ndarray:
    """Return the rows (k, 3) of a table with increasing first column."""
    texts = (reader.element.text or '').split()
    if len(texts) % 3 or len(texts) < 6:
        raise reader.error(f'has {len(texts)} numbers; expected rows of three: {heads}')
    rows = reader.numbers({len(texts)}).reshape(-1, 3)
    if np.any(np.diff(rows[:, 0]) <= 0):
        raise reader.error(
            'the first column does not rise; expected each row above the one before'
        )
    return rows


def _quadrants(rows: np.ndarray, astern: float) -> np.ndarray:
    """Return the table (k, 3) of β, C_T*, C_Q* in four quadrants of rows (m, 3) of J, K_T, K_Q.

    Beyond the last row both coefficients follow their tangent, and below J = 0 they keep the
    values of J = 0. Astern they are those ahead at (−n, −V_a) times −astern.
    """
    half = np.radians(np.concatenate([np.arange(-90.0, 0.0, 5.0), np.arange(0.0, 91.0)]))
    advance = TIP * np.tan(half[1:-1])
    last, slope = rows[-1], (rows[-1] - rows[-2]) / (rows[-1, 0] - rows[-2, 0])
    excess = np.maximum(advance - last[0], 0.0)
    inside = np.clip(advance, 0.0, last[0])
    ahead = np.zeros((len(half), 2))  # 0 at ±90°, where the rotor speed is zero
    for column in (1, 2):
        value = np.interp(inside, rows[:, 0], rows[:, column]) + slope[column] * excess
        ahead[1:-1, column - 1] = value * 8 / np.pi * (np.cos(half[1:-1]) / TIP) ** 2
    forward = np.column_stack([half, ahead])
    back = np.column_stack([half, -astern * ahead])
    middle = len(half) - 91  # β = 0
    first, second = back[middle:], back[: middle + 1]  # of −180° to −90°, and of 90° to 180°
    half_turn = np.array([np.pi, 0.0, 0.0])
    return np.concatenate([first - half_turn, forward[1:-1], second + half_turn])  # ±90° is shared


def _read_open_water(reader: Reader) -> np.ndarray:
    rows = _table(reader, 'J K_T K_Q')
    if rows[0, 0] != 0.0:
        raise reader.error(f'begins at J = {rows[0, 0]:g}; expected 0')
    if not np.all(rows[0, 1:] > 0.0) or np.any(rows[-1, 1:] > rows[-2, 1:]):
        raise reader.error(
            'expected K_T and K_Q above 0 at J = 0, and neither to rise from the last row but '
            'one to the last'
        )
    return rows


def _read_four_quadrants(reader: Reader) -> np.ndarray:
    rows = _table(reader, 'β° C_T* C_Q*')
    if rows[0, 0] != -180.0 or rows[-1, 0] != 180.0 or np.any(rows[0, 1:] != rows[-1, 1:]):
        raise reader.error('expected β from -180 to 180°, with the same coefficients at both')
    if 0.0 not in rows[:, 0]:
        raise reader.error('has no row at β = 0; expected it: there the vehicle is held in place')
    zero = rows[rows[:, 0] == 0.0][0]
    if np.any(zero[1:] <= 0.0) or np.any(rows[0, 1:] >= 0.0):
        raise reader.error('expected C_T* and C_Q* above 0 at β = 0, and below 0 at ±180°')
    return rows * np.array([np.pi / 180, 1.0, 1.0])


@declaration(frozen=True, kw_only=True)
class WageningenElement:
    """<wageningen>: a B-series propeller."""

    reader: Reader
    blades: int = number(REQUIRED, 2, 7, '', 'number Z of blades', place='attribute', whole=True)
    pitch_ratio: float = number(REQUIRED, 0.5, 1.4, '', 'P/D', place='attribute')
    area_ratio: float = number(REQUIRED, 0.3, 1.05, '', 'A_E/A_0', place='attribute')

    @property
    def rows(self) -> np.ndarray:
        """(m, 3) of J, K_T, K_Q from 0 to the first J without thrust."""
        advance = np.arange(0.0, MAX_ADVANCE, ADVANCE_STEP)
        thrust, torque = wageningen_coefficients(
            advance, blades=self.blades, pitch_ratio=self.pitch_ratio, area_ratio=self.area_ratio
        )
        end = int(np.argmax(thrust <= 0.0)) + 1
        return np.stack([advance, thrust, torque], axis=1)[:end]


@declaration(frozen=True, kw_only=True)
class MotorElement:
    """<motor>: an electric motor with its ESC."""

    reader: Reader
    torque_constant: float = number(
        REQUIRED, 1e-5, 1e3, 'N·m/A', 'torque per current', place='attribute'
    )
    resistance: float = number(0.0, 0.0, 1e3, 'Ω', 'of the winding', place='attribute')
    idle_current: float = number(0.0, 0.0, 1e3, 'A', 'current at no load', place='attribute')
    control: str = choice(
        ('speed', 'voltage'), 'what the pulse width sets', 'speed', place='attribute'
    )
    inertia: float = number(
        0.0, 0.0, 1e5, 'kg·m²', 'of rotor and entrained water', place='attribute'
    )
    voltage: float | None = number(
        None, 1.0, 1e4, 'V', 'supply; default: no limit', place='attribute'
    )
    max_current: float | None = number(
        None, 1e-3, 1e5, 'A', 'limit of the ESC; default: none', place='attribute'
    )
    thermal_resistance: float | None = number(
        None, 1e-6, 1e3, 'K/W', 'winding to water; default: no heating', place='attribute'
    )
    thermal_time_constant: float = number(
        60.0, 1e-3, 1e5, 's', 'of the winding', place='attribute'
    )
    max_rise: float | None = number(
        None, 1.0, 500.0, 'K', 'temperature rise at which the ESC gives no current',
        place='attribute',
    )  # fmt: skip

    def spec(self, supply: float | None) -> MotorSpec:
        """Return the motor.

        Args:
            supply: voltage of the run's supply, V, in place of its own.

        Raises:
            ModelError: numbers that need others.
        """
        voltage = self.voltage if supply is None else supply
        throttle = self.control == 'voltage'
        dynamic = throttle or any(
            value is not None for value in (self.max_current, self.thermal_resistance)
        )
        if dynamic and not (self.inertia and self.resistance):
            raise self.reader.error(
                'has limits or a voltage to follow, and no inertia or no resistance; expected both'
            )
        if throttle and voltage is None:
            raise self.reader.error('has control="voltage" and no voltage; expected it')
        if self.max_rise is not None and self.thermal_resistance is None:
            raise self.reader.error('has max_rise and no thermal_resistance; expected both')
        if self.max_rise is not None and voltage is None and self.max_current is None:
            raise self.reader.error(
                'has max_rise, and neither voltage nor max_current; expected one of them'
            )
        cooling = 0.0 if self.thermal_resistance is None else 1 / self.thermal_resistance
        return MotorSpec(
            self.torque_constant, self.resistance, self.idle_current, self.inertia,
            UNLIMITED if voltage is None else voltage,
            UNLIMITED if self.max_current is None else self.max_current,
            float(throttle), (cooling or 1.0) * self.thermal_time_constant, cooling,
            UNLIMITED if self.max_rise is None else self.max_rise,
        )  # fmt: skip


@declaration(frozen=True, kw_only=True)
class PropellerElement:
    """<propeller>: a propeller whose speed follows the pulse width."""

    reader: Reader
    max_speed: float | None = number(
        None, 1.0, 1e5, 'rpm', 'speed at 1900 µs; default: that of the motor at full voltage',
        place='attribute',
    )  # fmt: skip
    astern_speed: float | None = number(
        None, 1.0, 1e5, 'rpm', 'speed at 1100 µs; default: max_speed', place='attribute'
    )
    dead_zone: float = number(
        0.0, 0.0, 399.0, 'µs', 'half the width of the dead zone', place='attribute'
    )
    wake: float = number(0.0, -0.5, 0.9, '', 'wake fraction w', place='attribute')
    astern: float = number(
        1.0, 0.1, 2.0, '', 'coefficients astern over those ahead', place='attribute'
    )
    wageningen: WageningenElement | None = nested(WageningenElement, 'B-series propeller')
    open_water: np.ndarray | None = special(_read_open_water, None, 'rows of J, K_T, K_Q')
    four_quadrant: np.ndarray | None = special(
        _read_four_quadrants, None, 'rows of β °, C_T*, C_Q*'
    )
    motor: MotorElement | None = nested(MotorElement, 'motor')


def read_propeller(
    element: PropellerElement, diameter: float, density: float, voltage: float | None = None
) -> tuple[PropellerSpec, np.ndarray]:
    """Return a propeller, and its curve (k, 4) of µs, N, W, rad/s.

    Args:
        diameter: D, m.
        density: of the water at trim, kg/m³.
        voltage: of the run's supply, V; None: that of the motor.

    Raises:
        ModelError: no speed, not just one of the three kinds of coefficients, or no diameter.
    """
    models = [element.wageningen, element.open_water, element.four_quadrant]
    if sum(kind is not None for kind in models) != 1:
        raise element.reader.error(
            'expected one of <wageningen>, <open_water> and <four_quadrant>'
        )
    if diameter <= 0.0:
        raise element.reader.error(
            'the thruster has no <diameter>; expected that of the propeller'
        )
    table = element.four_quadrant
    if table is None:
        rows = element.open_water if element.wageningen is None else element.wageningen.rows
        assert rows is not None
        table = _quadrants(rows, element.astern)
    motor = MotorSpec() if element.motor is None else element.motor.spec(voltage)
    spec = PropellerSpec(diameter, table, element.wake, density, motor)
    top = element.max_speed
    if top is None:
        if motor.voltage >= UNLIMITED:
            raise element.reader.error(
                'has no max_speed, and no <motor> with a voltage; expected one of them'
            )
        top = float(motor.max_speed(spec.bollard(2, 0.0))) / RPM
    back = top if element.astern_speed is None else element.astern_speed
    return spec, propeller_curve(spec, top * RPM, back * RPM, element.dead_zone)
