# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Requests of a page, checked; session between node and pages."""

from __future__ import annotations

import json
import math
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from marine_sim_ros.console.control_lease import ControlLease
from marine_sim_ros.console.page.links import INSTRUCT, STEER, VIEW
from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES
from marine_sim_ros.control.pilot import OUTPUT_MODES, SWITCHES
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.environment.changes import parse_change
from marine_sim_ros.faults.fault_types import FAULT_TYPES, Fault, read_fault

__all__ = [
    'CONDITIONS',
    'FREE_FOR_ALL',
    'INSTRUCTOR',
    'LOST',
    'MAX_LENGTH',
    'OF_INSTRUCTORS',
    'OperatorInput',
    'REQUESTS',
    'Request',
    'STEERING',
    'STOPS',
    'Session',
    'page_name',
    'parse_request',
]


# Requests of a page, checked before they are used.

FARTHEST = 1e5
"""m; nothing that is wanted is farther away."""
FASTEST_WATER = 100.0
"""m/s; no current is faster."""
MAX_LENGTH = 1000
"""Waypoints of a path, steps at once, letters of a text."""
MAX_NAME_LENGTH = 40
"""Letters of an operator's name."""
NAMED = 256
"""Joints, or lights, of one request."""
CONTROLS = 64
"""Axes and buttons that a gamepad may have."""

FREE_FOR_ALL = frozenset({'take', 'hello', 'look', 'alive'})
"""Requests that every page with the right to steer may send, not only the operator's."""
OF_WATCHERS = frozenset({'look'})
"""Requests of pages that only watch."""
CONDITIONS = frozenset({'fault', 'mend', 'current', 'environment'})
"""Requests that an instructor alone may send while there is one."""
OF_INSTRUCTORS = (
    OF_WATCHERS
    | CONDITIONS
    | {'lights', 'pause', 'step', 'reset', 'record', 'end', 'stop', 'note', 'message'}
)
"""Requests of an instructor's page, which act whoever steers."""
INSTRUCTOR = 'instructor:'
"""Begin of the names of instructors' pages."""
STEERING = frozenset({'hands', 'output', 'switch', 'target', 'path', 'joints', 'gripper'})
"""Requests that move the vehicle."""


@dataclass(frozen=True)
class OperatorInput:
    """Inputs of an operator.

    Attributes:
        sticks: six efforts of sticks on the screen and keys, −1 to 1 (FLU).
        gamepad: shipped name of its layout, or empty.
        axes: axes of the gamepad, with the signs of the ROS 2 package joy.
        buttons: buttons of the gamepad, 0 or 1.
    """

    sticks: tuple[float, ...]
    gamepad: str = ''
    axes: tuple[float, ...] = ()
    buttons: tuple[int, ...] = ()


@dataclass(frozen=True)
class Request:
    """A request of a page: its kind, of ``REQUESTS``, and a value that was checked."""

    kind: str
    value: Any = None


def _number(value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ParameterError(f'is {_shorten(value)}; expected a number')
    if not low <= value <= high:
        raise ParameterError(f'is {_shorten(value)}; expected {low:g} to {high:g}')
    return float(value)


def _shorten(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else text[:37] + '...'


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ParameterError(f'is {_shorten(value)}; expected a list of up to {most}')
    return value


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(k, str) for k in value):
        raise ParameterError(f'is {_shorten(value)}; expected an object')
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_LENGTH or not value.isprintable():
        raise ParameterError(f'is {_shorten(value)}; expected a short text')
    return value


def _name(value: Any) -> str:
    if len(_text(value)) > MAX_NAME_LENGTH:
        raise ParameterError(f'is {_shorten(value)}; expected up to {MAX_NAME_LENGTH} letters')
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f'is {_shorten(value)}; expected true or false')
    return value


def _no_value(value: Any) -> None:
    del value


def _one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in names:
            raise ParameterError(f'is {_shorten(value)}; expected one of: {", ".join(names)}')
        return str(value)

    return check


def _hands(value: Any) -> OperatorInput:
    held = _object(value)
    sticks = _list(held.get('sticks', []), len(BODY_AXES))
    if len(sticks) != len(BODY_AXES):
        raise ParameterError(f'has {len(sticks)} efforts; expected {len(BODY_AXES)}')
    return OperatorInput(
        tuple(_number(x, -1.0, 1.0) for x in sticks),
        _one_of('', 'xbox', 'thrustmaster_t16000m')(held.get('gamepad', '')),
        tuple(_number(x, -2.0, 2.0) for x in _list(held.get('axes', []), CONTROLS)),
        tuple(int(_number(x, 0, 1)) for x in _list(held.get('buttons', []), CONTROLS)),
    )


def _switch(value: Any) -> tuple[str, bool]:
    wanted = _object(value)
    names = dict.fromkeys(name for name, _ in SWITCHES.values())
    return _one_of(*names)(wanted.get('name')), _flag(wanted.get('on'))


def _target(value: Any) -> tuple[float, ...]:
    """Return x, y, z (m), roll, pitch, yaw (rad), NaN where free."""
    wanted = _object(value)
    limits = dict.fromkeys(SETPOINT_QUANTITIES[:3], FARTHEST) | dict.fromkeys(
        SETPOINT_QUANTITIES[3:6], math.pi
    )
    if unknown := set(wanted) - set(limits):
        raise ParameterError(
            f'has {_shorten(sorted(unknown)[0])}; expected some of: {", ".join(limits)}'
        )
    return tuple(
        math.nan if wanted.get(name) is None else _number(wanted[name], -most, most)
        for name, most in limits.items()
    )


def _point(value: Any) -> tuple[float, ...]:
    numbers = _list(value, 3)
    if len(numbers) != 3:
        raise ParameterError(f'is {_shorten(value)}; expected x, y, z in m')
    return tuple(_number(x, -FARTHEST, FARTHEST) for x in numbers)


def _path(value: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(_point(p) for p in _list(value, MAX_LENGTH))


def _numbers(value: Any, low: float, high: float) -> dict[str, float]:
    if len(_object(value)) > NAMED:
        raise ParameterError(f'has {len(value)} names; expected up to {NAMED}')
    return {_text(name): _number(number, low, high) for name, number in value.items()}


def _current(value: Any) -> tuple[float, ...]:
    if len(_list(value, 3)) != 3:
        raise ParameterError(f'is {_shorten(value)}; expected east, north, up in m/s')
    return tuple(_number(x, -FASTEST_WATER, FASTEST_WATER) for x in value)


def _change(value: Any) -> str:
    """Return a change of the environment that begins at once, as JSON."""
    text = json.dumps(_object(value))
    parse_change(text, 'change', 0.0)
    return text


def _fault(value: Any) -> Fault:
    """Return a fault that begins at once, of a mapping with its kind, thruster and numbers."""
    wanted = _object(value)
    if {'at', 'until'} & set(wanted):
        raise ParameterError('has a time; expected none, because it begins at once')
    return read_fault(YamlReader('fault', dict(wanted), ParameterError))


def _mend(value: Any) -> tuple[str, str]:
    """Return kind, and thruster or sensor, of a fault that is to end; empty ones: all."""
    wanted = {} if value is None else _object(value)
    whose = wanted.get('thruster', wanted.get('sensor', ''))
    return _one_of('', *FAULT_TYPES)(wanted.get('kind', '')), _text(whose)


REQUESTS: dict[str, Callable[[Any], Any]] = {
    'take': _flag,  # true: from whoever has it
    'hello': _name,
    'look': _no_value,  # at the sensors, which nobody listens to else
    'leave': _no_value,
    'alive': lambda value: _number(value, 0.0, math.inf),  # s that its script had no turn
    'hands': _hands,
    'stop': _no_value,
    'output': _one_of(*OUTPUT_MODES),
    'gain': lambda value: _number(value, 0.0, 1.0),
    'switch': _switch,
    'target': _target,
    'path': _path,
    'clear': _no_value,
    'joints': lambda value: _numbers(value, -100.0, 100.0),
    'gripper': _flag,  # true: close
    'lights': lambda value: _numbers(value, 0.0, 1.0),
    'current': _current,
    'environment': _change,
    'fault': _fault,
    'mend': _mend,
    'pause': _flag,
    'step': lambda value: int(_number(value, 1, MAX_LENGTH)),
    'reset': _no_value,
    'end': _no_value,
    'record': _flag,
    'note': _text,
    'message': _text,  # to the pilot
    'report': _name,  # of a target of a lesson
}
"""Kind -> check of its value; what a check returns is what a request holds."""
STOPS = (Request('stop'), Request('switch', ('arm', False)))
"""Requests that stop the vehicle."""


def parse_request(data: Any) -> Request:
    """Return a request of a page: an object with ``kind`` and, for most, ``value``.

    Raises:
        ParameterError: it is none; one line with what, and what was expected.
    """
    kind = data.get('kind') if isinstance(data, dict) else data
    if not isinstance(data, dict) or not isinstance(kind, str) or kind not in REQUESTS:
        raise ParameterError(
            f'request {_shorten(kind)} is unknown; expected one of: {", ".join(REQUESTS)}'
        )
    if extra := set(data) - {'kind', 'value'}:
        raise ParameterError(f'{kind}: has {_shorten(min(extra))}; expected kind and value')
    try:
        return Request(kind, REQUESTS[kind](data.get('value')))
    except ParameterError as error:
        raise ParameterError(f'{kind}: {error}') from None


# Exchange between a node and the pages of its console, without waiting.

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
        ended: what pages tell of a run that has ended; empty: it goes on.
        listeners: pages that have not been told yet how the run ended.
        instructors: pages of instructors that are connected.
        events: what people did since the start of the run, of ``console.run_events``.
        wake: called from the server's thread where a request moves or stops the vehicle.
        announce: functions that a new frame is announced to, one for each page.
    """

    scenery: dict[str, Any]
    frame: dict[str, Any] = field(default_factory=dict)
    lease: ControlLease = field(default_factory=ControlLease)
    history: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=HISTORY))
    pictures: dict[str, bytes] = field(default_factory=dict)
    videos: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    watched: tuple[str, ...] = ()
    ended: str = ''
    listeners: set[str] = field(default_factory=set)
    instructors: frozenset[str] = frozenset()
    events: tuple[dict[str, Any], ...] = ()
    wake: Callable[[], object] = bool
    announce: tuple[Callable[[], object], ...] = ()
    _steered: Request | None = None
    _inbox: list[tuple[str, Request]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refuse(self, data: Any, page: str, *, right: str = STEER) -> str:
        """Take a request of a page for the node; return why not, or nothing.

        STOP is never refused: it passes all that waits, and voids what its page steered before.

        Args:
            data: what the page sent.
            right: right of the page.

        Raises:
            ParameterError: it is no request.
        """
        request = parse_request(data)
        if reason := self._forbidden(request.kind, right):
            return f'{request.kind}: {reason}'
        with self._lock:
            if request in STOPS:
                rest = [(p, r) for p, r in self._inbox if p != page or not _void(r)]
                self._inbox = [(page, request), *rest]
            elif len(self._inbox) >= WAITING or self._requests_of(page) >= OF_PAGE:
                return 'too many requests; ignored'
            elif request.kind not in OF_WATCHERS or (page, request) not in self._inbox:
                self._inbox.append((page, request))
        if request in STOPS or (request.kind in STEERING and request != self._steered):
            self._steered = request
            self.wake()
        return ''

    def _forbidden(self, kind: str, right: str) -> str:
        """Return why a page of a right may not send a kind of request, or nothing."""
        if right == VIEW and kind not in OF_WATCHERS:
            return 'this page only watches; open the link that steers'
        if right == INSTRUCT and kind not in OF_INSTRUCTORS:
            return 'this page instructs; open the link that steers'
        if right == STEER and (kind == 'message' or (kind in CONDITIONS and self.instructors)):
            return 'only the instructor can do this'
        return ''

    def _requests_of(self, page: str) -> int:
        return sum(p == page for p, _ in self._inbox)

    def drop_page(self, page: str) -> None:
        """Note that a page went away."""
        with self._lock:
            self._inbox.append((page, Request(LOST)))

    def show(self, frame: dict[str, Any]) -> None:
        """Replace the telemetry frame, and have the pages get it at once."""
        self.frame = frame
        for announce in self.announce:
            announce()

    @property
    def is_asked(self) -> bool:
        """Whether requests wait."""
        return bool(self._inbox)

    def requests(self) -> list[tuple[str, Request]]:
        """Return the requests that came since the last call, with their pages; STOP first."""
        with self._lock:
            result, self._inbox = self._inbox, []
        return result


def page_name(page: str, right: str) -> str:
    """Return the name of a page with its right, which no page of another right has."""
    prefix = {STEER: '', VIEW: 'view:', INSTRUCT: INSTRUCTOR}[right]
    return prefix + page.replace(':', '')


def _void(request: Request) -> bool:
    """Return whether a STOP of its page voids a request that waits."""
    return request in STOPS or request.kind in STEERING
