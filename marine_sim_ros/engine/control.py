# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The controller of a scenario, traced: the same laws, with plans by segments of the script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.allocator import Allocator
from marine_sim_ros.control.closed_loop import FIRST_STEP, LoopMemory, begin_loop, loop_step
from marine_sim_ros.control.controller_model import ControllerSettings, Law
from marine_sim_ros.control.fin_shares import FinShares, fin_shares
from marine_sim_ros.control.settings import law_of, model_of
from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.sharing import AllocationTables, allocation_tables_of, longer
from marine_sim_ros.engine.tables import held
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['Control', 'Remembered', 'command', 'control_of', 'extended', 'waiting']


@dataclass(frozen=True, eq=False)
class Control:
    """What closes the loop.

    Attributes:
        law: control law, from set-points to a wrench.
        allocation: allocation tables, from the wrench to pulse widths, by segment.
        closed: (s,) 1.0 in the segments that have set-points.
        scalarisable: whether the law may be written out number by number.
        fins: of the vehicle, or None.
    """

    law: Law
    allocation: AllocationTables
    closed: np.ndarray
    scalarisable: bool = False
    fins: FinShares | None = None

    @property
    def always(self) -> bool:
        """Whether every segment has set-points."""
        return isinstance(self.closed, np.ndarray) and bool(self.closed.all())


class Remembered(NamedTuple):
    """Whether the controller was active in the previous tick (1.0), and its memory if so."""

    running: Array
    loop: LoopMemory


def control_of(
    vehicle: Vehicle,
    settings: ControllerSettings,
    closed: Sequence[bool],
    failed: Sequence[np.ndarray],
    *,
    whole: bool,
) -> Control:
    """Return the controller of a vehicle.

    Args:
        vehicle: the vehicle to control.
        settings: controller settings, from
            :func:`~marine_sim_ros.control.settings.load_controller`.
        closed: whether a segment has set-points, by segment.
        failed: thrusters (n,) to leave out, by segment.
        whole: whether pulse widths are whole µs, which have no gradient.
    """
    allocator = Allocator(vehicle.thrusters, vehicle.inertia.center_of_mass)
    return Control(
        law_of(settings, vehicle),
        allocation_tables_of(allocator, failed, whole=whole),
        np.asarray(closed, float),
        model_of(settings).scalar,
        fin_shares(vehicle),
    )


def extended(control: Control, segments: int) -> Control:
    """Return a controller with more segments at its end, all as the last one."""
    closed = np.append(control.closed, np.repeat(control.closed[-1:], segments))
    return replace(control, allocation=longer(control.allocation, segments), closed=closed)


def waiting(control: Control, state: State, dt: float) -> Remembered:
    """Return what a controller remembers that is about to have a vehicle with steps of dt (s)."""
    none = state.velocity[0] * 0.0
    return Remembered(none, _begun(control, state, dt))


def _begun(control: Control, state: State, dt: float) -> LoopMemory:
    tables = control.allocation
    turning = 0 if tables.extended is None else tables.extended.turns.shape[1]
    count = tables.left_out.shape[-1]
    return begin_loop(control.law, count, state, dt=dt, azimuths=turning)


def command(
    control: Control,
    start: Array,
    wanted: Array,
    time: Array,
    state: State,
    memory: Remembered | None,
    *,
    dt: float,
    pwm: Array,
    azimuths: Array | None = None,
    fins: Array | None = None,
) -> tuple[Array, Array | None, Array | None, Remembered]:
    """Return pulse widths (n,) of a tick, angles of azimuths and fins, and what to remember.

    Args:
        control: the controller to evaluate.
        start: (s,) of the segments, s.
        wanted: set-points (12,) of this tick, NaN where free.
        time: time of the tick, s.
        state: state of the vehicle.
        memory: memory of the previous tick; None in the first.
        dt: step, s.
        pwm: (n,) of a segment without set-points, µs.
        azimuths: (k,) angles of such a segment, rad, or None.
        fins: (m,) deflections of such a segment, rad, or None.
    """
    xp = namespace(state.velocity)
    since: Any = xp.asarray(FIRST_STEP)
    if memory is not None:
        running = memory.running > 0.5
        since = dt if dt == FIRST_STEP else xp.where(running, dt, FIRST_STEP)
    if memory is not None and control.always:
        begun = memory.loop
    else:
        begun = _begun(control, state, dt)
        begun = begun if memory is None else _chosen(running, memory.loop, begun)
    rows = {name: held(start, table, time) for name, table in control.allocation.tables.items()}
    output, following = loop_step(
        control.law,
        replace(control.allocation, **rows),
        wanted,
        state,
        begun,
        dt=since,
        fins=control.fins,
    )
    closed = held(start, control.closed, time)
    if azimuths is not None:
        azimuths = xp.where(closed > 0.5, output.allocation.azimuths, azimuths)
    if fins is not None:
        fins = xp.where(closed > 0.5, output.allocation.fins, fins)
    pwm = xp.where(closed > 0.5, output.pwm, pwm)
    return pwm, azimuths, fins, Remembered(closed, following)


def _chosen(condition: Array, one: Any, other: Any) -> Any:
    """Return one memory or another of the same shape."""
    if one is None:
        return None
    if isinstance(one, tuple):
        return type(one)(*(_chosen(condition, a, b) for a, b in zip(one, other, strict=True)))
    return namespace(other).where(condition, one, other)
