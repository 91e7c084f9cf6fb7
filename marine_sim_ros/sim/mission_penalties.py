# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Penalties of a mission: rules, and the points that a run loses by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.schema import REQUIRED, declaration, nested, number, special
from marine_sim_ros.core.state import State
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.silt import PERIOD, stirred_mass
from marine_sim_ros.sim.mission_states import MissionStates, durations

__all__ = ['PenaltyResult', 'Penalties', 'penalty_results']

_BOUND = 1e6
_GRAMS = 1e3
_WATT_SECONDS = 3600.0


@declaration(frozen=True, kw_only=True)
class _Contact:
    """Penalty of collisions: points per impulse of the contact force beyond a threshold."""

    force: float = number(10.0, 0.0, _BOUND, 'N', 'contact force that is free')
    points: float = number(1.0, 0.0, _BOUND, '1/(N s)', 'points for each N s beyond')


@declaration(frozen=True, kw_only=True)
class _Depth:
    """Penalty of depth."""

    limit: float = number(REQUIRED, 0.0, 1.2e4, 'm', 'greatest depth that is free')
    points: float = number(5.0, 0.0, _BOUND, '1/s', 'points for each second below')


@declaration(frozen=True, kw_only=True)
class _Tether:
    """Penalty of the tether's pull on the vehicle."""

    tension: float = number(REQUIRED, 0.0, _BOUND, 'N', 'greatest tension that is free')
    points: float = number(2.0, 0.0, _BOUND, '1/s', 'points for each second above')


def _read_places(item: YamlReader) -> np.ndarray:
    places = [[x.number(-_BOUND, _BOUND) for x in place.items()] for place in item.items()]
    if not places or any(len(place) != 2 for place in places):
        raise item.error(': expected a list of one or more places [x, y]')
    return np.array(places)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Turns:
    """Penalty of a tether that lies around an obstacle, seen from above."""

    anchor: tuple[float, float] = number(
        REQUIRED, -_BOUND, _BOUND, 'm', 'x and y of the end of the tether, map', size=2
    )
    around: np.ndarray = special(
        _read_places, REQUIRED, 'places [x, y] of upright obstacles such as piles, map', unit='m'
    )
    free: float = special(
        YamlReader.angle, np.pi, 'angle around an obstacle that is free; half a turn: it touches',
        unit='rad',
    )  # fmt: skip
    points: float = number(2.0, 0.0, _BOUND, '1/s', 'points for each second and obstacle')


@declaration(frozen=True, kw_only=True)
class _Silt:
    """Penalty of sediment that jets and contacts stir up; the environment needs `sediment`."""

    free: float = number(0.0, 0.0, _BOUND, 'g/s', 'rate that is free')
    points: float = number(1.0, 0.0, _BOUND, '1/g', 'points for each gram beyond')


@declaration(frozen=True, kw_only=True)
class _Energy:
    """Penalty of the thrusters' energy, by their curves of power over thrust."""

    free: float = number(REQUIRED, 0.0, _BOUND, 'W h', 'energy that is free')
    points: float = number(1.0, 0.0, _BOUND, '1/(W h)', 'points for each W h beyond')


@declaration(frozen=True, kw_only=True)
class _Time:
    """Penalty of time."""

    par: float = number(REQUIRED, 0.0, _BOUND, 's', 'duration that is free')
    points: float = number(0.2, 0.0, _BOUND, '1/s', 'points for each second beyond')


@declaration(frozen=True, kw_only=True)
class Penalties:
    """Penalties of a mission; missing ones do not apply."""

    contact: _Contact | None = nested(_Contact, 'collisions')
    depth: _Depth | None = nested(_Depth, 'depth')
    tether: _Tether | None = nested(_Tether, 'tension of the tether')
    turns: _Turns | None = nested(_Turns, 'tether around obstacles')
    silt: _Silt | None = nested(_Silt, 'sediment that is stirred up')
    energy: _Energy | None = nested(_Energy, 'energy of the thrusters')
    time: _Time | None = nested(_Time, 'duration')

    @property
    def need_thrust(self) -> bool:
        """Whether a rule depends on the thrusts."""
        return self.silt is not None or self.energy is not None


@dataclass(frozen=True)
class PenaltyResult:
    """Points lost by a rule.

    Attributes:
        name: of the rule.
        amount: impulse, mass, energy or duration beyond the threshold.
        unit: of the amount.
        points: lost points.
        spans: times (begin, end) at which the rule was broken, s.
    """

    name: str
    amount: float
    unit: str
    points: float
    spans: tuple[tuple[float, float], ...]


def penalty_results(
    rules: Penalties, run: MissionStates, setting: Callable[[], tuple[Vehicle, Environment]]
) -> list[PenaltyResult]:
    """Return the results of the rules that a mission has.

    Each is the integral of a rate: a sum over ticks of the rate at a tick times the time to the
    next one.

    Args:
        setting: returns the vehicle and the environment; called for rules that need thrusts.

    Raises:
        ScenarioError: a rule needs thrusts that the run does not have.
    """
    step, result = durations(run.time), []

    def add(name: str, rate: np.ndarray, unit: str, points: float) -> None:
        amount = float(np.sum(rate * step))
        spans = _spans((rate > 0.0) & (step > 0.0), run.time)
        result.append(PenaltyResult(name, amount, unit, points * amount, spans))

    if rules.contact is not None:
        excess = np.maximum(_pull(run, 'contact') - rules.contact.force, 0.0)
        add('contact', excess, 'N s', rules.contact.points)
    if rules.depth is not None:
        deep = -run.position[:, 2] > rules.depth.limit
        add('depth', deep.astype(float), 's', rules.depth.points)
    if rules.tether is not None:
        taut = _pull(run, 'tether') > rules.tether.tension
        add('tether', taut.astype(float), 's', rules.tether.points)
    if rules.turns is not None:
        wound = np.sum(_winding(run, rules.turns) > rules.turns.free, axis=1)
        add('turns', wound.astype(float), 's', rules.turns.points)
    if rules.silt is not None:
        excess = np.maximum(_GRAMS * _silt_rate(run, *setting()) - rules.silt.free, 0.0)
        add('silt', excess, 'g', rules.silt.points)
    if rules.energy is not None:
        power = _power(run, setting()[0]) / _WATT_SECONDS
        used = np.cumsum(power * step)
        excess = np.where(used > rules.energy.free, power, 0.0)
        add('energy', excess, 'W h', rules.energy.points)
    if rules.time is not None:
        late = run.time - run.time[0] >= rules.time.par
        add('time', late.astype(float), 's', rules.time.points)
    return result


def _pull(run: MissionStates, name: str) -> np.ndarray:
    """Return the magnitude (n,) of a force, N; 0 if the run does not have it."""
    rows = run.loads.get(name)
    return np.zeros(len(run.time)) if rows is None else np.linalg.norm(rows[:, :3], axis=1)


def _winding(run: MissionStates, turns: _Turns) -> np.ndarray:
    """Return the angle of the tether around each of k obstacles (n, k), rad.

    It is the angle at an obstacle from the anchor to the vehicle, which follows the vehicle's
    path; the tether of the first tick is straight. Beyond π it bends around the obstacle.
    """
    arms = run.position[:, None, :2] - turns.around
    angle = np.unwrap(np.arctan2(arms[..., 1], arms[..., 0]), axis=0)
    anchor = np.array(turns.anchor) - turns.around
    begin = angle[0] - np.arctan2(anchor[:, 1], anchor[:, 0])
    straight = np.arctan2(np.sin(begin), np.cos(begin))
    return np.abs(straight + angle - angle[0])


def _thrust(run: MissionStates) -> np.ndarray:
    if run.thrust is None:
        raise ScenarioError(
            'the run has no thrusts; expected thrusters/state at every tick, for the penalties '
            'silt and energy'
        )
    return run.thrust


def _silt_rate(run: MissionStates, vehicle: Vehicle, environment: Environment) -> np.ndarray:
    """Return the mass per time (n,), kg/s, that was stirred up: that of the last of its steps."""
    thrust, interval = _thrust(run), PERIOD / 1e9
    number = np.floor(run.time / interval + 1e-6).astype(int)
    first = np.flatnonzero(np.append(True, np.diff(number) > 0))
    states = State(run.position[first], run.orientation[first], run.velocity[first])
    rates = stirred_mass(vehicle, states, environment, thrust[first])
    return np.repeat(rates, np.diff(np.append(first, len(run.time))))


def _power(run: MissionStates, vehicle: Vehicle) -> np.ndarray:
    """Return the electrical power (n,) of the thrusters, W."""
    return np.sum(vehicle.thrusters.power_of_thrust(_thrust(run)), axis=1)


def _spans(broken: np.ndarray, time: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return the times (begin, end) of the intervals of true ticks."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], broken, [False]]).astype(int)))
    return tuple(
        (float(time[a]), float(time[min(b, len(time) - 1)]))
        for a, b in zip(edges[::2], edges[1::2], strict=True)
    )
