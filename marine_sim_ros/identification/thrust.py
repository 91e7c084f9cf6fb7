# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Known forces of a fit: thrust of recorded commands, actuators, panels, other packages.

They act as w + G (ν − ν₀): the wrench w and its gradient G by velocity at the measured motion ν₀.
The rate of slamming is that of the measured motion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle
from marine_sim_ros.physics import FORCES, Actuator, ForceModel, acting_forces, actuators_of
from marine_sim_ros.physics.hull_drag import SweptWater, hull_drag
from marine_sim_ros.physics.thrusters import thrust_wrench

__all__ = [
    'KeptForces',
    'RecordedStates',
    'ThrustCommands',
    'check_pulses',
    'commands_of_pwm',
    'commands_of_thrust',
    'kept_forces',
    'kept_terms',
    'omitted_terms',
    'thruster_pulses',
]


# Thrust of recorded commands, through the first-order lag of the rotors.

_MAX_GRID_STEP = 0.005
"""s; thrust follows its command on a grid at least as fine."""
_COMMAND_TIMEOUT = 1.0
"""s; a command that is older holds no longer, as the thrusters' own time-out has it."""
_SETTLED = 0.5
"""s; rotors have forgotten by then how fast they turned before."""
_UNUSED = 65535.0
_UNIT_SHARE = 0.2
"""Share of pulse widths below which, or of negative numbers above which, the unit is wrong."""
_PULSES = (800.0, 2200.0)
"""µs; anything else (0, 65535) is a channel that is switched off."""


@dataclass(frozen=True, eq=False)
class RecordedStates:
    """Recorded states (m, k) of an actuator at times (m,), s, rising."""

    time: np.ndarray
    state: np.ndarray

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the states (n, k) at times (n,), by straight lines."""
        return np.stack([np.interp(times, self.time, each) for each in self.state.T], axis=-1)


@dataclass(frozen=True, eq=False)
class ThrustCommands:
    """Commanded or known thrust, from each time to the next.

    Attributes:
        time: (m,) s, rising.
        thrust: (m, n) N.
        thrusters: the thrusters that give it.
        lagging: whether rotors have yet to follow: False where the bag has the thrust itself.
        states: states of actuators, by name; missing: 0.
    """

    time: np.ndarray
    thrust: np.ndarray
    thrusters: ThrusterSet
    lagging: bool
    states: Mapping[str, RecordedStates] = field(default_factory=dict)

    def known_mask(self, grid: np.ndarray, step: float) -> np.ndarray:
        """Return a mask of the times (n,) of a grid with known thrust within a step."""

        def is_known(at: np.ndarray) -> np.ndarray:
            newest = np.searchsorted(self.time, at - step / 2, side='right') - 1
            age = at + step / 2 - self.time[np.maximum(newest, 0)]
            return np.asarray((newest >= 0) & (age <= _COMMAND_TIMEOUT + step))

        # How fast rotors turned before the first command nobody knows.
        return is_known(grid) & is_known(grid - _SETTLED) if self.lagging else is_known(grid)

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
        parts = math.ceil(0.5 * step / _MAX_GRID_STEP)
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
        at = start + 0.5 * step * np.arange(len(thrust))
        states = {name: recorded.at(at) for name, recorded in self.states.items()}
        return np.asarray(thrust_wrench(self.thrusters, thrust, states))


def check_pulses(values: np.ndarray, name: str) -> None:
    """Check that commands are pulse widths in µs, apart from channels that are off.

    Raises:
        ParameterError: hardly any is; with what they rather are.
    """
    valid = values[np.isfinite(values) & (values != 0) & (values != _UNUSED)]
    on = (valid >= _PULSES[0]) & (valid <= _PULSES[1])
    # Speeds of rotors may be among pulse widths by their size, but half of them are negative.
    if not valid.size or (on.mean() > _UNIT_SHARE and np.mean(valid < 0) < _UNIT_SHARE):
        return
    low, high = float(valid.min()), float(valid.max())
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


def commands_of_pwm(time: np.ndarray, pwm: np.ndarray, thrusters: ThrusterSet) -> ThrustCommands:
    """Return the thrust that pulse widths (m, w) in µs ask for at times (m,) in s.

    Of more channels than thrusters the first ones count, as autopilots number their motors.

    Raises:
        ParameterError: fewer channels than thrusters.
    """
    thrust = np.asarray(thrusters.thrust_of_pwm(thruster_pulses(pwm, thrusters)))
    return _sort_rows(time, thrust, thrusters, lagging=True)


def thruster_pulses(pwm: np.ndarray, thrusters: ThrusterSet) -> np.ndarray:
    """Return the pulse widths (m, n) in µs of the thrusters among channels (m, w).

    The first channels count; one that is switched off is neutral.

    Raises:
        ParameterError: fewer channels than thrusters, or no pulse widths.
    """
    count = len(thrusters)
    if pwm.shape[1] < count:
        raise ParameterError(
            f'thrusters/pwm has {pwm.shape[1]} channels; '
            f'expected one for each of {count} thrusters: choose the vehicle that was recorded'
        )
    pulses = pwm[:, :count]
    on = (pulses >= _PULSES[0]) & (pulses <= _PULSES[1])
    check_pulses(pulses, 'thrusters/pwm')
    return np.where(on, pulses, float(PWM_NEUTRAL))


def commands_of_thrust(
    time: np.ndarray, state: np.ndarray, thrusters: ThrusterSet
) -> ThrustCommands:
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
    return _sort_rows(time, thrust, thrusters, lagging=False)


def _sort_rows(
    time: np.ndarray, thrust: np.ndarray, thrusters: ThrusterSet, *, lagging: bool
) -> ThrustCommands:
    order = np.argsort(time, kind='stable')
    time, thrust = time[order], thrust[order]
    last = np.append(np.diff(time) > 0, True)
    return ThrustCommands(time[last], thrust[last], thrusters, lagging)


# Forces that a fit takes from the description: of actuators, of panels, of other packages.

_BLOCK = 64
"""Samples that are computed at a time: panels take memory."""
_DIFFERENCE = 1e-3
"""Of a derivative by velocity, as a fraction of the greatest one."""
_FORCES_BY_NAME = ('thrusters', 'buoyancy', 'drag')
"""Forces that are treated by name."""
_Wrench = Callable[[State, Mapping[str, np.ndarray], np.ndarray], Any]
"""Wrench of motions, states of actuators by name, and thrusts."""


@dataclass(frozen=True, eq=False)
class KeptForces:
    """Kept forces on a grid of n times.

    Attributes:
        wrench: (n, 6) at the measured velocity, N and N·m.
        gradient: (n, 6, 6) derivative by the velocity; None where nothing acts.
    """

    wrench: np.ndarray
    gradient: np.ndarray | None = None

    @property
    def damping(self) -> np.ndarray:
        """(6,) mean of what brakes each axis, N·s/m and N·m·s."""
        if self.gradient is None:
            return np.zeros(6)
        return np.maximum(-np.diagonal(self.gradient, axis1=1, axis2=2).mean(axis=0), 0.0)


def _is_memoryless(force: ForceModel) -> bool:
    """Return whether a state alone determines a force, as that of another package may be."""
    actuated = hasattr(force.step, 'actuator')
    return force.begin is None and not force.needs and not actuated and force.name != 'tether'


def _other_forces(vehicle: Vehicle) -> list[ForceModel]:
    handled = {*_FORCES_BY_NAME, *(a.source for a in _exerting_actuators(vehicle))}
    return [f for f in acting_forces(vehicle, Environment()) if f.name not in handled]


def _exerting_actuators(vehicle: Vehicle) -> list[Actuator]:
    """Return the actuators of a vehicle whose wrench follows from their state."""
    return [a for a in actuators_of(vehicle) if a.wrench is not None]


def _has_panels(vehicle: Vehicle) -> bool:
    return vehicle.hull is not None and vehicle.hull.panels is not None


def kept_terms(vehicle: Vehicle) -> tuple[str, ...]:
    """Return the terms that a fit takes as they are described."""
    damping = vehicle.damping
    terms = {
        'drag elements': damping.elements is not None,
        'lift': damping.lift is not None,
        'modulus damping': damping.modulus is not None,
        'drag of the panels of the hull': _has_panels(vehicle),
    }
    named = [name for name, is_present in terms.items() if is_present]
    actuated = [_label(FORCES[a.source]) for a in _exerting_actuators(vehicle)]
    memoryless = [_label(f) for f in _other_forces(vehicle) if _is_memoryless(f)]
    return (*named, *actuated, *memoryless)


def omitted_terms(vehicle: Vehicle) -> tuple[str, ...]:
    """Return the forces on the vehicle that the model of a fit lacks."""
    terms = {
        'loss of thrust with the speed of advance': vehicle.thrusters.any_inflow_loss,
        'torque of propellers with the speed of advance': vehicle.thrusters.propellers is not None,
    }
    named = [name for name, is_present in terms.items() if is_present]
    return (*named, *(_label(f) for f in _other_forces(vehicle) if not _is_memoryless(f)))


def _label(force: ForceModel) -> str:
    return (force.label or force.name).lower()


def _wrenches(vehicle: Vehicle, water: Environment, tick: float, step: float) -> Sequence[_Wrench]:
    """Return the functions that give the wrenches of kept forces."""
    result: list[_Wrench] = []
    if _has_panels(vehicle):
        result.append(_Hull(vehicle, water, tick, step))
    result += [_Actuated(vehicle, water, actuator) for actuator in _exerting_actuators(vehicle)]
    memoryless = [f.wrench for f in _other_forces(vehicle) if _is_memoryless(f)]

    def sum_of_others(state: State, states: Mapping[str, np.ndarray], thrust: np.ndarray) -> Any:
        return sum(wrench(vehicle, state, water) for wrench in memoryless)

    return [*result, sum_of_others] if memoryless else result


class _Actuated:
    """The wrench of an actuator in its recorded state, or at zero."""

    def __init__(self, vehicle: Vehicle, water: Environment, actuator: Actuator) -> None:
        self._vehicle, self._water, self._actuator = vehicle, water, actuator

    def __call__(
        self, state: State, states: Mapping[str, np.ndarray], thrust: np.ndarray
    ) -> np.ndarray:
        """Return wrenches (n, 7, 6)."""
        actuator_state = states.get(self._actuator.name, self._actuator.zero_state(self._vehicle))
        assert self._actuator.wrench is not None
        return np.asarray(
            self._actuator.wrench(self._vehicle, state, self._water, actuator_state, thrust)
        )


class _Hull:
    """The wrench of a hull's panels, block by block along a run."""

    def __init__(self, vehicle: Vehicle, water: Environment, tick: float, step: float) -> None:
        """Start before the first state.

        Args:
            vehicle: a vehicle whose hull has panels.
            water: still water of the run.
            tick: step of what made the run, s: slamming is bounded by it.
            step: s between states.
        """
        self._vehicle, self._water, self._tick, self._step = vehicle, water, tick, step
        self._before: np.ndarray | None = None

    def __call__(
        self, state: State, states: Mapping[str, np.ndarray], thrust: np.ndarray
    ) -> np.ndarray:
        """Return wrenches (n, 7, 6); the first of each seven is as measured."""
        del states, thrust
        water = self._water
        flow = np.asarray(hull_drag(self._vehicle, state, water, None, dt=0.0)[1].flow)
        before = flow[:1, 0] if self._before is None else self._before
        self._before = flow[-1:, 0]
        change = (flow[:, 0] - np.concatenate([before, flow[:-1, 0]])) * (self._tick / self._step)
        memory = SweptWater(flow - change[:, None])
        return np.asarray(hull_drag(self._vehicle, state, water, memory, dt=self._tick)[0])


def kept_forces(
    vehicle: Vehicle,
    state: State,
    states: Mapping[str, np.ndarray],
    thrust: np.ndarray,
    water: Environment,
    *,
    tick: float,
    step: float,
) -> KeptForces:
    """Return the kept forces of measured states, and their derivatives by the velocity.

    Args:
        vehicle: the vehicle as it is described.
        state: (n, ...) measured states.
        states: states (n, k) of actuators by name; missing: 0.
        thrust: (n, k) of the thrusters, N.
        water: still water of the run.
        tick: between odometries, s.
        step: s between states.
    """
    wrenches = _wrenches(vehicle, water, tick, step)
    count = len(state.velocity)
    if not wrenches:
        return KeptForces(np.zeros((count, 6)))
    change = _DIFFERENCE * (np.abs(state.velocity).max(axis=0) + 1e-3)
    velocity_changes = np.concatenate([np.zeros((1, 6)), np.diag(change)])
    parts = []
    for first in range(0, count, _BLOCK):

        def seven(values: np.ndarray, first: int = first) -> np.ndarray:
            rows = values[first : first + _BLOCK, None]
            return np.broadcast_to(rows, (len(rows), 7, values.shape[1]))

        at = State(
            seven(state.position),
            seven(state.orientation),
            seven(state.velocity) + velocity_changes,
        )
        actuator_states = {name: seven(values) for name, values in states.items()}
        thrusts = seven(thrust)
        parts.append(sum(np.asarray(wrench(at, actuator_states, thrusts)) for wrench in wrenches))
    values = np.concatenate(parts)
    gradient = np.swapaxes((values[:, 1:] - values[:, :1]) / change[:, None], 1, 2)
    return KeptForces(values[:, 0], gradient)
