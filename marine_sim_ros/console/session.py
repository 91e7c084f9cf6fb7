# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Meeting point of a node and the pages of its console: neither waits for the other."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from marine_sim_ros.console.control_lease import ControlLease
from marine_sim_ros.console.requests import OF_WATCHERS, STEERING, STOPS, Request, parse_request

__all__ = ['LOST', 'Session']

HISTORY = 3000
"""Moments that a page that comes late is given: five minutes at ten a second."""
WAITING, OF_PAGE = 1000, 200
"""Requests that may wait, of all pages and of one; more are refused, but never STOP."""
LOST = 'lost'
"""Kind of the request that stands for a page that went away."""


@dataclass
class Session:
    """A running graph as its pages see it.

    Every attribute is replaced as a whole, so that either side may read at any time.

    Attributes:
        scenery: constant data: vehicle visuals, scene visuals, limits.
        frame: newest telemetry frame, with the state of the controls.
        lease: lease of the page that has control.
        history: recent telemetry frames, for curves and path.
        pictures: newest pictures of sonars, by the sensor's name, for who looks at sensors.
        videos: number and JPEG of the newest pictures of cameras that are watched, by name.
        watched: names of the cameras that pages show, one for each page.
        ended: what pages tell of a run that ends; empty: it goes on.
    """

    scenery: dict[str, Any]
    frame: dict[str, Any] = field(default_factory=dict)
    lease: ControlLease = field(default_factory=ControlLease)
    history: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=HISTORY))
    pictures: dict[str, bytes] = field(default_factory=dict)
    videos: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    watched: tuple[str, ...] = ()
    ended: str = ''
    _inbox: list[tuple[str, Request]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refuse(self, data: Any, page: str, *, steers: bool = True) -> str:
        """Take a request of a page for the node; return why not, or nothing.

        STOP is never refused: it passes all that waits, and voids what its page steered before.

        Args:
            data: what the page sent.
            page: its name.
            steers: whether the page has the right to steer, or only watches.

        Raises:
            ParameterError: it is no request.
        """
        request = parse_request(data)
        if not steers and request.kind not in OF_WATCHERS:
            return f'{request.kind}: this page only watches; open the link that steers'
        with self._lock:
            if request in STOPS:
                rest = [(p, r) for p, r in self._inbox if p != page or not _void(r)]
                self._inbox = [(page, request), *rest]
            elif len(self._inbox) >= WAITING or self._waiting(page) >= OF_PAGE:
                return 'too many requests; ignored'
            elif request.kind not in OF_WATCHERS or (page, request) not in self._inbox:
                self._inbox.append((page, request))
        return ''

    def _waiting(self, page: str) -> int:
        return sum(p == page for p, _ in self._inbox)

    def lose(self, page: str) -> None:
        """Note that a page went away."""
        with self._lock:
            self._inbox.append((page, Request(LOST)))

    def requests(self) -> list[tuple[str, Request]]:
        """Return the requests that came since the last call, with their pages; STOP first."""
        with self._lock:
            result, self._inbox = self._inbox, []
        return result


def _void(request: Request) -> bool:
    """Return whether a STOP of its page voids a request that waits."""
    return request in STOPS or request.kind in STEERING
