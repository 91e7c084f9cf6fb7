# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Replay a bag to drivers: its topics speak protocols of real instruments.

The instruments are those of a run (instruments/), with the readings of the bag. Commands are
answered, and change nothing of what was measured.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.bags.reading import bag_path, open_bag
from marine_sim_ros.bags.storage import BagReader
from marine_sim_ros.core.errors import ParameterError, RecordingError, expected_one_of
from marine_sim_ros.core.geodesy import radii
from marine_sim_ros.core.registry import PROTOCOLS, SENSORS
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.instruments.instrument import InstrumentReading
from marine_sim_ros.instruments.server import InstrumentServer
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.sensors.addresses import ProtocolAddress, read_protocol
from marine_sim_ros.sensors.sensor_model import Readings
from marine_sim_ros.tools.command_line import discard_output

__all__ = ['add_arguments', 'execute']

MAX_RATE = 1000.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument('bag', metavar='BAG', help='folder or file of a bag, of ROS 2 or ROS 1')
    parser.add_argument(
        '--protocol',
        nargs='+',
        required=True,
        metavar='TOPIC=PROTOCOL[@HOST:PORT|@pty:PATH]',
        help='topics of the bag, and the protocol of each, as in /dvl/data=water_linked; default '
        "address: 127.0.0.1 and the instrument's own port",
    )
    parser.add_argument(
        '--rate',
        type=float,
        default=1.0,
        metavar='FACTOR',
        help=f'seconds of the bag per second, above 0 to {MAX_RATE:g} (default 1)',
    )
    parser.add_argument('--loop', action='store_true', help='begin again at the end')
    parser.add_argument(
        '--wait', action='store_true', help='begin when every instrument has a client'
    )


def execute(options: argparse.Namespace) -> int:
    """Serve the topics until the bag ends, or ctrl-C."""
    if not 0.0 < options.rate <= MAX_RATE:
        raise ParameterError(f'--rate is {options.rate:g}; expected above 0 to {MAX_RATE:g}')
    path, text = bag_path(options.bag), str(options.bag)
    addresses = {address.sensor: address for address in map(read_protocol, options.protocol)}
    if len(addresses) < len(options.protocol):
        raise ParameterError(
            f'--protocol {" ".join(options.protocol)[:200]}: a topic twice; expected each once'
        )
    with ExitStack() as stack:
        reader = stack.enter_context(open_bag(Path(path), text))
        channels = {topic: _Channel(reader, address, text) for topic, address in addresses.items()}
        for channel in channels.values():
            stack.callback(channel.open().close)
        _replay(reader, channels, options)
    return 0


class _Channel:
    """A topic of the bag, and the instrument that sends its messages."""

    def __init__(self, reader: BagReader, address: ProtocolAddress, text: str) -> None:
        found = [c for c in reader.connections if c.topic == address.sensor]
        if not found:
            known = sorted({c.topic for c in reader.connections if c.msgtype in _ALL_TYPES})
            raise RecordingError(
                f'{text}: has no topic {address.sensor}; '
                f'{expected_one_of(address.sensor, known) if known else "no topic suits"}'
            )
        self.connections, self.address = found, address
        kinds = PROTOCOLS[address.protocol].kinds
        message_type = found[0].msgtype
        kind = next((k for k in kinds if message_type in _READERS.get(k, {})), '')
        if not kind:
            known = sorted({t for k in kinds for t in _READERS.get(k, {})})
            raise ParameterError(
                f'{address.sensor} is of type {message_type}; {address.protocol} expects '
                f'{" or ".join(known) or "no recorded type: it needs its sensor"}'
            )
        first = next(reader.messages(found), None)
        if first is None:
            raise RecordingError(f'{text}: {address.sensor} has no message')
        message = reader.deserialize(first[2], message_type)
        count = sum(c.msgcount for c in found)
        period = round((reader.end_time - reader.start_time) / max(count, 1))
        self.sensor = _sensor(kind, address.sensor, period, message)
        self._read = partial(_READERS[kind][message_type], {})
        self.server: InstrumentServer | None = None

    def open(self) -> InstrumentServer:
        """Listen."""
        self.server = InstrumentServer(self.sensor, self.address, _print_warning)
        _print(f'{self.address.sensor}: {self.address.protocol} at {self.server.address.endpoint}')
        return self.server

    @property
    def has_client(self) -> bool:
        """Whether a program is connected."""
        return self.server is not None and bool(self.server.instrument.clients)

    def report(self, message: Any, received: int) -> None:
        """Send a message of the bag, by the stamp of its header if it has one, else of receipt."""
        header = getattr(message, 'header', None)
        stamp = received
        if header is not None:
            sec, nanosec = header.stamp.sec, header.stamp.nanosec
            stamp = sec * NANOSECONDS + nanosec or received
        readings = self._read(message)
        if readings is None or self.server is None:
            return
        spec = self.sensor.spec
        if 'accuracy' in readings:
            across, upward = readings['accuracy'].tolist()
            spec = replace(spec, horizontal_noise=across, vertical_noise=upward)
        sensor = replace(self.sensor, spec=spec)
        self.server.report(InstrumentReading(stamp, max(stamp, received), readings, sensor))


def _print(text: str) -> None:
    """Print a line; a pipe that is closed does not end the replay."""
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the bag's reader would take it for damage
        discard_output()


def _print_warning(text: str) -> None:
    _print(f'WARNING: {text}')


def _replay(
    reader: BagReader, channels: Mapping[str, _Channel], options: argparse.Namespace
) -> None:
    """Send the messages at their times."""
    connections = [c for channel in channels.values() for c in channel.connections]
    while options.wait and not all(channel.has_client for channel in channels.values()):
        time.sleep(0.05)
    count, again = 0, True
    while again:
        begun, start = time.monotonic(), None
        for connection, received, data in reader.messages(connections):
            start = received if start is None else start
            due = begun + (received - start) / NANOSECONDS / options.rate
            time.sleep(max(due - time.monotonic(), 0.0))
            message = reader.deserialize(data, connection.msgtype)
            channels[connection.topic].report(message, received)
            count += 1
        again = options.loop
    time.sleep(0.2)  # what was reported last is sent
    _print(f'{count} messages sent')


def _sensor(kind: str, name: str, period: int, message: Any) -> Sensor:
    """Return a sensor of a kind, with the ranges that its first message has."""
    model = SENSORS[kind]
    spec: Any = model.spec() if model.spec is not None else None
    if kind == 'altimeter' and message.max_range > 0:
        spec = replace(
            spec, min_range=float(message.min_range), max_range=float(message.max_range)
        )
    if kind == 'imu':
        spec = replace(spec, orientation=1.0)
    at_origin = Frame(name, 'base_link', np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    return Sensor(kind, name, spec, at_origin, period=max(period, 1))


# Readings of messages; a function's first argument is its memory, and None is no reading.

_Reader = Callable[[dict[str, Any], Any], Readings | None]


def _xyz(vector: Any) -> np.ndarray:
    return np.array([vector.x, vector.y, vector.z], float)


def _fix(memory: dict[str, Any], message: Any) -> Readings | None:
    """Return a fix; its velocity follows from the fix before, since NavSatFix has none."""
    place = np.array([message.latitude, message.longitude, message.altitude], float)
    if message.status.status < 0 or not np.all(np.isfinite(place[:2])):
        memory.clear()
        return None
    place[2] = place[2] if math.isfinite(place[2]) else 0.0
    now = message.header.stamp.sec + message.header.stamp.nanosec / 1e9
    before, since = memory.get('place', place), memory.get('time', now)
    memory['place'], memory['time'] = place, now
    velocity = np.zeros(3)
    if now > since:
        north, east = radii(np.array(place[0]))
        step = np.radians(place[:2] - before[:2])
        step[1] = math.remainder(step[1], 2 * math.pi)
        velocity = np.array([step[1] * east, step[0] * north, place[2] - before[2]]) / (
            now - since
        )
    covariance = np.maximum(np.asarray(message.position_covariance, float), 0.0)
    accuracy = np.sqrt([0.5 * (covariance[0] + covariance[4]), covariance[8]])
    return {'geodetic': place, 'velocity': velocity, 'accuracy': np.minimum(accuracy, 1e4)}


def _range(memory: dict[str, Any], message: Any) -> Readings:
    """Return a range, sure where it is one."""
    del memory
    distance = float(message.range)
    sure = 100.0 if math.isfinite(distance) else 0.0
    return {'range': np.array(distance), 'confidence': np.array(sure)}


def _imu(memory: dict[str, Any], message: Any) -> Readings | None:
    """Return attitude and rates; none where the message has no attitude."""
    del memory
    if message.orientation_covariance[0] < 0:
        return None
    q = message.orientation
    attitude = np.array([q.x, q.y, q.z, q.w], float)
    size = float(np.linalg.norm(attitude))
    if not size > 0.5:
        return None
    return {'orientation': attitude / size, 'angular_velocity': _xyz(message.angular_velocity)}


def _magnetic_field(memory: dict[str, Any], message: Any) -> Readings:
    del memory
    return {'magnetic_field': _xyz(message.magnetic_field)}


def _wind(memory: dict[str, Any], message: Any) -> Readings:
    del memory
    return {'wind': _xyz(message.vector)[:2]}


def _text(memory: dict[str, Any], message: Any) -> Readings:
    del memory
    return {'sentences': np.array(list(message.data.encode()), float)}


def _dvl_readings(
    velocity: np.ndarray, altitude: float, covariance: np.ndarray, beams: Iterator[Any]
) -> Readings:
    """Return the readings of a DVL; the figure of merit is the root of the variances' sum."""
    ranges, speeds = np.array([*beams], float).T
    return {
        'velocity': velocity,
        'altitude': np.array(altitude if altitude >= 0 else math.inf),
        'covariance': covariance,
        'figure_of_merit': np.sqrt(np.trace(covariance.reshape(3, 3))),
        'range': ranges,
        'beam_velocity': speeds,
    }


def _driver_dvl(memory: dict[str, Any], message: Any) -> Readings:
    """Return the readings of dvl_msgs/DVL."""
    del memory
    velocity = _xyz(message.velocity) if message.velocity_valid else np.full(3, np.nan)
    covariance = np.asarray(getattr(message, 'covariance', ()), float)
    if covariance.size != 9:  # of drivers that report the figure of merit alone
        covariance = (message.fom**2 / 3 * np.eye(3)).ravel()
    beams = ((b.distance, b.velocity) if b.valid else (math.nan, math.nan) for b in message.beams)
    readings = _dvl_readings(velocity, message.altitude, covariance, beams)
    return {**readings, 'figure_of_merit': np.array(float(message.fom))}


def _acoustic_dvl(memory: dict[str, Any], message: Any) -> Readings:
    """Return the readings of marine_acoustic_msgs/Dvl; −1 is unknown."""
    del memory
    covariance = np.asarray(message.velocity_covar, float)
    known = covariance[0] >= 0
    velocity = _xyz(message.velocity) if known else np.full(3, np.nan)
    beams = (
        (float(r), float(v)) if r >= 0 else (math.nan, math.nan)
        for r, v in zip(message.range, message.beam_velocity, strict=True)
    )  # fmt: skip
    return _dvl_readings(
        velocity, float(message.altitude), covariance if known else np.zeros(9), beams
    )


_READERS: Mapping[str, Mapping[str, _Reader]] = {
    'gps': {'sensor_msgs/msg/NavSatFix': _fix},
    'altimeter': {'sensor_msgs/msg/Range': _range},
    'imu': {'sensor_msgs/msg/Imu': _imu},
    'magnetometer': {'sensor_msgs/msg/MagneticField': _magnetic_field},
    'anemometer': {'geometry_msgs/msg/Vector3Stamped': _wind},
    'ais': {'std_msgs/msg/String': _text},
    'dvl': {'dvl_msgs/msg/DVL': _driver_dvl, 'marine_acoustic_msgs/msg/Dvl': _acoustic_dvl},
}
"""Readings of a message by kind of sensor and type of message."""
_ALL_TYPES = {message_type for readers in _READERS.values() for message_type in readers}
