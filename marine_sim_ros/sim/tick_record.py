# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The ticks of a run as columns: blocks of arrays, a fifth of what the ticks themselves take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.state import State
from marine_sim_ros.sim.step import StepOutput, supply_of

__all__ = ['TICK_BYTES', 'TickRecord', 'sources_of', 'state_blocks', 'tick_blocks']

TICK_BYTES = 1000
"""Memory of a tick in a trajectory, about, with six thrusters and the sensors of a BlueROV2."""
_BLOCK = 512
"""Ticks that wait until they become arrays, and of a part of a run."""
_SOURCE = 'wrench/'


class TickRecord:
    """Takes ticks one by one, and returns the column of each quantity."""

    def __init__(self) -> None:
        """Start with no ticks."""
        self._waiting: list[StepOutput] = []
        self._blocks: list[dict[str, np.ndarray]] = []

    def add(self, tick: StepOutput) -> None:
        """Take a tick."""
        self._waiting.append(tick)
        if len(self._waiting) == _BLOCK:
            self._pack()

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns (n, ...) by quantity; the record is empty then.

        A quantity that the run does not have is missing. Wrenches are ``wrench/SOURCE``.
        """
        self._pack()
        blocks, self._blocks = self._blocks, []
        # One column after the other, each taken from the blocks: never all of it twice.
        return {name: np.concatenate([b.pop(name) for b in blocks]) for name in [*blocks[0]]}

    def _pack(self) -> None:
        if self._waiting:
            self._blocks.append(_columns(self._waiting))
            self._waiting = []


def tick_blocks(ticks: Iterable[StepOutput]) -> Iterator[dict[str, np.ndarray]]:
    """Yield the columns of ticks part by part, as :meth:`TickRecord.columns`.

    Raises:
        RunError: what the ticks raise, after the columns of those before it.
    """
    return map(_columns, _parts(ticks))


def state_blocks(ticks: Iterable[StepOutput]) -> Iterator[tuple[np.ndarray, State]]:
    """Yield the stamps (n,), ns, and states (n, ...) of ticks part by part.

    Raises:
        RunError: what the ticks raise, after the states before it.
    """
    for part in _parts(ticks):
        states = State(*map(np.stack, zip(*(tick.state for tick in part), strict=True)))
        yield np.array([tick.stamp for tick in part]), states


def _parts(ticks: Iterable[StepOutput]) -> Iterator[list[StepOutput]]:
    waiting: list[StepOutput] = []
    try:
        for tick in ticks:
            waiting.append(tick)
            if len(waiting) == _BLOCK:
                yield waiting
                waiting = []
    except RunError:
        if waiting:
            yield waiting
        raise
    if waiting:
        yield waiting


def sources_of(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the wrenches (n, 6) of columns by their source."""
    length = len(_SOURCE)
    return {n[length:]: rows for n, rows in columns.items() if n.startswith(_SOURCE)}


def _columns(ticks: Sequence[StepOutput]) -> dict[str, np.ndarray]:
    outputs = [t.thrusters for t in ticks]
    rows: dict[str, list[Any]] = {
        'position': [t.state.position for t in ticks],
        'orientation': [t.state.orientation for t in ticks],
        'velocity': [t.state.velocity for t in ticks],
        'pwm': [t.pwm for t in ticks],
        'thrust': [o.thrust for o in outputs],
        'power': [o.power for o in outputs],
        'total': [t.total for t in ticks],
        'acceleration': [t.acceleration for t in ticks],
        'joints': [None if t.joints is None else t.joints.position for t in ticks],
        'fins': [t.fins for t in ticks],
        'azimuths': [o.azimuths for o in outputs],
        'reel': [t.reel for t in ticks],
        'payloads': [t.payloads for t in ticks],
        'cable': [t.cable for t in ticks],
        'rotors': [o.rotor_speed for o in outputs],
        **{_SOURCE + name: [t.sources[name] for t in ticks] for name in ticks[0].sources},
    }
    voltage = None if outputs[0].voltage is None else np.array([o.voltage for o in outputs])
    used = None if outputs[0].used is None else np.array([o.used for o in outputs])
    return {
        'stamp': np.array([t.stamp for t in ticks]),
        'held': np.array([t.held for t in ticks]),
        'supply': supply_of(np.stack([o.power for o in outputs]), voltage, used),
        **{name: np.stack(values) for name, values in rows.items() if values[0] is not None},
    }
