# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Verdict on a vehicle: full thrust, steady speed, drag and buoyancy in three lines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.state import State
from marine_sim_ros.doctor.context import DescriptionContext, Diagnostic
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.thrusters import THRUSTERS, thrusters
from marine_sim_ros.sim.run_setup import undamped_motions, unit_drag

__all__ = ['Verdict', 'full_thrust', 'judge_motion', 'steady_speed_under', 'unbounded_speed']


# Total thrust of all thrusters.

_PULSE_LIMITS = (PWM_MIN, PWM_MAX)


def best_pulses(thrusters: ThrusterSet, direction: np.ndarray) -> np.ndarray:
    """Return the pulse widths (n,) in µs with which each thruster pushes most along a vector (3,).

    A thruster across the direction, or with no thrust along it, stays neutral.
    """
    count = len(thrusters)
    along = thrusters.axis @ direction
    ends = [
        np.asarray(thrusters.thrust_of_pwm(np.full(count, pwm))) * along for pwm in _PULSE_LIMITS
    ]
    pulses = np.where(ends[0] > ends[1], *_PULSE_LIMITS)
    used = (np.abs(along) > 0.1) & (np.maximum(ends[0], ends[1]) > 0)
    return np.where(used, pulses, PWM_NEUTRAL)


def full_thrust(thrusters: ThrusterSet, direction: np.ndarray) -> float:
    """Return the largest force (N) along a unit vector (3,), each thruster at its best."""
    if len(thrusters) == 0:
        return 0.0
    thrust = np.asarray(thrusters.thrust_of_pwm(best_pulses(thrusters, direction)))
    neutral = np.asarray(thrusters.thrust_of_pwm(np.full(len(thrusters), PWM_NEUTRAL)))
    return float((thrust - neutral) @ (thrusters.axis @ direction))


# Verdict on a vehicle in three lines: thrust, drag, buoyancy.

MAX_PLAUSIBLE_SPEED = 40.0
"""m/s; the fastest torpedoes with propellers reach about 36 m/s."""
MIN_DRAG_COEFFICIENT = 0.02
"""Drag over ½ ρ V^(2/3) v² of a slender hull: friction of 0.003 (ITTC 1957 at Re 10⁷) on the area
of a spheroid of 5:1, 6.6 V^(2/3). No hull of a volume V drags much less."""
_DEEP = np.array([0.0, 0.0, -100.0])
_LEVEL = np.array([0.0, 0.0, 0.0, 1.0])
_MAX_SEARCH_SPEED = 1e3
"""m/s; upper end of the search for a steady speed."""
_SPEED_TOLERANCE = 1e-6
"""m/s; error of a steady speed."""
_DIRECTIONS = (
    ('ahead', 0, 1.0),
    ('astern', 0, -1.0),
    ('to port', 1, 1.0),
    ('to starboard', 1, -1.0),
    ('up', 2, 1.0),
    ('down', 2, -1.0),
)
_SETTLED_TIME = 1e6
"""s; the rotors have come to their speeds."""
_MAX_SUBMERGED_DISPLACEMENT = 1.15
"""Displaced mass over mass above which a vehicle lives at the surface."""
_SEEN_TILT = 3.0
"""Degrees from level at rest that are reported; ballast trims a vehicle to less."""
_MAX_RELATIVE_DISPLACEMENT, _MIN_RELATIVE_DISPLACEMENT = 40.0, 1 / 2.4
"""Displaced mass over mass: of a hull lighter than balsa wood, and of solid concrete."""
_NEGLIGIBLE = 1e-6
"""N; a smaller force moves nothing."""


class Flaw(NamedTuple):
    """A result that no marine vehicle can have: ``speed`` or ``displacement``, and a sentence."""

    kind: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """Three lines on a vehicle, and what in it is not physical.

    Attributes:
        lines: what moves it, what damps it, what floats it.
        flaws: results that no marine vehicle can have; empty for none.
        powered: whether thrusters push, or actuators exert a wrench by their state.
    """

    lines: tuple[str, str, str]
    flaws: tuple[Flaw, ...]
    powered: bool


def steady_speed_under(
    vehicle: Vehicle, axis: int, force: float, pulses: np.ndarray | None = None
) -> float:
    """Return the speed (m/s) at which drag balances a force, or thrust that falls with speed.

    Solves X(v) + F(v) = 0 by bisection, deep and level, X the drag of lumped terms, elements and
    hull.

    Args:
        axis: 0 surge, 1 sway, 2 heave; the motion is along the direction of the force.
        force: F along the axis at rest, N, of either sign.
        pulses: pulse widths (n,) in µs of the thrusters that make the force; None: it is constant.

    Returns:
        The speed, positive; infinite where the force still wins at 1000 m/s.
    """
    sign = 1.0 if force >= 0 else -1.0
    stopped = np.zeros(len(vehicle.thrusters))

    def net_force(speed: float) -> float:
        state = State(_DEEP, _LEVEL, sign * speed * np.eye(6)[axis])
        water = Environment()
        total = np.asarray(drag(vehicle, state, water))[axis]
        if pulses is None:
            return sign * float(total) + abs(force)
        pushed = thrusters(vehicle, state, water, stopped, pwm=pulses, dt=_SETTLED_TIME)[0]
        return sign * float(total + np.asarray(pushed.wrench)[axis])

    low, high = 0.0, _MAX_SEARCH_SPEED
    if net_force(high) > 0:
        return float('inf')
    while high - low > _SPEED_TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if net_force(middle) > 0 else (low, middle)
    return (low + high) / 2


@lru_cache(maxsize=1)
def judge_motion(vehicle: Vehicle) -> Verdict:
    """Return the verdict on a vehicle: forces, drag, net weight and steady speeds.

    A steady speed above :data:`MAX_PLAUSIBLE_SPEED` under its own thrust or net weight is a flaw,
    and so is a vehicle that displaces no water, or far more or less than it weighs. Without such
    a flaw, a speed under thrust above that of a hull of :data:`MIN_DRAG_COEFFICIENT` is one.
    """
    flaws: list[Flaw] = []
    doubts: list[tuple[float, str]] = []
    thrust, pushes = _thrust_line(vehicle, flaws, doubts)
    lines = (thrust, _drag_line(vehicle), _float_line(vehicle, flaws))
    steers = any(a.wrench is not None for a in actuators_of(vehicle))
    if doubts and not flaws:
        flaws.append(Flaw('speed', max(doubts)[1]))
    return Verdict(lines, tuple(flaws), pushes or steers)


def slender_hull_speed(vehicle: Vehicle, force: float) -> float:
    """Speed (m/s) at which a slender hull of the vehicle's volume drags by a force (N).

    v = √(2 F/(ρ C V^(2/3))), C of :data:`MIN_DRAG_COEFFICIENT`; V is displaced, afloat m/ρ.
    """
    density = vehicle.buoyancy.fluid_density
    volume = min(vehicle.buoyancy.volume, vehicle.inertia.mass / density)
    return float(np.sqrt(2 * force / (density * MIN_DRAG_COEFFICIENT * volume ** (2 / 3))))


def _speed_text(
    vehicle: Vehicle,
    axis: int,
    force: float,
    how: str,
    flaws: list[Flaw],
    doubts: list[tuple[float, str]],
    pulses: np.ndarray | None = None,
) -> str:
    """Return a steady speed as text; one that is not physical becomes a flaw or a doubt."""
    speed = steady_speed_under(vehicle, axis, force, pulses)
    if pulses is not None and vehicle.buoyancy.volume > 0:
        hull = slender_hull_speed(vehicle, abs(force))
        if speed > hull:
            sentence = (
                f'{abs(force):.3g} N {how} give {speed:.2g} m/s, a slender hull of its volume '
                f'{hull:.2g} m/s: its drag in {BODY_AXES[axis]} is too small, or the thrust too '
                'large'
            )
            doubts.append((speed / hull, sentence))
    text = 'without end' if np.isinf(speed) else f'{speed:.2g} m/s'
    if speed > MAX_PLAUSIBLE_SPEED:
        pace = 'a speed without bound' if np.isinf(speed) else text
        sentence = (
            f'{abs(force):.3g} N {how} give {pace}: its drag in {BODY_AXES[axis]} is missing or '
            'hundreds of times too small'
        )
        flaws.append(Flaw('speed', sentence))
    return text


def _count_text(count: int, noun: str) -> str:
    return f'{count} {noun}{"" if count == 1 else "s"}'


def _thrust_line(
    vehicle: Vehicle, flaws: list[Flaw], doubts: list[tuple[float, str]]
) -> tuple[str, bool]:
    """Return the line on what moves it, and whether thrusters push at all."""
    parts = []
    for name, axis, sign in _DIRECTIONS:
        along = sign * np.eye(3)[axis]
        force = full_thrust(vehicle.thrusters, along)
        if force > _NEGLIGIBLE:
            pulses = best_pulses(vehicle.thrusters, along)
            speed = _speed_text(vehicle, axis, sign * force, name, flaws, doubts, pulses)
            parts.append(f'{force:.3g} N {name} ({speed})')
    count = len(vehicle.thrusters)
    counts = {a: len(a.names(vehicle)) for a in actuators_of(vehicle)}
    turning = sum(k for a, k in counts.items() if a.source == THRUSTERS.name)
    turns = f' ({turning} turning)' if turning else ''
    what = [f'{_count_text(count, "thruster")}{turns}'] if count else []
    what += [_count_text(k, a.part) for a, k in counts.items() if a.wrench is not None]
    pushes = bool(parts)
    if count and not pushes:
        parts = ['no thrust at any pulse width']
    line = f'moves: {", ".join(what) or "nothing moves it"}{": " if parts else ""}'
    return line + ', '.join(parts), pushes


def _drag_line(vehicle: Vehicle) -> str:
    """Return the drag at 1 m/s and 1 rad/s on each axis, as text."""
    pulls = unit_drag(vehicle)
    straight = ', '.join(f'{p:.3g}' for p in pulls[:3])
    turning = ', '.join(f'{p:.3g}' for p in pulls[3:])
    free = undamped_motions(vehicle)
    text = f'damps: {straight} N at 1 m/s, {turning} N·m at 1 rad/s'
    return f'{text}; nothing damps {", ".join(free)}' if free else text


def _float_line(vehicle: Vehicle, flaws: list[Flaw]) -> str:
    mass = vehicle.inertia.mass
    water = vehicle.buoyancy.fluid_density * vehicle.buoyancy.volume
    text = f'floats: {mass:.4g} kg displace {water:.4g} kg of water'
    if water <= 0:
        flaws.append(Flaw('displacement', 'it displaces no water, so it falls'))
        return text
    if not _MIN_RELATIVE_DISPLACEMENT <= water / mass <= _MAX_RELATIVE_DISPLACEMENT:
        flaws.append(
            Flaw(
                'displacement',
                f'{mass:.3g} kg displace {water:.3g} kg of water, as no vehicle does: its mass or '
                'its hull is in another unit, or a part is missing',
            )
        )
        return text
    net = (water - mass) * Environment().gravity
    if water > _MAX_SUBMERGED_DISPLACEMENT * mass:
        return f'{text}: it floats at the surface, {net:.3g} N to spare'
    if abs(net) < 1e-4 * mass * Environment().gravity:
        return f'{text}: neutral{_tilt_text(vehicle)}'
    verb = 'rises' if net > 0 else 'sinks'
    speed = _speed_text(vehicle, 2, net, 'of buoyancy' if net > 0 else 'of net weight', flaws, [])
    pace = f'at {speed}' if speed.endswith('m/s') else speed
    return f'{text}: {net:+.3g} N, it {verb} {pace}{_tilt_text(vehicle)}'


def _tilt_text(vehicle: Vehicle) -> str:
    """Return the tilt at rest under water, if it is large enough to be seen."""
    arm = vehicle.buoyancy.center_of_volume - vehicle.inertia.center_of_mass
    tilt = math.degrees(math.atan2(math.hypot(arm[0], arm[1]), arm[2]))
    if arm[2] <= 0 or tilt < _SEEN_TILT:  # the check righting has what turns over
        return ''
    return (
        f'; it hangs {tilt:.0f}° askew: its centre of buoyancy is ({arm[0]:.3g}, {arm[1]:.3g}) m '
        'beside that of gravity'
    )


def unbounded_speed(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Thrust and net weight end in a speed that a marine vehicle can have."""
    element = context.root.find('hydrodynamics')
    # The check displaced-mass has the others.
    found = [f.text for f in judge_motion(context.vehicle).flaws if f.kind == 'speed']
    if not found:
        return
    text = found[0]
    if len(found) > 1:  # one drag that is missing is one error, whatever pushes
        pushes = ', '.join(one.partition(':')[0] for one in found)
        text = f'{pushes}: its drag is missing or hundreds of times too small'
    if free := undamped_motions(context.vehicle):
        text += f'; nothing damps {", ".join(free)}'
    what_to_do = 'give <linear_damping> or <quadratic_damping>, a hull that drags, or less thrust'
    yield context.error(element, text, what_to_do)
