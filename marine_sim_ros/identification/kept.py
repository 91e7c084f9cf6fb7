# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces that a fit takes from the description as they are: of fins, panels, other packages.

They act as w + G (ν − ν₀): the wrench w and its gradient G by velocity at the measured motion ν₀.
The rate of slamming is that of the measured motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import ForceModel, acting_forces
from marine_sim_ros.physics.fins import fin_wrench
from marine_sim_ros.physics.hull_drag import SweptWater, hull_drag

__all__ = ['Kept', 'kept_forces', 'kept_terms', 'omitted_terms']

_BLOCK = 64
"""Samples that are computed at a time: panels take memory."""
_DIFFERENCE = 1e-3
"""Of a derivative by velocity, as a fraction of the greatest one."""
_OWN = ('thrusters', 'buoyancy', 'drag', 'fins')
"""Forces that are treated by name."""
_Wrench = Callable[[State, np.ndarray, np.ndarray], Any]


@dataclass(frozen=True, eq=False)
class Kept:
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


def _memoryless(force: ForceModel) -> bool:
    """Return whether a state alone determines a force, as that of another package may be."""
    actuated = hasattr(force.step, 'actuator')
    return force.begin is None and not force.needs and not actuated and force.name != 'tether'


def _others(vehicle: Vehicle) -> list[ForceModel]:
    return [f for f in acting_forces(vehicle, Environment()) if f.name not in _OWN]


def _has_panels(vehicle: Vehicle) -> bool:
    return vehicle.hull is not None and vehicle.hull.panels is not None


def kept_terms(vehicle: Vehicle) -> tuple[str, ...]:
    """Return the terms that a fit takes as they are described."""
    damping = vehicle.damping
    found = {
        'drag elements': damping.elements is not None,
        'lift': damping.lift is not None,
        'modulus damping': damping.modulus is not None,
        'drag of the panels of the hull': _has_panels(vehicle),
        'fins': vehicle.fins is not None,
    }
    named = [name for name, there in found.items() if there]
    return (*named, *(_label(f) for f in _others(vehicle) if _memoryless(f)))


def omitted_terms(vehicle: Vehicle) -> tuple[str, ...]:
    """Return what acts on the vehicle and is not in the model of a fit."""
    found = {'loss of thrust with the speed of advance': vehicle.thrusters.any_inflow_loss}
    named = [name for name, there in found.items() if there]
    return (*named, *(_label(f) for f in _others(vehicle) if not _memoryless(f)))


def _label(force: ForceModel) -> str:
    return (force.label or force.name).lower()


def _wrenches(vehicle: Vehicle, tick: float, step: float) -> Sequence[_Wrench]:
    """Return functions of states, fin angles and thrusts that give the wrenches of kept forces."""
    still = Environment()
    result: list[_Wrench] = []
    if _has_panels(vehicle):
        result.append(_Hull(vehicle, tick, step))
    if vehicle.fins is not None:
        result.append(
            lambda state, angle, thrust: fin_wrench(vehicle, state, still, angle, thrust)
        )
    others = [f.wrench for f in _others(vehicle) if _memoryless(f)]

    def sum_of_others(state: State, angle: np.ndarray, thrust: np.ndarray) -> Any:
        return sum(wrench(vehicle, state, still) for wrench in others)

    return [*result, sum_of_others] if others else result


class _Hull:
    """The wrench of a hull's panels, block by block along a run."""

    def __init__(self, vehicle: Vehicle, tick: float, step: float) -> None:
        """Start before the first state.

        Args:
            vehicle: a vehicle whose hull has panels.
            tick: step of what made the run, s: slamming is bounded by it.
            step: s between states.
        """
        self._vehicle, self._tick, self._step = vehicle, tick, step
        self._before: np.ndarray | None = None

    def __call__(self, state: State, angle: np.ndarray, thrust: np.ndarray) -> np.ndarray:
        """Return wrenches (n, 7, 6); the first of each seven is as measured."""
        del angle, thrust
        still = Environment()
        flow = np.asarray(hull_drag(self._vehicle, state, still, None, dt=0.0)[1].flow)
        before = flow[:1, 0] if self._before is None else self._before
        self._before = flow[-1:, 0]
        change = (flow[:, 0] - np.concatenate([before, flow[:-1, 0]])) * (self._tick / self._step)
        memory = SweptWater(flow - change[:, None])
        return np.asarray(hull_drag(self._vehicle, state, still, memory, dt=self._tick)[0])


def kept_forces(
    vehicle: Vehicle,
    state: State,
    angle: np.ndarray,
    thrust: np.ndarray,
    *,
    tick: float,
    step: float,
) -> Kept:
    """Return the kept forces of measured states, and their derivatives by the velocity.

    Args:
        vehicle: the vehicle as it is described.
        state: (n, ...) measured states.
        angle: (n, m) of the fins, rad.
        thrust: (n, k) of the thrusters, N.
        tick: between odometries, s.
        step: s between states.
    """
    wrenches = _wrenches(vehicle, tick, step)
    count = len(state.velocity)
    if not wrenches:
        return Kept(np.zeros((count, 6)))
    change = _DIFFERENCE * (np.abs(state.velocity).max(axis=0) + 1e-3)
    moved = np.concatenate([np.zeros((1, 6)), np.diag(change)])
    parts = []
    for first in range(0, count, _BLOCK):

        def seven(values: np.ndarray, first: int = first) -> np.ndarray:
            rows = values[first : first + _BLOCK, None]
            return np.broadcast_to(rows, (len(rows), 7, values.shape[1]))

        at = State(seven(state.position), seven(state.orientation), seven(state.velocity) + moved)
        given = seven(angle), seven(thrust)
        parts.append(sum(np.asarray(wrench(at, *given)) for wrench in wrenches))
    values = np.concatenate(parts)
    gradient = np.swapaxes((values[:, 1:] - values[:, :1]) / change[:, None], 1, 2)
    return Kept(values[:, 0], gradient)
