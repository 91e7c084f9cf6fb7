# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Switches of another node: std_srvs/SetBool services that are called without waiting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from std_srvs.srv import SetBool

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.ros.base.node import SuiteNode

__all__ = ['Switches']

PATIENCE = 5.0
"""s of wall time until a service that is absent or does not answer is given up. Discovery takes
up to 3 s on a busy machine."""
REPEAT = 0.5
"""s of wall time after which an unanswered request is sent again: DDS loses an answer to a client
that the server has not discovered yet."""

Answered = Callable[[bool, str], None]
"""Called once with whether the switch was set, and else with the reason."""


@dataclass
class _Request:
    """A wish that has no answer yet; wall times in ns."""

    on: bool
    since: int
    answered: Answered | None
    futures: list[Any] = field(default_factory=list)
    sent: int = 0


class Switches:
    """What a node knows of another's switches; call :meth:`check` now and then."""

    def __init__(self, node: SuiteNode, names: Sequence[str], whose: str) -> None:
        """Make a client for each name; ``whose`` names their node in warnings."""
        self._node = node
        self._whose = whose
        self._clients = {name: node.create_client(SetBool, name) for name in names}
        self._requests: dict[str, _Request] = {}
        self.states: dict[str, bool | None] = dict.fromkeys(names)

    @property
    def waiting(self) -> frozenset[str]:
        """Return the names that were called and have not answered."""
        return frozenset(self._requests)

    def there(self, name: str) -> bool:
        """Return whether somebody offers a switch."""
        return bool(self._clients[name].service_is_ready())

    def ask(self, name: str, on: bool | None = None, answered: Answered | None = None) -> None:
        """Ask for on, off, or (None) the other; an older request is superseded.

        A switch that nobody offers yet is waited for.

        Args:
            name: name of the switch.
            on: state that is wanted; None: the other.
            answered: called once, at the latest after ``PATIENCE`` seconds.
        """
        self._conclude(name, False, 'superseded')
        wanted = not self.states[name] if on is None else on
        self._requests[name] = _Request(wanted, self._now(), answered)
        self._send(name)

    def check(self) -> None:
        """Send what waits, give up what takes too long, forget the state of what is gone."""
        now = self._now()
        for name, request in list(self._requests.items()):
            if now - request.since > PATIENCE * NANOSECONDS:
                self._give_up(name)
            elif now - request.sent > REPEAT * NANOSECONDS:
                self._send(name)
        for name in self._clients:
            if self.states[name] is not None and not self.there(name):
                self.states[name] = None

    def _now(self) -> int:
        return int(self._node.wall_clock.now().nanoseconds)

    def _send(self, name: str) -> None:
        """Send a request to a switch that is offered; the first answer to any copy counts."""
        request = self._requests[name]
        if not self.there(name):
            return
        future = self._clients[name].call_async(SetBool.Request(data=request.on))
        request.futures.append(future)
        request.sent = self._now()
        future.add_done_callback(lambda done: self._take(name, request, done))

    def _give_up(self, name: str) -> None:
        self.states[name] = None
        text = f'{name}: no {self._whose} answers'
        self._node.warn_throttled(text)
        self._conclude(name, False, text)

    def _take(self, name: str, request: _Request, future: Any) -> None:
        if self._requests.get(name) is not request:
            return  # given up, or asked anew
        answer = future.result()
        if answer is None or not answer.success:
            text = '' if answer is None else answer.message
            text = f'{name}: refused{": " if text else ""}{text}'
            self._node.warn_throttled(text)
            self._conclude(name, False, text)
            return
        self.states[name] = request.on
        self._conclude(name, True, answer.message)

    def _conclude(self, name: str, done: bool, text: str) -> None:
        """End a request, where there is one."""
        request = self._requests.pop(name, None)
        if request is None:
            return
        for future in request.futures:
            self._clients[name].remove_pending_request(future)
        if request.answered is not None:
            request.answered(done, text)
