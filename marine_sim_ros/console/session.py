# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where a node and the pages of its console meet: neither ever waits for the other."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from marine_sim_ros.console.control_lease import ControlLease
from marine_sim_ros.console.requests import Request, parse_request

__all__ = ['LOST', 'Session', 'Source']

HISTORY = 3000
"""Moments that a page that comes late is given: five minutes at ten a second."""
WAITING = 1000
"""Requests that may wait; more are dropped, for whoever floods is not steering."""
LOST = 'lost'
"""Kind of the request that stands for a page that went away."""


class Source(Protocol):
    """What the pages show: a running graph, or a bag."""

    scenery: dict[str, Any]

    def refuse(self, data: Any, page: str) -> str:
        """Take a request of a page; return why not, or nothing."""


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
    """

    scenery: dict[str, Any]
    frame: dict[str, Any] = field(default_factory=dict)
    lease: ControlLease = field(default_factory=ControlLease)
    history: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=HISTORY))
    pictures: dict[str, bytes] = field(default_factory=dict)
    videos: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    watched: tuple[str, ...] = ()
    _inbox: SimpleQueue[tuple[str, Request]] = field(default_factory=SimpleQueue)

    def refuse(self, data: Any, page: str) -> str:
        """Take a request of a page for the node; return why not, or nothing.

        Raises:
            ParameterError: it is no request.
        """
        request = parse_request(data)
        if self._inbox.qsize() >= WAITING:
            return 'too many requests; ignored'
        self._inbox.put((page, request))
        return ''

    def lose(self, page: str) -> None:
        """Note that a page went away."""
        self._inbox.put((page, Request(LOST)))

    def requests(self) -> list[tuple[str, Request]]:
        """Return the requests that came since the last call, with their pages."""
        result = []
        while True:
            try:
                result.append(self._inbox.get_nowait())
            except Empty:
                return result
