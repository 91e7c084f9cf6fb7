# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Switches of another node: std_srvs/SetBool services that are called without waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from std_srvs.srv import SetBool

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.ros.base.node import SuiteNode

__all__ = ['Switches']

PATIENCE = 2.0
"""s of wall time until a service that does not answer is given up."""


class Switches:
    """What a node knows of another's switches; call :meth:`check` now and then."""

    def __init__(self, node: SuiteNode, names: Sequence[str], whose: str) -> None:
        """Make a client for each name; ``whose`` names their node in warnings."""
        self._node = node
        self._whose = whose
        self._clients = {name: node.create_client(SetBool, name) for name in names}
        self._asked: dict[str, tuple[Any, int]] = {}
        self.states: dict[str, bool | None] = dict.fromkeys(names)

    @property
    def waiting(self) -> frozenset[str]:
        """Return the names that were called and have not answered."""
        return frozenset(self._asked)

    def there(self, name: str) -> bool:
        """Return whether somebody offers a switch."""
        return bool(self._clients[name].service_is_ready())

    def ask(self, name: str, on: bool | None = None) -> None:
        """Ask for on, off, or (None) the other; an older question is forgotten."""
        self._forget(name)
        client = self._clients[name]
        if not self.there(name):
            self._silent(name)
            return
        wanted = not self.states[name] if on is None else on
        future = client.call_async(SetBool.Request(data=wanted))
        self._asked[name] = (future, self._node.wall_clock.now().nanoseconds)
        future.add_done_callback(lambda done: self._answered(name, done, wanted))

    def check(self) -> None:
        """Give up what has not answered in time, and forget the state of what is gone."""
        now = self._node.wall_clock.now().nanoseconds
        for name, (_, since) in list(self._asked.items()):
            if now - since > PATIENCE * NANOSECONDS:
                self._forget(name)
                self._silent(name)
        for name in self._clients:
            if self.states[name] is not None and not self.there(name):
                self.states[name] = None

    def _silent(self, name: str) -> None:
        self.states[name] = None
        self._node.warn_throttled(f'{name}: no {self._whose} answers')

    def _forget(self, name: str) -> None:
        future, _ = self._asked.pop(name, (None, 0))
        if future is not None:
            self._clients[name].remove_pending_request(future)

    def _answered(self, name: str, future: Any, wanted: bool) -> None:
        if self._asked.get(name, (None, 0))[0] is not future:
            return  # given up, or asked anew
        del self._asked[name]
        answer = future.result()
        if answer is None or not answer.success:
            text = '' if answer is None else answer.message
            self._node.warn_throttled(f'{name}: refused{": " if text else ""}{text}')
            return
        self.states[name] = wanted
