# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrust of recorded commands, through the first-order lag of the rotors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.model.vehicle import ThrusterSet
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL

__all__ = [
    'Angles',
    'Commands',
    'check_pulses',
    'commands_of_pwm',
    'commands_of_thrust',
    'pulses_of',
]

_FINEST = 0.005
"""s; thrust follows its command on a grid at least as fine."""
_LONGEST = 1.0
"""s; a command that is older holds no longer, as the thrusters' own time-out has it."""
_SETTLED = 0.5
"""s; rotors have forgotten by then how fast they turned before."""
_UNUSED = 65535.0
_FEW = 0.2
"""Share of pulse widths below which, or of negative numbers above which, the unit is wrong."""
_PULSES = (800.0, 2200.0)
"""µs; anything else (0, 65535) is a channel that is switched off."""


@dataclass(frozen=True, eq=False)
class Angles:
    """Recorded angles (m, k) of fins or azimuths, rad, at times (m,), s, rising."""

    time: np.ndarray
    angle: np.ndarray

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the angles (n, k) at times (n,), by straight lines."""
        return np.stack([np.interp(times, self.time, each) for each in self.angle.T], axis=-1)


@dataclass(frozen=True, eq=False)
class Commands:
    """Commanded or known thrust, from each time to the next.

    Attributes:
        time: (m,) s, rising.
        thrust: (m, n) N.
        thrusters: the thrusters that give it.
        lagging: whether rotors have yet to follow: False where the bag has the thrust itself.
        azimuths: angles of the azimuths; None: 0.
        fins: angles of the fins; None: 0.
    """

    time: np.ndarray
    thrust: np.ndarray
    thrusters: ThrusterSet
    lagging: bool
    azimuths: Angles | None = None
    fins: Angles | None = None

    def known(self, grid: np.ndarray, step: float) -> np.ndarray:
        """Return at which times (n,) of a grid the thrust within a step is known."""

        def told(at: np.ndarray) -> np.ndarray:
            newest = np.searchsorted(self.time, at - step / 2, side='right') - 1
            age = at + step / 2 - self.time[np.maximum(newest, 0)]
            return np.asarray((newest >= 0) & (age <= _LONGEST + step))

        # How fast rotors turned before the first command nobody knows.
        return told(grid) & told(grid - _SETTLED) if self.lagging else told(grid)

    def thrusts(
        self, start: float, step: float, count: int, time_constant: float | None
    ) -> np.ndarray:
        """Return the thrust at every half step of a grid (2 count − 1, n), from its first time.

        Rotor speed follows its target as a first-order lag, so that s = sgn(F) √|F| does; between
        commands that is exact.

        Args:
            start: first time of the grid, s.
            step: step of the grid, s.
            count: number of times of the grid.
            time_constant: time constant of the rotors, s; None: the thrust is the command.
        """
        parts = math.ceil(0.5 * step / _FINEST)
        fine = start + 0.5 * step / parts * np.arange(2 * (count - 1) * parts + 1)
        newest = np.maximum(np.searchsorted(self.time, fine + 1e-9, side='right') - 1, 0)
        thrust = self.thrust[newest]
        if time_constant is not None:
            decay = math.exp(-0.5 * step / parts / max(time_constant, 1e-6))
            root = np.sign(thrust) * np.sqrt(np.abs(thrust))
            lfilter = require('scipy.signal', 'identify').lfilter
            root, _ = lfilter([0, 1 - decay], [1, -decay], root, axis=0, zi=root[:1])
            thrust = root * np.abs(root)
        return np.asarray(thrust[::parts])

    def wrenches(
        self, start: float, step: float, count: int, time_constant: float | None
    ) -> np.ndarray:
        """Return the wrench of :meth:`thrusts` (2 count − 1, 6)."""
        thrust = self.thrusts(start, step, count, time_constant)
        wrench = thrust @ self.thrusters.effectiveness.T
        set_ = self.thrusters.azimuths
        if set_ is not None and self.azimuths is not None:
            at = start + 0.5 * step * np.arange(len(thrust))
            angle = self.azimuths.at(at) @ set_.turns.T
            cosine, sine = self.thrusters.turned_effectiveness
            wrench = wrench + (thrust * (np.cos(angle) - 1)) @ cosine.T
            wrench = wrench + (thrust * np.sin(angle)) @ sine.T
        return np.asarray(wrench)


def check_pulses(values: np.ndarray, name: str) -> None:
    """Check that commands are pulse widths in µs, apart from channels that are off.

    Raises:
        ParameterError: hardly any is; with what they rather are.
    """
    given = values[np.isfinite(values) & (values != 0) & (values != _UNUSED)]
    on = (given >= _PULSES[0]) & (given <= _PULSES[1])
    # Speeds of rotors may be among pulse widths by their size, but half of them are negative.
    if not given.size or (on.mean() > _FEW and np.mean(given < 0) < _FEW):
        return
    low, high = float(given.min()), float(given.max())
    largest = max(abs(low), abs(high))
    rather = (
        'fractions of full thrust, −1 to 1: 1500 + 400 x is the usual pulse width'
        if largest <= 1.0
        else 'thrust in N or kgf, or per cent'
        if largest <= 400.0
        else 'pulse widths in ns'
        if low >= _PULSES[0] * 1e3 and high <= _PULSES[1] * 1e3
        else 'speeds of the rotors in rpm, or another unit'
    )
    raise ParameterError(
        f'{name}: values from {low:g} to {high:g}, of which {on.mean():.0%} are pulse widths; '
        f'expected {_PULSES[0]:g} to {_PULSES[1]:g} µs. They are likely {rather}'
    )


def commands_of_pwm(time: np.ndarray, pwm: np.ndarray, thrusters: ThrusterSet) -> Commands:
    """Return the thrust that pulse widths (m, w) in µs ask for at times (m,) in s.

    Of more channels than thrusters the first ones count, as autopilots number their motors.

    Raises:
        ParameterError: fewer channels than thrusters.
    """
    thrust = np.asarray(thrusters.thrust_of_pwm(pulses_of(pwm, thrusters)))
    return _sorted(time, thrust, thrusters, lagging=True)


def pulses_of(pwm: np.ndarray, thrusters: ThrusterSet) -> np.ndarray:
    """Return the pulse widths (m, n) in µs of the thrusters among channels (m, w).

    The first channels count; one that is switched off is neutral.

    Raises:
        ParameterError: fewer channels than thrusters, or no pulse widths.
    """
    count = len(thrusters)
    if pwm.shape[1] < count:
        raise ParameterError(
            f'thrusters/pwm has {pwm.shape[1]} channels; '
            f'expected one for each of {count} thrusters'
        )
    pulses = pwm[:, :count]
    on = (pulses >= _PULSES[0]) & (pulses <= _PULSES[1])
    check_pulses(pulses, 'thrusters/pwm')
    return np.where(on, pulses, float(PWM_NEUTRAL))


def commands_of_thrust(time: np.ndarray, state: np.ndarray, thrusters: ThrusterSet) -> Commands:
    """Return the thrust (m, n) in N, rotors (m, n) beside it, that a bag has at times (m,) in s.

    Raises:
        ParameterError: another number of thrusters, or no thrust in the messages.
    """
    count = len(thrusters)
    thrust = state[:, : state.shape[1] // 2]
    if thrust.shape[1] != count or not np.isfinite(thrust).all():
        raise ParameterError(
            f'thrusters/state has the thrust of {thrust.shape[1]} thrusters, or none; '
            f'expected efforts of {count}'
        )
    return _sorted(time, thrust, thrusters, lagging=False)


def _sorted(
    time: np.ndarray, thrust: np.ndarray, thrusters: ThrusterSet, *, lagging: bool
) -> Commands:
    order = np.argsort(time, kind='stable')
    time, thrust = time[order], thrust[order]
    last = np.append(np.diff(time) > 0, True)
    return Commands(time[last], thrust[last], thrusters, lagging)
