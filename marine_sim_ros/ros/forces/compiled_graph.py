# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces that one compiled program computes: their nodes bring commands, and tell its output."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from marine_sim_ros.core.state import State
from marine_sim_ros.faults.kinds import Fault
from marine_sim_ros.faults.tables import Tables
from marine_sim_ros.faults.thrust import COMMAND_TIMEOUT

__all__ = ['CompiledForce', 'CompiledGraph']

Compute = Callable[[int, dict[str, Any]], None]


class CompiledForce(Protocol):
    """The node of a force, as far as a compiled graph knows it."""

    newest: int

    def on_state(self, stamp: int, state: State) -> None:
        """Have the node give its commands for a state, now or when they are there."""

    def on_output(self, tick: Any) -> None:
        """Publish what a program computed for a tick."""


class CompiledGraph:
    """The nodes of a vehicle's forces, and the commands of a tick that they have given so far.

    Attributes:
        sources: names of the forces, in the order of their sum.
        step: s between two ticks.
        forces: nodes by their names.
        faults: what is wrong with the thrusters, or None.
        listed: those faults as they were given, for a program in another process.
        loses: whether commands are sent for a tick, and may get lost in it.
        timeout: time without a command after which the thrusters stop, s.
    """

    def __init__(self, sources: Collection[str], step: float) -> None:
        """Expect the nodes of these forces."""
        self.sources, self.step = tuple(sources), step
        self.forces: dict[str, CompiledForce] = {}
        self.faults: Tables | None = None
        self.listed: tuple[Fault, ...] = ()
        self.loses = True
        self.timeout = COMMAND_TIMEOUT
        self._compute: Compute | None = None
        self._commanded: list[str] = []
        self._last: dict[str, dict[str, Any]] = {}
        self.forget()

    def join(self, name: str, node: CompiledForce, *, commanded: bool) -> None:
        """Take the node of a force; one that is commanded is awaited in every tick."""
        self.forces[name] = node
        if commanded:
            self._commanded.append(name)

    def serve(self, compute: Compute) -> None:
        """Have a function called with the stamp (ns) and the commands of each tick."""
        self._compute = compute

    def forget(self) -> None:
        """Wait for nothing."""
        self._stamp: int | None = None
        self._given: dict[str, dict[str, Any]] = {}

    def begin(self, stamp: int, state: State) -> None:
        """Ask for the commands of a tick: stamp in ns."""
        self._stamp, self._given = stamp, {}
        for name in self._commanded:
            self.forces[name].on_state(stamp, state)
        self._conclude()

    def give(self, name: str, stamp: int, commands: dict[str, Any]) -> None:
        """Take the commands of a node for a stamp in ns."""
        if stamp != self._stamp or name in self._given:
            return
        self._given[name] = self._last[name] = commands
        self._conclude()

    @property
    def missing(self) -> list[str]:
        """The nodes that are waited for."""
        if self._stamp is None:
            return []
        return [name for name in self._commanded if name not in self._given]

    @property
    def started(self) -> bool:
        """Whether those that are waited for have ever given something."""
        return set(self.missing) <= self._last.keys()

    def give_up(self) -> None:
        """Go on with the last commands of those that are waited for."""
        for name in self.missing:
            self._given[name] = self._last[name]
        self._conclude()

    def _conclude(self) -> None:
        if self._stamp is None or self.missing or self._compute is None:
            return
        stamp, self._stamp = self._stamp, None
        commands = {k: v for given in self._given.values() for k, v in given.items()}
        self._compute(stamp, commands)
