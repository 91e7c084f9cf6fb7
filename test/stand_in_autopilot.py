# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A stand-in for ArduSub, written from its protocol: holds a depth, over real UDP, in lockstep.

    python stand_in_autopilot.py [--sim-port-out 9002] [--depth 2.0] [--thrusters 6] [--log FILE]

It knows the interface and nothing of this suite. With ``--log`` it writes every reply and what it
answered. It takes the firmware's options, so that a run can start it in the firmware's place. With
``--mav-type`` (pymavlink) it beats as such a vehicle to the address of ``--serial2``.
"""

import argparse
import json
import os
import socket
import struct
import sys


def free_instance(count=1):
    """Return an instance whose ports, and those of the next ones, nobody uses.

    Each worker looks first where no other one does: who asks does not use the ports yet.
    """
    worker = int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw'))
    for instance in range(20 * (worker % 4) + os.getpid() % 16, 99):
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
        try:
            for k, one in enumerate(sockets):
                one.bind(('127.0.0.1', 9002 + 10 * (instance + k)))
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
        return instance
    raise OSError('no free port')


def make_firmware(path, *options):
    """Make an executable at a path that stands in for the firmware; return the path."""
    words = ' '.join(map(str, (sys.executable, os.path.abspath(__file__), *options)))
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
    return path


class StandIn:
    """One autopilot: frames out, motion in."""

    def __init__(self, port, host='127.0.0.1', channels=16):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(1.0)
        self.socket.bind(('127.0.0.1', 0))
        self.to = (host, port)
        self.frame, self.channels = 0, channels

    def packet(self, pwm):
        magic = {16: 18458, 32: 29569}[self.channels]
        pwm = [*pwm, *[0] * (self.channels - len(pwm))]
        return struct.pack(f'<HHI{self.channels}H', magic, 400, self.frame, *pwm)

    def exchange(self, pwm):
        """Send pulse widths until there is a reply, as the firmware does; return the reply."""
        while True:
            self.socket.sendto(self.packet(pwm), self.to)
            try:
                data = self.socket.recv(65536)
            except TimeoutError:
                continue
            self.frame += 1
            return data


def hold_depth(motion, wanted, memory, dt, vertical):
    """Return pulse widths that hold a depth by a PID; channels 5 and on are low for up."""
    down, speed = motion['position'][2], motion['velocity'][2]
    error = down - wanted
    near = abs(error) < 0.3
    memory['sum'] = min(max(memory['sum'] + error * dt, -1.0), 1.0) if near else 0.0
    up = 800 * error + 600 * speed + 400 * memory['sum']
    return [1500] * 4 + [round(1500 - min(max(up, -300), 300))] * vertical


def heartbeats(options):
    """Return a function that sends a heartbeat."""
    from pymavlink import mavutil

    address = options.serial2.removeprefix('udpclient:')
    link = mavutil.mavlink_connection(
        f'udpout:{address}', source_system=options.sysid, source_component=1
    )
    return lambda: link.mav.heartbeat_send(options.mav_type, 3, 0, 0, 4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--sim-port-out', type=int, default=9002)
    parser.add_argument('--depth', type=float, default=2.0)
    parser.add_argument('--thrusters', type=int, default=6)
    parser.add_argument('--channels', type=int, default=16)
    parser.add_argument('--log')
    parser.add_argument('--die-at', type=float, default=1e9)
    parser.add_argument('--mav-type', type=int)
    parser.add_argument('--serial2', default='')
    parser.add_argument('--sysid', type=int, default=1)
    options, _ = parser.parse_known_args()
    log = open(options.log, 'wb') if options.log else None  # noqa: SIM115
    autopilot = StandIn(options.sim_port_out, channels=options.channels)
    memory, before = {'sum': 0.0}, 0.0
    pwm = [1000] * options.thrusters  # booting
    beat = heartbeats(options) if options.mav_type is not None else lambda: None
    while True:
        data = autopilot.exchange(pwm)
        beat()
        motion = json.loads(data)
        dt, before = max(0.0, motion['timestamp'] - before), motion['timestamp']
        if motion['timestamp'] > options.die_at:
            raise SystemExit('giving up')
        pwm = hold_depth(motion, options.depth, memory, dt, options.thrusters - 4)
        if log:
            log.write(data + str(pwm).encode())
            log.flush()


if __name__ == '__main__':
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
