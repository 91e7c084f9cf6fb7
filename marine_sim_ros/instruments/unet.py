# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Emulated modem with UnetStack: agents and services by which a gateway exchanges datagrams.

A client is a fjåge gateway: one JSON object a line, either a question about agents, or a message
to one. Two agents answer: ``node`` (address) and ``phy`` (datagrams by the packets of the modem).

Source: unetpy 4.1.1 and fjagepy 2.2.0 of PyPI (names of actions, services, messages and fields).
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.instruments.instrument import (
    Client,
    Instrument,
    InstrumentReading,
    ProtocolError,
    WireProtocol,
)
from marine_sim_ros.model.vehicle import Sensor

__all__ = ['UNET', 'UnetNode']

_SERVICES = {
    'org.arl.unet.Services.NODE_INFO': 'node',
    'org.arl.unet.Services.DATAGRAM': 'phy',
    'org.arl.unet.Services.PHYSICAL': 'phy',
}
"""Agents by service."""
_MESSAGE, _SET_OR_GET = 'org.arl.fjage.Message', 'org.arl.fjage.param.ParameterReq'
_REQUESTS = ('org.arl.unet.DatagramReq', 'org.arl.unet.phy.TxFrameReq')
_HEADER = 3
"""Bytes of a packet before the data: sender, receiver, protocol."""
_LARGEST_ADDRESS, _LARGEST_PROTOCOL = 255, 63
_LONGEST = 8000
"""Bytes of a line."""
_PAUSE = 0.003
"""s of wall time before an answer about agents; fjagepy 2.2.0 fails where one comes before it
waits."""
MAX_QUEUE = 16
"""Datagrams that wait to be sent."""


class _Datagram(NamedTuple):
    """A packet that waits, its client, the request that it answers, and who made it."""

    packet: bytes
    client: Client
    request: str
    sender: str


class UnetNode(Instrument):
    """The node; its address is 1 until a client sets another one."""

    def __init__(self, sensor: Sensor) -> None:
        """Begin with an empty queue."""
        super().__init__(sensor)
        self._address = 1
        self._queue: deque[_Datagram] = deque()
        self._sent: deque[tuple[_Datagram, int]] = deque()
        self._free = self._now = 0

    def receive(self, client: Client) -> bool:
        """Answer a question, or do what a message asks."""
        end = client.received.find(b'\n')
        if end < 0:
            if len(client.received) > _LONGEST:
                client.received.clear()
                raise ProtocolError(f'more than {_LONGEST} bytes without an end of line')
            return False
        line = bytes(client.received[:end]).strip()
        del client.received[: end + 1]
        if not line:
            return True
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise ProtocolError(f'{line[:40]!r} is no JSON object')
        if 'alive' in content:
            if content['alive'] is True:
                _send(client, {'alive': True})
            return True
        self._act(client, content)
        return True

    def _act(self, client: Client, content: Mapping[str, Any]) -> None:
        action, message = content.get('action'), content.get('message')
        if action == 'send' and isinstance(message, dict):
            data = message.get('data')
            if isinstance(data, dict) and isinstance(message.get('clazz'), str):
                self._deliver(client, message['clazz'], data)
            return
        agents, service = sorted(set(_SERVICES.values())), content.get('service')
        found = [_SERVICES[service]] if isinstance(service, str) and service in _SERVICES else []
        answers: dict[Any, dict[str, Any]] = {
            'agents': {'agentIDs': agents},
            'containsAgent': {'answer': content.get('agentID') in agents},
            'services': {'services': list(_SERVICES)},
            'agentForService': {'agentID': found[0]} if found else {},
            'agentsForService': {'agentIDs': found},
        }
        answer = answers.get(action) if isinstance(action, str) else None
        if answer is not None:
            time.sleep(_PAUSE)
            _send(client, {'id': content.get('id'), 'inResponseTo': action, **answer})

    def _deliver(self, client: Client, kind: str, data: Mapping[str, Any]) -> None:
        """Give a message to the agent that it is for."""
        agent, request, sender = (str(data.get(n, '')) for n in ('recipient', 'msgID', 'sender'))
        if agent not in _SERVICES.values():
            return
        if kind == _SET_OR_GET:
            self._answer_parameter(client, agent, request, sender, data)
            return
        done = (
            agent == 'phy' and kind in _REQUESTS and self._enqueue(client, request, sender, data)
        )
        _reply(client, _MESSAGE, agent, request, sender, perf='AGREE' if done else 'REFUSE')

    def _parameters(self, agent: str) -> dict[str, Any]:
        if agent == 'node':
            return {'address': self._address, 'nodeName': self.sensor.name}
        return {'MTU': int(self.sensor.spec.packet_size) - _HEADER, 'title': self.sensor.name}

    def _answer_parameter(
        self, client: Client, agent: str, request: str, sender: str, data: Mapping[str, Any]
    ) -> None:
        """Set or report a parameter; without a name all of the agent."""
        name, value = data.get('param'), data.get('value')
        short = name.rsplit('.', 1)[-1] if isinstance(name, str) else None
        is_address = isinstance(value, int) and 0 < value <= _LARGEST_ADDRESS
        if (agent, short) == ('node', 'address') and is_address:
            self._address = int(value)  # type: ignore[arg-type]
        values = self._parameters(agent)
        fields: dict[str, Any] = {}
        if short in values:
            fields = {'param': name, 'value': values[short]}
        elif name is None:
            fields = {'param': 'title', 'value': agent, 'values': values}
        _reply(
            client, 'org.arl.fjage.param.ParameterRsp', agent, request, sender,
            perf='INFORM' if fields else 'FAILURE', index=-1, **fields,
        )  # fmt: skip

    def _enqueue(self, client: Client, request: str, sender: str, data: Mapping[str, Any]) -> bool:
        """Put a datagram into the queue; return whether it can be sent."""
        to, protocol, content = (
            data.get('to', 0),
            data.get('protocol', 0),
            _bytes(data.get('data')),
        )
        known = isinstance(to, int) and isinstance(protocol, int) and content is not None
        if not known or len(self._queue) >= MAX_QUEUE:
            return False
        if not (0 <= to <= _LARGEST_ADDRESS and 0 <= protocol <= _LARGEST_PROTOCOL):
            return False
        packet = bytes((self._address, to, protocol)) + (content or b'')
        if len(packet) > self.sensor.spec.packet_size:
            return False
        self._queue.append(_Datagram(packet, client, request, sender))
        return True

    def take_outgoing(self, stamp: int) -> bytes | None:
        """Return a packet to send, one after the other."""
        if stamp < self._now:  # the run was reset
            self._free = 0
            self._sent.clear()
        self._now = stamp
        if stamp < self._free or not self._queue:
            return None
        datagram = self._queue.popleft()
        airtime = round(self.sensor.spec.duration(len(datagram.packet)) * NANOSECONDS)
        self._free = stamp + airtime
        self._sent.append((datagram, self._free))
        return datagram.packet

    def is_overdue(self, stamp: int) -> bool:
        """Return whether a packet has left, which its client has not been told."""
        return bool(self._sent) and stamp >= self._sent[0][1]

    def expire(self) -> None:
        """Tell clients that their datagrams have been sent."""
        while self._sent:
            (packet, client, request, sender), _ = self._sent.popleft()
            if client in self.clients:
                _reply(
                    client, 'org.arl.unet.phy.TxFrameNtf', 'phy', request, sender,
                    perf='INFORM', to=packet[1],
                )  # fmt: skip

    def report(self, reading: InstrumentReading) -> None:
        """Send a received packet; those for other addresses are heard too."""
        size = float(reading.readings['size'])
        if not size >= _HEADER:  # NaN: no packet
            return
        packet = bytes(np.asarray(reading.readings['data'])[: int(size)].astype(np.uint8))
        data = base64.b64encode(packet[_HEADER:]).decode()
        fields = {
            'msgID': str(uuid.uuid4()),
            'perf': 'INFORM',
            'sender': 'phy',
            'recipient': '#phy__ntf',
            'from': packet[0],
            'to': packet[1],
            'protocol': packet[2],
            'data': {'clazz': '[B', 'data': data},
            'rxTime': round(float(reading.readings['time']) * 1e6),
        }
        message = {'clazz': 'org.arl.unet.phy.RxFrameNtf', 'data': fields}
        line = json.dumps({'action': 'send', 'relay': False, 'message': message})
        self.broadcast(line.encode() + b'\n')


def _bytes(value: Any) -> bytes | None:
    """Return the bytes of a list of numbers, or of Base64; None: there are none."""
    try:
        if isinstance(value, dict):
            return base64.b64decode(str(value.get('data', '')), validate=True)
        return bytes(n & 255 for n in value or ())
    except (TypeError, ValueError):
        return None


def _send(client: Client, content: Mapping[str, Any]) -> None:
    client.send(json.dumps(content, separators=(',', ': ')).encode() + b'\n')


def _reply(
    client: Client, kind: str, agent: str, request: str, recipient: str, **fields: Any
) -> None:
    """Send an agent's answer to a request."""
    data = {
        'msgID': str(uuid.uuid4()),
        'inReplyTo': request,
        'sender': agent,
        'recipient': recipient,
    }
    message = {'clazz': kind, 'data': {**data, **fields}}
    _send(client, {'action': 'send', 'relay': False, 'message': message})


UNET = WireProtocol('unet', ('modem',), 'tcp', 1100, UnetNode, 'modem with UnetStack')
