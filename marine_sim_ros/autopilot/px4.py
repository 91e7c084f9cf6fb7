# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""PX4's simulator interface: MAVLink over TCP, sensors out, motor commands in, in lockstep.

PX4 connects to the simulator. Its clock is the time stamp of the last HIL_SENSOR, so it waits for
the physics; it answers each frame with HIL_ACTUATOR_CONTROLS, for which the physics waits, a
submarine's from its first answer on, a rover's while it is armed.

Source: PX4 main of 2026-03-02 (02e73e3), its page "Simulation" and
src/modules/simulation/simulator_mavlink/SimulatorMavlink.cpp.
"""

from __future__ import annotations

import math
import select
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from marine_sim_ros.autopilot.lockstep import FRAME_TIMEOUT, INSTANCE_HINT, Frames
from marine_sim_ros.autopilot.px4_sensors import Px4Instruments, sensor_messages
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.sensors.addresses import open_port
from marine_sim_ros.sensors.series import is_due

__all__ = ['PX4_PORT', 'Px4Exchange', 'Px4Link']


# TCP server to one PX4.

PX4_PORT = 4560
"""TCP port of the first instance of PX4; each further one adds one."""
CHUNK = 65536
"""Bytes read at a time, so that a flood does not keep anybody."""
MAX_UNSENT = 262144
"""Bytes that a PX4 which reads nothing may leave; then it is disconnected."""
ARMED = 128
"""MAV_MODE_FLAG_SAFETY_ARMED."""
HIL_STATE_QUATERNION, SET_MESSAGE_INTERVAL = 115, 511
"""Message, and command by which PX4 asks for it."""


class Px4Link:
    """The simulator's end of the connection."""

    def __init__(self, address: str, port: int, warn: Callable[[str], object]) -> None:
        """Listen.

        Args:
            address: address to listen on; 127.0.0.1: this machine only.
            port: TCP port; 0: any free one.
            warn: told of what is ignored, in one line each.

        Raises:
            ParameterError: the port is taken, or the address is not this machine's.
            MissingPackageError: pymavlink is not installed.
        """
        self._dialect: Any = require('pymavlink.dialects.v20.common', '--autopilot px4')
        self._warn = warn
        self._listener = open_port('autopilot', address, port, backlog=4, hint=INSTANCE_HINT)
        self.port: int = self._listener.getsockname()[1]
        self._client: socket.socket | None = None
        self.peer = ''
        """Address and port of the PX4 that is connected; empty: none is."""
        self._begin()

    def _begin(self) -> None:
        self.mav: Any = self._dialect.MAVLink(None)
        self.mav.robust_parsing = True  # garbage is a message, not an exception
        self._unsent = bytearray()
        self.controls: Any = None
        """The newest HIL_ACTUATOR_CONTROLS; None: none has come."""
        self.truth_period = 0
        """ns between two HIL_STATE_QUATERNION; 0: not asked for."""

    @property
    def is_armed(self) -> bool:
        """Whether the newest commands are those of an armed vehicle."""
        return self.controls is not None and bool(self.controls.mode & ARMED)

    def receive(self, timeout: float = 0.0) -> None:
        """Take what has come, after waiting for it up to timeout s."""
        sockets = [self._listener, *([self._client] if self._client is not None else [])]
        ready, _, _ = select.select(sockets, [], [], timeout)
        if self._listener in ready:
            self._accept()
        if self._client is not None and self._client in ready:
            self._read(self._client)

    def answer_to(self, time_usec: int, patience: float) -> bool:
        """Return whether the commands for a frame came within a patience in s."""
        deadline = time.monotonic() + patience
        while self.peer:
            if self.controls is not None and self.controls.time_usec >= time_usec:
                return True
            if (left := deadline - time.monotonic()) < 0:
                return False
            self.receive(left)
        return False

    def send(self, messages: Iterable[Any]) -> None:
        """Send messages; what PX4 does not take at once is kept for later."""
        if self._client is None:
            return
        for message in messages:
            self._unsent += message.pack(self.mav)
        try:
            del self._unsent[: self._client.send(self._unsent)]
        except BlockingIOError:
            if len(self._unsent) > MAX_UNSENT:
                self._disconnect('it reads nothing')
        except OSError as error:
            self._disconnect(str(error))

    def close(self) -> None:
        """Close the sockets."""
        for one in (self._client, self._listener):
            if one is not None:
                one.close()

    def _accept(self) -> None:
        try:
            client, (host, port, *_) = self._listener.accept()
        except OSError:  # it has gone again
            return
        if self._client is not None:
            client.close()
            self._warn(f'autopilot: {host}:{port} is refused: another PX4 is connected')
            return
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._begin()
        self._client, self.peer = client, f'{host}:{port}'

    def _read(self, client: socket.socket) -> None:
        try:
            data = client.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self._disconnect(str(error))
            return
        if not data:
            self._disconnect('it closed the connection')
            return
        for message in self.mav.parse_buffer(data) or ():
            self._take(message)

    def _take(self, message: Any) -> None:
        kind = message.get_type()
        if kind == 'BAD_DATA':
            self._warn(f'autopilot: {self.peer}: bytes that are no MAVLink are ignored')
        elif kind == 'HIL_ACTUATOR_CONTROLS':
            self.controls = message
        elif kind == 'COMMAND_LONG' and message.command == SET_MESSAGE_INTERVAL:
            asked, period = message.param1, message.param2
            if asked == HIL_STATE_QUATERNION and math.isfinite(period):
                self.truth_period = max(0, round(period * 1000))

    def _disconnect(self, reason: str) -> None:
        self._warn(f'autopilot: {self.peer} is disconnected: {reason}')
        if self._client is not None:
            with suppress(OSError):
                self._client.close()
        self._client, self.peer, self.controls = None, '', None


# Lockstep with PX4: frames of a tick are sent one by one.

BOOT_TIME = 10 * NANOSECONDS
"""ns of PX4's clock after which it counts as booted though it commands nothing."""
UNARMED_PATIENCE = 0.005
"""s of wall time for the answer of a PX4 that answers only when it is armed, as a rover's does."""


class Px4Exchange:
    """States in, commands of up to 16 outputs out."""

    def __init__(
        self, link: Px4Link, instruments: Px4Instruments, rate: float, *, dvl: bool = False
    ) -> None:
        """Use a link, sensors and frames of a rate in Hz.

        Args:
            dvl: send the velocity over ground in place of positions.
        """
        self._link, self._instruments, self._dvl = link, instruments, dvl
        self._period = round(NANOSECONDS / rate)
        self._frames = Frames(rate)
        self._shift = self._clock = 0
        self._tick = -1
        self._boot_frames = 0
        self._answers_unarmed = True
        """Whether PX4, once it has answered at all, answers while it is not armed too."""

    def forget(self) -> None:
        """Begin anew: the next tick is one frame."""
        self._frames.forget()
        self._tick = -1

    def boot(self, stamp: int, state: State, environment: Environment) -> bool:
        """Send a frame of a vehicle that is held where it is; return whether PX4 has booted.

        Its time goes on while that of the state stands still. It has booted when it commands
        something, or after ``BOOT_TIME``.
        """
        self._link.receive()
        if not self._link.peer:
            self._boot_frames = 0
            return False
        self._answers_unarmed = True
        self._boot_frames += 1
        moment = self._clock + self._period  # readings of a sensor at rest have noise too
        self._instruments.sense(moment, state, environment)
        self._send(stamp, moment, state, np.zeros(6), environment)
        return self._link.controls is not None or self._boot_frames * self._period >= BOOT_TIME

    def tick(
        self,
        stamp: int,
        state: State,
        environment: Environment,
        *,
        patience: float = FRAME_TIMEOUT,
    ) -> Sequence[float] | None:
        """Return the commands (16,), −1 to 1, that answer a tick; None: PX4 is gone, or silent.

        The instruments have sensed the tick. PX4's clock never goes back: after a reset of the run
        the time that it is told is shifted.

        Args:
            patience: wall time that each frame may take while PX4 is armed, s.
        """
        before, self._tick = self._tick, stamp
        if 0 <= before < stamp and not is_due(self._period, stamp, before):
            return self._commands()  # ticks are closer than frames
        for moment, between, acceleration in self._frames.frames_until(stamp, state):
            sent = self._send(moment, moment, between, acceleration, environment)
            armed = self._link.is_armed
            waits = armed or (self._answers_unarmed and self._link.controls is not None)
            answered = self._link.answer_to(sent, patience if waits else UNARMED_PATIENCE)
            self._answers_unarmed &= answered or not waits
            self._answers_unarmed |= armed
            if not self._link.peer or (armed and not answered):
                self._boot_frames = 0
                return None
        return self._commands()

    def _commands(self) -> Sequence[float]:
        controls = self._link.controls
        values = [0.0] * 16 if controls is None else controls.controls
        return [min(max(v, -1.0), 1.0) if math.isfinite(v) else 0.0 for v in values]

    def _send(
        self,
        stamp: int,
        moment: int,
        state: State,
        acceleration: np.ndarray,
        environment: Environment,
    ) -> int:
        """Send the messages of a frame, and return PX4's time of it in µs.

        Args:
            stamp: time of the state, ns.
            moment: time that noise is drawn for, ns.
        """
        if stamp + self._shift <= self._clock:
            self._shift = self._clock + self._period - stamp
        before, self._clock = self._clock, stamp + self._shift
        imu = self._instruments.inertial(moment, state, acceleration, environment)
        span, link = (before, self._clock), self._link
        self._link.send(
            sensor_messages(
                link.mav, self._instruments, state, environment, imu, moment, span,
                dvl=self._dvl, truth_period=link.truth_period,
            )
        )  # fmt: skip
        return self._clock // 1000
