# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep with ArduPilot: its UDP socket, frames between ticks, exchange of packets.

The autopilot waits for the reply to each packet, and sends the packet again about once a second.
A packet repeated before the reply gets one reply; a packet repeated after it means that the reply
was lost, and gets the same reply again.

Frames lie at equal steps between the state of the tick before and that of the tick; the last frame
is the tick itself. The pulse widths that answer it drive the next step.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator

import numpy as np

from marine_sim_ros.autopilot.conventions import (
    MAX_PACKET_SIZE,
    PacketError,
    ServoPacket,
    geographic_state,
    motion_reply,
    parse_servos,
    reported_motion,
)
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.core.spatial import (
    quaternion_product,
    rotation_vector,
    rotation_vector_quaternion,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.sensors.addresses import open_port

__all__ = [
    'AutopilotExchange',
    'AutopilotLink',
    'BASE_PORT',
    'Frames',
    'INSTANCE_HINT',
    'LINK_TIMEOUT',
    'FRAME_TIMEOUT',
    'frames_per_tick',
    'interpolate_state',
]


# UDP socket to one autopilot; every packet is answered once.

BASE_PORT = 9002
"""UDP port of the first instance of ArduPilot; each further one adds ten."""
INSTANCE_HINT = ' (--autopilot-instance counts vehicles)'
"""Advice about a port that is taken."""
LINK_TIMEOUT = 2.5
"""s after which another autopilot may take the place of a silent one, which repeats itself about
once a second while it waits for a reply."""
LOST_REPLY = 0.1
"""s after which the reply to a repeated packet counts as lost; the next may be under way."""
BURST = 512
"""Datagrams that are read at a time, so that a flood does not keep anybody."""


class AutopilotLink:
    """A socket that takes servo packets and sends replies."""

    def __init__(self, address: str, port: int, warn: Callable[[str], object]) -> None:
        """Listen.

        Args:
            address: address to listen on; 127.0.0.1: this machine only.
            port: UDP port; 0: any free one.
            warn: told of what is ignored, in one line each.

        Raises:
            ParameterError: the port is taken, or the address is not this machine's.
        """
        self._warn = warn
        self._socket = open_port('autopilot', address, port, hint=INSTANCE_HINT)
        self.port: int = self._socket.getsockname()[1]
        self.peer: tuple[str, int] | None = None
        self.packet: ServoPacket | None = None
        """The packet that waits for its reply."""
        self._answered: ServoPacket | None = None
        self._reply = b''
        self._repeated_at: float | None = None
        self._heard_at = 0.0

    def receive(self, timeout: float = 0.0) -> ServoPacket | None:
        """Return the packet that waits for a reply, after up to timeout s; None: there is none."""
        deadline = time.monotonic() + timeout
        while True:
            self._read()
            now = time.monotonic()
            if self.packet is not None:
                return self.packet
            until = deadline
            if self._repeated_at is not None:
                if now - self._repeated_at >= LOST_REPLY:
                    self._send(self._reply)
                    self._repeated_at = None
                else:
                    until = min(deadline, self._repeated_at + LOST_REPLY)
            if now >= deadline:
                return None
            select.select([self._socket], [], [], max(0.0, until - now))

    def answer(self, reply: bytes) -> None:
        """Send the reply to the packet that waits."""
        self._read()  # what came again while the reply was made is answered by it
        self._answered, self.packet, self._repeated_at = self.packet, None, None
        self._reply = reply
        self._send(reply)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _read(self) -> None:
        """Take what has come; the connected autopilot's before any stranger's."""
        strangers: list[tuple[bytes, tuple[str, int]]] = []
        for _ in range(BURST):
            try:
                data, sender = self._socket.recvfrom(MAX_PACKET_SIZE + 1)
            except BlockingIOError:
                break
            except OSError:  # of an earlier reply: nobody listens there any more
                continue
            if sender == self.peer:
                self._take(data, sender)
            else:
                strangers.append((data, sender))
        for data, sender in strangers:
            self._take(data, sender)

    def _take(self, data: bytes, sender: tuple[str, int]) -> None:
        try:
            packet = parse_servos(data)
        except PacketError as error:
            self._warn(f'autopilot: a datagram of {sender[0]} is ignored: {error}')
            return
        now = time.monotonic()
        if sender != self.peer:
            if self.peer is not None and now - self._heard_at < LINK_TIMEOUT:
                self._warn(f'autopilot: {sender[0]} is ignored: another autopilot is connected')
                return
            self.peer, self._answered, self.packet = sender, None, None
        self._heard_at = now
        if self._answered is not None and packet.frame_count == self._answered.frame_count:
            if self.packet is None and self._repeated_at is None:
                self._repeated_at = now
        else:
            self.packet, self._repeated_at = packet, None

    def _send(self, reply: bytes) -> None:
        assert self.peer is not None
        try:
            self._socket.sendto(reply, self.peer)
        except OSError as error:  # it is gone; its silence is noticed
            self._warn(f'autopilot: no reply to {self.peer[0]}: {error}')


# Frames of an autopilot between two ticks, without hold or extrapolation.

MAX_STEP = 0.09
"""s; the autopilot's clock stands still over a step of 0.1 s or more."""


def frames_per_tick(rate: float, dt: float) -> int:
    """Return the number of frames of a rate (Hz) in a tick of dt (s), at least one."""
    return max(1, round(rate * dt), -int(-dt // MAX_STEP))


def interpolate_state(before: State, after: State, share: float) -> State:
    """Return the state at a share (0 to 1) of the way: linear, and along the shortest turn."""
    if share >= 1.0:
        return after
    turn = rotation_vector_quaternion(
        share * rotation_vector(before.orientation, after.orientation)
    )
    return State(
        before.position + share * (after.position - before.position),
        quaternion_product(before.orientation, turn),
        before.velocity + share * (after.velocity - before.velocity),
    )


class Frames:
    """The frames that lead to each tick, of the states of two ticks."""

    def __init__(self, rate: float) -> None:
        """Divide ticks into frames of a rate in Hz."""
        self._rate = rate
        self._before: tuple[int, State] | None = None

    def forget(self) -> None:
        """Begin anew: the next tick is one frame."""
        self._before = None

    def frames_until(self, stamp: int, state: State) -> Iterator[tuple[int, State, np.ndarray]]:
        """Yield stamp (ns), state and acceleration (6,) of the frames up to a tick."""
        before, self._before = self._before, (stamp, state)
        if before is None or stamp <= before[0]:
            yield stamp, state, np.zeros(6)
            return
        dt = (stamp - before[0]) * 1e-9
        acceleration = (state.velocity - before[1].velocity) / dt
        count = frames_per_tick(self._rate, dt)
        for k in range(1, count + 1):
            share = k / count
            yield (
                before[0] + (stamp - before[0]) * k // count,
                interpolate_state(before[1], state, share),
                acceleration,
            )


# Lockstep with an autopilot: frames of a tick are sent one by one, each is answered.

FRAME_TIMEOUT = 0.7
"""s of wall time that the autopilot may take for a frame; less than thrusters wait for it."""


class AutopilotExchange:
    """States in, pulse widths out."""

    def __init__(self, link: AutopilotLink, instruments: Instruments, rate: float) -> None:
        """Use a link, sensors, and frames of a rate in Hz."""
        self._link = link
        self._instruments = instruments
        self._frames = Frames(rate)
        self.battery: tuple[float, float] | None = None
        """Voltage (V) and current (A) of the battery, where they are known."""

    def forget(self) -> None:
        """Begin anew: the next tick is one frame."""
        self._frames.forget()

    def tick(
        self,
        stamp: int,
        state: State,
        environment: Environment,
        *,
        ranges: tuple[float, ...] | None = None,
        patience: float = FRAME_TIMEOUT,
    ) -> tuple[int, ...] | None:
        """Return the pulse widths (16 or 32) that answer a tick, in µs; None: it is silent.

        The instruments have sensed the tick.

        Args:
            stamp: time of the tick, ns.
            environment: water, scene and gravity at the tick.
            ranges: distances that rangefinders measure, m; None: those of the altimeters.
            patience: wall time that each frame may take, s.
        """
        if ranges is None:
            ranges = self._instruments.ranges()
        for moment, between, acceleration in self._frames.frames_until(stamp, state):
            if self._link.receive(patience) is None:
                return None
            force, rates = self._instruments.inertial(moment, between, acceleration, environment)
            placed = geographic_state(between, environment.origin)
            motion = reported_motion(moment, placed, force, rates, ranges)
            self._link.answer(motion_reply(motion, self.battery))
        packet = self._link.receive(patience)
        return None if packet is None else packet.pwm
