# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transfer of missions and parameters by MAVLink's services of these names.

Sources: mavlink.io, services/mission and services/parameter; ArduSub 4.5,
libraries/GCS_MAVLink/MissionItemProtocol.cpp (times).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from marine_sim_ros.autopilot.mavlink.link import MavlinkLink
from marine_sim_ros.autopilot.mavlink.mission import (
    ACCEPTED,
    ERROR,
    MAX_ITEMS,
    UNSUPPORTED,
    MissionItem,
    MissionRun,
    item_fault,
)
from marine_sim_ros.autopilot.mavlink.parameters import ParameterTable

__all__ = ['MissionTransfer', 'ParameterTransfer']

NO_SPACE, INVALID_SEQUENCE, DENIED, CANCELLED = 4, 13, 14, 15
"""MAV_MISSION_RESULT."""
REPEAT, TIMEOUT = 1.0, 8.0
"""s until an item is asked for again, and until an upload is given up."""


class MissionTransfer:
    """Upload, download and choice of a mission."""

    def __init__(
        self,
        link: MavlinkLink,
        mission: MissionRun,
        home: Callable[[], MissionItem],
        say: Callable[[str], None],
        complain: Callable[[str], None],
    ) -> None:
        """Serve a mission.

        Args:
            mission: what is flown.
            home: returns item 0.
            say: called with what was done.
            complain: called with why something is refused.
        """
        self._link, self._mission, self._home = link, mission, home
        self._say, self._complain = say, complain
        self._items: list[MissionItem] = []
        self._count = 0
        self._sender: tuple[int, int] | None = None
        self._asked_at = self._heard_at = 0.0
        self._now = 0.0
        self.handlers: Mapping[str, Callable[[Any], None]] = {
            'MISSION_COUNT': self._on_count,
            'MISSION_ITEM': self._on_item,
            'MISSION_ITEM_INT': self._on_item,
            'MISSION_REQUEST_LIST': self._on_list,
            'MISSION_REQUEST': self._on_request,
            'MISSION_REQUEST_INT': self._on_request,
            'MISSION_CLEAR_ALL': self._on_clear,
            'MISSION_SET_CURRENT': self._on_select,
            'MISSION_WRITE_PARTIAL_LIST': self._on_partial,
            'MISSION_ACK': lambda message: None,
        }

    def check_timeouts(self, now: float) -> None:
        """Ask again for an item that does not come, at a wall time (s)."""
        self._now = now
        if self._sender is None:
            return
        if now - self._heard_at > TIMEOUT:
            self._end(CANCELLED, 'mission upload: no item came; cancelled')
        elif now - self._asked_at > REPEAT:
            self._ask()

    def _acknowledge(self, message: Any, result: int, text: str = '') -> None:
        sender = (message.get_srcSystem(), message.get_srcComponent())
        self._link.send.mission_ack_send(*sender, result, getattr(message, 'mission_type', 0))
        if text:
            self._complain(text)

    def _is_other_type(self, message: Any) -> bool:
        """Refuse fences and rally points."""
        if getattr(message, 'mission_type', 0) == 0:
            return False
        self._acknowledge(message, UNSUPPORTED, 'fences and rally points are not simulated')
        return True

    def _on_count(self, message: Any) -> None:
        if self._is_other_type(message):
            return
        sender = (message.get_srcSystem(), message.get_srcComponent())
        if self._sender not in (None, sender):
            self._acknowledge(message, DENIED, 'mission upload: another one is under way')
        elif message.count > MAX_ITEMS:
            self._acknowledge(message, NO_SPACE, f'missions have {MAX_ITEMS} items at most')
        elif message.count == 0:
            self._mission.replace([])
            self._acknowledge(message, ACCEPTED)
        else:
            self._sender, self._count, self._items = sender, message.count, []
            self._heard_at = self._now
            self._ask()

    def _ask(self) -> None:
        assert self._sender is not None
        self._asked_at = self._now
        self._link.send.mission_request_send(*self._sender, len(self._items), 0)

    def _on_item(self, message: Any) -> None:
        if self._is_other_type(message):
            return
        sender = (message.get_srcSystem(), message.get_srcComponent())
        if self._sender is None:
            self._take_guided(message)
        elif sender != self._sender:
            self._acknowledge(message, DENIED)
        elif message.seq < len(self._items):  # it was asked for twice
            return
        elif message.seq != len(self._items):
            self._acknowledge(message, INVALID_SEQUENCE)
        else:
            self._take_item(message)

    def _take_guided(self, message: Any) -> None:
        """Refuse an item that nobody asked for, as those with current 2 and 3 are."""
        way = '; send SET_POSITION_TARGET_GLOBAL_INT' if message.current in (2, 3) else ''
        self._acknowledge(
            message,
            UNSUPPORTED if way else ERROR,
            f'mission item {message.seq} without upload{way}',
        )

    def _take_item(self, message: Any) -> None:
        item = _item_of(message)
        result, reason = item_fault(message.seq, self._count, item)
        if result != ACCEPTED:
            self._end(result, f'mission item {message.seq}: {reason}')
            return
        self._items.append(item)
        self._heard_at = self._now
        if len(self._items) < self._count:
            self._ask()
            return
        self._mission.replace(self._items)
        self._end(ACCEPTED, f'mission of {self._count - 1} items')

    def _end(self, result: int, text: str) -> None:
        assert self._sender is not None
        sender, self._sender = self._sender, None
        self._link.send.mission_ack_send(*sender, result, 0)
        (self._say if result == ACCEPTED else self._complain)(text)

    def _on_list(self, message: Any) -> None:
        kind = getattr(message, 'mission_type', 0)
        if self._sender is not None:
            self._acknowledge(message, DENIED, 'mission upload: under way')
            return
        sender = (message.get_srcSystem(), message.get_srcComponent())
        count = len(self._mission.items) if kind == 0 else 0
        self._link.send.mission_count_send(*sender, count, kind)

    def _on_request(self, message: Any) -> None:
        if self._is_other_type(message):
            return
        if self._sender is not None:
            self._acknowledge(message, DENIED)
        elif message.seq >= len(self._mission.items):
            self._acknowledge(message, INVALID_SEQUENCE)
        else:
            self._send_item(message)

    def _send_item(self, message: Any) -> None:
        item = self._mission.items[message.seq] if message.seq else self._home()
        sender = (message.get_srcSystem(), message.get_srcComponent())
        current = int(message.seq == self._mission.current)
        head = (*sender, message.seq, item.frame, item.command, current, 1, *item.params)
        if message.get_type() == 'MISSION_REQUEST_INT':
            x, y = round(item.latitude * 1e7), round(item.longitude * 1e7)
            self._link.send.mission_item_int_send(*head, x, y, item.altitude, 0)
        else:
            self._link.send.mission_item_send(
                *head, item.latitude, item.longitude, item.altitude, 0
            )

    def _on_clear(self, message: Any) -> None:
        if getattr(message, 'mission_type', 0) == 255:  # all types
            message.mission_type = 0
        if self._is_other_type(message):
            return
        if self._sender is not None:
            self._acknowledge(message, ERROR, 'mission upload: under way')
            return
        if self._mission.begun:
            self._acknowledge(
                message, ERROR, 'MISSION_CLEAR_ALL: the mission is begun; end it, or disarm'
            )
            return
        self._mission.replace([])
        self._acknowledge(message, ACCEPTED)

    def _on_select(self, message: Any) -> None:
        if reason := self.select(message.seq):
            self._complain(f'MISSION_SET_CURRENT: {reason}')
        else:
            self._link.send.mission_current_send(message.seq, max(len(self._mission.items) - 1, 0))

    def select(self, index: int) -> str:
        """Go on with an item; return the reason why not, or an empty text."""
        count = len(self._mission.items)
        if not 0 <= index < count:
            return f'no item {index}; the mission has {count}'
        self._mission.select(index)
        return ''

    def _on_partial(self, message: Any) -> None:
        self._acknowledge(
            message, UNSUPPORTED, 'MISSION_WRITE_PARTIAL_LIST is not simulated; upload it whole'
        )


def _item_of(message: Any) -> MissionItem:
    scale = 1e-7 if message.get_type() == 'MISSION_ITEM_INT' else 1.0
    return MissionItem(
        message.command,
        message.frame,
        (message.param1, message.param2, message.param3, message.param4),
        message.x * scale,
        message.y * scale,
        message.z,
    )


class ParameterTransfer:
    """Reading and setting of parameters."""

    def __init__(
        self,
        link: MavlinkLink,
        parameters: ParameterTable,
        changed: Callable[[str], None],
        say: Callable[[str], None],
    ) -> None:
        """Serve a table; ``changed`` is called with the name of what was set."""
        self._link, self._table, self._changed, self._say = link, parameters, changed, say
        self.handlers: Mapping[str, Callable[[Any], None]] = {
            'PARAM_REQUEST_LIST': self._on_list,
            'PARAM_REQUEST_READ': self._on_read,
            'PARAM_SET': self._on_set,
        }

    def _on_list(self, message: Any) -> None:
        del message
        for name in self._table:
            self._send(name)

    def _on_read(self, message: Any) -> None:
        names, name = list(self._table), _name(message)
        if message.param_index >= 0:
            if message.param_index < len(names):
                self._send(names[message.param_index])
            else:
                self._say(f'no parameter {message.param_index}; there are {len(names)}')
        elif name in self._table:
            self._send(name)
        else:
            self._answer_unknown(name)

    def _on_set(self, message: Any) -> None:
        name = _name(message)
        if name not in self._table:
            self._answer_unknown(name)
            return
        if reason := self._table.set(name, message.param_value):
            self._say(reason)
        else:
            self._changed(name)
        self._send(name)

    def _answer_unknown(self, name: str) -> None:
        """Answer with NaN, so that a reader that waits for the name goes on."""
        self._say(f'parameter {name} is not simulated')
        raw = name.encode('ascii', 'replace')[:16]
        self._send_value(raw, math.nan, 65535)

    def _send(self, name: str) -> None:
        index = list(self._table).index(name)
        self._send_value(name.encode(), self._table[name], index)

    def _send_value(self, name: bytes, value: float, index: int) -> None:
        kind = self._link.dialect.MAV_PARAM_TYPE_REAL32
        self._link.send.param_value_send(name, value, kind, len(self._table), index)


def _name(message: Any) -> str:
    """Return the name of a parameter; what is no text in it becomes question marks."""
    name = message.param_id
    if isinstance(name, bytes):
        name = name.decode('ascii', 'replace')
    return ''.join(c if c.isascii() and c.isprintable() else '?' for c in name.partition('\0')[0])
