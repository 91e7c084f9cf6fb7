# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A stand-in for PX4, written from its simulator interface: holds a depth, over TCP, in lockstep.

    PX4_PARAM_CA_ROTOR4_AZ=1 … python stand_in_px4.py -i 0 [--depth 2.0] [--log FILE]

It knows the interface (pymavlink) and nothing of this suite: it connects to TCP 4560 + instance,
its clock is that of HIL_SENSOR, it answers each with HIL_ACTUATOR_CONTROLS once it has booted, and
takes the axes of motors from the variables that PX4 takes parameters from.
"""

import argparse
import os
import socket
import sys
import time

from pymavlink.dialects.v20 import common


def free_instance():
    """Return an instance whose port nobody uses."""
    worker = int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw'))
    for instance in range(20 * (worker % 4) + os.getpid() % 16, 99):
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind(('127.0.0.1', 4560 + instance))
            except OSError:
                continue
            return instance
    raise OSError('no free port')


def make_px4(folder, *options):
    """Make a build in a folder whose executable is this; return the path of the executable."""
    (folder / 'bin').mkdir(parents=True)
    (folder / 'etc' / 'init.d-posix').mkdir(parents=True)
    (folder / 'etc' / 'init.d-posix' / 'rcS').touch()
    words = ' '.join(map(str, (sys.executable, os.path.abspath(__file__), *options)))
    path = folder / 'bin' / 'px4'
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
    return path


def altitude(pressure):
    """Return the altitude (m) of a pressure (Pa), as PX4's lib/atmosphere has it."""
    exponent = -(-0.0065 * 287.1) / 9.80665
    return ((pressure / 101325.0) ** exponent * 288.15 - 288.15) / -0.0065


class StandIn:
    """One PX4: sensors in, commands of motors out."""

    def __init__(self, port, host='127.0.0.1'):
        self.socket = self._connect(host, port)
        self.mav = common.MAVLink(None)
        self.mav.robust_parsing = True
        self.messages, self.now = [], 0
        self.send(self.mav.heartbeat_encode(0, 12, 0, 0, 0))
        self.send(self.mav.command_long_encode(0, 0, 511, 0, 115, 5e3, 0, 0, 0, 0, 0))

    @staticmethod
    def _connect(host, port):
        for _ in range(3000):
            try:
                one = socket.create_connection((host, port), timeout=60.0)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return one
            except ConnectionRefusedError:
                time.sleep(0.01)
        raise SystemExit('nobody listens')

    def send(self, message):
        self.socket.sendall(message.pack(self.mav))

    def frame(self):
        """Return the messages up to the next HIL_SENSOR, that one last; None: it has gone."""
        while True:
            for k, message in enumerate(self.messages):
                if message.get_type() == 'HIL_SENSOR':
                    taken, self.messages = self.messages[: k + 1], self.messages[k + 1 :]
                    assert message.time_usec > self.now, 'its clock went back'
                    self.now = message.time_usec
                    return taken
            data = self.socket.recv(65536)
            if not data:
                return None
            self.messages += self.mav.parse_buffer(data) or []

    def answer(self, controls, armed=True):
        values = [*controls, *[0.0] * (16 - len(controls))]
        mode = 1 | (128 if armed else 0)
        self.send(self.mav.hil_actuator_controls_encode(self.now, values, mode, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-i', type=int, default=0)
    parser.add_argument('--depth', type=float, default=2.0)
    parser.add_argument('--boot', type=int, default=50, help='frames before the first answer')
    parser.add_argument('--die-at', type=int, default=10**9, help='frame')
    parser.add_argument('--log')
    options, _ = parser.parse_known_args()
    axes = [
        float(os.environ.get(f'PX4_PARAM_CA_ROTOR{k}_AZ', 0.0))
        for k in range(int(os.environ.get('PX4_PARAM_CA_ROTOR_COUNT', 0)))
    ]
    px4, height, count = StandIn(4560 + options.i), [], 0
    log = open(options.log, 'w') if options.log else None  # noqa: SIM115
    while (frame := px4.frame()) is not None:
        count += 1
        if count > options.die_at:
            raise SystemExit('giving up')
        sensor = frame[-1]
        if sensor.fields_updated & 0b1000000000:
            height = [*height[-4:], altitude(100.0 * sensor.abs_pressure)]
        if count <= options.boot:
            continue
        mean = sum(height) / len(height)
        rate = (height[-1] - height[0]) / max(1, len(height) - 1) / 0.02
        push = min(max(-1.2 * (options.depth + mean) - 0.3 * rate, -0.6), 0.6)  # down is negative
        px4.answer([push * -axis if abs(axis) > 0.5 else 0.0 for axis in axes])
        if log:
            log.write(f'{count - options.boot} {sensor.xacc!r} {sensor.abs_pressure!r} {push!r}\n')
            log.flush()


if __name__ == '__main__':
    main()
